// SPDX-License-Identifier: GPL-2.0-only
/*
 * Age: which device memory has been in use lately.
 *
 * Model      Before something is evicted the driver is asked what the device has
 *            used of some blocks; the chunks that those entries name are used last
 *            now (account.c has the order). A hand goes around all blocks of all that the device
 *            is bound to, several for each chunk that is evicted: what comes to the
 *            front of the list was passed by several times and not used.
 * Locking    dev->age: one goes on with the hand at a time, others skip it. The
 *            driver is asked with references to the binding and to the block, and
 *            no lock.
 */
#include <linux/bitmap.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "hmmrt.h"

/* Blocks that the driver is asked about, and that are looked at for some. */
#define AGE_BLOCKS	8
#define AGE_LOOKS	1024

static bool evict_by_access = true;
module_param(evict_by_access, bool, 0644);
MODULE_PARM_DESC(evict_by_access,
		 "evict what was used longest ago; otherwise what was given out longest ago (default Y)");

struct hand {
	struct hmmrt_binding *binding;
	hmmrt_pte_t *ptes;		/* HMMRT_BLOCK_PAGES */
	unsigned int blocks;		/* left to ask about */
	unsigned int looks;
};

/* Who the device is bound to and was not looked at for longest, with a reference. */
static struct hmmrt_binding *binding_first(struct hmmrt_device *dev)
{
	struct hmmrt_binding *binding, *found = NULL;

	mutex_lock(&hmmrt_roles_lock);
	list_for_each_entry(binding, &dev->bindings, device_link) {
		if (READ_ONCE(binding->going) ||
		    !refcount_inc_not_zero(&binding->users))
			continue;
		found = binding;
		break;
	}
	mutex_unlock(&hmmrt_roles_lock);
	return found;
}

/* The others come first now. While we have a reference it is on the list. */
static void binding_last(struct hmmrt_binding *binding)
{
	mutex_lock(&hmmrt_roles_lock);
	list_move_tail(&binding->device_link, &binding->dev->bindings);
	mutex_unlock(&hmmrt_roles_lock);
}

/* Whether the device has, or just had, some of its own memory mapped there. */
static bool block_is_local(const struct hmmrt_block *block, u32 device_id)
{
	const struct hmmrt_block_map *map;

	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[device_id]);
	return map && !bitmap_empty(map->local, HMMRT_BLOCK_PAGES);
}

/**
 * hmmrt_age_ask() - what a device has used of a block since it was asked last
 * @binding: of a device that can say so
 * @block: of its space
 * @ptes: room for HMMRT_BLOCK_PAGES
 *
 * Who asks takes the answer from all others. So whoever it is, what is learnt goes to
 * all that it is of use to: the age of the device's own memory, and the counters of
 * what it reaches elsewhere.
 * Context: may sleep; no lock but dev->age, perhaps.
 */
void hmmrt_age_ask(struct hmmrt_binding *binding, struct hmmrt_block *block,
		   hmmrt_pte_t *ptes)
{
	struct hmmrt_device *dev = binding->dev;
	u64 last = U64_MAX;
	unsigned int i;

	memset(ptes, 0, HMMRT_BLOCK_PAGES * sizeof(ptes[0]));
	dev->ops->accessed(binding, block->start, ptes);
	/* Entries of one block are of few chunks: a run of them counts once. */
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

static void binding_age(struct hand *hand)
{
	struct hmmrt_binding *binding = hand->binding;
	struct hmmrt_block *block;

	lockdep_assert_held(&binding->dev->age);
	for (;;) {
		if (!hand->blocks || !hand->looks)
			return;
		hand->looks--;
		block = hmmrt_block_next(binding->space, &binding->hand);
		if (!block)
			break;
		binding->hand += HMMRT_BLOCK_SIZE;
		if (block_is_local(block, binding->dev->id)) {
			hand->blocks--;
			hmmrt_age_ask(binding, block, hand->ptes);
		}
		hmmrt_block_put(block);
	}
	binding->hand = 0;
}

/**
 * hmmrt_age() - find out what of a device's memory is in use
 * @dev: which is about to evict something
 *
 * Context: process context, sleeps; no lock is held.
 */
void hmmrt_age(struct hmmrt_device *dev)
{
	struct hand hand = { .blocks = AGE_BLOCKS, .looks = AGE_LOOKS };
	unsigned int turns;

	might_sleep();
	if (!dev->ops->accessed || !READ_ONCE(evict_by_access) ||
	    !hmmrt_device_knob(dev, HMMRT_KNOB_EVICT_BY_ACCESS) ||
	    !mutex_trylock(&dev->age))
		return;
	hand.ptes = kmalloc_array(HMMRT_BLOCK_PAGES, sizeof(*hand.ptes),
				  GFP_KERNEL | __GFP_NOWARN);
	if (!hand.ptes)
		goto out_unlock;
	for (turns = 0; turns < AGE_BLOCKS && hand.blocks && hand.looks;
	     turns++) {
		hand.binding = binding_first(dev);
		if (!hand.binding)
			break;
		binding_age(&hand);
		binding_last(hand.binding);
		hmmrt_binding_put(hand.binding);
	}
	kfree(hand.ptes);
out_unlock:
	mutex_unlock(&dev->age);
}
