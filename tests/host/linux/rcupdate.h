/* SPDX-License-Identifier: MIT */
/* The tests have one thread: a grace period is over immediately. */
#ifndef TESTS_HOST_LINUX_RCUPDATE_H
#define TESTS_HOST_LINUX_RCUPDATE_H

#include <stddef.h>

struct rcu_head {
	char unused;
};

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define call_rcu(head, function) ((function)(head))

#endif
