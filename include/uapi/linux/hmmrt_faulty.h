/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hmmrt_faulty: a test device that injects failures on request, and that can be
 * added and removed while processes use it. Only tests use this interface. It
 * is not stable.
 *
 *   /dev/hmmrt-faulty    control file of the devices
 *   /dev/hmmrt-faultyN   device N. HMMRT_SOFT_IOC_BIND binds the device to the
 *                        calling process. pread() and pwrite() of
 *                        eight bytes are accesses of the device to the address
 *                        in the file offset. After the device is removed, all
 *                        calls on the file fail with ENODEV.
 *
 * The errors are those of hmmrt.h. An injected copy failure does not appear as
 * EIO: tests check how the manager handles it. Only accesses of a hollow device
 * fail with EIO (see HMMRT_FAULTY_IOC_HOLLOW).
 */
#ifndef _UAPI_LINUX_HMMRT_FAULTY_H
#define _UAPI_LINUX_HMMRT_FAULTY_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define HMMRT_FAULTY_MAX_DEVICES	2

/**
 * enum hmmrt_faulty_op - device operations that can fail on request
 * @HMMRT_FAULTY_POPULATE: populate() of struct hmmrt_device_ops
 * @HMMRT_FAULTY_PREPARE: prepare()
 * @HMMRT_FAULTY_COPY_TO_DEVICE: copy_to_device()
 * @HMMRT_FAULTY_COPY_TO_HOST: copy_to_host()
 * @HMMRT_FAULTY_COPY_FROM_PEER: copy_from_peer()
 * @HMMRT_FAULTY_OPS: number of operations
 */
enum hmmrt_faulty_op {
	HMMRT_FAULTY_POPULATE = 0,
	HMMRT_FAULTY_PREPARE,
	HMMRT_FAULTY_COPY_TO_DEVICE,
	HMMRT_FAULTY_COPY_TO_HOST,
	HMMRT_FAULTY_COPY_FROM_PEER,
	HMMRT_FAULTY_OPS,
};

/*
 * The following ioctls are for the control file. Except for
 * HMMRT_FAULTY_IOC_FAIL, the argument is the value itself, not a pointer.
 */

/* Add or remove devices until their number is the argument. */
#define HMMRT_FAULTY_IOC_DEVICES	_IO('h', 0xe0)
/* Make calls of a device operation fail. */
#define HMMRT_FAULTY_IOC_FAIL \
	_IOWR('h', 0xe1, struct hmmrt_faulty_fail)
/* Migrate all pages of a device to system memory. Argument: device number. */
#define HMMRT_FAULTY_IOC_EVICT		_IO('h', 0xe2)
/*
 * Return the number of invalidate() calls of a device. Argument: device number.
 */
#define HMMRT_FAULTY_IOC_INVALIDATIONS	_IO('h', 0xe3)

/*
 * Delay the next copy to the host by the given number of milliseconds, and then
 * make it fail. The argument 0 changes nothing. Returns the previous value,
 * which is 0 after the delayed copy has started.
 */
#define HMMRT_FAULTY_IOC_SLOW		_IO('h', 0xe4)

/*
 * Make devices that are added later hollow. The argument is the size of their
 * memory in MiB, or 0 for ordinary devices. A hollow device has no storage:
 * copies to it succeed, and copies from it and accesses of it fail (EIO).
 */
#define HMMRT_FAULTY_IOC_HOLLOW		_IO('h', 0xe5)

/*
 * 1: block copies between the host and the devices, each for at most 30 s.
 * 0: let them continue. Returns the number of copies that are blocked.
 */
#define HMMRT_FAULTY_IOC_HOLD		_IO('h', 0xe6)

/*
 * 1: one worker serves the faults of all devices and processes. 0: each access
 * serves its own fault (default).
 */
#define HMMRT_FAULTY_IOC_WORKER		_IO('h', 0xe7)

/*
 * Let a page of each 2 MiB of device memory be unreadable: copies to the host
 * that include it fail. The argument is its index + 1; 0: none (default).
 */
#define HMMRT_FAULTY_IOC_BAD_PAGE	_IO('h', 0xe8)

/*
 * Bind the device of this file to the calling process: EBUSY if it is bound to
 * it, or the file to any, already. Without that other calls fail with ENODEV. No
 * argument. /dev/hmmrt-sample has this call too.
 */
#define HMMRT_SOFT_IOC_BIND		_IO('h', 0xef)

/*
 * The following ioctls are for the file of a device. They call hmmrt_*_range()
 * (see linux/hmmrt_device.h) for a range of the process's memory.
 */

/* hmmrt_fault_range() for a write */
#define HMMRT_FAULTY_IOC_FAULT \
	_IOWR('h', 0xe8, struct hmmrt_faulty_range)
/* hmmrt_migrate_range_to_device() */
#define HMMRT_FAULTY_IOC_TO_DEVICE \
	_IOWR('h', 0xe9, struct hmmrt_faulty_range)
/* hmmrt_migrate_range_to_device() with HMMRT_MIGRATE_NO_PEERS */
#define HMMRT_FAULTY_IOC_TO_DEVICE_NO_PEERS \
	_IOWR('h', 0xec, struct hmmrt_faulty_range)
/* hmmrt_migrate_range_to_host() */
#define HMMRT_FAULTY_IOC_TO_HOST \
	_IOWR('h', 0xea, struct hmmrt_faulty_range)
/* hmmrt_exclusive_range() */
#define HMMRT_FAULTY_IOC_EXCLUSIVE \
	_IOWR('h', 0xeb, struct hmmrt_faulty_range)

/* hmmrt_fault_range(), and hmmrt_fault() of its first page, for no access */
#define HMMRT_FAULTY_IOC_FAULT_RANGE_NONE \
	_IOWR('h', 0xed, struct hmmrt_faulty_range)
#define HMMRT_FAULTY_IOC_FAULT_NONE \
	_IOWR('h', 0xee, struct hmmrt_faulty_range)

#define HMMRT_FAULTY_ALWAYS		(~(__u32)0)

/**
 * struct hmmrt_faulty_fail - ioctl(HMMRT_FAULTY_IOC_FAIL)
 * @op: enum hmmrt_faulty_op. Calls for all devices are counted together.
 * @nth: first call that fails: 1 for the next call, 2 for the one after it, and
 *	so on. 0 for none.
 * @times: number of consecutive calls that fail, at least 1 unless @nth is 0,
 *	or HMMRT_FAULTY_ALWAYS
 * @out_left: state of the previous request for @op. Its remaining @nth, or 1 if
 *	it has made some but not all of its calls fail. 0 if all of its calls
 *	have failed, or if it was making every call fail.
 */
struct hmmrt_faulty_fail {
	__u32 op;
	__u32 nth;
	__u32 times;
	__u32 out_left;
};

/**
 * struct hmmrt_faulty_range - argument of the ioctls for a range
 * @addr: first byte, page aligned
 * @len: bytes, page multiple
 * @out_moved: pages that moved, for ioctls that migrate. Also valid on failure.
 */
struct hmmrt_faulty_range {
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 out_moved;
};

#endif /* _UAPI_LINUX_HMMRT_FAULTY_H */
