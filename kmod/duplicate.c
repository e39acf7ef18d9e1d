// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of read-mostly pages: a device reads its own, and the CPU and the other
 * devices go on reading the page itself, which stays where it is.
 *
 * A copy is right for as long as nobody writes the page, so a write has to be
 * heard of before it happens. Pages of private anonymous memory are written
 * without a word to anybody, once they are writable. But the core knows pages
 * that a process must not write in place, those that fork() has left shared, and
 * it tells all notifiers before it gives the process another one instead. So a
 * page that is copied is put into that state:
 *
 * Shared     migrate_vma_setup() takes the page out of all page tables and looks
 *            whether somebody else has a hold of it. The migration entry that it
 *            leaves is made one of a shared page, as fork() does with those it
 *            meets. Then the migration is called off: the page comes back mapped
 *            read-only, and not as this process's alone.
 *            Only here the page is locked, and nothing is waited for meanwhile:
 *            invalidations may be waiting for its lock. A huge page that is copied
 *            whole is isolated and comes back as one, where the kernel can.
 * Held       With a reference of ours the page has two users, and a write goes
 *            to a new page (wp_page_copy()): the core asks for the references to the
 *            page, not for its mapping alone. A write to a huge page first splits the
 *            entry, which invalidates all of it. A pin of the page itself (FOLL_PIN)
 *            gets a new page in the same way.
 * Copied     once it is seen to be mapped like that, or known to be for the copy of
 *            another device. Nobody writes it from the look on, until an
 *            invalidation of its address.
 * Collapsed  by any invalidation, of whatever cause: the entry of the device goes
 *            in the notifier, then its cached copies, and then the copy and our
 *            reference. The core goes on after that. So when the page is alone
 *            again there is no copy.
 *
 * selftest.c sees when the module is loaded whether the kernel does that, with a
 * single page; where it does not there are no copies.
 *
 * To others it is a page in system memory that fork() had shared, and that somebody
 * holds. Who moves pages and unmaps them first is heard of, and then it is not held
 * any more; compaction looks before it unmaps, and goes by. So pages that promised
 * to be movable (ZONE_MOVABLE) are not copied.
 *
 * Locking    map->copies and what is in it: block->lock. Copies are made with
 *            block->migrate held, and given to the device only if no
 *            invalidation was heard of since.
 */
#include <linux/hmm.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/swapops.h>

#include "hmmrt.h"
#include "trace.h"

/* Its page is held; the copy is device memory without a user of its own. */
struct hmmrt_copy {
	struct list_head link;		/* of those to be freed */
	struct page *original;
	struct page *page;
};

/* The copies of one device in one block, by page. */
struct hmmrt_copies {
	struct hmmrt_copy *at[HMMRT_BLOCK_PAGES];
};

/* Memory of the device that has a copy of a page, or NULL. */
struct page *hmmrt_copy_page(const struct hmmrt_block_map *map,
			     unsigned int index)
{
	if (!map->copies || !map->copies->at[index])
		return NULL;
	return map->copies->at[index]->page;
}

/* --- taking away ------------------------------------------------------------ */

/**
 * hmmrt_copies_take() - the entries of some pages are gone
 * @map: of one device in one block; block->lock is held
 * @first: page of the block
 * @count: pages
 * @taken: collects the copies, for hmmrt_copies_free()
 */
void hmmrt_copies_take(struct hmmrt_block_map *map, unsigned int first,
		       unsigned int count, struct list_head *taken)
{
	unsigned int i;

	if (!map->copies)
		return;
	for (i = first; i < first + count; i++) {
		if (!map->copies->at[i])
			continue;
		list_add_tail(&map->copies->at[i]->link, taken);
		map->copies->at[i] = NULL;
	}
}

static void copy_free(struct hmmrt_copy *copy)
{
	if (copy->page)
		hmmrt_vram_free_unused(hmmrt_page_device(copy->page),
				       &copy->page, 1);
	if (copy->original)
		put_page(copy->original);
	kfree(copy);
}

/*
 * Once no device uses them. The originals may be written in place from here on.
 * Context: any that may sleep; in notifiers. In the section of hmmrt_srcu, or with
 * the reference to the block, in which they were taken off it: until then chunks
 * name the block, see hmmrt_vram_next_copy().
 */
void hmmrt_copies_free(struct list_head *taken)
{
	struct hmmrt_copy *copy, *next;

	list_for_each_entry_safe(copy, next, taken, link)
		copy_free(copy);
}

/**
 * hmmrt_copies_evict() - give up the copies that are in a chunk of device memory
 * @dev: whose
 * @chunk: of it
 * @pages: of it, or NULL: all of them
 * @room: to make room
 *
 * With all that devices have of the blocks that they are of: they fault again.
 * Context: may sleep, no lock of ours is held.
 */
void hmmrt_copies_evict(struct hmmrt_device *dev, struct hmmrt_chunk *chunk,
			const unsigned long *pages, bool room)
{
	struct hmmrt_block *block;
	unsigned int index = 0;
	int idx;

	idx = srcu_read_lock(&hmmrt_srcu);
	while ((block = hmmrt_vram_next_copy(dev, chunk, pages, &index))) {
		const unsigned long *mapped = block->maps[dev->id]->mapped;

		if (room) {
			mutex_lock(&block->lock);
			hmmrt_thrashing_evicted(block, dev->id,
						bitmap_weight(mapped,
							      HMMRT_BLOCK_PAGES));
			mutex_unlock(&block->lock);
		}
		hmmrt_span_revoke(block->span->space, block->start,
				  block->start + HMMRT_BLOCK_SIZE);
		hmmrt_block_put(block);
	}
	srcu_read_unlock(&hmmrt_srcu, idx);
}

static bool block_has_copies(struct hmmrt_block *block)
{
	bool found = false;
	u32 id;

	mutex_lock(&block->lock);
	for (id = 0; id < HMMRT_MAX_DEVICES && !found; id++) {
		const struct hmmrt_block_map *map = block->maps[id];

		found = map && map->copies &&
			memchr_inv(map->copies, 0, sizeof(*map->copies));
	}
	mutex_unlock(&block->lock);
	return found;
}

/**
 * hmmrt_copies_let_split() - give up the copies of a huge page that is to be split
 * @req: with a snapshot
 * @first: of the pages of the window that migrate_vma_setup() is to isolate
 * @count: of those
 *
 * The core refuses to split a huge page of which any page has a further reference, as
 * the pages with copies have. An invalidation ends the copies of these pages only.
 * Context: block->migrate held.
 * Return: whether there were some.
 */
bool hmmrt_copies_let_split(const struct hmmrt_request *req,
			    unsigned int first, unsigned int count)
{
	struct hmmrt_block *block = req->block;

	lockdep_assert_held(&block->migrate);
	if (count == HMMRT_BLOCK_PAGES ||
	    hmm_pfn_to_map_order(req->pfns[first]) <
		    HMMRT_BLOCK_SHIFT - PAGE_SHIFT ||
	    !block_has_copies(block))
		return false;
	hmmrt_span_revoke(block->span->space, block->start,
			  block->start + HMMRT_BLOCK_SIZE);
	return true;
}

/* The block goes, and its copies are gone. */
void hmmrt_copies_destroy(struct hmmrt_block_map *map)
{
	unsigned int i;

	if (!map || !map->copies)
		return;
	for (i = 0; i < HMMRT_BLOCK_PAGES; i++)
		WARN_ON_ONCE(map->copies->at[i]);
	kvfree(map->copies);
}

/* --- making ------------------------------------------------------------------ */

/*
 * A run of pages to be copied together: of those that are shared already, for
 * they have copies on other devices, or of those that are not.
 */
struct run {
	unsigned int first;		/* in the window */
	unsigned int count;
	bool shared;
};

static unsigned long page_addr(const struct hmmrt_request *req, unsigned int i)
{
	return req->start + ((unsigned long)i << PAGE_SHIFT);
}

static unsigned long run_start(const struct hmmrt_request *req,
			       const struct run *run)
{
	return page_addr(req, run->first);
}

static unsigned int block_index(const struct hmmrt_request *req,
				unsigned int i)
{
	return ((req->start - req->block->start) >> PAGE_SHIFT) + i;
}

static struct hmmrt_block_map *req_map(const struct hmmrt_request *req)
{
	return req->block->maps[req->binding->dev->id];
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

/* Whether the page, by the snapshot, is one that can be copied. */
static bool pfn_suits(unsigned long pfn)
{
	return (pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR) &&
	       page_suits(hmm_pfn_to_page(pfn));
}

static bool has_copy(const struct hmmrt_block *block, u32 id,
		     unsigned int index)
{
	return block->maps[id] && hmmrt_copy_page(block->maps[id], index);
}

/* How many devices have a copy of a page. */
unsigned int hmmrt_copies_of(const struct hmmrt_block *block,
			     unsigned int index)
{
	unsigned int id, count = 0;

	lockdep_assert_held(&block->lock);
	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		count += has_copy(block, id, index);
	return count;
}

#define TO_SHARE	1ul
#define IS_SHARED	2ul

/*
 * What has to be done with each page, in req->src, by the snapshot in req->pfns.
 * Returns how many there are from the first one to the last.
 */
static unsigned int mark_wanted(struct hmmrt_request *req, unsigned int *first)
{
	unsigned int i, n = hmmrt_request_pages(req), end = 0;
	u32 id = req->binding->dev->id;
	struct hmmrt_place place = {};

	*first = n;
	req->there = 0;
	bitmap_zero(req->wanted, HMMRT_BLOCK_PAGES);
	mutex_lock(&req->block->lock);
	for (i = 0; i < n; i++) {
		unsigned int index = block_index(req, i);
		unsigned long pfn = req->pfns[i];

		req->src[i] = 0;
		if (has_copy(req->block, id, index) ||
		    ((pfn & HMM_PFN_VALID) && !(pfn & HMM_PFN_ERROR) &&
		     hmmrt_place_device(&place, hmm_pfn_to_page(pfn)) ==
			     req->binding->dev)) {
			hmmrt_outcome_set(req, page_addr(req, i), 1,
					  HMMRT_OUTCOME_THERE);
			req->there++;
			continue;
		}
		if (!pfn_suits(pfn))
			continue;
		/* It has none of this device, so those are others'. */
		req->src[i] = hmmrt_copies_of(req->block, index) ? IS_SHARED :
								   TO_SHARE;
		/* An entry is not replaced by another one, but taken away. */
		if (req->src[i] == IS_SHARED &&
		    test_bit(index, req_map(req)->mapped)) {
			req->src[i] = 0;
			continue;
		}
		__set_bit(i, req->wanted);
		*first = min(*first, i);
		end = i + 1;
	}
	mutex_unlock(&req->block->lock);
	return end > *first ? end - *first : 0;
}

static int copies_alloc(struct hmmrt_request *req)
{
	struct hmmrt_block_map *map = req_map(req);
	struct hmmrt_copies *copies;

	lockdep_assert_held(&req->block->migrate);
	/* Set once, by who holds block->migrate. */
	if (map->copies)
		return 0;
	copies = kvzalloc(sizeof(*copies), GFP_KERNEL_ACCOUNT);
	if (!copies)
		return -ENOMEM;
	mutex_lock(&req->block->lock);
	map->copies = copies;
	mutex_unlock(&req->block->lock);
	return 0;
}

/*
 * The entries of isolated pages become those of shared pages; from[] has a
 * reference to each such page. The table is locked.
 */
static void share_entries(struct migrate_vma *args, struct page **from,
			  pte_t *ptep)
{
	unsigned long i, addr = args->start;

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
	share_entries(args, from, ptep);
	spin_unlock(lock);
}

/* The same for a huge page that was isolated as one. The entry is locked. */
static void share_huge_entry(struct migrate_vma *args, struct page **from,
			     pmd_t *pmdp)
{
	struct page *page = migrate_pfn_to_page(args->src[0]);
	unsigned int i;

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
 * What setup() left proves that there was a table, but it may be gone since: who
 * frees it, or puts a huge page there, takes the lock of the entry above. That may
 * be the table's own.
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
			share_entries(args, from, ptep);
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
 * Fill copies of the run from @from, where it is set; those that come to nothing
 * are taken off it.
 */
static void copy_run(struct hmmrt_request *req, const struct run *run,
		     struct page **from)
{
	struct hmmrt_device *dev = req->binding->dev;
	struct page **to = req->pages + run->first;
	unsigned int i, j, k;

	for (i = 0; i < run->count; i = j) {
		j = i + 1;
		if (!from[i])
			continue;
		while (j < run->count && from[j] && to[j] == to[i] + (j - i) &&
		       hmmrt_pages_share_chunk(to[j], to[i]))
			j++;
		if (!dev->ops->copy_to_device(dev, hmmrt_page_offset(to[i]),
					      from + i, j - i))
			continue;
		for (k = i; k < j; k++)
			release_page(&from[k]);
	}
}

/*
 * Whether the window is still to be copied. The advice was of all of it, and copies
 * must not outlive advice that is taken back. @seq was read before: a call that takes
 * advice back afterwards counts an invalidation of the block (hmmrt_span_revoke()).
 * Either commit_run() finds that, or the call comes after it and takes the copies
 * away. So no advice is looked up under block->lock. What a knob said holds for what
 * was decided by it.
 */
static bool is_duplicated(const struct hmmrt_request *req,
			  const struct run *run)
{
	unsigned long start = run_start(req, run);
	unsigned long end = page_addr(req, run->first + run->count);
	unsigned long run_end = end;
	struct hmmrt_advice advice;

	lockdep_assert_not_held(&req->block->lock);
	if (req->knobs.of[HMMRT_KNOB_READ_DUPLICATION])
		return true;
	advice = hmmrt_advice_at(req->block->span->space, start, &start, &end);
	return (advice.flags & HMMRT_RANGE_READ_MOSTLY) && end == run_end;
}

/* The device reads the copies from now on, if they still are some. */
static int commit_run(struct hmmrt_request *req, const struct run *run,
		      struct page **from, unsigned long seq,
		      struct list_head *spare)
{
	struct hmmrt_binding *binding = req->binding;
	struct hmmrt_block *block = req->block;
	struct hmmrt_block_map *map = req_map(req);
	unsigned int base = block_index(req, run->first);
	hmmrt_pte_t *ptes = req->copy_ptes;
	unsigned int i;

	lockdep_assert_held(&block->migrate);
	/* Reclaim takes the lock: no code waits for other calls under it. */
	if (!is_duplicated(req, run))
		return -EAGAIN;
	mutex_lock(&block->lock);
	if (map->zapping || hmmrt_block_read_retry(block, seq)) {
		mutex_unlock(&block->lock);
		return -EAGAIN;
	}
	for (i = 0; i < run->count; i++) {
		struct page **to = &req->pages[run->first + i];
		struct hmmrt_copy *copy;

		ptes[i] = 0;
		/* An entry is not replaced by another one, but taken away. */
		if (!from[i] || test_bit(base + i, map->mapped))
			continue;
		copy = list_first_entry(spare, struct hmmrt_copy, link);
		list_del(&copy->link);
		copy->original = from[i];
		copy->page = *to;
		from[i] = NULL;
		*to = NULL;
		map->copies->at[base + i] = copy;
		hmmrt_vram_note_copy(copy->page, block);
		ptes[i] = HMMRT_PTE_VALID | HMMRT_PTE_DEVICE |
			  hmmrt_page_offset(copy->page);
		if (req->exec)
			ptes[i] |= HMMRT_PTE_EXEC;
		__set_bit(base + i, map->local);
		__set_bit(base + i, map->mapped);
		__clear_bit(base + i, map->writable);
		hmmrt_outcome_set(req, page_addr(req, run->first + i), 1,
				  HMMRT_OUTCOME_MOVED);
		req->copied++;
	}
	binding->dev->ops->map(binding, run_start(req, run), ptes, run->count);
	mutex_unlock(&block->lock);
	return 0;
}

static void release_run(const struct run *run, struct page **from)
{
	unsigned int i;

	for (i = 0; i < run->count; i++)
		release_page(&from[i]);
}

/**
 * hmmrt_share_pages() - make pages of a process shared, and hold them
 * @args: range within one table, and what to select; nothing is migrated
 * @from: for as many pages: becomes each one that is shared and held, or NULL
 *
 * As long as such a page is held, a write by the process goes to a new page, after an
 * invalidation: see the top.
 * Context: mmap_lock held.
 * Return: 0; -ENOMEM; -EINVAL, nothing of it can be migrated.
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
static int share_run(struct hmmrt_request *req, const struct run *run,
		     struct page **from)
{
	struct migrate_vma args = {
		.vma = req->vma,
		.start = run_start(req, run),
		.end = run_start(req, run) +
		       ((unsigned long)run->count << PAGE_SHIFT),
		.src = req->src + run->first,
		.dst = req->dst + run->first,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_SYSTEM,
	};
	int rc;

	lockdep_assert_held(&req->block->migrate);
	/* The rest of it is to be copied again as well. */
	if (hmmrt_copies_let_split(req, run->first, run->count))
		return -EAGAIN;
	/* A huge page stays one, if the kernel can and all of it is to be copied. */
	if (run->count == HMMRT_BLOCK_PAGES)
		args.flags |= HMMRT_SELECT_COMPOUND;
	rc = hmmrt_share_pages(&args, from);
	return rc == -EINVAL ? 0 : rc;
}

/* Those that are mapped as shared pages now; the others are let go. */
static int see_shared(struct hmmrt_request *req, const struct run *run,
		      struct page **from, unsigned long *seq)
{
	struct hmm_range range = {
		.start = run_start(req, run),
		.end = run_start(req, run) +
		       ((unsigned long)run->count << PAGE_SHIFT),
		.hmm_pfns = req->dst,
		.dev_private_owner = hmmrt_pgmap_owner(),
	};
	unsigned int i;
	int rc;

	rc = hmmrt_look(req->block, &range, seq);
	for (i = 0; i < run->count && !rc; i++) {
		unsigned long pfn = req->dst[i];

		if (!(pfn & HMM_PFN_VALID) ||
		    (pfn & (HMM_PFN_WRITE | HMM_PFN_ERROR)) ||
		    hmm_pfn_to_page(pfn) != from[i] || !page_suits(from[i]))
			release_page(&from[i]);
	}
	return rc;
}

/* Pages that are their owner's alone: see the top. */
static int share_and_copy(struct hmmrt_request *req, const struct run *run,
			  struct list_head *spare)
{
	unsigned long seq;
	int rc;

	rc = share_run(req, run, req->from);
	if (!rc)
		rc = see_shared(req, run, req->from, &seq);
	if (!rc) {
		copy_run(req, run, req->from);
		rc = commit_run(req, run, req->from, seq, spare);
	}
	release_run(run, req->from);
	return rc;
}

/* A reference to each page that a copy elsewhere proves to be shared. */
static int hold_shared(struct hmmrt_request *req, const struct run *run,
		       struct page **from, unsigned long seq)
{
	struct hmmrt_block *block = req->block;
	u32 id, own = req->binding->dev->id;
	unsigned int i;
	int rc = 0;

	mutex_lock(&block->lock);
	if (hmmrt_block_read_retry(block, seq))
		rc = -EAGAIN;
	for (i = 0; i < run->count; i++) {
		unsigned int index = block_index(req, run->first + i);

		from[i] = NULL;
		for (id = 0; id < HMMRT_MAX_DEVICES && !rc && !from[i]; id++)
			if (id != own && has_copy(block, id, index))
				from[i] = block->maps[id]->copies->at[index]->original;
		if (from[i])
			get_page(from[i]);
	}
	mutex_unlock(&block->lock);
	return rc;
}

static int copy_shared(struct hmmrt_request *req, const struct run *run,
		       struct list_head *spare)
{
	unsigned long seq;
	int rc;

	seq = hmmrt_block_read_begin(req->block, NULL);
	rc = hold_shared(req, run, req->from, seq);
	if (!rc) {
		copy_run(req, run, req->from);
		rc = commit_run(req, run, req->from, seq, spare);
	}
	release_run(run, req->from);
	return rc;
}

static int copy_runs(struct hmmrt_request *req, unsigned int first,
		     unsigned int count, struct list_head *spare)
{
	unsigned long todo[BITS_TO_LONGS(HMMRT_BLOCK_PAGES)] = {};
	unsigned long shared[BITS_TO_LONGS(HMMRT_BLOCK_PAGES)] = {};
	unsigned int i, end = first + count;
	int rc = 0;

	/* req->src is used again. */
	for (i = first; i < end; i++) {
		if (req->src[i] && req->pages[i])
			__set_bit(i, todo);
		if (req->src[i] == IS_SHARED)
			__set_bit(i, shared);
	}
	for (i = find_next_bit(todo, end, first); i < end && !rc;) {
		struct run run = { .first = i, .shared = test_bit(i, shared) };

		while (i < end && test_bit(i, todo) &&
		       test_bit(i, shared) == run.shared)
			i++;
		run.count = i - run.first;
		rc = run.shared ? copy_shared(req, &run, spare) :
				  share_and_copy(req, &run, spare);
		i = find_next_bit(todo, end, i);
	}
	return rc;
}

static int spare_alloc(struct list_head *spare, unsigned int count)
{
	while (count--) {
		struct hmmrt_copy *copy = kzalloc(sizeof(*copy),
						  GFP_KERNEL_ACCOUNT);

		if (!copy)
			return -ENOMEM;
		list_add(&copy->link, spare);
	}
	return 0;
}

/* Device memory for the copies, into req->pages. -ENOSPC: more can be had. */
static int memory_alloc(struct hmmrt_request *req, unsigned int first,
			unsigned int count)
{
	struct page **pages = req->pages + first;
	int rc = hmmrt_request_alloc_pages(req, first, first + count, pages,
					   NULL);

	if (rc < 0)
		return rc;
	if (!hmmrt_vram_prepare_copies(pages, count))
		return 0;
	hmmrt_vram_free_unused(req->binding->dev, pages, count);
	return -ENOMEM;
}

static int duplicate_locked(struct hmmrt_request *req)
{
	unsigned int i, first, count;
	LIST_HEAD(spare);
	int idx, rc;

	lockdep_assert_held(&req->block->migrate);
	idx = srcu_read_lock(&hmmrt_srcu);
	rc = hmmrt_snapshot(req);
	if (!rc)
		rc = hmmrt_snapshot_widened(req);
	count = rc ? 0 : mark_wanted(req, &first);
	srcu_read_unlock(&hmmrt_srcu, idx);
	if (rc || !count)
		return rc;
	rc = copies_alloc(req);
	if (!rc)
		rc = spare_alloc(&spare, count);
	if (!rc)
		rc = memory_alloc(req, first, count);
	if (rc)
		goto out_free;
	for (i = first; i < first + count; i++)
		if (req->src[i] && !req->pages[i])
			hmmrt_outcome_set(req, page_addr(req, i), 1,
					  HMMRT_OUTCOME_STAYED(hmmrt_request_lacks(req)));
	rc = copy_runs(req, first, count, &spare);
	hmmrt_vram_free_unused(req->binding->dev, req->pages + first, count);
out_free:
	hmmrt_copies_free(&spare);
	/* Without bookkeeping it is read where it is. */
	return rc == -ENOMEM ? 0 : rc;
}

/**
 * hmmrt_duplicate() - give a device copies of what can be copied of a window
 * @req: window within one vma; not for a write
 *
 * Best effort: what is not private anonymous memory at home, or held by somebody
 * else, has none and is mapped where it is; as is all where copies do not work.
 *
 * Context: mmap_lock held for reading; takes block->migrate.
 * Return: 0, whatever was copied; -ENOSPC and -EAGAIN as
 * hmmrt_migrate_to_device(); -EINTR; -ENOMEM. req->copied adds up over attempts;
 * there is of this one. Outcomes are set as far as they are known.
 */
int hmmrt_duplicate(struct hmmrt_request *req)
{
	u64 copied_before = req->copied;
	int rc;

	lockdep_assert_held(&req->vma->vm_mm->mmap_lock);
	if (!hmmrt_copies_work())
		return 0;
	rc = hmmrt_block_migrate_lock(req->block);
	if (rc)
		return rc;
	rc = duplicate_locked(req);
	hmmrt_block_migrate_unlock(req->block);
	trace_hmmrt_duplicate(req->binding->dev->id, req->start, req->end,
			      req->copied - copied_before);
	return rc;
}
