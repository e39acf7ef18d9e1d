/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_WAIT_H
#define TESTS_HOST_LINUX_WAIT_H

typedef struct {
	int unused;
} wait_queue_head_t;

typedef struct {
	int unused;
} wait_queue_entry_t;

#endif
