/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events hmmrt:*. All events have the same fields in the same order:
 * device, range or address, then what happened. trace.c defines
 * CREATE_TRACE_POINTS.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hmmrt

#if !defined(_HMMRT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HMMRT_TRACE_H

#include <linux/tracepoint.h>

#include "mem.h"

/* Readers of binary events see numbers instead of these symbols. */
TRACE_DEFINE_ENUM(HMMRT_RULE_NONE);
TRACE_DEFINE_ENUM(HMMRT_RULE_NOT_MIGRATABLE);
TRACE_DEFINE_ENUM(HMMRT_RULE_NO_MIGRATE);
TRACE_DEFINE_ENUM(HMMRT_RULE_NEVER);
TRACE_DEFINE_ENUM(HMMRT_RULE_TOO_SMALL);
TRACE_DEFINE_ENUM(HMMRT_RULE_READ_MOSTLY_READ);
TRACE_DEFINE_ENUM(HMMRT_RULE_PREFERRED_HERE);
TRACE_DEFINE_ENUM(HMMRT_RULE_PREFERRED_ELSEWHERE);
TRACE_DEFINE_ENUM(HMMRT_RULE_THRASHING);
TRACE_DEFINE_ENUM(HMMRT_RULE_READ_MOSTLY_WRITE);
TRACE_DEFINE_ENUM(HMMRT_RULE_ACCESSED_BY);
TRACE_DEFINE_ENUM(HMMRT_RULE_ON_COUNT);
TRACE_DEFINE_ENUM(HMMRT_RULE_READ_DUPLICATION);
TRACE_DEFINE_ENUM(HMMRT_RULE_DEFAULT);
TRACE_DEFINE_ENUM(HMMRT_RULE_NO_MEMORY);
TRACE_DEFINE_ENUM(HMMRT_RULE_QUOTA);
TRACE_DEFINE_ENUM(HMMRT_THRASHING_DETECTED);
TRACE_DEFINE_ENUM(HMMRT_THRASHING_THROTTLED);
TRACE_DEFINE_ENUM(HMMRT_THRASHING_PINNED);
TRACE_DEFINE_ENUM(HMMRT_THRASHING_RELEASED);
TRACE_DEFINE_ENUM(HMMRT_THRASHING_RESET);

TRACE_EVENT(hmmrt_device_fault,
	TP_PROTO(u32 device, unsigned long addr, unsigned int access, int error,
		 unsigned int rule),
	TP_ARGS(device, addr, access, error, rule),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(unsigned long, addr)
		__field(unsigned int, access)
		__field(int, error)
		__field(unsigned int, rule)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->addr = addr;
		__entry->access = access;
		__entry->error = error;
		__entry->rule = rule;
	),
	TP_printk("device=%u addr=%#lx access=%#x error=%d why=%s",
		  __entry->device, __entry->addr, __entry->access,
		  __entry->error,
		  __print_symbolic(__entry->rule,
			{ HMMRT_RULE_NONE, "none" },
			{ HMMRT_RULE_NOT_MIGRATABLE, "not migratable" },
			{ HMMRT_RULE_NO_MIGRATE, "advised not to migrate" },
			{ HMMRT_RULE_NEVER, "never by migration policy" },
			{ HMMRT_RULE_TOO_SMALL, "no free memory for all in use" },
			{ HMMRT_RULE_READ_MOSTLY_READ, "read of read-mostly" },
			{ HMMRT_RULE_PREFERRED_HERE, "preferred here" },
			{ HMMRT_RULE_PREFERRED_ELSEWHERE, "preferred elsewhere" },
			{ HMMRT_RULE_THRASHING, "thrashing" },
			{ HMMRT_RULE_READ_MOSTLY_WRITE, "write to read-mostly" },
			{ HMMRT_RULE_ACCESSED_BY, "accessed by advice" },
			{ HMMRT_RULE_ON_COUNT, "not used often enough" },
			{ HMMRT_RULE_READ_DUPLICATION, "read, and duplicated" },
			{ HMMRT_RULE_DEFAULT, "touched" },
			{ HMMRT_RULE_NO_MEMORY, "no device memory" },
			{ HMMRT_RULE_QUOTA, "limit reached" }))
);

TRACE_EVENT(hmmrt_thrashing,
	TP_PROTO(u32 device, unsigned long block, unsigned int state),
	TP_ARGS(device, block, state),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(unsigned long, block)
		__field(unsigned int, state)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->block = block;
		__entry->state = state;
	),
	TP_printk("device=%u block=%#lx state=%s", __entry->device,
		  __entry->block,
		  __print_symbolic(__entry->state,
			{ HMMRT_THRASHING_DETECTED, "detected" },
			{ HMMRT_THRASHING_THROTTLED, "throttled" },
			{ HMMRT_THRASHING_PINNED, "pinned" },
			{ HMMRT_THRASHING_RELEASED, "released" },
			{ HMMRT_THRASHING_RESET, "reset" }))
);

TRACE_EVENT(hmmrt_fault_batch,
	TP_PROTO(u32 device, unsigned int faults, unsigned int groups,
		 unsigned int merged),
	TP_ARGS(device, faults, groups, merged),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(unsigned int, faults)
		__field(unsigned int, groups)
		__field(unsigned int, merged)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->faults = faults;
		__entry->groups = groups;
		__entry->merged = merged;
	),
	TP_printk("device=%u faults=%u groups=%u merged=%u", __entry->device,
		  __entry->faults, __entry->groups, __entry->merged)
);

TRACE_EVENT(hmmrt_migrate_to_device,
	TP_PROTO(u32 device, unsigned long start, unsigned long end, u64 moved),
	TP_ARGS(device, start, end, moved),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(u64, moved)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->start = start;
		__entry->end = end;
		__entry->moved = moved;
	),
	TP_printk("device=%u range=[%#lx,%#lx) moved=%llu", __entry->device,
		  __entry->start, __entry->end, __entry->moved)
);

TRACE_EVENT(hmmrt_migrate_to_host,
	TP_PROTO(unsigned long start, unsigned long end, u64 moved,
		 bool cpu_fault),
	TP_ARGS(start, end, moved, cpu_fault),
	TP_STRUCT__entry(
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(u64, moved)
		__field(bool, cpu_fault)
	),
	TP_fast_assign(
		__entry->start = start;
		__entry->end = end;
		__entry->moved = moved;
		__entry->cpu_fault = cpu_fault;
	),
	TP_printk("range=[%#lx,%#lx) moved=%llu cause=%s", __entry->start,
		  __entry->end, __entry->moved,
		  __entry->cpu_fault ? "cpu_fault" : "prefetch")
);

TRACE_EVENT(hmmrt_invalidate,
	TP_PROTO(unsigned long devices, unsigned long start, unsigned long end,
		 int event),
	TP_ARGS(devices, start, end, event),
	TP_STRUCT__entry(
		__field(unsigned long, devices)
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(int, event)
	),
	TP_fast_assign(
		__entry->devices = devices;
		__entry->start = start;
		__entry->end = end;
		__entry->event = event;
	),
	TP_printk("devices=%#lx range=[%#lx,%#lx) event=%d", __entry->devices,
		  __entry->start, __entry->end, __entry->event)
);

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

TRACE_EVENT(hmmrt_evict,
	TP_PROTO(u32 device, u64 offset, unsigned int used_before,
		 unsigned int used_after),
	TP_ARGS(device, offset, used_before, used_after),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u64, offset)
		__field(unsigned int, used_before)
		__field(unsigned int, used_after)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->offset = offset;
		__entry->used_before = used_before;
		__entry->used_after = used_after;
	),
	TP_printk("device=%u offset=%#llx used_before=%u used_after=%u",
		  __entry->device, __entry->offset, __entry->used_before,
		  __entry->used_after)
);

TRACE_EVENT(hmmrt_advise,
	TP_PROTO(unsigned long start, unsigned long end, u32 advice,
		 u32 location, int error),
	TP_ARGS(start, end, advice, location, error),
	TP_STRUCT__entry(
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(u32, advice)
		__field(u32, location)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->start = start;
		__entry->end = end;
		__entry->advice = advice;
		__entry->location = location;
		__entry->error = error;
	),
	TP_printk("range=[%#lx,%#lx) advice=%u location=%#x error=%d",
		  __entry->start, __entry->end, __entry->advice,
		  __entry->location, __entry->error)
);

TRACE_EVENT(hmmrt_duplicate,
	TP_PROTO(u32 device, unsigned long start, unsigned long end, u64 copied),
	TP_ARGS(device, start, end, copied),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(unsigned long, start)
		__field(unsigned long, end)
		__field(u64, copied)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->start = start;
		__entry->end = end;
		__entry->copied = copied;
	),
	TP_printk("device=%u range=[%#lx,%#lx) copied=%llu", __entry->device,
		  __entry->start, __entry->end, __entry->copied)
);

#endif /* _HMMRT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
