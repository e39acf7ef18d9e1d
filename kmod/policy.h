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

/* What decides about a page that a device touched; the first that applies does. */
enum hmmrt_policy_rule {
	HMMRT_RULE_NONE,		/* nothing was decided */
	HMMRT_RULE_NOT_MIGRATABLE,	/* of its kind, or its device maps in place */
	HMMRT_RULE_NO_MIGRATE,
	HMMRT_RULE_NEVER,		/* HMMRT_KNOB_MIGRATION_POLICY */
	HMMRT_RULE_NO_ROOM,		/* evicted again and again */
	HMMRT_RULE_READ_MOSTLY_READ,
	HMMRT_RULE_PREFERRED_HERE,
	HMMRT_RULE_PREFERRED_ELSEWHERE,
	HMMRT_RULE_THRASHING,		/* goes back and forth */
	HMMRT_RULE_READ_MOSTLY_WRITE,
	HMMRT_RULE_ACCESSED_BY,
	HMMRT_RULE_ON_COUNT,		/* not used often enough yet */
	HMMRT_RULE_READ_DUPLICATION,	/* HMMRT_KNOB_READ_DUPLICATION */
	HMMRT_RULE_DEFAULT,
	HMMRT_RULES,
	/* It was to move, or to be copied, and there was nothing to take for it. */
	HMMRT_RULE_NO_MEMORY = HMMRT_RULES,
	HMMRT_RULE_QUOTA,
};

/* A page that is not the device's own, and all that rules go by. */
struct hmmrt_policy_page {
	const struct hmmrt_advice *advice;
	u32 device;
	u32 migration_policy;		/* enum hmmrt_migration_policy */
	bool read_duplication;		/* the knob */
	bool write;
	bool migratable;
	bool no_room;			/* see struct hmmrt_policy_refaults */
	bool pinned;			/* see struct hmmrt_policy_thrashing */
	bool counted;			/* its accesses were, and are enough */
};

struct hmmrt_policy_decision {
	enum hmmrt_policy_want want;
	enum hmmrt_policy_rule rule;
};

struct hmmrt_policy_decision
hmmrt_policy_residency(const struct hmmrt_policy_page *page);
enum hmmrt_policy_want
hmmrt_policy_prefetched(const struct hmmrt_advice *advice,
			bool read_duplication);
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

#define HMMRT_POLICY_GRANULES \
	(HMMRT_POLICY_BLOCK_PAGES / HMMRT_POLICY_GRANULE_PAGES)

/* Where a granule of a block went last: nobody knows, a device id plus one, home. */
#define HMMRT_PLACE_UNKNOWN	0u
#define HMMRT_PLACE_DEVICE(id)	((id) + 1u)
#define HMMRT_PLACE_HOST	0xffu

/* What thrashing goes by; times are in microseconds. */
struct hmmrt_policy_pace {
	const struct hmmrt_knobs *knobs;
	u64 now;
	u64 lapse;		/* see hmmrt_policy_lapse() */
};

/*
 * A block of which parts go back and forth between devices, or between the CPU and
 * a device; zeroed at first. See policy_thrash.c.
 */
struct hmmrt_policy_thrashing {
	u64 when[HMMRT_POLICY_GRANULES];	/* the last move; the end of a nap */
	u8 place[HMMRT_POLICY_GRANULES];	/* where that went: HMMRT_PLACE_* */
	u8 moves[HMMRT_POLICY_GRANULES];	/* that followed each other soon */
	u64 last;		/* of all granules */
	u64 pinned_until;	/* 0: it is not */
	u32 throttles;
	u32 resets;
	bool thrashes;
};

/* What is noted of blocks that thrash, also in traces. */
enum hmmrt_thrashing_state {
	HMMRT_THRASHING_DETECTED,
	HMMRT_THRASHING_THROTTLED,
	HMMRT_THRASHING_PINNED,
	HMMRT_THRASHING_RELEASED,
	HMMRT_THRASHING_RESET,
	HMMRT_THRASHING_STATES,
};

/* What becomes of a touch of a block that thrashes. */
enum hmmrt_policy_held {
	HMMRT_HOLD_NOT,		/* it goes on */
	HMMRT_HOLD_NAP,		/* it is held up for a while, once more */
	HMMRT_HOLD_SHARE,	/* as another touch is already */
	HMMRT_HOLD_PIN,		/* from now on the block stays where it is */
	HMMRT_HOLD_PINNED,	/* it does already */
};

u64 hmmrt_policy_average(u64 average, u64 sample);
u64 hmmrt_policy_lapse(const struct hmmrt_knobs *knobs, u64 average);
u64 hmmrt_policy_pin_time(const struct hmmrt_policy_pace *pace);

/*
 * What a device has of a block, evicted to make room and faulted in again; zeroed
 * at first.
 */
struct hmmrt_policy_refaults {
	u64 evicted;			/* pages of the process, by then */
	u64 when;			/* that was */
	bool away;			/* evicted, and not asked for since */
	unsigned int soon;		/* times in a row that it was, soon after */
	u64 pinned_until;		/* left at home; 0: it is not */
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

bool hmmrt_policy_moved(struct hmmrt_policy_thrashing *thrashing,
			struct hmmrt_policy_window win, u8 place,
			const struct hmmrt_policy_pace *pace);
enum hmmrt_policy_held
hmmrt_policy_hold(struct hmmrt_policy_thrashing *thrashing, unsigned int page,
		  u8 place, const struct hmmrt_policy_pace *pace, u64 *nap);
bool hmmrt_policy_is_pinned(const struct hmmrt_policy_thrashing *thrashing,
			    u64 now);
void hmmrt_policy_forget(struct hmmrt_policy_thrashing *thrashing);
void hmmrt_policy_evicted(struct hmmrt_policy_refaults *refaults, u64 evicted,
			  u64 now);
bool hmmrt_policy_thrashes(struct hmmrt_policy_refaults *refaults, u64 evicted,
			   u64 there, const struct hmmrt_policy_pace *pace);
bool hmmrt_policy_is_below(u64 pages, u64 used, unsigned int percent);

/* Nothing of it is to be taken. */
#define HMMRT_SHARE_KEPT	0xffffffffu

/* One of those who share some memory. Sizes are in pages. */
struct hmmrt_policy_share {
	u64 used;
	u32 priority;
	u32 rank;		/* lower goes first; see hmmrt_policy_share_rank() */
};

/* What they share. Zeroed at first, but for @size. */
struct hmmrt_policy_share_sum {
	u64 size;
	u64 weight;		/* of all who use some */
};

/* A choice among all that may go: the best so far. */
struct hmmrt_policy_share_pick {
	u32 rank;		/* HMMRT_SHARE_KEPT: there was none */
	u64 used_at;		/* in the order of last use */
};

void hmmrt_policy_share_add(struct hmmrt_policy_share_sum *sum,
			    const struct hmmrt_policy_share *share);
void hmmrt_policy_share_rank(const struct hmmrt_policy_share_sum *sum,
			     struct hmmrt_policy_share *share,
			     const struct hmmrt_policy_share *asker);
void hmmrt_policy_share_begin(struct hmmrt_policy_share_pick *pick);
bool hmmrt_policy_share_better(struct hmmrt_policy_share_pick *pick, u32 rank,
			       u64 used_at);

#endif /* _HMMRT_POLICY_H */
