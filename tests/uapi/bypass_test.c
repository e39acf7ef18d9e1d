// SPDX-License-Identifier: MIT
/*
 * A device that is full: memory that it touches stays where it is, until it was
 * used more than other memory of the process on the device.
 */
#include "lib/amount.h"
#include "lib/fixture.h"

#define DEVICE_BYTES	(8UL << 20)
#define DEVICE_PAGES	(DEVICE_BYTES / PAGE_BYTES)
#define CHUNKS		(DEVICE_BYTES / BLOCK_BYTES)
#define LIMIT_S		60

static int set_device_knob(uint32_t value)
{
	return cmd_set_knob(space, HMMRT_SCOPE_DEVICE, id_of(A),
			    HMMRT_KNOB_OVERSUBSCRIPTION, value);
}

DEVICES_FIXTURE(bypass, .lanes = 2, .bytes = 3 * DEVICE_BYTES, .by_use = true,
		.load = "devices=1 memory=8")

/* The device reads a range, again and again, until a condition holds. */
#define READ_UNTIL(condition, addr, len)				\
({									\
	const time_t _end = time(NULL) + LIMIT_S;			\
	unsigned int _n = 0;						\
									\
	while (!(condition) && time(NULL) < _end) {			\
		ASSERT_DONE(dev_sum(A, addr, len));			\
		_n++;							\
	}								\
	EXPECT_TRUE(condition);						\
	_n;								\
})

/* Fills the device with the first part of the memory, and leaves the second. */
static void fill(struct __test_metadata *_metadata)
{
	ASSERT_DONE(dev_sum(A, buf, DEVICE_BYTES));
	EXPECT_AT(A, buf, DEVICE_BYTES);
	ASSERT_DONE(dev_sum(A, buf + DEVICE_BYTES, DEVICE_BYTES));
	EXPECT_AT(HOST, buf + DEVICE_BYTES, DEVICE_BYTES);
}

TEST_F(bypass, what_does_not_fit_stays_and_is_used_there)
{
	unsigned int round;

	for (round = 0; round < 8; round++)
		ASSERT_DONE(dev_sum(A, buf, 2 * DEVICE_BYTES));
	EXPECT_EQ(0, stats_of(A).out_evictions);
	EXPECT_EQ(DEVICE_PAGES, stats_of(A).out_migrated_to_device);
	EXPECT_AT(A, buf, DEVICE_BYTES);
	EXPECT_AT(HOST, buf + DEVICE_BYTES, DEVICE_BYTES);
}

/* As the CPU moves the results back, device memory gets free. */
TEST_F(bypass, single_pass_moves_nothing_later)
{
	ASSERT_DONE(dev_sum(A, buf, 3 * DEVICE_BYTES));
	for (size_t at = 0; at < DEVICE_BYTES; at += BLOCK_BYTES) {
		ASSERT_EQ(-1, pages_check(buf + at, BLOCK_BYTES,
					  1 + at / PAGE_BYTES));
		usleep(10000);
	}
	EXPECT_EQ(0, count_at(A, buf, 3 * DEVICE_BYTES));
	EXPECT_EQ(DEVICE_PAGES, stats_of(A).out_migrated_to_device);
}

/*
 * The CPU takes its turn again and again. What the device used before that does
 * not go where the CPU's memory was.
 */
TEST_F(bypass, memory_that_the_cpu_freed_is_not_taken)
{
	char *second = buf + DEVICE_BYTES;
	const unsigned int turns = amount(8, 3);
	unsigned int turn, round;

	fill(_metadata);
	for (turn = 0; turn < turns; turn++) {
		for (round = 0; round < 10; round++) {
			ASSERT_DONE(dev_sum(A, buf, DEVICE_BYTES));
			ASSERT_DONE(dev_sum(A, second, DEVICE_BYTES));
		}
		ASSERT_EQ(-1, pages_check(buf, DEVICE_BYTES, 1));
		usleep(100000);
		ASSERT_EQ(0, count_at(A, buf, 2 * DEVICE_BYTES));
	}
	EXPECT_EQ(turns * DEVICE_PAGES, stats_of(A).out_migrated_to_device);
}

TEST_F(bypass, another_working_set_gets_the_device)
{
	char *second = buf + DEVICE_BYTES;

	fill(_metadata);
	READ_UNTIL(count_at(A, second, DEVICE_BYTES) == DEVICE_PAGES, second,
		   DEVICE_BYTES);
	EXPECT_AT(HOST, buf, DEVICE_BYTES);
	EXPECT_EQ(CHUNKS, stats_of(A).out_evictions);
	EXPECT_EQ(-1, pages_check(buf, 2 * DEVICE_BYTES, 1));
}

/* Memory that is in use all the time keeps its place. */
TEST_F(bypass, memory_in_use_is_not_evicted)
{
	const unsigned int rounds = amount(200, 100);
	unsigned int round;

	fill(_metadata);
	for (round = 0; round < rounds; round++) {
		ASSERT_DONE(dev_sum(A, buf, DEVICE_BYTES));
		ASSERT_DONE(dev_sum(A, buf + DEVICE_BYTES, BLOCK_BYTES));
	}
	EXPECT_EQ(0, stats_of(A).out_evictions);
	EXPECT_AT(A, buf, DEVICE_BYTES);
}

TEST_F(bypass, free_memory_is_taken_without_an_eviction)
{
	char *second = buf + DEVICE_BYTES;

	fill(_metadata);
	ASSERT_EQ(0, prefetch(HOST, buf, 2 * BLOCK_BYTES));
	READ_UNTIL(count_at(A, second, BLOCK_BYTES) == BLOCK_PAGES, second,
		   BLOCK_BYTES);
	EXPECT_EQ(0, stats_of(A).out_evictions);
}

/* Usually, only 128 free pages or the rest of a block are worth a move. */
TEST_F(bypass, small_quota_is_used_again_when_memory_gets_free)
{
	const size_t pages = 64, bytes = pages * PAGE_BYTES;
	char *second = buf + BLOCK_BYTES;

	ASSERT_EQ(0, cmd_set_quota(space, id_of(A), bytes,
				   HMMRT_PRIORITY_DEFAULT, NULL));
	ASSERT_DONE(dev_sum(A, buf, bytes));
	EXPECT_AT(A, buf, bytes);
	ASSERT_DONE(dev_sum(A, second, BLOCK_BYTES));
	EXPECT_AT(HOST, second, BLOCK_BYTES);
	ASSERT_EQ(0, prefetch(HOST, buf, bytes));
	READ_UNTIL(count_at(A, second, BLOCK_BYTES) == pages, second,
		   BLOCK_BYTES);
	EXPECT_EQ(0, stats_of(A).out_evictions);
}

/*
 * A part of the block fits at first. The rest of it is not forgotten.
 */
TEST_F(bypass, rest_of_a_block_follows_when_memory_gets_free)
{
	char *second = buf + BLOCK_BYTES;

	ASSERT_EQ(0, cmd_set_quota(space, id_of(A), 3 * BLOCK_BYTES / 2,
				   HMMRT_PRIORITY_DEFAULT, NULL));
	ASSERT_DONE(dev_sum(A, buf, 2 * BLOCK_BYTES));
	EXPECT_AT(A, buf, BLOCK_BYTES);
	READ_UNTIL(count_at(A, second, BLOCK_BYTES) == BLOCK_PAGES / 2, second,
		   BLOCK_BYTES);
	ASSERT_EQ(0, prefetch(HOST, buf, BLOCK_BYTES));
	READ_UNTIL(count_at(A, second, BLOCK_BYTES) == BLOCK_PAGES, second,
		   BLOCK_BYTES);
	EXPECT_EQ(0, stats_of(A).out_evictions);
}

/* A move brings no pages that nobody asked for; a fault brings 64 KiB. */
TEST_F(bypass, holes_are_left_as_they_are)
{
	const unsigned int blocks = 8;
	char *sparse = ANON(blocks * BLOCK_BYTES);
	const time_t end = time(NULL) + LIMIT_S;

	ASSERT_DONE(dev_sum(A, buf, DEVICE_BYTES));
	for (unsigned int i = 0; i < blocks; i++)
		sparse[i * BLOCK_BYTES] = 1;
	while (count_at(A, sparse, blocks * BLOCK_BYTES) < blocks) {
		ASSERT_LT(time(NULL), end);
		for (unsigned int i = 0; i < blocks; i++)
			ASSERT_VALUE(1, dev_read(A, sparse + i * BLOCK_BYTES));
	}
	EXPECT_LE(blocks * (BLOCK_PAGES - 16),
		  count_at(NONE, sparse, blocks * BLOCK_BYTES));
}

/* What access counters ask the driver for counts for both. */
TEST_F(bypass, access_counters_leave_the_use_of_blocks_that_stay)
{
	char *second = buf + DEVICE_BYTES;

	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE,
			      1));
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, 65535));
	fill(_metadata);
	READ_UNTIL(count_at(A, second, DEVICE_BYTES) == DEVICE_PAGES, second,
		   DEVICE_BYTES);
}

TEST_F(bypass, blocks_that_stay_follow_the_knob)
{
	char *second = buf + DEVICE_BYTES;

	fill(_metadata);
	ASSERT_EQ(0, set_device_knob(HMMRT_OVERSUBSCRIBE_ALWAYS));
	/* A single touch is no reason to go, but finds no entry any more. */
	READ_UNTIL(count_at(A, second, PAGE_BYTES) == 1, second, PAGE_BYTES);
}

TEST_F(bypass, prefetch_takes_the_place_of_older_memory_at_once)
{
	char *second = buf + DEVICE_BYTES;

	fill(_metadata);
	ASSERT_EQ(0, prefetch(A, second, 2 * BLOCK_BYTES));
	EXPECT_AT(A, second, 2 * BLOCK_BYTES);
	EXPECT_EQ(2, stats_of(A).out_evictions);
}

/* The state goes with the memory: new memory starts like any other. */
TEST_F(bypass, new_memory_at_the_same_addresses_goes_to_an_empty_device)
{
	const size_t len = 2 * DEVICE_BYTES;

	fill(_metadata);
	ASSERT_TRUE(map_anon_at(buf, len));
	pages_fill(buf, len, 1);
	ASSERT_DONE(dev_sum(A, buf + DEVICE_BYTES, DEVICE_BYTES));
	EXPECT_AT(A, buf + DEVICE_BYTES, DEVICE_BYTES);
}

TEST_F(bypass, each_touch_evicts_if_the_knob_says_so)
{
	ASSERT_EQ(0, set_device_knob(HMMRT_OVERSUBSCRIBE_ALWAYS));
	ASSERT_DONE(dev_sum(A, buf, 2 * DEVICE_BYTES));
	EXPECT_AT(A, buf + DEVICE_BYTES, DEVICE_BYTES);
	EXPECT_EQ(CHUNKS, stats_of(A).out_evictions);
}

TEST_F(bypass, nothing_is_evicted_if_the_knob_says_so)
{
	ASSERT_EQ(0, set_device_knob(HMMRT_OVERSUBSCRIBE_NEVER));
	ASSERT_DONE(dev_sum(A, buf, 2 * DEVICE_BYTES));
	ASSERT_EQ(0, prefetch(A, buf + DEVICE_BYTES, BLOCK_BYTES));
	EXPECT_AT(A, buf, DEVICE_BYTES);
	EXPECT_EQ(0, stats_of(A).out_evictions);
}

TEST_HARNESS_MAIN
