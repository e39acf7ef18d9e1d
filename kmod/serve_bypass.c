// SPDX-License-Identifier: GPL-2.0-only
/*
 * Looks at blocks that stay, and moves those that may go: decide_bypass.c says
 * why they stay.
 *
 * Looks      By a work of the binding, with a clock hand like that of access
 *            counters. After a round the work sleeps until the next look is due.
 *            If the hand has gone around and found no block that stays, the work
 *            stops. The next block that stays starts it again.
 * Goes       If memory has been free since the last look, or other processes owe
 *            some, a block that two looks found used takes it. Otherwise it may
 *            take the place of the process's oldest chunk, if that is unused: a
 *            round of decide_age.c that began after the block's first look has
 *            not found it in use.
 * Moves      Like those of access counters, but holes are left as they are:
 *            the device has not asked for them.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "serve.h"

/*
 * Per run: blocks to ask the driver about, and blocks to visit in search of
 * them.
 */
#define BYPASS_BLOCKS	16
#define BYPASS_VISITS	1024

/*
 * How long a block may wait for hmmrt_aged_since(), in microseconds. On a device
 * of 100 GiB a round takes a minute.
 */
#define BYPASS_AGE_MAX	(600ull * USEC_PER_SEC)

/* One run of the work. */
struct look_run {
	struct hmmrt_binding *binding;
	hmmrt_pte_t *ptes;		/* HMMRT_BLOCK_PAGES */
	struct hmmrt_clock_limit limit;
	u64 moving;			/* time that moves took */
};

/* A block that stays, at a look. */
struct found {
	struct hmmrt_block *block;
	struct hmmrt_block_map *map;
	unsigned int remote;		/* pages that the device uses remotely */
	bool goes;			/* it was used enough */
	bool takes;	/* memory has been free since the last look */
	u64 since;
};

/* --- moving -------------------------------------------------------------- */

/*
 * Move the part that one mapping and one advice cover, if a fault would move
 * it. Call with the mmap_lock held.
 */
static int move_part(struct hmmrt_request *req)
{
	struct vm_area_struct *vma = req->window.vma;
	const struct hmmrt_knobs *knobs = &req->policy.knobs;
	struct hmmrt_policy_page page = {
		.advice = &req->policy.advice,
		.device = req->binding->dev->id,
		.migratable = true,
	};

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	hmmrt_request_advise(req, req->window.start);
	if (hmmrt_vma_object(vma) || !hmmrt_vma_may_migrate(vma) ||
	    hmmrt_vma_check(vma, HMMRT_ACCESS_READ) || !hmmrt_bypass_concerns(req))
		return 0;
	page.migration_policy = knobs->of[HMMRT_KNOB_MIGRATION_POLICY];
	page.pinned = hmmrt_block_is_pinned(req->window.block, knobs);
	page.too_small = READ_ONCE(hmmrt_request_map(req)->refaults.pinned_until);
	if (hmmrt_policy_residency(&page).want != HMMRT_POLICY_MOVE)
		return 0;
	return hmmrt_window_map(req, HMMRT_POLICY_MOVE);
}

/*
 * Move the block, and spare the process's own memory that was used since then.
 * Returns the number of pages that moved, or -EAGAIN: something was in the way.
 */
static int block_move(struct look_run *run, const struct found *found,
		      u64 own_unused_since)
{
	const struct hmmrt_request_args args = {
		.cause = HMMRT_CAUSE_ACCESS_COUNTER,
		.node = NUMA_NO_NODE,
		.evict_before = U64_MAX,
		.own_unused_since = own_unused_since,
		.populated = true,
		.map = true,
	};
	struct hmmrt_policy_bypass *bypass = &found->map->bypass;
	u64 moved, began = hmmrt_now_us();
	bool done;

	done = hmmrt_move_from_work(run->binding, found->block,
				    found->block->start,
				    found->block->start + HMMRT_BLOCK_SIZE,
				    &args, move_part, &moved);
	atomic64_add(moved, &run->binding->counted);
	run->moving += hmmrt_now_us() - began;
	if (!moved)
		return done ? 0 : -EAGAIN;
	mutex_lock(&found->block->lock);
	if (!bypass->until)
		hmmrt_policy_bypass_moved(bypass);
	mutex_unlock(&found->block->lock);
	return moved;
}

/* The block got none of the device's memory. */
static void block_refused(const struct found *found)
{
	struct hmmrt_policy_bypass *bypass = &found->map->bypass;

	mutex_lock(&found->block->lock);
	if (bypass->until)
		hmmrt_policy_bypass_refused(bypass, hmmrt_now_us());
	mutex_unlock(&found->block->lock);
}

/* --- looks --------------------------------------------------------------- */

/* Note when to look at the block next, if it stays. */
static void note_next(struct hmmrt_looking *looking,
		      const struct hmmrt_block_map *map)
{
	u64 until = READ_ONCE(map->bypass.until);

	if (until)
		looking->next = min_not_zero(looking->next, until);
}

static unsigned int remote_pages(const struct hmmrt_block_map *map)
{
	DECLARE_BITMAP(remote, HMMRT_BLOCK_PAGES);

	bitmap_andnot(remote, map->mapped, map->local, HMMRT_BLOCK_PAGES);
	return bitmap_weight(remote, HMMRT_BLOCK_PAGES);
}

/*
 * Return how many pages are worth moving the block in parts. A quota may be
 * smaller.
 */
static unsigned int least_pages(const struct look_run *run,
				const struct found *found)
{
	unsigned int least = min(found->remote, HMMRT_LITTLE_PAGES);
	u64 size = hmmrt_account_size(run->binding->account);

	return max_t(u64, min_t(u64, size, least), 1);
}

/*
 * Ask the driver, and record the answer. Returns whether the block was used
 * since the last look, and before that.
 */
static bool look(struct look_run *run, struct found *found)
{
	struct hmmrt_policy_bypass *bypass = &found->map->bypass;
	bool used = false, room;
	u32 shortages;
	u64 left;

	/* Before we ask: what the next look finds was used after this. */
	left = hmmrt_account_room(run->binding->account, &shortages);
	hmmrt_age_ask(run->binding, found->block, run->ptes);
	mutex_lock(&found->block->lock);
	found->remote = remote_pages(found->map);
	/* It may have moved, or lost its entries, in the meantime. */
	if (!found->remote)
		hmmrt_policy_bypass_end(bypass);
	if (bypass->until) {
		used = hmmrt_policy_bypass_look(bypass, found->remote,
						hmmrt_now_us());
		found->goes = hmmrt_policy_bypass_goes(bypass, found->remote);
		found->since = bypass->since;
		room = left >= least_pages(run, found);
		found->takes = hmmrt_policy_bypass_takes(bypass, room,
							 shortages);
	}
	mutex_unlock(&found->block->lock);
	return used;
}

/* Take memory that is free, or that other processes owe. */
static int block_take(struct look_run *run, const struct found *found)
{
	int rc = hmmrt_account_can_get(run->binding->account,
				       least_pages(run, found),
				       HMMRT_CLAIM_SPARES_OWN);

	if (rc < 0)
		return 0;
	if (rc > 0 && !found->takes)
		return -EAGAIN;
	return block_move(run, found, HMMRT_CLAIM_SPARES_OWN);
}

/* Take the place of the process's oldest chunk. */
static int block_exchange(struct look_run *run, const struct found *found)
{
	struct hmmrt_binding *binding = run->binding;
	int rc = hmmrt_account_can_get(binding->account,
				       least_pages(run, found), found->since);

	if (rc < 0)
		return rc == -EXDEV || rc == -ENOENT ? 0 : -EAGAIN;
	if (rc == 0 && hmmrt_aged_since(binding->dev) >= found->since)
		return block_move(run, found, found->since);
	binding->looking.age_since = found->since;
	return -EAGAIN;
}

/* Decide about a block that was used, and move it if it may go. */
static void block_decide(struct look_run *run, const struct found *found)
{
	int rc = block_take(run, found);

	if (!rc && !found->goes)
		return;
	if (!rc)
		rc = block_exchange(run, found);
	if (!rc)
		block_refused(found);
}

static void block_look(struct look_run *run, struct hmmrt_block *block)
{
	struct hmmrt_binding *binding = run->binding;
	struct found found = {
		.block = block,
		/* Pairs with hmmrt_block_get(). */
		.map = smp_load_acquire(&block->maps[binding->dev->id]),
	};
	u64 until = found.map ? READ_ONCE(found.map->bypass.until) : 0;

	if (!until)
		return;
	if (hmmrt_now_us() >= until) {
		run->limit.blocks--;
		if (look(run, &found))
			block_decide(run, &found);
	}
	note_next(&binding->looking, found.map);
}

/*
 * The policy was turned off, or the driver cannot be asked any more: take the
 * entries away, so that the next touch decides.
 */
static void block_leave(struct look_run *run, struct hmmrt_block *block)
{
	struct hmmrt_binding *binding = run->binding;
	u32 id = binding->dev->id;
	struct hmmrt_block_map *map;

	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[id]);
	if (!map || !READ_ONCE(map->bypass.until))
		return;
	run->limit.blocks--;
	mutex_lock(&block->lock);
	hmmrt_policy_bypass_end(&map->bypass);
	mutex_unlock(&block->lock);
	hmmrt_span_revoke_device(binding->space, block->start,
				 block->start + HMMRT_BLOCK_SIZE, id);
}

/*
 * Find out which memory was used since looking->age_since. Give up if the device
 * has too much of it.
 */
static void age_for(struct hmmrt_looking *looking, struct hmmrt_device *dev)
{
	u64 since = looking->age_since;

	if (!since)
		return;
	if (hmmrt_aged_since(dev) >= since ||
	    hmmrt_now_us() - since > BYPASS_AGE_MAX)
		looking->age_since = 0;
	else
		hmmrt_age(dev);
}

/*
 * Look until the run's limit, or until the round ends. Returns when to go on, in
 * microseconds; 0: no block stays.
 */
static u64 binding_look(struct look_run *run)
{
	struct hmmrt_binding *binding = run->binding;
	struct hmmrt_looking *looking = &binding->looking;
	bool on = hmmrt_bypass_is_on(binding->dev);
	struct hmmrt_block *block;
	u64 next;

	if (!on)
		looking->age_since = 0;
	age_for(looking, binding->dev);
	while (!READ_ONCE(binding->going)) {
		block = hmmrt_clock_hand_next(&looking->clock_hand,
					      binding->space, &run->limit);
		if (!block)
			break;
		if (on)
			block_look(run, block);
		else
			block_leave(run, block);
		hmmrt_block_put(block);
		cond_resched();
	}
	if (looking->clock_hand.addr || looking->age_since)
		return hmmrt_now_us();
	next = looking->next;
	looking->next = 0;
	/* A block that stays since the hand passed it may be behind the hand. */
	if (!next && xchg(&looking->seen, false))
		next = hmmrt_now_us();
	return next;
}

static void looking_work(struct work_struct *work)
{
	struct hmmrt_looking *looking =
		container_of(work, struct hmmrt_looking, work.work);
	struct look_run run = {
		.binding = container_of(looking, struct hmmrt_binding, looking),
		.limit = {
			.blocks = BYPASS_BLOCKS,
			.visits = BYPASS_VISITS,
		},
	};
	struct mm_struct *mm = run.binding->space->mm;
	u64 now, pause, next, began = hmmrt_now_us();
	struct hmmrt_charging charging;
	unsigned long delay;

	/* The process is exiting, so there is nothing to look at. */
	if (READ_ONCE(run.binding->going) || !mmget_not_zero(mm))
		return;
	charging = hmmrt_charge_to(mm);
	run.ptes = kmalloc_array(HMMRT_BLOCK_PAGES, sizeof(*run.ptes),
				 GFP_KERNEL | __GFP_NOWARN);
	/* Without memory, try again soon. */
	next = run.ptes ? binding_look(&run) : began;
	kfree(run.ptes);
	hmmrt_charge_end(charging);
	mmput_async(mm);
	if (!next)
		return;
	now = hmmrt_now_us();
	pause = hmmrt_policy_bypass_pause(now - began -
					  min(now - began, run.moving));
	delay = usecs_to_jiffies(max(pause, next - min(now, next))) + 1;
	WRITE_ONCE(looking->when, jiffies + delay);
	queue_delayed_work(hmmrt_wq, &looking->work, delay);
}

void hmmrt_looking_init(struct hmmrt_binding *binding)
{
	INIT_DELAYED_WORK(&binding->looking.work, looking_work);
}

/* Call when nothing can start the work any more. */
void hmmrt_looking_stop(struct hmmrt_binding *binding)
{
	cancel_delayed_work_sync(&binding->looking.work);
}
