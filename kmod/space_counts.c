// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access counts of a block, by device: how often remote memory was used.
 * serve_count.c says what is done with them.
 */
#include <linux/bitops.h>
#include <linux/slab.h>

#include "space.h"

/*
 * By granule of a block: samples in which remote memory there was used.
 * Protected by block->lock.
 */
struct hmmrt_counts {
	u16 of[HMMRT_POLICY_GRANULES];
};

/* Allocate the counters of a block. On failure nothing is counted. */
void hmmrt_counts_prepare(struct hmmrt_block *block,
			  struct hmmrt_block_map *map)
{
	struct hmmrt_counts *counts;

	if (READ_ONCE(map->counts))
		return;
	counts = kzalloc(sizeof(*counts), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	mutex_lock(&block->lock);
	if (!map->counts)
		swap(map->counts, counts);
	mutex_unlock(&block->lock);
	kfree(counts);
}

void hmmrt_counts_destroy(struct hmmrt_block_map *map)
{
	if (map)
		kfree(map->counts);
}

static unsigned long granules_used(const hmmrt_pte_t *ptes)
{
	unsigned long used = 0;
	unsigned int i;

	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		if (ptes[i] && !(ptes[i] & HMMRT_PTE_DEVICE))
			used |= BIT(i / HMMRT_POLICY_GRANULE_PAGES);
	return used;
}

static unsigned int pages_used(const hmmrt_pte_t *ptes)
{
	unsigned int i, n = 0;

	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		n += ptes[i] && !(ptes[i] & HMMRT_PTE_DEVICE);
	return n;
}

/**
 * hmmrt_count() - count the remote accesses of a device in a block
 * @binding: of the device
 * @block: block of the binding's space
 * @ptes: entries that the driver reported as used
 *
 * Context: may sleep; block->lock is taken.
 */
void hmmrt_count(const struct hmmrt_binding *binding, struct hmmrt_block *block,
		 const hmmrt_pte_t *ptes)
{
	struct hmmrt_block_map *map = block->maps[binding->dev->id];
	unsigned long used;
	unsigned int i;

	if (!READ_ONCE(map->counts) && !READ_ONCE(map->bypass.until))
		return;
	used = granules_used(ptes);
	mutex_lock(&block->lock);
	if (map->bypass.until)
		hmmrt_policy_bypass_used(&map->bypass, pages_used(ptes));
	for_each_set_bit(i, &used, HMMRT_POLICY_GRANULES)
		if (map->counts && map->counts->of[i] < U16_MAX)
			map->counts->of[i]++;
	mutex_unlock(&block->lock);
}

/*
 * Return the granules that have reached their threshold, and reset their
 * counts.
 */
unsigned long hmmrt_counts_take_hot(struct hmmrt_block *block,
				    struct hmmrt_block_map *map,
				    const u32 *thresholds)
{
	unsigned long hot = 0;
	unsigned int i;

	mutex_lock(&block->lock);
	for (i = 0; map->counts && i < HMMRT_POLICY_GRANULES; i++) {
		if (!thresholds[i] || map->counts->of[i] < thresholds[i])
			continue;
		map->counts->of[i] = 0;
		hot |= BIT(i);
	}
	mutex_unlock(&block->lock);
	return hot;
}

/*
 * Another call was in the way. Set the count so that the next sample tries
 * again, even without another use.
 */
void hmmrt_counts_keep_hot(struct hmmrt_block *block,
			   struct hmmrt_block_map *map, unsigned int granule,
			   u32 threshold)
{
	mutex_lock(&block->lock);
	if (map->counts)
		map->counts->of[granule] = threshold;
	mutex_unlock(&block->lock);
}

/* Return whether access counting may apply to anything of the binding. */
static bool may_count(const struct hmmrt_binding *binding)
{
	if (!binding->dev->ops->accessed ||
	    (binding->dev->flags & HMMRT_DEVICE_FAULT_IN_PLACE))
		return false;
	return READ_ONCE(binding->space->counts_ranges) ||
	       hmmrt_binding_knob(binding,
				  HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE) ||
	       hmmrt_binding_knob(binding, HMMRT_KNOB_MIGRATION_POLICY) ==
		       HMMRT_MIGRATE_ON_COUNT;
}

/**
 * hmmrt_counting_start() - start counting; the device has a remote entry
 * @binding: binding of the device; hmmrt_unbind() waits for the caller
 *
 * Context: any, except in notifiers.
 */
void hmmrt_counting_start(struct hmmrt_binding *binding)
{
	struct hmmrt_counting *counting = &binding->counting;

	if (!may_count(binding))
		return;
	/*
	 * Set @seen first: a work that is ending sees it, or is queued again.
	 */
	smp_store_mb(counting->seen, true);
	queue_delayed_work(hmmrt_wq, &counting->work, HMMRT_COUNT_PERIOD);
}

/**
 * hmmrt_counting_knob_set() - start counting after a knob was changed
 * @space: space with the knob, or NULL for all spaces bound to the device
 * @dev: device with the knob, if @space is NULL
 */
void hmmrt_counting_knob_set(struct hmmrt_space *space,
			     struct hmmrt_device *dev)
{
	struct hmmrt_binding *binding;
	u32 id;

	for (id = 0; space && id < HMMRT_MAX_DEVICES; id++) {
		binding = hmmrt_space_binding_get(space, id);
		if (!binding)
			continue;
		hmmrt_counting_start(binding);
		hmmrt_binding_put(binding);
	}
	if (space)
		return;
	mutex_lock(&hmmrt_roles_lock);
	list_for_each_entry(binding, &dev->bindings, device_link) {
		if (!hmmrt_binding_tryget(binding))
			continue;
		hmmrt_counting_start(binding);
		hmmrt_binding_put(binding);
	}
	mutex_unlock(&hmmrt_roles_lock);
}
