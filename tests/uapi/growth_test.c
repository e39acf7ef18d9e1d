// SPDX-License-Identifier: MIT
/*
 * Memory that the modules keep for a process. Queries must not allocate any,
 * and the state of unmapped addresses and of ended threads must be freed.
 * HMMRT_GROWTH=full runs each test at full size: a terabyte, a million blocks,
 * a hundred thousand threads.
 */
#include <setjmp.h>
#include <sys/stat.h>

#include "lib/fixture.h"
#include "lib/object.h"

#define CGROUP		"/sys/fs/cgroup/hmmrt-growth"
#define GIB		(1UL << 30)
#define TIB		(1024 * GIB)
/* An address range that nothing else uses and that the agent does not map. */
#define FAR		0x200000000000UL
/* Minimum bytes of a block and of a device's state for it. */
#define BLOCK_COSTS	5000
#define WAIT_S		20

FIXTURE(growth) {
	bool in_cgroup;
};

static bool full_size(void)
{
	const char *text = getenv("HMMRT_GROWTH");

	return text && !strcmp(text, "full");
}

/* Slab memory charged to this cgroup; 0 if that is unknown. */
static uint64_t slab_bytes(const FIXTURE_DATA(growth) *self)
{
	long bytes = -1;

	if (self->in_cgroup)
		bytes = read_number(CGROUP "/memory.stat", "slab %ld");
	return bytes < 0 ? 0 : (uint64_t)bytes;
}

static uint64_t blocks(void)
{
	return stats_of(A).out_blocks;
}

/* Blocks are freed some time after their mappings. */
static bool blocks_become(uint64_t most)
{
	return WAIT_UNTIL(blocks() <= most, WAIT_S);
}

static bool slab_becomes(const FIXTURE_DATA(growth) *self, uint64_t most)
{
	return WAIT_UNTIL(slab_bytes(self) <= most, WAIT_S);
}

FIXTURE_SETUP(growth)
{
	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0755);
	self->in_cgroup = write_text(CGROUP "/cgroup.procs", "0") &&
			  !access(CGROUP "/memory.stat", R_OK);
	DEVICES_SETUP(.lanes = 2);
}

FIXTURE_TEARDOWN(growth)
{
	DEVICES_TEARDOWN();
	write_text("/sys/fs/cgroup/cgroup.procs", "0");
	rmdir(CGROUP);
}

/* Maps memory at an address where nothing is. */
static void *map_at(void *addr, size_t len, int prot, int flags)
{
	return mmap(addr, len, prot,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | flags,
		    -1, 0);
}

/* --- queries -------------------------------------------------------------- */

static int query(const char *at, size_t len)
{
	static uint32_t locations[GIB / PAGE_BYTES];
	static struct hmmrt_page pages[BLOCK_PAGES];
	int rc = 0;

	for (size_t done = 0; !rc && done < len; done += GIB) {
		rc = cmd_residency(space, at + done, GIB, locations);
		if (!rc)
			rc = cmd_pages(space, at + done, BLOCK_BYTES, pages);
	}
	return rc;
}

TEST_F(growth, query_of_untouched_memory_allocates_nothing)
{
	const size_t len = full_size() ? TIB : 16 * GIB;
	uint64_t blocks_before = blocks(), slab_before = slab_bytes(self);
	char *at = map_at((void *)FAR, TIB, PROT_NONE, MAP_NORESERVE);

	ASSERT_EQ((void *)FAR, at);
	ASSERT_EQ(0, query(at, len));
	EXPECT_EQ(blocks_before, blocks());
	EXPECT_EQ(0, prefetch(A, at, TIB));
	EXPECT_EQ(0, prefetch(HOST, at, TIB));
	EXPECT_EQ(blocks_before, blocks());
	EXPECT_GT(slab_before + (1UL << 20), slab_bytes(self));
	munmap(at, TIB);
}

TEST_F(growth, query_of_memory_without_device_pages_allocates_nothing)
{
	uint64_t blocks_before = blocks();
	char *at = ANON(GIB);
	static uint32_t locations[4 * BLOCK_PAGES];

	pages_fill(at, 3 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_residency(space, at, 4 * BLOCK_BYTES, locations));
	EXPECT_EQ(HMMRT_LOCATION_HOST, locations[0]);
	EXPECT_EQ(HMMRT_LOCATION_HOST, locations[3 * BLOCK_PAGES - 1]);
	EXPECT_EQ(HMMRT_LOCATION_NONE, locations[3 * BLOCK_PAGES]);
	EXPECT_EQ(blocks_before, blocks());
	munmap(at, GIB);
}

/* A device that may use a mapping of a memory object has not used it yet. */
TEST_F(growth, access_to_migratable_memory_allocates_nothing)
{
	uint64_t blocks_before = blocks();
	int object = cmd_object_create(space, GIB, id_of(A),
				       HMMRT_OBJECT_MIGRATABLE);
	char *at = NOT_NULL(object_map(object, GIB, RW, 0));

	EXPECT_EQ(0, set_access(at, GIB, A, OBJECT_WRITE));
	EXPECT_EQ(blocks_before, blocks());
	ASSERT_DONE(agent_fill(agent_of(A), at + GIB / 2, PAGE_BYTES, 1, 3));
	EXPECT_EQ(blocks_before + 1, blocks());
	object_unmap_all();
	close(object);
}

/* --- unmapped memory ------------------------------------------------------ */

/* For each block: map it, move one page of it to the device, unmap it. */
static int walk(unsigned long count)
{
	int rc = 0;

	for (unsigned long i = 0; i < count && !rc; i++) {
		char *at = map_at((void *)(FAR + i * BLOCK_BYTES), BLOCK_BYTES,
				  RW, MAP_NORESERVE);

		if (at == MAP_FAILED)
			return -errno;
		*(volatile uint64_t *)at = i;
		rc = prefetch(A, at, PAGE_BYTES);
		munmap(at, BLOCK_BYTES);
	}
	return rc;
}

TEST_F_TIMEOUT(growth, state_of_unmapped_addresses_is_freed, 7200)
{
	const unsigned long count = full_size() ? 1000000 : 1500;
	uint64_t blocks_before = blocks(), slab_before = slab_bytes(self);

	ASSERT_EQ(0, walk(count));
	EXPECT_TRUE(blocks_become(blocks_before + 8))
	{
		TH_LOG("%llu blocks of %lu are left",
		       (unsigned long long)blocks(), count);
	}
	EXPECT_TRUE(slab_becomes(self, slab_before + count * BLOCK_COSTS / 4))
	{
		TH_LOG("%llu KiB are left of %lu blocks",
		       (unsigned long long)(slab_bytes(self) - slab_before) >> 10,
		       count);
	}
}

/* A mapped block keeps the history of its pages. */
TEST_F(growth, state_of_mapped_blocks_is_kept_and_charged)
{
	const unsigned long count = 300;
	uint64_t blocks_before = blocks(), slab_before = slab_bytes(self);
	struct hmmrt_page page;
	char *at = map_at((void *)FAR, count * BLOCK_BYTES, RW, MAP_NORESERVE);

	ASSERT_EQ((void *)FAR, at);
	for (unsigned long i = 0; i < count; i++) {
		*(volatile uint64_t *)(at + i * BLOCK_BYTES) = i;
		ASSERT_EQ(0, prefetch(A, at + i * BLOCK_BYTES, PAGE_BYTES));
	}
	EXPECT_EQ(blocks_before + count, blocks());
	if (self->in_cgroup)
		EXPECT_LT(slab_before + count * BLOCK_COSTS, slab_bytes(self));
	/*
	 * Unmap all blocks but one. Once the others are freed, the reaper has
	 * run, and it must have kept that block.
	 */
	munmap(at, (count - 2) * BLOCK_BYTES);
	munmap(at + (count - 1) * BLOCK_BYTES, BLOCK_BYTES);
	EXPECT_TRUE(blocks_become(blocks_before + 1));
	EXPECT_EQ(blocks_before + 1, blocks());
	at += (count - 2) * BLOCK_BYTES;
	ASSERT_EQ(0, cmd_pages(space, at, PAGE_BYTES, &page));
	EXPECT_EQ(id_of(A), page.location);
	EXPECT_EQ(HMMRT_CAUSE_PREFETCH, page.cause);
	EXPECT_EQ(count - 2, *(volatile uint64_t *)at);
	munmap(at, BLOCK_BYTES);
	EXPECT_TRUE(blocks_become(blocks_before));
}

/* Faults of an agent in another cgroup are charged to the owner, too. */
TEST_F(growth, state_for_device_faults_is_charged_to_the_owner)
{
	const unsigned long count = 200;
	uint64_t slab_before;
	char pid[16];
	char *at;

	if (!self->in_cgroup)
		SKIP(return, "cgroup v2 is not available");
	at = NOT_NULL(arena_map(count * BLOCK_BYTES, RW,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				0));
	snprintf(pid, sizeof(pid), "%d", agent_of(A)->pid);
	ASSERT_TRUE(write_text("/sys/fs/cgroup/cgroup.procs", pid));
	slab_before = slab_bytes(self);
	ASSERT_VALUE(0, agent_sum(agent_of(A), at, count * BLOCK_BYTES,
				  BLOCK_BYTES));
	EXPECT_LT(slab_before + count * BLOCK_COSTS, slab_bytes(self));
	munmap(at, count * BLOCK_BYTES);
	EXPECT_TRUE(slab_becomes(self, slab_before + count * BLOCK_COSTS / 4));
}

/*
 * New mappings at the same address have new contents; the device must not see
 * old pages.
 */
TEST_F(growth, address_mapped_again_has_new_contents)
{
	const size_t len = 3 * BLOCK_BYTES;
	uint64_t blocks_before = blocks();
	char *at = ANON(len);

	for (unsigned int round = 0; round < 4; round++) {
		uint64_t first = 1000 * round;

		pages_fill(at, len, first);
		ASSERT_SUM(A, at, len, first);
		ASSERT_FILLS(A, at, len, first + 1);
		ASSERT_EQ(0, munmap(at, len));
		ASSERT_TRUE(blocks_become(blocks_before));
		ASSERT_EQ(at, map_at(at, len, RW, 0));
	}
	munmap(at, len);
}

/*
 * Lanes access memory that is unmapped and mapped again. Accesses may be
 * refused then, but the next contents must be read correctly.
 */
TEST_F(growth, reaping_under_busy_lanes_loses_no_data)
{
	const size_t len = 4 * BLOCK_BYTES;
	double end = now_s() + (full_size() ? 60 : 3);
	char *at = ANON(len);
	unsigned int rounds = 0;

	while (now_s() < end) {
		char *hole = at + (rounds % 4) * BLOCK_BYTES;

		pages_fill(hole, BLOCK_BYTES, rounds);
		for (unsigned int lane = 0; lane < 2; lane++)
			DEV_POST(A, lane, AGENT_SUM,
				 (uintptr_t)at + lane * PAGE_BYTES,
				 len - 2 * PAGE_BYTES, PAGE_BYTES);
		munmap(hole, BLOCK_BYTES);
		/* Sometimes, wait until the hole's block is reaped. */
		if (rounds % 8 == 0)
			usleep(60000);
		ASSERT_EQ(hole, map_at(hole, BLOCK_BYTES, RW, 0));
		for (unsigned int lane = 0; lane < 2; lane++)
			ASSERT_EQ(0, dev_wait(A, lane, 60).error);
		pages_fill(hole, BLOCK_BYTES, rounds);
		ASSERT_SUM(A, hole, BLOCK_BYTES, rounds);
		rounds++;
	}
	fprintf(stderr, "# %u rounds\n", rounds);
	munmap(at, len);
}

/* --- threads -------------------------------------------------------------- */

static volatile uint64_t *refused;
static unsigned long *nr_threads;	/* shared with the agent */
static __thread sigjmp_buf escape;

static void on_refused(int sig)
{
	(void)sig;
	siglongjmp(escape, 1);
}

static void *touch(void *unused)
{
	(void)unused;
	return sigsetjmp(escape, 1) ? (void *)refused :
				      (void *)(uintptr_t)*refused;
}

/*
 * Runs in the agent: creates threads one after the other, each with one failing
 * access.
 */
static uint64_t run_threads(void)
{
	struct sigaction action = { .sa_handler = on_refused }, before;
	unsigned long done = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	sigaction(SIGSEGV, &action, &before);
	for (unsigned long i = 0; i < *nr_threads; i++) {
		pthread_t thread;
		void *rc = NULL;

		if (pthread_create(&thread, &attr, touch, NULL))
			break;
		pthread_join(thread, &rc);
		done += rc == (void *)refused;
	}
	sigaction(SIGSEGV, &before, NULL);
	return done;
}

static struct outcome agent_run_threads(unsigned long count)
{
	*nr_threads = count;
	return agent_call(agent_of(A), run_threads);
}

/* Slab memory of the whole system in KiB. */
static long slab_kib(void)
{
	return read_number("/proc/meminfo", "Slab: %ld");
}

/* The kernel frees the memory of ended threads some time later. */
static bool slab_kib_becomes(long most)
{
	return WAIT_UNTIL(slab_kib() <= most, 5);
}

/* Set up before the session, because the agent is a fork of this process. */
FIXTURE(threads) {
};

FIXTURE_SETUP(threads)
{
	nr_threads = NOT_NULL(shared_page());
	refused = NOT_NULL(arena_map(BLOCK_BYTES, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	DEVICES_SETUP();
}

FIXTURE_TEARDOWN(threads)
{
	DEVICES_TEARDOWN();
	munmap((void *)refused, BLOCK_BYTES);
	munmap(nr_threads, PAGE_BYTES);
}

/* Limits the time of one agent command, which may take two minutes. */
#define THREADS_AT_ONCE	10000UL

/* Returns how many of these threads ended as they should. */
static unsigned long run_many_threads(unsigned long count)
{
	unsigned long some, done = 0;
	struct outcome outcome;

	for (unsigned long left = count; left; left -= some) {
		some = left < THREADS_AT_ONCE ? left : THREADS_AT_ONCE;
		outcome = agent_run_threads(some);
		if (outcome.error || outcome.signal || outcome.value != some)
			break;
		done += some;
	}
	return done;
}

/*
 * The kernel's caches may grow by less than a leak, and do so once. A leak is
 * the same each time.
 */
TEST_F_TIMEOUT(threads, state_of_ended_threads_is_freed, 7200)
{
	/* KASAN delays freeing, so do not measure on debug kernels. */
	bool measured = access("/sys/kernel/debug/kmemleak", F_OK);
	unsigned long count = full_size() ? 100000 : measured ? 10000 : 300;
	bool freed = !measured;
	int rounds = 0;
	long before;

	/* Memory that the first threads allocate stays allocated. */
	ASSERT_VALUE(300, agent_run_threads(300));
	do {
		before = slab_kib();
		ASSERT_EQ(count, run_many_threads(count));
		freed |= slab_kib_becomes(before + 20 * (long)count / 1024);
	} while (!freed && ++rounds < 3);
	EXPECT_TRUE(freed)
	{
		TH_LOG("%ld KiB are left of %lu threads",
		       slab_kib() - before, count);
	}
	/* A later failure is still recorded and reported. */
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, refused));
}

TEST_HARNESS_MAIN
