// SPDX-License-Identifier: MIT
/*
 * Devices that are added and removed while processes use them, and several
 * drivers on one process. The device's pages migrate back before it goes away,
 * wherever fork, exit and mremap have left them. Open files of a removed device
 * return ENODEV. Loads and removes the modules.
 */
#include "lib/dmirror.h"
#include "lib/faulty.h"
#include "lib/fixture.h"

#define RUN_S		4
#define LEN		(BLOCK_BYTES + 64 * PAGE_BYTES)

static int control;
/* The first device's file. The tests know the devices as A and B. */
static int fd;

FIXTURE(going) {
};

FIXTURE_SETUP(going)
{
	NEED_MODULES();
	ASSERT_EQ(0, module_insert("hmmrt_faulty", ""));
	space = open_manager();
	control = FD(open_faulty_control());
	ASSERT_EQ(0, cmd_space_create(space));
	ASSERT_EQ(0, faulty_devices(control, 2));
	fd = FD(open_faulty(0));
	ASSERT_EQ(0, device_named(space, "hmmrt-faulty0",
				  &session.devices[A].id));
	buf = FILLED(LEN);
}

FIXTURE_TEARDOWN(going)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	close(fd);
	close(control);
	close(space);
	EXPECT_EQ(0, module_remove("hmmrt_faulty"));
}

static int to_device(int fd, const char *addr, size_t len)
{
	return faulty_range(fd, HMMRT_FAULTY_IOC_TO_DEVICE, addr, len);
}

/* Moves pages of the buffer to the first device. */
static int put_on_device(size_t len)
{
	int rc = to_device(fd, buf, len);

	if (!rc && count_at(A, buf, len) != (long)(len / PAGE_BYTES))
		rc = -EIO;
	return rc;
}

TEST_F(going, file_of_a_removed_device_is_enodev)
{
	uint64_t value;

	ASSERT_EQ(0, put_on_device(LEN));
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	EXPECT_EQ(-ENODEV, faulty_read(fd, buf, &value));
	EXPECT_EQ(-ENODEV, faulty_write(fd, buf, 5));
	EXPECT_EQ(-ENODEV, to_device(fd, buf, LEN));
	EXPECT_EQ(-ENOENT, open_faulty(0));
	EXPECT_EQ(-ENODEV, prefetch(A, buf, LEN));
	/* The file does not work for a new device of the same name. */
	ASSERT_EQ(0, faulty_devices(control, 1));
	EXPECT_EQ(-ENODEV, faulty_read(fd, buf, &value));
	close(fd);
	fd = FD(open_faulty(0));
	ASSERT_EQ(0, faulty_read(fd, buf, &value));
	EXPECT_EQ(1, value);
}

TEST_F(going, module_with_an_open_file_is_not_unloaded)
{
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt_faulty"));
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt_faulty"));
}

/* --- fork, exit and mremap of device pages -------------------------------- */

/*
 * All pages are shared with a child and some are moved, while the binding
 * stays.
 */
TEST_F(going, shared_and_moved_pages_migrate_back)
{
	const size_t part = 32 * PAGE_BYTES;
	char *moved = arena_anon(part);
	struct gate gate = GATE();
	pid_t pid;

	ASSERT_EQ(0, put_on_device(LEN));
	pid = FORK();
	if (!pid)
		_exit(!gate_wait(&gate) || pages_check(buf, LEN, 1) != -1);
	ASSERT_EQ(moved, mremap(buf, part, part, MREMAP_MAYMOVE | MREMAP_FIXED,
				moved));
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_EQ(-1, pages_check(moved, part, 1));
	EXPECT_EQ(-1,
		  pages_check(buf + part, LEN - part, 1 + part / PAGE_BYTES));
	ASSERT_TRUE(gate_open(&gate));
	EXPECT_EQ(0, process_wait(pid));
}

/* Moves pages to the device, leaves them to a forked child, and exits. */
static void parent_run(struct gate *gate)
{
	int fd = open_faulty(0);

	if (fd < 0 || to_device(fd, buf, LEN))
		_exit(3);
	if (fork())
		_exit(0);
	close(fd);
	close(space);
	_exit(!gate_wait(gate) ? 2 : pages_check(buf, LEN, 1) != -1);
}

TEST_F(going, pages_of_an_orphaned_child_migrate_back)
{
	struct gate gate = GATE();
	int status = -1;
	pid_t pid;

	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	close(fd);
	fd = -1;
	pid = FORK();
	if (!pid)
		parent_run(&gate);
	ASSERT_EQ(0, process_wait(pid));
	EXPECT_LT(0, device_used_bytes(space, id_of(A)));
	ASSERT_EQ(0, faulty_devices(control, 0));
	ASSERT_TRUE(gate_open(&gate));
	ASSERT_LT(0, waitpid(-1, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(going, unbind_leaves_pages_of_other_devices)
{
	const size_t half = BLOCK_BYTES / 2;
	int other = open_faulty(1);

	ASSERT_EQ(0,
		  device_named(space, "hmmrt-faulty1", &session.devices[B].id));
	ASSERT_EQ(0, put_on_device(half));
	ASSERT_EQ(0, to_device(other, buf + half, half));
	ASSERT_AT(B, buf + half, half);
	close(fd);
	EXPECT_AT(HOST, buf, half);
	EXPECT_AT(B, buf + half, half);
	close(other);
	EXPECT_EQ(-1, pages_check(buf, 2 * half, 1));
	fd = -1;
}

/* --- calls in progress ---------------------------------------------------- */

#define PREFETCHED	(8192 * BLOCK_BYTES)

static void *prefetch_run(void *addr)
{
	return (void *)(long)prefetch(A, addr, PREFETCHED);
}

/*
 * Populates one page in each block, so that the prefetch takes seconds even
 * when the device is full.
 */
TEST_F(going, prefetch_in_progress_ends_with_its_device)
{
	char *addr = mmap(NULL, PREFETCHED, RW,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_t thread;
	void *rc;

	ASSERT_NE(MAP_FAILED, (void *)addr);
	for (size_t at = 0; at < PREFETCHED; at += BLOCK_BYTES)
		addr[at] = 1;
	thread = THREAD(prefetch_run, addr);
	ASSERT_TRUE(WAIT_UNTIL(device_used_bytes(space, id_of(A)) > 0, 3));
	ASSERT_EQ(0, faulty_devices(control, 0));
	ASSERT_EQ(0, pthread_join(thread, &rc));
	EXPECT_EQ(-ENODEV, (long)rc);
	munmap(addr, PREFETCHED);
}

static void *go_slowly(void *unused)
{
	(void)unused;
	return (void *)(long)faulty_devices(control, 0);
}

/*
 * A device that cannot return its pages goes away slowly. Until it is gone,
 * lookups do not find it, and no new device gets its id.
 */
TEST_F(going, id_of_a_device_in_removal_is_not_reused)
{
	pthread_t thread;
	struct hmmrt_device_info info;
	uint32_t sample;
	void *rc;

	ASSERT_EQ(0, put_on_device(4 * PAGE_BYTES));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	thread = THREAD(go_slowly, NULL);
	for (unsigned int try = 0; try < 10000; try++) {
		if (cmd_device_info(space, id_of(A), &info) == -ENODEV)
			break;
		usleep(100);
	}
	ASSERT_EQ(0, module_insert("hmmrt_sample", ""));
	EXPECT_EQ(0, device_named(space, "hmmrt-sample", &sample));
	/*
	 * If pages are still on it, it was there when the new device got its
	 * id.
	 */
	if (count_at(A, buf, 4 * PAGE_BYTES) > 0)
		EXPECT_NE(id_of(A), sample);
	ASSERT_EQ(0, pthread_join(thread, &rc));
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(0, module_remove("hmmrt_sample"));
}

/* --- a copy that takes long ------------------------------------------------ */

static void *touch(void *arg)
{
	const volatile uint64_t *word = arg;

	return (void *)(uintptr_t)*word;
}

/*
 * Another process: mirrors itself, opens a device, and closes both, or waits to
 * be killed with both open. It is forked before a copy is held, because fork()
 * waits for the page faults of this process.
 */
static pid_t other_process(bool closes, struct gate *go, struct gate *ready)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	close(control);
	close(space);
	if (!gate_wait(go))
		_exit(2);
	space = open_manager();
	fd = open_faulty(1);
	if (space < 0 || cmd_space_create(space) || fd < 0)
		_exit(3);
	if (closes) {
		close(fd);
		close(space);
		_exit(0);
	}
	if (!gate_open(ready))
		_exit(4);
	pause();
	_exit(5);
}

/*
 * A CPU fault of this process waits for its device. Other processes that close
 * their files or exit, and the removal of another device, must not wait for it
 * as well. They did not wait if the copy is still held afterwards.
 */
TEST_F(going, held_copy_holds_up_nothing_else)
{
	struct gate go = GATE(), ready = GATE();
	pid_t closer, killed;
	pthread_t thread;
	void *value;

	closer = other_process(true, &go, &ready);
	ASSERT_LT(0, closer);
	ASSERT_EQ(0, put_on_device(LEN));
	killed = other_process(false, &go, &ready);
	ASSERT_LT(0, killed);
	ASSERT_LE(0, faulty_hold(control, true));
	thread = THREAD(touch, buf);
	ASSERT_EQ(0, faulty_wait_held(control));

	ASSERT_TRUE(gate_open(&go));
	ASSERT_TRUE(gate_open(&go));
	EXPECT_EQ(0, process_wait(closer));
	EXPECT_EQ(1, faulty_hold(control, true));
	EXPECT_TRUE(gate_wait(&ready));
	EXPECT_EQ(0, process_kill(killed));
	EXPECT_EQ(1, faulty_hold(control, true));
	EXPECT_EQ(0, faulty_devices(control, 1));
	EXPECT_EQ(1, faulty_hold(control, true));

	EXPECT_LE(0, faulty_hold(control, false));
	ASSERT_EQ(0, pthread_join(thread, &value));
	EXPECT_EQ(1, (uintptr_t)value);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

/*
 * A process has pages left on the device, and a fault outlives all its files:
 * nothing waits for the fault, and whatever it uses is freed after it.
 */
TEST_F(going, files_close_under_a_held_copy)
{
	pthread_t thread;
	void *value;

	ASSERT_EQ(0, put_on_device(PAGE_BYTES));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	close(fd);
	fd = -1;
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	ASSERT_AT(A, buf, PAGE_BYTES);
	ASSERT_LE(0, faulty_hold(control, true));
	thread = THREAD(touch, buf);
	ASSERT_EQ(0, faulty_wait_held(control));
	close(space);
	space = -1;
	EXPECT_EQ(1, faulty_hold(control, true));
	EXPECT_LE(0, faulty_hold(control, false));
	ASSERT_EQ(0, pthread_join(thread, &value));
	EXPECT_EQ(1, (uintptr_t)value);
}

/* Ids are reused; a new device must not inherit the quota of an old one. */
TEST_F(going, quota_is_dropped_with_its_device)
{
	struct hmmrt_quota quota;
	uint32_t id;

	ASSERT_EQ(0, cmd_set_quota(space, id_of(A), BLOCK_BYTES, 3, NULL));
	ASSERT_EQ(0, faulty_devices(control, 0));
	close(fd);
	ASSERT_EQ(0, faulty_devices(control, 2));
	fd = FD(open_faulty(0));
	ASSERT_EQ(0, device_named(space, "hmmrt-faulty0", &id));
	ASSERT_EQ(id_of(A), id);
	ASSERT_EQ(0, cmd_get_quota(space, id, &quota));
	EXPECT_EQ(HMMRT_QUOTA_NO_LIMIT, quota.out_limit_bytes);
	EXPECT_EQ(HMMRT_PRIORITY_DEFAULT, quota.out_priority);
}

/* --- under load ----------------------------------------------------------- */

#define PROCESSES	3
/* Enough uses to meet removed devices, and the time limit for them. */
#define USES		60
#define USES_LIMIT_S	80

/* Errors that are allowed once the device is gone. */
static bool is_gone(int rc)
{
	return rc == -ENODEV || rc == -ENOENT || rc == -ENXIO;
}

static int use_word(int fd, volatile uint64_t *word, uint64_t *value,
		    unsigned int how)
{
	uint64_t found = 0;
	int rc = 0;

	switch (how % 4) {
	case 0:
		rc = faulty_write(fd, word, *value + 1);
		*value += !rc;
		break;
	case 1:
		*word = ++*value;
		rc = faulty_read(fd, word, &found);
		if (!rc && found != *value)
			return -EILSEQ;
		break;
	case 2:
		rc = faulty_range(fd, HMMRT_FAULTY_IOC_TO_DEVICE, (void *)word,
				  32 * PAGE_BYTES);
		break;
	default:
		rc = faulty_range(fd, HMMRT_FAULTY_IOC_EXCLUSIVE, (void *)word,
				  4 * PAGE_BYTES);
	}
	/* A range call may give up when concurrent invalidations always win. */
	if (how % 4 >= 2 && rc == -EAGAIN)
		return 0;
	/* Injected failures, and pages locked by a neighbour, are allowed. */
	return rc == -ENOMEM || rc == -EBUSY ? 0 : rc;
}

/* Opens a device and uses it a few times, while it exists. */
static int use_once(char *buf, unsigned int *seed, uint64_t *value,
		    unsigned int *used)
{
	volatile uint64_t *word = (uint64_t *)buf;
	int fd = open_faulty((unsigned int)rand_r(seed) % 2);
	int rc = 0;

	for (unsigned int i = 0; i < 8 && fd >= 0 && !rc; i++) {
		rc = use_word(fd, word, value, (unsigned int)rand_r(seed));
		*used += !rc;
		if (*word != *value)
			rc = -EILSEQ;
	}
	if (fd < 0) {
		/* Let the process run that adds devices. */
		usleep(1000);
		return fd == -ENOMEM ? 0 : fd;
	}
	close(fd);
	return rc;
}

/* Exits with 0 if it used devices and lost no write. */
static void user_run(char *buf, unsigned int seed)
{
	time_t end = time(NULL) + USES_LIMIT_S;
	unsigned int used = 0;
	uint64_t value = 1;
	int rc = 0;

	pages_fill(buf, BLOCK_BYTES, 1);
	while (!rc && used < USES && time(NULL) < end) {
		rc = use_once(buf, &seed, &value, &used);
		if (is_gone(rc))
			rc = 0;
	}
	if (rc)
		fprintf(stderr, "# user %u: %d\n", seed, rc);
	if (pages_check(buf + PAGE_BYTES, BLOCK_BYTES - PAGE_BYTES, 2) != -1)
		_exit(2);
	_exit(rc || used < USES);
}

/*
 * Adds and removes devices until all children have exited. Returns how many of
 * them exited with 0.
 */
static unsigned int come_and_go(void)
{
	static const enum hmmrt_faulty_op ops[] = {
		HMMRT_FAULTY_POPULATE, HMMRT_FAULTY_PREPARE,
		HMMRT_FAULTY_COPY_TO_DEVICE, HMMRT_FAULTY_COPY_FROM_PEER,
	};
	unsigned int seed = 1, exited = 0, good = 0;
	int status;

	while (exited < PROCESSES) {
		faulty_fail_nth(control, ops[(unsigned int)rand_r(&seed) % 4],
				(unsigned int)rand_r(&seed) % 5);
		if (faulty_devices(control, (unsigned int)rand_r(&seed) % 3))
			return 0;
		usleep((unsigned int)rand_r(&seed) % 100000);
		while (exited < PROCESSES && waitpid(-1, &status, WNOHANG) > 0) {
			exited++;
			good += !status;
		}
	}
	return good;
}

TEST_F(going, devices_are_added_removed_and_fail_under_load)
{
	pid_t pid;

	close(fd);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		pid = fork();
		if (!pid)
			user_run(buf, i + 1);
		ASSERT_LT(0, pid);
	}
	EXPECT_EQ(PROCESSES, come_and_go());
	fd = -1;
}

/* --- several drivers ------------------------------------------------------ */

FIXTURE(drivers) {
	int faulty;
	int dmirror;
};

FIXTURE_SETUP(drivers)
{
	NEED_MODULES();
	ASSERT_EQ(0, module_insert("hmmrt_faulty", ""));
	ASSERT_EQ(0, module_insert("hmmrt_dmirror", "memory=64"));
	DEVICES_SETUP();
	control = open_faulty_control();
	ASSERT_EQ(0, faulty_devices(control, 1));
	self->faulty = FD(open_faulty(0));
	self->dmirror = FD(open("/dev/hmm_dmirror0", O_RDWR | O_CLOEXEC));
	buf = FILLED(BLOCK_BYTES);
}

FIXTURE_TEARDOWN(drivers)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	munmap(buf, BLOCK_BYTES);
	close(self->faulty);
	close(control);
	close(self->dmirror);
	DEVICES_TEARDOWN();
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
	EXPECT_EQ(0, module_remove("hmmrt_faulty"));
}

/* Each device reads what the previous one wrote, wherever the page is. */
TEST_F(drivers, four_take_turns_on_one_word)
{
	uint64_t *word = (uint64_t *)buf, found, data[PAGE_BYTES / 8];
	uint64_t value = 1;

	for (unsigned int round = 0; round < 30; round++) {
		ASSERT_VALUE(value, dev_read(A, word));
		ASSERT_DONE(dev_write(A, word, ++value));
		ASSERT_EQ(0, faulty_read(self->faulty, word, &found));
		ASSERT_EQ(value, found);
		ASSERT_EQ(0, faulty_write(self->faulty, word, ++value));
		ASSERT_EQ(0,
			  DMIRROR(self->dmirror, READ, word, PAGE_BYTES, data));
		ASSERT_EQ(value, data[0]);
		data[0] = ++value;
		if (round % 3 == 1)
			DMIRROR(self->dmirror, MIGRATE_TO_DEV, word, PAGE_BYTES,
				data);
		data[0] = value;
		ASSERT_EQ(0, DMIRROR(self->dmirror, WRITE, word, PAGE_BYTES,
				     data));
		if (round % 3 == 2)
			ASSERT_EQ(value++, (*word)++);
	}
	EXPECT_EQ(value, *word);
	EXPECT_EQ(-1,
		  pages_check(buf + PAGE_BYTES, BLOCK_BYTES - PAGE_BYTES, 2));
}

struct worker {
	pthread_t thread;
	int faulty;
	int dmirror;
	char *page;
	uint64_t *word;		/* own word on the shared page */
	time_t end;
	unsigned int rounds;
	int rc;
};

static void *faulty_work(void *arg)
{
	struct worker *worker = arg;
	uint64_t value = 0, found;

	while (!worker->rc && (!worker->rounds || time(NULL) < worker->end)) {
		worker->rc = faulty_write(worker->faulty, worker->word, ++value);
		if (!worker->rc)
			worker->rc = faulty_read(worker->faulty, worker->word,
						 &found);
		if (!worker->rc && found != value)
			worker->rc = -EILSEQ;
		worker->rounds++;
	}
	return NULL;
}

/*
 * Reads the word and migrates the page. It cannot write, as a write by dmirror
 * replaces the whole page.
 */
static void *dmirror_work(void *arg)
{
	struct worker *worker = arg;
	uint64_t data[PAGE_BYTES / 8], last = 0;
	int rc;

	while (!worker->rc && (!worker->rounds || time(NULL) < worker->end)) {
		uint64_t seen;

		rc = DMIRROR(worker->dmirror, READ, worker->page, PAGE_BYTES,
			     data);
		/* Other threads always invalidated first: nothing was read. */
		if (rc == -EBUSY)
			continue;
		worker->rc = rc;
		seen = data[worker->word - (uint64_t *)worker->page];
		/* The word only counts up. */
		if (!worker->rc && seen < last)
			worker->rc = -EILSEQ;
		last = seen;
		rc = DMIRROR(worker->dmirror, MIGRATE_TO_DEV, worker->page,
			     PAGE_BYTES, data);
		if (rc && rc != -ENOENT && rc != -EBUSY)
			worker->rc = rc;
		worker->rounds++;
	}
	return NULL;
}

/* All use one page at the same time, each with its own word. */
TEST_F(drivers, four_writers_of_one_page_lose_no_write)
{
	uint64_t *words = (uint64_t *)buf, value = 0;
	struct worker workers[2];

	for (unsigned int i = 0; i < 2; i++) {
		workers[i] = (struct worker){
			.faulty = self->faulty, .dmirror = self->dmirror,
			.page = buf, .word = &words[8 + i],
			.end = time(NULL) + RUN_S,
		};
	}
	words[8] = 0;
	/* dmirror reads the word that the simulated GPU writes. */
	workers[1].word = &words[16];
	words[16] = 0;
	workers[0].thread = THREAD(faulty_work, &workers[0]);
	workers[1].thread = THREAD(dmirror_work, &workers[1]);
	while (time(NULL) < workers[0].end) {
		ASSERT_DONE(dev_write(A, &words[16], ++value));
		ASSERT_EQ(value, *(volatile uint64_t *)&words[16]);
		words[24] = value;
		ASSERT_VALUE(value, dev_read(A, &words[24]));
	}
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(workers[i].thread, NULL));
		EXPECT_EQ(0, workers[i].rc);
		EXPECT_LT(0, workers[i].rounds);
	}
}

TEST_HARNESS_MAIN
