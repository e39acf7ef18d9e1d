// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: registration, ids, lifetime.
 *
 * The registration, each binding, and each running ioctl hold a reference to a
 * device. Unregistering waits for bindings and ioctls, then migrates the
 * device's pages back to system memory. The device keeps its id and name until
 * that is done: remaining pages are found by the id, and no other device may
 * take it.
 *
 * Orphans    Users of coherent memory, for example a pipe, may hold a page for
 *            as long as a program likes, and a machine may have no memory for
 *            pages that are to move there. The driver does not wait for these:
 *            the device becomes an orphan, which has its id, its struct pages
 *            and a reference to the module, but neither a name nor a driver. A
 *            work tries again until the last page is gone.
 *            Coherent memory is claimed by the manager, and not by the driver,
 *            so that nothing gets it before, and the CPU copies its pages. Other
 *            memory is the driver's. What is in it is lost: see mem_lost.c for
 *            pages that are replaced then.
 */
#include <linux/bitfield.h>
#include <linux/highmem.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "api.h"

static DEFINE_MUTEX(devices_lock);
static struct hmmrt_device *devices[HMMRT_MAX_DEVICES];
static u64 last_serial;
/* No device gives out memory, see api_power.c. */
static bool devices_closed;

/* Given to vram by pointer, because it cannot call code that moves pages. */
static const struct dev_pagemap_ops device_pagemap_ops = {
	.HMMRT_PAGEMAP_FREE = hmmrt_vram_folio_free,
	.migrate_to_ram = hmmrt_migrate_to_ram,
};

/* The struct pages of the device's memory are allocated on this node. */
static bool numa_node_valid(int node)
{
	return node == NUMA_NO_NODE || hmmrt_node_is_online(node);
}

/*
 * Coherent memory must not be System RAM; other devices must give no address.
 */
static bool desc_memory_valid(const struct hmmrt_device_desc *desc)
{
	if (!desc->memory_bytes ||
	    !IS_ALIGNED(desc->memory_bytes, HMMRT_CHUNK_SIZE) ||
	    desc->memory_bytes - 1 > (HMMRT_PTE_ADDR | ~PAGE_MASK))
		return false;
	if (!(desc->flags & HMMRT_DEVICE_COHERENT))
		return !desc->memory_start;
	return desc->memory_start &&
	       IS_ALIGNED(desc->memory_start, HMMRT_CHUNK_SIZE) &&
	       desc->memory_start + desc->memory_bytes > desc->memory_start &&
	       region_intersects(desc->memory_start, desc->memory_bytes,
				 IORESOURCE_SYSTEM_RAM,
				 IORES_DESC_NONE) == REGION_DISJOINT;
}

static bool desc_valid(const struct hmmrt_device_desc *desc)
{
	const struct hmmrt_device_ops *ops = desc->ops;

	return desc->name && *desc->name &&
	       strlen(desc->name) < HMMRT_DEVICE_NAME_LEN &&
	       ops && ops->api_version == HMMRT_DEVICE_API_VERSION &&
	       ops->populate && ops->depopulate && ops->copy_to_device &&
	       ops->copy_to_host && ops->prepare && ops->map && ops->unmap &&
	       ops->invalidate && ops->released && desc_memory_valid(desc) &&
	       numa_node_valid(desc->numa_node) &&
	       !(desc->flags &
		 ~(HMMRT_DEVICE_FAULT_IN_PLACE | HMMRT_DEVICE_NATIVE_ATOMICS |
		   HMMRT_DEVICE_COHERENT | HMMRT_DEVICE_PEER_ACCESS));
}

/*
 * Coherent memory is claimed for the manager, which may use it for longer than
 * the driver: see Orphans.
 */
static int memory_claim(const struct hmmrt_device_desc *desc,
			struct hmmrt_device *dev)
{
	if (!desc->memory_start ||
	    request_mem_region(desc->memory_start, desc->memory_bytes,
			       dev->name))
		return 0;
	return -EBUSY;
}

static void memory_release(const struct hmmrt_device *dev, u64 bytes)
{
	if (dev->memory_start)
		release_mem_region(dev->memory_start, bytes);
}

static int device_id_reserve(struct hmmrt_device *dev)
{
	unsigned int id, free = HMMRT_MAX_DEVICES;

	lockdep_assert_held(&devices_lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		if (!devices[id])
			free = min(free, id);
		else if (!devices[id]->orphan &&
			 !strcmp(devices[id]->name, dev->name))
			return -EEXIST;
	}
	if (free == HMMRT_MAX_DEVICES)
		return -ENOSPC;
	dev->id = free;
	dev->serial = ++last_serial;
	return 0;
}

struct hmmrt_device *hmmrt_device_register(const struct hmmrt_device_desc *desc)
{
	struct hmmrt_device *dev;
	int rc;

	if (!desc_valid(desc))
		return ERR_PTR(-EINVAL);
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	strscpy(dev->name, desc->name, sizeof(dev->name));
	dev->ops = desc->ops;
	dev->drvdata = desc->drvdata;
	dev->numa_node = desc->numa_node;
	dev->flags = desc->flags;
	dev->memory_start = desc->memory_start;
	refcount_set(&dev->users, 1);
	init_completion(&dev->unused);
	INIT_LIST_HEAD(&dev->bindings);
	mutex_init(&dev->age);
	rc = memory_claim(desc, dev);
	if (rc)
		goto err_free;
	rc = init_srcu_struct(&dev->copies);
	if (rc)
		goto err_release;
	rc = hmmrt_evict_init(dev);
	if (rc)
		goto err_copies;

	mutex_lock(&devices_lock);
	rc = device_id_reserve(dev);
	if (!rc)
		rc = hmmrt_vram_init(dev, desc->memory_bytes,
				     &device_pagemap_ops);
	if (!rc) {
		hmmrt_vram_close(dev, devices_closed);
		devices[dev->id] = dev;
	}
	mutex_unlock(&devices_lock);
	if (rc)
		goto err_evict;
	hmmrt_debugfs_add(dev);
	return dev;

err_evict:
	hmmrt_evict_exit(dev);
err_copies:
	cleanup_srcu_struct(&dev->copies);
err_release:
	memory_release(dev, desc->memory_bytes);
err_free:
	kfree(dev);
	return ERR_PTR(rc);
}
EXPORT_SYMBOL_GPL(hmmrt_device_register);

/* No page of the device is in use. */
static void free_device(struct hmmrt_device *dev)
{
	hmmrt_vram_destroy(dev);
	hmmrt_evict_exit(dev);
	memory_release(dev, dev->vram.size);

	mutex_lock(&devices_lock);
	devices[dev->id] = NULL;
	mutex_unlock(&devices_lock);
	cleanup_srcu_struct(&dev->copies);
	kfree(dev);
}

/* --- orphans -------------------------------------------------------------- */

#define ORPHAN_PERIOD	HZ

static int orphan_copy_to_host(struct hmmrt_device *dev, struct page **dst,
			       u64 offset, unsigned int npages)
{
	struct page *src = pfn_to_page(PHYS_PFN(dev->memory_start + offset));
	unsigned int i;

	for (i = 0; i < npages; i++)
		if (dst[i] && copy_mc_user_highpage(dst[i], src + i, 0, NULL))
			return -EIO;
	return 0;
}

/* Of coherent memory only copies to system memory are left. */
static const struct hmmrt_device_ops orphan_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.copy_to_host = orphan_copy_to_host,
};

static int lost_copy_to_host(struct hmmrt_device *dev, struct page **dst,
			     u64 offset, unsigned int npages)
{
	return -EIO;
}

/* Other memory is out of reach. */
static const struct hmmrt_device_ops lost_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.copy_to_host = lost_copy_to_host,
};

static void orphan_retry(struct work_struct *work)
{
	struct hmmrt_device *dev =
		container_of(work, struct hmmrt_device, retry.work);

	if (!hmmrt_evict_again(dev)) {
		queue_delayed_work(hmmrt_wq, &dev->retry, ORPHAN_PERIOD);
		return;
	}
	free_device(dev);
	/* hmmrt_exit() waits for the end of this function. */
	module_put(THIS_MODULE);
}

/* Do without the driver from now on. */
static void device_orphan(struct hmmrt_device *dev)
{
	const struct hmmrt_device_ops *driver = dev->ops;
	bool coherent = hmmrt_device_is_coherent(dev);

	pr_warn("%s: %lu pages %s\n", dev->name,
		READ_ONCE(dev->vram.used_pages),
		coherent ? "did not leave, and use its memory until they do" :
			   "could not leave, and are lost");
	/* Pages of the device point to code of this module. */
	__module_get(THIS_MODULE);
	mutex_lock(&devices_lock);
	dev->orphan = true;
	mutex_unlock(&devices_lock);
	if (!coherent)
		hmmrt_vram_abandon(dev);
	WRITE_ONCE(dev->ops, coherent ? &orphan_ops : &lost_ops);
	/* No copy of the driver is running any more, and none starts. */
	synchronize_srcu(&dev->copies);
	if (!coherent)
		hmmrt_evict_abandon(dev, driver->depopulate);
	INIT_DELAYED_WORK(&dev->retry, orphan_retry);
	queue_delayed_work(hmmrt_wq, &dev->retry, ORPHAN_PERIOD);
}

bool hmmrt_device_unregister(struct hmmrt_device *dev)
{
	mutex_lock(&devices_lock);
	dev->going = true;
	mutex_unlock(&devices_lock);
	hmmrt_debugfs_remove(dev);
	hmmrt_device_put(dev);
	wait_for_completion(&dev->unused);
	hmmrt_evict_ahead_stop(dev);
	if (!hmmrt_evict_all(dev)) {
		device_orphan(dev);
		return false;
	}
	free_device(dev);
	return true;
}
EXPORT_SYMBOL_GPL(hmmrt_device_unregister);

void *hmmrt_device_drvdata(const struct hmmrt_device *dev)
{
	return dev->drvdata;
}
EXPORT_SYMBOL_GPL(hmmrt_device_drvdata);

u32 hmmrt_device_id(const struct hmmrt_device *dev)
{
	return dev->id;
}
EXPORT_SYMBOL_GPL(hmmrt_device_id);

/*
 * The device cannot go while the entry exists: see hmmrt_device_unregister().
 */
struct hmmrt_device *hmmrt_pte_peer(hmmrt_pte_t pte)
{
	return READ_ONCE(devices[FIELD_GET(HMMRT_PTE_PEER_ID, pte)]);
}
EXPORT_SYMBOL_GPL(hmmrt_pte_peer);

/*
 * Return the device with a reference, or NULL if the id is unused or the device
 * is going away.
 */
struct hmmrt_device *hmmrt_device_get(u32 id)
{
	struct hmmrt_device *dev = NULL;

	mutex_lock(&devices_lock);
	if (id < HMMRT_MAX_DEVICES)
		dev = devices[id];
	if (dev && dev->going)
		dev = NULL;
	if (dev)
		refcount_inc(&dev->users);
	mutex_unlock(&devices_lock);
	return dev;
}

void hmmrt_device_put(struct hmmrt_device *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->unused);
}

unsigned int hmmrt_device_count(void)
{
	unsigned int id, count = 0;

	mutex_lock(&devices_lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		count += devices[id] && !devices[id]->going;
	mutex_unlock(&devices_lock);
	return count;
}

/* Also holds for devices that are registered from now on. */
void hmmrt_devices_close(bool closed)
{
	unsigned int id;

	mutex_lock(&devices_lock);
	devices_closed = closed;
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		if (devices[id])
			hmmrt_vram_close(devices[id], closed);
	mutex_unlock(&devices_lock);
}

/* Returns true if a removed device has pages in use, see above. */
bool hmmrt_device_is_orphaned(void)
{
	bool orphaned = false;
	unsigned int id;

	mutex_lock(&devices_lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		orphaned |= devices[id] && devices[id]->orphan;
	mutex_unlock(&devices_lock);
	return orphaned;
}

void hmmrt_device_fill_info(struct hmmrt_device *dev,
			    struct hmmrt_device_info *info)
{
	struct hmmrt_vram *vram = &dev->vram;

	spin_lock_irq(&vram->lock);
	info->out_used_bytes = (u64)vram->used_pages << PAGE_SHIFT;
	info->out_backed_bytes = (u64)vram->populated_chunks
				 << HMMRT_CHUNK_SHIFT;
	info->out_partial_chunks = vram->partial_chunks;
	info->out_full_chunks = vram->full_chunks;
	info->out_split_chunks = vram->split_chunks;
	info->out_merged_chunks = vram->merged_chunks;
	spin_unlock_irq(&vram->lock);
	info->out_free_chunks = (vram->size >> HMMRT_CHUNK_SHIFT) -
				info->out_partial_chunks -
				info->out_full_chunks;
	info->out_chunk_bytes = HMMRT_CHUNK_SIZE;
	info->out_memory_bytes = vram->size;
	info->out_numa_node = dev->numa_node;
	strscpy_pad((char *)info->out_name, dev->name, sizeof(info->out_name));
	info->out_evictions = atomic_long_read(&vram->evictions);
	info->out_evictions_ahead = atomic_long_read(&vram->evictions_ahead);
	info->out_properties = 0;
	if (dev->flags & HMMRT_DEVICE_NATIVE_ATOMICS)
		info->out_properties |= HMMRT_PROPERTY_NATIVE_ATOMICS;
	if (hmmrt_device_is_coherent(dev))
		info->out_properties |= HMMRT_PROPERTY_COHERENT;
}
