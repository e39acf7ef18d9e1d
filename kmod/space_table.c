// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks of the process's page tables, for information that hmm_range_fault()
 * does not provide. Tables are freed with their mapping, under the mmap_lock
 * for writing. A table below a pmd is also freed when it is empty or replaced
 * by a huge page, under the pmd's lock.
 */
#include <linux/mm.h>

#include "space.h"

/*
 * Find the next address with a page table, in a mapping, without reading
 * entries. Memory that was never touched is not worth a block. The result is a
 * hint only, because other threads may add tables. Addresses outside of any
 * mapping must not be walked: their tables may be freed at the same time.
 */
unsigned long hmmrt_next_table(struct vm_area_struct *vma, unsigned long addr,
			       unsigned long end)
{
	/* Shared tables are freed without the mmap_lock. */
	if (vma->vm_flags & VM_HUGETLB)
		return addr;
	while (addr < end) {
		pgd_t *pgd = pgd_offset(vma->vm_mm, addr);
		p4d_t *p4d;
		pud_t *pud;

		if (pgd_none(READ_ONCE(*pgd))) {
			addr = pgd_addr_end(addr, end);
			continue;
		}
		p4d = p4d_offset(pgd, addr);
		if (p4d_none(READ_ONCE(*p4d))) {
			addr = p4d_addr_end(addr, end);
			continue;
		}
		pud = pud_offset(p4d, addr);
		if (pud_none(READ_ONCE(*pud))) {
			addr = pud_addr_end(addr, end);
			continue;
		}
		if (pud_leaf(READ_ONCE(*pud)) ||
		    !pmd_none(READ_ONCE(*pmd_offset(pud, addr))))
			break;
		addr = pmd_addr_end(addr, end);
	}
	return addr;
}

/**
 * hmmrt_is_moving() - check if pages of a window are being migrated right now
 * @vma: its mmap_lock is held
 * @start: first address
 * @n: pages in the window, all in one block
 *
 * The entry of such a page returns without an invalidation. Until then
 * hmm_range_fault() can tell it from a hole only by faulting in the holes.
 * Always false for hugetlb, whose tables may be freed under other locks.
 */
bool hmmrt_is_moving(struct vm_area_struct *vma, unsigned long start,
		     unsigned int n)
{
	bool moving = false;
	unsigned int i;
	pte_t *ptep;
	pmd_t *pmd;

	if (vma->vm_flags & VM_HUGETLB)
		return false;
	pmd = hmmrt_entry_above(vma->vm_mm, start);
	if (!pmd)
		return false;
	spin_lock(pmd_lockptr(vma->vm_mm, pmd));
	if (pmd_is_migration_entry(*pmd)) {
		moving = true;
	} else if (pmd_present(*pmd) && !pmd_leaf(*pmd) && !pmd_bad(*pmd)) {
		ptep = pte_offset_kernel(pmd, start);
		for (i = 0; i < n && !moving; i++) {
			pte_t pte = ptep_get(ptep + i);

			moving = hmmrt_pte_is_migration_entry(pte);
		}
	}
	spin_unlock(pmd_lockptr(vma->vm_mm, pmd));
	return moving;
}
