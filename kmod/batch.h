/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batches of device faults, on plain data, also built and tested in user space. What
 * is said of an array that is sorted is said of one that hmmrt_batch_sort() has seen.
 */
#ifndef _HMMRT_BATCH_H
#define _HMMRT_BATCH_H

#include <linux/types.h>

struct hmmrt_queued_fault;

struct hmmrt_batch_fault {
	unsigned long addr;			/* of the page */
	unsigned int access;			/* HMMRT_ACCESS_* */
	struct hmmrt_queued_fault *queued;	/* NULL: who serves the batch has it */
};

/* What becomes of a batch. */
struct hmmrt_batch_shape {
	unsigned int groups;		/* blocks */
	unsigned int merged;		/* faults that are served with another one */
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

#endif /* _HMMRT_BATCH_H */
