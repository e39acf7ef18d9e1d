/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mirrored address spaces: spans, blocks, bindings, and what devices have
 * mapped.
 */
#ifndef _HMMRT_SPACE_H
#define _HMMRT_SPACE_H

#include <linux/hmm.h>
#include <linux/init.h>
#include <linux/interval_tree.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "event.h"
#include "mem.h"
#include "space_table.h"

struct migrate_vma;

/*
 * A duplicate and its original. The original is held by a reference, and is the
 * page that the CPU has mapped; it is in system memory. The duplicate is memory
 * of the device, with no reference. The device has it mapped, read-only.
 */
struct hmmrt_duplicate {
	struct list_head link;		/* on a list of duplicates to free */
	struct page *original;
	struct page *page;
};

/* The duplicates of one device in one block, by page. */
struct hmmrt_duplicates {
	struct hmmrt_duplicate *at[HMMRT_BLOCK_PAGES];
};

/*
 * The pages of one block that one device has mapped; under block->lock. Only a
 * mapped page is in @writable or @local.
 */
struct hmmrt_block_map {
	DECLARE_BITMAP(mapped, HMMRT_BLOCK_PAGES);
	DECLARE_BITMAP(writable, HMMRT_BLOCK_PAGES);
	/* Mapped entries that point to the device's own memory. */
	DECLARE_BITMAP(local, HMMRT_BLOCK_PAGES);
	/* NULL until first used; see space_duplicate.c. */
	struct hmmrt_duplicates *duplicates;
	struct hmmrt_policy_refaults refaults;
	struct hmmrt_policy_bypass bypass;
	unsigned int faults;	/* approximate, since the map was last empty */
	/*
	 * Callers that removed entries but have not yet made the device
	 * invalidate what it has cached of them.
	 */
	unsigned int zapping;
	/*
	 * Ids of other devices with memory that an entry here points to, or
	 * pointed to.
	 */
	unsigned long peers;
	bool remote;	/* an entry points, or pointed, to memory elsewhere */
	/* NULL until first used; see space_counts.c. */
	struct hmmrt_counts *counts;
};

/* CPU faults that wait for the holder of block->migrate; see space_turn.c. */
struct hmmrt_turn {
	wait_queue_head_t wait;
	atomic_t passed;	/* how often a waiting fault was told to go on */
	/* Written by the holder: */
	const struct task_struct *task;		/* if it is a CPU fault */
	const struct migrate_vma *window;	/* only for @task */
	unsigned long unmapped_start;		/* of the window of @task */
	unsigned long unmapped_end;		/* 0: its entries are there */
};

/*
 * 2 MiB of a space. Entries are written with a reference, for a device that is
 * bound, and while nothing is @zapping. A block that is freed is on no list, has
 * no owner in @exclusive, and no device has anything mapped.
 */
struct hmmrt_block {
	unsigned long start;
	struct hmmrt_span *span;
	refcount_t refs;	/* one of the span, and one of each user */
	u64 serial;	/* unique among all blocks, past and future */
	/* Used by space_reap.c once the block is removed. */
	struct list_head reaped;

	struct mutex migrate;		/* around migrate_vma_*() */
	struct hmmrt_turn turn;		/* see space_turn.c */
	/*
	 * Sequential CPU faults, for policy; under @migrate. Notifiers end the
	 * run without it, and other blocks look at it: see policy.c.
	 */
	struct hmmrt_policy_run cpu_run;
	struct list_head remap;		/* on space->remap_blocks, or empty */
	struct list_head pinned;	/* on space->pins.blocks, or empty */
	/* Set once, or NULL; see space_history.c. */
	struct hmmrt_history *history;

	/* Protects the fields below and the driver's entries. */
	struct mutex lock;
	/* Owner of serve_exclusive.c's own events. */
	const void *exclusive;
	unsigned long invalidations;	/* see hmmrt_block_read_begin() */
	/* Invalidations not caused by the owner in @exclusive. */
	unsigned long revoked;
	/* See decide_thrash.c. */
	struct hmmrt_policy_thrashing thrashing;
	/* Id of the device that has the thrash pin, or HMMRT_MAX_DEVICES. */
	u32 pinned_by;
	/* Indexed by device id. Set once, before the device maps anything. */
	struct hmmrt_block_map *maps[HMMRT_MAX_DEVICES];
};

/* The index of a page in its block. */
static inline unsigned int hmmrt_index_in_block(const struct hmmrt_block *block,
						unsigned long addr)
{
	return (addr - block->start) >> PAGE_SHIFT;
}

/* 64 MiB of a space. A span that is freed has no blocks. */
struct hmmrt_span {
	struct mmu_interval_notifier notifier;
	struct hmmrt_space *space;
	unsigned long start;
	/* Used by space_reap.c once the span is removed. */
	struct list_head reaped;
	bool borrowed;	/* holds one borrowed block; in no xarray */
	struct hmmrt_block *blocks[HMMRT_SPAN_BLOCKS];
};

/*
 * Ranges of advice, see space_advice.c. They consist of whole pages, have some
 * advice, and neither overlap nor are adjacent to a range with equal advice.
 * Under space->advice_lock, except for @used.
 */
struct hmmrt_advice_tree {
	struct rb_root_cached root;
	unsigned int ranges;		/* at most advice_ranges_max */
	bool used;			/* the tree had a range at some time */
};

/*
 * Blocks with a thrash pin, see decide_thrash.c. Under space->works_lock, as
 * block->pinned.
 */
struct hmmrt_pins {
	struct list_head blocks;
	unsigned long when;	/* time in jiffies at which @release runs */
	struct delayed_work release;
	bool ended;	/* @release is no longer queued */
};

/* Blocks of addresses at which nothing is mapped any more; see space_reap.c. */
struct hmmrt_reap {
	bool ended;	/* @work is no longer queued; under space->works_lock */
	struct delayed_work work;
};

/*
 * Mark in space->spans: something in the span was unmapped since the last reap.
 */
#define HMMRT_SPAN_UNMAPPED	XA_MARK_1

/*
 * The mirrored address space of a process. A device that is not bound has no
 * binding and no peers here. A space that is freed has no device bound, and no
 * blocks.
 */
struct hmmrt_space {
	refcount_t refs;
	struct work_struct end_work;	/* drops the last reference */
	u64 id;				/* unique among all spaces */
	struct hmmrt_event_source events;
	struct mm_struct *mm;		/* held by mmgrab() */
	/* Thread group that created the space; held by get_task_pid(). */
	struct pid *pid;
	/* Credentials of the thread that created the space. */
	const struct cred *cred;
	struct hlist_node hash;		/* hmmrt_roles_lock and hmmrt_srcu */
	struct mmu_notifier release_notifier;
	/* Creation and removal of spans and blocks. */
	struct mutex spans_lock;
	struct mutex exclusive;		/* serialises hmmrt_exclusive_range() */
	/* Serialises changes of @peers, see space_peer.c. */
	struct mutex peering;
	/* By device id: a bit for each device with memory that it may map. */
	unsigned long peers[HMMRT_MAX_DEVICES];
	/* Task in serve_exclusive.c; only compared. */
	const void *exclusive_task;
	struct xarray spans;		/* by start >> HMMRT_SPAN_SHIFT */
	/*
	 * Ids of devices with maps that are in use or not yet torn down;
	 * written under hmmrt_roles_lock.
	 */
	unsigned long bound;
	wait_queue_head_t unbound;	/* a bit of @bound was cleared */
	bool released;			/* the mm has exited or is about to */
	atomic_t fail_huge;		/* see hmmrt_fail_next_huge() */

	struct rw_semaphore advice_lock;
	struct hmmrt_advice_tree advice;
	struct hmmrt_advice_tree prefetched;	/* uses last_prefetch only */
	struct hmmrt_set_knobs knobs;
	/*
	 * By device id, for accounts created later; under vram->lock of the
	 * device.
	 */
	struct hmmrt_quota_own quotas[HMMRT_MAX_DEVICES];
	bool maps_ahead;	/* advice asks, or asked, for mapping ahead */
	/* Protects the next four, block->remap, @pins and @reap.ended. */
	spinlock_t works_lock;
	struct list_head remap_blocks;
	/* Delay in jiffies before failed blocks are tried again. */
	unsigned long remap_delay;
	bool remap_soon;		/* the work is queued without delay */
	bool remap_ended;
	struct delayed_work remap_work;
	struct hmmrt_pins pins;
	struct hmmrt_reap reap;
	atomic_long_t nr_blocks;
	bool counts_ranges;	/* a range has, or had, access-counter knobs */

	/* Written under hmmrt_roles_lock, read under that or hmmrt_srcu. */
	struct hmmrt_binding __rcu *bindings[HMMRT_MAX_DEVICES];

	atomic64_t migrated_to_host;
	atomic64_t cpu_faults;
	atomic64_t invalidations;
};

/*
 * Pending faults of a binding, which no fault worker has taken; see
 * serve_queue.c. @nr_pending is the length of @pending.
 */
struct hmmrt_fault_buffer {
	spinlock_t lock;	/* protects the fields below */
	/* hmmrt_queued_fault.link, oldest first. */
	struct list_head pending;
	unsigned int nr_pending;
	/* Fault workers; not 0 while a fault is pending. */
	unsigned int workers;
};

/*
 * The address at which a scan over the blocks of a space continues next time.
 * It begins with 0, which also means that the scan has gone around.
 */
struct hmmrt_clock_hand {
	unsigned long addr;
};

/* The rest of the distance that a clock hand may move in one run of a scan. */
struct hmmrt_clock_limit {
	/* Blocks to ask the driver about; the scan counts them down. */
	unsigned int blocks;
	unsigned int visits;	/* blocks to visit in search of them */
};

/* Access counting of a binding; see serve_count.c. */
struct hmmrt_counting {
	struct delayed_work work;
	/* Used by the work only. */
	struct hmmrt_clock_hand clock_hand;
	bool seen;	/* found something to count in this round */
};

/* Looks at blocks that stay because the device is full; see serve_bypass.c. */
struct hmmrt_looking {
	struct delayed_work work;
	unsigned long when;	/* time in jiffies at which @work runs */
	bool seen;	/* a block stays since a round ended without one */
	/* Used by the work only. */
	struct hmmrt_clock_hand clock_hand;
	u64 next;	/* the earliest look that this round has found, or 0 */
	u64 age_since;	/* hmmrt_aged_since() that a block waits for, or 0 */
};

struct hmmrt_binding {
	struct hmmrt_space *space;
	struct hmmrt_device *dev;
	void *drvdata;
	u64 serial;			/* unique among all bindings */
	struct mm_struct *agent;	/* held by mmgrab(); hmmrt_roles_lock */
	struct list_head agent_link;
	struct list_head device_link;	/* hmmrt_roles_lock */
	/* Under dev->age; see decide_age.c. Times are in microseconds. */
	struct hmmrt_clock_hand clock_hand;
	u64 round_began;		/* of the clock hand */
	u64 aged_since;			/* began the last whole round */
	struct hmmrt_account *account;	/* the binding holds a reference */
	bool going;	/* unbinding; ioctls that use it end soon */
	refcount_t users;		/* the driver, and running ioctls */
	struct completion unused;

	atomic64_t device_faults;
	atomic64_t failed_faults;
	atomic64_t mapped_pages;
	atomic64_t remote_pages;
	atomic64_t migrated_to_device;
	atomic64_t copied;
	atomic64_t retries;
	atomic64_t evictions;		/* chunks evicted for this binding */
	atomic64_t evicted;		/* evicted pages of this space */
	atomic64_t thrashing;	/* faults on thrashing pages, see policy.h */

	struct hmmrt_fault_buffer faults;
	atomic64_t fault_batches;
	atomic64_t merged_faults;
	atomic64_t flushed_faults;
	atomic64_t replays;
	atomic64_t thrashing_states[HMMRT_THRASHING_STATES];
	atomic64_t counted;		/* pages moved by access counters */
	struct hmmrt_counting counting;	/* see serve_count.c */
	struct hmmrt_looking looking;	/* see serve_bypass.c */
	atomic64_t quota_refusals;
	atomic64_t memory_refusals;	/* refused for any reason but a quota */
	/*
	 * Pages, including duplicates, that were evicted for other allocations:
	 * tells policy that the device is too small.
	 */
	atomic64_t given_up;
};

/* A binding that a call has released for a while, to find it again. */
struct hmmrt_binding_pause {
	u32 device_id;
	u64 serial;
};

/*
 * Number of blocks for which an evictor records what it removed. Pages of
 * further blocks are unmapped one by one.
 */
#define HMMRT_EVICTOR_BLOCKS	32

/*
 * Entries of the evicting device that were removed before the core announced
 * their pages.
 */
struct hmmrt_taken {
	u64 block;			/* block->serial */
	DECLARE_BITMAP(pages, HMMRT_BLOCK_PAGES);
};

/*
 * A thread that unmaps the pages that it evicts, see move_evict_chunk.c. Only
 * that thread uses the struct, because notifiers run in it; the list is shared.
 * A thread is on the list once at most.
 */
struct hmmrt_evictor {
	struct list_head link;		/* protected by evictors_lock */
	const struct task_struct *task;
	struct hmmrt_device *dev;
	bool for_alloc;	/* another allocation waits for the memory */
	/*
	 * Of the pages of a block at @home that the core announces, @pages are
	 * evicted. Of other blocks, all.
	 */
	unsigned long home;
	DECLARE_BITMAP(pages, HMMRT_BLOCK_PAGES);
	unsigned int nr_taken;
	struct hmmrt_taken taken[HMMRT_EVICTOR_BLOCKS];
};

/* The access that a device can have to memory objects. */
#define HMMRT_ACCESS_OF_OBJECTS	(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE)
/* The bits of hmmrt_advice.access for a device. */
#define HMMRT_ADVICE_ACCESS(id, access)	((u32)(access) << (2 * (id)))

/* The access that a device has, by the advice. */
static inline u32 hmmrt_advice_access(const struct hmmrt_advice *advice, u32 id)
{
	return advice->access >> (2 * id) & HMMRT_ACCESS_OF_OBJECTS;
}

/* A change of the advice of a range. */
struct hmmrt_advice_change {
	void (*apply)(struct hmmrt_advice *advice,
		      const struct hmmrt_advice_change *change);
	u32 kind;	/* enum hmmrt_advice_kind, or the slot of a knob */
	u32 location;
	u64 value;
};

/* space.c */
struct hmmrt_space *hmmrt_space_find(struct mm_struct *mm);
struct hmmrt_space *hmmrt_space_hold(struct mm_struct *mm);
void hmmrt_space_put_later(struct hmmrt_space *space);
void hmmrt_space_publish(struct hmmrt_space *space);
void hmmrt_space_withdraw(struct hmmrt_space *space);
struct hmmrt_binding *hmmrt_space_binding(struct hmmrt_space *space,
					  u32 device_id);
bool hmmrt_binding_tryget(struct hmmrt_binding *binding);
struct hmmrt_binding *hmmrt_space_binding_get(struct hmmrt_space *space,
					      u32 device_id);
void hmmrt_binding_put(struct hmmrt_binding *binding);
void hmmrt_binding_let_go(struct hmmrt_binding **binding,
			  struct hmmrt_binding_pause *pause);
bool hmmrt_binding_resume(struct hmmrt_binding **binding,
			  struct hmmrt_space *space,
			  const struct hmmrt_binding_pause *pause);
int hmmrt_binding_mmap_read_lock(struct hmmrt_binding **binding,
				 struct hmmrt_space *space);
struct hmmrt_knobs hmmrt_knobs_at(const struct hmmrt_space *space,
				  const struct hmmrt_device *dev,
				  const struct hmmrt_advice *advice);
u32 hmmrt_device_knob(const struct hmmrt_device *dev, enum hmmrt_knob_id knob);
u32 hmmrt_binding_knob(const struct hmmrt_binding *binding,
		       enum hmmrt_knob_id knob);

/* space_span.c */
/* The index of a block in its span. */
static inline unsigned int
hmmrt_index_in_span(const struct hmmrt_span *span, unsigned long addr)
{
	VM_WARN_ON_ONCE(addr - span->start >= HMMRT_SPAN_SIZE);
	return (addr - span->start) >> HMMRT_BLOCK_SHIFT;
}

static inline struct hmmrt_block *hmmrt_span_block(struct hmmrt_span *span,
						   unsigned long addr)
{
	return READ_ONCE(span->blocks[hmmrt_index_in_span(span, addr)]);
}

int hmmrt_span_prepare(struct hmmrt_space *space, unsigned long addr);
struct hmmrt_block *hmmrt_block_find(struct hmmrt_space *space,
				     unsigned long addr);
struct hmmrt_block *hmmrt_block_next(struct hmmrt_space *space,
				     unsigned long *addr);
struct hmmrt_block *hmmrt_clock_hand_next(struct hmmrt_clock_hand *hand,
					  struct hmmrt_space *space,
					  struct hmmrt_clock_limit *limit);
struct hmmrt_block *hmmrt_block_get(struct hmmrt_space *space,
				    unsigned long addr, u32 device_id);
struct hmmrt_block *hmmrt_block_borrow(struct hmmrt_space *space,
				       unsigned long addr);
void hmmrt_block_return(struct hmmrt_block *block);
bool hmmrt_block_hold(struct hmmrt_block *block);
void hmmrt_block_put(struct hmmrt_block *block);
void hmmrt_block_destroy(struct hmmrt_block *block);
bool hmmrt_block_is_known(struct hmmrt_binding *binding, unsigned long addr);
void hmmrt_map_forget(struct hmmrt_block *block, u32 device_id,
		      struct list_head *taken);
void hmmrt_spans_destroy(struct hmmrt_space *space);
void __init hmmrt_lockdep_teach(void);

/* space_invalidate.c */
extern const struct mmu_interval_notifier_ops hmmrt_span_notifier_ops;
void hmmrt_evictor_begin(struct hmmrt_evictor *evictor,
			 struct hmmrt_device *dev, bool for_alloc);
void hmmrt_evictor_expect(struct hmmrt_evictor *evictor, unsigned long home,
			  const unsigned long *pages);
void hmmrt_evictor_end(struct hmmrt_evictor *evictor);
unsigned long hmmrt_block_read_begin(struct hmmrt_block *block,
				     unsigned long *span_seq);
bool hmmrt_block_read_retry(const struct hmmrt_block *block, unsigned long seq);
void hmmrt_span_revoke(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);
void hmmrt_span_revoke_device(struct hmmrt_space *space, unsigned long start,
			      unsigned long end, u32 id);

/* space_reap.c */
void hmmrt_reap_init(struct hmmrt_space *space);
void hmmrt_reap_stop(struct hmmrt_space *space);
void hmmrt_reap_unmapped(struct hmmrt_span *span);

/* space_turn.c */
void hmmrt_turn_init(struct hmmrt_turn *turn);
int hmmrt_block_migrate_lock(struct hmmrt_block *block);
void hmmrt_block_migrate_unlock(struct hmmrt_block *block);
bool hmmrt_cpu_fault_lock(struct hmmrt_block *block,
			  const struct migrate_vma *window, unsigned long addr,
			  bool user, bool *counted);
void hmmrt_turn_unmapped(struct hmmrt_space *space, unsigned long addr);

/* space_history.c */
void hmmrt_history_prepare(struct hmmrt_block *block);
void hmmrt_history_free(struct hmmrt_block *block);
u64 hmmrt_history_word(enum hmmrt_cause cause, u32 location);
void hmmrt_history_note(struct hmmrt_block *block, unsigned long addr,
			unsigned int n, u64 word);
void hmmrt_history_note_evicted(struct hmmrt_block *block, unsigned int first,
				unsigned int n);
bool hmmrt_history_has(struct hmmrt_block *block, unsigned int first,
		       unsigned int n, u32 device_id);
void hmmrt_history_unmapped(struct hmmrt_block *block, unsigned int first,
			    unsigned int n);
void hmmrt_history_tell(struct hmmrt_block *block, unsigned int index,
			u32 location, struct hmmrt_page *page);
u64 hmmrt_now_us(void);
void hmmrt_block_note_given_up(struct hmmrt_block *block, u32 device_id,
			       unsigned int pages);

/* space_peer.c */
bool hmmrt_peer_possible(const struct hmmrt_device *dev,
			 const struct hmmrt_device *peer);
bool hmmrt_peer_enabled(const struct hmmrt_binding *binding,
			const struct hmmrt_device *peer);
int hmmrt_ioc_peer(struct hmmrt_space *space, void *data);
void hmmrt_peers_forget(struct hmmrt_binding *binding);

/* space_advice.c */
extern const struct hmmrt_advice hmmrt_no_advice;
int hmmrt_change_advice_locked(struct hmmrt_space *space, unsigned long start,
			       unsigned long end,
			       const struct hmmrt_advice_change *what);
int hmmrt_change_advice(struct hmmrt_space *space, unsigned long start,
			unsigned long end,
			const struct hmmrt_advice_change *what);
void hmmrt_advice_init(struct hmmrt_space *space);
void hmmrt_advice_destroy(struct hmmrt_space *space);
struct hmmrt_advice hmmrt_advice_at(struct hmmrt_space *space,
				    unsigned long addr, unsigned long *start,
				    unsigned long *end);
struct hmmrt_advice hmmrt_advice_lookup(const struct hmmrt_space *space,
					const struct rb_root_cached *tree,
					unsigned long addr,
					unsigned long *start,
					unsigned long *end);
int hmmrt_advice_prefetched(struct hmmrt_space *space, unsigned long start,
			    unsigned long end, u32 location);
void hmmrt_advice_drop(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);
void hmmrt_advice_forget_device(struct hmmrt_space *space, u32 id);
bool hmmrt_location_is_host(u32 location);

/* The errno for a location that is neither the host nor a bound device. */
static inline int hmmrt_location_errno(u32 location)
{
	return location < HMMRT_LOCATION_HOST_NODE(0) ? -ENODEV : -EINVAL;
}

/* space_vma.c */
int hmmrt_user_range_check(u64 addr, u64 len);
unsigned long hmmrt_block_end(unsigned long addr, unsigned long end);
int hmmrt_range_by_blocks(struct mm_struct *mm, unsigned long start,
			  unsigned long end,
			  int (*part)(void *data, unsigned long start,
				      unsigned long end),
			  void *data);
unsigned long hmmrt_covered_end(struct mm_struct *mm, unsigned long start,
				unsigned long end);
int hmmrt_covered_read_lock(struct mm_struct *mm, unsigned long start,
			    unsigned long end);
int hmmrt_vma_check(struct vm_area_struct *vma, unsigned int access);
int hmmrt_mapped_check(struct hmmrt_space *space, u32 device_id,
		       unsigned long addr, unsigned int access, bool nowait);
bool hmmrt_vma_may_migrate(struct vm_area_struct *vma);
bool hmmrt_vma_may_have_migratable(struct vm_area_struct *vma);
int hmmrt_vma_stays(struct vm_area_struct *vma);
int hmmrt_mmap_read_lock(struct mm_struct *mm, bool nowait);
bool hmmrt_mmap_read_lock_until(struct mm_struct *mm, unsigned long end);
unsigned long hmmrt_next_table(struct vm_area_struct *vma, unsigned long addr,
			       unsigned long end);
void hmmrt_find_mapped(struct vm_area_struct *vma, unsigned long start,
		       unsigned long pfn, unsigned long *pages);
bool hmmrt_is_moving(struct vm_area_struct *vma, unsigned long start,
		     unsigned int n);

/* space_duplicate.c */
bool hmmrt_duplicates_work(void);
struct page *hmmrt_duplicate_page(const struct hmmrt_block_map *map,
				  unsigned int index);
unsigned int hmmrt_duplicates_of(const struct hmmrt_block *block,
				 unsigned int index);
void hmmrt_duplicates_mark(struct hmmrt_block *block, unsigned int first,
			   unsigned int count, unsigned long *duplicated);
void hmmrt_duplicates_take(struct hmmrt_block *block, u32 device_id,
			   unsigned int first, unsigned int count,
			   struct list_head *taken);
void hmmrt_duplicates_free(struct list_head *taken);
void hmmrt_duplicates_destroy(struct hmmrt_block_map *map);
void __init hmmrt_duplicates_allow(bool works);
bool hmmrt_has_duplicate(const struct hmmrt_block *block, u32 id,
			 unsigned int index);

/* space_counts.c */
/* How often the work of serve_count.c asks a driver which entries were used. */
#define HMMRT_COUNT_PERIOD	max(HZ / 50, 1)

void hmmrt_counting_start(struct hmmrt_binding *binding);
void hmmrt_counting_knob_set(struct hmmrt_space *space,
			     struct hmmrt_device *dev);
void hmmrt_count(const struct hmmrt_binding *binding, struct hmmrt_block *block,
		 const hmmrt_pte_t *ptes);
void hmmrt_counts_destroy(struct hmmrt_block_map *map);
void hmmrt_counts_prepare(struct hmmrt_block *block,
			  struct hmmrt_block_map *map);
unsigned long hmmrt_counts_take_hot(struct hmmrt_block *block,
				    struct hmmrt_block_map *map,
				    const u32 *thresholds);
void hmmrt_counts_keep_hot(struct hmmrt_block *block,
			   struct hmmrt_block_map *map, unsigned int granule,
			   u32 threshold);

/* space_remap.c */
void hmmrt_map_ahead_again(struct hmmrt_block *block);
void hmmrt_map_ahead_range_again(struct hmmrt_space *space, unsigned long start,
				 unsigned long end);
void hmmrt_map_ahead_all_again(struct hmmrt_space *space);
void hmmrt_map_ahead_stop(struct hmmrt_space *space);
void hmmrt_remap_init(struct hmmrt_space *space, work_func_t work);
void hmmrt_remap_soon(struct hmmrt_block *block);
void hmmrt_remap_later(struct hmmrt_block *block);
void hmmrt_remap_begin(struct hmmrt_space *space, struct list_head *todo);
struct hmmrt_block *hmmrt_remap_take(struct hmmrt_space *space,
				     struct list_head *todo);
void hmmrt_remap_end(struct hmmrt_space *space, struct list_head *todo,
		     bool failed);

#endif /* _HMMRT_SPACE_H */
