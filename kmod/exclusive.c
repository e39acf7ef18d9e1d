// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exclusive access: pages that only one device has an entry for, until somebody
 * else touches them.
 *
 * Model      The core replaces the CPU's entries by device-exclusive ones and
 *            hands the pages over locked. Who touches such a page waits for its
 *            lock, announces that the entry goes (an invalidation, which takes
 *            the device's away), and has the old entry put back.
 * Own event  Making a page exclusive is announced like any other change, on this
 *            thread and for every process that maps the page: all devices lose
 *            their entries for it. The sequence changes with it, so it cannot
 *            tell whether something else came in between, as discarding the
 *            memory does without the page's lock. block->revoked can: it counts
 *            all invalidations but those whose owner is block->exclusive.
 * Order      Pages are faulted in, and what was exclusive given back, before
 *            counting begins: the core would do it on the way, and that counts.
 *            The count is read before mmu_interval_read_begin(), which waits for
 *            those that were counted and have not ended.
 * Coherent   The core would do this to pages of coherent memory as well, but such
 *            an entry must not be: cores that do not count it as a mapping take
 *            it for a migration entry when eviction lets go of the page, make it
 *            an ordinary one, and add a reference that nobody gives back. So the
 *            pages come home first, and block->migrate keeps them there: a page of
 *            system memory with a writable entry is mapped nowhere else, stays so
 *            without fork() (the mmap_lock), and goes to a device by this block
 *            only. Without an entry it may be on its way, and come back to where
 *            it was. The memory of other drivers' devices is not looked after.
 * Anonymous  The core faults in what was lost between the census and the call, and
 *            cannot be interrupted in it: it neither drops the mmap_lock nor looks
 *            for a signal. So only mappings whose faults wait for no program are
 *            taken: anonymous ones that userfaultfd does not watch. A private
 *            mapping of a file is refused also where the page has been copied: when
 *            the copy is discarded, the next fault reads the file.
 * Locking    space->exclusive around it all, so that a block has one owner.
 *            block->migrate, once all is at home: the core faults in what was
 *            lost meanwhile, and migrate_to_ram() would wait for it.
 */
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/userfaultfd_k.h>

#include "hmmrt.h"

/* The mmap_lock is kept: a caller may hold the binding, and no program is waited for. */
static int fault_in(struct mm_struct *mm, const struct hmmrt_request *req)
{
	unsigned long addr;
	int rc = 0;

	lockdep_assert_held(&mm->mmap_lock);
	for (addr = req->start; !rc && addr < req->end; addr += PAGE_SIZE)
		rc = fixup_user_fault(mm, addr, FAULT_FLAG_WRITE, NULL);
	return rc;
}

/* What a snapshot of a window shows; what is on its way it does not. */
struct census {
	unsigned int at_home;		/* in system memory, this process's alone */
	unsigned int coherent;
	unsigned int never;		/* special, or of another driver's device */
};

static void census_add(struct census *census, unsigned long hmm_pfn)
{
	const struct page *page;

	if (hmm_pfn & HMM_PFN_ERROR) {
		census->never++;
		return;
	}
	if (!(hmm_pfn & HMM_PFN_VALID))
		return;
	page = hmm_pfn_to_page(hmm_pfn);
	if (!is_zone_device_page(page))
		census->at_home += !!(hmm_pfn & HMM_PFN_WRITE);
	else if (!hmmrt_page_device(page))
		census->never++;
	else
		census->coherent += hmmrt_page_is_coherent(page);
}

static int take_census(struct hmmrt_request *req, struct census *census)
{
	unsigned int i, n = hmmrt_request_pages(req);
	int idx, rc;

	*census = (struct census){};
	idx = srcu_read_lock(&hmmrt_srcu);
	rc = hmmrt_snapshot(req);
	for (i = 0; i < n && !rc; i++)
		census_add(census, req->pfns[i]);
	srcu_read_unlock(&hmmrt_srcu, idx);
	return rc;
}

/* From coherent memory; fault_in() has brought home what the CPU cannot reach. */
static int bring_home(struct hmmrt_request *req)
{
	struct census census;
	int rc = take_census(req, &census);

	if (rc || !census.coherent)
		return rc;
	req->all_devices = true;
	rc = hmmrt_migrate_to_host(req);
	if (!rc)
		rc = take_census(req, &census);
	/* Somebody has them pinned. */
	if (!rc && census.coherent)
		rc = -EBUSY;
	return rc;
}

/* From here on others are counted. */
static unsigned long block_watch(struct hmmrt_block *block, const void *owner)
{
	unsigned long revoked;

	mutex_lock(&block->lock);
	block->exclusive = owner;
	revoked = block->revoked;
	mutex_unlock(&block->lock);
	mmu_interval_read_begin(&block->span->notifier);
	return revoked;
}

/*
 * The pages are locked, so who wants one back waits. -EBUSY if there is none for
 * some; -EAGAIN for a page that must not be, so that it is faulted in again.
 */
static int map_atomic(struct hmmrt_request *req, struct page **pages)
{
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_block *block = req->block;
	struct hmmrt_block_map *map = block->maps[binding->dev->id];
	unsigned int base = (req->start - block->start) >> PAGE_SHIFT;
	unsigned int i, n = hmmrt_request_pages(req), mapped = 0;
	int rc = 0;

	lockdep_assert_held(&block->lock);
	for (i = 0; i < n; i++) {
		req->ptes[i] = 0;
		if (!pages[i]) {
			rc = rc ? rc : -EBUSY;
			continue;
		}
		if (WARN_ON_ONCE(hmmrt_page_device(pages[i]))) {
			rc = -EAGAIN;
			continue;
		}
		req->ptes[i] = HMMRT_PTE_VALID | HMMRT_PTE_WRITE |
			       HMMRT_PTE_ATOMIC |
			       PFN_PHYS(page_to_pfn(pages[i]));
		/* Not as writable: an ordinary write fault gives it back. */
		__set_bit(base + i, map->mapped);
		folio_mark_dirty(page_folio(pages[i]));
		mapped++;
	}
	binding->dev->ops->map(binding, req->start, req->ptes, n);
	atomic64_add(mapped, &binding->mapped_pages);
	atomic64_add(mapped, &binding->remote_pages);
	return rc;
}

static void let_go(struct page **pages, int n)
{
	while (n-- > 0) {
		if (!pages[n])
			continue;
		unlock_page(pages[n]);
		put_page(pages[n]);
	}
}

static int make_exclusive_locked(struct hmmrt_request *req)
{
	struct hmmrt_block *block = req->block;
	const struct hmmrt_block_map *map = block->maps[req->binding->dev->id];
	struct page *pages[HMMRT_EXCLUSIVE_PAGES];
	unsigned long revoked;
	struct census census;
	int got, rc;

	lockdep_assert_held(&block->migrate);
	rc = take_census(req, &census);
	if (rc)
		return rc;
	if (census.never)
		return -EBUSY;
	if (census.at_home < hmmrt_request_pages(req))
		return -EAGAIN;
	revoked = block_watch(block, req);
	got = hmmrt_make_device_exclusive(req->vma->vm_mm, req->start, req->end,
					  pages, req);
	mutex_lock(&block->lock);
	block->exclusive = NULL;
	if (got < 0)
		rc = got;
	else if (map->zapping || block->revoked != revoked ||
		 got < hmmrt_request_pages(req))
		rc = -EAGAIN;
	else
		rc = map_atomic(req, pages);
	mutex_unlock(&block->lock);
	let_go(pages, got);
	return rc;
}

int hmmrt_make_exclusive(struct hmmrt_request *req)
{
	struct mm_struct *mm = req->vma->vm_mm;
	int rc;

	lockdep_assert_held(&req->binding->space->exclusive);
	lockdep_assert_held(&mm->mmap_lock);
	req->end = min(req->end,
		       req->start + HMMRT_EXCLUSIVE_PAGES * PAGE_SIZE);
	/*
	 * Neither a file system nor a handler is waited for under block->migrate;
	 * and UFFDIO_MOVE could bring a page of coherent memory at any time.
	 */
	if (!vma_is_anonymous(req->vma) || userfaultfd_armed(req->vma))
		return -EBUSY;
	rc = fault_in(mm, req);
	if (!rc)
		rc = bring_home(req);
	if (!rc)
		rc = hmmrt_block_migrate_lock(req->block);
	if (rc)
		return rc;
	rc = make_exclusive_locked(req);
	hmmrt_block_migrate_unlock(req->block);
	return rc;
}
