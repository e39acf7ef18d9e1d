// SPDX-License-Identifier: MIT
/*
 * Memory objects and the end of memory: quotas of processes and cgroups, a full
 * device, and what gives way to what. Loads hmmrt_simgpu with two small
 * devices, and restores the module and its parameters afterwards.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "lib/amount.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/object.h"
#include "lib/session.h"
#include "lib/setting.h"
#include "lib/storm.h"

#define HOST		HMMRT_LOCATION_HOST
#define RW		(PROT_READ | PROT_WRITE)
#define CHUNKS		8
#define DEVICE_BYTES	(CHUNKS * BLOCK_BYTES)
#define MODULE		"devices=2 memory=16"
#define NO_LIMIT	HMMRT_QUOTA_NO_LIMIT
#define DEFAULT		HMMRT_PRIORITY_DEFAULT
#define CGROUP		"/sys/fs/cgroup/hmmrt-object"

FIXTURE(limit) {
	char parameters[SIMGPU_PARAMETERS];
	struct session session;
	struct agent *agent;
	int space;
	uint32_t id;
};

FIXTURE_SETUP(limit)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, simgpu_replace(self->parameters, MODULE));
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->space = self->session.space;
	self->id = self->session.devices[0].id;
}

FIXTURE_TEARDOWN(limit)
{
	if (!self->parameters[0])
		return;
	EXPECT_TRUE(set_oversubscription(true));
	rmdir(CGROUP);
	object_unmap_all();
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

static int create(const FIXTURE_DATA(limit) *self, size_t blocks)
{
	return cmd_object_create(self->space, blocks * BLOCK_BYTES, self->id,
				 0);
}

/*
 * Returns a mapping that the device may write and that keeps the object, or
 * NULL.
 */
static char *new_memory(const FIXTURE_DATA(limit) *self, size_t blocks,
			uint32_t flags)
{
	size_t len = blocks * BLOCK_BYTES;
	int object = cmd_object_create(self->space, len, self->id, flags);
	char *buf = NULL;

	if (object >= 0)
		buf = object_map(object, len, RW, 0);
	close(object);
	if (buf && cmd_set_access(self->space, buf, len, self->id, OBJECT_WRITE))
		return NULL;
	return buf;
}

static int64_t used(const FIXTURE_DATA(limit) *self)
{
	return device_used_bytes(self->space, self->id);
}

static uint64_t charged(const FIXTURE_DATA(limit) *self)
{
	struct hmmrt_quota quota;

	return cmd_get_quota(self->space, self->id, &quota) ?
		       UINT64_MAX :
		       quota.out_used_bytes;
}

static int limit_to(const FIXTURE_DATA(limit) *self, uint64_t bytes)
{
	return cmd_set_quota(self->space, self->id, bytes, DEFAULT, NULL);
}

/* Lets the device fill the memory, and checks it by the device and the CPU. */
#define ASSERT_USABLE(buf, len, first)						\
	do {									\
		ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES,	\
				       first));					\
		ASSERT_VALUE(pages_sum(len, first),				\
			     agent_sum(self->agent, buf, len, PAGE_BYTES));	\
		ASSERT_EQ(-1, pages_check(buf, len, first));			\
	} while (0)

/* --- quotas --------------------------------------------------------------- */

TEST_F(limit, object_is_charged_while_it_is_there)
{
	int object = create(self, 3);
	char *buf;

	ASSERT_LE(0, object);
	EXPECT_EQ(3 * BLOCK_BYTES, charged(self));
	buf = object_map(object, PAGE_BYTES, RW, 0);
	close(object);
	EXPECT_EQ(3 * BLOCK_BYTES, charged(self));
	ASSERT_EQ(0, munmap(buf, PAGE_BYTES));
	EXPECT_EQ(0, charged(self));
	/* A migratable one is charged for what is on the device. */
	buf = new_memory(self, 3, HMMRT_OBJECT_MIGRATABLE);
	ASSERT_NE(NULL, buf);
	EXPECT_EQ(0, charged(self));
	ASSERT_DONE(agent_write(self->agent, buf, 1));
	EXPECT_EQ(BLOCK_BYTES, charged(self));
	ASSERT_USABLE(buf, 3 * BLOCK_BYTES, 5);
	EXPECT_EQ(0, charged(self));
	ASSERT_DONE(agent_fill(self->agent, buf, 3 * BLOCK_BYTES, PAGE_BYTES,
			       5));
	EXPECT_EQ(3 * BLOCK_BYTES, charged(self));
	ASSERT_EQ(0, munmap(buf, 3 * BLOCK_BYTES));
	EXPECT_EQ(0, charged(self));
}

TEST_F(limit, create_over_the_quota_is_enomem)
{
	struct hmmrt_quota quota;
	int first, second;

	ASSERT_EQ(0, limit_to(self, 4 * BLOCK_BYTES));
	EXPECT_EQ(-ENOMEM, create(self, 5));
	EXPECT_EQ(0, charged(self));
	EXPECT_EQ(0, used(self));
	first = create(self, 3);
	ASSERT_LE(0, first);
	EXPECT_EQ(-ENOMEM, create(self, 2));
	second = create(self, 1);
	ASSERT_LE(0, second);
	EXPECT_EQ(-ENOMEM, create(self, 1));
	ASSERT_EQ(0, cmd_get_quota(self->space, self->id, &quota));
	EXPECT_EQ(4 * BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_LT(0, quota.out_refused);
	/* What is given back can be had again. */
	close(first);
	EXPECT_EQ(BLOCK_BYTES, charged(self));
	first = create(self, 3);
	EXPECT_LE(0, first);
	close(first);
	close(second);
	/* System memory is not limited by it. */
	ASSERT_EQ(0, limit_to(self, 0));
	EXPECT_EQ(-ENOMEM, create(self, 1));
	first = cmd_object_create(self->space, BLOCK_BYTES, HOST, 0);
	EXPECT_LE(0, first);
	close(first);
	ASSERT_EQ(0, limit_to(self, NO_LIMIT));
	EXPECT_EQ(0, charged(self));
}

/* Limits are exact to the page, and an object needs whole blocks. */
TEST_F(limit, quota_one_page_short_is_enomem)
{
	int object;

	ASSERT_EQ(0, limit_to(self, 2 * BLOCK_BYTES - PAGE_BYTES));
	EXPECT_EQ(-ENOMEM, create(self, 2));
	object = create(self, 1);
	EXPECT_LE(0, object);
	close(object);
}

TEST_F(limit, lower_quota_leaves_pinned_objects)
{
	char *buf = new_memory(self, 4, 0);
	struct hmmrt_quota quota;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_set_quota(self->space, self->id, BLOCK_BYTES, DEFAULT,
				   &quota));
	EXPECT_EQ(4 * BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_EQ(4 * (int64_t)BLOCK_BYTES, used(self));
	EXPECT_EQ(-ENOMEM, create(self, 1));
	ASSERT_VALUE(pages_sum(4 * BLOCK_BYTES, 1),
		     agent_sum(self->agent, buf, 4 * BLOCK_BYTES, PAGE_BYTES));
	ASSERT_EQ(0, munmap(buf, 4 * BLOCK_BYTES));
	EXPECT_EQ(0, charged(self));
}

TEST_F(limit, lower_quota_evicts_migratable_objects)
{
	char *buf = new_memory(self, 4, HMMRT_OBJECT_MIGRATABLE);
	struct hmmrt_quota quota;

	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_fill(self->agent, buf, 4 * BLOCK_BYTES, PAGE_BYTES,
			       1));
	EXPECT_EQ(4 * BLOCK_BYTES, charged(self));
	ASSERT_EQ(0, cmd_set_quota(self->space, self->id, BLOCK_BYTES, DEFAULT,
				   &quota));
	EXPECT_EQ(BLOCK_BYTES, quota.out_used_bytes);
	EXPECT_EQ(3 * BLOCK_BYTES, quota.out_evicted_bytes);
	EXPECT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 1));
	/* It remains usable, and within the limit. */
	ASSERT_USABLE(buf, 4 * BLOCK_BYTES, 50);
	EXPECT_GE(BLOCK_BYTES, charged(self));
	ASSERT_EQ(0, limit_to(self, 0));
	ASSERT_USABLE(buf, 4 * BLOCK_BYTES, 60);
	EXPECT_EQ(0, charged(self));
}

TEST_F(limit, process_at_its_quota_evicts_its_own_pages)
{
	char *pages = arena_anon(4 * BLOCK_BYTES), *buf;

	ASSERT_NE(NULL, pages);
	ASSERT_EQ(0, limit_to(self, 4 * BLOCK_BYTES));
	ASSERT_DONE(agent_fill(self->agent, pages, 4 * BLOCK_BYTES, PAGE_BYTES,
			       1));
	EXPECT_EQ(4 * BLOCK_BYTES, charged(self));
	buf = new_memory(self, 3, 0);
	ASSERT_NE(NULL, buf);
	EXPECT_GE(4 * BLOCK_BYTES, charged(self));
	ASSERT_USABLE(buf, 3 * BLOCK_BYTES, 7);
	EXPECT_EQ(-1, pages_check(pages, 4 * BLOCK_BYTES, 1));
}

static int limit_cgroup(const FIXTURE_DATA(limit) *self, int cgroup,
			uint64_t bytes, struct hmmrt_quota *quota)
{
	*quota = (struct hmmrt_quota){
		.operation = HMMRT_QUOTA_SET,
		.scope = HMMRT_QUOTA_OF_CGROUP,
		.device_id = self->id,
		.cgroup_fd = cgroup,
		.limit_bytes = bytes,
		.priority = HMMRT_PRIORITY_MAX,
	};
	return cmd_quota(self->space, quota);
}

/* Runs a process in the cgroup. Returns its exit status, or -1. */
static int run_in_cgroup(const FIXTURE_DATA(limit) *self,
			 int (*run)(int space, uint32_t id))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		int space = open_manager();

		if (!write_text(CGROUP "/cgroup.procs", "0") ||
		    cmd_space_create(space))
			_exit(100);
		_exit(run(space, self->id));
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int create_in_cgroup(int space, uint32_t id)
{
	int first, second;

	if (cmd_object_create(space, 3 * BLOCK_BYTES, id, 0) != -ENOMEM)
		return 1;
	first = cmd_object_create(space, 2 * BLOCK_BYTES, id, 0);
	if (first < 0)
		return 2;
	if (cmd_object_create(space, BLOCK_BYTES, id, 0) != -ENOMEM)
		return 3;
	close(first);
	second = cmd_object_create(space, BLOCK_BYTES, id, 0);
	return second < 0 ? 4 : 0;
}

TEST_F(limit, create_over_the_quota_of_the_cgroup_is_enomem)
{
	struct hmmrt_quota quota;
	int cgroup;

	if (mkdir(CGROUP, 0755))
		SKIP(return, "cgroup v2 is not available");
	cgroup = open(CGROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_EQ(0, limit_cgroup(self, cgroup, 2 * BLOCK_BYTES, &quota));
	EXPECT_EQ(0, run_in_cgroup(self, create_in_cgroup));
	EXPECT_TRUE(device_wait_used(self->space, self->id, 0));
	ASSERT_EQ(0, limit_cgroup(self, cgroup, NO_LIMIT, &quota));
	EXPECT_EQ(0, quota.out_used_bytes);
	close(cgroup);
}

/* The memory controller limits objects in system memory. */
static int create_on_host(int space, uint32_t id)
{
	int object;

	(void)id;
	if (cmd_object_create(space, 64 * BLOCK_BYTES, HOST, 0) != -ENOMEM)
		return 1;
	object = cmd_object_create(space, BLOCK_BYTES, HOST, 0);
	return object < 0 ? 2 : 0;
}

TEST_F(limit, system_memory_of_objects_is_charged_to_the_memory_cgroup)
{
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) || !write_text(CGROUP "/memory.max", "67108864"))
		SKIP(return, "the memory controller is not available");
	EXPECT_EQ(0, run_in_cgroup(self, create_on_host));
}

/* --- size ----------------------------------------------------------------- */

/* All memory that an object could have: that of the machine and its devices. */
static uint64_t most_bytes(int space)
{
	struct hmmrt_device_info info;
	uint64_t bytes = 0;
	struct sysinfo system;
	uint32_t id;

	for (id = 0; id < HMMRT_MAX_DEVICES; id++)
		if (!cmd_device_info(space, id, &info))
			bytes += info.out_memory_bytes;
	if (sysinfo(&system))
		return 0;
	return (bytes + system.totalram) / BLOCK_BYTES * BLOCK_BYTES;
}

TEST_F(limit, object_larger_than_all_memory_is_enomem)
{
	const uint64_t most = most_bytes(self->space);
	const uint64_t sizes[] = {
		most + BLOCK_BYTES, 20UL << 40, 1UL << 62, -BLOCK_BYTES,
	};
	struct hmmrt_object_info info = { 0 };
	unsigned int i;
	int object;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(-ENOMEM, cmd_object_create(self->space, sizes[i],
						     self->id,
						     HMMRT_OBJECT_MIGRATABLE))
		{
			TH_LOG("%#lx bytes", sizes[i]);
		}
		EXPECT_EQ(-ENOMEM, cmd_object_create(self->space, sizes[i],
						     HOST, 0));
	}
	object = cmd_object_create(self->space, most, HOST,
				   HMMRT_OBJECT_MIGRATABLE);
	ASSERT_LE(0, object);
	ASSERT_EQ(0, cmd_object_info(object, &info));
	EXPECT_EQ(most, info.out_bytes);
	EXPECT_EQ(0, info.out_resident_bytes);
	close(object);
}

/* An object costs nothing before its memory is used, however large it is. */
static int create_unused(int space, uint32_t id)
{
	const uint64_t most = most_bytes(space);
	unsigned int i;

	for (i = 0; i < 400; i++)
		if (cmd_object_create(space, most, id,
				      HMMRT_OBJECT_MIGRATABLE) < 0)
			return 1;
	return 0;
}

TEST_F(limit, objects_without_memory_take_none)
{
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) || !write_text(CGROUP "/memory.max", "16777216"))
		SKIP(return, "the memory controller is not available");
	EXPECT_EQ(0, run_in_cgroup(self, create_unused));
}

/* --- a full device -------------------------------------------------------- */

TEST_F(limit, full_device_is_enomem_and_nothing_is_lost)
{
	char *bufs[CHUNKS];
	unsigned int i;
	uint64_t first;

	for (i = 0; i < CHUNKS; i++) {
		bufs[i] = new_memory(self, 1, 0);
		ASSERT_NE(NULL, bufs[i]);
		pages_fill(bufs[i], BLOCK_BYTES, 1000 * i);
	}
	EXPECT_EQ((int64_t)DEVICE_BYTES, used(self));
	for (i = 1; i < 4; i++)
		EXPECT_EQ(-ENOMEM, create(self, i));
	EXPECT_EQ((int64_t)DEVICE_BYTES, used(self));
	for (i = 0; i < CHUNKS; i++) {
		first = 1000 * i;
		ASSERT_VALUE(pages_sum(BLOCK_BYTES, first),
			     agent_sum(self->agent, bufs[i], BLOCK_BYTES,
				       PAGE_BYTES));
		EXPECT_EQ(-1, pages_check(bufs[i], BLOCK_BYTES, first));
	}
	/* Two that are not neighbours make one object of two blocks. */
	ASSERT_EQ(0, munmap(bufs[1], BLOCK_BYTES));
	ASSERT_EQ(0, munmap(bufs[5], BLOCK_BYTES));
	EXPECT_EQ(-ENOMEM, create(self, 3));
	bufs[1] = new_memory(self, 2, 0);
	ASSERT_NE(NULL, bufs[1]);
	ASSERT_VALUE(0, agent_sum(self->agent, bufs[1], 2 * BLOCK_BYTES,
				  PAGE_BYTES));
	EXPECT_EQ(-1, pages_check(bufs[0], BLOCK_BYTES, 0));
	EXPECT_EQ(-1, pages_check(bufs[7], BLOCK_BYTES, 7000));
}

TEST_F(limit, object_larger_than_the_device_is_enomem_and_evicts_nothing)
{
	char *pages = arena_anon(BLOCK_BYTES);

	ASSERT_NE(NULL, pages);
	ASSERT_DONE(agent_fill(self->agent, pages, BLOCK_BYTES, PAGE_BYTES, 1));
	EXPECT_EQ(-ENOMEM, create(self, CHUNKS + 1));
	EXPECT_EQ(-ENOMEM, create(self, 1000));
	EXPECT_EQ(BLOCK_PAGES, pages_at(self->space, pages, BLOCK_BYTES,
					self->id));
	EXPECT_EQ((int64_t)BLOCK_BYTES, used(self));
}

TEST_F(limit, ordinary_pages_give_way_to_an_object)
{
	char *pages = arena_anon(DEVICE_BYTES), *buf;

	ASSERT_NE(NULL, pages);
	ASSERT_DONE(agent_fill(self->agent, pages, DEVICE_BYTES, PAGE_BYTES, 1));
	EXPECT_EQ((int64_t)DEVICE_BYTES, used(self));
	buf = new_memory(self, CHUNKS, 0);
	ASSERT_NE(NULL, buf);
	EXPECT_EQ(0, pages_at(self->space, pages, DEVICE_BYTES, self->id));
	ASSERT_VALUE(0, agent_sum(self->agent, buf, DEVICE_BYTES, 512));
	ASSERT_USABLE(buf, DEVICE_BYTES, 70);
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES, 1));
	/* A device without free memory uses pages in place. */
	ASSERT_USABLE(pages, DEVICE_BYTES, 80);
	EXPECT_EQ(0, pages_at(self->space, pages, DEVICE_BYTES, self->id));
	ASSERT_VALUE(pages_sum(DEVICE_BYTES, 70),
		     agent_sum(self->agent, buf, DEVICE_BYTES, PAGE_BYTES));
}

TEST_F(limit, scattered_pages_give_way_to_an_object)
{
	char *pages = arena_anon(DEVICE_BYTES), *buf;
	size_t at;

	ASSERT_NE(NULL, pages);
	pages_fill(pages, DEVICE_BYTES, 1);
	/* A page in each chunk, where the module divides them so. */
	for (at = 0; at < DEVICE_BYTES; at += BLOCK_BYTES)
		ASSERT_EQ(0, cmd_prefetch(self->space, pages + at,
					  BLOCK_BYTES / 2, self->id, NULL));
	buf = new_memory(self, CHUNKS, 0);
	ASSERT_NE(NULL, buf);
	ASSERT_USABLE(buf, DEVICE_BYTES, 70);
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES, 1));
}

TEST_F(limit, migratable_objects_give_way_to_a_pinned_one)
{
	char *migratable = new_memory(self, CHUNKS, HMMRT_OBJECT_MIGRATABLE);
	char *buf;

	ASSERT_NE(NULL, migratable);
	ASSERT_DONE(agent_fill(self->agent, migratable, DEVICE_BYTES,
			       PAGE_BYTES, 1));
	buf = new_memory(self, CHUNKS, 0);
	ASSERT_NE(NULL, buf);
	EXPECT_EQ(0, pages_at(self->space, migratable, DEVICE_BYTES, self->id));
	ASSERT_USABLE(buf, DEVICE_BYTES, 70);
	/* On the full device, it is used in place. */
	ASSERT_VALUE(pages_sum(DEVICE_BYTES, 1),
		     agent_sum(self->agent, migratable, DEVICE_BYTES,
			       PAGE_BYTES));
	ASSERT_USABLE(migratable, DEVICE_BYTES, 90);
	EXPECT_EQ(-1, pages_check(buf, DEVICE_BYTES, 70));
}

TEST_F(limit, without_eviction_pages_keep_their_place)
{
	char *pages = arena_anon(DEVICE_BYTES), *buf;

	ASSERT_NE(NULL, pages);
	ASSERT_TRUE(set_oversubscription(false));
	ASSERT_DONE(agent_fill(self->agent, pages, DEVICE_BYTES - BLOCK_BYTES,
			       PAGE_BYTES, 1));
	EXPECT_EQ(-ENOMEM, create(self, 2));
	EXPECT_EQ((int64_t)(DEVICE_BYTES - BLOCK_BYTES), used(self));
	buf = new_memory(self, 1, 0);
	EXPECT_NE(NULL, buf);
	ASSERT_TRUE(set_oversubscription(true));
	EXPECT_NE(NULL, new_memory(self, 2, 0));
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES - BLOCK_BYTES, 1));
}

/* The other device's memory is not touched. */
TEST_F(limit, full_device_leaves_the_other_one_alone)
{
	int first = create(self, CHUNKS), second;

	ASSERT_LE(0, first);
	EXPECT_EQ(-ENOMEM, create(self, 1));
	second = cmd_object_create(self->space, BLOCK_BYTES, 1, 0);
	EXPECT_LE(0, second);
	close(first);
	close(second);
	EXPECT_TRUE(device_wait_used(self->space, 1, 0));
}

/* --- interrupted and concurrent calls ------------------------------------- */

TEST_F(limit, signals_leave_an_object_or_nothing)
{
	char *pages = arena_anon(DEVICE_BYTES);
	unsigned int round, created = 0;
	struct storm storm;
	int object = 0;

	ASSERT_NE(NULL, pages);
	pages_fill(pages, DEVICE_BYTES, 1);
	for (round = 0; round < amount(40, 10); round++) {
		ASSERT_EQ(0, cmd_prefetch(self->space, pages, DEVICE_BYTES,
					  self->id, NULL));
		ASSERT_EQ(0, storm_start(&storm));
		object = create(self, CHUNKS);
		storm_stop(&storm);
		ASSERT_TRUE(object >= 0 || object == -EINTR)
		{
			TH_LOG("%s", strerror(-object));
		}
		created += object >= 0;
		if (object >= 0)
			close(object);
		else
			EXPECT_EQ(charged(self), (uint64_t)used(self));
	}
	fprintf(stderr, "# %u of %u objects were created\n", created, round);
	EXPECT_EQ(-1, pages_check(pages, DEVICE_BYTES, 1));
	ASSERT_EQ(0, munmap(pages, DEVICE_BYTES));
	EXPECT_TRUE(device_wait_used(self->space, self->id, 0));
}

#define CREATORS	4
#define ROUNDS		amount(60, 15)

struct creator {
	pthread_t thread;
	int space;
	uint32_t id;
	unsigned int seed;
	unsigned int created;
	int rc;
};

/* Creates and frees objects, of which the device has not all. */
static void *create_and_free(void *arg)
{
	struct creator *creator = arg;
	unsigned long round;
	uint64_t *words;
	size_t len;
	int object;

	for (round = 0; !creator->rc && round < ROUNDS; round++) {
		len = (1 + (unsigned int)rand_r(&creator->seed) % 4) *
		      BLOCK_BYTES;
		object = cmd_object_create(creator->space, len, creator->id, 0);
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
	unsigned int i, created = 0, seed = test_seed();
	int object;

	for (i = 0; i < CREATORS; i++) {
		creators[i].space = self->space;
		creators[i].id = self->id;
		creators[i].seed = seed + i;
		ASSERT_EQ(0, pthread_create(&creators[i].thread, NULL,
					    create_and_free, &creators[i]));
	}
	for (i = 0; i < CREATORS; i++) {
		ASSERT_EQ(0, pthread_join(creators[i].thread, NULL));
		EXPECT_EQ(0, creators[i].rc);
		created += creators[i].created;
	}
	/* A thread may find the device full each time. */
	EXPECT_LT(0, created);
	EXPECT_EQ(0, charged(self));
	EXPECT_EQ(0, used(self));
	object = create(self, CHUNKS);
	EXPECT_LE(0, object);
	close(object);
}

TEST_HARNESS_MAIN
