// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries for a device before it asks for them (HMMRT_ADVICE_SET_ACCESSED_BY).
 *
 * Given      When the advice is, for what is populated, from the page tables:
 *            nothing is faulted in, and what is empty costs nothing.
 * Again      The core takes such entries away like any others. The notifier says
 *            so and a worker maps the block anew, when the invalidation, and the
 *            migration it may be part of, are over. What is populated later is
 *            heard of by nobody: the device faults, once. A block that could not
 *            be mapped is tried again, later and later, until something else is
 *            taken away: then all of them at once.
 * Use        Nobody has touched anything yet. So such an entry tells the core
 *            nothing: the page is not marked accessed, and does not become dirty;
 *            what is clean is mapped for reading.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat/cgroup.h"
#include "hmmrt.h"

/* Attempts to map a part that keeps racing with others. */
#define MAP_ATTEMPTS	8

/* How long a block waits for the mmap_lock before it is tried again later. */
#define MAP_LOCK_WAIT	(HZ / 2)

/* Until what failed is tried again: at first, and at most. */
#define MAP_DELAY	(HZ / 10)
#define MAP_DELAY_MAX	(10 * HZ)

/*
 * Devices move nothing while block->migrate is held, but the core may. Whose
 * invalidation is under way is waited for; who begins later asks for the block
 * again.
 */
static bool core_is_moving(const struct hmmrt_request *req)
{
	lockdep_assert_held(&req->block->migrate);
	mmu_interval_read_begin(&req->block->span->notifier);
	return hmmrt_is_moving(req->vma, req->start,
			       hmmrt_request_pages(req));
}

/* What is populated, where it is; req->start is set. Returns where it ended. */
static unsigned long map_part(struct hmmrt_request *req, unsigned long end)
{
	struct mm_struct *mm = req->block->span->space->mm;
	u32 id = req->binding->dev->id;
	bool moving;
	int rc;

	lockdep_assert_held(&mm->mmap_lock);
	req->end = end;
	req->vma = find_vma(mm, req->start);
	if (!req->vma || req->vma->vm_start >= end)
		return end;
	req->start = max(req->start, req->vma->vm_start);
	req->end = min(end, req->vma->vm_end);
	hmmrt_request_advise(req, req->start);
	if (!hmmrt_policy_maps_ahead(&req->advice, id) ||
	    hmmrt_vma_check(req->vma, HMMRT_ACCESS_READ))
		return req->end;
	rc = hmmrt_block_migrate_lock(req->block);
	if (rc)
		return end;
	moving = core_is_moving(req);
	rc = hmmrt_serve_window(req, false);
	hmmrt_block_migrate_unlock(req->block);
	return moving || rc == -EAGAIN ? req->start : req->end;
}

/* false: it is not all mapped. */
static bool map_block(struct hmmrt_binding *binding, struct hmmrt_block *block,
		      unsigned long start, unsigned long end)
{
	struct mm_struct *mm = binding->space->mm;
	unsigned long end_wait = jiffies + MAP_LOCK_WAIT;
	unsigned int attempts = 0;
	struct hmmrt_request *req;
	bool all = true;

	if (binding->dev->ops->prepare(binding, block->start,
				       block->start + HMMRT_BLOCK_SIZE))
		return false;
	req = hmmrt_request_alloc(binding, block);
	if (!req)
		return false;
	req->ahead = true;
	while (start < end) {
		unsigned long next;

		/* Its holder may wait for a program, and hmmrt_unbind() for us. */
		if (!hmmrt_mmap_read_lock_until(mm, end_wait))
			break;
		req->start = start;
		next = map_part(req, end);
		mmap_read_unlock(mm);
		attempts = next > start ? 0 : attempts + 1;
		if (attempts == MAP_ATTEMPTS) {
			all = false;
			attempts = 0;
			next = req->end;
		}
		start = next;
		cond_resched();
	}
	hmmrt_request_free(req);
	return all && start >= end;
}

/* The list refers to the block. false: the space, or the block, goes already. */
static bool remap_add(struct hmmrt_space *space, struct hmmrt_block *block)
{
	lockdep_assert_held(&space->remap_lock);
	if (space->remap_ended)
		return false;
	if (!list_empty(&block->remap))
		return true;
	if (!hmmrt_block_hold(block))
		return false;
	list_add_tail(&block->remap, &space->remap_blocks);
	return true;
}

/* What has not failed yet, or once. With it all that failed before is tried again. */
static void remap_within(struct hmmrt_block *block, unsigned long delay)
{
	struct hmmrt_space *space = block->span->space;

	spin_lock(&space->remap_lock);
	space->remap_delay = MAP_DELAY;
	if (remap_add(space, block) && !space->remap_soon) {
		space->remap_soon = !delay;
		mod_delayed_work(system_dfl_wq, &space->remap_work, delay);
	}
	spin_unlock(&space->remap_lock);
}

/* It failed again. What is to run sooner is not put off. */
static void remap_later(struct hmmrt_block *block)
{
	struct hmmrt_space *space = block->span->space;

	spin_lock(&space->remap_lock);
	if (remap_add(space, block))
		queue_delayed_work(system_dfl_wq, &space->remap_work,
				   space->remap_delay);
	spin_unlock(&space->remap_lock);
}

/* Whether some of a block is to be mapped for a device before it asks. */
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

/* For one device, of which there may be no map yet. false: it is not all mapped. */
static bool remap_for(struct hmmrt_binding *binding, struct hmmrt_block *block)
{
	struct hmmrt_block *same = hmmrt_block_get(binding->space, block->start,
						   binding->dev->id);
	bool all;

	if (IS_ERR(same))
		return false;
	all = map_block(binding, same, same->start,
			same->start + HMMRT_BLOCK_SIZE);
	hmmrt_block_put(same);
	return all;
}

/*
 * For the devices that access it, also those that have never been here. false: it
 * is not all mapped.
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
		    !remap_for(binding, block))
			all = false;
		hmmrt_binding_put(binding);
	}
	return all;
}

/*
 * The next of @todo, with the reference that the list had; from here on it may be
 * wanted again.
 */
static struct hmmrt_block *remap_take(struct hmmrt_space *space,
				      struct list_head *todo)
{
	struct hmmrt_block *block;

	spin_lock(&space->remap_lock);
	block = list_first_entry_or_null(todo, struct hmmrt_block, remap);
	if (block)
		list_del_init(&block->remap);
	spin_unlock(&space->remap_lock);
	return block;
}

static void remap_set_delay(struct hmmrt_space *space, bool failed)
{
	spin_lock(&space->remap_lock);
	space->remap_delay = failed ? min_t(unsigned long, MAP_DELAY_MAX,
					    2 * space->remap_delay) :
				      MAP_DELAY;
	spin_unlock(&space->remap_lock);
}

static void remap_work(struct work_struct *work)
{
	struct hmmrt_space *space =
		container_of(work, struct hmmrt_space, remap_work.work);
	struct hmmrt_charging charging;
	struct hmmrt_block *block;
	bool failed = false;
	LIST_HEAD(todo);

	/* The process is going: nobody will access anything. */
	if (!mmget_not_zero(space->mm))
		return;
	spin_lock(&space->remap_lock);
	list_splice_init(&space->remap_blocks, &todo);
	space->remap_soon = false;
	spin_unlock(&space->remap_lock);
	charging = hmmrt_charge_to(space->mm);
	while ((block = remap_take(space, &todo))) {
		if (!READ_ONCE(space->remap_ended) &&
		    !remap_block(space, block)) {
			remap_later(block);
			failed = true;
		}
		hmmrt_block_put(block);
	}
	hmmrt_charge_end(charging);
	remap_set_delay(space, failed);
	mmput_async(space->mm);
}

/**
 * hmmrt_map_ahead_again() - entries of a block were taken away
 * @block: of a space
 *
 * Context: any; in notifiers.
 */
void hmmrt_map_ahead_again(struct hmmrt_block *block)
{
	if (READ_ONCE(block->span->space->maps_ahead))
		remap_within(block, 0);
}

/**
 * hmmrt_map_ahead_all_again() - a device reaches more than it did
 * @space: in use
 *
 * Context: may sleep.
 */
void hmmrt_map_ahead_all_again(struct hmmrt_space *space)
{
	struct hmmrt_block *block;
	unsigned long addr;

	if (!READ_ONCE(space->maps_ahead))
		return;
	for (addr = 0; (block = hmmrt_block_next(space, &addr));
	     addr += HMMRT_BLOCK_SIZE) {
		hmmrt_map_ahead_again(block);
		hmmrt_block_put(block);
		cond_resched();
	}
}

/* Blocks may go afterwards; notifiers may still run. */
void hmmrt_map_ahead_stop(struct hmmrt_space *space)
{
	struct hmmrt_block *block;

	spin_lock(&space->remap_lock);
	WRITE_ONCE(space->remap_ended, true);
	spin_unlock(&space->remap_lock);
	cancel_delayed_work_sync(&space->remap_work);
	while ((block = remap_take(space, &space->remap_blocks)))
		hmmrt_block_put(block);
}

void hmmrt_map_ahead_init(struct hmmrt_space *space)
{
	spin_lock_init(&space->remap_lock);
	INIT_LIST_HEAD(&space->remap_blocks);
	space->remap_delay = MAP_DELAY;
	INIT_DELAYED_WORK(&space->remap_work, remap_work);
}

/* The next block with something in it; *@start is @end if there is none. */
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

/* *@binding is NULL if it has gone. */
static void map_blocks(struct hmmrt_binding **binding, unsigned long start,
		       unsigned long end)
{
	struct hmmrt_space *space = (*binding)->space;

	while (!READ_ONCE((*binding)->going) && !fatal_signal_pending(current)) {
		struct hmmrt_block *block;
		unsigned long next;

		if (next_populated(binding, space, &start, end) || start >= end)
			return;
		next = hmmrt_block_end(start, end);
		block = hmmrt_block_get(space, start, (*binding)->dev->id);
		if (IS_ERR(block))
			return;
		if (!map_block(*binding, block, start, next))
			remap_within(block, MAP_DELAY);
		hmmrt_block_put(block);
		start = next;
	}
}

/**
 * hmmrt_map_ahead() - give a device entries for all that is populated
 * @space: of the process, whose mm is alive
 * @start: first address
 * @end: behind the last one
 * @id: of the device
 *
 * Best effort, where advice says so.
 * Context: may sleep, takes the mmap_lock.
 */
void hmmrt_map_ahead(struct hmmrt_space *space, unsigned long start,
		     unsigned long end, u32 id)
{
	struct hmmrt_binding *binding = hmmrt_space_binding_get(space, id);

	if (!binding)
		return;
	map_blocks(&binding, start, end);
	if (binding)
		hmmrt_binding_put(binding);
}
