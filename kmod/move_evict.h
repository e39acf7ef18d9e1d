/* SPDX-License-Identifier: GPL-2.0-only */
/* Eviction of a chunk, for move_evict.c and move_evict_chunk.c. */
#ifndef _HMMRT_MOVE_EVICT_H
#define _HMMRT_MOVE_EVICT_H

#include "move.h"

/* Failed reads before a page is lost, when its device goes away. */
#define HMMRT_LAST_TRIES	3

/* The treatment of pages that get no memory or cannot be copied. */
enum hmmrt_evict_mode {
	/* They stay; another request wants their memory. */
	HMMRT_EVICT_FOR_ALLOC,
	HMMRT_EVICT_ALL,	/* reclaim memory; unreadable pages stay */
	/* Also drop pages that were unreadable HMMRT_LAST_TRIES times. */
	HMMRT_EVICT_LOSE,
};

/*
 * State of one eviction. src[] and dst[] are indexed by entry: a used page, or
 * the whole chunk if it is one large folio. All other arrays and bitmaps are
 * indexed by page of the chunk.
 */
struct hmmrt_eviction {
	unsigned int entries;
	unsigned long src[HMMRT_CHUNK_PAGES];
	unsigned long dst[HMMRT_CHUNK_PAGES];
	u16 entry[HMMRT_CHUNK_PAGES];		/* page to its entry */
	struct page *pages[HMMRT_CHUNK_PAGES];	/* copy targets, or NULL */
	struct list_head spare;		/* copy targets not used yet */
	bool split;			/* the large page must be split */
	/* Replaced, see mem_lost.c. */
	DECLARE_BITMAP(gone, HMMRT_CHUNK_PAGES);
	struct hmmrt_evictor evictor;
};

unsigned int hmmrt_evict_chunk(struct hmmrt_device *dev,
			       struct hmmrt_chunk *chunk,
			       const unsigned long *pages,
			       struct hmmrt_eviction *evict,
			       enum hmmrt_evict_mode mode);

#endif /* _HMMRT_MOVE_EVICT_H */
