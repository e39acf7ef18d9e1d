// SPDX-License-Identifier: MIT
/*
 * The core mm reclaims, merges or moves memory while a device uses it. No write
 * of a device may be lost, and no other process may see it.
 *
 * The core mm does not see the device's writes, so it must not drop pages that
 * look clean: pages that are lazily freed, or that the CPU never wrote. The
 * tests create pressure with memory.reclaim of their own cgroup, and swap to
 * zram.
 */
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>

#include "lib/fixture.h"

#define CGROUP	"/sys/fs/cgroup/hmmrt-reclaim"
#define SWAP	"/dev/zram0"

FIXTURE(pressure) {
};

/* Swap stays on for all tests of this program. It goes away with the guest. */
static bool swap_on(void)
{
	if (!swapon(SWAP, 0) || errno == EBUSY)
		return true;
	if (!write_text("/sys/block/zram0/disksize", "512M") ||
	    system("mkswap " SWAP " >/dev/null 2>&1"))
		return false;
	return !swapon(SWAP, 0);
}

static bool enter_cgroup(void)
{
	char pid[16];

	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0755);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return write_text(CGROUP "/cgroup.procs", pid);
}

/* Reclaims as much as possible: the last write fails when nothing is left. */
static void reclaim(void)
{
	for (int i = 0; i < 8; i++)
		if (!write_text(CGROUP "/memory.reclaim", "64M"))
			break;
}

FIXTURE_SETUP(pressure)
{
	if (!swap_on())
		SKIP(_exit(SKIPPED), "no " SWAP " to swap to");
	if (!enter_cgroup())
		SKIP(_exit(SKIPPED), "no cgroup with a memory controller");
	DEVICES_SETUP(.lanes = 2);
}

FIXTURE_TEARDOWN(pressure)
{
	EXPECT_TRUE(set_oversubscription(true));
	DEVICES_TEARDOWN();
	write_text("/sys/fs/cgroup/cgroup.procs", "0");
}

/*
 * Fills the device and switches eviction off, so that faults on other pages map
 * them in system memory.
 */
static void *fill_device(size_t *len)
{
	struct hmmrt_device_info info;
	void *buf;

	if (cmd_device_info(space, id_of(A), &info))
		return NULL;
	if (!set_oversubscription(false))
		return NULL;
	*len = info.out_memory_bytes;
	buf = arena_anon(*len);
	/* Repeat while other users still free device memory. */
	for (unsigned int try = 0; buf && try < 500; try++) {
		if (prefetch(A, buf, *len) ||
		    cmd_device_info(space, id_of(A), &info))
			return NULL;
		if (info.out_used_bytes == info.out_memory_bytes)
			break;
		usleep(10000);
	}
	return buf;
}

TEST_F(pressure, swapped_pages_migrate_to_the_device)
{
	const size_t len = 2 * BLOCK_BYTES;
	const uint64_t pages = len / PAGE_BYTES;
	char *buf = FILLED(len);

	reclaim();
	/* Most pages must be swapped out, or the test tests nothing. */
	ASSERT_GT(pages / 2, (uint64_t)count_at(HOST, buf, len));
	ASSERT_SUM(A, buf, len, 1);
	ASSERT_FILLS(A, buf, len, 5);
}

TEST_F(pressure, swapped_out_neighbours_keep_their_contents)
{
	const size_t half = BLOCK_BYTES / 2;
	char *buf = FILLED(2 * half);

	ASSERT_DONE(dev_fill(A, buf, half, 100));
	reclaim();
	ASSERT_FILLS(A, buf, half, 200);
	ASSERT_EQ(-1, pages_check(buf + half, half, 1 + half / PAGE_BYTES));
}

/* Lazily freed pages in system memory that only the device writes to. */
TEST_F(pressure, device_writes_to_lazily_freed_pages_survive)
{
	const size_t len = 64 * PAGE_BYTES;
	size_t ballast_len = 0;
	void *ballast = NOT_NULL(fill_device(&ballast_len));
	char *buf = ANON(len);

	pages_fill(buf, len, 1);
	ASSERT_EQ(0, madvise(buf, len, MADV_FREE));
	ASSERT_DONE(dev_fill(A, buf, len, 50));
	ASSERT_AT(HOST, buf, len);
	reclaim();
	ASSERT_EQ(-1, pages_check(buf, len, 50));
	munmap(ballast, ballast_len);
}

/*
 * The same for pages that are mapped ahead, which the device writes to without a
 * fault. They are so few that they are still on a list of this CPU then: the
 * core doesn't show yet that they may be dropped.
 */
TEST_F(pressure, device_writes_to_lazily_freed_pages_mapped_ahead_survive)
{
	const size_t len = 8 * PAGE_BYTES;
	char *buf = ANON(len);

	pages_fill(buf, len, 1);
	ASSERT_EQ(0, madvise(buf, len, MADV_FREE));
	ASSERT_EQ(0, advise_at(buf, len, SET_ACCESSED_BY, A));
	ASSERT_DONE(dev_fill(A, buf, len, 50));
	ASSERT_AT(HOST, buf, len);
	reclaim();
	ASSERT_EQ(-1, pages_check(buf, len, 50));
}

/* The same on the device. The CPU moves the pages back before the pressure. */
TEST_F(pressure, lazily_freed_pages_migrated_back_survive)
{
	const size_t len = 64 * PAGE_BYTES;
	char *buf = FILLED(len);

	ASSERT_EQ(0, madvise(buf, len, MADV_FREE));
	ASSERT_FILLS(A, buf, len, 50);
	reclaim();
	ASSERT_EQ(-1, pages_check(buf, len, 50));
}

/* The CPU only reads: its page table entries are writable and clean. */
TEST_F(pressure, device_writes_to_clean_shared_pages_survive)
{
	const size_t len = 64 * PAGE_BYTES;
	int fd = memfd_create("reclaim_test", MFD_CLOEXEC);
	char *buf;

	ASSERT_EQ(0, ftruncate(fd, len));
	buf = NOT_NULL(arena_map(len, RW, MAP_SHARED, fd, 0));
	ASSERT_EQ(0, buf[0]);
	ASSERT_EQ(0, buf[len - PAGE_BYTES]);
	ASSERT_DONE(dev_fill(A, buf, len, 9));
	reclaim();
	ASSERT_EQ(-1, pages_check(buf, len, 9));
	close(fd);
}

static long pages_merged(void)
{
	return read_number("/sys/kernel/mm/ksm/pages_sharing", "%ld");
}

static void wait_for_merging(void)
{
	merging_start();
	WAIT_UNTIL(pages_merged() >= 32, 60);
	merging_end();
}

/* Sets or clears an effective capability that is permitted. */
static bool capability_set(unsigned int cap, bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return false;
	data[cap / 32].effective &= ~(1u << cap % 32);
	if (on)
		data[cap / 32].effective |= 1u << cap % 32;
	return !syscall(SYS_capset, &head, data);
}

/*
 * Two buffers that KSM merged keep their contents. A write to one does not
 * change the other.
 */
TEST_F(pressure, writes_to_merged_pages_are_private)
{
	const size_t len = 32 * PAGE_BYTES;
	char *one = ANON(len), *two = ANON(len);
	struct hmmrt_prefetch result;
	struct hmmrt_page page;

	memset(one, 0x5a, len);
	memset(two, 0x5a, len);
	ASSERT_EQ(0, madvise(one, len, MADV_MERGEABLE));
	ASSERT_EQ(0, madvise(two, len, MADV_MERGEABLE));
	wait_for_merging();
	ASSERT_LE(32, pages_merged());
	ASSERT_VALUE(0x5a5a5a5a5a5a5a5a, dev_read(A, two));
	ASSERT_EQ(0, prefetch_result(A, two, len, &result));
	ASSERT_EQ(32, result.out_stayed[HMMRT_STAY_MERGED]);
	ASSERT_EQ(0, cmd_pages(space, two, PAGE_BYTES, &page));
	ASSERT_EQ(HMMRT_PAGE_MERGED, page.flags & HMMRT_PAGE_MERGED);
	/*
	 * Merged pages reveal what others have in memory, so only privileged
	 * processes learn of them.
	 */
	ASSERT_TRUE(capability_set(CAP_SYS_ADMIN, false));
	EXPECT_EQ(0, prefetch_result(A, two, len, &result));
	EXPECT_EQ(0, result.out_stayed[HMMRT_STAY_MERGED]);
	EXPECT_EQ(32, result.out_stayed[HMMRT_STAY_PINNED]);
	EXPECT_EQ(0, cmd_pages(space, two, PAGE_BYTES, &page));
	EXPECT_EQ(0, page.flags & HMMRT_PAGE_MERGED);
	ASSERT_TRUE(capability_set(CAP_SYS_ADMIN, true));
	ASSERT_EQ(0, page.written_by);
	ASSERT_AT(HOST, two, len);
	ASSERT_FILLS(A, one, len, 1);
	ASSERT_VALUE(0x5a5a5a5a5a5a5a5a, dev_read(A, two));
	ASSERT_EQ(0x5a, two[len - PAGE_BYTES]);
}

/* --- reclaim and advice --------------------------------------------------- */

/* A call that takes this long by itself takes a second on the spinner's CPU. */
#define ADVISING_NS	8000000ull

static void stay_on_processor(int number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Shared with the process that reclaims. */
struct shared {
	bool stop;
	uint64_t longest_advice;	/* ns */
	uint64_t longest_pageout;
	uint64_t pageouts;
};

struct scene {
	struct shared *shared;
	char *many;			/* holds the ranges */
	size_t many_len;
	char *page;			/* the page that is reclaimed */
};

static bool stopped(const struct scene *scene)
{
	return __atomic_load_n(&scene->shared->stop, __ATOMIC_RELAXED);
}

/* Changes all ranges in one call. The second call finds no change to make. */
static int advise_many(const struct scene *scene)
{
	return advise_value(scene->many, scene->many_len, SET_GRANULARITY,
			    BLOCK_BYTES);
}

/*
 * Makes more ranges until one call takes long enough. Returns false if it never
 * does.
 */
static bool make_ranges(struct scene *scene)
{
	size_t step = 500 * 2 * PAGE_BYTES;
	uint64_t begin;

	for (size_t i = 0; scene->many_len < 50 * step;) {
		scene->many_len += step;
		for (; i < scene->many_len; i += 2 * PAGE_BYTES)
			if (advise(scene->many + i, PAGE_BYTES,
				   SET_READ_MOSTLY))
				return false;
		if (advise_many(scene))
			return false;
		begin = now_ns();
		if (advise_many(scene))
			return false;
		if (now_ns() - begin > ADVISING_NS)
			return true;
	}
	return false;
}

static void *spin(void *arg)
{
	const struct scene *scene = arg;

	stay_on_processor(0);
	while (!stopped(scene))
		;
	return NULL;
}

/* Advises at the lowest priority, on the processor of the spinner. */
static void *advise_slowly(void *arg)
{
	const struct scene *scene = arg;
	uint64_t begin, took;

	stay_on_processor(0);
	setpriority(PRIO_PROCESS, syscall(SYS_gettid), 19);
	while (!stopped(scene)) {
		begin = now_ns();
		advise_many(scene);
		took = now_ns() - begin;
		if (took > scene->shared->longest_advice)
			__atomic_store_n(&scene->shared->longest_advice, took,
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *touch(void *arg)
{
	const struct scene *scene = arg;

	stay_on_processor(1);
	while (!stopped(scene)) {
		*(volatile char *)scene->page = 1;
		usleep(1000);
	}
	return NULL;
}

/* Reclaims a page of the process @pidfd again and again. */
static void page_out(const struct scene *scene, int pidfd)
{
	const struct iovec iov = { scene->page, PAGE_BYTES };
	struct shared *shared = scene->shared;
	uint64_t begin, took;

	while (!stopped(scene)) {
		begin = now_ns();
		if (syscall(SYS_process_madvise, pidfd, &iov, 1, MADV_PAGEOUT,
			    0) != (long)PAGE_BYTES)
			_exit(1);
		took = now_ns() - begin;
		if (took > shared->longest_pageout)
			shared->longest_pageout = took;
		shared->pageouts++;
		usleep(1000);
	}
	_exit(0);
}

/*
 * Reclaim does not wait for advice. One thread of the process is in long advice
 * calls while its device gets duplicates in a block, and another process
 * reclaims a page of the same block.
 */
TEST_F_TIMEOUT(pressure, reclaim_does_not_wait_for_advice, 120)
{
	const int fd = memfd_create("reclaim_test", MFD_CLOEXEC);
	struct scene scene = { .many_len = 0 };
	uint64_t advising, begin;
	unsigned int i;
	pthread_t threads[3];
	int pidfd;
	char *buf;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "needs two processors");
	scene.shared =
		mmap(NULL, PAGE_BYTES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, scene.shared);
	scene.many = mmap(NULL, 1ul << 30, RW,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, scene.many);
	buf = ANON(BLOCK_BYTES);
	ASSERT_EQ(0, ftruncate(fd, PAGE_BYTES));
	scene.page = mmap(buf + BLOCK_BYTES / 2, PAGE_BYTES, RW,
			  MAP_SHARED | MAP_FIXED, fd, 0);
	ASSERT_EQ(buf + BLOCK_BYTES / 2, scene.page);
	ASSERT_EQ(0, advise(buf, PAGE_BYTES, SET_READ_MOSTLY));
	ASSERT_TRUE(make_ranges(&scene));
	pidfd = FD(syscall(SYS_pidfd_open, getpid(), 0));
	pid = FORK();
	if (!pid) {
		stay_on_processor(1);
		page_out(&scene, pidfd);
	}
	threads[0] = THREAD(touch, &scene);
	threads[1] = THREAD(spin, &scene);
	threads[2] = THREAD(advise_slowly, &scene);
	begin = now_ns();
	for (i = 1; i <= 3 || now_ns() - begin < 3000000000ull; i++) {
		*(uint64_t *)buf = i;
		ASSERT_VALUE(i, dev_read(A, buf));
	}
	__atomic_store_n(&scene.shared->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	ASSERT_EQ(0, process_wait(pid));
	advising = scene.shared->longest_advice;
	TH_LOG("longest advice %llu ms, longest pageout of %llu %llu ms, %zu ranges",
	       (unsigned long long)advising / 1000000,
	       (unsigned long long)scene.shared->pageouts,
	       (unsigned long long)scene.shared->longest_pageout / 1000000,
	       scene.many_len / PAGE_BYTES);
	ASSERT_LE(3, stats_of(A).out_copied_pages);
	ASSERT_LT(20 * ADVISING_NS, advising);
	ASSERT_GT(advising / 4, scene.shared->longest_pageout);
	munmap(scene.many, 1ul << 30);
	close(pidfd);
	close(fd);
}

/* --- moved mappings ------------------------------------------------------- */

TEST_F(pressure, mremap_leaves_pages_on_the_device)
{
	const size_t len = BLOCK_BYTES;
	char *buf = ANON(len), *target = ANON(len);

	ASSERT_DONE(dev_fill(A, buf, len, 3));
	ASSERT_EQ(target, mremap(buf, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
				 target));
	ASSERT_AT(A, target, len);
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf));
	ASSERT_VALUE(3, dev_read(A, target));
	ASSERT_EQ(-1, pages_check(target, len, 3));
	ASSERT_FILLS(A, target, len, 8);
}

TEST_HARNESS_MAIN
