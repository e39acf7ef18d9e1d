// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bypass: whether memory that a device uses while it is full takes the place of
 * other memory of the same process.
 *
 * Stays      A block that is touched while no memory is free stays where it is,
 *            and the device uses it remotely. If each touch evicted something,
 *            a loop over more memory than the device has would move all of it
 *            in each round.
 * Looks      After a lapse, and then again and again, the driver is asked which
 *            pages of the block the device has used since the last look. If it
 *            used none, we wait twice as long for the next look.
 * Goes       The first look that finds it used may see the pass over the block
 *            that began with the fault. If it is used after that, it takes
 *            memory that has been free since the last look. Otherwise the use
 *            may have ended before memory became free: when the CPU takes its
 *            turn, what goes to the device then has to come back next. If each
 *            remote page was used about once more, the block takes the place of
 *            the process's oldest chunk that was not used since before that
 *            first look. So the block is used in shorter intervals than the
 *            chunk: the rule of LIRS, with system memory as the list of blocks
 *            that are not resident.
 *            If the chunk was used, the block starts again, with twice the
 *            wait.
 * Trips      The evidence that a block needs doubles each time it is evicted.
 */
#include <linux/minmax.h>

#include "policy.h"

/*
 * The longest time between two looks, in microseconds. After other memory was
 * freed, one look notes that, and the next one moves what is in use.
 */
#define BYPASS_WAIT_MAX		1000000ull
#define BYPASS_TRIPS_MAX	6
/* More evidence than any block needs. */
#define BYPASS_SEEN_MAX		(HMMRT_POLICY_BLOCK_PAGES << BYPASS_TRIPS_MAX)
/*
 * Looks take one part in this many of the time, unless a single run takes very
 * long; in microseconds. Moves come on top.
 */
#define BYPASS_PAUSE		16u
#define BYPASS_PAUSE_MAX	1000000ull

/*
 * The device got remote entries of the block. @lapse: until the first look, in
 * microseconds, unless the block has waited for longer before.
 */
void hmmrt_policy_bypass_begin(struct hmmrt_policy_bypass *bypass, u64 now,
			       u64 lapse)
{
	u64 wait = min(max(bypass->wait, lapse), BYPASS_WAIT_MAX);

	*bypass = (struct hmmrt_policy_bypass){
		.since = now,
		.looked = now,
		.wait = wait,
		.until = now + wait,
		.trips = bypass->trips,
	};
}

/* The driver was asked, for a look or for anything else. */
void hmmrt_policy_bypass_used(struct hmmrt_policy_bypass *bypass,
			      unsigned int pages)
{
	bypass->asked = min(bypass->asked + pages, HMMRT_POLICY_BLOCK_PAGES);
}

/**
 * hmmrt_policy_bypass_look() - look at a block
 * @bypass: of a block that stays
 * @remote: pages of it that the device has mapped remotely
 * @now: the time of the look
 *
 * Return: the number of pages that the device has used since the last look; 0 at
 * the first look that finds some used.
 */
unsigned int hmmrt_policy_bypass_look(struct hmmrt_policy_bypass *bypass,
				      unsigned int remote, u64 now)
{
	unsigned int used = min(bypass->asked, remote);

	bypass->asked = 0;
	if (!used) {
		bypass->wait = min(2 * bypass->wait, BYPASS_WAIT_MAX);
	} else if (!bypass->used) {
		/* This was at or after the last look, and may be over. */
		bypass->used = true;
		bypass->since = bypass->looked;
		used = 0;
	} else {
		bypass->seen = min(bypass->seen + used, BYPASS_SEEN_MAX);
	}
	bypass->looked = now;
	bypass->until = now + bypass->wait;
	return used;
}

/*
 * Returns true if a block that was found used just now was used enough to take
 * the place of another one.
 */
bool hmmrt_policy_bypass_goes(const struct hmmrt_policy_bypass *bypass,
			      unsigned int remote)
{
	return bypass->used && bypass->seen >= remote << bypass->trips;
}

/**
 * hmmrt_policy_bypass_takes() - check if a block takes free memory
 * @bypass: was looked at just now
 * @room: memory is free
 * @shortages: how often memory ran short; it may wrap
 *
 * Call after each look, whatever it found.
 * Return: whether memory has been free since the last look, so that the block
 * takes it if it was used in the meantime.
 */
bool hmmrt_policy_bypass_takes(struct hmmrt_policy_bypass *bypass, bool room,
			       u32 shortages)
{
	bool takes = room && bypass->room && bypass->shortages == shortages;

	bypass->room = room;
	bypass->shortages = shortages;
	return takes;
}

/* Nothing is older than the use of the block, or it could not move. */
void hmmrt_policy_bypass_refused(struct hmmrt_policy_bypass *bypass, u64 now)
{
	u64 took = now - min(now, bypass->since);

	bypass->wait = 2 * max(bypass->wait, took);
	hmmrt_policy_bypass_begin(bypass, now, 0);
}

/* The device has no remote entries of the block any more, for now. */
void hmmrt_policy_bypass_end(struct hmmrt_policy_bypass *bypass)
{
	*bypass = (struct hmmrt_policy_bypass){
		.wait = bypass->wait,
		.trips = bypass->trips,
	};
}

/* The block moved as a whole. */
void hmmrt_policy_bypass_moved(struct hmmrt_policy_bypass *bypass)
{
	bypass->wait = 0;
}

/* Memory of the block was unmapped. A part that is used remotely stays. */
void hmmrt_policy_bypass_forget(struct hmmrt_policy_bypass *bypass)
{
	bypass->trips = 0;
	if (!bypass->until)
		bypass->wait = 0;
}

/* The block was evicted. A part that is used remotely stays. */
void hmmrt_policy_bypass_evicted(struct hmmrt_policy_bypass *bypass)
{
	if (bypass->trips < BYPASS_TRIPS_MAX)
		bypass->trips++;
}

/* How long to pause after looks that took @took together, in microseconds. */
u64 hmmrt_policy_bypass_pause(u64 took)
{
	return min(BYPASS_PAUSE * took, BYPASS_PAUSE_MAX);
}
