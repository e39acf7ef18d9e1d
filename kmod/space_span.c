// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans and blocks: which part of an address space is mirrored, and how spans
 * and blocks are made, found and freed. Their notifier is in
 * space_invalidate.c.
 *
 * Model      A span is an mmu_interval_notifier over an aligned window of 64
 *            MiB, so that mmap traffic elsewhere does not make faults here
 *            start again. It has up to 32 blocks of 2 MiB. Both are made at the
 *            first use, and stay until nothing is mapped there any more or the
 *            space is freed. For their lifetime see hmmrt.h and space_reap.c.
 * Terms      'start' is inclusive, 'end' exclusive, both page aligned.
 */
#include <linux/bitmap.h>
#include <linux/init.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "space.h"
#include "space_check.h"

static struct hmmrt_span *span_create(struct hmmrt_space *space,
				      unsigned long start)
{
	struct hmmrt_span *span;
	int rc;

	lockdep_assert_held(&space->spans_lock);
	span = kzalloc(sizeof(*span), GFP_KERNEL_ACCOUNT);
	if (!span)
		return ERR_PTR(-ENOMEM);
	span->space = space;
	span->start = start;
	rc = xa_reserve(&space->spans, start >> HMMRT_SPAN_SHIFT, GFP_KERNEL);
	if (rc)
		goto err_free;
	rc = mmu_interval_notifier_insert(&span->notifier, space->mm, start,
					  HMMRT_SPAN_SIZE, &hmmrt_span_notifier_ops);
	if (rc)
		goto err_release;
	xa_store(&space->spans, start >> HMMRT_SPAN_SHIFT, span, GFP_KERNEL);
	return span;

err_release:
	xa_release(&space->spans, start >> HMMRT_SPAN_SHIFT);
err_free:
	kfree(span);
	return ERR_PTR(rc);
}

static struct hmmrt_span *span_get(struct hmmrt_space *space,
				   unsigned long addr)
{
	struct hmmrt_span *span;

	lockdep_assert_held(&space->spans_lock);
	span = xa_load(&space->spans, addr >> HMMRT_SPAN_SHIFT);
	if (span)
		return span;
	return span_create(space, ALIGN_DOWN(addr, HMMRT_SPAN_SIZE));
}

/*
 * Make the span early: the first insertion of a notifier may take the
 * mmap_lock.
 */
int hmmrt_span_prepare(struct hmmrt_space *space, unsigned long addr)
{
	struct hmmrt_span *span;

	mutex_lock(&space->spans_lock);
	span = span_get(space, addr);
	mutex_unlock(&space->spans_lock);
	return PTR_ERR_OR_ZERO(span);
}

/*
 * Take another reference. The caller is in hmmrt_srcu or has a reference.
 * Returns false if the block is being freed.
 */
bool hmmrt_block_hold(struct hmmrt_block *block)
{
	return refcount_inc_not_zero(&block->refs);
}

/* @block may be NULL. Never drops the span's own reference. Context: any. */
void hmmrt_block_put(struct hmmrt_block *block)
{
	if (block)
		refcount_dec(&block->refs);
}

/**
 * hmmrt_block_find() - find the block of an address
 * @space: in use
 * @addr: any address in the block
 *
 * Return: the block, for hmmrt_block_put(), or NULL: no device has anything
 * there.
 */
struct hmmrt_block *hmmrt_block_find(struct hmmrt_space *space,
				     unsigned long addr)
{
	struct hmmrt_block *block = NULL;
	struct hmmrt_span *span;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	span = xa_load(&space->spans, addr >> HMMRT_SPAN_SHIFT);
	if (span)
		block = hmmrt_span_block(span, addr);
	if (block && !hmmrt_block_hold(block))
		block = NULL;
	srcu_read_unlock(&hmmrt_srcu, idx);
	return block;
}

/* The span's first block at or behind @addr that is not being freed. */
static struct hmmrt_block *span_next(struct hmmrt_span *span,
				     unsigned long addr)
{
	unsigned int i;

	lockdep_assert_held(&hmmrt_srcu);
	for (i = hmmrt_index_in_span(span, max(addr, span->start));
	     i < HMMRT_SPAN_BLOCKS; i++) {
		struct hmmrt_block *block = READ_ONCE(span->blocks[i]);

		if (block && hmmrt_block_hold(block))
			return block;
	}
	return NULL;
}

/**
 * hmmrt_block_next() - the next block of a space
 * @space: in use
 * @addr: in: where to begin; out: where the block begins
 *
 * Blocks that are created or freed at the same time may be seen or not.
 * Return: the block, for hmmrt_block_put(), or NULL: there are no more.
 */
struct hmmrt_block *hmmrt_block_next(struct hmmrt_space *space,
				     unsigned long *addr)
{
	struct hmmrt_block *block = NULL;
	struct hmmrt_span *span;
	unsigned long index;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	xa_for_each_start(&space->spans, index, span,
			  *addr >> HMMRT_SPAN_SHIFT) {
		block = span_next(span, *addr);
		if (block)
			break;
	}
	if (block)
		*addr = block->start;
	srcu_read_unlock(&hmmrt_srcu, idx);
	return block;
}

/**
 * hmmrt_clock_hand_next() - move a clock hand past the next block
 * @hand: of a scan over all blocks of @space
 * @space: in use
 * @limit: of this run of the scan
 *
 * Return: the block, for hmmrt_block_put(), or NULL: the run has reached its
 * limit, or the hand has gone around and stands at 0.
 */
struct hmmrt_block *hmmrt_clock_hand_next(struct hmmrt_clock_hand *hand,
					  struct hmmrt_space *space,
					  struct hmmrt_clock_limit *limit)
{
	struct hmmrt_block *block;

	if (!limit->blocks || !limit->visits)
		return NULL;
	limit->visits--;
	block = hmmrt_block_next(space, &hand->addr);
	hand->addr = block ? hand->addr + HMMRT_BLOCK_SIZE : 0;
	return block;
}

static atomic64_t block_serials = ATOMIC64_INIT(0);

static struct hmmrt_block *block_alloc(struct hmmrt_span *span,
				       unsigned long start)
{
	struct hmmrt_block *block = kzalloc(sizeof(*block), GFP_KERNEL_ACCOUNT);

	if (!block)
		return NULL;
	block->start = start;
	block->span = span;
	refcount_set(&block->refs, 1);
	block->serial = atomic64_inc_return(&block_serials);
	block->pinned_by = HMMRT_MAX_DEVICES;
	atomic_long_inc(&span->space->nr_blocks);
	INIT_LIST_HEAD(&block->remap);
	INIT_LIST_HEAD(&block->pinned);
	mutex_init(&block->migrate);
	hmmrt_turn_init(&block->turn);
	mutex_init(&block->lock);
	return block;
}

static struct hmmrt_block *block_create(struct hmmrt_span *span,
					unsigned long start)
{
	struct hmmrt_block *block = block_alloc(span, start);

	if (!block)
		return NULL;
	VM_WARN_ON_ONCE(!IS_ALIGNED(start, HMMRT_BLOCK_SIZE) ||
			hmmrt_span_block(span, start));
	/* Initialised before hmmrt_block_find() and the notifier see it. */
	smp_store_release(&span->blocks[hmmrt_index_in_span(span, start)],
			  block);
	return block;
}

/**
 * hmmrt_block_get() - find or make the block of an address
 * @space: referenced by the caller; its mm is alive
 * @addr: any address in the block
 * @device_id: the device that is going to map something there, if below
 *	HMMRT_MAX_DEVICES
 *
 * Context: may sleep; no mmap_lock held.
 * Return: the block, for hmmrt_block_put(), or an ERR_PTR.
 */
struct hmmrt_block *hmmrt_block_get(struct hmmrt_space *space,
				    unsigned long addr, u32 device_id)
{
	struct hmmrt_block *block = hmmrt_block_find(space, addr);
	bool maps = device_id < HMMRT_MAX_DEVICES;
	struct hmmrt_block_map *map;
	struct hmmrt_span *span;

	if (block && (!maps || READ_ONCE(block->maps[device_id])))
		return block;
	hmmrt_block_put(block);
	if (mutex_lock_killable(&space->spans_lock))
		return ERR_PTR(-EINTR);
	span = span_get(space, addr);
	if (IS_ERR(span)) {
		block = ERR_CAST(span);
		goto out_unlock;
	}
	block = hmmrt_span_block(span, addr);
	if (!block)
		block = block_create(span, ALIGN_DOWN(addr, HMMRT_BLOCK_SIZE));
	if (!block) {
		block = ERR_PTR(-ENOMEM);
		goto out_unlock;
	}
	if (maps && !block->maps[device_id]) {
		map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
		if (!map) {
			block = ERR_PTR(-ENOMEM);
			goto out_unlock;
		}
		/* Zeroed before other threads see it. */
		smp_store_release(&block->maps[device_id], map);
	}
	/* The span has its reference as long as spans_lock is held. */
	refcount_inc(&block->refs);
out_unlock:
	mutex_unlock(&space->spans_lock);
	return block;
}

/*
 * Returns true if the block and its map exist, so that hmmrt_block_get() would
 * not allocate. The caller has a binding of the device.
 */
bool hmmrt_block_is_known(struct hmmrt_binding *binding, unsigned long addr)
{
	struct hmmrt_block *block = hmmrt_block_find(binding->space, addr);
	bool known = block && READ_ONCE(block->maps[binding->dev->id]);

	hmmrt_block_put(block);
	return known;
}

/* Context: no reference is left, and no lookup can find the block any more. */
void hmmrt_block_destroy(struct hmmrt_block *block)
{
	unsigned int id;

	hmmrt_block_check_gone(block);
	atomic_long_dec(&block->span->space->nr_blocks);

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		hmmrt_duplicates_destroy(block->maps[id]);
		hmmrt_counts_destroy(block->maps[id]);
		kfree(block->maps[id]);
	}
	hmmrt_history_free(block);
	mutex_destroy(&block->migrate);
	mutex_destroy(&block->lock);
	kfree(block);
}

/* Context: the span has the only reference. */
static void span_block_destroy(struct hmmrt_block *block)
{
	WARN_ON_ONCE(refcount_read(&block->refs) != 1);
	hmmrt_block_destroy(block);
}

static struct hmmrt_block *borrowed_create(struct hmmrt_space *space,
					   unsigned long start)
{
	struct hmmrt_block *block;
	struct hmmrt_span *span;
	int rc;

	span = kzalloc(sizeof(*span), GFP_KERNEL_ACCOUNT);
	if (!span)
		return ERR_PTR(-ENOMEM);
	span->space = space;
	span->start = ALIGN_DOWN(start, HMMRT_SPAN_SIZE);
	span->borrowed = true;
	rc = -ENOMEM;
	block = block_create(span, start);
	if (!block)
		goto err_free;
	rc = mmu_interval_notifier_insert(&span->notifier, space->mm, start,
					  HMMRT_BLOCK_SIZE, &hmmrt_span_notifier_ops);
	if (rc)
		goto err_destroy;
	return block;

err_destroy:
	hmmrt_block_destroy(block);
err_free:
	kfree(span);
	return ERR_PTR(rc);
}

/**
 * hmmrt_block_borrow() - get a block to inspect what is mapped there
 * @space: referenced by the caller; its mm is alive
 * @addr: any address in the block
 *
 * Returns the existing block if there is one. Otherwise it returns a temporary
 * block that only the caller sees, and in which no device can map anything. So
 * an inspection leaves nothing behind.
 * Context: may sleep; no mmap_lock held.
 * Return: the block, for hmmrt_block_return(), or an ERR_PTR.
 */
struct hmmrt_block *hmmrt_block_borrow(struct hmmrt_space *space,
				       unsigned long addr)
{
	struct hmmrt_block *block = hmmrt_block_find(space, addr);

	if (block)
		return block;
	return borrowed_create(space, ALIGN_DOWN(addr, HMMRT_BLOCK_SIZE));
}

/* Context: may sleep; no hmmrt lock and no mmap_lock held. */
void hmmrt_block_return(struct hmmrt_block *block)
{
	struct hmmrt_span *span = block->span;

	if (!span->borrowed) {
		hmmrt_block_put(block);
		return;
	}
	/*
	 * This waits for the notifier. No lookup ever finds a borrowed block.
	 */
	mmu_interval_notifier_remove(&span->notifier);
	span_block_destroy(block);
	kfree(span);
}

/* Context: the space has no user and no hmmrt_srcu reader any more. */
void hmmrt_spans_destroy(struct hmmrt_space *space)
{
	struct hmmrt_span *span;
	unsigned long index;
	unsigned int i;

	xa_for_each(&space->spans, index, span) {
		mmu_interval_notifier_remove(&span->notifier);
		for (i = 0; i < HMMRT_SPAN_BLOCKS; i++)
			if (span->blocks[i])
				span_block_destroy(span->blocks[i]);
		kfree(span);
	}
	xa_destroy(&space->spans);
}

/*
 * Forget all that a device has of a block. Context: block->lock held. The
 * duplicates in @taken are to be freed once the device no longer uses them.
 */
void hmmrt_map_forget(struct hmmrt_block *block, u32 device_id,
		      struct list_head *taken)
{
	struct hmmrt_block_map *map = block->maps[device_id];

	lockdep_assert_held(&block->lock);
	bitmap_zero(map->mapped, HMMRT_BLOCK_PAGES);
	bitmap_zero(map->writable, HMMRT_BLOCK_PAGES);
	bitmap_zero(map->local, HMMRT_BLOCK_PAGES);
	map->bypass = (struct hmmrt_policy_bypass){};
	map->peers = 0;
	map->remote = false;
	hmmrt_duplicates_take(block, device_id, 0, HMMRT_BLOCK_PAGES, taken);
}

/**
 * hmmrt_lockdep_teach() - teach lockdep the lock order around reclaim
 *
 * Without this, lockdep would learn the order from the first reclaim of a
 * mirrored page, which may be long after the first call that breaks it. Does
 * nothing without lockdep or without memory.
 * Context: module init.
 */
void __init hmmrt_lockdep_teach(void)
{
	struct hmmrt_block *block = NULL;
	struct hmmrt_space *space;
	struct hmmrt_span *span;

	if (!IS_ENABLED(CONFIG_PROVE_LOCKING))
		return;
	space = kzalloc(sizeof(*space), GFP_KERNEL);
	span = kzalloc(sizeof(*span), GFP_KERNEL);
	if (!space || !span)
		goto out_free;
	span->space = space;
	block = block_alloc(span, 0);
	if (!block)
		goto out_free;
	hmmrt_advice_init(space);
	mutex_lock(&block->migrate);
	fs_reclaim_acquire(GFP_KERNEL);
	/* block->lock nests inside advice_lock, never the other way round. */
	down_read(&space->advice_lock);
	might_lock(&block->lock);
	up_read(&space->advice_lock);
	fs_reclaim_release(GFP_KERNEL);
	mutex_unlock(&block->migrate);
	hmmrt_extent_lockdep_teach(&block->lock);
out_free:
	if (block)
		hmmrt_block_destroy(block);
	kfree(span);
	kfree(space);
}
