/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The boundary between the memory manager (hmmrt.ko) and a device driver: all
 * that a driver includes. kmod/sample/hmmrt_sample.c is a whole one.
 */

/**
 * DOC: Overview
 *
 * A driver registers its memory and its MMU functions and gets unified memory
 * in return: a process binds the device to its address space, the driver
 * reports the faults of its MMU, the manager decides where pages live, moves
 * them and tells the driver what to map.
 *
 *	driver                                manager
 *	hmmrt_device_register(ops)  ------->  device id, device memory
 *	hmmrt_bind_current(dev)     ------->  binding
 *	MMU fault: hmmrt_fault()    ------->  policy, migration, snapshot
 *	ops->populate, copy_*       <-------    device memory and its contents
 *	ops->prepare, map           <-------    the entry is written
 *	                                      notifier of the core mm:
 *	ops->unmap, invalidate      <-------    the entry is gone
 *	ops->released               <-------  the process is gone: stop its work
 *	hmmrt_unbind()              ------->
 *	hmmrt_device_unregister()   ------->  all pages come home first
 *
 * The manager knows no device: it speaks of pages, entries, and offsets in
 * device memory. The driver knows no policy: it never decides where a page is.
 */

/**
 * DOC: A driver
 *
 * Of what a driver adds to its own MMU and copy engine this is all; error paths
 * are left out, and kmod/sample/hmmrt_sample.c has them::
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
 *	// a process opens a file of ours: its page table first, then
 *	context->binding = hmmrt_bind_current(my->hmmrt, context);
 *
 *	// the MMU reports a fault at addr
 *	rc = hmmrt_fault(context->binding, addr, HMMRT_ACCESS_READ);
 *	if (!rc || rc == -EAGAIN)
 *		my_replay(context);		// it may fault again
 *	else if (rc != -EINTR)
 *		my_cancel(context, rc);
 *
 *	// its last file is closed
 *	my_stop(context);			// no access, no fault any more
 *	hmmrt_unbind(context->binding);
 *	my_free_page_table(context);
 *
 *	// remove: no binding is left
 *	hmmrt_device_unregister(my->hmmrt);
 */

/**
 * DOC: Failing
 *
 * Some ops may fail, at any call, and with that nothing is lost:
 *
 *	populate, copy_to_device	what was to move stays where it is, and the
 *					device is given an entry for it there
 *	copy_from_peer			is repeated through system memory
 *	copy_to_host			of several pages: they are asked for one by one.
 *					Of one: it stays on the device. A CPU that touches
 *					it gets SIGBUS, an access of another device
 *					-EFAULT, each until it can be read. Others in
 *					the same migration come home. Of a large page
 *					no part comes when the CPU touches it: ask for
 *					home, then what can be read does
 *	prepare				the call that needed it answers its error
 *
 * What a device that is unregistered does not give back, asked three times for each
 * page, is lost: a touch of it is SIGBUS. It takes no memory but a struct page for
 * each page that is mapped. Of a large page of which some can be read, the rest is
 * poisoned, as after an error of the memory itself; on a kernel that cannot poison
 * memory it is zeroes. The log says how much is lost. The other ops cannot fail. A
 * failed populate() is not followed by a depopulate().
 */

/**
 * DOC: Ranges
 *
 * A driver that knows more than one faulting address asks for all of it at once:
 *
 *	hmmrt_fault_range()             map every page of a range
 *	hmmrt_migrate_range_to_device() move what can move, and map that
 *	hmmrt_migrate_range_to_host()   bring home what is on this device
 *	hmmrt_exclusive_range()         map, and take away from the CPU meanwhile
 *	hmmrt_snapshot_range()          only look
 *
 * They may cross blocks and mappings, start and end at pages, and work in steps:
 * when one fails, what was done before it stays done. Each is called with no
 * lock held, from process context, by any thread, while the binding exists; takes
 * the process's mmap_lock and may sleep. All answer -EINVAL for a range that is
 * empty, not page aligned or beyond user addresses, -ESRCH when the process has
 * exited, -EINTR for a signal (what was done stays done; repeat it), -EAGAIN when
 * others kept getting in between (likewise), -ENOMEM.
 */

/**
 * DOC: Waiting for programs
 *
 * Where a program provides the page (a FUSE server, a handler of userfaultfd), a fault
 * lasts as long as the program likes, and only a signal ends it. A thread of the
 * process can wait for that: hmmrt_fault() in its context. A worker cannot: it serves
 * other processes too. hmmrt_unbind() cannot either: no call may be running then.
 * Such a driver does not wait for programs::
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
 *	// before it is served again, when it is cancelled, or the binding goes
 *	hmmrt_fault_in_end(in);			// no my_done() from here on
 *
 * None of these calls waits for a program, so hmmrt_unbind() soon follows. The calls
 * for ranges wait for the process's mmap_lock, whose holder may wait for a program: a
 * thread of the process makes them. kmod/faulty/worker.c is a whole worker, for all
 * processes.
 *
 * A page that is faulted in keeps the memory of its process. A driver whose files can
 * be mapped ends what is under way when a process closes its file (flush()): the
 * mapping, and with it the file, would stay otherwise for as long as the program likes.
 */

/**
 * DOC: Locking
 *
 * map() and unmap() are called with a lock of the manager held under which the
 * core mm may be reclaiming memory: they may take the driver's own page table
 * lock, but neither allocate, nor sleep on anything that allocates, nor call
 * back. What they need is made ready by prepare(), called before with nothing
 * held. invalidate() follows unmap() with nothing of the manager held but what
 * hmmrt_unbind() takes as well, and in a notifier: the same rules, except that it
 * may take a sleeping lock. None of the three can fail.
 *
 * forget() comes with a lock held under which the manager makes what it keeps of
 * addresses: it frees, takes the driver's own locks, and does not wait. It is not
 * called while prepare(), map(), unmap() or accessed() run for the same addresses;
 * invalidate() may.
 *
 * populate(), depopulate(), prepare(), accessed() and copy_*() may sleep and allocate.
 * They end by themselves, for whoever unbinds or unregisters waits for them. All but
 * prepare() and accessed() may come with a process's mmap_lock held for reading and with pages
 * locked, those in their arguments among them: they neither touch user memory
 * nor wait for who does. depopulate() comes from a work queue as well.
 *
 * No op calls back, neither into this interface nor by touching memory of the
 * processes. The driver calls with no lock held that an op takes.
 *
 * Ops of different pages, chunks and bindings run at the same time. Serialised
 * are map() and unmap() of one chunk of one address space, and populate() and
 * depopulate() of one chunk.
 */

/**
 * DOC: Lifetimes
 *
 * A binding holds its space and its device. Ops for it may be called before
 * hmmrt_bind() has returned, so what they need is there before; in particular
 * they do not look for the pointer that it returns.
 *
 * hmmrt_unbind() is called when the device has stopped: it uses no entry of this
 * binding any more, and no call with it is running or can begin. From then on
 * entries need not be taken away with unmap(): they are just meaningless. When it
 * returns no op is called for the binding, and the page table can be freed. It
 * waits for prefetches of the process for a moment, for its mmap_lock a few seconds
 * at most, and for nothing else of it. It is not called from released(), where the
 * device only stops.
 *
 * A device is unregistered when it is unbound everywhere. One that can be
 * unplugged unbinds its processes itself, while their files are open:
 * kmod/faulty/hmmrt_faulty.c shows one way. Pages of a device may outlive all
 * bindings, and the processes' mappings keep them; hmmrt_device_unregister()
 * moves those to system memory. It waits for what is locked or, in coherent
 * memory, pinned at the moment and cannot fail. Until it returns ops are called,
 * and its id and name are taken.
 */
#ifndef _LINUX_HMMRT_DEVICE_H
#define _LINUX_HMMRT_DEVICE_H

#include <linux/bits.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <uapi/linux/hmmrt.h>

#define HMMRT_DEVICE_API_VERSION	1

/* Unit of device memory and of migration: no operation crosses a multiple. */
#define HMMRT_CHUNK_SHIFT	21
#define HMMRT_CHUNK_SIZE	BIT(HMMRT_CHUNK_SHIFT)
#define HMMRT_CHUNK_PAGES	(HMMRT_CHUNK_SIZE >> PAGE_SHIFT)

struct hmmrt_binding;
struct hmmrt_device;
struct hmmrt_space;

/*
 * What the manager asks a driver to map, one per page: the page aligned
 * physical address in system memory or in the coherent memory of another device,
 * or the offset in the device's own memory if HMMRT_PTE_DEVICE is set, or in the
 * memory of its peer hmmrt_pte_peer() if HMMRT_PTE_PEER is, and permissions.
 * Readable is implied by VALID.
 */
typedef u64 hmmrt_pte_t;
#define HMMRT_PTE_VALID		BIT_ULL(0)
#define HMMRT_PTE_WRITE		BIT_ULL(1)
#define HMMRT_PTE_EXEC		BIT_ULL(2)
#define HMMRT_PTE_DEVICE	BIT_ULL(3)
#define HMMRT_PTE_ATOMIC	BIT_ULL(4)	/* see hmmrt_exclusive_range() */
#define HMMRT_PTE_PEER		BIT_ULL(5)	/* see HMMRT_DEVICE_PEER_ACCESS */
#define HMMRT_PTE_ADDR		GENMASK_ULL(51, 12)
#define HMMRT_PTE_PEER_ID	GENMASK_ULL(55, 52)	/* which device */

/**
 * struct hmmrt_device_ops - what a device can do
 * @api_version: HMMRT_DEVICE_API_VERSION
 * @populate: make the chunk of device memory at @offset usable; it may hold
 *	anything: all of it is written before it is read. Not called for coherent
 *	memory
 * @depopulate: the chunk holds nothing any more; likewise
 * @copy_to_device: fill @npages pages of device memory at @offset from
 *	@src[i], or with zeroes where @src[i] is NULL; within one chunk
 * @copy_to_host: copy device memory into the pages @dst[i]; NULL: skip
 * @copy_from_peer: copy @npages pages to device memory at @offset from that of
 *	another device of this driver, each within one chunk; optional
 * @prepare: allocate what map() needs for [@start, @end), one chunk of address
 *	space; called again for the same range, before each map() of it. What is
 *	made stays until forget(), or until the binding goes
 * @map: write entries for consecutive pages from @start; invalid ones in @ptes
 *	leave the present entry alone
 * @unmap: clear the entries of [@start, @end), inside one chunk
 * @invalidate: make sure that the device no longer uses the cleared entries
 * @accessed: say which entries of one chunk of address space, from @start, the
 *	device has used since it was asked last: @ptes[i] becomes the entry, or stays
 *	0. Whether a page was used at all is enough, and one that is missed now and
 *	then does no harm; optional. Without it the device evicts what it was given
 *	longest ago
 * @forget: nothing of [@start, @end), one chunk of address space, is mapped any more,
 *	nor will be before the next prepare() of it, which comes afterwards: what
 *	prepare() made may be freed. Neither sleeps for long nor allocates; optional
 * @released: the process has exited: stop working for it, the memory is going
 *
 * Those that return something return 0 or a negative errno; see Failing, and
 * Locking for where they are called.
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
};

/*
 * A fault of this device maps pages where they are; they move to it only when
 * somebody asks (hmmrt_migrate_range_to_device(), a prefetch). Pages on another
 * device that is neither coherent nor its peer come home for it: they cannot be
 * mapped there.
 */
#define HMMRT_DEVICE_FAULT_IN_PLACE	BIT(0)

/*
 * Its atomic operations on system memory and those of the CPU are atomic to each
 * other, with no need for hmmrt_exclusive_range(). Processes are told.
 */
#define HMMRT_DEVICE_NATIVE_ATOMICS	BIT(1)

/*
 * The CPU reads and writes this device's memory in place, coherently: pages there
 * stay there when it touches them, and other devices map them by physical
 * address. The memory is always there: it is not populated and not depopulated.
 */
#define HMMRT_DEVICE_COHERENT		BIT(2)

/*
 * It reaches the memory of other devices of this driver, those with the same ops
 * and this flag, and they its. Where a process enables that for two of them
 * (HMMRT_IOC_PEER), its map() gets entries with HMMRT_PTE_PEER. They are taken
 * away by unmap() and invalidate() like others, before the peer's page can be
 * used for anything else; so while there is one, the chunk stays populated and
 * the peer registered.
 */
#define HMMRT_DEVICE_PEER_ACCESS	BIT(3)

/**
 * struct hmmrt_device_desc - a device to register
 * @name: unique, 1 to HMMRT_DEVICE_NAME_LEN - 1 characters
 * @ops: stays valid until the device is unregistered
 * @memory_bytes: device memory, a multiple of HMMRT_CHUNK_SIZE
 * @memory_start: its physical address, a multiple of HMMRT_CHUNK_SIZE, if it is
 *	coherent; otherwise 0. The driver has reserved it for itself
 * @numa_node: nearest node, one that is online, or NUMA_NO_NODE
 * @flags: HMMRT_DEVICE_*
 * @drvdata: see hmmrt_device_drvdata()
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
 * hmmrt_device_register() - announce a device
 * @desc: copied, but for what its members point to
 *
 * Context: process context, sleeps.
 * Return: the device, or an ERR_PTR: -EINVAL for a bad description or coherent
 * memory that is the kernel's own, -EEXIST for a name in use, -ENOSPC beyond
 * HMMRT_MAX_DEVICES, -ENOMEM.
 */
struct hmmrt_device *
hmmrt_device_register(const struct hmmrt_device_desc *desc);

/**
 * hmmrt_device_unregister() - bring all pages home, and forget the device
 * @dev: no binding of it is left, and nobody calls anything with it
 *
 * Pages for which there is no memory wait for some.
 *
 * Context: process context, no locks, sleeps.
 */
void hmmrt_device_unregister(struct hmmrt_device *dev);
void *hmmrt_device_drvdata(const struct hmmrt_device *dev);
u32 hmmrt_device_id(const struct hmmrt_device *dev);

/*
 * Whose memory an entry with HMMRT_PTE_PEER is for. Context: any in which unmap()
 * cannot take the entry away meanwhile, as under the lock that protects it.
 */
struct hmmrt_device *hmmrt_pte_peer(hmmrt_pte_t pte);

/**
 * hmmrt_device_evict() - bring all pages of a device home, whoever has them
 * @dev: registered; stays usable, and may be in use meanwhile
 *
 * Context: process context, no locks, sleeps.
 * Return: 0; -EINTR for a fatal signal; or -EBUSY when pages are on the device
 * afterwards: they were locked or pinned, another call moved them there meanwhile, there
 * was no memory for them, or the device did not give them back. The kernel can pin
 * pages of a coherent device where they are, for as long as a read or a pipe lasts.
 * Copies of read-mostly pages are given up.
 */
int hmmrt_device_evict(struct hmmrt_device *dev);

/* The space behind a /dev/hmmrt file of the calling process, with a reference. */
struct hmmrt_space *hmmrt_space_get_from_fd(int fd);

/*
 * The space of the calling process, made if it has none, with a reference: for
 * a driver whose files work without a file of /dev/hmmrt. -EACCES if it is the
 * agent of another one, -ESRCH for a thread without a process, -ENOMEM, -EINTR.
 * Context: may sleep, takes the mmap_lock.
 */
struct hmmrt_space *hmmrt_space_get_current(void);
void hmmrt_space_put(struct hmmrt_space *space);

/**
 * hmmrt_bind() - have a device work for a process
 * @space: of the calling process
 * @dev: registered
 * @drvdata: see hmmrt_binding_drvdata()
 *
 * Context: process context, no locks, sleeps. The first one makes struct pages
 * for the device's memory.
 * Return: the binding, or an ERR_PTR: -EBUSY if the device is bound to this space
 * already, -ENOMEM, -EINTR, or what the core answers when it cannot give struct
 * pages to device memory.
 */
struct hmmrt_binding *hmmrt_bind(struct hmmrt_space *space,
				 struct hmmrt_device *dev, void *drvdata);

/**
 * hmmrt_bind_current() - have a device work for the calling process
 * @dev: registered
 * @drvdata: see hmmrt_binding_drvdata()
 *
 * For a driver whose files work without one of /dev/hmmrt.
 *
 * Context: see hmmrt_bind().
 * Return: as hmmrt_space_get_current() and hmmrt_bind().
 */
struct hmmrt_binding *hmmrt_bind_current(struct hmmrt_device *dev,
					 void *drvdata);

/**
 * hmmrt_wait_unbound() - wait until a device is not bound to a space
 * @space: held by the caller
 * @dev: registered
 * @timeout: in jiffies, at most LONG_MAX
 *
 * Call this when hmmrt_bind() answers -EBUSY: an hmmrt_unbind() may be under way, or
 * about to begin. Another thread may bind the device first.
 *
 * Context: process context, no locks, sleeps.
 * Return: 0; -EBUSY it was bound for all of that time; -EINTR.
 */
int hmmrt_wait_unbound(struct hmmrt_space *space, struct hmmrt_device *dev,
		       unsigned long timeout);

/**
 * hmmrt_unbind() - the end of a binding
 * @binding: that the device has stopped using, see Lifetimes
 *
 * What this device had mapped is forgotten. Its pages come home if the process is
 * alive; what is busy at the moment stays until it is touched, and so does the rest if
 * another thread holds the mmap_lock for five seconds.
 *
 * Context: process context, no locks, sleeps; in no op.
 */
void hmmrt_unbind(struct hmmrt_binding *binding);
void *hmmrt_binding_drvdata(const struct hmmrt_binding *binding);
struct hmmrt_device *hmmrt_binding_device(const struct hmmrt_binding *binding);

/* Whether the caller is the process that this binding mirrors. */
bool hmmrt_binding_is_owner(const struct hmmrt_binding *binding);

/*
 * Whether the process has exited and released() was, or is just being, called.
 * Who publishes something that released() acts on stores it, then a full
 * barrier, then asks: one of the two sees the other.
 */
bool hmmrt_binding_released(const struct hmmrt_binding *binding);

/*
 * A device that executes in an address space (an agent) declares it here,
 * before anything is mapped there: an mm is mirrored or an agent, never both,
 * for two that mirror each other would deadlock in their notifiers. Holds until
 * hmmrt_unbind(). -EACCES if the mm has a space or mmu notifiers or is the
 * agent of another binding.
 */
int hmmrt_binding_claim_agent(struct hmmrt_binding *binding,
			      struct mm_struct *mm);

/*
 * With HMMRT_ACCESS_* of hmmrt_fault(): wait for no program. The answer is -EBUSY where
 * a page is not there and is not made by the kernel alone (anonymous memory and tmpfs
 * without userfaultfd are; swap is read), or where another thread holds the mmap_lock.
 * Other faults are not waited for either, nor is thrashing throttled.
 */
#define HMMRT_FAULT_NOWAIT	BIT(31)

/**
 * hmmrt_fault() - serve a fault of the device's MMU
 * @binding: which device for which process
 * @addr: the address, in the process's address space
 * @access: HMMRT_ACCESS_*, and HMMRT_FAULT_NOWAIT
 *
 * As many faults of a binding as policy says are served at a time, each by its caller.
 * The others wait, and one that serves takes some of them along: faults of a block
 * together, those of a page as one. So a call may last as long as other faults do
 * that were there before it.
 *
 * Context: process context, no locks; may take the process's mmap_lock, move
 * memory, and sleep. Ends early for a signal; while a program is waited for that provides
 * the page (FUSE, userfaultfd), for a fatal one alone.
 * Return: 0 once the entry was mapped: repeat the access, it may already be
 * gone again; -EINTR and -EAGAIN likewise ask to repeat it; -EFAULT nothing is
 * mapped at @addr, or a CPU that touches it would get SIGBUS; -EACCES no
 * permission; -EOPNOTSUPP memory that cannot be mirrored; -ENOMEM; -ESRCH the
 * process has exited; -EINVAL no such access; -EBUSY see HMMRT_FAULT_NOWAIT; or what
 * prepare() answered.
 */
int hmmrt_fault(struct hmmrt_binding *binding, unsigned long addr,
		unsigned int access);

/**
 * hmmrt_fault_range() - serve faults on all pages of a range
 * @binding: which device for which process
 * @start: first address
 * @end: behind the last one
 * @access: HMMRT_ACCESS_*
 *
 * As hmmrt_fault() for each page, with one look at the page table, one migration
 * and one map() for all that a block has of the range.
 *
 * Context: see Ranges.
 * Return: 0 once each entry was mapped; as with one page, any may be gone again.
 * Otherwise as Ranges and hmmrt_fault() say; pages before the one that cannot be
 * had may be mapped.
 */
int hmmrt_fault_range(struct hmmrt_binding *binding, unsigned long start,
		      unsigned long end, unsigned int access);

struct hmmrt_fault_in;

/*
 * The end of a fault-in, with @data of its beginning. Called from a thread of the
 * manager and under a spinlock: it neither sleeps nor calls into this interface.
 * @rc: 0 the page was there; -EINTR and -EAGAIN: ask again; or what hmmrt_fault() would
 * answer: -EFAULT, -EACCES, -EOPNOTSUPP, -ENOMEM.
 */
typedef void (*hmmrt_fault_in_done_t)(void *data, int rc);

/**
 * hmmrt_fault_in_begin() - have a page faulted in that may take long
 * @binding: which process
 * @addr: the address, in its address space
 * @access: HMMRT_ACCESS_*
 * @done: called once, unless hmmrt_fault_in_end() comes first
 * @data: for @done
 *
 * For a fault that was answered -EBUSY, see Waiting for programs. Nothing is mapped for
 * the device: serve the fault again. @done may be called before this returns.
 *
 * Context: process context, no locks, sleeps, but waits for no program.
 * Return: for hmmrt_fault_in_end(), or an ERR_PTR: -EAGAIN there are as many as the
 * process or its user may have: ask later; -EFAULT no address, or no access; -EINVAL no
 * such access; -ESRCH the process has exited; -ENOMEM; -EINTR.
 */
struct hmmrt_fault_in *hmmrt_fault_in_begin(struct hmmrt_binding *binding,
					    unsigned long addr,
					    unsigned int access,
					    hmmrt_fault_in_done_t done,
					    void *data);

/**
 * hmmrt_fault_in_end() - no interest in a page any more
 * @fault_in: not used afterwards; may be NULL
 *
 * Called once for each hmmrt_fault_in_begin(), whether or not done() was called, and
 * before hmmrt_unbind(). done() is not running when it returns, nor is it called later.
 * What cannot be interrupted goes on alone: it keeps this module, not the driver's, from
 * being unloaded.
 *
 * Context: process context; takes a spinlock that done() is called under.
 */
void hmmrt_fault_in_end(struct hmmrt_fault_in *fault_in);

/**
 * struct hmmrt_migration - what became of the pages of a range
 * @moved: pages that moved
 * @there: pages that were where they should go already
 */
struct hmmrt_migration {
	u64 moved;
	u64 there;
};

/* Pages on other devices stay there, and are mapped if those are its peers. */
#define HMMRT_MIGRATE_NO_PEERS	BIT(0)

/**
 * hmmrt_migrate_range_to_device() - move pages to a device, and map them there
 * @binding: which device for which process
 * @start: first address
 * @end: behind the last one
 * @flags: HMMRT_MIGRATE_*
 * @result: set also on failure
 *
 * Best effort: what cannot move (pages of files, shared or pinned memory, no
 * room) stays, and what this call finds there is not mapped. Holes in anonymous
 * memory become zeroed device memory. What was written in a private mapping of a
 * file moves, as it does not by HMMRT_IOC_PREFETCH; where that is read-mostly it
 * stays, and is not copied either.
 *
 * Context: see Ranges.
 * Return: 0, whatever moved; -EFAULT nothing is mapped at some address; -EACCES
 * no permission to read there; -EOPNOTSUPP memory that cannot be mirrored;
 * otherwise see Ranges.
 */
int hmmrt_migrate_range_to_device(struct hmmrt_binding *binding,
				  unsigned long start, unsigned long end,
				  unsigned int flags,
				  struct hmmrt_migration *result);

/**
 * hmmrt_migrate_range_to_host() - bring pages of this device home
 * @binding: which device for which process
 * @start: first address
 * @end: behind the last one
 * @result: set also on failure; all pages that this device does not have are
 *	there already
 *
 * Context: see Ranges.
 * Return: as hmmrt_migrate_range_to_device(): 0, whatever moved.
 */
int hmmrt_migrate_range_to_host(struct hmmrt_binding *binding,
				unsigned long start, unsigned long end,
				struct hmmrt_migration *result);

/**
 * hmmrt_exclusive_range() - map pages for atomic accesses of the device
 * @binding: which device for which process
 * @start: first address
 * @end: behind the last one
 *
 * The pages come home, from coherent devices too, and stay in system memory,
 * without entries in any page table but the device's; those have
 * HMMRT_PTE_ATOMIC. The next access of the CPU or of another device to a page
 * makes an invalidation take its entry away, and only then goes on.
 *
 * Context: see Ranges.
 * Return: 0 once each page was mapped so; -EBUSY some page cannot be, now or at
 * all: it is locked, pinned, part of a huge page, registered with userfaultfd, or
 * in a mapping that is not anonymous, which a private one of a file is not either;
 * others may be mapped. No program is waited for. -EFAULT and -EACCES as hmmrt_fault() for a
 * write; otherwise see Ranges.
 */
int hmmrt_exclusive_range(struct hmmrt_binding *binding, unsigned long start,
			  unsigned long end);

/*
 * The next time that memory for a page of HMMRT_CHUNK_SIZE is wanted for this
 * process, on a device or at home, there is none: its pages move one by one. For
 * drivers with tests of that, once for each call; @fail false takes it back.
 */
void hmmrt_fail_next_huge(struct hmmrt_binding *binding, bool fail);

#define HMMRT_STATE_READ	BIT(0)	/* may be read */
#define HMMRT_STATE_WRITE	BIT(1)	/* may be written, without a CPU fault */
#define HMMRT_STATE_ZERO	BIT(2)	/* the zero page */
#define HMMRT_STATE_ERROR	BIT(3)	/* no mapping, or none to mirror */
#define HMMRT_STATE_COHERENT	BIT(4)	/* the device it is on is coherent */

/**
 * struct hmmrt_page_state - what the process has of one page
 * @flags: HMMRT_STATE_*
 * @order: of the CPU's entry that maps it
 * @location: id of a device, HMMRT_LOCATION_HOST or HMMRT_LOCATION_NONE
 */
struct hmmrt_page_state {
	u16 flags;
	u16 order;
	u32 location;
};

/**
 * hmmrt_snapshot_range() - what a process has mapped where
 * @binding: of the process
 * @start: first address
 * @end: behind the last one
 * @pages: one for each page
 *
 * Faults nothing in and moves nothing. What is found was there together, within
 * a block; whether it still is, only a fault tells.
 *
 * Context: see Ranges.
 * Return: 0, or see Ranges. No mapping is no error but a state.
 */
int hmmrt_snapshot_range(struct hmmrt_binding *binding, unsigned long start,
			 unsigned long end, struct hmmrt_page_state *pages);

#endif /* _LINUX_HMMRT_DEVICE_H */
