// SPDX-License-Identifier: MIT
/*
 * A driver with one kernel worker that serves the faults of all processes. One
 * process waits for a program that withholds a page: a FUSE server or a
 * userfaultfd handler. It may also hold its mmap_lock while it waits. This must
 * not delay the faults of other processes, the end of the binding, the removal
 * of the device, or the removal of the driver.
 */
#include <sys/ioctl.h>

#include "lib/faulty_fixture.h"
#include "lib/fuse_server.h"
#include "lib/uffd.h"

/*
 * Time limit for operations that must not wait for the program. It allows for
 * one wait for the mmap_lock, which takes up to five seconds.
 */
#define SOON_S		30

/* State that parent and child share. */
struct shared {
	volatile int arrived;		/* the page was requested */
	volatile int go_on;		/* the program may provide it */
	volatile int lock_asked;	/* a mapping is about to be made */
	volatile int lock_taken;	/* and was made */
	volatile int read_done;
	volatile int read_rc;
	volatile uint64_t value;
	volatile int prefetch_done;
	volatile int prefetch_rc;
	volatile int tid;		/* of the thread that creates a space */
};

static struct fuse_server server;
static struct shared *shared;
static pid_t child;		/* 0: none */
static int base;		/* users of the manager's module */

static int manager_users(void)
{
	return (int)read_number("/sys/module/hmmrt/refcnt", "%ld");
}

static int worker_start(void)
{
	int rc = faulty_start();

	return rc ? rc : faulty_worker(control, true);
}

static void child_kill(void)
{
	if (child > 0)
		process_kill(child);
	child = 0;
}

static void start(struct __test_metadata *_metadata)
{
	int rc;

	base = FD(manager_users());
	shared = NOT_NULL(shared_page());
	rc = fuse_server_start(&server);
	if (rc == -ENOENT)
		SKIP(_exit(SKIPPED), "/dev/fuse: %s", strerror(-rc));
	ASSERT_EQ(0, rc);
	server.held_up = true;
	ASSERT_EQ(0, worker_start());
}

static void end(struct __test_metadata *_metadata)
{
	shared->go_on = 1;
	fuse_server_go_on(&server);
	child_kill();
	EXPECT_EQ(0, fuse_server_end(&server));
	FAULTY_TEARDOWN();
}

FIXTURE(worker) {
};

FIXTURE_VARIANT(worker) {
	bool uffd;
};

VARIANT(worker, fuse, .uffd = false);
VARIANT(worker, uffd, .uffd = true);

FIXTURE_SETUP(worker)
{
	start(_metadata);
}

FIXTURE_TEARDOWN(worker)
{
	end(_metadata);
}

static bool becomes(const volatile int *what, int value)
{
	double end = now_s() + 2 * SOON_S;

	while (*what != value && now_s() < end)
		usleep(2000);
	return *what == value;
}

/* --- the child: a process that waits for a program ------------------------ */

struct handler {
	int uffd;
	char *at;
};

/* Waits for the first missing page, and provides it when told to. */
static void *handle(void *arg)
{
	struct handler *handler = arg;
	int rc;

	if (uffd_next(handler->uffd, 2 * SOON_S).event == UFFD_EVENT_PAGEFAULT)
		shared->arrived = 1;
	becomes(&shared->go_on, 1);
	rc = uffd_fill(handler->uffd, handler->at, FUSE_FILE_WORD);
	if (rc)
		fprintf(stderr, "# UFFDIO_COPY: %s\n", strerror(-rc));
	return NULL;
}

/* Returns a page that the userfaultfd handler provides, or NULL. */
static char *watched_page(void)
{
	static struct handler handler;
	pthread_t thread;

	handler.at = arena_anon(PAGE_BYTES);
	handler.uffd = uffd_open();
	if (!handler.at || handler.uffd < 0 ||
	    uffd_watch(handler.uffd, handler.at, PAGE_BYTES,
		       UFFDIO_REGISTER_MODE_MISSING) ||
	    pthread_create(&thread, NULL, handle, &handler))
		return NULL;
	return handler.at;
}

static char *file_page(void)
{
	int fd = open(server.path, O_RDONLY | O_CLOEXEC);
	char *at;

	if (fd < 0)
		return NULL;
	at = mmap(NULL, FUSE_FILE_BYTES, RW, MAP_PRIVATE, fd, 0);
	/* Close it now: at exit the process would wait for the server. */
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/*
 * Closes descriptors that the child inherited: they would keep the parent's
 * binding and the module.
 */
static void child_leave_session(void)
{
	close(fds[A]);
	close(fds[B]);
	close(control);
	close(space);
}

/* The device reads the page that the program withholds. */
static void child_read(bool uffd)
{
	const char *at = uffd ? watched_page() : file_page();
	int fd = open_faulty(0);
	uint64_t value = 0;

	shared->read_rc = at && fd >= 0 ? faulty_read(fd, at, &value) : -ENOENT;
	shared->value = value;
	shared->read_done = 1;
}

static int child_start(bool uffd)
{
	child = fork();
	if (child)
		return child < 0 ? -errno : 0;
	child_leave_session();
	child_read(uffd);
	_exit(0);
}

static bool page_is_asked_for(bool uffd)
{
	return uffd ? becomes(&shared->arrived, 1) :
		      fuse_server_wait_arrived(&server);
}

static void page_comes(void)
{
	shared->go_on = 1;
	fuse_server_go_on(&server);
}

/* --- tests ---------------------------------------------------------------- */

TEST_F_TIMEOUT(worker, serves_other_processes_during_a_wait, 120)
{
	double began;

	ASSERT_EQ(0, child_start(variant->uffd));
	ASSERT_TRUE(page_is_asked_for(variant->uffd));
	began = now_s();
	pages_fill(buf, LEN, 7);
	first = 7;
	ASSERT_EQ(0, read_pages());
	EXPECT_GT(SOON_S, now_s() - began);
	ASSERT_EQ(0, shared->read_done);
	page_comes();
	ASSERT_TRUE(becomes(&shared->read_done, 1));
	ASSERT_EQ(0, shared->read_rc);
	ASSERT_EQ(FUSE_FILE_WORD, shared->value);
}

TEST_F_TIMEOUT(worker, releases_its_device_during_a_wait, 120)
{
	double began;

	ASSERT_EQ(0, child_start(variant->uffd));
	ASSERT_TRUE(page_is_asked_for(variant->uffd));
	began = now_s();
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_GT(SOON_S, now_s() - began);
	ASSERT_TRUE(becomes(&shared->read_done, 1));
	ASSERT_EQ(-ENODEV, shared->read_rc);
}

/*
 * The thread that waits for the page keeps a reference to the manager's module
 * only.
 */
TEST_F_TIMEOUT(worker, driver_is_removed_during_a_wait, 120)
{
	double began = now_s();
	int users = 0;

	ASSERT_EQ(0, child_start(variant->uffd));
	ASSERT_TRUE(page_is_asked_for(variant->uffd));
	child_kill();
	EXPECT_GT(SOON_S, now_s() - began);
	ASSERT_EQ(0, faulty_end());
	EXPECT_GT(2 * SOON_S, now_s() - began);
	/*
	 * The userfaultfd handler ended with the child. The FUSE server is a
	 * process of the parent and still withholds the page.
	 */
	if (!variant->uffd)
		EXPECT_EQ(base + 1, manager_users());
	page_comes();
	while ((users = manager_users()) != base &&
	       now_s() < began + 3 * SOON_S)
		usleep(10000);
	EXPECT_EQ(base, users);
	ASSERT_EQ(0, worker_start());
}

/* A prefetch writes its outcomes to memory that the program provides. */
static void child_prefetch(bool uffd)
{
	char *at = uffd ? watched_page() : file_page();
	char *buf = arena_anon(LEN);
	int manager = open_manager(), fd = open_faulty(0);
	struct hmmrt_prefetch arg = {
		.size = sizeof(arg), .addr = (uintptr_t)buf, .len = LEN,
		.location = id_of(A), .outcomes = (uintptr_t)at,
	};

	if (!at || !buf || fd < 0 || cmd_space_create(manager))
		_exit(1);
	pages_fill(buf, LEN, 1);
	shared->prefetch_rc =
		ioctl(manager, HMMRT_IOC_PREFETCH, &arg) ? -errno : 0;
	shared->prefetch_done = 1;
	if (pages_check(buf, LEN, 1) != -1)
		_exit(2);
	_exit(0);
}

TEST_F_TIMEOUT(worker, releases_its_device_while_outcomes_are_written, 120)
{
	double began;

	child = FORK();
	if (!child) {
		child_leave_session();
		child_prefetch(variant->uffd);
	}
	ASSERT_TRUE(page_is_asked_for(variant->uffd));
	began = now_s();
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_GT(SOON_S, now_s() - began);
	ASSERT_EQ(0, shared->prefetch_done);
	page_comes();
	ASSERT_EQ(0, process_wait(child));
	child = 0;
	ASSERT_EQ(-ENODEV, shared->prefetch_rc);
}

FIXTURE(locked) {
};

FIXTURE_SETUP(locked)
{
	start(_metadata);
}

FIXTURE_TEARDOWN(locked)
{
	end(_metadata);
}

/*
 * Threads of a process, one of which holds the mmap_lock. All are created
 * before that, because creating a thread needs the lock to map its stack.
 */
struct locker {
	char *file;
	char *buf;
	int manager;
	int fd;
	uint32_t id;
};

/* The kernel faults the page in with the mmap_lock held for reading. */
static void *read_itself(void *arg)
{
	struct locker *locker = arg;
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char c;

	becomes(&shared->go_on, 1);
	if (pread(fd, &c, 1, (off_t)(uintptr_t)locker->file) != 1)
		perror("# /proc/self/mem");
	return NULL;
}

/* A waiting writer blocks further readers. */
static void *map_something(void *arg)
{
	void *at;

	(void)arg;
	becomes(&shared->go_on, 2);
	shared->lock_asked = 1;
	at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	shared->lock_taken = at != MAP_FAILED;
	return NULL;
}

static void *prefetch_something(void *arg)
{
	struct locker *locker = arg;

	becomes(&shared->go_on, 3);
	shared->prefetch_rc = cmd_prefetch(locker->manager, locker->buf, LEN,
					   locker->id, NULL);
	shared->prefetch_done = 1;
	return NULL;
}

static void *access_something(void *arg)
{
	struct locker *locker = arg;

	becomes(&shared->go_on, 3);
	shared->read_rc = faulty_read(locker->fd, locker->buf + LEN / 2, NULL);
	shared->read_done = 1;
	return NULL;
}

static int child_lock(void)
{
	void *(*const runs[])(void *) = {
		read_itself,
		map_something,
		prefetch_something,
		access_something,
	};
	struct locker locker = {
		.file = file_page(), .buf = arena_anon(LEN),
		.manager = open_manager(), .fd = open_faulty(0), .id = id_of(A),
	};
	pthread_t thread;

	if (!locker.file || !locker.buf || locker.fd < 0 ||
	    cmd_space_create(locker.manager))
		return 1;
	/*
	 * Half of the buffer is on the device, so that unbinding has to migrate
	 * it back.
	 */
	pages_fill(locker.buf, LEN, 1);
	if (faulty_range(locker.fd, HMMRT_FAULTY_IOC_TO_DEVICE, locker.buf,
			 LEN / 2))
		return 2;
	for (unsigned int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, runs[i], &locker))
			return 3;
	shared->go_on = 1;
	if (!becomes(&shared->prefetch_done, 1) ||
	    !becomes(&shared->read_done, 1))
		return 4;
	return pages_check(locker.buf, LEN, 1) == -1 ? 0 : 5;
}

/*
 * Starts the child, and waits until it needs its mmap_lock, which it holds.
 * Returns false if this kernel does not hold it.
 */
static bool child_waits_for_lock(struct __test_metadata *_metadata,
				 int (*run)(void))
{
	child = FORK();
	if (!child) {
		child_leave_session();
		_exit(run());
	}
	ASSERT_TRUE(fuse_server_wait_arrived(&server));
	shared->go_on = 2;
	ASSERT_TRUE(becomes(&shared->lock_asked, 1));
	usleep(200000);
	return !shared->lock_taken;
}

/*
 * A prefetch and a fault that wait for the lock do not keep the binding.
 * Unbinding leaves pages on the device that it cannot migrate without the lock.
 * The removal of the device migrates them.
 */
TEST_F_TIMEOUT(locked, waiting_for_mmap_lock_does_not_keep_the_device, 120)
{
	double began;

	if (!child_waits_for_lock(_metadata, child_lock))
		SKIP(return, "this kernel does not hold the mmap_lock");
	shared->go_on = 3;
	usleep(200000);
	ASSERT_EQ(0, shared->prefetch_done);
	ASSERT_EQ(0, shared->read_done);
	began = now_s();
	pages_fill(buf, LEN, 7);
	first = 7;
	ASSERT_EQ(0, read_pages());
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_GT(SOON_S, now_s() - began);
	ASSERT_TRUE(becomes(&shared->read_done, 1));
	ASSERT_EQ(-ENODEV, shared->read_rc);
	ASSERT_EQ(0, shared->lock_taken);
	fuse_server_go_on(&server);
	ASSERT_EQ(0, process_wait(child));
	child = 0;
	ASSERT_EQ(-ENODEV, shared->prefetch_rc);
}

static void *create_space(void *arg)
{
	struct locker *locker = arg;

	shared->tid = gettid();
	becomes(&shared->go_on, 2);
	shared->lock_asked = 1;
	cmd_space_create(locker->manager);
	shared->lock_taken = 1;
	return NULL;
}

static int child_create_space(void)
{
	struct locker locker = {
		.file = file_page(), .manager = open_manager(),
	};
	pthread_t threads[2];

	if (!locker.file ||
	    pthread_create(&threads[0], NULL, read_itself, &locker) ||
	    pthread_create(&threads[1], NULL, create_space, &locker))
		return 1;
	shared->go_on = 1;
	pthread_join(threads[1], NULL);
	return 0;
}

/* Returns true if the thread ends soon: it leaves at most a zombie. */
static bool thread_ends(pid_t pid, int tid)
{
	double end = now_s() + SOON_S;
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	while (now_s() < end) {
		file = fopen(path, "re");
		if (!file)
			return true;
		if (fscanf(file, "%*d %*s %c", &state) != 1)
			state = 0;
		fclose(file);
		if (state == 'Z' || state == 'X')
			return true;
		usleep(10000);
	}
	return false;
}

/* SIGKILL ends the wait for the mmap_lock, whatever its holder waits for. */
TEST_F_TIMEOUT(locked, killed_thread_that_creates_a_space_ends, 120)
{
	if (!child_waits_for_lock(_metadata, child_create_space))
		SKIP(return, "this kernel does not hold the mmap_lock");
	ASSERT_EQ(0, kill(child, SIGKILL));
	EXPECT_TRUE(thread_ends(child, shared->tid));
}

TEST_HARNESS_MAIN
