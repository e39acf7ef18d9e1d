// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction by device address: bring a chunk of device memory home without
 * knowing whose it is. Needs no mm: it reaches pages that fork or mremap took
 * away from the space they were migrated for, and those of exited spaces.
 *
 * Room       Who finds a device full lets go of all locks, has the chunk evicted
 *            that was used longest ago, of those whose turn it is, and begins anew with
 *            that chunk in hand: it is reserved, so nobody else takes it meanwhile. If
 *            nothing can be evicted, after a few tries, the memory is mapped where
 *            it is. A prefetch evicts nothing that the same call has brought.
 * Quota      Who has reached a limit does the same with what is charged to that limit,
 *            and only with that: of a chunk that others have pages in, theirs stay.
 * Ahead      Where watermarks are set, a worker does the same before anybody finds
 *            the device full.
 * Whose      An invalidation that comes while a thread unmaps what it evicts says
 *            to whom the pages belong, if a space knows them: see invalidate.c.
 *
 * Lost       A page that the device cannot give back stays there, as with any
 *            other migration. When the device goes it cannot: a page without
 *            memory takes its place (lost.c), and a touch of that is SIGBUS. Of
 *            a large page of which some can be read, that comes home, and the rest
 *            is poisoned, as after an error of the memory itself; only where the
 *            kernel cannot do that are there zeroes for data.
 * Memory     For what is to come home without being asked for, pages are taken
 *            before any page of the device is locked. Without some, the rest stays:
 *            a device that goes has its pages tried again.
 */
#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include "hmmrt.h"
#include "trace.h"

/* How often others are waited for to let go of a page that has to be split. */
#define SPLIT_TRIES	50
/* Chunks in which all is busy, before a device is as good as full. */
#define ROOM_TRIES	4
/* The same for who has time to look further. */
#define EXCESS_FAILURES	64
/* How often a device that goes is asked for a page that it does not give back. */
#define LAST_TRIES	3
/* Chunks for one request: each may have given little. */
#define ROOM_MAX	8

static bool oversubscription = true;
module_param(oversubscription, bool, 0644);
MODULE_PARM_DESC(oversubscription,
		 "devices that are full evict what was used longest ago; otherwise memory that they find no room for is mapped where it is (default Y)");

/* What becomes of pages for which there is no memory, or no copy. */
enum evict_mode {
	EVICT_ROOM,	/* they stay: somebody wants their place */
	EVICT_ALL,	/* memory is waited for; what cannot be read stays */
	EVICT_LOSE,	/* what could not be read LAST_TRIES times goes as well */
};

/* By entry: a page in use, or all of the chunk as one. By index: a page of it. */
struct eviction {
	unsigned int entries;
	unsigned long src[HMMRT_CHUNK_PAGES];
	unsigned long dst[HMMRT_CHUNK_PAGES];
	u16 entry[HMMRT_CHUNK_PAGES];		/* by index */
	struct page *pages[HMMRT_CHUNK_PAGES];	/* to copy to; NULL: nothing */
	struct list_head spare;		/* pages to copy to, that are not used yet */
	DECLARE_BITMAP(gone, HMMRT_CHUNK_PAGES);	/* replaced: see lost.c */
	/* Parts of a huge page that are lost, and what they are known by later. */
	DECLARE_BITMAP(lost, HMMRT_CHUNK_PAGES);
	const struct address_space *mapping;
	pgoff_t index;
	struct hmmrt_evictor evictor;
};

/* Allocate near the device; ignore the cpusets of owner and evictor. */
#define EVICT_GFP	(GFP_HIGHUSER_MOVABLE & ~__GFP_HARDWALL)

/* Pages for what is in use of a chunk, as far as there are some. No page is locked. */
static void evict_prepare(struct eviction *evict, int node)
{
	unsigned int n = evict->entries;

	INIT_LIST_HEAD(&evict->spare);
	/* One that is large takes one of its own, later. */
	if (n && folio_test_large(page_folio(pfn_to_page(evict->src[0]))))
		return;
	while (n--) {
		struct page *page = alloc_pages_node(node, EVICT_GFP, 0);

		if (!page)
			return;
		list_add(&page->lru, &evict->spare);
	}
}

static struct page *evict_take_spare(struct eviction *evict)
{
	struct page *page = list_first_entry_or_null(&evict->spare, struct page,
						     lru);

	if (page)
		list_del_init(&page->lru);
	return page;
}

static void evict_free_spare(struct eviction *evict)
{
	struct page *page;

	while ((page = evict_take_spare(evict)))
		put_page(page);
}

/*
 * Pages of the device are locked: memory is not waited for, but what was got before that
 * comes first. A large folio cannot be split here, for that takes a mapping: it stays,
 * and is tried again, until there is memory for all of it. Its device is one that holds
 * as much.
 */
static struct page *evict_alloc_page(struct eviction *evict, int node,
				     bool huge)
{
	struct page *page;

	if (huge)
		return hmmrt_alloc_huge_page(GFP_TRANSHUGE, NULL, 0,
					     NUMA_NO_NODE);
	page = evict_take_spare(evict);
	return page ? page :
		      alloc_pages_node(node,
				       EVICT_GFP | __GFP_NORETRY | __GFP_NOWARN,
				       0);
}

/* Returns how many entries there are to copy. */
static unsigned int evict_alloc(struct eviction *evict, int node)
{
	unsigned int i, j, index, nr, found = 0;

	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->src[i]);
		unsigned long compound = evict->src[i] & HMMRT_PFN_COMPOUND;

		if (!page || !(evict->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		index = hmmrt_page_index(page);
		nr = compound ? HMMRT_CHUNK_PAGES : 1;
		page = evict_alloc_page(evict, node, compound);
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

/* Whether a page that could not be read just now was asked for often enough. */
static bool was_last_try(struct hmmrt_chunk *chunk, unsigned int i)
{
	if (!chunk->failures)
		return false;
	if (chunk->failures[i] < LAST_TRIES)
		chunk->failures[i]++;
	return chunk->failures[i] == LAST_TRIES;
}

/* A page without memory takes the place of @index, or all of that if it is large. */
static bool evict_lose(struct eviction *evict, unsigned int index)
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

/* What is to be lost, of single pages. It stays for now where that cannot be. */
static void evict_lose_single(struct eviction *evict,
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

/* The same of a huge page. What can be read of it is not lost. */
static void evict_lose_huge(struct hmmrt_device *dev, struct eviction *evict,
			    const unsigned long *lost)
{
	unsigned int i, n = bitmap_weight(lost, HMMRT_CHUNK_PAGES);

	if (n == HMMRT_CHUNK_PAGES) {
		if (evict_lose(evict, 0))
			bitmap_fill(evict->gone, HMMRT_CHUNK_PAGES);
		else
			evict_leave(evict, 0);
		return;
	}
	bitmap_copy(evict->lost, lost, HMMRT_CHUNK_PAGES);
	for_each_set_bit(i, lost, HMMRT_CHUNK_PAGES)
		fill_lost(evict->pages[i]);
	pr_err_ratelimited("%s: %u pages of a large one could not be read, and %s\n",
			   dev->name, n,
			   HMMRT_MAY_POISON ? "are lost" : "read as zeroes");
}

/* Pages that could not be read: some are to be lost, the others stay. */
static void evict_unreadable(struct hmmrt_device *dev,
			     struct hmmrt_chunk *chunk,
			     struct eviction *evict,
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
	/* With one part of a large page all of it stays. */
	for_each_set_bit(i, unreadable, HMMRT_CHUNK_PAGES)
		if (!test_bit(i, lost) && evict->pages[i])
			evict_leave(evict, i);
	if (!huge)
		evict_lose_single(evict, lost);
	else if (evict->pages[0] && !bitmap_empty(lost, HMMRT_CHUNK_PAGES))
		evict_lose_huge(dev, evict, lost);
}

/* All at once has failed: one after the other, to know which it is. */
static void evict_copy_single(struct hmmrt_device *dev,
			      struct hmmrt_chunk *chunk,
			      struct eviction *evict, enum evict_mode mode)
{
	DECLARE_BITMAP(unreadable, HMMRT_CHUNK_PAGES) = {};
	unsigned int i;

	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		if (evict->pages[i] &&
		    dev->ops->copy_to_host(dev, &evict->pages[i],
					   chunk->offset +
						   ((u64)i << PAGE_SHIFT),
					   1))
			__set_bit(i, unreadable);
	if (!bitmap_empty(unreadable, HMMRT_CHUNK_PAGES))
		evict_unreadable(dev, chunk, evict, unreadable, mode);
}

static void evict_copy(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       struct eviction *evict, enum evict_mode mode)
{
	unsigned int i;

	/* Taken and not filled yet, or all let go: nothing may be behind it. */
	if (!evict_alloc(evict, dev->numa_node))
		return;
	if (dev->ops->copy_to_host(dev, evict->pages, chunk->offset,
				   HMMRT_CHUNK_PAGES))
		evict_copy_single(dev, chunk, evict, mode);
	for (i = 0; i < evict->entries; i++) {
		struct page *page = migrate_pfn_to_page(evict->dst[i]);

		if (page && !is_zone_device_page(page))
			folio_mark_dirty(page_folio(page));
	}
}

/* How many pages lost.c has got of the device: those of which the place was taken. */
static unsigned int evict_count_gone(const struct eviction *evict)
{
	unsigned int i, n = 0;

	for_each_set_bit(i, evict->gone, HMMRT_CHUNK_PAGES)
		n += !!(evict->src[evict->entry[i]] & MIGRATE_PFN_MIGRATE);
	return n;
}

/*
 * What takes the place of a huge page that is lost in part, with a reference; not if it
 * did not. One is all there may be: the page is split to poison a part of it, and that
 * takes that nobody else has any.
 */
static void evict_hold_lost(struct eviction *evict)
{
	unsigned int i = find_first_bit(evict->lost, HMMRT_CHUNK_PAGES);
	const struct folio *folio;

	if (i == HMMRT_CHUNK_PAGES)
		return;
	if (!(evict->src[evict->entry[i]] & MIGRATE_PFN_MIGRATE)) {
		bitmap_zero(evict->lost, HMMRT_CHUNK_PAGES);
		return;
	}
	get_page(evict->pages[i]);
	folio = page_folio(evict->pages[i]);
	evict->mapping = folio->mapping;
	evict->index = folio->index;
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
		if (!split)
			wait_for_others(page);
		poison_page(page);
		split = true;
		if (HMMRT_MAY_POISON && PageCompound(page)) {
			pr_err("%s: a lost page is in use, and holds nothing of value\n",
			       dev->name);
			break;
		}
	}
}

/* Nothing is allocated meanwhile: reclaim unmaps, too. */
static void evict_unmap(struct hmmrt_device *dev, struct eviction *evict,
			bool room)
{
	hmmrt_evictor_begin(&evict->evictor, dev, room);
	hmmrt_migrate_device_pfns(evict->src, evict->entries);
	hmmrt_evictor_end(&evict->evictor);
}

/* --- chunks ------------------------------------------------------------------- */

/* Best effort: pages that are locked stay. Returns how many were lost. */
static unsigned int evict_chunk(struct hmmrt_device *dev,
				struct hmmrt_chunk *chunk,
				const unsigned long *pages,
				struct eviction *evict, enum evict_mode mode)
{
	unsigned int gone;

	hmmrt_copies_evict(dev, chunk, pages, mode == EVICT_ROOM);
	evict->entries = hmmrt_chunk_used(dev, chunk, pages, evict->src);
	if (mode == EVICT_ROOM)
		INIT_LIST_HEAD(&evict->spare);
	else
		evict_prepare(evict, dev->numa_node);
	evict_unmap(dev, evict, mode == EVICT_ROOM);
	evict_copy(dev, chunk, evict, mode);
	migrate_device_pages(evict->src, evict->dst, evict->entries);
	gone = evict_count_gone(evict);
	evict_hold_lost(evict);
	migrate_device_finalize(evict->src, evict->dst, evict->entries);
	evict_poison_lost(dev, evict);
	evict_free_spare(evict);
	return gone;
}

/* Before a chunk may lose pages. Without memory for that they stay for now. */
static void prepare_to_lose(struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	int rc = 0;

	if (!chunk->failures)
		chunk->failures = kcalloc(HMMRT_CHUNK_PAGES,
					  sizeof(chunk->failures[0]),
					  GFP_KERNEL);
	else if (memchr_inv(chunk->failures, 0, HMMRT_CHUNK_PAGES))
		rc = hmmrt_lost_prepare();
	if (rc)
		pr_err_ratelimited("%s: no struct pages for what is lost: %d\n",
				   dev->name, rc);
}

/**
 * hmmrt_evict_chunk() - bring a chunk of device memory home, best effort
 * @dev: whose
 * @chunk: of it
 * @lose: what the device cannot give back goes all the same, in the LAST_TRIES-th of
 *	such calls that asked for it; between hmmrt_lost_begin() and _end()
 *
 * Pages that are locked stay, and those for which there is no memory: the
 * caller comes again.
 * Context: process context, sleeps, no lock of ours is taken.
 */
void hmmrt_evict_chunk(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       bool lose)
{
	struct eviction *evict;
	unsigned int gone;

	if (!READ_ONCE(chunk->used_pages))
		return;
	if (lose)
		prepare_to_lose(dev, chunk);
	evict = kvzalloc(sizeof(*evict), GFP_KERNEL | __GFP_NOFAIL);
	gone = evict_chunk(dev, chunk, NULL, evict,
			   lose ? EVICT_LOSE : EVICT_ALL);
	kvfree(evict);
	if (lose)
		dev->vram.lost_pages += gone;
}

/* --- room ------------------------------------------------------------------------ */

static bool may_oversubscribe(const struct hmmrt_device *dev)
{
	return READ_ONCE(oversubscription) &&
	       hmmrt_device_knob(dev, HMMRT_KNOB_OVERSUBSCRIPTION);
}

/* Whether what is full may become less so. */
bool hmmrt_may_evict(const struct hmmrt_request *req)
{
	return may_oversubscribe(req->binding->dev) && !req->no_evict;
}

/* Whether another request of the same call may find something: of one for home, no. */
bool hmmrt_may_evict_later(const struct hmmrt_request *req)
{
	return req->binding && may_oversubscribe(req->binding->dev) &&
	       !req->none_left;
}

/*
 * One chunk. Returns it, reserved, if some of it is free afterwards, or an ERR_PTR:
 * -ENOENT there is none, -EBUSY none now, -EAGAIN another one, or another try, may do.
 */
static struct hmmrt_chunk *evict_one(struct hmmrt_device *dev,
				     const struct hmmrt_claim *claim,
				     struct eviction *evict)
{
	unsigned long pages[BITS_TO_LONGS(HMMRT_CHUNK_PAGES)];
	struct hmmrt_claim_cost cost;
	struct hmmrt_chunk *chunk;
	unsigned int before, gone;

	chunk = hmmrt_vram_reserve(dev, claim, pages, &cost);
	trace_hmmrt_claim(dev->id, READ_ONCE(dev->vram.nr_charged), &cost,
			  PTR_ERR_OR_ZERO(chunk));
	if (IS_ERR(chunk))
		return chunk;
	before = READ_ONCE(chunk->used_pages);
	memset(evict, 0, sizeof(*evict));
	evict_chunk(dev, chunk, pages, evict, EVICT_ROOM);
	gone = bitmap_weight(pages, HMMRT_CHUNK_PAGES) -
	       hmmrt_chunk_used(dev, chunk, pages, evict->src);
	trace_hmmrt_evict(dev->id, chunk->offset, before,
			  READ_ONCE(chunk->used_pages));
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

/* One chunk. 0 if some of it is free afterwards, and reserved for the request. */
static int make_room(struct hmmrt_request *req, const struct hmmrt_claim *claim,
		     struct eviction *evict)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct hmmrt_chunk *chunk = evict_one(dev, claim, evict);

	if (IS_ERR(chunk)) {
		if (PTR_ERR(chunk) == -EAGAIN)
			return -EBUSY;
		req->none_left = PTR_ERR(chunk) == -ENOENT;
		return -ENOMEM;
	}
	req->room = chunk;
	atomic64_inc(&req->binding->evictions);
	return 0;
}

/* Several, until one has given something. */
static int make_room_for(struct hmmrt_request *req,
			 const struct hmmrt_claim *claim)
{
	struct eviction *evict = kvmalloc(sizeof(*evict), GFP_KERNEL);
	unsigned int try;
	int rc = -EBUSY;

	if (!evict)
		return -ENOMEM;
	hmmrt_age(req->binding->dev);
	for (try = 0; rc == -EBUSY && try < ROOM_TRIES; try++)
		rc = fatal_signal_pending(current) ? -EINTR :
						     make_room(req, claim, evict);
	kvfree(evict);
	return rc == -EBUSY ? -ENOMEM : rc;
}

/**
 * hmmrt_request_make_room() - evict something, for a request that found no room
 * @req: of a device that is full
 *
 * Context: process context, sleeps, no lock is held, the mmap_lock neither.
 * Return: 0, and req->room is for the next hmmrt_vram_alloc(), or there is room for other
 * reasons; -ENOMEM nothing could be evicted; -ENOENT it may not have as much; -EINTR.
 */
int hmmrt_request_make_room(struct hmmrt_request *req)
{
	struct hmmrt_claim claim = {
		.asker = req->binding->account,
		.before = req->evict_before,
	};
	int rc;

	might_sleep();
	if (req->room_by == HMMRT_ROOM_QUOTA)
		claim.within = hmmrt_account_get_full(req->binding->account,
						      bitmap_weight(req->wanted,
								    HMMRT_BLOCK_PAGES));
	/* There is nobody to take it from: what it has room for is for the next attempt. */
	if (IS_ERR(claim.within)) {
		req->none_left = hmmrt_account_is_full(req->binding->account);
		return PTR_ERR(claim.within);
	}
	hmmrt_request_release_room(req);
	if (req->evictions++ >= ROOM_MAX)
		rc = -ENOMEM;
	else if (req->room_by == HMMRT_ROOM_QUOTA && !claim.within)
		rc = 0;
	else
		rc = make_room_for(req, &claim);
	if (!claim.within)
		return rc;
	/* Of others there may be more. */
	if (claim.within->mm != req->binding->account->mm)
		req->none_left = false;
	hmmrt_account_put(claim.within);
	return rc;
}

/* What is left of it is anybody's. */
void hmmrt_request_release_room(struct hmmrt_request *req)
{
	if (req->room)
		hmmrt_vram_unreserve(req->binding->dev, req->room);
	req->room = NULL;
}

/**
 * hmmrt_evict_excess() - bring home what an account has beyond its limit, best effort
 * @account: held by the caller
 * @going: of a binding, if the call holds one: hmmrt_unbind() waits for the call then
 *
 * Context: process context, sleeps, no lock is held.
 * Return: 0, whatever was evicted; -EINTR; -ENODEV when @going says so.
 */
int hmmrt_evict_excess(struct hmmrt_account *account, const bool *going)
{
	const struct hmmrt_claim claim = {
		.within = account,
		.before = U64_MAX,
	};
	struct eviction *evict;
	unsigned int failed = 0;
	bool gone = false;

	might_sleep();
	if (!hmmrt_account_excess(account))
		return 0;
	evict = kvmalloc(sizeof(*evict), GFP_KERNEL);
	if (!evict)
		return 0;
	hmmrt_age(account->dev);
	/* Each gives a page at least, or is busy. */
	while (failed < EXCESS_FAILURES && hmmrt_account_excess(account) &&
	       !gone && !READ_ONCE(account->dev->going) &&
	       !fatal_signal_pending(current)) {
		struct hmmrt_chunk *chunk = evict_one(account->dev, &claim,
						      evict);

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

/* --- before anybody needs it ------------------------------------------------ */

/* Less of it is free than a knob says; 0 says nothing. */
static bool is_below(const struct hmmrt_device *dev, enum hmmrt_knob_id knob)
{
	const struct hmmrt_vram *vram = &dev->vram;

	return hmmrt_policy_is_below(vram->size >> PAGE_SHIFT,
				     READ_ONCE(vram->used_pages),
				     hmmrt_device_knob(dev, knob));
}

/* What is busy is not waited for: who needs room next has this started again. */
static void evict_ahead(struct work_struct *work)
{
	struct hmmrt_vram *vram =
		container_of(work, struct hmmrt_vram, evict_ahead);
	struct hmmrt_device *dev = container_of(vram, struct hmmrt_device, vram);
	const struct hmmrt_claim claim = { .before = U64_MAX };
	struct hmmrt_chunk *chunk;
	struct eviction *evict;

	evict = kvmalloc(sizeof(*evict), GFP_KERNEL);
	if (!evict)
		return;
	while (!READ_ONCE(dev->going) && may_oversubscribe(dev) &&
	       (is_below(dev, HMMRT_KNOB_EVICT_LOW_WATERMARK) ||
		is_below(dev, HMMRT_KNOB_EVICT_HIGH_WATERMARK))) {
		hmmrt_age(dev);
		chunk = evict_one(dev, &claim, evict);
		if (IS_ERR(chunk))
			break;
		hmmrt_vram_unreserve(dev, chunk);
		atomic_long_inc(&vram->evictions_ahead);
		cond_resched();
	}
	kvfree(evict);
}

void hmmrt_evict_ahead_init(struct hmmrt_device *dev)
{
	INIT_WORK(&dev->vram.evict_ahead, evict_ahead);
}

/* Nobody takes memory of the device any more. */
void hmmrt_evict_ahead_stop(struct hmmrt_device *dev)
{
	cancel_work_sync(&dev->vram.evict_ahead);
}

/**
 * hmmrt_evict_ahead() - memory was taken: is there enough for the next who comes?
 * @dev: whose
 *
 * Context: any.
 */
void hmmrt_evict_ahead(struct hmmrt_device *dev)
{
	if (is_below(dev, HMMRT_KNOB_EVICT_LOW_WATERMARK) &&
	    may_oversubscribe(dev))
		queue_work(system_dfl_wq, &dev->vram.evict_ahead);
}

int hmmrt_device_evict(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i, j;

	might_sleep();
	/* Regions are added, and go with the device only; pairs with region_publish(). */
	for (i = 0; i < smp_load_acquire(&vram->nr_regions); i++) {
		for (j = 0; j < vram->regions[i]->nr_chunks; j++) {
			if (fatal_signal_pending(current))
				return -EINTR;
			hmmrt_evict_chunk(dev, &vram->regions[i]->chunks[j],
					  false);
			cond_resched();
		}
	}
	return READ_ONCE(vram->used_pages) ? -EBUSY : 0;
}
EXPORT_SYMBOL_GPL(hmmrt_device_evict);
