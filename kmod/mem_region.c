// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: the parts of device memory that have struct pages.
 *
 * Model      A region is up to 256 MiB of device memory with its own pgmap,
 *            made when it is first needed.
 * Locking    Regions are made under vram->grow, with no other hmmrt lock held,
 *            and stay until the device is removed.
 */
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mem.h"
#include "mem_check.h"

/* That of coherent memory is claimed for all regions: see api_device.c. */
static void pgmap_release_range(const struct dev_pagemap *pgmap)
{
	if (pgmap->type == MEMORY_DEVICE_PRIVATE)
		release_mem_region(pgmap->range.start,
				   range_len(&pgmap->range));
}

/*
 * Reserve addresses that no memory backs, so that nothing else uses them.
 */
static int pgmap_init_private(struct dev_pagemap *pgmap,
			      struct hmmrt_device *dev, u64 size)
{
	struct resource *resource =
		request_free_mem_region(&iomem_resource, size, dev->name);

	if (IS_ERR(resource))
		return PTR_ERR(resource);
	pgmap->type = MEMORY_DEVICE_PRIVATE;
	pgmap->range.start = resource->start;
	pgmap->range.end = resource->end;
	return 0;
}

static void pgmap_init_coherent(struct dev_pagemap *pgmap,
				struct hmmrt_device *dev, u64 offset, u64 size)
{
	pgmap->type = MEMORY_DEVICE_COHERENT;
	pgmap->range.start = dev->memory_start + offset;
	pgmap->range.end = dev->memory_start + offset + size - 1;
}

static int pgmap_create(struct dev_pagemap *pgmap, struct hmmrt_device *dev,
			u64 offset, u64 size)
{
	int rc = 0;

	pgmap->nr_range = 1;
	pgmap->ops = dev->vram.pagemap_ops;
	pgmap->owner = hmmrt_pgmap_owner();
	if (hmmrt_device_is_coherent(dev))
		pgmap_init_coherent(pgmap, dev, offset, size);
	else
		rc = pgmap_init_private(pgmap, dev, size);
	if (rc)
		return rc;
	rc = PTR_ERR_OR_ZERO(memremap_pages(pgmap,
					    dev->numa_node == NUMA_NO_NODE ?
						    numa_mem_id() :
						    dev->numa_node));
	if (rc)
		pgmap_release_range(pgmap);
	return rc;
}

static void pgmap_destroy(struct dev_pagemap *pgmap)
{
	memunmap_pages(pgmap);
	pgmap_release_range(pgmap);
}

static void region_publish(struct hmmrt_vram *vram, struct hmmrt_region *region)
{
	unsigned int i;

	spin_lock_irq(&vram->lock);
	/* hmmrt_chunk_pfn() finds a region by its offset. */
	VM_WARN_ON_ONCE(vram->nr_regions >= vram->max_regions ||
			region->offset != vram->nr_regions * HMMRT_REGION_SIZE);
	for (i = 0; i < region->nr_chunks; i++) {
		struct hmmrt_chunk *chunk = &region->chunks[i];

		chunk->offset = region->offset + ((u64)i << HMMRT_CHUNK_SHIFT);
		INIT_LIST_HEAD(&chunk->charges);
		list_add_tail(&chunk->link, &vram->free);
	}
	vram->regions[vram->nr_regions] = region;
	/* A lockless reader of nr_regions finds all regions that it counts. */
	smp_store_release(&vram->nr_regions, vram->nr_regions + 1);
	spin_unlock_irq(&vram->lock);
}

/*
 * Make struct pages for the next part of device memory. Returns -ENOSPC if all
 * of it has struct pages already.
 */
static int vram_grow_locked(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	u64 offset = (u64)vram->nr_regions * HMMRT_REGION_SIZE;
	struct hmmrt_region *region;
	unsigned int nr_chunks;
	u64 size;
	int rc;

	lockdep_assert_held(&vram->grow);
	if (vram->nr_regions == vram->max_regions)
		return -ENOSPC;
	size = min_t(u64, vram->size - offset, HMMRT_REGION_SIZE);
	nr_chunks = size >> HMMRT_CHUNK_SHIFT;

	region = kvzalloc(struct_size(region, chunks, nr_chunks), GFP_KERNEL);
	if (!region)
		return -ENOMEM;
	region->dev = dev;
	region->offset = offset;
	region->nr_chunks = nr_chunks;

	rc = pgmap_create(&region->pgmap, dev, offset, size);
	if (rc)
		goto out_free;
	region->first_pfn = PHYS_PFN(region->pgmap.range.start);
	rc = IS_ALIGNED(region->first_pfn, HMMRT_CHUNK_PAGES) ?
		     hmmrt_region_remember(region) :
		     -EINVAL;
	if (rc)
		goto out_pgmap;
	region_publish(vram, region);
	return 0;

out_pgmap:
	pgmap_destroy(&region->pgmap);
out_free:
	kvfree(region);
	return rc;
}

/*
 * Make one more region, unless one was added since there were @seen_regions.
 * Context: no lock held, not even the mmap_lock.
 */
int hmmrt_vram_grow(struct hmmrt_device *dev, unsigned int seen_regions)
{
	struct hmmrt_vram *vram = &dev->vram;
	int rc = 0;

	if (mutex_lock_killable(&vram->grow))
		return -EINTR;
	if (vram->nr_regions == seen_regions)
		rc = vram_grow_locked(dev);
	mutex_unlock(&vram->grow);
	return rc;
}

/*
 * Context: no page of the region is in use, and no lookup for one is running.
 */
void hmmrt_region_destroy(struct hmmrt_region *region)
{
	unsigned int i;

	/*
	 * Do this first: another device may get the page frame numbers
	 * afterwards.
	 */
	hmmrt_region_forget(region, region->nr_chunks);
	pgmap_destroy(&region->pgmap);
	for (i = 0; i < region->nr_chunks; i++) {
		hmmrt_chunk_check_gone(&region->chunks[i]);
		kvfree(region->chunks[i].duplicate_of);
		kfree(region->chunks[i].failures);
	}
	kvfree(region);
}
