// SPDX-License-Identifier: MIT
/*
 * Memory objects: arguments and errors of their calls and of mmap() of their
 * files, and random steps of all calls against a model. uapi_test.c covers the
 * form of the calls, and object_access_test.c how devices and the CPU access
 * the memory.
 */
#include <sys/resource.h>

#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/object_walk.h"
#include "lib/objects.h"

#define LONG_STEPS	100000

/* The first address beyond those that programs can map. */
static uintptr_t user_end(void)
{
	bool five_levels = !system("grep -qw la57 /proc/cpuinfo");

	return (1UL << (five_levels ? 56 : 47)) - PAGE_BYTES;
}

DEVICES_FIXTURE(object, .end = objects_end)

/* --- HMMRT_IOC_OBJECT_CREATE ---------------------------------------------- */

TEST_F(object, create_without_a_space_is_einval)
{
	int manager = open_manager();

	EXPECT_EQ(-EINVAL,
		  cmd_object_create(manager, BLOCK_BYTES, id_of(A), 0));
	close(manager);
}

TEST_F(object, create_by_a_child_is_eperm)
{
	EXPECT_EQ(W_EXITCODE(EPERM, 0), IN_CHILD(-create(1)));
}

TEST_F(object, create_of_no_or_odd_bytes_is_einval)
{
	const size_t bad[] = {
		0, 1, PAGE_BYTES, BLOCK_BYTES - PAGE_BYTES, BLOCK_BYTES - 1,
		BLOCK_BYTES + 1, BLOCK_BYTES + PAGE_BYTES, SIZE_MAX,
		SIZE_MAX - PAGE_BYTES + 1,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, create_at(A, bad[i], 0));
		EXPECT_EQ(-EINVAL, create_at(HOST, bad[i], 0));
	}
	EXPECT_EQ(0, taken(A));
}

/*
 * No machine has that much. The call must not exhaust the memory that exists.
 */
TEST_F(object, create_of_more_than_there_is_is_refused)
{
	const size_t bad[] = {
		1UL << 40, 1UL << 45, 1UL << 50, 1UL << 62, 1UL << 63,
		SIZE_MAX - BLOCK_BYTES + 1,
	};
	const uint32_t locations[] = { A, HOST };
	int rc;

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		for (unsigned int j = 0; j < ARRAY_SIZE(locations); j++) {
			rc = create_at(locations[j], bad[i], 0);
			/* Sizes that an offset cannot express are invalid. */
			EXPECT_TRUE(rc == -ENOMEM ||
				    (rc == -EINVAL && bad[i] > INT64_MAX))
			{
				TH_LOG("%#zx bytes: %d", bad[i], rc);
			}
		}
	EXPECT_EQ(0, taken(A));
}

TEST_F(object, create_at_an_unknown_location_is_refused)
{
	EXPECT_EQ(-EINVAL, create_at(NONE, BLOCK_BYTES, 0));
	EXPECT_EQ(-EINVAL,
		  create_at(HMMRT_LOCATION_HOST_NODE(1023), BLOCK_BYTES, 0));
	EXPECT_EQ(-EINVAL,
		  create_at(HMMRT_LOCATION_HOST_NODE(1024), BLOCK_BYTES, 0));
	EXPECT_EQ(-ENODEV, create_at(HMMRT_MAX_DEVICES - 1, BLOCK_BYTES, 0));
	EXPECT_EQ(-ENODEV, create_at(HMMRT_MAX_DEVICES, BLOCK_BYTES, 0));
}

TEST_F(object, create_at_the_limit_of_descriptors_is_emfile)
{
	struct rlimit none = { 0, 0 }, limit;
	int object;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none.rlim_max = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	object = create(1);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_EQ(-EMFILE, object);
	EXPECT_TRUE(memory_is_freed(A));
}

TEST_F(object, descriptor_is_closed_on_exec_and_can_read_and_write)
{
	int object = FD(create(1));

	EXPECT_EQ(FD_CLOEXEC, fcntl(object, F_GETFD));
	EXPECT_EQ(O_RDWR, fcntl(object, F_GETFL) & O_ACCMODE);
	close(object);
}

TEST_F(object, memory_is_in_use_from_create_to_close)
{
	int object = FD(create(3));

	EXPECT_EQ((int64_t)(3 * BLOCK_BYTES), taken(A));
	close(object);
	EXPECT_EQ(0, taken(A));
}

TEST_F(object, device_of_an_object_need_not_be_bound)
{
	int object = FD(cmd_object_create(space, BLOCK_BYTES, 1, 0));
	uint64_t *words = NOT_NULL(object_map(object, BLOCK_BYTES, RW, 0));

	EXPECT_EQ(BLOCK_BYTES, object_resident(object));
	*words = 4;
	/* The bound device uses it in place. */
	ASSERT_EQ(0, set_access(words, BLOCK_BYTES, A, OBJECT_WRITE));
	ASSERT_VALUE(4, dev_read(A, words));
	ASSERT_DONE(dev_write(A, words, 5));
	EXPECT_EQ(5, *words);
	close(object);
}

TEST_F(object, memory_of_the_host_uses_no_device_memory)
{
	int object = FD(create_at(HOST, BLOCK_BYTES, 0));

	EXPECT_EQ(0, taken(A));
	EXPECT_EQ(BLOCK_BYTES, object_resident(object));
	close(object);
}

/* Returns the free memory of a NUMA node in KiB, or -1 if there is no such node. */
static long node_free_kib(unsigned int node)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo",
		 node);
	return read_number(path, "Node %*u MemFree: %ld kB");
}

TEST_F(object, memory_of_a_node_is_on_that_node)
{
	const size_t len = 32 * BLOCK_BYTES;
	long before;
	int object;

	if (node_free_kib(1) < 0)
		SKIP(return, "one NUMA node");
	for (unsigned int node = 0; node < 2; node++) {
		before = node_free_kib(node);
		object = FD(create_at(HMMRT_LOCATION_HOST_NODE(node), len, 0));
		/* Half of it, because others free memory at the same time. */
		EXPECT_LE((long)(len / 2 >> 10), before - node_free_kib(node));
		close(object);
	}
}

/* --- HMMRT_OBJECT_IOC_INFO ------------------------------------------------ */

TEST_F(object, info_reports_what_was_asked_for)
{
	const struct {
		uint32_t location, flags;
		size_t blocks, resident;
	} cases[] = {
		{ A, 0, 2, 2 },
		{ A, MIGRATABLE, 2, 0 },
		{ HOST, 0, 3, 3 },
		{ HMMRT_LOCATION_HOST_NODE(0), 0, 1, 1 },
	};
	struct hmmrt_object_info info;
	int object;

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		object = FD(create_at(cases[i].location,
				      cases[i].blocks * BLOCK_BYTES,
				      cases[i].flags));
		ASSERT_EQ(0, cmd_object_info(object, &info));
		EXPECT_EQ(cases[i].blocks * BLOCK_BYTES, info.out_bytes);
		EXPECT_EQ(location_of(cases[i].location), info.out_location);
		EXPECT_EQ(cases[i].flags, info.out_flags);
		EXPECT_EQ(cases[i].resident * BLOCK_BYTES,
			  info.out_resident_bytes);
		close(object);
	}
}

TEST_F(object, id_is_equal_for_descriptors_of_one_object_only)
{
	int first = FD(create(1)), second = FD(create(1));
	int copy = dup(first);
	uint64_t id = object_id(first);

	EXPECT_NE(0, id);
	EXPECT_EQ(id, object_id(copy));
	EXPECT_NE(id, object_id(second));
	close(first);
	EXPECT_EQ(id, object_id(copy));
	close(copy);
	/* Ids are not reused. */
	first = create(1);
	EXPECT_LT(id, object_id(first));
	close(first);
	close(second);
}

/* --- other calls on the file ---------------------------------------------- */

TEST_F(object, file_can_neither_be_read_written_resized_nor_opened)
{
	struct iovec part = { .iov_len = 8 };
	int object = FD(create(1));
	uint64_t word = 0;
	char path[64];

	part.iov_base = &word;
	EXPECT_EQ(-1, read(object, &word, sizeof(word)));
	EXPECT_EQ(-1, write(object, &word, sizeof(word)));
	EXPECT_EQ(-1, pread(object, &word, sizeof(word), 0));
	EXPECT_EQ(-1, pwrite(object, &word, sizeof(word), 0));
	EXPECT_EQ(-1, preadv(object, &part, 1, 0));
	EXPECT_EQ(-1, ftruncate(object, 0));
	EXPECT_EQ(-1, fallocate(object, 0, 0, 2 * BLOCK_BYTES));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	EXPECT_EQ(-1, open(path, O_RDWR | O_CLOEXEC));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(-ENOTTY, cmd_space_create(object));
	/* It is not a space, either. */
	EXPECT_EQ(-ENOTTY, cmd_object_create(object, BLOCK_BYTES, id_of(A), 0));
	EXPECT_NE(0, object_id(object));
	close(object);
}

/* --- mmap() of the file --------------------------------------------------- */

static int map_rc(int object, size_t len, int flags, off_t offset)
{
	void *addr = mmap(NULL, len, RW, flags, object, offset);

	if (addr == MAP_FAILED)
		return -errno;
	munmap(addr, len);
	return 0;
}

TEST_F(object, private_mapping_is_einval)
{
	int object = create(1);

	EXPECT_EQ(-EINVAL, map_rc(object, BLOCK_BYTES, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, map_rc(object, PAGE_BYTES, MAP_PRIVATE, 0));
	EXPECT_EQ(0, map_rc(object, BLOCK_BYTES, MAP_SHARED, 0));
	EXPECT_EQ(0, map_rc(object, BLOCK_BYTES, MAP_SHARED_VALIDATE, 0));
	close(object);
}

TEST_F(object, mapping_beyond_the_end_is_einval)
{
	const size_t bytes = 2 * BLOCK_BYTES;
	int object = create(2);
	const struct {
		size_t len;
		off_t offset;
	} bad[] = {
		{ bytes + PAGE_BYTES, 0 },
		{ bytes, PAGE_BYTES },
		{ PAGE_BYTES, bytes },
		{ 2 * PAGE_BYTES, bytes - PAGE_BYTES },
		{ PAGE_BYTES, 1L << 40 },
		{ PAGE_BYTES, INT64_MAX - PAGE_BYTES + 1 },
		/* An end that would wrap. */
		{ PAGE_BYTES, -(off_t)PAGE_BYTES },
		{ bytes, -(off_t)bytes },
	};
	int rc;

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		rc = map_rc(object, bad[i].len, MAP_SHARED, bad[i].offset);
		/*
		 * The kernel checks for offsets that wrap before it calls the
		 * driver.
		 */
		EXPECT_TRUE(rc == -EINVAL || rc == -EOVERFLOW)
		{
			TH_LOG("%#zx bytes at %#lx: %d", bad[i].len,
			       bad[i].offset, rc);
		}
	}
	EXPECT_EQ(0, map_rc(object, PAGE_BYTES, MAP_SHARED,
			    bytes - PAGE_BYTES));
	EXPECT_EQ(0, map_rc(object, bytes, MAP_SHARED, 0));
	close(object);
}

TEST_F(object, mapping_at_a_misaligned_offset_is_einval)
{
	int object = create(1);

	EXPECT_EQ(-EINVAL, map_rc(object, PAGE_BYTES, MAP_SHARED, 1));
	EXPECT_EQ(-EINVAL, map_rc(object, PAGE_BYTES, MAP_SHARED, 512));
	EXPECT_EQ(0, map_rc(object, PAGE_BYTES, MAP_SHARED, 5 * PAGE_BYTES));
	close(object);
}

/* Neither the CPU nor a device can execute code in a memory object. */
/* As of a file on a file system that is mounted with noexec. */
TEST_F(object, executable_mapping_is_refused)
{
	void *addr = MAPPED(1);

	EXPECT_EQ(-EPERM, object_map_at(object, addr, PAGE_BYTES,
					PROT_READ | PROT_EXEC, 0));
	EXPECT_EQ(-1, mprotect(addr, PAGE_BYTES, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(object, populated_and_locked_mappings_show_the_memory)
{
	const int flags[] = { MAP_POPULATE, MAP_LOCKED, MAP_NORESERVE };
	int object = create(1);

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		uint64_t *words = arena_map(BLOCK_BYTES, RW,
					    MAP_SHARED | flags[i], object, 0);

		ASSERT_NE(NULL, words);
		ASSERT_EQ(i, *words);
		*words = i + 1;
		EXPECT_EQ(0, mlock(words, PAGE_BYTES));
		EXPECT_EQ(0, munlock(words, PAGE_BYTES));
		ASSERT_EQ(i + 1, *words);
	}
	close(object);
}

/* Each of these would replace the object's memory with other memory or none. */
TEST_F(object, advice_that_would_replace_memory_is_einval)
{
	const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_DOFORK,
		MADV_MERGEABLE, MADV_HWPOISON, MADV_COLD,
		MADV_PAGEOUT, MADV_WIPEONFORK,
	};
	int rc;
	uint64_t *words = MAPPED(1);

	*words = 17;
	for (unsigned int i = 0; i < ARRAY_SIZE(advice); i++) {
		rc = madvise(words, PAGE_BYTES, advice[i]);
		if (advice[i] == MADV_MERGEABLE)
			continue;
		EXPECT_EQ(-1, rc)
		{
			TH_LOG("advice %d", advice[i]);
		}
	}
	EXPECT_EQ(17, *words);
	EXPECT_EQ(SIGSEGV, WTERMSIG(cpu_read_in_child(words)));
}

/* --- HMMRT_IOC_ACCESS ----------------------------------------------------- */

TEST_F(object, access_of_a_bad_range_is_refused)
{
	const uintptr_t end = user_end();
	char *buf = MAPPED(2);
	const struct {
		uintptr_t addr;
		size_t len;
		int rc;
	} bad[] = {
		{ (uintptr_t)buf + 1, PAGE_BYTES, -EINVAL },
		{ (uintptr_t)buf + 512, PAGE_BYTES, -EINVAL },
		{ (uintptr_t)buf, 0, -EINVAL },
		{ (uintptr_t)buf, 1, -EINVAL },
		{ (uintptr_t)buf, PAGE_BYTES + 8, -EINVAL },
		{ (uintptr_t)buf, -PAGE_BYTES, -EOVERFLOW },
		{ (uintptr_t)buf, -(uintptr_t)buf, -EOVERFLOW },
		{ -PAGE_BYTES, PAGE_BYTES, -EOVERFLOW },
		{ end, PAGE_BYTES, -EOVERFLOW },
		{ end - PAGE_BYTES, 2 * PAGE_BYTES, -EOVERFLOW },
		{ end - PAGE_BYTES, PAGE_BYTES, -EFAULT },
		{ 0, PAGE_BYTES, -EFAULT },
		{ (uintptr_t)buf, 3 * BLOCK_BYTES, -EFAULT },
		{ (uintptr_t)buf - PAGE_BYTES, 2 * PAGE_BYTES, -EFAULT },
		{ ARENA_BASE - BLOCK_BYTES, PAGE_BYTES, -EFAULT },
	};
	uint32_t access;

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		void *addr = (void *)bad[i].addr;

		EXPECT_EQ(bad[i].rc,
			  set_access(addr, bad[i].len, A, OBJECT_WRITE))
		{
			TH_LOG("%#lx + %#zx", bad[i].addr, bad[i].len);
		}
		EXPECT_EQ(bad[i].rc, cmd_get_access(space, addr, bad[i].len,
						    id_of(A), &access));
	}
	EXPECT_EQ(0, access_of(buf, BLOCK_BYTES));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf));
}

TEST_F(object, access_of_other_mappings_is_einval_and_changes_nothing)
{
	char *buf = MAPPED(2);
	char *other = arena_anon(BLOCK_BYTES);

	EXPECT_EQ(-EINVAL, set_access(other, PAGE_BYTES, A, OBJECT_READ));
	ASSERT_TRUE(map_anon_at(buf + BLOCK_BYTES, PAGE_BYTES));
	EXPECT_EQ(-EINVAL, set_access(buf, 2 * BLOCK_BYTES, A, OBJECT_READ));
	EXPECT_EQ(-EINVAL,
		  set_access(buf + BLOCK_BYTES, BLOCK_BYTES, A, OBJECT_READ));
	EXPECT_EQ(0, access_of(buf, BLOCK_BYTES));
	EXPECT_EQ(0, access_of(buf + BLOCK_BYTES + PAGE_BYTES, PAGE_BYTES));
	/* A hole is EFAULT, and nothing changes then, either. */
	ASSERT_EQ(0, munmap(buf + BLOCK_BYTES, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, set_access(buf, 2 * BLOCK_BYTES, A, OBJECT_READ));
	EXPECT_EQ(0, access_of(buf, BLOCK_BYTES));
	ASSERT_EQ(0, set_access(buf, BLOCK_BYTES, A, OBJECT_READ));
}

TEST_F(object, access_with_unknown_values_is_einval)
{
	char *buf = MAPPED(1);
	struct hmmrt_access arg = {
		.size = sizeof(arg), .addr = (uintptr_t)buf, .len = PAGE_BYTES,
		.operation = 2, .device_id = id_of(A),
	};
	const uint32_t bad[] = {
		HMMRT_ACCESS_WRITE, HMMRT_ACCESS_EXEC,
		HMMRT_ACCESS_EXEC | HMMRT_ACCESS_READ, 8, 1u << 31, UINT32_MAX,
	};

	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_ACCESS, &arg));
	arg.operation = UINT32_MAX;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_ACCESS, &arg));
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, set_access(buf, PAGE_BYTES, A, bad[i]));
	arg.operation = HMMRT_ACCESS_GET;
	arg.access = HMMRT_ACCESS_READ;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_ACCESS, &arg));
	EXPECT_EQ(0, access_of(buf, PAGE_BYTES));
}

TEST_F(object, access_for_a_device_that_is_not_bound_is_enodev)
{
	/* The first one exists. */
	const uint32_t bad[] = {
		1, HMMRT_MAX_DEVICES - 1, HMMRT_MAX_DEVICES, 31, 32, 64, HOST,
		HMMRT_LOCATION_NONE, HMMRT_LOCATION_HOST_NODE(0),
	};
	char *buf = MAPPED(1);
	uint32_t access;

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-ENODEV, cmd_set_access(space, buf, PAGE_BYTES,
						  bad[i], OBJECT_READ))
		{
			TH_LOG("device %#x", bad[i]);
		}
		EXPECT_EQ(-ENODEV, cmd_get_access(space, buf, PAGE_BYTES,
						  bad[i], &access));
	}
	EXPECT_EQ(0, access_of(buf, PAGE_BYTES));
}

TEST_F(object, access_by_a_child_or_without_a_space_is_refused)
{
	int manager = open_manager();
	char *buf = MAPPED(1);

	EXPECT_EQ(W_EXITCODE(EPERM, 0),
		  IN_CHILD(-set_access(buf, PAGE_BYTES, A, OBJECT_READ)));
	EXPECT_EQ(-EINVAL, cmd_set_access(manager, buf, PAGE_BYTES, id_of(A),
					  OBJECT_READ));
	EXPECT_EQ(0, access_of(buf, PAGE_BYTES));
	close(manager);
}

/* Rights of a range are those that all of it has. */
TEST_F(object, get_reports_the_rights_of_the_whole_range)
{
	char *buf = MAPPED(2);

	EXPECT_EQ(0, access_of(buf, 2 * BLOCK_BYTES));
	ASSERT_EQ(0, set_access(buf, 2 * BLOCK_BYTES, A, OBJECT_WRITE));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf, 2 * BLOCK_BYTES));
	ASSERT_EQ(0, set_access(buf + PAGE_BYTES, PAGE_BYTES, A, OBJECT_READ));
	EXPECT_EQ(OBJECT_READ, access_of(buf, 2 * BLOCK_BYTES));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf, PAGE_BYTES));
	EXPECT_EQ(OBJECT_READ, access_of(buf + PAGE_BYTES, PAGE_BYTES));
	ASSERT_EQ(0, set_access(buf + BLOCK_BYTES, PAGE_BYTES, A, 0));
	EXPECT_EQ(0, access_of(buf, 2 * BLOCK_BYTES));
	EXPECT_EQ(OBJECT_READ, access_of(buf, BLOCK_BYTES));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf + BLOCK_BYTES + PAGE_BYTES,
					  BLOCK_BYTES - PAGE_BYTES));
	/* A part that is not mapped has no rights to report. */
	ASSERT_EQ(0, munmap(buf, PAGE_BYTES));
	EXPECT_EQ(UINT32_MAX, access_of(buf, 2 * PAGE_BYTES));
}

TEST_F(object, one_call_sets_the_rights_of_several_mappings)
{
	int first = create(1);
	int second = create_at(HOST, BLOCK_BYTES, 0);
	char *buf = object_map(first, BLOCK_BYTES, RW, 0);

	ASSERT_EQ(0, object_map_at(second, buf + BLOCK_BYTES, BLOCK_BYTES, RW,
				   0));
	ASSERT_EQ(0, set_access(buf, 2 * BLOCK_BYTES, A, OBJECT_WRITE));
	EXPECT_EQ(OBJECT_WRITE, access_of(buf, 2 * BLOCK_BYTES));
	EXPECT_FILLS(A, buf, 2 * BLOCK_BYTES, 1);
	close(first);
	close(second);
}

/* The last page of user space and the first that a process may map. */
TEST_F(object, mappings_at_the_edges_of_the_address_space_are_accessible)
{
	char *const edges[] = {
		(char *)user_end() - PAGE_BYTES, (char *)0x10000,
	};
	int object = create(1);

	for (unsigned int i = 0; i < ARRAY_SIZE(edges); i++) {
		char *addr = mmap(edges[i], PAGE_BYTES, RW,
				  MAP_SHARED | MAP_FIXED_NOREPLACE, object, 0);

		ASSERT_EQ((void *)edges[i], (void *)addr);
		ASSERT_EQ(0, agent_map(agent_of(A), addr, PAGE_BYTES, RW));
		ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, addr));
		ASSERT_EQ(0, set_access(addr, PAGE_BYTES, A, OBJECT_WRITE));
		EXPECT_EQ(OBJECT_WRITE, access_of(addr, PAGE_BYTES));
		ASSERT_DONE(dev_write(A, addr, 5 + i));
		EXPECT_EQ(5 + i, *(uint64_t *)addr);
		ASSERT_EQ(0, munmap(addr, PAGE_BYTES));
		ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, addr));
	}
	close(object);
}

/* --- random steps --------------------------------------------------------- */

FIXTURE(objects) {
	struct object_walk *walk;
};

FIXTURE_SETUP(objects)
{
	DEVICES_SETUP(.devices = 2, .load = "devices=2 memory=16",
		      .end = objects_end);
	self->walk = NOT_NULL(object_walk_new());
}

FIXTURE_TEARDOWN(objects)
{
	object_walk_free(self->walk);
	EXPECT_EQ(0, used(A));
	EXPECT_EQ(0, used(B));
	DEVICES_TEARDOWN();
}

/* HMMRT_MODEL_OPS sets the number of steps. */
static unsigned long steps_to_take(void)
{
	const char *text = getenv("HMMRT_MODEL_OPS");

	if (text)
		return strtoul(text, NULL, 0);
	return amount_is_long() ? LONG_STEPS : amount(6000, 700);
}

TEST_F_TIMEOUT(objects, random_steps_match_the_model, 100000)
{
	ASSERT_EQ(0, object_walk_run(self->walk, steps_to_take()));
}

TEST_HARNESS_MAIN
