// SPDX-License-Identifier: MIT
/*
 * The knob read_duplication: pages that a device reads stay in system memory,
 * too, and are evicted without a copy back. Other tests of duplicates are in
 * duplicate_test.c. Loads hmmrt_simgpu with two small devices, and restores the
 * module and its parameters afterwards.
 */
#include <stdlib.h>

#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"

#define HOST		HMMRT_LOCATION_HOST
#define DEVICE_BYTES	(16UL << 20)
#define MODULE		"devices=2 memory=16"
#define LEN		(2 * DEVICE_BYTES)

FIXTURE(duplication) {
	char parameters[SIMGPU_PARAMETERS];
	struct session session;
	struct agent *agent;
	int space;
	uint32_t id;
	char *buf;
};

FIXTURE_SETUP(duplication)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, simgpu_replace(self->parameters, MODULE));
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->space = self->session.space;
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(LEN);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, LEN, 1);
	ASSERT_EQ(0, cmd_set_knob(self->space, HMMRT_SCOPE_SPACE, self->id,
				  HMMRT_KNOB_READ_DUPLICATION, 1));
}

FIXTURE_TEARDOWN(duplication)
{
	if (!self->parameters[0])
		return;
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

static struct hmmrt_stats stats(const FIXTURE_DATA(duplication) *self)
{
	return session_stats(&self->session, 0);
}

#define ASSERT_SUM(_first, _len)					\
	ASSERT_VALUE(pages_sum(_len, _first),				\
		     agent_sum(self->agent, self->buf, _len, PAGE_BYTES))

TEST_F(duplication, read_pages_also_stay_in_system_memory)
{
	ASSERT_SUM(1, BLOCK_BYTES);
	EXPECT_EQ(BLOCK_PAGES, stats(self).out_copied_pages);
	EXPECT_EQ(0, stats(self).out_migrated_to_device);
	EXPECT_EQ(BLOCK_PAGES,
		  pages_at(self->space, self->buf, BLOCK_BYTES, HOST));
	EXPECT_EQ(BLOCK_BYTES, device_used_bytes(self->space, self->id));
	EXPECT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
	EXPECT_EQ(0, stats(self).out_cpu_faults);
}

/*
 * After a write by the device or the CPU only one instance of the page is left.
 */
TEST_F(duplication, written_pages_migrate)
{
	ASSERT_SUM(1, BLOCK_BYTES);
	ASSERT_DONE(agent_fill(self->agent, self->buf, BLOCK_BYTES, PAGE_BYTES,
			       50));
	EXPECT_EQ(BLOCK_PAGES, stats(self).out_migrated_to_device);
	EXPECT_EQ(BLOCK_PAGES,
		  pages_at(self->space, self->buf, BLOCK_BYTES, self->id));
	EXPECT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 50));
	ASSERT_SUM(50, BLOCK_BYTES);
	pages_fill(self->buf, BLOCK_BYTES, 90);
	ASSERT_SUM(90, BLOCK_BYTES);
	EXPECT_EQ(BLOCK_PAGES,
		  pages_at(self->space, self->buf, BLOCK_BYTES, HOST));
}

/*
 * All pages stay in system memory all the time: eviction copies nothing back.
 */
TEST_F(duplication, eviction_drops_duplicates)
{
	unsigned int round;

	for (round = 0; round < 3; round++) {
		ASSERT_SUM(1, LEN);
		EXPECT_EQ(LEN / PAGE_BYTES,
			  (size_t)pages_at(self->space, self->buf, LEN, HOST));
	}
	EXPECT_LT(0, stats(self).out_evictions);
	EXPECT_LT(LEN / PAGE_BYTES, stats(self).out_copied_pages);
	EXPECT_EQ(0, stats(self).out_migrated_to_device);
	EXPECT_EQ(0, stats(self).out_migrated_to_host);
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
}

TEST_F(duplication, prefetch_makes_duplicates)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, BLOCK_BYTES, self->id,
				  &result));
	EXPECT_EQ(BLOCK_PAGES, stats(self).out_copied_pages);
	EXPECT_EQ(BLOCK_PAGES,
		  pages_at(self->space, self->buf, BLOCK_BYTES, HOST));
	ASSERT_SUM(1, BLOCK_BYTES);
	EXPECT_EQ(0, stats(self).out_device_faults);
}

TEST_F(duplication, knob_can_be_set_for_a_range)
{
	ASSERT_EQ(0, cmd_set_range_knob(self->space, self->buf, BLOCK_BYTES,
					self->id, HMMRT_KNOB_READ_DUPLICATION,
					0));
	ASSERT_SUM(1, 2 * BLOCK_BYTES);
	EXPECT_EQ(BLOCK_PAGES, stats(self).out_copied_pages);
	EXPECT_EQ(BLOCK_PAGES,
		  pages_at(self->space, self->buf, BLOCK_BYTES, self->id));
	EXPECT_EQ(BLOCK_PAGES, pages_at(self->space, self->buf + BLOCK_BYTES,
					BLOCK_BYTES, HOST));
}

/* Duplicates that exist by then stay until they are evicted or written. */
TEST_F(duplication, unset_ends_duplication)
{
	ASSERT_SUM(1, BLOCK_BYTES);
	ASSERT_EQ(0, cmd_unset_knob(self->space, HMMRT_SCOPE_SPACE, self->id,
				    HMMRT_KNOB_READ_DUPLICATION));
	ASSERT_SUM(1, 2 * BLOCK_BYTES);
	EXPECT_EQ(BLOCK_PAGES, stats(self).out_copied_pages);
	EXPECT_EQ(BLOCK_PAGES, stats(self).out_migrated_to_device);
}

TEST_HARNESS_MAIN
