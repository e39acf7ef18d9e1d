// SPDX-License-Identifier: MIT
/* Knobs: their descriptions, their scopes, and their effect on policy. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/session.h"

#define NOBODY_UID	65534
#define GRANULE_PAGES	16
#define GRANULES	(BLOCK_PAGES / GRANULE_PAGES)
/* The faults map 1, 1, 2, 4, 8 and 16 granules. */
#define SWEEP_FAULTS	6

FIXTURE(knob) {
	struct session session;
	struct agent *agent;
	int fd;
	uint32_t id;
	char *buf;
};

FIXTURE_SETUP(knob)
{
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->fd = self->session.space;
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(3 * BLOCK_BYTES);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, 3 * BLOCK_BYTES, 1);
}

FIXTURE_TEARDOWN(knob)
{
	uint32_t knob;

	for (knob = 0; knob < HMMRT_KNOBS; knob++)
		EXPECT_EQ(0, cmd_unset_knob(self->fd, HMMRT_SCOPE_DEVICE,
					    self->id, knob));
	EXPECT_EQ(0, session_end(&self->session));
}

static uint64_t faults(const FIXTURE_DATA(knob) *self)
{
	return session_stats(&self->session, 0).out_device_faults;
}

static int set(const FIXTURE_DATA(knob) *self, uint32_t scope, uint32_t knob,
	       uint32_t value)
{
	return cmd_set_knob(self->fd, scope, self->id, knob, value);
}

static int get(const FIXTURE_DATA(knob) *self, uint32_t scope, uint32_t knob,
	       const char *addr, struct hmmrt_knob *result)
{
	*result = (struct hmmrt_knob){
		.knob = knob,
		.scope = scope,
		.device_id = self->id,
		.addr = (uintptr_t)addr,
		.len = addr ? PAGE_BYTES : 0,
	};
	return cmd_knob(self->fd, result);
}

/* Sweep over a part of the buffer and expect @count faults. */
#define EXPECT_SWEEP(count, first_block, blocks)				\
	do {									\
		const uint64_t _before = faults(self);				\
		ASSERT_DONE(agent_sum(self->agent,				\
				      self->buf + (first_block) * BLOCK_BYTES,	\
				      (blocks) * BLOCK_BYTES, PAGE_BYTES));	\
		EXPECT_EQ((uint64_t)(count), faults(self) - _before);		\
	} while (0)

TEST_F(knob, every_knob_reports_name_bounds_and_default)
{
	struct hmmrt_knob knob;
	uint32_t i;

	for (i = 0; i < HMMRT_KNOBS; i++) {
		ASSERT_EQ(0, get(self, HMMRT_SCOPE_DEVICE, i, NULL, &knob));
		EXPECT_NE(0, knob.out_name[0]);
		EXPECT_EQ(knob.out_default, knob.out_value);
		EXPECT_LE(knob.out_min, knob.out_default);
		EXPECT_GE(knob.out_max, knob.out_default);
		EXPECT_EQ(HMMRT_SCOPE_DEVICE,
			  knob.out_scopes & HMMRT_SCOPE_DEVICE);
	}
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE,
			 HMMRT_KNOB_PREFETCH_THRESHOLD, self->buf, &knob));
	EXPECT_STREQ("prefetch_threshold", (char *)knob.out_name);
	EXPECT_EQ(51, knob.out_value);
	ASSERT_EQ(-EINVAL, get(self, HMMRT_SCOPE_DEVICE, HMMRT_KNOBS, NULL,
			       &knob));
}

TEST_F(knob, range_overrides_process_and_process_overrides_device)
{
	const uint32_t id = HMMRT_KNOB_PREFETCH_THRESHOLD;
	struct hmmrt_knob knob;

	ASSERT_EQ(0, set(self, HMMRT_SCOPE_DEVICE, id, 10));
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, id, self->buf, &knob));
	EXPECT_EQ(10, knob.out_value);
	ASSERT_EQ(0, set(self, HMMRT_SCOPE_SPACE, id, 20));
	ASSERT_EQ(0, cmd_set_range_knob(self->fd, self->buf, BLOCK_BYTES,
					self->id, id, 30));
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, id, self->buf, &knob));
	EXPECT_EQ(30, knob.out_value);
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, id, self->buf + BLOCK_BYTES,
			 &knob));
	EXPECT_EQ(20, knob.out_value);
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_SPACE, id, NULL, &knob));
	EXPECT_EQ(20, knob.out_value);
	ASSERT_EQ(0, cmd_unset_knob(self->fd, HMMRT_SCOPE_SPACE, self->id, id));
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_SPACE, id, NULL, &knob));
	EXPECT_EQ(10, knob.out_value);
	EXPECT_EQ(51, knob.out_default);
}

TEST_F(knob, range_knob_is_dropped_with_the_mapping)
{
	const uint32_t id = HMMRT_KNOB_PREFETCH_ENABLE;
	struct hmmrt_knob knob;

	ASSERT_EQ(0, cmd_set_range_knob(self->fd, self->buf, BLOCK_BYTES,
					self->id, id, 0));
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, id, self->buf, &knob));
	EXPECT_EQ(0, knob.out_value);
	ASSERT_EQ(self->buf, mmap(self->buf, PAGE_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				  0));
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, id, self->buf, &knob));
	EXPECT_EQ(1, knob.out_value);
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, id, self->buf + PAGE_BYTES,
			 &knob));
	EXPECT_EQ(0, knob.out_value);
}

TEST_F(knob, invalid_knobs_are_refused)
{
	struct hmmrt_knob knob;

	EXPECT_EQ(-EINVAL, set(self, HMMRT_SCOPE_SPACE,
			       HMMRT_KNOB_PREFETCH_THRESHOLD, 101));
	EXPECT_EQ(-EINVAL, set(self, HMMRT_SCOPE_SPACE,
			       HMMRT_KNOB_PREFETCH_THRESHOLD, 0));
	/* Device-only knob; knob without range scope; two scopes; no scope. */
	EXPECT_EQ(-EINVAL, set(self, HMMRT_SCOPE_SPACE,
			       HMMRT_KNOB_OVERSUBSCRIPTION, 1));
	EXPECT_EQ(-EINVAL, cmd_set_range_knob(self->fd, self->buf, BLOCK_BYTES,
					      self->id,
					      HMMRT_KNOB_FAULT_BATCH_COUNT, 1));
	EXPECT_EQ(-EINVAL, set(self, HMMRT_SCOPE_SPACE | HMMRT_SCOPE_DEVICE,
			       HMMRT_KNOB_PREFETCH_ENABLE, 1));
	EXPECT_EQ(-EINVAL, set(self, 0, HMMRT_KNOB_PREFETCH_ENABLE, 1));
	knob = (struct hmmrt_knob){ .scope = HMMRT_SCOPE_SPACE,
				    .operation = HMMRT_KNOB_UNSET + 1 };
	EXPECT_EQ(-EINVAL, cmd_knob(self->fd, &knob));
	knob = (struct hmmrt_knob){ .scope = HMMRT_SCOPE_SPACE, .value = 1 };
	EXPECT_EQ(-EINVAL, cmd_knob(self->fd, &knob));
	/* An address outside of range scope; no address in range scope. */
	knob = (struct hmmrt_knob){ .scope = HMMRT_SCOPE_SPACE,
				    .addr = (uintptr_t)self->buf,
				    .len = PAGE_BYTES };
	EXPECT_EQ(-EINVAL, cmd_knob(self->fd, &knob));
	knob = (struct hmmrt_knob){ .scope = HMMRT_SCOPE_RANGE };
	EXPECT_EQ(-EINVAL, cmd_knob(self->fd, &knob));
	EXPECT_EQ(-EFAULT, cmd_set_range_knob(self->fd, self->buf,
					      4 * BLOCK_BYTES, self->id,
					      HMMRT_KNOB_PREFETCH_ENABLE, 0));
	knob = (struct hmmrt_knob){ .knob = HMMRT_KNOB_PREFETCH_ENABLE,
				    .scope = HMMRT_SCOPE_RANGE,
				    .device_id = self->id,
				    .addr = (uintptr_t)self->buf,
				    .len = 4 * BLOCK_BYTES };
	EXPECT_EQ(-EFAULT, cmd_knob(self->fd, &knob));
	EXPECT_EQ(-ENODEV, cmd_set_knob(self->fd, HMMRT_SCOPE_DEVICE,
					HMMRT_MAX_DEVICES - 1,
					HMMRT_KNOB_PREFETCH_ENABLE, 0));
	/* The calls must not have changed anything. */
	ASSERT_EQ(0, get(self, HMMRT_SCOPE_RANGE, HMMRT_KNOB_PREFETCH_ENABLE,
			 self->buf, &knob));
	EXPECT_EQ(1, knob.out_value);
}

/*
 * A process without privilege cannot change a device's knobs, but can read
 * them.
 */
TEST_F(knob, device_knob_needs_privilege)
{
	struct hmmrt_knob knob;
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (setuid(NOBODY_UID))
			_exit(1);
		if (set(self, HMMRT_SCOPE_DEVICE, HMMRT_KNOB_PREFETCH_ENABLE,
			0) != -EPERM)
			_exit(2);
		if (get(self, HMMRT_SCOPE_DEVICE, HMMRT_KNOB_PREFETCH_ENABLE,
			NULL, &knob) || knob.out_value != 1)
			_exit(3);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(knob, without_prefetch_each_granule_takes_a_fault)
{
	ASSERT_EQ(0, set(self, HMMRT_SCOPE_SPACE, HMMRT_KNOB_PREFETCH_ENABLE,
			 0));
	EXPECT_SWEEP(2 * GRANULES, 0, 2);
	ASSERT_EQ(0, cmd_unset_knob(self->fd, HMMRT_SCOPE_SPACE, self->id,
				    HMMRT_KNOB_PREFETCH_ENABLE));
	/* The neighbouring block is mapped: one fault takes all. */
	EXPECT_SWEEP(1, 2, 1);
}

TEST_F(knob, only_the_range_without_prefetch_takes_faults)
{
	ASSERT_EQ(0, cmd_set_range_knob(self->fd, self->buf + BLOCK_BYTES,
					BLOCK_BYTES, self->id,
					HMMRT_KNOB_PREFETCH_ENABLE, 0));
	EXPECT_SWEEP(SWEEP_FAULTS + GRANULES + 1, 0, 3);
}

TEST_F(knob, prefetch_across_blocks_can_be_disabled)
{
	ASSERT_EQ(0, set(self, HMMRT_SCOPE_SPACE,
			 HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS, 0));
	EXPECT_SWEEP(3 * SWEEP_FAULTS, 0, 3);
}

TEST_F(knob, prefetch_threshold_sets_the_density)
{
	/*
	 * One granule exceeds the threshold in every window, so take the whole
	 * block.
	 */
	ASSERT_EQ(0, set(self, HMMRT_SCOPE_SPACE,
			 HMMRT_KNOB_PREFETCH_THRESHOLD, 1));
	EXPECT_SWEEP(1, 0, 1);
	ASSERT_EQ(0, set(self, HMMRT_SCOPE_SPACE,
			 HMMRT_KNOB_PREFETCH_THRESHOLD, 100));
	EXPECT_SWEEP(2 * GRANULES, 1, 2);
}

TEST_F(knob, windows_grow_after_prefetch_min_faults)
{
	ASSERT_EQ(0, set(self, HMMRT_SCOPE_DEVICE,
			 HMMRT_KNOB_PREFETCH_MIN_FAULTS, 5));
	/*
	 * Four faults with one granule each, then windows of 8, 16 and 32
	 * granules.
	 */
	EXPECT_SWEEP(4 + 3, 0, 1);
}

TEST_F(knob, cpu_fault_max_pages_limits_cpu_faults)
{
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, 3 * BLOCK_BYTES,
				  self->id, NULL));
	ASSERT_EQ(0, cmd_set_range_knob(self->fd, self->buf, BLOCK_BYTES,
					self->id,
					HMMRT_KNOB_CPU_FAULT_MAX_PAGES, 1));
	EXPECT_EQ(-1, pages_check(self->buf + 7 * PAGE_BYTES, PAGE_BYTES, 8));
	EXPECT_EQ(1, pages_at(self->fd, self->buf, BLOCK_BYTES,
			      HMMRT_LOCATION_HOST));
	EXPECT_EQ(-1, pages_check(self->buf + BLOCK_BYTES, PAGE_BYTES,
				  1 + BLOCK_PAGES));
	EXPECT_EQ(GRANULE_PAGES, pages_at(self->fd, self->buf + BLOCK_BYTES,
					  BLOCK_BYTES, HMMRT_LOCATION_HOST));
}

TEST_F(knob, sequential_cpu_reads_migrate_whole_blocks)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, 3 * BLOCK_BYTES,
				  self->id, NULL));
	EXPECT_EQ(-1, pages_check(self->buf, 3 * BLOCK_BYTES, 1));
	stats = session_stats(&self->session, 0);
	/*
	 * May be more if other users of a page keep it from moving with its
	 * window.
	 */
	EXPECT_LE(SWEEP_FAULTS + 2, stats.out_cpu_faults);
	EXPECT_GT(2 * SWEEP_FAULTS, stats.out_cpu_faults);
}

TEST_HARNESS_MAIN
