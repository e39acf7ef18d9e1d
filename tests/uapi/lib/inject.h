/* SPDX-License-Identifier: MIT */
/*
 * Failing allocations: the kernel's fault injection, for one thread. Needs
 * CONFIG_FAULT_INJECTION.
 */
#ifndef TESTS_UAPI_INJECT_H
#define TESTS_UAPI_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes allocations that may sleep fail, too. Returns false if it is missing. */
bool inject_start(void);

/*
 * Opens a proc file of the thread that is to see failing allocations: of the
 * calling thread if @pid is 0. Returns a descriptor, or -1.
 */
int inject_open(pid_t pid, pid_t tid, const char *name);
void inject_write(int fd, unsigned int value);
/* Returns true if the allocation was reached and failed. */
bool inject_disarm(int fd);

/* Less than the time that a removal takes by default. */
#define INJECT_SECONDS	25

/*
 * Calls a function in a thread for which no allocation succeeds. Returns what it
 * returns, or -ETIME after INJECT_SECONDS; then the thread gets memory, and is
 * waited for.
 */
int inject_run(int (*run)(void *arg), void *arg);

/* Sets how many allocations of each kind fail after the nth one. */
void inject_burst(const char *times);
/*
 * The same for allocations of slab memory alone, by threads that are to see
 * them (make-it-fail); "-1": all of them.
 */
void inject_slab(const char *times);

#endif
