// SPDX-License-Identifier: MIT
/*
 * Access counters: memory that a device accesses often remotely migrates to the
 * device. The threshold is above 16, so that a granule of 16 pages with one
 * access to each page does not reach it.
 */
#include <stdlib.h>
#include <time.h>

#include "lib/harness.h"
#include "lib/object.h"
#include "lib/session.h"

#define HOST		HMMRT_LOCATION_HOST
#define GRANULE_BYTES	(16 * PAGE_BYTES)
#define GRANULE_PAGES	16
#define THRESHOLD	20
#define LIMIT_S		200

FIXTURE(counter) {
	struct session session;
	struct agent *agent;
	int space;
	uint32_t id;
	char *buf;		/* one block, or two of a memory object */
};

static int set(const FIXTURE_DATA(counter) *self, uint32_t knob, uint32_t value)
{
	return cmd_set_knob(self->space, HMMRT_SCOPE_SPACE, self->id, knob,
			    value);
}

FIXTURE_SETUP(counter)
{
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->space = self->session.space;
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(BLOCK_BYTES);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, set(self, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, THRESHOLD));
}

FIXTURE_TEARDOWN(counter)
{
	EXPECT_EQ(0, session_end(&self->session));
}

static char *granule(const FIXTURE_DATA(counter) *self, unsigned int index)
{
	return self->buf + index * GRANULE_BYTES;
}

static long pages_there(const FIXTURE_DATA(counter) *self, unsigned int index)
{
	return pages_at(self->space, granule(self, index), GRANULE_BYTES,
			self->id);
}

static void touch_all(FIXTURE_DATA(counter) *self,
		      struct __test_metadata *_metadata)
{
	ASSERT_VALUE(pages_sum(BLOCK_BYTES, 1),
		     agent_sum(self->agent, self->buf, BLOCK_BYTES,
			       PAGE_BYTES));
	ASSERT_EQ(0, pages_at(self->space, self->buf, BLOCK_BYTES, self->id));
}

/* The device reads two granules in turns until the first one has migrated. */
static void use_until_there(FIXTURE_DATA(counter) *self,
			    struct __test_metadata *_metadata,
			    unsigned int first, unsigned int second)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	time_t began = time(NULL);

	while (pages_there(self, first) != GRANULE_PAGES) {
		ASSERT_LT(time(NULL) - began, LIMIT_S);
		ASSERT_VALUE(1 + first * GRANULE_PAGES,
			     agent_read(self->agent, granule(self, first)));
		ASSERT_VALUE(1 + second * GRANULE_PAGES,
			     agent_read(self->agent, granule(self, second)));
		nanosleep(&pause, NULL);
	}
}

/*
 * Replaces the buffer by two blocks of a memory object, from @page of the object
 * on, fills its first @used pages, and sets the policy.
 */
static void count_object(FIXTURE_DATA(counter) *self,
			 struct __test_metadata *_metadata, size_t page,
			 size_t used)
{
	int object = cmd_object_create(self->space, 3 * BLOCK_BYTES, HOST,
				       HMMRT_OBJECT_MIGRATABLE);

	ASSERT_LE(0, object);
	self->buf = object_map(object, 2 * BLOCK_BYTES, PROT_READ | PROT_WRITE,
			       page * PAGE_BYTES);
	close(object);
	ASSERT_NE(NULL, self->buf);
	ASSERT_EQ(0, cmd_set_access(self->space, self->buf, 2 * BLOCK_BYTES,
				    self->id, OBJECT_WRITE));
	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_COUNT));
	pages_fill(self->buf, used * PAGE_BYTES, 1);
}

/* The worker counts the pages only after they have moved. */
static struct hmmrt_stats wait_for_moves(FIXTURE_DATA(counter) *self)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	struct hmmrt_stats stats = session_stats(&self->session, 0);
	time_t began = time(NULL);

	while (stats.out_counted_moves < GRANULE_PAGES &&
	       time(NULL) - began < LIMIT_S) {
		nanosleep(&pause, NULL);
		stats = session_stats(&self->session, 0);
	}
	return stats;
}

TEST_F_TIMEOUT(counter, hot_memory_moves_and_cold_memory_stays, 500)
{
	struct hmmrt_stats stats;
	struct hmmrt_page page;

	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_COUNT));
	touch_all(self, _metadata);
	EXPECT_LT(0, session_stats(&self->session, 0).out_remote_pages);
	use_until_there(self, _metadata, 3, 3);

	ASSERT_EQ(0, cmd_pages(self->space, granule(self, 3), PAGE_BYTES,
			       &page));
	EXPECT_EQ(HMMRT_CAUSE_ACCESS_COUNTER, page.cause);
	EXPECT_EQ(GRANULE_PAGES, pages_at(self->space, self->buf, BLOCK_BYTES,
					  self->id));
	stats = wait_for_moves(self);
	/* May be more, if an access raced with the first move and undid it. */
	EXPECT_LE(GRANULE_PAGES, stats.out_counted_moves);
	EXPECT_EQ(stats.out_counted_moves, stats.out_migrated_to_device);
	/* Device writes must be visible to the CPU. */
	ASSERT_DONE(agent_fill(self->agent, self->buf, BLOCK_BYTES, PAGE_BYTES,
			       1000));
	EXPECT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1000));
}

TEST_F_TIMEOUT(counter, each_range_can_have_its_own_threshold, 500)
{
	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, cmd_set_range_knob(self->space, granule(self, 4),
					GRANULE_BYTES, self->id,
					HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD,
					65535));
	touch_all(self, _metadata);
	use_until_there(self, _metadata, 3, 4);
	EXPECT_EQ(0, pages_there(self, 4));
	/* With a threshold below its count, the granule migrates. */
	ASSERT_EQ(0, cmd_set_range_knob(self->space, granule(self, 4),
					GRANULE_BYTES, self->id,
					HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD,
					1));
	use_until_there(self, _metadata, 4, 4);
}

/*
 * The first four pages of the granule are unmapped; a knob applies from the
 * ninth.
 */
TEST_F_TIMEOUT(counter, partly_mapped_granule_moves_at_its_threshold, 500)
{
	const long left = GRANULE_PAGES - 4;
	volatile char *word = granule(self, 3) + 8 * PAGE_BYTES;
	const struct timespec pause = { .tv_nsec = 5000000 };
	time_t began = time(NULL);

	ASSERT_EQ(0, munmap(granule(self, 3), 4 * PAGE_BYTES));
	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, set(self, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, 65535));
	ASSERT_EQ(0, cmd_set_range_knob(self->space, (void *)word,
					GRANULE_BYTES / 2, self->id,
					HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD,
					THRESHOLD));
	while (pages_at(self->space, granule(self, 3) + 4 * PAGE_BYTES,
			left * PAGE_BYTES, self->id) != left) {
		ASSERT_LT(time(NULL) - began, LIMIT_S);
		ASSERT_VALUE(1 + 3 * GRANULE_PAGES + 8,
			     agent_read(self->agent, word));
		nanosleep(&pause, NULL);
	}
}

/* One range uses access counters; the other pages migrate on first touch. */
TEST_F_TIMEOUT(counter, policy_can_be_set_for_a_range, 500)
{
	ASSERT_EQ(0, cmd_set_range_knob(self->space, self->buf, GRANULE_BYTES,
					self->id, HMMRT_KNOB_MIGRATION_POLICY,
					HMMRT_MIGRATE_ON_COUNT));
	ASSERT_VALUE(pages_sum(BLOCK_BYTES, 1),
		     agent_sum(self->agent, self->buf, BLOCK_BYTES,
			       PAGE_BYTES));
	EXPECT_EQ(0, pages_there(self, 0));
	EXPECT_EQ(BLOCK_PAGES - GRANULE_PAGES,
		  pages_at(self->space, self->buf, BLOCK_BYTES, self->id));
	use_until_there(self, _metadata, 0, 1);
}

TEST_F_TIMEOUT(counter, advice_overrides_access_counters, 500)
{
	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, cmd_advise(self->space, granule(self, 4), GRANULE_BYTES,
				HMMRT_ADVICE_SET_PREFERRED_LOCATION, HOST, 0));
	ASSERT_EQ(0, cmd_advise(self->space, granule(self, 5), GRANULE_BYTES,
				HMMRT_ADVICE_SET_NO_MIGRATE, 0, 0));
	touch_all(self, _metadata);
	use_until_there(self, _metadata, 3, 4);
	use_until_there(self, _metadata, 6, 5);
	EXPECT_EQ(0, pages_there(self, 4));
	EXPECT_EQ(0, pages_there(self, 5));
}

/* A memory object moves a block at a time. */
TEST_F_TIMEOUT(counter, hot_block_of_a_memory_object_moves, 500)
{
	const unsigned int stays = BLOCK_PAGES / GRANULE_PAGES + 3;
	struct hmmrt_stats stats;

	count_object(self, _metadata, 0, 2 * BLOCK_PAGES);
	ASSERT_EQ(0, cmd_advise(self->space, self->buf + BLOCK_BYTES,
				BLOCK_BYTES, HMMRT_ADVICE_SET_NO_MIGRATE, 0,
				0));
	touch_all(self, _metadata);
	use_until_there(self, _metadata, 3, stays);
	EXPECT_EQ(BLOCK_PAGES, pages_at(self->space, self->buf,
					2 * BLOCK_BYTES, self->id));
	EXPECT_EQ(0, pages_there(self, stays));
	stats = wait_for_moves(self);
	EXPECT_EQ(BLOCK_PAGES, stats.out_counted_moves);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_device);
	ASSERT_DONE(agent_fill(self->agent, self->buf, 2 * BLOCK_BYTES,
			       PAGE_BYTES, 1000));
	EXPECT_EQ(-1, pages_check(self->buf, 2 * BLOCK_BYTES, 1000));
	object_unmap_all();
}

/* The last granule of the first block is in two blocks of the object. */
TEST_F_TIMEOUT(counter, granule_in_two_blocks_of_an_object_moves_both, 500)
{
	const unsigned int last = BLOCK_PAGES / GRANULE_PAGES - 1;

	count_object(self, _metadata, 7, 2 * BLOCK_PAGES);
	touch_all(self, _metadata);
	use_until_there(self, _metadata, last, last);
	EXPECT_EQ(2 * BLOCK_PAGES - 7,
		  pages_at(self->space, self->buf, 2 * BLOCK_BYTES, self->id));
	object_unmap_all();
}

/* No one has used the second block of the object that the granule is in. */
TEST_F_TIMEOUT(counter, unused_block_of_a_hot_granule_stays_unused, 500)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	const size_t used = BLOCK_PAGES - 7;
	time_t began = time(NULL);

	count_object(self, _metadata, 7, used);
	while (pages_at(self->space, self->buf, used * PAGE_BYTES,
			self->id) != (long)used) {
		ASSERT_LT(time(NULL) - began, LIMIT_S);
		ASSERT_VALUE(used, agent_read(self->agent,
					      self->buf + (used - 1) * PAGE_BYTES));
		nanosleep(&pause, NULL);
	}
	EXPECT_EQ(BLOCK_PAGES, wait_for_moves(self).out_counted_moves);
	EXPECT_EQ(used, pages_at(self->space, self->buf, 2 * BLOCK_BYTES,
				 self->id));
	object_unmap_all();
}

/* Existing entries are counted from then on, without another fault. */
TEST_F_TIMEOUT(counter, counting_starts_when_it_is_enabled, 500)
{
	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_NEVER));
	touch_all(self, _metadata);
	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_TOUCH));
	touch_all(self, _metadata);
	ASSERT_EQ(0, set(self, HMMRT_KNOB_ACCESS_COUNTER_MIGRATION_ENABLE, 1));
	use_until_there(self, _metadata, 0, 0);
	EXPECT_LE(GRANULE_PAGES, wait_for_moves(self).out_counted_moves);
}

/* The counter's work ends with its binding, whatever it is doing. */
TEST_F_TIMEOUT(counter, binding_can_end_while_counting, 500)
{
	unsigned int round;

	ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
			 HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, set(self, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, 1));
	for (round = 0; round < 5; round++) {
		struct session other;

		ASSERT_EQ(0, session_end(&self->session));
		ASSERT_EQ(0, session_start(&other, 1, 1));
		self->session = other;
		self->agent = session_agent(&self->session);
		self->space = self->session.space;
		ASSERT_EQ(0, set(self, HMMRT_KNOB_MIGRATION_POLICY,
				 HMMRT_MIGRATE_ON_COUNT));
		ASSERT_EQ(0, set(self, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, 1));
		ASSERT_VALUE(pages_sum(BLOCK_BYTES, 1),
			     agent_sum(self->agent, self->buf, BLOCK_BYTES,
				       PAGE_BYTES));
	}
}

TEST_HARNESS_MAIN
