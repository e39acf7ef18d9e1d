// SPDX-License-Identifier: MIT
/*
 * Suspend and hibernation up to the point at which all tasks are frozen, where
 * the kernel's PM test mode wakes the machine up again.
 */
#include "lib/fixture.h"
#include "lib/loop.h"
#include "lib/object.h"

#define LEN		(2 * BLOCK_BYTES)
#define PAGES		(LEN / PAGE_BYTES)
#define TEST_MODE	"/sys/power/pm_test"
#define FROZEN_SECONDS	"/sys/module/suspend/parameters/pm_test_delay"

/* Returns 0 or a negative errno once the machine is awake again. */
static int power_down(const char *state)
{
	int fd = open("/sys/power/state", O_WRONLY | O_CLOEXEC);
	char seconds[16] = "5";
	int rc = -EIO;

	if (fd < 0)
		return -errno;
	/* Without the test mode the machine would really go to sleep. */
	if (write_text(TEST_MODE, "freezer")) {
		read_word(FROZEN_SECONDS, seconds);
		write_text(FROZEN_SECONDS, "0");
		rc = write(fd, state, strlen(state)) < 0 ? -errno : 0;
		write_text(FROZEN_SECONDS, seconds);
		if (!write_text(TEST_MODE, "none"))
			rc = -EIO;
	}
	close(fd);
	return rc;
}

FIXTURE(power) {
};

FIXTURE_SETUP(power)
{
	if (access(TEST_MODE, W_OK))
		SKIP(_exit(SKIPPED), "cannot set " TEST_MODE);
	DEVICES_SETUP();
	buf = ANON(LEN);
	PLACE(A, buf, LEN, 5);
	ASSERT_AT(A, buf, LEN);
}

DEVICES_FIXTURE_TEARDOWN(power)

/* The pages left the device without a CPU fault, and can return to it. */
static bool all_left_and_return(void)
{
	struct hmmrt_stats stats = stats_of(A);

	return !stats.out_cpu_faults && count_at(HOST, buf, LEN) == PAGES &&
	       pages_check(buf, LEN, 5) == -1 && !prefetch(A, buf, LEN) &&
	       count_at(A, buf, LEN) == PAGES;
}

TEST_F(power, suspend_moves_all_pages_to_system_memory)
{
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, power_down("freeze"));
		ASSERT_TRUE(all_left_and_return());
	}
}

TEST_F(power, hibernation_moves_all_pages_to_system_memory)
{
	ASSERT_EQ(0, power_down("disk"));
	ASSERT_TRUE(all_left_and_return());
}

/*
 * The driver keeps pinned objects across a suspend, but a hibernation image
 * does not include them.
 */
TEST_F(power, pinned_object_survives_suspend_and_refuses_hibernation)
{
	int object = FD(cmd_object_create(space, LEN, id_of(A), 0));
	struct outcome outcome;
	char *at;

	at = NOT_NULL(arena_map(LEN, RW, MAP_SHARED, object, 0));
	ASSERT_EQ(0, set_access(at, LEN, A, OBJECT_WRITE));
	outcome = dev_fill(A, at, LEN, 70);
	ASSERT_EQ(0, outcome.error);
	ASSERT_EQ(0, outcome.signal);

	ASSERT_EQ(0, power_down("freeze"));
	ASSERT_TRUE(all_left_and_return());
	outcome = dev_sum(A, at, LEN);
	EXPECT_EQ(pages_sum(LEN, 70), outcome.value);

	EXPECT_EQ(-EBUSY, power_down("disk"));
	ASSERT_TRUE(all_left_and_return());
	outcome = dev_sum(A, at, LEN);
	EXPECT_EQ(pages_sum(LEN, 70), outcome.value);
	munmap(at, LEN);
	close(object);
}

/* Takes the page from the device. */
static void touch(void *arg)
{
	__atomic_load_n((uint64_t *)arg, __ATOMIC_RELAXED);
	usleep(200);
}

/* Waits until the device has written the word again. */
static bool goes_on(const uint64_t *word)
{
	uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

	return WAIT_UNTIL(__atomic_load_n(word, __ATOMIC_RELAXED) != before,
			  10);
}

/* Waiting for a device or for memory must not keep the machine awake. */
TEST_F(power, processes_are_frozen_while_their_memory_moves)
{
	const uint64_t increments[] = { (uintptr_t)buf, 1UL << 50 };
	uint64_t *word = (uint64_t *)buf, moved;
	struct loop toucher;

	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_THRASHING_ENABLE, 0));
	ASSERT_EQ(0, loop_start(&toucher, touch, word));
	agent_post(agent_of(A), 0, AGENT_ADD, increments, 2);
	for (int i = 0; i < 5; i++) {
		moved = stats_of(A).out_migrated_to_host;
		EXPECT_EQ(0, prefetch(A, buf, LEN));
		EXPECT_TRUE(goes_on(word));
		EXPECT_EQ(0, power_down("freeze"));
		EXPECT_TRUE(goes_on(word));
		EXPECT_LT(moved, stats_of(A).out_migrated_to_host);
	}
	EXPECT_EQ(0, loop_stop(&toucher));
	agent_kill(agent_of(A));
}

TEST_HARNESS_MAIN
