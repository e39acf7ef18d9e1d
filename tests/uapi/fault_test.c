// SPDX-License-Identifier: MIT
/*
 * Device faults: the device reads and writes the process's memory. Checks the
 * location of pages afterwards, and the number of faults.
 */
#include "lib/fixture.h"
#include "lib/loop.h"

DEVICES_FIXTURE(device, .lanes = 4)

TEST_F(device, read_sees_what_the_cpu_wrote)
{
	uint64_t *word = ANON(PAGE_BYTES);

	*word = 0x1122334455667788;
	ASSERT_VALUE(0x1122334455667788, dev_read(A, word));
}

TEST_F(device, write_is_seen_by_the_cpu)
{
	uint64_t *word = ANON(PAGE_BYTES);

	word[1] = 7;
	ASSERT_DONE(dev_write(A, word, 42));
	ASSERT_EQ(42, word[0]);
	ASSERT_EQ(7, word[1]);
}

TEST_F(device, untouched_memory_reads_as_zero_and_can_be_written)
{
	uint64_t *words = ANON(2 * BLOCK_BYTES);
	uint64_t *second = words + BLOCK_BYTES / sizeof(*words);

	ASSERT_VALUE(0, dev_read(A, words));
	ASSERT_DONE(dev_write(A, words, 5));
	ASSERT_DONE(dev_write(A, second, 6));
	ASSERT_EQ(5, *words);
	ASSERT_EQ(6, *second);
}

/* The CPU maps the zero page before the device's write and reads after it. */
TEST_F(device, write_over_the_zero_page_is_seen_by_the_cpu)
{
	uint64_t *words = ANON(BLOCK_BYTES);

	ASSERT_EQ(-1, pages_check(words, PAGE_BYTES, 0));
	ASSERT_VALUE(0, dev_read(A, words));
	ASSERT_DONE(dev_write(A, words, 9));
	ASSERT_EQ(9, *words);
}

TEST_F(device, pages_migrate_to_the_device_and_back)
{
	const size_t len = BLOCK_BYTES;
	char *buf = FILLED(len);
	struct hmmrt_stats stats;

	ASSERT_AT(HOST, buf, len);
	ASSERT_SUM(A, buf, len, 1);
	ASSERT_AT(A, buf, len);
	stats = stats_of(A);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_device);
	EXPECT_EQ(0, stats.out_migrated_to_host);

	ASSERT_LEFT(HOST, buf, len, 1);
	stats = stats_of(A);
	EXPECT_EQ(BLOCK_PAGES, stats.out_migrated_to_host);
	EXPECT_LE(1, stats.out_cpu_faults);
	EXPECT_GT(BLOCK_PAGES / 4, stats.out_cpu_faults);
}

/* The window doubles each time: 16, 32, 64, 128, 256, 512 pages. */
TEST_F(device, sweep_over_a_block_takes_six_faults)
{
	const size_t len = BLOCK_BYTES;
	char *buf = ANON(len);

	pages_fill(buf, len, 0);
	ASSERT_DONE(dev_sum(A, buf, len));
	ASSERT_EQ(6, stats_of(A).out_device_faults);
	ASSERT_EQ(BLOCK_PAGES, stats_of(A).out_mapped_pages);
}

TEST_F(device, second_sweep_takes_no_faults)
{
	const size_t len = 4 * BLOCK_BYTES;
	char *buf = ANON(len);
	uint64_t faults;

	ASSERT_DONE(dev_fill(A, buf, len, 1));
	faults = stats_of(A).out_device_faults;
	/*
	 * The sweep faults six times in the first block, and once in each later
	 * one.
	 */
	ASSERT_EQ(6 + 3, faults);
	ASSERT_DONE(dev_fill(A, buf, len, 2));
	ASSERT_EQ(faults, stats_of(A).out_device_faults);
	ASSERT_EQ(-1, pages_check(buf, len, 2));
}

/* Touches one 64 KiB granule in four: the window must not grow. */
TEST_F(device, scattered_touches_do_not_grow_the_window)
{
	const size_t len = BLOCK_BYTES, step = 4 * 16 * PAGE_BYTES;
	char *buf = ANON(len);

	pages_fill(buf, len, 0);
	for (size_t at = 0; at < len; at += step)
		ASSERT_VALUE(at / PAGE_BYTES, dev_read(A, buf + at));
	ASSERT_EQ(len / step * 16, stats_of(A).out_migrated_to_device);
}

TEST_F(device, run_of_cpu_faults_ends_with_its_memory)
{
	const size_t len = BLOCK_BYTES, granule = 16 * PAGE_BYTES;
	char *buf = ANON(len);

	PLACE(A, buf, len, 1);
	ASSERT_EQ(-1, pages_check(buf, PAGE_BYTES, 1));
	ASSERT_EQ(BLOCK_PAGES - 16, count_at(A, buf, len));
	ASSERT_EQ(0, munmap(buf, len));
	ASSERT_TRUE(map_anon_at(buf, len));
	PLACE(A, buf, len, 1);
	/* Where the run went on: 32 pages. */
	ASSERT_EQ(-1, pages_check(buf + granule, PAGE_BYTES, 17));
	ASSERT_EQ(BLOCK_PAGES - 16, count_at(A, buf, len));
}

/* Returns true if the pages are consecutive in device memory. */
static bool frames_are_contiguous(const char *addr, size_t pages)
{
	uint64_t first = device_frame(addr);

	for (size_t i = 0; i < pages; i++)
		if (!first || device_frame(addr + i * PAGE_BYTES) != first + i)
			return false;
	return true;
}

TEST_F(device, a_swept_block_is_contiguous_on_the_device)
{
	const size_t len = BLOCK_BYTES;
	char *buf = ANON(3 * len);

	for (unsigned int i = 0; i < 3; i++) {
		char *block = buf + i * len;

		pages_fill(block, len, i);
		ASSERT_FALSE(frames_are_contiguous(block, BLOCK_PAGES));
		ASSERT_DONE(dev_sum(A, block, len));
		ASSERT_TRUE(frames_are_contiguous(block, BLOCK_PAGES));
	}
}

TEST_F(device, unmapped_memory_is_refused)
{
	uint64_t *words = ANON(2 * PAGE_BYTES);
	struct outcome outcome;

	ASSERT_DONE(dev_write(A, words + 512, 1));
	ASSERT_EQ(0, munmap(words + 512, PAGE_BYTES));
	outcome = dev_write(A, words + 513, 2);
	ASSERT_REFUSED(SIGSEGV, EFAULT, outcome);
	ASSERT_EQ((uintptr_t)(words + 513), outcome.record.out_addr);
	ASSERT_EQ(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE,
		  outcome.record.out_access);
	ASSERT_EQ(outcome.record.out_addr, outcome.signal_addr);
	ASSERT_EQ(1, stats_of(A).out_failed_faults);
	/* Mapped again, the memory is zero. */
	ASSERT_TRUE(map_anon_at(words + 512, PAGE_BYTES));
	ASSERT_VALUE(0, dev_read(A, words + 513));
}

TEST_F(device, dontneed_gives_the_device_zeroes)
{
	const size_t len = BLOCK_BYTES;
	char *buf = ANON(len);

	ASSERT_DONE(dev_fill(A, buf, len, 1));
	ASSERT_EQ(0, madvise(buf, len, MADV_DONTNEED));
	ASSERT_VALUE(0, dev_sum(A, buf, len));
	ASSERT_FILLS(A, buf, len, 3);
}

/* --- permissions ---------------------------------------------------------- */

TEST_F(device, write_to_read_only_memory_is_refused)
{
	uint64_t *word = ANON(PAGE_BYTES);
	struct outcome outcome;

	*word = 3;
	ASSERT_EQ(0, mprotect(word, PAGE_BYTES, PROT_READ));
	outcome = dev_write(A, word, 4);
	ASSERT_REFUSED(SIGSEGV, EACCES, outcome);
	ASSERT_EQ((uintptr_t)word, outcome.record.out_addr);
	/* The same after the device has mapped the page. */
	ASSERT_VALUE(3, dev_read(A, word));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, word, 4));
	ASSERT_EQ(3, *word);
}

TEST_F(device, no_access_to_prot_none)
{
	uint64_t *word = ANON(PAGE_BYTES);

	ASSERT_DONE(dev_write(A, word, 1));
	ASSERT_EQ(0, mprotect(word, PAGE_BYTES, PROT_NONE));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, word));
	ASSERT_EQ(0, mprotect(word, PAGE_BYTES, PROT_READ));
	ASSERT_VALUE(1, dev_read(A, word));
}

/*
 * The page stays on the device. mprotect() does not make the device's entry
 * writable again; the device's write fault does.
 */
TEST_F(device, write_after_mprotect_ro_and_rw_succeeds)
{
	const size_t len = BLOCK_BYTES;
	char *buf = ANON(len);

	ASSERT_DONE(dev_fill(A, buf, len, 1));
	ASSERT_EQ(0, mprotect(buf, len, PROT_READ));
	ASSERT_EQ(0, mprotect(buf, len, RW));
	ASSERT_DONE(dev_write(A, buf + 5 * PAGE_BYTES, 1000));
	ASSERT_FILLS(A, buf, len, 2);
}

/* return 0x5eed; */
static const uint8_t function_code[] = { 0xb8, 0xed, 0x5e, 0, 0, 0xc3 };

TEST_F(device, code_runs_where_the_owner_may_execute)
{
	uint8_t *code = ANON(PAGE_BYTES);

	memcpy(code, function_code, sizeof(function_code));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_call(agent_of(A), code));
	ASSERT_EQ(0, mprotect(code, PAGE_BYTES, PROT_READ | PROT_EXEC));
	ASSERT_VALUE(0x5eed, agent_call(agent_of(A), code));
	/* The read makes a TLB entry that forbids execution. */
	ASSERT_EQ(0, mprotect(code, PAGE_BYTES, PROT_READ));
	ASSERT_DONE(dev_read(A, code));
	ASSERT_EQ(SIGSEGV, agent_call(agent_of(A), code).signal);
	ASSERT_EQ(0, mprotect(code, PAGE_BYTES, PROT_READ | PROT_EXEC));
	ASSERT_DONE(dev_read(A, code));
	ASSERT_VALUE(0x5eed, agent_call(agent_of(A), code));
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
	buf = NOT_NULL(arena_map(len, RW, MAP_SHARED, fd, 0));
	pages_fill(buf, len, 1);
	ASSERT_SUM(A, buf, len, 1);
	ASSERT_DONE(dev_write(A, buf + PAGE_BYTES, 77));
	ASSERT_EQ(sizeof(word), pread(fd, &word, sizeof(word), PAGE_BYTES));
	ASSERT_EQ(77, word);
	ASSERT_AT(HOST, buf, len);
	stats = stats_of(A);
	EXPECT_EQ(0, stats.out_migrated_to_device);
	EXPECT_EQ(64, stats.out_remote_pages);
	close(fd);
}

/* There must not be one fault per page, although nothing migrates. */
TEST_F(device, sweep_over_fresh_shared_memory_takes_few_faults)
{
	const size_t len = 2 * BLOCK_BYTES;
	char *buf =
		NOT_NULL(arena_map(len, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

	ASSERT_DONE(dev_fill(A, buf, len, 1));
	ASSERT_GE(2 * 32, stats_of(A).out_device_faults);
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
	buf = NOT_NULL(arena_map(len, RW, MAP_PRIVATE, fd, 0));
	ASSERT_VALUE(before[0], dev_read(A, buf));
	ASSERT_DONE(dev_write(A, buf, ~before[0]));
	ASSERT_VALUE(before[1], dev_read(A, buf + 1));
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
	buf = NOT_NULL(arena_map(16 * PAGE_BYTES, RW, MAP_SHARED, fd, 0));
	ASSERT_DONE(dev_write(A, buf, 1));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf + PAGE_BYTES));
	ASSERT_VALUE(1, dev_read(A, buf));
	/*
	 * The page appears when the file grows, and goes away when it is
	 * truncated.
	 */
	ASSERT_EQ(0, ftruncate(fd, 2 * PAGE_BYTES));
	ASSERT_DONE(dev_write(A, buf + PAGE_BYTES, 2));
	ASSERT_EQ(0, ftruncate(fd, PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf + PAGE_BYTES));
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
	ASSERT_EQ(0, agent_map(agent_of(A), vvar, len, PROT_READ));
	ASSERT_REFUSED(SIGSEGV, EOPNOTSUPP, dev_read(A, vvar));
	ASSERT_EQ(0, prefetch_result(A, vvar, len, &result));
	ASSERT_EQ(len / PAGE_BYTES, result.out_stayed[HMMRT_STAY_SPECIAL]);
	ASSERT_EQ(0, cmd_residency(space, vvar, len, locations));
	ASSERT_EQ(HMMRT_LOCATION_HOST, locations[0]);
}

TEST_F(device, secret_memory_is_eopnotsupp)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *buf;

	if (fd < 0)
		SKIP(return, "memfd_secret: %s", strerror(errno));
	ASSERT_EQ(0, ftruncate(fd, PAGE_BYTES));
	buf = NOT_NULL(arena_map(PAGE_BYTES, RW, MAP_SHARED, fd, 0));
	buf[0] = 1;
	ASSERT_REFUSED(SIGSEGV, EOPNOTSUPP, dev_read(A, buf));
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
	char *buf = FILLED(3 * PAGE_BYTES);

	if (!kernel_supports_poisoned_pages())
		SKIP(return, "CONFIG_DEBUG_VM_PGFLAGS cannot handle poisoned pages");
	/* Some kernels send SIGBUS at once, which cannot be ignored. */
	signal(SIGBUS, go_on);
	ASSERT_EQ(0, madvise(buf + PAGE_BYTES, PAGE_BYTES, MADV_HWPOISON));
	signal(SIGBUS, SIG_DFL);
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf + PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_write(A, buf + PAGE_BYTES, 1));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_DONE(dev_write(A, buf + 2 * PAGE_BYTES, 9));
	ASSERT_EQ(9, buf[2 * PAGE_BYTES]);
	/* After MADV_DONTNEED the address can be used again. */
	ASSERT_EQ(0, madvise(buf, 3 * PAGE_BYTES, MADV_DONTNEED));
	ASSERT_DONE(dev_write(A, buf + PAGE_BYTES, 4));
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
	uint64_t *word = ANON(PAGE_BYTES);

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		ASSERT_REFUSED(SIGSEGV, 0, dev_read(A, (void *)bad[i]));
		ASSERT_REFUSED(SIGSEGV, 0, dev_write(A, (void *)bad[i], 1));
	}
	ASSERT_EQ(0, stats_of(A).out_device_faults);
	ASSERT_DONE(dev_write(A, word, 1));
	ASSERT_EQ(1, *word);
}

/* The CPU may use these mappings, but a device needs read permission. */
TEST_F(device, mappings_that_cannot_be_read_are_eacces)
{
	char *buf = FILLED(2 * PAGE_BYTES);

	ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, PROT_WRITE));
	ASSERT_EQ(0, mprotect(buf + PAGE_BYTES, PAGE_BYTES, PROT_EXEC));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, buf, 5));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, buf + PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EACCES,
		       agent_call(agent_of(A), buf + PAGE_BYTES));
}

/* --- fork ----------------------------------------------------------------- */

/*
 * Pages are shared copy-on-write with a running child, on the device and in
 * system memory.
 */
TEST_F(device, write_after_fork_reaches_only_the_parent)
{
	uint64_t *words = ANON(2 * BLOCK_BYTES);
	uint64_t *on_host = words + BLOCK_BYTES / sizeof(*words);
	struct gate gate = GATE();
	pid_t pid;

	words[0] = 10;
	on_host[0] = 20;
	ASSERT_VALUE(10, dev_read(A, words));
	pid = FORK();
	if (!pid)
		_exit(gate_wait(&gate) ? words[0] != 10 : 2);
	ASSERT_DONE(dev_write(A, words, 11));
	ASSERT_DONE(dev_write(A, on_host, 21));
	ASSERT_VALUE(11, dev_read(A, words));
	ASSERT_TRUE(gate_open(&gate));
	ASSERT_EQ(0, process_wait(pid));
	ASSERT_EQ(11, words[0]);
	ASSERT_EQ(21, on_host[0]);
}

/* The child has exited: pages are not shared but still write-protected. */
TEST_F(device, write_after_a_child_exited_succeeds)
{
	const size_t len = BLOCK_BYTES;
	char *buf = ANON(2 * len);

	ASSERT_DONE(dev_fill(A, buf, len, 1));
	pages_fill(buf + len, len, 1);
	ASSERT_EQ(0, IN_CHILD(0));
	ASSERT_FILLS(A, buf, 2 * len, 5);
}

/* --- concurrent accesses -------------------------------------------------- */

/* Four lanes and the CPU increment one word, while its page migrates. */
TEST_F(device, atomics_of_lanes_and_cpu_add_up)
{
	const uint64_t times = 20000;
	uint64_t *word = ANON(PAGE_BYTES);

	for (unsigned int lane = 0; lane < 4; lane++)
		DEV_POST(A, lane, AGENT_ADD, (uintptr_t)word, times);
	for (uint64_t i = 0; i < times; i++) {
		__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
		/* Pause, so that the device gets the page. */
		if (i % 64 == 0)
			usleep(1);
	}
	for (unsigned int lane = 0; lane < 4; lane++)
		ASSERT_DONE(dev_wait(A, lane, 100));
	ASSERT_EQ(5 * times, *word);
}

TEST_F(device, lanes_fault_on_one_block_at_the_same_time)
{
	const size_t len = 8 * BLOCK_BYTES;
	char *buf = FILLED(len);

	for (unsigned int lane = 0; lane < 4; lane++)
		DEV_POST(A, lane, AGENT_SUM, (uintptr_t)buf, len, PAGE_BYTES);
	for (unsigned int lane = 0; lane < 4; lane++)
		ASSERT_VALUE(4096UL * 4097 / 2, dev_wait(A, lane, 60));
	ASSERT_AT(A, buf, len);
	/* At most one fault per lane and window; a block has six windows. */
	ASSERT_GE(4 * 8 * 6, stats_of(A).out_device_faults);
}

struct cpu_side {
	char *buf;
	size_t len;
	uint64_t rounds;
};

static void write_second_words(void *arg)
{
	struct cpu_side *side = arg;
	uint64_t round = side->rounds + 1;

	for (size_t at = 0; at < side->len; at += PAGE_BYTES)
		((volatile uint64_t *)(side->buf + at))[1] = round;
	__atomic_store_n(&side->rounds, round, __ATOMIC_RELAXED);
}

/* They write different words of the same pages; no write may be lost. */
TEST_F(device, cpu_and_device_write_different_words_of_a_page)
{
	struct cpu_side side = { .len = 64 * PAGE_BYTES };
	struct loop loop;

	side.buf = ANON(side.len);
	ASSERT_EQ(0, loop_start(&loop, write_second_words, &side));
	/* All 50 rounds could end before a new thread runs. */
	while (!__atomic_load_n(&side.rounds, __ATOMIC_RELAXED))
		usleep(1000);
	for (uint64_t round = 1; round <= 50; round++)
		ASSERT_DONE(dev_fill(A, side.buf, side.len, round));
	loop_stop(&loop);
	ASSERT_EQ(-1, pages_check(side.buf, side.len, 50));
	for (size_t at = 0; at < side.len; at += PAGE_BYTES)
		ASSERT_EQ(side.rounds, ((uint64_t *)(side.buf + at))[1]);
}

/* Pages that do not fit stay in system memory, and cause no extra faults. */
DEVICES_FIXTURE(full, .load = "devices=1 memory=16")

TEST_F(full, pages_over_device_size_stay_in_system_memory)
{
	const size_t beyond = 8 * BLOCK_BYTES;
	struct hmmrt_device_info info;
	uint64_t faults;
	size_t len;
	long there;
	char *buf;

	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	len = info.out_memory_bytes + beyond;
	buf = ANON(len);
	ASSERT_EQ(0, prefetch(A, buf, info.out_memory_bytes));
	faults = stats_of(A).out_device_faults;
	ASSERT_DONE(dev_fill(A, buf, len, 1));
	faults = stats_of(A).out_device_faults - faults;
	ASSERT_GE(beyond / BLOCK_BYTES * 32, faults);
	there = count_at(A, buf, len);
	ASSERT_LT(0, there);
	ASSERT_GE(info.out_memory_bytes, there * PAGE_BYTES);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

DEVICES_FIXTURE(two_devices, .devices = 2)

TEST_F(two_devices, take_turns_on_one_buffer)
{
	const size_t len = 2 * BLOCK_BYTES;
	char *buf = ANON(len);

	ASSERT_NE(id_of(A), id_of(B));
	for (uint64_t round = 0; round < 6; round++) {
		ASSERT_DONE(dev_fill(round % 2, buf, len, round));
		ASSERT_AT(round % 2, buf, len);
	}
	ASSERT_EQ(-1, pages_check(buf, len, 5));
}

TEST_F(two_devices, use_one_buffer_at_the_same_time)
{
	const size_t len = 16 * PAGE_BYTES;
	uint64_t *words = ANON(len);

	for (unsigned int i = 0; i < 2; i++)
		DEV_POST(i, 0, AGENT_ADD, (uintptr_t)words, 5000);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_DONE(dev_wait(i, 0, 100));
	ASSERT_EQ(10000, *words);
}

/* The page is on one device; the other device's access migrates it. */
TEST_F(two_devices, read_sees_what_the_other_device_wrote)
{
	uint64_t *word = ANON(PAGE_BYTES);

	ASSERT_DONE(dev_write(A, word, 1));
	ASSERT_VALUE(1, dev_read(B, word));
	ASSERT_DONE(dev_write(B, word, 2));
	ASSERT_VALUE(2, dev_read(A, word));
	ASSERT_EQ(2, *word);
}

TEST_HARNESS_MAIN
