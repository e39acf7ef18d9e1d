// SPDX-License-Identifier: MIT
/*
 * A failing device: each operation that may fail does so at its first, second,
 * ... call, while a process uses the device in each possible way. The call must
 * fail with its documented error or succeed without the operation. No page may
 * be lost or left on the device, and the next attempt must work. A slow device
 * may delay users of the same block but no other process. Loads and removes the
 * module.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "lib/faulty_env.h"
#include "lib/harness.h"
#include "lib/session.h"

/* More calls than any step makes. */
#define MAX_NTH		5000

/* --- ways to use a device ------------------------------------------------- */

static int start_on_host(struct faulty_env *env)
{
	(void)env;
	return 0;
}

static int start_on_device(struct faulty_env *env)
{
	return faulty_env_put_on(env, 0);
}

static int start_on_peer(struct faulty_env *env)
{
	return faulty_env_put_on(env, 1);
}

static int run_fault_range(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_FAULT, env->buf, LEN);
}

static int run_to_host(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_HOST, env->buf,
			    LEN);
}

static int run_exclusive(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_EXCLUSIVE, env->buf,
			    LEN);
}

static int run_prefetch(struct faulty_env *env)
{
	return cmd_prefetch(env->manager, env->buf, LEN, env->id[0], NULL);
}

static int run_prefetch_to_host(struct faulty_env *env)
{
	return cmd_prefetch(env->manager, env->buf, LEN, HMMRT_LOCATION_HOST,
			    NULL);
}

static int run_evict(struct faulty_env *env)
{
	return faulty_evict(env->control, 0);
}

/* Unbinding cannot fail: a page that cannot be read stays on the device. */
static int run_unbind(struct faulty_env *env)
{
	close(env->fd[0]);
	env->fd[0] = open_faulty(0);
	return env->fd[0] < 0 ? env->fd[0] : 0;
}

FIXTURE(binding) {
	struct faulty_env env;
};

FIXTURE_SETUP(binding)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, faulty_env_start(&self->env));
}

FIXTURE_TEARDOWN(binding)
{
	if (getenv("HMMRT_MODULE_DIR"))
		EXPECT_EQ(0, faulty_env_end(&self->env));
}

static int bind_rc(int fd)
{
	return ioctl(fd, HMMRT_SOFT_IOC_BIND) ? -errno : 0;
}

/* A bind waits for the mmap_lock, and open() holds a lock of all misc devices. */
TEST_F(binding, is_a_call_of_its_own)
{
	int fd = open("/dev/hmmrt-faulty0", O_RDWR | O_CLOEXEC);
	uint64_t value;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENODEV, faulty_read(fd, self->env.buf, &value));
	EXPECT_EQ(-EBUSY, bind_rc(fd));
	close(self->env.fd[0]);
	EXPECT_EQ(0, bind_rc(fd));
	EXPECT_EQ(0, faulty_read(fd, self->env.buf, &value));
	EXPECT_EQ(-EBUSY, bind_rc(fd));
	self->env.fd[0] = fd;
}

TEST_F(binding, of_a_file_whose_device_is_gone_is_enodev)
{
	int fd = open("/dev/hmmrt-faulty1", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	close(self->env.fd[1]);
	ASSERT_EQ(0, faulty_devices(self->env.control, 1));
	EXPECT_EQ(-ENODEV, bind_rc(fd));
	self->env.fd[1] = fd;
}

FIXTURE(failing) {
	struct faulty_env env;
};

FIXTURE_VARIANT(failing) {
	enum hmmrt_faulty_op op;
	int (*start)(struct faulty_env *env);
	int (*run)(struct faulty_env *env);
	int error;		/* allowed errno; 0: must succeed */
	bool moves;		/* to the device without failures */
};

#define FAILING(_op, _start, _run) \
	.op = HMMRT_FAULTY_##_op, .start = (_start), .run = (_run)

FIXTURE_VARIANT_ADD(failing, populate_in_faults) {
	FAILING(POPULATE, start_on_host, faulty_run_faults), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_fault_range) {
	FAILING(POPULATE, start_on_host, run_fault_range), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_prefetch) {
	FAILING(POPULATE, start_on_host, run_prefetch), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_migration) {
	FAILING(POPULATE, start_on_host, faulty_run_to_device), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_migration_from_a_peer) {
	FAILING(POPULATE, start_on_peer, faulty_run_to_device), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_faults) {
	FAILING(PREPARE, start_on_host, faulty_run_faults), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_fault_range) {
	FAILING(PREPARE, start_on_host, run_fault_range), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_prefetch) {
	FAILING(PREPARE, start_on_host, run_prefetch), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_migration) {
	FAILING(PREPARE, start_on_host, faulty_run_to_device), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_exclusive) {
	FAILING(PREPARE, start_on_host, run_exclusive), .error = ENOMEM,
};

FIXTURE_VARIANT_ADD(failing, copy_in_faults) {
	FAILING(COPY_TO_DEVICE, start_on_host, faulty_run_faults), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_in_fault_range) {
	FAILING(COPY_TO_DEVICE, start_on_host, run_fault_range), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_in_prefetch) {
	FAILING(COPY_TO_DEVICE, start_on_host, run_prefetch), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_in_migration) {
	FAILING(COPY_TO_DEVICE, start_on_host, faulty_run_to_device), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_migration) {
	FAILING(COPY_TO_HOST, start_on_device, run_to_host),
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_prefetch) {
	FAILING(COPY_TO_HOST, start_on_device, run_prefetch_to_host),
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_exclusive) {
	FAILING(COPY_TO_HOST, start_on_device, run_exclusive), .error = EFAULT,
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_eviction) {
	FAILING(COPY_TO_HOST, start_on_device, run_evict),
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_unbind) {
	FAILING(COPY_TO_HOST, start_on_device, run_unbind),
};

FIXTURE_VARIANT_ADD(failing, peer_in_faults) {
	FAILING(COPY_FROM_PEER, start_on_peer, faulty_run_faults), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, peer_in_fault_range) {
	FAILING(COPY_FROM_PEER, start_on_peer, run_fault_range), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, peer_in_prefetch) {
	FAILING(COPY_FROM_PEER, start_on_peer, run_prefetch), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, peer_in_migration) {
	FAILING(COPY_FROM_PEER, start_on_peer, faulty_run_to_device), .moves = true,
};

FIXTURE_SETUP(failing)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, faulty_env_start(&self->env));
}

FIXTURE_TEARDOWN(failing)
{
	if (getenv("HMMRT_MODULE_DIR"))
		EXPECT_EQ(0, faulty_env_end(&self->env));
}

/*
 * Returns 0 if the nth call failed, 1 if there were fewer calls, or a negative
 * errno.
 */
static int fail_once(struct faulty_env *env, const FIXTURE_VARIANT(failing) *variant,
		     unsigned int nth)
{
	int rc, left;

	env->first = 1000 * (nth + 1);
	pages_fill(env->buf, LEN, env->first);
	rc = faulty_env_devices(env);
	if (!rc)
		rc = variant->start(env);
	if (!rc)
		rc = faulty_fail_nth(env->control, variant->op, nth);
	if (rc)
		return rc;
	rc = variant->run(env);
	left = faulty_fail_stop(env->control, variant->op);
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
	struct faulty_env *env = &self->env;
	unsigned int nth, failed = 0;
	int rc = 0;

	for (nth = 1; !rc && nth < MAX_NTH; nth += 1 + nth / 3) {
		rc = fail_once(env, variant, nth);
		ASSERT_LE(0, rc)
		{
			TH_LOG("call %u: %d", nth, rc);
		}
		failed += !rc;
		ASSERT_EQ(0, variant->run(env));
		if (variant->moves)
			ASSERT_EQ(0, faulty_env_put_on(env, 0));
		ASSERT_EQ(-1, pages_check(env->buf, LEN, env->first));
		ASSERT_EQ(PAGES, pages_at(env->manager, env->buf, LEN,
					  HMMRT_LOCATION_HOST));
		ASSERT_TRUE(faulty_env_is_unused(env));
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
	struct faulty_env *env;
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

	copy->rc = faulty_range(copy->env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE,
				copy->moves, PAGE_BYTES);
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

/* Returns its wait status, or -1 on timeout. */
static int bystander_end(pid_t pid)
{
	unsigned int try;
	int status = -1;

	for (try = 0; try < OTHERS_LIMIT_S * 100; try++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	return -1;
}

static uint64_t cpu_faults(const struct faulty_env *env)
{
	struct hmmrt_stats stats = {};

	cmd_stats(env->manager, env->id[0], &stats);
	return stats.out_cpu_faults;
}

FIXTURE(slow) {
	struct faulty_env env;
};

FIXTURE_SETUP(slow)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, faulty_env_start(&self->env));
	pages_fill(self->env.buf, LEN, 1);
}

FIXTURE_TEARDOWN(slow)
{
	if (getenv("HMMRT_MODULE_DIR"))
		EXPECT_EQ(0, faulty_env_end(&self->env));
}

/*
 * A CPU fault waits for the slow migration of its block. Another process must
 * be able to close its space at the same time.
 */
TEST_F_TIMEOUT(slow, waiting_cpu_fault_blocks_no_other_process, 60)
{
	struct faulty_env *env = &self->env;
	struct slow_copy copy = {
		.env = env,
		.moves = env->buf + PAGE_BYTES,
		.touched = (uint64_t *)env->buf,
	};
	uint64_t faults;
	int gate[2];
	pid_t pid;

	ASSERT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE,
				  env->buf, PAGE_BYTES));
	ASSERT_EQ(1, faulty_env_pages_on(env, 0));
	ASSERT_EQ(0, pipe(gate));
	/* Anything that takes the mmap_lock for writing must come first. */
	pid = bystander(gate[0]);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, sem_init(&copy.touch, 0, 0));
	ASSERT_EQ(0, pthread_create(&copy.toucher, NULL, touch_during_copy,
				    &copy));
	faults = cpu_faults(env);
	ASSERT_LE(0, faulty_hold(env->control, true));
	ASSERT_EQ(0, pthread_create(&copy.mover, NULL, move_slowly, &copy));
	ASSERT_EQ(0, faulty_wait_held(env->control));
	sem_post(&copy.touch);
	while (cpu_faults(env) == faults)
		usleep(1000);
	ASSERT_EQ(1, write(gate[1], "g", 1));
	EXPECT_EQ(0, bystander_end(pid));
	EXPECT_LT(0, faulty_hold(env->control, true));
	faulty_hold(env->control, false);
	pthread_join(copy.mover, NULL);
	pthread_join(copy.toucher, NULL);
	EXPECT_EQ(0, copy.rc);
	EXPECT_EQ(1, copy.found);
	EXPECT_EQ(-1, pages_check(env->buf, LEN, 1));
}

#define QUOTA_BLOCKS	8

struct shrinking {
	struct faulty_env *env;
	int rc;
	pthread_t thread;
};

static int quota_call(struct faulty_env *env, uint32_t operation,
		      uint32_t priority)
{
	struct hmmrt_quota quota = {
		.size = sizeof(quota),
		.operation = operation,
		.scope = HMMRT_QUOTA_OF_SPACE,
		.device_id = env->id[0],
		.priority = priority,
	};

	return cmd_raw(env->manager, HMMRT_IOC_QUOTA, &quota);
}

static void *shrink(void *arg)
{
	struct shrinking *shrinking = arg;

	shrinking->rc = quota_call(shrinking->env, HMMRT_QUOTA_SET,
				   HMMRT_PRIORITY_DEFAULT);
	return NULL;
}

static void *unplug(void *arg)
{
	struct faulty_env *env = arg;

	return (void *)(intptr_t)faulty_devices(env->control, 0);
}

/*
 * Lowering a limit, which evicts much, stops when the binding ends and the
 * device goes away.
 */
TEST_F_TIMEOUT(slow, evicting_quota_call_ends_with_the_binding, 120)
{
	const size_t len = QUOTA_BLOCKS * BLOCK_BYTES;
	struct faulty_env *env = &self->env;
	struct shrinking shrinking = { .env = env };
	char *buf = arena_anon(len);
	pthread_t unplugging;
	void *rc;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	ASSERT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, buf,
				  len));
	ASSERT_LE(0, faulty_hold(env->control, true));
	ASSERT_EQ(0, pthread_create(&shrinking.thread, NULL, shrink,
				    &shrinking));
	ASSERT_EQ(0, faulty_wait_held(env->control));
	ASSERT_EQ(0, pthread_create(&unplugging, NULL, unplug, env));
	/* The call fails once the binding is on its way out. */
	while (quota_call(env, HMMRT_QUOTA_GET, 0) != -ENODEV)
		usleep(1000);
	faulty_hold(env->control, false);
	pthread_join(shrinking.thread, NULL);
	EXPECT_EQ(-ENODEV, shrinking.rc);
	pthread_join(unplugging, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
}

TEST_HARNESS_MAIN
