// SPDX-License-Identifier: MIT
/*
 * The agent's mapping of the device (the mirror): how it may be created, and
 * that no operation of the agent on it gives more access than the device has,
 * or keeps memory that the owner has unmapped.
 */
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define ELSEWHERE	(ARENA_BASE + ARENA_BYTES + (1UL << 30))

DEVICES_FIXTURE(mirror, .lanes = 2, .bytes = BLOCK_BYTES)

/* Calls mmap() of the device in the agent. Returns 0 or a negative errno. */
static int agent_mmap(uintptr_t addr, size_t len, int prot, int flags,
		      uintptr_t offset)
{
	int64_t rc = DEV_SYSCALL(A, SYS_mmap, addr, len, prot, flags,
				 agent_of(A)->shared->gpu, offset);

	return rc < 0 && rc > -4096 ? (int)rc : 0;
}

/*
 * The device sees the owner's memory, and loses it when the owner unmaps it,
 * whatever the agent did to the mapping before.
 */
#define ASSERT_MIRROR_INTACT()						\
	do {								\
		ASSERT_VALUE(1, dev_read(A, buf));			\
		ASSERT_DONE(dev_write(A, buf, 11));			\
		ASSERT_EQ(11, *(volatile uint64_t *)buf);		\
		ASSERT_VALUE(11, dev_read(A, buf));			\
		ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));			\
		ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf));	\
	} while (0)

/* --- creating the mapping ------------------------------------------------- */

TEST_F(mirror, private_mapping_is_einval)
{
	ASSERT_EQ(-EINVAL, agent_mmap(ELSEWHERE, BLOCK_BYTES, PROT_READ,
				      MAP_PRIVATE | MAP_FIXED, ELSEWHERE));
	ASSERT_EQ(0, agent_mmap(ELSEWHERE, BLOCK_BYTES, PROT_READ,
				MAP_SHARED | MAP_FIXED, ELSEWHERE));
}

TEST_F(mirror, offset_that_is_not_the_address_is_einval)
{
	const uintptr_t bad[] = { 0, (uintptr_t)buf, ELSEWHERE + PAGE_BYTES,
				  ELSEWHERE - PAGE_BYTES,
				  ELSEWHERE + (1UL << 47) };

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, agent_mmap(ELSEWHERE, BLOCK_BYTES, RW,
					      MAP_SHARED | MAP_FIXED, bad[i]));
	/* Where the kernel chooses the address, the offset cannot match it. */
	EXPECT_EQ(-EINVAL, agent_mmap(0, BLOCK_BYTES, PROT_READ, MAP_SHARED,
				      (uintptr_t)buf));
	ASSERT_REFUSED(SIGSEGV, 0, dev_read(A, (void *)ELSEWHERE));
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, mapping_over_the_mirror_leaves_it_intact)
{
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(0, agent_map(agent_of(A), buf, BLOCK_BYTES, RW));
	ASSERT_MIRROR_INTACT();
}

/* The permissions of the agent's mapping apply, too. */
TEST_F(mirror, mapping_without_write_permission_reads_only)
{
	ASSERT_EQ(0, agent_map(agent_of(A), buf, BLOCK_BYTES, PROT_READ));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(SIGSEGV, dev_write(A, buf, 2).signal);
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(SIGSEGV, dev_write(A, buf, 2).signal);
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
}

/* --- operations of the agent on the mapping ------------------------------- */

TEST_F(mirror, mremap_cannot_move_the_mirror)
{
	const uint64_t at = (uintptr_t)buf;

	ASSERT_VALUE(1, dev_read(A, buf));
	/* Move a part, move all, keep the source, grow, duplicate. */
	ASSERT_EQ(-EINVAL,
		  DEV_SYSCALL(A, SYS_mremap, at, PAGE_BYTES, PAGE_BYTES,
			      MREMAP_MAYMOVE | MREMAP_FIXED, ELSEWHERE));
	ASSERT_EQ(-EINVAL,
		  DEV_SYSCALL(A, SYS_mremap, ARENA_BASE, ARENA_BYTES,
			      ARENA_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
			      ELSEWHERE));
	ASSERT_GT(0,
		  DEV_SYSCALL(A, SYS_mremap, at, PAGE_BYTES, PAGE_BYTES,
			      MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
			      ELSEWHERE));
	ASSERT_GT(0, DEV_SYSCALL(A, SYS_mremap, ARENA_BASE, ARENA_BYTES,
				 ARENA_BYTES + PAGE_BYTES, MREMAP_MAYMOVE));
	ASSERT_GT(0, DEV_SYSCALL(A, SYS_mremap, at, 0, PAGE_BYTES,
				 MREMAP_MAYMOVE));
	ASSERT_EQ(SIGSEGV, dev_read(A, (void *)ELSEWHERE).signal);
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, mprotect_is_refused)
{
	const int protections[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_EXEC,
				    RW };

	ASSERT_VALUE(1, dev_read(A, buf));
	for (unsigned int i = 0; i < ARRAY_SIZE(protections); i++)
		ASSERT_EQ(-EINVAL, DEV_SYSCALL(A, SYS_mprotect, (uintptr_t)buf,
					       PAGE_BYTES, protections[i]));
	ASSERT_MIRROR_INTACT();
}

/* A read-only mirror of writable memory cannot become writable. */
TEST_F(mirror, mprotect_cannot_add_write_permission)
{
	ASSERT_EQ(0, agent_map(agent_of(A), buf, BLOCK_BYTES, PROT_READ));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(-EINVAL, DEV_SYSCALL(A, SYS_mprotect, (uintptr_t)buf,
				       BLOCK_BYTES, RW));
	ASSERT_EQ(SIGSEGV, dev_write(A, buf, 2).signal);
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
}

TEST_F(mirror, remap_file_pages_is_refused)
{
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_GT(0,
		  DEV_SYSCALL(A, SYS_remap_file_pages, (uintptr_t)buf,
			      PAGE_BYTES, 0, (uintptr_t)buf / PAGE_BYTES + 1));
	/* mm has unmapped the page before it calls the driver. */
	ASSERT_EQ(SIGSEGV, dev_read(A, buf).signal);
	ASSERT_EQ(0, agent_map(agent_of(A), buf, PAGE_BYTES, RW));
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, madv_dofork_is_refused)
{
	ASSERT_EQ(-EINVAL, DEV_SYSCALL(A, SYS_madvise, (uintptr_t)buf,
				       BLOCK_BYTES, MADV_DOFORK));
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, child_of_the_agent_does_not_inherit_the_mirror)
{
	struct outcome outcome;

	ASSERT_VALUE(1, dev_read(A, buf));
	DEV_POST(A, 0, AGENT_READ_IN_CHILD, (uintptr_t)buf);
	outcome = dev_wait(A, 0, 60);
	ASSERT_DONE(outcome);
	ASSERT_TRUE(WIFSIGNALED((int)outcome.value));
	ASSERT_EQ(SIGSEGV, WTERMSIG((int)outcome.value));
	ASSERT_MIRROR_INTACT();
}

/* Every madvise() advice, and unknown numbers, on a mapping with entries. */
TEST_F(mirror, madvise_leaves_the_mirror_intact)
{
	for (unsigned int advice = 0; advice < 128; advice++) {
		ASSERT_VALUE(1, dev_read(A, buf));
		DEV_SYSCALL(A, SYS_madvise, (uintptr_t)buf, BLOCK_BYTES,
			    advice);
	}
	ASSERT_VALUE(2, dev_read(A, buf + PAGE_BYTES));
	ASSERT_MIRROR_INTACT();
}

/* System calls that walk page tables must not take the entries for pages. */
TEST_F(mirror, other_system_calls_leave_the_mirror_intact)
{
	const uint64_t at = (uintptr_t)buf;
	const uint64_t scratch = (uintptr_t)agent_of(A)->shared->scratch;
	uint64_t *words = (uint64_t *)agent_of(A)->shared->scratch;

	ASSERT_VALUE(1, dev_read(A, buf));
	DEV_SYSCALL(A, SYS_mlock, at, BLOCK_BYTES);
	DEV_SYSCALL(A, SYS_mlock2, at, BLOCK_BYTES, 1);
	DEV_SYSCALL(A, SYS_munlock, at, BLOCK_BYTES);
	DEV_SYSCALL(A, SYS_msync, at, BLOCK_BYTES, MS_SYNC);
	DEV_SYSCALL(A, SYS_mincore, at, BLOCK_BYTES, scratch);
	words[0] = 1;
	DEV_SYSCALL(A, SYS_mbind, at, BLOCK_BYTES, 2, scratch, 64, 3);
	words[0] = at;
	DEV_SYSCALL(A, SYS_move_pages, 0, 1, scratch, 0, scratch + 64);
	DEV_SYSCALL(A, SYS_pkey_mprotect, at, BLOCK_BYTES, PROT_READ, -1);
	ASSERT_MIRROR_INTACT();
}

TEST_F(mirror, userfaultfd_cannot_register_the_mirror)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)buf, .len = BLOCK_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int uffd = (int)DEV_SYSCALL(A, SYS_userfaultfd);

	if (uffd < 0)
		SKIP(return, "userfaultfd: %s", strerror(-uffd));
	ASSERT_EQ(0, agent_ioctl(agent_of(A), uffd, UFFDIO_API, &api,
				 sizeof(api)));
	ASSERT_GT(0, agent_ioctl(agent_of(A), uffd, UFFDIO_REGISTER, &range,
				 sizeof(range)));
	range.mode = UFFDIO_REGISTER_MODE_WP;
	ASSERT_GT(0, agent_ioctl(agent_of(A), uffd, UFFDIO_REGISTER, &range,
				 sizeof(range)));
	ASSERT_MIRROR_INTACT();
}

/* Unmap a part of the mirror and map it again; the rest stays. */
TEST_F(mirror, unmapping_a_part_leaves_the_rest)
{
	char *middle = buf + 8 * PAGE_BYTES;

	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(0, agent_unmap(agent_of(A), middle, PAGE_BYTES));
	ASSERT_EQ(SIGSEGV, dev_read(A, middle).signal);
	ASSERT_VALUE(8, dev_read(A, middle - PAGE_BYTES));
	ASSERT_VALUE(10, dev_read(A, middle + PAGE_BYTES));
	ASSERT_EQ(0, agent_map(agent_of(A), middle, PAGE_BYTES, PROT_READ));
	ASSERT_VALUE(9, dev_read(A, middle));
	ASSERT_EQ(SIGSEGV, dev_write(A, middle, 1).signal);
	ASSERT_MIRROR_INTACT();
}

/* --- system calls of the agent -------------------------------------------- */

/* System calls of the agent cannot make the kernel fault in mirrored memory. */
TEST_F(mirror, system_calls_on_untouched_memory_are_efault)
{
	const uint64_t at = (uintptr_t)buf;
	const uint64_t scratch = (uintptr_t)agent_of(A)->shared->scratch;
	int memfd = FD((int)DEV_SYSCALL(A, SYS_memfd_create, scratch));

	/* As source, destination, ioctl argument, path, result and futex. */
	EXPECT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_write, memfd, at, 64));
	ASSERT_EQ(64, DEV_SYSCALL(A, SYS_write, memfd, scratch, 64));
	EXPECT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_pread64, memfd, at, 64));
	EXPECT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_ioctl, session.devices[A].gpu,
				       HMMRT_GPU_IOC_FAULT_RECORD, at));
	EXPECT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_open, at));
	EXPECT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_pipe, at));
	EXPECT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_futex, at, FUTEX_WAKE, 1));
	ASSERT_EQ(0, stats_of(A).out_device_faults);
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	ASSERT_MIRROR_INTACT();
}

/*
 * The device may only read the page, so a write by the kernel would need a
 * fault.
 */
TEST_F(mirror, kernel_cannot_write_pages_read_only_for_the_device)
{
	const uint64_t scratch = (uintptr_t)agent_of(A)->shared->scratch;
	int zero = FD(agent_open(agent_of(A), "/dev/zero", O_RDONLY));
	uint64_t before = 0, after = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t *words;

	words = NOT_NULL(arena_map(PAGE_BYTES, RW, MAP_PRIVATE, fd, 0));
	ASSERT_EQ(8, pread(fd, &before, 8, 0));
	ASSERT_VALUE(before, dev_read(A, words));
	ASSERT_EQ(-EFAULT, DEV_SYSCALL(A, SYS_read, zero, (uintptr_t)words, 8));
	ASSERT_EQ(8, DEV_SYSCALL(A, SYS_read, zero, scratch, 8));
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
	struct iovec remote = { .iov_base = buf, .iov_len = 8 };
	char path[64];
	int fd;

	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(-1,
		  process_vm_readv(agent_of(A)->pid, &local, 1, &remote, 1, 0));
	ASSERT_EQ(EFAULT, errno);
	ASSERT_EQ(-1, process_vm_writev(agent_of(A)->pid, &local, 1, &remote, 1,
					0));
	ASSERT_EQ(EFAULT, errno);
	snprintf(path, sizeof(path), "/proc/%d/mem", agent_of(A)->pid);
	fd = FD(open(path, O_RDWR | O_CLOEXEC));
	ASSERT_GT(0, pread(fd, &word, 8, (off_t)(uintptr_t)buf));
	ASSERT_GT(0, pwrite(fd, &word, 8, (off_t)(uintptr_t)buf));
	close(fd);
	ASSERT_EQ(0, word);
	ASSERT_MIRROR_INTACT();
}

/* --- read-only stays read-only -------------------------------------------- */

static void signal_first_lane(void *unused)
{
	(void)unused;
	syscall(SYS_tgkill, agent_of(A)->pid, agent_of(A)->shared->lanes[0].tid,
		SIGUSR1);
	usleep(500);
}

/* A write takes several times as long on a debug kernel: as many signals. */
#define STORM_WRITES	amount(3000, 150)

/* Returns how many of the writes succeeded. */
static struct outcome write_under_storm(volatile void *addr, unsigned int times)
{
	struct outcome outcome;
	struct loop storm;

	loop_start(&storm, signal_first_lane, NULL);
	DEV_POST(A, 0, AGENT_WRITE_OFTEN, (uintptr_t)addr, times);
	outcome = dev_wait(A, 0, 100);
	loop_stop(&storm);
	return outcome;
}

FIXTURE(page) {
	int fd;
	uint64_t *word;		/* a page that the device may only read */
	uint64_t before;
	uint64_t *witness;	/* the same page through another mapping */
};

FIXTURE_VARIANT(page) {
	enum { OF_FILE, OF_SHMEM, OF_ZERO, OF_ANON, OF_DEVICE } kind;
};

VARIANT(page, file, .kind = OF_FILE);
VARIANT(page, shared_memory, .kind = OF_SHMEM);
VARIANT(page, zero_page, .kind = OF_ZERO);
VARIANT(page, device_memory, .kind = OF_DEVICE);

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

	DEVICES_SETUP();
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
		ASSERT_EQ(0, mprotect(self->word, PAGE_BYTES, RW));
		ASSERT_DONE(dev_write(A, self->word, 77));
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
	ASSERT_VALUE(self->before, dev_read(A, self->word));
}

DEVICES_FIXTURE_TEARDOWN(page)

/*
 * A signal interrupts the service of the fault before its result is known. If
 * the fault handler then let mm continue, the write would reach the page.
 */
TEST_F(page, is_not_written_during_a_signal_storm)
{
	struct outcome outcome = write_under_storm(self->word, STORM_WRITES);

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
	if (dev_read(A, self->word).value != self->before)
		return -1;
	return mprotect(self->word, PAGE_BYTES, PROT_READ) ||
	       mprotect(self->word, PAGE_BYTES, RW);
}

/* Here the owner may write: the write succeeds, to a private copy. */
TEST_F(page, is_copied_before_a_write_during_a_signal_storm)
{
	ASSERT_EQ(0, mprotect(self->word, PAGE_BYTES, RW));
	for (unsigned int round = 0; round < 100; round++) {
		ASSERT_EQ(0, page_reset(self));
		ASSERT_VALUE(self->before, dev_read(A, self->word));
		ASSERT_VALUE(1, write_under_storm(self->word, 1));
		if (self->witness)
			ASSERT_EQ(self->before,
				  *(volatile uint64_t *)self->witness);
		ASSERT_EQ(~0UL, *(volatile uint64_t *)self->word);
	}
}

TEST_HARNESS_MAIN
