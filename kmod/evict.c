// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction by device address: bring a chunk of device memory home without
 * knowing whose it is. Needs no mm: it reaches pages that fork or mremap took
 * away from the space they were migrated for, and those of exited spaces.
 */
#include <linux/highmem.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "hmmrt.h"

static void evict_copy(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       unsigned long *src, unsigned long *dst,
		       struct page **pages)
{
	unsigned int i, found = 0;

	for (i = 0; i < HMMRT_CHUNK_PAGES; i++) {
		struct page *page;

		pages[i] = NULL;
		if (!migrate_pfn_to_page(src[i]) ||
		    !(src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		/* The device goes away: its only copy must find a place. */
		page = alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_NOFAIL |
				  __GFP_ZERO);
		lock_page(page);
		pages[i] = page;
		found++;
		dst[i] = migrate_pfn(page_to_pfn(page));
	}
	/* Taken and not filled yet, or all let go: nothing may be behind it. */
	if (!found)
		return;
	if (dev->ops->copy_to_host(dev, pages, chunk->offset,
				   HMMRT_CHUNK_PAGES))
		pr_err("%s: device memory at %#llx could not be read back\n",
		       dev->name, chunk->offset);
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		if (pages[i])
			folio_mark_dirty(page_folio(pages[i]));
}

/*
 * Context: process context, sleeps, no lock of ours held. Best effort: pages
 * that somebody has locked stay, the caller comes again.
 */
void hmmrt_evict_chunk(struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	unsigned long *src, *dst;
	struct page **pages;

	if (!READ_ONCE(chunk->used_pages))
		return;
	src = kvcalloc(HMMRT_CHUNK_PAGES, 3 * sizeof(*src),
		       GFP_KERNEL | __GFP_NOFAIL);
	dst = src + HMMRT_CHUNK_PAGES;
	pages = (struct page **)(dst + HMMRT_CHUNK_PAGES);

	migrate_device_range(src, hmmrt_chunk_pfn(dev, chunk),
			     HMMRT_CHUNK_PAGES);
	evict_copy(dev, chunk, src, dst, pages);
	migrate_device_pages(src, dst, HMMRT_CHUNK_PAGES);
	migrate_device_finalize(src, dst, HMMRT_CHUNK_PAGES);
	kvfree(src);
}

int hmmrt_device_evict(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i, j;

	might_sleep();
	/* Regions are added, and go with the device only. */
	for (i = 0; i < smp_load_acquire(&vram->nr_regions); i++)
		for (j = 0; j < vram->regions[i]->nr_chunks; j++)
			hmmrt_evict_chunk(dev, &vram->regions[i]->chunks[j]);
	return READ_ONCE(vram->used_pages) ? -EBUSY : 0;
}
EXPORT_SYMBOL_GPL(hmmrt_device_evict);
