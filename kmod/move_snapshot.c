// SPDX-License-Identifier: GPL-2.0-only
/*
 * Snapshots of the CPU page table: of the window of a request, and of a range
 * for a driver. A snapshot faults nothing in and leaves nothing behind.
 *
 * Validity   A snapshot is valid until something in its block is invalidated.
 *            Its seq says so under block->lock: hmmrt_block_read_retry().
 *            Device pages that it shows exist in a section of hmmrt_srcu that
 *            began while it was valid: a device goes after that section. The
 *            snapshot itself waits for invalidations, so it is taken before.
 */
#include <linux/bitmap.h>
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "move.h"

/* --- of a window ---------------------------------------------------------- */

/*
 * Retries when unrelated invalidations in the span bump the notifier sequence.
 */
#define SNAPSHOT_TRIES	16

/**
 * hmmrt_block_snapshot() - snapshot the CPU page table of a block's pages
 * @block: in use
 * @range: all but notifier and notifier_seq is set
 * @seq: out: for hmmrt_block_read_retry()
 *
 * hmm_range_fault() fails with -EBUSY when anything is unmapped in the span. An
 * invalidation outside of the block does not concern the caller, so this
 * function tries again instead of making the caller start from the beginning.
 * Context: mmap_lock held for reading.
 * Return: of hmm_range_fault(), but -EAGAIN for -EBUSY.
 */
int hmmrt_block_snapshot(struct hmmrt_block *block, struct hmm_range *range,
			 unsigned long *seq)
{
	size_t bytes = ((range->end - range->start) >> PAGE_SHIFT) *
		       sizeof(range->hmm_pfns[0]);
	unsigned int try;
	int rc = -EBUSY;

	lockdep_assert_held(&block->span->space->mm->mmap_lock);
	/* Only invalidations of this block make the snapshot stale. */
	hmmrt_window_check(block, range->start, range->end);
	range->notifier = &block->span->notifier;
	for (try = 0; rc == -EBUSY && try < SNAPSHOT_TRIES; try++) {
		memset(range->hmm_pfns, 0, bytes);
		*seq = hmmrt_block_read_begin(block, &range->notifier_seq);
		rc = hmm_range_fault(range);
	}
	return rc == -EBUSY ? -EAGAIN : rc;
}

/*
 * Snapshot the window without faulting anything in. hmmrt never makes
 * hmm_range_fault() fault: when asked for one page it faults in everything from
 * there to the end of the range, and fails if any of that cannot be faulted in.
 */
int hmmrt_snapshot(const struct hmmrt_window *window,
		   struct hmmrt_snapshot *snapshot)
{
	struct hmm_range range = {
		.start = window->start,
		.end = window->end,
		.hmm_pfns = snapshot->pfns,
		.dev_private_owner = hmmrt_pgmap_owner(),
	};

	return hmmrt_block_snapshot(window->block, &range, &snapshot->seq);
}

/**
 * hmmrt_snapshot_begin() - snapshot the window, and keep its device pages
 * @window: as for hmmrt_snapshot()
 * @snapshot: out: what was found
 *
 * Context: mmap_lock held for reading; not in hmmrt_srcu. When it returns,
 * whatever the result, the caller is in hmmrt_srcu until hmmrt_snapshot_end().
 * Return: of hmmrt_snapshot().
 */
int hmmrt_snapshot_begin(const struct hmmrt_window *window,
			 struct hmmrt_snapshot *snapshot)
	__acquires(&hmmrt_srcu)
{
	struct hmmrt_block *block = window->block;
	unsigned int try = 0;
	int rc;

	lockdep_assert_held(&block->span->space->mm->mmap_lock);
	for (;;) {
		rc = hmmrt_snapshot(window, snapshot);
		snapshot->srcu = srcu_read_lock(&hmmrt_srcu);
		/*
		 * A device that goes away has invalidated its pages before it
		 * waits for sections of hmmrt_srcu.
		 */
		if (rc || !hmmrt_block_read_retry(block, snapshot->seq))
			return rc;
		if (++try == SNAPSHOT_TRIES)
			return -EAGAIN;
		srcu_read_unlock(&hmmrt_srcu, snapshot->srcu);
	}
}

/* The device pages that the snapshot shows are not used any more. */
void hmmrt_snapshot_end(const struct hmmrt_snapshot *snapshot)
	__releases(&hmmrt_srcu)
{
	srcu_read_unlock(&hmmrt_srcu, snapshot->srcu);
}

/*
 * Returns true if, by the snapshot, the CPU has one page for the whole block,
 * or has nothing yet and would allocate one page for it. The second case covers
 * VM_HUGEPAGE only: the core's other criteria are not visible to modules.
 */
bool hmmrt_snapshot_is_huge(const struct hmmrt_window *window,
			    const struct hmmrt_snapshot *snapshot)
{
	const unsigned long *pfns = snapshot->pfns;

	if (!HMMRT_HAS_DEVICE_THP || window->start != window->block->start ||
	    window->end != window->start + HMMRT_BLOCK_SIZE)
		return false;
	if (pfns[0] & HMM_PFN_VALID)
		return hmm_pfn_to_map_order(pfns[0]) ==
		       HMMRT_BLOCK_SHIFT - PAGE_SHIFT;
	return (window->vma->vm_flags & VM_HUGEPAGE) &&
	       !memchr_inv(pfns, 0, sizeof(snapshot->pfns));
}

/* The pages to map for a fault that moves nothing. */
static struct hmmrt_policy_window stay_window(const struct hmmrt_request *req)
{
	const struct hmmrt_policy_window within = req->policy.within;
	struct hmmrt_policy_window win =
		hmmrt_policy_stay_window(req->policy.chosen,
					 &req->policy.advice,
					 &req->policy.knobs);
	unsigned int first = max(win.first, within.first);
	unsigned int end = min(win.first + win.count,
			       within.first + within.count);

	return (struct hmmrt_policy_window){
		.first = first,
		.count = end - first,
	};
}

/*
 * Widen the window if policy takes more than it, judged by its snapshot, and
 * snapshot it again then. Context: after hmmrt_snapshot_begin(), and the same
 * applies afterwards.
 */
int hmmrt_snapshot_widen(struct hmmrt_request *req)
{
	struct hmmrt_window *window = &req->window;
	unsigned long pfn, start = window->block->start;
	struct hmmrt_policy_window win, old = {
		.first = hmmrt_window_index(window, 0),
		.count = hmmrt_window_pages(window),
	};
	bool alike;

	/* Keep a range that was asked for, and the one page of a fallback. */
	if (!req->access || req->args.whole || req->retry.narrow)
		return 0;
	pfn = req->snapshot.pfns[hmmrt_request_index(req)];
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return 0;
	/* One mapping and one advice without granularity cover the block. */
	alike = window->vma->vm_start <= start &&
		window->vma->vm_end >= start + HMMRT_BLOCK_SIZE &&
		req->policy.one_advice && !req->policy.advice.granularity;
	win = hmmrt_policy_huge_window(old, hmm_pfn_to_map_order(pfn), alike);
	/* Instruction fetches always fault, see hmmrt_is_mapped(). */
	if (hmmrt_request_block_stays(req) && win.count == old.count &&
	    !(req->access & HMMRT_ACCESS_EXEC))
		win = stay_window(req);
	window->start = start + ((unsigned long)win.first << PAGE_SHIFT);
	window->end = window->start + ((unsigned long)win.count << PAGE_SHIFT);
	if (win.count == old.count)
		return 0;
	hmmrt_snapshot_end(&req->snapshot);
	return hmmrt_snapshot_begin(window, &req->snapshot);
}

/* Returns true for a page in system memory that a write would have to copy. */
static bool needs_cow(unsigned long pfn)
{
	struct page *page;

	if (!(pfn & HMM_PFN_VALID) || (pfn & (HMM_PFN_WRITE | HMM_PFN_ERROR)))
		return false;
	page = hmm_pfn_to_page(pfn);
	return !hmmrt_page_is_private(page) && !is_zero_page(page);
}

/*
 * Find the pages for which a write to the window has to break COW, by its
 * snapshot. They are in req->to_touch. Returns true if there are any.
 */
bool hmmrt_mark_cow(struct hmmrt_request *req)
{
	unsigned int i, n = hmmrt_window_pages(&req->window);

	bitmap_zero(req->to_touch, HMMRT_BLOCK_PAGES);
	for (i = 0; i < n; i++)
		if (needs_cow(req->snapshot.pfns[i]))
			__set_bit(i, req->to_touch);
	return !bitmap_empty(req->to_touch, HMMRT_BLOCK_PAGES);
}

/* --- of a range, for drivers ---------------------------------------------- */

static struct hmmrt_page_state page_state(unsigned long pfn)
{
	struct hmmrt_page_state state = { .location = HMMRT_LOCATION_NONE };
	struct hmmrt_device *dev;
	struct page *page;

	if (pfn & HMM_PFN_ERROR) {
		state.flags = HMMRT_STATE_ERROR;
		return state;
	}
	if (!(pfn & HMM_PFN_VALID))
		return state;
	page = hmm_pfn_to_page(pfn);
	dev = hmmrt_page_device(page);
	state.location = dev ? dev->id : HMMRT_LOCATION_HOST;
	state.order = hmm_pfn_to_map_order(pfn);
	state.flags = HMMRT_STATE_READ;
	if (pfn & HMM_PFN_WRITE)
		state.flags |= HMMRT_STATE_WRITE;
	if (is_zero_page(page))
		state.flags |= HMMRT_STATE_ZERO;
	if (dev && hmmrt_device_is_coherent(dev))
		state.flags |= HMMRT_STATE_COHERENT;
	return state;
}

static int snapshot_once(const struct hmmrt_window *window,
			 struct hmmrt_snapshot *snapshot,
			 struct hmmrt_page_state *pages)
{
	unsigned long i, n = hmmrt_window_pages(window);
	struct hmmrt_block *block = window->block;
	struct mm_struct *mm = block->span->space->mm;
	int rc;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	rc = hmmrt_snapshot_begin(window, snapshot);
	for (i = 0; i < n && !rc; i++)
		pages[i] = page_state(snapshot->pfns[i]);
	if (!rc && hmmrt_block_read_retry(block, snapshot->seq))
		rc = -EAGAIN;
	hmmrt_snapshot_end(snapshot);
	mmap_read_unlock(mm);
	return rc;
}

/* A snapshot of a range. */
struct range_snapshot {
	struct hmmrt_space *space;
	struct hmmrt_page_state *pages;	/* of the next part of the range */
};

static int snapshot_block(void *data, unsigned long start, unsigned long end)
{
	struct range_snapshot *range = data;
	struct hmmrt_window window = { .start = start, .end = end };
	unsigned long deadline = jiffies + HMMRT_SERVE_TIMEOUT;
	struct hmmrt_snapshot *snapshot;
	int rc = -ENOMEM;

	window.block = hmmrt_block_borrow(range->space, start);
	if (IS_ERR(window.block))
		return PTR_ERR(window.block);
	snapshot = kvmalloc(sizeof(*snapshot), GFP_KERNEL_ACCOUNT);
	if (!snapshot)
		goto out_return;
	do {
		rc = snapshot_once(&window, snapshot, range->pages);
		if (rc == -EAGAIN && hmmrt_interrupted())
			rc = -EINTR;
		cond_resched();
	} while (rc == -EAGAIN && time_before(jiffies, deadline));
	range->pages += hmmrt_window_pages(&window);
	kvfree(snapshot);
out_return:
	hmmrt_block_return(window.block);
	return rc;
}

int hmmrt_snapshot_range(struct hmmrt_binding *binding, unsigned long start,
			 unsigned long end, struct hmmrt_page_state *pages)
{
	struct range_snapshot range = {
		.space = binding->space,
		.pages = pages,
	};

	return hmmrt_range_by_blocks(binding->space->mm, start, end,
				     snapshot_block, &range);
}
EXPORT_SYMBOL_GPL(hmmrt_snapshot_range);
