// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration back to system memory, for a CPU fault or an explicit request. A
 * CPU fault migrates device memory that the CPU cannot reach, and leaves
 * coherent memory alone. An explicit request migrates both.
 *
 * kmod/move_in.c describes the order of the steps, and kmod/move_cpu_fault.c
 * has the CPU faults. For pages without a block, and for pages of processes that
 * have no space, see kmod/move_evict_chunk.c.
 */
#include <linux/hmm.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>

#include "move_out.h"

/* The node of the host that advice prefers, or NUMA_NO_NODE. */
int hmmrt_advised_node(const struct hmmrt_advice *advice)
{
	if (advice->preferred >= HMMRT_LOCATION_NONE ||
	    !hmmrt_location_is_host(advice->preferred))
		return NUMA_NO_NODE;
	return advice->preferred & HMMRT_LOCATION_MAX_NODE;
}

static struct page *alloc_host_page(struct vm_area_struct *vma,
				    unsigned long addr,
				    const struct hmmrt_host_pages *to,
				    bool must)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE;

	/* The touched page must be allocated; its neighbours are optional. */
	if (!must)
		gfp |= __GFP_NORETRY | __GFP_NOWARN;
	if (to->node == NUMA_NO_NODE)
		return alloc_page_vma(gfp, vma, addr);
	return alloc_pages_node(to->node,
				to->strict ? gfp | __GFP_THISNODE : gfp, 0);
}

void hmmrt_host_alloc(struct vm_area_struct *vma, unsigned long start,
		      struct hmmrt_host_pages *to, unsigned int n,
		      unsigned int must)
{
	unsigned int i;

	to->n = n;
	to->huge = false;
	for (i = 0; i < n; i++)
		to->page[i] = alloc_host_page(vma,
					      start + ((unsigned long)i
						       << PAGE_SHIFT),
					      to, i == must);
}

/* Allocate one page for a whole block. Returns false if that fails. */
bool hmmrt_host_alloc_huge(struct hmmrt_space *space,
			   struct vm_area_struct *vma, unsigned long start,
			   struct hmmrt_host_pages *to)
{
	struct page *page = NULL;
	unsigned int i;

	if (!hmmrt_huge_fails(space))
		page = hmmrt_alloc_huge_page(GFP_TRANSHUGE | __GFP_NORETRY, vma,
					     start, to->node);
	if (!page)
		return false;
	to->n = HMMRT_BLOCK_PAGES;
	to->huge = true;
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		to->page[i] = page + i;
	return true;
}

/* Forget a page that the process uses now, so that it is not freed. */
static void host_page_used(struct hmmrt_host_pages *to, unsigned int i)
{
	if (to->huge)
		memset(to->page, 0, to->n * sizeof(to->page[0]));
	else
		to->page[i] = NULL;
}

void hmmrt_host_free(struct hmmrt_host_pages *to)
{
	unsigned int i;

	for (i = 0; i < to->n; i++) {
		if (!to->page[i])
			continue;
		put_page(to->page[i]);
		host_page_used(to, i);
	}
}

/* Copy consecutive pages of any one device to system memory. */
static int copy_out(struct page *src, struct page **dst, unsigned int n)
{
	struct hmmrt_device *dev = hmmrt_page_device(src);

	return hmmrt_copy_to_host(dev, dst, hmmrt_page_offset(src), n);
}

static void report_unreadable(struct page *src, int rc)
{
	pr_err_ratelimited("%s: device memory at %#llx could not be read: %d\n",
			   hmmrt_page_device(src)->name, hmmrt_page_offset(src),
			   rc);
}

/* There is no system memory for @n pages from index @i on. */
static void host_is_full(const struct hmmrt_move_out *out,
			 const struct migrate_vma *args, unsigned long i,
			 unsigned int n)
{
	if (out->req)
		hmmrt_outcome_set(out->req, args->start + (i << PAGE_SHIFT), n,
				  HMMRT_OUTCOME_STAYED(HMMRT_STAY_NO_MEMORY));
}

/*
 * The block is one page on the device. If the destination is not one page, the
 * core splits the block as far as it can, into single pages from the first one
 * on.
 */
static void assign_host_huge(struct migrate_vma *args,
			     struct hmmrt_host_pages *to,
			     struct hmmrt_move_out *out)
{
	struct page *src = migrate_pfn_to_page(args->src[0]);
	unsigned int i;
	int rc;

	if (!to->page[0]) {
		host_is_full(out, args, 0, HMMRT_BLOCK_PAGES);
		return;
	}
	rc = copy_out(src, to->page, to->n);
	if (rc) {
		report_unreadable(src, rc);
		/* The touched page is part of the block. */
		out->must_unreadable = true;
		return;
	}
	if (to->huge) {
		lock_page(to->page[0]);
		args->dst[0] = migrate_pfn(page_to_pfn(to->page[0])) |
			       HMMRT_PFN_COMPOUND;
		return;
	}
	for (i = 0; i < to->n; i++) {
		if (!to->page[i]) {
			host_is_full(out, args, i, 1);
			continue;
		}
		lock_page(to->page[i]);
		args->dst[i] = migrate_pfn(page_to_pfn(to->page[i]));
	}
}

/* How many pages from @i on are consecutive on a device, for a single copy. */
static unsigned long host_run(const struct migrate_vma *args,
			      const struct hmmrt_host_pages *to,
			      unsigned long i)
{
	unsigned long end = min_t(unsigned long, args->npages, to->n), j;

	for (j = i + 1; j < end && to->page[j]; j++)
		if (args->src[j] !=
			    args->src[i] + ((j - i) << MIGRATE_PFN_SHIFT) ||
		    !hmmrt_pages_share_chunk(migrate_pfn_to_page(args->src[j]),
					     migrate_pfn_to_page(args->src[i])))
			break;
	return j - i;
}

/* Copy a run: all at once, or if that fails page by page. */
static void copy_run_out(struct migrate_vma *args, struct hmmrt_host_pages *to,
			 unsigned long i, unsigned long n,
			 struct hmmrt_move_out *out)
{
	bool copied = n > 1 && !copy_out(migrate_pfn_to_page(args->src[i]),
					 &to->page[i], n);
	unsigned long end = i + n;

	for (; i < end; i++) {
		struct page *src = migrate_pfn_to_page(args->src[i]);
		int rc = copied ? 0 : copy_out(src, &to->page[i], 1);

		if (rc) {
			report_unreadable(src, rc);
			out->must_unreadable |= i == out->must;
			continue;
		}
		lock_page(to->page[i]);
		args->dst[i] = migrate_pfn(page_to_pfn(to->page[i]));
	}
}

/*
 * Copy the pages and set dst. A page that its device cannot read stays there.
 */
static void assign_host(struct migrate_vma *args, struct hmmrt_host_pages *to,
			struct hmmrt_move_out *out)
{
	unsigned long i, n;

	memset(args->dst, 0, args->npages * sizeof(args->dst[0]));
	for (i = 0; i < args->npages; i += n) {
		struct page *src = migrate_pfn_to_page(args->src[i]);

		n = 1;
		if (!src || !(args->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		if (out->dev && hmmrt_page_device(src) != out->dev)
			continue;
		if (args->src[i] & HMMRT_PFN_COMPOUND) {
			assign_host_huge(args, to, out);
			return;
		}
		out->raced = to->huge;
		if (to->huge)
			return;
		if (i >= to->n || !to->page[i]) {
			host_is_full(out, args, i, 1);
			continue;
		}
		n = host_run(args, to, i);
		copy_run_out(args, to, i, n, out);
	}
}

/* @n pages from index @i on are in system memory now. */
static void host_reached(struct hmmrt_move_out *out,
			 const struct migrate_vma *args, unsigned long i,
			 unsigned int n, u64 word)
{
	unsigned long addr = args->start + (i << PAGE_SHIFT);
	struct hmmrt_device *from =
		hmmrt_page_device(migrate_pfn_to_page(args->src[i]));

	out->moved += n;
	out->must_moved |= out->must - i < n;
	hmmrt_device_count_move(from, out->cause == HMMRT_CAUSE_EVICTION ?
					      HMMRT_MOVE_EVICTED :
					      HMMRT_MOVE_OUT, n);
	if (hmmrt_events_on())
		out->from[from->id] += n;
	if (out->block)
		hmmrt_history_note(out->block, addr, n, word);
	if (out->req)
		hmmrt_outcome_set(out->req, addr, n, HMMRT_OUTCOME_MOVED);
}

/*
 * Continue the run of CPU faults. This is done before the pages are mapped again:
 * then another thread may go on to the next block, and look at this run while
 * the window is still being finalized.
 */
static void run_goes_on(const struct migrate_vma *args,
			const struct hmmrt_move_out *out)
{
	struct hmmrt_block *block = out->block;
	unsigned int page;

	/* If another thread touched the page too, it repeats this window. */
	if (!out->run || !out->must_moved || out->reduced)
		return;
	lockdep_assert_held(&block->migrate);
	page = hmmrt_index_in_block(block, args->start) + out->must;
	if (!hmmrt_policy_left_behind(&block->cpu_run, page, out->moved))
		block->cpu_run = *out->run;
}

void hmmrt_migrate_out(struct migrate_vma *args, struct hmmrt_host_pages *to,
		       struct hmmrt_move_out *out)
{
	u64 word = hmmrt_history_word(out->cause, HMMRT_LOCATION_HOST);
	unsigned long i;

	hmmrt_episode_phase(HMMRT_PHASE_COPY);
	assign_host(args, to, out);
	hmmrt_episode_phase(HMMRT_PHASE_MAP);
	migrate_vma_pages(args);
	for (i = 0; i < args->npages; i++) {
		if (!args->dst[i])
			continue;
		/*
		 * This is the only copy, so reclaim must not find a clean page.
		 */
		folio_mark_dirty(page_folio(to->page[i]));
		if (args->src[i] & MIGRATE_PFN_MIGRATE)
			host_reached(out, args, i,
				     hmmrt_pfn_pages(args->dst[i]), word);
		host_page_used(to, i);
	}
	run_goes_on(args, out);
	migrate_vma_finalize(args);
}

/* Report where the pages came from that a call moved, and end its episode. */
void hmmrt_moved_out(const struct hmmrt_event_source *source,
		     struct hmmrt_episode *episode,
		     const struct migrate_vma *args,
		     const struct hmmrt_move_out *out)
{
	hmmrt_episode_end_moved(episode, source, out->from, 0,
				.cause = out->cause, .addr = args->start,
				.to = HMMRT_LOCATION_HOST);
}

/* One attempt at the window of @args. */
static int migrate_window_out(struct migrate_vma *args,
			      struct hmmrt_host_pages *to,
			      struct hmmrt_move_out *out)
{
	struct hmmrt_block *block = out->block;
	int rc;

	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
	rc = hmmrt_block_migrate_lock(block);
	if (rc)
		return rc;
	hmmrt_history_prepare(block);
	hmmrt_episode_phase(HMMRT_PHASE_UNMAP);
	rc = migrate_vma_setup(args);
	if (!rc && args->cpages)
		hmmrt_migrate_out(args, to, out);
	hmmrt_block_migrate_unlock(block);
	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
	return rc;
}

/* Migrate the window, which is one page. Returns true if that is all. */
static bool migrate_huge_out(struct migrate_vma *args,
			     struct hmmrt_host_pages *to,
			     struct hmmrt_move_out *out, int *rc)
{
	if (!hmmrt_host_alloc_huge(out->block->span->space, args->vma,
				   args->start, to))
		return false;
	args->flags |= HMMRT_SELECT_COMPOUND;
	*rc = migrate_window_out(args, to, out);
	args->flags &= ~HMMRT_SELECT_COMPOUND;
	hmmrt_host_free(to);
	/* Single pages of the block may still be readable. */
	if (!out->must_unreadable)
		return true;
	out->must_unreadable = false;
	return false;
}

/* hmmrt_migrate_to_host() for a window that, with @huge, is one page. */
static int migrate_out(struct hmmrt_request *req, bool huge)
{
	const struct hmmrt_window *window = &req->window;
	const struct hmmrt_device *dev =
		req->binding && !req->args.all_devices ? req->binding->dev :
							 NULL;
	unsigned int n = hmmrt_window_pages(window);
	struct migrate_vma args = {
		.vma = window->vma,
		.start = window->start,
		.end = window->end,
		.src = req->move.src,
		.dst = req->move.dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = dev ? hmmrt_select_device(dev) :
			       MIGRATE_VMA_SELECT_DEVICE_PRIVATE |
				       MIGRATE_VMA_SELECT_DEVICE_COHERENT,
	};
	struct hmmrt_move_out out = {
		.block = window->block,
		.req = req,
		.cause = req->args.cause,
		.dev = dev,
		.must = ULONG_MAX,
	};
	struct hmmrt_episode episode;
	struct hmmrt_host_pages to = { .page = req->move.pages };
	int rc = 0;

	hmmrt_request_check(req);
	hmmrt_episode_begin(&episode, HMMRT_PHASE_ALLOCATE);
	to.strict = req->args.node != NUMA_NO_NODE;
	to.node = to.strict ? req->args.node :
			      hmmrt_advised_node(&req->policy.advice);
	if (!huge || !migrate_huge_out(&args, &to, &out, &rc)) {
		hmmrt_host_alloc(window->vma, window->start, &to, n, n);
		rc = migrate_window_out(&args, &to, &out);
		hmmrt_host_free(&to);
	}
	if (out.raced)
		rc = -EAGAIN;
	req->result.moved += out.moved;
	hmmrt_moved_out(&window->block->span->space->events, &episode, &args,
			&out);
	return rc == -EINVAL ? 0 : rc;
}

/**
 * hmmrt_migrate_to_host() - migrate a window to system memory, best effort
 * @req: window with a snapshot; with a binding, only pages on its device
 *	migrate, unless all_devices is set
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0 or -EINTR; -EAGAIN: something raced. req->result.moved counts.
 */
int hmmrt_migrate_to_host(struct hmmrt_request *req)
{
	const struct hmmrt_snapshot *snapshot = &req->snapshot;

	return migrate_out(req, (snapshot->pfns[0] & HMM_PFN_VALID) &&
				hmmrt_snapshot_is_huge(&req->window, snapshot));
}

/* Count the pages that are on no device; with a binding, not on its device. */
static unsigned long pages_there(struct hmmrt_request *req)
{
	unsigned long i, n = hmmrt_window_pages(&req->window), count = 0;
	struct hmmrt_region_cache cache = {};

	for (i = 0; i < n; i++) {
		unsigned long pfn = req->snapshot.pfns[i];
		struct hmmrt_device *dev = NULL;

		if ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR))
			dev = hmmrt_region_cache_device(&cache,
							hmm_pfn_to_page(pfn));
		if (dev && (!req->binding || req->binding->dev == dev))
			continue;
		hmmrt_outcome_set(req, hmmrt_window_addr(&req->window, i), 1,
				  HMMRT_OUTCOME_THERE);
		count++;
	}
	return count;
}

/*
 * A snapshot shows nothing of a mapping that cannot be read, but the core still
 * selects the pages that are on a device. A page that the core could not lock
 * has no entry in src, so it counts as if it were in system memory.
 */
static int unreadable_to_host(struct hmmrt_request *req)
{
	unsigned long i, n = hmmrt_window_pages(&req->window);
	int rc;

	memset(req->move.src, 0, n * sizeof(req->move.src[0]));
	rc = migrate_out(req, false);
	for (i = 0; i < n && !rc; i++) {
		u8 *outcome = &hmmrt_outcomes(req)[i];

		if (*outcome == HMMRT_OUTCOME_OPEN)
			*outcome = migrate_pfn_to_page(req->move.src[i]) ?
				   HMMRT_OUTCOME_STAYED(HMMRT_STAY_PINNED) :
				   HMMRT_OUTCOME_THERE;
	}
	return rc;
}

/**
 * hmmrt_window_to_host() - hmmrt_migrate_to_host(), with a snapshot before it
 * @req: window within one vma and block
 *
 * If no page has to move, this allocates and locks nothing.
 * Context: as hmmrt_migrate_to_host().
 * Return: as hmmrt_migrate_to_host(); req->result.there says how many pages did
 * not have to move.
 */
int hmmrt_window_to_host(struct hmmrt_request *req)
{
	unsigned long n = hmmrt_window_pages(&req->window);
	int rc;

	req->result.there = 0;
	if (!(req->window.vma->vm_flags & VM_READ))
		return unreadable_to_host(req);
	rc = hmmrt_snapshot_begin(&req->window, &req->snapshot);
	if (!rc)
		req->result.there = pages_there(req);
	hmmrt_snapshot_end(&req->snapshot);
	if (rc || req->result.there == n)
		return rc;
	return hmmrt_migrate_to_host(req);
}
