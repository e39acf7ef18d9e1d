// SPDX-License-Identifier: GPL-2.0-only
/*
 * Accesses of the device through its page table.
 *
 * A read needs a valid entry. A write needs an entry that permits it and that
 * is not for atomic accesses only. As with the kernel's own driver, an ordinary
 * write to an exclusive page causes a fault.
 */
#include <linux/highmem.h>
#include <linux/mm.h>

#include "dmirror.h"

static hmmrt_pte_t mmu_entry(struct soft_mmu *mmu, unsigned long addr)
{
	const hmmrt_pte_t *slot = soft_mmu_slot(mmu, addr);

	lockdep_assert_held(&mmu->lock);
	return slot ? *slot : 0;
}

static struct page *entry_page(hmmrt_pte_t entry)
{
	return pfn_to_page(PHYS_PFN(entry & HMMRT_PTE_ADDR));
}

/* Returns -ENOENT if there is no entry. */
int dmirror_read_page(struct dmirror_view *view, unsigned long addr, void *to)
{
	struct soft_mmu *mmu = &view->context.mmu;
	hmmrt_pte_t entry;
	int rc = 0;

	spin_lock(&mmu->lock);
	entry = mmu_entry(mmu, addr);
	if (!entry)
		rc = -ENOENT;
	else if (entry & HMMRT_PTE_DEVICE)
		memcpy(to, dmirror_vram(view->dmirror, entry & HMMRT_PTE_ADDR),
		       PAGE_SIZE);
	else
		memcpy_from_page(to, entry_page(entry), 0, PAGE_SIZE);
	spin_unlock(&mmu->lock);
	return rc;
}

/* Returns -ENOENT if there is no entry that permits a write. */
int dmirror_write_page(struct dmirror_view *view, unsigned long addr,
		       const void *from)
{
	struct soft_mmu *mmu = &view->context.mmu;
	hmmrt_pte_t entry;
	int rc = 0;

	spin_lock(&mmu->lock);
	entry = mmu_entry(mmu, addr);
	if (!(entry & HMMRT_PTE_WRITE) || (entry & HMMRT_PTE_ATOMIC))
		rc = -ENOENT;
	else if (entry & HMMRT_PTE_DEVICE)
		memcpy(dmirror_vram(view->dmirror, entry & HMMRT_PTE_ADDR),
		       from, PAGE_SIZE);
	else
		memcpy_to_page(entry_page(entry), 0, from, PAGE_SIZE);
	spin_unlock(&mmu->lock);
	return rc;
}

bool dmirror_has_atomic(struct dmirror_view *view, unsigned long start,
			unsigned long end)
{
	struct soft_mmu *mmu = &view->context.mmu;
	bool found = false;

	for (; start < end && !found; start += PAGE_SIZE) {
		spin_lock(&mmu->lock);
		found = mmu_entry(mmu, start) & HMMRT_PTE_ATOMIC;
		spin_unlock(&mmu->lock);
		cond_resched();
	}
	return found;
}
