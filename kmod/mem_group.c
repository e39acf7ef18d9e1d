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
const struct hmmrt_quota_set hmmrt_no_group_quota = {
	.limit = HMMRT_NO_LIMIT,
	.priority = HMMRT_PRIORITY_MAX,
};

/* The nearest cgroup with a quota: @cgroup itself, or an ancestor. */
struct hmmrt_account *hmmrt_group_above(struct hmmrt_vram *vram,
					struct cgroup *cgroup)
{
	struct hmmrt_account *group, *nearest = NULL;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(group, &vram->group_accounts, link)
		if (cgroup && hmmrt_cgroup_is_in(cgroup, group->cgroup) &&
		    (!nearest ||
		     hmmrt_cgroup_is_in(group->cgroup, nearest->cgroup)))
			nearest = group;
	return nearest;
}

/* The account of exactly this cgroup, or NULL: it has no quota. */
struct hmmrt_account *hmmrt_group_find(struct hmmrt_vram *vram,
				       const struct cgroup *cgroup)
{
	struct hmmrt_account *group;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(group, &vram->group_accounts, link)
		if (group->cgroup == cgroup)
			return group;
	return NULL;
}

/*
 * Insert the group into the tree, between its members and their former parent.
 */
static void group_insert(struct hmmrt_vram *vram, struct hmmrt_account *group)
{
	struct hmmrt_account *account;
	unsigned int bucket;

	lockdep_assert_held(&vram->lock);
	group->parent = hmmrt_group_above(vram, group->cgroup);
	list_for_each_entry(account, &vram->group_accounts, link)
		if (account->parent == group->parent &&
		    hmmrt_cgroup_is_in(account->cgroup, group->cgroup))
			account->parent = group;
	hash_for_each(vram->accounts, bucket, account, by_mm) {
		if (!hmmrt_cgroup_is_in(account->cgroup, group->cgroup))
			continue;
		group->members++;
		group->share.used += account->share.used;
		if (account->parent == group->parent)
			account->parent = group;
	}
	list_add(&group->link, &vram->group_accounts);
	hmmrt_accounts_check(vram);
}

static void account_change_parent(struct hmmrt_account *account,
				  const struct hmmrt_account *from)
{
	if (account->parent == from)
		account->parent = from->parent;
}

/* Remove a group from the tree. The caller drops the reference to it. */
static void group_remove(struct hmmrt_vram *vram, struct hmmrt_account *group)
{
	struct hmmrt_account *account;
	unsigned int bucket;

	lockdep_assert_held(&vram->lock);
	list_del_init(&group->link);
	list_for_each_entry(account, &vram->group_accounts, link)
		account_change_parent(account, group);
	/*
	 * Accounts of processes without a reference are in no cgroup any more.
	 */
	hash_for_each(vram->accounts, bucket, account, by_mm)
		account_change_parent(account, group);
	group->parent = NULL;
	group->members = 0;
	group->share.used = 0;
	hmmrt_accounts_check(vram);
}

static bool is_no_group_quota(struct hmmrt_quota_set set)
{
	return set.limit == hmmrt_no_group_quota.limit &&
	       set.priority == hmmrt_no_group_quota.priority;
}

/*
 * Set the quota of a cgroup. Returns its account, held, which is @created if
 * the cgroup gets its first quota. Returns NULL if it has no quota and gets
 * none.
 */
struct hmmrt_account *hmmrt_group_set(struct hmmrt_vram *vram,
				      struct hmmrt_account *created,
				      struct hmmrt_quota_set set)
{
	struct hmmrt_account *group = hmmrt_group_find(vram, created->cgroup);

	lockdep_assert_held(&vram->lock);
	if (!group && is_no_group_quota(set))
		return NULL;
	if (!group) {
		group = created;
		group_insert(vram, group);
	}
	group->own.set = set;
	group->holders++;
	if (is_no_group_quota(set)) {
		group_remove(vram, group);
		group->holders--;
	}
	return group;
}

/*
 * Remove groups of cgroups that were deleted and have no members: none can be
 * added. Modules are not told when a cgroup is deleted. So a deleted cgroup's
 * struct cgroup is held until the next hmmrt_accounts_sweep(), for example when
 * a process binds or unbinds the device.
 */
void hmmrt_groups_collect(struct hmmrt_vram *vram)
{
	struct hmmrt_account *group, *next;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry_safe(group, next, &vram->group_accounts, link) {
		if (!hmmrt_cgroup_is_dead(group->cgroup) || group->members)
			continue;
		group_remove(vram, group);
		group->holders--;
		hmmrt_account_retire(group);
	}
}
