// SPDX-License-Identifier: GPL-2.0-only
/*
 * Turns: which thread may migrate pages of a block. This is block->migrate.
 *
 * Devices    sleep on the mutex. They hold a binding, and with it the block.
 * CPU faults only try the mutex. They find the block in hmmrt_srcu, and a fault
 *            that sleeps in hmmrt_srcu holds up synchronize_srcu() for every
 *            process. If the core calls without the page lock, a fault may wait
 *            for the end of a device's migration: it leaves hmmrt_srcu and
 *            sleeps on the hash of the block, without a reference to the block,
 *            for a bounded time.
 */
#include <linux/hash.h>
#include <linux/log2.h>

#include "space.h"

struct hmmrt_turn {
	wait_queue_head_t wait;
	atomic_t ended;			/* migrations */
	atomic_t waits;			/* CPU faults that wait: 0 or 1 */
};

/* By hash of the block. */
static struct hmmrt_turn turns[64];

/* If a migration takes longer than this, the CPU faults again. */
#define TURN_WAIT	(HZ / 2)

void hmmrt_turns_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(turns); i++)
		init_waitqueue_head(&turns[i].wait);
}

static struct hmmrt_turn *turn_of(const struct hmmrt_block *block)
{
	return &turns[hash_ptr(block, ilog2(ARRAY_SIZE(turns)))];
}

/* For an explicit migration or a device fault. */
int hmmrt_block_migrate_lock(struct hmmrt_block *block)
{
	RCU_LOCKDEP_WARN(srcu_read_lock_held(&hmmrt_srcu),
			 "hmmrt: sleeps on block->migrate in hmmrt_srcu");
	if (mutex_lock_killable(&block->migrate))
		return -EINTR;
	WRITE_ONCE(block->migrate_by_cpu_fault, false);
	return 0;
}

/* Also unlocks what hmmrt_cpu_fault_lock() has locked. */
void hmmrt_block_migrate_unlock(struct hmmrt_block *block)
{
	struct hmmrt_turn *turn = turn_of(block);

	mutex_unlock(&block->migrate);
	if (!HMMRT_MIGRATE_TO_RAM_MAY_WAIT)
		return;
	/* Pairs with turn_wait_begin(). */
	smp_mb__before_atomic();
	atomic_inc(&turn->ended);
	if (wq_has_sleeper(&turn->wait))
		wake_up_all(&turn->wait);
}

/*
 * One CPU fault may wait for the end of a device's migration if the core does
 * not hold the page lock; the migration merely skips the page of that fault. A
 * second fault must not wait, because its page reference would keep the first
 * from migrating.
 */
static bool turn_wait_begin(struct hmmrt_block *block,
			    struct hmmrt_turn_wait *wait)
{
	struct hmmrt_turn *turn = turn_of(block);

	if (!HMMRT_MIGRATE_TO_RAM_MAY_WAIT ||
	    READ_ONCE(block->migrate_by_cpu_fault) ||
	    atomic_cmpxchg(&turn->waits, 0, 1))
		return false;
	wait->turn = turn;
	wait->ended = atomic_read(&turn->ended);
	/* Read this before the next trylock: its holder is counted later. */
	smp_rmb();
	return true;
}

void hmmrt_turn_wait_cancel(struct hmmrt_turn_wait *wait)
{
	VM_WARN_ON_ONCE(wait->turn && atomic_read(&wait->turn->waits) != 1);
	if (wait->turn)
		atomic_set_release(&wait->turn->waits, 0);
	wait->turn = NULL;
}

/**
 * hmmrt_cpu_fault_lock() - take block->migrate for a CPU fault
 * @block: found in this section of hmmrt_srcu
 * @user: the fault is of user mode
 * @wait: out: set if there is something to wait for; zeroed by the caller
 *
 * A CPU fault must not wait for another one: on kernels that call
 * migrate_to_ram() with an extra page reference, the two would keep each other
 * from migrating forever. Nor should it let other threads run while it has that
 * reference. A fault of user mode schedules on its way out, without the
 * reference. A fault of kernel mode may not get there, so it calls
 * cond_resched() here.
 * Return: false: leave hmmrt_srcu, call hmmrt_turn_await(), and fault again.
 */
bool hmmrt_cpu_fault_lock(struct hmmrt_block *block, bool user,
			  struct hmmrt_turn_wait *wait)
{
	bool locked = mutex_trylock(&block->migrate);

	lockdep_assert(srcu_read_lock_held(&hmmrt_srcu));
	if (!locked && turn_wait_begin(block, wait)) {
		/* The migration may have ended before the wait began. */
		locked = mutex_trylock(&block->migrate);
		if (locked)
			hmmrt_turn_wait_cancel(wait);
	} else if (!locked && !user) {
		cond_resched();
	}
	if (locked)
		WRITE_ONCE(block->migrate_by_cpu_fault, true);
	return locked;
}

/* Not in hmmrt_srcu. Returns true if another attempt is useful at once. */
bool hmmrt_turn_await(struct hmmrt_turn_wait *wait)
{
	struct hmmrt_turn *turn = wait->turn;
	long left;

	if (!turn)
		return false;
	RCU_LOCKDEP_WARN(srcu_read_lock_held(&hmmrt_srcu),
			 "hmmrt: a CPU fault sleeps in hmmrt_srcu");
	left = wait_event_killable_timeout(turn->wait,
					   atomic_read(&turn->ended) !=
						   wait->ended,
					   TURN_WAIT);
	hmmrt_turn_wait_cancel(wait);
	wait->again = true;
	return left > 0;
}
