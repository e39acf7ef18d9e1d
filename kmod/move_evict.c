// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction by device address: migrate a chunk of device memory back to system
 * memory without knowing its owner. Needs no mm, so it reaches pages that
 * fork() or mremap() took away from the space that they were migrated for, and
 * pages of spaces that have exited.
 *
 * Full       A request that finds the device full drops all locks, evicts the
 *            least recently used chunk of the accounts that policy_share.c
 *            chooses, and starts again with that chunk. The chunk is reserved,
 *            so no other request allocates from it. If nothing can be evicted
 *            after a few tries, the memory is mapped where it is. A prefetch
 *            does not evict pages that the same call has migrated.
 * Quota      A request that reaches a limit does the same, but evicts only
 *            pages charged to that limit. Pages that other accounts have in the
 *            chunk stay.
 * Ahead      If watermarks are set, a worker evicts before a request finds the
 *            device full.
 * Owners     An invalidation that arrives while a thread unmaps the pages that
 *            it evicts tells hmmrt which space the pages belong to, if a space
 *            knows them: see space_invalidate.c.
 *
 * Lost       A page that the device cannot read back stays there, as with any
 *            other migration. When the device goes away the page cannot stay: a
 *            page without memory replaces it (mem_lost.c), and a touch raises
 *            SIGBUS.
 * Large      A large page becomes a large page of system memory. If there is
 *            none, or if a part of it is lost, it is split first (move_split.c).
 * Memory     An eviction that frees no memory for a request (EVICT_ALL,
 *            EVICT_LOSE) allocates system memory before it locks any device
 *            page. No process is killed for it. Pages that get none stay. A
 *            device that goes away has its pages tried again, for a while: see
 *            hmmrt_evict_all().
 */
#include <linux/jiffies.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "move.h"
#include "trace.h"

/* Chunks in a row that may turn out busy before hmmrt_evict_excess() ends. */
#define EXCESS_FAILURES	64
/* Failed reads before a page is lost, when its device goes away. */
#define LAST_TRIES	3

/* Nothing is lost if it gives up, so that it need not wait for so long. */
#define LEAVE_WAIT_COHERENT	5u

static unsigned int leave_wait = 30;
module_param(leave_wait, uint, 0644);
MODULE_PARM_DESC(leave_wait,
		 "seconds without progress after which the removal of a device leaves pages that are in use, or for which there is no system memory (default 30); of a coherent device 5 at most");

static bool oversubscription = true;
module_param(oversubscription, bool, 0644);
MODULE_PARM_DESC(oversubscription,
		 "evict the least recently used memory of a full device; if N, memory that does not fit on the device is mapped where it is (default Y)");

/* The treatment of pages that get no memory or cannot be copied. */
enum evict_mode {
	EVICT_FOR_ALLOC, /* they stay; another request wants their memory */
	EVICT_ALL,	/* reclaim memory; unreadable pages stay */
	EVICT_LOSE,	/* also drop pages unreadable LAST_TRIES times */
};

/*
 * State of one eviction. src[] and dst[] are indexed by entry: a used page, or
 * the whole chunk if it is one large folio. All other arrays and bitmaps are
 * indexed by page of the chunk.
 */
struct hmmrt_eviction {
	unsigned int entries;
	unsigned long src[HMMRT_CHUNK_PAGES];
	unsigned long dst[HMMRT_CHUNK_PAGES];
	u16 entry[HMMRT_CHUNK_PAGES];		/* page to its entry */
	struct page *pages[HMMRT_CHUNK_PAGES];	/* copy targets, or NULL */
	struct list_head spare;		/* copy targets not used yet */
	bool split;			/* the large page must be split */
	/* Replaced, see mem_lost.c. */
	DECLARE_BITMAP(gone, HMMRT_CHUNK_PAGES);
	struct hmmrt_evictor evictor;
};

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

static void evict_free_spare(struct hmmrt_eviction *evict)
{
	struct page *page;

	while ((page = evict_take_spare(evict)))
		put_page(page);
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
	if (chunk->failures[i] < LAST_TRIES)
		chunk->failures[i]++;
	return chunk->failures[i] == LAST_TRIES;
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
			     enum evict_mode mode)
{
	unsigned int i = find_first_bit(unreadable, HMMRT_CHUNK_PAGES);
	DECLARE_BITMAP(lost, HMMRT_CHUNK_PAGES) = {};
	bool huge = evict->dst[evict->entry[i]] & HMMRT_PFN_COMPOUND;

	pr_err_ratelimited("%s: %u pages of device memory at %#llx could not be read\n",
			   dev->name,
			   bitmap_weight(unreadable, HMMRT_CHUNK_PAGES),
			   chunk->offset);
	for_each_set_bit(i, unreadable, HMMRT_CHUNK_PAGES)
		if (mode == EVICT_LOSE && was_last_try(chunk, i))
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
			      struct hmmrt_eviction *evict, enum evict_mode mode)
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
		       struct hmmrt_eviction *evict, enum evict_mode mode)
{
	unsigned int i;

	/*
	 * No entry to copy: the pages were allocated but not filled yet, or all
	 * freed. The chunk may have no memory behind it.
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

/* Count the device pages that did migrate to a lost page. */
static unsigned int evict_count_gone(const struct hmmrt_eviction *evict)
{
	unsigned int i, n = 0;

	for_each_set_bit(i, evict->gone, HMMRT_CHUNK_PAGES)
		n += !!(evict->src[evict->entry[i]] & MIGRATE_PFN_MIGRATE);
	return n;
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

/* --- chunks --------------------------------------------------------------- */

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

/* Returns the number of lost pages. */
static unsigned int evict_pages(struct hmmrt_device *dev,
				struct hmmrt_chunk *chunk,
				const unsigned long *pages,
				struct hmmrt_eviction *evict, enum evict_mode mode)
{
	unsigned int gone;

	memset(evict, 0, sizeof(*evict));
	evict->entries = hmmrt_chunk_used(dev, chunk, pages, evict->src);
	if (mode == EVICT_FOR_ALLOC)
		INIT_LIST_HEAD(&evict->spare);
	else
		evict_prepare(evict, dev->numa_node);
	evict_unmap(dev, evict, mode == EVICT_FOR_ALLOC);
	evict_copy(dev, chunk, evict, mode);
	migrate_device_pages(evict->src, evict->dst, evict->entries);
	gone = evict_count_gone(evict);
	migrate_device_finalize(evict->src, evict->dst, evict->entries);
	evict_free_spare(evict);
	return gone;
}

/* Best effort: locked pages stay. Returns the number of lost pages. */
static unsigned int evict_chunk(struct hmmrt_device *dev,
				struct hmmrt_chunk *chunk,
				const unsigned long *pages,
				struct hmmrt_eviction *evict, enum evict_mode mode)
{
	unsigned int gone;
	int rc;

	if (READ_ONCE(chunk->extent)) {
		rc = hmmrt_evict_extent(dev, chunk, mode == EVICT_LOSE);
		return max(rc, 0);
	}
	evict_duplicates(dev, chunk, pages, mode == EVICT_FOR_ALLOC);
	VM_WARN_ON_ONCE(mode == EVICT_FOR_ALLOC && !chunk->reserved);
	gone = evict_pages(dev, chunk, pages, evict, mode);
	if (evict->split && hmmrt_split_chunk(dev, chunk))
		gone = evict_pages(dev, chunk, pages, evict, mode);
	return gone;
}

/* Prepare a chunk to lose pages. If memory is short, they stay for now. */
static void prepare_to_lose(struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	int rc = 0;

	if (!chunk->failures)
		chunk->failures = kcalloc(HMMRT_CHUNK_PAGES,
					  sizeof(chunk->failures[0]),
					  GFP_KERNEL | __GFP_RETRY_MAYFAIL |
						  __GFP_NOWARN);
	else if (memchr_inv(chunk->failures, 0, HMMRT_CHUNK_PAGES))
		rc = hmmrt_lost_prepare();
	if (rc)
		pr_err_ratelimited("%s: no struct pages for lost pages: %d\n",
				   dev->name, rc);
}

/*
 * Migrate all of a chunk to system memory, best effort. Locked pages stay, and
 * pages that get no memory; the caller must try again. With @lose, drop pages
 * that could not be read in LAST_TRIES such calls; only between
 * hmmrt_lost_begin() and _end(). Sleeps; no other hmmrt lock is held.
 */
static void evict_whole_chunk(struct hmmrt_device *dev,
			      struct hmmrt_chunk *chunk, bool lose)
{
	struct hmmrt_eviction *evict = dev->vram.eviction;
	unsigned int gone;

	lockdep_assert_held(&dev->vram.evicting);
	if (!READ_ONCE(chunk->used_pages))
		return;
	if (lose)
		prepare_to_lose(dev, chunk);
	gone = evict_chunk(dev, chunk, NULL, evict,
			   lose ? EVICT_LOSE : EVICT_ALL);
	if (lose)
		dev->vram.lost_pages += gone;
}

/* --- one chunk by claim --------------------------------------------------- */

bool hmmrt_may_oversubscribe(const struct hmmrt_device *dev)
{
	return READ_ONCE(oversubscription) &&
	       hmmrt_device_knob(dev, HMMRT_KNOB_OVERSUBSCRIPTION);
}

/* Allocate the state of an eviction; free it with kvfree(). */
struct hmmrt_eviction *hmmrt_eviction_alloc(void)
{
	return kvmalloc(sizeof(struct hmmrt_eviction),
			GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

/**
 * hmmrt_evict_one() - evict one chunk
 * @dev: device of the chunk
 * @claim: which chunks may be evicted
 * @evict: scratch state, of hmmrt_eviction_alloc()
 * @source: events of the space that needs the memory, or NULL
 *
 * Context: process context, sleeps, no lock is held.
 * Return: the chunk, reserved, if some of it was freed; or an ERR_PTR: -ENOENT
 * no chunk can be evicted; -EBUSY none at the moment; -EAGAIN another chunk or
 * another try may succeed.
 */
struct hmmrt_chunk *hmmrt_evict_one(struct hmmrt_device *dev,
				    const struct hmmrt_claim *claim,
				    struct hmmrt_eviction *evict,
				    const struct hmmrt_event_source *source)
{
	unsigned long pages[BITS_TO_LONGS(HMMRT_CHUNK_PAGES)];
	struct hmmrt_episode episode;
	struct hmmrt_claim_cost cost;
	struct hmmrt_chunk *chunk;
	unsigned int gone;

	chunk = hmmrt_vram_reserve(dev, claim, pages, &cost);
	trace_hmmrt_claim(dev->id, READ_ONCE(dev->vram.nr_charged), &cost,
			  PTR_ERR_OR_ZERO(chunk));
	if (IS_ERR(chunk))
		return chunk;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_ALLOCATE);
	episode.apart = true;
	evict_chunk(dev, chunk, pages, evict, EVICT_FOR_ALLOC);
	gone = bitmap_weight(pages, HMMRT_CHUNK_PAGES) -
	       hmmrt_chunk_used(dev, chunk, pages, evict->src);
	if (gone)
		hmmrt_episode_end(&episode, source,
				  .type = HMMRT_EVENT_EVICTION,
				  .device = dev->id, .addr = chunk->offset,
				  .pages = gone);
	else
		hmmrt_episode_cancel(&episode);
	if (claim->within && gone)
		hmmrt_account_evicted(claim->within, gone);
	hmmrt_claim_end(&dev->vram, chunk, pages, !gone);
	if (gone) {
		atomic_long_inc(&dev->vram.evictions);
		return chunk;
	}
	hmmrt_vram_unreserve(dev, chunk);
	return ERR_PTR(-EAGAIN);
}

/**
 * hmmrt_evict_excess() - evict pages beyond an account's limit, best effort
 * @account: the caller holds a reference
 * @going: flag of the binding that the call holds, or NULL; when it is set,
 *	hmmrt_unbind() waits for this call
 *
 * Context: process context, sleeps, no lock is held.
 * Return: 0, whatever was evicted; -EINTR; -ENODEV if *@going was set.
 */
int hmmrt_evict_excess(struct hmmrt_account *account, const bool *going)
{
	const struct hmmrt_claim claim = {
		.within = account,
		.before = U64_MAX,
	};
	struct hmmrt_eviction *evict;
	unsigned int failed = 0;
	bool gone = false;

	might_sleep();
	if (!hmmrt_account_excess(account))
		return 0;
	evict = hmmrt_eviction_alloc();
	if (!evict)
		return 0;
	hmmrt_age(account->dev);
	/* Each round frees a page at least, or finds a busy chunk. */
	while (failed < EXCESS_FAILURES && hmmrt_account_excess(account) &&
	       !gone && !READ_ONCE(account->dev->going) &&
	       !fatal_signal_pending(current)) {
		struct hmmrt_chunk *chunk =
			hmmrt_evict_one(account->dev, &claim, evict, NULL);

		if (!IS_ERR(chunk))
			hmmrt_vram_unreserve(account->dev, chunk);
		else if (PTR_ERR(chunk) != -EAGAIN)
			break;
		failed = IS_ERR(chunk) ? failed + 1 : 0;
		gone = going && READ_ONCE(*going);
		cond_resched();
	}
	kvfree(evict);
	if (gone)
		return -ENODEV;
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* --- watermarks ----------------------------------------------------------- */

/*
 * Return whether less memory is free than the knob says, of the memory that can
 * be evicted: pinned objects stay. 0 disables it.
 */
static bool is_below(const struct hmmrt_device *dev, enum hmmrt_knob_id knob)
{
	const struct hmmrt_vram *vram = &dev->vram;
	unsigned long pinned = READ_ONCE(vram->pinned_pages);
	unsigned long used = READ_ONCE(vram->used_pages);

	return hmmrt_policy_is_below((vram->size >> PAGE_SHIFT) - pinned,
				     used - min(used, pinned),
				     hmmrt_device_knob(dev, knob));
}

/*
 * Does not wait for busy pages: the next allocation that finds too little free
 * memory queues the work again.
 */
static void evict_ahead(struct work_struct *work)
{
	struct hmmrt_vram *vram =
		container_of(work, struct hmmrt_vram, evict_ahead);
	struct hmmrt_device *dev = container_of(vram, struct hmmrt_device, vram);
	const struct hmmrt_claim claim = { .before = U64_MAX };
	struct hmmrt_chunk *chunk;
	struct hmmrt_eviction *evict;

	evict = hmmrt_eviction_alloc();
	if (!evict)
		return;
	while (!READ_ONCE(dev->going) && hmmrt_may_oversubscribe(dev) &&
	       (is_below(dev, HMMRT_KNOB_EVICT_LOW_WATERMARK) ||
		is_below(dev, HMMRT_KNOB_EVICT_HIGH_WATERMARK))) {
		hmmrt_age(dev);
		chunk = hmmrt_evict_one(dev, &claim, evict, NULL);
		if (IS_ERR(chunk))
			break;
		hmmrt_vram_unreserve(dev, chunk);
		atomic_long_inc(&vram->evictions_ahead);
		cond_resched();
	}
	kvfree(evict);
}

/*
 * Returns 0 or -ENOMEM. What evictions of all memory need is allocated here:
 * the end of a device cannot fail.
 */
int hmmrt_evict_init(struct hmmrt_device *dev)
{
	INIT_WORK(&dev->vram.evict_ahead, evict_ahead);
	mutex_init(&dev->vram.evicting);
	dev->vram.eviction = kvmalloc(sizeof(*dev->vram.eviction), GFP_KERNEL);
	return dev->vram.eviction ? 0 : -ENOMEM;
}

void hmmrt_evict_exit(struct hmmrt_device *dev)
{
	kvfree(dev->vram.eviction);
	mutex_destroy(&dev->vram.evicting);
}

/* No thread allocates memory of the device any more. */
void hmmrt_evict_ahead_stop(struct hmmrt_device *dev)
{
	cancel_work_sync(&dev->vram.evict_ahead);
}

/**
 * hmmrt_evict_ahead() - start eviction if free memory is below the watermark
 * @dev: device from which memory was just allocated
 *
 * Context: any.
 */
void hmmrt_evict_ahead(struct hmmrt_device *dev)
{
	if (is_below(dev, HMMRT_KNOB_EVICT_LOW_WATERMARK) &&
	    hmmrt_may_oversubscribe(dev))
		queue_work(hmmrt_wq, &dev->vram.evict_ahead);
}

static int evict_regions(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i, j;

	/* Regions go with the device only. Pairs with region_publish(). */
	for (i = 0; i < smp_load_acquire(&vram->nr_regions); i++) {
		for (j = 0; j < vram->regions[i]->nr_chunks; j++) {
			if (fatal_signal_pending(current))
				return -EINTR;
			evict_whole_chunk(dev, &vram->regions[i]->chunks[j],
					  false);
			cond_resched();
		}
	}
	return READ_ONCE(vram->used_pages) ? -EBUSY : 0;
}

int hmmrt_device_evict(struct hmmrt_device *dev)
{
	int rc;

	might_sleep();
	if (mutex_lock_killable(&dev->vram.evicting))
		return -EINTR;
	rc = evict_regions(dev);
	mutex_unlock(&dev->vram.evicting);
	return rc;
}
EXPORT_SYMBOL_GPL(hmmrt_device_evict);

/* --- the end of a device -------------------------------------------------- */

/*
 * Try each page of a device that goes away once. Pages that leave by themselves
 * don't count, or a program could go on for ever. Context: between
 * hmmrt_lost_begin() and _end(). Sets *since to the time of the last page that
 * was moved; returns false once that is longer ago than @limit.
 */
static bool evict_pass(struct hmmrt_device *dev, unsigned long *since,
		       unsigned long limit)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i, j, before;
	bool goes_on = true;

	mutex_lock(&vram->evicting);
	for (i = 0; goes_on && i < vram->nr_regions; i++) {
		struct hmmrt_region *region = vram->regions[i];

		for (j = 0; goes_on && j < region->nr_chunks; j++) {
			struct hmmrt_chunk *chunk = &region->chunks[j];

			before = READ_ONCE(chunk->used_pages);
			evict_whole_chunk(dev, chunk, true);
			if (READ_ONCE(chunk->used_pages) < before)
				*since = jiffies;
			goes_on = !time_after(jiffies, *since + limit);
			cond_resched();
		}
	}
	mutex_unlock(&vram->evicting);
	return goes_on;
}

/**
 * hmmrt_evict_again() - try each page of an orphan once more
 * @dev: hmmrt_evict_all() has failed for it
 *
 * Like there, pinned objects move, and unreadable pages are lost.
 * Context: sleeps, no lock is held.
 * Return: whether all pages are gone.
 */
bool hmmrt_evict_again(struct hmmrt_device *dev)
{
	unsigned long since = jiffies;

	hmmrt_lost_begin();
	evict_pass(dev, &since, HZ);
	hmmrt_lost_end();
	return !READ_ONCE(dev->vram.used_pages);
}

/* How long a removal goes on while it moves no page. */
static unsigned long leave_limit(const struct hmmrt_device *dev)
{
	unsigned int seconds = READ_ONCE(leave_wait);

	if (hmmrt_device_is_coherent(dev))
		seconds = min(seconds, LEAVE_WAIT_COHERENT);
	return (unsigned long)seconds * HZ;
}

/**
 * hmmrt_evict_all() - migrate every page of a device that goes away back
 * @dev: nothing but page tables and memory objects uses its memory
 *
 * A page that is busy, or for which there is no system memory, is tried again,
 * and a page that the device fails to give back several times is lost.
 * Context: sleeps, no lock is held. Waits for drivers and for reclaim, but for
 * no program and no free memory.
 * Return: whether all pages are gone. If not, none could be moved for a while.
 */
bool hmmrt_evict_all(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned long since = jiffies;

	hmmrt_lost_begin();
	while (READ_ONCE(vram->used_pages) &&
	       evict_pass(dev, &since, leave_limit(dev))) {
		if (!READ_ONCE(vram->used_pages))
			break;
		pr_info_ratelimited("%s: %lu pages in use, trying again\n",
				    dev->name, READ_ONCE(vram->used_pages));
		schedule_timeout_uninterruptible(HZ / 10);
	}
	hmmrt_lost_end();
	if (vram->lost_pages)
		pr_err("%s: %lu pages of device memory could not be read, and are lost\n",
		       dev->name, vram->lost_pages);
	return !READ_ONCE(vram->used_pages);
}

/**
 * hmmrt_evict_abandon() - give memory that is in use back to the driver
 * @dev: an orphan without coherent memory; no copy of the driver is running
 * @depopulate: the driver's
 *
 * Only struct pages are left. What is mapped directly, and not by an entry that
 * faults, is a memory object: it loses all entries, and since the device's ops
 * are those of an orphan, it gets none there any more.
 * Context: sleeps, no lock is held.
 */
void hmmrt_evict_abandon(struct hmmrt_device *dev,
			 void (*depopulate)(struct hmmrt_device *dev, u64 offset))
{
	unsigned int i, j;

	for (i = 0; i < dev->vram.nr_regions; i++) {
		struct hmmrt_region *region = dev->vram.regions[i];

		for (j = 0; j < region->nr_chunks; j++) {
			struct hmmrt_chunk *chunk = &region->chunks[j];

			hmmrt_extent_cut(dev, chunk);
			if (chunk->abandoned)
				depopulate(dev, chunk->offset);
			chunk->abandoned = false;
			cond_resched();
		}
	}
}
