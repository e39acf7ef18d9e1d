// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decisions about a fault or a prefetch: which window, by which advice and
 * knobs, and whether its pages move. policy.c decides; this fills in what it
 * asks for.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>

#include "decide.h"

/*
 * Look up the advice at @addr and the knobs with it, once for an attempt, and
 * shrink the window to the advice.
 */
void hmmrt_request_advise(struct hmmrt_request *req, unsigned long addr)
{
	struct hmmrt_request_policy *policy = &req->policy;
	struct hmmrt_window *window = &req->window;
	struct hmmrt_space *space = window->block->span->space;
	unsigned long start = window->block->start;
	unsigned long end = start + HMMRT_BLOCK_SIZE;

	policy->advice = hmmrt_advice_at(space, addr, &start, &end);
	policy->want = HMMRT_POLICY_STAY;
	policy->one_advice = end - start == HMMRT_BLOCK_SIZE;
	window->start = max(window->start, start);
	window->end = min(window->end, end);
	if (req->binding)
		policy->knobs = hmmrt_knobs_at(space, req->binding->dev,
					       &policy->advice);
}

/* Decide what a prefetch does with pages that are not on the device. */
enum hmmrt_policy_want
hmmrt_request_prefetched(const struct hmmrt_request_policy *policy)
{
	const u32 *knobs = policy->knobs.of;

	return hmmrt_policy_prefetched(&policy->advice,
				       knobs[HMMRT_KNOB_READ_DUPLICATION]);
}

/*
 * Count pages mapped by the device in the block at @start, which may not exist.
 */
static unsigned int pages_mapped(const struct hmmrt_binding *binding,
				 unsigned long start)
{
	struct hmmrt_block *block = hmmrt_block_find(binding->space, start);
	const struct hmmrt_block_map *map;
	unsigned int mapped = 0;

	if (!block)
		return 0;
	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[binding->dev->id]);
	if (map)
		mapped = bitmap_weight(map->mapped, HMMRT_BLOCK_PAGES);
	hmmrt_block_put(block);
	return mapped;
}

/* Takes no lock: other threads may map or unmap pages at the same time. */
static struct hmmrt_policy_window policy_window(const struct hmmrt_request *req,
						unsigned int page)
{
	const struct hmmrt_block_map *map = hmmrt_request_map(req);
	unsigned long start = req->window.block->start;
	DECLARE_BITMAP(mapped, HMMRT_BLOCK_PAGES);
	const struct hmmrt_policy_density density = {
		.mapped = mapped,
		.faults = READ_ONCE(map->faults),
		.before = pages_mapped(req->binding, start - HMMRT_BLOCK_SIZE),
		.after = pages_mapped(req->binding, start + HMMRT_BLOCK_SIZE),
	};

	bitmap_or(mapped, map->mapped, req->faulted, HMMRT_BLOCK_PAGES);
	return hmmrt_policy_device_window(&density, page, &req->policy.advice,
					  &req->policy.knobs);
}

static struct hmmrt_policy_window pages_of(const struct hmmrt_window *window)
{
	return (struct hmmrt_policy_window){
		.first = hmmrt_window_index(window, 0),
		.count = hmmrt_window_pages(window),
	};
}

static void choose_window(struct hmmrt_request *req)
{
	const struct hmmrt_block_map *map = hmmrt_request_map(req);
	struct hmmrt_window *window = &req->window;
	unsigned long start = window->block->start;
	unsigned int page = hmmrt_index_in_block(window->block, req->addr);
	struct hmmrt_policy_window win;
	unsigned int lowest;

	if (req->retry.narrow) {
		window->start = req->addr;
		window->end = req->addr + PAGE_SIZE;
		return;
	}
	win = policy_window(req, page);
	lowest = hmmrt_window_index(window, 0);
	if ((req->access & HMMRT_ACCESS_WRITE) &&
	    (req->policy.advice.flags & HMMRT_RANGE_READ_MOSTLY))
		win = hmmrt_policy_write_window(map->writable, win, lowest,
						page);
	start += (unsigned long)win.first << PAGE_SHIFT;
	window->start = max(window->start, start);
	window->end = min(window->end,
			  start + ((unsigned long)win.count << PAGE_SHIFT));
}

/*
 * Shrink the window, the mapped part of the block, to what this fault moves. If
 * nothing moves, hmmrt_snapshot_widen() widens it again.
 */
void hmmrt_fault_window(struct hmmrt_request *req)
{
	hmmrt_request_advise(req, req->addr);
	req->policy.within = pages_of(&req->window);
	choose_window(req);
	req->policy.chosen = pages_of(&req->window);
}

/* The page that the request must map, as policy sees it. */
static struct hmmrt_policy_page policy_page(const struct hmmrt_request *req,
					    bool migratable)
{
	const struct hmmrt_device *dev = req->binding->dev;
	const u32 *knobs = req->policy.knobs.of;

	return (struct hmmrt_policy_page){
		.advice = &req->policy.advice,
		.device = dev->id,
		.migration_policy = knobs[HMMRT_KNOB_MIGRATION_POLICY],
		.read_duplication = knobs[HMMRT_KNOB_READ_DUPLICATION],
		.write = req->access & HMMRT_ACCESS_WRITE,
		.migratable = migratable &&
			      !(dev->flags & HMMRT_DEVICE_FAULT_IN_PLACE),
	};
}

/*
 * Returns true if a fault of this device moves the migratable memory object at
 * the address. There are no duplicates of memory objects, and thrashing of them
 * is not watched.
 */
bool hmmrt_object_may_migrate(struct hmmrt_request *req)
{
	const struct hmmrt_policy_page page = policy_page(req, true);
	struct hmmrt_policy_decision decision = hmmrt_policy_residency(&page);

	req->policy.rule = decision.rule;
	return decision.want != HMMRT_POLICY_STAY;
}

/* Decide whether a fault of this device moves or duplicates the pages. */
enum hmmrt_policy_want hmmrt_fault_want(struct hmmrt_request *req)
{
	struct hmmrt_policy_page page =
		policy_page(req, hmmrt_vma_may_migrate(req->window.vma));
	struct hmmrt_policy_decision decision;

	decision = hmmrt_policy_residency(&page);
	/*
	 * Asking counts a fault as thrashing, so ask only if pages would move,
	 * and not again when memory was already evicted for this request.
	 */
	if (decision.want != HMMRT_POLICY_STAY && !req->memory.reserved) {
		page.too_small = hmmrt_request_thrashes(req);
		page.pinned = hmmrt_block_is_pinned(req->window.block,
						    &req->policy.knobs);
		decision = hmmrt_policy_residency(&page);
	}
	req->policy.rule = decision.rule;
	return decision.want;
}
