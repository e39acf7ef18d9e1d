// SPDX-License-Identifier: GPL-2.0-only
/* hmmrt_simgpu.ko: parameters and creation of the devices. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/page_table_check.h>

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

static struct simgpu simgpus[HMMRT_MAX_DEVICES];

static int __init simgpu_register(unsigned int index)
{
	struct simgpu *gpu = &simgpus[index];
	struct hmmrt_device_desc desc = {
		.name = gpu->name,
		.ops = &simgpu_ops,
		.memory_bytes = (u64)memory[min(index, nr_memory - 1)] << 20,
		.memory_start = coherent[index],
		.numa_node = node[min(index, nr_nodes - 1)],
		.flags = HMMRT_DEVICE_PEER_ACCESS,
		.drvdata = gpu,
	};

	if (native_atomics)
		desc.flags |= HMMRT_DEVICE_NATIVE_ATOMICS;
	if (fault_in_place)
		desc.flags |= HMMRT_DEVICE_FAULT_IN_PLACE;
	if (desc.memory_start)
		desc.flags |= HMMRT_DEVICE_COHERENT;
	gpu->memory_start = desc.memory_start;
	gpu->numa_node = desc.numa_node;
	xa_init(&gpu->chunks);
	snprintf(gpu->name, sizeof(gpu->name), "hmmrt-gpu%u", index);
	gpu->misc.minor = MISC_DYNAMIC_MINOR;
	gpu->misc.name = gpu->name;
	gpu->misc.fops = &simgpu_fops;
	gpu->misc.mode = 0660;
	gpu->dev = hmmrt_device_register(&desc);
	return PTR_ERR_OR_ZERO(gpu->dev);
}

static void simgpu_end(unsigned int registered, unsigned int published)
{
	while (published--)
		misc_deregister(&simgpus[published].misc);
	while (registered--)
		hmmrt_device_unregister(simgpus[registered].dev);
	simgpu_fs_exit();
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
	unsigned int registered = 0, published = 0;
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
	for (; registered < devices; registered++) {
		rc = simgpu_register(registered);
		if (rc)
			goto err_end;
	}
	/*
	 * The last step: an open node holds a reference to the module, but
	 * cannot keep it if init fails. Only a failure to register a later node
	 * remains.
	 */
	for (; published < devices; published++) {
		rc = misc_register(&simgpus[published].misc);
		if (rc)
			goto err_end;
	}
	return 0;

err_end:
	simgpu_end(registered, published);
	return rc;
}

static void __exit simgpu_exit(void)
{
	simgpu_end(devices, devices);
}

module_init(simgpu_init);
module_exit(simgpu_exit);
MODULE_DESCRIPTION("Simulated GPU for hmmrt");
MODULE_LICENSE("GPL");
