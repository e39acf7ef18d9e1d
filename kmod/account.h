/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is charged for device memory, and whose goes: account.c, quota.c. */
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

/* What may be had of a device, and how long it is kept. */
struct hmmrt_quota_set {
	u64 limit;			/* in pages; U64_MAX: none */
	u32 priority;
};

/* The same, and up to what the process may change it; vram->lock. */
struct hmmrt_quota_own {
	u64 serial;			/* of the device; 0: there was no account */
	struct hmmrt_quota_set set;
	struct hmmrt_quota_set most;
};

/*
 * What a process, or all of a cgroup, has of a device. Under vram->lock, but for what
 * never changes; see account.c.
 */
struct hmmrt_account {
	struct hlist_node by_mm;	/* of a process: vram->accounts */
	struct list_head link;		/* charged_, group_ or gone_accounts */
	struct list_head charges;	/* used longest ago first */
	struct hmmrt_device *dev;
	struct hmmrt_account *parent;	/* nearest cgroup with a quota, or NULL */
	struct mm_struct *mm;		/* mmgrab()ed; NULL: of a cgroup */
	struct cgroup *cgroup;		/* referenced; NULL: there are none */
	unsigned int holders;		/* a binding, a quota, calls for a moment */
	unsigned int members;		/* of a cgroup: processes in it */
	unsigned int failures;		/* of evictions, in a row */
	u64 busy_until;			/* in jiffies: there were too many */
	struct hmmrt_quota_own own;
	struct hmmrt_policy_share share; /* pages that are charged, rank */
	u64 refused;
	u64 evicted;			/* pages */
};

/* What an account has of a chunk; vram->lock. */
struct hmmrt_charge {
	struct list_head chunk_link;	/* chunk->charges */
	struct list_head account_link;	/* account->charges */
	struct hmmrt_account *account;
	struct hmmrt_chunk *chunk;
	unsigned int npages;		/* never 0 */
	u64 busy_until;			/* in jiffies: nothing could be evicted */
};

/* For whom device memory is to be evicted, and of whom. */
struct hmmrt_claim {
	struct hmmrt_account *asker;	/* NULL: nobody's request */
	struct hmmrt_account *within;	/* only what it is charged, or NULL */
	u64 before;			/* only what was given out before */
};

/* Where a claim goes on after it has let go of vram->lock; vram->lock. */
struct hmmrt_claim_hand {
	struct list_head link;		/* vram->hands, meanwhile */
	struct list_head *next;		/* an account->link, or the list's head */
};

/* What it took to choose a chunk. */
struct hmmrt_claim_cost {
	unsigned int most_looks;	/* at accounts and charges, with vram->lock held */
	unsigned int pauses;		/* times that the lock was let go */
};

/* Why hmmrt_vram_alloc() did not find all that was asked for. */
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

/* quota.c */
extern const struct hmmrt_quota_own hmmrt_no_quota;
struct hmmrt_account *hmmrt_group_above(struct hmmrt_vram *vram,
					struct cgroup *cgroup);
void hmmrt_groups_collect(struct hmmrt_vram *vram);

#endif /* _HMMRT_ACCOUNT_H */
