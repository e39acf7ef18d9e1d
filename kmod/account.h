/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which account is charged for device memory, and which accounts lose pages
 * when it runs out: account.c, quota.c.
 */
#ifndef _HMMRT_ACCOUNT_H
#define _HMMRT_ACCOUNT_H

#include <linux/list.h>
#include <linux/types.h>

#include "policy.h"

struct cgroup;
struct hmmrt_chunk;
struct hmmrt_device;
struct hmmrt_space;
struct hmmrt_vram;
struct mm_struct;

/* How much of a device may be used, and how long its pages are kept. */
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

/*
 * The pages of a device charged to a process, or to all processes of a cgroup.
 * Protected by vram->lock, except for fields that never change; see account.c.
 */
struct hmmrt_account {
	struct hlist_node by_mm;	/* process: in vram->accounts */
	/* On the charged_, group_ or gone_accounts list. */
	struct list_head link;
	struct list_head charges;	/* least recently used first */
	struct hmmrt_device *dev;
	struct hmmrt_account *parent;	/* nearest cgroup with quota, or NULL */
	struct mm_struct *mm;		/* held by mmgrab(); NULL: a cgroup */
	struct cgroup *cgroup;		/* referenced; NULL without cgroups */
	unsigned int holders;		/* bindings, quotas, running calls */
	unsigned int members;		/* cgroup: number of processes in it */
	unsigned int failures;		/* evictions that failed in a row */
	u64 busy_until;	/* in jiffies, after too many failures */
	struct hmmrt_quota_own own;
	struct hmmrt_policy_share share; /* charged pages, and the rank */
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
};

/* Where a claim continues after it has dropped vram->lock; under vram->lock. */
struct hmmrt_claim_hand {
	struct list_head link;	/* on vram->hands while vram->lock is dropped */
	struct list_head *next;		/* an account->link, or the list head */
};

/* The cost of choosing a chunk. */
struct hmmrt_claim_cost {
	/* Most accounts and charges visited in one hold of vram->lock. */
	unsigned int most_looks;
	unsigned int pauses;		/* how often vram->lock was dropped */
};

/* Why hmmrt_vram_alloc() did not find all pages that it was asked for. */
enum hmmrt_lack {
	HMMRT_LACK_NOTHING,	/* it did, or the driver had no memory */
	HMMRT_LACK_ROOM,
	HMMRT_LACK_QUOTA,	/* an account has reached its limit */
};

/* account.c */
void hmmrt_accounts_init(struct hmmrt_vram *vram);
void hmmrt_accounts_destroy(struct hmmrt_device *dev);
void hmmrt_accounts_sweep(struct hmmrt_device *dev);
struct hmmrt_account *hmmrt_account_alloc(struct hmmrt_device *dev,
					  struct mm_struct *mm,
					  struct cgroup *cgroup);
void hmmrt_account_free(struct hmmrt_account *account);
bool hmmrt_account_retire(struct hmmrt_account *account);
struct hmmrt_account *hmmrt_account_get(struct hmmrt_device *dev,
					struct hmmrt_space *space);
void hmmrt_account_put(struct hmmrt_account *account);
u64 hmmrt_account_room(struct hmmrt_account *account);
u64 hmmrt_account_used(const struct hmmrt_account *account);
bool hmmrt_account_is_full(struct hmmrt_account *account);
void hmmrt_account_refused(struct hmmrt_account *account);
void hmmrt_account_evicted(struct hmmrt_account *account, unsigned int pages);
struct hmmrt_account *hmmrt_account_get_full(struct hmmrt_account *account,
					     unsigned int npages);
u64 hmmrt_account_excess(const struct hmmrt_account *account);
void hmmrt_charge(struct hmmrt_account *account, struct hmmrt_chunk *chunk,
		  unsigned int index, unsigned int npages,
		  struct hmmrt_charge **spare);
bool hmmrt_uncharge(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
		    unsigned int index);
void hmmrt_charges_used(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk);
struct hmmrt_chunk *hmmrt_claim_chunk(struct hmmrt_vram *vram,
				      const struct hmmrt_claim *claim,
				      unsigned long *pages,
				      struct hmmrt_claim_cost *cost);
void hmmrt_claim_end(struct hmmrt_vram *vram, const struct hmmrt_chunk *chunk,
		     const unsigned long *pages, bool failed);

/* mem_group.c */
#define HMMRT_NO_LIMIT	U64_MAX

extern const struct hmmrt_quota_own hmmrt_no_quota;
extern const struct hmmrt_quota_set hmmrt_no_group_quota;
struct hmmrt_account *hmmrt_group_find(struct hmmrt_vram *vram,
				       const struct cgroup *cgroup);
struct hmmrt_account *hmmrt_group_set(struct hmmrt_vram *vram,
				      struct hmmrt_account *created,
				      struct hmmrt_quota_set set);
struct hmmrt_account *hmmrt_group_above(struct hmmrt_vram *vram,
					struct cgroup *cgroup);
void hmmrt_groups_collect(struct hmmrt_vram *vram);

#endif /* _HMMRT_ACCOUNT_H */
