/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_MM_TYPES_H
#define TESTS_HOST_LINUX_MM_TYPES_H

#include <linux/bits.h>
#include <linux/types.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	BIT(PAGE_SHIFT)

struct mm_struct;
struct page;
struct vm_area_struct;
struct vm_fault;

typedef unsigned int vm_fault_t;

#endif
