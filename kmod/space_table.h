/* SPDX-License-Identifier: GPL-2.0-only */
/* Page table lookups, for the manager and the simulated GPU. */
#ifndef _HMMRT_SPACE_TABLE_H
#define _HMMRT_SPACE_TABLE_H

#include <linux/mm.h>

/**
 * hmmrt_entry_above() - find the PMD entry for an address
 * @mm: the caller holds its mmap_lock
 * @addr: in a mapping
 *
 * Return: the entry, or NULL if there is no table for it.
 */
static inline pmd_t *hmmrt_entry_above(struct mm_struct *mm,
				       unsigned long addr)
{
	pgd_t *pgd = pgd_offset(mm, addr);
	p4d_t *p4d;
	pud_t *pud;

	lockdep_assert_held(&mm->mmap_lock);
	if (pgd_none(*pgd))
		return NULL;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return NULL;
	pud = pud_offset(p4d, addr);
	return pud_none(*pud) || pud_leaf(*pud) ? NULL : pmd_offset(pud, addr);
}

#endif /* _HMMRT_SPACE_TABLE_H */
