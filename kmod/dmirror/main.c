// SPDX-License-Identifier: GPL-2.0-only
/*
 * hmmrt_dmirror.ko: creation of the devices and their nodes.
 *
 * Devices 0 and 1 have memory that the CPU cannot access (device-private).
 * Devices 2 and 3 have memory that it can access (device-coherent). They exist
 * only if the module parameters give the addresses of their memory.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "dmirror.h"

#define PRIVATE_DEVICES	2U
#define MAX_DEVICES	4U
#define MAX_MEMORY_MIB	(64U << 10)

static unsigned int memory = 256;
module_param(memory, uint, 0444);
MODULE_PARM_DESC(memory,
		 "memory of each device in MiB, an even number up to 65536 (default 256)");

/* The kernel's own driver (lib/test_hmm.c) has the same parameters. */
static unsigned long spm_addr_dev0;
module_param(spm_addr_dev0, ulong, 0444);
MODULE_PARM_DESC(spm_addr_dev0,
		 "physical address of reserved memory for device 2; needs spm_addr_dev1");

static unsigned long spm_addr_dev1;
module_param(spm_addr_dev1, ulong, 0444);
MODULE_PARM_DESC(spm_addr_dev1,
		 "physical address of reserved memory for device 3; needs spm_addr_dev0");

static struct dmirror *dmirrors[MAX_DEVICES];
static unsigned int devices = PRIVATE_DEVICES;

static u64 memory_start(unsigned int number)
{
	switch (number) {
	case 2:
		return spm_addr_dev0;
	case 3:
		return spm_addr_dev1;
	default:
		return 0;
	}
}

static struct dmirror *dmirror_create(unsigned int number)
{
	struct hmmrt_device_desc desc = {
		.ops = &dmirror_ops,
		.memory_bytes = (u64)memory << 20,
		.memory_start = memory_start(number),
		.numa_node = NUMA_NO_NODE,
		.flags = HMMRT_DEVICE_FAULT_IN_PLACE,
	};
	struct dmirror *dmirror;
	int rc;

	dmirror = kzalloc(sizeof(*dmirror), GFP_KERNEL);
	if (!dmirror)
		return ERR_PTR(-ENOMEM);
	if (desc.memory_start)
		desc.flags |= HMMRT_DEVICE_COHERENT;
	dmirror->memory_bytes = desc.memory_bytes;
	dmirror->memory_start = desc.memory_start;
	snprintf(dmirror->name, sizeof(dmirror->name), "hmm_dmirror%u", number);
	rc = dmirror_vram_init(dmirror);
	if (rc)
		goto err_free;
	desc.name = dmirror->name;
	desc.drvdata = dmirror;
	dmirror->dev = hmmrt_device_register(&desc);
	if (IS_ERR(dmirror->dev)) {
		rc = PTR_ERR(dmirror->dev);
		goto err_vram;
	}
	dmirror->misc.minor = MISC_DYNAMIC_MINOR;
	dmirror->misc.name = dmirror->name;
	dmirror->misc.fops = &dmirror_fops;
	dmirror->misc.mode = 0660;
	return dmirror;

err_vram:
	dmirror_vram_destroy(dmirror);
err_free:
	kfree(dmirror);
	return ERR_PTR(rc);
}

static void dmirror_destroy(struct dmirror *dmirror)
{
	hmmrt_device_unregister(dmirror->dev);
	dmirror_vram_destroy(dmirror);
	kfree(dmirror);
}

static void dmirror_destroy_all(unsigned int count)
{
	while (count--)
		dmirror_destroy(dmirrors[count]);
}

static void dmirror_hide_all(unsigned int count)
{
	while (count--)
		misc_deregister(&dmirrors[count]->misc);
}

static int __init dmirror_publish_all(void)
{
	unsigned int i;
	int rc;

	for (i = 0; i < devices; i++) {
		rc = misc_register(&dmirrors[i]->misc);
		if (rc) {
			dmirror_hide_all(i);
			return rc;
		}
	}
	return 0;
}

static int __init dmirror_init(void)
{
	unsigned int i;
	int rc;

	if (!memory || memory > MAX_MEMORY_MIB || memory % 2)
		return -EINVAL;
	if (!spm_addr_dev0 != !spm_addr_dev1)
		return -EINVAL;
	if (spm_addr_dev0)
		devices = MAX_DEVICES;
	for (i = 0; i < devices; i++) {
		dmirrors[i] = dmirror_create(i);
		if (IS_ERR(dmirrors[i])) {
			rc = PTR_ERR(dmirrors[i]);
			goto err_devices;
		}
	}
	/*
	 * The last step: an open node holds a reference to the module, but
	 * cannot keep it if init fails.
	 */
	rc = dmirror_publish_all();
	if (rc)
		goto err_devices;
	return 0;

err_devices:
	dmirror_destroy_all(i);
	return rc;
}

static void __exit dmirror_exit(void)
{
	dmirror_hide_all(devices);
	dmirror_destroy_all(devices);
}

module_init(dmirror_init);
module_exit(dmirror_exit);
MODULE_DESCRIPTION("Test device for HMM on hmmrt, like lib/test_hmm.c");
MODULE_LICENSE("GPL");
