// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares: whose memory goes when there is not enough for all.
 *
 * Fair      Who uses some has a part of it that is fair, by weight: priority + 1. It
 *           is no limit: what others leave is anybody's.
 * Order     First goes what somebody has beyond his fair share: of those the one of
 *           the lowest priority first, and among equals what was used longest ago.
 *           Only who has less than his share may take from those that have no more
 *           than theirs; who has all of it, and asks for more, has to give up
 *           something of his own or of those who have too much.
 * Alone     has all of it for his share, and gives up what he used longest ago.
 */
#include "policy.h"

static u64 share_weight(const struct hmmrt_policy_share *share)
{
	return (u64)share->priority + 1;
}

/* Before any is ranked: all that use some, and who asks. */
void hmmrt_policy_share_add(struct hmmrt_policy_share_sum *sum,
			    const struct hmmrt_policy_share *share)
{
	sum->weight += share_weight(share);
}

/* Products, for there is no remainder then: sizes of 2^36 and 2^16 of them fit. */
static bool is_above(const struct hmmrt_policy_share_sum *sum,
		     const struct hmmrt_policy_share *share)
{
	return share->used * sum->weight > sum->size * share_weight(share);
}

static bool is_below(const struct hmmrt_policy_share_sum *sum,
		     const struct hmmrt_policy_share *share)
{
	return share->used * sum->weight < sum->size * share_weight(share);
}

/*
 * When a share's memory goes: its rank, which is HMMRT_SHARE_KEPT if not at all for
 * this one. @asker: one of them, or NULL: nobody's request.
 */
void hmmrt_policy_share_rank(const struct hmmrt_policy_share_sum *sum,
			     struct hmmrt_policy_share *share,
			     const struct hmmrt_policy_share *asker)
{
	bool deserves = !asker || is_below(sum, asker);

	if (is_above(sum, share) || (share == asker && !deserves))
		share->rank = share->priority;
	else if (deserves)
		share->rank = HMMRT_PRIORITY_MAX + 1 + share->priority;
	else
		share->rank = HMMRT_SHARE_KEPT;
}

void hmmrt_policy_share_begin(struct hmmrt_policy_share_pick *pick)
{
	pick->rank = HMMRT_SHARE_KEPT;
	pick->used_at = 0;
}

/* Whether something of that rank goes rather than all that it was asked of before. */
bool hmmrt_policy_share_better(struct hmmrt_policy_share_pick *pick, u32 rank,
			       u64 used_at)
{
	if (rank == HMMRT_SHARE_KEPT || rank > pick->rank ||
	    (rank == pick->rank && used_at >= pick->used_at))
		return false;
	pick->rank = rank;
	pick->used_at = used_at;
	return true;
}
