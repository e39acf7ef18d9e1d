/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hmmrt: the interface between the kernel modules and user space.
 *
 * Two kinds of file:
 *
 *   /dev/hmmrt        the manager. A file becomes a *space* (one mirrored
 *                     address space, bound to the mm of its creator) with
 *                     HMMRT_IOC_SPACE_CREATE; memory operations act on it.
 *   /dev/hmmrt-gpuN   simulated GPU N. A file becomes a *binding* (this
 *                     device on that space) with HMMRT_GPU_IOC_BIND; the
 *                     execution agent claims it with HMMRT_GPU_IOC_ATTACH and
 *                     then maps it: file offset == address in the space.
 *
 * DOC: General ioctl format
 *
 * Every argument is a struct whose first member is its own size, as the caller
 * knows it. A smaller struct than the kernel's is zero-extended, a larger one
 * is accepted if the tail is zero. Members named out_* are written by the
 * kernel, on success and where documented also on error. Everything else is
 * input. The meaning of errors is the same for all of them:
 *
 *   ENOTTY      the ioctl number is unknown
 *   EINVAL      size below the first version of the struct, misaligned or empty
 *               range, an enum out of range, or the file is in the wrong state
 *               (no space created, no binding made)
 *   E2BIG       size above the kernel's with a non-zero tail, or above a page
 *   EOPNOTSUPP  a flag is unknown or a reserved member is not zero
 *   EOVERFLOW   addr + len wraps or leaves the user address space
 *   EFAULT      the argument or an array it points to is not accessible, or no
 *               mapping covers the range
 *   EPERM       the caller is not the process this file belongs to
 *   EACCES      wrong token; the caller's role forbids it: an address space is
 *               an application or an agent, never both; or a mapping does
 *   EBADF       space_fd is not a file of /dev/hmmrt, or cgroup_fd not the folder of
 *               a cgroup of the second version
 *   EBUSY       the file already is a space or a binding, the device is bound
 *               to this space already, the token was used, or memory is in a
 *               use that forbids it
 *   ENODEV      no such device, or it was unregistered or unbound, perhaps
 *               meanwhile
 *   ESRCH       the process of this space has exited
 *   ENOMEM      no memory for bookkeeping, or more ranges of advice than a
 *               process may have
 *   EINTR       a signal arrived; out_* say how far the call got
 */
#ifndef _UAPI_LINUX_HMMRT_H
#define _UAPI_LINUX_HMMRT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define HMMRT_UAPI_VERSION	1
#define HMMRT_IOC_TYPE		'h'
#define HMMRT_MAX_DEVICES	16
#define HMMRT_DEVICE_NAME_LEN	32

/* Where pages are, or should be: a device id, or one of these. */
#define HMMRT_LOCATION_HOST	0xffffffffu
#define HMMRT_LOCATION_NONE	0xfffffffeu
/* System memory of one NUMA node. Where pages are is always said without it. */
#define HMMRT_LOCATION_HOST_NODE(node)	(0x80000000u | (node))
#define HMMRT_LOCATION_MAX_NODE	0x3ffu

/* /dev/hmmrt: 0x80.., /dev/hmmrt-gpuN: 0xc0..; numbers are never reused. */
#define HMMRT_IOC_INFO		_IO(HMMRT_IOC_TYPE, 0x80)
#define HMMRT_IOC_DEVICE_INFO	_IO(HMMRT_IOC_TYPE, 0x81)
#define HMMRT_IOC_SPACE_CREATE	_IO(HMMRT_IOC_TYPE, 0x82)
#define HMMRT_IOC_PREFETCH	_IO(HMMRT_IOC_TYPE, 0x83)
#define HMMRT_IOC_RESIDENCY	_IO(HMMRT_IOC_TYPE, 0x84)
#define HMMRT_IOC_STATS		_IO(HMMRT_IOC_TYPE, 0x85)
#define HMMRT_IOC_EXCLUSIVE	_IO(HMMRT_IOC_TYPE, 0x86)
#define HMMRT_IOC_ADVISE	_IO(HMMRT_IOC_TYPE, 0x87)
#define HMMRT_IOC_RANGE_ATTRIBUTES _IO(HMMRT_IOC_TYPE, 0x88)
#define HMMRT_IOC_PAGES		_IO(HMMRT_IOC_TYPE, 0x89)
#define HMMRT_IOC_PEER		_IO(HMMRT_IOC_TYPE, 0x8a)
#define HMMRT_IOC_KNOB		_IO(HMMRT_IOC_TYPE, 0x8b)
#define HMMRT_IOC_QUOTA		_IO(HMMRT_IOC_TYPE, 0x8c)

#define HMMRT_GPU_IOC_BIND	_IO(HMMRT_IOC_TYPE, 0xc0)
#define HMMRT_GPU_IOC_ATTACH	_IO(HMMRT_IOC_TYPE, 0xc1)
#define HMMRT_GPU_IOC_FAULT_RECORD _IO(HMMRT_IOC_TYPE, 0xc2)

/*
 * Devices get copies of memory that is mostly read. Without this the kernel was seen to
 * do what copies cannot live with, when the module was loaded: devices read such
 * memory where it is, and the knob read_duplication means nothing.
 */
#define HMMRT_FEATURE_COPIES	0x1ull

/**
 * struct hmmrt_info - ioctl(HMMRT_IOC_INFO), any file of /dev/hmmrt
 * @size: sizeof(struct hmmrt_info)
 * @flags: must be 0
 * @out_uapi_version: HMMRT_UAPI_VERSION of the module
 * @out_devices: registered devices; ids are below HMMRT_MAX_DEVICES and may
 *	have gaps, HMMRT_IOC_DEVICE_INFO answers ENODEV for those
 * @out_page_size: bytes
 * @out_block_size: bytes; migration never crosses a multiple of this
 * @out_features: HMMRT_FEATURE_*
 */
struct hmmrt_info {
	__u32 size;
	__u32 flags;
	__u32 out_uapi_version;
	__u32 out_devices;
	__u32 out_page_size;
	__u32 out_block_size;
	__aligned_u64 out_features;
};

/*
 * Atomic operations of the device and of the CPU on a page in system memory are
 * atomic to each other. Without this they are only where the page is on the
 * device, or exclusive: see HMMRT_IOC_EXCLUSIVE.
 */
#define HMMRT_PROPERTY_NATIVE_ATOMICS	0x1u
/* The CPU reads and writes the device's memory in place. */
#define HMMRT_PROPERTY_COHERENT		0x2u

/**
 * struct hmmrt_device_info - ioctl(HMMRT_IOC_DEVICE_INFO)
 * @size: sizeof(struct hmmrt_device_info)
 * @flags: must be 0
 * @device_id: which device
 * @out_numa_node: nearest host node, -1 if none
 * @out_memory_bytes: device memory
 * @out_used_bytes: of it, holding pages of some process now
 * @out_backed_bytes: of it, having host memory behind it now
 * @out_name: NUL-terminated; the device node is /dev/@out_name
 * @out_properties: HMMRT_PROPERTY_*
 * @out_evictions: chunks that were evicted to make room, since it was registered
 * @out_evictions_ahead: of them, because of a watermark and before anybody needed it
 * @out_free_chunks: of the chunks that the device's memory is cut in, those that hold
 *	nothing
 * @out_partial_chunks: those that hold something, and have room
 * @out_full_chunks: those that have none; the three are all that there are
 * @out_chunk_bytes: how large they are
 * @out_split_chunks: how often a chunk that held nothing was given out in part
 * @out_merged_chunks: how often a chunk was whole again: the last page that it held
 *	was freed
 */
struct hmmrt_device_info {
	__u32 size;
	__u32 flags;
	__u32 device_id;
	__s32 out_numa_node;
	__aligned_u64 out_memory_bytes;
	__aligned_u64 out_used_bytes;
	__aligned_u64 out_backed_bytes;
	__u8 out_name[HMMRT_DEVICE_NAME_LEN];
	__aligned_u64 out_properties;
	__aligned_u64 out_evictions;
	__aligned_u64 out_evictions_ahead;
	__u32 out_free_chunks;
	__u32 out_partial_chunks;
	__u32 out_full_chunks;
	__u32 out_chunk_bytes;
	__aligned_u64 out_split_chunks;
	__aligned_u64 out_merged_chunks;
};

/**
 * struct hmmrt_space_create - ioctl(HMMRT_IOC_SPACE_CREATE)
 * @size: sizeof(struct hmmrt_space_create)
 * @flags: must be 0
 *
 * Binds the file to the caller's address space, for the life of the file.
 * A process has one space: files of the same process share it.
 */
struct hmmrt_space_create {
	__u32 size;
	__u32 flags;
};

/* Why a page did not move: index into hmmrt_prefetch.out_stayed. */
enum hmmrt_stay {
	HMMRT_STAY_BUSY = 0,	/* raced with its user, or with the kernel's own */
	HMMRT_STAY_NO_MEMORY,	/* the destination is full */
	HMMRT_STAY_PINNED,	/* held for I/O, or locked by mlock() */
	HMMRT_STAY_FILE,	/* of a file, or shared memory */
	HMMRT_STAY_HUGETLB,
	HMMRT_STAY_MERGED,	/* by KSM, shared with who knows whom */
	HMMRT_STAY_SPECIAL,	/* device mappings, no permission to read, secretmem */
	/* HMMRT_ADVICE_SET_NO_MIGRATE; to be copied, without HMMRT_FEATURE_COPIES */
	HMMRT_STAY_POLICY,
	HMMRT_STAY_WATCHED,	/* by userfaultfd, with nothing there yet */
	HMMRT_STAY_QUOTA,	/* the process or its cgroup may have no more there */
	HMMRT_STAY_REASONS = 12,
};

/* What became of a page: an element of hmmrt_prefetch.outcomes. */
#define HMMRT_OUTCOME_MOVED	0
#define HMMRT_OUTCOME_THERE	1
#define HMMRT_OUTCOME_STAYED(stay)	(2 + (stay))

/**
 * struct hmmrt_prefetch - ioctl(HMMRT_IOC_PREFETCH), best effort
 * @size: sizeof(struct hmmrt_prefetch)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @location: device id, HMMRT_LOCATION_HOST or HMMRT_LOCATION_HOST_NODE()
 * @__reserved: must be 0
 * @outcomes: NULL, or user pointer to @len / page size __u8, HMMRT_OUTCOME_*;
 *	written as far as the call got
 * @out_pages_moved: pages that moved; valid on success and on EINTR
 * @out_pages_there: pages that were at @location already; likewise. To a device:
 *	or have a copy there, see HMMRT_ADVICE_SET_READ_MOSTLY
 * @out_stayed: pages that stayed, by enum hmmrt_stay; likewise
 *
 * EFAULT if no mapping covers some part of the range (parts before it moved).
 * The device must be bound to the space, the node online (EINVAL otherwise).
 *
 * Pages on a device come home to the node that is asked for and to no other. With
 * HMMRT_LOCATION_HOST, and when the CPU touches them, they come to the one that
 * PREFERRED_LOCATION names, or another where that has no memory; without such
 * advice, where the policy of the mapping or the process says (mbind(2)). Pages
 * that are at home already stay on their node: to move those is for move_pages(2).
 */
struct hmmrt_prefetch {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 location;
	__u32 __reserved;
	__aligned_u64 outcomes;
	__aligned_u64 out_pages_moved;
	__aligned_u64 out_pages_there;
	__aligned_u64 out_stayed[HMMRT_STAY_REASONS];
};

/**
 * struct hmmrt_residency - ioctl(HMMRT_IOC_RESIDENCY)
 * @size: sizeof(struct hmmrt_residency)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0, at most 1 GiB
 * @locations: user pointer to @len / page size __u32: a device id,
 *	HMMRT_LOCATION_HOST, or HMMRT_LOCATION_NONE (not populated, or in system
 *	memory and exclusive for a device)
 *
 * A snapshot: true of each page at some moment during the call.
 */
struct hmmrt_residency {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 locations;
};

/* What hmmrt_advise.advice can be. */
enum hmmrt_advice_kind {
	HMMRT_ADVICE_SET_READ_MOSTLY = 1,
	HMMRT_ADVICE_UNSET_READ_MOSTLY,
	HMMRT_ADVICE_SET_PREFERRED_LOCATION,	/* @location */
	HMMRT_ADVICE_UNSET_PREFERRED_LOCATION,
	HMMRT_ADVICE_SET_ACCESSED_BY,		/* @location */
	HMMRT_ADVICE_UNSET_ACCESSED_BY,		/* @location */
	HMMRT_ADVICE_SET_NO_MIGRATE,
	HMMRT_ADVICE_UNSET_NO_MIGRATE,
	HMMRT_ADVICE_SET_GRANULARITY,		/* @value */
	HMMRT_ADVICE_UNSET_GRANULARITY,
};

/**
 * struct hmmrt_advise - ioctl(HMMRT_IOC_ADVISE)
 * @size: sizeof(struct hmmrt_advise)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @advice: enum hmmrt_advice_kind
 * @location: where the kind says so, else 0. For ACCESSED_BY a device or
 *	HMMRT_LOCATION_HOST; for PREFERRED_LOCATION also HMMRT_LOCATION_HOST_NODE().
 *	The device must be bound to the space (EINVAL otherwise), the node online
 * @value: for GRANULARITY bytes that one fault moves: a power of two from the
 *	page size to the block size; else 0
 *
 * All of the range is advised, or nothing. EFAULT if no mapping covers some part.
 * Advice is of addresses: it goes when they are unmapped or moved, stays when what
 * is there is replaced page by page, and does not follow a process through fork().
 * What names a device goes when that is unbound. It concerns memory that can move;
 * other memory is mapped where it is anyway. A process may have 131072 ranges with
 * advice, or knobs (parameter advice_ranges_max of hmmrt), where neighbours that say
 * the same are one. ENOMEM, and nothing is advised, if there would be more.
 *
 * READ_MOSTLY	A device that reads gets a copy of its own, and the CPU and other
 *	devices go on reading theirs. Whoever writes takes the copies away first.
 *	A prefetch copies what is in system memory, and moves the rest; memory that
 *	was only read so far, and has the kernel's page of zeroes, stays.
 * PREFERRED_LOCATION  The faults of this device bring pages there; those of others
 *	move nothing, and map pages where they are, or at home if they cannot be
 *	reached. A prefetch moves them all the same.
 * ACCESSED_BY	The device has entries for what is populated when the advice is
 *	given, wherever that can be reached, and soon again when they were taken
 *	away; its faults move nothing, unless it is preferred too. READ_MOSTLY goes
 *	before it, where pages may migrate.
 * NO_MIGRATE	Nothing moves to a device, not by prefetches either, nor is copied.
 * GRANULARITY	How much one fault moves, aligned to itself.
 */
struct hmmrt_advise {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 advice;
	__u32 location;
	__aligned_u64 value;
};

/* Of hmmrt_range_attributes.out_flags. */
#define HMMRT_RANGE_READ_MOSTLY	0x1u
#define HMMRT_RANGE_NO_MIGRATE	0x2u
/* In masks of who maps or accesses: bit N is device N, this is the CPU. */
#define HMMRT_BY_CPU		0x80000000u

/**
 * struct hmmrt_range_attributes - ioctl(HMMRT_IOC_RANGE_ATTRIBUTES)
 * @size: sizeof(struct hmmrt_range_attributes)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @out_flags: HMMRT_RANGE_* that all pages have
 * @out_accessed_by: those whom all pages have: bits, and HMMRT_BY_CPU
 * @out_preferred_location: if all pages agree, else HMMRT_LOCATION_NONE
 * @out_last_prefetch: where they were asked to go last; likewise. of as many
 *	ranges as a process may have advice for, and of no more
 * @out_granularity: bytes, if all pages agree and have one, else 0
 *
 * EFAULT if no mapping covers some part of the range.
 */
struct hmmrt_range_attributes {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 out_flags;
	__u32 out_accessed_by;
	__u32 out_preferred_location;
	__u32 out_last_prefetch;
	__aligned_u64 out_granularity;
};

/*
 * What policy goes by. The numbers are fixed; names, bounds and defaults are asked for
 * with HMMRT_IOC_KNOB. Names and defaults are those of nvidia-uvm where it has them.
 */
enum hmmrt_knob_id {
	/* What a device's touch does: enum hmmrt_migration_policy. */
	HMMRT_KNOB_MIGRATION_POLICY = 0,
	/* Whether more is moved than what was touched, 64 KiB of it. */
	HMMRT_KNOB_PREFETCH_ENABLE,
	/* More than so many percent of a window have to be mapped there afterwards. */
	HMMRT_KNOB_PREFETCH_THRESHOLD,
	/* Faults of a block before that. */
	HMMRT_KNOB_PREFETCH_MIN_FAULTS,
	/* Whether a sweep that comes from the block before takes all of the next. */
	HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS,
	/* What one touch of the CPU brings home, at most. */
	HMMRT_KNOB_CPU_FAULT_MAX_PAGES,
	/*
	 * Whether it is noticed that memory goes back and forth. That it is evicted
	 * again and again is noticed in any case.
	 */
	HMMRT_KNOB_THRASHING_ENABLE,
	/*
	 * Accesses of remote memory, 64 KiB of it, before it moves: in how many looks
	 * at it, of which there are up to fifty a second, some of it had been used.
	 */
	HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD,
	/* Whether it does; with HMMRT_MIGRATE_ON_COUNT it does in any case. */
	HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE,
	/* Moves that follow each other within a lapse before a block thrashes. */
	HMMRT_KNOB_THRASHING_THRESHOLD,
	/* Times that an access is held up before the block is pinned. */
	HMMRT_KNOB_THRASHING_PIN_THRESHOLD,
	/* At least; more, up to 50 ms, where a migration takes more than a quarter of it. */
	HMMRT_KNOB_THRASHING_LAPSE_USEC,
	/* How long an access is held up; in lapses, as the next two. */
	HMMRT_KNOB_THRASHING_NAP,
	/* How long a block stays where it was pinned. */
	HMMRT_KNOB_THRASHING_PIN,
	/* Quiet time after which all that is forgotten. */
	HMMRT_KNOB_THRASHING_EPOCH,
	/* How often it is, before thrashing of a block is no longer looked for. */
	HMMRT_KNOB_THRASHING_MAX_RESETS,
	/* Faults that are served together, at most. */
	HMMRT_KNOB_FAULT_BATCH_COUNT,
	/* When the device goes on: enum hmmrt_replay_policy. */
	HMMRT_KNOB_FAULT_REPLAY_POLICY,
	/* Whether faults for the same page become one. */
	HMMRT_KNOB_FAULT_COALESCE,
	/* Batches that are served at a time; 0: as many as there are CPUs. */
	HMMRT_KNOB_FAULT_SERVICERS,
	/* Whether a device that is full makes room. */
	HMMRT_KNOB_OVERSUBSCRIPTION,
	/* Evict what was used longest ago; otherwise what was given longest ago. */
	HMMRT_KNOB_EVICT_BY_ACCESS,
	/* Percent of the memory: less is free, and eviction begins by itself. */
	HMMRT_KNOB_EVICT_LOW_WATERMARK,
	/* So much is free, and it ends. */
	HMMRT_KNOB_EVICT_HIGH_WATERMARK,
	/* How long a fault waits for others that serve it before it serves itself. */
	HMMRT_KNOB_FAULT_PATIENCE_MSEC,
	/*
	 * Whether what a device reads, and would move, is copied as read-mostly memory
	 * is, also by a prefetch: it stays at home too, and nothing is copied when it is
	 * evicted.
	 */
	HMMRT_KNOB_READ_DUPLICATION,
	HMMRT_KNOBS,
};

/* Values of HMMRT_KNOB_MIGRATION_POLICY. */
enum hmmrt_migration_policy {
	HMMRT_MIGRATE_ON_TOUCH = 0,	/* it moves what it touches */
	HMMRT_MIGRATE_ON_COUNT,		/* once it has touched it often enough */
	HMMRT_MIGRATE_NEVER,		/* it reaches it where it is */
};

/* Values of HMMRT_KNOB_FAULT_REPLAY_POLICY. */
enum hmmrt_replay_policy {
	HMMRT_REPLAY_BLOCK = 0,		/* after each block that was served */
	HMMRT_REPLAY_BATCH,		/* after each batch */
	HMMRT_REPLAY_BATCH_FLUSH,	/* with what a batch has served by the way */
	HMMRT_REPLAY_ONCE,		/* when no fault is left */
};

/* For whom a knob holds; in out_scopes a mask. */
enum hmmrt_knob_scope {
	HMMRT_SCOPE_DEVICE = 1,		/* all processes that it works for */
	HMMRT_SCOPE_SPACE = 2,		/* this process */
	HMMRT_SCOPE_RANGE = 4,		/* part of its memory */
};

#define HMMRT_KNOB_GET		0
#define HMMRT_KNOB_SET		1
#define HMMRT_KNOB_UNSET	2

#define HMMRT_KNOB_NAME_LEN	48

/**
 * struct hmmrt_knob - ioctl(HMMRT_IOC_KNOB)
 * @size: sizeof(struct hmmrt_knob)
 * @flags: must be 0
 * @knob: enum hmmrt_knob_id; EINVAL behind the last one
 * @operation: HMMRT_KNOB_*
 * @scope: one of enum hmmrt_knob_scope, and of @out_scopes
 * @device_id: which device; for the other scopes, of whose faults @out_value is
 * @addr: with HMMRT_SCOPE_RANGE the first byte, page aligned, else 0
 * @len: with HMMRT_SCOPE_RANGE bytes, page multiple, > 0, else 0
 * @value: with HMMRT_KNOB_SET, else 0
 * @out_value: what holds in this scope after the call; of a range, for its first
 *	page. What is not set for the range is as for the process, what is not set for
 *	that as for the device, and what is not set at all has its default
 * @out_min: least value
 * @out_max: largest value
 * @out_default: value as long as nobody sets one
 * @out_scopes: what scopes it can be set in
 * @out_name: NUL-terminated
 *
 * A change holds for what is decided afterwards; nothing moves because of it. What is
 * set for a range is advice, and goes with the mapping as all advice does: see struct
 * hmmrt_advise. Changes for a device need CAP_SYS_ADMIN (EPERM), hold until it is
 * unregistered, and need no space; what is set for a process holds as long as its
 * space. EFAULT if no mapping covers some part of the range.
 */
struct hmmrt_knob {
	__u32 size;
	__u32 flags;
	__u32 knob;
	__u32 operation;
	__u32 scope;
	__u32 device_id;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 value;
	__u32 out_value;
	__u32 out_min;
	__u32 out_max;
	__u32 out_default;
	__u32 out_scopes;
	__u8 out_name[HMMRT_KNOB_NAME_LEN];
};

#define HMMRT_QUOTA_GET		0
#define HMMRT_QUOTA_SET		1

/* Who has a quota. */
enum hmmrt_quota_scope {
	HMMRT_QUOTA_OF_SPACE = 1,		/* this process */
	HMMRT_QUOTA_OF_CGROUP = 2,		/* a cgroup, and all in it */
};

#define HMMRT_QUOTA_NO_LIMIT	(~0ULL)

/* Higher is kept longer. */
#define HMMRT_PRIORITY_DEFAULT	128
#define HMMRT_PRIORITY_MAX	255

/**
 * struct hmmrt_quota - ioctl(HMMRT_IOC_QUOTA)
 * @size: sizeof(struct hmmrt_quota)
 * @flags: must be 0
 * @operation: HMMRT_QUOTA_GET or HMMRT_QUOTA_SET
 * @scope: one of enum hmmrt_quota_scope
 * @device_id: which device; with HMMRT_QUOTA_OF_SPACE one that is bound to the space
 *	(EINVAL otherwise)
 * @cgroup_fd: with HMMRT_QUOTA_OF_CGROUP the folder of a cgroup of the second version,
 *	else 0
 * @limit_bytes: with HMMRT_QUOTA_SET of device memory, page multiple, or
 *	HMMRT_QUOTA_NO_LIMIT; else 0
 * @priority: with HMMRT_QUOTA_SET up to HMMRT_PRIORITY_MAX, else 0
 * @out_priority: after the call
 * @out_limit_bytes: likewise
 * @out_used_bytes: device memory that is charged to it
 * @out_refused: faults, and blocks of calls, that were refused memory because of this
 *	limit
 * @out_evicted_bytes: what went home because of it
 *
 * A page of device memory is charged to the process it was taken for, copies of
 * read-mostly pages too, until it is free: also when others have it since, as after a
 * fork, and when the process has ended. And to the cgroup that the process was in when
 * it bound the device, with all those above: to move the process later does not move
 * the charge, nor what is charged after that.
 *
 * With as many processes that have memory of the device as may be (the parameter
 * processes_max of hmmrt), who has none is treated as if its limit were 0.
 *
 * A limit holds to the page. Who would exceed it has something of what is charged to
 * the same limit evicted, in chunks of a block's size; what then finds no room stays
 * where it is, as on a device that is full, with HMMRT_STAY_QUOTA. With a limit below
 * what is in use the excess is evicted before the call is back; what is in use just
 * then stays, and @out_used_bytes says so. On EINTR the limit is set.
 *
 * When a device is full those lose memory first that have more than their share of
 * it, which goes by priority among all that have some: the lowest priority first, and
 * of those what was used longest ago. Who has his share, and asks for more, takes
 * nothing from those that have no more than theirs. A process has no higher priority
 * than any cgroup allows that it is in.
 *
 * Quotas of cgroups need CAP_SYS_ADMIN (EPERM) and no space; without cgroups in the
 * kernel EOPNOTSUPP. They go with the cgroup, with the device, or with
 * HMMRT_QUOTA_NO_LIMIT and HMMRT_PRIORITY_MAX, which is what a cgroup has at first. A
 * process may lower its limit and priority, and raise them again up to what
 * somebody with CAP_SYS_ADMIN has set last, or to HMMRT_QUOTA_NO_LIMIT and
 * HMMRT_PRIORITY_DEFAULT if nobody did (EPERM beyond that). That lasts as long as its
 * space and the device, over any number of bindings. The next device that has this id
 * begins without a quota.
 */
struct hmmrt_quota {
	__u32 size;
	__u32 flags;
	__u32 operation;
	__u32 scope;
	__u32 device_id;
	__s32 cgroup_fd;
	__aligned_u64 limit_bytes;
	__u32 priority;
	__u32 out_priority;
	__aligned_u64 out_limit_bytes;
	__aligned_u64 out_used_bytes;
	__aligned_u64 out_refused;
	__aligned_u64 out_evicted_bytes;
};

/* Why a page was where it was found: hmmrt_page.cause */
enum hmmrt_cause {
	HMMRT_CAUSE_NONE = 0,	/* never moved, or not by this space */
	HMMRT_CAUSE_DEVICE_FAULT,
	HMMRT_CAUSE_CPU_FAULT,
	HMMRT_CAUSE_PREFETCH,
	HMMRT_CAUSE_EXCLUSIVE,
	HMMRT_CAUSE_UNBIND,
	HMMRT_CAUSE_EVICTION,	/* its place was needed, or asked for */
	HMMRT_CAUSE_ACCESS_COUNTER,	/* a device had used it often where it was */
};

/* Of hmmrt_page.flags. */
#define HMMRT_PAGE_DIRTY	0x1u	/* written since it was clean */
#define HMMRT_PAGE_PINNED	0x2u	/* held for I/O by somebody */
#define HMMRT_PAGE_LOCKED	0x4u	/* mlock() */
#define HMMRT_PAGE_FILE		0x8u	/* of a file or shared */
#define HMMRT_PAGE_HUGE		0x10u	/* part of a huge page */
#define HMMRT_PAGE_MERGED	0x20u	/* by KSM */
#define HMMRT_PAGE_ZEROES	0x40u	/* the zero page */

/**
 * struct hmmrt_page - what is known of one page
 * @location: device id, HMMRT_LOCATION_HOST or HMMRT_LOCATION_NONE
 * @flags: HMMRT_PAGE_*
 * @mapped_by: who can read it without a fault: bits, and HMMRT_BY_CPU
 * @written_by: of them, who can write it
 * @copies: devices that have a copy of their own
 * @cause: enum hmmrt_cause of the last move that this space saw
 * @time: of that, in nanoseconds of CLOCK_MONOTONIC, to about a millisecond
 */
struct hmmrt_page {
	__u32 location;
	__u32 flags;
	__u32 mapped_by;
	__u32 written_by;
	__u32 copies;
	__u32 cause;
	__aligned_u64 time;
};

/**
 * struct hmmrt_pages - ioctl(HMMRT_IOC_PAGES)
 * @size: sizeof(struct hmmrt_pages)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0, at most 1 GiB
 * @pages: user pointer to @len / page size structs hmmrt_page
 * @page_bytes: sizeof(struct hmmrt_page); EINVAL for what this kernel does not know
 * @__reserved: must be 0
 *
 * As HMMRT_IOC_RESIDENCY, with all that is known.
 */
struct hmmrt_pages {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 pages;
	__u32 page_bytes;
	__u32 __reserved;
};

#define HMMRT_PEER_QUERY	0	/* out_possible, out_enabled */
#define HMMRT_PEER_ENABLE	1
#define HMMRT_PEER_DISABLE	2

/**
 * struct hmmrt_peer - ioctl(HMMRT_IOC_PEER)
 * @size: sizeof(struct hmmrt_peer)
 * @flags: must be 0
 * @device_id: whose accesses
 * @peer_id: to whose memory; another device
 * @operation: HMMRT_PEER_*
 * @__reserved: must be 0
 * @out_possible: 1 if the two devices can do that
 * @out_enabled: 1 if they do, for this space, after the call
 *
 * While it is enabled, what @device_id touches on the peer is mapped there, where
 * the peer's memory is preferred or nothing else moves it, instead of moving. At
 * first it is not, and no longer when one of the two is unbound. When a call to
 * disable it is back, @device_id has no access to the peer's memory any more.
 * EINVAL if one of the two is not bound to the space, or both are one; EOPNOTSUPP
 * to enable what is not possible. The memory of a coherent device is mapped by all
 * others in any case.
 */
struct hmmrt_peer {
	__u32 size;
	__u32 flags;
	__u32 device_id;
	__u32 peer_id;
	__u32 operation;
	__u32 __reserved;
	__u32 out_possible;
	__u32 out_enabled;
};

/**
 * struct hmmrt_stats - ioctl(HMMRT_IOC_STATS)
 * @size: sizeof(struct hmmrt_stats)
 * @flags: must be 0
 * @device_id: a device bound to this space
 * @__reserved: must be 0
 * @out_device_faults: device faults served by the manager
 * @out_failed_faults: device faults answered with an error
 * @out_mapped_pages: device page table entries written
 * @out_remote_pages: of these, to memory that is not the device's own
 * @out_migrated_to_device: pages
 * @out_migrated_to_host: pages, by CPU fault or prefetch, or because a device is no
 *	longer bound; for evictions see @out_evicted_pages
 * @out_cpu_faults: CPU faults on device pages, of which those of a coherent
 *	device have none
 * @out_invalidations: notifier callbacks that reached this space
 * @out_retries: faults started again because of an invalidation
 * @out_copied_pages: copies made of read-mostly pages
 * @out_evictions: chunks of device memory that were evicted, whoever had them, to
 *	make room for this space
 * @out_evicted_pages: pages of this space that were evicted, whoever asked for it;
 *	copies are dropped instead, and not counted
 * @out_thrashing_faults: device faults for what is evicted again and again, and was
 *	therefore left where it is
 * @out_fault_batches: batches of device faults that were served, many of one fault
 * @out_merged_faults: device faults that were served as one with another fault of the
 *	same page
 * @out_flushed_faults: device faults that were answered because their page had been
 *	mapped by then, without being part of a batch; see HMMRT_REPLAY_BATCH_FLUSH
 * @out_replays: times that lanes were told to go on: see enum hmmrt_replay_policy
 * @out_pending_faults: device faults that wait at the moment, for others to be served
 * @out_thrashing_blocks: times that a block was found to go back and forth
 * @out_throttled_faults: device faults that were held up, so that others could use
 *	such a block meanwhile
 * @out_pins: times that one was left where it is for a while, for either reason
 * @out_unpins: times that this ended, and it may move again: the time was over, or
 *	the process said where it wants it
 * @out_counted_moves: pages that moved because the device had used them often where
 *	they were; also in @out_migrated_to_device
 * @out_quota_refusals: faults, and blocks of calls, that were refused device memory
 *	because of a limit, see HMMRT_IOC_QUOTA, so that something was left where it is
 * @out_memory_refusals: likewise because there was none, and nothing to be evicted
 * @out_thrashing_resets: times that the process said where it wants a block that had
 *	been found to go back and forth
 * @out_blocks: parts of the address space, of 2 MiB each, that the manager keeps
 *	something of, about 10 KiB each with what devices keep of it. One goes a moment
 *	after the last mapping of it has
 *
 * Counters since the binding was made, except out_cpu_faults,
 * out_migrated_to_host and out_invalidations, which are of the space,
 * out_pending_faults, which is no counter, and out_blocks, which is neither.
 */
struct hmmrt_stats {
	__u32 size;
	__u32 flags;
	__u32 device_id;
	__u32 __reserved;
	__aligned_u64 out_device_faults;
	__aligned_u64 out_failed_faults;
	__aligned_u64 out_mapped_pages;
	__aligned_u64 out_remote_pages;
	__aligned_u64 out_migrated_to_device;
	__aligned_u64 out_migrated_to_host;
	__aligned_u64 out_cpu_faults;
	__aligned_u64 out_invalidations;
	__aligned_u64 out_retries;
	__aligned_u64 out_copied_pages;
	__aligned_u64 out_evictions;
	__aligned_u64 out_evicted_pages;
	__aligned_u64 out_thrashing_faults;
	__aligned_u64 out_fault_batches;
	__aligned_u64 out_merged_faults;
	__aligned_u64 out_flushed_faults;
	__aligned_u64 out_replays;
	__aligned_u64 out_pending_faults;
	__aligned_u64 out_thrashing_blocks;
	__aligned_u64 out_throttled_faults;
	__aligned_u64 out_pins;
	__aligned_u64 out_unpins;
	__aligned_u64 out_counted_moves;
	__aligned_u64 out_quota_refusals;
	__aligned_u64 out_memory_refusals;
	__aligned_u64 out_thrashing_resets;
	__aligned_u64 out_blocks;
};

/**
 * struct hmmrt_exclusive - ioctl(HMMRT_IOC_EXCLUSIVE)
 * @size: sizeof(struct hmmrt_exclusive)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @device_id: a device bound to this space
 * @__reserved: must be 0
 * @out_pages: pages up to the first one that is not exclusive; on success and on
 *	EINTR
 *
 * The pages come home, and from then on only the device has entries for them:
 * what it does to a word there, be it in several steps, no CPU and no other
 * device sees half done. The next one of those to touch a page takes that away,
 * waits until the device has finished with the page, and goes on; to the device
 * it is then a page like others. So this is a state that may end at any time,
 * also before the call is back.
 *
 * For private anonymous memory that may be written: EACCES if it may not, EFAULT
 * if no mapping covers some part. EBUSY if some page cannot be exclusive: it is
 * locked, pinned, shared, registered with userfaultfd, in a mapping of a file (also
 * a private one that was written), or others keep touching it. Pages before it, and
 * pages near it, may be. No program is waited for.
 */
struct hmmrt_exclusive {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 device_id;
	__u32 __reserved;
	__aligned_u64 out_pages;
};

/**
 * struct hmmrt_gpu_bind - ioctl(HMMRT_GPU_IOC_BIND)
 * @size: sizeof(struct hmmrt_gpu_bind)
 * @flags: must be 0
 * @space_fd: a /dev/hmmrt file on which the caller created its space
 * @out_device_id: id of this device
 * @out_token: to be shown by the agent in HMMRT_GPU_IOC_ATTACH, once
 * @wait_msec: how long to wait while the device is bound to this space already; 0:
 *	not at all
 * @__reserved: must be 0
 *
 * A binding ends when the last reference to its file is gone: all descriptors are
 * closed, and the agent's process has exited, with its mappings. The kernel may need a
 * moment for that after close() and waitpid() are back, and the end itself brings
 * memory home. To bind the device again, wait with @wait_msec; EBUSY says that the
 * device was bound for all of that time, or that the file is a binding already. A
 * signal ends the wait with EINTR.
 *
 * poll() of the file reports EPOLLHUP once the attached agent's process has exited
 * or has executed another program. A poll() that waits is woken by an exit, and by
 * an exec of an agent that has mapped the file.
 */
struct hmmrt_gpu_bind {
	__u32 size;
	__u32 flags;
	__s32 space_fd;
	__u32 out_device_id;
	__aligned_u64 out_token;
	__u32 wait_msec;
	__u32 __reserved;
};

/**
 * struct hmmrt_gpu_attach - ioctl(HMMRT_GPU_IOC_ATTACH)
 * @size: sizeof(struct hmmrt_gpu_attach)
 * @flags: must be 0
 * @token: from HMMRT_GPU_IOC_BIND
 *
 * The caller's address space becomes the agent of the binding and the only one
 * that may map the file. It is killed when the owner's address space goes; a process
 * that has executed another program by then is not. It may not be the owner, have a
 * space or mmu notifiers, or be attached elsewhere.
 */
struct hmmrt_gpu_attach {
	__u32 size;
	__u32 flags;
	__aligned_u64 token;
};

/* What a device access wanted: hmmrt_gpu_fault_record.out_access */
#define HMMRT_ACCESS_READ	0x1u
#define HMMRT_ACCESS_WRITE	0x2u
#define HMMRT_ACCESS_EXEC	0x4u

/**
 * struct hmmrt_gpu_fault_record - ioctl(HMMRT_GPU_IOC_FAULT_RECORD)
 * @size: sizeof(struct hmmrt_gpu_fault_record)
 * @flags: must be 0
 * @out_addr: address of the calling thread's last access that failed. One that
 *	the CPU refuses by itself leaves no record: compare with the signal's
 * @out_access: HMMRT_ACCESS_* it needed: a write and a jump need READ as well
 * @out_errno: EFAULT nothing mapped there, EACCES no permission for this
 *	access, EOPNOTSUPP memory that a device cannot reach (device memory of
 *	others, secretmem), ENOMEM, ESRCH owner is gone; 0 none recorded
 *
 * For the attached agent.
 */
struct hmmrt_gpu_fault_record {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_addr;
	__u32 out_access;
	__u32 out_errno;
};

#endif /* _UAPI_LINUX_HMMRT_H */
