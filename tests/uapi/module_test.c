// SPDX-License-Identifier: MIT
/*
 * Loading and unloading: parameters, dependencies, and that pages which
 * processes still have on a device migrate back before the device goes away.
 * Leaves the modules loaded with the parameters that they had before.
 */
#include "lib/fixture.h"

FIXTURE(modules) {
	char parameters[SIMGPU_PARAMETERS];
};

FIXTURE_SETUP(modules)
{
	simgpu_parameters(self->parameters, sizeof(self->parameters));
	NEED_MODULES();
	ASSERT_EQ(0, simgpu_remove());
}

FIXTURE_TEARDOWN(modules)
{
	int rc;

	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	rc = module_insert("hmmrt", "");
	EXPECT_TRUE(rc == 0 || rc == -EEXIST);
	EXPECT_EQ(0, module_insert("hmmrt_simgpu", self->parameters));
}

TEST_F(modules, device_module_reloads_repeatedly)
{
	for (unsigned int i = 0; i < 5; i++) {
		ASSERT_EQ(0, module_insert("hmmrt_simgpu", ""));
		ASSERT_EQ(-EEXIST, module_insert("hmmrt_simgpu", ""));
		ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	}
}

TEST_F(modules, device_module_needs_the_manager)
{
	ASSERT_EQ(0, module_remove("hmmrt"));
	ASSERT_EQ(-ENOENT, module_insert("hmmrt_simgpu", ""));
	ASSERT_EQ(-ENOENT, open_manager());
	ASSERT_EQ(0, module_insert("hmmrt", ""));
	ASSERT_EQ(0, module_insert("hmmrt_simgpu", ""));
	ASSERT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
}

TEST(modules_in_use_cannot_be_removed)
{
	if (!geteuid() && access("/sys/module/hmmrt_simgpu/refcnt", R_OK))
		SKIP(return, "hmmrt is not built as modules");
	/* hmmrt_simgpu always uses hmmrt. */
	ASSERT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	ASSERT_EQ(0, session_open(&session, 1));
	ASSERT_EQ(-EWOULDBLOCK, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(0, session_bind(&session, 1));
	ASSERT_EQ(-EWOULDBLOCK, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(0, session_attach(&session));
	/* The agent's mapping is the only remaining user. */
	DEV_SYSCALL(A, SYS_close, session.devices[A].gpu);
	close(session.devices[A].gpu);
	session.devices[A].gpu = -1;
	ASSERT_EQ(-EWOULDBLOCK, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	ASSERT_EQ(0, session_end(&session));
}

static int insert_with_bad(const char *parameters)
{
	int rc = module_insert("hmmrt_simgpu", parameters);

	if (rc != -EINVAL)
		fprintf(stderr, "# %s: %d\n", parameters, rc);
	if (!rc)
		module_remove("hmmrt_simgpu");
	return rc;
}

TEST_F(modules, bad_parameters_are_refused)
{
	const char *const bad[] = {
		"devices=0",	    "devices=17",  "devices=4294967295",
		"devices=-1",	    "memory=0",	   "memory=1",
		"memory=255",	    "memory=65538", "memory=4294967294",
		"devices=nonsense", "memory=64,0", "memory=64,15,16",
		"node=-2",	    "node=0,1023", "node=-1,nowhere",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, insert_with_bad(bad[i]));
}

TEST_F(modules, device_count_and_memory_match_the_parameters)
{
	struct hmmrt_device_info device;
	struct hmmrt_info info;
	int fd = open_manager();

	ASSERT_EQ(0, cmd_info(fd, &info));
	ASSERT_EQ(0, info.out_devices);
	ASSERT_EQ(-ENODEV, cmd_device_info(fd, 0, &device));
	ASSERT_EQ(0, module_insert("hmmrt_simgpu", "devices=16 memory=2"));
	ASSERT_EQ(0, cmd_info(fd, &info));
	EXPECT_EQ(16, info.out_devices);
	for (uint32_t id = 0; id < 16; id++) {
		char name[HMMRT_DEVICE_NAME_LEN];

		ASSERT_EQ(0, cmd_device_info(fd, id, &device));
		EXPECT_EQ(BLOCK_BYTES, device.out_memory_bytes);
		snprintf(name, sizeof(name), "hmmrt-gpu%u", id);
		EXPECT_STREQ(name, (char *)device.out_name);
	}
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(-ENODEV, cmd_device_info(fd, 0, &device));
	close(fd);
}

TEST_F(modules, native_atomics_match_the_parameter)
{
	struct hmmrt_device_info device;
	int fd = open_manager();

	ASSERT_EQ(0, module_insert("hmmrt_simgpu", ""));
	ASSERT_EQ(0, cmd_device_info(fd, 0, &device));
	EXPECT_EQ(HMMRT_PROPERTY_NATIVE_ATOMICS, device.out_properties);
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(0, module_insert("hmmrt_simgpu", "native_atomics=0"));
	ASSERT_EQ(0, cmd_device_info(fd, 0, &device));
	EXPECT_EQ(0, device.out_properties);
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	close(fd);
}

/*
 * A parameter makes hmmrt's self-test find a kernel that writes shared pages in
 * place. hmmrt then accepts READ_MOSTLY but makes no duplicates. Devices map
 * the memory remotely and read what was written last.
 */
TEST_F(modules, failed_self_test_disables_duplicates)
{
	const size_t len = 16 * PAGE_BYTES;
	struct hmmrt_prefetch result;
	struct hmmrt_info info;

	ASSERT_EQ(0, module_remove("hmmrt"));
	ASSERT_EQ(0, module_insert("hmmrt", "write_in_place=1"));
	ASSERT_EQ(0, module_insert("hmmrt_simgpu", ""));
	DEVICES_SETUP();
	EXPECT_EQ(0, cmd_info(space, &info));
	EXPECT_EQ(HMMRT_FEATURE_OBJECTS | HMMRT_FEATURE_EVENTS |
			  HMMRT_FEATURE_ANNOTATIONS,
		  info.out_features);
	buf = ANON(2 * BLOCK_BYTES);
	pages_fill(buf, len, 1);
	EXPECT_EQ(0, advise(buf, len, SET_READ_MOSTLY));
	for (uint64_t i = 1; i < 4; i++) {
		*(uint64_t *)buf = i;
		ASSERT_VALUE(i, dev_read(A, buf));
	}
	EXPECT_EQ(0, prefetch_result(A, buf, len, &result));
	EXPECT_EQ(16, result.out_stayed[HMMRT_STAY_POLICY]);
	EXPECT_AT(HOST, buf, len);
	EXPECT_LT(0, stats_of(A).out_remote_pages);
	/* The knob has no effect: pages migrate on read. */
	buf += BLOCK_BYTES;
	pages_fill(buf, len, 1);
	EXPECT_EQ(0, set_knob(A, HMMRT_KNOB_READ_DUPLICATION, 1));
	ASSERT_VALUE(1, dev_read(A, buf));
	EXPECT_AT(A, buf, len);
	EXPECT_EQ(0, stats_of(A).out_copied_pages);
	DEVICES_TEARDOWN();
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(0, module_remove("hmmrt"));
}

/* An unused device has struct pages, but no memory for its contents. */
TEST_F(modules, device_memory_is_backed_on_first_use)
{
	const size_t len = 2 * BLOCK_BYTES;
	struct hmmrt_device_info info;
	struct hmmrt_gpu_bind bind;
	int fd, gpu;
	char *buf;

	ASSERT_EQ(0, module_insert("hmmrt_simgpu", "devices=2 memory=65536"));
	fd = open_manager();
	gpu = open_gpu(1);
	ASSERT_EQ(0, cmd_space_create(fd));
	ASSERT_EQ(0, cmd_bind(gpu, fd, &bind));
	ASSERT_EQ(0, cmd_device_info(fd, bind.out_device_id, &info));
	EXPECT_EQ(64UL << 30, info.out_memory_bytes);
	EXPECT_EQ(0, info.out_backed_bytes);
	buf = arena_anon(len);
	pages_fill(buf, len, 1);
	EXPECT_EQ(0, cmd_prefetch(fd, buf, len, bind.out_device_id, NULL));
	ASSERT_EQ(0, cmd_device_info(fd, bind.out_device_id, &info));
	EXPECT_EQ(len, info.out_used_bytes);
	EXPECT_EQ(len, info.out_backed_bytes);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
	close(gpu);
	close(fd);
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
}

/* --- pages of processes without a space ----------------------------------- */

/*
 * A process with pages on a device but without open files: a forked child that
 * inherited the pages from its parent, which has exited.
 */
struct orphan {
	char *buf;
	size_t len;
	struct gate ready, go;
	bool frees;		/* or checks them */
};

static void orphan_run(struct orphan *orphan)
{
	if (!gate_open(&orphan->ready) || !gate_wait(&orphan->go))
		_exit(2);
	if (orphan->frees)
		_exit(munmap(orphan->buf, orphan->len) ? 3 : 0);
	_exit(pages_check(orphan->buf, orphan->len, 1) == -1 ? 0 : 1);
}

static int put_on_device(int fd, int gpu, const struct orphan *orphan)
{
	struct hmmrt_gpu_bind bind;
	int rc = cmd_space_create(fd);

	if (!rc)
		rc = cmd_bind(gpu, fd, &bind);
	if (!rc)
		rc = cmd_prefetch(fd, orphan->buf, orphan->len,
				  bind.out_device_id, NULL);
	if (!rc && pages_at(fd, orphan->buf, orphan->len, bind.out_device_id) !=
			   (long)(orphan->len / PAGE_BYTES))
		rc = -EIO;
	return rc;
}

/* The child inherits the pages by fork(); then the parent exits. */
static void parent_run(struct orphan *orphan)
{
	int fd = open_manager(), gpu = open_gpu(0);
	pid_t pid;

	orphan->buf = arena_anon(orphan->len);
	pages_fill(orphan->buf, orphan->len, 1);
	if (put_on_device(fd, gpu, orphan))
		_exit(0xff);
	pid = fork();
	if (!pid) {
		close(fd);
		close(gpu);
		orphan_run(orphan);
	}
	/*
	 * Pages shared with the child stay on the device when the file is
	 * closed.
	 */
	_exit(pid < 0);
}

/* Leaves a process with pages on the device but without a binding. */
static bool orphan_begin(struct orphan *orphan, bool frees)
{
	pid_t pid;

	*orphan = (struct orphan){ .len = 3 * BLOCK_BYTES, .frees = frees };
	if (!gate_make(&orphan->ready) || !gate_make(&orphan->go) ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1))
		return false;
	pid = fork();
	if (!pid)
		parent_run(orphan);
	return !process_wait(pid) && gate_wait(&orphan->ready);
}

/* Returns the wait status of the orphan, or -1. */
static int orphan_wait(void)
{
	int status;

	return waitpid(-1, &status, 0) > 0 ? status : -1;
}

static int64_t used_without_binding(void)
{
	int fd = open_manager();
	int64_t used = device_used_bytes(fd, 0);

	close(fd);
	return used;
}

TEST_F(modules, removal_migrates_back_pages_of_a_fork_child)
{
	struct orphan orphan;

	ASSERT_EQ(0, module_insert("hmmrt_simgpu", ""));
	ASSERT_TRUE(orphan_begin(&orphan, false));
	EXPECT_EQ((int64_t)orphan.len, used_without_binding());
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	ASSERT_TRUE(gate_open(&orphan.go));
	ASSERT_EQ(0, orphan_wait());
}

/*
 * Freeing the last page of a chunk schedules trimming two seconds later. A late
 * trim must not access a device that is gone.
 */
TEST_F(modules, removal_waits_until_the_last_pages_are_freed)
{
	struct orphan orphan;

	for (unsigned int round = 0; round < 10; round++) {
		ASSERT_EQ(0, module_insert("hmmrt_simgpu",
					   "devices=1 memory=8"));
		ASSERT_TRUE(orphan_begin(&orphan, true));
		EXPECT_EQ((int64_t)orphan.len, used_without_binding());
		ASSERT_TRUE(gate_open(&orphan.go));
		usleep(round * 200);
		ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
		ASSERT_EQ(0, orphan_wait());
		gate_close(&orphan.ready);
		gate_close(&orphan.go);
	}
	/* Lets pending trims run. They have no visible effect to wait for. */
	sleep(3);
}

/* mremap() moves the pages to addresses without a block. */
TEST_F(modules, removal_migrates_back_pages_moved_by_mremap)
{
	const size_t len = 2 * BLOCK_BYTES;
	char *buf, *moved = (char *)ARENA_BASE + (8UL << 30);
	struct orphan orphan;
	int fd, gpu;

	ASSERT_EQ(0, module_insert("hmmrt_simgpu", ""));
	fd = open_manager();
	gpu = open_gpu(0);
	buf = arena_anon(len);
	pages_fill(buf, len, 1);
	orphan = (struct orphan){ .buf = buf, .len = len };
	ASSERT_EQ(0, put_on_device(fd, gpu, &orphan));
	ASSERT_EQ(moved, mremap(buf, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
				moved));
	ASSERT_EQ(len / PAGE_BYTES, pages_at(fd, moved, len, 0));
	close(gpu);
	close(fd);
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	ASSERT_EQ(-1, pages_check(moved, len, 1));
}

TEST_HARNESS_MAIN
