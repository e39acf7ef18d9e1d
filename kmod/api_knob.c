// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tuning: setting and reading knobs. This takes no lock: a knob is one word,
 * and a decision made while several knobs change may use some old and some new
 * values.
 */
#include <linux/capability.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "api.h"

static int knob_check(const struct hmmrt_knob *arg)
{
	const struct hmmrt_knob_info *info = hmmrt_knob_describe(arg->knob);

	/* There must be exactly one scope, which the knob supports. */
	if (!info || hweight32(arg->scope) != 1 ||
	    !(info->scopes & arg->scope))
		return -EINVAL;
	switch (arg->operation) {
	case HMMRT_KNOB_GET:
	case HMMRT_KNOB_UNSET:
		if (arg->value)
			return -EINVAL;
		break;
	case HMMRT_KNOB_SET:
		if (!hmmrt_knob_valid(arg->knob, arg->scope, arg->value))
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	if (arg->scope == HMMRT_SCOPE_RANGE)
		return hmmrt_user_range_check(arg->addr, arg->len);
	return arg->addr || arg->len ? -EINVAL : 0;
}

static int knob_change_range(struct hmmrt_space *space,
			     const struct hmmrt_knob *arg, u32 set)
{
	unsigned long start = arg->addr, end = start + arg->len;
	int rc;

	if (!mmget_not_zero(space->mm))
		return -ESRCH;
	if (arg->operation == HMMRT_KNOB_GET)
		rc = hmmrt_advice_check(space, start, end);
	else
		rc = hmmrt_advice_set_knob(space, start, end,
					   hmmrt_knob_describe(arg->knob)->slot,
					   set);
	mmput(space->mm);
	return rc;
}

static int knob_change(struct hmmrt_space *space, struct hmmrt_device *dev,
		       const struct hmmrt_knob *arg)
{
	u32 set = arg->operation == HMMRT_KNOB_SET ? arg->value + 1 : 0;

	if (arg->scope == HMMRT_SCOPE_RANGE)
		return knob_change_range(space, arg, set);
	if (arg->operation == HMMRT_KNOB_GET)
		return 0;
	switch (arg->scope) {
	case HMMRT_SCOPE_SPACE:
		WRITE_ONCE(space->knobs.set[arg->knob], set);
		return 0;
	default:
		if (!capable(CAP_SYS_ADMIN))
			return -EPERM;
		WRITE_ONCE(dev->knobs.set[arg->knob], set);
		return 0;
	}
}

/* Returns true if accesses count with the value that was set. */
static bool knob_makes_count(const struct hmmrt_knob *arg)
{
	if (arg->operation != HMMRT_KNOB_SET)
		return false;
	if (arg->knob == HMMRT_KNOB_MIGRATION_POLICY)
		return arg->value == HMMRT_MIGRATE_ON_COUNT;
	return arg->knob == HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE &&
	       arg->value;
}

/* Memory that has been remote for a long time may have to be counted now. */
static void knob_changed(struct hmmrt_space *space, struct hmmrt_device *dev,
			 const struct hmmrt_knob *arg)
{
	if (arg->operation == HMMRT_KNOB_GET ||
	    (arg->knob != HMMRT_KNOB_MIGRATION_POLICY &&
	     arg->knob != HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE))
		return;
	if (arg->scope == HMMRT_SCOPE_RANGE && knob_makes_count(arg))
		WRITE_ONCE(space->counts_ranges, true);
	hmmrt_counting_knob_set(space, dev);
}

static void knob_answer(struct hmmrt_space *space,
			const struct hmmrt_device *dev, struct hmmrt_knob *arg)
{
	const struct hmmrt_knob_info *info = hmmrt_knob_describe(arg->knob);
	struct hmmrt_advice advice = hmmrt_no_advice;
	unsigned long start = arg->addr, end = arg->addr + arg->len;

	if (arg->scope == HMMRT_SCOPE_RANGE)
		advice = hmmrt_advice_at(space, arg->addr, &start, &end);
	arg->out_value = hmmrt_knob_value(arg->knob, &dev->knobs,
					  space ? &space->knobs : NULL,
					  &advice.knobs);
	arg->out_min = info->min;
	arg->out_max = info->max;
	arg->out_default = info->by_default;
	arg->out_scopes = info->scopes;
	strscpy_pad((char *)arg->out_name, info->name, sizeof(arg->out_name));
}

/* HMMRT_IOC_KNOB; @space is NULL for a knob of a device. */
int hmmrt_ioc_knob(struct hmmrt_space *space, void *data)
{
	struct hmmrt_knob *arg = data;
	struct hmmrt_device *dev;
	int rc = knob_check(arg);

	if (rc)
		return rc;
	dev = hmmrt_device_get(arg->device_id);
	if (!dev)
		return -ENODEV;
	rc = knob_change(space, dev, arg);
	if (!rc) {
		knob_changed(space, dev, arg);
		knob_answer(space, dev, arg);
	}
	hmmrt_device_put(dev);
	return rc;
}
