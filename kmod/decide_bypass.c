// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bypass: asks policy_bypass.c for faults on a device that is full.
 *
 * State      Per block and device, under block->lock. It lasts while the device
 *            has remote entries of the block. How long the block waits, and how
 *            often it was evicted, are kept until memory of it is unmapped.
 * Faults     A fault that finds no free memory spares all memory of its own
 *            process. Memory that other processes owe it, by policy_share.c, is
 *            evicted as for any other request.
 * Looks      serve_bypass.c looks at the blocks that stay.
 * Limits     The policy applies where a block that stays is mapped as a whole:
 *            not to memory with granularity, with read duplication, or of
 *            memory objects. A device without accessed bits evicts for each
 *            touch, because its driver cannot say which memory is in use.
 *            Access counters and the watermarks of background eviction don't
 *            ask it. What HMMRT_OVERSUBSCRIBE_NEVER has left stays until it is
 *            touched without an entry.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>

#include "decide.h"

/* Return whether the device keeps its memory until other memory is used more. */
bool hmmrt_bypass_is_on(const struct hmmrt_device *dev)
{
	return hmmrt_can_age(dev) &&
	       hmmrt_device_knob(dev, HMMRT_KNOB_OVERSUBSCRIPTION) ==
		       HMMRT_OVERSUBSCRIBE_BY_USE;
}

/* Return whether the policy is about memory with this advice and knobs. */
bool hmmrt_bypass_concerns(const struct hmmrt_request *req)
{
	const struct hmmrt_policy_window none = {};

	return hmmrt_policy_stay_window(none, &req->policy.advice,
					&req->policy.knobs)
		.count;
}

/**
 * hmmrt_bypass_applies() - check if a fault spares the memory of its process
 * @req: found no free memory
 *
 * Return: true if its block stays rather than evicting such memory.
 */
bool hmmrt_bypass_applies(const struct hmmrt_request *req)
{
	/* Only ordinary faults on ordinary memory have a window to stay in. */
	return req->access && !req->args.whole && req->policy.within.count &&
	       hmmrt_bypass_is_on(req->binding->dev) && hmmrt_bypass_concerns(req);
}

/* Return whether the device has pages of the block mapped that are elsewhere. */
static bool map_has_remote(const struct hmmrt_block_map *map)
{
	return !bitmap_subset(map->mapped, map->local, HMMRT_BLOCK_PAGES);
}

static u64 lapse_of(const struct hmmrt_request *req)
{
	return hmmrt_policy_lapse(&req->policy.knobs,
				  READ_ONCE(req->binding->dev->migration_us));
}

/**
 * hmmrt_bypass_begin() - a request wrote entries of a block
 * @req: did not get memory for all of its pages, or any other request
 *
 * Context: block->lock is held.
 * Return: whether the block stays from now on; hmmrt_bypass_look_later().
 */
bool hmmrt_bypass_begin(const struct hmmrt_request *req)
{
	struct hmmrt_block_map *map = hmmrt_request_map(req);

	lockdep_assert_held(&req->window.block->lock);
	if (map->bypass.until || !map_has_remote(map))
		return false;
	/*
	 * What a look leaves of a block stays again, and so does a block that
	 * lost its entries to anything else.
	 */
	if (!req->memory.stays && !req->args.own_unused_since &&
	    (!map->bypass.wait || !hmmrt_bypass_is_on(req->binding->dev)))
		return false;
	hmmrt_policy_bypass_begin(&map->bypass, hmmrt_now_us(), lapse_of(req));
	return true;
}

/* Look at a block that stays after a lapse. */
void hmmrt_bypass_look_later(const struct hmmrt_request *req)
{
	struct hmmrt_looking *looking = &req->binding->looking;
	unsigned long delay = usecs_to_jiffies(lapse_of(req)) + 1;

	/* Set @seen first: a work that is ending sees it, or is queued again. */
	smp_store_mb(looking->seen, true);
	/* Don't put it off again and again. */
	if (delayed_work_pending(&looking->work) &&
	    !time_after(READ_ONCE(looking->when), jiffies + delay))
		return;
	WRITE_ONCE(looking->when, jiffies + delay);
	mod_delayed_work(hmmrt_wq, &looking->work, delay);
}
