// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: which faults are served together. In a sorted array the faults of a
 * block are adjacent and form a group. In a group the faults of a page are
 * adjacent, and among those the faults with the same access.
 */
#include <linux/sort.h>

#include "policy.h"

static unsigned long block_of(const struct hmmrt_batch_fault *fault)
{
	return fault->addr / HMMRT_POLICY_PAGE_SIZE / HMMRT_POLICY_BLOCK_PAGES;
}

static int fault_compare(const void *a, const void *b)
{
	const struct hmmrt_batch_fault *one = a, *two = b;

	if (one->addr != two->addr)
		return one->addr < two->addr ? -1 : 1;
	if (one->access != two->access)
		return one->access < two->access ? -1 : 1;
	return 0;
}

/* Sort by page, then by access. */
void hmmrt_batch_sort(struct hmmrt_batch_fault *faults, unsigned int n)
{
	sort(faults, n, sizeof(*faults), fault_compare, NULL);
}

/*
 * Return the end of the group that starts at @first. Needs a sorted array, as
 * all functions below do.
 */
unsigned int hmmrt_batch_group_end(const struct hmmrt_batch_fault *faults,
				   unsigned int first, unsigned int n)
{
	unsigned int end = first + 1;

	while (end < n && block_of(&faults[end]) == block_of(&faults[first]))
		end++;
	return end;
}

/* Return the end of the faults that are served together with @first. */
unsigned int hmmrt_batch_page_end(const struct hmmrt_batch_fault *faults,
				  unsigned int first, unsigned int n,
				  bool coalesce)
{
	unsigned int end = first + 1;

	while (coalesce && end < n && faults[end].addr == faults[first].addr)
		end++;
	return end;
}

/* Return the end of the faults with the same page and access as @first. */
unsigned int hmmrt_batch_access_end(const struct hmmrt_batch_fault *faults,
				    unsigned int first, unsigned int n)
{
	unsigned int end = first + 1;

	while (end < n && !fault_compare(&faults[end], &faults[first]))
		end++;
	return end;
}

/* Return the access rights that satisfy all of the faults. */
unsigned int hmmrt_batch_access(const struct hmmrt_batch_fault *faults,
				unsigned int first, unsigned int end)
{
	unsigned int access = 0;

	for (; first < end; first++)
		access |= faults[first].access;
	return access;
}

struct hmmrt_batch_shape
hmmrt_batch_measure(const struct hmmrt_batch_fault *faults, unsigned int n,
		    bool coalesce)
{
	struct hmmrt_batch_shape shape = { .merged = n };
	unsigned int i;

	for (i = 0; i < n; i = hmmrt_batch_group_end(faults, i, n))
		shape.groups++;
	for (i = 0; i < n; i = hmmrt_batch_page_end(faults, i, n, coalesce))
		shape.merged--;
	return shape;
}
