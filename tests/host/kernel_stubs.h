/* SPDX-License-Identifier: MIT */
/* What stands in for the kernel behind the headers in linux/. */
#ifndef TESTS_HOST_KERNEL_STUBS_H
#define TESTS_HOST_KERNEL_STUBS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed memory, unless it is this allocation's turn to fail. */
void *host_alloc(size_t size);

/* The allocation after @count others fails; a negative count: none does. */
void host_fail_after(int count);

/* Counts the warnings that kernel code gave, and returns the condition. */
bool host_warn_on(bool condition);
unsigned int host_warnings(void);

#ifdef __cplusplus
}
#endif

#endif
