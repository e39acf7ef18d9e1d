/* SPDX-License-Identifier: MIT */
/* An io_uring that takes one operation at a time. */
#ifndef TESTS_UAPI_RING_H
#define TESTS_UAPI_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/io_uring.h>

struct ring {
	int fd;
	struct io_uring_params params;
	char *queues;		/* SQ and CQ rings in one mapping */
	size_t queues_len;
	struct io_uring_sqe *entry;
};

/*
 * Creates a ring that holds @results completions. Returns 0 or a negative
 * errno.
 */
int ring_start(struct ring *ring, unsigned int results);
void ring_end(struct ring *ring);

/* Register and unregister memory as a fixed buffer. */
int ring_register(struct ring *ring, void *addr, size_t len);
int ring_unregister(struct ring *ring);

/* Submits an operation and waits for @results completions. */
int ring_submit(struct ring *ring, const struct io_uring_sqe *entry,
		unsigned int results);
/* Returns false if there is no completion. */
bool ring_take(struct ring *ring, struct io_uring_cqe *result);

#endif
