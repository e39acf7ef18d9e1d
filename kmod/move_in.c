// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration of private anonymous memory to a device. kmod/move_out.c has the
 * way back; this comment applies to both.
 *
 * Everything else (files, shared memory, hugetlb, locked and special mappings)
 * stays where it is and is mapped remotely. The core refuses pages that are
 * pinned or busy; those stay too.
 *
 * Order      Destination memory is allocated before migrate_vma_setup(),
 *            because reclaim may need the pages that setup locks.
 *            block->migrate is held from setup to finalize, so that a CPU fault
 *            does not take single pages out of a run that is being migrated.
 * Merged     KSM pages do not move: the core would move a KSM page with all of
 *            its mappings, including those of other processes, or bounce it.
 * Large      A block that is one page to the CPU moves as one page if the core
 *            supports that and source and destination both have free memory for
 *            the whole page. HMMRT_SELECT_COMPOUND asks for this only after the
 *            destination is allocated. Without the flag the core splits the
 *            page before hmmrt sees it, as wanted in that case. A compound
 *            entry of src or dst stands for the whole block; the other entries
 *            are 0.
 * Callbacks  setup() and pages() invalidate the range: hmmrt's own notifier
 *            runs on this thread and takes block->lock. So the caller must not
 *            hold block->lock.
 * Result     Which pages moved is known only after migrate_vma_pages().
 *            finalize puts back the pages that did not move.
 */
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "move.h"

/* The part of the window that has to move, by its snapshot. */
struct plan {
	unsigned int first;
	unsigned int end;
	unsigned long select;		/* flags for those devices */
	bool huge;			/* all of the block, as one page */
	struct page *near;		/* a neighbour already on the device */
	bool duplicate;			/* pages in system memory stay */
};

static void note_stays(struct hmmrt_request *req, unsigned long addr,
		       unsigned int n, enum hmmrt_stay stay)
{
	hmmrt_outcome_set(req, addr, n, HMMRT_OUTCOME_STAYED(stay));
}

/* Returns true if a page has to move, by the snapshot. */
static bool plan_page(struct hmmrt_request *req, struct plan *plan,
		      struct hmmrt_region_cache *cache, unsigned int i)
{
	unsigned long addr = hmmrt_window_addr(&req->window, i);
	unsigned long pfn = req->snapshot.pfns[i];
	struct hmmrt_device *dev = NULL;
	struct page *page = NULL;

	if ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR)) {
		page = hmm_pfn_to_page(pfn);
		dev = hmmrt_region_cache_device(cache, page);
	}
	if (dev == req->binding->dev) {
		plan->near = page;
		hmmrt_outcome_set(req, addr, 1, HMMRT_OUTCOME_THERE);
		req->result.there++;
		return false;
	}
	if (dev && req->args.no_peers)
		return false;
	if (!pfn && req->args.populated)
		return false;
	/* This page is duplicated instead. */
	if (plan->duplicate && !dev && pfn)
		return false;
	if (page && folio_test_ksm(page_folio(page))) {
		note_stays(req, addr, 1, HMMRT_STAY_MERGED);
		return false;
	}
	if (dev)
		plan->select |= hmmrt_select_device(dev);
	return true;
}

/*
 * Plan from page @from on. With @duplicate the plan ends after one run of
 * pages that move: pages between two runs may have duplicates on any device,
 * and a migration takes away all duplicates in its range.
 */
static struct plan make_plan(struct hmmrt_request *req, unsigned int from)
{
	unsigned int i, n = hmmrt_window_pages(&req->window);
	struct plan plan = {
		.first = n,
		.duplicate = req->policy.want == HMMRT_POLICY_DUPLICATE,
	};
	struct hmmrt_region_cache cache = {};

	bitmap_zero(req->memory.wanted, HMMRT_BLOCK_PAGES);
	for (i = from; i < n; i++) {
		if (plan_page(req, &plan, &cache, i)) {
			__set_bit(i, req->memory.wanted);
			plan.first = min(plan.first, i);
			plan.end = i + 1;
		} else if (plan.duplicate && plan.end) {
			break;
		}
	}
	/* Coherent memory has pages of one size only. */
	plan.huge = !plan.first && plan.end == HMMRT_BLOCK_PAGES &&
		    !(plan.select & MIGRATE_VMA_SELECT_DEVICE_COHERENT) &&
		    !hmmrt_device_is_coherent(req->binding->dev) &&
		    hmmrt_snapshot_is_huge(&req->window, &req->snapshot);
	return plan;
}

/*
 * Copy from one device to another without the CPU. The pages are consecutive on
 * both sides, and within one chunk on each.
 */
static int copy_direct(struct hmmrt_device *dev, struct page *dst,
		       struct page *src, unsigned int n)
{
	struct hmmrt_device *peer = hmmrt_page_device(src);

	if (dev->ops != peer->ops || !dev->ops->copy_from_peer)
		return -EOPNOTSUPP;
	return hmmrt_copy_from_peer(dev, hmmrt_page_offset(dst), peer,
				    hmmrt_page_offset(src), n);
}

/*
 * Copy one page through system memory, for devices that cannot copy from each
 * other. The source is locked by now, so this must not wait for reclaim.
 */
static int copy_staged(struct hmmrt_device *dev, struct page *dst,
		       struct page *src)
{
	struct hmmrt_device *peer = hmmrt_page_device(src);
	struct page *stage = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
	int rc;

	if (!stage)
		return -ENOMEM;
	rc = hmmrt_copy_to_host(peer, &stage, hmmrt_page_offset(src), 1);
	if (!rc)
		rc = hmmrt_copy_to_device(dev, hmmrt_page_offset(dst),
					  &stage, 1);
	__free_page(stage);
	return rc;
}

/* Copy a block that is one page, or a hole, to a whole chunk. */
static int copy_huge(struct hmmrt_device *dev, struct page *dst,
		     struct page *src, struct page **from)
{
	unsigned int i;
	int rc = 0;

	if (src && hmmrt_page_is_private(src)) {
		if (!copy_direct(dev, dst, src, HMMRT_BLOCK_PAGES))
			return 0;
		for (i = 0; i < HMMRT_BLOCK_PAGES && !rc; i++)
			rc = copy_staged(dev, dst + i, src + i);
		return rc;
	}
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		from[i] = src ? src + i : NULL;
	return hmmrt_copy_to_device(dev, hmmrt_page_offset(dst), from,
				    HMMRT_BLOCK_PAGES);
}

/*
 * Returns true if pages i and j can be copied together: they go to consecutive
 * device memory, and come from memory that the CPU reaches or from consecutive
 * memory of one device. A run stays within one chunk: struct pages continue
 * behind the end of a chunk, but the device memory that they stand for does
 * not.
 */
static bool same_run(struct page **dst, const unsigned long *src,
		     unsigned int i, unsigned int j)
{
	struct page *first = migrate_pfn_to_page(src[i]);
	struct page *page = migrate_pfn_to_page(src[j]);

	if (dst[j] != dst[i] + (j - i) ||
	    !hmmrt_pages_share_chunk(dst[j], dst[i]))
		return false;
	if (!first || !hmmrt_page_is_private(first))
		return !page || !hmmrt_page_is_private(page);
	return page == first + (j - i) && hmmrt_pages_share_chunk(page, first);
}

/* A page that could not be copied stays where it is. */
static void copy_failed(struct hmmrt_move_arrays *move, unsigned int i)
{
	unlock_page(move->pages[i]);
	put_page(move->pages[i]);
	move->pages[i] = NULL;
	move->dst[i] = 0;
}

/*
 * Copy a run from another device: all at once, or if that fails page by page.
 */
static void copy_peer_run(struct hmmrt_device *dev,
			  struct hmmrt_move_arrays *move, unsigned int i,
			  unsigned int end)
{
	if (!copy_direct(dev, move->pages[i], migrate_pfn_to_page(move->src[i]),
			 end - i))
		return;
	for (; i < end; i++)
		if (copy_staged(dev, move->pages[i],
				migrate_pfn_to_page(move->src[i])))
			copy_failed(move, i);
}

/* Copy a run from memory that the CPU reaches, or clear a run of holes. */
static void copy_host_run(struct hmmrt_device *dev,
			  struct hmmrt_move_arrays *move, struct page **from,
			  unsigned int i, unsigned int end)
{
	unsigned int k;

	for (k = i; k < end; k++)
		from[k - i] = migrate_pfn_to_page(move->src[k]);
	if (!hmmrt_copy_to_device(dev, hmmrt_page_offset(move->pages[i]), from,
				  end - i))
		return;
	for (; i < end; i++)
		copy_failed(move, i);
}

/*
 * Copy by runs, and clear the dst entries of pages that could not be copied.
 * @from is scratch space.
 */
static void copy_in(struct hmmrt_device *dev, struct hmmrt_move_arrays *move,
		    struct page **from, unsigned int n)
{
	unsigned int i, j;

	for (i = 0; i < n; i = j) {
		struct page *page = migrate_pfn_to_page(move->src[i]);

		j = i + 1;
		if (!move->dst[i])
			continue;
		if (move->dst[i] & HMMRT_PFN_COMPOUND) {
			if (copy_huge(dev, move->pages[i], page, from))
				copy_failed(move, i);
			continue;
		}
		while (j < n && move->dst[j] &&
		       same_run(move->pages, move->src, i, j))
			j++;
		if (page && hmmrt_page_is_private(page))
			copy_peer_run(dev, move, i, j);
		else
			copy_host_run(dev, move, from, i, j);
	}
}

/*
 * Assign the block to pages[], a whole chunk, which becomes one compound page.
 */
static void assign_huge(struct migrate_vma *args, struct page **pages)
{
	hmmrt_huge_page_init(pages[0], hmmrt_page_pgmap(pages[0]));
	args->dst[0] = migrate_pfn(page_to_pfn(pages[0])) | HMMRT_PFN_COMPOUND;
	memset(args->dst + 1, 0,
	       (HMMRT_BLOCK_PAGES - 1) * sizeof(args->dst[0]));
	memset(pages + 1, 0, (HMMRT_BLOCK_PAGES - 1) * sizeof(pages[0]));
}

/* Choose a destination for each page that setup() collected. */
static void assign_vram(struct hmmrt_request *req, struct migrate_vma *args)
{
	struct page **pages = req->move.pages;
	unsigned long first = (args->start - req->window.start) >> PAGE_SHIFT;
	enum hmmrt_stay full = hmmrt_memory_stay_reason(&req->memory);
	struct hmmrt_device *dev = req->binding->dev;
	unsigned long i;

	for (i = 0; i < args->npages; i++) {
		struct page *page = migrate_pfn_to_page(args->src[i]);
		unsigned int n = hmmrt_pfn_pages(args->src[i]);
		unsigned long addr = args->start + (i << PAGE_SHIFT);

		args->dst[i] = 0;
		if (!(args->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		if (page && hmmrt_page_device(page) == dev)
			continue;
		/*
		 * The core would map a writable page where userfaultfd awaits a
		 * write.
		 */
		if (!page && userfaultfd_wp(req->window.vma)) {
			note_stays(req, addr, n, HMMRT_STAY_WATCHED);
			continue;
		}
		/*
		 * The folio is locked, so it cannot become a KSM page after
		 * this check.
		 */
		if (page && folio_test_ksm(page_folio(page)))
			continue;
		/* No memory was found, or it moved back after the plan. */
		if (!pages[i]) {
			note_stays(req, addr, n,
				   test_bit(first + i, req->memory.wanted) ?
					   full : HMMRT_STAY_BUSY);
			continue;
		}
		VM_WARN_ON_ONCE(hmmrt_page_device(pages[i]) != dev);
		if (args->src[i] & HMMRT_PFN_COMPOUND) {
			assign_huge(args, pages);
			return;
		}
		hmmrt_page_init(pages[i], hmmrt_page_pgmap(pages[i]));
		args->dst[i] = migrate_pfn(page_to_pfn(pages[i]));
	}
}

static void count_moved(struct hmmrt_request *req,
			const struct migrate_vma *args)
{
	u64 word = hmmrt_history_word(req->args.cause, req->binding->dev->id);
	unsigned long i;

	for (i = 0; i < args->npages; i++) {
		const struct page *page = migrate_pfn_to_page(args->src[i]);
		unsigned int n = hmmrt_pfn_pages(args->dst[i]);
		unsigned long addr = args->start + (i << PAGE_SHIFT);

		if (!args->dst[i] || !(args->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		req->result.moved += n;
		hmmrt_device_count_move(req->binding->dev, HMMRT_MOVE_IN, n);
		if (page && hmmrt_events_on() && hmmrt_page_device(page))
			req->move.from[hmmrt_page_device(page)->id] += n;
		hmmrt_outcome_set(req, addr, n, HMMRT_OUTCOME_MOVED);
		hmmrt_history_note(req->window.block, addr, n, word);
	}
}

/* Returns true if the device memory for the plan is one chunk, in order. */
static bool is_whole_chunk(struct page **pages)
{
	unsigned int i;

	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		if (!pages[i] || hmmrt_page_index(pages[i]) != i ||
		    !hmmrt_pages_share_chunk(pages[i], pages[0]))
			return false;
	return true;
}

/*
 * The arguments for a plan. The block moves as one page if it is one, the
 * device has a whole chunk for it, and no test wants that to fail.
 */
static struct migrate_vma plan_args(const struct hmmrt_window *window,
				    struct hmmrt_move_arrays *move,
				    const struct plan *plan)
{
	struct migrate_vma args = {
		.vma = window->vma,
		.start = hmmrt_window_addr(window, plan->first),
		.end = hmmrt_window_addr(window, plan->end),
		.src = move->src,
		.dst = move->dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = (plan->duplicate ? 0 : MIGRATE_VMA_SELECT_SYSTEM) |
			 plan->select,
	};

	if (plan->huge && is_whole_chunk(move->pages) &&
	    !hmmrt_huge_fails(window->block->span->space))
		args.flags |= HMMRT_SELECT_COMPOUND;
	return args;
}

/*
 * Move the pages that migrate_vma_setup() has isolated. Until they are released
 * no allocation may wait for reclaim.
 */
static void finish_move(struct hmmrt_request *req, struct migrate_vma *args)
{
	struct page **pages = req->move.pages;
	unsigned int i;

	lockdep_assert_held(&req->window.block->migrate);
	assign_vram(req, args);
	hmmrt_episode_phase(HMMRT_PHASE_COPY);
	copy_in(req->binding->dev, &req->move,
		hmmrt_snapshot_reuse(&req->snapshot), args->npages);
	hmmrt_episode_phase(HMMRT_PHASE_MAP);
	migrate_vma_pages(args);
	count_moved(req, args);
	migrate_vma_finalize(args);
	/*
	 * Initialised pages belong to the core now; the caller must not free
	 * them.
	 */
	for (i = 0; i < args->npages; i++)
		if (pages[i] && args->dst[i])
			pages[i] = NULL;
}

/* Snapshot the window, and decide which pages from @from on move. */
static int snapshot_and_plan(struct hmmrt_request *req, unsigned int from,
			     struct plan *plan)
{
	int rc;

	rc = hmmrt_snapshot_begin(&req->window, &req->snapshot);
	if (!rc && (req->access & HMMRT_ACCESS_WRITE) && hmmrt_mark_cow(req))
		rc = hmmrt_request_ask(req, HMMRT_STEP_BREAK_COW);
	if (!rc)
		rc = hmmrt_snapshot_widen(req);
	if (!rc)
		*plan = make_plan(req, from);
	hmmrt_snapshot_end(&req->snapshot);
	return rc;
}

/* Set why the planned pages stay: there is no device memory for them. */
static void plan_is_full(struct hmmrt_request *req, const struct plan *plan)
{
	enum hmmrt_stay stay = hmmrt_memory_stay_reason(&req->memory);
	u8 *outcomes = hmmrt_outcomes(req);
	unsigned int i;

	for (i = plan->first; i < plan->end; i++)
		if (outcomes[i] == HMMRT_OUTCOME_OPEN)
			outcomes[i] = HMMRT_OUTCOME_STAYED(stay);
}

/* Move the pages of the next plan, and advance *from past that plan. */
static int move_planned(struct hmmrt_request *req, unsigned int *from)
{
	struct migrate_vma args;
	struct plan plan;
	unsigned int got, n, order;
	int rc;

	lockdep_assert_held(&req->window.block->migrate);
	rc = snapshot_and_plan(req, *from, &plan);
	*from = hmmrt_window_pages(&req->window);
	if (rc || plan.first >= plan.end)
		return rc;
	hmmrt_request_check(req);
	n = plan.end - plan.first;
	if (plan.duplicate)
		*from = plan.end;
	hmmrt_episode_phase(HMMRT_PHASE_ALLOCATE);
	rc = hmmrt_request_alloc_pages(req, plan.first, plan.end,
				       req->move.pages, plan.near, &got);
	if (rc)
		return rc;
	/* Without device memory for any page, do not unmap any page. */
	if (!got) {
		hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
		plan_is_full(req, &plan);
		return 0;
	}
	args = plan_args(&req->window, &req->move, &plan);
	hmmrt_history_prepare(req->window.block);
	order = hmm_pfn_to_map_order(req->snapshot.pfns[plan.first]);
	hmmrt_duplicates_let_split(req->window.block, order, n);
	hmmrt_episode_phase(HMMRT_PHASE_UNMAP);
	rc = migrate_vma_setup(&args);
	if (!rc && args.cpages)
		finish_move(req, &args);
	hmmrt_vram_free_unused(req->binding->dev, req->move.pages, n);
	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
	return rc == -EINVAL ? 0 : rc;
}

/**
 * hmmrt_migrate_to_device() - move what can move of a window, best effort
 * @req: window within one vma; pages in system memory stay if policy wants
 *	duplicates of them
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0, however many pages moved; -EAGAIN, with HMMRT_STEP_BREAK_COW for a
 * write only, with a step that makes memory available, or with none if
 * something raced; -EINTR. req->result.moved adds up over attempts;
 * req->result.there is of this attempt only. Outcomes are set as far as they
 * are known.
 */
int hmmrt_migrate_to_device(struct hmmrt_request *req)
{
	u64 moved_before = req->result.moved, began;
	struct hmmrt_episode episode;
	unsigned int from = 0;
	int rc;

	lockdep_assert_held(&req->window.vma->vm_mm->mmap_lock);
	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	rc = hmmrt_block_migrate_lock(req->window.block);
	if (rc) {
		hmmrt_episode_cancel(&episode);
		return rc;
	}
	began = hmmrt_now_us();
	memset(req->move.from, 0, sizeof(req->move.from));
	req->result.there = 0;
	do {
		rc = move_planned(req, &from);
	} while (!rc && from < hmmrt_window_pages(&req->window));
	if (req->result.moved > moved_before)
		hmmrt_thrashing_moved_in(req, began);
	hmmrt_block_migrate_unlock(req->window.block);
	hmmrt_episode_end_moved(&episode, &req->binding->space->events,
				req->move.from, req->result.moved - moved_before,
				.cause = req->args.cause,
				.addr = req->window.start,
				.to = req->binding->dev->id);
	return rc;
}
