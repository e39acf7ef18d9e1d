/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_MINMAX_H
#define TESTS_HOST_LINUX_MINMAX_H

/* The kernel's macros also refuse to compare different types. */
#define min(a, b)				\
	({					\
		__typeof__(a) min_a = (a);	\
		__typeof__(b) min_b = (b);	\
		min_a < min_b ? min_a : min_b;	\
	})
#define max(a, b)				\
	({					\
		__typeof__(a) max_a = (a);	\
		__typeof__(b) max_b = (b);	\
		max_a > max_b ? max_a : max_b;	\
	})
#define clamp(a, low, high)	min(max(a, low), high)

#endif
