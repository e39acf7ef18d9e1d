// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns: which thread may migrate pages of a block. This is block->migrate.
 *
 * Devices    sleep on the mutex. They hold a binding, and with it the block.
 * CPU faults only try the mutex. If it is taken, they wait for the end of the
 *            turn, killably and for a bounded time, with references to the space
 *            and the block. The migration that has the turn skips their pages,
 *            which have a second reference or are locked, so they migrate them
 *            afterwards.
 * Letting go If the core does not hold the page lock, and another CPU fault has
 *            the turn, we can do better: the fault waits only until the core has
 *            replaced the entries of that fault's window. If its page is in the
 *            window, it returns: it has then let go of the page, and when it is
 *            repeated it sleeps in the core until the window has moved. The
 *            fault that has the turn waits at that point, in
 *            invalidate_range_end(), until all others have let go. If the core
 *            holds the page lock, it has skipped the page long before.
 */
#include <linux/delay.h>
#include <linux/migrate.h>
#include <linux/sched/signal.h>

#include "space.h"

/* If a turn takes longer than this, the CPU faults again. */
#define TURN_WAIT	(HZ / 2)
/* How long a CPU fault waits for others to let go of its pages. */
#define LET_GO_WAIT	(HZ / 10)
/* How often one CPU fault waits. */
#define TURN_WAITS	4

void hmmrt_turn_init(struct hmmrt_turn *turn)
{
	init_waitqueue_head(&turn->wait);
}

/* For an explicit migration or a device fault. */
int hmmrt_block_migrate_lock(struct hmmrt_block *block)
{
	hmmrt_may_wait();
	return mutex_lock_killable(&block->migrate) ? -EINTR : 0;
}

/* Let CPU faults that wait for the turn go on. */
static void turn_pass(struct hmmrt_turn *turn)
{
	/* Pairs with turn_wait(). */
	smp_mb__before_atomic();
	atomic_inc(&turn->passed);
	if (wq_has_sleeper(&turn->wait))
		wake_up_all(&turn->wait);
}

/*
 * Also unlocks what hmmrt_cpu_fault_lock() has locked. The caller has a
 * reference to the block.
 */
void hmmrt_block_migrate_unlock(struct hmmrt_block *block)
{
	lockdep_assert_held(&block->migrate);
	WRITE_ONCE(block->turn.task, NULL);
	WRITE_ONCE(block->turn.unmapped_end, 0);
	mutex_unlock(&block->migrate);
	turn_pass(&block->turn);
}

/*
 * Returns true if the turn is a CPU fault's, and the core has replaced the entry
 * of this address.
 */
static bool is_unmapped(const struct hmmrt_turn *turn, unsigned long addr)
{
	/* Pairs with hmmrt_turn_unmapped(). */
	unsigned long end = smp_load_acquire(&turn->unmapped_end);

	return addr < end && addr >= READ_ONCE(turn->unmapped_start);
}

/* Returns true if it makes sense to try the mutex again. */
static bool turn_wait(struct hmmrt_turn *turn, unsigned long addr, int passed)
{
	hmmrt_may_wait();
	/* If this is false, what makes it true is counted after @passed. */
	if (is_unmapped(turn, addr))
		return false;
	return wait_event_killable_timeout(turn->wait,
					   atomic_read(&turn->passed) != passed,
					   TURN_WAIT) > 0;
}

/*
 * With the lock of a large folio we would keep all of it from migrating, and the
 * core may sleep on that lock, to split the folio: the fault is repeated.
 */
static bool may_wait(const struct migrate_vma *window)
{
	return !HMMRT_CPU_FAULT_LOCKS_PAGE ||
	       !folio_test_large(page_folio(window->fault_page));
}

static void count_fault(struct hmmrt_block *block, bool *counted)
{
	if (!*counted)
		atomic64_inc(&block->span->space->cpu_faults);
	*counted = true;
}

/**
 * hmmrt_cpu_fault_lock() - take block->migrate for a CPU fault
 * @block: the caller has a reference
 * @window: that the caller is going to migrate; stays valid until it unlocks
 * @addr: the touched page
 * @user: the fault is of user mode
 * @counted: in: false; out: whether the fault was counted. One that only waited
 *	for another CPU fault is not, like one that the core lets wait
 *
 * A fault of user mode schedules on its way out, without the reference to the
 * page. A fault of kernel mode may not get there, so it calls cond_resched()
 * here.
 * Return: false: return to the core, and fault again.
 */
bool hmmrt_cpu_fault_lock(struct hmmrt_block *block,
			  const struct migrate_vma *window, unsigned long addr,
			  bool user, bool *counted)
{
	unsigned int try;

	for (try = 0; try <= TURN_WAITS; try++) {
		int passed = atomic_read(&block->turn.passed);

		/* A holder that this finds is counted later. */
		smp_rmb();
		if (mutex_trylock(&block->migrate)) {
			block->turn.window = window;
			WRITE_ONCE(block->turn.task, current);
			count_fault(block, counted);
			return true;
		}
		if (!READ_ONCE(block->turn.task))
			count_fault(block, counted);
		if (!may_wait(window) ||
		    !turn_wait(&block->turn, addr, passed))
			break;
	}
	if (!user)
		cond_resched();
	return false;
}

/* Returns true if another thread has a page of the window. */
static bool is_held(const struct migrate_vma *window)
{
	unsigned long i;

	for (i = 0; i < window->npages; i++) {
		struct page *page = migrate_pfn_to_page(window->src[i]);
		struct folio *folio;
		int known;

		if (!page)
			continue;
		folio = page_folio(page);
		/* One reference is migrate_vma_setup()'s. */
		known = atomic_read(&folio->_mapcount) + 1 + 1;
		if (page == window->fault_page)
			known++;
		if (folio_ref_count(folio) > known)
			return true;
	}
	return false;
}

/**
 * hmmrt_turn_unmapped() - the entries of a window have been replaced
 * @space: of the window
 * @addr: its first address
 *
 * If the window is that of a CPU fault of this thread, no thread can take another
 * reference to its pages. Wait for the threads that have one.
 * Context: in migrate_vma_setup(), which takes its own references before.
 */
void hmmrt_turn_unmapped(struct hmmrt_space *space, unsigned long addr)
{
	struct hmmrt_block *block = hmmrt_block_find(space, addr);
	unsigned long end = jiffies + LET_GO_WAIT;
	struct hmmrt_turn *turn;

	if (!block)
		return;
	turn = &block->turn;
	if (READ_ONCE(turn->task) == current) {
		lockdep_assert_held(&block->migrate);
		WRITE_ONCE(turn->unmapped_start, turn->window->start);
		/* Pairs with is_unmapped(). */
		smp_store_release(&turn->unmapped_end, turn->window->end);
		turn_pass(turn);
		while (is_held(turn->window) && time_before(jiffies, end) &&
		       !fatal_signal_pending(current))
			usleep_range(20, 200);
	}
	hmmrt_block_put(block);
}
