/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_BITS_H
#define TESTS_HOST_LINUX_BITS_H

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(high, low)	((~0UL >> (63 - (high))) & (~0UL << (low)))
#define GENMASK_ULL(high, low)	((~0ULL >> (63 - (high))) & (~0ULL << (low)))

#endif
