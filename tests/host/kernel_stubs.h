/* SPDX-License-Identifier: MIT */
/* Replaces the kernel functions that the headers in linux/ declare. */
#ifndef TESTS_HOST_KERNEL_STUBS_H
#define TESTS_HOST_KERNEL_STUBS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates zeroed memory, or fails if host_fail_after() asked for that. */
void *host_alloc(size_t size);

/*
 * Makes the allocation after @count others fail. A negative count makes no
 * allocation fail.
 */
void host_fail_after(int count);

/* Counts the warnings of kernel code, and returns the condition. */
bool host_warn_on(bool condition);
unsigned int host_warnings(void);

#ifdef __cplusplus
}
#endif

#endif
