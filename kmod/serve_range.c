// SPDX-License-Identifier: GPL-2.0-only
/*
 * Driver calls for ranges: mapping and migration.
 *
 * A range is cut where blocks and mappings end, as in api_prefetch.c. Each part
 * is one window, which is served like a fault, as a whole or not at all. The
 * mmap_lock is dropped between the parts.
 */
#include <linux/mm.h>

#include "serve.h"

static int part_once(const struct hmmrt_range_walk *walk,
		     struct hmmrt_request *req, unsigned long start,
		     unsigned long end)
{
	struct mm_struct *mm = walk->binding->space->mm;
	int rc;

	rc = hmmrt_request_lock_mm(req, mm);
	if (rc)
		return rc;
	rc = hmmrt_window_lookup(&req->window, mm, start, end);
	if (!rc && !hmmrt_vma_object(req->window.vma))
		rc = hmmrt_vma_check(req->window.vma, walk->access);
	if (!rc) {
		hmmrt_request_advise(req, start);
		rc = walk->part(walk, req);
	}
	req->window.vma = NULL;
	mmap_read_unlock(mm);
	return rc;
}

/*
 * Serve the window of the next mapping, again while it races with other
 * changes.
 */
static int part_attempts(struct hmmrt_range_walk *walk,
			 struct hmmrt_request *req, unsigned long start,
			 unsigned long end)
{
	struct hmmrt_retry_limit limit = {
		.deadline = jiffies + HMMRT_SERVE_TIMEOUT,
		.retries = &walk->binding->retries,
	};
	u64 before, there = 0;
	int rc;

	req->result = (struct hmmrt_request_result){};
	do {
		before = req->result.moved;
		rc = part_once(walk, req, start, end);
		/*
		 * Later attempts find pages on the device that the first ones
		 * moved.
		 */
		if (!before)
			there = req->result.there;
	} while (hmmrt_request_prepare_retry(req, &limit, &rc));
	atomic64_add(req->result.copied, &walk->binding->copied);
	walk->result.moved += req->result.moved;
	walk->result.there += there;
	return rc;
}

static int block_walk(void *data, unsigned long start, unsigned long end)
{
	struct hmmrt_range_walk *walk = data;
	struct hmmrt_binding *binding = walk->binding;
	struct hmmrt_request *req;
	int rc;

	rc = hmmrt_mapped_check(binding->space, binding->dev->id, start,
				walk->access, walk->args.nowait);
	if (rc)
		return rc;
	req = hmmrt_request_open(binding->space, binding, start, &walk->args);
	if (IS_ERR(req))
		return PTR_ERR(req);
	do {
		rc = part_attempts(walk, req, start, end);
		start = req->window.end;
	} while (!rc && start < end);
	walk->args.no_evict |= !hmmrt_may_evict_later(req);
	hmmrt_request_close(req);
	return rc;
}

/**
 * hmmrt_walk_range() - serve all of a range for a driver
 * @walk: what to do with each window
 * @start: first address
 * @end: end address, exclusive
 *
 * Context: may sleep; no lock is held but space->exclusive.
 * Return: 0 or the error of the first window that failed.
 */
int hmmrt_walk_range(struct hmmrt_range_walk *walk, unsigned long start,
		     unsigned long end)
{
	int rc;

	walk->args.evict_before = READ_ONCE(walk->binding->dev->vram.given);
	rc = hmmrt_range_by_blocks(walk->binding->space->mm, start, end,
				   block_walk, walk);
	return rc == -EHWPOISON ? -EOPNOTSUPP : rc;
}

/* Policy decides by the first page for all of the window. */
static int part_fault(const struct hmmrt_range_walk *walk,
		      struct hmmrt_request *req)
{
	struct hmmrt_object *object = hmmrt_vma_object(req->window.vma);

	req->addr = req->window.start;
	req->access = HMMRT_ACCESS_READ | (walk->access & HMMRT_ACCESS_WRITE);
	if (object && (walk->access & HMMRT_ACCESS_EXEC))
		return -EACCES;
	if (object) {
		req->policy.rule = HMMRT_RULE_NOT_MIGRATABLE;
		return hmmrt_object_attempt(req, object);
	}
	return hmmrt_window_map(req, hmmrt_fault_want(req));
}

int hmmrt_fault_range(struct hmmrt_binding *binding, unsigned long start,
		      unsigned long end, unsigned int access)
{
	struct hmmrt_range_walk walk = {
		.binding = binding,
		.part = part_fault,
		.access = access,
		.args = {
			.cause = HMMRT_CAUSE_DEVICE_FAULT,
			.node = NUMA_NO_NODE,
			.map = true,
			.whole = true,
		},
	};
	struct hmmrt_episode episode;
	int rc;

	if (access & ~HMMRT_ACCESS_ALL)
		return -EINVAL;
	if (!access)
		return -EFAULT;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	rc = hmmrt_walk_range(&walk, start, end);
	atomic64_inc(&binding->device_faults);
	atomic64_add(walk.result.moved, &binding->migrated_to_device);
	hmmrt_episode_end(&episode, &binding->space->events,
			  .type = HMMRT_EVENT_DEVICE_FAULT, .addr = start,
			  .pages = (end - start) >> PAGE_SHIFT,
			  .device = binding->dev->id, .access = access,
			  .error = rc, .reason = HMMRT_EVENT_RULE_NONE);
	if (rc && rc != -EAGAIN && rc != -EINTR)
		atomic64_inc(&binding->failed_faults);
	return rc;
}
EXPORT_SYMBOL_GPL(hmmrt_fault_range);

/*
 * Unlike a fault or a process's own prefetch, this moves written pages of a
 * private mapping of a file. It makes no duplicates of them: see
 * docs/limits.md.
 */
static int part_to_device(const struct hmmrt_range_walk *walk,
			  struct hmmrt_request *req)
{
	enum hmmrt_policy_want want = hmmrt_request_prefetched(&req->policy);
	struct vm_area_struct *vma = req->window.vma;
	struct hmmrt_object *object = hmmrt_vma_object(vma);

	if (object)
		return hmmrt_object_to_device(req, object);
	if (want == HMMRT_POLICY_DUPLICATE && !hmmrt_vma_may_migrate(vma))
		want = HMMRT_POLICY_MOVE;
	if (want == HMMRT_POLICY_MOVE &&
	    ((req->policy.advice.flags & HMMRT_RANGE_READ_MOSTLY) ||
	     !hmmrt_vma_may_have_migratable(vma)))
		want = HMMRT_POLICY_STAY;
	return hmmrt_window_map(req, want);
}

int hmmrt_migrate_range_to_device(struct hmmrt_binding *binding,
				  unsigned long start, unsigned long end,
				  unsigned int flags,
				  struct hmmrt_migration *result)
{
	struct hmmrt_range_walk walk = {
		.binding = binding,
		.part = part_to_device,
		.access = HMMRT_ACCESS_READ,
		.args = {
			.cause = HMMRT_CAUSE_PREFETCH,
			.node = NUMA_NO_NODE,
			.map = true,
			.reset_thrashing = true,
			.device_only = true,
			.no_peers = flags & HMMRT_MIGRATE_NO_PEERS,
		},
	};
	int rc = -EINVAL;

	if (!(flags & ~HMMRT_MIGRATE_NO_PEERS))
		rc = hmmrt_walk_range(&walk, start, end);
	atomic64_add(walk.result.moved, &binding->migrated_to_device);
	*result = walk.result;
	return rc;
}
EXPORT_SYMBOL_GPL(hmmrt_migrate_range_to_device);

static int part_to_host(const struct hmmrt_range_walk *walk,
			struct hmmrt_request *req)
{
	struct hmmrt_object *object = hmmrt_vma_object(req->window.vma);

	return object ? hmmrt_object_to_host(req, object) :
			hmmrt_window_to_host(req);
}

int hmmrt_migrate_range_to_host(struct hmmrt_binding *binding,
				unsigned long start, unsigned long end,
				struct hmmrt_migration *result)
{
	struct hmmrt_range_walk walk = {
		.binding = binding,
		.part = part_to_host,
		.access = HMMRT_ACCESS_READ,
		.args = {
			.cause = HMMRT_CAUSE_PREFETCH,
			.node = NUMA_NO_NODE,
			.reset_thrashing = true,
		},
	};
	int rc = hmmrt_walk_range(&walk, start, end);

	atomic64_add(walk.result.moved, &binding->space->migrated_to_host);
	*result = walk.result;
	return rc;
}
EXPORT_SYMBOL_GPL(hmmrt_migrate_range_to_host);
