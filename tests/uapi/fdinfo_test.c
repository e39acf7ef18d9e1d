// SPDX-License-Identifier: MIT
/*
 * /proc/PID/fdinfo of a space: the same values as HMMRT_IOC_STATS, one id for
 * all files of a space, nothing for other files, and reads while the process or
 * a binding ends. Also tests a device's counts in debugfs.
 */
#include <sched.h>
#include <sys/mount.h>

#include "lib/amount.h"
#include "lib/fdinfo.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define LIMIT_S		30
#define OTHER_UID	65534

struct member {
	const char *key;
	size_t offset;
};

#define MEMBER(_key, _member) { _key, offsetof(struct hmmrt_stats, _member) }

static const struct member space_members[] = {
	MEMBER("migrated-to-host", out_migrated_to_host),
	MEMBER("cpu-faults", out_cpu_faults),
	MEMBER("invalidations", out_invalidations),
	MEMBER("blocks", out_blocks),
};

static const struct member device_members[] = {
	MEMBER("device-faults", out_device_faults),
	MEMBER("failed-faults", out_failed_faults),
	MEMBER("mapped-pages", out_mapped_pages),
	MEMBER("remote-pages", out_remote_pages),
	MEMBER("migrated-to-device", out_migrated_to_device),
	MEMBER("retries", out_retries),
	MEMBER("copied-pages", out_copied_pages),
	MEMBER("evictions", out_evictions),
	MEMBER("evicted-pages", out_evicted_pages),
	MEMBER("thrashing-faults", out_thrashing_faults),
	MEMBER("fault-batches", out_fault_batches),
	MEMBER("merged-faults", out_merged_faults),
	MEMBER("flushed-faults", out_flushed_faults),
	MEMBER("replays", out_replays),
	MEMBER("pending-faults", out_pending_faults),
	MEMBER("thrashing-blocks", out_thrashing_blocks),
	MEMBER("throttled-faults", out_throttled_faults),
	MEMBER("thrash-pins", out_thrash_pins),
	MEMBER("thrash-unpins", out_thrash_unpins),
	MEMBER("counted-moves", out_counted_moves),
	MEMBER("quota-refusals", out_quota_refusals),
	MEMBER("memory-refusals", out_memory_refusals),
	MEMBER("thrashing-resets", out_thrashing_resets),
};

/* Lines per space and per device, with two each that have no member. */
#define SPACE_LINES	(ARRAY_SIZE(space_members) + 2)
#define DEVICE_LINES	(ARRAY_SIZE(device_members) + 2)

static uint64_t member_value(const struct hmmrt_stats *stats,
			     const struct member *member)
{
	return *(const uint64_t *)((const char *)stats + member->offset);
}

/* Returns the first key whose value differs from its member, or "". */
static const char *different_key(const char *text,
				 const struct hmmrt_stats *stats,
				 const char *start,
				 const struct member *members, unsigned int nr)
{
	static char key[64];

	for (unsigned int i = 0; i < nr; i++) {
		snprintf(key, sizeof(key), "%s%s", start, members[i].key);
		if (fdinfo_value(text, key) != member_value(stats, &members[i]))
			return key;
	}
	return "";
}

static uint64_t device_value(const char *text, uint32_t id, const char *key)
{
	char name[64];

	snprintf(name, sizeof(name), "hmmrt-device%u-%s", id, key);
	return fdinfo_value(text, name);
}

static unsigned int device_lines(const char *text, uint32_t id)
{
	char start[64];

	snprintf(start, sizeof(start), "hmmrt-device%u-", id);
	return fdinfo_lines(text, start);
}

DEVICES_FIXTURE_SETUP(space, .devices = 2)
{
	buf = ANON(3 * BLOCK_BYTES);
}

static char text[FDINFO_BYTES];

static int read_own(int fd)
{
	return fdinfo_read("/proc", getpid(), fd, text);
}

/* Makes every counter grow: faults, moves in both directions, duplicates. */
static int known_program(void)
{
	int rc;

	pages_fill(buf, 3 * BLOCK_BYTES, 1);
	if (dev_read(A, buf).value != 1 ||
	    dev_write(B, buf + BLOCK_BYTES, 7).error)
		return -EIO;
	rc = prefetch(A, buf, BLOCK_BYTES) ?:
	     prefetch(HOST, buf, PAGE_BYTES) ?:
	     advise(buf + 2 * BLOCK_BYTES, BLOCK_BYTES, SET_READ_MOSTLY) ?:
	     prefetch(B, buf + 2 * BLOCK_BYTES, BLOCK_BYTES);
	if (!rc && pages_check(buf, BLOCK_BYTES, 1) != -1)
		rc = -EIO;
	return rc;
}

/*
 * Reads fdinfo, and the statistics of both devices, which are the same before
 * and after that. The kernel's NUMA balancing may invalidate memory at any time.
 */
static int read_while_idle(struct hmmrt_stats stats[2])
{
	struct hmmrt_stats after[2];
	int rc = 0;

	for (unsigned int try = 0; try < 10; try++) {
		for (unsigned int i = 0; i < 2 && !rc; i++)
			rc = cmd_stats(space, id_of(i), &stats[i]);
		rc = rc ?: read_own(space);
		for (unsigned int i = 0; i < 2 && !rc; i++)
			rc = cmd_stats(space, id_of(i), &after[i]);
		if (rc || !memcmp(stats, after, sizeof(after)))
			return rc;
	}
	return -EAGAIN;
}

/* --- debugfs -------------------------------------------------------------- */

#define SIZES 10 /* powers of two, up to the pages of a block */

/*
 * For each size, how often that many pages moved as one since the device was
 * registered.
 */
struct moves {
	uint64_t in[SIZES], out[SIZES], evicted[SIZES];
};

static int moves_read(uint32_t id, struct moves *moves)
{
	struct hmmrt_device_info info;
	unsigned long pages;
	unsigned int i = 0;
	char path[128];
	FILE *file;
	int rc = cmd_device_info(space, id, &info);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/sys/kernel/debug/hmmrt/%s/moves",
		 (const char *)info.out_name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	rc = fscanf(file, "pages\tin\tout\tevicted\n") ? -EIO : 0;
	while (!rc && i < SIZES) {
		if (fscanf(file, "%lu %lu %lu %lu", &pages, &moves->in[i],
			   &moves->out[i], &moves->evicted[i]) != 4 ||
		    pages != 1UL << i++)
			rc = -EIO;
	}
	if (!rc && fscanf(file, " %*c") != EOF)
		rc = -EIO;
	fclose(file);
	return rc;
}

static uint64_t pages_of(const uint64_t *after, const uint64_t *before)
{
	uint64_t pages = 0;

	for (unsigned int i = 0; i < SIZES; i++)
		pages += (after[i] - before[i]) << i;
	return pages;
}

TEST_F(space, debugfs_counts_pages_by_the_size_in_which_they_moved)
{
	struct moves before[2], after[2], few;
	struct hmmrt_stats stats[2];
	uint64_t out = 0;

	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, moves_read(id_of(i), &before[i]));
	ASSERT_EQ(0, known_program());
	ASSERT_EQ(0, read_while_idle(stats));
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, moves_read(id_of(i), &after[i]));
		EXPECT_EQ(stats[i].out_migrated_to_device,
			  pages_of(after[i].in, before[i].in));
		EXPECT_EQ(stats[i].out_evicted_pages,
			  pages_of(after[i].evicted, before[i].evicted));
		out += pages_of(after[i].out, before[i].out);
	}
	EXPECT_LT(0, out);
	EXPECT_EQ(stats[0].out_migrated_to_host, out);

	/*
	 * These pages move one by one, even if the others moved as a large
	 * page.
	 */
	ASSERT_EQ(0, prefetch(HOST, buf, 5 * PAGE_BYTES));
	ASSERT_EQ(0, moves_read(id_of(A), &after[0]));
	ASSERT_EQ(0, prefetch(A, buf, 5 * PAGE_BYTES));
	ASSERT_EQ(0, moves_read(id_of(A), &few));
	EXPECT_EQ(5, few.in[0] - after[0].in[0]);
	EXPECT_EQ(5, pages_of(few.in, after[0].in));
}

/* --- values --------------------------------------------------------------- */

TEST_F(space, values_are_those_of_stats)
{
	struct hmmrt_stats stats[2];
	struct hmmrt_quota quota;

	ASSERT_EQ(0, known_program());
	ASSERT_EQ(0, read_while_idle(stats));
	ASSERT_EQ(SPACE_LINES + 2 * DEVICE_LINES, fdinfo_lines(text, "hmmrt-"))
	{
		TH_LOG("%s", text);
	}
	ASSERT_STREQ("", different_key(text, &stats[0], "hmmrt-", space_members,
				       ARRAY_SIZE(space_members)));
	for (unsigned int device = 0; device < 2; device++) {
		uint32_t id = id_of(device);
		char start[32];

		ASSERT_EQ(DEVICE_LINES, device_lines(text, id));
		snprintf(start, sizeof(start), "hmmrt-device%u-", id);
		ASSERT_STREQ("", different_key(text, &stats[device], start,
					       device_members,
					       ARRAY_SIZE(device_members)));
		ASSERT_EQ(0, cmd_get_quota(space, id, &quota));
		ASSERT_EQ(quota.out_used_bytes,
			  device_value(text, id, "used-bytes"));
	}
	/* The program did something that each group of values shows. */
	EXPECT_LT(0, stats[0].out_migrated_to_device);
	EXPECT_LT(0, stats[0].out_migrated_to_host);
	EXPECT_LT(0, stats[0].out_cpu_faults);
	EXPECT_LT(0, stats[1].out_device_faults);
	EXPECT_EQ(BLOCK_PAGES, stats[1].out_copied_pages);
	EXPECT_LE(BLOCK_BYTES, device_value(text, id_of(B), "used-bytes"));
}

TEST_F(space, used_bytes_are_exact)
{
	uint32_t id = id_of(A);

	ASSERT_EQ(0, read_own(space));
	ASSERT_EQ(0, device_value(text, id, "used-bytes"));
	PLACE(A, buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, read_own(space));
	ASSERT_EQ(BLOCK_BYTES, device_value(text, id, "used-bytes"));
	ASSERT_EQ(BLOCK_PAGES, device_value(text, id, "migrated-to-device"));
	ASSERT_EQ(0, prefetch(HOST, buf, 3 * PAGE_BYTES));
	ASSERT_EQ(0, read_own(space));
	ASSERT_EQ(BLOCK_BYTES - 3 * PAGE_BYTES,
		  device_value(text, id, "used-bytes"));
	ASSERT_EQ(3, fdinfo_value(text, "hmmrt-migrated-to-host"));
}

/* --- which space, which process ------------------------------------------- */

TEST_F(space, files_of_one_space_have_one_id)
{
	int copy = dup(space), second = open_manager();
	uint64_t id;

	ASSERT_EQ(0, read_own(space));
	id = fdinfo_value(text, "hmmrt-space");
	ASSERT_NE(FDINFO_NONE, id);
	ASSERT_EQ((uint64_t)getpid(), fdinfo_value(text, "hmmrt-pid"));
	ASSERT_EQ(0, read_own(copy));
	EXPECT_EQ(id, fdinfo_value(text, "hmmrt-space"));
	ASSERT_EQ(0, cmd_space_create(second));
	ASSERT_EQ(0, read_own(second));
	EXPECT_EQ(id, fdinfo_value(text, "hmmrt-space"));
	close(copy);
	close(second);
}

TEST_F(space, files_that_are_no_space_have_no_lines)
{
	int manager = FD(open_manager()), gpu = FD(open_gpu(0));

	ASSERT_EQ(0, read_own(manager));
	EXPECT_EQ(0, fdinfo_lines(text, "hmmrt-"));
	ASSERT_EQ(1, fdinfo_lines(text, "pos:"));
	ASSERT_EQ(0, read_own(gpu));
	EXPECT_EQ(0, fdinfo_lines(text, "hmmrt-"));
	ASSERT_EQ(0, read_own(session.devices[0].gpu));
	EXPECT_EQ(0, fdinfo_lines(text, "hmmrt-"));
	close(manager);
	close(gpu);
}

/*
 * An inherited file still describes the parent. A space of its own has its own
 * id.
 */
static int heir(int fd)
{
	const pid_t parent = getppid();
	int own = open_manager();
	uint64_t id;

	if (read_own(fd) || fdinfo_value(text, "hmmrt-pid") != (uint64_t)parent)
		return 1;
	id = fdinfo_value(text, "hmmrt-space");
	if (cmd_space_create(own) || read_own(own) ||
	    fdinfo_value(text, "hmmrt-pid") != (uint64_t)getpid())
		return 2;
	return fdinfo_value(text, "hmmrt-space") > id ? 0 : 3;
}

TEST_F(space, inherited_file_is_about_the_process_that_made_the_space)
{
	ASSERT_EQ(0, process_run(heir, space, LIMIT_S));
}

static int stranger(int fd)
{
	const pid_t parent = getppid();

	if (setgid(OTHER_UID) || setuid(OTHER_UID))
		return 1;
	return fdinfo_read("/proc", parent, fd, text) == -EACCES ? 0 : 2;
}

TEST_F(space, other_user_may_not_read)
{
	ASSERT_EQ(0, process_run(stranger, space, LIMIT_S));
}

/* Mounts a procfs of a pid namespace in which the parent has no number. */
static int look_from_namespace(int fd)
{
	char dir[] = "/tmp/fdinfo-XXXXXX";
	int rc = 0;

	if (!mkdtemp(dir) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", dir, "proc", 0, NULL))
		return 1;
	if (fdinfo_read(dir, getpid(), fd, text))
		rc = 2;
	else if (fdinfo_value(text, "hmmrt-pid"))
		rc = 3;
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return rc;
}

static int namespace(int fd)
{
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		return 10;
	return process_run(look_from_namespace, fd, LIMIT_S);
}

TEST_F(space, pid_is_that_of_the_readers_namespace)
{
	ASSERT_EQ(0, process_run(namespace, space, LIMIT_S));
}

/* --- ends ----------------------------------------------------------------- */

/* Publishes its descriptor of a space with a device, and waits to be killed. */
static void owner_run(int *published)
{
	int space = open_manager(), gpu = open_gpu(0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (space < 0 || cmd_space_create(space) || cmd_bind(gpu, space, NULL))
		_exit(1);
	__atomic_store_n(published, space, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static bool wait_for_descriptor(const int *published)
{
	return WAIT_UNTIL(__atomic_load_n(published, __ATOMIC_ACQUIRE),
			  LIMIT_S);
}

struct reader {
	struct loop loop;
	pid_t pid;
	int fd;
	char found[FDINFO_BYTES];
	unsigned int whole;	/* reads with a device */
	unsigned int without;	/* reads of a space without one */
	unsigned int torn;	/* reads of anything else */
};

/* Reads once, and sorts what it read. */
static void reader_read(void *arg)
{
	struct reader *reader = arg;
	unsigned int lines;

	if (fdinfo_read("/proc", reader->pid, reader->fd, reader->found))
		return;
	lines = fdinfo_lines(reader->found, "hmmrt-");
	if (lines == SPACE_LINES + DEVICE_LINES)
		reader->whole++;
	else if (lines == SPACE_LINES)
		reader->without++;
	else if (lines)
		reader->torn++;
}

static int reader_start(struct reader *reader, pid_t pid, int fd)
{
	memset(reader, 0, sizeof(*reader));
	reader->pid = pid;
	reader->fd = fd;
	return loop_start(&reader->loop, reader_read, reader);
}

static bool has_read_whole(const struct reader *reader)
{
	return __atomic_load_n(&reader->whole, __ATOMIC_RELAXED);
}

/* Waits until each of two readers has read a space with a device. */
static bool wait_for_reads(const struct reader *readers)
{
	return WAIT_UNTIL(has_read_whole(&readers[0]) &&
			  has_read_whole(&readers[1]), LIMIT_S);
}

FIXTURE(ends) {
	int *published;
	int manager;
	int64_t used_before;
};

FIXTURE_SETUP(ends)
{
	self->published = NOT_NULL(shared_page());
	self->manager = open_manager();
	self->used_before = device_used_bytes(self->manager, 0);
}

FIXTURE_TEARDOWN(ends)
{
	close(self->manager);
}

TEST_F(ends, readers_of_an_exiting_process_are_harmless)
{
	const unsigned int rounds = amount(40, 12);

	for (unsigned int round = 0; round < rounds; round++) {
		static struct reader readers[2];
		pid_t owner;

		__atomic_store_n(self->published, 0, __ATOMIC_RELAXED);
		owner = fork();
		if (!owner)
			owner_run(self->published);
		ASSERT_TRUE(wait_for_descriptor(self->published));
		ASSERT_LT(0, *self->published);
		for (unsigned int i = 0; i < 2; i++)
			ASSERT_EQ(0, reader_start(&readers[i], owner,
						  *self->published));
		ASSERT_TRUE(wait_for_reads(readers));
		usleep(round % 8 * 500);
		kill(owner, SIGKILL);
		usleep(round % 5 * 1000);
		EXPECT_LE(0, process_wait_for(owner, LIMIT_S));
		for (unsigned int i = 0; i < 2; i++) {
			loop_stop(&readers[i].loop);
			EXPECT_EQ(0, readers[i].torn);
		}
	}
	ASSERT_EQ(self->used_before, device_used_bytes(self->manager, 0));
}

/* The file outlives the process when another one inherited it. */
TEST_F(ends, space_of_an_exited_process_has_no_pid)
{
	int space = open_manager();

	ASSERT_EQ(0, process_wait_for(CHILD(cmd_space_create(space) ? 1 : 0),
				      LIMIT_S));
	ASSERT_EQ(0, read_own(space));
	EXPECT_NE(FDINFO_NONE, fdinfo_value(text, "hmmrt-space"));
	EXPECT_EQ(0, fdinfo_value(text, "hmmrt-pid"));
	EXPECT_EQ(SPACE_LINES, fdinfo_lines(text, "hmmrt-"));
	close(space);
}

static int create_space(void *space)
{
	return cmd_space_create(*(int *)space) ? 1 : 0;
}

/* The address space outlives the process when another one shares it. */
TEST_F(ends, process_that_shared_its_memory_has_no_pid_once_it_is_gone)
{
	const size_t stack_bytes = 64 * 1024;
	char *stack = NOT_NULL(malloc(stack_bytes));
	int space = open_manager();
	pid_t owner;

	owner = clone(create_space, stack + stack_bytes, CLONE_VM | SIGCHLD,
		      &space);
	ASSERT_LT(0, owner);
	ASSERT_EQ(0, process_wait_for(owner, LIMIT_S));
	ASSERT_EQ(0, read_own(space));
	EXPECT_EQ(SPACE_LINES, fdinfo_lines(text, "hmmrt-"));
	EXPECT_EQ(0, fdinfo_value(text, "hmmrt-pid"));
	close(space);
	free(stack);
}

/*
 * Binds device @number. Returns the file, and stores the id of the device and
 * the serial number of the binding.
 */
static int bind_and_read(int space, unsigned int number, uint32_t *id,
			 uint64_t *serial)
{
	struct hmmrt_gpu_bind bind;
	int gpu = open_gpu(number);
	int rc = cmd_bind_next(gpu, space, &bind);

	if (rc || read_own(space))
		return rc ?: -EIO;
	*id = bind.out_device_id;
	*serial = device_value(text, *id, "binding");
	return gpu;
}

TEST_F(ends, device_that_is_no_longer_bound_has_no_lines)
{
	uint64_t first = FDINFO_NONE, stays = FDINFO_NONE, again = 0;
	int space = open_manager(), gpus[2];
	uint32_t gone = 0, other = 0;
	unsigned int try;

	ASSERT_EQ(0, cmd_space_create(space));
	gpus[0] = bind_and_read(space, 0, &gone, &first);
	gpus[1] = bind_and_read(space, 1, &other, &stays);
	ASSERT_LE(0, gpus[0]);
	ASSERT_LE(0, gpus[1]);
	ASSERT_LT(first, stays);
	ASSERT_NE(FDINFO_NONE, stays);
	ASSERT_EQ(SPACE_LINES + 2 * DEVICE_LINES, fdinfo_lines(text, "hmmrt-"));
	close(gpus[0]);
	for (try = 0; try < LIMIT_S * 100 && device_lines(text, gone); try++) {
		usleep(10000);
		ASSERT_EQ(0, read_own(space));
	}
	EXPECT_EQ(0, device_lines(text, gone));
	EXPECT_EQ(DEVICE_LINES, device_lines(text, other));
	EXPECT_EQ(stays, device_value(text, other, "binding"));
	gpus[0] = FD(bind_and_read(space, 0, &gone, &again));
	EXPECT_LT(stays, again);
	EXPECT_NE(FDINFO_NONE, again);
	close(gpus[0]);
	close(gpus[1]);
	close(space);
}

TEST_F(ends, readers_see_a_binding_as_a_whole_or_not_at_all)
{
	const unsigned int rounds = amount(60, 20);
	int space = open_manager(), gpu;
	static struct reader reader;

	ASSERT_EQ(0, cmd_space_create(space));
	ASSERT_EQ(0, reader_start(&reader, getpid(), space));
	for (unsigned int round = 0; round < rounds; round++) {
		gpu = open_gpu(0);
		EXPECT_EQ(0, cmd_bind_next(gpu, space, NULL));
		usleep(round % 4 * 500);
		close(gpu);
	}
	loop_stop(&reader.loop);
	EXPECT_EQ(0, reader.torn);
	EXPECT_LT(0, reader.whole);
	TH_LOG("%u reads with the device, %u without", reader.whole,
	       reader.without);
	close(space);
}

TEST_HARNESS_MAIN
