/* SPDX-License-Identifier: MIT */
/*
 * Another process, with a device of its own space, that uses memory objects as
 * it is told to.
 */
#ifndef TESTS_UAPI_PARTNER_H
#define TESTS_UAPI_PARTNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct partner {
	pid_t pid;		/* 0: ended */
	int socket;
};

/* Orders have an argument of 32 bits. All have a result. */
enum order {
	CREATE,			/* flags; the result has the descriptor */
	IMPORT,			/* protection; comes with the descriptor */
	ID,
	GRANT,			/* rights of the device */
	DEVICE_FILL,		/* first value */
	DEVICE_SUM,
	CPU_FILL,		/* first value */
	CPU_CHECK,		/* first value -> 0 */
	PROTECT,		/* protection -> errno */
	COUNT,			/* begin to increment a word of this page */
	UNMAP,
	UNBIND,
	CLOSE_SPACE,
	QUIT,
};

bool partner_start(struct partner *partner);

/* Kills the partner, or has it exit. Returns whether it ended that way. */
bool partner_end(struct partner *partner, bool kills);

/*
 * Sends an order, with a descriptor unless it is -1, and waits for its result,
 * which is UINT64_MAX if the order could not be carried out.
 */
uint64_t ask_with(const struct partner *partner, enum order order,
		  uint32_t value, int object);
uint64_t ask(const struct partner *partner, enum order order, uint32_t value);

/* Has the partner create an object. Returns its descriptor, or -1. */
int ask_for_object(const struct partner *partner, uint32_t flags);

#endif
