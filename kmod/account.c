// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts: who is charged for device memory, and whose goes when there is not enough.
 *
 * Model      A process has an account for each device that is bound to its space, and
 *            each page that is taken for it is charged to that, until it is free.
 *            What an account has of one chunk is a charge; a chunk knows the charge of
 *            each of its pages: there is nothing of ours in a struct page. Accounts
 *            stay with the device as long as they are held or charged, whatever
 *            becomes of process, space and binding: pages are left by fork(), and
 *            freed wherever their last reference goes. Of those that are charged
 *            there are no more than processes_max: then what is left of a process
 *            that has exited is evicted for one that comes.
 * Cgroups    One with a quota has an account, too, which is charged what those in it
 *            are; see kmod/quota.c for the tree that makes.
 * Limits     Looked at and charged in one go, so they are never exceeded. What is done
 *            about one that was reached is in kmod/request.c and kmod/evict.c.
 * Use        account->charges is in the order in which their chunks were used last, so
 *            what comes first is missed least. Whose turn it is: policy_share.c.
 * Locking    vram->lock, all of it: pages are freed under a page table lock. So charges
 *            are freed there, which does not sleep, but accounts are not: those that
 *            are gone are left to vram->trim, or to who comes by.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "hmmrt.h"

/*
 * Charges of an account that are looked at for one that may go. Behind so many that were
 * given out just now there is only what the device has used since. Where many accounts
 * are asked it is fewer of each, so that a claim takes no longer than CLAIM_LOOKS_ALL.
 */
#define CLAIM_LOOKS	256u
#define CLAIM_LOOKS_LEAST	4u
#define CLAIM_LOOKS_ALL	8192u
/* Accounts and charges that are looked at before vram->lock is let go for a moment. */
#define CLAIM_BATCH	256u
/* For how long what could not be evicted is left alone. */
#define BUSY_TIME	(HZ / 10)
/* Chunks of an account in a row, before others are asked first. */
#define BUSY_FAILURES	2u
/* More of them, and the products of policy_share.c would not fit. */
#define PROCESSES_MOST	65535u

static unsigned int processes_max = 1024;
module_param(processes_max, uint, 0644);
MODULE_PARM_DESC(processes_max,
		 "how many processes may have memory of a device at a time (default 1024, at most 65535)");

/* --- limits --------------------------------------------------------------- */

static u64 account_room(const struct hmmrt_account *account)
{
	u64 limit = account->own.set.limit;

	return limit > account->share.used ? limit - account->share.used : 0;
}

/* Of it and those above it, the one that allows the least. */
static struct hmmrt_account *account_tightest(struct hmmrt_account *account)
{
	struct hmmrt_account *above, *tightest = account;

	lockdep_assert_held(&account->dev->vram.lock);
	for (above = account->parent; above; above = above->parent)
		if (account_room(above) < account_room(tightest))
			tightest = above;
	return tightest;
}

static bool is_busy(u64 until, u64 now)
{
	return time_before64(now, until);
}

/* It would be one more that has something. */
static bool is_one_too_many(const struct hmmrt_account *account)
{
	const struct hmmrt_vram *vram = &account->dev->vram;

	lockdep_assert_held(&vram->lock);
	return !account->share.used &&
	       vram->nr_charged >=
		       min(READ_ONCE(processes_max), PROCESSES_MOST);
}

/* Whether it is @above, or in that cgroup. */
static bool account_is_below(const struct hmmrt_account *account,
			     const struct hmmrt_account *above)
{
	lockdep_assert_held(&above->dev->vram.lock);
	while (account && account != above)
		account = account->parent;
	return account;
}

/* How many more pages it may have. */
u64 hmmrt_account_room(struct hmmrt_account *account)
{
	return is_one_too_many(account) ?
		       0 :
		       account_room(account_tightest(account));
}

/* Whether it may not have one more page. */
bool hmmrt_account_is_full(struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	bool full;

	spin_lock_irq(&vram->lock);
	full = !hmmrt_account_room(account);
	spin_unlock_irq(&vram->lock);
	return full;
}

/* How much of the device it has, in pages. */
u64 hmmrt_account_used(const struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	u64 used;

	spin_lock_irq(&vram->lock);
	used = account->share.used;
	spin_unlock_irq(&vram->lock);
	return used;
}

/* Memory was refused, because of the limit that is the tightest. */
void hmmrt_account_refused(struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;

	spin_lock_irq(&vram->lock);
	account_tightest(account)->refused++;
	spin_unlock_irq(&vram->lock);
}

void hmmrt_account_evicted(struct hmmrt_account *account, unsigned int pages)
{
	struct hmmrt_vram *vram = &account->dev->vram;

	spin_lock_irq(&vram->lock);
	account->evicted += pages;
	spin_unlock_irq(&vram->lock);
}

/* Of a process that has exited, and left pages: the fewest, so that it is soon done. */
static struct hmmrt_account *orphan_find(struct hmmrt_vram *vram)
{
	struct hmmrt_account *account, *found = NULL, *busy = NULL;
	u64 now = get_jiffies_64();

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(account, &vram->charged_accounts, link) {
		if (atomic_read(&account->mm->mm_users))
			continue;
		if (is_busy(account->busy_until, now))
			busy = account;
		else if (!found || account->share.used < found->share.used)
			found = account;
	}
	return found ? found : busy;
}

/* The first, of it and those above it, that has too little room for so many pages. */
static struct hmmrt_account *account_lacking(struct hmmrt_account *account,
					     u64 npages)
{
	lockdep_assert_held(&account->dev->vram.lock);
	while (account && account_room(account) >=
				  min(npages, account->own.set.limit))
		account = account->parent;
	return account;
}

/*
 * In what something has to go before there is room for @npages, or for as many as may be
 * at most; held. Where too many have something it is what nobody needs any more.
 * Return: NULL there is room; -ENOENT nothing can be done.
 */
struct hmmrt_account *hmmrt_account_get_full(struct hmmrt_account *account,
					     unsigned int npages)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_account *full;

	spin_lock_irq(&vram->lock);
	full = account_lacking(account, npages);
	if (!full && is_one_too_many(account) &&
	    account_room(account_tightest(account)))
		full = orphan_find(vram);
	if (full)
		full->holders++;
	else if (hmmrt_account_room(account) < npages)
		full = ERR_PTR(-ENOENT);
	spin_unlock_irq(&vram->lock);
	return full;
}

/* How many pages are charged to it beyond its limit. */
u64 hmmrt_account_excess(const struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	u64 limit, used;

	spin_lock_irq(&vram->lock);
	limit = account->own.set.limit;
	used = account->share.used;
	spin_unlock_irq(&vram->lock);
	return used > limit ? used - limit : 0;
}

/* --- charges -------------------------------------------------------------- */

static void charge_add(struct hmmrt_charge *charge,
		       struct hmmrt_account *account, struct hmmrt_chunk *chunk)
{
	lockdep_assert_held(&account->dev->vram.lock);
	charge->account = account;
	charge->chunk = chunk;
	list_add(&charge->chunk_link, &chunk->charges);
	list_add_tail(&charge->account_link, &account->charges);
}

static struct hmmrt_charge *charge_find(const struct hmmrt_account *account,
					const struct hmmrt_chunk *chunk)
{
	struct hmmrt_charge *charge;

	lockdep_assert_held(&account->dev->vram.lock);
	list_for_each_entry(charge, &chunk->charges, chunk_link)
		if (charge->account == account)
			return charge;
	return NULL;
}

/*
 * Pages [index, index + npages) of a chunk, which was used just now, were taken for the
 * account. *spare becomes the charge, and NULL, if there is none yet.
 */
void hmmrt_charge(struct hmmrt_account *account, struct hmmrt_chunk *chunk,
		  unsigned int index, unsigned int npages,
		  struct hmmrt_charge **spare)
{
	struct hmmrt_charge *charge = charge_find(account, chunk);
	unsigned int end = index + npages;

	lockdep_assert_held(&account->dev->vram.lock);
	if (!charge) {
		charge = *spare;
		*spare = NULL;
		charge_add(charge, account, chunk);
	}
	charge->npages += npages;
	for (; index < end; index++)
		chunk->charged_to[index] = charge;
	if (!account->share.used) {
		list_add_tail(&account->link,
			      &account->dev->vram.charged_accounts);
		account->dev->vram.nr_charged++;
	}
	for (; account; account = account->parent)
		account->share.used += npages;
}

/* The account is about to have nothing, and to leave the list: no hand stays at it. */
static void hands_leave(struct hmmrt_vram *vram,
			const struct hmmrt_account *account)
{
	struct hmmrt_claim_hand *hand;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(hand, &vram->hands, link)
		if (hand->next == &account->link)
			hand->next = account->link.next;
}

/* A page is free again. Returns whether somebody should sweep. */
bool hmmrt_uncharge(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
		    unsigned int index)
{
	struct hmmrt_charge *charge = chunk->charged_to[index];
	struct hmmrt_account *account = charge->account, *above;

	lockdep_assert_held(&vram->lock);
	chunk->charged_to[index] = NULL;
	if (!--charge->npages) {
		list_del(&charge->chunk_link);
		list_del(&charge->account_link);
		kfree(charge);
	}
	for (above = account; above; above = above->parent)
		above->share.used--;
	if (account->share.used)
		return false;
	hands_leave(vram, account);
	list_del_init(&account->link);
	vram->nr_charged--;
	return hmmrt_account_retire(account);
}

/* A chunk was used: of all that its pages are charged to it is the last now. */
void hmmrt_charges_used(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk)
{
	struct hmmrt_charge *charge;

	lockdep_assert_held(&vram->lock);
	chunk->used_at = vram->uses++;
	list_for_each_entry(charge, &chunk->charges, chunk_link)
		list_move_tail(&charge->account_link,
			       &charge->account->charges);
}

/* --- whose turn it is ----------------------------------------------------- */

/* No more than any cgroup allows that it is in. */
static u32 account_priority(const struct hmmrt_account *account)
{
	u32 priority = account->own.set.priority;

	while ((account = account->parent))
		priority = min(priority, account->own.set.priority);
	return priority;
}

static bool claim_concerns(const struct hmmrt_claim *claim,
			   const struct hmmrt_account *account)
{
	return !claim->within ||
	       account_is_below(account, claim->within);
}

/* A choice, and how it goes. */
struct choice {
	struct hmmrt_vram *vram;
	const struct hmmrt_claim *claim;
	struct hmmrt_policy_share_sum sum;
	struct hmmrt_policy_share_pick pick;
	u64 now;			/* in jiffies */
	bool busy;			/* those are asked that could give nothing */
	unsigned int looks_each;	/* charges of an account that are looked at */
	struct hmmrt_chunk *chunk;	/* the best so far, or an ERR_PTR */
	struct hmmrt_claim_hand hand;
	unsigned int looks;		/* since vram->lock was taken */
	struct hmmrt_claim_cost cost;
};

/*
 * Enough has been looked at with interrupts off. What was seen before may have changed
 * afterwards; the hand is at an account that is charged, or at the end.
 */
static void choice_breathe(struct choice *choice)
{
	struct hmmrt_vram *vram = choice->vram;

	lockdep_assert_held(&vram->lock);
	choice->cost.most_looks = max(choice->cost.most_looks, choice->looks);
	if (choice->looks < CLAIM_BATCH)
		return;
	choice->looks = 0;
	choice->cost.pauses++;
	list_add(&choice->hand.link, &vram->hands);
	spin_unlock_irq(&vram->lock);
	cond_resched();
	spin_lock_irq(&vram->lock);
	list_del(&choice->hand.link);
}

/* The next account that is charged, or NULL; vram->lock is let go now and then. */
static struct hmmrt_account *choice_next(struct choice *choice)
{
	struct hmmrt_account *account;

	choice_breathe(choice);
	if (choice->hand.next == &choice->vram->charged_accounts)
		return NULL;
	account = list_entry(choice->hand.next, struct hmmrt_account, link);
	choice->hand.next = account->link.next;
	choice->looks++;
	return account;
}

static void choice_restart(struct choice *choice)
{
	choice->hand.next = choice->vram->charged_accounts.next;
}

/* The asker, and all accounts that share what is to become less. */
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

/* Whose turn it is, by what all have now. */
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

/* What the account has that may go and was used longest ago. */
static void choose_of(struct choice *choice, struct hmmrt_account *account)
{
	u32 rank = choice_rank(choice, account);
	const struct hmmrt_charge *charge;
	unsigned int looks = 0;

	if (rank == HMMRT_SHARE_KEPT || rank > choice->pick.rank)
		return;
	list_for_each_entry(charge, &account->charges, account_link) {
		const struct hmmrt_chunk *chunk = charge->chunk;

		if (looks++ == choice->looks_each)
			break;
		if (chunk->given >= choice->claim->before)
			continue;
		if (PTR_ERR_OR_ZERO(choice->chunk) == -ENOENT)
			choice->chunk = ERR_PTR(-EBUSY);
		if (chunk->reserved || is_busy(charge->busy_until, choice->now))
			continue;
		if (hmmrt_policy_share_better(&choice->pick, rank,
					      chunk->used_at))
			choice->chunk = charge->chunk;
		break;
	}
	choice->looks += looks;
}

static void choose(struct choice *choice)
{
	struct hmmrt_account *account;

	choice_restart(choice);
	while ((account = choice_next(choice)))
		if (is_busy(account->busy_until, choice->now) == choice->busy)
			choose_of(choice, account);
}

/* Of a chunk, what is charged to those whose turn it is as well. Returns how much. */
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
			       choice->pick.rank;
		last = charge;
		if (!goes)
			continue;
		__set_bit(i, pages);
		n++;
	}
	return n;
}

/**
 * hmmrt_claim_chunk() - choose the chunk that is to be evicted next
 * @vram: of which
 * @claim: for whom, of whom, and none of which pages were given out since vram->given
 *	was claim->before
 * @pages: out: what of it is to go
 * @cost: out: what it took
 *
 * Of those whose turn it is (policy_share.c) the one that was used longest ago. With
 * more accounts and charges than are looked at in one go vram->lock is let go in
 * between, and what was chosen is looked at once more in the end.
 * Return: the chunk; or an ERR_PTR: -EBUSY others evict all that there is, or could
 * not do so a moment ago; -ENOENT there is none; -EAGAIN what was chosen is gone.
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
		.looks_each = clamp(CLAIM_LOOKS_ALL / (vram->nr_charged + 1),
				    CLAIM_LOOKS_LEAST, CLAIM_LOOKS),
	};

	lockdep_assert_held(&vram->lock);
	choice_add_up(&choice);
	hmmrt_policy_share_begin(&choice.pick);
	choose(&choice);
	/* Who could give nothing a moment ago is asked when nobody else can. */
	choice.busy = true;
	if (IS_ERR(choice.chunk))
		choose(&choice);
	*cost = choice.cost;
	cost->most_looks = max(cost->most_looks, choice.looks);
	if (IS_ERR(choice.chunk))
		return choice.chunk;
	if (choice.chunk->reserved || !claim_pages(&choice, pages))
		return ERR_PTR(-EAGAIN);
	return choice.chunk;
}

/* One chunk that is busy says nothing of the others; several in a row do. */
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
 * hmmrt_claim_end() - what was chosen was evicted, as far as that could be
 * @vram: of which
 * @chunk: which
 * @pages: of hmmrt_claim_chunk()
 * @failed: all of them are there still
 *
 * What is there still is looked at again when all else of its account has been.
 */
void hmmrt_claim_end(struct hmmrt_vram *vram, const struct hmmrt_chunk *chunk,
		     const unsigned long *pages, bool failed)
{
	u64 until = get_jiffies_64() + BUSY_TIME;
	struct hmmrt_charge *charge, *last = NULL;
	unsigned int i;

	spin_lock_irq(&vram->lock);
	for_each_set_bit(i, pages, HMMRT_CHUNK_PAGES) {
		charge = chunk->charged_to[i];
		if (!charge || charge == last)
			continue;
		last = charge;
		list_move_tail(&charge->account_link, &charge->account->charges);
		/* Once each, however its pages lie among those of others. */
		if (failed && charge->busy_until == until)
			continue;
		charge->busy_until = failed ? until : 0;
		account_tried(charge->account, failed);
	}
	spin_unlock_irq(&vram->lock);
}

/* --- coming and going ----------------------------------------------------- */

/* Nobody refers to it, and it is on no list. */
void hmmrt_account_free(struct hmmrt_account *account)
{
	if (!account)
		return;
	if (account->mm)
		mmdrop(account->mm);
	hmmrt_cgroup_put(account->cgroup);
	kfree(account);
}

/* If nobody refers to it any more: it is found no longer, and to be swept. */
bool hmmrt_account_retire(struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_account *above;

	lockdep_assert_held(&vram->lock);
	if (account->holders || account->share.used)
		return false;
	if (account->mm) {
		hash_del(&account->by_mm);
		for (above = account->parent; above; above = above->parent)
			above->members--;
	}
	list_add(&account->link, &vram->gone_accounts);
	return true;
}

/* Context: process context; no lock is held. */
void hmmrt_account_put(struct hmmrt_account *account)
{
	struct hmmrt_device *dev = account->dev;
	bool gone;

	spin_lock_irq(&dev->vram.lock);
	account->holders--;
	gone = hmmrt_account_retire(account);
	spin_unlock_irq(&dev->vram.lock);
	if (gone)
		hmmrt_accounts_sweep(dev);
}

/*
 * One that is held by the caller, on no list, of a process or of a cgroup alone; takes
 * the reference to @cgroup, also if it fails.
 */
struct hmmrt_account *hmmrt_account_alloc(struct hmmrt_device *dev,
					  struct mm_struct *mm,
					  struct cgroup *cgroup)
{
	struct hmmrt_account *account = kzalloc(sizeof(*account),
						GFP_KERNEL_ACCOUNT);

	if (!account) {
		hmmrt_cgroup_put(cgroup);
		return NULL;
	}
	account->dev = dev;
	account->cgroup = cgroup;
	account->mm = mm;
	if (mm)
		mmgrab(mm);
	account->holders = 1;
	INIT_LIST_HEAD(&account->link);
	INIT_LIST_HEAD(&account->charges);
	return account;
}

static struct hmmrt_account *account_find(struct hmmrt_vram *vram,
					  const struct mm_struct *mm)
{
	struct hmmrt_account *account;

	lockdep_assert_held(&vram->lock);
	hash_for_each_possible(vram->accounts, account, by_mm,
			       (unsigned long)mm) {
		if (account->mm == mm) {
			account->holders++;
			return account;
		}
	}
	return NULL;
}

static void account_publish(struct hmmrt_account *account,
			    struct hmmrt_quota_own *own)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_account *above;

	lockdep_assert_held(&vram->lock);
	/* What was set for a former device with this id is not for this one. */
	if (own->serial != account->dev->serial) {
		*own = hmmrt_no_quota;
		own->serial = account->dev->serial;
	}
	account->own = *own;
	account->parent = hmmrt_group_above(vram, account->cgroup);
	for (above = account->parent; above; above = above->parent)
		above->members++;
	hash_add(vram->accounts, &account->by_mm, (unsigned long)account->mm);
}

/**
 * hmmrt_account_get() - who is charged for a process's memory on a device
 * @dev: which
 * @space: of the calling process
 *
 * Context: may sleep, no lock is held.
 * Return: the account, held, which is that of a former binding if that still is
 * charged; or an ERR_PTR.
 */
struct hmmrt_account *hmmrt_account_get(struct hmmrt_device *dev,
					struct hmmrt_space *space)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_account *account, *created;

	hmmrt_accounts_sweep(dev);
	created = hmmrt_account_alloc(dev, space->mm,
				      hmmrt_cgroup_of(space->mm));
	if (!created)
		return ERR_PTR(-ENOMEM);
	spin_lock_irq(&vram->lock);
	account = account_find(vram, space->mm);
	if (!account) {
		account = created;
		account_publish(account, &space->quotas[dev->id]);
	}
	spin_unlock_irq(&vram->lock);
	if (account != created)
		hmmrt_account_free(created);
	return account;
}

static void accounts_free(struct list_head *accounts)
{
	struct hmmrt_account *account, *next;

	list_for_each_entry_safe(account, next, accounts, link)
		hmmrt_account_free(account);
}

/* Context: process context; no lock is held. */
void hmmrt_accounts_sweep(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	LIST_HEAD(gone);

	might_sleep();
	spin_lock_irq(&vram->lock);
	hmmrt_groups_collect(vram);
	list_splice_init(&vram->gone_accounts, &gone);
	spin_unlock_irq(&vram->lock);
	accounts_free(&gone);
}

void hmmrt_accounts_init(struct hmmrt_vram *vram)
{
	hash_init(vram->accounts);
	INIT_LIST_HEAD(&vram->charged_accounts);
	INIT_LIST_HEAD(&vram->hands);
	INIT_LIST_HEAD(&vram->group_accounts);
	INIT_LIST_HEAD(&vram->gone_accounts);
}

/* Nobody uses the device, and no page of it. */
void hmmrt_accounts_destroy(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;

	hmmrt_accounts_sweep(dev);
	accounts_free(&vram->group_accounts);
	WARN_ON_ONCE(!hash_empty(vram->accounts) ||
		     !list_empty(&vram->charged_accounts));
}
