// SPDX-License-Identifier: GPL-2.0-only
/*
 * A minimal device driver for hmmrt, as an example and a starting point.
 *
 * /dev/hmmrt-sample is a device that reads and writes the memory of the process
 * that binds it with HMMRT_SOFT_IOC_BIND. pread() and pwrite() of eight bytes at
 * an offset are accesses of the device to that address. In other drivers the
 * device is hardware: ../softdev.h implements it, with its memory, its MMU, and
 * the state of a process. soft_bind() and soft_stop() there show how a binding
 * begins and ends. The first part below is what a driver adds to get unified
 * memory. It has less than a hundred lines, which tools/lint checks. See
 * <linux/hmmrt_device.h> for the rules of each call.
 */
#include <linux/module.h>
#include <uapi/linux/hmmrt_faulty.h>

#include "../softdev.h"

/* --- the driver ----------------------------------------------------------- */

static const struct hmmrt_device_ops sample_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = soft_populate,
	.depopulate = soft_depopulate,
	.copy_to_device = soft_copy_to_device,
	.copy_to_host = soft_copy_to_host,
	.prepare = soft_prepare,
	.map = soft_map,
	.unmap = soft_unmap,
	.invalidate = soft_invalidate,
	.released = soft_released,
};

/* Serve a fault of the MMU. */
static int sample_fault(struct soft_context *context, unsigned long addr,
			unsigned int access)
{
	return hmmrt_fault(context->binding, addr, access);
}

static struct soft_device sample = {
	.name = "hmmrt-sample",
	.fault = sample_fault,
};

/* A call of its own binds the device, because the core locks open(). */
static long sample_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (cmd != HMMRT_SOFT_IOC_BIND)
		return -ENOTTY;
	return hmmrt_restart(soft_bind(file->private_data));
}

static int __init sample_add(void)
{
	const struct hmmrt_device_desc desc = {
		.name = sample.name,
		.ops = &sample_ops,
		.memory_bytes = SOFT_MEMORY_BYTES,
		.numa_node = NUMA_NO_NODE,
		.drvdata = &sample,
	};

	return soft_device_add(&sample, &desc);
}

/* --- its node: the same as in any other driver ---------------------------- */

static const struct file_operations sample_fops = {
	.owner = THIS_MODULE,
	.open = soft_open,
	.release = soft_release,
	.read = soft_read,
	.write = soft_write,
	.unlocked_ioctl = sample_ioctl,
	.llseek = noop_llseek,
};

static int __init sample_init(void)
{
	soft_device_init(&sample, &sample_fops);
	return sample_add();
}

/* Open files hold the module, so no binding exists when it is unloaded. */
static void __exit sample_exit(void)
{
	soft_device_remove(&sample);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("Sample device driver for hmmrt");
MODULE_LICENSE("GPL");
