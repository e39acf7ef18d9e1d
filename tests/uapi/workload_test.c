// SPDX-License-Identifier: MIT
/*
 * Several kinds of work on more memory than the devices have. The results must
 * equal those of the CPU bit by bit, while another process allocates and frees
 * device memory. Loads hmmrt_simgpu with two small devices, and restores the
 * module and its parameters afterwards.
 *
 * One device	does all work of a process.
 * Two		each work on a half at the same time, then on the other half,
 *		with the results of the other device.
 * Processes	one or three share the requested memory.
 */
#include "lib/amount.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"

#define MODULE		"devices=2 memory=4"
#define DEVICE_BYTES	(4UL << 20)
#define MAX_DEVICES	2
#define MAX_PROCESSES	3
/* Limit for one piece of an agent's work on the slowest machine. */
#define LIMIT_S		60
#define MOST_S		1500

/* --- work ----------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void streaming(uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		words[i] = words[i] * 3 + i;
}

/* Adds a word of the next page to a word of every page. */
static void strided(uint64_t *words, size_t count)
{
	const size_t stride = PAGE_BYTES / sizeof(*words);

	for (size_t i = 0; i < count; i += stride)
		words[i] += words[(i + stride) % count];
}

/*
 * Limit for work that jumps from page to page: most jumps evict a block. Set
 * before the processes are forked, which inherit it.
 */
static size_t most_jumps;

static size_t limited(size_t jumps)
{
	return jumps < most_jumps ? jumps : most_jumps;
}

static void at_random(uint64_t *words, size_t count)
{
	const size_t jumps = limited(500);
	uint64_t state = 7;

	for (size_t i = 0; i < jumps; i++) {
		size_t from = next_random(&state) % count;

		words[next_random(&state) % count] += words[from] + i;
	}
}

#define ROW	(PAGE_BYTES / sizeof(uint64_t))
#define INNER	4

/* C += A * B with integers. C has as many rows as fit after B and A. */
static void gemm(uint64_t *words, size_t count)
{
	const size_t rows = (count - INNER * ROW) / (ROW + INNER);
	uint64_t *b = words, *a = b + INNER * ROW, *c = a + rows * INNER;

	for (size_t i = 0; i < rows; i++)
		for (size_t k = 0; k < INNER; k++)
			for (size_t j = 0; j < ROW; j++)
				c[i * ROW + j] +=
					a[i * INNER + k] * b[k * ROW + j];
}

/* Computes the second grid from the first, then the first from the second. */
static void stencil(uint64_t *words, size_t count)
{
	const size_t rows = count / ROW / 2;
	uint64_t *from = words, *to = words + rows * ROW;

	for (size_t round = 0; round < 2; round++) {
		uint64_t *other = from;

		for (size_t i = 1; i + 1 < rows; i++)
			for (size_t j = i * ROW + 1; j < (i + 1) * ROW - 1; j++)
				to[j] = from[j - ROW] + from[j - 1] + from[j] +
					from[j + 1] + from[j + ROW];
		from = to;
		to = other;
	}
}

/*
 * Each page determines the next one: a step has no address before the previous
 * step ended.
 */
static void chasing(uint64_t *words, size_t count)
{
	const size_t pages = count / ROW, jumps = limited(pages);
	size_t page = 0;

	for (size_t i = 0; i < jumps; i++) {
		uint64_t *here = words + page * ROW;

		here[1] += i;
		page = (page + 1 + here[2] % 5 * 131) % pages;
	}
}

struct work {
	const char *name;
	void (*run)(uint64_t *words, size_t count);
};

static const struct work works[] = {
	{ "streaming", streaming }, { "strided", strided },
	{ "at random", at_random }, { "gemm", gemm },
	{ "stencil", stencil },	    { "chasing", chasing },
};

/* --- a process that works ------------------------------------------------- */

/* Work of the agents. It is in shared memory and never migrates. */
struct job {
	void (*run)(uint64_t *words, size_t count);
	uint64_t *words;	/* the parts, one after the other */
	size_t count;		/* of one part */
};

static struct job *job;

static uint64_t run_first(void)
{
	job->run(job->words, job->count);
	return 0;
}

static uint64_t run_second(void)
{
	job->run(job->words + job->count, job->count);
	return 0;
}

static uint64_t (*const run_part[MAX_DEVICES])(void) = { run_first, run_second };

/* Each device works on each part once. Returns false if a job fails. */
static bool work_on_devices(struct session *session)
{
	const unsigned int n = session->nr_devices;
	bool well = true;

	for (unsigned int round = 0; well && round < n; round++) {
		for (unsigned int device = 0; device < n; device++)
			agent_post(&session->devices[device].agent, 0,
				   AGENT_CALL,
				   (uint64_t[]){ (uintptr_t)run_part[(device + round) % n] },
				   1);
		for (unsigned int device = 0; device < n; device++) {
			struct outcome outcome =
				agent_wait(&session->devices[device].agent, 0,
					   LIMIT_S);

			well = well && !outcome.error && !outcome.signal;
		}
	}
	return well;
}

static void work_on_cpu(uint64_t *words, unsigned int devices)
{
	for (unsigned int round = 0; round < devices; round++)
		for (unsigned int part = 0; part < devices; part++)
			job->run(words + part * job->count, job->count);
}

static void fill(uint64_t *words, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++)
		words[i] = next_random(&seed);
}

static void *map_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Written by the child processes, read by the test. */
struct shared {
	uint64_t evictions;
	uint64_t allocations;
	unsigned int works;	/* jobs that have ended */
	bool stop;
};

static struct shared *shared;

/*
 * Waits until @ended jobs have ended, so that all processes keep their memory
 * until then.
 */
static bool wait_for_works(unsigned int ended)
{
	__atomic_fetch_add(&shared->works, 1, __ATOMIC_RELAXED);
	return WAIT_UNTIL(__atomic_load_n(&shared->works, __ATOMIC_RELAXED) >=
				  ended,
			  LIMIT_S);
}

static void leave(struct session *session)
{
	for (unsigned int i = 0; i < session->nr_devices; i++) {
		uint64_t n = session_stats(session, i).out_evictions;

		__atomic_fetch_add(&shared->evictions, n, __ATOMIC_RELAXED);
		session_unbind(session, i);
	}
	/*
	 * Not session_end(), which checks that the device memory is free: other
	 * processes still use the devices. The test checks that at its end.
	 */
	close(session->space);
}

/*
 * Returns NULL or what went wrong. @ended: how many jobs of all processes have
 * ended after this one.
 */
static const char *do_work(struct session *session, size_t bytes,
			   unsigned int ended)
{
	const unsigned int devices = session->nr_devices;
	uint64_t *expected = malloc(bytes);
	const char *wrong = NULL;

	job->words = arena_anon(bytes);
	job->count = bytes / sizeof(*job->words) / devices;
	if (!expected || !job->words)
		return "no memory";
	fill(job->words, devices * job->count, ended);
	memcpy(expected, job->words, bytes);
	if (!work_on_devices(session))
		wrong = "did not end";
	if (!wait_for_works(ended) && !wrong)
		wrong = "others did not end";
	work_on_cpu(expected, devices);
	if (!wrong && memcmp(job->words, expected, bytes))
		wrong = "other results";
	munmap(job->words, bytes);
	free(expected);
	return wrong;
}

/*
 * Which kinds of work a test does. Set before the processes are forked, which
 * inherit it.
 */
static size_t first_work, work_step;

/* Does these kinds of work, each in newly mapped memory. */
static int work(size_t bytes, unsigned int devices, unsigned int processes)
{
	struct session session;
	const char *wrong = NULL;
	unsigned int done = 0;
	size_t i;

	job = map_shared(sizeof(*job));
	if (!job || session_start(&session, devices, 1))
		return 2;
	for (i = first_work; i < ARRAY_SIZE(works) && !wrong; i += work_step) {
		job->run = works[i].run;
		wrong = do_work(&session, bytes, ++done * processes);
		if (wrong)
			fprintf(stderr, "# %s: %s\n", works[i].name, wrong);
	}
	leave(&session);
	return !!wrong;
}

/* --- a process that allocates --------------------------------------------- */

/*
 * Maps new memory, prefetches it to a device, and checks its contents in every
 * fourth turn.
 */
static bool allocate(const struct session *session, uint64_t turn)
{
	const uint32_t id = session->devices[turn % session->nr_devices].id;
	const size_t len = amount(1UL << 20, 1UL << 18);
	char *piece = mmap(NULL, len, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool well;

	if (piece == MAP_FAILED)
		return false;
	pages_fill(piece, len, turn);
	well = !cmd_prefetch(session->space, piece, len, id, NULL) &&
	       (turn % 4 || pages_check(piece, len, turn) == -1);
	return !munmap(piece, len) && well;
}

static int allocate_until_told(unsigned int devices)
{
	struct session session;
	uint64_t turn;

	if (session_start(&session, devices, 1))
		return 2;
	for (turn = 0; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); turn++) {
		if (!allocate(&session, turn))
			return 3;
		usleep(amount(0, 250000));
	}
	__atomic_store_n(&shared->allocations, turn, __ATOMIC_RELAXED);
	leave(&session);
	return 0;
}

/* --- the tests ------------------------------------------------------------ */

FIXTURE(workload) {
	char parameters[SIMGPU_PARAMETERS];
	int fd;
	uint32_t ids[MAX_DEVICES];
};

FIXTURE_VARIANT(workload) {
	size_t percent;		/* of all device memory that is used */
};

VARIANT(workload, in_1_1_times_the_memory, .percent = 110);
VARIANT(workload, in_1_5_times_the_memory, .percent = 150);
VARIANT(workload, in_twice_the_memory, .percent = 200);
VARIANT(workload, in_4_times_the_memory, .percent = 400);

FIXTURE_SETUP(workload)
{
	static const char *const names[] = { "hmmrt-gpu0", "hmmrt-gpu1" };

	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, simgpu_replace(self->parameters, MODULE));
	self->fd = open_manager();
	for (size_t i = 0; i < MAX_DEVICES; i++)
		ASSERT_EQ(0, device_named(self->fd, names[i], &self->ids[i]));
	shared = NOT_NULL(map_shared(sizeof(*shared)));
	most_jumps = amount(SIZE_MAX, 150);
}

FIXTURE_TEARDOWN(workload)
{
	if (!self->parameters[0])
		return;
	munmap(shared, sizeof(*shared));
	close(self->fd);
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/* Agents of processes that were killed free device memory asynchronously. */
static int64_t used_bytes_soon(int fd, uint32_t id)
{
	WAIT_UNTIL(!device_used_bytes(fd, id), 10);
	return device_used_bytes(fd, id);
}

/*
 * On a debug kernel each test does one kind of work of six, chosen so that each
 * kind runs with one process and with three, and each amount of memory with
 * four kinds.
 */
static void choose_works(size_t percent, unsigned int devices,
			 unsigned int processes)
{
	const unsigned int number = 2 * (devices - 1) + (processes > 1);
	const unsigned int amount_number = percent > 200 ? 5 : percent / 50;

	work_step = amount(1, ARRAY_SIZE(works));
	first_work = (5 * amount_number + number) % work_step;
}

static void work_among_others(FIXTURE_DATA(workload) *self,
			      struct __test_metadata *_metadata, size_t percent,
			      unsigned int devices, unsigned int processes)
{
	size_t pages = percent * DEVICE_BYTES * devices / 100 / processes /
		       PAGE_BYTES / devices * devices;
	pid_t pids[MAX_PROCESSES], other;

	*shared = (struct shared){ 0 };
	choose_works(percent, devices, processes);
	other = CHILD(allocate_until_told(devices));
	for (unsigned int i = 0; i < processes; i++)
		pids[i] = CHILD(work(pages * PAGE_BYTES, devices, processes));
	for (unsigned int i = 0; i < processes; i++)
		EXPECT_EQ(0, process_wait(pids[i]));
	__atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED);
	EXPECT_EQ(0, process_wait(other));
	EXPECT_LT(0, shared->evictions);
	EXPECT_LT(0, shared->allocations);
	for (unsigned int i = 0; i < devices; i++)
		EXPECT_EQ(0, used_bytes_soon(self->fd, self->ids[i]));
	TH_LOG("%u devices, %u processes: %llu evictions, %llu allocations",
	       devices, processes, (unsigned long long)shared->evictions,
	       (unsigned long long)shared->allocations);
}

TEST_F_TIMEOUT(workload, one_process_on_one_device, MOST_S)
{
	work_among_others(self, _metadata, variant->percent, 1, 1);
}

TEST_F_TIMEOUT(workload, one_process_on_two_devices, MOST_S)
{
	work_among_others(self, _metadata, variant->percent, 2, 1);
}

TEST_F_TIMEOUT(workload, three_processes_on_one_device, MOST_S)
{
	work_among_others(self, _metadata, variant->percent, 1, 3);
}

TEST_F_TIMEOUT(workload, three_processes_on_two_devices, MOST_S)
{
	work_among_others(self, _metadata, variant->percent, 2, 3);
}

TEST_HARNESS_MAIN
