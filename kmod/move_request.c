// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: allocation of what all attempts at a window share.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "move.h"

/* For a block that the caller holds. */
struct hmmrt_request *hmmrt_request_alloc(struct hmmrt_binding *binding,
					  struct hmmrt_block *block,
					  const struct hmmrt_request_args *args)
{
	struct hmmrt_request *req = kvmalloc(sizeof(*req),
						GFP_KERNEL_ACCOUNT);

	if (!req)
		return NULL;
	memset(req, 0, offsetof(struct hmmrt_request, snapshot));
	memset(req->outcomes, HMMRT_OUTCOME_OPEN, sizeof(req->outcomes));
	req->binding = binding;
	req->window.block = block;
	req->policy.advice = hmmrt_no_advice;
	req->policy.want = HMMRT_POLICY_STAY;
	req->args = *args;
	return req;
}

void hmmrt_request_free(struct hmmrt_request *req)
{
	hmmrt_request_unreserve(req);
	kvfree(req);
}

/**
 * hmmrt_request_open() - make a request for a block
 * @space: of the process; its mm is alive
 * @binding: of the device, or NULL: for system memory
 * @addr: in the block
 * @args: what the caller wants; a request without a binding maps nothing
 *
 * Context: may sleep; no mmap_lock held.
 * Return: the request, for hmmrt_request_close(), or an ERR_PTR.
 */
struct hmmrt_request *hmmrt_request_open(struct hmmrt_space *space,
					 struct hmmrt_binding *binding,
					 unsigned long addr,
					 const struct hmmrt_request_args *args)
{
	u32 id = binding ? binding->dev->id : HMMRT_MAX_DEVICES;
	struct hmmrt_block *block = hmmrt_block_get(space, addr, id);
	struct hmmrt_request *req;
	int rc = 0;

	if (IS_ERR(block))
		return ERR_CAST(block);
	if (args->reset_thrashing)
		hmmrt_thrashing_reset(block);
	if (args->map)
		rc = binding->dev->ops->prepare(binding, block->start,
						block->start + HMMRT_BLOCK_SIZE);
	/* prepare() returns 0 or an error; ERR_PTR() takes nothing else. */
	if (WARN_ON_ONCE(rc > 0))
		rc = -EIO;
	if (rc)
		goto err_put;
	req = hmmrt_request_alloc(binding, block, args);
	if (req)
		return req;
	rc = -ENOMEM;
err_put:
	hmmrt_block_put(block);
	return ERR_PTR(rc);
}

void hmmrt_request_close(struct hmmrt_request *req)
{
	struct hmmrt_block *block = req->window.block;

	hmmrt_request_free(req);
	hmmrt_block_put(block);
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
	req->memory = (struct hmmrt_request_memory){};
	req->policy.rule = HMMRT_RULE_NONE;
	req->policy.chosen = (struct hmmrt_policy_window){};
	req->policy.within = (struct hmmrt_policy_window){};
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
	if (req->memory.reserved) {
		if (mmap_read_trylock(mm))
			return 0;
		hmmrt_request_unreserve(req);
	}
	return hmmrt_mmap_read_lock(mm, req->args.nowait);
}

/* Work on the part of [start, end) that the mapping at @start covers. */
int hmmrt_window_lookup(struct hmmrt_window *window, struct mm_struct *mm,
			unsigned long start, unsigned long end)
{
	lockdep_assert_held(&mm->mmap_lock);
	window->vma = vma_lookup(mm, start);
	if (!window->vma)
		return -EFAULT;
	hmmrt_window_set(window, window->vma, start, end);
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
