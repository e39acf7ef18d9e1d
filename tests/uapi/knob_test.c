// SPDX-License-Identifier: MIT
/* Knobs: their descriptions, their scopes, and their effect on policy. */
#include "lib/fixture.h"

#define NOBODY_UID	65534
#define GRANULE_PAGES	16
#define GRANULES	(BLOCK_PAGES / GRANULE_PAGES)
/* The faults map 1, 1, 2, 4, 8 and 16 granules. */
#define SWEEP_FAULTS	6

FIXTURE(knob) {
};

FIXTURE_SETUP(knob)
{
	DEVICES_SETUP(.bytes = 3 * BLOCK_BYTES);
}

FIXTURE_TEARDOWN(knob)
{
	for (uint32_t knob = 0; knob < HMMRT_KNOBS; knob++)
		EXPECT_EQ(0, cmd_unset_knob(space, HMMRT_SCOPE_DEVICE, id_of(A),
					    knob));
	DEVICES_TEARDOWN();
}

static uint64_t faults(void)
{
	return stats_of(A).out_device_faults;
}

static int set(uint32_t scope, uint32_t knob, uint32_t value)
{
	return cmd_set_knob(space, scope, id_of(A), knob, value);
}

static int get(uint32_t scope, uint32_t knob, const char *addr,
	       struct hmmrt_knob *result)
{
	*result = (struct hmmrt_knob){
		.knob = knob, .scope = scope, .device_id = id_of(A),
		.addr = (uintptr_t)addr, .len = addr ? PAGE_BYTES : 0,
	};
	return cmd_knob(space, result);
}

/* Sweep over a part of the buffer and expect @count faults. */
#define EXPECT_SWEEP(count, first_block, blocks)				\
	do {								\
		const uint64_t _before = faults();			\
									\
		ASSERT_DONE(dev_sum(A, buf + (first_block) * BLOCK_BYTES, \
				    (blocks) * BLOCK_BYTES));		\
		EXPECT_EQ((uint64_t)(count), faults() - _before);	\
	} while (0)

TEST_F(knob, every_knob_reports_name_bounds_and_default)
{
	struct hmmrt_knob knob;

	for (uint32_t i = 0; i < HMMRT_KNOBS; i++) {
		ASSERT_EQ(0, get(HMMRT_SCOPE_DEVICE, i, NULL, &knob));
		EXPECT_NE(0, knob.out_name[0]);
		EXPECT_EQ(knob.out_default, knob.out_value);
		EXPECT_LE(knob.out_min, knob.out_default);
		EXPECT_GE(knob.out_max, knob.out_default);
		EXPECT_EQ(HMMRT_SCOPE_DEVICE,
			  knob.out_scopes & HMMRT_SCOPE_DEVICE);
	}
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, HMMRT_KNOB_PREFETCH_THRESHOLD, buf,
			 &knob));
	EXPECT_STREQ("prefetch_threshold", (char *)knob.out_name);
	EXPECT_EQ(51, knob.out_value);
	ASSERT_EQ(-EINVAL, get(HMMRT_SCOPE_DEVICE, HMMRT_KNOBS, NULL, &knob));
}

TEST_F(knob, range_overrides_process_and_process_overrides_device)
{
	const uint32_t id = HMMRT_KNOB_PREFETCH_THRESHOLD;
	struct hmmrt_knob knob;

	ASSERT_EQ(0, set(HMMRT_SCOPE_DEVICE, id, 10));
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, id, buf, &knob));
	EXPECT_EQ(10, knob.out_value);
	ASSERT_EQ(0, set(HMMRT_SCOPE_SPACE, id, 20));
	ASSERT_EQ(0, set_range_knob(buf, BLOCK_BYTES, A, id, 30));
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, id, buf, &knob));
	EXPECT_EQ(30, knob.out_value);
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, id, buf + BLOCK_BYTES, &knob));
	EXPECT_EQ(20, knob.out_value);
	ASSERT_EQ(0, get(HMMRT_SCOPE_SPACE, id, NULL, &knob));
	EXPECT_EQ(20, knob.out_value);
	ASSERT_EQ(0, cmd_unset_knob(space, HMMRT_SCOPE_SPACE, id_of(A), id));
	ASSERT_EQ(0, get(HMMRT_SCOPE_SPACE, id, NULL, &knob));
	EXPECT_EQ(10, knob.out_value);
	EXPECT_EQ(51, knob.out_default);
}

TEST_F(knob, range_knob_is_dropped_with_the_mapping)
{
	const uint32_t id = HMMRT_KNOB_PREFETCH_ENABLE;
	struct hmmrt_knob knob;

	ASSERT_EQ(0, set_range_knob(buf, BLOCK_BYTES, A, id, 0));
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, id, buf, &knob));
	EXPECT_EQ(0, knob.out_value);
	ASSERT_TRUE(map_anon_at(buf, PAGE_BYTES));
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, id, buf, &knob));
	EXPECT_EQ(1, knob.out_value);
	ASSERT_EQ(0, get(HMMRT_SCOPE_RANGE, id, buf + PAGE_BYTES, &knob));
	EXPECT_EQ(0, knob.out_value);
}

TEST_F(knob, invalid_knobs_are_refused)
{
	struct hmmrt_knob knob;

#define REFUSED(_errno, _scope, ...)					\
	EXPECT_WITH(-(_errno), cmd_knob(space, &knob), knob,		\
		    .scope = _scope, __VA_ARGS__)
#define SET(_knob, _value)						\
	.operation = HMMRT_KNOB_SET, .knob = HMMRT_KNOB_##_knob,	\
	.value = _value, .device_id = id_of(A)
#define AT(_addr, _len)	.addr = (uintptr_t)(_addr), .len = _len
#define SPACE	HMMRT_SCOPE_SPACE
#define RANGE	HMMRT_SCOPE_RANGE
	REFUSED(EINVAL, SPACE, SET(PREFETCH_THRESHOLD, 101));
	REFUSED(EINVAL, SPACE, SET(PREFETCH_THRESHOLD, 0));
	/* Device-only knob; knob without range scope; two scopes; no scope. */
	REFUSED(EINVAL, SPACE, SET(OVERSUBSCRIPTION, 1));
	REFUSED(EINVAL, RANGE, SET(FAULT_BATCH_COUNT, 1), AT(buf, BLOCK_BYTES));
	REFUSED(EINVAL, SPACE | HMMRT_SCOPE_DEVICE, SET(PREFETCH_ENABLE, 1));
	REFUSED(EINVAL, 0, SET(PREFETCH_ENABLE, 1));
	REFUSED(EINVAL, SPACE, .operation = HMMRT_KNOB_UNSET + 1);
	REFUSED(EINVAL, SPACE, .value = 1);
	/* An address outside of range scope; no address in range scope. */
	REFUSED(EINVAL, SPACE, AT(buf, PAGE_BYTES));
	REFUSED(EINVAL, RANGE, .addr = 0);
	REFUSED(EFAULT, RANGE, SET(PREFETCH_ENABLE, 0),
		AT(buf, 4 * BLOCK_BYTES));
	REFUSED(EFAULT, RANGE, .knob = HMMRT_KNOB_PREFETCH_ENABLE,
		.device_id = id_of(A), AT(buf, 4 * BLOCK_BYTES));
	EXPECT_EQ(-ENODEV,
		  cmd_set_knob(space, HMMRT_SCOPE_DEVICE, HMMRT_MAX_DEVICES - 1,
			       HMMRT_KNOB_PREFETCH_ENABLE, 0));
	/* The calls must not have changed anything. */
	ASSERT_EQ(0, get(RANGE, HMMRT_KNOB_PREFETCH_ENABLE, buf, &knob));
	EXPECT_EQ(1, knob.out_value);
}

/*
 * A process without privilege cannot change a device's knobs, but can read
 * them.
 */
TEST_F(knob, device_knob_needs_privilege)
{
	struct hmmrt_knob knob;
	pid_t pid = FORK();

	if (!pid) {
		if (setuid(NOBODY_UID))
			_exit(1);
		if (set(HMMRT_SCOPE_DEVICE, HMMRT_KNOB_PREFETCH_ENABLE, 0) !=
		    -EPERM)
			_exit(2);
		if (get(HMMRT_SCOPE_DEVICE, HMMRT_KNOB_PREFETCH_ENABLE, NULL,
			&knob) ||
		    knob.out_value != 1)
			_exit(3);
		_exit(0);
	}
	EXPECT_EQ(0, process_wait(pid));
}

TEST_F(knob, without_prefetch_each_granule_takes_a_fault)
{
	ASSERT_EQ(0, set(HMMRT_SCOPE_SPACE, HMMRT_KNOB_PREFETCH_ENABLE, 0));
	EXPECT_SWEEP(2 * GRANULES, 0, 2);
	ASSERT_EQ(0, cmd_unset_knob(space, HMMRT_SCOPE_SPACE, id_of(A),
				    HMMRT_KNOB_PREFETCH_ENABLE));
	/* The neighbouring block is mapped: one fault takes all. */
	EXPECT_SWEEP(1, 2, 1);
}

TEST_F(knob, only_the_range_without_prefetch_takes_faults)
{
	ASSERT_EQ(0, set_range_knob(buf + BLOCK_BYTES, BLOCK_BYTES, A,
				    HMMRT_KNOB_PREFETCH_ENABLE, 0));
	EXPECT_SWEEP(SWEEP_FAULTS + GRANULES + 1, 0, 3);
}

TEST_F(knob, prefetch_across_blocks_can_be_disabled)
{
	ASSERT_EQ(0,
		  set(HMMRT_SCOPE_SPACE, HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS, 0));
	EXPECT_SWEEP(3 * SWEEP_FAULTS, 0, 3);
}

TEST_F(knob, prefetch_threshold_sets_the_density)
{
	/*
	 * One granule exceeds the threshold in every window, so take the whole
	 * block.
	 */
	ASSERT_EQ(0, set(HMMRT_SCOPE_SPACE, HMMRT_KNOB_PREFETCH_THRESHOLD, 1));
	EXPECT_SWEEP(1, 0, 1);
	ASSERT_EQ(0,
		  set(HMMRT_SCOPE_SPACE, HMMRT_KNOB_PREFETCH_THRESHOLD, 100));
	EXPECT_SWEEP(2 * GRANULES, 1, 2);
}

TEST_F(knob, windows_grow_after_prefetch_min_faults)
{
	ASSERT_EQ(0,
		  set(HMMRT_SCOPE_DEVICE, HMMRT_KNOB_PREFETCH_MIN_FAULTS, 5));
	/*
	 * Four faults with one granule each, then windows of 8, 16 and 32
	 * granules.
	 */
	EXPECT_SWEEP(4 + 3, 0, 1);
}

TEST_F(knob, cpu_fault_max_pages_limits_cpu_faults)
{
	ASSERT_EQ(0, prefetch(A, buf, 3 * BLOCK_BYTES));
	ASSERT_EQ(0, set_range_knob(buf, BLOCK_BYTES, A,
				    HMMRT_KNOB_CPU_FAULT_MAX_PAGES, 1));
	EXPECT_EQ(-1, pages_check(buf + 7 * PAGE_BYTES, PAGE_BYTES, 8));
	EXPECT_EQ(1, count_at(HOST, buf, BLOCK_BYTES));
	EXPECT_EQ(-1,
		  pages_check(buf + BLOCK_BYTES, PAGE_BYTES, 1 + BLOCK_PAGES));
	EXPECT_EQ(GRANULE_PAGES,
		  count_at(HOST, buf + BLOCK_BYTES, BLOCK_BYTES));
}

TEST_F(knob, sequential_cpu_reads_migrate_whole_blocks)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(0, prefetch(A, buf, 3 * BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(buf, 3 * BLOCK_BYTES, 1));
	stats = stats_of(A);
	/*
	 * May be more if other users of a page keep it from moving with its
	 * window.
	 */
	EXPECT_LE(SWEEP_FAULTS + 2, stats.out_cpu_faults);
	EXPECT_GT(2 * SWEEP_FAULTS, stats.out_cpu_faults);
}

TEST_HARNESS_MAIN
