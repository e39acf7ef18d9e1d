// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares: which account loses memory when there is not enough for all.
 *
 * Fair      Each account that uses memory has a fair share by weight: priority
 *           + 1. The share is no limit: any account may use what the others
 *           leave.
 * Order     Memory above an account's fair share is evicted first: from the
 *           account with the lowest priority, and at equal priority the least
 *           recently used. Only an account below its share may take from
 *           accounts that are not above theirs. An account that has all of its
 *           share and asks for more has to give up memory of its own, or of
 *           accounts above their shares.
 * Alone     A single account has all memory as its share, and gives up what it
 *           used least recently.
 */
#include "policy.h"

static u64 share_weight(const struct hmmrt_policy_share *share)
{
	return (u64)share->priority + 1;
}

/* Add all accounts that use memory, and the asker, before any is ranked. */
void hmmrt_policy_share_add(struct hmmrt_policy_share_sum *sum,
			    const struct hmmrt_policy_share *share)
{
	sum->weight += share_weight(share);
}

/*
 * Compares products, so there is no remainder. An account has a page at least,
 * so sizes of 2^28 pages (1 TiB) fit with any number of accounts of the highest
 * priority, and larger ones with as many as fit in 64 bits together.
 */
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
 * Rank an account: lower ranks are evicted first, and HMMRT_SHARE_KEPT is not
 * evicted for this asker. @asker is one of the accounts, or NULL if no account
 * asks.
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

/*
 * Returns true, and records it, if this is to be evicted before the best so
 * far.
 */
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
