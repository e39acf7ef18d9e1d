/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions about requests and blocks. */
#ifndef _HMMRT_DECIDE_H
#define _HMMRT_DECIDE_H

#include "request.h"

/* decide_fault.c */
void hmmrt_request_advise(struct hmmrt_request *req, unsigned long addr);
enum hmmrt_policy_want
hmmrt_request_prefetched(const struct hmmrt_request_policy *policy);
enum hmmrt_policy_want hmmrt_fault_want(struct hmmrt_request *req);
bool hmmrt_object_may_migrate(struct hmmrt_request *req);
void hmmrt_fault_window(struct hmmrt_request *req);

/* decide_thrash.c */
void hmmrt_thrashing_moved_in(struct hmmrt_request *req, u64 began);
void hmmrt_thrashing_moved_back(struct hmmrt_block *block,
				struct hmmrt_device *dev,
				const struct hmmrt_knobs *knobs,
				unsigned long start, unsigned long end,
				u64 began);
void hmmrt_thrashing_reset(struct hmmrt_block *block);
bool hmmrt_request_thrashes(struct hmmrt_request *req);
bool hmmrt_block_is_pinned(struct hmmrt_block *block,
			   const struct hmmrt_knobs *knobs);
int hmmrt_throttle(struct hmmrt_binding *binding, unsigned long addr);
void hmmrt_pins_init(struct hmmrt_space *space);
void hmmrt_pins_stop(struct hmmrt_space *space);

/* decide_age.c */
bool hmmrt_can_age(const struct hmmrt_device *dev);
u64 hmmrt_aged_since(struct hmmrt_device *dev);
void hmmrt_age(struct hmmrt_device *dev);
void hmmrt_age_ask(struct hmmrt_binding *binding, struct hmmrt_block *block,
		   hmmrt_pte_t *ptes);

/* decide_bypass.c */
bool hmmrt_bypass_is_on(const struct hmmrt_device *dev);
bool hmmrt_bypass_concerns(const struct hmmrt_request *req);
bool hmmrt_bypass_applies(const struct hmmrt_request *req);
bool hmmrt_bypass_begin(const struct hmmrt_request *req);
void hmmrt_bypass_look_later(const struct hmmrt_request *req);

#endif /* _HMMRT_DECIDE_H */
