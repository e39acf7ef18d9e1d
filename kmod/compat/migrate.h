/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between kernel versions in the migration of device memory. */
#ifndef _HMMRT_COMPAT_MIGRATE_H
#define _HMMRT_COMPAT_MIGRATE_H

#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/swapops.h>

#include "compat.h"

#ifdef HMMRT_HAVE_SOFTLEAF
#include <linux/leafops.h>
#endif

/*
 * Until 7.1: large folios of device memory do not work. The flags are 0 then,
 * no entry is compound, and the functions that create large folios are not
 * called. A compound entry stands for HPAGE_PMD_NR pages, and the entries after
 * it are 0.
 */
#ifdef HMMRT_HAVE_DEVICE_THP
#define HMMRT_HAS_DEVICE_THP	thp_migration_supported()
#define HMMRT_SELECT_COMPOUND	MIGRATE_VMA_SELECT_COMPOUND
#define HMMRT_PFN_COMPOUND	MIGRATE_PFN_COMPOUND
#else
#define HMMRT_HAS_DEVICE_THP	false
#define HMMRT_SELECT_COMPOUND	0ul
#define HMMRT_PFN_COMPOUND	0ul
#endif

/* Until 7.2: the names of one of the modes of userfaultfd. */
#ifndef HMMRT_HAVE_SWP_UFFD
#define pte_swp_uffd(pte)	pte_swp_uffd_wp(pte)
#define pte_swp_mkuffd(pte)	pte_swp_mkuffd_wp(pte)
#define pmd_swp_uffd(pmd)	pmd_swp_uffd_wp(pmd)
#define pmd_swp_mkuffd(pmd)	pmd_swp_mkuffd_wp(pmd)
#endif

/* Return the number of pages that an entry of src or dst stands for. */
static inline unsigned int hmmrt_pfn_pages(unsigned long migrate_pfn)
{
	return migrate_pfn & HMMRT_PFN_COMPOUND ? HPAGE_PMD_NR : 1;
}

/* Like hmmrt_page_init(), for an aligned run of HPAGE_PMD_NR pages. */
static inline void hmmrt_huge_page_init(struct page *page,
					struct dev_pagemap *pgmap)
{
#ifdef HMMRT_HAVE_DEVICE_THP
	zone_device_folio_init((struct folio *)page, pgmap, HPAGE_PMD_ORDER);
#endif
}

/*
 * Allocate a huge page on @node, or for a mapping if @node is NUMA_NO_NODE, or
 * anywhere if @vma is NULL too. Returns NULL if there is no memory, or if the
 * kernel does not support large folios of device memory.
 */
static inline struct page *hmmrt_alloc_huge_page(gfp_t gfp,
						 struct vm_area_struct *vma,
						 unsigned long addr, int node)
{
#ifdef HMMRT_HAVE_DEVICE_THP
	struct folio *folio = NULL;

	if (!HMMRT_HAS_DEVICE_THP)
		return NULL;
	if (node != NUMA_NO_NODE)
		folio = __folio_alloc_node(gfp | __GFP_THISNODE,
					   HPAGE_PMD_ORDER, node);
	else if (vma)
		folio = vma_alloc_folio(gfp, HPAGE_PMD_ORDER, vma, addr);
	else
		folio = folio_alloc(gfp, HPAGE_PMD_ORDER);
	return folio ? folio_page(folio, 0) : NULL;
#else
	return NULL;
#endif
}

/*
 * Lock and unmap the device pages with the frame numbers in @src. Until 6.14:
 * one contiguous run at a time.
 */
static inline void hmmrt_migrate_device_pfns(unsigned long *src,
					     unsigned long npages)
{
#ifdef HMMRT_HAVE_MIGRATE_DEVICE_PFNS
	migrate_device_pfns(src, npages);
#else
	unsigned long i, j;

	for (i = 0; i < npages; i = j) {
		for (j = i + 1; j < npages && src[j] == src[i] + (j - i); j++)
			;
		migrate_device_range(src + i, src[i], j - i);
	}
#endif
}

/* Until 6.19: entries that are not present have other names. */
#ifndef HMMRT_HAVE_SOFTLEAF
#define softleaf_from_pte(pte)		pte_to_swp_entry(pte)
#define softleaf_is_migration(entry)	is_migration_entry(entry)
#define softleaf_is_device_private(entry) is_device_private_entry(entry)
#define softleaf_to_page(entry)		pfn_swap_entry_to_page(entry)
#define pmd_is_migration_entry(pmd)	is_pmd_migration_entry(pmd)
#endif

/* Return true if the entry is a migration entry. */
static inline bool hmmrt_pte_is_migration_entry(pte_t pte)
{
	return !pte_none(pte) && !pte_present(pte) &&
	       softleaf_is_migration(softleaf_from_pte(pte));
}

/* Return true if the entry is a migration entry of @page. */
static inline bool hmmrt_pte_is_migration_entry_of(pte_t pte,
						   const struct page *page)
{
	return hmmrt_pte_is_migration_entry(pte) &&
	       softleaf_to_page(softleaf_from_pte(pte)) == page;
}

/*
 * Return true if the entry is of the device page with this frame number, which
 * the CPU can access or not.
 */
static inline bool hmmrt_pte_is_device_page(pte_t pte, unsigned long pfn)
{
	if (pte_present(pte))
		return pte_pfn(pte) == pfn;
	return !pte_none(pte) &&
	       softleaf_is_device_private(softleaf_from_pte(pte)) &&
	       page_to_pfn(softleaf_to_page(softleaf_from_pte(pte))) == pfn;
}

/* Convert a migration entry as copy_nonpresent_pte() does at fork. */
static inline pte_t hmmrt_migration_entry_shared(pte_t pte)
{
	pgoff_t offset = swp_offset(softleaf_from_pte(pte));
	pte_t shared = swp_entry_to_pte(make_readable_migration_entry(offset));

	if (pte_swp_soft_dirty(pte))
		shared = pte_swp_mksoft_dirty(shared);
	if (pte_swp_uffd(pte))
		shared = pte_swp_mkuffd(shared);
	return shared;
}

/*
 * The same for the entry of a huge page. Until 7.1: migrate_vma_setup() splits
 * huge pages, so there is no such entry.
 */
#ifdef HMMRT_HAVE_DEVICE_THP
static inline bool hmmrt_pmd_is_migration_entry_of(pmd_t pmd,
						   const struct page *page)
{
	return pmd_is_migration_entry(pmd) &&
	       softleaf_to_page(softleaf_from_pmd(pmd)) == page;
}

static inline pmd_t hmmrt_migration_pmd_shared(pmd_t pmd)
{
	pgoff_t offset = swp_offset(softleaf_from_pmd(pmd));
	pmd_t shared = swp_entry_to_pmd(make_readable_migration_entry(offset));

	if (pmd_swp_soft_dirty(pmd))
		shared = pmd_swp_mksoft_dirty(shared);
	if (pmd_swp_uffd(pmd))
		shared = pmd_swp_mkuffd(shared);
	return shared;
}
#else
static inline bool hmmrt_pmd_is_migration_entry_of(pmd_t pmd,
						   const struct page *page)
{
	return false;
}

static inline pmd_t hmmrt_migration_pmd_shared(pmd_t pmd)
{
	return pmd;
}
#endif

#endif /* _HMMRT_COMPAT_MIGRATE_H */
