// SPDX-License-Identifier: MIT
/*
 * Tests of hmmrt_dmirror beyond the kernel's own tests of its ioctls: ownership
 * of files, ranges across blocks and mappings, errors, close and unload, and
 * several devices bound to one process, both of this driver and of the
 * simulated GPU. Loads and removes the module.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#include <lib/test_hmm_uapi.h>

#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"
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

static int call(int fd, unsigned int number, const void *addr, size_t len,
		void *data, struct hmm_dmirror_cmd *result)
{
	struct hmm_dmirror_cmd cmd = {
		.addr = (uintptr_t)addr,
		.ptr = (uintptr_t)data,
		.npages = PAGES(len),
		.cpages = 12345,
		.faults = 12345,
	};
	int rc;

	do
		rc = cmd_raw(fd, number, &cmd);
	while (rc == -EINTR);
	if (result)
		*result = cmd;
	return rc;
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
	unsigned int i;
	bool good = true;

	for (i = 0; i < devices; i++) {
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

static long host_pages(int manager, const void *addr, size_t len)
{
	return pages_at(manager, addr, len, HMMRT_LOCATION_HOST);
}

FIXTURE(dmirror) {
	struct session session;
	struct agent *agent;
	int manager;
	unsigned int devices;	/* 2, or 4 with two coherent ones */
	int fd[4];
	char *buf;
	char *data;
};

FIXTURE_SETUP(dmirror)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	self->devices = all_devices();
	ASSERT_EQ(0, load());
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->manager = self->session.space;
	ASSERT_TRUE(open_all(self->fd, self->devices));
	self->buf = arena_anon(LEN);
	self->data = malloc(LEN);
	ASSERT_NE(NULL, self->buf);
	ASSERT_NE(NULL, self->data);
	pages_fill(self->buf, LEN, 1);
}

FIXTURE_TEARDOWN(dmirror)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	munmap(self->buf, LEN);
	free(self->data);
	close_all(self->fd, self->devices);
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
}

/* --- ownership of files --------------------------------------------------- */

static int in_child(int (*run)(int fd, char *buf), int fd, char *buf)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(-run(fd, buf));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

static int child_reads(int fd, char *buf)
{
	static char data[PAGE_BYTES];

	return call(fd, HMM_DMIRROR_READ, buf, PAGE_BYTES, data, NULL);
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
	rc = call(fd, HMM_DMIRROR_READ, buf, PAGE_BYTES, data, NULL);
	return rc || data[0] == 77 ? rc : -EIO;
}

TEST_F(dmirror, file_works_for_the_opening_process_only)
{
	EXPECT_EQ(-EPERM, in_child(child_reads, self->fd[0], self->buf));
	EXPECT_EQ(0, in_child(child_opens_and_reads, -1, self->buf));
	EXPECT_EQ(1, *(uint64_t *)self->buf);
}

static int reads_page(int fd, char *buf, char *data)
{
	return call(fd, HMM_DMIRROR_READ, buf, PAGE_BYTES, data, NULL);
}

/* The first call on a file binds the device, not open(). */
TEST_F(dmirror, second_file_of_a_process_is_ebusy_until_the_first_is_closed)
{
	int fd = open_dmirror(0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, reads_page(self->fd[0], self->buf, self->data));
	EXPECT_EQ(-EBUSY, reads_page(fd, self->buf, self->data));
	EXPECT_EQ(-EBUSY, reads_page(fd, self->buf, self->data));
	close(self->fd[0]);
	EXPECT_EQ(0, reads_page(fd, self->buf, self->data));
	self->fd[0] = fd;
}

/* --- arguments and errors ------------------------------------------------- */

TEST_F(dmirror, wrong_arguments_are_einval)
{
	char *buf = self->buf;
	struct hmm_dmirror_cmd cmd;
	unsigned int number;

	for (number = 0; number < 10; number++) {
		unsigned int nr = _IOWR('H', number, struct hmm_dmirror_cmd);

		EXPECT_EQ(-EINVAL, call(self->fd[0], nr, buf + 8, PAGE_BYTES,
					self->data, NULL));
		EXPECT_EQ(-EINVAL, call(self->fd[0], nr, buf, 0, self->data,
					NULL));
		cmd = (struct hmm_dmirror_cmd){
			.addr = (uintptr_t)buf,
			.npages = (1ULL << 52) + 1,
		};
		EXPECT_EQ(-EINVAL, cmd_raw(self->fd[0], nr, &cmd));
		EXPECT_EQ(-EFAULT, cmd_raw(self->fd[0], nr, NULL));
	}
	EXPECT_EQ(-EINVAL, call(self->fd[0], _IOWR('H', 10, cmd), buf,
				PAGE_BYTES, self->data, NULL));
}

TEST_F(dmirror, range_that_needs_too_much_memory_is_enomem)
{
	EXPECT_EQ(-ENOMEM, call(self->fd[0], HMM_DMIRROR_READ, self->buf,
				1UL << 45, self->data, NULL));
}

TEST_F(dmirror, errors_match_the_kernels_driver)
{
	int fd = self->fd[0];
	char *buf = self->buf;
	struct hmm_dmirror_cmd result;

	ASSERT_EQ(0, mprotect(buf, BLOCK_BYTES, PROT_NONE));
	ASSERT_EQ(0, mprotect(buf + BLOCK_BYTES, BLOCK_BYTES, PROT_READ));
	ASSERT_EQ(0, munmap(buf + 2 * BLOCK_BYTES, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, call(fd, HMM_DMIRROR_READ, buf, PAGE_BYTES,
				self->data, &result));
	/* A failed call does not write its outputs. */
	EXPECT_EQ(12345, result.faults);
	EXPECT_EQ(-EFAULT, call(fd, HMM_DMIRROR_WRITE, buf, PAGE_BYTES,
				self->data, NULL));
	EXPECT_EQ(-EINVAL, call(fd, HMM_DMIRROR_MIGRATE_TO_DEV, buf, PAGE_BYTES,
				self->data, NULL));
	EXPECT_EQ(-EINVAL, call(fd, HMM_DMIRROR_MIGRATE_TO_SYS, buf, PAGE_BYTES,
				self->data, NULL));
	EXPECT_EQ(-EBUSY, call(fd, HMM_DMIRROR_EXCLUSIVE, buf, PAGE_BYTES,
			       self->data, NULL));
	buf += BLOCK_BYTES;
	EXPECT_EQ(-EPERM, call(fd, HMM_DMIRROR_WRITE, buf, PAGE_BYTES,
			       self->data, NULL));
	EXPECT_EQ(0, call(fd, HMM_DMIRROR_READ, buf, PAGE_BYTES, self->data,
			  NULL));
	EXPECT_EQ(-EBUSY, call(fd, HMM_DMIRROR_EXCLUSIVE, buf, PAGE_BYTES,
			       self->data, NULL));
	buf += BLOCK_BYTES;
	EXPECT_EQ(-EFAULT, call(fd, HMM_DMIRROR_READ, buf, PAGE_BYTES,
				self->data, NULL));
	EXPECT_EQ(-EFAULT, call(fd, HMM_DMIRROR_WRITE, buf, PAGE_BYTES,
				self->data, NULL));
	EXPECT_EQ(-EINVAL, call(fd, HMM_DMIRROR_MIGRATE_TO_DEV, buf, PAGE_BYTES,
				self->data, NULL));
	EXPECT_EQ(-EFAULT, call(fd, HMM_DMIRROR_READ, buf + PAGE_BYTES,
				PAGE_BYTES, NULL, NULL));
}

/* --- ranges --------------------------------------------------------------- */

TEST_F(dmirror, range_over_blocks_and_mappings_takes_one_fault)
{
	struct hmm_dmirror_cmd result;

	ASSERT_EQ(0, mprotect(self->buf + BLOCK_BYTES - 3 * PAGE_BYTES,
			      5 * PAGE_BYTES, PROT_READ));
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_READ, self->buf, LEN,
			  self->data, &result));
	EXPECT_EQ(PAGES(LEN), result.cpages);
	EXPECT_EQ(1, result.faults);
	EXPECT_EQ(-1, pages_check(self->data, LEN, 1));
	/* A fault maps pages without migrating them. */
	EXPECT_EQ(PAGES(LEN), host_pages(self->manager, self->buf, LEN));
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_READ, self->buf, LEN,
			  self->data, &result));
	EXPECT_EQ(0, result.faults);
}

/* Serves missing pages through userfaultfd, slowly. */
struct filler {
	pthread_t thread;
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
	char *buf = arena_anon(len);

	ASSERT_NE(NULL, buf);
	filler.uffd = uffd_open();
	ASSERT_LE(0, filler.uffd);
	ASSERT_EQ(0, uffd_watch(filler.uffd, buf, len,
				UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_EQ(0, pthread_create(&filler.thread, NULL, fill_slowly, &filler));
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_READ, buf, len, self->data,
			  &result));
	EXPECT_EQ(1, result.faults);
	ASSERT_EQ(0, pthread_join(filler.thread, NULL));
	EXPECT_EQ(SLOW_PAGES, filler.filled);
	EXPECT_EQ(-1, pages_check(self->data, len, 1));
	close(filler.uffd);
	munmap(buf, len);
}

TEST_F(dmirror, migrate_to_sys_moves_pages_of_its_device_only)
{
	const size_t half = LEN / 2;
	struct hmm_dmirror_cmd result;

	ASSERT_EQ(0, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  half, self->data, NULL));
	ASSERT_EQ(0, call(self->fd[1], HMM_DMIRROR_MIGRATE_TO_DEV,
			  self->buf + half, half, self->data, NULL));
	EXPECT_EQ(0, host_pages(self->manager, self->buf, LEN));
	EXPECT_EQ(0, call(self->fd[1], HMM_DMIRROR_MIGRATE_TO_SYS, self->buf,
			  LEN, self->data, &result));
	EXPECT_EQ(PAGES(half), result.cpages);
	EXPECT_EQ(PAGES(half), host_pages(self->manager, self->buf, LEN));
	EXPECT_EQ(PAGES(half), host_pages(self->manager, self->buf + half, half));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
}

TEST_F(dmirror, snapshot_of_a_hole_faults_nothing_in)
{
	const size_t len = 64UL << 30;
	unsigned char *bytes = mmap(NULL, PAGES(len), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hole = mmap(NULL, len, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)bytes);
	ASSERT_NE(MAP_FAILED, (void *)hole);
	ASSERT_EQ(0, munmap(hole, len));
	/* The buffer must not be in the range. */
	if ((char *)bytes < hole + len && (char *)bytes + PAGES(len) > hole)
		SKIP(return, "the buffer overlaps the hole");
	memset(bytes, 1, 64);
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_SNAPSHOT, hole, 1UL << 30,
			  bytes, NULL));
	EXPECT_EQ(HMM_DMIRROR_PROT_ERROR, bytes[0]);
	EXPECT_EQ(HMM_DMIRROR_PROT_ERROR, bytes[PAGES(1UL << 30) - 1]);
	munmap(bytes, PAGES(len));
}

/* --- close, release and unload -------------------------------------------- */

TEST_F(dmirror, close_migrates_pages_back)
{
	ASSERT_EQ(0, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data, NULL));
	EXPECT_EQ(0, host_pages(self->manager, self->buf, LEN));
	close(self->fd[0]);
	EXPECT_EQ(PAGES(LEN), host_pages(self->manager, self->buf, LEN));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	self->fd[0] = open_dmirror(0);
	ASSERT_LE(0, self->fd[0]);
}

static int child_releases(int fd, char *buf)
{
	fd = open_dmirror(0);
	return fd < 0 ? fd : call(fd, HMM_DMIRROR_RELEASE, buf, PAGE_BYTES,
				  NULL, NULL);
}

TEST_F(dmirror, release_migrates_back_pages_of_all_processes)
{
	ASSERT_EQ(0, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data, NULL));
	EXPECT_EQ(0, in_child(child_releases, -1, self->buf));
	EXPECT_EQ(PAGES(LEN), host_pages(self->manager, self->buf, LEN));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data, NULL));
}

struct loader {
	bool stop;
	int count;		/* or -1: reload failed */
};

static void *load_and_remove(void *arg)
{
	struct loader *loader = arg;
	int count = 0;

	while (count >= 0 &&
	       !__atomic_load_n(&loader->stop, __ATOMIC_RELAXED)) {
		if (module_remove("hmmrt_dmirror"))
			continue;
		count = load() ? -1 : count + 1;
		__atomic_store_n(&loader->count, count, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * Returns true once a device has been used, and the module was reloaded or
 * failed to reload.
 */
static bool both_had_luck(const struct loader *loader, unsigned int used)
{
	return used && __atomic_load_n(&loader->count, __ATOMIC_RELAXED);
}

static int use_once(unsigned int device, char *buf, char *data)
{
	int fd, rc;

	fd = open_dmirror(device);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENODEV ? -EAGAIN : fd;
	rc = call(fd, HMM_DMIRROR_MIGRATE_TO_DEV, buf, LEN, data, NULL);
	close(fd);
	return rc;
}

TEST_F(dmirror, module_reloads_under_load)
{
	const time_t end = time(NULL) + RUN_S, limit = end + LIMIT_S;
	struct loader loader = { 0 };
	unsigned int used = 0;
	uint64_t *other = arena_anon(PAGE_BYTES);
	pthread_t thread;
	int rc;

	ASSERT_NE(NULL, other);
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt_dmirror"));
	close_all(self->fd, self->devices);
	ASSERT_EQ(0, pthread_create(&thread, NULL, load_and_remove, &loader));
	while (time(NULL) < end ||
	       (time(NULL) < limit && !both_had_luck(&loader, used))) {
		rc = use_once(used % self->devices, self->buf, self->data);
		EXPECT_TRUE(!rc || rc == -EAGAIN);
		used += !rc;
		/* The simulated GPU continues to work with the same process. */
		*other = used;
		ASSERT_VALUE(used, agent_read(self->agent, other));
	}
	__atomic_store_n(&loader.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_LT(0, loader.count);
	EXPECT_LT(0, used);
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	EXPECT_TRUE(open_all(self->fd, self->devices));
}

/* --- several devices ------------------------------------------------------ */

TEST_F(dmirror, pages_migrate_between_drivers)
{
	uint32_t gpu = self->session.devices[0].id;
	uint64_t *word = (uint64_t *)self->buf;

	ASSERT_EQ(0, cmd_prefetch(self->manager, self->buf, LEN, gpu, NULL));
	/* A migration does not take pages of another device. */
	EXPECT_EQ(-ENOENT, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV,
				self->buf, LEN, self->data, NULL));
	EXPECT_EQ(PAGES(LEN), pages_at(self->manager, self->buf, LEN, gpu));
	/* A fault migrates them to system memory. */
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_READ, self->buf, LEN,
			  self->data, NULL));
	EXPECT_EQ(-1, pages_check(self->data, LEN, 1));
	EXPECT_EQ(0, pages_at(self->manager, self->buf, LEN, gpu));
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data, NULL));
	ASSERT_VALUE(1, agent_read(self->agent, word));
	ASSERT_DONE(agent_write(self->agent, word, 100));
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_READ, self->buf, PAGE_BYTES,
			  self->data, NULL));
	EXPECT_EQ(100, *(uint64_t *)self->data);
}

TEST_F(dmirror, exclusive_access_ends_when_another_device_reads)
{
	uint64_t *word = (uint64_t *)self->buf;
	int fd = self->fd[0];

	ASSERT_VALUE(1, agent_read(self->agent, word));
	ASSERT_EQ(0, call(fd, HMM_DMIRROR_EXCLUSIVE, self->buf, BLOCK_BYTES,
			  self->data, NULL));
	EXPECT_EQ(-1, pages_check(self->data, BLOCK_BYTES, 1));
	EXPECT_EQ(-EPERM, call(fd, HMM_DMIRROR_CHECK_EXCLUSIVE, word,
			       PAGE_BYTES, NULL, NULL));
	ASSERT_VALUE(1, agent_read(self->agent, word));
	EXPECT_EQ(0, call(fd, HMM_DMIRROR_CHECK_EXCLUSIVE, word, PAGE_BYTES,
			  NULL, NULL));
	EXPECT_EQ(-EPERM, call(fd, HMM_DMIRROR_CHECK_EXCLUSIVE,
			       self->buf + BLOCK_BYTES - PAGE_BYTES, PAGE_BYTES,
			       NULL, NULL));
	/* A device write without exclusive access ends it, too. */
	ASSERT_EQ(0, call(fd, HMM_DMIRROR_EXCLUSIVE, word, PAGE_BYTES,
			  self->data, NULL));
	ASSERT_EQ(0, call(fd, HMM_DMIRROR_WRITE, word, PAGE_BYTES, self->data,
			  NULL));
	EXPECT_EQ(0, call(fd, HMM_DMIRROR_CHECK_EXCLUSIVE, word, PAGE_BYTES,
			  NULL, NULL));
}

struct worker {
	pthread_t thread;
	int fd;
	char *buf;		/* own page */
	char *all;		/* shared by all workers */
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
		rc = call(worker->fd, number, worker->buf, PAGE_BYTES, data,
			  NULL);
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
		rc = call(worker->fd, HMM_DMIRROR_MIGRATE_TO_DEV, worker->all,
			  BLOCK_BYTES, data, NULL);
	else if (how == 2)
		rc = call(worker->fd, HMM_DMIRROR_EXCLUSIVE, worker->all,
			  BLOCK_BYTES, data, NULL);
	else if (how == 3)
		rc = call(worker->fd, HMM_DMIRROR_RELEASE, worker->all,
			  BLOCK_BYTES, NULL, NULL);
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
	uint64_t *mine = (uint64_t *)(self->buf + 7 * PAGE_BYTES);
	uint64_t value = *mine;
	unsigned int i;

	for (i = 0; i < self->devices; i++) {
		workers[i] = (struct worker){
			.fd = self->fd[i],
			.buf = self->buf + (3 + 100 * i) * PAGE_BYTES,
			.all = self->buf,
			.seed = i + 1,
			.end = time(NULL) + RUN_S,
		};
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work,
					    &workers[i]));
	}
	while (time(NULL) < workers[0].end) {
		ASSERT_EQ(value, *mine);
		*mine = ++value;
		ASSERT_VALUE(value, agent_read(self->agent, mine));
		ASSERT_DONE(agent_write(self->agent, mine, ++value));
	}
	for (i = 0; i < self->devices; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(NULL, workers[i].error)
		{
			TH_LOG("%s", workers[i].error);
		}
	}
	EXPECT_EQ(value, *mine);
}

static void *evict(void *arg)
{
	struct worker *worker = arg;

	while (time(NULL) < worker->end)
		call(worker->fd, HMM_DMIRROR_RELEASE, worker->all, PAGE_BYTES,
		     NULL, NULL);
	return NULL;
}

static void *migrate(void *arg)
{
	struct worker *worker = arg;
	char *data = malloc(BLOCK_BYTES);

	while (time(NULL) < worker->end)
		call(worker->fd, HMM_DMIRROR_MIGRATE_TO_DEV, worker->all,
		     BLOCK_BYTES, data, NULL);
	free(data);
	return NULL;
}

/*
 * One thread makes pages exclusive, one migrates them, one evicts them. The
 * teardown shows that no page stays locked: the module can be removed.
 */
TEST_F(dmirror, exclusive_access_racing_with_eviction_unlocks_pages)
{
	unsigned int last = self->devices - 1;
	struct worker workers[2];
	void *(*run[2])(void *) = { evict, migrate };
	unsigned int i, got = 0;
	int rc;

	for (i = 0; i < 2; i++) {
		workers[i] = (struct worker){
			.fd = self->fd[last],
			.all = self->buf,
			.end = time(NULL) + RUN_S,
		};
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, run[i],
					    &workers[i]));
	}
	while (time(NULL) < workers[0].end) {
		rc = call(self->fd[0], HMM_DMIRROR_EXCLUSIVE, self->buf,
			  64 * PAGE_BYTES, self->data, NULL);
		ASSERT_TRUE(!rc || rc == -EBUSY || rc == -ENOENT);
		got += !rc;
	}
	for (i = 0; i < 2; i++)
		pthread_join(workers[i].thread, NULL);
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	fprintf(stderr, "# exclusive %u times\n", got);
}

/* Migrates pages shared with the parent until the parent has its own copies. */
static int child_migrates(unsigned int number, char *buf)
{
	static char data[64 * PAGE_BYTES];
	int fd = open_dmirror(number);
	unsigned int i;

	if (fd < 0)
		return fd;
	for (i = 0; i < 20; i++) {
		call(fd, HMM_DMIRROR_MIGRATE_TO_DEV, buf, sizeof(data), data,
		     NULL);
		call(fd, HMM_DMIRROR_MIGRATE_TO_SYS, buf, sizeof(data), data,
		     NULL);
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
		pid = fork();
		if (!pid)
			_exit(-child_migrates(round % self->devices, self->buf));
		ASSERT_LT(0, pid);
		do {
			rc = call(self->fd[0], HMM_DMIRROR_EXCLUSIVE, self->buf,
				  len, self->data, NULL);
			ASSERT_TRUE(!rc || rc == -EBUSY || rc == -ENOENT);
			got += !rc;
		} while (!waitpid(pid, &status, WNOHANG));
		ASSERT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
		round++;
	}
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	fprintf(stderr, "# exclusive %u times in %u rounds\n", got, round);
}

static void *discard(void *arg)
{
	struct worker *worker = arg;

	while (time(NULL) < worker->end)
		madvise(worker->all, 64 * PAGE_BYTES, MADV_DONTNEED);
	return NULL;
}

/*
 * Memory is discarded while it is made exclusive. No discarded page may stay
 * mapped.
 */
TEST_F(dmirror, exclusive_access_never_maps_discarded_pages)
{
	struct worker worker = { .all = self->buf, .end = time(NULL) + RUN_S };
	const size_t len = 64 * PAGE_BYTES;
	unsigned int got = 0;
	int rc;

	ASSERT_EQ(0, pthread_create(&worker.thread, NULL, discard, &worker));
	while (time(NULL) < worker.end) {
		rc = call(self->fd[0], HMM_DMIRROR_EXCLUSIVE, self->buf, len,
			  self->data, NULL);
		ASSERT_TRUE(!rc || rc == -EBUSY || rc == -ENOENT);
		got += !rc;
	}
	pthread_join(worker.thread, NULL);
	/* The device must see what the CPU writes now. */
	pages_fill(self->buf, len, 500);
	EXPECT_EQ(0, call(self->fd[0], HMM_DMIRROR_READ, self->buf, len,
			  self->data, NULL));
	EXPECT_EQ(-1, pages_check(self->data, len, 500));
	fprintf(stderr, "# exclusive %u times\n", got);
}

TEST_HARNESS_MAIN
