/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_TYPES_H
#define TESTS_HOST_LINUX_TYPES_H

#include_next <linux/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned int gfp_t;

typedef struct {
	int counter;
} atomic_t;

#endif
