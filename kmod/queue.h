/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults that wait in the buffer of a binding, and slots of who serves them. */
#ifndef _HMMRT_QUEUE_H
#define _HMMRT_QUEUE_H

#include "hmmrt.h"

enum hmmrt_queued_state {
	HMMRT_QUEUED_PENDING,		/* in the buffer */
	HMMRT_QUEUED_TAKEN,		/* a servicer has it */
	HMMRT_QUEUED_SERVES,		/* its lane has a slot, and does the rest */
	HMMRT_QUEUED_ANSWERED,	/* @rc holds */
};

struct hmmrt_queued_fault {
	refcount_t refs;
	struct list_head link;		/* of who has it: buffer or servicer */
	unsigned long addr;
	unsigned int access;
	int rc;				/* of the servicer, until it is answered */
	enum hmmrt_policy_rule rule;	/* likewise */
	wait_queue_head_t wait;
	/* Under the lock of the buffer. */
	enum hmmrt_queued_state state;
	bool left;			/* its lane is gone */
	bool once;			/* wait until @drains is another number */
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
bool hmmrt_slot_try(struct hmmrt_binding *binding);
bool hmmrt_slot_take_or_queue(struct hmmrt_binding *binding,
			      struct hmmrt_queued_fault *queued);
void hmmrt_slot_give(struct hmmrt_binding *binding);

#endif /* _HMMRT_QUEUE_H */
