// SPDX-License-Identifier: GPL-2.0-only
/* hmmrt_simgpu.ko: parameters, and the devices they ask for. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "simgpu.h"

#define MAX_MEMORY_MIB	(64U << 10)

static unsigned int devices = 2;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1 to 16 (default 2)");

static unsigned int memory = 256;
module_param(memory, uint, 0444);
MODULE_PARM_DESC(memory,
		 "memory of each device in MiB, even, up to 65536 (default 256)");

static struct simgpu *simgpus[HMMRT_MAX_DEVICES];

static struct simgpu *simgpu_create(unsigned int index)
{
	struct hmmrt_device_desc desc = {
		.ops = &simgpu_ops,
		.memory_bytes = (u64)memory << 20,
		.numa_node = NUMA_NO_NODE,
	};
	struct simgpu *gpu;
	int rc;

	gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	if (!gpu)
		return ERR_PTR(-ENOMEM);
	gpu->memory_bytes = desc.memory_bytes;
	snprintf(gpu->name, sizeof(gpu->name), "hmmrt-gpu%u", index);
	rc = simgpu_vram_init(gpu);
	if (rc)
		goto err_free;
	desc.name = gpu->name;
	desc.drvdata = gpu;
	gpu->dev = hmmrt_device_register(&desc);
	if (IS_ERR(gpu->dev)) {
		rc = PTR_ERR(gpu->dev);
		goto err_vram;
	}
	gpu->misc.minor = MISC_DYNAMIC_MINOR;
	gpu->misc.name = gpu->name;
	gpu->misc.fops = &simgpu_fops;
	gpu->misc.mode = 0660;
	rc = misc_register(&gpu->misc);
	if (rc)
		goto err_unregister;
	return gpu;

err_unregister:
	hmmrt_device_unregister(gpu->dev);
err_vram:
	simgpu_vram_destroy(gpu);
err_free:
	kfree(gpu);
	return ERR_PTR(rc);
}

static void simgpu_destroy(struct simgpu *gpu)
{
	misc_deregister(&gpu->misc);
	hmmrt_device_unregister(gpu->dev);
	simgpu_vram_destroy(gpu);
	kfree(gpu);
}

static void simgpu_destroy_all(unsigned int count)
{
	while (count--)
		simgpu_destroy(simgpus[count]);
}

static int __init simgpu_init(void)
{
	unsigned int i;
	int rc;

	if (!devices || devices > HMMRT_MAX_DEVICES || !memory ||
	    memory > MAX_MEMORY_MIB || memory % 2)
		return -EINVAL;
	rc = simgpu_fs_init();
	if (rc)
		return rc;
	for (i = 0; i < devices; i++) {
		simgpus[i] = simgpu_create(i);
		if (IS_ERR(simgpus[i])) {
			rc = PTR_ERR(simgpus[i]);
			simgpu_destroy_all(i);
			simgpu_fs_exit();
			return rc;
		}
	}
	return 0;
}

static void __exit simgpu_exit(void)
{
	simgpu_destroy_all(devices);
	simgpu_fs_exit();
}

module_init(simgpu_init);
module_exit(simgpu_exit);
MODULE_DESCRIPTION("Simulated GPU for hmmrt");
MODULE_LICENSE("GPL");
