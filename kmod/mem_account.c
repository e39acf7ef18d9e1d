// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts: which account is charged for device memory. mem_claim.c chooses the
 * account from which pages are evicted when memory runs out.
 *
 * Model      A process has an account for each device that is bound to its
 *            space. Each page allocated for the process is charged to that
 *            account until the page is free. The pages of one chunk charged to
 *            one account form a charge. A chunk records the charge of each of
 *            its pages, so hmmrt stores nothing in struct page. An account
 *            stays with the device while it is held or charged, even if the
 *            process, the space or the binding goes away: fork() leaves pages
 *            behind, and a page is freed wherever its last reference is
 *            dropped. The number of charged accounts of a user is limited, see
 *            mem_user.c.
 * Cgroups    A cgroup with a quota also has an account. It is charged for the
 *            pages of all processes in it; see mem_account_cgroup.c for the
 *            tree that this forms.
 * Limits     An allocation checks the limits and charges its pages under one
 *            hold of the lock, so it never exceeds a limit. move_alloc.c
 *            handles requests that reach a limit.
 * Use        account->charges is ordered by the last use of the chunks, least
 *            recently used first, without pinned chunks.
 * Locking    vram->lock protects everything here, because pages are freed under
 *            a page table lock. Charges are freed under it, which does not
 *            sleep. Freeing an account may sleep: unused accounts are left to
 *            vram->trim or to the next caller that can sleep.
 */
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "mem.h"
#include "mem_check.h"

/* --- limits --------------------------------------------------------------- */

static u64 account_left(const struct hmmrt_account *account)
{
	u64 limit = account->own.set.limit;

	return limit > account->share.used ? limit - account->share.used : 0;
}

/* Return the account with the least left: this one or one above it. */
static struct hmmrt_account *account_tightest(struct hmmrt_account *account)
{
	struct hmmrt_account *above, *tightest = account;

	lockdep_assert_held(&account->dev->vram.lock);
	for (above = account->parent; above; above = above->parent)
		if (account_left(above) < account_left(tightest))
			tightest = above;
	return tightest;
}

/* Return how many more pages the account may have. */
u64 hmmrt_account_left(struct hmmrt_account *account)
{
	return hmmrt_user_is_full(account) ?
		       0 :
		       account_left(account_tightest(account));
}

/**
 * hmmrt_account_room() - find out how many pages are free for an account
 * @account: in use
 * @shortages: out: how often its memory ran short; it may wrap
 */
u64 hmmrt_account_room(struct hmmrt_account *account, u32 *shortages)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	const struct hmmrt_account *above;
	u64 left;

	spin_lock_irq(&vram->lock);
	left = min(hmmrt_account_left(account), hmmrt_vram_left(vram));
	*shortages = vram->shortages;
	for (above = account; above; above = above->parent)
		*shortages += above->shortages;
	spin_unlock_irq(&vram->lock);
	return left;
}

/* Return whether the account may not have one more page. */
bool hmmrt_account_is_full(struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	bool full;

	spin_lock_irq(&vram->lock);
	full = !hmmrt_account_left(account);
	spin_unlock_irq(&vram->lock);
	return full;
}

/* Return the number of pages charged to the account. */
u64 hmmrt_account_used(const struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	u64 used;

	spin_lock_irq(&vram->lock);
	used = account->share.used;
	spin_unlock_irq(&vram->lock);
	return used;
}

/*
 * Return how many pages the account may have on a device that nobody else uses.
 */
u64 hmmrt_account_size(struct hmmrt_account *account)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	u64 size;

	spin_lock_irq(&vram->lock);
	size = account->share.used + account_left(account_tightest(account));
	spin_unlock_irq(&vram->lock);
	return min(size, vram->size >> PAGE_SHIFT);
}

/* Count a refusal at the account with the tightest limit. */
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

/* Return the first account upwards with too little left for @npages. */
static struct hmmrt_account *account_lacking(struct hmmrt_account *account,
					     u64 npages)
{
	lockdep_assert_held(&account->dev->vram.lock);
	while (account &&
	       account_left(account) >= min(npages, account->own.set.limit))
		account = account->parent;
	return account;
}

/*
 * Find the account from which pages must be evicted before @npages, or as many
 * as its limit allows, can be charged. If too many accounts of its user are
 * charged, it is that of an exited process. Return: the account, held; NULL if
 * enough is left; -ENOENT if eviction cannot help.
 */
struct hmmrt_account *hmmrt_account_get_full(struct hmmrt_account *account,
					     unsigned int npages)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_account *full;

	spin_lock_irq(&vram->lock);
	full = account_lacking(account, npages);
	if (!full && hmmrt_user_is_full(account) &&
	    account_left(account_tightest(account)))
		full = hmmrt_user_find_exited(account->user);
	if (full)
		full->holders++;
	else if (hmmrt_account_left(account) < npages)
		full = ERR_PTR(-ENOENT);
	spin_unlock_irq(&vram->lock);
	return full;
}

/* Return how many pages are charged beyond the limit. */
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
	INIT_LIST_HEAD(&charge->account_link);
	if (!chunk->pinned)
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
 * Charge pages [index, index + npages) of a chunk, which has just been used, to
 * the account. If it has no charge for the chunk yet, uses *spare and sets it
 * to NULL.
 */
void hmmrt_charge_pages(struct hmmrt_account *account,
			struct hmmrt_chunk *chunk, unsigned int index,
			unsigned int npages, struct hmmrt_charge **spare)
{
	struct hmmrt_charge *charge = charge_find(account, chunk);
	unsigned int end = index + npages;
	struct hmmrt_account *above;

	lockdep_assert_held(&account->dev->vram.lock);
	if (!charge) {
		charge = *spare;
		*spare = NULL;
		charge_add(charge, account, chunk);
	}
	charge->npages += npages;
	for (; index < end; index++)
		chunk->charged_to[index] = charge;
	hmmrt_charges_check(&account->dev->vram, chunk);
	if (!account->share.used) {
		list_add_tail(&account->link,
			      &account->dev->vram.charged_accounts);
		account->dev->vram.nr_charged++;
		hmmrt_user_charge(account);
	}
	for (above = account; above; above = above->parent) {
		above->share.used += npages;
		above->shortages += hmmrt_runs_short(account_left(above),
						     npages);
	}
	hmmrt_account_check(account);
}

/* Move clock hands off an account that leaves the charged list. */
static void clock_hands_leave(struct hmmrt_vram *vram,
			      const struct hmmrt_account *account)
{
	struct hmmrt_claim_clock_hand *hand;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(hand, &vram->clock_hands, link)
		if (hand->next == &account->link)
			hand->next = account->link.next;
}

/* Uncharge a free page. Returns whether accounts must be swept. */
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
	VM_WARN_ON_ONCE(!account->share.used);
	for (above = account; above; above = above->parent)
		above->share.used--;
	if (account->share.used)
		return false;
	clock_hands_leave(vram, account);
	list_del_init(&account->link);
	VM_WARN_ON_ONCE(!vram->nr_charged);
	vram->nr_charged--;
	hmmrt_user_uncharge(account);
	return hmmrt_account_retire(account);
}

/*
 * Record a use of the chunk: it becomes the most recently used one of all
 * accounts that its pages are charged to.
 */
void hmmrt_charges_used(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk)
{
	struct hmmrt_charge *charge;

	lockdep_assert_held(&vram->lock);
	chunk->used_at = vram->uses++;
	chunk->when = ktime_to_us(ktime_get());
	if (chunk->pinned)
		return;
	list_for_each_entry(charge, &chunk->charges, chunk_link)
		list_move_tail(&charge->account_link,
			       &charge->account->charges);
}

/* --- lifetime ------------------------------------------------------------- */

/* Free an account that is unreferenced and on no list. */
void hmmrt_account_free(struct hmmrt_account *account)
{
	if (!account)
		return;
	VM_WARN_ON_ONCE(account->share.used || account->members ||
			!list_empty(&account->charges));
	if (account->mm)
		mmdrop(account->mm);
	hmmrt_cgroup_put(account->cgroup);
	/* Only one that was never published still has it. */
	kfree(account->user);
	kfree(account);
}

/*
 * Unhash an account that is unreferenced and without pages, and queue it to be
 * swept. Returns whether it was.
 */
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
		hmmrt_user_leave(account);
	}
	VM_WARN_ON_ONCE(!list_empty(&account->link));
	list_add(&account->link, &vram->gone_accounts);
	return true;
}

/* Context: process context; no lock is held. */
void hmmrt_account_put(struct hmmrt_account *account)
{
	struct hmmrt_device *dev = account->dev;
	bool gone;

	spin_lock_irq(&dev->vram.lock);
	VM_WARN_ON_ONCE(!account->holders);
	account->holders--;
	gone = hmmrt_account_retire(account);
	spin_unlock_irq(&dev->vram.lock);
	if (gone)
		hmmrt_accounts_sweep(dev);
}

/*
 * Allocate an account for the calling process or for a cgroup. The caller gets a
 * reference; the account is on no list. Consumes the reference to @cgroup, also
 * on failure.
 */
struct hmmrt_account *hmmrt_account_alloc(struct hmmrt_device *dev,
					  struct mm_struct *mm,
					  struct cgroup *cgroup)
{
	struct hmmrt_account *account = kzalloc(sizeof(*account),
						GFP_KERNEL_ACCOUNT);

	if (account && mm)
		account->user = hmmrt_user_alloc(current_uid());
	if (!account || (mm && !account->user)) {
		hmmrt_cgroup_put(cgroup);
		kfree(account);
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
	/* A quota set for an earlier device with this id does not apply. */
	if (own->serial != account->dev->serial) {
		*own = hmmrt_no_quota;
		own->serial = account->dev->serial;
	}
	account->own = *own;
	account->parent = hmmrt_cgroup_account_above(vram, account->cgroup);
	for (above = account->parent; above; above = above->parent)
		above->members++;
	hmmrt_user_join(vram, account);
	hash_add(vram->accounts, &account->by_mm, (unsigned long)account->mm);
}

/**
 * hmmrt_account_get() - get the account of a process on a device
 * @dev: the device
 * @mm: of the calling process
 * @own: the quota that its space has for the device
 *
 * Context: may sleep, no lock is held.
 * Return: the account, with a reference; the one of an earlier binding if it
 * still exists; or an ERR_PTR.
 */
struct hmmrt_account *hmmrt_account_get(struct hmmrt_device *dev,
					struct mm_struct *mm,
					struct hmmrt_quota_own *own)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_account *account, *created;

	hmmrt_accounts_sweep(dev);
	created = hmmrt_account_alloc(dev, mm, hmmrt_cgroup_of(mm));
	if (!created)
		return ERR_PTR(-ENOMEM);
	spin_lock_irq(&vram->lock);
	account = account_find(vram, mm);
	if (!account) {
		account = created;
		account_publish(account, own);
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
	hmmrt_cgroup_accounts_collect(vram);
	list_splice_init(&vram->gone_accounts, &gone);
	spin_unlock_irq(&vram->lock);
	accounts_free(&gone);
}

void hmmrt_accounts_init(struct hmmrt_vram *vram)
{
	hash_init(vram->accounts);
	hash_init(vram->users);
	INIT_LIST_HEAD(&vram->charged_accounts);
	INIT_LIST_HEAD(&vram->clock_hands);
	INIT_LIST_HEAD(&vram->cgroup_accounts);
	INIT_LIST_HEAD(&vram->gone_accounts);
}

/* No thread uses the device or any of its pages. */
void hmmrt_accounts_destroy(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;

	hmmrt_accounts_sweep(dev);
	accounts_free(&vram->cgroup_accounts);
	VM_WARN_ON_ONCE(vram->nr_charged || !list_empty(&vram->clock_hands));
	WARN_ON_ONCE(!hash_empty(vram->accounts) ||
		     !hash_empty(vram->users) ||
		     !list_empty(&vram->charged_accounts));
}
