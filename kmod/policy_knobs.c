// SPDX-License-Identifier: GPL-2.0-only
/*
 * Knobs: which knobs there are, and which value applies where. A value that is
 * set for a range overrides one that is set for the process, which overrides
 * one that is set for the device, which overrides the default.
 */
#include <linux/compiler.h>

#include "policy.h"

#define DEVICE	HMMRT_SCOPE_DEVICE
#define SPACE	(HMMRT_SCOPE_DEVICE | HMMRT_SCOPE_SPACE)
#define RANGE	(HMMRT_SCOPE_DEVICE | HMMRT_SCOPE_SPACE | HMMRT_SCOPE_RANGE)

#define KNOB(_name, _min, _max, _default, _scopes) \
	{ .name = _name, .min = _min, .max = _max, \
	  .by_default = _default, .scopes = _scopes }
#define RANGE_KNOB(_name, _min, _max, _default, _slot) \
	{ .name = _name, .min = _min, .max = _max, \
	  .by_default = _default, .scopes = RANGE, .slot = _slot }

static const struct hmmrt_knob_info infos[HMMRT_KNOBS] = {
	[HMMRT_KNOB_MIGRATION_POLICY] =
		RANGE_KNOB("migration_policy", HMMRT_MIGRATE_ON_TOUCH,
			   HMMRT_MIGRATE_NEVER, HMMRT_MIGRATE_ON_TOUCH, 0),
	[HMMRT_KNOB_PREFETCH_ENABLE] =
		RANGE_KNOB("prefetch_enable", 0, 1, 1, 1),
	[HMMRT_KNOB_PREFETCH_THRESHOLD] =
		RANGE_KNOB("prefetch_threshold", 1, 100, 51, 2),
	[HMMRT_KNOB_PREFETCH_MIN_FAULTS] =
		RANGE_KNOB("prefetch_min_faults", 1, 20, 1, 3),
	[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS] =
		RANGE_KNOB("prefetch_across_blocks", 0, 1, 1, 4),
	[HMMRT_KNOB_CPU_FAULT_MAX_PAGES] =
		RANGE_KNOB("cpu_fault_max_pages", 1, 512, 512, 5),
	[HMMRT_KNOB_THRASHING_ENABLE] =
		RANGE_KNOB("thrashing_enable", 0, 1, 1, 6),
	[HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD] =
		RANGE_KNOB("access_counter_threshold", 1, 65535, 256, 7),
	[HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE] =
		KNOB("access_counter_migration_enable", 0, 1, 0, SPACE),
	[HMMRT_KNOB_THRASHING_THRESHOLD] =
		KNOB("thrashing_threshold", 1, 255, 3, SPACE),
	[HMMRT_KNOB_THRASHING_PIN_THRESHOLD] =
		KNOB("thrashing_pin_threshold", 1, 255, 10, SPACE),
	[HMMRT_KNOB_THRASHING_LAPSE_USEC] =
		KNOB("thrashing_lapse_usec", 5, 500000, 500, SPACE),
	[HMMRT_KNOB_THRASHING_NAP] =
		KNOB("thrashing_nap", 1, 100, 1, SPACE),
	[HMMRT_KNOB_THRASHING_PIN] =
		KNOB("thrashing_pin", 1, 100000, 300, SPACE),
	[HMMRT_KNOB_THRASHING_EPOCH] =
		KNOB("thrashing_epoch", 1, 100000, 2000, SPACE),
	[HMMRT_KNOB_THRASHING_MAX_RESETS] =
		KNOB("thrashing_max_resets", 0, 255, 4, SPACE),
	[HMMRT_KNOB_FAULT_BATCH_COUNT] =
		KNOB("fault_batch_count", 1, 1024, 256, SPACE),
	[HMMRT_KNOB_FAULT_REPLAY_POLICY] =
		KNOB("fault_replay_policy", HMMRT_REPLAY_BLOCK,
		     HMMRT_REPLAY_BATCH_FLUSH, HMMRT_REPLAY_BATCH_FLUSH,
		     SPACE),
	[HMMRT_KNOB_FAULT_COALESCE] =
		KNOB("fault_coalesce", 0, 1, 1, SPACE),
	[HMMRT_KNOB_FAULT_WORKERS] =
		KNOB("fault_workers", 0, 1024, 0, SPACE),
	[HMMRT_KNOB_OVERSUBSCRIPTION] =
		KNOB("oversubscription", HMMRT_OVERSUBSCRIBE_NEVER,
		     HMMRT_OVERSUBSCRIBE_BY_USE, HMMRT_OVERSUBSCRIBE_BY_USE,
		     DEVICE),
	[HMMRT_KNOB_EVICT_BY_ACCESS] =
		KNOB("evict_by_access", 0, 1, 1, DEVICE),
	[HMMRT_KNOB_EVICT_LOW_WATERMARK] =
		KNOB("evict_low_watermark", 0, 50, 0, DEVICE),
	[HMMRT_KNOB_EVICT_HIGH_WATERMARK] =
		KNOB("evict_high_watermark", 0, 50, 0, DEVICE),
	[HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC] =
		KNOB("fault_wait_timeout_msec", 1, 3600000, 1000, SPACE),
	[HMMRT_KNOB_READ_DUPLICATION] =
		RANGE_KNOB("read_duplication", 0, 1, 0, 8),
};

/* Returns NULL if there is no such knob. */
const struct hmmrt_knob_info *hmmrt_knob_describe(u32 knob)
{
	return knob < HMMRT_KNOBS ? &infos[knob] : NULL;
}

/* Returns true if the knob can have this value in this scope. */
bool hmmrt_knob_valid(u32 knob, u32 scope, u32 value)
{
	const struct hmmrt_knob_info *info = hmmrt_knob_describe(knob);

	return info && (info->scopes & scope) && value >= info->min &&
	       value <= info->max;
}

/* @space and @range may be NULL. */
u32 hmmrt_knob_value(u32 knob, const struct hmmrt_set_knobs *dev,
		     const struct hmmrt_set_knobs *space,
		     const struct hmmrt_range_knobs *range)
{
	const struct hmmrt_knob_info *info = &infos[knob];
	u32 set = 0;

	if (range && (info->scopes & HMMRT_SCOPE_RANGE))
		set = range->set[info->slot];
	if (!set && space)
		set = READ_ONCE(space->set[knob]);
	if (!set)
		set = READ_ONCE(dev->set[knob]);
	return set ? set - 1 : info->by_default;
}

void hmmrt_knobs_fill(struct hmmrt_knobs *knobs,
		      const struct hmmrt_set_knobs *dev,
		      const struct hmmrt_set_knobs *space,
		      const struct hmmrt_range_knobs *range)
{
	u32 knob;

	for (knob = 0; knob < HMMRT_KNOBS; knob++)
		knobs->of[knob] = hmmrt_knob_value(knob, dev, space, range);
}
