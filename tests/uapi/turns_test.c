// SPDX-License-Identifier: MIT
/*
 * CPU and device take turns on the same pages, many times. Each turn checks
 * what the other side wrote. The manager's counters show whether pages moved.
 */
#include <sched.h>

#include "lib/amount.h"
#include "lib/fixture.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)

DEVICES_FIXTURE(turns)

/* Writes every word of the page but the first, which the turns use. */
static void paint(uint64_t *page, uint64_t seed)
{
	for (size_t i = 1; i < PAGE_BYTES / sizeof(*page); i++)
		page[i] = seed + i;
}

static bool is_painted(const uint64_t *page, uint64_t seed)
{
	for (size_t i = 1; i < PAGE_BYTES / sizeof(*page); i++)
		if (page[i] != seed + i)
			return false;
	return true;
}

/*
 * Such short turns are thrashing: the page soon stays in system memory, and
 * most turns of the device are remote accesses.
 */
TEST_F_TIMEOUT(turns, thousands_of_turns_on_one_page_lose_no_write, 500)
{
	const uint64_t turns = amount(10000, 2000);
	uint64_t *word = ANON(PAGE_BYTES);

	paint(word, 77);
	for (uint64_t i = 0; i < turns; i += 2) {
		ASSERT_VALUE(i, dev_read(A, word));
		ASSERT_DONE(dev_write(A, word, i + 1));
		ASSERT_EQ(i + 1, *word);
		*word = i + 2;
	}
	ASSERT_TRUE(is_painted(word, 77));
}

/*
 * A prefetch before each turn of the device: each round is one migration to the
 * device and one back.
 */
TEST_F_TIMEOUT(turns, page_prefetched_before_each_turn_loses_no_write, 500)
{
	const uint64_t rounds = amount(1000, 200);
	uint64_t *word = ANON(PAGE_BYTES);
	struct hmmrt_stats stats;

	for (uint64_t i = 0; i < rounds; i++) {
		word[0] = i;
		paint(word, i);
		ASSERT_EQ(0, prefetch(A, word, PAGE_BYTES));
		ASSERT_VALUE(i, dev_read(A, word));
		ASSERT_VALUE(i + 511, dev_read(A, word + 511));
		ASSERT_DONE(dev_write(A, word, ~i));
		ASSERT_EQ(~i, word[0]);
		ASSERT_TRUE(is_painted(word, i));
	}
	stats = stats_of(A);
	EXPECT_EQ(rounds, stats.out_migrated_to_device);
	EXPECT_EQ(rounds, stats.out_migrated_to_host);
}

/* Faults alone migrate the pages. Thrashing detection is off. */
TEST_F_TIMEOUT(turns, consecutive_windows_migrate_in_each_turn, 500)
{
	const uint64_t rounds = amount(500, 100);
	char *buf = ANON(2 * GRANULE_BYTES);
	struct hmmrt_stats stats;

	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_ENABLE, 0));
	pages_fill(buf, 2 * GRANULE_BYTES, 0);
	for (uint64_t i = 0; i < 2 * rounds; i++) {
		char *window = buf + i % 2 * GRANULE_BYTES;

		pages_fill(window, GRANULE_BYTES, i);
		ASSERT_VALUE(16 * i + 120, dev_sum(A, window, GRANULE_BYTES));
		ASSERT_FILLS(A, window, GRANULE_BYTES, 10 * i);
	}
	stats = stats_of(A);
	EXPECT_LE(16 * rounds, stats.out_migrated_to_device);
	EXPECT_EQ(stats.out_migrated_to_device, stats.out_migrated_to_host);
}

/*
 * Prefetches move two blocks back and forth. Each page has different contents.
 */
TEST_F_TIMEOUT(turns, blocks_prefetched_both_ways_keep_their_contents, 500)
{
	const size_t len = 2 * BLOCK_BYTES;
	const uint64_t rounds = amount(50, 10), pages = len / PAGE_BYTES;
	char *buf = ANON(len);
	struct hmmrt_stats stats;

	for (uint64_t i = 0; i < rounds; i++) {
		PLACE(A, buf, len, i);
		ASSERT_VALUE(pages * (pages - 1) / 2 + pages * i,
			     dev_sum(A, buf, len));
		ASSERT_DONE(dev_fill(A, buf, len, 1000 * i));
		ASSERT_EQ(0, prefetch(HOST, buf, len));
		ASSERT_EQ(-1, pages_check(buf, len, 1000 * i));
	}
	stats = stats_of(A);
	EXPECT_EQ(rounds * pages, stats.out_migrated_to_device);
	EXPECT_EQ(rounds * pages, stats.out_migrated_to_host);
}

/* --- several threads ------------------------------------------------------ */

#define READERS_MAX	8
#define READ_BYTES	(8 * BLOCK_BYTES)

struct readers {
	const char *buf;
	size_t len;
	unsigned int count;
	unsigned int ready;
};

/* Returns NULL if all pages hold what the device left there. */
static void *read_all(void *arg)
{
	struct readers *readers = arg;

	__atomic_add_fetch(&readers->ready, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&readers->ready, __ATOMIC_ACQUIRE) <
	       readers->count)
		sched_yield();
	return pages_check(readers->buf, readers->len, 7) == -1 ? NULL : arg;
}

/*
 * Moves the memory to the device. Then threads read it all, in the same order.
 * Returns the number of CPU faults, or 0 if something failed.
 */
static uint64_t faults_of(char *buf, unsigned int count)
{
	struct readers readers = { .buf = buf, .len = READ_BYTES, .count = count };
	pthread_t threads[READERS_MAX];
	bool good = true;
	uint64_t before;
	void *rc;

	if (prefetch(A, buf, READ_BYTES))
		return 0;
	before = stats_of(A).out_cpu_faults;
	for (unsigned int i = 0; i < count; i++)
		good &= !pthread_create(&threads[i], NULL, read_all, &readers);
	for (unsigned int i = 0; i < count && good; i++)
		good &= !pthread_join(threads[i], &rc) && !rc;
	return good ? stats_of(A).out_cpu_faults - before : 0;
}

/*
 * A thread that touches memory while another thread moves it must wait for the
 * move. It must not prevent the move or fault repeatedly.
 */
TEST_F(turns, threads_that_read_the_same_memory_share_its_faults)
{
	char *buf = ANON(READ_BYTES);
	uint64_t alone, together;

	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_ENABLE, 0));
	pages_fill(buf, READ_BYTES, 7);
	alone = faults_of(buf, 1);
	ASSERT_LT(0, alone);
	for (unsigned int count = 2; count <= READERS_MAX; count *= 2) {
		together = faults_of(buf, count);
		EXPECT_LT(0, together);
		EXPECT_GE(3 * alone, together)
		{
			TH_LOG("%u threads: %llu faults, one: %llu", count,
			       (unsigned long long)together,
			       (unsigned long long)alone);
		}
	}
}

TEST_HARNESS_MAIN
