/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_MUTEX_H
#define TESTS_HOST_LINUX_MUTEX_H

#include <linux/lockdep.h>

struct mutex {
	struct host_lock host;
};

#define mutex_init(m)	 ((m)->host.held = false)
#define mutex_lock(m)	 host_lock_take(&(m)->host)
#define mutex_unlock(m)	 host_lock_drop(&(m)->host)
#define mutex_destroy(m) assert(!(m)->host.held)

#endif
