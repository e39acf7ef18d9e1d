// SPDX-License-Identifier: GPL-2.0-only
/*
 * A test device that fails on request, and that can be added and removed while
 * processes use it. It tests the manager, and is an example of a driver for
 * devices that can be unplugged. See include/uapi/linux/hmmrt_faulty.h for its
 * requests.
 *
 * Failing    Each op that may fail first calls op_fails(). A test chooses the
 *            call that fails. On a kernel with fault injection, debugfs does
 *            too: see hmmrt_faulty/ there.
 * Serving    An access serves its own fault, or passes it to the one worker for
 *            all devices and processes (worker.c).
 * Holding    Copies can be blocked while a test observes other threads.
 * Removal    To remove a device, the driver first removes the node, so that no
 *            file can be opened. For each open file it stops the device, with
 *            the gate, and unbinds it. Then it unregisters the device. Calls on
 *            a file that is still open fail with ENODEV.
 * Locking    devices_lock   mutex: the number of devices.
 *            faulty->lock   mutex: the end of the bindings of a device.
 *            context->gate  rwsem: held for reading while the device works for
 *                           the process, for writing to bind and to stop it.
 *                           All locks of the manager are taken inside.
 *            contexts_lock  spinlock: the contexts of a device. They leave
 *                           under faulty->lock, too. open() takes only this.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fault-inject.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/hmmrt_faulty.h>

#include "../softdev.h"
#include "worker.h"

#define SLOW_COPY_MAX	10000
#define HOLLOW_MIB_MAX	(64 << 10)

struct faulty {
	struct soft_memory memory;	/* first: soft_mmu_target() */
	struct hmmrt_device *dev;
	struct miscdevice misc;
	char name[HMMRT_DEVICE_NAME_LEN];
	struct mutex lock;		/* the end of bindings */
	spinlock_t contexts_lock;
	struct list_head contexts;
	atomic_t invalidations;		/* calls of invalidate() */
	bool hollow;			/* its memory has no storage */
};

/* One open file. */
struct context {
	struct soft_mmu mmu;		/* first: drvdata of the binding */
	struct faulty *faulty;
	struct list_head link;
	struct rw_semaphore gate;
	struct hmmrt_binding *binding;	/* NULL: none yet, or stopped */
	bool stopping;			/* being removed: accesses end */
};

static DEFINE_MUTEX(devices_lock);
/*
 * Memory size of devices that are added from now on if they are hollow, 0 if
 * they are not. Protected by devices_lock.
 */
static u64 hollow_bytes;
/* The worker serves the faults of accesses. */
static bool by_worker;
static struct faulty devices[HMMRT_FAULTY_MAX_DEVICES];
static unsigned long nr_devices;

/* --- failing -------------------------------------------------------------- */

struct failure {
	const char *name;
	u32 nth;
	u32 times;
#ifdef CONFIG_FAULT_INJECTION
	struct fault_attr attr;
#endif
};

static struct failure failures[HMMRT_FAULTY_OPS] = {
	[HMMRT_FAULTY_POPULATE] = { .name = "populate" },
	[HMMRT_FAULTY_PREPARE] = { .name = "prepare" },
	[HMMRT_FAULTY_COPY_TO_DEVICE] = { .name = "copy_to_device" },
	[HMMRT_FAULTY_COPY_TO_HOST] = { .name = "copy_to_host" },
	[HMMRT_FAULTY_COPY_FROM_PEER] = { .name = "copy_from_peer" },
};

static DEFINE_SPINLOCK(failures_lock);	/* failures[].nth and .times */
static struct dentry *failures_dir;

#ifdef CONFIG_FAULT_INJECTION
static void failures_publish(void)
{
	unsigned int i;

	failures_dir = debugfs_create_dir("hmmrt_faulty", NULL);
	for (i = 0; i < HMMRT_FAULTY_OPS; i++) {
		failures[i].attr = (struct fault_attr)FAULT_ATTR_INITIALIZER;
		failures[i].attr.verbose = 0;
		fault_create_debugfs_attr(failures[i].name, failures_dir,
					  &failures[i].attr);
	}
}

static bool fails_by_injection(struct failure *failure)
{
	return should_fail(&failure->attr, 1);
}
#else
static void failures_publish(void)
{
}

static bool fails_by_injection(struct failure *failure)
{
	return false;
}
#endif

static bool op_fails(enum hmmrt_faulty_op op)
{
	struct failure *failure = &failures[op];
	bool fail;

	spin_lock(&failures_lock);
	fail = failure->nth == 1;
	if (failure->nth > 1)
		failure->nth--;
	else if (fail && failure->times != HMMRT_FAULTY_ALWAYS &&
		 !--failure->times)
		failure->nth = 0;
	spin_unlock(&failures_lock);
	return fail || fails_by_injection(failure);
}

/* --- holding up ----------------------------------------------------------- */

/* Ops must finish even if the test that blocks them exits. */
#define HOLD_LIMIT	(30 * HZ)

static DECLARE_WAIT_QUEUE_HEAD(hold_wait);
static bool holding;
static atomic_t held = ATOMIC_INIT(0);

static void hold_up(void)
{
	if (!READ_ONCE(holding))
		return;
	atomic_inc(&held);
	wait_event_timeout(hold_wait, !READ_ONCE(holding), HOLD_LIMIT);
	atomic_dec(&held);
}

static int hold_set(unsigned long hold)
{
	if (hold > 1)
		return -EINVAL;
	WRITE_ONCE(holding, hold);
	wake_up_all(&hold_wait);
	return atomic_read(&held);
}

/* --- operations of the device --------------------------------------------- */

static int faulty_populate(struct hmmrt_device *dev, u64 offset)
{
	struct faulty *faulty = hmmrt_device_drvdata(dev);

	if (op_fails(HMMRT_FAULTY_POPULATE))
		return -ENOMEM;
	if (faulty->hollow)
		return 0;
	return soft_populate(&faulty->memory, offset);
}

static void faulty_depopulate(struct hmmrt_device *dev, u64 offset)
{
	struct faulty *faulty = hmmrt_device_drvdata(dev);

	if (!faulty->hollow)
		soft_depopulate(&faulty->memory, offset);
}

static int faulty_copy_to_device(struct hmmrt_device *dev, u64 offset,
				 struct page **src, unsigned int npages)
{
	struct faulty *faulty = hmmrt_device_drvdata(dev);

	hold_up();
	if (op_fails(HMMRT_FAULTY_COPY_TO_DEVICE))
		return -EIO;
	if (faulty->hollow)
		return 0;
	soft_copy_in(soft_memory_at(&faulty->memory, offset), src, npages);
	return 0;
}

/* Delay of the next copy to the host, in ms, before it fails; 0 for none. */
static atomic_t slow_copy;

static int faulty_copy_to_host(struct hmmrt_device *dev, struct page **dst,
			       u64 offset, unsigned int npages)
{
	struct faulty *faulty = hmmrt_device_drvdata(dev);
	int msecs = atomic_xchg(&slow_copy, 0);

	hold_up();
	if (msecs) {
		msleep(msecs);
		return -EIO;
	}
	if (faulty->hollow || op_fails(HMMRT_FAULTY_COPY_TO_HOST))
		return -EIO;
	soft_copy_out(dst, soft_memory_at(&faulty->memory, offset), npages);
	return 0;
}

static int faulty_copy_from_peer(struct hmmrt_device *dev, u64 offset,
				 struct hmmrt_device *peer, u64 peer_offset,
				 unsigned int npages)
{
	struct faulty *to = hmmrt_device_drvdata(dev);
	struct faulty *from = hmmrt_device_drvdata(peer);

	if (to->hollow || from->hollow || op_fails(HMMRT_FAULTY_COPY_FROM_PEER))
		return -EIO;
	memcpy(soft_memory_at(&to->memory, offset),
	       soft_memory_at(&from->memory, peer_offset),
	       (size_t)npages << PAGE_SHIFT);
	return 0;
}

static int faulty_prepare(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end)
{
	return op_fails(HMMRT_FAULTY_PREPARE) ?
		       -ENOMEM :
		       soft_prepare(binding, start, end);
}

static void faulty_invalidate(struct hmmrt_binding *binding,
			      unsigned long start, unsigned long end)
{
	struct context *context = hmmrt_binding_drvdata(binding);

	atomic_inc(&context->faulty->invalidations);
}

static const struct hmmrt_device_ops faulty_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = faulty_populate,
	.depopulate = faulty_depopulate,
	.copy_to_device = faulty_copy_to_device,
	.copy_to_host = faulty_copy_to_host,
	.copy_from_peer = faulty_copy_from_peer,
	.prepare = faulty_prepare,
	.map = soft_map,
	.unmap = soft_unmap,
	.invalidate = faulty_invalidate,
	.released = soft_released,
};

/* --- files of a device ---------------------------------------------------- */

/*
 * misc_open() stores the miscdevice in private_data, and keeps it registered.
 */
static int faulty_open(struct inode *inode, struct file *file)
{
	struct context *context = kzalloc(sizeof(*context), GFP_KERNEL);
	struct faulty *faulty = container_of(file->private_data, struct faulty,
					     misc);

	if (!context)
		return -ENOMEM;
	context->faulty = faulty;
	init_rwsem(&context->gate);
	soft_mmu_init(&context->mmu, &faulty->memory);
	spin_lock(&faulty->contexts_lock);
	list_add(&context->link, &faulty->contexts);
	spin_unlock(&faulty->contexts_lock);
	file->private_data = context;
	return 0;
}

/* Context: the gate is held for writing, so the device is registered. */
static int context_bind_locked(struct context *context,
			       struct hmmrt_space *space)
{
	struct hmmrt_binding *binding;

	lockdep_assert_held_write(&context->gate);
	if (context->stopping)
		return -ENODEV;
	if (context->binding)
		return -EBUSY;
	binding = hmmrt_bind(space, context->faulty->dev, context);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	context->binding = binding;
	return 0;
}

/* A removal waits for the gate, and so not for the caller's mmap_lock. */
static int context_bind(struct context *context)
{
	struct hmmrt_space *space = hmmrt_space_get_current();
	int rc = -EINTR;

	if (IS_ERR(space))
		return PTR_ERR(space);
	if (!down_write_killable(&context->gate)) {
		rc = context_bind_locked(context, space);
		up_write(&context->gate);
	}
	hmmrt_space_put(space);
	return rc;
}

/* Stop the device for one process, and end the binding. */
static void context_stop(struct context *context)
{
	struct hmmrt_binding *binding;

	lockdep_assert_held(&context->faulty->lock);
	WRITE_ONCE(context->stopping, true);
	worker_stopping();
	down_write(&context->gate);
	binding = context->binding;
	context->binding = NULL;
	up_write(&context->gate);
	spin_lock(&context->faulty->contexts_lock);
	list_del_init(&context->link);
	spin_unlock(&context->faulty->contexts_lock);
	if (binding)
		hmmrt_unbind(binding);
}

static int faulty_release(struct inode *inode, struct file *file)
{
	struct context *context = file->private_data;

	mutex_lock(&context->faulty->lock);
	context_stop(context);
	mutex_unlock(&context->faulty->lock);
	soft_mmu_destroy(&context->mmu);
	kfree(context);
	return 0;
}

/* On success the gate is held for reading. */
static int context_enter(struct context *context)
{
	int rc = 0;

	if (down_read_killable(&context->gate))
		return -EINTR;
	if (!context->binding)
		rc = context->stopping ? -ENODEV : -EINVAL;
	else if (!hmmrt_binding_is_owner(context->binding))
		rc = -EPERM;
	if (rc)
		up_read(&context->gate);
	return rc;
}

static int access_or_fault(struct context *context, unsigned long addr,
			   u64 *word, bool write)
{
	unsigned int access = write ? HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE :
				      HMMRT_ACCESS_READ;
	int rc;

	if (soft_mmu_access(&context->mmu, addr, word, write))
		return 0;
	rc = READ_ONCE(by_worker) ?
		     worker_fault(context->binding, addr, access,
				  &context->stopping) :
		     hmmrt_fault(context->binding, addr, access);
	if (rc == -EINTR && READ_ONCE(context->stopping))
		return -ENODEV;
	return rc ? rc : -EAGAIN;
}

/*
 * The gate is released between attempts, so that the removal of the device does
 * not wait long.
 */
static int faulty_access(struct file *file, unsigned long addr, size_t len,
			 u64 *word, bool write)
{
	struct context *context = file->private_data;
	int rc;

	if (len != sizeof(*word) || addr % sizeof(*word))
		return -EINVAL;
	if (context->faulty->hollow)
		return -EIO;
	do {
		rc = context_enter(context);
		if (rc)
			return rc;
		rc = access_or_fault(context, addr, word, write);
		up_read(&context->gate);
		if (rc == -EAGAIN && fatal_signal_pending(current))
			rc = -EINTR;
	} while (rc == -EAGAIN);
	return hmmrt_restart(rc);
}

static ssize_t faulty_read(struct file *file, char __user *to, size_t len,
			   loff_t *pos)
{
	u64 word;
	int rc;

	rc = faulty_access(file, *pos, len, &word, false);
	if (!rc && copy_to_user(to, &word, sizeof(word)))
		rc = -EFAULT;
	return rc ? rc : sizeof(word);
}

static ssize_t faulty_write(struct file *file, const char __user *from,
			    size_t len, loff_t *pos)
{
	u64 word = 0;
	int rc;

	if (copy_from_user(&word, from, min(len, sizeof(word))))
		return -EFAULT;
	rc = faulty_access(file, *pos, len, &word, true);
	return rc ? rc : sizeof(word);
}

static int range_call(struct hmmrt_binding *binding, unsigned int cmd,
		      struct hmmrt_faulty_range *range)
{
	struct hmmrt_migration result = {};
	unsigned long start = range->addr, end = start + range->len;
	int rc;

	switch (cmd) {
	case HMMRT_FAULTY_IOC_FAULT:
		return hmmrt_fault_range(binding, start, end,
					 HMMRT_ACCESS_READ |
						 HMMRT_ACCESS_WRITE);
	case HMMRT_FAULTY_IOC_FAULT_RANGE_NONE:
		return hmmrt_fault_range(binding, start, end, 0);
	case HMMRT_FAULTY_IOC_FAULT_NONE:
		return hmmrt_fault(binding, start, 0);
	case HMMRT_FAULTY_IOC_TO_DEVICE:
		rc = hmmrt_migrate_range_to_device(binding, start, end, 0,
						   &result);
		break;
	case HMMRT_FAULTY_IOC_TO_DEVICE_NO_PEERS:
		rc = hmmrt_migrate_range_to_device(binding, start, end,
						   HMMRT_MIGRATE_NO_PEERS,
						   &result);
		break;
	case HMMRT_FAULTY_IOC_TO_HOST:
		rc = hmmrt_migrate_range_to_host(binding, start, end, &result);
		break;
	case HMMRT_FAULTY_IOC_EXCLUSIVE:
		return hmmrt_exclusive_range(binding, start, end);
	default:
		return -ENOTTY;
	}
	range->out_moved = result.moved;
	return rc;
}

static long faulty_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct context *context = file->private_data;
	struct hmmrt_faulty_range range;
	int rc;

	if (cmd == HMMRT_SOFT_IOC_BIND)
		return hmmrt_restart(context_bind(context));
	if (copy_from_user(&range, (void __user *)arg, sizeof(range)))
		return -EFAULT;
	rc = context_enter(context);
	if (rc)
		return hmmrt_restart(rc);
	rc = range_call(context->binding, cmd, &range);
	up_read(&context->gate);
	if (copy_to_user((void __user *)arg, &range, sizeof(range)))
		return -EFAULT;
	return hmmrt_restart(rc);
}

static const struct file_operations faulty_fops = {
	.owner = THIS_MODULE,
	.open = faulty_open,
	.release = faulty_release,
	.read = faulty_read,
	.write = faulty_write,
	.unlocked_ioctl = faulty_ioctl,
	.llseek = noop_llseek,
};

/* --- adding and removing devices ------------------------------------------ */

static int device_come(struct faulty *faulty)
{
	struct hmmrt_device_desc desc = {
		.name = faulty->name,
		.ops = &faulty_ops,
		.memory_bytes = hollow_bytes ? hollow_bytes : SOFT_MEMORY_BYTES,
		.numa_node = NUMA_NO_NODE,
		/* A peer would access the memory, which has no storage. */
		.flags = hollow_bytes ? 0 : HMMRT_DEVICE_PEER_ACCESS,
		.drvdata = faulty,
	};
	int rc;

	lockdep_assert_held(&devices_lock);
	faulty->hollow = hollow_bytes;
	faulty->dev = hmmrt_device_register(&desc);
	if (IS_ERR(faulty->dev))
		return PTR_ERR(faulty->dev);
	faulty->misc.minor = MISC_DYNAMIC_MINOR;
	rc = misc_register(&faulty->misc);
	if (rc)
		hmmrt_device_unregister(faulty->dev);
	return rc;
}

static void device_go(struct faulty *faulty)
{
	struct context *context, *next;

	lockdep_assert_held(&devices_lock);
	misc_deregister(&faulty->misc);
	mutex_lock(&faulty->lock);
	/* No file can be opened any more. */
	list_for_each_entry_safe(context, next, &faulty->contexts, link)
		context_stop(context);
	mutex_unlock(&faulty->lock);
	hmmrt_device_unregister(faulty->dev);
}

static int devices_set(unsigned long count)
{
	int rc = 0;

	if (count > HMMRT_FAULTY_MAX_DEVICES)
		return -EINVAL;
	mutex_lock(&devices_lock);
	while (nr_devices > count)
		device_go(&devices[--nr_devices]);
	while (!rc && nr_devices < count) {
		rc = device_come(&devices[nr_devices]);
		nr_devices += !rc;
	}
	mutex_unlock(&devices_lock);
	return rc;
}

static int device_evict(unsigned long number)
{
	int rc = -ENODEV;

	mutex_lock(&devices_lock);
	if (number < nr_devices)
		rc = hmmrt_device_evict(devices[number].dev);
	mutex_unlock(&devices_lock);
	return rc;
}

static int device_invalidations(unsigned long number)
{
	int count = -ENODEV;

	mutex_lock(&devices_lock);
	if (number < nr_devices)
		count = atomic_read(&devices[number].invalidations) & INT_MAX;
	mutex_unlock(&devices_lock);
	return count;
}

static int failure_set(struct hmmrt_faulty_fail __user *arg)
{
	struct hmmrt_faulty_fail fail;
	struct failure *failure;

	if (copy_from_user(&fail, arg, sizeof(fail)))
		return -EFAULT;
	if (fail.op >= HMMRT_FAULTY_OPS || fail.nth > INT_MAX ||
	    (fail.nth && !fail.times))
		return -EINVAL;
	failure = &failures[fail.op];
	spin_lock(&failures_lock);
	fail.out_left = failure->nth;
	if (failure->nth == 1 && failure->times == HMMRT_FAULTY_ALWAYS)
		fail.out_left = 0;
	failure->nth = fail.nth;
	failure->times = fail.times;
	spin_unlock(&failures_lock);
	return copy_to_user(arg, &fail, sizeof(fail)) ? -EFAULT : 0;
}

static int hollow_set(unsigned long mib)
{
	if (mib > HOLLOW_MIB_MAX || mib % (HMMRT_CHUNK_SIZE >> 20))
		return -EINVAL;
	mutex_lock(&devices_lock);
	hollow_bytes = (u64)mib << 20;
	mutex_unlock(&devices_lock);
	return 0;
}

static int slow_copy_set(unsigned long msecs)
{
	if (msecs > SLOW_COPY_MAX)
		return -EINVAL;
	return msecs ? atomic_xchg(&slow_copy, msecs) : atomic_read(&slow_copy);
}

static int worker_set(unsigned long on)
{
	if (on > 1)
		return -EINVAL;
	WRITE_ONCE(by_worker, on);
	return 0;
}

static long control_ioctl(struct file *file, unsigned int cmd,
			  unsigned long arg)
{
	switch (cmd) {
	case HMMRT_FAULTY_IOC_DEVICES:
		return devices_set(arg);
	case HMMRT_FAULTY_IOC_FAIL:
		return failure_set((void __user *)arg);
	case HMMRT_FAULTY_IOC_EVICT:
		return hmmrt_restart(device_evict(arg));
	case HMMRT_FAULTY_IOC_INVALIDATIONS:
		return device_invalidations(arg);
	case HMMRT_FAULTY_IOC_SLOW:
		return slow_copy_set(arg);
	case HMMRT_FAULTY_IOC_HOLLOW:
		return hollow_set(arg);
	case HMMRT_FAULTY_IOC_HOLD:
		return hold_set(arg);
	case HMMRT_FAULTY_IOC_WORKER:
		return worker_set(arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = control_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice control_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hmmrt-faulty",
	.fops = &control_fops,
	.mode = 0600,
};

static int __init faulty_init(void)
{
	unsigned int i;
	int rc;

	for (i = 0; i < HMMRT_FAULTY_MAX_DEVICES; i++) {
		struct faulty *faulty = &devices[i];

		snprintf(faulty->name, sizeof(faulty->name), "hmmrt-faulty%u",
			 i);
		mutex_init(&faulty->lock);
		spin_lock_init(&faulty->contexts_lock);
		INIT_LIST_HEAD(&faulty->contexts);
		faulty->misc.name = faulty->name;
		faulty->misc.fops = &faulty_fops;
		faulty->misc.mode = 0660;
	}
	failures_publish();
	rc = misc_register(&control_misc);
	if (rc)
		debugfs_remove_recursive(failures_dir);
	return rc;
}

/* Open files hold references to the module, so no call is running. */
static void __exit faulty_exit(void)
{
	misc_deregister(&control_misc);
	devices_set(0);
	worker_exit();
	debugfs_remove_recursive(failures_dir);
}

module_init(faulty_init);
module_exit(faulty_exit);
MODULE_DESCRIPTION("Test device of hmmrt that injects failures and can be removed");
MODULE_LICENSE("GPL");
