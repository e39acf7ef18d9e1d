// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device page table, and the device's accesses through it.
 *
 * Tables of 2 MiB, made before the manager writes to them and kept until the
 * view goes. An access needs a valid entry; a write one that permits it and is
 * not for atomic accesses only, as with the kernel's own driver: who wants to
 * write without the CPU being kept out asks again.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "dmirror.h"

void dpt_init(struct dpt *dpt)
{
	mutex_init(&dpt->create);
	spin_lock_init(&dpt->lock);
	xa_init(&dpt->tables);
}

void dpt_destroy(struct dpt *dpt)
{
	unsigned long index;
	hmmrt_pte_t *table;

	xa_for_each(&dpt->tables, index, table)
		free_page((unsigned long)table);
	xa_destroy(&dpt->tables);
	mutex_destroy(&dpt->create);
}

static int table_create(struct dpt *dpt, unsigned long index)
{
	void *table;
	int rc;

	lockdep_assert_held(&dpt->create);
	if (xa_load(&dpt->tables, index))
		return 0;
	table = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	rc = xa_err(xa_store(&dpt->tables, index, table, GFP_KERNEL));
	if (rc)
		free_page((unsigned long)table);
	return rc;
}

int dpt_prepare(struct dpt *dpt, unsigned long start, unsigned long end)
{
	unsigned long index;
	int rc = 0;

	for (index = start >> HMMRT_CHUNK_SHIFT;
	     !rc && index <= (end - 1) >> HMMRT_CHUNK_SHIFT; index++) {
		if (xa_load(&dpt->tables, index))
			continue;
		mutex_lock(&dpt->create);
		rc = table_create(dpt, index);
		mutex_unlock(&dpt->create);
	}
	return rc;
}

/* Where the entry is, or NULL if there is no table for it. */
static hmmrt_pte_t *dpt_slot(struct dpt *dpt, unsigned long addr)
{
	hmmrt_pte_t *table = xa_load(&dpt->tables, addr >> HMMRT_CHUNK_SHIFT);

	lockdep_assert_held(&dpt->lock);
	return table ? &table[(addr >> PAGE_SHIFT) % HMMRT_CHUNK_PAGES] : NULL;
}

void dpt_map(struct dpt *dpt, unsigned long start, const hmmrt_pte_t *ptes,
	     unsigned int npages)
{
	hmmrt_pte_t *slot;
	unsigned int i;

	spin_lock(&dpt->lock);
	slot = dpt_slot(dpt, start);
	for (i = 0; i < npages && !WARN_ON_ONCE(!slot); i++)
		if (ptes[i])
			slot[i] = ptes[i];
	spin_unlock(&dpt->lock);
}

void dpt_unmap(struct dpt *dpt, unsigned long start, unsigned long end)
{
	hmmrt_pte_t *slot;

	spin_lock(&dpt->lock);
	for (; start < end; start += PAGE_SIZE) {
		slot = dpt_slot(dpt, start);
		if (slot)
			*slot = 0;
	}
	spin_unlock(&dpt->lock);
}

static hmmrt_pte_t dpt_entry(struct dpt *dpt, unsigned long addr)
{
	const hmmrt_pte_t *slot = dpt_slot(dpt, addr);

	return slot ? *slot : 0;
}

static struct page *entry_page(hmmrt_pte_t entry)
{
	return pfn_to_page(PHYS_PFN(entry & HMMRT_PTE_ADDR));
}

/* -ENOENT: there is no entry for it. */
int dpt_read_page(struct dmirror_view *view, unsigned long addr, void *to)
{
	struct dpt *dpt = &view->dpt;
	hmmrt_pte_t entry;
	int rc = 0;

	spin_lock(&dpt->lock);
	entry = dpt_entry(dpt, addr);
	if (!entry)
		rc = -ENOENT;
	else if (entry & HMMRT_PTE_DEVICE)
		memcpy(to, dmirror_vram(view->dmirror, entry & HMMRT_PTE_ADDR),
		       PAGE_SIZE);
	else
		memcpy_from_page(to, entry_page(entry), 0, PAGE_SIZE);
	spin_unlock(&dpt->lock);
	return rc;
}

/* -ENOENT: there is no entry that permits it. */
int dpt_write_page(struct dmirror_view *view, unsigned long addr,
		   const void *from)
{
	struct dpt *dpt = &view->dpt;
	hmmrt_pte_t entry;
	int rc = 0;

	spin_lock(&dpt->lock);
	entry = dpt_entry(dpt, addr);
	if (!(entry & HMMRT_PTE_WRITE) || (entry & HMMRT_PTE_ATOMIC))
		rc = -ENOENT;
	else if (entry & HMMRT_PTE_DEVICE)
		memcpy(dmirror_vram(view->dmirror, entry & HMMRT_PTE_ADDR),
		       from, PAGE_SIZE);
	else
		memcpy_to_page(entry_page(entry), 0, from, PAGE_SIZE);
	spin_unlock(&dpt->lock);
	return rc;
}

bool dpt_has_atomic(struct dpt *dpt, unsigned long start, unsigned long end)
{
	bool found = false;

	for (; start < end && !found; start += PAGE_SIZE) {
		spin_lock(&dpt->lock);
		found = dpt_entry(dpt, start) & HMMRT_PTE_ATOMIC;
		spin_unlock(&dpt->lock);
		cond_resched();
	}
	return found;
}
