// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faulting in a page for a driver that must not wait for it. If a program
 * provides the page (FUSE, userfaultfd), that takes as long as the program
 * likes.
 *
 * Threads    Each page gets a kernel thread, which takes the fault as a thread
 *            of the process would. A signal ends most of its sleeps but not
 *            all: a read from a FUSE server without asynchronous reads cannot
 *            be interrupted. So hmmrt never waits for a thread and does not
 *            block a workqueue with one.
 * Lifetime   A thread holds the mm, the module, and its struct hmmrt_fault_in.
 *            It holds neither the binding nor the space nor the device. The
 *            driver detaches the thread with hmmrt_fault_in_end(); done() is
 *            not called after that. The module cannot be unloaded while a
 *            thread exists.
 * Limits     Kernel threads do not count against RLIMIT_NPROC, and a detached
 *            one outlives its process. So the number per process and the number
 *            per user are limited. Detached threads count.
 * Locking    fault_ins_lock, a spinlock, protects the list of all faults.
 *            fault_in->lock, a spinlock, is held while done() is called.
 */
#include <linux/cred.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "serve.h"

#define FAULT_INS_PER_PROCESS	32
#define FAULT_INS_PER_USER	256

struct hmmrt_fault_in {
	struct list_head link;		/* on fault_ins */
	refcount_t refs;	/* one of the thread, one of the driver */
	struct mm_struct *mm;		/* referenced by the thread */
	const struct cred *cred;	/* of the process, referenced */
	unsigned long addr;
	unsigned int access;
	struct task_struct *thread;	/* referenced by the driver */
	spinlock_t lock;		/* protects @done */
	hmmrt_fault_in_done_t done;	/* NULL: called, or detached */
	void *data;
};

static DEFINE_SPINLOCK(fault_ins_lock);
static LIST_HEAD(fault_ins);

static void fault_in_put(struct hmmrt_fault_in *fault_in)
{
	if (!refcount_dec_and_test(&fault_in->refs))
		return;
	/* Called, or detached: the driver waits for nothing. */
	VM_WARN_ON_ONCE(fault_in->done);
	put_cred(fault_in->cred);
	kfree(fault_in);
}

/* Add to the list, unless the process or the user is at its limit. */
static bool fault_in_admit(struct hmmrt_fault_in *fault_in)
{
	unsigned int of_process = 0, of_user = 0;
	const struct hmmrt_fault_in *other;
	bool admitted;

	spin_lock(&fault_ins_lock);
	list_for_each_entry(other, &fault_ins, link) {
		of_process += other->mm == fault_in->mm;
		of_user += uid_eq(other->cred->uid, fault_in->cred->uid);
	}
	admitted = of_process < FAULT_INS_PER_PROCESS &&
		   of_user < FAULT_INS_PER_USER;
	if (admitted)
		list_add(&fault_in->link, &fault_ins);
	spin_unlock(&fault_ins_lock);
	return admitted;
}

static void fault_in_leave(struct hmmrt_fault_in *fault_in)
{
	spin_lock(&fault_ins_lock);
	list_del(&fault_in->link);
	spin_unlock(&fault_ins_lock);
}

/* --- the thread ----------------------------------------------------------- */

static bool is_detached(struct hmmrt_fault_in *fault_in)
{
	bool detached;

	spin_lock(&fault_in->lock);
	detached = !fault_in->done;
	spin_unlock(&fault_in->lock);
	return detached;
}

/* Drops the mmap_lock where the fault waits for a program. */
static int fault_in_touch(const struct hmmrt_fault_in *fault_in)
{
	struct mm_struct *mm = fault_in->mm;
	struct vm_area_struct *vma;
	bool unlocked = false;
	int rc;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = vma_lookup(mm, fault_in->addr);
	rc = vma ? hmmrt_vma_check(vma, fault_in->access) : -EFAULT;
	/* A device needs no entry of the CPU to use a memory object. */
	if (vma && hmmrt_vma_object(vma))
		rc = 0;
	else if (!rc)
		rc = fixup_user_fault(mm, fault_in->addr,
				      fault_in->access & HMMRT_ACCESS_WRITE ?
					      FAULT_FLAG_WRITE : 0,
				      &unlocked);
	mmap_read_unlock(mm);
	return rc;
}

/*
 * Fault as the process would. Use its credentials, because a FUSE mount in a
 * user namespace refuses users without an id there. Charge the page to its
 * cgroup.
 */
static int touch_as_process(const struct hmmrt_fault_in *fault_in)
{
	struct hmmrt_charging charging = hmmrt_charge_to(fault_in->mm);
	const struct cred *before = override_creds(fault_in->cred);
	int rc = fault_in_touch(fault_in);

	revert_creds(before);
	hmmrt_charge_end(charging);
	return rc;
}

static int fault_in_thread(void *data)
{
	struct hmmrt_fault_in *fault_in = data;
	int rc = -EINTR;

	/*
	 * A signal sent before this is lost. hmmrt_fault_in_end() detaches the
	 * thread before it sends SIGKILL, so check for that afterwards.
	 */
	allow_signal(SIGKILL);
	/*
	 * Like a thread of the process: a page that is faulted in may be written
	 * to a disk. A sleep in the fault cannot be frozen, as that of any
	 * process that waits for such a page.
	 */
	set_freezable();
	if (!is_detached(fault_in))
		rc = touch_as_process(fault_in);
	fault_in_leave(fault_in);
	spin_lock(&fault_in->lock);
	if (fault_in->done)
		fault_in->done(fault_in->data, rc);
	fault_in->done = NULL;
	spin_unlock(&fault_in->lock);
	/* This may be the last reference, and notify devices of the exit. */
	mmput(fault_in->mm);
	fault_in_put(fault_in);
	module_put_and_kthread_exit(0);
}

/* --- for drivers ---------------------------------------------------------- */

/* The thread starts to run when woken, and holds the module. */
static int fault_in_start(struct hmmrt_fault_in *fault_in)
{
	struct task_struct *thread;

	__module_get(THIS_MODULE);
	thread = kthread_create(fault_in_thread, fault_in, "hmmrt-fault-in");
	if (IS_ERR(thread)) {
		module_put(THIS_MODULE);
		return PTR_ERR(thread);
	}
	fault_in->thread = get_task_struct(thread);
	wake_up_process(thread);
	return 0;
}

struct hmmrt_fault_in *hmmrt_fault_in_begin(struct hmmrt_binding *binding,
					    unsigned long addr,
					    unsigned int access,
					    hmmrt_fault_in_done_t done,
					    void *data)
{
	struct hmmrt_space *space = binding->space;
	struct hmmrt_fault_in *fault_in;
	int rc;

	might_sleep();
	if (access & ~HMMRT_ACCESS_ALL)
		return ERR_PTR(-EINVAL);
	if (addr >= TASK_SIZE_MAX || !access)
		return ERR_PTR(-EFAULT);
	fault_in = kzalloc(sizeof(*fault_in), GFP_KERNEL);
	if (!fault_in)
		return ERR_PTR(-ENOMEM);
	refcount_set(&fault_in->refs, 2);
	spin_lock_init(&fault_in->lock);
	fault_in->mm = space->mm;
	fault_in->cred = get_cred(space->cred);
	fault_in->addr = addr & PAGE_MASK;
	fault_in->access = access;
	fault_in->done = done;
	fault_in->data = data;
	rc = -ESRCH;
	if (!mmget_not_zero(space->mm))
		goto err_free;
	rc = -EAGAIN;
	if (!fault_in_admit(fault_in))
		goto err_put_mm;
	rc = fault_in_start(fault_in);
	if (rc)
		goto err_leave;
	return fault_in;

err_leave:
	fault_in_leave(fault_in);
err_put_mm:
	mmput_async(space->mm);
err_free:
	put_cred(fault_in->cred);
	kfree(fault_in);
	return ERR_PTR(rc);
}
EXPORT_SYMBOL_GPL(hmmrt_fault_in_begin);

void hmmrt_fault_in_end(struct hmmrt_fault_in *fault_in)
{
	if (!fault_in)
		return;
	spin_lock(&fault_in->lock);
	fault_in->done = NULL;
	spin_unlock(&fault_in->lock);
	/* Wake the thread, which may sleep in the fault. It may have exited. */
	send_sig(SIGKILL, fault_in->thread, 1);
	put_task_struct(fault_in->thread);
	fault_in_put(fault_in);
}
EXPORT_SYMBOL_GPL(hmmrt_fault_in_end);
