// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping memory for a device before it faults (HMMRT_ADVICE_SET_ACCESSED_BY).
 *
 * Given      When the advice is given, the populated part of the range is
 *            mapped from the page tables. Nothing is faulted in, and
 *            unpopulated memory costs nothing. Read-mostly memory is mapped
 *            ahead only if it does not migrate: when that is advised later, the
 *            worker maps the blocks that exist.
 * Again      The core invalidates such entries like any others. The notifier
 *            reports it, and a worker maps the block again once the
 *            invalidation, and the migration that it may be part of, are over.
 *            Nothing reports memory that is populated later: the device faults
 *            once. A block that could not be mapped is retried with growing
 *            delays, until something else is invalidated: then all such blocks
 *            are retried at once.
 * Use        Such an entry does not mean that the page was used. So the page is
 *            not marked accessed, and a page that has a clean copy does not
 *            become dirty: it is mapped read-only.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat/cgroup.h"
#include "serve.h"

/* Attempts to map a part that keeps racing with invalidations. */
#define MAP_ATTEMPTS	8

/* How long to wait for the mmap_lock before the block is retried later. */
#define MAP_LOCK_WAIT	(HZ / 2)

/*
 * How long the worker runs before it leaves other blocks for later. A suspend
 * waits for it, up to 20 seconds.
 */
#define REMAP_TIME	HZ

/*
 * Map the populated pages of the first mapping from @start on where they are.
 * Returns the end of what was handled.
 */
static unsigned long map_part(struct hmmrt_request *req, unsigned long start,
			      unsigned long end)
{
	struct hmmrt_window *window = &req->window;
	struct mm_struct *mm = window->block->span->space->mm;
	struct vm_area_struct *vma = find_vma(mm, start);
	u32 id = req->binding->dev->id;
	bool moving;
	int rc;

	lockdep_assert_held(&mm->mmap_lock);
	if (!vma || vma->vm_start >= end)
		return end;
	hmmrt_window_set(window, vma, start, end);
	hmmrt_request_advise(req, window->start);
	if (!hmmrt_policy_maps_ahead(&req->policy.advice, id) ||
	    hmmrt_vma_check(vma, HMMRT_ACCESS_READ))
		return window->end;
	rc = hmmrt_block_migrate_lock(window->block);
	if (rc)
		return end;
	/*
	 * Devices do not migrate pages while block->migrate is held, but the
	 * core may. Wait for invalidations in progress; later ones queue the
	 * block again.
	 */
	mmu_interval_read_begin(&window->block->span->notifier);
	moving =
		hmmrt_is_moving(vma, window->start, hmmrt_window_pages(window));
	rc = hmmrt_window_map(req, HMMRT_POLICY_STAY);
	hmmrt_block_migrate_unlock(window->block);
	return moving || rc == -EAGAIN ? window->start : window->end;
}

/* Returns false if not everything was mapped. */
static bool map_block(struct hmmrt_binding *binding, unsigned long start,
		      unsigned long end)
{
	static const struct hmmrt_request_args args = {
		.node = NUMA_NO_NODE,
		.evict_before = U64_MAX,
		.map = true,
		.ahead = true,
	};
	struct mm_struct *mm = binding->space->mm;
	unsigned long end_wait = jiffies + MAP_LOCK_WAIT;
	unsigned int attempts = 0;
	struct hmmrt_request *req;
	bool all = true;

	req = hmmrt_request_open(binding->space, binding, start, &args);
	if (IS_ERR(req))
		return false;
	while (start < end) {
		unsigned long next;

		/*
		 * The holder of the mmap_lock may wait for a program, and
		 * hmmrt_unbind() waits for this call.
		 */
		if (!hmmrt_mmap_read_lock_until(mm, end_wait))
			break;
		next = map_part(req, start, end);
		mmap_read_unlock(mm);
		attempts = next > start ? 0 : attempts + 1;
		if (attempts == MAP_ATTEMPTS) {
			all = false;
			attempts = 0;
			next = req->window.end;
		}
		start = next;
		cond_resched();
	}
	hmmrt_request_close(req);
	return all && start >= end;
}

/* Return whether any part of the block is to be mapped ahead for the device. */
static bool block_maps_ahead(struct hmmrt_space *space,
			     const struct hmmrt_block *block, u32 id)
{
	unsigned long end = block->start + HMMRT_BLOCK_SIZE;
	unsigned long addr = block->start;

	while (addr < end) {
		unsigned long start = addr, next = end;
		struct hmmrt_advice advice;

		advice = hmmrt_advice_at(space, addr, &start, &next);
		if (hmmrt_policy_maps_ahead(&advice, id))
			return true;
		addr = next;
	}
	return false;
}

/*
 * Map the block for all devices that the advice names, even if they never used
 * it. Returns false if not everything was mapped.
 */
static bool remap_block(struct hmmrt_space *space, struct hmmrt_block *block)
{
	bool all = true;
	u32 id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_binding *binding;

		binding = hmmrt_space_binding_get(space, id);
		if (!binding)
			continue;
		if (block_maps_ahead(space, block, id) &&
		    !map_block(binding, block->start,
			       block->start + HMMRT_BLOCK_SIZE))
			all = false;
		hmmrt_binding_put(binding);
	}
	return all;
}

static void remap_work(struct work_struct *work)
{
	struct hmmrt_space *space =
		container_of(work, struct hmmrt_space, remap_work.work);
	unsigned long end = jiffies + REMAP_TIME;
	struct hmmrt_charging charging;
	struct hmmrt_block *block;
	bool failed = false;
	LIST_HEAD(todo);

	/* The process is exiting, so there is nothing to map. */
	if (!mmget_not_zero(space->mm))
		return;
	hmmrt_remap_begin(space, &todo);
	charging = hmmrt_charge_to(space->mm);
	while (time_before(jiffies, end) &&
	       (block = hmmrt_remap_take(space, &todo))) {
		if (!READ_ONCE(space->remap_ended) &&
		    !remap_block(space, block)) {
			hmmrt_remap_later(block);
			failed = true;
		}
		hmmrt_block_put(block);
	}
	hmmrt_charge_end(charging);
	hmmrt_remap_end(space, &todo, failed);
	mmput_async(space->mm);
}

void hmmrt_map_ahead_init(struct hmmrt_space *space)
{
	hmmrt_remap_init(space, remap_work);
}

/* Advance *@start to the next populated part, or to @end if nothing is. */
static int next_populated(struct hmmrt_binding **binding,
			  struct hmmrt_space *space, unsigned long *start,
			  unsigned long end)
{
	struct mm_struct *mm = space->mm;
	struct vm_area_struct *vma;
	int rc = hmmrt_binding_mmap_read_lock(binding, space);

	if (rc)
		return rc;
	while (*start < end) {
		unsigned long until;

		vma = find_vma(mm, *start);
		if (!vma || vma->vm_start >= end) {
			*start = end;
			break;
		}
		until = min(end, vma->vm_end);
		*start = hmmrt_next_table(vma, max(*start, vma->vm_start),
					  until);
		if (*start < until)
			break;
	}
	mmap_read_unlock(mm);
	return 0;
}

/**
 * hmmrt_map_ahead() - map all populated memory of a range for a device
 * @space: space of the process, with an mm that is alive
 * @start: first address
 * @end: end address, exclusive
 * @id: id of the device
 *
 * Best effort, and only where advice asks for it.
 * Context: may sleep, takes the mmap_lock.
 */
void hmmrt_map_ahead(struct hmmrt_space *space, unsigned long start,
		     unsigned long end, u32 id)
{
	struct hmmrt_binding *binding = hmmrt_space_binding_get(space, id);

	if (!binding)
		return;
	while (!READ_ONCE(binding->going) && !fatal_signal_pending(current)) {
		struct hmmrt_block *block;
		unsigned long next;

		/* Sets @binding to NULL if the binding is gone. */
		if (next_populated(&binding, space, &start, end) ||
		    start >= end)
			break;
		next = hmmrt_block_end(start, end);
		block = hmmrt_block_get(space, start, id);
		if (IS_ERR(block))
			break;
		if (!map_block(binding, start, next))
			hmmrt_remap_soon(block);
		hmmrt_block_put(block);
		start = next;
	}
	if (binding)
		hmmrt_binding_put(binding);
}
