/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_MM_H
#define TESTS_HOST_LINUX_MM_H

#include <linux/mm_types.h>

/* As much of them as kmod/compat/ looks at. */
struct dev_pagemap;

struct page {
	struct dev_pagemap *pgmap;
};

struct vm_area_struct {
	unsigned long vm_flags;
	struct mm_struct *vm_mm;
};

struct vm_fault {
	struct vm_area_struct *vma;
};

void mmap_read_unlock(struct mm_struct *mm);

#endif
