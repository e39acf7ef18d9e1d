// SPDX-License-Identifier: MIT
/*
 * Each kind of memory that a process can have: the device reads what the CPU
 * wrote and the other way round, and pages are where they must be. Private
 * anonymous memory migrates to the device; other memory is mapped remotely.
 */
#include <sys/ipc.h>
#include <sys/shm.h>

#include "lib/amount.h"
#include "lib/ext2.h"
#include "lib/fixture.h"

/*
 * As much as one fault migrates, and aligned so that nothing else migrates with
 * it.
 */
#define WINDOW_BYTES	(16 * PAGE_BYTES)

enum backing {
	ANONYMOUS,
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

static size_t len;	/* of the buffer */

FIXTURE(memory) {
	int fd;
	/* The harness keeps this struct on its stack. */
	char stack[2 * WINDOW_BYTES];
};

FIXTURE_VARIANT(memory) {
	enum backing backing;
	int flags;
	int advice;
	bool moves;
};

VARIANT(memory, private_anonymous, .backing = ANONYMOUS,
	.flags = MAP_PRIVATE | MAP_ANONYMOUS, .moves = true);
VARIANT(memory, populated, .backing = ANONYMOUS,
	.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, .moves = true);
VARIANT(memory, unreserved, .backing = ANONYMOUS,
	.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, .moves = true);
VARIANT(memory, huge_pages, .backing = ANONYMOUS,
	.flags = MAP_PRIVATE | MAP_ANONYMOUS, .advice = MADV_HUGEPAGE,
	.moves = true);
VARIANT(memory, locked, .backing = ANONYMOUS,
	.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED);
VARIANT(memory, small_heap, .backing = SMALL_HEAP, .moves = true);
VARIANT(memory, large_heap, .backing = LARGE_HEAP, .moves = true);
VARIANT(memory, stack, .backing = STACK, .moves = true);
VARIANT(memory, initialised_globals, .backing = DATA);
VARIANT(memory, zeroed_globals, .backing = BSS, .moves = true);
VARIANT(memory, shared_anonymous, .backing = ANONYMOUS,
	.flags = MAP_SHARED | MAP_ANONYMOUS);
VARIANT(memory, shared_file, .backing = FILE_ON_TMPFS, .flags = MAP_SHARED);
VARIANT(memory, private_file, .backing = FILE_ON_TMPFS, .flags = MAP_PRIVATE);
VARIANT(memory, shared_file_on_disk, .backing = FILE_ON_EXT2,
	.flags = MAP_SHARED);
VARIANT(memory, private_file_on_disk, .backing = FILE_ON_EXT2,
	.flags = MAP_PRIVATE);
VARIANT(memory, shared_memfd, .backing = MEMFD, .flags = MAP_SHARED);
VARIANT(memory, private_memfd, .backing = MEMFD, .flags = MAP_PRIVATE);
VARIANT(memory, private_page_cache, .backing = OWN_PROGRAM,
	.flags = MAP_PRIVATE);
VARIANT(memory, sysv_shared, .backing = SYSV, .flags = MAP_SHARED);
VARIANT(memory, private_hugetlb, .backing = ANONYMOUS,
	.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
VARIANT(memory, shared_hugetlb, .backing = ANONYMOUS,
	.flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB);

#define APART	__attribute__((aligned(WINDOW_BYTES)))

static APART char zeroed_globals[WINDOW_BYTES];
static APART char initialised_globals[WINDOW_BYTES] = { 1 };

static int open_backing(enum backing backing)
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

static char *map_sysv(void)
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

static char *map_in_arena(int fd, const FIXTURE_VARIANT(memory) *variant)
{
	if (variant->backing == SYSV)
		return map_sysv();
	return arena_map(len, RW, variant->flags, fd, 0);
}

FIXTURE_SETUP(memory)
{
	len = memory_bytes(variant);
	self->fd = open_backing(variant->backing);
	if (variant->backing == FILE_ON_EXT2)
		ASSERT_LE(0, self->fd);
	buf = own_memory(self, variant->backing);
	DEVICES_SETUP(.lanes = 2);
	if (buf) {
		ASSERT_EQ(0, agent_map(agent_of(A), buf, len, RW));
		return;
	}
	if (variant->flags & MAP_HUGETLB && !set_huge_pages("4")) {
		session_end(&session);
		SKIP(_exit(SKIPPED), "no memory for hugetlb pages");
	}
	buf = NOT_NULL(map_in_arena(self->fd, variant));
	if (variant->advice)
		ASSERT_EQ(0, madvise(buf, len, variant->advice));
}

FIXTURE_TEARDOWN(memory)
{
	if (variant->flags)
		munmap(buf, len);
	if (self->fd >= 0)
		close(self->fd);
	if (variant->flags & MAP_HUGETLB)
		EXPECT_TRUE(set_huge_pages("0"));
	DEVICES_TEARDOWN();
}

TEST_F(memory, device_reads_what_the_cpu_wrote)
{
	pages_fill(buf, len, 1);
	ASSERT_SUM(A, buf, len, 1);
	ASSERT_EQ(-1, pages_check(buf, len, 1));
}

TEST_F(memory, cpu_reads_what_the_device_wrote)
{
	pages_fill(buf, len, 1);
	ASSERT_FILLS(A, buf, len, 1000);
	ASSERT_FILLS(A, buf, len, 2000);
}

TEST_F(memory, device_writes_untouched_memory)
{
	ASSERT_FILLS(A, buf, len, 7);
}

TEST_F(memory, pages_are_at_their_documented_location)
{
	ASSERT_DONE(dev_fill(A, buf, len, 1));
	ASSERT_HAS(variant->moves ? A : HOST, buf, len, 1);
	ASSERT_AT(HOST, buf, len);
}

TEST_F(memory, file_gets_shared_writes_and_no_private_writes)
{
	uint64_t before = 0, after = 0;

	if (self->fd < 0)
		SKIP(return, "this kind of memory has no file");
	ASSERT_EQ(sizeof(before), pread(self->fd, &before, sizeof(before), 0));
	ASSERT_DONE(dev_write(A, buf, before + 1));
	ASSERT_EQ(sizeof(after), pread(self->fd, &after, sizeof(after), 0));
	ASSERT_EQ(variant->flags & MAP_SHARED ? before + 1 : before, after);
}

/*
 * A process that was forked earlier: waits for a byte, expects the parent's
 * pages to hold 1000 and so on, and writes 3000 and so on to them.
 */
static bool changes_parent(struct gate *gate, pid_t parent)
{
	struct iovec remote = { .iov_base = buf, .iov_len = len };
	struct iovec local = { .iov_base = malloc(len), .iov_len = len };

	if (!local.iov_base || !gate_wait(gate))
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
	struct gate gate = GATE();
	pid_t parent = getpid(), pid;

	pid = FORK();
	if (!pid)
		_exit(!changes_parent(&gate, parent));
	ASSERT_DONE(dev_fill(A, buf, len, 1000));
	ASSERT_TRUE(gate_open(&gate));
	ASSERT_EQ(0, process_wait(pid));
	ASSERT_SUM(A, buf, len, 3000);
	ASSERT_EQ(-1, pages_check(buf, len, 3000));
}

/* --- anonymous memory in detail ------------------------------------------- */

DEVICES_FIXTURE_SETUP(anonymous)
{
	len = 2 * BLOCK_BYTES;
	buf = ANON(len);
}

/* Old contents of device and system memory must not be visible. */
TEST_F(anonymous, memory_first_touched_by_the_device_is_zero)
{
	char *dirty = ANON(len);

	memset(dirty, 0xa5, len);
	ASSERT_EQ(0, prefetch(A, dirty, len));
	ASSERT_EQ(0, munmap(dirty, len));
	ASSERT_DONE(dev_fill(A, buf, len, 5));
	for (size_t i = 0; i < len; i += PAGE_BYTES) {
		uint64_t *words = (uint64_t *)(buf + i);

		ASSERT_EQ(5 + i / PAGE_BYTES, words[0]);
		/* Word 1 is zero, and the later words equal it. */
		ASSERT_EQ(0, words[1]);
		ASSERT_EQ(0, memcmp(words + 1, words + 2,
				    PAGE_BYTES - 2 * sizeof(*words)));
	}
}

TEST_F(anonymous, huge_pages_move_one_at_a_time)
{
	char *second = buf + BLOCK_BYTES;

	if (!has_huge_pages(buf, len))
		SKIP(return, "no transparent huge pages available");
	pages_fill(buf, len, 1);
	ASSERT_DONE(dev_fill(A, buf, BLOCK_BYTES, 900));
	ASSERT_AT(A, buf, BLOCK_BYTES);
	ASSERT_AT(HOST, second, BLOCK_BYTES);
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 900));
	ASSERT_EQ(-1, pages_check(second, BLOCK_BYTES, 1 + BLOCK_PAGES));
}

TEST_F(anonymous, write_to_a_huge_page_changes_one_word)
{
	uint64_t *word = (uint64_t *)(buf + 77 * PAGE_BYTES) + 3;

	if (!has_huge_pages(buf, len))
		SKIP(return, "no transparent huge pages available");
	ASSERT_DONE(dev_write(A, word, 0));
	ASSERT_EQ(0, *word);
	*word = 0x1111111111111111;
	ASSERT_EQ(0, memcmp(buf, buf + BLOCK_BYTES, BLOCK_BYTES));
}

TEST_F(anonymous, access_to_a_guard_page_between_moved_pages_is_refused)
{
	char *guard = buf + 7 * PAGE_BYTES;

	pages_fill(buf, WINDOW_BYTES, 1);
	ASSERT_EQ(0, mprotect(guard, PAGE_BYTES, PROT_NONE));
	ASSERT_DONE(dev_fill(A, buf, 7 * PAGE_BYTES, 50));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_read(A, guard));
	ASSERT_REFUSED(SIGSEGV, EACCES, dev_write(A, guard, 1));
	ASSERT_VALUE(9, dev_read(A, guard + PAGE_BYTES));
	ASSERT_EQ(0, mprotect(guard, PAGE_BYTES, PROT_READ));
	ASSERT_EQ(-1, pages_check(buf, 7 * PAGE_BYTES, 50));
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
	struct stack_work work = { .agent = agent_of(A) };
	pthread_attr_t attr;
	pthread_t thread;

	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstack(&attr, buf, len));
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

	ASSERT_EQ(0, agent_map(agent_of(A), page, 2 * PAGE_BYTES,
			       PROT_READ | PROT_EXEC));
	ASSERT_VALUE(0xc0de, agent_call(agent_of(A), function));
	ASSERT_VALUE(expected, dev_read(A, code));
	ASSERT_AT(HOST, page, PAGE_BYTES);
	ASSERT_EQ(0, stats_of(A).out_migrated_to_device);
}

/* return 42; */
static const uint8_t made_code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };

/* Like a JIT compiler: the CPU rewrites code that the device has run. */
TEST_F(anonymous, device_runs_code_that_the_cpu_rewrote)
{
	memcpy(buf, made_code, sizeof(made_code));
	for (uint8_t i = 42; i < 46; i++) {
		ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, RW));
		buf[1] = i;
		ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, PROT_READ | PROT_EXEC));
		ASSERT_VALUE(i, agent_call(agent_of(A), buf));
		ASSERT_AT(A, buf, PAGE_BYTES);
	}
}

TEST_HARNESS_MAIN
