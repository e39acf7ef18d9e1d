// SPDX-License-Identifier: MIT
/*
 * Memory objects: where their memory is. Pinned memory stays on its device and
 * is mapped without faults. Migratable objects move between devices and system
 * memory, a block at a time, and may be larger than a device. Loads
 * hmmrt_simgpu with small devices, and restores the module and its parameters
 * afterwards.
 */
#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/loop.h"
#include "lib/objects.h"

#define DEVICE_BYTES	amount(16UL << 20, 8UL << 20)
#define DEVICES		2
#define LANES		2

DEVICES_FIXTURE(place, .devices = DEVICES, .lanes = LANES,
		.load = two_devices(DEVICE_BYTES), .end = objects_end)

/* --- pinned memory -------------------------------------------------------- */

TEST_F(place, set_access_maps_pinned_memory_without_faults)
{
	const uint32_t locations[] = { A, B, HOST };
	uint64_t faults;

	for (unsigned int i = 0; i < ARRAY_SIZE(locations); i++) {
		ASSERT_EQ(0, object_start(locations[i], OBJECT_BYTES, 0));
		for (unsigned int device = A; device < DEVICES; device++) {
			faults = stats_of(device).out_device_faults;
			ASSERT_DONE(dev_fill(device, buf, OBJECT_BYTES,
					     7 + device));
			EXPECT_EQ(faults, stats_of(device).out_device_faults);
		}
		EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 7 + B));
		ASSERT_EQ(0, object_end());
	}
}

TEST_F(place, pinned_memory_is_reported_where_it_is)
{
	const uint32_t locations[] = { A, B, HOST };
	const uint32_t all = 1u << id_of(A) | 1u << id_of(B);
	static struct hmmrt_page pages[OBJECT_PAGES];

	for (unsigned int i = 0; i < ARRAY_SIZE(locations); i++) {
		ASSERT_EQ(0, object_start(locations[i], OBJECT_BYTES, 0));
		EXPECT_AT(locations[i], buf, OBJECT_BYTES);
		ASSERT_EQ(0, cmd_pages(space, buf, OBJECT_BYTES, pages));
		for (unsigned int page = 0; page < OBJECT_PAGES; page++) {
			ASSERT_EQ(location_of(locations[i]),
				  pages[page].location);
			ASSERT_EQ(all, pages[page].mapped_by & all);
			ASSERT_EQ(all, pages[page].written_by & all);
		}
		ASSERT_EQ(0, object_end());
	}
}

TEST_F(place, pinned_memory_stays_where_it_is)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, 0));
	pages_fill(buf, OBJECT_BYTES, 1);
	ASSERT_SUM(B, buf, OBJECT_BYTES, 1);
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	ASSERT_EQ(0, prefetch_result(A, buf, OBJECT_BYTES, &result));
	EXPECT_EQ(OBJECT_PAGES, result.out_pages_there);
	ASSERT_EQ(0, prefetch_result(HOST, buf, OBJECT_BYTES, &result));
	EXPECT_EQ(OBJECT_PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	ASSERT_EQ(0, prefetch_result(B, buf, OBJECT_BYTES, &result));
	EXPECT_EQ(OBJECT_PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(-EBUSY,
		  cmd_exclusive(space, buf, PAGE_BYTES, id_of(A), NULL));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	EXPECT_HAS(A, buf, OBJECT_BYTES, 1);
}

/*
 * Ordinary memory of four times the device passes over the device, and pinned
 * memory of half of it keeps its place, its entries and its contents.
 */
TEST_F(place, pinned_memory_is_never_evicted)
{
	const size_t len = amount(4 * DEVICE_BYTES, 2 * DEVICE_BYTES);
	char *pages = ANON(len);
	uint64_t faults;

	ASSERT_EQ(0, object_start(A, DEVICE_BYTES / 2, 0));
	pages_fill(buf, object_bytes, 1);
	for (unsigned int i = 1; i < 3; i++) {
		ASSERT_DONE(dev_fill(A, pages, len, 1000 * i));
		ASSERT_SUM(A, pages, len, 1000 * i);
	}
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_EQ(object_bytes, object_resident(object));
	faults = stats_of(A).out_device_faults;
	ASSERT_SUM(A, buf, object_bytes, 1);
	EXPECT_EQ(faults, stats_of(A).out_device_faults);
	EXPECT_EQ(-1, pages_check(pages, len, 2000));
}

/* --- migratable memory ---------------------------------------------------- */

TEST_F(place, migratable_memory_follows_its_users)
{
	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	EXPECT_EQ(0, object_resident(object));
	EXPECT_EQ(0, used(A));
	ASSERT_VALUE(0, dev_sum(A, buf, OBJECT_BYTES));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	EXPECT_EQ((int64_t)OBJECT_BYTES, used(A));
	/* The CPU's write moves one block to system memory. */
	*word_of(buf, 1) = 5;
	EXPECT_EQ(OBJECT_BYTES - BLOCK_BYTES, object_resident(object));
	EXPECT_EQ(BLOCK_PAGES, count_at(HOST, buf, object_bytes));
	EXPECT_EQ(BLOCK_PAGES, count_at(A, buf, object_bytes));
	/* The device's read moves it back. */
	ASSERT_VALUE(5, dev_read(A, word_of(buf, 1)));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	EXPECT_AT(A, buf, OBJECT_BYTES);
	ASSERT_DONE(dev_write(A, word_of(buf, 1), 6));
	EXPECT_EQ(6, *word_of(buf, 1));
	EXPECT_EQ(OBJECT_BYTES - BLOCK_BYTES, object_resident(object));
}

TEST_F(place, migratable_memory_moves_from_device_to_device)
{
	unsigned int round;

	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 1));
	for (round = 1; round < 4; round++) {
		unsigned int device = round % 2 ? B : A;

		ASSERT_SUM(device, buf, OBJECT_BYTES, round);
		ASSERT_DONE(dev_fill(device, buf, OBJECT_BYTES, round + 1));
	}
	EXPECT_LEFT(HOST, buf, OBJECT_BYTES, round);
	EXPECT_EQ(0, used(A));
	EXPECT_EQ(0, used(B));
}

TEST_F(place, prefetch_moves_migratable_memory_both_ways)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 3));
	ASSERT_EQ(0, prefetch_result(A, buf, OBJECT_BYTES, &result));
	EXPECT_EQ(OBJECT_PAGES, result.out_pages_there);
	for (unsigned int round = 0; round < 3; round++) {
		ASSERT_EQ(0, prefetch_result(HOST, buf, OBJECT_BYTES, &result));
		EXPECT_EQ(OBJECT_PAGES, result.out_pages_moved);
		EXPECT_AT(HOST, buf, OBJECT_BYTES);
		EXPECT_EQ(0, object_resident(object));
		EXPECT_EQ(0, used(A));
		EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 3));
		ASSERT_EQ(0, prefetch_result(A, buf, OBJECT_BYTES, &result));
		EXPECT_EQ(OBJECT_PAGES, result.out_pages_moved);
		EXPECT_EQ(OBJECT_BYTES, object_resident(object));
		ASSERT_SUM(A, buf, OBJECT_BYTES, 3);
	}
}

/* A block has one place: a prefetch of a part moves it, and says so. */
TEST_F(place, prefetch_of_a_part_moves_its_block)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 1));
	ASSERT_EQ(0, prefetch_result(HOST, buf + 3 * PAGE_BYTES, 4 * PAGE_BYTES,
				     &result));
	EXPECT_EQ(4, result.out_pages_moved + result.out_pages_there);
	EXPECT_EQ(OBJECT_BYTES - BLOCK_BYTES, object_resident(object));
	EXPECT_EQ(BLOCK_PAGES, count_at(HOST, buf, object_bytes));
}

TEST_F(place, memory_that_may_not_migrate_is_used_in_place)
{
	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	pages_fill(buf, OBJECT_BYTES, 1);
	EXPECT_EQ(0, object_resident(object));
	ASSERT_EQ(0,
		  advise_at(buf, OBJECT_BYTES, SET_PREFERRED_LOCATION, HOST));
	ASSERT_SUM(A, buf, OBJECT_BYTES, 1);
	ASSERT_DONE(dev_fill(A, buf, OBJECT_BYTES, 9));
	EXPECT_HAS(HOST, buf, OBJECT_BYTES, 9);
	ASSERT_EQ(0, advise(buf, OBJECT_BYTES, UNSET_PREFERRED_LOCATION));
	ASSERT_EQ(0, advise(buf, OBJECT_BYTES, SET_NO_MIGRATE));
	ASSERT_SUM(B, buf, OBJECT_BYTES, 9);
	EXPECT_AT(HOST, buf, OBJECT_BYTES);
}

/* The other mapping's entries go, too, when a block moves. */
TEST_F(place, all_mappings_follow_a_block_that_moves)
{
	char *other;

	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	/* Shifted by some pages, so that blocks are not where theirs are. */
	other = NOT_NULL(object_map(object, OBJECT_BYTES - 7 * PAGE_BYTES, RW,
				    7 * PAGE_BYTES));
	ASSERT_EQ(0, set_access(other, OBJECT_BYTES - 7 * PAGE_BYTES, A,
				OBJECT_WRITE));
	for (unsigned int round = 1; round < 20; round++) {
		ASSERT_DONE(dev_write(A, other, 3 * round));
		ASSERT_VALUE(3 * round, dev_read(A, word_of(buf, 7)));
		ASSERT_EQ(3 * round, *word_of(buf, 7));
		*word_of(other, 0) = 3 * round + 1;
		ASSERT_VALUE(3 * round + 1, dev_read(B, word_of(buf, 7)));
		ASSERT_VALUE(3 * round + 1, dev_read(A, other));
	}
}

/* --- more than a device has ----------------------------------------------- */

TEST_F(place, migratable_memory_may_exceed_the_device)
{
	const size_t len = amount(4 * DEVICE_BYTES, 2 * DEVICE_BYTES);
	unsigned int round;
	uint64_t sum;

	ASSERT_EQ(0, object_start(A, len, MIGRATABLE));
	EXPECT_GE(DEVICE_BYTES, object_resident(object));
	for (round = 1; round < 4; round++) {
		unsigned int device = round % 2 ? A : B;

		sum = round == 1 ? 0 : pages_sum(len, 1000 * round - 1000);
		ASSERT_VALUE(sum, dev_sum(device, buf, len));
		ASSERT_DONE(dev_fill(device, buf, len, 1000 * round));
		EXPECT_LT(DEVICE_BYTES / 2,
			  PAGE_BYTES *
				  (size_t)count_at(device, buf, object_bytes));
		EXPECT_GE(DEVICE_BYTES, object_resident(object));
	}
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_EQ(-1, pages_check(buf, len, 1000 * (round - 1)));
}

/* Many objects, of which any may be evicted. */
TEST_F(place, migratable_objects_evict_each_other)
{
	enum { OBJECTS = 12 };
	char *bufs[OBJECTS];
	uint64_t sum;
	int object;

	for (unsigned int i = 0; i < OBJECTS; i++) {
		object = FD(create_at(A, OBJECT_BYTES, MIGRATABLE));
		bufs[i] = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
		close(object);
		ASSERT_EQ(0,
			  set_access(bufs[i], OBJECT_BYTES, A, OBJECT_WRITE));
	}
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < OBJECTS; i++) {
			sum = round ? pages_sum(OBJECT_BYTES, 100 * i) : 0;
			ASSERT_VALUE(sum, dev_sum(A, bufs[i], OBJECT_BYTES));
			ASSERT_DONE(dev_fill(A, bufs[i], OBJECT_BYTES,
					     100 * i));
		}
	for (unsigned int i = 0; i < OBJECTS; i++)
		EXPECT_EQ(-1, pages_check(bufs[i], OBJECT_BYTES, 100 * i));
}

/* Ordinary memory and migratable objects share the device. */
TEST_F(place, migratable_memory_and_pages_evict_each_other)
{
	const size_t len = DEVICE_BYTES;
	char *pages = ANON(len);

	ASSERT_EQ(0, object_start(A, len, MIGRATABLE));
	for (unsigned int round = 1; round < 3; round++) {
		ASSERT_DONE(dev_fill(A, buf, len, 100 * round));
		ASSERT_DONE(dev_fill(A, pages, len, 200 * round));
		ASSERT_SUM(A, buf, len, 100 * round);
		ASSERT_SUM(A, pages, len, 200 * round);
	}
	EXPECT_EQ(-1, pages_check(buf, len, 200));
	EXPECT_EQ(-1, pages_check(pages, len, 400));
}

/* --- moves under load ----------------------------------------------------- */

struct mover {
	struct loop loop;
	int rc;
	unsigned int moves;
};

static void move_on(void *arg)
{
	static const uint32_t locations[] = { HOST, A, B };
	struct mover *mover = arg;

	if (!mover->rc)
		mover->rc = prefetch(locations[mover->moves++ % 3], buf,
				     object_bytes);
}

#define ADDS	amount(100000, 20000)
#define MOVES	10u
/* Lanes that are not disturbed are done at once. */
#define ROUNDS	1000u

/* Every lane of each device adds to a word of its own. */
static bool all_lanes_add(void)
{
	struct outcome outcome;
	bool done = true;

	for (unsigned int device = A; device < DEVICES; device++)
		for (unsigned int lane = 0; lane < LANES; lane++) {
			uint64_t args[] = {
				(uintptr_t)(word_of(buf, lane * BLOCK_PAGES) +
					    device),
				ADDS,
			};

			agent_post(agent_of(device), lane, AGENT_ADD, args, 2);
		}
	for (unsigned int device = A; device < DEVICES; device++)
		for (unsigned int lane = 0; lane < LANES; lane++) {
			outcome = agent_wait(agent_of(device), lane, 100);
			done &= !outcome.error && !outcome.signal;
		}
	return done;
}

TEST_F(place, moves_under_busy_lanes_lose_no_write)
{
	struct mover mover = { 0 };
	unsigned int rounds = 0;

	ASSERT_EQ(0, object_start(A, OBJECT_BYTES, MIGRATABLE));
	ASSERT_EQ(0, loop_start(&mover.loop, move_on, &mover));
	do {
		ASSERT_TRUE(all_lanes_add());
	} while (++rounds < ROUNDS &&
		 __atomic_load_n(&mover.moves, __ATOMIC_RELAXED) < MOVES);
	ASSERT_EQ(0, loop_stop(&mover.loop));
	EXPECT_EQ(0, mover.rc);
	EXPECT_LE(MOVES, mover.moves);
	for (unsigned int device = A; device < DEVICES; device++)
		for (unsigned int lane = 0; lane < LANES; lane++)
			EXPECT_EQ(rounds * ADDS,
				  word_of(buf, lane * BLOCK_PAGES)[device]);
}

TEST_HARNESS_MAIN
