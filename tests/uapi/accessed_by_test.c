// SPDX-License-Identifier: MIT
/*
 * SET_ACCESSED_BY: the device gets its entries before it accesses the memory,
 * and gets them again after each invalidation. No page migrates for it.
 */
#include "lib/fixture.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)

DEVICES_FIXTURE(accessed_by, .devices = 2)

static uint64_t faults(unsigned int device)
{
	return stats_of(device).out_device_faults;
}

static uint64_t mapped(unsigned int device)
{
	return stats_of(device).out_mapped_pages;
}

/* A worker thread maps again after an invalidation, which takes a while. */
static bool wait_mapped(unsigned int device, uint64_t count)
{
	return WAIT_UNTIL(mapped(device) >= count, 10);
}

TEST_F(accessed_by, maps_pages_without_faults_or_migration)
{
	char *buf = FILLED(BLOCK_BYTES);
	uint64_t before = faults(0);

	ASSERT_EQ(0, advise_at(buf, BLOCK_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(BLOCK_BYTES / PAGE_BYTES, mapped(0));
	ASSERT_FILLS(A, buf, BLOCK_BYTES, 7);
	ASSERT_AT(HOST, buf, BLOCK_BYTES);
	ASSERT_EQ(before, faults(0));
}

TEST_F(accessed_by, pages_are_mapped_again_after_each_invalidation)
{
	const uint64_t pages = GRANULE_BYTES / PAGE_BYTES;
	char *buf = FILLED(GRANULE_BYTES);
	uint64_t before;

	ASSERT_EQ(0, advise_at(buf, GRANULE_BYTES, SET_ACCESSED_BY, A));
	before = faults(0);
	/* Prefetch to the other device; CPU faults then migrate it back. */
	MOVE(B, buf, GRANULE_BYTES);
	ASSERT_LEFT(HOST, buf, GRANULE_BYTES, 1);
	ASSERT_TRUE(wait_mapped(0, 2 * pages));
	ASSERT_VALUE(pages * (pages + 1) / 2, dev_sum(A, buf, GRANULE_BYTES));
	/* Removing the write permission invalidates the entries again. */
	ASSERT_EQ(0, mprotect(buf, GRANULE_BYTES, PROT_READ));
	ASSERT_TRUE(wait_mapped(0, 3 * pages));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(before, faults(0));
	ASSERT_EQ(0, stats_of(A).out_migrated_to_device);
}

TEST_F(accessed_by, read_mostly_memory_is_mapped_when_it_shall_stay)
{
	const uint64_t pages = GRANULE_BYTES / PAGE_BYTES;
	char *buf = FILLED(GRANULE_BYTES);

	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(buf, GRANULE_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(0, mapped(0));
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, SET_NO_MIGRATE));
	ASSERT_TRUE(wait_mapped(0, pages));
	ASSERT_EQ(pages, mapped(0));
}

TEST_F(accessed_by, unset_ends_mapping_ahead_of_faults)
{
	char *buf = FILLED(GRANULE_BYTES);

	ASSERT_EQ(0, advise_at(buf, GRANULE_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(0, advise_at(buf, GRANULE_BYTES, UNSET_ACCESSED_BY, A));
	ASSERT_EQ(0, madvise(buf, GRANULE_BYTES, MADV_DONTNEED));
	ASSERT_DONE(dev_fill(A, buf, GRANULE_BYTES, 3));
	ASSERT_AT(A, buf, GRANULE_BYTES);
}

/* The worker still has blocks queued when the device is unbound. */
TEST_F(accessed_by, unbind_while_worker_has_queued_blocks)
{
	char *buf = FILLED(4 * BLOCK_BYTES);

	ASSERT_EQ(0, advise_at(buf, 4 * BLOCK_BYTES, SET_ACCESSED_BY, A));
	for (unsigned int i = 0; i < 50; i++) {
		ASSERT_EQ(0, mprotect(buf, 4 * BLOCK_BYTES, PROT_READ));
		ASSERT_EQ(0, mprotect(buf, 4 * BLOCK_BYTES, RW));
	}
	session_unbind(&session, A);
	ASSERT_EQ(0, mprotect(buf, 4 * BLOCK_BYTES, PROT_READ));
	ASSERT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 1));
}

TEST_HARNESS_MAIN
