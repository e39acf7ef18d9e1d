/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Knobs: the numbers that tune policy. Works on plain data and is also built
 * and tested in user space. The UAPI lists the knobs in enum hmmrt_knob_id.
 */
#ifndef _HMMRT_POLICY_KNOBS_H
#define _HMMRT_POLICY_KNOBS_H

#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

/* Number of knobs that can be set for a range; see hmmrt_knob_info.slot. */
#define HMMRT_RANGE_KNOBS	9

struct hmmrt_knob_info {
	/* UVM's name without uvm_ or uvm_perf_, if UVM has this knob. */
	const char *name;
	u32 min;
	u32 max;
	u32 by_default;
	u32 scopes;		/* mask of enum hmmrt_knob_scope */
	/* With HMMRT_KNOB_RANGE: index in hmmrt_range_knobs. */
	u32 slot;
};

/*
 * The value set plus one; 0 if none is set. Read without a lock: each word is
 * valid by itself.
 */
struct hmmrt_set_knobs {
	u32 set[HMMRT_KNOBS];
};

struct hmmrt_range_knobs {
	u32 set[HMMRT_RANGE_KNOBS];
};

/* The values in effect for one fault; every knob has one. */
struct hmmrt_knobs {
	u32 of[HMMRT_KNOBS];
};

const struct hmmrt_knob_info *hmmrt_knob_describe(u32 knob);
bool hmmrt_knob_valid(u32 knob, u32 scope, u32 value);
u32 hmmrt_knob_value(u32 knob, const struct hmmrt_set_knobs *dev,
		     const struct hmmrt_set_knobs *space,
		     const struct hmmrt_range_knobs *range);
void hmmrt_knobs_fill(struct hmmrt_knobs *knobs,
		      const struct hmmrt_set_knobs *dev,
		      const struct hmmrt_set_knobs *space,
		      const struct hmmrt_range_knobs *range);

#endif /* _HMMRT_POLICY_KNOBS_H */
