// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: the parts of device memory that have struct pages, and which page is
 * where.
 *
 * Model      A region is up to 256 MiB of device memory with a pgmap of its own,
 *            made when it is first needed. Whose a page is goes by its number, of
 *            which chunks have some each: regions begin at a multiple of that.
 * Locking    Regions are made under vram->grow, with no other lock of ours, and stay
 *            until the device goes. They are looked up with none.
 */
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "hmmrt.h"

/* One owner for all devices: hmm_range_fault() spins on pages of others. */
static int hmmrt_owner;

void *hmmrt_pgmap_owner(void)
{
	return &hmmrt_owner;
}

/* struct hmmrt_region, by pfn / HMMRT_CHUNK_PAGES. */
static DEFINE_XARRAY(regions_by_pfn);

/*
 * By its number, for a page that is not held says nothing that lasts: what it is
 * part of, and the pgmap of that, are one word that the core rewrites when large
 * pages are made and split.
 */
struct hmmrt_region *hmmrt_page_region(const struct page *page)
{
	return xa_load(&regions_by_pfn, page_to_pfn(page) / HMMRT_CHUNK_PAGES);
}

/* The device whose memory this page is, or NULL for any other page. */
struct hmmrt_device *hmmrt_page_device(const struct page *page)
{
	struct hmmrt_region *region;

	if (!is_zone_device_page(page))
		return NULL;
	region = hmmrt_page_region(page);
	return region ? region->dev : NULL;
}

/* The same, for many pages: those of a chunk are looked up once. */
struct hmmrt_device *hmmrt_place_device(struct hmmrt_place *place,
					const struct page *page)
{
	unsigned long number = page_to_pfn(page) / HMMRT_CHUNK_PAGES;

	if (!is_zone_device_page(page))
		return NULL;
	if (place->number != number) {
		place->number = number;
		place->region = hmmrt_page_region(page);
	}
	return place->region ? place->region->dev : NULL;
}

/* Whether it is on a device, and the CPU does not reach it there. */
bool hmmrt_page_is_private(const struct page *page)
{
	const struct hmmrt_device *dev = hmmrt_page_device(page);

	return dev && !hmmrt_device_is_coherent(dev);
}

bool hmmrt_page_is_coherent(const struct page *page)
{
	const struct hmmrt_device *dev = hmmrt_page_device(page);

	return dev && hmmrt_device_is_coherent(dev);
}

/* Of a page of ours. */
struct dev_pagemap *hmmrt_page_pgmap(const struct page *page)
{
	return &hmmrt_page_region(page)->pgmap;
}

/* Whether the CPU and other devices can be given entries for its memory. */
bool hmmrt_device_is_coherent(const struct hmmrt_device *dev)
{
	return dev->flags & HMMRT_DEVICE_COHERENT;
}

static u64 region_page_offset(const struct hmmrt_region *region,
			      const struct page *page)
{
	return region->offset +
	       ((u64)(page_to_pfn(page) - region->first_pfn) << PAGE_SHIFT);
}

u64 hmmrt_page_offset(const struct page *page)
{
	return region_page_offset(hmmrt_page_region(page), page);
}

/* Of a page that hmmrt_place_device() was asked for last. */
u64 hmmrt_place_offset(const struct hmmrt_place *place, const struct page *page)
{
	return region_page_offset(place->region, page);
}

struct hmmrt_chunk *hmmrt_region_chunk(struct hmmrt_region *region,
				       const struct page *page)
{
	return &region->chunks[(page_to_pfn(page) - region->first_pfn) /
			       HMMRT_CHUNK_PAGES];
}

struct hmmrt_chunk *hmmrt_page_chunk(const struct page *page)
{
	return hmmrt_region_chunk(hmmrt_page_region(page), page);
}

unsigned long hmmrt_chunk_pfn(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk)
{
	struct hmmrt_region *region =
		dev->vram.regions[chunk->offset / HMMRT_REGION_SIZE];

	return region->first_pfn +
	       ((chunk->offset - region->offset) >> PAGE_SHIFT);
}

static const struct dev_pagemap_ops vram_pagemap_ops = {
	.HMMRT_PAGEMAP_FREE = hmmrt_vram_folio_free,
	.migrate_to_ram = hmmrt_migrate_to_ram,
};

/* Coherent memory was reserved by the driver. */
static void pgmap_release_range(const struct dev_pagemap *pgmap)
{
	if (pgmap->type == MEMORY_DEVICE_PRIVATE)
		release_mem_region(pgmap->range.start,
				   range_len(&pgmap->range));
}

/* Nothing is at those addresses; they only are not anybody else's. */
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
	pgmap->ops = &vram_pagemap_ops;
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

static void region_forget(const struct hmmrt_region *region, unsigned int n)
{
	while (n--)
		xa_erase(&regions_by_pfn,
			 region->first_pfn / HMMRT_CHUNK_PAGES + n);
}

/* Before any page of it is given out. */
static int region_remember(struct hmmrt_region *region)
{
	unsigned int i;
	int rc;

	for (i = 0; i < region->nr_chunks; i++) {
		rc = xa_err(xa_store(&regions_by_pfn,
				     region->first_pfn / HMMRT_CHUNK_PAGES + i,
				     region, GFP_KERNEL));
		if (rc) {
			region_forget(region, i);
			return rc;
		}
	}
	return 0;
}

static void region_publish(struct hmmrt_vram *vram, struct hmmrt_region *region)
{
	unsigned int i;

	spin_lock_irq(&vram->lock);
	for (i = 0; i < region->nr_chunks; i++) {
		struct hmmrt_chunk *chunk = &region->chunks[i];

		chunk->offset = region->offset + ((u64)i << HMMRT_CHUNK_SHIFT);
		INIT_LIST_HEAD(&chunk->charges);
		list_add_tail(&chunk->link, &vram->free);
	}
	vram->regions[vram->nr_regions] = region;
	/* Who counts them without a lock finds what it counted. */
	smp_store_release(&vram->nr_regions, vram->nr_regions + 1);
	spin_unlock_irq(&vram->lock);
}

/*
 * Give the next part of device memory struct pages. -ENOSPC when all of it has
 * them already.
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
		     region_remember(region) :
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
 * Make one more region, unless somebody did since there were @seen_regions.
 * Context: no lock held, the mmap_lock neither.
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

/* Nobody has a page of it, or looks for one. */
void hmmrt_region_destroy(struct hmmrt_region *region)
{
	unsigned int i;

	/* Then the numbers may be those of another device. */
	region_forget(region, region->nr_chunks);
	pgmap_destroy(&region->pgmap);
	for (i = 0; i < region->nr_chunks; i++) {
		kvfree(region->chunks[i].copy_of);
		kfree(region->chunks[i].failures);
	}
	kvfree(region);
}
