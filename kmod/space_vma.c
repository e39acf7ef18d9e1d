// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of mappings and ranges: what a device may use, what may move, and
 * which addresses a call may name. Also how faults take the mmap_lock, and walks
 * of page tables.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "space.h"

/* --- ranges --------------------------------------------------------------- */

/* Check a range that a process passed to an ioctl. */
int hmmrt_user_range_check(u64 addr, u64 len)
{
	if (!len || !IS_ALIGNED(addr, PAGE_SIZE) || !IS_ALIGNED(len, PAGE_SIZE))
		return -EINVAL;
	if (addr + len < addr || addr + len > TASK_SIZE_MAX)
		return -EOVERFLOW;
	return 0;
}

/* The end of the block of @addr, or @end if that comes first. */
unsigned long hmmrt_block_end(unsigned long addr, unsigned long end)
{
	return min(end, ALIGN_DOWN(addr, HMMRT_BLOCK_SIZE) + HMMRT_BLOCK_SIZE);
}

/**
 * hmmrt_range_by_blocks() - handle a range for a driver, block by block
 * @mm: of the process
 * @start: first address
 * @end: end address, exclusive
 * @part: called for each part of the range that is in one block
 * @data: argument for @part
 *
 * Context: may sleep; no mmap_lock held. The mm is alive in @part.
 * Return: 0; -EINVAL for the range; -ESRCH; -EINTR for a fatal signal; or the
 * first error of @part, which ends the walk.
 */
int hmmrt_range_by_blocks(struct mm_struct *mm, unsigned long start,
			  unsigned long end,
			  int (*part)(void *data, unsigned long start,
				      unsigned long end),
			  void *data)
{
	unsigned long next;
	int rc = 0;

	might_sleep();
	if (start >= end || end > TASK_SIZE_MAX ||
	    !IS_ALIGNED(start | end, PAGE_SIZE))
		return -EINVAL;
	if (!mmget_not_zero(mm))
		return -ESRCH;
	for (; !rc && start < end; start = next) {
		next = hmmrt_block_end(start, end);
		rc = part(data, start, next);
		if (!rc && fatal_signal_pending(current))
			rc = -EINTR;
		cond_resched();
	}
	mmput_async(mm);
	return rc;
}

/* --- mappings ------------------------------------------------------------- */

/* Return the start of the first hole, or @end if mappings cover the range. */
unsigned long hmmrt_covered_end(struct mm_struct *mm, unsigned long start,
				unsigned long end)
{
	lockdep_assert_held(&mm->mmap_lock);
	while (start < end) {
		struct vm_area_struct *vma = vma_lookup(mm, start);

		if (!vma)
			return start;
		start = vma->vm_end;
	}
	return end;
}

/*
 * Take the mmap_lock for reading if mappings cover a range. Returns 0, locked;
 * -EINTR for a fatal signal; or -EFAULT.
 */
int hmmrt_covered_read_lock(struct mm_struct *mm, unsigned long start,
			    unsigned long end)
{
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	if (hmmrt_covered_end(mm, start, end) == end)
		return 0;
	mmap_read_unlock(mm);
	return -EFAULT;
}

/*
 * secretmem has no kernel mapping to copy from, and promises to be visible only
 * through its owner's CPU page table. vma_is_secretmem() is not exported.
 */
static bool vma_is_secret(struct vm_area_struct *vma)
{
	return vma->vm_file && file_inode(vma->vm_file)->i_sb->s_magic ==
				       SECRETMEM_MAGIC;
}

/*
 * Check that a device may use this mapping for @access. Returns 0 or an error.
 * A shadow stack is writable to the core, but a device would write to it as to
 * any other memory, so devices may not use it.
 */
int hmmrt_vma_check(struct vm_area_struct *vma, unsigned int access)
{
	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (!(vma->vm_flags & VM_READ))
		return -EACCES;
	if ((access & HMMRT_ACCESS_WRITE) && !(vma->vm_flags & VM_WRITE))
		return -EACCES;
	if ((access & HMMRT_ACCESS_EXEC) && !(vma->vm_flags & VM_EXEC))
		return -EACCES;
	if (vma->vm_flags & (VM_IO | VM_PFNMAP | VM_SHADOW_STACK) ||
	    vma_is_secret(vma))
		return -EOPNOTSUPP;
	return 0;
}

/* The access of the device to the memory object at @addr permits @access. */
static int object_check(struct hmmrt_space *space, u32 device_id,
			unsigned long addr, unsigned int access)
{
	unsigned long start = addr, end = addr + PAGE_SIZE;
	struct hmmrt_advice advice = hmmrt_advice_at(space, addr, &start, &end);

	return access & ~hmmrt_advice_access(&advice, device_id) ? -EACCES : 0;
}

/*
 * Check that something at an address could be served for a device, before
 * memory is spent on it. Without @access, something is mapped there. Takes the
 * mmap_lock as hmmrt_mmap_read_lock() describes.
 */
int hmmrt_mapped_check(struct hmmrt_space *space, u32 device_id,
		       unsigned long addr, unsigned int access, bool nowait)
{
	struct mm_struct *mm = space->mm;
	struct vm_area_struct *vma;
	int rc;

	rc = hmmrt_mmap_read_lock(mm, nowait);
	if (rc)
		return rc;
	vma = vma_lookup(mm, addr);
	if (!vma)
		rc = -EFAULT;
	else if (access && hmmrt_vma_object(vma))
		rc = object_check(space, device_id, addr, access);
	else if (access)
		rc = hmmrt_vma_check(vma, access);
	mmap_read_unlock(mm);
	return rc;
}

bool hmmrt_vma_may_migrate(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) &&
	       !(vma->vm_flags & (VM_SPECIAL | VM_HUGETLB | VM_LOCKED));
}

/*
 * Returns true if the VMA may have private anonymous pages: a private mapping
 * of a file has such copies of pages that were written. An explicit migration
 * moves those; the core refuses the file's own pages.
 */
bool hmmrt_vma_may_have_migratable(struct vm_area_struct *vma)
{
	return hmmrt_vma_may_migrate(vma) ||
	       (!vma_is_anonymous(vma) &&
		!(vma->vm_flags & (VM_SHARED | VM_SPECIAL | VM_HUGETLB |
				   VM_LOCKED)));
}

/**
 * hmmrt_vma_stays() - why no page of a mapping can move to a device
 * @vma: the mapping
 *
 * Context: mmap_lock held.
 * Return: the reason, an enum hmmrt_stay, or -1.
 */
int hmmrt_vma_stays(struct vm_area_struct *vma)
{
	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (hmmrt_vma_check(vma, HMMRT_ACCESS_READ))
		return HMMRT_STAY_SPECIAL;
	if (vma->vm_flags & VM_HUGETLB)
		return HMMRT_STAY_HUGETLB;
	if (!vma_is_anonymous(vma))
		return HMMRT_STAY_FILE;
	if (vma->vm_flags & VM_SPECIAL)
		return HMMRT_STAY_SPECIAL;
	return vma->vm_flags & VM_LOCKED ? HMMRT_STAY_PINNED : -1;
}

/* --- the mmap_lock -------------------------------------------------------- */

/* How long a fault spins on the mmap_lock before it sleeps. */
#define LOCK_SPIN_NS	(100 * NSEC_PER_USEC)

/**
 * hmmrt_mmap_read_lock() - take the mmap_lock for reading, for a fault
 * @mm: of the process
 * @nowait: do not wait for the holder, which may itself wait for a program
 *
 * A sleeping reader may wait for up to 4 ms if writers follow each other
 * closely, as when a thread maps and unmaps all the time. Each writer holds the
 * lock for a moment only, so it pays to spin first.
 * Return: 0 or -EINTR; if @nowait, 0 or -ENOLCK: the lock is held by another
 * thread.
 */
int hmmrt_mmap_read_lock(struct mm_struct *mm, bool nowait)
{
	u64 end = ktime_get_ns() + LOCK_SPIN_NS;

	do {
		if (mmap_read_trylock(mm))
			return 0;
		cpu_relax();
	} while (!need_resched() && ktime_get_ns() < end);
	if (nowait)
		return -ENOLCK;
	return mmap_read_lock_killable(mm) ? -EINTR : 0;
}

/*
 * Take the mmap_lock for reading, and wait for its holder until @end at most,
 * in jiffies. Returns false if @end or a fatal signal comes first.
 */
bool hmmrt_mmap_read_lock_until(struct mm_struct *mm, unsigned long end)
{
	while (hmmrt_mmap_read_lock(mm, true)) {
		if (time_after_eq(jiffies, end) || fatal_signal_pending(current))
			return false;
		schedule_timeout_killable(1);
	}
	return true;
}

/* --- page tables ---------------------------------------------------------- */

/*
 * Information that hmm_range_fault() does not provide. Tables are freed with
 * their mapping, under the mmap_lock for writing. A table below a pmd is also
 * freed when it is empty or replaced by a huge page, under the pmd's lock.
 */

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

/* The entries from @addr on, below @pmd, or NULL. Under the lock of @pmd. */
static pte_t *entries_at(pmd_t *pmd, unsigned long addr)
{
	if (!pmd_present(*pmd) || pmd_leaf(*pmd) || pmd_bad(*pmd))
		return NULL;
	return pte_offset_kernel(pmd, addr);
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
	moving = pmd_is_migration_entry(*pmd);
	ptep = entries_at(pmd, start);
	for (i = 0; ptep && i < n && !moving; i++)
		moving = hmmrt_pte_is_migration_entry(ptep_get(ptep + i));
	spin_unlock(pmd_lockptr(vma->vm_mm, pmd));
	return moving;
}

/**
 * hmmrt_find_mapped() - find out which device pages are mapped in a block
 * @vma: its mmap_lock is held; may have migratable pages
 * @start: the block's address
 * @pfn: of the page at the first index
 * @pages: in: the pages to look for, by index; out: those that are there
 *
 * The answer may be out of date at once.
 */
void hmmrt_find_mapped(struct vm_area_struct *vma, unsigned long start,
		       unsigned long pfn, unsigned long *pages)
{
	pmd_t *pmd = hmmrt_entry_above(vma->vm_mm, start);
	unsigned int i;
	pte_t *ptep;

	if (!pmd) {
		bitmap_zero(pages, HMMRT_BLOCK_PAGES);
		return;
	}
	spin_lock(pmd_lockptr(vma->vm_mm, pmd));
	ptep = entries_at(pmd, start);
	for_each_set_bit(i, pages, HMMRT_BLOCK_PAGES)
		if (!ptep || !hmmrt_pte_is_device_page(ptep_get(ptep + i),
						       pfn + i))
			__clear_bit(i, pages);
	spin_unlock(pmd_lockptr(vma->vm_mm, pmd));
}
