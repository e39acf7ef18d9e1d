// SPDX-License-Identifier: MIT
/*
 * How far a range has the attributes of its first page: out_alike_bytes of
 * HMMRT_IOC_RANGE_ATTRIBUTES. advice_test compares it with a model.
 */
#include "lib/fixture.h"

DEVICES_FIXTURE_SETUP(alike)
{
	buf = ANON(8 * PAGE_BYTES);
}

/* Returns out_alike_bytes in pages, or -1. */
static long alike_pages(char *buf, size_t first, size_t count)
{
	struct hmmrt_range_attributes is;

	if (cmd_range_attributes(space, buf + first * PAGE_BYTES,
				 count * PAGE_BYTES, &is))
		return -1;
	return (long)(is.out_alike_bytes / PAGE_BYTES);
}

TEST_F(alike, alike_bytes_end_where_an_attribute_changes)
{
	ASSERT_EQ(8, alike_pages(buf, 0, 8));
	ASSERT_EQ(0, advise(buf, 6 * PAGE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(buf + 4 * PAGE_BYTES, 2 * PAGE_BYTES,
			       SET_ACCESSED_BY, A));
	/* Knobs are not attributes. */
	ASSERT_EQ(0, set_range_knob(buf + PAGE_BYTES, PAGE_BYTES, A,
				    HMMRT_KNOB_PREFETCH_ENABLE, 0));
	EXPECT_EQ(4, alike_pages(buf, 0, 8));
	EXPECT_EQ(3, alike_pages(buf, 0, 3));
	EXPECT_EQ(2, alike_pages(buf, 4, 4));
	EXPECT_EQ(2, alike_pages(buf, 6, 2));
	ASSERT_EQ(0, prefetch(HOST, buf, 2 * PAGE_BYTES));
	EXPECT_EQ(2, alike_pages(buf, 0, 8));
	EXPECT_EQ(2, alike_pages(buf, 2, 6));
}

/*
 * The struct of a program compiled before the member was added ends before it.
 */
TEST_F(alike, alike_bytes_are_not_written_to_a_smaller_struct)
{
	struct hmmrt_range_attributes arg = {
		.size = offsetof(struct hmmrt_range_attributes,
				 out_alike_bytes),
		.addr = (uintptr_t)buf,
		.len = PAGE_BYTES,
		.out_alike_bytes = 7,
	};

	ASSERT_EQ(0, cmd_raw(space, HMMRT_IOC_RANGE_ATTRIBUTES, &arg));
	EXPECT_EQ(NONE, arg.out_preferred_location);
	EXPECT_EQ(7, arg.out_alike_bytes);
	arg.size = sizeof(arg);
	ASSERT_EQ(0, cmd_raw(space, HMMRT_IOC_RANGE_ATTRIBUTES, &arg));
	EXPECT_EQ(PAGE_BYTES, arg.out_alike_bytes);
}

TEST_HARNESS_MAIN
