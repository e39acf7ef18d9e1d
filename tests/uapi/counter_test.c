// SPDX-License-Identifier: MIT
/*
 * Access counters: memory that a device accesses often remotely migrates to the
 * device. The threshold is above 16, so that a granule of 16 pages with one
 * access to each page does not reach it.
 */
#include "lib/events.h"
#include "lib/fixture.h"
#include "lib/object.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)
#define GRANULE_PAGES	16
#define THRESHOLD	20
#define LIMIT_S		200

static int set_policy(uint32_t policy)
{
	return set_knob(A, HMMRT_KNOB_MIGRATION_POLICY, policy);
}

static int set_threshold(uint32_t threshold)
{
	return set_knob(A, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, threshold);
}

static int set_range_threshold(const volatile char *addr, size_t len,
			       uint32_t threshold)
{
	return set_range_knob(addr, len, A, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD,
			      threshold);
}

/* The buffer is a block, or two of a memory object. */
DEVICES_FIXTURE_SETUP(counter, .bytes = BLOCK_BYTES)
{
	ASSERT_EQ(0, set_threshold(THRESHOLD));
}

static char *granule(unsigned int index)
{
	return buf + index * GRANULE_BYTES;
}

static long pages_there(unsigned int index)
{
	return count_at(A, granule(index), GRANULE_BYTES);
}

static void touch_all(struct __test_metadata *_metadata)
{
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, count_at(A, buf, BLOCK_BYTES));
}

/* The device reads two granules in turns until the first one has migrated. */
static void use_until_there(struct __test_metadata *_metadata,
			    unsigned int first, unsigned int second)
{
	time_t began = time(NULL);

	while (pages_there(first) != GRANULE_PAGES) {
		ASSERT_LT(time(NULL) - began, LIMIT_S);
		ASSERT_VALUE(1 + first * GRANULE_PAGES,
			     dev_read(A, granule(first)));
		ASSERT_VALUE(1 + second * GRANULE_PAGES,
			     dev_read(A, granule(second)));
		usleep(5000);
	}
}

/*
 * Replaces the buffer by two blocks of a memory object, from @page of the object
 * on, fills its first @used pages, and sets the policy.
 */
static void count_object(struct __test_metadata *_metadata, size_t page,
			 size_t used)
{
	int object = FD(cmd_object_create(space, 3 * BLOCK_BYTES, HOST,
					  HMMRT_OBJECT_MIGRATABLE));

	buf = object_map(object, 2 * BLOCK_BYTES, RW, page * PAGE_BYTES);
	close(object);
	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, set_access(buf, 2 * BLOCK_BYTES, A, OBJECT_WRITE));
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	pages_fill(buf, used * PAGE_BYTES, 1);
}

/* The worker counts the pages only after they have moved. */
static struct hmmrt_stats wait_for_moves(void)
{
	WAIT_UNTIL(stats_of(A).out_counted_moves >= GRANULE_PAGES, LIMIT_S);
	return stats_of(A);
}

TEST_F_TIMEOUT(counter, hot_memory_moves_and_cold_memory_stays, 500)
{
	struct hmmrt_stats stats;
	struct hmmrt_page page;

	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	touch_all(_metadata);
	EXPECT_LT(0, stats_of(A).out_remote_pages);
	use_until_there(_metadata, 3, 3);

	ASSERT_EQ(0, cmd_pages(space, granule(3), PAGE_BYTES, &page));
	EXPECT_EQ(HMMRT_CAUSE_ACCESS_COUNTER, page.cause);
	EXPECT_EQ(GRANULE_PAGES, count_at(A, buf, BLOCK_BYTES));
	stats = wait_for_moves();
	/* May be more, if an access raced with the first move and undid it. */
	EXPECT_LE(GRANULE_PAGES, stats.out_counted_moves);
	EXPECT_EQ(stats.out_counted_moves, stats.out_migrated_to_device);
	/* Device writes must be visible to the CPU. */
	EXPECT_FILLS(A, buf, BLOCK_BYTES, 1000);
}

/*
 * The TLB has none of the first pages when the worker looks after a pass. It
 * counts a pass at least once.
 */
TEST_F_TIMEOUT(counter, memory_with_recorded_accesses_moves, 500)
{
	struct events accesses;

	ASSERT_EQ(0, events_open_type(&accesses, space, HMMRT_EVENT_ACCESS,
				      HMMRT_EVENTS_MIN));
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	touch_all(_metadata);
	for (unsigned int pass = 0; pass < 3 * THRESHOLD; pass++) {
		ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
		usleep(60000);
		if (pages_there(0) == GRANULE_PAGES)
			break;
	}
	EXPECT_EQ(GRANULE_PAGES, pages_there(0));
	events_close(&accesses);
}

TEST_F_TIMEOUT(counter, each_range_can_have_its_own_threshold, 500)
{
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, set_range_threshold(granule(4), GRANULE_BYTES, 65535));
	touch_all(_metadata);
	use_until_there(_metadata, 3, 4);
	EXPECT_EQ(0, pages_there(4));
	/* With a threshold below its count, the granule migrates. */
	ASSERT_EQ(0, set_range_threshold(granule(4), GRANULE_BYTES, 1));
	use_until_there(_metadata, 4, 4);
}

/*
 * The first four pages of the granule are unmapped; a knob applies from the
 * ninth.
 */
TEST_F_TIMEOUT(counter, partly_mapped_granule_moves_at_its_threshold, 500)
{
	const long left = GRANULE_PAGES - 4;
	volatile char *word = granule(3) + 8 * PAGE_BYTES;
	time_t began = time(NULL);

	ASSERT_EQ(0, munmap(granule(3), 4 * PAGE_BYTES));
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, set_threshold(65535));
	ASSERT_EQ(0, set_range_threshold(word, GRANULE_BYTES / 2, THRESHOLD));
	while (count_at(A, granule(3) + 4 * PAGE_BYTES, left * PAGE_BYTES) !=
	       left) {
		ASSERT_LT(time(NULL) - began, LIMIT_S);
		ASSERT_VALUE(1 + 3 * GRANULE_PAGES + 8, dev_read(A, word));
		usleep(5000);
	}
}

/* One range uses access counters; the other pages migrate on first touch. */
TEST_F_TIMEOUT(counter, policy_can_be_set_for_a_range, 500)
{
	ASSERT_EQ(0, set_range_knob(buf, GRANULE_BYTES, A,
				    HMMRT_KNOB_MIGRATION_POLICY,
				    HMMRT_MIGRATE_ON_COUNT));
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	EXPECT_EQ(0, pages_there(0));
	EXPECT_EQ(BLOCK_PAGES - GRANULE_PAGES, count_at(A, buf, BLOCK_BYTES));
	use_until_there(_metadata, 0, 1);
}

TEST_F_TIMEOUT(counter, advice_overrides_access_counters, 500)
{
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, advise_at(granule(4), GRANULE_BYTES,
			       SET_PREFERRED_LOCATION, HOST));
	ASSERT_EQ(0, advise(granule(5), GRANULE_BYTES, SET_NO_MIGRATE));
	touch_all(_metadata);
	use_until_there(_metadata, 3, 4);
	use_until_there(_metadata, 6, 5);
	EXPECT_EQ(0, pages_there(4));
	EXPECT_EQ(0, pages_there(5));
}

/* A memory object moves a block at a time. */
TEST_F_TIMEOUT(counter, hot_block_of_a_memory_object_moves, 500)
{
	const unsigned int stays = BLOCK_PAGES / GRANULE_PAGES + 3;
	struct hmmrt_stats stats;

	count_object(_metadata, 0, 2 * BLOCK_PAGES);
	ASSERT_EQ(0, advise(buf + BLOCK_BYTES, BLOCK_BYTES, SET_NO_MIGRATE));
	touch_all(_metadata);
	use_until_there(_metadata, 3, stays);
	EXPECT_EQ(BLOCK_PAGES, count_at(A, buf, 2 * BLOCK_BYTES));
	EXPECT_EQ(0, pages_there(stays));
	stats = wait_for_moves();
	EXPECT_EQ(BLOCK_PAGES, stats.out_counted_moves);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_device);
	EXPECT_FILLS(A, buf, 2 * BLOCK_BYTES, 1000);
	object_unmap_all();
}

/* The last granule of the first block is in two blocks of the object. */
TEST_F_TIMEOUT(counter, granule_in_two_blocks_of_an_object_moves_both, 500)
{
	const unsigned int last = BLOCK_PAGES / GRANULE_PAGES - 1;

	count_object(_metadata, 7, 2 * BLOCK_PAGES);
	touch_all(_metadata);
	use_until_there(_metadata, last, last);
	EXPECT_EQ(2 * BLOCK_PAGES - 7, count_at(A, buf, 2 * BLOCK_BYTES));
	object_unmap_all();
}

/* No one has used the second block of the object that the granule is in. */
TEST_F_TIMEOUT(counter, unused_block_of_a_hot_granule_stays_unused, 500)
{
	const size_t used = BLOCK_PAGES - 7;
	time_t began = time(NULL);

	count_object(_metadata, 7, used);
	while (count_at(A, buf, used * PAGE_BYTES) != (long)used) {
		ASSERT_LT(time(NULL) - began, LIMIT_S);
		ASSERT_VALUE(used, dev_read(A, buf + (used - 1) * PAGE_BYTES));
		usleep(5000);
	}
	EXPECT_EQ(BLOCK_PAGES, wait_for_moves().out_counted_moves);
	EXPECT_EQ(used, count_at(A, buf, 2 * BLOCK_BYTES));
	object_unmap_all();
}

/* Existing entries are counted from then on, without another fault. */
TEST_F_TIMEOUT(counter, counting_starts_when_it_is_enabled, 500)
{
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_NEVER));
	touch_all(_metadata);
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_TOUCH));
	touch_all(_metadata);
	ASSERT_EQ(0,
		  set_knob(A, HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE, 1));
	use_until_there(_metadata, 0, 0);
	EXPECT_LE(GRANULE_PAGES, wait_for_moves().out_counted_moves);
}

/* The counter's work ends with its binding, whatever it is doing. */
TEST_F_TIMEOUT(counter, binding_can_end_while_counting, 500)
{
	ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, set_threshold(1));
	for (unsigned int round = 0; round < 5; round++) {
		ASSERT_EQ(0, session_end(&session));
		ASSERT_EQ(0, session_start(&session, 1, 1));
		space = session.space;
		ASSERT_EQ(0, set_policy(HMMRT_MIGRATE_ON_COUNT));
		ASSERT_EQ(0, set_threshold(1));
		ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	}
}

TEST_HARNESS_MAIN
