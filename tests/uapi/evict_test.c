// SPDX-License-Identifier: MIT
/*
 * Evicts a device that continues to work. Advice must then apply to the new
 * location of the pages. Loads and removes the module.
 */
#include "lib/faulty_fixture.h"
#include "lib/tracing.h"

FAULTY_FIXTURE(evict, .first = 9000)

static struct hmmrt_page report[PAGES];

/* Counts the leading pages, up to @count, that the device reads correctly. */
static size_t read_right(unsigned int device, size_t count)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < count; i++) {
		if (faulty_read(fds[device], buf + i * PAGE_BYTES, &value) ||
		    value != first + i)
			break;
	}
	return i;
}

static uint64_t faults(unsigned int device)
{
	return stats_of(device).out_device_faults;
}

static size_t count_pages(bool (*is)(uint32_t id,
				     const struct hmmrt_page *page))
{
	size_t found = 0;

	if (cmd_pages(space, buf, LEN, report))
		return 0;
	for (size_t i = 0; i < PAGES; i++)
		found += is(id_of(A), &report[i]);
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
static bool wait_mapped(bool on_host)
{
	return WAIT_UNTIL(count_pages(on_host ? is_mapped_on_host :
						is_mapped) == PAGES,
			  10);
}

TEST_F(evict, accessed_by_device_maps_evicted_pages)
{
	ASSERT_EQ(0, put_on(B));
	ASSERT_EQ(0,
		  cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_ENABLE, NULL));
	ASSERT_EQ(0, advise_at(buf, LEN, SET_ACCESSED_BY, A));
	ASSERT_TRUE(wait_mapped(false));
	ASSERT_EQ(PAGES, pages_on(B));
	ASSERT_EQ(PAGES, read_right(A, PAGES));
	ASSERT_EQ(0, faulty_evict(control, B));
	ASSERT_TRUE(wait_mapped(true));
	EXPECT_EQ(PAGES, read_right(A, PAGES));
	pages_fill(buf, LEN, ++first);
	EXPECT_EQ(PAGES, read_right(A, PAGES));
	EXPECT_EQ(0, faults(A));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

TEST_F(evict, evicted_pages_return_to_their_preferred_device)
{
	ASSERT_EQ(0, advise_at(buf, LEN, SET_PREFERRED_LOCATION, B));
	ASSERT_EQ(0, put_on(B));
	ASSERT_EQ(0, faulty_evict(control, B));
	EXPECT_AT(HOST, buf, LEN);
	/* Faults of the other device do not migrate the pages. */
	EXPECT_EQ(PAGES, read_right(A, PAGES));
	EXPECT_AT(HOST, buf, LEN);
	EXPECT_EQ(PAGES, read_right(B, PAGES));
	EXPECT_EQ(PAGES, pages_on(B));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/*
 * Pages on the device migrate back. Duplicated pages already are in system
 * memory.
 */
TEST_F(evict, duplicates_are_dropped_and_made_again)
{
	const size_t count = PAGES / 4, len = LEN / 4;
	size_t duplicates;

	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, faulty_range(fds[A], HMMRT_FAULTY_IOC_TO_HOST, buf, len));
	ASSERT_EQ(0, advise(buf, len, SET_READ_MOSTLY));
	ASSERT_EQ(count, read_right(A, count));
	duplicates = count_pages(has_duplicate);
	ASSERT_LT(0, duplicates);
	ASSERT_EQ(PAGES - count, pages_on(A));
	EXPECT_EQ(0, faulty_evict(control, A));
	EXPECT_AT(HOST, buf, LEN);
	EXPECT_EQ(0, count_pages(has_duplicate));
	EXPECT_EQ(count, read_right(A, count));
	EXPECT_EQ(duplicates, count_pages(has_duplicate));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
	pages_fill(buf, LEN, ++first);
	EXPECT_EQ(0, count_pages(has_duplicate));
	EXPECT_EQ(0, faulty_evict(control, A));
	EXPECT_EQ(count, read_right(A, count));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

TEST_F(evict, evicted_pages_report_eviction_as_cause)
{
	ASSERT_EQ(0, put_on(B));
	ASSERT_EQ(0, cmd_pages(space, buf, LEN, report));
	for (size_t i = 0; i < PAGES; i++) {
		ASSERT_EQ(HMMRT_CAUSE_PREFETCH, report[i].cause);
		ASSERT_NE(0, report[i].time);
	}
	ASSERT_EQ(0, faulty_evict(control, B));
	ASSERT_EQ(0, cmd_pages(space, buf, LEN, report));
	for (size_t i = 0; i < PAGES; i++) {
		ASSERT_EQ(HOST, report[i].location);
		ASSERT_EQ(HMMRT_CAUSE_EVICTION, report[i].cause);
		ASSERT_NE(0, report[i].time);
	}
	ASSERT_EQ(PAGES, read_right(B, PAGES));
	ASSERT_EQ(0, cmd_pages(space, buf, LEN, report));
	for (size_t i = 0; i < PAGES; i++)
		ASSERT_EQ(HMMRT_CAUSE_DEVICE_FAULT, report[i].cause);
}

/* --- invalidations of a device -------------------------------------------- */

/* For a chunk used by one block, independent of its number of pages. */
#define INVALIDATIONS_MAX	4

/*
 * Maps a block of single pages and moves it to the first device; NULL on
 * failure.
 */
static char *block_on_device(void)
{
	char *block = arena_anon(BLOCK_BYTES);

	if (!block || madvise(block, BLOCK_BYTES, MADV_NOHUGEPAGE))
		return NULL;
	pages_fill(block, BLOCK_BYTES, first);
	if (to_device(A, block, BLOCK_BYTES) ||
	    count_at(A, block, BLOCK_BYTES) != (long)BLOCK_PAGES)
		return NULL;
	return block;
}

static uint64_t evicted(unsigned int device)
{
	return stats_of(device).out_evicted_pages;
}

/* Counts a device's invalidations while the first device is evicted. */
static int invalidations_to_evict(unsigned int device)
{
	int before = faulty_invalidations(control, device);
	int rc = faulty_evict(control, A);

	return rc ? rc : faulty_invalidations(control, device) - before;
}

TEST_F(evict, chunk_of_single_pages_takes_one_invalidation)
{
	static struct hmmrt_page pages[BLOCK_PAGES];
	char *buf = NOT_NULL(block_on_device());
	int count;

	count = invalidations_to_evict(A);
	EXPECT_LE(1, count);
	EXPECT_GE(INVALIDATIONS_MAX, count);
	EXPECT_EQ(BLOCK_PAGES, evicted(A));
	ASSERT_EQ(0, cmd_pages(space, buf, BLOCK_BYTES, pages));
	for (size_t i = 0; i < BLOCK_PAGES; i++) {
		ASSERT_EQ(HOST, pages[i].location);
		ASSERT_EQ(HMMRT_CAUSE_EVICTION, pages[i].cause);
		ASSERT_EQ(0, pages[i].mapped_by & 1u << id_of(A));
	}
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

/* Half of the block is unmapped before the eviction. */
TEST_F(evict, only_pages_that_migrate_back_are_counted)
{
	char *buf = NOT_NULL(block_on_device());
	uint64_t value = 0;

	ASSERT_EQ(0, munmap(buf + BLOCK_BYTES / 2, BLOCK_BYTES / 2));
	/*
	 * Splitting a mapping inside a block removes all its entries; fault
	 * them in.
	 */
	ASSERT_EQ(0, faulty_range(fds[A], HMMRT_FAULTY_IOC_FAULT, buf,
				  BLOCK_BYTES / 2));
	ASSERT_EQ(0, faulty_evict(control, A));
	EXPECT_EQ(BLOCK_PAGES / 2, evicted(A));
	EXPECT_EQ(0, faulty_read(fds[A], buf, &value));
	EXPECT_EQ(first, value);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES / 2, first));
}

/* Entries for pages in other locations stay. */
TEST_F(evict, entries_for_other_locations_stay)
{
	const size_t half = BLOCK_BYTES / 2, half_pages = BLOCK_PAGES / 2;
	static struct hmmrt_page pages[BLOCK_PAGES];
	char *buf = NOT_NULL(block_on_device());

	ASSERT_EQ(0, faulty_range(fds[A], HMMRT_FAULTY_IOC_TO_HOST, buf, half));
	ASSERT_EQ(0, advise_at(buf, half, SET_PREFERRED_LOCATION, HOST));
	for (size_t i = 0; i < half_pages; i++)
		ASSERT_EQ(0, faulty_read(fds[A], buf + i * PAGE_BYTES, NULL));
	EXPECT_GE(INVALIDATIONS_MAX, invalidations_to_evict(A));
	ASSERT_EQ(0, cmd_pages(space, buf, BLOCK_BYTES, pages));
	for (size_t i = 0; i < BLOCK_PAGES; i++) {
		ASSERT_EQ(HOST, pages[i].location);
		ASSERT_EQ(i < half_pages, is_mapped(id_of(A), &pages[i]));
	}
	EXPECT_EQ(half_pages, evicted(A));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

/* A peer gets no invalidation for each page, either. */
TEST_F(evict, peer_that_maps_a_chunk_takes_one_invalidation)
{
	char *buf = NOT_NULL(block_on_device());
	uint64_t value = 0;
	int count;

	ASSERT_EQ(0,
		  cmd_peer(space, id_of(B), id_of(A), HMMRT_PEER_ENABLE, NULL));
	/* It cannot allocate device memory, so it maps its peer's pages. */
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_POPULATE));
	for (size_t i = 0; i < BLOCK_PAGES; i++)
		ASSERT_EQ(0, faulty_read(fds[B], buf + i * PAGE_BYTES, &value));
	ASSERT_AT(A, buf, BLOCK_BYTES);
	count = invalidations_to_evict(B);
	EXPECT_LE(1, count);
	EXPECT_GE(INVALIDATIONS_MAX, count);
	pages_fill(buf, BLOCK_BYTES, ++first);
	for (size_t i = 0; i < BLOCK_PAGES; i += 16) {
		ASSERT_EQ(0, faulty_read(fds[B], buf + i * PAGE_BYTES, &value));
		ASSERT_EQ(first + i, value);
	}
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

/* --- choosing a victim among many processes ------------------------------- */

#define MANY		140
/* Limit of accounts examined with interrupts off; size of the device. */
#define SAMPLES_MAX	320
#define DEVICE_BYTES	(32 * BLOCK_BYTES)

/* Keeps a page on the device until the pipe is closed. */
static void have_a_page(int go, int ready)
{
	char *buf =
		mmap(NULL, PAGE_BYTES, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
	unsigned int good = 0;
	int status;

	close(go[1]);
	for (unsigned int i = 0; i < count; i++)
		good += waitpid(-1, &status, 0) > 0 && !status;
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
	return good;
}

/* The search examines a limited number of accounts with interrupts off. */
TEST_F(evict, victim_search_bounds_time_with_interrupts_off)
{
	char *buf = ANON(DEVICE_BYTES);
	int go[2], ready[2];

	ASSERT_EQ(0, madvise(buf, DEVICE_BYTES, MADV_NOHUGEPAGE));
	/* A page that hundreds of processes share takes seconds to evict. */
	ASSERT_EQ(0, madvise(buf, DEVICE_BYTES, MADV_DONTFORK));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	EXPECT_EQ(MANY, start_many(MANY, go, ready));
	/*
	 * This process exceeds its share, and gives up memory for one that has
	 * none.
	 */
	EXPECT_EQ(0, to_device(A, buf, DEVICE_BYTES));
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
		int object = cmd_object_create(space, BLOCK_BYTES, id_of(A), 0);

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
	char *buf = ANON(VICTIMS * BLOCK_BYTES);
	struct creator creators[CREATORS];
	unsigned int created = 0;
	int go[2], ready[2], rest;

	ASSERT_EQ(0, madvise(buf, VICTIMS * BLOCK_BYTES, MADV_NOHUGEPAGE));
	ASSERT_EQ(0, madvise(buf, VICTIMS * BLOCK_BYTES, MADV_DONTFORK));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	/*
	 * A search looks first at this process, which is charged first. The
	 * others share the last block.
	 */
	rest = FD(cmd_object_create(space,
				    DEVICE_BYTES - (VICTIMS + 1) * BLOCK_BYTES,
				    id_of(A), 0));
	EXPECT_EQ(0, to_device(A, buf, VICTIMS * BLOCK_BYTES));
	EXPECT_EQ(MANY, start_many(MANY, go, ready));
	for (unsigned int i = 0; i < CREATORS; i++) {
		creators[i] = (struct creator){ 0 };
		creators[i].thread = THREAD(create_until_refused, &creators[i]);
	}
	for (unsigned int i = 0; i < CREATORS; i++) {
		ASSERT_EQ(0, pthread_join(creators[i].thread, NULL));
		EXPECT_EQ(-ENOMEM, creators[i].rc);
	}
	/* The memory of pages that were busy. */
	ASSERT_EQ(0, munmap(buf, VICTIMS * BLOCK_BYTES));
	create_until_refused(&creators[0]);
	for (unsigned int i = 0; i < CREATORS; i++)
		created += creators[i].created;
	EXPECT_EQ(VICTIMS, created);
	EXPECT_TRUE(tracing_start());
	EXPECT_EQ(-ENOMEM, cmd_object_create(space, BLOCK_BYTES, id_of(A), 0));
	EXPECT_LT(MANY / 2, tracing_most("hmmrt_claim", "accounts="));
	EXPECT_LT(0, tracing_most("hmmrt_claim", "pauses="));
	EXPECT_EQ(1, tracing_count("hmmrt_claim", ""));
	EXPECT_EQ(1, tracing_count("hmmrt_claim", "error=-2"));
	tracing_stop();
	for (unsigned int i = 0; i < CREATORS; i++)
		for (unsigned int j = 0; j < creators[i].created; j++)
			close(creators[i].objects[j]);
	close(rest);
	EXPECT_EQ(MANY, end_many(MANY, go, ready));
}

TEST_HARNESS_MAIN
