// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of a device: which lane serves them, in what batches, and when the
 * waiting lanes continue.
 *
 * Workers    A fault worker is a lane that serves faults for itself and for
 *            others. A lane that faults serves its fault itself, in its own
 *            context, as long as the number of fault workers is below the limit
 *            (fault_workers): it holds a fault worker permit. Otherwise the
 *            fault is queued in the buffer of the binding (serve_queue.c), and
 *            the lane waits.
 * Batches    A fault worker takes pending faults along with its own fault. The
 *            block of its own fault is served first. After sorting, all faults
 *            of a block form one group: one block, one prepare(), one request,
 *            and the window that policy chooses takes all of them into account.
 *            Faults of the same page become one, with the access rights of all.
 *            If those are refused, each access is served by itself, so that a
 *            read succeeds even if only the write is refused.
 * Signals    A fault worker that is interrupted puts unserved faults back at
 *            the front of the buffer. A lane that starts with a signal pending
 *            serves only its own fault, once: this way it makes progress even
 *            under a storm of signals. A lane that is being killed serves
 *            nothing.
 * Stuck      A fault worker may wait for a program: the page that it faults in
 *            may belong to FUSE or be registered with userfaultfd, and that
 *            program may need the device. So a lane that has waited for
 *            fault_wait_timeout_msec serves its own fault, and no other, with a
 *            permit beyond the limit.
 * Replay     The replay policy says when served lanes continue: when their
 *            group is served (BLOCK); when the batch is served (BATCH); or the
 *            same, together with pending faults that the batch has mapped too
 *            (BATCH_FLUSH). The fault worker's own lane never continues before
 *            its batch is done.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "serve.h"

/* The work of one fault worker. */
struct batch {
	struct hmmrt_binding *binding;
	struct hmmrt_batch_fault own;
	struct hmmrt_batch_fault *faults;	/* &own, or an array */
	unsigned int n;
	/* From the buffer, in order; not answered yet. */
	struct list_head taken;
	/* Answered; their lanes wait for a replay. */
	struct list_head answered;
	unsigned long deadline;
	u32 replay;
	bool alone;			/* serve only the own fault */
	bool nowait;	/* wait for no program and no other lane */
	bool coalesce;
	struct hmmrt_charging charging;
	enum hmmrt_policy_rule decided;	/* rule for the fault being served */
	int rc;				/* result of the own fault */
	enum hmmrt_policy_rule rule;
	struct hmmrt_batch_shape shape; /* once it is counted */
	bool counted;
	struct hmmrt_episode episode;
};

/* --- serving -------------------------------------------------------------- */

static void batch_answer(struct batch *batch, unsigned int first,
			 unsigned int end, int rc)
{
	for (; first < end; first++) {
		struct hmmrt_queued_fault *queued = batch->faults[first].queued;

		if (!queued) {
			batch->rc = rc;
			batch->rule = batch->decided;
			continue;
		}
		queued->rc = rc;
		queued->rule = batch->decided;
		if (hmmrt_events_on())
			hmmrt_episode_answer(&batch->episode, &queued->answer);
		list_move_tail(&queued->link, &batch->answered);
	}
}

/* Concurrent updates may lose a few faults. */
static void count_faults(struct hmmrt_block_map *map, unsigned int n)
{
	WRITE_ONCE(map->faults, READ_ONCE(map->faults) + n);
}

/*
 * Serve the faults of one page: all accesses together or, if those are refused,
 * each access alone. On -EINTR the rest are not answered.
 */
static int page_map(struct batch *batch, struct hmmrt_request *req,
		    unsigned int first, unsigned int end)
{
	struct hmmrt_batch_fault *faults = batch->faults;
	unsigned int next = end;
	int rc;

	while (first < end) {
		struct hmmrt_retry_limit limit = {
			.deadline = batch->deadline,
			.retries = &batch->binding->retries,
		};

		hmmrt_request_aim(req, faults[first].addr,
				  hmmrt_batch_access(faults, first, next));
		do {
			rc = hmmrt_fault_attempt(req);
		} while (hmmrt_request_prepare_retry(req, &limit, &rc));
		batch->decided = req->policy.rule;
		if (rc == -EINTR)
			return rc;
		/* Perhaps only one of the accesses is refused. */
		if (rc && rc != -EAGAIN &&
		    hmmrt_batch_access_end(faults, first, next) < next) {
			next = hmmrt_batch_access_end(faults, first, end);
			continue;
		}
		batch_answer(batch, first, next, rc);
		first = next;
		next = hmmrt_batch_access_end(faults, first, end);
	}
	return 0;
}

/*
 * Refuse faults up to the first one that can be served, so that no memory is
 * spent on the block before. Returns the index of that fault, or -EINTR.
 */
static int refuse_first(struct batch *batch, unsigned int first,
			unsigned int end)
{
	struct hmmrt_binding *binding = batch->binding;
	unsigned int next;
	int rc;

	/* The memory is spent already, so an attempt finds out. */
	if (hmmrt_block_is_known(binding, batch->faults[first].addr))
		return first;
	for (; first < end; first = next) {
		next = hmmrt_batch_access_end(batch->faults, first, end);
		rc = hmmrt_mapped_check(binding->space, binding->dev->id,
					batch->faults[first].addr,
					batch->faults[first].access,
					batch->nowait);
		if (!rc)
			break;
		if (rc == -EINTR)
			return rc;
		batch_answer(batch, first, next, rc);
	}
	return first;
}

/* Record the pages of the group, for policy. */
static void mark_faulted(struct batch *batch, struct hmmrt_request *req,
			 unsigned int first, unsigned int end)
{
	struct hmmrt_block *block = req->window.block;
	unsigned int n = 0;

	for (; first < end; first++) {
		unsigned long offset = batch->faults[first].addr - block->start;

		VM_WARN_ON_ONCE(offset >= HMMRT_BLOCK_SIZE);
		n += !__test_and_set_bit(offset >> PAGE_SHIFT, req->faulted);
	}
	/* With nowait the fault may come again; it is counted once answered. */
	if (!batch->nowait)
		count_faults(hmmrt_request_map(req), n);
}

/* Serve the faults of one block. On -EINTR some are not answered yet. */
static int group_map(struct batch *batch, unsigned int first, unsigned int end)
{
	const struct hmmrt_request_args args = {
		.cause = HMMRT_CAUSE_DEVICE_FAULT,
		.node = NUMA_NO_NODE,
		.evict_before = U64_MAX,
		.map = true,
		.nowait = batch->nowait,
	};
	struct hmmrt_binding *binding = batch->binding;
	struct hmmrt_request *req;
	unsigned int next;
	int rc = refuse_first(batch, first, end);

	if (rc < 0)
		return rc;
	first = rc;
	if (first == end)
		return 0;
	req = hmmrt_request_open(binding->space, binding,
				 batch->faults[first].addr, &args);
	if (IS_ERR(req)) {
		rc = PTR_ERR(req);
		if (rc == -EINTR)
			return rc;
		batch_answer(batch, first, end, rc);
		return 0;
	}
	rc = 0;
	mark_faulted(batch, req, first, end);
	for (; !rc && first < end; first = next) {
		next = hmmrt_batch_page_end(batch->faults, first, end,
					    batch->coalesce);
		rc = page_map(batch, req, first, next);
	}
	atomic64_add(req->result.moved, &binding->migrated_to_device);
	atomic64_add(req->result.copied, &binding->copied);
	if (batch->nowait && batch->rc != -ENOLCK)
		count_faults(hmmrt_request_map(req), 1);
	hmmrt_request_close(req);
	return rc;
}

/*
 * Take the own fault and pending ones. If there is no memory for an array, take
 * only the own fault.
 */
static void batch_take(struct batch *batch)
{
	struct hmmrt_binding *binding = batch->binding;
	struct hmmrt_fault_buffer *buffer = &binding->faults;
	u32 most = hmmrt_binding_knob(binding, HMMRT_KNOB_FAULT_BATCH_COUNT);
	unsigned int pending = READ_ONCE(buffer->nr_pending);
	struct hmmrt_queued_fault *queued;
	struct hmmrt_batch_fault *faults;

	batch->faults = &batch->own;
	batch->n = 1;
	pending = min(pending, most - 1);
	if (!pending || batch->alone || hmmrt_interrupted())
		return;
	faults = kvmalloc_array(pending + 1, sizeof(*faults),
				GFP_KERNEL | __GFP_NOWARN);
	if (!faults)
		return;
	hmmrt_queue_take(buffer, pending, &batch->taken);
	faults[0] = batch->own;
	list_for_each_entry(queued, &batch->taken, link)
		faults[batch->n++] = (struct hmmrt_batch_fault){
			.addr = queued->addr,
			.access = queued->access,
			.queued = queued,
		};
	VM_WARN_ON_ONCE(batch->n > pending + 1);
	batch->faults = faults;
	hmmrt_batch_sort(batch->faults, batch->n);
}

static void batch_count(struct batch *batch)
{
	struct hmmrt_binding *binding = batch->binding;

	batch->shape =
		hmmrt_batch_measure(batch->faults, batch->n, batch->coalesce);
	batch->counted = true;
	atomic64_inc(&binding->fault_batches);
	atomic64_add(batch->shape.merged, &binding->merged_faults);
}

/* The faults that it answered may have continued already. */
static void batch_event(struct batch *batch)
{
	struct hmmrt_binding *binding = batch->binding;

	if (!batch->counted) {
		hmmrt_episode_cancel(&batch->episode);
		return;
	}
	hmmrt_episode_end(&batch->episode, &binding->space->events,
			  .type = HMMRT_EVENT_FAULT_BATCH,
			  .device = binding->dev->id, .addr = batch->own.addr,
			  .count = batch->n, .groups = batch->shape.groups,
			  .pages = batch->n - batch->shape.merged);
}

/* Let lanes with an answer continue, if the replay policy says so now. */
static void batch_replay(struct batch *batch)
{
	struct hmmrt_binding *binding = batch->binding;

	if (batch->rc != -ENOLCK) {
		atomic64_inc(&binding->replays);
		hmmrt_event(&binding->space->events, .type = HMMRT_EVENT_REPLAY,
			    .device = binding->dev->id,
			    .count = list_count_nodes(&batch->answered));
	}
	if (!list_empty(&batch->answered))
		hmmrt_queue_replay(&binding->faults, &batch->answered);
}

/* Return the start of the group with the own fault, and its end in *end. */
static unsigned int own_group(const struct batch *batch, unsigned int *end)
{
	unsigned int first, i;

	for (first = 0;; first = *end) {
		*end = hmmrt_batch_group_end(batch->faults, first, batch->n);
		for (i = first; i < *end; i++)
			if (!batch->faults[i].queued)
				return first;
	}
}

/* Returns false if a signal interrupted it: some faults may be unanswered. */
static bool batch_serve_group(struct batch *batch, unsigned int first,
			      unsigned int end)
{
	if (group_map(batch, first, end) == -EINTR)
		return false;
	if (batch->replay == HMMRT_REPLAY_BLOCK)
		batch_replay(batch);
	cond_resched();
	return true;
}

/*
 * Serve group by group, that of the own fault first: otherwise a lane that is
 * interrupted again and again would keep serving other faults and never its
 * own.
 */
static void batch_serve(struct batch *batch)
{
	unsigned int own_end, own = own_group(batch, &own_end);
	unsigned int first, end;

	if (!batch_serve_group(batch, own, own_end))
		return;
	for (first = 0; first < batch->n; first = end) {
		end = hmmrt_batch_group_end(batch->faults, first, batch->n);
		if (first == own)
			continue;
		if (hmmrt_interrupted() ||
		    !batch_serve_group(batch, first, end))
			return;
	}
}

static bool queued_is_mapped(struct hmmrt_binding *binding,
			     const struct hmmrt_queued_fault *queued)
{
	struct hmmrt_block *block =
		hmmrt_block_find(binding->space, queued->addr);
	bool mapped = block && hmmrt_is_mapped(binding, block, queued->addr,
					       queued->access);

	hmmrt_block_put(block);
	return mapped;
}

/*
 * Let lanes continue with faults that the batch has mapped too. Put the others
 * back.
 */
static void batch_flush(struct batch *batch)
{
	struct hmmrt_binding *binding = batch->binding;
	struct hmmrt_fault_buffer *buffer = &binding->faults;
	struct hmmrt_queued_fault *queued, *next;
	LIST_HEAD(taken);
	LIST_HEAD(mapped);
	unsigned int n = 0;

	if (!READ_ONCE(buffer->nr_pending) ||
	    !hmmrt_queue_take(buffer, UINT_MAX, &taken))
		return;
	list_for_each_entry_safe(queued, next, &taken, link) {
		if (!queued_is_mapped(binding, queued))
			continue;
		queued->rc = 0;
		if (hmmrt_events_on())
			hmmrt_episode_answer(&batch->episode, &queued->answer);
		list_move_tail(&queued->link, &mapped);
		n++;
	}
	atomic64_add(n, &binding->flushed_faults);
	hmmrt_queue_replay(buffer, &mapped);
	hmmrt_queue_put_back(buffer, &taken);
}

/* The process has exited, so no fault can be served. */
static void refuse_pending(struct hmmrt_binding *binding)
{
	struct hmmrt_queued_fault *queued;
	LIST_HEAD(taken);

	hmmrt_queue_take(&binding->faults, UINT_MAX, &taken);
	list_for_each_entry(queued, &taken, link)
		queued->rc = -ESRCH;
	hmmrt_queue_replay(&binding->faults, &taken);
}

/*
 * Take the faults to serve. Returns false if none can be: the lane is being
 * killed, or the process has exited.
 */
static bool batch_begin(struct batch *batch)
{
	struct mm_struct *mm = batch->binding->space->mm;

	if (fatal_signal_pending(current))
		return false;
	if (!mmget_not_zero(mm)) {
		batch->rc = -ESRCH;
		refuse_pending(batch->binding);
		return false;
	}
	/* The agent and the owner may be in different cgroups. */
	batch->charging = hmmrt_charge_to(mm);
	batch_take(batch);
	if (!batch->nowait)
		batch_count(batch);
	return true;
}

static void batch_end(struct batch *batch)
{
	struct hmmrt_binding *binding = batch->binding;

	hmmrt_episode_phase(HMMRT_PHASE_REPLAY);
	if (batch->replay != HMMRT_REPLAY_BLOCK ||
	    !list_empty(&batch->answered))
		batch_replay(batch);
	hmmrt_queue_put_back(&binding->faults, &batch->taken);
	/* No lane is left waiting. */
	VM_WARN_ON_ONCE(!list_empty(&batch->answered) ||
			!list_empty(&batch->taken));
	/* Otherwise the fault comes again when the page is present. */
	if (batch->nowait && batch->rc != -ENOLCK)
		batch_count(batch);
	hmmrt_charge_end(batch->charging);
	if (batch->replay == HMMRT_REPLAY_BATCH_FLUSH)
		batch_flush(batch);
	if (batch->faults != &batch->own)
		kvfree(batch->faults);
	/* This may be the last reference: do not run exit_mmap() in a fault. */
	mmput_async(binding->space->mm);
}

/* The faults that a fault worker serves, and the waits that it makes. */
enum service_mode {
	SERVE_PENDING, /* its own fault and pending ones */
	SERVE_ALONE,
	SERVE_NOWAIT, /* own fault only; see HMMRT_FAULT_NOWAIT */
	SERVE_ANSWERED, /* none: another fault worker, or a signal, answered */
};

/*
 * Serve a batch, group by group, with a permit, which is released at the end.
 */
static int batch_run(struct hmmrt_binding *binding, unsigned long addr,
		     unsigned int access, enum service_mode mode,
		     enum hmmrt_policy_rule *rule)
{
	struct batch batch = {
		.binding = binding,
		.own = { .addr = addr, .access = access },
		.taken = LIST_HEAD_INIT(batch.taken),
		.answered = LIST_HEAD_INIT(batch.answered),
		/*
		 * The driver's thread has other faults to serve, so make few
		 * attempts.
		 */
		.deadline = mode == SERVE_NOWAIT ?
				    jiffies - 1 :
				    jiffies + HMMRT_SERVE_TIMEOUT,
		.alone = mode != SERVE_PENDING,
		.nowait = mode == SERVE_NOWAIT,
		.replay = hmmrt_binding_knob(binding,
					     HMMRT_KNOB_FAULT_REPLAY_POLICY),
		.coalesce = hmmrt_binding_knob(binding,
					       HMMRT_KNOB_FAULT_COALESCE),
		.rc = -EINTR,
	};

	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
	hmmrt_episode_begin(&batch.episode, HMMRT_PHASE_DECIDE);
	if (batch_begin(&batch)) {
		batch_serve(&batch);
		batch_end(&batch);
	}
	batch_event(&batch);
	hmmrt_episode_phase(HMMRT_PHASE_REPLAY);
	hmmrt_worker_give(binding);
	*rule = batch.rule;
	return batch.rc;
}

/* --- waiting -------------------------------------------------------------- */

/*
 * Wait as a queued fault. Returns what the lane has to do then; if that is
 * SERVE_ANSWERED, *rc and *rule say what became of the fault. Otherwise it has
 * a permit.
 */
static enum service_mode queued_wait(struct hmmrt_binding *binding,
				     struct hmmrt_queued_fault *queued,
				     struct hmmrt_episode *episode, int *rc,
				     enum hmmrt_policy_rule *rule)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;

	hmmrt_queued_wait(binding, queued);
	switch (hmmrt_queued_leave(buffer, queued)) {
	case HMMRT_QUEUED_SERVES:
		return SERVE_PENDING;
	case HMMRT_QUEUED_ANSWERED:
		hmmrt_episode_answered(episode, &queued->answer);
		*rule = queued->rule;
		*rc = queued->rc;
		return SERVE_ANSWERED;
	default:
		if (hmmrt_interrupted()) {
			*rc = -EINTR;
			return SERVE_ANSWERED;
		}
		/*
		 * No fault worker has taken it, or the one that did is stuck.
		 */
		hmmrt_worker_take_or_queue(binding, NULL);
		return SERVE_ALONE;
	}
}

/* Get a permit, or an answer; as queued_wait(). */
static enum service_mode permit_or_answer(struct hmmrt_binding *binding,
					  unsigned long addr,
					  unsigned int access,
					  struct hmmrt_episode *episode,
					  int *rc, enum hmmrt_policy_rule *rule)
{
	struct hmmrt_queued_fault *queued;
	enum service_mode mode;

	if (hmmrt_worker_try(binding))
		return SERVE_PENDING;
	queued = hmmrt_queued_alloc(addr, access);
	if (hmmrt_worker_take_or_queue(binding, queued)) {
		kfree(queued);
		return SERVE_PENDING;
	}
	mode = queued_wait(binding, queued, episode, rc, rule);
	hmmrt_queued_put(queued);
	return mode;
}

int hmmrt_fault_of(struct hmmrt_binding *binding, unsigned long addr,
		   unsigned int access, u64 ip)
{
	enum hmmrt_policy_rule rule = HMMRT_RULE_NONE;
	bool nowait = access & HMMRT_FAULT_NOWAIT;
	unsigned long page = addr & PAGE_MASK;
	struct hmmrt_episode episode;
	enum service_mode mode;
	int rc = 0;

	might_sleep();
	access &= ~HMMRT_FAULT_NOWAIT;
	if (access & ~HMMRT_ACCESS_ALL)
		return -EINVAL;
	if (addr >= TASK_SIZE_MAX || !access)
		return -EFAULT;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_QUEUE);
	if (!nowait)
		rc = hmmrt_throttle(binding, addr);
	if (rc)
		goto out_cancel;
	if (nowait) {
		/*
		 * Fault workers may wait for programs, so use a permit beyond
		 * the limit.
		 */
		hmmrt_worker_take_or_queue(binding, NULL);
		mode = SERVE_NOWAIT;
	} else {
		mode = permit_or_answer(binding, page, access, &episode, &rc,
					&rule);
	}
	if (mode != SERVE_ANSWERED)
		rc = batch_run(binding, page, access, mode, &rule);
	if (rc == -ENOLCK) {
		rc = -EBUSY;
		goto out_cancel;
	}

	atomic64_inc(&binding->device_faults);
	if (rc == -EHWPOISON)
		rc = -EOPNOTSUPP;
	hmmrt_episode_end(&episode, &binding->space->events,
			  .type = HMMRT_EVENT_DEVICE_FAULT, .addr = addr,
			  .pages = 1, .device = binding->dev->id,
			  .access = access, .error = rc, .reason = rule,
			  .ip = ip);
	if (rc && rc != -EAGAIN && rc != -EINTR)
		atomic64_inc(&binding->failed_faults);
	return rc;

out_cancel:
	hmmrt_episode_cancel(&episode);
	return rc;
}
EXPORT_SYMBOL_GPL(hmmrt_fault_of);
