/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_SORT_H
#define TESTS_HOST_LINUX_SORT_H

#include <assert.h>
#include <stdlib.h>

static inline void sort(void *base, size_t n, size_t size,
			int (*compare)(const void *, const void *),
			void (*swap)(void *, void *, int))
{
	assert(!swap);
	qsort(base, n, size, compare);
}

#endif
