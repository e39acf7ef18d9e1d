// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: choose the chunk to evict, and the account that loses pages.
 *
 * policy_share.c ranks the charged accounts. We take the least recently used
 * chunk of those that it ranks lowest, and skip accounts and chunks of which
 * evictions failed a moment ago. There may be many charged accounts: a choice
 * among many takes longer, and drops vram->lock in between. The lock protects
 * everything here, as in mem_account.c.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "compat/cgroup.h"
#include "mem.h"

/*
 * Charges of an account to visit in search of one to evict. They are in order
 * of use: if all of these were given out too recently for the claim, the device
 * has used the chunks behind them since. With many accounts fewer charges of
 * each are visited, so that the claim visits no more than CLAIM_VISITS_ALL.
 */
#define CLAIM_VISITS	256u
#define CLAIM_VISITS_LEAST	4u
#define CLAIM_VISITS_ALL	8192u
/* Accounts and charges to visit before vram->lock is dropped briefly. */
#define CLAIM_BATCH	256u
/* Time for which an account or charge is skipped after evictions failed. */
#define BUSY_TIME	(HZ / 10)
/* Failed evictions in a row before the whole account is skipped. */
#define BUSY_FAILURES	2u

static bool is_busy(u64 until, u64 now)
{
	return time_before64(now, until);
}

/* Return the priority, limited by that of each cgroup above. */
static u32 account_priority(const struct hmmrt_account *account)
{
	u32 priority = account->own.set.priority;

	while ((account = account->parent))
		priority = min(priority, account->own.set.priority);
	return priority;
}

/* Return whether the account is claim->within, or in that cgroup. */
static bool claim_concerns(const struct hmmrt_claim *claim,
			   const struct hmmrt_account *account)
{
	if (!claim->within)
		return true;
	lockdep_assert_held(&claim->within->dev->vram.lock);
	while (account && account != claim->within)
		account = account->parent;
	return account;
}

/* State of the choice of a chunk. */
struct choice {
	struct hmmrt_vram *vram;
	const struct hmmrt_claim *claim;
	struct hmmrt_policy_share_sum sum;
	struct hmmrt_policy_share_pick pick;
	u64 now;			/* in jiffies */
	bool busy;	/* visit only accounts that failed lately */
	unsigned int visits_each;	/* charges to visit per account */
	struct hmmrt_chunk *chunk;	/* the best so far, or an ERR_PTR */
	const struct hmmrt_account *from;	/* that would give it up */
	struct hmmrt_claim_clock_hand hand;
	unsigned int visits;		/* visits since vram->lock was taken */
	struct hmmrt_claim_cost cost;
};

/*
 * Drop vram->lock briefly after many visits with interrupts off. Anything seen
 * before may have changed afterwards. The clock hand still points to a charged
 * account or to the end.
 */
static void choice_breathe(struct choice *choice)
{
	struct hmmrt_vram *vram = choice->vram;

	lockdep_assert_held(&vram->lock);
	choice->cost.most_visits =
		max(choice->cost.most_visits, choice->visits);
	if (choice->visits < CLAIM_BATCH)
		return;
	choice->visits = 0;
	choice->cost.pauses++;
	list_add(&choice->hand.link, &vram->clock_hands);
	spin_unlock_irq(&vram->lock);
	cond_resched();
	spin_lock_irq(&vram->lock);
	list_del(&choice->hand.link);
}

/* Return the next charged account, or NULL. Drops vram->lock now and then. */
static struct hmmrt_account *choice_next(struct choice *choice)
{
	struct hmmrt_account *account;

	choice_breathe(choice);
	if (choice->hand.next == &choice->vram->charged_accounts)
		return NULL;
	account = list_entry(choice->hand.next, struct hmmrt_account, link);
	choice->hand.next = account->link.next;
	choice->visits++;
	return account;
}

static void choice_restart(struct choice *choice)
{
	choice->hand.next = choice->vram->charged_accounts.next;
}

/**
 * hmmrt_accounts_used_in() - sum up what the processes in a cgroup are charged
 * @vram: memory of the device
 * @cgroup: the cgroup
 *
 * Context: vram->lock held; it is dropped now and then.
 * Return: the number of pages.
 */
u64 hmmrt_accounts_used_in(struct hmmrt_vram *vram, struct cgroup *cgroup)
{
	struct choice choice = { .vram = vram };
	struct hmmrt_account *account;
	u64 used = 0;

	lockdep_assert_held(&vram->lock);
	choice_restart(&choice);
	while ((account = choice_next(&choice)))
		if (hmmrt_cgroup_is_in(account->cgroup, cgroup))
			used += account->share.used;
	return used;
}

/* Sum up the weights of the asker and of all accounts in the claim. */
static void choice_add_up(struct choice *choice)
{
	struct hmmrt_account *account, *asker = choice->claim->asker;
	struct hmmrt_account *within = choice->claim->within;

	choice->sum.size = choice->vram->size >> PAGE_SHIFT;
	if (within)
		choice->sum.size = min(choice->sum.size, within->own.set.limit);
	choice_restart(choice);
	while ((account = choice_next(choice))) {
		account->share.priority = account_priority(account);
		if (claim_concerns(choice->claim, account))
			hmmrt_policy_share_add(&choice->sum, &account->share);
	}
	if (asker && !asker->share.used) {
		asker->share.priority = account_priority(asker);
		if (claim_concerns(choice->claim, asker))
			hmmrt_policy_share_add(&choice->sum, &asker->share);
	}
}

/* Return the rank of an account by the current charges. */
static u32 choice_rank(const struct choice *choice,
		       struct hmmrt_account *account)
{
	const struct hmmrt_claim *claim = choice->claim;

	lockdep_assert_held(&choice->vram->lock);
	if (!claim_concerns(claim, account))
		return HMMRT_SHARE_KEPT;
	account->share.priority = account_priority(account);
	hmmrt_policy_share_rank(&choice->sum, &account->share,
				claim->asker ? &claim->asker->share : NULL);
	return account->share.rank;
}

/* Find the least recently used chunk of an account that may be evicted. */
static void choose_of(struct choice *choice, struct hmmrt_account *account)
{
	u32 rank = choice_rank(choice, account);
	const struct hmmrt_charge *charge;
	unsigned int visits = 0;

	if (rank == HMMRT_SHARE_KEPT || rank > choice->pick.rank)
		return;
	list_for_each_entry(charge, &account->charges, account_link) {
		const struct hmmrt_chunk *chunk = charge->chunk;

		if (visits++ == choice->visits_each)
			break;
		/* Only unpinned chunks are on the list. */
		VM_WARN_ON_ONCE(chunk->pinned);
		if (chunk->given >= choice->claim->before)
			continue;
		if (PTR_ERR_OR_ZERO(choice->chunk) == -ENOENT)
			choice->chunk = ERR_PTR(-EBUSY);
		if (chunk->reserved || is_busy(charge->busy_until, choice->now))
			continue;
		if (hmmrt_policy_share_better(&choice->pick, rank,
					      chunk->used_at)) {
			choice->chunk = charge->chunk;
			choice->from = account;
		}
		break;
	}
	choice->visits += visits;
}

static void claim_choose(struct choice *choice)
{
	struct hmmrt_account *account;

	choice_restart(choice);
	while ((account = choice_next(choice)))
		if (is_busy(account->busy_until, choice->now) == choice->busy)
			choose_of(choice, account);
}

/* Return whether the claim spares what is charged to the account in the chunk. */
static bool is_spared(const struct choice *choice,
		      const struct hmmrt_account *account)
{
	u64 unused_since = choice->claim->own_unused_since;

	lockdep_assert_held(&choice->vram->lock);
	return unused_since && account == choice->claim->asker &&
	       choice->chunk->when >= unused_since;
}

/*
 * Select the pages of the chunk charged to accounts of the chosen rank or a
 * lower one. Returns their number.
 */
static unsigned int claim_pages(const struct choice *choice,
				unsigned long *pages)
{
	const struct hmmrt_chunk *chunk = choice->chunk;
	const struct hmmrt_charge *last = NULL;
	unsigned int i, n = 0;
	bool goes = false;

	bitmap_zero(pages, HMMRT_CHUNK_PAGES);
	for_each_set_bit(i, chunk->used, HMMRT_CHUNK_PAGES) {
		const struct hmmrt_charge *charge = chunk->charged_to[i];

		if (charge != last)
			goes = choice_rank(choice, charge->account) <=
				       choice->pick.rank &&
			       !is_spared(choice, charge->account);
		last = charge;
		if (!goes)
			continue;
		__set_bit(i, pages);
		n++;
	}
	return n;
}

/* vram->lock was dropped: others may have evicted the chunk, and used it. */
static bool choice_is_outdated(const struct choice *choice)
{
	const struct hmmrt_chunk *chunk = choice->chunk;

	lockdep_assert_held(&choice->vram->lock);
	return chunk->reserved || chunk->pinned ||
	       chunk->given >= choice->claim->before;
}

/**
 * hmmrt_claim_chunk() - choose the chunk to evict next
 * @vram: memory of the device
 * @claim: which account asks, which accounts may lose pages, and that no page
 *	of the chunk was given out since vram->given was claim->before
 * @pages: out: pages of the chunk to evict
 * @cost: out: what the choice took
 *
 * Chooses the least recently used chunk of the accounts that policy_share.c
 * ranks lowest. With many accounts and charges vram->lock is dropped in
 * between, and the chosen chunk is checked again at the end.
 * Return: the chunk; or an ERR_PTR: -EBUSY other threads are evicting all
 * candidates, or failed to a moment ago; -ENOENT no candidate exists; -EAGAIN
 * the chosen chunk is no longer a candidate; -EXDEV the asker would give up
 * memory of its own, which the claim spares.
 */
struct hmmrt_chunk *hmmrt_claim_chunk(struct hmmrt_vram *vram,
				      const struct hmmrt_claim *claim,
				      unsigned long *pages,
				      struct hmmrt_claim_cost *cost)
{
	struct choice choice = {
		.vram = vram,
		.claim = claim,
		.chunk = ERR_PTR(-ENOENT),
		.now = get_jiffies_64(),
		.visits_each = clamp(CLAIM_VISITS_ALL / (vram->nr_charged + 1),
				     CLAIM_VISITS_LEAST, CLAIM_VISITS),
	};

	lockdep_assert_held(&vram->lock);
	choice_add_up(&choice);
	hmmrt_policy_share_begin(&choice.pick);
	claim_choose(&choice);
	/* Ask accounts with recent failures only if no other can give. */
	choice.busy = true;
	if (IS_ERR(choice.chunk))
		claim_choose(&choice);
	*cost = choice.cost;
	cost->most_visits = max(cost->most_visits, choice.visits);
	if (IS_ERR(choice.chunk))
		return choice.chunk;
	if (is_spared(&choice, choice.from))
		return ERR_PTR(-EXDEV);
	if (choice_is_outdated(&choice) || !claim_pages(&choice, pages))
		return ERR_PTR(-EAGAIN);
	return choice.chunk;
}

/* Return what hmmrt_claim_chunk() would return now, or 0. Takes vram->lock. */
int hmmrt_claim_try(struct hmmrt_vram *vram, const struct hmmrt_claim *claim)
{
	DECLARE_BITMAP(pages, HMMRT_CHUNK_PAGES);
	struct hmmrt_claim_cost cost;
	struct hmmrt_chunk *chunk;

	spin_lock_irq(&vram->lock);
	chunk = hmmrt_claim_chunk(vram, claim, pages, &cost);
	spin_unlock_irq(&vram->lock);
	return PTR_ERR_OR_ZERO(chunk);
}

/**
 * hmmrt_account_can_get() - check if an account can get device memory
 * @account: in use
 * @pages: how much it wants
 * @own_unused_since: see struct hmmrt_claim
 *
 * Context: takes vram->lock.
 * Return: 1 if memory is free within its limits; 0 if it could be evicted; or
 * as hmmrt_account_get_full() and hmmrt_claim_chunk().
 */
int hmmrt_account_can_get(struct hmmrt_account *account, unsigned int pages,
			  u64 own_unused_since)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_claim claim = {
		.asker = account,
		.within = hmmrt_account_get_full(account, pages),
		.before = U64_MAX,
		.own_unused_since = own_unused_since,
	};
	int rc;

	if (IS_ERR(claim.within))
		return PTR_ERR(claim.within);
	if (!claim.within && READ_ONCE(vram->used_pages) + pages <=
				     vram->size >> PAGE_SHIFT)
		return 1;
	rc = hmmrt_claim_try(vram, &claim);
	if (claim.within)
		hmmrt_account_put(claim.within);
	return rc;
}

/* One busy chunk says nothing about the rest of an account; several do. */
static void account_tried(struct hmmrt_account *account, bool failed)
{
	account->failures = failed ? account->failures + 1 : 0;
	if (!failed)
		account->busy_until = 0;
	if (account->failures < BUSY_FAILURES)
		return;
	account->failures = 0;
	account->busy_until = get_jiffies_64() + BUSY_TIME;
}

/**
 * hmmrt_claim_end() - record the result of an eviction
 * @vram: memory of the device
 * @chunk: the chosen chunk
 * @pages: set by hmmrt_claim_chunk()
 * @failed: all of these pages are still there
 *
 * Pages that are still there are tried again after all others of their account.
 */
void hmmrt_claim_end(struct hmmrt_vram *vram, const struct hmmrt_chunk *chunk,
		     const unsigned long *pages, bool failed)
{
	u64 until = get_jiffies_64() + BUSY_TIME;
	struct hmmrt_charge *charge, *last = NULL;
	unsigned int i;

	spin_lock_irq(&vram->lock);
	/* It was reserved all the time, so no pinned object has got it. */
	VM_WARN_ON_ONCE(!chunk->reserved || chunk->pinned);
	for_each_set_bit(i, pages, HMMRT_CHUNK_PAGES) {
		charge = chunk->charged_to[i];
		if (!charge || charge == last)
			continue;
		last = charge;
		list_move_tail(&charge->account_link, &charge->account->charges);
		/* Once per charge, even if its pages are not contiguous. */
		if (failed && charge->busy_until == until)
			continue;
		charge->busy_until = failed ? until : 0;
		account_tried(charge->account, failed);
	}
	spin_unlock_irq(&vram->lock);
}
