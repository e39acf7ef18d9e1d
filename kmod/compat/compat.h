/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one place for differences between kernels. The code is written for the
 * newest interface; what an older kernel lacks is provided here. What a kernel
 * has is asked of its headers (see probes.c), not of its version: stable kernels
 * and distributions backport.
 */
#ifndef _HMMRT_COMPAT_H
#define _HMMRT_COMPAT_H

#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/rmap.h>

#include "hmmrt_probes.h"

/*
 * Until 6.18: dev_pagemap_ops frees pages, not folios. What the callback gets
 * is a struct hmmrt_freed.
 */
#ifdef HMMRT_HAVE_FOLIO_FREE
#define HMMRT_PAGEMAP_FREE	folio_free
#define hmmrt_freed		folio
#define hmmrt_freed_page(freed)	folio_page(freed, 0)
#define hmmrt_freed_pages(freed)	folio_nr_pages(freed)
#else
#define HMMRT_PAGEMAP_FREE	page_free
#define hmmrt_freed		page
#define hmmrt_freed_page(freed)	(freed)
#define hmmrt_freed_pages(freed)	1ul
#endif

/*
 * A page of device memory, alone: afterwards it is locked and has a reference.
 * Until 6.18: the page knows its pgmap, and is always alone.
 */
static inline void hmmrt_page_init(struct page *page, struct dev_pagemap *pgmap)
{
#ifdef HMMRT_HAVE_PAGE_INIT_ORDER
	zone_device_page_init(page, pgmap, 0);
#else
	zone_device_page_init(page);
#endif
}

/* Until 6.2: vm_flags is a plain member. */
static inline void hmmrt_vm_flags_set(struct vm_area_struct *vma,
				      unsigned long flags)
{
#ifdef HMMRT_HAVE_VM_FLAGS_SET
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* Until 6.6: there are no shadow stacks. */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

/* Until 6.3: page faults hold the mmap_lock and nothing else. */
static inline void hmmrt_release_fault_lock(struct vm_fault *vmf)
{
#ifdef HMMRT_HAVE_RELEASE_FAULT_LOCK
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/*
 * Whether that was the lock of the vma alone: then it is dropped, for what wants
 * the mmap_lock.
 */
static inline bool hmmrt_drop_vma_lock(struct vm_fault *vmf)
{
#ifdef HMMRT_HAVE_RELEASE_FAULT_LOCK
	if (vmf->flags & FAULT_FLAG_VMA_LOCK) {
		release_fault_lock(vmf);
		return true;
	}
#endif
	return false;
}

/* Until 6.5: there is one kind of writable entry. */
#ifndef HMMRT_HAVE_PTE_MKWRITE_NOVMA
#define pte_mkwrite_novma(pte)	pte_mkwrite(pte)
#endif

/*
 * Until 6.12: entries for huge pages cannot say that they hold no page, and
 * get_user_pages() would take one. So there are none of ours, and this is not
 * called.
 */
#if defined(HMMRT_HAVE_HUGE_PFNMAP) && defined(CONFIG_ARCH_SUPPORTS_PMD_PFNMAP)
#define HMMRT_HUGE_FAULT(handler)	.huge_fault = (handler),
#else
#define HMMRT_HUGE_FAULT(handler)
#endif
#ifndef HMMRT_HAVE_HUGE_PFNMAP
#define pmd_mkspecial(pmd)	(pmd)
#endif

/* Until 6.16, and without a backport: it has another name. */
#ifndef HMMRT_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq		system_unbound_wq
#endif

/*
 * Until 6.14 the core calls migrate_to_ram() with an extra reference and
 * without the page lock, so sleeping there delays nobody but the caller. The
 * headers do not show it, but the same release brought migrate_device_pfns().
 */
#ifdef HMMRT_HAVE_MIGRATE_DEVICE_PFNS
#define HMMRT_MIGRATE_TO_RAM_MAY_WAIT	0
#else
#define HMMRT_MIGRATE_TO_RAM_MAY_WAIT	1
#endif

/*
 * Up to HMMRT_EXCLUSIVE_PAGES pages: returns how many were found, locked and
 * referenced, or an error; those that could not be made exclusive are NULL.
 * Since 6.15 it is one folio that is locked, whole: a second page of it would
 * wait for the first.
 */
#ifdef HMMRT_HAVE_MAKE_DEVICE_EXCLUSIVE
#define HMMRT_EXCLUSIVE_PAGES	1u
#else
#define HMMRT_EXCLUSIVE_PAGES	64u
#endif

static inline int
hmmrt_make_device_exclusive(struct mm_struct *mm, unsigned long start,
			    unsigned long end, struct page **pages, void *owner)
{
#ifdef HMMRT_HAVE_MAKE_DEVICE_EXCLUSIVE
	struct folio *folio;

	pages[0] = make_device_exclusive(mm, start, owner, &folio);
	if (!IS_ERR(pages[0]))
		return 1;
	if (PTR_ERR(pages[0]) != -EBUSY && PTR_ERR(pages[0]) != -EOPNOTSUPP)
		return PTR_ERR(pages[0]);
	pages[0] = NULL;
	return 1;
#else
	return make_device_exclusive_range(mm, start, end, pages, owner);
#endif
}

/*
 * Whether a page may be poisoned. Until 6.2 the core looks for poison in the page
 * structs of device memory that is removed, once any page has some; and a kernel
 * with CONFIG_DEBUG_VM has filled those with nonsense by then. The release that
 * mended it also began to count by pfn.
 */
#if defined(CONFIG_MEMORY_FAILURE) && \
	(defined(HMMRT_HAVE_POISON_BY_PFN) || !defined(CONFIG_DEBUG_VM))
#define HMMRT_MAY_POISON 1
#else
#define HMMRT_MAY_POISON 0
#endif

#endif /* _HMMRT_COMPAT_H */
