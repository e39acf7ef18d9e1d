// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of /dev/hmmrt-gpuN: bind, attach, and the end of either side.
 *
 * States     open -> bound (by the application, its owner) -> attached (by the
 *            agent, once, with the token that bind gave the owner) -> gone. Each
 *            step is made once; the next agent needs a new file.
 * Trust      The file equals ptrace of its owner. So each call checks whose it
 *            is by mm, which neither fork nor passing the fd carries over, and
 *            the token keeps a child that holds the file from attaching first.
 *            A process that was the agent and has executed another program is
 *            not the agent any more: that program may have other privileges.
 * Mapping    Each view has an inode of its own, and its files' f_mapping points
 *            to that, as in drm: shootdown finds this view's entries and nothing
 *            else; exec permission is still decided by the path of the node.
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
 * unmap_mapping_range() runs under the i_mmap_rwsem of whatever file reclaim is
 * walking: same class, different lock, and never the other way round. The memory
 * is of the core's cache and goes back there as it came.
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

/* No owner: the mount is ours until exit, and must not keep us loaded. */
static struct file_system_type simgpu_fs_type = {
	.name = "hmmrt_simgpu",
	.init_fs_context = simgpu_fs_init_context,
	.kill_sb = kill_anon_super,
};

int simgpu_fs_init(void)
{
	simgpu_mount = kern_mount(&simgpu_fs_type);
	/* A failed one frees its inode by rcu, with our code. */
	if (IS_ERR(simgpu_mount))
		rcu_barrier();
	return PTR_ERR_OR_ZERO(simgpu_mount);
}

void simgpu_fs_exit(void)
{
	kern_unmount(simgpu_mount);
	/* Inodes are freed by rcu. */
	rcu_barrier();
}

static int simgpu_open(struct inode *inode, struct file *file)
{
	/* misc_open() left its device there. */
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
	dpt_init(&view->dpt);
	simgpu_failures_init(view);
	init_waitqueue_head(&view->gone);
	file->private_data = view;
	file->f_mapping = view->inode->i_mapping;
	return nonseekable_open(inode, file);
}

/* Neither owner nor agent has it any more, nor any mapping. */
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

/*
 * The agent's exit wakes those that poll the file: they may have come before it.
 * Its exec does so in mirror_close().
 */
static int view_agent_exits(struct wait_queue_entry *entry, unsigned int mode,
			    int flags, void *key)
{
	struct simgpu_view *view =
		container_of(entry, struct simgpu_view, agent_exit);

	wake_up_all(&view->gone);
	return 0;
}

/* The file becomes a binding. */
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
	/* The manager finds the view through it from now on. */
	smp_store_release(&view->binding, binding);
	bind->out_device_id = hmmrt_device_id(view->gpu->dev);
	bind->out_token = view->token;
	return 0;
}

/* -EAGAIN: it may become one when the device's last binding has ended. */
static int view_bind_once(struct simgpu_view *view, struct hmmrt_space *space,
			  struct hmmrt_gpu_bind *bind)
{
	int rc;

	/* Another thread may hold the lock for as long as its hmmrt_unbind() waits. */
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
	unsigned long end = jiffies + msecs_to_jiffies(bind->wait_msec);
	struct hmmrt_space *space;
	int rc;

	if (bind->__reserved)
		return -EOPNOTSUPP;
	space = hmmrt_space_get_from_fd(bind->space_fd);
	if (IS_ERR(space))
		return PTR_ERR(space);
	/* With no lock held while it waits: the file may be attached to by others. */
	while ((rc = view_bind_once(view, space, bind)) == -EAGAIN) {
		long left = end - jiffies;

		rc = hmmrt_wait_unbound(space, view->gpu->dev, max(left, 0L));
		if (rc)
			break;
	}
	/* The binding has its own reference. */
	hmmrt_space_put(space);
	return rc;
}

/*
 * Before the token arrived nobody attaches, not even who guesses it. The manager
 * may have mapped something already, for a prefetch, and does not take that away
 * when it is unbound. The lock is held to the end: who binds next finds it clean.
 */
static void ioc_bind_answered(struct file *file, bool arrived)
{
	struct simgpu_view *view = file->private_data;

	mutex_lock(&view->lock);
	view->offered = arrived;
	if (!arrived) {
		hmmrt_unbind(view->binding);
		view->binding = NULL;
		view->token = 0;
		dpt_destroy(&view->dpt);
		dpt_init(&view->dpt);
	}
	mutex_unlock(&view->lock);
}

/* As for_each_thread(), which on some kernels names a lock that modules cannot. */
#define for_each_thread_of(leader, thread)				\
	list_for_each_entry_rcu(thread, &(leader)->signal->thread_head, \
				thread_node)

/*
 * Kill each thread of the process that still has the agent's mm. exec replaces the
 * mm under task_lock, before it changes credentials: what is killed under that lock
 * runs no instruction of another program. All threads: one that is exiting already
 * does not pass the signal on to the others.
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
	rc = -EINVAL;
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
	/* Pairs with the acquires: who sees it sees the agent's pid. */
	smp_store_release(&view->agent_mm, current->mm);
	/* Pairs with the owner's end, which may have missed us. */
	smp_mb();
	if (hmmrt_binding_released(view->binding))
		kill_agent(view);
out_unlock:
	mutex_unlock(&view->lock);
	return rc;
}

static int ioc_fault_record(struct file *file, void *arg)
{
	struct simgpu_view *view = file->private_data;
	struct hmmrt_gpu_fault_record *record = arg;
	struct view_failure *failure;

	/* Pairs with ioc_attach(). */
	if (!smp_load_acquire(&view->agent_mm))
		return -EINVAL;
	if (view->agent_mm != current->mm)
		return -EPERM;
	record->out_addr = 0;
	record->out_access = 0;
	record->out_errno = 0;
	/* A lane asks for its own; nobody else writes it. */
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
		       .answered = ioc_bind_answered),
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
 * All threads of the agent's process are gone, with their memory and files, or the
 * process has executed another program. The binding keeps agent_mm, so no other mm
 * has its address.
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
			/* None: the thread is exiting. */
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
	/* Kept: the threads of a program that exits have no mm for a while. */
	if (!READ_ONCE(view->agent_ended) && agent_has_ended(view))
		WRITE_ONCE(view->agent_ended, true);
	return READ_ONCE(view->agent_ended) ? EPOLLHUP : 0;
}

/* The application is gone: its agent dies with it, not before. */
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
