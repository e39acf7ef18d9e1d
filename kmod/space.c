// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lookup of the mirrored address space of a process, of the devices bound to
 * it, and of the knobs that apply. api_bind.c makes and ends spaces and
 * bindings.
 *
 * migrate_to_ram() looks up a space by mm, and takes a reference. Notifiers look
 * up bindings by device id, where no reference can be taken and dropped. Both
 * look up in hmmrt_srcu, and the destroying side waits for its readers.
 */
#include <linux/hash.h>
#include <linux/mm.h>

#include "space.h"

static DEFINE_HASHTABLE(spaces, 6);

struct hmmrt_space *hmmrt_space_find(struct mm_struct *mm)
{
	struct hmmrt_space *space;

	hlist_for_each_entry_srcu(space, &spaces[hash_ptr(mm, HASH_BITS(spaces))],
				  hash,
				  srcu_read_lock_held(&hmmrt_srcu) ||
				  lockdep_is_held(&hmmrt_roles_lock))
		if (space->mm == mm)
			return space;
	return NULL;
}

/*
 * The space of an mm with a reference, for hmmrt_space_put_later(), or NULL.
 * Context: any that may sleep.
 */
struct hmmrt_space *hmmrt_space_hold(struct mm_struct *mm)
{
	struct hmmrt_space *space;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	space = hmmrt_space_find(mm);
	if (space && !refcount_inc_not_zero(&space->refs))
		space = NULL;
	srcu_read_unlock(&hmmrt_srcu, idx);
	return space;
}

/*
 * Drop a reference in a context that cannot end the space: it may hold an
 * mmap_lock and pages. The last reference goes to the work. @space may be NULL.
 */
void hmmrt_space_put_later(struct hmmrt_space *space)
{
	if (space && !refcount_dec_not_one(&space->refs))
		queue_work(hmmrt_wq, &space->end_work);
}

/* Lookups find the space from now on. */
void hmmrt_space_publish(struct hmmrt_space *space)
{
	lockdep_assert_held(&hmmrt_roles_lock);
	VM_WARN_ON_ONCE(hmmrt_space_find(space->mm));
	hlist_add_head_rcu(&space->hash,
			   &spaces[hash_ptr(space->mm, HASH_BITS(spaces))]);
}

/* Readers in hmmrt_srcu that have found the space may still use it. */
void hmmrt_space_withdraw(struct hmmrt_space *space)
{
	lockdep_assert_held(&hmmrt_roles_lock);
	hlist_del_rcu(&space->hash);
}

/* The binding of a device, or NULL; valid while the caller is in hmmrt_srcu. */
struct hmmrt_binding *hmmrt_space_binding(struct hmmrt_space *space,
					  u32 device_id)
{
	if (device_id >= HMMRT_MAX_DEVICES)
		return NULL;
	return srcu_dereference(space->bindings[device_id], &hmmrt_srcu);
}

/*
 * Take a reference to a binding that was found in hmmrt_srcu or under
 * hmmrt_roles_lock. Returns false if the binding is ending.
 */
bool hmmrt_binding_tryget(struct hmmrt_binding *binding)
{
	return !READ_ONCE(binding->going) &&
	       refcount_inc_not_zero(&binding->users);
}

/*
 * Like hmmrt_space_binding(), but takes a reference, so that the caller may
 * wait for the mmap_lock. Only this process's hmmrt_unbind() waits for the
 * reference.
 */
struct hmmrt_binding *hmmrt_space_binding_get(struct hmmrt_space *space,
					      u32 device_id)
{
	struct hmmrt_binding *binding;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	binding = hmmrt_space_binding(space, device_id);
	if (binding && !hmmrt_binding_tryget(binding))
		binding = NULL;
	srcu_read_unlock(&hmmrt_srcu, idx);
	return binding;
}

void hmmrt_binding_put(struct hmmrt_binding *binding)
{
	if (refcount_dec_and_test(&binding->users))
		complete(&binding->unused);
}

/*
 * Drop the reference to a binding while a call waits for a program. If the
 * binding ends in this time, everything that the call has made for it, for
 * example by prepare(), is gone too. So resuming with another binding of the
 * same device, perhaps at the same address, must fail.
 */
void hmmrt_binding_let_go(struct hmmrt_binding **binding,
			  struct hmmrt_binding_pause *pause)
{
	pause->device_id = (*binding)->dev->id;
	pause->serial = (*binding)->serial;
	hmmrt_binding_put(*binding);
	*binding = NULL;
}

/* Returns false if the binding is gone; then *binding stays NULL. */
bool hmmrt_binding_resume(struct hmmrt_binding **binding,
			  struct hmmrt_space *space,
			  const struct hmmrt_binding_pause *pause)
{
	struct hmmrt_binding *now =
		hmmrt_space_binding_get(space, pause->device_id);

	if (now && now->serial == pause->serial)
		*binding = now;
	else if (now)
		hmmrt_binding_put(now);
	return *binding;
}

/**
 * hmmrt_binding_mmap_read_lock() - take the mmap_lock, holding a binding
 * @binding: of @space, with the caller's reference; may point to NULL
 * @space: its mm is alive
 *
 * hmmrt_unbind() waits for the reference, and the holder of the lock may wait
 * for a program. So the caller has no reference while it waits. If the binding
 * is gone afterwards, *@binding is NULL, and the caller must not use its old
 * pointer.
 * Context: sleeps, killably; no lock is held.
 * Return: 0, locked; -EINTR; -ENODEV.
 */
int hmmrt_binding_mmap_read_lock(struct hmmrt_binding **binding,
				 struct hmmrt_space *space)
{
	struct hmmrt_binding_pause pause;
	int rc = hmmrt_mmap_read_lock(space->mm, *binding);

	if (rc != -ENOLCK)
		return rc;
	hmmrt_binding_let_go(binding, &pause);
	rc = hmmrt_mmap_read_lock(space->mm, false);
	if (!hmmrt_binding_resume(binding, space, &pause) && !rc) {
		mmap_read_unlock(space->mm);
		rc = -ENODEV;
	}
	return rc;
}

/* --- knobs ---------------------------------------------------------------- */

/*
 * The knobs that apply to a fault of @dev; @space may be NULL.
 * Reading takes no lock: see api_knob.c.
 */
struct hmmrt_knobs hmmrt_knobs_at(const struct hmmrt_space *space,
				  const struct hmmrt_device *dev,
				  const struct hmmrt_advice *advice)
{
	struct hmmrt_knobs knobs;

	hmmrt_knobs_fill(&knobs, &dev->knobs, space ? &space->knobs : NULL,
			 &advice->knobs);
	if (!hmmrt_duplicates_work())
		knobs.of[HMMRT_KNOB_READ_DUPLICATION] = 0;
	return knobs;
}

u32 hmmrt_device_knob(const struct hmmrt_device *dev, enum hmmrt_knob_id knob)
{
	return hmmrt_knob_value(knob, &dev->knobs, NULL, NULL);
}

u32 hmmrt_binding_knob(const struct hmmrt_binding *binding,
		       enum hmmrt_knob_id knob)
{
	return hmmrt_knob_value(knob, &binding->dev->knobs,
				&binding->space->knobs, NULL);
}
