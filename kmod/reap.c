// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reaping: what is kept of addresses goes when nothing is mapped there any more.
 *
 * Model      The notifier marks spans of which something is unmapped, and a work
 *            looks at them when that is over. A block goes if the process has no
 *            page table for any of it, no device has an entry, and it is not in use.
 *            With it go its maps, its history and what drivers keep for it
 *            (forget()). A span goes with its last block. What is in use at the
 *            moment is looked at again.
 * Why there  A block that is still mapped has things to remember: why its pages
 *            moved, whether it thrashes. So it stays as long as the page table does
 *            that the core keeps for the same addresses, also one that has become
 *            empty; and there are no more blocks than such tables, for long.
 * Safety     A block that is wanted again a moment later is made again. That it is
 *            empty and not in use is decided together, under block->lock: entries
 *            are written under that lock and with a reference, and afterwards none
 *            can be taken. The block is taken out of its span and forgotten under
 *            space->spans_lock, under which it would be made again. The work waits
 *            for notifiers that still use it.
 * Locking    space->spans_lock, and below it mmap_lock, which is only tried: the
 *            work waits for no program. A notifier is removed without any lock, for
 *            that waits for the invalidations under way.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "hmmrt.h"

/* From the first notification on, so that many are looked at together. */
#define REAP_DELAY	max(HZ / 20, 1)

/* What has gone, and is freed at the end. */
struct reaped {
	struct list_head blocks;
	struct list_head spans;
};

/* Whether the process has a page table for any of [start, end). */
static bool is_populated(struct mm_struct *mm, unsigned long start,
			 unsigned long end)
{
	lockdep_assert_held(&mm->mmap_lock);
	while (start < end) {
		struct vm_area_struct *vma =
			find_vma_intersection(mm, start, end);
		unsigned long until;

		if (!vma)
			return false;
		until = min(end, vma->vm_end);
		if (hmmrt_next_table(vma, max(start, vma->vm_start), until) <
		    until)
			return true;
		start = until;
	}
	return false;
}

/* Blocks of addresses without page tables, by index. -EBUSY: not now. */
static int find_unmapped(const struct hmmrt_span *span, unsigned long *unmapped)
{
	struct mm_struct *mm = span->space->mm;
	unsigned int i;

	lockdep_assert_held(&span->space->spans_lock);
	*unmapped = 0;
	if (!mmap_read_trylock(mm))
		return -EBUSY;
	for (i = 0; i < HMMRT_SPAN_BLOCKS; i++) {
		const struct hmmrt_block *block = span->blocks[i];

		if (block && !is_populated(mm, block->start,
					   block->start + HMMRT_BLOCK_SIZE))
			*unmapped |= BIT(i);
	}
	mmap_read_unlock(mm);
	return 0;
}

static bool block_is_empty(const struct hmmrt_block *block)
{
	unsigned int id;

	lockdep_assert_held(&block->lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		const struct hmmrt_block_map *map = block->maps[id];

		if (map && (map->zapping ||
			    !bitmap_empty(map->mapped, HMMRT_BLOCK_PAGES)))
			return false;
	}
	return !block->exclusive;
}

/* Drivers need not keep what prepare() made. */
static void block_forget(const struct hmmrt_block *block)
{
	struct hmmrt_space *space = block->span->space;
	unsigned int id;
	int idx;

	lockdep_assert_held(&space->spans_lock);
	WARN_ON_ONCE(refcount_read(&block->refs));
	idx = srcu_read_lock(&hmmrt_srcu);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_binding *binding = hmmrt_space_binding(space, id);

		if (block->maps[id] && binding && binding->dev->ops->forget)
			binding->dev->ops->forget(binding, block->start,
						  block->start +
							  HMMRT_BLOCK_SIZE);
	}
	srcu_read_unlock(&hmmrt_srcu, idx);
}

/* false: it is in use. */
static bool block_reap(struct hmmrt_span *span, unsigned int index,
		       struct reaped *reaped)
{
	struct hmmrt_block *block = span->blocks[index];
	bool gone;

	lockdep_assert_held(&span->space->spans_lock);
	mutex_lock(&block->lock);
	gone = block_is_empty(block) && refcount_dec_if_one(&block->refs);
	mutex_unlock(&block->lock);
	if (!gone)
		return false;
	WRITE_ONCE(span->blocks[index], NULL);
	block_forget(block);
	list_add(&block->reaped, &reaped->blocks);
	return true;
}

static bool span_is_empty(const struct hmmrt_span *span)
{
	return !memchr_inv(span->blocks, 0, sizeof(span->blocks));
}

/* false: some of it is to be looked at again. */
static bool span_reap(struct hmmrt_span *span, struct reaped *reaped)
{
	struct hmmrt_space *space = span->space;
	unsigned long index = span->start >> HMMRT_SPAN_SHIFT;
	unsigned long unmapped;
	bool done = true;
	unsigned int i;

	/* First: what is unmapped from here on marks it again. */
	xa_clear_mark(&space->spans, index, HMMRT_SPAN_UNMAPPED);
	mutex_lock(&space->spans_lock);
	if (find_unmapped(span, &unmapped)) {
		done = false;
		unmapped = 0;
	}
	for_each_set_bit(i, &unmapped, HMMRT_SPAN_BLOCKS)
		done &= block_reap(span, i, reaped);
	if (done && span_is_empty(span)) {
		xa_erase(&space->spans, index);
		list_add(&span->reaped, &reaped->spans);
	}
	mutex_unlock(&space->spans_lock);
	if (!done)
		xa_set_mark(&space->spans, index, HMMRT_SPAN_UNMAPPED);
	return done;
}

static void reaped_free(struct reaped *reaped)
{
	struct hmmrt_block *block, *next_block;
	struct hmmrt_span *span, *next_span;

	if (list_empty(&reaped->blocks) && list_empty(&reaped->spans))
		return;
	list_for_each_entry(span, &reaped->spans, reaped)
		mmu_interval_notifier_remove(&span->notifier);
	synchronize_srcu(&hmmrt_srcu);
	list_for_each_entry_safe(block, next_block, &reaped->blocks, reaped)
		hmmrt_block_destroy(block);
	list_for_each_entry_safe(span, next_span, &reaped->spans, reaped)
		kfree(span);
}

static void reap_queue(struct hmmrt_space *space)
{
	spin_lock(&space->reap.lock);
	if (!space->reap.ended)
		queue_delayed_work(system_dfl_wq, &space->reap.work,
				   REAP_DELAY);
	spin_unlock(&space->reap.lock);
}

static void reap_work(struct work_struct *work)
{
	struct hmmrt_space *space =
		container_of(work, struct hmmrt_space, reap.work.work);
	struct reaped reaped = {
		.blocks = LIST_HEAD_INIT(reaped.blocks),
		.spans = LIST_HEAD_INIT(reaped.spans),
	};
	struct hmmrt_span *span;
	unsigned long index;
	bool done = true;

	/* The process is going: all goes with the space. */
	if (!mmget_not_zero(space->mm))
		return;
	/* Only this work, and the end of the space, take spans out. */
	xa_for_each_marked(&space->spans, index, span, HMMRT_SPAN_UNMAPPED) {
		done &= span_reap(span, &reaped);
		cond_resched();
	}
	mmput_async(space->mm);
	reaped_free(&reaped);
	if (!done)
		reap_queue(space);
}

/**
 * hmmrt_reap_unmapped() - something of a span is being unmapped
 * @span: of a space
 *
 * Context: in its notifier.
 */
void hmmrt_reap_unmapped(struct hmmrt_span *span)
{
	struct hmmrt_space *space = span->space;
	unsigned long index = span->start >> HMMRT_SPAN_SHIFT;

	if (!xa_get_mark(&space->spans, index, HMMRT_SPAN_UNMAPPED))
		xa_set_mark(&space->spans, index, HMMRT_SPAN_UNMAPPED);
	reap_queue(space);
}

void hmmrt_reap_init(struct hmmrt_space *space)
{
	spin_lock_init(&space->reap.lock);
	INIT_DELAYED_WORK(&space->reap.work, reap_work);
}

/* Spans may go afterwards; notifiers may still run. */
void hmmrt_reap_stop(struct hmmrt_space *space)
{
	spin_lock(&space->reap.lock);
	space->reap.ended = true;
	spin_unlock(&space->reap.lock);
	cancel_delayed_work_sync(&space->reap.work);
}
