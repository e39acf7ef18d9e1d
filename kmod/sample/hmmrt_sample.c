// SPDX-License-Identifier: GPL-2.0-only
/*
 * A minimal device driver for hmmrt, as an example and a starting point.
 *
 * /dev/hmmrt-sample is a device that reads and writes the memory of the process
 * that binds it with HMMRT_SOFT_IOC_BIND. pread() and pwrite() of eight bytes at
 * an offset are accesses of the device to that address. ../softdev.h implements
 * the device itself, with its memory and MMU, and the state of a process. In
 * other drivers the device is hardware. The first part below implements those
 * of struct hmmrt_device_ops that softdev.h does not. The second part is all
 * that a driver adds to get unified memory. It has less than a hundred lines,
 * which tools/lint checks. See <linux/hmmrt_device.h> for the rules of each
 * call.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <uapi/linux/hmmrt_faulty.h>

#include "../softdev.h"

static struct soft_memory memory;

/* --- operations of the device --------------------------------------------- */

static int sample_populate(struct hmmrt_device *dev, u64 offset)
{
	return soft_populate(&memory, offset);
}

static void sample_depopulate(struct hmmrt_device *dev, u64 offset)
{
	soft_depopulate(&memory, offset);
}

static int sample_copy_to_device(struct hmmrt_device *dev, u64 offset,
				 struct page **src, unsigned int npages)
{
	soft_copy_in(soft_memory_at(&memory, offset), src, npages);
	return 0;
}

static int sample_copy_to_host(struct hmmrt_device *dev, struct page **dst,
			       u64 offset, unsigned int npages)
{
	soft_copy_out(dst, soft_memory_at(&memory, offset), npages);
	return 0;
}

/* --- the driver ----------------------------------------------------------- */

static struct hmmrt_device *sample_device;

static const struct hmmrt_device_ops sample_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = sample_populate,
	.depopulate = sample_depopulate,
	.copy_to_device = sample_copy_to_device,
	.copy_to_host = sample_copy_to_host,
	.prepare = soft_prepare,
	.map = soft_map,
	.unmap = soft_unmap,
	.invalidate = soft_invalidate,
	.released = soft_released,
};

/*
 * Ops may be called before the bind returns: set up the MMU first. The bind is
 * a call of its own, because the core holds a lock during open().
 */
static int sample_open(struct inode *inode, struct file *file)
{
	struct soft_context *context = kzalloc(sizeof(*context), GFP_KERNEL);

	if (!context)
		return -ENOMEM;
	soft_context_init(context, &memory);
	file->private_data = context;
	return 0;
}

static long sample_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (cmd != HMMRT_SOFT_IOC_BIND)
		return -ENOTTY;
	return hmmrt_restart(soft_context_bind(file->private_data,
					       sample_device));
}

/* No call on this file is running, so the device has stopped. */
static int sample_release(struct inode *inode, struct file *file)
{
	soft_context_destroy(file->private_data);
	kfree(file->private_data);
	return 0;
}

/* Serve a fault of the MMU. Returns 0 if the access should be repeated. */
static int sample_fault(struct hmmrt_binding *binding, unsigned long addr,
			bool write)
{
	int rc;

	rc = hmmrt_fault(binding, addr,
			 write ? HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE :
				 HMMRT_ACCESS_READ);
	return rc == -EAGAIN ? 0 : rc;
}

static int sample_access(struct file *file, loff_t addr, size_t len, u64 *word,
			 bool write)
{
	struct soft_context *context = file->private_data;
	struct hmmrt_binding *binding = soft_context_binding(context);
	int rc = 0;

	if (len != sizeof(*word) || addr % sizeof(*word))
		return -EINVAL;
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	while (!rc && !soft_mmu_access(&context->mmu, addr, word, write))
		rc = sample_fault(binding, addr, write);
	return hmmrt_restart(rc);
}

static int __init sample_register(void)
{
	const struct hmmrt_device_desc desc = {
		.name = "hmmrt-sample",
		.ops = &sample_ops,
		.memory_bytes = SOFT_MEMORY_BYTES,
		.numa_node = NUMA_NO_NODE,
	};

	sample_device = hmmrt_device_register(&desc);
	return PTR_ERR_OR_ZERO(sample_device);
}

/* --- its node: the same as in any other driver ---------------------------- */

static ssize_t sample_read(struct file *file, char __user *to, size_t len,
			   loff_t *pos)
{
	u64 word;
	int rc;

	rc = sample_access(file, *pos, len, &word, false);
	if (!rc && copy_to_user(to, &word, sizeof(word)))
		rc = -EFAULT;
	return rc ? rc : sizeof(word);
}

static ssize_t sample_write(struct file *file, const char __user *from,
			    size_t len, loff_t *pos)
{
	u64 word = 0;
	int rc;

	if (copy_from_user(&word, from, min(len, sizeof(word))))
		return -EFAULT;
	rc = sample_access(file, *pos, len, &word, true);
	return rc ? rc : sizeof(word);
}

static const struct file_operations sample_fops = {
	.owner = THIS_MODULE,
	.open = sample_open,
	.release = sample_release,
	.read = sample_read,
	.write = sample_write,
	.unlocked_ioctl = sample_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice sample_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hmmrt-sample",
	.fops = &sample_fops,
	.mode = 0660,
};

/* Open files hold the module, so no binding exists when it is unloaded. */
static int __init sample_init(void)
{
	int rc = sample_register();

	if (rc)
		return rc;
	rc = misc_register(&sample_misc);
	if (rc)
		hmmrt_device_unregister(sample_device);
	return rc;
}

static void __exit sample_exit(void)
{
	misc_deregister(&sample_misc);
	hmmrt_device_unregister(sample_device);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("Sample device driver for hmmrt");
MODULE_LICENSE("GPL");
