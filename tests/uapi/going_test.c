// SPDX-License-Identifier: MIT
/*
 * Devices that are added and removed while processes use them, and several
 * drivers on one process. The device's pages migrate back before it goes away,
 * wherever fork, exit and mremap have left them. Open files of a removed device
 * return ENODEV. Loads and removes the modules.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <lib/test_hmm_uapi.h>

#include "lib/faulty.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"

#define RUN_S		4
#define LEN		(BLOCK_BYTES + 64 * PAGE_BYTES)
#define PAGES		(LEN / PAGE_BYTES)

FIXTURE(going) {
	int manager;
	int control;
	int fd;
	uint32_t id;
	char *buf;
};

FIXTURE_SETUP(going)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, module_insert("hmmrt_faulty", ""));
	self->manager = open_manager();
	self->control = open_faulty_control();
	ASSERT_LE(0, self->control);
	ASSERT_EQ(0, cmd_space_create(self->manager));
	ASSERT_EQ(0, faulty_devices(self->control, 2));
	self->fd = open_faulty(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_named(self->manager, "hmmrt-faulty0", &self->id));
	self->buf = arena_anon(LEN);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, LEN, 1);
}

FIXTURE_TEARDOWN(going)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	faulty_fail_stop(self->control, HMMRT_FAULTY_COPY_TO_HOST);
	close(self->fd);
	close(self->control);
	close(self->manager);
	EXPECT_EQ(0, module_remove("hmmrt_faulty"));
}

static int put_on_device(int manager, int fd, uint32_t id, char *buf, size_t len)
{
	int rc = faulty_range(fd, HMMRT_FAULTY_IOC_TO_DEVICE, buf, len);

	if (!rc && pages_at(manager, buf, len, id) != (long)(len / PAGE_BYTES))
		rc = -EIO;
	return rc;
}

TEST_F(going, file_of_a_removed_device_is_enodev)
{
	uint64_t value;

	ASSERT_EQ(0, put_on_device(self->manager, self->fd, self->id, self->buf,
				   LEN));
	ASSERT_EQ(0, faulty_devices(self->control, 0));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	EXPECT_EQ(-ENODEV, faulty_read(self->fd, self->buf, &value));
	EXPECT_EQ(-ENODEV, faulty_write(self->fd, self->buf, 5));
	EXPECT_EQ(-ENODEV, faulty_range(self->fd, HMMRT_FAULTY_IOC_TO_DEVICE,
					self->buf, LEN));
	EXPECT_EQ(-ENOENT, open_faulty(0));
	EXPECT_EQ(-ENODEV, cmd_prefetch(self->manager, self->buf, LEN, self->id,
					NULL));
	/* The file does not work for a new device of the same name. */
	ASSERT_EQ(0, faulty_devices(self->control, 1));
	EXPECT_EQ(-ENODEV, faulty_read(self->fd, self->buf, &value));
	close(self->fd);
	self->fd = open_faulty(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, faulty_read(self->fd, self->buf, &value));
	EXPECT_EQ(1, value);
}

TEST_F(going, module_with_an_open_file_is_not_unloaded)
{
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt_faulty"));
	ASSERT_EQ(0, faulty_devices(self->control, 0));
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt_faulty"));
}

/* --- fork, exit and mremap of device pages -------------------------------- */

static pid_t child_that_checks(char *buf, size_t len, int *go)
{
	int gate[2];
	pid_t pid;
	char c;

	if (pipe2(gate, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		/* Otherwise read() would never return if the parent fails. */
		close(gate[1]);
		_exit(read(gate[0], &c, 1) != 1 ? 2 :
						  pages_check(buf, len, 1) != -1);
	}
	close(gate[0]);
	*go = gate[1];
	return pid;
}

static int child_end(pid_t pid, int go)
{
	int status = -1;

	if (write(go, "g", 1) != 1 || waitpid(pid, &status, 0) != pid)
		return -1;
	close(go);
	return status;
}

/*
 * All pages are shared with a child and some are moved, while the binding
 * stays.
 */
TEST_F(going, shared_and_moved_pages_migrate_back)
{
	const size_t part = 32 * PAGE_BYTES;
	char *moved = arena_anon(part);
	pid_t pid;
	int go;

	ASSERT_EQ(0, put_on_device(self->manager, self->fd, self->id, self->buf,
				   LEN));
	pid = child_that_checks(self->buf, LEN, &go);
	ASSERT_LT(0, pid);
	ASSERT_EQ(moved, mremap(self->buf, part, part,
				MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	ASSERT_EQ(0, faulty_devices(self->control, 0));
	EXPECT_EQ(-1, pages_check(moved, part, 1));
	EXPECT_EQ(-1, pages_check(self->buf + part, LEN - part,
				  1 + part / PAGE_BYTES));
	EXPECT_EQ(0, child_end(pid, go));
}

/* Moves pages to the device, leaves them to a forked child, and exits. */
static void parent_run(char *buf, int manager, int gate)
{
	int fd = open_faulty(0);
	char c;

	if (fd < 0 || faulty_range(fd, HMMRT_FAULTY_IOC_TO_DEVICE, buf, LEN))
		_exit(3);
	if (fork())
		_exit(0);
	close(fd);
	close(manager);
	_exit(read(gate, &c, 1) != 1 ? 2 : pages_check(buf, LEN, 1) != -1);
}

TEST_F(going, pages_of_an_orphaned_child_migrate_back)
{
	int gate[2], status = -1;
	pid_t pid;

	ASSERT_EQ(0, pipe2(gate, O_CLOEXEC));
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	close(self->fd);
	pid = fork();
	if (!pid) {
		close(gate[1]);
		parent_run(self->buf, self->manager, gate[0]);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_LT(0, device_used_bytes(self->manager, self->id));
	ASSERT_EQ(0, faulty_devices(self->control, 0));
	ASSERT_EQ(1, write(gate[1], "g", 1));
	ASSERT_LT(0, waitpid(-1, &status, 0));
	EXPECT_EQ(0, status);
	close(gate[0]);
	close(gate[1]);
	self->fd = -1;
}

TEST_F(going, unbind_leaves_pages_of_other_devices)
{
	const size_t half = BLOCK_BYTES / 2;
	int fd = open_faulty(1);
	uint32_t other;

	ASSERT_EQ(0, device_named(self->manager, "hmmrt-faulty1", &other));
	ASSERT_EQ(0, put_on_device(self->manager, self->fd, self->id, self->buf,
				   half));
	ASSERT_EQ(0, put_on_device(self->manager, fd, other, self->buf + half,
				   half));
	close(self->fd);
	EXPECT_EQ(half / PAGE_BYTES, pages_at(self->manager, self->buf, half,
					      HMMRT_LOCATION_HOST));
	EXPECT_EQ(half / PAGE_BYTES,
		  pages_at(self->manager, self->buf + half, half, other));
	close(fd);
	EXPECT_EQ(-1, pages_check(self->buf, 2 * half, 1));
	self->fd = -1;
}

/* --- calls in progress ---------------------------------------------------- */

struct prefetch {
	pthread_t thread;
	int manager;
	uint32_t id;
	char *addr;
	size_t len;
	int rc;
};

static void *prefetch_run(void *arg)
{
	struct prefetch *prefetch = arg;

	prefetch->rc = cmd_prefetch(prefetch->manager, prefetch->addr,
				    prefetch->len, prefetch->id, NULL);
	return NULL;
}

static bool wait_for_use(int manager, uint32_t id)
{
	unsigned int try;

	for (try = 0; try < 3000; try++) {
		if (device_used_bytes(manager, id) > 0)
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Populates one page in each block, so that the prefetch takes seconds even
 * when the device is full.
 */
TEST_F(going, prefetch_in_progress_ends_with_its_device)
{
	struct prefetch prefetch = {
		.manager = self->manager,
		.id = self->id,
		.len = 8192 * BLOCK_BYTES,
	};
	size_t at;

	prefetch.addr = mmap(NULL, prefetch.len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)prefetch.addr);
	for (at = 0; at < prefetch.len; at += BLOCK_BYTES)
		((char *)prefetch.addr)[at] = 1;
	ASSERT_EQ(0, pthread_create(&prefetch.thread, NULL, prefetch_run,
				    &prefetch));
	ASSERT_TRUE(wait_for_use(self->manager, self->id));
	ASSERT_EQ(0, faulty_devices(self->control, 0));
	ASSERT_EQ(0, pthread_join(prefetch.thread, NULL));
	EXPECT_EQ(-ENODEV, prefetch.rc);
	munmap(prefetch.addr, prefetch.len);
}

static void *go_slowly(void *arg)
{
	return (void *)(long)faulty_devices(*(int *)arg, 0);
}

/*
 * A device that cannot return its pages goes away slowly. Until it is gone,
 * lookups do not find it, and no new device gets its id.
 */
TEST_F(going, id_of_a_device_in_removal_is_not_reused)
{
	pthread_t thread;
	struct hmmrt_device_info info;
	unsigned int try;
	uint32_t sample;
	void *rc;

	ASSERT_EQ(0, put_on_device(self->manager, self->fd, self->id, self->buf,
				   4 * PAGE_BYTES));
	ASSERT_EQ(0, faulty_fail_always(self->control,
					HMMRT_FAULTY_COPY_TO_HOST));
	ASSERT_EQ(0, pthread_create(&thread, NULL, go_slowly, &self->control));
	for (try = 0; try < 10000; try++) {
		if (cmd_device_info(self->manager, self->id, &info) == -ENODEV)
			break;
		usleep(100);
	}
	ASSERT_EQ(0, module_insert("hmmrt_sample", ""));
	EXPECT_EQ(0, device_named(self->manager, "hmmrt-sample", &sample));
	/*
	 * If pages are still on it, it was there when the new device got its
	 * id.
	 */
	if (pages_at(self->manager, self->buf, 4 * PAGE_BYTES, self->id) > 0)
		EXPECT_NE(self->id, sample);
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
static pid_t other_process(int control, int manager, bool closes, int go,
			   int ready)
{
	pid_t pid = fork();
	int fd;
	char c;

	if (pid)
		return pid;
	close(control);
	close(manager);
	if (read(go, &c, 1) != 1)
		_exit(2);
	manager = open_manager();
	fd = open_faulty(1);
	if (manager < 0 || cmd_space_create(manager) || fd < 0)
		_exit(3);
	if (closes) {
		close(fd);
		close(manager);
		_exit(0);
	}
	if (write(ready, "r", 1) != 1)
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
	int go[2], ready[2], status = -1;
	pthread_t thread;
	pid_t closer, killed;
	void *value;
	char c;

	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	closer = other_process(self->control, self->manager, true, go[0],
			       ready[1]);
	ASSERT_LT(0, closer);
	ASSERT_EQ(0, put_on_device(self->manager, self->fd, self->id, self->buf,
				   LEN));
	killed = other_process(self->control, self->manager, false, go[0],
			       ready[1]);
	ASSERT_LT(0, killed);
	ASSERT_LE(0, faulty_hold(self->control, true));
	ASSERT_EQ(0, pthread_create(&thread, NULL, touch, self->buf));
	ASSERT_EQ(0, faulty_wait_held(self->control));

	ASSERT_EQ(2, write(go[1], "gg", 2));
	EXPECT_EQ(closer, waitpid(closer, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, faulty_hold(self->control, true));
	EXPECT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(0, kill(killed, SIGKILL));
	EXPECT_EQ(killed, waitpid(killed, &status, 0));
	EXPECT_EQ(1, faulty_hold(self->control, true));
	EXPECT_EQ(0, faulty_devices(self->control, 1));
	EXPECT_EQ(1, faulty_hold(self->control, true));

	EXPECT_LE(0, faulty_hold(self->control, false));
	ASSERT_EQ(0, pthread_join(thread, &value));
	EXPECT_EQ(1, (uintptr_t)value);
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	close(go[0]);
	close(go[1]);
	close(ready[0]);
	close(ready[1]);
}

/*
 * A process has pages left on the device, and a fault outlives all its files:
 * nothing waits for the fault, and whatever it uses is freed after it.
 */
TEST_F(going, files_close_under_a_held_copy)
{
	pthread_t thread;
	void *value;

	ASSERT_EQ(0, put_on_device(self->manager, self->fd, self->id, self->buf,
				   PAGE_BYTES));
	ASSERT_EQ(0, faulty_fail_always(self->control,
					HMMRT_FAULTY_COPY_TO_HOST));
	close(self->fd);
	self->fd = -1;
	faulty_fail_stop(self->control, HMMRT_FAULTY_COPY_TO_HOST);
	ASSERT_EQ(1, pages_at(self->manager, self->buf, PAGE_BYTES, self->id));
	ASSERT_LE(0, faulty_hold(self->control, true));
	ASSERT_EQ(0, pthread_create(&thread, NULL, touch, self->buf));
	ASSERT_EQ(0, faulty_wait_held(self->control));
	close(self->manager);
	self->manager = -1;
	EXPECT_EQ(1, faulty_hold(self->control, true));
	EXPECT_LE(0, faulty_hold(self->control, false));
	ASSERT_EQ(0, pthread_join(thread, &value));
	EXPECT_EQ(1, (uintptr_t)value);
}

/* Ids are reused; a new device must not inherit the quota of an old one. */
TEST_F(going, quota_is_dropped_with_its_device)
{
	struct hmmrt_quota quota;
	uint32_t id;

	ASSERT_EQ(0, cmd_set_quota(self->manager, self->id, BLOCK_BYTES, 3,
				   NULL));
	ASSERT_EQ(0, faulty_devices(self->control, 0));
	close(self->fd);
	ASSERT_EQ(0, faulty_devices(self->control, 2));
	self->fd = open_faulty(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, device_named(self->manager, "hmmrt-faulty0", &id));
	ASSERT_EQ(self->id, id);
	ASSERT_EQ(0, cmd_get_quota(self->manager, id, &quota));
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
	unsigned int i;
	int rc = 0;

	for (i = 0; i < 8 && fd >= 0 && !rc; i++) {
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
static unsigned int come_and_go(int control)
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
	unsigned int i;
	pid_t pid;

	close(self->fd);
	for (i = 0; i < PROCESSES; i++) {
		pid = fork();
		if (!pid)
			user_run(self->buf, i + 1);
		ASSERT_LT(0, pid);
	}
	EXPECT_EQ(PROCESSES, come_and_go(self->control));
	self->fd = -1;
}

/* --- several drivers ------------------------------------------------------ */

FIXTURE(drivers) {
	struct session session;
	struct agent *agent;
	int manager;
	int control;
	int faulty;
	int dmirror;
	char *buf;
};

FIXTURE_SETUP(drivers)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, module_insert("hmmrt_faulty", ""));
	ASSERT_EQ(0, module_insert("hmmrt_dmirror", "memory=64"));
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->manager = self->session.space;
	self->control = open_faulty_control();
	ASSERT_EQ(0, faulty_devices(self->control, 1));
	self->faulty = open_faulty(0);
	ASSERT_LE(0, self->faulty);
	self->dmirror = open("/dev/hmm_dmirror0", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dmirror);
	self->buf = arena_anon(BLOCK_BYTES);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, BLOCK_BYTES, 1);
}

FIXTURE_TEARDOWN(drivers)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	munmap(self->buf, BLOCK_BYTES);
	close(self->faulty);
	close(self->control);
	close(self->dmirror);
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
	EXPECT_EQ(0, module_remove("hmmrt_faulty"));
}

static int dmirror_call(int fd, unsigned int call, void *addr, void *data)
{
	struct hmm_dmirror_cmd cmd = {
		.addr = (uintptr_t)addr,
		.ptr = (uintptr_t)data,
		.npages = 1,
	};
	int rc;

	do
		rc = cmd_raw(fd, call, &cmd);
	while (rc == -EINTR);
	return rc;
}

/* Each device reads what the previous one wrote, wherever the page is. */
TEST_F(drivers, four_take_turns_on_one_word)
{
	uint64_t *word = (uint64_t *)self->buf, found, data[PAGE_BYTES / 8];
	uint64_t value = 1;
	unsigned int round;

	for (round = 0; round < 30; round++) {
		ASSERT_VALUE(value, agent_read(self->agent, word));
		ASSERT_DONE(agent_write(self->agent, word, ++value));
		ASSERT_EQ(0, faulty_read(self->faulty, word, &found));
		ASSERT_EQ(value, found);
		ASSERT_EQ(0, faulty_write(self->faulty, word, ++value));
		ASSERT_EQ(0, dmirror_call(self->dmirror, HMM_DMIRROR_READ, word,
					  data));
		ASSERT_EQ(value, data[0]);
		data[0] = ++value;
		if (round % 3 == 1)
			dmirror_call(self->dmirror, HMM_DMIRROR_MIGRATE_TO_DEV,
				     word, data);
		data[0] = value;
		ASSERT_EQ(0, dmirror_call(self->dmirror, HMM_DMIRROR_WRITE, word,
					  data));
		if (round % 3 == 2)
			ASSERT_EQ(value++, (*word)++);
	}
	EXPECT_EQ(value, *word);
	EXPECT_EQ(-1, pages_check(self->buf + PAGE_BYTES,
				  BLOCK_BYTES - PAGE_BYTES, 2));
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

		rc = dmirror_call(worker->dmirror, HMM_DMIRROR_READ,
				  worker->page, data);
		/* Other threads always invalidated first: nothing was read. */
		if (rc == -EBUSY)
			continue;
		worker->rc = rc;
		seen = data[worker->word - (uint64_t *)worker->page];
		/* The word only counts up. */
		if (!worker->rc && seen < last)
			worker->rc = -EILSEQ;
		last = seen;
		rc = dmirror_call(worker->dmirror, HMM_DMIRROR_MIGRATE_TO_DEV,
				  worker->page, data);
		if (rc && rc != -ENOENT && rc != -EBUSY)
			worker->rc = rc;
		worker->rounds++;
	}
	return NULL;
}

/* All use one page at the same time, each with its own word. */
TEST_F(drivers, four_writers_of_one_page_lose_no_write)
{
	uint64_t *words = (uint64_t *)self->buf, value = 0;
	struct worker workers[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		workers[i] = (struct worker){
			.faulty = self->faulty,
			.dmirror = self->dmirror,
			.page = self->buf,
			.word = &words[8 + i],
			.end = time(NULL) + RUN_S,
		};
	}
	words[8] = 0;
	/* dmirror reads the word that the simulated GPU writes. */
	workers[1].word = &words[16];
	words[16] = 0;
	ASSERT_EQ(0, pthread_create(&workers[0].thread, NULL, faulty_work,
				    &workers[0]));
	ASSERT_EQ(0, pthread_create(&workers[1].thread, NULL, dmirror_work,
				    &workers[1]));
	while (time(NULL) < workers[0].end) {
		ASSERT_DONE(agent_write(self->agent, &words[16], ++value));
		ASSERT_EQ(value, *(volatile uint64_t *)&words[16]);
		words[24] = value;
		ASSERT_VALUE(value, agent_read(self->agent, &words[24]));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(workers[i].thread, NULL));
		EXPECT_EQ(0, workers[i].rc);
		EXPECT_LT(0, workers[i].rounds);
	}
}

TEST_HARNESS_MAIN
