/* SPDX-License-Identifier: GPL-2.0-only */
/* Moving pages. */
#ifndef _HMMRT_MOVE_H
#define _HMMRT_MOVE_H

#include "decide.h"

struct migrate_vma;
struct vm_fault;

/* move_request.c */
struct hmmrt_request *
hmmrt_request_alloc(struct hmmrt_binding *binding, struct hmmrt_block *block,
		    const struct hmmrt_request_args *args);
void hmmrt_request_free(struct hmmrt_request *req);
struct hmmrt_request *hmmrt_request_open(struct hmmrt_space *space,
					 struct hmmrt_binding *binding,
					 unsigned long addr,
					 const struct hmmrt_request_args *args);
void hmmrt_request_close(struct hmmrt_request *req);
int hmmrt_request_lock_mm(struct hmmrt_request *req, struct mm_struct *mm);
int hmmrt_window_lookup(struct hmmrt_window *window, struct mm_struct *mm,
			unsigned long start, unsigned long end);
bool hmmrt_huge_fails(struct hmmrt_space *space);
void hmmrt_request_aim(struct hmmrt_request *req, unsigned long addr,
		       unsigned int access);

/* move_alloc.c */
bool hmmrt_may_evict_later(const struct hmmrt_request *req);
int hmmrt_request_alloc_pages(struct hmmrt_request *req, unsigned int first,
			      unsigned int end, struct page **pages,
			      struct page *near, unsigned int *got);
int hmmrt_request_take_chunk(struct hmmrt_request *req,
			     struct hmmrt_extent *extent,
			     struct hmmrt_chunk **chunk);
void hmmrt_request_refused(struct hmmrt_request *req);
enum hmmrt_stay
hmmrt_memory_stay_reason(const struct hmmrt_request_memory *memory);
void hmmrt_request_unreserve(struct hmmrt_request *req);
void hmmrt_request_refill(struct hmmrt_request *req, int rc);
bool hmmrt_request_prepare_retry(struct hmmrt_request *req,
				 struct hmmrt_retry_limit *limit, int *rc);

/* move_snapshot.c */
int hmmrt_block_snapshot(struct hmmrt_block *block, struct hmm_range *range,
			 unsigned long *seq);
int hmmrt_snapshot(const struct hmmrt_window *window,
		   struct hmmrt_snapshot *snapshot);
int hmmrt_snapshot_begin(const struct hmmrt_window *window,
			 struct hmmrt_snapshot *snapshot);
void hmmrt_snapshot_end(const struct hmmrt_snapshot *snapshot);
bool hmmrt_snapshot_is_huge(const struct hmmrt_window *window,
			    const struct hmmrt_snapshot *snapshot);
int hmmrt_snapshot_widen(struct hmmrt_request *req);
bool hmmrt_mark_cow(struct hmmrt_request *req);

/* move_in.c */
int hmmrt_migrate_to_device(struct hmmrt_request *req);

/* move_out.c */
int hmmrt_migrate_to_host(struct hmmrt_request *req);
int hmmrt_window_to_host(struct hmmrt_request *req);

/* move_cpu_fault.c */
vm_fault_t hmmrt_migrate_to_ram(struct vm_fault *vmf);

/* move_duplicate.c */
int hmmrt_duplicate_window(struct hmmrt_request *req);
hmmrt_pte_t hmmrt_duplicate_pte(hmmrt_pte_t permits,
				const struct page *duplicate);
int hmmrt_share_pages(struct migrate_vma *args, struct page **from);
bool hmmrt_duplicates_let_split(struct hmmrt_block *block, unsigned int order,
				unsigned int count);

/* move_outcome.c */
/* The outcome is not known yet. */
#define HMMRT_OUTCOME_OPEN	0xffu

void hmmrt_outcome_set(struct hmmrt_request *req, unsigned long addr,
		       unsigned int n, u8 outcome);
u8 *hmmrt_outcomes(struct hmmrt_request *req);
int hmmrt_outcomes_explain(struct hmmrt_request *req);

/* move_evict.c */
int hmmrt_evict_init(struct hmmrt_device *dev);
void hmmrt_evict_exit(struct hmmrt_device *dev);
void hmmrt_evict_ahead_stop(struct hmmrt_device *dev);
void hmmrt_evict_ahead(struct hmmrt_device *dev);
int hmmrt_evict_excess(struct hmmrt_account *account, const bool *going);
bool hmmrt_may_oversubscribe(const struct hmmrt_device *dev);
struct hmmrt_eviction *hmmrt_eviction_alloc(void);
struct hmmrt_chunk *hmmrt_evict_one(struct hmmrt_device *dev,
				    const struct hmmrt_claim *claim,
				    struct hmmrt_eviction *evict,
				    const struct hmmrt_event_source *source);
bool hmmrt_evict_all(struct hmmrt_device *dev);
bool hmmrt_evict_again(struct hmmrt_device *dev);
void hmmrt_evict_abandon(struct hmmrt_device *dev,
			 void (*depopulate)(struct hmmrt_device *dev, u64 offset));

/* move_object.c */
extern const struct vm_operations_struct hmmrt_object_vm_ops;
int hmmrt_extent_to_host(struct hmmrt_extent *extent, bool lose);
int hmmrt_extent_fill_host(struct hmmrt_extent *extent);
int hmmrt_extent_to_device(struct hmmrt_request *req,
			   struct hmmrt_extent *extent);
int hmmrt_extent_fill_device(struct hmmrt_extent *extent,
			     struct hmmrt_account *account);
int hmmrt_evict_extent(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       bool lose);
void hmmrt_extent_cut(struct hmmrt_device *dev, const struct hmmrt_chunk *chunk);

/* move_split.c */
bool hmmrt_split_chunk(struct hmmrt_device *dev,
		       const struct hmmrt_chunk *chunk);

/* move_selftest.c */
void __init hmmrt_selftest(void);

#endif /* _HMMRT_MOVE_H */
