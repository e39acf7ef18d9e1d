// SPDX-License-Identifier: MIT
/*
 * Quotas of a process: which process is charged for device memory, and what a
 * limit does. Quotas of several processes are in fairness_test.c. Loads
 * hmmrt_simgpu with two small devices, and restores the module and its
 * parameters afterwards.
 */
#include "lib/amount.h"
#include "lib/fixture.h"

#define DEVICE_BYTES	amount(16UL << 20, 8UL << 20)
#define MOST		(2 * DEVICE_BYTES)
#define NO_LIMIT	HMMRT_QUOTA_NO_LIMIT
#define DEFAULT		HMMRT_PRIORITY_DEFAULT

static struct hmmrt_quota get_quota(void)
{
	struct hmmrt_quota quota;

	if (cmd_get_quota(space, id_of(A), &quota))
		quota.out_used_bytes = -1;
	return quota;
}

static int set_quota(uint64_t limit, uint32_t priority)
{
	return cmd_set_quota(space, id_of(A), limit, priority, NULL);
}

static int limit_to(uint64_t limit)
{
	return set_quota(limit, DEFAULT);
}

/* --- one process ---------------------------------------------------------- */

/*
 * A child that inherits its parent's memory and keeps it until it is told to
 * end.
 */
struct holder {
	pid_t pid;
	int orders;
};

FIXTURE(quota) {
	struct holder holder;		/* pid 0: not started */
};

static bool end_holder(FIXTURE_DATA(quota) *self);

FIXTURE_SETUP(quota)
{
	DEVICES_SETUP(.load = two_devices(DEVICE_BYTES));
	buf = ANON(MOST);
}

FIXTURE_TEARDOWN(quota)
{
	if (self->holder.pid > 0)
		end_holder(self);
	EXPECT_TRUE(set_oversubscription(true));
	DEVICES_TEARDOWN();
}

static int run_holder(int orders, int answers)
{
	char byte = 0;

	/* An open descriptor would keep the binding. */
	close(session.devices[0].gpu);
	if (write(answers, &byte, 1) != 1)
		return 1;
	return (int)read(orders, &byte, 1);
}

static bool start_holder(FIXTURE_DATA(quota) *self)
{
	struct holder *holder = &self->holder;
	int orders[2], answers[2];
	bool ready;
	char byte;

	if (pipe(orders) || pipe(answers))
		return false;
	holder->pid = fork();
	if (!holder->pid) {
		close(orders[1]);
		_exit(run_holder(orders[0], answers[1]));
	}
	close(orders[0]);
	close(answers[1]);
	holder->orders = orders[1];
	ready = holder->pid > 0 && read(answers[0], &byte, 1) == 1;
	close(answers[0]);
	return ready;
}

static bool end_holder(FIXTURE_DATA(quota) *self)
{
	pid_t pid = self->holder.pid;

	self->holder.pid = 0;
	close(self->holder.orders);
	return waitpid(pid, NULL, 0) == pid;
}

static size_t bytes_here(void)
{
	return PAGE_BYTES * (size_t)count_at(A, buf, MOST);
}

static size_t charged(void)
{
	return get_quota().out_used_bytes;
}

TEST_F(quota, default_is_no_limit)
{
	struct hmmrt_quota quota = get_quota();

	EXPECT_EQ(NO_LIMIT, quota.out_limit_bytes);
	EXPECT_EQ(DEFAULT, quota.out_priority);
	EXPECT_EQ(0, quota.out_used_bytes);
	EXPECT_EQ(0, quota.out_refused);
	EXPECT_EQ(0, quota.out_evicted_bytes);
}

/* The charge is exact to the page for prefetches, faults, and munmap(). */
TEST_F(quota, charge_equals_the_pages_on_the_device)
{
	pages_fill(buf, MOST, 1);
	ASSERT_EQ(0, prefetch(A, buf, 3 * BLOCK_BYTES));
	EXPECT_EQ(3 * BLOCK_BYTES, charged());
	ASSERT_DONE(dev_fill(A, buf + 4 * BLOCK_BYTES, BLOCK_BYTES / 2, 9));
	EXPECT_LE(3 * BLOCK_BYTES + BLOCK_BYTES / 2, charged());
	EXPECT_EQ(bytes_here(), charged());
	/*
	 * A CPU fault moves pages back to system memory, and the charge falls.
	 */
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES / 4, 1));
	EXPECT_EQ(bytes_here(), charged());
	EXPECT_GT(3 * BLOCK_BYTES + BLOCK_BYTES / 2, charged());
	ASSERT_EQ(0, prefetch(HOST, buf, BLOCK_BYTES));
	EXPECT_EQ(bytes_here(), charged());
	ASSERT_EQ(0, munmap(buf, MOST));
	EXPECT_EQ(0, charged());
	EXPECT_EQ(0, device_used_bytes(space, id_of(A)));
}

TEST_F(quota, duplicates_are_charged)
{
	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, limit_to(BLOCK_BYTES - PAGE_BYTES));
	ASSERT_EQ(0, prefetch(A, buf, BLOCK_BYTES));
	EXPECT_EQ(BLOCK_BYTES - PAGE_BYTES, charged());
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	/* A write by the CPU drops the duplicates. */
	pages_fill(buf, BLOCK_BYTES, 7);
	EXPECT_EQ(0, charged());
}

TEST_F(quota, limit_is_exact_to_the_page)
{
	const size_t limit = 2 * BLOCK_BYTES + 5 * PAGE_BYTES;
	struct hmmrt_prefetch result;
	struct hmmrt_quota quota;

	/* The fifth block is not populated. */
	pages_fill(buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, limit_to(limit));
	ASSERT_EQ(0, prefetch_result(A, buf, 5 * BLOCK_BYTES, &result));
	EXPECT_EQ(limit / PAGE_BYTES, result.out_pages_moved);
	EXPECT_EQ(5 * BLOCK_PAGES - limit / PAGE_BYTES,
		  result.out_stayed[HMMRT_STAY_QUOTA]);
	EXPECT_EQ(0, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	quota = get_quota();
	EXPECT_EQ(limit, quota.out_used_bytes);
	EXPECT_EQ(limit, quota.out_limit_bytes);
	EXPECT_LT(0, quota.out_refused);
	EXPECT_EQ(quota.out_refused, stats_of(A).out_quota_refusals);
	/* A prefetch does not evict the pages that it has moved itself. */
	EXPECT_EQ(0, quota.out_evicted_bytes);
	EXPECT_AT(A, buf, limit);
	EXPECT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 1));
}

/* A prefetch of pages that are already there needs no additional charge. */
TEST_F(quota, pages_on_the_device_are_not_charged_again)
{
	const size_t hole = 100 * PAGE_BYTES;
	struct hmmrt_prefetch result;
	struct hmmrt_quota quota;

	PLACE(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, limit_to(BLOCK_BYTES));
	ASSERT_EQ(0, prefetch(HOST, buf + hole, PAGE_BYTES));
	ASSERT_EQ(0, prefetch(HOST, buf + 2 * hole, PAGE_BYTES));
	EXPECT_EQ(BLOCK_BYTES - 2 * PAGE_BYTES, charged());
	ASSERT_EQ(0, prefetch_result(A, buf, BLOCK_BYTES, &result));
	EXPECT_EQ(2, result.out_pages_moved);
	EXPECT_EQ(BLOCK_PAGES - 2, result.out_pages_there);
	quota = get_quota();
	EXPECT_EQ(BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_EQ(0, quota.out_evicted_bytes);
	EXPECT_EQ(0, quota.out_refused);
}

/*
 * A process at its limit evicts its own blocks although the device has free
 * memory.
 */
TEST_F(quota, process_at_its_limit_evicts_its_own_pages)
{
	const size_t limit = 2 * BLOCK_BYTES;
	unsigned int round;

	pages_fill(buf, MOST, 1);
	ASSERT_EQ(0, limit_to(limit));
	for (round = 1; round < 3; round++) {
		ASSERT_DONE(dev_fill(A, buf, MOST / 2, 1000 * round));
		EXPECT_GE(limit, charged());
		EXPECT_EQ(bytes_here(), charged());
		ASSERT_SUM(A, buf, MOST / 2, 1000 * round);
		EXPECT_GE(limit, charged());
	}
	EXPECT_LT(0, get_quota().out_evicted_bytes);
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_EQ(-1, pages_check(buf, MOST / 2, 1000 * (round - 1)));
}

TEST_F(quota, without_eviction_pages_over_the_limit_stay)
{
	ASSERT_TRUE(set_oversubscription(false));
	pages_fill(buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, limit_to(BLOCK_BYTES));
	ASSERT_DONE(dev_fill(A, buf, 4 * BLOCK_BYTES, 50));
	EXPECT_EQ(BLOCK_BYTES, charged());
	EXPECT_EQ(0, stats_of(A).out_evictions);
	EXPECT_LT(0, stats_of(A).out_quota_refusals);
	EXPECT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 50));
}

TEST_F(quota, zero_leaves_all_pages_in_system_memory)
{
	struct hmmrt_prefetch result;

	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, limit_to(0));
	ASSERT_EQ(0, prefetch_result(A, buf, 2 * BLOCK_BYTES, &result));
	EXPECT_EQ(2 * BLOCK_PAGES, result.out_stayed[HMMRT_STAY_QUOTA]);
	/* One call counts one refusal, however many attempts it made. */
	EXPECT_EQ(1, get_quota().out_refused);
	ASSERT_DONE(dev_fill(A, buf, BLOCK_BYTES, 50));
	EXPECT_EQ(0, charged());
	EXPECT_LE(BLOCK_PAGES, stats_of(A).out_remote_pages);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 50));
	ASSERT_EQ(0, limit_to(NO_LIMIT));
	ASSERT_EQ(0, prefetch_result(A, buf, BLOCK_BYTES, &result));
	EXPECT_EQ(BLOCK_PAGES, result.out_pages_moved);
}

TEST_F(quota, lower_limit_evicts_at_once)
{
	struct hmmrt_quota quota;
	struct hmmrt_page page;

	PLACE(A, buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_set_quota(space, id_of(A), 2 * BLOCK_BYTES, DEFAULT,
				   &quota));
	EXPECT_EQ(2 * BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_EQ(2 * BLOCK_BYTES, quota.out_evicted_bytes);
	ASSERT_EQ(0, cmd_pages(space, buf, PAGE_BYTES, &page));
	EXPECT_EQ(HOST, page.location);
	EXPECT_EQ(HMMRT_CAUSE_EVICTION, page.cause);
	EXPECT_EQ(2 * BLOCK_BYTES, bytes_here());
	EXPECT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 1));
	/* What was evicted is free, and nobody else's. */
	ASSERT_EQ(0, limit_to(NO_LIMIT));
	MOVE(A, buf, DEVICE_BYTES);
}

TEST_F(quota, lower_limit_evicts_what_was_used_least_recently)
{
	PLACE(A, buf, 4 * BLOCK_BYTES, 1);
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, limit_to(3 * BLOCK_BYTES));
	EXPECT_AT(A, buf, BLOCK_BYTES);
	EXPECT_AT(HOST, buf + BLOCK_BYTES, BLOCK_BYTES);
}

/*
 * After fork() the parent stays charged until the last process has unmapped the
 * pages.
 */
TEST_F(quota, parent_stays_charged_after_fork)
{
	PLACE(A, buf, BLOCK_BYTES, 1);
	ASSERT_TRUE(start_holder(self));
	ASSERT_EQ(0, munmap(buf, MOST));
	EXPECT_EQ(BLOCK_BYTES, charged());
	ASSERT_TRUE(end_holder(self));
	EXPECT_EQ(0, charged());
	EXPECT_EQ(0, device_used_bytes(space, id_of(A)));
}

static int bind_again(void)
{
	struct session_device *device = &session.devices[0];

	session_unbind(&session, A);
	device->gpu = open_gpu(0);
	return cmd_bind_next(device->gpu, space, NULL);
}

TEST_F(quota, limit_outlives_the_binding)
{
	struct hmmrt_quota quota;

	ASSERT_EQ(0, set_quota(BLOCK_BYTES, 3));
	ASSERT_EQ(0, bind_again());
	quota = get_quota();
	EXPECT_EQ(BLOCK_BYTES, quota.out_limit_bytes);
	EXPECT_EQ(3, quota.out_priority);
}

TEST_F(quota, pages_of_a_former_binding_stay_charged)
{
	PLACE(A, buf, BLOCK_BYTES, 1);
	ASSERT_TRUE(start_holder(self));
	/* Unbinding does not migrate pages that this process has not mapped. */
	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	ASSERT_EQ(0, bind_again());
	EXPECT_EQ(BLOCK_BYTES, charged());
	ASSERT_TRUE(end_holder(self));
	EXPECT_EQ(0, charged());
}

/*
 * Without a binding, the account goes away with its last page. A new account
 * starts with counters of 0 and keeps the limit.
 */
TEST_F(quota, account_is_freed_with_its_last_page)
{
	PLACE(A, buf, 2 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, limit_to(BLOCK_BYTES));
	EXPECT_EQ(BLOCK_BYTES, get_quota().out_evicted_bytes);
	ASSERT_TRUE(start_holder(self));
	ASSERT_EQ(0, munmap(buf, 2 * BLOCK_BYTES));
	/*
	 * Only the child maps the pages now: they are charged to the same
	 * account.
	 */
	ASSERT_EQ(0, bind_again());
	EXPECT_EQ(BLOCK_BYTES, charged());
	EXPECT_EQ(BLOCK_BYTES, get_quota().out_evicted_bytes);
	session_unbind(&session, A);
	ASSERT_TRUE(end_holder(self));
	EXPECT_EQ(0, device_used_bytes(space, id_of(A)));
	ASSERT_EQ(0, bind_again());
	EXPECT_EQ(0, get_quota().out_evicted_bytes);
	EXPECT_EQ(BLOCK_BYTES, get_quota().out_limit_bytes);
}

/*
 * A limit or priority that a privileged process set is the maximum without
 * privilege. Smaller values can be set freely.
 */
TEST_F(quota, privileged_setting_is_the_maximum)
{
	const uint64_t limit = 2 * BLOCK_BYTES;

	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-EPERM, set_quota(NO_LIMIT, DEFAULT + 1));
	EXPECT_EQ(0, set_quota(limit, 5));
	EXPECT_EQ(0, set_quota(NO_LIMIT, DEFAULT));
	ASSERT_EQ(0, seteuid(0));
	ASSERT_EQ(0, set_quota(limit, 5));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-EPERM, set_quota(limit + PAGE_BYTES, 5));
	EXPECT_EQ(-EPERM, set_quota(limit, 6));
	EXPECT_EQ(0, set_quota(PAGE_BYTES, 0));
	EXPECT_EQ(0, set_quota(limit, 5));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(0, set_quota(NO_LIMIT, HMMRT_PRIORITY_MAX));
}

TEST_F(quota, bad_arguments_are_refused)
{
	const struct hmmrt_quota good = {
		.operation = HMMRT_QUOTA_SET, .scope = HMMRT_QUOTA_OF_SPACE,
		.device_id = id_of(A), .limit_bytes = BLOCK_BYTES,
	};
	struct hmmrt_quota arg;

#define TRY(_error, _member, _value)					\
	do {								\
		arg = good;						\
		arg._member = (_value);					\
		EXPECT_EQ((_error), cmd_quota(space, &arg));		\
	} while (0)

	TRY(-EINVAL, operation, HMMRT_QUOTA_SET + 1);
	TRY(-EINVAL, scope, 0);
	TRY(-EINVAL, scope, HMMRT_QUOTA_OF_SPACE | HMMRT_QUOTA_OF_CGROUP);
	TRY(-ENODEV, device_id, id_of(A) + 1);
	TRY(-ENODEV, device_id, HMMRT_MAX_DEVICES);
	TRY(-ENODEV, device_id, UINT32_MAX);
	TRY(-EINVAL, cgroup_fd, 1);
	TRY(-EINVAL, limit_bytes, BLOCK_BYTES + 1);
	TRY(-EINVAL, limit_bytes, NO_LIMIT - 1);
	TRY(-EINVAL, priority, HMMRT_PRIORITY_MAX + 1);
	TRY(-EINVAL, operation, HMMRT_QUOTA_GET);
	TRY(0, limit_bytes, NO_LIMIT);
	TRY(0, priority, HMMRT_PRIORITY_MAX);
#undef TRY
	arg = good;
	arg.operation = HMMRT_QUOTA_GET;
	arg.limit_bytes = 0;
	arg.priority = 1;
	EXPECT_EQ(-EINVAL, cmd_quota(space, &arg));
}

TEST_HARNESS_MAIN
