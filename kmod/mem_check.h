/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks of device memory, on kernels with CONFIG_DEBUG_VM. The comments of the
 * structs in mem.h state what is checked. On other kernels nothing is compiled.
 */
#ifndef _HMMRT_MEM_CHECK_H
#define _HMMRT_MEM_CHECK_H

#include <linux/bitmap.h>
#include <linux/mmdebug.h>

#include "mem.h"

/* Check the sums of struct hmmrt_vram, after a change of them. */
static inline void hmmrt_vram_check(const struct hmmrt_vram *vram)
{
	unsigned long partial = vram->partial_chunks;
	unsigned long full = vram->full_chunks;

	lockdep_assert_held(&vram->lock);
	VM_WARN_ON_ONCE(partial + full > vram->size >> HMMRT_CHUNK_SHIFT);
	VM_WARN_ON_ONCE(vram->used_pages < partial + full * HMMRT_CHUNK_PAGES);
	VM_WARN_ON_ONCE(vram->used_pages > partial * (HMMRT_CHUNK_PAGES - 1) +
					   full * HMMRT_CHUNK_PAGES);
}

/* Check struct hmmrt_chunk, after a change of its pages or of its list. */
static inline void hmmrt_chunk_check(const struct hmmrt_vram *vram,
				     const struct hmmrt_chunk *chunk)
{
	lockdep_assert_held(&vram->lock);
	VM_WARN_ON_ONCE(chunk->used_pages !=
			bitmap_weight(chunk->used, HMMRT_CHUNK_PAGES));
	VM_WARN_ON_ONCE(chunk->trimming &&
			(chunk->used_pages || chunk->reserved));
	VM_WARN_ON_ONCE((chunk->trimming || chunk->reserved) &&
			!list_empty(&chunk->link));
	VM_WARN_ON_ONCE(chunk->extent &&
			chunk->used_pages != HMMRT_CHUNK_PAGES);
	VM_WARN_ON_ONCE(chunk->pinned && !chunk->extent);
}

/* Check that the charges of a chunk add up to its used pages. */
static inline void hmmrt_charges_check(const struct hmmrt_vram *vram,
				       const struct hmmrt_chunk *chunk)
{
	const struct hmmrt_charge *charge;
	unsigned int charged = 0;

	lockdep_assert_held(&vram->lock);
	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	list_for_each_entry(charge, &chunk->charges, chunk_link) {
		VM_WARN_ON_ONCE(!charge->npages || charge->chunk != chunk);
		charged += charge->npages;
	}
	VM_WARN_ON_ONCE(charged != chunk->used_pages);
}

/* Check an account that was charged, and those above it. */
static inline void hmmrt_account_check(const struct hmmrt_account *account)
{
	lockdep_assert_held(&account->dev->vram.lock);
	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	for (; account; account = account->parent) {
		const struct hmmrt_account *parent = account->parent;

		VM_WARN_ON_ONCE(account->share.used > account->own.set.limit);
		VM_WARN_ON_ONCE(parent &&
				parent->share.used < account->share.used);
	}
}

/*
 * Check the sums over all accounts. Only for rare calls: it visits each
 * account.
 */
static inline void hmmrt_accounts_check(const struct hmmrt_vram *vram)
{
	const struct hmmrt_account *account;
	unsigned long used = 0;
	unsigned int n = 0;

	lockdep_assert_held(&vram->lock);
	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	list_for_each_entry(account, &vram->charged_accounts, link) {
		used += account->share.used;
		n++;
	}
	VM_WARN_ON_ONCE(used != vram->used_pages);
	VM_WARN_ON_ONCE(n != vram->nr_charged);
}

/* Check a chunk that no page table and no account refers to any more. */
static inline void hmmrt_chunk_check_unused(const struct hmmrt_chunk *chunk)
{
	VM_WARN_ON_ONCE(chunk->used_pages ||
			!bitmap_empty(chunk->used, HMMRT_CHUNK_PAGES));
	VM_WARN_ON_ONCE(!list_empty(&chunk->charges));
	VM_WARN_ON_ONCE(chunk->reserved || chunk->extent);
}

/* The same when the device goes, with all that the chunk has for its pages. */
static inline void hmmrt_chunk_check_gone(const struct hmmrt_chunk *chunk)
{
	unsigned int i;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	hmmrt_chunk_check_unused(chunk);
	VM_WARN_ON_ONCE(chunk->populated || chunk->trimming);
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		VM_WARN_ON_ONCE(chunk->charged_to[i] ||
				(chunk->duplicate_of && chunk->duplicate_of[i]));
}

/* Check that all chunks of a device that goes are free, and on the list. */
static inline void hmmrt_vram_check_gone(struct hmmrt_vram *vram)
{
	const struct hmmrt_chunk *chunk;
	unsigned int i, chunks = 0;

	if (!IS_ENABLED(CONFIG_DEBUG_VM))
		return;
	spin_lock_irq(&vram->lock);
	hmmrt_vram_check(vram);
	VM_WARN_ON_ONCE(vram->used_pages || vram->populated_chunks);
	for (i = 0; i < vram->nr_regions; i++)
		chunks += vram->regions[i]->nr_chunks;
	list_for_each_entry(chunk, &vram->free, link)
		chunks--;
	VM_WARN_ON_ONCE(chunks);
	spin_unlock_irq(&vram->lock);
}

#endif /* _HMMRT_MEM_CHECK_H */
