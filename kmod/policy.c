// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy: how much moves when one page is touched.
 *
 * To the device  the largest aligned power-of-two window around the page, from
 *                64 KiB to the whole block, of which more than half would be
 *                mapped afterwards: scattered touches stay small, a sweep over
 *                a block takes six faults.
 * To the host    64 KiB, doubled for each fault that continues the last one.
 *
 * Terms          'first' is a page index in a block, 'count' is in pages.
 */
#include <linux/bitmap.h>
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

struct hmmrt_policy_window
hmmrt_policy_device_window(const unsigned long *mapped, unsigned int page)
{
	struct hmmrt_policy_window best = {
		.first = page & ~(HMMRT_POLICY_GRANULE_PAGES - 1),
		.count = HMMRT_POLICY_GRANULE_PAGES,
	};
	unsigned int gain = best.count - weight(mapped, best.first, best.count);
	unsigned int count;

	for (count = 2 * best.count; count <= HMMRT_POLICY_BLOCK_PAGES;
	     count *= 2) {
		unsigned int first = page & ~(count - 1);

		if (2 * (weight(mapped, first, count) + gain) > count) {
			best.first = first;
			best.count = count;
		}
	}
	return best;
}

struct hmmrt_policy_window
hmmrt_policy_host_window(struct hmmrt_policy_run *run, unsigned int page)
{
	struct hmmrt_policy_window win;

	if (run->count && page == run->next)
		win.count = min(2 * run->count, HMMRT_POLICY_BLOCK_PAGES);
	else
		win.count = HMMRT_POLICY_GRANULE_PAGES;

	if (run->count && page == run->next)
		win.first = page;
	else
		win.first = page & ~(HMMRT_POLICY_GRANULE_PAGES - 1);
	win.count = min(win.count, HMMRT_POLICY_BLOCK_PAGES - win.first);

	run->next = win.first + win.count;
	run->count = win.count;
	return win;
}
