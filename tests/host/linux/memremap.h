/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_MEMREMAP_H
#define TESTS_HOST_LINUX_MEMREMAP_H

#include <linux/mm.h>

void zone_device_page_init(struct page *page);

#endif
