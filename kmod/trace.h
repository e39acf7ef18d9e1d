/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events hmmrt:*. Those of uapi/linux/hmmrt_event.h have the names of its
 * types and the fields of its struct, and are enabled together with the rings.
 * HMMRT_EVENT_ACCESS has none: whoever enables all of these would slow down all
 * devices.
 * event.c defines CREATE_TRACE_POINTS.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hmmrt

#if !defined(_HMMRT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HMMRT_TRACE_H

#include <linux/tracepoint.h>

#include "event.h"
#include "mem.h"

/* Readers of binary events see numbers instead of these symbols. */
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_NONE);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_NOT_MIGRATABLE);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_NO_MIGRATE);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_NEVER);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_TOO_SMALL);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_READ_MOSTLY_READ);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_PREFERRED_HERE);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_PREFERRED_ELSEWHERE);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_THRASHING);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_READ_MOSTLY_WRITE);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_ACCESSED_BY);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_ON_COUNT);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_READ_DUPLICATION);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_DEFAULT);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_NO_MEMORY);
TRACE_DEFINE_ENUM(HMMRT_EVENT_RULE_QUOTA);
TRACE_DEFINE_ENUM(HMMRT_EVENT_THRASHING_DETECTED);
TRACE_DEFINE_ENUM(HMMRT_EVENT_THRASHING_THROTTLED);
TRACE_DEFINE_ENUM(HMMRT_EVENT_THRASHING_PINNED);
TRACE_DEFINE_ENUM(HMMRT_EVENT_THRASHING_RELEASED);
TRACE_DEFINE_ENUM(HMMRT_EVENT_THRASHING_RESET);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_NONE);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_DEVICE_FAULT);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_CPU_FAULT);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_PREFETCH);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_EXCLUSIVE);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_UNBIND);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_EVICTION);
TRACE_DEFINE_ENUM(HMMRT_CAUSE_ACCESS_COUNTER);

#define HMMRT_TRACE_RULES \
	{ HMMRT_EVENT_RULE_NONE, "none" }, \
	{ HMMRT_EVENT_RULE_NOT_MIGRATABLE, "not migratable" }, \
	{ HMMRT_EVENT_RULE_NO_MIGRATE, "advised not to migrate" }, \
	{ HMMRT_EVENT_RULE_NEVER, "never by migration policy" }, \
	{ HMMRT_EVENT_RULE_TOO_SMALL, "no free memory for all in use" }, \
	{ HMMRT_EVENT_RULE_READ_MOSTLY_READ, "read of read-mostly" }, \
	{ HMMRT_EVENT_RULE_PREFERRED_HERE, "preferred here" }, \
	{ HMMRT_EVENT_RULE_PREFERRED_ELSEWHERE, "preferred elsewhere" }, \
	{ HMMRT_EVENT_RULE_THRASHING, "thrashing" }, \
	{ HMMRT_EVENT_RULE_READ_MOSTLY_WRITE, "write to read-mostly" }, \
	{ HMMRT_EVENT_RULE_ACCESSED_BY, "accessed by advice" }, \
	{ HMMRT_EVENT_RULE_ON_COUNT, "not used often enough" }, \
	{ HMMRT_EVENT_RULE_READ_DUPLICATION, "read, and duplicated" }, \
	{ HMMRT_EVENT_RULE_DEFAULT, "touched" }, \
	{ HMMRT_EVENT_RULE_NO_MEMORY, "no device memory" }, \
	{ HMMRT_EVENT_RULE_QUOTA, "limit reached" }

#define HMMRT_TRACE_STEPS \
	{ HMMRT_EVENT_THRASHING_DETECTED, "detected" }, \
	{ HMMRT_EVENT_THRASHING_THROTTLED, "throttled" }, \
	{ HMMRT_EVENT_THRASHING_PINNED, "pinned" }, \
	{ HMMRT_EVENT_THRASHING_RELEASED, "released" }, \
	{ HMMRT_EVENT_THRASHING_RESET, "reset" }

#define HMMRT_TRACE_CAUSES \
	{ HMMRT_CAUSE_NONE, "none" }, \
	{ HMMRT_CAUSE_DEVICE_FAULT, "device_fault" }, \
	{ HMMRT_CAUSE_CPU_FAULT, "cpu_fault" }, \
	{ HMMRT_CAUSE_PREFETCH, "prefetch" }, \
	{ HMMRT_CAUSE_EXCLUSIVE, "exclusive" }, \
	{ HMMRT_CAUSE_UNBIND, "unbind" }, \
	{ HMMRT_CAUSE_EVICTION, "eviction" }, \
	{ HMMRT_CAUSE_ACCESS_COUNTER, "access_counter" }

/*
 * Locations are printed with a sign: -1 is HMMRT_LOCATION_HOST, and -2 is
 * HMMRT_LOCATION_NONE.
 */
#define HMMRT_TRACE_PRINT(_format, _reason) \
	TP_printk("space=%llu device=%d addr=%#llx pages=%llu from=%d " \
		  "to=%d cause=%s access=%#x error=%d reason=" _format \
		  " pid=%d tid=%d count=%u groups=%u devices=%#x ip=%#llx " \
		  "serial=%llu parent=%llu duration=%llu phase=%s", \
		  __entry->space, (int)__entry->device, __entry->addr, \
		  __entry->pages, (int)__entry->from, (int)__entry->to, \
		  __print_symbolic(__entry->cause, HMMRT_TRACE_CAUSES), \
		  __entry->access, __entry->error, _reason, __entry->pid, \
		  __entry->tid, __entry->count, __entry->groups, \
		  __entry->devices, __entry->ip, __entry->serial, \
		  __entry->parent, __entry->duration, \
		  __print_array(__entry->phase, HMMRT_EVENT_PHASES, \
				sizeof(u32)))

/* The class of events that print @_reason with @_format. */
#define HMMRT_TRACE_CLASS(_class, _format, _reason) \
	DECLARE_EVENT_CLASS(_class, \
		TP_PROTO(const struct hmmrt_event *event), \
		TP_ARGS(event), \
		TP_STRUCT__entry( \
			__field(u64, serial) \
			__field(u64, parent) \
			__field(u64, time) \
			__field(u64, duration) \
			__field(u64, space) \
			__field(u64, addr) \
			__field(u64, pages) \
			__field(u64, ip) \
			__field(u16, type) \
			__field(u16, cause) \
			__field(u16, reason) \
			__field(u16, access) \
			__field(u32, device) \
			__field(u32, from) \
			__field(u32, to) \
			__field(s32, error) \
			__field(s32, pid) \
			__field(s32, tid) \
			__field(u32, count) \
			__field(u32, groups) \
			__field(u32, devices) \
			__array(u32, phase, HMMRT_EVENT_PHASES) \
		), \
		TP_fast_assign( \
			__entry->serial = event->serial; \
			__entry->parent = event->parent; \
			__entry->time = event->time; \
			__entry->duration = event->duration; \
			__entry->space = event->space; \
			__entry->addr = event->addr; \
			__entry->pages = event->pages; \
			__entry->ip = event->ip; \
			__entry->type = event->type; \
			__entry->cause = event->cause; \
			__entry->reason = event->reason; \
			__entry->access = event->access; \
			__entry->device = event->device; \
			__entry->from = event->from; \
			__entry->to = event->to; \
			__entry->error = event->error; \
			__entry->pid = event->pid; \
			__entry->tid = event->tid; \
			__entry->count = event->count; \
			__entry->groups = event->groups; \
			__entry->devices = event->devices; \
			memcpy(__entry->phase, event->phase, \
			       sizeof(event->phase)); \
		), \
		HMMRT_TRACE_PRINT(_format, _reason))

HMMRT_TRACE_CLASS(hmmrt_event, "%u", __entry->reason);
HMMRT_TRACE_CLASS(hmmrt_event_with_rule, "'%s'",
		  __print_symbolic(__entry->reason, HMMRT_TRACE_RULES));
HMMRT_TRACE_CLASS(hmmrt_event_with_step, "%s",
		  __print_symbolic(__entry->reason, HMMRT_TRACE_STEPS));

#define HMMRT_TRACE_TYPE(_class, _name) \
	DEFINE_EVENT_FN(_class, _name, \
			TP_PROTO(const struct hmmrt_event *event), \
			TP_ARGS(event), hmmrt_events_trace_on, \
			hmmrt_events_trace_off)

HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_bind);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_unbind);
HMMRT_TRACE_TYPE(hmmrt_event_with_rule, hmmrt_device_fault);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_fault_batch);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_replay);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_cpu_fault);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_migration);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_eviction);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_duplicate);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_duplicate_drop);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_map);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_map_remote);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_invalidate);
HMMRT_TRACE_TYPE(hmmrt_event_with_step, hmmrt_thrashing);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_throttle);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_refusal);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_prefetch);
HMMRT_TRACE_TYPE(hmmrt_event, hmmrt_advise);

/*
 * What a process says about itself: other members have no value. The text is
 * escaped, so it cannot end before its quote.
 */
DECLARE_EVENT_CLASS(hmmrt_event_with_text,
	TP_PROTO(const struct hmmrt_event *event),
	TP_ARGS(event),
	TP_STRUCT__entry(
		__field(u64, serial)
		__field(u64, parent)
		__field(u64, time)
		__field(u64, duration)
		__field(u64, space)
		__field(u64, addr)
		__field(u64, pages)
		__field(u16, type)
		__field(s32, pid)
		__field(s32, tid)
		__array(char, text, HMMRT_EVENT_TEXT_BYTES)
	),
	TP_fast_assign(
		__entry->serial = event->serial;
		__entry->parent = event->parent;
		__entry->time = event->time;
		__entry->duration = event->duration;
		__entry->space = event->space;
		__entry->addr = event->addr;
		__entry->pages = event->pages;
		__entry->type = event->type;
		__entry->pid = event->pid;
		__entry->tid = event->tid;
		memcpy(__entry->text, event->text, sizeof(event->text));
	),
	TP_printk("space=%llu addr=%#llx pages=%llu pid=%d tid=%d serial=%llu parent=%llu duration=%llu text=\"%*pEc\"",
		  __entry->space, __entry->addr, __entry->pages, __entry->pid,
		  __entry->tid, __entry->serial, __entry->parent,
		  __entry->duration,
		  (int)strnlen(__entry->text, sizeof(__entry->text)),
		  __entry->text)
);

HMMRT_TRACE_TYPE(hmmrt_event_with_text, hmmrt_mark);
HMMRT_TRACE_TYPE(hmmrt_event_with_text, hmmrt_section);
HMMRT_TRACE_TYPE(hmmrt_event_with_text, hmmrt_name);

TRACE_EVENT(hmmrt_claim,
	TP_PROTO(u32 device, unsigned int accounts,
		 const struct hmmrt_claim_cost *cost, int error),
	TP_ARGS(device, accounts, cost, error),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(unsigned int, accounts)
		__field(unsigned int, visits)
		__field(unsigned int, pauses)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->accounts = accounts;
		__entry->visits = cost->most_visits;
		__entry->pauses = cost->pauses;
		__entry->error = error;
	),
	TP_printk("device=%u accounts=%u visits=%u pauses=%u error=%d",
		  __entry->device, __entry->accounts, __entry->visits,
		  __entry->pauses, __entry->error)
);

#endif /* _HMMRT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
