// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction by device address: bring a chunk of device memory home without
 * knowing whose it is. Needs no mm: it reaches pages that fork or mremap took
 * away from the space they were migrated for, and those of exited spaces.
 *
 * Lost       A page that the device cannot give back stays there, as with any
 *            other migration. When the device goes it cannot: it is replaced by
 *            one that is poisoned, as after an error of the memory itself, and
 *            who touches it gets SIGBUS. Only where the kernel cannot do that are
 *            there zeroes for data.
 */
#include <linux/highmem.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "hmmrt.h"

/* How often others are waited for to let go of a page that has to be split. */
#define SPLIT_TRIES	50

/* By entry: a page in use, or all of the chunk as one. By index: a page of it. */
struct eviction {
	unsigned int entries;
	unsigned long src[HMMRT_CHUNK_PAGES];
	unsigned long dst[HMMRT_CHUNK_PAGES];
	u16 entry[HMMRT_CHUNK_PAGES];		/* by index */
	struct page *pages[HMMRT_CHUNK_PAGES];	/* to copy to; NULL: nothing */
	DECLARE_BITMAP(lost, HMMRT_CHUNK_PAGES);
	/* Of a huge page that is lost: what its pages are known by later. */
	const struct address_space *mapping;
	pgoff_t index;
};

/*
 * The device goes away: its only copy must find a place. A large folio cannot be
 * split here, for that takes a mapping: it stays, and is tried again, until there
 * is memory for all of it. Its device is one that holds as much.
 */
static struct page *evict_alloc_page(bool huge)
{
	if (huge)
		return hmmrt_alloc_huge_page(GFP_TRANSHUGE, NULL, 0,
					     NUMA_NO_NODE);
	return alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_NOFAIL);
}

/* Returns how many entries there are to copy. */
static unsigned int evict_alloc(struct eviction *evict)
{
	unsigned int i, j, index, nr, found = 0;

	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->src[i]);
		unsigned long compound = evict->src[i] & HMMRT_PFN_COMPOUND;

		if (!page || !(evict->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		index = hmmrt_page_index(page);
		nr = compound ? HMMRT_CHUNK_PAGES : 1;
		page = evict_alloc_page(compound);
		if (!page)
			continue;
		lock_page(page);
		for (j = 0; j < nr; j++) {
			evict->pages[index + j] = page + j;
			evict->entry[index + j] = i;
		}
		evict->dst[i] = migrate_pfn(page_to_pfn(page)) | compound;
		found++;
	}
	return found;
}

/* The page at @index, with all that it is one page with. */
static void evict_leave(struct eviction *evict, unsigned int index)
{
	unsigned int i = evict->entry[index];
	struct page *page = migrate_pfn_to_page(evict->dst[i]);

	if (evict->dst[i] & HMMRT_PFN_COMPOUND)
		memset(evict->pages, 0, sizeof(evict->pages));
	else
		evict->pages[index] = NULL;
	evict->dst[i] = 0;
	unlock_page(page);
	put_page(page);
}

/*
 * Nobody is to read it. But not zeroes: a huge page is split for poison, and in
 * that the core puts its own page of zeroes where it finds some.
 */
static void fill_lost(struct page *page)
{
	void *at = kmap_local_page(page);

	memset(at, HMMRT_MAY_POISON ? 0xff : 0, PAGE_SIZE);
	kunmap_local(at);
}

/* All at once has failed: one after the other, to know which it is. */
static void evict_copy_single(struct hmmrt_device *dev,
			      struct hmmrt_chunk *chunk,
			      struct eviction *evict, bool lose)
{
	unsigned int i, failed = 0;

	for (i = 0; i < HMMRT_CHUNK_PAGES; i++) {
		if (!evict->pages[i] ||
		    !dev->ops->copy_to_host(dev, &evict->pages[i],
					    chunk->offset +
						    ((u64)i << PAGE_SHIFT),
					    1))
			continue;
		failed++;
		if (!lose) {
			evict_leave(evict, i);
			continue;
		}
		fill_lost(evict->pages[i]);
		__set_bit(i, evict->lost);
	}
	if (failed && lose)
		pr_err("%s: %u pages of device memory at %#llx could not be read, and %s\n",
		       dev->name, failed, chunk->offset,
		       HMMRT_MAY_POISON ? "are lost" : "read as zeroes");
	else if (failed)
		pr_err_ratelimited("%s: %u pages of device memory at %#llx could not be read\n",
				   dev->name, failed, chunk->offset);
}

static void evict_copy(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       struct eviction *evict, bool lose)
{
	unsigned int i;

	/* Taken and not filled yet, or all let go: nothing may be behind it. */
	if (!evict_alloc(evict))
		return;
	if (dev->ops->copy_to_host(dev, evict->pages, chunk->offset,
				   HMMRT_CHUNK_PAGES))
		evict_copy_single(dev, chunk, evict, lose);
	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->dst[i]);

		if (page)
			folio_mark_dirty(page_folio(page));
	}
}

/*
 * What takes the place of lost pages, with a reference; not if it did not. Of a
 * huge page one is all there may be: it is split to poison a part of it, and that
 * takes that nobody else has any.
 */
static void evict_hold_lost(struct eviction *evict)
{
	unsigned int i;

	for_each_set_bit(i, evict->lost, HMMRT_CHUNK_PAGES) {
		unsigned int entry = evict->entry[i];

		if (!(evict->src[entry] & MIGRATE_PFN_MIGRATE)) {
			__clear_bit(i, evict->lost);
		} else if (!(evict->dst[entry] & HMMRT_PFN_COMPOUND)) {
			get_page(evict->pages[i]);
		} else if (!evict->mapping) {
			get_page(evict->pages[i]);
			evict->mapping = page_folio(evict->pages[i])->mapping;
			evict->index = page_folio(evict->pages[i])->index;
		}
	}
}

/*
 * A further part of a huge page, which nobody holds since that was split: it may
 * be free by now, or somebody else's.
 */
static bool evict_find_lost(const struct eviction *evict, unsigned int i)
{
	struct page *page = evict->pages[i];
	const struct folio *folio;

	if (!get_page_unless_zero(page))
		return false;
	folio = page_folio(page);
	if (folio->mapping == evict->mapping &&
	    folio->index == evict->index + i)
		return true;
	put_page(page);
	return false;
}

/* Who touches the page gets SIGBUS, if it may be; the reference is given back. */
static void poison_page(struct page *page)
{
#if HMMRT_MAY_POISON
	memory_failure(page_to_pfn(page), MF_COUNT_INCREASED);
#else
	put_page(page);
#endif
}

/* Others than us and who has it mapped: they are in the way of a split. */
static void wait_for_others(struct page *page)
{
	unsigned int try;

	for (try = 0; try < SPLIT_TRIES && hmmrt_huge_page_in_use(page); try++)
		schedule_timeout_uninterruptible(HZ / 100);
}

static void evict_poison_lost(struct hmmrt_device *dev,
			      const struct eviction *evict)
{
	bool split = false;
	unsigned int i;

	for_each_set_bit(i, evict->lost, HMMRT_CHUNK_PAGES) {
		struct page *page = evict->pages[i];

		if (split && !evict_find_lost(evict, i))
			continue;
		if (evict->mapping && !split)
			wait_for_others(page);
		poison_page(page);
		split = evict->mapping;
		if (HMMRT_MAY_POISON && PageCompound(page)) {
			pr_err("%s: a lost page is in use, and holds nothing of value\n",
			       dev->name);
			break;
		}
	}
}

/**
 * hmmrt_evict_chunk() - bring a chunk of device memory home, best effort
 * @dev: whose
 * @chunk: of it
 * @lose: what the device cannot give back goes all the same
 *
 * Pages that somebody has locked stay: the caller comes again.
 * Context: process context, sleeps, no lock of ours is taken.
 */
void hmmrt_evict_chunk(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       bool lose)
{
	struct eviction *evict;

	if (!READ_ONCE(chunk->used_pages))
		return;
	evict = kvzalloc(sizeof(*evict), GFP_KERNEL | __GFP_NOFAIL);
	evict->entries = hmmrt_chunk_used(dev, chunk, evict->src);
	hmmrt_migrate_device_pfns(evict->src, evict->entries);
	evict_copy(dev, chunk, evict, lose);
	migrate_device_pages(evict->src, evict->dst, evict->entries);
	evict_hold_lost(evict);
	migrate_device_finalize(evict->src, evict->dst, evict->entries);
	evict_poison_lost(dev, evict);
	kvfree(evict);
}

int hmmrt_device_evict(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i, j;

	might_sleep();
	/* Regions are added, and go with the device only. */
	for (i = 0; i < smp_load_acquire(&vram->nr_regions); i++)
		for (j = 0; j < vram->regions[i]->nr_chunks; j++)
			hmmrt_evict_chunk(dev, &vram->regions[i]->chunks[j],
					  false);
	return READ_ONCE(vram->used_pages) ? -EBUSY : 0;
}
EXPORT_SYMBOL_GPL(hmmrt_device_evict);
