// SPDX-License-Identifier: MIT
/*
 * How far a range has the attributes of its first page: out_alike_bytes of
 * HMMRT_IOC_RANGE_ATTRIBUTES. advice_test compares it with a model.
 */
#include <stddef.h>

#include "lib/harness.h"
#include "lib/session.h"

#define HOST	HMMRT_LOCATION_HOST
#define NONE	HMMRT_LOCATION_NONE

FIXTURE(alike) {
	struct session session;
	int fd;
	uint32_t id;
	char *buf;		/* eight pages */
};

FIXTURE_SETUP(alike)
{
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->fd = self->session.space;
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(8 * PAGE_BYTES);
	ASSERT_NE(NULL, self->buf);
}

FIXTURE_TEARDOWN(alike)
{
	EXPECT_EQ(0, session_end(&self->session));
}

/* Returns out_alike_bytes in pages, or -1. */
static long alike_pages(int fd, char *buf, size_t first, size_t count)
{
	struct hmmrt_range_attributes is;

	if (cmd_range_attributes(fd, buf + first * PAGE_BYTES,
				 count * PAGE_BYTES, &is))
		return -1;
	return (long)(is.out_alike_bytes / PAGE_BYTES);
}

TEST_F(alike, alike_bytes_end_where_an_attribute_changes)
{
	char *buf = self->buf;

	ASSERT_EQ(8, alike_pages(self->fd, buf, 0, 8));
	ASSERT_EQ(0, cmd_advise(self->fd, buf, 6 * PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_advise(self->fd, buf + 4 * PAGE_BYTES, 2 * PAGE_BYTES,
				HMMRT_ADVICE_SET_ACCESSED_BY, self->id, 0));
	/* Knobs are not attributes. */
	ASSERT_EQ(0, cmd_set_range_knob(self->fd, buf + PAGE_BYTES, PAGE_BYTES,
					self->id, HMMRT_KNOB_PREFETCH_ENABLE,
					0));
	EXPECT_EQ(4, alike_pages(self->fd, buf, 0, 8));
	EXPECT_EQ(3, alike_pages(self->fd, buf, 0, 3));
	EXPECT_EQ(2, alike_pages(self->fd, buf, 4, 4));
	EXPECT_EQ(2, alike_pages(self->fd, buf, 6, 2));
	ASSERT_EQ(0, cmd_prefetch(self->fd, buf, 2 * PAGE_BYTES, HOST, NULL));
	EXPECT_EQ(2, alike_pages(self->fd, buf, 0, 8));
	EXPECT_EQ(2, alike_pages(self->fd, buf, 2, 6));
}

/*
 * The struct of a program compiled before the member was added ends before it.
 */
TEST_F(alike, alike_bytes_are_not_written_to_a_smaller_struct)
{
	struct hmmrt_range_attributes arg = {
		.size = offsetof(struct hmmrt_range_attributes,
				 out_alike_bytes),
		.addr = (uintptr_t)self->buf,
		.len = PAGE_BYTES,
		.out_alike_bytes = 7,
	};

	ASSERT_EQ(0, cmd_raw(self->fd, HMMRT_IOC_RANGE_ATTRIBUTES, &arg));
	EXPECT_EQ(NONE, arg.out_preferred_location);
	EXPECT_EQ(7, arg.out_alike_bytes);
	arg.size = sizeof(arg);
	ASSERT_EQ(0, cmd_raw(self->fd, HMMRT_IOC_RANGE_ATTRIBUTES, &arg));
	EXPECT_EQ(PAGE_BYTES, arg.out_alike_bytes);
}

TEST_HARNESS_MAIN
