// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of failed accesses of a view. A lane learns that the manager
 * refused an access when it repeats the access: the error cannot be returned
 * earlier, because the fault has dropped the agent's mmap_lock.
 *
 * Records are indexed by thread id, and thread ids are reused. The record of a
 * thread that has ended is taken over by the next thread with the same id, or
 * freed by a sweep.
 */
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "simgpu.h"

#define SWEEP_FAILURES	64u

void simgpu_failures_init(struct simgpu_view *view)
{
	xa_init_flags(&view->failures, XA_FLAGS_ACCOUNT);
	view->sweep_failures = SWEEP_FAILURES;
}

static void failure_free(struct view_failure *failure)
{
	put_pid(failure->lane);
	kfree(failure);
}

void simgpu_failures_destroy(struct simgpu_view *view)
{
	struct view_failure *failure;
	unsigned long index;

	xa_for_each(&view->failures, index, failure)
		failure_free(failure);
	xa_destroy(&view->failures);
}

static bool lane_ended(struct pid *lane)
{
	bool ended;

	rcu_read_lock();
	ended = !pid_task(lane, PIDTYPE_PID);
	rcu_read_unlock();
	return ended;
}

/*
 * Remove and return the record of a lane, or return NULL if it has not ended.
 */
static struct view_failure *failure_take_ended(struct simgpu_view *view,
					       unsigned long index)
{
	struct view_failure *failure;

	xa_lock(&view->failures);
	failure = xa_load(&view->failures, index);
	if (failure && lane_ended(failure->lane)) {
		__xa_erase(&view->failures, index);
		view->nr_failures--;
	} else {
		failure = NULL;
	}
	xa_unlock(&view->failures);
	return failure;
}

/* Keep the number of records below about twice the number of lanes. */
static void failures_sweep(struct simgpu_view *view)
{
	struct view_failure *failure;
	unsigned long index;

	if (READ_ONCE(view->nr_failures) < READ_ONCE(view->sweep_failures))
		return;
	xa_for_each(&view->failures, index, failure) {
		failure = failure_take_ended(view, index);
		if (failure)
			failure_free(failure);
		cond_resched();
	}
	xa_lock(&view->failures);
	view->sweep_failures = max(SWEEP_FAILURES, 2 * view->nr_failures);
	xa_unlock(&view->failures);
}

/*
 * Return the record of the calling lane, or NULL. Until the lane ends, the
 * record stays, and no other thread writes to it.
 */
struct view_failure *simgpu_failure_find(struct simgpu_view *view)
{
	struct view_failure *failure;

	xa_lock(&view->failures);
	failure = xa_load(&view->failures, task_pid_nr(current));
	if (failure && failure->lane != task_pid(current)) {
		put_pid(failure->lane);
		*failure = (struct view_failure){
			.lane = get_pid(task_pid(current)),
		};
	}
	xa_unlock(&view->failures);
	return failure;
}

static bool failure_create(struct simgpu_view *view)
{
	struct view_failure *failure =
		kzalloc(sizeof(*failure), GFP_KERNEL_ACCOUNT);
	int rc;

	if (!failure)
		return false;
	failures_sweep(view);
	failure->lane = get_pid(task_pid(current));
	xa_lock(&view->failures);
	rc = xa_err(__xa_store(&view->failures, task_pid_nr(current), failure,
			       GFP_KERNEL_ACCOUNT));
	if (!rc)
		view->nr_failures++;
	xa_unlock(&view->failures);
	if (rc)
		failure_free(failure);
	return !rc;
}

static vm_fault_t failure_code(int error)
{
	switch (error) {
	case -ENOMEM:
	case -ESRCH:
		return VM_FAULT_SIGBUS;
	default:
		return VM_FAULT_SIGSEGV;
	}
}

/*
 * If the manager has just refused this access of this lane, report that. The
 * lock was dropped at that time, so the error could not be returned then.
 * Returns 0 if there is nothing to report.
 */
vm_fault_t simgpu_failure_report(struct simgpu_view *view,
				 const struct vm_fault *vmf,
				 unsigned int access)
{
	struct view_failure *failure = simgpu_failure_find(view);

	if (!failure || !failure->pending)
		return 0;
	failure->pending = false;
	/* Another access: a signal interrupted the first one. */
	if (!(vmf->flags & FAULT_FLAG_TRIED) ||
	    failure->addr != vmf->real_address || failure->access != access)
		return 0;
	return failure_code(failure->error);
}

/* Store why the manager refused an access, in the reserved record. */
void simgpu_failure_store(struct simgpu_view *view, unsigned long addr,
			  unsigned int access, int error)
{
	struct view_failure *failure = simgpu_failure_find(view);

	if (!failure)
		return;
	failure->addr = addr;
	failure->access = access;
	failure->error = error;
	failure->pending = true;
}

/*
 * Make sure that this lane has a record, so that storing a failure needs no
 * memory. Clear the record for a new access.
 */
bool simgpu_failure_reserve(struct simgpu_view *view,
			    const struct vm_fault *vmf)
{
	struct view_failure *failure = simgpu_failure_find(view);

	if (!failure)
		return failure_create(view);
	if (!(vmf->flags & FAULT_FLAG_TRIED)) {
		failure->addr = 0;
		failure->access = 0;
		failure->error = 0;
		failure->pending = false;
	}
	return true;
}
