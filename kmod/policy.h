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

/*
 * A window that goes back and forth between the CPU and a device; zeroed at
 * first. Times are in milliseconds.
 */
struct hmmrt_policy_turns {
	unsigned int first;
	unsigned int count;
	unsigned int turns;
	bool home;		/* came home, and was not asked for since */
	unsigned int when;
};

struct hmmrt_policy_window
hmmrt_policy_device_window(const unsigned long *mapped, unsigned int page);

struct hmmrt_policy_window
hmmrt_policy_huge_window(struct hmmrt_policy_window win, unsigned int order,
			 bool within);

struct hmmrt_policy_window
hmmrt_policy_host_window(struct hmmrt_policy_run *run, unsigned int page);

void hmmrt_policy_came_home(struct hmmrt_policy_turns *turns,
			    struct hmmrt_policy_window win, unsigned int now);
bool hmmrt_policy_stays_home(struct hmmrt_policy_turns *turns,
			     unsigned int page, unsigned int now);

#endif /* _HMMRT_POLICY_H */
