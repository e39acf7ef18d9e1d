// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process asks of its own memory: prefetch, exclusive access.
 *
 * A range is cut where blocks and mappings end. The mmap_lock is dropped between
 * the parts, so that the rest of the process is not kept out for long, and a
 * fatal signal ends the call there.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "hmmrt.h"

#define PART_TIMEOUT	HZ

/* Of a range that a process gave. */
int hmmrt_user_range_check(u64 addr, u64 len)
{
	if (!len || !IS_ALIGNED(addr, PAGE_SIZE) || !IS_ALIGNED(len, PAGE_SIZE))
		return -EINVAL;
	if (addr + len < addr || addr + len > TASK_SIZE_MAX)
		return -EOVERFLOW;
	return 0;
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

static unsigned long req_pages(const struct hmmrt_request *req)
{
	return (req->end - req->start) >> PAGE_SHIFT;
}

/* Whether advice lets it go to a device. */
static bool part_is_free(const struct hmmrt_request *req)
{
	return !req->binding ||
	       hmmrt_policy_prefetched(&req->advice) != HMMRT_POLICY_STAY;
}

/* The part that goes to a device; req covers it, mmap_lock is held. */
static int prefetch_part_device(struct hmmrt_request *req)
{
	if (hmmrt_vma_check(req->vma, HMMRT_ACCESS_READ))
		return 0;
	req->copy = hmmrt_policy_prefetched(&req->advice) == HMMRT_POLICY_COPY;
	return hmmrt_serve_window(req, hmmrt_vma_may_migrate(req->vma) &&
					       part_is_free(req));
}

/* Whether it may go to a device. */
static bool vma_suitable(struct vm_area_struct *vma)
{
	return hmmrt_vma_may_migrate(vma) &&
	       !hmmrt_vma_check(vma, HMMRT_ACCESS_READ);
}

/* Whether this part may go where it is asked to. */
static bool part_suitable(const struct hmmrt_request *req)
{
	return !req->binding || vma_suitable(req->vma);
}

static void prefetch_count(const struct hmmrt_request *req, u64 there,
			   struct hmmrt_prefetch *arg, bool suitable)
{
	u64 full = req->stayed[HMMRT_STAY_NO_MEMORY];
	u64 merged = req->stayed[HMMRT_STAY_MERGED];
	u64 watched = req->stayed[HMMRT_STAY_WATCHED];
	u64 known = req->moved + req->copied + there + full + merged + watched;

	if (!suitable) {
		arg->out_stayed[HMMRT_STAY_FILE] += req_pages(req);
		return;
	}
	if (!part_is_free(req)) {
		arg->out_stayed[HMMRT_STAY_POLICY] += req_pages(req);
		return;
	}
	arg->out_pages_moved += req->moved + req->copied;
	arg->out_pages_there += there;
	arg->out_stayed[HMMRT_STAY_NO_MEMORY] += full;
	arg->out_stayed[HMMRT_STAY_MERGED] += merged;
	arg->out_stayed[HMMRT_STAY_WATCHED] += watched;
	if (known < req_pages(req))
		arg->out_stayed[HMMRT_STAY_BUSY] += req_pages(req) - known;
}

/* One part, until it stops racing with others. Returns where it ended. */
static int prefetch_part(struct mm_struct *mm, struct hmmrt_request *req,
			 unsigned long start, unsigned long end,
			 struct hmmrt_prefetch *arg)
{
	unsigned long deadline = jiffies + PART_TIMEOUT;
	u64 there = 0, before;
	bool suitable;
	int rc;

	req->moved = 0;
	req->copied = 0;
	req->there = 0;
	memset(req->stayed, 0, sizeof(req->stayed));
	do {
		if (mmap_read_lock_killable(mm))
			return -EINTR;
		rc = hmmrt_request_lookup(mm, req, start, end);
		if (rc) {
			mmap_read_unlock(mm);
			return rc;
		}
		hmmrt_request_advise(req, start);
		suitable = part_suitable(req);
		before = req->moved + req->copied;
		rc = req->binding ? prefetch_part_device(req) :
				    hmmrt_window_to_host(req);
		mmap_read_unlock(mm);
		rc = hmmrt_request_again(req, rc);
		/* Later attempts find there what the first ones moved. */
		if (!before)
			there = req->there;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	} while (rc == -EAGAIN && time_before(jiffies, deadline));

	prefetch_count(req, there, arg, suitable);
	/* Best effort: what kept racing stays where it is. */
	return rc == -EAGAIN ? 0 : rc;
}

/*
 * A signal ends the call once it has moved something: who then repeats it gets
 * on, however often he is interrupted.
 */
static bool prefetch_interrupted(const struct hmmrt_prefetch *arg)
{
	return fatal_signal_pending(current) ||
	       (signal_pending(current) && arg->out_pages_moved);
}

/* All mappings of one block; there is one at @start. */
static int prefetch_block(struct hmmrt_space *space,
			  struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end, struct hmmrt_prefetch *arg)
{
	struct hmmrt_request *req;
	struct hmmrt_block *block;
	int rc;

	block = hmmrt_block_get(space, start, arg->location);
	if (IS_ERR(block))
		return PTR_ERR(block);
	if (binding) {
		rc = binding->dev->ops->prepare(binding, block->start,
						block->start + HMMRT_BLOCK_SIZE);
		if (rc)
			return rc;
	}
	req = hmmrt_request_alloc(binding, block);
	if (!req)
		return -ENOMEM;
	do {
		rc = prefetch_part(space->mm, req, start, end, arg);
		if (binding) {
			atomic64_add(req->moved, &binding->migrated_to_device);
			atomic64_add(req->copied, &binding->copied);
		} else {
			atomic64_add(req->moved, &space->migrated_to_host);
		}
		start = req->end;
		if (!rc && prefetch_interrupted(arg))
			rc = -EINTR;
	} while (!rc && start < end);
	hmmrt_request_free(req);
	return rc;
}

/*
 * Where the next step of a prefetch ends, by the mapping at @addr. A mapping that
 * cannot go to the device is counted whole, and *skip set: a block costs memory,
 * and there may be terabytes of it.
 */
static int prefetch_look(struct hmmrt_space *space,
			 const struct hmmrt_binding *binding,
			 unsigned long addr, unsigned long end,
			 struct hmmrt_prefetch *arg, unsigned long *next,
			 bool *skip)
{
	struct vm_area_struct *vma;

	if (mmap_read_lock_killable(space->mm))
		return -EINTR;
	vma = vma_lookup(space->mm, addr);
	*skip = vma && binding && !vma_suitable(vma);
	*next = *skip ? min(end, vma->vm_end) : hmmrt_block_end(addr, end);
	mmap_read_unlock(space->mm);
	if (!vma)
		return -EFAULT;
	if (*skip)
		arg->out_stayed[HMMRT_STAY_FILE] +=
			(*next - addr) >> PAGE_SHIFT;
	return 0;
}

/* One step; returns where the next one begins in *next. */
static int prefetch_step(struct hmmrt_space *space,
			 struct hmmrt_binding *binding, unsigned long addr,
			 unsigned long end, struct hmmrt_prefetch *arg,
			 unsigned long *next)
{
	bool skip;
	int rc;

	rc = prefetch_look(space, binding, addr, end, arg, next, &skip);
	if (!rc && !skip)
		rc = prefetch_block(space, binding, addr, *next, arg);
	if (rc)
		return rc;
	/* Somebody waits for us in hmmrt_unbind(). */
	if (binding && READ_ONCE(binding->going))
		return -ENODEV;
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int hmmrt_prefetch(struct hmmrt_space *space, struct hmmrt_prefetch *arg)
{
	struct hmmrt_binding *binding = NULL;
	unsigned long addr, end, next;
	int rc;

	if (arg->__reserved)
		return -EOPNOTSUPP;
	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (rc)
		return rc;
	if (arg->location != HMMRT_LOCATION_HOST) {
		binding = hmmrt_space_binding_get(space, arg->location);
		if (!binding)
			return -EINVAL;
	}
	if (!mmget_not_zero(space->mm)) {
		rc = -ESRCH;
		goto out_put;
	}
	arg->out_pages_moved = 0;
	arg->out_pages_there = 0;
	memset(arg->out_stayed, 0, sizeof(arg->out_stayed));
	end = arg->addr + arg->len;
	rc = hmmrt_advice_prefetched(space, arg->addr, end, arg->location);
	for (addr = arg->addr; !rc && addr < end; addr = next)
		rc = prefetch_step(space, binding, addr, end, arg, &next);
	mmput(space->mm);
out_put:
	if (binding)
		hmmrt_binding_put(binding);
	return rc;
}

/* The next mapping in the block at or after @addr; returns where it ended. */
static unsigned long come_home_part(struct mm_struct *mm,
				    struct hmmrt_request *req,
				    unsigned long addr, unsigned long end)
{
	if (mmap_read_lock_killable(mm))
		return end;
	req->vma = find_vma(mm, addr);
	if (req->vma && req->vma->vm_start < end) {
		req->start = max(addr, req->vma->vm_start);
		req->end = min(end, req->vma->vm_end);
		hmmrt_window_to_host(req);
		addr = req->end;
	} else {
		addr = end;
	}
	mmap_read_unlock(mm);
	return addr;
}

/**
 * hmmrt_block_come_home() - bring what a device has of a block home
 * @binding: of the device; the mm of its space is alive
 * @block: of that space
 *
 * Best effort, for a device that stops working for a process: what is busy or
 * left over by a fatal signal stays until it is touched.
 * Context: may sleep, takes the mmap_lock.
 */
void hmmrt_block_come_home(struct hmmrt_binding *binding,
			   struct hmmrt_block *block)
{
	struct hmmrt_space *space = binding->space;
	unsigned long end = block->start + HMMRT_BLOCK_SIZE;
	unsigned long addr = block->start;
	struct hmmrt_request *req;

	req = hmmrt_request_alloc(binding, block);
	if (!req)
		return;
	while (addr < end) {
		addr = come_home_part(space->mm, req, addr, end);
		cond_resched();
	}
	atomic64_add(req->moved, &space->migrated_to_host);
	hmmrt_request_free(req);
}

/* Whatever stands in the way of a page, to the process it is in use. */
static int exclusive_errno(int rc)
{
	return rc == -EAGAIN || rc == -EOPNOTSUPP ? -EBUSY : rc;
}

/* A block at a time: others may have theirs in between. */
int hmmrt_exclusive(struct hmmrt_space *space, struct hmmrt_exclusive *arg)
{
	struct hmmrt_binding *binding;
	unsigned long addr, end, next;
	int rc;

	if (arg->__reserved)
		return -EOPNOTSUPP;
	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (rc)
		return rc;
	binding = hmmrt_space_binding_get(space, arg->device_id);
	if (!binding)
		return -EINVAL;
	arg->out_pages = 0;
	end = arg->addr + arg->len;
	for (addr = arg->addr; !rc && addr < end; addr = next) {
		next = hmmrt_block_end(addr, end);
		rc = hmmrt_exclusive_range(binding, addr, next);
		if (rc)
			break;
		arg->out_pages += (next - addr) >> PAGE_SHIFT;
		if (READ_ONCE(binding->going))
			rc = -ENODEV;
		else if (next < end && signal_pending(current))
			rc = -EINTR;
	}
	hmmrt_binding_put(binding);
	return exclusive_errno(rc);
}
