/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether processes of the same user may inspect the caller's. Until 7.1 that is
 * a property of the mm, and then one of the task.
 */
#ifndef _HMMRT_COMPAT_DUMPABLE_H
#define _HMMRT_COMPAT_DUMPABLE_H

#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>

#include "hmmrt_probes.h"

#ifdef HMMRT_HAVE_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif

static inline bool hmmrt_current_is_dumpable(void)
{
#ifdef HMMRT_HAVE_EXEC_STATE
	bool dumpable;

	rcu_read_lock();
	dumpable = READ_ONCE(rcu_dereference(current->exec_state)->dumpable) ==
		   TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return dumpable;
#else
	return get_dumpable(current->mm) == SUID_DUMP_USER;
#endif
}

#endif /* _HMMRT_COMPAT_DUMPABLE_H */
