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
#include <sys/eventfd.h>

#include "lib/amount.h"
#include "lib/events.h"
#include "lib/fixture.h"
#include "lib/inject.h"
#include "lib/object.h"

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

/* What the steps use, besides the session. */
static int gpu = -1;		/* opened by the step, or -1 */
static int manager = -1;	/* the same */
static int object = -1;		/* memory object of one block, or -1 */
static size_t len;		/* bytes in buf */
static char *rest;		/* block that fills the device, or NULL */
static bool lost;		/* contents of buf or rest */

FIXTURE(step) {
	char parameters[SIMGPU_PARAMETERS];
};

FIXTURE_VARIANT(step) {
	/* @run returns 0 or a negative errno; the others never fail. */
	void (*prepare)(void); /* or NULL */
	int (*run)(void);
	void (*undo)(void);
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

static int run_open_manager(void)
{
	manager = open_manager();
	return manager < 0 ? manager : 0;
}

static int run_open_gpu(void)
{
	gpu = open_gpu(1);
	return gpu < 0 ? gpu : 0;
}

static void undo_open(void)
{
	if (gpu >= 0)
		close(gpu);
	if (manager >= 0)
		close(manager);
	gpu = -1;
	manager = -1;
}

STEP(run_space_create, cmd_space_create(manager))

static void prepare_space(void)
{
	manager = open_manager();
}

static int bind_both(void)
{
	return cmd_bind(gpu, space, NULL);
}

static void prepare_gpu(void)
{
	gpu = open_gpu(1);
}

static int run_attach(void)
{
	const struct session_device *device = &session.devices[A];

	return agent_attach(agent_of(A), device->gpu, device->token);
}

/* The token is spent: bind again, with a new agent. */
static void undo_attach(void)
{
	struct session_device *device = &session.devices[A];
	struct hmmrt_gpu_bind bind = { 0 };

	session_unbind(&session, A);
	device->gpu = open_gpu(0);
	agent_start(&device->agent, device->gpu, 1);
	cmd_bind(device->gpu, space, &bind);
	device->token = bind.out_token;
}

static int run_map(void)
{
	return agent_map(agent_of(A), (void *)(ARENA_BASE + ARENA_BYTES),
			 BLOCK_BYTES, RW);
}

static void undo_map(void)
{
	agent_unmap(agent_of(A), (void *)(ARENA_BASE + ARENA_BYTES),
		    BLOCK_BYTES);
}

static void leave_gap(void)
{
	arena_map(64UL << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * Far from memory used before, so that span, block and page tables are
 * allocated.
 */
static void prepare_far(void)
{
	buf = arena_anon(len);
	pages_fill(buf, len, 1);
	leave_gap();
}

static void prepare_on_device(void)
{
	prepare_far();
	prefetch(A, buf, len);
}

static void undo_far(void)
{
	munmap(buf, len);
}

static void prepare_full(void)
{
	rest = arena_anon(BLOCK_BYTES);
	pages_fill(rest, BLOCK_BYTES, 1);
	prefetch(A, rest, BLOCK_BYTES);
	prepare_far();
}

static void undo_full(void)
{
	lost |= pages_check(rest, BLOCK_BYTES, 1) != -1;
	munmap(rest, BLOCK_BYTES);
	undo_far();
}

/* A refused access has its errno in the fault record. */
static int access_rc(struct outcome outcome)
{
	if (outcome.error)
		return outcome.error;
	return outcome.signal ? -(int)outcome.record.out_errno : 0;
}

STEP(run_device_read, access_rc(dev_read(A, buf)))
STEP(run_device_write, access_rc(dev_write(A, buf, 1)))

static int run_cpu_read(void)
{
	return *(volatile uint64_t *)buf == 1 ? 0 : -EIO;
}

STEP(run_prefetch, prefetch(A, buf, len))
STEP(run_prefetch_to_host, prefetch(HOST, buf, len))

static int run_residency(void)
{
	static uint32_t locations[BLOCK_PAGES];

	return cmd_residency(space, buf, len, locations);
}

static int run_pages(void)
{
	static struct hmmrt_page pages[BLOCK_PAGES];

	return cmd_pages(space, buf, len, pages);
}

static int run_advise(void)
{
	return advise(buf, PAGE_BYTES, SET_READ_MOSTLY) ?:
	       advise_at(buf, len, SET_ACCESSED_BY, A);
}

static int run_range_knob(void)
{
	return set_range_knob(buf, PAGE_BYTES, A, HMMRT_KNOB_MIGRATION_POLICY,
			      HMMRT_MIGRATE_ON_COUNT);
}

static void prepare_duplication(void)
{
	prepare_far();
	set_range_knob(buf, len, A, HMMRT_KNOB_READ_DUPLICATION, 1);
}

STEP(run_exclusive, make_exclusive(A, buf, len, NULL))

/* A limit of 0 evicts everything, as far as system memory can be allocated. */
static int run_lower_quota(void)
{
	return cmd_set_quota(space, id_of(A), 0, HMMRT_PRIORITY_DEFAULT, NULL);
}

static void undo_quota(void)
{
	cmd_set_quota(space, id_of(A), HMMRT_QUOTA_NO_LIMIT,
		      HMMRT_PRIORITY_DEFAULT, NULL);
	lost |= pages_check(buf, len, 1) != -1;
	undo_far();
}

static void prepare_read_mostly(void)
{
	prepare_far();
	advise(buf, len, SET_READ_MOSTLY);
}

/* Closing cannot fail; it migrates back what it can. */
static void prepare_second_binding(void)
{
	struct hmmrt_gpu_bind bind = { 0 };

	prepare_far();
	gpu = open_gpu(1);
	cmd_bind(gpu, space, &bind);
	cmd_prefetch(space, buf, len, bind.out_device_id, NULL);
}

static int run_close(void)
{
	close(gpu);
	gpu = -1;
	return 0;
}

static void undo_close(void)
{
	lost |= pages_check(buf, len, 1) != -1;
	undo_far();
}

/* --- memory objects ------------------------------------------------------- */

static int create_object(uint32_t location, uint32_t flags)
{
	object = cmd_object_create(space, BLOCK_BYTES, location, flags);
	return object < 0 ? object : 0;
}

STEP(run_object_create, create_object(id_of(A), 0))
STEP(run_object_create_on_host, create_object(HMMRT_LOCATION_HOST, 0))

/* A ring of events, in place of an object. */
static int run_events_open(void)
{
	struct hmmrt_events_open arg = events_request(HMMRT_EVENTS_OF_SPACE,
						      HMMRT_EVENTS_MIN);

	object = events_ioctl(space, &arg);
	return object < 0 ? object : 0;
}

/* Closes the object and unmaps the arena. */
static void undo_object(void)
{
	if (object >= 0)
		close(object);
	object = -1;
	object_unmap_all();
}

/* An address near which nothing is mapped: see prepare_far(). */
static void prepare_object_and_hole(void)
{
	run_object_create();
	buf = arena_anon(BLOCK_BYTES);
	munmap(buf, BLOCK_BYTES);
	leave_gap();
}

/* Maps it, and has the CPU touch it. */
static int run_object_map(void)
{
	int rc = object_map_at(object, buf, BLOCK_BYTES, RW, 0);

	if (!rc)
		*(volatile uint64_t *)buf = 1;
	return rc;
}

/* Where nothing was mapped before, so that page tables are allocated. */
static void prepare_object_far(uint32_t flags)
{
	create_object(id_of(A), flags);
	buf = object_map(object, BLOCK_BYTES, RW, 0);
	leave_gap();
}

static void prepare_mapped_object(void)
{
	prepare_object_far(0);
	*(volatile uint64_t *)buf = 1;
}

STEP(run_object_access, set_access(buf, BLOCK_BYTES, A, OBJECT_WRITE))

static void prepare_unused_object(void)
{
	prepare_object_far(HMMRT_OBJECT_MIGRATABLE);
	run_object_access();
}

/* An object with a page in system memory. */
static void prepare_migratable(void)
{
	prepare_unused_object();
	*(volatile uint64_t *)buf = 1;
}

static void prepare_migrated(void)
{
	prepare_migratable();
	prefetch(A, buf, BLOCK_BYTES);
}

STEP(run_object_prefetch, prefetch(A, buf, BLOCK_BYTES))
STEP(run_object_prefetch_to_host, prefetch(HOST, buf, BLOCK_BYTES))

static void undo_migratable(void)
{
	lost |= *(volatile uint64_t *)buf != 1;
	undo_object();
}

static void undo_object_and_pages(void)
{
	lost |= pages_check(buf, len, 1) != -1;
	undo_object();
}

/* --- the list ------------------------------------------------------------- */

#define ATTEMPT(name, prepares, runs, undoes, ...)			\
	VARIANT(step, name, .prepare = prepares, .run = runs,		\
		.undo = undoes, ##__VA_ARGS__)
#define WITH_AGENT	.needs_agent = true
#define IN_AGENT	.needs_agent = true, .in_agent = true
#define FEW_PAGES	.len = 32 * PAGE_BYTES
#define SOME_OF_MANY	.stride = 29, .long_stride = 7

ATTEMPT(open_of_the_manager, NULL, run_open_manager, undo_open);
ATTEMPT(open_of_a_device, NULL, run_open_gpu, undo_open);
ATTEMPT(space_create, prepare_space, run_space_create, undo_open,
	.in_child = true);
ATTEMPT(bind, prepare_gpu, bind_both, undo_open);
ATTEMPT(attach, NULL, run_attach, undo_attach, .in_agent = true);
ATTEMPT(mapping_the_mirror, NULL, run_map, undo_map, IN_AGENT);
ATTEMPT(device_read, prepare_far, run_device_read, undo_far, IN_AGENT);
ATTEMPT(device_write, prepare_far, run_device_write, undo_far, IN_AGENT);
ATTEMPT(cpu_fault, prepare_on_device, run_cpu_read, undo_far, WITH_AGENT);
ATTEMPT(prefetch, prepare_far, run_prefetch, undo_far, WITH_AGENT);
ATTEMPT(prefetch_to_host, prepare_on_device, run_prefetch_to_host, undo_far,
	WITH_AGENT, FEW_PAGES);
ATTEMPT(residency, prepare_far, run_residency, undo_far, WITH_AGENT);
ATTEMPT(pages, prepare_far, run_pages, undo_far, WITH_AGENT);
ATTEMPT(advise, prepare_far, run_advise, undo_far, WITH_AGENT);
ATTEMPT(duplicates, prepare_read_mostly, run_prefetch, undo_far, WITH_AGENT,
	FEW_PAGES);
ATTEMPT(knob_of_a_range, prepare_far, run_range_knob, undo_far, WITH_AGENT);
ATTEMPT(read_duplication, prepare_duplication, run_device_read, undo_far,
	IN_AGENT);
ATTEMPT(exclusive, prepare_far, run_exclusive, undo_far, WITH_AGENT, FEW_PAGES);
ATTEMPT(lower_quota, prepare_on_device, run_lower_quota, undo_quota, WITH_AGENT,
	FEW_PAGES);
ATTEMPT(close, prepare_second_binding, run_close, undo_close, FEW_PAGES,
	.stride = 3);
/* The chunk is evicted page by page, with an allocation for each. */
ATTEMPT(eviction, prepare_full, run_device_write, undo_full, IN_AGENT,
	.tiny = true, .stride = 23, .long_stride = 7);
ATTEMPT(object_create, NULL, run_object_create, undo_object, WITH_AGENT);
ATTEMPT(object_create_on_the_host, NULL, run_object_create_on_host, undo_object,
	SOME_OF_MANY);
ATTEMPT(events_open, NULL, run_events_open, undo_object);
/* The page must be evicted for the object. */
ATTEMPT(object_create_by_eviction, prepare_on_device, run_object_create,
	undo_object_and_pages, WITH_AGENT, .tiny = true, FEW_PAGES);
ATTEMPT(object_map, prepare_object_and_hole, run_object_map, undo_object);
ATTEMPT(object_access, prepare_mapped_object, run_object_access, undo_object,
	WITH_AGENT);
ATTEMPT(object_cpu_fault, prepare_migrated, run_cpu_read, undo_migratable,
	WITH_AGENT, SOME_OF_MANY);
ATTEMPT(object_device_fault, prepare_migratable, run_device_write,
	undo_migratable, IN_AGENT);
ATTEMPT(object_first_use_by_the_device, prepare_unused_object, run_device_write,
	undo_migratable, IN_AGENT);
ATTEMPT(object_prefetch, prepare_migratable, run_object_prefetch,
	undo_migratable, WITH_AGENT);
ATTEMPT(object_prefetch_to_host, prepare_migrated, run_object_prefetch_to_host,
	undo_migratable, WITH_AGENT, SOME_OF_MANY);

static bool errno_is_allowed(int rc)
{
	return rc == -ENOMEM || rc == -EFAULT;
}

/*
 * A device's first binding creates the struct pages for its memory. mm warns if
 * that allocation fails, so bind once before the sweep.
 */
static void prepare_regions(void)
{
	prepare_gpu();
	bind_both();
	undo_open();
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

static struct attempt attempt_in(const FIXTURE_VARIANT(step) * variant,
				 struct failing failing)
{
	pid_t pid = variant->in_agent ? agent_of(A)->pid : 0;
	pid_t tid = agent_of(A)->shared->lanes[0].tid;
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
	attempt.rc = variant->run();
	attempt.failed = inject_disarm(nth);
	inject_write(task, 0);
	close(nth);
	close(task);
	return attempt;
}

/* A space lasts as long as its process, so a child runs the step. */
static struct attempt attempt_in_child(const FIXTURE_VARIANT(step) * variant,
				       struct failing failing)
{
	struct attempt attempt = { .rc = -ECHILD };
	int status;
	pid_t pid = fork();

	if (!pid) {
		attempt = attempt_in(variant, failing);
		_exit(attempt.failed ? 128 - attempt.rc : -attempt.rc);
	}
	if (waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
		attempt.rc = -(WEXITSTATUS(status) & 127);
		attempt.failed = WEXITSTATUS(status) & 128;
	}
	return attempt;
}

static struct attempt attempt_step(const FIXTURE_VARIANT(step) * variant,
				   struct failing failing)
{
	return variant->in_child ? attempt_in_child(variant, failing) :
				   attempt_in(variant, failing);
}

/* --- repeating the steps -------------------------------------------------- */

FIXTURE_SETUP(step)
{
	if (!inject_start())
		SKIP(_exit(SKIPPED), "the kernel has no CONFIG_FAULT_INJECTION");
	if (variant->tiny && !getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	if (variant->tiny)
		ASSERT_EQ(0, simgpu_replace(self->parameters,
					    "devices=2 memory=2"));
	len = variant->len ?: usual_bytes();
	ASSERT_EQ(0, session_open(&session, 1));
	ASSERT_EQ(0, session_bind(&session, 1));
	space = session.space;
	prepare_regions();
	if (variant->needs_agent)
		ASSERT_EQ(0, session_attach(&session));
}

FIXTURE_TEARDOWN(step)
{
	EXPECT_EQ(0, session_end(&session));
	if (variant->tiny)
		EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/* Returns whether the step made enough allocations for one to fail. */
static bool attempt_and_repeat(struct __test_metadata *_metadata,
			       const FIXTURE_VARIANT(step) *variant,
			       struct failing failing, unsigned int *enomem)
{
	struct attempt attempt;

	if (variant->prepare)
		variant->prepare();
	attempt = attempt_step(variant, failing);
	ASSERT_TRUE(attempt.rc == 0 ||
		    (attempt.failed && errno_is_allowed(attempt.rc)))
	{
		TH_LOG("allocation %u: %s", failing.nth,
		       strerror(-attempt.rc));
	}
	*enomem += attempt.rc == -ENOMEM;
	/* A failed attempt must not prevent the next one from succeeding. */
	if (attempt.rc)
		ASSERT_EQ(0, attempt_step(variant, (struct failing){ 0 }).rc);
	variant->undo();
	ASSERT_FALSE(lost)
	{
		TH_LOG("contents were lost by allocation %u", failing.nth);
	}
	return attempt.failed;
}

static unsigned int stride_of(const FIXTURE_VARIANT(step) *variant)
{
	return variant->stride ?: 1;
}

/* The bursts skip many allocations anyway. */
static unsigned int long_stride_of(const FIXTURE_VARIANT(step) *variant)
{
	return variant->long_stride ?: stride_of(variant);
}

TEST_F(step, survives_each_failed_allocation)
{
	unsigned int stride = amount(long_stride_of(variant),
				     stride_of(variant));
	struct failing failing = { .nth = 1 };
	unsigned int enomem = 0, failed = 0;

	for (; failing.nth < MAX_ALLOCATIONS; failing.nth += stride, failed++)
		if (!attempt_and_repeat(_metadata, variant, failing, &enomem))
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
		if (!attempt_and_repeat(_metadata, variant, failing, &enomem))
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
	int event;
	int task;
};

FIXTURE_SETUP(touch)
{
	if (!inject_start())
		SKIP(_exit(SKIPPED), "the kernel has no CONFIG_FAULT_INJECTION");
	self->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	self->task = inject_open(0, 0, "make-it-fail");
	len = TOUCHED_PAGES * PAGE_BYTES;
	ASSERT_EQ(0, session_open(&session, 1));
	ASSERT_EQ(0, session_bind(&session, 1));
	space = session.space;
	prepare_on_device();
	inject_slab(TOUCH_FAILURES);
}

FIXTURE_TEARDOWN(touch)
{
	inject_slab("0");
	munmap(buf, len);
	EXPECT_EQ(0, session_end(&session));
	close(self->event);
	close(self->task);
}

static uint64_t cpu_faults(void)
{
	return stats_of(A).out_cpu_faults;
}

/* An access needs a page of system memory, but no slab memory. */
TEST_F(touch, of_an_instruction_needs_only_the_page)
{
	long wrong;

	inject_write(self->task, 1);
	wrong = pages_check(buf, len, 1);
	inject_write(self->task, 0);
	EXPECT_EQ(-1, wrong);
	EXPECT_EQ(TOUCHED_PAGES, cpu_faults());
}

/* A system call cannot retry the access. */
TEST_F(touch, of_a_system_call_needs_only_the_page)
{
	ssize_t written = 8;

	inject_write(self->task, 1);
	for (size_t at = 0; at < len && written == 8; at += PAGE_BYTES)
		written = write(self->event, buf + at, 8);
	inject_write(self->task, 0);
	EXPECT_EQ(8, written);
	EXPECT_EQ(TOUCHED_PAGES, cpu_faults());
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
