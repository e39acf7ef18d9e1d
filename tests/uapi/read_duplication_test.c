// SPDX-License-Identifier: MIT
/*
 * The knob read_duplication: pages that a device reads stay in system memory,
 * too, and are evicted without a copy back. Other tests of duplicates are in
 * duplicate_test.c. Loads hmmrt_simgpu with two small devices, and restores the
 * module and its parameters afterwards.
 */
#include "lib/fixture.h"

#define DEVICE_BYTES	(16UL << 20)
#define LEN		(2 * DEVICE_BYTES)

DEVICES_FIXTURE_SETUP(duplication, .load = "devices=2 memory=16", .bytes = LEN)
{
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_READ_DUPLICATION, 1));
}

TEST_F(duplication, read_pages_also_stay_in_system_memory)
{
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_copied_pages);
	EXPECT_EQ(0, stats_of(A).out_migrated_to_device);
	EXPECT_AT(HOST, buf, BLOCK_BYTES);
	EXPECT_EQ(BLOCK_BYTES, device_used_bytes(space, id_of(A)));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	EXPECT_EQ(0, stats_of(A).out_cpu_faults);
}

/*
 * After a write by the device or the CPU only one instance of the page is left.
 */
TEST_F(duplication, written_pages_migrate)
{
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	ASSERT_DONE(dev_fill(A, buf, BLOCK_BYTES, 50));
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_migrated_to_device);
	EXPECT_HAS(A, buf, BLOCK_BYTES, 50);
	ASSERT_SUM(A, buf, BLOCK_BYTES, 50);
	pages_fill(buf, BLOCK_BYTES, 90);
	ASSERT_SUM(A, buf, BLOCK_BYTES, 90);
	EXPECT_AT(HOST, buf, BLOCK_BYTES);
}

/*
 * All pages stay in system memory all the time: eviction copies nothing back.
 */
TEST_F(duplication, eviction_drops_duplicates)
{
	for (unsigned int round = 0; round < 3; round++) {
		ASSERT_SUM(A, buf, LEN, 1);
		EXPECT_AT(HOST, buf, LEN);
	}
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_LT(LEN / PAGE_BYTES, stats_of(A).out_copied_pages);
	EXPECT_EQ(0, stats_of(A).out_migrated_to_device);
	EXPECT_EQ(0, stats_of(A).out_migrated_to_host);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(duplication, prefetch_makes_duplicates)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, cmd_prefetch(space, buf, BLOCK_BYTES, id_of(A), &result));
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_copied_pages);
	EXPECT_AT(HOST, buf, BLOCK_BYTES);
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	EXPECT_EQ(0, stats_of(A).out_device_faults);
}

TEST_F(duplication, knob_can_be_set_for_a_range)
{
	ASSERT_EQ(0, set_range_knob(buf, BLOCK_BYTES, A,
				    HMMRT_KNOB_READ_DUPLICATION, 0));
	ASSERT_SUM(A, buf, 2 * BLOCK_BYTES, 1);
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_copied_pages);
	EXPECT_AT(A, buf, BLOCK_BYTES);
	EXPECT_AT(HOST, buf + BLOCK_BYTES, BLOCK_BYTES);
}

/* Duplicates that exist by then stay until they are evicted or written. */
TEST_F(duplication, unset_ends_duplication)
{
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_unset_knob(space, HMMRT_SCOPE_SPACE, id_of(A),
				    HMMRT_KNOB_READ_DUPLICATION));
	ASSERT_SUM(A, buf, 2 * BLOCK_BYTES, 1);
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_copied_pages);
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_migrated_to_device);
}

TEST_HARNESS_MAIN
