// SPDX-License-Identifier: MIT
/*
 * Several devices on one process: pages that migrate directly between devices,
 * and peers, which are devices that map each other's memory. Random tests print
 * their seed, and HMMRT_TEST_SEED sets it. Loads hmmrt_simgpu with four
 * devices, and restores the module and its parameters afterwards.
 */
#include "lib/amount.h"
#include "lib/faulty.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define DEVICES		4
#define LANES		2
#define DEVICE_BYTES	(16UL << 20)
#define MODULE		"devices=4 memory=16"
#define IN_PLACE	MODULE " fault_in_place=1"
#define LEN		(2 * BLOCK_BYTES)
#define PAGES		(LEN / PAGE_BYTES)

/* Prefetches pages; -EBUSY if not all of them are on the device afterwards. */
static int put(unsigned int device, const void *addr, size_t len)
{
	int rc = prefetch(device, addr, len);

	if (!rc && count_at(device, addr, len) != (long)(len / PAGE_BYTES))
		rc = -EBUSY;
	return rc;
}

static int peer_call(unsigned int device, unsigned int peer, uint32_t operation)
{
	return cmd_peer(space, id_of(device), id_of(peer), operation, NULL);
}

static int enable(unsigned int device, unsigned int peer)
{
	return peer_call(device, peer, HMMRT_PEER_ENABLE);
}

static int disable(unsigned int device, unsigned int peer)
{
	return peer_call(device, peer, HMMRT_PEER_DISABLE);
}

static bool is_enabled(unsigned int device, unsigned int peer)
{
	struct hmmrt_peer result;

	return !cmd_peer(space, id_of(device), id_of(peer), HMMRT_PEER_QUERY,
			 &result) &&
	       result.out_enabled;
}

static uint64_t *word_of(char *buf, size_t page)
{
	return (uint64_t *)(buf + page * PAGE_BYTES);
}

/* --- pages that move ------------------------------------------------------ */

DEVICES_FIXTURE_SETUP(moving, .devices = DEVICES, .lanes = LANES,
		      .load = MODULE, .sets_oversubscription = true)
{
	buf = ANON(LEN);
}

/*
 * Pages migrate by prefetches and by faults. The counters show that no page
 * goes through system memory.
 */
TEST_F(moving, pages_migrate_directly_between_devices)
{
	struct hmmrt_stats stats;

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, put(A, buf, LEN));
	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_SUM(C, buf, LEN, 1);
	EXPECT_AT(C, buf, LEN);
	ASSERT_DONE(dev_fill(D, buf, LEN, 5000));
	EXPECT_AT(D, buf, LEN);
	for (unsigned int device = A; device < DEVICES; device++) {
		stats = stats_of(device);
		EXPECT_EQ(PAGES, stats.out_migrated_to_device);
		EXPECT_EQ(0, stats.out_remote_pages);
		EXPECT_EQ(0, stats.out_cpu_faults);
		EXPECT_EQ(0, stats.out_migrated_to_host);
	}
	EXPECT_EQ(-1, pages_check(buf, LEN, 5000));
}

TEST_F(moving, huge_pages_migrate_directly_between_devices)
{
	ASSERT_EQ(0, madvise(buf, LEN, MADV_HUGEPAGE));
	pages_fill(buf, LEN, 1);
	for (unsigned int device = A; device < DEVICES; device++) {
		ASSERT_EQ(0, put(device, buf, LEN));
		ASSERT_SUM(device, buf, LEN, 1 + device);
		ASSERT_DONE(dev_fill(device, buf, LEN, 2 + device));
	}
	EXPECT_EQ(0, stats_of(A).out_cpu_faults);
	EXPECT_EQ(0, stats_of(A).out_migrated_to_host);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1 + DEVICES));
}

/*
 * Groups of three pages are on two devices and in system memory, in turn. All
 * migrate to a third device.
 */
TEST_F(moving, pages_of_several_devices_migrate_to_one)
{
	pages_fill(buf, LEN, 1);
	for (size_t i = 0; i < PAGES; i++)
		if (i / 3 % 3)
			ASSERT_EQ(0, put(i / 3 % 3 == 1 ? A : B,
					 buf + i * PAGE_BYTES, PAGE_BYTES));
	ASSERT_EQ(0, put(C, buf, LEN));
	ASSERT_SUM(C, buf, LEN, 1);
	EXPECT_EQ(0, stats_of(C).out_cpu_faults);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(moving, fault_moves_a_peers_page)
{
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, enable(A, B));
	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_SUM(A, buf, LEN, 1);
	EXPECT_AT(A, buf, LEN);
	EXPECT_EQ(0, stats_of(A).out_remote_pages);
}

/* Fills device A with other memory, which it returns, and puts @buf on B. */
static char *fill_a_and_use_b(struct __test_metadata *_metadata)
{
	char *other = ANON(DEVICE_BYTES);

	ASSERT_TRUE(set_oversubscription(false));
	pages_fill(other, DEVICE_BYTES, 7);
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, put(A, other, DEVICE_BYTES));
	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	return other;
}

/*
 * A full device maps pages of an enabled peer in place. Without peer access
 * they migrate to system memory.
 */
TEST_F(moving, full_device_maps_pages_of_its_peer)
{
	char *other = fill_a_and_use_b(_metadata);

	ASSERT_DONE(dev_fill(A, buf, BLOCK_BYTES, 1000));
	EXPECT_AT(B, buf, LEN);
	EXPECT_EQ(BLOCK_PAGES, stats_of(A).out_remote_pages);
	ASSERT_EQ(0, disable(A, B));
	ASSERT_VALUE(1000, dev_read(A, buf));
	EXPECT_LT(0, count_at(HOST, buf, LEN));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1000));
	EXPECT_EQ(-1, pages_check(other, DEVICE_BYTES, 7));
}

/*
 * A prefetch moves pages that a peer has mapped, and the peer maps them at
 * their new location.
 */
TEST_F(moving, prefetch_moves_pages_that_a_peer_maps)
{
	fill_a_and_use_b(_metadata);
	ASSERT_EQ(0, enable(A, C));
	ASSERT_SUM(A, buf, LEN, 1);
	ASSERT_EQ(0, put(C, buf, LEN));
	ASSERT_DONE(dev_fill(C, buf, LEN, 9000));
	ASSERT_SUM(A, buf, LEN, 9000);
	EXPECT_AT(C, buf, LEN);
	EXPECT_EQ(2 * PAGES, stats_of(A).out_remote_pages);
	EXPECT_EQ(0, stats_of(A).out_cpu_faults);
}

/* --- peers: devices whose faults map pages where they are ----------------- */

FIXTURE(mapping) {
	unsigned int seed;
};

FIXTURE_SETUP(mapping)
{
	DEVICES_SETUP(.devices = DEVICES, .lanes = LANES, .bytes = LEN,
		      .load = IN_PLACE);
	self->seed = test_seed();
}

DEVICES_FIXTURE_TEARDOWN(mapping)

TEST_F(mapping, is_enabled_for_one_direction_of_one_pair)
{
	struct hmmrt_peer result;

	ASSERT_EQ(0, cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_QUERY,
			      &result));
	EXPECT_EQ(1, result.out_possible);
	EXPECT_EQ(0, result.out_enabled);
	ASSERT_EQ(0, cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_ENABLE,
			      &result));
	EXPECT_EQ(1, result.out_possible);
	EXPECT_EQ(1, result.out_enabled);
	for (unsigned int device = A; device < DEVICES; device++)
		for (unsigned int peer = A; peer < DEVICES; peer++)
			EXPECT_EQ(device == A && peer == B,
				  is_enabled(device, peer));
	/* Enabling twice and disabling a peer that is not enabled succeed. */
	ASSERT_EQ(0, enable(A, B));
	ASSERT_EQ(0, disable(B, A));
	EXPECT_TRUE(is_enabled(A, B));
	ASSERT_EQ(0, cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_DISABLE,
			      &result));
	EXPECT_EQ(1, result.out_possible);
	EXPECT_EQ(0, result.out_enabled);
	EXPECT_FALSE(is_enabled(A, B));
}

TEST_F(mapping, wrong_arguments_are_refused_and_change_nothing)
{
	struct hmmrt_peer arg = {
		.size = sizeof(arg), .device_id = id_of(A), .peer_id = id_of(B),
		.operation = HMMRT_PEER_ENABLE, .__reserved = 1,
	};
	int fresh = open_manager();

	EXPECT_EQ(-EOPNOTSUPP, cmd_raw(space, HMMRT_IOC_PEER, &arg));
	EXPECT_EQ(-EINVAL, peer_call(A, B, HMMRT_PEER_DISABLE + 1));
	EXPECT_EQ(-EINVAL, peer_call(A, B, UINT32_MAX));
	EXPECT_EQ(-EINVAL, peer_call(A, A, HMMRT_PEER_QUERY));
	EXPECT_EQ(-ENODEV,
		  cmd_peer(space, id_of(A), 15, HMMRT_PEER_ENABLE, NULL));
	EXPECT_EQ(-ENODEV,
		  cmd_peer(space, 15, id_of(B), HMMRT_PEER_ENABLE, NULL));
	EXPECT_EQ(-ENODEV, cmd_peer(space, HMMRT_LOCATION_HOST, id_of(B),
				    HMMRT_PEER_ENABLE, NULL));
	EXPECT_EQ(-EINVAL,
		  cmd_peer(fresh, id_of(A), id_of(B), HMMRT_PEER_ENABLE, NULL));
	close(fresh);
	EXPECT_FALSE(is_enabled(A, B));
	arg.__reserved = 0;
	EXPECT_EQ(0, cmd_raw(space, HMMRT_IOC_PEER, &arg));
	EXPECT_EQ(1, arg.out_enabled);
}

TEST_F(mapping, child_with_the_file_is_refused)
{
	EXPECT_EQ(W_EXITCODE(EPERM, 0), IN_CHILD(-enable(A, B)));
	EXPECT_FALSE(is_enabled(A, B));
}

/* Devices of different drivers cannot be peers. */
TEST_F(mapping, devices_of_different_drivers_are_no_peers)
{
	struct hmmrt_peer result;
	uint32_t id;
	int fd;

	ASSERT_EQ(0, module_insert("hmmrt_sample", ""));
	fd = FD(open_soft("/dev/hmmrt-sample"));
	ASSERT_EQ(0, device_named(space, "hmmrt-sample", &id));
	ASSERT_EQ(0, cmd_peer(space, id_of(A), id, HMMRT_PEER_QUERY, &result));
	EXPECT_EQ(0, result.out_possible);
	EXPECT_EQ(-EOPNOTSUPP,
		  cmd_peer(space, id_of(A), id, HMMRT_PEER_ENABLE, NULL));
	EXPECT_EQ(-EOPNOTSUPP,
		  cmd_peer(space, id, id_of(A), HMMRT_PEER_ENABLE, NULL));
	EXPECT_EQ(0,
		  cmd_peer(space, id_of(A), id, HMMRT_PEER_DISABLE, &result));
	EXPECT_EQ(0, result.out_enabled);
	close(fd);
	ASSERT_EQ(0, module_remove("hmmrt_sample"));
}

TEST_F(mapping, peers_page_is_used_in_place)
{
	struct hmmrt_stats before, after;

	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_SUM(A, buf, LEN, 1);
	ASSERT_DONE(dev_fill(A, buf, LEN, 3000));
	before = stats_of(A);
	EXPECT_EQ(PAGES, before.out_remote_pages);
	EXPECT_EQ(PAGES, before.out_mapped_pages);
	EXPECT_EQ(0, before.out_migrated_to_device);
	/* The pages stay mapped. Each device sees the other's writes. */
	ASSERT_SUM(B, buf, LEN, 3000);
	ASSERT_DONE(dev_fill(B, buf, LEN, 4000));
	ASSERT_SUM(A, buf, LEN, 4000);
	after = stats_of(A);
	EXPECT_EQ(before.out_device_faults, after.out_device_faults);
	EXPECT_EQ(0, after.out_cpu_faults);
	EXPECT_HAS(B, buf, LEN, 4000);
}

TEST_F(mapping, other_direction_and_other_devices_migrate_pages_back)
{
	ASSERT_EQ(0, enable(A, B));
	ASSERT_EQ(0, put(A, buf, LEN));
	ASSERT_VALUE(1, dev_read(B, buf));
	EXPECT_LT(0, count_at(HOST, buf, LEN));
	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_VALUE(1, dev_read(A, buf));
	EXPECT_EQ(0, count_at(HOST, buf, LEN));
	ASSERT_VALUE(1, dev_read(C, buf));
	EXPECT_LT(0, count_at(HOST, buf, LEN));
}

TEST_F(mapping, disable_removes_the_entries)
{
	uint64_t faults;

	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_DONE(dev_fill(A, buf, LEN, 100));
	ASSERT_EQ(0, disable(A, B));
	EXPECT_AT(B, buf, LEN);
	faults = stats_of(A).out_device_faults;
	ASSERT_VALUE(100, dev_read(A, buf));
	EXPECT_LT(faults, stats_of(A).out_device_faults);
	EXPECT_LT(0, count_at(HOST, buf, BLOCK_BYTES));
	/* Disabling removed the entries of the other block, too. */
	ASSERT_VALUE(100 + BLOCK_PAGES, dev_read(A, buf + BLOCK_BYTES));
	EXPECT_LT(0, count_at(HOST, buf + BLOCK_BYTES, BLOCK_BYTES));
	/*
	 * Device A can map pages in system memory and in its own memory again.
	 */
	ASSERT_EQ(0, put(A, buf, BLOCK_BYTES));
	ASSERT_SUM(A, buf, LEN, 100);
	EXPECT_EQ(-1, pages_check(buf, LEN, 100));
}

/*
 * A write to a peer's page that is not writable there migrates the page to
 * system memory first, as a write to the device's own page does.
 */
TEST_F(mapping, write_without_permission_migrates_the_page_back)
{
	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_EQ(0, mprotect(buf, LEN, PROT_READ));
	ASSERT_VALUE(1, dev_read(A, buf));
	EXPECT_AT(B, buf, LEN);
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, buf, 9));
	ASSERT_EQ(0, mprotect(buf, LEN, RW));
	ASSERT_DONE(dev_write(A, buf, 9));
	EXPECT_EQ(9, *word_of(buf, 0));
	EXPECT_EQ(-1, pages_check(buf + PAGE_BYTES, LEN - PAGE_BYTES, 2));
}

/*
 * Agents inherit the file descriptors of all devices. The binding ends when the
 * other agents have closed this device's descriptor, too.
 */
static void unbind(unsigned int device)
{
	uint64_t gpu = (uint64_t)session.devices[device].gpu;

	for (unsigned int other = A; other < DEVICES; other++)
		if (other != device)
			DEV_SYSCALL(other, SYS_close, gpu);
	session_unbind(&session, device);
}

TEST_F(mapping, unbinding_the_peer_disables_it)
{
	struct hmmrt_gpu_bind bind;
	uint32_t id = id_of(B);
	int gpu;

	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_EQ(0, enable(B, A));
	ASSERT_DONE(dev_fill(A, buf, LEN, 100));
	unbind(B);
	EXPECT_EQ(-ENODEV, peer_call(A, B, HMMRT_PEER_QUERY));
	EXPECT_EQ(-ENODEV, enable(A, B));
	EXPECT_EQ(0, count_at(B, buf, LEN));
	ASSERT_SUM(A, buf, LEN, 100);
	ASSERT_DONE(dev_write(A, buf, 100));
	/* A new binding starts without peers. */
	gpu = open_gpu(B);
	ASSERT_EQ(0, cmd_bind_next(gpu, space, &bind));
	ASSERT_EQ(id, bind.out_device_id);
	EXPECT_FALSE(is_enabled(A, B));
	EXPECT_FALSE(is_enabled(B, A));
	close(gpu);
	EXPECT_EQ(-1, pages_check(buf, LEN, 100));
}

TEST_F(mapping, unbinding_the_device_leaves_the_peers_pages)
{
	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_DONE(dev_fill(A, buf, LEN, 100));
	unbind(A);
	EXPECT_AT(B, buf, LEN);
	EXPECT_EQ(-ENODEV, peer_call(A, B, HMMRT_PEER_QUERY));
	ASSERT_SUM(B, buf, LEN, 100);
}

TEST_F(mapping, fork_separates_parent_and_child)
{
	struct gate go = GATE();
	pid_t pid;

	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_SUM(A, buf, LEN, 1);
	pid = CHILD(!gate_wait(&go) || pages_check(buf, LEN, 1) != -1);
	ASSERT_DONE(dev_fill(A, buf, LEN, 100));
	ASSERT_TRUE(gate_open(&go));
	EXPECT_EQ(0, process_wait(pid));
	gate_close(&go);
	EXPECT_EQ(-1, pages_check(buf, LEN, 100));
}

TEST_F(mapping, unmapped_memory_is_inaccessible_and_freed)
{
	struct session_device *peer = &session.devices[B];

	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_SUM(A, buf, LEN, 1);
	ASSERT_EQ(0, munmap(buf, LEN));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf));
	WAIT_UNTIL(device_used_bytes(space, peer->id) == peer->used_before, 10);
	EXPECT_EQ(peer->used_before, device_used_bytes(space, peer->id));
}

/*
 * Exclusive access migrates pages to system memory, also from a peer whose
 * memory the device could map.
 */
TEST_F(mapping, exclusive_access_migrates_pages_back)
{
	uint64_t *word = word_of(buf, 3);

	ASSERT_EQ(0, put(B, buf, LEN));
	ASSERT_EQ(0, enable(A, B));
	ASSERT_VALUE(4, dev_read(A, word));
	ASSERT_EQ(0, make_exclusive(A, word, PAGE_BYTES, NULL));
	EXPECT_EQ(0, count_at(B, word, PAGE_BYTES));
	ASSERT_DONE(dev_write(A, word, 40));
	EXPECT_EQ(40, *word);
	ASSERT_VALUE(40, dev_read(B, word));
}

/* --- concurrent use ------------------------------------------------------- */

/*
 * Reads or writes a page by the CPU (@accessor is 0) or by device
 * @accessor - 1. Returns false if the access fails or reads a wrong value.
 */
static bool take_turn(uint64_t *words, uint64_t value, unsigned int accessor,
		      size_t page, bool write)
{
	volatile uint64_t *word = word_of(buf, page);
	struct outcome outcome;

	if (write)
		words[page] = value;
	if (!accessor && write)
		*word = value;
	else if (!accessor)
		return *word == words[page];
	else if (write)
		outcome = dev_write(accessor - 1, word, value);
	else
		outcome = dev_read(accessor - 1, word);
	if (!accessor)
		return true;
	return !outcome.error && !outcome.signal &&
	       (write || outcome.value == words[page]);
}

/*
 * Every reader sees the last write, wherever the page is and whichever device
 * maps it.
 */
TEST_F(mapping, all_readers_see_the_last_write)
{
	uint64_t words[PAGES];
	unsigned int *seed = &self->seed;

	for (uint64_t i = 0; i < PAGES; i++)
		words[i] = i + 1;
	for (uint64_t i = 1; i <= amount(2000, 600); i++) {
		size_t page = (size_t)rand_r(seed) % PAGES;
		unsigned int accessor = (unsigned int)rand_r(seed) %
					(1 + DEVICES);
		unsigned int peer = (unsigned int)rand_r(seed) % DEVICES;
		bool write = rand_r(seed) % 2;

		if (i % 4 == 0 && accessor && accessor - 1 != peer)
			ASSERT_EQ(0, rand_r(seed) % 3 ?
					     enable(accessor - 1, peer) :
					     disable(accessor - 1, peer));
		if (i % 4 == 1)
			ASSERT_EQ(0, prefetch(peer, word_of(buf, page),
					      PAGE_BYTES));
		ASSERT_TRUE(take_turn(words, 1000 * i, accessor, page, write))
		{
			TH_LOG("turn %llu of %u", (unsigned long long)i,
			       accessor);
		}
	}
	for (uint64_t i = 0; i < PAGES; i++)
		ASSERT_EQ(words[i], *word_of(buf, i));
	EXPECT_LT(0, stats_of(A).out_remote_pages);
}

struct switcher {
	struct loop loop;
	int rc;
	unsigned int rounds;
};

static void switch_on_and_off(void *arg)
{
	struct switcher *switcher = arg;

	if (!switcher->rc)
		switcher->rc = enable(A, B);
	if (!switcher->rc)
		switcher->rc = disable(A, B);
	switcher->rounds++;
}

/*
 * Two threads enable and disable peer access and the page moves between
 * devices, while both lanes of device A write to it.
 */
TEST_F(mapping, switching_by_two_threads_under_load_loses_no_write)
{
	struct switcher switchers[2] = { 0 };
	uint64_t times = 2000, *word = word_of(buf, 0);
	uint64_t args[] = { (uintptr_t)word, times };

	*word = 0;
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, loop_start(&switchers[i].loop, switch_on_and_off,
					&switchers[i]));
	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int lane = 0; lane < LANES; lane++)
			agent_post(agent_of(A), lane, AGENT_ADD, args, 2);
		for (unsigned int i = 0; i < 5; i++)
			EXPECT_EQ(0, prefetch(i % 2 ? B : C, word, PAGE_BYTES));
		for (unsigned int lane = 0; lane < LANES; lane++)
			EXPECT_EQ(0, dev_wait(A, lane, 60).error);
	}
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, loop_stop(&switchers[i].loop));
		EXPECT_EQ(0, switchers[i].rc);
		EXPECT_LT(0, switchers[i].rounds);
	}
	EXPECT_FALSE(is_enabled(A, B));
	EXPECT_EQ(10 * LANES * times, *word);
}

/* --- the end of a process ------------------------------------------------- */

FIXTURE(ending) {
	char parameters[SIMGPU_PARAMETERS];
	int manager;
};

FIXTURE_SETUP(ending)
{
	NEED_MODULES();
	ASSERT_EQ(0, simgpu_replace(self->parameters, IN_PLACE));
	self->manager = open_manager();
}

FIXTURE_TEARDOWN(ending)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	close(self->manager);
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/*
 * Has device A map pages of device B, reports to the test, and waits to be
 * killed.
 */
static void owner_run(int to_test)
{
	int rc = session_start(&session, 2, LANES);

	space = session.space;
	buf = arena_anon(LEN);
	pages_fill(buf, LEN, 1);
	if (!rc)
		rc = put(B, buf, LEN);
	if (!rc)
		rc = enable(A, B);
	if (!rc && dev_sum(A, buf, LEN).value != pages_sum(LEN, 1))
		rc = -EIO;
	DEV_POST(A, 1, AGENT_SUM, (uintptr_t)buf, LEN, PAGE_BYTES);
	if (rc || write(to_test, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

TEST_F(ending, killed_process_frees_device_memory)
{
	int ends[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	pid = fork();
	if (!pid)
		owner_run(ends[1]);
	close(ends[1]);
	ASSERT_EQ(1, read(ends[0], &c, 1));
	ASSERT_LT(0, device_used_bytes(self->manager, B));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(SIGKILL, process_wait(pid));
	WAIT_UNTIL(!device_used_bytes(self->manager, B), 10);
	EXPECT_EQ(0, device_used_bytes(self->manager, B));
	close(ends[0]);
}

TEST_HARNESS_MAIN
