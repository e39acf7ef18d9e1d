// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: allocation of what all attempts at a window share.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "hmmrt.h"

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
	req->node = NUMA_NO_NODE;
	req->advice = hmmrt_no_advice;
	req->evict_before = U64_MAX;
	return req;
}

/* @req may be NULL, as with kvfree(). */
void hmmrt_request_free(struct hmmrt_request *req)
{
	if (!req)
		return;
	hmmrt_request_release_room(req);
	kvfree(req);
}

/*
 * Take the mmap_lock for the next attempt, like hmmrt_mmap_read_lock(). A
 * request that would have to wait first gives up the memory that was evicted
 * for it, because a thread of its own process may hold the lock for as long as
 * it likes.
 */
int hmmrt_request_lock_mm(struct hmmrt_request *req, struct mm_struct *mm)
{
	if (req->room) {
		if (mmap_read_trylock(mm))
			return 0;
		hmmrt_request_release_room(req);
	}
	return hmmrt_mmap_read_lock(mm, req->nowait);
}

/* What a prefetch does with pages that are not on the device. */
enum hmmrt_policy_want hmmrt_request_prefetched(struct hmmrt_request *req)
{
	req->knobs = hmmrt_knobs_at(req->binding->space, req->binding->dev,
				    &req->advice);
	return hmmrt_policy_prefetched(&req->advice,
				       req->knobs.of[HMMRT_KNOB_READ_DUPLICATION]);
}

/* Returns true if a fault of this device moves, or duplicates, the pages. */
bool hmmrt_fault_may_migrate(struct hmmrt_request *req)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct hmmrt_policy_page page = {
		.advice = &req->advice,
		.device = dev->id,
		.write = req->access & HMMRT_ACCESS_WRITE,
		.migratable = !(dev->flags & HMMRT_DEVICE_FAULT_IN_PLACE) &&
			      hmmrt_vma_may_migrate(req->vma),
	};
	struct hmmrt_policy_decision decision;

	req->knobs = hmmrt_knobs_at(req->binding->space, dev, &req->advice);
	page.migration_policy = req->knobs.of[HMMRT_KNOB_MIGRATION_POLICY];
	page.read_duplication = req->knobs.of[HMMRT_KNOB_READ_DUPLICATION];
	decision = hmmrt_policy_residency(&page);
	/*
	 * Asking counts a fault as thrashing, so ask only if pages would move,
	 * and not again when memory was already evicted for this request.
	 */
	if (decision.want != HMMRT_POLICY_STAY && !req->room) {
		page.no_room = hmmrt_request_thrashes(req);
		page.pinned = hmmrt_request_pinned(req);
		decision = hmmrt_policy_residency(&page);
	}
	req->rule = decision.rule;
	req->copy = decision.want == HMMRT_POLICY_COPY;
	return decision.want != HMMRT_POLICY_STAY;
}
