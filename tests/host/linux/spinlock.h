/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_SPINLOCK_H
#define TESTS_HOST_LINUX_SPINLOCK_H

#include <linux/lockdep.h>

typedef struct {
	struct host_lock host;
} spinlock_t;

#define spin_lock_init(l) ((l)->host.held = false)
#define spin_lock(l)	  host_lock_take(&(l)->host)
#define spin_unlock(l)	  host_lock_drop(&(l)->host)

#endif
