// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction by device address: migrate a chunk of device memory back to system
 * memory without knowing its owner. Needs no mm, so it reaches pages that
 * fork() or mremap() took away from the space that they were migrated for, and
 * pages of spaces that have exited.
 *
 * Owners     An invalidation that arrives while a thread unmaps the pages that
 *            it evicts tells hmmrt which space the pages belong to, if a space
 *            knows them: see space_invalidate.c.
 * Home       A chunk that was allocated for one block is looked for in the page
 *            table of the process first: one walk and one invalidation unmap
 *            its pages. By device address that takes a walk over the mappings,
 *            and an invalidation, for each page.
 * Lost       A page that the device cannot read back stays there, as with any
 *            other migration. When the device goes away the page cannot stay: a
 *            page without memory replaces it (mem_lost.c), and a touch raises
 *            SIGBUS.
 * Large      A large page becomes a large page of system memory. If there is
 *            none, or if a part of it is lost, it is split first (move_split.c).
 * Memory     An eviction that frees no memory for a request (HMMRT_EVICT_ALL,
 *            HMMRT_EVICT_LOSE) allocates system memory before it locks any
 *            device page. No process is killed for it. Pages that get none
 *            stay.
 */
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "move_evict.h"

/* Allocate near the device; ignore the cpusets of owner and evictor. */
#define EVICT_GFP \
	((GFP_HIGHUSER_MOVABLE & ~__GFP_HARDWALL) | __GFP_NOWARN)

/* Allocate pages for the used pages of a chunk. No page is locked. */
static void evict_prepare(struct hmmrt_eviction *evict, int node)
{
	const gfp_t gfp = EVICT_GFP | __GFP_RETRY_MAYFAIL;
	unsigned int n = evict->entries;

	INIT_LIST_HEAD(&evict->spare);
	/* A large folio gets its copy target later. */
	if (n && folio_test_large(page_folio(pfn_to_page(evict->src[0]))))
		return;
	while (n--) {
		struct page *page = alloc_pages_node(node, gfp, 0);

		if (!page)
			return;
		list_add(&page->lru, &evict->spare);
	}
}

static struct page *evict_take_spare(struct hmmrt_eviction *evict)
{
	struct page *page = list_first_entry_or_null(&evict->spare, struct page,
						     lru);

	if (page)
		list_del_init(&page->lru);
	return page;
}

/*
 * Device pages are locked, so the allocator does not retry hard; pages
 * allocated beforehand are used first.
 */
static struct page *evict_alloc_page(struct hmmrt_eviction *evict, int node,
				     gfp_t gfp, bool huge)
{
	struct page *page;

	if (huge)
		return hmmrt_alloc_huge_page(GFP_TRANSHUGE, NULL, 0,
					     NUMA_NO_NODE);
	page = evict_take_spare(evict);
	return page ? page : alloc_pages_node(node, gfp, 0);
}

/* Returns the number of entries to copy. */
static unsigned int evict_alloc(struct hmmrt_eviction *evict, int node)
{
	unsigned int i, j, index, nr, found = 0;
	gfp_t gfp = EVICT_GFP | __GFP_NORETRY;

	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->src[i]);
		unsigned long compound = evict->src[i] & HMMRT_PFN_COMPOUND;

		if (!page || !(evict->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		index = hmmrt_page_index(page);
		nr = compound ? HMMRT_CHUNK_PAGES : 1;
		page = evict_alloc_page(evict, node, gfp, compound);
		if (!page) {
			evict->split = compound;
			/* Reclaim once: device pages are locked. */
			gfp &= ~__GFP_DIRECT_RECLAIM;
			continue;
		}
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

/* Do not copy the page at @index, nor the rest of its large page. */
static void evict_leave(struct hmmrt_eviction *evict, unsigned int index)
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

/* Count a failed read. Return whether it was the last one allowed. */
static bool was_last_try(struct hmmrt_chunk *chunk, unsigned int i)
{
	if (!chunk->failures)
		return false;
	if (chunk->failures[i] < HMMRT_LAST_TRIES)
		chunk->failures[i]++;
	return chunk->failures[i] == HMMRT_LAST_TRIES;
}

/* Replace the page at @index, or its whole large page, by a lost page. */
static bool evict_lose(struct hmmrt_eviction *evict, unsigned int index)
{
	unsigned long *dst = &evict->dst[evict->entry[index]];
	unsigned long compound = *dst & HMMRT_PFN_COMPOUND;
	struct page *lost = hmmrt_lost_page(compound);
	struct page *page = migrate_pfn_to_page(*dst);

	if (!lost)
		return false;
	*dst = migrate_pfn(page_to_pfn(lost)) | compound;
	unlock_page(page);
	put_page(page);
	if (compound)
		memset(evict->pages, 0, sizeof(evict->pages));
	else
		evict->pages[index] = NULL;
	return true;
}

/* Replace lost single pages. A page without a replacement stays for now. */
static void evict_lose_single(struct hmmrt_eviction *evict,
			      const unsigned long *lost)
{
	unsigned int i;

	for_each_set_bit(i, lost, HMMRT_CHUNK_PAGES) {
		if (evict_lose(evict, i))
			__set_bit(i, evict->gone);
		else
			evict_leave(evict, i);
	}
}

/* Only a large page that is lost as a whole stays one: others are split. */
static void evict_lose_huge(struct hmmrt_eviction *evict,
			    const unsigned long *lost)
{
	evict->split = !bitmap_full(lost, HMMRT_CHUNK_PAGES);
	if (!evict->split && evict_lose(evict, 0))
		bitmap_fill(evict->gone, HMMRT_CHUNK_PAGES);
	else
		evict_leave(evict, 0);
}

/* Sort pages that could not be read into lost pages and pages that stay. */
static void evict_unreadable(struct hmmrt_device *dev,
			     struct hmmrt_chunk *chunk,
			     struct hmmrt_eviction *evict,
			     const unsigned long *unreadable,
			     enum hmmrt_evict_mode mode)
{
	unsigned int i = find_first_bit(unreadable, HMMRT_CHUNK_PAGES);
	DECLARE_BITMAP(lost, HMMRT_CHUNK_PAGES) = {};
	bool huge = evict->dst[evict->entry[i]] & HMMRT_PFN_COMPOUND;

	pr_err_ratelimited("%s: %u pages of device memory at %#llx could not be read\n",
			   dev->name,
			   bitmap_weight(unreadable, HMMRT_CHUNK_PAGES),
			   chunk->offset);
	for_each_set_bit(i, unreadable, HMMRT_CHUNK_PAGES)
		if (mode == HMMRT_EVICT_LOSE && was_last_try(chunk, i))
			__set_bit(i, lost);
	/* If one part of a large page stays, all of it stays. */
	for_each_set_bit(i, unreadable, HMMRT_CHUNK_PAGES)
		if (!test_bit(i, lost) && evict->pages[i])
			evict_leave(evict, i);
	if (!huge)
		evict_lose_single(evict, lost);
	else if (evict->pages[0])
		evict_lose_huge(evict, lost);
}

/* Copying the whole chunk failed: find the pages that cannot be read. */
static void evict_copy_single(struct hmmrt_device *dev,
			      struct hmmrt_chunk *chunk,
			      struct hmmrt_eviction *evict,
			      enum hmmrt_evict_mode mode)
{
	DECLARE_BITMAP(unreadable, HMMRT_CHUNK_PAGES) = {};
	unsigned int i;

	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		if (evict->pages[i] &&
		    hmmrt_copy_to_host(dev, &evict->pages[i],
				       chunk->offset +
				       ((u64)i << PAGE_SHIFT),
				       1))
			__set_bit(i, unreadable);
	if (!bitmap_empty(unreadable, HMMRT_CHUNK_PAGES))
		evict_unreadable(dev, chunk, evict, unreadable, mode);
}

static void evict_copy(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       struct hmmrt_eviction *evict, enum hmmrt_evict_mode mode)
{
	unsigned int i;

	/*
	 * No entry to copy: the pages were allocated but not filled yet, or all
	 * freed. The chunk may have no memory that backs it.
	 */
	if (!evict_alloc(evict, dev->numa_node))
		return;
	if (hmmrt_copy_to_host(dev, evict->pages, chunk->offset,
			       HMMRT_CHUNK_PAGES))
		evict_copy_single(dev, chunk, evict, mode);
	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->dst[i]);

		if (page && !is_zone_device_page(page))
			folio_mark_dirty(page_folio(page));
	}
}

/*
 * The core takes a reference to a page, and then its lock. Another migration of
 * the page may end in between: then nobody maps the page, and the other thread is
 * about to drop the last reference. Since 6.12 the charge has moved on with the
 * content, and the core warns of a page that migrates without one. Older kernels
 * keep the charge until the page is freed, and migrate the empty page.
 */
static void evict_drop_migrated(struct hmmrt_eviction *evict)
{
	unsigned int i;

	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->src[i]);

		if (!page || hmmrt_page_is_charged(page))
			continue;
		evict->src[i] = 0;
		unlock_page(page);
		put_page(page);
	}
}

/* Allocate nothing between begin and end: reclaim unmaps pages too. */
static void evict_unmap(struct hmmrt_device *dev, struct hmmrt_eviction *evict,
			bool for_alloc)
{
	hmmrt_evictor_begin(&evict->evictor, dev, for_alloc);
	hmmrt_migrate_device_pfns(evict->src, evict->entries);
	hmmrt_evictor_end(&evict->evictor);
	evict_drop_migrated(evict);
}

/* --- duplicates ----------------------------------------------------------- */

/*
 * Take a reference to a block with a duplicate, and to its space. A block and a
 * space that are being freed are skipped: all of their duplicates are being
 * freed already.
 */
static bool hold_duplicated(struct hmmrt_block *block)
{
	if (!hmmrt_block_hold(block))
		return false;
	if (refcount_inc_not_zero(&block->span->space->refs))
		return true;
	hmmrt_block_put(block);
	return false;
}

/*
 * Find the next duplicate in a chunk, at or behind page *index, and with @pages
 * only among those. Returns the block that it belongs to, with the references
 * of hold_duplicated(), or NULL. A block and its space exist until no chunk
 * points to the block and a grace period of hmmrt_srcu has passed.
 */
static struct hmmrt_block *next_duplicate(struct hmmrt_device *dev,
					  const struct hmmrt_chunk *chunk,
					  const unsigned long *pages,
					  unsigned int *index)
{
	struct hmmrt_block *block = NULL;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	spin_lock_irq(&dev->vram.lock);
	for (; chunk->duplicate_of && *index < HMMRT_CHUNK_PAGES && !block;
	     (*index)++)
		if (!pages || test_bit(*index, pages)) {
			block = chunk->duplicate_of[*index];
			if (block && !hold_duplicated(block))
				block = NULL;
		}
	spin_unlock_irq(&dev->vram.lock);
	srcu_read_unlock(&hmmrt_srcu, idx);
	return block;
}

static void note_given_up(struct hmmrt_device *dev, struct hmmrt_block *block)
{
	const unsigned long *mapped = block->maps[dev->id]->mapped;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	mutex_lock(&block->lock);
	hmmrt_block_note_given_up(block, dev->id,
				  bitmap_weight(mapped, HMMRT_BLOCK_PAGES));
	mutex_unlock(&block->lock);
	srcu_read_unlock(&hmmrt_srcu, idx);
}

/*
 * Drop the duplicates in a chunk, with @pages only those among these pages.
 * Also removes all entries of the blocks that have these duplicates, on all
 * devices: they fault again.
 */
static void evict_duplicates(struct hmmrt_device *dev,
			     struct hmmrt_chunk *chunk,
			     const unsigned long *pages, bool for_alloc)
{
	struct hmmrt_block *block;
	unsigned int index = 0;

	while ((block = next_duplicate(dev, chunk, pages, &index))) {
		struct hmmrt_space *space = block->span->space;

		if (for_alloc)
			note_given_up(dev, block);
		hmmrt_span_revoke(space, block->start,
				  block->start + HMMRT_BLOCK_SIZE);
		hmmrt_block_put(block);
		hmmrt_space_put_later(space);
	}
}

/* --- chunks --------------------------------------------------------------- */

/* Migrate the unmapped pages. Returns the number of lost pages. */
static unsigned int evict_unmapped(struct hmmrt_device *dev,
				   struct hmmrt_chunk *chunk,
				   struct hmmrt_eviction *evict,
				   enum hmmrt_evict_mode mode)
{
	unsigned int i, gone = 0;
	struct page *page;

	evict_copy(dev, chunk, evict, mode);
	migrate_device_pages(evict->src, evict->dst, evict->entries);
	for_each_set_bit(i, evict->gone, HMMRT_CHUNK_PAGES)
		gone += !!(evict->src[evict->entry[i]] & MIGRATE_PFN_MIGRATE);
	migrate_device_finalize(evict->src, evict->dst, evict->entries);
	while ((page = evict_take_spare(evict)))
		put_page(page);
	return gone;
}

/* Returns the number of lost pages. */
static unsigned int evict_pages(struct hmmrt_device *dev,
				struct hmmrt_chunk *chunk,
				const unsigned long *pages,
				struct hmmrt_eviction *evict,
				enum hmmrt_evict_mode mode)
{
	memset(evict, 0, sizeof(*evict));
	evict->entries = hmmrt_chunk_used(dev, chunk, pages, evict->src);
	if (!evict->entries)
		return 0;
	if (mode == HMMRT_EVICT_FOR_ALLOC)
		INIT_LIST_HEAD(&evict->spare);
	else
		evict_prepare(evict, dev->numa_node);
	evict_unmap(dev, evict, mode == HMMRT_EVICT_FOR_ALLOC);
	return evict_unmapped(dev, chunk, evict, mode);
}

/* Return whether most pages from the first to the last one are evicted. */
static bool is_dense(const unsigned long *pages, unsigned int first,
		     unsigned int end)
{
	/* The entries in between are lost, too. */
	return bitmap_weight(pages, HMMRT_CHUNK_PAGES) * 4 >= (end - first) * 3;
}

/*
 * Map the pages again that were unmapped, but are not evicted: they have
 * another frame than the entry's page of the chunk, the first of which has
 * @pfn. Returns whether others are left.
 */
static bool evict_release(struct hmmrt_eviction *evict,
			  const unsigned long *pages, unsigned int first,
			  unsigned long pfn)
{
	bool left = false;
	unsigned int i;

	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->src[i]);
		unsigned long none = 0;

		if (!page)
			continue;
		if (test_bit(first + i, pages) &&
		    page_to_pfn(page) == pfn + first + i) {
			left = true;
			continue;
		}
		migrate_device_finalize(&evict->src[i], &none, 1);
		evict->src[i] = 0;
	}
	return left;
}

/*
 * Evict pages of a chunk that are mapped at their index in the block @home.
 * @pages: in: those to evict; out: those that are there. Returns 0 if that was
 * tried.
 */
static int evict_mapped(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
			struct mm_struct *mm, unsigned long home,
			unsigned long *pages, struct hmmrt_eviction *evict)
{
	unsigned long pfn = hmmrt_chunk_pfn(dev, chunk);
	struct migrate_vma args = {
		.vma = vma_lookup(mm, home),
		.src = evict->src,
		.dst = evict->dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = hmmrt_select_device(dev),
	};
	unsigned int first, end;
	int rc;

	if (!args.vma || args.vma->vm_end < home + HMMRT_BLOCK_SIZE ||
	    !hmmrt_vma_may_have_migratable(args.vma))
		return -ENOENT;
	hmmrt_find_mapped(args.vma, home, pfn, pages);
	first = find_first_bit(pages, HMMRT_CHUNK_PAGES);
	end = find_last_bit(pages, HMMRT_CHUNK_PAGES) + 1;
	if (first == HMMRT_CHUNK_PAGES || !is_dense(pages, first, end))
		return -ENOENT;
	args.start = home + ((unsigned long)first << PAGE_SHIFT);
	args.end = home + ((unsigned long)end << PAGE_SHIFT);
	memset(evict, 0, sizeof(*evict));
	INIT_LIST_HEAD(&evict->spare);
	hmmrt_evictor_begin(&evict->evictor, dev, true);
	hmmrt_evictor_expect(&evict->evictor, home, pages);
	rc = migrate_vma_setup(&args);
	hmmrt_evictor_end(&evict->evictor);
	if (rc)
		return rc;
	evict->entries = args.npages;
	if (args.cpages && evict_release(evict, pages, first, pfn))
		evict_unmapped(dev, chunk, evict, HMMRT_EVICT_FOR_ALLOC);
	return 0;
}

/*
 * Evict the pages that are still mapped where they were allocated for, and
 * remove them from @pages. Only tries to lock the process: a thread that has the
 * lock may wait for this eviction.
 */
static void evict_home(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       unsigned long *pages, struct hmmrt_eviction *evict)
{
	struct page *page = pfn_to_page(hmmrt_chunk_pfn(dev, chunk));
	DECLARE_BITMAP(there, HMMRT_CHUNK_PAGES);
	struct mm_struct *mm;
	unsigned long home;

	/* By frame number, a large page is unmapped as a whole. */
	if (folio_test_large(page_folio(page)))
		return;
	bitmap_copy(there, pages, HMMRT_CHUNK_PAGES);
	mm = hmmrt_chunk_home(dev, chunk, there, &home);
	if (!mm)
		return;
	/* The core needs the lock until the pages are mapped again. */
	if (mmap_read_trylock(mm)) {
		if (!evict_mapped(dev, chunk, mm, home, there, evict))
			bitmap_andnot(pages, pages, there, HMMRT_CHUNK_PAGES);
		mmap_read_unlock(mm);
	}
	mmput_async(mm);
}

/* Best effort: locked pages stay. Returns the number of lost pages. */
unsigned int hmmrt_evict_chunk(struct hmmrt_device *dev,
			       struct hmmrt_chunk *chunk,
			       const unsigned long *pages,
			       struct hmmrt_eviction *evict,
			       enum hmmrt_evict_mode mode)
{
	DECLARE_BITMAP(rest, HMMRT_CHUNK_PAGES);
	unsigned int gone;
	int rc;

	if (READ_ONCE(chunk->extent)) {
		rc = hmmrt_evict_extent(dev, chunk, mode == HMMRT_EVICT_LOSE);
		return max(rc, 0);
	}
	evict_duplicates(dev, chunk, pages, mode == HMMRT_EVICT_FOR_ALLOC);
	if (mode == HMMRT_EVICT_FOR_ALLOC) {
		VM_WARN_ON_ONCE(!chunk->reserved);
		bitmap_copy(rest, pages, HMMRT_CHUNK_PAGES);
		evict_home(dev, chunk, rest, evict);
		pages = rest;
	}
	gone = evict_pages(dev, chunk, pages, evict, mode);
	if (evict->split && hmmrt_split_chunk(dev, chunk))
		gone = evict_pages(dev, chunk, pages, evict, mode);
	return gone;
}
