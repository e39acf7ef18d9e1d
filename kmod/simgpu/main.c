// SPDX-License-Identifier: GPL-2.0-only
/* hmmrt_simgpu.ko: parameters and creation of the devices. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/page_table_check.h>
#include <linux/slab.h>

#include "simgpu.h"

#define MAX_MEMORY_MIB	(64U << 10)

static unsigned int devices = 2;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "number of devices, 1 to 16 (default 2)");

static unsigned int memory[HMMRT_MAX_DEVICES] = { 256 };
static unsigned int nr_memory = 1;
module_param_array(memory, uint, &nr_memory, 0444);
MODULE_PARM_DESC(memory,
		 "memory of each device in MiB, an even number up to 65536; the last value applies to all further devices (default 256)");

static int node[HMMRT_MAX_DEVICES] = { NUMA_NO_NODE };
static unsigned int nr_nodes = 1;
module_param_array(node, int, &nr_nodes, 0444);
MODULE_PARM_DESC(node,
		 "nearest NUMA node of each device, -1 for none; the last value applies to all further devices (default -1)");

static bool native_atomics = true;
module_param(native_atomics, bool, 0444);
MODULE_PARM_DESC(native_atomics,
		 "atomic operations of the devices on system memory are atomic with respect to those of the CPU (default Y)");

static bool fault_in_place;
module_param(fault_in_place, bool, 0444);
MODULE_PARM_DESC(fault_in_place,
		 "device faults map pages where they are; pages migrate only on request (default N)");

static unsigned long coherent[HMMRT_MAX_DEVICES];
module_param_array(coherent, ulong, NULL, 0444);
MODULE_PARM_DESC(coherent,
		 "physical addresses of reserved memory for each device, which the CPU then accesses in place; 0: private memory that the CPU cannot access (default 0,...)");

static struct simgpu *simgpus[HMMRT_MAX_DEVICES];

static struct simgpu *simgpu_create(unsigned int index)
{
	struct hmmrt_device_desc desc = {
		.ops = &simgpu_ops,
		.memory_bytes = (u64)memory[min(index, nr_memory - 1)] << 20,
		.memory_start = coherent[index],
		.numa_node = node[min(index, nr_nodes - 1)],
		.flags = HMMRT_DEVICE_PEER_ACCESS,
	};
	struct simgpu *gpu;
	int rc;

	gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);
	if (!gpu)
		return ERR_PTR(-ENOMEM);
	if (native_atomics)
		desc.flags |= HMMRT_DEVICE_NATIVE_ATOMICS;
	if (fault_in_place)
		desc.flags |= HMMRT_DEVICE_FAULT_IN_PLACE;
	if (desc.memory_start)
		desc.flags |= HMMRT_DEVICE_COHERENT;
	gpu->memory_bytes = desc.memory_bytes;
	gpu->memory_start = desc.memory_start;
	gpu->numa_node = desc.numa_node;
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
	return gpu;

err_vram:
	simgpu_vram_destroy(gpu);
err_free:
	kfree(gpu);
	return ERR_PTR(rc);
}

static void simgpu_destroy(struct simgpu *gpu)
{
	hmmrt_device_unregister(gpu->dev);
	simgpu_vram_destroy(gpu);
	kfree(gpu);
}

static void simgpu_destroy_all(unsigned int count)
{
	while (count--)
		simgpu_destroy(simgpus[count]);
}

static void simgpu_hide_all(unsigned int count)
{
	while (count--)
		misc_deregister(&simgpus[count]->misc);
}

/*
 * The last step of init: an open node holds a reference to the module, but
 * cannot keep it if init fails. Only a failure to register a later node
 * remains.
 */
static int __init simgpu_publish_all(void)
{
	unsigned int i;
	int rc;

	for (i = 0; i < devices; i++) {
		rc = misc_register(&simgpus[i]->misc);
		if (rc) {
			simgpu_hide_all(i);
			return rc;
		}
	}
	return 0;
}

static int __init simgpu_create_all(void)
{
	unsigned int i;

	for (i = 0; i < devices; i++) {
		simgpus[i] = simgpu_create(i);
		if (IS_ERR(simgpus[i])) {
			simgpu_destroy_all(i);
			return PTR_ERR(simgpus[i]);
		}
	}
	return 0;
}

/*
 * That check treats a page that the CPU and a device have mapped as a page that
 * is mapped twice.
 */
static bool __init page_table_check_on(void)
{
#ifdef CONFIG_PAGE_TABLE_CHECK
	return !static_branch_likely(&page_table_check_disabled);
#else
	return false;
#endif
}

/* hmmrt_device_register() checks the NUMA nodes. */
static bool __init parameters_are_valid(void)
{
	unsigned int i;

	if (!devices || devices > HMMRT_MAX_DEVICES)
		return false;
	for (i = 0; i < nr_memory; i++)
		if (!memory[i] || memory[i] > MAX_MEMORY_MIB || memory[i] % 2)
			return false;
	return true;
}

static int __init simgpu_init(void)
{
	int rc;

	if (!parameters_are_valid())
		return -EINVAL;
	if (page_table_check_on()) {
		pr_err("hmmrt_simgpu: cannot work with page_table_check=on\n");
		return -EOPNOTSUPP;
	}
	rc = simgpu_fs_init();
	if (rc)
		return rc;
	rc = simgpu_create_all();
	if (rc)
		goto err_fs;
	rc = simgpu_publish_all();
	if (rc)
		goto err_devices;
	return 0;

err_devices:
	simgpu_destroy_all(devices);
err_fs:
	simgpu_fs_exit();
	return rc;
}

static void __exit simgpu_exit(void)
{
	simgpu_hide_all(devices);
	simgpu_destroy_all(devices);
	simgpu_fs_exit();
}

module_init(simgpu_init);
module_exit(simgpu_exit);
MODULE_DESCRIPTION("Simulated GPU for hmmrt");
MODULE_LICENSE("GPL");
