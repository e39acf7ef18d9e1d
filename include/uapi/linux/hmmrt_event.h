/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hmmrt: events, as programs that observe spaces read them.
 */
#ifndef _UAPI_LINUX_HMMRT_EVENT_H
#define _UAPI_LINUX_HMMRT_EVENT_H

#include <linux/hmmrt.h>

/**
 * enum hmmrt_event_type - what happened
 * @HMMRT_EVENT_BIND: a device was bound to the space
 * @HMMRT_EVENT_UNBIND: a device was unbound; @duration of that
 * @HMMRT_EVENT_DEVICE_FAULT: a device fault was served, or failed with @error.
 *	One for each fault that hmmrt_stats.out_device_faults counts. @addr as
 *	the device reported it, @access, @reason is enum hmmrt_event_rule,
 *	@duration and @phase. For a fault that another lane served, @parent is
 *	the batch.
 * @HMMRT_EVENT_FAULT_BATCH: a lane served a batch of faults: @count faults on
 *	@pages different pages, in @groups blocks; @duration and @phase
 * @HMMRT_EVENT_REPLAY: @count lanes other than the one that served the faults
 *	were told to continue
 * @HMMRT_EVENT_CPU_FAULT: the CPU touched a page in the memory of @from. @pages
 *	moved to system memory because of it, in one or more migrations; @error
 *	is set if the access got none of them; @ip, @duration and @phase. One for
 *	each fault that hmmrt_stats.out_cpu_faults counts.
 * @HMMRT_EVENT_MIGRATION: @pages of the space moved from @from to @to because
 *	of @cause. A call that moves pages of several locations reports each.
 *	@duration and @phase are of the whole call, in the first of them
 * @HMMRT_EVENT_EVICTION: memory of @device was made available: @pages were
 *	moved out of the 2 MiB of device memory at offset @addr. The pages may
 *	be of any space; the migrations report them
 * @HMMRT_EVENT_DUPLICATE: @device got duplicates of @pages
 * @HMMRT_EVENT_DUPLICATE_DROP: @device lost its duplicates of @pages
 * @HMMRT_EVENT_MAP: @device got entries for @pages, wherever they are
 * @HMMRT_EVENT_MAP_REMOTE: @pages of the event HMMRT_EVENT_MAP that follows are
 *	not in the device's own memory
 * @HMMRT_EVENT_INVALIDATE: the kernel announced a change of the process's page
 *	table: @reason is enum hmmrt_event_change, @devices had
 *	entries there
 * @HMMRT_EVENT_THRASHING: @reason is enum hmmrt_event_thrashing
 * @HMMRT_EVENT_THROTTLE: a device fault was delayed by @duration because the
 *	block thrashes
 * @HMMRT_EVENT_REFUSAL: pages stayed where they are for lack of device memory
 *	or because of a limit: @reason is enum hmmrt_stay
 * @HMMRT_EVENT_PREFETCH: HMMRT_IOC_PREFETCH moved @pages to @to; @error and
 *	@duration
 * @HMMRT_EVENT_ADVISE: HMMRT_IOC_ADVISE: @reason is enum hmmrt_advice_kind,
 *	@to its location; @error
 * @HMMRT_EVENT_MARK: HMMRT_IOC_ANNOTATE: the process was here; @text
 * @HMMRT_EVENT_SECTION: the same: a section of the program ended; @text,
 *	@duration, without phases
 * @HMMRT_EVENT_NAME: the same: memory has a name from now on; @addr, @pages, and
 *	@text, which is empty if it has none any more
 * @HMMRT_EVENT_ACCESS: @device used the page at @addr, which was not one of the
 *	pages that it used last; @access is that of the first use, @ip. Device
 *	code is slow while this type is recorded, because each event is a TLB
 *	miss. Accesses by TLB entries that exist already are missing, so open
 *	the ring before the space exists.
 * @HMMRT_EVENT_TYPES: number of types, including the unused type 0. Later
 *	versions add types.
 */
enum hmmrt_event_type {
	HMMRT_EVENT_BIND = 1,
	HMMRT_EVENT_UNBIND,
	HMMRT_EVENT_DEVICE_FAULT,
	HMMRT_EVENT_FAULT_BATCH,
	HMMRT_EVENT_REPLAY,
	HMMRT_EVENT_CPU_FAULT,
	HMMRT_EVENT_MIGRATION,
	HMMRT_EVENT_EVICTION,
	HMMRT_EVENT_DUPLICATE,
	HMMRT_EVENT_DUPLICATE_DROP,
	HMMRT_EVENT_MAP,
	HMMRT_EVENT_MAP_REMOTE,
	HMMRT_EVENT_INVALIDATE,
	HMMRT_EVENT_THRASHING,
	HMMRT_EVENT_THROTTLE,
	HMMRT_EVENT_REFUSAL,
	HMMRT_EVENT_PREFETCH,
	HMMRT_EVENT_ADVISE,
	HMMRT_EVENT_MARK,
	HMMRT_EVENT_SECTION,
	HMMRT_EVENT_NAME,
	HMMRT_EVENT_ACCESS,
	HMMRT_EVENT_TYPES,
};

#define HMMRT_EVENT_BIT(type)	(1ull << (type))
#define HMMRT_EVENTS_EVERY_TYPE	\
	(HMMRT_EVENT_BIT(HMMRT_EVENT_TYPES) - HMMRT_EVENT_BIT(HMMRT_EVENT_BIND))
/* Those that don't slow device code down. */
#define HMMRT_EVENTS_EXCEPT_ACCESS \
	(HMMRT_EVENTS_EVERY_TYPE & ~HMMRT_EVENT_BIT(HMMRT_EVENT_ACCESS))

/**
 * enum hmmrt_event_phase - what a fault or a migration spent its time on
 * @HMMRT_PHASE_QUEUE: waiting until a lane takes the fault
 * @HMMRT_PHASE_DECIDE: looking up the mapping, its pages and its advice, and
 *	waiting for locks
 * @HMMRT_PHASE_ALLOCATE: getting memory, with evictions
 * @HMMRT_PHASE_UNMAP: taking pages from page tables
 * @HMMRT_PHASE_COPY: copying or clearing pages
 * @HMMRT_PHASE_MAP: putting pages into page tables
 * @HMMRT_PHASE_REPLAY: from the answer until the lane continues
 * @HMMRT_EVENT_PHASES: number of phases
 */
enum hmmrt_event_phase {
	HMMRT_PHASE_QUEUE,
	HMMRT_PHASE_DECIDE,
	HMMRT_PHASE_ALLOCATE,
	HMMRT_PHASE_UNMAP,
	HMMRT_PHASE_COPY,
	HMMRT_PHASE_MAP,
	HMMRT_PHASE_REPLAY,
	HMMRT_EVENT_PHASES,
};

/**
 * enum hmmrt_event_rule - which rule decided about a device fault
 * @HMMRT_EVENT_RULE_NONE: none was asked
 * @HMMRT_EVENT_RULE_NOT_MIGRATABLE: this memory cannot migrate
 * @HMMRT_EVENT_RULE_NO_MIGRATE: the advice NO_MIGRATE
 * @HMMRT_EVENT_RULE_NEVER: the knob migration_policy
 * @HMMRT_EVENT_RULE_TOO_SMALL: the device is too small for all that is in use
 * @HMMRT_EVENT_RULE_READ_MOSTLY_READ: a read of read-mostly memory
 * @HMMRT_EVENT_RULE_PREFERRED_HERE: the device is the preferred location
 * @HMMRT_EVENT_RULE_PREFERRED_ELSEWHERE: another location is preferred
 * @HMMRT_EVENT_RULE_THRASHING: the block thrashes
 * @HMMRT_EVENT_RULE_READ_MOSTLY_WRITE: a write to read-mostly memory
 * @HMMRT_EVENT_RULE_ACCESSED_BY: the advice ACCESSED_BY
 * @HMMRT_EVENT_RULE_ON_COUNT: not used often enough
 * @HMMRT_EVENT_RULE_READ_DUPLICATION: the knob read_duplication
 * @HMMRT_EVENT_RULE_DEFAULT: no other rule: the touched memory moves
 * @HMMRT_EVENT_RULE_NO_MEMORY: it would move, but device memory is in use
 * @HMMRT_EVENT_RULE_QUOTA: it would move, but a limit is reached
 */
enum hmmrt_event_rule {
	HMMRT_EVENT_RULE_NONE,
	HMMRT_EVENT_RULE_NOT_MIGRATABLE,
	HMMRT_EVENT_RULE_NO_MIGRATE,
	HMMRT_EVENT_RULE_NEVER,
	HMMRT_EVENT_RULE_TOO_SMALL,
	HMMRT_EVENT_RULE_READ_MOSTLY_READ,
	HMMRT_EVENT_RULE_PREFERRED_HERE,
	HMMRT_EVENT_RULE_PREFERRED_ELSEWHERE,
	HMMRT_EVENT_RULE_THRASHING,
	HMMRT_EVENT_RULE_READ_MOSTLY_WRITE,
	HMMRT_EVENT_RULE_ACCESSED_BY,
	HMMRT_EVENT_RULE_ON_COUNT,
	HMMRT_EVENT_RULE_READ_DUPLICATION,
	HMMRT_EVENT_RULE_DEFAULT,
	HMMRT_EVENT_RULE_NO_MEMORY,
	HMMRT_EVENT_RULE_QUOTA,
};

/**
 * enum hmmrt_event_thrashing - a step of a block that thrashes
 * @HMMRT_EVENT_THRASHING_DETECTED: the block moves back and forth too often
 * @HMMRT_EVENT_THRASHING_THROTTLED: a device fault on it was delayed
 * @HMMRT_EVENT_THRASHING_PINNED: it got a thrash pin
 * @HMMRT_EVENT_THRASHING_RELEASED: its thrash pin ended
 * @HMMRT_EVENT_THRASHING_RESET: the process moved it explicitly
 */
enum hmmrt_event_thrashing {
	HMMRT_EVENT_THRASHING_DETECTED,
	HMMRT_EVENT_THRASHING_THROTTLED,
	HMMRT_EVENT_THRASHING_PINNED,
	HMMRT_EVENT_THRASHING_RELEASED,
	HMMRT_EVENT_THRASHING_RESET,
};

/**
 * enum hmmrt_event_change - how a process's page table changes
 * @HMMRT_EVENT_CHANGE_UNMAP: a mapping goes: munmap(), mremap()
 * @HMMRT_EVENT_CHANGE_CLEAR: pages go, as for MADV_DONTNEED, reclaim, a copy on
 *	write
 * @HMMRT_EVENT_CHANGE_PROTECTION_VMA: the protection of a mapping changes
 * @HMMRT_EVENT_CHANGE_PROTECTION_PAGE: pages become read-only, as for a fork
 * @HMMRT_EVENT_CHANGE_SOFT_DIRTY: writes are to be noticed: soft-dirty bits
 * @HMMRT_EVENT_CHANGE_RELEASE: the process exits
 * @HMMRT_EVENT_CHANGE_MIGRATE: pages move
 * @HMMRT_EVENT_CHANGE_EXCLUSIVE: pages become exclusive to a device
 * @HMMRT_EVENT_CHANGE_OTHER: anything that has no number here
 */
enum hmmrt_event_change {
	HMMRT_EVENT_CHANGE_UNMAP,
	HMMRT_EVENT_CHANGE_CLEAR,
	HMMRT_EVENT_CHANGE_PROTECTION_VMA,
	HMMRT_EVENT_CHANGE_PROTECTION_PAGE,
	HMMRT_EVENT_CHANGE_SOFT_DIRTY,
	HMMRT_EVENT_CHANGE_RELEASE,
	HMMRT_EVENT_CHANGE_MIGRATE,
	HMMRT_EVENT_CHANGE_EXCLUSIVE,
	HMMRT_EVENT_CHANGE_OTHER,
};

/* Bytes of the text of an event, with the NUL at its end. */
#define HMMRT_EVENT_TEXT_BYTES	56

/**
 * struct hmmrt_event - an event; 0 in members that its type does not use
 * @serial: unique among all events. Not 0
 * @parent: serial of the event that this one is a part of, or 0. That event may
 *	come later in the ring, because it ends later, be of another space, or
 *	be missing, if it was given up and is no event.
 * @time: when it ended, in nanoseconds of CLOCK_MONOTONIC of the initial time
 *	namespace
 * @duration: in nanoseconds
 * @space: id of the space, as hmmrt-space in /proc/PID/fdinfo; 0 if it concerns
 *	none
 * @addr: first byte
 * @pages: number of pages
 * @ip: address of the instruction that made a device fault, 0 if the device
 *	does not report it. For a CPU fault in a system call the address behind
 *	that call, 0 if another process or the kernel itself touched the page
 * @type: enum hmmrt_event_type
 * @cause: enum hmmrt_cause
 * @reason: depends on the type
 * @access: HMMRT_ACCESS_*
 * @device: device id, or HMMRT_LOCATION_NONE
 * @from: location, or HMMRT_LOCATION_NONE
 * @to: location, or HMMRT_LOCATION_NONE
 * @error: 0 or a negative errno
 * @pid: process of the space, in the pid namespace of the process that opened
 *	the ring; 0 if it has none there
 * @tid: thread in which it happened, likewise: the lane, for a device fault. For
 *	an eviction, it may be a thread of another process
 * @count: see the types
 * @groups: of HMMRT_EVENT_FAULT_BATCH
 * @devices: of HMMRT_EVENT_INVALIDATE: a bit for each device
 * @phase: nanoseconds by enum hmmrt_event_phase; at most 2^32 - 1 each. Their
 *	sum is the duration, if none has that value.
 * @text: what the process calls it, with NULs behind: UTF-8 without control
 *	characters
 */
struct hmmrt_event {
	__aligned_u64 serial;
	__aligned_u64 parent;
	__aligned_u64 time;
	__aligned_u64 duration;
	__aligned_u64 space;
	__aligned_u64 addr;
	__aligned_u64 pages;
	__aligned_u64 ip;
	__u16 type;
	__u16 cause;
	__u16 reason;
	__u16 access;
	__u32 device;
	__u32 from;
	__u32 to;
	__s32 error;
	__s32 pid;
	__s32 tid;
	__u32 count;
	__u32 groups;
	__u32 devices;
	__u32 phase[HMMRT_EVENT_PHASES];
	char text[HMMRT_EVENT_TEXT_BYTES];
};

/**
 * struct hmmrt_event_ring - the first page of a ring's mapping
 * @head: number of events that the kernel has written. Read it with acquire
 *	semantics before you read the events.
 * @tail: number of events that the reader has read. The reader writes it, with
 *	release semantics, after it has read the events.
 * @events: number of events that the ring can have, a power of two
 * @event_bytes: sizeof(struct hmmrt_event) of the kernel: the distance between
 *	two events
 * @data_bytes: distance from the start of the mapping to the first event
 * @version: HMMRT_UAPI_VERSION of the module
 * @dropped: by type: events that found the ring full, and are lost. @head does
 *	not count them. Element 0: spaces of children that the ring lacks, for
 *	want of memory.
 *
 * Event N, for N from @tail to @head - 1, is at @data_bytes + N % @events *
 * @event_bytes. A reader that writes other values harms only the readers of this
 * ring.
 */
struct hmmrt_event_ring {
	__aligned_u64 head;
	__aligned_u64 tail;
	__u32 events;
	__u32 event_bytes;
	__u32 data_bytes;
	__u32 version;
	__aligned_u64 dropped[64];
};

/**
 * enum hmmrt_event_scope - the events that a ring gets
 * @HMMRT_EVENTS_OF_SPACE: those of the space of the file
 * @HMMRT_EVENTS_OF_CHILDREN: those of spaces that children of the caller's
 *	process, their children and so on create from now on. Their processes
 *	must have the caller's user and group ids and user namespace, no further
 *	capabilities, and must be dumpable, see ptrace(2). Others are left out,
 *	and so is what a process does while it is not dumpable any more, unless
 *	the caller has CAP_SYS_PTRACE in the initial user namespace.
 * @HMMRT_EVENTS_OF_MACHINE: all. Needs CAP_PERFMON or CAP_SYS_ADMIN.
 */
enum hmmrt_event_scope {
	HMMRT_EVENTS_OF_SPACE,
	HMMRT_EVENTS_OF_CHILDREN,
	HMMRT_EVENTS_OF_MACHINE,
};

#define HMMRT_EVENTS_MIN	64u
#define HMMRT_EVENTS_MAX	(1u << 18)

/**
 * struct hmmrt_events_open - ioctl(HMMRT_IOC_EVENTS_OPEN)
 * @size: sizeof(struct hmmrt_events_open)
 * @flags: must be 0
 * @scope: enum hmmrt_event_scope
 * @events: events that the ring can have: a power of two from HMMRT_EVENTS_MIN
 *	to HMMRT_EVENTS_MAX
 * @types: mask of HMMRT_EVENT_BIT(); not 0. Events of other types are neither
 *	written nor counted as dropped.
 * @wake_events: poll() reports POLLIN once the ring has this many events; from 1
 *	to @events. For the scopes of several spaces, once it is half full.
 * @out_fd: a descriptor of the ring, close-on-exec. Valid on success.
 * @out_map_bytes: bytes to map, at offset 0, MAP_SHARED, for reading and writing
 * @__reserved: must be 0
 *
 * Open a ring of events. For HMMRT_EVENTS_OF_SPACE the file must have a space,
 * but the caller need not be its process: each process that has the file may
 * observe the space, unless it is an agent (EPERM). It can get the file with
 * pidfd_getfd(2), for example. For the other scopes the file needs no space.
 * Events are recorded from now on
 * until the ring's last descriptor and mapping are gone. The ring is charged to
 * the caller's cgroup, and counts as locked memory of its user: EPERM beyond
 * RLIMIT_MEMLOCK without CAP_IPC_LOCK. Children do not inherit its mapping.
 * EMFILE also means that the user has 32 rings, and lacks CAP_SYS_RESOURCE.
 *
 * A ring of several spaces has a part for each of them: one that makes many
 * events gets at most three fifths of the ring, and what it makes beyond that is
 * dropped, while events of others are still written.
 *
 * poll() reports POLLHUP when the space is gone, for HMMRT_EVENTS_OF_SPACE.
 */
struct hmmrt_events_open {
	__u32 size;
	__u32 flags;
	__u32 scope;
	__u32 events;
	__aligned_u64 types;
	__u32 wake_events;
	__s32 out_fd;
	__aligned_u64 out_map_bytes;
	__aligned_u64 __reserved;
};

/**
 * enum hmmrt_annotation - what a process says about itself
 * @HMMRT_ANNOTATE_MARK: it has come to a place of its code
 * @HMMRT_ANNOTATE_SECTION: a section of its code has ended
 * @HMMRT_ANNOTATE_NAME: a range of its memory has a name
 */
enum hmmrt_annotation {
	HMMRT_ANNOTATE_MARK = 1,
	HMMRT_ANNOTATE_SECTION,
	HMMRT_ANNOTATE_NAME,
};

/**
 * struct hmmrt_annotate - ioctl(HMMRT_IOC_ANNOTATE)
 * @size: sizeof(struct hmmrt_annotate)
 * @flags: must be 0
 * @kind: enum hmmrt_annotation
 * @__reserved: must be 0
 * @addr: for HMMRT_ANNOTATE_NAME: first byte. Otherwise 0
 * @len: for HMMRT_ANNOTATE_NAME: number of bytes, not 0. Otherwise 0
 * @since: for HMMRT_ANNOTATE_SECTION: when it began, in nanoseconds of
 *	CLOCK_MONOTONIC of the caller. Otherwise 0
 * @text: what the process calls it, with a NUL at its end, in UTF-8, and without
 *	control characters (below 0x20, and from 0x7f to 0x9f) and separators of
 *	lines (0x2028, 0x2029); EINVAL otherwise. Empty for a name: the memory has none any
 *	more
 *
 * Record an event of the type HMMRT_EVENT_MARK, HMMRT_EVENT_SECTION or
 * HMMRT_EVENT_NAME, of the space of the file and of the calling thread. Without
 * a ring or a trace event it has no effect: the module keeps no names.
 */
struct hmmrt_annotate {
	__u32 size;
	__u32 flags;
	__u32 kind;
	__u32 __reserved;
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 since;
	char text[HMMRT_EVENT_TEXT_BYTES];
};

#endif /* _UAPI_LINUX_HMMRT_EVENT_H */
