/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Device memory: chunks, regions, and the accounts that are charged for it.
 */
#ifndef _HMMRT_MEM_H
#define _HMMRT_MEM_H

#include <linux/completion.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "hmmrt.h"
#include "policy.h"

struct cgroup;
struct dentry;
struct hmmrt_block;
struct hmmrt_charge;
struct hmmrt_eviction;

/*
 * 2 MiB of device memory. @used_pages is the number of bits in @used, and the
 * sum of the charges. A page that is not used has no charge and holds no
 * duplicate. A chunk that is trimmed has no used pages and is not reserved. A
 * chunk that is trimmed or reserved is on no list. A chunk of an extent is used
 * completely, and charged to one account.
 */
struct hmmrt_chunk {
	struct list_head link;		/* on vram->free, partial or full */
	u64 offset;			/* in device memory */
	u64 given;	/* vram->given at the last allocation from it */
	u64 used_at;			/* vram->uses at its last use */
	u64 when;			/* time of that, in microseconds */
	unsigned int used_pages;
	bool populated;
	bool abandoned;	/* of an orphan: has memory that the driver gets back */
	bool trimming;			/* on no list; no allocation takes it */
	/* Taken for eviction, see move_evict.c. */
	bool reserved;
	bool pinned;	/* of a pinned memory object: never evicted */
	struct hmmrt_extent *extent;	/* that is in this chunk, or NULL */
	/*
	 * The block whose pages the chunk was allocated for, each at its index
	 * in the block; 0: several blocks, or other indices. Only a hint where
	 * to look for them: mremap() moves them.
	 */
	unsigned long home;
	DECLARE_BITMAP(used, HMMRT_CHUNK_PAGES);
	/*
	 * By page: the block that the page is a duplicate for, or NULL. The
	 * array is NULL until it is needed. See move_duplicate.c.
	 */
	struct hmmrt_block **duplicate_of;
	/*
	 * By page: failed copies to system memory while the device goes away.
	 * NULL: none counted yet.
	 */
	u8 *failures;
	/*
	 * One charge for each account with pages in the chunk, and the charge
	 * of each page; see mem_account.c.
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
struct hmmrt_region_cache {
	unsigned long number;		/* pfn / HMMRT_CHUNK_PAGES */
	struct hmmrt_region *region;
};

/*
 * The memory of a device. @used_pages is the sum over all chunks, so it lies
 * between what @partial_chunks and @full_chunks can have at least and at most.
 * It is also the sum over @charged_accounts, which are @nr_charged accounts.
 * When the device goes, all chunks are free, and no memory backs them.
 */
struct hmmrt_vram {
	spinlock_t lock;		/* protects the lists and all chunks */
	struct list_head free;	/* no used pages; populated chunks first */
	struct list_head partial;
	struct list_head full;
	u64 uses;			/* counter that orders uses of chunks */
	u64 given;			/* number of page allocations */
	unsigned long used_pages;
	u32 shortages;			/* see hmmrt_account_room() */
	unsigned long pinned_pages;	/* those of pinned chunks */
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
	bool closed;	/* gives out no memory; under the lock */
	struct work_struct evict_ahead;
	struct mutex evicting;		/* all memory; protects @eviction */
	struct hmmrt_eviction *eviction;	/* see move_evict.h */
	bool trimming;	/* a chunk being trimmed is on no list */

	struct mutex populate;		/* backing chunks with memory */
	/* Adding regions; taken with no other hmmrt lock held. */
	struct mutex grow;
	u64 size;
	const struct dev_pagemap_ops *pagemap_ops;	/* of all regions */
	unsigned int nr_regions;
	unsigned int max_regions;
	struct hmmrt_region **regions;
	struct delayed_work trim;	/* depopulates free chunks */

	/* Accounts, see mem_account.c; all under the lock. */
	DECLARE_HASHTABLE(accounts, 8);	/* of processes, hashed by mm */
	/* Process accounts with charged pages. */
	struct list_head charged_accounts;
	unsigned int nr_charged;	/* length of charged_accounts */
	DECLARE_HASHTABLE(users, 8);	/* with accounts, hashed by uid */
	struct list_head clock_hands;	/* of claims on charged_accounts */
	struct list_head cgroup_accounts;
	struct list_head gone_accounts;	/* unreferenced, to be freed */
};

/* With less left, memory is short: less is not worth moving a block in parts. */
#define HMMRT_LITTLE_PAGES	(HMMRT_CHUNK_PAGES / 4)

/* Return whether memory runs short as @pages are taken, which leaves @left. */
static inline bool hmmrt_runs_short(u64 left, unsigned int pages)
{
	return left < HMMRT_LITTLE_PAGES && left + pages >= HMMRT_LITTLE_PAGES;
}

/* Return how many pages are not in use. */
static inline u64 hmmrt_vram_left(const struct hmmrt_vram *vram)
{
	return (vram->size >> PAGE_SHIFT) - vram->used_pages;
}

/* What a page did, for the counts in debugfs. */
enum hmmrt_move {
	HMMRT_MOVE_IN,		/* to the device, from anywhere */
	HMMRT_MOVE_OUT,		/* to system memory, except by evictions */
	HMMRT_MOVE_EVICTED,
	HMMRT_MOVES,
};

#define HMMRT_MOVE_SIZES	(HMMRT_CHUNK_SHIFT - PAGE_SHIFT + 1)

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
	/* Of an orphan, see api_device.c; @orphan is under devices_lock. */
	bool orphan;
	struct delayed_work retry;
	/* Around copies, which use @ops; not for two devices of one copy. */
	struct srcu_struct copies;
	refcount_t users;	/* registration, bindings, running ioctls */
	struct completion unused;
	struct list_head bindings;	/* hmmrt_roles_lock */
	struct mutex age;		/* see decide_age.c */
	struct hmmrt_set_knobs knobs;
	struct hmmrt_vram vram;
	u64 migration_us;		/* running average of one migration */
	/* By move, and by log2 of the number of pages that moved as one. */
	atomic64_t moves[HMMRT_MOVES][HMMRT_MOVE_SIZES];
	struct dentry *debugfs;
};

/*
 * A driver's copies. They take as long as its device does. Context: the pages of
 * the devices are held, by references or otherwise.
 */
static inline int hmmrt_copy_to_device(struct hmmrt_device *dev, u64 offset,
				       struct page **src, unsigned int npages)
{
	hmmrt_may_wait();
	/* The device gets pages, so it is not going away. */
	return dev->ops->copy_to_device(dev, offset, src, npages);
}

static inline int hmmrt_copy_to_host(struct hmmrt_device *dev,
				     struct page **dst, u64 offset,
				     unsigned int npages)
{
	int idx, rc;

	hmmrt_may_wait();
	idx = srcu_read_lock(&dev->copies);
	rc = READ_ONCE(dev->ops)->copy_to_host(dev, dst, offset, npages);
	srcu_read_unlock(&dev->copies, idx);
	return rc;
}

static inline int hmmrt_copy_from_peer(struct hmmrt_device *dev, u64 offset,
				       struct hmmrt_device *peer,
				       u64 peer_offset, unsigned int npages)
{
	int idx, rc = -EOPNOTSUPP;

	hmmrt_may_wait();
	idx = srcu_read_lock(&peer->copies);
	/* The peer may be an orphan by now. */
	if (READ_ONCE(peer->ops) == dev->ops && dev->ops->copy_from_peer)
		rc = dev->ops->copy_from_peer(dev, offset, peer, peer_offset,
					      npages);
	srcu_read_unlock(&peer->copies, idx);
	return rc;
}

/* Count @npages that moved as one: a page, or a large one. */
static inline void hmmrt_device_count_move(struct hmmrt_device *dev,
					   enum hmmrt_move move,
					   unsigned int npages)
{
	atomic64_inc(&dev->moves[move][ilog2(npages)]);
}

/* --- accounts ------------------------------------------------------------- */

/* The limit of device memory, and the priority with which it is kept. */
struct hmmrt_quota_set {
	u64 limit;			/* in pages; U64_MAX: no limit */
	u32 priority;
};

/*
 * The quota, and the highest values that the process may set; under vram->lock.
 */
struct hmmrt_quota_own {
	u64 serial;	/* of the device; 0: never had an account */
	struct hmmrt_quota_set set;
	struct hmmrt_quota_set most;
};

/* A user with accounts on a device, see mem_user.c; under vram->lock. */
struct hmmrt_user {
	struct hlist_node by_uid;	/* in vram->users */
	kuid_t uid;
	unsigned int accounts;		/* of processes, in vram->accounts */
	unsigned int nr_charged;	/* length of charged */
	struct list_head charged;	/* those of them with charged pages */
};

/*
 * The pages of a device charged to a process, or to all processes of a cgroup.
 * A parent has at least as many as each of its children. Charging a page never
 * exceeds a limit, but a limit may be set below what is charged. An account
 * that is freed has no pages, no charges and no members.
 * Protected by vram->lock, except for fields that never change; see
 * mem_account.c.
 */
struct hmmrt_account {
	struct hlist_node by_mm;	/* process: in vram->accounts */
	/* On the charged_, cgroup_ or gone_accounts list. */
	struct list_head link;
	struct list_head charges;	/* least recently used first */
	struct hmmrt_device *dev;
	struct hmmrt_account *parent;	/* nearest cgroup with quota, or NULL */
	struct mm_struct *mm;		/* held by mmgrab(); NULL: a cgroup */
	struct hmmrt_user *user;	/* of the process; NULL: a cgroup */
	struct list_head user_link;	/* on user->charged, while charged */
	struct cgroup *cgroup;		/* referenced; NULL without cgroups */
	unsigned int holders;		/* bindings, quotas, running calls */
	unsigned int members;		/* cgroup: number of processes in it */
	unsigned int failures;		/* evictions that failed in a row */
	u64 busy_until;	/* in jiffies, after too many failures */
	struct hmmrt_quota_own own;
	struct hmmrt_policy_share share; /* charged pages, and the rank */
	u32 shortages;			/* see hmmrt_account_room() */
	u64 refused;
	u64 evicted;			/* in pages */
};

/* The pages of one chunk charged to one account; under vram->lock. */
struct hmmrt_charge {
	struct list_head chunk_link;	/* on chunk->charges */
	struct list_head account_link;	/* on account->charges */
	struct hmmrt_account *account;
	struct hmmrt_chunk *chunk;
	unsigned int npages;		/* never 0 */
	u64 busy_until;	/* in jiffies, after a failed eviction */
};

/* A request to evict: for which account, and from which accounts. */
struct hmmrt_claim {
	struct hmmrt_account *asker;	/* NULL: no account asks */
	/* NULL, or evict only pages charged to it. */
	struct hmmrt_account *within;
	u64 before;	/* evict only chunks given out before this */
	/*
	 * Of the asker's own memory, evict only chunks not used since then, in
	 * microseconds; 0: any chunk.
	 */
	u64 own_unused_since;
};

/* Evict none of the asker's own memory. */
#define HMMRT_CLAIM_SPARES_OWN	1ull

/* The next account of a claim that drops vram->lock; under vram->lock. */
struct hmmrt_claim_clock_hand {
	/* On vram->clock_hands while vram->lock is dropped. */
	struct list_head link;
	struct list_head *next;		/* an account->link, or the list head */
};

/* The cost of choosing a chunk. */
struct hmmrt_claim_cost {
	/* Most accounts and charges visited in one hold of vram->lock. */
	unsigned int most_visits;
	unsigned int pauses;		/* how often vram->lock was dropped */
};

/* Why hmmrt_vram_alloc() did not find all pages that it was asked for. */
enum hmmrt_shortfall {
	HMMRT_SHORTFALL_NONE,	/* it did, or the driver had no memory */
	HMMRT_SHORTFALL_MEMORY,
	HMMRT_SHORTFALL_QUOTA,	/* an account has reached its limit */
};

/* mem_account.c */
void hmmrt_accounts_init(struct hmmrt_vram *vram);
void hmmrt_accounts_destroy(struct hmmrt_device *dev);
void hmmrt_accounts_sweep(struct hmmrt_device *dev);
struct hmmrt_account *hmmrt_account_alloc(struct hmmrt_device *dev,
					  struct mm_struct *mm,
					  struct cgroup *cgroup);
void hmmrt_account_free(struct hmmrt_account *account);
bool hmmrt_account_retire(struct hmmrt_account *account);
struct hmmrt_account *hmmrt_account_get(struct hmmrt_device *dev,
					struct mm_struct *mm,
					struct hmmrt_quota_own *own);
void hmmrt_account_put(struct hmmrt_account *account);
u64 hmmrt_account_left(struct hmmrt_account *account);
u64 hmmrt_account_room(struct hmmrt_account *account, u32 *shortages);
u64 hmmrt_account_used(const struct hmmrt_account *account);
u64 hmmrt_account_size(struct hmmrt_account *account);
bool hmmrt_account_is_full(struct hmmrt_account *account);
void hmmrt_account_refused(struct hmmrt_account *account);
void hmmrt_account_evicted(struct hmmrt_account *account, unsigned int pages);
struct hmmrt_account *hmmrt_account_get_full(struct hmmrt_account *account,
					     unsigned int npages);
u64 hmmrt_account_excess(const struct hmmrt_account *account);
void hmmrt_charge_pages(struct hmmrt_account *account,
			struct hmmrt_chunk *chunk, unsigned int index,
			unsigned int npages, struct hmmrt_charge **spare);
bool hmmrt_uncharge(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
		    unsigned int index);
void hmmrt_charges_used(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk);

/* mem_claim.c */
u64 hmmrt_accounts_used_in(struct hmmrt_vram *vram, struct cgroup *cgroup);
struct hmmrt_chunk *hmmrt_claim_chunk(struct hmmrt_vram *vram,
				      const struct hmmrt_claim *claim,
				      unsigned long *pages,
				      struct hmmrt_claim_cost *cost);
int hmmrt_claim_try(struct hmmrt_vram *vram, const struct hmmrt_claim *claim);
int hmmrt_account_can_get(struct hmmrt_account *account, unsigned int pages,
			  u64 own_unused_since);
void hmmrt_claim_end(struct hmmrt_vram *vram, const struct hmmrt_chunk *chunk,
		     const unsigned long *pages, bool failed);

/* mem_account_cgroup.c */
#define HMMRT_NO_LIMIT	U64_MAX

extern const struct hmmrt_quota_own hmmrt_no_quota;
extern const struct hmmrt_quota_set hmmrt_no_cgroup_quota;
struct hmmrt_account *hmmrt_cgroup_account_find(struct hmmrt_vram *vram,
						const struct cgroup *cgroup);
struct hmmrt_account *hmmrt_cgroup_account_set(struct hmmrt_vram *vram,
					       struct hmmrt_account *created,
					       struct hmmrt_quota_set set);
struct hmmrt_account *hmmrt_cgroup_account_above(struct hmmrt_vram *vram,
						 struct cgroup *cgroup);
void hmmrt_cgroup_accounts_collect(struct hmmrt_vram *vram);

/* --- pages and chunks ----------------------------------------------------- */

/* mem_user.c; all under vram->lock but the first */
struct hmmrt_user *hmmrt_user_alloc(kuid_t uid);
void hmmrt_user_join(struct hmmrt_vram *vram, struct hmmrt_account *account);
void hmmrt_user_leave(struct hmmrt_account *account);
void hmmrt_user_charge(struct hmmrt_account *account);
void hmmrt_user_uncharge(struct hmmrt_account *account);
bool hmmrt_user_is_full(const struct hmmrt_account *account);
struct hmmrt_account *hmmrt_user_find_exited(const struct hmmrt_user *user);

/* mem_page.c */
void *hmmrt_pgmap_owner(void);
struct hmmrt_region *hmmrt_page_region(const struct page *page);
struct hmmrt_device *hmmrt_page_device(const struct page *page);
struct hmmrt_device *hmmrt_region_cache_device(struct hmmrt_region_cache *cache,
					       const struct page *page);
bool hmmrt_page_is_private(const struct page *page);
bool hmmrt_page_is_coherent(const struct page *page);
struct dev_pagemap *hmmrt_page_pgmap(const struct page *page);
bool hmmrt_device_is_coherent(const struct hmmrt_device *dev);
unsigned long hmmrt_select_device(const struct hmmrt_device *dev);
u64 hmmrt_page_offset(const struct page *page);
u64 hmmrt_region_cache_offset(const struct hmmrt_region_cache *cache,
			      const struct page *page);
struct hmmrt_chunk *hmmrt_region_chunk(struct hmmrt_region *region,
				       const struct page *page);
struct hmmrt_chunk *hmmrt_page_chunk(const struct page *page);
unsigned long hmmrt_chunk_pfn(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk);
void hmmrt_region_forget(const struct hmmrt_region *region, unsigned int n);
int hmmrt_region_remember(struct hmmrt_region *region);

/* mem_region.c */
int hmmrt_vram_grow(struct hmmrt_device *dev, unsigned int seen_regions);
void hmmrt_region_destroy(struct hmmrt_region *region);

/* mem_populate.c */
int hmmrt_chunk_populate(struct hmmrt_device *dev, struct hmmrt_chunk *chunk);
void hmmrt_vram_trim(struct hmmrt_device *dev, unsigned int keep);
void hmmrt_vram_trim_work(struct work_struct *work);
void hmmrt_vram_trim_later(struct hmmrt_vram *vram);
bool hmmrt_vram_is_trimming(const struct hmmrt_device *dev);
void hmmrt_vram_wait_trimmed(struct hmmrt_device *dev);
void hmmrt_vram_abandon(struct hmmrt_device *dev);

/* mem_vram.c */
struct hmmrt_chunk *hmmrt_vram_reserve(struct hmmrt_device *dev,
				       const struct hmmrt_claim *claim,
				       unsigned long *pages,
				       struct hmmrt_claim_cost *cost);
void hmmrt_vram_unreserve(struct hmmrt_device *dev, struct hmmrt_chunk *chunk);
void hmmrt_vram_used(struct hmmrt_device *dev, u64 offset);
int hmmrt_vram_prepare_duplicates(struct page **pages, unsigned int n);
void hmmrt_vram_note_duplicate(struct page *page, struct hmmrt_block *block);
void hmmrt_vram_close(struct hmmrt_device *dev, bool closed);
bool hmmrt_vram_is_full(const struct hmmrt_device *dev);
int hmmrt_vram_init(struct hmmrt_device *dev, u64 size,
		    const struct dev_pagemap_ops *pagemap_ops);
void hmmrt_vram_destroy(struct hmmrt_device *dev);
unsigned int hmmrt_vram_alloc(struct hmmrt_account *account,
			      unsigned long block, unsigned int index,
			      unsigned int npages, struct page **pages,
			      struct hmmrt_chunk *reserved,
			      enum hmmrt_shortfall *shortfall);
void hmmrt_vram_folio_free(struct hmmrt_freed *freed);
void hmmrt_vram_free_unused(struct hmmrt_device *dev, struct page **pages,
			    unsigned int npages);
struct mm_struct *hmmrt_chunk_home(struct hmmrt_device *dev,
				   const struct hmmrt_chunk *chunk,
				   unsigned long *pages, unsigned long *home);
unsigned int hmmrt_chunk_used(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk,
			      const unsigned long *pages, unsigned long *pfns);

struct hmmrt_chunk *hmmrt_vram_take_chunk(struct hmmrt_account *account,
					  struct hmmrt_extent *extent,
					  struct hmmrt_chunk *reserved,
					  enum hmmrt_shortfall *shortfall);
void hmmrt_vram_put_chunk(struct hmmrt_device *dev, struct hmmrt_chunk *chunk);
struct hmmrt_extent *hmmrt_chunk_extent_get(struct hmmrt_device *dev,
					    const struct hmmrt_chunk *chunk);

/* mem_lost.c */
void hmmrt_lost_begin(void);
void hmmrt_lost_end(void);
int hmmrt_lost_prepare(void);
struct page *hmmrt_lost_page(bool huge);

/* --- memory objects ------------------------------------------------------- */

/*
 * 2 MiB of a memory object: in a chunk (@dev and @chunk), in system memory
 * (@pages), or, if the object is migratable, nowhere yet; never in both. A page
 * of @pages that is NULL is lost: its device could not read it. An extent of a
 * migratable object is charged to the memory cgroup of the object from its
 * first memory on, wherever it is: while it has no @pages, it has @memcg_data.
 */
struct hmmrt_extent {
	struct mutex lock;		/* protects the fields below */
	struct hmmrt_device *dev;
	struct hmmrt_chunk *chunk;
	struct page **pages;		/* HMMRT_CHUNK_PAGES */
	/* HMMRT_CHUNK_PAGES, of hmmrt_page_take_memcg(). */
	unsigned long *memcg_data;
	bool lost;			/* some of @pages are NULL */
	u8 failures;			/* of reads, while the device goes */
	/* Written under the lock, read without: as in the UAPI. */
	u32 location;
	/* These never change: the object, and its index in @extents. */
	struct hmmrt_object *object;
	unsigned long index;
};

/*
 * All but @refs, @resident and the extents is set before others see the object.
 * An extent is made when it is first used, and stays until the object goes.
 */
struct hmmrt_object {
	refcount_t refs;		/* files, and evictors */
	u64 id;				/* unique among all objects */
	u32 location;			/* that was asked for */
	u32 flags;			/* HMMRT_OBJECT_* */
	int node;			/* of system memory, or NUMA_NO_NODE */
	bool hidden;	/* the CPU cannot reach it on its device */
	struct inode *inode;	/* its address_space has all mappings */
	struct mem_cgroup *memcg;	/* charged for system memory */
	struct mm_struct *mm;		/* of its creator, held by mmgrab() */
	struct hmmrt_locked locked;	/* of a pinned object in system memory */
	unsigned long nr_extents;
	atomic_long_t resident;	/* number of extents at @location */
	struct xarray extents;
};

static inline bool hmmrt_object_is_migratable(const struct hmmrt_object *object)
{
	return object->flags & HMMRT_OBJECT_MIGRATABLE;
}

/* mem_object.c */
void hmmrt_extent_lockdep_teach(struct mutex *block_lock);
struct page **hmmrt_extent_alloc_pages(const struct hmmrt_extent *extent,
				       bool zero, bool must);
void hmmrt_extent_free_pages(struct page **pages);
struct hmmrt_extent *hmmrt_object_find(struct hmmrt_object *object,
				       pgoff_t pgoff, unsigned int *index);
struct hmmrt_extent *hmmrt_object_extent(struct hmmrt_object *object,
					 pgoff_t pgoff, unsigned int *index);
u32 hmmrt_object_location(struct hmmrt_object *object, pgoff_t pgoff);
u64 hmmrt_extent_offset(const struct hmmrt_extent *extent);
void hmmrt_extent_set_chunk(struct hmmrt_extent *extent,
			    struct hmmrt_device *dev,
			    struct hmmrt_chunk *chunk);
void hmmrt_extent_set_pages(struct hmmrt_extent *extent, struct page **pages);
int hmmrt_extent_charge(struct hmmrt_extent *extent);
void hmmrt_extent_uncharge(struct hmmrt_extent *extent,
			   struct hmmrt_device *dev,
			   const struct hmmrt_chunk *chunk);
void hmmrt_extent_leave_chunk(struct hmmrt_extent *extent, struct page **pages);
void hmmrt_extent_clear(struct hmmrt_extent *extent);
unsigned long hmmrt_extent_cpu_pfn(const struct hmmrt_extent *extent,
				   unsigned int index);
bool hmmrt_object_is_hidden(struct hmmrt_object *object);
u64 hmmrt_object_resident(const struct hmmrt_object *object);
void hmmrt_object_put(struct hmmrt_object *object);
bool hmmrt_extent_hold(struct hmmrt_extent *extent);
struct hmmrt_object *hmmrt_object_alloc(struct mm_struct *mm, u64 bytes);
struct file *hmmrt_object_file(struct hmmrt_object *object,
			       const struct file_operations *fops, int flags);
struct hmmrt_object *hmmrt_vma_object(const struct vm_area_struct *vma);
pgoff_t hmmrt_vma_pgoff(const struct vm_area_struct *vma, unsigned long addr);

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

#endif /* _HMMRT_MEM_H */
