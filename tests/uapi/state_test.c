// SPDX-License-Identifier: MIT
/*
 * Results of the calls: errors for bad ranges, files in the wrong state, and
 * busy or missing objects, and the values that the informative calls return.
 */
#include <sys/stat.h>

#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/storm.h"

DEVICES_FIXTURE(space, .unattached = true)

/* With a device that is soon full. */
DEVICES_FIXTURE(small, .unattached = true, .load = "devices=1 memory=16")

/* --- ranges: the same for prefetch and residency -------------------------- */

struct bad_range {
	uintptr_t addr;
	size_t len;
	int error;
};

/* find_bad_ranges() sets the first two to the end of user space. */
static struct bad_range bad_ranges[] = {
	{ 0, PAGE_BYTES, -EOVERFLOW },
	{ 0, 2 * PAGE_BYTES, -EOVERFLOW },
	{ ARENA_BASE + 1, PAGE_BYTES, -EINVAL },
	{ ARENA_BASE + 2048, PAGE_BYTES, -EINVAL },
	{ ARENA_BASE, PAGE_BYTES + 1, -EINVAL },
	{ ARENA_BASE, 1, -EINVAL },
	{ ARENA_BASE, 0, -EINVAL },
	{ 0 - PAGE_BYTES, PAGE_BYTES, -EOVERFLOW },
	{ 0 - PAGE_BYTES, 2 * PAGE_BYTES, -EOVERFLOW },
	{ ARENA_BASE, 0 - PAGE_BYTES, -EOVERFLOW },
	{ ARENA_BASE, 0 - ARENA_BASE, -EOVERFLOW },
	{ 0xffff888000000000, PAGE_BYTES, -EOVERFLOW },
	{ 0, PAGE_BYTES, -EFAULT },
	{ ARENA_BASE - PAGE_BYTES, PAGE_BYTES, -EFAULT },
	{ ARENA_BASE + BLOCK_BYTES, PAGE_BYTES, -EFAULT },
	{ ARENA_BASE, 2 * BLOCK_BYTES, -EFAULT },
	{ ARENA_BASE - PAGE_BYTES, 2 * PAGE_BYTES, -EFAULT },
};

/*
 * The end of user space. With five-level page tables a process can map memory
 * above 47 bits by passing an address hint there.
 */
static uintptr_t user_end(void)
{
	const uintptr_t four_levels = 1UL << 47, five_levels = 1UL << 56;
	void *high = mmap((void *)(five_levels / 2), PAGE_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t end = (uintptr_t)high > four_levels ? five_levels :
							four_levels;

	munmap(high, PAGE_BYTES);
	return end - PAGE_BYTES;
}

static void find_bad_ranges(void)
{
	bad_ranges[0].addr = user_end();
	bad_ranges[1].addr = user_end() - PAGE_BYTES;
}

TEST_F(space, prefetch_refuses_bad_ranges)
{
	ASSERT_EQ((void *)ARENA_BASE, arena_anon(BLOCK_BYTES));
	find_bad_ranges();
	for (unsigned int i = 0; i < ARRAY_SIZE(bad_ranges); i++) {
		const struct bad_range *bad = &bad_ranges[i];

		EXPECT_EQ(bad->error, prefetch(A, (void *)bad->addr, bad->len))
		{
			TH_LOG("range %u to the device", i);
		}
		EXPECT_EQ(bad->error,
			  prefetch(HOST, (void *)bad->addr, bad->len))
		{
			TH_LOG("range %u to the host", i);
		}
	}
	ASSERT_EQ(0, prefetch(A, (void *)ARENA_BASE, BLOCK_BYTES));
}

TEST_F(space, residency_refuses_bad_ranges)
{
	static uint32_t locations[2 * BLOCK_PAGES];

	ASSERT_EQ((void *)ARENA_BASE, arena_anon(BLOCK_BYTES));
	find_bad_ranges();
	for (unsigned int i = 0; i < ARRAY_SIZE(bad_ranges); i++) {
		const struct bad_range *bad = &bad_ranges[i];
		int error = bad->error;

		/*
		 * Longer than a GiB, and too long for the address space: either
		 * errno is right.
		 */
		if (error == -EOVERFLOW && bad->len > (1UL << 30))
			error = cmd_residency(space, (void *)bad->addr,
					      bad->len, locations);
		EXPECT_EQ(error, cmd_residency(space, (void *)bad->addr,
					       bad->len, locations))
		{
			TH_LOG("range %u", i);
		}
		ASSERT_GT(0, error);
	}
	ASSERT_EQ(0, cmd_residency(space, (void *)ARENA_BASE, BLOCK_BYTES,
				   locations));
}

TEST_F(space, residency_of_more_than_a_gib_is_einval)
{
	const size_t gib = 1UL << 30;
	const size_t bytes = (gib / PAGE_BYTES + 1) * sizeof(uint32_t);
	char *buf = arena_map(gib + PAGE_BYTES, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);
	uint32_t *locations = malloc(bytes);

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(-EINVAL,
		  cmd_residency(space, buf, gib + PAGE_BYTES, locations));
	ASSERT_EQ(0, cmd_residency(space, buf, gib, locations));
	ASSERT_EQ(HMMRT_LOCATION_NONE, locations[gib / PAGE_BYTES - 1]);
	free(locations);
}

TEST_F(space, residency_into_bad_memory_is_efault)
{
	char *buf = ANON(BLOCK_BYTES);
	uint32_t *two_pages = arena_anon(2 * PAGE_BYTES);
	uint32_t *end = two_pages + PAGE_BYTES / sizeof(*two_pages);

	ASSERT_EQ(0, mprotect(end, PAGE_BYTES, PROT_NONE));
	ASSERT_EQ(-EFAULT, cmd_residency(space, buf, PAGE_BYTES, NULL));
	ASSERT_EQ(-EFAULT, cmd_residency(space, buf, PAGE_BYTES, end));
	ASSERT_EQ(-EFAULT, cmd_residency(space, buf, 2 * PAGE_BYTES, end - 1));
	ASSERT_EQ(-EFAULT, cmd_residency(space, buf, PAGE_BYTES,
					 (uint32_t *)0xffff888000000000));
	ASSERT_EQ(0, cmd_residency(space, buf, PAGE_BYTES, end - 1));
}

TEST_F(space, prefetch_moves_pages_before_a_hole)
{
	const size_t len = 3 * BLOCK_BYTES;
	char *buf = FILLED(len);
	struct hmmrt_prefetch before;

	ASSERT_EQ(0, munmap(buf + BLOCK_BYTES, BLOCK_BYTES));
	ASSERT_EQ(-EFAULT, prefetch_result(A, buf, len, &before));
	ASSERT_AT(A, buf, BLOCK_BYTES);
	ASSERT_EQ(0, count_at(A, buf + 2 * BLOCK_BYTES, BLOCK_BYTES));
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	ASSERT_EQ(-1, pages_check(buf + 2 * BLOCK_BYTES, BLOCK_BYTES,
				  2 * BLOCK_PAGES + 1));
}

/* --- prefetch and residency: their results -------------------------------- */

TEST_F(space, prefetch_both_ways_reports_moved_pages)
{
	const size_t len = 4 * BLOCK_BYTES;
	const uint64_t pages = len / PAGE_BYTES;
	char *buf = FILLED(len);
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, prefetch_result(A, buf, len, &result));
	EXPECT_EQ(pages, result.out_pages_moved);
	EXPECT_EQ(0, result.out_pages_there);
	EXPECT_AT(A, buf, len);

	ASSERT_EQ(0, prefetch_result(A, buf, len, &result));
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(pages, result.out_pages_there);

	ASSERT_EQ(0, prefetch_result(HOST, buf, len, &result));
	EXPECT_EQ(pages, result.out_pages_moved);
	EXPECT_EQ(0, result.out_pages_there);
	EXPECT_AT(HOST, buf, len);

	ASSERT_EQ(0, prefetch_result(HOST, buf, len, &result));
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(pages, result.out_pages_there);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

/* Half of each block is already on the device. */
TEST_F(space, prefetch_completes_partly_migrated_blocks)
{
	const size_t len = 2 * BLOCK_BYTES, half = BLOCK_BYTES / 2;
	char *buf = FILLED(len);
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, prefetch(A, buf + half, BLOCK_BYTES));
	ASSERT_EQ(BLOCK_PAGES, count_at(A, buf, len));
	ASSERT_EQ(0, prefetch_result(A, buf, len, &result));
	ASSERT_EQ(BLOCK_PAGES, result.out_pages_moved);
	ASSERT_EQ(BLOCK_PAGES, result.out_pages_there);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

TEST_F(space, prefetch_reports_that_shared_memory_stays)
{
	char *buf = arena_map(BLOCK_BYTES, RW, MAP_SHARED | MAP_ANONYMOUS, -1,
			      0);
	struct hmmrt_prefetch result;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, prefetch_result(A, buf, BLOCK_BYTES, &result));
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(BLOCK_PAGES, result.out_stayed[HMMRT_STAY_FILE]);
	EXPECT_EQ(0, result.out_stayed[HMMRT_STAY_BUSY]);
	EXPECT_EQ(0, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	EXPECT_AT(HOST, buf, BLOCK_BYTES);
}

static uint64_t slab_bytes(void)
{
	long kib = read_number("/proc/meminfo", "Slab: %ld kB");

	return kib < 0 ? 0 : (uint64_t)kib << 10;
}

#define TERABYTE (1UL << 40)

/* Prefetches the whole buffer. @slab: how much slab memory grew meanwhile. */
static int prefetch_terabyte(char *buf, uint32_t location,
			     struct hmmrt_prefetch *result, uint64_t *slab)
{
	uint64_t before = slab_bytes(), after;
	int rc;

	if (!before)
		return -ENOENT;
	rc = cmd_prefetch(space, buf, TERABYTE, location, result);
	after = slab_bytes();
	*slab = after > before ? after - before : 0;
	return rc;
}

/* Bookkeeping for each of its blocks would take 2 GiB. */
TEST_F(space, prefetch_of_a_reserved_terabyte_costs_no_memory)
{
	char *buf = mmap(NULL, TERABYTE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct hmmrt_prefetch result;
	uint64_t slab;

	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_EQ(0, prefetch_terabyte(buf, id_of(A), &result, &slab));
	EXPECT_EQ(TERABYTE / PAGE_BYTES, result.out_stayed[HMMRT_STAY_SPECIAL]);
	EXPECT_GT(16UL << 20, slab);
	munmap(buf, TERABYTE);
}

/* One populated page every 64 GiB. */
#define SPARSE_PAGES 16

static char *sparse_map(void)
{
	char *buf = mmap(NULL, TERABYTE, RW,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (uint64_t i = 0; buf != MAP_FAILED && i < SPARSE_PAGES; i++)
		*(uint64_t *)(buf + i * (TERABYTE / SPARSE_PAGES)) = i + 1;
	return buf;
}

static bool sparse_check(char *buf)
{
	for (uint64_t i = 0; i < SPARSE_PAGES; i++)
		if (*(uint64_t *)(buf + i * (TERABYTE / SPARSE_PAGES)) != i + 1)
			return false;
	return true;
}

TEST_F(space, prefetch_of_a_sparse_terabyte_back_allocates_little)
{
	char *buf = sparse_map();
	struct hmmrt_prefetch result;
	uint64_t slab;

	ASSERT_NE(MAP_FAILED, buf);
	for (uint64_t i = 0; i < SPARSE_PAGES; i++)
		ASSERT_EQ(0, prefetch(A, buf + i * (TERABYTE / SPARSE_PAGES),
				      PAGE_BYTES));
	ASSERT_EQ(0, prefetch_terabyte(buf, HOST, &result, &slab));
	EXPECT_EQ(SPARSE_PAGES, result.out_pages_moved);
	EXPECT_EQ(TERABYTE / PAGE_BYTES - SPARSE_PAGES, result.out_pages_there);
	EXPECT_GT(16UL << 20, slab);
	EXPECT_TRUE(sparse_check(buf));
	munmap(buf, TERABYTE);
}

/* The prefetch fills the device. After that it visits populated memory only. */
TEST_F(small, prefetch_of_a_sparse_terabyte_ends_when_the_device_is_full)
{
	char *buf = sparse_map();
	struct hmmrt_device_info info;
	struct hmmrt_prefetch result;
	uint64_t slab, pages;

	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	pages = info.out_memory_bytes / PAGE_BYTES;
	ASSERT_EQ(0, prefetch_terabyte(buf, id_of(A), &result, &slab));
	EXPECT_EQ(pages, result.out_pages_moved);
	EXPECT_EQ(TERABYTE / PAGE_BYTES - pages,
		  result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	EXPECT_GT(64UL << 20, slab);
	EXPECT_TRUE(sparse_check(buf));
	munmap(buf, TERABYTE);
}

/* The prefetch does not visit memory that is advised not to migrate. */
TEST_F(space, prefetch_of_a_no_migrate_terabyte_costs_no_memory)
{
	char *buf = sparse_map();
	struct hmmrt_prefetch result;
	uint64_t slab;

	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_EQ(0, advise(buf, TERABYTE, SET_NO_MIGRATE));
	ASSERT_EQ(0, prefetch_terabyte(buf, id_of(A), &result, &slab));
	EXPECT_EQ(TERABYTE / PAGE_BYTES, result.out_stayed[HMMRT_STAY_POLICY]);
	EXPECT_GT(16UL << 20, slab);
	munmap(buf, TERABYTE);
}

TEST_F(small, prefetch_reports_full_device_memory)
{
	struct hmmrt_prefetch result;
	struct hmmrt_device_info info;
	uint64_t pages;
	size_t len;
	char *buf;

	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	len = info.out_memory_bytes + 4 * BLOCK_BYTES;
	buf = FILLED(len);
	ASSERT_EQ(0, prefetch_result(A, buf, len, &result));
	pages = info.out_memory_bytes / PAGE_BYTES;
	EXPECT_EQ(pages, result.out_pages_moved);
	EXPECT_EQ(4 * BLOCK_PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	EXPECT_EQ(info.out_memory_bytes, info.out_used_bytes);
	EXPECT_EQ(info.out_memory_bytes, info.out_backed_bytes);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

TEST_F(space, residency_tells_populated_pages_from_others)
{
	char *buf = ANON(4 * PAGE_BYTES);
	uint32_t locations[4];

	buf[PAGE_BYTES] = 1;
	buf[3 * PAGE_BYTES] = 1;
	ASSERT_EQ(0, prefetch(A, buf + 3 * PAGE_BYTES, PAGE_BYTES));
	ASSERT_EQ(0, cmd_residency(space, buf, 4 * PAGE_BYTES, locations));
	EXPECT_EQ(HMMRT_LOCATION_NONE, locations[0]);
	EXPECT_EQ(HMMRT_LOCATION_HOST, locations[1]);
	EXPECT_EQ(HMMRT_LOCATION_NONE, locations[2]);
	EXPECT_EQ(id_of(A), locations[3]);
}

/* --- wrong values --------------------------------------------------------- */

TEST_F(space, prefetch_to_unbound_device_or_offline_node_is_refused)
{
	const uint32_t unbound[] = { id_of(A) + 1, HMMRT_MAX_DEVICES, 1000,
				     HMMRT_LOCATION_HOST_NODE(0) - 1 };
	const uint32_t bad[] = { HMMRT_LOCATION_HOST_NODE(HMMRT_LOCATION_MAX_NODE),
				 HMMRT_LOCATION_HOST_NODE(HMMRT_LOCATION_MAX_NODE + 1),
				 HMMRT_LOCATION_NONE, HMMRT_LOCATION_NONE - 1 };
	char *buf = ANON(BLOCK_BYTES);

	for (unsigned int i = 0; i < ARRAY_SIZE(unbound); i++)
		EXPECT_EQ(-ENODEV, cmd_prefetch(space, buf, BLOCK_BYTES,
						unbound[i], NULL));
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL,
			  cmd_prefetch(space, buf, BLOCK_BYTES, bad[i], NULL));
	ASSERT_EQ(0, prefetch(A, buf, BLOCK_BYTES));
}

TEST_F(space, stats_of_an_unbound_device_is_enodev)
{
	const uint32_t bad[] = { id_of(A) + 1, HMMRT_MAX_DEVICES, 0x80000000,
				 HMMRT_LOCATION_HOST, HMMRT_LOCATION_NONE };
	struct hmmrt_stats stats;

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-ENODEV, cmd_stats(space, bad[i], &stats));
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
}

TEST_F(space, reserved_members_are_eopnotsupp)
{
	char *buf = arena_anon(PAGE_BYTES);
	struct hmmrt_prefetch prefetch = {
		.size = sizeof(prefetch), .addr = (uintptr_t)buf,
		.len = PAGE_BYTES, .location = id_of(A),
	};
	struct hmmrt_stats stats = {
		.size = sizeof(stats), .device_id = id_of(A),
	};

	for (unsigned int bit = 0; bit < 32; bit++) {
		prefetch.__reserved = 1u << bit;
		stats.__reserved = 1u << bit;
		EXPECT_EQ(-EOPNOTSUPP,
			  cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch));
		EXPECT_EQ(-EOPNOTSUPP, cmd_raw(space, HMMRT_IOC_STATS, &stats));
	}
	prefetch.__reserved = 0;
	stats.__reserved = 0;
	ASSERT_EQ(0, cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch));
	ASSERT_EQ(0, cmd_raw(space, HMMRT_IOC_STATS, &stats));
}

TEST_F(space, device_info_of_a_missing_device_is_enodev)
{
	struct hmmrt_device_info device;
	struct hmmrt_info info;
	uint32_t found = 0;

	ASSERT_EQ(0, cmd_info(space, &info));
	for (uint32_t id = 0; id < HMMRT_MAX_DEVICES; id++) {
		int rc = cmd_device_info(space, id, &device);

		found += !rc;
		ASSERT_TRUE(rc == 0 || rc == -ENODEV);
	}
	ASSERT_EQ(info.out_devices, found);
	ASSERT_EQ(-ENODEV, cmd_device_info(space, HMMRT_MAX_DEVICES, &device));
	ASSERT_EQ(-ENODEV, cmd_device_info(space, 0x80000000, &device));
	ASSERT_EQ(-ENODEV,
		  cmd_device_info(space, HMMRT_LOCATION_HOST, &device));
	ASSERT_EQ(-ENODEV,
		  cmd_device_info(space, HMMRT_LOCATION_NONE, &device));
}

TEST_F(space, bind_to_a_file_that_is_no_space_is_ebadf)
{
	int gpu = FD(open_gpu(1));
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int path = open("/dev/hmmrt", O_PATH | O_CLOEXEC);
	const int bad[] = {
		-1, 1 << 20, INT32_MIN, null, path, gpu, session.devices[A].gpu
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EBADF, cmd_bind(gpu, bad[i], NULL));
	ASSERT_EQ(0, cmd_bind(gpu, space, NULL));
	close(path);
	close(null);
	close(gpu);
}

/* --- wrong states --------------------------------------------------------- */

TEST_F(space, calls_on_a_file_without_a_space_are_einval)
{
	char *buf = arena_anon(PAGE_BYTES);
	int fresh = FD(open_manager()), gpu = open_gpu(1);
	struct hmmrt_stats stats;
	uint32_t location;

	ASSERT_EQ(-EINVAL, cmd_prefetch(fresh, buf, PAGE_BYTES,
					HMMRT_LOCATION_HOST, NULL));
	ASSERT_EQ(-EINVAL, cmd_residency(fresh, buf, PAGE_BYTES, &location));
	ASSERT_EQ(-EINVAL, cmd_stats(fresh, id_of(A), &stats));
	ASSERT_EQ(-EINVAL, cmd_bind(gpu, fresh, NULL));

	/* A second file of the process works like the first one. */
	ASSERT_EQ(0, cmd_space_create(fresh));
	ASSERT_EQ(0, cmd_prefetch(fresh, buf, PAGE_BYTES, HMMRT_LOCATION_HOST,
				  NULL));
	ASSERT_EQ(0, cmd_residency(fresh, buf, PAGE_BYTES, &location));
	ASSERT_EQ(0, cmd_stats(fresh, id_of(A), &stats));
	ASSERT_EQ(0, cmd_bind(gpu, fresh, NULL));
	close(gpu);
	close(fresh);
}

TEST_F(space, calls_on_an_unbound_gpu_are_enodev)
{
	struct hmmrt_gpu_fault_record record;
	struct agent stranger;
	int gpu = FD(open_gpu(1));

	ASSERT_EQ(0, agent_start(&stranger, gpu, 1));
	ASSERT_EQ(-ENODEV, agent_attach(&stranger, gpu, 1));
	ASSERT_EQ(-ENODEV, cmd_attach(gpu, 1));
	ASSERT_EQ(-ENODEV, cmd_fault_record(gpu, &record));
	ASSERT_EQ(-ENODEV, agent_map(&stranger, (void *)ARENA_BASE, PAGE_BYTES,
				     PROT_READ));
	agent_quit(&stranger);
	close(gpu);
}

TEST_F(space, fault_record_before_attach_is_einval)
{
	struct session_device *device = &session.devices[0];
	struct hmmrt_gpu_fault_record record = { .size = sizeof(record) };

	ASSERT_EQ(-EINVAL, agent_ioctl(&device->agent, device->gpu,
				       HMMRT_GPU_IOC_FAULT_RECORD, &record,
				       sizeof(record)));
	ASSERT_EQ(0, session_attach(&session));
	ASSERT_EQ(0, agent_ioctl(&device->agent, device->gpu,
				 HMMRT_GPU_IOC_FAULT_RECORD, &record,
				 sizeof(record)));
	ASSERT_EQ(0, record.out_errno);
	ASSERT_EQ(0, record.out_addr);
	ASSERT_EQ(0, record.out_access);
}

TEST_F(space, second_space_on_a_file_is_ebusy)
{
	ASSERT_EQ(-EBUSY, cmd_space_create(space));
	ASSERT_EQ(-EBUSY, cmd_space_create(space));
}

TEST_F(space, second_bind_of_a_file_or_device_is_ebusy)
{
	struct hmmrt_gpu_bind bind;
	int gpu = FD(open_gpu(0));

	ASSERT_EQ(-EBUSY, cmd_bind(session.devices[A].gpu, space, &bind));
	ASSERT_EQ(-EBUSY, cmd_bind(gpu, space, &bind));
	/* The agent closes its descriptor of the file, too. */
	session_unbind(&session, A);
	ASSERT_EQ(0, cmd_bind_next(gpu, space, &bind));
	ASSERT_EQ(id_of(A), bind.out_device_id);
	session.devices[0].gpu = gpu;
}

/* --- a signal ------------------------------------------------------------- */

/* So many blocks that a prefetch takes much longer than signals are apart. */
#define LONG_BLOCKS	amount(32, 8)

/*
 * In one round the signals may miss all calls, so the test repeats the round
 * until one call is interrupted.
 */
TEST_F(space, interrupted_prefetch_reports_its_progress)
{
	const size_t len = LONG_BLOCKS * BLOCK_BYTES;
	struct storm storm;
	unsigned int eintr = 0, calls;
	struct hmmrt_prefetch result;
	char *buf = FILLED(len);
	uint64_t moved;
	int rc;

	for (unsigned int round = 0; !eintr && round < STORM_ROUNDS; round++) {
		ASSERT_EQ(0, prefetch(HOST, buf, len));
		ASSERT_EQ(0, storm_start(&storm));
		moved = 0;
		calls = 0;
		do {
			rc = prefetch_result(A, buf, len, &result);
			eintr += rc == -EINTR;
			moved += result.out_pages_moved;
		} while (rc == -EINTR && ++calls < 1000);
		storm_stop(&storm);
		ASSERT_EQ(0, rc);
		ASSERT_EQ(len / PAGE_BYTES, moved);
	}
	ASSERT_LT(0, eintr);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

/* The kernel restarts the call, which continues where it stopped. */
TEST_F(space, restarted_prefetch_counts_each_page_once)
{
	const size_t len = LONG_BLOCKS * BLOCK_BYTES;
	struct hmmrt_prefetch result;
	char *buf = FILLED(len);
	struct storm storm;

	for (unsigned int round = 0; round < amount(4, 2); round++) {
		ASSERT_EQ(0, prefetch(HOST, buf, len));
		ASSERT_EQ(0, storm_start(&storm));
		storm_restarts();
		EXPECT_EQ(0, prefetch_result(A, buf, len, &result));
		storm_stop(&storm);
		EXPECT_EQ(len / PAGE_BYTES, result.out_pages_moved);
		EXPECT_EQ(0, result.done);
	}
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

TEST_F(space, interrupted_prefetch_goes_on_where_it_was)
{
	const size_t len = LONG_BLOCKS * BLOCK_BYTES;
	char *buf = FILLED(len);
	struct hmmrt_prefetch prefetch = {
		.size = sizeof(prefetch), .addr = (uintptr_t)buf, .len = len,
		.location = id_of(A),
	};
	unsigned int eintr = 0;
	struct storm storm;
	int rc;

	for (unsigned int round = 0; !eintr && round < STORM_ROUNDS; round++) {
		ASSERT_EQ(0, cmd_prefetch(space, buf, len, HOST, NULL));
		ASSERT_EQ(0, storm_start(&storm));
		while ((rc = cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch)) ==
		       -EINTR) {
			eintr++;
			EXPECT_EQ(prefetch.out_pages_moved * PAGE_BYTES,
				  prefetch.done);
		}
		storm_stop(&storm);
		ASSERT_EQ(0, rc);
		ASSERT_EQ(len / PAGE_BYTES, prefetch.out_pages_moved);
		ASSERT_EQ(0, prefetch.done);
	}
	ASSERT_LT(0, eintr);
	/* Values that differ from those of an interrupted call. */
	prefetch.done = PAGE_BYTES;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch));
	prefetch.done = len + PAGE_BYTES;
	prefetch.out_pages_moved++;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch));
	prefetch.out_pages_moved = 1;
	prefetch.done = PAGE_BYTES + 1;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch));
	prefetch.done = PAGE_BYTES;
	EXPECT_EQ(0, cmd_raw(space, HMMRT_IOC_PREFETCH, &prefetch));
	EXPECT_EQ(1, prefetch.out_pages_moved);
}

struct stopped {
	volatile unsigned long calls;
	volatile int rc;		/* of the first call that failed */
	volatile unsigned long wrong;	/* calls that missed pages */
};

static void prefetch_for_ever(struct stopped *stopped)
{
	const size_t len = LONG_BLOCKS / 2 * BLOCK_BYTES;
	int space = open_manager(), gpu = open_gpu(0), rc;
	struct hmmrt_prefetch result;
	struct hmmrt_gpu_bind bind;
	char *buf = arena_anon(len);

	rc = cmd_space_create(space);
	if (!rc)
		rc = cmd_bind(gpu, space, &bind);
	pages_fill(buf, len, 1);
	for (uint32_t to = bind.out_device_id; !rc;
	     to = to == HMMRT_LOCATION_HOST ? bind.out_device_id :
					      HMMRT_LOCATION_HOST) {
		rc = cmd_prefetch(space, buf, len, to, &result);
		if (result.out_pages_moved != len / PAGE_BYTES)
			stopped->wrong++;
		stopped->calls++;
	}
	stopped->rc = rc;
}

/* Starts a child that has no signal handlers, and waits for its first call. */
static pid_t prefetching_child(struct stopped **stopped)
{
	pid_t pid;

	*stopped =
		mmap(NULL, PAGE_BYTES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (*stopped == MAP_FAILED)
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prefetch_for_ever(*stopped);
		_exit(1);
	}
	while (pid > 0 && !(*stopped)->calls && !(*stopped)->rc)
		usleep(1000);
	return pid;
}

/* Ends the child. Returns true if no call has failed or missed a page. */
static bool prefetched_all(pid_t pid, struct stopped *stopped)
{
	bool all = !stopped->rc;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fprintf(stderr, "# %lu calls\n", stopped->calls);
	all &= !stopped->wrong;
	munmap(stopped, PAGE_BYTES);
	return all;
}

/* A debugger or a shell stops a program. */
TEST_F(space, stopped_and_continued_call_is_no_error)
{
	struct stopped *stopped;
	pid_t pid = prefetching_child(&stopped);
	int status;

	ASSERT_LT(0, pid);
	for (unsigned int i = 0; i < 30 && !stopped->rc; i++) {
		ASSERT_EQ(0, kill(pid, SIGSTOP));
		ASSERT_EQ(pid, waitpid(pid, &status, WUNTRACED));
		if (!WIFSTOPPED(status))
			break;
		kill(pid, SIGCONT);
		usleep(5000 + 1000 * i);
	}
	EXPECT_TRUE(prefetched_all(pid, stopped));
}

#define FREEZER	"/sys/fs/cgroup/hmmrt-freezer"

static bool is_frozen(void)
{
	char text[256] = "";
	int fd = open(FREEZER "/cgroup.events", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 && strstr(text, "frozen 1");
}

/* A container's manager freezes it. */
TEST_F(space, frozen_and_thawed_call_is_no_error)
{
	struct stopped *stopped;
	char text[16];
	pid_t pid;

	if (mkdir(FREEZER, 0755) && errno != EEXIST)
		SKIP(return, "cannot make " FREEZER);
	pid = prefetching_child(&stopped);
	ASSERT_LT(0, pid);
	snprintf(text, sizeof(text), "%d", pid);
	ASSERT_TRUE(write_text(FREEZER "/cgroup.procs", text));
	for (unsigned int i = 0; i < 30 && !stopped->rc; i++) {
		ASSERT_TRUE(write_text(FREEZER "/cgroup.freeze", "1"));
		EXPECT_TRUE(WAIT_UNTIL(is_frozen(), 10));
		ASSERT_TRUE(write_text(FREEZER "/cgroup.freeze", "0"));
		usleep(5000 + 1000 * i);
	}
	EXPECT_TRUE(prefetched_all(pid, stopped));
	EXPECT_EQ(0, rmdir(FREEZER));
}

/* --- values of the informative calls -------------------------------------- */

TEST_F(space, info_describes_this_version)
{
	struct hmmrt_info info;

	ASSERT_EQ(0, cmd_info(space, &info));
	EXPECT_EQ(HMMRT_UAPI_VERSION, info.out_uapi_version);
	EXPECT_LE(1, info.out_devices);
	EXPECT_GE(HMMRT_MAX_DEVICES, info.out_devices);
	EXPECT_EQ((uint32_t)sysconf(_SC_PAGESIZE), info.out_page_size);
	EXPECT_EQ(BLOCK_BYTES, info.out_block_size);
	EXPECT_EQ(HMMRT_FEATURE_DUPLICATES | HMMRT_FEATURE_OBJECTS |
			  HMMRT_FEATURE_EVENTS | HMMRT_FEATURE_ANNOTATIONS,
		  info.out_features);
}

TEST_F(space, device_info_counts_memory_in_use)
{
	struct hmmrt_device_info info;
	char *buf = ANON(BLOCK_BYTES);
	uint64_t before;
	char path[64];

	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	EXPECT_EQ(0, info.out_memory_bytes % BLOCK_BYTES);
	EXPECT_LE(info.out_used_bytes, info.out_backed_bytes);
	EXPECT_LE(info.out_backed_bytes, info.out_memory_bytes);
	EXPECT_EQ(-1, info.out_numa_node);
	ASSERT_NE(NULL, memchr(info.out_name, 0, sizeof(info.out_name)));
	snprintf(path, sizeof(path), "/dev/%s", (char *)info.out_name);
	ASSERT_EQ(0, access(path, R_OK | W_OK));

	before = info.out_used_bytes;
	PLACE(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	EXPECT_EQ(before + BLOCK_BYTES, info.out_used_bytes);
	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	EXPECT_EQ(before, info.out_used_bytes);
}

TEST_F(space, stats_start_at_zero_and_count)
{
	char *buf = arena_anon(BLOCK_BYTES);
	struct hmmrt_stats stats;

	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(0, stats.out_device_faults);
	EXPECT_EQ(0, stats.out_failed_faults);
	EXPECT_EQ(0, stats.out_mapped_pages);
	EXPECT_EQ(0, stats.out_remote_pages);
	EXPECT_EQ(0, stats.out_migrated_to_device);
	EXPECT_EQ(0, stats.out_migrated_to_host);
	EXPECT_EQ(0, stats.out_cpu_faults);
	EXPECT_EQ(0, stats.out_retries);

	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, session_attach(&session));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(SIGSEGV, dev_read(A, buf + BLOCK_BYTES).signal);
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(2, stats.out_device_faults);
	EXPECT_EQ(1, stats.out_failed_faults);
	EXPECT_EQ(16, stats.out_mapped_pages);
	EXPECT_EQ(0, stats.out_remote_pages);
	EXPECT_EQ(16, stats.out_migrated_to_device);
	EXPECT_EQ(16, stats.out_migrated_to_host);
	EXPECT_EQ(1, stats.out_cpu_faults);
	EXPECT_LT(0, stats.out_invalidations);
}

/* The counters of the binding restart. The counters of the space continue. */
TEST_F(space, stats_of_a_new_binding_start_at_zero)
{
	struct session_device *device = &session.devices[0];
	char *buf = arena_anon(BLOCK_BYTES);
	struct hmmrt_stats stats;

	PLACE(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	ASSERT_EQ(BLOCK_PAGES, stats.out_migrated_to_device);
	ASSERT_EQ(BLOCK_PAGES, stats.out_migrated_to_host);
	session_unbind(&session, A);
	ASSERT_EQ(-ENODEV, cmd_stats(space, id_of(A), &stats));

	device->gpu = FD(open_gpu(0));
	ASSERT_EQ(0, cmd_bind(device->gpu, space, NULL));
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(0, stats.out_migrated_to_device);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_host);
}

/* Unbinding migrates the device's pages back to system memory. */
TEST_F(space, unbind_migrates_pages_back)
{
	const size_t len = 3 * BLOCK_BYTES;
	char *buf = FILLED(len);

	MOVE(A, buf, len);
	session_unbind(&session, A);
	ASSERT_HAS(HOST, buf, len, 1);
}

TEST_HARNESS_MAIN
