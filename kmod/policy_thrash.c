// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy: which pages move back and forth, and are better left where they are.
 * Lapse, nap and epoch are nvidia-uvm's terms, and so is the thrash pin.
 *
 * Moves      Counted by granule of a block. A move counts if it follows a move
 *            by another processor within a lapse. After a threshold of such
 *            moves in a row the block thrashes.
 * Lapse      The time between two moves that counts as thrashing, a knob. On a
 *            device with slow migrations two moves could never follow each
 *            other that quickly. So a lapse is at least four times the average
 *            migration (up to 50 ms), and thrashing means a quarter of the time
 *            or more is spent on moving.
 * Throttled  A device that touches a thrashing granule waits for a nap, in
 *            which the other side makes progress with the pages that it has.
 *            The CPU never waits: a waiting CPU fault would keep its page from
 *            moving.
 * Pinned     After some naps the block is pinned where it is, and devices
 *            access it remotely: a single access costs more, all of them
 *            together cost less. When the pin ends, all state but the number of
 *            resets is cleared.
 * Quiet      If no page has moved for an epoch, the state is reset. After too
 *            many resets the block is no longer watched: it is used in bursts.
 *
 * Evicted    If pages are evicted again and again and needed again soon after,
 *            the device is too small for what is in use at a time. No other
 *            side would benefit from a nap, so the block stays in system memory
 *            at once. Other blocks stay on the device.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "policy.h"

/*
 * Migrations per lapse, and the longest lapse that they can cause, in
 * microseconds.
 */
#define LAPSE_MIGRATIONS	4u
#define LAPSE_MAX		50000ull

/*
 * The longest nap, in microseconds: about as long as serving a fault may take.
 */
#define NAP_MAX			1000000ull

/*
 * The amounts below are for devices of up to 256 MiB. A larger device has more
 * of each in proportion, because it takes that much longer to evict half of it,
 * and that many more lanes work on it. Times grow up to a factor: a large device
 * also evicts more in a second, and a pin must not outlast the program.
 */
#define REFAULT_DEVICE		(128ull * HMMRT_POLICY_BLOCK_PAGES)
#define REFAULT_TIME_FACTOR	64ull
/*
 * Pages that one instruction, and those of its neighbours, may need at a time.
 */
#define REFAULT_PAGES		(8ull * HMMRT_POLICY_BLOCK_PAGES)
/*
 * The least time, in microseconds, in which a re-fault is soon, whatever knobs
 * say.
 */
#define REFAULT_TIME		1000000ull
/*
 * A block stays in system memory for this many times as long as the device took
 * to lose it often enough, up to a limit in microseconds. Then at least that
 * many of the blocks that do not fit stay there, however slow migrations are.
 */
#define REFAULT_PIN		4u
#define REFAULT_PIN_MAX		10000000ull

/*
 * A running average over about eight samples; it starts with the first sample.
 */
u64 hmmrt_policy_average(u64 average, u64 sample)
{
	return average ? average - average / 8 + sample / 8 : sample;
}

/* @average: of the device's migrations, in microseconds; 0 if not known. */
u64 hmmrt_policy_lapse(const struct hmmrt_knobs *knobs, u64 average)
{
	u64 set = knobs->of[HMMRT_KNOB_THRASHING_LAPSE_USEC];

	return max(set, min(LAPSE_MIGRATIONS * average, (u64)LAPSE_MAX));
}

u64 hmmrt_policy_pin_time(const struct hmmrt_policy_pace *pace)
{
	return pace->knobs->of[HMMRT_KNOB_THRASHING_PIN] * pace->lapse;
}

static bool is_off(const struct hmmrt_policy_thrashing *thrashing,
		   const struct hmmrt_policy_pace *pace)
{
	const struct hmmrt_knobs *knobs = pace->knobs;

	if (!knobs->of[HMMRT_KNOB_THRASHING_ENABLE])
		return true;
	return thrashing->resets &&
	       thrashing->resets >= knobs->of[HMMRT_KNOB_THRASHING_MAX_RESETS];
}

/* Clear all state but the number of resets: after a pin, or a quiet epoch. */
void hmmrt_policy_forget(struct hmmrt_policy_thrashing *thrashing)
{
	u32 resets = thrashing->resets;

	memset(thrashing, 0, sizeof(*thrashing));
	thrashing->resets = resets;
}

static u64 epoch_of(const struct hmmrt_policy_pace *pace)
{
	return pace->knobs->of[HMMRT_KNOB_THRASHING_EPOCH] * pace->lapse;
}

/* Reset the state if the block has been quiet for an epoch. */
static void thrashing_settle(struct hmmrt_policy_thrashing *thrashing,
			     const struct hmmrt_policy_pace *pace)
{
	if (!thrashing->thrashes || thrashing->pinned_until ||
	    pace->now <= thrashing->last + epoch_of(pace))
		return;
	hmmrt_policy_forget(thrashing);
	thrashing->resets++;
}

/* Count a move of a granule. Returns how many have followed each other now. */
static unsigned int count_move(struct hmmrt_policy_thrashing *thrashing,
			       unsigned int granule, u8 location,
			       const struct hmmrt_policy_pace *pace)
{
	u8 from = thrashing->location[granule];
	u8 *moves = &thrashing->moves[granule];
	u64 *when = &thrashing->when[granule];

	thrashing->location[granule] = location;
	if (from == HMMRT_POLICY_LOCATION_UNKNOWN || from == location)
		return 0;
	if (pace->now > *when + pace->lapse)
		*moves = 0;
	*moves = min(*moves + 1, 255);
	*when = max(*when, pace->now);
	thrashing->last = max(thrashing->last, *when);
	return *moves;
}

/**
 * hmmrt_policy_moved() - record that a window has moved because of a touch
 * @thrashing: of its block
 * @win: pages of the block
 * @location: where it went, HMMRT_POLICY_LOCATION_*
 * @pace: the current time, the lapse and the knobs
 *
 * Return: true if the block thrashes from now on, and did not before.
 */
bool hmmrt_policy_moved(struct hmmrt_policy_thrashing *thrashing,
			struct hmmrt_policy_window win, u8 location,
			const struct hmmrt_policy_pace *pace)
{
	unsigned int i = win.first / HMMRT_POLICY_GRANULE_PAGES;
	unsigned int end = win.first + win.count, most = 0;

	thrashing_settle(thrashing, pace);
	if (!win.count || is_off(thrashing, pace))
		return false;
	for (; i * HMMRT_POLICY_GRANULE_PAGES < end; i++)
		most = max(most, count_move(thrashing, i, location, pace));
	if (thrashing->thrashes ||
	    most < pace->knobs->of[HMMRT_KNOB_THRASHING_THRESHOLD])
		return false;
	thrashing->thrashes = true;
	return true;
}

bool hmmrt_policy_is_pinned(const struct hmmrt_policy_thrashing *thrashing,
			    u64 now)
{
	return now < thrashing->pinned_until;
}

/**
 * hmmrt_policy_hold() - decide if a device that touches a page has to wait
 * @thrashing: of its block
 * @page: of the block
 * @location: of the device, HMMRT_POLICY_LOCATION_*
 * @pace: the current time, the lapse and the knobs
 * @nap: out: how long, with HMMRT_HOLD_NAP and HMMRT_HOLD_SHARE
 */
enum hmmrt_policy_held
hmmrt_policy_hold(struct hmmrt_policy_thrashing *thrashing, unsigned int page,
		  u8 location, const struct hmmrt_policy_pace *pace, u64 *nap)
{
	unsigned int granule = page / HMMRT_POLICY_GRANULE_PAGES;
	const struct hmmrt_knobs *knobs = pace->knobs;
	u64 *when = &thrashing->when[granule];

	thrashing_settle(thrashing, pace);
	if (is_off(thrashing, pace))
		return HMMRT_HOLD_NOT;
	/* After its end the pin is about to be released: nothing to hold. */
	if (thrashing->pinned_until)
		return hmmrt_policy_is_pinned(thrashing, pace->now) ?
			       HMMRT_HOLD_PINNED : HMMRT_HOLD_NOT;
	if (!thrashing->thrashes || thrashing->location[granule] == location ||
	    thrashing->moves[granule] < knobs->of[HMMRT_KNOB_THRASHING_THRESHOLD])
		return HMMRT_HOLD_NOT;
	if (pace->now < *when) {
		*nap = *when - pace->now;
		return HMMRT_HOLD_SHARE;
	}
	if (pace->now > *when + pace->lapse)
		return HMMRT_HOLD_NOT;
	if (thrashing->throttles >= knobs->of[HMMRT_KNOB_THRASHING_PIN_THRESHOLD]) {
		thrashing->pinned_until = pace->now + hmmrt_policy_pin_time(pace);
		return HMMRT_HOLD_PIN;
	}
	thrashing->throttles++;
	*nap = min(knobs->of[HMMRT_KNOB_THRASHING_NAP] * pace->lapse,
		   (u64)NAP_MAX);
	*when = pace->now + *nap;
	thrashing->last = max(thrashing->last, *when);
	return HMMRT_HOLD_NAP;
}

/*
 * Record an eviction to system memory, made to get free memory. @evicted is how
 * many pages of the process were evicted in total by then.
 */
void hmmrt_policy_evicted(struct hmmrt_policy_refaults *refaults, u64 evicted,
			  u64 now)
{
	refaults->evicted = evicted;
	refaults->when = now;
	refaults->away = true;
}

/* How many pages may be evicted before a re-fault, if it is soon. */
static u64 refault_pages(u64 there, u64 size)
{
	u64 least = REFAULT_PAGES * max(size, REFAULT_DEVICE) / REFAULT_DEVICE;

	return max(there / 2, least);
}

/* @us for a device of @size pages. */
static u64 refault_scale(u64 us, u64 size)
{
	return us * clamp(size, REFAULT_DEVICE,
			  REFAULT_TIME_FACTOR * REFAULT_DEVICE) /
	       REFAULT_DEVICE;
}

/* Threads read the clock in another order than they come here. */
static u64 refault_pin_time(const struct hmmrt_policy_refaults *refaults,
			    u64 size, const struct hmmrt_policy_pace *pace)
{
	u64 took = pace->now - min(pace->now, refaults->since);

	return max(hmmrt_policy_pin_time(pace),
		   min(REFAULT_PIN * took,
		       refault_scale(REFAULT_PIN_MAX, size)));
}

/*
 * A device touched pages that may have been evicted. Returns true if they are
 * better left in system memory. @there is how many pages the process has on the
 * device, and @size how many it may have there.
 *
 * A touch is soon after the eviction if fewer pages than half of @there were
 * evicted in between, and no epoch has passed. As the oldest pages are evicted
 * first, that much more memory would have kept them. Only the process's own
 * evictions count, whatever other processes do. This applies even if thrashing
 * detection is off: an access that needs more memory than the device has free
 * must come to an end.
 */
bool hmmrt_policy_thrashes(struct hmmrt_policy_refaults *refaults, u64 evicted,
			   u64 there, u64 size,
			   const struct hmmrt_policy_pace *pace)
{
	u64 epoch = max(epoch_of(pace), refault_scale(REFAULT_TIME, size));

	if (refaults->pinned_until)
		return pace->now < refaults->pinned_until;
	if (!refaults->away)
		return false;
	refaults->away = false;
	if (evicted - refaults->evicted >= refault_pages(there, size) ||
	    pace->now >= refaults->when + epoch) {
		refaults->soon = 0;
		return false;
	}
	if (!refaults->soon++)
		refaults->since = refaults->when;
	if (refaults->soon < pace->knobs->of[HMMRT_KNOB_THRASHING_THRESHOLD])
		return false;
	refaults->pinned_until =
		pace->now + refault_pin_time(refaults, size, pace);
	return true;
}
