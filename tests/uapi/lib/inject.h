/* SPDX-License-Identifier: MIT */
/*
 * Failing allocations: the kernel's fault injection, for one thread. Needs
 * CONFIG_FAULT_INJECTION.
 */
#ifndef TESTS_UAPI_INJECT_H
#define TESTS_UAPI_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Sets up fault injection so that allocations that may sleep fail, too. Returns
 * false if the kernel lacks it.
 */
bool inject_start(void);

/*
 * Opens a proc file of the thread whose allocations should fail: the calling
 * thread if @pid is 0. Returns a descriptor, or -1.
 */
int inject_open(pid_t pid, pid_t tid, const char *name);
void inject_write(int fd, unsigned int value);
/* Returns true if the allocation was reached and failed. */
bool inject_disarm(int fd);

/* Less than the default time limit of a device removal. */
#define INJECT_SECONDS	25

/*
 * Calls a function in a thread whose allocations all fail. Returns the
 * function's result, or -ETIME if it takes longer than INJECT_SECONDS. In that
 * case we let allocations succeed again and wait for the thread to end.
 */
int inject_run(int (*run)(void *arg), void *arg);

/* Sets how many allocations of each kind fail after the nth one. */
void inject_burst(const char *times);
/*
 * The same for slab allocations only, in threads that have make-it-fail set.
 * "-1" makes all of them fail.
 */
void inject_slab(const char *times);

#endif
