// SPDX-License-Identifier: MIT
/*
 * The agent's mapping of the device (the mirror): how it may be created, and
 * that no operation of the agent on it gives more access than the device has,
 * or keeps memory that the owner has unmapped.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "lib/harness.h"
#include "lib/session.h"

#define ELSEWHERE	(ARENA_BASE + ARENA_BYTES + (1UL << 30))

FIXTURE(mirror) {
	struct session session;
	struct agent *agent;
	int gpu;
	char *buf;
};

FIXTURE_SETUP(mirror)
{
	ASSERT_EQ(0, session_start(&self->session, 1, 2));
	self->agent = session_agent(&self->session);
	self->gpu = self->session.devices[0].gpu;
	self->buf = arena_anon(BLOCK_BYTES);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, BLOCK_BYTES, 1);
}

FIXTURE_TEARDOWN(mirror)
{
	EXPECT_EQ(0, session_end(&self->session));
}

/* Calls mmap() of the device in the agent. Returns 0 or a negative errno. */
static int agent_mmap(struct agent *agent, uintptr_t addr, size_t len, int prot,
		      int flags, uintptr_t offset)
{
	int64_t rc = agent_syscall(agent, SYS_mmap, addr, len, (uint64_t)prot,
				   (uint64_t)flags,
				   (uint64_t)agent->shared->gpu, offset);

	return rc < 0 && rc > -4096 ? (int)rc : 0;
}

/*
 * The device sees the owner's memory, and loses it when the owner unmaps it,
 * whatever the agent did to the mapping before.
 */
#define ASSERT_MIRROR_INTACT()						\
	do {								\
		ASSERT_VALUE(1, agent_read(self->agent, self->buf));	\
		ASSERT_DONE(agent_write(self->agent, self->buf, 11));	\
		ASSERT_EQ(11, *(volatile uint64_t *)self->buf);		\
		ASSERT_VALUE(11, agent_read(self->agent, self->buf));	\
		ASSERT_EQ(0, munmap(self->buf, BLOCK_BYTES));		\
		ASSERT_REFUSED(SIGSEGV, EFAULT,				\
			       agent_read(self->agent, self->buf));	\
	} while (0)

/* --- creating the mapping ------------------------------------------------- */

TEST_F(mirror, private_mapping_is_einval)
{
	ASSERT_EQ(-EINVAL,
		  agent_mmap(self->agent, ELSEWHERE, BLOCK_BYTES, PROT_READ,
			     MAP_PRIVATE | MAP_FIXED, ELSEWHERE));
	ASSERT_EQ(0, agent_mmap(self->agent, ELSEWHERE, BLOCK_BYTES, PROT_READ,
				MAP_SHARED | MAP_FIXED, ELSEWHERE));
}

TEST_F(mirror, offset_that_is_not_the_address_is_einval)
{
	const uintptr_t buf = (uintptr_t)self->buf;
	const uintptr_t bad[] = { 0, buf, ELSEWHERE + PAGE_BYTES,
				  ELSEWHERE - PAGE_BYTES,
				  ELSEWHERE + (1UL << 47) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, agent_mmap(self->agent, ELSEWHERE,
					      BLOCK_BYTES,
					      PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_FIXED, bad[i]));
	/* Where the kernel chooses the address, the offset cannot match it. */
	EXPECT_EQ(-EINVAL, agent_mmap(self->agent, 0, BLOCK_BYTES, PROT_READ,
				      MAP_SHARED, buf));
	ASSERT_REFUSED(SIGSEGV, 0,
		       agent_read(self->agent, (void *)ELSEWHERE));
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, mapping_over_the_mirror_leaves_it_intact)
{
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_EQ(0, agent_map(self->agent, self->buf, BLOCK_BYTES,
			       PROT_READ | PROT_WRITE));
	ASSERT_MIRROR_INTACT();
}

/* The permissions of the agent's mapping apply, too. */
TEST_F(mirror, mapping_without_write_permission_reads_only)
{
	ASSERT_EQ(0, agent_map(self->agent, self->buf, BLOCK_BYTES, PROT_READ));
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_EQ(SIGSEGV, agent_write(self->agent, self->buf, 2).signal);
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_EQ(SIGSEGV, agent_write(self->agent, self->buf, 2).signal);
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

/* --- operations of the agent on the mapping ------------------------------- */

TEST_F(mirror, mremap_cannot_move_the_mirror)
{
	const uint64_t buf = (uintptr_t)self->buf;

	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	/* Move a part, move all, keep the source, grow, duplicate. */
	ASSERT_EQ(-EINVAL,
		  agent_syscall(self->agent, SYS_mremap, buf, PAGE_BYTES,
				PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
				ELSEWHERE, 0));
	ASSERT_EQ(-EINVAL,
		  agent_syscall(self->agent, SYS_mremap, ARENA_BASE,
				ARENA_BYTES, ARENA_BYTES,
				MREMAP_MAYMOVE | MREMAP_FIXED, ELSEWHERE, 0));
	ASSERT_GT(0, agent_syscall(self->agent, SYS_mremap, buf, PAGE_BYTES,
				   PAGE_BYTES,
				   MREMAP_MAYMOVE | MREMAP_FIXED |
					   MREMAP_DONTUNMAP,
				   ELSEWHERE, 0));
	ASSERT_GT(0, agent_syscall(self->agent, SYS_mremap, ARENA_BASE,
				   ARENA_BYTES, ARENA_BYTES + PAGE_BYTES,
				   MREMAP_MAYMOVE, 0, 0));
	ASSERT_GT(0, agent_syscall(self->agent, SYS_mremap, buf, 0, PAGE_BYTES,
				   MREMAP_MAYMOVE, 0, 0));
	ASSERT_EQ(SIGSEGV,
		  agent_read(self->agent, (void *)ELSEWHERE).signal);
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, mprotect_is_refused)
{
	const int protections[] = { PROT_NONE, PROT_READ,
				    PROT_READ | PROT_EXEC,
				    PROT_READ | PROT_WRITE };
	unsigned int i;

	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	for (i = 0; i < ARRAY_SIZE(protections); i++)
		ASSERT_EQ(-EINVAL,
			  agent_syscall(self->agent, SYS_mprotect,
					(uintptr_t)self->buf, PAGE_BYTES,
					(uint64_t)protections[i], 0, 0, 0));
	ASSERT_MIRROR_INTACT();
}

/* A read-only mirror of writable memory cannot become writable. */
TEST_F(mirror, mprotect_cannot_add_write_permission)
{
	ASSERT_EQ(0, agent_map(self->agent, self->buf, BLOCK_BYTES, PROT_READ));
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_EQ(-EINVAL, agent_syscall(self->agent, SYS_mprotect,
					 (uintptr_t)self->buf, BLOCK_BYTES,
					 PROT_READ | PROT_WRITE, 0, 0, 0));
	ASSERT_EQ(SIGSEGV, agent_write(self->agent, self->buf, 2).signal);
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
}

TEST_F(mirror, remap_file_pages_is_refused)
{
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_GT(0, agent_syscall(self->agent, SYS_remap_file_pages,
				   (uintptr_t)self->buf, PAGE_BYTES, 0,
				   (uintptr_t)self->buf / PAGE_BYTES + 1, 0,
				   0));
	/* mm has unmapped the page before it calls the driver. */
	ASSERT_EQ(SIGSEGV, agent_read(self->agent, self->buf).signal);
	ASSERT_EQ(0, agent_map(self->agent, self->buf, PAGE_BYTES,
			       PROT_READ | PROT_WRITE));
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, madv_dofork_is_refused)
{
	ASSERT_EQ(-EINVAL, agent_syscall(self->agent, SYS_madvise,
					 (uintptr_t)self->buf, BLOCK_BYTES,
					 MADV_DOFORK, 0, 0, 0));
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, child_of_the_agent_does_not_inherit_the_mirror)
{
	uint64_t args[] = { (uintptr_t)self->buf };
	struct outcome outcome;

	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	agent_post(self->agent, 0, AGENT_READ_IN_CHILD, args, 1);
	outcome = agent_wait(self->agent, 0, 60);
	ASSERT_DONE(outcome);
	ASSERT_TRUE(WIFSIGNALED((int)outcome.value));
	ASSERT_EQ(SIGSEGV, WTERMSIG((int)outcome.value));
	ASSERT_MIRROR_INTACT();
}

/* Every madvise() advice, and unknown numbers, on a mapping with entries. */
TEST_F(mirror, madvise_leaves_the_mirror_intact)
{
	unsigned int advice;

	for (advice = 0; advice < 128; advice++) {
		ASSERT_VALUE(1, agent_read(self->agent, self->buf));
		agent_syscall(self->agent, SYS_madvise, (uintptr_t)self->buf,
			      BLOCK_BYTES, advice, 0, 0, 0);
	}
	ASSERT_VALUE(2, agent_read(self->agent, self->buf + PAGE_BYTES));
	ASSERT_MIRROR_INTACT();
}

/* System calls that walk page tables must not take the entries for pages. */
TEST_F(mirror, other_system_calls_leave_the_mirror_intact)
{
	const uint64_t buf = (uintptr_t)self->buf;
	const uint64_t scratch = (uintptr_t)self->agent->shared->scratch;
	uint64_t *words = (uint64_t *)self->agent->shared->scratch;

	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	agent_syscall(self->agent, SYS_mlock, buf, BLOCK_BYTES, 0, 0, 0, 0);
	agent_syscall(self->agent, SYS_mlock2, buf, BLOCK_BYTES, 1, 0, 0, 0);
	agent_syscall(self->agent, SYS_munlock, buf, BLOCK_BYTES, 0, 0, 0, 0);
	agent_syscall(self->agent, SYS_msync, buf, BLOCK_BYTES, MS_SYNC, 0, 0,
		      0);
	agent_syscall(self->agent, SYS_mincore, buf, BLOCK_BYTES, scratch, 0, 0,
		      0);
	words[0] = 1;
	agent_syscall(self->agent, SYS_mbind, buf, BLOCK_BYTES, 2, scratch, 64,
		      3);
	words[0] = buf;
	agent_syscall(self->agent, SYS_move_pages, 0, 1, scratch, 0,
		      scratch + 64, 0);
	agent_syscall(self->agent, SYS_pkey_mprotect, buf, BLOCK_BYTES,
		      PROT_READ, (uint64_t)-1, 0, 0);
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, userfaultfd_cannot_register_the_mirror)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)self->buf, .len = BLOCK_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int uffd = (int)agent_syscall(self->agent, SYS_userfaultfd, 0, 0, 0, 0,
				      0, 0);

	if (uffd < 0)
		SKIP(return, "userfaultfd: %s", strerror(-uffd));
	ASSERT_EQ(0, agent_ioctl(self->agent, uffd, UFFDIO_API, &api,
				 sizeof(api)));
	ASSERT_GT(0, agent_ioctl(self->agent, uffd, UFFDIO_REGISTER, &range,
				 sizeof(range)));
	range.mode = UFFDIO_REGISTER_MODE_WP;
	ASSERT_GT(0, agent_ioctl(self->agent, uffd, UFFDIO_REGISTER, &range,
				 sizeof(range)));
	ASSERT_MIRROR_INTACT();
}

/* Unmap a part of the mirror and map it again; the rest stays. */
TEST_F(mirror, unmapping_a_part_leaves_the_rest)
{
	char *middle = self->buf + 8 * PAGE_BYTES;

	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_EQ(0, agent_unmap(self->agent, middle, PAGE_BYTES));
	ASSERT_EQ(SIGSEGV, agent_read(self->agent, middle).signal);
	ASSERT_VALUE(8, agent_read(self->agent, middle - PAGE_BYTES));
	ASSERT_VALUE(10, agent_read(self->agent, middle + PAGE_BYTES));
	ASSERT_EQ(0, agent_map(self->agent, middle, PAGE_BYTES, PROT_READ));
	ASSERT_VALUE(9, agent_read(self->agent, middle));
	ASSERT_EQ(SIGSEGV, agent_write(self->agent, middle, 1).signal);
	ASSERT_MIRROR_INTACT();
}

/* --- system calls of the agent -------------------------------------------- */

/* System calls of the agent cannot make the kernel fault in mirrored memory. */
TEST_F(mirror, system_calls_on_untouched_memory_are_efault)
{
	const uint64_t buf = (uintptr_t)self->buf;
	const uint64_t scratch = (uintptr_t)self->agent->shared->scratch;
	int memfd;

	memfd = (int)agent_syscall(self->agent, SYS_memfd_create, scratch, 0, 0,
				   0, 0, 0);
	ASSERT_LE(0, memfd);
	/* As source, destination, ioctl argument, path, result and futex. */
	EXPECT_EQ(-EFAULT, agent_syscall(self->agent, SYS_write,
					 (uint64_t)memfd, buf, 64, 0, 0, 0));
	ASSERT_EQ(64, agent_syscall(self->agent, SYS_write, (uint64_t)memfd,
				    scratch, 64, 0, 0, 0));
	EXPECT_EQ(-EFAULT, agent_syscall(self->agent, SYS_pread64,
					 (uint64_t)memfd, buf, 64, 0, 0, 0));
	EXPECT_EQ(-EFAULT, agent_syscall(self->agent, SYS_ioctl,
					 (uint64_t)self->gpu,
					 HMMRT_GPU_IOC_FAULT_RECORD, buf, 0, 0,
					 0));
	EXPECT_EQ(-EFAULT, agent_syscall(self->agent, SYS_open, buf, 0, 0, 0, 0,
					 0));
	EXPECT_EQ(-EFAULT, agent_syscall(self->agent, SYS_pipe, buf, 0, 0, 0, 0,
					 0));
	EXPECT_EQ(-EFAULT, agent_syscall(self->agent, SYS_futex, buf,
					 1 /* FUTEX_WAKE */, 1, 0, 0, 0));
	ASSERT_EQ(0, session_stats(&self->session, 0).out_device_faults);
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 1));
	ASSERT_MIRROR_INTACT();
}

/*
 * The device may only read the page, so a write by the kernel would need a
 * fault.
 */
TEST_F(mirror, kernel_cannot_write_pages_read_only_for_the_device)
{
	const uint64_t scratch = (uintptr_t)self->agent->shared->scratch;
	int zero = agent_open(self->agent, "/dev/zero", O_RDONLY);
	uint64_t before = 0, after = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t *words;

	ASSERT_LE(0, zero);
	words = arena_map(PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
			  0);
	ASSERT_NE(NULL, words);
	ASSERT_EQ(8, pread(fd, &before, 8, 0));
	ASSERT_VALUE(before, agent_read(self->agent, words));
	ASSERT_EQ(-EFAULT,
		  agent_syscall(self->agent, SYS_read, (uint64_t)zero,
				(uintptr_t)words, 8, 0, 0, 0));
	ASSERT_EQ(8, agent_syscall(self->agent, SYS_read, (uint64_t)zero,
				   scratch, 8, 0, 0, 0));
	ASSERT_EQ(before, words[0]);
	ASSERT_EQ(8, pread(fd, &after, 8, 0));
	ASSERT_EQ(before, after);
	close(fd);
}

/* Other processes cannot access the mirror through the agent, either. */
TEST_F(mirror, mirror_is_not_readable_through_the_agent)
{
	uint64_t word = 0;
	struct iovec local = { .iov_base = &word, .iov_len = sizeof(word) };
	struct iovec remote = { .iov_base = self->buf, .iov_len = 8 };
	char path[64];
	int fd;

	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_EQ(-1, process_vm_readv(self->agent->pid, &local, 1, &remote, 1,
				       0));
	ASSERT_EQ(EFAULT, errno);
	ASSERT_EQ(-1, process_vm_writev(self->agent->pid, &local, 1, &remote, 1,
					0));
	ASSERT_EQ(EFAULT, errno);
	snprintf(path, sizeof(path), "/proc/%d/mem", self->agent->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_GT(0, pread(fd, &word, 8, (off_t)(uintptr_t)self->buf));
	ASSERT_GT(0, pwrite(fd, &word, 8, (off_t)(uintptr_t)self->buf));
	close(fd);
	ASSERT_EQ(0, word);
	ASSERT_MIRROR_INTACT();
}

/* --- read-only stays read-only -------------------------------------------- */

struct storm {
	struct agent *agent;
	unsigned int lane;
	bool stop;
	uint64_t signals;
};

static void *storm_run(void *arg)
{
	struct storm *storm = arg;

	while (!__atomic_load_n(&storm->stop, __ATOMIC_RELAXED)) {
		syscall(SYS_tgkill, storm->agent->pid,
			storm->agent->shared->lanes[storm->lane].tid, SIGUSR1);
		storm->signals++;
		usleep(500);
	}
	return NULL;
}

#define STORM_WRITES	3000

/* Returns how many of the writes succeeded. */
static struct outcome write_under_storm(struct agent *agent,
					volatile void *addr, unsigned int times)
{
	struct storm storm = { .agent = agent, .lane = 0 };
	uint64_t args[] = { (uintptr_t)addr, times };
	struct outcome outcome;
	pthread_t thread;

	pthread_create(&thread, NULL, storm_run, &storm);
	agent_post(agent, 0, AGENT_WRITE_OFTEN, args, 2);
	outcome = agent_wait(agent, 0, 100);
	__atomic_store_n(&storm.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return outcome;
}

FIXTURE(page) {
	struct session session;
	struct agent *agent;
	int fd;
	uint64_t *word;		/* a page that the device may only read */
	uint64_t before;
	uint64_t *witness;	/* the same page through another mapping */
};

FIXTURE_VARIANT(page) {
	enum { OF_FILE, OF_SHMEM, OF_ZERO, OF_ANON, OF_DEVICE } kind;
};

FIXTURE_VARIANT_ADD(page, file) { .kind = OF_FILE };
FIXTURE_VARIANT_ADD(page, shared_memory) { .kind = OF_SHMEM };
FIXTURE_VARIANT_ADD(page, zero_page) { .kind = OF_ZERO };
FIXTURE_VARIANT_ADD(page, device_memory) { .kind = OF_DEVICE };

static int open_readonly_shmem(void)
{
	int fd = memfd_create("mirror_test", MFD_CLOEXEC);
	char path[64];
	int readonly;

	if (ftruncate(fd, PAGE_BYTES) || pwrite(fd, "shmem123", 8, 0) != 8)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readonly = open(path, O_RDONLY | O_CLOEXEC);
	close(fd);
	return readonly;
}

FIXTURE_SETUP(page)
{
	const bool file = variant->kind == OF_FILE || variant->kind == OF_SHMEM;

	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->fd = -1;
	if (variant->kind == OF_FILE)
		self->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	else if (variant->kind == OF_SHMEM)
		self->fd = open_readonly_shmem();
	self->word = arena_map(PAGE_BYTES, PROT_READ,
			       MAP_PRIVATE | (file ? 0 : MAP_ANONYMOUS),
			       self->fd, 0);
	ASSERT_NE(NULL, self->word);
	if (variant->kind == OF_DEVICE) {
		ASSERT_EQ(0, mprotect(self->word, PAGE_BYTES,
				      PROT_READ | PROT_WRITE));
		ASSERT_DONE(agent_write(self->agent, self->word, 77));
		ASSERT_EQ(0, mprotect(self->word, PAGE_BYTES, PROT_READ));
	}
	if (file)
		self->witness = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED,
				     self->fd, 0);
	else if (variant->kind == OF_ZERO)
		self->witness = mmap(NULL, PAGE_BYTES, PROT_READ,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->witness);
	self->before = self->witness ? *self->witness : 77;
	ASSERT_VALUE(self->before, agent_read(self->agent, self->word));
}

FIXTURE_TEARDOWN(page)
{
	EXPECT_EQ(0, session_end(&self->session));
}

/*
 * A signal interrupts the service of the fault before its result is known. If
 * the fault handler then let mm continue, the write would reach the page.
 */
TEST_F(page, is_not_written_during_a_signal_storm)
{
	struct outcome outcome =
		write_under_storm(self->agent, self->word, STORM_WRITES);

	ASSERT_EQ(0, outcome.error);
	ASSERT_EQ(0, outcome.value);
	if (self->witness)
		ASSERT_EQ(self->before, *(volatile uint64_t *)self->witness);
	ASSERT_EQ(self->before, *(volatile uint64_t *)self->word);
}

/* Restores the page that a write has to copy; the device maps it read-only. */
static int page_reset(FIXTURE_DATA(page) *self)
{
	if (self->witness)
		return madvise(self->word, PAGE_BYTES, MADV_DONTNEED);
	*self->word = self->before;
	if (agent_read(self->agent, self->word).value != self->before)
		return -1;
	return mprotect(self->word, PAGE_BYTES, PROT_READ) ||
	       mprotect(self->word, PAGE_BYTES, PROT_READ | PROT_WRITE);
}

/* Here the owner may write: the write succeeds, to a private copy. */
TEST_F(page, is_copied_before_a_write_during_a_signal_storm)
{
	unsigned int round;

	ASSERT_EQ(0, mprotect(self->word, PAGE_BYTES, PROT_READ | PROT_WRITE));
	for (round = 0; round < 100; round++) {
		ASSERT_EQ(0, page_reset(self));
		ASSERT_VALUE(self->before,
			     agent_read(self->agent, self->word));
		ASSERT_VALUE(1, write_under_storm(self->agent, self->word, 1));
		if (self->witness)
			ASSERT_EQ(self->before,
				  *(volatile uint64_t *)self->witness);
		ASSERT_EQ(~0UL, *(volatile uint64_t *)self->word);
	}
}

TEST_HARNESS_MAIN
