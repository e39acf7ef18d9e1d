// SPDX-License-Identifier: MIT
/*
 * Devices with memory that the CPU maps directly. Accesses by the CPU leave
 * pages on such a device, and so do faults of devices that map pages remotely.
 * Prefetches, and faults of devices that migrate pages, move them. All of them
 * migrate back when the device goes away. Reloads the modules with such
 * devices, and restores their parameters afterwards.
 */
#include "lib/amount.h"
#include "lib/dmirror.h"
#include "lib/ext2.h"
#include "lib/fixture.h"

#define LEN		(3 * BLOCK_BYTES)
#define PAGES(len)	((len) / PAGE_BYTES)
#define DEVICE_MIB	amount(16, 8)

/* Two simulated GPUs with memory at these addresses; 0: not coherent. */
static const char *at(unsigned long first, unsigned long second)
{
	static char text[128];

	snprintf(text, sizeof(text), "memory=%lu coherent=%#lx,%#lx", DEVICE_MIB,
		 first, second);
	return text;
}

FIXTURE(coherent) {
};

FIXTURE_SETUP(coherent)
{
	unsigned long starts[COHERENT_REGIONS];

	if (coherent_regions(starts) < 2)
		SKIP(_exit(SKIPPED), "no memory for coherent devices");
	DEVICES_SETUP(.devices = 2, .lanes = 2, .bytes = LEN,
		      .load = at(starts[0], 0));
	MOVE(A, buf, LEN);
}

FIXTURE_TEARDOWN(coherent)
{
	unsigned long starts[COHERENT_REGIONS];

	if (coherent_regions(starts) < 2)
		return;
	EXPECT_TRUE(set_oversubscription(true));
	DEVICES_TEARDOWN();
}

TEST_F(coherent, device_info_reports_coherent_memory)
{
	struct hmmrt_device_info info;

	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	EXPECT_NE(0, info.out_properties & HMMRT_PROPERTY_COHERENT);
	EXPECT_EQ(LEN, info.out_used_bytes);
	/* Coherent device memory uses no system memory. */
	EXPECT_EQ(0, info.out_backed_bytes);
	ASSERT_EQ(0, cmd_device_info(space, id_of(B), &info));
	EXPECT_EQ(0, info.out_properties & HMMRT_PROPERTY_COHERENT);
}

/* --- in place ------------------------------------------------------------- */

TEST_F(coherent, cpu_uses_device_memory_in_place)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
	pages_fill(buf, LEN, 1000);
	EXPECT_AT(A, buf, LEN);
	ASSERT_VALUE(1000, dev_read(A, buf));
	ASSERT_FILLS(A, buf, LEN, 5000);
	EXPECT_AT(A, buf, LEN);
	stats = stats_of(A);
	EXPECT_EQ(0, stats.out_cpu_faults);
	EXPECT_EQ(0, stats.out_migrated_to_host);
	EXPECT_EQ(0, stats.out_remote_pages);
	EXPECT_EQ(PAGES(LEN), stats.out_migrated_to_device);
}

TEST_F(coherent, fault_moves_pages_to_the_device)
{
	char *buf = ANON(BLOCK_BYTES);
	uint64_t *hole = arena_anon(BLOCK_BYTES);

	pages_fill(buf, BLOCK_BYTES, 7);
	ASSERT_SUM(A, buf, BLOCK_BYTES, 7);
	EXPECT_HAS(A, buf, BLOCK_BYTES, 7);
	/*
	 * Pages that were never written read as zero, without old device
	 * contents.
	 */
	ASSERT_VALUE(0, dev_read(A, hole));
	EXPECT_LT(0, count_at(A, hole, BLOCK_BYTES));
	EXPECT_EQ(0, *hole);
	*hole = 3;
	ASSERT_VALUE(3, dev_read(A, hole));
	EXPECT_EQ(0, stats_of(A).out_cpu_faults);
}

TEST_F(coherent, cpu_and_device_write_one_page_at_the_same_time)
{
	enum { ROUNDS = 20, TIMES = 5000 };
	uint64_t *words = (uint64_t *)buf, own = 0;
	struct hmmrt_stats before, after;

	words[0] = 0;
	words[1] = 0;
	ASSERT_DONE(dev_write(A, words, 0));
	before = stats_of(A);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		DEV_POST(A, 0, AGENT_ADD, (uintptr_t)words, TIMES);
		for (unsigned int j = 0; j < TIMES; j++) {
			__atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
			((volatile uint64_t *)words)[1] = ++own;
		}
		ASSERT_DONE(dev_wait(A, 0, 60));
	}
	EXPECT_EQ(2UL * ROUNDS * TIMES, words[0]);
	EXPECT_EQ((uint64_t)ROUNDS * TIMES, words[1]);
	after = stats_of(A);
	EXPECT_EQ(before.out_migrated_to_device, after.out_migrated_to_device);
	EXPECT_EQ(before.out_device_faults, after.out_device_faults);
	EXPECT_EQ(0, after.out_migrated_to_host);
	EXPECT_AT(A, buf, LEN);
}

#define PREFETCHES amount(5, 2)

TEST_F(coherent, prefetch_moves_pages_both_ways)
{
	struct hmmrt_prefetch result;

	for (unsigned int i = 0; i < PREFETCHES; i++) {
		ASSERT_EQ(0, prefetch_result(HOST, buf, LEN, &result));
		ASSERT_EQ(PAGES(LEN), result.out_pages_moved);
		ASSERT_EQ(0, count_at(A, buf, LEN));
		ASSERT_EQ(0, device_used_bytes(space, id_of(A)));
		ASSERT_EQ(-1, pages_check(buf, LEN, 1 + i));
		pages_fill(buf, LEN, 2 + i);
		ASSERT_EQ(0, prefetch_result(A, buf, LEN, &result));
		ASSERT_EQ(PAGES(LEN), result.out_pages_moved);
		ASSERT_EQ(-1, pages_check(buf, LEN, 2 + i));
	}
	ASSERT_VALUE(PREFETCHES + 1, dev_read(A, buf));
}

/* Between memory that the CPU can map and memory that it cannot map. */
TEST_F(coherent, pages_migrate_to_another_device_and_back)
{
	MOVE(B, buf, LEN);
	ASSERT_EQ(0, device_used_bytes(space, id_of(A)));
	ASSERT_VALUE(1, dev_read(B, buf));
	ASSERT_DONE(dev_fill(B, buf, LEN, 300));
	/* CPU faults migrate only pages on the non-coherent device. */
	ASSERT_EQ(0, prefetch(A, buf + BLOCK_BYTES, BLOCK_BYTES));
	ASSERT_EQ(-1, pages_check(buf, LEN, 300));
	EXPECT_EQ(BLOCK_PAGES, count_at(A, buf, LEN));
	EXPECT_EQ(0, count_at(B, buf, LEN));
	/* Faults of the other device migrate pages out of coherent memory. */
	ASSERT_DONE(dev_fill(B, buf, LEN, 600));
	EXPECT_EQ(0, device_used_bytes(space, id_of(A)));
	ASSERT_EQ(-1, pages_check(buf, LEN, 600));
}

/* --- operations on the process's memory ----------------------------------- */

TEST_F(coherent, fork_copies_on_write)
{
	struct gate gate = GATE();
	volatile uint64_t *words = (uint64_t *)buf;
	pid_t pid = FORK();

	if (!pid) {
		if (!gate_wait(&gate))
			_exit(2);
		pages_fill(buf + BLOCK_BYTES, BLOCK_BYTES, 0);
		_exit(words[0] != 1 || words[PAGE_BYTES / 8] != 2);
	}
	ASSERT_DONE(dev_write(A, words, 77));
	words[PAGE_BYTES / 8] = 78;
	ASSERT_TRUE(gate_open(&gate));
	EXPECT_EQ(0, process_wait(pid));
	EXPECT_EQ(77, words[0]);
	EXPECT_EQ(78, words[PAGE_BYTES / 8]);
	ASSERT_VALUE(78, dev_read(A, words + PAGE_BYTES / 8));
	EXPECT_EQ(-1, pages_check(buf + BLOCK_BYTES, 2 * BLOCK_BYTES,
				  1 + BLOCK_PAGES));
}

TEST_F(coherent, write_after_a_child_exited_happens_in_place)
{
	ASSERT_EQ(0, IN_CHILD(0));
	EXPECT_FILLS(A, buf, LEN, 40);
	EXPECT_AT(A, buf, LEN);
	EXPECT_EQ(PAGES(LEN), stats_of(A).out_migrated_to_device);
}

TEST_F(coherent, write_after_mprotect_ro_and_rw_happens_in_place)
{
	ASSERT_DONE(dev_write(A, buf, 5));
	ASSERT_EQ(0, mprotect(buf, LEN, PROT_READ));
	ASSERT_VALUE(5, dev_read(A, buf));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, buf, 6));
	ASSERT_EQ(0, mprotect(buf, LEN, RW));
	EXPECT_FILLS(A, buf, LEN, 9);
	EXPECT_AT(A, buf, LEN);
	EXPECT_EQ(0, stats_of(A).out_migrated_to_host);
}

TEST_F(coherent, unmapped_and_discarded_memory_is_freed)
{
	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	EXPECT_EQ(LEN - BLOCK_BYTES, device_used_bytes(space, id_of(A)));
	ASSERT_EQ(0,
		  madvise(buf + BLOCK_BYTES, LEN - BLOCK_BYTES, MADV_DONTNEED));
	EXPECT_EQ(0, device_used_bytes(space, id_of(A)));
	ASSERT_VALUE(0, dev_read(A, buf + BLOCK_BYTES));
}

TEST_F(coherent, mremap_leaves_pages_on_the_device)
{
	char *moved = arena_anon(LEN);

	ASSERT_EQ(moved,
		  mremap(buf, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	EXPECT_HAS(A, moved, LEN, 1);
	EXPECT_FILLS(A, moved, LEN, 60);
}

/*
 * Neither advice reclaims device pages. A device write to a lazily freed page
 * is kept.
 */
TEST_F(coherent, madv_free_and_madv_pageout_leave_device_pages)
{
	ASSERT_EQ(0, madvise(buf, LEN, MADV_FREE));
	ASSERT_DONE(dev_fill(A, buf, LEN, 20));
	ASSERT_EQ(0, madvise(buf, LEN, MADV_PAGEOUT));
	EXPECT_LEFT(A, buf, LEN, 20);
}

/* --- use by the kernel ---------------------------------------------------- */

TEST_F(coherent, direct_io_reaches_device_memory)
{
	int fd = FD(ext2_file(BLOCK_BYTES));

	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_DIRECT));
	ASSERT_EQ(BLOCK_BYTES, pwrite(fd, buf, BLOCK_BYTES, 0));
	ASSERT_DONE(dev_fill(A, buf, BLOCK_BYTES, 0));
	ASSERT_EQ(BLOCK_BYTES, pread(fd, buf, BLOCK_BYTES, 0));
	ASSERT_VALUE(512, dev_read(A, buf + BLOCK_BYTES - PAGE_BYTES));
	EXPECT_LEFT(A, buf, LEN, 1);
	close(fd);
}

TEST_F(coherent, read_and_write_calls_use_device_memory)
{
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, write(ends[1], buf, PAGE_BYTES));
	ASSERT_EQ(PAGE_BYTES, read(ends[0], buf + PAGE_BYTES, PAGE_BYTES));
	ASSERT_VALUE(1, dev_read(A, buf + PAGE_BYTES));
	EXPECT_AT(A, buf, LEN);
}

/*
 * The pipe has a reference to the page, which blocks migration until it is
 * read.
 */
TEST_F(coherent, page_in_a_pipe_stays_until_it_is_read)
{
	struct iovec page = { buf, PAGE_BYTES };
	struct hmmrt_prefetch result;
	uint64_t words[PAGE_BYTES / 8];
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, vmsplice(ends[1], &page, 1, 0));
	ASSERT_EQ(0, prefetch_result(HOST, buf, LEN, &result));
	EXPECT_EQ(1, result.out_stayed[HMMRT_STAY_PINNED]);
	EXPECT_EQ(1, count_at(A, buf, LEN));
	ASSERT_DONE(dev_write(A, buf, 99));
	EXPECT_EQ(99, *(uint64_t *)buf);
	ASSERT_EQ(PAGE_BYTES, read(ends[0], words, PAGE_BYTES));
	EXPECT_EQ(99, words[0]);
	ASSERT_EQ(0, prefetch_result(HOST, buf, PAGE_BYTES, &result));
	EXPECT_EQ(0, count_at(A, buf, PAGE_BYTES));
}

/* --- oversubscription ----------------------------------------------------- */

TEST_F(coherent, pages_over_device_size_are_mapped_remotely)
{
	const size_t len = (DEVICE_MIB << 20) + BLOCK_BYTES - LEN;
	char *more = arena_anon(len);
	struct hmmrt_prefetch result;

	ASSERT_TRUE(set_oversubscription(false));
	pages_fill(more, len, 1);
	ASSERT_EQ(0, prefetch_result(A, more, len, &result));
	EXPECT_EQ(BLOCK_PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_SUM(A, more, len, 1);
	EXPECT_EQ(BLOCK_PAGES, count_at(HOST, more, len));
	EXPECT_FILLS(A, more, len, 100);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(coherent, full_device_evicts_pages)
{
	const size_t len = (DEVICE_MIB << 20) + BLOCK_BYTES;
	char *more = arena_anon(len);

	pages_fill(more, len, 1);
	ASSERT_SUM(A, more, len, 1);
	ASSERT_DONE(dev_fill(A, more, len, 100));
	EXPECT_LT(0, stats_of(A).out_evictions);
	EXPECT_EQ(-1, pages_check(more, len, 100));
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

/* --- end of a binding ----------------------------------------------------- */

TEST_F(coherent, unbind_migrates_pages_back)
{
	ASSERT_DONE(dev_fill(A, buf, LEN, 70));
	/* The second agent has the first one's file open, too. */
	session_unbind(&session, B);
	session_unbind(&session, A);
	EXPECT_EQ(0, count_at(A, buf, LEN));
	EXPECT_EQ(0, device_used_bytes(space, id_of(A)));
	EXPECT_EQ(-1, pages_check(buf, LEN, 70));
}

#define TURNS	amount(20, 5)

static int use_as_another_process(uint64_t first)
{
	int space = open_manager(), gpu = open_gpu(0);
	char *buf = arena_anon(LEN);
	struct hmmrt_gpu_bind bind;
	int rc = cmd_space_create(space);

	if (!rc)
		rc = cmd_bind(gpu, space, &bind);
	for (unsigned int i = 0; i < TURNS && !rc; i++) {
		pages_fill(buf, LEN, first + i);
		rc = cmd_prefetch(space, buf, LEN, bind.out_device_id, NULL);
		if (!rc && pages_check(buf, LEN, first + i) != -1)
			rc = -EIO;
		if (!rc)
			rc = madvise(buf, LEN, MADV_DONTNEED);
	}
	return rc;
}

TEST_F(coherent, processes_do_not_see_each_others_memory)
{
	pid_t pids[2];

	/* The children use memory of their own. */
	ASSERT_EQ(0, madvise(buf, LEN, MADV_DONTFORK));
	for (unsigned int i = 0; i < 2; i++)
		pids[i] = CHILD(-use_as_another_process(1 + i * 1000000));
	for (unsigned int i = 0; i < TURNS; i++)
		ASSERT_FILLS(A, buf, LEN, i);
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_EQ(0, process_wait(pids[i]));
}

/* --- module load and unload ----------------------------------------------- */

FIXTURE(module) {
	char parameters[SIMGPU_PARAMETERS];
	unsigned long starts[COHERENT_REGIONS];
	bool present;
};

FIXTURE_SETUP(module)
{
	self->present = coherent_regions(self->starts) == COHERENT_REGIONS;
	if (!self->present)
		SKIP(_exit(SKIPPED), "no memory for coherent devices");
	ASSERT_EQ(0, simgpu_replace(self->parameters,
				    at(self->starts[0], self->starts[1])));
}

FIXTURE_TEARDOWN(module)
{
	if (self->present)
		EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/*
 * Exits and leaves a child that has the pages but no open file. The child
 * reports that it runs, and checks the pages when told to.
 */
static void put_and_exit(struct gate *ready, struct gate *go)
{
	int space = open_manager(), gpu = open_gpu(1);
	char *buf = arena_anon(LEN);
	struct hmmrt_gpu_bind bind;

	pages_fill(buf, LEN, 1);
	if (cmd_space_create(space) || cmd_bind(gpu, space, &bind) ||
	    cmd_prefetch(space, buf, LEN, bind.out_device_id, NULL) ||
	    pages_at(space, buf, LEN, bind.out_device_id) != PAGES(LEN))
		_exit(1);
	if (fork())
		_exit(0);
	close(space);
	close(gpu);
	_exit(!gate_open(ready) || !gate_wait(go) ||
	      pages_check(buf, LEN, 1) != -1 || !gate_open(ready));
}

TEST_F(module, removal_migrates_back_pages_of_processes_without_a_file)
{
	struct gate ready = GATE(), go = GATE();
	pid_t pid = FORK();

	if (!pid)
		put_and_exit(&ready, &go);
	ASSERT_EQ(0, process_wait(pid));
	ASSERT_TRUE(gate_wait(&ready));
	space = open_manager();
	EXPECT_EQ(LEN, device_used_bytes(space, 1));
	close(space);
	ASSERT_EQ(0, simgpu_remove());
	ASSERT_TRUE(gate_open(&go));
	/* It opens this gate again if the pages have their contents. */
	EXPECT_TRUE(gate_wait(&ready));
}

static int put_into_pipe(int end, char *buf)
{
	struct iovec page = { buf, PAGE_BYTES };
	int space = open_manager(), gpu = open_gpu(1), rc = -EIO;
	struct hmmrt_gpu_bind bind;

	pages_fill(buf, LEN, 1);
	if (!cmd_space_create(space) && !cmd_bind(gpu, space, &bind) &&
	    !cmd_prefetch(space, buf, LEN, bind.out_device_id, NULL) &&
	    pages_at(space, buf, LEN, bind.out_device_id) == PAGES(LEN) &&
	    vmsplice(end, &page, 1, 0) == PAGE_BYTES)
		rc = 0;
	close(gpu);
	close(space);
	return rc;
}

/* Waits until coherent memory can be registered again. */
static int load_again(const unsigned long *starts)
{
	int rc = -EBUSY;

	for (unsigned int try = 0; try < 300 && rc == -EBUSY; try++) {
		usleep(100000);
		rc = module_insert("hmmrt_simgpu", at(starts[0], starts[1]));
	}
	return rc;
}

/* Returns true if /proc/iomem lists a device at this address. */
static bool is_claimed(unsigned long start)
{
	char line[256], at[32], *name;
	FILE *iomem = fopen("/proc/iomem", "re");
	bool claimed = false;

	snprintf(at, sizeof(at), "%08lx-", start);
	while (iomem && fgets(line, sizeof(line), iomem)) {
		name = strstr(line, at);
		claimed |= name && strstr(name, " : hmmrt-gpu");
	}
	if (iomem)
		fclose(iomem);
	return claimed;
}

/*
 * A program may hold a page indefinitely, but this must not block the removal
 * of the device. The page keeps its contents, and nothing remains of the device
 * once the page is released.
 */
TEST_F(module, removal_does_not_wait_for_a_page_in_a_pipe)
{
	char *buf = arena_anon(LEN);
	uint64_t words[PAGE_BYTES / 8];
	time_t began;
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(0, put_into_pipe(ends[1], buf));
	began = time(NULL);
	ASSERT_EQ(0, simgpu_remove());
	EXPECT_GE(60, time(NULL) - began);
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	*(uint64_t *)buf = 77;

	EXPECT_EQ(-EBUSY,
		  module_insert("hmmrt_simgpu", at(0, self->starts[1])));
	EXPECT_TRUE(is_claimed(self->starts[1]));
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	/*
	 * Release the page only after a retry has failed: there must be more
	 * retries.
	 */
	sleep(3);
	ASSERT_EQ(PAGE_BYTES, read(ends[0], words, PAGE_BYTES));
	EXPECT_EQ(77, words[0]);
	EXPECT_EQ(0, load_again(self->starts));
	EXPECT_EQ(77, *(uint64_t *)buf);
	EXPECT_EQ(-1, pages_check(buf + PAGE_BYTES, LEN - PAGE_BYTES, 2));
}

static int insert_with_memory_at(unsigned long start)
{
	char text[128];

	snprintf(text, sizeof(text), "memory=%lu coherent=%#lx", DEVICE_MIB,
		 start);
	return module_insert("hmmrt_simgpu", text);
}

TEST_F(module, bad_addresses_are_refused)
{
	unsigned long start = self->starts[0];
	char text[128];

	ASSERT_EQ(0, simgpu_remove());
	/* An address in the kernel's own memory. */
	EXPECT_EQ(-EINVAL, module_insert("hmmrt_simgpu", "coherent=0x1000000"));
	EXPECT_EQ(-EBUSY, module_insert("hmmrt_simgpu",
					at(start, start + BLOCK_BYTES)));
	EXPECT_EQ(-EINVAL, insert_with_memory_at(start + PAGE_BYTES));
	EXPECT_GT(0, insert_with_memory_at(-BLOCK_BYTES));
	snprintf(text, sizeof(text), "spm_addr_dev0=%#lx", start);
	EXPECT_EQ(-EINVAL, module_insert("hmmrt_dmirror", text));
	/* The failed loads must not have kept the memory. */
	EXPECT_EQ(0, insert_with_memory_at(start));
}

/* --- several devices bound to one process --------------------------------- */

static int mirror[4];
static char *data;

FIXTURE(mirrors) {
	unsigned long starts[COHERENT_REGIONS];
	bool present;
};

FIXTURE_SETUP(mirrors)
{
	char text[128];

	self->present = coherent_regions(self->starts) == COHERENT_REGIONS;
	if (!self->present)
		SKIP(_exit(SKIPPED), "no memory for coherent devices");
	ASSERT_EQ(0, dmirror_insert(DEVICE_MIB, &self->starts[2]));
	space = open_manager();
	ASSERT_EQ(0, cmd_space_create(space));
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "/dev/hmm_dmirror%u", i);
		mirror[i] = FD(open(text, O_RDWR | O_CLOEXEC));
	}
	buf = arena_anon(LEN);
	data = NOT_NULL(malloc(LEN));
	pages_fill(buf, LEN, 1);
}

FIXTURE_TEARDOWN(mirrors)
{
	if (!self->present)
		return;
	for (unsigned int i = 0; i < 4; i++)
		close(mirror[i]);
	EXPECT_LEFT(HOST, buf, LEN, 1);
	close(space);
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
	free(data);
}

#define CALL(device, name, len) DMIRROR(mirror[device], name, buf, len, data)

TEST_F(mirrors, other_devices_use_coherent_memory_in_place)
{
	ASSERT_EQ(0, CALL(2, MIGRATE_TO_DEV, LEN));
	EXPECT_EQ(-1, pages_check(data, LEN, 1));
	for (unsigned int i = 0; i < 4; i++) {
		memset(data, 0, LEN);
		ASSERT_EQ(0, CALL(i, READ, LEN));
		ASSERT_EQ(-1, pages_check(data, LEN, 1));
		pages_fill(data, LEN, 10 + i);
		ASSERT_EQ(0, CALL(i, WRITE, LEN));
		ASSERT_EQ(-1, pages_check(buf, LEN, 10 + i));
		pages_fill(buf, LEN, 1);
	}
	EXPECT_EQ(0, count_at(HOST, buf, LEN));
}

TEST_F(mirrors, coherent_device_read_migrates_private_pages_back)
{
	ASSERT_EQ(0, CALL(0, MIGRATE_TO_DEV, LEN));
	ASSERT_EQ(0, CALL(2, READ, LEN));
	EXPECT_EQ(-1, pages_check(data, LEN, 1));
	EXPECT_AT(HOST, buf, LEN);
}

TEST_F(mirrors, exclusive_access_migrates_coherent_pages_back)
{
	const size_t len = 70 * PAGE_BYTES;

	ASSERT_EQ(0, CALL(2, MIGRATE_TO_DEV, LEN));
	ASSERT_EQ(0, CALL(3, EXCLUSIVE, len));
	EXPECT_EQ(-1, pages_check(data, len, 1));
	EXPECT_EQ(-EPERM, DMIRROR(mirror[3], CHECK_EXCLUSIVE, buf, len, NULL));
	EXPECT_EQ(0, count_at(HOST, buf + len, LEN - len));
	/* The exclusive access does not block the eviction. */
	ASSERT_EQ(0, DMIRROR(mirror[2], RELEASE, buf, LEN, NULL));
	EXPECT_LEFT(HOST, buf, LEN, 1);
	EXPECT_EQ(0, DMIRROR(mirror[3], CHECK_EXCLUSIVE, buf, len, NULL));
}

TEST_F(mirrors, exclusive_access_to_a_page_in_a_pipe_is_ebusy)
{
	struct iovec page = { buf, PAGE_BYTES };
	int ends[2];

	ASSERT_EQ(0, CALL(2, MIGRATE_TO_DEV, LEN));
	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, vmsplice(ends[1], &page, 1, 0));
	EXPECT_EQ(-EBUSY, CALL(3, EXCLUSIVE, PAGE_BYTES));
	close(ends[0]);
	close(ends[1]);
	EXPECT_EQ(0, CALL(3, EXCLUSIVE, PAGE_BYTES));
}

TEST_HARNESS_MAIN
