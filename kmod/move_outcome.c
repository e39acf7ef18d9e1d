// SPDX-License-Identifier: GPL-2.0-only
/*
 * The outcome for each page of a prefetch: what happened to it, and why.
 *
 * Model      A request has one outcome per page. The code that moves a page, or
 *            finds out why it cannot move, sets the outcome at that moment.
 *            MOVED is final; any other outcome belongs to one attempt only. A
 *            page without an outcome is open. Once the attempt is over, the
 *            reason is derived from the state of the page.
 * Reading    Page state is read under block->lock while the snapshot's sequence
 *            is valid. A thread that unmaps a page runs the notifier first,
 *            which waits for block->lock; so the pages stay what they are.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/userfaultfd_k.h>

#include "move.h"

/* Set the outcome of @n pages from @addr on. */
void hmmrt_outcome_set(struct hmmrt_request *req, unsigned long addr,
		       unsigned int n, u8 outcome)
{
	const struct hmmrt_block *block = req->window.block;
	unsigned int i = hmmrt_index_in_block(block, addr), end = i + n;

	VM_WARN_ON_ONCE(addr < block->start || end > HMMRT_BLOCK_PAGES);
	for (; i < end; i++)
		if (req->outcomes[i] != HMMRT_OUTCOME_MOVED)
			req->outcomes[i] = outcome;
}

/* The outcomes of the window, in the order of its pages. */
u8 *hmmrt_outcomes(struct hmmrt_request *req)
{
	return &req->outcomes[hmmrt_window_index(&req->window, 0)];
}

/*
 * Returns true if a page is held by more than its mappings, so that the core
 * does not move it. For a large folio only a pin for I/O can be detected. A
 * locked page does not count: the holder of the lock releases the page soon.
 */
static bool folio_is_held(struct folio *folio, unsigned int duplicates)
{
	int known;

	if (folio_maybe_dma_pinned(folio))
		return true;
	if (folio_test_large(folio) || folio_test_locked(folio))
		return false;
	known = atomic_read(&folio->_mapcount) + 1;
	known += folio_test_swapcache(folio) + duplicates;
	/* The folio returns to its LRU list after an attempt to move it. */
	known += !folio_is_zone_device(folio) && !folio_test_lru(folio);
	return folio_ref_count(folio) > known;
}

/* Why a page did not move. A hole or the zero page has nothing to move. */
static enum hmmrt_stay page_stay(const struct hmmrt_window *window,
				 unsigned int index, unsigned long pfn)
{
	unsigned int duplicates = hmmrt_duplicates_of(window->block, index);
	struct folio *folio = NULL;

	if (pfn & HMM_PFN_VALID)
		folio = page_folio(hmm_pfn_to_page(pfn));
	if (!folio || !folio_test_anon(folio))
		return userfaultfd_missing(window->vma) ||
				       userfaultfd_wp(window->vma) ?
			       HMMRT_STAY_WATCHED :
			       HMMRT_STAY_BUSY;
	if (folio_test_ksm(folio))
		return HMMRT_STAY_MERGED;
	return folio_is_held(folio, duplicates) ? HMMRT_STAY_PINNED :
						  HMMRT_STAY_BUSY;
}

/*
 * The outcome by the current state. A page on no device counts as system
 * memory.
 */
static u8 outcome_explain(const struct hmmrt_request *req, int vma_stays,
			  unsigned int index, unsigned long pfn)
{
	struct hmmrt_device *dev = NULL;

	if ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR))
		dev = hmmrt_page_device(hmm_pfn_to_page(pfn));
	if (req->binding ? dev == req->binding->dev : !dev)
		return HMMRT_OUTCOME_THERE;
	if (req->binding && vma_stays >= 0)
		return HMMRT_OUTCOME_STAYED(vma_stays);
	return HMMRT_OUTCOME_STAYED(page_stay(&req->window, index, pfn));
}

/**
 * hmmrt_outcomes_explain() - find a reason for each open page of a window
 * @req: after an attempt at the window; its snapshot is replaced
 *
 * Context: mmap_lock held; takes block->lock.
 * Return: 0, or -EAGAIN: something raced.
 */
int hmmrt_outcomes_explain(struct hmmrt_request *req)
{
	const struct hmmrt_request_policy *policy = &req->policy;
	unsigned long i, n = hmmrt_window_pages(&req->window);
	struct hmmrt_block *block = req->window.block;
	u8 *outcomes = hmmrt_outcomes(req);
	unsigned int base;
	int rc, vma_stays;

	lockdep_assert_held(&req->window.vma->vm_mm->mmap_lock);
	if (!memchr(outcomes, HMMRT_OUTCOME_OPEN, n))
		return 0;
	rc = hmmrt_snapshot(&req->window, &req->snapshot);
	if (rc)
		return rc;
	vma_stays = hmmrt_vma_stays(req->window.vma);
	if (vma_stays < 0 && ((policy->advice.flags & HMMRT_RANGE_NO_MIGRATE) ||
			      (policy->want == HMMRT_POLICY_DUPLICATE &&
			       !hmmrt_duplicates_work())))
		vma_stays = HMMRT_STAY_POLICY;
	mutex_lock(&block->lock);
	if (hmmrt_block_read_retry(block, req->snapshot.seq))
		rc = -EAGAIN;
	base = hmmrt_window_index(&req->window, 0);
	for (i = 0; i < n && !rc; i++)
		if (outcomes[i] == HMMRT_OUTCOME_OPEN)
			outcomes[i] = outcome_explain(req, vma_stays, base + i,
						      req->snapshot.pfns[i]);
	mutex_unlock(&block->lock);
	return rc;
}
