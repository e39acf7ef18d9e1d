// SPDX-License-Identifier: MIT
/*
 * Batches of device faults: lanes wait while another lane serves a batch, and
 * must get the right result however that ends. There is one fault worker.
 * userfaultfd holds up the worker's own fault, so that all other faults wait.
 * The statistics show when they wait.
 */
#include "lib/fixture.h"
#include "lib/loop.h"
#include "lib/uffd.h"

#define LANES		AGENT_MAX_LANES
#define OTHERS		(LANES - 1)
#define LIMIT_S		120
#define BLOCKS		16UL
/* Blocks with one page each that can be held up. */
#define HOLD_FIRST	0
#define HOLD_SECOND	1
/* The other lanes use the blocks from here on. */
#define FREE_BLOCK	2

static int uffd = -1;

FIXTURE(batch) {
};

FIXTURE_SETUP(batch)
{
	DEVICES_SETUP(.lanes = LANES);
	buf = ANON(BLOCKS * BLOCK_BYTES);
	uffd = uffd_open();
	if (uffd < 0) {
		session_end(&session);
		SKIP(_exit(SKIPPED), "userfaultfd: %s", strerror(-uffd));
	}
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WORKERS, 1));
	/* Lanes must wait until the test lets them continue. */
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC,
			      1000 * LIMIT_S));
}

FIXTURE_TEARDOWN(batch)
{
	if (uffd >= 0)
		close(uffd);
	DEVICES_TEARDOWN();
}

/* --- holding a fault up --------------------------------------------------- */

static char *block_at(unsigned int block)
{
	return buf + block * BLOCK_BYTES;
}

static int protect(unsigned int block, bool on)
{
	return uffd_protect(uffd, block_at(block), PAGE_BYTES, on);
}

/* Prepares a block so that a device write to its first page is held up. */
static bool hold_prepare(unsigned int block)
{
	char *page = block_at(block);

	*(volatile uint64_t *)page = 1;
	if (prefetch(A, page, PAGE_BYTES) ||
	    uffd_watch(uffd, page, PAGE_BYTES, UFFDIO_REGISTER_MODE_WP))
		return false;
	return !protect(block, true);
}

/* Returns true once the write to the page of this block is held up. */
static bool hold_wait(unsigned int block)
{
	struct uffd_msg message = uffd_next(uffd, LIMIT_S);

	return message.event == UFFD_EVENT_PAGEFAULT &&
	       message.arg.pagefault.address == (uintptr_t)block_at(block);
}

static void post_write(unsigned int lane, const char *addr, uint64_t value)
{
	DEV_POST(A, lane, AGENT_WRITE, (uintptr_t)addr, value);
}

static void post_read(unsigned int lane, const char *addr)
{
	DEV_POST(A, lane, AGENT_READ, (uintptr_t)addr);
}

/* Each other lane reads a block of its own. */
static void post_reads(void)
{
	for (unsigned int lane = 1; lane < LANES; lane++)
		post_read(lane, block_at(FREE_BLOCK + lane));
}

static struct outcome wait_for(unsigned int lane)
{
	return dev_wait(A, lane, LIMIT_S);
}

/* Makes lane 0 the fault worker, and holds it up. */
static bool hold_start(void)
{
	if (!hold_prepare(HOLD_FIRST))
		return false;
	post_write(0, block_at(HOLD_FIRST), 2);
	return hold_wait(HOLD_FIRST);
}

static bool wait_until(uint64_t faults, uint64_t pending)
{
	time_t end = time(NULL) + LIMIT_S;
	struct hmmrt_stats stats;

	do {
		stats = stats_of(A);
		if (stats.out_device_faults >= faults &&
		    stats.out_pending_faults == pending)
			return true;
		usleep(1000);
	} while (time(NULL) < end);
	fprintf(stderr, "# %llu faults, %llu pending\n",
		(unsigned long long)stats.out_device_faults,
		(unsigned long long)stats.out_pending_faults);
	return false;
}

static bool wait_pending(unsigned int pending)
{
	return wait_until(0, pending);
}

/* Lets lane 0 continue once the faults of all other lanes wait. */
static void hold_end(struct __test_metadata *_metadata)
{
	ASSERT_TRUE(wait_pending(OTHERS));
	ASSERT_EQ(0, protect(HOLD_FIRST, false));
	ASSERT_DONE(wait_for(0));
}

/* All other lanes read one page while lane 0 is held up. */
static void read_together(struct __test_metadata *_metadata)
{
	char *page = block_at(FREE_BLOCK);

	pages_fill(page, PAGE_BYTES, 7);
	ASSERT_TRUE(hold_start());
	for (unsigned int lane = 1; lane < LANES; lane++)
		post_read(lane, page);
	hold_end(_metadata);
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_VALUE(7, wait_for(lane));
}

/* --- forming batches ------------------------------------------------------ */

TEST_F(batch, single_fault_is_served_at_once_as_a_batch)
{
	char *page = block_at(FREE_BLOCK);
	struct hmmrt_stats stats;

	pages_fill(page, PAGE_BYTES, 5);
	ASSERT_VALUE(5, dev_read(A, page));
	stats = stats_of(A);
	EXPECT_EQ(1, stats.out_device_faults);
	EXPECT_EQ(1, stats.out_fault_batches);
	EXPECT_EQ(0, stats.out_merged_faults);
	EXPECT_EQ(1, stats.out_replays);
	EXPECT_EQ(0, stats.out_pending_faults);
}

TEST_F(batch, faults_on_one_page_are_merged)
{
	struct hmmrt_stats before, after;

	before = stats_of(A);
	read_together(_metadata);
	after = stats_of(A);
	EXPECT_LE(OTHERS - 1, after.out_merged_faults - before.out_merged_faults);
	EXPECT_GT(after.out_device_faults - before.out_device_faults,
		  after.out_fault_batches - before.out_fault_batches);
	EXPECT_EQ(0, after.out_failed_faults);
	EXPECT_EQ(0, after.out_pending_faults);
	EXPECT_EQ(2, *(volatile uint64_t *)block_at(HOLD_FIRST));
}

TEST_F(batch, merging_can_be_disabled)
{
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_COALESCE, 0));
	read_together(_metadata);
	EXPECT_EQ(0, stats_of(A).out_merged_faults);
}

/* One migration serves all faults of a block. Alone, each would move a part. */
TEST_F(batch, faults_on_one_block_are_served_together)
{
	char *block = block_at(FREE_BLOCK);
	const size_t step = 16 * PAGE_BYTES;
	struct hmmrt_stats before, after;

	pages_fill(block, BLOCK_BYTES, 1);
	before = stats_of(A);
	ASSERT_TRUE(hold_start());
	for (unsigned int lane = 1; lane < LANES; lane++)
		post_read(lane, block + lane * step);
	hold_end(_metadata);
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_VALUE(1 + lane * 16, wait_for(lane));
	after = stats_of(A);
	EXPECT_GT(OTHERS, after.out_fault_batches - before.out_fault_batches);
	EXPECT_EQ(0, after.out_merged_faults - before.out_merged_faults);
	EXPECT_LE(OTHERS * 16, count_at(A, block, BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(block, BLOCK_BYTES, 1));
}

TEST_F(batch, reads_and_writes_of_many_blocks_are_all_served)
{
	struct hmmrt_stats before, after;

	pages_fill(buf, BLOCKS * BLOCK_BYTES, 0);
	before = stats_of(A);
	ASSERT_TRUE(hold_start());
	for (unsigned int lane = 1; lane < LANES; lane++) {
		/* Downwards, so that they do not arrive sorted. */
		char *page = block_at(FREE_BLOCK + LANES - lane);

		if (lane & 1)
			post_write(lane, page, 1000 + lane);
		else
			post_read(lane, page);
	}
	hold_end(_metadata);
	for (unsigned int lane = 1; lane < LANES; lane++) {
		unsigned int block = FREE_BLOCK + LANES - lane;
		volatile uint64_t *word = (uint64_t *)block_at(block);

		if (lane & 1) {
			ASSERT_DONE(wait_for(lane));
			EXPECT_EQ(1000 + lane, *word);
		} else {
			ASSERT_VALUE(block * BLOCK_PAGES, wait_for(lane));
		}
	}
	after = stats_of(A);
	EXPECT_GT(OTHERS, after.out_fault_batches - before.out_fault_batches);
}

/* Each fault gets its own batch, and the worker serves them all. */
TEST_F(batch, batch_size_of_one_serves_all_faults)
{
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_BATCH_COUNT, 1));
	pages_fill(buf, BLOCKS * BLOCK_BYTES, 0);
	ASSERT_TRUE(hold_start());
	post_reads();
	hold_end(_metadata);
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane) * BLOCK_PAGES, wait_for(lane));
	EXPECT_LE(LANES, stats_of(A).out_fault_batches);
	EXPECT_EQ(0, stats_of(A).out_merged_faults);
}

/* --- valid and invalid accesses ------------------------------------------- */

TEST_F(batch, only_invalid_faults_of_a_batch_are_refused)
{
	char *block = block_at(FREE_BLOCK);
	char *read_only = block + 64 * PAGE_BYTES;
	char *missing = block + 65 * PAGE_BYTES;
	char *forbidden = block + 66 * PAGE_BYTES;

	pages_fill(block, 2 * BLOCK_BYTES, 0);
	ASSERT_EQ(0, mprotect(read_only, PAGE_BYTES, PROT_READ));
	ASSERT_EQ(0, munmap(missing, PAGE_BYTES));
	ASSERT_EQ(0, mprotect(forbidden, PAGE_BYTES, PROT_NONE));
	ASSERT_TRUE(hold_start());
	/*
	 * The write and the read of this page are merged into one fault at
	 * first.
	 */
	post_write(1, read_only, 9);
	post_read(2, read_only);
	post_read(3, missing);
	post_read(4, block + 63 * PAGE_BYTES);
	post_write(5, block + 67 * PAGE_BYTES, 500);
	post_read(6, forbidden);
	post_read(7, block + BLOCK_BYTES);
	hold_end(_metadata);
	ASSERT_REFUSED(SIGSEGV, EACCES, wait_for(1));
	ASSERT_VALUE(64, wait_for(2));
	ASSERT_REFUSED(SIGSEGV, EFAULT, wait_for(3));
	ASSERT_VALUE(63, wait_for(4));
	ASSERT_DONE(wait_for(5));
	ASSERT_REFUSED(SIGSEGV, EACCES, wait_for(6));
	ASSERT_VALUE(BLOCK_PAGES, wait_for(7));
	EXPECT_EQ(500, *(volatile uint64_t *)(block + 67 * PAGE_BYTES));
	EXPECT_EQ(64, *(volatile uint64_t *)read_only);
	EXPECT_EQ(3, stats_of(A).out_failed_faults);
	EXPECT_LE(1, stats_of(A).out_merged_faults);
}

TEST_F(batch, batch_of_invalid_faults_is_refused)
{
	char *block = block_at(FREE_BLOCK);

	ASSERT_EQ(0, munmap(block, BLOCK_BYTES));
	ASSERT_TRUE(hold_start());
	for (unsigned int lane = 1; lane < LANES; lane++)
		post_read(lane, block + lane / 2 * PAGE_BYTES);
	hold_end(_metadata);
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_REFUSED(SIGSEGV, EFAULT, wait_for(lane));
	EXPECT_EQ(OTHERS, stats_of(A).out_failed_faults);
}

/* --- replay --------------------------------------------------------------- */

/* Two lanes access each of three blocks; one lane accesses another block. */
static void post_pairs(void)
{
	for (unsigned int lane = 1; lane < LANES; lane++)
		post_read(lane, block_at(FREE_BLOCK + lane / 2));
}

static struct hmmrt_stats pairs_run(struct __test_metadata *_metadata,
				    uint32_t policy)
{
	struct hmmrt_stats before, after;

	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_REPLAY_POLICY, policy));
	pages_fill(buf, BLOCKS * BLOCK_BYTES, 0);
	before = stats_of(A);
	ASSERT_TRUE(hold_start());
	post_pairs();
	hold_end(_metadata);
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane / 2) * BLOCK_PAGES,
			     wait_for(lane));
	after = stats_of(A);
	EXPECT_EQ(0, after.out_failed_faults);
	EXPECT_EQ(0, after.out_pending_faults);
	EXPECT_LE(3, after.out_merged_faults - before.out_merged_faults);
	after.out_replays -= before.out_replays;
	after.out_fault_batches -= before.out_fault_batches;
	after.out_flushed_faults -= before.out_flushed_faults;
	return after;
}

TEST_F(batch, policy_block_replays_after_each_block)
{
	struct hmmrt_stats stats = pairs_run(_metadata, HMMRT_REPLAY_BLOCK);

	/*
	 * One replay for the held-up fault, and four for the blocks of one
	 * batch.
	 */
	EXPECT_LE(1 + 4, stats.out_replays);
	EXPECT_LT(stats.out_fault_batches, stats.out_replays);
	EXPECT_EQ(0, stats.out_flushed_faults);
}

TEST_F(batch, policy_batch_replays_after_each_batch)
{
	struct hmmrt_stats stats = pairs_run(_metadata, HMMRT_REPLAY_BATCH);

	EXPECT_EQ(stats.out_fault_batches, stats.out_replays);
	EXPECT_EQ(0, stats.out_flushed_faults);
}

TEST_F(batch, policy_batch_flush_replays_after_each_batch)
{
	struct hmmrt_stats stats =
		pairs_run(_metadata, HMMRT_REPLAY_BATCH_FLUSH);

	EXPECT_EQ(stats.out_fault_batches, stats.out_replays);
}

/*
 * With batches of one fault, the first one serves the page. The flush then
 * answers the other faults of that page without serving them.
 */
TEST_F(batch, flush_completes_faults_on_mapped_pages)
{
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_BATCH_COUNT, 1));
	read_together(_metadata);
	EXPECT_EQ(OTHERS - 1, stats_of(A).out_flushed_faults);
	EXPECT_EQ(0, stats_of(A).out_merged_faults);
}

/* --- signals -------------------------------------------------------------- */

static int signal_lane(unsigned int lane)
{
	return (int)syscall(SYS_tgkill, agent_of(A)->pid,
			    agent_of(A)->shared->lanes[lane].tid, SIGUSR1);
}

/* The lane leaves the fault buffer, runs its handler, and faults again. */
TEST_F(batch, signal_to_a_waiting_lane_loses_no_fault)
{
	uint64_t faults;

	pages_fill(buf, BLOCKS * BLOCK_BYTES, 0);
	ASSERT_TRUE(hold_start());
	post_reads();
	ASSERT_TRUE(wait_pending(OTHERS));
	faults = stats_of(A).out_device_faults;
	for (unsigned int lane = 1; lane < LANES; lane += 2) {
		ASSERT_EQ(0, signal_lane(lane));
		ASSERT_TRUE(wait_until(++faults, OTHERS));
	}
	EXPECT_EQ(0, stats_of(A).out_failed_faults);
	ASSERT_EQ(0, protect(HOLD_FIRST, false));
	ASSERT_DONE(wait_for(0));
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane) * BLOCK_PAGES, wait_for(lane));
}

/*
 * Lane 1 serves a batch that has the faults of all other lanes. The fault of
 * lane 2 holds it up: the held-up block sorts before all other blocks.
 */
static void hold_in_batch(struct __test_metadata *_metadata)
{
	pages_fill(buf, BLOCKS * BLOCK_BYTES, 0);
	ASSERT_TRUE(hold_prepare(HOLD_SECOND));
	ASSERT_TRUE(hold_start());
	post_read(1, block_at(FREE_BLOCK + 1));
	ASSERT_TRUE(wait_pending(1));
	post_write(2, block_at(HOLD_SECOND), 20);
	ASSERT_TRUE(wait_pending(2));
	for (unsigned int lane = 3; lane < LANES; lane++)
		post_read(lane, block_at(FREE_BLOCK + lane));
	ASSERT_TRUE(wait_pending(OTHERS));
	ASSERT_EQ(0, protect(HOLD_FIRST, false));
	ASSERT_TRUE(hold_wait(HOLD_SECOND));
	ASSERT_DONE(wait_for(0));
	ASSERT_TRUE(wait_pending(0));
}

static void expect_rest(struct __test_metadata *_metadata, unsigned int from)
{
	ASSERT_DONE(wait_for(2));
	EXPECT_EQ(20, *(volatile uint64_t *)block_at(HOLD_SECOND));
	for (unsigned int lane = from; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane) * BLOCK_PAGES, wait_for(lane));
	EXPECT_EQ(0, stats_of(A).out_pending_faults);
}

TEST_F(batch, signal_to_the_fault_worker_requeues_its_faults)
{
	struct hmmrt_stats before, after;

	hold_in_batch(_metadata);
	before = stats_of(A);
	ASSERT_EQ(0, signal_lane(1));
	ASSERT_EQ(0, protect(HOLD_SECOND, false));
	expect_rest(_metadata, 3);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(1));
	after = stats_of(A);
	/*
	 * Lane 1's own fault was the first of its batch. Other lanes have
	 * served the faults that it put back, each once.
	 */
	EXPECT_EQ(OTHERS, after.out_device_faults - before.out_device_faults);
	EXPECT_LE(1, after.out_fault_batches - before.out_fault_batches);
	EXPECT_EQ(0, after.out_failed_faults);
}

/* The fault is served completely. The lane faults again after its handler. */
TEST_F(batch, signal_to_lanes_during_service_of_their_faults)
{
	struct hmmrt_stats before;

	hold_in_batch(_metadata);
	before = stats_of(A);
	for (unsigned int lane = 2; lane < LANES; lane++)
		ASSERT_EQ(0, signal_lane(lane));
	ASSERT_TRUE(wait_until(before.out_device_faults + OTHERS - 1,
			       OTHERS - 1));
	ASSERT_EQ(0, protect(HOLD_SECOND, false));
	expect_rest(_metadata, 3);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(1));
}

/*
 * The fault worker may wait for something that needs the device. Other lanes
 * must continue, so each serves its own fault after the wait timeout.
 */
TEST_F(batch, fault_queued_behind_a_stuck_batch_serves_itself)
{
	char *page = block_at(FREE_BLOCK);

	pages_fill(page, PAGE_BYTES, 5);
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC, 10));
	ASSERT_TRUE(hold_start());
	post_read(1, page);
	ASSERT_VALUE(5, wait_for(1));
	ASSERT_EQ(0, protect(HOLD_FIRST, false));
	ASSERT_DONE(wait_for(0));
	EXPECT_EQ(0, stats_of(A).out_pending_faults);
}

/* The same for a fault in the batch that is stuck. */
TEST_F(batch, fault_in_a_stuck_batch_serves_itself)
{
	char *page = block_at(FREE_BLOCK);

	pages_fill(page, PAGE_BYTES, 5);
	ASSERT_TRUE(hold_start());
	ASSERT_TRUE(hold_prepare(HOLD_SECOND));
	post_write(1, block_at(HOLD_SECOND), 3);
	ASSERT_TRUE(wait_pending(1));
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC, 3000));
	post_read(2, page);
	ASSERT_TRUE(wait_pending(2));
	ASSERT_EQ(0, protect(HOLD_FIRST, false));
	/* Lane 1 has both faults in its batch, and is held up by its own. */
	ASSERT_TRUE(hold_wait(HOLD_SECOND));
	ASSERT_VALUE(5, wait_for(2));
	ASSERT_EQ(0, protect(HOLD_SECOND, false));
	ASSERT_DONE(wait_for(0));
	ASSERT_DONE(wait_for(1));
	EXPECT_EQ(0, stats_of(A).out_pending_faults);
}

TEST_F(batch, kill_with_waiting_faults_leaves_none_pending)
{
	ASSERT_TRUE(hold_start());
	post_reads();
	ASSERT_TRUE(wait_pending(OTHERS));
	agent_kill(agent_of(A));
	EXPECT_EQ(0, stats_of(A).out_pending_faults);
	EXPECT_EQ(0, stats_of(A).out_failed_faults);
}

TEST_F(batch, kill_during_a_batch_leaves_no_fault_pending)
{
	hold_in_batch(_metadata);
	agent_kill(agent_of(A));
	EXPECT_EQ(0, stats_of(A).out_pending_faults);
	EXPECT_EQ(1, *(volatile uint64_t *)block_at(HOLD_SECOND));
}

/*
 * Runs in a process that exits while lanes of its device wait. Returns the pid
 * of its agent, or 0.
 */
static pid_t owner_run(void)
{
	if (session_start(&session, 1, LANES))
		return 0;
	space = session.space;
	buf = arena_anon(BLOCKS * BLOCK_BYTES);
	uffd = uffd_open();
	if (!buf || uffd < 0 || set_knob(A, HMMRT_KNOB_FAULT_WORKERS, 1) ||
	    set_knob(A, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC, 1000 * LIMIT_S))
		return 0;
	/* The agent must end because of the unbinding, not with its parent. */
	if (DEV_SYSCALL(A, SYS_prctl, PR_SET_PDEATHSIG) || !hold_start())
		return 0;
	post_reads();
	return wait_pending(OTHERS) ? agent_of(A)->pid : 0;
}

TEST_F(batch, owner_exit_ends_waiting_faults)
{
	int status = 0, tell[2];
	pid_t agent = 0, owner;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	ASSERT_EQ(0, pipe2(tell, O_CLOEXEC));
	owner = FORK();
	if (!owner) {
		agent = owner_run();
		_exit(write(tell[1], &agent, sizeof(agent)) != sizeof(agent));
	}
	ASSERT_EQ((ssize_t)sizeof(agent), read(tell[0], &agent, sizeof(agent)));
	EXPECT_EQ(0, process_wait(owner));
	ASSERT_NE(0, agent);
	ASSERT_EQ(agent, waitpid(agent, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGKILL, WTERMSIG(status));
	close(tell[0]);
	close(tell[1]);
}

/* --- concurrent changes --------------------------------------------------- */

TEST_F(batch, unmap_during_a_batch_affects_its_remaining_faults)
{
	hold_in_batch(_metadata);
	ASSERT_EQ(0, munmap(block_at(FREE_BLOCK + 3), BLOCK_BYTES));
	ASSERT_EQ(0, madvise(block_at(FREE_BLOCK + 4), BLOCK_BYTES,
			     MADV_DONTNEED));
	ASSERT_EQ(0, protect(HOLD_SECOND, false));
	ASSERT_REFUSED(SIGSEGV, EFAULT, wait_for(3));
	ASSERT_VALUE(0, wait_for(4));
	expect_rest(_metadata, 5);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(1));
	EXPECT_EQ(1, stats_of(A).out_failed_faults);
}

/*
 * Raising the number adds fault worker permits: a new fault takes one at once,
 * and waiting lanes get the others as soon as one is released.
 */
TEST_F(batch, number_of_fault_workers_can_change_during_a_batch)
{
	hold_in_batch(_metadata);
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WORKERS, 4));
	post_write(0, block_at(FREE_BLOCK), 3);
	ASSERT_DONE(wait_for(0));
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WORKERS, 1));
	ASSERT_EQ(0, protect(HOLD_SECOND, false));
	expect_rest(_metadata, 3);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(1));
}

/* --- everything at once --------------------------------------------------- */

#define COUNTERS	4
#define ADDS		400

/*
 * Sends a signal to a lane, and touches a counter so that it leaves the device.
 */
static void disturb(void *seed)
{
	unsigned int r = (unsigned int)rand_r(seed);

	__atomic_fetch_add((uint64_t *)block_at(FREE_BLOCK + r / 8 % COUNTERS),
			   0, __ATOMIC_RELAXED);
	signal_lane(r % LANES);
	usleep(500);
}

TEST_F(batch, signals_and_cpu_faults_lose_no_device_fault)
{
	unsigned int seed = test_seed();
	uint64_t sum = 0, added = 0;
	struct loop disturber;

	ASSERT_EQ(0, loop_start(&disturber, disturb, &seed));
	for (unsigned int round = 0; round < 16; round++) {
		ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_REPLAY_POLICY,
				      round % 3));
		ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_WORKERS,
				      1 + round / 4 % 2));
		ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_FAULT_BATCH_COUNT,
				      round / 8 ? 3 : 256));
		for (unsigned int lane = 0; lane < LANES; lane++) {
			char *at = block_at(FREE_BLOCK + lane % COUNTERS);

			DEV_POST(A, lane, AGENT_ADD, (uintptr_t)at, ADDS);
		}
		for (unsigned int lane = 0; lane < LANES; lane++)
			ASSERT_DONE(wait_for(lane));
		added += LANES * ADDS;
	}
	ASSERT_EQ(0, loop_stop(&disturber));
	for (unsigned int lane = 0; lane < COUNTERS; lane++)
		sum += *(volatile uint64_t *)block_at(FREE_BLOCK + lane);
	EXPECT_EQ(added, sum);
	EXPECT_EQ(0, stats_of(A).out_pending_faults);
	EXPECT_EQ(0, stats_of(A).out_failed_faults);
}

TEST_HARNESS_MAIN
