/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * hmmrt_faulty: a device for tests, which fails when it is told to and comes and
 * goes while processes use it. No program but tests needs it: it may change.
 *
 *   /dev/hmmrt-faulty    tells the devices what to do
 *   /dev/hmmrt-faultyN   device N; an open file is a binding of it to the process
 *                        that opened it. pread() and pwrite() of eight bytes are
 *                        the device's accesses to that address. When the device
 *                        goes, they and the calls are ENODEV.
 *
 * Errors are those of hmmrt.h, and EIO from none of them: what the manager makes
 * of a failed copy is what is tested.
 */
#ifndef _UAPI_LINUX_HMMRT_FAULTY_H
#define _UAPI_LINUX_HMMRT_FAULTY_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define HMMRT_FAULTY_MAX_DEVICES	2

/* Ops of a device that may fail. */
enum hmmrt_faulty_op {
	HMMRT_FAULTY_POPULATE = 0,
	HMMRT_FAULTY_PREPARE,
	HMMRT_FAULTY_COPY_TO_DEVICE,
	HMMRT_FAULTY_COPY_TO_HOST,
	HMMRT_FAULTY_COPY_FROM_PEER,
	HMMRT_FAULTY_OPS,
};

/* How many devices there are from now on: the argument itself, 0 to the maximum. */
#define HMMRT_FAULTY_IOC_DEVICES	_IO('h', 0xe0)
#define HMMRT_FAULTY_IOC_FAIL \
	_IOWR('h', 0xe1, struct hmmrt_faulty_fail)
/* Bring home what is on a device: its number is the argument itself. */
#define HMMRT_FAULTY_IOC_EVICT		_IO('h', 0xe2)
/* How often a device was told to invalidate: its number is the argument itself. */
#define HMMRT_FAULTY_IOC_INVALIDATIONS	_IO('h', 0xe3)

/*
 * The next copy to the host takes as many milliseconds as the argument says, and
 * fails; 0 changes nothing. Returns what was set before: 0 once that copy has begun.
 */
#define HMMRT_FAULTY_IOC_SLOW		_IO('h', 0xe4)

/*
 * Devices that come from now on have so many MiB, with nothing behind: they take what is
 * copied to them, and give nothing back. 0: as devices are at first. EIO for accesses.
 */
#define HMMRT_FAULTY_IOC_HOLLOW		_IO('h', 0xe5)

/*
 * The argument itself is 1: copies to and from the devices wait from now on, for half
 * a minute at most; 0: they go on. Returns how many wait.
 */
#define HMMRT_FAULTY_IOC_HOLD		_IO('h', 0xe6)

/*
 * The argument itself is 1: from now on one worker serves the faults of accesses, of
 * all devices and processes; 0: each access serves its own, as at first.
 */
#define HMMRT_FAULTY_IOC_WORKER		_IO('h', 0xe7)

#define HMMRT_FAULTY_IOC_FAULT \
	_IOWR('h', 0xe8, struct hmmrt_faulty_range)
#define HMMRT_FAULTY_IOC_TO_DEVICE \
	_IOWR('h', 0xe9, struct hmmrt_faulty_range)
/* The same without what is on other devices: HMMRT_MIGRATE_NO_PEERS. */
#define HMMRT_FAULTY_IOC_TO_DEVICE_NO_PEERS \
	_IOWR('h', 0xec, struct hmmrt_faulty_range)
#define HMMRT_FAULTY_IOC_TO_HOST \
	_IOWR('h', 0xea, struct hmmrt_faulty_range)
#define HMMRT_FAULTY_IOC_EXCLUSIVE \
	_IOWR('h', 0xeb, struct hmmrt_faulty_range)

#define HMMRT_FAULTY_ALWAYS		(~(__u32)0)

/**
 * struct hmmrt_faulty_fail - ioctl(HMMRT_FAULTY_IOC_FAIL)
 * @op: enum hmmrt_faulty_op, of all devices together
 * @nth: 1 the next call fails, 2 the one after it, ...; 0 none
 * @times: how many fail from that one on, at least 1; HMMRT_FAULTY_ALWAYS all
 * @out_left: what was left of @nth before, 1 when some of @times was; 0 when those
 *	calls have failed, and when all were to
 */
struct hmmrt_faulty_fail {
	__u32 op;
	__u32 nth;
	__u32 times;
	__u32 out_left;
};

/**
 * struct hmmrt_faulty_range - what a call works on
 * @addr: first byte, page aligned
 * @len: bytes, page multiple
 * @out_moved: pages that moved, for those that move some; also on failure
 */
struct hmmrt_faulty_range {
	__aligned_u64 addr;
	__aligned_u64 len;
	__aligned_u64 out_moved;
};

#endif /* _UAPI_LINUX_HMMRT_FAULTY_H */
