// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: allocation of what all attempts at a window share.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "move.h"

struct hmmrt_request *hmmrt_request_alloc(struct hmmrt_binding *binding,
					  struct hmmrt_block *block)
{
	struct hmmrt_request *req = kvmalloc(sizeof(*req), GFP_KERNEL);

	if (!req)
		return NULL;
	memset(req, 0, offsetof(struct hmmrt_request, pfns));
	memset(req->outcomes, HMMRT_OUTCOME_OPEN, sizeof(req->outcomes));
	req->binding = binding;
	req->block = block;
	req->args.node = NUMA_NO_NODE;
	req->advice = hmmrt_no_advice;
	req->args.evict_before = U64_MAX;
	return req;
}

/* @req may be NULL, as with kvfree(). */
void hmmrt_request_free(struct hmmrt_request *req)
{
	if (!req)
		return;
	hmmrt_request_unreserve(req);
	kvfree(req);
}

/*
 * Choose the page to serve, and forget what attempts at another page found out,
 * which may not apply to this one.
 */
void hmmrt_request_aim(struct hmmrt_request *req, unsigned long addr,
		       unsigned int access)
{
	hmmrt_request_unreserve(req);
	req->retry = (struct hmmrt_request_retry){};
	req->result.rule = HMMRT_RULE_NONE;
	req->addr = addr;
	req->access = access;
}

/*
 * Take the mmap_lock for the next attempt, like hmmrt_mmap_read_lock(). A
 * request that would have to wait first gives up the memory that was evicted
 * for it, because a thread of its own process may hold the lock for as long as
 * it likes.
 */
int hmmrt_request_lock_mm(struct hmmrt_request *req, struct mm_struct *mm)
{
	if (req->retry.reserved) {
		if (mmap_read_trylock(mm))
			return 0;
		hmmrt_request_unreserve(req);
	}
	return hmmrt_mmap_read_lock(mm, req->args.nowait);
}

/* Fill in the part of [start, end) that one mapping covers. */
int hmmrt_request_lookup(struct mm_struct *mm, struct hmmrt_request *req,
			 unsigned long start, unsigned long end)
{
	lockdep_assert_held(&mm->mmap_lock);
	req->vma = vma_lookup(mm, start);
	if (!req->vma)
		return -EFAULT;
	req->start = start;
	req->end = min(end, req->vma->vm_end);
	return 0;
}

void hmmrt_fail_next_huge(struct hmmrt_binding *binding, bool fail)
{
	atomic_set(&binding->space->fail_huge, fail);
}
EXPORT_SYMBOL_GPL(hmmrt_fail_next_huge);

/* Returns true, once, if a test has asked for a huge page to fail. */
bool hmmrt_huge_fails(struct hmmrt_space *space)
{
	return space && atomic_read(&space->fail_huge) &&
	       atomic_xchg(&space->fail_huge, 0);
}
