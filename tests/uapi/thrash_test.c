// SPDX-License-Identifier: MIT
/*
 * Thrashing: it is detected, device faults are throttled, the block is thrash
 * pinned at its location for a while and then released. The times are chosen so
 * that a slow machine makes no difference: two moves within half a second count
 * as thrashing, and a thrash pin is either ended by the test or has a very
 * short time.
 */
#include "lib/fixture.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)
#define SOON_US		500000
#define FOR_EVER	100000
/* Rounds, and seconds, after which a test fails. */
#define ROUNDS		1000
#define LIMIT_S		120

FIXTURE(thrash) {
	volatile uint64_t *word;
	uint64_t expected;
};

static int set(uint32_t knob, uint32_t value)
{
	return set_knob(A, knob, value);
}

FIXTURE_SETUP(thrash)
{
	DEVICES_SETUP(.devices = 2, .lanes = 2);
	self->word = ANON(2 * BLOCK_BYTES);
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_LAPSE_USEC, SOON_US));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_PIN_THRESHOLD, 2));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_PIN, FOR_EVER));
}

DEVICES_FIXTURE_TEARDOWN(thrash)

static uint32_t location(const FIXTURE_DATA(thrash) *self)
{
	uint32_t location = HMMRT_LOCATION_NONE;

	cmd_residency(space, (const void *)self->word, PAGE_BYTES, &location);
	return location;
}

static bool is_mapped(const FIXTURE_DATA(thrash) *self)
{
	struct hmmrt_page page = { 0 };

	cmd_pages(space, (const void *)self->word, PAGE_BYTES, &page);
	return page.mapped_by & 1u << id_of(A);
}

/* CPU and device each check the word and increment it. */
static void turn(FIXTURE_DATA(thrash) *self, struct __test_metadata *_metadata)
{
	ASSERT_EQ(self->expected, *self->word);
	*self->word = ++self->expected;
	ASSERT_VALUE(self->expected, dev_read(A, self->word));
	ASSERT_DONE(dev_write(A, self->word, ++self->expected));
}

static void turn_until_pinned(FIXTURE_DATA(thrash) *self,
			      struct __test_metadata *_metadata)
{
	const uint64_t pins = stats_of(A).out_thrash_pins;

	for (unsigned int round = 0; stats_of(A).out_thrash_pins == pins;
	     round++) {
		ASSERT_LT(round, ROUNDS);
		turn(self, _metadata);
	}
}

/* Pauses for 20 ms. Returns false when the time limit has passed. */
static bool wait_more(time_t began)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	nanosleep(&pause, NULL);
	return time(NULL) - began < LIMIT_S;
}

TEST_F_TIMEOUT(thrash, is_detected_throttled_and_pinned, 500)
{
	struct hmmrt_stats before, after;

	turn_until_pinned(self, _metadata);
	before = stats_of(A);
	EXPECT_EQ(1, before.out_thrashing_blocks);
	EXPECT_EQ(2, before.out_throttled_faults);
	EXPECT_EQ(1, before.out_thrash_pins);
	EXPECT_EQ(0, before.out_thrash_unpins);
	EXPECT_EQ(HOST, location(self));
	EXPECT_TRUE(is_mapped(self));

	for (unsigned int i = 0; i < 500; i++)
		turn(self, _metadata);
	after = stats_of(A);
	EXPECT_EQ(before.out_migrated_to_device, after.out_migrated_to_device);
	EXPECT_EQ(before.out_throttled_faults, after.out_throttled_faults);
}

/*
 * The entry is removed when the time of the thrash pin is over, without any
 * access. The next access migrates the page again.
 */
TEST_F_TIMEOUT(thrash, pin_ends_after_its_time, 500)
{
	time_t began;

	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_PIN, 1));
	turn_until_pinned(self, _metadata);
	ASSERT_LT(0, stats_of(A).out_remote_pages);
	for (began = time(NULL);
	     !stats_of(A).out_thrash_unpins || is_mapped(self);)
		ASSERT_TRUE(wait_more(began));
	EXPECT_EQ(HOST, location(self));
	ASSERT_VALUE(self->expected, dev_read(A, self->word));
	EXPECT_EQ(id_of(A), location(self));
	EXPECT_EQ(1, stats_of(A).out_thrash_unpins);
}

TEST_F_TIMEOUT(thrash, prefetch_ends_the_pin, 500)
{
	turn_until_pinned(self, _metadata);
	ASSERT_EQ(HOST, location(self));
	ASSERT_EQ(0, prefetch(A, (const void *)self->word, PAGE_BYTES));
	EXPECT_EQ(id_of(A), location(self));
	EXPECT_EQ(1, stats_of(A).out_thrash_unpins);
	EXPECT_EQ(1, stats_of(A).out_thrashing_resets);
	/* Then pages migrate on faults again, as before the detection. */
	ASSERT_EQ(self->expected, *self->word);
	ASSERT_EQ(HOST, location(self));
	ASSERT_VALUE(self->expected, dev_read(A, self->word));
	EXPECT_EQ(id_of(A), location(self));
}

/* A work releases pins. */
static bool unpinned(uint64_t times)
{
	for (unsigned int i = 0; i < LIMIT_S * 1000; i++) {
		if (stats_of(A).out_thrash_unpins == times)
			return true;
		usleep(1000);
	}
	return false;
}

static bool unmap_first(void *addr, size_t len)
{
	return !munmap(addr, len) && map_anon_at(addr, len);
}

static bool move_away(void *addr, size_t len)
{
	void *to = arena_anon(len);

	return to &&
	       mremap(addr, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
		       to &&
	       map_anon_at(addr, len);
}

static bool map_over(void *addr, size_t len)
{
	return map_anon_at(addr, len);
}

/* What ends memory, and puts other memory at its address. */
static bool (*const replace[])(void *addr, size_t len) = {
	unmap_first,
	map_over,
	move_away,
};

/* Other memory at the same address has not moved back and forth. */
TEST_F_TIMEOUT(thrash, pin_ends_with_its_memory, 500)
{
	for (size_t i = 0; i < ARRAY_SIZE(replace); i++) {
		TH_LOG("way %zu", i);
		turn_until_pinned(self, _metadata);
		ASSERT_EQ(HOST, location(self));
		ASSERT_TRUE(replace[i]((void *)self->word, 2 * BLOCK_BYTES));
		self->expected = 0;
		turn(self, _metadata);
		EXPECT_EQ(id_of(A), location(self));
		EXPECT_TRUE(unpinned(1 + i));
	}
}

/*
 * Pages that never moved have no part in a pin. It goes with others, and so do
 * the entries that were made because of it.
 */
TEST_F_TIMEOUT(thrash, pin_ends_with_pages_that_moved, 500)
{
	volatile uint64_t *const moved = self->word;
	char *end = (char *)self->word + BLOCK_BYTES - GRANULE_BYTES;

	pages_fill(end, PAGE_BYTES, 7);
	turn_until_pinned(self, _metadata);
	ASSERT_VALUE(7, dev_read(A, end));
	self->word = (uint64_t *)end;
	ASSERT_EQ(HOST, location(self));

	ASSERT_EQ(0, munmap(end + PAGE_BYTES, PAGE_BYTES));
	ASSERT_VALUE(7, dev_read(A, end));
	ASSERT_EQ(HOST, location(self));
	EXPECT_EQ(0, stats_of(A).out_thrash_unpins);

	ASSERT_EQ(0, munmap((void *)moved, BLOCK_BYTES - GRANULE_BYTES));
	ASSERT_TRUE(unpinned(1));
	ASSERT_VALUE(7, dev_read(A, end));
	EXPECT_EQ(id_of(A), location(self));
}

TEST_F_TIMEOUT(thrash, pin_follows_the_preferred_location, 500)
{
	ASSERT_EQ(0, advise_at(self->word, BLOCK_BYTES, SET_PREFERRED_LOCATION,
			       A));
	turn_until_pinned(self, _metadata);
	for (unsigned int i = 0; i < 10; i++) {
		turn(self, _metadata);
		ASSERT_EQ(id_of(A), location(self));
	}
}

TEST_F_TIMEOUT(thrash, is_not_detected_where_disabled, 500)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(0, set_range_knob(self->word, BLOCK_BYTES, A,
				    HMMRT_KNOB_THRASHING_ENABLE, 0));
	for (unsigned int i = 0; i < 50; i++) {
		turn(self, _metadata);
		ASSERT_EQ(id_of(A), location(self));
	}
	stats = stats_of(A);
	EXPECT_EQ(0, stats.out_thrashing_blocks);
	EXPECT_EQ(0, stats.out_throttled_faults);
	/* In other blocks thrashing is still detected. */
	ASSERT_EQ(self->expected, *self->word);
	self->word += BLOCK_BYTES / sizeof(*self->word);
	self->expected = 0;
	turn_until_pinned(self, _metadata);
	EXPECT_EQ(1, stats_of(A).out_thrashing_blocks);
}

/* Switching detection off also disables an existing thrash pin. */
TEST_F_TIMEOUT(thrash, disabling_detection_ends_the_pin, 500)
{
	turn_until_pinned(self, _metadata);
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_ENABLE, 0));
	/* Advice removes the device's entry, so that the next access faults. */
	ASSERT_EQ(0, advise(self->word, BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise(self->word, BLOCK_BYTES, UNSET_READ_MOSTLY));
	ASSERT_VALUE(self->expected, dev_read(A, self->word));
	EXPECT_EQ(id_of(A), location(self));
}

/* A throttled fault must not hold anything that other lanes need. */
TEST_F_TIMEOUT(thrash, throttled_fault_blocks_no_other_lane, 500)
{
	char *other = (char *)self->word + BLOCK_BYTES;
	unsigned int served = 0;

	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_NAP, 100));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_PIN_THRESHOLD, 255));
	ASSERT_EQ(0, set_range_knob(other, BLOCK_BYTES, A,
				    HMMRT_KNOB_THRASHING_ENABLE, 0));
	for (unsigned int round = 0; !served; round++) {
		uint64_t before = stats_of(A).out_throttled_faults;
		struct outcome outcome;

		ASSERT_LT(round, 50);
		ASSERT_EQ(self->expected, *self->word);
		agent_post(agent_of(A), 1, AGENT_WRITE,
			   (uint64_t[]){ (uintptr_t)self->word,
					 ++self->expected },
			   2);
		do {
			bool waits = stats_of(A).out_throttled_faults > before;

			pages_fill(other, PAGE_BYTES, round);
			ASSERT_VALUE(round, dev_read(A, other));
			outcome = agent_wait(agent_of(A), 1, 0);
			served += waits && outcome.error == -ETIMEDOUT;
		} while (outcome.error == -ETIMEDOUT);
		ASSERT_DONE(outcome);
	}
	EXPECT_LT(0, stats_of(A).out_throttled_faults);
}

/*
 * An agent in a throttled fault can be killed, and this does not wait for the
 * end of the nap.
 */
TEST_F_TIMEOUT(thrash, throttled_agent_can_be_killed, 500)
{
	unsigned int round;

	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_NAP, 100));
	for (round = 0; !stats_of(A).out_throttled_faults; round++) {
		ASSERT_LT(round, ROUNDS);
		ASSERT_EQ(self->expected, *self->word);
		agent_post(agent_of(A), 0, AGENT_WRITE,
			   (uint64_t[]){ (uintptr_t)self->word,
					 ++self->expected },
			   2);
		while (agent_wait(agent_of(A), 0, 0).error == -ETIMEDOUT &&
		       !stats_of(A).out_throttled_faults)
			;
	}
	agent_kill(agent_of(A));
	EXPECT_TRUE(*self->word == self->expected ||
		    *self->word == self->expected - 1);
}

#define ADDS	2000

static void *add_often(void *word)
{
	for (unsigned int i = 0; i < ADDS; i++)
		__atomic_fetch_add((uint64_t *)word, 1, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * Two devices with two lanes each and two CPU threads increment one word
 * without pauses.
 */
static void add_from_all_sides(FIXTURE_DATA(thrash) *self,
			       struct __test_metadata *_metadata)
{
	uint64_t args[] = { (uintptr_t)self->word, ADDS };
	pthread_t threads[2];

	for (unsigned int i = 0; i < 4; i++)
		agent_post(&session.devices[i % 2].agent, i / 2, AGENT_ADD,
			   args, 2);
	for (unsigned int i = 0; i < 2; i++)
		threads[i] = THREAD(add_often, (void *)self->word);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	for (unsigned int i = 0; i < 4; i++)
		ASSERT_DONE(agent_wait(&session.devices[i % 2].agent, i / 2,
				       LIMIT_S));
	ASSERT_EQ(6 * ADDS, *self->word);
}

TEST_F_TIMEOUT(thrash, all_accesses_progress_and_lose_no_write, 500)
{
	ASSERT_EQ(0, cmd_unset_knob(space, HMMRT_SCOPE_SPACE, id_of(A),
				    HMMRT_KNOB_THRASHING_LAPSE_USEC));
	ASSERT_EQ(0, cmd_unset_knob(space, HMMRT_SCOPE_SPACE, id_of(A),
				    HMMRT_KNOB_THRASHING_PIN));
	add_from_all_sides(self, _metadata);
}

/* With these knobs blocks are detected, pinned and released all the time. */
TEST_F_TIMEOUT(thrash, all_accesses_progress_with_extreme_knobs, 500)
{
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_LAPSE_USEC, 5));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_THRESHOLD, 1));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_PIN_THRESHOLD, 1));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_PIN, 1));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_EPOCH, 1));
	ASSERT_EQ(0, set(HMMRT_KNOB_THRASHING_MAX_RESETS, 255));
	add_from_all_sides(self, _metadata);
}

TEST_HARNESS_MAIN
