// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: allocation of what all attempts at a window share, and the work
 * between two attempts, which is done with no lock held.
 *
 * When a device is full there are three ways to get free memory, tried in this
 * order: wait for an unused chunk that is being trimmed; make struct pages for
 * memory that has none yet; evict something. When a limit is reached, only
 * memory that is charged to the same limit may be evicted.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "hmmrt.h"

struct hmmrt_request *hmmrt_request_alloc(struct hmmrt_binding *binding,
					  struct hmmrt_block *block)
{
	struct hmmrt_request *req = kvmalloc(sizeof(*req), GFP_KERNEL);

	if (!req)
		return NULL;
	memset(req, 0, offsetof(struct hmmrt_request, pfns));
	memset(req->outcomes, HMMRT_OUTCOME_OPEN, sizeof(req->outcomes));
	req->binding = binding;
	req->block = block;
	req->node = NUMA_NO_NODE;
	req->advice = hmmrt_no_advice;
	req->evict_before = U64_MAX;
	return req;
}

/* @req may be NULL, as with kvfree(). */
void hmmrt_request_free(struct hmmrt_request *req)
{
	if (!req)
		return;
	hmmrt_request_release_room(req);
	kvfree(req);
}

/* A quota was reached. */
static bool may_get_quota(struct hmmrt_request *req)
{
	req->room_by = HMMRT_ROOM_QUOTA;
	return hmmrt_may_evict(req);
}

/* Returns true if memory is short and there is a way to make some available. */
static bool may_get_room(struct hmmrt_request *req)
{
	const struct hmmrt_device *dev = req->binding->dev;

	if (req->lack == HMMRT_LACK_NOTHING)
		return false;
	if (req->lack == HMMRT_LACK_QUOTA)
		return may_get_quota(req);
	if (!req->no_trim && hmmrt_vram_is_trimming(dev))
		req->room_by = HMMRT_ROOM_TRIMMED;
	else if (!req->no_grow && req->regions_seen < dev->vram.max_regions)
		req->room_by = HMMRT_ROOM_GROWN;
	else if (hmmrt_may_evict(req))
		req->room_by = HMMRT_ROOM_EVICTED;
	else
		return false;
	return true;
}

/*
 * Find the longest wanted run in [first, end): it decides which chunk is used.
 */
static unsigned int longest_run(const unsigned long *wanted, unsigned int first,
				unsigned int end)
{
	unsigned int at, run_end, most = 0, found = end;

	for (at = find_next_bit(wanted, end, first); at < end;
	     at = find_next_bit(wanted, end, run_end)) {
		run_end = find_next_zero_bit(wanted, end, at);
		if (run_end - at <= most)
			continue;
		most = run_end - at;
		found = at;
	}
	return found;
}

/* Allocate the run that begins at @at. Returns true if all of it was found. */
static bool alloc_run(struct hmmrt_request *req, unsigned int at,
		      unsigned int end, struct page **pages, unsigned int *got)
{
	unsigned int index = (req->start - req->block->start) >> PAGE_SHIFT;
	unsigned int n = find_next_zero_bit(req->wanted, end, at) - at, some;

	some = hmmrt_vram_alloc(req->binding->account, index + at, n, pages,
				req->room, &req->lack);
	*got += some;
	return some == n;
}

/* Allocate all wanted runs. Returns how many pages were found. */
static unsigned int alloc_runs(struct hmmrt_request *req, unsigned int first,
			       unsigned int end, struct page **pages,
			       struct page *near)
{
	unsigned int at, longest = end, got = 0;

	req->lack = HMMRT_LACK_NOTHING;
	if (!near) {
		longest = longest_run(req->wanted, first, end);
		if (longest == end ||
		    !alloc_run(req, longest, end, pages + (longest - first),
			       &got))
			return got;
		near = pages[longest - first];
	}
	for (at = find_next_bit(req->wanted, end, first); at < end;
	     at = find_next_bit(req->wanted, end,
				find_next_zero_bit(req->wanted, end, at))) {
		if (at == longest)
			continue;
		pages[at - first] = near;
		if (!alloc_run(req, at, end, pages + (at - first), &got))
			break;
	}
	return got;
}

/* Count a refusal: once per request, however many attempts see it. */
static void memory_refused(struct hmmrt_request *req)
{
	struct hmmrt_binding *binding = req->binding;
	bool quota = req->lack == HMMRT_LACK_QUOTA;

	if (req->refused)
		return;
	req->refused = true;
	if (quota)
		hmmrt_account_refused(binding->account);
	atomic64_inc(quota ? &binding->quota_refusals :
			     &binding->memory_refusals);
}

/* If the touched page got no memory, record that as the rule for the fault. */
static void rule_refused(struct hmmrt_request *req, unsigned int first,
			 unsigned int end, struct page **pages)
{
	unsigned int touched = hmmrt_request_index(req);

	if (!req->access || touched < first || touched >= end ||
	    !test_bit(touched, req->wanted) || pages[touched - first])
		return;
	req->rule = req->lack == HMMRT_LACK_QUOTA ? HMMRT_RULE_QUOTA :
						    HMMRT_RULE_NO_MEMORY;
}

/* Count the wanted pages in [first, end). */
static unsigned int count_wanted(const struct hmmrt_request *req,
				 unsigned int first, unsigned int end)
{
	unsigned int at, n = 0;

	for (at = find_next_bit(req->wanted, end, first); at < end;
	     at = find_next_bit(req->wanted, end, at + 1))
		n++;
	return n;
}

/**
 * hmmrt_request_alloc_pages() - allocate device memory for a request
 * @req: req->wanted says for which pages of its window
 * @first: first page of the window to consider
 * @end: behind the last one
 * @pages: out: by page from @first on; for hmmrt_vram_free_unused()
 * @near: a neighbour that is on the device already, or NULL
 *
 * Context: may sleep; the mmap_lock and block->migrate may be held.
 * Return: how many were found; -ENOSPC more can be made available with no lock
 * held, by hmmrt_request_again().
 */
int hmmrt_request_alloc_pages(struct hmmrt_request *req, unsigned int first,
			      unsigned int end, struct page **pages,
			      struct page *near)
{
	struct hmmrt_device *dev = req->binding->dev;
	unsigned int got;

	memset(pages, 0, (end - first) * sizeof(*pages));
	req->regions_seen = READ_ONCE(dev->vram.nr_regions);
	got = alloc_runs(req, first, end, pages, near);
	if (may_get_room(req)) {
		hmmrt_vram_free_unused(dev, pages, end - first);
		return -ENOSPC;
	}
	hmmrt_request_release_room(req);
	if (got < count_wanted(req, first, end)) {
		memory_refused(req);
		rule_refused(req, first, end, pages);
	}
	return got;
}

/* Why a page for which no device memory was found stays. */
enum hmmrt_stay hmmrt_request_lacks(const struct hmmrt_request *req)
{
	return req->lack == HMMRT_LACK_QUOTA ? HMMRT_STAY_QUOTA :
					       HMMRT_STAY_NO_MEMORY;
}

/*
 * Do the work that needs all locks dropped before an attempt is repeated.
 * Returns @rc, or -EAGAIN if the caller has to repeat the attempt.
 */
int hmmrt_request_again(struct hmmrt_request *req, int rc)
{
	struct hmmrt_device *dev = req->binding ? req->binding->dev : NULL;

	if (rc != -ENOSPC)
		return rc;
	switch (req->room_by) {
	case HMMRT_ROOM_TRIMMED:
		hmmrt_vram_wait_trimmed(dev);
		req->no_trim = true;
		break;
	case HMMRT_ROOM_GROWN:
		req->no_grow = hmmrt_vram_grow(dev, req->regions_seen);
		break;
	case HMMRT_ROOM_EVICTED:
	case HMMRT_ROOM_QUOTA:
		req->no_evict = hmmrt_request_make_room(req);
		break;
	}
	return -EAGAIN;
}

/*
 * Take the mmap_lock for the next attempt, like hmmrt_mmap_read_lock(). A
 * request that would have to wait first gives up the memory that was evicted
 * for it, because a thread of its own process may hold the lock for as long as
 * it likes.
 */
int hmmrt_request_lock_mm(struct hmmrt_request *req, struct mm_struct *mm)
{
	if (req->room) {
		if (mmap_read_trylock(mm))
			return 0;
		hmmrt_request_release_room(req);
	}
	return hmmrt_mmap_read_lock(mm, req->nowait);
}

/* What a prefetch does with pages that are not on the device. */
enum hmmrt_policy_want hmmrt_request_prefetched(struct hmmrt_request *req)
{
	req->knobs = hmmrt_knobs_at(req->binding->space, req->binding->dev,
				    &req->advice);
	return hmmrt_policy_prefetched(&req->advice,
				       req->knobs.of[HMMRT_KNOB_READ_DUPLICATION]);
}

/* Returns true if a fault of this device moves, or duplicates, the pages. */
bool hmmrt_fault_may_migrate(struct hmmrt_request *req)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct hmmrt_policy_page page = {
		.advice = &req->advice,
		.device = dev->id,
		.write = req->access & HMMRT_ACCESS_WRITE,
		.migratable = !(dev->flags & HMMRT_DEVICE_FAULT_IN_PLACE) &&
			      hmmrt_vma_may_migrate(req->vma),
	};
	struct hmmrt_policy_decision decision;

	req->knobs = hmmrt_knobs_at(req->binding->space, dev, &req->advice);
	page.migration_policy = req->knobs.of[HMMRT_KNOB_MIGRATION_POLICY];
	page.read_duplication = req->knobs.of[HMMRT_KNOB_READ_DUPLICATION];
	decision = hmmrt_policy_residency(&page);
	/*
	 * Asking counts a fault as thrashing, so ask only if pages would move,
	 * and not again when memory was already evicted for this request.
	 */
	if (decision.want != HMMRT_POLICY_STAY && !req->room) {
		page.no_room = hmmrt_request_thrashes(req);
		page.pinned = hmmrt_request_pinned(req);
		decision = hmmrt_policy_residency(&page);
	}
	req->rule = decision.rule;
	req->copy = decision.want == HMMRT_POLICY_COPY;
	return decision.want != HMMRT_POLICY_STAY;
}
