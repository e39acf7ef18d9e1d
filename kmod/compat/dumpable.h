/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether processes of the same user may inspect a process. Until 7.1 that is a
 * property of the mm, and then one of the task.
 */
#ifndef _HMMRT_COMPAT_DUMPABLE_H
#define _HMMRT_COMPAT_DUMPABLE_H

#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>

#include "hmmrt_probes.h"

#ifdef HMMRT_HAVE_EXEC_STATE
#include <linux/sched/exec_state.h>
#endif

/* The process @pid has, or had, @mm, to which the caller has a reference. */
static inline bool hmmrt_is_dumpable(struct pid *pid, struct mm_struct *mm)
{
#ifdef HMMRT_HAVE_EXEC_STATE
	const struct task_struct *task;
	bool dumpable;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	dumpable = task &&
		   READ_ONCE(rcu_dereference(task->exec_state)->dumpable) ==
			   TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return dumpable;
#else
	return get_dumpable(mm) == SUID_DUMP_USER;
#endif
}

#endif /* _HMMRT_COMPAT_DUMPABLE_H */
