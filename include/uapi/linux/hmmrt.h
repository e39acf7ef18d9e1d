/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hmmrt: the interface between the kernel modules and user space.
 *
 * There are two kinds of device file, and files of memory objects:
 *
 *   /dev/hmmrt        the manager. HMMRT_IOC_SPACE_CREATE turns an open file
 *                     into a *space*: one mirrored address space, bound to the
 *                     mm of its creator. Memory operations act on the space.
 *   /dev/hmmrt-gpuN   simulated GPU N. HMMRT_GPU_IOC_BIND turns an open file
 *                     into a *binding*: this device on that space. The
 *                     execution agent claims the binding with
 *                     HMMRT_GPU_IOC_ATTACH and then maps the file. The file
 *                     offset of the mapping is the address in the space.
 *   memory object     HMMRT_IOC_OBJECT_CREATE returns a descriptor of memory
 *                     that gets addresses when the file is mapped.
 */
#ifndef _UAPI_LINUX_HMMRT_H
#define _UAPI_LINUX_HMMRT_H

#include <linux/hmmrt_knob.h>
#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: General ioctl format
 *
 * The argument of every ioctl is a pointer to a struct. The first member of the
 * struct is its size, as the caller was compiled with. A struct smaller than
 * the kernel's is extended with zeroes. A larger struct is accepted if the
 * excess bytes are zero. The kernel writes the members named out_*, on success
 * and, where documented, also on error. All other members are input; of them the
 * kernel changes those that continue a call after EINTR: @done and @wait_msec.
 *
 * Each errno means the same for all ioctls:
 *
 * ENOTTY
 *	The ioctl number is unknown.
 * EINVAL
 *	The size is below that of the first version of the struct, a range is
 *	empty or misaligned, a value is out of range, or the file is in the
 *	wrong state (no space created, no agent attached).
 * E2BIG
 *	The size is above the kernel's and the excess is not zero, or the size
 *	is above the page size.
 * EOPNOTSUPP
 *	A flag is unknown, a reserved member is not zero, or the operation is
 *	not supported.
 * EOVERFLOW
 *	addr + len wraps or is beyond the user address space.
 * EFAULT
 *	The argument or an array that it points to is not accessible, or a part
 *	of the range is not mapped.
 * EPERM
 *	The caller is not the process that owns the file, and the call is not one
 *	for each holder; or it lacks a privilege, or more RLIMIT_MEMLOCK.
 * EACCES
 *	The token is wrong, a mapping does not permit the access, or the role of
 *	the caller forbids the call: an address space is either an application
 *	or an agent, never both.
 * EBADF
 *	space_fd is not a file of /dev/hmmrt, or cgroup_fd is not a cgroup v2
 *	directory.
 * EBUSY
 *	The file already is a space or a binding, the device is bound to the space
 *	already, the token was used, or a use of the memory forbids the operation.
 * ENODEV
 *	The device does not exist or is not bound: to the space, or, of a device
 *	file, to a process; perhaps it was unbound or unregistered since.
 * ESRCH
 *	The process of the space has exited, or has executed another program.
 * ENOMEM
 *	There is no memory for bookkeeping or for a memory object, or the
 *	process would have too many ranges with advice.
 * EMFILE, ENFILE
 *	The process, or the system, would have too many descriptors.
 * EINTR
 *	A handler without SA_RESTART ran for a signal; otherwise the kernel
 *	repeats the call. The out_* members say how far the call got.
 */

#define HMMRT_UAPI_VERSION	1
#define HMMRT_IOC_TYPE		'h'
#define HMMRT_MAX_DEVICES	16
#define HMMRT_DEVICE_NAME_LEN	32

/* A location of pages is a device id or one of the following values. */
#define HMMRT_LOCATION_HOST	0xffffffffu	/* system memory, any node */
#define HMMRT_LOCATION_NONE	0xfffffffeu	/* nowhere, or not uniform */
/*
 * System memory of one NUMA node, as a destination. HMMRT_IOC_RESIDENCY and
 * HMMRT_IOC_PAGES report HMMRT_LOCATION_HOST for pages on any node.
 */
#define HMMRT_LOCATION_HOST_NODE(node)	(0x80000000u | (node))
#define HMMRT_LOCATION_MAX_NODE	0x3ffu

/*
 * Numbers of /dev/hmmrt start at 0x80, those of /dev/hmmrt-gpuN at 0xc0, and
 * those of files of memory objects at 0xd0. A number is never reused.
 */
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
#define HMMRT_IOC_OBJECT_CREATE	_IO(HMMRT_IOC_TYPE, 0x8d)
#define HMMRT_IOC_ACCESS	_IO(HMMRT_IOC_TYPE, 0x8e)
/* See linux/hmmrt_event.h. */
#define HMMRT_IOC_EVENTS_OPEN	_IO(HMMRT_IOC_TYPE, 0x8f)
#define HMMRT_IOC_ANNOTATE	_IO(HMMRT_IOC_TYPE, 0x90)

#define HMMRT_GPU_IOC_BIND	_IO(HMMRT_IOC_TYPE, 0xc0)
#define HMMRT_GPU_IOC_ATTACH	_IO(HMMRT_IOC_TYPE, 0xc1)
#define HMMRT_GPU_IOC_FAULT_RECORD _IO(HMMRT_IOC_TYPE, 0xc2)

#define HMMRT_OBJECT_IOC_INFO	_IO(HMMRT_IOC_TYPE, 0xd0)
#define HMMRT_OBJECT_IOC_REOPEN	_IO(HMMRT_IOC_TYPE, 0xd1)

/*
 * Devices can have duplicates of read-mostly memory. The module tests at load
 * time whether the kernel handles a write to such a page as duplicates need it.
 * If not, this bit is clear: devices map read-mostly memory where it is, and
 * HMMRT_KNOB_READ_DUPLICATION has no effect.
 */
#define HMMRT_FEATURE_DUPLICATES 0x1ull
/* HMMRT_IOC_OBJECT_CREATE and HMMRT_IOC_ACCESS exist. */
#define HMMRT_FEATURE_OBJECTS	0x2ull
/* HMMRT_IOC_EVENTS_OPEN exists. */
#define HMMRT_FEATURE_EVENTS	0x4ull
/* HMMRT_IOC_ANNOTATE exists, and events have a text. */
#define HMMRT_FEATURE_ANNOTATIONS 0x8ull

/**
 * struct hmmrt_info - ioctl(HMMRT_IOC_INFO), on any file of /dev/hmmrt
 * @size: sizeof(struct hmmrt_info)
 * @flags: must be 0
 * @out_uapi_version: HMMRT_UAPI_VERSION of the module
 * @out_devices: number of registered devices. Ids are below HMMRT_MAX_DEVICES
 *	and may have gaps. HMMRT_IOC_DEVICE_INFO returns ENODEV for a gap.
 * @out_page_size: page size in bytes
 * @out_block_size: block size in bytes. A migration never crosses a multiple of
 *	the block size.
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
 * atomic with respect to each other. Without this property that holds only for
 * pages in device memory and for exclusive pages: see HMMRT_IOC_EXCLUSIVE.
 */
#define HMMRT_PROPERTY_NATIVE_ATOMICS	0x1u
/* The CPU reads and writes the device's memory in place. */
#define HMMRT_PROPERTY_COHERENT		0x2u

/**
 * struct hmmrt_device_info - ioctl(HMMRT_IOC_DEVICE_INFO)
 * @size: sizeof(struct hmmrt_device_info)
 * @flags: must be 0
 * @device_id: id of the device
 * @out_numa_node: nearest NUMA node of the host, -1 if none
 * @out_memory_bytes: size of the device memory
 * @out_used_bytes: device memory that currently holds pages of a process
 * @out_backed_bytes: device memory that host memory currently backs
 * @out_name: NUL-terminated name. The device node is /dev/@out_name.
 * @out_properties: HMMRT_PROPERTY_*
 * @out_evictions: chunks evicted to free device memory, since registration
 * @out_evictions_ahead: part of @out_evictions that a watermark caused
 * @out_free_chunks: chunks that hold no page. Device memory is divided into
 *	chunks, and each chunk is free, partial or full.
 * @out_partial_chunks: chunks that hold pages and have free memory
 * @out_full_chunks: chunks without free memory
 * @out_chunk_bytes: size of a chunk
 * @out_split_chunks: number of times that a part of a free chunk was allocated
 * @out_merged_chunks: number of times that a chunk became free
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
 * Bind the file to the caller's address space, for the lifetime of the file.
 * A process has one space: all its files share the space.
 */
struct hmmrt_space_create {
	__u32 size;
	__u32 flags;
};

/**
 * enum hmmrt_stay - why a page did not move
 * @HMMRT_STAY_BUSY: the migration raced with an access or with the kernel
 * @HMMRT_STAY_NO_MEMORY: the destination is full
 * @HMMRT_STAY_PINNED: the page is pinned or otherwise held, or mlock()ed
 * @HMMRT_STAY_FILE: the page belongs to a file or to shared memory
 * @HMMRT_STAY_HUGETLB: the page belongs to a hugetlb mapping
 * @HMMRT_STAY_MERGED: KSM merged it; without CAP_SYS_ADMIN, HMMRT_STAY_PINNED
 * @HMMRT_STAY_SPECIAL: the mapping is a device mapping, secretmem or a shadow
 *	stack, or has no read permission
 * @HMMRT_STAY_POLICY: HMMRT_ADVICE_SET_NO_MIGRATE applies, or the page would be
 *	duplicated and HMMRT_FEATURE_DUPLICATES is not available
 * @HMMRT_STAY_WATCHED: userfaultfd is registered, and the page is not populated
 * @HMMRT_STAY_QUOTA: the process or its cgroup has reached its limit of device
 *	memory
 * @HMMRT_STAY_REASONS: length of hmmrt_prefetch.out_stayed, with space for
 *	future reasons
 *
 * The value is the index into hmmrt_prefetch.out_stayed.
 */
enum hmmrt_stay {
	HMMRT_STAY_BUSY = 0,
	HMMRT_STAY_NO_MEMORY,
	HMMRT_STAY_PINNED,
	HMMRT_STAY_FILE,
	HMMRT_STAY_HUGETLB,
	HMMRT_STAY_MERGED,
	HMMRT_STAY_SPECIAL,
	HMMRT_STAY_POLICY,
	HMMRT_STAY_WATCHED,
	HMMRT_STAY_QUOTA,
	HMMRT_STAY_REASONS = 12,
};

/* Result for one page: an element of hmmrt_prefetch.outcomes. */
#define HMMRT_OUTCOME_MOVED	0
#define HMMRT_OUTCOME_THERE	1
#define HMMRT_OUTCOME_STAYED(stay)	(2 + (stay))

/**
 * struct hmmrt_prefetch - ioctl(HMMRT_IOC_PREFETCH), best effort
 * @size: sizeof(struct hmmrt_prefetch)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @location: destination: device id, HMMRT_LOCATION_HOST or
 *	HMMRT_LOCATION_HOST_NODE()
 * @__reserved: must be 0
 * @outcomes: NULL, or user pointer to @len / page size elements of __u8. The
 *	kernel writes HMMRT_OUTCOME_* for each page that the call processed.
 * @out_pages_moved: pages that moved. Like the next two valid on success and on
 *	EINTR.
 * @out_pages_there: pages that were already at @location. For a device this
 *	includes pages that have a duplicate there: see enum hmmrt_advice_kind.
 * @out_stayed: pages that stayed, indexed by enum hmmrt_stay
 * @done: 0, to begin. After EINTR, how many bytes the call has processed: the
 *	same argument, with its out_* members (EINVAL), continues and counts on.
 *	So does the kernel when it repeats the call. 0 again on success.
 *
 * Migrate the pages of a range to @location. The call fails with EFAULT at the
 * first address that is not mapped; pages before that address have moved. It
 * fails with ENODEV if the device is not bound to the space, and with EINVAL if
 * the node is not online.
 *
 * With HMMRT_LOCATION_HOST_NODE(), pages on a device migrate to the requested
 * node and to no other node. With HMMRT_LOCATION_HOST, and for CPU faults, they
 * migrate to the node named by HMMRT_ADVICE_SET_PREFERRED_LOCATION, or to
 * another node if that node has no free memory. Without such advice, the memory
 * policy of the mapping or process decides (mbind(2)). Pages that are already
 * in system memory stay on their node: use move_pages(2) to move them.
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
	__aligned_u64 done;
};

/**
 * struct hmmrt_residency - ioctl(HMMRT_IOC_RESIDENCY)
 * @size: sizeof(struct hmmrt_residency)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0, at most 1 GiB
 * @locations: user pointer to @len / page size elements of __u32. The kernel
 *	writes, for each page, a device id, HMMRT_LOCATION_HOST, or
 *	HMMRT_LOCATION_NONE if the page is not populated or is in system memory
 *	and exclusive to a device.
 *
 * Report the location of each page. The result is a snapshot: it was true for
 * each page at some moment during the call. The elements are undefined if the
 * call fails.
 *
 * Each process that has the file of the space may make this call, HMMRT_IOC_PAGES
 * and HMMRT_IOC_RANGE_ATTRIBUTES, unless it is an agent (EPERM). Addresses are
 * those of the process of the space.
 */
struct hmmrt_residency {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 locations;
};

/**
 * enum hmmrt_advice_kind - values of hmmrt_advise.advice
 * @HMMRT_ADVICE_SET_READ_MOSTLY: a device that reads a page gets a duplicate,
 *	while the CPU and other devices keep reading theirs. A write by any of
 *	them first invalidates all duplicates. A prefetch duplicates pages in
 *	system memory and moves other pages. Anonymous memory that was only
 *	read, and therefore maps the zero page, stays.
 * @HMMRT_ADVICE_UNSET_READ_MOSTLY: undo HMMRT_ADVICE_SET_READ_MOSTLY
 * @HMMRT_ADVICE_SET_PREFERRED_LOCATION: if hmmrt_advise.location is a device,
 *	its faults migrate pages to it. Faults of other devices migrate nothing:
 *	they map pages where they are, or in system memory if the device cannot
 *	reach them. A prefetch still moves the pages.
 * @HMMRT_ADVICE_UNSET_PREFERRED_LOCATION: undo
 *	HMMRT_ADVICE_SET_PREFERRED_LOCATION
 * @HMMRT_ADVICE_SET_ACCESSED_BY: map the populated pages of the range for the
 *	device hmmrt_advise.location when the advice is given, wherever the
 *	device can reach them, and again soon after an invalidation. Faults of
 *	the device migrate nothing, unless the device is also the preferred
 *	location. READ_MOSTLY takes precedence, unless NO_MIGRATE is also set.
 * @HMMRT_ADVICE_UNSET_ACCESSED_BY: undo HMMRT_ADVICE_SET_ACCESSED_BY for
 *	hmmrt_advise.location
 * @HMMRT_ADVICE_SET_NO_MIGRATE: do not migrate or duplicate pages to a device,
 *	not even for a prefetch
 * @HMMRT_ADVICE_UNSET_NO_MIGRATE: undo HMMRT_ADVICE_SET_NO_MIGRATE
 * @HMMRT_ADVICE_SET_GRANULARITY: one fault migrates the naturally aligned
 *	window of hmmrt_advise.value bytes around the address
 * @HMMRT_ADVICE_UNSET_GRANULARITY: undo HMMRT_ADVICE_SET_GRANULARITY
 */
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
 * @location: for ACCESSED_BY, a device id or HMMRT_LOCATION_HOST. For
 *	SET_PREFERRED_LOCATION, also HMMRT_LOCATION_HOST_NODE(). Otherwise 0. To
 *	set advice, the device must be bound to the space and the node must be
 *	online (EINVAL).
 * @value: for SET_GRANULARITY, a power of two from the page size to the block
 *	size, in bytes. Otherwise 0.
 *
 * The call advises the whole range or nothing. It fails with EFAULT if any part
 * of the range is not mapped.
 *
 * Advice belongs to addresses. It ends when the addresses are unmapped or moved
 * with mremap(2). It stays when the pages there are replaced. A child does not
 * inherit it at fork(2). Advice that names a device ends when the device is
 * unbound from the space. Advice has no effect on memory that cannot migrate:
 * such memory is always mapped where it is.
 *
 * A process can have 131072 ranges with advice or knobs (module parameter
 * advice_ranges_max of hmmrt). Adjacent ranges with equal settings count as
 * one. A call that would exceed this number changes nothing and fails with
 * ENOMEM.
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

/* Bits of hmmrt_range_attributes.out_flags. */
#define HMMRT_RANGE_READ_MOSTLY	0x1u
#define HMMRT_RANGE_NO_MIGRATE	0x2u
/* In masks of processors, bit N is device N and this bit is the CPU. */
#define HMMRT_BY_CPU		0x80000000u

/**
 * struct hmmrt_range_attributes - ioctl(HMMRT_IOC_RANGE_ATTRIBUTES)
 * @size: sizeof(struct hmmrt_range_attributes)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @out_flags: HMMRT_RANGE_* that are set for all pages
 * @out_accessed_by: mask of the processors for which ACCESSED_BY is set on all
 *	pages: bit N for device N, HMMRT_BY_CPU for the CPU
 * @out_preferred_location: preferred location if it is the same for all pages,
 *	otherwise HMMRT_LOCATION_NONE
 * @out_last_prefetch: destination of the last prefetch if it is the same for
 *	all pages, otherwise HMMRT_LOCATION_NONE. The kernel remembers the
 *	destinations of at most advice_ranges_max ranges.
 * @out_granularity: granularity in bytes if it is set and the same for all
 *	pages, otherwise 0
 * @out_alike_bytes: size of the longest part of the range that begins at @addr
 *	and in which each page has the same of all of the above. Modules without
 *	this member leave it as it is.
 *
 * Report the advice that all pages of a range have in common. The call fails
 * with EFAULT if any part of the range is not mapped. As HMMRT_IOC_RESIDENCY it
 * is for each process that has the file.
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
	__aligned_u64 out_alike_bytes;
};

/**
 * enum hmmrt_knob_scope - scope of a knob setting
 * @HMMRT_SCOPE_DEVICE: all processes that use the device
 * @HMMRT_SCOPE_SPACE: the calling process
 * @HMMRT_SCOPE_RANGE: a range of the calling process's memory
 *
 * The values are bits: hmmrt_knob.out_scopes is a mask of them.
 */
enum hmmrt_knob_scope {
	HMMRT_SCOPE_DEVICE = 1,
	HMMRT_SCOPE_SPACE = 2,
	HMMRT_SCOPE_RANGE = 4,
};

/* Values of hmmrt_knob.operation. */
#define HMMRT_KNOB_GET		0
#define HMMRT_KNOB_SET		1
#define HMMRT_KNOB_UNSET	2

#define HMMRT_KNOB_NAME_LEN	48

/**
 * struct hmmrt_knob - ioctl(HMMRT_IOC_KNOB)
 * @size: sizeof(struct hmmrt_knob)
 * @flags: must be 0
 * @knob: enum hmmrt_knob_id. EINVAL for an unknown knob.
 * @operation: HMMRT_KNOB_GET, HMMRT_KNOB_SET or HMMRT_KNOB_UNSET
 * @scope: one enum hmmrt_knob_scope, which must be in @out_scopes
 * @device_id: with HMMRT_SCOPE_DEVICE, the device to change. With the other
 *	scopes, @out_value is the value for faults of this device.
 * @addr: with HMMRT_SCOPE_RANGE, first byte, page aligned. Otherwise 0.
 * @len: with HMMRT_SCOPE_RANGE, bytes, page multiple, > 0. Otherwise 0.
 * @value: with HMMRT_KNOB_SET, the new value. Otherwise 0.
 * @out_value: effective value in this scope after the call. For a range, the
 *	value for its first page.
 * @out_min: minimum value
 * @out_max: maximum value
 * @out_default: default value
 * @out_scopes: mask of the scopes in which the knob can be set
 * @out_name: NUL-terminated name
 *
 * Read or change a knob. A value that is not set for a range is taken from the
 * process, then from the device, then from the default.
 *
 * A change affects later decisions only: it does not move pages by itself. A
 * setting of a range is advice and ends like advice: see struct hmmrt_advise.
 * The call fails with EFAULT if any part of the range is not mapped. A setting
 * of a process ends with its space. A setting of a device needs CAP_SYS_ADMIN
 * (EPERM) but no space, and ends when the device is unregistered.
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

/* Values of hmmrt_quota.operation. */
#define HMMRT_QUOTA_GET		0
#define HMMRT_QUOTA_SET		1

/**
 * enum hmmrt_quota_scope - subject of a quota
 * @HMMRT_QUOTA_OF_SPACE: the calling process
 * @HMMRT_QUOTA_OF_CGROUP: a cgroup and all its descendants
 */
enum hmmrt_quota_scope {
	HMMRT_QUOTA_OF_SPACE = 1,
	HMMRT_QUOTA_OF_CGROUP = 2,
};

#define HMMRT_QUOTA_NO_LIMIT	(~0ULL)

/* Memory with a higher priority is evicted later. */
#define HMMRT_PRIORITY_DEFAULT	128
#define HMMRT_PRIORITY_MAX	255

/**
 * struct hmmrt_quota - ioctl(HMMRT_IOC_QUOTA)
 * @size: sizeof(struct hmmrt_quota)
 * @flags: must be 0
 * @operation: HMMRT_QUOTA_GET or HMMRT_QUOTA_SET
 * @scope: one enum hmmrt_quota_scope
 * @device_id: device with the memory. With HMMRT_QUOTA_OF_SPACE, it must be
 *	bound to the space (ENODEV).
 * @cgroup_fd: with HMMRT_QUOTA_OF_CGROUP, a descriptor of a cgroup v2
 *	directory. Otherwise 0.
 * @limit_bytes: with HMMRT_QUOTA_SET, the limit of device memory, a page
 *	multiple, or HMMRT_QUOTA_NO_LIMIT. Otherwise 0.
 * @priority: with HMMRT_QUOTA_SET, up to HMMRT_PRIORITY_MAX. Otherwise 0.
 * @out_priority: priority after the call
 * @out_limit_bytes: limit after the call
 * @out_used_bytes: device memory that is charged
 * @out_refused: faults, and blocks of calls, that got no device memory because
 *	of the limit
 * @out_evicted_bytes: memory evicted because of the limit
 *
 * Read or change how much device memory a process or a cgroup may use.
 *
 * Charging: a page of device memory is charged to the process for which it was
 * allocated, until the page is freed. This includes duplicates of read-mostly
 * pages. The charge stays when other processes share the page, as after a fork,
 * and when the process exits. The page is also charged to the cgroup that the
 * process was in when it bound the device, wherever it moves, and to all above.
 * processes_max of hmmrt limits the processes of a user that have memory of a
 * device. A further process is treated as if its limit were 0.
 *
 * Limit: a limit is exact to the page. An allocation over the limit first
 * evicts pages charged to the same limit, in units of a block. Pages for which
 * this frees no memory stay where they are, with HMMRT_STAY_QUOTA. If the new
 * limit is below the current use, the call evicts the excess before it returns.
 * Pages that are busy at that time stay on the device and are included in
 * @out_used_bytes. If the call fails with EINTR, the limit is set nevertheless.
 *
 * Priority: each process that has memory of a device has a share of it,
 * weighted by priority. When the device is full, processes with more than their
 * share lose memory first, the lowest priority first, and within a priority the
 * memory that was used least recently. A process that has reached its share
 * takes no memory from processes that do not exceed theirs. The priority of a
 * process is limited by the priorities of the cgroups that it is in.
 *
 * Permissions: quotas of cgroups need CAP_SYS_ADMIN to set (EPERM) and no
 * space. They fail with EOPNOTSUPP on a kernel without cgroups. They end with
 * the cgroup, with the device, or when they are set to HMMRT_QUOTA_NO_LIMIT and
 * HMMRT_PRIORITY_MAX, the initial values of a cgroup. A process can lower its
 * limit and priority. It can raise them to the values last set with
 * CAP_SYS_ADMIN, or to HMMRT_QUOTA_NO_LIMIT and HMMRT_PRIORITY_DEFAULT if there
 * are none (EPERM beyond that). Quotas of a process last as long as both its
 * space and the device, over any number of bindings. A later device with the
 * same id starts without quotas.
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

/**
 * enum hmmrt_cause - why a page moved to its location: hmmrt_page.cause
 * @HMMRT_CAUSE_NONE: the page never moved, or this space did not move it
 * @HMMRT_CAUSE_DEVICE_FAULT: a device fault
 * @HMMRT_CAUSE_CPU_FAULT: a CPU fault
 * @HMMRT_CAUSE_PREFETCH: HMMRT_IOC_PREFETCH
 * @HMMRT_CAUSE_EXCLUSIVE: HMMRT_IOC_EXCLUSIVE
 * @HMMRT_CAUSE_UNBIND: the device was unbound
 * @HMMRT_CAUSE_EVICTION: the device memory was needed, or its eviction was
 *	requested
 * @HMMRT_CAUSE_ACCESS_COUNTER: a device used the page often while it was remote
 */
enum hmmrt_cause {
	HMMRT_CAUSE_NONE = 0,
	HMMRT_CAUSE_DEVICE_FAULT,
	HMMRT_CAUSE_CPU_FAULT,
	HMMRT_CAUSE_PREFETCH,
	HMMRT_CAUSE_EXCLUSIVE,
	HMMRT_CAUSE_UNBIND,
	HMMRT_CAUSE_EVICTION,
	HMMRT_CAUSE_ACCESS_COUNTER,
};

/* Bits of hmmrt_page.flags. */
#define HMMRT_PAGE_DIRTY	0x1u	/* written since it was clean */
#define HMMRT_PAGE_PINNED	0x2u	/* pinned (GUP), as for direct I/O */
#define HMMRT_PAGE_LOCKED	0x4u	/* mlock() */
#define HMMRT_PAGE_FILE		0x8u	/* of a file or shared memory */
#define HMMRT_PAGE_HUGE		0x10u	/* part of a huge page */
#define HMMRT_PAGE_MERGED	0x20u	/* merged by KSM; with CAP_SYS_ADMIN only */
#define HMMRT_PAGE_ZEROES	0x40u	/* the zero page */

/**
 * struct hmmrt_page - state of one page
 * @location: device id, HMMRT_LOCATION_HOST or HMMRT_LOCATION_NONE
 * @flags: HMMRT_PAGE_*
 * @mapped_by: mask of the processors that can read the page without a fault:
 *	bit N for device N, HMMRT_BY_CPU for the CPU
 * @written_by: subset of @mapped_by that can also write the page
 * @duplicates: mask of the devices that have a duplicate of the page
 * @cause: enum hmmrt_cause of the last move that this space made
 * @time: time of that move, in nanoseconds of CLOCK_MONOTONIC, to about a
 *	millisecond
 */
struct hmmrt_page {
	__u32 location;
	__u32 flags;
	__u32 mapped_by;
	__u32 written_by;
	__u32 duplicates;
	__u32 cause;
	__aligned_u64 time;
};

/**
 * struct hmmrt_pages - ioctl(HMMRT_IOC_PAGES)
 * @size: sizeof(struct hmmrt_pages)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0, at most 1 GiB
 * @pages: user pointer to @len / page size elements of struct hmmrt_page
 * @page_bytes: sizeof(struct hmmrt_page), from that of the first version to the
 *	page size (EINVAL). Members that the kernel does not know are 0.
 * @__reserved: must be 0
 *
 * Report the state of each page. As with HMMRT_IOC_RESIDENCY, the result is a
 * snapshot, and the call is for each process that has the file.
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

/* Values of hmmrt_peer.operation. QUERY only reads the out_* members. */
#define HMMRT_PEER_QUERY	0
#define HMMRT_PEER_ENABLE	1
#define HMMRT_PEER_DISABLE	2

/**
 * struct hmmrt_peer - ioctl(HMMRT_IOC_PEER)
 * @size: sizeof(struct hmmrt_peer)
 * @flags: must be 0
 * @device_id: device that accesses the memory
 * @peer_id: device with the memory, different from @device_id
 * @operation: HMMRT_PEER_QUERY, HMMRT_PEER_ENABLE or HMMRT_PEER_DISABLE
 * @__reserved: must be 0
 * @out_possible: 1 if the hardware of the two devices supports peer access
 * @out_enabled: 1 if peer access is enabled for this space after the call
 *
 * Control whether a device may map the memory of another device. While peer
 * access is enabled, a fault of @device_id on a page in the peer's memory maps
 * the page there instead of moving it, if that memory is the preferred location
 * or if no other rule moves the page. Peer access is disabled at first, and
 * when either device is unbound. When a call that disables it returns,
 * @device_id no longer has access to the memory of the peer.
 *
 * The call fails with ENODEV if either device is not bound to the space, with
 * EINVAL if both ids are equal, and with EOPNOTSUPP if it is to enable access
 * that is not possible. All devices can map the memory of a coherent device.
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
 * @device_id: a device that is bound to this space
 * @__reserved: must be 0
 * @out_device_faults: device faults that the manager served
 * @out_failed_faults: device faults that failed with an error
 * @out_mapped_pages: device page table entries that were written
 * @out_remote_pages: those of them that point to memory elsewhere
 * @out_migrated_to_device: pages that migrated to the device
 * @out_migrated_to_host: pages that migrated to system memory because of a CPU
 *	fault, a prefetch or an unbind. @out_evicted_pages counts evictions.
 * @out_cpu_faults: CPU faults on pages in device memory, but not those that wait
 *	until another has moved the page. Pages of a coherent device cause none.
 * @out_invalidations: MMU notifier callbacks for this space
 * @out_retries: attempts to serve a fault that were repeated
 * @out_copied_pages: duplicates of read-mostly pages that were made
 * @out_evictions: chunks of any process that were evicted for this space
 * @out_evicted_pages: pages of this space that were evicted, on behalf of any
 *	process. Duplicates are dropped instead, and are not counted.
 * @out_thrashing_faults: device faults on memory that stays: evicted too often
 * @out_fault_batches: batches of device faults that were served, many with one
 * @out_merged_faults: device faults served with another one on the same page
 * @out_flushed_faults: pending device faults whose page had been mapped by then
 * @out_replays: times that lanes were told to continue
 * @out_pending_faults: device faults that currently wait in the queue
 * @out_thrashing_blocks: times that a block was found to thrash
 * @out_throttled_faults: device faults delayed for others that use the block
 * @out_thrash_pins: times that a block that migrates too often got a thrash pin
 * @out_thrash_unpins: times that one ended, by time or as the process moved it
 * @out_counted_moves: part of @out_migrated_to_device, due to remote use: access
 *	counters, and HMMRT_OVERSUBSCRIBE_BY_USE
 * @out_quota_refusals: faults, and blocks of calls, that left pages where they
 *	are because of a limit: see HMMRT_IOC_QUOTA
 * @out_memory_refusals: the same if the device was full and could evict nothing,
 *	or only memory that HMMRT_OVERSUBSCRIBE_BY_USE spares
 * @out_thrashing_resets: times that the process moved a thrashing block
 * @out_blocks: blocks of 2 MiB of address space with state in the manager, about
 *	10 KiB each. It is freed soon after all of the block is unmapped.
 *
 * The values are counters since the binding was made, with these exceptions:
 * @out_migrated_to_host, @out_cpu_faults and @out_invalidations count for the
 * whole space. @out_pending_faults is a current value of the binding.
 * @out_blocks is a current value of the space.
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
	__aligned_u64 out_thrash_pins;
	__aligned_u64 out_thrash_unpins;
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
 * @device_id: a device that is bound to this space
 * @__reserved: must be 0
 * @out_pages: pages before the first one that is not exclusive. Valid on
 *	success and on EINTR.
 * @done: as hmmrt_prefetch.done: after EINTR, the bytes of @out_pages
 *
 * Give a device exclusive access to pages. The pages migrate to system memory,
 * and then only the device has page table entries for them. An operation of the
 * device on a word there, even in several steps, is atomic to the CPU and to
 * other devices. The next access of the CPU or of another device ends the
 * exclusive access to that page: it waits until the device has finished with
 * the page, and then continues. After that the page is an ordinary page for the
 * device. Exclusive access can therefore end at any time, even before the call
 * returns.
 *
 * The memory must be private and anonymous and must be writable. The call fails
 * with EACCES if it is not writable, with EFAULT if any part is not mapped, and
 * with EBUSY if a page cannot be exclusive: it is locked, pinned, shared,
 * registered with userfaultfd or in a mapping of a file (even a private mapping
 * in which the page was written), or others keep accessing it. Pages before and
 * near that page may be exclusive then. The call does not wait for any program.
 */
struct hmmrt_exclusive {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 device_id;
	__u32 __reserved;
	__aligned_u64 out_pages;
	__aligned_u64 done;
};

/* The object moves to where it is used, and can be evicted. */
#define HMMRT_OBJECT_MIGRATABLE	0x1u

/**
 * struct hmmrt_object_create - ioctl(HMMRT_IOC_OBJECT_CREATE)
 * @size: sizeof(struct hmmrt_object_create)
 * @flags: HMMRT_OBJECT_*
 * @bytes: size of the object, a multiple of the block size, > 0; no more than
 *	the memory of the machine and of all devices together (ENOMEM)
 * @location: a registered device (ENODEV), HMMRT_LOCATION_HOST, or
 *	HMMRT_LOCATION_HOST_NODE() of an online node (EINVAL)
 * @out_fd: descriptor of the object, for reading and writing, close-on-exec
 *
 * Create memory without an address. It reads as zeroes. mmap(2) of the
 * descriptor gives it an address: with MAP_SHARED (EINVAL otherwise), any part
 * of it, several times, and in several processes that have the descriptor. The
 * protection of the mapping is that of the CPU. Devices get access with
 * HMMRT_IOC_ACCESS. The memory is freed when no descriptor and no mapping is
 * left.
 *
 * Without HMMRT_OBJECT_MIGRATABLE the object is *pinned*: all of its memory is
 * allocated by the call, at @location, and stays there. If @location is a
 * device, other pages on it are evicted for that. The call fails with ENOMEM if
 * that does not free enough. If the device is unregistered, the contents move
 * to system memory. With HMMRT_OBJECT_MIGRATABLE, memory is allocated when it
 * is first used. It moves to a device that uses it, as far as policy and free
 * device memory permit, and to system memory when the CPU uses it, in whole
 * blocks of the object. On a coherent device the CPU uses it in place. An access
 * of the CPU gets SIGBUS if a device cannot read the contents, and if there is
 * no memory: after some seconds, or sooner if the memory was never used.
 *
 * System memory of a pinned object is locked memory: until the object goes it
 * counts in VmPin of the caller and for RLIMIT_MEMLOCK of its user (EPERM).
 *
 * Device memory of a pinned object is charged to the calling process as long as
 * the object is there: see struct hmmrt_quota. The device need not be bound.
 * Device memory of a migratable object is charged to the process that had it
 * moved there. System memory is charged to the memory cgroup of the calling
 * process, or, at its limit, of another process that uses it first; that of a
 * migratable object also while it is on a device.
 *
 * A mapping is not inherited at fork(2). mremap(2) can move it, which ends the
 * access of devices there, and cannot enlarge it. munmap(2) and mprotect(2) of
 * a part work. The CPU can access the memory of a pinned object on a device
 * only if the device is coherent or its driver supports that; otherwise mmap(2)
 * and mprotect(2) fail with EACCES for any protection but PROT_NONE. PROT_EXEC
 * is never permitted (EPERM of mmap(2), EACCES of mprotect(2)). The kernel
 * cannot pin pages of a mapping (GUP): direct I/O, process_vm_readv(2), shared
 * futexes and the like fail with EFAULT; ptrace(2) and /proc/PID/mem work.
 */
struct hmmrt_object_create {
	__u32 size;
	__u32 flags;
	__aligned_u64 bytes;
	__u32 location;
	__s32 out_fd;
};

/**
 * struct hmmrt_object_info - ioctl(HMMRT_OBJECT_IOC_INFO), on a file of a
 * memory object
 * @size: sizeof(struct hmmrt_object_info)
 * @flags: must be 0
 * @out_bytes: size of the object
 * @out_id: number of the object. Descriptors of one object have the same, and
 *	no other object has it as long as the module is loaded.
 * @out_location: hmmrt_object_create.location
 * @out_flags: HMMRT_OBJECT_*
 * @out_resident_bytes: how much of the object is at @out_location now
 */
struct hmmrt_object_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_bytes;
	__aligned_u64 out_id;
	__u32 out_location;
	__u32 out_flags;
	__aligned_u64 out_resident_bytes;
};

/**
 * struct hmmrt_object_reopen - ioctl(HMMRT_OBJECT_IOC_REOPEN), for a hand-over
 * @size: sizeof(struct hmmrt_object_reopen)
 * @flags: must be 0
 * @access: HMMRT_ACCESS_READ, or with HMMRT_ACCESS_WRITE if this file has it
 * @out_fd: descriptor of another file of the object, close-on-exec
 *
 * A process that gets a file for reading can only read: PROT_WRITE for its
 * mappings, access of devices for writing, and this call for writing fail with
 * EACCES.
 */
struct hmmrt_object_reopen {
	__u32 size;
	__u32 flags;
	__u32 access;
	__s32 out_fd;
};

/* Values of hmmrt_access.operation. */
#define HMMRT_ACCESS_GET	0u
#define HMMRT_ACCESS_SET	1u

/**
 * struct hmmrt_access - ioctl(HMMRT_IOC_ACCESS)
 * @size: sizeof(struct hmmrt_access)
 * @flags: must be 0
 * @addr: first byte, page aligned
 * @len: bytes, page multiple, > 0
 * @operation: HMMRT_ACCESS_GET or HMMRT_ACCESS_SET
 * @device_id: a device that is bound to the space (ENODEV)
 * @access: with HMMRT_ACCESS_SET, 0, HMMRT_ACCESS_READ, or HMMRT_ACCESS_READ |
 *	HMMRT_ACCESS_WRITE. Otherwise 0.
 * @out_access: the access that the device has to all of the range after the
 *	call
 *
 * Read or change how a device may access mappings of memory objects. A mapping
 * starts without access of devices. An access that is not permitted fails as
 * one to memory without that permission (EACCES). When a call that takes access
 * away returns, the device no longer has it. A call that gives access to pinned
 * memory also maps the memory for the device, as far as possible.
 *
 * Access belongs to addresses. It ends like advice: see struct hmmrt_advise. It
 * does not depend on the protection of the mapping.
 *
 * The call changes the access to the whole range or nothing. It fails with
 * EFAULT if any part of the range is not mapped, with EINVAL if any part is not
 * a mapping of a memory object, and with EOPNOTSUPP if it is to give access to
 * memory that the device cannot reach: that of a pinned object on another
 * device that is no possible peer (hmmrt_peer.out_possible) and not coherent. It
 * fails with EACCES for writing to a mapping of a file that is read-only.
 * Access to the memory of a peer does not need HMMRT_PEER_ENABLE.
 */
struct hmmrt_access {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 len;
	__u32 operation;
	__u32 device_id;
	__u32 access;
	__u32 out_access;
};

/**
 * struct hmmrt_gpu_bind - ioctl(HMMRT_GPU_IOC_BIND)
 * @size: sizeof(struct hmmrt_gpu_bind)
 * @flags: must be 0
 * @space_fd: a file of /dev/hmmrt on which the caller created its space
 * @out_device_id: id of this device
 * @out_token: token for one HMMRT_GPU_IOC_ATTACH by the agent
 * @wait_msec: how long to wait while the device is still bound to this space,
 *	0 not to wait. After EINTR, what is left of that.
 * @__reserved: must be 0
 *
 * Bind the device to a space. A binding ends when the last reference to its
 * file is gone: all descriptors are closed, and the agent's process has exited
 * with its mappings. This can happen shortly after close(2) and waitpid(2)
 * return, and unbinding migrates memory back to the host. To bind the device
 * again, set @wait_msec. The call fails with EBUSY if the device was bound for
 * all of that time or if the file already is a binding, and with EINTR if a
 * signal ends the wait.
 *
 * poll(2) on the file reports EPOLLHUP after the process of the attached agent
 * has exited or has executed another program. An exit wakes a waiting poll(2).
 * An exec wakes it if the agent had mapped the file.
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
 * @token: token from HMMRT_GPU_IOC_BIND
 *
 * Make the caller's address space the agent of the binding. Only the agent can
 * map the file. The agent is killed when the owner's address space goes away,
 * unless its process has executed another program by then. The caller must not
 * be the owner, have a space or MMU notifiers, or be attached to another
 * binding.
 */
struct hmmrt_gpu_attach {
	__u32 size;
	__u32 flags;
	__aligned_u64 token;
};

/* Bits of hmmrt_gpu_fault_record.out_access: kinds of device access. */
#define HMMRT_ACCESS_READ	0x1u
#define HMMRT_ACCESS_WRITE	0x2u
#define HMMRT_ACCESS_EXEC	0x4u

/**
 * struct hmmrt_gpu_fault_record - ioctl(HMMRT_GPU_IOC_FAULT_RECORD)
 * @size: sizeof(struct hmmrt_gpu_fault_record)
 * @flags: must be 0
 * @out_addr: address of the last failed access of the calling thread
 * @out_access: HMMRT_ACCESS_* that the access needed. A write or an instruction
 *	fetch also needs HMMRT_ACCESS_READ.
 * @out_errno: 0 if there is no record. EFAULT if nothing is mapped at the
 *	address, EACCES if the mapping does not permit the access, EOPNOTSUPP if
 *	a device cannot reach the memory (device memory of other drivers,
 *	secretmem), ENOMEM, or ESRCH if the owner has exited.
 *
 * Report why an access of the attached agent failed. An access that the CPU
 * refuses without a device fault leaves no record: compare @out_addr with the
 * address of the signal.
 */
struct hmmrt_gpu_fault_record {
	__u32 size;
	__u32 flags;
	__aligned_u64 out_addr;
	__u32 out_access;
	__u32 out_errno;
};

#endif /* _UAPI_LINUX_HMMRT_H */
