// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMMRT_IOC_PREFETCH.
 *
 * A range is cut where blocks and mappings end. The mmap_lock is dropped
 * between the parts, so that the rest of the process is not kept out for long.
 * A signal ends the call between two parts. arg->done then says where the same
 * call continues.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>

#include "api.h"

/* One HMMRT_IOC_PREFETCH. */
struct prefetch {
	struct hmmrt_space *space;
	struct hmmrt_binding *binding;	/* target; NULL: system memory */
	u64 evict_before;		/* spares pages that this call moved */
	bool full;			/* nothing is left to be evicted */
	int node;			/* for system memory, or NUMA_NO_NODE */
	struct hmmrt_prefetch *arg;
};

static u8 __user *outcomes_ptr(const struct hmmrt_prefetch *arg,
			       unsigned long addr)
{
	return (u8 __user *)u64_to_user_ptr(arg->outcomes) +
	       ((addr - arg->addr) >> PAGE_SHIFT);
}

/* Returns how many pages have an outcome that was counted. */
static u64 outcomes_counted(const struct hmmrt_prefetch *arg)
{
	u64 n = arg->out_pages_moved + arg->out_pages_there;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arg->out_stayed); i++)
		n += arg->out_stayed[i];
	return n;
}

static void count_outcome(struct hmmrt_prefetch *arg, u8 outcome,
			  unsigned long n)
{
	if (outcome == HMMRT_OUTCOME_MOVED)
		arg->out_pages_moved += n;
	else if (outcome == HMMRT_OUTCOME_THERE)
		arg->out_pages_there += n;
	else
		arg->out_stayed[outcome - HMMRT_OUTCOME_STAYED(0)] += n;
}

/*
 * Write outcomes to the caller. A page fault on that memory may have to wait
 * for a program, so the call gives up its binding while it waits. Returns
 * -ENODEV if the binding is gone afterwards.
 */
static int tell_outcomes(struct prefetch *prefetch, unsigned long addr,
			 const u8 *outcomes, unsigned long n)
{
	u8 __user *to = outcomes_ptr(prefetch->arg, addr);
	bool has_binding = prefetch->binding;
	struct hmmrt_binding_pause pause;
	unsigned long left;

	pagefault_disable();
	left = copy_to_user(to, outcomes, n);
	pagefault_enable();
	if (!left)
		return 0;
	if (has_binding)
		hmmrt_binding_let_go(&prefetch->binding, &pause);
	left = copy_to_user(to, outcomes, n);
	if (has_binding &&
	    !hmmrt_binding_resume(&prefetch->binding, prefetch->space, &pause))
		return -ENODEV;
	return left ? -EFAULT : 0;
}

/* All of [addr, end) has the same outcome, so no array for it is allocated. */
static int settle_alike(struct prefetch *prefetch, unsigned long addr,
			unsigned long end, u8 outcome)
{
	u8 outcomes[256];
	int rc;

	count_outcome(prefetch->arg, outcome, (end - addr) >> PAGE_SHIFT);
	memset(outcomes, outcome, sizeof(outcomes));
	while (prefetch->arg->outcomes && addr < end) {
		unsigned long n = min((end - addr) >> PAGE_SHIFT,
				      sizeof(outcomes));

		rc = tell_outcomes(prefetch, addr, outcomes, n);
		if (rc)
			return rc;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		addr += n << PAGE_SHIFT;
	}
	return 0;
}

/*
 * Report the outcomes of a window. Pages that kept racing stay where they are.
 * Returns -ENODEV if the binding is gone, see prefetch_lock().
 */
static int settle_window(struct prefetch *prefetch, struct hmmrt_request *req)
{
	unsigned long i, n = hmmrt_window_pages(&req->window);
	u8 merged = HMMRT_OUTCOME_STAYED(HMMRT_STAY_MERGED);
	u8 *outcomes = hmmrt_outcomes(req);
	int rc = 0;

	for (i = 0; i < n; i++) {
		if (outcomes[i] == HMMRT_OUTCOME_OPEN)
			outcomes[i] = HMMRT_OUTCOME_STAYED(HMMRT_STAY_BUSY);
		if (outcomes[i] == merged && !hmmrt_may_tell_merged())
			outcomes[i] = HMMRT_OUTCOME_STAYED(HMMRT_STAY_PINNED);
		count_outcome(prefetch->arg, outcomes[i], 1);
	}
	hmmrt_request_unreserve(req);
	if (prefetch->arg->outcomes)
		rc = tell_outcomes(prefetch, req->window.start, outcomes, n);
	req->binding = prefetch->binding;
	return rc;
}

/* Serve a part; req covers it and the mmap_lock is held. */
static int prefetch_part_any(struct hmmrt_request *req)
{
	enum hmmrt_policy_want want = hmmrt_request_prefetched(&req->policy);
	struct vm_area_struct *vma = req->window.vma;
	struct hmmrt_object *object = hmmrt_vma_object(vma);

	if (object)
		return req->binding ? hmmrt_object_to_device(req, object) :
				      hmmrt_object_to_host(req, object);
	if (!req->binding)
		return hmmrt_window_to_host(req);
	if (hmmrt_vma_check(vma, HMMRT_ACCESS_READ))
		return 0;
	if (hmmrt_vma_stays(vma) >= 0)
		want = HMMRT_POLICY_STAY;
	return hmmrt_window_map(req, want);
}

/*
 * Take the mmap_lock for the next attempt. Before it waits it releases memory
 * that was evicted for this request, so another allocation may take that. With
 * -ENODEV, and with -EINTR after a fatal signal, the binding may be gone; then
 * the request's pointer to it is NULL.
 */
static int prefetch_lock(struct prefetch *prefetch, struct hmmrt_request *req)
{
	struct mm_struct *mm = prefetch->space->mm;
	int rc;

	if (req->memory.reserved && mmap_read_trylock(mm))
		return 0;
	hmmrt_request_unreserve(req);
	rc = hmmrt_binding_mmap_read_lock(&prefetch->binding, prefetch->space);
	req->binding = prefetch->binding;
	return rc;
}

/* One attempt at a part. The window is set once there is a mapping. */
static int prefetch_attempt(struct prefetch *prefetch,
			    struct hmmrt_request *req, unsigned long start,
			    unsigned long end)
{
	struct mm_struct *mm = prefetch->space->mm;
	int rc;

	hmmrt_outcome_set(req, req->window.block->start, HMMRT_BLOCK_PAGES,
			  HMMRT_OUTCOME_OPEN);
	rc = prefetch_lock(prefetch, req);
	if (rc)
		return rc;
	rc = hmmrt_window_lookup(&req->window, mm, start, end);
	if (!rc)
		hmmrt_request_advise(req, start);
	if (!rc)
		rc = prefetch_part_any(req);
	if (!rc)
		rc = hmmrt_outcomes_explain(req);
	mmap_read_unlock(mm);
	return rc;
}

/*
 * Repeat one part while it races with other changes; the window says where it
 * ended.
 */
static int prefetch_part(struct prefetch *prefetch, struct hmmrt_request *req,
			 unsigned long start, unsigned long end)
{
	struct hmmrt_retry_limit limit = {
		.deadline = jiffies + HMMRT_SERVE_TIMEOUT,
		.until_killed = true,
	};
	int rc, rc_settle;

	req->result = (struct hmmrt_request_result){};
	req->window.start = start;
	req->window.end = start;
	memset(req->outcomes, HMMRT_OUTCOME_OPEN, sizeof(req->outcomes));
	do {
		rc = prefetch_attempt(prefetch, req, start, end);
	} while (hmmrt_request_prepare_retry(req, &limit, &rc));

	rc_settle = settle_window(prefetch, req);
	/* A part that keeps racing is no error: prefetch is best effort. */
	if (rc == -EAGAIN)
		rc = 0;
	return rc ? rc : rc_settle;
}

/*
 * A signal that is not fatal ends the call only if it has moved something. So a
 * caller that repeats the call makes progress, however often signals arrive.
 */
static bool prefetch_interrupted(const struct hmmrt_prefetch *arg)
{
	return fatal_signal_pending(current) ||
	       (hmmrt_interrupted() && arg->out_pages_moved);
}

/* Add what a part has moved. A binding that is gone has no counters. */
static void prefetch_count(const struct prefetch *prefetch,
			   const struct hmmrt_request_result *result,
			   bool to_host)
{
	struct hmmrt_binding *binding = prefetch->binding;

	if (to_host)
		atomic64_add(result->moved, &prefetch->space->migrated_to_host);
	if (!binding)
		return;
	atomic64_add(result->moved, &binding->migrated_to_device);
	atomic64_add(result->copied, &binding->copied);
}

/* Prefetch all mappings of one block. There is a mapping at @start. */
static int prefetch_parts(struct prefetch *prefetch, struct hmmrt_request *req,
			  unsigned long start, unsigned long end)
{
	bool to_host = !prefetch->binding;
	int rc;

	do {
		rc = prefetch_part(prefetch, req, start, end);
		prefetch_count(prefetch, &req->result, to_host);
		start = req->window.end;
		/* A part that finds all pages in place does not wait anywhere. */
		cond_resched();
		if (!rc && prefetch_interrupted(prefetch->arg))
			rc = -EINTR;
	} while (!rc && start < end);
	prefetch->full |= !hmmrt_may_evict_later(req);
	return rc;
}

static int prefetch_block(struct prefetch *prefetch, unsigned long start,
			  unsigned long end)
{
	const struct hmmrt_request_args args = {
		.cause = HMMRT_CAUSE_PREFETCH,
		.node = prefetch->node,
		.evict_before = prefetch->evict_before,
		.map = prefetch->binding,
		.reset_thrashing = true,
		.no_evict = prefetch->full,
	};
	struct hmmrt_request *req;
	int rc;

	req = hmmrt_request_open(prefetch->space, prefetch->binding, start,
				 &args);
	if (IS_ERR(req))
		return PTR_ERR(req);
	rc = prefetch_parts(prefetch, req, start, end);
	hmmrt_request_close(req);
	return rc;
}

/*
 * The outcome for a whole mapping if it is known without a scan of its pages,
 * or else HMMRT_OUTCOME_OPEN. A block costs memory, and a mapping may have
 * terabytes. Pages of a locked mapping are in system memory, or in coherent
 * memory if they were there before; so they have to be scanned.
 */
static u8 vma_outcome(const struct prefetch *prefetch,
		      struct vm_area_struct *vma)
{
	int stays;

	/* Only anonymous pages migrate to devices. */
	if (!prefetch->binding)
		return READ_ONCE(vma->anon_vma) ? HMMRT_OUTCOME_OPEN :
						  HMMRT_OUTCOME_THERE;
	stays = hmmrt_vma_stays(vma);
	if (stays < 0 || stays == HMMRT_STAY_PINNED)
		return HMMRT_OUTCOME_OPEN;
	return HMMRT_OUTCOME_STAYED(stays);
}

/*
 * The outcome for addresses without page tables if it is known without a block,
 * or else HMMRT_OUTCOME_OPEN. It applies from @addr to *end, which may be
 * lowered. Nothing is there. A device takes no page of the hole if it is full
 * of pages that this call has moved, or cannot evict.
 */
static u8 hole_outcome(const struct prefetch *prefetch,
		       struct vm_area_struct *vma, unsigned long addr,
		       unsigned long *end)
{
	unsigned long start = addr;
	struct hmmrt_advice advice;

	if (!prefetch->binding)
		return HMMRT_OUTCOME_THERE;
	if (hmmrt_vma_stays(vma) >= 0 || userfaultfd_armed(vma))
		return HMMRT_OUTCOME_OPEN;
	advice = hmmrt_advice_at(prefetch->space, addr, &start, end);
	if (advice.flags & HMMRT_RANGE_NO_MIGRATE)
		return HMMRT_OUTCOME_STAYED(HMMRT_STAY_POLICY);
	if (!prefetch->full)
		return HMMRT_OUTCOME_OPEN;
	if (hmmrt_account_is_full(prefetch->binding->account))
		return HMMRT_OUTCOME_STAYED(HMMRT_STAY_QUOTA);
	return hmmrt_vram_is_full(prefetch->binding->dev) ?
		       HMMRT_OUTCOME_STAYED(HMMRT_STAY_NO_MEMORY) :
		       HMMRT_OUTCOME_OPEN;
}

/*
 * The same for a memory object, from @addr to *next, which may be lowered: a
 * pinned one is where it is.
 */
static u8 object_outcome(const struct prefetch *prefetch,
			 struct vm_area_struct *vma, struct hmmrt_object *object,
			 unsigned long addr, unsigned long *next)
{
	pgoff_t pgoff = hmmrt_vma_pgoff(vma, addr);
	u32 location = hmmrt_object_location(object, pgoff);
	bool there = prefetch->binding ?
			     location == prefetch->binding->dev->id :
			     location >= HMMRT_MAX_DEVICES;
	unsigned long pages;

	if (hmmrt_object_is_migratable(object)) {
		*next = hmmrt_block_end(addr, *next);
		return HMMRT_OUTCOME_OPEN;
	}
	pages = HMMRT_CHUNK_PAGES - pgoff % HMMRT_CHUNK_PAGES;
	*next = min(*next, addr + (pages << PAGE_SHIFT));
	return there ? HMMRT_OUTCOME_THERE :
		       HMMRT_OUTCOME_STAYED(HMMRT_STAY_PINNED);
}

/*
 * The outcome of the part that begins at @addr; *next is where the part ends.
 */
static u8 part_outcome(const struct prefetch *prefetch,
		       struct vm_area_struct *vma, unsigned long addr,
		       unsigned long end, unsigned long *next)
{
	struct hmmrt_object *object = hmmrt_vma_object(vma);
	u8 outcome;

	*next = min(end, vma->vm_end);
	if (object)
		return object_outcome(prefetch, vma, object, addr, next);
	outcome = vma_outcome(prefetch, vma);
	if (outcome != HMMRT_OUTCOME_OPEN)
		return outcome;
	*next = hmmrt_next_table(vma, addr, *next);
	if (*next > addr)
		outcome = hole_outcome(prefetch, vma, addr, next);
	if (outcome == HMMRT_OUTCOME_OPEN)
		*next = hmmrt_block_end(addr, end);
	return outcome;
}

/* Do one step for the mapping at @addr; *next is where the next step begins. */
static int prefetch_step(struct prefetch *prefetch, unsigned long addr,
			 unsigned long end, unsigned long *next)
{
	struct mm_struct *mm = prefetch->space->mm;
	u8 outcome = HMMRT_OUTCOME_OPEN;
	struct vm_area_struct *vma;
	int rc;

	rc = hmmrt_binding_mmap_read_lock(&prefetch->binding, prefetch->space);
	if (rc)
		return rc;
	vma = vma_lookup(mm, addr);
	if (vma)
		outcome = part_outcome(prefetch, vma, addr, end, next);
	mmap_read_unlock(mm);
	if (!vma)
		return -EFAULT;
	rc = outcome == HMMRT_OUTCOME_OPEN ?
		     prefetch_block(prefetch, addr, *next) :
		     settle_alike(prefetch, addr, *next, outcome);
	if (rc)
		return rc;
	/* hmmrt_unbind() waits for this call, so end it soon. */
	if (prefetch->binding && READ_ONCE(prefetch->binding->going))
		return -ENODEV;
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* Translate the location: to a referenced binding, to a node, or to neither. */
static int prefetch_aim(struct prefetch *prefetch)
{
	u32 location = prefetch->arg->location;

	if (hmmrt_location_is_host(location)) {
		if (location != HMMRT_LOCATION_HOST)
			prefetch->node = location & HMMRT_LOCATION_MAX_NODE;
		return 0;
	}
	prefetch->binding = hmmrt_space_binding_get(prefetch->space, location);
	return prefetch->binding ? 0 : hmmrt_location_errno(location);
}

/* Check the range, and begin to count or go on with it. */
static int prefetch_begin(struct hmmrt_prefetch *arg)
{
	if (!arg->done) {
		arg->out_pages_moved = 0;
		arg->out_pages_there = 0;
		memset(arg->out_stayed, 0, sizeof(arg->out_stayed));
	}
	if (arg->__reserved)
		return -EOPNOTSUPP;
	/* A signal may come behind the last page. */
	if (arg->done && (arg->done > arg->len || !PAGE_ALIGNED(arg->done) ||
			  outcomes_counted(arg) != arg->done >> PAGE_SHIFT))
		return -EINVAL;
	return hmmrt_user_range_check(arg->addr, arg->len);
}

static int prefetch_range(struct hmmrt_space *space, struct hmmrt_prefetch *arg)
{
	struct prefetch prefetch = {
		.space = space,
		.node = NUMA_NO_NODE,
		.arg = arg,
	};
	unsigned long addr, end, next;
	int rc;

	rc = prefetch_begin(arg);
	if (!rc)
		rc = prefetch_aim(&prefetch);
	if (rc)
		return rc;
	if (!mmget_not_zero(space->mm)) {
		rc = -ESRCH;
		goto out_put;
	}
	if (prefetch.binding)
		prefetch.evict_before =
			READ_ONCE(prefetch.binding->dev->vram.given);
	end = arg->addr + arg->len;
	rc = hmmrt_binding_mmap_read_lock(&prefetch.binding, space);
	if (!rc) {
		rc = hmmrt_advice_prefetched(space, arg->addr, end,
					     arg->location);
		mmap_read_unlock(space->mm);
	}
	for (addr = arg->addr + arg->done; !rc && addr < end; addr = next)
		rc = prefetch_step(&prefetch, addr, end, &next);
	arg->done = rc == -EINTR ? outcomes_counted(arg) << PAGE_SHIFT : 0;
	/* Each page has one outcome. */
	VM_WARN_ON_ONCE(!rc && outcomes_counted(arg) != arg->len >> PAGE_SHIFT);
	mmput(space->mm);
out_put:
	if (prefetch.binding)
		hmmrt_binding_put(prefetch.binding);
	return rc;
}

int hmmrt_ioc_prefetch(struct hmmrt_space *space, void *data)
{
	struct hmmrt_prefetch *arg = data;
	u64 before = arg->done ? arg->out_pages_moved : 0;
	struct hmmrt_episode episode;
	int rc;

	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	rc = prefetch_range(space, arg);
	hmmrt_episode_end(&episode, &space->events,
			  .type = HMMRT_EVENT_PREFETCH, .addr = arg->addr,
			  .pages = arg->out_pages_moved - before,
			  .to = arg->location, .error = rc);
	return rc;
}
