// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMMRT_IOC_QUOTA: how much memory of a device a process or a cgroup may use,
 * and its priority in eviction. vram->lock protects the quotas.
 */
#include <linux/capability.h>

#include "api.h"
#include "compat/cgroup.h"

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
				 HMMRT_NO_LIMIT :
				 arg->limit_bytes >> PAGE_SHIFT,
		.priority = arg->priority,
	};
}

static u64 quota_bytes(u64 pages)
{
	return pages == HMMRT_NO_LIMIT ? HMMRT_QUOTA_NO_LIMIT : pages << PAGE_SHIFT;
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
		return -ENODEV;
	if (arg->operation == HMMRT_QUOTA_SET)
		rc = space_set(space, binding->account, quota_wanted(arg));
	if (arg->operation == HMMRT_QUOTA_SET && !rc)
		rc = hmmrt_evict_excess(binding->account, &binding->going);
	quota_answer(arg, binding->account);
	hmmrt_binding_put(binding);
	return rc;
}

static int quota_set_cgroup(struct hmmrt_device *dev, struct cgroup *cgroup,
			    struct hmmrt_quota_set set)
{
	struct hmmrt_account *created, *account;
	int rc;

	created = hmmrt_account_alloc(dev, NULL, cgroup);
	if (!created)
		return -ENOMEM;
	spin_lock_irq(&dev->vram.lock);
	account = hmmrt_cgroup_account_set(&dev->vram, created, set);
	spin_unlock_irq(&dev->vram.lock);
	if (account != created)
		hmmrt_account_free(created);
	if (!account)
		return 0;
	rc = hmmrt_evict_excess(account, NULL);
	hmmrt_account_put(account);
	return rc;
}

/* For a cgroup without a quota this sums up the charges of its processes. */
static void quota_answer_cgroup(struct hmmrt_device *dev, struct cgroup *cgroup,
				struct hmmrt_quota *arg)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_account *account, sum = {
		.dev = dev,
		.own = { .set = hmmrt_no_cgroup_quota },
	};

	spin_lock_irq(&vram->lock);
	account = hmmrt_cgroup_account_find(vram, cgroup);
	if (!account)
		sum.share.used = hmmrt_accounts_used_in(vram, cgroup);
	quota_fill(arg, account ? account : &sum);
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
int hmmrt_ioc_quota(struct hmmrt_space *space, void *data)
{
	struct hmmrt_quota *arg = data;
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
