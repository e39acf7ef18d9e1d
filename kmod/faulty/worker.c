// SPDX-License-Identifier: GPL-2.0-only
/*
 * One worker that serves the faults of all devices and processes, as drivers have whose
 * hardware reports faults by interrupt. It waits for no program: where one provides the
 * page, the fault is put aside until that is there, and the next one is served.
 *
 * States     PENDING   on the list
 *            SERVED    by the worker, at the moment
 *            AWAY      until its page is faulted in
 *            ANSWERED  only the access that waits for it uses it
 * Lifetime   A fault is on the stack of the access that waits for it. The access takes
 *            it back, whatever its state, before it returns; it waits for the worker
 *            alone, which soon goes on. So a binding is in use as long as the access
 *            says so, by its gate.
 * Locking    lock  spinlock: the list, the states. Taken in fault_in_done().
 */
#include <linux/hmmrt_device.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "worker.h"

enum fault_state { PENDING, SERVED, AWAY, ANSWERED };

struct fault {
	struct list_head link;
	struct hmmrt_binding *binding;
	unsigned long addr;
	unsigned int access;
	enum fault_state state;
	struct hmmrt_fault_in *in;	/* of the worker, or of take_back() */
	bool came;			/* fault_in_done() was called */
	int rc;
};

static void worker_run(struct work_struct *work);

static DEFINE_SPINLOCK(lock);
static LIST_HEAD(pending);
static DECLARE_WAIT_QUEUE_HEAD(changed);	/* the state of some fault */
static DECLARE_WORK(worker, worker_run);

static void fault_pend(struct fault *fault)
{
	lockdep_assert_held(&lock);
	fault->state = PENDING;
	list_add_tail(&fault->link, &pending);
	queue_work(system_long_wq, &worker);
}

/* The page is there, or cannot be had. */
static void fault_return(struct fault *fault)
{
	lockdep_assert_held(&lock);
	if (!fault->rc || fault->rc == -EINTR || fault->rc == -EAGAIN) {
		fault_pend(fault);
	} else {
		fault->state = ANSWERED;
		wake_up_all(&changed);
	}
}

static void fault_in_done(void *data, int rc)
{
	struct fault *fault = data;

	spin_lock(&lock);
	fault->came = true;
	fault->rc = rc;
	/* Else the worker has not put it aside yet, or it was taken back. */
	if (fault->state == AWAY)
		fault_return(fault);
	spin_unlock(&lock);
}

static struct fault *take_pending(void)
{
	struct fault *fault;

	spin_lock(&lock);
	fault = list_first_entry_or_null(&pending, struct fault, link);
	if (fault) {
		list_del_init(&fault->link);
		fault->state = SERVED;
	}
	spin_unlock(&lock);
	return fault;
}

static void answer(struct fault *fault, int rc)
{
	spin_lock(&lock);
	fault->rc = rc;
	fault->state = ANSWERED;
	spin_unlock(&lock);
	wake_up_all(&changed);
}

static void put_aside(struct fault *fault)
{
	struct hmmrt_fault_in *in;

	fault->came = false;
	in = hmmrt_fault_in_begin(fault->binding, fault->addr, fault->access,
				  fault_in_done, fault);
	if (IS_ERR(in)) {
		answer(fault, PTR_ERR(in));
		return;
	}
	spin_lock(&lock);
	fault->in = in;
	fault->state = AWAY;
	if (fault->came)
		fault_return(fault);
	spin_unlock(&lock);
	wake_up_all(&changed);
}

static void serve(struct fault *fault)
{
	int rc;

	hmmrt_fault_in_end(fault->in);
	fault->in = NULL;
	rc = hmmrt_fault(fault->binding, fault->addr,
			 fault->access | HMMRT_FAULT_NOWAIT);
	if (rc == -EBUSY)
		put_aside(fault);
	else
		answer(fault, rc);
}

static void worker_run(struct work_struct *work)
{
	struct fault *fault;

	while ((fault = take_pending())) {
		serve(fault);
		cond_resched();
	}
}

static bool is_state(const struct fault *fault, enum fault_state state)
{
	bool is;

	spin_lock(&lock);
	is = fault->state == state;
	spin_unlock(&lock);
	return is;
}

static bool is_over(const struct fault *fault, const bool *stopping)
{
	return READ_ONCE(*stopping) || is_state(fault, ANSWERED);
}

/* Whatever its state. Returns false if it had no answer. */
static bool take_back(struct fault *fault)
{
	bool answered;

	for (;;) {
		wait_event(changed, !is_state(fault, SERVED));
		spin_lock(&lock);
		if (fault->state != SERVED)
			break;
		spin_unlock(&lock);
	}
	answered = fault->state == ANSWERED;
	list_del_init(&fault->link);
	fault->state = ANSWERED;
	spin_unlock(&lock);
	hmmrt_fault_in_end(fault->in);
	return answered;
}

/**
 * worker_fault() - have the worker serve a fault
 * @binding: in use until this returns
 * @addr: of the fault
 * @access: HMMRT_ACCESS_*
 * @stopping: becomes true when the device goes; worker_stopping() follows
 *
 * Return: as hmmrt_fault(); -EINTR for a fatal signal too, and if @stopping.
 */
int worker_fault(struct hmmrt_binding *binding, unsigned long addr,
		 unsigned int access, const bool *stopping)
{
	struct fault fault = {
		.binding = binding,
		.addr = addr,
		.access = access,
	};

	INIT_LIST_HEAD(&fault.link);
	spin_lock(&lock);
	fault_pend(&fault);
	spin_unlock(&lock);
	wait_event_killable(changed, is_over(&fault, stopping));
	if (!take_back(&fault))
		return -EINTR;
	/* Too many wait, see hmmrt_fault_in_begin(), or others got in between. */
	if (fault.rc == -EAGAIN)
		schedule_timeout_killable(msecs_to_jiffies(10));
	return fault.rc;
}

void worker_stopping(void)
{
	wake_up_all(&changed);
}

/* No access is left. */
void worker_exit(void)
{
	flush_work(&worker);
}
