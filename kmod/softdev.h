/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device in software: memory, a page table, and accesses of one word. It
 * replaces the hardware in drivers without hardware. Of what a driver adds to
 * get unified memory it contains what does not differ between them.
 *
 * Memory     Kernel memory, one chunk at a time, allocated by populate().
 * Tables     One page of entries for each chunk of address space. prepare()
 *            creates it, and it stays until soft_mmu_destroy().
 * Peers      If the devices of a driver map each other's memory, the drvdata of
 *            each device must start with its struct soft_memory.
 * Contexts   What the device knows of one process: the drvdata of a binding. It
 *            starts with a struct soft_mmu, for the ops of struct
 *            hmmrt_device_ops that are the same in all drivers: soft_prepare(),
 *            soft_map(), soft_unmap() and soft_released().
 * Locking    bind    mutex: whether a context is bound. The mmap_lock of the
 *                    caller is taken inside, so its holder may wait for a
 *                    program.
 *            create  mutex: creation of tables.
 *            lock    spinlock: entries, and accesses through them. After an
 *                    entry was removed under this lock, the device no longer
 *                    uses it.
 */
#ifndef _HMMRT_SOFTDEV_H
#define _HMMRT_SOFTDEV_H

#include <linux/highmem.h>
#include <linux/hmmrt_device.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#define SOFT_CHUNKS		32
#define SOFT_MEMORY_BYTES	(SOFT_CHUNKS * HMMRT_CHUNK_SIZE)

struct soft_memory {
	void *chunks[SOFT_CHUNKS];
};

struct soft_mmu {
	const struct soft_memory *memory;
	struct mutex create;		/* tables */
	spinlock_t lock;		/* entries */
	struct xarray tables;
};

struct soft_context {
	struct soft_mmu mmu;		/* first: soft_prepare() and others */
	struct mutex bind;
	struct hmmrt_binding *binding;	/* NULL: not bound yet */
};

/* --- memory --------------------------------------------------------------- */

static inline void *soft_memory_at(const struct soft_memory *memory, u64 offset)
{
	return memory->chunks[offset >> HMMRT_CHUNK_SHIFT] +
	       offset % HMMRT_CHUNK_SIZE;
}

static inline int soft_populate(struct soft_memory *memory, u64 offset)
{
	void *chunk = __vmalloc(HMMRT_CHUNK_SIZE, GFP_KERNEL | __GFP_NOWARN);

	memory->chunks[offset >> HMMRT_CHUNK_SHIFT] = chunk;
	return chunk ? 0 : -ENOMEM;
}

static inline void soft_depopulate(struct soft_memory *memory, u64 offset)
{
	vfree(soft_memory_at(memory, offset));
	memory->chunks[offset >> HMMRT_CHUNK_SHIFT] = NULL;
}

static inline void soft_copy_in(void *to, struct page **src,
				unsigned int npages)
{
	for (; npages--; src++, to += PAGE_SIZE) {
		if (*src)
			memcpy_from_page(to, *src, 0, PAGE_SIZE);
		else
			clear_page(to);
	}
}

static inline void soft_copy_out(struct page **dst, const void *from,
				 unsigned int npages)
{
	for (; npages--; dst++, from += PAGE_SIZE)
		if (*dst)
			memcpy_to_page(*dst, 0, from, PAGE_SIZE);
}

/* --- the MMU -------------------------------------------------------------- */

static inline void soft_mmu_init(struct soft_mmu *mmu,
				 const struct soft_memory *memory)
{
	mmu->memory = memory;
	mutex_init(&mmu->create);
	spin_lock_init(&mmu->lock);
	xa_init(&mmu->tables);
}

static inline void soft_mmu_destroy(struct soft_mmu *mmu)
{
	unsigned long index;
	void *table;

	xa_for_each(&mmu->tables, index, table)
		free_page((unsigned long)table);
	xa_destroy(&mmu->tables);
	mutex_destroy(&mmu->create);
}

static inline hmmrt_pte_t *soft_mmu_slot(struct soft_mmu *mmu,
					 unsigned long addr)
{
	hmmrt_pte_t *table = xa_load(&mmu->tables, addr >> HMMRT_CHUNK_SHIFT);

	return table ? &table[(addr >> PAGE_SHIFT) % HMMRT_CHUNK_PAGES] : NULL;
}

/* Create the table of one chunk of address space. */
static inline int soft_mmu_prepare(struct soft_mmu *mmu, unsigned long start)
{
	void *table;
	int rc = 0;

	mutex_lock(&mmu->create);
	if (soft_mmu_slot(mmu, start))
		goto out_unlock;
	table = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	rc = table ? xa_err(xa_store(&mmu->tables, start >> HMMRT_CHUNK_SHIFT,
				     table, GFP_KERNEL)) :
		     -ENOMEM;
	if (rc)
		free_page((unsigned long)table);
out_unlock:
	mutex_unlock(&mmu->create);
	return rc;
}

static inline void soft_mmu_map(struct soft_mmu *mmu, unsigned long start,
				const hmmrt_pte_t *ptes, unsigned int npages)
{
	hmmrt_pte_t *slot = soft_mmu_slot(mmu, start);

	spin_lock(&mmu->lock);
	for (; npages--; ptes++, slot++)
		if (*ptes)
			*slot = *ptes;
	spin_unlock(&mmu->lock);
}

static inline void soft_mmu_unmap(struct soft_mmu *mmu, unsigned long start,
				  unsigned long end)
{
	hmmrt_pte_t *slot = soft_mmu_slot(mmu, start);

	spin_lock(&mmu->lock);
	memset(slot, 0, ((end - start) >> PAGE_SHIFT) * sizeof(*slot));
	spin_unlock(&mmu->lock);
}

/* Return the memory of an entry. mmu->lock keeps the entry valid. */
static inline void *soft_mmu_target(const struct soft_mmu *mmu,
				    hmmrt_pte_t entry)
{
	const struct soft_memory *memory = mmu->memory;

	if (entry & HMMRT_PTE_PEER)
		memory = hmmrt_device_drvdata(hmmrt_pte_peer(entry));
	else if (!(entry & HMMRT_PTE_DEVICE))
		return kmap_local_pfn(PHYS_PFN(entry & HMMRT_PTE_ADDR));
	return soft_memory_at(memory, entry & HMMRT_PTE_ADDR);
}

/*
 * Access one aligned word. Returns false if no entry permits the access, which
 * is a fault.
 */
static inline bool soft_mmu_access(struct soft_mmu *mmu, unsigned long addr,
				   u64 *word, bool write)
{
	hmmrt_pte_t *slot, entry = 0;
	void *at;

	spin_lock(&mmu->lock);
	slot = soft_mmu_slot(mmu, addr);
	if (slot && (!write || (*slot & HMMRT_PTE_WRITE)))
		entry = *slot;
	if (entry) {
		at = soft_mmu_target(mmu, entry);
		memcpy(write ? at + offset_in_page(addr) : word,
		       write ? word : at + offset_in_page(addr), sizeof(*word));
		if (!(entry & (HMMRT_PTE_DEVICE | HMMRT_PTE_PEER)))
			kunmap_local(at);
	}
	spin_unlock(&mmu->lock);
	return entry;
}

/* --- operations ----------------------------------------------------------- */

static inline int soft_prepare(struct hmmrt_binding *binding,
			       unsigned long start, unsigned long end)
{
	return soft_mmu_prepare(hmmrt_binding_drvdata(binding), start);
}

static inline void soft_map(struct hmmrt_binding *binding, unsigned long start,
			    const hmmrt_pte_t *ptes, unsigned int npages)
{
	soft_mmu_map(hmmrt_binding_drvdata(binding), start, ptes, npages);
}

static inline void soft_unmap(struct hmmrt_binding *binding,
			      unsigned long start, unsigned long end)
{
	soft_mmu_unmap(hmmrt_binding_drvdata(binding), start, end);
}

/*
 * A device with a TLB invalidates the range here and waits for completion. This
 * one uses an entry under mmu->lock only.
 */
static inline void soft_invalidate(struct hmmrt_binding *binding,
				   unsigned long start, unsigned long end)
{
}

/*
 * A device that runs asynchronously stops working for the process here. This one
 * works in system calls of the process only.
 */
static inline void soft_released(struct hmmrt_binding *binding)
{
}

/* --- contexts ------------------------------------------------------------- */

static inline void soft_context_init(struct soft_context *context,
				     const struct soft_memory *memory)
{
	mutex_init(&context->bind);
	context->binding = NULL;
	soft_mmu_init(&context->mmu, memory);
}

/* No call with the context is running, so the device has stopped. */
static inline void soft_context_destroy(struct soft_context *context)
{
	if (context->binding)
		hmmrt_unbind(context->binding);
	soft_mmu_destroy(&context->mmu);
	mutex_destroy(&context->bind);
}

/* Bind the device to the calling process. */
static inline int soft_context_bind(struct soft_context *context,
				    struct hmmrt_device *dev)
{
	struct hmmrt_binding *binding;
	int rc = -EBUSY;

	if (mutex_lock_killable(&context->bind))
		return -EINTR;
	if (!context->binding) {
		binding = hmmrt_bind_current(dev, context);
		rc = PTR_ERR_OR_ZERO(binding);
		if (!rc) {
			/* Pairs with soft_context_binding(). */
			smp_store_release(&context->binding, binding);
		}
	}
	mutex_unlock(&context->bind);
	return rc;
}

/* The binding, for its process only. */
static inline struct hmmrt_binding *
soft_context_binding(struct soft_context *context)
{
	/* Pairs with soft_context_bind(). */
	struct hmmrt_binding *binding = smp_load_acquire(&context->binding);

	if (!binding)
		return ERR_PTR(-EINVAL);
	return hmmrt_binding_is_owner(binding) ? binding : ERR_PTR(-EPERM);
}

#endif /* _HMMRT_SOFTDEV_H */
