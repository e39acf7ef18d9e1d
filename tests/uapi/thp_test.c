// SPDX-License-Identifier: MIT
/*
 * Huge pages migrate to a device and back as one large page if the kernel
 * supports that, and as single pages if it does not or memory is fragmented.
 * The contents are the same in both cases. hmmrt_dmirror reports by which kind
 * of entry a page is mapped, and fails allocations on request. Loads and
 * removes the module.
 */
#include "lib/dmirror.h"
#include "lib/fixture.h"

#define DEVICE_MIB	"64"
#define DEVICE_BLOCKS	32
#define PART		(16 * PAGE_BYTES)
#define ROUNDS		20
#define THREADS		4
#define SCAN_SLEEP	"/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs"

#ifndef HMM_DMIRROR_FLAGS
#define HMM_DMIRROR_FLAGS		_IOWR('H', 0x08, struct hmm_dmirror_cmd)
#define HMM_DMIRROR_FLAG_FAIL_ALLOC	0x1ULL
#endif

static bool kernel_has(const char *function)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[256], name[128];
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%*s %*s %127s", name) == 1 &&
			!strcmp(name, function);
	fclose(file);
	return found;
}

/*
 * Returns true if this kernel has large pages of device memory: it serves CPU
 * faults on them, and is new enough to have fixes for their migration.
 */
static bool kernel_has_large_device_pages(void)
{
	return kernel_has("do_huge_pmd_device_private") &&
	       kernel_has("zap_special_vma_range");
}

FIXTURE(thp) {
	int fd;
	bool large;		/* device memory has large pages */
	char *buf;		/* one block, a huge page */
	char *data;
	char scan_sleep[16];	/* before the test */
};

/*
 * Returns how many pages of a range have all of @bits in a snapshot, or -1 if
 * the snapshot fails.
 */
static long count_bits(int fd, const void *addr, size_t len, uint8_t bits)
{
	size_t n = len / PAGE_BYTES;
	uint8_t bytes[BLOCK_PAGES];
	long found = 0;

	if (n > BLOCK_PAGES || DMIRROR(fd, SNAPSHOT, addr, len, bytes))
		return -1;
	for (size_t i = 0; i < n; i++)
		found += (bytes[i] & bits) == bits;
	return found;
}

static long huge_pages(int fd, const void *addr)
{
	return count_bits(fd, addr, BLOCK_BYTES, HMM_DMIRROR_PROT_PMD);
}

static long on_device(int fd, const void *addr, size_t len)
{
	return count_bits(fd, addr, len, HMM_DMIRROR_PROT_DEV_PRIVATE_LOCAL);
}

/* Returns an aligned block that the CPU maps as one huge page, or NULL. */
static char *map_huge(int fd, uint64_t first)
{
	char *buf = arena_anon(BLOCK_BYTES);

	if (!buf || madvise(buf, BLOCK_BYTES, MADV_HUGEPAGE))
		return NULL;
	pages_fill(buf, BLOCK_BYTES, first);
	return huge_pages(fd, buf) == BLOCK_PAGES ? buf : NULL;
}

FIXTURE_SETUP(thp)
{
	NEED_MODULES();
	ASSERT_EQ(0, module_insert("hmmrt_dmirror", "memory=" DEVICE_MIB));
	DEVICES_SETUP();
	self->fd = FD(open("/dev/hmm_dmirror0", O_RDWR | O_CLOEXEC));
	self->large = kernel_has_large_device_pages();
	self->data = NOT_NULL(malloc(BLOCK_BYTES));
	/*
	 * Keep khugepaged from collapsing single pages: it sleeps for an hour.
	 */
	if (read_word(SCAN_SLEEP, self->scan_sleep))
		write_text(SCAN_SLEEP, "3600000");
	self->buf = map_huge(self->fd, 1);
	if (!self->buf) {
		write_text(SCAN_SLEEP, self->scan_sleep);
		close(self->fd);
		session_end(&session);
		module_remove("hmmrt_dmirror");
		SKIP(_exit(SKIPPED), "the kernel gives no huge page");
	}
}

FIXTURE_TEARDOWN(thp)
{
	if (self->scan_sleep[0])
		EXPECT_TRUE(write_text(SCAN_SLEEP, self->scan_sleep));
	munmap(self->buf, BLOCK_BYTES);
	close(self->fd);
	DEVICES_TEARDOWN();
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
	free(self->data);
}

/*
 * Migrates the block to the device, and checks that one entry maps it if
 * @whole, otherwise single entries.
 */
static bool go_to_device(const FIXTURE_DATA(thp) *self, bool whole)
{
	return !DMIRROR(self->fd, MIGRATE_TO_DEV, self->buf, BLOCK_BYTES,
			self->data) &&
	       on_device(self->fd, self->buf, BLOCK_BYTES) == (long)BLOCK_PAGES &&
	       huge_pages(self->fd, self->buf) ==
		       (whole ? (long)BLOCK_PAGES : 0);
}

TEST_F(thp, cpu_fault_migrates_back_at_the_same_size)
{
	volatile char *touched = self->buf + BLOCK_BYTES / 2;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(-1, pages_check(self->data, BLOCK_BYTES, 1));
	(void)*touched;
	if (self->large) {
		ASSERT_EQ(0, on_device(self->fd, self->buf, BLOCK_BYTES));
		ASSERT_EQ(BLOCK_PAGES, huge_pages(self->fd, self->buf));
	}
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
	ASSERT_EQ(0, on_device(self->fd, self->buf, BLOCK_BYTES));
}

TEST_F(thp, migrate_to_sys_migrates_back_at_the_same_size)
{
	struct hmm_dmirror_cmd result;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, dmirror_call(self->fd, HMM_DMIRROR_MIGRATE_TO_SYS,
				  self->buf, BLOCK_BYTES, self->data, &result));
	ASSERT_EQ(BLOCK_PAGES, result.cpages);
	ASSERT_EQ(self->large ? BLOCK_PAGES : 0,
		  huge_pages(self->fd, self->buf));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

/*
 * Read-mostly duplicates: the huge page in system memory stays whole where the
 * kernel supports large device pages.
 */
TEST_F(thp, duplicated_huge_page_stays_whole_until_written)
{
	const long whole = self->large ? BLOCK_PAGES : 0;

	ASSERT_EQ(0, advise(self->buf, BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_SUM(A, self->buf, BLOCK_BYTES, 1);
	ASSERT_EQ(BLOCK_PAGES, stats_of(A).out_copied_pages);
	ASSERT_AT(HOST, self->buf, BLOCK_BYTES);
	ASSERT_EQ(whole, huge_pages(self->fd, self->buf));
	/* Without duplicates a write leaves the huge page whole. */
	ASSERT_EQ(0, advise(self->buf, BLOCK_BYTES, UNSET_READ_MOSTLY));
	pages_fill(self->buf, BLOCK_BYTES, 2);
	ASSERT_EQ(whole, huge_pages(self->fd, self->buf));
	/* With duplicates the CPU writes before the device reads again. */
	ASSERT_EQ(0, advise(self->buf, BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_SUM(A, self->buf, BLOCK_BYTES, 2);
	*(uint64_t *)(self->buf + PART) = 9000;
	ASSERT_VALUE(9000, dev_read(A, self->buf + PART));
	pages_fill(self->buf, BLOCK_BYTES, 3);
	ASSERT_SUM(A, self->buf, BLOCK_BYTES, 3);
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 3));
}

/*
 * A prefetch moves a part without read-mostly advice, while the device has
 * duplicates of the rest.
 */
TEST_F(thp, part_without_read_mostly_advice_migrates)
{
	char *part = self->buf + 3 * PART;

	ASSERT_EQ(0, advise(self->buf, BLOCK_BYTES, SET_READ_MOSTLY));
	ASSERT_SUM(A, self->buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, advise(part, PART, UNSET_READ_MOSTLY));
	MOVE(A, part, PART);
	ASSERT_SUM(A, self->buf, BLOCK_BYTES, 1);
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

/* The CPU must read what the device wrote. */
TEST_F(thp, cpu_reads_what_the_device_wrote)
{
	ASSERT_TRUE(go_to_device(self, self->large));
	pages_fill(self->data, BLOCK_BYTES, 7000);
	ASSERT_EQ(0,
		  DMIRROR(self->fd, WRITE, self->buf, BLOCK_BYTES, self->data));
	ASSERT_EQ(BLOCK_PAGES, on_device(self->fd, self->buf, BLOCK_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 7000));
}

TEST_F(thp, munmap_of_a_part_leaves_the_rest)
{
	char *hole = self->buf + 3 * PART;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, munmap(hole, PART));
	ASSERT_EQ(48, on_device(self->fd, self->buf, 3 * PART));
	ASSERT_EQ(-1, pages_check(self->buf, 3 * PART, 1));
	ASSERT_EQ(-1, pages_check(hole + PART, BLOCK_BYTES - 4 * PART,
				  1 + 4 * 16));
}

TEST_F(thp, discarded_part_is_zero_and_the_rest_stays)
{
	char *hole = self->buf + 3 * PART;
	uint64_t word;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, madvise(hole, PART, MADV_DONTNEED));
	memcpy(&word, hole + PAGE_BYTES, sizeof(word));
	ASSERT_EQ(0, word);
	ASSERT_EQ(-1, pages_check(self->buf, 3 * PART, 1));
	ASSERT_EQ(-1, pages_check(hole + PART, BLOCK_BYTES - 4 * PART,
				  1 + 4 * 16));
}

TEST_F(thp, write_to_read_only_part_is_refused_and_rest_is_written)
{
	char *part = self->buf + PART;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, mprotect(part, PART, PROT_READ));
	pages_fill(self->data, PART, 500);
	ASSERT_EQ(-EPERM, DMIRROR(self->fd, WRITE, part, PART, self->data));
	ASSERT_EQ(0, DMIRROR(self->fd, WRITE, self->buf, PART, self->data));
	ASSERT_EQ(-1, pages_check(self->buf, PART, 500));
	ASSERT_EQ(-1, pages_check(part, BLOCK_BYTES - PART, 1 + 16));
}

TEST_F(thp, mremap_leaves_the_huge_page_on_the_device)
{
	char *to = ANON(BLOCK_BYTES);

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(to, mremap(self->buf, BLOCK_BYTES, BLOCK_BYTES,
			     MREMAP_MAYMOVE | MREMAP_FIXED, to));
	ASSERT_EQ(BLOCK_PAGES, on_device(self->fd, to, BLOCK_BYTES));
	ASSERT_EQ(self->large ? BLOCK_PAGES : 0, huge_pages(self->fd, to));
	ASSERT_EQ(-1, pages_check(to, BLOCK_BYTES, 1));
}

TEST_F(thp, part_moved_by_mremap_keeps_its_contents)
{
	char *to = ANON(PART), *part = self->buf + 5 * PART;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(to, mremap(part, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED,
			     to));
	ASSERT_EQ(16, on_device(self->fd, to, PART));
	ASSERT_EQ(-1, pages_check(to, PART, 1 + 5 * 16));
	ASSERT_EQ(-1, pages_check(self->buf, 5 * PART, 1));
}

/*
 * The child writes all of the block. Parent and child do not see each other's
 * writes.
 */
static int child_writes(char *buf)
{
	if (pages_check(buf, BLOCK_BYTES, 1) != -1)
		return 1;
	pages_fill(buf, BLOCK_BYTES, 9000);
	return pages_check(buf, BLOCK_BYTES, 9000) != -1;
}

TEST_F(thp, fork_separates_parent_and_child)
{
	pid_t pid;

	ASSERT_TRUE(go_to_device(self, self->large));
	pid = CHILD(child_writes(self->buf));
	ASSERT_LT(0, pid);
	pages_fill(self->buf, PART, 3000);
	ASSERT_EQ(0, process_wait(pid));
	ASSERT_EQ(-1, pages_check(self->buf, PART, 3000));
	ASSERT_EQ(-1, pages_check(self->buf + PART, BLOCK_BYTES - PART,
				  1 + 16));
	/* The device writes the parent's pages. */
	pages_fill(self->data, BLOCK_BYTES, 4000);
	ASSERT_EQ(0,
		  DMIRROR(self->fd, WRITE, self->buf, BLOCK_BYTES, self->data));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 4000));
}

TEST_F(thp, without_a_large_device_page_parts_migrate)
{
	ASSERT_EQ(0, DMIRROR(self->fd, FLAGS, self->buf,
			     HMM_DMIRROR_FLAG_FAIL_ALLOC * PAGE_BYTES, NULL));
	ASSERT_TRUE(go_to_device(self, false));
	ASSERT_EQ(-1, pages_check(self->data, BLOCK_BYTES, 1));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

TEST_F(thp, without_a_large_host_page_cpu_faults_migrate_parts)
{
	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, DMIRROR(self->fd, FLAGS, self->buf,
			     HMM_DMIRROR_FLAG_FAIL_ALLOC * PAGE_BYTES, NULL));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
	ASSERT_EQ(0, on_device(self->fd, self->buf, BLOCK_BYTES));
	ASSERT_EQ(0, huge_pages(self->fd, self->buf));
}

/*
 * The core splits the large page before it migrates. The CPU touches a page
 * that is not the first one, so the page that was locked before the split need
 * not be the one that is locked after it.
 */
TEST_F(thp, without_a_large_host_page_any_page_can_fault_first)
{
	const size_t touched = 5;
	uint64_t word;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, DMIRROR(self->fd, FLAGS, self->buf,
			     HMM_DMIRROR_FLAG_FAIL_ALLOC * PAGE_BYTES, NULL));
	memcpy(&word, self->buf + touched * PAGE_BYTES, sizeof(word));
	ASSERT_EQ(1 + touched, word);
	ASSERT_EQ(16, BLOCK_PAGES - on_device(self->fd, self->buf, BLOCK_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
	ASSERT_EQ(0, on_device(self->fd, self->buf, BLOCK_BYTES));
	/* Migrating again succeeds: no page of the block is left locked. */
	ASSERT_TRUE(go_to_device(self, false));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

TEST_F(thp, without_a_large_host_page_migrate_to_sys_moves_parts)
{
	struct hmm_dmirror_cmd result;

	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, DMIRROR(self->fd, FLAGS, self->buf,
			     HMM_DMIRROR_FLAG_FAIL_ALLOC * PAGE_BYTES, NULL));
	ASSERT_EQ(0, dmirror_call(self->fd, HMM_DMIRROR_MIGRATE_TO_SYS,
				  self->buf, BLOCK_BYTES, self->data, &result));
	ASSERT_EQ(BLOCK_PAGES, result.cpages);
	ASSERT_EQ(0, huge_pages(self->fd, self->buf));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

/* One page stays in use in each chunk of device memory. */
TEST_F(thp, fragmented_device_memory_takes_parts)
{
	char *all = ANON(DEVICE_BLOCKS * BLOCK_BYTES);

	ASSERT_EQ(0, madvise(all, DEVICE_BLOCKS * BLOCK_BYTES,
			     MADV_NOHUGEPAGE));
	for (unsigned int i = 0; i < DEVICE_BLOCKS; i++) {
		char *block = all + i * BLOCK_BYTES;

		ASSERT_EQ(0, DMIRROR(self->fd, MIGRATE_TO_DEV, block,
				     BLOCK_BYTES, self->data));
	}
	for (unsigned int i = 0; i < DEVICE_BLOCKS; i++)
		ASSERT_EQ(0, madvise(all + i * BLOCK_BYTES + PAGE_BYTES,
				     BLOCK_BYTES - PAGE_BYTES, MADV_DONTNEED));
	ASSERT_TRUE(go_to_device(self, false));
	ASSERT_EQ(-1, pages_check(self->data, BLOCK_BYTES, 1));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
	ASSERT_EQ(0, munmap(all, DEVICE_BLOCKS * BLOCK_BYTES));
}

/*
 * A chunk that held one large page is reused for single pages, beginning after
 * its start. They migrate back when the device is emptied. Then the chunk is
 * reused for a large page.
 */
TEST_F(thp, chunk_is_reused_for_large_and_single_pages)
{
	char *small = ANON(BLOCK_BYTES);
	size_t len = BLOCK_BYTES - PART;

	ASSERT_EQ(0, madvise(small, BLOCK_BYTES, MADV_NOHUGEPAGE));
	for (unsigned int round = 0; round < 3; round++) {
		ASSERT_TRUE(go_to_device(self, self->large));
		ASSERT_EQ(-1, pages_check(self->data, BLOCK_BYTES, 1));
		ASSERT_EQ(0, munmap(self->buf, BLOCK_BYTES));

		pages_fill(small + PART, len, 100);
		ASSERT_EQ(0, DMIRROR(self->fd, MIGRATE_TO_DEV, small + PART,
				     len, self->data));
		ASSERT_EQ(0,
			  DMIRROR(self->fd, RELEASE, small, PAGE_BYTES, NULL));
		ASSERT_EQ(0, on_device(self->fd, small, BLOCK_BYTES));
		ASSERT_EQ(-1, pages_check(small + PART, len, 100));

		self->buf = map_huge(self->fd, 1);
		if (!self->buf)
			SKIP(return, "no second huge page available");
	}
}

TEST_F(thp, release_migrates_back_at_the_same_size)
{
	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, DMIRROR(self->fd, RELEASE, self->buf, PAGE_BYTES, NULL));
	ASSERT_EQ(0, on_device(self->fd, self->buf, BLOCK_BYTES));
	ASSERT_EQ(self->large ? BLOCK_PAGES : 0,
		  huge_pages(self->fd, self->buf));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

static void *check_all(void *buf)
{
	return (void *)(intptr_t)(pages_check(buf, BLOCK_BYTES, 1) + 1);
}

TEST_F(thp, several_threads_fault_at_the_same_time)
{
	pthread_t threads[THREADS];
	void *wrong;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, DMIRROR(self->fd, MIGRATE_TO_DEV, self->buf,
				     BLOCK_BYTES, self->data));
		for (unsigned int i = 0; i < THREADS; i++)
			threads[i] = THREAD(check_all, self->buf);
		for (unsigned int i = 0; i < THREADS; i++) {
			ASSERT_EQ(0, pthread_join(threads[i], &wrong));
			ASSERT_EQ(NULL, wrong);
		}
	}
}

/* Reclaim does not touch pages in device memory. */
TEST_F(thp, reclaim_leaves_device_pages)
{
	ASSERT_TRUE(go_to_device(self, self->large));
	ASSERT_EQ(0, madvise(self->buf, BLOCK_BYTES, MADV_PAGEOUT));
	ASSERT_EQ(BLOCK_PAGES, on_device(self->fd, self->buf, BLOCK_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

/* Migrates memory that is not populated, and a huge zero page. */
TEST_F(thp, holes_become_zeroes_on_the_device)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, madvise(self->buf, BLOCK_BYTES, MADV_DONTNEED));
		if (i)
			word += *(volatile char *)self->buf;
		memset(self->data, 0xff, BLOCK_BYTES);
		ASSERT_TRUE(go_to_device(self, self->large));
		for (size_t at = 0; at < BLOCK_BYTES; at += sizeof(word)) {
			memcpy(&word, self->data + at, sizeof(word));
			ASSERT_EQ(0, word);
		}
	}
}

/* A fault of the simulated GPU moves the whole block, not only a window. */
TEST_F(thp, device_fault_migrates_the_whole_huge_page)
{
	struct hmmrt_stats stats;

	ASSERT_VALUE(1 + BLOCK_PAGES / 2,
		     dev_read(A, self->buf + BLOCK_BYTES / 2));
	ASSERT_AT(A, self->buf, BLOCK_BYTES);
	stats = stats_of(A);
	ASSERT_EQ(1, stats.out_device_faults);
	ASSERT_FILLS(A, self->buf, BLOCK_BYTES, 600);
}

/* Returns the size of the agent's page tables in KiB, -1 if it is not known. */
static long page_table_kib(void)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", agent_of(A)->pid);
	return read_number(path, "VmPTE: %ld kB");
}

/*
 * Where the kernel has large PFN mappings, the agent maps a leaf without a page
 * table of its own. When a part of the block is discarded, the agent sees
 * zeroes there and the contents of the rest.
 */
TEST_F(thp, agent_maps_a_huge_page_by_one_leaf)
{
	bool one = kernel_has("follow_pfnmap_start");
	char *second = map_huge(self->fd, 2000);
	long before;

	if (!second)
		SKIP(return, "no second huge page available");
	/* The first access allocates the upper page tables. */
	ASSERT_VALUE(1, dev_read(A, self->buf));
	before = page_table_kib();
	ASSERT_LT(0, before);
	ASSERT_VALUE(2000, dev_read(A, second));
	ASSERT_VALUE(2000 + BLOCK_PAGES - 1,
		     dev_read(A, second + BLOCK_BYTES - PAGE_BYTES));
	ASSERT_EQ(one ? 0 : 4, page_table_kib() - before);

	ASSERT_DONE(dev_fill(A, second, BLOCK_BYTES, 5000));
	ASSERT_EQ(0, madvise(second + PART, PART, MADV_DONTNEED));
	ASSERT_VALUE(0, dev_read(A, second + PART));
	ASSERT_VALUE(5000, dev_read(A, second));
	ASSERT_VALUE(5000 + 32, dev_read(A, second + 2 * PART));
	ASSERT_EQ(-1, pages_check(second, PART, 5000));
	ASSERT_VALUE(5000, dev_read(A, second));
}

TEST_HARNESS_MAIN
