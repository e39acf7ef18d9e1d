// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users: how many processes of one user have memory of a device.
 *
 * Model      An account belongs to the user that its process had when it bound
 *            the device. At most processes_max accounts of a user are charged
 *            at a time, so that a user cannot leave any number of them behind,
 *            as with processes that fork and exit. The number of one user leaves
 *            the others theirs. At the limit, pages left by a process of the
 *            user that has exited are evicted for a new one.
 * Locking    vram->lock protects everything here.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "mem.h"

static unsigned int processes_max = 1024;
module_param(processes_max, uint, 0644);
MODULE_PARM_DESC(processes_max,
		 "maximum number of processes of one user that have memory of a device at the same time (default 1024)");

/* Allocate the user of an account that is not published yet. */
struct hmmrt_user *hmmrt_user_alloc(kuid_t uid)
{
	struct hmmrt_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	user->uid = uid;
	INIT_LIST_HEAD(&user->charged);
	return user;
}

/* The account is published: it shares the user with others of the same. */
void hmmrt_user_join(struct hmmrt_vram *vram, struct hmmrt_account *account)
{
	unsigned int key = __kuid_val(account->user->uid);
	struct hmmrt_user *user;

	lockdep_assert_held(&vram->lock);
	hash_for_each_possible(vram->users, user, by_uid, key) {
		if (!uid_eq(user->uid, account->user->uid))
			continue;
		kfree(account->user);
		account->user = user;
		user->accounts++;
		return;
	}
	account->user->accounts = 1;
	hash_add(vram->users, &account->user->by_uid, key);
}

/* The account is not in use any more. */
void hmmrt_user_leave(struct hmmrt_account *account)
{
	struct hmmrt_user *user = account->user;

	lockdep_assert_held(&account->dev->vram.lock);
	account->user = NULL;
	if (--user->accounts)
		return;
	VM_WARN_ON_ONCE(user->nr_charged || !list_empty(&user->charged));
	hash_del(&user->by_uid);
	kfree(user);
}

/* The account gets its first page. */
void hmmrt_user_charge(struct hmmrt_account *account)
{
	lockdep_assert_held(&account->dev->vram.lock);
	list_add_tail(&account->user_link, &account->user->charged);
	account->user->nr_charged++;
}

/* The account has lost its last page. */
void hmmrt_user_uncharge(struct hmmrt_account *account)
{
	lockdep_assert_held(&account->dev->vram.lock);
	list_del(&account->user_link);
	account->user->nr_charged--;
}

/* Return whether this would be one charged account of the user too many. */
bool hmmrt_user_is_full(const struct hmmrt_account *account)
{
	lockdep_assert_held(&account->dev->vram.lock);
	return !account->share.used && account->user &&
	       account->user->nr_charged >= READ_ONCE(processes_max);
}

/*
 * Find an account of an exited process of the user that still has pages. Prefer
 * the one with the fewest pages, which is empty soonest. Accounts that have
 * nothing but pinned objects cannot be emptied.
 */
struct hmmrt_account *hmmrt_user_find_exited(const struct hmmrt_user *user)
{
	struct hmmrt_account *account, *found = NULL, *busy = NULL;
	u64 now = get_jiffies_64();

	list_for_each_entry(account, &user->charged, user_link) {
		lockdep_assert_held(&account->dev->vram.lock);
		if (atomic_read(&account->mm->mm_users) ||
		    list_empty(&account->charges))
			continue;
		if (time_before64(now, account->busy_until))
			busy = account;
		else if (!found || account->share.used < found->share.used)
			found = account;
	}
	return found ? found : busy;
}
