/* SPDX-License-Identifier: MIT */
/* Access to kmod/simgpu/dpt.c from C++, which cannot include its headers. */
#ifndef TESTS_HOST_DPT_SHIM_H
#define TESTS_HOST_DPT_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dpt;

extern const uint64_t SHIM_PTE_VALID, SHIM_PTE_WRITE, SHIM_PTE_EXEC;
extern const uint64_t SHIM_PTE_DEVICE, SHIM_PTE_ADDR;

struct dpt *shim_dpt_new(void);
void shim_dpt_free(struct dpt *dpt);
int shim_dpt_prepare(struct dpt *dpt, unsigned long start, unsigned long end);
void shim_dpt_map(struct dpt *dpt, unsigned long start, const uint64_t *ptes,
		  unsigned int npages);
void shim_dpt_unmap(struct dpt *dpt, unsigned long start, unsigned long end);
void shim_dpt_forget(struct dpt *dpt, unsigned long start, unsigned long end);
/* Marks that the TLB has, or may have, its own page tables there. */
void shim_dpt_set_tlb_ptes(struct dpt *dpt, unsigned long addr);
bool shim_dpt_has_tlb_ptes(struct dpt *dpt, unsigned long addr);
bool shim_dpt_has_table(struct dpt *dpt, unsigned long addr);
/* Returns 0 if there is no entry. */
uint64_t shim_dpt_entry(struct dpt *dpt, unsigned long addr);
bool shim_dpt_is_leaf(struct dpt *dpt, unsigned long addr);

#ifdef __cplusplus
}
#endif

#endif
