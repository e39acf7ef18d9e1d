// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of /dev/hmmrt-gpuN: bind, attach, and the exit of owner or agent.
 *
 * States     open -> bound (by the application, the owner) -> attached (by the
 *            agent, with the token that bind gave to the owner) -> ended. Each
 *            step happens once per file. The next agent needs a new file.
 * Trust      Access to the file is equivalent to ptrace access to the owner.
 *            Each call therefore compares the caller's mm, which neither fork
 *            nor passing the fd carries over. The token keeps a child that
 *            inherited the file from attaching first. An agent that executes
 *            another program is not the agent any more, because that program
 *            may have other privileges.
 * Mapping    Each view has its own inode, and f_mapping of its file points to
 *            it, as in drm. A shootdown finds only the entries of this view.
 *            The path of the node still decides about exec permission.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/poll.h>
#include <linux/pseudo_fs.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../ioctl.h"
#include "simgpu.h"

#define SIMGPU_FS_MAGIC	0x686d6d67	/* "hmmg" */

static struct vfsmount *simgpu_mount;

/*
 * unmap_mapping_range() may run while reclaim holds the i_mmap_rwsem of another
 * file: the same lock class, but a different lock, and never in the opposite
 * order. The inode comes from a cache of the core, so its address_space is
 * initialised again, with the default class, before it is freed.
 */
static struct lock_class_key simgpu_i_mmap_key;

static struct inode *simgpu_inode_get(void)
{
	struct inode *inode = alloc_anon_inode(simgpu_mount->mnt_sb);

	if (!IS_ERR(inode))
		lockdep_set_class(&inode->i_data.i_mmap_rwsem,
				  &simgpu_i_mmap_key);
	return inode;
}

static void simgpu_free_inode(struct inode *inode)
{
	address_space_init_once(&inode->i_data);
	free_inode_nonrcu(inode);
}

static const struct super_operations simgpu_super_ops = {
	.free_inode = simgpu_free_inode,
	.statfs = simple_statfs,
};

static int simgpu_fs_init_context(struct fs_context *fc)
{
	struct pseudo_fs_context *ctx = init_pseudo(fc, SIMGPU_FS_MAGIC);

	if (!ctx)
		return -ENOMEM;
	ctx->ops = &simgpu_super_ops;
	return 0;
}

/* No owner: the internal mount must not keep the module loaded. */
static struct file_system_type simgpu_fs_type = {
	.name = "hmmrt_simgpu",
	.init_fs_context = simgpu_fs_init_context,
	.kill_sb = kill_anon_super,
};

int simgpu_fs_init(void)
{
	simgpu_mount = kern_mount(&simgpu_fs_type);
	/* A failed mount frees its inode by RCU, with code of this module. */
	if (IS_ERR(simgpu_mount))
		rcu_barrier();
	return PTR_ERR_OR_ZERO(simgpu_mount);
}

void simgpu_fs_exit(void)
{
	kern_unmount(simgpu_mount);
	/* RCU callbacks that free inodes run code of this module. */
	rcu_barrier();
}

static int simgpu_open(struct inode *inode, struct file *file)
{
	/* misc_open() stored the miscdevice there. */
	struct miscdevice *misc = file->private_data;
	struct simgpu_view *view;

	view = kzalloc(sizeof(*view), GFP_KERNEL_ACCOUNT);
	if (!view)
		return -ENOMEM;
	view->inode = simgpu_inode_get();
	if (IS_ERR(view->inode)) {
		int rc = PTR_ERR(view->inode);

		kfree(view);
		return rc;
	}
	view->gpu = container_of(misc, struct simgpu, misc);
	mutex_init(&view->lock);
	spin_lock_init(&view->recent.lock);
	dpt_init(&view->dpt);
	simgpu_failures_init(view);
	init_waitqueue_head(&view->gone);
	file->private_data = view;
	file->f_mapping = view->inode->i_mapping;
	return nonseekable_open(inode, file);
}

/* No descriptor and no mapping of owner or agent is left. */
static int simgpu_release(struct inode *inode, struct file *file)
{
	struct simgpu_view *view = file->private_data;

	if (view->binding)
		hmmrt_unbind(view->binding);
	dpt_destroy(&view->dpt);
	simgpu_failures_destroy(view);
	if (view->agent)
		remove_wait_queue(&view->agent->wait_pidfd, &view->agent_exit);
	put_pid(view->agent);
	mutex_destroy(&view->lock);
	iput(view->inode);
	kfree(view);
	return 0;
}

/* The agent exits: wake waiting polls. mirror_close() does that for an exec. */
static int view_agent_exits(struct wait_queue_entry *entry, unsigned int mode,
			    int flags, void *key)
{
	struct simgpu_view *view =
		container_of(entry, struct simgpu_view, agent_exit);

	wake_up_all(&view->gone);
	return 0;
}

/* Turn the file into a binding. */
static int view_bind(struct simgpu_view *view, struct hmmrt_space *space,
		     struct hmmrt_gpu_bind *bind)
{
	struct hmmrt_binding *binding;

	lockdep_assert_held(&view->lock);
	binding = hmmrt_bind(space, view->gpu->dev, view);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	do {
		get_random_bytes(&view->token, sizeof(view->token));
	} while (!view->token);
	/* From now on the manager may call ops for the view. */
	smp_store_release(&view->binding, binding);
	bind->out_device_id = hmmrt_device_id(view->gpu->dev);
	bind->out_token = view->token;
	return 0;
}

/* Returns -EAGAIN if the device is still bound to the space by another file. */
static int view_bind_once(struct simgpu_view *view, struct hmmrt_space *space,
			  struct hmmrt_gpu_bind *bind)
{
	int rc;

	/* Another thread may hold the lock while it waits in hmmrt_unbind(). */
	rc = mutex_lock_killable(&view->lock);
	if (rc)
		return rc;
	rc = view->binding ? -EBUSY : view_bind(view, space, bind);
	if (rc == -EBUSY && !view->binding)
		rc = -EAGAIN;
	mutex_unlock(&view->lock);
	return rc;
}

static int ioc_bind(struct file *file, void *arg)
{
	struct simgpu_view *view = file->private_data;
	struct hmmrt_gpu_bind *bind = arg;
	/* The current jiffy is partly over: add one, so that no wait is short. */
	unsigned long end = jiffies + msecs_to_jiffies(bind->wait_msec) +
			    !!bind->wait_msec;
	struct hmmrt_space *space;
	int rc;

	if (bind->__reserved)
		return -EOPNOTSUPP;
	space = hmmrt_space_get_from_fd(bind->space_fd);
	if (IS_ERR(space))
		return PTR_ERR(space);
	/*
	 * Wait without view->lock, so that other calls on the file can proceed.
	 */
	while ((rc = view_bind_once(view, space, bind)) == -EAGAIN) {
		long left = end - jiffies;

		rc = hmmrt_wait_unbound(space, view->gpu->dev, max(left, 0L));
		if (rc)
			break;
	}
	/* The rest of the wait, if the call is repeated. */
	if (rc == -EINTR)
		bind->wait_msec = jiffies_to_msecs(max((long)(end - jiffies), 0L));
	/* The binding has a separate reference. */
	hmmrt_space_put(space);
	return rc;
}

/*
 * view->offered refuses an attach with a guessed token before the owner has
 * received the token. If it was not received, undo the binding. The manager may
 * already have mapped pages, for a prefetch, and hmmrt_unbind() does not unmap
 * them, so the page table is created again. The lock is held until the end so
 * that the next bind finds a clean view.
 */
static void ioc_bind_answered(struct file *file, bool arrived)
{
	struct simgpu_view *view = file->private_data;

	mutex_lock(&view->lock);
	WRITE_ONCE(view->offered, arrived);
	if (!arrived) {
		hmmrt_unbind(view->binding);
		view->binding = NULL;
		view->token = 0;
		dpt_destroy(&view->dpt);
		dpt_init(&view->dpt);
	}
	mutex_unlock(&view->lock);
}

/*
 * Like for_each_thread(), which on some kernels uses a lock that is not
 * exported to modules.
 */
#define for_each_thread_of(leader, thread)				\
	list_for_each_entry_rcu(thread, &(leader)->signal->thread_head, \
				thread_node)

/*
 * Kill each thread of the process that still has the agent's mm. exec replaces
 * the mm under task_lock, before it changes credentials, so a thread that is
 * killed under that lock executes no instruction of another program. Signal all
 * threads, because an exiting thread does not pass the signal on to the other
 * threads.
 */
static void kill_agent(struct simgpu_view *view)
{
	struct task_struct *leader, *thread;

	rcu_read_lock();
	leader = pid_task(view->agent, PIDTYPE_TGID);
	if (leader) {
		for_each_thread_of(leader, thread) {
			task_lock(thread);
			if (thread->mm == view->agent_mm)
				send_sig(SIGKILL, thread, 1);
			task_unlock(thread);
		}
	}
	rcu_read_unlock();
}

static int ioc_attach(struct file *file, void *arg)
{
	struct simgpu_view *view = file->private_data;
	struct hmmrt_gpu_attach *attach = arg;
	int rc;

	if (mutex_lock_killable(&view->lock))
		return -EINTR;
	rc = -ENODEV;
	if (!view->offered)
		goto out_unlock;
	rc = -EBUSY;
	if (!view->token)
		goto out_unlock;
	rc = -EACCES;
	if (attach->token != view->token ||
	    hmmrt_binding_is_owner(view->binding))
		goto out_unlock;
	rc = -ESRCH;
	if (hmmrt_binding_released(view->binding))
		goto out_unlock;
	rc = hmmrt_binding_claim_agent(view->binding, current->mm);
	if (rc)
		goto out_unlock;
	view->token = 0;
	view->agent = get_pid(task_tgid(current));
	init_waitqueue_func_entry(&view->agent_exit, view_agent_exits);
	add_wait_queue(&view->agent->wait_pidfd, &view->agent_exit);
	/* Pairs with the acquires: a reader of agent_mm also sees the pid. */
	smp_store_release(&view->agent_mm, current->mm);
	/* See hmmrt_binding_released(): the owner may have exited before. */
	smp_mb();
	if (hmmrt_binding_released(view->binding))
		kill_agent(view);
out_unlock:
	mutex_unlock(&view->lock);
	return rc;
}

/* The errno of a file that no agent has: it is not bound, or not attached. */
int simgpu_without_agent(const struct simgpu_view *view)
{
	return READ_ONCE(view->offered) ? -EINVAL : -ENODEV;
}

static int ioc_fault_record(struct file *file, void *arg)
{
	struct simgpu_view *view = file->private_data;
	struct hmmrt_gpu_fault_record *record = arg;
	struct view_failure *failure;

	/* Pairs with ioc_attach(). */
	if (!smp_load_acquire(&view->agent_mm))
		return simgpu_without_agent(view);
	if (view->agent_mm != current->mm)
		return -EPERM;
	record->out_addr = 0;
	record->out_access = 0;
	record->out_errno = 0;
	/* A lane reads its own record. No other thread writes it. */
	failure = simgpu_failure_find(view);
	if (failure) {
		record->out_addr = failure->addr;
		record->out_access = failure->access;
		record->out_errno = -failure->error;
	}
	return 0;
}

static const struct hmmrt_ioctl_op ioctl_ops[] = {
	HMMRT_IOCTL_OP(HMMRT_GPU_IOC_BIND, ioc_bind, hmmrt_gpu_bind, out_token,
		       .write_on_error = true, .answered = ioc_bind_answered),
	HMMRT_IOCTL_OP(HMMRT_GPU_IOC_ATTACH, ioc_attach, hmmrt_gpu_attach,
		       token, .silent = true),
	HMMRT_IOCTL_OP(HMMRT_GPU_IOC_FAULT_RECORD, ioc_fault_record,
		       hmmrt_gpu_fault_record, out_errno),
};

static long simgpu_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return hmmrt_ioctl_dispatch(file, cmd, (void __user *)arg, ioctl_ops,
				    ARRAY_SIZE(ioctl_ops));
}

/*
 * Return true if all threads of the agent's process have exited, with their
 * memory and files, or if the process has executed another program. The binding
 * holds a reference to agent_mm, so no other mm can have its address.
 */
static bool agent_has_ended(struct simgpu_view *view)
{
	struct task_struct *leader, *thread;
	struct mm_struct *mm;
	bool ended;

	rcu_read_lock();
	leader = pid_task(view->agent, PIDTYPE_TGID);
	ended = !leader || (READ_ONCE(leader->exit_state) &&
			    thread_group_empty(leader));
	if (!ended) {
		for_each_thread_of(leader, thread) {
			mm = READ_ONCE(thread->mm);
			/* NULL: the thread is exiting. */
			if (mm && mm != view->agent_mm)
				ended = true;
		}
	}
	rcu_read_unlock();
	return ended;
}

static __poll_t simgpu_poll(struct file *file, struct poll_table_struct *wait)
{
	struct simgpu_view *view = file->private_data;

	poll_wait(file, &view->gone, wait);
	/* Pairs with ioc_attach(). */
	if (!smp_load_acquire(&view->agent_mm))
		return 0;
	/* Remember the result: exiting threads of a new program have no mm. */
	if (!READ_ONCE(view->agent_ended) && agent_has_ended(view))
		WRITE_ONCE(view->agent_ended, true);
	return READ_ONCE(view->agent_ended) ? EPOLLHUP : 0;
}

/* The owner has exited: kill its agent. */
void simgpu_view_released(struct hmmrt_binding *binding)
{
	struct simgpu_view *view = hmmrt_binding_drvdata(binding);

	/* Pairs with ioc_attach(). */
	if (smp_load_acquire(&view->agent_mm))
		kill_agent(view);
}

const struct file_operations simgpu_fops = {
	.owner = THIS_MODULE,
	.open = simgpu_open,
	.release = simgpu_release,
	.unlocked_ioctl = simgpu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = simgpu_mirror_mmap,
	.poll = simgpu_poll,
};
