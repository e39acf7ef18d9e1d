/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_XARRAY_H
#define TESTS_HOST_LINUX_XARRAY_H

#include <linux/types.h>

#include "kernel_stubs.h"

/* An unordered list; the kernel uses a tree. */
struct host_entry {
	unsigned long index;
	void *value;
	struct host_entry *next;
};

struct xarray {
	struct host_entry *first;
};

#define XA_FLAGS_ACCOUNT	0u
#define xa_init_flags(xa, flags) xa_init(xa)

/* Stores a number in place of a pointer. Pointers are even. */
static inline void *xa_mk_value(unsigned long value)
{
	return (void *)(uintptr_t)(2 * value + 1);
}

static inline bool xa_is_value(const void *entry)
{
	return (uintptr_t)entry & 1;
}

void xa_init(struct xarray *xa);
void *xa_load(struct xarray *xa, unsigned long index);
/* Returns the previous entry, or an error for xa_err(). */
void *xa_store(struct xarray *xa, unsigned long index, void *value, gfp_t gfp);
int xa_err(const void *result);
void xa_destroy(struct xarray *xa);

#define xa_for_each(xa, i, v)                                          \
	for (struct host_entry *host_at = (xa)->first;                 \
	     host_at && ((i) = host_at->index, (void)(i),              \
			 (v) = host_at->value, true);                  \
	     host_at = host_at->next)

#endif
