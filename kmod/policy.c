// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy: whether what is touched moves, and how much with it.
 *
 * To the device  the largest aligned power-of-two window around the page, from
 *                64 KiB to the whole block, of which more than half (51 %) would
 *                be mapped afterwards: scattered touches stay small, a sweep over
 *                a block takes six faults.
 *                Blocks are the same tree, one level up: where a sweep enters a
 *                block from one that is mapped, it takes all of it.
 *                Or the whole block, where the CPU has it as one page: to take
 *                part of that would split it.
 * To the host    64 KiB, doubled for each fault that continues the last one; a
 *                whole block where a run went through all of the block before.
 *
 * Not at all     what the CPU and a device take in turns, quickly and again and
 *                again, stays in system memory and is mapped remotely: moving it
 *                costs more than all its accesses.
 *
 *                So does what is evicted again and again and asked for soon after
 *                that: the device is too small for what is in use at a time. It
 *                stays for a while, and the rest stays on the device.
 *
 * Advice         goes before all that, but for what is evicted again and again, which
 *                no advice finds room for: what it says about a range is in the UAPI,
 *                at struct hmmrt_advise. A page that a device is preferred for
 *                comes home alone when the CPU takes it.
 *
 * Terms          'first' is a page index in a block, 'count' is in pages.
 */
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/minmax.h>

#include "policy.h"

static unsigned int weight(const unsigned long *map, unsigned int first,
			   unsigned int count)
{
	unsigned int end = first + count;
	unsigned int bit = first;
	unsigned int n = 0;

	while ((bit = find_next_bit(map, end, bit)) < end) {
		n++;
		bit++;
	}
	return n;
}

/* A device touched a page that is not its own. */
enum hmmrt_policy_want hmmrt_policy_touched(const struct hmmrt_advice *advice,
					    u32 device, bool write)
{
	if (advice->flags & HMMRT_RANGE_NO_MIGRATE)
		return HMMRT_POLICY_STAY;
	if ((advice->flags & HMMRT_RANGE_READ_MOSTLY) && !write)
		return HMMRT_POLICY_COPY;
	if (advice->preferred == device)
		return HMMRT_POLICY_MOVE;
	if (advice->preferred != HMMRT_LOCATION_NONE ||
	    hmmrt_policy_maps_ahead(advice, device))
		return HMMRT_POLICY_STAY;
	return HMMRT_POLICY_MOVE;
}

/* It was asked for, by name of the device. */
enum hmmrt_policy_want
hmmrt_policy_prefetched(const struct hmmrt_advice *advice)
{
	if (advice->flags & HMMRT_RANGE_NO_MIGRATE)
		return HMMRT_POLICY_STAY;
	return advice->flags & HMMRT_RANGE_READ_MOSTLY ? HMMRT_POLICY_COPY :
							 HMMRT_POLICY_MOVE;
}

/* Whether a device is to have entries before it asks for them. */
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

/* Whether so many of @count pages are what the threshold asks for. */
static bool is_dense(unsigned int pages, unsigned int count,
		     const struct hmmrt_knobs *knobs)
{
	return pages * 100 > count * knobs->of[HMMRT_KNOB_PREFETCH_THRESHOLD];
}

/* Whether a sweep goes on from the block before, or downwards from that behind. */
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
	unsigned int gain = best.count - weight(mapped, best.first, best.count);
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

		if (is_dense(weight(mapped, first, count) + gain, count,
			     knobs)) {
			best.first = first;
			best.count = count;
		}
	}
	return best;
}

/*
 * What becomes of a window that was chosen before it was known that the CPU has
 * pages of @order there. @within: the block is in one mapping.
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

/* A run went through all of the block before this one, up to its end. */
static bool run_enters_block(const struct hmmrt_policy_run *before,
			     unsigned int page, const struct hmmrt_knobs *knobs)
{
	return before && !page &&
	       knobs->of[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS] &&
	       before->next == HMMRT_POLICY_BLOCK_PAGES && before->through;
}

/*
 * The CPU touched @page. @before: the run over the block before, or NULL; others may
 * be changing it.
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

/* Turns after which a window stays, and how soon one has to follow the other. */
#define TURNS_MAX	4u
#define TURN_MS		100u

void hmmrt_policy_came_home(struct hmmrt_policy_turns *turns,
			    struct hmmrt_policy_window win, unsigned int now)
{
	if (win.first != turns->first || win.count != turns->count)
		turns->turns = 0;
	turns->first = win.first;
	turns->count = win.count;
	turns->home = true;
	turns->when = now;
}

/* A device touched @page: whether it is better left where it is. */
bool hmmrt_policy_stays_home(struct hmmrt_policy_turns *turns,
			     unsigned int page, unsigned int now)
{
	if (page < turns->first || page >= turns->first + turns->count)
		return false;
	if (now - turns->when > TURN_MS)
		turns->turns = 0;
	else if (turns->home)
		turns->turns++;
	turns->home = false;
	return turns->turns > TURNS_MAX;
}

/* Times in a row, as UVM counts, and for how long it stays at home then. */
#define THRASHING_MAX		3u
#define THRASHING_PIN_MS	150u
/* What one instruction, and those of its neighbours, may need at a time. */
#define THRASHING_CHUNKS	8ul

/* It goes home to make room; there have been as many @evictions of the device. */
void hmmrt_policy_evicted(struct hmmrt_policy_refaults *refaults,
			  unsigned long evictions)
{
	refaults->evicted = evictions;
	refaults->away = true;
}

/*
 * A device of so many @chunks touched it: whether it is better left at home. Soon is
 * when less than half of the device was evicted in between: with the oldest going
 * first, that much more memory would have kept it.
 */
bool hmmrt_policy_thrashes(struct hmmrt_policy_refaults *refaults,
			   unsigned long evictions, unsigned long chunks,
			   unsigned int now)
{
	if (refaults->soon >= THRASHING_MAX) {
		if (now - refaults->pinned <= THRASHING_PIN_MS)
			return true;
		refaults->soon = 0;
		refaults->away = false;
		return false;
	}
	if (!refaults->away)
		return false;
	refaults->away = false;
	if (evictions - refaults->evicted < max(chunks / 2, THRASHING_CHUNKS))
		refaults->soon++;
	else
		refaults->soon = 0;
	if (refaults->soon < THRASHING_MAX)
		return false;
	refaults->pinned = now;
	return true;
}

/* Whether less than @percent of all pages are free. */
bool hmmrt_policy_is_below(u64 pages, u64 used, unsigned int percent)
{
	return (pages - min(pages, used)) * 100 < pages * percent;
}
