// SPDX-License-Identifier: MIT
/*
 * Each kind of memory that a process can have: the device reads what the CPU
 * wrote and the other way round, and pages are where they must be. Private
 * anonymous memory migrates to the device; other memory is mapped remotely.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "lib/amount.h"
#include "lib/ext2.h"
#include "lib/harness.h"
#include "lib/session.h"
#include "lib/setting.h"

/*
 * As much as one fault migrates, and aligned so that nothing else migrates with
 * it.
 */
#define WINDOW_BYTES	(16 * PAGE_BYTES)

enum backing {
	ANON,
	FILE_ON_TMPFS,
	FILE_ON_EXT2,
	MEMFD,
	OWN_PROGRAM,
	SYSV,
	/* These exist when the agent starts, so the test does not map them. */
	SMALL_HEAP,
	LARGE_HEAP,
	STACK,
	DATA,
	BSS,
};

FIXTURE(memory) {
	struct session session;
	struct agent *agent;
	uint32_t id;
	int fd;
	char *buf;
	size_t len;
	/* The harness keeps this struct on its stack. */
	char stack[2 * WINDOW_BYTES];
};

FIXTURE_VARIANT(memory) {
	enum backing backing;
	int flags;
	int advice;
	bool moves;
};

FIXTURE_VARIANT_ADD(memory, private_anonymous) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, populated) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
	.moves = true,
};

FIXTURE_VARIANT_ADD(memory, unreserved) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	.moves = true,
};

FIXTURE_VARIANT_ADD(memory, huge_pages) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS,
	.advice = MADV_HUGEPAGE, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, locked) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED,
};

FIXTURE_VARIANT_ADD(memory, small_heap) {
	.backing = SMALL_HEAP, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, large_heap) {
	.backing = LARGE_HEAP, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, stack) {
	.backing = STACK, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, initialised_globals) {
	.backing = DATA,
};

FIXTURE_VARIANT_ADD(memory, zeroed_globals) {
	.backing = BSS, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, shared_anonymous) {
	.backing = ANON, .flags = MAP_SHARED | MAP_ANONYMOUS,
};

FIXTURE_VARIANT_ADD(memory, shared_file) {
	.backing = FILE_ON_TMPFS, .flags = MAP_SHARED,
};

FIXTURE_VARIANT_ADD(memory, private_file) {
	.backing = FILE_ON_TMPFS, .flags = MAP_PRIVATE,
};

FIXTURE_VARIANT_ADD(memory, shared_file_on_disk) {
	.backing = FILE_ON_EXT2, .flags = MAP_SHARED,
};

FIXTURE_VARIANT_ADD(memory, private_file_on_disk) {
	.backing = FILE_ON_EXT2, .flags = MAP_PRIVATE,
};

FIXTURE_VARIANT_ADD(memory, shared_memfd) {
	.backing = MEMFD, .flags = MAP_SHARED,
};

FIXTURE_VARIANT_ADD(memory, private_memfd) {
	.backing = MEMFD, .flags = MAP_PRIVATE,
};

FIXTURE_VARIANT_ADD(memory, private_page_cache) {
	.backing = OWN_PROGRAM, .flags = MAP_PRIVATE,
};

FIXTURE_VARIANT_ADD(memory, sysv_shared) {
	.backing = SYSV, .flags = MAP_SHARED,
};

FIXTURE_VARIANT_ADD(memory, private_hugetlb) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
};

FIXTURE_VARIANT_ADD(memory, shared_hugetlb) {
	.backing = ANON, .flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB,
};

#define APART	__attribute__((aligned(WINDOW_BYTES)))

static APART char zeroed_globals[WINDOW_BYTES];
static APART char initialised_globals[WINDOW_BYTES] = { 1 };

static int open_backing(enum backing backing, size_t len)
{
	int fd = -1;

	switch (backing) {
	case FILE_ON_TMPFS:
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		break;
	case MEMFD:
		fd = memfd_create("kinds_test", MFD_CLOEXEC);
		break;
	case FILE_ON_EXT2:
		return ext2_file(len);
	case OWN_PROGRAM:
		return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	default:
		return -1;
	}
	if (fd >= 0 && ftruncate(fd, len))
		return -1;
	return fd;
}

static size_t backing_bytes(enum backing backing)
{
	switch (backing) {
	case OWN_PROGRAM:
		return 4 * PAGE_BYTES;
	case SMALL_HEAP:
	case STACK:
	case DATA:
	case BSS:
		return WINDOW_BYTES;
	case FILE_ON_EXT2:
		/* The first write to each page is slow. */
		return 4 * WINDOW_BYTES;
	default:
		return amount(BLOCK_BYTES, 4 * WINDOW_BYTES);
	}
}

static size_t memory_bytes(const FIXTURE_VARIANT(memory) *variant)
{
	if (variant->flags & MAP_HUGETLB || variant->advice == MADV_HUGEPAGE)
		return BLOCK_BYTES;
	return backing_bytes(variant->backing);
}

/* Returns NULL for kinds that are mapped in the arena. */
static char *own_memory(FIXTURE_DATA(memory) *self, enum backing backing)
{
	switch (backing) {
	case SMALL_HEAP:
		return aligned_alloc(WINDOW_BYTES, WINDOW_BYTES);
	case LARGE_HEAP:
		return aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	case STACK:
		return (char *)(((uintptr_t)self->stack + WINDOW_BYTES - 1) &
				~(WINDOW_BYTES - 1));
	case DATA:
		return initialised_globals;
	case BSS:
		return zeroed_globals;
	default:
		return NULL;
	}
}

static char *map_sysv(size_t len)
{
	void *target = arena_map(len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
	int id = shmget(IPC_PRIVATE, len, IPC_CREAT | 0600);
	void *addr;

	if (!target || id < 0)
		return NULL;
	addr = shmat(id, target, SHM_REMAP);
	shmctl(id, IPC_RMID, NULL);
	return addr == target ? addr : NULL;
}

static char *map_in_arena(FIXTURE_DATA(memory) *self,
			  const FIXTURE_VARIANT(memory) *variant)
{
	if (variant->backing == SYSV)
		return map_sysv(self->len);
	return arena_map(self->len, PROT_READ | PROT_WRITE, variant->flags,
			 self->fd, 0);
}

FIXTURE_SETUP(memory)
{
	self->len = memory_bytes(variant);
	self->fd = open_backing(variant->backing, self->len);
	if (variant->backing == FILE_ON_EXT2)
		ASSERT_LE(0, self->fd);
	self->buf = own_memory(self, variant->backing);
	ASSERT_EQ(0, session_start(&self->session, 1, 2));
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
	if (self->buf) {
		ASSERT_EQ(0, agent_map(self->agent, self->buf, self->len,
				       PROT_READ | PROT_WRITE));
		return;
	}
	if (variant->flags & MAP_HUGETLB && !set_huge_pages("4")) {
		session_end(&self->session);
		SKIP(_exit(SKIPPED), "no memory for hugetlb pages");
	}
	self->buf = map_in_arena(self, variant);
	ASSERT_NE(NULL, self->buf);
	if (variant->advice)
		ASSERT_EQ(0, madvise(self->buf, self->len, variant->advice));
}

FIXTURE_TEARDOWN(memory)
{
	if (variant->flags)
		munmap(self->buf, self->len);
	if (self->fd >= 0)
		close(self->fd);
	if (variant->flags & MAP_HUGETLB)
		EXPECT_TRUE(set_huge_pages("0"));
	EXPECT_EQ(0, session_end(&self->session));
}

TEST_F(memory, device_reads_what_the_cpu_wrote)
{
	const uint64_t pages = self->len / PAGE_BYTES;

	pages_fill(self->buf, self->len, 1);
	ASSERT_VALUE(pages * (pages + 1) / 2,
		     agent_sum(self->agent, self->buf, self->len, PAGE_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 1));
}

TEST_F(memory, cpu_reads_what_the_device_wrote)
{
	pages_fill(self->buf, self->len, 1);
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       1000));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 1000));
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       2000));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 2000));
}

TEST_F(memory, device_writes_untouched_memory)
{
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       7));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 7));
}

TEST_F(memory, pages_are_at_their_documented_location)
{
	const long pages = self->len / PAGE_BYTES;
	uint32_t there = variant->moves ? self->id : HMMRT_LOCATION_HOST;

	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       1));
	ASSERT_EQ(pages, pages_at(self->session.space, self->buf, self->len,
				  there));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 1));
	ASSERT_EQ(pages, pages_at(self->session.space, self->buf, self->len,
				  HMMRT_LOCATION_HOST));
}

TEST_F(memory, file_gets_shared_writes_and_no_private_writes)
{
	uint64_t before = 0, after = 0;

	if (self->fd < 0)
		SKIP(return, "this kind of memory has no file");
	ASSERT_EQ(sizeof(before), pread(self->fd, &before, sizeof(before), 0));
	ASSERT_DONE(agent_write(self->agent, self->buf, before + 1));
	ASSERT_EQ(sizeof(after), pread(self->fd, &after, sizeof(after), 0));
	ASSERT_EQ(variant->flags & MAP_SHARED ? before + 1 : before, after);
}

/*
 * A process that was forked earlier: waits for a byte, expects the parent's
 * pages to hold 1000 and so on, and writes 3000 and so on to them.
 */
static bool changes_parent(int go, pid_t parent, char *buf, size_t len)
{
	struct iovec remote = { .iov_base = buf, .iov_len = len };
	struct iovec local = { .iov_base = malloc(len), .iov_len = len };
	char byte;

	if (!local.iov_base || read(go, &byte, 1) != 1)
		return false;
	if (process_vm_readv(parent, &local, 1, &remote, 1, 0) != (ssize_t)len)
		return false;
	if (pages_check(local.iov_base, len, 1000) != -1)
		return false;
	pages_fill(local.iov_base, len, 3000);
	return process_vm_writev(parent, &local, 1, &remote, 1, 0) ==
	       (ssize_t)len;
}

TEST_F(memory, another_process_reads_and_writes_what_the_device_wrote)
{
	const uint64_t pages = self->len / PAGE_BYTES;
	pid_t parent = getpid(), pid;
	int fds[2], status;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!changes_parent(fds[0], parent, self->buf, self->len));
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       1000));
	ASSERT_EQ(1, write(fds[1], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_VALUE(pages * 3000 + pages * (pages - 1) / 2,
		     agent_sum(self->agent, self->buf, self->len, PAGE_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 3000));
	close(fds[0]);
	close(fds[1]);
}

/* --- anonymous memory in detail ------------------------------------------- */

FIXTURE(anonymous) {
	struct session session;
	struct agent *agent;
	uint32_t id;
	char *buf;
	size_t len;
};

FIXTURE_SETUP(anonymous)
{
	self->len = 2 * BLOCK_BYTES;
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(self->len);
	ASSERT_NE(NULL, self->buf);
}

FIXTURE_TEARDOWN(anonymous)
{
	EXPECT_EQ(0, session_end(&self->session));
}

/* Old contents of device and system memory must not be visible. */
TEST_F(anonymous, memory_first_touched_by_the_device_is_zero)
{
	char *dirty = arena_anon(self->len);
	size_t i;

	ASSERT_NE(NULL, dirty);
	memset(dirty, 0xa5, self->len);
	ASSERT_EQ(0, cmd_prefetch(self->session.space, dirty, self->len,
				  self->id, NULL));
	ASSERT_EQ(0, munmap(dirty, self->len));
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       5));
	for (i = 0; i < self->len; i += PAGE_BYTES) {
		uint64_t *words = (uint64_t *)(self->buf + i);

		ASSERT_EQ(5 + i / PAGE_BYTES, words[0]);
		/* Word 1 is zero, and the later words equal it. */
		ASSERT_EQ(0, words[1]);
		ASSERT_EQ(0, memcmp(words + 1, words + 2,
				    PAGE_BYTES - 2 * sizeof(*words)));
	}
}

TEST_F(anonymous, huge_pages_move_one_at_a_time)
{
	char *second = self->buf + BLOCK_BYTES;

	if (!has_huge_pages(self->buf, self->len))
		SKIP(return, "no transparent huge pages available");
	pages_fill(self->buf, self->len, 1);
	ASSERT_DONE(agent_fill(self->agent, self->buf, BLOCK_BYTES, PAGE_BYTES,
			       900));
	ASSERT_EQ(BLOCK_PAGES, pages_at(self->session.space, self->buf,
					BLOCK_BYTES, self->id));
	ASSERT_EQ(BLOCK_PAGES, pages_at(self->session.space, second,
					BLOCK_BYTES, HMMRT_LOCATION_HOST));
	ASSERT_EQ(-1, pages_check(self->buf, BLOCK_BYTES, 900));
	ASSERT_EQ(-1, pages_check(second, BLOCK_BYTES, 1 + BLOCK_PAGES));
}

TEST_F(anonymous, write_to_a_huge_page_changes_one_word)
{
	uint64_t *word = (uint64_t *)(self->buf + 77 * PAGE_BYTES) + 3;

	if (!has_huge_pages(self->buf, self->len))
		SKIP(return, "no transparent huge pages available");
	ASSERT_DONE(agent_write(self->agent, word, 0));
	ASSERT_EQ(0, *word);
	*word = 0x1111111111111111;
	ASSERT_EQ(0, memcmp(self->buf, self->buf + BLOCK_BYTES, BLOCK_BYTES));
}

TEST_F(anonymous, access_to_a_guard_page_between_moved_pages_is_refused)
{
	char *guard = self->buf + 7 * PAGE_BYTES;

	pages_fill(self->buf, WINDOW_BYTES, 1);
	ASSERT_EQ(0, mprotect(guard, PAGE_BYTES, PROT_NONE));
	ASSERT_DONE(agent_fill(self->agent, self->buf, 7 * PAGE_BYTES,
			       PAGE_BYTES, 50));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_read(self->agent, guard));
	ASSERT_REFUSED(SIGSEGV, EACCES, agent_write(self->agent, guard, 1));
	ASSERT_VALUE(9, agent_read(self->agent, guard + PAGE_BYTES));
	ASSERT_EQ(0, mprotect(guard, PAGE_BYTES, PROT_READ));
	ASSERT_EQ(-1, pages_check(self->buf, 7 * PAGE_BYTES, 50));
	ASSERT_EQ(-1, pages_check(guard, 9 * PAGE_BYTES, 8));
}

/* --- the stack of a running thread ---------------------------------------- */

struct stack_work {
	struct agent *agent;
	struct outcome filled;
	struct outcome sum;
	long wrong;
};

static void *use_own_stack(void *arg)
{
	char storage[2 * WINDOW_BYTES];
	char *buf = (char *)(((uintptr_t)storage + WINDOW_BYTES - 1) &
			     ~(WINDOW_BYTES - 1));
	struct stack_work *work = arg;

	work->filled = agent_fill(work->agent, buf, WINDOW_BYTES, PAGE_BYTES,
				  4);
	work->wrong = pages_check(buf, WINDOW_BYTES, 4);
	pages_fill(buf, WINDOW_BYTES, 9);
	work->sum = agent_sum(work->agent, buf, WINDOW_BYTES, PAGE_BYTES);
	return NULL;
}

TEST_F(anonymous, stack_of_another_thread_is_shared_with_the_device)
{
	struct stack_work work = { .agent = self->agent };
	pthread_attr_t attr;
	pthread_t thread;

	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstack(&attr, self->buf, self->len));
	ASSERT_EQ(0, pthread_create(&thread, &attr, use_own_stack, &work));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	pthread_attr_destroy(&attr);
	ASSERT_DONE(work.filled);
	ASSERT_EQ(-1, work.wrong);
	ASSERT_VALUE(16 * 9 + 120, work.sum);
}

/* --- code ----------------------------------------------------------------- */

static uint64_t return_a_number(void)
{
	return 0xc0de;
}

/* Maps the program's text for the agent at its own address. */
TEST_F(anonymous, program_text_is_called_and_read)
{
	uint64_t (*volatile function)(void) = return_a_number;
	char *page = (char *)((uintptr_t)function & ~(PAGE_BYTES - 1));
	uint64_t *code = (uint64_t *)((uintptr_t)function & ~7UL);
	uint64_t expected = *code;

	ASSERT_EQ(0, agent_map(self->agent, page, 2 * PAGE_BYTES,
			       PROT_READ | PROT_EXEC));
	ASSERT_VALUE(0xc0de, agent_call(self->agent, function));
	ASSERT_VALUE(expected, agent_read(self->agent, code));
	ASSERT_EQ(1, pages_at(self->session.space, page, PAGE_BYTES,
			      HMMRT_LOCATION_HOST));
	ASSERT_EQ(0, session_stats(&self->session, 0).out_migrated_to_device);
}

/* return 42; */
static const uint8_t made_code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };

/* Like a JIT compiler: the CPU rewrites code that the device has run. */
TEST_F(anonymous, device_runs_code_that_the_cpu_rewrote)
{
	uint8_t i;

	memcpy(self->buf, made_code, sizeof(made_code));
	for (i = 42; i < 46; i++) {
		ASSERT_EQ(0, mprotect(self->buf, PAGE_BYTES,
				      PROT_READ | PROT_WRITE));
		self->buf[1] = i;
		ASSERT_EQ(0, mprotect(self->buf, PAGE_BYTES,
				      PROT_READ | PROT_EXEC));
		ASSERT_VALUE(i, agent_call(self->agent, self->buf));
		ASSERT_EQ(1, pages_at(self->session.space, self->buf,
				      PAGE_BYTES, self->id));
	}
}

TEST_HARNESS_MAIN
