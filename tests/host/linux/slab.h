/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_SLAB_H
#define TESTS_HOST_LINUX_SLAB_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#include "kernel_stubs.h"

#define GFP_KERNEL	0u
#define GFP_KERNEL_ACCOUNT 0u

#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a) - 1))
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a) - 1)) == 0)
#define WARN_ON_ONCE(condition) host_warn_on(condition)

#define kzalloc(size, gfp)     host_alloc(size)
#define kcalloc(n, size, gfp) host_alloc((n) * (size))
#define kfree(p)	      free(p)

#endif
