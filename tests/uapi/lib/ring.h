/* SPDX-License-Identifier: MIT */
/* An io_uring with room for one operation at a time. */
#ifndef TESTS_UAPI_RING_H
#define TESTS_UAPI_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/io_uring.h>

struct ring {
	int fd;
	struct io_uring_params params;
	char *queues;		/* both, mapped as one */
	size_t queues_len;
	struct io_uring_sqe *entry;
};

/* With room for so many results that nobody has taken; 0 or a negative errno. */
int ring_start(struct ring *ring, unsigned int results);
void ring_end(struct ring *ring);

/* Memory becomes a buffer of it, and is one no more. */
int ring_register(struct ring *ring, void *addr, size_t len);
int ring_unregister(struct ring *ring);

/* Begins an operation, and waits until there are as many results. */
int ring_submit(struct ring *ring, const struct io_uring_sqe *entry,
		unsigned int results);
/* false: there is no result. */
bool ring_take(struct ring *ring, struct io_uring_cqe *result);

#endif
