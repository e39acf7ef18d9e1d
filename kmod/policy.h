/* SPDX-License-Identifier: GPL-2.0-only */
/* Policy: pure decisions on plain data, also built and tested in user space. */
#ifndef _HMMRT_POLICY_H
#define _HMMRT_POLICY_H

#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

#define HMMRT_POLICY_BLOCK_PAGES	512u
#define HMMRT_POLICY_GRANULE_PAGES	16u
#define HMMRT_POLICY_PAGE_SIZE		4096u

/* --- knobs: the numbers that tune policy; enum hmmrt_knob_id -------------- */

/* Number of knobs that can be set for a range; see hmmrt_knob_info.slot. */
#define HMMRT_RANGE_KNOBS	9

struct hmmrt_knob_info {
	/* UVM's name without uvm_ or uvm_perf_, if UVM has this knob. */
	const char *name;
	u32 min;
	u32 max;
	u32 by_default;
	u32 scopes;		/* mask of enum hmmrt_knob_scope */
	/* With HMMRT_KNOB_RANGE: index in hmmrt_range_knobs. */
	u32 slot;
};

/*
 * The value set plus one; 0 if none is set. Read without a lock: each word is
 * valid by itself.
 */
struct hmmrt_set_knobs {
	u32 set[HMMRT_KNOBS];
};

struct hmmrt_range_knobs {
	u32 set[HMMRT_RANGE_KNOBS];
};

/* The values in effect for one fault; every knob has one. */
struct hmmrt_knobs {
	u32 of[HMMRT_KNOBS];
};

const struct hmmrt_knob_info *hmmrt_knob_describe(u32 knob);
bool hmmrt_knob_valid(u32 knob, u32 scope, u32 value);
u32 hmmrt_knob_value(u32 knob, const struct hmmrt_set_knobs *dev,
		     const struct hmmrt_set_knobs *space,
		     const struct hmmrt_range_knobs *range);
void hmmrt_knobs_fill(struct hmmrt_knobs *knobs,
		      const struct hmmrt_set_knobs *dev,
		      const struct hmmrt_set_knobs *space,
		      const struct hmmrt_range_knobs *range);

/* --- faults --------------------------------------------------------------- */

/*
 * Advice of a process for a range. Locations are those of the UAPI. Compared
 * with memcmp(), so the struct has no padding.
 */
struct hmmrt_advice {
	u32 flags;		/* HMMRT_RANGE_* */
	u32 accessed_by;	/* device ids and HMMRT_BY_CPU */
	u32 preferred;
	u32 last_prefetch;
	u32 granularity;	/* in bytes; 0: policy decides */
	/* Rights to memory objects: two bits for each device, HMMRT_ACCESS_*. */
	u32 access;
	struct hmmrt_range_knobs knobs;
};

/* The treatment of pages that a device wants. */
enum hmmrt_policy_want {
	HMMRT_POLICY_MOVE,	/* they migrate to the device */
	HMMRT_POLICY_STAY,	/* the device maps them where they are */
	HMMRT_POLICY_DUPLICATE,	/* the device gets duplicates, to read */
};

/*
 * The rule that decides about a page that a device touched. The first rule that
 * applies decides.
 */
enum hmmrt_policy_rule {
	HMMRT_RULE_NONE,		/* no decision was made */
	/* Page cannot migrate, or the device maps in place. */
	HMMRT_RULE_NOT_MIGRATABLE,
	HMMRT_RULE_NO_MIGRATE,
	HMMRT_RULE_NEVER,		/* HMMRT_KNOB_MIGRATION_POLICY */
	HMMRT_RULE_TOO_SMALL,	/* evicted and touched again repeatedly */
	HMMRT_RULE_READ_MOSTLY_READ,
	HMMRT_RULE_PREFERRED_HERE,
	HMMRT_RULE_PREFERRED_ELSEWHERE,
	HMMRT_RULE_THRASHING,		/* moves back and forth */
	HMMRT_RULE_READ_MOSTLY_WRITE,
	HMMRT_RULE_ACCESSED_BY,
	HMMRT_RULE_ON_COUNT,		/* not used often enough yet */
	HMMRT_RULE_READ_DUPLICATION,	/* HMMRT_KNOB_READ_DUPLICATION */
	HMMRT_RULE_DEFAULT,
	HMMRT_RULES,
	/*
	 * The page should move, or be duplicated, but no memory was available.
	 */
	HMMRT_RULE_NO_MEMORY = HMMRT_RULES,
	HMMRT_RULE_QUOTA,
};

/* A page outside the device's own memory, with all inputs of the rules. */
struct hmmrt_policy_page {
	const struct hmmrt_advice *advice;
	u32 device;
	u32 migration_policy;		/* enum hmmrt_migration_policy */
	bool read_duplication;		/* the knob */
	bool write;
	bool migratable;
	bool too_small;			/* see struct hmmrt_policy_refaults */
	/* Has a thrash pin, see struct hmmrt_policy_thrashing. */
	bool pinned;
	bool counted;	/* access counter has reached its threshold */
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

/* A run of CPU faults upwards through a block. Initialise with zeroes. */
struct hmmrt_policy_run {
	unsigned int next;
	unsigned int count;
	bool through;			/* the run began at the block's start */
};

#define HMMRT_POLICY_GRANULES \
	(HMMRT_POLICY_BLOCK_PAGES / HMMRT_POLICY_GRANULE_PAGES)

/*
 * The last known location of a granule: unknown, a device id plus one, or
 * system memory.
 */
#define HMMRT_POLICY_LOCATION_UNKNOWN		0u
#define HMMRT_POLICY_LOCATION_DEVICE(id)	((id) + 1u)
#define HMMRT_POLICY_LOCATION_HOST		0xffu

/*
 * Inputs of thrashing detection; times are in microseconds. Lapse, nap and
 * epoch are terms of nvidia-uvm.
 */
struct hmmrt_policy_pace {
	const struct hmmrt_knobs *knobs;
	u64 now;
	u64 lapse;		/* see hmmrt_policy_lapse() */
};

/*
 * Thrashing state of a block, parts of which move back and forth between
 * devices, or between the CPU and a device. Initialise with zeroes. See
 * policy_thrash.c.
 */
struct hmmrt_policy_thrashing {
	u64 when[HMMRT_POLICY_GRANULES];	/* last move, or end of a nap */
	/* Location after it: HMMRT_POLICY_LOCATION_*. */
	u8 location[HMMRT_POLICY_GRANULES];
	u8 moves[HMMRT_POLICY_GRANULES];	/* moves in quick succession */
	u64 last;		/* time of the last move of any granule */
	u64 pinned_until;	/* end of the thrash pin; 0: no pin */
	u32 throttles;
	u32 resets;
	bool thrashes;
};

/* Changes of state of a thrashing block, counted and traced. */
enum hmmrt_thrashing_state {
	HMMRT_THRASHING_DETECTED,
	HMMRT_THRASHING_THROTTLED,
	HMMRT_THRASHING_PINNED,
	HMMRT_THRASHING_RELEASED,
	HMMRT_THRASHING_RESET,
	HMMRT_THRASHING_STATES,
};

/* The treatment of a device fault on a thrashing block. */
enum hmmrt_policy_held {
	HMMRT_HOLD_NOT,		/* the fault is served at once */
	HMMRT_HOLD_NAP,		/* the fault starts another nap */
	HMMRT_HOLD_SHARE,	/* the fault waits for a nap already begun */
	HMMRT_HOLD_PIN,		/* the block gets a thrash pin now */
	HMMRT_HOLD_PINNED,	/* the block has a thrash pin already */
};

u64 hmmrt_policy_average(u64 average, u64 sample);
u64 hmmrt_policy_lapse(const struct hmmrt_knobs *knobs, u64 average);
u64 hmmrt_policy_pin_time(const struct hmmrt_policy_pace *pace);

/*
 * Pages of a block that were evicted from a device to free memory and faulted
 * in again. Initialise with zeroes.
 */
struct hmmrt_policy_refaults {
	u64 evicted;	/* pages evicted from the process by then */
	u64 when;			/* time of the eviction */
	bool away;			/* evicted, and not touched since */
	unsigned int soon;	/* times in a row that a touch followed soon */
	u64 since;		/* eviction before the first of these times */
	/* Stays in system memory until then; 0: no pin. */
	u64 pinned_until;
};

/*
 * A block that stays where it is because a device that touched it is full; times
 * are in microseconds. Initialise with zeroes. See policy_bypass.c.
 */
struct hmmrt_policy_bypass {
	u64 since;	/* it was not used before that, as far as we know */
	u64 looked;			/* time of the last look */
	u64 wait;			/* from one look to the next */
	u64 until;	/* time of the next look; 0: the block does not stay */
	u32 seen;		/* pages used, added up over looks */
	u32 asked;		/* pages used since the last look */
	u32 shortages;	/* at the last look; see hmmrt_policy_bypass_takes() */
	bool used;			/* a look has found it used */
	bool room;		/* at the last look, memory was free */
	u8 trips;			/* how often it was evicted */
};

/*
 * The pages that a device has mapped of a block that it touched, and of the
 * neighbours.
 */
struct hmmrt_policy_density {
	/* By page of the block; includes the pages that fault now. */
	const unsigned long *mapped;
	unsigned int faults;		/* of the block, including this one */
	unsigned int before;		/* pages mapped of the block before */
	unsigned int after;
};

struct hmmrt_policy_window
hmmrt_policy_device_window(const struct hmmrt_policy_density *density,
			   unsigned int page, const struct hmmrt_advice *advice,
			   const struct hmmrt_knobs *knobs);

bool hmmrt_policy_may_duplicate(const struct hmmrt_advice *advice,
				const struct hmmrt_knobs *knobs);

struct hmmrt_policy_window
hmmrt_policy_without_duplicates(const unsigned long *duplicated,
				struct hmmrt_policy_window win,
				unsigned int page);

struct hmmrt_policy_window
hmmrt_policy_write_window(const unsigned long *writable,
			  struct hmmrt_policy_window win, unsigned int lowest,
			  unsigned int page);

struct hmmrt_policy_window
hmmrt_policy_stay_window(struct hmmrt_policy_window win,
			 const struct hmmrt_advice *advice,
			 const struct hmmrt_knobs *knobs);

struct hmmrt_policy_window
hmmrt_policy_huge_window(struct hmmrt_policy_window win, unsigned int order,
			 bool within);

struct hmmrt_policy_window
hmmrt_policy_host_window(struct hmmrt_policy_run *run,
			 const struct hmmrt_policy_run *before,
			 unsigned int page, const struct hmmrt_advice *advice,
			 const struct hmmrt_knobs *knobs);
bool hmmrt_policy_run_has(const struct hmmrt_policy_run *run, unsigned int first,
			  unsigned int n);
bool hmmrt_policy_left_behind(const struct hmmrt_policy_run *run,
			      unsigned int page, unsigned long moved);

bool hmmrt_policy_moved(struct hmmrt_policy_thrashing *thrashing,
			struct hmmrt_policy_window win, u8 location,
			const struct hmmrt_policy_pace *pace);
enum hmmrt_policy_held
hmmrt_policy_hold(struct hmmrt_policy_thrashing *thrashing, unsigned int page,
		  u8 location, const struct hmmrt_policy_pace *pace, u64 *nap);
bool hmmrt_policy_is_pinned(const struct hmmrt_policy_thrashing *thrashing,
			    u64 now);
void hmmrt_policy_forget(struct hmmrt_policy_thrashing *thrashing);
void hmmrt_policy_evicted(struct hmmrt_policy_refaults *refaults, u64 evicted,
			  u64 now);
bool hmmrt_policy_thrashes(struct hmmrt_policy_refaults *refaults, u64 evicted,
			   u64 there, u64 size,
			   const struct hmmrt_policy_pace *pace);
void hmmrt_policy_bypass_begin(struct hmmrt_policy_bypass *bypass, u64 now,
			       u64 lapse);
void hmmrt_policy_bypass_used(struct hmmrt_policy_bypass *bypass,
			      unsigned int pages);
unsigned int hmmrt_policy_bypass_look(struct hmmrt_policy_bypass *bypass,
				      unsigned int remote, u64 now);
bool hmmrt_policy_bypass_goes(const struct hmmrt_policy_bypass *bypass,
			      unsigned int remote);
bool hmmrt_policy_bypass_takes(struct hmmrt_policy_bypass *bypass, bool room,
			       u32 shortages);
void hmmrt_policy_bypass_refused(struct hmmrt_policy_bypass *bypass, u64 now);
void hmmrt_policy_bypass_end(struct hmmrt_policy_bypass *bypass);
void hmmrt_policy_bypass_moved(struct hmmrt_policy_bypass *bypass);
void hmmrt_policy_bypass_forget(struct hmmrt_policy_bypass *bypass);
void hmmrt_policy_bypass_evicted(struct hmmrt_policy_bypass *bypass);
u64 hmmrt_policy_bypass_pause(u64 took);
bool hmmrt_policy_is_below(u64 pages, u64 used, unsigned int percent);

/* Rank of memory that must not be evicted. */
#define HMMRT_SHARE_KEPT	0xffffffffu

/* One of the accounts that share memory. Sizes are in pages. */
struct hmmrt_policy_share {
	u64 used;
	u32 priority;
	u32 rank;	/* lower goes first; see hmmrt_policy_share_rank() */
};

/* The shared memory. Initialise with zeroes, except @size. */
struct hmmrt_policy_share_sum {
	u64 size;
	u64 weight;		/* sum over all accounts with pages */
};

/* The best candidate for eviction so far. */
struct hmmrt_policy_share_pick {
	u32 rank;		/* HMMRT_SHARE_KEPT: no candidate yet */
	u64 used_at;		/* position in the order of last use */
};

void hmmrt_policy_share_add(struct hmmrt_policy_share_sum *sum,
			    const struct hmmrt_policy_share *share);
void hmmrt_policy_share_rank(const struct hmmrt_policy_share_sum *sum,
			     struct hmmrt_policy_share *share,
			     const struct hmmrt_policy_share *asker);
void hmmrt_policy_share_begin(struct hmmrt_policy_share_pick *pick);
bool hmmrt_policy_share_better(struct hmmrt_policy_share_pick *pick, u32 rank,
			       u64 used_at);

/* --- batches of device faults --------------------------------------------- */

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

/* Functions that need a sorted array need one sorted by this. */
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

#endif /* _HMMRT_POLICY_H */
