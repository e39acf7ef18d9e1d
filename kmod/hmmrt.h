/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hmmrt: the memory manager, private to hmmrt.ko.
 *
 * Objects    space    one mirrored process address space, one per mm
 *            span     an aligned 64 MiB window of a space, with one
 *                     mmu_interval_notifier
 *            block    2 MiB of a span: which device maps which page, and two
 *                     locks
 *            binding  one device on one space
 *            device   a registered device and its memory (vram)
 *            region   a part of vram that has struct pages
 *            chunk    2 MiB of vram
 *            account  the device memory charged to a process or a cgroup
 * Ownership  A space owns spans, and a span owns blocks. They are freed with
 *            the space, or earlier when nothing is mapped there any more
 *            (reap.c). A device owns regions, and a region owns chunks. A
 *            binding holds a reference to its space and to its device. Open
 *            /dev/hmmrt files and bindings hold a space, which survives the
 *            exit of its mm.
 *            The page tables that map a device page own it; a block or a space
 *            never does. fork() and mremap() move pages without telling hmmrt,
 *            so block bitmaps describe mappings only, and zone_device_data
 *            points nowhere. Accounts belong to the device: an account outlives
 *            its process as long as a page is charged to it.
 *
 * Lock order, from the outermost lock to the innermost:
 *
 *   dev->age           mutex; only taken with trylock. Held while drivers are
 *                      asked which pages were accessed
 *   space->peering     mutex; which devices are peers, and removal of the
 *                      entries that a device has as a peer
 *   space->spans_lock  mutex; creation and removal of spans and blocks
 *   hmmrt_roles_lock   mutex; which mm is mirrored, which mm is an agent
 *   space->exclusive   mutex; around hmmrt_exclusive_range()
 *   mmap_lock          of the mirrored process; never together with an agent's
 *   block->migrate     mutex; around migrate_vma_setup() .. finalize().
 *                      Reclaim is allowed under it. Notifiers never take it.
 *                      It is not held where the core may fault pages in for
 *                      hmmrt; taking a snapshot is fine. exclusive.c is the
 *                      exception: it makes sure that no page is on a device
 *                      and that no fault waits for a program.
 *                      migrate_to_ram() only tries the lock, see turn.c. No
 *                      code sleeps on it inside hmmrt_srcu.
 *   vram->populate     mutex; the driver's populate() only
 *   [reclaim, folio locks, i_mmap_rwsem, anon_vma lock: the core's]
 *   space->advice_lock rw_semaphore; advice. A call holds it while it walks all
 *                      ranges that it concerns (up to advice_ranges_max), even
 *                      if the process gets little CPU time. The notifier takes
 *                      it for munmap() and mremap() only, and never together
 *                      with a block's lock, so reclaim does not wait for it,
 *                      in whichever process it runs. No memory is allocated
 *                      under it
 *   block->lock        mutex; bitmaps, and the driver's entries of this block.
 *                      Taken by the notifier. So its holder allocates nothing,
 *                      waits for no other thread, looks up no advice, does not
 *                      migrate and does not call hmm_range_fault().
 *   space->remap_lock  spinlock; blocks with entries to be mapped again
 *   space->pins.lock   spinlock; blocks with a thrash pin, see thrash.c
 *   space->reap.lock   spinlock; whether spans are still reaped
 *   evictors_lock      spinlock; which threads evict
 *   faults->lock       spinlock; pending faults of a binding, and the number of
 *                      fault workers. No function is called under it
 *   fault_ins_lock     spinlock; pages that are faulted in for drivers
 *   fault_in->lock     spinlock; a driver's done() is called under it and takes
 *                      the driver's own locks
 *   driver's page table lock
 *   page table locks   of the core
 *   vram->lock         spinlock, innermost: pages are freed under a page table
 *                      lock
 *
 * hmmrt_srcu protects lookups (mm to space, space to binding, space to span,
 * span to block) in notifiers, which can take no reference, and elsewhere until
 * a reference has been taken. It also protects device pages found by a
 * snapshot, from the snapshot to their last use. All processes share it, so
 * code in such a section waits neither for an mmap_lock nor for block->migrate.
 * For the same reason hmmrt_roles_lock is held for a short time only.
 *
 * hmmrt_unbind() waits for references to the binding. So a caller that holds a
 * reference waits neither for a program nor for the mmap_lock, because the
 * holder of the mmap_lock may wait for a program: see hmmrt_binding_pause().
 *
 * hmmrt_lockdep_teach() teaches lockdep the order around reclaim when the
 * module is loaded, so that lockdep reports the first call that breaks it.
 *
 * A user of a block holds a reference to it (hmmrt_block_find(), _get(),
 * _next()). The lists of blocks to remap and of thrash pins hold one reference
 * for each block on them. Notifiers hold none: they use blocks inside
 * hmmrt_srcu and under block->lock. Entries are written only with a reference.
 * So a block can be freed if nothing of it is mapped and only its span refers
 * to it: its last reference is dropped under space->spans_lock, after which
 * none can be taken, and it is freed after a grace period of hmmrt_srcu. A span
 * stays while it has blocks.
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
#include <linux/nodemask.h>
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
	struct list_head link;		/* on vram->free, partial or full */
	u64 offset;			/* in device memory */
	u64 given;	/* vram->given at the last allocation from it */
	u64 used_at;			/* vram->uses at its last use */
	unsigned int used_pages;
	bool populated;
	bool trimming;			/* on no list; no allocation takes it */
	bool reserved;			/* taken for eviction, see evict.c */
	DECLARE_BITMAP(used, HMMRT_CHUNK_PAGES);
	/*
	 * By page: the block that the page is a duplicate for, or NULL. The
	 * array is NULL until it is needed. See duplicate.c.
	 */
	struct hmmrt_block **copy_of;
	/*
	 * By page: failed copies to system memory while the device goes away.
	 * NULL: none counted yet.
	 */
	u8 *failures;
	/*
	 * One charge for each account with pages in the chunk, and the charge
	 * of each page; see account.c.
	 */
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

/* Cache of the last page-to-region lookup. Initialise with {}. */
struct hmmrt_place {
	unsigned long number;		/* pfn / HMMRT_CHUNK_PAGES */
	struct hmmrt_region *region;
};

struct hmmrt_vram {
	spinlock_t lock;		/* protects the lists and all chunks */
	struct list_head free;	/* no used pages; populated chunks first */
	struct list_head partial;
	struct list_head full;
	u64 uses;			/* counter that orders uses of chunks */
	u64 given;			/* number of page allocations */
	unsigned long used_pages;
	unsigned long populated_chunks;
	/* Chunks in use. All others are free, with or without struct pages. */
	unsigned int partial_chunks;
	unsigned int full_chunks;
	u64 split_chunks;
	u64 merged_chunks;
	atomic_long_t evictions;	/* chunks evicted to free memory */
	/* Chunks evicted early, by the watermark worker. */
	atomic_long_t evictions_ahead;
	/* Pages that could not be read while the device goes away. */
	unsigned long lost_pages;
	struct work_struct evict_ahead;
	bool trimming;	/* a chunk being trimmed is on no list */

	struct mutex populate;		/* putting memory behind chunks */
	/* Adding regions; taken with no other hmmrt lock held. */
	struct mutex grow;
	u64 size;
	const struct dev_pagemap_ops *pagemap_ops;	/* of all regions */
	unsigned int nr_regions;
	unsigned int max_regions;
	struct hmmrt_region **regions;
	struct delayed_work trim;	/* depopulates free chunks */

	/* Accounts, see account.c; all under the lock. */
	DECLARE_HASHTABLE(accounts, 8);	/* of processes, hashed by mm */
	/* Process accounts with charged pages. */
	struct list_head charged_accounts;
	unsigned int nr_charged;	/* length of charged_accounts */
	struct list_head hands;	/* clock hands of claims on charged_accounts */
	struct list_head group_accounts;	/* of cgroups */
	struct list_head gone_accounts;	/* unreferenced, to be freed */
};

struct hmmrt_device {
	u32 id;
	u64 serial;			/* never 0, unique among devices */
	char name[HMMRT_DEVICE_NAME_LEN];
	const struct hmmrt_device_ops *ops;
	void *drvdata;
	int numa_node;
	unsigned int flags;		/* HMMRT_DEVICE_* */
	bool going;	/* unregistered; lookups no longer find it */
	u64 memory_start;	/* physical, of coherent memory */
	refcount_t users;	/* registration, bindings, running ioctls */
	struct completion unused;
	struct list_head bindings;	/* hmmrt_roles_lock */
	struct mutex age;		/* see age.c */
	struct hmmrt_set_knobs knobs;
	struct hmmrt_vram vram;
	u64 migration_us;		/* running average of one migration */
};

/* --- address spaces ----------------------------------------------------- */

/*
 * A duplicate and its original. The original is held by a reference; the
 * duplicate is device memory with no reference.
 */
struct hmmrt_copy {
	struct list_head link;		/* on a list of duplicates to free */
	struct page *original;
	struct page *page;
};

/* The duplicates of one device in one block, by page. */
struct hmmrt_copies {
	struct hmmrt_copy *at[HMMRT_BLOCK_PAGES];
};

/* What one device has mapped of one block; protected by block->lock. */
struct hmmrt_block_map {
	DECLARE_BITMAP(mapped, HMMRT_BLOCK_PAGES);
	DECLARE_BITMAP(writable, HMMRT_BLOCK_PAGES);
	/* Mapped entries that point to the device's own memory. */
	DECLARE_BITMAP(local, HMMRT_BLOCK_PAGES);
	/* NULL until first used; see space_duplicate.c. */
	struct hmmrt_copies *copies;
	struct hmmrt_policy_refaults refaults;
	unsigned int faults;	/* approximate, since the map was last empty */
	/*
	 * Callers that removed entries but have not yet made the device
	 * invalidate what it has cached of them.
	 */
	unsigned int zapping;
	/*
	 * Ids of devices with memory that an entry here points to, or pointed
	 * to.
	 */
	unsigned long peers;
	bool remote;	/* an entry points, or pointed, to memory elsewhere */
	/* NULL until first used; see counter.c. */
	struct hmmrt_counts *counts;
};

struct hmmrt_block {
	unsigned long start;
	struct hmmrt_span *span;
	refcount_t refs;	/* one of the span, and one of each user */
	u64 serial;	/* unique among all blocks, past and future */
	/* Used by reap.c once the block is removed. */
	struct list_head reaped;

	struct mutex migrate;		/* around migrate_vma_*() */
	/*
	 * The holder of @migrate is a CPU fault. Written by the holder, read by
	 * others.
	 */
	bool migrate_by_cpu_fault;
	/* Sequential CPU faults, for policy; under @migrate. */
	struct hmmrt_policy_run cpu_run;
	struct list_head remap;		/* on space->remap_blocks, or empty */
	struct list_head pinned;	/* on space->pins.blocks, or empty */
	struct hmmrt_history *history;	/* set once, or NULL; see history.c */

	/* Protects the fields below and the driver's entries. */
	struct mutex lock;
	const void *exclusive;		/* owner of exclusive.c's own events */
	unsigned long invalidations;	/* see hmmrt_block_read_begin() */
	/* Invalidations not caused by the owner in @exclusive. */
	unsigned long revoked;
	struct hmmrt_policy_thrashing thrashing;	/* see thrash.c */
	u32 pinned_by;			/* device id that has the thrash pin */
	/* Indexed by device id. Set once, before the device maps anything. */
	struct hmmrt_block_map *maps[HMMRT_MAX_DEVICES];
};

struct hmmrt_span {
	struct mmu_interval_notifier notifier;
	struct hmmrt_space *space;
	unsigned long start;
	/* Used by reap.c once the span is removed. */
	struct list_head reaped;
	bool borrowed;	/* holds one borrowed block; in no xarray */
	struct hmmrt_block *blocks[HMMRT_SPAN_BLOCKS];
};

/*
 * Ranges of advice, see advice.c. Under space->advice_lock, except for @used.
 */
struct hmmrt_advice_tree {
	struct rb_root_cached root;
	unsigned int ranges;		/* at most advice_ranges_max */
	bool used;			/* the tree had a range at some time */
};

/* Blocks with a thrash pin, see thrash.c. */
struct hmmrt_pins {
	spinlock_t lock;	/* protects this struct and block->pinned */
	struct list_head blocks;
	unsigned long when;	/* time in jiffies at which @release runs */
	struct delayed_work release;
};

/* Blocks of addresses at which nothing is mapped any more; see reap.c. */
struct hmmrt_reap {
	spinlock_t lock;		/* protects @ended */
	bool ended;			/* @work is no longer queued */
	struct delayed_work work;
};

/*
 * Mark in space->spans: something in the span was unmapped since the last reap.
 */
#define HMMRT_SPAN_UNMAPPED	XA_MARK_1

struct hmmrt_space {
	refcount_t refs;
	struct mm_struct *mm;		/* held by mmgrab() */
	/* Credentials of the thread that created the space. */
	const struct cred *cred;
	struct hlist_node hash;		/* hmmrt_roles_lock and hmmrt_srcu */
	struct mmu_notifier release_notifier;
	/* Creation and removal of spans and blocks. */
	struct mutex spans_lock;
	struct mutex exclusive;		/* serialises hmmrt_exclusive_range() */
	struct mutex peering;	/* serialises changes of @peers, see peer.c */
	/* By device id: a bit for each device with memory that it may map. */
	unsigned long peers[HMMRT_MAX_DEVICES];
	const void *exclusive_task;	/* task in exclusive.c; only compared */
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
	spinlock_t remap_lock;	/* protects the next four, and block->remap */
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

/* Pending faults of a binding, which no fault worker has taken; see queue.c. */
struct hmmrt_fault_buffer {
	spinlock_t lock;	/* protects the fields below, except @drained */
	/* hmmrt_queued_fault.link, oldest first. */
	struct list_head pending;
	unsigned int nr_pending;
	/* Fault workers; not 0 while a fault is pending. */
	unsigned int servicers;
	unsigned long drains;		/* how often @servicers became 0 */
	wait_queue_head_t drained;
};

/* Access counting of a binding; see counter.c. */
struct hmmrt_counting {
	struct delayed_work work;
	unsigned long hand;		/* clock hand; used by the work only */
	bool seen;	/* found something to count in this round */
};

struct hmmrt_binding {
	struct hmmrt_space *space;
	struct hmmrt_device *dev;
	void *drvdata;
	u64 serial;			/* unique among all bindings */
	struct mm_struct *agent;	/* held by mmgrab(); hmmrt_roles_lock */
	struct list_head agent_link;
	struct list_head device_link;	/* hmmrt_roles_lock */
	unsigned long hand;	/* clock hand, under dev->age; see age.c */
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
	struct hmmrt_counting counting;
	atomic64_t quota_refusals;
	atomic64_t memory_refusals;	/* refused for any reason but a quota */
	/*
	 * Pages, including duplicates, that were evicted for other allocations:
	 * tells policy that the device is too small.
	 */
	atomic64_t given_up;
};

/* How a device that ran out of memory gets free memory for the next attempt. */
enum hmmrt_room_by {
	HMMRT_ROOM_TRIMMED,	/* wait for an unused chunk being trimmed */
	HMMRT_ROOM_GROWN,	/* make struct pages for more of its memory */
	HMMRT_ROOM_EVICTED,
	HMMRT_ROOM_QUOTA,	/* evict pages charged to the same limit */
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
 * A thread that unmaps the pages that it evicts, see evict.c. Only that thread
 * uses the struct, because notifiers run in it; the list is shared.
 */
struct hmmrt_evictor {
	struct list_head link;		/* protected by evictors_lock */
	const struct task_struct *task;
	struct hmmrt_device *dev;
	bool room;	/* another allocation waits for the memory */
	unsigned int nr_taken;
	struct hmmrt_taken taken[HMMRT_EVICTOR_BLOCKS];
};

/*
 * One attempt to serve part of a block to a device: a fault, or a prefetch
 * (access == 0). It is large, so it is allocated and not on the stack.
 */
struct hmmrt_request {
	struct hmmrt_binding *binding;
	struct hmmrt_block *block;
	struct vm_area_struct *vma;	/* valid while the mmap_lock is held */
	unsigned long start;		/* window, within block and vma */
	unsigned long end;
	unsigned long addr;	/* page that must be mapped, if access */
	unsigned int access;
	bool whole;			/* map all of the window, if access */
	bool device_only;		/* map only pages on the device */
	bool no_peers;			/* leave pages of other devices there */
	bool all_devices;		/* move pages back from all devices */
	bool no_grow;			/* device memory cannot grow */
	bool no_trim;			/* has already waited for trimming */
	bool no_evict;	/* an eviction has failed: do not evict again */
	bool none_left;	/* no page can be evicted, now or later */
	bool thrashes;			/* already counted as thrashing */
	bool was_missing;	/* the touched page was missing, now present */
	bool refused;			/* already counted as refused */
	enum hmmrt_lack lack;	/* of the last hmmrt_request_alloc_pages() */
	/* Pages that need memory, in the window. */
	DECLARE_BITMAP(wanted, HMMRT_BLOCK_PAGES);
	enum hmmrt_room_by room_by;	/* next step, with -ENOSPC */
	unsigned int regions_seen;	/* number of regions, with -ENOSPC */
	u64 evict_before;	/* evict only chunks with a smaller @given */
	unsigned int evictions;		/* evictions made for this request */
	struct hmmrt_chunk *room;	/* evicted for this request, reserved */
	bool nowait;	/* never wait for a program or mmap_lock: -ENOLCK */
	bool narrow;			/* a neighbour failed: take one page */
	bool exec;	/* the vma permits it; valid without the vma */
	bool write;
	bool ahead;	/* mapped ahead, not touched; see ahead.c */
	bool copy;			/* duplicate pages in system memory */
	struct hmmrt_advice advice;	/* holds for the whole window */
	struct hmmrt_knobs knobs;	/* of a fault, with @advice applied */
	int node;	/* target node in system memory, or NUMA_NO_NODE */
	enum hmmrt_cause cause;		/* recorded for pages that move */
	unsigned long seq;	/* of @pfns, by hmmrt_block_read_begin() */
	/*
	 * Pages of the block that the faults of one batch want, including
	 * @addr.
	 */
	DECLARE_BITMAP(faulted, HMMRT_BLOCK_PAGES);
	enum hmmrt_policy_rule rule;	/* rule that decided about a fault */

	u64 moved;
	u64 copied;
	u64 there;

	union {
		/* Result of a snapshot. */
		unsigned long pfns[HMMRT_BLOCK_PAGES];
		/* Originals of duplicates, after it. */
		struct page *from[HMMRT_BLOCK_PAGES];
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

/* A range that is served for a driver, window by window; see range.c. */
struct hmmrt_range_walk {
	struct hmmrt_binding *binding;
	/* One attempt at the window; as hmmrt_serve_window(). */
	int (*part)(struct hmmrt_request *req);
	unsigned int access;		/* that the mappings must permit */
	unsigned int flags;		/* HMMRT_MIGRATE_* */
	enum hmmrt_cause cause;		/* of what moves */
	bool map;
	bool nowait;			/* return -ENOLCK, do not wait */
	u64 evict_before;		/* spares pages that this call moved */
	bool full;			/* nothing is left to be evicted */
	struct hmmrt_migration result;
};

/* space.c */
struct hmmrt_space *hmmrt_space_find(struct mm_struct *mm);
struct hmmrt_binding *hmmrt_space_binding(struct hmmrt_space *space,
					  u32 device_id);
struct hmmrt_binding *hmmrt_space_binding_get(struct hmmrt_space *space,
					      u32 device_id);
void hmmrt_binding_put(struct hmmrt_binding *binding);
/* A binding that a call has released for a while, to find it again. */
struct hmmrt_binding_pause {
	u32 device_id;
	u64 serial;
};
void hmmrt_space_publish(struct hmmrt_space *space);
void hmmrt_space_withdraw(struct hmmrt_space *space);

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
void hmmrt_lockdep_teach(void);

/* reap.c */
void hmmrt_reap_init(struct hmmrt_space *space);
void hmmrt_reap_stop(struct hmmrt_space *space);
void hmmrt_reap_unmapped(struct hmmrt_span *span);

/* request.c */
struct hmmrt_request *hmmrt_request_alloc(struct hmmrt_binding *binding,
					  struct hmmrt_block *block);
void hmmrt_request_free(struct hmmrt_request *req);
int hmmrt_request_lock_mm(struct hmmrt_request *req, struct mm_struct *mm);
int hmmrt_request_lookup(struct mm_struct *mm, struct hmmrt_request *req,
			 unsigned long start, unsigned long end);
bool hmmrt_huge_fails(struct hmmrt_space *space);

/* serve.c */
/* How long a fault is retried before -EAGAIN goes to the device. */
#define HMMRT_SERVE_TIMEOUT	HZ
/*
 * Attempts that a fault always gets, however long they take. An attempt that
 * faulted pages in or evicted others must be followed by one that maps them,
 * even on a machine on which that alone takes longer than the timeout.
 */
#define HMMRT_SERVE_ATTEMPTS	8U
int hmmrt_serve_window(struct hmmrt_request *req, bool migrate);
bool hmmrt_is_mapped(const struct hmmrt_binding *binding,
		     struct hmmrt_block *block, unsigned long addr,
		     unsigned int access);
int hmmrt_fault_once(struct mm_struct *mm, struct hmmrt_request *req);

/* queue.c */
void hmmrt_queue_init(struct hmmrt_binding *binding);
void hmmrt_queue_check_empty(struct hmmrt_binding *binding);

/* migrate.c */
int hmmrt_migrate_to_device(struct hmmrt_request *req);

/* home.c */
int hmmrt_migrate_to_host(struct hmmrt_request *req);
int hmmrt_window_to_host(struct hmmrt_request *req);
vm_fault_t hmmrt_migrate_to_ram(struct vm_fault *vmf);

/* outcome.c */
/* The outcome is not known yet. */
#define HMMRT_OUTCOME_OPEN	0xffu

void hmmrt_outcome_set(struct hmmrt_request *req, unsigned long addr,
		       unsigned int n, u8 outcome);
u8 *hmmrt_outcomes(struct hmmrt_request *req);
void hmmrt_outcomes_reopen(struct hmmrt_request *req);
int hmmrt_outcomes_explain(struct hmmrt_request *req);

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
u64 hmmrt_now_us(void);
void hmmrt_block_note_given_up(struct hmmrt_block *block, u32 device_id,
			       unsigned int pages);

/* All access rights that a device can ask for. */
#define HMMRT_ACCESS_ALL \
	(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE | HMMRT_ACCESS_EXEC)

/* range.c */
int hmmrt_range_walk(struct hmmrt_range_walk *walk, unsigned long start,
		     unsigned long end);

/* peer.c */
bool hmmrt_peer_enabled(const struct hmmrt_binding *binding,
			const struct hmmrt_device *peer);
int hmmrt_peer(struct hmmrt_space *space, struct hmmrt_peer *arg);
void hmmrt_peers_forget(struct hmmrt_binding *binding);

/* exclusive.c */
int hmmrt_exclusive(struct hmmrt_space *space, struct hmmrt_exclusive *arg);

/* age.c */
void hmmrt_age(struct hmmrt_device *dev);
void hmmrt_age_ask(struct hmmrt_binding *binding, struct hmmrt_block *block,
		   hmmrt_pte_t *ptes);

/* thrash.c */
void hmmrt_thrashing_moved_in(struct hmmrt_request *req, u64 began);
void hmmrt_thrashing_came_home(struct hmmrt_block *block,
			       struct hmmrt_device *dev, unsigned long start,
			       unsigned long end, u64 began);
void hmmrt_thrashing_reset(struct hmmrt_block *block);
bool hmmrt_request_thrashes(struct hmmrt_request *req);
bool hmmrt_request_pinned(const struct hmmrt_request *req);
int hmmrt_throttle(struct hmmrt_binding *binding, unsigned long addr);
void hmmrt_pins_init(struct hmmrt_pins *pins);
void hmmrt_pins_stop(struct hmmrt_pins *pins);

/* counter.c */
void hmmrt_counting_init(struct hmmrt_binding *binding);
void hmmrt_counting_stop(struct hmmrt_binding *binding);

/* What a change does with the advice of a range. */
struct hmmrt_advice_change {
	void (*apply)(struct hmmrt_advice *advice,
		      const struct hmmrt_advice_change *change);
	u32 kind;	/* enum hmmrt_advice_kind, or the slot of a knob */
	u32 location;
	u64 value;
};

/* advice.c */
int hmmrt_advice_change(struct hmmrt_space *space, unsigned long start,
			unsigned long end,
			const struct hmmrt_advice_change *what);
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
int hmmrt_advice_prefetched(struct hmmrt_space *space, unsigned long start,
			    unsigned long end, u32 location);
void hmmrt_advice_drop(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);
void hmmrt_advice_forget_device(struct hmmrt_space *space, u32 id);
bool hmmrt_location_is_host(u32 location);

/* ahead.c */
void hmmrt_map_ahead_init(struct hmmrt_space *space);
void hmmrt_map_ahead(struct hmmrt_space *space, unsigned long start,
		     unsigned long end, u32 id);

/* duplicate.c */
int hmmrt_duplicate(struct hmmrt_request *req);
int hmmrt_share_pages(struct migrate_vma *args, struct page **from);
bool hmmrt_copies_let_split(const struct hmmrt_request *req,
			    unsigned int first, unsigned int count);

/* selftest.c */
void hmmrt_selftest(void);

/* tuning.c */
int hmmrt_knob(struct hmmrt_space *space, struct hmmrt_knob *arg);

/* turn.c */
struct hmmrt_turn;

/*
 * What a CPU fault waits for after it has left hmmrt_srcu. Initialise with {}.
 */
struct hmmrt_turn_wait {
	struct hmmrt_turn *turn;	/* NULL: nothing to wait for */
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
void hmmrt_evict_ahead_init(struct hmmrt_device *dev);
void hmmrt_evict_ahead_stop(struct hmmrt_device *dev);
void hmmrt_evict_ahead(struct hmmrt_device *dev);
int hmmrt_evict_excess(struct hmmrt_account *account, const bool *going);
struct hmmrt_eviction;
bool hmmrt_may_oversubscribe(const struct hmmrt_device *dev);
struct hmmrt_eviction *hmmrt_eviction_alloc(void);
struct hmmrt_chunk *hmmrt_evict_one(struct hmmrt_device *dev,
				    const struct hmmrt_claim *claim,
				    struct hmmrt_eviction *evict);
void hmmrt_evict_all(struct hmmrt_device *dev);

/* lost.c */
void hmmrt_lost_begin(void);
void hmmrt_lost_end(void);
int hmmrt_lost_prepare(void);
struct page *hmmrt_lost_page(bool huge);
void hmmrt_lost_exit(void);

/* quota.c */
int hmmrt_quota(struct hmmrt_space *space, struct hmmrt_quota *arg);

/*
 * Return whether a pending signal must end a call. Task work that is no signal,
 * as io_uring queues it, does not count: it waits until the call returns.
 */
static inline bool hmmrt_interrupted(void)
{
	return task_sigpending(current);
}

/* memory.c: ioctls on memory of a space */
int hmmrt_prefetch(struct hmmrt_space *space, struct hmmrt_prefetch *arg);

/* pages.c: ioctls that only read state */
int hmmrt_residency(struct hmmrt_space *space, struct hmmrt_residency *arg);
int hmmrt_pages(struct hmmrt_space *space, struct hmmrt_pages *arg);

/* region.c */
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
bool hmmrt_vram_is_trimming(const struct hmmrt_device *dev);
void hmmrt_vram_wait_trimmed(struct hmmrt_device *dev);
bool hmmrt_vram_is_full(const struct hmmrt_device *dev);
int hmmrt_vram_init(struct hmmrt_device *dev, u64 size,
		    const struct dev_pagemap_ops *pagemap_ops);
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

/* The address of a page of the window, by its index. */
static inline unsigned long hmmrt_request_addr(const struct hmmrt_request *req,
					       unsigned int i)
{
	return req->start + ((unsigned long)i << PAGE_SHIFT);
}

/* The index in the window of the page that must be mapped. */
static inline unsigned int hmmrt_request_index(const struct hmmrt_request *req)
{
	return (req->addr - req->start) >> PAGE_SHIFT;
}

/*
 * Index of a device page in its chunk. The first pfn of a region is aligned to
 * chunks.
 */
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

static inline bool hmmrt_node_is_online(int node)
{
	return node >= 0 && node < MAX_NUMNODES && node_online(node);
}

unsigned int hmmrt_chunk_used(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk,
			      const unsigned long *pages, unsigned long *pfns);

/* device.c */
struct hmmrt_device *hmmrt_device_get(u32 id);
void hmmrt_device_put(struct hmmrt_device *dev);
unsigned int hmmrt_device_count(void);
void hmmrt_device_fill_info(struct hmmrt_device *dev,
			    struct hmmrt_device_info *info);

/* main.c */
extern const struct file_operations hmmrt_fops;

/* uapi_check.c */
void hmmrt_uapi_check(void);

/* space_vma.c: mappings and ranges */
int hmmrt_range_check(unsigned long start, unsigned long end);
int hmmrt_user_range_check(u64 addr, u64 len);
unsigned long hmmrt_block_end(unsigned long addr, unsigned long end);
unsigned long hmmrt_covered_end(struct mm_struct *mm, unsigned long start,
				unsigned long end);
int hmmrt_vma_check(struct vm_area_struct *vma, unsigned int access);
int hmmrt_mapped_check(struct mm_struct *mm, unsigned long addr,
		       unsigned int access, bool nowait);
bool hmmrt_vma_may_migrate(struct vm_area_struct *vma);
bool hmmrt_vma_may_have_migratable(struct vm_area_struct *vma);
int hmmrt_vma_stays(struct vm_area_struct *vma);
int hmmrt_mmap_read_lock(struct mm_struct *mm, bool nowait);
bool hmmrt_mmap_read_lock_until(struct mm_struct *mm, unsigned long end);

/* move_snapshot.c */
int hmmrt_look(struct hmmrt_block *block, struct hmm_range *range,
	       unsigned long *seq);
int hmmrt_snapshot(struct hmmrt_request *req);
bool hmmrt_request_is_huge(const struct hmmrt_request *req);
int hmmrt_snapshot_widened(struct hmmrt_request *req);
bool hmmrt_mark_cow(struct hmmrt_request *req);

/* mem_page.c */
void *hmmrt_pgmap_owner(void);
struct hmmrt_region *hmmrt_page_region(const struct page *page);
struct hmmrt_device *hmmrt_page_device(const struct page *page);
struct hmmrt_device *hmmrt_place_device(struct hmmrt_place *place,
					const struct page *page);
bool hmmrt_page_is_private(const struct page *page);
bool hmmrt_page_is_coherent(const struct page *page);
struct dev_pagemap *hmmrt_page_pgmap(const struct page *page);
bool hmmrt_device_is_coherent(const struct hmmrt_device *dev);
unsigned long hmmrt_select_device(const struct hmmrt_device *dev);
u64 hmmrt_page_offset(const struct page *page);
u64 hmmrt_place_offset(const struct hmmrt_place *place,
		       const struct page *page);
struct hmmrt_chunk *hmmrt_region_chunk(struct hmmrt_region *region,
				       const struct page *page);
struct hmmrt_chunk *hmmrt_page_chunk(const struct page *page);
unsigned long hmmrt_chunk_pfn(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk);
void hmmrt_region_forget(const struct hmmrt_region *region, unsigned int n);
int hmmrt_region_remember(struct hmmrt_region *region);

/* move_alloc.c */
bool hmmrt_may_evict(const struct hmmrt_request *req);
bool hmmrt_may_evict_later(const struct hmmrt_request *req);
int hmmrt_request_alloc_pages(struct hmmrt_request *req, unsigned int first,
			      unsigned int end, struct page **pages,
			      struct page *near);
enum hmmrt_stay hmmrt_request_lacks(const struct hmmrt_request *req);
void hmmrt_request_release_room(struct hmmrt_request *req);
int hmmrt_request_again(struct hmmrt_request *req, int rc);

/* space_duplicate.c */
bool hmmrt_copies_work(void);
struct page *hmmrt_copy_page(const struct hmmrt_block_map *map,
			     unsigned int index);
unsigned int hmmrt_copies_of(const struct hmmrt_block *block,
			     unsigned int index);
void hmmrt_copies_take(struct hmmrt_block_map *map, unsigned int first,
		       unsigned int count, struct list_head *taken);
void hmmrt_copies_free(struct list_head *taken);
void hmmrt_copies_destroy(struct hmmrt_block_map *map);
void hmmrt_copies_allow(bool works);
bool hmmrt_has_copy(const struct hmmrt_block *block, u32 id,
		    unsigned int index);

/* space_counts.c */
/* How often the work of counter.c asks a driver which entries were used. */
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
void hmmrt_map_ahead_all_again(struct hmmrt_space *space);
void hmmrt_map_ahead_stop(struct hmmrt_space *space);
void hmmrt_remap_init(struct hmmrt_space *space, work_func_t work);
void hmmrt_remap_soon(struct hmmrt_block *block);
void hmmrt_remap_later(struct hmmrt_block *block);
void hmmrt_remap_begin(struct hmmrt_space *space, struct list_head *todo);
struct hmmrt_block *hmmrt_remap_take(struct hmmrt_space *space,
				     struct list_head *todo);
void hmmrt_remap_set_delay(struct hmmrt_space *space, bool failed);

/* space_knobs.c */
struct hmmrt_knobs hmmrt_knobs_at(const struct hmmrt_space *space,
				  const struct hmmrt_device *dev,
				  const struct hmmrt_advice *advice);
u32 hmmrt_device_knob(const struct hmmrt_device *dev, enum hmmrt_knob_id knob);
u32 hmmrt_binding_knob(const struct hmmrt_binding *binding,
		       enum hmmrt_knob_id knob);

/* api_advice.c */
int hmmrt_advise(struct hmmrt_space *space, struct hmmrt_advise *arg);
int hmmrt_advice_set_knob(struct hmmrt_space *space, unsigned long start,
			  unsigned long end, u32 slot, u32 set);
int hmmrt_range_attributes(struct hmmrt_space *space,
			   struct hmmrt_range_attributes *arg);
int hmmrt_advice_check(struct hmmrt_space *space, unsigned long start,
		       unsigned long end);

/* api_bind.c */
struct hmmrt_space *hmmrt_space_get(struct mm_struct *mm);

/* move_unbind.c */
void hmmrt_spans_forget_binding(struct hmmrt_binding *binding);

/* decide_fault.c */
void hmmrt_request_advise(struct hmmrt_request *req, unsigned long addr);
enum hmmrt_policy_want hmmrt_request_prefetched(struct hmmrt_request *req);
bool hmmrt_fault_may_migrate(struct hmmrt_request *req);
void hmmrt_fault_window(struct hmmrt_request *req);

#endif /* _HMMRT_H */
