// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why and when the pages of a block last moved, how many of them a device had to
 * give up, and when a block forgets what it learned from that.
 *
 * Model      There is one word per page: time, cause, and the location that the
 *            page moved to. The current location comes from the page table. If
 *            it differs from the word, something else moved the page, and the
 *            word is ignored. The word is cleared when the mapping is removed.
 * Unmapped   Memory that is mapped later where pages that moved were is other
 *            memory: thrash pins and what led to them don't apply to it.
 * Memory     Allocated when the first page of a block is about to move. If the
 *            allocation fails there is no history.
 * Locking    Words are written under block->migrate, or by an evictor that has
 *            the page locked or is about to lock it. A page that is busy then
 *            counts as evicted now, and not when it is. The notifier clears the
 *            words of pages that are unmapped. No page is moved at that time,
 *            because writers hold the mmap_lock or the page lock. Readers take
 *            no lock.
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

/*
 * Returns whether this space moved one of the pages to a device last. If so, and
 * an evictor of the device meets them, they are there, or were a moment ago.
 */
bool hmmrt_history_has(struct hmmrt_block *block, unsigned int first,
		       unsigned int n, u32 device_id)
{
	/* Pairs with hmmrt_history_prepare(). */
	struct hmmrt_history *history = smp_load_acquire(&block->history);
	unsigned int i;

	for (i = first; history && i < first + n; i++) {
		u64 word = READ_ONCE(history->words[i]);

		if (word && FIELD_GET(WORD_LOCATION, word) == device_id)
			return true;
	}
	return false;
}

/*
 * Clear the words of pages with a mapping that is being removed. Returns whether
 * one of them had ever moved.
 */
static bool history_forget(struct hmmrt_block *block, unsigned int first,
			   unsigned int n)
{
	/* Pairs with hmmrt_history_prepare(). */
	struct hmmrt_history *history = smp_load_acquire(&block->history);
	bool moved = false;
	unsigned int i;

	for (i = first; history && i < first + n; i++) {
		moved |= history->words[i];
		WRITE_ONCE(history->words[i], 0);
	}
	return moved;
}

/* Make the work that releases thrash pins run now. */
static void pins_release_now(struct hmmrt_space *space)
{
	spin_lock(&space->works_lock);
	if (!space->pins.ended) {
		space->pins.when = jiffies;
		mod_delayed_work(hmmrt_wq, &space->pins.release, 0);
	}
	spin_unlock(&space->works_lock);
}

/* End a pin now. Its release takes the entries away that are left. */
static bool pin_end(u64 *pinned_until)
{
	if (*pinned_until)
		*pinned_until = min(*pinned_until, hmmrt_now_us());
	return *pinned_until;
}

/**
 * hmmrt_history_unmapped() - the mapping of pages is being removed
 * @block: of the pages
 * @first: index of the first one
 * @n: number of pages
 *
 * If some of them had moved, forget that the block thrashes. What other pages of
 * it have to do with that isn't known; they are found to thrash again. A run of
 * CPU faults ends if pages of its last window are unmapped. So nothing depends on
 * whether a block is reaped before memory is mapped there again.
 * Context: block->lock is held.
 */
void hmmrt_history_unmapped(struct hmmrt_block *block, unsigned int first,
			    unsigned int n)
{
	struct hmmrt_policy_thrashing *thrashing = &block->thrashing;
	bool pinned;
	unsigned int id;

	lockdep_assert_held(&block->lock);
	if (hmmrt_policy_run_has(&block->cpu_run, first, n))
		block->cpu_run = (struct hmmrt_policy_run){};
	if (!history_forget(block, first, n))
		return;
	pinned = pin_end(&thrashing->pinned_until);
	if (pinned)
		thrashing->resets = 0;
	else
		*thrashing = (struct hmmrt_policy_thrashing){};
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_policy_refaults *refaults;

		if (!block->maps[id])
			continue;
		hmmrt_policy_bypass_forget(&block->maps[id]->bypass);
		refaults = &block->maps[id]->refaults;
		if (pin_end(&refaults->pinned_until))
			pinned = true;
		else
			*refaults = (struct hmmrt_policy_refaults){};
	}
	if (pinned)
		pins_release_now(block->span->space);
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
	if (!binding)
		return;
	/* Chunk by chunk: the first one counts. */
	if (!block->maps[device_id]->refaults.away)
		hmmrt_policy_bypass_evicted(&block->maps[device_id]->bypass);
	hmmrt_policy_evicted(&block->maps[device_id]->refaults,
			     atomic64_add_return(pages, &binding->given_up),
			     hmmrt_now_us());
}
