// SPDX-License-Identifier: MIT
/*
 * Memory objects: where their memory is. Pinned memory stays on its device and
 * is mapped without faults. Migratable objects move between devices and system
 * memory, a block at a time, and may be larger than a device. Loads
 * hmmrt_simgpu with two small devices, and restores the module and its
 * parameters afterwards.
 */
#include <pthread.h>

#include "lib/amount.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/object.h"
#include "lib/session.h"
#include "lib/setting.h"

#define HOST		HMMRT_LOCATION_HOST
#define RW		(PROT_READ | PROT_WRITE)
#define DEVICE_BYTES	(16UL << 20)
#define MODULE		"devices=2 memory=16"
#define LEN		(2 * BLOCK_BYTES)
#define PAGES		(LEN / PAGE_BYTES)
#define LANES		2

enum { A, B, DEVICES };

FIXTURE(place) {
	char parameters[SIMGPU_PARAMETERS];
	struct session session;
	struct agent *agent;
	int space;
	uint32_t id;		/* of device A */
	int object;
	size_t len;
	char *buf;
};

FIXTURE_SETUP(place)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, simgpu_replace(self->parameters, MODULE));
	ASSERT_EQ(0, session_start(&self->session, DEVICES, LANES));
	self->agent = session_agent(&self->session);
	self->space = self->session.space;
	self->id = self->session.devices[A].id;
	self->object = -1;
}

FIXTURE_TEARDOWN(place)
{
	if (!self->parameters[0])
		return;
	EXPECT_TRUE(set_oversubscription(true));
	object_unmap_all();
	if (self->object >= 0)
		close(self->object);
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/* Creates the object and maps all of it. Both devices may write. */
static int place_start(FIXTURE_DATA(place) *self, size_t len, uint32_t location,
		       uint32_t flags)
{
	unsigned int device;
	int rc = 0;

	self->object = cmd_object_create(self->space, len, location, flags);
	if (self->object < 0)
		return self->object;
	self->len = len;
	self->buf = object_map(self->object, len, RW, 0);
	if (!self->buf)
		return -ENOMEM;
	for (device = A; !rc && device < DEVICES; device++)
		rc = cmd_set_access(self->space, self->buf, len,
				    self->session.devices[device].id,
				    OBJECT_WRITE);
	return rc;
}

static struct agent *agent_of(FIXTURE_DATA(place) *self, unsigned int device)
{
	return &self->session.devices[device].agent;
}

static uint32_t id_of(const FIXTURE_DATA(place) *self, unsigned int device)
{
	return self->session.devices[device].id;
}

static uint64_t *word_of(char *buf, size_t page)
{
	return (uint64_t *)(buf + page * PAGE_BYTES);
}

static long pages_on(const FIXTURE_DATA(place) *self, uint32_t location)
{
	return pages_at(self->space, self->buf, self->len, location);
}

/* --- pinned memory -------------------------------------------------------- */

TEST_F(place, set_access_maps_pinned_memory_without_faults)
{
	const uint32_t locations[] = { self->id, id_of(self, B), HOST };
	unsigned int i, device;
	uint64_t faults;

	for (i = 0; i < ARRAY_SIZE(locations); i++) {
		ASSERT_EQ(0, place_start(self, LEN, locations[i], 0));
		for (device = A; device < DEVICES; device++) {
			faults = session_stats(&self->session, device)
					 .out_device_faults;
			ASSERT_DONE(agent_fill(agent_of(self, device),
					       self->buf, LEN, PAGE_BYTES,
					       7 + device));
			EXPECT_EQ(faults, session_stats(&self->session, device)
						  .out_device_faults);
		}
		EXPECT_EQ(-1, pages_check(self->buf, LEN, 7 + B));
		ASSERT_EQ(0, munmap(self->buf, LEN));
		close(self->object);
	}
	self->object = -1;
}

TEST_F(place, pinned_memory_is_reported_where_it_is)
{
	const uint32_t locations[] = { self->id, id_of(self, B), HOST };
	const uint32_t all = 1u << self->id | 1u << id_of(self, B);
	static struct hmmrt_page pages[PAGES];
	unsigned int i, page;

	for (i = 0; i < ARRAY_SIZE(locations); i++) {
		ASSERT_EQ(0, place_start(self, LEN, locations[i], 0));
		EXPECT_EQ(PAGES, pages_on(self, locations[i]));
		ASSERT_EQ(0, cmd_pages(self->space, self->buf, LEN, pages));
		for (page = 0; page < PAGES; page++) {
			ASSERT_EQ(locations[i], pages[page].location);
			ASSERT_EQ(all, pages[page].mapped_by & all);
			ASSERT_EQ(all, pages[page].written_by & all);
		}
		ASSERT_EQ(0, munmap(self->buf, LEN));
		close(self->object);
	}
	self->object = -1;
}

TEST_F(place, pinned_memory_stays_where_it_is)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, place_start(self, LEN, self->id, 0));
	pages_fill(self->buf, LEN, 1);
	ASSERT_VALUE(pages_sum(LEN, 1), agent_sum(agent_of(self, B), self->buf,
						  LEN, PAGE_BYTES));
	EXPECT_EQ(LEN, object_resident(self->object));
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, self->id,
				  &result));
	EXPECT_EQ(PAGES, result.out_pages_there);
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, HOST, &result));
	EXPECT_EQ(PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, id_of(self, B),
				  &result));
	EXPECT_EQ(PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(-EBUSY, cmd_exclusive(self->space, self->buf, PAGE_BYTES,
					self->id, NULL));
	EXPECT_EQ(LEN, object_resident(self->object));
	EXPECT_EQ(PAGES, pages_on(self, self->id));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
}

/*
 * Ordinary memory of four times the device passes over the device, and pinned
 * memory of half of it keeps its place, its entries and its contents.
 */
TEST_F(place, pinned_memory_is_never_evicted)
{
	const size_t len = amount(4 * DEVICE_BYTES, 2 * DEVICE_BYTES);
	char *buf = arena_anon(len);
	uint64_t faults;
	unsigned int i;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, place_start(self, DEVICE_BYTES / 2, self->id, 0));
	pages_fill(self->buf, self->len, 1);
	for (i = 1; i < 3; i++) {
		ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES,
				       1000 * i));
		ASSERT_VALUE(pages_sum(len, 1000 * i),
			     agent_sum(self->agent, buf, len, PAGE_BYTES));
	}
	EXPECT_LT(0, session_stats(&self->session, A).out_evictions);
	EXPECT_EQ(self->len, object_resident(self->object));
	faults = session_stats(&self->session, A).out_device_faults;
	ASSERT_VALUE(pages_sum(self->len, 1),
		     agent_sum(self->agent, self->buf, self->len, PAGE_BYTES));
	EXPECT_EQ(faults, session_stats(&self->session, A).out_device_faults);
	EXPECT_EQ(-1, pages_check(buf, len, 2000));
}

/* --- migratable memory ---------------------------------------------------- */

TEST_F(place, migratable_memory_follows_its_users)
{
	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	EXPECT_EQ(0, object_resident(self->object));
	EXPECT_EQ(0, device_used_bytes(self->space, self->id));
	ASSERT_VALUE(0, agent_sum(self->agent, self->buf, LEN, PAGE_BYTES));
	EXPECT_EQ(LEN, object_resident(self->object));
	EXPECT_EQ((int64_t)LEN, device_used_bytes(self->space, self->id));
	/* The CPU's write moves one block to system memory. */
	*word_of(self->buf, 1) = 5;
	EXPECT_EQ(LEN - BLOCK_BYTES, object_resident(self->object));
	EXPECT_EQ(BLOCK_PAGES, pages_on(self, HOST));
	EXPECT_EQ(BLOCK_PAGES, pages_on(self, self->id));
	/* The device's read moves it back. */
	ASSERT_VALUE(5, agent_read(self->agent, word_of(self->buf, 1)));
	EXPECT_EQ(LEN, object_resident(self->object));
	EXPECT_EQ(PAGES, pages_on(self, self->id));
	ASSERT_DONE(agent_write(self->agent, word_of(self->buf, 1), 6));
	EXPECT_EQ(6, *word_of(self->buf, 1));
	EXPECT_EQ(LEN - BLOCK_BYTES, object_resident(self->object));
}

TEST_F(place, migratable_memory_moves_from_device_to_device)
{
	unsigned int round;

	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 1));
	for (round = 1; round < 4; round++) {
		unsigned int device = round % 2 ? B : A;

		ASSERT_VALUE(pages_sum(LEN, round),
			     agent_sum(agent_of(self, device), self->buf, LEN,
				       PAGE_BYTES));
		ASSERT_DONE(agent_fill(agent_of(self, device), self->buf, LEN,
				       PAGE_BYTES, round + 1));
	}
	EXPECT_EQ(-1, pages_check(self->buf, LEN, round));
	EXPECT_EQ(PAGES, pages_on(self, HOST));
	EXPECT_EQ(0, device_used_bytes(self->space, self->id));
	EXPECT_EQ(0, device_used_bytes(self->space, id_of(self, B)));
}

TEST_F(place, prefetch_moves_migratable_memory_both_ways)
{
	struct hmmrt_prefetch result;
	unsigned int round;

	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 3));
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, self->id,
				  &result));
	EXPECT_EQ(PAGES, result.out_pages_there);
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, HOST,
					  &result));
		EXPECT_EQ(PAGES, result.out_pages_moved);
		EXPECT_EQ(PAGES, pages_on(self, HOST));
		EXPECT_EQ(0, object_resident(self->object));
		EXPECT_EQ(0, device_used_bytes(self->space, self->id));
		EXPECT_EQ(-1, pages_check(self->buf, LEN, 3));
		ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, self->id,
					  &result));
		EXPECT_EQ(PAGES, result.out_pages_moved);
		EXPECT_EQ(LEN, object_resident(self->object));
		ASSERT_VALUE(pages_sum(LEN, 3),
			     agent_sum(self->agent, self->buf, LEN,
				       PAGE_BYTES));
	}
}

/* A block has one place: a prefetch of a part moves it, and says so. */
TEST_F(place, prefetch_of_a_part_moves_its_block)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 1));
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf + 3 * PAGE_BYTES,
				  4 * PAGE_BYTES, HOST, &result));
	EXPECT_EQ(4, result.out_pages_moved + result.out_pages_there);
	EXPECT_EQ(LEN - BLOCK_BYTES, object_resident(self->object));
	EXPECT_EQ(BLOCK_PAGES, pages_on(self, HOST));
}

TEST_F(place, memory_that_may_not_migrate_is_used_in_place)
{
	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	pages_fill(self->buf, LEN, 1);
	EXPECT_EQ(0, object_resident(self->object));
	ASSERT_EQ(0, cmd_advise(self->space, self->buf, LEN,
				HMMRT_ADVICE_SET_PREFERRED_LOCATION, HOST, 0));
	ASSERT_VALUE(pages_sum(LEN, 1),
		     agent_sum(self->agent, self->buf, LEN, PAGE_BYTES));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 9));
	EXPECT_EQ(PAGES, pages_on(self, HOST));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 9));
	ASSERT_EQ(0, cmd_advise(self->space, self->buf, LEN,
				HMMRT_ADVICE_UNSET_PREFERRED_LOCATION, 0, 0));
	ASSERT_EQ(0, cmd_advise(self->space, self->buf, LEN,
				HMMRT_ADVICE_SET_NO_MIGRATE, 0, 0));
	ASSERT_VALUE(pages_sum(LEN, 9),
		     agent_sum(agent_of(self, B), self->buf, LEN, PAGE_BYTES));
	EXPECT_EQ(PAGES, pages_on(self, HOST));
}

/* The other mapping's entries go, too, when a block moves. */
TEST_F(place, all_mappings_follow_a_block_that_moves)
{
	char *other;
	unsigned int round;

	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	/* Shifted by some pages, so that blocks are not where theirs are. */
	other = object_map(self->object, LEN - 7 * PAGE_BYTES, RW,
			   7 * PAGE_BYTES);
	ASSERT_NE(NULL, other);
	ASSERT_EQ(0, cmd_set_access(self->space, other, LEN - 7 * PAGE_BYTES,
				    self->id, OBJECT_WRITE));
	for (round = 1; round < 20; round++) {
		ASSERT_DONE(agent_write(self->agent, other, 3 * round));
		ASSERT_VALUE(3 * round,
			     agent_read(self->agent, word_of(self->buf, 7)));
		ASSERT_EQ(3 * round, *word_of(self->buf, 7));
		*word_of(other, 0) = 3 * round + 1;
		ASSERT_VALUE(3 * round + 1,
			     agent_read(agent_of(self, B),
					word_of(self->buf, 7)));
		ASSERT_VALUE(3 * round + 1, agent_read(self->agent, other));
	}
}

/* --- more than a device has ----------------------------------------------- */

TEST_F(place, migratable_memory_may_exceed_the_device)
{
	const size_t len = amount(4 * DEVICE_BYTES, 2 * DEVICE_BYTES);
	unsigned int round;

	ASSERT_EQ(0, place_start(self, len, self->id, HMMRT_OBJECT_MIGRATABLE));
	EXPECT_GE(DEVICE_BYTES, object_resident(self->object));
	for (round = 1; round < 4; round++) {
		unsigned int device = round % 2 ? A : B;

		ASSERT_VALUE(round == 1 ? 0 : pages_sum(len, 1000 * round - 1000),
			     agent_sum(agent_of(self, device), self->buf, len,
				       PAGE_BYTES));
		ASSERT_DONE(agent_fill(agent_of(self, device), self->buf, len,
				       PAGE_BYTES, 1000 * round));
		EXPECT_LT(DEVICE_BYTES / 2,
			  PAGE_BYTES * (size_t)pages_on(self,
							id_of(self, device)));
		EXPECT_GE(DEVICE_BYTES, object_resident(self->object));
	}
	EXPECT_LT(0, session_stats(&self->session, A).out_evictions);
	EXPECT_EQ(-1, pages_check(self->buf, len, 1000 * (round - 1)));
}

/* Many objects, of which any may be evicted. */
TEST_F(place, migratable_objects_evict_each_other)
{
	enum { OBJECTS = 12 };
	char *bufs[OBJECTS];
	unsigned int i, round;
	int object;

	for (i = 0; i < OBJECTS; i++) {
		object = cmd_object_create(self->space, LEN, self->id,
					   HMMRT_OBJECT_MIGRATABLE);
		ASSERT_LE(0, object);
		bufs[i] = object_map(object, LEN, RW, 0);
		ASSERT_NE(NULL, bufs[i]);
		close(object);
		ASSERT_EQ(0, cmd_set_access(self->space, bufs[i], LEN, self->id,
					    OBJECT_WRITE));
	}
	for (round = 0; round < 2; round++)
		for (i = 0; i < OBJECTS; i++) {
			ASSERT_VALUE(round ? pages_sum(LEN, 100 * i) : 0,
				     agent_sum(self->agent, bufs[i], LEN,
					       PAGE_BYTES));
			ASSERT_DONE(agent_fill(self->agent, bufs[i], LEN,
					       PAGE_BYTES, 100 * i));
		}
	for (i = 0; i < OBJECTS; i++)
		EXPECT_EQ(-1, pages_check(bufs[i], LEN, 100 * i));
}

/* Ordinary memory and migratable objects share the device. */
TEST_F(place, migratable_memory_and_pages_evict_each_other)
{
	const size_t len = DEVICE_BYTES;
	char *buf = arena_anon(len);
	unsigned int round;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, place_start(self, len, self->id, HMMRT_OBJECT_MIGRATABLE));
	for (round = 1; round < 3; round++) {
		ASSERT_DONE(agent_fill(self->agent, self->buf, len, PAGE_BYTES,
				       100 * round));
		ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES,
				       200 * round));
		ASSERT_VALUE(pages_sum(len, 100 * round),
			     agent_sum(self->agent, self->buf, len,
				       PAGE_BYTES));
		ASSERT_VALUE(pages_sum(len, 200 * round),
			     agent_sum(self->agent, buf, len, PAGE_BYTES));
	}
	EXPECT_EQ(-1, pages_check(self->buf, len, 200));
	EXPECT_EQ(-1, pages_check(buf, len, 400));
}

/* --- moves under load ----------------------------------------------------- */

struct mover {
	int space;
	uint32_t locations[3];
	char *buf;
	size_t len;
	bool stop;
	int rc;
	unsigned int moves;
};

static void *move_until_stopped(void *arg)
{
	struct mover *mover = arg;

	while (!mover->rc && !__atomic_load_n(&mover->stop, __ATOMIC_RELAXED))
		mover->rc = cmd_prefetch(mover->space, mover->buf, mover->len,
					 mover->locations[mover->moves++ % 3],
					 NULL);
	return NULL;
}

#define ADDS	amount(100000, 20000)
#define MOVES	10u
/* Lanes that are not disturbed are done at once. */
#define ROUNDS	1000u

/* Every lane of each device adds to a word of its own. */
static bool all_lanes_add(FIXTURE_DATA(place) *self)
{
	unsigned int device, lane;
	struct outcome outcome;
	bool done = true;

	for (device = A; device < DEVICES; device++)
		for (lane = 0; lane < LANES; lane++) {
			uint64_t args[] = {
				(uintptr_t)(word_of(self->buf, lane * BLOCK_PAGES) +
					    device),
				ADDS,
			};

			agent_post(agent_of(self, device), lane, AGENT_ADD,
				   args, 2);
		}
	for (device = A; device < DEVICES; device++)
		for (lane = 0; lane < LANES; lane++) {
			outcome = agent_wait(agent_of(self, device), lane, 100);
			done &= !outcome.error && !outcome.signal;
		}
	return done;
}

TEST_F(place, moves_under_busy_lanes_lose_no_write)
{
	struct mover mover = { .space = self->space, .len = LEN };
	unsigned int device, lane, rounds = 0;
	pthread_t thread;

	ASSERT_EQ(0, place_start(self, LEN, self->id, HMMRT_OBJECT_MIGRATABLE));
	mover.buf = self->buf;
	mover.locations[0] = HOST;
	mover.locations[1] = self->id;
	mover.locations[2] = id_of(self, B);
	ASSERT_EQ(0, pthread_create(&thread, NULL, move_until_stopped, &mover));
	do {
		ASSERT_TRUE(all_lanes_add(self));
	} while (++rounds < ROUNDS &&
		 __atomic_load_n(&mover.moves, __ATOMIC_RELAXED) < MOVES);
	__atomic_store_n(&mover.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, mover.rc);
	EXPECT_LE(MOVES, mover.moves);
	for (device = A; device < DEVICES; device++)
		for (lane = 0; lane < LANES; lane++)
			EXPECT_EQ(rounds * ADDS,
				  word_of(self->buf,
					  lane * BLOCK_PAGES)[device]);
}

TEST_HARNESS_MAIN
