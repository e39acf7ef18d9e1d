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

/* serve_window.c */
int hmmrt_window_map(struct hmmrt_request *req, bool migrate);
void hmmrt_count_mapped(const struct hmmrt_request *req, unsigned int mapped,
			unsigned int remote);
bool hmmrt_is_mapped(const struct hmmrt_binding *binding,
		     struct hmmrt_block *block, unsigned long addr,
		     unsigned int access);
int hmmrt_fault_attempt(struct hmmrt_request *req);

/* serve_object.c */
int hmmrt_object_attempt(struct hmmrt_request *req,
			 struct hmmrt_object *object);
int hmmrt_object_fault(struct hmmrt_request *req, struct hmmrt_object *object);
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
void hmmrt_counting_init(struct hmmrt_binding *binding);
void hmmrt_counting_stop(struct hmmrt_binding *binding);

#endif /* _HMMRT_SERVE_H */
