/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernel versions. The code uses the newest interface, and
 * this header provides it on older kernels. The build tests the kernel headers
 * for each interface (see probes.c). It does not compare versions, because
 * stable kernels and distributions backport changes.
 */
#ifndef _HMMRT_COMPAT_H
#define _HMMRT_COMPAT_H

#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/rmap.h>

#include "hmmrt_probes.h"

/*
 * Until 6.18: dev_pagemap_ops frees pages, not folios. The argument of the
 * callback is a struct hmmrt_freed.
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
 * Initialise a single page of device memory. It is locked afterwards and has
 * one reference. Until 6.18: the pgmap is already set, and there are only
 * single pages.
 */
static inline void hmmrt_page_init(struct page *page, struct dev_pagemap *pgmap)
{
#ifdef HMMRT_HAVE_PAGE_INIT_ORDER
	zone_device_page_init(page, pgmap, 0);
#else
	zone_device_page_init(page);
#endif
}

/* Until 6.2: vm_flags is a plain member. These two change it. */
static inline void hmmrt_vm_flags_set(struct vm_area_struct *vma,
				      unsigned long flags)
{
#ifdef HMMRT_HAVE_VM_FLAGS_SET
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

static inline void hmmrt_vm_flags_clear(struct vm_area_struct *vma,
					unsigned long flags)
{
#ifdef HMMRT_HAVE_VM_FLAGS_SET
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

/* Until 6.6: there are no shadow stacks. */
#ifndef VM_SHADOW_STACK
#define VM_SHADOW_STACK	VM_NONE
#endif

/* Until 6.3: page faults always hold the mmap_lock. */
static inline void hmmrt_release_fault_lock(struct vm_fault *vmf)
{
#ifdef HMMRT_HAVE_RELEASE_FAULT_LOCK
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

/*
 * If the fault holds only the vma lock, release it and return true. The fault
 * must then be retried with the mmap_lock.
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

/* Until 6.5: pte_mkwrite() takes no vma. */
#ifndef HMMRT_HAVE_PTE_MKWRITE_NOVMA
#define pte_mkwrite_novma(pte)	pte_mkwrite(pte)
#endif

/*
 * Until 6.12: a huge page table entry cannot be marked special, so that
 * get_user_pages() would take a reference to its page. The modules create no
 * such entries then, and the handler is not called.
 */
#if defined(HMMRT_HAVE_HUGE_PFNMAP) && defined(CONFIG_ARCH_SUPPORTS_PMD_PFNMAP)
#define HMMRT_HUGE_FAULT(handler)	.huge_fault = (handler),
#else
#define HMMRT_HUGE_FAULT(handler)
#endif
#ifndef HMMRT_HAVE_HUGE_PFNMAP
#define pmd_mkspecial(pmd)	(pmd)
#endif

/* Until 6.3: file systems get a user namespace. */
#ifndef HMMRT_HAVE_MNT_IDMAP
#define mnt_idmap		user_namespace
#endif

/* Until 6.3, without a backport: no function counts the nodes of a list. */
#ifndef HMMRT_HAVE_LIST_COUNT_NODES
static inline size_t list_count_nodes(struct list_head *head)
{
	struct list_head *node;
	size_t count = 0;

	list_for_each(node, head)
		count++;
	return count;
}
#endif

/*
 * Since 6.15 the core calls migrate_to_ram() with the page locked, before with a
 * reference alone. The headers do not show this change, but
 * migrate_device_pfns() was added in the same release.
 */
#ifdef HMMRT_HAVE_MIGRATE_DEVICE_PFNS
#define HMMRT_CPU_FAULT_LOCKS_PAGE	1
#else
#define HMMRT_CPU_FAULT_LOCKS_PAGE	0
#endif

/*
 * Make up to HMMRT_EXCLUSIVE_PAGES pages exclusive. Returns the number of
 * elements set in @pages, or an error. An element is a locked page with a
 * reference, or NULL if the page could not be made exclusive. Since 6.15, the
 * core locks a whole folio, so locking a second page of the same folio would
 * deadlock. There the limit is 1.
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

#endif /* _HMMRT_COMPAT_H */
