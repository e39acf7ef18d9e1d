// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory objects as processes see them: HMMRT_IOC_OBJECT_CREATE,
 * HMMRT_IOC_ACCESS, and the files of objects. mem_object.c says what an object
 * is.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>

#include "api.h"
#include "ioctl.h"

/* --- files ---------------------------------------------------------------- */

static int object_ioc_info(struct file *file, void *arg)
{
	const struct hmmrt_object *object = file->private_data;
	struct hmmrt_object_info *info = arg;

	info->out_bytes = (u64)object->nr_extents << HMMRT_CHUNK_SHIFT;
	info->out_id = object->id;
	info->out_location = object->location;
	info->out_flags = object->flags;
	info->out_resident_bytes = hmmrt_object_resident(object);
	return 0;
}

static int object_ioc_reopen(struct file *file, void *arg);

static const struct hmmrt_ioctl_op object_ioctl_ops[] = {
	HMMRT_IOCTL_OP(HMMRT_OBJECT_IOC_INFO, object_ioc_info,
		       hmmrt_object_info, out_resident_bytes),
	HMMRT_IOCTL_OP(HMMRT_OBJECT_IOC_REOPEN, object_ioc_reopen,
		       hmmrt_object_reopen, out_fd),
};

static long object_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return hmmrt_ioctl_dispatch(file, cmd, (void __user *)arg,
				    object_ioctl_ops,
				    ARRAY_SIZE(object_ioctl_ops));
}

/*
 * VM_IO keeps MADV_DOFORK from having the mapping copied. Memory that the CPU
 * cannot reach may be mapped without any permission, to give it an address. The
 * core takes VM_SHARED and VM_MAYWRITE from mappings of a file that is read-only.
 */
static int object_mmap(struct file *file, struct vm_area_struct *vma)
{
	const unsigned long rights = VM_READ | VM_WRITE | VM_EXEC;
	struct hmmrt_object *object = file->private_data;
	u64 pages = (u64)object->nr_extents * HMMRT_CHUNK_PAGES;
	bool hidden;

	if (!(vma->vm_flags & VM_MAYSHARE) || vma->vm_pgoff > pages ||
	    vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	hidden = hmmrt_object_is_hidden(object);
	if (hidden && (vma->vm_flags & rights))
		return -EACCES;
	if (hidden)
		hmmrt_vm_flags_clear(vma, VM_MAYREAD | VM_MAYWRITE | VM_MAYEXEC);
	hmmrt_vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND |
					VM_DONTCOPY | VM_DONTDUMP);
	vma->vm_ops = &hmmrt_object_vm_ops;
	return 0;
}

static void object_show_fdinfo(struct seq_file *seq, struct file *file)
{
	const struct hmmrt_object *object = file->private_data;

	seq_printf(seq, "hmmrt-object:\t%llu\n", object->id);
	seq_printf(seq, "hmmrt-bytes:\t%llu\n",
		   (u64)object->nr_extents << HMMRT_CHUNK_SHIFT);
	seq_printf(seq, "hmmrt-location:\t%#x\n", object->location);
	seq_printf(seq, "hmmrt-flags:\t%#x\n", object->flags);
	seq_printf(seq, "hmmrt-resident:\t%llu\n",
		   hmmrt_object_resident(object));
	seq_printf(seq, "hmmrt-locked:\t%llu\n",
		   (u64)object->locked.npages << PAGE_SHIFT);
}

/* No descriptor and no mapping is left. */
static int object_release(struct inode *inode, struct file *file)
{
	hmmrt_object_put(file->private_data);
	return 0;
}

static const struct file_operations object_fops = {
	.owner = THIS_MODULE,
	.release = object_release,
	.unlocked_ioctl = object_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = object_mmap,
	.show_fdinfo = object_show_fdinfo,
};

static int object_ioc_reopen(struct file *file, void *arg)
{
	struct hmmrt_object *object = file->private_data;
	struct hmmrt_object_reopen *reopen = arg;
	bool write = reopen->access == HMMRT_ACCESS_OF_OBJECTS;
	struct file *made;
	int fd;

	if (!write && reopen->access != HMMRT_ACCESS_READ)
		return -EINVAL;
	if (write && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	refcount_inc(&object->refs);
	made = hmmrt_object_file(object, &object_fops,
				 write ? O_RDWR : O_RDONLY);
	if (IS_ERR(made)) {
		put_unused_fd(fd);
		return PTR_ERR(made);
	}
	reopen->out_fd = fd;
	hmmrt_ioctl_made(arg, made, fd);
	return 0;
}

/* --- creation ------------------------------------------------------------- */

/* Give a pinned object all of its memory; @account is NULL for the host. */
static int object_fill(struct hmmrt_object *object,
		       struct hmmrt_account *account)
{
	unsigned int index;
	pgoff_t i;
	int rc = 0;

	for (i = 0; !rc && i < object->nr_extents; i++) {
		struct hmmrt_extent *extent =
			hmmrt_object_extent(object, i * HMMRT_CHUNK_PAGES,
					    &index);

		if (IS_ERR(extent))
			return PTR_ERR(extent);
		if (account) {
			rc = hmmrt_extent_fill_device(extent, account);
		} else {
			mutex_lock(&extent->lock);
			rc = hmmrt_extent_fill_host(extent);
			mutex_unlock(&extent->lock);
		}
		if (!rc && fatal_signal_pending(current))
			rc = -EINTR;
		cond_resched();
	}
	return rc;
}

static int object_fill_device(struct hmmrt_object *object,
			      struct hmmrt_space *space,
			      struct hmmrt_device *dev)
{
	struct hmmrt_account *account;
	int rc;

	/* Evict nothing for an object that cannot fit. */
	if (object->nr_extents > dev->vram.size >> HMMRT_CHUNK_SHIFT)
		return -ENOMEM;
	object->hidden = !hmmrt_device_is_coherent(dev) && !dev->ops->bar_pfn;
	account = hmmrt_account_get(dev, space->mm, &space->quotas[dev->id]);
	if (IS_ERR(account))
		return PTR_ERR(account);
	rc = object_fill(object, account);
	hmmrt_account_put(account);
	return rc;
}

/* No object can ever have more pages: those of this machine and its devices. */
static u64 object_pages_max(void)
{
	u64 pages = totalram_pages();
	unsigned int id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++) {
		struct hmmrt_device *dev = hmmrt_device_get(id);

		if (!dev)
			continue;
		pages += dev->vram.size >> PAGE_SHIFT;
		hmmrt_device_put(dev);
	}
	return pages;
}

static int object_fill_host(struct hmmrt_object *object)
{
	unsigned long pages = object->nr_extents * HMMRT_CHUNK_PAGES;
	int rc;

	if (pages > totalram_pages())
		return -ENOMEM;
	rc = hmmrt_lock_pages(&object->locked, pages);
	return rc ? rc : object_fill(object, NULL);
}

/* @dev is NULL for system memory. Returns a file, or an ERR_PTR. */
static struct file *object_create(struct hmmrt_space *space,
				  const struct hmmrt_object_create *arg,
				  struct hmmrt_device *dev)
{
	struct hmmrt_object *object;
	int rc = 0;

	if (arg->bytes >> PAGE_SHIFT > object_pages_max())
		return ERR_PTR(-ENOMEM);
	object = hmmrt_object_alloc(space->mm, arg->bytes);
	if (IS_ERR(object))
		return ERR_CAST(object);
	object->location = arg->location;
	object->flags = arg->flags;
	if (!dev && arg->location != HMMRT_LOCATION_HOST)
		object->node = arg->location & HMMRT_LOCATION_MAX_NODE;
	if (!hmmrt_object_is_migratable(object))
		rc = dev ? object_fill_device(object, space, dev) :
			   object_fill_host(object);
	if (!rc)
		return hmmrt_object_file(object, &object_fops, O_RDWR);
	hmmrt_object_put(object);
	return ERR_PTR(rc);
}

int hmmrt_ioc_object_create(struct hmmrt_space *space, void *data)
{
	struct hmmrt_object_create *arg = data;
	struct hmmrt_device *dev = NULL;
	struct file *file;
	int fd;

	if (!arg->bytes || !IS_ALIGNED(arg->bytes, HMMRT_BLOCK_SIZE))
		return -EINVAL;
	if (!hmmrt_location_is_host(arg->location)) {
		dev = hmmrt_device_get(arg->location);
		if (!dev)
			return hmmrt_location_errno(arg->location);
	}
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		goto out_put;
	file = object_create(space, arg, dev);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		fd = PTR_ERR(file);
		goto out_put;
	}
	arg->out_fd = fd;
	hmmrt_ioctl_made(data, file, fd);
	fd = 0;
out_put:
	if (dev)
		hmmrt_device_put(dev);
	return fd;
}

/* --- access of devices ---------------------------------------------------- */

/*
 * Whether a mapping may get this access: no device writes to what its process
 * got read-only. Access ends with the mapping, so that one check is enough.
 */
static bool may_access(const struct vm_area_struct *vma, u32 access)
{
	return !(access & HMMRT_ACCESS_WRITE) ||
	       vma->vm_file->f_mode & FMODE_WRITE;
}

/*
 * Check that mappings of memory objects cover a range, and with access that
 * they permit it, and that the device can reach their memory. Context: mmap_lock
 * held.
 */
static int objects_check(struct mm_struct *mm, const struct hmmrt_device *dev,
			 unsigned long start, unsigned long end, u32 access)
{
	bool others = false;
	int rc = 0;

	lockdep_assert_held(&mm->mmap_lock);
	while (!rc && start < end) {
		struct vm_area_struct *vma = vma_lookup(mm, start);
		unsigned long next;

		if (!vma)
			return -EFAULT;
		next = min(end, vma->vm_end);
		if (!hmmrt_vma_object(vma))
			others = true;
		else if (!may_access(vma, access))
			rc = -EACCES;
		else if (access)
			rc = hmmrt_object_can_reach(vma, dev, start, next);
		start = next;
	}
	return others ? -EINVAL : rc;
}

/* The access that the device has to all of a range. */
static int access_get(struct hmmrt_space *space, struct hmmrt_access *arg)
{
	unsigned long at = arg->addr, end = at + arg->len;
	u32 access = HMMRT_ACCESS_OF_OBJECTS;

	while (at < end) {
		unsigned long start = at, next = end;
		struct hmmrt_advice advice;

		advice = hmmrt_advice_at(space, at, &start, &next);
		access &= hmmrt_advice_access(&advice, arg->device_id);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		at = next;
	}
	arg->out_access = access;
	return 0;
}

static void access_apply(struct hmmrt_advice *advice,
			 const struct hmmrt_advice_change *what)
{
	advice->access &= ~HMMRT_ADVICE_ACCESS(what->location,
					       HMMRT_ACCESS_OF_OBJECTS);
	advice->access |= HMMRT_ADVICE_ACCESS(what->location, what->value);
}

/* Check the range, and read or change the access. */
static int access_locked(struct hmmrt_space *space, struct hmmrt_access *arg,
			 const struct hmmrt_device *dev)
{
	const struct hmmrt_advice_change what = {
		.apply = access_apply,
		.location = arg->device_id,
		.value = arg->access,
	};
	unsigned long end = arg->addr + arg->len;
	int rc;

	lockdep_assert_held(&space->mm->mmap_lock);
	rc = objects_check(space->mm, dev, arg->addr, end, arg->access);
	if (rc)
		return rc;
	if (arg->operation == HMMRT_ACCESS_GET)
		return access_get(space, arg);
	arg->out_access = arg->access;
	return hmmrt_change_advice_locked(space, arg->addr, end, &what);
}

/* The mm is alive. *@binding is NULL if the binding ended. */
static int access_run(struct hmmrt_space *space, struct hmmrt_access *arg,
		      struct hmmrt_binding **binding)
{
	unsigned long end = arg->addr + arg->len;
	int rc;

	rc = hmmrt_binding_mmap_read_lock(binding, space);
	if (rc)
		return rc;
	rc = access_locked(space, arg, (*binding)->dev);
	mmap_read_unlock(space->mm);
	if (rc || arg->operation == HMMRT_ACCESS_GET)
		return rc;
	if (arg->access != HMMRT_ACCESS_OF_OBJECTS)
		hmmrt_span_revoke_device(space, arg->addr, end, arg->device_id);
	if (arg->access)
		hmmrt_object_map_ahead(*binding, arg->addr, end);
	return 0;
}

static bool access_is_valid(const struct hmmrt_access *arg)
{
	switch (arg->operation) {
	case HMMRT_ACCESS_GET:
		return !arg->access;
	case HMMRT_ACCESS_SET:
		return !arg->access || arg->access == HMMRT_ACCESS_READ ||
		       arg->access == HMMRT_ACCESS_OF_OBJECTS;
	default:
		return false;
	}
}

int hmmrt_ioc_access(struct hmmrt_space *space, void *data)
{
	struct hmmrt_access *arg = data;
	struct hmmrt_binding *binding;
	int rc;

	rc = hmmrt_user_range_check(arg->addr, arg->len);
	if (rc)
		return rc;
	if (!access_is_valid(arg))
		return -EINVAL;
	binding = hmmrt_space_binding_get(space, arg->device_id);
	if (!binding)
		return -ENODEV;
	rc = -ESRCH;
	if (mmget_not_zero(space->mm)) {
		rc = access_run(space, arg, &binding);
		mmput(space->mm);
	}
	if (binding)
		hmmrt_binding_put(binding);
	return rc;
}
