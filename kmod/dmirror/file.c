// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files of /dev/hmm_dmirrorN and their ioctls.
 *
 * Bounce     An access of the device copies between the mapped pages and a
 *            bounce buffer. The caller's buffer is then accessed with no lock
 *            held, and a read that fails does not modify it.
 * Errors     fault_errno() and migrate_errno() convert the manager's errors to
 *            those of hmm_range_fault() and the kernel's own driver. The
 *            argument is written back only on success.
 * Binding    The first call of a file binds the device. The programs know no
 *            call for that, and during open() the core holds a lock.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "abi.h"
#include "dmirror.h"

#define SNAPSHOT_PAGES	64UL
/* How often to map pages again after other threads invalidated them. */
#define MIGRATE_TRIES	8

/* State of one ioctl. */
struct access {
	struct dmirror_view *view;
	struct hmm_dmirror_cmd *cmd;
	unsigned long start;
	unsigned long end;
	void *bounce;
};

static int bounce_alloc(struct access *access)
{
	access->bounce = __vmalloc(access->end - access->start,
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return access->bounce ? 0 : -ENOMEM;
}

static int bounce_to_user(const struct access *access)
{
	if (copy_to_user(u64_to_user_ptr(access->cmd->ptr), access->bounce,
			 access->end - access->start))
		return -EFAULT;
	return 0;
}

static int bounce_from_user(const struct access *access)
{
	if (copy_from_user(access->bounce, u64_to_user_ptr(access->cmd->ptr),
			   access->end - access->start))
		return -EFAULT;
	return 0;
}

/* Return true if the mappings of the range permit reading. */
static bool may_read(const struct access *access, unsigned long start)
{
	return hmmrt_fault_range(access->view->context.binding, start, access->end,
				 HMMRT_ACCESS_READ) != -EACCES;
}

static int fault_errno(const struct access *access, unsigned long start,
		       bool write, int rc)
{
	switch (rc) {
	case -EACCES:
		return write && may_read(access, start) ? -EPERM : -EFAULT;
	case -EOPNOTSUPP:
	case -ESRCH:
		return -EFAULT;
	case -EAGAIN:
		return -EBUSY;
	default:
		return rc;
	}
}

static int view_fault(const struct access *access, unsigned long start,
		      bool write)
{
	int rc;

	rc = hmmrt_fault_range(access->view->context.binding, start, access->end,
			       write ? HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE :
				       HMMRT_ACCESS_READ);
	return fault_errno(access, start, write, rc);
}

/*
 * Copy pages, from the first one that is not done, as long as the device page
 * table has entries. Returns -ENOENT at a page without one.
 */
static int device_copy(struct access *access, bool write)
{
	struct hmm_dmirror_cmd *cmd = access->cmd;
	int rc = 0;

	while (!rc && cmd->cpages < cmd->npages) {
		unsigned long offset = cmd->cpages << PAGE_SHIFT;

		if (write)
			rc = dmirror_write_page(access->view,
						access->start + offset,
						access->bounce + offset);
		else
			rc = dmirror_read_page(access->view,
					       access->start + offset,
					       access->bounce + offset);
		cmd->cpages += !rc;
		cond_resched();
	}
	return rc;
}

/*
 * Serve one fault for all remaining pages, and repeat that if some entries were
 * invalidated before the copy.
 */
static int device_access(struct access *access, bool write)
{
	int rc;

	while ((rc = device_copy(access, write)) == -ENOENT) {
		if (fatal_signal_pending(current))
			return -EINTR;
		rc = view_fault(access,
				access->start +
					(access->cmd->cpages << PAGE_SHIFT),
				write);
		if (rc)
			return rc;
		access->cmd->faults++;
	}
	return rc;
}

static int view_read(struct access *access)
{
	int rc = bounce_alloc(access);

	if (rc)
		return rc;
	rc = device_access(access, false);
	if (!rc)
		rc = bounce_to_user(access);
	vfree(access->bounce);
	return rc;
}

static int view_write(struct access *access)
{
	int rc = bounce_alloc(access);

	if (rc)
		return rc;
	rc = bounce_from_user(access);
	if (!rc)
		rc = device_access(access, true);
	vfree(access->bounce);
	return rc;
}

/*
 * Read without faults. Returns -ENOENT if the device has not mapped all pages.
 */
static int view_verify(struct access *access)
{
	int rc = bounce_alloc(access);

	if (rc)
		return rc;
	rc = device_copy(access, false);
	if (!rc)
		rc = bounce_to_user(access);
	vfree(access->bounce);
	return rc;
}

static int migrate_errno(int rc)
{
	switch (rc) {
	case -EFAULT:
	case -EACCES:
	case -EOPNOTSUPP:
	case -ESRCH:
		return -EINVAL;
	case -EAGAIN:
		return -EBUSY;
	default:
		return rc;
	}
}

/*
 * Return true if all pages are on the device. A page without an entry then had
 * one that was invalidated, for example by khugepaged scanning coherent memory.
 */
static bool all_there(const struct access *access,
		      const struct hmmrt_migration *result)
{
	/* Pages that moved twice are counted twice. */
	return result->moved + result->there >= access->cmd->npages;
}

static int file_migrate(const struct access *access,
			struct hmmrt_migration *result)
{
	int rc = hmmrt_migrate_range_to_device(access->view->context.binding,
					       access->start, access->end,
					       HMMRT_MIGRATE_NO_PEERS, result);

	return migrate_errno(rc);
}

/* Returns -ENOENT if not all pages are on the device. */
static int view_to_device(struct access *access)
{
	unsigned int tries = MIGRATE_TRIES;
	struct hmmrt_migration result;
	int rc;

	rc = file_migrate(access, &result);
	if (!rc)
		rc = bounce_alloc(access);
	if (rc)
		return rc;
	while ((rc = device_copy(access, false)) == -ENOENT &&
	       all_there(access, &result) && --tries) {
		rc = file_migrate(access, &result);
		if (rc)
			break;
	}
	if (!rc)
		rc = bounce_to_user(access);
	vfree(access->bounce);
	return rc;
}

static int view_to_host(struct access *access)
{
	struct hmmrt_migration result;
	int rc;

	rc = hmmrt_migrate_range_to_host(access->view->context.binding,
					 access->start, access->end, &result);
	access->cmd->cpages = result.moved;
	return migrate_errno(rc);
}

static u8 location_byte(const struct hmmrt_page_state *state, bool local)
{
	if (state->location == HMMRT_LOCATION_HOST)
		return 0;
	if (!(state->flags & HMMRT_STATE_COHERENT))
		return HMM_DMIRROR_PROT_DEV_PRIVATE_LOCAL;
	return local ? HMM_DMIRROR_PROT_DEV_COHERENT_LOCAL :
		       HMM_DMIRROR_PROT_DEV_COHERENT_REMOTE;
}

/* Pages on another device that is not coherent count as not present. */
static u8 snapshot_byte(const struct dmirror_view *view,
			const struct hmmrt_page_state *state)
{
	bool local = state->location == hmmrt_device_id(view->dmirror->dev);
	u8 byte;

	if (state->flags & HMMRT_STATE_ERROR)
		return HMM_DMIRROR_PROT_ERROR;
	if (!local && state->location != HMMRT_LOCATION_HOST &&
	    !(state->flags & HMMRT_STATE_COHERENT))
		return HMM_DMIRROR_PROT_NONE;
	byte = state->flags & HMMRT_STATE_WRITE ? HMM_DMIRROR_PROT_WRITE :
						 HMM_DMIRROR_PROT_READ;
	byte |= location_byte(state, local);
	if (state->flags & HMMRT_STATE_ZERO)
		byte |= HMM_DMIRROR_PROT_ZERO;
	if (state->order + PAGE_SHIFT == PMD_SHIFT)
		byte |= HMM_DMIRROR_PROT_PMD;
	else if (state->order + PAGE_SHIFT == PUD_SHIFT)
		byte |= HMM_DMIRROR_PROT_PUD;
	return byte;
}

static int view_snapshot(struct access *access)
{
	struct hmmrt_page_state states[SNAPSHOT_PAGES];
	u8 __user *ptr = u64_to_user_ptr(access->cmd->ptr);
	unsigned long addr, next, i, n;
	u8 bytes[SNAPSHOT_PAGES];
	int rc;

	for (addr = access->start; addr < access->end; addr = next) {
		n = min((access->end - addr) >> PAGE_SHIFT, SNAPSHOT_PAGES);
		next = addr + (n << PAGE_SHIFT);
		rc = hmmrt_snapshot_range(access->view->context.binding, addr, next,
					  states);
		if (rc)
			return rc == -EINTR ? rc : migrate_errno(rc);
		for (i = 0; i < n; i++)
			bytes[i] = snapshot_byte(access->view, &states[i]);
		if (copy_to_user(ptr + access->cmd->cpages, bytes, n))
			return -EFAULT;
		access->cmd->cpages += n;
	}
	return 0;
}

/* Report EBUSY for every reason that a page cannot be exclusive. */
static int view_exclusive(struct access *access)
{
	int rc = hmmrt_exclusive_range(access->view->context.binding, access->start,
				       access->end);

	if (!rc)
		return view_verify(access);
	return rc == -EINTR || rc == -ENOMEM ? rc : -EBUSY;
}

static int view_check_exclusive(struct access *access)
{
	return dmirror_has_atomic(access->view, access->start, access->end) ?
		       -EPERM :
		       0;
}

static int view_release_memory(struct access *access)
{
	hmmrt_device_evict(access->view->dmirror->dev);
	return 0;
}

/* Unknown flags are ignored, as by the kernel's own driver. */
static int view_flags(struct access *access)
{
	hmmrt_fail_next_huge(access->view->context.binding,
			     access->cmd->npages & HMM_DMIRROR_FLAG_FAIL_ALLOC);
	return 0;
}

static int (*view_call(unsigned int number))(struct access *access)
{
	switch (number) {
	case HMM_DMIRROR_READ:
	case HMM_DMIRROR_READ_UNLOCKED:
		return view_read;
	case HMM_DMIRROR_WRITE:
		return view_write;
	case HMM_DMIRROR_MIGRATE_TO_DEV:
		return view_to_device;
	case HMM_DMIRROR_MIGRATE_TO_SYS:
		return view_to_host;
	case HMM_DMIRROR_SNAPSHOT:
		return view_snapshot;
	case HMM_DMIRROR_EXCLUSIVE:
		return view_exclusive;
	case HMM_DMIRROR_CHECK_EXCLUSIVE:
		return view_check_exclusive;
	case HMM_DMIRROR_RELEASE:
		return view_release_memory;
	case HMM_DMIRROR_FLAGS:
		return view_flags;
	default:
		return NULL;
	}
}

/* Two threads of the process may make the first call at once. */
static int view_bind(struct dmirror_view *view)
{
	int rc;

	if (view->mm != current->mm)
		return -EPERM;
	if (!IS_ERR(soft_context_binding(&view->context)))
		return 0;
	rc = soft_context_bind(&view->context, view->dmirror->dev);
	return IS_ERR(soft_context_binding(&view->context)) ? rc : 0;
}

static long dmirror_ioctl(struct file *file, unsigned int number,
			  unsigned long arg)
{
	int (*call)(struct access *access) = view_call(number);
	void __user *user = (void __user *)arg;
	struct hmm_dmirror_cmd cmd;
	struct access access = { .view = file->private_data, .cmd = &cmd };
	unsigned long size;
	int rc;

	if (copy_from_user(&cmd, user, sizeof(cmd)))
		return -EFAULT;
	if (check_mul_overflow(cmd.npages, (u64)PAGE_SIZE, &size) ||
	    check_add_overflow(cmd.addr, size, &access.end) || !size ||
	    cmd.addr % PAGE_SIZE || !call)
		return -EINVAL;
	rc = view_bind(access.view);
	if (rc)
		return hmmrt_restart(rc);
	access.start = cmd.addr;
	cmd.cpages = 0;
	cmd.faults = 0;
	rc = call(&access);
	if (rc)
		return hmmrt_restart(rc);
	return copy_to_user(user, &cmd, sizeof(cmd)) ? -EFAULT : 0;
}

/*
 * Map zeroed pages that have struct pages but are neither file nor anonymous.
 */
static int dmirror_mmap(struct file *file, struct vm_area_struct *vma)
{
	unsigned long addr;
	int rc = 0;

	for (addr = vma->vm_start; !rc && addr < vma->vm_end;
	     addr += PAGE_SIZE) {
		struct page *page;

		if (fatal_signal_pending(current))
			return -EINTR;
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page)
			return -ENOMEM;
		rc = vm_insert_page(vma, addr, page);
		put_page(page);
	}
	return rc;
}

/* misc_open() stores the miscdevice in private_data. */
static int dmirror_open(struct inode *inode, struct file *file)
{
	struct dmirror_view *view = kzalloc(sizeof(*view), GFP_KERNEL);

	if (!view)
		return -ENOMEM;
	view->dmirror = container_of(file->private_data, struct dmirror, misc);
	soft_context_init(&view->context, NULL);
	view->mm = current->mm;
	mmgrab(view->mm);
	file->private_data = view;
	return nonseekable_open(inode, file);
}

/* Unbinding migrates the pages of the process to system memory. */
static int dmirror_release(struct inode *inode, struct file *file)
{
	struct dmirror_view *view = file->private_data;

	soft_context_destroy(&view->context);
	mmdrop(view->mm);
	kfree(view);
	return 0;
}

const struct file_operations dmirror_fops = {
	.owner = THIS_MODULE,
	.open = dmirror_open,
	.release = dmirror_release,
	.unlocked_ioctl = dmirror_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = dmirror_mmap,
};
