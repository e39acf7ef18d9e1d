// SPDX-License-Identifier: GPL-2.0-only
/*
 * Age: which device memory was used recently.
 *
 * Model      Before an eviction, and for serve_bypass.c, the driver is asked
 *            which entries of some blocks the device has used. The chunks that
 *            these entries point to become the most recently used ones
 *            (mem_account.c keeps the order). A clock hand goes around all
 *            blocks of all spaces that the device is bound to, several blocks
 *            per evicted chunk. So chunks at the front of the list were visited
 *            several times without having been used.
 * Locking    dev->age: one thread at a time moves the hand, others skip this.
 *            The driver is asked with references to the binding and to the
 *            block, and with no other lock held.
 */
#include <linux/bitmap.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "decide.h"

/*
 * Per call: blocks to ask the driver about, and blocks to visit in search
 * of them.
 */
#define AGE_BLOCKS	8
#define AGE_VISITS	1024

static bool evict_by_access = true;
module_param(evict_by_access, bool, 0644);
MODULE_PARM_DESC(evict_by_access,
		 "evict the memory that was accessed least recently; if N, the memory that was allocated least recently (default Y)");

/*
 * Return the binding of the device that was not visited for longest, with a
 * reference.
 */
static struct hmmrt_binding *binding_first(struct hmmrt_device *dev)
{
	struct hmmrt_binding *binding, *found = NULL;

	mutex_lock(&hmmrt_roles_lock);
	list_for_each_entry(binding, &dev->bindings, device_link) {
		if (!hmmrt_binding_tryget(binding))
			continue;
		found = binding;
		break;
	}
	mutex_unlock(&hmmrt_roles_lock);
	return found;
}

/*
 * Move the binding to the end of the list. It is on the list while there is a
 * reference to it.
 */
static void binding_last(struct hmmrt_binding *binding)
{
	mutex_lock(&hmmrt_roles_lock);
	list_move_tail(&binding->device_link, &binding->dev->bindings);
	mutex_unlock(&hmmrt_roles_lock);
}

/*
 * Return whether the device has, or just had, its own memory mapped in the
 * block.
 */
static bool block_is_local(const struct hmmrt_block *block, u32 device_id)
{
	const struct hmmrt_block_map *map;

	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[device_id]);
	return map && !bitmap_empty(map->local, HMMRT_BLOCK_PAGES);
}

/**
 * hmmrt_age_ask() - ask what a device has used of a block since the last call
 * @binding: of a device with an accessed() operation
 * @block: block of the binding's space
 * @ptes: array of HMMRT_BLOCK_PAGES entries, to be filled
 *
 * The driver reports each use only once. So every caller records the answer for
 * all users of it: the age of the device's own memory, the counters of its
 * remote accesses, and blocks that stay because the device is full.
 * Context: may sleep; no lock is held except possibly dev->age.
 */
void hmmrt_age_ask(struct hmmrt_binding *binding, struct hmmrt_block *block,
		   hmmrt_pte_t *ptes)
{
	struct hmmrt_device *dev = binding->dev;
	u64 last = U64_MAX;
	unsigned int i;

	memset(ptes, 0, HMMRT_BLOCK_PAGES * sizeof(ptes[0]));
	dev->ops->accessed(binding, block->start, ptes);
	/*
	 * The entries of a block point to few chunks: record a run of them
	 * once.
	 */
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++) {
		u64 offset = ptes[i] & HMMRT_PTE_ADDR;

		if (!(ptes[i] & HMMRT_PTE_DEVICE) ||
		    offset >> HMMRT_CHUNK_SHIFT == last)
			continue;
		last = offset >> HMMRT_CHUNK_SHIFT;
		hmmrt_vram_used(dev, offset);
	}
	hmmrt_count(binding, block, ptes);
}

/* @ptes is an array for hmmrt_age_ask(). */
static void binding_age(struct hmmrt_binding *binding,
			struct hmmrt_clock_limit *limit, hmmrt_pte_t *ptes)
{
	struct hmmrt_block *block;

	lockdep_assert_held(&binding->dev->age);
	while ((block = hmmrt_clock_hand_next(&binding->clock_hand,
					      binding->space, limit))) {
		if (block_is_local(block, binding->dev->id)) {
			limit->blocks--;
			hmmrt_age_ask(binding, block, ptes);
		}
		hmmrt_block_put(block);
	}
	/* The hand stands at 0 only if it has gone around. */
	if (binding->clock_hand.addr)
		return;
	WRITE_ONCE(binding->aged_since, binding->round_began);
	binding->round_began = hmmrt_now_us();
}

/*
 * Return since when all use of the device's memory is known: the rounds of all
 * processes began after that, and have ended.
 */
u64 hmmrt_aged_since(struct hmmrt_device *dev)
{
	struct hmmrt_binding *binding;
	u64 since = U64_MAX;

	mutex_lock(&hmmrt_roles_lock);
	list_for_each_entry(binding, &dev->bindings, device_link)
		if (!READ_ONCE(binding->going))
			since = min(since, READ_ONCE(binding->aged_since));
	mutex_unlock(&hmmrt_roles_lock);
	return since;
}

/* Return whether the driver can say which memory is in use, and may be asked. */
bool hmmrt_can_age(const struct hmmrt_device *dev)
{
	return dev->ops->accessed && READ_ONCE(evict_by_access) &&
	       hmmrt_device_knob(dev, HMMRT_KNOB_EVICT_BY_ACCESS);
}

/**
 * hmmrt_age() - find out which memory of a device is in use
 * @dev: device about to evict, or whose use is of interest
 *
 * Context: process context, sleeps; no lock is held.
 */
void hmmrt_age(struct hmmrt_device *dev)
{
	struct hmmrt_clock_limit limit = {
		.blocks = AGE_BLOCKS,
		.visits = AGE_VISITS,
	};
	struct hmmrt_binding *binding;
	unsigned int turns;
	hmmrt_pte_t *ptes;

	might_sleep();
	if (!hmmrt_can_age(dev) || !mutex_trylock(&dev->age))
		return;
	ptes = kmalloc_array(HMMRT_BLOCK_PAGES, sizeof(*ptes),
			     GFP_KERNEL | __GFP_NOWARN);
	if (!ptes)
		goto out_unlock;
	for (turns = 0; turns < AGE_BLOCKS && limit.blocks && limit.visits;
	     turns++) {
		binding = binding_first(dev);
		if (!binding)
			break;
		binding_age(binding, &limit, ptes);
		binding_last(binding);
		hmmrt_binding_put(binding);
	}
	kfree(ptes);
out_unlock:
	mutex_unlock(&dev->age);
}
