// SPDX-License-Identifier: MIT
/*
 * Devices with memory that the CPU maps directly. Accesses by the CPU leave
 * pages on such a device, and so do faults of devices that map pages remotely.
 * Prefetches, and faults of devices that migrate pages, move them. All of them
 * migrate back when the device goes away. Reloads the modules with such
 * devices, and restores their parameters afterwards.
 */
#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include <lib/test_hmm_uapi.h>

#include "lib/ext2.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"
#include "lib/setting.h"

#define LEN		(3 * BLOCK_BYTES)
#define PAGES(len)	((len) / PAGE_BYTES)
#define DEVICE_MIB	16

struct loaded {
	char parameters[SIMGPU_PARAMETERS];	/* before; empty: not loaded */
};

/* Loads two simulated GPUs with memory at these addresses; 0: not coherent. */
static int load(struct loaded *loaded, unsigned long first,
		unsigned long second)
{
	char text[128];

	snprintf(text, sizeof(text), "memory=%d coherent=%#lx,%#lx", DEVICE_MIB,
		 first, second);
	return simgpu_replace(loaded->parameters, text);
}

FIXTURE(coherent) {
	struct loaded loaded;
	struct session session;
	struct agent *agent;
	int space;
	uint32_t id;
	char *buf;
};

FIXTURE_SETUP(coherent)
{
	unsigned long starts[COHERENT_REGIONS];

	if (coherent_regions(starts) < 2)
		SKIP(_exit(SKIPPED), "no memory for coherent devices");
	ASSERT_EQ(0, load(&self->loaded, starts[0], 0));
	ASSERT_EQ(0, session_start(&self->session, 2, 2));
	self->agent = session_agent(&self->session);
	self->space = self->session.space;
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(LEN);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, LEN, 1);
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, self->id, NULL));
	ASSERT_EQ(PAGES(LEN), pages_at(self->space, self->buf, LEN, self->id));
}

FIXTURE_TEARDOWN(coherent)
{
	unsigned long starts[COHERENT_REGIONS];

	if (coherent_regions(starts) < 2)
		return;
	EXPECT_TRUE(set_oversubscription(true));
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, simgpu_restore(self->loaded.parameters));
}

static long device_pages(int space, const void *buf, size_t len)
{
	return pages_at(space, buf, len, 0);
}

TEST_F(coherent, device_info_reports_coherent_memory)
{
	struct hmmrt_device_info info;

	ASSERT_EQ(0, cmd_device_info(self->space, self->id, &info));
	EXPECT_NE(0, info.out_properties & HMMRT_PROPERTY_COHERENT);
	EXPECT_EQ(LEN, info.out_used_bytes);
	/* Coherent device memory uses no system memory. */
	EXPECT_EQ(0, info.out_backed_bytes);
	ASSERT_EQ(0, cmd_device_info(self->space, self->session.devices[1].id,
				     &info));
	EXPECT_EQ(0, info.out_properties & HMMRT_PROPERTY_COHERENT);
}

/* --- in place ------------------------------------------------------------- */

TEST_F(coherent, cpu_uses_device_memory_in_place)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(-1, pages_check(self->buf, LEN, 1));
	pages_fill(self->buf, LEN, 1000);
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
	ASSERT_VALUE(1000, agent_read(self->agent, self->buf));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 5000));
	ASSERT_EQ(-1, pages_check(self->buf, LEN, 5000));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
	stats = session_stats(&self->session, 0);
	EXPECT_EQ(0, stats.out_cpu_faults);
	EXPECT_EQ(0, stats.out_migrated_to_host);
	EXPECT_EQ(0, stats.out_remote_pages);
	EXPECT_EQ(PAGES(LEN), stats.out_migrated_to_device);
}

TEST_F(coherent, fault_moves_pages_to_the_device)
{
	char *buf = arena_anon(BLOCK_BYTES);
	uint64_t *hole = arena_anon(BLOCK_BYTES);

	pages_fill(buf, BLOCK_BYTES, 7);
	ASSERT_VALUE(512 * (7 + 518) / 2, agent_sum(self->agent, buf,
						    BLOCK_BYTES, PAGE_BYTES));
	EXPECT_EQ(BLOCK_PAGES, device_pages(self->space, buf, BLOCK_BYTES));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 7));
	/*
	 * Pages that were never written read as zero, without old device
	 * contents.
	 */
	ASSERT_VALUE(0, agent_read(self->agent, hole));
	EXPECT_LT(0, device_pages(self->space, hole, BLOCK_BYTES));
	EXPECT_EQ(0, *hole);
	*hole = 3;
	ASSERT_VALUE(3, agent_read(self->agent, hole));
	EXPECT_EQ(0, session_stats(&self->session, 0).out_cpu_faults);
}

TEST_F(coherent, cpu_and_device_write_one_page_at_the_same_time)
{
	enum { ROUNDS = 20, TIMES = 5000 };
	uint64_t *words = (uint64_t *)self->buf, own = 0;
	struct hmmrt_stats before, after;
	unsigned int i, j;

	words[0] = 0;
	words[1] = 0;
	ASSERT_DONE(agent_write(self->agent, words, 0));
	before = session_stats(&self->session, 0);
	for (i = 0; i < ROUNDS; i++) {
		const uint64_t args[] = { (uintptr_t)words, TIMES };

		agent_post(self->agent, 0, AGENT_ADD, args, 2);
		for (j = 0; j < TIMES; j++) {
			__atomic_fetch_add(&words[0], 1, __ATOMIC_RELAXED);
			((volatile uint64_t *)words)[1] = ++own;
		}
		ASSERT_DONE(agent_wait(self->agent, 0, 60));
	}
	EXPECT_EQ(2UL * ROUNDS * TIMES, words[0]);
	EXPECT_EQ((uint64_t)ROUNDS * TIMES, words[1]);
	after = session_stats(&self->session, 0);
	EXPECT_EQ(before.out_migrated_to_device, after.out_migrated_to_device);
	EXPECT_EQ(before.out_device_faults, after.out_device_faults);
	EXPECT_EQ(0, after.out_migrated_to_host);
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
}

TEST_F(coherent, prefetch_moves_pages_both_ways)
{
	struct hmmrt_prefetch result;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN,
					  HMMRT_LOCATION_HOST, &result));
		ASSERT_EQ(PAGES(LEN), result.out_pages_moved);
		ASSERT_EQ(0, device_pages(self->space, self->buf, LEN));
		ASSERT_EQ(0, device_used_bytes(self->space, self->id));
		ASSERT_EQ(-1, pages_check(self->buf, LEN, 1 + i));
		pages_fill(self->buf, LEN, 2 + i);
		ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, self->id,
					  &result));
		ASSERT_EQ(PAGES(LEN), result.out_pages_moved);
		ASSERT_EQ(-1, pages_check(self->buf, LEN, 2 + i));
	}
	ASSERT_VALUE(6, agent_read(self->agent, self->buf));
}

/* Between memory that the CPU can map and memory that it cannot map. */
TEST_F(coherent, pages_migrate_to_another_device_and_back)
{
	uint32_t other = self->session.devices[1].id;

	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN, other, NULL));
	ASSERT_EQ(PAGES(LEN), pages_at(self->space, self->buf, LEN, other));
	ASSERT_EQ(0, device_used_bytes(self->space, self->id));
	ASSERT_VALUE(1, agent_read(&self->session.devices[1].agent, self->buf));
	ASSERT_DONE(agent_fill(&self->session.devices[1].agent, self->buf, LEN,
			       PAGE_BYTES, 300));
	/* CPU faults migrate only pages on the non-coherent device. */
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf + BLOCK_BYTES,
				  BLOCK_BYTES, self->id, NULL));
	ASSERT_EQ(-1, pages_check(self->buf, LEN, 300));
	EXPECT_EQ(BLOCK_PAGES, device_pages(self->space, self->buf, LEN));
	EXPECT_EQ(0, pages_at(self->space, self->buf, LEN, other));
	/* Faults of the other device migrate pages out of coherent memory. */
	ASSERT_DONE(agent_fill(&self->session.devices[1].agent, self->buf, LEN,
			       PAGE_BYTES, 600));
	EXPECT_EQ(0, device_used_bytes(self->space, self->id));
	ASSERT_EQ(-1, pages_check(self->buf, LEN, 600));
}

/* --- operations on the process's memory ----------------------------------- */

TEST_F(coherent, fork_copies_on_write)
{
	volatile uint64_t *words = (uint64_t *)self->buf;
	int status = -1, gate[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe2(gate, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		if (read(gate[0], &c, 1) != 1)
			_exit(2);
		pages_fill(self->buf + BLOCK_BYTES, BLOCK_BYTES, 0);
		_exit(words[0] != 1 || words[PAGE_BYTES / 8] != 2);
	}
	ASSERT_DONE(agent_write(self->agent, words, 77));
	words[PAGE_BYTES / 8] = 78;
	ASSERT_EQ(1, write(gate[1], "g", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(77, words[0]);
	EXPECT_EQ(78, words[PAGE_BYTES / 8]);
	ASSERT_VALUE(78, agent_read(self->agent, words + PAGE_BYTES / 8));
	EXPECT_EQ(-1, pages_check(self->buf + BLOCK_BYTES, 2 * BLOCK_BYTES,
				  1 + BLOCK_PAGES));
	close(gate[0]);
	close(gate[1]);
}

TEST_F(coherent, write_after_a_child_exited_happens_in_place)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 40));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 40));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
	EXPECT_EQ(PAGES(LEN),
		  session_stats(&self->session, 0).out_migrated_to_device);
}

TEST_F(coherent, write_after_mprotect_ro_and_rw_happens_in_place)
{
	ASSERT_DONE(agent_write(self->agent, self->buf, 5));
	ASSERT_EQ(0, mprotect(self->buf, LEN, PROT_READ));
	ASSERT_VALUE(5, agent_read(self->agent, self->buf));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_write(self->agent, self->buf, 6));
	ASSERT_EQ(0, mprotect(self->buf, LEN, PROT_READ | PROT_WRITE));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 9));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 9));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
	EXPECT_EQ(0, session_stats(&self->session, 0).out_migrated_to_host);
}

TEST_F(coherent, unmapped_and_discarded_memory_is_freed)
{
	ASSERT_EQ(0, munmap(self->buf, BLOCK_BYTES));
	EXPECT_EQ(LEN - BLOCK_BYTES,
		  device_used_bytes(self->space, self->id));
	ASSERT_EQ(0, madvise(self->buf + BLOCK_BYTES, LEN - BLOCK_BYTES,
			     MADV_DONTNEED));
	EXPECT_EQ(0, device_used_bytes(self->space, self->id));
	ASSERT_VALUE(0, agent_read(self->agent, self->buf + BLOCK_BYTES));
}

TEST_F(coherent, mremap_leaves_pages_on_the_device)
{
	char *moved = arena_anon(LEN);

	ASSERT_EQ(moved, mremap(self->buf, LEN, LEN,
				MREMAP_MAYMOVE | MREMAP_FIXED, moved));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, moved, LEN));
	EXPECT_EQ(-1, pages_check(moved, LEN, 1));
	ASSERT_DONE(agent_fill(self->agent, moved, LEN, PAGE_BYTES, 60));
	EXPECT_EQ(-1, pages_check(moved, LEN, 60));
}

/*
 * Neither advice reclaims device pages. A device write to a lazily freed page
 * is kept.
 */
TEST_F(coherent, madv_free_and_madv_pageout_leave_device_pages)
{
	ASSERT_EQ(0, madvise(self->buf, LEN, MADV_FREE));
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 20));
	ASSERT_EQ(0, madvise(self->buf, LEN, MADV_PAGEOUT));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 20));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
}

/* --- use by the kernel ---------------------------------------------------- */

TEST_F(coherent, direct_io_reaches_device_memory)
{
	int fd = ext2_file(BLOCK_BYTES);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_DIRECT));
	ASSERT_EQ(BLOCK_BYTES, pwrite(fd, self->buf, BLOCK_BYTES, 0));
	ASSERT_DONE(agent_fill(self->agent, self->buf, BLOCK_BYTES, PAGE_BYTES,
			       0));
	ASSERT_EQ(BLOCK_BYTES, pread(fd, self->buf, BLOCK_BYTES, 0));
	ASSERT_VALUE(512, agent_read(self->agent, self->buf + BLOCK_BYTES -
							  PAGE_BYTES));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
	close(fd);
}

TEST_F(coherent, read_and_write_calls_use_device_memory)
{
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, write(ends[1], self->buf, PAGE_BYTES));
	ASSERT_EQ(PAGE_BYTES, read(ends[0], self->buf + PAGE_BYTES, PAGE_BYTES));
	ASSERT_VALUE(1, agent_read(self->agent, self->buf + PAGE_BYTES));
	EXPECT_EQ(PAGES(LEN), device_pages(self->space, self->buf, LEN));
	close(ends[0]);
	close(ends[1]);
}

/*
 * The pipe has a reference to the page, which blocks migration until it is
 * read.
 */
TEST_F(coherent, page_in_a_pipe_stays_until_it_is_read)
{
	struct iovec page = { self->buf, PAGE_BYTES };
	struct hmmrt_prefetch result;
	uint64_t words[PAGE_BYTES / 8];
	int ends[2];

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, vmsplice(ends[1], &page, 1, 0));
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, LEN,
				  HMMRT_LOCATION_HOST, &result));
	EXPECT_EQ(1, result.out_stayed[HMMRT_STAY_PINNED]);
	EXPECT_EQ(1, device_pages(self->space, self->buf, LEN));
	ASSERT_DONE(agent_write(self->agent, self->buf, 99));
	EXPECT_EQ(99, *(uint64_t *)self->buf);
	ASSERT_EQ(PAGE_BYTES, read(ends[0], words, PAGE_BYTES));
	EXPECT_EQ(99, words[0]);
	ASSERT_EQ(0, cmd_prefetch(self->space, self->buf, PAGE_BYTES,
				  HMMRT_LOCATION_HOST, &result));
	EXPECT_EQ(0, device_pages(self->space, self->buf, PAGE_BYTES));
	close(ends[0]);
	close(ends[1]);
}

/* --- oversubscription ----------------------------------------------------- */

TEST_F(coherent, pages_over_device_size_are_mapped_remotely)
{
	const size_t len = (DEVICE_MIB << 20) + BLOCK_BYTES - LEN;
	char *more = arena_anon(len);
	struct hmmrt_prefetch result;

	ASSERT_TRUE(set_oversubscription(false));
	pages_fill(more, len, 1);
	ASSERT_EQ(0, cmd_prefetch(self->space, more, len, self->id, &result));
	EXPECT_EQ(BLOCK_PAGES, result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_VALUE(PAGES(len) * (PAGES(len) + 1) / 2,
		     agent_sum(self->agent, more, len, PAGE_BYTES));
	EXPECT_EQ(BLOCK_PAGES, pages_at(self->space, more, len,
					HMMRT_LOCATION_HOST));
	ASSERT_DONE(agent_fill(self->agent, more, len, PAGE_BYTES, 100));
	EXPECT_EQ(-1, pages_check(more, len, 100));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
}

TEST_F(coherent, full_device_evicts_pages)
{
	const size_t len = (DEVICE_MIB << 20) + BLOCK_BYTES;
	char *more = arena_anon(len);

	pages_fill(more, len, 1);
	ASSERT_VALUE(pages_sum(len, 1),
		     agent_sum(self->agent, more, len, PAGE_BYTES));
	ASSERT_DONE(agent_fill(self->agent, more, len, PAGE_BYTES, 100));
	EXPECT_LT(0, session_stats(&self->session, 0).out_evictions);
	EXPECT_EQ(-1, pages_check(more, len, 100));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
}

/* --- end of a binding ----------------------------------------------------- */

TEST_F(coherent, unbind_migrates_pages_back)
{
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 70));
	/* The second agent has the first one's file open, too. */
	session_unbind(&self->session, 1);
	session_unbind(&self->session, 0);
	EXPECT_EQ(0, device_pages(self->space, self->buf, LEN));
	EXPECT_EQ(0, device_used_bytes(self->space, self->id));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 70));
}

static int use_as_another_process(uint64_t first)
{
	int space = open_manager(), gpu = open_gpu(0);
	char *buf = arena_anon(LEN);
	struct hmmrt_gpu_bind bind;
	int rc = cmd_space_create(space);
	unsigned int i;

	if (!rc)
		rc = cmd_bind(gpu, space, &bind);
	for (i = 0; i < 20 && !rc; i++) {
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
	int status[2] = { -1, -1 };
	pid_t pids[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(-use_as_another_process(1 + i * 1000000));
	}
	for (i = 0; i < 20; i++) {
		ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES,
				       i));
		ASSERT_EQ(-1, pages_check(self->buf, LEN, i));
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(pids[i], waitpid(pids[i], &status[i], 0));
		EXPECT_EQ(0, status[i]);
	}
}

/* --- module load and unload ----------------------------------------------- */

FIXTURE(module) {
	struct loaded loaded;
	unsigned long starts[COHERENT_REGIONS];
	bool present;
};

FIXTURE_SETUP(module)
{
	self->present = coherent_regions(self->starts) == COHERENT_REGIONS;
	if (!self->present)
		SKIP(_exit(SKIPPED), "no memory for coherent devices");
	ASSERT_EQ(0, load(&self->loaded, self->starts[0], self->starts[1]));
}

FIXTURE_TEARDOWN(module)
{
	if (self->present)
		EXPECT_EQ(0, simgpu_restore(self->loaded.parameters));
}

/*
 * Exits and leaves a child that has the pages but no open file. The child
 * reports that it runs, and checks the pages when told to.
 */
static void put_and_exit(const int *ready, const int *go)
{
	int space = open_manager(), gpu = open_gpu(1);
	char *buf = arena_anon(LEN), c;
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
	close(go[1]);
	if (write(ready[1], "r", 1) != 1)
		_exit(1);
	c = read(go[0], &c, 1) == 1 && pages_check(buf, LEN, 1) == -1 ? 'y' : 'n';
	_exit(write(ready[1], &c, 1) != 1);
}

TEST_F(module, removal_migrates_back_pages_of_processes_without_a_file)
{
	int ready[2], go[2], status = -1, space;
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	pid = fork();
	if (!pid)
		put_and_exit(ready, go);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	space = open_manager();
	EXPECT_EQ(LEN, device_used_bytes(space, 1));
	close(space);
	ASSERT_EQ(0, simgpu_remove());
	ASSERT_EQ(1, write(go[1], "g", 1));
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ('y', c);
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
	char text[128];
	unsigned int try;
	int rc = -EBUSY;

	snprintf(text, sizeof(text), "memory=%d coherent=%#lx,%#lx", DEVICE_MIB,
		 starts[0], starts[1]);
	for (try = 0; try < 300 && rc == -EBUSY; try++) {
		usleep(100000);
		rc = module_insert("hmmrt_simgpu", text);
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
	char *buf = arena_anon(LEN), text[128];
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

	snprintf(text, sizeof(text), "memory=%d coherent=0,%#lx", DEVICE_MIB,
		 self->starts[1]);
	EXPECT_EQ(-EBUSY, module_insert("hmmrt_simgpu", text));
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
	close(ends[0]);
	close(ends[1]);
}

TEST_F(module, bad_addresses_are_refused)
{
	unsigned long at = self->starts[0];
	char text[128];

	ASSERT_EQ(0, simgpu_remove());
	/* An address in the kernel's own memory. */
	EXPECT_EQ(-EINVAL, module_insert("hmmrt_simgpu", "coherent=0x1000000"));
	snprintf(text, sizeof(text), "memory=%d coherent=%#lx,%#lx", DEVICE_MIB,
		 at, at + BLOCK_BYTES);
	EXPECT_EQ(-EBUSY, module_insert("hmmrt_simgpu", text));
	snprintf(text, sizeof(text), "memory=%d coherent=%#lx", DEVICE_MIB,
		 at + PAGE_BYTES);
	EXPECT_EQ(-EINVAL, module_insert("hmmrt_simgpu", text));
	snprintf(text, sizeof(text), "memory=%d coherent=%#lx", DEVICE_MIB,
		 -BLOCK_BYTES);
	EXPECT_GT(0, module_insert("hmmrt_simgpu", text));
	snprintf(text, sizeof(text), "spm_addr_dev0=%#lx", at);
	EXPECT_EQ(-EINVAL, module_insert("hmmrt_dmirror", text));
	/* The failed loads must not have kept the memory. */
	snprintf(text, sizeof(text), "memory=%d coherent=%#lx", DEVICE_MIB, at);
	EXPECT_EQ(0, module_insert("hmmrt_simgpu", text));
}

/* --- several devices bound to one process --------------------------------- */

FIXTURE(mirrors) {
	unsigned long starts[COHERENT_REGIONS];
	bool present;
	int space;
	int fd[4];
	char *buf;
	char *data;
};

FIXTURE_SETUP(mirrors)
{
	char text[128];
	unsigned int i;

	self->present = coherent_regions(self->starts) == COHERENT_REGIONS;
	if (!self->present)
		SKIP(_exit(SKIPPED), "no memory for coherent devices");
	ASSERT_EQ(0, dmirror_insert(DEVICE_MIB, &self->starts[2]));
	self->space = open_manager();
	ASSERT_EQ(0, cmd_space_create(self->space));
	for (i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "/dev/hmm_dmirror%u", i);
		self->fd[i] = open(text, O_RDWR | O_CLOEXEC);
		ASSERT_LE(0, self->fd[i]);
	}
	self->buf = arena_anon(LEN);
	self->data = malloc(LEN);
	ASSERT_NE(NULL, self->data);
	pages_fill(self->buf, LEN, 1);
}

FIXTURE_TEARDOWN(mirrors)
{
	unsigned int i;

	if (!self->present)
		return;
	for (i = 0; i < 4; i++)
		close(self->fd[i]);
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	EXPECT_EQ(PAGES(LEN), pages_at(self->space, self->buf, LEN,
				       HMMRT_LOCATION_HOST));
	close(self->space);
	EXPECT_EQ(0, module_remove("hmmrt_dmirror"));
	free(self->data);
}

static int call(int fd, unsigned int number, const void *addr, size_t len,
		void *data)
{
	struct hmm_dmirror_cmd cmd = {
		.addr = (uintptr_t)addr,
		.ptr = (uintptr_t)data,
		.npages = PAGES(len),
	};
	int rc;

	do
		rc = cmd_raw(fd, number, &cmd);
	while (rc == -EINTR);
	return rc;
}

static long host_pages(int space, const void *buf, size_t len)
{
	return pages_at(space, buf, len, HMMRT_LOCATION_HOST);
}

TEST_F(mirrors, other_devices_use_coherent_memory_in_place)
{
	unsigned int i;

	ASSERT_EQ(0, call(self->fd[2], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data));
	EXPECT_EQ(-1, pages_check(self->data, LEN, 1));
	for (i = 0; i < 4; i++) {
		memset(self->data, 0, LEN);
		ASSERT_EQ(0, call(self->fd[i], HMM_DMIRROR_READ, self->buf, LEN,
				  self->data));
		ASSERT_EQ(-1, pages_check(self->data, LEN, 1));
		pages_fill(self->data, LEN, 10 + i);
		ASSERT_EQ(0, call(self->fd[i], HMM_DMIRROR_WRITE, self->buf,
				  LEN, self->data));
		ASSERT_EQ(-1, pages_check(self->buf, LEN, 10 + i));
		pages_fill(self->buf, LEN, 1);
	}
	EXPECT_EQ(0, host_pages(self->space, self->buf, LEN));
}

TEST_F(mirrors, coherent_device_read_migrates_private_pages_back)
{
	ASSERT_EQ(0, call(self->fd[0], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data));
	ASSERT_EQ(0, call(self->fd[2], HMM_DMIRROR_READ, self->buf, LEN,
			  self->data));
	EXPECT_EQ(-1, pages_check(self->data, LEN, 1));
	EXPECT_EQ(PAGES(LEN), host_pages(self->space, self->buf, LEN));
}

TEST_F(mirrors, exclusive_access_migrates_coherent_pages_back)
{
	const size_t len = 70 * PAGE_BYTES;

	ASSERT_EQ(0, call(self->fd[2], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data));
	ASSERT_EQ(0, call(self->fd[3], HMM_DMIRROR_EXCLUSIVE, self->buf, len,
			  self->data));
	EXPECT_EQ(-1, pages_check(self->data, len, 1));
	EXPECT_EQ(-EPERM, call(self->fd[3], HMM_DMIRROR_CHECK_EXCLUSIVE,
			       self->buf, len, NULL));
	EXPECT_EQ(0, host_pages(self->space, self->buf + len, LEN - len));
	/* The exclusive access does not block the eviction. */
	ASSERT_EQ(0, call(self->fd[2], HMM_DMIRROR_RELEASE, self->buf, LEN,
			  NULL));
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
	EXPECT_EQ(PAGES(LEN), host_pages(self->space, self->buf, LEN));
	EXPECT_EQ(0, call(self->fd[3], HMM_DMIRROR_CHECK_EXCLUSIVE, self->buf,
			  len, NULL));
}

TEST_F(mirrors, exclusive_access_to_a_page_in_a_pipe_is_ebusy)
{
	struct iovec page = { self->buf, PAGE_BYTES };
	int ends[2];

	ASSERT_EQ(0, call(self->fd[2], HMM_DMIRROR_MIGRATE_TO_DEV, self->buf,
			  LEN, self->data));
	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, vmsplice(ends[1], &page, 1, 0));
	EXPECT_EQ(-EBUSY, call(self->fd[3], HMM_DMIRROR_EXCLUSIVE, self->buf,
			       PAGE_BYTES, self->data));
	close(ends[0]);
	close(ends[1]);
	EXPECT_EQ(0, call(self->fd[3], HMM_DMIRROR_EXCLUSIVE, self->buf,
			  PAGE_BYTES, self->data));
}

TEST_HARNESS_MAIN
