/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one place for differences between kernels. The code is written for the
 * newest interface; what an older kernel lacks is provided here. Features are
 * told apart by what the headers define, not by version: distributions
 * backport.
 */
#ifndef _HMMRT_COMPAT_H
#define _HMMRT_COMPAT_H

#include <linux/memremap.h>
#include <linux/mm.h>

#if !defined(CONFIG_DEVICE_PRIVATE) || !defined(CONFIG_HMM_MIRROR)
#error "hmmrt needs a kernel with CONFIG_DEVICE_PRIVATE and CONFIG_HMM_MIRROR"
#endif

/* Until 6.17: struct page has the pgmap itself. */
static inline struct dev_pagemap *hmmrt_page_pgmap(const struct page *page)
{
	return page->pgmap;
}

/* Until 6.3: vm_flags is a plain member. */
static inline void hmmrt_vm_flags_set(struct vm_area_struct *vma,
				      unsigned long flags)
{
	vma->vm_flags |= flags;
}

/* Until 6.4: page faults hold the mmap_lock and nothing else. */
static inline void hmmrt_release_fault_lock(struct vm_fault *vmf)
{
	mmap_read_unlock(vmf->vma->vm_mm);
}

/*
 * Until 6.14 the core calls migrate_to_ram() with an extra reference and
 * without the page lock, so sleeping there delays nobody but the caller.
 */
#define HMMRT_MIGRATE_TO_RAM_MAY_WAIT	1

#endif /* _HMMRT_COMPAT_H */
