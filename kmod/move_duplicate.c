// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read duplication: a device gets its own duplicate of a read-mostly page,
 * while the CPU and other devices keep reading the page itself, which stays
 * where it is.
 *
 * A duplicate is valid only while the page is not written, so hmmrt must learn
 * of a write before it happens. Once a page of private anonymous memory is
 * writable, the CPU writes it without notifying anything. But the core also has
 * pages that a process must not write in place: those that fork() has left
 * shared. It notifies all notifiers before it gives the process a new page
 * instead. So hmmrt puts a page that is to be duplicated into that state:
 *
 * Shared     migrate_vma_setup() removes the page from all page tables and
 *            checks that nothing else holds it. The migration entry that it
 *            leaves is changed into that of a shared page, as fork() does with
 *            migration entries. Then the migration is cancelled: the page is
 *            mapped again, read-only and not exclusive to this process. The
 *            page is locked only during this step, and nothing waits in it,
 *            because invalidations may be waiting for the page lock. A huge
 *            page that is duplicated whole is isolated as one and stays huge,
 *            if the kernel supports that.
 * Held       With a reference held by hmmrt the page has two users, so a write
 *            goes to a new page (wp_page_copy()): the core checks the
 *            references to the page, not only its mappings. A write to a huge
 *            page first splits the entry, which invalidates all of it. A pin of
 *            the page itself (FOLL_PIN) gets a new page in the same way.
 * Copied     The page is copied once a snapshot shows it mapped like that, or
 *            if another device has a duplicate of it. It is not written between
 *            that check and the next invalidation of its address.
 * Collapsed  Any invalidation, for whatever reason, ends the duplicate. The
 *            notifier removes the device's entry, then what the device has
 *            cached of it, then the duplicate and hmmrt's reference. The core
 *            continues after that. So when the page has a single user again, no
 *            duplicate is left.
 *
 * move_selftest.c checks with a single page, when the module is loaded, that
 * the kernel behaves like this. If it does not, no duplicates are made.
 *
 * Other code sees a page in system memory that fork() had shared and that has
 * an extra reference. Code that unmaps a page before it moves it triggers the
 * notifier, which drops the reference. Compaction checks references before it
 * unmaps, and skips the page. So pages that must stay movable (ZONE_MOVABLE)
 * are not duplicated.
 *
 * Locking    A duplicate is made with block->migrate held. The device gets it
 *            only if no invalidation has arrived since. space_duplicate.c has
 *            what protects the duplicates that there are.
 */
#include <linux/bitmap.h>
#include <linux/hmm.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/swapops.h>

#include "move.h"
#include "space_check.h"

static bool block_has_duplicates(struct hmmrt_block *block)
{
	bool found = false;
	u32 id;

	mutex_lock(&block->lock);
	for (id = 0; id < HMMRT_MAX_DEVICES && !found; id++) {
		const struct hmmrt_block_map *map = block->maps[id];

		found = map && map->duplicates &&
			memchr_inv(map->duplicates, 0,
				   sizeof(*map->duplicates));
	}
	mutex_unlock(&block->lock);
	return found;
}

/**
 * hmmrt_duplicates_let_split() - drop a huge page's duplicates before a split
 * @block: of the page
 * @order: that the CPU has the pages mapped with, by a snapshot
 * @count: number of pages that migrate_vma_setup() will isolate
 *
 * The core cannot split a huge page if one of its pages has an extra reference,
 * as pages with duplicates have. The invalidation by migrate_vma_setup() ends
 * only the duplicates of the pages that it isolates, so this ends those of the
 * whole block.
 * Context: block->migrate held.
 * Return: whether there were duplicates.
 */
bool hmmrt_duplicates_let_split(struct hmmrt_block *block, unsigned int order,
				unsigned int count)
{
	lockdep_assert_held(&block->migrate);
	if (count == HMMRT_BLOCK_PAGES ||
	    order < HMMRT_BLOCK_SHIFT - PAGE_SHIFT ||
	    !block_has_duplicates(block))
		return false;
	hmmrt_span_revoke(block->span->space, block->start,
			  block->start + HMMRT_BLOCK_SIZE);
	return true;
}

/* --- making --------------------------------------------------------------- */

/*
 * A run of pages to be copied together. Either all of them are shared already,
 * because other devices have duplicates of them, or none is.
 */
struct run {
	unsigned int first;		/* by index in the window */
	unsigned int count;
	bool shared;
	struct page **from; /* its shared pages, with a reference, or NULL */
	struct page **to; /* device memory for their duplicates */
};

static unsigned long run_start(const struct hmmrt_window *window,
			       const struct run *run)
{
	return hmmrt_window_addr(window, run->first);
}

static unsigned long run_end(const struct hmmrt_window *window,
			     const struct run *run)
{
	return hmmrt_window_addr(window, run->first + run->count);
}

static bool can_share(struct page *page)
{
	struct folio *folio = page_folio(page);

	if (is_zero_page(page) || is_zone_device_page(page))
		return false;
	return folio_test_anon(folio) && !folio_test_ksm(folio) &&
	       !folio_test_hugetlb(folio);
}

static bool page_suits(struct page *page)
{
	return can_share(page) && !is_zone_movable_page(page);
}

/*
 * Record which pages are wanted and which of them are shared already, according
 * to the snapshot. Returns the number of pages from the first one wanted to the
 * last.
 */
static unsigned int mark_wanted(struct hmmrt_request *req, unsigned int *first)
{
	struct hmmrt_duplicate_arrays *arrays = &req->duplicate;
	const struct hmmrt_window *window = &req->window;
	const struct hmmrt_device *dev = req->binding->dev;
	unsigned int i, n = hmmrt_window_pages(window), end = 0;
	struct hmmrt_region_cache cache = {};

	*first = n;
	req->result.there = 0;
	bitmap_zero(req->memory.wanted, HMMRT_BLOCK_PAGES);
	bitmap_zero(arrays->shared, HMMRT_BLOCK_PAGES);
	mutex_lock(&window->block->lock);
	for (i = 0; i < n; i++) {
		unsigned int index = hmmrt_window_index(window, i);
		unsigned long pfn = req->snapshot.pfns[i];
		struct page *page = NULL;
		bool shared;

		if ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR))
			page = hmm_pfn_to_page(pfn);
		if (hmmrt_has_duplicate(window->block, dev->id, index) ||
		    (page && hmmrt_region_cache_device(&cache, page) == dev)) {
			hmmrt_outcome_set(req, hmmrt_window_addr(window, i), 1,
					  HMMRT_OUTCOME_THERE);
			req->result.there++;
			continue;
		}
		if (!page || !page_suits(page))
			continue;
		/*
		 * This device has no duplicate, so any that exist are on
		 * others.
		 */
		shared = hmmrt_duplicates_of(window->block, index);
		/* A present entry must be removed first, not replaced. */
		if (shared && test_bit(index, hmmrt_request_map(req)->mapped))
			continue;
		if (shared)
			__set_bit(i, arrays->shared);
		__set_bit(i, req->memory.wanted);
		arrays->order = hmm_pfn_to_map_order(pfn);
		*first = min(*first, i);
		end = i + 1;
	}
	mutex_unlock(&window->block->lock);
	return end > *first ? end - *first : 0;
}

static int duplicates_alloc(struct hmmrt_block *block,
			    struct hmmrt_block_map *map)
{
	struct hmmrt_duplicates *duplicates;

	lockdep_assert_held(&block->migrate);
	/* Set once, under block->migrate. */
	if (map->duplicates)
		return 0;
	duplicates = kvzalloc(sizeof(*duplicates), GFP_KERNEL_ACCOUNT);
	if (!duplicates)
		return -ENOMEM;
	mutex_lock(&block->lock);
	map->duplicates = duplicates;
	mutex_unlock(&block->lock);
	return 0;
}

/*
 * Turn the migration entries of isolated pages into those of shared pages.
 * from[] gets each such page, with a reference. The caller holds @lock, that of
 * the page table.
 */
static void share_entries(struct migrate_vma *args, struct page **from,
			  pte_t *ptep, spinlock_t *lock)
{
	unsigned long i, addr = args->start;

	lockdep_assert_held(lock);
	for (i = 0; i < args->npages; i++, addr += PAGE_SIZE, ptep++) {
		struct page *page = migrate_pfn_to_page(args->src[i]);
		pte_t pte = ptep_get(ptep), shared;

		if (!page || !(args->src[i] & MIGRATE_PFN_MIGRATE) ||
		    !can_share(page) ||
		    !hmmrt_pte_is_migration_entry_of(pte, page))
			continue;
		shared = hmmrt_migration_entry_shared(pte);
		if (!pte_same(pte, shared))
			set_pte_at(args->vma->vm_mm, addr, ptep, shared);
		get_page(page);
		from[i] = page;
	}
}

static void share_entries_nested(struct migrate_vma *args, struct page **from,
				 pte_t *ptep, spinlock_t *lock)
{
	spin_lock_nested(lock, SINGLE_DEPTH_NESTING);
	share_entries(args, from, ptep, lock);
	spin_unlock(lock);
}

/*
 * The same for a huge page that was isolated as one. The caller holds the PMD
 * lock.
 */
static void share_huge_entry(struct migrate_vma *args, struct page **from,
			     pmd_t *pmdp)
{
	struct page *page = migrate_pfn_to_page(args->src[0]);
	unsigned int i;

	lockdep_assert_held(pmd_lockptr(args->vma->vm_mm, pmdp));
	if (!page || !(args->src[0] & MIGRATE_PFN_MIGRATE) ||
	    !can_share(page) || !hmmrt_pmd_is_migration_entry_of(*pmdp, page))
		return;
	set_pmd_at(args->vma->vm_mm, args->start, pmdp,
		   hmmrt_migration_pmd_shared(*pmdp));
	folio_ref_add(page_folio(page), HMMRT_BLOCK_PAGES);
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		from[i] = page + i;
}

/*
 * The entries left by migrate_vma_setup() prove that there was a table, but it
 * may be gone by now. Code that frees it, or installs a huge page, takes the
 * lock of the entry above, which may be the same lock as that of the table.
 */
static void share_table(struct migrate_vma *args, struct page **from)
{
	struct mm_struct *mm = args->vma->vm_mm;
	pmd_t *pmd = hmmrt_entry_above(mm, args->start);
	spinlock_t *above, *lock;

	if (!pmd)
		return;
	above = pmd_lock(mm, pmd);
	if (hmmrt_pfn_pages(args->src[0]) > 1) {
		share_huge_entry(args, from, pmd);
	} else if (pmd_present(*pmd) && !pmd_leaf(*pmd) && !pmd_bad(*pmd)) {
		pte_t *ptep = pte_offset_kernel(pmd, args->start);

		lock = pte_lockptr(mm, pmd);
		if (lock == above)
			share_entries(args, from, ptep, lock);
		else
			share_entries_nested(args, from, ptep, lock);
	}
	spin_unlock(above);
}

static void release_page(struct page **from)
{
	if (*from)
		put_page(*from);
	*from = NULL;
}

/*
 * Copy the pages of a run that are held to the duplicates. Pages that fail are
 * released.
 */
static void copy_run(struct hmmrt_device *dev, const struct run *run)
{
	struct page **from = run->from, **to = run->to;
	unsigned int i, j, k;

	for (i = 0; i < run->count; i = j) {
		j = i + 1;
		if (!from[i])
			continue;
		while (j < run->count && from[j] && to[j] == to[i] + (j - i) &&
		       hmmrt_pages_share_chunk(to[j], to[i]))
			j++;
		if (!hmmrt_copy_to_device(dev, hmmrt_page_offset(to[i]),
					  from + i, j - i))
			continue;
		for (k = i; k < j; k++)
			release_page(&from[k]);
	}
}

/*
 * Return whether the window is still to be duplicated. The advice covered the
 * whole window, and duplicates must not outlive advice that is withdrawn. @seq
 * was read earlier, and a call that withdraws advice after that counts an
 * invalidation of the block (hmmrt_span_revoke()). So either commit_run() sees
 * the invalidation, or the call runs later and removes the duplicates. This way
 * no advice is looked up under block->lock. If a knob asked for duplication,
 * that decision stands.
 */
static bool is_duplicated(const struct hmmrt_window *window,
			  const struct hmmrt_knobs *knobs,
			  const struct run *run)
{
	struct hmmrt_space *space = window->block->span->space;
	unsigned long start = run_start(window, run);
	unsigned long end = run_end(window, run), last = end;
	struct hmmrt_advice advice;

	lockdep_assert_not_held(&window->block->lock);
	if (knobs->of[HMMRT_KNOB_READ_DUPLICATION])
		return true;
	advice = hmmrt_advice_at(space, start, &start, &end);
	return (advice.flags & HMMRT_RANGE_READ_MOSTLY) && end == last;
}

/* The entry for a page that the device has a duplicate of. */
hmmrt_pte_t hmmrt_duplicate_pte(hmmrt_pte_t permits,
				const struct page *duplicate)
{
	return (permits & ~HMMRT_PTE_WRITE) | HMMRT_PTE_DEVICE |
	       hmmrt_page_offset(duplicate);
}

/* Map the duplicates for the device, if they are still valid. */
static int commit_run(struct hmmrt_request *req, const struct run *run,
		      unsigned long seq, struct list_head *spare)
{
	const struct hmmrt_window *window = &req->window;
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_block *block = window->block;
	struct hmmrt_block_map *map = hmmrt_request_map(req);
	unsigned int base = hmmrt_window_index(window, run->first);
	hmmrt_pte_t *ptes = req->duplicate.ptes;
	unsigned int i;

	lockdep_assert_held(&block->migrate);
	/*
	 * Reclaim takes block->lock, so nothing waits for other calls under it.
	 * The advice lookup may wait, so it comes first.
	 */
	if (!is_duplicated(window, &req->policy.knobs, run))
		return -EAGAIN;
	mutex_lock(&block->lock);
	if (map->zapping || hmmrt_block_read_retry(block, seq)) {
		mutex_unlock(&block->lock);
		return -EAGAIN;
	}
	hmmrt_mapper_check(block, binding);
	for (i = 0; i < run->count; i++) {
		struct page **from = &run->from[i], **to = &run->to[i];
		struct hmmrt_duplicate *duplicate;

		ptes[i] = 0;
		/* A present entry must be removed first, not replaced. */
		if (!*from || test_bit(base + i, map->mapped))
			continue;
		VM_WARN_ON_ONCE(list_empty(spare) ||
				map->duplicates->at[base + i]);
		duplicate =
			list_first_entry(spare, struct hmmrt_duplicate, link);
		list_del(&duplicate->link);
		duplicate->original = *from;
		duplicate->page = *to;
		*from = NULL;
		*to = NULL;
		map->duplicates->at[base + i] = duplicate;
		hmmrt_vram_note_duplicate(duplicate->page, block);
		ptes[i] = hmmrt_duplicate_pte(req->permits, duplicate->page);
		__set_bit(base + i, map->local);
		__set_bit(base + i, map->mapped);
		__clear_bit(base + i, map->writable);
		hmmrt_duplicate_check(map, base + i, binding->dev);
		hmmrt_outcome_set(req, hmmrt_window_addr(window, run->first + i),
				  1, HMMRT_OUTCOME_MOVED);
		req->result.copied++;
	}
	hmmrt_map_check(block, binding->dev->id);
	binding->dev->ops->map(binding, run_start(window, run), ptes,
			       run->count);
	mutex_unlock(&block->lock);
	return 0;
}

/**
 * hmmrt_share_pages() - make pages of a process shared, and hold them
 * @args: range within one page table, and what to select; nothing is migrated
 * @from: array for all pages of the range: each page that is now shared and
 *	held, or NULL
 *
 * While such a page is held, a write by the process invalidates its address and
 * then goes to a new page: see the top of this file.
 * Context: mmap_lock held.
 * Return: 0; -ENOMEM; -EINVAL: nothing in the range can be migrated.
 */
int hmmrt_share_pages(struct migrate_vma *args, struct page **from)
{
	unsigned long npages = (args->end - args->start) >> PAGE_SHIFT;
	int rc;

	lockdep_assert_held(&args->vma->vm_mm->mmap_lock);
	memset(from, 0, npages * sizeof(*from));
	rc = migrate_vma_setup(args);
	if (rc || !args->cpages)
		return rc;
	memset(args->dst, 0, args->npages * sizeof(args->dst[0]));
	share_table(args, from);
	migrate_vma_pages(args);
	migrate_vma_finalize(args);
	return 0;
}

/* Make the pages of a run shared, and hold them. */
static int share_run(const struct hmmrt_window *window,
		     struct hmmrt_duplicate_arrays *arrays,
		     const struct run *run)
{
	struct migrate_vma args = {
		.vma = window->vma,
		.start = run_start(window, run),
		.end = run_end(window, run),
		.src = arrays->src,
		.dst = arrays->dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_SYSTEM,
	};
	int rc;

	lockdep_assert_held(&window->block->migrate);
	/* Duplicates of the rest are gone too and must be made again. */
	if (hmmrt_duplicates_let_split(window->block, arrays->order,
				       run->count))
		return -EAGAIN;
	/*
	 * A huge page stays huge if the kernel supports that and all of it is
	 * duplicated.
	 */
	if (run->count == HMMRT_BLOCK_PAGES)
		args.flags |= HMMRT_SELECT_COMPOUND;
	rc = hmmrt_share_pages(&args, run->from);
	return rc == -EINVAL ? 0 : rc;
}

/* Keep the pages that a snapshot shows mapped as shared; release the others. */
static int see_shared(const struct hmmrt_window *window,
		      struct hmmrt_duplicate_arrays *arrays,
		      const struct run *run, unsigned long *seq)
{
	struct hmm_range range = {
		.start = run_start(window, run),
		.end = run_end(window, run),
		.hmm_pfns = arrays->pfns,
		.dev_private_owner = hmmrt_pgmap_owner(),
	};
	struct page **from = run->from;
	unsigned int i;
	int rc;

	rc = hmmrt_block_snapshot(window->block, &range, seq);
	for (i = 0; i < run->count && !rc; i++) {
		unsigned long pfn = range.hmm_pfns[i];

		if (!(pfn & HMM_PFN_VALID) ||
		    (pfn & (HMM_PFN_WRITE | HMM_PFN_ERROR)) ||
		    hmm_pfn_to_page(pfn) != from[i] || !page_suits(from[i]))
			release_page(&from[i]);
	}
	return rc;
}

/*
 * Take a reference to each page known to be shared, because another device than
 * @own has a duplicate of it.
 */
static int hold_shared(const struct hmmrt_window *window, u32 own,
		       const struct run *run, unsigned long seq)
{
	struct hmmrt_block *block = window->block;
	struct page **from = run->from;
	unsigned int i, index;
	int rc = 0;
	u32 id;

	mutex_lock(&block->lock);
	if (hmmrt_block_read_retry(block, seq))
		rc = -EAGAIN;
	for (i = 0; i < run->count && !rc; i++) {
		index = hmmrt_window_index(window, run->first + i);
		for (id = 0; id < HMMRT_MAX_DEVICES && !from[i]; id++)
			if (id != own && hmmrt_has_duplicate(block, id, index))
				from[i] = block->maps[id]
						  ->duplicates->at[index]
						  ->original;
		if (from[i])
			get_page(from[i]);
	}
	mutex_unlock(&block->lock);
	return rc;
}

/*
 * Duplicate the pages of a run. Those that are still exclusive to the process
 * are shared first: see the top of this file.
 */
static int duplicate_run(struct hmmrt_request *req, const struct run *run,
			 struct list_head *spare)
{
	const struct hmmrt_window *window = &req->window;
	struct hmmrt_device *dev = req->binding->dev;
	unsigned long seq;
	unsigned int i;
	int rc;

	memset(run->from, 0, run->count * sizeof(run->from[0]));
	if (run->shared) {
		seq = hmmrt_block_read_begin(window->block, NULL);
		rc = hold_shared(window, dev->id, run, seq);
	} else {
		rc = share_run(window, &req->duplicate, run);
		if (!rc)
			rc = see_shared(window, &req->duplicate, run, &seq);
	}
	if (!rc) {
		copy_run(dev, run);
		rc = commit_run(req, run, seq, spare);
	}
	for (i = 0; i < run->count; i++)
		release_page(&run->from[i]);
	return rc;
}

static int copy_runs(struct hmmrt_request *req, unsigned int first,
		     unsigned int count, struct list_head *spare)
{
	const unsigned long *shared = req->duplicate.shared;
	struct page **pages = req->duplicate.pages;
	unsigned int i, end = first + count;
	DECLARE_BITMAP(todo, HMMRT_BLOCK_PAGES) = {};
	int rc = 0;

	for (i = first; i < end; i++)
		if (test_bit(i, req->memory.wanted) && pages[i])
			__set_bit(i, todo);
	for (i = find_next_bit(todo, end, first); i < end && !rc;) {
		struct run run = {
			.first = i,
			.shared = test_bit(i, shared),
			.from = hmmrt_snapshot_reuse(&req->snapshot),
			.to = pages + i,
		};

		while (i < end && test_bit(i, todo) &&
		       test_bit(i, shared) == run.shared)
			i++;
		run.count = i - run.first;
		rc = duplicate_run(req, &run, spare);
		i = find_next_bit(todo, end, i);
	}
	return rc;
}

static int spare_alloc(struct list_head *spare, unsigned int count)
{
	while (count--) {
		struct hmmrt_duplicate *duplicate =
			kzalloc(sizeof(*duplicate), GFP_KERNEL_ACCOUNT);

		if (!duplicate)
			return -ENOMEM;
		list_add(&duplicate->link, spare);
	}
	return 0;
}

static int duplicate_locked(struct hmmrt_request *req)
{
	struct hmmrt_window *window = &req->window;
	unsigned int i, first, count, got;
	struct page **pages = req->duplicate.pages;
	LIST_HEAD(spare);
	u8 stayed;
	int rc;

	lockdep_assert_held(&window->block->migrate);
	rc = hmmrt_snapshot_begin(window, &req->snapshot);
	if (!rc)
		rc = hmmrt_snapshot_widen(req);
	count = rc ? 0 : mark_wanted(req, &first);
	hmmrt_snapshot_end(&req->snapshot);
	if (rc || !count)
		return rc;
	rc = duplicates_alloc(window->block, hmmrt_request_map(req));
	if (!rc)
		rc = spare_alloc(&spare, count);
	if (!rc)
		rc = hmmrt_request_alloc_pages(req, first, first + count,
					       pages + first, NULL, &got);
	if (rc)
		goto out_free;
	rc = hmmrt_vram_prepare_duplicates(pages + first, count);
	if (rc)
		goto out_free_unused;
	stayed = HMMRT_OUTCOME_STAYED(hmmrt_memory_stay_reason(&req->memory));
	for (i = first; i < first + count; i++)
		if (test_bit(i, req->memory.wanted) && !pages[i])
			hmmrt_outcome_set(req, hmmrt_window_addr(window, i), 1,
					  stayed);
	rc = copy_runs(req, first, count, &spare);
out_free_unused:
	hmmrt_vram_free_unused(req->binding->dev, pages + first, count);
out_free:
	hmmrt_duplicates_free(&spare);
	/*
	 * Without bookkeeping memory the device maps the pages where they are.
	 */
	return rc == -ENOMEM ? 0 : rc;
}

/**
 * hmmrt_duplicate_window() - give a device duplicates of the pages of a window
 * @req: window within one vma; not for a write
 *
 * Best effort: a page is mapped where it is if it is not private anonymous
 * memory in system memory, or if something else holds it. If the self-test
 * failed, no page is duplicated.
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0, however many pages were copied; -EAGAIN as
 * hmmrt_migrate_to_device(); -EINTR. req->result.copied adds up over attempts;
 * req->result.there is that of this attempt. Outcomes are set as far as they
 * are known.
 */
int hmmrt_duplicate_window(struct hmmrt_request *req)
{
	u64 copied_before = req->result.copied;
	int rc;

	hmmrt_request_check(req);
	if (!hmmrt_duplicates_work())
		return 0;
	rc = hmmrt_block_migrate_lock(req->window.block);
	if (rc)
		return rc;
	rc = duplicate_locked(req);
	hmmrt_block_migrate_unlock(req->window.block);
	if (req->result.copied > copied_before)
		hmmrt_event(&req->binding->space->events,
			    .type = HMMRT_EVENT_DUPLICATE,
			    .addr = req->window.start,
			    .pages = req->result.copied - copied_before,
			    .device = req->binding->dev->id);
	return rc;
}
