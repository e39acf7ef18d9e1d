// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration back to system memory, for a CPU fault or an explicit request. A
 * CPU fault migrates device memory that the CPU cannot reach, and leaves
 * coherent memory alone. An explicit request migrates both.
 *
 * kmod/move_in.c describes the order of the steps. For pages without a block,
 * and for pages of processes that have no space, see kmod/move_evict.c.
 */
#include <linux/hash.h>
#include <linux/hmm.h>
#include <linux/log2.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "move.h"

/*
 * Destination pages in system memory for a window: for all of it, or for as
 * much as there was memory for. For a block that is one page on the device this
 * is one page, or else single pages.
 */
struct host_pages {
	int node;			/* or NUMA_NO_NODE: mapping's policy */
	bool strict;			/* on that node and no other */
	unsigned int n;
	bool huge;			/* page[] is one page */
	struct page **page;		/* @n elements */
};

/* The node of the host that advice prefers, or NUMA_NO_NODE. */
static int advised_node(const struct hmmrt_advice *advice)
{
	if (advice->preferred >= HMMRT_LOCATION_NONE ||
	    !hmmrt_location_is_host(advice->preferred))
		return NUMA_NO_NODE;
	return advice->preferred & HMMRT_LOCATION_MAX_NODE;
}

static struct page *alloc_host_page(struct vm_area_struct *vma,
				    unsigned long addr,
				    const struct host_pages *to, bool must)
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

static void alloc_host(struct vm_area_struct *vma, unsigned long start,
		       struct host_pages *to, unsigned int n, unsigned int must)
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
static bool alloc_host_huge(struct hmmrt_space *space,
			    struct vm_area_struct *vma, unsigned long start,
			    struct host_pages *to)
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
static void host_page_used(struct host_pages *to, unsigned int i)
{
	if (to->huge)
		memset(to->page, 0, to->n * sizeof(to->page[0]));
	else
		to->page[i] = NULL;
}

static void free_host(struct host_pages *to)
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

/* A window that migrates to system memory, and the result of that. */
struct move_out {
	struct hmmrt_block *block;	/* NULL: only one page migrates */
	struct hmmrt_request *req;	/* NULL: a CPU fault */
	enum hmmrt_cause cause;
	const struct hmmrt_device *dev;	/* the source; NULL: any device */
	unsigned long must;		/* index of the touched page, if any */

	unsigned long moved;
	u32 from[HMMRT_MAX_DEVICES];	/* part of @moved, by source device */
	bool must_moved;		/* the touched page has moved */
	bool must_unreadable;		/* the touched page cannot be read */
	bool raced;			/* the block is no longer one page */
	bool reduced;			/* the window, for lack of memory */
	/* Of a CPU fault in a block: its run, if the touched page moves. */
	const struct hmmrt_policy_run *run;
};

/* There is no system memory for @n pages from index @i on. */
static void host_is_full(const struct move_out *out,
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
static void assign_host_huge(struct migrate_vma *args, struct host_pages *to,
			     struct move_out *out)
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
			      const struct host_pages *to, unsigned long i)
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

static void assign_host_page(struct migrate_vma *args, struct host_pages *to,
			     unsigned long i)
{
	lock_page(to->page[i]);
	args->dst[i] = migrate_pfn(page_to_pfn(to->page[i]));
}

/* Copy a run: all at once, or if that fails page by page. */
static void copy_run_out(struct migrate_vma *args, struct host_pages *to,
			 unsigned long i, unsigned long n, struct move_out *out)
{
	bool copied = n > 1 && !copy_out(migrate_pfn_to_page(args->src[i]),
					 &to->page[i], n);
	unsigned long end = i + n;

	for (; i < end; i++) {
		struct page *src = migrate_pfn_to_page(args->src[i]);
		int rc = copied ? 0 : copy_out(src, &to->page[i], 1);

		if (!rc) {
			assign_host_page(args, to, i);
			continue;
		}
		report_unreadable(src, rc);
		out->must_unreadable |= i == out->must;
	}
}

/*
 * Copy the pages and set dst. A page that its device cannot read stays there.
 */
static void assign_host(struct migrate_vma *args, struct host_pages *to,
			struct move_out *out)
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
static void host_reached(struct move_out *out, const struct migrate_vma *args,
			 unsigned long i, unsigned int n, u64 word)
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
			const struct move_out *out)
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

static void migrate_out(struct migrate_vma *args, struct host_pages *to,
			struct move_out *out)
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
static void moved_out(const struct hmmrt_event_source *source,
		      struct hmmrt_episode *episode,
		      const struct migrate_vma *args,
		      const struct move_out *out)
{
	hmmrt_episode_end_moved(episode, source, out->from, 0,
				.cause = out->cause, .addr = args->start,
				.to = HMMRT_LOCATION_HOST);
}

/* One attempt at the window of @args. */
static int migrate_window_out(struct migrate_vma *args, struct host_pages *to,
			      struct move_out *out)
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
		migrate_out(args, to, out);
	hmmrt_block_migrate_unlock(block);
	hmmrt_episode_phase(HMMRT_PHASE_DECIDE);
	return rc;
}

/* Migrate the window as one page, if it is one. Returns true if that is all. */
static bool migrate_huge_out(struct hmmrt_request *req,
			     struct migrate_vma *args, struct host_pages *to,
			     struct move_out *out, int *rc)
{
	if (!(req->pfns[0] & HMM_PFN_VALID) || !hmmrt_request_is_huge(req) ||
	    !alloc_host_huge(req->block->span->space, req->vma, req->start, to))
		return false;
	args->flags |= HMMRT_SELECT_COMPOUND;
	*rc = migrate_window_out(args, to, out);
	args->flags &= ~HMMRT_SELECT_COMPOUND;
	free_host(to);
	/* Single pages of the block may still be readable. */
	if (!out->must_unreadable)
		return true;
	out->must_unreadable = false;
	return false;
}

/**
 * hmmrt_migrate_to_host() - migrate a window to system memory, best effort
 * @req: window within one vma and block, with a snapshot of it, or with none if
 *	the pfns are 0; with a binding, only pages on its device migrate, unless
 *	all_devices is set
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0, -EINTR or -ENOMEM; -EAGAIN something raced. req->result.moved
 * counts.
 */
int hmmrt_migrate_to_host(struct hmmrt_request *req)
{
	const struct hmmrt_device *dev =
		req->binding && !req->args.all_devices ? req->binding->dev :
							 NULL;
	unsigned int n = hmmrt_request_pages(req);
	struct migrate_vma args = {
		.vma = req->vma,
		.start = req->start,
		.end = req->end,
		.src = req->src,
		.dst = req->dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = dev ? hmmrt_select_device(dev) :
			       MIGRATE_VMA_SELECT_DEVICE_PRIVATE |
				       MIGRATE_VMA_SELECT_DEVICE_COHERENT,
	};
	struct move_out out = {
		.block = req->block,
		.req = req,
		.cause = req->args.cause,
		.dev = dev,
		.must = ULONG_MAX,
	};
	struct hmmrt_episode episode;
	struct host_pages to = {};
	int rc = 0;

	lockdep_assert_held(&req->vma->vm_mm->mmap_lock);
	hmmrt_request_check(req);
	to.page = kmalloc_array(n, sizeof(to.page[0]), GFP_KERNEL_ACCOUNT);
	if (!to.page)
		return -ENOMEM;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_ALLOCATE);
	to.strict = req->args.node != NUMA_NO_NODE;
	to.node = to.strict ? req->args.node : advised_node(&req->advice);
	if (!migrate_huge_out(req, &args, &to, &out, &rc)) {
		alloc_host(req->vma, req->start, &to, n, n);
		rc = migrate_window_out(&args, &to, &out);
		free_host(&to);
	}
	kfree(to.page);
	if (out.raced)
		rc = -EAGAIN;
	req->result.moved += out.moved;
	moved_out(&req->block->span->space->events, &episode, &args, &out);
	return rc == -EINVAL ? 0 : rc;
}

/* Count the pages that are on no device; with a binding, not on its device. */
static unsigned long pages_there(struct hmmrt_request *req)
{
	unsigned long i, n = hmmrt_request_pages(req), count = 0;
	struct hmmrt_region_cache cache = {};

	for (i = 0; i < n; i++) {
		unsigned long pfn = req->pfns[i];
		struct hmmrt_device *dev = NULL;

		if ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR))
			dev = hmmrt_region_cache_device(&cache,
							hmm_pfn_to_page(pfn));
		if (dev && (!req->binding || req->binding->dev == dev))
			continue;
		hmmrt_outcome_set(req, req->start + (i << PAGE_SHIFT), 1,
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
	unsigned long i, n = hmmrt_request_pages(req);
	int rc;

	memset(req->pfns, 0, n * sizeof(req->pfns[0]));
	memset(req->src, 0, n * sizeof(req->src[0]));
	rc = hmmrt_migrate_to_host(req);
	for (i = 0; i < n && !rc; i++) {
		u8 *outcome = &hmmrt_outcomes(req)[i];

		if (*outcome == HMMRT_OUTCOME_OPEN)
			*outcome = migrate_pfn_to_page(req->src[i]) ?
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
	unsigned long n = hmmrt_request_pages(req);
	int rc;

	req->result.there = 0;
	if (!(req->vma->vm_flags & VM_READ))
		return unreadable_to_host(req);
	rc = hmmrt_snapshot_begin(req);
	if (!rc)
		req->result.there = pages_there(req);
	hmmrt_snapshot_end(req);
	if (rc || req->result.there == n)
		return rc;
	return hmmrt_migrate_to_host(req);
}

/* Taken instead of block->migrate if there is no block; only ever tried. */
static DEFINE_SPINLOCK(orphans_lock);
static struct page *orphans[64];

static struct page **orphan_slot(struct page *page)
{
	return &orphans[hash_ptr(page, ilog2(ARRAY_SIZE(orphans)))];
}

static bool orphan_trylock(struct page *page)
{
	struct page **slot = orphan_slot(page);
	bool free;

	spin_lock(&orphans_lock);
	free = !*slot;
	if (free)
		*slot = page;
	spin_unlock(&orphans_lock);
	return free;
}

static void orphan_unlock(struct page *page)
{
	spin_lock(&orphans_lock);
	VM_WARN_ON_ONCE(*orphan_slot(page) != page);
	*orphan_slot(page) = NULL;
	spin_unlock(&orphans_lock);
}

/*
 * Returns true if the touched page is part of a large folio that is no longer
 * mapped as one. The core splits the folio first, and the access is repeated.
 * Then only the touched page migrates. With a larger window the core would
 * continue with the page that was locked before the split, which need not be
 * the page that is locked after it. It would also wait for the locks of other
 * large folios.
 */
static bool cpu_fault_splits(const struct vm_fault *vmf)
{
	return HMMRT_HAS_DEVICE_THP && vmf->pte &&
	       folio_test_large(page_folio(vmf->page));
}

/* The advice and the knobs that apply to the touched page. */
struct cpu_fault_rules {
	int node;			/* to migrate to, or NUMA_NO_NODE */
	struct hmmrt_knobs knobs;	/* only with a block */
	/* The run of faults, if the touched page moves; only with a block. */
	struct hmmrt_policy_run run;
};

/* The touched page is on a device, so it has no duplicate; others may have. */
static void spare_duplicates(struct vm_fault *vmf, struct hmmrt_block *block,
			     struct migrate_vma *args)
{
	struct hmmrt_policy_window win = {
		.first = hmmrt_index_in_block(block, args->start),
		.count = (args->end - args->start) >> PAGE_SHIFT,
	};
	DECLARE_BITMAP(duplicated, HMMRT_BLOCK_PAGES);

	hmmrt_duplicates_mark(block, win.first, win.count, duplicated);
	win = hmmrt_policy_without_duplicates(duplicated, win,
					      hmmrt_index_in_block(block,
								   vmf->address));
	args->start = block->start + ((unsigned long)win.first << PAGE_SHIFT);
	args->end = args->start + ((unsigned long)win.count << PAGE_SHIFT);
}

/*
 * Look up the rules, and choose the window that migrates with the touched page.
 * It ends where the mapping and the advice end, and at pages with duplicates.
 */
static void cpu_fault_window(struct vm_fault *vmf, struct hmmrt_block *block,
			     struct migrate_vma *args,
			     struct cpu_fault_rules *rules)
{
	unsigned long start = block->start;
	unsigned long end = start + HMMRT_BLOCK_SIZE;
	struct hmmrt_space *space = block->span->space;
	struct hmmrt_policy_window win;
	struct hmmrt_block *before;
	struct hmmrt_advice advice;

	lockdep_assert_held(&block->migrate);
	rules->run = block->cpu_run;
	advice = hmmrt_advice_at(space, vmf->address, &start, &end);
	rules->knobs = hmmrt_knobs_at(space, hmmrt_page_device(vmf->page),
				      &advice);
	if (cpu_fault_splits(vmf))
		return;
	rules->node = advised_node(&advice);
	/* A huge page migrates whole, whichever parts of it have advice. */
	if (args->flags & HMMRT_SELECT_COMPOUND)
		return;
	before = hmmrt_block_find(space, block->start - HMMRT_BLOCK_SIZE);
	win = hmmrt_policy_host_window(&rules->run,
				       before ? &before->cpu_run : NULL,
				       hmmrt_index_in_block(block, args->start),
				       &advice, &rules->knobs);
	hmmrt_block_put(before);
	args->start = max3(block->start + ((unsigned long)win.first
					   << PAGE_SHIFT),
			   vmf->vma->vm_start, start);
	args->end = min3(block->start + ((unsigned long)(win.first + win.count)
					 << PAGE_SHIFT),
			 vmf->vma->vm_end, end);
	if (hmmrt_policy_may_duplicate(&advice, &rules->knobs))
		spare_duplicates(vmf, block, args);
}

/*
 * Allocate memory for a window that the CPU touched. Returns false if there is
 * none for the touched page.
 *
 * If the block is one page and no huge page can be allocated, a single page is
 * enough: the core cannot split a folio that the fault has a reference to, but
 * in trying it turns the huge entry into single ones, and the access is
 * repeated.
 */
static bool cpu_fault_alloc(struct hmmrt_space *space, struct vm_fault *vmf,
			    const struct migrate_vma *args,
			    struct host_pages *to)
{
	unsigned int n = (args->end - args->start) >> PAGE_SHIFT;
	unsigned int must = (vmf->address - args->start) >> PAGE_SHIFT;

	if (args->flags & HMMRT_SELECT_COMPOUND) {
		if (alloc_host_huge(space, vmf->vma, args->start, to))
			return true;
		n = 1;
		must = 0;
	}
	alloc_host(vmf->vma, args->start, to, n, must);
	return to->page[must];
}

/* A fault of the thread that makes memory exclusive has a separate cause. */
static enum hmmrt_cause cpu_fault_cause(const struct hmmrt_space *space)
{
	return space && READ_ONCE(space->exclusive_task) == current ?
		       HMMRT_CAUSE_EXCLUSIVE :
		       HMMRT_CAUSE_CPU_FAULT;
}

/* Count pages that moved back because the CPU touched them, and tell policy. */
static void cpu_fault_moved(const struct vm_fault *vmf,
			    const struct migrate_vma *args,
			    struct hmmrt_space *space,
			    const struct move_out *out,
			    const struct cpu_fault_rules *rules, u64 began)
{
	struct hmmrt_block *block = out->block;

	if (space)
		atomic64_add(out->moved, &space->migrated_to_host);
	if (block && out->moved && out->cause == HMMRT_CAUSE_CPU_FAULT)
		hmmrt_thrashing_moved_back(block,
					   hmmrt_page_device(vmf->page),
					   &rules->knobs, args->start,
					   args->end, began);
}

/*
 * Arrays for the window of a CPU fault. The touched page has its own: the access
 * must not fail, or be repeated, because there is no memory for anything but
 * this page.
 */
struct cpu_fault_arrays {
	unsigned long src, dst;
	struct page *page;
	unsigned long *many;
};

/*
 * Sets *reduced if it has reduced the window to the touched page. The core does
 * not split a huge page for a part of it while this fault holds the page, so
 * that window stays, and its arrays are charged to no cgroup at its limit.
 * Returns false if there is no memory.
 */
static bool cpu_fault_arrays_alloc(struct cpu_fault_arrays *arrays,
				   const struct vm_fault *vmf,
				   struct migrate_vma *args,
				   struct host_pages *to, bool *reduced)
{
	const size_t one = sizeof(args->src[0]) + sizeof(args->dst[0]) +
			   sizeof(to->page[0]);
	unsigned long n = (args->end - args->start) >> PAGE_SHIFT;
	bool huge = args->flags & HMMRT_SELECT_COMPOUND;

	arrays->many = NULL;
	*reduced = false;
	if (huge)
		arrays->many = kvmalloc_array(n, one, GFP_KERNEL);
	else if (n > 1)
		arrays->many = kmalloc_array(n, one, GFP_KERNEL_ACCOUNT |
						     __GFP_NORETRY |
						     __GFP_NOWARN);
	if (arrays->many) {
		args->src = arrays->many;
		args->dst = args->src + n;
		to->page = (struct page **)(args->dst + n);
		return true;
	}
	args->start = vmf->address & PAGE_MASK;
	args->end = args->start + PAGE_SIZE;
	args->src = &arrays->src;
	args->dst = &arrays->dst;
	to->page = &arrays->page;
	*reduced = n > 1;
	return !huge;
}

static vm_fault_t cpu_fault_migrate(struct vm_fault *vmf,
				    struct migrate_vma *args,
				    struct hmmrt_space *space,
				    struct hmmrt_block *block,
				    const struct cpu_fault_rules *rules,
				    unsigned long *moved)
{
	struct move_out out = {
		.block = block,
		.cause = cpu_fault_cause(space),
		.run = block ? &rules->run : NULL,
	};
	struct host_pages to = { .node = rules->node };
	u64 began = hmmrt_now_us();
	struct cpu_fault_arrays arrays;
	struct hmmrt_episode episode;
	vm_fault_t ret = 0;

	hmmrt_may_wait();
	VM_WARN_ON_ONCE(vmf->address < args->start ||
			vmf->address >= args->end);
	if (block)
		hmmrt_window_check(block, args->start, args->end);
	if (!cpu_fault_arrays_alloc(&arrays, vmf, args, &to, &out.reduced))
		return VM_FAULT_OOM;
	out.must = (vmf->address - args->start) >> PAGE_SHIFT;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	if (block)
		hmmrt_history_prepare(block);
	hmmrt_episode_phase(HMMRT_PHASE_ALLOCATE);
	if (!cpu_fault_alloc(space, vmf, args, &to)) {
		ret = VM_FAULT_OOM;
		goto out_free;
	}
	hmmrt_episode_phase(HMMRT_PHASE_UNMAP);
	if (migrate_vma_setup(args)) {
		ret = VM_FAULT_SIGBUS;
		goto out_free;
	}
	if (!args->cpages)
		goto out_free;
	migrate_out(args, &to, &out);
	*moved += out.moved;
	moved_out(space ? &space->events : NULL, &episode, args, &out);
	cpu_fault_moved(vmf, args, space, &out, rules, began);
	/*
	 * The device cannot give the page back, so another fault would not
	 * help.
	 */
	if (out.must_unreadable)
		ret = VM_FAULT_SIGBUS;
out_free:
	hmmrt_episode_cancel(&episode);
	free_host(&to);
	kvfree(arrays.many);
	return ret;
}

static vm_fault_t cpu_fault_in_block(struct vm_fault *vmf,
				     struct migrate_vma *args,
				     struct hmmrt_block *block,
				     struct cpu_fault_rules *rules,
				     unsigned long *moved, bool *counted)
{
	vm_fault_t ret;

	if (!hmmrt_cpu_fault_lock(block, args, vmf->address,
				  vmf->flags & FAULT_FLAG_USER, counted))
		return 0;
	cpu_fault_window(vmf, block, args, rules);
	ret = cpu_fault_migrate(vmf, args, block->span->space, block, rules,
				moved);
	hmmrt_block_migrate_unlock(block);
	return ret;
}

/* Without a block only the touched page migrates. @space may be NULL. */
static vm_fault_t cpu_fault_alone(struct vm_fault *vmf,
				  struct migrate_vma *args,
				  struct hmmrt_space *space,
				  const struct cpu_fault_rules *rules,
				  unsigned long *moved, bool *counted)
{
	vm_fault_t ret = 0;

	if (space)
		atomic64_inc(&space->cpu_faults);
	*counted = true;
	if (orphan_trylock(vmf->page)) {
		ret = cpu_fault_migrate(vmf, args, space, NULL, rules, moved);
		orphan_unlock(vmf->page);
	} else if (!(vmf->flags & FAULT_FLAG_USER)) {
		/* As in hmmrt_cpu_fault_lock(). */
		cond_resched();
	}
	return ret;
}

static vm_fault_t cpu_fault(struct vm_fault *vmf, struct hmmrt_space *space,
			    unsigned long *moved, bool *counted)
{
	struct migrate_vma args = {
		.vma = vmf->vma,
		.start = vmf->address & PAGE_MASK,
		.end = (vmf->address & PAGE_MASK) + PAGE_SIZE,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = vmf->page,
	};
	struct cpu_fault_rules rules = { .node = NUMA_NO_NODE };
	struct hmmrt_block *block;
	vm_fault_t ret;

	/*
	 * A fault with a PTE is for a single page, even within a large folio.
	 */
	if (HMMRT_HAS_DEVICE_THP && !vmf->pte) {
		args.start = ALIGN_DOWN(vmf->address, HMMRT_BLOCK_SIZE);
		args.end = args.start + HMMRT_BLOCK_SIZE;
		args.flags |= HMMRT_SELECT_COMPOUND;
	}
	block = space ? hmmrt_block_find(space, vmf->address) : NULL;
	ret = block ? cpu_fault_in_block(vmf, &args, block, &rules, moved,
					 counted) :
		      cpu_fault_alone(vmf, &args, space, &rules, moved, counted);
	hmmrt_block_put(block);
	return ret;
}

/*
 * The instruction of the process, in a system call the one behind it. 0 if the
 * kernel or another process touched the page.
 */
static unsigned long cpu_fault_ip(const struct vm_fault *vmf)
{
	if (current->flags & PF_KTHREAD || current->mm != vmf->vma->vm_mm)
		return 0;
	return instruction_pointer(task_pt_regs(current));
}

static void cpu_fault_event(struct vm_fault *vmf, struct hmmrt_episode *episode,
			    const struct hmmrt_space *space,
			    unsigned long moved, vm_fault_t ret)
{
	hmmrt_episode_end(episode, space ? &space->events : NULL,
			  .type = HMMRT_EVENT_CPU_FAULT, .addr = vmf->address,
			  .pages = moved, .ip = cpu_fault_ip(vmf),
			  .access = vmf->flags & FAULT_FLAG_WRITE ?
					    HMMRT_ACCESS_WRITE :
					    HMMRT_ACCESS_READ,
			  .from = hmmrt_page_device(vmf->page)->id,
			  .to = HMMRT_LOCATION_HOST,
			  .error = !(ret & VM_FAULT_ERROR) ? 0 :
				   ret & VM_FAULT_OOM	   ? -ENOMEM :
							     -EIO);
}

/*
 * The CPU touched a page on a device. The block provides the lock, and decides
 * how many pages migrate along. Without a block (in a fork child, in a process
 * that closed its files, in a mapping that was moved) only the touched page
 * migrates.
 *
 * The core holds the page, and with it the device. The fault holds the space and
 * the block, and is in no section of hmmrt_srcu while it moves pages: a copy
 * takes as long as the device likes.
 *
 * Return: 0 also when nothing moved: the CPU faults again.
 */
vm_fault_t hmmrt_migrate_to_ram(struct vm_fault *vmf)
{
	struct hmmrt_episode episode;
	struct hmmrt_space *space;
	unsigned long moved = 0;
	bool counted = false;
	vm_fault_t ret;

	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	space = hmmrt_space_hold(vmf->vma->vm_mm);
	ret = cpu_fault(vmf, space, &moved, &counted);
	if (episode.recorded && counted)
		cpu_fault_event(vmf, &episode, space, moved, ret);
	else
		hmmrt_episode_cancel(&episode);
	hmmrt_space_put_later(space);
	return ret;
}
