// SPDX-License-Identifier: GPL-2.0-only
/*
 * Migration of private anonymous memory: to a device, and home.
 *
 * Everything else (files, shared memory, hugetlb, locked and special mappings)
 * stays where it is and is mapped remotely. The core refuses pages that are
 * pinned or busy; those stay too. A CPU fault brings home what the CPU cannot
 * reach, and leaves coherent memory alone; whoever asks for home gets both.
 *
 * Order      Destination memory is allocated before migrate_vma_setup(), for
 *            reclaim may need the pages that setup locks. block->migrate is held
 *            from setup to finalize, so that a CPU fault does not take single
 *            pages out of a run that is on its way.
 * Merged     KSM's pages do not move: the core would move one with all of its
 *            mappings, those of other processes too, or bounce it.
 * Large      A block that is one page to the CPU moves as one, where the core
 *            does that and both sides have room for it whole. It is asked for
 *            (HMMRT_SELECT_COMPOUND) when the destination is at hand only, for
 *            else the core splits the page before we see it, which is what we
 *            want then. An entry of src or dst that is compound stands for the
 *            block; the others are 0.
 * Callbacks  setup() and pages() invalidate the range: our own notifier runs, on
 *            this thread, and takes block->lock. So that is not held here.
 * Result     Which pages moved is known after migrate_vma_pages(), no earlier;
 *            pages that did not move are put back by finalize.
 */
#include <linux/hash.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/userfaultfd_k.h>

#include "hmmrt.h"
#include "trace.h"

bool hmmrt_vma_may_migrate(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) &&
	       !(vma->vm_flags & (VM_SPECIAL | VM_HUGETLB | VM_LOCKED));
}

/*
 * Whether pages of it may be private and anonymous, as the copies that a private
 * mapping of a file has of pages that were written. Those move when it is asked
 * for; the core refuses the file's own.
 */
bool hmmrt_vma_may_have_migratable(struct vm_area_struct *vma)
{
	return hmmrt_vma_may_migrate(vma) ||
	       (!vma_is_anonymous(vma) &&
		!(vma->vm_flags & (VM_SHARED | VM_SPECIAL | VM_HUGETLB |
				   VM_LOCKED)));
}

void hmmrt_fail_next_huge(struct hmmrt_binding *binding, bool fail)
{
	atomic_set(&binding->space->fail_huge, fail);
}
EXPORT_SYMBOL_GPL(hmmrt_fail_next_huge);

/* Whether one was asked for that there is to be none of. */
static bool huge_fails(struct hmmrt_space *space)
{
	return space && atomic_read(&space->fail_huge) &&
	       atomic_xchg(&space->fail_huge, 0);
}

static int block_migrate_lock(struct hmmrt_block *block)
{
	if (mutex_lock_killable(&block->migrate))
		return -EINTR;
	WRITE_ONCE(block->migrate_by_cpu_fault, false);
	return 0;
}

static struct hmmrt_device *pfn_device(unsigned long hmm_pfn)
{
	if (!(hmm_pfn & HMM_PFN_VALID) || (hmm_pfn & HMM_PFN_ERROR))
		return NULL;
	return hmmrt_page_device(hmm_pfn_to_page(hmm_pfn));
}

static bool pfn_merged(unsigned long hmm_pfn)
{
	return (hmm_pfn & HMM_PFN_VALID) && !(hmm_pfn & HMM_PFN_ERROR) &&
	       folio_test_ksm(page_folio(hmm_pfn_to_page(hmm_pfn)));
}

static unsigned long select_device(const struct hmmrt_device *dev)
{
	return hmmrt_device_is_coherent(dev) ?
		       MIGRATE_VMA_SELECT_DEVICE_COHERENT :
		       MIGRATE_VMA_SELECT_DEVICE_PRIVATE;
}

/* What of the window has to move, by the snapshot in req->pfns. */
struct plan {
	unsigned int first;
	unsigned int end;
	unsigned long select;		/* what the devices are that have some */
	bool huge;			/* all of the block, as one page */
	struct page *near;		/* a neighbour that is here already */
};

/*
 * Whether the CPU has, by the snapshot in req->pfns, one page for the whole block
 * or nothing yet where it would make one page of it. With VM_HUGEPAGE only: what
 * else it goes by then is not for modules to see.
 */
static bool block_is_huge(const struct hmmrt_request *req)
{
	if (!HMMRT_HAS_DEVICE_THP || req->start != req->block->start ||
	    req->end != req->start + HMMRT_BLOCK_SIZE)
		return false;
	if (req->pfns[0] & HMM_PFN_VALID)
		return hmm_pfn_to_map_order(req->pfns[0]) ==
		       HMMRT_BLOCK_SHIFT - PAGE_SHIFT;
	return (req->vma->vm_flags & VM_HUGEPAGE) &&
	       !memchr_inv(req->pfns, 0, sizeof(req->pfns));
}

static struct plan make_plan(struct hmmrt_request *req)
{
	unsigned int i, n = (req->end - req->start) >> PAGE_SHIFT;
	struct plan plan = { .first = n };

	req->there = 0;
	memset(req->stayed, 0, sizeof(req->stayed));
	for (i = 0; i < n; i++) {
		struct hmmrt_device *dev = pfn_device(req->pfns[i]);

		if (dev == req->binding->dev) {
			plan.near = hmm_pfn_to_page(req->pfns[i]);
			req->there++;
			continue;
		}
		if (dev && req->no_peers)
			continue;
		if (pfn_merged(req->pfns[i])) {
			req->stayed[HMMRT_STAY_UNSUITABLE]++;
			continue;
		}
		if (dev)
			plan.select |= select_device(dev);
		plan.first = min(plan.first, i);
		plan.end = i + 1;
	}
	/* Coherent memory has pages of one size only. */
	plan.huge = !plan.first && plan.end == HMMRT_BLOCK_PAGES &&
		    !(plan.select & MIGRATE_VMA_SELECT_DEVICE_COHERENT) &&
		    !hmmrt_device_is_coherent(req->binding->dev) &&
		    block_is_huge(req);
	return plan;
}

/*
 * Through system memory: the devices need not know each other. The source is
 * locked by now, so reclaim must not be waited for.
 */
static int copy_staged(struct hmmrt_device *dev, u64 offset,
		       struct hmmrt_device *peer, u64 peer_offset)
{
	struct page *stage = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
	int rc;

	if (!stage)
		return -ENOMEM;
	rc = peer->ops->copy_to_host(peer, &stage, peer_offset, 1);
	if (!rc)
		rc = dev->ops->copy_to_device(dev, offset, &stage, 1);
	__free_page(stage);
	return rc;
}

static int copy_peer(struct hmmrt_device *dev, struct page *dst,
		     struct page *src)
{
	struct hmmrt_device *peer = hmmrt_page_device(src);
	u64 offset = hmmrt_page_offset(dst);
	u64 peer_offset = hmmrt_page_offset(src);

	if (dev->ops == peer->ops && dev->ops->copy_from_peer &&
	    !dev->ops->copy_from_peer(dev, offset, peer, peer_offset, 1))
		return 0;
	return copy_staged(dev, offset, peer, peer_offset);
}

static u64 page_chunk_number(const struct page *page)
{
	return hmmrt_page_offset(page) >> HMMRT_CHUNK_SHIFT;
}

/*
 * Pages i and j go to device memory that is consecutive, from memory that the CPU
 * reaches. Within one chunk: behind it struct pages go on, but not what they
 * stand for.
 */
static bool same_run(struct page **dst, const unsigned long *src,
		     unsigned int i, unsigned int j)
{
	struct page *page = migrate_pfn_to_page(src[j]);

	return dst[j] == dst[i] + (j - i) &&
	       page_chunk_number(dst[j]) == page_chunk_number(dst[i]) &&
	       (!page || !is_device_private_page(page));
}

/* The block is one page, or a hole, and goes to a whole chunk. */
static int copy_huge(struct hmmrt_device *dev, struct page *dst,
		     struct page *src, struct page **from)
{
	unsigned int i;
	int rc = 0;

	if (src && is_device_private_page(src)) {
		for (i = 0; i < HMMRT_BLOCK_PAGES && !rc; i++)
			rc = copy_peer(dev, dst + i, src + i);
		return rc;
	}
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		from[i] = src ? src + i : NULL;
	return dev->ops->copy_to_device(dev, hmmrt_page_offset(dst), from,
					HMMRT_BLOCK_PAGES);
}

/* Copy by runs; dst of what could not be copied is cleared. */
static void copy_in(struct hmmrt_device *dev, const unsigned long *src,
		    unsigned long *dst, struct page **pages, struct page **from,
		    unsigned int n)
{
	unsigned int i, j, k;
	int rc;

	for (i = 0; i < n; i = j) {
		struct page *page = migrate_pfn_to_page(src[i]);

		j = i + 1;
		if (!dst[i])
			continue;
		if (dst[i] & HMMRT_PFN_COMPOUND) {
			rc = copy_huge(dev, pages[i], page, from);
		} else if (page && is_device_private_page(page)) {
			rc = copy_peer(dev, pages[i], page);
		} else {
			while (j < n && dst[j] && same_run(pages, src, i, j))
				j++;
			for (k = i; k < j; k++)
				from[k - i] = migrate_pfn_to_page(src[k]);
			rc = dev->ops->copy_to_device(dev,
						      hmmrt_page_offset(pages[i]),
						      from, j - i);
		}
		for (k = i; rc && k < j; k++) {
			unlock_page(pages[k]);
			put_page(pages[k]);
			pages[k] = NULL;
			dst[k] = 0;
		}
	}
}

/* Of the block: pages[] is a whole chunk. Its pages are no longer single ones. */
static void assign_huge(struct migrate_vma *args, struct page **pages)
{
	hmmrt_huge_page_init(pages[0]);
	args->dst[0] = migrate_pfn(page_to_pfn(pages[0])) | HMMRT_PFN_COMPOUND;
	memset(args->dst + 1, 0,
	       (HMMRT_BLOCK_PAGES - 1) * sizeof(args->dst[0]));
	memset(pages + 1, 0, (HMMRT_BLOCK_PAGES - 1) * sizeof(pages[0]));
}

/* Choose a destination for each page that setup() collected. */
static void assign_vram(struct hmmrt_request *req, struct migrate_vma *args,
			struct page **pages)
{
	struct hmmrt_device *dev = req->binding->dev;
	unsigned long i;

	for (i = 0; i < args->npages; i++) {
		struct page *page = migrate_pfn_to_page(args->src[i]);

		args->dst[i] = 0;
		if (!(args->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		if (page && hmmrt_page_device(page) == dev)
			continue;
		/* The core would put a writable page where a write is awaited. */
		if (!page && userfaultfd_wp(req->vma)) {
			req->stayed[HMMRT_STAY_UNSUITABLE]++;
			continue;
		}
		/* It is locked now, so this is for good. */
		if (page && folio_test_ksm(page_folio(page)))
			continue;
		if (!pages[i]) {
			req->stayed[HMMRT_STAY_NO_MEMORY]++;
			continue;
		}
		if (args->src[i] & HMMRT_PFN_COMPOUND) {
			assign_huge(args, pages);
			return;
		}
		hmmrt_page_init(pages[i]);
		args->dst[i] = migrate_pfn(page_to_pfn(pages[i]));
	}
}

/* How many pages an entry of src or dst stands for. */
static unsigned int pfn_pages(unsigned long migrate_pfn)
{
	return migrate_pfn & HMMRT_PFN_COMPOUND ? HMMRT_BLOCK_PAGES : 1;
}

static void count_moved(struct hmmrt_request *req,
			const struct migrate_vma *args)
{
	unsigned long i;

	for (i = 0; i < args->npages; i++)
		if (args->dst[i] && (args->src[i] & MIGRATE_PFN_MIGRATE))
			req->moved += pfn_pages(args->dst[i]);
}

/* Device memory for the plan is one chunk, in order. */
static bool is_whole_chunk(struct page **pages)
{
	unsigned int i;

	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		if (!pages[i] || hmmrt_page_index(pages[i]) != i ||
		    page_chunk_number(pages[i]) != page_chunk_number(pages[0]) ||
		    hmmrt_page_device(pages[i]) != hmmrt_page_device(pages[0]))
			return false;
	return true;
}

static int migrate_in(struct hmmrt_request *req, const struct plan *plan,
		      struct page **pages)
{
	struct migrate_vma args = {
		.vma = req->vma,
		.start = req->start + ((unsigned long)plan->first << PAGE_SHIFT),
		.end = req->start + ((unsigned long)plan->end << PAGE_SHIFT),
		.src = req->src,
		.dst = req->dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_SYSTEM | plan->select,
	};
	unsigned int i;
	int rc;

	lockdep_assert_held(&req->block->migrate);
	if (plan->huge && is_whole_chunk(pages) &&
	    !huge_fails(req->block->span->space))
		args.flags |= HMMRT_SELECT_COMPOUND;
	rc = migrate_vma_setup(&args);
	if (rc)
		return rc;
	if (!args.cpages)
		return 0;
	assign_vram(req, &args, pages);
	copy_in(req->binding->dev, args.src, args.dst, pages, req->from,
		args.npages);
	migrate_vma_pages(&args);
	count_moved(req, &args);
	migrate_vma_finalize(&args);
	/* What was initialised is not ours to give back. */
	for (i = 0; i < args.npages; i++)
		if (pages[i] && args.dst[i])
			pages[i] = NULL;
	return 0;
}

/* Look, and decide what moves. */
static int snapshot_and_plan(struct hmmrt_request *req, struct plan *plan)
{
	int idx, rc;

	idx = srcu_read_lock(&hmmrt_srcu);
	rc = hmmrt_snapshot(req);
	if (!rc && (req->access & HMMRT_ACCESS_WRITE) && hmmrt_mark_cow(req))
		rc = -EMLINK;
	if (!rc)
		rc = hmmrt_snapshot_widened(req);
	if (!rc)
		*plan = make_plan(req);
	srcu_read_unlock(&hmmrt_srcu, idx);
	return rc;
}

/* Fill req->pages for the plan. -ENOSPC: more memory can be made available. */
static int plan_alloc(struct hmmrt_request *req, const struct plan *plan)
{
	struct hmmrt_device *dev = req->binding->dev;
	unsigned int n = plan->end - plan->first;
	unsigned int index, got;
	bool full;

	index = ((req->start - req->block->start) >> PAGE_SHIFT) + plan->first;
	memset(req->pages, 0, n * sizeof(req->pages[0]));
	/* On our own device, which the binding holds. */
	req->pages[0] = plan->near;
	req->regions_seen = READ_ONCE(dev->vram.nr_regions);
	got = hmmrt_vram_alloc(dev, index, n, req->pages, &full);
	if (full && !req->no_grow &&
	    req->regions_seen < dev->vram.max_regions) {
		hmmrt_vram_free_unused(dev, req->pages, n);
		return -ENOSPC;
	}
	if (!got)
		req->stayed[HMMRT_STAY_NO_MEMORY] = n;
	return got;
}

/* Prefetches go where they are told to. */
static bool stays_home(struct hmmrt_request *req)
{
	unsigned int page = (req->addr - req->block->start) >> PAGE_SHIFT;

	lockdep_assert_held(&req->block->migrate);
	return req->access &&
	       hmmrt_policy_stays_home(&req->block->turns, page,
				       jiffies_to_msecs(jiffies));
}

static int migrate_locked(struct hmmrt_request *req)
{
	struct plan plan;
	int rc;

	lockdep_assert_held(&req->block->migrate);
	if (stays_home(req))
		return 0;
	rc = snapshot_and_plan(req, &plan);
	if (rc || plan.first >= plan.end)
		return rc;
	/* When it is full nothing is disturbed for nothing. */
	rc = plan_alloc(req, &plan);
	if (rc <= 0)
		return rc;
	rc = migrate_in(req, &plan, req->pages);
	hmmrt_vram_free_unused(req->binding->dev, req->pages,
			       plan.end - plan.first);
	return rc == -EINVAL ? 0 : rc;
}

/**
 * hmmrt_migrate_to_device() - move what can move of a window, best effort
 * @req: window within one vma
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0, whatever moved; -EMLINK nothing moved, for a write COW has to be
 * broken first, req->pfns says where; -ENOSPC likewise, see
 * hmmrt_request_again(); -EAGAIN something raced; -EINTR.
 * req->moved adds up over attempts; there and stayed are of this one.
 */
int hmmrt_migrate_to_device(struct hmmrt_request *req)
{
	u64 moved_before = req->moved;
	int rc;

	lockdep_assert_held(&req->vma->vm_mm->mmap_lock);
	rc = block_migrate_lock(req->block);
	if (rc)
		return rc;
	rc = migrate_locked(req);
	mutex_unlock(&req->block->migrate);
	trace_hmmrt_migrate_to_device(req->binding->dev->id, req->start,
				      req->end, req->moved - moved_before);
	return rc;
}

/* --- home --------------------------------------------------------------- */

/*
 * Where a window comes home to. All of it, or what there was memory for; of a
 * block that is one page on the device one page, or else single ones.
 */
struct home_pages {
	unsigned int n;
	bool huge;			/* page[] is one page */
	struct page *page[HMMRT_BLOCK_PAGES];
};

static struct page *alloc_host_page(struct vm_area_struct *vma,
				    unsigned long addr, bool must)
{
	gfp_t gfp = GFP_HIGHUSER_MOVABLE;

	/* Neighbours are a favour; the page itself is not. */
	if (!must)
		gfp |= __GFP_NORETRY | __GFP_NOWARN;
	return alloc_page_vma(gfp, vma, addr);
}

static void alloc_host(struct vm_area_struct *vma, unsigned long start,
		       struct home_pages *to, unsigned int n, unsigned int must)
{
	unsigned int i;

	to->n = n;
	to->huge = false;
	for (i = 0; i < n; i++)
		to->page[i] = alloc_host_page(vma,
					      start + ((unsigned long)i
						       << PAGE_SHIFT),
					      i == must);
}

/* One page for a block. false: there is none. */
static bool alloc_host_huge(struct hmmrt_space *space,
			    struct vm_area_struct *vma, unsigned long start,
			    struct home_pages *to)
{
	struct page *page = NULL;
	unsigned int i;

	if (!huge_fails(space))
		page = hmmrt_alloc_huge_page(GFP_TRANSHUGE | __GFP_NORETRY, vma,
					     start);
	if (!page)
		return false;
	to->n = HMMRT_BLOCK_PAGES;
	to->huge = true;
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		to->page[i] = page + i;
	return true;
}

/* What has been used is no longer ours. */
static void home_page_used(struct home_pages *to, unsigned int i)
{
	if (to->huge)
		memset(to->page, 0, sizeof(to->page));
	else
		to->page[i] = NULL;
}

static void free_host(struct home_pages *to)
{
	unsigned int i;

	for (i = 0; i < to->n; i++) {
		if (!to->page[i])
			continue;
		put_page(to->page[i]);
		home_page_used(to, i);
	}
}

/* Pages that follow each other; their device may be any of ours. */
static bool copy_out(struct page *src, struct page **dst, unsigned int n)
{
	struct hmmrt_device *dev = hmmrt_page_device(src);
	u64 offset = hmmrt_page_offset(src);
	int rc = dev->ops->copy_to_host(dev, dst, offset, n);

	if (rc)
		pr_err_ratelimited("%s: device memory at %#llx could not be read: %d\n",
				   dev->name, offset, rc);
	return !rc;
}

/* What became of a window that came home. */
struct homecoming {
	unsigned long moved;
	unsigned long no_memory;
	bool must_unreadable;		/* its device could not give it back */
	bool raced;			/* it was no longer one page */
};

/*
 * The block is one page. If we do not have one for it the core splits it, as far
 * as it can: that takes single pages from the first one on.
 */
static void assign_home_huge(struct migrate_vma *args, struct home_pages *to,
			     struct homecoming *home)
{
	struct page *src = migrate_pfn_to_page(args->src[0]);
	unsigned int i;

	home->no_memory = to->page[0] ? 0 : HMMRT_BLOCK_PAGES;
	if (home->no_memory)
		return;
	/* The touched page is one of them. */
	if (!copy_out(src, to->page, to->n)) {
		home->must_unreadable = true;
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
			home->no_memory++;
			continue;
		}
		lock_page(to->page[i]);
		args->dst[i] = migrate_pfn(page_to_pfn(to->page[i]));
	}
}

/*
 * Only what @dev has, unless that is NULL. What a device cannot give back stays
 * there; of @must, the index of a page, the caller is told.
 */
static void assign_home(struct migrate_vma *args, struct home_pages *to,
			const struct hmmrt_device *dev, unsigned long must,
			struct homecoming *home)
{
	unsigned long i;

	memset(args->dst, 0, args->npages * sizeof(args->dst[0]));
	for (i = 0; i < args->npages; i++) {
		struct page *src = migrate_pfn_to_page(args->src[i]);

		if (!src || !(args->src[i] & MIGRATE_PFN_MIGRATE))
			continue;
		if (dev && hmmrt_page_device(src) != dev)
			continue;
		if (args->src[i] & HMMRT_PFN_COMPOUND) {
			assign_home_huge(args, to, home);
			return;
		}
		home->raced = to->huge;
		if (to->huge)
			return;
		if (i >= to->n || !to->page[i]) {
			home->no_memory++;
			continue;
		}
		if (!copy_out(src, &to->page[i], 1)) {
			home->must_unreadable |= i == must;
			continue;
		}
		lock_page(to->page[i]);
		args->dst[i] = migrate_pfn(page_to_pfn(to->page[i]));
	}
}

static struct homecoming migrate_out(struct migrate_vma *args,
				     struct home_pages *to,
				     const struct hmmrt_device *dev,
				     unsigned long must)
{
	struct homecoming home = {};
	unsigned long i;

	assign_home(args, to, dev, must, &home);
	migrate_vma_pages(args);
	for (i = 0; i < args->npages; i++) {
		if (!args->dst[i])
			continue;
		/* The only copy: reclaim must not take it for a clean page. */
		folio_mark_dirty(page_folio(to->page[i]));
		if (args->src[i] & MIGRATE_PFN_MIGRATE)
			home.moved += pfn_pages(args->dst[i]);
		home_page_used(to, i);
	}
	migrate_vma_finalize(args);
	return home;
}

/* src, dst and pages for up to a block; not initialised. */
struct home_arrays {
	unsigned long src[HMMRT_BLOCK_PAGES];
	unsigned long dst[HMMRT_BLOCK_PAGES];
	struct home_pages to;
};

/**
 * hmmrt_migrate_to_host() - bring a window home, best effort
 * @req: window within one vma and block, with a snapshot of it; with a binding,
 *	only what its device has, unless all_devices is set
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0, -EINTR or -ENOMEM; -EAGAIN something raced. req->moved counts.
 */
int hmmrt_migrate_to_host(struct hmmrt_request *req)
{
	const struct hmmrt_device *dev =
		req->binding && !req->all_devices ? req->binding->dev : NULL;
	unsigned int n = (req->end - req->start) >> PAGE_SHIFT;
	struct migrate_vma args = {
		.vma = req->vma,
		.start = req->start,
		.end = req->end,
		.src = req->src,
		.dst = req->dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = dev ? select_device(dev) :
			       MIGRATE_VMA_SELECT_DEVICE_PRIVATE |
				       MIGRATE_VMA_SELECT_DEVICE_COHERENT,
	};
	struct homecoming home = {};
	struct home_pages *to;
	int rc;

	lockdep_assert_held(&req->vma->vm_mm->mmap_lock);
	to = kvmalloc(sizeof(*to), GFP_KERNEL);
	if (!to)
		return -ENOMEM;
	if (block_is_huge(req) && alloc_host_huge(req->block->span->space,
						  req->vma, req->start, to))
		args.flags |= HMMRT_SELECT_COMPOUND;
	else
		alloc_host(req->vma, req->start, to, n, n);
	rc = block_migrate_lock(req->block);
	if (rc)
		goto out_free;
	rc = migrate_vma_setup(&args);
	if (!rc && args.cpages)
		home = migrate_out(&args, to, dev, ULONG_MAX);
	mutex_unlock(&req->block->migrate);
	if (home.raced)
		rc = -EAGAIN;
	req->moved += home.moved;
	req->stayed[HMMRT_STAY_NO_MEMORY] += home.no_memory;
	trace_hmmrt_migrate_to_host(req->start, req->end, req->moved, false);
out_free:
	free_host(to);
	kvfree(to);
	return rc == -EINVAL ? 0 : rc;
}

/*
 * One CPU fault may wait for a device's migration to end, where the core does
 * not hold the page lock: that merely skips this page. No second one: it would
 * keep the first from migrating by its reference to the page.
 */
static bool cpu_fault_wait(struct hmmrt_block *block)
{
	int rc;

	if (!HMMRT_MIGRATE_TO_RAM_MAY_WAIT ||
	    READ_ONCE(block->migrate_by_cpu_fault) ||
	    atomic_cmpxchg(&block->cpu_fault_waits, 0, 1))
		return false;
	rc = mutex_lock_killable(&block->migrate);
	atomic_set(&block->cpu_fault_waits, 0);
	return !rc;
}

/*
 * A CPU fault may not wait for another one: on kernels that call us with an
 * extra page reference the two would keep each other from migrating, for ever.
 * Nor may it let others run while it has that reference; user mode does so on
 * its way out, without it. false: go back and fault again.
 */
static bool cpu_fault_lock(struct hmmrt_block *block,
			   const struct vm_fault *vmf)
{
	if (!mutex_trylock(&block->migrate) && !cpu_fault_wait(block)) {
		if (!(vmf->flags & FAULT_FLAG_USER))
			cond_resched();
		return false;
	}
	WRITE_ONCE(block->migrate_by_cpu_fault, true);
	return true;
}

/* In place of block->migrate where there is no block; only ever tried. */
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
	*orphan_slot(page) = NULL;
	spin_unlock(&orphans_lock);
}

static void cpu_fault_window(struct vm_fault *vmf, struct hmmrt_block *block,
			     struct migrate_vma *args)
{
	struct hmmrt_policy_window win = { .count = HMMRT_BLOCK_PAGES };

	lockdep_assert_held(&block->migrate);
	if (!(args->flags & HMMRT_SELECT_COMPOUND))
		win = hmmrt_policy_host_window(&block->cpu_run,
					       (args->start - block->start)
						       >> PAGE_SHIFT);
	hmmrt_policy_came_home(&block->turns, win, jiffies_to_msecs(jiffies));
	args->start = max(block->start + ((unsigned long)win.first
					  << PAGE_SHIFT),
			  vmf->vma->vm_start);
	args->end = min(block->start + ((unsigned long)(win.first + win.count)
					<< PAGE_SHIFT),
			vmf->vma->vm_end);
}

/*
 * Memory for a window that the CPU touched. false: none for the touched page.
 *
 * Where that is one page for the block and there is none for it, a single page
 * will do: the core cannot split what the fault has a reference to, but in trying
 * it turns the entry into single ones, and the access is repeated.
 */
static bool cpu_fault_alloc(struct hmmrt_space *space, struct vm_fault *vmf,
			    const struct migrate_vma *args,
			    struct home_pages *to)
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

static vm_fault_t cpu_fault_migrate(struct vm_fault *vmf,
				    struct migrate_vma *args,
				    struct hmmrt_space *space)
{
	struct home_arrays *arrays;
	struct homecoming home;
	vm_fault_t ret = 0;

	arrays = kvmalloc(sizeof(*arrays), GFP_KERNEL);
	if (!arrays)
		return VM_FAULT_OOM;
	if (!cpu_fault_alloc(space, vmf, args, &arrays->to)) {
		ret = VM_FAULT_OOM;
		goto out_free;
	}
	args->src = arrays->src;
	args->dst = arrays->dst;
	if (migrate_vma_setup(args)) {
		ret = VM_FAULT_SIGBUS;
		goto out_free;
	}
	if (!args->cpages)
		goto out_free;
	home = migrate_out(args, &arrays->to, NULL,
			   (vmf->address - args->start) >> PAGE_SHIFT);
	trace_hmmrt_migrate_to_host(args->start, args->end, home.moved, true);
	if (space)
		atomic64_add(home.moved, &space->migrated_to_host);
	/* Faulting again would not help. */
	if (home.must_unreadable)
		ret = VM_FAULT_SIGBUS;
out_free:
	free_host(&arrays->to);
	kvfree(arrays);
	return ret;
}

/*
 * The CPU touched a page on a device. The block is looked up for its lock and
 * for how much to bring along; without one (a fork child, a process that closed
 * its files, a mapping that was moved) the page comes alone.
 *
 * Return: 0 also when nothing moved: the CPU faults again.
 */
vm_fault_t hmmrt_migrate_to_ram(struct vm_fault *vmf)
{
	struct migrate_vma args = {
		.vma = vmf->vma,
		.start = vmf->address & PAGE_MASK,
		.end = (vmf->address & PAGE_MASK) + PAGE_SIZE,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = vmf->page,
	};
	struct hmmrt_block *block = NULL;
	struct hmmrt_space *space;
	vm_fault_t ret = 0;
	int idx;

	/* With a PTE it is single pages, whatever they still are parts of. */
	if (HMMRT_HAS_DEVICE_THP && !vmf->pte) {
		args.start = ALIGN_DOWN(vmf->address, HMMRT_BLOCK_SIZE);
		args.end = args.start + HMMRT_BLOCK_SIZE;
		args.flags |= HMMRT_SELECT_COMPOUND;
	}
	idx = srcu_read_lock(&hmmrt_srcu);
	space = hmmrt_space_find(vmf->vma->vm_mm);
	if (space) {
		atomic64_inc(&space->cpu_faults);
		block = hmmrt_block_find(space, vmf->address);
	}
	if (block) {
		if (!cpu_fault_lock(block, vmf))
			goto out_srcu;
		cpu_fault_window(vmf, block, &args);
		ret = cpu_fault_migrate(vmf, &args, space);
		mutex_unlock(&block->migrate);
	} else if (orphan_trylock(vmf->page)) {
		ret = cpu_fault_migrate(vmf, &args, space);
		orphan_unlock(vmf->page);
	} else if (!(vmf->flags & FAULT_FLAG_USER)) {
		/* As in cpu_fault_lock(). */
		cond_resched();
	}
out_srcu:
	srcu_read_unlock(&hmmrt_srcu, idx);
	return ret;
}
