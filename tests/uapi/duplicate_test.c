// SPDX-License-Identifier: MIT
/*
 * Read-mostly memory: devices read their own duplicates. After a write by the
 * CPU, a device or the kernel, every reader must see the new data.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/session.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)
#define GRANULE_PAGES	16
#define HOST		HMMRT_LOCATION_HOST

FIXTURE(duplicates) {
	struct session session;
	int fd;
	struct agent *agent;
	struct agent *other;
	uint32_t id;
	uint32_t other_id;
	char *buf;
};

/* A granule with READ_MOSTLY, filled with 1, 2, ... */
FIXTURE_SETUP(duplicates)
{
	ASSERT_EQ(0, session_start(&self->session, 2, 1));
	self->fd = self->session.space;
	self->agent = &self->session.devices[0].agent;
	self->other = &self->session.devices[1].agent;
	self->id = self->session.devices[0].id;
	self->other_id = self->session.devices[1].id;
	self->buf = arena_anon(GRANULE_BYTES);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, cmd_advise(self->fd, self->buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
}

FIXTURE_TEARDOWN(duplicates)
{
	EXPECT_EQ(0, session_end(&self->session));
}

static uint64_t copied(const struct session *session, unsigned int device)
{
	return session_stats(session, device).out_copied_pages;
}

static uint64_t *page(const char *buf, size_t i)
{
	return (uint64_t *)(buf + i * PAGE_BYTES);
}

#define ASSERT_ON_HOST(addr, len)					\
	ASSERT_EQ((long)((len) / PAGE_BYTES),				\
		  pages_at(self->fd, addr, len, HOST))

/* Reads all of the range; the device must get a duplicate of each page. */
#define ASSERT_COPIED(device, addr, len)				\
	do {								\
		const uint64_t _before = copied(&self->session, device);	\
		ASSERT_DONE(agent_sum(&self->session.devices[device].agent,	\
				      addr, len, PAGE_BYTES));		\
		ASSERT_EQ(_before + (len) / PAGE_BYTES,			\
			  copied(&self->session, device));		\
	} while (0)

TEST_F(duplicates, device_reads_duplicates_of_pages_in_system_memory)
{
	struct hmmrt_device_info info;

	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_ON_HOST(self->buf, GRANULE_BYTES);
	ASSERT_EQ(-1, pages_check(self->buf, GRANULE_BYTES, 1));
	ASSERT_EQ(0, session_stats(&self->session, 0).out_remote_pages);
	ASSERT_EQ(0, session_stats(&self->session, 0).out_migrated_to_device);
	ASSERT_EQ(0, cmd_device_info(self->fd, self->id, &info));
	ASSERT_LE(GRANULE_BYTES, info.out_used_bytes);
	/* The CPU's reads have not dropped the duplicates. */
	ASSERT_EQ(GRANULE_PAGES, copied(&self->session, 0));
	ASSERT_EQ(0, session_stats(&self->session, 0).out_cpu_faults);
}

TEST_F(duplicates, devices_read_what_the_cpu_wrote)
{
	const unsigned int seed = time(NULL);
	uint64_t expected[GRANULE_PAGES];
	unsigned int i, step;

	TH_LOG("seed %u", seed);
	srand(seed);
	for (i = 0; i < GRANULE_PAGES; i++)
		expected[i] = i + 1;
	for (step = 0; step < 1000; step++) {
		const unsigned int at = rand() % GRANULE_PAGES;

		if (rand() % 4 == 0) {
			expected[at] = step + 1000;
			*page(self->buf, at) = expected[at];
		}
		ASSERT_VALUE(expected[at], agent_read(rand() % 2 ? self->agent :
								   self->other,
						      page(self->buf, at)));
		ASSERT_EQ(expected[at], *page(self->buf, at));
	}
	ASSERT_LT(GRANULE_PAGES, copied(&self->session, 0));
	ASSERT_LT(GRANULE_PAGES, copied(&self->session, 1));
}

TEST_F(duplicates, two_devices_have_duplicates_at_once)
{
	unsigned int i;

	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_COPIED(1, self->buf, GRANULE_BYTES);
	for (i = 0; i < 10; i++) {
		ASSERT_VALUE(136, agent_sum(self->agent, self->buf,
					    GRANULE_BYTES, PAGE_BYTES));
		ASSERT_VALUE(136, agent_sum(self->other, self->buf,
					    GRANULE_BYTES, PAGE_BYTES));
	}
	/* Neither device had to duplicate again. */
	ASSERT_EQ(GRANULE_PAGES, copied(&self->session, 0));
	ASSERT_EQ(GRANULE_PAGES, copied(&self->session, 1));
	*page(self->buf, 3) = 77;
	ASSERT_VALUE(77, agent_read(self->agent, page(self->buf, 3)));
	ASSERT_VALUE(77, agent_read(self->other, page(self->buf, 3)));
}

TEST_F(duplicates, all_others_read_what_a_device_wrote)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		ASSERT_VALUE(i ? 100 + i - 1 : 6,
			     agent_read(self->other, page(self->buf, 5)));
		ASSERT_VALUE(7, agent_read(self->agent, page(self->buf, 6)));
		ASSERT_DONE(agent_write(self->agent, page(self->buf, 5),
					100 + i));
		ASSERT_VALUE(100 + i, agent_read(self->other,
						 page(self->buf, 5)));
		ASSERT_EQ(100 + i, *page(self->buf, 5));
	}
}

/*
 * The last page of one allocation is often the first of the next one. A device
 * that writes to that page must not take other pages of the table.
 */
TEST_F(duplicates, device_write_takes_no_duplicates_along)
{
	unsigned int i;

	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_COPIED(1, self->buf, GRANULE_BYTES);
	ASSERT_DONE(agent_write(self->agent, page(self->buf, 3), 77));
	for (i = 0; i < GRANULE_PAGES; i++)
		ASSERT_EQ(1, pages_at(self->fd, page(self->buf, i), PAGE_BYTES,
				      i == 3 ? self->id : HOST));
	ASSERT_EQ(1, session_stats(&self->session, 0).out_migrated_to_device);
	/* Only that page has to be duplicated again. */
	ASSERT_VALUE(136 - 4 + 77, agent_sum(self->other, self->buf,
					     GRANULE_BYTES, PAGE_BYTES));
	ASSERT_EQ(GRANULE_PAGES + 1, copied(&self->session, 1));
	ASSERT_VALUE(136 - 4 + 77, agent_sum(self->agent, self->buf,
					     GRANULE_BYTES, PAGE_BYTES));
}

/* Each fault takes as many pages as were written before it: 1, 1, 2, 4, 8. */
TEST_F(duplicates, device_sweep_writes_read_mostly_memory_in_few_faults)
{
	unsigned int round;
	uint64_t before;

	for (round = 0; round < 2; round++) {
		before = session_stats(&self->session, 0).out_device_faults;
		ASSERT_DONE(agent_fill(self->agent, self->buf, GRANULE_BYTES,
				       PAGE_BYTES, 500 + round));
		ASSERT_EQ(before + 5, session_stats(&self->session, 0)
					      .out_device_faults);
		ASSERT_EQ(-1, pages_check(self->buf, GRANULE_BYTES,
					  500 + round));
		/*
		 * Duplicate the pages: they had no duplicates in the first
		 * round.
		 */
		ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	}
}

/* The kernel writes for the process, also without using its page tables. */
TEST_F(duplicates, devices_read_what_the_kernel_wrote)
{
	uint64_t word = 4711;
	int fds[2], mem;

	ASSERT_EQ(0, pipe(fds));
	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_EQ(8, write(fds[1], &word, sizeof(word)));
	ASSERT_EQ(8, read(fds[0], page(self->buf, 0), sizeof(word)));
	ASSERT_VALUE(4711, agent_read(self->agent, page(self->buf, 0)));
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, mem);
	ASSERT_EQ(8, pwrite(mem, &word, sizeof(word),
			    (off_t)page(self->buf, 2)));
	ASSERT_VALUE(4711, agent_read(self->agent, page(self->buf, 2)));
	close(mem);
	close(fds[0]);
	close(fds[1]);
}

TEST_F(duplicates, fork_separates_parent_and_child)
{
	int status, fds[2];
	pid_t pid;
	char go;

	ASSERT_EQ(0, pipe(fds));
	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		*page(self->buf, 0) = 50;
		if (read(fds[0], &go, 1) != 1)
			_exit(1);
		_exit(*page(self->buf, 0) == 50 && *page(self->buf, 1) == 2 ?
			      0 : 2);
	}
	ASSERT_VALUE(1, agent_read(self->agent, page(self->buf, 0)));
	ASSERT_VALUE(2, agent_read(self->agent, page(self->buf, 1)));
	*page(self->buf, 1) = 60;
	ASSERT_VALUE(60, agent_read(self->agent, page(self->buf, 1)));
	ASSERT_VALUE(1, agent_read(self->agent, page(self->buf, 0)));
	ASSERT_EQ(1, write(fds[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	close(fds[0]);
	close(fds[1]);
}

/* fork() shares the pages before they are duplicated; then the child writes. */
TEST_F(duplicates, write_of_a_child_forked_before_duplication)
{
	int status, fds[2];
	pid_t pid;
	char go;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (read(fds[0], &go, 1) != 1)
			_exit(1);
		*page(self->buf, 0) = 50;
		_exit(0);
	}
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(1, write(fds[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	/*
	 * The child is gone and the pages are still duplicated. A write must
	 * invalidate the duplicates.
	 */
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	*page(self->buf, 0) = 10;
	ASSERT_VALUE(10, agent_read(self->agent, page(self->buf, 0)));
	close(fds[0]);
	close(fds[1]);
}

TEST_F(duplicates, discard_pageout_and_mprotect_drop_duplicates)
{
	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_EQ(0, madvise(self->buf, PAGE_BYTES, MADV_DONTNEED));
	ASSERT_VALUE(0, agent_read(self->agent, page(self->buf, 0)));
	ASSERT_EQ(0, madvise(self->buf, GRANULE_BYTES, MADV_PAGEOUT));
	*page(self->buf, 1) = 20;
	ASSERT_VALUE(20, agent_read(self->agent, page(self->buf, 1)));
	ASSERT_VALUE(3, agent_read(self->agent, page(self->buf, 2)));
	ASSERT_EQ(0, mprotect(self->buf, GRANULE_BYTES, PROT_READ));
	ASSERT_VALUE(4, agent_read(self->agent, page(self->buf, 3)));
	ASSERT_EQ(0, mprotect(self->buf, GRANULE_BYTES,
			      PROT_READ | PROT_WRITE));
	*page(self->buf, 3) = 21;
	ASSERT_VALUE(21, agent_read(self->agent, page(self->buf, 3)));
	ASSERT_EQ(0, mprotect(self->buf, GRANULE_BYTES, PROT_NONE));
	ASSERT_REFUSED(SIGSEGV, EACCES,
		       agent_read(self->agent, page(self->buf, 3)));
}

TEST_F(duplicates, prefetch_moves_pages_not_in_system_memory)
{
	struct hmmrt_prefetch result;
	char *empty = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, empty);
	ASSERT_EQ(0, cmd_advise(self->fd, empty, PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_prefetch(self->fd, empty, PAGE_BYTES, self->id,
				  &result));
	ASSERT_EQ(1, result.out_pages_moved);
	ASSERT_EQ(1, pages_at(self->fd, empty, PAGE_BYTES, self->id));
	ASSERT_EQ(0, cmd_advise(self->fd, page(self->buf, 3), PAGE_BYTES,
				HMMRT_ADVICE_UNSET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_prefetch(self->fd, page(self->buf, 3), PAGE_BYTES,
				  self->other_id, NULL));
	ASSERT_EQ(0, cmd_advise(self->fd, page(self->buf, 3), PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, GRANULE_BYTES, self->id,
				  &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(GRANULE_PAGES - 1, copied(&self->session, 0));
	ASSERT_EQ(1, pages_at(self->fd, self->buf, GRANULE_BYTES, self->id));
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, GRANULE_BYTES, 1));
}

TEST_F(duplicates, prefetch_makes_and_reports_duplicates)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, GRANULE_BYTES, self->id,
				  &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(GRANULE_PAGES, copied(&self->session, 0));
	ASSERT_ON_HOST(self->buf, GRANULE_BYTES);
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, GRANULE_BYTES, self->id,
				  &result));
	ASSERT_EQ(0, result.out_pages_moved);
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_there);
	/* The device then reads without a fault. */
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(0, session_stats(&self->session, 0).out_device_faults);
}

/*
 * The pages that migrate have duplicated pages between them. The duplicates of
 * both devices stay.
 */
TEST_F(duplicates, prefetch_keeps_duplicates_between_moved_pages)
{
	char *buf = arena_anon(GRANULE_BYTES);
	struct hmmrt_page pages[GRANULE_PAGES];
	struct hmmrt_prefetch result;
	unsigned int i;

	ASSERT_NE(NULL, buf);
	pages_fill(buf + PAGE_BYTES, GRANULE_BYTES - 2 * PAGE_BYTES, 2);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_prefetch(self->fd, buf, GRANULE_BYTES, self->id,
				  &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(0, cmd_prefetch(self->fd, buf, GRANULE_BYTES, self->other_id,
				  &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_moved);
	ASSERT_EQ(0, cmd_pages(self->fd, buf, GRANULE_BYTES, pages));
	for (i = 1; i < GRANULE_PAGES - 1; i++)
		ASSERT_EQ(1u << self->id | 1u << self->other_id,
			  pages[i].duplicates);
	ASSERT_EQ(self->other_id, pages[0].location);
	ASSERT_EQ(self->other_id, pages[GRANULE_PAGES - 1].location);
	ASSERT_EQ(0, cmd_prefetch(self->fd, buf, GRANULE_BYTES, self->other_id,
				  &result));
	ASSERT_EQ(GRANULE_PAGES, result.out_pages_there);
	ASSERT_EQ(GRANULE_PAGES - 2, copied(&self->session, 0));
	ASSERT_EQ(GRANULE_PAGES - 2, copied(&self->session, 1));
}

TEST_F(duplicates, unset_drops_duplicates)
{
	struct hmmrt_device_info info;

	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_EQ(0, cmd_advise(self->fd, self->buf, GRANULE_BYTES,
				HMMRT_ADVICE_UNSET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_device_info(self->fd, self->id, &info));
	ASSERT_EQ(self->session.devices[0].used_before,
		  (int64_t)info.out_used_bytes);
	/* Without the advice, the pages migrate on access. */
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(GRANULE_PAGES,
		  pages_at(self->fd, self->buf, GRANULE_BYTES, self->id));
	ASSERT_EQ(-1, pages_check(self->buf, GRANULE_BYTES, 1));
}

/*
 * Pages that are on a device when the advice is set stay there for reads by
 * that device. Reads by others migrate them back.
 */
TEST_F(duplicates, pages_on_a_device_stay_there_until_others_read_them)
{
	ASSERT_EQ(0, cmd_advise(self->fd, self->buf, GRANULE_BYTES,
				HMMRT_ADVICE_UNSET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, GRANULE_BYTES, self->id,
				  NULL));
	ASSERT_EQ(0, cmd_advise(self->fd, self->buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(0, copied(&self->session, 0));
	ASSERT_VALUE(136, agent_sum(self->other, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, GRANULE_BYTES, 1));
	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
}

/*
 * A page with an extra reference gets no duplicate; the device maps it
 * remotely.
 */
TEST_F(duplicates, page_in_a_pipe_is_not_duplicated)
{
	struct iovec iov = { self->buf, PAGE_BYTES };
	uint64_t got;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((long)PAGE_BYTES, vmsplice(fds[1], &iov, 1, 0));
	ASSERT_VALUE(136, agent_sum(self->agent, self->buf, GRANULE_BYTES,
				    PAGE_BYTES));
	ASSERT_EQ(GRANULE_PAGES - 1, copied(&self->session, 0));
	*page(self->buf, 0) = 9;
	ASSERT_VALUE(9, agent_read(self->agent, page(self->buf, 0)));
	ASSERT_EQ(8, read(fds[0], &got, sizeof(got)));
	close(fds[0]);
	close(fds[1]);
}

/* A page is spliced after it was duplicated: all read the same data. */
TEST_F(duplicates, duplicated_page_spliced_into_a_pipe_stays_consistent)
{
	struct iovec iov = { self->buf, PAGE_BYTES };
	uint64_t got;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_EQ((long)PAGE_BYTES, vmsplice(fds[1], &iov, 1, 0));
	ASSERT_VALUE(1, agent_read(self->agent, page(self->buf, 0)));
	ASSERT_EQ(8, read(fds[0], &got, sizeof(got)));
	ASSERT_EQ(1, got);
	*page(self->buf, 0) = 9;
	ASSERT_VALUE(9, agent_read(self->agent, page(self->buf, 0)));
	close(fds[0]);
	close(fds[1]);
}

TEST_F(duplicates, shared_and_unpopulated_memory_reads_current_data)
{
	uint64_t *shared = arena_map(PAGE_BYTES, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t *empty = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, shared);
	ASSERT_NE(NULL, empty);
	ASSERT_EQ(0, cmd_advise(self->fd, shared, PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_advise(self->fd, empty, PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	*shared = 3;
	ASSERT_VALUE(3, agent_read(self->agent, shared));
	ASSERT_VALUE(0, agent_read(self->agent, empty));
	*shared = 4;
	*empty = 5;
	ASSERT_VALUE(4, agent_read(self->agent, shared));
	ASSERT_VALUE(5, agent_read(self->agent, empty));
	ASSERT_ON_HOST(shared, PAGE_BYTES);
}

TEST_F_TIMEOUT(duplicates, huge_pages_are_duplicated, 300)
{
	const uint64_t pages = BLOCK_BYTES / PAGE_BYTES;
	char *buf = arena_anon(2 * BLOCK_BYTES);

	ASSERT_NE(NULL, buf);
	madvise(buf, 2 * BLOCK_BYTES, MADV_HUGEPAGE);
	pages_fill(buf, 2 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, 2 * BLOCK_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_VALUE(pages * (2 * pages + 1),
		     agent_sum(self->agent, buf, 2 * BLOCK_BYTES, PAGE_BYTES));
	ASSERT_ON_HOST(buf, 2 * BLOCK_BYTES);
	ASSERT_LT(0, copied(&self->session, 0));
	pages_fill(buf, 2 * BLOCK_BYTES, 2);
	ASSERT_VALUE(pages * (2 * pages + 3),
		     agent_sum(self->agent, buf, 2 * BLOCK_BYTES, PAGE_BYTES));
}

/*
 * A device with duplicates and entries for a peer's pages in one block loses
 * both when peer access is disabled.
 */
TEST_F(duplicates, peer_disable_drops_duplicates_and_peer_entries)
{
	char *buf = arena_anon(2 * PAGE_BYTES);
	struct hmmrt_peer peer;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, 2 * PAGE_BYTES, 1);
	ASSERT_EQ(0, cmd_peer(self->fd, self->id, self->other_id,
			      HMMRT_PEER_ENABLE, &peer));
	ASSERT_EQ(1, peer.out_enabled);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_advise(self->fd, buf + PAGE_BYTES, PAGE_BYTES,
				HMMRT_ADVICE_SET_PREFERRED_LOCATION,
				self->other_id, 0));
	ASSERT_VALUE(2, agent_read(self->other, page(buf, 1)));
	ASSERT_EQ(1, pages_at(self->fd, page(buf, 1), PAGE_BYTES,
			      self->other_id));
	ASSERT_VALUE(2, agent_read(self->agent, page(buf, 1)));
	ASSERT_EQ(1, pages_at(self->fd, page(buf, 1), PAGE_BYTES,
			      self->other_id));
	ASSERT_VALUE(1, agent_read(self->agent, page(buf, 0)));
	ASSERT_EQ(1, copied(&self->session, 0));
	ASSERT_EQ(0, cmd_peer(self->fd, self->id, self->other_id,
			      HMMRT_PEER_DISABLE, &peer));
	ASSERT_EQ(self->session.devices[0].used_before,
		  device_used_bytes(self->fd, self->id));
	*page(buf, 0) = 5;
	ASSERT_VALUE(5, agent_read(self->agent, page(buf, 0)));
	ASSERT_VALUE(2, agent_read(self->agent, page(buf, 1)));
}

/* --- under load ----------------------------------------------------------- */

struct writer {
	char *buf;
	bool stop;
	uint64_t rounds;
};

/* Each page's value only grows, so no reader may see it decrease. */
static void *write_on(void *arg)
{
	struct writer *writer = arg;
	uint64_t round = 1000;
	size_t i;

	while (!__atomic_load_n(&writer->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < GRANULE_PAGES; i++)
			__atomic_store_n(page(writer->buf, i), round,
					 __ATOMIC_RELEASE);
		__atomic_store_n(&writer->rounds, round, __ATOMIC_RELEASE);
		round++;
		usleep(100);
	}
	return NULL;
}

static void *take_away(void *arg)
{
	struct writer *writer = arg;

	while (!__atomic_load_n(&writer->stop, __ATOMIC_RELAXED)) {
		mprotect(writer->buf, GRANULE_BYTES, PROT_READ | PROT_WRITE);
		madvise(writer->buf, GRANULE_BYTES, MADV_PAGEOUT);
		madvise(writer->buf, GRANULE_BYTES, MADV_COLD);
		usleep(1000);
	}
	return NULL;
}

TEST_F_TIMEOUT(duplicates, duplicates_are_never_older_than_the_last_write, 300)
{
	struct writer writer = { .buf = self->buf };
	uint64_t seen[2] = {};
	pthread_t threads[2];
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&threads[0], NULL, write_on, &writer));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, take_away, &writer));
	for (i = 0; i < 1000; i++) {
		struct agent *agent = i % 2 ? self->agent : self->other;
		uint64_t before = __atomic_load_n(&writer.rounds,
						  __ATOMIC_ACQUIRE);
		struct outcome outcome;

		outcome = agent_read(agent, page(self->buf, i % GRANULE_PAGES));
		ASSERT_DONE(outcome);
		ASSERT_LE(before, outcome.value);
		seen[i % 2] += outcome.value;
	}
	__atomic_store_n(&writer.stop, true, __ATOMIC_RELAXED);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	ASSERT_LT(0, seen[0]);
	ASSERT_LT(0, seen[1]);
	ASSERT_LT(0, copied(&self->session, 0));
	ASSERT_EQ(*page(self->buf, 0), writer.rounds);
}

/* The last file of a binding may be closed a little later. */
static bool wait_unused(const struct session *session, unsigned int device)
{
	const struct session_device *which = &session->devices[device];
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		if (device_used_bytes(session->space, which->id) ==
		    which->used_before)
			return true;
		usleep(5000);
	}
	return false;
}

TEST_F(duplicates, unbind_frees_duplicates)
{
	ASSERT_COPIED(0, self->buf, GRANULE_BYTES);
	ASSERT_COPIED(1, self->buf, GRANULE_BYTES);
	/* Each agent has the files of both devices open. */
	session_unbind(&self->session, 0);
	session_unbind(&self->session, 1);
	ASSERT_TRUE(wait_unused(&self->session, 0));
	ASSERT_TRUE(wait_unused(&self->session, 1));
	ASSERT_EQ(-1, pages_check(self->buf, GRANULE_BYTES, 1));
}

TEST_HARNESS_MAIN
