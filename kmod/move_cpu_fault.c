// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU faults: the CPU touched a page on a device, and the page migrates back.
 * Coherent memory never faults.
 *
 * Window     The block chooses how many pages migrate along with the touched
 *            one. Without a block only the touched page migrates.
 * Locking    The fault only tries block->migrate, see space_turn.c. Without a
 *            block it tries to take the page in orphans[] instead.
 * Memory     Only the touched page must get memory; the others of the window
 *            stay if there is none.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "move_out.h"

/*
 * Pages that migrate without a block, so without block->migrate: the thread
 * that puts a page into its slot owns it. Only ever tried.
 */
static struct page *orphans[64];

static struct page **orphan_slot(struct page *page)
{
	return &orphans[hash_ptr(page, ilog2(ARRAY_SIZE(orphans)))];
}

static bool orphan_trylock(struct page *page)
{
	return !cmpxchg_acquire(orphan_slot(page), NULL, page);
}

static void orphan_unlock(struct page *page)
{
	VM_WARN_ON_ONCE(READ_ONCE(*orphan_slot(page)) != page);
	/* Pairs with cmpxchg_acquire() of the next owner. */
	smp_store_release(orphan_slot(page), NULL);
}

/*
 * Returns true if the touched page is part of a large folio that is no longer
 * mapped as one. The core splits the folio first, and the access is repeated.
 * Then only the touched page migrates. With a larger window the core would
 * continue with the page that was locked before the split, which need not be
 * the page that is locked after it. It would also wait for the locks of other
 * large folios.
 */
static bool cpu_fault_splits(const struct vm_fault *vmf)
{
	return HMMRT_HAS_DEVICE_THP && vmf->pte &&
	       folio_test_large(page_folio(vmf->page));
}

/* The advice and the knobs that apply to the touched page. */
struct cpu_fault_rules {
	int node;			/* to migrate to, or NUMA_NO_NODE */
	struct hmmrt_knobs knobs;	/* only with a block */
	/* The run of faults, if the touched page moves; only with a block. */
	struct hmmrt_policy_run run;
};

/* The touched page is on a device, so it has no duplicate; others may have. */
static void spare_duplicates(struct vm_fault *vmf, struct hmmrt_block *block,
			     struct migrate_vma *args)
{
	struct hmmrt_policy_window win = {
		.first = hmmrt_index_in_block(block, args->start),
		.count = (args->end - args->start) >> PAGE_SHIFT,
	};
	DECLARE_BITMAP(duplicated, HMMRT_BLOCK_PAGES);

	hmmrt_duplicates_mark(block, win.first, win.count, duplicated);
	win = hmmrt_policy_without_duplicates(duplicated, win,
					      hmmrt_index_in_block(block,
								   vmf->address));
	args->start = block->start + ((unsigned long)win.first << PAGE_SHIFT);
	args->end = args->start + ((unsigned long)win.count << PAGE_SHIFT);
}

/*
 * Look up the rules, and choose the window that migrates with the touched page.
 * It ends where the mapping and the advice end, and at pages with duplicates.
 */
static void cpu_fault_window(struct vm_fault *vmf, struct hmmrt_block *block,
			     struct migrate_vma *args,
			     struct cpu_fault_rules *rules)
{
	unsigned long start = block->start;
	unsigned long end = start + HMMRT_BLOCK_SIZE;
	struct hmmrt_space *space = block->span->space;
	struct hmmrt_policy_window win;
	struct hmmrt_block *before;
	struct hmmrt_advice advice;

	lockdep_assert_held(&block->migrate);
	rules->run = block->cpu_run;
	advice = hmmrt_advice_at(space, vmf->address, &start, &end);
	rules->knobs = hmmrt_knobs_at(space, hmmrt_page_device(vmf->page),
				      &advice);
	if (cpu_fault_splits(vmf))
		return;
	rules->node = hmmrt_advised_node(&advice);
	/* A huge page migrates whole, whichever parts of it have advice. */
	if (args->flags & HMMRT_SELECT_COMPOUND)
		return;
	before = hmmrt_block_find(space, block->start - HMMRT_BLOCK_SIZE);
	win = hmmrt_policy_host_window(&rules->run,
				       before ? &before->cpu_run : NULL,
				       hmmrt_index_in_block(block, args->start),
				       &advice, &rules->knobs);
	hmmrt_block_put(before);
	args->start = max3(block->start + ((unsigned long)win.first
					   << PAGE_SHIFT),
			   vmf->vma->vm_start, start);
	args->end = min3(block->start + ((unsigned long)(win.first + win.count)
					 << PAGE_SHIFT),
			 vmf->vma->vm_end, end);
	if (hmmrt_policy_may_duplicate(&advice, &rules->knobs))
		spare_duplicates(vmf, block, args);
}

/*
 * Allocate memory for a window that the CPU touched. Returns false if there is
 * none for the touched page.
 *
 * If the block is one page and no huge page can be allocated, a single page is
 * enough: the core cannot split a folio that the fault has a reference to, but
 * in trying it turns the huge entry into single ones, and the access is
 * repeated.
 */
static bool cpu_fault_alloc(struct hmmrt_space *space, struct vm_fault *vmf,
			    const struct migrate_vma *args,
			    struct hmmrt_host_pages *to)
{
	unsigned int n = (args->end - args->start) >> PAGE_SHIFT;
	unsigned int must = (vmf->address - args->start) >> PAGE_SHIFT;

	if (args->flags & HMMRT_SELECT_COMPOUND) {
		if (hmmrt_host_alloc_huge(space, vmf->vma, args->start, to))
			return true;
		n = 1;
		must = 0;
	}
	hmmrt_host_alloc(vmf->vma, args->start, to, n, must);
	return to->page[must];
}

/* A fault of the thread that makes memory exclusive has a separate cause. */
static enum hmmrt_cause cpu_fault_cause(const struct hmmrt_space *space)
{
	return space && READ_ONCE(space->exclusive_task) == current ?
		       HMMRT_CAUSE_EXCLUSIVE :
		       HMMRT_CAUSE_CPU_FAULT;
}

/* Count pages that moved back because the CPU touched them, and tell policy. */
static void cpu_fault_moved(const struct vm_fault *vmf,
			    const struct migrate_vma *args,
			    struct hmmrt_space *space,
			    const struct hmmrt_move_out *out,
			    const struct cpu_fault_rules *rules, u64 began)
{
	struct hmmrt_block *block = out->block;

	if (space)
		atomic64_add(out->moved, &space->migrated_to_host);
	if (block && out->moved && out->cause == HMMRT_CAUSE_CPU_FAULT)
		hmmrt_thrashing_moved_back(block,
					   hmmrt_page_device(vmf->page),
					   &rules->knobs, args->start,
					   args->end, began);
}

/*
 * Arrays for the window of a CPU fault. The touched page has its own: the access
 * must not fail, or be repeated, because there is no memory for anything but
 * this page.
 */
struct cpu_fault_arrays {
	unsigned long src, dst;
	struct page *page;
	unsigned long *many;
};

/*
 * Sets *reduced if it has reduced the window to the touched page. The core does
 * not split a huge page for a part of it while this fault holds the page, so
 * that window stays, and its arrays are charged to no cgroup at its limit.
 * Returns false if there is no memory.
 */
static bool cpu_fault_arrays_alloc(struct cpu_fault_arrays *arrays,
				   const struct vm_fault *vmf,
				   struct migrate_vma *args,
				   struct hmmrt_host_pages *to, bool *reduced)
{
	const size_t one = sizeof(args->src[0]) + sizeof(args->dst[0]) +
			   sizeof(to->page[0]);
	unsigned long n = (args->end - args->start) >> PAGE_SHIFT;
	bool huge = args->flags & HMMRT_SELECT_COMPOUND;

	arrays->many = NULL;
	*reduced = false;
	if (huge)
		arrays->many = kvmalloc_array(n, one, GFP_KERNEL);
	else if (n > 1)
		arrays->many = kmalloc_array(n, one, GFP_KERNEL_ACCOUNT |
						     __GFP_NORETRY |
						     __GFP_NOWARN);
	if (arrays->many) {
		args->src = arrays->many;
		args->dst = args->src + n;
		to->page = (struct page **)(args->dst + n);
		return true;
	}
	args->start = vmf->address & PAGE_MASK;
	args->end = args->start + PAGE_SIZE;
	args->src = &arrays->src;
	args->dst = &arrays->dst;
	to->page = &arrays->page;
	*reduced = n > 1;
	return !huge;
}

static vm_fault_t cpu_fault_migrate(struct vm_fault *vmf,
				    struct migrate_vma *args,
				    struct hmmrt_space *space,
				    struct hmmrt_block *block,
				    const struct cpu_fault_rules *rules,
				    unsigned long *moved)
{
	struct hmmrt_move_out out = {
		.block = block,
		.cause = cpu_fault_cause(space),
		.run = block ? &rules->run : NULL,
	};
	struct hmmrt_host_pages to = { .node = rules->node };
	u64 began = hmmrt_now_us();
	struct cpu_fault_arrays arrays;
	struct hmmrt_episode episode;
	vm_fault_t ret = 0;

	hmmrt_may_wait();
	VM_WARN_ON_ONCE(vmf->address < args->start ||
			vmf->address >= args->end);
	if (block)
		hmmrt_window_check(block, args->start, args->end);
	if (!cpu_fault_arrays_alloc(&arrays, vmf, args, &to, &out.reduced))
		return VM_FAULT_OOM;
	out.must = (vmf->address - args->start) >> PAGE_SHIFT;
	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	if (block)
		hmmrt_history_prepare(block);
	hmmrt_episode_phase(HMMRT_PHASE_ALLOCATE);
	if (!cpu_fault_alloc(space, vmf, args, &to)) {
		ret = VM_FAULT_OOM;
		goto out_free;
	}
	hmmrt_episode_phase(HMMRT_PHASE_UNMAP);
	if (migrate_vma_setup(args)) {
		ret = VM_FAULT_SIGBUS;
		goto out_free;
	}
	if (!args->cpages)
		goto out_free;
	hmmrt_migrate_out(args, &to, &out);
	*moved += out.moved;
	hmmrt_moved_out(space ? &space->events : NULL, &episode, args, &out);
	cpu_fault_moved(vmf, args, space, &out, rules, began);
	/*
	 * The device cannot give the page back, so another fault would not
	 * help.
	 */
	if (out.must_unreadable)
		ret = VM_FAULT_SIGBUS;
out_free:
	hmmrt_episode_cancel(&episode);
	hmmrt_host_free(&to);
	kvfree(arrays.many);
	return ret;
}

static vm_fault_t cpu_fault_in_block(struct vm_fault *vmf,
				     struct migrate_vma *args,
				     struct hmmrt_block *block,
				     struct cpu_fault_rules *rules,
				     unsigned long *moved, bool *counted)
{
	vm_fault_t ret;

	if (!hmmrt_cpu_fault_lock(block, args, vmf->address,
				  vmf->flags & FAULT_FLAG_USER, counted))
		return 0;
	cpu_fault_window(vmf, block, args, rules);
	ret = cpu_fault_migrate(vmf, args, block->span->space, block, rules,
				moved);
	hmmrt_block_migrate_unlock(block);
	return ret;
}

/* Without a block only the touched page migrates. @space may be NULL. */
static vm_fault_t cpu_fault_alone(struct vm_fault *vmf,
				  struct migrate_vma *args,
				  struct hmmrt_space *space,
				  const struct cpu_fault_rules *rules,
				  unsigned long *moved, bool *counted)
{
	vm_fault_t ret = 0;

	if (space)
		atomic64_inc(&space->cpu_faults);
	*counted = true;
	if (orphan_trylock(vmf->page)) {
		ret = cpu_fault_migrate(vmf, args, space, NULL, rules, moved);
		orphan_unlock(vmf->page);
	} else if (!(vmf->flags & FAULT_FLAG_USER)) {
		/* As in hmmrt_cpu_fault_lock(). */
		cond_resched();
	}
	return ret;
}

static vm_fault_t cpu_fault(struct vm_fault *vmf, struct hmmrt_space *space,
			    unsigned long *moved, bool *counted)
{
	struct migrate_vma args = {
		.vma = vmf->vma,
		.start = vmf->address & PAGE_MASK,
		.end = (vmf->address & PAGE_MASK) + PAGE_SIZE,
		.pgmap_owner = hmmrt_pgmap_owner(),
		.flags = MIGRATE_VMA_SELECT_DEVICE_PRIVATE,
		.fault_page = vmf->page,
	};
	struct cpu_fault_rules rules = { .node = NUMA_NO_NODE };
	struct hmmrt_block *block;
	vm_fault_t ret;

	/*
	 * A fault with a PTE is for a single page, even within a large folio.
	 */
	if (HMMRT_HAS_DEVICE_THP && !vmf->pte) {
		args.start = ALIGN_DOWN(vmf->address, HMMRT_BLOCK_SIZE);
		args.end = args.start + HMMRT_BLOCK_SIZE;
		args.flags |= HMMRT_SELECT_COMPOUND;
	}
	block = space ? hmmrt_block_find(space, vmf->address) : NULL;
	ret = block ? cpu_fault_in_block(vmf, &args, block, &rules, moved,
					 counted) :
		      cpu_fault_alone(vmf, &args, space, &rules, moved, counted);
	hmmrt_block_put(block);
	return ret;
}

/*
 * The instruction of the process, in a system call the one after it. 0 if the
 * kernel or another process touched the page.
 */
static unsigned long cpu_fault_ip(const struct vm_fault *vmf)
{
	if (current->flags & PF_KTHREAD || current->mm != vmf->vma->vm_mm)
		return 0;
	return instruction_pointer(task_pt_regs(current));
}

static void cpu_fault_event(struct vm_fault *vmf, struct hmmrt_episode *episode,
			    const struct hmmrt_space *space,
			    unsigned long moved, vm_fault_t ret)
{
	hmmrt_episode_end(episode, space ? &space->events : NULL,
			  .type = HMMRT_EVENT_CPU_FAULT, .addr = vmf->address,
			  .pages = moved, .ip = cpu_fault_ip(vmf),
			  .access = vmf->flags & FAULT_FLAG_WRITE ?
					    HMMRT_ACCESS_WRITE :
					    HMMRT_ACCESS_READ,
			  .from = hmmrt_page_device(vmf->page)->id,
			  .to = HMMRT_LOCATION_HOST,
			  .error = !(ret & VM_FAULT_ERROR) ? 0 :
				   ret & VM_FAULT_OOM	   ? -ENOMEM :
							     -EIO);
}

/*
 * The CPU touched a page on a device. The block provides the lock, and decides
 * how many pages migrate along. Without a block (in a fork child, in a process
 * that closed its files, in a mapping that was moved) only the touched page
 * migrates.
 *
 * The core holds the page, and with it the device. The fault holds the space and
 * the block, and is in no section of hmmrt_srcu while it moves pages: a copy
 * takes as long as the device likes.
 *
 * Return: 0 also when nothing moved: the CPU faults again.
 */
vm_fault_t hmmrt_migrate_to_ram(struct vm_fault *vmf)
{
	struct hmmrt_episode episode;
	struct hmmrt_space *space;
	unsigned long moved = 0;
	bool counted = false;
	vm_fault_t ret;

	hmmrt_episode_begin(&episode, HMMRT_PHASE_DECIDE);
	space = hmmrt_space_hold(vmf->vma->vm_mm);
	ret = cpu_fault(vmf, space, &moved, &counted);
	if (episode.recorded && counted)
		cpu_fault_event(vmf, &episode, space, moved, ret);
	else
		hmmrt_episode_cancel(&episode);
	hmmrt_space_put_later(space);
	return ret;
}
