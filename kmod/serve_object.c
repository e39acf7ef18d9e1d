// SPDX-License-Identifier: GPL-2.0-only
/*
 * Serving devices that use mappings of memory objects.
 *
 * Flow       The memory of an object is found through the mapping and not
 *            through page tables. So there is no snapshot and no migrate_vma.
 *            An attempt at a window looks up what the device may do there,
 *            locks the extent, turns what is in it into entries, and commits
 *            them under block->lock.
 * Access     hmmrt_advice.access says what each device may do. A change of it
 *            that takes something away is followed by an invalidation. An
 *            attempt reads the block's count of invalidations before it looks
 *            up the access for its entries, so either it sees the change, or
 *            its commit fails, or the invalidation finds its entries.
 * Peers      Entries for private memory of another device need nothing but this
 *            access, and hardware that can do it.
 * Locking    mmap_lock, extent->lock, block->lock. An extent that moves loses
 *            its entries under extent->lock, so those that an attempt writes
 *            under it are right. An attempt that moves an extent also maps it
 *            before it releases the lock: of several devices that take an
 *            extent from each other, each makes progress.
 */
#include <linux/bitfield.h>
#include <linux/mm.h>

#include "serve.h"

/* How long a call that maps ahead of use waits for the mmap_lock. */
#define MAP_LOCK_WAIT	(HZ / 2)

/* --- entries -------------------------------------------------------------- */

/* Check the access of the device to the window; look up its advice. */
static int window_check_access(struct hmmrt_request *req, unsigned long addr,
			       unsigned int access)
{
	u32 has;

	hmmrt_request_advise(req, addr);
	has = hmmrt_advice_access(&req->policy.advice, req->binding->dev->id);
	req->permits = HMMRT_PTE_VALID;
	if (has & HMMRT_ACCESS_WRITE)
		req->permits |= HMMRT_PTE_WRITE;
	return (access & ~has) || !has ? -EACCES : 0;
}

/*
 * Shrink the window to the extent at @addr. Returns the index of the window's
 * first page in it.
 */
static unsigned int window_shrink(struct hmmrt_window *window,
				  unsigned long addr)
{
	pgoff_t pgoff = hmmrt_vma_pgoff(window->vma, addr);
	unsigned int index = pgoff % HMMRT_CHUNK_PAGES;
	unsigned long before = (unsigned long)index << PAGE_SHIFT;
	unsigned long after = HMMRT_CHUNK_SIZE - before;

	if (addr - window->start > before)
		window->start = addr - before;
	if (window->end - addr > after)
		window->end = addr + after;
	index -= (addr - window->start) >> PAGE_SHIFT;
	VM_WARN_ON_ONCE(index + hmmrt_window_pages(window) > HMMRT_CHUNK_PAGES);
	return index;
}

/*
 * The same with the extent, which is made if it is not there yet. Returns an
 * ERR_PTR, -ENOMEM, if that fails.
 */
static struct hmmrt_extent *window_extent(struct hmmrt_window *window,
					  struct hmmrt_object *object,
					  unsigned long addr)
{
	unsigned int index;

	window_shrink(window, addr);
	return hmmrt_object_extent(object, hmmrt_vma_pgoff(window->vma, addr),
				   &index);
}

/* Returns true if the device reaches all of the extent where it is. */
static bool extent_is_reachable(const struct hmmrt_extent *extent,
				const struct hmmrt_device *dev)
{
	lockdep_assert_held(&extent->lock);
	return !extent->dev || extent->dev == dev ||
	       hmmrt_device_is_coherent(extent->dev) ||
	       hmmrt_peer_possible(dev, extent->dev);
}

/* The part of an entry that says where the device finds the page; 0: lost. */
static hmmrt_pte_t pte_target(const struct hmmrt_extent *extent,
			      const struct hmmrt_device *dev,
			      unsigned int index)
{
	struct page *page;
	u64 offset;

	if (!extent->dev) {
		page = extent->pages[index];
		return page ? PFN_PHYS(page_to_pfn(page)) : 0;
	}
	offset = extent->chunk->offset + ((u64)index << PAGE_SHIFT);
	if (extent->dev == dev)
		return HMMRT_PTE_DEVICE | offset;
	if (hmmrt_device_is_coherent(extent->dev))
		return extent->dev->memory_start + offset;
	return HMMRT_PTE_PEER | FIELD_PREP(HMMRT_PTE_PEER_ID, extent->dev->id) |
	       offset;
}

/* --- attempts ------------------------------------------------------------- */

/*
 * Put a migratable extent where the device can use it: on the device if policy
 * says so and there is memory, else where it is, or in system memory. Returns
 * an error, or -EAGAIN with a step.
 */
static int extent_settle(struct hmmrt_request *req, struct hmmrt_extent *extent)
{
	struct hmmrt_device *dev = req->binding->dev;
	int rc;

	if (extent->dev == dev)
		return 0;
	if (hmmrt_object_may_migrate(req)) {
		rc = hmmrt_extent_to_device(req, extent);
		if (!rc || rc == -EAGAIN || rc == -EINTR)
			return rc;
	}
	if (!extent->dev && !extent->pages)
		return hmmrt_extent_fill_host(extent);
	if (extent_is_reachable(extent, dev))
		return 0;
	rc = hmmrt_extent_to_host(extent, false);
	/* Its device cannot read it, as with a page that is moved back. */
	if (rc == -EIO)
		return -EFAULT;
	return min(rc, 0);
}

/* Returns true if all that must be mapped has an entry. */
static bool window_satisfies(const struct hmmrt_request *req)
{
	unsigned int i, n = hmmrt_window_pages(&req->window);

	if (!req->access)
		return true;
	for (i = 0; req->args.whole && i < n; i++)
		if (!req->ptes[i])
			return false;
	return req->ptes[hmmrt_request_index(req)];
}

/*
 * Map the window of the locked extent as far as the device may use it at @addr.
 * The extent has memory, which the device reaches.
 */
static int extent_map(struct hmmrt_request *req,
		      const struct hmmrt_extent *extent, unsigned long addr,
		      unsigned int access)
{
	unsigned int i, n, index;
	unsigned long seq;
	int rc;

	lockdep_assert_held(&extent->lock);
	/* Before the access: see the top of this file. */
	seq = hmmrt_block_read_begin(req->window.block, NULL);
	rc = window_check_access(req, addr, access);
	if (rc)
		return rc;
	/* The window may have shrunk. */
	index = window_shrink(&req->window, addr);
	n = hmmrt_window_pages(&req->window);
	for (i = 0; i < n; i++) {
		hmmrt_pte_t target =
			pte_target(extent, req->binding->dev, index + i);

		req->ptes[i] = target ? req->permits | target : 0;
	}
	return hmmrt_window_commit(req, seq, NULL);
}

/* Serve the page at @addr, with the extent locked. */
static int extent_serve(struct hmmrt_request *req, struct hmmrt_extent *extent,
			unsigned long addr)
{
	int rc = 0;

	if (req->access && hmmrt_object_is_migratable(extent->object))
		rc = extent_settle(req, extent);
	if (rc)
		return rc;
	if (!extent_is_reachable(extent, req->binding->dev))
		return -EOPNOTSUPP;
	rc = extent_map(req, extent, addr, req->access);
	return rc || window_satisfies(req) ? rc : -EFAULT;
}

/**
 * hmmrt_object_attempt() - one attempt to serve a mapping of a memory object
 * @req: its window is what to map at most; with access, page
 * @object: of the vma
 *
 * Context: mmap_lock held for reading, and no other lock.
 * Return: 0; -EAGAIN, as hmmrt_window_map(); -EACCES; -EFAULT: the touched page
 * is lost; -EOPNOTSUPP: out of reach; -EINTR.
 */
int hmmrt_object_attempt(struct hmmrt_request *req, struct hmmrt_object *object)
{
	unsigned long addr = req->access ? req->addr : req->window.start;
	struct hmmrt_extent *extent;
	int rc;

	hmmrt_request_check(req);
	/* Nothing moves for a device that may not use it. */
	rc = window_check_access(req, addr, req->access);
	if (rc)
		return rc;
	extent = window_extent(&req->window, object, addr);
	if (IS_ERR(extent))
		return PTR_ERR(extent);
	if (mutex_lock_killable(&extent->lock))
		return -EINTR;
	rc = extent_serve(req, extent, addr);
	mutex_unlock(&extent->lock);
	return rc;
}

/* --- moving on request ---------------------------------------------------- */

/* The window has this outcome. */
static void window_outcome(struct hmmrt_request *req, u8 outcome)
{
	unsigned int n = hmmrt_window_pages(&req->window);

	hmmrt_outcome_set(req, req->window.start, n, outcome);
	if (outcome == HMMRT_OUTCOME_THERE)
		req->result.there = n;
}

/* What to say of an extent that could not move. */
static u8 stay_outcome(const struct hmmrt_request_memory *memory, int rc)
{
	return HMMRT_OUTCOME_STAYED(rc == -ENOMEM ?
					    hmmrt_memory_stay_reason(memory) :
					    HMMRT_STAY_BUSY);
}

/* Move an extent to the device of the request. Returns an error, or 0. */
static int extent_to_device(struct hmmrt_request *req,
			    struct hmmrt_extent *extent)
{
	int rc;

	if (extent->dev == req->binding->dev) {
		window_outcome(req, HMMRT_OUTCOME_THERE);
		return 0;
	}
	/* No one has used it: the part that is hot is in another extent. */
	if (req->args.cause == HMMRT_CAUSE_ACCESS_COUNTER && !extent->dev &&
	    !extent->pages)
		return 0;
	/* Drivers only; no process sees an outcome of it. */
	if (extent->dev && req->args.no_peers)
		return 0;
	if (!hmmrt_object_is_migratable(extent->object)) {
		window_outcome(req, HMMRT_OUTCOME_STAYED(HMMRT_STAY_PINNED));
		return 0;
	}
	if (hmmrt_request_prefetched(&req->policy) == HMMRT_POLICY_STAY) {
		window_outcome(req, HMMRT_OUTCOME_STAYED(HMMRT_STAY_POLICY));
		return 0;
	}
	rc = hmmrt_extent_to_device(req, extent);
	if (rc == -EAGAIN || rc == -EINTR)
		return rc;
	window_outcome(req, rc ? stay_outcome(&req->memory, rc) :
				 HMMRT_OUTCOME_MOVED);
	return 0;
}

/* The request wants an entry for the extent where it is, as in may_map(). */
static bool extent_is_wanted(const struct hmmrt_request *req,
			     const struct hmmrt_extent *extent)
{
	if (!req->args.device_only || extent->dev == req->binding->dev)
		return true;
	return req->args.no_peers && extent->dev &&
	       !hmmrt_device_is_coherent(extent->dev);
}

/**
 * hmmrt_object_to_device() - one attempt to move a window and to map it
 * @req: its window is what to move at most, from its start on
 * @object: of the vma
 *
 * The whole extent moves. It is mapped if the device has access, best effort.
 * Context: mmap_lock held for reading, and no other lock.
 * Return: 0, whatever moved: req->outcomes says it; -EAGAIN, perhaps with a
 * step; -EINTR.
 */
int hmmrt_object_to_device(struct hmmrt_request *req,
			   struct hmmrt_object *object)
{
	unsigned long addr = req->window.start;
	struct hmmrt_extent *extent;
	bool may_map;
	int rc;

	lockdep_assert_held(&req->window.vma->vm_mm->mmap_lock);
	may_map = !window_check_access(req, addr, 0);
	extent = window_extent(&req->window, object, addr);
	if (IS_ERR(extent)) {
		window_outcome(req, HMMRT_OUTCOME_STAYED(HMMRT_STAY_NO_MEMORY));
		return 0;
	}
	if (mutex_lock_killable(&extent->lock))
		return -EINTR;
	rc = extent_to_device(req, extent);
	if (!rc && may_map && (extent->dev || extent->pages) &&
	    extent_is_wanted(req, extent) && extent_is_reachable(extent, req->binding->dev))
		rc = extent_map(req, extent, addr, 0);
	mutex_unlock(&extent->lock);
	/* The access may have been taken away since. */
	return rc == -EACCES ? 0 : rc;
}

/* An extent that is on no device, or not on the only one that counts. */
static bool extent_is_home(const struct hmmrt_binding *binding,
			   const struct hmmrt_extent *extent)
{
	return !extent->dev || (binding && extent->dev != binding->dev);
}

static int extent_to_host(struct hmmrt_request *req, struct hmmrt_extent *extent)
{
	u32 from;
	int rc;

	if (extent_is_home(req->binding, extent)) {
		window_outcome(req, HMMRT_OUTCOME_THERE);
		return 0;
	}
	if (!hmmrt_object_is_migratable(extent->object)) {
		window_outcome(req, HMMRT_OUTCOME_STAYED(HMMRT_STAY_PINNED));
		return 0;
	}
	from = extent->dev->id;
	rc = hmmrt_extent_to_host(extent, false);
	if (rc == -EINTR)
		return rc;
	if (!rc) {
		req->result.moved += HMMRT_CHUNK_PAGES;
		hmmrt_event(&req->window.block->span->space->events,
			    .type = HMMRT_EVENT_MIGRATION,
			    .cause = req->args.cause, .addr = req->window.start,
			    .pages = HMMRT_CHUNK_PAGES, .from = from,
			    .to = HMMRT_LOCATION_HOST);
	}
	if (rc == -ENOMEM)
		window_outcome(req, HMMRT_OUTCOME_STAYED(HMMRT_STAY_NO_MEMORY));
	else
		window_outcome(req, rc ? HMMRT_OUTCOME_STAYED(HMMRT_STAY_BUSY) :
					 HMMRT_OUTCOME_MOVED);
	return 0;
}

/**
 * hmmrt_object_to_host() - move a window to system memory
 * @req: as for hmmrt_object_to_device(). With a binding, only what is on its
 *	device moves
 * @object: of the vma
 *
 * Context: mmap_lock held for reading, and no other lock.
 * Return: 0, whatever moved: req->outcomes says it; -EINTR.
 */
int hmmrt_object_to_host(struct hmmrt_request *req, struct hmmrt_object *object)
{
	struct hmmrt_window *window = &req->window;
	struct hmmrt_extent *extent;
	unsigned int index;
	int rc;

	lockdep_assert_held(&window->vma->vm_mm->mmap_lock);
	window_shrink(window, window->start);
	extent = hmmrt_object_find(object,
				   hmmrt_vma_pgoff(window->vma, window->start),
				   &index);
	if (!extent) {
		window_outcome(req, HMMRT_OUTCOME_THERE);
		return 0;
	}
	if (mutex_lock_killable(&extent->lock))
		return -EINTR;
	rc = extent_to_host(req, extent);
	mutex_unlock(&extent->lock);
	return rc;
}

/* --- before the device faults --------------------------------------------- */

/* One attempt at what is mapped at @start, if that is a pinned object. */
static int map_once(struct hmmrt_request *req, unsigned long start,
		    unsigned long end)
{
	struct mm_struct *mm = req->binding->space->mm;
	struct hmmrt_object *object;
	int rc;

	if (!hmmrt_mmap_read_lock_until(mm, jiffies + MAP_LOCK_WAIT))
		return -EINTR;
	rc = hmmrt_window_lookup(&req->window, mm, start, end);
	object = rc ? NULL : hmmrt_vma_object(req->window.vma);
	if (object && !hmmrt_object_is_migratable(object))
		rc = hmmrt_object_attempt(req, object);
	mmap_read_unlock(mm);
	return rc;
}

/* Map [start, end) of one block, as far as possible. */
static int map_block(struct hmmrt_binding *binding, unsigned long start,
		     unsigned long end)
{
	static const struct hmmrt_request_args args = {
		.node = NUMA_NO_NODE,
		.map = true,
	};
	struct hmmrt_retry_limit limit = {
		.deadline = jiffies + HMMRT_SERVE_TIMEOUT,
		.until_killed = true,
	};
	struct hmmrt_request *req;
	int rc = 0;

	req = hmmrt_request_open(binding->space, binding, start, &args);
	if (IS_ERR(req))
		return PTR_ERR(req);
	while (!rc && start < end) {
		do {
			rc = map_once(req, start, end);
		} while (hmmrt_request_prepare_retry(req, &limit, &rc));
		start = req->window.end;
	}
	hmmrt_request_close(req);
	return rc;
}

/*
 * The first address from @start on that a pinned object has, or @end. Blocks and
 * tables are made for these only.
 */
static unsigned long next_pinned(struct mm_struct *mm, unsigned long start,
				 unsigned long end)
{
	struct hmmrt_object *object;
	struct vm_area_struct *vma;

	if (!hmmrt_mmap_read_lock_until(mm, jiffies + MAP_LOCK_WAIT))
		return end;
	while (start < end) {
		vma = find_vma(mm, start);
		if (!vma || vma->vm_start >= end) {
			start = end;
			break;
		}
		start = max(start, vma->vm_start);
		object = hmmrt_vma_object(vma);
		if (object && !hmmrt_object_is_migratable(object))
			break;
		start = vma->vm_end;
	}
	mmap_read_unlock(mm);
	return min(start, end);
}

/**
 * hmmrt_object_map_ahead() - map pinned memory objects for a device
 * @binding: of the device
 * @start: first address
 * @end: end address, exclusive
 *
 * Best effort. Context: may sleep; no lock is held. The mm is alive.
 */
void hmmrt_object_map_ahead(struct hmmrt_binding *binding, unsigned long start,
			    unsigned long end)
{
	while (!READ_ONCE(binding->going) && !fatal_signal_pending(current)) {
		unsigned long next;

		start = next_pinned(binding->space->mm, start, end);
		if (start >= end)
			return;
		next = hmmrt_block_end(start, end);
		if (map_block(binding, start, next))
			return;
		start = next;
		cond_resched();
	}
}

/**
 * hmmrt_object_can_reach() - whether a device may get access to a mapping
 * @vma: mapping of a memory object
 * @dev: the device
 * @start: first address
 * @end: end address, exclusive
 *
 * Context: mmap_lock held.
 * Return: 0; -EOPNOTSUPP: pinned memory is out of its reach; -EINTR.
 */
int hmmrt_object_can_reach(const struct vm_area_struct *vma,
			   const struct hmmrt_device *dev, unsigned long start,
			   unsigned long end)
{
	struct hmmrt_object *object = hmmrt_vma_object(vma);
	pgoff_t pgoff = hmmrt_vma_pgoff(vma, start);
	pgoff_t last = pgoff + ((end - start) >> PAGE_SHIFT) - 1;
	bool reachable = true;
	unsigned int index;

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (hmmrt_object_is_migratable(object))
		return 0;
	pgoff = round_down(pgoff, HMMRT_CHUNK_PAGES);
	for (; reachable && pgoff <= last; pgoff += HMMRT_CHUNK_PAGES) {
		struct hmmrt_extent *extent =
			hmmrt_object_find(object, pgoff, &index);

		if (WARN_ON_ONCE(!extent))
			return -EFAULT;
		if (mutex_lock_killable(&extent->lock))
			return -EINTR;
		reachable = extent_is_reachable(extent, dev);
		mutex_unlock(&extent->lock);
		/* The lock was free, so it did not see a signal. */
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return reachable ? 0 : -EOPNOTSUPP;
}
