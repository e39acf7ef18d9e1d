// SPDX-License-Identifier: MIT
/*
 * A failing device: each operation that may fail does so at its first, second,
 * ... call, while a process uses the device in each possible way. The call must
 * fail with its documented error or succeed without the operation. No page may
 * be lost or left on the device, and the next attempt must work. A slow device
 * may delay users of the same block but no other process. Loads and removes the
 * module.
 */
#include <semaphore.h>
#include <sys/ioctl.h>

#include "lib/faulty_fixture.h"

/* More calls than any step makes. */
#define MAX_NTH		5000

/* --- ways to use a device ------------------------------------------------- */

STEP(start_on_host, 0)
STEP(start_on_device, put_on(A))
STEP(start_on_peer, put_on(B))
STEP(run_faults, read_pages())
STEP(run_to_device, to_device(A, buf, LEN))
STEP(run_fault_range, faulty_range(fds[A], HMMRT_FAULTY_IOC_FAULT, buf, LEN))
STEP(run_to_host, faulty_range(fds[A], HMMRT_FAULTY_IOC_TO_HOST, buf, LEN))
STEP(run_exclusive, faulty_range(fds[A], HMMRT_FAULTY_IOC_EXCLUSIVE, buf, LEN))
STEP(run_prefetch, prefetch(A, buf, LEN))
STEP(run_prefetch_to_host, prefetch(HOST, buf, LEN))
STEP(run_evict, faulty_evict(control, A))

/* Unbinding cannot fail: a page that cannot be read stays on the device. */
static int run_unbind(void)
{
	close(fds[A]);
	fds[A] = open_faulty(0);
	return fds[A] < 0 ? fds[A] : 0;
}

FAULTY_FIXTURE(binding)

static int bind_rc(int fd)
{
	return ioctl(fd, HMMRT_SOFT_IOC_BIND) ? -errno : 0;
}

/* A bind waits for the mmap_lock, and open() holds a lock of all misc devices. */
TEST_F(binding, is_a_call_of_its_own)
{
	int fd = FD(open("/dev/hmmrt-faulty0", O_RDWR | O_CLOEXEC));

	EXPECT_EQ(-ENODEV, faulty_read(fd, buf, NULL));
	EXPECT_EQ(-EBUSY, bind_rc(fd));
	close(fds[A]);
	EXPECT_EQ(0, bind_rc(fd));
	EXPECT_EQ(0, faulty_read(fd, buf, NULL));
	EXPECT_EQ(-EBUSY, bind_rc(fd));
	fds[A] = fd;
}

TEST_F(binding, of_a_file_whose_device_is_gone_is_enodev)
{
	int fd = FD(open("/dev/hmmrt-faulty1", O_RDWR | O_CLOEXEC));

	close(fds[B]);
	ASSERT_EQ(0, faulty_devices(control, 1));
	EXPECT_EQ(-ENODEV, bind_rc(fd));
	fds[B] = fd;
}

FAULTY_FIXTURE(failing)

FIXTURE_VARIANT(failing) {
	enum hmmrt_faulty_op op;
	int (*start)(void);
	int (*run)(void);
	int error;		/* allowed errno; 0: must succeed */
	bool moves;		/* to the device without failures */
};

#define FAILING(name, _op, _start, _run, ...)				\
	VARIANT(failing, name, .op = HMMRT_FAULTY_##_op,		\
		.start = start_##_start, .run = run_##_run, ##__VA_ARGS__)

FAILING(populate_in_faults, POPULATE, on_host, faults, .moves = true);
FAILING(populate_in_fault_range, POPULATE, on_host, fault_range, .moves = true);
FAILING(populate_in_prefetch, POPULATE, on_host, prefetch, .moves = true);
FAILING(populate_in_migration, POPULATE, on_host, to_device, .moves = true);
FAILING(populate_in_migration_from_a_peer, POPULATE, on_peer, to_device,
	.moves = true);
FAILING(prepare_in_faults, PREPARE, on_host, faults, .error = ENOMEM,
	.moves = true);
FAILING(prepare_in_fault_range, PREPARE, on_host, fault_range, .error = ENOMEM,
	.moves = true);
FAILING(prepare_in_prefetch, PREPARE, on_host, prefetch, .error = ENOMEM,
	.moves = true);
FAILING(prepare_in_migration, PREPARE, on_host, to_device, .error = ENOMEM,
	.moves = true);
FAILING(prepare_in_exclusive, PREPARE, on_host, exclusive, .error = ENOMEM);
FAILING(copy_in_faults, COPY_TO_DEVICE, on_host, faults, .moves = true);
FAILING(copy_in_fault_range, COPY_TO_DEVICE, on_host, fault_range,
	.moves = true);
FAILING(copy_in_prefetch, COPY_TO_DEVICE, on_host, prefetch, .moves = true);
FAILING(copy_in_migration, COPY_TO_DEVICE, on_host, to_device, .moves = true);
FAILING(copy_out_in_migration, COPY_TO_HOST, on_device, to_host);
FAILING(copy_out_in_prefetch, COPY_TO_HOST, on_device, prefetch_to_host);
FAILING(copy_out_in_exclusive, COPY_TO_HOST, on_device, exclusive,
	.error = EFAULT);
FAILING(copy_out_in_eviction, COPY_TO_HOST, on_device, evict);
FAILING(copy_out_in_unbind, COPY_TO_HOST, on_device, unbind);
FAILING(peer_in_faults, COPY_FROM_PEER, on_peer, faults, .moves = true);
FAILING(peer_in_fault_range, COPY_FROM_PEER, on_peer, fault_range,
	.moves = true);
FAILING(peer_in_prefetch, COPY_FROM_PEER, on_peer, prefetch, .moves = true);
FAILING(peer_in_migration, COPY_FROM_PEER, on_peer, to_device, .moves = true);

/*
 * Returns 0 if the nth call failed, 1 if there were fewer calls, or a negative
 * errno.
 */
static int fail_once(const FIXTURE_VARIANT(failing) *variant, unsigned int nth)
{
	int rc, left;

	first = 1000 * (nth + 1);
	pages_fill(buf, LEN, first);
	rc = faulty_renew();
	if (!rc)
		rc = variant->start();
	if (!rc)
		rc = faulty_fail_nth(control, variant->op, nth);
	if (rc)
		return rc;
	rc = variant->run();
	left = faulty_fail_stop(control, variant->op);
	if (rc && (left || rc != -variant->error))
		return rc;
	/*
	 * A failed PREPARE must fail the call. Other failures may only concern
	 * a neighbouring page.
	 */
	if (!left && !rc && variant->op == HMMRT_FAULTY_PREPARE)
		return -ENODATA;
	return left > 0;
}

TEST_F(failing, failed_call_loses_no_page_and_retry_succeeds)
{
	unsigned int failed = 0;
	int rc = 0;

	for (unsigned int nth = 1; !rc && nth < MAX_NTH; nth += 1 + nth / 3) {
		rc = fail_once(variant, nth);
		ASSERT_LE(0, rc)
		{
			TH_LOG("call %u: %d", nth, rc);
		}
		failed += !rc;
		ASSERT_EQ(0, variant->run());
		if (variant->moves)
			ASSERT_EQ(0, put_on(A));
		ASSERT_LEFT(HOST, buf, LEN, first);
		ASSERT_TRUE(faulty_is_unused());
	}
	/*
	 * The loop ended because no call was left to fail, and some calls
	 * failed.
	 */
	EXPECT_EQ(1, rc);
	EXPECT_LT(0, failed);
}

/* --- a slow copy ---------------------------------------------------------- */

#define OTHERS_LIMIT_S	15

struct slow_copy {
	char *moves;		/* migrates slowly */
	volatile uint64_t *touched;	/* same block, already on the device */
	sem_t touch;
	int rc;
	uint64_t found;
	pthread_t mover;
	pthread_t toucher;
};

static void *move_slowly(void *arg)
{
	struct slow_copy *copy = arg;

	copy->rc = to_device(A, copy->moves, PAGE_BYTES);
	return NULL;
}

static void *touch_during_copy(void *arg)
{
	struct slow_copy *copy = arg;

	sem_wait(&copy->touch);
	copy->found = *copy->touched;
	return NULL;
}

/* Forks a process that, when told to, creates a space and closes it. */
static pid_t bystander(int gate)
{
	pid_t pid = fork();
	int manager;
	char c;

	if (pid)
		return pid;
	if (read(gate, &c, 1) != 1)
		_exit(2);
	manager = open_manager();
	if (manager < 0 || cmd_space_create(manager))
		_exit(3);
	close(manager);
	_exit(0);
}

static uint64_t cpu_faults(void)
{
	return stats_of(A).out_cpu_faults;
}

FAULTY_FIXTURE(slow, .first = 1)

/*
 * A CPU fault waits for the slow migration of its block. Another process must
 * be able to close its space at the same time.
 */
TEST_F_TIMEOUT(slow, waiting_cpu_fault_blocks_no_other_process, 60)
{
	struct slow_copy copy = {
		.moves = buf + PAGE_BYTES, .touched = (uint64_t *)buf,
	};
	uint64_t faults;
	int gate[2];
	pid_t pid;

	ASSERT_EQ(0, to_device(A, buf, PAGE_BYTES));
	ASSERT_EQ(1, pages_on(A));
	ASSERT_EQ(0, pipe(gate));
	/* Anything that takes the mmap_lock for writing must come first. */
	pid = bystander(gate[0]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, sem_init(&copy.touch, 0, 0));
	copy.toucher = THREAD(touch_during_copy, &copy);
	faults = cpu_faults();
	ASSERT_LE(0, faulty_hold(control, true));
	copy.mover = THREAD(move_slowly, &copy);
	ASSERT_EQ(0, faulty_wait_held(control));
	sem_post(&copy.touch);
	while (cpu_faults() == faults)
		usleep(1000);
	ASSERT_EQ(1, write(gate[1], "g", 1));
	EXPECT_EQ(0, process_wait_for(pid, OTHERS_LIMIT_S));
	EXPECT_LT(0, faulty_hold(control, true));
	faulty_hold(control, false);
	pthread_join(copy.mover, NULL);
	pthread_join(copy.toucher, NULL);
	EXPECT_EQ(0, copy.rc);
	EXPECT_EQ(1, copy.found);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

#define QUOTA_BLOCKS	8

struct shrinking {
	int rc;
	pthread_t thread;
};

static int quota_call(uint32_t operation, uint32_t priority)
{
	struct hmmrt_quota quota = {
		.size = sizeof(quota), .operation = operation,
		.scope = HMMRT_QUOTA_OF_SPACE, .device_id = id_of(A),
		.priority = priority,
	};

	return cmd_raw(space, HMMRT_IOC_QUOTA, &quota);
}

static void *shrink(void *arg)
{
	struct shrinking *shrinking = arg;

	shrinking->rc = quota_call(HMMRT_QUOTA_SET, HMMRT_PRIORITY_DEFAULT);
	return NULL;
}

static void *unplug(void *arg)
{
	sem_t *now = arg;

	sem_wait(now);
	return (void *)(intptr_t)faulty_devices(control, 0);
}

/*
 * Lowering a limit, which evicts much, stops when the binding ends and the
 * device goes away.
 */
TEST_F_TIMEOUT(slow, evicting_quota_call_ends_with_the_binding, 120)
{
	const size_t len = QUOTA_BLOCKS * BLOCK_BYTES;
	struct shrinking shrinking = { 0 };
	char *buf = FILLED(len);
	pthread_t unplugging;
	sem_t unplug_now;
	void *rc;

	ASSERT_EQ(0, to_device(A, buf, len));
	/* An eviction holds the mmap_lock: a new thread would wait for it. */
	ASSERT_EQ(0, sem_init(&unplug_now, 0, 0));
	unplugging = THREAD(unplug, &unplug_now);
	ASSERT_LE(0, faulty_hold(control, true));
	shrinking.thread = THREAD(shrink, &shrinking);
	ASSERT_EQ(0, faulty_wait_held(control));
	sem_post(&unplug_now);
	/* The call fails once the binding is on its way out. */
	while (quota_call(HMMRT_QUOTA_GET, 0) != -ENODEV)
		usleep(1000);
	faulty_hold(control, false);
	pthread_join(shrinking.thread, NULL);
	EXPECT_EQ(-ENODEV, shrinking.rc);
	pthread_join(unplugging, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
}

TEST_HARNESS_MAIN
