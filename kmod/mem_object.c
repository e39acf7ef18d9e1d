// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory objects: memory that a process creates apart from addresses, as files.
 *
 * Model      A memory object consists of extents of 2 MiB. An extent is made
 *            when it is first used. It is in a whole chunk of device memory, or
 *            in pages of system memory, or, in a migratable object, nowhere
 *            yet. Pinned objects have all of their memory from the start. Page
 *            tables refer to it without a reference (VM_PFNMAP), so nothing but
 *            an extent owns it.
 * Charges    System memory of a pinned object is charged to the memory cgroup of
 *            the process that created it. An extent of a migratable object is
 *            charged when it gets its first memory, wherever that is, and until
 *            the object goes: see hmmrt_extent_charge(). So no move needs
 *            anything of the owner. If the owner is at its limit then, another
 *            process that uses the memory is charged.
 * Owner      A file has a reference to its object, and an object has one or
 *            several files: those that are read-only are for others. Mappings
 *            and running faults hold a file, and evictors hold the object itself.
 *            An object holds no device and no account: a device that goes moves
 *            extents to system memory first. A chunk points to its extent, and
 *            an evictor gets the object through it.
 * Mappings   The object has an inode of its own. All mappings of it, in any
 *            process, are in the inode's address_space. unmap_mapping_range()
 *            finds them, and calls the notifiers of all their processes, which
 *            take the entries of devices away.
 * Locking    extent->lock: where the extent is, and its page table entries. An
 *            entry is made, by CPU or device, under it. To move, an extent
 *            first loses all entries, under it.
 */
#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat/cgroup.h"
#include "mem.h"

#define OBJECT_FS_MAGIC	0x686d6d6f	/* "hmmo" */

/* Mounted while there are objects: see object_fs_type. */
static struct vfsmount *object_mount;
static int object_mounts;
static atomic64_t last_id = ATOMIC64_INIT(0);

/* --- the file system ------------------------------------------------------ */

/* No code is run from a memory object. */
static int object_fs_init_context(struct fs_context *fc)
{
	if (!init_pseudo(fc, OBJECT_FS_MAGIC))
		return -ENOMEM;
	fc->s_iflags |= SB_I_NOEXEC | SB_I_NODEV;
	return 0;
}

/*
 * A mount keeps the module loaded. So there is one only while there are objects
 * or files: the core uses the file's mount after release().
 */
static struct file_system_type object_fs_type = {
	.owner = THIS_MODULE,
	.name = "hmmrt_object",
	.init_fs_context = object_fs_init_context,
	.kill_sb = kill_anon_super,
};

/* --- pages of system memory ----------------------------------------------- */

/*
 * No process is killed for memory of an object. The pages are neither movable
 * nor on an LRU list. Others may touch or evict the extent, so the cpuset of the
 * calling process does not restrict it (no __GFP_HARDWALL).
 */
#define EXTENT_GFP_UNCHARGED \
	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define EXTENT_GFP	(EXTENT_GFP_UNCHARGED | __GFP_ACCOUNT)

static void pages_free(struct page **pages)
{
	unsigned int i;

	for (i = 0; pages && i < HMMRT_CHUNK_PAGES; i++)
		if (pages[i])
			__free_page(pages[i]);
	kfree(pages);
}

/* Try one large allocation. It is charged as a whole, or not at all. */
static bool pages_alloc_huge(struct page **pages, int node, gfp_t gfp)
{
	unsigned int i, order = HMMRT_CHUNK_SHIFT - PAGE_SHIFT;
	struct page *page;

	gfp &= ~__GFP_RETRY_MAYFAIL;
	page = alloc_pages_node(node, gfp | __GFP_NORETRY, order);
	if (!page)
		return false;
	split_page(page, order);
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++)
		pages[i] = page + i;
	return true;
}

static int pages_alloc_single(struct page **pages, int node, gfp_t gfp,
			      bool must)
{
	unsigned int i;

	for (i = 0; i < HMMRT_CHUNK_PAGES; i++) {
		if (!must && fatal_signal_pending(current))
			return -EINTR;
		pages[i] = alloc_pages_node(node, gfp, 0);
		if (!pages[i])
			return -ENOMEM;
	}
	return 0;
}

/*
 * The pages do not fit into the memory cgroup. If single pages are taken up
 * to its limit, the OOM killer ends a process of the cgroup that needs one at
 * that time. So take them only if there are no large pages.
 */
static int pages_alloc_at_limit(struct page **pages, int node, gfp_t gfp)
{
	if (pages_alloc_huge(pages, node, gfp))
		return 0;
	if (pages_alloc_huge(pages, node, gfp & ~__GFP_ACCOUNT))
		return -ENOMEM;
	return pages_alloc_single(pages, node, gfp, false);
}

/* @memcg is charged if @gfp says so. Large pages are cheap if memory is free. */
static int pages_fill(struct page **pages, struct mem_cgroup *memcg, int node,
		      gfp_t gfp, bool must)
{
	if (pages_alloc_huge(pages, node, gfp & ~__GFP_DIRECT_RECLAIM))
		return 0;
	if (gfp & __GFP_ACCOUNT &&
	    !hmmrt_memcg_has_room(memcg, HMMRT_CHUNK_PAGES))
		return pages_alloc_at_limit(pages, node, gfp);
	return pages_alloc_single(pages, node, gfp, must);
}

static struct page **pages_alloc(struct mem_cgroup *memcg, int node, gfp_t gfp,
				 bool zero, bool must)
{
	struct mem_cgroup *before = set_active_memcg(memcg);
	struct page **pages;
	int rc = -ENOMEM;

	pages = kcalloc(HMMRT_CHUNK_PAGES, sizeof(*pages), gfp);
	if (zero)
		gfp |= __GFP_ZERO;
	if (gfp & __GFP_ACCOUNT && node != NUMA_NO_NODE)
		gfp |= __GFP_THISNODE;
	if (pages)
		rc = pages_fill(pages, memcg, node, gfp, must);
	set_active_memcg(before);
	if (!rc)
		return pages;
	pages_free(pages);
	return ERR_PTR(rc);
}

/*
 * At the limit of the creator, another process that uses memory first is charged
 * itself, as with a file in shared memory: it need not wait for the creator.
 */
static bool user_pays(const struct hmmrt_object *object)
{
	return current->mm && current->mm != object->mm;
}

/**
 * hmmrt_extent_alloc_pages() - allocate system memory for an extent
 * @extent: the extent, locked, which keeps its memory for now
 * @zero: fill it with zeroes
 * @must: its device goes: no limit, node or signal counts, as for other pages
 *
 * Memory for an extent that is charged already is not charged, and comes from
 * any node if that of the object has none: no limit of the owner keeps device
 * memory from others.
 * Context: may sleep.
 * Return: an array of pages, for hmmrt_extent_free_pages(); or an ERR_PTR:
 * -ENOMEM or -EINTR.
 */
struct page **hmmrt_extent_alloc_pages(const struct hmmrt_extent *extent,
				       bool zero, bool must)
{
	const struct hmmrt_object *object = extent->object;
	int node = must ? NUMA_NO_NODE : object->node;
	bool charge = !must && !extent->memcg_data;
	gfp_t gfp = charge ? EXTENT_GFP : EXTENT_GFP_UNCHARGED;
	struct mem_cgroup *memcg, *active;
	struct page **pages;

	pages = pages_alloc(object->memcg, node, gfp, zero, must);
	/* Memory on a device is moved for its removal: don't charge the caller. */
	if (PTR_ERR_OR_ZERO(pages) != -ENOMEM || !charge || extent->dev ||
	    !user_pays(object))
		return pages;
	/* A fault of a device has the cgroup of its process active. */
	active = set_active_memcg(NULL);
	set_active_memcg(active);
	memcg = active ? NULL : get_mem_cgroup_from_mm(current->mm);
	pages = pages_alloc(active ? active : memcg, node, gfp, zero, must);
	mem_cgroup_put(memcg);
	return pages;
}

void hmmrt_extent_free_pages(struct page **pages)
{
	pages_free(pages);
}

/* --- charges of the memory cgroup ----------------------------------------- */

/*
 * Free pages, but not what they are charged. Returns it in the array of the
 * pages.
 */
static unsigned long *pages_to_memcg_data(struct page **pages)
{
	unsigned long *data = (unsigned long *)pages;
	unsigned int i;

	BUILD_BUG_ON(sizeof(*data) != sizeof(*pages));
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++) {
		struct page *page = pages[i];

		data[i] = hmmrt_page_take_memcg(page);
		__free_page(page);
	}
	return data;
}

/*
 * A page is uncharged when it is freed; no function does it without a page. One
 * of the extent's chunk serves, so that nothing has to be allocated. The chunk
 * stays in use: see hmmrt_vram_folio_free().
 */
static void memcg_data_drop(struct hmmrt_device *dev,
			    const struct hmmrt_chunk *chunk, unsigned int i,
			    unsigned long *data)
{
	struct page *page = pfn_to_page(hmmrt_chunk_pfn(dev, chunk) + i);

	VM_WARN_ON_ONCE(!chunk->extent || page_ref_count(page));
	if (!data[i])
		return;
	hmmrt_page_init(page, hmmrt_page_pgmap(page));
	hmmrt_page_give_memcg(page, data[i]);
	unlock_page(page);
	put_page(page);
	data[i] = 0;
}

/**
 * hmmrt_extent_uncharge() - end the charge of an extent that gets no memory
 * @extent: locked, without @pages
 * @dev: device of the chunk
 * @chunk: that the extent is in, or was to be in; nothing refers to its pages
 *
 * Allocates nothing. Context: may sleep.
 */
void hmmrt_extent_uncharge(struct hmmrt_extent *extent,
			   struct hmmrt_device *dev,
			   const struct hmmrt_chunk *chunk)
{
	unsigned long *data = extent->memcg_data;
	unsigned int i;

	lockdep_assert_held(&extent->lock);
	for (i = 0; data && i < HMMRT_CHUNK_PAGES; i++)
		memcg_data_drop(dev, chunk, i, data);
	kfree(data);
	extent->memcg_data = NULL;
}

/*
 * New pages take over what the extent is charged, and the array, which is
 * charged, too. A NULL page is lost and charged no more. Consumes @pages;
 * returns them.
 */
static struct page **pages_take_over(struct hmmrt_extent *extent,
				     struct page **pages)
{
	unsigned long *data = extent->memcg_data;
	unsigned int i;

	lockdep_assert_held(&extent->lock);
	if (!data)
		return pages;
	for (i = 0; i < HMMRT_CHUNK_PAGES; i++) {
		VM_WARN_ON_ONCE(!pages[i] && data[i]);
		if (pages[i])
			hmmrt_page_give_memcg(pages[i], data[i]);
		data[i] = (unsigned long)pages[i];
	}
	extent->memcg_data = NULL;
	kfree(pages);
	return (struct page **)data;
}

/**
 * hmmrt_extent_charge() - charge an extent that is to have its first memory
 * @extent: locked, of a migratable object
 *
 * As for a page of anonymous memory, the memory cgroup is charged when there is
 * memory, on a device or not, and not when it moves. Otherwise an eviction would
 * fail at the limit of the owner, and a process could keep device memory for
 * ever.
 * Context: may sleep.
 * Return: 0, also if it is charged already; or -ENOMEM or -EINTR.
 */
int hmmrt_extent_charge(struct hmmrt_extent *extent)
{
	struct page **pages;

	lockdep_assert_held(&extent->lock);
	VM_WARN_ON_ONCE(!hmmrt_object_is_migratable(extent->object));
	if (extent->pages || extent->memcg_data)
		return 0;
	pages = hmmrt_extent_alloc_pages(extent, false, false);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	extent->memcg_data = pages_to_memcg_data(pages);
	return 0;
}

/* --- where an extent is --------------------------------------------------- */

/*
 * The extent and the index in it of a page of the object, or NULL: it was never
 * used. All extents of a pinned object were.
 */
struct hmmrt_extent *hmmrt_object_find(struct hmmrt_object *object,
				       pgoff_t pgoff, unsigned int *index)
{
	VM_WARN_ON_ONCE(pgoff / HMMRT_CHUNK_PAGES >= object->nr_extents);
	*index = pgoff % HMMRT_CHUNK_PAGES;
	return xa_load(&object->extents, pgoff / HMMRT_CHUNK_PAGES);
}

static struct hmmrt_extent *extent_alloc(struct hmmrt_object *object,
					 unsigned long index)
{
	struct hmmrt_extent *extent = kzalloc(sizeof(*extent), EXTENT_GFP);

	if (!extent)
		return NULL;
	mutex_init(&extent->lock);
	extent->object = object;
	extent->index = index;
	extent->location = HMMRT_LOCATION_NONE;
	return extent;
}

/**
 * hmmrt_extent_lockdep_teach() - teach lockdep the order around extent->lock
 * @block_lock: block->lock of any block
 *
 * Its holder allocates, and unmaps the extent from all processes: reclaim, and
 * then i_mmap_rwsem, and then the notifiers. The core's map of the notifiers,
 * which is not exported, is taught by the core.
 * Context: module init.
 */
void __init hmmrt_extent_lockdep_teach(struct mutex *block_lock)
{
	struct hmmrt_extent *extent = extent_alloc(NULL, 0);
	struct address_space *mapping;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	if (!extent || !mapping)
		goto out_free;
	address_space_init_once(mapping);
	mutex_lock(&extent->lock);
	fs_reclaim_acquire(GFP_KERNEL);
	i_mmap_lock_read(mapping);
	might_lock(block_lock);
	i_mmap_unlock_read(mapping);
	fs_reclaim_release(GFP_KERNEL);
	mutex_unlock(&extent->lock);
	mutex_destroy(&extent->lock);
out_free:
	kfree(mapping);
	kfree(extent);
}

/* Another thread may make the same one. */
static struct hmmrt_extent *extent_make(struct hmmrt_object *object,
					unsigned long index)
{
	struct hmmrt_extent *extent, *other;

	extent = extent_alloc(object, index);
	if (!extent)
		return ERR_PTR(-ENOMEM);
	other = xa_cmpxchg(&object->extents, index, NULL, extent, EXTENT_GFP);
	if (!other)
		return extent;
	mutex_destroy(&extent->lock);
	kfree(extent);
	return xa_is_err(other) ? ERR_PTR(xa_err(other)) : other;
}

/* The same for a page that is to be used: an ERR_PTR, -ENOMEM, if not NULL. */
struct hmmrt_extent *hmmrt_object_extent(struct hmmrt_object *object,
					 pgoff_t pgoff, unsigned int *index)
{
	struct hmmrt_extent *extent = hmmrt_object_find(object, pgoff, index);
	struct mem_cgroup *before;

	might_sleep();
	if (extent)
		return extent;
	before = set_active_memcg(object->memcg);
	extent = extent_make(object, pgoff / HMMRT_CHUNK_PAGES);
	set_active_memcg(before);
	if (PTR_ERR_OR_ZERO(extent) == -ENOMEM && user_pays(object))
		extent = extent_make(object, pgoff / HMMRT_CHUNK_PAGES);
	return extent;
}

/* Where a page of the object is now: as in the UAPI. */
u32 hmmrt_object_location(struct hmmrt_object *object, pgoff_t pgoff)
{
	unsigned int index;
	struct hmmrt_extent *extent = hmmrt_object_find(object, pgoff, &index);

	return extent ? READ_ONCE(extent->location) : HMMRT_LOCATION_NONE;
}

/* The offset of an extent in its object. */
u64 hmmrt_extent_offset(const struct hmmrt_extent *extent)
{
	return (u64)extent->index << HMMRT_CHUNK_SHIFT;
}

static void extent_check(const struct hmmrt_extent *extent)
{
	lockdep_assert_held(&extent->lock);
	VM_WARN_ON_ONCE(!extent->chunk != !extent->dev);
	VM_WARN_ON_ONCE(extent->chunk && extent->pages);
	VM_WARN_ON_ONCE(extent->lost && !extent->pages);
	VM_WARN_ON_ONCE(extent->memcg_data && extent->pages);
	VM_WARN_ON_ONCE(extent->chunk && !extent->memcg_data ==
			hmmrt_object_is_migratable(extent->object));
	VM_WARN_ON_ONCE(extent->chunk && extent->chunk->extent != extent);
	VM_WARN_ON_ONCE(!extent->chunk && !extent->pages &&
			!hmmrt_object_is_migratable(extent->object));
}

/* The location that was asked for, as extents have it. */
static u32 object_home(const struct hmmrt_object *object)
{
	return object->location < HMMRT_MAX_DEVICES ? object->location :
						      HMMRT_LOCATION_HOST;
}

static void extent_set_location(struct hmmrt_extent *extent, u32 location)
{
	u32 home = object_home(extent->object);

	lockdep_assert_held(&extent->lock);
	if (extent->location == home)
		atomic_long_dec(&extent->object->resident);
	if (location == home)
		atomic_long_inc(&extent->object->resident);
	WRITE_ONCE(extent->location, location);
}

/*
 * The extent is in this chunk from now on. Consumes @chunk, of
 * hmmrt_vram_take_chunk(). The extent has no other memory, and if its object is
 * migratable, it is charged.
 */
void hmmrt_extent_set_chunk(struct hmmrt_extent *extent,
			    struct hmmrt_device *dev, struct hmmrt_chunk *chunk)
{
	VM_WARN_ON_ONCE(extent->chunk || extent->pages);
	extent->dev = dev;
	extent->chunk = chunk;
	extent_set_location(extent, dev->id);
	extent_check(extent);
}

/* The same with pages of system memory, of hmmrt_extent_alloc_pages(). */
void hmmrt_extent_set_pages(struct hmmrt_extent *extent, struct page **pages)
{
	VM_WARN_ON_ONCE(extent->chunk || extent->pages);
	extent->pages = pages_take_over(extent, pages);
	extent_set_location(extent, HMMRT_LOCATION_HOST);
	extent_check(extent);
}

/*
 * Free the memory of an extent, which stays charged. Nothing refers to the
 * memory. The caller gives the extent other memory before it releases the lock,
 * unless the object goes. A lost page would come back: such an extent stays.
 */
void hmmrt_extent_clear(struct hmmrt_extent *extent)
{
	struct hmmrt_chunk *chunk = extent->chunk;
	struct hmmrt_device *dev = extent->dev;

	lockdep_assert_held(&extent->lock);
	VM_WARN_ON_ONCE(extent->lost);
	extent->chunk = NULL;
	extent->dev = NULL;
	if (chunk)
		hmmrt_vram_put_chunk(dev, chunk);
	if (extent->pages)
		extent->memcg_data = pages_to_memcg_data(extent->pages);
	extent->pages = NULL;
	extent_set_location(extent, HMMRT_LOCATION_NONE);
}

/* Leave the chunk for pages, as above; what is lost of them is NULL. */
void hmmrt_extent_leave_chunk(struct hmmrt_extent *extent, struct page **pages)
{
	unsigned int i;

	lockdep_assert_held(&extent->lock);
	for (i = 0; extent->memcg_data && i < HMMRT_CHUNK_PAGES; i++)
		if (!pages[i])
			memcg_data_drop(extent->dev, extent->chunk, i,
					extent->memcg_data);
	hmmrt_extent_clear(extent);
	hmmrt_extent_set_pages(extent, pages);
}

/**
 * hmmrt_extent_cpu_pfn() - find where the CPU maps a page of an extent
 * @extent: locked
 * @index: of the page
 *
 * Return: a page frame number, or 0: the CPU cannot reach it, or it is lost.
 */
unsigned long hmmrt_extent_cpu_pfn(const struct hmmrt_extent *extent,
				   unsigned int index)
{
	struct hmmrt_device *dev = extent->dev;
	const struct hmmrt_device_ops *ops;
	u64 offset;

	lockdep_assert_held(&extent->lock);
	if (extent->pages)
		return extent->pages[index] ? page_to_pfn(extent->pages[index]) :
					      0;
	if (!dev)
		return 0;
	offset = extent->chunk->offset + ((u64)index << PAGE_SHIFT);
	if (hmmrt_device_is_coherent(dev))
		return PHYS_PFN(dev->memory_start + offset);
	/* An orphan has none: see hmmrt_evict_abandon(). */
	ops = READ_ONCE(dev->ops);
	return ops->bar_pfn ? ops->bar_pfn(dev, offset) : 0;
}

/* Returns true if the CPU cannot reach some of the object. */
bool hmmrt_object_is_hidden(struct hmmrt_object *object)
{
	struct hmmrt_extent *extent;
	unsigned long i;

	if (!object->hidden)
		return false;
	xa_for_each(&object->extents, i, extent)
		if (READ_ONCE(extent->location) != HMMRT_LOCATION_HOST)
			return true;
	return false;
}

/* How much of the object is at the location that was asked for. */
u64 hmmrt_object_resident(const struct hmmrt_object *object)
{
	return (u64)atomic_long_read(&object->resident) << HMMRT_CHUNK_SHIFT;
}

/* --- lifetime ------------------------------------------------------------- */

static void extent_free(struct hmmrt_extent *extent)
{
	mutex_lock(&extent->lock);
	pages_free(extent->pages);
	extent->pages = NULL;
	extent->lost = false;
	if (extent->chunk)
		hmmrt_extent_uncharge(extent, extent->dev, extent->chunk);
	hmmrt_extent_clear(extent);
	VM_WARN_ON_ONCE(extent->memcg_data);
	mutex_unlock(&extent->lock);
	mutex_destroy(&extent->lock);
	kfree(extent);
}

static void extents_free(struct hmmrt_object *object)
{
	struct hmmrt_extent *extent;
	unsigned long i;

	xa_for_each(&object->extents, i, extent) {
		extent_free(extent);
		cond_resched();
	}
	VM_WARN_ON_ONCE(atomic_long_read(&object->resident));
	xa_destroy(&object->extents);
}

/*
 * Drop a reference. Context: process context, no lock held; the caller holds
 * the module.
 */
void hmmrt_object_put(struct hmmrt_object *object)
{
	might_sleep();
	if (!refcount_dec_and_test(&object->refs))
		return;
	VM_WARN_ON_ONCE(mapping_mapped(object->inode->i_mapping));
	extents_free(object);
	hmmrt_unlock_pages(&object->locked);
	iput(object->inode);
	simple_release_fs(&object_mount, &object_mounts);
	mem_cgroup_put(object->memcg);
	mmdrop(object->mm);
	kfree(object);
}

/*
 * Get a reference to the object of an extent, or return false: it is being
 * freed. The extent was found in its chunk, which it leaves before it is freed.
 */
bool hmmrt_extent_hold(struct hmmrt_extent *extent)
{
	return refcount_inc_not_zero(&extent->object->refs);
}

/* Its size and mode never change: since 6.16 the core makes it a regular file. */
static int object_setattr(struct mnt_idmap *idmap, struct dentry *dentry,
			  struct iattr *attr)
{
	return -EINVAL;
}

static const struct inode_operations object_inode_ops = {
	.setattr = object_setattr,
};

/* Return an inode, with a use of object_mount; or an ERR_PTR. */
static struct inode *object_inode_get(void)
{
	struct inode *inode;
	int rc;

	rc = simple_pin_fs(&object_fs_type, &object_mount, &object_mounts);
	if (rc)
		return ERR_PTR(rc);
	inode = alloc_anon_inode(object_mount->mnt_sb);
	if (IS_ERR(inode))
		simple_release_fs(&object_mount, &object_mounts);
	else
		inode->i_op = &object_inode_ops;
	return inode;
}

/**
 * hmmrt_object_alloc() - make an object without memory
 * @mm: of the creating process, alive
 * @bytes: a multiple of the chunk size, not 0; no more than can ever be used
 *
 * Return: the object with a reference, or an ERR_PTR: -ENOMEM.
 */
struct hmmrt_object *hmmrt_object_alloc(struct mm_struct *mm, u64 bytes)
{
	struct hmmrt_object *object;
	struct inode *inode;

	object = kzalloc(sizeof(*object), GFP_KERNEL_ACCOUNT);
	if (!object)
		return ERR_PTR(-ENOMEM);
	inode = object_inode_get();
	if (IS_ERR(inode)) {
		kfree(object);
		return ERR_CAST(inode);
	}
	object->inode = inode;
	object->id = atomic64_inc_return(&last_id);
	object->node = NUMA_NO_NODE;
	object->memcg = get_mem_cgroup_from_mm(mm);
	object->mm = mm;
	mmgrab(mm);
	object->nr_extents = bytes >> HMMRT_CHUNK_SHIFT;
	xa_init_flags(&object->extents, XA_FLAGS_ACCOUNT);
	refcount_set(&object->refs, 1);
	return object;
}

/**
 * hmmrt_object_file() - make a file of an object
 * @object: consumes the reference, also on failure
 * @fops: release() puts the object, which is in private_data
 * @flags: O_RDWR, or O_RDONLY: no mapping of it permits writes
 *
 * Return: the file, or an ERR_PTR.
 */
struct file *hmmrt_object_file(struct hmmrt_object *object,
			       const struct file_operations *fops, int flags)
{
	struct file *file;

	ihold(object->inode);
	file = alloc_file_pseudo(object->inode, object_mount, "hmmrt-object",
				 flags, fops);
	if (IS_ERR(file)) {
		iput(object->inode);
		hmmrt_object_put(object);
		return file;
	}
	/* Put by the core when it frees the file. */
	__module_get(THIS_MODULE);
	file->private_data = object;
	return file;
}

/* The object of a mapping, or NULL if it is a mapping of anything else. */
struct hmmrt_object *hmmrt_vma_object(const struct vm_area_struct *vma)
{
	const struct file *file = vma->vm_file;

	if (!file || file_inode(file)->i_sb->s_type != &object_fs_type)
		return NULL;
	return file->private_data;
}

/* The page of the object at an address of a mapping. */
pgoff_t hmmrt_vma_pgoff(const struct vm_area_struct *vma, unsigned long addr)
{
	VM_WARN_ON_ONCE(addr < vma->vm_start || addr >= vma->vm_end);
	return vma->vm_pgoff + ((addr - vma->vm_start) >> PAGE_SHIFT);
}
