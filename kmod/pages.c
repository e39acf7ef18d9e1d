// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a process learns about its own memory: where its pages are.
 *
 * Only looks: nothing is faulted in and nothing moves. A range is cut as in
 * memory.c, and each part is what one snapshot shows.
 */
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "hmmrt.h"

#define LOOK_MAX	SZ_1G

static unsigned long req_pages(const struct hmmrt_request *req)
{
	return (req->end - req->start) >> PAGE_SHIFT;
}

static u32 pfn_location(unsigned long pfn)
{
	struct hmmrt_device *dev;

	if (pfn & HMM_PFN_ERROR)
		return HMMRT_LOCATION_HOST;
	if (!(pfn & HMM_PFN_VALID))
		return HMMRT_LOCATION_NONE;
	dev = hmmrt_page_device(hmm_pfn_to_page(pfn));
	return dev ? dev->id : HMMRT_LOCATION_HOST;
}

/* The part of a block that one mapping covers; req->end says how far it got. */
static int residency_part(struct mm_struct *mm, struct hmmrt_request *req,
			  unsigned long start, unsigned long end, u32 *out)
{
	unsigned long i;
	int idx, rc;

	do {
		if (mmap_read_lock_killable(mm))
			return -EINTR;
		rc = hmmrt_request_lookup(mm, req, start, end);
		idx = srcu_read_lock(&hmmrt_srcu);
		if (!rc)
			rc = hmmrt_snapshot(req);
		if (!rc)
			for (i = 0; i < req_pages(req); i++)
				out[i] = pfn_location(req->pfns[i]);
		srcu_read_unlock(&hmmrt_srcu, idx);
		mmap_read_unlock(mm);
		cond_resched();
	} while (rc == -EAGAIN && !signal_pending(current));
	return rc == -EAGAIN ? -EINTR : rc;
}

static int residency_block(struct hmmrt_space *space, unsigned long start,
			   unsigned long end, u32 __user *out)
{
	struct hmmrt_request *req;
	struct hmmrt_block *block;
	u32 *locations;
	int rc;

	rc = hmmrt_mapped_check(space->mm, start, 0);
	if (rc)
		return rc;
	block = hmmrt_block_get(space, start, HMMRT_LOCATION_HOST);
	if (IS_ERR(block))
		return PTR_ERR(block);
	req = hmmrt_request_alloc(NULL, block);
	if (!req)
		return -ENOMEM;
	locations = (u32 *)req->src;
	do {
		rc = residency_part(space->mm, req, start, end, locations);
		if (rc)
			break;
		if (copy_to_user(out, locations,
				 req_pages(req) * sizeof(*locations)))
			rc = -EFAULT;
		out += req_pages(req);
		start = req->end;
	} while (!rc && start < end);
	hmmrt_request_free(req);
	return rc;
}

int hmmrt_residency(struct hmmrt_space *space, struct hmmrt_residency *arg)
{
	u32 __user *out = u64_to_user_ptr(arg->locations);
	unsigned long addr, end, next;
	int rc;

	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (!rc && arg->len > LOOK_MAX)
		rc = -EINVAL;
	if (rc)
		return rc;
	if (!mmget_not_zero(space->mm))
		return -ESRCH;
	end = arg->addr + arg->len;
	for (addr = arg->addr; !rc && addr < end; addr = next) {
		next = hmmrt_block_end(addr, end);
		rc = residency_block(space, addr, next, out);
		out += (next - addr) >> PAGE_SHIFT;
	}
	mmput(space->mm);
	return rc;
}
