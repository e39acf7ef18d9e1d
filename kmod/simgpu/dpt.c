// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device page table: maps addresses to entries, one tree per view.
 *
 * Model      The upper levels are an xarray. The lowest level is a table of 512
 *            entries with a spinlock. 512 entries that are contiguous, aligned
 *            and have equal permissions are stored as one 2 MiB leaf. Clearing
 *            part of a leaf first splits it into entries. The memory for them
 *            is allocated with the table, so a split allocates nothing.
 * Owner      An entry holds no reference to a page: the manager unmaps the
 *            entry before the page can be freed. A table stays until the
 *            manager forgets its addresses or the view is released.
 * Locking    dpt->lock protects the creation of tables, table->lock the
 *            entries. The manager does not use a table while it forgets the
 *            table. A TLB fill looks up and uses a table in one RCU read-side
 *            section.
 */
#include <linux/slab.h>

#include "simgpu.h"

#define LEAF_SIZE	HMMRT_CHUNK_SIZE

void dpt_init(struct dpt *dpt)
{
	mutex_init(&dpt->lock);
	xa_init_flags(&dpt->tables, XA_FLAGS_ACCOUNT);
}

static void table_free(struct dpt_table *table)
{
	kfree(table->pte);
	kfree(table);
}

void dpt_destroy(struct dpt *dpt)
{
	struct dpt_table *table;
	unsigned long index;

	xa_for_each(&dpt->tables, index, table)
		if (!xa_is_value(table))
			table_free(table);
	xa_destroy(&dpt->tables);
	mutex_destroy(&dpt->lock);
}

struct dpt_table *dpt_find_table(struct dpt *dpt, unsigned long addr)
{
	void *entry = xa_load(&dpt->tables, addr >> HMMRT_CHUNK_SHIFT);

	return xa_is_value(entry) ? NULL : entry;
}

static int table_create(struct dpt *dpt, unsigned long addr)
{
	struct dpt_table *table;
	int rc;

	lockdep_assert_held(&dpt->lock);
	if (dpt_find_table(dpt, addr))
		return 0;
	table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	table->pte = kcalloc(DPT_ENTRIES, sizeof(*table->pte),
			     GFP_KERNEL_ACCOUNT);
	if (!table->pte) {
		kfree(table);
		return -ENOMEM;
	}
	spin_lock_init(&table->lock);
	/* PTEs of the previous table may still exist. */
	table->tlb_has_ptes = xa_load(&dpt->tables, addr >> HMMRT_CHUNK_SHIFT);
	rc = xa_err(xa_store(&dpt->tables, addr >> HMMRT_CHUNK_SHIFT, table,
			     GFP_KERNEL));
	if (rc)
		table_free(table);
	return rc;
}

/* Create tables for [start, end), so that dpt_map() allocates nothing. */
int dpt_prepare(struct dpt *dpt, unsigned long start, unsigned long end)
{
	unsigned long addr;
	int rc = 0;

	for (addr = ALIGN_DOWN(start, LEAF_SIZE); !rc && addr < end;
	     addr += LEAF_SIZE) {
		if (dpt_find_table(dpt, addr))
			continue;
		mutex_lock(&dpt->lock);
		rc = table_create(dpt, addr);
		mutex_unlock(&dpt->lock);
	}
	return rc;
}

hmmrt_pte_t dpt_table_entry(const struct dpt_table *table, unsigned int index)
{
	lockdep_assert_held(&table->lock);
	if (table->huge)
		return table->huge + ((u64)index << PAGE_SHIFT);
	return table->pte[index];
}

static void leaf_split(struct dpt_table *table)
{
	unsigned int i;

	lockdep_assert_held(&table->lock);
	for (i = 0; i < DPT_ENTRIES; i++)
		table->pte[i] = dpt_table_entry(table, i);
	table->huge = 0;
}

static void leaf_merge(struct dpt_table *table)
{
	hmmrt_pte_t first = table->pte[0];
	unsigned int i;

	lockdep_assert_held(&table->lock);
	if (!first || !IS_ALIGNED(first & HMMRT_PTE_ADDR, LEAF_SIZE))
		return;
	for (i = 1; i < DPT_ENTRIES; i++)
		if (table->pte[i] != first + ((u64)i << PAGE_SHIFT))
			return;
	table->huge = first;
}

/* Map pages within one table. An invalid entry in @ptes changes nothing. */
void dpt_map(struct dpt *dpt, unsigned long start, const hmmrt_pte_t *ptes,
	     unsigned int npages)
{
	struct dpt_table *table = dpt_find_table(dpt, start);
	unsigned int first = (start >> PAGE_SHIFT) % DPT_ENTRIES;
	unsigned int i;

	if (WARN_ON_ONCE(!table || first + npages > DPT_ENTRIES))
		return;
	spin_lock(&table->lock);
	if (table->huge)
		leaf_split(table);
	for (i = 0; i < npages; i++)
		if (ptes[i])
			table->pte[first + i] = ptes[i];
	leaf_merge(table);
	spin_unlock(&table->lock);
}

static void table_unmap(struct dpt_table *table, unsigned int first,
			unsigned int count)
{
	lockdep_assert_held(&table->lock);
	if (table->huge && count < DPT_ENTRIES)
		leaf_split(table);
	table->huge = 0;
	memset(&table->pte[first], 0, count * sizeof(table->pte[0]));
	bitmap_clear(table->used, first, count);
}

void dpt_unmap(struct dpt *dpt, unsigned long start, unsigned long end)
{
	while (start < end) {
		unsigned long next =
			min(end, ALIGN_DOWN(start, LEAF_SIZE) + LEAF_SIZE);
		struct dpt_table *table = dpt_find_table(dpt, start);

		if (table) {
			spin_lock(&table->lock);
			table_unmap(table, (start >> PAGE_SHIFT) % DPT_ENTRIES,
				    (next - start) >> PAGE_SHIFT);
			spin_unlock(&table->lock);
		}
		start = next;
	}
}

static void table_free_rcu(struct rcu_head *rcu)
{
	table_free(container_of(rcu, struct dpt_table, rcu));
}

static void table_forget(struct dpt *dpt, struct dpt_table *table,
			 unsigned long addr)
{
	bool had_ptes;

	spin_lock(&table->lock);
	WARN_ON_ONCE(table->huge);
	table->forgotten = true;
	had_ptes = table->tlb_has_ptes;
	spin_unlock(&table->lock);
	/* This replaces an entry, so xa_store() allocates nothing. */
	xa_store(&dpt->tables, addr >> HMMRT_CHUNK_SHIFT,
		 had_ptes ? xa_mk_value(1) : NULL, 0);
	call_rcu(&table->rcu, table_free_rcu);
}

/*
 * See hmmrt_device_ops.forget: does not run concurrently with prepare, map or
 * unmap of this range.
 */
void dpt_forget(struct dpt *dpt, unsigned long start, unsigned long end)
{
	unsigned long addr;

	for (addr = start; addr < end; addr += LEAF_SIZE) {
		struct dpt_table *table = dpt_find_table(dpt, addr);

		if (table)
			table_forget(dpt, table, addr);
	}
}
