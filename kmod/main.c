// SPDX-License-Identifier: GPL-2.0-only
/*
 * hmmrt.ko: /dev/hmmrt, its ioctl table, and module init. It contains no
 * policy.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "api.h"
#include "ioctl.h"

/*
 * The file's space; only the process that created the space may use the file.
 */
static struct hmmrt_space *file_space(struct file *file, const void *arg)
{
	/* Set once by SPACE_CREATE: pairs with its cmpxchg(). */
	struct hmmrt_space *space = smp_load_acquire(&file->private_data);

	if (!space)
		return ERR_PTR(-EINVAL);
	if (space->mm != current->mm)
		return ERR_PTR(-EPERM);
	return space;
}

struct hmmrt_space *hmmrt_space_get_from_fd(int fd)
{
	struct hmmrt_space *space;
	struct file *file = fget(fd);

	if (!file)
		return ERR_PTR(-EBADF);
	space = file->f_op == &hmmrt_fops ? file_space(file, NULL) :
					    ERR_PTR(-EBADF);
	if (!IS_ERR(space))
		refcount_inc(&space->refs);
	fput(file);
	return space;
}
EXPORT_SYMBOL_GPL(hmmrt_space_get_from_fd);

int hmmrt_restart(int rc)
{
	return rc == -EINTR && signal_pending(current) ? -ERESTARTSYS : rc;
}
EXPORT_SYMBOL_GPL(hmmrt_restart);

static int ioc_info(struct file *file, void *arg)
{
	struct hmmrt_info *info = arg;

	info->out_uapi_version = HMMRT_UAPI_VERSION;
	info->out_devices = hmmrt_device_count();
	info->out_page_size = PAGE_SIZE;
	info->out_block_size = HMMRT_BLOCK_SIZE;
	info->out_features = HMMRT_FEATURE_OBJECTS | HMMRT_FEATURE_EVENTS |
			      HMMRT_FEATURE_ANNOTATIONS;
	if (hmmrt_duplicates_work())
		info->out_features |= HMMRT_FEATURE_DUPLICATES;
	return 0;
}

static int ioc_device_info(struct file *file, void *arg)
{
	struct hmmrt_device_info *info = arg;
	struct hmmrt_device *dev = hmmrt_device_get(info->device_id);

	if (!dev)
		return -ENODEV;
	hmmrt_device_fill_info(dev, info);
	hmmrt_device_put(dev);
	return 0;
}

static int ioc_space_create(struct file *file, void *arg)
{
	struct hmmrt_space *space;

	if (READ_ONCE(file->private_data))
		return -EBUSY;
	space = hmmrt_space_get(current->mm);
	if (IS_ERR(space))
		return PTR_ERR(space);
	/* This publishes the space. It stays until release(). */
	if (cmpxchg(&file->private_data, NULL, space)) {
		hmmrt_space_put(space);
		return -EBUSY;
	}
	return 0;
}

/* Knobs of a device belong to no process, so the file needs no space. */
static struct hmmrt_space *knob_space(struct file *file, const void *arg)
{
	const struct hmmrt_knob *knob = arg;

	return knob->scope == HMMRT_SCOPE_DEVICE ? NULL : file_space(file, arg);
}

/*
 * Any process that has the file of a space may ask about its memory, and
 * observe it. But an agent executes device code, which may learn nothing about
 * a process.
 */
static struct hmmrt_space *query_space(struct file *file, const void *arg)
{
	/* As in file_space(). */
	struct hmmrt_space *space = smp_load_acquire(&file->private_data);

	if (!space)
		return ERR_PTR(-EINVAL);
	if (space->mm == current->mm)
		return space;
	return hmmrt_mm_is_agent(current->mm) ? ERR_PTR(-EPERM) : space;
}

/* Rings with another scope are for no single space. */
static struct hmmrt_space *events_space(struct file *file, const void *arg)
{
	const struct hmmrt_events_open *open = arg;

	return open->scope == HMMRT_EVENTS_OF_SPACE ? query_space(file, arg) :
						      NULL;
}

/* Quotas of cgroups belong to no process, so the file needs no space. */
static struct hmmrt_space *quota_space(struct file *file, const void *arg)
{
	const struct hmmrt_quota *quota = arg;

	return quota->scope == HMMRT_QUOTA_OF_CGROUP ? NULL :
						       file_space(file, arg);
}

/* A command with a handler that gets a space: that of the file, or as @_space. */
#define SPACE_OP(_cmd, _fn, _struct, _last, ...) \
	SPACE_OP_AS(file_space, _cmd, _fn, _struct, _last, ##__VA_ARGS__)
#define SPACE_OP_AS(_space, _cmd, _fn, _struct, _last, ...)         \
	HMMRT_IOCTL_OP(_cmd, NULL, _struct, _last, .space = _space, \
		       .space_fn = _fn, ##__VA_ARGS__)

static const struct hmmrt_ioctl_op ioctl_ops[] = {
	HMMRT_IOCTL_OP(HMMRT_IOC_INFO, ioc_info, hmmrt_info, out_features),
	HMMRT_IOCTL_OP(HMMRT_IOC_DEVICE_INFO, ioc_device_info,
		       hmmrt_device_info, out_name),
	HMMRT_IOCTL_OP(HMMRT_IOC_SPACE_CREATE, ioc_space_create,
		       hmmrt_space_create, flags, .silent = true),
	SPACE_OP_AS(query_space, HMMRT_IOC_RESIDENCY, hmmrt_ioc_residency,
		    hmmrt_residency, locations),
	SPACE_OP_AS(query_space, HMMRT_IOC_PAGES, hmmrt_ioc_pages, hmmrt_pages,
		    __reserved),
	SPACE_OP(HMMRT_IOC_STATS, hmmrt_ioc_stats, hmmrt_stats, out_retries),
	SPACE_OP(HMMRT_IOC_PREFETCH, hmmrt_ioc_prefetch, hmmrt_prefetch,
		 out_stayed, .write_on_error = true),
	SPACE_OP(HMMRT_IOC_EXCLUSIVE, hmmrt_ioc_exclusive, hmmrt_exclusive,
		 out_pages, .write_on_error = true),
	SPACE_OP(HMMRT_IOC_ADVISE, hmmrt_ioc_advise, hmmrt_advise, value,
		 .silent = true),
	SPACE_OP_AS(query_space, HMMRT_IOC_RANGE_ATTRIBUTES,
		    hmmrt_ioc_range_attributes, hmmrt_range_attributes,
		    out_granularity),
	SPACE_OP(HMMRT_IOC_PEER, hmmrt_ioc_peer, hmmrt_peer, out_enabled),
	SPACE_OP(HMMRT_IOC_OBJECT_CREATE, hmmrt_ioc_object_create,
		 hmmrt_object_create, out_fd, .flags = HMMRT_OBJECT_MIGRATABLE),
	SPACE_OP(HMMRT_IOC_ACCESS, hmmrt_ioc_access, hmmrt_access, out_access),
	SPACE_OP_AS(events_space, HMMRT_IOC_EVENTS_OPEN, hmmrt_ioc_events_open,
		    hmmrt_events_open, __reserved),
	SPACE_OP(HMMRT_IOC_ANNOTATE, hmmrt_ioc_annotate, hmmrt_annotate, text,
		 .silent = true),
	SPACE_OP_AS(knob_space, HMMRT_IOC_KNOB, hmmrt_ioc_knob, hmmrt_knob,
		    out_name),
	SPACE_OP_AS(quota_space, HMMRT_IOC_QUOTA, hmmrt_ioc_quota, hmmrt_quota,
		    out_evicted_bytes, .write_on_error = true),
};

static long hmmrt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return hmmrt_ioctl_dispatch(file, cmd, (void __user *)arg, ioctl_ops,
				    ARRAY_SIZE(ioctl_ops));
}

static int hmmrt_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		hmmrt_space_put(file->private_data);
	return 0;
}

/*
 * Any process that may inspect an owner of the file can read this, also an agent
 * that has the file: it has no addresses, and counts what the agent itself does.
 */
static void hmmrt_show_fdinfo(struct seq_file *seq, struct file *file)
{
	/* As in file_space(). */
	struct hmmrt_space *space = smp_load_acquire(&file->private_data);

	if (space)
		hmmrt_space_show(seq, space);
}

/* misc_open() leaves its own pointer in private_data. */
static int hmmrt_open(struct inode *inode, struct file *file)
{
	file->private_data = NULL;
	return nonseekable_open(inode, file);
}

const struct file_operations hmmrt_fops = {
	.owner = THIS_MODULE,
	.open = hmmrt_open,
	.release = hmmrt_release,
	.unlocked_ioctl = hmmrt_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = hmmrt_show_fdinfo,
};

/* An open file stands for its process, so not every user may open one. */
static struct miscdevice hmmrt_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hmmrt",
	.fops = &hmmrt_fops,
	.mode = 0660,
};

static int __init hmmrt_init(void)
{
	int rc;

	hmmrt_uapi_check();
	hmmrt_events_init();
	hmmrt_lockdep_teach();
	hmmrt_wq = alloc_workqueue("hmmrt", WQ_UNBOUND | WQ_FREEZABLE, 0);
	if (!hmmrt_wq)
		return -ENOMEM;
	hmmrt_selftest();
	hmmrt_debugfs_init();
	rc = hmmrt_power_init();
	if (rc)
		goto err_debugfs;
	rc = misc_register(&hmmrt_misc);
	if (rc)
		goto err_power;
	return 0;

err_power:
	hmmrt_power_exit();
err_debugfs:
	hmmrt_debugfs_exit();
	destroy_workqueue(hmmrt_wq);
	return rc;
}

static void __exit hmmrt_exit(void)
{
	misc_deregister(&hmmrt_misc);
	hmmrt_power_exit();
	/* There is no device any more, so nothing queues a work. */
	destroy_workqueue(hmmrt_wq);
	hmmrt_debugfs_exit();
	hmmrt_events_exit();
}

module_init(hmmrt_init);
module_exit(hmmrt_exit);
MODULE_DESCRIPTION("Heterogeneous memory manager for simulated GPUs");
MODULE_LICENSE("GPL");
