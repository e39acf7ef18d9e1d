// SPDX-License-Identifier: GPL-2.0-only
/*
 * Splitting of a large folio of device memory that is known by its device
 * address alone.
 *
 * Model      The core splits a folio when migrate_vma_setup() is asked for a
 *            part of it, and exports nothing else that does. So one page of the
 *            folio is collected in an address space that maps it, and given
 *            back: what counts is the split. The anon_vma of the folio knows
 *            these address spaces, also those without a space of hmmrt, as of
 *            a child after fork().
 * Locking    As for rmap: the folio is locked, then its anon_vma. Both are
 *            released before the mmap_lock is taken, which is only tried: its
 *            holder may wait for a program.
 *
 * Until 7.1 there are no such folios.
 */
#include <linux/hmm.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>

#include "move.h"

#ifdef HMMRT_HAVE_DEVICE_THP

/* Not all that an anon_vma knows map the folio. */
#define MAPPINGS_MAX	64

struct mapping {
	struct mm_struct *mm;		/* with a user */
	unsigned long addr;
};

/*
 * Like folio_lock_anon_vma_read() of the core, but try once. While the lock is
 * held, no vma leaves the anon_vma.
 */
static struct anon_vma *anon_vma_lock(const struct folio *folio)
{
	struct anon_vma *anon_vma = NULL;
	struct rw_semaphore *lock;
	unsigned long mapping;

	VM_WARN_ON_ONCE(!folio_test_locked(folio));
	rcu_read_lock();
	mapping = (unsigned long)READ_ONCE(folio->mapping);
	if ((mapping & FOLIO_MAPPING_FLAGS) != FOLIO_MAPPING_ANON ||
	    !folio_mapped(folio))
		goto out;
	/* Its memory is not used for anything else before rcu_read_unlock(). */
	anon_vma = (struct anon_vma *)(mapping - FOLIO_MAPPING_ANON);
	lock = &READ_ONCE(anon_vma->root)->rwsem;
	if (!down_read_trylock(lock)) {
		anon_vma = NULL;
	} else if (!folio_mapped(folio)) {
		/* It may have ended before it was locked. */
		up_read(lock);
		anon_vma = NULL;
	}
out:
	rcu_read_unlock();
	return anon_vma;
}

/* Returns true if the mapping may map the folio, and the first address. */
static bool vma_may_map(const struct vm_area_struct *vma,
			const struct folio *folio, unsigned long *addr)
{
	pgoff_t first = max(folio->index, vma->vm_pgoff);
	pgoff_t end = min(folio->index + folio_nr_pages(folio),
			  vma->vm_pgoff + vma_pages(vma));

	*addr = vma->vm_start + ((first - vma->vm_pgoff) << PAGE_SHIFT);
	return first < end;
}

/* Find the mapping that comes after @skip others. Context: folio locked. */
static bool folio_mapping_at(const struct folio *folio, unsigned int skip,
			     struct mapping *mapping)
{
	struct anon_vma *anon_vma = anon_vma_lock(folio);
	bool found = false;
	struct rb_node *at;

	if (!anon_vma)
		return false;
	for (at = rb_first_cached(&anon_vma->rb_root); at && !found;
	     at = rb_next(at)) {
		struct vm_area_struct *vma =
			rb_entry(at, struct anon_vma_chain, rb)->vma;

		if (!vma_may_map(vma, folio, &mapping->addr))
			continue;
		mapping->mm = vma->vm_mm;
		if (skip)
			skip--;
		else
			found = mmget_not_zero(mapping->mm);
	}
	up_read(&anon_vma->root->rwsem);
	return found;
}

/* Collect a page, and give it back. Drops the mm. */
static void collect_one(const struct hmmrt_device *dev,
			const struct mapping *mapping)
{
	unsigned long src = 0, dst = 0;
	struct migrate_vma args = {
		.start = mapping->addr,
		.end = mapping->addr + PAGE_SIZE,
		.src = &src,
		.dst = &dst,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = hmmrt_select_device(dev),
	};

	if (mmap_read_trylock(mapping->mm)) {
		args.vma = vma_lookup(mapping->mm, mapping->addr);
		if (args.vma && !migrate_vma_setup(&args) && args.cpages) {
			migrate_vma_pages(&args);
			migrate_vma_finalize(&args);
		}
		mmap_read_unlock(mapping->mm);
	}
	mmput_async(mapping->mm);
}

/* Returns whether the chunk is still one folio, and a mapping of that. */
static bool chunk_is_large(struct page *page, unsigned int skip,
			   struct mapping *mapping)
{
	struct folio *folio;
	bool large;

	mapping->mm = NULL;
	if (!get_page_unless_zero(page))
		return false;
	folio = page_folio(page);
	large = folio_test_large(folio);
	if (large && folio_trylock(folio)) {
		/* It may have been split before it was locked. */
		if (!folio_test_large(folio) ||
		    !folio_mapping_at(folio, skip, mapping))
			mapping->mm = NULL;
		folio_unlock(folio);
	}
	folio_put(folio);
	return large;
}

/**
 * hmmrt_split_chunk() - split the folio that a chunk is
 * @dev: device of the chunk
 * @chunk: a chunk that was one folio a moment ago
 *
 * Context: sleeps, no page is locked.
 * Return: whether it is split, or free; otherwise another call may succeed.
 */
bool hmmrt_split_chunk(struct hmmrt_device *dev,
		       const struct hmmrt_chunk *chunk)
{
	struct page *page = pfn_to_page(hmmrt_chunk_pfn(dev, chunk));
	struct mapping mapping;
	unsigned int i;

	might_sleep();
	for (i = 0; i < MAPPINGS_MAX; i++) {
		if (!chunk_is_large(page, i, &mapping))
			return true;
		if (!mapping.mm)
			return false;
		collect_one(dev, &mapping);
		cond_resched();
	}
	return false;
}

#else /* HMMRT_HAVE_DEVICE_THP */

bool hmmrt_split_chunk(struct hmmrt_device *dev,
		       const struct hmmrt_chunk *chunk)
{
	return false;
}

#endif /* HMMRT_HAVE_DEVICE_THP */
