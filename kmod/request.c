// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: what is made once for all attempts at a window, and what is done between
 * two attempts, with no lock held. A device that is full is asked for what it can do
 * about that, in this order: a chunk that nobody uses may be losing its memory, and is
 * waited for; it may have memory without struct pages yet; something may be evicted.
 * Of those who have reached a limit something of their own may be.
 */
#include <linux/ktime.h>
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

/* A limit was reached. */
static bool may_get_quota(struct hmmrt_request *req)
{
	req->room_by = HMMRT_ROOM_QUOTA;
	return hmmrt_may_evict(req);
}

/* Whether something is lacking, and it is worth it to do something about that. */
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

/* Which of those in [first, end) decides where the block is: the longest run. */
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

/* The run that begins at @at. Returns whether all of it was found. */
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

/* The runs of what is wanted. Returns how many pages there were. */
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

/* Something stays where it is: counted once, however many attempts see it. */
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

/* What was not found for the touched page decides about the fault. */
static void rule_refused(struct hmmrt_request *req, unsigned int first,
			 unsigned int end, struct page **pages)
{
	unsigned int touched = (req->addr - req->start) >> PAGE_SHIFT;

	if (!req->access || touched < first || touched >= end ||
	    !test_bit(touched, req->wanted) || pages[touched - first])
		return;
	req->rule = req->lack == HMMRT_LACK_QUOTA ? HMMRT_RULE_QUOTA :
						    HMMRT_RULE_NO_MEMORY;
}

/* How many of [first, end) are wanted. */
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
 * hmmrt_request_alloc_pages() - device memory for a request
 * @req: req->wanted says for which pages of its window
 * @first: first page of the window to look at
 * @end: behind the last one
 * @pages: out: by page from @first on; for hmmrt_vram_free_unused()
 * @near: one beside them that is there already, or NULL
 *
 * Context: may sleep; the mmap_lock and block->migrate may be held.
 * Return: how many were found; -ENOSPC more can be made available with no lock held, by
 * hmmrt_request_again().
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

/* Why what found no room stays. */
enum hmmrt_stay hmmrt_request_lacks(const struct hmmrt_request *req)
{
	return req->lack == HMMRT_LACK_QUOTA ? HMMRT_STAY_QUOTA :
					       HMMRT_STAY_NO_MEMORY;
}

/*
 * What has to be done with no lock held before an attempt is repeated. Returns
 * @rc, or -EAGAIN for "repeat it".
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

/* For how long a fault looks whether the mmap_lock is free before it sleeps. */
#define LOCK_SPIN_NS	(100 * NSEC_PER_USEC)

/**
 * hmmrt_mmap_read_lock() - the mmap_lock, for reading, for a fault
 * @mm: of the process
 * @nowait: the caller does not wait for its holder, which may wait for a program
 *
 * A reader that sleeps is woken after up to 4 ms if writers come one after the other,
 * as they do where a thread maps and unmaps all the time; each of them has the lock
 * for a moment only. So it is worth while to look a few times.
 * Return: 0 or -EINTR; if @nowait, 0 or -ENOLCK: the lock is taken.
 */
int hmmrt_mmap_read_lock(struct mm_struct *mm, bool nowait)
{
	u64 end = ktime_get_ns() + LOCK_SPIN_NS;

	do {
		if (mmap_read_trylock(mm))
			return 0;
		cpu_relax();
	} while (!need_resched() && ktime_get_ns() < end);
	if (nowait)
		return -ENOLCK;
	return mmap_read_lock_killable(mm) ? -EINTR : 0;
}

/*
 * The mmap_lock, for reading, where the wait for its holder must end. Returns whether
 * it was to be had before @end, in jiffies, and before a fatal signal.
 */
bool hmmrt_mmap_read_lock_until(struct mm_struct *mm, unsigned long end)
{
	while (hmmrt_mmap_read_lock(mm, true)) {
		if (time_after_eq(jiffies, end) || fatal_signal_pending(current))
			return false;
		schedule_timeout_killable(1);
	}
	return true;
}

/*
 * The mmap_lock for the next attempt, as hmmrt_mmap_read_lock() says. A request that has
 * to wait for it gives up the memory that was evicted for it: a thread of its own process
 * may hold the lock for as long as it likes.
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

/* What a prefetch does with what it finds there. */
enum hmmrt_policy_want hmmrt_request_prefetched(struct hmmrt_request *req)
{
	req->knobs = hmmrt_knobs_at(req->binding->space, req->binding->dev,
				    &req->advice);
	return hmmrt_policy_prefetched(&req->advice,
				       req->knobs.of[HMMRT_KNOB_READ_DUPLICATION]);
}

/* Whether a fault of this device moves, or copies, what it finds there. */
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
	/* To ask is to count, so only what would move; and not what has room made. */
	if (decision.want != HMMRT_POLICY_STAY && !req->room) {
		page.no_room = hmmrt_request_thrashes(req);
		page.pinned = hmmrt_request_pinned(req);
		decision = hmmrt_policy_residency(&page);
	}
	req->rule = decision.rule;
	req->copy = decision.want == HMMRT_POLICY_COPY;
	return decision.want != HMMRT_POLICY_STAY;
}
