// SPDX-License-Identifier: GPL-2.0-only
/*
 * Struct pages of device memory: the device, the region and the chunk that a
 * page belongs to.
 *
 * Model      A page is looked up by its frame number divided by the pages per
 *            chunk. Regions begin at a multiple of that.
 * Locking    Lookups take no lock. A region is added before a page of it is
 *            allocated, and stays until the device is removed.
 */
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/xarray.h>

#include "mem.h"

/*
 * These are defined here because all files above use them; hmmrt.h says
 * what they protect.
 */
DEFINE_MUTEX(hmmrt_roles_lock);
DEFINE_SRCU(hmmrt_srcu);
struct workqueue_struct *hmmrt_wq;

/*
 * All devices share an owner: hmm_range_fault() spins on pages of other owners.
 */
static int hmmrt_owner;

void *hmmrt_pgmap_owner(void)
{
	return &hmmrt_owner;
}

/* struct hmmrt_region, by pfn / HMMRT_CHUNK_PAGES. */
static DEFINE_XARRAY(regions_by_pfn);

void hmmrt_region_forget(const struct hmmrt_region *region, unsigned int n)
{
	while (n--)
		xa_erase(&regions_by_pfn,
			 region->first_pfn / HMMRT_CHUNK_PAGES + n);
}

/* Call before any page of the region is allocated. */
int hmmrt_region_remember(struct hmmrt_region *region)
{
	unsigned int i;
	int rc;

	for (i = 0; i < region->nr_chunks; i++) {
		rc = xa_err(xa_store(&regions_by_pfn,
				     region->first_pfn / HMMRT_CHUNK_PAGES + i,
				     region, GFP_KERNEL));
		if (rc) {
			hmmrt_region_forget(region, i);
			return rc;
		}
	}
	return 0;
}

/*
 * Looks up by page frame number, because the struct page of a page without a
 * reference is not stable: the core keeps the compound head and the pgmap in
 * one word, and rewrites that word when it makes and splits large pages.
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

/* Like hmmrt_page_device(), for many pages: looks up each chunk only once. */
struct hmmrt_device *hmmrt_region_cache_device(struct hmmrt_region_cache *cache,
					       const struct page *page)
{
	unsigned long number = page_to_pfn(page) / HMMRT_CHUNK_PAGES;

	if (!is_zone_device_page(page))
		return NULL;
	if (cache->number != number) {
		cache->number = number;
		cache->region = hmmrt_page_region(page);
	}
	return cache->region ? cache->region->dev : NULL;
}

/* Returns true if the page is on a device, where the CPU cannot reach it. */
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

/* The page must be on a device of hmmrt. */
struct dev_pagemap *hmmrt_page_pgmap(const struct page *page)
{
	return &hmmrt_page_region(page)->pgmap;
}

/* Returns true if the CPU and other devices can map the device's memory. */
bool hmmrt_device_is_coherent(const struct hmmrt_device *dev)
{
	return dev->flags & HMMRT_DEVICE_COHERENT;
}

/* The flag that makes migrate_vma_setup() select pages that are on @dev. */
unsigned long hmmrt_select_device(const struct hmmrt_device *dev)
{
	return hmmrt_device_is_coherent(dev) ?
		       MIGRATE_VMA_SELECT_DEVICE_COHERENT :
		       MIGRATE_VMA_SELECT_DEVICE_PRIVATE;
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

/* The offset of the page that hmmrt_region_cache_device() looked up last. */
u64 hmmrt_region_cache_offset(const struct hmmrt_region_cache *cache,
			      const struct page *page)
{
	return region_page_offset(cache->region, page);
}

struct hmmrt_chunk *hmmrt_region_chunk(struct hmmrt_region *region,
				       const struct page *page)
{
	unsigned long index = (page_to_pfn(page) - region->first_pfn) /
			      HMMRT_CHUNK_PAGES;

	VM_WARN_ON_ONCE(index >= region->nr_chunks);
	return &region->chunks[index];
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

	VM_WARN_ON_ONCE(chunk < region->chunks ||
			chunk >= region->chunks + region->nr_chunks);
	return region->first_pfn +
	       ((chunk->offset - region->offset) >> PAGE_SHIFT);
}
