// SPDX-License-Identifier: GPL-2.0-only
/*
 * Advice given and asked for by a process: HMMRT_IOC_ADVISE,
 * HMMRT_IOC_RANGE_ATTRIBUTES (the advice that all pages of a range have in
 * common, and how far that of the first page goes), and knobs of ranges.
 * space_advice.c keeps it.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "api.h"

/* --- giving advice -------------------------------------------------------- */

static u32 location_bit(u32 location)
{
	return location == HMMRT_LOCATION_HOST ? HMMRT_BY_CPU : BIT(location);
}

static void advice_apply(struct hmmrt_advice *advice,
			 const struct hmmrt_advice_change *what)
{
	switch ((enum hmmrt_advice_kind)what->kind) {
	case HMMRT_ADVICE_SET_READ_MOSTLY:
		advice->flags |= HMMRT_RANGE_READ_MOSTLY;
		break;
	case HMMRT_ADVICE_UNSET_READ_MOSTLY:
		advice->flags &= ~HMMRT_RANGE_READ_MOSTLY;
		break;
	case HMMRT_ADVICE_SET_PREFERRED_LOCATION:
		advice->preferred = what->location;
		break;
	case HMMRT_ADVICE_UNSET_PREFERRED_LOCATION:
		advice->preferred = HMMRT_LOCATION_NONE;
		break;
	case HMMRT_ADVICE_SET_ACCESSED_BY:
		advice->accessed_by |= location_bit(what->location);
		break;
	case HMMRT_ADVICE_UNSET_ACCESSED_BY:
		advice->accessed_by &= ~location_bit(what->location);
		break;
	case HMMRT_ADVICE_SET_NO_MIGRATE:
		advice->flags |= HMMRT_RANGE_NO_MIGRATE;
		break;
	case HMMRT_ADVICE_UNSET_NO_MIGRATE:
		advice->flags &= ~HMMRT_RANGE_NO_MIGRATE;
		break;
	case HMMRT_ADVICE_SET_GRANULARITY:
		advice->granularity = what->value;
		break;
	case HMMRT_ADVICE_UNSET_GRANULARITY:
		advice->granularity = 0;
		break;
	}
}

static bool location_is_bound(struct hmmrt_space *space, u32 location)
{
	bool bound;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	bound = hmmrt_space_binding(space, location);
	srcu_read_unlock(&hmmrt_srcu, idx);
	return bound;
}

static int advise_check(struct hmmrt_space *space,
			const struct hmmrt_advise *arg)
{
	bool has_location = false, has_value = false, ok = true, found = true;

	switch (arg->advice) {
	case HMMRT_ADVICE_SET_PREFERRED_LOCATION:
		has_location = true;
		found = hmmrt_location_is_host(arg->location) ||
			location_is_bound(space, arg->location);
		break;
	case HMMRT_ADVICE_SET_ACCESSED_BY:
		has_location = true;
		found = arg->location == HMMRT_LOCATION_HOST ||
			location_is_bound(space, arg->location);
		break;
	case HMMRT_ADVICE_UNSET_ACCESSED_BY:
		has_location = true;
		found = arg->location == HMMRT_LOCATION_HOST ||
			arg->location < HMMRT_MAX_DEVICES;
		break;
	case HMMRT_ADVICE_SET_GRANULARITY:
		has_value = true;
		ok = is_power_of_2(arg->value) && arg->value >= PAGE_SIZE &&
		     arg->value <= HMMRT_BLOCK_SIZE;
		break;
	case HMMRT_ADVICE_SET_READ_MOSTLY:
	case HMMRT_ADVICE_UNSET_READ_MOSTLY:
	case HMMRT_ADVICE_UNSET_PREFERRED_LOCATION:
	case HMMRT_ADVICE_SET_NO_MIGRATE:
	case HMMRT_ADVICE_UNSET_NO_MIGRATE:
	case HMMRT_ADVICE_UNSET_GRANULARITY:
		break;
	default:
		return -EINVAL;
	}
	if ((!has_location && arg->location) || (!has_value && arg->value))
		ok = false;
	if (!ok)
		return -EINVAL;
	return found ? 0 : hmmrt_location_errno(arg->location);
}

/* Apply new advice to memory that is mapped already: best effort. */
static void advise_act(struct hmmrt_space *space, const struct hmmrt_advise *arg)
{
	unsigned long end = arg->addr + arg->len;

	if (arg->advice == HMMRT_ADVICE_SET_ACCESSED_BY &&
	    arg->location != HMMRT_LOCATION_HOST)
		hmmrt_map_ahead(space, arg->addr, end, arg->location);
	else if (arg->advice == HMMRT_ADVICE_UNSET_READ_MOSTLY)
		hmmrt_span_revoke(space, arg->addr, end);
	else if (arg->advice == HMMRT_ADVICE_SET_NO_MIGRATE)
		/* Read-mostly memory that stays is mapped ahead, too. */
		hmmrt_map_ahead_range_again(space, arg->addr, end);
}

static bool advice_has_location(u32 advice)
{
	return advice == HMMRT_ADVICE_SET_PREFERRED_LOCATION ||
	       advice == HMMRT_ADVICE_SET_ACCESSED_BY ||
	       advice == HMMRT_ADVICE_UNSET_ACCESSED_BY;
}

int hmmrt_ioc_advise(struct hmmrt_space *space, void *data)
{
	struct hmmrt_advise *arg = data;
	const struct hmmrt_advice_change what = {
		.apply = advice_apply,
		.kind = arg->advice,
		.location = arg->location,
		.value = arg->value,
	};
	int rc;

	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (!rc)
		rc = advise_check(space, arg);
	if (rc)
		return rc;
	if (!mmget_not_zero(space->mm))
		return -ESRCH;
	if (arg->advice == HMMRT_ADVICE_SET_ACCESSED_BY &&
	    arg->location != HMMRT_LOCATION_HOST)
		/*
		 * Set before the advice is recorded, so that no notifier misses
		 * it, and before peers are checked: pairs with peer_enable().
		 */
		smp_store_mb(space->maps_ahead, true);
	rc = hmmrt_change_advice(space, arg->addr, arg->addr + arg->len, &what);
	if (!rc)
		advise_act(space, arg);
	mmput(space->mm);
	hmmrt_event(&space->events, .type = HMMRT_EVENT_ADVISE,
		    .addr = arg->addr, .pages = arg->len >> PAGE_SHIFT,
		    .reason = arg->advice, .error = rc,
		    .to = advice_has_location(arg->advice) ?
				  arg->location :
				  HMMRT_LOCATION_NONE);
	return rc;
}

static void advice_set_knob(struct hmmrt_advice *advice,
			    const struct hmmrt_advice_change *what)
{
	advice->knobs.set[what->kind] = what->value;
}

/**
 * hmmrt_advice_set_knob() - set or unset a knob of a range
 * @space: space of the process, with an mm that is alive
 * @start: first address
 * @end: end address, exclusive
 * @slot: slot of the knob in struct hmmrt_range_knobs
 * @set: its value plus one, or 0 to unset it
 *
 * Context: takes the mmap_lock.
 * Return: as hmmrt_change_advice().
 */
int hmmrt_advice_set_knob(struct hmmrt_space *space, unsigned long start,
			  unsigned long end, u32 slot, u32 set)
{
	const struct hmmrt_advice_change what = {
		.apply = advice_set_knob,
		.kind = slot,
		.value = set,
	};

	return hmmrt_change_advice(space, start, end, &what);
}

/* --- asking for it -------------------------------------------------------- */

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

static bool attributes_equal(const struct hmmrt_advice *one,
			     const struct hmmrt_advice *two)
{
	return one->flags == two->flags &&
	       one->accessed_by == two->accessed_by &&
	       one->preferred == two->preferred &&
	       one->granularity == two->granularity;
}

static void prefetches_and(struct hmmrt_range_attributes *arg,
			   const struct hmmrt_advice *advice, bool first)
{
	if (first)
		arg->out_last_prefetch = advice->last_prefetch;
	else if (arg->out_last_prefetch != advice->last_prefetch)
		arg->out_last_prefetch = HMMRT_LOCATION_NONE;
}

static bool prefetches_equal(const struct hmmrt_advice *one,
			     const struct hmmrt_advice *two)
{
	return one->last_prefetch == two->last_prefetch;
}

/* What a query reports of one of the trees. */
struct attributes_kind {
	void (*and)(struct hmmrt_range_attributes *arg,
		    const struct hmmrt_advice *advice, bool first);
	bool (*equal)(const struct hmmrt_advice *one,
		      const struct hmmrt_advice *two);
};

static const struct attributes_kind advice_kind = {
	.and = attributes_and,
	.equal = attributes_equal,
};

static const struct attributes_kind prefetch_kind = {
	.and = prefetches_and,
	.equal = prefetches_equal,
};

static int attributes_of(struct hmmrt_space *space, struct rb_root_cached *tree,
			 struct hmmrt_range_attributes *arg,
			 const struct attributes_kind *kind)
{
	unsigned long at = arg->addr, end = at + arg->len;
	struct hmmrt_advice first = hmmrt_no_advice;

	while (at < end) {
		unsigned long start = at, next = end;
		struct hmmrt_advice advice;

		advice = hmmrt_advice_lookup(space, tree, at, &start, &next);
		if (at == arg->addr)
			first = advice;
		else if (!kind->equal(&first, &advice))
			arg->out_alike_bytes = min_t(u64, arg->out_alike_bytes,
						     at - arg->addr);
		kind->and(arg, &advice, at == arg->addr);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		at = next;
	}
	return 0;
}

/* The mm is alive. */
static int attributes_query(struct hmmrt_space *space,
			    struct hmmrt_range_attributes *arg)
{
	int rc = hmmrt_covered_read_lock(space->mm, arg->addr,
					 arg->addr + arg->len);

	if (rc)
		return rc;
	/* Read both trees under one hold of the lock. */
	arg->out_alike_bytes = arg->len;
	down_read(&space->advice_lock);
	rc = attributes_of(space, &space->advice.root, arg, &advice_kind);
	if (!rc)
		rc = attributes_of(space, &space->prefetched.root, arg,
				   &prefetch_kind);
	up_read(&space->advice_lock);
	mmap_read_unlock(space->mm);
	return rc;
}

int hmmrt_ioc_range_attributes(struct hmmrt_space *space, void *data)
{
	struct hmmrt_range_attributes *arg = data;
	int rc = hmmrt_user_range_check(arg->addr, arg->len);

	if (rc)
		return rc;
	if (!mmget_not_zero(space->mm))
		return -ESRCH;
	rc = attributes_query(space, arg);
	/* The caller may be another process: see api_pages.c. */
	mmput_async(space->mm);
	return rc;
}

/*
 * Check that mappings cover the range, so that it may be advised. The mm is
 * alive.
 */
int hmmrt_advice_check(struct hmmrt_space *space, unsigned long start,
		       unsigned long end)
{
	int rc = hmmrt_covered_read_lock(space->mm, start, end);

	if (!rc)
		mmap_read_unlock(space->mm);
	return rc;
}
