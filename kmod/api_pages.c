// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queries about the memory of a process: where its pages are, which devices
 * have them mapped, and why they moved there.
 *
 * Queries only read: nothing is faulted in, nothing moves, and no state is
 * kept. A range is cut as in api_prefetch.c, and the result for each part is
 * one snapshot.
 *
 * The caller may be another process, which must neither keep the memory of an
 * exited process nor tear it down. So the mm is held for one block at a time,
 * and dropped with mmput_async(). Nothing is held while the memory of the
 * caller is written, because that may wait for a program.
 */
#include <linux/capability.h>
#include <linux/hmm.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "api.h"

#define SCAN_MAX	SZ_1G

/*
 * That KSM merged a page says what other processes have in memory. So it needs
 * the privilege that /proc/kpageflags needs.
 */
bool hmmrt_may_tell_merged(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

static u32 pfn_location(unsigned long pfn)
{
	struct hmmrt_device *dev;

	if (pfn & HMM_PFN_ERROR)
		return HMMRT_LOCATION_HOST;
	if (!(pfn & HMM_PFN_VALID))
		return HMMRT_LOCATION_NONE;
	dev = hmmrt_page_device(hmm_pfn_to_page(pfn));
	return dev ? dev->id : HMMRT_LOCATION_HOST;
}

/* A query of one entry for each page of a range. */
struct page_scan {
	struct hmmrt_space *space;
	struct hmmrt_window window;
	struct hmmrt_snapshot *snapshot; /* of the window */
	/* Fills in an entry for each page of the window, from its snapshot. */
	void (*fill)(const struct page_scan *scan, void *entries);
	size_t entry_size;
	size_t out_size;		/* of an entry of the caller, no less */
	void *entries;			/* of one block */
	size_t filled;			/* bytes of @entries */
	char __user *out;		/* for the entries of the next block */
};

/* Where page @i of the window is. */
static u32 page_location(const struct page_scan *scan, unsigned long i)
{
	struct vm_area_struct *vma = scan->window.vma;
	struct hmmrt_object *object = hmmrt_vma_object(vma);
	unsigned long addr = hmmrt_window_addr(&scan->window, i);

	if (!object)
		return pfn_location(scan->snapshot->pfns[i]);
	return hmmrt_object_location(object, hmmrt_vma_pgoff(vma, addr));
}

static void fill_locations(const struct page_scan *scan, void *entries)
{
	u32 *locations = entries;
	unsigned long i;

	for (i = 0; i < hmmrt_window_pages(&scan->window); i++)
		locations[i] = page_location(scan, i);
}

/* Fill in the devices that have an entry for a page of the block. */
static void fill_mapped(const struct hmmrt_block *block, unsigned int index,
			struct hmmrt_page *page)
{
	unsigned int id;

	lockdep_assert_held(&block->lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		const struct hmmrt_block_map *map = block->maps[id];

		if (!map || !test_bit(index, map->mapped))
			continue;
		if (hmmrt_duplicate_page(map, index))
			page->duplicates |= BIT(id);
		page->mapped_by |= BIT(id);
		if (test_bit(index, map->writable))
			page->written_by |= BIT(id);
	}
}

/*
 * Returns true if there is no clean copy of the folio. A write by the CPU
 * shows, if at all, only in page table entries, which modules cannot read. But
 * anonymous memory with no copy elsewhere is not clean, and neither is memory
 * that the CPU may write.
 */
static bool folio_is_dirty(struct folio *folio, unsigned long pfn)
{
	if (folio_test_dirty(folio))
		return true;
	return folio_test_anon(folio) && folio_test_swapbacked(folio) &&
	       (!folio_test_swapcache(folio) || (pfn & HMM_PFN_WRITE));
}

static u32 page_flags(struct vm_area_struct *vma, unsigned long pfn)
{
	struct page *page = hmm_pfn_to_page(pfn);
	struct folio *folio = page_folio(page);
	u32 flags = 0;

	if (hmm_pfn_to_map_order(pfn))
		flags |= HMMRT_PAGE_HUGE;
	/* The huge zero page can only be told by its mapping. */
	if (is_zero_page(page) ||
	    (vma_is_anonymous(vma) && !folio_test_anon(folio)))
		return flags | HMMRT_PAGE_ZEROES;
	if (folio_is_dirty(folio, pfn))
		flags |= HMMRT_PAGE_DIRTY;
	if (folio_maybe_dma_pinned(folio))
		flags |= HMMRT_PAGE_PINNED;
	if (!folio_test_anon(folio))
		flags |= HMMRT_PAGE_FILE;
	if (folio_test_ksm(folio))
		flags |= HMMRT_PAGE_MERGED;
	return flags;
}

/* Fill in the CPU's view of a page. */
static void fill_present(struct vm_area_struct *vma, unsigned long pfn,
			 struct hmmrt_page *page)
{
	page->flags |= page_flags(vma, pfn);
	if (hmmrt_page_is_private(hmm_pfn_to_page(pfn)))
		return;
	page->mapped_by |= HMMRT_BY_CPU;
	if (pfn & HMM_PFN_WRITE)
		page->written_by |= HMMRT_BY_CPU;
}

static void fill_page(const struct page_scan *scan, unsigned long i,
		      struct hmmrt_page *page)
{
	const struct hmmrt_window *window = &scan->window;
	unsigned int index = hmmrt_window_index(window, i);
	unsigned long pfn = scan->snapshot->pfns[i];
	u32 moved_to;

	*page = (struct hmmrt_page){ .location = page_location(scan, i) };
	if (window->vma->vm_flags & VM_LOCKED)
		page->flags |= HMMRT_PAGE_LOCKED;
	fill_mapped(window->block, index, page);
	moved_to = page->location;
	if (hmmrt_vma_object(window->vma)) {
		/* The page table of the CPU is not looked at. */
		page->flags |= HMMRT_PAGE_FILE;
	} else if ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR)) {
		fill_present(window->vma, pfn, page);
	} else if (page->mapped_by) {
		/*
		 * Exclusive access: the CPU has no entry, so the device may
		 * write.
		 */
		page->written_by = page->mapped_by;
		moved_to = HMMRT_LOCATION_HOST;
	}
	hmmrt_history_tell(window->block, index, moved_to, page);
}

static void fill_pages(const struct page_scan *scan, void *entries)
{
	u32 told = hmmrt_may_tell_merged() ? ~0u : ~HMMRT_PAGE_MERGED;
	struct hmmrt_page *pages = entries;
	unsigned long i;

	for (i = 0; i < hmmrt_window_pages(&scan->window); i++) {
		fill_page(scan, i, &pages[i]);
		pages[i].flags &= told;
	}
}

/*
 * Make one attempt at the window. As long as the sequence is valid, under
 * block->lock, the pages of the snapshot stay there and mapped: see
 * move_outcome.c.
 */
static int scan_once(struct page_scan *scan, unsigned long start,
		     unsigned long end)
{
	struct hmmrt_block *block = scan->window.block;
	struct mm_struct *mm = scan->space->mm;
	int rc;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	rc = hmmrt_window_lookup(&scan->window, mm, start, end);
	if (!rc)
		rc = hmmrt_snapshot(&scan->window, scan->snapshot);
	if (!rc) {
		mutex_lock(&block->lock);
		if (hmmrt_block_read_retry(block, scan->snapshot->seq))
			rc = -EAGAIN;
		else
			scan->fill(scan, scan->entries + scan->filled);
		mutex_unlock(&block->lock);
	}
	mmap_read_unlock(mm);
	return rc;
}

/*
 * Query the part of a block that one mapping covers; the window says where it
 * ended.
 */
static int scan_part(struct page_scan *scan, unsigned long start,
		     unsigned long end)
{
	int rc;

	do {
		rc = scan_once(scan, start, end);
		cond_resched();
	} while (rc == -EAGAIN && !hmmrt_interrupted());
	if (rc)
		return rc == -EAGAIN ? -EINTR : rc;
	scan->filled += hmmrt_window_pages(&scan->window) * scan->entry_size;
	return 0;
}

static int scan_block(struct page_scan *scan, unsigned long start,
		      unsigned long end)
{
	struct hmmrt_block *block;
	int rc = hmmrt_mapped_check(scan->space, 0, start, 0, false);

	if (rc)
		return rc;
	block = hmmrt_block_borrow(scan->space, start);
	if (IS_ERR(block))
		return PTR_ERR(block);
	scan->window.block = block;
	do {
		rc = scan_part(scan, start, end);
		start = scan->window.end;
	} while (!rc && start < end);
	hmmrt_block_return(block);
	return rc;
}

/* The caller's entries may be larger: what the kernel does not know is 0. */
static int scan_write(struct page_scan *scan)
{
	size_t rest = scan->out_size - scan->entry_size, at;

	if (!rest) {
		if (copy_to_user(scan->out, scan->entries, scan->filled))
			return -EFAULT;
		scan->out += scan->filled;
		return 0;
	}
	for (at = 0; at < scan->filled; at += scan->entry_size) {
		if (copy_to_user(scan->out, scan->entries + at,
				 scan->entry_size) ||
		    clear_user(scan->out + scan->entry_size, rest))
			return -EFAULT;
		scan->out += scan->out_size;
	}
	return 0;
}

/* Query a part of the range that is in one block, and write the entries. */
static int scan_and_write(struct page_scan *scan, unsigned long start,
			  unsigned long end)
{
	struct mm_struct *mm = scan->space->mm;
	int rc;

	if (!mmget_not_zero(mm))
		return -ESRCH;
	scan->filled = 0;
	rc = scan_block(scan, start, end);
	mmput_async(mm);
	return rc ? rc : scan_write(scan);
}

static int pages_scan(struct page_scan *scan, u64 addr, u64 len)
{
	unsigned long end = addr + len, next;
	int rc = hmmrt_user_range_check(addr, len);

	if (!rc && len > SCAN_MAX)
		rc = -EINVAL;
	if (rc)
		return rc;
	scan->entries =
		kvmalloc_array(HMMRT_BLOCK_PAGES, scan->entry_size, GFP_KERNEL);
	scan->snapshot = kvmalloc(sizeof(*scan->snapshot), GFP_KERNEL_ACCOUNT);
	if (!scan->entries || !scan->snapshot)
		rc = -ENOMEM;
	for (; !rc && addr < end; addr = next) {
		next = hmmrt_block_end(addr, end);
		rc = scan_and_write(scan, addr, next);
	}
	kvfree(scan->snapshot);
	kvfree(scan->entries);
	return rc;
}

int hmmrt_ioc_residency(struct hmmrt_space *space, void *data)
{
	struct hmmrt_residency *arg = data;
	struct page_scan locations = {
		.space = space,
		.fill = fill_locations,
		.entry_size = sizeof(u32),
		.out_size = sizeof(u32),
		.out = u64_to_user_ptr(arg->locations),
	};

	return pages_scan(&locations, arg->addr, arg->len);
}

int hmmrt_ioc_pages(struct hmmrt_space *space, void *data)
{
	struct hmmrt_pages *arg = data;
	struct page_scan pages = {
		.space = space,
		.fill = fill_pages,
		.entry_size = sizeof(struct hmmrt_page),
		.out_size = arg->page_bytes,
		.out = u64_to_user_ptr(arg->pages),
	};

	if (arg->__reserved)
		return -EOPNOTSUPP;
	/* This is the first version of the entry. */
	if (arg->page_bytes < sizeof(struct hmmrt_page) ||
	    arg->page_bytes > PAGE_SIZE)
		return -EINVAL;
	return pages_scan(&pages, arg->addr, arg->len);
}
