// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why and when the pages of a block last moved, and how many of them a device
 * had to give up.
 *
 * Model      There is one word per page: time, cause, and the location that the
 *            page moved to. The current location comes from the page table. If
 *            it differs from the word, something else moved the page, and the
 *            word is ignored. The word is cleared when the mapping is removed.
 * Memory     Allocated when the first page of a block is about to move. If the
 *            allocation fails there is no history.
 * Locking    Words are written under block->migrate, or by an evictor that has
 *            the page locked. The notifier clears them. It never runs beside a
 *            writer, because writers hold the mmap_lock or the page lock.
 *            Readers take no lock.
 */
#include <linux/bitfield.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "space.h"

/* The low 12 bits of the time, about 4 us, hold the other two fields. */
#define WORD_LOCATION	GENMASK_ULL(7, 0)
#define WORD_CAUSE	GENMASK_ULL(11, 8)
#define WORD_TIME	GENMASK_ULL(63, 12)

struct hmmrt_history {
	u64 words[HMMRT_BLOCK_PAGES];
};

/* Call before pages of the block are locked, because this allocates. */
void hmmrt_history_prepare(struct hmmrt_block *block)
{
	struct hmmrt_history *history;

	lockdep_assert_held(&block->migrate);
	if (block->history)
		return;
	history = kzalloc(sizeof(*history), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	/* Zeroed before another thread sees it. */
	smp_store_release(&block->history, history);
}

void hmmrt_history_free(struct hmmrt_block *block)
{
	kfree(block->history);
}

/* The word to record for pages that move now. */
u64 hmmrt_history_word(enum hmmrt_cause cause, u32 location)
{
	return (ktime_get_ns() & WORD_TIME) | FIELD_PREP(WORD_CAUSE, cause) |
	       FIELD_PREP(WORD_LOCATION, location & WORD_LOCATION);
}

/* Record that @n pages from @addr on have moved. */
void hmmrt_history_note(struct hmmrt_block *block, unsigned long addr,
			unsigned int n, u64 word)
{
	unsigned int i = hmmrt_index_in_block(block, addr), end = i + n;

	lockdep_assert_held(&block->migrate);
	VM_WARN_ON_ONCE(addr < block->start || end > HMMRT_BLOCK_PAGES);
	for (; block->history && i < end; i++)
		WRITE_ONCE(block->history->words[i], word);
}

/* Record an eviction to system memory; block->migrate is not held. */
void hmmrt_history_note_evicted(struct hmmrt_block *block, unsigned int first,
				unsigned int n)
{
	/* Pairs with hmmrt_history_prepare(). */
	struct hmmrt_history *history = smp_load_acquire(&block->history);
	u64 word = hmmrt_history_word(HMMRT_CAUSE_EVICTION,
				      HMMRT_LOCATION_HOST);
	unsigned int i;

	for (i = first; history && i < first + n; i++)
		WRITE_ONCE(history->words[i], word);
}

/* Clear the words of pages with a mapping that is being removed. */
void hmmrt_history_forget(struct hmmrt_block *block, unsigned int first,
			  unsigned int n)
{
	/* Pairs with hmmrt_history_prepare(). */
	struct hmmrt_history *history = smp_load_acquire(&block->history);
	unsigned int i;

	for (i = first; history && i < first + n; i++)
		WRITE_ONCE(history->words[i], 0);
}

/* Fill in cause and time for a page of the block that is at @location now. */
void hmmrt_history_tell(struct hmmrt_block *block, unsigned int index,
			u32 location, struct hmmrt_page *page)
{
	/* Pairs with hmmrt_history_prepare(). */
	struct hmmrt_history *history = smp_load_acquire(&block->history);
	u64 word = history ? READ_ONCE(history->words[index]) : 0;

	if (FIELD_GET(WORD_LOCATION, word) != (location & WORD_LOCATION))
		word = 0;
	page->cause = FIELD_GET(WORD_CAUSE, word);
	page->time = word & WORD_TIME;
}

u64 hmmrt_now_us(void)
{
	return ktime_to_us(ktime_get());
}

/*
 * A device evicts pages of the block to get free memory. Context: block->lock
 * held, in hmmrt_srcu.
 */
void hmmrt_block_note_given_up(struct hmmrt_block *block, u32 device_id,
			       unsigned int pages)
{
	struct hmmrt_binding *binding =
		hmmrt_space_binding(block->span->space, device_id);

	lockdep_assert_held(&block->lock);
	if (binding)
		hmmrt_policy_evicted(&block->maps[device_id]->refaults,
				     atomic64_add_return(pages,
							 &binding->given_up),
				     hmmrt_now_us());
}
