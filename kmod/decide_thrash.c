// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thrashing: records moves for policy_thrash.c, and carries out its decisions.
 *
 * State      Per block, under block->lock. A move is recorded by the thread
 *            that made it, under block->migrate, so moves are recorded in their
 *            order.
 * Waiting    hmmrt_throttle() sleeps at the beginning of a device fault. It
 *            holds nothing but the binding, not even a reference to the
 *            process's mm, so other faults in the same block or another one
 *            continue. Only devices wait. migrate_to_ram() must not wait,
 *            because it is called with a page reference that keeps the page
 *            from migrating.
 * Release    The devices' entries of a thrash-pinned block stay until they are
 *            taken away. So such blocks are on a list of the space, and a work
 *            takes the entries away when the pin ends. The next touch decides
 *            again. Unmapping pages that had moved ends the pin, too.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "decide.h"

/*
 * How often the work looks at a thrash pin, in microseconds. It releases one
 * that would last for longer if the device is not too small any more.
 */
#define PIN_CHECK	(10ull * USEC_PER_SEC)

static struct hmmrt_policy_pace pace_at(const struct hmmrt_knobs *knobs,
					const struct hmmrt_device *dev)
{
	return (struct hmmrt_policy_pace){
		.knobs = knobs,
		.now = hmmrt_now_us(),
		.lapse = hmmrt_policy_lapse(knobs,
					    READ_ONCE(dev->migration_us)),
	};
}

static struct hmmrt_knobs knobs_of(const struct hmmrt_block *block,
				   const struct hmmrt_device *dev,
				   unsigned long addr)
{
	unsigned long start = block->start, end = start + HMMRT_BLOCK_SIZE;
	struct hmmrt_space *space = block->span->space;
	struct hmmrt_advice advice = hmmrt_advice_at(space, addr, &start, &end);

	return hmmrt_knobs_at(space, dev, &advice);
}

/* Count and trace an event for a device, which may be unbound by now. */
static void thrashing_count(const struct hmmrt_block *block, u32 device_id,
			    enum hmmrt_thrashing_state state)
{
	struct hmmrt_binding *binding;
	int idx;

	hmmrt_event(&block->span->space->events, .type = HMMRT_EVENT_THRASHING,
		    .device = device_id, .addr = block->start,
		    .pages = HMMRT_BLOCK_PAGES, .reason = state);
	idx = srcu_read_lock(&hmmrt_srcu);
	binding = hmmrt_space_binding(block->span->space, device_id);
	if (binding)
		atomic64_inc(&binding->thrashing_states[state]);
	srcu_read_unlock(&hmmrt_srcu, idx);
}

/* --- moves --------------------------------------------------------------- */

/*
 * Average the time of a migration. Of two at the same time one may be missed.
 */
static void note_time(struct hmmrt_device *dev, u64 began)
{
	u64 average = READ_ONCE(dev->migration_us);

	WRITE_ONCE(dev->migration_us,
		   hmmrt_policy_average(average, hmmrt_now_us() - began));
}

static void note_move(struct hmmrt_block *block, struct hmmrt_device *dev,
		      const struct hmmrt_knobs *knobs, unsigned long start,
		      unsigned long end, u8 location)
{
	struct hmmrt_policy_window win = {
		.first = hmmrt_index_in_block(block, start),
		.count = (end - start) >> PAGE_SHIFT,
	};
	struct hmmrt_policy_pace pace;
	bool detected;

	lockdep_assert_held(&block->migrate);
	mutex_lock(&block->lock);
	pace = pace_at(knobs, dev);
	detected = hmmrt_policy_moved(&block->thrashing, win, location, &pace);
	mutex_unlock(&block->lock);
	if (detected)
		thrashing_count(block, dev->id, HMMRT_THRASHING_DETECTED);
}

/**
 * hmmrt_thrashing_moved_in() - record a move to a device
 * @req: a fault, or a migration by access counter; of other requests, only the
 *	time counts
 * @began: when it began, see hmmrt_now_us()
 *
 * Context: block->migrate is held.
 */
void hmmrt_thrashing_moved_in(struct hmmrt_request *req, u64 began)
{
	struct hmmrt_device *dev = req->binding->dev;

	lockdep_assert_held(&req->window.block->migrate);
	note_time(dev, began);
	if (!req->access && req->args.cause != HMMRT_CAUSE_ACCESS_COUNTER)
		return;
	note_move(req->window.block, dev, &req->policy.knobs, req->window.start,
		  req->window.end, HMMRT_POLICY_LOCATION_DEVICE(dev->id));
}

/**
 * hmmrt_thrashing_moved_back() - record that a CPU touch moved pages back
 * @block: of the window
 * @dev: the device that had the touched page
 * @knobs: of that device, at the touched page
 * @start: first address
 * @end: end of the range, exclusive
 * @began: when it began, see hmmrt_now_us()
 *
 * Context: block->migrate is held; the caller has a page of @dev.
 */
void hmmrt_thrashing_moved_back(struct hmmrt_block *block,
				struct hmmrt_device *dev,
				const struct hmmrt_knobs *knobs,
				unsigned long start, unsigned long end,
				u64 began)
{
	lockdep_assert_held(&block->migrate);
	note_time(dev, began);
	note_move(block, dev, knobs, start, end, HMMRT_POLICY_LOCATION_HOST);
}

/* --- thrash pins --------------------------------------------------------- */

/* Make the work run at @when, or earlier if it is due earlier. */
static void run_at(struct hmmrt_space *space, unsigned long when)
{
	struct hmmrt_pins *pins = &space->pins;
	unsigned long now = jiffies;

	lockdep_assert_held(&space->works_lock);
	if (delayed_work_pending(&pins->release) &&
	    !time_before(when, pins->when))
		return;
	pins->when = when;
	mod_delayed_work(hmmrt_wq, &pins->release,
			 time_after(when, now) ? when - now : 0);
}

static void pin_for(struct hmmrt_block *block, u64 us)
{
	struct hmmrt_space *space = block->span->space;
	/* Add a jiffy, so that the pin has ended when the work runs. */
	u64 delay = min(us, PIN_CHECK);

	spin_lock(&space->works_lock);
	/* The list holds a reference; the caller has one already. */
	if (list_empty(&block->pinned)) {
		refcount_inc(&block->refs);
		list_add_tail(&block->pinned, &space->pins.blocks);
	}
	run_at(space, jiffies + usecs_to_jiffies(delay) + 1);
	spin_unlock(&space->works_lock);
}

/*
 * The thrash pins of a block that were released, by id of the pinning device.
 */
struct released {
	unsigned long roomy;	/* see roomy_devices() */
	unsigned long ids;
	u64 next;			/* when the next one ends, or 0 */
};

static bool is_over(u64 until, u64 now, bool all, struct released *released)
{
	if (!until)
		return false;
	if (all || now >= until)
		return true;
	released->next = min_not_zero(released->next, until);
	return false;
}

/* Return whether the process can get memory of a device that evicted some. */
static bool has_room(const struct hmmrt_block *block, u32 device_id)
{
	struct hmmrt_binding *binding;
	bool room;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	binding = hmmrt_space_binding(block->span->space, device_id);
	room = binding && hmmrt_account_can_get(binding->account,
						HMMRT_POLICY_BLOCK_PAGES,
						HMMRT_CLAIM_SPARES_OWN) >= 0;
	srcu_read_unlock(&hmmrt_srcu, idx);
	return room;
}

/*
 * Return the ids of devices that aren't too small any more for a block with a
 * pin that lasts for longer. Context: no lock is held.
 */
static unsigned long roomy_devices(const struct hmmrt_block *block, u64 now)
{
	unsigned long ids = 0;
	unsigned int id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		const struct hmmrt_block_map *map;

		/* Pairs with hmmrt_block_get(). */
		map = smp_load_acquire(&block->maps[id]);
		if (map && READ_ONCE(map->refaults.pinned_until) > now + PIN_CHECK &&
		    has_room(block, id))
			ids |= BIT(id);
	}
	return ids;
}

static void release_locked(struct hmmrt_block *block, u64 now, bool all,
			   struct released *released)
{
	struct hmmrt_policy_thrashing *thrashing = &block->thrashing;
	unsigned int id;

	lockdep_assert_held(&block->lock);
	VM_WARN_ON_ONCE(thrashing->pinned_until && !thrashing->thrashes);
	VM_WARN_ON_ONCE(!thrashing->pinned_until !=
			(block->pinned_by == HMMRT_MAX_DEVICES));
	if (is_over(thrashing->pinned_until, now, all, released)) {
		released->ids |= BIT(block->pinned_by);
		block->pinned_by = HMMRT_MAX_DEVICES;
		hmmrt_policy_forget(thrashing);
	}
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_policy_refaults *refaults;

		if (!block->maps[id])
			continue;
		refaults = &block->maps[id]->refaults;
		if (!refaults->pinned_until ||
		    (!is_over(refaults->pinned_until, now, all, released) &&
		     !(released->roomy & BIT(id))))
			continue;
		released->ids |= BIT(id);
		*refaults = (struct hmmrt_policy_refaults){};
	}
}

/*
 * Release thrash pins that have ended, or all. Returns when the next one ends,
 * or 0.
 */
static u64 block_release_pins(struct hmmrt_block *block, bool all)
{
	u64 now = hmmrt_now_us();
	struct released released = {
		.roomy = roomy_devices(block, now),
	};
	unsigned int id;

	mutex_lock(&block->lock);
	release_locked(block, now, all, &released);
	if (all)
		block->thrashing = (struct hmmrt_policy_thrashing){};
	mutex_unlock(&block->lock);
	if (!released.ids)
		return released.next;
	hmmrt_span_revoke(block->span->space, block->start,
			  block->start + HMMRT_BLOCK_SIZE);
	for_each_set_bit(id, &released.ids, HMMRT_MAX_DEVICES)
		thrashing_count(block, id, HMMRT_THRASHING_RELEASED);
	return released.next;
}

/*
 * Take the next block off @todo, with the list's reference. From here on the
 * block may be thrash-pinned again.
 */
static struct hmmrt_block *pins_take(struct hmmrt_space *space,
				     struct list_head *todo)
{
	struct hmmrt_block *block;

	spin_lock(&space->works_lock);
	block = list_first_entry_or_null(todo, struct hmmrt_block, pinned);
	if (block)
		list_del_init(&block->pinned);
	spin_unlock(&space->works_lock);
	return block;
}

static void release_work(struct work_struct *work)
{
	struct hmmrt_space *space =
		container_of(work, struct hmmrt_space, pins.release.work);
	struct hmmrt_block *block;
	LIST_HEAD(todo);

	spin_lock(&space->works_lock);
	list_splice_init(&space->pins.blocks, &todo);
	spin_unlock(&space->works_lock);
	while ((block = pins_take(space, &todo))) {
		u64 now, next = block_release_pins(block, false);

		now = hmmrt_now_us();
		if (next)
			pin_for(block, next > now ? next - now : 0);
		hmmrt_block_put(block);
		cond_resched();
	}
}

void hmmrt_pins_init(struct hmmrt_space *space)
{
	INIT_LIST_HEAD(&space->pins.blocks);
	INIT_DELAYED_WORK(&space->pins.release, release_work);
}

/* Context: no binding and no call is left that could pin a block. */
void hmmrt_pins_stop(struct hmmrt_space *space)
{
	struct hmmrt_block *block;

	/* Memory may still be unmapped. */
	spin_lock(&space->works_lock);
	space->pins.ended = true;
	spin_unlock(&space->works_lock);
	cancel_delayed_work_sync(&space->pins.release);
	while ((block = pins_take(space, &space->pins.blocks)))
		hmmrt_block_put(block);
}

/**
 * hmmrt_thrashing_reset() - forget that a block thrashes
 * @block: the process says where it wants it; may have been found to thrash
 *
 * Context: may sleep; no lock is held.
 */
void hmmrt_thrashing_reset(struct hmmrt_block *block)
{
	bool thrashes = READ_ONCE(block->thrashing.thrashes);
	unsigned int id;

	might_sleep();
	for (id = 0; thrashes && id < HMMRT_MAX_DEVICES; id++)
		if (READ_ONCE(block->maps[id]))
			thrashing_count(block, id, HMMRT_THRASHING_RESET);
	block_release_pins(block, true);
}

static void block_note_pinned(struct hmmrt_block *block, u32 device_id, u64 us)
{
	pin_for(block, us);
	thrashing_count(block, device_id, HMMRT_THRASHING_PINNED);
}

/* --- touches ------------------------------------------------------------- */

/**
 * hmmrt_request_thrashes() - check if the device is too small for its use
 * @req: a fault that would move something; ask before anything is evicted for
 *	it
 */
bool hmmrt_request_thrashes(struct hmmrt_request *req)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct hmmrt_block_map *map = hmmrt_request_map(req);
	struct hmmrt_policy_pace pace = pace_at(&req->policy.knobs, dev);
	u64 there = hmmrt_account_used(req->binding->account);
	u64 size = hmmrt_account_size(req->binding->account);
	bool thrashes, before;
	u64 until;

	mutex_lock(&req->window.block->lock);
	before = map->refaults.pinned_until;
	thrashes = hmmrt_policy_thrashes(&map->refaults,
					 atomic64_read(&req->binding->given_up),
					 there, size, &pace);
	until = map->refaults.pinned_until;
	mutex_unlock(&req->window.block->lock);
	if (thrashes && !before)
		block_note_pinned(req->window.block, dev->id, until - pace.now);
	if (thrashes && !req->retry.thrashes)
		atomic64_inc(&req->binding->thrashing);
	req->retry.thrashes |= thrashes;
	return thrashes;
}

/* Returns true if a touched page has to stay because of a thrash pin. */
bool hmmrt_block_is_pinned(struct hmmrt_block *block,
			   const struct hmmrt_knobs *knobs)
{
	bool pinned;

	if (!knobs->of[HMMRT_KNOB_THRASHING_ENABLE])
		return false;
	mutex_lock(&block->lock);
	pinned = hmmrt_policy_is_pinned(&block->thrashing, hmmrt_now_us());
	mutex_unlock(&block->lock);
	return pinned;
}

/*
 * A signal ends the nap. Task work ends it too; then the lane asks again
 * sooner.
 */
static int take_nap(u64 us)
{
	ktime_t nap = ns_to_ktime(us * NSEC_PER_USEC);

	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout(&nap, HRTIMER_MODE_REL);
	return hmmrt_interrupted() ? -EINTR : 0;
}

/* Returns true if another lane has been served the page by now. */
static bool is_mapped(const struct hmmrt_block *block, u32 device_id,
		      unsigned int page)
{
	lockdep_assert_held(&block->lock);
	return block->maps[device_id] &&
	       test_bit(page, block->maps[device_id]->mapped);
}

static enum hmmrt_policy_held
block_ask_policy(struct hmmrt_block *block, struct hmmrt_device *dev,
		 unsigned int page, const struct hmmrt_policy_pace *pace,
		 u64 *nap)
{
	enum hmmrt_policy_held hold = HMMRT_HOLD_NOT;

	mutex_lock(&block->lock);
	if (!is_mapped(block, dev->id, page))
		hold = hmmrt_policy_hold(&block->thrashing, page,
					 HMMRT_POLICY_LOCATION_DEVICE(dev->id),
					 pace, nap);
	if (hold == HMMRT_HOLD_PIN)
		block->pinned_by = dev->id;
	mutex_unlock(&block->lock);
	return hold;
}

/* How long the device has to wait, or 0. */
static u64 throttle_nap(struct hmmrt_binding *binding,
			struct hmmrt_block *block, unsigned long addr)
{
	unsigned int page = hmmrt_index_in_block(block, addr);
	struct hmmrt_device *dev = binding->dev;
	struct hmmrt_policy_pace pace;
	struct hmmrt_knobs knobs;
	u64 nap = 0;

	knobs = knobs_of(block, dev, addr);
	pace = pace_at(&knobs, dev);
	switch (block_ask_policy(block, dev, page, &pace, &nap)) {
	case HMMRT_HOLD_PIN:
		block_note_pinned(block, dev->id, hmmrt_policy_pin_time(&pace));
		return 0;
	case HMMRT_HOLD_NAP:
	case HMMRT_HOLD_SHARE:
		thrashing_count(block, dev->id, HMMRT_THRASHING_THROTTLED);
		return nap;
	default:
		return 0;
	}
}

/**
 * hmmrt_throttle() - delay a device fault on pages that move back and forth
 * @binding: of the device
 * @addr: the faulting address
 *
 * If policy says so, waits for a nap while the other side uses the pages.
 * Policy bounds the nap.
 * Context: sleeps, killably; nothing is held but the binding.
 * Return: 0 or -EINTR.
 */
int hmmrt_throttle(struct hmmrt_binding *binding, unsigned long addr)
{
	struct hmmrt_block *block = hmmrt_block_find(binding->space, addr);
	struct hmmrt_episode episode;
	u64 nap = 0;
	int rc;

	might_sleep();
	if (block && READ_ONCE(block->thrashing.thrashes) &&
	    !(binding->dev->flags & HMMRT_DEVICE_FAULT_IN_PLACE))
		nap = throttle_nap(binding, block, addr);
	hmmrt_block_put(block);
	if (!nap)
		return 0;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_QUEUE);
	rc = take_nap(nap);
	hmmrt_episode_end(&episode, &binding->space->events,
			  .type = HMMRT_EVENT_THROTTLE, .addr = addr,
			  .device = binding->dev->id, .error = rc);
	return rc;
}
