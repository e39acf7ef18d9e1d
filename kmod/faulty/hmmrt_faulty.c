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
 * Locking    devices_lock   mutex: the number of devices. All locks of
 *                           ../softdev.h, which also removes devices, are taken
 *                           inside.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fault-inject.h>
#include <linux/module.h>
#include <uapi/linux/hmmrt_faulty.h>

#include "../softdev.h"
#include "worker.h"

#define SLOW_COPY_MAX	10000
#define HOLLOW_MIB_MAX	(64 << 10)

struct faulty {
	struct soft_device soft;	/* first: drvdata of the device */
	atomic_t invalidations;		/* calls of invalidate() */
	bool hollow;			/* its memory has no storage */
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
	return faulty->hollow ? 0 : soft_populate(dev, offset);
}

static void faulty_depopulate(struct hmmrt_device *dev, u64 offset)
{
	struct faulty *faulty = hmmrt_device_drvdata(dev);

	if (!faulty->hollow)
		soft_depopulate(dev, offset);
}

static int faulty_copy_to_device(struct hmmrt_device *dev, u64 offset,
				 struct page **src, unsigned int npages)
{
	struct faulty *faulty = hmmrt_device_drvdata(dev);

	hold_up();
	if (op_fails(HMMRT_FAULTY_COPY_TO_DEVICE))
		return -EIO;
	return faulty->hollow ? 0 :
				soft_copy_to_device(dev, offset, src, npages);
}

/* Delay of the next copy to the host, in ms, before it fails; 0 for none. */
static atomic_t slow_copy;

/* Index of an unreadable page in each chunk, + 1; 0 for none. */
static unsigned int bad_page;

static int bad_page_set(unsigned long page)
{
	if (page > HMMRT_CHUNK_PAGES)
		return -EINVAL;
	WRITE_ONCE(bad_page, page);
	return 0;
}

static bool has_bad_page(u64 offset, unsigned int npages)
{
	unsigned int first = (offset >> PAGE_SHIFT) % HMMRT_CHUNK_PAGES;
	unsigned int bad = READ_ONCE(bad_page);

	return bad > first && bad <= first + npages;
}

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
	if (faulty->hollow || op_fails(HMMRT_FAULTY_COPY_TO_HOST) ||
	    has_bad_page(offset, npages))
		return -EIO;
	return soft_copy_to_host(dev, dst, offset, npages);
}

static int faulty_copy_from_peer(struct hmmrt_device *dev, u64 offset,
				 struct hmmrt_device *peer, u64 peer_offset,
				 unsigned int npages)
{
	struct faulty *to = hmmrt_device_drvdata(dev);
	struct faulty *from = hmmrt_device_drvdata(peer);

	if (to->hollow || from->hollow || op_fails(HMMRT_FAULTY_COPY_FROM_PEER))
		return -EIO;
	memcpy(soft_memory_at(&to->soft, offset),
	       soft_memory_at(&from->soft, peer_offset),
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

static struct faulty *context_faulty(const struct soft_context *context)
{
	return container_of(context->soft, struct faulty, soft);
}

/* Accesses of a hollow device always fault. */
static void faulty_map(struct hmmrt_binding *binding, unsigned long start,
		       const hmmrt_pte_t *ptes, unsigned int npages)
{
	if (!context_faulty(hmmrt_binding_drvdata(binding))->hollow)
		soft_map(binding, start, ptes, npages);
}

static void faulty_invalidate(struct hmmrt_binding *binding,
			      unsigned long start, unsigned long end)
{
	struct soft_context *context = hmmrt_binding_drvdata(binding);

	atomic_inc(&context_faulty(context)->invalidations);
}

static const struct hmmrt_device_ops faulty_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = faulty_populate,
	.depopulate = faulty_depopulate,
	.copy_to_device = faulty_copy_to_device,
	.copy_to_host = faulty_copy_to_host,
	.copy_from_peer = faulty_copy_from_peer,
	.prepare = faulty_prepare,
	.map = faulty_map,
	.unmap = soft_unmap,
	.invalidate = faulty_invalidate,
	.released = soft_released,
};

/* --- files of a device ---------------------------------------------------- */

static int faulty_fault(struct soft_context *context, unsigned long addr,
			unsigned int access)
{
	int rc;

	if (context_faulty(context)->hollow)
		return -EIO;
	rc = READ_ONCE(by_worker) ?
		     worker_fault(context->binding, addr, access,
				  &context->stopping) :
		     hmmrt_fault(context->binding, addr, access);
	return rc == -EINTR && READ_ONCE(context->stopping) ? -ENODEV : rc;
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
	struct soft_context *context = file->private_data;
	struct hmmrt_faulty_range range;
	int rc;

	if (cmd == HMMRT_SOFT_IOC_BIND)
		return hmmrt_restart(soft_bind(context));
	if (copy_from_user(&range, (void __user *)arg, sizeof(range)))
		return -EFAULT;
	rc = soft_enter(context);
	if (rc)
		return hmmrt_restart(rc);
	rc = range_call(context->binding, cmd, &range);
	soft_leave(context);
	if (copy_to_user((void __user *)arg, &range, sizeof(range)))
		return -EFAULT;
	return hmmrt_restart(rc);
}

static const struct file_operations faulty_fops = {
	.owner = THIS_MODULE,
	.open = soft_open,
	.release = soft_release,
	.read = soft_read,
	.write = soft_write,
	.unlocked_ioctl = faulty_ioctl,
	.llseek = noop_llseek,
};

/* --- adding and removing devices ------------------------------------------ */

static int device_come(struct faulty *faulty)
{
	struct hmmrt_device_desc desc = {
		.name = faulty->soft.name,
		.ops = &faulty_ops,
		.memory_bytes = hollow_bytes ? hollow_bytes : SOFT_MEMORY_BYTES,
		.numa_node = NUMA_NO_NODE,
		/* A peer would access the memory, which has no storage. */
		.flags = hollow_bytes ? 0 : HMMRT_DEVICE_PEER_ACCESS,
		.drvdata = faulty,
	};

	lockdep_assert_held(&devices_lock);
	faulty->hollow = hollow_bytes;
	return soft_device_add(&faulty->soft, &desc);
}

static int devices_set(unsigned long count)
{
	int rc = 0;

	if (count > HMMRT_FAULTY_MAX_DEVICES)
		return -EINVAL;
	mutex_lock(&devices_lock);
	while (nr_devices > count)
		soft_device_remove(&devices[--nr_devices].soft);
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
		rc = hmmrt_device_evict(devices[number].soft.dev);
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
	case HMMRT_FAULTY_IOC_BAD_PAGE:
		return bad_page_set(arg);
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
		struct soft_device *soft = &devices[i].soft;

		snprintf(soft->name, sizeof(soft->name), "hmmrt-faulty%u", i);
		soft->fault = faulty_fault;
		soft->stopping = worker_stopping;
		soft_device_init(soft, &faulty_fops);
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
