/* SPDX-License-Identifier: GPL-2.0-only */
/* Policy: pure decisions on plain data, also built and tested in user space. */
#ifndef _HMMRT_POLICY_H
#define _HMMRT_POLICY_H

#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

#include "knobs.h"

#define HMMRT_POLICY_BLOCK_PAGES	512u
#define HMMRT_POLICY_GRANULE_PAGES	16u
#define HMMRT_POLICY_PAGE_SIZE		4096u

/*
 * What a process wants of a range; places are locations of the UAPI. Compared as
 * memory: there are no holes in it.
 */
struct hmmrt_advice {
	u32 flags;		/* HMMRT_RANGE_* */
	u32 accessed_by;	/* device ids, HMMRT_BY_CPU */
	u32 preferred;
	u32 last_prefetch;
	u32 granularity;	/* bytes; 0: as much as policy likes */
	struct hmmrt_range_knobs knobs;
};

/* What becomes of pages that a device wants. */
enum hmmrt_policy_want {
	HMMRT_POLICY_MOVE,	/* they move to it */
	HMMRT_POLICY_STAY,	/* it gets entries for where they are */
	HMMRT_POLICY_COPY,	/* it gets copies, to read */
};

enum hmmrt_policy_want hmmrt_policy_touched(const struct hmmrt_advice *advice,
					    u32 device, bool write);
enum hmmrt_policy_want
hmmrt_policy_prefetched(const struct hmmrt_advice *advice);
bool hmmrt_policy_maps_ahead(const struct hmmrt_advice *advice, u32 device);

/* Pages [first, first + count) of a block. */
struct hmmrt_policy_window {
	unsigned int first;
	unsigned int count;
};

/* A run of CPU faults over a block that goes upwards; zeroed at first. */
struct hmmrt_policy_run {
	unsigned int next;
	unsigned int count;
	bool through;			/* it began where the block does */
};

/*
 * A window that goes back and forth between the CPU and a device; zeroed at
 * first. Times are in milliseconds.
 */
struct hmmrt_policy_turns {
	unsigned int first;
	unsigned int count;
	unsigned int turns;
	bool home;		/* came home, and was not asked for since */
	unsigned int when;
};

/*
 * What a device has of a block, evicted to make room and faulted in again; zeroed
 * at first. Distances are in evictions of the device, times in milliseconds.
 */
struct hmmrt_policy_refaults {
	unsigned long evicted;		/* evictions that there had been by then */
	bool away;			/* evicted, and not asked for since */
	unsigned int soon;		/* times in a row that it was, soon after */
	unsigned int pinned;		/* when it was left at home */
};

/* What a device has of a block that it touched, and of those at both ends of it. */
struct hmmrt_policy_density {
	const unsigned long *mapped;	/* by page of the block; also what faults now */
	unsigned int faults;		/* of the block, with this one */
	unsigned int before;		/* pages of the block before it */
	unsigned int after;
};

struct hmmrt_policy_window
hmmrt_policy_device_window(const struct hmmrt_policy_density *density,
			   unsigned int page, const struct hmmrt_advice *advice,
			   const struct hmmrt_knobs *knobs);

struct hmmrt_policy_window
hmmrt_policy_huge_window(struct hmmrt_policy_window win, unsigned int order,
			 bool within);

struct hmmrt_policy_window
hmmrt_policy_host_window(struct hmmrt_policy_run *run,
			 const struct hmmrt_policy_run *before,
			 unsigned int page, const struct hmmrt_advice *advice,
			 const struct hmmrt_knobs *knobs);

void hmmrt_policy_came_home(struct hmmrt_policy_turns *turns,
			    struct hmmrt_policy_window win, unsigned int now);
void hmmrt_policy_evicted(struct hmmrt_policy_refaults *refaults,
			  unsigned long evictions);
bool hmmrt_policy_thrashes(struct hmmrt_policy_refaults *refaults,
			   unsigned long evictions, unsigned long chunks,
			   unsigned int now);
bool hmmrt_policy_stays_home(struct hmmrt_policy_turns *turns,
			     unsigned int page, unsigned int now);
bool hmmrt_policy_is_below(u64 pages, u64 used, unsigned int percent);

#endif /* _HMMRT_POLICY_H */
