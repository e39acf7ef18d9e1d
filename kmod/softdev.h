/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A device in software, which replaces the hardware in drivers without hardware,
 * and of those drivers what does not differ between them.
 *
 * Device     A node, and memory: kernel memory, one chunk at a time, allocated
 *            by populate(). Coherent memory is at its physical address. The
 *            drvdata of a device starts with its struct soft_device.
 * Context    One open file: the device's page table for a process, and the
 *            binding to the process. It is the drvdata of the binding.
 * Tables     One page of entries for each chunk of address space. prepare()
 *            creates it, and it stays until the file is closed.
 * Work       The device works in system calls of its process only. pread() and
 *            pwrite() of eight bytes at an offset are accesses to that address.
 *            Without an entry that is a fault, for which soft->fault() is called
 *            in the same thread, as an interrupt handler would be.
 * Binding    Not in open(), because the core holds a lock during open().
 * Removal    To remove a device, its driver first removes the node, so that no
 *            file can be opened. For each open file it stops the device, with
 *            the gate, and unbinds it. Then it unregisters the device. Calls on
 *            a file that is still open fail with ENODEV.
 * Locking    soft->lock     mutex: the end of the bindings of a device.
 *            context->gate  rwsem: held for reading while the device works for
 *                           the process, for writing to bind and to stop it.
 *                           All locks of the manager are taken inside.
 *            create         mutex: creation of tables.
 *            entries        spinlock: entries, and accesses through them. After
 *                           an entry was removed under this lock, the device no
 *                           longer uses it.
 *            contexts_lock  spinlock: the contexts of a device. They leave
 *                           under soft->lock, too. open() takes only this.
 */
#ifndef _HMMRT_SOFTDEV_H
#define _HMMRT_SOFTDEV_H

#include <linux/highmem.h>
#include <linux/hmmrt_device.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#define SOFT_MEMORY_BYTES	(32 * HMMRT_CHUNK_SIZE)

struct soft_context;

struct soft_device {
	struct hmmrt_device *dev;
	struct miscdevice misc;
	char name[HMMRT_DEVICE_NAME_LEN];
	/* Returns 0 or -EAGAIN if the access should be repeated. */
	int (*fault)(struct soft_context *context, unsigned long addr,
		     unsigned int access);
	/* Optional: ends waits in fault(), because the device is stopping. */
	void (*stopping)(void);
	u64 memory_start;		/* of coherent memory, otherwise 0 */
	struct xarray chunks;		/* memory, by number of the chunk */
	struct mutex lock;		/* the end of bindings */
	spinlock_t contexts_lock;
	struct list_head contexts;
};

struct soft_context {
	struct soft_device *soft;
	struct list_head link;
	struct mm_struct *mm;		/* that opened it, perhaps exited */
	struct rw_semaphore gate;
	struct hmmrt_binding *binding;	/* NULL: none yet, or stopped */
	bool stopping;			/* the device is being removed */
	/* Flags of entries that do not permit a write for all that. */
	hmmrt_pte_t no_write;
	struct mutex create;		/* tables */
	spinlock_t entries;		/* entries */
	struct xarray tables;
};

/* --- memory, and its operations ------------------------------------------- */

static inline void *soft_memory_at(struct soft_device *soft, u64 offset)
{
	if (soft->memory_start)
		return __va(soft->memory_start + offset);
	return xa_load(&soft->chunks, offset >> HMMRT_CHUNK_SHIFT) +
	       offset % HMMRT_CHUNK_SIZE;
}

static inline int soft_populate(struct hmmrt_device *dev, u64 offset)
{
	struct soft_device *soft = hmmrt_device_drvdata(dev);
	void *chunk = __vmalloc(HMMRT_CHUNK_SIZE, GFP_KERNEL | __GFP_NOWARN);
	int rc = -ENOMEM;

	if (chunk)
		rc = xa_err(xa_store(&soft->chunks, offset >> HMMRT_CHUNK_SHIFT,
				     chunk, GFP_KERNEL));
	if (rc)
		vfree(chunk);
	return rc;
}

static inline void soft_depopulate(struct hmmrt_device *dev, u64 offset)
{
	struct soft_device *soft = hmmrt_device_drvdata(dev);

	vfree(xa_erase(&soft->chunks, offset >> HMMRT_CHUNK_SHIFT));
}

static inline int soft_copy_to_device(struct hmmrt_device *dev, u64 offset,
				      struct page **src, unsigned int npages)
{
	void *to = soft_memory_at(hmmrt_device_drvdata(dev), offset);

	for (; npages--; src++, to += PAGE_SIZE) {
		if (*src)
			memcpy_from_page(to, *src, 0, PAGE_SIZE);
		else
			clear_page(to);
	}
	return 0;
}

static inline int soft_copy_to_host(struct hmmrt_device *dev, struct page **dst,
				    u64 offset, unsigned int npages)
{
	const void *from = soft_memory_at(hmmrt_device_drvdata(dev), offset);

	for (; npages--; dst++, from += PAGE_SIZE)
		if (*dst)
			memcpy_to_page(*dst, 0, from, PAGE_SIZE);
	return 0;
}

/* --- the MMU, and its operations ------------------------------------------ */

static inline hmmrt_pte_t *soft_slot(struct soft_context *context,
				     unsigned long addr)
{
	hmmrt_pte_t *table = xa_load(&context->tables,
				     addr >> HMMRT_CHUNK_SHIFT);

	return table ? &table[(addr >> PAGE_SHIFT) % HMMRT_CHUNK_PAGES] : NULL;
}

/* Create the table of one chunk of address space. */
static inline int soft_prepare(struct hmmrt_binding *binding,
			       unsigned long start, unsigned long end)
{
	struct soft_context *context = hmmrt_binding_drvdata(binding);
	void *table;
	int rc = 0;

	mutex_lock(&context->create);
	if (soft_slot(context, start))
		goto out_unlock;
	table = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	rc = table ? xa_err(xa_store(&context->tables,
				     start >> HMMRT_CHUNK_SHIFT, table,
				     GFP_KERNEL)) :
		     -ENOMEM;
	if (rc)
		free_page((unsigned long)table);
out_unlock:
	mutex_unlock(&context->create);
	return rc;
}

static inline void soft_map(struct hmmrt_binding *binding, unsigned long start,
			    const hmmrt_pte_t *ptes, unsigned int npages)
{
	struct soft_context *context = hmmrt_binding_drvdata(binding);
	hmmrt_pte_t *slot = soft_slot(context, start);

	spin_lock(&context->entries);
	for (; npages--; ptes++, slot++)
		if (*ptes)
			*slot = *ptes;
	spin_unlock(&context->entries);
}

static inline void soft_unmap(struct hmmrt_binding *binding,
			      unsigned long start, unsigned long end)
{
	struct soft_context *context = hmmrt_binding_drvdata(binding);
	hmmrt_pte_t *slot = soft_slot(context, start);

	spin_lock(&context->entries);
	memset(slot, 0, ((end - start) >> PAGE_SHIFT) * sizeof(*slot));
	spin_unlock(&context->entries);
}

/*
 * A device with a TLB invalidates the range here and waits for completion. This
 * one uses an entry under context->entries only.
 */
static inline void soft_invalidate(struct hmmrt_binding *binding,
				   unsigned long start, unsigned long end)
{
}

/*
 * A device that runs asynchronously stops working for the process here. This one
 * works in system calls of the process only.
 */
static inline void soft_released(struct hmmrt_binding *binding)
{
}

/* Return the memory of an entry. context->entries keeps the entry valid. */
static inline void *soft_target(struct soft_device *soft, hmmrt_pte_t entry)
{
	if (entry & HMMRT_PTE_PEER)
		soft = hmmrt_device_drvdata(hmmrt_pte_peer(entry));
	else if (!(entry & HMMRT_PTE_DEVICE))
		return kmap_local_pfn(PHYS_PFN(entry & HMMRT_PTE_ADDR));
	return soft_memory_at(soft, entry & HMMRT_PTE_ADDR);
}

/*
 * Access memory inside one page. Returns false if no entry permits the access,
 * which is a fault.
 */
static inline bool soft_access(struct soft_context *context, unsigned long addr,
			       void *data, size_t len, bool write)
{
	hmmrt_pte_t *slot, entry = 0;
	void *at;

	spin_lock(&context->entries);
	slot = soft_slot(context, addr);
	if (slot && (!write || ((*slot & HMMRT_PTE_WRITE) &&
				!(*slot & context->no_write))))
		entry = *slot;
	if (entry) {
		at = soft_target(context->soft, entry);
		memcpy(write ? at + offset_in_page(addr) : data,
		       write ? data : at + offset_in_page(addr), len);
		if (!(entry & (HMMRT_PTE_DEVICE | HMMRT_PTE_PEER)))
			kunmap_local(at);
	}
	spin_unlock(&context->entries);
	return entry;
}

/* --- contexts ------------------------------------------------------------- */

/* Bind the device to the calling process. */
static inline int soft_bind(struct soft_context *context)
{
	/* Takes the mmap_lock, so not under the gate: a removal waits for it. */
	struct hmmrt_space *space = hmmrt_space_get_current();
	struct hmmrt_binding *binding;
	int rc = -EINTR;

	if (IS_ERR(space))
		return PTR_ERR(space);
	if (down_write_killable(&context->gate))
		goto out_put;
	rc = context->stopping ? -ENODEV : -EBUSY;
	if (!context->stopping && !context->binding) {
		/* Ops may be called before this returns. */
		binding = hmmrt_bind(space, context->soft->dev, context);
		rc = PTR_ERR_OR_ZERO(binding);
		if (!rc)
			context->binding = binding;
	}
	up_write(&context->gate);
out_put:
	hmmrt_space_put(space);
	return rc;
}

/* The device works for its process. On success, soft_leave() follows. */
static inline int soft_enter(struct soft_context *context)
{
	int rc = 0;

	if (down_read_killable(&context->gate))
		return -EINTR;
	if (!context->binding)
		rc = -ENODEV;
	else if (!hmmrt_binding_is_owner(context->binding))
		rc = -EPERM;
	if (rc)
		up_read(&context->gate);
	return rc;
}

static inline void soft_leave(struct soft_context *context)
{
	up_read(&context->gate);
}

/* Stop the device for one process, and end the binding. */
static inline void soft_stop(struct soft_context *context)
{
	struct soft_device *soft = context->soft;
	struct hmmrt_binding *binding;

	lockdep_assert_held(&soft->lock);
	WRITE_ONCE(context->stopping, true);
	if (soft->stopping)
		soft->stopping();
	down_write(&context->gate);
	binding = context->binding;
	context->binding = NULL;
	up_write(&context->gate);
	spin_lock(&soft->contexts_lock);
	list_del_init(&context->link);
	spin_unlock(&soft->contexts_lock);
	if (binding)
		hmmrt_unbind(binding);
}

/* --- operations of files -------------------------------------------------- */

/* misc_open() stores the miscdevice in private_data. */
static inline int soft_open(struct inode *inode, struct file *file)
{
	struct soft_device *soft = container_of(file->private_data,
						struct soft_device, misc);
	struct soft_context *context = kzalloc(sizeof(*context), GFP_KERNEL);

	if (!context)
		return -ENOMEM;
	context->soft = soft;
	context->mm = current->mm;
	mmgrab(context->mm);
	init_rwsem(&context->gate);
	mutex_init(&context->create);
	spin_lock_init(&context->entries);
	xa_init(&context->tables);
	spin_lock(&soft->contexts_lock);
	list_add(&context->link, &soft->contexts);
	spin_unlock(&soft->contexts_lock);
	file->private_data = context;
	return 0;
}

/* No call on this file is running, but the device may be being removed. */
static inline int soft_release(struct inode *inode, struct file *file)
{
	struct soft_context *context = file->private_data;
	unsigned long index;
	void *table;

	mutex_lock(&context->soft->lock);
	soft_stop(context);
	mutex_unlock(&context->soft->lock);
	xa_for_each(&context->tables, index, table)
		free_page((unsigned long)table);
	xa_destroy(&context->tables);
	mmdrop(context->mm);
	kfree(context);
	return 0;
}

/*
 * The gate is released between attempts, so that the removal of the device does
 * not wait long.
 */
static inline int soft_word(struct file *file, unsigned long addr, size_t len,
			    u64 *word, bool write)
{
	struct soft_context *context = file->private_data;
	int rc;

	if (len != sizeof(*word) || addr % sizeof(*word))
		return -EINVAL;
	do {
		rc = soft_enter(context);
		if (rc)
			break;
		if (!soft_access(context, addr, word, len, write)) {
			rc = context->soft->fault(context, addr,
						  HMMRT_ACCESS_READ |
						  (write ? HMMRT_ACCESS_WRITE :
							   0));
			rc = rc ? rc : -EAGAIN;
		}
		soft_leave(context);
		if (rc == -EAGAIN && fatal_signal_pending(current))
			rc = -EINTR;
	} while (rc == -EAGAIN);
	return hmmrt_restart(rc);
}

static inline ssize_t soft_read(struct file *file, char __user *to, size_t len,
				loff_t *pos)
{
	u64 word;
	int rc;

	rc = soft_word(file, *pos, len, &word, false);
	if (!rc && copy_to_user(to, &word, sizeof(word)))
		rc = -EFAULT;
	return rc ? rc : sizeof(word);
}

static inline ssize_t soft_write(struct file *file, const char __user *from,
				 size_t len, loff_t *pos)
{
	u64 word = 0;
	int rc;

	if (copy_from_user(&word, from, min(len, sizeof(word))))
		return -EFAULT;
	rc = soft_word(file, *pos, len, &word, true);
	return rc ? rc : sizeof(word);
}

/* --- devices -------------------------------------------------------------- */

/* Before anything else; the name is set. */
static inline void soft_device_init(struct soft_device *soft,
				    const struct file_operations *fops)
{
	soft->misc.name = soft->name;
	soft->misc.fops = fops;
	soft->misc.mode = 0660;
	xa_init(&soft->chunks);
	mutex_init(&soft->lock);
	spin_lock_init(&soft->contexts_lock);
	INIT_LIST_HEAD(&soft->contexts);
}

/* Create the node. A device that comes again gets another minor. */
static inline int soft_device_publish(struct soft_device *soft)
{
	soft->misc.minor = MISC_DYNAMIC_MINOR;
	return misc_register(&soft->misc);
}

static inline int soft_device_add(struct soft_device *soft,
				  const struct hmmrt_device_desc *desc)
{
	int rc;

	soft->dev = hmmrt_device_register(desc);
	if (IS_ERR(soft->dev))
		return PTR_ERR(soft->dev);
	rc = soft_device_publish(soft);
	if (rc)
		hmmrt_device_unregister(soft->dev);
	return rc;
}

static inline void soft_device_remove(struct soft_device *soft)
{
	struct soft_context *context, *next;

	misc_deregister(&soft->misc);
	mutex_lock(&soft->lock);
	/* No file can be opened any more. */
	list_for_each_entry_safe(context, next, &soft->contexts, link)
		soft_stop(context);
	mutex_unlock(&soft->lock);
	hmmrt_device_unregister(soft->dev);
}

#endif /* _HMMRT_SOFTDEV_H */
