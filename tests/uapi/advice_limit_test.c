// SPDX-License-Identifier: MIT
/*
 * The limit for the number of advice ranges of a process, and the calls that
 * exceed it.
 */
#include <errno.h>
#include <sys/mman.h>

#include "lib/harness.h"
#include "lib/object.h"
#include "lib/session.h"
#include "lib/setting.h"

#define LIMIT	"/sys/module/hmmrt/parameters/advice_ranges_max"
#define MOST	20
#define NONE	HMMRT_LOCATION_NONE

FIXTURE(limit) {
	struct session session;
	int fd;
	uint32_t id;
	char before[16];
};

FIXTURE_SETUP(limit)
{
	if (!read_word(LIMIT, self->before) || !write_text(LIMIT, "20"))
		SKIP(_exit(SKIPPED), "cannot set " LIMIT);
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->fd = self->session.space;
	self->id = self->session.devices[0].id;
}

FIXTURE_TEARDOWN(limit)
{
	EXPECT_TRUE(write_text(LIMIT, self->before));
	EXPECT_EQ(0, session_end(&self->session));
}

/* Advise pages 0, 2, ... 38. The last range has three pages. */
static void advise_to_limit(struct __test_metadata *_metadata, int fd,
			    char *buf)
{
	size_t i;

	ASSERT_NE(NULL, buf);
	for (i = 0; i < MOST; i++)
		EXPECT_EQ(0, cmd_advise(fd, buf + 2 * i * PAGE_BYTES,
					(i < MOST - 1 ? 1 : 3) * PAGE_BYTES,
					HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
}

TEST_F(limit, ranges_over_the_limit_are_refused)
{
	char *buf = arena_anon(64 * PAGE_BYTES);
	char *last = buf + 38 * PAGE_BYTES;
	const uint32_t dev = self->id;

	advise_to_limit(_metadata, self->fd, buf);
	/*
	 * Calls that need more ranges fail: new advice, a new range knob,
	 * unsetting the middle of a range (which splits it), and filling all
	 * gaps.
	 */
	EXPECT_EQ(-ENOMEM, cmd_advise(self->fd, buf + 50 * PAGE_BYTES,
				      PAGE_BYTES, HMMRT_ADVICE_SET_NO_MIGRATE,
				      0, 0));
	EXPECT_EQ(-ENOMEM, cmd_set_range_knob(self->fd, buf + 50 * PAGE_BYTES,
					      PAGE_BYTES, dev,
					      HMMRT_KNOB_READ_DUPLICATION, 1));
	EXPECT_EQ(-ENOMEM, cmd_advise(self->fd, last + PAGE_BYTES, PAGE_BYTES,
				      HMMRT_ADVICE_UNSET_READ_MOSTLY, 0, 0));
	EXPECT_EQ(-ENOMEM, cmd_advise(self->fd, buf, 64 * PAGE_BYTES,
				      HMMRT_ADVICE_SET_NO_MIGRATE, 0, 0));
	/*
	 * Calls that need no new range succeed: changing one, extending one,
	 * and unset calls that change nothing.
	 */
	EXPECT_EQ(0, cmd_advise(self->fd, buf, PAGE_BYTES,
				HMMRT_ADVICE_SET_GRANULARITY, 0, PAGE_BYTES));
	EXPECT_EQ(0, cmd_advise(self->fd, buf + 41 * PAGE_BYTES, PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	EXPECT_EQ(0, cmd_advise(self->fd, buf + 50 * PAGE_BYTES, PAGE_BYTES,
				HMMRT_ADVICE_UNSET_PREFERRED_LOCATION, 0, 0));
	EXPECT_EQ(0, cmd_advise(self->fd, buf, 64 * PAGE_BYTES,
				HMMRT_ADVICE_UNSET_NO_MIGRATE, 0, 0));
	/*
	 * munmap() in the middle of a range needs one more. It always succeeds,
	 * so the range keeps only the part before the hole.
	 */
	EXPECT_EQ(0, munmap(last + PAGE_BYTES, PAGE_BYTES));
	ASSERT_ATTRIBUTES(last, PAGE_BYTES, HMMRT_RANGE_READ_MOSTLY, 0, NONE,
			  NONE, 0);
	ASSERT_ATTRIBUTES(last + 2 * PAGE_BYTES, 2 * PAGE_BYTES, 0, 0, NONE,
			  NONE, 0);
	ASSERT_ATTRIBUTES(buf, PAGE_BYTES, HMMRT_RANGE_READ_MOSTLY, 0, NONE,
			  NONE, PAGE_BYTES);
}

/* What stays mapped of a memory object stays accessible. */
TEST_F(limit, access_to_objects_survives_a_hole_over_the_limit)
{
	int object = cmd_object_create(self->fd, 2 * BLOCK_BYTES, self->id, 0);
	char *mapped = object_map(object, 2 * BLOCK_BYTES,
				  PROT_READ | PROT_WRITE, 0);
	char *tail = mapped + BLOCK_BYTES;
	char *buf = arena_anon(64 * PAGE_BYTES);
	unsigned int ranges = 1;
	uint32_t access = 0;

	ASSERT_NE(NULL, mapped);
	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, cmd_set_access(self->fd, mapped, 2 * BLOCK_BYTES, self->id,
				    OBJECT_WRITE));
	while (!cmd_advise(self->fd, buf + 2 * ranges * PAGE_BYTES, PAGE_BYTES,
			   HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0))
		ranges++;
	EXPECT_EQ(MOST, ranges);
	ASSERT_EQ(0, munmap(mapped + PAGE_BYTES, BLOCK_BYTES - PAGE_BYTES));
	EXPECT_EQ(0, cmd_get_access(self->fd, tail, BLOCK_BYTES, self->id,
				    &access));
	EXPECT_EQ(OBJECT_WRITE, access);
	EXPECT_EQ(0, cmd_get_access(self->fd, mapped, PAGE_BYTES, self->id,
				    &access));
	EXPECT_EQ(OBJECT_WRITE, access);
	ASSERT_DONE(agent_fill(session_agent(&self->session), tail, PAGE_BYTES,
			       1, 9));
	object_unmap_all();
	close(object);
}

/* Removing a range allows one new range. Merging many ranges allows more. */
TEST_F(limit, removed_and_merged_ranges_make_room)
{
	char *buf = arena_anon(64 * PAGE_BYTES);

	advise_to_limit(_metadata, self->fd, buf);
	EXPECT_EQ(0, cmd_advise(self->fd, buf, PAGE_BYTES,
				HMMRT_ADVICE_UNSET_READ_MOSTLY, 0, 0));
	EXPECT_EQ(0, cmd_advise(self->fd, buf + 50 * PAGE_BYTES, PAGE_BYTES,
				HMMRT_ADVICE_SET_NO_MIGRATE, 0, 0));
	EXPECT_EQ(-ENOMEM, cmd_advise(self->fd, buf + 52 * PAGE_BYTES,
				      PAGE_BYTES, HMMRT_ADVICE_SET_NO_MIGRATE,
				      0, 0));
	EXPECT_EQ(0, cmd_advise(self->fd, buf, 39 * PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	EXPECT_EQ(0, cmd_advise(self->fd, buf + 52 * PAGE_BYTES, PAGE_BYTES,
				HMMRT_ADVICE_SET_NO_MIGRATE, 0, 0));
}

/* The ranges differ only in the device, so they merge when it is unbound. */
TEST_F(limit, ranges_that_an_unbind_makes_equal_count_as_one)
{
	char *buf = arena_anon(64 * PAGE_BYTES);
	size_t i;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, MOST * PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	for (i = 0; i < MOST; i += 2)
		ASSERT_EQ(0, cmd_advise(self->fd, buf + i * PAGE_BYTES,
					PAGE_BYTES, HMMRT_ADVICE_SET_ACCESSED_BY,
					self->id, 0));
	ASSERT_EQ(-ENOMEM, cmd_advise(self->fd, buf + (MOST + 1) * PAGE_BYTES,
				      PAGE_BYTES, HMMRT_ADVICE_SET_NO_MIGRATE,
				      0, 0));
	session_unbind(&self->session, 0);
	ASSERT_ATTRIBUTES(buf, MOST * PAGE_BYTES, HMMRT_RANGE_READ_MOSTLY, 0,
			  NONE, NONE, 0);
	for (i = 1; i < MOST; i++)
		EXPECT_EQ(0, cmd_advise(self->fd,
					buf + (MOST + 2 * i) * PAGE_BYTES,
					PAGE_BYTES, HMMRT_ADVICE_SET_NO_MIGRATE,
					0, 0));
	EXPECT_EQ(-ENOMEM, cmd_advise(self->fd, buf + 63 * PAGE_BYTES,
				      PAGE_BYTES, HMMRT_ADVICE_SET_NO_MIGRATE,
				      0, 0));
}

TEST_F(limit, prefetches_over_the_limit_are_made_but_not_recorded)
{
	char *buf = arena_anon(64 * PAGE_BYTES);
	size_t i;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, 64 * PAGE_BYTES, 1);
	for (i = 0; i < MOST + 1; i++)
		EXPECT_EQ(0, cmd_prefetch(self->fd, buf + 2 * i * PAGE_BYTES,
					  PAGE_BYTES, self->id, NULL));
	EXPECT_EQ(MOST + 1, pages_at(self->fd, buf, 64 * PAGE_BYTES, self->id));
	ASSERT_ATTRIBUTES(buf + 38 * PAGE_BYTES, PAGE_BYTES, 0, 0, NONE,
			  self->id, 0);
	ASSERT_ATTRIBUTES(buf + 40 * PAGE_BYTES, PAGE_BYTES, 0, 0, NONE, NONE,
			  0);
}

TEST_HARNESS_MAIN
