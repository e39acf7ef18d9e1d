// SPDX-License-Identifier: MIT
/*
 * Devices that keep failing, or that go away. Only pages that cannot be read
 * any more are lost, and each access to them gets an error. Loads and removes
 * the module.
 */
#include "lib/amount.h"
#include "lib/faulty_fixture.h"
#include "lib/inject.h"
#include "lib/object.h"

FAULTY_FIXTURE(broken, .first = 7000)

/* A driver bug: the device requests no access at all. */
TEST_F(broken, fault_for_no_access_is_refused_for_a_page_as_for_a_range)
{
	EXPECT_EQ(-EFAULT,
		  faulty_range(fds[A], HMMRT_FAULTY_IOC_FAULT_NONE, buf, LEN));
	EXPECT_EQ(-EFAULT,
		  faulty_range(fds[A], HMMRT_FAULTY_IOC_FAULT_RANGE_NONE, buf,
			       LEN));
	EXPECT_EQ(0, pages_on(A));
}

TEST_F(broken, unreadable_page_is_sigbus_until_it_is_readable)
{
	uint64_t value = 0;
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(SIGBUS, cpu_read(buf, &value));
	EXPECT_EQ(-1, write(ends[1], buf, 1));
	EXPECT_EQ(EFAULT, errno);
	close(ends[0]);
	close(ends[1]);
	/* The page is still on the device, and the device can read it. */
	EXPECT_EQ(PAGES, pages_on(A));
	EXPECT_EQ(0, faulty_read(fds[A], buf, &value));
	EXPECT_EQ(first, value);
	/* The other device cannot get the page either. */
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_FROM_PEER));
	EXPECT_EQ(-EFAULT, faulty_read(fds[B], buf, &value));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(0, faulty_read(fds[B], buf, &value));
	EXPECT_EQ(first, value);
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/* A page shared by fork(): each process gets the error of its own access. */
TEST_F(broken, child_gets_sigbus_and_the_page_stays_on_the_device)
{
	pid_t pid;

	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	pid = fork();
	if (!pid) {
		signal(SIGBUS, SIG_DFL);
		_exit(*(volatile char *)buf);
	}
	EXPECT_EQ(SIGBUS, WTERMSIG(process_wait(pid)));
	EXPECT_EQ(PAGES, pages_on(A));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/* A CPU fault also migrates neighbours. Their failure must not fail it. */
TEST_F(broken, unreadable_neighbour_does_not_fail_a_fault)
{
	uint64_t value = 0;

	ASSERT_EQ(0, put_on(A));
	/*
	 * Two calls fail: the copy of all 64 KiB around the sixth page, then
	 * the copy of the first page alone.
	 */
	ASSERT_EQ(0, faulty_fail_next(control, HMMRT_FAULTY_COPY_TO_HOST, 2));
	ASSERT_EQ(0, cpu_read(buf + 5 * PAGE_BYTES, &value));
	EXPECT_EQ(first + 5, value);
	EXPECT_EQ(0, faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_AT(A, buf, PAGE_BYTES);
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

TEST_F(broken, eviction_leaves_unreadable_pages)
{
	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(-EBUSY, faulty_evict(control, A));
	EXPECT_EQ(PAGES, pages_on(A));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(0, faulty_evict(control, A));
	EXPECT_EQ(0, pages_on(A));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/* One copy fails when the device goes away; the retry moves everything. */
TEST_F(broken, removal_retries_a_failed_copy)
{
	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, put_on(B));
	ASSERT_EQ(0, faulty_fail_nth(control, HMMRT_FAULTY_COPY_TO_HOST, 2));
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_EQ(0, faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/* Exits with 0 if the first read gets SIGBUS and the second the right value. */
static void child_reads_twice(int go)
{
	uint64_t value = 0;
	char c;

	close(fds[A]);
	close(fds[B]);
	if (read(go, &c, 1) != 1 || cpu_read(buf, &value) != SIGBUS)
		_exit(1);
	if (read(go, &c, 1) != 0 || cpu_read(buf, &value))
		_exit(2);
	_exit(value == first ? 0 : 3);
}

/*
 * A device that goes away evicts its pages, in up to three passes. A pass that
 * finds a page busy does not count. Each pass makes one copy call for the whole
 * chunk and one for the page. Only the child has the page, and a child has no
 * binding, so only the end of the device evicts the page. The bindings end
 * before the copy begins, and the other device stays, because the end of either
 * would wait for the copy.
 */
TEST_F(broken, removal_retries_a_busy_page_as_often_as_others)
{
	int ends[2];
	pid_t pid;

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(0, to_device(B, buf, PAGE_BYTES));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		child_reads_twice(ends[0]);
	}
	close(ends[0]);
	ASSERT_EQ(0, madvise(buf, PAGE_BYTES, MADV_DONTNEED));
	close(fds[A]);
	close(fds[B]);
	fds[A] = -1;
	fds[B] = -1;
	ASSERT_EQ(0, faulty_slow_copy(control, 1500));
	/* Just above 2^32 jiffies if HZ is 250. */
	ASSERT_TRUE(set_leave_wait("17179870"));
	ASSERT_EQ(1, write(ends[1], "1", 1));
	WAIT_UNTIL(!faulty_slow_copy(control, 0), 10);
	ASSERT_EQ(0, faulty_fail_next(control, HMMRT_FAULTY_COPY_TO_HOST, 4));
	ASSERT_EQ(0, faulty_devices(control, 1));
	EXPECT_TRUE(set_leave_wait("30"));
	EXPECT_EQ(0, faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST));
	close(ends[1]);
	EXPECT_EQ(0, process_wait(pid));
}

/* Lost pages give SIGBUS, not zeroes or the contents of other memory. */
TEST_F(broken, page_lost_with_its_device_is_sigbus)
{
	const size_t lost = 4;
	uint64_t value = 0;

	ASSERT_EQ(0, to_device(A, buf, lost * PAGE_BYTES));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	ASSERT_EQ(0, faulty_devices(control, 0));
	for (size_t i = 0; i < PAGES; i++) {
		char *addr = buf + i * PAGE_BYTES;

		value = 0;
		ASSERT_EQ(i < lost ? SIGBUS : 0, cpu_read(addr, &value));
		ASSERT_EQ(i < lost ? 0 : first + i, value);
	}
	/* The addresses can be reused. */
	ASSERT_EQ(0, madvise(buf, lost * PAGE_BYTES, MADV_DONTNEED));
	ASSERT_EQ(0, cpu_read(buf, &value));
	EXPECT_EQ(0, value);
}

/* Returns a value in KiB, or -1 if it is missing. */
static long meminfo(const char *format)
{
	return read_number("/proc/meminfo", format);
}

/* Counts the areas in /proc/iomem with this name. */
static unsigned int areas(const char *name)
{
	FILE *file = fopen("/proc/iomem", "re");
	unsigned int n = 0;
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0)
		n += !!strstr(line, name);
	free(line);
	if (file)
		fclose(file);
	return n;
}

/* An area of lost pages goes away with the last mapping of its pages. */
static unsigned int lost_areas(void)
{
	return areas("hmmrt lost pages");
}

static bool lost_areas_go(void)
{
	return WAIT_UNTIL(!lost_areas(), 10);
}

/*
 * The device's memory has no backing storage, so it cannot return any data. All
 * its memory is in use when it goes away. Its lost pages must not use system
 * memory, for 32 MiB or for the size that the environment sets.
 */
TEST_F(broken, lost_pages_use_no_system_memory)
{
	const char *mib = getenv("HMMRT_TEST_LOST_MIB");
	const size_t len = (mib ? strtoul(mib, NULL, 10) : amount(32, 16)) << 20;
	long poisoned, available;
	char *buf;
	int fd;

	ASSERT_EQ(0, faulty_devices(control, 0));
	ASSERT_EQ(0, faulty_hollow(control, len >> 20));
	ASSERT_EQ(0, faulty_devices(control, 1));
	fd = FD(open_faulty(0));
	buf = mmap(NULL, len, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)buf);
	ASSERT_EQ(0, madvise(buf, len, MADV_NOHUGEPAGE));
	/* The pages were not populated: they are allocated on the device. */
	ASSERT_EQ(0, faulty_range(fd, HMMRT_FAULTY_IOC_TO_DEVICE, buf, len));
	poisoned = meminfo("HardwareCorrupted: %ld");
	available = meminfo("MemAvailable: %ld");
	ASSERT_EQ(0, faulty_devices(control, 0));
	EXPECT_GE(poisoned + 64, meminfo("HardwareCorrupted: %ld"));
	EXPECT_LT(available - (long)(len >> 11), meminfo("MemAvailable: %ld"));
	EXPECT_EQ(SIGBUS, cpu_read(buf, NULL));
	EXPECT_EQ(SIGBUS, cpu_read(buf + len / 2, NULL));
	EXPECT_EQ(SIGBUS, cpu_read(buf + len - PAGE_BYTES, NULL));
	EXPECT_LT(0, lost_areas());
	close(fd);
	ASSERT_EQ(0, munmap(buf, len));
	EXPECT_TRUE(lost_areas_go());
	ASSERT_EQ(0, faulty_hollow(control, 0));
}

/*
 * Lost pages belong to the process until it unmaps them: they survive fork(),
 * mremap() and mprotect().
 */
TEST_F(broken, lost_pages_survive_fork_mremap_and_mprotect)
{
	const size_t len = 4 * PAGE_BYTES;
	uint64_t value = 0;
	int ends[2];
	char *away;

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(0, to_device(A, buf, len));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	ASSERT_EQ(0, faulty_devices(control, 0));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	/* Read them in a system call, and in a child. */
	EXPECT_EQ(-1, write(ends[1], buf, 1));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, IN_CHILD(cpu_read(buf, &value) != SIGBUS));
	away = mremap(buf, PAGE_BYTES, PAGE_BYTES,
		      MREMAP_MAYMOVE | MREMAP_FIXED, arena_anon(PAGE_BYTES));
	ASSERT_NE(MAP_FAILED, (void *)away);
	EXPECT_EQ(SIGBUS, cpu_read(away, &value));
	ASSERT_EQ(0, mprotect(buf + PAGE_BYTES, PAGE_BYTES, PROT_READ));
	EXPECT_EQ(SIGBUS, cpu_read(buf + PAGE_BYTES, &value));
	/*
	 * A new device gets the adjacent pages, and an error for the lost
	 * pages.
	 */
	ASSERT_EQ(0, faulty_renew());
	EXPECT_EQ(-EFAULT, faulty_read(fds[A], buf + 2 * PAGE_BYTES, &value));
	EXPECT_EQ(0, faulty_read(fds[A], buf + len, &value));
	EXPECT_EQ(first + 4, value);
	EXPECT_EQ(0, to_device(A, buf + 2 * PAGE_BYTES, LEN / 2));
	EXPECT_EQ(0, prefetch(HOST, buf + 2 * PAGE_BYTES, LEN / 2));
	EXPECT_EQ(SIGBUS, cpu_read(buf + 3 * PAGE_BYTES, &value));
	EXPECT_EQ(-1, pages_check(buf + len, LEN - len, first + 4));
	EXPECT_LT(0, lost_areas());
	ASSERT_EQ(0, munmap(away, PAGE_BYTES));
	ASSERT_EQ(0, munmap(buf + PAGE_BYTES, 3 * PAGE_BYTES));
	EXPECT_TRUE(lost_areas_go());
	close(ends[0]);
	close(ends[1]);
}

static int remove_all(void *arg)
{
	(void)arg;
	return faulty_devices(control, 0);
}

/*
 * Waits until /proc/iomem has no regions of the devices, including orphans.
 * Returns false if some are left after a minute.
 */
static bool regions_go(void)
{
	return WAIT_UNTIL(!areas("hmmrt-faulty"), 60);
}

/*
 * There is no system memory for the pages of a device that goes away, nor to
 * replace lost pages. The removal must still end in time, and the pages are
 * lost.
 */
TEST_F_TIMEOUT(broken, removal_ends_if_there_is_no_memory, 200)
{
	const size_t lost = 4;
	uint64_t value = 0;

	if (!inject_start())
		SKIP(return, "fault injection is not available");
	ASSERT_EQ(0, to_device(A, buf, lost * PAGE_BYTES));
	ASSERT_TRUE(set_leave_wait("1"));
	EXPECT_EQ(0, inject_run(remove_all, NULL));
	EXPECT_TRUE(set_leave_wait("30"));
	for (size_t i = 0; i < PAGES; i++) {
		char *addr = buf + i * PAGE_BYTES;

		EXPECT_EQ(i < lost ? SIGBUS : 0, cpu_read(addr, &value));
		EXPECT_EQ(i < lost ? 0 : first + i, value);
		value = 0;
	}
	/* Once there is memory again, nothing of the device remains. */
	EXPECT_TRUE(regions_go());
	EXPECT_EQ(SIGBUS, cpu_read(buf, &value));
	EXPECT_LT(0, lost_areas());
	ASSERT_EQ(0, madvise(buf, lost * PAGE_BYTES, MADV_DONTNEED));
	EXPECT_TRUE(lost_areas_go());
	ASSERT_EQ(0, faulty_renew());
	ASSERT_EQ(0, device_named(space, "hmmrt-faulty0", &session.devices[A].id));
	ASSERT_EQ(0, put_on(A));
}

/* --- peers ---------------------------------------------------------------- */

TEST_F(broken, failed_peer_copy_goes_through_system_memory)
{
	uint64_t value = 0;

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_FROM_PEER));
	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, put_on(B));
	ASSERT_EQ(0, faulty_read(fds[B], buf, &value));
	EXPECT_EQ(first, value);
	/*
	 * If the copy to system memory fails for one page, only that page
	 * stays.
	 */
	ASSERT_EQ(0, faulty_fail_nth(control, HMMRT_FAULTY_COPY_TO_HOST, 5));
	ASSERT_EQ(0, to_device(A, buf, LEN));
	EXPECT_EQ(PAGES - 1, pages_on(A));
	EXPECT_EQ(1, pages_on(B));
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/* Copies between devices bypass system memory: copies to it fail here. */
TEST_F(broken, peer_copy_bypasses_system_memory)
{
	uint64_t value = 0;

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	ASSERT_EQ(0, put_on(A));
	ASSERT_EQ(0, put_on(B));
	EXPECT_EQ(PAGES, pages_on(B));
	for (size_t i = 0; i < PAGES; i++) {
		ASSERT_EQ(0, faulty_read(fds[B], buf + i * PAGE_BYTES, &value));
		ASSERT_EQ(first + i, value);
	}
	/* If the peer copy fails, too, the pages stay. */
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_FROM_PEER));
	ASSERT_EQ(0, to_device(A, buf, LEN));
	EXPECT_EQ(PAGES, pages_on(B));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_FROM_PEER);
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(-1, pages_check(buf, LEN, first));
}

/* Lets device 0 map the pages on its peer: it cannot allocate device memory. */
static int map_peers_pages(void)
{
	int rc = put_on(B);

	if (!rc)
		rc = cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_ENABLE,
			      NULL);
	if (!rc)
		rc = faulty_fail_always(control, HMMRT_FAULTY_POPULATE);
	if (!rc)
		rc = read_pages();
	if (!rc && pages_on(B) != PAGES)
		rc = -EBUSY;
	return rc;
}

/* A migration that excludes peers' pages maps them once the peer is enabled. */
TEST_F(broken, migration_that_excludes_peers_maps_their_pages)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(0, put_on(B));
	ASSERT_EQ(0, faulty_range(fds[A], HMMRT_FAULTY_IOC_TO_DEVICE_NO_PEERS,
				  buf, LEN));
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(0, stats.out_mapped_pages);
	ASSERT_EQ(0,
		  cmd_peer(space, id_of(A), id_of(B), HMMRT_PEER_ENABLE, NULL));
	ASSERT_EQ(0, faulty_range(fds[A], HMMRT_FAULTY_IOC_TO_DEVICE_NO_PEERS,
				  buf, LEN));
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(PAGES, stats.out_remote_pages);
	EXPECT_EQ(0, stats.out_migrated_to_device);
	ASSERT_EQ(0, read_pages());
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(0, stats.out_device_faults);
	EXPECT_EQ(PAGES, pages_on(B));
}

TEST_F(broken, peer_is_removed_while_its_memory_is_mapped)
{
	ASSERT_EQ(0, map_peers_pages());
	ASSERT_EQ(0, faulty_write(fds[A], buf, first));
	/* The device's files end with it. */
	ASSERT_EQ(0, faulty_devices(control, 1));
	ASSERT_EQ(0, read_pages());
	EXPECT_HAS(HOST, buf, LEN, first);
}

TEST_F(broken, peer_is_evicted_while_its_memory_is_mapped)
{
	ASSERT_EQ(0, map_peers_pages());
	ASSERT_EQ(0, faulty_evict(control, B));
	EXPECT_EQ(0, pages_on(B));
	pages_fill(buf, LEN, ++first);
	ASSERT_EQ(0, read_pages());
}

/* A page that the CPU cannot get is still usable where it is mapped. */
TEST_F(broken, unreadable_page_of_a_peer_is_used_in_place)
{
	ASSERT_EQ(0, map_peers_pages());
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(SIGBUS, cpu_read(buf, NULL));
	ASSERT_EQ(0, read_pages());
	EXPECT_EQ(PAGES, pages_on(B));
}

/* --- huge pages ----------------------------------------------------------- */

/*
 * Moves a block to a device. Returns how many of its pages are there
 * afterwards, or a negative errno.
 */
static long huge_to(unsigned int device, const void *huge)
{
	int rc = to_device(device, huge, BLOCK_BYTES);

	return rc ? rc : count_at(device, huge, BLOCK_BYTES);
}

/*
 * Maps a huge page, if the kernel supports it, and moves it to the first
 * device.
 */
static char *huge_on_device(void)
{
	char *buf = arena_anon(BLOCK_BYTES);

	if (!buf || madvise(buf, BLOCK_BYTES, MADV_HUGEPAGE))
		return NULL;
	pages_fill(buf, BLOCK_BYTES, first);
	return huge_to(A, buf) == (long)BLOCK_PAGES ? buf : NULL;
}

TEST_F(broken, huge_page_unreadable_is_sigbus_until_it_is_readable)
{
	char *buf = NOT_NULL(huge_on_device());

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(SIGBUS, cpu_read(buf + BLOCK_BYTES / 2, NULL));
	EXPECT_EQ(-EBUSY, faulty_evict(control, A));
	EXPECT_AT(A, buf, BLOCK_BYTES);
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
	EXPECT_TRUE(faulty_is_unused());
}

TEST_F(broken, huge_page_with_failed_copy_migrates_back_in_parts)
{
	char *buf = NOT_NULL(huge_on_device());

	ASSERT_EQ(0, faulty_fail_nth(control, HMMRT_FAULTY_COPY_TO_HOST, 1));
	ASSERT_EQ(0, faulty_range(fds[A], HMMRT_FAULTY_IOC_TO_HOST, buf,
				  BLOCK_BYTES));
	EXPECT_EQ(0, faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST));
	/* If the kernel moved it in parts, one part failed. */
	EXPECT_GE(1, count_at(A, buf, BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

TEST_F(broken, huge_page_moves_to_a_peer_through_system_memory)
{
	char *buf = NOT_NULL(huge_on_device());

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_FROM_PEER));
	EXPECT_EQ(BLOCK_PAGES, huge_to(B, buf));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_FROM_PEER);
	EXPECT_EQ(BLOCK_PAGES, huge_to(A, buf));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

TEST_F(broken, huge_page_moves_to_a_peer_bypassing_system_memory)
{
	char *buf = NOT_NULL(huge_on_device());
	uint64_t value = 0;

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(BLOCK_PAGES, huge_to(B, buf));
	ASSERT_EQ(0, faulty_read(fds[B], buf + BLOCK_BYTES / 2, &value));
	EXPECT_EQ(first + BLOCK_PAGES / 2, value);
	/* If the peer copy fails, too, the page stays. */
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_FROM_PEER));
	EXPECT_EQ(0, huge_to(A, buf));
	EXPECT_AT(B, buf, BLOCK_BYTES);
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_FROM_PEER);
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

TEST_F(broken, huge_page_with_failed_copy_stays_in_system_memory)
{
	char *buf = NOT_NULL(huge_on_device());

	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_DEVICE));
	to_device(A, buf, BLOCK_BYTES);
	EXPECT_EQ(0, count_at(A, buf, BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
	EXPECT_TRUE(faulty_is_unused());
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_DEVICE);
	EXPECT_EQ(BLOCK_PAGES, huge_to(A, buf));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, first));
}

/*
 * One page is mapped whole, the other in parts, at two addresses. Both are also
 * mapped by a child.
 */
TEST_F(broken, huge_pages_migrate_back_when_their_device_goes)
{
	const size_t part = 16 * PAGE_BYTES;
	char *whole = NOT_NULL(huge_on_device()),
	     *torn = NOT_NULL(huge_on_device());
	char *away = ANON(part);
	struct gate go = GATE();
	pid_t pid = CHILD(!gate_wait(&go) ||
			  pages_check(whole, BLOCK_BYTES, first) != -1 ||
			  pages_check(torn, BLOCK_BYTES, first) != -1);

	ASSERT_EQ(0, munmap(torn + part, part));
	ASSERT_EQ(away, mremap(torn + 3 * part, part, part,
			       MREMAP_MAYMOVE | MREMAP_FIXED, away));
	ASSERT_EQ(0, faulty_devices(control, 0));
	ASSERT_TRUE(gate_open(&go));
	EXPECT_EQ(0, process_wait(pid));
	gate_close(&go);
	EXPECT_EQ(-1, pages_check(whole, BLOCK_BYTES, first));
	EXPECT_EQ(-1, pages_check(torn, part, first));
	EXPECT_EQ(-1, pages_check(torn + 2 * part, part, first + 32));
	EXPECT_EQ(-1, pages_check(away, part, first + 48));
	EXPECT_EQ(-1, pages_check(torn + 4 * part, BLOCK_BYTES - 4 * part,
				  first + 64));
}

TEST_F(broken, huge_page_lost_with_its_device_is_sigbus)
{
	char *buf = NOT_NULL(huge_on_device());
	uint64_t value = 0;

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	ASSERT_EQ(0, faulty_devices(control, 0));
	for (size_t i = 0; i < BLOCK_PAGES; i++) {
		value = 0;
		ASSERT_EQ(SIGBUS, cpu_read(buf + i * PAGE_BYTES, &value));
		ASSERT_EQ(0, value);
	}
	ASSERT_EQ(0, madvise(buf, BLOCK_BYTES, MADV_DONTNEED));
	ASSERT_EQ(0, cpu_read(buf, &value));
	EXPECT_EQ(0, value);
}

/*
 * One of the pages belongs only to a child, whose memory no file of the manager
 * knows.
 */
TEST_F(broken, huge_page_lost_in_part_is_sigbus_there_only)
{
	char *buf = NOT_NULL(huge_on_device()),
	     *of_child = NOT_NULL(huge_on_device());
	long poisoned = meminfo("HardwareCorrupted: %ld");
	const size_t lost = 7 * PAGE_BYTES;
	struct gate go = GATE();
	pid_t pid = CHILD(!gate_wait(&go) ||
			  pages_check(of_child, lost, first) != -1 ||
			  cpu_read(of_child + lost, NULL) != SIGBUS ||
			  pages_check(of_child + lost + PAGE_BYTES,
				      BLOCK_BYTES - lost - PAGE_BYTES,
				      first + 8) != -1);

	ASSERT_EQ(0, munmap(of_child, BLOCK_BYTES));
	ASSERT_EQ(0, faulty_bad_page(control, 8));
	ASSERT_EQ(0, faulty_devices(control, 0));
	ASSERT_TRUE(gate_open(&go));
	EXPECT_EQ(0, process_wait(pid));
	gate_close(&go);
	EXPECT_EQ(SIGBUS, cpu_read(buf + lost, NULL));
	EXPECT_EQ(-1, pages_check(buf, lost, first));
	EXPECT_EQ(-1, pages_check(buf + lost + PAGE_BYTES,
				  BLOCK_BYTES - lost - PAGE_BYTES, first + 8));
	/* No system memory is marked as defective. */
	EXPECT_EQ(poisoned, meminfo("HardwareCorrupted: %ld"));
}

/*
 * Lets hugetlb take all huge pages of the machine. In the remaining memory,
 * every other page is in use and cannot be moved.
 */
#define SINGLES	(64UL << 20)

static void huge_pages_take(void)
{
	char *singles = arena_anon(SINGLES);

	pages_fill(singles, SINGLES, 1);
	mlock(singles, SINGLES);
	write_text("/proc/sys/vm/compact_unevictable_allowed", "0");
	write_text("/proc/sys/vm/nr_hugepages", "1000000");
	for (size_t at = 0; at < SINGLES; at += 2 * PAGE_BYTES)
		madvise(singles + at, PAGE_BYTES, MADV_DONTNEED_LOCKED);
}

static void huge_pages_give_back(void)
{
	write_text("/proc/sys/vm/nr_hugepages", "0");
	write_text("/proc/sys/vm/compact_unevictable_allowed", "1");
}

TEST_F(broken, huge_pages_leave_without_huge_pages_in_system_memory)
{
	struct gate go = GATE();
	unsigned int i;
	char *bufs[4];
	pid_t pid;

	for (i = 0; i < 4; i++)
		bufs[i] = NOT_NULL(huge_on_device());
	/* The removal cannot be killed. */
	pid = CHILD(!gate_wait(&go) || faulty_devices(control, 0));
	ASSERT_LT(0, pid);
	huge_pages_take();
	EXPECT_TRUE(gate_open(&go));
	for (i = 0; i < 3000 && !waitpid(pid, NULL, WNOHANG); i++)
		usleep(10000);
	huge_pages_give_back();
	EXPECT_LT(i, 3000);
	if (i == 3000)
		waitpid(pid, NULL, 0);
	gate_close(&go);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(-1, pages_check(bufs[i], BLOCK_BYTES, first));
}

/*
 * An AccessedBy device gets its entries later if it could not take them at
 * first.
 */
TEST_F(broken, accessed_by_device_gets_entries_after_failed_prepare)
{
	struct hmmrt_stats stats = { 0 };
	unsigned int try;

	/* Fail three times for both blocks. */
	ASSERT_EQ(0, faulty_fail_next(control, HMMRT_FAULTY_PREPARE, 6));
	ASSERT_EQ(0, advise_at(buf, LEN, SET_ACCESSED_BY, A));
	for (try = 0; try < 2000 && stats.out_mapped_pages < PAGES; try++) {
		ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
		usleep(10000);
	}
	EXPECT_LE(PAGES, stats.out_mapped_pages);
	ASSERT_EQ(0, read_pages());
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(0, stats.out_device_faults);
}

/* Failed allocations must not create struct pages for all device memory. */
TEST_F(broken, device_without_memory_maps_pages_remotely)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_POPULATE));
	ASSERT_EQ(0, prefetch_result(A, buf, LEN, &result));
	EXPECT_EQ(PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_EQ(0, read_pages());
	ASSERT_EQ(0, faulty_write(fds[A], buf, first));
	EXPECT_HAS(HOST, buf, LEN, first);
}

/* --- the kernel's fault injection ----------------------------------------- */

static bool write_setting(const char *op, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/hmmrt_faulty/%s/%s", op,
		 name);
	return write_text(path, value);
}

TEST_F(broken, fault_injection_fails_one_call_in_three)
{
	static const char *const ops[] = { "populate", "copy_to_device",
					   "copy_from_peer" };
	unsigned int failed = 0;

	if (access("/sys/kernel/debug/hmmrt_faulty", F_OK))
		SKIP(return, "the kernel has no fault injection");
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		ASSERT_TRUE(write_setting(ops[i], "probability", "33"));
		ASSERT_TRUE(write_setting(ops[i], "times", "-1"));
	}
	for (unsigned int round = 0; round < amount(50, 15); round++) {
		ASSERT_EQ(0, to_device(A, buf, LEN));
		failed += pages_on(A) < (long)PAGES;
		ASSERT_EQ(0, faulty_range(fds[B], HMMRT_FAULTY_IOC_FAULT, buf,
					  LEN));
		ASSERT_EQ(0, read_pages());
		ASSERT_EQ(-1, pages_check(buf, LEN, first));
		pages_fill(buf, LEN, ++first);
	}
	EXPECT_LT(0, failed);
}

TEST_HARNESS_MAIN
