// SPDX-License-Identifier: GPL-2.0-only
/*
 * Invalidation: the notifier of a span takes mappings away from devices before
 * the core mm changes them.
 *
 * Sequence   The sequence of a span's notifier changes with every invalidation
 *            in its 64 MiB. So each block counts the invalidations that concern
 *            it. A block exists before hmmrt_block_read_begin(), which first
 *            reads the count and then waits for invalidations under way in the
 *            span. The notifier first sets the sequence, then finds blocks,
 *            takes each block's lock and increments its count. The mapping side
 *            takes the lock, then checks the count. So either the notifier
 *            finds the new entries, or the mapping side finds that the count
 *            has changed and starts again. An invalidation that began before
 *            the count was read has ended when the wait ends. A reader that
 *            sees an incremented count also sees the sequence that was set
 *            before, and waits.
 * Zap        The driver's entries are removed under block->lock. The device's
 *            cached copies of them are invalidated afterwards, once for the
 *            whole range, with no block lock held. In between nothing is mapped
 *            there (map->zapping). Another thread that takes entries away at
 *            that time finds none, but must not rely on the pending
 *            invalidation: it invalidates the device itself before its pages
 *            are freed.
 * Evict      The core announces those pages of an evicted chunk in one range
 *            that are still in the block they were allocated for, and others one
 *            by one. The first announcement of a block removes all entries of
 *            the block that may point to the evicting device's memory, so that
 *            the device invalidates once.
 * Terms      'start' is inclusive, 'end' exclusive, both page aligned.
 */
#include <linux/bitmap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "space.h"
#include "space_check.h"

#define ALL_DEVICES	(BIT(HMMRT_MAX_DEVICES) - 1)

static void block_page_range(const struct hmmrt_block *block,
			     unsigned long start, unsigned long end,
			     unsigned int *first, unsigned int *count)
{
	start = max(start, block->start);
	end = min(end, block->start + HMMRT_BLOCK_SIZE);
	VM_WARN_ON_ONCE(start >= end);
	*first = hmmrt_index_in_block(block, start);
	*count = (end - start) >> PAGE_SHIFT;
}

static bool map_has(const struct hmmrt_block_map *map, unsigned int first,
		    unsigned int count)
{
	return map && find_next_bit(map->mapped, first + count, first) <
			      first + count;
}

/* Make every reader that has not mapped its snapshot yet take a new one. */
static void block_invalidated(struct hmmrt_block *block)
{
	lockdep_assert_held(&block->lock);
	WRITE_ONCE(block->invalidations, block->invalidations + 1);
}

/**
 * hmmrt_block_read_begin() - call before reading the page tables of a block
 * @block: in use
 * @span_seq: out: the notifier's sequence, for the core; may be NULL
 *
 * Waits for an invalidation that is under way in the span.
 * Return: for hmmrt_block_read_retry().
 */
unsigned long hmmrt_block_read_begin(struct hmmrt_block *block,
				     unsigned long *span_seq)
{
	unsigned long seq = READ_ONCE(block->invalidations);
	unsigned long core;

	hmmrt_may_wait();
	/*
	 * Pairs with span_invalidate(): the count is not newer than the
	 * sequence.
	 */
	smp_rmb();
	core = mmu_interval_read_begin(&block->span->notifier);
	if (span_seq)
		*span_seq = core;
	return seq;
}

/*
 * Returns true if a snapshot since hmmrt_block_read_begin() may be stale. The
 * answer is stable under the block's lock only; without it, it may be out of
 * date at once.
 */
bool hmmrt_block_read_retry(const struct hmmrt_block *block, unsigned long seq)
{
	unsigned long now = READ_ONCE(block->invalidations);

	/* The count only grows: a greater @seq is of another block. */
	VM_WARN_ON_ONCE((long)(now - seq) < 0);
	return now != seq;
}

/* Ids of the devices that lost entries of a block, by block of the span. */
struct span_zapping {
	unsigned long ids[HMMRT_SPAN_BLOCKS];
};

/* The entries that are being taken away from devices in a part of a span. */
struct taking {
	unsigned long start;		/* of the announced range */
	unsigned long end;
	unsigned long ids;		/* of the devices that lose entries */
	unsigned long zap_start;	/* of the range to invalidate */
	unsigned long zap_end;
	/* The owner of serve_exclusive.c's event, or NULL. */
	const void *owner;
	struct hmmrt_evictor *evictor;	/* the calling thread, or NULL */
	struct list_head duplicates;	/* to be freed after the invalidation */
	struct span_zapping zapping;	/* for span_zapped() */
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
	hmmrt_map_check(block, id);
	hmmrt_duplicates_take(block, id, first, count, &taking->duplicates);
	binding = hmmrt_space_binding(block->span->space, id);
	if (binding)
		binding->dev->ops->unmap(binding, start,
					 start + ((unsigned long)count
						  << PAGE_SHIFT));
}

/* Note that the device has to invalidate the block, unless it is unbound. */
static void map_zap(struct hmmrt_block *block, unsigned int id,
		    struct taking *taking)
{
	struct hmmrt_block_map *map = block->maps[id];
	unsigned long *ids =
		&taking->zapping.ids[hmmrt_index_in_span(block->span,
							 block->start)];

	lockdep_assert_held(&block->lock);
	if (bitmap_empty(map->mapped, HMMRT_BLOCK_PAGES)) {
		WRITE_ONCE(map->faults, 0);
		WRITE_ONCE(map->remote, false);
		hmmrt_policy_bypass_end(&map->bypass);
	}
	if (!hmmrt_space_binding(block->span->space, id) || (*ids & BIT(id)))
		return;
	map->zapping++;
	*ids |= BIT(id);
}

/*
 * Find entries of device @id that may point to memory of @dev, which evicts
 * some of it. The evicting device's own duplicates are excluded, because they
 * have been handled already. For another device the entries may include system
 * memory; those are faulted in again.
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
	if (!map->duplicates)
		return;
	for_each_set_bit(i, pages, HMMRT_BLOCK_PAGES)
		if (hmmrt_duplicate_page(map, i))
			__clear_bit(i, pages);
}

/* Remove all entries that map_find_evicted() finds, of all devices. */
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
 * Remove entries of all devices. Returns a bitmap of the device ids that had
 * some, and may have them cached.
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
		if (!(taking->ids & BIT(id)) ||
		    !map_has(block->maps[id], first, count))
			continue;
		map_unmap(block, id, first, count, taking);
		map_zap(block, id, taking);
	}
	return touched |
	       taking->zapping.ids[hmmrt_index_in_span(block->span,
						       block->start)];
}

/* Must not sleep. Returns true if there is nothing to take away. */
static bool span_unused(struct hmmrt_span *span, unsigned long start,
			unsigned long end)
{
	unsigned long va;

	lockdep_assert(srcu_read_lock_held(&hmmrt_srcu));
	for (va = ALIGN_DOWN(start, HMMRT_BLOCK_SIZE); va < end;
	     va += HMMRT_BLOCK_SIZE) {
		struct hmmrt_block *block = hmmrt_span_block(span, va);
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

/* Returns true if a device has entries of the announced pages. */
static bool block_has(const struct hmmrt_block *block, unsigned int first,
		      unsigned int count)
{
	unsigned int id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		if (map_has(block->maps[id], first, count))
			return true;
	return false;
}

static DEFINE_SPINLOCK(evictors_lock);
static LIST_HEAD(evictors);

/* The entry of the calling thread if it is evicting pages, or NULL. */
static struct hmmrt_evictor *current_evictor(void)
{
	struct hmmrt_evictor *evictor, *found = NULL;

	/* Lockless check is safe: only current adds an entry for current. */
	if (list_empty(&evictors))
		return NULL;
	spin_lock(&evictors_lock);
	list_for_each_entry(evictor, &evictors, link) {
		if (evictor->task == current) {
			found = evictor;
			break;
		}
	}
	spin_unlock(&evictors_lock);
	return found;
}

/**
 * hmmrt_evictor_begin() - the calling thread will unmap pages to evict
 * @evictor: must stay valid until hmmrt_evictor_end()
 * @dev: the device that evicts them
 * @for_alloc: another allocation waits for their memory
 */
void hmmrt_evictor_begin(struct hmmrt_evictor *evictor,
			 struct hmmrt_device *dev, bool for_alloc)
{
	VM_WARN_ON_ONCE(current_evictor());
	evictor->task = current;
	evictor->dev = dev;
	evictor->for_alloc = for_alloc;
	evictor->home = 0;
	bitmap_fill(evictor->pages, HMMRT_BLOCK_PAGES);
	evictor->nr_taken = 0;
	spin_lock(&evictors_lock);
	list_add(&evictor->link, &evictors);
	spin_unlock(&evictors_lock);
}

/**
 * hmmrt_evictor_expect() - the core will announce pages of a block in a range
 * @evictor: of hmmrt_evictor_begin()
 * @home: the block's address; a child of a fork has the pages there, too
 * @pages: those of the pages that are evicted, by their index in the block
 */
void hmmrt_evictor_expect(struct hmmrt_evictor *evictor, unsigned long home,
			  const unsigned long *pages)
{
	evictor->home = home;
	bitmap_copy(evictor->pages, pages, HMMRT_BLOCK_PAGES);
}

void hmmrt_evictor_end(struct hmmrt_evictor *evictor)
{
	VM_WARN_ON_ONCE(evictor->nr_taken > HMMRT_EVICTOR_BLOCKS);
	VM_WARN_ON_ONCE(current_evictor() != evictor);
	spin_lock(&evictors_lock);
	list_del(&evictor->link);
	spin_unlock(&evictors_lock);
}

/* The entries taken from the block so far, or NULL. */
static struct hmmrt_taken *evictor_taken(struct hmmrt_evictor *evictor,
					 const struct hmmrt_block *block)
{
	unsigned int i;

	for (i = 0; i < evictor->nr_taken; i++)
		if (evictor->taken[i].block == block->serial)
			return &evictor->taken[i];
	return NULL;
}

/*
 * Record the first evicted page of a block, if there is a record left to use.
 */
static struct hmmrt_taken *evictor_take(struct hmmrt_evictor *evictor,
					const struct hmmrt_block *block)
{
	struct hmmrt_taken *taken;

	lockdep_assert_held(&block->lock);
	if (evictor->nr_taken == HMMRT_EVICTOR_BLOCKS)
		return NULL;
	taken = &evictor->taken[evictor->nr_taken++];
	/* Use the serial: a new block may get the address of a freed block. */
	taken->block = block->serial;
	map_find_evicted(block->maps[evictor->dev->id], evictor->dev->id,
			 evictor->dev, taken->pages);
	return taken;
}

/* Account for pages that a device evicts. */
static void block_note_evicted(struct hmmrt_block *block, unsigned int first,
			       unsigned int count,
			       const struct hmmrt_evictor *evictor)
{
	struct hmmrt_binding *binding;

	lockdep_assert_held(&block->lock);
	hmmrt_history_note_evicted(block, first, count);
	binding = hmmrt_space_binding(block->span->space, evictor->dev->id);
	if (binding) {
		atomic64_add(count, &binding->evicted);
		hmmrt_event(&block->span->space->events,
			    .type = HMMRT_EVENT_MIGRATION,
			    .addr = block->start +
				    ((unsigned long)first << PAGE_SHIFT),
			    .pages = count, .from = evictor->dev->id,
			    .to = HMMRT_LOCATION_HOST,
			    .cause = HMMRT_CAUSE_EVICTION);
	}
	if (evictor->for_alloc)
		hmmrt_block_note_given_up(block, evictor->dev->id, count);
}

/* Return whether the evictor moves a page that the core announces. */
static bool evictor_evicts(const struct hmmrt_evictor *evictor,
			   const struct hmmrt_block *block, unsigned int index)
{
	return block->start != evictor->home || test_bit(index, evictor->pages);
}

/*
 * Handle pages of a block that a device evicts, before their entries are
 * removed. Runs under block->lock. The notifier runs before the pages move, and
 * also for spaces that merely had the pages once, for example before a fork.
 * Such a space has not moved them there, has no entries of them, and the evictor
 * has taken none from it. Pages that came by fork() or mremap() and have lost
 * their entries since look the same, and don't count.
 * Return: whether all entries of the evicting device's memory have to go.
 */
static bool block_evicted(struct hmmrt_block *block, struct taking *taking)
{
	struct hmmrt_evictor *evictor = taking->evictor;
	struct hmmrt_taken *taken = evictor_taken(evictor, block);
	DECLARE_BITMAP(evicted, HMMRT_BLOCK_PAGES) = {};
	unsigned int i, first, count, end;
	bool began = false;

	block_page_range(block, taking->start, taking->end, &first, &count);
	if (!taken && block_has(block, first, count)) {
		taken = evictor_take(evictor, block);
		began = taken;
	}
	for (i = first; i < first + count; i++) {
		if (!evictor_evicts(evictor, block, i))
			continue;
		/*
		 * A page may be there without an entry, due to advice or
		 * mprotect().
		 */
		if (map_has(block->maps[evictor->dev->id], i, 1) ||
		    hmmrt_history_has(block, i, 1, evictor->dev->id) ||
		    (taken && test_bit(i, taken->pages)))
			__set_bit(i, evicted);
	}
	if (taken)
		bitmap_clear(taken->pages, first, count);
	for_each_set_bitrange(first, end, evicted, HMMRT_BLOCK_PAGES)
		block_note_evicted(block, first, end - first, evictor);
	return began;
}

static const void *exclusive_owner(const struct mmu_notifier_range *range)
{
	return range && range->event == MMU_NOTIFY_EXCLUSIVE ? range->owner :
							       NULL;
}

static unsigned long span_unmap(struct hmmrt_span *span, struct taking *taking,
				const struct mmu_notifier_range *range)
{
	unsigned long touched = 0;
	unsigned long va;

	for (va = ALIGN_DOWN(taking->start, HMMRT_BLOCK_SIZE); va < taking->end;
	     va += HMMRT_BLOCK_SIZE) {
		struct hmmrt_block *block = hmmrt_span_block(span, va);
		unsigned int first, count;
		bool evicted = false;

		if (!block)
			continue;
		mutex_lock(&block->lock);
		if (taking->evictor)
			evicted = block_evicted(block, taking);
		touched |= block_unmap(block, taking, evicted);
		if (range && range->event == MMU_NOTIFY_UNMAP) {
			block_page_range(block, taking->start, taking->end,
					 &first, &count);
			hmmrt_history_unmapped(block, first, count);
		}
		mutex_unlock(&block->lock);
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

/* The devices no longer cache the entries that block_unmap() removed. */
static void span_zapped(struct hmmrt_span *span,
			const struct span_zapping *zapping)
{
	unsigned int i, id;

	for (i = 0; i < HMMRT_SPAN_BLOCKS; i++) {
		struct hmmrt_block *block;

		if (!zapping->ids[i])
			continue;
		/* It stays while one of its maps is zapping. */
		block = span->blocks[i];
		mutex_lock(&block->lock);
		for_each_set_bit(id, &zapping->ids[i], HMMRT_MAX_DEVICES) {
			VM_WARN_ON_ONCE(!block->maps[id]->zapping);
			block->maps[id]->zapping--;
		}
		mutex_unlock(&block->lock);
	}
}

/* Map pages ahead again, now that the invalidation is over. */
static void span_map_again(struct hmmrt_span *span, unsigned long start,
			   unsigned long end)
{
	unsigned long va;

	if (span->borrowed)
		return;
	for (va = ALIGN_DOWN(start, HMMRT_BLOCK_SIZE); va < end;
	     va += HMMRT_BLOCK_SIZE) {
		struct hmmrt_block *block = hmmrt_span_block(span, va);

		if (block)
			hmmrt_map_ahead_again(block);
	}
}

/*
 * Take away what the devices in @ids have mapped of a part of a span. @range is
 * the event that causes this, or NULL.
 */
static unsigned long span_take(struct hmmrt_span *span, unsigned long start,
			       unsigned long end, unsigned long ids,
			       const struct mmu_notifier_range *range)
{
	struct taking taking = {
		.start = start,
		.end = end,
		.ids = ids,
		.zap_start = start,
		.zap_end = end,
		.owner = exclusive_owner(range),
		.evictor = range ? current_evictor() : NULL,
		.duplicates = LIST_HEAD_INIT(taking.duplicates),
	};
	unsigned long touched;

	touched = span_unmap(span, &taking, range);
	span_zap(span, touched, taking.zap_start, taking.zap_end);
	span_zapped(span, &taking.zapping);
	span_map_again(span, start, end);
	hmmrt_duplicates_free(&taking.duplicates);
	return touched;
}

/* The numbers of the core are its own, and may change. */
static enum hmmrt_event_change change_of(enum mmu_notifier_event event)
{
	switch (event) {
	case MMU_NOTIFY_UNMAP:
		return HMMRT_EVENT_CHANGE_UNMAP;
	case MMU_NOTIFY_CLEAR:
		return HMMRT_EVENT_CHANGE_CLEAR;
	case MMU_NOTIFY_PROTECTION_VMA:
		return HMMRT_EVENT_CHANGE_PROTECTION_VMA;
	case MMU_NOTIFY_PROTECTION_PAGE:
		return HMMRT_EVENT_CHANGE_PROTECTION_PAGE;
	case MMU_NOTIFY_SOFT_DIRTY:
		return HMMRT_EVENT_CHANGE_SOFT_DIRTY;
	case MMU_NOTIFY_RELEASE:
		return HMMRT_EVENT_CHANGE_RELEASE;
	case MMU_NOTIFY_MIGRATE:
		return HMMRT_EVENT_CHANGE_MIGRATE;
	case MMU_NOTIFY_EXCLUSIVE:
		return HMMRT_EVENT_CHANGE_EXCLUSIVE;
	default:
		return HMMRT_EVENT_CHANGE_OTHER;
	}
}

static bool span_invalidate(struct mmu_interval_notifier *notifier,
			    const struct mmu_notifier_range *range,
			    unsigned long seq)
{
	struct hmmrt_span *span =
		container_of(notifier, struct hmmrt_span, notifier);
	unsigned long start = max(range->start & PAGE_MASK, span->start);
	/* 'end' is ULONG_MAX when the whole mm is torn down. */
	unsigned long end = min(range->end - 1, span->start + HMMRT_SPAN_SIZE - 1);
	unsigned long touched;
	int idx;

	end = PAGE_ALIGN_DOWN(end) + PAGE_SIZE;
	mmu_interval_set_seq(notifier, seq);
	/*
	 * Pairs with the block's publication, and with read_begin(): see above.
	 */
	smp_mb();
	/*
	 * A block that is reaped at the same time stays until the section ends.
	 */
	idx = srcu_read_lock(&hmmrt_srcu);
	if (!mmu_notifier_range_blockable(range)) {
		bool unused = span_unused(span, start, end);

		srcu_read_unlock(&hmmrt_srcu, idx);
		return unused;
	}
	touched = span_take(span, start, end, ALL_DEVICES, range);
	srcu_read_unlock(&hmmrt_srcu, idx);
	if (range->event == MMU_NOTIFY_UNMAP && !span->borrowed)
		hmmrt_reap_unmapped(span);
	hmmrt_event(&span->space->events, .type = HMMRT_EVENT_INVALIDATE,
		    .addr = start, .pages = (end - start) >> PAGE_SHIFT,
		    .reason = change_of(range->event), .devices = touched);
	atomic64_inc(&span->space->invalidations);
	return true;
}

const struct mmu_interval_notifier_ops hmmrt_span_notifier_ops = {
	.invalidate = span_invalidate,
};

/*
 * See hmmrt_span_revoke(); for the devices in @ids. Each span is looked up
 * apart, because the range may be all of the address space.
 */
static void spans_revoke(struct hmmrt_space *space, unsigned long start,
			 unsigned long end, unsigned long ids)
{
	unsigned long last = (end - 1) >> HMMRT_SPAN_SHIFT;
	unsigned long index = start >> HMMRT_SPAN_SHIFT;
	struct hmmrt_span *span;
	int idx;

	do {
		idx = srcu_read_lock(&hmmrt_srcu);
		span = xa_find(&space->spans, &index, last, XA_PRESENT);
		if (span)
			span_take(span, max(start, span->start),
				  min(end, span->start + HMMRT_SPAN_SIZE), ids,
				  NULL);
		srcu_read_unlock(&hmmrt_srcu, idx);
		cond_resched();
	} while (span && index++ < last);
}

/**
 * hmmrt_span_revoke() - take away what devices have mapped of a range
 * @space: of the process
 * @start: first address
 * @end: end of the range, exclusive
 *
 * The devices fault again and get new entries. The core's sequence does not
 * change, but each block counts an invalidation under its lock, so that a
 * snapshot taken before is not mapped afterwards. move_duplicate.c relies on
 * that.
 * Context: may sleep.
 */
void hmmrt_span_revoke(struct hmmrt_space *space, unsigned long start,
		       unsigned long end)
{
	spans_revoke(space, start, end, ALL_DEVICES);
}

/* The same for one device. */
void hmmrt_span_revoke_device(struct hmmrt_space *space, unsigned long start,
			      unsigned long end, u32 id)
{
	spans_revoke(space, start, end, BIT(id));
}
