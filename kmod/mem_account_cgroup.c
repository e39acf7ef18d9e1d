// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accounts of cgroups: a cgroup with a quota has an account (mem_account.c),
 * which is charged for the processes in it.
 *
 * Model      Accounts form a tree, by account->parent, that has only the
 *            cgroups with quotas. The tree is adjusted when a cgroup gets its
 *            first quota or loses its quota. A process counts for the cgroup
 *            that it was in when it bound the device.
 * Locking    vram->lock protects the tree and the quotas.
 */
#include <linux/hashtable.h>

#include "compat/cgroup.h"
#include "mem.h"
#include "mem_check.h"

const struct hmmrt_quota_own hmmrt_no_quota = {
	.set = { .limit = HMMRT_NO_LIMIT, .priority = HMMRT_PRIORITY_DEFAULT },
	.most = { .limit = HMMRT_NO_LIMIT, .priority = HMMRT_PRIORITY_DEFAULT },
};

/* The quota of a cgroup without one: only the quotas of its members apply. */
const struct hmmrt_quota_set hmmrt_no_cgroup_quota = {
	.limit = HMMRT_NO_LIMIT,
	.priority = HMMRT_PRIORITY_MAX,
};

/* The account of the nearest cgroup with a quota: @cgroup, or an ancestor. */
struct hmmrt_account *hmmrt_cgroup_account_above(struct hmmrt_vram *vram,
						 struct cgroup *cgroup)
{
	struct hmmrt_account *account, *nearest = NULL;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(account, &vram->cgroup_accounts, link)
		if (cgroup && hmmrt_cgroup_is_in(cgroup, account->cgroup) &&
		    (!nearest ||
		     hmmrt_cgroup_is_in(account->cgroup, nearest->cgroup)))
			nearest = account;
	return nearest;
}

/* The account of exactly this cgroup, or NULL: it has no quota. */
struct hmmrt_account *hmmrt_cgroup_account_find(struct hmmrt_vram *vram,
						const struct cgroup *cgroup)
{
	struct hmmrt_account *account;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(account, &vram->cgroup_accounts, link)
		if (account->cgroup == cgroup)
			return account;
	return NULL;
}

/*
 * Insert the account into the tree, between its members and their former
 * parent.
 */
static void account_insert(struct hmmrt_vram *vram,
			   struct hmmrt_account *account)
{
	struct hmmrt_account *other;
	unsigned int bucket;

	lockdep_assert_held(&vram->lock);
	account->parent = hmmrt_cgroup_account_above(vram, account->cgroup);
	list_for_each_entry(other, &vram->cgroup_accounts, link)
		if (other->parent == account->parent &&
		    hmmrt_cgroup_is_in(other->cgroup, account->cgroup))
			other->parent = account;
	hash_for_each(vram->accounts, bucket, other, by_mm) {
		if (!hmmrt_cgroup_is_in(other->cgroup, account->cgroup))
			continue;
		account->members++;
		account->share.used += other->share.used;
		if (other->parent == account->parent)
			other->parent = account;
	}
	list_add(&account->link, &vram->cgroup_accounts);
	hmmrt_accounts_check(vram);
}

static void account_change_parent(struct hmmrt_account *account,
				  const struct hmmrt_account *from)
{
	if (account->parent == from)
		account->parent = from->parent;
}

/* Remove an account from the tree. The caller drops the reference to it. */
static void account_remove(struct hmmrt_vram *vram,
			   struct hmmrt_account *account)
{
	struct hmmrt_account *other;
	unsigned int bucket;

	lockdep_assert_held(&vram->lock);
	list_del_init(&account->link);
	list_for_each_entry(other, &vram->cgroup_accounts, link)
		account_change_parent(other, account);
	/*
	 * Accounts of processes without a reference are in no cgroup any more.
	 */
	hash_for_each(vram->accounts, bucket, other, by_mm)
		account_change_parent(other, account);
	account->parent = NULL;
	account->members = 0;
	account->share.used = 0;
	hmmrt_accounts_check(vram);
}

static bool is_no_cgroup_quota(struct hmmrt_quota_set set)
{
	return set.limit == hmmrt_no_cgroup_quota.limit &&
	       set.priority == hmmrt_no_cgroup_quota.priority;
}

/*
 * Set the quota of a cgroup. Returns its account, held, which is @created if
 * the cgroup gets its first quota. Returns NULL if it has no quota and gets
 * none.
 */
struct hmmrt_account *hmmrt_cgroup_account_set(struct hmmrt_vram *vram,
					       struct hmmrt_account *created,
					       struct hmmrt_quota_set set)
{
	struct hmmrt_account *account =
		hmmrt_cgroup_account_find(vram, created->cgroup);

	lockdep_assert_held(&vram->lock);
	if (!account && is_no_cgroup_quota(set))
		return NULL;
	if (!account) {
		account = created;
		account_insert(vram, account);
	}
	account->own.set = set;
	account->holders++;
	if (is_no_cgroup_quota(set)) {
		account_remove(vram, account);
		account->holders--;
	}
	return account;
}

/*
 * Remove accounts of cgroups that were deleted and have no members: none can be
 * added. Modules are not told when a cgroup is deleted. So a deleted cgroup's
 * struct cgroup is held until the next hmmrt_accounts_sweep(), for example when
 * a process binds or unbinds the device.
 */
void hmmrt_cgroup_accounts_collect(struct hmmrt_vram *vram)
{
	struct hmmrt_account *account, *next;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry_safe(account, next, &vram->cgroup_accounts, link) {
		if (!hmmrt_cgroup_is_dead(account->cgroup) || account->members)
			continue;
		account_remove(vram, account);
		account->holders--;
		hmmrt_account_retire(account);
	}
}
