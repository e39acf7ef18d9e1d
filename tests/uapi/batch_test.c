// SPDX-License-Identifier: MIT
/*
 * Batches of device faults: lanes wait while another lane serves a batch, and
 * must get the right result however that ends. There is one fault worker.
 * userfaultfd holds up the worker's own fault, so that all other faults wait.
 * The statistics show when they wait.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/harness.h"
#include "lib/session.h"
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

FIXTURE(batch) {
	struct session session;
	struct agent *agent;
	uint32_t id;
	char *buf;
	int uffd;
};

FIXTURE_SETUP(batch)
{
	ASSERT_EQ(0, session_start(&self->session, 1, LANES));
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(BLOCKS * BLOCK_BYTES);
	ASSERT_NE(NULL, self->buf);
	self->uffd = uffd_open();
	if (self->uffd < 0) {
		session_end(&self->session);
		SKIP(_exit(SKIPPED), "userfaultfd: %s", strerror(-self->uffd));
	}
	ASSERT_EQ(0, cmd_set_knob(self->session.space, HMMRT_SCOPE_SPACE, self->id,
				  HMMRT_KNOB_FAULT_WORKERS, 1));
	/* Lanes must wait until the test lets them continue. */
	ASSERT_EQ(0, cmd_set_knob(self->session.space, HMMRT_SCOPE_SPACE, self->id,
				  HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC,
				  1000 * LIMIT_S));
}

FIXTURE_TEARDOWN(batch)
{
	if (self->uffd >= 0)
		close(self->uffd);
	EXPECT_EQ(0, session_end(&self->session));
}

/* --- holding a fault up --------------------------------------------------- */

static char *block_at(FIXTURE_DATA(batch) *self, unsigned int block)
{
	return self->buf + block * BLOCK_BYTES;
}

static int set_knob(FIXTURE_DATA(batch) *self, uint32_t knob, uint32_t value)
{
	return cmd_set_knob(self->session.space, HMMRT_SCOPE_SPACE, self->id,
			    knob, value);
}

static struct hmmrt_stats stats_of(FIXTURE_DATA(batch) *self)
{
	return session_stats(&self->session, 0);
}

static int protect(FIXTURE_DATA(batch) *self, unsigned int block, bool on)
{
	return uffd_protect(self->uffd, block_at(self, block), PAGE_BYTES, on);
}

/* Prepares a block so that a device write to its first page is held up. */
static bool hold_prepare(FIXTURE_DATA(batch) *self, unsigned int block)
{
	char *page = block_at(self, block);
	struct hmmrt_prefetch result;

	*(volatile uint64_t *)page = 1;
	if (cmd_prefetch(self->session.space, page, PAGE_BYTES, self->id,
			 &result) ||
	    uffd_watch(self->uffd, page, PAGE_BYTES, UFFDIO_REGISTER_MODE_WP))
		return false;
	return !protect(self, block, true);
}

/* Returns true once the write to the page of this block is held up. */
static bool hold_wait(FIXTURE_DATA(batch) *self, unsigned int block)
{
	struct uffd_msg message = uffd_next(self->uffd, LIMIT_S);

	return message.event == UFFD_EVENT_PAGEFAULT &&
	       message.arg.pagefault.address ==
		       (uintptr_t)block_at(self, block);
}

static void post_write(FIXTURE_DATA(batch) *self, unsigned int lane,
		       const char *addr, uint64_t value)
{
	uint64_t args[] = { (uintptr_t)addr, value };

	agent_post(self->agent, lane, AGENT_WRITE, args, 2);
}

static void post_read(FIXTURE_DATA(batch) *self, unsigned int lane,
		      const char *addr)
{
	uint64_t args[] = { (uintptr_t)addr };

	agent_post(self->agent, lane, AGENT_READ, args, 1);
}

static struct outcome wait_for(FIXTURE_DATA(batch) *self, unsigned int lane)
{
	return agent_wait(self->agent, lane, LIMIT_S);
}

/* Makes lane 0 the fault worker, and holds it up. */
static bool hold_start(FIXTURE_DATA(batch) *self)
{
	if (!hold_prepare(self, HOLD_FIRST))
		return false;
	post_write(self, 0, block_at(self, HOLD_FIRST), 2);
	return hold_wait(self, HOLD_FIRST);
}

static bool wait_until(FIXTURE_DATA(batch) *self, uint64_t faults,
		       uint64_t pending)
{
	time_t end = time(NULL) + LIMIT_S;
	struct hmmrt_stats stats;

	do {
		stats = stats_of(self);
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

static bool wait_pending(FIXTURE_DATA(batch) *self, unsigned int pending)
{
	return wait_until(self, 0, pending);
}

/* --- forming batches ------------------------------------------------------ */

TEST_F(batch, single_fault_is_served_at_once_as_a_batch)
{
	char *page = block_at(self, FREE_BLOCK);
	struct hmmrt_stats stats;

	pages_fill(page, PAGE_BYTES, 5);
	ASSERT_VALUE(5, agent_read(self->agent, page));
	stats = stats_of(self);
	EXPECT_EQ(1, stats.out_device_faults);
	EXPECT_EQ(1, stats.out_fault_batches);
	EXPECT_EQ(0, stats.out_merged_faults);
	EXPECT_EQ(1, stats.out_replays);
	EXPECT_EQ(0, stats.out_pending_faults);
}

TEST_F(batch, faults_on_one_page_are_merged)
{
	char *page = block_at(self, FREE_BLOCK);
	struct hmmrt_stats before, after;
	unsigned int lane;

	pages_fill(page, PAGE_BYTES, 7);
	before = stats_of(self);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, page);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE(7, wait_for(self, lane));
	after = stats_of(self);
	EXPECT_LE(OTHERS - 1, after.out_merged_faults - before.out_merged_faults);
	EXPECT_GT(after.out_device_faults - before.out_device_faults,
		  after.out_fault_batches - before.out_fault_batches);
	EXPECT_EQ(0, after.out_failed_faults);
	EXPECT_EQ(0, after.out_pending_faults);
	EXPECT_EQ(2, *(volatile uint64_t *)block_at(self, HOLD_FIRST));
}

TEST_F(batch, merging_can_be_disabled)
{
	char *page = block_at(self, FREE_BLOCK);
	unsigned int lane;

	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_COALESCE, 0));
	pages_fill(page, PAGE_BYTES, 7);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, page);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE(7, wait_for(self, lane));
	ASSERT_DONE(wait_for(self, 0));
	EXPECT_EQ(0, stats_of(self).out_merged_faults);
}

/* One migration serves all faults of a block. Alone, each would move a part. */
TEST_F(batch, faults_on_one_block_are_served_together)
{
	char *block = block_at(self, FREE_BLOCK);
	const size_t step = 16 * PAGE_BYTES;
	struct hmmrt_stats before, after;
	unsigned int lane;

	pages_fill(block, BLOCK_BYTES, 1);
	before = stats_of(self);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, block + lane * step);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE(1 + lane * 16, wait_for(self, lane));
	after = stats_of(self);
	EXPECT_GT(OTHERS, after.out_fault_batches - before.out_fault_batches);
	EXPECT_EQ(0, after.out_merged_faults - before.out_merged_faults);
	EXPECT_LE(OTHERS * 16,
		  pages_at(self->session.space, block, BLOCK_BYTES, self->id));
	EXPECT_EQ(-1, pages_check(block, BLOCK_BYTES, 1));
}

TEST_F(batch, reads_and_writes_of_many_blocks_are_all_served)
{
	struct hmmrt_stats before, after;
	unsigned int lane;

	pages_fill(self->buf, BLOCKS * BLOCK_BYTES, 0);
	before = stats_of(self);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++) {
		/* Downwards, so that they do not arrive sorted. */
		char *page = block_at(self, FREE_BLOCK + LANES - lane);

		if (lane & 1)
			post_write(self, lane, page, 1000 + lane);
		else
			post_read(self, lane, page);
	}
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++) {
		unsigned int block = FREE_BLOCK + LANES - lane;
		volatile uint64_t *word = (uint64_t *)block_at(self, block);

		if (lane & 1) {
			ASSERT_DONE(wait_for(self, lane));
			EXPECT_EQ(1000 + lane, *word);
		} else {
			ASSERT_VALUE(block * BLOCK_PAGES, wait_for(self, lane));
		}
	}
	after = stats_of(self);
	EXPECT_GT(OTHERS, after.out_fault_batches - before.out_fault_batches);
}

/* Each fault gets its own batch, and the worker serves them all. */
TEST_F(batch, batch_size_of_one_serves_all_faults)
{
	unsigned int lane;

	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_BATCH_COUNT, 1));
	pages_fill(self->buf, BLOCKS * BLOCK_BYTES, 0);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, block_at(self, FREE_BLOCK + lane));
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane) * BLOCK_PAGES,
			     wait_for(self, lane));
	EXPECT_LE(LANES, stats_of(self).out_fault_batches);
	EXPECT_EQ(0, stats_of(self).out_merged_faults);
}

/* --- valid and invalid accesses ------------------------------------------- */

TEST_F(batch, only_invalid_faults_of_a_batch_are_refused)
{
	char *block = block_at(self, FREE_BLOCK);
	char *read_only = block + 64 * PAGE_BYTES;
	char *missing = block + 65 * PAGE_BYTES;
	char *forbidden = block + 66 * PAGE_BYTES;

	pages_fill(block, 2 * BLOCK_BYTES, 0);
	ASSERT_EQ(0, mprotect(read_only, PAGE_BYTES, PROT_READ));
	ASSERT_EQ(0, munmap(missing, PAGE_BYTES));
	ASSERT_EQ(0, mprotect(forbidden, PAGE_BYTES, PROT_NONE));
	ASSERT_TRUE(hold_start(self));
	/*
	 * The write and the read of this page are merged into one fault at
	 * first.
	 */
	post_write(self, 1, read_only, 9);
	post_read(self, 2, read_only);
	post_read(self, 3, missing);
	post_read(self, 4, block + 63 * PAGE_BYTES);
	post_write(self, 5, block + 67 * PAGE_BYTES, 500);
	post_read(self, 6, forbidden);
	post_read(self, 7, block + BLOCK_BYTES);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	ASSERT_REFUSED(SIGSEGV, EACCES, wait_for(self, 1));
	ASSERT_VALUE(64, wait_for(self, 2));
	ASSERT_REFUSED(SIGSEGV, EFAULT, wait_for(self, 3));
	ASSERT_VALUE(63, wait_for(self, 4));
	ASSERT_DONE(wait_for(self, 5));
	ASSERT_REFUSED(SIGSEGV, EACCES, wait_for(self, 6));
	ASSERT_VALUE(BLOCK_PAGES, wait_for(self, 7));
	EXPECT_EQ(500, *(volatile uint64_t *)(block + 67 * PAGE_BYTES));
	EXPECT_EQ(64, *(volatile uint64_t *)read_only);
	EXPECT_EQ(3, stats_of(self).out_failed_faults);
	EXPECT_LE(1, stats_of(self).out_merged_faults);
}

TEST_F(batch, batch_of_invalid_faults_is_refused)
{
	char *block = block_at(self, FREE_BLOCK);
	unsigned int lane;

	ASSERT_EQ(0, munmap(block, BLOCK_BYTES));
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, block + lane / 2 * PAGE_BYTES);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_REFUSED(SIGSEGV, EFAULT, wait_for(self, lane));
	EXPECT_EQ(OTHERS, stats_of(self).out_failed_faults);
}

/* --- replay --------------------------------------------------------------- */

/* Two lanes access each of three blocks; one lane accesses another block. */
static void post_pairs(FIXTURE_DATA(batch) *self)
{
	unsigned int lane;

	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, block_at(self, FREE_BLOCK + lane / 2));
}

static struct hmmrt_stats pairs_run(struct __test_metadata *_metadata,
				    FIXTURE_DATA(batch) *self, uint32_t policy)
{
	struct hmmrt_stats before, after;
	unsigned int lane;

	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_REPLAY_POLICY, policy));
	pages_fill(self->buf, BLOCKS * BLOCK_BYTES, 0);
	before = stats_of(self);
	ASSERT_TRUE(hold_start(self));
	post_pairs(self);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane / 2) * BLOCK_PAGES,
			     wait_for(self, lane));
	after = stats_of(self);
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
	struct hmmrt_stats stats =
		pairs_run(_metadata, self, HMMRT_REPLAY_BLOCK);

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
	struct hmmrt_stats stats =
		pairs_run(_metadata, self, HMMRT_REPLAY_BATCH);

	EXPECT_EQ(stats.out_fault_batches, stats.out_replays);
	EXPECT_EQ(0, stats.out_flushed_faults);
}

TEST_F(batch, policy_batch_flush_replays_after_each_batch)
{
	struct hmmrt_stats stats =
		pairs_run(_metadata, self, HMMRT_REPLAY_BATCH_FLUSH);

	EXPECT_EQ(stats.out_fault_batches, stats.out_replays);
}

/*
 * With batches of one fault, the first one serves the page. The flush then
 * answers the other faults of that page without serving them.
 */
TEST_F(batch, flush_completes_faults_on_mapped_pages)
{
	char *page = block_at(self, FREE_BLOCK);
	unsigned int lane;

	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_BATCH_COUNT, 1));
	pages_fill(page, PAGE_BYTES, 7);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, page);
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE(7, wait_for(self, lane));
	EXPECT_EQ(OTHERS - 1, stats_of(self).out_flushed_faults);
	EXPECT_EQ(0, stats_of(self).out_merged_faults);
}

/* --- signals -------------------------------------------------------------- */

static int signal_lane(FIXTURE_DATA(batch) *self, unsigned int lane)
{
	return (int)syscall(SYS_tgkill, self->agent->pid,
			    self->agent->shared->lanes[lane].tid, SIGUSR1);
}

/* The lane leaves the fault buffer, runs its handler, and faults again. */
TEST_F(batch, signal_to_a_waiting_lane_loses_no_fault)
{
	uint64_t faults;
	unsigned int lane;

	pages_fill(self->buf, BLOCKS * BLOCK_BYTES, 0);
	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, block_at(self, FREE_BLOCK + lane));
	ASSERT_TRUE(wait_pending(self, OTHERS));
	faults = stats_of(self).out_device_faults;
	for (lane = 1; lane < LANES; lane += 2) {
		ASSERT_EQ(0, signal_lane(self, lane));
		ASSERT_TRUE(wait_until(self, ++faults, OTHERS));
	}
	EXPECT_EQ(0, stats_of(self).out_failed_faults);
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	for (lane = 1; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane) * BLOCK_PAGES,
			     wait_for(self, lane));
}

/*
 * Lane 1 serves a batch that has the faults of all other lanes. The fault of
 * lane 2 holds it up: the held-up block sorts before all other blocks.
 */
static void hold_in_batch(struct __test_metadata *_metadata,
			  FIXTURE_DATA(batch) *self)
{
	unsigned int lane;

	pages_fill(self->buf, BLOCKS * BLOCK_BYTES, 0);
	ASSERT_TRUE(hold_prepare(self, HOLD_SECOND));
	ASSERT_TRUE(hold_start(self));
	post_read(self, 1, block_at(self, FREE_BLOCK + 1));
	ASSERT_TRUE(wait_pending(self, 1));
	post_write(self, 2, block_at(self, HOLD_SECOND), 20);
	ASSERT_TRUE(wait_pending(self, 2));
	for (lane = 3; lane < LANES; lane++)
		post_read(self, lane, block_at(self, FREE_BLOCK + lane));
	ASSERT_TRUE(wait_pending(self, OTHERS));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_TRUE(hold_wait(self, HOLD_SECOND));
	ASSERT_DONE(wait_for(self, 0));
	ASSERT_TRUE(wait_pending(self, 0));
}

static void expect_rest(struct __test_metadata *_metadata,
			FIXTURE_DATA(batch) *self, unsigned int from)
{
	unsigned int lane;

	ASSERT_DONE(wait_for(self, 2));
	EXPECT_EQ(20, *(volatile uint64_t *)block_at(self, HOLD_SECOND));
	for (lane = from; lane < LANES; lane++)
		ASSERT_VALUE((FREE_BLOCK + lane) * BLOCK_PAGES,
			     wait_for(self, lane));
	EXPECT_EQ(0, stats_of(self).out_pending_faults);
}

TEST_F(batch, signal_to_the_fault_worker_requeues_its_faults)
{
	struct hmmrt_stats before, after;

	hold_in_batch(_metadata, self);
	before = stats_of(self);
	ASSERT_EQ(0, signal_lane(self, 1));
	ASSERT_EQ(0, protect(self, HOLD_SECOND, false));
	expect_rest(_metadata, self, 3);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(self, 1));
	after = stats_of(self);
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
	unsigned int lane;

	hold_in_batch(_metadata, self);
	before = stats_of(self);
	for (lane = 2; lane < LANES; lane++)
		ASSERT_EQ(0, signal_lane(self, lane));
	ASSERT_TRUE(wait_until(self, before.out_device_faults + OTHERS - 1,
			       OTHERS - 1));
	ASSERT_EQ(0, protect(self, HOLD_SECOND, false));
	expect_rest(_metadata, self, 3);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(self, 1));
}

/*
 * The fault worker may wait for something that needs the device. Other lanes
 * must continue, so each serves its own fault after the wait timeout.
 */
TEST_F(batch, fault_queued_behind_a_stuck_batch_serves_itself)
{
	char *page = block_at(self, FREE_BLOCK);

	pages_fill(page, PAGE_BYTES, 5);
	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC, 10));
	ASSERT_TRUE(hold_start(self));
	post_read(self, 1, page);
	ASSERT_VALUE(5, wait_for(self, 1));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	ASSERT_DONE(wait_for(self, 0));
	EXPECT_EQ(0, stats_of(self).out_pending_faults);
}

/* The same for a fault in the batch that is stuck. */
TEST_F(batch, fault_in_a_stuck_batch_serves_itself)
{
	char *page = block_at(self, FREE_BLOCK);

	pages_fill(page, PAGE_BYTES, 5);
	ASSERT_TRUE(hold_start(self));
	ASSERT_TRUE(hold_prepare(self, HOLD_SECOND));
	post_write(self, 1, block_at(self, HOLD_SECOND), 3);
	ASSERT_TRUE(wait_pending(self, 1));
	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC, 3000));
	post_read(self, 2, page);
	ASSERT_TRUE(wait_pending(self, 2));
	ASSERT_EQ(0, protect(self, HOLD_FIRST, false));
	/* Lane 1 has both faults in its batch, and is held up by its own. */
	ASSERT_TRUE(hold_wait(self, HOLD_SECOND));
	ASSERT_VALUE(5, wait_for(self, 2));
	ASSERT_EQ(0, protect(self, HOLD_SECOND, false));
	ASSERT_DONE(wait_for(self, 0));
	ASSERT_DONE(wait_for(self, 1));
	EXPECT_EQ(0, stats_of(self).out_pending_faults);
}

TEST_F(batch, kill_with_waiting_faults_leaves_none_pending)
{
	unsigned int lane;

	ASSERT_TRUE(hold_start(self));
	for (lane = 1; lane < LANES; lane++)
		post_read(self, lane, block_at(self, FREE_BLOCK + lane));
	ASSERT_TRUE(wait_pending(self, OTHERS));
	agent_kill(self->agent);
	EXPECT_EQ(0, stats_of(self).out_pending_faults);
	EXPECT_EQ(0, stats_of(self).out_failed_faults);
}

TEST_F(batch, kill_during_a_batch_leaves_no_fault_pending)
{
	hold_in_batch(_metadata, self);
	agent_kill(self->agent);
	EXPECT_EQ(0, stats_of(self).out_pending_faults);
	EXPECT_EQ(1, *(volatile uint64_t *)block_at(self, HOLD_SECOND));
}

/*
 * Runs in a process that exits while lanes of its device wait. Returns the pid
 * of its agent, or 0.
 */
static pid_t owner_run(void)
{
	FIXTURE_DATA(batch) own;
	unsigned int lane;

	if (session_start(&own.session, 1, LANES))
		return 0;
	own.agent = session_agent(&own.session);
	own.id = own.session.devices[0].id;
	own.buf = arena_anon(BLOCKS * BLOCK_BYTES);
	own.uffd = uffd_open();
	if (!own.buf || own.uffd < 0 ||
	    set_knob(&own, HMMRT_KNOB_FAULT_WORKERS, 1) ||
	    set_knob(&own, HMMRT_KNOB_FAULT_WAIT_TIMEOUT_MSEC, 1000 * LIMIT_S))
		return 0;
	/* The agent must end because of the unbinding, not with its parent. */
	if (agent_syscall(own.agent, SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0,
			  0) ||
	    !hold_start(&own))
		return 0;
	for (lane = 1; lane < LANES; lane++)
		post_read(&own, lane, block_at(&own, FREE_BLOCK + lane));
	return wait_pending(&own, OTHERS) ? own.agent->pid : 0;
}

TEST_F(batch, owner_exit_ends_waiting_faults)
{
	int status = 0, tell[2];
	pid_t agent = 0, owner;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	ASSERT_EQ(0, pipe2(tell, O_CLOEXEC));
	owner = fork();
	ASSERT_LE(0, owner);
	if (!owner) {
		agent = owner_run();
		_exit(write(tell[1], &agent, sizeof(agent)) != sizeof(agent));
	}
	ASSERT_EQ((ssize_t)sizeof(agent), read(tell[0], &agent, sizeof(agent)));
	ASSERT_EQ(owner, waitpid(owner, &status, 0));
	EXPECT_EQ(0, status);
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
	hold_in_batch(_metadata, self);
	ASSERT_EQ(0, munmap(block_at(self, FREE_BLOCK + 3), BLOCK_BYTES));
	ASSERT_EQ(0, madvise(block_at(self, FREE_BLOCK + 4), BLOCK_BYTES,
			     MADV_DONTNEED));
	ASSERT_EQ(0, protect(self, HOLD_SECOND, false));
	ASSERT_REFUSED(SIGSEGV, EFAULT, wait_for(self, 3));
	ASSERT_VALUE(0, wait_for(self, 4));
	expect_rest(_metadata, self, 5);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(self, 1));
	EXPECT_EQ(1, stats_of(self).out_failed_faults);
}

/*
 * Raising the number adds fault worker permits: a new fault takes one at once,
 * and waiting lanes get the others as soon as one is released.
 */
TEST_F(batch, number_of_fault_workers_can_change_during_a_batch)
{
	hold_in_batch(_metadata, self);
	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_WORKERS, 4));
	post_write(self, 0, block_at(self, FREE_BLOCK), 3);
	ASSERT_DONE(wait_for(self, 0));
	ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_WORKERS, 1));
	ASSERT_EQ(0, protect(self, HOLD_SECOND, false));
	expect_rest(_metadata, self, 3);
	ASSERT_VALUE((FREE_BLOCK + 1) * BLOCK_PAGES, wait_for(self, 1));
}

/* --- everything at once --------------------------------------------------- */

#define COUNTERS	4
#define ADDS		400

struct disturber {
	FIXTURE_DATA(batch) *self;
	unsigned int seed;
	bool stop;
};

/*
 * Sends signals to lanes, and touches the counters so that they leave the
 * device.
 */
static void *disturb(void *arg)
{
	struct disturber *disturber = arg;
	FIXTURE_DATA(batch) *self = disturber->self;

	while (!__atomic_load_n(&disturber->stop, __ATOMIC_RELAXED)) {
		unsigned int r = (unsigned int)rand_r(&disturber->seed);

		__atomic_fetch_add((uint64_t *)block_at(self, FREE_BLOCK +
							r / 8 % COUNTERS),
				   0, __ATOMIC_RELAXED);
		signal_lane(self, r % LANES);
		usleep(500);
	}
	return NULL;
}

TEST_F(batch, signals_and_cpu_faults_lose_no_device_fault)
{
	struct disturber disturber = { .self = self, .seed = test_seed() };
	uint64_t sum = 0, added = 0;
	unsigned int lane, round;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, disturb, &disturber));
	for (round = 0; round < 16; round++) {
		ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_REPLAY_POLICY,
				      round % 3));
		ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_WORKERS,
				      1 + round / 4 % 2));
		ASSERT_EQ(0, set_knob(self, HMMRT_KNOB_FAULT_BATCH_COUNT,
				      round / 8 ? 3 : 256));
		for (lane = 0; lane < LANES; lane++) {
			char *at = block_at(self, FREE_BLOCK + lane % COUNTERS);
			uint64_t args[] = { (uintptr_t)at, ADDS };

			agent_post(self->agent, lane, AGENT_ADD, args, 2);
		}
		for (lane = 0; lane < LANES; lane++)
			ASSERT_DONE(wait_for(self, lane));
		added += LANES * ADDS;
	}
	__atomic_store_n(&disturber.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	for (lane = 0; lane < COUNTERS; lane++)
		sum += *(volatile uint64_t *)block_at(self, FREE_BLOCK + lane);
	EXPECT_EQ(added, sum);
	EXPECT_EQ(0, stats_of(self).out_pending_faults);
	EXPECT_EQ(0, stats_of(self).out_failed_faults);
}

TEST_HARNESS_MAIN
