// SPDX-License-Identifier: MIT
/*
 * Several NUMA nodes: which node pages migrate back to, devices that have a
 * nearest node, and pages that the kernel moves between nodes while devices use
 * them.
 */
#include <numa.h>
#include <numaif.h>
#include <sys/stat.h>
#include <sys/swap.h>

#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/nodes.h"

#define PAGES		NODES_PAGES
#define LEN		(PAGES * PAGE_BYTES)
#define ON_NODE(node)	HMMRT_LOCATION_HOST_NODE(node)
#define MIB		(1UL << 20)

FIXTURE(numa) {
};

FIXTURE_SETUP(numa)
{
	if (!have_two_nodes())
		SKIP(_exit(SKIPPED), "this machine has one node");
	DEVICES_SETUP();
	buf = ANON(LEN);
}

FIXTURE_TEARDOWN(numa)
{
	if (!have_two_nodes())
		return;
	DEVICES_TEARDOWN();
}

/* Fills the buffer with first, first + 1, ..., and moves it to the device. */
static int put_on_device(uint64_t first)
{
	int rc;

	pages_fill(buf, LEN, first);
	rc = prefetch(A, buf, LEN);
	if (!rc && count_at(A, buf, LEN) != PAGES)
		rc = -EBUSY;
	return rc;
}

static int prefer(int node)
{
	return advise_at(buf, LEN, SET_PREFERRED_LOCATION, ON_NODE(node));
}

/*
 * Moves the buffer back to system memory, by CPU faults or by a prefetch to the
 * host, and checks its contents.
 */
static bool migrate_back(bool by_fault, uint64_t first)
{
	if (!by_fault && prefetch(HOST, buf, LEN))
		return false;
	return pages_check(buf, LEN, first) < 0;
}

/* --- the node that pages migrate back to ---------------------------------- */

TEST_F(numa, prefetch_to_a_node_moves_pages_there)
{
	struct hmmrt_prefetch result;

	for (unsigned int round = 0; round < 4; round++) {
		const int node = round % 2;

		ASSERT_EQ(0, put_on_device(round));
		ASSERT_EQ(0, prefetch_result(ON_NODE(node), buf, LEN, &result));
		ASSERT_EQ(PAGES, result.out_pages_moved);
		ASSERT_EQ(PAGES, pages_on_node(buf, node));
		ASSERT_HAS(HOST, buf, LEN, round);
	}
}

/* The pages are already in system memory, which satisfies the prefetch. */
TEST_F(numa, prefetch_to_a_node_leaves_host_pages_on_their_node)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1));
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, prefetch_result(ON_NODE(1), buf, LEN, &result));
	ASSERT_EQ(PAGES, result.out_pages_there);
	ASSERT_EQ(PAGES, pages_on_node(buf, 0));
}

TEST_F(numa, offline_node_is_einval)
{
	const uint32_t nodes[] = { numa_max_node() + 1, 63, 64,
				   HMMRT_LOCATION_MAX_NODE };

	ASSERT_EQ(0, put_on_device(1));
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		EXPECT_EQ(-EINVAL, prefetch(ON_NODE(nodes[i]), buf, LEN));
		EXPECT_EQ(-EINVAL, prefer(nodes[i]));
	}
	EXPECT_AT(A, buf, LEN);
}

/* Each test of a policy covers a prefetch to the host and CPU faults. */
TEST_F(numa, without_a_policy_pages_go_to_the_node_of_the_cpu)
{
	for (unsigned int i = 0; i < 4; i++) {
		ASSERT_EQ(0, put_on_device(i));
		ASSERT_TRUE(run_on_node(i / 2));
		ASSERT_TRUE(migrate_back(i % 2, i));
		ASSERT_EQ(PAGES, pages_on_node(buf, i / 2));
	}
}

TEST_F(numa, policy_of_the_mapping_selects_the_node)
{
	const int modes[] = { MPOL_BIND, MPOL_PREFERRED };

	for (unsigned int i = 0; i < 8; i++) {
		const int node = i / 2 % 2;

		ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1 << !node));
		ASSERT_EQ(0, put_on_device(i));
		ASSERT_EQ(0, set_policy(buf, LEN, modes[i / 4], 1 << node));
		ASSERT_TRUE(migrate_back(i % 2, i));
		ASSERT_EQ(PAGES, pages_on_node(buf, node));
	}
}

TEST_F(numa, interleaved_mapping_migrates_back_to_both_nodes_in_turn)
{
	ASSERT_EQ(0, set_policy(buf, LEN, MPOL_INTERLEAVE, 3));
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, put_on_device(i));
		ASSERT_TRUE(migrate_back(i % 2, i));
		ASSERT_EQ(PAGES / 2, pages_on_node(buf, 0));
		ASSERT_EQ(PAGES / 2, pages_on_node(buf, 1));
	}
}

TEST_F(numa, policy_of_the_process_selects_the_node)
{
	for (unsigned int i = 0; i < 4; i++) {
		const unsigned long nodes = 1 << i / 2;

		ASSERT_EQ(0, put_on_device(i));
		ASSERT_EQ(0, set_mempolicy(MPOL_PREFERRED, &nodes,
					   8 * sizeof(nodes)));
		ASSERT_TRUE(migrate_back(i % 2, i));
		ASSERT_EQ(PAGES, pages_on_node(buf, i / 2));
	}
}

TEST_F(numa, advised_node_overrides_the_policy)
{
	for (unsigned int i = 0; i < 4; i++) {
		const int node = i / 2;

		ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1 << !node));
		ASSERT_EQ(0, prefer(node));
		ASSERT_EQ(0, put_on_device(i));
		ASSERT_TRUE(migrate_back(i % 2, i));
		ASSERT_EQ(PAGES, pages_on_node(buf, node));
		/*
		 * Without the advice the policy of the mapping decides again.
		 */
		ASSERT_EQ(0, advise(buf, LEN, UNSET_PREFERRED_LOCATION));
		ASSERT_EQ(0, put_on_device(i));
		ASSERT_TRUE(migrate_back(i % 2, i));
		ASSERT_EQ(PAGES, pages_on_node(buf, !node));
	}
}

TEST_F(numa, node_of_a_prefetch_overrides_the_advised_node)
{
	ASSERT_EQ(0, prefer(1));
	ASSERT_EQ(0, put_on_device(1));
	ASSERT_EQ(0, prefetch(ON_NODE(0), buf, LEN));
	ASSERT_EQ(PAGES, pages_on_node(buf, 0));
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

#define CPUSET	"/sys/fs/cgroup/hmmrt-numa"

/* A prefetch treats a node outside of the process's cpuset as a full node. */
TEST_F(numa, node_outside_of_the_cpuset_is_treated_as_full)
{
	struct hmmrt_prefetch result;
	bool done;
	int rc;

	ASSERT_EQ(0, put_on_device(1));
	if (mkdir(CPUSET, 0755) && errno != EEXIST)
		SKIP(return, CPUSET ": %s", strerror(errno));
	done = write_text(CPUSET "/cpuset.mems", "0") &&
	       write_text(CPUSET "/cgroup.procs", "0");
	rc = prefetch_result(ON_NODE(1), buf, LEN, &result);
	write_text("/sys/fs/cgroup/cgroup.procs", "0");
	ASSERT_EQ(0, rmdir(CPUSET));
	if (!done)
		SKIP(return, "cpusets are not available");
	ASSERT_EQ(0, rc);
	ASSERT_EQ(PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_AT(A, buf, LEN);
	ASSERT_EQ(0, prefetch(ON_NODE(1), buf, LEN));
	ASSERT_EQ(PAGES, pages_on_node(buf, 1));
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

/* --- pages that the kernel moves between nodes ---------------------------- */

TEST_F(numa, move_pages_leaves_pages_on_the_device)
{
	const size_t half = LEN / 2;
	int status[PAGES];

	ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1));
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, prefetch(A, buf, half));
	ASSERT_LE(0, page_status(buf, 1, status));
	ASSERT_EQ(PAGES / 2, count_status(status, 1));
	ASSERT_EQ(PAGES / 2, count_status(status, -ENOENT));
	ASSERT_AT(A, buf, half);
	ASSERT_EQ(PAGES / 2, pages_on_node(buf, 1));
	ASSERT_EQ(0, pages_on_node(buf, 0));
	ASSERT_SUM(A, buf, LEN, 1);
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(numa, move_pages_moves_pages_that_the_device_maps)
{
	int status[PAGES];

	ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1));
	ASSERT_EQ(0, advise(buf, LEN, SET_NO_MIGRATE));
	for (unsigned int round = 0; round < 4; round++) {
		const int node = !(round % 2);

		ASSERT_DONE(dev_fill(A, buf, LEN, round));
		ASSERT_EQ(PAGES, pages_on_node(buf, !node));
		ASSERT_EQ(0, page_status(buf, node, status));
		ASSERT_EQ(PAGES, count_status(status, node));
		ASSERT_EQ(PAGES, pages_on_node(buf, node));
		ASSERT_SUM(A, buf, LEN, round);
		ASSERT_EQ(-1, pages_check(buf, LEN, round));
	}
	ASSERT_LE(PAGES, stats_of(A).out_remote_pages);
}

/* Returns how many pages the device has entries for, without device access. */
static unsigned int pages_mapped(void)
{
	static struct hmmrt_page pages[PAGES];
	unsigned int count = 0;

	if (cmd_pages(space, buf, LEN, pages))
		return 0;
	for (unsigned int i = 0; i < PAGES; i++)
		count += !!(pages[i].mapped_by & 1u << id_of(A));
	return count;
}

/*
 * The manager's worker maps the pages again, also when its lookup raced with
 * move_pages().
 */
TEST_F(numa, move_pages_preserves_accessed_by_mappings)
{
	int status[PAGES];

	ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1));
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, advise_at(buf, LEN, SET_ACCESSED_BY, A));
	ASSERT_EQ(PAGES, pages_mapped());
	for (unsigned int round = 0; round < 10; round++) {
		ASSERT_EQ(0, page_status(buf, !(round % 2), status));
		WAIT_UNTIL(pages_mapped() >= PAGES, 10);
		ASSERT_EQ(PAGES, pages_mapped());
	}
	ASSERT_EQ(0, stats_of(A).out_device_faults);
}

TEST_F(numa, move_pages_moves_duplicated_pages)
{
	int status[PAGES];

	ASSERT_EQ(0, set_policy(buf, LEN, MPOL_BIND, 1));
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, advise(buf, LEN, SET_READ_MOSTLY));
	ASSERT_SUM(A, buf, LEN, 1);
	ASSERT_EQ(PAGES, stats_of(A).out_copied_pages);
	ASSERT_EQ(0, page_status(buf, 1, status));
	ASSERT_EQ(PAGES, count_status(status, 1));
	ASSERT_EQ(PAGES, pages_on_node(buf, 1));
	ASSERT_SUM(A, buf, LEN, 1);
	pages_fill(buf, LEN, 500);
	ASSERT_SUM(A, buf, LEN, 500);
	ASSERT_FILLS(A, buf, LEN, 900);
}

#define COUNTS	5000000

/* The lane and the CPU increment one word while its page changes nodes. */
static bool count_while_pages_move(void)
{
	const uint64_t args[] = { (uintptr_t)buf, COUNTS };
	const uint64_t rounds = 100;
	struct outcome outcome;
	int status[PAGES];

	*(volatile uint64_t *)buf = 0;
	agent_post(agent_of(A), 0, AGENT_ADD, args, ARRAY_SIZE(args));
	for (uint64_t round = 0; round < rounds; round++) {
		__atomic_fetch_add((uint64_t *)buf, 1, __ATOMIC_RELAXED);
		if (page_status(buf, round % 2, status) < 0)
			return false;
	}
	outcome = dev_wait(A, 0, 60);
	return !outcome.error && !outcome.signal &&
	       *(volatile uint64_t *)buf == COUNTS + rounds;
}

TEST_F(numa, nothing_is_lost_while_pages_move_between_nodes_and_device)
{
	pages_fill(buf, LEN, 1);
	ASSERT_TRUE(count_while_pages_move());
	ASSERT_EQ(-1, pages_check(buf + PAGE_BYTES, LEN - PAGE_BYTES, 2));
}

TEST_F(numa, nothing_is_lost_while_mapped_pages_move_between_nodes)
{
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, advise(buf, LEN, SET_NO_MIGRATE));
	ASSERT_TRUE(count_while_pages_move());
	ASSERT_EQ(-1, pages_check(buf + PAGE_BYTES, LEN - PAGE_BYTES, 2));
}

/* --- balancing ------------------------------------------------------------ */

#define BALANCING	"/proc/sys/kernel/numa_balancing"
#define BALANCE_LIMIT_S	240
#define BALANCE_MOVES	amount(2, 1)
#define SCAN		"/sys/kernel/debug/sched/numa_balancing/"

/*
 * Make balancing scan often where the kernel has these knobs: by default it
 * takes minutes on a slow machine.
 */
static const struct {
	const char *path;
	const char *text;
} scans[] = {
	{ SCAN "scan_delay_ms", "100" },
	{ SCAN "scan_period_min_ms", "100" },
	{ SCAN "scan_period_max_ms", "500" },
};

FIXTURE(balancing) {
	char before[16];
	char scans_before[ARRAY_SIZE(scans)][16];
};

static void scan_often(FIXTURE_DATA(balancing) *self)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(scans); i++)
		if (read_word(scans[i].path, self->scans_before[i]))
			write_text(scans[i].path, scans[i].text);
}

static void scan_as_before(FIXTURE_DATA(balancing) *self)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(scans); i++)
		if (self->scans_before[i][0])
			write_text(scans[i].path, self->scans_before[i]);
}

FIXTURE_SETUP(balancing)
{
	if (!have_two_nodes())
		SKIP(_exit(SKIPPED), "this machine has one node");
	if (!read_word(BALANCING, self->before))
		SKIP(_exit(SKIPPED), "the kernel has no CONFIG_NUMA_BALANCING");
	scan_often(self);
	ASSERT_TRUE(write_text(BALANCING, "1"));
	DEVICES_SETUP();
	buf = ANON(LEN);
}

FIXTURE_TEARDOWN(balancing)
{
	if (!self->before[0])
		return;
	DEVICES_TEARDOWN();
	EXPECT_TRUE(write_text(BALANCING, self->before));
	scan_as_before(self);
}

/* Reads the buffer 1000 times and checks it: balancing depends on CPU time. */
static bool read_often(const char *buf, uint64_t first)
{
	for (unsigned int i = 0; i < 1000; i++)
		if (pages_check(buf, LEN, first) >= 0)
			return false;
	return true;
}

/*
 * `host_buf` is advised not to migrate: the device maps it in system memory,
 * and only balancing moves it. `moving_buf` moves to the device and back. CPU
 * and device write in turn. The CPU thread stays on the node that has less of
 * `host_buf` until balancing has moved most of it there.
 */
TEST_F(balancing, automatic_balancing_loses_no_write)
{
	const time_t limit = time(NULL) + BALANCE_LIMIT_S;
	char *host_buf = buf, *moving_buf = ANON(LEN);
	uint64_t round;
	unsigned int moves = 0;
	int node;

	ASSERT_EQ(0, advise(buf, LEN, SET_NO_MIGRATE));
	pages_fill(host_buf, LEN, 0);
	pages_fill(moving_buf, LEN, 0);
	node = pages_on_node(host_buf, 0) > PAGES / 2;
	for (round = 0; moves < BALANCE_MOVES; round++) {
		ASSERT_GT(limit, time(NULL))
		{
			TH_LOG("balancing moved pages %u times in %d s", moves,
			       BALANCE_LIMIT_S);
		}
		ASSERT_TRUE(run_on_node(node));
		ASSERT_TRUE(read_often(host_buf, 2 * round));
		pages_fill(host_buf, LEN, 2 * round + 1);
		ASSERT_EQ(-1, pages_check(moving_buf, LEN, 2 * round));
		pages_fill(moving_buf, LEN, 2 * round + 1);
		ASSERT_SUM(A, host_buf, LEN, 2 * round + 1);
		ASSERT_DONE(dev_fill(A, host_buf, LEN, 2 * round + 2));
		ASSERT_SUM(A, moving_buf, LEN, 2 * round + 1);
		ASSERT_DONE(dev_fill(A, moving_buf, LEN, 2 * round + 2));
		if (pages_on_node(host_buf, node) > PAGES / 2) {
			moves++;
			node = !node;
		}
	}
	ASSERT_EQ(-1, pages_check(host_buf, LEN, 2 * round));
	ASSERT_EQ(-1, pages_check(moving_buf, LEN, 2 * round));
}

/* --- a node without free memory ------------------------------------------- */

#define FULL_LEN	(16 * MIB)
#define FILL_ROUNDS	4
#define FILL_LIMIT_S	30
#define SWAP		"/dev/zram0"
#define POOL		"/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"

FIXTURE(full_node) {
	char *rest;
	size_t rest_len;
	size_t filled;		/* of rest */
	bool swap_was_on;
};

/* Fills more of self->rest: as many pages as the node has free. */
static bool fill_rest(FIXTURE_DATA(full_node) *self, long long *left)
{
	size_t len;

	if (numa_node_size64(1, left) < 0)
		return false;
	len = (size_t)*left / PAGE_BYTES * PAGE_BYTES;
	if (len > self->rest_len - self->filled)
		len = self->rest_len - self->filled;
	pages_fill(self->rest + self->filled, len, 1);
	self->filled += len;
	return true;
}

/*
 * Moves pages of self->rest that are elsewhere to the node, until one fails.
 * Like the module's own moves, this makes the kernel free page cache on that
 * node, which it doesn't do for a page that may be on any node. Returns the
 * number of pages moved.
 */
static int move_rest(const FIXTURE_DATA(full_node) *self)
{
	int status[NODES_PAGES];
	int before, n, moved = 0;

	for (size_t at = 0; at + LEN <= self->filled; at += LEN) {
		before = pages_on_node(self->rest + at, 1);
		if (before == NODES_PAGES)
			continue;
		page_status(self->rest + at, 1, status);
		n = pages_on_node(self->rest + at, 1) - before;
		if (n <= 0)
			break;
		moved += n;
	}
	return moved;
}

/* Repeats while the kernel still finds memory on the node. */
static bool fill_up(FIXTURE_DATA(full_node) *self)
{
	long long left;

	for (unsigned int round = 0; round < FILL_ROUNDS; round++) {
		if (!fill_rest(self, &left))
			return false;
		usleep(100000);
		if (!move_rest(self))
			break;
	}
	return true;
}

/*
 * Takes as many huge pages as the node has, then fills the rest of it page by
 * page. Switches off swap that another test may have left on: it would free
 * memory on the node again.
 */
static bool fill_node_1(FIXTURE_DATA(full_node) *self)
{
	long long size = numa_node_size64(1, NULL);
	char text[32];

	self->swap_was_on = !swapoff(SWAP);
	snprintf(text, sizeof(text), "%lld", size / (long long)BLOCK_BYTES);
	if (!write_text("/proc/sys/vm/drop_caches", "3") ||
	    !write_text(POOL, text))
		return false;
	self->rest_len = (size_t)size / PAGE_BYTES * PAGE_BYTES;
	self->rest = mmap(NULL, self->rest_len, RW,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (self->rest == MAP_FAILED ||
	    set_policy(self->rest, self->rest_len, MPOL_PREFERRED, 2))
		return false;
	return fill_up(self);
}

FIXTURE_SETUP(full_node)
{
	if (!have_two_nodes())
		SKIP(_exit(SKIPPED), "this machine has one node");
	DEVICES_SETUP();
	buf = ANON(FULL_LEN);
	ASSERT_EQ(0, set_policy(buf, FULL_LEN, MPOL_BIND, 1));
	PLACE(A, buf, FULL_LEN, 1);
	ASSERT_AT(A, buf, FULL_LEN);
	ASSERT_TRUE(fill_node_1(self));
}

FIXTURE_TEARDOWN(full_node)
{
	if (!have_two_nodes())
		return;
	EXPECT_TRUE(write_text(POOL, "0"));
	if (self->swap_was_on)
		EXPECT_EQ(0, swapon(SWAP, 0));
	DEVICES_TEARDOWN();
}

static int count_on_node(const char *buf, size_t len, int node)
{
	int n = 0;

	for (size_t at = 0; at < len; at += LEN)
		n += pages_on_node(buf + at, node);
	return n;
}

/*
 * Retries for up to 10 s: a page that the kernel has isolated is reported on no
 * node.
 */
static uint64_t recount_on_node(const char *buf, size_t len, int node,
				uint64_t wanted)
{
	uint64_t n;

	WAIT_UNTIL((n = count_on_node(buf, len, node)) == wanted, 10);
	return n;
}

TEST_F(full_node, prefetch_to_it_reports_no_memory)
{
	const time_t limit = time(NULL) + FILL_LIMIT_S;
	/* The kernel takes long to find no memory for a page. */
	const size_t len = amount(FULL_LEN, FULL_LEN / 4);
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, prefetch_result(ON_NODE(1), buf, len, &result));
	/*
	 * If all pages fit, the kernel had freed page caches: fill up and
	 * retry.
	 */
	while (!result.out_stayed[HMMRT_STAY_NO_MEMORY] &&
	       time(NULL) < limit) {
		ASSERT_EQ(0, prefetch(A, buf, len));
		ASSERT_TRUE(fill_up(self));
		ASSERT_EQ(0, prefetch_result(ON_NODE(1), buf, len, &result));
	}
	TH_LOG("%llu of %lu pages found free memory",
	       (unsigned long long)result.out_pages_moved, len / PAGE_BYTES);
	ASSERT_LT(0, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_EQ(len / PAGE_BYTES,
		  result.out_pages_moved +
			  result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_EQ(result.out_pages_moved,
		  recount_on_node(buf, len, 1, result.out_pages_moved));
	ASSERT_EQ(0, count_on_node(buf, len, 0));
	/*
	 * Pages that stayed are still on the device, and fit on the other node.
	 */
	ASSERT_EQ(0, prefetch_result(ON_NODE(0), buf, len, &result));
	ASSERT_EQ(0, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

TEST_F(full_node, pages_that_prefer_it_go_to_another_node)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0,
		  advise_at(buf, FULL_LEN, SET_PREFERRED_LOCATION, ON_NODE(1)));
	ASSERT_EQ(-1, pages_check(buf, FULL_LEN / 2, 1));
	ASSERT_EQ(0, prefetch_result(HOST, buf, FULL_LEN, &result));
	ASSERT_EQ(0, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_AT(HOST, buf, FULL_LEN);
	ASSERT_LT(0, count_on_node(buf, FULL_LEN, 0));
	ASSERT_EQ(-1, pages_check(buf, FULL_LEN, 1));
}

/* --- devices with a nearest node ------------------------------------------ */

FIXTURE(nearest) {
	char parameters[SIMGPU_PARAMETERS];
};

FIXTURE_SETUP(nearest)
{
	if (!have_two_nodes())
		SKIP(_exit(SKIPPED), "this machine has one node");
	NEED_MODULES();
	simgpu_parameters(self->parameters, sizeof(self->parameters));
	ASSERT_EQ(0, simgpu_remove());
}

FIXTURE_TEARDOWN(nearest)
{
	if (!self->parameters[0])
		return;
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

TEST_F(nearest, devices_report_their_nearest_node)
{
	const int expected[] = { 1, -1, 0, 0 };
	struct hmmrt_device_info info;
	int fd;

	ASSERT_EQ(0, module_insert("hmmrt_simgpu",
				   "devices=4 memory=2 node=1,-1,0"));
	fd = open_manager();
	for (unsigned int i = 0; i < ARRAY_SIZE(expected); i++) {
		ASSERT_EQ(0, cmd_device_info(fd, i, &info));
		EXPECT_EQ(expected[i], info.out_numa_node);
	}
	close(fd);
}

/* The mempolicy of the first process that uses the device has no effect. */
TEST_F(nearest, memory_of_a_device_is_allocated_on_its_node)
{
	const unsigned long node_0 = 1;
	long long before[2], after[2];

	ASSERT_EQ(0, module_insert("hmmrt_simgpu",
				   "devices=2 memory=64 node=1,0"));
	DEVICES_SETUP();
	buf = ANON(64 * MIB);
	ASSERT_EQ(0, set_mempolicy(MPOL_BIND, &node_0, 8 * sizeof(node_0)));
	for (unsigned int i = 0; i < 2; i++)
		numa_node_size64(i, &before[i]);
	/*
	 * The buffer is not populated: the device gets zeroes, no page is
	 * copied.
	 */
	ASSERT_EQ(0, prefetch(A, buf, 64 * MIB));
	for (unsigned int i = 0; i < 2; i++)
		numa_node_size64(i, &after[i]);
	ASSERT_LT((long long)(48 * MIB), before[1] - after[1]);
	ASSERT_GT((long long)(16 * MIB), before[0] - after[0]);
	ASSERT_EQ(0, session_end(&session));
}

TEST_HARNESS_MAIN
