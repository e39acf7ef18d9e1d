/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the memory manager (hmmrt.ko) and a device driver. A
 * driver includes only this header. See kmod/sample/hmmrt_sample.c, with
 * kmod/softdev.h, for a complete driver.
 */

/**
 * DOC: Overview
 *
 * A driver registers its device memory and its MMU functions. A process binds
 * the device to its address space, and the driver reports the faults of the
 * device's MMU. The manager decides where pages live, moves them and tells the
 * driver what to map::
 *
 *	driver                                manager
 *	hmmrt_device_register(ops)  ------->  device id, device memory
 *	hmmrt_bind(space, dev)      ------->  binding
 *	MMU fault: hmmrt_fault()    ------->  policy, migration, snapshot
 *	ops->populate, copy_*       <-------    device memory and its contents
 *	ops->prepare, map           <-------    write the entry
 *	                                      MMU notifier of the core mm:
 *	ops->unmap, invalidate      <-------    remove the entry
 *	ops->released               <-------  the process exits: stop its work
 *	hmmrt_unbind()              ------->
 *	hmmrt_device_unregister()   ------->  first migrate all pages back
 *
 * The manager knows nothing about the hardware: it handles pages, entries and
 * offsets in device memory. The driver knows nothing about policy: it never
 * decides where a page is.
 */

/**
 * DOC: A driver
 *
 * The following is all that a driver adds to its own MMU and copy engine. Error
 * paths are left out. See kmod/sample/hmmrt_sample.c and kmod/softdev.h for
 * them::
 *
 *	static const struct hmmrt_device_ops my_ops = {
 *		.api_version = HMMRT_DEVICE_API_VERSION,
 *		.populate = my_populate,	// and the others
 *	};
 *
 *	// probe
 *	struct hmmrt_device_desc desc = {
 *		.name = "my-device",
 *		.ops = &my_ops,
 *		.memory_bytes = my->memory_bytes,
 *		.numa_node = dev_to_node(my->dev),
 *		.drvdata = my,
 *	};
 *	my->hmmrt = hmmrt_device_register(&desc);
 *
 *	// a process opens a device file: only set up its page table
 *
 *	// an ioctl of the file
 *	space = hmmrt_space_get_current();
 *	context->binding = hmmrt_bind(space, my->hmmrt, context);
 *	hmmrt_space_put(space);
 *
 *	// the MMU reports a fault at addr
 *	rc = hmmrt_fault(context->binding, addr, HMMRT_ACCESS_READ);
 *	if (!rc || rc == -EAGAIN)
 *		my_replay(context);		// it may fault again
 *	else if (rc != -EINTR)
 *		my_cancel(context, rc);
 *
 *	// the last reference to the file is gone
 *	my_stop(context);			// no more accesses or faults
 *	hmmrt_unbind(context->binding);
 *	my_free_page_table(context);
 *
 *	// remove: no binding is left
 *	hmmrt_device_unregister(my->hmmrt);
 *
 * Do not bind in open(). A bind waits for the mmap_lock of its process, and its
 * holder may wait for a program, as in a page fault on a file of FUSE. The core
 * may hold a lock of many devices during open(): misc_open() holds that of all
 * misc devices, among them the one with which a FUSE server begins. In an ioctl
 * only the caller waits, and SIGKILL ends that. The wait also must not hold a
 * lock that removing the device needs: call hmmrt_space_get_current() before
 * taking it, and hmmrt_bind() inside, as soft_bind() in kmod/softdev.h does.
 */

/**
 * DOC: Failing
 *
 * Some ops may fail, in any call, without loss of data:
 *
 * populate(), copy_to_device()
 *	The pages stay where they are, and the manager maps them there for the
 *	device.
 *
 * copy_from_peer()
 *	The manager copies through system memory instead.
 *
 * copy_to_host()
 *	If the call is for several pages, the manager repeats it page by page. A
 *	page that cannot be copied stays on the device. Until it can be read, a
 *	CPU access to it gets SIGBUS, and a fault of another device gets
 *	-EFAULT. Other pages of the same migration move. If a CPU access hits a
 *	large page, either all of it moves or nothing. An explicit migration to
 *	system memory moves the parts of it that can be read.
 *
 * prepare()
 *	The call that needed it returns the error.
 *
 * When a device is unregistered, the manager tries three times to read each
 * page. A page that cannot be read is lost: an access gets SIGBUS. A lost page
 * uses no memory except a struct page while it is mapped. If only parts of a
 * large page can be read, it is split, and these parts move. Pages for which
 * there is no system memory are lost after some time, too: see Lifetime. The
 * kernel log says how much is lost.
 *
 * The other ops cannot fail. A failed populate() is not followed by
 * depopulate().
 */

/**
 * DOC: Ranges
 *
 * A driver that knows more than one faulting address can handle a whole range
 * in one call::
 *
 *	hmmrt_fault_range()             map every page of a range
 *	hmmrt_migrate_range_to_device() migrate the pages that can, and map them
 *	hmmrt_migrate_range_to_host()   migrate pages of this device back
 *	hmmrt_exclusive_range()         map pages and remove the CPU's access
 *	hmmrt_snapshot_range()          only report the state
 *
 * A range starts and ends at page boundaries and may span blocks and mappings.
 * The calls work in steps: if one step fails, the completed steps are not
 * undone. They run in process context, in any thread, with no lock held, while
 * the binding exists. They take the mmap_lock of the process and may sleep. All
 * return -EINVAL if the range is empty, not page aligned or beyond the user
 * address space, -ESRCH if the process has exited, -ENOMEM, -EINTR for a signal
 * and -EAGAIN if other threads or the core mm raced with the call too often.
 * After -EINTR and -EAGAIN, repeat the call: completed steps are kept. A system
 * call that ends with -EINTR returns hmmrt_restart(rc): a signal without a
 * handler, as when a debugger or a freezer stops the process, is no error to it.
 */

/**
 * DOC: Waiting for programs
 *
 * If a program provides a page (a FUSE server, a userfaultfd handler), a fault
 * can take as long as that program likes, and only a signal ends it. A thread
 * of the process can wait for that: it calls hmmrt_fault() in its own context.
 * A worker cannot, because it also serves other processes. A call to
 * hmmrt_unbind() cannot either, because no other call may be running then. A
 * driver with a worker therefore does not wait for programs::
 *
 *	// the worker
 *	rc = hmmrt_fault(binding, addr, access | HMMRT_FAULT_NOWAIT);
 *	if (rc == -EBUSY) {
 *		in = hmmrt_fault_in_begin(binding, addr, access, my_done,
 *					  fault);
 *		if (!IS_ERR(in))
 *			my_keep(fault, in);	// unless my_done() came first
 *	}
 *
 *	// my_done(fault, rc): the page was there
 *	if (!rc || rc == -EINTR || rc == -EAGAIN)
 *		my_queue(fault);		// the worker serves it again
 *	else
 *		my_cancel(fault, rc);
 *
 *	// before it is served again, when it is cancelled, or before unbinding
 *	hmmrt_fault_in_end(in);			// no my_done() from here on
 *
 * None of these calls waits for a program, so the driver can call
 * hmmrt_unbind() soon afterwards. The calls for ranges wait for the mmap_lock
 * of the process, whose holder may wait for a program: make them from a thread
 * of the process. See kmod/faulty/worker.c for a complete worker that serves
 * all processes.
 *
 * A fault-in holds a reference to the mm of its process, and so to its mappings
 * and their files. If the files of a driver can be mapped, the driver must end
 * pending fault-ins when a process closes a file (flush()). Otherwise the
 * mapping, and with it the file, stays for as long as the program likes.
 */

/**
 * DOC: Locking
 *
 * map() and unmap() are called under a lock of the manager that the core mm may
 * wait for during reclaim. They may take the driver's own page table lock. They
 * must not allocate memory, wait for a thread that allocates memory, or call
 * back into this interface. prepare() runs before them, with no lock held, and
 * allocates what they need. invalidate() follows unmap(). It is called from a
 * notifier, and the only locks of the manager that are held are those that
 * hmmrt_unbind() takes too. The rules are the same, except that it may take a
 * sleeping lock. None of these three can fail.
 *
 * forget() is called under the lock with which the manager creates its state of
 * an address range. It may free memory and take the driver's own locks, and
 * must not wait. It does not run concurrently with prepare(), map(), unmap() or
 * accessed() for the same addresses, but it may run concurrently with
 * invalidate().
 *
 * populate(), depopulate(), prepare(), accessed() and copy_*() may sleep and
 * allocate memory. They must finish without outside help, because unbinding and
 * unregistering wait for them. All but prepare() and accessed() may be called
 * with the mmap_lock of a process held for reading and with pages locked,
 * including the pages in their arguments. These must neither access user memory
 * nor wait for a thread that does. depopulate() is also called from a work
 * queue.
 *
 * No op may call back, neither into this interface nor by accessing memory of
 * the processes. The driver must not call this interface with a lock held that
 * one of its ops takes.
 *
 * Ops for different pages, chunks and bindings run concurrently. The manager
 * serialises map() and unmap() of one chunk of one address space, and
 * populate() and depopulate() of one chunk of device memory.
 */

/**
 * DOC: Lifetimes
 *
 * A binding holds references to its space and its device. Ops for a binding may
 * be called before hmmrt_bind() returns. The driver must set up everything that
 * they need before the call, and ops must not rely on the pointer that it
 * returns.
 *
 * Call hmmrt_unbind() after the device has stopped: it no longer uses any entry
 * of this binding, and no call with the binding is running or can start. From
 * then on, the manager need not remove entries with unmap(): they are
 * meaningless. When hmmrt_unbind() returns, no op is called for the binding any
 * more, and the driver can free the page table. hmmrt_unbind() waits briefly
 * for prefetches of the process and a few seconds at most for its mmap_lock,
 * and does not wait for anything else of the process. Do not call it from
 * released(), which only stops the device.
 *
 * A device can be unregistered after all its bindings have ended. The driver of
 * a device that can be unplugged ends them itself while the files are open:
 * soft_device_remove() in kmod/softdev.h shows one way. Pages in device memory
 * may outlive all bindings, because mappings of processes refer to them.
 * hmmrt_device_unregister() moves such pages to system memory. It waits for
 * pages that are locked. Until it returns, ops are called, and the id and name
 * of the device stay in use. It cannot fail, and waits for no program and for no
 * memory: if it moved no page for some time (hmmrt.leave_wait), the manager does
 * without the driver. Pages of coherent memory, which a program can hold for as
 * long as it likes, for example in a pipe, then stay in use. Pages of other
 * memory are lost, as if the device had failed to read them.
 */
#ifndef _LINUX_HMMRT_DEVICE_H
#define _LINUX_HMMRT_DEVICE_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

#define HMMRT_DEVICE_API_VERSION	1

/*
 * Unit of device memory and of migration. No operation crosses a multiple of
 * the chunk size.
 */
#define HMMRT_CHUNK_SHIFT	21
#define HMMRT_CHUNK_SIZE	BIT(HMMRT_CHUNK_SHIFT)
#define HMMRT_CHUNK_PAGES	(HMMRT_CHUNK_SIZE >> PAGE_SHIFT)

struct hmmrt_binding;
struct hmmrt_device;
struct hmmrt_space;

/*
 * An entry that the manager asks a driver to map, one per page: an address and
 * permissions. The address is page aligned. It is
 *
 *  - an offset in the device's own memory if HMMRT_PTE_DEVICE is set,
 *  - an offset in the memory of the peer hmmrt_pte_peer() if HMMRT_PTE_PEER is
 *    set,
 *  - otherwise a physical address, in system memory or in the coherent memory
 *  of
 *    another device.
 *
 * HMMRT_PTE_VALID implies read permission.
 */
typedef u64 hmmrt_pte_t;
#define HMMRT_PTE_VALID		BIT_ULL(0)
#define HMMRT_PTE_WRITE		BIT_ULL(1)
#define HMMRT_PTE_EXEC		BIT_ULL(2)
#define HMMRT_PTE_DEVICE	BIT_ULL(3)
#define HMMRT_PTE_ATOMIC	BIT_ULL(4)	/* hmmrt_exclusive_range() */
#define HMMRT_PTE_PEER		BIT_ULL(5)	/* HMMRT_DEVICE_PEER_ACCESS */
#define HMMRT_PTE_ADDR		GENMASK_ULL(51, 12)
#define HMMRT_PTE_PEER_ID	GENMASK_ULL(55, 52)	/* id of the peer */

/**
 * struct hmmrt_device_ops - operations of a device
 * @api_version: HMMRT_DEVICE_API_VERSION
 * @populate: make the chunk of device memory at @offset usable. Its contents
 *	are undefined: all of it is written before it is read. Not called for
 *	coherent memory.
 * @depopulate: release the chunk, which holds no pages any more. Not called for
 *	coherent memory.
 * @copy_to_device: fill @npages pages of device memory at @offset from @src[i],
 *	or with zeroes where @src[i] is NULL. All pages are in one chunk.
 * @copy_to_host: copy @npages pages of device memory at @offset to the pages
 *	@dst[i]. Skip a page where @dst[i] is NULL.
 * @copy_from_peer: copy @npages pages to device memory at @offset from the
 *	memory of another device of this driver. On each side, all pages are in
 *	one chunk. Optional.
 * @prepare: allocate what map() needs for [@start, @end), one chunk of address
 *	space. Called before each map(), possibly repeatedly for the same range.
 *	The allocation stays until forget() or until the binding ends.
 * @map: write entries for consecutive pages from @start. Leave the present
 *	entry alone where the entry in @ptes is invalid.
 * @unmap: clear the entries of [@start, @end), inside one chunk of address
 *	space
 * @invalidate: make sure that the device no longer uses the cleared entries
 * @accessed: report which entries of one chunk of address space, from @start,
 *	the device has used since the last call: set @ptes[i] to the entry, or
 *	leave it 0. One bit of usage per page is enough, and an occasional miss
 *	is harmless. Optional: without it, the manager evicts the memory that
 *	was allocated least recently, and the device has no access counters.
 * @forget: free what prepare() allocated for [@start, @end), one chunk of
 *	address space. No entry is mapped there, and none will be before the
 *	next prepare(), which does not overlap with this call. Must not allocate
 *	or sleep for long. Optional.
 * @released: the process has exited and its memory goes away. Stop working for
 *	it.
 * @bar_pfn: return the page frame through which the CPU reaches the page of
 *	device memory at @offset, as in a memory BAR. Called for chunks that hold
 *	a memory object and stay populated while the CPU has them mapped. Must
 *	not sleep. Optional: without it, the CPU cannot access pinned memory
 *	objects on the device. Not called for coherent memory.
 *
 * Ops with a return value return 0 or a negative errno: see Failing. See
 * Locking for the context of each call.
 */
struct hmmrt_device_ops {
	u32 api_version;
	int (*populate)(struct hmmrt_device *dev, u64 offset);
	void (*depopulate)(struct hmmrt_device *dev, u64 offset);
	int (*copy_to_device)(struct hmmrt_device *dev, u64 offset,
			      struct page **src, unsigned int npages);
	int (*copy_to_host)(struct hmmrt_device *dev, struct page **dst,
			    u64 offset, unsigned int npages);
	int (*copy_from_peer)(struct hmmrt_device *dev, u64 offset,
			      struct hmmrt_device *peer, u64 peer_offset,
			      unsigned int npages);
	int (*prepare)(struct hmmrt_binding *binding, unsigned long start,
		       unsigned long end);
	void (*map)(struct hmmrt_binding *binding, unsigned long start,
		    const hmmrt_pte_t *ptes, unsigned int npages);
	void (*unmap)(struct hmmrt_binding *binding, unsigned long start,
		      unsigned long end);
	void (*invalidate)(struct hmmrt_binding *binding, unsigned long start,
			   unsigned long end);
	void (*accessed)(struct hmmrt_binding *binding, unsigned long start,
			 hmmrt_pte_t *ptes);
	void (*forget)(struct hmmrt_binding *binding, unsigned long start,
		       unsigned long end);
	void (*released)(struct hmmrt_binding *binding);
	unsigned long (*bar_pfn)(struct hmmrt_device *dev, u64 offset);
};

/*
 * Faults of this device map pages where they are. Pages migrate to the device
 * only on request (hmmrt_migrate_range_to_device(), a prefetch). Pages on
 * another device that is neither coherent nor a peer cannot be mapped there, so
 * a fault migrates them to system memory.
 */
#define HMMRT_DEVICE_FAULT_IN_PLACE	BIT(0)

/*
 * Atomic operations of this device on system memory are atomic with respect to
 * those of the CPU, without hmmrt_exclusive_range(). Processes see this
 * property as HMMRT_PROPERTY_NATIVE_ATOMICS.
 */
#define HMMRT_DEVICE_NATIVE_ATOMICS	BIT(1)

/*
 * The CPU accesses the memory of this device in place, coherently. A CPU access
 * does not move pages there, and other devices map them by physical address.
 * The memory is always present: populate() and depopulate() are not called.
 */
#define HMMRT_DEVICE_COHERENT		BIT(2)

/*
 * This device and other devices of its driver (same ops, same flag) can access
 * each other's memory. After a process enables that for two of them
 * (HMMRT_IOC_PEER), map() can get entries with HMMRT_PTE_PEER. unmap() and
 * invalidate() remove them like other entries, before the peer's page is
 * reused. While such an entry exists, its chunk stays populated and the peer
 * stays registered.
 */
#define HMMRT_DEVICE_PEER_ACCESS	BIT(3)

/**
 * struct hmmrt_device_desc - description of a device to register
 * @name: unique name, 1 to HMMRT_DEVICE_NAME_LEN - 1 characters
 * @ops: operations, valid until the device is unregistered
 * @memory_bytes: size of the device memory, a multiple of HMMRT_CHUNK_SIZE
 * @memory_start: for a coherent device, physical address of its memory, a
 *	multiple of HMMRT_CHUNK_SIZE. The manager claims it (request_mem_region())
 *	until its last page is free, so the driver must not. Otherwise 0.
 * @numa_node: nearest online node, or NUMA_NO_NODE
 * @flags: HMMRT_DEVICE_*
 * @drvdata: driver data, see hmmrt_device_drvdata()
 */
struct hmmrt_device_desc {
	const char *name;
	const struct hmmrt_device_ops *ops;
	u64 memory_bytes;
	u64 memory_start;
	int numa_node;
	unsigned int flags;
	void *drvdata;
};

/**
 * hmmrt_device_register() - register a device
 * @desc: description. The struct is copied, but not what its members point to.
 *
 * Context: process context, sleeps.
 * Return: the device, or an ERR_PTR: -EINVAL if the description is invalid or
 * the kernel uses the coherent memory itself, -EBUSY if another has claimed it
 * or pages of a removed device there are still in use, -EEXIST if the name is in
 * use, -ENOSPC if there are HMMRT_MAX_DEVICES devices already, -ENOMEM.
 */
struct hmmrt_device *
hmmrt_device_register(const struct hmmrt_device_desc *desc);

/**
 * hmmrt_device_unregister() - migrate all pages back and remove the device
 * @dev: device without bindings, and not in use by any other call
 *
 * Tries for a time if there is not enough system memory for all pages, or if
 * others hold some. See Lifetime above.
 *
 * Context: process context, no locks, sleeps.
 * Return: true, or false if pages did not leave in that time. The device and its
 * ops are not used any more in this case either, and all chunks have been
 * depopulated, but coherent memory is used. The device is unregistered for the
 * manager only when the last page is free. Until then coherent memory stays
 * claimed, so that a driver need not look at the result.
 */
bool hmmrt_device_unregister(struct hmmrt_device *dev);
void *hmmrt_device_drvdata(const struct hmmrt_device *dev);
u32 hmmrt_device_id(const struct hmmrt_device *dev);

/*
 * Return the device that an entry with HMMRT_PTE_PEER points to. The caller
 * must keep unmap() from removing the entry, for example by holding the lock
 * that protects the entry.
 */
struct hmmrt_device *hmmrt_pte_peer(hmmrt_pte_t pte);

/**
 * hmmrt_device_evict() - migrate all pages of a device to system memory
 * @dev: registered device, which stays usable and can be in use during the call
 *
 * Evicts pages of all processes. Duplicates of read-mostly pages are dropped.
 *
 * Context: process context, no locks, sleeps.
 * Return: 0; -EINTR for a fatal signal; or -EBUSY if there are pages on the
 * device afterwards: they were locked or pinned, another call moved them there,
 * there was no memory for them, the device could not copy them, or they are the
 * memory of a pinned memory object, which stays on its device. The kernel
 * can pin pages of a coherent device in place for as long as a read or a pipe
 * lasts.
 */
int hmmrt_device_evict(struct hmmrt_device *dev);

/*
 * Return the space of a /dev/hmmrt file of the calling process, with a
 * reference.
 */
struct hmmrt_space *hmmrt_space_get_from_fd(int fd);

/*
 * Return the space of the calling process, with a reference. The space is
 * created if the process has none. This is for drivers with files that work
 * without a file of /dev/hmmrt. Errors: -EACCES if the process is an agent,
 * -ESRCH for a thread without an mm, -ENOMEM, -EINTR. May sleep, takes the
 * mmap_lock.
 */
struct hmmrt_space *hmmrt_space_get_current(void);
void hmmrt_space_put(struct hmmrt_space *space);

/*
 * The result of a system call that got @rc. After -EINTR the core repeats the
 * call, unless a handler without SA_RESTART runs for the signal.
 */
int hmmrt_restart(int rc);

/**
 * hmmrt_bind() - bind a device to the address space of a process
 * @space: space of the calling process
 * @dev: registered device
 * @drvdata: driver data, see hmmrt_binding_drvdata()
 *
 * The first binding of a device creates the struct pages of its memory.
 *
 * Context: process context, no locks, sleeps.
 * Return: the binding, or an ERR_PTR: -EBUSY if the device is already bound to
 * this space, -ENOMEM, -EINTR, or the error of the core mm if it cannot create
 * struct pages for the device memory.
 */
struct hmmrt_binding *hmmrt_bind(struct hmmrt_space *space,
				 struct hmmrt_device *dev, void *drvdata);

/**
 * hmmrt_wait_unbound() - wait until a device is not bound to a space
 * @space: space that the caller holds a reference to
 * @dev: registered device
 * @timeout: in jiffies, at most LONG_MAX
 *
 * Call this after hmmrt_bind() returns -EBUSY, because an hmmrt_unbind() may be
 * running or about to start. Another thread may bind the device before the
 * caller can.
 *
 * Context: process context, no locks, sleeps.
 * Return: 0; -EBUSY if the device was bound for all of that time; -EINTR.
 */
int hmmrt_wait_unbound(struct hmmrt_space *space, struct hmmrt_device *dev,
		       unsigned long timeout);

/**
 * hmmrt_unbind() - end a binding
 * @binding: binding that the device has stopped using, see Lifetimes
 *
 * Drops the manager's state of the device's mappings. If the process is alive,
 * migrates its pages from the device to system memory, best effort: a page that
 * is busy stays until its next access. If another thread holds the mmap_lock
 * for five seconds, the rest of the pages stay too.
 *
 * Context: process context, no locks, sleeps. Not in an op.
 */
void hmmrt_unbind(struct hmmrt_binding *binding);
void *hmmrt_binding_drvdata(const struct hmmrt_binding *binding);
struct hmmrt_device *hmmrt_binding_device(const struct hmmrt_binding *binding);

/* Return true if the caller is the process that this binding mirrors. */
bool hmmrt_binding_is_owner(const struct hmmrt_binding *binding);

/*
 * Return true if the process has exited and released() was called or is
 * running. A driver that publishes data for released() stores the data,
 * executes a full barrier and then calls this function. Then either released()
 * sees the data or this function returns true.
 */
bool hmmrt_binding_released(const struct hmmrt_binding *binding);

/*
 * Declare @mm the agent of a binding: the address space in which the device
 * executes. Call this before anything is mapped there. The declaration lasts
 * until hmmrt_unbind(). An mm is either mirrored or an agent, never both,
 * because two address spaces that mirror each other would deadlock in their
 * notifiers. Returns -EACCES if the mm has a space or MMU notifiers or is the
 * agent of another binding.
 */
int hmmrt_binding_claim_agent(struct hmmrt_binding *binding,
			      struct mm_struct *mm);

/*
 * Flag for the access argument of hmmrt_fault(): do not wait for a program. The
 * call returns -EBUSY if a page is missing and the kernel may need a program to
 * provide it, or if another thread holds the mmap_lock. The kernel provides
 * anonymous memory and tmpfs pages by itself if no userfaultfd is registered,
 * and reads swap. The call does not wait for other faults and is not throttled
 * for thrashing.
 */
#define HMMRT_FAULT_NOWAIT	BIT(31)

/*
 * A program may record which pages a device uses: then a device that can tell
 * calls hmmrt_accessed() for each use of a page that is not one of the last
 * ones, with the address of the instruction or 0. Context: any that may take a
 * spinlock, with interrupts enabled.
 */
bool hmmrt_accesses_recorded(const struct hmmrt_binding *binding);
void hmmrt_accessed(struct hmmrt_binding *binding, unsigned long addr,
		    unsigned int access, u64 ip);

/*
 * hmmrt_fault(), for a device that knows the address of the instruction that
 * made the fault: events report it.
 */
int hmmrt_fault_of(struct hmmrt_binding *binding, unsigned long addr,
		   unsigned int access, u64 ip);

/**
 * hmmrt_fault() - serve a fault of the device's MMU
 * @binding: device and process
 * @addr: address of the fault, in the process's address space
 * @access: HMMRT_ACCESS_*, and optionally HMMRT_FAULT_NOWAIT
 *
 * Policy limits how many batches of faults of a binding are served at a time.
 * The callers of further faults wait. A caller that serves its own fault also
 * serves waiting faults: faults of one block as a group, faults on one page as
 * one. The call can therefore last as long as faults that were queued before
 * it.
 *
 * Context: process context, no locks. May take the mmap_lock of the process,
 * move memory and sleep. A signal ends the call early. While a program is to
 * provide the page (FUSE, userfaultfd), only a fatal signal does.
 * Return: 0 after the entry was mapped: repeat the access, because the entry
 * may already be invalid again. -EINTR and -EAGAIN: repeat the access too.
 * -EFAULT: nothing is mapped at @addr, a CPU access would get SIGBUS, or
 * @access is 0. -EACCES: the mapping does not permit the access. -EOPNOTSUPP:
 * the memory cannot be mirrored. -ENOMEM. -ESRCH: the process has exited.
 * -EINVAL: @access has unknown bits. -EBUSY: see HMMRT_FAULT_NOWAIT. Or the
 * error of prepare().
 */
static inline int hmmrt_fault(struct hmmrt_binding *binding, unsigned long addr,
			      unsigned int access)
{
	return hmmrt_fault_of(binding, addr, access, 0);
}

/**
 * hmmrt_fault_range() - serve faults on all pages of a range
 * @binding: device and process
 * @start: first address
 * @end: address after the last byte
 * @access: HMMRT_ACCESS_*
 *
 * Like hmmrt_fault() for each page, but with one page table lookup, one
 * migration and one map() for all pages of a block that one mapping covers.
 *
 * Context: see Ranges.
 * Return: 0 after each entry was mapped. As with one page, any entry may
 * already be invalid again. For errors see Ranges and hmmrt_fault(); -EFAULT if
 * @access is 0, and -EINVAL if it has unknown bits, as there. Pages before the
 * one that failed may be mapped.
 */
int hmmrt_fault_range(struct hmmrt_binding *binding, unsigned long start,
		      unsigned long end, unsigned int access);

struct hmmrt_fault_in;

/*
 * Callback at the end of a fault-in. @data is the argument of
 * hmmrt_fault_in_begin(). It is called from a thread of the manager and under a
 * spinlock: it must neither sleep nor call into this interface. @rc is 0 if the
 * page was there, -EINTR or -EAGAIN if the fault should be tried again, or the
 * error that hmmrt_fault() would return: -EFAULT, -EACCES, -EOPNOTSUPP,
 * -ENOMEM.
 */
typedef void (*hmmrt_fault_in_done_t)(void *data, int rc);

/**
 * hmmrt_fault_in_begin() - start to fault in a page, which may take long
 * @binding: device and process
 * @addr: address, in the process's address space
 * @access: HMMRT_ACCESS_*
 * @done: called once, unless hmmrt_fault_in_end() comes first
 * @data: argument for @done
 *
 * Use this after hmmrt_fault() returned -EBUSY: see Waiting for programs. It
 * maps nothing for the device: serve the fault again afterwards. @done may be
 * called before this function returns.
 *
 * Context: process context, no locks, sleeps, but does not wait for a program.
 * Return: a handle for hmmrt_fault_in_end(), or an ERR_PTR: -EAGAIN if the
 * process or its user has reached the limit of fault-ins: try again later;
 * -EFAULT if @addr is not a user address or @access is 0; -EINVAL if @access
 * has unknown bits; -ESRCH if the process has exited; -ENOMEM; -EINTR.
 */
struct hmmrt_fault_in *hmmrt_fault_in_begin(struct hmmrt_binding *binding,
					    unsigned long addr,
					    unsigned int access,
					    hmmrt_fault_in_done_t done,
					    void *data);

/**
 * hmmrt_fault_in_end() - release a fault-in
 * @fault_in: handle, invalid afterwards; may be NULL
 *
 * Call this once for each hmmrt_fault_in_begin(), after done() or instead of
 * it, and before hmmrt_unbind(). When it returns, done() is not running and
 * will not be called. A fault-in that cannot be interrupted continues in the
 * background: it keeps hmmrt.ko from being unloaded, but not the driver's
 * module.
 *
 * Context: process context. Takes a spinlock under which done() is called.
 */
void hmmrt_fault_in_end(struct hmmrt_fault_in *fault_in);

/**
 * struct hmmrt_migration - result of the migration of a range
 * @moved: pages that moved
 * @there: pages that were already at the destination
 */
struct hmmrt_migration {
	u64 moved;
	u64 there;
};

/* Leave pages on other devices where they are, and map those on peers. */
#define HMMRT_MIGRATE_NO_PEERS	BIT(0)

/**
 * hmmrt_migrate_range_to_device() - migrate pages to a device and map them
 * there
 * @binding: device and process
 * @start: first address
 * @end: address after the last byte
 * @flags: HMMRT_MIGRATE_*
 * @result: result, also set on failure
 *
 * Best effort: pages that cannot move (file pages, shared or pinned memory, no
 * free device memory) stay, and the call does not map them. Holes in anonymous
 * memory become zeroed device memory. Unlike HMMRT_IOC_PREFETCH, the call also
 * moves pages that were written in a private mapping of a file. In read-mostly
 * memory, such pages stay and are not duplicated.
 *
 * Context: see Ranges.
 * Return: 0, no matter how many pages moved; -EFAULT if some address is not
 * mapped; -EACCES if a mapping has no read permission; -EOPNOTSUPP if memory
 * cannot be mirrored; otherwise see Ranges.
 */
int hmmrt_migrate_range_to_device(struct hmmrt_binding *binding,
				  unsigned long start, unsigned long end,
				  unsigned int flags,
				  struct hmmrt_migration *result);

/**
 * hmmrt_migrate_range_to_host() - migrate pages of this device to system memory
 * @binding: device and process
 * @start: first address
 * @end: address after the last byte
 * @result: result, also set on failure. All pages that are not on this device
 *	count as already there.
 *
 * Context: see Ranges.
 * Return: as hmmrt_migrate_range_to_device().
 */
int hmmrt_migrate_range_to_host(struct hmmrt_binding *binding,
				unsigned long start, unsigned long end,
				struct hmmrt_migration *result);

/**
 * hmmrt_exclusive_range() - map pages for atomic accesses of the device
 * @binding: device and process
 * @start: first address
 * @end: address after the last byte
 *
 * The pages migrate to system memory, from coherent devices too, and stay
 * there. Only the page table of the device has entries for them, with
 * HMMRT_PTE_ATOMIC. Before the next access of the CPU or of another device to
 * such a page continues, an invalidation removes the device's entry.
 *
 * The call does not wait for any program.
 *
 * Context: see Ranges.
 * Return: 0 after each page was mapped so. -EBUSY if some page cannot be, now
 * or ever: it is locked, pinned, part of a huge page, registered with
 * userfaultfd, or in a mapping that is not anonymous, such as a private mapping
 * of a file. Other pages may be mapped then. -EFAULT and -EACCES as
 * hmmrt_fault() for a write. Otherwise see Ranges.
 */
int hmmrt_exclusive_range(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end);

/*
 * Make the next allocation of a page of HMMRT_CHUNK_SIZE for this process fail,
 * on a device or in system memory, so that its pages move one by one. Each call
 * causes one failure. With @fail false, cancel a failure that has not happened
 * yet. For drivers that test this case.
 */
void hmmrt_fail_next_huge(struct hmmrt_binding *binding, bool fail);

#define HMMRT_STATE_READ	BIT(0)	/* readable */
#define HMMRT_STATE_WRITE	BIT(1)	/* writable without a CPU fault */
#define HMMRT_STATE_ZERO	BIT(2)	/* the zero page */
#define HMMRT_STATE_ERROR	BIT(3)	/* not mapped, or not mirrorable */
#define HMMRT_STATE_COHERENT	BIT(4)	/* on a coherent device */

/**
 * struct hmmrt_page_state - state of one page in the process
 * @flags: HMMRT_STATE_*
 * @order: order of the CPU page table entry that maps the page
 * @location: device id, HMMRT_LOCATION_HOST or HMMRT_LOCATION_NONE
 */
struct hmmrt_page_state {
	u16 flags;
	u16 order;
	u32 location;
};

/**
 * hmmrt_snapshot_range() - report the state of the pages of a range
 * @binding: a binding of the process
 * @start: first address
 * @end: address after the last byte
 * @pages: out: one element for each page
 *
 * Does not fault in or move anything. The states of the pages of one block were
 * true at the same time. They may have changed since then: only a fault can
 * tell.
 *
 * Context: see Ranges.
 * Return: 0, or see Ranges. An unmapped address is a state, not an error.
 */
int hmmrt_snapshot_range(struct hmmrt_binding *binding, unsigned long start,
			 unsigned long end, struct hmmrt_page_state *pages);

#endif /* _LINUX_HMMRT_DEVICE_H */
