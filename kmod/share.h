/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shares: whose memory goes when there is not enough for all, on plain data, also
 * built and tested in user space.
 */
#ifndef _HMMRT_SHARE_H
#define _HMMRT_SHARE_H

#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

/* Nothing of it is to be taken. */
#define HMMRT_SHARE_KEPT	0xffffffffu

/* One of those who share some memory. Sizes are in pages. */
struct hmmrt_share {
	u64 used;
	u32 priority;
	u32 rank;		/* lower goes first; see hmmrt_share_rank() */
};

/* What they share. Zeroed at first, but for @size. */
struct hmmrt_share_sum {
	u64 size;
	u64 weight;		/* of all who use some */
};

/* A choice among all that may go: the best so far. */
struct hmmrt_share_pick {
	u32 rank;		/* HMMRT_SHARE_KEPT: there was none */
	u64 used_at;		/* in the order of last use */
};

void hmmrt_share_add(struct hmmrt_share_sum *sum,
		     const struct hmmrt_share *share);
void hmmrt_share_rank(const struct hmmrt_share_sum *sum,
		      struct hmmrt_share *share,
		      const struct hmmrt_share *asker);
void hmmrt_share_begin(struct hmmrt_share_pick *pick);
bool hmmrt_share_better(struct hmmrt_share_pick *pick, u32 rank, u64 used_at);

#endif /* _HMMRT_SHARE_H */
