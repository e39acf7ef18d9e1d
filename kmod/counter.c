// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access counters: memory that a device uses often in another location migrates
 * to the device.
 *
 * Samples    The device has no counters. A work of the binding regularly asks
 *            the driver which entries of a block were used, as age.c does, and
 *            counts the answers per 64 KiB. One use and a million uses between
 *            two samples both count as one. So a threshold is a number of
 *            samples. With many blocks each block is sampled less often.
 * Hand       The work samples some blocks at a time, and a clock hand remembers
 *            where to continue. If the hand has gone around and found nothing
 *            to count, the work stops. The next remote entry, or a change of a
 *            knob, starts it again.
 * Moves      A 64 KiB part that has reached its threshold migrates like a
 *            prefetch, if policy lets a fault move it. Its count restarts at 0
 *            whether or not it moves. If another call holds the block or the
 *            mmap_lock, the next sample tries again.
 * Ending     The work uses the binding without a reference. hmmrt_unbind()
 *            waits for it once nothing can start it any more. So the work does
 *            not wait for the mmap_lock: it tries again later.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "hmmrt.h"

#define COUNT_PERIOD	max(HZ / 50, 1)
/*
 * Per run: blocks to ask the driver about, and blocks to visit in search of
 * them.
 */
#define COUNT_BLOCKS	16
#define COUNT_LOOKS	1024
#define COUNT_ATTEMPTS	8

#define GRANULE_SIZE	(HMMRT_POLICY_GRANULE_PAGES * PAGE_SIZE)

/*
 * By granule of a block: samples in which remote memory there was used.
 * Protected by block->lock.
 */
struct hmmrt_counts {
	u16 of[HMMRT_POLICY_GRANULES];
};

/* One run of the work. */
struct look {
	struct hmmrt_binding *binding;
	hmmrt_pte_t *ptes;		/* HMMRT_BLOCK_PAGES */
	unsigned int blocks;		/* blocks left to ask about */
	unsigned int looks;
};

/* --- counting ------------------------------------------------------------ */

/* Allocate the counters of a block. On failure nothing is counted. */
static void counts_prepare(struct hmmrt_block *block,
			   struct hmmrt_block_map *map)
{
	struct hmmrt_counts *counts;

	if (READ_ONCE(map->counts))
		return;
	counts = kzalloc(sizeof(*counts), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	mutex_lock(&block->lock);
	if (!map->counts)
		swap(map->counts, counts);
	mutex_unlock(&block->lock);
	kfree(counts);
}

void hmmrt_counts_destroy(struct hmmrt_block_map *map)
{
	if (map)
		kfree(map->counts);
}

static unsigned long granules_used(const hmmrt_pte_t *ptes)
{
	unsigned long used = 0;
	unsigned int i;

	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		if (ptes[i] && !(ptes[i] & HMMRT_PTE_DEVICE))
			used |= BIT(i / HMMRT_POLICY_GRANULE_PAGES);
	return used;
}

/**
 * hmmrt_count() - count the remote accesses of a device in a block
 * @binding: of the device
 * @block: block of the binding's space
 * @ptes: entries that the driver reported as used
 *
 * Context: may sleep; block->lock is taken.
 */
void hmmrt_count(const struct hmmrt_binding *binding, struct hmmrt_block *block,
		 const hmmrt_pte_t *ptes)
{
	struct hmmrt_block_map *map = block->maps[binding->dev->id];
	unsigned long used;
	unsigned int i;

	if (!READ_ONCE(map->counts))
		return;
	used = granules_used(ptes);
	mutex_lock(&block->lock);
	for_each_set_bit(i, &used, HMMRT_POLICY_GRANULES)
		if (map->counts->of[i] < U16_MAX)
			map->counts->of[i]++;
	mutex_unlock(&block->lock);
}

/*
 * Return the granules that have reached their threshold, and reset their
 * counts.
 */
static unsigned long take_hot(struct hmmrt_block *block,
			      struct hmmrt_block_map *map,
			      const u32 *thresholds)
{
	unsigned long hot = 0;
	unsigned int i;

	mutex_lock(&block->lock);
	for (i = 0; map->counts && i < HMMRT_POLICY_GRANULES; i++) {
		if (!thresholds[i] || map->counts->of[i] < thresholds[i])
			continue;
		map->counts->of[i] = 0;
		hot |= BIT(i);
	}
	mutex_unlock(&block->lock);
	return hot;
}

/*
 * Another call was in the way. Set the count so that the next sample tries
 * again, even without another use.
 */
static void keep_hot(struct hmmrt_block *block, struct hmmrt_block_map *map,
		     unsigned int granule, u32 threshold)
{
	mutex_lock(&block->lock);
	if (map->counts)
		map->counts->of[granule] = threshold;
	mutex_unlock(&block->lock);
}

/* --- what counts --------------------------------------------------------- */

/* Return whether a fault that reached the threshold would move the page. */
static bool moves(const struct hmmrt_binding *binding,
		  const struct hmmrt_advice *advice,
		  const struct hmmrt_knobs *knobs, bool pinned)
{
	const struct hmmrt_policy_page page = {
		.advice = advice,
		.device = binding->dev->id,
		.migration_policy = knobs->of[HMMRT_KNOB_MIGRATION_POLICY],
		.migratable = true,
		.pinned = pinned,
		.counted = true,
	};

	return hmmrt_policy_residency(&page).want == HMMRT_POLICY_MOVE;
}

static bool counts_at(const struct hmmrt_knobs *knobs)
{
	return knobs->of[HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE] ||
	       knobs->of[HMMRT_KNOB_MIGRATION_POLICY] == HMMRT_MIGRATE_ON_COUNT;
}

/*
 * Lower the thresholds of the granules that [@start, @end) touches to
 * @threshold. 0 changes nothing.
 */
static void fill_part(const struct hmmrt_block *block, unsigned long start,
		      unsigned long end, u32 threshold, u32 *thresholds)
{
	unsigned int i = (start - block->start) / GRANULE_SIZE;
	unsigned int last = (end - 1 - block->start) / GRANULE_SIZE;

	for (; threshold && i <= last; i++)
		if (!thresholds[i] || thresholds[i] > threshold)
			thresholds[i] = threshold;
}

/*
 * Fill in the threshold of each granule: the lowest of its parts, or 0 if none
 * counts. Returns whether any part counts.
 */
static bool fill_thresholds(const struct hmmrt_binding *binding,
			    const struct hmmrt_block *block, u32 *thresholds)
{
	unsigned long addr = block->start, end = addr + HMMRT_BLOCK_SIZE;
	bool any = false;

	memset(thresholds, 0, HMMRT_POLICY_GRANULES * sizeof(*thresholds));
	while (addr < end) {
		unsigned long start = addr, next = end;
		struct hmmrt_advice advice;
		struct hmmrt_knobs knobs;
		u32 threshold = 0;

		advice = hmmrt_advice_at(binding->space, addr, &start, &next);
		knobs = hmmrt_knobs_at(binding->space, binding->dev, &advice);
		if (counts_at(&knobs) && moves(binding, &advice, &knobs, false))
			threshold = knobs.of[HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD];
		any |= threshold;
		fill_part(block, addr, next, threshold, thresholds);
		addr = next;
	}
	return any;
}

/* --- moving -------------------------------------------------------------- */

/*
 * Move the part that one mapping and one advice cover. Call with the mmap_lock
 * held.
 */
static int move_part(struct hmmrt_request *req)
{
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_knobs knobs;

	lockdep_assert_held(&binding->space->mm->mmap_lock);
	hmmrt_request_advise(req, req->start);
	knobs = hmmrt_knobs_at(binding->space, binding->dev, &req->advice);
	req->knobs = knobs;
	if (hmmrt_vma_check(req->vma, HMMRT_ACCESS_READ) ||
	    !hmmrt_vma_may_migrate(req->vma) || !counts_at(&knobs) ||
	    !moves(binding, &req->advice, &knobs, hmmrt_request_pinned(req)))
		return 0;
	return hmmrt_serve_window(req, true);
}

/*
 * Move the first mapped part at or after @start. If 0, all up to req->end is
 * done.
 */
static int move_once(struct hmmrt_request *req, unsigned long start,
		     unsigned long end)
{
	struct mm_struct *mm = req->binding->space->mm;
	int rc;

	if (!mmap_read_trylock(mm))
		return -EBUSY;
	req->vma = find_vma_intersection(mm, start, end);
	req->start = req->vma ? max(start, req->vma->vm_start) : end;
	req->end = req->vma ? min(end, req->vma->vm_end) : end;
	rc = req->vma ? move_part(req) : 0;
	req->vma = NULL;
	mmap_read_unlock(mm);
	return hmmrt_request_again(req, rc);
}

/* Returns whether the granule needs no further try. */
static bool move_granule(struct hmmrt_binding *binding,
			 struct hmmrt_block *block, unsigned int granule)
{
	unsigned long start = block->start + granule * GRANULE_SIZE;
	unsigned long end = start + GRANULE_SIZE;
	struct hmmrt_request *req;
	unsigned int attempts = 0;
	int rc = 0;

	if (binding->dev->ops->prepare(binding, block->start,
				       block->start + HMMRT_BLOCK_SIZE))
		return false;
	req = hmmrt_request_alloc(binding, block);
	if (!req)
		return false;
	req->cause = HMMRT_CAUSE_ACCESS_COUNTER;
	while (start < end && attempts < COUNT_ATTEMPTS) {
		rc = move_once(req, start, end);
		if (rc && rc != -EAGAIN)
			break;
		attempts = rc ? attempts + 1 : 0;
		start = rc ? start : req->end;
		cond_resched();
	}
	atomic64_add(req->moved, &binding->migrated_to_device);
	atomic64_add(req->moved, &binding->counted);
	hmmrt_request_free(req);
	return rc != -EBUSY && rc != -EAGAIN;
}

/* --- the work ------------------------------------------------------------ */

/*
 * Return the device's map of the block if it may have remote entries, or NULL.
 */
static struct hmmrt_block_map *remote_map(const struct hmmrt_block *block,
					  u32 device_id)
{
	struct hmmrt_block_map *map;

	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[device_id]);
	return map && READ_ONCE(map->remote) ? map : NULL;
}

static void block_look(struct look *look, struct hmmrt_block *block)
{
	struct hmmrt_binding *binding = look->binding;
	struct hmmrt_block_map *map = remote_map(block, binding->dev->id);
	u32 thresholds[HMMRT_POLICY_GRANULES];
	unsigned long hot;
	unsigned int i;

	if (!map || !fill_thresholds(binding, block, thresholds))
		return;
	WRITE_ONCE(binding->counting.seen, true);
	look->blocks--;
	counts_prepare(block, map);
	hmmrt_age_ask(binding, block, look->ptes);
	hot = take_hot(block, map, thresholds);
	for_each_set_bit(i, &hot, HMMRT_POLICY_GRANULES)
		if (!READ_ONCE(binding->going) &&
		    !move_granule(binding, block, i))
			keep_hot(block, map, i, thresholds[i]);
}

/* Returns false if the hand has gone around and nothing counts. */
static bool binding_look(struct look *look)
{
	struct hmmrt_counting *counting = &look->binding->counting;
	struct hmmrt_block *block;

	for (;;) {
		if (!look->blocks || !look->looks ||
		    READ_ONCE(look->binding->going))
			return true;
		look->looks--;
		block = hmmrt_block_next(look->binding->space, &counting->hand);
		if (!block)
			break;
		counting->hand += HMMRT_BLOCK_SIZE;
		block_look(look, block);
		hmmrt_block_put(block);
		cond_resched();
	}
	counting->hand = 0;
	return xchg(&counting->seen, false);
}

static void counting_work(struct work_struct *work)
{
	struct hmmrt_counting *counting =
		container_of(work, struct hmmrt_counting, work.work);
	struct look look = {
		.binding = container_of(counting, struct hmmrt_binding,
					counting),
		.blocks = COUNT_BLOCKS,
		.looks = COUNT_LOOKS,
	};
	struct mm_struct *mm = look.binding->space->mm;
	struct hmmrt_charging charging;
	bool again = true;

	/* The process is exiting, so there is nothing to count. */
	if (READ_ONCE(look.binding->going) || !mmget_not_zero(mm))
		return;
	charging = hmmrt_charge_to(mm);
	look.ptes = kmalloc_array(HMMRT_BLOCK_PAGES, sizeof(*look.ptes),
				  GFP_KERNEL | __GFP_NOWARN);
	if (look.ptes)
		again = binding_look(&look);
	kfree(look.ptes);
	hmmrt_charge_end(charging);
	mmput_async(mm);
	if (again)
		queue_delayed_work(system_dfl_wq, &counting->work,
				   COUNT_PERIOD);
}

/* Return whether access counting may apply to anything of the binding. */
static bool may_count(const struct hmmrt_binding *binding)
{
	if (!binding->dev->ops->accessed ||
	    (binding->dev->flags & HMMRT_DEVICE_FAULT_IN_PLACE))
		return false;
	return READ_ONCE(binding->space->counts_ranges) ||
	       hmmrt_binding_knob(binding,
				  HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE) ||
	       hmmrt_binding_knob(binding, HMMRT_KNOB_MIGRATION_POLICY) ==
		       HMMRT_MIGRATE_ON_COUNT;
}

/**
 * hmmrt_counting_start() - start counting; the device has a remote entry
 * @binding: binding of the device; hmmrt_unbind() waits for the caller
 *
 * Context: any, except in notifiers.
 */
void hmmrt_counting_start(struct hmmrt_binding *binding)
{
	struct hmmrt_counting *counting = &binding->counting;

	if (!may_count(binding))
		return;
	/*
	 * Set @seen first: a work that is ending sees it, or is queued again.
	 */
	smp_store_mb(counting->seen, true);
	queue_delayed_work(system_dfl_wq, &counting->work, COUNT_PERIOD);
}

void hmmrt_counting_init(struct hmmrt_binding *binding)
{
	INIT_DELAYED_WORK(&binding->counting.work, counting_work);
}

/* Call when nothing can start the work any more. */
void hmmrt_counting_stop(struct hmmrt_binding *binding)
{
	cancel_delayed_work_sync(&binding->counting.work);
}

/**
 * hmmrt_counting_knob_set() - start counting after a knob was changed
 * @space: space with the knob, or NULL for all spaces bound to the device
 * @dev: device with the knob, if @space is NULL
 */
void hmmrt_counting_knob_set(struct hmmrt_space *space,
			     struct hmmrt_device *dev)
{
	struct hmmrt_binding *binding;
	u32 id;

	for (id = 0; space && id < HMMRT_MAX_DEVICES; id++) {
		binding = hmmrt_space_binding_get(space, id);
		if (!binding)
			continue;
		hmmrt_counting_start(binding);
		hmmrt_binding_put(binding);
	}
	if (space)
		return;
	mutex_lock(&hmmrt_roles_lock);
	list_for_each_entry(binding, &dev->bindings, device_link) {
		if (READ_ONCE(binding->going) ||
		    !refcount_inc_not_zero(&binding->users))
			continue;
		hmmrt_counting_start(binding);
		hmmrt_binding_put(binding);
	}
	mutex_unlock(&hmmrt_roles_lock);
}
