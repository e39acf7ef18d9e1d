/* SPDX-License-Identifier: GPL-2.0-only */
/* Serving devices. */
#ifndef _HMMRT_SERVE_H
#define _HMMRT_SERVE_H

#include "move.h"

/* A range that is served for a driver, window by window; see serve_range.c. */
struct hmmrt_range_walk {
	struct hmmrt_binding *binding;
	/* One attempt at the window; as hmmrt_window_map(). */
	int (*part)(const struct hmmrt_range_walk *walk,
		    struct hmmrt_request *req);
	unsigned int access;		/* that the mappings must permit */
	/* For all requests; the walk sets evict_before and no_evict. */
	struct hmmrt_request_args args;
	struct hmmrt_migration result;
};

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
};

/* serve_window.c */
int hmmrt_window_map(struct hmmrt_request *req, enum hmmrt_policy_want want);
void hmmrt_count_mapped(struct hmmrt_binding *binding, unsigned long addr,
			unsigned int mapped, unsigned int remote);
int hmmrt_window_commit(struct hmmrt_request *req, unsigned long seq,
			void (*fill)(struct hmmrt_request *req));
bool hmmrt_is_mapped(const struct hmmrt_binding *binding,
		     struct hmmrt_block *block, unsigned long addr,
		     unsigned int access);
int hmmrt_fault_attempt(struct hmmrt_request *req);

/* serve_object.c */
int hmmrt_object_attempt(struct hmmrt_request *req,
			 struct hmmrt_object *object);
int hmmrt_object_to_device(struct hmmrt_request *req,
			   struct hmmrt_object *object);
int hmmrt_object_to_host(struct hmmrt_request *req,
			 struct hmmrt_object *object);
void hmmrt_object_map_ahead(struct hmmrt_binding *binding, unsigned long start,
			    unsigned long end);
int hmmrt_object_can_reach(const struct vm_area_struct *vma,
			   const struct hmmrt_device *dev, unsigned long start,
			   unsigned long end);

/* serve_queue.c */
void hmmrt_queue_init(struct hmmrt_binding *binding);
void hmmrt_queue_check_empty(struct hmmrt_binding *binding);
struct hmmrt_queued_fault *hmmrt_queued_alloc(unsigned long addr,
					      unsigned int access);
void hmmrt_queued_put(struct hmmrt_queued_fault *queued);
void hmmrt_queued_wait(struct hmmrt_binding *binding,
		       struct hmmrt_queued_fault *queued);
enum hmmrt_queued_state
hmmrt_queued_leave(struct hmmrt_fault_buffer *buffer,
		   struct hmmrt_queued_fault *queued);
void hmmrt_queue_replay(struct hmmrt_fault_buffer *buffer,
			struct list_head *list);
unsigned int hmmrt_queue_take(struct hmmrt_fault_buffer *buffer,
			      unsigned int most, struct list_head *taken);
void hmmrt_queue_put_back(struct hmmrt_fault_buffer *buffer,
			  struct list_head *taken);
bool hmmrt_worker_try(struct hmmrt_binding *binding);
bool hmmrt_worker_take_or_queue(struct hmmrt_binding *binding,
				struct hmmrt_queued_fault *queued);
void hmmrt_worker_give(struct hmmrt_binding *binding);

/* serve_range.c */
int hmmrt_walk_range(struct hmmrt_range_walk *walk, unsigned long start,
		     unsigned long end);

/* serve_exclusive.c */
int hmmrt_ioc_exclusive(struct hmmrt_space *space, void *data);

/* serve_ahead.c */
void hmmrt_map_ahead_init(struct hmmrt_space *space);
void hmmrt_map_ahead(struct hmmrt_space *space, unsigned long start,
		     unsigned long end, u32 id);

/* serve_count.c */
bool hmmrt_move_from_work(struct hmmrt_binding *binding,
			  struct hmmrt_block *block, unsigned long start,
			  unsigned long end,
			  const struct hmmrt_request_args *args,
			  int (*part)(struct hmmrt_request *req), u64 *moved);
void hmmrt_counting_init(struct hmmrt_binding *binding);
void hmmrt_counting_stop(struct hmmrt_binding *binding);

/* serve_bypass.c */
void hmmrt_looking_init(struct hmmrt_binding *binding);
void hmmrt_looking_stop(struct hmmrt_binding *binding);

#endif /* _HMMRT_SERVE_H */
