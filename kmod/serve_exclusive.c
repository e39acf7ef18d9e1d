// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exclusive access: pages for which only one device has an entry, until another
 * device or the CPU touches them.
 *
 * Model      The core replaces the CPU's entries by device-exclusive ones and
 *            returns the pages locked. A CPU fault on such a page waits for the
 *            page lock, sends an invalidation, which removes the device's
 *            entry, and restores the old entry.
 * Own event  Making a page exclusive sends invalidations like any other change,
 *            in this thread and for every process that maps the page: all
 *            devices lose their entries for it. This also changes the notifier
 *            sequence, so the sequence cannot tell whether another invalidation
 *            came in between, such as one for discarded memory, which needs no
 *            page lock. block->revoked can: it counts all invalidations except
 *            those with the owner block->exclusive.
 * Order      Pages are faulted in, and exclusive pages given back, before the
 *            count is read. Otherwise the core does that during the call, and
 *            the count changes. The count is read before
 *            mmu_interval_read_begin(), which waits for invalidations that were
 *            counted and have not ended.
 * Coherent   The core would also make pages of coherent memory exclusive, but
 *            that must not happen. Kernels that do not count such an entry as a
 *            mapping take it for a migration entry when eviction releases the
 *            page: they make it an ordinary entry and add a reference that is
 *            never dropped. So the pages migrate to system memory first, and
 *            block->migrate keeps them there. A page of system memory with a
 *            writable entry is mapped nowhere else. That does not change
 *            without fork(), which needs the mmap_lock, and only this block can
 *            migrate the page to a device. A page without an entry may be in
 *            migration and return to the device. Memory of other drivers'
 *            devices is not handled.
 * Anonymous  The core faults in pages that were lost between the census and the
 *            call. It cannot be interrupted there: it neither drops the
 *            mmap_lock nor checks for signals. So only mappings with faults
 *            that wait for no program are accepted: anonymous ones without
 *            userfaultfd. A private file mapping is refused even where the page
 *            has been copied, because once the copy is discarded the next fault
 *            reads the file.
 * Locking    space->exclusive is held throughout, so that a block has one
 *            owner. block->migrate is taken only when all pages are in system
 *            memory: the core faults in pages lost since then, and a fault on a
 *            device page would need block->migrate in migrate_to_ram().
 */
#include <linux/hmm.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/userfaultfd_k.h>

#include "serve.h"
#include "space_check.h"

/*
 * The mmap_lock is not dropped: the caller may hold the binding, and the faults
 * wait for no program.
 */
static int fault_in(struct mm_struct *mm, const struct hmmrt_window *window)
{
	unsigned long addr;
	int rc = 0;

	lockdep_assert_held(&mm->mmap_lock);
	for (addr = window->start; !rc && addr < window->end; addr += PAGE_SIZE)
		rc = fixup_user_fault(mm, addr, FAULT_FLAG_WRITE, NULL);
	return rc;
}

/* Counts of pages in a snapshot, which does not show pages in migration. */
struct census {
	unsigned int in_host;	/* in system memory, exclusive to the process */
	unsigned int coherent;
	unsigned int never;	/* special, or on another driver's device */
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
		census->in_host += !!(hmm_pfn & HMM_PFN_WRITE);
	else if (!hmmrt_page_device(page))
		census->never++;
	else
		census->coherent += hmmrt_page_is_coherent(page);
}

static int take_census(const struct hmmrt_window *window,
		       struct hmmrt_snapshot *snapshot, struct census *census)
{
	unsigned int i, n = hmmrt_window_pages(window);
	int rc;

	*census = (struct census){};
	rc = hmmrt_snapshot_begin(window, snapshot);
	for (i = 0; i < n && !rc; i++)
		census_add(census, snapshot->pfns[i]);
	hmmrt_snapshot_end(snapshot);
	return rc;
}

/*
 * Migrate coherent memory back. fault_in() has moved what the CPU cannot reach.
 */
static int migrate_coherent_back(struct hmmrt_request *req)
{
	struct census census;
	int rc = take_census(&req->window, &req->snapshot, &census);

	if (rc || !census.coherent)
		return rc;
	rc = hmmrt_migrate_to_host(req);
	if (!rc)
		rc = take_census(&req->window, &req->snapshot, &census);
	/* Some pages are pinned. */
	if (!rc && census.coherent)
		rc = -EBUSY;
	return rc;
}

/* Start to count invalidations by others. */
static unsigned long block_watch(struct hmmrt_block *block, const void *owner)
{
	unsigned long revoked;

	mutex_lock(&block->lock);
	VM_WARN_ON_ONCE(block->exclusive);
	block->exclusive = owner;
	revoked = block->revoked;
	mutex_unlock(&block->lock);
	mmu_interval_read_begin(&block->span->notifier);
	return revoked;
}

/*
 * Map the pages for the device. They are locked, so a thread that wants one
 * back waits. Returns -EBUSY if a page could not be made exclusive, or -EAGAIN
 * for device memory, which must be faulted in again.
 */
static int map_atomic(struct hmmrt_request *req, struct page **pages)
{
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_block *block = req->window.block;
	struct hmmrt_block_map *map = hmmrt_request_map(req);
	unsigned int base = hmmrt_window_index(&req->window, 0);
	unsigned int i, n = hmmrt_window_pages(&req->window), mapped = 0;
	int rc = 0;

	lockdep_assert_held(&block->lock);
	hmmrt_mapper_check(block, binding);
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
		VM_WARN_ON_ONCE(!PageLocked(pages[i]) ||
				test_bit(base + i, map->mapped));
		/*
		 * Not marked writable: an ordinary write fault ends exclusive
		 * access.
		 */
		__set_bit(base + i, map->mapped);
		folio_mark_dirty(page_folio(pages[i]));
		mapped++;
	}
	hmmrt_map_check(block, binding->dev->id);
	binding->dev->ops->map(binding, req->window.start, req->ptes, n);
	hmmrt_count_mapped(binding, req->window.start, mapped, mapped);
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
	const struct hmmrt_block_map *map = hmmrt_request_map(req);
	const struct hmmrt_window *window = &req->window;
	struct hmmrt_block *block = window->block;
	struct page *pages[HMMRT_EXCLUSIVE_PAGES];
	unsigned long revoked;
	struct census census;
	int got, rc;

	lockdep_assert_held(&block->migrate);
	rc = take_census(window, &req->snapshot, &census);
	if (rc)
		return rc;
	if (census.never)
		return -EBUSY;
	if (census.in_host < hmmrt_window_pages(window))
		return -EAGAIN;
	revoked = block_watch(block, req);
	got = hmmrt_make_device_exclusive(window->vma->vm_mm, window->start,
					  window->end, pages, req);
	mutex_lock(&block->lock);
	VM_WARN_ON_ONCE(block->exclusive != req);
	block->exclusive = NULL;
	if (got < 0)
		rc = got;
	else if (map->zapping || block->revoked != revoked ||
		 got < hmmrt_window_pages(window))
		rc = -EAGAIN;
	else
		rc = map_atomic(req, pages);
	mutex_unlock(&block->lock);
	let_go(pages, got);
	return rc;
}

/* One attempt at a window. */
static int make_exclusive(const struct hmmrt_range_walk *walk,
			  struct hmmrt_request *req)
{
	struct hmmrt_window *window = &req->window;
	struct mm_struct *mm = window->vma->vm_mm;
	int rc;

	lockdep_assert_held(&req->binding->space->exclusive);
	lockdep_assert_held(&mm->mmap_lock);
	window->end = min(window->end,
			  window->start + HMMRT_EXCLUSIVE_PAGES * PAGE_SIZE);
	/*
	 * No file system and no userfaultfd handler may be waited for under
	 * block->migrate, and UFFDIO_MOVE could move in a page of coherent
	 * memory at any time.
	 */
	if (!vma_is_anonymous(window->vma) || userfaultfd_armed(window->vma))
		return -EBUSY;
	rc = fault_in(mm, window);
	if (!rc)
		rc = migrate_coherent_back(req);
	if (!rc)
		rc = hmmrt_block_migrate_lock(window->block);
	if (rc)
		return rc;
	rc = make_exclusive_locked(req);
	hmmrt_block_migrate_unlock(window->block);
	return rc;
}

/* --- ranges --------------------------------------------------------------- */

/* How often another thread may take the mmap_lock again after a wait for it. */
#define EXCLUSIVE_TRIES	256

/* Returns -ENOLCK if another thread holds the mmap_lock. */
static int exclusive_range(struct hmmrt_binding *binding, unsigned long start,
			   unsigned long end)
{
	struct hmmrt_range_walk walk = {
		.binding = binding,
		.part = make_exclusive,
		.access = HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE,
		.args = {
			.cause = HMMRT_CAUSE_EXCLUSIVE,
			.node = NUMA_NO_NODE,
			.map = true,
			.all_devices = true,
			.nowait = true,
		},
	};
	int rc;

	if (mutex_lock_killable(&binding->space->exclusive))
		return -EINTR;
	WRITE_ONCE(binding->space->exclusive_task, current);
	rc = hmmrt_walk_range(&walk, start, end);
	WRITE_ONCE(binding->space->exclusive_task, NULL);
	atomic64_add(walk.result.moved, &binding->space->migrated_to_host);
	mutex_unlock(&binding->space->exclusive);
	return rc;
}

/*
 * Make a range exclusive. @wait waits for the mmap_lock outside of
 * space->exclusive, because a call of the process may wait for that mutex with
 * another binding.
 */
static int exclusive_retry(struct hmmrt_binding **binding, unsigned long start,
			   unsigned long end,
			   int (*wait)(struct hmmrt_binding **binding,
				       struct hmmrt_space *space))
{
	struct hmmrt_space *space = (*binding)->space;
	unsigned int tries = 0;
	int rc;

	while ((rc = exclusive_range(*binding, start, end)) == -ENOLCK) {
		if (++tries == EXCLUSIVE_TRIES)
			return -EAGAIN;
		if (hmmrt_interrupted())
			return -EINTR;
		rc = wait(binding, space);
		if (rc)
			break;
	}
	return rc;
}

/*
 * A driver keeps its reference to the binding while it waits. It has no
 * reference to the mm while it waits for space->exclusive: an exit of the
 * process does not wait for threads in that queue.
 */
static int wait_with_binding(struct hmmrt_binding **binding,
			     struct hmmrt_space *space)
{
	int rc;

	if (!mmget_not_zero(space->mm))
		return -ESRCH;
	rc = hmmrt_mmap_read_lock(space->mm, false);
	if (!rc)
		mmap_read_unlock(space->mm);
	mmput_async(space->mm);
	return rc;
}

int hmmrt_exclusive_range(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end)
{
	might_sleep();
	return exclusive_retry(&binding, start, end, wait_with_binding);
}
EXPORT_SYMBOL_GPL(hmmrt_exclusive_range);

/* --- HMMRT_IOC_EXCLUSIVE -------------------------------------------------- */

/* To the process, a page that cannot be made exclusive is in use. */
static int exclusive_errno(int rc)
{
	return rc == -EAGAIN || rc == -EOPNOTSUPP ? -EBUSY : rc;
}

/* Waits without a reference to the binding, see hmmrt_ioc_exclusive(). */
static int wait_without_binding(struct hmmrt_binding **binding,
				struct hmmrt_space *space)
{
	int rc = hmmrt_binding_mmap_read_lock(binding, space);

	if (!rc)
		mmap_read_unlock(space->mm);
	return rc;
}

/*
 * Works on one block at a time, so that other callers get their turn in
 * between. The call has no reference to the binding while it waits for the
 * mmap_lock: hmmrt_unbind() waits for references, and so does the next caller,
 * for space->exclusive.
 */
int hmmrt_ioc_exclusive(struct hmmrt_space *space, void *data)
{
	struct hmmrt_exclusive *arg = data;
	struct hmmrt_binding *binding;
	unsigned long addr, end, next;
	int rc;

	if (arg->__reserved)
		return -EOPNOTSUPP;
	if (arg->done && (arg->done >= arg->len || !PAGE_ALIGNED(arg->done)))
		return -EINVAL;
	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (rc)
		return rc;
	binding = hmmrt_space_binding_get(space, arg->device_id);
	if (!binding)
		return -ENODEV;
	if (!mmget_not_zero(space->mm)) {
		rc = -ESRCH;
		goto out_put;
	}
	arg->out_pages = arg->done >> PAGE_SHIFT;
	end = arg->addr + arg->len;
	for (addr = arg->addr + arg->done; !rc && addr < end; addr = next) {
		next = hmmrt_block_end(addr, end);
		rc = exclusive_retry(&binding, addr, next,
				     wait_without_binding);
		if (rc)
			break;
		arg->out_pages += (next - addr) >> PAGE_SHIFT;
		if (READ_ONCE(binding->going))
			rc = -ENODEV;
		else if (next < end && hmmrt_interrupted())
			rc = -EINTR;
	}
	arg->done = rc == -EINTR ? arg->out_pages << PAGE_SHIFT : 0;
	mmput(space->mm);
out_put:
	if (binding)
		hmmrt_binding_put(binding);
	return exclusive_errno(rc);
}
