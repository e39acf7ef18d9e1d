/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hmmrt: the memory manager, private to hmmrt.ko.
 *
 * Objects    space    one mirrored process address space, one per mm
 *            span     an mmu_interval_notifier over an aligned window of it
 *            block    2 MiB of it: what is mapped where, and two locks
 *            binding  one device on one space
 *            device   a registered device and its memory (vram)
 *            region   a part of vram that has struct pages
 *            chunk    2 MiB of vram
 *            account  what a process, or a cgroup, has of a device
 * Ownership  space -> spans -> blocks, freed with the space, or before when nothing
 *            is mapped there any more (reap.c); device -> regions -> chunks. A
 *            binding holds its space and its device; a
 *            space is held by /dev/hmmrt files and bindings, and survives the
 *            exit of its mm. Pages on a device are owned by the page tables
 *            that map them, never by a block or space: fork and mremap move
 *            them behind our back, so block bitmaps are about mappings only
 *            and zone_device_data points nowhere. Accounts are the device's:
 *            they outlive their process as long as a page is charged to them.
 *
 * Lock order, from the outside in:
 *
 *   dev->age           mutex; only tried. Drivers are asked what was accessed
 *   space->peering     mutex; which devices are peers, and taking entries away
 *                      that they were given as such
 *   space->spans_lock  mutex; creation of spans and blocks, and taking them out
 *   hmmrt_roles_lock   mutex; which mm is mirrored, which is an agent
 *   space->exclusive   mutex; around hmmrt_exclusive_range()
 *   mmap_lock          of the mirrored process; never an agent's together
 *   block->migrate     mutex; around migrate_vma_setup() .. finalize().
 *                      Reclaim is allowed under it. Never taken in a notifier,
 *                      not held when the core may fault for us (a snapshot may
 *                      be taken), but for exclusive.c, which sees to it that
 *                      nothing is on a device, and that no program is waited for;
 *                      migrate_to_ram() only tries it: see turn.c. Not slept
 *                      on in hmmrt_srcu.
 *   vram->populate     mutex; the driver's populate() only
 *   [reclaim, folio locks, i_mmap_rwsem, anon_vma lock: the core's]
 *   space->advice_lock rw_semaphore; advice. Held while a call goes through all
 *                      ranges that it is about (advice_ranges_max), with as
 *                      little processor time as the process likes. The notifier
 *                      takes it for munmap() and mremap() only, and never
 *                      together with a block's lock: reclaim, by whichever
 *                      process, does not wait for it. Nothing is allocated under
 *                      it
 *   block->lock        mutex; bitmaps, and the driver's entries of this block.
 *                      Taken by the notifier: nothing is allocated, nobody
 *                      waited for, no advice looked up, no migration and no
 *                      hmm_range_fault() under it.
 *   space->remap_lock  spinlock; blocks whose entries are wanted back
 *   space->pins.lock   spinlock; blocks that are pinned, see thrash.c
 *   space->reap.lock   spinlock; whether spans are still reaped
 *   evictors_lock      spinlock; which threads evict something
 *   faults->lock       spinlock; faults of a binding that wait, and who serves
 *                      them. Nothing is called under it
 *   fault_ins_lock     spinlock; pages that are faulted in for drivers
 *   fault_in->lock     spinlock; a driver's done() is called under it, and takes the
 *                      driver's own locks
 *   driver's page table lock
 *   page table locks   of the core
 *   vram->lock         spinlock, innermost: pages are freed under a page table
 *                      lock
 *
 * hmmrt_srcu protects lookups (mm to space, space to binding, space to span, span
 * to block) where no reference can be taken, as in notifiers, or until one has
 * been; and device pages that a snapshot found, from the snapshot to the last look
 * at them. All
 * processes share it, so nothing in such a section waits for an mmap_lock, or for
 * block->migrate.
 * hmmrt_roles_lock is held for a moment only, for the same reason.
 *
 * hmmrt_unbind() waits for references to the binding. So a caller with one waits
 * neither for a program nor for the mmap_lock, whose holder may wait for one: see
 * hmmrt_binding_pause().
 *
 * hmmrt_lockdep_teach() tells lockdep the order around reclaim when the module is
 * loaded, so that the first call that breaks it is reported.
 *
 * A user of a block holds a reference to it (hmmrt_block_find(), _get(), _next());
 * the lists of remap and of pins hold one for each block on them. Notifiers hold
 * none: they use blocks in hmmrt_srcu and under block->lock. Entries are written
 * with a reference only. So a block of which nothing is mapped, and to which only
 * its span refers, can go: under space->spans_lock its last reference is dropped,
 * from then on none can be taken, and it is freed after a grace period of
 * hmmrt_srcu. Its span stays while it has blocks.
 */
#ifndef _HMMRT_H
#define _HMMRT_H

#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/hmm.h>
#include <linux/hmmrt_device.h>
#include <linux/interval_tree.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat/compat.h"
#include "compat/migrate.h"
#include "account.h"
#include "policy.h"
#include "table.h"

#define HMMRT_BLOCK_SHIFT	HMMRT_CHUNK_SHIFT
#define HMMRT_BLOCK_SIZE	HMMRT_CHUNK_SIZE
#define HMMRT_BLOCK_PAGES	HMMRT_CHUNK_PAGES
#define HMMRT_SPAN_SHIFT	26
#define HMMRT_SPAN_SIZE		BIT(HMMRT_SPAN_SHIFT)
#define HMMRT_SPAN_BLOCKS	(HMMRT_SPAN_SIZE / HMMRT_BLOCK_SIZE)
#define HMMRT_REGION_SIZE	(256UL << 20)
#define HMMRT_REGION_PAGES	(HMMRT_REGION_SIZE >> PAGE_SHIFT)

extern struct srcu_struct hmmrt_srcu;
extern struct mutex hmmrt_roles_lock;

/* --- device memory ------------------------------------------------------ */

struct hmmrt_chunk {
	struct list_head link;		/* vram->free, partial or full */
	u64 offset;			/* in device memory */
	u64 given;			/* vram->given when pages were taken last */
	u64 used_at;			/* vram->uses when it was used last */
	unsigned int used_pages;
	bool populated;
	bool trimming;			/* on no list, taken by nobody */
	bool reserved;			/* is, or was, evicted: see evict.c */
	DECLARE_BITMAP(used, HMMRT_CHUNK_PAGES);
	/* Of which block a page has a copy; NULL: of none. See duplicate.c. */
	struct hmmrt_block **copy_of;
	/* Copies home that failed while the device goes, by page; NULL: none. */
	u8 *failures;
	/* Of each account that has pages of it, and by page; see account.c. */
	struct list_head charges;
	struct hmmrt_charge *charged_to[HMMRT_CHUNK_PAGES];
};

struct hmmrt_region {
	struct dev_pagemap pgmap;
	struct hmmrt_device *dev;
	u64 offset;			/* in device memory */
	unsigned long first_pfn;
	unsigned int nr_chunks;
	struct hmmrt_chunk chunks[];
};

/* Where the page was that was looked up last; begins as {}. */
struct hmmrt_place {
	unsigned long number;		/* pfn / HMMRT_CHUNK_PAGES */
	struct hmmrt_region *region;
};

struct hmmrt_vram {
	spinlock_t lock;		/* the lists, and all of the chunks */
	struct list_head free;		/* nothing used; populated ones first */
	struct list_head partial;
	struct list_head full;
	u64 uses;			/* of chunks, for their order */
	u64 given;			/* times that pages were taken */
	unsigned long used_pages;
	unsigned long populated_chunks;
	/* Of what is in use; the rest is free, with struct pages or without. */
	unsigned int partial_chunks;
	unsigned int full_chunks;
	u64 split_chunks;
	u64 merged_chunks;
	atomic_long_t evictions;	/* of chunks, to make room */
	atomic_long_t evictions_ahead;	/* of them, before it was needed */
	unsigned long lost_pages;	/* that could not be read while it goes */
	struct work_struct evict_ahead;
	bool trimming;			/* a chunk is on no list for a moment */

	struct mutex populate;		/* memory behind chunks */
	struct mutex grow;		/* regions; no lock of ours is held */
	u64 size;
	unsigned int nr_regions;
	unsigned int max_regions;
	struct hmmrt_region **regions;
	struct delayed_work trim;	/* depopulates free chunks */

	/* Accounts, see account.c; all under the lock. */
	DECLARE_HASHTABLE(accounts, 8);	/* of processes, by mm */
	struct list_head charged_accounts;	/* of them, those that have some */
	unsigned int nr_charged;	/* how many that are */
	struct list_head hands;		/* claims that go through them */
	struct list_head group_accounts;	/* of cgroups */
	struct list_head gone_accounts;	/* nobody refers to them, to be freed */
};

struct hmmrt_device {
	u32 id;
	u64 serial;			/* never 0, and no other device's */
	char name[HMMRT_DEVICE_NAME_LEN];
	const struct hmmrt_device_ops *ops;
	void *drvdata;
	int numa_node;
	unsigned int flags;		/* HMMRT_DEVICE_* */
	bool going;			/* unregistered, and found by nobody */
	u64 memory_start;	/* of coherent memory */
	refcount_t users;		/* registration, bindings, ioctls */
	struct completion unused;
	struct list_head bindings;	/* hmmrt_roles_lock */
	struct mutex age;		/* see age.c */
	struct hmmrt_set_knobs knobs;
	struct hmmrt_vram vram;
	u64 migration_us;		/* what one takes; a running average */
};

/* --- address spaces ----------------------------------------------------- */

/* What one device has mapped of one block; under block->lock. */
struct hmmrt_block_map {
	DECLARE_BITMAP(mapped, HMMRT_BLOCK_PAGES);
	DECLARE_BITMAP(writable, HMMRT_BLOCK_PAGES);
	/* Entries of the device's own memory, among those that are mapped. */
	DECLARE_BITMAP(local, HMMRT_BLOCK_PAGES);
	struct hmmrt_copies *copies;	/* see duplicate.c; NULL: never any */
	struct hmmrt_policy_refaults refaults;
	unsigned int faults;	/* about, since something was there last */
	/* Those that took entries away, and have not invalidated them yet. */
	unsigned int zapping;
	/* Ids of devices whose memory is, or was, in an entry of these. */
	unsigned long peers;
	bool remote;		/* there is, or was, an entry of other memory */
	struct hmmrt_counts *counts;	/* see counter.c; NULL: never any */
};

struct hmmrt_block {
	unsigned long start;
	struct hmmrt_span *span;
	refcount_t refs;		/* the span's, and of those that use it */
	u64 serial;			/* of no other block, before or after */
	struct list_head reaped;	/* reap.c, when it has gone */

	struct mutex migrate;		/* around migrate_vma_*() */
	/* Holder of @migrate is a CPU fault; written by it, read by others. */
	bool migrate_by_cpu_fault;
	/* Sequential CPU faults, for policy; under @migrate. */
	struct hmmrt_policy_run cpu_run;
	struct list_head remap;		/* space->remap_blocks, or empty */
	struct list_head pinned;	/* space->pins.blocks, or empty */
	struct hmmrt_history *history;	/* set once, or NULL; see history.c */

	struct mutex lock;		/* all that follows, the driver's entries */
	const void *exclusive;		/* owner of exclusive.c's own events */
	unsigned long invalidations;	/* see hmmrt_block_read_begin() */
	unsigned long revoked;		/* of them, those by others */
	struct hmmrt_policy_thrashing thrashing;	/* see thrash.c */
	u32 pinned_by;			/* device id, where @thrashing is pinned */
	/* Indexed by device id; set once, before the device maps anything. */
	struct hmmrt_block_map *maps[HMMRT_MAX_DEVICES];
};

struct hmmrt_span {
	struct mmu_interval_notifier notifier;
	struct hmmrt_space *space;
	unsigned long start;
	struct list_head reaped;	/* reap.c, when it has gone */
	bool borrowed;			/* of one block, in no xarray */
	struct hmmrt_block *blocks[HMMRT_SPAN_BLOCKS];
};

/* Ranges of advice: see advice.c. Under space->advice_lock, but for @used. */
struct hmmrt_advice_tree {
	struct rb_root_cached root;
	unsigned int ranges;		/* see advice_ranges_max */
	bool used;			/* there has been a range */
};

/* Blocks that stay where they are for a while; see thrash.c. */
struct hmmrt_pins {
	spinlock_t lock;		/* all of this, and block->pinned */
	struct list_head blocks;
	unsigned long when;		/* in jiffies: @release runs */
	struct delayed_work release;
};

/* Blocks of addresses where nothing is mapped any more; see reap.c. */
struct hmmrt_reap {
	spinlock_t lock;		/* @ended */
	bool ended;			/* @work is not queued any more */
	struct delayed_work work;
};

/* Of space->spans: something in it was unmapped since it was reaped. */
#define HMMRT_SPAN_UNMAPPED	XA_MARK_1

struct hmmrt_space {
	refcount_t refs;
	struct mm_struct *mm;		/* mmgrab()ed */
	const struct cred *cred;	/* of the thread that made it */
	struct hlist_node hash;		/* hmmrt_roles_lock and hmmrt_srcu */
	struct mmu_notifier release_notifier;
	struct mutex spans_lock;	/* creation of spans and blocks */
	struct mutex exclusive;		/* one hmmrt_exclusive_range() */
	struct mutex peering;		/* changes of @peers, see peer.c */
	/* By device id: a bit for each device whose memory it may map. */
	unsigned long peers[HMMRT_MAX_DEVICES];
	const void *exclusive_task;	/* who is in it; only to be compared */
	struct xarray spans;		/* by start >> HMMRT_SPAN_SHIFT */
	/*
	 * Device ids whose maps are in use or not yet forgotten; written under
	 * hmmrt_roles_lock.
	 */
	unsigned long bound;
	wait_queue_head_t unbound;	/* a bit of @bound was cleared */
	bool released;			/* the mm is gone, or nearly so */
	atomic_t fail_huge;		/* see hmmrt_fail_next_huge() */

	struct rw_semaphore advice_lock;
	struct hmmrt_advice_tree advice;
	struct hmmrt_advice_tree prefetched;	/* last_prefetch alone */
	struct hmmrt_set_knobs knobs;
	/* By device id, for accounts to come; vram->lock of that device. */
	struct hmmrt_quota_own quotas[HMMRT_MAX_DEVICES];
	bool maps_ahead;		/* there was advice to map something */
	spinlock_t remap_lock;		/* the next four, and block->remap */
	struct list_head remap_blocks;
	unsigned long remap_delay;	/* before what failed is tried again */
	bool remap_soon;		/* the work is to run without delay */
	bool remap_ended;
	struct delayed_work remap_work;
	struct hmmrt_pins pins;
	struct hmmrt_reap reap;
	atomic_long_t nr_blocks;
	bool counts_ranges;		/* there was a range to count in */

	/* Written under hmmrt_roles_lock, read under it or hmmrt_srcu. */
	struct hmmrt_binding __rcu *bindings[HMMRT_MAX_DEVICES];

	atomic64_t migrated_to_host;
	atomic64_t cpu_faults;
	atomic64_t invalidations;
};

/* Faults of a binding that nobody serves yet; see queue.c. */
struct hmmrt_fault_buffer {
	spinlock_t lock;		/* all that follows, but for @drained */
	struct list_head pending;	/* hmmrt_queued_fault.link, oldest first */
	unsigned int nr_pending;
	unsigned int servicers;		/* not 0 while one is pending */
	unsigned long drains;		/* times that @servicers became 0 */
	wait_queue_head_t drained;
};

/* Of a binding; see counter.c. */
struct hmmrt_counting {
	struct delayed_work work;
	unsigned long hand;		/* the work alone */
	bool seen;			/* something to count since it began anew */
};

struct hmmrt_binding {
	struct hmmrt_space *space;
	struct hmmrt_device *dev;
	void *drvdata;
	u64 serial;			/* of no other binding, ever */
	struct mm_struct *agent;	/* mmgrab()ed, hmmrt_roles_lock */
	struct list_head agent_link;
	struct list_head device_link;	/* hmmrt_roles_lock */
	unsigned long hand;		/* dev->age; see age.c */
	struct hmmrt_account *account;	/* held */
	bool going;			/* ioctls that use it end soon */
	refcount_t users;		/* the driver, and ioctls for a while */
	struct completion unused;

	atomic64_t device_faults;
	atomic64_t failed_faults;
	atomic64_t mapped_pages;
	atomic64_t remote_pages;
	atomic64_t migrated_to_device;
	atomic64_t copied;
	atomic64_t retries;
	atomic64_t evictions;		/* of chunks, whoever had them */
	atomic64_t evicted;		/* pages of this space */
	atomic64_t thrashing;		/* faults, see policy.h */

	struct hmmrt_fault_buffer faults;
	atomic64_t fault_batches;
	atomic64_t merged_faults;
	atomic64_t flushed_faults;
	atomic64_t replays;
	atomic64_t thrashing_states[HMMRT_THRASHING_STATES];
	atomic64_t counted;		/* pages that moved because of it */
	struct hmmrt_counting counting;
	atomic64_t quota_refusals;
	atomic64_t memory_refusals;	/* for any other reason */
	atomic64_t given_up;		/* pages, to make room; for what is too small */
};

/* How a device that was found full is to have room for the next attempt. */
enum hmmrt_room_by {
	HMMRT_ROOM_TRIMMED,	/* a chunk that nobody uses is found again */
	HMMRT_ROOM_GROWN,	/* it has more memory than struct pages */
	HMMRT_ROOM_EVICTED,
	HMMRT_ROOM_QUOTA,	/* likewise, of those who share the limit */
};

/* Blocks of which an evictor notes what it took. Pages of further ones go singly. */
#define HMMRT_EVICTOR_BLOCKS	32

/* Entries of the evicting device that went before the core announced their pages. */
struct hmmrt_taken {
	u64 block;			/* its serial number */
	DECLARE_BITMAP(pages, HMMRT_BLOCK_PAGES);
};

/*
 * A thread that unmaps what it evicts, see evict.c. The list apart, only that thread
 * uses it: notifiers run in it.
 */
struct hmmrt_evictor {
	struct list_head link;		/* evictors_lock */
	const struct task_struct *task;
	struct hmmrt_device *dev;
	bool room;			/* another allocation waits for their place */
	unsigned int nr_taken;
	struct hmmrt_taken taken[HMMRT_EVICTOR_BLOCKS];
};

/*
 * One attempt to serve part of a block to a device: a fault, or a prefetch
 * (access == 0). Large; allocated, not on the stack.
 */
struct hmmrt_request {
	struct hmmrt_binding *binding;
	struct hmmrt_block *block;
	struct vm_area_struct *vma;	/* valid while mmap_lock is held */
	unsigned long start;		/* window, within block and vma */
	unsigned long end;
	unsigned long addr;		/* page that must be mapped, if access */
	unsigned int access;
	bool whole;			/* all of the window must be mapped, if access */
	bool device_only;		/* map only what is on the device */
	bool no_peers;			/* leave what is on other devices */
	bool all_devices;		/* home from any, not the binding's alone */
	bool no_grow;			/* device memory has its full size */
	bool no_trim;			/* what was being trimmed has been waited for */
	bool no_evict;			/* and nothing there can be evicted now */
	bool none_left;			/* nothing is there that might be, at any time */
	bool thrashes;			/* was counted as such */
	bool was_missing;		/* the touched page, which is there by now */
	bool refused;			/* was counted as such */
	enum hmmrt_lack lack;		/* of the last hmmrt_request_alloc_pages() */
	DECLARE_BITMAP(wanted, HMMRT_BLOCK_PAGES);	/* of that, in the window */
	enum hmmrt_room_by room_by;	/* with -ENOSPC */
	unsigned int regions_seen;	/* with -ENOSPC */
	u64 evict_before;		/* only what was given out before */
	unsigned int evictions;		/* for it */
	struct hmmrt_chunk *room;	/* what was evicted for this, reserved */
	bool nowait;			/* for a program, or the mmap_lock: -ENOLCK */
	bool narrow;			/* a neighbour failed: take one page */
	bool exec;			/* what the vma permits, kept after it */
	bool write;
	bool ahead;			/* nobody touched it: see ahead.c */
	bool copy;			/* read-mostly: copy what is at home */
	struct hmmrt_advice advice;	/* of all of the window */
	struct hmmrt_knobs knobs;	/* of a fault, with that advice */
	int node;			/* home to it, or NUMA_NO_NODE */
	enum hmmrt_cause cause;		/* of what moves */
	unsigned long seq;		/* of pfns: hmmrt_block_read_begin() */
	/* Pages of the block that are asked for together, with @addr. */
	DECLARE_BITMAP(faulted, HMMRT_BLOCK_PAGES);
	enum hmmrt_policy_rule rule;	/* that decided about a fault */

	u64 moved;
	u64 copied;
	u64 there;

	union {
		unsigned long pfns[HMMRT_BLOCK_PAGES];	/* of a snapshot */
		struct page *from[HMMRT_BLOCK_PAGES];	/* of a copy after it */
	};
	unsigned long src[HMMRT_BLOCK_PAGES];
	union {
		unsigned long dst[HMMRT_BLOCK_PAGES];
		hmmrt_pte_t copy_ptes[HMMRT_BLOCK_PAGES];
	};
	union {
		struct page *pages[HMMRT_BLOCK_PAGES];
		hmmrt_pte_t ptes[HMMRT_BLOCK_PAGES];
	};
	/* By page of the block; see outcome.c. */
	u8 outcomes[HMMRT_BLOCK_PAGES];
};

/* space.c */
struct hmmrt_space *hmmrt_space_get(struct mm_struct *mm);
struct hmmrt_space *hmmrt_space_find(struct mm_struct *mm);
struct hmmrt_binding *hmmrt_space_binding(struct hmmrt_space *space,
					  u32 device_id);
struct hmmrt_binding *hmmrt_space_binding_get(struct hmmrt_space *space,
					      u32 device_id);
void hmmrt_binding_put(struct hmmrt_binding *binding);
/* Which binding it was that a call gave up for a while. */
struct hmmrt_binding_pause {
	u32 device_id;
	u64 serial;
};

void hmmrt_binding_pause(struct hmmrt_binding **binding,
			 struct hmmrt_binding_pause *pause);
bool hmmrt_binding_resume(struct hmmrt_binding **binding,
			  struct hmmrt_space *space,
			  const struct hmmrt_binding_pause *pause);
int hmmrt_binding_mmap_read_lock(struct hmmrt_binding **binding,
				 struct hmmrt_space *space);

/* invalidate.c */
void hmmrt_evictor_begin(struct hmmrt_evictor *evictor,
			 struct hmmrt_device *dev, bool room);
void hmmrt_evictor_end(struct hmmrt_evictor *evictor);
unsigned long hmmrt_block_read_begin(struct hmmrt_block *block,
				     unsigned long *span_seq);
bool hmmrt_block_read_retry(const struct hmmrt_block *block, unsigned long seq);
void hmmrt_span_revoke(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);

/* span.c */
int hmmrt_span_prepare(struct hmmrt_space *space, unsigned long addr);
struct hmmrt_block *hmmrt_block_find(struct hmmrt_space *space,
				     unsigned long addr);
struct hmmrt_block *hmmrt_block_next(struct hmmrt_space *space,
				     unsigned long *addr);
struct hmmrt_block *hmmrt_block_get(struct hmmrt_space *space,
				    unsigned long addr, u32 device_id);
struct hmmrt_block *hmmrt_block_borrow(struct hmmrt_space *space,
				       unsigned long addr);
void hmmrt_block_return(struct hmmrt_block *block);
bool hmmrt_block_hold(struct hmmrt_block *block);
void hmmrt_block_put(struct hmmrt_block *block);
void hmmrt_block_destroy(struct hmmrt_block *block);
bool hmmrt_block_is_known(struct hmmrt_binding *binding, unsigned long addr);
void hmmrt_map_forget(struct hmmrt_block_map *map, struct list_head *taken);
void hmmrt_spans_destroy(struct hmmrt_space *space);
void hmmrt_spans_forget_binding(struct hmmrt_binding *binding);
void hmmrt_lockdep_teach(void);

/* reap.c */
void hmmrt_reap_init(struct hmmrt_space *space);
void hmmrt_reap_stop(struct hmmrt_space *space);
void hmmrt_reap_unmapped(struct hmmrt_span *span);

/* request.c */
struct hmmrt_request *hmmrt_request_alloc(struct hmmrt_binding *binding,
					  struct hmmrt_block *block);
void hmmrt_request_free(struct hmmrt_request *req);
int hmmrt_request_alloc_pages(struct hmmrt_request *req, unsigned int first,
			      unsigned int end, struct page **pages,
			      struct page *near);
enum hmmrt_stay hmmrt_request_lacks(const struct hmmrt_request *req);
int hmmrt_request_again(struct hmmrt_request *req, int rc);
int hmmrt_mmap_read_lock(struct mm_struct *mm, bool nowait);
bool hmmrt_mmap_read_lock_until(struct mm_struct *mm, unsigned long end);
int hmmrt_request_lock_mm(struct hmmrt_request *req, struct mm_struct *mm);
enum hmmrt_policy_want hmmrt_request_prefetched(struct hmmrt_request *req);
bool hmmrt_fault_may_migrate(struct hmmrt_request *req);

/* serve.c */
/* How long one fault starts again before the device must ask once more. */
#define HMMRT_SERVE_TIMEOUT	HZ
/*
 * Attempts that there are however long they take: one that faulted pages in, or
 * evicted others, has to be followed by one that maps them, also on a machine where
 * that alone takes all of the time.
 */
#define HMMRT_SERVE_ATTEMPTS	8U

int hmmrt_look(struct hmmrt_block *block, struct hmm_range *range,
	       unsigned long *seq);
int hmmrt_snapshot(struct hmmrt_request *req);
int hmmrt_snapshot_widened(struct hmmrt_request *req);
bool hmmrt_mark_cow(struct hmmrt_request *req);
int hmmrt_serve_window(struct hmmrt_request *req, bool migrate);
int hmmrt_vma_check(struct vm_area_struct *vma, unsigned int access);
int hmmrt_mapped_check(struct mm_struct *mm, unsigned long addr,
		       unsigned int access, bool nowait);
bool hmmrt_is_mapped(const struct hmmrt_binding *binding,
		     struct hmmrt_block *block, unsigned long addr,
		     unsigned int access);
int hmmrt_fault_once(struct mm_struct *mm, struct hmmrt_request *req);

/* queue.c */
void hmmrt_queue_init(struct hmmrt_binding *binding);
void hmmrt_queue_check_empty(struct hmmrt_binding *binding);

/* migrate.c */
bool hmmrt_vma_may_migrate(struct vm_area_struct *vma);
bool hmmrt_vma_may_have_migratable(struct vm_area_struct *vma);
unsigned long hmmrt_select_device(const struct hmmrt_device *dev);
bool hmmrt_request_is_huge(const struct hmmrt_request *req);
bool hmmrt_huge_fails(struct hmmrt_space *space);
int hmmrt_migrate_to_device(struct hmmrt_request *req);

/* home.c */
int hmmrt_migrate_to_host(struct hmmrt_request *req);
int hmmrt_window_to_host(struct hmmrt_request *req);
vm_fault_t hmmrt_migrate_to_ram(struct vm_fault *vmf);

/* outcome.c */
/* Nobody knows yet. */
#define HMMRT_OUTCOME_OPEN	0xffu

void hmmrt_outcome_set(struct hmmrt_request *req, unsigned long addr,
		       unsigned int n, u8 outcome);
u8 *hmmrt_outcomes(struct hmmrt_request *req);
void hmmrt_outcomes_reopen(struct hmmrt_request *req);
int hmmrt_outcomes_explain(struct hmmrt_request *req);
int hmmrt_vma_stays(struct vm_area_struct *vma);

/* history.c */
void hmmrt_history_prepare(struct hmmrt_block *block);
void hmmrt_history_free(struct hmmrt_block *block);
u64 hmmrt_history_word(enum hmmrt_cause cause, u32 location);
void hmmrt_history_note(struct hmmrt_block *block, unsigned long addr,
			unsigned int n, u64 word);
void hmmrt_history_note_evicted(struct hmmrt_block *block, unsigned int first,
				unsigned int n);
void hmmrt_history_forget(struct hmmrt_block *block, unsigned int first,
			  unsigned int n);
void hmmrt_history_tell(struct hmmrt_block *block, unsigned int index,
			u32 location, struct hmmrt_page *page);

/* All that a device may want of a page. */
#define HMMRT_ACCESS_ALL \
	(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE | HMMRT_ACCESS_EXEC)

/* range.c */
int hmmrt_exclusive_part(struct hmmrt_binding **binding, unsigned long start,
			 unsigned long end);
int hmmrt_range_check(unsigned long start, unsigned long end);
unsigned long hmmrt_block_end(unsigned long addr, unsigned long end);

/* peer.c */
bool hmmrt_peer_enabled(const struct hmmrt_binding *binding,
			const struct hmmrt_device *peer);
int hmmrt_peer(struct hmmrt_space *space, struct hmmrt_peer *arg);
void hmmrt_peers_forget(struct hmmrt_binding *binding);

/* exclusive.c */
int hmmrt_make_exclusive(struct hmmrt_request *req);

/* age.c */
void hmmrt_age(struct hmmrt_device *dev);
void hmmrt_age_ask(struct hmmrt_binding *binding, struct hmmrt_block *block,
		   hmmrt_pte_t *ptes);

/* thrash.c */
u64 hmmrt_now_us(void);
void hmmrt_thrashing_moved_in(struct hmmrt_request *req, u64 began);
void hmmrt_thrashing_came_home(struct hmmrt_block *block,
			       struct hmmrt_device *dev, unsigned long start,
			       unsigned long end, u64 began);
void hmmrt_thrashing_reset(struct hmmrt_block *block);
void hmmrt_thrashing_evicted(struct hmmrt_block *block, u32 device_id,
			     unsigned int pages);
bool hmmrt_request_thrashes(struct hmmrt_request *req);
bool hmmrt_request_pinned(const struct hmmrt_request *req);
int hmmrt_throttle(struct hmmrt_binding *binding, unsigned long addr);
void hmmrt_pins_init(struct hmmrt_pins *pins);
void hmmrt_pins_stop(struct hmmrt_pins *pins);

/* counter.c */
void hmmrt_counting_init(struct hmmrt_binding *binding);
void hmmrt_counting_start(struct hmmrt_binding *binding);
void hmmrt_counting_stop(struct hmmrt_binding *binding);
void hmmrt_counting_knob_set(struct hmmrt_space *space,
			     struct hmmrt_device *dev);
void hmmrt_count(const struct hmmrt_binding *binding, struct hmmrt_block *block,
		 const hmmrt_pte_t *ptes);
void hmmrt_counts_destroy(struct hmmrt_block_map *map);

/* advice.c */
extern const struct hmmrt_advice hmmrt_no_advice;
void hmmrt_advice_init(struct hmmrt_space *space);
void hmmrt_advice_destroy(struct hmmrt_space *space);
struct hmmrt_advice hmmrt_advice_at(struct hmmrt_space *space,
				    unsigned long addr, unsigned long *start,
				    unsigned long *end);
struct hmmrt_advice hmmrt_advice_look(const struct hmmrt_space *space,
				      const struct rb_root_cached *tree,
				      unsigned long addr, unsigned long *start,
				      unsigned long *end);
void hmmrt_request_advise(struct hmmrt_request *req, unsigned long addr);
int hmmrt_advice_prefetched(struct hmmrt_space *space, unsigned long start,
			    unsigned long end, u32 location);
int hmmrt_advice_set_knob(struct hmmrt_space *space, unsigned long start,
			  unsigned long end, u32 slot, u32 set);
void hmmrt_advice_drop(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);
void hmmrt_advice_forget_device(struct hmmrt_space *space, u32 id);
bool hmmrt_location_is_host(u32 location);
int hmmrt_advise(struct hmmrt_space *space, struct hmmrt_advise *arg);

/* attributes.c */
unsigned long hmmrt_covered_end(struct mm_struct *mm, unsigned long start,
				unsigned long end);
int hmmrt_advice_check(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);
int hmmrt_range_attributes(struct hmmrt_space *space,
			   struct hmmrt_range_attributes *arg);

/* ahead.c */
void hmmrt_map_ahead_init(struct hmmrt_space *space);
void hmmrt_map_ahead_stop(struct hmmrt_space *space);
void hmmrt_map_ahead(struct hmmrt_space *space, unsigned long start,
		     unsigned long end, u32 id);
void hmmrt_map_ahead_again(struct hmmrt_block *block);
void hmmrt_map_ahead_all_again(struct hmmrt_space *space);

/* duplicate.c */
int hmmrt_duplicate(struct hmmrt_request *req);
int hmmrt_share_pages(struct migrate_vma *args, struct page **from);
struct page *hmmrt_copy_page(const struct hmmrt_block_map *map,
			     unsigned int index);
void hmmrt_copies_take(struct hmmrt_block_map *map, unsigned int first,
		       unsigned int count, struct list_head *taken);
void hmmrt_copies_free(struct list_head *taken);
void hmmrt_copies_evict(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
			const unsigned long *pages, bool room);
bool hmmrt_copies_let_split(const struct hmmrt_request *req,
			    unsigned int first, unsigned int count);
void hmmrt_copies_destroy(struct hmmrt_block_map *map);
unsigned int hmmrt_copies_of(const struct hmmrt_block *block,
			     unsigned int index);

/* selftest.c */
bool hmmrt_copies_work(void);
void hmmrt_selftest(void);

/* tuning.c */
struct hmmrt_knobs hmmrt_knobs_at(const struct hmmrt_space *space,
				  const struct hmmrt_device *dev,
				  const struct hmmrt_advice *advice);
u32 hmmrt_device_knob(const struct hmmrt_device *dev, enum hmmrt_knob_id knob);
u32 hmmrt_binding_knob(const struct hmmrt_binding *binding,
		       enum hmmrt_knob_id knob);
int hmmrt_knob(struct hmmrt_space *space, struct hmmrt_knob *arg);

/* turn.c */
struct hmmrt_turn;

/* What a CPU fault waits for once it has left hmmrt_srcu; begins as {}. */
struct hmmrt_turn_wait {
	struct hmmrt_turn *turn;	/* NULL: nothing */
	int ended;
	bool again;			/* it has waited */
};

void hmmrt_turns_init(void);
int hmmrt_block_migrate_lock(struct hmmrt_block *block);
void hmmrt_block_migrate_unlock(struct hmmrt_block *block);
bool hmmrt_cpu_fault_lock(struct hmmrt_block *block, bool user,
			  struct hmmrt_turn_wait *wait);
bool hmmrt_turn_wait(struct hmmrt_turn_wait *wait);
void hmmrt_turn_wait_cancel(struct hmmrt_turn_wait *wait);

/* table.c: the process's page tables */
unsigned long hmmrt_next_table(struct vm_area_struct *vma, unsigned long addr,
			       unsigned long end);
bool hmmrt_is_moving(struct vm_area_struct *vma, unsigned long start,
		     unsigned int n);

/* evict.c */
void hmmrt_evict_chunk(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       bool lose);
bool hmmrt_may_evict(const struct hmmrt_request *req);
bool hmmrt_may_evict_later(const struct hmmrt_request *req);
int hmmrt_request_make_room(struct hmmrt_request *req);
void hmmrt_request_release_room(struct hmmrt_request *req);
void hmmrt_evict_ahead_init(struct hmmrt_device *dev);
void hmmrt_evict_ahead_stop(struct hmmrt_device *dev);
void hmmrt_evict_ahead(struct hmmrt_device *dev);
int hmmrt_evict_excess(struct hmmrt_account *account, const bool *going);

/* lost.c */
void hmmrt_lost_begin(void);
void hmmrt_lost_end(void);
int hmmrt_lost_prepare(void);
struct page *hmmrt_lost_page(bool huge);
void hmmrt_lost_exit(void);

/* quota.c */
int hmmrt_quota(struct hmmrt_space *space, struct hmmrt_quota *arg);

/*
 * Whether a signal is to end a call. Work for the task, as io_uring has, is none
 * to the program, and waits.
 */
static inline bool hmmrt_interrupted(void)
{
	return task_sigpending(current);
}

/* memory.c: ioctls on memory of a space */
int hmmrt_user_range_check(u64 addr, u64 len);
int hmmrt_request_lookup(struct mm_struct *mm, struct hmmrt_request *req,
			 unsigned long start, unsigned long end);
int hmmrt_prefetch(struct hmmrt_space *space, struct hmmrt_prefetch *arg);
int hmmrt_exclusive(struct hmmrt_space *space, struct hmmrt_exclusive *arg);
void hmmrt_block_come_home(struct hmmrt_binding *binding,
			   struct hmmrt_block *block, unsigned long *wait);

/* pages.c: ioctls that only look */
int hmmrt_residency(struct hmmrt_space *space, struct hmmrt_residency *arg);
int hmmrt_pages(struct hmmrt_space *space, struct hmmrt_pages *arg);

/* region.c */
void *hmmrt_pgmap_owner(void);
u64 hmmrt_page_offset(const struct page *page);
bool hmmrt_device_is_coherent(const struct hmmrt_device *dev);
struct hmmrt_device *hmmrt_page_device(const struct page *page);
struct hmmrt_device *hmmrt_place_device(struct hmmrt_place *place,
					const struct page *page);
u64 hmmrt_place_offset(const struct hmmrt_place *place,
		       const struct page *page);
bool hmmrt_page_is_private(const struct page *page);
bool hmmrt_page_is_coherent(const struct page *page);
struct dev_pagemap *hmmrt_page_pgmap(const struct page *page);
struct hmmrt_region *hmmrt_page_region(const struct page *page);
struct hmmrt_chunk *hmmrt_region_chunk(struct hmmrt_region *region,
				       const struct page *page);
struct hmmrt_chunk *hmmrt_page_chunk(const struct page *page);
unsigned long hmmrt_chunk_pfn(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk);
int hmmrt_vram_grow(struct hmmrt_device *dev, unsigned int seen_regions);
void hmmrt_region_destroy(struct hmmrt_region *region);

/* vram.c */
struct hmmrt_chunk *hmmrt_vram_reserve(struct hmmrt_device *dev,
				       const struct hmmrt_claim *claim,
				       unsigned long *pages,
				       struct hmmrt_claim_cost *cost);
void hmmrt_vram_unreserve(struct hmmrt_device *dev, struct hmmrt_chunk *chunk);
void hmmrt_vram_used(struct hmmrt_device *dev, u64 offset);
int hmmrt_vram_prepare_copies(struct page **pages, unsigned int n);
void hmmrt_vram_note_copy(struct page *page, struct hmmrt_block *block);
struct hmmrt_block *hmmrt_vram_next_copy(struct hmmrt_device *dev,
					 const struct hmmrt_chunk *chunk,
					 const unsigned long *pages,
					 unsigned int *index);
bool hmmrt_vram_is_trimming(const struct hmmrt_device *dev);
void hmmrt_vram_wait_trimmed(struct hmmrt_device *dev);
bool hmmrt_vram_is_full(const struct hmmrt_device *dev);
int hmmrt_vram_init(struct hmmrt_device *dev, u64 size);
void hmmrt_vram_destroy(struct hmmrt_device *dev);
unsigned int hmmrt_vram_alloc(struct hmmrt_account *account, unsigned int index,
			      unsigned int npages, struct page **pages,
			      struct hmmrt_chunk *room, enum hmmrt_lack *lack);
void hmmrt_vram_folio_free(struct hmmrt_freed *freed);
void hmmrt_vram_free_unused(struct hmmrt_device *dev, struct page **pages,
			    unsigned int npages);

static inline unsigned int hmmrt_request_pages(const struct hmmrt_request *req)
{
	return (req->end - req->start) >> PAGE_SHIFT;
}

/* Of device memory. Regions begin where a chunk does, also by their pfns. */
static inline unsigned int hmmrt_page_index(const struct page *page)
{
	return page_to_pfn(page) % HMMRT_CHUNK_PAGES;
}

static inline bool hmmrt_pages_share_chunk(const struct page *one,
					   const struct page *two)
{
	return page_to_pfn(one) / HMMRT_CHUNK_PAGES ==
	       page_to_pfn(two) / HMMRT_CHUNK_PAGES;
}

unsigned int hmmrt_chunk_used(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk,
			      const unsigned long *pages, unsigned long *pfns);

/* device.c */
bool hmmrt_node_is_online(int node);
struct hmmrt_device *hmmrt_device_get(u32 id);
void hmmrt_device_put(struct hmmrt_device *dev);
unsigned int hmmrt_device_count(void);
void hmmrt_device_fill_info(struct hmmrt_device *dev,
			    struct hmmrt_device_info *info);

/* main.c */
extern const struct file_operations hmmrt_fops;

/* uapi_check.c */
void hmmrt_uapi_check(void);

#endif /* _HMMRT_H */
