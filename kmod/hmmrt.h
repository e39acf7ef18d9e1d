/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hmmrt: the memory manager, private to hmmrt.ko.
 *
 * Objects    space    one mirrored process address space, one per mm
 *            span     an aligned 64 MiB window of a space, with one
 *                     mmu_interval_notifier
 *            block    2 MiB of a span: which device maps which page, and two
 *                     locks
 *            binding  one device on one space
 *            device   a registered device and its memory (vram)
 *            region   a part of vram that has struct pages
 *            chunk    2 MiB of vram
 *            account  the device memory charged to a process or a cgroup
 *            object   a memory object: memory of a process apart from addresses
 *            extent   2 MiB of an object
 * Ownership  A space owns spans, and a span owns blocks. They are freed with
 *            the space, or earlier when nothing is mapped there any more
 *            (space_reap.c). A device owns regions, and a region owns chunks. A
 *            binding holds a reference to its space and to its device. Open
 *            /dev/hmmrt files and bindings hold a space, which survives the
 *            exit of its mm.
 *            The page tables that map a device page own it; a block or a space
 *            never does. fork() and mremap() move pages without telling hmmrt,
 *            so block bitmaps describe mappings only, and zone_device_data
 *            points nowhere. Accounts belong to the device: an account outlives
 *            its process as long as a page is charged to it. An object belongs
 *            to its file. It owns extents, and an extent owns its chunk or its
 *            pages: page tables refer to them without a reference.
 *
 * Layers, from the bottom up. The prefix of a file's name says its layer:
 *
 *   policy_  decides, on plain data; also built and tested in user space
 *   event_   events: rings, and what an event is a part of
 *   mem_     device memory: struct pages, chunks, and charged accounts
 *   space_   a mirrored address space: spans, blocks, what devices have mapped,
 *            and all that notifiers call
 *   decide_  asks policy about a fault or a block; moves nothing
 *   move_    moves pages
 *   serve_   serves devices: faults, ranges, and work ahead of faults
 *   api_     what processes and drivers call; main.c has the ioctls
 *
 * A file uses files of its own layer and of layers below, and includes the
 * header of its layer (event.h, mem.h, space.h, decide.h, move.h, serve.h,
 * api.h). Code that has to call up gets a pointer from its maker, as a work
 * function or vram->pagemap_ops.
 *
 * Lock order, from the outermost lock to the innermost:
 *
 *   rings_lock         mutex; rings of events, and which spaces they observe.
 *                      No other of these locks is taken under it
 *   devices_lock       mutex; registration of devices
 *   vram->grow         mutex; creation of regions, with no other lock of these
 *                      held; the core takes hotplug locks under it
 *   vram->evicting     mutex; evictions of all memory of a device. Held while
 *                      the pages are copied
 *   areas_mutex        mutex; struct pages of lost pages, see mem_lost.c. The
 *                      core takes hotplug locks under it
 *   dev->age           mutex; only taken with trylock. Held while drivers are
 *                      asked which pages were accessed
 *   space->peering     mutex; which devices are peers, and removal of the
 *                      entries that a device has as a peer
 *   space->exclusive   mutex; around hmmrt_exclusive_range(), which looks up
 *                      blocks
 *   space->spans_lock  mutex; creation and removal of spans and blocks
 *   hmmrt_roles_lock   mutex; which mm is mirrored, which mm is an agent
 *   mmap_lock          of the mirrored process; never together with an agent's.
 *                      An eviction only tries the lock of a process, which may
 *                      be another one, and holds it while it copies
 *   block->migrate     mutex; around migrate_vma_setup() .. finalize().
 *                      Reclaim is allowed under it. Notifiers never take it. It
 *                      is not held where the core may fault pages in for hmmrt;
 *                      taking a snapshot is fine. serve_exclusive.c is the
 *                      exception: it makes sure that no page is on a device and
 *                      that no fault waits for a program. migrate_to_ram() only
 *                      tries the lock, see space_turn.c.
 *   extent->lock       mutex; where an extent of a memory object is, and all
 *                      page table entries for it: see mem_object.c. Held while
 *                      it is copied, and while unmap_mapping_range() makes the
 *                      core call the notifiers of all processes that map it.
 *                      Reclaim is allowed under it; neither reclaim nor a
 *                      notifier takes it. Its holder evicts nothing, and holds
 *                      no second one
 *   vram->populate     mutex; the driver's populate() only
 *   [reclaim, folio locks, i_mmap_rwsem, anon_vma lock: the core's]
 *   space->advice_lock rw_semaphore; advice. A call holds it while it walks all
 *                      ranges that it concerns (up to advice_ranges_max), even
 *                      if the process gets little CPU time. The notifier takes
 *                      it for munmap() and mremap() only, and never together
 *                      with a block's lock, so reclaim does not wait for it,
 *                      in whichever process it runs. No memory is allocated
 *                      under it
 *   block->lock        mutex; bitmaps, and the driver's entries of this block.
 *                      Taken by the notifier. So its holder allocates nothing,
 *                      waits for no other thread, looks up no advice, does not
 *                      migrate and does not call hmm_range_fault().
 *   space->works_lock  spinlock; the blocks that works of the space will visit:
 *                      with entries to be mapped again, or with a thrash pin;
 *                      and whether these works may still be queued
 *   evictors_lock      spinlock; which threads evict
 *   faults->lock       spinlock; pending faults of a binding, and the number of
 *                      fault workers. No function is called under it
 *   fault_ins_lock     spinlock; pages that are faulted in for drivers
 *   fault_in->lock     spinlock; a driver's done() is called under it and takes
 *                      the driver's own locks
 *   driver's page table lock
 *   page table locks   of the core
 *   vram->lock         spinlock: pages are freed under a page table lock
 *   areas_lock         spinlock: the same for lost pages
 *   bucket->lock       spinlock; episodes of threads, see event.c. Nothing else
 *                      is taken under it
 *   ring->lock         spinlock, innermost; the events of a ring
 *
 * hmmrt_srcu protects lookups (mm to space, space to binding, space to span,
 * span to block) in notifiers, which can take no reference, and elsewhere until
 * a reference has been taken. It also protects device pages found by a
 * snapshot while they are looked at. All processes wait for its sections when a
 * file is closed, so code in such a section allocates nothing, copies nothing,
 * and waits for no lock but block->lock and those below it: hmmrt_may_wait()
 * says where waits may be long. For the same reason hmmrt_roles_lock is held for
 * a short time only.
 *
 * A CPU fault and an eviction hold a reference to the space while they move
 * pages, and drop it with hmmrt_space_put_later(), because they cannot wait for
 * what the end of a space waits for.
 *
 * hmmrt_unbind() waits for references to the binding. So a caller that holds a
 * reference waits neither for a program nor for the mmap_lock, because the
 * holder of the mmap_lock may wait for a program: see hmmrt_binding_let_go().
 *
 * hmmrt_lockdep_teach() teaches lockdep the order around reclaim when the
 * module is loaded, so that lockdep reports the first call that breaks it.
 *
 * A user of a block holds a reference to it (hmmrt_block_find(), _get(),
 * _next()). The lists of blocks to remap and of thrash pins hold one reference
 * for each block on them. Notifiers hold none: they use blocks inside
 * hmmrt_srcu and under block->lock. Entries are written only with a reference.
 * So a block can be freed if nothing of it is mapped and only its span refers
 * to it: its last reference is dropped under space->spans_lock, after which
 * none can be taken, and it is freed after a grace period of hmmrt_srcu. A span
 * stays while it has blocks.
 */
#ifndef _HMMRT_H
#define _HMMRT_H

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hmmrt_device.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>

#include "compat/compat.h"
#include "compat/migrate.h"

#define HMMRT_BLOCK_SHIFT	HMMRT_CHUNK_SHIFT
#define HMMRT_BLOCK_SIZE	HMMRT_CHUNK_SIZE
#define HMMRT_BLOCK_PAGES	HMMRT_CHUNK_PAGES
#define HMMRT_SPAN_SHIFT	26
#define HMMRT_SPAN_SIZE		BIT(HMMRT_SPAN_SHIFT)
#define HMMRT_SPAN_BLOCKS	(HMMRT_SPAN_SIZE / HMMRT_BLOCK_SIZE)
#define HMMRT_REGION_SIZE	(256UL << 20)
#define HMMRT_REGION_PAGES	(HMMRT_REGION_SIZE >> PAGE_SHIFT)

/* All access rights that a device can ask for. */
#define HMMRT_ACCESS_ALL \
	(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE | HMMRT_ACCESS_EXEC)

extern struct srcu_struct hmmrt_srcu;
extern struct mutex hmmrt_roles_lock;
/*
 * For all works. The end of the module waits for them. They move pages, call
 * drivers and write to memory of processes, so they are frozen while the
 * machine sleeps and while an image of it is written.
 */
extern struct workqueue_struct *hmmrt_wq;

/*
 * Call before a wait that lasts as long as a driver, reclaim, the holder of a
 * lock or an invalidation likes. Every process waits for hmmrt_srcu.
 */
static inline void hmmrt_may_wait(void)
{
	might_sleep();
	RCU_LOCKDEP_WARN(srcu_read_lock_held(&hmmrt_srcu),
			 "hmmrt: may wait long in hmmrt_srcu");
}

/*
 * Return whether a pending signal must end a call. Task work that is no signal,
 * as io_uring queues it, does not count: it waits until the call returns.
 */
static inline bool hmmrt_interrupted(void)
{
	return task_sigpending(current);
}

/*
 * Memory that a process has the kernel allocate and that cannot be swapped: as
 * of mlock(). It is on no LRU list and in no RSS, so nothing else shows it:
 * NR_MLOCK is for pages that are on one. As io_uring and RDMA do, it counts for
 * the user's RLIMIT_MEMLOCK, and shows as VmPin of the process. What is counted
 * belongs to a file, which may go anywhere: the user and the mm are kept.
 */
struct hmmrt_locked {
	struct user_struct *user;	/* NULL: CAP_IPC_LOCK, no limit */
	struct mm_struct *mm;		/* NULL: nothing is counted */
	unsigned long npages;
};

static inline bool hmmrt_user_lock(struct user_struct *user,
				   unsigned long npages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long before = atomic_long_read(&user->locked_vm);

	do {
		if (npages > limit || before > limit - npages)
			return false;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &before,
					  before + npages));
	return true;
}

/*
 * Count pages that the calling process gets; *locked is all zeroes. Returns 0,
 * or -EPERM: it may not have as many.
 */
static inline int hmmrt_lock_pages(struct hmmrt_locked *locked,
				   unsigned long npages)
{
	if (!capable(CAP_IPC_LOCK)) {
		if (!hmmrt_user_lock(current_user(), npages))
			return -EPERM;
		locked->user = get_uid(current_user());
	}
	locked->npages = npages;
	locked->mm = current->mm;
	mmgrab(locked->mm);
	atomic64_add(npages, &locked->mm->pinned_vm);
	return 0;
}

/* The pages are free. Context: any process, may sleep. */
static inline void hmmrt_unlock_pages(struct hmmrt_locked *locked)
{
	if (!locked->mm)
		return;
	atomic64_sub(locked->npages, &locked->mm->pinned_vm);
	mmdrop(locked->mm);
	if (locked->user) {
		atomic_long_sub(locked->npages, &locked->user->locked_vm);
		free_uid(locked->user);
	}
	*locked = (struct hmmrt_locked){};
}

#endif /* _HMMRT_H */
