// SPDX-License-Identifier: GPL-2.0-only
/*
 * hmmrt_dmirror: devices that read and write the memory of a process on request.
 *
 * They behave like those of the kernel's test driver for HMM (lib/test_hmm.c),
 * so that programs written for that driver can test hmmrt. Unlike the simulated
 * GPU they execute no code, so they need no second process: the ioctl that
 * requests an access copies the data. Devices 0 and 1 have memory that the CPU
 * cannot access (device-private). Devices 2 and 3 have memory that it can access
 * (device-coherent). They exist only if the module parameters give the addresses
 * of their memory. See ../softdev.h for the rest of the device, and for locks.
 *
 * Bounce     An access of the device copies between the mapped pages and a
 *            bounce buffer. The caller's buffer is then accessed with no lock
 *            of entries held, and a read that fails does not modify it.
 * Entries    As with the kernel's own driver, an ordinary write to an exclusive
 *            page causes a fault.
 * Errors     fault_errno() and migrate_errno() convert the manager's errors to
 *            those of hmm_range_fault() and the kernel's own driver. The
 *            argument is written back only on success.
 * Binding    A file works for the process that opened it only. Its first call
 *            binds the device, because the programs know no call for that.
 */
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/overflow.h>

#include "../softdev.h"

/*
 * The interface to programs. Numbers and layout are those of the kernel's
 * lib/test_hmm_uapi.h, which header packages do not contain.
 */

/**
 * struct hmm_dmirror_cmd - argument of all ioctls
 * @addr: address that the device accesses, in the process's address space
 * @ptr: user buffer that data is read from or written to
 * @npages: number of pages
 * @cpages: out, on success: pages that were copied or migrated
 * @faults: out, on success: device faults that the call made
 */
struct hmm_dmirror_cmd {
	__u64 addr;
	__u64 ptr;
	__u64 npages;
	__u64 cpages;
	__u64 faults;
};

#define HMM_DMIRROR_READ		_IOWR('H', 0x00, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_WRITE		_IOWR('H', 0x01, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_MIGRATE_TO_DEV	_IOWR('H', 0x02, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_MIGRATE_TO_SYS	_IOWR('H', 0x03, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_SNAPSHOT		_IOWR('H', 0x04, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_EXCLUSIVE		_IOWR('H', 0x05, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_CHECK_EXCLUSIVE	_IOWR('H', 0x06, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_RELEASE		_IOWR('H', 0x07, struct hmm_dmirror_cmd)
/* The npages member contains HMM_DMIRROR_FLAG_*. */
#define HMM_DMIRROR_FLAGS		_IOWR('H', 0x08, struct hmm_dmirror_cmd)
/* As HMM_DMIRROR_READ, which in the kernel's own driver cannot wait for userfaultfd. */
#define HMM_DMIRROR_READ_UNLOCKED	_IOWR('H', 0x09, struct hmm_dmirror_cmd)

/* Make the next allocation of a huge page fail, and then clear the flag. */
#define HMM_DMIRROR_FLAG_FAIL_ALLOC	0x1ULL

/* HMM_DMIRROR_SNAPSHOT writes one byte with these bits for each page. */
#define HMM_DMIRROR_PROT_NONE			0x00
#define HMM_DMIRROR_PROT_READ			0x01
#define HMM_DMIRROR_PROT_WRITE			0x02
#define HMM_DMIRROR_PROT_PMD			0x04
#define HMM_DMIRROR_PROT_PUD			0x08
#define HMM_DMIRROR_PROT_ZERO			0x10
#define HMM_DMIRROR_PROT_DEV_PRIVATE_LOCAL	0x20
#define HMM_DMIRROR_PROT_DEV_COHERENT_LOCAL	0x40
#define HMM_DMIRROR_PROT_DEV_COHERENT_REMOTE	0x50
#define HMM_DMIRROR_PROT_ERROR			0xff

#define PRIVATE_DEVICES	2U
#define MAX_DEVICES	4U
#define MAX_MEMORY_MIB	(64U << 10)
#define SNAPSHOT_PAGES	64UL
/* How often to map pages again after other threads invalidated them. */
#define MIGRATE_TRIES	8

static unsigned int memory = 256;
module_param(memory, uint, 0444);
MODULE_PARM_DESC(memory,
		 "memory of each device in MiB, an even number up to 65536 (default 256)");

/* The kernel's own driver (lib/test_hmm.c) has the same parameters. */
static unsigned long spm_addr_dev0;
module_param(spm_addr_dev0, ulong, 0444);
MODULE_PARM_DESC(spm_addr_dev0,
		 "physical address of reserved memory for device 2; needs spm_addr_dev1");

static unsigned long spm_addr_dev1;
module_param(spm_addr_dev1, ulong, 0444);
MODULE_PARM_DESC(spm_addr_dev1,
		 "physical address of reserved memory for device 3; needs spm_addr_dev0");

/* State of one ioctl. */
struct access {
	struct soft_context *context;
	struct hmm_dmirror_cmd *cmd;
	unsigned long start;
	unsigned long end;
	void *bounce;		/* NULL: none yet */
};

/* --- accesses ------------------------------------------------------------- */

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
	return hmmrt_fault_range(access->context->binding, start, access->end,
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

static int range_fault(const struct access *access, unsigned long start,
		       bool write)
{
	int rc;

	rc = hmmrt_fault_range(access->context->binding, start, access->end,
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

	for (; cmd->cpages < cmd->npages; cmd->cpages++) {
		unsigned long offset = cmd->cpages << PAGE_SHIFT;

		if (!soft_access(access->context, access->start + offset,
				 access->bounce + offset, PAGE_SIZE, write))
			return -ENOENT;
		cond_resched();
	}
	return 0;
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
		rc = range_fault(access,
				 access->start +
					 (access->cmd->cpages << PAGE_SHIFT),
				 write);
		if (rc)
			return rc;
		access->cmd->faults++;
	}
	return rc;
}

static int call_read(struct access *access)
{
	int rc = bounce_alloc(access);

	if (!rc)
		rc = device_access(access, false);
	return rc ? rc : bounce_to_user(access);
}

static int call_write(struct access *access)
{
	int rc = bounce_alloc(access);

	if (!rc)
		rc = bounce_from_user(access);
	return rc ? rc : device_access(access, true);
}

/*
 * Read without faults. Returns -ENOENT if the device has not mapped all pages.
 */
static int read_mapped(struct access *access)
{
	int rc = bounce_alloc(access);

	if (!rc)
		rc = device_copy(access, false);
	return rc ? rc : bounce_to_user(access);
}

/* --- migration ------------------------------------------------------------ */

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
	int rc = hmmrt_migrate_range_to_device(access->context->binding,
					       access->start, access->end,
					       HMMRT_MIGRATE_NO_PEERS, result);

	return migrate_errno(rc);
}

/* Returns -ENOENT if not all pages are on the device. */
static int call_to_device(struct access *access)
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
			return rc;
	}
	return rc ? rc : bounce_to_user(access);
}

static int call_to_host(struct access *access)
{
	struct hmmrt_migration result;
	int rc;

	rc = hmmrt_migrate_range_to_host(access->context->binding,
					 access->start, access->end, &result);
	access->cmd->cpages = result.moved;
	return migrate_errno(rc);
}

/* --- states --------------------------------------------------------------- */

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
static u8 snapshot_byte(const struct soft_context *context,
			const struct hmmrt_page_state *state)
{
	bool local = state->location == hmmrt_device_id(context->soft->dev);
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

static int call_snapshot(struct access *access)
{
	struct hmmrt_page_state states[SNAPSHOT_PAGES];
	u8 __user *ptr = u64_to_user_ptr(access->cmd->ptr);
	unsigned long addr, next, i, n;
	u8 bytes[SNAPSHOT_PAGES];
	int rc;

	for (addr = access->start; addr < access->end; addr = next) {
		n = min((access->end - addr) >> PAGE_SHIFT, SNAPSHOT_PAGES);
		next = addr + (n << PAGE_SHIFT);
		rc = hmmrt_snapshot_range(access->context->binding, addr, next,
					  states);
		if (rc)
			return rc == -EINTR ? rc : migrate_errno(rc);
		for (i = 0; i < n; i++)
			bytes[i] = snapshot_byte(access->context, &states[i]);
		if (copy_to_user(ptr + access->cmd->cpages, bytes, n))
			return -EFAULT;
		access->cmd->cpages += n;
	}
	return 0;
}

/* Report EBUSY for every reason that a page cannot be exclusive. */
static int call_exclusive(struct access *access)
{
	int rc = hmmrt_exclusive_range(access->context->binding, access->start,
				       access->end);

	if (!rc)
		return read_mapped(access);
	return rc == -EINTR || rc == -ENOMEM ? rc : -EBUSY;
}

static int call_check_exclusive(struct access *access)
{
	struct soft_context *context = access->context;
	unsigned long addr;
	const hmmrt_pte_t *slot;
	bool found = false;

	for (addr = access->start; addr < access->end && !found;
	     addr += PAGE_SIZE) {
		spin_lock(&context->entries);
		slot = soft_slot(context, addr);
		found = slot && (*slot & HMMRT_PTE_ATOMIC);
		spin_unlock(&context->entries);
		cond_resched();
	}
	return found ? -EPERM : 0;
}

static int call_release(struct access *access)
{
	hmmrt_device_evict(access->context->soft->dev);
	return 0;
}

/* Unknown flags are ignored, as by the kernel's own driver. */
static int call_flags(struct access *access)
{
	hmmrt_fail_next_huge(access->context->binding,
			     access->cmd->npages & HMM_DMIRROR_FLAG_FAIL_ALLOC);
	return 0;
}

/* --- files ---------------------------------------------------------------- */

static int (*call_of(unsigned int number))(struct access *access)
{
	switch (number) {
	case HMM_DMIRROR_READ:
	case HMM_DMIRROR_READ_UNLOCKED:
		return call_read;
	case HMM_DMIRROR_WRITE:
		return call_write;
	case HMM_DMIRROR_MIGRATE_TO_DEV:
		return call_to_device;
	case HMM_DMIRROR_MIGRATE_TO_SYS:
		return call_to_host;
	case HMM_DMIRROR_SNAPSHOT:
		return call_snapshot;
	case HMM_DMIRROR_EXCLUSIVE:
		return call_exclusive;
	case HMM_DMIRROR_CHECK_EXCLUSIVE:
		return call_check_exclusive;
	case HMM_DMIRROR_RELEASE:
		return call_release;
	case HMM_DMIRROR_FLAGS:
		return call_flags;
	default:
		return NULL;
	}
}

/* As soft_enter(). Two threads of the process may make the first call at once. */
static int dmirror_enter(struct soft_context *context)
{
	int rc, bound;

	if (context->mm != current->mm)
		return -EPERM;
	rc = soft_enter(context);
	if (rc != -ENODEV)
		return rc;
	bound = soft_bind(context);
	rc = soft_enter(context);
	return rc == -ENODEV ? bound : rc;
}

static long dmirror_ioctl(struct file *file, unsigned int number,
			  unsigned long arg)
{
	int (*call)(struct access *access) = call_of(number);
	void __user *user = (void __user *)arg;
	struct hmm_dmirror_cmd cmd;
	struct access access = { .context = file->private_data, .cmd = &cmd };
	unsigned long size;
	int rc;

	if (copy_from_user(&cmd, user, sizeof(cmd)))
		return -EFAULT;
	if (check_mul_overflow(cmd.npages, (u64)PAGE_SIZE, &size) ||
	    check_add_overflow(cmd.addr, size, &access.end) || !size ||
	    cmd.addr % PAGE_SIZE || !call)
		return -EINVAL;
	access.start = cmd.addr;
	cmd.cpages = 0;
	cmd.faults = 0;
	rc = dmirror_enter(access.context);
	if (!rc) {
		rc = call(&access);
		vfree(access.bounce);
		soft_leave(access.context);
	}
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

static int dmirror_open(struct inode *inode, struct file *file)
{
	struct soft_context *context;
	int rc = soft_open(inode, file);

	if (rc)
		return rc;
	context = file->private_data;
	context->no_write = HMMRT_PTE_ATOMIC;
	return nonseekable_open(inode, file);
}

static const struct file_operations dmirror_fops = {
	.owner = THIS_MODULE,
	.open = dmirror_open,
	.release = soft_release,
	.unlocked_ioctl = dmirror_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = dmirror_mmap,
};

/* --- devices -------------------------------------------------------------- */

static const struct hmmrt_device_ops dmirror_ops = {
	.api_version = HMMRT_DEVICE_API_VERSION,
	.populate = soft_populate,
	.depopulate = soft_depopulate,
	.copy_to_device = soft_copy_to_device,
	.copy_to_host = soft_copy_to_host,
	.prepare = soft_prepare,
	.map = soft_map,
	.unmap = soft_unmap,
	.invalidate = soft_invalidate,
	.released = soft_released,
};

static struct soft_device dmirrors[MAX_DEVICES];
static unsigned int devices = PRIVATE_DEVICES;

static int __init dmirror_register(unsigned int number, u64 memory_start)
{
	struct soft_device *soft = &dmirrors[number];
	const struct hmmrt_device_desc desc = {
		.name = soft->name,
		.ops = &dmirror_ops,
		.memory_bytes = (u64)memory << 20,
		.memory_start = memory_start,
		.numa_node = NUMA_NO_NODE,
		.flags = HMMRT_DEVICE_FAULT_IN_PLACE |
			 (memory_start ? HMMRT_DEVICE_COHERENT : 0),
		.drvdata = soft,
	};

	snprintf(soft->name, sizeof(soft->name), "hmm_dmirror%u", number);
	soft->memory_start = memory_start;
	soft_device_init(soft, &dmirror_fops);
	soft->dev = hmmrt_device_register(&desc);
	return PTR_ERR_OR_ZERO(soft->dev);
}

static void dmirror_end(unsigned int registered, unsigned int published)
{
	while (published--)
		misc_deregister(&dmirrors[published].misc);
	while (registered--)
		hmmrt_device_unregister(dmirrors[registered].dev);
}

static int __init dmirror_init(void)
{
	const u64 starts[MAX_DEVICES] = { 0, 0, spm_addr_dev0, spm_addr_dev1 };
	unsigned int registered, published = 0;
	int rc;

	if (!memory || memory > MAX_MEMORY_MIB || memory % 2)
		return -EINVAL;
	if (!spm_addr_dev0 != !spm_addr_dev1)
		return -EINVAL;
	if (spm_addr_dev0)
		devices = MAX_DEVICES;
	for (registered = 0; registered < devices; registered++) {
		rc = dmirror_register(registered, starts[registered]);
		if (rc)
			goto err_end;
	}
	/*
	 * The last step: an open node holds a reference to the module, but
	 * cannot keep it if init fails.
	 */
	for (; published < devices; published++) {
		rc = soft_device_publish(&dmirrors[published]);
		if (rc)
			goto err_end;
	}
	return 0;

err_end:
	dmirror_end(registered, published);
	return rc;
}

/* Open files hold the module, so no binding exists when it is unloaded. */
static void __exit dmirror_exit(void)
{
	dmirror_end(devices, devices);
}

module_init(dmirror_init);
module_exit(dmirror_exit);
MODULE_DESCRIPTION("Test device for HMM on hmmrt, like lib/test_hmm.c");
MODULE_LICENSE("GPL");
