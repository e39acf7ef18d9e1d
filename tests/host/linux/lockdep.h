/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_LOCKDEP_H
#define TESTS_HOST_LINUX_LOCKDEP_H

#include <assert.h>
#include <stdbool.h>

/* The tests have one thread: a lock only knows whether it is held. */
struct host_lock {
	bool held;
};

static inline void host_lock_take(struct host_lock *lock)
{
	assert(!lock->held);
	lock->held = true;
}

static inline void host_lock_drop(struct host_lock *lock)
{
	assert(lock->held);
	lock->held = false;
}

#define lockdep_assert_held(l) assert((l)->host.held)

#endif
