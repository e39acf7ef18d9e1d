// SPDX-License-Identifier: MIT
/*
 * Devices of different sizes: each takes the pages that fit and reports the
 * rest, regardless of how much memory the others have. Loads hmmrt_simgpu with
 * four devices, and restores the module and its parameters afterwards.
 */
#include "lib/fixture.h"

#define DEVICES		4
#define MIB		(1UL << 20)
#define LEN		(24 * MIB)
#define PAGES		(LEN / PAGE_BYTES)

/* The devices, with the memory of each. */
enum { LARGE, SMALL, TINY, MIDDLE };
#define SIZES		"64,8,2,32"
static const size_t bytes[DEVICES] = { 64 * MIB, 8 * MIB, 2 * MIB, 32 * MIB };

DEVICES_FIXTURE(sizes, .devices = DEVICES, .bytes = LEN,
		.load = "devices=4 memory=" SIZES, .sets_oversubscription = true)

/* Returns how many pages of the buffer are on a device. */
static size_t pages_on(unsigned int device)
{
	return (size_t)count_at(device, buf, LEN);
}

static size_t pages_of(unsigned int device)
{
	return bytes[device] / PAGE_BYTES;
}

TEST_F(sizes, each_device_reports_its_own_size)
{
	struct hmmrt_device_info info;

	for (unsigned int device = 0; device < DEVICES; device++) {
		ASSERT_EQ(0, cmd_device_info(space, id_of(device), &info));
		EXPECT_EQ(bytes[device], info.out_memory_bytes);
	}
}

TEST_F(sizes, small_device_is_full_when_a_large_one_takes_all)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, prefetch_result(SMALL, buf, LEN, &result));
	EXPECT_EQ(pages_of(SMALL), result.out_pages_moved);
	EXPECT_EQ(PAGES - pages_of(SMALL),
		  result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	EXPECT_EQ(pages_of(SMALL), pages_on(SMALL));

	ASSERT_EQ(0, prefetch_result(LARGE, buf, LEN, &result));
	EXPECT_EQ(PAGES, result.out_pages_moved);
	EXPECT_EQ(PAGES, pages_on(LARGE));
	EXPECT_EQ(0, device_used_bytes(space, id_of(SMALL)));
	ASSERT_SUM(LARGE, buf, LEN, 1);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

/*
 * Pages move from the large to the small device as far as its memory allows.
 * The rest stays on the large device.
 */
TEST_F(sizes, small_device_takes_what_fits_from_a_large_one)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, prefetch(LARGE, buf, LEN));
	ASSERT_EQ(0, prefetch_result(SMALL, buf, LEN, &result));
	EXPECT_EQ(pages_of(SMALL), result.out_pages_moved);
	EXPECT_EQ(PAGES - pages_of(SMALL),
		  result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	EXPECT_EQ(pages_of(SMALL), pages_on(SMALL));
	EXPECT_EQ(PAGES - pages_of(SMALL), pages_on(LARGE));
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

/*
 * A fault that finds the device full maps the page in system memory. Eviction
 * is off: with it all pages would be on the device at some time.
 */
TEST_F(sizes, faults_on_a_full_device_map_system_memory)
{
	ASSERT_TRUE(set_oversubscription(false));
	for (unsigned int device = 0; device < DEVICES; device++) {
		const size_t capacity = pages_of(device);

		ASSERT_DONE(dev_fill(device, buf, LEN, 1000 * device));
		EXPECT_EQ(capacity < PAGES ? capacity : PAGES,
			  pages_on(device));
		ASSERT_EQ(-1, pages_check(buf, LEN, 1000 * device));
	}
}

/* Each device fills a buffer, and the buffers have the same size. */
TEST_F(sizes, all_devices_are_filled_at_the_same_time)
{
	uint64_t args[DEVICES][4];
	struct outcome outcome;

	for (unsigned int device = 0; device < DEVICES; device++) {
		args[device][0] = (uintptr_t)ANON(LEN);
		args[device][1] = LEN;
		args[device][2] = PAGE_BYTES;
		args[device][3] = 100 * device;
		agent_post(agent_of(device), 0, AGENT_FILL, args[device],
			   ARRAY_SIZE(args[device]));
	}
	for (unsigned int device = 0; device < DEVICES; device++) {
		outcome = dev_wait(device, 0, 120);
		ASSERT_DONE(outcome);
	}
	for (unsigned int device = 0; device < DEVICES; device++) {
		const int64_t used = device_used_bytes(space, id_of(device));

		EXPECT_EQ(bytes[device] < LEN ? bytes[device] : LEN,
			  (size_t)used);
		ASSERT_EQ(-1, pages_check((char *)args[device][0], LEN,
					  args[device][3]));
	}
}

static int make_peer(unsigned int device, unsigned int peer)
{
	return cmd_peer(space, id_of(device), id_of(peer), HMMRT_PEER_ENABLE,
			NULL);
}

/* A full device that cannot evict uses the memory of its peer in place. */
TEST_F(sizes, full_device_uses_memory_of_its_large_peer)
{
	ASSERT_TRUE(set_oversubscription(false));
	ASSERT_EQ(0, make_peer(TINY, LARGE));
	ASSERT_EQ(0, prefetch(LARGE, buf, LEN));
	ASSERT_SUM(TINY, buf, LEN, 1);
	EXPECT_EQ(pages_of(TINY), pages_on(TINY));
	EXPECT_EQ(PAGES - pages_of(TINY), pages_on(LARGE));
	ASSERT_DONE(dev_fill(TINY, buf, LEN, 7000));
	EXPECT_EQ(PAGES - pages_of(TINY), pages_on(LARGE));
	EXPECT_EQ(0, stats_of(TINY).out_cpu_faults);
	EXPECT_EQ(-1, pages_check(buf, LEN, 7000));
}

/* Every device reads what another one wrote, whichever device has the page. */
TEST_F(sizes, peers_of_all_sizes_see_what_the_others_wrote)
{
	for (unsigned int device = 0; device < DEVICES; device++)
		for (unsigned int peer = 0; peer < DEVICES; peer++)
			if (device != peer)
				ASSERT_EQ(0, make_peer(device, peer));
	for (unsigned int device = 0; device < DEVICES; device++) {
		const uint64_t first = 1000 * (device + 1);

		ASSERT_EQ(0, prefetch(device, buf, LEN));
		ASSERT_DONE(dev_fill(device, buf, LEN, first));
		for (unsigned int peer = 0; peer < DEVICES; peer++)
			ASSERT_SUM(peer, buf, LEN, first);
	}
	EXPECT_EQ(0, stats_of(LARGE).out_cpu_faults);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1000 * DEVICES));
}

/* --- the module parameter ------------------------------------------------- */

FIXTURE(parameter) {
	char before[SIMGPU_PARAMETERS];
};

FIXTURE_SETUP(parameter)
{
	NEED_MODULES();
	ASSERT_EQ(0, simgpu_replace(self->before, "devices=5 memory=16,4,8"));
}

FIXTURE_TEARDOWN(parameter)
{
	if (!self->before[0])
		return;
	EXPECT_EQ(0, simgpu_restore(self->before));
}

TEST_F(parameter, last_value_applies_to_all_further_devices)
{
	const size_t expected[] = { 16, 4, 8, 8, 8 };
	struct hmmrt_device_info info;
	int fd = open_manager();

	for (uint32_t id = 0; id < ARRAY_SIZE(expected); id++) {
		ASSERT_EQ(0, cmd_device_info(fd, id, &info));
		EXPECT_EQ(expected[id] * MIB, info.out_memory_bytes);
	}
	close(fd);
}

TEST_HARNESS_MAIN
