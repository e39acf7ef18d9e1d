/* SPDX-License-Identifier: MIT */
/*
 * Controls hmmrt_faulty, a device that fails and goes away on command: wraps
 * the calls of <linux/hmmrt_faulty.h>, one function each. Results are 0 or a
 * negative errno.
 */
#ifndef TESTS_UAPI_FAULTY_H
#define TESTS_UAPI_FAULTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/hmmrt_faulty.h>

/* Return a file descriptor or a negative errno. */
int open_faulty_control(void);
/* The same for a device, which is then bound to this process. */
int open_soft(const char *node);
int open_faulty(unsigned int number);

/* Sets the number of devices. */
int faulty_devices(int control, unsigned long count);

/*
 * Makes the @nth call of @op from now on fail, counted over all devices. 0
 * makes no call fail.
 */
int faulty_fail_nth(int control, enum hmmrt_faulty_op op, unsigned int nth);
/* Makes the next @times calls of @op fail. */
int faulty_fail_next(int control, enum hmmrt_faulty_op op, unsigned int times);
int faulty_fail_always(int control, enum hmmrt_faulty_op op);
/*
 * Ends the failures of @op. Returns how many more calls would have reached the
 * failing one.
 */
int faulty_fail_stop(int control, enum hmmrt_faulty_op op);

int faulty_evict(int control, unsigned long number);
/* Returns how often the device was told to invalidate, or a negative errno. */
int faulty_invalidations(int control, unsigned long number);

/*
 * Devices created from now on have @mib MiB without backing storage: they
 * accept copies but cannot return the data. 0 restores normal devices.
 */
int faulty_hollow(int control, unsigned long mib);

/* Makes the page with index @page - 1 in each 2 MiB unreadable. 0 resets it. */
int faulty_bad_page(int control, unsigned long page);

/*
 * The next copy to the host takes @msecs and then fails; 0 changes nothing.
 * Returns the previous setting, which is 0 once that copy has begun.
 */
int faulty_slow_copy(int control, unsigned long msecs);

/*
 * Makes copies wait, or lets them continue. Returns how many wait, or a
 * negative errno.
 */
int faulty_hold(int control, bool hold);
/* Waits until a copy is held. Returns 0 or -ETIMEDOUT. */
int faulty_wait_held(int control);

/*
 * If @on, one fault worker serves the faults; otherwise each access serves its
 * own.
 */
int faulty_worker(int control, bool on);

/* Device accesses to a word (@value may be NULL), and calls on a range. */
int faulty_read(int fd, const volatile void *addr, uint64_t *value);
int faulty_write(int fd, volatile void *addr, uint64_t value);
int faulty_range(int fd, unsigned int call, const volatile void *addr,
		 size_t len);

#endif
