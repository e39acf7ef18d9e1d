/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests: what all attempts at a window share. */
#ifndef _HMMRT_REQUEST_H
#define _HMMRT_REQUEST_H

#include <linux/mmdebug.h>

#include "space.h"

/* How long a fault is retried before -EAGAIN goes to the device. */
#define HMMRT_SERVE_TIMEOUT	HZ
/*
 * Attempts that a fault always gets, however long they take. An attempt that
 * faulted pages in or evicted others must be followed by one that maps them,
 * even on a machine on which that alone takes longer than the timeout.
 */
#define HMMRT_SERVE_ATTEMPTS	8U

/*
 * The step that precedes the next attempt at a window. Functions that make an
 * attempt return 0 or a negative errno. With -EAGAIN, req->retry.step may be one
 * of these, until that is done.
 */
enum hmmrt_step {
	HMMRT_STEP_NONE,	/* something raced */
	/* Under the mmap_lock. Nothing moved: break COW of req->to_touch. */
	HMMRT_STEP_BREAK_COW,
	/* Under the mmap_lock: migrate the touched page to system memory. */
	HMMRT_STEP_MIGRATE_BACK,
	/* With no lock held: make device memory available. */
	HMMRT_STEP_TRIM,	/* wait for an unused chunk being trimmed */
	HMMRT_STEP_GROW,	/* make struct pages for more of its memory */
	HMMRT_STEP_EVICT,
	/* Evict pages charged to the same limit. */
	HMMRT_STEP_EVICT_QUOTA,
};

/* Set by the caller, and constant while the request exists. */
struct hmmrt_request_args {
	enum hmmrt_cause cause;		/* recorded for pages that move */
	int node;	/* target node in system memory, or NUMA_NO_NODE */
	u64 evict_before;	/* evict only chunks with a smaller @given */
	u64 own_unused_since;		/* see struct hmmrt_claim */
	bool map;		/* the device is going to map something */
	/* The process says where it wants the memory. */
	bool reset_thrashing;
	bool whole;			/* map all of the window, if access */
	bool device_only;		/* map only pages on the device */
	bool no_peers;			/* leave pages of other devices there */
	bool populated;			/* leave holes as they are */
	bool all_devices;		/* move pages back from all devices */
	bool no_evict;			/* nothing is left to be evicted */
	bool nowait;	/* never wait for a program or mmap_lock: -ENOLCK */
	bool ahead;	/* mapped ahead, not touched; see serve_ahead.c */
};

/* State that earlier attempts leave to the next one. */
struct hmmrt_request_retry {
	bool narrow;			/* a neighbour failed: take one page */
	bool was_missing;	/* the touched page was missing, now present */
	bool thrashes;			/* already counted as thrashing */
	enum hmmrt_step step;		/* before the next attempt */
};

/* Device memory for the request, and what was tried to get it: move_alloc.c. */
struct hmmrt_request_memory {
	/* Pages that need memory, in the window. */
	DECLARE_BITMAP(wanted, HMMRT_BLOCK_PAGES);
	bool no_grow;			/* device memory cannot grow */
	bool no_trim;			/* has already waited for trimming */
	bool no_evict;	/* an eviction has failed: do not evict again */
	bool none_left;	/* no page can be evicted, now or later */
	bool refused;			/* already counted as refused */
	bool stays;	/* no memory of the process is evicted for it */
	enum hmmrt_shortfall shortfall;	/* of the last allocation */
	unsigned int regions_seen;	/* regions when it was set */
	unsigned int evictions;		/* evictions made for this request */
	struct hmmrt_chunk *reserved;	/* evicted for this request */
};

struct hmmrt_request_result {
	u64 moved;
	u64 copied;
	u64 there;			/* by the last attempt */
};

/* The part of a block that an attempt works on. It lies within one mapping. */
struct hmmrt_window {
	struct hmmrt_block *block;
	struct vm_area_struct *vma;	/* valid while the mmap_lock is held */
	unsigned long start;		/* afterwards, where the window was */
	unsigned long end;
};

/* What the CPU's page table has in a window; see move_snapshot.c. */
struct hmmrt_snapshot {
	unsigned long seq;	/* of hmmrt_block_read_begin() */
	int srcu;		/* of hmmrt_snapshot_begin() */
	union {
		unsigned long pfns[HMMRT_BLOCK_PAGES];
		struct page *reused[HMMRT_BLOCK_PAGES];
	};
};

/* What decides about the pages of a window; see hmmrt_request_advise(). */
struct hmmrt_request_policy {
	struct hmmrt_advice advice;	/* holds for the whole window */
	bool one_advice;		/* @advice holds for all of the block */
	struct hmmrt_knobs knobs;	/* of the binding, with @advice applied */
	enum hmmrt_policy_want want;	/* until it is decided, POLICY_STAY */
	enum hmmrt_policy_rule rule;	/* rule that decided about a fault */
	/*
	 * Of a fault, pages of the block: what it faults in or moves, and all
	 * that it may map, which is in one mapping and has @advice.
	 */
	struct hmmrt_policy_window chosen;
	struct hmmrt_policy_window within;
};

/* Arrays of one migration, by page of its range. */
struct hmmrt_move_arrays {
	unsigned long src[HMMRT_BLOCK_PAGES];
	unsigned long dst[HMMRT_BLOCK_PAGES];
	struct page *pages[HMMRT_BLOCK_PAGES];	/* where they go */
	u32 from[HMMRT_MAX_DEVICES];	/* pages that moved, by source device */
};

/* Arrays of one hmmrt_duplicate_window(). */
struct hmmrt_duplicate_arrays {
	/* Device memory for the duplicates, by page of the window. */
	struct page *pages[HMMRT_BLOCK_PAGES];
	/* Pages in memory.wanted that other devices have duplicates of. */
	DECLARE_BITMAP(shared, HMMRT_BLOCK_PAGES);
	unsigned int order;		/* that the CPU has them mapped with */
	/* Of one run: while it is shared, then when it is seen, then mapped. */
	unsigned long src[HMMRT_BLOCK_PAGES];
	union {
		unsigned long dst[HMMRT_BLOCK_PAGES];
		unsigned long pfns[HMMRT_BLOCK_PAGES];
		hmmrt_pte_t ptes[HMMRT_BLOCK_PAGES];
	};
};

/*
 * The attempts to serve part of a block to a device: a fault, or a prefetch
 * (access == 0). It is large, so it is allocated and not on the stack.
 */
struct hmmrt_request {
	struct hmmrt_binding *binding;
	struct hmmrt_request_args args;

	/* The page to serve; see hmmrt_request_aim(). */
	unsigned long addr;	/* page that must be mapped, if access */
	unsigned int access;
	/* Pages of the block that faults of one batch want, and @addr. */
	DECLARE_BITMAP(faulted, HMMRT_BLOCK_PAGES);

	struct hmmrt_window window;	/* of this attempt; has @addr */
	hmmrt_pte_t permits;	/* valid, and what entries of it may permit */
	struct hmmrt_request_policy policy;
	/* Pages of the window to fault in, or to break COW of. */
	DECLARE_BITMAP(to_touch, HMMRT_BLOCK_PAGES);

	struct hmmrt_request_retry retry;
	struct hmmrt_request_memory memory;
	struct hmmrt_request_result result;

	struct hmmrt_snapshot snapshot;	/* of the window */
	union {
		struct hmmrt_move_arrays move;
		struct hmmrt_duplicate_arrays duplicate;
		hmmrt_pte_t ptes[HMMRT_BLOCK_PAGES];	/* of the window */
	};
	/* By page of the block; see move_outcome.c. */
	u8 outcomes[HMMRT_BLOCK_PAGES];
};

/* How long attempts are repeated. */
struct hmmrt_retry_limit {
	unsigned long deadline;		/* in jiffies */
	unsigned int attempts;
	bool until_killed;	/* only a fatal signal ends the attempts */
	atomic64_t *retries;		/* counts them, or NULL */
};

/* End the attempt: @step is to be done before the next one. */
static inline int hmmrt_request_ask(struct hmmrt_request *req,
				    enum hmmrt_step step)
{
	req->retry.step = step;
	return -EAGAIN;
}

/*
 * Returns true if an attempt with the result @rc asked for @step. The caller
 * does it now.
 */
static inline bool hmmrt_request_take_step(struct hmmrt_request *req, int rc,
					   enum hmmrt_step step)
{
	if (rc != -EAGAIN || req->retry.step != step)
		return false;
	req->retry.step = HMMRT_STEP_NONE;
	return true;
}

/* Give up the pfns of a snapshot for an array of pages, not cleared. */
static inline struct page **
hmmrt_snapshot_reuse(struct hmmrt_snapshot *snapshot)
{
	return snapshot->reused;
}

/* Work on the part of [start, end) that a mapping covers. */
static inline void hmmrt_window_set(struct hmmrt_window *window,
				    struct vm_area_struct *vma,
				    unsigned long start, unsigned long end)
{
	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	window->vma = vma;
	window->start = max(start, vma->vm_start);
	window->end = min(end, vma->vm_end);
}

static inline unsigned int hmmrt_window_pages(const struct hmmrt_window *window)
{
	return (window->end - window->start) >> PAGE_SHIFT;
}

/* The address of a page of the window, by its index. */
static inline unsigned long hmmrt_window_addr(const struct hmmrt_window *window,
					      unsigned int i)
{
	return window->start + ((unsigned long)i << PAGE_SHIFT);
}

/* The index in the block of a page of the window, by its index. */
static inline unsigned int
hmmrt_window_index(const struct hmmrt_window *window, unsigned int i)
{
	return hmmrt_index_in_block(window->block,
				    hmmrt_window_addr(window, i));
}

/* The index in the window of the page that must be mapped. */
static inline unsigned int hmmrt_request_index(const struct hmmrt_request *req)
{
	return (req->addr - req->window.start) >> PAGE_SHIFT;
}

/*
 * Returns true if a fault moves nothing, and nothing of the rest of its block
 * would move either: the device is too small for it, it has a thrash pin, or
 * other memory of the process would have to go.
 */
static inline bool hmmrt_request_block_stays(const struct hmmrt_request *req)
{
	return req->memory.stays || req->policy.rule == HMMRT_RULE_TOO_SMALL ||
	       req->policy.rule == HMMRT_RULE_THRASHING;
}

/* Returns the device's map of the block. */
static inline struct hmmrt_block_map *
hmmrt_request_map(const struct hmmrt_request *req)
{
	return req->window.block->maps[req->binding->dev->id];
}

/* Check that a range lies in the block, and is made of whole pages. */
static inline void hmmrt_window_check(const struct hmmrt_block *block,
				      unsigned long start, unsigned long end)
{
	VM_WARN_ON_ONCE(!PAGE_ALIGNED(start) || !PAGE_ALIGNED(end));
	VM_WARN_ON_ONCE(start < block->start || start >= end ||
			end > block->start + HMMRT_BLOCK_SIZE);
}

/* Check that the window is as it should be. Context: mmap_lock held. */
static inline void hmmrt_request_check(const struct hmmrt_request *req)
{
	const struct hmmrt_window *window = &req->window;

	lockdep_assert_held(&window->vma->vm_mm->mmap_lock);
	hmmrt_window_check(window->block, window->start, window->end);
	VM_WARN_ON_ONCE(window->start < window->vma->vm_start ||
			window->end > window->vma->vm_end);
	VM_WARN_ON_ONCE(req->access && (req->addr < window->start ||
					req->addr >= window->end));
}

#endif /* _HMMRT_REQUEST_H */
