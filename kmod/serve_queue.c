// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fault buffer of a binding: faults that wait for a fault worker, and how
 * many fault workers run at a time.
 *
 * Permits    A fault worker is a lane that serves faults for other lanes; it
 *            needs a fault worker permit. It serves one batch, so that its own
 *            lane continues, and hands its permit to the fault that has been
 *            pending longest, with a wakeup of that lane. So while a fault is
 *            pending, at least one lane has a permit. A lane that gets a permit
 *            while it is about to leave for a signal makes its attempt all the
 *            same, and then hands the permit to the next.
 * Signals    A waiting lane leaves at once, and takes its fault back if no
 *            fault worker has begun to serve it.
 * Lifetime   A queued fault is referenced by its lane, and by the buffer or the
 *            fault worker that took it; either may be the last. A waiting lane
 *            has no reference to the process's mm, because that would keep the
 *            process from exiting. No fault is in progress at the time of
 *            hmmrt_unbind(), so no lane waits for a binding that is being
 *            removed.
 * Locking    buffer->lock protects the list, the counts, and the state of
 *            queued faults.
 */
#include <linux/cpumask.h>
#include <linux/mmdebug.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "serve.h"

void hmmrt_queue_init(struct hmmrt_binding *binding)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;

	spin_lock_init(&buffer->lock);
	INIT_LIST_HEAD(&buffer->pending);
}

/* At the end of a binding no call with it is running. */
void hmmrt_queue_check_empty(struct hmmrt_binding *binding)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;

	spin_lock(&buffer->lock);
	WARN_ON(buffer->workers || buffer->nr_pending ||
		!list_empty(&buffer->pending));
	spin_unlock(&buffer->lock);
}

/* Check the buffer after a change: see struct hmmrt_fault_buffer. */
static void buffer_check(const struct hmmrt_fault_buffer *buffer)
{
	lockdep_assert_held(&buffer->lock);
	VM_WARN_ON_ONCE(list_empty(&buffer->pending) != !buffer->nr_pending);
	VM_WARN_ON_ONCE(buffer->nr_pending && !buffer->workers);
}

/* --- queued faults -------------------------------------------------------- */

struct hmmrt_queued_fault *hmmrt_queued_alloc(unsigned long addr,
					      unsigned int access)
{
	struct hmmrt_queued_fault *queued;

	queued = kzalloc(sizeof(*queued), GFP_KERNEL | __GFP_NOWARN);
	if (!queued)
		return NULL;
	/* One reference is the lane's, the other one the buffer's. */
	refcount_set(&queued->refs, 2);
	queued->addr = addr;
	queued->access = access;
	init_waitqueue_head(&queued->wait);
	return queued;
}

void hmmrt_queued_put(struct hmmrt_queued_fault *queued)
{
	if (!refcount_dec_and_test(&queued->refs))
		return;
	VM_WARN_ON_ONCE(!list_empty(&queued->link));
	kfree(queued);
}

/* Wake the lanes. Their states were set under the lock before. */
static void wake_all_of(struct list_head *list)
{
	struct hmmrt_queued_fault *queued, *next;

	list_for_each_entry_safe(queued, next, list, link) {
		list_del_init(&queued->link);
		wake_up(&queued->wait);
		hmmrt_queued_put(queued);
	}
}

/*
 * Answer the faults of @list, which is empty afterwards; their lanes continue.
 */
void hmmrt_queue_replay(struct hmmrt_fault_buffer *buffer,
			struct list_head *list)
{
	struct hmmrt_queued_fault *queued;

	spin_lock(&buffer->lock);
	list_for_each_entry(queued, list, link) {
		VM_WARN_ON_ONCE(queued->state != HMMRT_QUEUED_TAKEN);
		queued->state = HMMRT_QUEUED_ANSWERED;
	}
	spin_unlock(&buffer->lock);
	wake_all_of(list);
}

/*
 * Take the oldest pending faults, @most of them. Returns how many there were.
 */
unsigned int hmmrt_queue_take(struct hmmrt_fault_buffer *buffer,
			      unsigned int most, struct list_head *taken)
{
	struct hmmrt_queued_fault *queued, *next;
	unsigned int n = 0;

	spin_lock(&buffer->lock);
	list_for_each_entry_safe(queued, next, &buffer->pending, link) {
		if (n == most)
			break;
		VM_WARN_ON_ONCE(queued->state != HMMRT_QUEUED_PENDING ||
				queued->left);
		queued->state = HMMRT_QUEUED_TAKEN;
		list_move_tail(&queued->link, taken);
		n++;
	}
	WRITE_ONCE(buffer->nr_pending, buffer->nr_pending - n);
	buffer_check(buffer);
	spin_unlock(&buffer->lock);
	return n;
}

/*
 * Put faults back in front of newer ones, and drop faults of lanes that have
 * left.
 */
void hmmrt_queue_put_back(struct hmmrt_fault_buffer *buffer,
			  struct list_head *taken)
{
	struct hmmrt_queued_fault *queued, *next;
	LIST_HEAD(left);
	unsigned int n = 0;

	if (list_empty(taken))
		return;
	spin_lock(&buffer->lock);
	list_for_each_entry_safe(queued, next, taken, link) {
		if (queued->left) {
			list_move(&queued->link, &left);
			continue;
		}
		queued->state = HMMRT_QUEUED_PENDING;
		n++;
	}
	list_splice_init(taken, &buffer->pending);
	WRITE_ONCE(buffer->nr_pending, buffer->nr_pending + n);
	buffer_check(buffer);
	spin_unlock(&buffer->lock);
	wake_all_of(&left);
}

/* --- fault worker permits ------------------------------------------------- */

static unsigned int most_workers(const struct hmmrt_binding *binding)
{
	u32 most = hmmrt_binding_knob(binding, HMMRT_KNOB_FAULT_WORKERS);

	return most ? most : num_online_cpus();
}

bool hmmrt_worker_try(struct hmmrt_binding *binding)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;
	unsigned int most = most_workers(binding);
	bool taken;

	spin_lock(&buffer->lock);
	taken = buffer->workers < most;
	buffer->workers += taken;
	spin_unlock(&buffer->lock);
	return taken;
}

/*
 * Take a permit if there is one by now, or else queue @queued. With NULL, take
 * a permit in excess of the limit. Returns true if a permit was taken.
 */
bool hmmrt_worker_take_or_queue(struct hmmrt_binding *binding,
				struct hmmrt_queued_fault *queued)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;
	unsigned int most = most_workers(binding);
	bool taken;

	spin_lock(&buffer->lock);
	taken = !queued || buffer->workers < most;
	if (taken) {
		buffer->workers++;
	} else {
		list_add_tail(&queued->link, &buffer->pending);
		WRITE_ONCE(buffer->nr_pending, buffer->nr_pending + 1);
	}
	buffer_check(buffer);
	spin_unlock(&buffer->lock);
	return taken;
}

/* A fault worker ends, and has no fault of another lane left. */
void hmmrt_worker_give(struct hmmrt_binding *binding)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;
	unsigned int most = most_workers(binding);
	struct hmmrt_queued_fault *queued, *next;
	LIST_HEAD(list);

	spin_lock(&buffer->lock);
	VM_WARN_ON_ONCE(!buffer->workers);
	buffer->workers--;
	/* Hand free permits to the oldest faults. */
	list_for_each_entry_safe(queued, next, &buffer->pending, link) {
		if (buffer->workers >= most)
			break;
		queued->state = HMMRT_QUEUED_SERVES;
		list_move_tail(&queued->link, &list);
		buffer->workers++;
		WRITE_ONCE(buffer->nr_pending, buffer->nr_pending - 1);
	}
	buffer_check(buffer);
	spin_unlock(&buffer->lock);
	wake_all_of(&list);
}

/* --- waiting -------------------------------------------------------------- */

static bool queued_is_pending(struct hmmrt_fault_buffer *buffer,
			      const struct hmmrt_queued_fault *queued)
{
	bool pending;

	spin_lock(&buffer->lock);
	pending = queued->state == HMMRT_QUEUED_PENDING ||
		  queued->state == HMMRT_QUEUED_TAKEN;
	spin_unlock(&buffer->lock);
	return pending;
}

/*
 * Wait until the fault is answered or the lane has a permit, or for a signal,
 * or until the wait timeout. Task work that is not a signal keeps ending an
 * interruptible sleep; then the lane sleeps killably and checks for signals
 * periodically.
 */
void hmmrt_queued_wait(struct hmmrt_binding *binding,
		       struct hmmrt_queued_fault *queued)
{
	struct hmmrt_fault_buffer *buffer = &binding->faults;
	u32 timeout =
		hmmrt_binding_knob(binding, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC);
	unsigned long end = jiffies + msecs_to_jiffies(timeout);
	DEFINE_WAIT(wait);

	for (;;) {
		bool work = signal_pending(current);
		long left = end - jiffies;

		prepare_to_wait(&queued->wait, &wait,
				work ? TASK_KILLABLE : TASK_INTERRUPTIBLE);
		if (!queued_is_pending(buffer, queued) ||
		    hmmrt_interrupted() || left <= 0)
			break;
		schedule_timeout(work ? min_t(long, left, HZ / 10) : left);
	}
	finish_wait(&queued->wait, &wait);
}

/*
 * The lane leaves, with its fault if that is still pending. Returns the state.
 */
enum hmmrt_queued_state
hmmrt_queued_leave(struct hmmrt_fault_buffer *buffer,
		   struct hmmrt_queued_fault *queued)
{
	enum hmmrt_queued_state state;

	spin_lock(&buffer->lock);
	state = queued->state;
	queued->left = true;
	if (state == HMMRT_QUEUED_PENDING) {
		list_del_init(&queued->link);
		WRITE_ONCE(buffer->nr_pending, buffer->nr_pending - 1);
	}
	buffer_check(buffer);
	spin_unlock(&buffer->lock);
	if (state == HMMRT_QUEUED_PENDING)
		hmmrt_queued_put(queued);
	return state;
}
