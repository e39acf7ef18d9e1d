// SPDX-License-Identifier: MIT
/*
 * Device faults: the device reads and writes the process's memory. Checks the
 * location of pages afterwards, and the number of faults.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "lib/harness.h"
#include "lib/session.h"

FIXTURE(device) {
	struct session session;
	struct agent *agent;
	uint32_t id;
};

FIXTURE_SETUP(device)
{
	ASSERT_EQ(0, session_start(&self->session, 1, 4));
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
}

FIXTURE_TEARDOWN(device)
{
	EXPECT_EQ(0, session_end(&self->session));
}

TEST_F(device, read_sees_what_the_cpu_wrote)
{
	uint64_t *word = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, word);
	*word = 0x1122334455667788;
	ASSERT_VALUE(0x1122334455667788, agent_read(self->agent, word));
}

TEST_F(device, write_is_seen_by_the_cpu)
{
	uint64_t *word = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, word);
	word[1] = 7;
	ASSERT_DONE(agent_write(self->agent, word, 42));
	ASSERT_EQ(42, word[0]);
	ASSERT_EQ(7, word[1]);
}

TEST_F(device, untouched_memory_reads_as_zero_and_can_be_written)
{
	uint64_t *words = arena_anon(2 * BLOCK_BYTES);
	uint64_t *second = words + BLOCK_BYTES / sizeof(*words);

	ASSERT_NE(NULL, words);
	ASSERT_VALUE(0, agent_read(self->agent, words));
	ASSERT_DONE(agent_write(self->agent, words, 5));
	ASSERT_DONE(agent_write(self->agent, second, 6));
	ASSERT_EQ(5, *words);
	ASSERT_EQ(6, *second);
}

/* The CPU maps the zero page before the device's write and reads after it. */
TEST_F(device, write_over_the_zero_page_is_seen_by_the_cpu)
{
	uint64_t *words = arena_anon(BLOCK_BYTES);

	ASSERT_NE(NULL, words);
	ASSERT_EQ(-1, pages_check(words, PAGE_BYTES, 0));
	ASSERT_VALUE(0, agent_read(self->agent, words));
	ASSERT_DONE(agent_write(self->agent, words, 9));
	ASSERT_EQ(9, *words);
}

TEST_F(device, pages_migrate_to_the_device_and_back)
{
	const size_t len = BLOCK_BYTES;
	char *buf = arena_anon(len);
	struct hmmrt_stats stats;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	ASSERT_EQ(BLOCK_PAGES, pages_at(self->session.space, buf, len,
					HMMRT_LOCATION_HOST));
	ASSERT_VALUE(512 * 513 / 2, agent_sum(self->agent, buf, len, PAGE_BYTES));
	ASSERT_EQ(BLOCK_PAGES,
		  pages_at(self->session.space, buf, len, self->id));
	stats = session_stats(&self->session, 0);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_device);
	EXPECT_EQ(0, stats.out_migrated_to_host);

	ASSERT_EQ(-1, pages_check(buf, len, 1));
	ASSERT_EQ(BLOCK_PAGES, pages_at(self->session.space, buf, len,
					HMMRT_LOCATION_HOST));
	stats = session_stats(&self->session, 0);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_host);
	EXPECT_LE(1, stats.out_cpu_faults);
	EXPECT_GT(BLOCK_PAGES / 4, stats.out_cpu_faults);
}

/* The window doubles each time: 16, 32, 64, 128, 256, 512 pages. */
TEST_F(device, sweep_over_a_block_takes_six_faults)
{
	const size_t len = BLOCK_BYTES;
	char *buf = arena_anon(len);

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 0);
	ASSERT_DONE(agent_sum(self->agent, buf, len, PAGE_BYTES));
	ASSERT_EQ(6, session_stats(&self->session, 0).out_device_faults);
	ASSERT_EQ(BLOCK_PAGES, session_stats(&self->session, 0).out_mapped_pages);
}

TEST_F(device, second_sweep_takes_no_faults)
{
	const size_t len = 4 * BLOCK_BYTES;
	char *buf = arena_anon(len);
	uint64_t faults;

	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 1));
	faults = session_stats(&self->session, 0).out_device_faults;
	/*
	 * The sweep faults six times in the first block, and once in each later
	 * one.
	 */
	ASSERT_EQ(6 + 3, faults);
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 2));
	ASSERT_EQ(faults, session_stats(&self->session, 0).out_device_faults);
	ASSERT_EQ(-1, pages_check(buf, len, 2));
}

/* Touches one 64 KiB granule in four: the window must not grow. */
TEST_F(device, scattered_touches_do_not_grow_the_window)
{
	const size_t len = BLOCK_BYTES, step = 4 * 16 * PAGE_BYTES;
	char *buf = arena_anon(len);
	size_t at;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 0);
	for (at = 0; at < len; at += step)
		ASSERT_VALUE(at / PAGE_BYTES, agent_read(self->agent, buf + at));
	ASSERT_EQ(len / step * 16,
		  session_stats(&self->session, 0).out_migrated_to_device);
}

/* Returns true if the pages are consecutive in device memory. */
static bool frames_are_contiguous(const char *addr, size_t pages)
{
	uint64_t first = device_frame(addr);
	size_t i;

	for (i = 0; i < pages; i++)
		if (!first || device_frame(addr + i * PAGE_BYTES) != first + i)
			return false;
	return true;
}

TEST_F(device, a_swept_block_is_contiguous_on_the_device)
{
	const size_t len = BLOCK_BYTES;
	char *buf = arena_anon(3 * len);
	unsigned int i;

	ASSERT_NE(NULL, buf);
	for (i = 0; i < 3; i++) {
		char *block = buf + i * len;

		pages_fill(block, len, i);
		ASSERT_FALSE(frames_are_contiguous(block, BLOCK_PAGES));
		ASSERT_DONE(agent_sum(self->agent, block, len, PAGE_BYTES));
		ASSERT_TRUE(frames_are_contiguous(block, BLOCK_PAGES));
	}
}

TEST_F(device, unmapped_memory_is_refused)
{
	uint64_t *words = arena_anon(2 * PAGE_BYTES);
	struct outcome outcome;

	ASSERT_NE(NULL, words);
	ASSERT_DONE(agent_write(self->agent, words + 512, 1));
	ASSERT_EQ(0, munmap(words + 512, PAGE_BYTES));
	outcome = agent_write(self->agent, words + 513, 2);
	ASSERT_REFUSED(SIGSEGV, EFAULT, outcome);
	ASSERT_EQ((uintptr_t)(words + 513), outcome.record.out_addr);
	ASSERT_EQ(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE,
		  outcome.record.out_access);
	ASSERT_EQ(outcome.record.out_addr, outcome.signal_addr);
	ASSERT_EQ(1, session_stats(&self->session, 0).out_failed_faults);
	/* Mapped again, the memory is zero. */
	ASSERT_EQ(words + 512,
		  mmap(words + 512, PAGE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	ASSERT_VALUE(0, agent_read(self->agent, words + 513));
}

TEST_F(device, dontneed_gives_the_device_zeroes)
{
	const size_t len = BLOCK_BYTES;
	char *buf = arena_anon(len);

	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 1));
	ASSERT_EQ(0, madvise(buf, len, MADV_DONTNEED));
	ASSERT_VALUE(0, agent_sum(self->agent, buf, len, PAGE_BYTES));
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 3));
	ASSERT_EQ(-1, pages_check(buf, len, 3));
}

/* --- permissions ---------------------------------------------------------- */

TEST_F(device, write_to_read_only_memory_is_refused)
{
	uint64_t *word = arena_anon(PAGE_BYTES);
	struct outcome outcome;

	ASSERT_NE(NULL, word);
	*word = 3;
	ASSERT_EQ(0, mprotect(word, PAGE_BYTES, PROT_READ));
	outcome = agent_write(self->agent, word, 4);
	ASSERT_REFUSED(SIGSEGV, EACCES, outcome);
	ASSERT_EQ((uintptr_t)word, outcome.record.out_addr);
	/* The same after the device has mapped the page. */
	ASSERT_VALUE(3, agent_read(self->agent, word));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_write(self->agent, word, 4));
	ASSERT_EQ(3, *word);
}

TEST_F(device, no_access_to_prot_none)
{
	uint64_t *word = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, word);
	ASSERT_DONE(agent_write(self->agent, word, 1));
	ASSERT_EQ(0, mprotect(word, PAGE_BYTES, PROT_NONE));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_read(self->agent, word));
	ASSERT_EQ(0, mprotect(word, PAGE_BYTES, PROT_READ));
	ASSERT_VALUE(1, agent_read(self->agent, word));
}

/*
 * The page stays on the device. mprotect() does not make the device's entry
 * writable again; the device's write fault does.
 */
TEST_F(device, write_after_mprotect_ro_and_rw_succeeds)
{
	const size_t len = BLOCK_BYTES;
	char *buf = arena_anon(len);

	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 1));
	ASSERT_EQ(0, mprotect(buf, len, PROT_READ));
	ASSERT_EQ(0, mprotect(buf, len, PROT_READ | PROT_WRITE));
	ASSERT_DONE(agent_write(self->agent, buf + 5 * PAGE_BYTES, 1000));
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 2));
	ASSERT_EQ(-1, pages_check(buf, len, 2));
}

/* return 0x5eed; */
static const uint8_t function_code[] = { 0xb8, 0xed, 0x5e, 0, 0, 0xc3 };

TEST_F(device, code_runs_where_the_owner_may_execute)
{
	uint8_t *code = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, code);
	memcpy(code, function_code, sizeof(function_code));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_call(self->agent, code));
	ASSERT_EQ(0, mprotect(code, PAGE_BYTES, PROT_READ | PROT_EXEC));
	ASSERT_VALUE(0x5eed, agent_call(self->agent, code));
	/* The read makes a TLB entry that forbids execution. */
	ASSERT_EQ(0, mprotect(code, PAGE_BYTES, PROT_READ));
	ASSERT_DONE(agent_read(self->agent, code));
	ASSERT_EQ(SIGSEGV, agent_call(self->agent, code).signal);
	ASSERT_EQ(0, mprotect(code, PAGE_BYTES, PROT_READ | PROT_EXEC));
	ASSERT_DONE(agent_read(self->agent, code));
	ASSERT_VALUE(0x5eed, agent_call(self->agent, code));
}

/* --- files and shared memory ---------------------------------------------- */

TEST_F(device, write_to_shared_memory_stays_in_system_memory)
{
	const size_t len = 64 * PAGE_BYTES;
	int fd = memfd_create("fault_test", MFD_CLOEXEC);
	struct hmmrt_stats stats;
	uint64_t word = 0;
	char *buf;

	ASSERT_EQ(0, ftruncate(fd, len));
	buf = arena_map(len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	ASSERT_VALUE(64 * 65 / 2, agent_sum(self->agent, buf, len, PAGE_BYTES));
	ASSERT_DONE(agent_write(self->agent, buf + PAGE_BYTES, 77));
	ASSERT_EQ(sizeof(word), pread(fd, &word, sizeof(word), PAGE_BYTES));
	ASSERT_EQ(77, word);
	ASSERT_EQ(64, pages_at(self->session.space, buf, len,
			       HMMRT_LOCATION_HOST));
	stats = session_stats(&self->session, 0);
	EXPECT_EQ(0, stats.out_migrated_to_device);
	EXPECT_EQ(64, stats.out_remote_pages);
	close(fd);
}

/* There must not be one fault per page, although nothing migrates. */
TEST_F(device, sweep_over_fresh_shared_memory_takes_few_faults)
{
	const size_t len = 2 * BLOCK_BYTES;
	char *buf = arena_map(len, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 1));
	ASSERT_GE(2 * 32, session_stats(&self->session, 0).out_device_faults);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

/* Maps this program MAP_PRIVATE: device writes do not reach the file. */
TEST_F(device, write_to_a_private_file_mapping_does_not_reach_the_file)
{
	const size_t len = 4 * PAGE_BYTES;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t before[2] = { 0 }, after[2] = { 0 };
	uint64_t *buf;

	ASSERT_EQ(sizeof(before), pread(fd, before, sizeof(before), 0));
	buf = arena_map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(NULL, buf);
	ASSERT_VALUE(before[0], agent_read(self->agent, buf));
	ASSERT_DONE(agent_write(self->agent, buf, ~before[0]));
	ASSERT_VALUE(before[1], agent_read(self->agent, buf + 1));
	ASSERT_EQ(~before[0], buf[0]);
	ASSERT_EQ(sizeof(after), pread(fd, after, sizeof(after), 0));
	ASSERT_EQ(before[0], after[0]);
	ASSERT_EQ(before[1], after[1]);
	close(fd);
}

/*
 * Pages beyond the end of a file are refused without affecting their
 * neighbours.
 */
TEST_F(device, access_beyond_the_end_of_a_file_is_refused)
{
	int fd = memfd_create("fault_test", MFD_CLOEXEC);
	char *buf;

	ASSERT_EQ(0, ftruncate(fd, PAGE_BYTES));
	buf = arena_map(16 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			0);
	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_write(self->agent, buf, 1));
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       agent_read(self->agent, buf + PAGE_BYTES));
	ASSERT_VALUE(1, agent_read(self->agent, buf));
	/*
	 * The page appears when the file grows, and goes away when it is
	 * truncated.
	 */
	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE_BYTES));
	ASSERT_DONE(agent_write(self->agent, buf + PAGE_BYTES, 2));
	ASSERT_EQ(0, ftruncate(fd, PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       agent_read(self->agent, buf + PAGE_BYTES));
	close(fd);
}

/* --- memory that a device cannot access ----------------------------------- */

/*
 * Returns the address of the vDSO data that has no struct pages (VM_PFNMAP),
 * inherited by the agent in fork(). From 7.3 on that is not [vvar] but
 * [vvar_vclock].
 */
static char *find_vvar(size_t *len)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long start = 0, end = 0, first, last;
	char line[256];
	char *found = NULL;
	bool vvar = false;

	while (!found && maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx ", &first, &last) == 2) {
			vvar = strstr(line, "[vvar");
			start = first;
			end = last;
		}
		if (vvar && !strncmp(line, "VmFlags:", 8) &&
		    strstr(line, " pf ")) {
			found = (char *)start;
			*len = end - start;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

TEST_F(device, special_mapping_is_eopnotsupp)
{
	struct hmmrt_prefetch result;
	uint32_t locations[64];
	size_t len = 0;
	char *vvar = find_vvar(&len);

	if (!vvar)
		SKIP(return, "no special [vvar] in this process");
	ASSERT_EQ(0, agent_map(self->agent, vvar, len, PROT_READ));
	ASSERT_REFUSED(SIGSEGV, EOPNOTSUPP, agent_read(self->agent, vvar));
	ASSERT_EQ(0, cmd_prefetch(self->session.space, vvar, len, self->id,
				  &result));
	ASSERT_EQ(len / PAGE_BYTES, result.out_stayed[HMMRT_STAY_SPECIAL]);
	ASSERT_EQ(0,
		  cmd_residency(self->session.space, vvar, len, locations));
	ASSERT_EQ(HMMRT_LOCATION_HOST, locations[0]);
}

TEST_F(device, secret_memory_is_eopnotsupp)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *buf;

	if (fd < 0)
		SKIP(return, "memfd_secret: %s", strerror(errno));
	ASSERT_EQ(0, ftruncate(fd, PAGE_BYTES));
	buf = arena_map(PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(NULL, buf);
	buf[0] = 1;
	ASSERT_REFUSED(SIGSEGV, EOPNOTSUPP, agent_read(self->agent, buf));
	close(fd);
}

static void go_on(int signal)
{
	(void)signal;
}

/*
 * With CONFIG_DEBUG_VM_PGFLAGS, some kernels fail when device memory is
 * removed: they update the count of poisoned pages in struct pages that are
 * already gone.
 */
static bool kernel_supports_poisoned_pages(void)
{
	return system("zcat /proc/config.gz | grep -q ^CONFIG_DEBUG_VM_PGFLAGS=y");
}

/*
 * A page with poisoned memory is an error for the device, too. Its neighbours
 * keep working.
 */
TEST_F(device, poisoned_page_is_efault)
{
	char *buf = arena_anon(3 * PAGE_BYTES);

	if (!kernel_supports_poisoned_pages())
		SKIP(return, "CONFIG_DEBUG_VM_PGFLAGS cannot handle poisoned pages");
	ASSERT_NE(NULL, buf);
	pages_fill(buf, 3 * PAGE_BYTES, 1);
	/* Some kernels send SIGBUS at once, which cannot be ignored. */
	signal(SIGBUS, go_on);
	ASSERT_EQ(0, madvise(buf + PAGE_BYTES, PAGE_BYTES, MADV_HWPOISON));
	signal(SIGBUS, SIG_DFL);
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       agent_read(self->agent, buf + PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       agent_write(self->agent, buf + PAGE_BYTES, 1));
	ASSERT_VALUE(1, agent_read(self->agent, buf));
	ASSERT_DONE(agent_write(self->agent, buf + 2 * PAGE_BYTES, 9));
	ASSERT_EQ(9, buf[2 * PAGE_BYTES]);
	/* After MADV_DONTNEED the address can be used again. */
	ASSERT_EQ(0, madvise(buf, 3 * PAGE_BYTES, MADV_DONTNEED));
	ASSERT_DONE(agent_write(self->agent, buf + PAGE_BYTES, 4));
	ASSERT_EQ(4, buf[PAGE_BYTES]);
}

/*
 * No mapping covers these addresses, so the CPU faults without asking the
 * device.
 */
TEST_F(device, access_to_unmappable_addresses_is_a_signal)
{
	const uint64_t bad[] = {
		0x0000800000000000, /* beyond the last page */
		0x8000000000000000, /* not canonical */
		0xffff7fffffffffff,
		0xffff888000000000, /* kernel addresses */
		0xfffffffffffff000,
	};
	uint64_t *word = arena_anon(PAGE_BYTES);
	unsigned int i;

	ASSERT_NE(NULL, word);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ASSERT_REFUSED(SIGSEGV, 0,
			       agent_read(self->agent, (void *)bad[i]));
		ASSERT_REFUSED(SIGSEGV, 0,
			       agent_write(self->agent, (void *)bad[i], 1));
	}
	ASSERT_EQ(0, session_stats(&self->session, 0).out_device_faults);
	ASSERT_DONE(agent_write(self->agent, word, 1));
	ASSERT_EQ(1, *word);
}

/* The CPU may use these mappings, but a device needs read permission. */
TEST_F(device, mappings_that_cannot_be_read_are_eacces)
{
	char *buf = arena_anon(2 * PAGE_BYTES);

	ASSERT_NE(NULL, buf);
	pages_fill(buf, 2 * PAGE_BYTES, 1);
	ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, PROT_WRITE));
	ASSERT_EQ(0, mprotect(buf + PAGE_BYTES, PAGE_BYTES, PROT_EXEC));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_write(self->agent, buf, 5));
	ASSERT_REFUSED(SIGSEGV, EACCES,
		       agent_read(self->agent, buf + PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EACCES,
		       agent_call(self->agent, buf + PAGE_BYTES));
}

/* --- fork ----------------------------------------------------------------- */

static pid_t fork_and_hold(int pipe_fds[2], const uint64_t *word,
			   uint64_t expected)
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	close(pipe_fds[1]);
	/* Waits until the parent writes or exits. */
	if (read(pipe_fds[0], &c, 1) < 0)
		_exit(2);
	_exit(*word == expected ? 0 : 1);
}

/*
 * Pages are shared copy-on-write with a running child, on the device and in
 * system memory.
 */
TEST_F(device, write_after_fork_reaches_only_the_parent)
{
	uint64_t *words = arena_anon(2 * BLOCK_BYTES);
	uint64_t *on_host = words + BLOCK_BYTES / sizeof(*words);
	int fds[2], status = -1;
	pid_t pid;

	ASSERT_NE(NULL, words);
	words[0] = 10;
	on_host[0] = 20;
	ASSERT_VALUE(10, agent_read(self->agent, words));
	ASSERT_EQ(0, pipe(fds));
	pid = fork_and_hold(fds, words, 10);
	ASSERT_LT(0, pid);
	ASSERT_DONE(agent_write(self->agent, words, 11));
	ASSERT_DONE(agent_write(self->agent, on_host, 21));
	ASSERT_VALUE(11, agent_read(self->agent, words));
	close(fds[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_EQ(0, WEXITSTATUS(status));
	ASSERT_EQ(11, words[0]);
	ASSERT_EQ(21, on_host[0]);
	close(fds[0]);
}

/* The child has exited: pages are not shared but still write-protected. */
TEST_F(device, write_after_a_child_exited_succeeds)
{
	const size_t len = BLOCK_BYTES;
	char *buf = arena_anon(2 * len);
	int status = -1;
	pid_t pid;

	ASSERT_NE(NULL, buf);
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 1));
	pages_fill(buf + len, len, 1);
	pid = fork();
	if (!pid)
		_exit(0);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_DONE(agent_fill(self->agent, buf, 2 * len, PAGE_BYTES, 5));
	ASSERT_EQ(-1, pages_check(buf, 2 * len, 5));
}

/* --- concurrent accesses -------------------------------------------------- */

/* Four lanes and the CPU increment one word, while its page migrates. */
TEST_F(device, atomics_of_lanes_and_cpu_add_up)
{
	const uint64_t times = 20000;
	uint64_t *word = arena_anon(PAGE_BYTES);
	uint64_t args[] = { (uintptr_t)word, times };
	unsigned int lane;
	uint64_t i;

	ASSERT_NE(NULL, word);
	for (lane = 0; lane < 4; lane++)
		agent_post(self->agent, lane, AGENT_ADD, args, 2);
	for (i = 0; i < times; i++) {
		__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
		/* Pause, so that the device gets the page. */
		if (i % 64 == 0)
			usleep(1);
	}
	for (lane = 0; lane < 4; lane++)
		ASSERT_DONE(agent_wait(self->agent, lane, 100));
	ASSERT_EQ(5 * times, *word);
}

TEST_F(device, lanes_fault_on_one_block_at_the_same_time)
{
	const size_t len = 8 * BLOCK_BYTES;
	char *buf = arena_anon(len);
	uint64_t args[] = { (uintptr_t)buf, len, PAGE_BYTES };
	unsigned int lane;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	for (lane = 0; lane < 4; lane++)
		agent_post(self->agent, lane, AGENT_SUM, args, 3);
	for (lane = 0; lane < 4; lane++)
		ASSERT_VALUE(4096UL * 4097 / 2,
			     agent_wait(self->agent, lane, 60));
	ASSERT_EQ(4096, pages_at(self->session.space, buf, len, self->id));
	/* At most one fault per lane and window; a block has six windows. */
	ASSERT_GE(4 * 8 * 6,
		  session_stats(&self->session, 0).out_device_faults);
}

struct cpu_side {
	char *buf;
	size_t len;
	bool stop;
	uint64_t rounds;
};

static void *write_odd_words(void *arg)
{
	struct cpu_side *side = arg;
	uint64_t round = 0;
	size_t at;

	while (!__atomic_load_n(&side->stop, __ATOMIC_RELAXED)) {
		round++;
		for (at = 0; at < side->len; at += PAGE_BYTES)
			((volatile uint64_t *)(side->buf + at))[1] = round;
		__atomic_store_n(&side->rounds, round, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* They write different words of the same pages; no write may be lost. */
TEST_F(device, cpu_and_device_write_different_words_of_a_page)
{
	struct cpu_side side = { .len = 64 * PAGE_BYTES };
	pthread_t thread;
	uint64_t round;
	size_t at;

	side.buf = arena_anon(side.len);
	ASSERT_NE(NULL, side.buf);
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_odd_words, &side));
	/* All 50 rounds could end before a new thread runs. */
	while (!__atomic_load_n(&side.rounds, __ATOMIC_RELAXED))
		usleep(1000);
	for (round = 1; round <= 50; round++)
		ASSERT_DONE(agent_fill(self->agent, side.buf, side.len,
				       PAGE_BYTES, round));
	__atomic_store_n(&side.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ASSERT_EQ(-1, pages_check(side.buf, side.len, 50));
	for (at = 0; at < side.len; at += PAGE_BYTES)
		ASSERT_EQ(side.rounds, ((uint64_t *)(side.buf + at))[1]);
}

/* Pages that do not fit stay in system memory, and cause no extra faults. */
TEST_F(device, pages_over_device_size_stay_in_system_memory)
{
	const size_t beyond = 8 * BLOCK_BYTES;
	struct hmmrt_device_info info;
	uint64_t faults;
	size_t len;
	long there;
	char *buf;

	ASSERT_EQ(0, cmd_device_info(self->session.space, self->id, &info));
	if (info.out_memory_bytes > (512UL << 20))
		SKIP(return, "device memory is too large to be filled");
	len = info.out_memory_bytes + beyond;
	buf = arena_anon(len);
	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, cmd_prefetch(self->session.space, buf,
				  info.out_memory_bytes, self->id, NULL));
	faults = session_stats(&self->session, 0).out_device_faults;
	ASSERT_DONE(agent_fill(self->agent, buf, len, PAGE_BYTES, 1));
	faults = session_stats(&self->session, 0).out_device_faults - faults;
	ASSERT_GE(beyond / BLOCK_BYTES * 32, faults);
	there = pages_at(self->session.space, buf, len, self->id);
	ASSERT_LT(0, there);
	ASSERT_GE(info.out_memory_bytes, there * PAGE_BYTES);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

FIXTURE(two_devices) {
	struct session session;
	struct agent *agents[2];
};

FIXTURE_SETUP(two_devices)
{
	ASSERT_EQ(0, session_start(&self->session, 2, 1));
	self->agents[0] = &self->session.devices[0].agent;
	self->agents[1] = &self->session.devices[1].agent;
}

FIXTURE_TEARDOWN(two_devices)
{
	EXPECT_EQ(0, session_end(&self->session));
}

TEST_F(two_devices, take_turns_on_one_buffer)
{
	const size_t len = 2 * BLOCK_BYTES;
	char *buf = arena_anon(len);
	uint64_t round;

	ASSERT_NE(NULL, buf);
	ASSERT_NE(self->session.devices[0].id, self->session.devices[1].id);
	for (round = 0; round < 6; round++) {
		struct session_device *device =
			&self->session.devices[round % 2];

		ASSERT_DONE(agent_fill(&device->agent, buf, len, PAGE_BYTES,
				       round));
		ASSERT_EQ(2 * BLOCK_PAGES, pages_at(self->session.space, buf,
						    len, device->id));
	}
	ASSERT_EQ(-1, pages_check(buf, len, 5));
}

TEST_F(two_devices, use_one_buffer_at_the_same_time)
{
	const size_t len = 16 * PAGE_BYTES;
	uint64_t *words = arena_anon(len);
	uint64_t args[] = { (uintptr_t)words, 5000 };
	unsigned int i;

	ASSERT_NE(NULL, words);
	for (i = 0; i < 2; i++)
		agent_post(self->agents[i], 0, AGENT_ADD, args, 2);
	for (i = 0; i < 2; i++)
		ASSERT_DONE(agent_wait(self->agents[i], 0, 100));
	ASSERT_EQ(10000, *words);
}

/* The page is on one device; the other device's access migrates it. */
TEST_F(two_devices, read_sees_what_the_other_device_wrote)
{
	uint64_t *word = arena_anon(PAGE_BYTES);

	ASSERT_NE(NULL, word);
	ASSERT_DONE(agent_write(self->agents[0], word, 1));
	ASSERT_VALUE(1, agent_read(self->agents[1], word));
	ASSERT_DONE(agent_write(self->agents[1], word, 2));
	ASSERT_VALUE(2, agent_read(self->agents[0], word));
	ASSERT_EQ(2, *word);
}

TEST_HARNESS_MAIN
