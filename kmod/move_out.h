/* SPDX-License-Identifier: GPL-2.0-only */
/* Migration to system memory, for move_out.c and move_cpu_fault.c. */
#ifndef _HMMRT_MOVE_OUT_H
#define _HMMRT_MOVE_OUT_H

#include "move.h"

/*
 * Destination pages in system memory for a window: for all of it, or for as
 * much as there was memory for. For a block that is one page on the device this
 * is one page, or else single pages.
 */
struct hmmrt_host_pages {
	int node;			/* or NUMA_NO_NODE: mapping's policy */
	bool strict;			/* on that node and no other */
	unsigned int n;
	bool huge;			/* page[] is one page */
	struct page **page;		/* @n elements */
};

/* A window that migrates to system memory, and the result of that. */
struct hmmrt_move_out {
	struct hmmrt_block *block;	/* NULL: only one page migrates */
	struct hmmrt_request *req;	/* NULL: a CPU fault */
	enum hmmrt_cause cause;
	const struct hmmrt_device *dev;	/* the source; NULL: any device */
	unsigned long must;		/* index of the touched page, if any */

	unsigned long moved;
	u32 from[HMMRT_MAX_DEVICES];	/* part of @moved, by source device */
	bool must_moved;		/* the touched page has moved */
	bool must_unreadable;		/* the touched page cannot be read */
	bool raced;			/* the block is no longer one page */
	bool reduced;			/* the window, for lack of memory */
	/* Of a CPU fault in a block: its run, if the touched page moves. */
	const struct hmmrt_policy_run *run;
};

int hmmrt_advised_node(const struct hmmrt_advice *advice);
void hmmrt_host_alloc(struct vm_area_struct *vma, unsigned long start,
		      struct hmmrt_host_pages *to, unsigned int n,
		      unsigned int must);
bool hmmrt_host_alloc_huge(struct hmmrt_space *space,
			   struct vm_area_struct *vma, unsigned long start,
			   struct hmmrt_host_pages *to);
void hmmrt_host_free(struct hmmrt_host_pages *to);
void hmmrt_migrate_out(struct migrate_vma *args, struct hmmrt_host_pages *to,
		       struct hmmrt_move_out *out);
void hmmrt_moved_out(const struct hmmrt_event_source *source,
		     struct hmmrt_episode *episode,
		     const struct migrate_vma *args,
		     const struct hmmrt_move_out *out);

#endif /* _HMMRT_MOVE_OUT_H */
