// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: what is made once for all attempts at a window, and what is done between
 * two attempts, with no lock held. A device that is full is asked for what it can do
 * about that, in this order: a chunk that nobody uses may be losing its memory, and is
 * waited for; it may have memory without struct pages yet; something may be evicted.
 */
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

void hmmrt_request_free(struct hmmrt_request *req)
{
	hmmrt_request_release_room(req);
	kvfree(req);
}

/* Whether a device can still grow by what it had when the request looked. */
static bool may_grow(const struct hmmrt_request *req)
{
	return !req->no_grow &&
	       req->regions_seen < req->binding->dev->vram.max_regions;
}

/* Whether some of it will be there in a moment. */
static bool may_wait(const struct hmmrt_request *req)
{
	return !req->no_trim && hmmrt_vram_is_trimming(req->binding->dev);
}

/*
 * Of a request that found its device full: whether to let go of all locks and call
 * hmmrt_request_again() with -ENOSPC.
 */
bool hmmrt_request_may_get_room(const struct hmmrt_request *req)
{
	return may_wait(req) || may_grow(req) || hmmrt_may_evict(req);
}

/*
 * What has to be done with no lock held before an attempt is repeated. Returns
 * @rc, or -EAGAIN for "repeat it".
 */
int hmmrt_request_again(struct hmmrt_request *req, int rc)
{
	if (rc != -ENOSPC)
		return rc;
	if (may_wait(req)) {
		hmmrt_vram_wait_trimmed(req->binding->dev);
		req->no_trim = true;
	} else if (may_grow(req)) {
		req->no_grow = hmmrt_vram_grow(req->binding->dev,
					       req->regions_seen);
	} else {
		req->no_evict = hmmrt_request_make_room(req);
	}
	return -EAGAIN;
}

/*
 * Whether the device has too little memory to keep there what it touches: asked once
 * for each fault, before anything is evicted for it.
 */
bool hmmrt_request_thrashes(struct hmmrt_request *req)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct hmmrt_block_map *map = req->block->maps[dev->id];
	bool thrashes;

	mutex_lock(&req->block->lock);
	thrashes = hmmrt_policy_thrashes(&map->refaults,
					 READ_ONCE(dev->vram.evictions),
					 dev->vram.size >> HMMRT_CHUNK_SHIFT,
					 jiffies_to_msecs(jiffies));
	mutex_unlock(&req->block->lock);
	if (thrashes)
		atomic64_inc(&req->binding->thrashing);
	return thrashes;
}
