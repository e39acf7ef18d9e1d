// SPDX-License-Identifier: GPL-2.0-only
/*
 * One worker that serves the faults of all devices and processes, like a driver
 * for hardware that reports faults by interrupt. It does not wait for programs:
 * if a program is to provide the page, the worker sets the fault aside until
 * the page is there, and serves the next fault.
 *
 * States     PENDING   on the list
 *            SERVED    the worker is serving it
 *            AWAY      waiting until its page is faulted in
 *            ANSWERED  only the access that waits for it uses it
 * Lifetime   A fault is on the stack of the access that waits for it. Before it
 *            returns, the access takes the fault back, in any state. For that
 *            it waits at most for the worker, which does not keep a fault for
 *            long. The gate of the access keeps the binding in use during that
 *            time.
 * Locking    lock  spinlock: the list and the states. Taken in fault_in_done().
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
	struct hmmrt_fault_in *in;	/* of worker or take_back() */
	bool came;			/* fault_in_done() was called */
	int rc;
};

static void worker_run(struct work_struct *work);

static DEFINE_SPINLOCK(lock);
static LIST_HEAD(pending);
static DECLARE_WAIT_QUEUE_HEAD(changed);	/* a state has changed */
static DECLARE_WORK(worker, worker_run);

static void fault_pend(struct fault *fault)
{
	lockdep_assert_held(&lock);
	fault->state = PENDING;
	list_add_tail(&fault->link, &pending);
	queue_work(system_long_wq, &worker);
}

/* The fault-in has ended, with or without success. */
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
	/* Otherwise it is not set aside yet, or was taken back. */
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

static void worker_answer(struct fault *fault, int rc)
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
		worker_answer(fault, PTR_ERR(in));
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

static void worker_serve(struct fault *fault)
{
	int rc;

	hmmrt_fault_in_end(fault->in);
	fault->in = NULL;
	rc = hmmrt_fault(fault->binding, fault->addr,
			 fault->access | HMMRT_FAULT_NOWAIT);
	if (rc == -EBUSY)
		put_aside(fault);
	else
		worker_answer(fault, rc);
}

static void worker_run(struct work_struct *work)
{
	struct fault *fault;

	while ((fault = take_pending())) {
		worker_serve(fault);
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

/* Take back a fault in any state. Returns false if it has no answer. */
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
 * @binding: binding, which must stay in use until this returns
 * @addr: address of the fault
 * @access: HMMRT_ACCESS_*
 * @stopping: set to true when the device is removed; worker_stopping() follows
 *
 * Return: as hmmrt_fault(). Also -EINTR for a fatal signal or if @stopping is
 * set.
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
	/* Too many fault-ins (hmmrt_fault_in_begin()), or too many races. */
	if (fault.rc == -EAGAIN)
		schedule_timeout_killable(msecs_to_jiffies(10));
	return fault.rc;
}

void worker_stopping(void)
{
	wake_up_all(&changed);
}

/* Called when no access is running. */
void worker_exit(void)
{
	flush_work(&worker);
}
