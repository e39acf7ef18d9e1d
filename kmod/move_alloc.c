// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory for a request: allocation, and the work that makes more of it
 * available between two attempts, with no lock held.
 *
 * When a device is full there are three ways to get free memory, tried in this
 * order: wait for an unused chunk that is being trimmed; make struct pages for
 * memory that has none yet; evict something. When a limit is reached, only
 * memory that is charged to the same limit may be evicted.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "decide.h"
#include "move.h"

/* Chunks that may turn out busy before the device counts as full. */
#define EVICT_TRIES	4
/* Chunks evicted for one request; each may free only few pages. */
#define EVICTIONS_MAX	8

/* --- allocation ----------------------------------------------------------- */

/* Return whether eviction may free memory for the request. */
static bool may_evict(const struct hmmrt_request *req)
{
	return hmmrt_may_oversubscribe(req->binding->dev) &&
	       !req->args.no_evict && !req->memory.no_evict;
}

/*
 * Return whether a later request of the same call may still evict. A request
 * for system memory has no binding and evicts nothing.
 */
bool hmmrt_may_evict_later(const struct hmmrt_request *req)
{
	return req->binding && hmmrt_may_oversubscribe(req->binding->dev) &&
	       !req->memory.none_left;
}

/* The step that makes memory available, if it is short and there is one. */
static enum hmmrt_step refill_step(const struct hmmrt_request *req)
{
	const struct hmmrt_request_memory *memory = &req->memory;
	const struct hmmrt_device *dev = req->binding->dev;

	if (memory->shortfall == HMMRT_SHORTFALL_NONE)
		return HMMRT_STEP_NONE;
	if (memory->shortfall == HMMRT_SHORTFALL_QUOTA)
		return may_evict(req) ? HMMRT_STEP_EVICT_QUOTA :
					HMMRT_STEP_NONE;
	if (!memory->no_trim && hmmrt_vram_is_trimming(dev))
		return HMMRT_STEP_TRIM;
	if (!memory->no_grow && memory->regions_seen < dev->vram.max_regions)
		return HMMRT_STEP_GROW;
	return may_evict(req) ? HMMRT_STEP_EVICT : HMMRT_STEP_NONE;
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
	unsigned int index = hmmrt_window_index(&req->window, at);
	struct hmmrt_request_memory *memory = &req->memory;
	unsigned int n = find_next_zero_bit(memory->wanted, end, at) - at, some;

	some = hmmrt_vram_alloc(req->binding->account,
				req->window.block->start, index, n, pages,
				memory->reserved, &memory->shortfall);
	*got += some;
	return some == n;
}

/* Allocate all wanted runs. Returns how many pages were found. */
static unsigned int alloc_runs(struct hmmrt_request *req, unsigned int first,
			       unsigned int end, struct page **pages,
			       struct page *near)
{
	const unsigned long *wanted = req->memory.wanted;
	unsigned int at, longest = end, got = 0;

	req->memory.shortfall = HMMRT_SHORTFALL_NONE;
	if (!near) {
		longest = longest_run(wanted, first, end);
		if (longest == end ||
		    !alloc_run(req, longest, end, pages + (longest - first),
			       &got))
			return got;
		near = pages[longest - first];
	}
	for (at = find_next_bit(wanted, end, first); at < end;
	     at = find_next_bit(wanted, end,
				find_next_zero_bit(wanted, end, at))) {
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
	bool quota = req->memory.shortfall == HMMRT_SHORTFALL_QUOTA;

	if (req->memory.refused)
		return;
	req->memory.refused = true;
	if (quota)
		hmmrt_account_refused(binding->account);
	atomic64_inc(quota ? &binding->quota_refusals :
			     &binding->memory_refusals);
	hmmrt_event(&binding->space->events, .type = HMMRT_EVENT_REFUSAL,
		    .device = binding->dev->id, .addr = req->window.start,
		    .pages = hmmrt_window_pages(&req->window),
		    .reason = hmmrt_memory_stay_reason(&req->memory));
}

static enum hmmrt_policy_rule
refusal_rule(const struct hmmrt_request_memory *memory)
{
	return memory->shortfall == HMMRT_SHORTFALL_QUOTA ?
		       HMMRT_RULE_QUOTA :
		       HMMRT_RULE_NO_MEMORY;
}

/* If the touched page got no memory, record that as the rule for the fault. */
static void rule_refused(struct hmmrt_request *req, unsigned int first,
			 unsigned int end, struct page **pages)
{
	unsigned int touched = hmmrt_request_index(req);

	if (!req->access || touched < first || touched >= end ||
	    !test_bit(touched, req->memory.wanted) || pages[touched - first])
		return;
	req->policy.rule = refusal_rule(&req->memory);
}

/**
 * hmmrt_request_refused() - a fault takes no memory, and moves nothing
 * @req: the fault; its block stays
 */
void hmmrt_request_refused(struct hmmrt_request *req)
{
	memory_refused(req);
	req->policy.rule = refusal_rule(&req->memory);
}

/* Count the wanted pages in [first, end). */
static unsigned int count_wanted(const unsigned long *wanted,
				 unsigned int first, unsigned int end)
{
	unsigned int at, n = 0;

	for (at = find_next_bit(wanted, end, first); at < end;
	     at = find_next_bit(wanted, end, at + 1))
		n++;
	return n;
}

/* Check that exactly the wanted pages got memory, @got of them. */
static void alloc_check(const unsigned long *wanted, unsigned int first,
			unsigned int end, struct page **pages, unsigned int got)
{
	unsigned int i, n = 0;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	for (i = first; i < end; i++) {
		VM_WARN_ON_ONCE(pages[i - first] && !test_bit(i, wanted));
		n += !!pages[i - first];
	}
	VM_WARN_ON_ONCE(n != got);
}

/**
 * hmmrt_request_alloc_pages() - allocate device memory for a request
 * @req: its memory.wanted says for which pages of its window
 * @first: first page of the window to consider
 * @end: the page after the last one
 * @pages: out: by page from @first on; for hmmrt_vram_free_unused()
 * @near: a neighbour that is on the device already, or NULL
 * @got: out: how many were found
 *
 * Context: may sleep; the mmap_lock and block->migrate may be held.
 * Return: 0; or -EAGAIN with a step if more can be made available.
 */
int hmmrt_request_alloc_pages(struct hmmrt_request *req, unsigned int first,
			      unsigned int end, struct page **pages,
			      struct page *near, unsigned int *got)
{
	struct hmmrt_device *dev = req->binding->dev;
	enum hmmrt_step step;

	VM_WARN_ON_ONCE(end > hmmrt_window_pages(&req->window));
	memset(pages, 0, (end - first) * sizeof(*pages));
	req->memory.regions_seen = READ_ONCE(dev->vram.nr_regions);
	*got = alloc_runs(req, first, end, pages, near);
	alloc_check(req->memory.wanted, first, end, pages, *got);
	hmmrt_evict_ahead(dev);
	step = refill_step(req);
	if (step != HMMRT_STEP_NONE) {
		hmmrt_vram_free_unused(dev, pages, end - first);
		return hmmrt_request_ask(req, step);
	}
	hmmrt_request_unreserve(req);
	if (*got < count_wanted(req->memory.wanted, first, end)) {
		memory_refused(req);
		rule_refused(req, first, end, pages);
	}
	return 0;
}

/**
 * hmmrt_request_take_chunk() - take a whole chunk for a request
 * @req: for a mapping of a migratable memory object
 * @extent: locked
 * @chunk: out: the chunk, for hmmrt_vram_put_chunk(), or NULL
 *
 * Context: may sleep; the mmap_lock may be held.
 * Return: 0; or -EAGAIN with a step if more memory can be made available.
 */
int hmmrt_request_take_chunk(struct hmmrt_request *req,
			     struct hmmrt_extent *extent,
			     struct hmmrt_chunk **chunk)
{
	struct hmmrt_device *dev = req->binding->dev;
	enum hmmrt_step step;

	/* That much is evicted at a limit. */
	bitmap_fill(req->memory.wanted, HMMRT_BLOCK_PAGES);
	req->memory.regions_seen = READ_ONCE(dev->vram.nr_regions);
	*chunk = hmmrt_vram_take_chunk(req->binding->account, extent,
				       req->memory.reserved,
				       &req->memory.shortfall);
	hmmrt_evict_ahead(dev);
	step = *chunk ? HMMRT_STEP_NONE : refill_step(req);
	if (step != HMMRT_STEP_NONE)
		return hmmrt_request_ask(req, step);
	hmmrt_request_unreserve(req);
	if (!*chunk)
		memory_refused(req);
	return 0;
}

/* Why a page for which no device memory was found stays. */
enum hmmrt_stay
hmmrt_memory_stay_reason(const struct hmmrt_request_memory *memory)
{
	return memory->shortfall == HMMRT_SHORTFALL_QUOTA ?
		       HMMRT_STAY_QUOTA :
		       HMMRT_STAY_NO_MEMORY;
}

/* --- between two attempts ------------------------------------------------- */

/* Evict one chunk. Returns 0 if some of it is now reserved for the request. */
static int evict_for_request(struct hmmrt_request *req,
			     const struct hmmrt_claim *claim,
			     struct hmmrt_eviction *evict)
{
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_chunk *chunk;

	chunk = hmmrt_evict_one(binding->dev, claim, evict,
				&binding->space->events);
	if (IS_ERR(chunk)) {
		if (PTR_ERR(chunk) == -EAGAIN)
			return -EBUSY;
		req->memory.none_left = PTR_ERR(chunk) == -ENOENT;
		return -ENOMEM;
	}
	req->memory.reserved = chunk;
	atomic64_inc(&binding->evictions);
	return 0;
}

/* Try several chunks until one frees memory. */
static int evict_some_for_request(struct hmmrt_request *req,
				  const struct hmmrt_claim *claim)
{
	struct hmmrt_eviction *evict = hmmrt_eviction_alloc();
	unsigned int try;
	int rc = -EBUSY;

	if (!evict)
		return -ENOMEM;
	hmmrt_age(req->binding->dev);
	for (try = 0; rc == -EBUSY && try < EVICT_TRIES; try++)
		rc = fatal_signal_pending(current) ?
			     -EINTR :
			     evict_for_request(req, claim, evict);
	kvfree(evict);
	return rc == -EBUSY ? -ENOMEM : rc;
}

/*
 * Evict for a request that found no free memory. No lock is held, not even the
 * mmap_lock. Returns 0 if req->memory.reserved is reserved for the next
 * hmmrt_vram_alloc() or memory became free otherwise; -ENOMEM if nothing could
 * be evicted; -ENOENT if the account may not have that much; -EINTR.
 */
static int request_evict(struct hmmrt_request *req)
{
	struct hmmrt_request_memory *memory = &req->memory;
	struct hmmrt_account *account = req->binding->account;
	struct hmmrt_claim claim = {
		.asker = account,
		.before = req->args.evict_before,
		.own_unused_since = req->args.own_unused_since,
	};
	bool bypass = hmmrt_bypass_applies(req);
	bool quota = req->retry.step == HMMRT_STEP_EVICT_QUOTA;
	unsigned int n = bitmap_weight(memory->wanted, HMMRT_BLOCK_PAGES);
	int rc;

	might_sleep();
	if (quota)
		claim.within = hmmrt_account_get_full(account, n);
	/* No account can give up pages; the next attempt takes what is left. */
	if (IS_ERR(claim.within)) {
		memory->none_left = hmmrt_account_is_full(account);
		return PTR_ERR(claim.within);
	}
	hmmrt_request_unreserve(req);
	if (bypass)
		claim.own_unused_since = HMMRT_CLAIM_SPARES_OWN;
	if (memory->evictions++ >= EVICTIONS_MAX)
		rc = -ENOMEM;
	else if (quota && !claim.within)
		rc = 0;
	else if (bypass &&
		 hmmrt_claim_try(&account->dev->vram, &claim) == -EXDEV)
		rc = -ENOMEM;
	else
		rc = evict_some_for_request(req, &claim);
	if (rc == -ENOMEM && bypass)
		memory->stays = true;
	if (!claim.within)
		return rc;
	/* The limit is not the process's own, so more may become evictable. */
	if (claim.within->mm != account->mm)
		memory->none_left = false;
	hmmrt_account_put(claim.within);
	return rc;
}

/* Make the rest of the reserved chunk available to all requests. */
void hmmrt_request_unreserve(struct hmmrt_request *req)
{
	if (req->memory.reserved)
		hmmrt_vram_unreserve(req->binding->dev, req->memory.reserved);
	req->memory.reserved = NULL;
}

/*
 * Make device memory available if an attempt with the result @rc asked for it.
 * No lock is held.
 */
void hmmrt_request_refill(struct hmmrt_request *req, int rc)
{
	struct hmmrt_device *dev = req->binding ? req->binding->dev : NULL;

	hmmrt_episode_phase(HMMRT_PHASE_ALLOCATE);
	/* The attempt ended otherwise, so nothing needs the step. */
	if (rc != -EAGAIN)
		req->retry.step = HMMRT_STEP_NONE;
	switch (req->retry.step) {
	case HMMRT_STEP_NONE:
		break;
	case HMMRT_STEP_TRIM:
		hmmrt_vram_wait_trimmed(dev);
		req->memory.no_trim = true;
		break;
	case HMMRT_STEP_GROW:
		req->memory.no_grow =
			hmmrt_vram_grow(dev, req->memory.regions_seen);
		break;
	case HMMRT_STEP_EVICT:
	case HMMRT_STEP_EVICT_QUOTA:
		req->memory.no_evict = request_evict(req);
		break;
	case HMMRT_STEP_BREAK_COW:
	case HMMRT_STEP_MIGRATE_BACK:
		/* Done by the attempt that asked for it. */
		WARN_ON_ONCE(1);
		break;
	}
	req->retry.step = HMMRT_STEP_NONE;
	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
}

/**
 * hmmrt_request_prepare_retry() - find out whether to make another attempt
 * @req: after an attempt; no lock is held
 * @limit: of this page or part
 * @rc: in: result of the attempt; out: result if there is no other
 *
 * After the deadline there are as many attempts as every fault gets.
 * Context: as hmmrt_request_refill(), which it calls.
 * Return: true: repeat the attempt.
 */
bool hmmrt_request_prepare_retry(struct hmmrt_request *req,
				 struct hmmrt_retry_limit *limit, int *rc)
{
	hmmrt_request_refill(req, *rc);
	if (*rc != -EAGAIN || (++limit->attempts >= HMMRT_SERVE_ATTEMPTS &&
			       time_after(jiffies, limit->deadline)))
		return false;
	if (limit->until_killed ? fatal_signal_pending(current) :
				  hmmrt_interrupted()) {
		*rc = -EINTR;
		return false;
	}
	if (limit->retries)
		atomic64_inc(limit->retries);
	cond_resched();
	return true;
}
