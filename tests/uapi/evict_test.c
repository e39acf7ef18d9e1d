// SPDX-License-Identifier: MIT
/*
 * Evicts a device that continues to work. Advice must then apply to the new
 * location of the pages. Loads and removes the module.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/faulty_env.h"
#include "lib/harness.h"
#include "lib/session.h"
#include "lib/tracing.h"

#define HOST HMMRT_LOCATION_HOST

FIXTURE(evict) {
	struct faulty_env env;
	struct hmmrt_page pages[PAGES];
};

FIXTURE_SETUP(evict)
{
	struct faulty_env *env = &self->env;

	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, faulty_env_start(env));
	env->first = 9000;
	pages_fill(env->buf, LEN, env->first);
}

FIXTURE_TEARDOWN(evict)
{
	if (getenv("HMMRT_MODULE_DIR"))
		EXPECT_EQ(0, faulty_env_end(&self->env));
}

static int advise(const struct faulty_env *env, size_t len, uint32_t kind,
		  uint32_t location)
{
	return cmd_advise(env->manager, env->buf, len, kind, location, 0);
}

/* Counts the leading pages, up to @count, that the device reads correctly. */
static size_t read_right(const struct faulty_env *env, unsigned int device,
			 size_t count)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < count; i++) {
		if (faulty_read(env->fd[device], env->buf + i * PAGE_BYTES,
				&value) ||
		    value != env->first + i)
			break;
	}
	return i;
}

static uint64_t faults(const struct faulty_env *env, unsigned int device)
{
	struct hmmrt_stats stats = { 0 };

	cmd_stats(env->manager, env->id[device], &stats);
	return stats.out_device_faults;
}

static size_t count_pages(FIXTURE_DATA(evict) *self,
			  bool (*is)(uint32_t id,
				     const struct hmmrt_page *page))
{
	const struct faulty_env *env = &self->env;
	size_t i, found = 0;

	if (cmd_pages(env->manager, env->buf, LEN, self->pages))
		return 0;
	for (i = 0; i < PAGES; i++)
		found += is(env->id[0], &self->pages[i]);
	return found;
}

static bool is_mapped(uint32_t id, const struct hmmrt_page *page)
{
	return page->mapped_by & 1u << id;
}

static bool is_mapped_on_host(uint32_t id, const struct hmmrt_page *page)
{
	return page->location == HOST && is_mapped(id, page);
}

static bool has_duplicate(uint32_t id, const struct hmmrt_page *page)
{
	return page->duplicates & 1u << id;
}

/* Waits until an AccessedBy device has entries again, without a fault. */
static bool wait_mapped(FIXTURE_DATA(evict) *self, bool on_host)
{
	unsigned int try;

	for (try = 0; try < 1000; try++) {
		if (count_pages(self, on_host ? is_mapped_on_host :
						is_mapped) == PAGES)
			return true;
		usleep(10000);
	}
	return false;
}

TEST_F(evict, accessed_by_device_maps_evicted_pages)
{
	struct faulty_env *env = &self->env;

	ASSERT_EQ(0, faulty_env_put_on(env, 1));
	ASSERT_EQ(0, cmd_peer(env->manager, env->id[0], env->id[1],
			      HMMRT_PEER_ENABLE, NULL));
	ASSERT_EQ(0,
		  advise(env, LEN, HMMRT_ADVICE_SET_ACCESSED_BY, env->id[0]));
	ASSERT_TRUE(wait_mapped(self, false));
	ASSERT_EQ(PAGES, faulty_env_pages_on(env, 1));
	ASSERT_EQ(PAGES, read_right(env, 0, PAGES));
	ASSERT_EQ(0, faulty_evict(env->control, 1));
	ASSERT_TRUE(wait_mapped(self, true));
	EXPECT_EQ(PAGES, read_right(env, 0, PAGES));
	pages_fill(env->buf, LEN, ++env->first);
	EXPECT_EQ(PAGES, read_right(env, 0, PAGES));
	EXPECT_EQ(0, faults(env, 0));
	EXPECT_EQ(-1, pages_check(env->buf, LEN, env->first));
}

TEST_F(evict, evicted_pages_return_to_their_preferred_device)
{
	struct faulty_env *env = &self->env;

	ASSERT_EQ(0, advise(env, LEN, HMMRT_ADVICE_SET_PREFERRED_LOCATION,
			    env->id[1]));
	ASSERT_EQ(0, faulty_env_put_on(env, 1));
	ASSERT_EQ(0, faulty_evict(env->control, 1));
	EXPECT_EQ(PAGES, pages_at(env->manager, env->buf, LEN, HOST));
	/* Faults of the other device do not migrate the pages. */
	EXPECT_EQ(PAGES, read_right(env, 0, PAGES));
	EXPECT_EQ(PAGES, pages_at(env->manager, env->buf, LEN, HOST));
	EXPECT_EQ(PAGES, read_right(env, 1, PAGES));
	EXPECT_EQ(PAGES, faulty_env_pages_on(env, 1));
	EXPECT_EQ(-1, pages_check(env->buf, LEN, env->first));
}

/*
 * Pages on the device migrate back. Duplicated pages already are in system
 * memory.
 */
TEST_F(evict, duplicates_are_dropped_and_made_again)
{
	const size_t count = PAGES / 4, len = LEN / 4;
	struct faulty_env *env = &self->env;
	size_t duplicates;

	ASSERT_EQ(0, faulty_env_put_on(env, 0));
	ASSERT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_HOST,
				  env->buf, len));
	ASSERT_EQ(0, advise(env, len, HMMRT_ADVICE_SET_READ_MOSTLY, 0));
	ASSERT_EQ(count, read_right(env, 0, count));
	duplicates = count_pages(self, has_duplicate);
	ASSERT_LT(0, duplicates);
	ASSERT_EQ(PAGES - count, faulty_env_pages_on(env, 0));
	EXPECT_EQ(0, faulty_evict(env->control, 0));
	EXPECT_EQ(PAGES, pages_at(env->manager, env->buf, LEN, HOST));
	EXPECT_EQ(0, count_pages(self, has_duplicate));
	EXPECT_EQ(count, read_right(env, 0, count));
	EXPECT_EQ(duplicates, count_pages(self, has_duplicate));
	EXPECT_EQ(-1, pages_check(env->buf, LEN, env->first));
	pages_fill(env->buf, LEN, ++env->first);
	EXPECT_EQ(0, count_pages(self, has_duplicate));
	EXPECT_EQ(0, faulty_evict(env->control, 0));
	EXPECT_EQ(count, read_right(env, 0, count));
	EXPECT_EQ(-1, pages_check(env->buf, LEN, env->first));
}

TEST_F(evict, evicted_pages_report_eviction_as_cause)
{
	struct faulty_env *env = &self->env;
	size_t i;

	ASSERT_EQ(0, faulty_env_put_on(env, 1));
	ASSERT_EQ(0, cmd_pages(env->manager, env->buf, LEN, self->pages));
	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(HMMRT_CAUSE_PREFETCH, self->pages[i].cause);
		ASSERT_NE(0, self->pages[i].time);
	}
	ASSERT_EQ(0, faulty_evict(env->control, 1));
	ASSERT_EQ(0, cmd_pages(env->manager, env->buf, LEN, self->pages));
	for (i = 0; i < PAGES; i++) {
		ASSERT_EQ(HOST, self->pages[i].location);
		ASSERT_EQ(HMMRT_CAUSE_EVICTION, self->pages[i].cause);
		ASSERT_NE(0, self->pages[i].time);
	}
	ASSERT_EQ(PAGES, read_right(env, 1, PAGES));
	ASSERT_EQ(0, cmd_pages(env->manager, env->buf, LEN, self->pages));
	for (i = 0; i < PAGES; i++)
		ASSERT_EQ(HMMRT_CAUSE_DEVICE_FAULT, self->pages[i].cause);
}

/* --- invalidations of a device -------------------------------------------- */

/* For a chunk used by one block, independent of its number of pages. */
#define INVALIDATIONS_MAX	4

/*
 * Maps a block of single pages and moves it to the first device; NULL on
 * failure.
 */
static char *block_on_device(const struct faulty_env *env)
{
	char *buf = arena_anon(BLOCK_BYTES);

	if (!buf || madvise(buf, BLOCK_BYTES, MADV_NOHUGEPAGE))
		return NULL;
	pages_fill(buf, BLOCK_BYTES, env->first);
	if (faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, buf,
			 BLOCK_BYTES))
		return NULL;
	return pages_at(env->manager, buf, BLOCK_BYTES, env->id[0]) ==
			       (long)BLOCK_PAGES ?
		       buf :
		       NULL;
}

static uint64_t evicted(const struct faulty_env *env, unsigned int device)
{
	struct hmmrt_stats stats = { 0 };

	cmd_stats(env->manager, env->id[device], &stats);
	return stats.out_evicted_pages;
}

/* Counts a device's invalidations while the first device is evicted. */
static int invalidations_to_evict(const struct faulty_env *env,
				  unsigned int device)
{
	int before = faulty_invalidations(env->control, device);
	int rc = faulty_evict(env->control, 0);

	return rc ? rc : faulty_invalidations(env->control, device) - before;
}

TEST_F(evict, chunk_of_single_pages_takes_one_invalidation)
{
	struct faulty_env *env = &self->env;
	static struct hmmrt_page pages[BLOCK_PAGES];
	char *buf = block_on_device(env);
	int count;
	size_t i;

	ASSERT_NE(NULL, buf);
	count = invalidations_to_evict(env, 0);
	EXPECT_LE(1, count);
	EXPECT_GE(INVALIDATIONS_MAX, count);
	EXPECT_EQ(BLOCK_PAGES, evicted(env, 0));
	ASSERT_EQ(0, cmd_pages(env->manager, buf, BLOCK_BYTES, pages));
	for (i = 0; i < BLOCK_PAGES; i++) {
		ASSERT_EQ(HOST, pages[i].location);
		ASSERT_EQ(HMMRT_CAUSE_EVICTION, pages[i].cause);
		ASSERT_EQ(0, pages[i].mapped_by & 1u << env->id[0]);
	}
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, env->first));
}

/* Half of the block is unmapped before the eviction. */
TEST_F(evict, only_pages_that_migrate_back_are_counted)
{
	struct faulty_env *env = &self->env;
	char *buf = block_on_device(env);
	uint64_t value = 0;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, munmap(buf + BLOCK_BYTES / 2, BLOCK_BYTES / 2));
	/*
	 * Splitting a mapping inside a block removes all its entries; fault
	 * them in.
	 */
	ASSERT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_FAULT, buf,
				  BLOCK_BYTES / 2));
	ASSERT_EQ(0, faulty_evict(env->control, 0));
	EXPECT_EQ(BLOCK_PAGES / 2, evicted(env, 0));
	EXPECT_EQ(0, faulty_read(env->fd[0], buf, &value));
	EXPECT_EQ(env->first, value);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES / 2, env->first));
}

/* Entries for pages in other locations stay. */
TEST_F(evict, entries_for_other_locations_stay)
{
	const size_t half = BLOCK_BYTES / 2, half_pages = BLOCK_PAGES / 2;
	struct faulty_env *env = &self->env;
	static struct hmmrt_page pages[BLOCK_PAGES];
	char *buf = block_on_device(env);
	uint64_t value = 0;
	size_t i;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_HOST, buf,
				  half));
	ASSERT_EQ(0, cmd_advise(env->manager, buf, half,
				HMMRT_ADVICE_SET_PREFERRED_LOCATION, HOST, 0));
	for (i = 0; i < half_pages; i++)
		ASSERT_EQ(0, faulty_read(env->fd[0], buf + i * PAGE_BYTES,
					 &value));
	EXPECT_GE(INVALIDATIONS_MAX, invalidations_to_evict(env, 0));
	ASSERT_EQ(0, cmd_pages(env->manager, buf, BLOCK_BYTES, pages));
	for (i = 0; i < BLOCK_PAGES; i++) {
		ASSERT_EQ(HOST, pages[i].location);
		ASSERT_EQ(i < half_pages, is_mapped(env->id[0], &pages[i]));
	}
	EXPECT_EQ(half_pages, evicted(env, 0));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, env->first));
}

/* A peer gets no invalidation for each page, either. */
TEST_F(evict, peer_that_maps_a_chunk_takes_one_invalidation)
{
	struct faulty_env *env = &self->env;
	char *buf = block_on_device(env);
	uint64_t value = 0;
	int count;
	size_t i;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, cmd_peer(env->manager, env->id[1], env->id[0],
			      HMMRT_PEER_ENABLE, NULL));
	/* It cannot allocate device memory, so it maps its peer's pages. */
	ASSERT_EQ(0, faulty_fail_always(env->control, HMMRT_FAULTY_POPULATE));
	for (i = 0; i < BLOCK_PAGES; i++)
		ASSERT_EQ(0, faulty_read(env->fd[1], buf + i * PAGE_BYTES,
					 &value));
	ASSERT_EQ(BLOCK_PAGES, (size_t)pages_at(env->manager, buf, BLOCK_BYTES,
						env->id[0]));
	count = invalidations_to_evict(env, 1);
	EXPECT_LE(1, count);
	EXPECT_GE(INVALIDATIONS_MAX, count);
	pages_fill(buf, BLOCK_BYTES, ++env->first);
	for (i = 0; i < BLOCK_PAGES; i += 16) {
		ASSERT_EQ(0, faulty_read(env->fd[1], buf + i * PAGE_BYTES,
					 &value));
		ASSERT_EQ(env->first + i, value);
	}
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, env->first));
}

/* --- choosing a victim among many processes ------------------------------- */

#define MANY		140
/* Limit of accounts examined with interrupts off; size of the device. */
#define SAMPLES_MAX	320
#define DEVICE_BYTES	(32 * BLOCK_BYTES)

/* Keeps a page on the device until the pipe is closed. */
static void have_a_page(int go, int ready)
{
	char *buf = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open_faulty(0);
	char byte = 0;

	if (buf == MAP_FAILED || fd < 0)
		_exit(1);
	*buf = 1;
	if (faulty_range(fd, HMMRT_FAULTY_IOC_TO_DEVICE, buf, PAGE_BYTES) ||
	    write(ready, &byte, 1) != 1)
		_exit(1);
	_exit(read(go, &byte, 1) != 0 || *buf != 1);
}

static unsigned int start_many(unsigned int count, int go[2], int ready[2])
{
	unsigned int i;
	char byte;

	for (i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			close(go[1]);
			have_a_page(go[0], ready[1]);
		}
		if (pid < 0 || read(ready[0], &byte, 1) != 1)
			break;
	}
	return i;
}

/* Lets them exit. Returns how many had their page. */
static unsigned int end_many(unsigned int count, int go[2], int ready[2])
{
	unsigned int i, good = 0;
	int status;

	close(go[1]);
	for (i = 0; i < count; i++)
		good += waitpid(-1, &status, 0) > 0 && !status;
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
	return good;
}

/* The search examines a limited number of accounts with interrupts off. */
TEST_F(evict, victim_search_bounds_time_with_interrupts_off)
{
	struct faulty_env *env = &self->env;
	char *buf = arena_anon(DEVICE_BYTES);
	int go[2], ready[2];

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, madvise(buf, DEVICE_BYTES, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	EXPECT_EQ(MANY, start_many(MANY, go, ready));
	/*
	 * This process exceeds its share, and gives up memory for one that has
	 * none.
	 */
	EXPECT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, buf,
				  DEVICE_BYTES));
	EXPECT_TRUE(tracing_start());
	EXPECT_EQ(1, start_many(1, go, ready));
	EXPECT_LT(MANY / 2, tracing_most("hmmrt_claim", "accounts="));
	EXPECT_LT(0, tracing_most("hmmrt_claim", "pauses="));
	EXPECT_LT(0, tracing_most("hmmrt_claim", "visits="));
	EXPECT_GE(SAMPLES_MAX, tracing_most("hmmrt_claim", "visits="));
	EXPECT_LT(0, tracing_count("hmmrt_eviction", ""));
	tracing_stop();
	EXPECT_EQ(MANY + 1, end_many(MANY + 1, go, ready));
	munmap(buf, DEVICE_BYTES);
}

#define VICTIMS		12	/* blocks */
#define CREATORS	4

struct creator {
	pthread_t thread;
	int manager;
	uint32_t id;
	int objects[VICTIMS + 1];
	unsigned int created;
	int rc;
};

/* Creates pinned objects of a block each, until one is refused. */
static void *create_until_refused(void *arg)
{
	struct creator *creator = arg;

	creator->rc = 0;
	while (creator->created < ARRAY_SIZE(creator->objects)) {
		int object = cmd_object_create(creator->manager, BLOCK_BYTES,
					       creator->id, 0);

		if (object < 0) {
			creator->rc = object;
			break;
		}
		creator->objects[creator->created++] = object;
	}
	return NULL;
}

/*
 * Threads that look for a victim at the same time find the same one. With so
 * many processes a search drops its lock, and during that time another thread
 * may evict the victim for an object that stays there. In the end nothing else
 * is left of this process, and the search finds nothing.
 */
TEST_F(evict, victim_that_became_a_pinned_object_is_none)
{
	struct faulty_env *env = &self->env;
	char *buf = arena_anon(VICTIMS * BLOCK_BYTES);
	struct creator creators[CREATORS];
	unsigned int i, j, created = 0;
	int go[2], ready[2], rest;

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, madvise(buf, VICTIMS * BLOCK_BYTES, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	/*
	 * A search looks first at this process, which is charged first. The
	 * others share the last block.
	 */
	rest = cmd_object_create(env->manager,
				 DEVICE_BYTES - (VICTIMS + 1) * BLOCK_BYTES,
				 env->id[0], 0);
	ASSERT_LE(0, rest);
	EXPECT_EQ(0, faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, buf,
				  VICTIMS * BLOCK_BYTES));
	EXPECT_EQ(MANY, start_many(MANY, go, ready));
	for (i = 0; i < CREATORS; i++) {
		creators[i] = (struct creator){ .manager = env->manager,
						.id = env->id[0] };
		ASSERT_EQ(0, pthread_create(&creators[i].thread, NULL,
					    create_until_refused,
					    &creators[i]));
	}
	for (i = 0; i < CREATORS; i++) {
		ASSERT_EQ(0, pthread_join(creators[i].thread, NULL));
		EXPECT_EQ(-ENOMEM, creators[i].rc);
	}
	/* The memory of pages that were busy. */
	ASSERT_EQ(0, munmap(buf, VICTIMS * BLOCK_BYTES));
	create_until_refused(&creators[0]);
	for (i = 0; i < CREATORS; i++)
		created += creators[i].created;
	EXPECT_EQ(VICTIMS, created);
	EXPECT_TRUE(tracing_start());
	EXPECT_EQ(-ENOMEM, cmd_object_create(env->manager, BLOCK_BYTES,
					     env->id[0], 0));
	EXPECT_LT(MANY / 2, tracing_most("hmmrt_claim", "accounts="));
	EXPECT_LT(0, tracing_most("hmmrt_claim", "pauses="));
	EXPECT_EQ(1, tracing_count("hmmrt_claim", ""));
	EXPECT_EQ(1, tracing_count("hmmrt_claim", "error=-2"));
	tracing_stop();
	for (i = 0; i < CREATORS; i++)
		for (j = 0; j < creators[i].created; j++)
			close(creators[i].objects[j]);
	close(rest);
	EXPECT_EQ(MANY, end_many(MANY, go, ready));
}

TEST_HARNESS_MAIN
