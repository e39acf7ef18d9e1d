// SPDX-License-Identifier: MIT
/*
 * Memory objects and the end of memory: quotas of processes and cgroups, the
 * limit of a memory cgroup, a full device, and what gives way to what. Loads
 * hmmrt_simgpu with small devices, and restores the module and its parameters
 * afterwards.
 */
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/objects.h"
#include "lib/storm.h"

#define CHUNKS		8	/* of a device */
#define DEVICE_BYTES	(CHUNKS * BLOCK_BYTES)
#define CGROUP		"/sys/fs/cgroup/hmmrt-object"
#define CONTROLLERS	"/sys/fs/cgroup/cgroup.subtree_control"
#define NO_LIMIT	HMMRT_QUOTA_NO_LIMIT
#define DEFAULT		HMMRT_PRIORITY_DEFAULT

static void remove_cgroup_and_objects(void)
{
	rmdir(CGROUP);
	objects_end();
}

DEVICES_FIXTURE(limit, .load = "devices=2 memory=16",
		.sets_oversubscription = true, .end = remove_cgroup_and_objects)

/*
 * Returns a mapping that the device may write and that keeps the object, or
 * NULL.
 */
static char *new_memory(size_t blocks, uint32_t flags)
{
	size_t len = blocks * BLOCK_BYTES;
	int object = create_at(A, len, flags);
	char *buf = NULL;

	if (object >= 0)
		buf = object_map(object, len, RW, 0);
	close(object);
	if (buf && set_access(buf, len, A, OBJECT_WRITE))
		return NULL;
	return buf;
}

#define MEMORY(blocks, flags)						\
	({								\
		char *_memory = new_memory(blocks, flags);		\
									\
		ASSERT_NE(NULL, _memory);				\
		_memory;						\
	})

static uint64_t charged(void)
{
	struct hmmrt_quota quota;

	return cmd_get_quota(space, id_of(A), &quota) ? UINT64_MAX :
							quota.out_used_bytes;
}

static int limit_to(uint64_t bytes)
{
	return cmd_set_quota(space, id_of(A), bytes, DEFAULT, NULL);
}

/* Lets the device fill the memory, and checks it by the device and the CPU. */
#define ASSERT_USABLE(buf, len, first)						\
	do {									\
		ASSERT_DONE(dev_fill(A, buf, len, first));			\
		ASSERT_SUM(A, buf, len, first);					\
		ASSERT_EQ(-1, pages_check(buf, len, first));			\
	} while (0)

/* --- quotas --------------------------------------------------------------- */

TEST_F(limit, object_is_charged_while_it_is_there)
{
	int object = FD(create(3));
	char *buf;

	EXPECT_EQ(3 * BLOCK_BYTES, charged());
	buf = object_map(object, PAGE_BYTES, RW, 0);
	close(object);
	EXPECT_EQ(3 * BLOCK_BYTES, charged());
	ASSERT_EQ(0, munmap(buf, PAGE_BYTES));
	EXPECT_EQ(0, charged());
	/* A migratable one is charged for what is on the device. */
	buf = MEMORY(3, MIGRATABLE);
	EXPECT_EQ(0, charged());
	ASSERT_DONE(dev_write(A, buf, 1));
	EXPECT_EQ(BLOCK_BYTES, charged());
	ASSERT_USABLE(buf, 3 * BLOCK_BYTES, 5);
	EXPECT_EQ(0, charged());
	ASSERT_DONE(dev_fill(A, buf, 3 * BLOCK_BYTES, 5));
	EXPECT_EQ(3 * BLOCK_BYTES, charged());
	ASSERT_EQ(0, munmap(buf, 3 * BLOCK_BYTES));
	EXPECT_EQ(0, charged());
}

TEST_F(limit, create_over_the_quota_is_enomem)
{
	struct hmmrt_quota quota;
	int first, second;

	ASSERT_EQ(0, limit_to(4 * BLOCK_BYTES));
	EXPECT_EQ(-ENOMEM, create(5));
	EXPECT_EQ(0, charged());
	EXPECT_EQ(0, used(A));
	first = FD(create(3));
	EXPECT_EQ(-ENOMEM, create(2));
	second = FD(create(1));
	EXPECT_EQ(-ENOMEM, create(1));
	ASSERT_EQ(0, cmd_get_quota(space, id_of(A), &quota));
	EXPECT_EQ(4 * BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_LT(0, quota.out_refused);
	/* What is given back can be had again. */
	close(first);
	EXPECT_EQ(BLOCK_BYTES, charged());
	first = create(3);
	EXPECT_LE(0, first);
	close(first);
	close(second);
	/* System memory is not limited by it. */
	ASSERT_EQ(0, limit_to(0));
	EXPECT_EQ(-ENOMEM, create(1));
	first = create_on_host(1);
	EXPECT_LE(0, first);
	close(first);
	ASSERT_EQ(0, limit_to(NO_LIMIT));
	EXPECT_EQ(0, charged());
}

/* Limits are exact to the page, and an object needs whole blocks. */
TEST_F(limit, quota_one_page_short_is_enomem)
{
	int object;

	ASSERT_EQ(0, limit_to(2 * BLOCK_BYTES - PAGE_BYTES));
	EXPECT_EQ(-ENOMEM, create(2));
	object = create(1);
	EXPECT_LE(0, object);
	close(object);
}

TEST_F(limit, lower_quota_leaves_pinned_objects)
{
	char *buf = MEMORY(4, 0);
	struct hmmrt_quota quota;

	pages_fill(buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0,
		  cmd_set_quota(space, id_of(A), BLOCK_BYTES, DEFAULT, &quota));
	EXPECT_EQ(4 * BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_EQ(4 * (int64_t)BLOCK_BYTES, used(A));
	EXPECT_EQ(-ENOMEM, create(1));
	ASSERT_SUM(A, buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, munmap(buf, 4 * BLOCK_BYTES));
	EXPECT_EQ(0, charged());
}

TEST_F(limit, lower_quota_evicts_migratable_objects)
{
	char *buf = MEMORY(4, MIGRATABLE);
	struct hmmrt_quota quota;

	ASSERT_DONE(dev_fill(A, buf, 4 * BLOCK_BYTES, 1));
	EXPECT_EQ(4 * BLOCK_BYTES, charged());
	ASSERT_EQ(0,
		  cmd_set_quota(space, id_of(A), BLOCK_BYTES, DEFAULT, &quota));
	EXPECT_EQ(BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_EQ(3 * BLOCK_BYTES, quota.out_evicted_bytes);
	EXPECT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 1));
	/* It remains usable, and within the limit. */
	ASSERT_USABLE(buf, 4 * BLOCK_BYTES, 50);
	EXPECT_GE(BLOCK_BYTES, charged());
	ASSERT_EQ(0, limit_to(0));
	ASSERT_USABLE(buf, 4 * BLOCK_BYTES, 60);
	EXPECT_EQ(0, charged());
}

TEST_F(limit, process_at_its_quota_evicts_its_own_pages)
{
	char *pages = ANON(4 * BLOCK_BYTES), *buf;

	ASSERT_EQ(0, limit_to(4 * BLOCK_BYTES));
	ASSERT_DONE(dev_fill(A, pages, 4 * BLOCK_BYTES, 1));
	EXPECT_EQ(4 * BLOCK_BYTES, charged());
	buf = MEMORY(3, 0);
	EXPECT_GE(4 * BLOCK_BYTES, charged());
	ASSERT_USABLE(buf, 3 * BLOCK_BYTES, 7);
	EXPECT_EQ(-1, pages_check(pages, 4 * BLOCK_BYTES, 1));
}

static int limit_cgroup(int cgroup, uint64_t bytes, struct hmmrt_quota *quota)
{
	*quota = (struct hmmrt_quota){
		.operation = HMMRT_QUOTA_SET, .scope = HMMRT_QUOTA_OF_CGROUP,
		.device_id = id_of(A), .cgroup_fd = cgroup,
		.limit_bytes = bytes, .priority = HMMRT_PRIORITY_MAX,
	};
	return cmd_quota(space, quota);
}

/* Runs a process in the cgroup. Returns its exit status, or -1. */
static int run_in_cgroup(int (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		space = open_manager();
		if (!write_text(CGROUP "/cgroup.procs", "0") ||
		    cmd_space_create(space))
			_exit(100);
		_exit(run());
	}
	return process_result(pid);
}

static int create_in_cgroup(void)
{
	int first, second;

	if (create(3) != -ENOMEM)
		return 1;
	first = create(2);
	if (first < 0)
		return 2;
	if (create(1) != -ENOMEM)
		return 3;
	close(first);
	second = create(1);
	return second < 0 ? 4 : 0;
}

TEST_F(limit, create_over_the_quota_of_the_cgroup_is_enomem)
{
	struct hmmrt_quota quota;
	int cgroup;

	if (mkdir(CGROUP, 0755))
		SKIP(return, "cgroup v2 is not available");
	cgroup = open(CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_EQ(0, limit_cgroup(cgroup, 2 * BLOCK_BYTES, &quota));
	EXPECT_EQ(0, run_in_cgroup(create_in_cgroup));
	EXPECT_TRUE(memory_is_freed(A));
	ASSERT_EQ(0, limit_cgroup(cgroup, NO_LIMIT, &quota));
	EXPECT_EQ(0, quota.out_used_bytes);
	close(cgroup);
}

/* The memory controller limits objects in system memory. */
static int exceed_the_cgroup(void)
{
	if (create_on_host(64) != -ENOMEM)
		return 1;
	return create_on_host(1) < 0 ? 2 : 0;
}

TEST_F(limit, system_memory_of_objects_is_charged_to_the_memory_cgroup)
{
	write_text(CONTROLLERS, "+memory");
	if (mkdir(CGROUP, 0755) || !write_text(CGROUP "/memory.max", "67108864"))
		SKIP(return, "the memory controller is not available");
	EXPECT_EQ(0, run_in_cgroup(exceed_the_cgroup));
}

/* --- size ----------------------------------------------------------------- */

/* All memory that an object could have: that of the machine and its devices. */
static uint64_t most_bytes(void)
{
	struct hmmrt_device_info info;
	uint64_t bytes = 0;
	struct sysinfo system;

	for (uint32_t id = 0; id < HMMRT_MAX_DEVICES; id++)
		if (!cmd_device_info(space, id, &info))
			bytes += info.out_memory_bytes;
	if (sysinfo(&system))
		return 0;
	return (bytes + system.totalram) / BLOCK_BYTES * BLOCK_BYTES;
}

TEST_F(limit, object_larger_than_all_memory_is_enomem)
{
	const uint64_t most = most_bytes();
	const uint64_t sizes[] = {
		most + BLOCK_BYTES, 20UL << 40, 1UL << 62, -BLOCK_BYTES,
	};
	struct hmmrt_object_info info = { 0 };
	int object;

	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-ENOMEM, create_at(A, sizes[i], MIGRATABLE))
		{
			TH_LOG("%#lx bytes", sizes[i]);
		}
		EXPECT_EQ(-ENOMEM, create_at(HOST, sizes[i], 0));
	}
	object = FD(create_at(HOST, most, MIGRATABLE));
	ASSERT_EQ(0, cmd_object_info(object, &info));
	EXPECT_EQ(most, info.out_bytes);
	EXPECT_EQ(0, info.out_resident_bytes);
	close(object);
}

/* An object costs nothing before its memory is used, however large it is. */
static int create_unused(void)
{
	const uint64_t most = most_bytes();

	for (unsigned int i = 0; i < 400; i++)
		if (create_at(A, most, MIGRATABLE) < 0)
			return 1;
	return 0;
}

TEST_F(limit, objects_without_memory_take_none)
{
	write_text(CONTROLLERS, "+memory");
	if (mkdir(CGROUP, 0755) || !write_text(CGROUP "/memory.max", "16777216"))
		SKIP(return, "the memory controller is not available");
	EXPECT_EQ(0, run_in_cgroup(create_unused));
}

/* --- a full device -------------------------------------------------------- */

TEST_F(limit, full_device_is_enomem_and_nothing_is_lost)
{
	char *bufs[CHUNKS];
	uint64_t first;

	for (unsigned int i = 0; i < CHUNKS; i++) {
		bufs[i] = MEMORY(1, 0);
		pages_fill(bufs[i], BLOCK_BYTES, 1000 * i);
	}
	EXPECT_EQ((int64_t)DEVICE_BYTES, used(A));
	for (unsigned int i = 1; i < 4; i++)
		EXPECT_EQ(-ENOMEM, create(i));
	EXPECT_EQ((int64_t)DEVICE_BYTES, used(A));
	for (unsigned int i = 0; i < CHUNKS; i++) {
		first = 1000 * i;
		ASSERT_SUM(A, bufs[i], BLOCK_BYTES, first);
		EXPECT_EQ(-1, pages_check(bufs[i], BLOCK_BYTES, first));
	}
	/* Two that are not neighbours make one object of two blocks. */
	ASSERT_EQ(0, munmap(bufs[1], BLOCK_BYTES));
	ASSERT_EQ(0, munmap(bufs[5], BLOCK_BYTES));
	EXPECT_EQ(-ENOMEM, create(3));
	bufs[1] = MEMORY(2, 0);
	ASSERT_VALUE(0, dev_sum(A, bufs[1], 2 * BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(bufs[0], BLOCK_BYTES, 0));
	EXPECT_EQ(-1, pages_check(bufs[7], BLOCK_BYTES, 7000));
}

TEST_F(limit, object_larger_than_the_device_is_enomem_and_evicts_nothing)
{
	char *pages = ANON(BLOCK_BYTES);

	ASSERT_DONE(dev_fill(A, pages, BLOCK_BYTES, 1));
	EXPECT_EQ(-ENOMEM, create(CHUNKS + 1));
	EXPECT_EQ(-ENOMEM, create(1000));
	EXPECT_AT(A, pages, BLOCK_BYTES);
	EXPECT_EQ((int64_t)BLOCK_BYTES, used(A));
}

TEST_F(limit, ordinary_pages_give_way_to_an_object)
{
	char *pages = ANON(DEVICE_BYTES), *buf;

	ASSERT_DONE(dev_fill(A, pages, DEVICE_BYTES, 1));
	EXPECT_EQ((int64_t)DEVICE_BYTES, used(A));
	buf = MEMORY(CHUNKS, 0);
	EXPECT_EQ(0, count_at(A, pages, DEVICE_BYTES));
	ASSERT_VALUE(0, agent_sum(agent_of(A), buf, DEVICE_BYTES, 512));
	ASSERT_USABLE(buf, DEVICE_BYTES, 70);
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES, 1));
	/* A device without free memory uses pages in place. */
	ASSERT_USABLE(pages, DEVICE_BYTES, 80);
	EXPECT_EQ(0, count_at(A, pages, DEVICE_BYTES));
	ASSERT_SUM(A, buf, DEVICE_BYTES, 70);
}

TEST_F(limit, scattered_pages_give_way_to_an_object)
{
	char *pages = ANON(DEVICE_BYTES), *buf;

	pages_fill(pages, DEVICE_BYTES, 1);
	/* A page in each chunk, where the module divides them so. */
	for (size_t at = 0; at < DEVICE_BYTES; at += BLOCK_BYTES)
		ASSERT_EQ(0, prefetch(A, pages + at, BLOCK_BYTES / 2));
	buf = MEMORY(CHUNKS, 0);
	ASSERT_USABLE(buf, DEVICE_BYTES, 70);
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES, 1));
}

TEST_F(limit, migratable_objects_give_way_to_a_pinned_one)
{
	char *migratable = MEMORY(CHUNKS, MIGRATABLE);
	char *buf;

	ASSERT_DONE(dev_fill(A, migratable, DEVICE_BYTES, 1));
	buf = MEMORY(CHUNKS, 0);
	EXPECT_EQ(0, count_at(A, migratable, DEVICE_BYTES));
	ASSERT_USABLE(buf, DEVICE_BYTES, 70);
	/* On the full device, it is used in place. */
	ASSERT_SUM(A, migratable, DEVICE_BYTES, 1);
	ASSERT_USABLE(migratable, DEVICE_BYTES, 90);
	EXPECT_EQ(-1, pages_check(buf, DEVICE_BYTES, 70));
}

TEST_F(limit, without_eviction_pages_keep_their_place)
{
	char *pages = ANON(DEVICE_BYTES), *buf;

	ASSERT_TRUE(set_oversubscription(false));
	ASSERT_DONE(dev_fill(A, pages, DEVICE_BYTES - BLOCK_BYTES, 1));
	EXPECT_EQ(-ENOMEM, create(2));
	EXPECT_EQ((int64_t)(DEVICE_BYTES - BLOCK_BYTES), used(A));
	buf = new_memory(1, 0);
	EXPECT_NE(NULL, buf);
	ASSERT_TRUE(set_oversubscription(true));
	EXPECT_NE(NULL, new_memory(2, 0));
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES - BLOCK_BYTES, 1));
}

/* The other device's memory is not touched. */
TEST_F(limit, full_device_leaves_the_other_one_alone)
{
	int first = FD(create(CHUNKS)), second;

	EXPECT_EQ(-ENOMEM, create(1));
	second = cmd_object_create(space, BLOCK_BYTES, 1, 0);
	EXPECT_LE(0, second);
	close(first);
	close(second);
	EXPECT_TRUE(device_wait_used(space, 1, 0));
}

/* --- interrupted and concurrent calls ------------------------------------- */

TEST_F(limit, signals_leave_an_object_or_nothing)
{
	char *pages = FILLED(DEVICE_BYTES);
	unsigned int round, created = 0;
	struct storm storm;
	int object = 0;

	for (round = 0; round < amount(40, 10); round++) {
		ASSERT_EQ(0, prefetch(A, pages, DEVICE_BYTES));
		ASSERT_EQ(0, storm_start(&storm));
		object = create(CHUNKS);
		storm_stop(&storm);
		ASSERT_TRUE(object >= 0 || object == -EINTR)
		{
			TH_LOG("%s", strerror(-object));
		}
		created += object >= 0;
		if (object >= 0)
			close(object);
		else
			EXPECT_EQ(charged(), (uint64_t)used(A));
	}
	fprintf(stderr, "# %u of %u objects were created\n", created, round);
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES, 1));
	ASSERT_EQ(0, munmap(pages, DEVICE_BYTES));
	EXPECT_TRUE(memory_is_freed(A));
}

#define CREATORS	4
#define ROUNDS		amount(60, 15)

struct creator {
	pthread_t thread;
	unsigned int seed;
	unsigned int created;
	int rc;
};

/* Creates and frees objects, of which the device has not all. */
static void *create_and_free(void *arg)
{
	struct creator *creator = arg;
	uint64_t *words;
	size_t len;
	int object;

	for (unsigned long round = 0; !creator->rc && round < ROUNDS; round++) {
		len = (1 + (unsigned int)rand_r(&creator->seed) % 4) *
		      BLOCK_BYTES;
		object = create_at(A, len, 0);
		if (object == -ENOMEM)
			continue;
		words = object < 0 ? MAP_FAILED :
				     mmap(NULL, len, RW, MAP_SHARED, object, 0);
		if (words == MAP_FAILED) {
			creator->rc = object < 0 ? object : -errno;
			break;
		}
		close(object);
		if (*words || words[len / 8 - 1])
			creator->rc = -EILSEQ;
		*words = words[len / 8 - 1] = round + 1;
		sched_yield();
		if (*words != round + 1 || words[len / 8 - 1] != round + 1)
			creator->rc = -EILSEQ;
		munmap(words, len);
		creator->created++;
	}
	return NULL;
}

TEST_F(limit, threads_that_create_and_free_share_the_device)
{
	struct creator creators[CREATORS] = { 0 };
	unsigned int created = 0, seed = test_seed();
	int object;

	for (unsigned int i = 0; i < CREATORS; i++) {
		creators[i].seed = seed + i;
		creators[i].thread = THREAD(create_and_free, &creators[i]);
	}
	for (unsigned int i = 0; i < CREATORS; i++) {
		ASSERT_EQ(0, pthread_join(creators[i].thread, NULL));
		EXPECT_EQ(0, creators[i].rc);
		created += creators[i].created;
	}
	/* A thread may find the device full each time. */
	EXPECT_LT(0, created);
	EXPECT_EQ(0, charged());
	EXPECT_EQ(0, used(A));
	object = create(CHUNKS);
	EXPECT_LE(0, object);
	close(object);
}

TEST_HARNESS_MAIN
