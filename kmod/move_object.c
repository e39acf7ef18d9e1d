// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moving extents of memory objects between devices and system memory, whole,
 * with extent->lock held, and serving CPU faults on them.
 *
 * Moving     extent_unmap() removes all page table entries of the extent, of
 *            the CPU and, through the notifiers, of all devices. None can be
 *            made while the lock is held, so the memory is quiet: it is copied,
 *            and the extent is at its new place when the lock is released.
 *            Faults that wait for the lock find it there.
 * Failing    If the copy fails, the extent stays where it is and is mapped
 *            there again by faults. When a device goes, a page that it cannot
 *            read is lost: a CPU access gets SIGBUS, a device fault -EFAULT.
 * Limits     A CPU fault that gets no system memory lets the mmap_lock go, tries
 *            for a while and is repeated once, which raises SIGBUS. Memory that
 *            was never used is likely refused because of a limit, which lasts.
 *            Memory that is on a device is charged already, so it is the machine
 *            that is short of it. The OOM killer is no help: memory of objects
 *            is in no RSS, so it would kill others, one after the other.
 * Memory     Chunks are made available with no lock held: for a new pinned
 *            object before others see it, for faults and prefetches between two
 *            attempts, see move_alloc.c.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "move.h"

/* Calls in which an extent cannot be read before pages of it are lost. */
#define LAST_TRIES	3
/* Times in a row that everything evictable may be busy, each HZ / 50. */
#define BUSY_TRIES	25
/* So long CPU faults try to get system memory: for the first time, or again. */
#define FIRST_WAIT	HZ
#define AGAIN_WAIT	(5 * HZ)
/* CPU faults map so many pages around their address. */
#define FAULT_AROUND	16u

/* --- moving --------------------------------------------------------------- */

/* Remove all entries of the extent, of the CPU and of devices. */
static void extent_unmap(struct hmmrt_extent *extent)
{
	lockdep_assert_held(&extent->lock);
	unmap_mapping_range(extent->object->inode->i_mapping,
			    hmmrt_extent_offset(extent), HMMRT_CHUNK_SIZE, 1);
}

/*
 * Copy a chunk to pages. With @lose, pages that cannot be read are freed and
 * become NULL. Returns how many these are, or -EIO.
 */
static int chunk_copy_out(struct hmmrt_device *dev,
			  const struct hmmrt_chunk *chunk, struct page **pages,
			  bool lose)
{
	unsigned int i, lost = 0;

	if (!hmmrt_copy_to_host(dev, pages, chunk->offset,
				HMMRT_CHUNK_PAGES))
		return 0;
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++) {
		u64 offset = chunk->offset + ((u64)i << PAGE_SHIFT);

		if (!hmmrt_copy_to_host(dev, &pages[i], offset, 1))
			continue;
		pr_err_ratelimited("%s: device memory at %#llx could not be read\n",
				   dev->name, offset);
		if (!lose)
			return -EIO;
		put_page(pages[i]);
		pages[i] = NULL;
		lost++;
	}
	return lost;
}

/**
 * hmmrt_extent_to_host() - move an extent that is on a device
 * @extent: locked
 * @lose: the device goes: lose what cannot be read in several such calls
 *
 * Context: may sleep; the mmap_lock may be held.
 * Return: how many pages are lost; or -ENOMEM, -EINTR or -EIO, and nothing
 * moved.
 */
int hmmrt_extent_to_host(struct hmmrt_extent *extent, bool lose)
{
	struct hmmrt_device *dev = extent->dev;
	struct page **pages;
	int rc;

	lockdep_assert_held(&extent->lock);
	pages = hmmrt_extent_alloc_pages(extent, false, false);
	if (IS_ERR(pages) && lose)
		pages = hmmrt_extent_alloc_pages(extent, false, true);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	extent_unmap(extent);
	rc = chunk_copy_out(dev, extent->chunk, pages,
			    lose && extent->failures >= LAST_TRIES - 1);
	if (rc < 0) {
		if (lose)
			extent->failures++;
		hmmrt_extent_free_pages(pages);
		return rc;
	}
	hmmrt_extent_leave_chunk(extent, pages);
	extent->lost = rc;
	return rc;
}

/* Give an extent, which is locked and has no memory yet, system memory. */
int hmmrt_extent_fill_host(struct hmmrt_extent *extent)
{
	struct page **pages = hmmrt_extent_alloc_pages(extent, true, false);

	lockdep_assert_held(&extent->lock);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	hmmrt_extent_set_pages(extent, pages);
	return 0;
}

/* NULL for each page of a chunk: copy_to_device() fills it with zeroes. */
static struct page *no_pages[HMMRT_CHUNK_PAGES];

/* Copy the contents of an extent to a chunk, directly if it can be done. */
static int chunk_copy_in(struct hmmrt_device *dev,
			 const struct hmmrt_chunk *chunk,
			 struct hmmrt_extent *extent)
{
	struct hmmrt_device *from = extent->dev;
	int rc = 0;

	if (from && hmmrt_peer_possible(dev, from) &&
	    dev->ops->copy_from_peer &&
	    !hmmrt_copy_from_peer(dev, chunk->offset, from,
				  extent->chunk->offset, HMMRT_CHUNK_PAGES))
		return 0;
	if (from)
		rc = hmmrt_extent_to_host(extent, false);
	if (rc)
		return rc;
	return hmmrt_copy_to_device(dev, chunk->offset,
				    extent->pages ? extent->pages : no_pages,
				    HMMRT_CHUNK_PAGES);
}

/**
 * hmmrt_extent_to_device() - move an extent to the device of a request
 * @req: its block is invalidated if the extent moves
 * @extent: locked, of a migratable object, and not on that device
 *
 * Context: may sleep; the mmap_lock may be held.
 * Return: 0: it moved; -EAGAIN with a step that makes memory available;
 * -ENOMEM: there is none; or the error of a copy, or -EINTR.
 */
int hmmrt_extent_to_device(struct hmmrt_request *req,
			   struct hmmrt_extent *extent)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct hmmrt_chunk *chunk;
	u32 from;
	int rc;

	lockdep_assert_held(&extent->lock);
	VM_WARN_ON_ONCE(extent->dev == dev ||
			!hmmrt_object_is_migratable(extent->object));
	/* A lost page would come back as zeroes. */
	if (extent->lost)
		return -EIO;
	rc = hmmrt_request_take_chunk(req, extent, &chunk);
	if (rc)
		return rc;
	if (!chunk)
		return -ENOMEM;
	/* The copy may go through system memory. */
	from = extent->dev ? extent->dev->id : HMMRT_LOCATION_HOST;
	rc = hmmrt_extent_charge(extent);
	if (!rc) {
		extent_unmap(extent);
		rc = chunk_copy_in(dev, chunk, extent);
	}
	if (rc) {
		if (!extent->dev && !extent->pages)
			hmmrt_extent_uncharge(extent, dev, chunk);
		hmmrt_vram_put_chunk(dev, chunk);
		return rc;
	}
	hmmrt_extent_clear(extent);
	hmmrt_extent_set_chunk(extent, dev, chunk);
	req->result.moved += HMMRT_CHUNK_PAGES;
	hmmrt_event(&req->binding->space->events, .type = HMMRT_EVENT_MIGRATION,
		    .cause = req->args.cause, .addr = req->window.start,
		    .pages = HMMRT_CHUNK_PAGES, .from = from, .to = dev->id);
	return 0;
}

/* --- for devices that need memory, or go ---------------------------------- */

/**
 * hmmrt_evict_extent() - move the extent in a chunk to system memory
 * @dev: device of the chunk
 * @chunk: the chunk
 * @lose: the device goes: pinned extents move too, and what cannot be read in
 *	several calls is lost
 *
 * Best effort: without @lose an extent that another thread uses stays, so that
 * the caller can choose another one. Context: sleeps, no hmmrt lock is held.
 * Return: the number of lost pages, or an error of hmmrt_extent_to_host().
 */
int hmmrt_evict_extent(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
		       bool lose)
{
	struct hmmrt_extent *extent = hmmrt_chunk_extent_get(dev, chunk);
	bool locked = false;
	int rc = 0;

	might_sleep();
	if (!extent)
		return 0;
	if (lose) {
		mutex_lock(&extent->lock);
		locked = true;
	} else if (hmmrt_object_is_migratable(extent->object)) {
		locked = mutex_trylock(&extent->lock);
	}
	/* Another thread may have moved it. */
	if (locked && extent->chunk == chunk)
		rc = hmmrt_extent_to_host(extent, lose);
	if (locked)
		mutex_unlock(&extent->lock);
	hmmrt_object_put(extent->object);
	return rc;
}

/* Remove all entries of the extent in a chunk, if there is one. */
void hmmrt_extent_cut(struct hmmrt_device *dev, const struct hmmrt_chunk *chunk)
{
	struct hmmrt_extent *extent = hmmrt_chunk_extent_get(dev, chunk);

	if (!extent)
		return;
	mutex_lock(&extent->lock);
	if (extent->chunk == chunk)
		extent_unmap(extent);
	mutex_unlock(&extent->lock);
	hmmrt_object_put(extent->object);
}

/* --- device memory for a new object --------------------------------------- */

/* What was tried to get one chunk. */
struct room {
	struct hmmrt_account *account;
	struct hmmrt_eviction *evict;
	struct hmmrt_chunk *reserved;
	unsigned int regions_seen;
	unsigned int busy;		/* in a row */
	unsigned int evictions;
	bool no_grow;
};

/*
 * Evict a chunk, or as much of it as may be evicted. The number of evictions is
 * bounded: while other processes fill what this one empties, it must end.
 */
static int room_evict(struct room *room, struct hmmrt_account *within)
{
	struct hmmrt_device *dev = room->account->dev;
	const struct hmmrt_claim claim = {
		.asker = room->account,
		.within = within,
		.before = U64_MAX,
	};
	struct hmmrt_chunk *chunk;

	if (!hmmrt_may_oversubscribe(dev) ||
	    room->evictions++ > 2 * (dev->vram.size >> HMMRT_CHUNK_SHIFT))
		return -ENOMEM;
	if (!room->evict) {
		room->evict = hmmrt_eviction_alloc();
		hmmrt_age(dev);
	}
	if (!room->evict)
		return -ENOMEM;
	chunk = hmmrt_evict_one(dev, &claim, room->evict, NULL);
	if (PTR_ERR_OR_ZERO(chunk) == -ENOENT)
		return -ENOMEM;
	if (IS_ERR(chunk)) {
		if (room->busy++ >= BUSY_TRIES)
			return -ENOMEM;
		/* Others may evict something in the meantime. */
		schedule_timeout_killable(HZ / 50);
		return 0;
	}
	room->busy = 0;
	room->reserved = chunk;
	return 0;
}

static int room_evict_quota(struct room *room)
{
	struct hmmrt_account *full;
	int rc;

	full = hmmrt_account_get_full(room->account, HMMRT_CHUNK_PAGES);
	if (IS_ERR(full))
		return -ENOMEM;
	if (!full)
		return 0;
	rc = room_evict(room, full);
	hmmrt_account_put(full);
	return rc;
}

/* Returns 0 if there may be a chunk now. */
static int room_make(struct room *room, enum hmmrt_shortfall shortfall)
{
	struct hmmrt_device *dev = room->account->dev;

	if (fatal_signal_pending(current))
		return -EINTR;
	/* hmmrt_device_unregister() waits for this call. */
	if (READ_ONCE(dev->going))
		return -ENODEV;
	switch (shortfall) {
	case HMMRT_SHORTFALL_QUOTA:
		return room_evict_quota(room);
	case HMMRT_SHORTFALL_MEMORY:
		if (hmmrt_vram_is_trimming(dev)) {
			hmmrt_vram_wait_trimmed(dev);
			return 0;
		}
		if (!room->no_grow &&
		    room->regions_seen < dev->vram.max_regions) {
			room->no_grow = hmmrt_vram_grow(dev, room->regions_seen);
			return 0;
		}
		return room_evict(room, NULL);
	default:
		return -ENOMEM;
	}
}

static struct hmmrt_chunk *room_take(struct room *room,
				     struct hmmrt_extent *extent)
{
	struct hmmrt_device *dev = room->account->dev;
	enum hmmrt_shortfall shortfall;
	struct hmmrt_chunk *chunk;
	int rc;

	while (1) {
		room->regions_seen = READ_ONCE(dev->vram.nr_regions);
		chunk = hmmrt_vram_take_chunk(room->account, extent,
					      room->reserved, &shortfall);
		if (room->reserved)
			hmmrt_vram_unreserve(dev, room->reserved);
		room->reserved = NULL;
		if (chunk)
			return chunk;
		rc = room_make(room, shortfall);
		if (rc) {
			if (shortfall == HMMRT_SHORTFALL_QUOTA)
				hmmrt_account_refused(room->account);
			return ERR_PTR(rc);
		}
		cond_resched();
	}
}

/**
 * hmmrt_extent_fill_device() - give a new extent device memory, cleared
 * @extent: of a pinned object that no other thread has seen
 * @account: the account to charge; it says which device
 *
 * Evicts for it. Context: sleeps, no lock is held.
 * Return: 0; -ENOMEM: not enough can be evicted, or the account may not have
 * it, or the device failed; -ENODEV: it is being unregistered; -EINTR.
 */
int hmmrt_extent_fill_device(struct hmmrt_extent *extent,
			     struct hmmrt_account *account)
{
	struct hmmrt_device *dev = account->dev;
	struct room room = { .account = account };
	struct hmmrt_chunk *chunk;

	might_sleep();
	VM_WARN_ON_ONCE(hmmrt_object_is_migratable(extent->object));
	chunk = room_take(&room, extent);
	kvfree(room.evict);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);
	hmmrt_evict_ahead(dev);
	if (hmmrt_copy_to_device(dev, chunk->offset, no_pages,
				 HMMRT_CHUNK_PAGES)) {
		hmmrt_vram_put_chunk(dev, chunk);
		return -ENOMEM;
	}
	mutex_lock(&extent->lock);
	hmmrt_extent_set_chunk(extent, dev, chunk);
	mutex_unlock(&extent->lock);
	return 0;
}

/* --- CPU faults ----------------------------------------------------------- */

/* The extent gets memory that the CPU can map. */
static int extent_for_cpu(struct hmmrt_extent *extent)
{
	int rc;

	lockdep_assert_held(&extent->lock);
	if (!hmmrt_object_is_migratable(extent->object))
		return 0;
	if (!extent->dev)
		return extent->pages ? 0 : hmmrt_extent_fill_host(extent);
	if (hmmrt_device_is_coherent(extent->dev))
		return 0;
	rc = hmmrt_extent_to_host(extent, false);
	return min(rc, 0);
}

/*
 * The same with the extent of a page, which is locked on success. Sets *index as
 * hmmrt_object_extent() does, and *unused if it never had memory.
 */
static struct hmmrt_extent *extent_lock_for_cpu(struct hmmrt_object *object,
						pgoff_t pgoff,
						unsigned int *index,
						bool *unused)
{
	struct hmmrt_extent *extent = hmmrt_object_extent(object, pgoff, index);
	int rc;

	*unused = true;
	if (IS_ERR(extent))
		return extent;
	if (mutex_lock_killable(&extent->lock))
		return ERR_PTR(-EINTR);
	*unused = !extent->dev;
	rc = extent_for_cpu(extent);
	if (!rc)
		return extent;
	mutex_unlock(&extent->lock);
	return ERR_PTR(rc);
}

/*
 * There was no memory: try for a while without the mmap_lock, and have the fault
 * repeated. A shortage may last for a moment only.
 */
static vm_fault_t fault_again(struct vm_fault *vmf, unsigned long wait)
{
	struct file *file = get_file(vmf->vma->vm_file);
	unsigned long deadline = jiffies + wait;
	pgoff_t pgoff = vmf->pgoff;
	unsigned int index;
	struct hmmrt_extent *extent;
	bool unused;

	hmmrt_release_fault_lock(vmf);
	while (time_before(jiffies, deadline) &&
	       !fatal_signal_pending(current)) {
		schedule_timeout_killable(HZ / 50);
		extent = extent_lock_for_cpu(file->private_data, pgoff, &index,
					     &unused);
		if (!IS_ERR(extent))
			mutex_unlock(&extent->lock);
		if (PTR_ERR_OR_ZERO(extent) != -ENOMEM)
			break;
	}
	fput(file);
	return VM_FAULT_RETRY;
}

/* There is no memory for a page that, if @unused, never had any. */
static vm_fault_t fault_without_memory(struct vm_fault *vmf, bool unused)
{
	if (vmf->flags & FAULT_FLAG_TRIED ||
	    !(vmf->flags & FAULT_FLAG_ALLOW_RETRY))
		return VM_FAULT_SIGBUS;
	/* A fault under the vma lock is retried with the mmap_lock first. */
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT || hmmrt_drop_vma_lock(vmf))
		return VM_FAULT_RETRY;
	return fault_again(vmf, unused ? FIRST_WAIT : AGAIN_WAIT);
}

/* Map pages [first, end) of the extent; page @index is at vmf->address. */
static vm_fault_t extent_map(struct vm_fault *vmf, struct hmmrt_extent *extent,
			     unsigned int index, unsigned int first,
			     unsigned int end)
{
	unsigned long addr = vmf->address & PAGE_MASK;
	vm_fault_t ret = VM_FAULT_SIGBUS, one;
	unsigned int i;

	for (i = first; i < end; i++) {
		unsigned long pfn = hmmrt_extent_cpu_pfn(extent, i);

		if (!pfn)
			continue;
		one = vmf_insert_pfn(vmf->vma,
				     addr + (((long)i - index) << PAGE_SHIFT),
				     pfn);
		if (i == index)
			ret = one;
	}
	return ret;
}

static vm_fault_t object_fault(struct vm_fault *vmf)
{
	struct hmmrt_object *object = hmmrt_vma_object(vmf->vma);
	struct vm_area_struct *vma = vmf->vma;
	unsigned int index, first, end;
	struct hmmrt_extent *extent;
	unsigned long left, right;
	vm_fault_t ret;
	bool unused;

	extent = extent_lock_for_cpu(object, vmf->pgoff, &index, &unused);
	if (PTR_ERR_OR_ZERO(extent) == -ENOMEM)
		return fault_without_memory(vmf, unused);
	/* Not NOPAGE: the kernel would repeat its access to user memory. */
	if (IS_ERR(extent))
		return VM_FAULT_SIGBUS;
	/* The neighbours lie in the extent and in the mapping. */
	left = (vmf->address - vma->vm_start) >> PAGE_SHIFT;
	right = (vma->vm_end - 1 - vmf->address) >> PAGE_SHIFT;
	first = index - min_t(unsigned long, index % FAULT_AROUND, left);
	end = min_t(unsigned long, round_down(index, FAULT_AROUND) + FAULT_AROUND,
		    index + right + 1);
	ret = extent_map(vmf, extent, index, first, end);
	mutex_unlock(&extent->lock);
	return ret;
}

/*
 * Copy a part of one page of a mapping, for a debugger. hmmrt_extent_cpu_pfn()
 * says where the page is; device memory is mapped for the copy.
 */
static int extent_access(struct hmmrt_extent *extent, unsigned int index,
			 unsigned int offset, void *buf, int len, bool write)
{
	unsigned long pfn = hmmrt_extent_cpu_pfn(extent, index);
	unsigned long failed = 0;
	void *page;

	lockdep_assert_held(&extent->lock);
	if (!pfn)
		return -EIO;
	page = memremap(PFN_PHYS(pfn), PAGE_SIZE, MEMREMAP_WB);
	if (!page)
		return -EIO;
	/* The page may have an uncorrectable error. */
	if (write)
		memcpy(page + offset, buf, len);
	else
		failed = copy_mc_to_kernel(buf, page + offset, len);
	memunmap(page);
	return failed ? -EIO : len;
}

/*
 * ptrace() and /proc/PID/mem come here, because the kernel cannot pin pages of
 * the mapping. Like an access of the CPU this allocates migratable memory, and
 * moves it to system memory. Context: mmap_lock held.
 */
static int object_access(struct vm_area_struct *vma, unsigned long addr,
			 void *buf, int len, int write)
{
	unsigned int index, offset = offset_in_page(addr);
	struct hmmrt_extent *extent;
	bool unused;
	int rc;

	lockdep_assert_held(&vma->vm_mm->mmap_lock);
	if (!(vma->vm_flags & (write ? VM_WRITE : VM_READ)))
		return -EFAULT;
	extent = extent_lock_for_cpu(hmmrt_vma_object(vma),
				     hmmrt_vma_pgoff(vma, addr), &index,
				     &unused);
	if (IS_ERR(extent))
		return -EIO;
	rc = extent_access(extent, index, offset, buf,
			   min_t(int, len, PAGE_SIZE - offset), write);
	mutex_unlock(&extent->lock);
	return rc;
}

const struct vm_operations_struct hmmrt_object_vm_ops = {
	.fault = object_fault,
	.access = object_access,
};
