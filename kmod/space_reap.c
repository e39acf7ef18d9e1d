// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reaping: frees the blocks and spans of addresses where nothing is mapped any
 * more.
 *
 * Model      The notifier marks a span when something in it is unmapped, and a
 *            work scans marked spans afterwards. A block is freed if the
 *            process has no page table for any of it, no device has an entry,
 *            and it is not in use. Its maps, its history and the driver's data
 *            for it (forget()) are freed with it. A span is freed with its last
 *            block. A block that is in use at the moment is scanned again
 *            later.
 * Why there  A block that is still mapped has state to keep: why its pages
 *            moved, and if it thrashes. So it stays as long as the core keeps a
 *            page table for the same addresses, even an empty one. Except for a
 *            short time, there are no more blocks than such tables.
 * Safety     A block that is needed again a moment later is created again. One
 *            critical section of block->lock decides that the block is both
 *            empty and unused: entries are written under that lock and with a
 *            reference, and after this decision no reference can be taken. The
 *            block is removed from its span and forgotten under
 *            space->spans_lock, the lock for creating it again. The work waits
 *            for notifiers that still use it.
 * Locking    space->spans_lock, and inside it mmap_lock, which is only tried:
 *            the work waits for no program. A notifier is removed with no lock
 *            held, because that waits for the invalidations under way.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "space.h"
#include "space_check.h"

/* Delay from the first notification, so that one scan handles many. */
#define REAP_DELAY	max(HZ / 20, 1)

/* Blocks and spans that were removed, and are freed at the end. */
struct reaped {
	struct list_head blocks;
	struct list_head spans;
};

/* Returns true if the process has a page table for any of [start, end). */
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

/* Find blocks without page tables, by index. -EBUSY: the mmap_lock is taken. */
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

/* Let drivers free what prepare() has allocated for the block. */
static void block_forget(const struct hmmrt_block *block)
{
	struct hmmrt_space *space = block->span->space;
	unsigned int id;

	lockdep_assert_held(&space->spans_lock);
	WARN_ON_ONCE(refcount_read(&block->refs));
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_binding *binding;

		if (!block->maps[id])
			continue;
		/* A driver frees everything when its binding ends. */
		binding = hmmrt_space_binding_get(space, id);
		if (!binding)
			continue;
		if (binding->dev->ops->forget)
			binding->dev->ops->forget(binding, block->start,
						  block->start +
							  HMMRT_BLOCK_SIZE);
		hmmrt_binding_put(binding);
	}
}

/* Returns false if the block is in use. */
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

/* Returns false if a part of the span has to be scanned again. */
static bool span_reap(struct hmmrt_span *span, struct reaped *reaped)
{
	struct hmmrt_space *space = span->space;
	unsigned long index = span->start >> HMMRT_SPAN_SHIFT;
	unsigned long unmapped;
	bool done = true;
	unsigned int i;

	/* Clear the mark first: an unmap from here on sets it again. */
	xa_clear_mark(&space->spans, index, HMMRT_SPAN_UNMAPPED);
	mutex_lock(&space->spans_lock);
	if (find_unmapped(span, &unmapped)) {
		done = false;
		unmapped = 0;
	}
	for_each_set_bit(i, &unmapped, HMMRT_SPAN_BLOCKS)
		done &= block_reap(span, i, reaped);
	if (done && !memchr_inv(span->blocks, 0, sizeof(span->blocks))) {
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
	list_for_each_entry_safe(span, next_span, &reaped->spans, reaped) {
		hmmrt_span_check_gone(span);
		kfree(span);
	}
}

static void reap_queue(struct hmmrt_space *space)
{
	spin_lock(&space->works_lock);
	if (!space->reap.ended)
		queue_delayed_work(hmmrt_wq, &space->reap.work, REAP_DELAY);
	spin_unlock(&space->works_lock);
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

	/* The process is exiting, so everything is freed with the space. */
	if (!mmget_not_zero(space->mm))
		return;
	/* Only this work, and the end of the space, remove spans. */
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
 * hmmrt_reap_unmapped() - schedule a scan of a span with unmapped parts
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
	INIT_DELAYED_WORK(&space->reap.work, reap_work);
}

/* Afterwards spans may be freed. Notifiers may still run. */
void hmmrt_reap_stop(struct hmmrt_space *space)
{
	spin_lock(&space->works_lock);
	space->reap.ended = true;
	spin_unlock(&space->works_lock);
	cancel_delayed_work_sync(&space->reap.work);
}
