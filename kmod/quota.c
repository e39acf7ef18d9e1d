// SPDX-License-Identifier: GPL-2.0-only
/*
 * Quotas: how much memory of a device a process or a cgroup may use, and its
 * priority in eviction.
 *
 * Cgroups    A cgroup with a quota has an account (kmod/account.c), which is
 *            charged for the processes in it. Accounts form a tree, by
 *            account->parent, that has only the cgroups with quotas. The tree
 *            is adjusted when a cgroup gets its first quota or loses its quota.
 *            A process counts for the cgroup that it was in when it bound the
 *            device.
 * Locking    vram->lock protects the tree and the quotas.
 */
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "hmmrt.h"

#define NO_LIMIT	U64_MAX

const struct hmmrt_quota_own hmmrt_no_quota = {
	.set = { .limit = NO_LIMIT, .priority = HMMRT_PRIORITY_DEFAULT },
	.most = { .limit = NO_LIMIT, .priority = HMMRT_PRIORITY_DEFAULT },
};

/* The quota of a cgroup without one: only the quotas of its members apply. */
static const struct hmmrt_quota_set no_group_quota = {
	.limit = NO_LIMIT,
	.priority = HMMRT_PRIORITY_MAX,
};

/* --- cgroups -------------------------------------------------------------- */

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

static struct hmmrt_account *group_find(struct hmmrt_vram *vram,
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
}

static void adopt(struct hmmrt_account *account,
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
		adopt(account, group);
	/*
	 * Accounts of processes without a reference are in no cgroup any more.
	 */
	hash_for_each(vram->accounts, bucket, account, by_mm)
		adopt(account, group);
	group->parent = NULL;
	group->members = 0;
	group->share.used = 0;
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

/* --- HMMRT_IOC_QUOTA ------------------------------------------------------ */

static int quota_check(const struct hmmrt_quota *arg)
{
	bool set = arg->operation == HMMRT_QUOTA_SET;

	if (arg->operation > HMMRT_QUOTA_SET ||
	    arg->priority > HMMRT_PRIORITY_MAX)
		return -EINVAL;
	if (arg->limit_bytes != HMMRT_QUOTA_NO_LIMIT &&
	    !IS_ALIGNED(arg->limit_bytes, PAGE_SIZE))
		return -EINVAL;
	if (!set && (arg->limit_bytes || arg->priority))
		return -EINVAL;
	switch (arg->scope) {
	case HMMRT_QUOTA_OF_SPACE:
		return arg->cgroup_fd ? -EINVAL : 0;
	case HMMRT_QUOTA_OF_CGROUP:
		return 0;
	default:
		return -EINVAL;
	}
}

static struct hmmrt_quota_set quota_wanted(const struct hmmrt_quota *arg)
{
	return (struct hmmrt_quota_set){
		.limit = arg->limit_bytes == HMMRT_QUOTA_NO_LIMIT ?
				 NO_LIMIT :
				 arg->limit_bytes >> PAGE_SHIFT,
		.priority = arg->priority,
	};
}

static u64 quota_bytes(u64 pages)
{
	return pages == NO_LIMIT ? HMMRT_QUOTA_NO_LIMIT : pages << PAGE_SHIFT;
}

static void quota_fill(struct hmmrt_quota *arg,
		       const struct hmmrt_account *account)
{
	lockdep_assert_held(&account->dev->vram.lock);
	arg->out_priority = account->own.set.priority;
	arg->out_limit_bytes = quota_bytes(account->own.set.limit);
	arg->out_used_bytes = quota_bytes(account->share.used);
	arg->out_refused = account->refused;
	arg->out_evicted_bytes = quota_bytes(account->evicted);
}

static void quota_answer(struct hmmrt_quota *arg,
			 const struct hmmrt_account *account)
{
	spin_lock_irq(&account->dev->vram.lock);
	quota_fill(arg, account);
	spin_unlock_irq(&account->dev->vram.lock);
}

/*
 * A quota set with privilege is the most that an unprivileged caller may set
 * later.
 */
static int space_set(struct hmmrt_space *space, struct hmmrt_account *account,
		     struct hmmrt_quota_set set)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_quota_own *own = &account->own;
	bool privileged = capable(CAP_SYS_ADMIN);
	int rc = 0;

	spin_lock_irq(&vram->lock);
	if (privileged)
		own->most = set;
	if (set.limit > own->most.limit || set.priority > own->most.priority) {
		rc = -EPERM;
	} else {
		own->set = set;
		space->quotas[account->dev->id] = *own;
	}
	spin_unlock_irq(&vram->lock);
	return rc;
}

static int quota_space(struct hmmrt_space *space, struct hmmrt_quota *arg)
{
	struct hmmrt_binding *binding =
		hmmrt_space_binding_get(space, arg->device_id);
	int rc = 0;

	if (!binding)
		return -EINVAL;
	if (arg->operation == HMMRT_QUOTA_SET)
		rc = space_set(space, binding->account, quota_wanted(arg));
	if (arg->operation == HMMRT_QUOTA_SET && !rc)
		rc = hmmrt_evict_excess(binding->account, &binding->going);
	quota_answer(arg, binding->account);
	hmmrt_binding_put(binding);
	return rc;
}

static bool is_no_group_quota(struct hmmrt_quota_set set)
{
	return set.limit == no_group_quota.limit &&
	       set.priority == no_group_quota.priority;
}

/*
 * Set the quota of a cgroup. Returns its account, held, which is @created if
 * the cgroup gets its first quota. Returns NULL if it has no quota and gets
 * none.
 */
static struct hmmrt_account *group_set(struct hmmrt_vram *vram,
				       struct hmmrt_account *created,
				       struct hmmrt_quota_set set)
{
	struct hmmrt_account *group = group_find(vram, created->cgroup);

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

static int quota_set_cgroup(struct hmmrt_device *dev, struct cgroup *cgroup,
			    struct hmmrt_quota_set set)
{
	struct hmmrt_account *created, *group;
	int rc;

	created = hmmrt_account_alloc(dev, NULL, cgroup);
	if (!created)
		return -ENOMEM;
	spin_lock_irq(&dev->vram.lock);
	group = group_set(&dev->vram, created, set);
	spin_unlock_irq(&dev->vram.lock);
	if (group != created)
		hmmrt_account_free(created);
	if (!group)
		return 0;
	rc = hmmrt_evict_excess(group, NULL);
	hmmrt_account_put(group);
	return rc;
}

/* For a cgroup without a quota this sums up the charges of its processes. */
static void quota_answer_cgroup(struct hmmrt_device *dev, struct cgroup *cgroup,
				struct hmmrt_quota *arg)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_account *account, *group, sum = {
		.dev = dev,
		.own = { .set = no_group_quota },
	};

	spin_lock_irq(&vram->lock);
	group = group_find(vram, cgroup);
	if (!group)
		list_for_each_entry(account, &vram->charged_accounts, link)
			if (hmmrt_cgroup_is_in(account->cgroup, cgroup))
				sum.share.used += account->share.used;
	quota_fill(arg, group ? group : &sum);
	spin_unlock_irq(&vram->lock);
}

static int quota_cgroup(struct hmmrt_device *dev, struct hmmrt_quota *arg)
{
	struct cgroup *cgroup = hmmrt_cgroup_from_fd(arg->cgroup_fd);
	int rc = 0;

	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup);
	if (arg->operation == HMMRT_QUOTA_SET) {
		hmmrt_accounts_sweep(dev);
		hmmrt_cgroup_get(cgroup);
		rc = quota_set_cgroup(dev, cgroup, quota_wanted(arg));
	}
	quota_answer_cgroup(dev, cgroup, arg);
	hmmrt_cgroup_put(cgroup);
	return rc;
}

/* HMMRT_IOC_QUOTA; @space is NULL for the quota of a cgroup. */
int hmmrt_quota(struct hmmrt_space *space, struct hmmrt_quota *arg)
{
	struct hmmrt_device *dev;
	int rc = quota_check(arg);

	if (rc)
		return rc;
	if (arg->scope == HMMRT_QUOTA_OF_SPACE)
		return quota_space(space, arg);
	if (arg->operation == HMMRT_QUOTA_SET && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	dev = hmmrt_device_get(arg->device_id);
	if (!dev)
		return -ENODEV;
	rc = quota_cgroup(dev, arg);
	hmmrt_device_put(dev);
	return rc;
}
