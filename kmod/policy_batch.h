/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batches of device faults. Works on plain data and is also built and tested in
 * user space. Functions that need a sorted array need one sorted by
 * hmmrt_batch_sort().
 */
#ifndef _HMMRT_POLICY_BATCH_H
#define _HMMRT_POLICY_BATCH_H

#include <linux/types.h>

struct hmmrt_queued_fault;

struct hmmrt_batch_fault {
	unsigned long addr;			/* of the page */
	unsigned int access;			/* HMMRT_ACCESS_* */
	/* NULL: the fault worker's own fault. */
	struct hmmrt_queued_fault *queued;
};

/* The size of a batch, for statistics. */
struct hmmrt_batch_shape {
	unsigned int groups;		/* number of blocks */
	unsigned int merged;	/* faults served together with another */
};

void hmmrt_batch_sort(struct hmmrt_batch_fault *faults, unsigned int n);
unsigned int hmmrt_batch_group_end(const struct hmmrt_batch_fault *faults,
				   unsigned int first, unsigned int n);
unsigned int hmmrt_batch_page_end(const struct hmmrt_batch_fault *faults,
				  unsigned int first, unsigned int n,
				  bool coalesce);
unsigned int hmmrt_batch_access_end(const struct hmmrt_batch_fault *faults,
				    unsigned int first, unsigned int n);
unsigned int hmmrt_batch_access(const struct hmmrt_batch_fault *faults,
				unsigned int first, unsigned int end);
struct hmmrt_batch_shape
hmmrt_batch_measure(const struct hmmrt_batch_fault *faults, unsigned int n,
		    bool coalesce);

#endif /* _HMMRT_POLICY_BATCH_H */
