// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access counters: memory that a device uses often in another location migrates
 * to the device.
 *
 * Samples    The device has no counters. A work of the binding regularly asks
 *            the driver which entries of a block were used, as decide_age.c
 *            does, and counts the answers per 64 KiB. One use and a million
 *            uses between two samples both count as one. So a threshold is a
 *            number of samples. With many blocks each block is sampled less
 *            often.
 * Hand       The work samples some blocks at a time, and a clock hand remembers
 *            where to continue. If the hand has gone around and found nothing
 *            to count, the work stops. The next remote entry, or a change of a
 *            knob, starts it again.
 * Moves      A 64 KiB part that has reached its threshold migrates like a
 *            prefetch, if policy lets a fault move it. In a memory object, the
 *            extent that it is in moves. Its count restarts at 0 whether or
 *            not it moves. If another call holds the mmap_lock, the next sample
 *            tries again; the work waits for a block or an extent that is just
 *            being moved.
 * Ending     The work uses the binding without a reference. hmmrt_unbind()
 *            waits for it once nothing can start it any more. So the work does
 *            not wait for the mmap_lock: it tries again later.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "serve.h"

/*
 * Per run: blocks to ask the driver about, and blocks to visit in search of
 * them.
 */
#define COUNT_BLOCKS	16
#define COUNT_VISITS	1024
#define COUNT_ATTEMPTS	8

#define GRANULE_SIZE	(HMMRT_POLICY_GRANULE_PAGES * PAGE_SIZE)

/* One run of the work. */
struct sampling {
	struct hmmrt_binding *binding;
	hmmrt_pte_t *ptes;		/* HMMRT_BLOCK_PAGES */
	struct hmmrt_clock_limit limit;
};

/* --- what counts --------------------------------------------------------- */

/* Return whether a fault that reached the threshold would move the page. */
static bool count_would_move(const struct hmmrt_binding *binding,
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
		if (counts_at(&knobs) &&
		    count_would_move(binding, &advice, &knobs, false))
			threshold = knobs.of[HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD];
		any |= threshold;
		fill_part(block, addr, next, threshold, thresholds);
		addr = next;
	}
	return any;
}

/* --- moving -------------------------------------------------------------- */

/*
 * Move the part that one mapping and one advice cover, if the device may use it
 * and its memory can move. Call with the mmap_lock held.
 */
static int move_part(struct hmmrt_request *req)
{
	const struct hmmrt_advice *advice = &req->policy.advice;
	const struct hmmrt_knobs *knobs = &req->policy.knobs;
	struct vm_area_struct *vma = req->window.vma;
	struct hmmrt_object *object = hmmrt_vma_object(vma);
	bool movable, pinned;

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	hmmrt_request_advise(req, req->window.start);
	if (object)
		movable = hmmrt_object_is_migratable(object) &&
			  hmmrt_advice_access(advice, req->binding->dev->id);
	else
		movable = !hmmrt_vma_check(vma, HMMRT_ACCESS_READ) &&
			  hmmrt_vma_may_migrate(vma);
	if (!movable || !counts_at(knobs))
		return 0;
	/* Thrashing of memory objects is not watched. */
	pinned = !object && hmmrt_block_is_pinned(req->window.block, knobs);
	if (!count_would_move(req->binding, advice, knobs, pinned))
		return 0;
	return object ? hmmrt_object_to_device(req, object) :
			hmmrt_window_map(req, HMMRT_POLICY_MOVE);
}

/*
 * Move the first mapped part at or after @start. If 0, all up to the end of the
 * window is done.
 */
static int move_once(struct hmmrt_request *req, unsigned long start,
		     unsigned long end, int (*part)(struct hmmrt_request *req))
{
	struct mm_struct *mm = req->binding->space->mm;
	struct vm_area_struct *vma;
	int rc = 0;

	if (!mmap_read_trylock(mm))
		return -EBUSY;
	req->window.end = end;
	vma = find_vma_intersection(mm, start, end);
	if (vma) {
		hmmrt_window_set(&req->window, vma, start, end);
		rc = part(req);
	}
	req->window.vma = NULL;
	mmap_read_unlock(mm);
	hmmrt_request_refill(req, rc);
	return rc;
}

/**
 * hmmrt_move_from_work() - move a range of a block for a work
 * @binding: of the device that the range goes to
 * @block: has the range
 * @start: first address
 * @end: behind the last one
 * @args: of the request
 * @part: moves the window of a request; called with the mmap_lock held
 * @moved: out: number of pages that were moved
 *
 * Context: may sleep; no lock is held, and the process's mm is alive.
 * Return: whether the range needs no further try.
 */
bool hmmrt_move_from_work(struct hmmrt_binding *binding,
			  struct hmmrt_block *block, unsigned long start,
			  unsigned long end,
			  const struct hmmrt_request_args *args,
			  int (*part)(struct hmmrt_request *req), u64 *moved)
{
	struct hmmrt_request *req;
	unsigned int attempts = 0;
	int rc = 0;

	*moved = 0;
	req = hmmrt_request_open(binding->space, binding, start, args);
	if (IS_ERR(req))
		return false;
	while (start < end && attempts < COUNT_ATTEMPTS) {
		rc = move_once(req, start, end, part);
		if (rc && rc != -EAGAIN)
			break;
		attempts = rc ? attempts + 1 : 0;
		start = rc ? start : req->window.end;
		cond_resched();
	}
	*moved = req->result.moved;
	atomic64_add(*moved, &binding->migrated_to_device);
	hmmrt_request_close(req);
	return rc != -EBUSY && rc != -EAGAIN;
}

/* Returns whether the granule needs no further try. */
static bool move_granule(struct hmmrt_binding *binding,
			 struct hmmrt_block *block, unsigned int granule)
{
	static const struct hmmrt_request_args args = {
		.cause = HMMRT_CAUSE_ACCESS_COUNTER,
		.node = NUMA_NO_NODE,
		.evict_before = U64_MAX,
		.map = true,
	};
	unsigned long start = block->start + granule * GRANULE_SIZE;
	u64 moved;
	bool done;

	done = hmmrt_move_from_work(binding, block, start,
				    start + GRANULE_SIZE, &args, move_part,
				    &moved);
	atomic64_add(moved, &binding->counted);
	return done;
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

static void block_sample(struct sampling *sampling, struct hmmrt_block *block)
{
	struct hmmrt_binding *binding = sampling->binding;
	struct hmmrt_block_map *map = remote_map(block, binding->dev->id);
	u32 thresholds[HMMRT_POLICY_GRANULES];
	unsigned long hot;
	unsigned int i;

	if (!map || !fill_thresholds(binding, block, thresholds))
		return;
	WRITE_ONCE(binding->counting.seen, true);
	sampling->limit.blocks--;
	hmmrt_counts_prepare(block, map);
	hmmrt_age_ask(binding, block, sampling->ptes);
	hot = hmmrt_counts_take_hot(block, map, thresholds);
	for_each_set_bit(i, &hot, HMMRT_POLICY_GRANULES)
		if (!READ_ONCE(binding->going) &&
		    !move_granule(binding, block, i))
			hmmrt_counts_keep_hot(block, map, i, thresholds[i]);
}

/* Returns false if the hand has gone around and nothing counts. */
static bool binding_sample(struct sampling *sampling)
{
	struct hmmrt_binding *binding = sampling->binding;
	struct hmmrt_counting *counting = &binding->counting;
	struct hmmrt_block *block;

	while (!READ_ONCE(binding->going)) {
		block = hmmrt_clock_hand_next(&counting->clock_hand,
					      binding->space, &sampling->limit);
		if (!block)
			return counting->clock_hand.addr ||
			       xchg(&counting->seen, false);
		block_sample(sampling, block);
		hmmrt_block_put(block);
		cond_resched();
	}
	return true;
}

static void counting_work(struct work_struct *work)
{
	struct hmmrt_counting *counting =
		container_of(work, struct hmmrt_counting, work.work);
	struct sampling sampling = {
		.binding =
			container_of(counting, struct hmmrt_binding, counting),
		.limit = {
			.blocks = COUNT_BLOCKS,
			.visits = COUNT_VISITS,
		},
	};
	struct mm_struct *mm = sampling.binding->space->mm;
	struct hmmrt_charging charging;
	bool again = true;

	/* The process is exiting, so there is nothing to count. */
	if (READ_ONCE(sampling.binding->going) || !mmget_not_zero(mm))
		return;
	charging = hmmrt_charge_to(mm);
	sampling.ptes = kmalloc_array(HMMRT_BLOCK_PAGES, sizeof(*sampling.ptes),
				      GFP_KERNEL | __GFP_NOWARN);
	if (sampling.ptes)
		again = binding_sample(&sampling);
	kfree(sampling.ptes);
	hmmrt_charge_end(charging);
	mmput_async(mm);
	if (again)
		queue_delayed_work(hmmrt_wq, &counting->work, HMMRT_COUNT_PERIOD);
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
