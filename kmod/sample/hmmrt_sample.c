// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device driver on hmmrt, as small as one can be: to be read, and to begin with.
 *
 * /dev/hmmrt-sample is a device that reads and writes the memory of the process
 * that opened it: pread() and pwrite() at an offset are the device's accesses to
 * that address. The first part is what stands for the device and its MMU here,
 * and would be hardware, or is there already; the second, under a hundred lines,
 * is what a driver adds to have unified memory.
 */
#include <linux/highmem.h>
#include <linux/hmmrt_device.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

/* --- the device and its MMU ----------------------------------------------- */

#define MEMORY_BYTES	(32 * HMMRT_CHUNK_SIZE)

struct context {
	struct hmmrt_binding *binding;
	struct xarray tables;		/* a page of entries for each chunk */
	struct mutex create;		/* tables */
	spinlock_t lock;		/* entries, and accesses through them */
};

static void *memory[MEMORY_BYTES >> HMMRT_CHUNK_SHIFT];

static void *memory_at(u64 offset)
{
	return memory[offset >> HMMRT_CHUNK_SHIFT] + offset % HMMRT_CHUNK_SIZE;
}

static hmmrt_pte_t *entry_at(struct context *context, unsigned long addr)
{
	hmmrt_pte_t *table = xa_load(&context->tables, addr >> HMMRT_CHUNK_SHIFT);

	return table ? &table[(addr >> PAGE_SHIFT) % HMMRT_CHUNK_PAGES] : NULL;
}

/* One access. false: no entry permits it, that is a fault. */
static bool access_once(struct context *context, unsigned long addr, u64 *word,
			bool write)
{
	hmmrt_pte_t *slot, entry = 0;
	void *at;

	spin_lock(&context->lock);
	slot = entry_at(context, addr);
	if (slot && (!write || (*slot & HMMRT_PTE_WRITE)))
		entry = *slot;
	if (entry) {
		at = entry & HMMRT_PTE_DEVICE ?
			     memory_at(entry & HMMRT_PTE_ADDR) :
			     kmap_local_pfn(PHYS_PFN(entry & HMMRT_PTE_ADDR));
		memcpy(write ? at + offset_in_page(addr) : word,
		       write ? word : at + offset_in_page(addr), sizeof(*word));
		if (!(entry & HMMRT_PTE_DEVICE))
			kunmap_local(at);
	}
	spin_unlock(&context->lock);
	return entry;
}

static int sample_populate(struct hmmrt_device *dev, u64 offset)
{
	memory[offset >> HMMRT_CHUNK_SHIFT] = vzalloc(HMMRT_CHUNK_SIZE);
	return memory[offset >> HMMRT_CHUNK_SHIFT] ? 0 : -ENOMEM;
}

static void sample_depopulate(struct hmmrt_device *dev, u64 offset)
{
	vfree(memory_at(offset));
}

static int sample_copy_to_device(struct hmmrt_device *dev, u64 offset,
				 struct page **src, unsigned int npages)
{
	for (; npages--; src++, offset += PAGE_SIZE) {
		if (*src)
			memcpy_from_page(memory_at(offset), *src, 0, PAGE_SIZE);
		else
			clear_page(memory_at(offset));
	}
	return 0;
}

static int sample_copy_to_host(struct hmmrt_device *dev, struct page **dst,
			       u64 offset, unsigned int npages)
{
	for (; npages--; dst++, offset += PAGE_SIZE)
		if (*dst)
			memcpy_to_page(*dst, 0, memory_at(offset), PAGE_SIZE);
	return 0;
}

/* The manager asks for one chunk's range, and keeps to it with map() and unmap(). */
static int sample_prepare(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end)
{
	struct context *context = hmmrt_binding_drvdata(binding);
	void *table;
	int rc = 0;

	mutex_lock(&context->create);
	if (!entry_at(context, start)) {
		table = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		rc = table ? xa_err(xa_store(&context->tables,
					     start >> HMMRT_CHUNK_SHIFT, table,
					     GFP_KERNEL)) :
			     -ENOMEM;
		if (rc)
			free_page((unsigned long)table);
	}
	mutex_unlock(&context->create);
	return rc;
}

static void sample_map(struct hmmrt_binding *binding, unsigned long start,
		       const hmmrt_pte_t *ptes, unsigned int npages)
{
	struct context *context = hmmrt_binding_drvdata(binding);
	hmmrt_pte_t *slot = entry_at(context, start);

	spin_lock(&context->lock);
	for (; npages--; ptes++, slot++)
		if (*ptes)
			*slot = *ptes;
	spin_unlock(&context->lock);
}

static void sample_unmap(struct hmmrt_binding *binding, unsigned long start,
			 unsigned long end)
{
	struct context *context = hmmrt_binding_drvdata(binding);

	spin_lock(&context->lock);
	memset(entry_at(context, start), 0,
	       ((end - start) >> PAGE_SHIFT) * sizeof(hmmrt_pte_t));
	spin_unlock(&context->lock);
}

/* A device with a TLB drops what it has of the range, and waits until it has. */
static void sample_invalidate(struct hmmrt_binding *binding,
			      unsigned long start, unsigned long end)
{
}

/* A device that works on its own stops working for this process. */
static void sample_released(struct hmmrt_binding *binding)
{
}

static const struct hmmrt_device_ops sample_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = sample_populate,
	.depopulate = sample_depopulate,
	.copy_to_device = sample_copy_to_device,
	.copy_to_host = sample_copy_to_host,
	.prepare = sample_prepare,
	.map = sample_map,
	.unmap = sample_unmap,
	.invalidate = sample_invalidate,
	.released = sample_released,
};

/* The driver's part: 0, repeat the access; or what is wrong with it. */
static int device_fault(struct context *context, unsigned long addr, bool write);

/* Eight bytes at their multiples; a fault until the access happens or is refused. */
static int device_access(struct context *context, unsigned long addr, size_t len,
			 u64 *word, bool write)
{
	int rc;

	if (len != sizeof(*word) || addr % sizeof(*word))
		return -EINVAL;
	while (!access_once(context, addr, word, write)) {
		rc = device_fault(context, addr, write);
		if (rc)
			return rc;
	}
	return 0;
}

static ssize_t sample_read(struct file *file, char __user *to, size_t len,
			   loff_t *pos)
{
	u64 word;
	int rc;

	rc = device_access(file->private_data, *pos, len, &word, false);
	if (!rc && copy_to_user(to, &word, sizeof(word)))
		rc = -EFAULT;
	return rc ? rc : sizeof(word);
}

static ssize_t sample_write(struct file *file, const char __user *from,
			    size_t len, loff_t *pos)
{
	u64 word = 0;
	int rc;

	if (copy_from_user(&word, from, min(len, sizeof(word))))
		return -EFAULT;
	rc = device_access(file->private_data, *pos, len, &word, true);
	return rc ? rc : sizeof(word);
}

/* --- the driver ------------------------------------------------------------ */

static struct hmmrt_device *sample_device;

static int sample_open(struct inode *inode, struct file *file)
{
	struct context *context = kzalloc(sizeof(*context), GFP_KERNEL);
	struct hmmrt_space *space;

	if (!context)
		return -ENOMEM;
	xa_init(&context->tables);
	mutex_init(&context->create);
	spin_lock_init(&context->lock);
	space = hmmrt_space_get_current();
	context->binding = IS_ERR(space) ? ERR_CAST(space) :
				   hmmrt_bind(space, sample_device, context);
	if (!IS_ERR(space))
		hmmrt_space_put(space);
	if (IS_ERR(context->binding)) {
		int rc = PTR_ERR(context->binding);

		kfree(context);
		return rc;
	}
	file->private_data = context;
	return 0;
}

static int sample_release(struct inode *inode, struct file *file)
{
	struct context *context = file->private_data;
	unsigned long index;
	void *table;

	hmmrt_unbind(context->binding);
	xa_for_each(&context->tables, index, table)
		free_page((unsigned long)table);
	xa_destroy(&context->tables);
	kfree(context);
	return 0;
}

static int device_fault(struct context *context, unsigned long addr, bool write)
{
	int rc;

	if (!hmmrt_binding_is_owner(context->binding))
		return -EPERM;
	rc = hmmrt_fault(context->binding, addr,
			 write ? HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE :
				 HMMRT_ACCESS_READ);
	return rc == -EAGAIN ? 0 : rc;
}

static const struct file_operations sample_fops = {
	.owner = THIS_MODULE,
	.open = sample_open,
	.release = sample_release,
	.read = sample_read,
	.write = sample_write,
	.llseek = noop_llseek,
};

static struct miscdevice sample_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hmmrt-sample",
	.fops = &sample_fops,
	.mode = 0660,
};

static int __init sample_init(void)
{
	struct hmmrt_device_desc desc = {
		.name = "hmmrt-sample",
		.ops = &sample_ops,
		.memory_bytes = MEMORY_BYTES,
		.numa_node = NUMA_NO_NODE,
	};
	int rc;

	sample_device = hmmrt_device_register(&desc);
	if (IS_ERR(sample_device))
		return PTR_ERR(sample_device);
	rc = misc_register(&sample_misc);
	if (rc)
		hmmrt_device_unregister(sample_device);
	return rc;
}

static void __exit sample_exit(void)
{
	misc_deregister(&sample_misc);
	hmmrt_device_unregister(sample_device);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("Sample device driver for hmmrt");
MODULE_LICENSE("GPL");
