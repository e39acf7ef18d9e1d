// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy: if a touched page moves, and how many pages move with it. Thrashing
 * is in policy_thrash.c, and the choice of memory to evict in policy_share.c.
 *
 * To the device  The largest aligned power-of-two window around the page, from
 *                64 KiB to the whole block, of which more than half (51 %)
 *                would be mapped afterwards. So scattered touches stay small,
 *                and a sweep over a block takes six faults. Blocks are the same
 *                tree, one level up: a sweep that enters a block from a mapped
 *                block takes all of it. If the CPU has the block as one page,
 *                the window is the whole block, because a part of it would
 *                split the page.
 *                A write to read-mostly memory begins with the page alone.
 * In place       A block that stays where it is for a while is mapped as a
 *                whole: entries cost little beside the faults that they save.
 *                Nothing is migrated or faulted in for them.
 * To the host    64 KiB, doubled for each fault that continues the last one. A
 *                run that went through all of the block before takes a whole
 *                block. No window has pages with duplicates.
 *
 * Not at all     Pages that move back and forth, or are evicted again and
 *                again: see policy_thrash.c.
 *
 * Advice         Overrides all of this, except for pages that are evicted again
 *                and again, because no advice makes free memory for them. The
 *                UAPI describes advice at struct hmmrt_advice. A page with a
 *                device as its preferred location migrates alone when the CPU
 *                touches it.
 *
 * Terms          'first' is a page index in a block, 'count' is in pages.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/minmax.h>

#include "policy.h"

/*
 * Count the bits of an aligned power of two: a part of a word, or whole words.
 */
static unsigned int density_weight(const unsigned long *map, unsigned int first,
				   unsigned int count)
{
	const unsigned long *words = map + BIT_WORD(first);

	if (count >= BITS_PER_LONG)
		return bitmap_weight(words, count);
	return hweight_long((*words >> first % BITS_PER_LONG) &
			    GENMASK(count - 1, 0));
}

static struct hmmrt_policy_decision make_decision(enum hmmrt_policy_want want,
						  enum hmmrt_policy_rule rule)
{
	return (struct hmmrt_policy_decision){ .want = want, .rule = rule };
}

/* The rules that override advice. */
static enum hmmrt_policy_rule
stays_whatever(const struct hmmrt_policy_page *page)
{
	if (!page->migratable)
		return HMMRT_RULE_NOT_MIGRATABLE;
	if (page->advice->flags & HMMRT_RANGE_NO_MIGRATE)
		return HMMRT_RULE_NO_MIGRATE;
	if (page->migration_policy == HMMRT_MIGRATE_NEVER)
		return HMMRT_RULE_NEVER;
	if (page->too_small)
		return HMMRT_RULE_TOO_SMALL;
	return HMMRT_RULE_NONE;
}

/**
 * hmmrt_policy_residency() - a device touched a page that it does not have
 * @page: all that the decision depends on
 *
 * These are the rules of nvidia-uvm in its order, with two differences. A write
 * to read-mostly memory does not give up the preferred location. TOO_SMALL
 * overrides advice, because otherwise an access that needs more memory than the
 * device has free would never end.
 */
struct hmmrt_policy_decision
hmmrt_policy_residency(const struct hmmrt_policy_page *page)
{
	const struct hmmrt_advice *advice = page->advice;
	bool mostly_read = advice->flags & HMMRT_RANGE_READ_MOSTLY;
	enum hmmrt_policy_rule rule = stays_whatever(page);

	if (rule != HMMRT_RULE_NONE)
		return make_decision(HMMRT_POLICY_STAY, rule);
	if (mostly_read && !page->write)
		return make_decision(HMMRT_POLICY_DUPLICATE,
				     HMMRT_RULE_READ_MOSTLY_READ);
	if (advice->preferred == page->device)
		return make_decision(HMMRT_POLICY_MOVE,
				     HMMRT_RULE_PREFERRED_HERE);
	if (advice->preferred != HMMRT_LOCATION_NONE)
		return make_decision(HMMRT_POLICY_STAY,
				     HMMRT_RULE_PREFERRED_ELSEWHERE);
	if (page->pinned)
		return make_decision(HMMRT_POLICY_STAY, HMMRT_RULE_THRASHING);
	if (mostly_read)
		return make_decision(HMMRT_POLICY_MOVE,
				     HMMRT_RULE_READ_MOSTLY_WRITE);
	if (hmmrt_policy_maps_ahead(advice, page->device))
		return make_decision(HMMRT_POLICY_STAY, HMMRT_RULE_ACCESSED_BY);
	if (page->migration_policy == HMMRT_MIGRATE_ON_COUNT && !page->counted)
		return make_decision(HMMRT_POLICY_STAY, HMMRT_RULE_ON_COUNT);
	if (page->read_duplication && !page->write)
		return make_decision(HMMRT_POLICY_DUPLICATE,
				     HMMRT_RULE_READ_DUPLICATION);
	return make_decision(HMMRT_POLICY_MOVE, HMMRT_RULE_DEFAULT);
}

/* A prefetch names the device, so only advice keeps pages from moving. */
enum hmmrt_policy_want
hmmrt_policy_prefetched(const struct hmmrt_advice *advice,
			bool read_duplication)
{
	if (advice->flags & HMMRT_RANGE_NO_MIGRATE)
		return HMMRT_POLICY_STAY;
	if (advice->flags & HMMRT_RANGE_READ_MOSTLY || read_duplication)
		return HMMRT_POLICY_DUPLICATE;
	return HMMRT_POLICY_MOVE;
}

/* Returns true if a device gets entries before it asks for them. */
bool hmmrt_policy_maps_ahead(const struct hmmrt_advice *advice, u32 device)
{
	if (!(advice->accessed_by & BIT(device)))
		return false;
	return !(advice->flags & HMMRT_RANGE_READ_MOSTLY) ||
	       (advice->flags & HMMRT_RANGE_NO_MIGRATE);
}

static struct hmmrt_policy_window
advised_window(const struct hmmrt_advice *advice, unsigned int page)
{
	unsigned int count = advice->granularity / HMMRT_POLICY_PAGE_SIZE;

	return (struct hmmrt_policy_window){
		.first = page & ~(count - 1),
		.count = count,
	};
}

/* Returns true if @pages out of @count exceed the threshold. */
static bool is_dense(unsigned int pages, unsigned int count,
		     const struct hmmrt_knobs *knobs)
{
	return pages * 100 > count * knobs->of[HMMRT_KNOB_PREFETCH_THRESHOLD];
}

/*
 * Returns true if a sweep continues from the block before, or down from the
 * next.
 */
static bool enters_block(const struct hmmrt_policy_density *density,
			 unsigned int page, const struct hmmrt_knobs *knobs)
{
	const unsigned int block = HMMRT_POLICY_BLOCK_PAGES;

	if (!knobs->of[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS])
		return false;
	if (page < HMMRT_POLICY_GRANULE_PAGES)
		return is_dense(density->before, block, knobs);
	if (page >= block - HMMRT_POLICY_GRANULE_PAGES)
		return is_dense(density->after, block, knobs);
	return false;
}

struct hmmrt_policy_window
hmmrt_policy_device_window(const struct hmmrt_policy_density *density,
			   unsigned int page, const struct hmmrt_advice *advice,
			   const struct hmmrt_knobs *knobs)
{
	const unsigned long *mapped = density->mapped;
	struct hmmrt_policy_window best = {
		.first = page & ~(HMMRT_POLICY_GRANULE_PAGES - 1),
		.count = HMMRT_POLICY_GRANULE_PAGES,
	};
	unsigned int gain =
		best.count - density_weight(mapped, best.first, best.count);
	unsigned int count;

	if (advice->granularity)
		return advised_window(advice, page);
	if (!knobs->of[HMMRT_KNOB_PREFETCH_ENABLE] ||
	    density->faults < knobs->of[HMMRT_KNOB_PREFETCH_MIN_FAULTS])
		return best;
	if (enters_block(density, page, knobs))
		return (struct hmmrt_policy_window){
			.count = HMMRT_POLICY_BLOCK_PAGES,
		};
	for (count = 2 * best.count; count <= HMMRT_POLICY_BLOCK_PAGES;
	     count *= 2) {
		unsigned int first = page & ~(count - 1);

		if (is_dense(density_weight(mapped, first, count) + gain, count,
			     knobs)) {
			best.first = first;
			best.count = count;
		}
	}
	return best;
}

/* Returns true if devices get duplicates of pages that they read. */
bool hmmrt_policy_may_duplicate(const struct hmmrt_advice *advice,
				const struct hmmrt_knobs *knobs)
{
	return advice->flags & HMMRT_RANGE_READ_MOSTLY ||
	       knobs->of[HMMRT_KNOB_READ_DUPLICATION];
}

/*
 * Shrink a window around a page that has no duplicate, so that no page with a
 * duplicate moves: it would lose its duplicates on all devices.
 */
struct hmmrt_policy_window
hmmrt_policy_without_duplicates(const unsigned long *duplicated,
				struct hmmrt_policy_window win,
				unsigned int page)
{
	unsigned int end = win.first + win.count;
	unsigned int first = page;

	while (first > win.first && !test_bit(first - 1, duplicated))
		first--;
	return (struct hmmrt_policy_window){
		.first = first,
		.count = find_next_bit(duplicated, end, page) - first,
	};
}

/*
 * Shrink a window of read-mostly memory that a device writes to the written
 * page. Programs often write such memory only where it shares a page with
 * another allocation, and other pages would lose their duplicates, or the
 * chance to get any. Behind a run of pages that the device writes the window
 * takes as many pages as the run has, so that a sweep is not served page by
 * page.
 * @writable: pages that this device writes without a fault
 * @lowest: first page with the same advice
 */
struct hmmrt_policy_window
hmmrt_policy_write_window(const unsigned long *writable,
			  struct hmmrt_policy_window win, unsigned int lowest,
			  unsigned int page)
{
	unsigned int run = 0;

	while (page - run > lowest && test_bit(page - run - 1, writable))
		run++;
	return (struct hmmrt_policy_window){
		.first = page,
		.count = min(max(run, 1U), win.first + win.count - page),
	};
}

/*
 * The window to map of pages that stay, instead of @win. Pages that may be
 * duplicated are left out, because a device that has an entry of the original
 * gets no duplicate.
 */
struct hmmrt_policy_window
hmmrt_policy_stay_window(struct hmmrt_policy_window win,
			 const struct hmmrt_advice *advice,
			 const struct hmmrt_knobs *knobs)
{
	const struct hmmrt_policy_window block = {
		.count = HMMRT_POLICY_BLOCK_PAGES,
	};

	if (advice->granularity || !knobs->of[HMMRT_KNOB_PREFETCH_ENABLE] ||
	    hmmrt_policy_may_duplicate(advice, knobs))
		return win;
	return block;
}

/*
 * Adjust a window that was chosen before it was known that the CPU has pages of
 * @order there. @within: the block is in one mapping.
 */
struct hmmrt_policy_window
hmmrt_policy_huge_window(struct hmmrt_policy_window win, unsigned int order,
			 bool within)
{
	const struct hmmrt_policy_window block = {
		.count = HMMRT_POLICY_BLOCK_PAGES,
	};

	return within && 1u << order >= block.count ? block : win;
}

/* Returns true if a run went through all of the block before, up to its end. */
static bool run_enters_block(const struct hmmrt_policy_run *before,
			     unsigned int page, const struct hmmrt_knobs *knobs)
{
	return before && !page &&
	       knobs->of[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS] &&
	       before->next == HMMRT_POLICY_BLOCK_PAGES && before->through;
}

/*
 * The window to move when the CPU touched @page. @before is the run over the
 * block before, or NULL; other threads may change it at the same time.
 */
struct hmmrt_policy_window
hmmrt_policy_host_window(struct hmmrt_policy_run *run,
			 const struct hmmrt_policy_run *before,
			 unsigned int page, const struct hmmrt_advice *advice,
			 const struct hmmrt_knobs *knobs)
{
	const unsigned int most = knobs->of[HMMRT_KNOB_CPU_FAULT_MAX_PAGES];
	struct hmmrt_policy_window win = { .first = page, .count = 1 };
	bool goes_on = run->count && page == run->next;

	if (advice->granularity)
		return advised_window(advice, page);
	if (advice->preferred < HMMRT_MAX_DEVICES)
		return win;
	if (run_enters_block(before, page, knobs)) {
		win.count = HMMRT_POLICY_BLOCK_PAGES;
	} else if (goes_on) {
		win.count = 2 * run->count;
	} else {
		win.first = page & ~(HMMRT_POLICY_GRANULE_PAGES - 1);
		win.count = HMMRT_POLICY_GRANULE_PAGES;
	}
	if (win.count > most) {
		win.first = max(win.first, page + 1 - min(page + 1, most));
		win.count = most;
	}
	win.count = min(win.count, HMMRT_POLICY_BLOCK_PAGES - win.first);

	run->through = !win.first || (goes_on && run->through);
	run->next = win.first + win.count;
	run->count = win.count;
	return win;
}

/* Returns true if one of the pages is in the last window of the run. */
bool hmmrt_policy_run_has(const struct hmmrt_policy_run *run, unsigned int first,
			  unsigned int n)
{
	return first < run->next && first + n + run->count > run->next;
}

/*
 * Returns true if a window in which @moved pages moved is what the last window
 * of the run left behind, because another thread held it: the page alone. Then
 * the run goes on where it was.
 */
bool hmmrt_policy_left_behind(const struct hmmrt_policy_run *run,
			      unsigned int page, unsigned long moved)
{
	return moved == 1 && page < run->next && page + run->count >= run->next;
}

/* Returns true if less than @percent of all pages are free. */
bool hmmrt_policy_is_below(u64 pages, u64 used, unsigned int percent)
{
	return (pages - min(pages, used)) * 100 < pages * percent;
}
