// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why and when the pages of a block moved last.
 *
 * Model      One word a page: time, cause, and where it went. Where it is now is
 *            asked of the page table; if that is elsewhere, somebody else moved it,
 *            and the word says nothing. It goes with the mapping.
 * Memory     Made when the first page of a block is about to move. Without memory
 *            for it there is no history.
 * Locking    Words are noted under block->migrate, or by who evicts the page and has
 *            it locked, and forgotten by the notifier, which nobody who notes runs
 *            beside: those hold the mmap_lock, or the page. They are read with no
 *            lock.
 */
#include <linux/bitfield.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "hmmrt.h"

/* The lower bits of the time, four microseconds, hold the rest. */
#define WORD_LOCATION	GENMASK_ULL(7, 0)
#define WORD_CAUSE	GENMASK_ULL(11, 8)
#define WORD_TIME	GENMASK_ULL(63, 12)

struct hmmrt_history {
	u64 words[HMMRT_BLOCK_PAGES];
};

/* Before pages of the block are locked: it allocates. */
void hmmrt_history_prepare(struct hmmrt_block *block)
{
	struct hmmrt_history *history;

	lockdep_assert_held(&block->migrate);
	if (block->history)
		return;
	history = kzalloc(sizeof(*history), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	/* Zeroed before anybody sees it. */
	smp_store_release(&block->history, history);
}

void hmmrt_history_free(struct hmmrt_block *block)
{
	kfree(block->history);
}

/* What to note of pages that move now. */
u64 hmmrt_history_word(enum hmmrt_cause cause, u32 location)
{
	return (ktime_get_ns() & WORD_TIME) | FIELD_PREP(WORD_CAUSE, cause) |
	       FIELD_PREP(WORD_LOCATION, location & WORD_LOCATION);
}

/* @n pages from @addr on have moved. */
void hmmrt_history_note(struct hmmrt_block *block, unsigned long addr,
			unsigned int n, u64 word)
{
	unsigned int i = (addr - block->start) >> PAGE_SHIFT, end = i + n;

	lockdep_assert_held(&block->migrate);
	for (; block->history && i < end; i++)
		WRITE_ONCE(block->history->words[i], word);
}

/* They go home, without block->migrate: there is no room for them. */
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

/* Their mapping goes. */
void hmmrt_history_forget(struct hmmrt_block *block, unsigned int first,
			  unsigned int n)
{
	/* Pairs with hmmrt_history_prepare(). */
	struct hmmrt_history *history = smp_load_acquire(&block->history);
	unsigned int i;

	for (i = first; history && i < first + n; i++)
		WRITE_ONCE(history->words[i], 0);
}

/* Cause and time for a page of the block that is at @location now. */
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
