// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent's mapping of the device: TLB fills, device faults, shootdown.
 *
 * Model      A page fault in the agent is a TLB miss. If the device page table
 *            has an entry that permits the access, special PTEs are set for it
 *            and for the run of valid entries around it (fault-around).
 *            Otherwise it is a device fault: the agent's lock is dropped, the
 *            manager serves the fault, and the access is repeated
 *            (VM_FAULT_RETRY), as with replayable faults of a GPU.
 * Large      A leaf of the device page table becomes one PMD, on kernels that
 *            permit that in such a mapping. A PMD is set only where there is no
 *            page table, and never after there may be one
 *            (table->tlb_has_ptes): code that creates page tables must not meet
 *            a PMD.
 * Zap        PTEs here hold no reference to a page, so a shootdown has to find
 *            all of them. For that, file offset == address: mmap enforces it,
 *            mremap is refused, and each fault checks it. Each view has its own
 *            inode.
 * Write      A read-only PTE is never dirty or writable. The first write calls
 *            pfn_mkwrite, which sets the PTE itself. It must not return 0 or
 *            only VM_FAULT_RETRY, or the core would make the PTE writable.
 * Exec       The device entry and the vma both have to permit the access.
 * Kernel     Faults from kernel mode (system calls of the agent on mirrored
 *            memory) are refused, because the caller may hold locks that
 *            serving the fault needs.
 * Accessed   The processor marks PTEs that it uses, and a fill marks the PTE of
 *            its access but not the neighbours. These are the accessed bits of
 *            the device. Reading them zaps the PTEs, because the processor does
 *            not mark an entry that it has cached.
 * Recording  While a program records accesses, the TLB has no more than the pages
 *            that were used last, so that each access to another one is a TLB
 *            miss. The oldest PTE is zapped with its accessed bit, which
 *            table->used keeps.
 * Locking    Fill: agent's mmap_lock -> table->lock -> page table lock. Page
 *            tables are created before, with neither of the inner locks held,
 *            so that the fill allocates nothing. Shootdown: i_mmap_rwsem of the
 *            view -> page table lock.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../space_table.h"
#include "simgpu.h"

/* Half-open page range [first, end) of a table. */
struct run {
	unsigned int first;
	unsigned int end;
};

struct fill {
	struct simgpu *gpu;
	struct mm_struct *mm;
	unsigned long addr;	/* of the access that missed */
	unsigned long vm_flags;
	const struct dpt_table *table;
};

/*
 * TLB entries per processor while accesses are recorded, so that no processor
 * replaces those that the instruction of another one needs.
 */
#define RECENT_PER_CPU	16

/*
 * Called under table->lock: the memory that an entry refers to exists as long
 * as the entry does.
 */
static unsigned long entry_pfn(struct simgpu *gpu, hmmrt_pte_t entry)
{
	u64 addr = entry & HMMRT_PTE_ADDR;

	if (entry & HMMRT_PTE_PEER)
		gpu = hmmrt_device_drvdata(hmmrt_pte_peer(entry));
	else if (!(entry & HMMRT_PTE_DEVICE))
		return PHYS_PFN(addr);
	return simgpu_vram_pfn(gpu, addr);
}

/* Permissions that both the entry and the vma grant. */
static unsigned long entry_vm_flags(hmmrt_pte_t entry, unsigned long vm_flags)
{
	unsigned long flags = VM_SHARED | (vm_flags & VM_READ);

	if (entry & HMMRT_PTE_WRITE)
		flags |= vm_flags & VM_WRITE;
	if (entry & HMMRT_PTE_EXEC)
		flags |= vm_flags & VM_EXEC;
	return flags;
}

static unsigned long access_vm_flags(unsigned int access)
{
	return (access & HMMRT_ACCESS_READ ? VM_READ : 0) |
	       (access & HMMRT_ACCESS_WRITE ? VM_WRITE : 0) |
	       (access & HMMRT_ACCESS_EXEC ? VM_EXEC : 0);
}

static int fill_pte(pte_t *ptep, unsigned long addr, void *data)
{
	const struct fill *fill = data;
	hmmrt_pte_t entry = dpt_table_entry(fill->table,
					    (addr >> PAGE_SHIFT) % DPT_ENTRIES);
	unsigned long flags = entry_vm_flags(entry, fill->vm_flags);
	unsigned long pfn = entry_pfn(fill->gpu, entry);
	pte_t pte;

	if (pte_present(*ptep)) {
		/* Missed shootdown: the page may have been reused. */
		if (WARN_ON_ONCE(pte_pfn(*ptep) != pfn))
			return 0;
		if (pte_write(*ptep) || !(flags & VM_WRITE))
			return 0;
	}
	pte = pte_mkspecial(pfn_pte(pfn, vm_get_page_prot(flags)));
	pte = addr == fill->addr ? pte_mkyoung(pte) : pte_mkold(pte);
	if (flags & VM_WRITE)
		pte = pte_mkdirty(pte_mkwrite_novma(pte));
	set_pte_at(fill->mm, addr, ptep, pte);
	return 0;
}

/*
 * Set the PMD of a leaf, or make it writable. Return false if the leaf cannot
 * be one PMD or if there is a page table.
 */
static bool fill_pmd(struct vm_fault *vmf, struct simgpu *gpu, hmmrt_pte_t leaf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = ALIGN_DOWN(vmf->address, HMMRT_CHUNK_SIZE);
	unsigned long flags = entry_vm_flags(leaf, vma->vm_flags);
	unsigned long pfn = entry_pfn(gpu, leaf);
	spinlock_t *ptl;	/* of the PMD */
	bool fits;
	pmd_t pmd;

	if (!IS_ALIGNED(pfn, HMMRT_CHUNK_PAGES))
		return false;
	pmd = pmd_mkhuge(pfn_pmd(pfn, vm_get_page_prot(flags)));
	pmd = pmd_mkyoung(pmd_mkspecial(pmd));
	if (flags & VM_WRITE)
		pmd = pmd_mkdirty(pmd);
	ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	fits = pmd_none(*vmf->pmd) ||
	       (pmd_trans_huge(*vmf->pmd) && pmd_pfn(*vmf->pmd) == pfn);
	if (fits && (pmd_none(*vmf->pmd) || !pmd_write(*vmf->pmd)))
		set_pmd_at(vma->vm_mm, addr, vmf->pmd, pmd);
	spin_unlock(ptl);
	return fits;
}

static int touch_pte(pte_t *ptep, unsigned long addr, void *data)
{
	return 0;
}

/* Find the run of valid entries around @index, in [lo, hi). */
static struct run valid_run(const struct dpt_table *table, unsigned int index,
			    unsigned int lo, unsigned int hi)
{
	struct run run = { .first = index, .end = index + 1 };

	while (run.first > lo && dpt_table_entry(table, run.first - 1))
		run.first--;
	while (run.end < hi && dpt_table_entry(table, run.end))
		run.end++;
	return run;
}

static struct run vma_run(const struct vm_area_struct *vma, unsigned long base)
{
	unsigned long lo = max(vma->vm_start, base);
	unsigned long hi = min(vma->vm_end, base + HMMRT_CHUNK_SIZE);

	return (struct run){ .first = (lo - base) >> PAGE_SHIFT,
			     .end = (hi - base) >> PAGE_SHIFT };
}

/*
 * Set PTEs from a table, or @alone the one of the access. Return false if no
 * entry permits the access.
 */
static bool tlb_fill_from(struct dpt_table *table, struct simgpu_view *view,
			  struct vm_area_struct *vma, unsigned long addr,
			  unsigned int access, bool alone)
{
	unsigned long base = ALIGN_DOWN(addr, HMMRT_CHUNK_SIZE);
	unsigned int index = (addr - base) >> PAGE_SHIFT;
	unsigned long want = access_vm_flags(access);
	struct run run = { .first = index, .end = index + 1 };
	struct fill fill = {
		.gpu = view->gpu,
		.mm = vma->vm_mm,
		.addr = addr,
		.vm_flags = vma->vm_flags,
		.table = table,
	};
	hmmrt_pte_t entry;

	lockdep_assert_held(&table->lock);
	entry = dpt_table_entry(table, index);
	if (!entry || (entry_vm_flags(entry, vma->vm_flags) & want) != want)
		return false;
	if (alone) {
		__set_bit(index, table->used);
	} else {
		struct run limit = vma_run(vma, base);

		run = valid_run(table, index, limit.first, limit.end);
	}
	apply_to_page_range(vma->vm_mm,
			    base + ((unsigned long)run.first << PAGE_SHIFT),
			    (unsigned long)(run.end - run.first) << PAGE_SHIFT,
			    fill_pte, &fill);
	return true;
}

/* Set PTEs from the device page table, as tlb_fill_from(). */
static bool tlb_fill(struct simgpu_view *view, struct vm_area_struct *vma,
		     unsigned long addr, unsigned int access, bool alone)
{
	struct dpt_table *table;
	bool hit = false;

	rcu_read_lock();
	table = dpt_find_table(&view->dpt, addr);
	if (table) {
		spin_lock(&table->lock);
		hit = tlb_fill_from(table, view, vma, addr, access, alone);
		spin_unlock(&table->lock);
	}
	rcu_read_unlock();
	return hit;
}

/* --- recording ------------------------------------------------------------ */

/*
 * Note the latest page. Returns the one that it replaces, or 0. A page whose PTE
 * was zapped otherwise is here already, and must not be here twice: its first
 * place would zap the new PTE, and the pages of one instruction could replace
 * each other forever.
 */
static unsigned long recent_replace(struct recent_pages *recent,
				    unsigned long addr)
{
	unsigned int most = min(RECENT_PER_CPU * num_online_cpus(), RECENT_MAX);
	unsigned long oldest;
	unsigned int i;

	spin_lock(&recent->lock);
	for (i = 0; i < RECENT_MAX; i++)
		if (recent->addr[i] == addr)
			recent->addr[i] = 0;
	if (recent->next >= most)
		recent->next = 0;
	oldest = recent->addr[recent->next];
	recent->addr[recent->next++] = addr;
	spin_unlock(&recent->lock);
	return oldest;
}

/* An access missed the TLB, and has its PTE now. */
static void record_access(struct simgpu_view *view, unsigned long addr,
			  unsigned int access)
{
	unsigned long oldest = recent_replace(&view->recent, addr);

	hmmrt_accessed(view->binding, addr, access,
		       instruction_pointer(task_pt_regs(current)));
	if (oldest)
		simgpu_mirror_invalidate(view, oldest, oldest + PAGE_SIZE);
}

/* --- faults --------------------------------------------------------------- */

static vm_fault_t mirror_serve(struct vm_fault *vmf, unsigned int access)
{
	struct simgpu_view *view = vmf->vma->vm_private_data;
	unsigned long addr = vmf->real_address;
	struct file *file;
	vm_fault_t ret;
	int rc;

	ret = simgpu_failure_report(view, vmf, access);
	if (ret)
		return ret;
	if (!simgpu_failure_reserve(view, vmf))
		return VM_FAULT_OOM;
	/* The core does not permit a retry here: have the access repeated. */
	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) ||
	    (vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return VM_FAULT_NOPAGE;

	/*
	 * From here the vma may be freed. The file keeps the view and module.
	 */
	file = get_file(vmf->vma->vm_file);
	hmmrt_release_fault_lock(vmf);
	/* mirror_check() has refused faults of the kernel. */
	rc = hmmrt_fault_of(view->binding, addr, access,
			    instruction_pointer(task_pt_regs(current)));
	if (rc && rc != -EAGAIN && rc != -EINTR)
		simgpu_failure_store(view, addr, access, rc);
	fput(file);
	return VM_FAULT_RETRY;
}

/* Refuse accesses that no device entry can permit. Returns 0 for others. */
static vm_fault_t mirror_check(const struct vm_fault *vmf, unsigned int access)
{
	if (!(vmf->flags & FAULT_FLAG_USER))
		return VM_FAULT_SIGBUS;
	/* Another driver has one since: see simgpu_mirror_invalidate(). */
	if (mm_has_notifiers(vmf->vma->vm_mm))
		return VM_FAULT_SIGBUS;
	if (WARN_ON_ONCE(vmf->pgoff != vmf->address >> PAGE_SHIFT))
		return VM_FAULT_SIGBUS;
	/* The vma does not permit the access, so do not ask the manager. */
	if (access_vm_flags(access) & ~vmf->vma->vm_flags)
		return VM_FAULT_SIGSEGV;
	return 0;
}

/* Ways to fill a TLB entry. */
enum tlb_way {
	TLB_MISS,		/* no table: the device has no entry */
	TLB_IS_HUGE,		/* a PMD was set concurrently */
	TLB_BY_PTES,		/* with PTEs, now and later */
};

/* A forgotten table counts as absent: the next one inherits tlb_has_ptes. */
static enum tlb_way use_ptes(struct simgpu_view *view,
			     const struct vm_fault *vmf)
{
	enum tlb_way way = TLB_MISS;
	struct dpt_table *table;

	rcu_read_lock();
	table = dpt_find_table(&view->dpt, vmf->address);
	if (table) {
		spin_lock(&table->lock);
		if (!table->forgotten) {
			table->tlb_has_ptes = true;
			way = pmd_trans_huge(READ_ONCE(*vmf->pmd)) ?
				      TLB_IS_HUGE :
				      TLB_BY_PTES;
		}
		spin_unlock(&table->lock);
	}
	rcu_read_unlock();
	return way;
}

static vm_fault_t mirror_access(struct vm_fault *vmf, unsigned int access)
{
	struct vm_area_struct *vma = vmf->vma;
	struct simgpu_view *view = vma->vm_private_data;
	unsigned long addr = vmf->address & PAGE_MASK;
	bool recorded = hmmrt_accesses_recorded(view->binding);
	vm_fault_t ret;

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	ret = mirror_check(vmf, access);
	if (ret)
		return ret;
	switch (use_ptes(view, vmf)) {
	case TLB_MISS:
		return mirror_serve(vmf, access);
	case TLB_IS_HUGE:
		return VM_FAULT_NOPAGE;
	case TLB_BY_PTES:
		break;
	}
	if (apply_to_page_range(vma->vm_mm, addr, PAGE_SIZE, touch_pte, NULL))
		return VM_FAULT_OOM;
	if (!tlb_fill(view, vma, addr, access, recorded))
		return mirror_serve(vmf, access);
	if (recorded)
		record_access(view, addr, access);
	return VM_FAULT_NOPAGE;
}

static unsigned int fault_access(const struct vm_fault *vmf)
{
	unsigned int access = HMMRT_ACCESS_READ;

	if (vmf->flags & FAULT_FLAG_WRITE)
		access |= HMMRT_ACCESS_WRITE;
	if (vmf->flags & FAULT_FLAG_INSTRUCTION)
		access |= HMMRT_ACCESS_EXEC;
	return access;
}

static vm_fault_t mirror_fault(struct vm_fault *vmf)
{
	return mirror_access(vmf, fault_access(vmf));
}

/* Returns 0 if no entry permits the access, FALLBACK if it needs PTEs. */
static vm_fault_t tlb_fill_huge_from(struct dpt_table *table,
				     struct vm_fault *vmf, unsigned int access)
{
	struct simgpu_view *view = vmf->vma->vm_private_data;
	unsigned long want = access_vm_flags(access);
	hmmrt_pte_t entry;

	lockdep_assert_held(&table->lock);
	entry = dpt_table_entry(table,
				(vmf->address >> PAGE_SHIFT) % DPT_ENTRIES);
	if (table->tlb_has_ptes || hmmrt_accesses_recorded(view->binding))
		return VM_FAULT_FALLBACK;
	if (!entry ||
	    (entry_vm_flags(entry, vmf->vma->vm_flags) & want) != want)
		return 0;
	if (table->huge && fill_pmd(vmf, view->gpu, table->huge))
		return VM_FAULT_NOPAGE;
	return VM_FAULT_FALLBACK;
}

static vm_fault_t tlb_fill_huge(struct vm_fault *vmf, unsigned int access)
{
	struct simgpu_view *view = vmf->vma->vm_private_data;
	struct dpt_table *table;
	vm_fault_t ret = 0;

	rcu_read_lock();
	table = dpt_find_table(&view->dpt, vmf->address);
	if (table) {
		spin_lock(&table->lock);
		ret = tlb_fill_huge_from(table, vmf, access);
		spin_unlock(&table->lock);
	}
	rcu_read_unlock();
	return ret;
}

/*
 * The address has no page table, or a PMD that does not permit a write. Serve
 * the device fault first: the resulting device entry decides whether a page
 * table is needed.
 */
static __maybe_unused vm_fault_t mirror_huge_fault(struct vm_fault *vmf,
						   unsigned int order)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long base = ALIGN_DOWN(vmf->address, HMMRT_CHUNK_SIZE);
	unsigned int access = fault_access(vmf);
	vm_fault_t ret;

	if (order != HMMRT_CHUNK_SHIFT - PAGE_SHIFT || base < vma->vm_start ||
	    base + HMMRT_CHUNK_SIZE > vma->vm_end)
		return VM_FAULT_FALLBACK;
	if (hmmrt_drop_vma_lock(vmf))
		return VM_FAULT_RETRY;
	ret = mirror_check(vmf, access);
	if (!ret)
		ret = tlb_fill_huge(vmf, access);
	return ret ? ret : mirror_serve(vmf, access);
}

/*
 * A write to a read-only PTE. Every result that is not an error includes
 * NOPAGE: the core must not modify the PTE, and must not read it after the lock
 * was dropped.
 */
static vm_fault_t mirror_pfn_mkwrite(struct vm_fault *vmf)
{
	vm_fault_t ret;

	ret = mirror_access(vmf, HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE);
	return ret & VM_FAULT_ERROR ? ret : ret | VM_FAULT_NOPAGE;
}

/*
 * exec unmaps the agent's memory after the process has its new mm. Wake waiting
 * polls, so that they check again. After a munmap() they find no change.
 */
static void mirror_close(struct vm_area_struct *vma)
{
	struct simgpu_view *view = vma->vm_private_data;

	wake_up_all(&view->gone);
}

static int mirror_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static int mirror_mprotect(struct vm_area_struct *vma, unsigned long start,
			   unsigned long end, unsigned long flags)
{
	return -EINVAL;
}

static const struct vm_operations_struct mirror_vm_ops = {
	.close = mirror_close,
	.mremap = mirror_mremap,
	.mprotect = mirror_mprotect,
	.fault = mirror_fault,
	HMMRT_HUGE_FAULT(mirror_huge_fault)
	.pfn_mkwrite = mirror_pfn_mkwrite,
};

int simgpu_mirror_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct simgpu_view *view = file->private_data;

	/* Set once, by attach. Pairs with ioc_attach(). */
	if (!smp_load_acquire(&view->agent_mm))
		return simgpu_without_agent(view);
	if (current->mm != view->agent_mm)
		return -EPERM;
	if (mm_has_notifiers(current->mm))
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED) ||
	    vma->vm_pgoff != vma->vm_start >> PAGE_SHIFT)
		return -EINVAL;
	hmmrt_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND |
					VM_DONTCOPY | VM_DONTDUMP);
	vma->vm_ops = &mirror_vm_ops;
	vma->vm_private_data = view;
	return 0;
}

void simgpu_mirror_invalidate(struct simgpu_view *view, unsigned long start,
			      unsigned long end)
{
	struct address_space *mapping = view->inode->i_mapping;

	/* Keep the relevant order visible to lockdep: see simgpu_i_mmap_key. */
	might_lock_read(&mapping->i_mmap_rwsem);
	/*
	 * The rest cannot be annotated. Zapping the agent acquires the core's
	 * lockdep map __mmu_notifier_invalidate_range_start_map. If this runs
	 * in a notifier, its caller has acquired the same map for the
	 * application. There is one map for all processes. It is not exported
	 * to modules, and the core acquires it without a subclass and even for
	 * an mm without notifiers. Lockdep is off outside of notifiers too:
	 * there it would learn the order i_mmap_rwsem -> map, and inside of
	 * notifiers the opposite order.
	 * An agent has no notifiers: attach, mmap and each fault check that. If
	 * another driver registers one later, which needs the agent's mmap_lock
	 * for writing, the agent gets no entry any more, so that no notifier is
	 * called within another one but for entries that it had before. Those
	 * are harmless: the mapping has no pages that a driver could pin or
	 * mirror (VM_PFNMAP, and faults of the kernel are refused), so what that
	 * notifier waits for waits for no invalidation of the application.
	 */
	lockdep_off();
	unmap_mapping_range(mapping, start, end - start, 1);
	lockdep_on();
}

/* --- accessed bits -------------------------------------------------------- */

struct harvest {
	const struct dpt_table *table;
	hmmrt_pte_t *ptes;
	bool any;
};

static int harvest_pte(pte_t *ptep, unsigned long addr, void *data)
{
	unsigned int index = (addr >> PAGE_SHIFT) % DPT_ENTRIES;
	struct harvest *harvest = data;
	pte_t pte = ptep_get(ptep);

	if (!pte_present(pte) || !pte_young(pte))
		return 0;
	harvest->ptes[index] = dpt_table_entry(harvest->table, index);
	harvest->any = true;
	return 0;
}

/* Accesses that were recorded. */
static void harvest_used(struct dpt_table *table, struct harvest *harvest)
{
	unsigned int i;

	lockdep_assert_held(&table->lock);
	for_each_set_bit(i, table->used, DPT_ENTRIES) {
		harvest->ptes[i] = dpt_table_entry(table, i);
		harvest->any = true;
	}
	bitmap_zero(table->used, DPT_ENTRIES);
}

/*
 * A PMD has one accessed bit for all of its pages. Return false if the PMD
 * points to a page table.
 */
static bool harvest_pmd(struct mm_struct *mm, unsigned long addr,
			struct harvest *harvest)
{
	pmd_t *pmdp = hmmrt_entry_above(mm, addr);
	unsigned int i;
	pmd_t pmd;

	if (!pmdp)
		return true;
	/* No huge PMD is set while the table is locked. */
	lockdep_assert_held(&harvest->table->lock);
	pmd = READ_ONCE(*pmdp);
	if (!pmd_trans_huge(pmd))
		return pmd_none(pmd);
	if (!pmd_young(pmd))
		return true;
	for (i = 0; i < DPT_ENTRIES; i++)
		harvest->ptes[i] = dpt_table_entry(harvest->table, i);
	harvest->any = true;
	return true;
}

/*
 * Report which entries of a table the lanes have used, within the first mapping
 * of this view in the range. Other mappings of the agent are ignored. The
 * mmap_lock keeps the mapping, and so its page tables.
 */
static bool harvest_table(struct mm_struct *mm, struct simgpu_view *view,
			  unsigned long start, hmmrt_pte_t *ptes)
{
	struct harvest harvest = { .ptes = ptes };
	unsigned long end = start + HMMRT_CHUNK_SIZE;
	struct vm_area_struct *vma;
	struct dpt_table *table;

	lockdep_assert_held(&mm->mmap_lock);
	vma = find_vma_intersection(mm, start, end);
	if (!vma || vma->vm_ops != &mirror_vm_ops ||
	    vma->vm_private_data != view)
		return false;
	end = min(end, vma->vm_end);
	rcu_read_lock();
	table = dpt_find_table(&view->dpt, start);
	if (table) {
		harvest.table = table;
		spin_lock(&table->lock);
		/* The page table exists, so this allocates nothing. */
		if (!harvest_pmd(mm, start, &harvest))
			apply_to_page_range(mm, max(start, vma->vm_start),
					    end - max(start, vma->vm_start),
					    harvest_pte, &harvest);
		harvest_used(table, &harvest);
		spin_unlock(&table->lock);
	}
	rcu_read_unlock();
	return harvest.any;
}

/*
 * See hmmrt_device_ops.accessed, for [start, start + HMMRT_CHUNK_SIZE). The
 * caller may work for another process, so it must not wait for this process.
 */
void simgpu_mirror_accessed(struct simgpu_view *view, unsigned long start,
			    hmmrt_pte_t *ptes)
{
	/* The binding holds a reference to the struct. */
	struct mm_struct *mm = smp_load_acquire(&view->agent_mm);
	bool any = false;

	if (!mm || !mmget_not_zero(mm))
		return;
	if (mmap_read_trylock(mm)) {
		any = harvest_table(mm, view, start, ptes);
		mmap_read_unlock(mm);
	}
	if (any)
		simgpu_mirror_invalidate(view, start, start + HMMRT_CHUNK_SIZE);
	/* If this is the last reference, do not run exit_mmap() here. */
	mmput_async(mm);
}
