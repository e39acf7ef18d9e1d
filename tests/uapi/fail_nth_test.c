// SPDX-License-Identifier: MIT
/*
 * Kernel integrity when memory runs out: each step that a process or an agent
 * makes is repeated with its first, second, third... allocation failing, until it
 * needs no more of them. It may succeed or fail with ENOMEM, or with EFAULT where
 * the kernel fails copies from and to the process as well; nothing else, and
 * afterwards it must succeed; that nothing leaked or warned is for the kernel
 * log and kmemleak to say.
 */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"

/* No step needs that many. */
#define MAX_ALLOCATIONS	2000

struct env {
	struct session session;
	struct agent *agent;
	char *buf;
	int gpu;		/* as far as the step got */
	int space;
};

FIXTURE(step) {
	struct env env;
};

FIXTURE_VARIANT(step) {
	/* 0 or a negative errno each; prepare and undo never fail. */
	void (*prepare)(struct env *env);
	int (*run)(struct env *env);
	void (*undo)(struct env *env);
	bool in_agent;		/* whose allocations fail */
	bool needs_agent;	/* attached */
};

/* --- the kernel's side of it ------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Allocations that may wait fail, too; without a stack dump for each. */
static bool fault_injection_works(void)
{
	static const char *const settings[][2] = {
		{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/failslab/verbose", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/verbose", "0" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		if (!write_text(settings[i][0], settings[i][1]))
			return false;
	return !access("/proc/self/fail-nth", W_OK);
}

static int fail_nth_open(const struct env *env, bool in_agent)
{
	char path[64];

	if (!in_agent)
		return open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fail-nth",
		 env->agent->pid, env->agent->shared->lanes[0].tid);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void fail_nth_arm(int fd, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fd, text, (size_t)len, 0) != len)
		perror("# fail-nth");
}

/* Whether the allocation came, and failed. */
static bool fail_nth_disarm(int fd)
{
	char text[16] = { 0 };
	bool failed = pread(fd, text, sizeof(text) - 1, 0) > 0 &&
		      text[0] == '0';

	fail_nth_arm(fd, 0);
	return failed;
}

/* --- the steps ------------------------------------------------------------------------ */

static void nothing(struct env *env)
{
	(void)env;
}

static int run_open_manager(struct env *env)
{
	env->space = open_manager();
	return env->space < 0 ? env->space : 0;
}

static int run_open_gpu(struct env *env)
{
	env->gpu = open_gpu(1);
	return env->gpu < 0 ? env->gpu : 0;
}

static void undo_open(struct env *env)
{
	if (env->gpu >= 0)
		close(env->gpu);
	if (env->space >= 0)
		close(env->space);
	env->gpu = -1;
	env->space = -1;
}

/* In a fresh process, for a process's space stays while a file refers to it. */
static int run_in_child(int (*fn)(struct env *), struct env *env)
{
	int status = -1, fd;
	unsigned int nth;
	char text[16] = { 0 };
	pid_t pid;

	/* The child fails in our stead; we only fork without failing. */
	fd = fail_nth_open(env, false);
	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return -EIO;
	nth = (unsigned int)atoi(text);
	fail_nth_arm(fd, 0);
	pid = fork();
	if (!pid) {
		int child_fd = fail_nth_open(env, false), rc;

		fail_nth_arm(child_fd, nth);
		rc = fn(env);
		_exit(fail_nth_disarm(child_fd) ? 128 - rc : -rc);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -ECHILD;
	/* Tell our own disarm() whether it failed. */
	fail_nth_arm(fd, WEXITSTATUS(status) & 128 ? 0 : nth);
	close(fd);
	return -(WEXITSTATUS(status) & 127);
}

static int space_create(struct env *env)
{
	return cmd_space_create(env->space);
}

static int run_space_create(struct env *env)
{
	return run_in_child(space_create, env);
}

static void prepare_space(struct env *env)
{
	env->space = open_manager();
}

static int bind_both(struct env *env)
{
	struct hmmrt_gpu_bind bind;

	return cmd_bind(env->gpu, env->session.space, &bind);
}

static void prepare_gpu(struct env *env)
{
	env->gpu = open_gpu(1);
}

static int run_attach(struct env *env)
{
	const struct session_device *device = &env->session.devices[0];

	return agent_attach(env->agent, device->gpu, device->token);
}

/* The token is used up: a new binding, and with it a new agent. */
static void undo_attach(struct env *env)
{
	struct session_device *device = &env->session.devices[0];
	struct hmmrt_gpu_bind bind = { 0 };

	session_unbind(&env->session, 0);
	device->gpu = open_gpu(0);
	agent_start(&device->agent, device->gpu, 1);
	cmd_bind(device->gpu, env->session.space, &bind);
	device->token = bind.out_token;
}

static int run_map(struct env *env)
{
	return agent_map(env->agent, (void *)(ARENA_BASE + ARENA_BYTES),
			 BLOCK_BYTES, PROT_READ | PROT_WRITE);
}

static void undo_map(struct env *env)
{
	agent_unmap(env->agent, (void *)(ARENA_BASE + ARENA_BYTES),
		    BLOCK_BYTES);
}

/* Far from all that was used before: span, block and tables are made anew. */
static void prepare_far(struct env *env)
{
	env->buf = arena_anon(BLOCK_BYTES);
	pages_fill(env->buf, BLOCK_BYTES, 1);
	arena_map(64UL << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void prepare_on_device(struct env *env)
{
	prepare_far(env);
	cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
		     env->session.devices[0].id, NULL);
}

static void undo_far(struct env *env)
{
	munmap(env->buf, BLOCK_BYTES);
}

/* A refused access has its errno on record. */
static int access_rc(struct outcome outcome)
{
	if (outcome.error)
		return outcome.error;
	return outcome.signal ? -(int)outcome.record.out_errno : 0;
}

static int run_device_read(struct env *env)
{
	return access_rc(agent_read(env->agent, env->buf));
}

static int run_device_write(struct env *env)
{
	return access_rc(agent_write(env->agent, env->buf, 1));
}

static int run_cpu_read(struct env *env)
{
	return *(volatile uint64_t *)env->buf == 1 ? 0 : -EIO;
}

static int run_prefetch(struct env *env)
{
	return cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
			    env->session.devices[0].id, NULL);
}

static int run_prefetch_home(struct env *env)
{
	return cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
			    HMMRT_LOCATION_HOST, NULL);
}

static int run_residency(struct env *env)
{
	static uint32_t locations[BLOCK_PAGES];

	return cmd_residency(env->session.space, env->buf, BLOCK_BYTES,
			     locations);
}

/* Closing cannot fail, and brings home what it can. */
static void prepare_second_binding(struct env *env)
{
	struct hmmrt_gpu_bind bind = { 0 };

	prepare_far(env);
	env->gpu = open_gpu(1);
	cmd_bind(env->gpu, env->session.space, &bind);
	cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
		     bind.out_device_id, NULL);
}

static int run_close(struct env *env)
{
	close(env->gpu);
	env->gpu = -1;
	return 0;
}

static void undo_close(struct env *env)
{
	if (pages_check(env->buf, BLOCK_BYTES, 1) != -1)
		fprintf(stderr, "# contents were lost\n");
	undo_far(env);
}

FIXTURE_VARIANT_ADD(step, open_of_the_manager) {
	.prepare = nothing, .run = run_open_manager, .undo = undo_open,
};

FIXTURE_VARIANT_ADD(step, open_of_a_device) {
	.prepare = nothing, .run = run_open_gpu, .undo = undo_open,
};

FIXTURE_VARIANT_ADD(step, space_create) {
	.prepare = prepare_space, .run = run_space_create, .undo = undo_open,
};

FIXTURE_VARIANT_ADD(step, bind) {
	.prepare = prepare_gpu, .run = bind_both, .undo = undo_open,
};

FIXTURE_VARIANT_ADD(step, attach) {
	.prepare = nothing, .run = run_attach, .undo = undo_attach,
	.in_agent = true,
};

FIXTURE_VARIANT_ADD(step, mapping_the_mirror) {
	.prepare = nothing, .run = run_map, .undo = undo_map,
	.in_agent = true, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, device_read) {
	.prepare = prepare_far, .run = run_device_read, .undo = undo_far,
	.in_agent = true, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, device_write) {
	.prepare = prepare_far, .run = run_device_write, .undo = undo_far,
	.in_agent = true, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, cpu_fault) {
	.prepare = prepare_on_device, .run = run_cpu_read, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, prefetch) {
	.prepare = prepare_far, .run = run_prefetch, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, prefetch_home) {
	.prepare = prepare_on_device, .run = run_prefetch_home,
	.undo = undo_far, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, residency) {
	.prepare = prepare_far, .run = run_residency, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, close) {
	.prepare = prepare_second_binding, .run = run_close, .undo = undo_close,
};

static bool errno_is_allowed(int rc)
{
	return rc == -ENOMEM || rc == -EFAULT;
}

/* --- the sweep --------------------------------------------------------------------------- */

FIXTURE_SETUP(step)
{
	struct env *env = &self->env;

	if (!fault_injection_works())
		SKIP(_exit(255), "the kernel has no CONFIG_FAULT_INJECTION");
	env->gpu = -1;
	env->space = -1;
	ASSERT_EQ(0, session_open(&env->session, 1));
	ASSERT_EQ(0, session_bind(&env->session, 1));
	env->agent = session_agent(&env->session);
	if (variant->needs_agent)
		ASSERT_EQ(0, session_attach(&env->session));
}

FIXTURE_TEARDOWN(step)
{
	EXPECT_EQ(0, session_end(&self->env.session));
}

TEST_F(step, survives_each_failed_allocation)
{
	struct env *env = &self->env;
	unsigned int nth, enomem = 0;
	bool failed;
	int rc;

	for (nth = 1; nth < MAX_ALLOCATIONS; nth++) {
		int fd;

		variant->prepare(env);
		fd = fail_nth_open(env, variant->in_agent);
		ASSERT_LE(0, fd);
		fail_nth_arm(fd, nth);
		rc = variant->run(env);
		failed = fail_nth_disarm(fd);
		close(fd);
		ASSERT_TRUE(rc == 0 || (failed && errno_is_allowed(rc)))
		{
			TH_LOG("allocation %u: %s", nth, strerror(-rc));
		}
		enomem += rc == -ENOMEM;
		/* Whatever is left of the attempt, the next one is clean. */
		if (rc && variant->run != run_open_gpu)
			ASSERT_EQ(0, variant->run(env));
		variant->undo(env);
		if (!failed)
			break;
	}
	fprintf(stderr, "# %u allocations failed, %u times ENOMEM\n", nth - 1,
		enomem);
	ASSERT_LT(1, nth);
	ASSERT_GT(MAX_ALLOCATIONS, nth);
}

/* --- loading -------------------------------------------------------------------------------- */

#define LOADS	150

/* How many allocations, or what else fails, loading the device module makes. */
static unsigned int count_allocations(int fd)
{
	const unsigned int many = 1000000;
	char text[16] = { 0 };
	unsigned int left = 0;

	fail_nth_arm(fd, many);
	if (!module_insert("hmmrt_simgpu", "devices=1 memory=2") &&
	    pread(fd, text, sizeof(text) - 1, 0) > 0)
		left = (unsigned int)atoi(text);
	fail_nth_arm(fd, 0);
	module_remove("hmmrt_simgpu");
	return left ? many - left : 0;
}

/* Too many to fail each: every so many, all over it. */
TEST(loading_survives_failed_allocations)
{
	unsigned int nth, total, failures = 0;
	char parameters[64];
	int fd, rc;

	if (!fault_injection_works())
		SKIP(return, "the kernel has no CONFIG_FAULT_INJECTION");
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(return, "HMMRT_MODULE_DIR does not say where they are");
	simgpu_parameters(parameters, sizeof(parameters));
	ASSERT_EQ(0, module_remove("hmmrt_simgpu"));
	fd = fail_nth_open(NULL, false);
	total = count_allocations(fd);
	EXPECT_LT(0, total);
	for (nth = 1; nth <= total; nth += 1 + total / LOADS) {
		fail_nth_arm(fd, nth);
		rc = module_insert("hmmrt_simgpu", "devices=1 memory=2");
		fail_nth_disarm(fd);
		failures += !!rc;
		EXPECT_TRUE(rc == 0 || errno_is_allowed(rc))
		{
			TH_LOG("allocation %u: %s", nth, strerror(-rc));
		}
		if (!rc)
			EXPECT_EQ(0, module_remove("hmmrt_simgpu"));
	}
	fprintf(stderr, "# %u of %u allocations tried, %u failed loads\n",
		LOADS, total, failures);
	close(fd);
	ASSERT_EQ(0, module_insert("hmmrt_simgpu", parameters));
}

TEST_HARNESS_MAIN
