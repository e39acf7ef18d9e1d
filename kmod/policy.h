/* SPDX-License-Identifier: GPL-2.0-only */
/* Policy: pure decisions on plain data, also built and tested in user space. */
#ifndef _HMMRT_POLICY_H
#define _HMMRT_POLICY_H

#include <linux/types.h>

#define HMMRT_POLICY_BLOCK_PAGES	512u
#define HMMRT_POLICY_GRANULE_PAGES	16u

/* Pages [first, first + count) of a block. */
struct hmmrt_policy_window {
	unsigned int first;
	unsigned int count;
};

/* A run of CPU faults over a block that goes upwards; zeroed at first. */
struct hmmrt_policy_run {
	unsigned int next;
	unsigned int count;
};

struct hmmrt_policy_window
hmmrt_policy_device_window(const unsigned long *mapped, unsigned int page);

struct hmmrt_policy_window
hmmrt_policy_host_window(struct hmmrt_policy_run *run, unsigned int page);

#endif /* _HMMRT_POLICY_H */
