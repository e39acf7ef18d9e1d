// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy: what goes back and forth, and is better left where it is.
 *
 * Moves      By granule of a block: each move that follows the last one, of somebody
 *            else, within a lapse counts. So many in a row, and the block thrashes.
 * Lapse      As set; but on a device that takes longer to move something than that,
 *            moves could not follow each other so quickly, so it is at least four
 *            times what a migration takes on average: between two moves there is one,
 *            and what thrashes spends a quarter of its time or more on moving.
 * Throttled  A device that touches such a granule waits for a nap, in which the other
 *            side gets work done with what it has. The CPU never waits: it would keep
 *            its page from moving.
 * Pinned     After some naps the block is left where it is, and devices reach it there:
 *            one access is dearer then, all of them are cheaper. When that time is over
 *            everything is forgotten but how often.
 * Quiet      If nothing has moved for an epoch, all is forgotten; too often, and
 *            the block is no longer looked at: it is used in bursts.
 *
 * Evicted    Again and again, and asked for soon after: the device is too small for
 *            what is in use at a time. There is no other side that a nap would
 *            help, so the block stays at home at once; the rest stays on the device.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "policy.h"

/* Of a lapse: migrations, and the longest one that these may make, in microseconds. */
#define LAPSE_MIGRATIONS	4u
#define LAPSE_MAX		50000ull

/* A fault is held up for as long as serving one may take, at most; likewise. */
#define NAP_MAX			1000000ull

/* What one instruction, and those of its neighbours, may need at a time. */
#define REFAULT_PAGES		(8ull * HMMRT_POLICY_BLOCK_PAGES)
/* In which it gets around to them again, whatever knobs say; in microseconds. */
#define REFAULT_TIME		1000000ull

/* A running average over about eight; it begins with the first sample. */
u64 hmmrt_policy_average(u64 average, u64 sample)
{
	return average ? average - average / 8 + sample / 8 : sample;
}

/* @average: what a migration of the device takes, in microseconds; 0: not known. */
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

/* All but how often it was: after a pin, or a quiet time. */
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

/* It has been quiet for an epoch. */
static void settle(struct hmmrt_policy_thrashing *thrashing,
		   const struct hmmrt_policy_pace *pace)
{
	if (!thrashing->thrashes || thrashing->pinned_until ||
	    pace->now <= thrashing->last + epoch_of(pace))
		return;
	hmmrt_policy_forget(thrashing);
	thrashing->resets++;
}

/* Returns how many moves of a granule have followed each other now. */
static unsigned int count_move(struct hmmrt_policy_thrashing *thrashing,
			       unsigned int granule, u8 place,
			       const struct hmmrt_policy_pace *pace)
{
	u8 from = thrashing->place[granule], *moves = &thrashing->moves[granule];
	u64 *when = &thrashing->when[granule];

	thrashing->place[granule] = place;
	if (from == HMMRT_PLACE_UNKNOWN || from == place)
		return 0;
	if (pace->now > *when + pace->lapse)
		*moves = 0;
	*moves = min(*moves + 1, 255);
	*when = max(*when, pace->now);
	thrashing->last = max(thrashing->last, *when);
	return *moves;
}

/**
 * hmmrt_policy_moved() - a window has moved, because somebody touched it
 * @thrashing: of its block
 * @win: pages of the block
 * @place: where it went, HMMRT_PLACE_*
 * @pace: when
 *
 * Return: whether the block thrashes, and did not before.
 */
bool hmmrt_policy_moved(struct hmmrt_policy_thrashing *thrashing,
			struct hmmrt_policy_window win, u8 place,
			const struct hmmrt_policy_pace *pace)
{
	unsigned int i = win.first / HMMRT_POLICY_GRANULE_PAGES;
	unsigned int end = win.first + win.count, most = 0;

	settle(thrashing, pace);
	if (!win.count || is_off(thrashing, pace))
		return false;
	for (; i * HMMRT_POLICY_GRANULE_PAGES < end; i++)
		most = max(most, count_move(thrashing, i, place, pace));
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
 * hmmrt_policy_hold() - whether a device that touches a page waits
 * @thrashing: of its block
 * @page: of the block
 * @place: of the device, HMMRT_PLACE_*
 * @pace: when
 * @nap: how long, with HMMRT_HOLD_NAP and HMMRT_HOLD_SHARE
 */
enum hmmrt_policy_held
hmmrt_policy_hold(struct hmmrt_policy_thrashing *thrashing, unsigned int page,
		  u8 place, const struct hmmrt_policy_pace *pace, u64 *nap)
{
	unsigned int granule = page / HMMRT_POLICY_GRANULE_PAGES;
	const struct hmmrt_knobs *knobs = pace->knobs;
	u64 *when = &thrashing->when[granule];

	settle(thrashing, pace);
	if (is_off(thrashing, pace))
		return HMMRT_HOLD_NOT;
	/* When that is over, it is released, and there is nothing more to hold. */
	if (thrashing->pinned_until)
		return hmmrt_policy_is_pinned(thrashing, pace->now) ?
			       HMMRT_HOLD_PINNED : HMMRT_HOLD_NOT;
	if (!thrashing->thrashes || thrashing->place[granule] == place ||
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

/* It goes home to make room; so many pages of the process were @evicted by then. */
void hmmrt_policy_evicted(struct hmmrt_policy_refaults *refaults, u64 evicted,
			  u64 now)
{
	refaults->evicted = evicted;
	refaults->when = now;
	refaults->away = true;
}

/*
 * A device touched it, of which the process has as many pages as are @there: whether it
 * is better left at home. Soon is when less than half as many were evicted in between:
 * with the oldest going first, that much more memory would have kept it; and no epoch
 * has passed. It is the process's own memory that counts, whatever others do. Whether
 * thrashing is looked for has no say: an access that needs more than there is room for
 * has to end.
 */
bool hmmrt_policy_thrashes(struct hmmrt_policy_refaults *refaults, u64 evicted,
			   u64 there, const struct hmmrt_policy_pace *pace)
{
	if (refaults->pinned_until)
		return pace->now < refaults->pinned_until;
	if (!refaults->away)
		return false;
	refaults->away = false;
	if (evicted - refaults->evicted < max(there / 2, REFAULT_PAGES) &&
	    pace->now < refaults->when + max(epoch_of(pace), REFAULT_TIME))
		refaults->soon++;
	else
		refaults->soon = 0;
	if (refaults->soon < pace->knobs->of[HMMRT_KNOB_THRASHING_THRESHOLD])
		return false;
	refaults->pinned_until = pace->now + hmmrt_policy_pin_time(pace);
	return true;
}
