// SPDX-License-Identifier: MIT
/*
 * Read-mostly memory: devices read their own duplicates. After a write by the
 * CPU, a device or the kernel, every reader must see the new data.
 */
#include "lib/fixture.h"
#include "lib/loop.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)
#define GRANULE_PAGES	16

/* A granule with READ_MOSTLY, filled with 1, 2, ... */
DEVICES_FIXTURE_SETUP(duplicates, .devices = 2, .bytes = GRANULE_BYTES)
{
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, SET_READ_MOSTLY));
}

static uint64_t copied(unsigned int device)
{
	return stats_of(device).out_copied_pages;
}

static uint64_t *page(const char *buf, size_t i)
{
	return (uint64_t *)(buf + i * PAGE_BYTES);
}

/* Reads all of the range; the device must get a duplicate of each page. */
#define ASSERT_COPIED(device, addr, len)				\
	do {								\
		const uint64_t _before = copied(device);		\
		ASSERT_DONE(dev_sum(device, addr, len));		\
		ASSERT_EQ(_before + (len) / PAGE_BYTES, copied(device)); \
	} while (0)

TEST_F(duplicates, device_reads_duplicates_of_pages_in_system_memory)
{
	struct hmmrt_device_info info;

	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_HAS(HOST, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, stats_of(A).out_remote_pages);
	ASSERT_EQ(0, stats_of(A).out_migrated_to_device);
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	ASSERT_LE(GRANULE_BYTES, info.out_used_bytes);
	/* The CPU's reads have not dropped the duplicates. */
	ASSERT_EQ(GRANULE_PAGES, copied(A));
	ASSERT_EQ(0, stats_of(A).out_cpu_faults);
}

TEST_F(duplicates, devices_read_what_the_cpu_wrote)
{
	const unsigned int seed = time(NULL);
	uint64_t expected[GRANULE_PAGES];

	TH_LOG("seed %u", seed);
	srand(seed);
	for (unsigned int i = 0; i < GRANULE_PAGES; i++)
		expected[i] = i + 1;
	for (unsigned int step = 0; step < 1000; step++) {
		const unsigned int at = rand() % GRANULE_PAGES;

		if (rand() % 4 == 0) {
			expected[at] = step + 1000;
			*page(buf, at) = expected[at];
		}
		ASSERT_VALUE(expected[at],
			     dev_read(rand() % 2 ? A : B, page(buf, at)));
		ASSERT_EQ(expected[at], *page(buf, at));
	}
	ASSERT_LT(GRANULE_PAGES, copied(A));
	ASSERT_LT(GRANULE_PAGES, copied(B));
}

TEST_F(duplicates, two_devices_have_duplicates_at_once)
{
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_COPIED(B, buf, GRANULE_BYTES);
	for (unsigned int i = 0; i < 10; i++) {
		ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
		ASSERT_SUM(B, buf, GRANULE_BYTES, 1);
	}
	/* Neither device had to duplicate again. */
	ASSERT_EQ(GRANULE_PAGES, copied(A));
	ASSERT_EQ(GRANULE_PAGES, copied(B));
	*page(buf, 3) = 77;
	ASSERT_VALUE(77, dev_read(A, page(buf, 3)));
	ASSERT_VALUE(77, dev_read(B, page(buf, 3)));
}

TEST_F(duplicates, all_others_read_what_a_device_wrote)
{
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_VALUE(i ? 100 + i - 1 : 6, dev_read(B, page(buf, 5)));
		ASSERT_VALUE(7, dev_read(A, page(buf, 6)));
		ASSERT_DONE(dev_write(A, page(buf, 5), 100 + i));
		ASSERT_VALUE(100 + i, dev_read(B, page(buf, 5)));
		ASSERT_EQ(100 + i, *page(buf, 5));
	}
}

/*
 * The last page of one allocation is often the first of the next one. A device
 * that writes to that page must not take other pages of the table.
 */
TEST_F(duplicates, device_write_takes_no_duplicates_along)
{
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_COPIED(B, buf, GRANULE_BYTES);
	ASSERT_DONE(dev_write(A, page(buf, 3), 77));
	for (unsigned int i = 0; i < GRANULE_PAGES; i++)
		ASSERT_EQ(1, pages_at(space, page(buf, i), PAGE_BYTES,
				      i == 3 ? id_of(A) : HOST));
	ASSERT_EQ(1, stats_of(A).out_migrated_to_device);
	/* Only that page has to be duplicated again. */
	ASSERT_VALUE(136 - 4 + 77, dev_sum(B, buf, GRANULE_BYTES));
	ASSERT_EQ(GRANULE_PAGES + 1, copied(B));
	ASSERT_VALUE(136 - 4 + 77, dev_sum(A, buf, GRANULE_BYTES));
}

/* Each fault takes as many pages as were written before it: 1, 1, 2, 4, 8. */
TEST_F(duplicates, device_sweep_writes_read_mostly_memory_in_few_faults)
{
	uint64_t before;

	for (unsigned int round = 0; round < 2; round++) {
		before = stats_of(A).out_device_faults;
		ASSERT_DONE(dev_fill(A, buf, GRANULE_BYTES, 500 + round));
		ASSERT_EQ(before + 5, stats_of(A).out_device_faults);
		ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 500 + round));
		/*
		 * Duplicate the pages: they had no duplicates in the first
		 * round.
		 */
		ASSERT_COPIED(A, buf, GRANULE_BYTES);
	}
}

/* The kernel writes for the process, also without using its page tables. */
TEST_F(duplicates, devices_read_what_the_kernel_wrote)
{
	uint64_t word = 4711;
	int fds[2], mem;

	ASSERT_EQ(0, pipe(fds));
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_EQ(8, write(fds[1], &word, sizeof(word)));
	ASSERT_EQ(8, read(fds[0], page(buf, 0), sizeof(word)));
	ASSERT_VALUE(4711, dev_read(A, page(buf, 0)));
	mem = FD(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
	ASSERT_EQ(8, pwrite(mem, &word, sizeof(word), (off_t)page(buf, 2)));
	ASSERT_VALUE(4711, dev_read(A, page(buf, 2)));
	close(mem);
}

TEST_F(duplicates, fork_separates_parent_and_child)
{
	struct gate gate = GATE();
	pid_t pid;

	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	pid = FORK();
	if (!pid) {
		*page(buf, 0) = 50;
		if (!gate_wait(&gate))
			_exit(1);
		_exit(*page(buf, 0) == 50 && *page(buf, 1) == 2 ? 0 : 2);
	}
	ASSERT_VALUE(1, dev_read(A, page(buf, 0)));
	ASSERT_VALUE(2, dev_read(A, page(buf, 1)));
	*page(buf, 1) = 60;
	ASSERT_VALUE(60, dev_read(A, page(buf, 1)));
	ASSERT_VALUE(1, dev_read(A, page(buf, 0)));
	ASSERT_TRUE(gate_open(&gate));
	ASSERT_EQ(0, process_wait(pid));
}

/* fork() shares the pages before they are duplicated; then the child writes. */
TEST_F(duplicates, write_of_a_child_forked_before_duplication)
{
	struct gate gate = GATE();
	pid_t pid = FORK();

	if (!pid) {
		if (!gate_wait(&gate))
			_exit(1);
		*page(buf, 0) = 50;
		_exit(0);
	}
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_TRUE(gate_open(&gate));
	ASSERT_EQ(0, process_wait(pid));
	/*
	 * The child is gone and the pages are still duplicated. A write must
	 * invalidate the duplicates.
	 */
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	*page(buf, 0) = 10;
	ASSERT_VALUE(10, dev_read(A, page(buf, 0)));
}

TEST_F(duplicates, discard_pageout_and_mprotect_drop_duplicates)
{
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_EQ(0, madvise(buf, PAGE_BYTES, MADV_DONTNEED));
	ASSERT_VALUE(0, dev_read(A, page(buf, 0)));
	ASSERT_EQ(0, madvise(buf, GRANULE_BYTES, MADV_PAGEOUT));
	*page(buf, 1) = 20;
	ASSERT_VALUE(20, dev_read(A, page(buf, 1)));
	ASSERT_VALUE(3, dev_read(A, page(buf, 2)));
	ASSERT_EQ(0, mprotect(buf, GRANULE_BYTES, PROT_READ));
	ASSERT_VALUE(4, dev_read(A, page(buf, 3)));
	ASSERT_EQ(0, mprotect(buf, GRANULE_BYTES, RW));
	*page(buf, 3) = 21;
	ASSERT_VALUE(21, dev_read(A, page(buf, 3)));
	ASSERT_EQ(0, mprotect(buf, GRANULE_BYTES, PROT_NONE));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, page(buf, 3)));
}

TEST_F(duplicates, prefetch_moves_pages_not_in_system_memory)
{
	struct hmmrt_prefetch result;
	char *empty = ANON(PAGE_BYTES);

	ASSERT_EQ(0, advise(empty, PAGE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, prefetch_result(A, empty, PAGE_BYTES, &result));
	ASSERT_EQ(1, result.out_pages_moved);
	ASSERT_AT(A, empty, PAGE_BYTES);
	ASSERT_EQ(0, advise(page(buf, 3), PAGE_BYTES, UNSET_READ_MOSTLY));
	ASSERT_EQ(0, prefetch(B, page(buf, 3), PAGE_BYTES));
	ASSERT_EQ(0, advise(page(buf, 3), PAGE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, prefetch_result(A, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(GRANULE_PAGES - 1, copied(A));
	ASSERT_EQ(1, count_at(A, buf, GRANULE_BYTES));
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 1));
}

TEST_F(duplicates, prefetch_makes_and_reports_duplicates)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, prefetch_result(A, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(GRANULE_PAGES, copied(A));
	ASSERT_AT(HOST, buf, GRANULE_BYTES);
	ASSERT_EQ(0, prefetch_result(A, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(0, result.out_pages_moved);
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_there);
	/* The device then reads without a fault. */
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, stats_of(A).out_device_faults);
}

/*
 * The pages that migrate have duplicated pages between them. The duplicates of
 * both devices stay.
 */
TEST_F(duplicates, prefetch_keeps_duplicates_between_moved_pages)
{
	char *buf = ANON(GRANULE_BYTES);
	struct hmmrt_page pages[GRANULE_PAGES];
	struct hmmrt_prefetch result;

	pages_fill(buf + PAGE_BYTES, GRANULE_BYTES - 2 * PAGE_BYTES, 2);
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, prefetch_result(A, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(0, prefetch_result(B, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(0, cmd_pages(space, buf, GRANULE_BYTES, pages));
	for (unsigned int i = 1; i < GRANULE_PAGES - 1; i++)
		ASSERT_EQ(1u << id_of(A) | 1u << id_of(B), pages[i].duplicates);
	ASSERT_EQ(id_of(B), pages[0].location);
	ASSERT_EQ(id_of(B), pages[GRANULE_PAGES - 1].location);
	ASSERT_EQ(0, prefetch_result(B, buf, GRANULE_BYTES, &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_there);
	ASSERT_EQ(GRANULE_PAGES - 2, copied(A));
	ASSERT_EQ(GRANULE_PAGES - 2, copied(B));
}

TEST_F(duplicates, unset_drops_duplicates)
{
	struct hmmrt_device_info info;

	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, UNSET_READ_MOSTLY));
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	ASSERT_EQ(session.devices[A].used_before, (int64_t)info.out_used_bytes);
	/* Without the advice, the pages migrate on access. */
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(GRANULE_PAGES, count_at(A, buf, GRANULE_BYTES));
	ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 1));
}

/*
 * Pages that are on a device when the advice is set stay there for reads by
 * that device. Reads by others migrate them back.
 */
TEST_F(duplicates, pages_on_a_device_stay_there_until_others_read_them)
{
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, UNSET_READ_MOSTLY));
	ASSERT_EQ(0, prefetch(A, buf, GRANULE_BYTES));
	ASSERT_EQ(0, advise(buf, GRANULE_BYTES, SET_READ_MOSTLY));
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, copied(A));
	ASSERT_SUM(B, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 1));
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
}

/*
 * A page with an extra reference gets no duplicate; the device maps it
 * remotely.
 */
TEST_F(duplicates, page_in_a_pipe_is_not_duplicated)
{
	struct iovec iov = { buf, PAGE_BYTES };
	uint64_t got;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((long)PAGE_BYTES, vmsplice(fds[1], &iov, 1, 0));
	ASSERT_SUM(A, buf, GRANULE_BYTES, 1);
	ASSERT_EQ(GRANULE_PAGES - 1, copied(A));
	*page(buf, 0) = 9;
	ASSERT_VALUE(9, dev_read(A, page(buf, 0)));
	ASSERT_EQ(8, read(fds[0], &got, sizeof(got)));
}

/* A page is spliced after it was duplicated: all read the same data. */
TEST_F(duplicates, duplicated_page_spliced_into_a_pipe_stays_consistent)
{
	struct iovec iov = { buf, PAGE_BYTES };
	uint64_t got;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_EQ((long)PAGE_BYTES, vmsplice(fds[1], &iov, 1, 0));
	ASSERT_VALUE(1, dev_read(A, page(buf, 0)));
	ASSERT_EQ(8, read(fds[0], &got, sizeof(got)));
	ASSERT_EQ(1, got);
	*page(buf, 0) = 9;
	ASSERT_VALUE(9, dev_read(A, page(buf, 0)));
}

TEST_F(duplicates, shared_and_unpopulated_memory_reads_current_data)
{
	uint64_t *shared = arena_map(PAGE_BYTES, RW, MAP_SHARED | MAP_ANONYMOUS,
				     -1, 0);
	uint64_t *empty = ANON(PAGE_BYTES);

	ASSERT_NE(NULL, shared);
	ASSERT_EQ(0, advise(shared, PAGE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise(empty, PAGE_BYTES, SET_READ_MOSTLY));
	*shared = 3;
	ASSERT_VALUE(3, dev_read(A, shared));
	ASSERT_VALUE(0, dev_read(A, empty));
	*shared = 4;
	*empty = 5;
	ASSERT_VALUE(4, dev_read(A, shared));
	ASSERT_VALUE(5, dev_read(A, empty));
	ASSERT_AT(HOST, shared, PAGE_BYTES);
}

TEST_F_TIMEOUT(duplicates, huge_pages_are_duplicated, 300)
{
	char *buf = ANON(2 * BLOCK_BYTES);

	madvise(buf, 2 * BLOCK_BYTES, MADV_HUGEPAGE);
	pages_fill(buf, 2 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, advise(buf, 2 * BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_SUM(A, buf, 2 * BLOCK_BYTES, 1);
	ASSERT_AT(HOST, buf, 2 * BLOCK_BYTES);
	ASSERT_LT(0, copied(A));
	pages_fill(buf, 2 * BLOCK_BYTES, 2);
	ASSERT_SUM(A, buf, 2 * BLOCK_BYTES, 2);
}

/*
 * A device with duplicates and entries for a peer's pages in one block loses
 * both when peer access is disabled.
 */
TEST_F(duplicates, peer_disable_drops_duplicates_and_peer_entries)
{
	char *buf = FILLED(2 * PAGE_BYTES);
	struct hmmrt_peer peer;

	ASSERT_EQ(0, cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_ENABLE,
			      &peer));
	ASSERT_EQ(1, peer.out_enabled);
	ASSERT_EQ(0, advise(buf, PAGE_BYTES, SET_READ_MOSTLY));
	ASSERT_EQ(0, advise_at(buf + PAGE_BYTES, PAGE_BYTES,
			       SET_PREFERRED_LOCATION, B));
	ASSERT_VALUE(2, dev_read(B, page(buf, 1)));
	ASSERT_AT(B, page(buf, 1), PAGE_BYTES);
	ASSERT_VALUE(2, dev_read(A, page(buf, 1)));
	ASSERT_AT(B, page(buf, 1), PAGE_BYTES);
	ASSERT_VALUE(1, dev_read(A, page(buf, 0)));
	ASSERT_EQ(1, copied(A));
	ASSERT_EQ(0, cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_DISABLE,
			      &peer));
	ASSERT_EQ(session.devices[A].used_before,
		  device_used_bytes(space, id_of(A)));
	*page(buf, 0) = 5;
	ASSERT_VALUE(5, dev_read(A, page(buf, 0)));
	ASSERT_VALUE(2, dev_read(A, page(buf, 1)));
}

/* --- under load ----------------------------------------------------------- */

/* Each page's value only grows, so no reader may see it decrease. */
static void write_next(void *rounds)
{
	uint64_t round = *(uint64_t *)rounds ? *(uint64_t *)rounds + 1 : 1000;

	for (size_t i = 0; i < GRANULE_PAGES; i++)
		__atomic_store_n(page(buf, i), round, __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)rounds, round, __ATOMIC_RELEASE);
	usleep(100);
}

static void take_away(void *unused)
{
	(void)unused;
	mprotect(buf, GRANULE_BYTES, RW);
	madvise(buf, GRANULE_BYTES, MADV_PAGEOUT);
	madvise(buf, GRANULE_BYTES, MADV_COLD);
	usleep(1000);
}

TEST_F_TIMEOUT(duplicates, duplicates_are_never_older_than_the_last_write, 300)
{
	struct loop writer, taker;
	uint64_t seen[2] = {}, rounds = 0;

	ASSERT_EQ(0, loop_start(&writer, write_next, &rounds));
	ASSERT_EQ(0, loop_start(&taker, take_away, NULL));
	for (unsigned int i = 0; i < 1000; i++) {
		uint64_t before = __atomic_load_n(&rounds, __ATOMIC_ACQUIRE);
		struct outcome outcome =
			dev_read(i % 2 ? A : B, page(buf, i % GRANULE_PAGES));

		ASSERT_DONE(outcome);
		ASSERT_LE(before, outcome.value);
		seen[i % 2] += outcome.value;
	}
	loop_stop(&writer);
	loop_stop(&taker);
	ASSERT_LT(0, seen[0]);
	ASSERT_LT(0, seen[1]);
	ASSERT_LT(0, copied(A));
	ASSERT_EQ(*page(buf, 0), rounds);
}

/* The last file of a binding may be closed a little later. */
static bool wait_unused(unsigned int device)
{
	return WAIT_UNTIL(device_used_bytes(space, id_of(device)) ==
				  session.devices[device].used_before,
			  5);
}

TEST_F(duplicates, unbind_frees_duplicates)
{
	ASSERT_COPIED(A, buf, GRANULE_BYTES);
	ASSERT_COPIED(B, buf, GRANULE_BYTES);
	/* Each agent has the files of both devices open. */
	session_unbind(&session, A);
	session_unbind(&session, B);
	ASSERT_TRUE(wait_unused(A));
	ASSERT_TRUE(wait_unused(B));
	ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 1));
}

TEST_HARNESS_MAIN
