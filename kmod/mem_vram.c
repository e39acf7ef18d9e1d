// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory: ZONE_DEVICE pages, allocated from chunks of 2 MiB.
 *
 * Model      Device memory is divided into regions, and regions into chunks. A
 *            region gets struct pages when they are first needed
 *            (mem_region.c). The driver backs a chunk with real memory when
 *            its first page is allocated, and may take it back after the last
 *            one was freed (mem_populate.c). Coherent memory has an address
 *            that the driver supplied: there is nothing to populate, and the
 *            CPU maps its pages like any others.
 * Placement  A page of a block prefers the same index in the chunk that holds
 *            the block's neighbours, so that the block's pages on a device grow
 *            together to 2 MiB without holes. The first pages of a block go to
 *            an unused chunk, as long as at least half of the chunks are
 *            unused. After that, whole chunks are kept for whole blocks: a part
 *            of a block goes to the fullest of some chunks in use, at the same
 *            index if possible. A small part, which may stay small, goes to any
 *            index of such a chunk.
 * Large      A chunk that is allocated whole may be one folio. It is freed
 *            whole or, after the core has split it, page by page. The bits of a
 *            chunk always stand for pages and splitting changes none of them,
 *            so there is no folio_split callback. Struct pages of freed memory
 *            still say that they are compound until they are initialised again.
 *            The device of a page follows from its page frame number, see
 *            mem_page.c.
 * Owner      Pages belong to the page tables that map them. Nothing here points
 *            to a space or block, which a page may outlive; a chunk has the
 *            address of a block as a hint (home). Duplicates are the
 *            exception: they belong to a block, and the chunk points to it
 *            (duplicate_of). So are the chunks of memory objects, see
 *            mem_object.c. A page is charged to an account, which lives as
 *            long as the page is charged to it: see mem_account.c.
 * Locking    vram->lock is a spinlock, because hmmrt_vram_folio_free() runs
 *            under a page table lock.
 *            vram->grow serialises making regions. A region is made with no
 *            other lock held: the core takes hotplug locks for it, and other
 *            code takes an mmap_lock under those. So populate and grow cannot
 *            be one mutex.
 * Terms      'offset' is in bytes of device memory, 'index' is a page in a
 *            chunk.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mem.h"
#include "mem_check.h"

/*
 * How many chunks in use are scanned for free memory, and what counts as small.
 */
#define PLACE_VISITS	32
#define PLACE_SMALL	(HMMRT_CHUNK_PAGES / 4)

static void chunk_move(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk)
{
	struct list_head *list = &vram->partial;

	lockdep_assert_held(&vram->lock);
	if (!chunk->used_pages)
		list = &vram->free;
	else if (chunk->used_pages == HMMRT_CHUNK_PAGES)
		list = &vram->full;
	/* Populated free chunks come first. */
	if (chunk->reserved)
		list_del_init(&chunk->link);
	else if (!chunk->used_pages && !chunk->populated)
		list_move_tail(&chunk->link, list);
	else
		list_move(&chunk->link, list);
	hmmrt_chunk_check(vram, chunk);
}

/* The fill level of a chunk has changed: update the statistics. */
static void chunk_count(struct hmmrt_vram *vram, unsigned int before,
			unsigned int after)
{
	lockdep_assert_held(&vram->lock);
	vram->full_chunks -= before == HMMRT_CHUNK_PAGES;
	vram->full_chunks += after == HMMRT_CHUNK_PAGES;
	vram->partial_chunks -= before && before < HMMRT_CHUNK_PAGES;
	vram->partial_chunks += after && after < HMMRT_CHUNK_PAGES;
	vram->split_chunks += !before && after < HMMRT_CHUNK_PAGES;
	vram->merged_chunks += !after;
}

static void chunk_free_page(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
			    unsigned int index)
{
	lockdep_assert_held(&vram->lock);
	if (WARN_ON_ONCE(!__test_and_clear_bit(index, chunk->used)))
		return;
	if (chunk->duplicate_of)
		chunk->duplicate_of[index] = NULL;
	if (hmmrt_uncharge(vram, chunk, index))
		hmmrt_vram_trim_later(vram);
	vram->used_pages--;
	chunk->used_pages--;
	chunk_count(vram, chunk->used_pages + 1, chunk->used_pages);
	if (!chunk->used_pages || chunk->used_pages == HMMRT_CHUNK_PAGES - 1) {
		chunk_move(vram, chunk);
		hmmrt_charges_check(vram, chunk);
	}
	hmmrt_vram_check(vram);
	if (chunk->used_pages)
		return;
	hmmrt_vram_trim_later(vram);
}

/* The last reference to a folio is gone, perhaps under a page table lock. */
void hmmrt_vram_folio_free(struct hmmrt_freed *freed)
{
	struct page *page = hmmrt_freed_page(freed);
	struct hmmrt_region *region = hmmrt_page_region(page);
	struct hmmrt_vram *vram = &region->dev->vram;
	unsigned int index = hmmrt_page_index(page);
	unsigned int end = index + hmmrt_freed_pages(freed);
	struct hmmrt_chunk *chunk = hmmrt_region_chunk(region, page);
	unsigned long flags;

	spin_lock_irqsave(&vram->lock, flags);
	/* An extent has the chunk: it ended the charge of this page. */
	if (chunk->extent)
		index = end;
	for (; index < end; index++)
		chunk_free_page(vram, chunk, index);
	spin_unlock_irqrestore(&vram->lock, flags);
}

/*
 * Take @npages pages at @index, or none. Only @reserved may be a reserved
 * chunk.
 */
static bool chunk_take(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
		       const struct hmmrt_chunk *reserved, unsigned int index,
		       unsigned int npages)
{
	lockdep_assert_held(&vram->lock);
	if (chunk->trimming || (chunk->reserved && chunk != reserved) ||
	    find_next_bit(chunk->used, index + npages, index) < index + npages)
		return false;
	VM_WARN_ON_ONCE(memchr_inv(&chunk->charged_to[index], 0,
				   npages * sizeof(chunk->charged_to[0])));
	bitmap_set(chunk->used, index, npages);
	chunk_count(vram, chunk->used_pages, chunk->used_pages + npages);
	chunk->used_pages += npages;
	vram->used_pages += npages;
	vram->shortages += hmmrt_runs_short(hmmrt_vram_left(vram), npages);
	chunk->given = vram->given++;
	hmmrt_charges_used(vram, chunk);
	chunk_move(vram, chunk);
	hmmrt_vram_check(vram);
	return true;
}

/*
 * Take the first free run of a chunk, up to @npages pages. Returns how many
 * pages it took; *index is the first of them.
 */
static unsigned int chunk_take_some(struct hmmrt_vram *vram,
				    struct hmmrt_chunk *chunk,
				    const struct hmmrt_chunk *reserved,
				    unsigned int *index, unsigned int npages)
{
	unsigned int first, end;

	first = find_first_zero_bit(chunk->used, HMMRT_CHUNK_PAGES);
	if (first >= HMMRT_CHUNK_PAGES)
		return 0;
	end = find_next_bit(chunk->used, HMMRT_CHUNK_PAGES, first);
	npages = min(npages, end - first);
	*index = first;
	return chunk_take(vram, chunk, reserved, first, npages) ? npages : 0;
}

/* Find a whole free run in a chunk. Returns HMMRT_CHUNK_PAGES without one. */
static unsigned int chunk_fit(struct hmmrt_chunk *chunk, unsigned int index,
			      unsigned int npages)
{
	unsigned long at;

	if (chunk->used_pages + npages > HMMRT_CHUNK_PAGES)
		return HMMRT_CHUNK_PAGES;
	if (find_next_bit(chunk->used, index + npages, index) >= index + npages)
		return index;
	if (npages > PLACE_SMALL)
		return HMMRT_CHUNK_PAGES;
	at = bitmap_find_next_zero_area(chunk->used, HMMRT_CHUNK_PAGES, 0,
					npages, 0);
	return min_t(unsigned long, at, HMMRT_CHUNK_PAGES);
}

/* Returns true if unused chunks have to be kept for whole blocks. */
static bool vram_saves_chunks(const struct hmmrt_vram *vram)
{
	unsigned int used = vram->partial_chunks + vram->full_chunks;

	lockdep_assert_held(&vram->lock);
	return used > vram->size >> (HMMRT_CHUNK_SHIFT + 1);
}

/* Put a part of a block into a chunk that is partly used already. */
static struct hmmrt_chunk *vram_take_partial(struct hmmrt_vram *vram,
					     unsigned int *index,
					     unsigned int npages)
{
	struct hmmrt_chunk *chunk, *found = NULL;
	unsigned int visits = PLACE_VISITS, at, found_at = 0;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(chunk, &vram->partial, link) {
		if (!visits--)
			break;
		if (found && found->used_pages >= chunk->used_pages)
			continue;
		at = chunk_fit(chunk, *index, npages);
		if (at == HMMRT_CHUNK_PAGES)
			continue;
		found = chunk;
		found_at = at;
	}
	if (!found || !chunk_take(vram, found, NULL, found_at, npages))
		return NULL;
	*index = found_at;
	return found;
}

/*
 * Find a location for a run. Try in this order: the same index of the
 * neighbour's chunk, the chunk that was evicted for the run, a partly used
 * chunk if unused chunks are few, an unused chunk, any hole in the evicted
 * chunk, any hole at all.
 */
static struct hmmrt_chunk *vram_take(struct hmmrt_vram *vram,
				     struct hmmrt_chunk *near,
				     struct hmmrt_chunk *reserved,
				     unsigned int *index, unsigned int *npages)
{
	struct hmmrt_chunk *chunk;
	unsigned int got;

	lockdep_assert_held(&vram->lock);
	if (near && chunk_take(vram, near, reserved, *index, *npages))
		return near;
	if (reserved && chunk_take(vram, reserved, reserved, *index, *npages))
		return reserved;
	if (*npages < HMMRT_CHUNK_PAGES && vram_saves_chunks(vram)) {
		chunk = vram_take_partial(vram, index, *npages);
		if (chunk)
			return chunk;
	}
	chunk = list_first_entry_or_null(&vram->free, struct hmmrt_chunk, link);
	if (chunk && chunk_take(vram, chunk, reserved, *index, *npages))
		return chunk;
	got = reserved ? chunk_take_some(vram, reserved, reserved, index,
					 *npages) :
			 0;
	if (got) {
		*npages = got;
		return reserved;
	}
	list_for_each_entry(chunk, &vram->partial, link) {
		got = chunk_take_some(vram, chunk, reserved, index, *npages);
		if (got) {
			*npages = got;
			return chunk;
		}
	}
	return NULL;
}

/* @npages of @block were just taken from the chunk. */
static void chunk_note_home(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
			    unsigned long block, bool at_its_index,
			    unsigned int npages)
{
	lockdep_assert_held(&vram->lock);
	if (chunk->used_pages == npages)
		chunk->home = block;
	if (chunk->home != block || !at_its_index)
		chunk->home = 0;
}

/*
 * Allocate no more than the account may have, and charge it under the same
 * lock.
 */
static struct hmmrt_chunk *
vram_take_charged(struct hmmrt_account *account, unsigned long block,
		  struct hmmrt_chunk *near, struct hmmrt_chunk *reserved,
		  unsigned int *index, unsigned int *npages,
		  struct hmmrt_charge **spare, enum hmmrt_shortfall *shortfall)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	unsigned int wanted = *index;
	struct hmmrt_chunk *chunk = NULL;
	u64 most;

	spin_lock_irq(&vram->lock);
	VM_WARN_ON_ONCE(reserved && !reserved->reserved);
	if (vram->closed) {
		spin_unlock_irq(&vram->lock);
		return NULL;
	}
	most = hmmrt_account_left(account);
	*npages = min_t(u64, *npages, most);
	if (*npages)
		chunk = vram_take(vram, near, reserved, index, npages);
	if (chunk) {
		chunk_note_home(vram, chunk, block, *index == wanted, *npages);
		hmmrt_charge_pages(account, chunk, *index, *npages, spare);
	}
	spin_unlock_irq(&vram->lock);
	if (!chunk)
		*shortfall = most ? HMMRT_SHORTFALL_MEMORY : HMMRT_SHORTFALL_QUOTA;
	return chunk;
}

static void chunk_give_back(struct hmmrt_vram *vram, struct hmmrt_chunk *chunk,
			    unsigned int index, unsigned int npages)
{
	spin_lock_irq(&vram->lock);
	while (npages--)
		chunk_free_page(vram, chunk, index + npages);
	spin_unlock_irq(&vram->lock);
}

/**
 * hmmrt_vram_alloc() - take pages of device memory
 * @account: the account to charge; it says which device
 * @block: address of the block that they are for
 * @index: of the first page in its block
 * @npages: how many; index + npages is at most HMMRT_BLOCK_PAGES
 * @pages: in: pages[0] is a neighbour that is on this device already, or NULL;
 *	the entries to fill follow each other; out: pages without reference and
 *	lock, to be used with hmmrt_page_init() or handed to
 *	hmmrt_vram_free_unused()
 * @reserved: a chunk that is reserved for this, or NULL
 * @shortfall: out: why no free memory was found for the rest;
 *	HMMRT_SHORTFALL_NONE if the driver had no memory for a chunk, which more
 *	struct pages would not help, or if the machine goes to sleep
 *
 * Context: process context, may sleep; mmap_lock and block->migrate may be
 * held.
 * Return: how many were found.
 */
unsigned int hmmrt_vram_alloc(struct hmmrt_account *account,
			      unsigned long block, unsigned int index,
			      unsigned int npages, struct page **pages,
			      struct hmmrt_chunk *reserved,
			      enum hmmrt_shortfall *shortfall)
{
	struct hmmrt_device *dev = account->dev;
	struct hmmrt_charge *spare = NULL;
	struct page *hint = pages[0];
	unsigned int done = 0;

	pages[0] = NULL;
	*shortfall = HMMRT_SHORTFALL_NONE;
	while (done < npages) {
		unsigned int run = npages - done, at = index + done, i;
		struct hmmrt_chunk *chunk;
		unsigned long pfn;

		/* Only under the lock is it known if the charge needs one. */
		if (!spare)
			spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
		if (!spare)
			break;
		chunk = vram_take_charged(account, block,
					  hint ? hmmrt_page_chunk(hint) : NULL,
					  reserved, &at, &run, &spare,
					  shortfall);
		if (!chunk)
			break;
		if (hmmrt_chunk_populate(dev, chunk)) {
			chunk_give_back(&dev->vram, chunk, at, run);
			break;
		}
		pfn = hmmrt_chunk_pfn(dev, chunk) + at;
		for (i = 0; i < run; i++) {
			pages[done + i] = pfn_to_page(pfn + i);
			/* A page that is in use would be given out twice. */
			VM_WARN_ON_ONCE(page_ref_count(pages[done + i]));
		}
		done += run;
		cond_resched();
	}
	kfree(spare);
	return done;
}

/* Take an unused chunk and charge it. Returns NULL with the reason. */
static struct hmmrt_chunk *vram_take_whole(struct hmmrt_account *account,
					   struct hmmrt_extent *extent,
					   struct hmmrt_chunk *reserved,
					   struct hmmrt_charge **spare,
					   enum hmmrt_shortfall *shortfall)
{
	struct hmmrt_vram *vram = &account->dev->vram;
	struct hmmrt_chunk *chunk = reserved;
	bool taken;

	lockdep_assert_held(&vram->lock);
	VM_WARN_ON_ONCE(reserved && !reserved->reserved);
	if (vram->closed)
		return NULL;
	*shortfall = HMMRT_SHORTFALL_QUOTA;
	if (hmmrt_account_left(account) < HMMRT_CHUNK_PAGES)
		return NULL;
	*shortfall = HMMRT_SHORTFALL_MEMORY;
	if (!chunk || chunk->used_pages)
		chunk = list_first_entry_or_null(&vram->free,
						 struct hmmrt_chunk, link);
	if (!chunk)
		return NULL;
	*shortfall = HMMRT_SHORTFALL_NONE;
	chunk->extent = extent;
	chunk->pinned = !hmmrt_object_is_migratable(extent->object);
	taken = chunk_take(vram, chunk, reserved, 0, HMMRT_CHUNK_PAGES);
	/* No page of it was used. */
	VM_WARN_ON_ONCE(!taken);
	if (chunk->pinned)
		vram->pinned_pages += HMMRT_CHUNK_PAGES;
	hmmrt_charge_pages(account, chunk, 0, HMMRT_CHUNK_PAGES, spare);
	return chunk;
}

/**
 * hmmrt_vram_take_chunk() - take a whole chunk for an extent
 * @account: the account to charge; it says which device
 * @extent: locked, or of an object that no other thread has seen
 * @reserved: a chunk that is reserved for this, or NULL
 * @shortfall: out: why there is none; HMMRT_SHORTFALL_NONE if no memory
 *	backs it
 *
 * Context: process context, may sleep; the mmap_lock may be held.
 * Return: the chunk, for hmmrt_vram_put_chunk(), with undefined contents; or
 * NULL.
 */
struct hmmrt_chunk *hmmrt_vram_take_chunk(struct hmmrt_account *account,
					  struct hmmrt_extent *extent,
					  struct hmmrt_chunk *reserved,
					  enum hmmrt_shortfall *shortfall)
{
	struct hmmrt_device *dev = account->dev;
	struct hmmrt_charge *spare;
	struct hmmrt_chunk *chunk;

	*shortfall = HMMRT_SHORTFALL_NONE;
	spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	if (!spare)
		return NULL;
	spin_lock_irq(&dev->vram.lock);
	chunk = vram_take_whole(account, extent, reserved, &spare, shortfall);
	spin_unlock_irq(&dev->vram.lock);
	kfree(spare);
	if (chunk && hmmrt_chunk_populate(dev, chunk)) {
		hmmrt_vram_put_chunk(dev, chunk);
		chunk = NULL;
	}
	return chunk;
}

/* Free the chunk of an extent. No entry refers to it. */
void hmmrt_vram_put_chunk(struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i;

	spin_lock_irq(&vram->lock);
	VM_WARN_ON_ONCE(!chunk->extent);
	chunk->extent = NULL;
	if (chunk->pinned) {
		VM_WARN_ON_ONCE(vram->pinned_pages < HMMRT_CHUNK_PAGES);
		vram->pinned_pages -= HMMRT_CHUNK_PAGES;
	}
	chunk->pinned = false;
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		chunk_free_page(vram, chunk, i);
	spin_unlock_irq(&vram->lock);
}

/*
 * The extent that is in a chunk, with a reference to its object, or NULL. An
 * object that is being freed is skipped: its chunks are being freed already.
 */
struct hmmrt_extent *hmmrt_chunk_extent_get(struct hmmrt_device *dev,
					    const struct hmmrt_chunk *chunk)
{
	struct hmmrt_extent *extent;

	spin_lock_irq(&dev->vram.lock);
	extent = chunk->extent;
	if (extent && !hmmrt_extent_hold(extent))
		extent = NULL;
	spin_unlock_irq(&dev->vram.lock);
	return extent;
}

/**
 * hmmrt_chunk_home() - find out where pages of a chunk are likely mapped
 * @dev: of the chunk
 * @chunk: reserved, so that nothing is allocated from it
 * @pages: in: of these pages; out: those of them that are used
 * @home: out: the block that they were allocated for, each at its index
 *
 * Return: the process that was charged for them, for mmput_async(); or NULL if
 * they are of several blocks or processes, or the process has exited.
 */
struct mm_struct *hmmrt_chunk_home(struct hmmrt_device *dev,
				   const struct hmmrt_chunk *chunk,
				   unsigned long *pages, unsigned long *home)
{
	const struct hmmrt_charge *charge;
	struct mm_struct *mm = NULL;

	spin_lock_irq(&dev->vram.lock);
	if (chunk->home && list_is_singular(&chunk->charges)) {
		charge = list_first_entry(&chunk->charges, struct hmmrt_charge,
					  chunk_link);
		mm = charge->account->mm;
	}
	/* The account holds the struct as long as it is charged. */
	if (mm && !mmget_not_zero(mm))
		mm = NULL;
	bitmap_and(pages, pages, chunk->used, HMMRT_CHUNK_PAGES);
	*home = chunk->home;
	spin_unlock_irq(&dev->vram.lock);
	return mm;
}

/*
 * Fill @pfns with the frame numbers of the used pages of a chunk. With @pages,
 * only pages in that bitmap. Returns how many there are.
 */
unsigned int hmmrt_chunk_used(struct hmmrt_device *dev,
			      const struct hmmrt_chunk *chunk,
			      const unsigned long *pages, unsigned long *pfns)
{
	unsigned long first = hmmrt_chunk_pfn(dev, chunk);
	unsigned int i, n = 0;

	spin_lock_irq(&dev->vram.lock);
	for_each_set_bit(i, chunk->used, HMMRT_CHUNK_PAGES)
		if (!pages || test_bit(i, pages))
			pfns[n++] = first + i;
	spin_unlock_irq(&dev->vram.lock);
	return n;
}

/**
 * hmmrt_vram_reserve() - reserve the chunk to evict next
 * @dev: the device
 * @claim: see hmmrt_claim_chunk()
 * @pages: out: which of its pages to evict
 * @cost: out: see hmmrt_claim_chunk()
 *
 * Before hmmrt_vram_unreserve(), only a call of hmmrt_vram_alloc() with this
 * chunk as @reserved takes pages of it.
 * Return: as hmmrt_claim_chunk().
 */
struct hmmrt_chunk *hmmrt_vram_reserve(struct hmmrt_device *dev,
				       const struct hmmrt_claim *claim,
				       unsigned long *pages,
				       struct hmmrt_claim_cost *cost)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_chunk *chunk;

	spin_lock_irq(&vram->lock);
	chunk = hmmrt_claim_chunk(vram, claim, pages, cost);
	if (!IS_ERR(chunk)) {
		VM_WARN_ON_ONCE(chunk->reserved || !chunk->used_pages);
		chunk->reserved = true;
		chunk_move(vram, chunk);
	}
	spin_unlock_irq(&vram->lock);
	return chunk;
}

/* Let any allocation use the chunk's free pages again. */
void hmmrt_vram_unreserve(struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	struct hmmrt_vram *vram = &dev->vram;

	spin_lock_irq(&vram->lock);
	VM_WARN_ON_ONCE(!chunk->reserved);
	chunk->reserved = false;
	chunk_move(vram, chunk);
	if (!chunk->used_pages)
		hmmrt_vram_trim_later(vram);
	spin_unlock_irq(&vram->lock);
}

/*
 * The device has just used its memory at @offset: update the order of eviction.
 */
void hmmrt_vram_used(struct hmmrt_device *dev, u64 offset)
{
	struct hmmrt_vram *vram = &dev->vram;
	struct hmmrt_region *region;
	struct hmmrt_chunk *chunk;

	if (WARN_ON_ONCE(offset >= vram->size))
		return;
	region = vram->regions[offset / HMMRT_REGION_SIZE];
	chunk = &region->chunks[(offset - region->offset) >> HMMRT_CHUNK_SHIFT];
	spin_lock_irq(&vram->lock);
	hmmrt_charges_used(vram, chunk);
	spin_unlock_irq(&vram->lock);
}

/**
 * hmmrt_vram_prepare_duplicates() - prepare pages to hold duplicates
 * @pages: of hmmrt_vram_alloc(); NULL entries are skipped
 * @n: how many
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM: no memory for the pointers to blocks.
 */
int hmmrt_vram_prepare_duplicates(struct page **pages, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct hmmrt_chunk *chunk = pages[i] ? hmmrt_page_chunk(pages[i]) :
						       NULL;
		struct hmmrt_block **duplicate_of;

		if (!chunk || READ_ONCE(chunk->duplicate_of))
			continue;
		/*
		 * The array belongs to the device, so no cgroup is charged for
		 * it.
		 */
		duplicate_of = kvcalloc(HMMRT_CHUNK_PAGES,
					sizeof(*duplicate_of), GFP_KERNEL);
		if (!duplicate_of)
			return -ENOMEM;
		/* Another thread may prepare the same chunk. */
		if (cmpxchg(&chunk->duplicate_of, NULL, duplicate_of))
			kvfree(duplicate_of);
	}
	return 0;
}

/*
 * Note that the page holds a duplicate of a page of the block, until it is
 * freed.
 */
void hmmrt_vram_note_duplicate(struct page *page, struct hmmrt_block *block)
{
	struct hmmrt_region *region = hmmrt_page_region(page);
	struct hmmrt_chunk *chunk = hmmrt_region_chunk(region, page);
	unsigned int index = hmmrt_page_index(page);

	spin_lock_irq(&region->dev->vram.lock);
	VM_WARN_ON_ONCE(!test_bit(index, chunk->used) ||
			chunk->duplicate_of[index]);
	chunk->duplicate_of[index] = block;
	spin_unlock_irq(&region->dev->vram.lock);
}

/* Stop, or start again, to give out memory. What is used stays in use. */
void hmmrt_vram_close(struct hmmrt_device *dev, bool closed)
{
	spin_lock_irq(&dev->vram.lock);
	dev->vram.closed = closed;
	spin_unlock_irq(&dev->vram.lock);
}

/* Returns true if all of the device memory is used; may change at any time. */
bool hmmrt_vram_is_full(const struct hmmrt_device *dev)
{
	return (u64)READ_ONCE(dev->vram.used_pages) << PAGE_SHIFT >=
	       dev->vram.size;
}

/* Free pages of hmmrt_vram_alloc() that were not initialised; skips NULL. */
void hmmrt_vram_free_unused(struct hmmrt_device *dev, struct page **pages,
			    unsigned int npages)
{
	unsigned int i;

	spin_lock_irq(&dev->vram.lock);
	for (i = 0; i < npages; i++) {
		if (!pages[i])
			continue;
		VM_WARN_ON_ONCE(hmmrt_page_device(pages[i]) != dev ||
				page_ref_count(pages[i]));
		chunk_free_page(&dev->vram, hmmrt_page_chunk(pages[i]),
				hmmrt_page_index(pages[i]));
	}
	spin_unlock_irq(&dev->vram.lock);
}

int hmmrt_vram_init(struct hmmrt_device *dev, u64 size,
		    const struct dev_pagemap_ops *pagemap_ops)
{
	struct hmmrt_vram *vram = &dev->vram;

	spin_lock_init(&vram->lock);
	mutex_init(&vram->populate);
	mutex_init(&vram->grow);
	INIT_LIST_HEAD(&vram->free);
	INIT_LIST_HEAD(&vram->partial);
	INIT_LIST_HEAD(&vram->full);
	INIT_DELAYED_WORK(&vram->trim, hmmrt_vram_trim_work);
	hmmrt_accounts_init(vram);
	vram->size = size;
	vram->pagemap_ops = pagemap_ops;
	vram->max_regions = DIV_ROUND_UP_ULL(size, HMMRT_REGION_SIZE);
	vram->regions = kvcalloc(vram->max_regions, sizeof(*vram->regions),
				 GFP_KERNEL);
	/* Teach lockdep: reclaim frees pages, so the holder allocates none. */
	fs_reclaim_acquire(GFP_KERNEL);
	spin_lock_irq(&vram->lock);
	spin_unlock_irq(&vram->lock);
	fs_reclaim_release(GFP_KERNEL);
	return vram->regions ? 0 : -ENOMEM;
}

/* Forget the device's memory. Context: no page of it is in use any more. */
void hmmrt_vram_destroy(struct hmmrt_device *dev)
{
	struct hmmrt_vram *vram = &dev->vram;
	unsigned int i;

	/*
	 * The thread that freed the last page has queued the trim work by then.
	 */
	spin_lock_irq(&vram->lock);
	spin_unlock_irq(&vram->lock);
	cancel_delayed_work_sync(&vram->trim);
	/* Wait for readers that found a page of the device in a snapshot. */
	synchronize_srcu(&hmmrt_srcu);
	hmmrt_vram_trim(dev, 0);
	hmmrt_vram_check_gone(vram);
	hmmrt_accounts_destroy(dev);
	for (i = 0; i < vram->nr_regions; i++)
		hmmrt_region_destroy(vram->regions[i]);
	kvfree(vram->regions);
}
