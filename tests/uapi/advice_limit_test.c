// SPDX-License-Identifier: MIT
/*
 * The limit for the number of advice ranges of a process, and the calls that
 * exceed it.
 */
#include "lib/fixture.h"
#include "lib/object.h"

#define LIMIT	"/sys/module/hmmrt/parameters/advice_ranges_max"
#define MOST	20

FIXTURE(limit) {
	char before[16];
};

FIXTURE_SETUP(limit)
{
	if (!read_word(LIMIT, self->before) || !write_text(LIMIT, "20"))
		SKIP(_exit(SKIPPED), "cannot set " LIMIT);
	DEVICES_SETUP();
	buf = ANON(64 * PAGE_BYTES);
}

FIXTURE_TEARDOWN(limit)
{
	EXPECT_TRUE(write_text(LIMIT, self->before));
	DEVICES_TEARDOWN();
}

static char *page(size_t index)
{
	return buf + index * PAGE_BYTES;
}

static int advise_pages(size_t first, size_t count, uint32_t advice)
{
	return advise(page(first), count * PAGE_BYTES, advice);
}

/* Advise pages 0, 2, ... 38. The last range has three pages. */
static void advise_to_limit(struct __test_metadata *_metadata)
{
	for (size_t i = 0; i < MOST; i++)
		EXPECT_EQ(0, advise_pages(2 * i, i < MOST - 1 ? 1 : 3,
					  SET_READ_MOSTLY));
}

TEST_F(limit, ranges_over_the_limit_are_refused)
{
	advise_to_limit(_metadata);
	/*
	 * Calls that need more ranges fail: new advice, a new range knob,
	 * unsetting the middle of a range (which splits it), and filling all
	 * gaps.
	 */
	EXPECT_EQ(-ENOMEM, advise_pages(50, 1, SET_NO_MIGRATE));
	EXPECT_EQ(-ENOMEM, set_range_knob(page(50), PAGE_BYTES, A,
					  HMMRT_KNOB_READ_DUPLICATION, 1));
	EXPECT_EQ(-ENOMEM, advise_pages(39, 1, UNSET_READ_MOSTLY));
	EXPECT_EQ(-ENOMEM, advise_pages(0, 64, SET_NO_MIGRATE));
	/*
	 * Calls that need no new range succeed: changing one, extending one,
	 * and unset calls that change nothing.
	 */
	EXPECT_EQ(0,
		  advise_value(buf, PAGE_BYTES, SET_GRANULARITY, PAGE_BYTES));
	EXPECT_EQ(0, advise_pages(41, 1, SET_READ_MOSTLY));
	EXPECT_EQ(0, advise_pages(50, 1, UNSET_PREFERRED_LOCATION));
	EXPECT_EQ(0, advise_pages(0, 64, UNSET_NO_MIGRATE));
	/*
	 * munmap() in the middle of a range needs one more. It always succeeds,
	 * so the range keeps only the part before the hole.
	 */
	EXPECT_EQ(0, munmap(page(39), PAGE_BYTES));
	ASSERT_ATTRIBUTES(page(38), PAGE_BYTES, HMMRT_RANGE_READ_MOSTLY, 0,
			  NONE, NONE, 0);
	ASSERT_ATTRIBUTES(page(40), 2 * PAGE_BYTES, 0, 0, NONE, NONE, 0);
	ASSERT_ATTRIBUTES(buf, PAGE_BYTES, HMMRT_RANGE_READ_MOSTLY, 0, NONE,
			  NONE, PAGE_BYTES);
}

/* What stays mapped of a memory object stays accessible. */
TEST_F(limit, access_to_objects_survives_a_hole_over_the_limit)
{
	int object = cmd_object_create(space, 2 * BLOCK_BYTES, id_of(A), 0);
	char *mapped = NOT_NULL(object_map(object, 2 * BLOCK_BYTES, RW, 0));
	char *tail = mapped + BLOCK_BYTES;
	unsigned int ranges = 1;
	uint32_t access = 0;

	ASSERT_EQ(0, set_access(mapped, 2 * BLOCK_BYTES, A, OBJECT_WRITE));
	while (!advise_pages(2 * ranges, 1, SET_READ_MOSTLY))
		ranges++;
	EXPECT_EQ(MOST, ranges);
	ASSERT_EQ(0, munmap(mapped + PAGE_BYTES, BLOCK_BYTES - PAGE_BYTES));
	EXPECT_EQ(0, get_access(tail, BLOCK_BYTES, A, &access));
	EXPECT_EQ(OBJECT_WRITE, access);
	EXPECT_EQ(0, get_access(mapped, PAGE_BYTES, A, &access));
	EXPECT_EQ(OBJECT_WRITE, access);
	ASSERT_DONE(agent_fill(agent_of(A), tail, PAGE_BYTES, 1, 9));
	object_unmap_all();
	close(object);
}

/* Removing a range allows one new range. Merging many ranges allows more. */
TEST_F(limit, removed_and_merged_ranges_make_room)
{
	advise_to_limit(_metadata);
	EXPECT_EQ(0, advise_pages(0, 1, UNSET_READ_MOSTLY));
	EXPECT_EQ(0, advise_pages(50, 1, SET_NO_MIGRATE));
	EXPECT_EQ(-ENOMEM, advise_pages(52, 1, SET_NO_MIGRATE));
	EXPECT_EQ(0, advise_pages(0, 39, SET_READ_MOSTLY));
	EXPECT_EQ(0, advise_pages(52, 1, SET_NO_MIGRATE));
}

/* The ranges differ only in the device, so they merge when it is unbound. */
TEST_F(limit, ranges_that_an_unbind_makes_equal_count_as_one)
{
	ASSERT_EQ(0, advise_pages(0, MOST, SET_READ_MOSTLY));
	for (size_t i = 0; i < MOST; i += 2)
		ASSERT_EQ(0,
			  advise_at(page(i), PAGE_BYTES, SET_ACCESSED_BY, A));
	ASSERT_EQ(-ENOMEM, advise_pages(MOST + 1, 1, SET_NO_MIGRATE));
	session_unbind(&session, A);
	ASSERT_ATTRIBUTES(buf, MOST * PAGE_BYTES, HMMRT_RANGE_READ_MOSTLY, 0,
			  NONE, NONE, 0);
	for (size_t i = 1; i < MOST; i++)
		EXPECT_EQ(0, advise_pages(MOST + 2 * i, 1, SET_NO_MIGRATE));
	EXPECT_EQ(-ENOMEM, advise_pages(63, 1, SET_NO_MIGRATE));
}

TEST_F(limit, prefetches_over_the_limit_are_made_but_not_recorded)
{
	pages_fill(buf, 64 * PAGE_BYTES, 1);
	for (size_t i = 0; i < MOST + 1; i++)
		EXPECT_EQ(0, prefetch(A, page(2 * i), PAGE_BYTES));
	EXPECT_EQ(MOST + 1, count_at(A, buf, 64 * PAGE_BYTES));
	ASSERT_ATTRIBUTES(page(38), PAGE_BYTES, 0, 0, NONE, id_of(A), 0);
	ASSERT_ATTRIBUTES(page(40), PAGE_BYTES, 0, 0, NONE, NONE, 0);
}

TEST_HARNESS_MAIN
