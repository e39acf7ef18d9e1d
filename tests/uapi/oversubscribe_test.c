// SPDX-License-Identifier: MIT
/*
 * Programs use more memory than the devices have: devices work on all of it,
 * the least recently used blocks are evicted, and no data is lost. Loads
 * hmmrt_simgpu with two small devices, and restores the module and its
 * parameters afterwards.
 */
#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define DEVICE_BYTES	amount(16UL << 20, 8UL << 20)
#define DEVICE_PAGES	(DEVICE_BYTES / PAGE_BYTES)
#define CHUNKS		(DEVICE_BYTES / BLOCK_BYTES)
/* Less memory for tests that move a lot: debug kernels take long for it. */
#define LESS_BYTES	amount(8UL << 20, 4UL << 20)
/* Used by each process of a test with several ones. */
#define SHARE_BYTES	amount(2 * LESS_BYTES, LESS_BYTES)
#define AREA		(4 * DEVICE_BYTES)
/* For both devices: half of it is still more than one device has. */
#define MOST		amount(AREA, 5 * DEVICE_BYTES / 2)
/* Limit for one piece of an agent's work on the slowest machine. */
#define LIMIT_S		100

/*
 * Memory that agents work on. Set before the agents are forked, which inherit
 * these variables.
 */
static uint64_t *area;
static size_t area_words;

/* --- work ----------------------------------------------------------------- */

#define ROW	(PAGE_BYTES / sizeof(uint64_t))

static void (*job)(uint64_t *words, size_t count);

static uint64_t run_job(void)
{
	job(area, area_words);
	return 0;
}

/* --- one process, one or two devices -------------------------------------- */

FIXTURE(oversubscribe) {
};

FIXTURE_SETUP(oversubscribe)
{
	DEVICES_SETUP(.devices = 2, .lanes = 2,
		      .load = two_devices(DEVICE_BYTES));
	buf = ANON(AREA);
}

FIXTURE_TEARDOWN(oversubscribe)
{
	EXPECT_TRUE(set_oversubscription(true));
	EXPECT_TRUE(set_evict_by_access(true));
	DEVICES_TEARDOWN();
}

TEST_F(oversubscribe, prefetch_evicts_older_pages_but_not_its_own)
{
	const size_t more = 2 * BLOCK_BYTES;
	struct hmmrt_prefetch result;

	pages_fill(buf, DEVICE_BYTES + more, 1);
	ASSERT_EQ(0, prefetch_result(A, buf, DEVICE_BYTES + more, &result));
	EXPECT_EQ(DEVICE_PAGES, result.out_pages_moved);
	EXPECT_EQ(2 * BLOCK_PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	EXPECT_AT(A, buf, DEVICE_BYTES);
	EXPECT_EQ(0, stats_of(A).out_evictions);

	ASSERT_EQ(0, prefetch_result(A, buf + DEVICE_BYTES, more, &result));
	EXPECT_EQ(2 * BLOCK_PAGES, result.out_pages_moved);
	EXPECT_EQ(2, stats_of(A).out_evictions);
	EXPECT_EQ(2 * BLOCK_PAGES, stats_of(A).out_evicted_pages);
	/*
	 * The blocks that were first on the device were the least recently
	 * used.
	 */
	EXPECT_AT(HOST, buf, more);
	EXPECT_AT(A, buf + more, DEVICE_BYTES);
	EXPECT_EQ(-1, pages_check(buf, DEVICE_BYTES + more, 1));
}

static struct hmmrt_device_info info_of(void)
{
	struct hmmrt_device_info info = { 0 };

	cmd_device_info(space, id_of(A), &info);
	return info;
}

/*
 * With watermarks a worker evicts the least recently used blocks before an
 * allocation finds the device full.
 */
TEST_F(oversubscribe, watermarks_keep_device_memory_free)
{
	const size_t len = DEVICE_BYTES - BLOCK_BYTES;

	ASSERT_EQ(0, cmd_set_knob(space, HMMRT_SCOPE_DEVICE, id_of(A),
				  HMMRT_KNOB_EVICT_HIGH_WATERMARK, 50));
	PLACE(A, buf, len, 1);
	/*
	 * One block is free. The low watermark is 0 by default, so that nothing
	 * is evicted.
	 */
	EXPECT_EQ(0, info_of().out_evictions);
	EXPECT_EQ(len, info_of().out_used_bytes);

	/* One block of all. */
	ASSERT_EQ(0, cmd_set_knob(space, HMMRT_SCOPE_DEVICE, id_of(A),
				  HMMRT_KNOB_EVICT_LOW_WATERMARK,
				  amount(20, 40)));
	ASSERT_EQ(0, prefetch(A, buf + len, PAGE_BYTES));
	WAIT_UNTIL(info_of().out_used_bytes <= DEVICE_BYTES / 2, LIMIT_S);
	EXPECT_GE(DEVICE_BYTES / 2, info_of().out_used_bytes);
	EXPECT_LT(0, info_of().out_evictions_ahead);
	EXPECT_EQ(info_of().out_evictions, info_of().out_evictions_ahead);
	/* No fault or prefetch had to evict. */
	EXPECT_EQ(0, stats_of(A).out_evictions);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
}

TEST_F(oversubscribe, evicted_page_reports_cause_and_time)
{
	struct hmmrt_page page;

	pages_fill(buf, DEVICE_BYTES + BLOCK_BYTES, 1);
	ASSERT_EQ(0, prefetch(A, buf, DEVICE_BYTES));
	ASSERT_EQ(0, prefetch(A, buf + DEVICE_BYTES, BLOCK_BYTES));
	ASSERT_EQ(0, cmd_pages(space, buf, PAGE_BYTES, &page));
	EXPECT_EQ(HOST, page.location);
	EXPECT_EQ(HMMRT_CAUSE_EVICTION, page.cause);
	EXPECT_NE(0, page.time);
	EXPECT_EQ(0, page.mapped_by & 1u << id_of(A));
}

TEST_F(oversubscribe, can_be_disabled_for_one_device)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, cmd_set_knob(space, HMMRT_SCOPE_DEVICE, id_of(A),
				  HMMRT_KNOB_OVERSUBSCRIPTION, 0));
	PLACE(A, buf, DEVICE_BYTES, 1);
	ASSERT_EQ(0,
		  prefetch_result(A, buf + DEVICE_BYTES, BLOCK_BYTES, &result));
	EXPECT_EQ(BLOCK_PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	EXPECT_EQ(0, info_of().out_evictions);
}

/*
 * Without oversubscription no data is lost, and the outcome and the counters
 * show why pages stay in system memory.
 */
TEST_F(oversubscribe, can_be_disabled)
{
	struct hmmrt_prefetch result;
	struct hmmrt_stats stats;
	uint64_t refused;

	ASSERT_TRUE(set_oversubscription(false));
	pages_fill(buf, 2 * DEVICE_BYTES, 1);
	ASSERT_EQ(0, prefetch(A, buf, DEVICE_BYTES));
	ASSERT_EQ(0,
		  prefetch_result(A, buf + DEVICE_BYTES, BLOCK_BYTES, &result));
	EXPECT_EQ(BLOCK_PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	refused = stats_of(A).out_memory_refusals;
	EXPECT_EQ(1, refused);
	ASSERT_SUM(A, buf, 2 * DEVICE_BYTES, 1);
	EXPECT_AT(A, buf, DEVICE_BYTES);
	stats = stats_of(A);
	EXPECT_EQ(0, stats.out_evictions);
	/* At least one refused fault for each of the other blocks. */
	EXPECT_LE(refused + CHUNKS - 1, stats.out_memory_refusals);
	EXPECT_EQ(0, stats.out_quota_refusals);
}

/*
 * Device memory that holds duplicates is evicted, too. Their pages keep their
 * contents in system memory.
 */
TEST_F(oversubscribe, duplicates_are_evicted)
{
	char *rest = buf + DEVICE_BYTES;
	struct hmmrt_prefetch result;

	pages_fill(buf, 2 * DEVICE_BYTES, 1);
	ASSERT_EQ(0, advise(buf, DEVICE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, prefetch(A, buf, DEVICE_BYTES));
	ASSERT_EQ((int64_t)DEVICE_BYTES, device_used_bytes(space, id_of(A)));
	ASSERT_EQ(0, prefetch_result(A, rest, BLOCK_BYTES, &result));
	EXPECT_EQ(BLOCK_PAGES, result.out_pages_moved);
	ASSERT_DONE(dev_fill(A, rest, DEVICE_BYTES, 5000));
	EXPECT_AT(A, rest, DEVICE_BYTES);
	ASSERT_SUM(A, buf, DEVICE_BYTES, 1);
	pages_fill(buf, DEVICE_BYTES, 9);
	ASSERT_SUM(A, buf, DEVICE_BYTES, 9);
	EXPECT_EQ(-1, pages_check(rest, DEVICE_BYTES, 5000));
	EXPECT_EQ(-1, pages_check(buf, DEVICE_BYTES, 9));
}

/*
 * Each chunk gets a part of every block. The first eviction takes the entries
 * of all parts, but the pages that leave later count, too.
 */
TEST_F(oversubscribe, pages_of_all_chunks_of_a_block_count_as_evicted)
{
	const size_t part = 16 * PAGE_BYTES;
	const size_t parts = DEVICE_BYTES / (AREA / BLOCK_BYTES) / part;
	char *more = ANON(DEVICE_BYTES);

	pages_fill(buf, AREA, 1);
	ASSERT_EQ(0, advise_value(buf, AREA, SET_GRANULARITY, part));
	for (size_t i = 0; i < parts; i++)
		for (char *at = buf; at < buf + AREA; at += BLOCK_BYTES)
			ASSERT_DONE(dev_read(A, at + i * part));
	ASSERT_EQ((long)DEVICE_PAGES, count_at(A, buf, AREA));

	PLACE(A, more, DEVICE_BYTES / 2, 1);
	EXPECT_EQ(CHUNKS / 2, stats_of(A).out_evictions);
	EXPECT_EQ((long)DEVICE_PAGES / 2, count_at(A, buf, AREA));
	EXPECT_EQ(DEVICE_PAGES / 2, stats_of(A).out_evicted_pages);
	EXPECT_EQ(-1, pages_check(buf, AREA, 1));
}

TEST_F(oversubscribe, chunk_of_one_block_is_evicted_in_one_invalidation)
{
	uint64_t invalidations;

	PLACE(A, buf, DEVICE_BYTES, 1);
	PLACE(HOST, buf + DEVICE_BYTES, BLOCK_BYTES, 1000);
	invalidations = stats_of(A).out_invalidations;
	MOVE(A, buf + DEVICE_BYTES, BLOCK_BYTES);
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_evicted_pages);
	/* One more for the block that moved to the device. */
	EXPECT_GE(invalidations + 4, stats_of(A).out_invalidations);
	EXPECT_EQ(-1, pages_check(buf, DEVICE_BYTES, 1));
}

/* Other memory on the device is where the memory of the second chunk was. */
TEST_F(oversubscribe, memory_that_was_moved_by_mremap_is_evicted)
{
	char *there = buf + 2 * DEVICE_BYTES, *more = buf + DEVICE_BYTES;
	char *other = buf + BLOCK_BYTES;

	PLACE(A, buf, DEVICE_BYTES, 1);
	ASSERT_EQ(there, mremap(buf, DEVICE_BYTES, DEVICE_BYTES,
				MREMAP_MAYMOVE | MREMAP_FIXED, there));
	ASSERT_TRUE(map_anon_at(buf, DEVICE_BYTES));
	ASSERT_AT(A, there, DEVICE_BYTES);
	PLACE(A, other, BLOCK_BYTES, 5000);
	PLACE(A, more, DEVICE_BYTES - BLOCK_BYTES, 9000);
	EXPECT_AT(HOST, there, DEVICE_BYTES);
	EXPECT_AT(A, other, BLOCK_BYTES);
	/* They don't count, because the device has not used them since. */
	EXPECT_EQ(0, stats_of(A).out_evicted_pages);
	EXPECT_EQ(-1, pages_check(there, DEVICE_BYTES, 1));
	EXPECT_EQ(-1, pages_check(other, BLOCK_BYTES, 5000));
	EXPECT_EQ(-1, pages_check(more, DEVICE_BYTES - BLOCK_BYTES, 9000));
}

/* Some pages of a block are in another chunk than the rest. */
TEST_F(oversubscribe, pages_of_another_chunk_stay)
{
	const size_t pages = 64, len = pages * PAGE_BYTES;
	char *hole = buf + 128 * PAGE_BYTES, *there = buf + DEVICE_BYTES;
	char *more = buf + 2 * DEVICE_BYTES;

	PLACE(A, buf, DEVICE_BYTES - BLOCK_BYTES, 1);
	ASSERT_EQ(there, mremap(hole, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
				there));
	ASSERT_TRUE(map_anon_at(hole, len));
	PLACE(A, hole, len, 5000);
	ASSERT_AT(A, buf, DEVICE_BYTES - BLOCK_BYTES);
	ASSERT_AT(A, there, len);
	ASSERT_EQ(0, stats_of(A).out_evictions);
	PLACE(A, more, BLOCK_BYTES, 9000);
	EXPECT_EQ(1, stats_of(A).out_evictions);
	EXPECT_AT(HOST, there, len);
	EXPECT_AT(A, hole, len);
	EXPECT_EQ((long)pages, count_at(A, buf, BLOCK_BYTES));
	EXPECT_LE(BLOCK_PAGES - pages, stats_of(A).out_evicted_pages);
	EXPECT_EQ(-1, pages_check(there, len, 129));
	EXPECT_EQ(-1, pages_check(hole, len, 5000));
	EXPECT_EQ(-1, pages_check(more, BLOCK_BYTES, 9000));
	EXPECT_EQ(-1, pages_check(buf, 128 * PAGE_BYTES, 1));
}

/* Take entries, and leave pages on the device. */
static bool protect(char *addr, size_t len)
{
	return !mprotect(addr, len, PROT_READ) && !mprotect(addr, len, RW);
}

static bool give_advice(char *addr, size_t len)
{
	return !advise(addr, len, SET_READ_MOSTLY) &&
	       !advise(addr, len, UNSET_READ_MOSTLY);
}

static bool (*const take[])(char *addr, size_t len) = { protect, give_advice };

TEST_F(oversubscribe, pages_without_entries_count_as_evicted)
{
	char *more = FILLED(DEVICE_BYTES);

	for (size_t i = 0; i < ARRAY_SIZE(take); i++) {
		char *at = FILLED(DEVICE_BYTES);
		uint64_t before;

		TH_LOG("way %zu", i);
		MOVE(HOST, more, DEVICE_BYTES);
		MOVE(A, at, DEVICE_BYTES);
		ASSERT_TRUE(take[i](at, DEVICE_BYTES));
		ASSERT_AT(A, at, DEVICE_BYTES);
		before = stats_of(A).out_evicted_pages;
		MOVE(A, more, DEVICE_BYTES);
		EXPECT_AT(HOST, at, DEVICE_BYTES);
		EXPECT_EQ(DEVICE_PAGES,
			  stats_of(A).out_evicted_pages - before);
		EXPECT_EQ(-1, pages_check(at, DEVICE_BYTES, 1));
		ASSERT_EQ(0, munmap(at, DEVICE_BYTES));
	}
}

/* Pages that a child has, too, count once for each process that had them. */
TEST_F(oversubscribe, pages_shared_by_fork_count_as_evicted)
{
	char *more = FILLED(DEVICE_BYTES);
	struct gate go = GATE();
	pid_t child;

	PLACE(A, buf, DEVICE_BYTES, 1);
	child = CHILD(!gate_wait(&go) ||
		      pages_check(buf, DEVICE_BYTES, 1) != -1);
	ASSERT_LT(0, child);
	ASSERT_AT(A, buf, DEVICE_BYTES);
	MOVE(A, more, DEVICE_BYTES);
	EXPECT_EQ(DEVICE_PAGES, stats_of(A).out_evicted_pages);
	ASSERT_TRUE(gate_open(&go));
	EXPECT_EQ(0, process_wait(child));
	/* The CPU moves the other pages back: those are not evicted. */
	EXPECT_EQ(-1, pages_check(more, DEVICE_BYTES, 1));
	MOVE(A, buf, DEVICE_BYTES);
	EXPECT_EQ(DEVICE_PAGES, stats_of(A).out_evicted_pages);
}

#define HOT	(amount(3, 2) * BLOCK_BYTES)
#define COLD	(amount(AREA, 3 * DEVICE_BYTES) - HOT)

/*
 * Reads the hot blocks again after each write to a cold block. The cold blocks
 * take several times the memory of the device. Returns how many of the hot pages
 * are on the device in the end.
 */
static size_t hot_and_cold(struct __test_metadata *_metadata)
{
	char *hot = buf, *cold = buf + HOT;

	pages_fill(buf, HOT + COLD, 1);
	for (size_t at = 0; at < COLD; at += BLOCK_BYTES) {
		ASSERT_SUM(A, hot, HOT, 1);
		ASSERT_DONE(dev_fill(A, cold + at, BLOCK_BYTES, at));
	}
	return (size_t)count_at(A, hot, HOT);
}

/*
 * Eviction by access: pages with entries that the device uses are evicted last.
 */
TEST_F(oversubscribe, frequently_used_pages_stay)
{
	struct hmmrt_stats stats;

	EXPECT_EQ(HOT / PAGE_BYTES, hot_and_cold(_metadata));
	stats = stats_of(A);
	EXPECT_LT(0, stats.out_evictions);
	EXPECT_EQ(0, stats.out_thrashing_faults);

	/*
	 * Without it the hot pages move back and forth until they stay in system
	 * memory because of thrashing.
	 */
	ASSERT_TRUE(set_evict_by_access(false));
	EXPECT_GT(HOT / PAGE_BYTES, hot_and_cold(_metadata));
	stats = stats_of(A);
	EXPECT_LT(0, stats.out_thrashing_faults);
}

/*
 * Both devices work on all of the memory in turns. Each has memory for less
 * than half of it.
 */
TEST_F(oversubscribe, two_devices_take_turns_on_all_memory)
{
	unsigned int round;

	pages_fill(buf, MOST, 1);
	for (round = 1; round < 3; round++) {
		ASSERT_DONE(dev_fill(round % 2, buf, MOST, 1000 * round));
		ASSERT_SUM((round + 1) % 2, buf, MOST, 1000 * round);
	}
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_LT(0, stats_of(B).out_evictions);
	EXPECT_EQ(-1, pages_check(buf, MOST, 1000 * (round - 1)));
}

/*
 * Each device fills a half at the same time, while the process prefetches to
 * the first one.
 */
TEST_F(oversubscribe, two_devices_and_a_prefetch_lose_no_write)
{
	const size_t half = MOST / 2, own = DEVICE_BYTES / 2;
	const unsigned int rounds = amount(20, 5);
	char *other = FILLED(own);

	for (unsigned int device = 0; device < 2; device++) {
		const uint64_t args[] = { (uintptr_t)buf + device * half, half,
					  PAGE_BYTES, 1000 * device };

		agent_post(agent_of(device), 0, AGENT_FILL, args,
			   ARRAY_SIZE(args));
	}
	for (unsigned int round = 0; round < rounds; round++) {
		ASSERT_EQ(0, prefetch(A, other, own));
		ASSERT_EQ(-1, pages_check(other, own, 1 + round));
		pages_fill(other, own, 2 + round);
	}
	for (unsigned int device = 0; device < 2; device++) {
		ASSERT_DONE(dev_wait(device, 0, LIMIT_S));
		EXPECT_EQ(-1, pages_check(buf + device * half, half,
					  1000 * device));
	}
}

/* --- several processes ---------------------------------------------------- */

FIXTURE(processes) {
	char parameters[SIMGPU_PARAMETERS];
	int64_t used;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(processes)
{
	NEED_MODULES();
	ASSERT_EQ(0, simgpu_replace(self->parameters, two_devices(LESS_BYTES)));
	self->fd = open_manager();
	ASSERT_EQ(0, device_named(self->fd, "hmmrt-gpu0", &self->id));
	ASSERT_EQ(0, evict_always(self->fd, self->id));
}

FIXTURE_TEARDOWN(processes)
{
	if (!self->parameters[0])
		return;
	close(self->fd);
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/*
 * Fills and sums @len bytes again and again. Returns 0 if all values were
 * right.
 */
static int fill_and_sum(size_t len, unsigned int rounds)
{
	char *buf = arena_anon(len);
	struct outcome outcome;
	int rc = 1;

	if (!buf || session_start(&session, 1, 1))
		return 2;
	for (unsigned int round = 0; round < rounds; round++) {
		const uint64_t first = getpid() + 100000ULL * round;

		outcome = dev_fill(A, buf, len, first);
		if (outcome.error || outcome.signal)
			goto out;
		outcome = dev_sum(A, buf, len);
		if (outcome.error || outcome.signal ||
		    outcome.value != pages_sum(len, first) ||
		    (round % 2 && pages_check(buf, len, first) != -1))
			goto out;
	}
	rc = 0;
out:
	/*
	 * Not session_end(), which checks that the device memory is free: other
	 * processes still use the device. The test checks that at its end.
	 */
	session_unbind(&session, A);
	close(session.space);
	return rc;
}

static pid_t start_process(size_t len, unsigned int rounds)
{
	return CHILD(fill_and_sum(len, rounds));
}

/* Three processes use three or six times the memory of the device. */
TEST_F(processes, three_share_a_device)
{
	pid_t pids[3];

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		pids[i] = start_process(SHARE_BYTES, 2);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		EXPECT_EQ(0, process_wait(pids[i]));
	EXPECT_EQ(0, device_used_bytes(self->fd, self->id));
}

/* Set before the agent is forked. */
static uint64_t count_rounds;

static void count_up(uint64_t *words, size_t count)
{
	for (uint64_t round = 0; round < count_rounds; round++)
		for (size_t i = 0; i < count; i += ROW)
			__atomic_fetch_add(&words[i], 1, __ATOMIC_RELAXED);
}

/* Returns how many pages do not have the count @expected. */
static size_t miscounted(uint64_t expected)
{
	size_t wrong = 0;

	for (size_t i = 0; i < area_words; i += ROW)
		wrong += area[i] != expected;
	return wrong;
}

/* Removes all device entries with each call. The pages stay where they are. */
static void take_entries(void *arg)
{
	int *rc = arg;

	if (!*rc)
		*rc = advise(area, area_words * sizeof(*area),
			     UNSET_READ_MOSTLY);
}

/*
 * Two lanes count in every page. Another process evicts the pages, this one
 * prefetches them back, and advice removes the entries. A write through a stale
 * entry would lose a count.
 */
TEST_F(processes, concurrent_invalidations_lose_no_write)
{
	struct loop taker;
	int taker_rc = 0;
	pid_t other;

	area_words = SHARE_BYTES / sizeof(*area);
	area = ANON(SHARE_BYTES);
	job = count_up;
	count_rounds = amount(6, 2);
	DEVICES_SETUP(.lanes = 2);
	other = start_process(SHARE_BYTES, 2);
	for (unsigned int lane = 0; lane < 2; lane++)
		DEV_POST(A, lane, AGENT_CALL, (uintptr_t)run_job);
	ASSERT_EQ(0, loop_start(&taker, take_entries, &taker_rc));
	for (unsigned int lane = 0; lane < 2;) {
		struct outcome outcome = dev_wait(A, lane, 0);

		lane += outcome.error != -ETIMEDOUT;
		EXPECT_EQ(0, prefetch(HOST, area, SHARE_BYTES));
	}
	ASSERT_EQ(0, loop_stop(&taker));
	EXPECT_EQ(0, taker_rc);
	for (unsigned int lane = 0; lane < 2; lane++)
		ASSERT_DONE(dev_wait(A, lane, 0));
	EXPECT_EQ(0, miscounted(2 * count_rounds));
	EXPECT_EQ(0, process_wait(other));
	session_unbind(&session, A);
	close(session.space);
}

/*
 * Processes that are killed at any moment, also during an eviction, do not harm
 * another process and give all device memory back.
 */
TEST_F(processes, killed_processes_do_not_harm_others)
{
	unsigned int seed = test_seed();
	pid_t victim, other;

	other = start_process(SHARE_BYTES, 3);
	for (unsigned int round = 0; round < 6; round++) {
		victim = start_process(SHARE_BYTES, 1000);
		usleep(100000 + rand_r(&seed) % 400000);
		ASSERT_EQ(0, process_kill(victim));
	}
	EXPECT_EQ(0, process_wait(other));
	/* The agents of the killed processes end asynchronously. */
	WAIT_UNTIL(!device_used_bytes(self->fd, self->id), 10);
	EXPECT_EQ(0, device_used_bytes(self->fd, self->id));
}

/* --- a device of one chunk ------------------------------------------------ */

/* Each instruction reads from one block and writes to another. */
static void copy_back_and_forth(uint64_t *words, size_t count)
{
	const size_t half = count / 2;

	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < half; i += ROW) {
			uint64_t *to = words + half + i, *from = words + i;
			size_t n = ROW;

			asm volatile("rep movsq"
				     : "+D"(to), "+S"(from), "+c"(n)
				     :
				     : "memory");
		}
		words[round]++;
	}
}

FIXTURE(tiny) {
};

FIXTURE_SETUP(tiny)
{
	area_words = 4 * BLOCK_BYTES / sizeof(*area);
	area = ANON(4 * BLOCK_BYTES);
	job = copy_back_and_forth;
	DEVICES_SETUP(.load = "devices=1 memory=2");
}

DEVICES_FIXTURE_TEARDOWN(tiny)

static void try_to_copy(struct __test_metadata *_metadata, bool read_mostly)
{
	for (size_t i = 0; i < area_words; i++)
		area[i] = 3 * i;
	if (read_mostly)
		ASSERT_EQ(0, advise(area, 2 * BLOCK_BYTES, SET_READ_MOSTLY));
	DEV_POST(A, 0, AGENT_CALL, (uintptr_t)run_job);
	ASSERT_DONE(dev_wait(A, 0, LIMIT_S));
	area[1]--;
	for (size_t i = 0; i < area_words / 2; i++)
		ASSERT_EQ(area[i], area[area_words / 2 + i]);
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_LT(0, stats_of(A).out_thrashing_faults);
}

/*
 * A device with memory for one block completes an instruction that accesses
 * two.
 */
TEST_F(tiny, instruction_over_device_size_completes)
{
	try_to_copy(_metadata, false);
}

TEST_F(tiny, instruction_with_duplicate_over_device_size_completes)
{
	try_to_copy(_metadata, true);
}

/*
 * A block that was evicted again and again stays in system memory, but other
 * memory at its address does not.
 */
TEST_F(tiny, thrashing_ends_with_the_memory)
{
	char *const blocks = (char *)area;
	const size_t len = 2 * BLOCK_BYTES;

	/* The pin lasts longer than the test, however slow the machine is. */
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_PIN, 100000));
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_EPOCH, 100000));
	pages_fill(blocks, len, 1);
	for (unsigned int i = 0; !stats_of(A).out_thrash_pins; i++) {
		ASSERT_LT(i, 20);
		ASSERT_DONE(dev_sum(A, blocks + i % 2 * BLOCK_BYTES,
				    BLOCK_BYTES));
	}
	ASSERT_EQ(0, munmap(blocks, len));
	ASSERT_TRUE(map_anon_at(blocks, len));
	pages_fill(blocks, len, 1);
	for (char *at = blocks; at < blocks + len; at += BLOCK_BYTES) {
		ASSERT_DONE(dev_sum(A, at, BLOCK_BYTES));
		EXPECT_AT(A, at, BLOCK_BYTES);
	}
}

/* A long pin ends before its time if the device is not too small any more. */
TEST_F(tiny, thrashing_ends_when_memory_gets_free)
{
	char *const blocks = (char *)area;
	const time_t end = time(NULL) + 30;
	char *pinned = blocks, *other = blocks + BLOCK_BYTES;

	/* 50 s at least; a lapse is half a millisecond or longer. */
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_PIN, 100000));
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_EPOCH, 100000));
	pages_fill(blocks, 2 * BLOCK_BYTES, 1);
	for (unsigned int i = 0; !stats_of(A).out_thrash_pins; i++) {
		ASSERT_LT(i, 20);
		ASSERT_DONE(dev_sum(A, blocks + i % 2 * BLOCK_BYTES,
				    BLOCK_BYTES));
	}
	if (count_at(A, pinned, BLOCK_BYTES)) {
		pinned = other;
		other = blocks;
	}
	ASSERT_EQ(0, munmap(other, BLOCK_BYTES));
	while (!stats_of(A).out_thrash_unpins) {
		ASSERT_LT(time(NULL), end);
		usleep(10000);
	}
	ASSERT_DONE(dev_sum(A, pinned, BLOCK_BYTES));
	EXPECT_AT(A, pinned, BLOCK_BYTES);
}

TEST_HARNESS_MAIN
