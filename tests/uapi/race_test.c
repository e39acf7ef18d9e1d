// SPDX-License-Identifier: MIT
/*
 * The owner changes its memory while the device uses it. Each test runs for a
 * while and checks that the device never sees pages that the owner has removed,
 * and that no write is lost. Random tests print their seed, and HMMRT_TEST_SEED
 * sets it.
 */
#include "lib/ext2.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define RUN_S	4
#define LANES	4

FIXTURE(race) {
	unsigned int seed;
	time_t end;
};

FIXTURE_SETUP(race)
{
	DEVICES_SETUP(.lanes = LANES);
	self->seed = test_seed();
	self->end = time(NULL) + RUN_S;
}

DEVICES_FIXTURE_TEARDOWN(race)

/*
 * The owner replaces a page again and again and writes a new number to it. The
 * device never reads a number of an earlier page.
 */
TEST_F(race, device_never_reads_a_replaced_page)
{
	uint64_t *word = ANON(BLOCK_BYTES);

	/*
	 * At least 10 rounds, also on a slow machine. The same holds for the
	 * loops below.
	 */
	for (uint64_t i = 1; i <= 10 || time(NULL) < self->end; i++) {
		ASSERT_TRUE(i & 1 ? map_anon_at(word, PAGE_BYTES) :
				    !madvise(word, PAGE_BYTES, MADV_DONTNEED));
		ASSERT_VALUE(0, dev_read(A, word));
		*word = i;
		ASSERT_VALUE(i, dev_read(A, word));
		ASSERT_DONE(dev_write(A, word, ~i));
		ASSERT_EQ(~i, *word);
	}
}

/* The same while other lanes count in an adjacent page. */
TEST_F(race, device_never_reads_replaced_page_beside_busy_page)
{
	const size_t len = 64 * PAGE_BYTES;
	char *buf = ANON(len);
	uint64_t *word = (uint64_t *)(buf + 20 * PAGE_BYTES);
	uint64_t neighbour[] = { (uintptr_t)buf + 21 * PAGE_BYTES, 1 << 20 };

	for (unsigned int lane = 1; lane < LANES; lane++)
		agent_post(agent_of(A), lane, AGENT_ADD, neighbour, 2);
	for (uint64_t i = 1; i <= 10 || time(NULL) < self->end; i++) {
		ASSERT_TRUE(map_anon_at(word, PAGE_BYTES));
		ASSERT_VALUE(0, dev_read(A, word));
		*word = i;
		ASSERT_VALUE(i, dev_read(A, word));
	}
	for (unsigned int lane = 1; lane < LANES; lane++)
		ASSERT_DONE(dev_wait(A, lane, 60));
	ASSERT_EQ((LANES - 1) << 20,
		  *(uint64_t *)(buf + 21 * PAGE_BYTES));
}

/* --- random changes under lanes that read everywhere ---------------------- */

struct changer {
	char *buf;
	size_t len;
	unsigned int seed;
	unsigned int changes;
	char *error;
};

static void change_something(void *arg)
{
	struct changer *c = arg;
	size_t pages = c->len / PAGE_BYTES;
	size_t first = (size_t)rand_r(&c->seed) % pages;
	size_t count = 1 + (size_t)rand_r(&c->seed) % 64;
	char *addr = c->buf + first * PAGE_BYTES;

	if (count > pages - first)
		count = pages - first;
	switch (rand_r(&c->seed) % 7) {
	case 0:
		if (!map_anon_at(addr, count * PAGE_BYTES))
			c->error = "mmap";
		break;
	case 1:
		madvise(addr, count * PAGE_BYTES, MADV_DONTNEED);
		break;
	case 2:
		mprotect(addr, count * PAGE_BYTES, PROT_READ);
		mprotect(addr, count * PAGE_BYTES, RW);
		break;
	case 3:
		*(volatile uint64_t *)addr = 0;
		break;
	case 4:
		madvise(addr, count * PAGE_BYTES, MADV_FREE);
		break;
	case 5:
		madvise(c->buf, BLOCK_BYTES,
			rand_r(&c->seed) & 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		break;
	case 6:
		if (rand_r(&c->seed) % 8)
			break;
		if (IN_CHILD(0))
			c->error = "fork";
		break;
	}
	__atomic_fetch_add(&c->changes, 1, __ATOMIC_RELAXED);
}

TEST_F(race, random_changes_under_busy_lanes)
{
	struct changer changer = { .len = 4 * BLOCK_BYTES, .seed = self->seed };
	struct loop loop;

	changer.buf = ANON(changer.len);
	ASSERT_EQ(0, loop_start(&loop, change_something, &changer));
	/* Run at least until the thread has made one change. */
	do {
		uint64_t read[] = { (uintptr_t)changer.buf, changer.len,
				    PAGE_BYTES };
		uint64_t fill[] = { (uintptr_t)changer.buf, changer.len,
				    PAGE_BYTES, 0 };

		for (unsigned int lane = 0; lane < LANES; lane++)
			agent_post(agent_of(A), lane,
				   lane & 1 ? AGENT_FILL : AGENT_SUM,
				   lane & 1 ? fill : read, lane & 1 ? 4 : 3);
		for (unsigned int lane = 0; lane < LANES; lane++) {
			struct outcome outcome = dev_wait(A, lane, 60);

			ASSERT_EQ(0, outcome.error);
			/*
			 * Writes can hit memory that is read-only for a moment.
			 * Any access can hit a hole.
			 */
			ASSERT_TRUE(!outcome.signal ||
				    outcome.signal == SIGSEGV);
		}
	} while (time(NULL) < self->end ||
		 !__atomic_load_n(&changer.changes, __ATOMIC_RELAXED));
	loop_stop(&loop);
	ASSERT_NULL(changer.error);
}

/* --- forks while the device writes ---------------------------------------- */

/*
 * After fork() the device's writes reach only the parent: the child's copy of
 * the word does not change.
 */
TEST_F(race, forks_while_lanes_count_lose_no_write)
{
	const uint64_t times = 30000;
	uint64_t *word = ANON(PAGE_BYTES);
	uint64_t args[] = { (uintptr_t)word, times };

	for (unsigned int lane = 0; lane < LANES; lane++)
		agent_post(agent_of(A), lane, AGENT_ADD, args, 2);
	do {
		pid_t pid = fork();

		if (!pid) {
			uint64_t seen = *(volatile uint64_t *)word;

			usleep(1000);
			_exit(*(volatile uint64_t *)word != seen);
		}
		ASSERT_EQ(0, process_wait(pid));
	} while (time(NULL) < self->end);
	for (unsigned int lane = 0; lane < LANES; lane++)
		ASSERT_DONE(dev_wait(A, lane, 100));
	ASSERT_EQ(LANES * times, *word);
}

/* --- prefetch while the device writes ------------------------------------- */

struct mover {
	char *buf;
	size_t len;
	unsigned int moves;
	int error;
};

static void move_once(void *arg)
{
	struct mover *mover = arg;
	int rc = prefetch(mover->moves & 1 ? A : HOST, mover->buf, mover->len);

	if (rc)
		mover->error = rc;
	__atomic_fetch_add(&mover->moves, 1, __ATOMIC_RELAXED);
}

/* Every write reaches the page, wherever the page is at that moment. */
TEST_F(race, prefetches_while_lanes_count_lose_no_write)
{
	struct mover movers[2];
	struct loop loops[2];
	uint64_t *word;

	movers[0] = (struct mover){
		.buf = ANON(2 * BLOCK_BYTES), .len = 2 * BLOCK_BYTES,
	};
	/*
	 * The second thread starts with the other direction, and moves a part.
	 */
	movers[1] = movers[0];
	movers[1].moves = 1;
	movers[1].buf += BLOCK_BYTES / 2;
	movers[1].len = BLOCK_BYTES;
	word = (uint64_t *)(movers[0].buf + BLOCK_BYTES);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, loop_start(&loops[i], move_once, &movers[i]));
	while (!__atomic_load_n(&movers[0].moves, __ATOMIC_RELAXED))
		usleep(100);
	for (unsigned int lane = 0; lane < LANES; lane++) {
		uint64_t args[] = { (uintptr_t)word, 1 << 20 };

		agent_post(agent_of(A), lane, AGENT_ADD, args, 2);
	}
	for (unsigned int lane = 0; lane < LANES; lane++)
		ASSERT_DONE(dev_wait(A, lane, 100));
	for (unsigned int i = 0; i < 2; i++) {
		loop_stop(&loops[i]);
		ASSERT_EQ(0, movers[i].error);
		ASSERT_LT(0, movers[i].moves);
	}
	ASSERT_EQ((uint64_t)LANES << 20, *word);
}

/* --- permission that grows ------------------------------------------------ */

/*
 * A lookup takes the longer the larger the range is. Lanes write only a part of
 * the range, so that lookups overlap with the writes.
 */
#define GROWING_BYTES	BLOCK_BYTES
#define WRITTEN_PAGES	64
#define WRITTEN_BYTES	(WRITTEN_PAGES * PAGE_BYTES)
#define PREFETCHERS		4

struct prefetchers {
	char *buf;
	bool stop;
	int error;
	/* For all prefetchers and the test. */
	pthread_barrier_t begin;
	pthread_barrier_t end;
};

/*
 * A prefetch to a device does not move pages of a file. It only maps them with
 * the permissions that it finds.
 */
static void *prefetch_once_a_round(void *arg)
{
	struct prefetchers *prefetchers = arg;

	for (;;) {
		int rc;

		pthread_barrier_wait(&prefetchers->begin);
		if (prefetchers->stop)
			return NULL;
		rc = prefetch(A, prefetchers->buf, GROWING_BYTES);
		if (rc)
			prefetchers->error = rc;
		pthread_barrier_wait(&prefetchers->end);
	}
}

/*
 * Each page is written by one lane. Lane l writes round + n to its n-th page.
 */
static void post_writers(char *buf, uint64_t round)
{
	for (unsigned int lane = 0; lane < LANES; lane++) {
		uint64_t fill[] = { (uintptr_t)buf + lane * PAGE_BYTES,
				    WRITTEN_BYTES - lane * PAGE_BYTES,
				    LANES * PAGE_BYTES, round };

		agent_post(agent_of(A), lane, AGENT_FILL, fill, 4);
	}
}

static bool wait_for_writers(void)
{
	bool done = true;

	for (unsigned int lane = 0; lane < LANES; lane++) {
		struct outcome outcome = dev_wait(A, lane, 20);

		done &= !outcome.error && !outcome.signal;
	}
	return done;
}

static bool map_mirror_again(char *buf)
{
	return !agent_unmap(agent_of(A), buf, GROWING_BYTES) &&
	       !agent_map(agent_of(A), buf, GROWING_BYTES, RW);
}

/*
 * Each prefetcher makes one lookup while lanes write. Then the lanes write
 * again. Each page costs a few faults. A lane that faults in a loop makes
 * thousands.
 */
static const char *growing_round(struct prefetchers *prefetchers,
				 uint64_t round)
{
	uint64_t faults = stats_of(A).out_device_faults;

	/* Drop the pages, and map them for reading only. */
	if (madvise(prefetchers->buf, GROWING_BYTES, MADV_DONTNEED))
		return "madvise";
	pages_check(prefetchers->buf, GROWING_BYTES, 0);
	post_writers(prefetchers->buf, round);
	pthread_barrier_wait(&prefetchers->begin);
	pthread_barrier_wait(&prefetchers->end);
	if (!wait_for_writers())
		return "lanes that write during prefetches";
	if (!map_mirror_again(prefetchers->buf))
		return "mapping the mirror";
	post_writers(prefetchers->buf, round + 1);
	if (!wait_for_writers())
		return "lanes that write again";
	faults = stats_of(A).out_device_faults - faults;
	if (faults > 8 * WRITTEN_PAGES)
		return "number of faults";
	for (size_t page = 0; page < WRITTEN_PAGES; page++)
		if (*(uint64_t *)(prefetchers->buf + page * PAGE_BYTES) !=
		    round + 1 + page / LANES)
			return "contents";
	return NULL;
}

/*
 * A page of a file becomes writable with the first write to it, without an
 * invalidation. A lookup that began earlier still sees it as read-only. Mapping
 * that result must not remove the write permission of the device: a lane that
 * writes would fault again and again. The mirror is mapped again in between, so
 * that lanes fault for the permission that they had.
 */
TEST_F(race, write_permission_survives_stale_lookups)
{
	struct prefetchers prefetchers = { .stop = false };
	pthread_t threads[PREFETCHERS];
	const char *failed = NULL;
	uint64_t round;
	int fd = FD(ext2_file(GROWING_BYTES));

	self->end = time(NULL) + RUN_S;
	prefetchers.buf =
		NOT_NULL(arena_map(GROWING_BYTES, RW, MAP_SHARED, fd, 0));
	pthread_barrier_init(&prefetchers.begin, NULL, PREFETCHERS + 1);
	pthread_barrier_init(&prefetchers.end, NULL, PREFETCHERS + 1);
	for (unsigned int i = 0; i < PREFETCHERS; i++)
		threads[i] = THREAD(prefetch_once_a_round, &prefetchers);
	for (round = 1; !failed && (round <= 2 || time(NULL) < self->end);
	     round++)
		failed = growing_round(&prefetchers, round);
	prefetchers.stop = true;
	pthread_barrier_wait(&prefetchers.begin);
	for (unsigned int i = 0; i < PREFETCHERS; i++)
		pthread_join(threads[i], NULL);
	ASSERT_EQ(NULL, failed)
	{
		TH_LOG("round %llu: %s", (unsigned long long)round, failed);
	}
	EXPECT_EQ(0, prefetchers.error);
	close(fd);
}

/* --- signals -------------------------------------------------------------- */

/* Signals each lane in turn. */
static void signal_next_lane(void *arg)
{
	unsigned int *lane = arg;

	syscall(SYS_tgkill, agent_of(A)->pid,
		agent_of(A)->shared->lanes[(*lane)++ % LANES].tid, SIGUSR1);
	usleep(100);
}

/* The agent retries a fault that a signal interrupted. No fault fails. */
TEST_F(race, signals_do_not_make_faults_fail)
{
	const size_t len = 4 * BLOCK_BYTES;
	unsigned int next_lane = 0;
	char *buf = ANON(len);
	struct loop storm;
	uint64_t round;

	ASSERT_EQ(0, loop_start(&storm, signal_next_lane, &next_lane));
	for (round = 1; round <= 2 || time(NULL) < self->end; round++) {
		uint64_t fill[] = { (uintptr_t)buf, len, PAGE_BYTES, round };
		uint64_t read[] = { (uintptr_t)buf, len, PAGE_BYTES };

		agent_post(agent_of(A), 0, AGENT_FILL, fill, 4);
		for (unsigned int lane = 1; lane < LANES; lane++)
			agent_post(agent_of(A), lane, AGENT_SUM, read, 3);
		for (unsigned int lane = 0; lane < LANES; lane++)
			ASSERT_DONE(dev_wait(A, lane, 60));
		ASSERT_EQ(-1, pages_check(buf, len, round));
	}
	loop_stop(&storm);
	ASSERT_EQ(0, stats_of(A).out_failed_faults);
}

/* --- many CPU threads on one page ----------------------------------------- */

static void touch(void *arg)
{
	__atomic_fetch_add((uint64_t *)arg, 1, __ATOMIC_RELAXED);
}

/*
 * CPU threads hold references that keep the page from migrating. The device's
 * writes must complete nevertheless.
 */
TEST_F(race, many_threads_migrate_one_page_back)
{
	uint64_t *word = ANON(PAGE_BYTES);
	unsigned int rounds = 0;
	struct loop loops[8];

	for (unsigned int i = 0; i < ARRAY_SIZE(loops); i++)
		ASSERT_EQ(0, loop_start(&loops[i], touch, word));
	do {
		ASSERT_DONE(dev_write(A, word + 1, rounds));
		rounds++;
	} while (time(NULL) < self->end);
	for (unsigned int i = 0; i < ARRAY_SIZE(loops); i++)
		loop_stop(&loops[i]);
	ASSERT_EQ(rounds - 1, word[1]);
}

TEST_HARNESS_MAIN
