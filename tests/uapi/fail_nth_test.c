// SPDX-License-Identifier: MIT
/*
 * Kernel integrity when memory runs out. Each step of a process or an agent is
 * repeated with its first, second, third, ... allocation failing, until the
 * step makes fewer allocations. A second test also fails the allocations that
 * follow, because the kernel has a fallback for most allocations and reports a
 * failure only if both fail. A step may succeed, or fail with ENOMEM, or with
 * EFAULT where the kernel injects failures into user copies, too. A repetition
 * without failures must succeed. Leaks and warnings show in the kernel log and
 * in kmemleak.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/amount.h"
#include "lib/events.h"
#include "lib/harness.h"
#include "lib/inject.h"
#include "lib/modules.h"
#include "lib/object.h"
#include "lib/session.h"

/* More than any step needs. */
#define MAX_ALLOCATIONS	2000

/*
 * Number of slab allocations, and of page allocations, that fail in a row. This
 * is more than any fallback tries. It must be small, because the kernel repeats
 * a page fault until it finds memory.
 */
#define BURST		"8"
/* A burst starts at each of the first allocations, then at every 17th. */
#define BURST_EACH	12
#define BURST_STRIDE	17

struct env {
	struct session session;
	struct agent *agent;
	char *buf;
	int gpu;		/* opened by the step, or -1 */
	int space;
	size_t len;		/* bytes in buf */
	char *rest;		/* block that fills the device, or NULL */
	int object;		/* memory object of one block, or -1 */
	bool lost;		/* contents of buf or rest */
};

FIXTURE(step) {
	char parameters[SIMGPU_PARAMETERS];
	struct env env;
};

FIXTURE_VARIANT(step) {
	/* run returns 0 or a negative errno; prepare and undo never fail. */
	void (*prepare)(struct env *env);
	int (*run)(struct env *env);
	void (*undo)(struct env *env);
	/* Fail the agent's allocations, not the test's. */
	bool in_agent;
	bool in_child;		/* a process keeps its space */
	bool needs_agent;	/* attached */
	bool tiny;		/* device of one chunk */
	size_t len;		/* bytes of memory; 0: usual_bytes() */
	unsigned int stride;	/* skip some: there are too many */
	unsigned int long_stride;	/* of long tests; 0: the same */
};

/* Each attempt fills this much; most steps allocate as often for a part of it. */
static size_t usual_bytes(void)
{
	return amount(BLOCK_BYTES, 32 * PAGE_BYTES);
}

/* --- the steps ------------------------------------------------------------ */

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

static int run_space_create(struct env *env)
{
	return cmd_space_create(env->space);
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

/* The token is spent: bind again, with a new agent. */
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

/*
 * Far from memory used before, so that span, block and page tables are
 * allocated.
 */
static void prepare_far(struct env *env)
{
	env->buf = arena_anon(env->len);
	pages_fill(env->buf, env->len, 1);
	arena_map(64UL << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void prepare_on_device(struct env *env)
{
	prepare_far(env);
	cmd_prefetch(env->session.space, env->buf, env->len,
		     env->session.devices[0].id, NULL);
}

static void undo_far(struct env *env)
{
	munmap(env->buf, env->len);
}

static void prepare_full(struct env *env)
{
	env->rest = arena_anon(BLOCK_BYTES);
	pages_fill(env->rest, BLOCK_BYTES, 1);
	cmd_prefetch(env->session.space, env->rest, BLOCK_BYTES,
		     env->session.devices[0].id, NULL);
	prepare_far(env);
}

static void undo_full(struct env *env)
{
	env->lost |= pages_check(env->rest, BLOCK_BYTES, 1) != -1;
	munmap(env->rest, BLOCK_BYTES);
	undo_far(env);
}

/* A refused access has its errno in the fault record. */
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
	return cmd_prefetch(env->session.space, env->buf, env->len,
			    env->session.devices[0].id, NULL);
}

static int run_prefetch_to_host(struct env *env)
{
	return cmd_prefetch(env->session.space, env->buf, env->len,
			    HMMRT_LOCATION_HOST, NULL);
}

static int run_residency(struct env *env)
{
	static uint32_t locations[BLOCK_PAGES];

	return cmd_residency(env->session.space, env->buf, env->len,
			     locations);
}

static int run_pages(struct env *env)
{
	static struct hmmrt_page pages[BLOCK_PAGES];

	return cmd_pages(env->session.space, env->buf, env->len, pages);
}

static int run_advise(struct env *env)
{
	const uint32_t id = env->session.devices[0].id;
	int rc;

	rc = cmd_advise(env->session.space, env->buf, PAGE_BYTES,
			HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0);
	return rc ? rc : cmd_advise(env->session.space, env->buf, env->len,
				    HMMRT_ADVICE_SET_ACCESSED_BY, id, 0);
}

static int run_range_knob(struct env *env)
{
	return cmd_set_range_knob(env->session.space, env->buf, PAGE_BYTES,
				  env->session.devices[0].id,
				  HMMRT_KNOB_MIGRATION_POLICY,
				  HMMRT_MIGRATE_ON_COUNT);
}

static void prepare_duplication(struct env *env)
{
	prepare_far(env);
	cmd_set_range_knob(env->session.space, env->buf, env->len,
			   env->session.devices[0].id,
			   HMMRT_KNOB_READ_DUPLICATION, 1);
}

static int run_exclusive(struct env *env)
{
	return cmd_exclusive(env->session.space, env->buf, env->len,
			     env->session.devices[0].id, NULL);
}

/* A limit of 0 evicts everything, as far as system memory can be allocated. */
static int run_lower_quota(struct env *env)
{
	return cmd_set_quota(env->session.space, env->session.devices[0].id, 0,
			     HMMRT_PRIORITY_DEFAULT, NULL);
}

static void undo_quota(struct env *env)
{
	cmd_set_quota(env->session.space, env->session.devices[0].id,
		      HMMRT_QUOTA_NO_LIMIT, HMMRT_PRIORITY_DEFAULT, NULL);
	env->lost |= pages_check(env->buf, env->len, 1) != -1;
	undo_far(env);
}

static void prepare_read_mostly(struct env *env)
{
	prepare_far(env);
	cmd_advise(env->session.space, env->buf, env->len,
		   HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0);
}

/* Closing cannot fail; it migrates back what it can. */
static void prepare_second_binding(struct env *env)
{
	struct hmmrt_gpu_bind bind = { 0 };

	prepare_far(env);
	env->gpu = open_gpu(1);
	cmd_bind(env->gpu, env->session.space, &bind);
	cmd_prefetch(env->session.space, env->buf, env->len,
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
	env->lost |= pages_check(env->buf, env->len, 1) != -1;
	undo_far(env);
}

/* --- memory objects ------------------------------------------------------- */

static int create_object(struct env *env, uint32_t location, uint32_t flags)
{
	env->object = cmd_object_create(env->session.space, BLOCK_BYTES,
					location, flags);
	return env->object < 0 ? env->object : 0;
}

static int run_object_create(struct env *env)
{
	return create_object(env, env->session.devices[0].id, 0);
}

static int run_object_create_on_host(struct env *env)
{
	return create_object(env, HMMRT_LOCATION_HOST, 0);
}

/* A ring of events, in place of an object. */
static int run_events_open(struct env *env)
{
	struct hmmrt_events_open arg = events_request(HMMRT_EVENTS_OF_SPACE,
						      HMMRT_EVENTS_MIN);

	env->object = events_ioctl(env->session.space, &arg);
	return env->object < 0 ? env->object : 0;
}

/* Closes the object and unmaps the arena. */
static void undo_object(struct env *env)
{
	if (env->object >= 0)
		close(env->object);
	env->object = -1;
	object_unmap_all();
}

/* An address near which nothing is mapped: see prepare_far(). */
static void prepare_object_and_hole(struct env *env)
{
	run_object_create(env);
	env->buf = arena_anon(BLOCK_BYTES);
	munmap(env->buf, BLOCK_BYTES);
	arena_map(64UL << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Maps it, and has the CPU touch it. */
static int run_object_map(struct env *env)
{
	int rc = object_map_at(env->object, env->buf, BLOCK_BYTES,
			       PROT_READ | PROT_WRITE, 0);

	if (!rc)
		*(volatile uint64_t *)env->buf = 1;
	return rc;
}

/* Where nothing was mapped before, so that page tables are allocated. */
static void prepare_object_far(struct env *env, uint32_t flags)
{
	create_object(env, env->session.devices[0].id, flags);
	env->buf = object_map(env->object, BLOCK_BYTES, PROT_READ | PROT_WRITE,
			      0);
	arena_map(64UL << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void prepare_mapped_object(struct env *env)
{
	prepare_object_far(env, 0);
	*(volatile uint64_t *)env->buf = 1;
}

static int run_object_access(struct env *env)
{
	return cmd_set_access(env->session.space, env->buf, BLOCK_BYTES,
			      env->session.devices[0].id, OBJECT_WRITE);
}

static void prepare_unused_object(struct env *env)
{
	prepare_object_far(env, HMMRT_OBJECT_MIGRATABLE);
	run_object_access(env);
}

/* An object with a page in system memory. */
static void prepare_migratable(struct env *env)
{
	prepare_unused_object(env);
	*(volatile uint64_t *)env->buf = 1;
}

static void prepare_migrated(struct env *env)
{
	prepare_migratable(env);
	cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
		     env->session.devices[0].id, NULL);
}

static int run_object_prefetch(struct env *env)
{
	return cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
			    env->session.devices[0].id, NULL);
}

static int run_object_prefetch_to_host(struct env *env)
{
	return cmd_prefetch(env->session.space, env->buf, BLOCK_BYTES,
			    HMMRT_LOCATION_HOST, NULL);
}

static void undo_migratable(struct env *env)
{
	env->lost |= *(volatile uint64_t *)env->buf != 1;
	undo_object(env);
}

/* Its page must be evicted for the object. */
static void prepare_full_of_pages(struct env *env)
{
	prepare_far(env);
	cmd_prefetch(env->session.space, env->buf, env->len,
		     env->session.devices[0].id, NULL);
}

static void undo_object_and_pages(struct env *env)
{
	env->lost |= pages_check(env->buf, env->len, 1) != -1;
	undo_object(env);
}

/* --- the list ------------------------------------------------------------- */

FIXTURE_VARIANT_ADD(step, open_of_the_manager) {
	.prepare = nothing, .run = run_open_manager, .undo = undo_open,
};

FIXTURE_VARIANT_ADD(step, open_of_a_device) {
	.prepare = nothing, .run = run_open_gpu, .undo = undo_open,
};

FIXTURE_VARIANT_ADD(step, space_create) {
	.prepare = prepare_space, .run = run_space_create, .undo = undo_open,
	.in_child = true,
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

FIXTURE_VARIANT_ADD(step, prefetch_to_host) {
	.prepare = prepare_on_device, .run = run_prefetch_to_host,
	.undo = undo_far, .needs_agent = true, .len = 32 * PAGE_BYTES,
};

FIXTURE_VARIANT_ADD(step, residency) {
	.prepare = prepare_far, .run = run_residency, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, pages) {
	.prepare = prepare_far, .run = run_pages, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, advise) {
	.prepare = prepare_far, .run = run_advise, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, duplicates) {
	.prepare = prepare_read_mostly, .run = run_prefetch, .undo = undo_far,
	.needs_agent = true, .len = 32 * PAGE_BYTES,
};

FIXTURE_VARIANT_ADD(step, knob_of_a_range) {
	.prepare = prepare_far, .run = run_range_knob, .undo = undo_far,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, read_duplication) {
	.prepare = prepare_duplication, .run = run_device_read,
	.undo = undo_far, .in_agent = true, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, exclusive) {
	.prepare = prepare_far, .run = run_exclusive, .undo = undo_far,
	.needs_agent = true, .len = 32 * PAGE_BYTES,
};

FIXTURE_VARIANT_ADD(step, lower_quota) {
	.prepare = prepare_on_device, .run = run_lower_quota,
	.undo = undo_quota, .needs_agent = true, .len = 32 * PAGE_BYTES,
};

FIXTURE_VARIANT_ADD(step, close) {
	.prepare = prepare_second_binding, .run = run_close, .undo = undo_close,
	.len = 32 * PAGE_BYTES, .stride = 3,
};

/* The chunk is evicted page by page, with an allocation for each. */
FIXTURE_VARIANT_ADD(step, eviction) {
	.prepare = prepare_full, .run = run_device_write, .undo = undo_full,
	.in_agent = true, .needs_agent = true, .tiny = true, .stride = 23,
	.long_stride = 7,
};

FIXTURE_VARIANT_ADD(step, object_create) {
	.prepare = nothing, .run = run_object_create, .undo = undo_object,
	.needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, object_create_on_the_host) {
	.prepare = nothing, .run = run_object_create_on_host,
	.undo = undo_object, .stride = 29, .long_stride = 7,
};

FIXTURE_VARIANT_ADD(step, events_open) {
	.prepare = nothing, .run = run_events_open, .undo = undo_object,
};

FIXTURE_VARIANT_ADD(step, object_create_by_eviction) {
	.prepare = prepare_full_of_pages, .run = run_object_create,
	.undo = undo_object_and_pages, .needs_agent = true, .tiny = true,
	.len = 32 * PAGE_BYTES,
};

FIXTURE_VARIANT_ADD(step, object_map) {
	.prepare = prepare_object_and_hole, .run = run_object_map,
	.undo = undo_object,
};

FIXTURE_VARIANT_ADD(step, object_access) {
	.prepare = prepare_mapped_object, .run = run_object_access,
	.undo = undo_object, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, object_cpu_fault) {
	.prepare = prepare_migrated, .run = run_cpu_read,
	.undo = undo_migratable, .needs_agent = true, .stride = 29,
	.long_stride = 7,
};

FIXTURE_VARIANT_ADD(step, object_device_fault) {
	.prepare = prepare_migratable, .run = run_device_write,
	.undo = undo_migratable, .in_agent = true, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, object_first_use_by_the_device) {
	.prepare = prepare_unused_object, .run = run_device_write,
	.undo = undo_migratable, .in_agent = true, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, object_prefetch) {
	.prepare = prepare_migratable, .run = run_object_prefetch,
	.undo = undo_migratable, .needs_agent = true,
};

FIXTURE_VARIANT_ADD(step, object_prefetch_to_host) {
	.prepare = prepare_migrated, .run = run_object_prefetch_to_host,
	.undo = undo_migratable, .needs_agent = true, .stride = 29,
	.long_stride = 7,
};

static bool errno_is_allowed(int rc)
{
	return rc == -ENOMEM || rc == -EFAULT;
}

/*
 * A device's first binding creates the struct pages for its memory. mm warns if
 * that allocation fails, so bind once before the sweep.
 */
static void prepare_regions(struct env *env)
{
	prepare_gpu(env);
	bind_both(env);
	undo_open(env);
}

/* Result of a step, and whether the first failing allocation was reached. */
struct attempt {
	int rc;
	bool failed;
};

/* Selects the failing allocations. If nth is 0, all succeed. */
struct failing {
	unsigned int nth;
	bool burst;		/* also those after it */
};

static struct attempt attempt_in(struct env *env,
				 const FIXTURE_VARIANT(step) *variant,
				 struct failing failing)
{
	pid_t pid = variant->in_agent ? env->agent->pid : 0;
	pid_t tid = env->agent->shared->lanes[0].tid;
	int nth = inject_open(pid, tid, "fail-nth");
	int task = inject_open(pid, tid, "make-it-fail");
	struct attempt attempt;

	/*
	 * Even with make-it-fail set, nothing fails before the nth allocation.
	 */
	if (failing.burst) {
		inject_burst(BURST);
		inject_write(task, 1);
	}
	inject_write(nth, failing.nth);
	attempt.rc = variant->run(env);
	attempt.failed = inject_disarm(nth);
	inject_write(task, 0);
	close(nth);
	close(task);
	return attempt;
}

/* A space lasts as long as its process, so a child runs the step. */
static struct attempt attempt_in_child(struct env *env,
				       const FIXTURE_VARIANT(step) *variant,
				       struct failing failing)
{
	struct attempt attempt = { .rc = -ECHILD };
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		attempt = attempt_in(env, variant, failing);
		_exit(attempt.failed ? 128 - attempt.rc : -attempt.rc);
	}
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
		attempt.rc = -(WEXITSTATUS(status) & 127);
		attempt.failed = WEXITSTATUS(status) & 128;
	}
	return attempt;
}

static struct attempt attempt_step(struct env *env,
				   const FIXTURE_VARIANT(step) *variant,
				   struct failing failing)
{
	return variant->in_child ? attempt_in_child(env, variant, failing) :
				   attempt_in(env, variant, failing);
}

/* --- repeating the steps -------------------------------------------------- */

FIXTURE_SETUP(step)
{
	struct env *env = &self->env;

	if (!inject_start())
		SKIP(_exit(SKIPPED), "the kernel has no CONFIG_FAULT_INJECTION");
	if (variant->tiny && !getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	if (variant->tiny)
		ASSERT_EQ(0, simgpu_replace(self->parameters,
					    "devices=2 memory=2"));
	env->gpu = -1;
	env->space = -1;
	env->object = -1;
	env->len = variant->len ? variant->len : usual_bytes();
	ASSERT_EQ(0, session_open(&env->session, 1));
	ASSERT_EQ(0, session_bind(&env->session, 1));
	prepare_regions(env);
	env->agent = session_agent(&env->session);
	if (variant->needs_agent)
		ASSERT_EQ(0, session_attach(&env->session));
}

FIXTURE_TEARDOWN(step)
{
	EXPECT_EQ(0, session_end(&self->env.session));
	if (variant->tiny)
		EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/* Returns whether the step made enough allocations for one to fail. */
static bool attempt_and_repeat(struct __test_metadata *_metadata,
			       struct env *env,
			       const FIXTURE_VARIANT(step) *variant,
			       struct failing failing, unsigned int *enomem)
{
	struct attempt attempt;

	variant->prepare(env);
	attempt = attempt_step(env, variant, failing);
	ASSERT_TRUE(attempt.rc == 0 ||
		    (attempt.failed && errno_is_allowed(attempt.rc)))
	{
		TH_LOG("allocation %u: %s", failing.nth,
		       strerror(-attempt.rc));
	}
	*enomem += attempt.rc == -ENOMEM;
	/* A failed attempt must not prevent the next one from succeeding. */
	if (attempt.rc)
		ASSERT_EQ(0, attempt_step(env, variant,
					  (struct failing){ 0 }).rc);
	variant->undo(env);
	ASSERT_FALSE(env->lost)
	{
		TH_LOG("contents were lost by allocation %u", failing.nth);
	}
	return attempt.failed;
}

static unsigned int stride_of(const FIXTURE_VARIANT(step) *variant)
{
	return variant->stride ? variant->stride : 1;
}

/* The bursts skip many allocations anyway. */
static unsigned int long_stride_of(const FIXTURE_VARIANT(step) *variant)
{
	return variant->long_stride ? variant->long_stride : stride_of(variant);
}

TEST_F(step, survives_each_failed_allocation)
{
	unsigned int stride = amount(long_stride_of(variant),
				     stride_of(variant));
	struct failing failing = { .nth = 1 };
	unsigned int enomem = 0, failed = 0;

	for (; failing.nth < MAX_ALLOCATIONS; failing.nth += stride, failed++)
		if (!attempt_and_repeat(_metadata, &self->env, variant, failing,
					&enomem))
			break;
	fprintf(stderr, "# %u allocations failed, %u times ENOMEM\n", failed,
		enomem);
	ASSERT_LT(1, failing.nth);
	ASSERT_GT(MAX_ALLOCATIONS, failing.nth);
}

TEST_F(step, survives_bursts_of_failed_allocations)
{
	unsigned int stride = long_stride_of(variant);
	struct failing failing = { .nth = 1, .burst = true };
	unsigned int enomem = 0, failed = 0;

	while (failing.nth < MAX_ALLOCATIONS) {
		if (!attempt_and_repeat(_metadata, &self->env, variant, failing,
					&enomem))
			break;
		failed++;
		failing.nth += failing.nth < BURST_EACH ?
				       stride :
				       BURST_STRIDE * stride;
	}
	inject_burst("0");
	fprintf(stderr, "# %u bursts of allocations failed, %u times ENOMEM\n",
		failed, enomem);
	ASSERT_LT(1, failing.nth);
	ASSERT_GT(MAX_ALLOCATIONS, failing.nth);
}

/* --- accesses of the CPU -------------------------------------------------- */

#define TOUCHED_PAGES	16
/* If accesses were retried until memory is found, the test must still end. */
#define TOUCH_FAILURES	"1000"

FIXTURE(touch) {
	struct env env;
	int event;
	int task;
};

FIXTURE_SETUP(touch)
{
	struct env *env = &self->env;

	if (!inject_start())
		SKIP(_exit(SKIPPED), "the kernel has no CONFIG_FAULT_INJECTION");
	self->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	self->task = inject_open(0, 0, "make-it-fail");
	env->len = TOUCHED_PAGES * PAGE_BYTES;
	ASSERT_EQ(0, session_open(&env->session, 1));
	ASSERT_EQ(0, session_bind(&env->session, 1));
	prepare_on_device(env);
	inject_slab(TOUCH_FAILURES);
}

FIXTURE_TEARDOWN(touch)
{
	inject_slab("0");
	munmap(self->env.buf, self->env.len);
	EXPECT_EQ(0, session_end(&self->env.session));
	close(self->event);
	close(self->task);
}

static uint64_t cpu_faults(const struct env *env)
{
	return session_stats(&env->session, 0).out_cpu_faults;
}

/* An access needs a page of system memory, but no slab memory. */
TEST_F(touch, of_an_instruction_needs_only_the_page)
{
	long wrong;

	inject_write(self->task, 1);
	wrong = pages_check(self->env.buf, self->env.len, 1);
	inject_write(self->task, 0);
	EXPECT_EQ(-1, wrong);
	EXPECT_EQ(TOUCHED_PAGES, cpu_faults(&self->env));
}

/* A system call cannot retry the access. */
TEST_F(touch, of_a_system_call_needs_only_the_page)
{
	ssize_t written = 8;
	size_t at;

	inject_write(self->task, 1);
	for (at = 0; at < self->env.len && written == 8; at += PAGE_BYTES)
		written = write(self->event, self->env.buf + at, 8);
	inject_write(self->task, 0);
	EXPECT_EQ(8, written);
	EXPECT_EQ(TOUCHED_PAGES, cpu_faults(&self->env));
}

/* --- loading the module --------------------------------------------------- */

#define LOADS	amount(150, 25)

/* Counts the allocations and other failure points of loading the module. */
static unsigned int count_allocations(const struct module_image *image, int fd)
{
	const unsigned int many = 1000000;
	char text[16] = { 0 };
	unsigned int left = 0;

	inject_write(fd, many);
	if (!module_image_insert(image, "devices=1 memory=2") &&
	    pread(fd, text, sizeof(text) - 1, 0) > 0)
		left = (unsigned int)atoi(text);
	inject_write(fd, 0);
	simgpu_remove();
	return left ? many - left : 0;
}

/*
 * There are too many to fail each one, so we sample them evenly, with different
 * samples in each run.
 */
TEST(loading_survives_failed_allocations)
{
	unsigned int nth, total, stride, seed = test_seed(), failures = 0;
	struct module_image image;
	char parameters[SIMGPU_PARAMETERS];
	int fd, rc;

	if (!inject_start())
		SKIP(return, "the kernel has no CONFIG_FAULT_INJECTION");
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(return, "HMMRT_MODULE_DIR is not set");
	simgpu_parameters(parameters, sizeof(parameters));
	ASSERT_EQ(0, module_image_read(&image, "hmmrt_simgpu"));
	ASSERT_EQ(0, simgpu_remove());
	fd = inject_open(0, 0, "fail-nth");
	total = count_allocations(&image, fd);
	EXPECT_LT(0, total);
	stride = 1 + total / LOADS;
	for (nth = 1 + rand_r(&seed) % stride; nth <= total; nth += stride) {
		inject_write(fd, nth);
		rc = module_image_insert(&image, "devices=1 memory=2");
		inject_disarm(fd);
		failures += !!rc;
		EXPECT_TRUE(rc == 0 || errno_is_allowed(rc))
		{
			TH_LOG("allocation %u: %s", nth, strerror(-rc));
		}
		if (!rc)
			EXPECT_EQ(0, simgpu_remove());
	}
	fprintf(stderr, "# each %uth of %u allocations tried, %u failed loads\n",
		stride, total, failures);
	close(fd);
	ASSERT_EQ(0, module_image_insert(&image, parameters));
	module_image_free(&image);
}

TEST_HARNESS_MAIN
