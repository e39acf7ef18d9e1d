// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spaces and bindings come and go: which process is mirrored, which devices are
 * bound to it, and what happens when it exits.
 *
 * Roles      An mm is mirrored (has a space) or executes for a device (is an
 *            agent), never both, and is never agent of two bindings. Two
 *            processes that mirror each other would deadlock in their
 *            notifiers, and so would a process that mirrors itself.
 *            hmmrt_roles_lock protects this decision.
 * Lifetime   A space lives as long as a file or binding refers to it, even
 *            after its mm is gone. When the mm exits, bindings are told
 *            (released). The mm_struct itself is held to the end, so that its
 *            address is not reused. Lookups are in hmmrt_srcu, and the
 *            destroying side waits for them. A CPU fault that is still moving
 *            pages holds the space too, and then a work frees it: no thread
 *            waits for the fault.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "api.h"
#include "space_check.h"

/* How long, in all, the end of a binding waits for the mmap_lock. */
#define UNBIND_LOCK_WAIT	(5 * HZ)

static atomic64_t last_serial = ATOMIC64_INIT(0);	/* of a binding */
static atomic64_t last_space_id = ATOMIC64_INIT(0);
static LIST_HEAD(agents);

/* --- spaces --------------------------------------------------------------- */

static bool mm_is_agent(struct mm_struct *mm)
{
	struct hmmrt_binding *binding;

	lockdep_assert_held(&hmmrt_roles_lock);
	list_for_each_entry(binding, &agents, agent_link)
		if (binding->agent == mm)
			return true;
	return false;
}

/*
 * Returns true if an mm executes for a device. If not, it may do so from any
 * later moment on, unless it has a space.
 */
bool hmmrt_mm_is_agent(struct mm_struct *mm)
{
	bool is_agent;

	mutex_lock(&hmmrt_roles_lock);
	is_agent = mm_is_agent(mm);
	mutex_unlock(&hmmrt_roles_lock);
	return is_agent;
}

/* The process is exiting: devices must stop before its memory is torn down. */
static void space_mm_release(struct mmu_notifier *notifier,
			     struct mm_struct *mm)
{
	struct hmmrt_space *space =
		container_of(notifier, struct hmmrt_space, release_notifier);
	unsigned int id;
	int idx;

	/*
	 * Set this before the search for agents: see hmmrt_binding_released().
	 */
	smp_store_mb(space->released, true);
	idx = srcu_read_lock(&hmmrt_srcu);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_binding *binding =
			srcu_dereference(space->bindings[id], &hmmrt_srcu);

		if (binding)
			binding->dev->ops->released(binding);
	}
	srcu_read_unlock(&hmmrt_srcu, idx);
}

/* Unmapped addresses lose their advice, even if no device ever used them. */
static int space_invalidate(struct mmu_notifier *notifier,
			    const struct mmu_notifier_range *range)
{
	struct hmmrt_space *space =
		container_of(notifier, struct hmmrt_space, release_notifier);

	/* If this may not sleep, the process is being killed. */
	if (range->event == MMU_NOTIFY_UNMAP &&
	    mmu_notifier_range_blockable(range))
		hmmrt_advice_drop(space, range->start, range->end);
	return 0;
}

/* migrate_vma_setup() has replaced the entries of a window. */
static void space_invalidated(struct mmu_notifier *notifier,
			      const struct mmu_notifier_range *range)
{
	struct hmmrt_space *space =
		container_of(notifier, struct hmmrt_space, release_notifier);

	if (!HMMRT_CPU_FAULT_LOCKS_PAGE &&
	    range->event == MMU_NOTIFY_MIGRATE &&
	    range->owner == hmmrt_pgmap_owner())
		hmmrt_turn_unmapped(space, range->start);
}

static const struct mmu_notifier_ops space_notifier_ops = {
	.release = space_mm_release,
	.invalidate_range_start = space_invalidate,
	.invalidate_range_end = space_invalidated,
};

static void space_end_work(struct work_struct *work)
{
	hmmrt_space_put(container_of(work, struct hmmrt_space, end_work));
}

/*
 * Killable, because another thread of the process may hold the mmap_lock while
 * it waits for a program. The first registration is that of all spans, which
 * are made without the mmap_lock from then on.
 */
static int space_register(struct hmmrt_space *space, struct mm_struct *mm)
{
	int rc;

	if (mmap_write_lock_killable(mm))
		return -EINTR;
	rc = __mmu_notifier_register(NULL, mm);
	if (!rc)
		rc = __mmu_notifier_register(&space->release_notifier, mm);
	mmap_write_unlock(mm);
	return rc;
}

/*
 * All waits for the mmap_lock happen before the space is published and with no
 * lock held. Otherwise a process that holds its own mmap_lock could keep other
 * processes from getting theirs.
 */
static struct hmmrt_space *space_create(struct mm_struct *mm)
{
	struct hmmrt_space *space;
	int rc;

	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return ERR_PTR(-ENOMEM);
	refcount_set(&space->refs, 1);
	INIT_WORK(&space->end_work, space_end_work);
	mutex_init(&space->spans_lock);
	mutex_init(&space->exclusive);
	mutex_init(&space->peering);
	xa_init_flags(&space->spans, XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&space->unbound);
	hmmrt_advice_init(space);
	spin_lock_init(&space->works_lock);
	hmmrt_map_ahead_init(space);
	hmmrt_pins_init(space);
	hmmrt_reap_init(space);
	space->id = atomic64_inc_return(&last_space_id);
	space->mm = mm;
	space->pid = get_task_pid(current, PIDTYPE_TGID);
	hmmrt_event_source_init(&space->events, space->id, space->pid, mm);
	space->cred = get_current_cred();
	mmgrab(mm);
	space->release_notifier.ops = &space_notifier_ops;
	rc = space_register(space, mm);
	if (rc)
		goto err_drop_mm;
	rc = hmmrt_span_prepare(space, 0);
	if (rc)
		goto err_unregister;
	hmmrt_event_source_tap(&space->events);
	return space;

err_unregister:
	mmu_notifier_unregister(&space->release_notifier, mm);
err_drop_mm:
	mmdrop(mm);
	put_cred(space->cred);
	put_pid(space->pid);
	kfree(space);
	return ERR_PTR(rc);
}

/* Context: there is no other reference, and the space is not in the table. */
static void space_destroy(struct hmmrt_space *space)
{
	hmmrt_map_ahead_stop(space);
	hmmrt_pins_stop(space);
	hmmrt_reap_stop(space);
	/*
	 * This notifier finds spans, for other threads that migrate pages of
	 * the mm. Each span has a notifier of its own, which needs no other.
	 */
	mmu_notifier_unregister(&space->release_notifier, space->mm);
	hmmrt_spans_destroy(space);
	hmmrt_space_check_gone(space);
	/* No thread can record an event of the space any more. */
	hmmrt_event_source_exit(&space->events);
	hmmrt_advice_destroy(space);
	mmdrop(space->mm);
	put_cred(space->cred);
	put_pid(space->pid);
	mutex_destroy(&space->spans_lock);
	mutex_destroy(&space->exclusive);
	mutex_destroy(&space->peering);
	kfree(space);
}

/* The mm's space with a reference, or NULL if the mm may get a space. */
static struct hmmrt_space *space_lookup(struct mm_struct *mm)
{
	struct hmmrt_space *space = hmmrt_space_find(mm);

	lockdep_assert_held(&hmmrt_roles_lock);
	if (space)
		refcount_inc(&space->refs);
	else if (mm_is_agent(mm))
		space = ERR_PTR(-EACCES);
	return space;
}

/**
 * hmmrt_space_get() - get the space of a process, and create it if it has none
 * @mm: the caller's own, alive
 *
 * Context: may sleep, takes the mmap_lock.
 * Return: the space with a reference, or -EACCES for an agent's mm, -ENOMEM,
 * -EINTR.
 */
struct hmmrt_space *hmmrt_space_get(struct mm_struct *mm)
{
	struct hmmrt_space *space, *created;

	mutex_lock(&hmmrt_roles_lock);
	space = space_lookup(mm);
	mutex_unlock(&hmmrt_roles_lock);
	if (space)
		return space;

	created = space_create(mm);
	if (IS_ERR(created))
		return created;
	/* From here on an attach is refused, because the mm has notifiers. */
	mutex_lock(&hmmrt_roles_lock);
	space = space_lookup(mm);
	if (!space) {
		hmmrt_space_publish(created);
		space = created;
	}
	mutex_unlock(&hmmrt_roles_lock);
	if (space != created)
		space_destroy(created);
	return space;
}

void hmmrt_space_put(struct hmmrt_space *space)
{
	if (!refcount_dec_and_mutex_lock(&space->refs, &hmmrt_roles_lock))
		return;
	hmmrt_space_withdraw(space);
	mutex_unlock(&hmmrt_roles_lock);

	synchronize_srcu(&hmmrt_srcu);
	space_destroy(space);
}
EXPORT_SYMBOL_GPL(hmmrt_space_put);

struct hmmrt_space *hmmrt_space_get_current(void)
{
	if (!current->mm)
		return ERR_PTR(-ESRCH);
	return hmmrt_space_get(current->mm);
}
EXPORT_SYMBOL_GPL(hmmrt_space_get_current);

/* --- bindings ------------------------------------------------------------- */

struct hmmrt_binding *hmmrt_bind(struct hmmrt_space *space,
				 struct hmmrt_device *dev, void *drvdata)
{
	struct hmmrt_binding *binding;
	int rc;

	/*
	 * Make the first region now, so that an unsupported kernel fails here.
	 */
	rc = hmmrt_vram_grow(dev, 0);
	if (rc)
		return ERR_PTR(rc);
	binding = kzalloc(sizeof(*binding), GFP_KERNEL_ACCOUNT);
	if (!binding)
		return ERR_PTR(-ENOMEM);
	binding->space = space;
	binding->dev = dev;
	binding->drvdata = drvdata;
	binding->serial = atomic64_inc_return(&last_serial);
	binding->account = hmmrt_account_get(dev, space->mm,
					     &space->quotas[dev->id]);
	if (IS_ERR(binding->account)) {
		rc = PTR_ERR(binding->account);
		kfree(binding);
		return ERR_PTR(rc);
	}
	INIT_LIST_HEAD(&binding->agent_link);
	refcount_set(&binding->users, 1);
	init_completion(&binding->unused);
	hmmrt_queue_init(binding);
	hmmrt_counting_init(binding);
	hmmrt_looking_init(binding);
	binding->round_began = hmmrt_now_us();

	mutex_lock(&hmmrt_roles_lock);
	if (space->bound & BIT(dev->id)) {
		mutex_unlock(&hmmrt_roles_lock);
		hmmrt_account_put(binding->account);
		kfree(binding);
		return ERR_PTR(-EBUSY);
	}
	hmmrt_unbound_check(space, dev->id);
	refcount_inc(&space->refs);
	refcount_inc(&dev->users);
	WRITE_ONCE(space->bound, space->bound | BIT(dev->id));
	rcu_assign_pointer(space->bindings[dev->id], binding);
	list_add(&binding->device_link, &dev->bindings);
	mutex_unlock(&hmmrt_roles_lock);
	hmmrt_event(&space->events, .type = HMMRT_EVENT_BIND,
		    .device = dev->id);
	return binding;
}
EXPORT_SYMBOL_GPL(hmmrt_bind);

/*
 * Migrate the next mapping of the block at or after @addr; returns where it
 * ends.
 */
static unsigned long migrate_back_part(struct mm_struct *mm,
				       struct hmmrt_request *req,
				       unsigned long addr, unsigned long end,
				       unsigned long *wait)
{
	unsigned long began = jiffies;
	bool locked = hmmrt_mmap_read_lock_until(mm, began + *wait);
	struct vm_area_struct *vma;

	*wait -= min(*wait, jiffies - began);
	if (!locked)
		return end;
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start < end) {
		hmmrt_window_set(&req->window, vma, addr, end);
		/* Memory objects belong to no binding, and stay. */
		if (!hmmrt_vma_object(vma))
			hmmrt_window_to_host(req);
		addr = req->window.end;
	} else {
		addr = end;
	}
	mmap_read_unlock(mm);
	return addr;
}

/*
 * Move a block's pages off a device, best effort. The mm is alive. *@wait is
 * how long, in jiffies, to wait for the mmap_lock. Pages that are busy, or left
 * over after a fatal signal, stay until they are touched. So does the rest if
 * the lock cannot be taken in time: its holder may wait for a program.
 */
static void block_migrate_back(struct hmmrt_binding *binding,
			       struct hmmrt_block *block, unsigned long *wait)
{
	static const struct hmmrt_request_args args = {
		.cause = HMMRT_CAUSE_UNBIND,
		.node = NUMA_NO_NODE,
	};
	struct hmmrt_space *space = binding->space;
	unsigned long end = block->start + HMMRT_BLOCK_SIZE;
	unsigned long addr = block->start;
	struct hmmrt_request *req;

	req = hmmrt_request_alloc(binding, block, &args);
	if (!req)
		return;
	while (addr < end) {
		addr = migrate_back_part(space->mm, req, addr, end, wait);
		cond_resched();
	}
	atomic64_add(req->result.moved, &space->migrated_to_host);
	hmmrt_request_free(req);
}

/*
 * A binding is gone with all its entries: forget what it had mapped, and
 * migrate the pages on its device back to system memory if the process still
 * exists.
 */
static void spans_forget_binding(struct hmmrt_binding *binding)
{
	struct hmmrt_space *space = binding->space;
	unsigned long wait = UNBIND_LOCK_WAIT;
	u32 device_id = binding->dev->id;
	bool alive = mmget_not_zero(space->mm);
	struct hmmrt_block *block;
	unsigned long addr;
	LIST_HEAD(taken);

	for (addr = 0; (block = hmmrt_block_next(space, &addr));
	     addr += HMMRT_BLOCK_SIZE) {
		if (READ_ONCE(block->maps[device_id])) {
			mutex_lock(&block->lock);
			hmmrt_map_forget(block, device_id, &taken);
			/* The next binding starts with a new count. */
			block->maps[device_id]->refaults.away = false;
			mutex_unlock(&block->lock);
			hmmrt_duplicates_free(&taken);
			INIT_LIST_HEAD(&taken);
			if (alive && wait)
				block_migrate_back(binding, block, &wait);
			/* Without the binding nothing gets an entry again. */
			VM_WARN_ON_ONCE(!bitmap_empty(block->maps[device_id]
							      ->mapped,
						      HMMRT_BLOCK_PAGES));
		}
		hmmrt_block_put(block);
	}
	if (alive)
		mmput_async(space->mm);
}

void hmmrt_unbind(struct hmmrt_binding *binding)
{
	struct hmmrt_space *space = binding->space;
	struct hmmrt_episode episode;
	u32 id = binding->dev->id;

	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	hmmrt_queue_check_empty(binding);
	/*
	 * While another thread may map, removed entries are still taken away.
	 */
	WRITE_ONCE(binding->going, true);
	hmmrt_binding_put(binding);
	wait_for_completion(&binding->unused);
	/* Looks map what doesn't move, which may start counting. */
	hmmrt_looking_stop(binding);
	hmmrt_counting_stop(binding);
	mutex_lock(&hmmrt_roles_lock);
	VM_WARN_ON_ONCE(rcu_access_pointer(space->bindings[id]) != binding);
	rcu_assign_pointer(space->bindings[id], NULL);
	list_del(&binding->device_link);
	mutex_unlock(&hmmrt_roles_lock);
	synchronize_srcu(&hmmrt_srcu);
	hmmrt_peers_forget(binding);
	hmmrt_advice_forget_device(space, id);
	spans_forget_binding(binding);

	/*
	 * Only now may the device be bound again, because its maps are clean.
	 */
	mutex_lock(&hmmrt_roles_lock);
	list_del(&binding->agent_link);
	VM_WARN_ON_ONCE(!(space->bound & BIT(id)));
	WRITE_ONCE(space->bound, space->bound & ~BIT(id));
	hmmrt_unbound_check(space, id);
	mutex_unlock(&hmmrt_roles_lock);
	wake_up_all(&space->unbound);
	if (binding->agent)
		mmdrop(binding->agent);
	hmmrt_account_put(binding->account);
	hmmrt_device_put(binding->dev);
	hmmrt_episode_end(&episode, &space->events, .type = HMMRT_EVENT_UNBIND,
			  .device = id);
	hmmrt_space_put(space);
	VM_WARN_ON_ONCE(refcount_read(&binding->users));
	kfree(binding);
}
EXPORT_SYMBOL_GPL(hmmrt_unbind);

static bool is_bound(const struct hmmrt_space *space, u32 id)
{
	return READ_ONCE(space->bound) & BIT(id);
}

/*
 * How often a killable wait checks for signals, because it ignores all but
 * fatal ones. An interruptible wait would end at once for task work, which is
 * no signal to the program.
 */
#define SIGNAL_PERIOD	(HZ / 10)

int hmmrt_wait_unbound(struct hmmrt_space *space, struct hmmrt_device *dev,
		       unsigned long timeout)
{
	unsigned long end = jiffies + timeout;
	long left;

	while (is_bound(space, dev->id)) {
		left = end - jiffies;
		if (left <= 0)
			return -EBUSY;
		left = min_t(long, left, SIGNAL_PERIOD);
		if (wait_event_killable_timeout(space->unbound,
						!is_bound(space, dev->id),
						left) < 0 ||
		    hmmrt_interrupted())
			return -EINTR;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(hmmrt_wait_unbound);

void *hmmrt_binding_drvdata(const struct hmmrt_binding *binding)
{
	return binding->drvdata;
}
EXPORT_SYMBOL_GPL(hmmrt_binding_drvdata);

struct hmmrt_device *hmmrt_binding_device(const struct hmmrt_binding *binding)
{
	return binding->dev;
}
EXPORT_SYMBOL_GPL(hmmrt_binding_device);

bool hmmrt_binding_released(const struct hmmrt_binding *binding)
{
	return READ_ONCE(binding->space->released);
}
EXPORT_SYMBOL_GPL(hmmrt_binding_released);

bool hmmrt_binding_is_owner(const struct hmmrt_binding *binding)
{
	return binding->space->mm == current->mm;
}
EXPORT_SYMBOL_GPL(hmmrt_binding_is_owner);

int hmmrt_binding_claim_agent(struct hmmrt_binding *binding,
			      struct mm_struct *mm)
{
	int rc = 0;

	mutex_lock(&hmmrt_roles_lock);
	if (binding->agent) {
		rc = -EBUSY;
	} else if (mm_is_agent(mm) || hmmrt_space_find(mm) ||
		   mm_has_notifiers(mm)) {
		rc = -EACCES;
	} else {
		mmgrab(mm);
		binding->agent = mm;
		list_add(&binding->agent_link, &agents);
	}
	mutex_unlock(&hmmrt_roles_lock);
	return rc;
}
EXPORT_SYMBOL_GPL(hmmrt_binding_claim_agent);
