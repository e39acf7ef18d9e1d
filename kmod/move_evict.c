// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction: when device memory is evicted, and which. move_evict_chunk.c
 * migrates the pages of a chunk.
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
 * End        A device that goes away has its pages tried again, for a while:
 *            see hmmrt_evict_all().
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "move_evict.h"
#include "trace.h"

/* Chunks in a row that may turn out busy before hmmrt_evict_excess() ends. */
#define EXCESS_FAILURES	64

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
 * that could not be read in HMMRT_LAST_TRIES such calls; only between
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
	gone = hmmrt_evict_chunk(dev, chunk, NULL, evict,
				 lose ? HMMRT_EVICT_LOSE : HMMRT_EVICT_ALL);
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
 * another try may succeed; -EXDEV only memory that @claim spares.
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
	hmmrt_evict_chunk(dev, chunk, pages, evict, HMMRT_EVICT_FOR_ALLOC);
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
