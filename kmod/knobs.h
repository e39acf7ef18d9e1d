/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Knobs: the numbers that policy goes by, on plain data, also built and tested in
 * user space. Which there are is in the UAPI, enum hmmrt_knob_id.
 */
#ifndef _HMMRT_KNOBS_H
#define _HMMRT_KNOBS_H

#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

/* Knobs that a range can have of its own; see hmmrt_knob_info.slot. */
#define HMMRT_RANGE_KNOBS	9

struct hmmrt_knob_info {
	const char *name;	/* UVM's where it has one, without uvm_ or uvm_perf_ */
	u32 min;
	u32 max;
	u32 by_default;
	u32 scopes;		/* enum hmmrt_knob_scope */
	u32 slot;		/* with HMMRT_KNOB_RANGE: which of hmmrt_range_knobs */
};

/*
 * What somebody has set, plus one; 0: nothing. Read without a lock: each word is true
 * by itself.
 */
struct hmmrt_set_knobs {
	u32 set[HMMRT_KNOBS];
};

struct hmmrt_range_knobs {
	u32 set[HMMRT_RANGE_KNOBS];
};

/* What holds for one fault: all of them have a value. */
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

#endif /* _HMMRT_KNOBS_H */
