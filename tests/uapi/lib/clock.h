/* SPDX-License-Identifier: MIT */
/* The time of CLOCK_MONOTONIC. */
#ifndef TESTS_UAPI_CLOCK_H
#define TESTS_UAPI_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline double now_s(void)
{
	return (double)now_ns() / 1e9;
}

#endif
