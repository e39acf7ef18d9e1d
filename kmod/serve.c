// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serving a device: from an address the device wants to an entry in its page
 * table.
 *
 * Flow       One attempt at a window of a block: (1) snapshot what the CPU page
 *            table has; (2) for a write, where that shows pages without write
 *            permission, break COW and start again, for it cannot be done once a
 *            page is on the device; (3) migrate what policy wants moved and the
 *            core lets go; (4) snapshot again, faulting the one page in that
 *            must be there; (5) under block->lock, if nothing of the block was
 *            invalidated meanwhile, tell the driver to map. What is not on the
 *            device by then is mapped where it is, remotely. Anything that raced
 *            makes it start again.
 *            (1) and (3) are under block->migrate: of several lanes that fault
 *            in one block the first moves the window and the others find it
 *            there.
 * Special    A page that is on the device without write permission (after fork
 *            or mprotect) is not upgraded by hmm_range_fault(), which ignores
 *            REQ_WRITE for pages of ours: it is brought home by a CPU fault and
 *            the flow starts again, breaking COW there. Likewise a page on
 *            another device that could not move here, unless the two are peers:
 *            then it is mapped where it is. None of this is so with
 *            a coherent device: to the CPU its pages are mapped like others, so
 *            faults upgrade them in place, and other devices map them remotely.
 * Dirty      Devices write behind the core's back: a page that they may write is
 *            marked dirty when it is mapped, or reclaim would drop MADV_FREE and
 *            clean shmem pages together with the writes. In coherent memory too:
 *            the core itself may bring such a page home, to pin it. Other device
 *            memory is marked by us when it comes.
 */
#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/hmm.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>

#include "hmmrt.h"
#include "trace.h"

static unsigned int req_page(const struct hmmrt_request *req)
{
	return (req->addr - req->start) >> PAGE_SHIFT;
}

static unsigned long page_addr(const struct hmmrt_request *req, unsigned int i)
{
	return req->start + ((unsigned long)i << PAGE_SHIFT);
}

/*
 * secretmem has no kernel mapping to copy from and promises to be visible to
 * its owner's CPU page table alone. vma_is_secretmem() is not exported.
 */
static bool vma_is_secret(struct vm_area_struct *vma)
{
	return vma->vm_file && file_inode(vma->vm_file)->i_sb->s_magic ==
				       SECRETMEM_MAGIC;
}

/*
 * Whether a device may use this mapping for @access; 0 or what to answer. To the
 * core a shadow stack is writable; a device would write it as any memory.
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

/* Looks that the span's other blocks may make vain, one after the other. */
#define LOOK_TRIES	16

/**
 * hmmrt_look() - what a process has mapped of a block, or of a part of it
 * @block: in use
 * @range: all but notifier and notifier_seq is set
 * @seq: out: for hmmrt_block_read_retry()
 *
 * The core gives up when anything is unmapped in the span; what does not concern the
 * block is no reason to begin anew with all else.
 * Context: mmap_lock held for reading.
 * Return: of hmm_range_fault(), but -EAGAIN for -EBUSY.
 */
int hmmrt_look(struct hmmrt_block *block, struct hmm_range *range,
	       unsigned long *seq)
{
	size_t bytes = ((range->end - range->start) >> PAGE_SHIFT) *
		       sizeof(range->hmm_pfns[0]);
	unsigned int try;
	int rc = -EBUSY;

	lockdep_assert_held(&block->span->space->mm->mmap_lock);
	range->notifier = &block->span->notifier;
	for (try = 0; rc == -EBUSY && try < LOOK_TRIES; try++) {
		memset(range->hmm_pfns, 0, bytes);
		*seq = hmmrt_block_read_begin(block, &range->notifier_seq);
		rc = hmm_range_fault(range);
	}
	return rc == -EBUSY ? -EAGAIN : rc;
}

/*
 * What is there now, without faulting anything in. hmm_range_fault() never does
 * here: asked for one page it faults in all from there to the end of the range,
 * and fails if any of it cannot be.
 */
int hmmrt_snapshot(struct hmmrt_request *req)
{
	struct hmm_range range = {
		.start = req->start,
		.end = req->end,
		.hmm_pfns = req->pfns,
		.dev_private_owner = hmmrt_pgmap_owner(),
	};

	return hmmrt_look(req->block, &range, &req->seq);
}

/* Whether one mapping covers the block, and one advice that lets it be taken. */
static bool block_is_alike(const struct hmmrt_request *req)
{
	unsigned long start = req->block->start;
	unsigned long end = start + HMMRT_BLOCK_SIZE;

	if (req->vma->vm_start > start || req->vma->vm_end < end ||
	    req->advice.granularity)
		return false;
	hmmrt_advice_at(req->block->span->space, req->addr, &start, &end);
	return end - start == HMMRT_BLOCK_SIZE;
}

/* Whether policy takes more than the window, by the snapshot of it. */
static bool widen(struct hmmrt_request *req)
{
	struct hmmrt_block *block = req->block;
	struct hmmrt_policy_window old = {
		.first = (req->start - block->start) >> PAGE_SHIFT,
		.count = hmmrt_request_pages(req),
	};
	struct hmmrt_policy_window win;
	unsigned long pfn;

	/* Who asked for a range gets that, and who fell back to one page it. */
	if (!req->access || req->whole || req->narrow)
		return false;
	pfn = req->pfns[req_page(req)];
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return false;
	win = hmmrt_policy_huge_window(old, hmm_pfn_to_map_order(pfn),
				       block_is_alike(req));
	req->start = block->start + ((unsigned long)win.first << PAGE_SHIFT);
	req->end = req->start + ((unsigned long)win.count << PAGE_SHIFT);
	return win.count != old.count;
}

/* After a snapshot that does: once more, if that shows that more is wanted. */
int hmmrt_snapshot_widened(struct hmmrt_request *req)
{
	return widen(req) ? hmmrt_snapshot(req) : 0;
}

/* Memory that is made up when it is touched: to have more of it costs little. */
static bool vma_is_filled_on_touch(struct vm_area_struct *vma)
{
	const struct inode *inode;

	if (vma_is_anonymous(vma))
		return true;
	if (!vma->vm_file)
		return false;
	/* Not the nodes of devtmpfs, which has the same number. */
	inode = file_inode(vma->vm_file);
	return inode->i_sb->s_magic == TMPFS_MAGIC && S_ISREG(inode->i_mode);
}

/*
 * As a CPU access would. A fault that waits for a program, or for a disk, drops the
 * mmap_lock meanwhile, and takes it again: *unlocked, and the vma is not what it was.
 * NULL: it is kept. A request that does not wait for programs keeps it too: -ENOLCK if
 * the page might need one. A file system in user space, even one that is told not to
 * wait, may be waited for in its readahead.
 */
static int fault_page(const struct hmmrt_request *req, struct mm_struct *mm,
		      unsigned long addr, bool write, bool *unlocked)
{
	lockdep_assert_held(&mm->mmap_lock);
	if (req->nowait) {
		if (!vma_is_filled_on_touch(req->vma) ||
		    userfaultfd_armed(req->vma))
			return -ENOLCK;
		unlocked = NULL;
	}
	return fixup_user_fault(mm, addr, write ? FAULT_FLAG_WRITE : 0,
				unlocked);
}

/* In system memory, and a write to it would have to copy it first. */
static bool needs_cow(unsigned long pfn)
{
	struct page *page;

	if (!(pfn & HMM_PFN_VALID) || (pfn & (HMM_PFN_WRITE | HMM_PFN_ERROR)))
		return false;
	page = hmm_pfn_to_page(pfn);
	return !hmmrt_page_is_private(page) && !is_zero_page(page);
}

/*
 * Whether a write to the window, by the snapshot in req->pfns, has to copy. If
 * so req->pfns is replaced by what break_cow() needs to know.
 */
bool hmmrt_mark_cow(struct hmmrt_request *req)
{
	unsigned int i, n = hmmrt_request_pages(req);
	bool needed = false;

	for (i = 0; i < n && !needed; i++)
		needed = needs_cow(req->pfns[i]);
	for (i = 0; i < n && needed; i++)
		req->pfns[i] = needs_cow(req->pfns[i]);
	return needed;
}

/*
 * Before anything of the window is migrated for a write: pages that are shared
 * by COW would stay read-only on the device. hmmrt_mark_cow() has marked them. The
 * attempt has ended.
 */
static int break_cow(struct hmmrt_request *req)
{
	unsigned int i, n = hmmrt_request_pages(req);
	bool unlocked = false;

	for (i = 0; i < n && !unlocked; i++) {
		unsigned long addr = page_addr(req, i);
		bool wanted = req->whole || addr == req->addr;
		int rc;

		if (!req->pfns[i])
			continue;
		if (wanted)
			rc = fault_page(req, req->vma->vm_mm, addr, true,
					&unlocked);
		else if (userfaultfd_armed(req->vma))
			rc = -EFAULT;
		else
			rc = fault_page(req, req->vma->vm_mm, addr, true, NULL);
		if (rc && wanted)
			return rc;
		/* A neighbour that cannot be written: leave them all alone. */
		if (rc)
			req->narrow = true;
	}
	return -EAGAIN;
}

/*
 * Whether the touched page has to be faulted in. Not if it is on a device: that
 * would do nothing there, and commit_satisfies() knows what does.
 */
static bool needs_fault(const struct hmmrt_request *req)
{
	unsigned long pfn;

	if (!req->access)
		return false;
	pfn = req->pfns[req_page(req)];
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return true;
	return (req->access & HMMRT_ACCESS_WRITE) && !(pfn & HMM_PFN_WRITE) &&
	       !hmmrt_page_is_private(hmm_pfn_to_page(pfn));
}

/*
 * The touched page was not there and is now; the window's other holes follow if
 * they are of memory that would otherwise take one device fault a page. Best
 * effort, up to the first that cannot be had, or that had to be waited for: -EAGAIN.
 * What userfaultfd watches is told of nothing that nobody touched.
 */
static int fault_neighbours(struct hmmrt_request *req, bool write)
{
	unsigned int i, n = hmmrt_request_pages(req);
	bool unlocked = false;
	int rc = 0;

	if (!vma_is_filled_on_touch(req->vma) || userfaultfd_armed(req->vma))
		return 0;
	for (i = 0; i < n && !rc && !unlocked; i++) {
		if (req->pfns[i] || i == req_page(req))
			continue;
		rc = fault_page(req, req->vma->vm_mm, page_addr(req, i),
				write && vma_is_anonymous(req->vma), &unlocked);
	}
	return unlocked ? -EAGAIN : 0;
}

/*
 * The touched page is on its way to somewhere. To fault it in would bring home what
 * will just have gone to a device.
 */
static int wait_moved(struct hmmrt_request *req)
{
	int rc = hmmrt_block_migrate_lock(req->block);

	if (rc)
		return rc;
	hmmrt_block_migrate_unlock(req->block);
	return -EAGAIN;
}

/* Have the CPU take the touched page, by the snapshot; the lock may be dropped. */
static int fault_wanted(struct hmmrt_request *req)
{
	unsigned long pfn = req->pfns[req_page(req)];
	bool unlocked = false;
	int rc;

	/* Something without a struct page. */
	if (pfn & HMM_PFN_ERROR)
		return -EOPNOTSUPP;
	/* What the core moves is waited for by the fault. */
	if (!pfn && mutex_is_locked(&req->block->migrate) &&
	    hmmrt_is_moving(req->vma, req->addr, 1))
		return wait_moved(req);
	if (!pfn)
		req->was_missing = true;
	rc = fault_page(req, req->vma->vm_mm, req->addr,
			req->access & HMMRT_ACCESS_WRITE, &unlocked);
	return !rc && unlocked ? -EAGAIN : rc;
}

/* Snapshot, with the page that was touched faulted in, now or by the last attempt. */
static int snapshot_wanted(struct hmmrt_request *req)
{
	bool fault;
	int idx, rc;

	idx = srcu_read_lock(&hmmrt_srcu);
	rc = hmmrt_snapshot(req);
	fault = !rc && needs_fault(req);
	if (!rc && !fault && !req->was_missing)
		rc = hmmrt_snapshot_widened(req);
	srcu_read_unlock(&hmmrt_srcu, idx);
	if (rc || (!fault && !req->was_missing))
		return rc;
	if (fault)
		rc = fault_wanted(req);
	if (rc)
		return rc;
	if (req->was_missing)
		rc = fault_neighbours(req, req->access & HMMRT_ACCESS_WRITE);
	req->was_missing = false;
	if (rc)
		return rc;
	/* Now that it is there it can be copied. */
	if (req->copy)
		return -EAGAIN;
	/* Lost again meanwhile: commit_satisfies() starts again. */
	rc = hmmrt_snapshot(req);
	return rc ? rc : hmmrt_snapshot_widened(req);
}

/* Whether the device reaches the memory of @dev, which may be its own or NULL. */
static bool can_reach(const struct hmmrt_request *req,
		      const struct hmmrt_device *dev)
{
	return !dev || dev == req->binding->dev ||
	       hmmrt_device_is_coherent(dev) ||
	       hmmrt_peer_enabled(req->binding, dev);
}

/* Whether the device can be given an entry that permits the access. */
static bool can_map(const struct hmmrt_request *req, unsigned long pfn)
{
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return false;
	if ((req->access & HMMRT_ACCESS_WRITE) && !(pfn & HMM_PFN_WRITE))
		return false;
	return can_reach(req, hmmrt_page_device(hmm_pfn_to_page(pfn)));
}

/*
 * What the CPU has to be asked for, by the snapshot in req->pfns, which is
 * replaced by one word a page that says so. Returns how many.
 */
static int mark_missing(struct hmmrt_request *req)
{
	unsigned int i, n = hmmrt_request_pages(req), missing = 0;

	for (i = 0; i < n; i++)
		missing += !can_map(req, req->pfns[i]);
	for (i = 0; i < n && missing; i++) {
		/* Something without a struct page. */
		if (req->pfns[i] & HMM_PFN_ERROR)
			return -EOPNOTSUPP;
		req->pfns[i] = !can_map(req, req->pfns[i]);
	}
	return missing;
}

/*
 * Have the CPU take what mark_missing() marked. The mmap_lock may be dropped and
 * taken again, so the vma is not what it was, and the attempt has ended: what cannot
 * be had after that, of what may be mapped there by now, is for the next one to say.
 */
static int fault_missing(struct hmmrt_request *req)
{
	bool write = req->access & HMMRT_ACCESS_WRITE, unlocked = false;
	unsigned int i, n = hmmrt_request_pages(req);
	struct mm_struct *mm = req->vma->vm_mm;
	int rc = 0;

	for (i = 0; i < n && !rc && !(unlocked && hmmrt_interrupted()); i++)
		if (req->pfns[i])
			rc = fault_page(req, mm, page_addr(req, i), write,
					&unlocked);
	return rc && (rc == -EINTR || !unlocked) ? rc : -EAGAIN;
}

/* Snapshot that has all of the window, or else see to it that the next one has. */
static int snapshot_whole(struct hmmrt_request *req)
{
	int idx, rc;

	idx = srcu_read_lock(&hmmrt_srcu);
	rc = hmmrt_snapshot(req);
	if (!rc)
		rc = mark_missing(req);
	srcu_read_unlock(&hmmrt_srcu, idx);
	return rc > 0 ? fault_missing(req) : rc;
}

/*
 * Whether a page that nobody touched may be written by the device without anybody
 * being told more than is true: it is dirty already, or has no clean copy.
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

	/* hugetlb is not reclaimed, and not on the lists this would look at. */
	if (folio_test_hugetlb(folio))
		return;
	if (write && (folio_test_anon(folio) || folio_test_swapbacked(folio)))
		folio_mark_dirty(folio);
	/* Neither is device memory; but a page comes home as dirty as it was. */
	if (is_zone_device_page(page))
		return;
	/*
	 * A second time may put it on a list of this CPU that holds it until the
	 * list is full: what could move could not be moved.
	 */
	if (!folio_test_anon(folio) || !folio_test_referenced(folio))
		folio_mark_accessed(folio);
}

/* The entry of a page that the device has a copy of stays what it is. */
static hmmrt_pte_t copy_pte(const struct hmmrt_request *req,
			    const struct page *copy)
{
	return HMMRT_PTE_VALID | HMMRT_PTE_DEVICE |
	       (req->exec ? HMMRT_PTE_EXEC : 0) | hmmrt_page_offset(copy);
}

/* Where the device finds the page: the part of the entry that says so. */
static hmmrt_pte_t pte_target(const struct hmmrt_request *req,
			      const struct hmmrt_device *dev,
			      const struct hmmrt_place *place,
			      const struct page *page)
{
	if (dev == req->binding->dev)
		return HMMRT_PTE_DEVICE | hmmrt_place_offset(place, page);
	if (dev && !hmmrt_device_is_coherent(dev))
		return HMMRT_PTE_PEER |
		       FIELD_PREP(HMMRT_PTE_PEER_ID, dev->id) |
		       hmmrt_place_offset(place, page);
	return PFN_PHYS(page_to_pfn(page));
}

/* Whether the device is to have an entry for this memory: see device_only. */
static bool may_map(const struct hmmrt_request *req,
		    const struct hmmrt_device *dev)
{
	if (dev == req->binding->dev)
		return true;
	if (!can_reach(req, dev))
		return false;
	if (!req->device_only)
		return true;
	return req->no_peers && dev && !hmmrt_device_is_coherent(dev);
}

static hmmrt_pte_t make_pte(struct hmmrt_request *req, unsigned long pfn,
			    struct hmmrt_place *place)
{
	struct hmmrt_device *dev;
	struct page *page;
	hmmrt_pte_t pte = HMMRT_PTE_VALID;

	lockdep_assert_held(&req->block->lock);
	if (!(pfn & HMM_PFN_VALID) || (pfn & HMM_PFN_ERROR))
		return 0;
	page = hmm_pfn_to_page(pfn);
	if (req->write && (pfn & HMM_PFN_WRITE))
		pte |= HMMRT_PTE_WRITE;
	if (req->exec)
		pte |= HMMRT_PTE_EXEC;
	dev = hmmrt_place_device(place, page);
	if (!may_map(req, dev))
		return 0;
	if (req->ahead && !dev) {
		if (!is_dirty_anyway(page))
			pte &= ~HMMRT_PTE_WRITE;
		return pte | pte_target(req, dev, place, page);
	}
	if ((!dev || hmmrt_device_is_coherent(dev)) && !is_zero_page(page))
		mark_used(page, pte & HMMRT_PTE_WRITE);
	return pte | pte_target(req, dev, place, page);
}

/* The snapshot becomes entries, if it still holds. */
static int commit(struct hmmrt_request *req)
{
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_block *block = req->block;
	struct hmmrt_block_map *map = block->maps[binding->dev->id];
	unsigned int base = (req->start - block->start) >> PAGE_SHIFT;
	unsigned int i, n = hmmrt_request_pages(req), mapped = 0, remote = 0;
	struct hmmrt_place place = {};

	mutex_lock(&block->lock);
	if (map->zapping || hmmrt_block_read_retry(block, req->seq)) {
		mutex_unlock(&block->lock);
		return -EAGAIN;
	}
	for (i = 0; i < n; i++) {
		struct page *copy = hmmrt_copy_page(map, base + i);

		if (copy) {
			/* Else somebody writes what the device has a copy of. */
			WARN_ON_ONCE(req->pfns[i] & HMM_PFN_WRITE);
			req->ptes[i] = copy_pte(req, copy);
			continue;
		}
		req->ptes[i] = make_pte(req, req->pfns[i], &place);
		if (!req->ptes[i])
			continue;
		/*
		 * A snapshot from before somebody's write fault: permission
		 * grows without an invalidation, and shrinks only with one.
		 */
		if (test_bit(base + i, map->writable))
			req->ptes[i] |= HMMRT_PTE_WRITE;
		mapped += !test_bit(base + i, map->mapped);
		remote += !(req->ptes[i] & HMMRT_PTE_DEVICE) &&
			  !test_bit(base + i, map->mapped);
		if (req->ptes[i] & HMMRT_PTE_PEER)
			map->peers |= BIT(FIELD_GET(HMMRT_PTE_PEER_ID,
						    req->ptes[i]));
		if (req->ptes[i] & HMMRT_PTE_DEVICE)
			__set_bit(base + i, map->local);
		else
			WRITE_ONCE(map->remote, true);
		__set_bit(base + i, map->mapped);
		if (req->ptes[i] & HMMRT_PTE_WRITE)
			__set_bit(base + i, map->writable);
	}
	binding->dev->ops->map(binding, req->start, req->ptes, n);
	mutex_unlock(&block->lock);

	atomic64_add(mapped, &binding->mapped_pages);
	atomic64_add(remote, &binding->remote_pages);
	if (remote)
		hmmrt_counting_start(binding);
	return 0;
}

static bool pte_permits(hmmrt_pte_t pte, unsigned int access)
{
	if (!pte)
		return false;
	return !(access & HMMRT_ACCESS_WRITE) || (pte & HMMRT_PTE_WRITE);
}

/*
 * Whether the page that was touched got an entry that permits the access; if
 * not it is on some device and has to come home first. A whole window has such
 * entries, by the snapshot that was committed.
 */
static bool commit_satisfies(const struct hmmrt_request *req)
{
	return !req->access || req->whole ||
	       pte_permits(req->ptes[req_page(req)], req->access);
}

/*
 * Bring the touched page home as a CPU access would. Nothing of ours is held:
 * migrate_to_ram() needs block->migrate. May drop and retake the mmap_lock.
 */
static int bring_home(struct mm_struct *mm, struct hmmrt_request *req)
{
	bool write = req->access & HMMRT_ACCESS_WRITE;
	bool unlocked = false;
	int rc = fault_page(req, mm, req->addr, write, &unlocked);

	/* The first one brings it home; break COW before a reader moves it. */
	if (!rc && write)
		rc = fault_page(req, mm, req->addr, write, &unlocked);
	return rc ? rc : -EAGAIN;
}

/* Of what is to be copied, a prefetch moves what is not at home. */
static int move_or_copy(struct hmmrt_request *req)
{
	u64 moved = req->moved;
	int rc = 0;

	if (!req->copy || !req->access)
		rc = hmmrt_migrate_to_device(req);
	if (rc || !req->copy)
		return rc;
	moved = req->moved - moved;
	rc = hmmrt_duplicate(req);
	/* What has just come was not there before. */
	req->there -= min(req->there, moved);
	return rc;
}

/**
 * hmmrt_serve_window() - one attempt at the flow above
 * @req: window, vma, access
 * @migrate: whether to move what can move; with req->copy, to copy what is at home
 *
 * Context: mmap_lock held for reading; if the answer is not 0 it may have been
 * dropped and taken again, and req->vma is not valid. Nothing else held.
 * Return: 0 mapped; -EAGAIN something raced; -ENXIO the touched page has to be
 * brought home first; or an error.
 */
int hmmrt_serve_window(struct hmmrt_request *req, bool migrate)
{
	int rc = 0;

	lockdep_assert_held(&req->vma->vm_mm->mmap_lock);
	req->exec = req->vma->vm_flags & VM_EXEC;
	req->write = req->vma->vm_flags & VM_WRITE;
	if (migrate)
		rc = move_or_copy(req);
	/* What follows may take long: pages are faulted in. */
	if (rc != -ENOSPC && rc != -EAGAIN)
		hmmrt_request_release_room(req);
	if (rc == -EMLINK)
		return break_cow(req);
	if (rc)
		return rc;
	rc = req->access && req->whole ? snapshot_whole(req) :
					 snapshot_wanted(req);
	if (rc)
		return rc;
	rc = commit(req);
	if (rc)
		return rc;
	return commit_satisfies(req) ? 0 : -ENXIO;
}

/*
 * Whether somebody else was served the same page meanwhile. Under the lock, so that
 * the entry is there too: a lane that came back to find none would come again and
 * again until the other one goes on.
 */
bool hmmrt_is_mapped(const struct hmmrt_binding *binding,
		     struct hmmrt_block *block, unsigned long addr,
		     unsigned int access)
{
	unsigned int page = (addr - block->start) >> PAGE_SHIFT;
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

/* What the device has of the block at @start, which nobody may ever have used. */
static unsigned int pages_mapped(const struct hmmrt_request *req,
				 unsigned long start)
{
	struct hmmrt_block *block =
		hmmrt_block_find(req->binding->space, start);
	const struct hmmrt_block_map *map;
	unsigned int mapped = 0;

	if (!block)
		return 0;
	/* Pairs with hmmrt_block_get(). */
	map = smp_load_acquire(&block->maps[req->binding->dev->id]);
	if (map)
		mapped = bitmap_weight(map->mapped, HMMRT_BLOCK_PAGES);
	hmmrt_block_put(block);
	return mapped;
}

/* No lock: others may map more meanwhile, or less. */
static struct hmmrt_policy_window policy_window(const struct hmmrt_request *req,
						unsigned int page)
{
	const struct hmmrt_block *block = req->block;
	const struct hmmrt_block_map *map = block->maps[req->binding->dev->id];
	DECLARE_BITMAP(mapped, HMMRT_BLOCK_PAGES);
	const struct hmmrt_policy_density density = {
		.mapped = mapped,
		.faults = READ_ONCE(map->faults),
		.before = pages_mapped(req, block->start - HMMRT_BLOCK_SIZE),
		.after = pages_mapped(req, block->start + HMMRT_BLOCK_SIZE),
	};

	bitmap_or(mapped, map->mapped, req->faulted, HMMRT_BLOCK_PAGES);
	return hmmrt_policy_device_window(&density, page, &req->advice,
					  &req->knobs);
}

/* The part of the block that goes with this fault. */
static void choose_window(struct hmmrt_request *req)
{
	unsigned int page = (req->addr - req->block->start) >> PAGE_SHIFT;
	unsigned long start = req->block->start;
	struct hmmrt_policy_window win;

	req->start = max(start, req->vma->vm_start);
	req->end = min(start + HMMRT_BLOCK_SIZE, req->vma->vm_end);
	hmmrt_request_advise(req, req->addr);
	req->knobs = hmmrt_knobs_at(req->binding->space, req->binding->dev,
				    &req->advice);
	if (req->narrow) {
		req->start = req->addr;
		req->end = req->addr + PAGE_SIZE;
		return;
	}
	win = policy_window(req, page);
	start += (unsigned long)win.first << PAGE_SHIFT;
	req->start = max(req->start, start);
	req->end = min(req->end,
		       start + ((unsigned long)win.count << PAGE_SHIFT));
}

/*
 * One attempt to serve the page at req->addr to the device. 0: it is mapped; -EAGAIN:
 * see hmmrt_request_again().
 */
int hmmrt_fault_once(struct mm_struct *mm, struct hmmrt_request *req)
{
	int rc;

	if (hmmrt_is_mapped(req->binding, req->block, req->addr, req->access))
		return 0;
	rc = hmmrt_request_lock_mm(req, mm);
	if (rc)
		return rc;
	req->vma = vma_lookup(mm, req->addr);
	rc = req->vma ? hmmrt_vma_check(req->vma, req->access) : -EFAULT;
	if (rc)
		goto out_unlock;
	choose_window(req);
	rc = hmmrt_serve_window(req, hmmrt_fault_may_migrate(req));
	if (rc == -ENXIO)
		rc = bring_home(mm, req);
out_unlock:
	req->vma = NULL;
	mmap_read_unlock(mm);
	return rc;
}

/*
 * Before memory is spent on an address: whether anything there could be served. The
 * mmap_lock is taken as hmmrt_mmap_read_lock() says.
 */
int hmmrt_mapped_check(struct mm_struct *mm, unsigned long addr,
		       unsigned int access, bool nowait)
{
	struct vm_area_struct *vma;
	int rc;

	rc = hmmrt_mmap_read_lock(mm, nowait);
	if (rc)
		return rc;
	vma = vma_lookup(mm, addr);
	if (!vma)
		rc = -EFAULT;
	else
		rc = access ? hmmrt_vma_check(vma, access) : 0;
	mmap_read_unlock(mm);
	return rc;
}
