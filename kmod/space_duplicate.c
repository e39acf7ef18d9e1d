// SPDX-License-Identifier: GPL-2.0-only
/*
 * The duplicates that devices have of read-mostly pages: finding them, and
 * taking them away. move_duplicate.c makes them, and explains when one is
 * valid.
 *
 * Locking    block->lock protects map->duplicates and its contents.
 */
#include <linux/bitmap.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "space.h"

static bool duplicates_work __ro_after_init;

/* Returns true if devices may get duplicates of pages that the CPU reads. */
bool hmmrt_duplicates_work(void)
{
	return duplicates_work;
}

/* The self-test has found out whether duplicates may be made. */
void __init hmmrt_duplicates_allow(bool works)
{
	duplicates_work = works;
}

/* Return the device's duplicate of a page, or NULL. */
struct page *hmmrt_duplicate_page(const struct hmmrt_block_map *map,
				  unsigned int index)
{
	if (!map->duplicates || !map->duplicates->at[index])
		return NULL;
	return map->duplicates->at[index]->page;
}

/* Return whether a device has a duplicate of a page. */
bool hmmrt_has_duplicate(const struct hmmrt_block *block, u32 id,
			 unsigned int index)
{
	return block->maps[id] && hmmrt_duplicate_page(block->maps[id], index);
}

/* Return how many devices have a duplicate of a page. */
unsigned int hmmrt_duplicates_of(const struct hmmrt_block *block,
				 unsigned int index)
{
	unsigned int id, count = 0;

	lockdep_assert_held(&block->lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		count += hmmrt_has_duplicate(block, id, index);
	return count;
}

/* Find the pages of which any device has a duplicate, in part of a block. */
void hmmrt_duplicates_mark(struct hmmrt_block *block, unsigned int first,
			   unsigned int count, unsigned long *duplicated)
{
	unsigned int i;

	bitmap_zero(duplicated, HMMRT_BLOCK_PAGES);
	mutex_lock(&block->lock);
	for (i = first; i < first + count; i++)
		if (hmmrt_duplicates_of(block, i))
			__set_bit(i, duplicated);
	mutex_unlock(&block->lock);
}

/**
 * hmmrt_duplicates_take() - remove the duplicates of pages with removed entries
 * @block: its lock is held
 * @device_id: device that loses them
 * @first: first page, by index in the block
 * @count: number of pages
 * @taken: list to which the duplicates are added, for hmmrt_duplicates_free()
 */
void hmmrt_duplicates_take(struct hmmrt_block *block, u32 device_id,
			   unsigned int first, unsigned int count,
			   struct list_head *taken)
{
	struct hmmrt_block_map *map = block->maps[device_id];
	unsigned int i, n = 0;

	lockdep_assert_held(&block->lock);
	if (!map->duplicates)
		return;
	for (i = first; i < first + count; i++) {
		if (!map->duplicates->at[i])
			continue;
		/* The entry is removed first, so that no device reads it. */
		VM_WARN_ON_ONCE(test_bit(i, map->mapped));
		list_add_tail(&map->duplicates->at[i]->link, taken);
		map->duplicates->at[i] = NULL;
		n++;
	}
	if (n)
		hmmrt_event(&block->span->space->events,
			    .type = HMMRT_EVENT_DUPLICATE_DROP,
			    .device = device_id, .pages = n,
			    .addr = block->start +
				    ((unsigned long)first << PAGE_SHIFT));
}

/*
 * Free duplicates that no device uses any more. From here on the originals may
 * be written in place. Context: any that may sleep, including notifiers. The
 * caller is in the section of hmmrt_srcu, or has the reference to the block, in
 * which it took the duplicates off the block: chunks name the block until then,
 * see next_duplicate() in move_evict_chunk.c.
 */
void hmmrt_duplicates_free(struct list_head *taken)
{
	struct hmmrt_duplicate *duplicate, *next;

	list_for_each_entry_safe(duplicate, next, taken, link) {
		if (duplicate->page)
			hmmrt_vram_free_unused(hmmrt_page_device(duplicate->page),
					       &duplicate->page, 1);
		if (duplicate->original)
			put_page(duplicate->original);
		kfree(duplicate);
	}
}

/* Free the bookkeeping when the block goes away; its duplicates are gone. */
void hmmrt_duplicates_destroy(struct hmmrt_block_map *map)
{
	unsigned int i;

	if (!map || !map->duplicates)
		return;
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		WARN_ON_ONCE(map->duplicates->at[i]);
	kvfree(map->duplicates);
}
