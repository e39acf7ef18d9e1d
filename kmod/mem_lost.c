// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lost pages: replacements for device memory that could not be read when its
 * device was removed.
 *
 * Model      A lost page is a page of device memory that nothing backs: no
 *            device and no system memory, only its struct page. A process keeps
 *            an entry for it, which fork() copies and munmap() removes like any
 *            other. A CPU access to it gets SIGBUS. The pgmap's owner is not
 *            the one that devices use, so hmm_range_fault() and
 *            migrate_vma_setup() leave such entries alone.
 * Memory     Areas of 128 MiB of addresses, with 2 MiB of struct pages each.
 *            They are made before pages are locked, and removed when their last
 *            page is freed and no device may lose more pages. An area holds a
 *            reference to the module.
 * Locking    areas_mutex   making and removing areas; takes the core's hotplug
 *                          locks
 *            areas_lock    spinlock, innermost: which pages are taken. Pages
 *                          are freed under page table locks
 */
#include <linux/bitmap.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mem.h"

#define AREA_SIZE	(128UL << 20)
#define AREA_PAGES	(AREA_SIZE >> PAGE_SHIFT)

struct lost_area {
	struct dev_pagemap pgmap;
	struct list_head link;		/* areas */
	unsigned long first_pfn;
	unsigned int used;		/* areas_lock, as all that follows */
	DECLARE_BITMAP(taken, AREA_PAGES);
};

static DEFINE_MUTEX(areas_mutex);
static DEFINE_SPINLOCK(areas_lock);
/* Changed with both locks held. */
static LIST_HEAD(areas);
/* struct lost_area, by pfn / AREA_PAGES. */
static DEFINE_XARRAY(areas_by_pfn);
/* Devices that are being removed and may need an empty area; areas_mutex. */
static unsigned int users;

/* Differs from the owner that devices use: see Model. */
static int lost_owner;

static void areas_reap(struct work_struct *work);
static DECLARE_WORK(reap_work, areas_reap);

/* Find a free run, by index in the area; AREA_PAGES if there is none. */
static unsigned long area_find(struct lost_area *area, unsigned int npages)
{
	unsigned long at;

	lockdep_assert_held(&areas_lock);
	if (area->used + npages > AREA_PAGES)
		return AREA_PAGES;
	at = bitmap_find_next_zero_area(area->taken, AREA_PAGES, 0, npages,
					npages - 1);
	return min(at, AREA_PAGES);
}

/* The last reference was dropped, perhaps under a page table lock. */
static void lost_free(struct hmmrt_freed *freed)
{
	unsigned long pfn = page_to_pfn(hmmrt_freed_page(freed));
	unsigned int npages = hmmrt_freed_pages(freed);
	struct lost_area *area = xa_load(&areas_by_pfn, pfn / AREA_PAGES);
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&areas_lock, flags);
	bitmap_clear(area->taken, pfn - area->first_pfn, npages);
	area->used -= npages;
	empty = !area->used;
	spin_unlock_irqrestore(&areas_lock, flags);
	if (empty)
		queue_work(hmmrt_wq, &reap_work);
}

/*
 * VM_FAULT_HWPOISON would be as correct, but the kernel logs each access to
 * such a page, and a program may repeat the access again and again.
 */
static vm_fault_t lost_touched(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static const struct dev_pagemap_ops lost_ops = {
	.HMMRT_PAGEMAP_FREE = lost_free,
	.migrate_to_ram = lost_touched,
};

static int area_map(struct lost_area *area)
{
	struct dev_pagemap *pgmap = &area->pgmap;
	struct resource *resource;
	int rc;

	resource = request_free_mem_region(&iomem_resource, AREA_SIZE,
					   "hmmrt lost pages");
	if (IS_ERR(resource))
		return PTR_ERR(resource);
	pgmap->type = MEMORY_DEVICE_PRIVATE;
	pgmap->range.start = resource->start;
	pgmap->range.end = resource->end;
	pgmap->nr_range = 1;
	pgmap->ops = &lost_ops;
	pgmap->owner = &lost_owner;
	area->first_pfn = PHYS_PFN(pgmap->range.start);
	rc = IS_ALIGNED(area->first_pfn, AREA_PAGES) ?
		     PTR_ERR_OR_ZERO(memremap_pages(pgmap, numa_mem_id())) :
		     -EINVAL;
	if (rc)
		release_mem_region(pgmap->range.start, AREA_SIZE);
	return rc;
}

static void area_unmap(struct lost_area *area)
{
	memunmap_pages(&area->pgmap);
	release_mem_region(area->pgmap.range.start, AREA_SIZE);
}

static int area_create(void)
{
	struct lost_area *area;
	int rc;

	lockdep_assert_held(&areas_mutex);
	area = kvzalloc(sizeof(*area), GFP_KERNEL);
	if (!area)
		return -ENOMEM;
	rc = area_map(area);
	if (rc)
		goto err_free;
	rc = xa_err(xa_store(&areas_by_pfn, area->first_pfn / AREA_PAGES, area,
			     GFP_KERNEL));
	if (rc)
		goto err_unmap;
	/* Pages of the area point to code of this module. */
	__module_get(THIS_MODULE);
	spin_lock_irq(&areas_lock);
	list_add(&area->link, &areas);
	spin_unlock_irq(&areas_lock);
	return 0;

err_unmap:
	area_unmap(area);
err_free:
	kvfree(area);
	return rc;
}

static void area_destroy(struct lost_area *area)
{
	lockdep_assert_held(&areas_mutex);
	xa_erase(&areas_by_pfn, area->first_pfn / AREA_PAGES);
	area_unmap(area);
	kvfree(area);
	module_put(THIS_MODULE);
}

/* Remove areas without used pages, once no device may lose more pages. */
static void areas_reap(struct work_struct *work)
{
	struct lost_area *area, *next;
	LIST_HEAD(empty);

	mutex_lock(&areas_mutex);
	spin_lock_irq(&areas_lock);
	list_for_each_entry_safe(area, next, &areas, link)
		if (!users && !area->used)
			list_move(&area->link, &empty);
	spin_unlock_irq(&areas_lock);
	list_for_each_entry_safe(area, next, &empty, link)
		area_destroy(area);
	mutex_unlock(&areas_mutex);
}

/* Pages may be lost from now on, until hmmrt_lost_end(). */
void hmmrt_lost_begin(void)
{
	mutex_lock(&areas_mutex);
	users++;
	mutex_unlock(&areas_mutex);
}

void hmmrt_lost_end(void)
{
	mutex_lock(&areas_mutex);
	users--;
	mutex_unlock(&areas_mutex);
	areas_reap(&reap_work);
}

static bool has_free(void)
{
	struct lost_area *area;
	bool found = false;

	spin_lock_irq(&areas_lock);
	list_for_each_entry(area, &areas, link) {
		found = area_find(area, HMMRT_CHUNK_PAGES) < AREA_PAGES;
		if (found)
			break;
	}
	spin_unlock_irq(&areas_lock);
	return found;
}

/**
 * hmmrt_lost_prepare() - make sure that the pages of a chunk can be lost
 *
 * Another thread may take the prepared pages before the caller does.
 * Context: process context, no lock is held; between hmmrt_lost_begin() and
 * _end().
 * Return: 0, or the core's error if it cannot make struct pages.
 */
int hmmrt_lost_prepare(void)
{
	int rc = 0;

	might_sleep();
	mutex_lock(&areas_mutex);
	if (!has_free())
		rc = area_create();
	mutex_unlock(&areas_mutex);
	return rc;
}

static struct page *lost_take(struct lost_area *area, unsigned int npages)
{
	unsigned long at = area_find(area, npages);

	lockdep_assert_held(&areas_lock);
	if (at >= AREA_PAGES)
		return NULL;
	bitmap_set(area->taken, at, npages);
	area->used += npages;
	return pfn_to_page(area->first_pfn + at);
}

/**
 * hmmrt_lost_page() - take a replacement for a page that is lost
 * @huge: the lost page has HMMRT_CHUNK_PAGES pages
 *
 * Context: as hmmrt_lost_prepare(); pages may be locked.
 * Return: a page that is locked and has a reference, or NULL if none is free.
 */
struct page *hmmrt_lost_page(bool huge)
{
	unsigned int npages = huge ? HMMRT_CHUNK_PAGES : 1;
	struct page *page = NULL;
	struct lost_area *area;

	spin_lock_irq(&areas_lock);
	list_for_each_entry(area, &areas, link) {
		page = lost_take(area, npages);
		if (page)
			break;
	}
	spin_unlock_irq(&areas_lock);
	if (page && huge)
		hmmrt_huge_page_init(page, &area->pgmap);
	else if (page)
		hmmrt_page_init(page, &area->pgmap);
	return page;
}
