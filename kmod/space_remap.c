// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of a space with entries that are to be mapped again. serve_ahead.c
 * maps them, and says why.
 *
 * Locking    space->works_lock protects the list, which holds a reference to
 *            each block on it.
 */
#include <linux/sched.h>

#include "space.h"

/* First and longest delay before failed blocks are retried. */
#define REMAP_DELAY	(HZ / 10)
#define REMAP_DELAY_MAX	(10 * HZ)

/*
 * Add the block to the list, with a reference. Returns false if the space or
 * the block is going away.
 */
static bool remap_add(struct hmmrt_space *space, struct hmmrt_block *block)
{
	lockdep_assert_held(&space->works_lock);
	VM_WARN_ON_ONCE(block->span->borrowed);
	if (space->remap_ended)
		return false;
	if (!list_empty(&block->remap))
		return true;
	if (!hmmrt_block_hold(block))
		return false;
	list_add_tail(&block->remap, &space->remap_blocks);
	return true;
}

/*
 * Queue a block that has not failed yet or failed once. This retries all blocks
 * that failed earlier too.
 */
static void remap_within(struct hmmrt_block *block, unsigned long delay)
{
	struct hmmrt_space *space = block->span->space;

	spin_lock(&space->works_lock);
	space->remap_delay = REMAP_DELAY;
	if (remap_add(space, block) && !space->remap_soon) {
		space->remap_soon = !delay;
		mod_delayed_work(hmmrt_wq, &space->remap_work, delay);
	}
	spin_unlock(&space->works_lock);
}

/* Queue a block that failed once. */
void hmmrt_remap_soon(struct hmmrt_block *block)
{
	remap_within(block, REMAP_DELAY);
}

/* Queue a block that failed again. Does not delay work that is due sooner. */
void hmmrt_remap_later(struct hmmrt_block *block)
{
	struct hmmrt_space *space = block->span->space;

	spin_lock(&space->works_lock);
	if (remap_add(space, block))
		queue_delayed_work(hmmrt_wq, &space->remap_work,
				   space->remap_delay);
	spin_unlock(&space->works_lock);
}

/* The work begins: move all blocks to @todo. */
void hmmrt_remap_begin(struct hmmrt_space *space, struct list_head *todo)
{
	spin_lock(&space->works_lock);
	list_splice_init(&space->remap_blocks, todo);
	space->remap_soon = false;
	spin_unlock(&space->works_lock);
}

/*
 * Take the next block of @todo, with the reference of the list. From here on it
 * may be queued again.
 */
struct hmmrt_block *hmmrt_remap_take(struct hmmrt_space *space,
				     struct list_head *todo)
{
	struct hmmrt_block *block;

	spin_lock(&space->works_lock);
	block = list_first_entry_or_null(todo, struct hmmrt_block, remap);
	if (block)
		list_del_init(&block->remap);
	spin_unlock(&space->works_lock);
	return block;
}

/*
 * The work ends: choose the delay until the next one. Blocks that it has not
 * tried for lack of time come first then, and soon.
 */
void hmmrt_remap_end(struct hmmrt_space *space, struct list_head *todo,
		     bool failed)
{
	spin_lock(&space->works_lock);
	space->remap_delay = failed ? min_t(unsigned long, REMAP_DELAY_MAX,
					    2 * space->remap_delay) :
				      REMAP_DELAY;
	if (!list_empty(todo)) {
		list_splice(todo, &space->remap_blocks);
		if (!space->remap_ended && !space->remap_soon)
			mod_delayed_work(hmmrt_wq, &space->remap_work,
					 REMAP_DELAY);
	}
	spin_unlock(&space->works_lock);
}

/**
 * hmmrt_map_ahead_again() - map a block again after entries were removed
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
 * hmmrt_map_ahead_range_again() - map blocks again after more may be mapped
 * @space: in use
 * @start: first address
 * @end: end address, exclusive
 *
 * Context: may sleep.
 */
void hmmrt_map_ahead_range_again(struct hmmrt_space *space, unsigned long start,
				 unsigned long end)
{
	unsigned long addr = ALIGN_DOWN(start, HMMRT_BLOCK_SIZE);
	struct hmmrt_block *block;

	if (!READ_ONCE(space->maps_ahead))
		return;
	while (addr < end && (block = hmmrt_block_next(space, &addr))) {
		if (addr < end)
			hmmrt_map_ahead_again(block);
		hmmrt_block_put(block);
		addr += HMMRT_BLOCK_SIZE;
		cond_resched();
	}
}

/* The same for all blocks. */
void hmmrt_map_ahead_all_again(struct hmmrt_space *space)
{
	hmmrt_map_ahead_range_again(space, 0, ULONG_MAX);
}

void hmmrt_remap_init(struct hmmrt_space *space, work_func_t work)
{
	INIT_LIST_HEAD(&space->remap_blocks);
	space->remap_delay = REMAP_DELAY;
	INIT_DELAYED_WORK(&space->remap_work, work);
}

/* After this, blocks may be freed; notifiers may still run. */
void hmmrt_map_ahead_stop(struct hmmrt_space *space)
{
	struct hmmrt_block *block;

	spin_lock(&space->works_lock);
	WRITE_ONCE(space->remap_ended, true);
	spin_unlock(&space->works_lock);
	cancel_delayed_work_sync(&space->remap_work);
	while ((block = hmmrt_remap_take(space, &space->remap_blocks)))
		hmmrt_block_put(block);
}
