/* SPDX-License-Identifier: MIT */
/* The ioctls of hmmrt_dmirror, which are those of the kernel's test_hmm. */
#ifndef TESTS_UAPI_DMIRROR_H
#define TESTS_UAPI_DMIRROR_H

#include <errno.h>

#include <lib/test_hmm_uapi.h>

#include "cmd.h"

/*
 * Repeats a call that a signal interrupts. Returns 0 or a negative errno.
 * @result may be NULL.
 */
static inline int dmirror_call(int fd, unsigned int number, const void *addr,
			       size_t len, void *data,
			       struct hmm_dmirror_cmd *result)
{
	struct hmm_dmirror_cmd cmd = {
		.addr = (uintptr_t)addr, .ptr = (uintptr_t)data,
		.npages = len / PAGE_BYTES, .cpages = 12345, .faults = 12345,
	};
	int rc;

	do
		rc = cmd_raw(fd, number, &cmd);
	while (rc == -EINTR);
	if (result)
		*result = cmd;
	return rc;
}

/* The same by the name of the call, without its result. */
#define DMIRROR(fd, name, addr, len, data) \
	dmirror_call(fd, HMM_DMIRROR_##name, addr, len, data, NULL)

#endif
