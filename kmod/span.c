// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spans and blocks: which part of an address space is mirrored, and the
 * notifier that takes mappings away before the core mm changes them.
 *
 * Model      A span is an mmu_interval_notifier over an aligned window of 64
 *            MiB, so that mmap traffic elsewhere does not make faults here start
 *            again. It has up to 32 blocks of 2 MiB. Both are made at the first
 *            use, and stay until nothing is mapped there any more, or the space
 *            goes; of their lifetime see hmmrt.h and reap.c.
 * Sequence   A span's sequence changes with whatever is unmapped in 64 MiB; so each
 *            block counts those that concern it. A block exists before
 *            hmmrt_block_read_begin(), which reads the count, and then waits for
 *            what is under way in the span. The notifier sets the sequence first,
 *            then looks for blocks, takes each lock and counts; the other side
 *            takes the lock, then checks the count. So either the notifier finds
 *            what was mapped, or the mapping finds that there was one and starts
 *            again. What began before the count was read is over when the wait
 *            is; and who reads a count that has risen sees the sequence that had
 *            been set before that, and waits.
 * Zap        The driver's entries go under block->lock, the device's cached
 *            copies of them afterwards with no block lock held: once for the
 *            whole range. In between nothing is mapped there (map->zapping), and
 *            who else takes entries away, and finds none any more, does not rely
 *            on them being invalidated: it does that itself, before its pages go.
 * Evict      The core announces the pages of a chunk that is evicted one by one. The
 *            first one of a block takes all entries of the block away that may be of
 *            the evicting device's memory, so that the device invalidates once.
 * Terms      'start' is inclusive, 'end' exclusive, both page aligned.
 */
#include <linux/bitmap.h>
#include <linux/init.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "hmmrt.h"
#include "trace.h"

static unsigned int block_index(const struct hmmrt_span *span,
				unsigned long addr)
{
	return (addr - span->start) >> HMMRT_BLOCK_SHIFT;
}

static struct hmmrt_block *span_block(struct hmmrt_span *span,
				      unsigned long addr)
{
	return READ_ONCE(span->blocks[block_index(span, addr)]);
}

static void block_page_range(const struct hmmrt_block *block,
			     unsigned long start, unsigned long end,
			     unsigned int *first, unsigned int *count)
{
	start = max(start, block->start);
	end = min(end, block->start + HMMRT_BLOCK_SIZE);
	*first = (start - block->start) >> PAGE_SHIFT;
	*count = (end - start) >> PAGE_SHIFT;
}

static bool map_has(const struct hmmrt_block_map *map, unsigned int first,
		    unsigned int count)
{
	return map && find_next_bit(map->mapped, first + count, first) <
			      first + count;
}

/* Who has looked at its page tables, and not yet mapped what was there, looks again. */
static void block_invalidated(struct hmmrt_block *block)
{
	lockdep_assert_held(&block->lock);
	WRITE_ONCE(block->invalidations, block->invalidations + 1);
}

/**
 * hmmrt_block_read_begin() - before a look at the page tables of a block
 * @block: in use
 * @span_seq: NULL, or what the core wants to know
 *
 * Waits for an invalidation that is under way in the span.
 * Return: for hmmrt_block_read_retry().
 */
unsigned long hmmrt_block_read_begin(struct hmmrt_block *block,
				     unsigned long *span_seq)
{
	unsigned long seq = READ_ONCE(block->invalidations);
	unsigned long core;

	/* Pairs with span_invalidate(): the count is not newer than the sequence. */
	smp_rmb();
	core = mmu_interval_read_begin(&block->span->notifier);
	if (span_seq)
		*span_seq = core;
	return seq;
}

/*
 * Whether what was seen since hmmrt_block_read_begin() may be wrong. Without the
 * block's lock: may have been, at some moment.
 */
bool hmmrt_block_read_retry(const struct hmmrt_block *block, unsigned long seq)
{
	return READ_ONCE(block->invalidations) != seq;
}

/* Ids of devices that took entries of a block away, by block of the span. */
struct span_zapping {
	unsigned long ids[HMMRT_SPAN_BLOCKS];
};

/* What is being taken away from the devices, of a part of a span. */
struct taking {
	unsigned long start;		/* of what the core announced */
	unsigned long end;
	unsigned long zap_start;	/* of what the devices are to invalidate */
	unsigned long zap_end;
	const void *owner;		/* of an event of exclusive.c, or NULL */
	struct hmmrt_evictor *evictor;	/* the calling thread, or NULL */
	struct list_head copies;	/* to be freed after the invalidation */
	struct span_zapping zapping;	/* what block_zapped() is to be told of */
};

/* Clear @count entries of one device, from index @first on. */
static void map_unmap(struct hmmrt_block *block, unsigned int id,
		      unsigned int first, unsigned int count,
		      struct taking *taking)
{
	struct hmmrt_block_map *map = block->maps[id];
	unsigned long start = block->start + ((unsigned long)first << PAGE_SHIFT);
	struct hmmrt_binding *binding;

	lockdep_assert_held(&block->lock);
	bitmap_clear(map->mapped, first, count);
	bitmap_clear(map->writable, first, count);
	bitmap_clear(map->local, first, count);
	hmmrt_copies_take(map, first, count, &taking->copies);
	binding = hmmrt_space_binding(block->span->space, id);
	if (binding)
		binding->dev->ops->unmap(binding, start,
					 start + ((unsigned long)count
						  << PAGE_SHIFT));
}

/* The device is to invalidate what it had of the block, unless it is unbound. */
static void map_zap(struct hmmrt_block *block, unsigned int id,
		    struct taking *taking)
{
	struct hmmrt_block_map *map = block->maps[id];
	unsigned long *ids =
		&taking->zapping.ids[block_index(block->span, block->start)];

	lockdep_assert_held(&block->lock);
	if (bitmap_empty(map->mapped, HMMRT_BLOCK_PAGES)) {
		WRITE_ONCE(map->faults, 0);
		WRITE_ONCE(map->remote, false);
	}
	if (!hmmrt_space_binding(block->span->space, id) || (*ids & BIT(id)))
		return;
	map->zapping++;
	*ids |= BIT(id);
}

/*
 * Entries of a device that may be of the memory of one that evicts some of it. Its own
 * without copies: those have been taken care of. Of another device's memory there may
 * be entries of system memory among them; they are faulted in again.
 */
static void map_find_evicted(const struct hmmrt_block_map *map, unsigned int id,
			     const struct hmmrt_device *dev,
			     unsigned long *pages)
{
	unsigned int i;

	bitmap_zero(pages, HMMRT_BLOCK_PAGES);
	if (!map)
		return;
	if (id != dev->id) {
		if (map->peers & BIT(dev->id) ||
		    (map->remote && hmmrt_device_is_coherent(dev)))
			bitmap_andnot(pages, map->mapped, map->local,
				      HMMRT_BLOCK_PAGES);
		return;
	}
	bitmap_and(pages, map->mapped, map->local, HMMRT_BLOCK_PAGES);
	if (!map->copies)
		return;
	for_each_set_bit(i, pages, HMMRT_BLOCK_PAGES)
		if (hmmrt_copy_page(map, i))
			__clear_bit(i, pages);
}

/* All that map_find_evicted() finds, of all devices. */
static void block_unmap_evicted(struct hmmrt_block *block,
				struct taking *taking)
{
	DECLARE_BITMAP(pages, HMMRT_BLOCK_PAGES);
	unsigned int id, first, end;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		map_find_evicted(block->maps[id], id, taking->evictor->dev,
				 pages);
		if (bitmap_empty(pages, HMMRT_BLOCK_PAGES))
			continue;
		for_each_set_bitrange(first, end, pages, HMMRT_BLOCK_PAGES)
			map_unmap(block, id, first, end - first, taking);
		map_zap(block, id, taking);
	}
	taking->zap_start = min(taking->zap_start, block->start);
	taking->zap_end = max(taking->zap_end,
			      block->start + HMMRT_BLOCK_SIZE);
}

/*
 * Clear entries of all devices; returns a bitmap of device ids that had some, and may
 * have them cached.
 */
static unsigned long block_unmap(struct hmmrt_block *block,
				 struct taking *taking, bool evicted)
{
	unsigned long touched = 0;
	unsigned int first, count, id;

	block_invalidated(block);
	if (!taking->owner || taking->owner != block->exclusive)
		block->revoked++;
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		if (block->maps[id] && block->maps[id]->zapping)
			touched |= BIT(id);
	if (evicted)
		block_unmap_evicted(block, taking);
	block_page_range(block, taking->start, taking->end, &first, &count);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		if (!map_has(block->maps[id], first, count))
			continue;
		map_unmap(block, id, first, count, taking);
		map_zap(block, id, taking);
	}
	return touched |
	       taking->zapping.ids[block_index(block->span, block->start)];
}

/* What block_unmap() took away is no longer cached. */
static void block_zapped(struct hmmrt_block *block, unsigned long zapping)
{
	unsigned int id;

	mutex_lock(&block->lock);
	for_each_set_bit(id, &zapping, HMMRT_MAX_DEVICES)
		block->maps[id]->zapping--;
	mutex_unlock(&block->lock);
}

/* May not sleep: fine as long as there is nothing to take away. */
static bool span_unused(struct hmmrt_span *span, unsigned long start,
			unsigned long end)
{
	unsigned long va;

	lockdep_assert(srcu_read_lock_held(&hmmrt_srcu));
	for (va = ALIGN_DOWN(start, HMMRT_BLOCK_SIZE); va < end;
	     va += HMMRT_BLOCK_SIZE) {
		struct hmmrt_block *block = span_block(span, va);
		unsigned int first, count, id;
		bool used;

		if (!block)
			continue;
		if (!mutex_trylock(&block->lock))
			return false;
		block_invalidated(block);
		used = block->exclusive;
		block_page_range(block, start, end, &first, &count);
		for (id = 0; id < HMMRT_MAX_DEVICES; id++)
			used |= map_has(block->maps[id], first, count) ||
				(block->maps[id] && block->maps[id]->zapping);
		mutex_unlock(&block->lock);
		if (used)
			return false;
	}
	return true;
}

/* Whether a device has entries of the announced pages. */
static bool block_has(const struct hmmrt_block *block, unsigned int first,
		      unsigned int count)
{
	unsigned int id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		if (map_has(block->maps[id], first, count))
			return true;
	return false;
}

/* What was taken of the block, or NULL. */
static struct hmmrt_taken *evictor_taken(struct hmmrt_evictor *evictor,
					 const struct hmmrt_block *block)
{
	unsigned int i;

	for (i = 0; i < evictor->nr_taken; i++)
		if (evictor->taken[i].block == block->serial)
			return &evictor->taken[i];
	return NULL;
}

/* The first page of a block, if there is room to note what is taken of that. */
static struct hmmrt_taken *evictor_take(struct hmmrt_evictor *evictor,
					const struct hmmrt_block *block)
{
	struct hmmrt_taken *taken;

	lockdep_assert_held(&block->lock);
	if (evictor->nr_taken == HMMRT_EVICTOR_BLOCKS)
		return NULL;
	taken = &evictor->taken[evictor->nr_taken++];
	/* Not the address: the block may go, and the next one be where it was. */
	taken->block = block->serial;
	map_find_evicted(block->maps[evictor->dev->id], evictor->dev->id,
			 evictor->dev, taken->pages);
	return taken;
}

/* Pages of a block go home from a device that had them mapped. */
static void block_note_evicted(struct hmmrt_block *block, unsigned int first,
			       unsigned int count,
			       const struct hmmrt_evictor *evictor)
{
	struct hmmrt_binding *binding;

	lockdep_assert_held(&block->lock);
	hmmrt_history_note_evicted(block, first, count);
	binding = hmmrt_space_binding(block->span->space, evictor->dev->id);
	if (binding)
		atomic64_add(count, &binding->evicted);
	if (evictor->room)
		hmmrt_thrashing_evicted(block, evictor->dev->id, count);
}

/*
 * Pages of a block that a device evicts, under block->lock, before their entries go: the
 * notifier comes before they move, and also to spaces that merely once had them, as
 * before a fork. Those have no entries of theirs, nor had the evictor taken any.
 * Return: whether all entries of what the device evicts are to go.
 */
static bool block_evicted(struct hmmrt_block *block, struct taking *taking)
{
	struct hmmrt_evictor *evictor = taking->evictor;
	struct hmmrt_taken *taken = evictor_taken(evictor, block);
	unsigned int first, count;
	bool had, began = false;

	block_page_range(block, taking->start, taking->end, &first, &count);
	had = map_has(block->maps[evictor->dev->id], first, count);
	if (!taken && block_has(block, first, count)) {
		taken = evictor_take(evictor, block);
		began = taken;
	}
	if (taken) {
		had |= find_next_bit(taken->pages, first + count, first) <
		       first + count;
		bitmap_clear(taken->pages, first, count);
	}
	if (had)
		block_note_evicted(block, first, count, evictor);
	return began;
}

static const void *exclusive_owner(const struct mmu_notifier_range *range)
{
	return range && range->event == MMU_NOTIFY_EXCLUSIVE ? range->owner :
							       NULL;
}

/* Memory that is mapped there afterwards has not moved yet. */
static void block_forget(struct hmmrt_block *block, unsigned long start,
			 unsigned long end)
{
	unsigned int first, count;

	block_page_range(block, start, end, &first, &count);
	hmmrt_history_forget(block, first, count);
}

static unsigned long span_unmap(struct hmmrt_span *span, struct taking *taking,
				const struct mmu_notifier_range *range)
{
	unsigned long touched = 0;
	unsigned long va;

	for (va = ALIGN_DOWN(taking->start, HMMRT_BLOCK_SIZE); va < taking->end;
	     va += HMMRT_BLOCK_SIZE) {
		struct hmmrt_block *block = span_block(span, va);
		bool evicted = false;

		if (!block)
			continue;
		mutex_lock(&block->lock);
		if (taking->evictor)
			evicted = block_evicted(block, taking);
		touched |= block_unmap(block, taking, evicted);
		mutex_unlock(&block->lock);
		if (range && range->event == MMU_NOTIFY_UNMAP)
			block_forget(block, taking->start, taking->end);
	}
	return touched;
}

static void span_zap(struct hmmrt_span *span, unsigned long touched,
		     unsigned long start, unsigned long end)
{
	unsigned int id;

	for_each_set_bit(id, &touched, HMMRT_MAX_DEVICES) {
		struct hmmrt_binding *binding;

		binding = hmmrt_space_binding(span->space, id);
		if (binding)
			binding->dev->ops->invalidate(binding, start, end);
	}
}

static void span_zapped(struct hmmrt_span *span,
			const struct span_zapping *zapping)
{
	unsigned int i;

	for (i = 0; i < HMMRT_SPAN_BLOCKS; i++)
		if (zapping->ids[i])
			block_zapped(span->blocks[i], zapping->ids[i]);
}

/* What is to be mapped ahead may be, now that nothing is in the way. */
static void span_map_again(struct hmmrt_span *span, unsigned long start,
			   unsigned long end)
{
	unsigned long va;

	if (span->borrowed)
		return;
	for (va = ALIGN_DOWN(start, HMMRT_BLOCK_SIZE); va < end;
	     va += HMMRT_BLOCK_SIZE) {
		struct hmmrt_block *block = span_block(span, va);

		if (block)
			hmmrt_map_ahead_again(block);
	}
}

/*
 * Take away what the devices have of a part of a span; @range: because of that, or
 * NULL.
 */
static unsigned long span_take(struct hmmrt_span *span, unsigned long start,
			       unsigned long end,
			       const struct mmu_notifier_range *range)
{
	struct taking taking = {
		.start = start,
		.end = end,
		.zap_start = start,
		.zap_end = end,
		.owner = exclusive_owner(range),
		.evictor = range ? hmmrt_evicting() : NULL,
		.copies = LIST_HEAD_INIT(taking.copies),
	};
	unsigned long touched;

	touched = span_unmap(span, &taking, range);
	span_zap(span, touched, taking.zap_start, taking.zap_end);
	span_zapped(span, &taking.zapping);
	span_map_again(span, start, end);
	hmmrt_copies_free(&taking.copies);
	return touched;
}

static bool span_invalidate(struct mmu_interval_notifier *notifier,
			    const struct mmu_notifier_range *range,
			    unsigned long seq)
{
	struct hmmrt_span *span =
		container_of(notifier, struct hmmrt_span, notifier);
	unsigned long start = max(range->start & PAGE_MASK, span->start);
	/* 'end' is ULONG_MAX when the whole mm goes. */
	unsigned long end = min(range->end - 1, span->start + HMMRT_SPAN_SIZE - 1);
	unsigned long touched;
	int idx;

	end = PAGE_ALIGN_DOWN(end) + PAGE_SIZE;
	mmu_interval_set_seq(notifier, seq);
	/* Pairs with the block's publication, and with read_begin(): see above. */
	smp_mb();
	/* A block that is reaped meanwhile stays until the section ends. */
	idx = srcu_read_lock(&hmmrt_srcu);
	if (!mmu_notifier_range_blockable(range)) {
		bool unused = span_unused(span, start, end);

		srcu_read_unlock(&hmmrt_srcu, idx);
		return unused;
	}
	touched = span_take(span, start, end, range);
	srcu_read_unlock(&hmmrt_srcu, idx);
	if (range->event == MMU_NOTIFY_UNMAP && !span->borrowed)
		hmmrt_reap_unmapped(span);
	trace_hmmrt_invalidate(touched, start, end, range->event);
	atomic64_inc(&span->space->invalidations);
	return true;
}

static const struct mmu_interval_notifier_ops span_notifier_ops = {
	.invalidate = span_invalidate,
};

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
					  HMMRT_SPAN_SIZE, &span_notifier_ops);
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

/* The first insertion may take the mmap_lock; get it over with. */
int hmmrt_span_prepare(struct hmmrt_space *space, unsigned long addr)
{
	struct hmmrt_span *span;

	mutex_lock(&space->spans_lock);
	span = span_get(space, addr);
	mutex_unlock(&space->spans_lock);
	return PTR_ERR_OR_ZERO(span);
}

/* One more reference. In hmmrt_srcu, or with one; false: it goes just now. */
bool hmmrt_block_hold(struct hmmrt_block *block)
{
	return refcount_inc_not_zero(&block->refs);
}

/* @block may be NULL. Its span has a reference still. Context: any. */
void hmmrt_block_put(struct hmmrt_block *block)
{
	if (block)
		refcount_dec(&block->refs);
}

/**
 * hmmrt_block_find() - the block of an address, if there is one
 * @space: in use
 * @addr: any address in the block
 *
 * Return: the block, for hmmrt_block_put(), or NULL: no device has anything there.
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
		block = span_block(span, addr);
	if (block && !hmmrt_block_hold(block))
		block = NULL;
	srcu_read_unlock(&hmmrt_srcu, idx);
	return block;
}

/* The first block of the span at or behind @addr that can be had. */
static struct hmmrt_block *span_next(struct hmmrt_span *span,
				     unsigned long addr)
{
	unsigned int i;

	lockdep_assert_held(&hmmrt_srcu);
	for (i = block_index(span, max(addr, span->start));
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
 * Blocks that are made or go meanwhile may be seen or not.
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
	atomic_long_inc(&span->space->nr_blocks);
	INIT_LIST_HEAD(&block->remap);
	INIT_LIST_HEAD(&block->pinned);
	mutex_init(&block->migrate);
	mutex_init(&block->lock);
	return block;
}

static struct hmmrt_block *block_create(struct hmmrt_span *span,
					unsigned long start)
{
	struct hmmrt_block *block = block_alloc(span, start);

	if (!block)
		return NULL;
	/* Initialised before hmmrt_block_find() and the notifier see it. */
	smp_store_release(&span->blocks[(start - span->start) >>
					HMMRT_BLOCK_SHIFT], block);
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
	block = span_block(span, addr);
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
		/* Zeroed before anybody sees it. */
		smp_store_release(&block->maps[device_id], map);
	}
	/* While the lock is held the span has its reference. */
	refcount_inc(&block->refs);
out_unlock:
	mutex_unlock(&space->spans_lock);
	return block;
}

/* Whether hmmrt_block_get() would find it made. With a binding of the device. */
bool hmmrt_block_is_known(struct hmmrt_binding *binding, unsigned long addr)
{
	struct hmmrt_block *block = hmmrt_block_find(binding->space, addr);
	bool known = block && READ_ONCE(block->maps[binding->dev->id]);

	hmmrt_block_put(block);
	return known;
}

/* No reference is left, and no look-up, in hmmrt_srcu or otherwise, finds it. */
void hmmrt_block_destroy(struct hmmrt_block *block)
{
	unsigned int id;

	atomic_long_dec(&block->span->space->nr_blocks);

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		hmmrt_copies_destroy(block->maps[id]);
		hmmrt_counts_destroy(block->maps[id]);
		kfree(block->maps[id]);
	}
	hmmrt_history_free(block);
	mutex_destroy(&block->migrate);
	mutex_destroy(&block->lock);
	kfree(block);
}

/**
 * hmmrt_span_revoke() - take away what devices have of a range
 * @space: of the process
 * @start: first address
 * @end: behind the last one
 *
 * They fault again, and are served anew. The core's sequence does not change, but
 * each block counts an invalidation under its lock: what was looked up before is
 * not mapped afterwards. duplicate.c relies on that.
 * Context: may sleep.
 */
void hmmrt_span_revoke(struct hmmrt_space *space, unsigned long start,
		       unsigned long end)
{
	struct hmmrt_span *span;
	unsigned long index;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	xa_for_each_range(&space->spans, index, span, start >> HMMRT_SPAN_SHIFT,
			  (end - 1) >> HMMRT_SPAN_SHIFT)
		span_take(span, max(start, span->start),
			  min(end, span->start + HMMRT_SPAN_SIZE), NULL);
	srcu_read_unlock(&hmmrt_srcu, idx);
}

/* Only its span refers to it. */
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
					  HMMRT_BLOCK_SIZE, &span_notifier_ops);
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
 * hmmrt_block_borrow() - a block to look at what is mapped somewhere
 * @space: referenced by the caller; its mm is alive
 * @addr: any address in the block
 *
 * The one that there is; or one that only the caller has, in which no device has
 * anything, nor can have. To look leaves nothing behind.
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

/* Context: may sleep; no lock of ours is held, and no mmap_lock. */
void hmmrt_block_return(struct hmmrt_block *block)
{
	struct hmmrt_span *span = block->span;

	if (!span->borrowed) {
		hmmrt_block_put(block);
		return;
	}
	/* Waits for the notifier; no look-up ever finds the block. */
	mmu_interval_notifier_remove(&span->notifier);
	span_block_destroy(block);
	kfree(span);
}

/* The last user of the space is gone, and hmmrt_srcu readers too. */
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
 * All that a device has of a block; under its lock. Copies are to be freed when the
 * device no longer uses them.
 */
void hmmrt_map_forget(struct hmmrt_block_map *map, struct list_head *taken)
{
	bitmap_zero(map->mapped, HMMRT_BLOCK_PAGES);
	bitmap_zero(map->writable, HMMRT_BLOCK_PAGES);
	bitmap_zero(map->local, HMMRT_BLOCK_PAGES);
	map->peers = 0;
	map->remote = false;
	hmmrt_copies_take(map, 0, HMMRT_BLOCK_PAGES, taken);
}

/*
 * A binding is gone with all its entries: forget what it had mapped, and bring
 * home what its device has there, if there is still a process to have it.
 */
void hmmrt_spans_forget_binding(struct hmmrt_binding *binding)
{
	struct hmmrt_space *space = binding->space;
	u32 device_id = binding->dev->id;
	bool alive = mmget_not_zero(space->mm);
	struct hmmrt_block *block;
	unsigned long addr;
	LIST_HEAD(taken);

	for (addr = 0; (block = hmmrt_block_next(space, &addr));
	     addr += HMMRT_BLOCK_SIZE) {
		if (READ_ONCE(block->maps[device_id])) {
			mutex_lock(&block->lock);
			hmmrt_map_forget(block->maps[device_id], &taken);
			/* The next binding counts anew. */
			block->maps[device_id]->refaults.away = false;
			mutex_unlock(&block->lock);
			hmmrt_copies_free(&taken);
			INIT_LIST_HEAD(&taken);
			if (alive)
				hmmrt_block_come_home(binding, block);
		}
		hmmrt_block_put(block);
	}
	if (alive)
		mmput_async(space->mm);
}

/**
 * hmmrt_lockdep_teach() - what reclaim takes, and what it may be called under
 *
 * Lockdep would learn it from the first reclaim of a mirrored page, long after the
 * first test of what is wrong. Without lockdep, or memory, nothing happens.
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
	/* One then the other, never the other way round. */
	down_read(&space->advice_lock);
	might_lock(&block->lock);
	up_read(&space->advice_lock);
	fs_reclaim_release(GFP_KERNEL);
	mutex_unlock(&block->migrate);
out_free:
	if (block)
		hmmrt_block_destroy(block);
	kfree(span);
	kfree(space);
}
