/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pending faults in the buffer of a binding, and permits of the fault workers.
 */
#ifndef _HMMRT_SERVE_QUEUE_H
#define _HMMRT_SERVE_QUEUE_H

#include "serve.h"

/*
 * A pending fault is taken and then answered, or its lane gets a permit. A fault
 * worker may put a fault back instead of answering it.
 */
enum hmmrt_queued_state {
	HMMRT_QUEUED_PENDING,		/* in the buffer */
	HMMRT_QUEUED_TAKEN,		/* a fault worker has it */
	HMMRT_QUEUED_SERVES,	/* its lane got a permit and must serve */
	HMMRT_QUEUED_ANSWERED,	/* @rc is valid */
};

/* A fault that waits for a fault worker. It is on no list when it is freed. */
struct hmmrt_queued_fault {
	refcount_t refs;
	struct list_head link;	/* in the buffer, or the fault worker's list */
	unsigned long addr;
	unsigned int access;
	int rc;				/* written by the fault worker */
	enum hmmrt_policy_rule rule;	/* written by the fault worker */
	struct hmmrt_event_answer answer;	/* likewise */
	wait_queue_head_t wait;
	/* Protected by the lock of the buffer. */
	enum hmmrt_queued_state state;
	bool left;			/* its lane has left */
	bool once;			/* wait until @drains has changed */
	unsigned long drains;
};

struct hmmrt_queued_fault *hmmrt_queued_alloc(unsigned long addr,
					      unsigned int access);
void hmmrt_queued_put(struct hmmrt_queued_fault *queued);
void hmmrt_queued_wait(struct hmmrt_binding *binding,
		       struct hmmrt_queued_fault *queued);
enum hmmrt_queued_state
hmmrt_queued_leave(struct hmmrt_fault_buffer *buffer,
		   struct hmmrt_queued_fault *queued);
void hmmrt_queue_replay(struct hmmrt_binding *binding, struct list_head *list,
			bool once);
unsigned int hmmrt_queue_take(struct hmmrt_fault_buffer *buffer,
			      unsigned int most, struct list_head *taken);
void hmmrt_queue_put_back(struct hmmrt_fault_buffer *buffer,
			  struct list_head *taken);
void hmmrt_queue_wait_drained(struct hmmrt_fault_buffer *buffer,
			      unsigned long drains);
bool hmmrt_worker_try(struct hmmrt_binding *binding);
bool hmmrt_worker_take_or_queue(struct hmmrt_binding *binding,
				struct hmmrt_queued_fault *queued);
void hmmrt_worker_give(struct hmmrt_binding *binding);

#endif /* _HMMRT_SERVE_QUEUE_H */
