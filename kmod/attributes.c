// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMMRT_IOC_RANGE_ATTRIBUTES: the advice that all pages of a range have in
 * common.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "hmmrt.h"

static void attributes_and(struct hmmrt_range_attributes *arg,
			   const struct hmmrt_advice *advice, bool first)
{
	if (first) {
		arg->out_flags = advice->flags;
		arg->out_accessed_by = advice->accessed_by;
		arg->out_preferred_location = advice->preferred;
		arg->out_granularity = advice->granularity;
		return;
	}
	arg->out_flags &= advice->flags;
	arg->out_accessed_by &= advice->accessed_by;
	if (arg->out_preferred_location != advice->preferred)
		arg->out_preferred_location = HMMRT_LOCATION_NONE;
	if (arg->out_granularity != advice->granularity)
		arg->out_granularity = 0;
}

static void prefetches_and(struct hmmrt_range_attributes *arg,
			   const struct hmmrt_advice *advice, bool first)
{
	if (first)
		arg->out_last_prefetch = advice->last_prefetch;
	else if (arg->out_last_prefetch != advice->last_prefetch)
		arg->out_last_prefetch = HMMRT_LOCATION_NONE;
}

static int attributes_of(struct hmmrt_space *space, struct rb_root_cached *tree,
			 struct hmmrt_range_attributes *arg,
			 void (*and)(struct hmmrt_range_attributes *arg,
				     const struct hmmrt_advice *advice,
				     bool first))
{
	unsigned long at = arg->addr, end = at + arg->len;

	while (at < end) {
		unsigned long start = at, next = end;
		struct hmmrt_advice advice;

		advice = hmmrt_advice_look(space, tree, at, &start, &next);
		and(arg, &advice, at == arg->addr);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		at = next;
	}
	return 0;
}

int hmmrt_range_attributes(struct hmmrt_space *space,
			   struct hmmrt_range_attributes *arg)
{
	unsigned long end;
	int rc;

	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (rc)
		return rc;
	end = arg->addr + arg->len;
	if (mmap_read_lock_killable(space->mm))
		return -EINTR;
	if (hmmrt_covered_end(space->mm, arg->addr, end) < end)
		rc = -EFAULT;
	/* Read both trees under one hold of the lock. */
	down_read(&space->advice_lock);
	if (!rc)
		rc = attributes_of(space, &space->advice.root, arg, attributes_and);
	if (!rc)
		rc = attributes_of(space, &space->prefetched.root, arg,
				   prefetches_and);
	up_read(&space->advice_lock);
	mmap_read_unlock(space->mm);
	return rc;
}

/*
 * Check that mappings cover the range, so that it may be advised. The mm is
 * alive.
 */
int hmmrt_advice_check(struct hmmrt_space *space, unsigned long start,
		       unsigned long end)
{
	int rc;

	if (mmap_read_lock_killable(space->mm))
		return -EINTR;
	rc = hmmrt_covered_end(space->mm, start, end) == end ? 0 : -EFAULT;
	mmap_read_unlock(space->mm);
	return rc;
}
