/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks of spaces, on kernels with CONFIG_DEBUG_VM. The comments of the
 * structs in space.h state what is checked. On other kernels nothing is
 * compiled.
 */
#ifndef _HMMRT_SPACE_CHECK_H
#define _HMMRT_SPACE_CHECK_H

#include <linux/bitmap.h>
#include <linux/mmdebug.h>

#include "space.h"

/* Check what a device has mapped of a block, after a change. */
static inline void hmmrt_map_check(const struct hmmrt_block *block,
				   u32 device_id)
{
	const struct hmmrt_block_map *map = block->maps[device_id];

	lockdep_assert_held(&block->lock);
	VM_WARN_ON_ONCE(!bitmap_subset(map->writable, map->mapped,
				       HMMRT_BLOCK_PAGES));
	VM_WARN_ON_ONCE(!bitmap_subset(map->local, map->mapped,
				       HMMRT_BLOCK_PAGES));
	VM_WARN_ON_ONCE(map->peers & BIT(device_id));
}

/* Check that a device may get entries of a block, before they are written. */
static inline void hmmrt_mapper_check(const struct hmmrt_block *block,
				      const struct hmmrt_binding *binding)
{
	u32 id = binding->dev->id;

	lockdep_assert_held(&block->lock);
	VM_WARN_ON_ONCE(binding->space != block->span->space ||
			rcu_access_pointer(binding->space->bindings[id]) !=
				binding);
	VM_WARN_ON_ONCE(block->span->borrowed);
	VM_WARN_ON_ONCE(refcount_read(&block->refs) < 2);
	VM_WARN_ON_ONCE(block->maps[id]->zapping);
}

/* Check a page of which a device has a duplicate mapped. */
static inline void hmmrt_duplicate_check(const struct hmmrt_block_map *map,
					 unsigned int index,
					 const struct hmmrt_device *dev)
{
	const struct hmmrt_duplicate *duplicate = map->duplicates->at[index];

	VM_WARN_ON_ONCE(!test_bit(index, map->mapped) ||
			!test_bit(index, map->local) ||
			test_bit(index, map->writable));
	VM_WARN_ON_ONCE(hmmrt_page_device(duplicate->page) != dev);
	VM_WARN_ON_ONCE(is_zone_device_page(duplicate->original));
}

/* Check a block that is freed. */
static inline void hmmrt_block_check_gone(const struct hmmrt_block *block)
{
	unsigned int id;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	VM_WARN_ON_ONCE(!list_empty(&block->remap) ||
			!list_empty(&block->pinned));
	VM_WARN_ON_ONCE(block->exclusive);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		const struct hmmrt_block_map *map = block->maps[id];

		if (!map)
			continue;
		VM_WARN_ON_ONCE(map->zapping);
		VM_WARN_ON_ONCE(!bitmap_empty(map->mapped, HMMRT_BLOCK_PAGES));
		VM_WARN_ON_ONCE(!bitmap_empty(map->local, HMMRT_BLOCK_PAGES) ||
				!bitmap_empty(map->writable,
					      HMMRT_BLOCK_PAGES));
	}
}

/* Check a span that is freed. */
static inline void hmmrt_span_check_gone(const struct hmmrt_span *span)
{
	VM_WARN_ON_ONCE(memchr_inv(span->blocks, 0, sizeof(span->blocks)));
}

/* Check that nothing in a space is left of a device that is not bound. */
static inline void hmmrt_unbound_check(const struct hmmrt_space *space, u32 id)
{
	u32 other;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	VM_WARN_ON_ONCE(rcu_access_pointer(space->bindings[id]));
	VM_WARN_ON_ONCE(space->bound & BIT(id));
	VM_WARN_ON_ONCE(space->peers[id]);
	for (other = 0; other < HMMRT_MAX_DEVICES; other++)
		VM_WARN_ON_ONCE(space->peers[other] & BIT(id));
}

/* Check a space that is freed. */
static inline void hmmrt_space_check_gone(const struct hmmrt_space *space)
{
	u32 id;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		hmmrt_unbound_check(space, id);
	VM_WARN_ON_ONCE(atomic_long_read(&space->nr_blocks));
	VM_WARN_ON_ONCE(space->exclusive_task);
}

#endif /* _HMMRT_SPACE_CHECK_H */
