/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_RMAP_H
#define TESTS_HOST_LINUX_RMAP_H

#include <linux/mm.h>

int make_device_exclusive_range(struct mm_struct *mm, unsigned long start,
				unsigned long end, struct page **pages,
				void *owner);

#endif
