// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "dpt_shim.h"
#include "simgpu.h"

const uint64_t SHIM_PTE_VALID = HMMRT_PTE_VALID;
const uint64_t SHIM_PTE_WRITE = HMMRT_PTE_WRITE;
const uint64_t SHIM_PTE_EXEC = HMMRT_PTE_EXEC;
const uint64_t SHIM_PTE_DEVICE = HMMRT_PTE_DEVICE;
const uint64_t SHIM_PTE_ADDR = HMMRT_PTE_ADDR;

struct dpt *shim_dpt_new(void)
{
	struct dpt *dpt = calloc(1, sizeof(*dpt));

	dpt_init(dpt);
	return dpt;
}

void shim_dpt_free(struct dpt *dpt)
{
	dpt_destroy(dpt);
	free(dpt);
}

int shim_dpt_prepare(struct dpt *dpt, unsigned long start, unsigned long end)
{
	return dpt_prepare(dpt, start, end);
}

void shim_dpt_map(struct dpt *dpt, unsigned long start, const uint64_t *ptes,
		  unsigned int npages)
{
	dpt_map(dpt, start, ptes, npages);
}

void shim_dpt_unmap(struct dpt *dpt, unsigned long start, unsigned long end)
{
	dpt_unmap(dpt, start, end);
}

void shim_dpt_forget(struct dpt *dpt, unsigned long start, unsigned long end)
{
	dpt_forget(dpt, start, end);
}

void shim_dpt_set_tlb_ptes(struct dpt *dpt, unsigned long addr)
{
	dpt_find_table(dpt, addr)->tlb_has_ptes = true;
}

bool shim_dpt_has_tlb_ptes(struct dpt *dpt, unsigned long addr)
{
	return dpt_find_table(dpt, addr)->tlb_has_ptes;
}

bool shim_dpt_has_table(struct dpt *dpt, unsigned long addr)
{
	return dpt_find_table(dpt, addr);
}

uint64_t shim_dpt_entry(struct dpt *dpt, unsigned long addr)
{
	struct dpt_table *table = dpt_find_table(dpt, addr);
	uint64_t entry;

	if (!table)
		return 0;
	spin_lock(&table->lock);
	entry = dpt_table_entry(table, (addr >> PAGE_SHIFT) % DPT_ENTRIES);
	spin_unlock(&table->lock);
	return entry;
}

bool shim_dpt_is_leaf(struct dpt *dpt, unsigned long addr)
{
	struct dpt_table *table = dpt_find_table(dpt, addr);

	return table && table->huge;
}
