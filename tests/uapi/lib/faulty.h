/* SPDX-License-Identifier: MIT */
/*
 * hmmrt_faulty, a device that fails and goes when it is told to: the calls of
 * <linux/hmmrt_faulty.h>, one function each. Results are 0 or a negative errno.
 */
#ifndef TESTS_UAPI_FAULTY_H
#define TESTS_UAPI_FAULTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/hmmrt_faulty.h>

/* A file descriptor or a negative errno. */
int open_faulty_control(void);
int open_faulty(unsigned int number);

/* How many devices there are from now on. */
int faulty_devices(int control, unsigned long count);

/* The @nth call of @op from now on fails; 0: none does. All of them: see below. */
int faulty_fail_nth(int control, enum hmmrt_faulty_op op, unsigned int nth);
/* The next @times calls of @op fail. */
int faulty_fail_next(int control, enum hmmrt_faulty_op op, unsigned int times);
int faulty_fail_always(int control, enum hmmrt_faulty_op op);
/* None fails any more. Returns how many calls short of the failing one it was. */
int faulty_fail_stop(int control, enum hmmrt_faulty_op op);

int faulty_evict(int control, unsigned long number);
/* How often the device was told to invalidate, or a negative errno. */
int faulty_invalidations(int control, unsigned long number);

/* Devices that come from now on have so much memory, and give nothing back; 0: not. */
int faulty_hollow(int control, unsigned long mib);

/*
 * The next copy to the host takes so long, and fails; 0 changes nothing. Returns what
 * was set before: 0 once that copy has begun.
 */
int faulty_slow_copy(int control, unsigned long msecs);

/* Copies wait, or go on. Returns how many wait, or a negative errno. */
int faulty_hold(int control, bool hold);
/* Until one does; 0 or -ETIMEDOUT. */
int faulty_wait_held(int control);

/* One worker serves the faults of accesses, or each access its own. */
int faulty_worker(int control, bool on);

/* Accesses of the device to a word, and calls of it on a range. */
int faulty_read(int fd, const volatile void *addr, uint64_t *value);
int faulty_write(int fd, volatile void *addr, uint64_t value);
int faulty_range(int fd, unsigned int call, const volatile void *addr,
		 size_t len);

#endif
