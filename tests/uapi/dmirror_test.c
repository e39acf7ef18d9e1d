// SPDX-License-Identifier: MIT
/*
 * Tests of hmmrt_dmirror beyond the kernel's own tests of its ioctls: ownership
 * of files, ranges across blocks and mappings, errors, close and unload, and
 * several devices bound to one process, both of this driver and of the
 * simulated GPU. Loads and removes the module.
 */
#include <sys/ioctl.h>

#include "lib/amount.h"
#include "lib/dmirror.h"
#include "lib/fixture.h"
#include "lib/loop.h"
#include "lib/uffd.h"

#define RUN_S		3
#define LIMIT_S		60
#define LEN		(3 * BLOCK_BYTES)
#define PAGES(len)	((len) / PAGE_BYTES)

static int open_dmirror(unsigned int number)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/hmm_dmirror%u", number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Two devices, and two coherent devices if there is memory for them. */
static unsigned int all_devices(void)
{
	unsigned long starts[COHERENT_REGIONS];

	return coherent_regions(starts) == COHERENT_REGIONS ? 4 : 2;
}

static int load(void)
{
	unsigned long starts[COHERENT_REGIONS];

	return dmirror_insert(64, coherent_regions(starts) == COHERENT_REGIONS ?
					  &starts[2] : NULL);
}

static bool open_all(int *fds, unsigned int devices)
{
	bool good = true;

	for (unsigned int i = 0; i < devices; i++) {
		fds[i] = open_dmirror(i);
		good = good && fds[i] >= 0;
	}
	return good;
}

static void close_all(const int *fds, unsigned int devices)
{
	while (devices--)
		close(fds[devices]);
}

/* 2, or 4 with two coherent ones. */
static unsigned int devices;
static int files[4];
static char *data;

FIXTURE(dmirror) {
};

FIXTURE_SETUP(dmirror)
{
	NEED_MODULES();
	devices = all_devices();
	ASSERT_EQ(0, load());
	DEVICES_SETUP();
	ASSERT_TRUE(open_all(files, devices));
	buf = ANON(LEN);
	data = NOT_NULL(malloc(LEN));
	pages_fill(buf, LEN, 1);
}

FIXTURE_TEARDOWN(dmirror)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	munmap(buf, LEN);
	free(data);
	close_all(files, devices);
	DEVICES_TEARDOWN();
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
}

/* Calls of one of the files with @data, and without outputs. */
#define CALL_FD(fd, name, addr, len) DMIRROR(fd, name, addr, len, data)
#define CALL(device, name, addr, len) CALL_FD(files[device], name, addr, len)
#define CALL_RESULT(device, name, addr, len)				\
	dmirror_call(files[device], HMM_DMIRROR_##name, addr, len,	\
		     data, &result)
/* 0 if the first file's exclusive access to a page has ended, or -EPERM. */
#define CHECK_EXCLUSIVE(addr) \
	DMIRROR(files[0], CHECK_EXCLUSIVE, addr, PAGE_BYTES, NULL)

/* --- ownership of files --------------------------------------------------- */

static int in_child(int (*run)(int fd, char *buf), int fd, char *buf)
{
	int result = process_result(CHILD(-run(fd, buf)));

	return result < 0 ? -ECHILD : -result;
}

static int child_reads(int fd, char *buf)
{
	static char data[PAGE_BYTES];

	return CALL_FD(fd, READ, buf, PAGE_BYTES);
}

static int child_opens_and_reads(int fd, char *buf)
{
	static uint64_t data[PAGE_BYTES / 8];
	int rc;

	(void)fd;
	fd = open_dmirror(0);
	if (fd < 0)
		return fd;
	*(uint64_t *)buf = 77;
	rc = CALL_FD(fd, READ, buf, PAGE_BYTES);
	return rc || data[0] == 77 ? rc : -EIO;
}

TEST_F(dmirror, file_works_for_the_opening_process_only)
{
	EXPECT_EQ(-EPERM, in_child(child_reads, files[0], buf));
	EXPECT_EQ(0, in_child(child_opens_and_reads, -1, buf));
	EXPECT_EQ(1, *(uint64_t *)buf);
}

static int reads_page(int fd, char *buf, char *data)
{
	return CALL_FD(fd, READ, buf, PAGE_BYTES);
}

/* The first call on a file binds the device, not open(). */
TEST_F(dmirror, second_file_of_a_process_is_ebusy_until_the_first_is_closed)
{
	int fd = FD(open_dmirror(0));

	ASSERT_EQ(0, reads_page(files[0], buf, data));
	EXPECT_EQ(-EBUSY, reads_page(fd, buf, data));
	EXPECT_EQ(-EBUSY, reads_page(fd, buf, data));
	close(files[0]);
	EXPECT_EQ(0, reads_page(fd, buf, data));
	files[0] = fd;
}

/* --- arguments and errors ------------------------------------------------- */

TEST_F(dmirror, wrong_arguments_are_einval)
{
	struct hmm_dmirror_cmd cmd;

	for (unsigned int number = 0; number < 10; number++) {
		unsigned int nr = _IOWR('H', number, struct hmm_dmirror_cmd);

		EXPECT_EQ(-EINVAL, dmirror_call(files[0], nr, buf + 8,
						PAGE_BYTES, data, NULL));
		EXPECT_EQ(-EINVAL,
			  dmirror_call(files[0], nr, buf, 0, data, NULL));
		cmd = (struct hmm_dmirror_cmd){
			.addr = (uintptr_t)buf, .npages = (1ULL << 52) + 1,
		};
		EXPECT_EQ(-EINVAL, cmd_raw(files[0], nr, &cmd));
		EXPECT_EQ(-EFAULT, cmd_raw(files[0], nr, NULL));
	}
	EXPECT_EQ(-EINVAL, dmirror_call(files[0], _IOWR('H', 10, cmd), buf,
					PAGE_BYTES, data, NULL));
}

TEST_F(dmirror, range_that_needs_too_much_memory_is_enomem)
{
	EXPECT_EQ(-ENOMEM, CALL(0, READ, buf, 1UL << 45));
}

TEST_F(dmirror, errors_match_the_kernels_driver)
{
	int fd = files[0];
	char *at = buf;
	struct hmm_dmirror_cmd result;

	ASSERT_EQ(0, mprotect(at, BLOCK_BYTES, PROT_NONE));
	ASSERT_EQ(0, mprotect(at + BLOCK_BYTES, BLOCK_BYTES, PROT_READ));
	ASSERT_EQ(0, munmap(at + 2 * BLOCK_BYTES, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, dmirror_call(fd, HMM_DMIRROR_READ, at, PAGE_BYTES,
					data, &result));
	/* A failed call does not write its outputs. */
	EXPECT_EQ(12345, result.faults);
	EXPECT_EQ(-EFAULT, CALL_FD(fd, WRITE, at, PAGE_BYTES));
	EXPECT_EQ(-EINVAL, CALL_FD(fd, MIGRATE_TO_DEV, at, PAGE_BYTES));
	EXPECT_EQ(-EINVAL, CALL_FD(fd, MIGRATE_TO_SYS, at, PAGE_BYTES));
	EXPECT_EQ(-EBUSY, CALL_FD(fd, EXCLUSIVE, at, PAGE_BYTES));
	at += BLOCK_BYTES;
	EXPECT_EQ(-EPERM, CALL_FD(fd, WRITE, at, PAGE_BYTES));
	EXPECT_EQ(0, CALL_FD(fd, READ, at, PAGE_BYTES));
	EXPECT_EQ(-EBUSY, CALL_FD(fd, EXCLUSIVE, at, PAGE_BYTES));
	at += BLOCK_BYTES;
	EXPECT_EQ(-EFAULT, CALL_FD(fd, READ, at, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, CALL_FD(fd, WRITE, at, PAGE_BYTES));
	EXPECT_EQ(-EINVAL, CALL_FD(fd, MIGRATE_TO_DEV, at, PAGE_BYTES));
	EXPECT_EQ(-EFAULT,
		  DMIRROR(fd, READ, at + PAGE_BYTES, PAGE_BYTES, NULL));
}

/* --- ranges --------------------------------------------------------------- */

TEST_F(dmirror, range_over_blocks_and_mappings_takes_one_fault)
{
	struct hmm_dmirror_cmd result;

	ASSERT_EQ(0, mprotect(buf + BLOCK_BYTES - 3 * PAGE_BYTES,
			      5 * PAGE_BYTES, PROT_READ));
	EXPECT_EQ(0, CALL_RESULT(0, READ, buf, LEN));
	EXPECT_EQ(PAGES(LEN), result.cpages);
	EXPECT_EQ(1, result.faults);
	EXPECT_EQ(-1, pages_check(data, LEN, 1));
	/* A fault maps pages without migrating them. */
	EXPECT_AT(HOST, buf, LEN);
	EXPECT_EQ(0, CALL_RESULT(0, READ, buf, LEN));
	EXPECT_EQ(0, result.faults);
}

/* Serves missing pages through userfaultfd, slowly. */
struct filler {
	int uffd;
	size_t filled;
};

#define SLOW_PAGES	64
#define SLOW_NS		30000000

static bool fill_next(struct filler *filler)
{
	uint64_t at = uffd_next(filler->uffd, LIMIT_S).arg.pagefault.address;

	if (!at)
		return false;
	nanosleep(&(struct timespec){ .tv_nsec = SLOW_NS }, NULL);
	at &= ~(PAGE_BYTES - 1);
	return !uffd_fill(filler->uffd, (void *)at, 1 + filler->filled);
}

static void *fill_slowly(void *arg)
{
	struct filler *filler = arg;

	while (filler->filled < SLOW_PAGES && fill_next(filler))
		filler->filled++;
	return NULL;
}

/* Takes longer than the timeout of a call that loses to invalidations. */
TEST_F(dmirror, slowly_filled_range_takes_one_fault)
{
	const size_t len = SLOW_PAGES * PAGE_BYTES;
	struct hmm_dmirror_cmd result;
	struct filler filler = { 0 };
	pthread_t thread;
	char *buf = ANON(len);

	filler.uffd = FD(uffd_open());
	ASSERT_EQ(0, uffd_watch(filler.uffd, buf, len,
				UFFDIO_REGISTER_MODE_MISSING));
	thread = THREAD(fill_slowly, &filler);
	EXPECT_EQ(0, CALL_RESULT(0, READ, buf, len));
	EXPECT_EQ(1, result.faults);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(SLOW_PAGES, filler.filled);
	EXPECT_EQ(-1, pages_check(data, len, 1));
	close(filler.uffd);
	munmap(buf, len);
}

TEST_F(dmirror, migrate_to_sys_moves_pages_of_its_device_only)
{
	const size_t half = LEN / 2;
	struct hmm_dmirror_cmd result;

	ASSERT_EQ(0, CALL(0, MIGRATE_TO_DEV, buf, half));
	ASSERT_EQ(0, CALL(1, MIGRATE_TO_DEV, buf + half, half));
	EXPECT_EQ(0, count_at(HOST, buf, LEN));
	EXPECT_EQ(0, CALL_RESULT(1, MIGRATE_TO_SYS, buf, LEN));
	EXPECT_EQ(PAGES(half), result.cpages);
	EXPECT_EQ(PAGES(half), count_at(HOST, buf, LEN));
	EXPECT_AT(HOST, buf + half, half);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(dmirror, snapshot_of_a_hole_faults_nothing_in)
{
	const size_t len = 64UL << 30, used = amount(1UL << 30, 1UL << 28);
	unsigned char *bytes =
		mmap(NULL, PAGES(len), RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = mmap(NULL, len, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)bytes);
	ASSERT_NE(MAP_FAILED, (void *)hole);
	ASSERT_EQ(0, munmap(hole, len));
	/* The buffer must not be in the range. */
	if ((char *)bytes < hole + len && (char *)bytes + PAGES(len) > hole)
		SKIP(return, "the buffer overlaps the hole");
	memset(bytes, 1, 64);
	EXPECT_EQ(0, DMIRROR(files[0], SNAPSHOT, hole, used, bytes));
	EXPECT_EQ(HMM_DMIRROR_PROT_ERROR, bytes[0]);
	EXPECT_EQ(HMM_DMIRROR_PROT_ERROR, bytes[PAGES(used) - 1]);
	munmap(bytes, PAGES(len));
}

/* --- close, release and unload -------------------------------------------- */

TEST_F(dmirror, close_migrates_pages_back)
{
	ASSERT_EQ(0, CALL(0, MIGRATE_TO_DEV, buf, LEN));
	EXPECT_EQ(0, count_at(HOST, buf, LEN));
	close(files[0]);
	EXPECT_HAS(HOST, buf, LEN, 1);
	files[0] = FD(open_dmirror(0));
}

static int child_releases(int fd, char *buf)
{
	fd = open_dmirror(0);
	return fd < 0 ? fd : DMIRROR(fd, RELEASE, buf, PAGE_BYTES, NULL);
}

TEST_F(dmirror, release_migrates_back_pages_of_all_processes)
{
	ASSERT_EQ(0, CALL(0, MIGRATE_TO_DEV, buf, LEN));
	EXPECT_EQ(0, in_child(child_releases, -1, buf));
	EXPECT_HAS(HOST, buf, LEN, 1);
	EXPECT_EQ(0, CALL(0, MIGRATE_TO_DEV, buf, LEN));
}

/* Reloads the module if it is not in use. -1: the reload failed. */
static void load_and_remove(void *arg)
{
	int count = __atomic_load_n((int *)arg, __ATOMIC_RELAXED);

	if (count < 0 || module_remove("hmmrt_dmirror"))
		return;
	count = load() ? -1 : count + 1;
	__atomic_store_n((int *)arg, count, __ATOMIC_RELAXED);
}

static int use_once(unsigned int device, char *buf, char *data)
{
	int fd, rc;

	fd = open_dmirror(device);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENODEV ? -EAGAIN : fd;
	rc = CALL_FD(fd, MIGRATE_TO_DEV, buf, LEN);
	close(fd);
	return rc;
}

TEST_F(dmirror, module_reloads_under_load)
{
	const time_t end = time(NULL) + RUN_S, limit = end + LIMIT_S;
	struct loop loader;
	int reloads = 0;
	unsigned int used = 0;
	uint64_t *other = ANON(PAGE_BYTES);
	int rc;

	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt_dmirror"));
	close_all(files, devices);
	ASSERT_EQ(0, loop_start(&loader, load_and_remove, &reloads));
	/* Longer if no device was used, or the module not reloaded. */
	while (time(NULL) < end ||
	       (time(NULL) < limit &&
		(!used || !__atomic_load_n(&reloads, __ATOMIC_RELAXED)))) {
		rc = use_once(used % devices, buf, data);
		EXPECT_TRUE(!rc || rc == -EAGAIN);
		used += !rc;
		/* The simulated GPU continues to work with the same process. */
		*other = used;
		ASSERT_VALUE(used, dev_read(A, other));
	}
	ASSERT_EQ(0, loop_stop(&loader));
	EXPECT_LT(0, reloads);
	EXPECT_LT(0, used);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	EXPECT_TRUE(open_all(files, devices));
}

/* --- several devices ------------------------------------------------------ */

TEST_F(dmirror, pages_migrate_between_drivers)
{
	uint32_t gpu = id_of(A);
	uint64_t *word = (uint64_t *)buf;

	ASSERT_EQ(0, cmd_prefetch(space, buf, LEN, gpu, NULL));
	/* A migration does not take pages of another device. */
	EXPECT_EQ(-ENOENT, CALL(0, MIGRATE_TO_DEV, buf, LEN));
	EXPECT_EQ(PAGES(LEN), pages_at(space, buf, LEN, gpu));
	/* A fault migrates them to system memory. */
	EXPECT_EQ(0, CALL(0, READ, buf, LEN));
	EXPECT_EQ(-1, pages_check(data, LEN, 1));
	EXPECT_EQ(0, pages_at(space, buf, LEN, gpu));
	EXPECT_EQ(0, CALL(0, MIGRATE_TO_DEV, buf, LEN));
	ASSERT_VALUE(1, dev_read(A, word));
	ASSERT_DONE(dev_write(A, word, 100));
	EXPECT_EQ(0, CALL(0, READ, buf, PAGE_BYTES));
	EXPECT_EQ(100, *(uint64_t *)data);
}

TEST_F(dmirror, exclusive_access_ends_when_another_device_reads)
{
	uint64_t *word = (uint64_t *)buf;

	ASSERT_VALUE(1, dev_read(A, word));
	ASSERT_EQ(0, CALL(0, EXCLUSIVE, buf, BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(data, BLOCK_BYTES, 1));
	EXPECT_EQ(-EPERM, CHECK_EXCLUSIVE(word));
	ASSERT_VALUE(1, dev_read(A, word));
	EXPECT_EQ(0, CHECK_EXCLUSIVE(word));
	EXPECT_EQ(-EPERM, CHECK_EXCLUSIVE(buf + BLOCK_BYTES - PAGE_BYTES));
	/* A device write without exclusive access ends it, too. */
	ASSERT_EQ(0, CALL(0, EXCLUSIVE, word, PAGE_BYTES));
	ASSERT_EQ(0, CALL(0, WRITE, word, PAGE_BYTES));
	EXPECT_EQ(0, CHECK_EXCLUSIVE(word));
}

struct worker {
	pthread_t thread;
	int fd;
	char *page; /* its own */
	unsigned int seed;
	time_t end;
	const char *error;
};

/* Retries on EBUSY: concurrent invalidations starved the call for a second. */
static int call_served(struct worker *worker, unsigned int number,
		       uint64_t *data)
{
	unsigned int tries = 20;
	int rc;

	do
		rc = dmirror_call(worker->fd, number, worker->page, PAGE_BYTES,
				  data, NULL);
	while (rc == -EBUSY && --tries);
	return rc;
}

static void work_once(struct worker *worker, uint64_t *data, uint64_t *round)
{
	unsigned int how = (unsigned int)rand_r(&worker->seed) % 4;
	int rc = 0;

	data[0] = ++*round;
	if (call_served(worker, HMM_DMIRROR_WRITE, data))
		worker->error = "write";
	if (how == 1)
		rc = CALL_FD(worker->fd, MIGRATE_TO_DEV, buf, BLOCK_BYTES);
	else if (how == 2)
		rc = CALL_FD(worker->fd, EXCLUSIVE, buf, BLOCK_BYTES);
	else if (how == 3)
		rc = DMIRROR(worker->fd, RELEASE, buf, BLOCK_BYTES, NULL);
	if (rc && rc != -ENOENT && rc != -EBUSY)
		worker->error = "something else";
	data[0] = 0;
	if (call_served(worker, HMM_DMIRROR_READ, data))
		worker->error = "read";
	else if (data[0] != *round)
		worker->error = "lost a write";
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t *data = malloc(BLOCK_BYTES);
	uint64_t round = 0;

	while (!worker->error && time(NULL) < worker->end)
		work_once(worker, data, &round);
	free(data);
	return NULL;
}

/*
 * Each device writes its own page and reads it back, while all of them migrate,
 * evict and make exclusive the whole block.
 */
TEST_F(dmirror, devices_on_one_block_lose_no_write)
{
	struct worker workers[4];
	uint64_t *mine = (uint64_t *)(buf + 7 * PAGE_BYTES);
	uint64_t value = *mine;

	for (unsigned int i = 0; i < devices; i++) {
		workers[i] = (struct worker){
			.fd = files[i],
			.page = buf + (3 + 100 * i) * PAGE_BYTES, .seed = i + 1,
			.end = time(NULL) + RUN_S,
		};
		workers[i].thread = THREAD(work, &workers[i]);
	}
	while (time(NULL) < workers[0].end) {
		ASSERT_EQ(value, *mine);
		*mine = ++value;
		ASSERT_VALUE(value, dev_read(A, mine));
		ASSERT_DONE(dev_write(A, mine, ++value));
	}
	for (unsigned int i = 0; i < devices; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(NULL, workers[i].error)
		{
			TH_LOG("%s", workers[i].error);
		}
	}
	EXPECT_EQ(value, *mine);
}

static void evict(void *unused)
{
	(void)unused;
	DMIRROR(files[devices - 1], RELEASE, buf, PAGE_BYTES, NULL);
}

static void migrate(void *data)
{
	CALL(devices - 1, MIGRATE_TO_DEV, buf, BLOCK_BYTES);
}

/* Makes memory exclusive for RUN_S. Returns how often that succeeded. */
static unsigned int make_exclusive_often(struct __test_metadata *_metadata)
{
	const time_t end = time(NULL) + RUN_S;
	unsigned int got = 0;
	int rc;

	while (time(NULL) < end) {
		rc = CALL(0, EXCLUSIVE, buf, 64 * PAGE_BYTES);
		ASSERT_TRUE(!rc || rc == -EBUSY || rc == -ENOENT);
		got += !rc;
	}
	return got;
}

/*
 * One thread makes pages exclusive, one migrates them, one evicts them. The
 * teardown shows that no page stays locked: the module can be removed.
 */
TEST_F(dmirror, exclusive_access_racing_with_eviction_unlocks_pages)
{
	struct loop evictor, migrator;
	unsigned int got;

	ASSERT_EQ(0, loop_start(&evictor, evict, NULL));
	ASSERT_EQ(0, loop_start(&migrator, migrate, ANON(BLOCK_BYTES)));
	got = make_exclusive_often(_metadata);
	loop_stop(&evictor);
	loop_stop(&migrator);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	fprintf(stderr, "# exclusive %u times\n", got);
}

/* Migrates pages shared with the parent until the parent has its own copies. */
static int child_migrates(unsigned int number, char *buf)
{
	static char data[64 * PAGE_BYTES];
	int fd = open_dmirror(number);

	if (fd < 0)
		return fd;
	for (unsigned int i = 0; i < 20; i++) {
		CALL_FD(fd, MIGRATE_TO_DEV, buf, sizeof(data));
		CALL_FD(fd, MIGRATE_TO_SYS, buf, sizeof(data));
	}
	close(fd);
	return 0;
}

/*
 * Exclusive access copies the pages that are shared with a child first. Until
 * then the child migrates them, to coherent and to other devices.
 */
TEST_F(dmirror, exclusive_access_racing_with_a_child_unlocks_pages)
{
	const size_t len = 64 * PAGE_BYTES;
	time_t end = time(NULL) + RUN_S;
	unsigned int got = 0, round = 0;
	int rc, status;
	pid_t pid;

	while (time(NULL) < end) {
		pid = CHILD(-child_migrates(round % devices, buf));
		ASSERT_LT(0, pid);
		do {
			rc = CALL(0, EXCLUSIVE, buf, len);
			ASSERT_TRUE(!rc || rc == -EBUSY || rc == -ENOENT);
			got += !rc;
		} while (!waitpid(pid, &status, WNOHANG));
		ASSERT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
		round++;
	}
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	fprintf(stderr, "# exclusive %u times in %u rounds\n", got, round);
}

static void discard(void *unused)
{
	(void)unused;
	madvise(buf, 64 * PAGE_BYTES, MADV_DONTNEED);
}

/*
 * Memory is discarded while it is made exclusive. No discarded page may stay
 * mapped.
 */
TEST_F(dmirror, exclusive_access_never_maps_discarded_pages)
{
	const size_t len = 64 * PAGE_BYTES;
	struct loop discarder;
	unsigned int got;

	ASSERT_EQ(0, loop_start(&discarder, discard, NULL));
	got = make_exclusive_often(_metadata);
	loop_stop(&discarder);
	/* The device must see what the CPU writes now. */
	pages_fill(buf, len, 500);
	EXPECT_EQ(0, CALL(0, READ, buf, len));
	EXPECT_EQ(-1, pages_check(data, len, 500));
	fprintf(stderr, "# exclusive %u times\n", got);
}

TEST_HARNESS_MAIN
