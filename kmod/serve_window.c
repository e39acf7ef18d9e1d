// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serving a device: from an address that the device wants to an entry in its
 * page table.
 *
 * Flow       One attempt at a window of a block has five steps:
 *            (1) Snapshot the CPU page table.
 *            (2) For a write, if the snapshot shows pages without write
 *                permission, break COW and start again. COW cannot be broken
 *                once a page is on the device.
 *            (3) Migrate the pages that policy wants to move and the core
 *                agrees to move.
 *            (4) Snapshot again, and fault in the one page that must be there.
 *                If its block stays where it is, snapshot the whole block.
 *            (5) Under block->lock, tell the driver to map, unless something
 *                in the block was invalidated since the snapshot. A page that
 *                is not on the device by then is mapped remotely.
 *            An attempt that raced with anything starts again.
 *            Steps (1) and (3) run under block->migrate: when several lanes
 *            fault in one block, the first lane moves the window and the
 *            others find it on the device.
 * Special    hmm_range_fault() ignores REQ_WRITE for hmmrt's own pages. So it
 *            does not upgrade a page that is on the device without write
 *            permission (after fork or mprotect). A CPU fault migrates such a
 *            page back to system memory, and the flow starts again and breaks
 *            COW there. The same happens to a page on another device that
 *            could not move here, unless the two devices are peers: then the
 *            page is mapped where it is. Neither applies to a coherent device:
 *            its pages are mapped by the CPU like any other page, so faults
 *            upgrade them in place, and other devices map them remotely.
 * Dirty      Devices write to memory without telling the core. So a page that
 *            a device may write is marked dirty when it is mapped. Otherwise
 *            reclaim would drop MADV_FREE and clean shmem pages together with
 *            the writes. This includes coherent memory, because the core
 *            itself may migrate such a page to system memory, to pin it.
 *            hmmrt marks other device memory when it migrates back.
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/hmm.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>

#include "serve.h"
#include "space_check.h"

/*
 * Memory that is allocated when it is touched: faulting in more costs little.
 */
static bool vma_is_filled_on_touch(struct vm_area_struct *vma)
{
	const struct inode *inode;

	if (vma_is_anonymous(vma))
		return true;
	if (!vma->vm_file)
		return false;
	/* Exclude the nodes of devtmpfs, which has the same magic number. */
	inode = file_inode(vma->vm_file);
	return inode->i_sb->s_magic == TMPFS_MAGIC && S_ISREG(inode->i_mode);
}

/*
 * Fault a page in as a CPU access would. A fault that waits for a program or
 * for a disk drops the mmap_lock and takes it again: it sets *unlocked, and the
 * vma is no longer valid. With @unlocked NULL the lock is kept. A request that
 * must not wait for programs (nowait) keeps the lock too, and gets -ENOLCK if
 * the page might need a program. A file in a user space file system might: its
 * readahead may wait for that file system even in a fault that is told not to
 * wait.
 */
static int fault_page(const struct hmmrt_request *req, unsigned long addr,
		      bool write, bool *unlocked)
{
	struct mm_struct *mm = req->binding->space->mm;

	lockdep_assert_held(&mm->mmap_lock);
	if (req->args.nowait) {
		if (!vma_is_filled_on_touch(req->window.vma) ||
		    userfaultfd_armed(req->window.vma))
			return -ENOLCK;
		unlocked = NULL;
	}
	return fixup_user_fault(mm, addr, write ? FAULT_FLAG_WRITE : 0,
				unlocked);
}

/*
 * Break COW for the pages that hmmrt_mark_cow() has marked. For a write this
 * happens before anything of the window migrates, because pages shared by COW
 * would stay read-only on the device. Ends the attempt: returns -EAGAIN or an
 * error.
 */
static int break_cow(struct hmmrt_request *req)
{
	const struct hmmrt_window *window = &req->window;
	unsigned int i, n = hmmrt_window_pages(window);
	bool unlocked = false;
	int rc;

	for_each_set_bit(i, req->to_touch, n) {
		unsigned long addr = hmmrt_window_addr(window, i);
		bool wanted = req->args.whole || addr == req->addr;

		if (!wanted && userfaultfd_armed(window->vma))
			rc = -EFAULT;
		else
			rc = fault_page(req, addr, true,
					wanted ? &unlocked : NULL);
		if (rc && wanted)
			return rc;
		/*
		 * If a neighbour cannot be written, leave all neighbours alone.
		 */
		if (rc)
			req->retry.narrow = true;
		if (unlocked)
			break;
	}
	return -EAGAIN;
}

/*
 * Returns true if the touched page has to be faulted in. A page on a device
 * does not: a fault would do nothing there, and commit_satisfies() handles that
 * case.
 */
static bool needs_fault(const struct hmmrt_request *req)
{
	unsigned long pfn;

	if (!req->access)
		return false;
	pfn = req->snapshot.pfns[hmmrt_request_index(req)];
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return true;
	return (req->access & HMMRT_ACCESS_WRITE) && !(pfn & HMM_PFN_WRITE) &&
	       !hmmrt_page_is_private(hmm_pfn_to_page(pfn));
}

/*
 * The touched page was missing and is there now. Fault in the window's other
 * holes too if their memory would otherwise take one device fault per page.
 * This is best effort: it stops at the first page that fails. It also stops at
 * the first page that dropped the mmap_lock, and returns -EAGAIN. It skips
 * memory with userfaultfd, which must not get an event for a page that was not
 * touched.
 */
static int fault_neighbours(struct hmmrt_request *req, bool write)
{
	const struct hmmrt_window *window = &req->window;
	unsigned int i, n = hmmrt_window_pages(window);
	bool unlocked = false;
	int rc = 0;

	if (!vma_is_filled_on_touch(window->vma) ||
	    userfaultfd_armed(window->vma))
		return 0;
	for (i = 0; i < n && !rc && !unlocked; i++) {
		if (req->snapshot.pfns[i] || i == hmmrt_request_index(req))
			continue;
		rc = fault_page(req, hmmrt_window_addr(window, i),
				write && vma_is_anonymous(window->vma),
				&unlocked);
	}
	return unlocked ? -EAGAIN : 0;
}

/*
 * Fault in the touched page, by the snapshot. May drop and retake the
 * mmap_lock.
 */
static int fault_wanted(struct hmmrt_request *req)
{
	unsigned long pfn = req->snapshot.pfns[hmmrt_request_index(req)];
	struct hmmrt_block *block = req->window.block;
	bool unlocked = false;
	int rc;

	/* This is memory without a struct page. */
	if (pfn & HMM_PFN_ERROR)
		return -EOPNOTSUPP;
	/*
	 * Faulting a page in that migrates would move it back from the device
	 * that it is going to, so wait until the migration has ended. The fault
	 * itself waits for a page that the core is moving.
	 */
	if (!pfn && mutex_is_locked(&block->migrate) &&
	    hmmrt_is_moving(req->window.vma, req->addr, 1)) {
		rc = hmmrt_block_migrate_lock(block);
		if (rc)
			return rc;
		hmmrt_block_migrate_unlock(block);
		return -EAGAIN;
	}
	if (!pfn)
		req->retry.was_missing = true;
	rc = fault_page(req, req->addr, req->access & HMMRT_ACCESS_WRITE,
			&unlocked);
	return !rc && unlocked ? -EAGAIN : rc;
}

/*
 * Memory of a PCI device that is mapped into a process. Its physical address is
 * not one that another device can use: that depends on the bus between them.
 */
static bool is_of_pci_device(unsigned long pfn)
{
	return (pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR) &&
	       is_pci_p2pdma_page(hmm_pfn_to_page(pfn));
}

/* Snapshot, with the touched page faulted in, now or by the last attempt. */
static int snapshot_wanted(struct hmmrt_request *req)
{
	bool fault;
	int rc;

	rc = hmmrt_snapshot_begin(&req->window, &req->snapshot);
	if (!rc && req->access &&
	    is_of_pci_device(req->snapshot.pfns[hmmrt_request_index(req)]))
		rc = -EOPNOTSUPP;
	fault = !rc && needs_fault(req);
	if (!rc && !fault && !req->retry.was_missing)
		rc = hmmrt_snapshot_widen(req);
	hmmrt_snapshot_end(&req->snapshot);
	if (rc || (!fault && !req->retry.was_missing))
		return rc;
	if (fault)
		rc = fault_wanted(req);
	if (rc)
		return rc;
	if (req->retry.was_missing)
		rc = fault_neighbours(req, req->access & HMMRT_ACCESS_WRITE);
	req->retry.was_missing = false;
	if (rc)
		return rc;
	/* Start again: now that the page is there it can be duplicated. */
	if (req->policy.want == HMMRT_POLICY_DUPLICATE)
		return -EAGAIN;
	/* If the page is lost again by now, commit_satisfies() starts again. */
	rc = hmmrt_snapshot_begin(&req->window, &req->snapshot);
	/*
	 * The first fault has mapped the rest of a block that stays. A sweep
	 * that has its pages faulted in or copied one after another must not
	 * map it again and again.
	 */
	if (!rc && !hmmrt_request_block_stays(req))
		rc = hmmrt_snapshot_widen(req);
	hmmrt_snapshot_end(&req->snapshot);
	return rc;
}

/*
 * Returns true if the device reaches memory of @dev: itself, another, or NULL.
 */
static bool can_reach(const struct hmmrt_binding *binding,
		      const struct hmmrt_device *dev)
{
	return !dev || dev == binding->dev || hmmrt_device_is_coherent(dev) ||
	       hmmrt_peer_enabled(binding, dev);
}

/* Returns true if the device can get an entry that permits the access. */
static bool can_map(const struct hmmrt_binding *binding, unsigned int access,
		    unsigned long pfn)
{
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return false;
	if ((access & HMMRT_ACCESS_WRITE) && !(pfn & HMM_PFN_WRITE))
		return false;
	return can_reach(binding, hmmrt_page_device(hmm_pfn_to_page(pfn)));
}

/*
 * Fault in the pages that snapshot_whole() found missing. If this drops and
 * retakes the mmap_lock, the vma is no longer valid and the attempt has ended:
 * then a page that cannot be faulted in is not an error yet, because something
 * else may be mapped there by now. The next attempt finds out.
 */
static int fault_missing(struct hmmrt_request *req)
{
	bool write = req->access & HMMRT_ACCESS_WRITE, unlocked = false;
	unsigned int i, n = hmmrt_window_pages(&req->window);
	int rc = 0;

	for_each_set_bit(i, req->to_touch, n) {
		rc = fault_page(req, hmmrt_window_addr(&req->window, i), write,
				&unlocked);
		if (rc || (unlocked && hmmrt_interrupted()))
			break;
	}
	return rc && (rc == -EINTR || !unlocked) ? rc : -EAGAIN;
}

/* Snapshot the whole window; fault in missing pages for the next attempt. */
static int snapshot_whole(struct hmmrt_request *req)
{
	unsigned int i, n = hmmrt_window_pages(&req->window);
	int rc;

	bitmap_zero(req->to_touch, HMMRT_BLOCK_PAGES);
	rc = hmmrt_snapshot_begin(&req->window, &req->snapshot);
	for (i = 0; i < n && !rc; i++) {
		unsigned long pfn = req->snapshot.pfns[i];

		/* An error is memory without a struct page. */
		if (pfn & HMM_PFN_ERROR || is_of_pci_device(pfn))
			rc = -EOPNOTSUPP;
		else if (!can_map(req->binding, req->access, pfn))
			__set_bit(i, req->to_touch);
	}
	hmmrt_snapshot_end(&req->snapshot);
	if (rc || bitmap_empty(req->to_touch, HMMRT_BLOCK_PAGES))
		return rc;
	return fault_missing(req);
}

/*
 * Returns true if giving the device write permission for an untouched page
 * reports nothing that is not true: the page is dirty already, or has no clean
 * copy.
 */
static bool is_dirty_anyway(struct page *page)
{
	struct folio *folio = page_folio(page);

	return folio_test_dirty(folio) ||
	       (folio_test_anon(folio) && folio_test_swapbacked(folio) &&
		!folio_test_swapcache(folio));
}

static void mark_used(struct page *page, bool write)
{
	struct folio *folio = page_folio(page);

	/* hugetlb pages are not reclaimed, and are on none of the LRU lists. */
	if (folio_test_hugetlb(folio))
		return;
	if (write && (folio_test_anon(folio) || folio_test_swapbacked(folio)))
		folio_mark_dirty(folio);
	/*
	 * Nor is device memory, but the dirty flag migrates back with the page.
	 */
	if (is_zone_device_page(page))
		return;
	/*
	 * A second call may put the folio into a batch of this CPU, which holds
	 * a reference until the batch is full. The folio could not migrate
	 * then.
	 */
	if (!folio_test_anon(folio) || !folio_test_referenced(folio))
		folio_mark_accessed(folio);
}

/* The part of an entry that says where the device finds the page. */
static hmmrt_pte_t pte_target(const struct hmmrt_binding *binding,
			      const struct hmmrt_device *dev,
			      const struct hmmrt_region_cache *cache,
			      const struct page *page)
{
	if (dev == binding->dev)
		return HMMRT_PTE_DEVICE |
		       hmmrt_region_cache_offset(cache, page);
	if (dev && !hmmrt_device_is_coherent(dev))
		return HMMRT_PTE_PEER | FIELD_PREP(HMMRT_PTE_PEER_ID, dev->id) |
		       hmmrt_region_cache_offset(cache, page);
	return PFN_PHYS(page_to_pfn(page));
}

/*
 * Returns true if the device may get an entry for memory of @dev; see
 * device_only.
 */
static bool may_map(const struct hmmrt_request *req,
		    const struct hmmrt_device *dev)
{
	if (dev == req->binding->dev)
		return true;
	if (!can_reach(req->binding, dev))
		return false;
	if (!req->args.device_only)
		return true;
	return req->args.no_peers && dev && !hmmrt_device_is_coherent(dev);
}

/*
 * Returns true if the device gets an entry of page @index of the block without
 * asking for it: the page is mapped ahead, or stays in a block of which the
 * device touched another part.
 */
static bool is_extra(const struct hmmrt_request *req, unsigned int index)
{
	const struct hmmrt_policy_window *chosen = &req->policy.chosen;

	if (req->args.ahead)
		return true;
	return chosen->count && index - chosen->first >= chosen->count &&
	       hmmrt_request_block_stays(req);
}

/* The entry for page @index of the block. */
static hmmrt_pte_t make_pte(struct hmmrt_request *req, unsigned int index,
			    unsigned long pfn, struct hmmrt_region_cache *cache)
{
	struct hmmrt_device *dev;
	struct page *page;
	hmmrt_pte_t pte = req->permits;

	lockdep_assert_held(&req->window.block->lock);
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR) ||
	    is_of_pci_device(pfn))
		return 0;
	page = hmm_pfn_to_page(pfn);
	if (!(pfn & HMM_PFN_WRITE))
		pte &= ~HMMRT_PTE_WRITE;
	dev = hmmrt_region_cache_device(cache, page);
	if (!may_map(req, dev))
		return 0;
	if (!dev && is_extra(req, index)) {
		struct folio *folio = page_folio(page);

		if (!is_dirty_anyway(page))
			pte &= ~HMMRT_PTE_WRITE;
		/*
		 * MADV_FREE may have put a clean page on a list of this CPU.
		 * The core would drop it, and what the device writes to it.
		 */
		if ((pte & HMMRT_PTE_WRITE) && !folio_test_dirty(folio))
			folio_mark_dirty(folio);
		return pte | pte_target(req->binding, dev, cache, page);
	}
	if ((!dev || hmmrt_device_is_coherent(dev)) && !is_zero_page(page))
		mark_used(page, pte & HMMRT_PTE_WRITE);
	return pte | pte_target(req->binding, dev, cache, page);
}

/* Check an entry for page @index of the block, before it is recorded. */
static void entry_check(const struct hmmrt_request *req,
			const struct hmmrt_block_map *map, unsigned int index,
			hmmrt_pte_t pte)
{
	lockdep_assert_held(&req->window.block->lock);
	/* A device has the permissions of the mapping, never more. */
	VM_WARN_ON_ONCE(pte & ~req->permits & HMMRT_PTE_WRITE);
	/* A page that left the device's own memory lost its entry first. */
	VM_WARN_ON_ONCE(!(pte & HMMRT_PTE_DEVICE) &&
			test_bit(index, map->local));
	VM_WARN_ON_ONCE((pte & HMMRT_PTE_DEVICE) &&
			(pte & HMMRT_PTE_ADDR) >=
				req->binding->dev->vram.size);
}

/*
 * Check a duplicate, and that the CPU has its original mapped, if any page:
 * @pfn is of the snapshot.
 */
static void duplicate_check(const struct hmmrt_device *dev,
			    const struct hmmrt_block_map *map,
			    unsigned int index, unsigned long pfn)
{
	const struct hmmrt_duplicate *duplicate = map->duplicates->at[index];

	hmmrt_duplicate_check(map, index, dev);
	VM_WARN_ON_ONCE((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR) &&
			hmm_pfn_to_page(pfn) != duplicate->original);
}

/* Count entries that were written from @addr on; @remote is part of @mapped. */
void hmmrt_count_mapped(struct hmmrt_binding *binding, unsigned long addr,
			unsigned int mapped, unsigned int remote)
{
	atomic64_add(mapped, &binding->mapped_pages);
	atomic64_add(remote, &binding->remote_pages);
	if (remote)
		hmmrt_event(&binding->space->events,
			    .type = HMMRT_EVENT_MAP_REMOTE, .addr = addr,
			    .pages = remote, .device = binding->dev->id);
	if (mapped)
		hmmrt_event(&binding->space->events, .type = HMMRT_EVENT_MAP,
			    .addr = addr, .pages = mapped,
			    .device = binding->dev->id);
}

/*
 * Returns true if the device has entries that permit more than it may do now. A
 * call that takes its access to a memory object away changes the advice first
 * and removes the entries afterwards. The permissions of other mappings do not
 * change while the mmap_lock is held.
 */
static bool window_is_outdated(const struct hmmrt_window *window,
			       const struct hmmrt_block_map *map,
			       hmmrt_pte_t permits)
{
	unsigned int base = hmmrt_window_index(window, 0);
	unsigned int end = base + hmmrt_window_pages(window);
	bool outdated = !(permits & HMMRT_PTE_WRITE) &&
			find_next_bit(map->writable, end, base) < end;

	lockdep_assert_held(&window->block->lock);
	/* Another mapping that lost its permission was invalidated. */
	VM_WARN_ON_ONCE(outdated && !hmmrt_vma_object(window->vma));
	return outdated;
}

/*
 * Returns true if the thrash pin that keeps a block in place was released since
 * the request asked for it. The release takes no entries that come later.
 */
static bool pin_is_over(const struct hmmrt_request *req,
			const struct hmmrt_block_map *map)
{
	const struct hmmrt_block *block = req->window.block;

	lockdep_assert_held(&block->lock);
	if (req->policy.rule == HMMRT_RULE_TOO_SMALL)
		return !map->refaults.pinned_until;
	return req->policy.rule == HMMRT_RULE_THRASHING &&
	       !block->thrashing.pinned_until;
}

/* Record an entry in the map. Returns true if there was none before. */
static bool map_record(struct hmmrt_block_map *map, unsigned int index,
		       hmmrt_pte_t pte)
{
	if (pte & HMMRT_PTE_PEER)
		map->peers |= BIT(FIELD_GET(HMMRT_PTE_PEER_ID, pte));
	if (pte & HMMRT_PTE_DEVICE)
		__set_bit(index, map->local);
	else
		WRITE_ONCE(map->remote, true);
	if (pte & HMMRT_PTE_WRITE)
		__set_bit(index, map->writable);
	return !__test_and_set_bit(index, map->mapped);
}

/**
 * hmmrt_window_commit() - write the device's entries of a window
 * @req: with the window
 * @seq: of the block, read before everything that the entries depend on
 * @fill: fills req->ptes with block->lock held; NULL if they are filled already
 *
 * Context: mmap_lock held; for a memory object, also the lock of the extent.
 * Takes block->lock.
 * Return: 0; -EAGAIN: something in the block was invalidated since @seq, the
 * device is about to lose entries of the window, or a thrash pin has ended.
 */
int hmmrt_window_commit(struct hmmrt_request *req, unsigned long seq,
			void (*fill)(struct hmmrt_request *req))
{
	const struct hmmrt_window *window = &req->window;
	struct hmmrt_object *object = hmmrt_vma_object(window->vma);
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_block *block = window->block;
	struct hmmrt_block_map *map = hmmrt_request_map(req);
	unsigned int base = hmmrt_window_index(window, 0);
	unsigned int i, n = hmmrt_window_pages(window), mapped = 0, remote = 0;
	bool stays;

	lockdep_assert_held(&window->vma->vm_mm->mmap_lock);
	mutex_lock(&block->lock);
	if (map->zapping || hmmrt_block_read_retry(block, seq) ||
	    window_is_outdated(window, map, req->permits) ||
	    pin_is_over(req, map)) {
		mutex_unlock(&block->lock);
		return -EAGAIN;
	}
	hmmrt_mapper_check(block, binding);
	if (fill)
		fill(req);
	for (i = 0; i < n; i++) {
		hmmrt_pte_t *pte = &req->ptes[i];

		if (!*pte)
			continue;
		/*
		 * The snapshot may be older than a write fault that another
		 * lane has served. Permission grows without an invalidation,
		 * and shrinks only with one.
		 */
		if (test_bit(base + i, map->writable))
			*pte |= HMMRT_PTE_WRITE;
		entry_check(req, map, base + i, *pte);
		if (!map_record(map, base + i, *pte))
			continue;
		mapped++;
		remote += !(*pte & HMMRT_PTE_DEVICE);
	}
	hmmrt_map_check(block, binding->dev->id);
	binding->dev->ops->map(binding, window->start, req->ptes, n);
	stays = hmmrt_bypass_begin(req);
	mutex_unlock(&block->lock);

	hmmrt_count_mapped(binding, window->start, mapped, remote);
	if (stays)
		hmmrt_bypass_look_later(req);
	/* A pinned object never moves. */
	if (remote && (!object || hmmrt_object_is_migratable(object)))
		hmmrt_counting_start(binding);
	return 0;
}

/* Turn the snapshot into entries. */
static void snapshot_fill(struct hmmrt_request *req)
{
	const struct hmmrt_block_map *map = hmmrt_request_map(req);
	unsigned int base = hmmrt_window_index(&req->window, 0);
	unsigned int i, n = hmmrt_window_pages(&req->window);
	struct hmmrt_region_cache cache = {};

	lockdep_assert_held(&req->window.block->lock);
	for (i = 0; i < n; i++) {
		struct page *duplicate = hmmrt_duplicate_page(map, base + i);
		unsigned long pfn = req->snapshot.pfns[i];

		if (!duplicate) {
			req->ptes[i] = make_pte(req, base + i, pfn, &cache);
			continue;
		}
		/* A duplicated page must not be writable. */
		WARN_ON_ONCE(pfn & HMM_PFN_WRITE);
		duplicate_check(req->binding->dev, map, base + i, pfn);
		req->ptes[i] = hmmrt_duplicate_pte(req->permits, duplicate);
	}
}

/*
 * Returns true if the touched page got an entry that permits the access. If
 * not, it is on some device and has to migrate back to system memory first. A
 * request for a whole window always has such entries, by the snapshot that was
 * committed.
 */
static bool commit_satisfies(const struct hmmrt_request *req)
{
	hmmrt_pte_t needs = req->access & HMMRT_ACCESS_WRITE ? HMMRT_PTE_WRITE :
							       HMMRT_PTE_VALID;

	return !req->access || req->args.whole ||
	       (req->ptes[hmmrt_request_index(req)] & needs);
}

/*
 * Migrate the touched page back to system memory as a CPU access would. The
 * caller holds no hmmrt lock: migrate_to_ram() needs block->migrate. May drop
 * and retake the mmap_lock.
 */
static int migrate_back(struct hmmrt_request *req)
{
	bool write = req->access & HMMRT_ACCESS_WRITE;
	bool unlocked = false;
	int rc = fault_page(req, req->addr, write, &unlocked);

	/*
	 * The first fault moves it. Break COW before a reader moves it again.
	 */
	if (!rc && write)
		rc = fault_page(req, req->addr, write, &unlocked);
	return rc ? rc : -EAGAIN;
}

/**
 * hmmrt_window_map() - one attempt at the flow above
 * @req: window, vma, access
 * @want: what to do with pages that are not on the device, if it can be done
 *
 * Context: mmap_lock held for reading, and no other lock. If the result is not
 * 0, the mmap_lock may have been dropped and taken again, and the vma is not
 * valid.
 * Return: 0 mapped; -EAGAIN, with a step that makes memory available, with
 * HMMRT_STEP_MIGRATE_BACK, only if one page must be mapped, or with none if
 * something raced; or an error.
 */
int hmmrt_window_map(struct hmmrt_request *req, enum hmmrt_policy_want want)
{
	bool duplicate = want == HMMRT_POLICY_DUPLICATE;
	u64 moved = req->result.moved;
	bool shared_by_cow;
	int rc = 0;

	hmmrt_request_check(req);
	req->policy.want = want;
	req->permits = HMMRT_PTE_VALID;
	if (req->window.vma->vm_flags & VM_WRITE)
		req->permits |= HMMRT_PTE_WRITE;
	if (req->window.vma->vm_flags & VM_EXEC)
		req->permits |= HMMRT_PTE_EXEC;
	/* An earlier attempt may have wanted something else. */
	req->memory.stays &= want == HMMRT_POLICY_MOVE;
	/*
	 * Before a prefetch duplicates pages in system memory, it moves those
	 * that are elsewhere.
	 */
	if (req->memory.stays)
		hmmrt_request_refused(req);
	else if (want == HMMRT_POLICY_MOVE || (duplicate && !req->access))
		rc = hmmrt_migrate_to_device(req);
	if (!rc && duplicate) {
		moved = req->result.moved - moved;
		rc = hmmrt_duplicate_window(req);
		/* Pages that have just moved here were not there before. */
		req->result.there -= min(req->result.there, moved);
	}
	shared_by_cow = hmmrt_request_take_step(req, rc, HMMRT_STEP_BREAK_COW);
	/* The rest may take long, because it faults pages in. */
	if (rc != -EAGAIN || shared_by_cow)
		hmmrt_request_unreserve(req);
	if (shared_by_cow)
		return break_cow(req);
	if (rc)
		return rc;
	rc = req->access && req->args.whole ? snapshot_whole(req) :
					      snapshot_wanted(req);
	hmmrt_episode_phase(HMMRT_PHASE_MAP);
	if (!rc)
		rc = hmmrt_window_commit(req, req->snapshot.seq, snapshot_fill);
	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
	if (rc)
		return rc;
	if (!commit_satisfies(req))
		return hmmrt_request_ask(req, HMMRT_STEP_MIGRATE_BACK);
	return 0;
}

/*
 * Returns true if another lane has already mapped this page for the same
 * access. Takes the block's lock so that the driver's entry is in place too.
 * Otherwise a lane could replay, find no entry, and fault again and again until
 * the other lane continues.
 */
bool hmmrt_is_mapped(const struct hmmrt_binding *binding,
		     struct hmmrt_block *block, unsigned long addr,
		     unsigned int access)
{
	unsigned int page = hmmrt_index_in_block(block, addr);
	const struct hmmrt_block_map *map;
	bool mapped;

	if (access & HMMRT_ACCESS_EXEC)
		return false;
	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[binding->dev->id]);
	if (!map)
		return false;
	mutex_lock(&block->lock);
	mapped = test_bit(page, access & HMMRT_ACCESS_WRITE ? map->writable :
							      map->mapped);
	mutex_unlock(&block->lock);
	return mapped;
}

/*
 * One attempt to serve the page at req->addr to the device. Returns 0 if it is
 * mapped; for -EAGAIN see hmmrt_request_prepare_retry().
 */
int hmmrt_fault_attempt(struct hmmrt_request *req)
{
	struct mm_struct *mm = req->binding->space->mm;
	struct hmmrt_window *window = &req->window;
	unsigned long start = window->block->start;
	struct vm_area_struct *vma;
	int rc;

	if (hmmrt_is_mapped(req->binding, window->block, req->addr,
			    req->access))
		return 0;
	rc = hmmrt_request_lock_mm(req, mm);
	if (rc)
		return rc;
	vma = vma_lookup(mm, req->addr);
	rc = -EFAULT;
	if (!vma)
		goto out_unlock;
	hmmrt_window_set(window, vma, start, start + HMMRT_BLOCK_SIZE);
	if (hmmrt_vma_object(vma)) {
		req->policy.rule = HMMRT_RULE_NOT_MIGRATABLE;
		req->policy.within = (struct hmmrt_policy_window){};
		rc = hmmrt_object_attempt(req, hmmrt_vma_object(vma));
		goto out_unlock;
	}
	rc = hmmrt_vma_check(vma, req->access);
	if (rc)
		goto out_unlock;
	hmmrt_fault_window(req);
	rc = hmmrt_window_map(req, hmmrt_fault_want(req));
	if (hmmrt_request_take_step(req, rc, HMMRT_STEP_MIGRATE_BACK))
		rc = migrate_back(req);
out_unlock:
	window->vma = NULL;
	mmap_read_unlock(mm);
	return rc;
}
