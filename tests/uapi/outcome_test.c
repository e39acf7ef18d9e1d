// SPDX-License-Identifier: MIT
/*
 * The outcome that a prefetch reports for each page: moved, already there, or
 * stayed for a reason. The result's counters always match the outcomes that
 * were written, also where the call ends early.
 */
#include "lib/fixture.h"
#include "lib/pin.h"
#include "lib/storm.h"
#include "lib/uffd.h"

#define PAGES		16
#define LEN		(PAGES * PAGE_BYTES)
#define UNTOUCHED	0xee
#define STAYED(reason)	HMMRT_OUTCOME_STAYED(HMMRT_STAY_##reason)

/* What the last call has reported. */
static struct hmmrt_prefetch result;
static uint8_t outcomes[4 * BLOCK_PAGES];

DEVICES_FIXTURE(outcome, .unattached = true, .sets_oversubscription = true)

/* Prefetches and has the outcomes written to @to. */
static int call(uint32_t location, const void *addr, size_t len, void *to)
{
	result = (struct hmmrt_prefetch){
		.size = sizeof(result), .addr = (uintptr_t)addr, .len = len,
		.location = location_of(location), .outcomes = (uintptr_t)to,
	};
	return cmd_raw(space, HMMRT_IOC_PREFETCH, &result);
}

static uint64_t counted(uint8_t outcome)
{
	if (outcome == HMMRT_OUTCOME_MOVED)
		return result.out_pages_moved;
	if (outcome == HMMRT_OUTCOME_THERE)
		return result.out_pages_there;
	return result.out_stayed[outcome - HMMRT_OUTCOME_STAYED(0)];
}

/* Returns true if the counters match the outcomes of the pages. */
static bool agrees(size_t pages)
{
	uint64_t found[2 + HMMRT_STAY_REASONS] = { 0 };

	for (size_t i = 0; i < pages; i++) {
		if (outcomes[i] >= ARRAY_SIZE(found))
			return false;
		found[outcomes[i]]++;
	}
	for (unsigned int outcome = 0; outcome < ARRAY_SIZE(found); outcome++)
		if (found[outcome] != counted((uint8_t)outcome))
			return false;
	return true;
}

/*
 * Prefetches and checks that counters and outcomes agree. Returns the result of
 * the call, or -EPROTO where they do not agree.
 */
static int move_to(uint32_t location, const void *addr, size_t len)
{
	int rc;

	memset(outcomes, UNTOUCHED, sizeof(outcomes));
	rc = call(location, addr, len, outcomes);
	if (!rc && !agrees(len / PAGE_BYTES))
		return -EPROTO;
	return rc;
}

/* Returns true if pages [first, first + count) have the outcome. */
static bool all(const uint8_t *of, size_t first, size_t count, uint8_t outcome)
{
	for (size_t i = first; i < first + count; i++)
		if (of[i] != outcome)
			return false;
	return true;
}

#define ASSERT_OUTCOMES(first, count, outcome)				\
	ASSERT_TRUE(all(outcomes, first, count, outcome))		\
	{								\
		TH_LOG("page %d has outcome %u, not %u", (int)(first),	\
		       outcomes[first], (unsigned int)(outcome));	\
	}

TEST_F(outcome, pages_are_reported_as_moved_or_already_there)
{
	char *buf = ANON(LEN);

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, move_to(A, buf, LEN / 2));
	ASSERT_OUTCOMES(0, PAGES / 2, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(PAGES / 2, 1, UNTOUCHED);
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES / 2, HMMRT_OUTCOME_THERE);
	ASSERT_OUTCOMES(PAGES / 2, PAGES / 2, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(0, move_to(HOST, buf, LEN / 2));
	ASSERT_OUTCOMES(0, PAGES / 2, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(0, move_to(HOST, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES / 2, HMMRT_OUTCOME_THERE);
	ASSERT_OUTCOMES(PAGES / 2, PAGES / 2, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(outcome, locked_memory_is_reported_as_pinned)
{
	char *buf = ANON(LEN);

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, mlock(buf, LEN));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES, STAYED(PINNED));
	ASSERT_EQ(0, munlock(buf, LEN));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES, HMMRT_OUTCOME_MOVED);
}

TEST_F(outcome, page_pinned_for_io_is_reported_as_pinned)
{
	char *buf = ANON(LEN);
	int pin;

	pages_fill(buf, LEN, 1);
	pin = pin_memory(buf + 2 * PAGE_BYTES, 3 * PAGE_BYTES);
	if (pin == -ENOSYS)
		SKIP(return, "no io_uring");
	ASSERT_LE(0, pin);
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, 2, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(2, 3, STAYED(PINNED));
	ASSERT_OUTCOMES(5, PAGES - 5, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(0, unpin_memory(pin));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, 2, HMMRT_OUTCOME_THERE);
	ASSERT_OUTCOMES(2, 3, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

/* A page in a pipe has no GUP pin, only a raised refcount. */
TEST_F(outcome, page_in_a_pipe_is_reported_as_pinned)
{
	char *buf = ANON(LEN), page[PAGE_BYTES];
	struct iovec vec = { buf + PAGE_BYTES, PAGE_BYTES };
	int ends[2];

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	ASSERT_EQ(PAGE_BYTES, vmsplice(ends[1], &vec, 1, 0));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, 1, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(1, 1, STAYED(PINNED));
	ASSERT_OUTCOMES(2, PAGES - 2, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(PAGE_BYTES, read(ends[0], page, PAGE_BYTES));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(1, 1, HMMRT_OUTCOME_MOVED);
	close(ends[0]);
	close(ends[1]);
}

TEST_F(outcome, file_and_shared_memory_is_reported_as_file)
{
	const int flags[] = { MAP_SHARED, MAP_PRIVATE };
	char *shared =
		NOT_NULL(arena_map(LEN, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	int fd = FD(memfd_create("outcome_test", MFD_CLOEXEC));

	ASSERT_EQ(0, ftruncate(fd, LEN));
	pages_fill(shared, LEN, 1);
	ASSERT_EQ(0, move_to(A, shared, LEN));
	ASSERT_OUTCOMES(0, PAGES, STAYED(FILE));
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		char *buf = NOT_NULL(arena_map(LEN, RW, flags[i], fd, 0));

		buf[0] = 1;
		ASSERT_EQ(0, move_to(A, buf, LEN));
		ASSERT_OUTCOMES(0, PAGES, STAYED(FILE));
		ASSERT_EQ(0, move_to(HOST, buf, LEN));
		ASSERT_OUTCOMES(0, PAGES, HMMRT_OUTCOME_THERE);
	}
	close(fd);
}

TEST_F(outcome, hugetlb_memory_is_reported_as_hugetlb)
{
	char *buf;

	if (!set_huge_pages("2"))
		SKIP(return, "no memory for hugetlb pages");
	buf = NOT_NULL(arena_map(BLOCK_BYTES, RW,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1,
				 0));
	buf[0] = 1;
	ASSERT_EQ(0, move_to(A, buf, BLOCK_BYTES));
	ASSERT_OUTCOMES(0, BLOCK_PAGES, STAYED(HUGETLB));
	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	set_huge_pages("0");
}

TEST_F(outcome, secret_memory_is_reported_as_special)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *buf;

	if (fd < 0)
		SKIP(return, "memfd_secret: %s", strerror(errno));
	ASSERT_EQ(0, ftruncate(fd, LEN));
	buf = NOT_NULL(arena_map(LEN, RW, MAP_SHARED, fd, 0));
	buf[0] = 1;
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES, STAYED(SPECIAL));
	close(fd);
}

/* One block with several mappings in a row. */
TEST_F(outcome, mappings_in_one_block_are_reported_separately)
{
	char *buf = ANON(LEN), *file = buf + 4 * PAGE_BYTES,
	     *none = buf + 8 * PAGE_BYTES, *locked = buf + 12 * PAGE_BYTES;

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(file, mmap(file, 4 * PAGE_BYTES, RW,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	ASSERT_EQ(0, mprotect(none, 2 * PAGE_BYTES, PROT_NONE));
	ASSERT_EQ(0, mlock(locked, PAGE_BYTES));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, 4, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(4, 4, STAYED(FILE));
	ASSERT_OUTCOMES(8, 2, STAYED(SPECIAL));
	ASSERT_OUTCOMES(10, 2, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(12, 1, STAYED(PINNED));
	ASSERT_OUTCOMES(13, 3, HMMRT_OUTCOME_MOVED);
}

/*
 * The kernel's migration code finds device pages that a snapshot does not show
 * because of PROT_NONE.
 */
TEST_F(outcome, pages_without_read_permission_migrate_back)
{
	char *buf = ANON(LEN);

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, move_to(A, buf, LEN / 2));
	ASSERT_EQ(0, mprotect(buf, LEN, PROT_NONE));
	ASSERT_EQ(0, move_to(HOST, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES / 2, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(PAGES / 2, PAGES / 2, HMMRT_OUTCOME_THERE);
	ASSERT_EQ(0, mprotect(buf, LEN, RW));
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

TEST_F(outcome, holes_watched_by_userfaultfd_are_reported)
{
	char *buf = ANON(LEN);
	int uffd = uffd_open();

	if (uffd < 0)
		SKIP(return, "userfaultfd: %s", strerror(-uffd));
	pages_fill(buf, PAGE_BYTES, 1);
	ASSERT_EQ(0, uffd_watch(uffd, buf, LEN, UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, 1, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(1, PAGES - 1, STAYED(WATCHED));
	close(uffd);
}

TEST_F(outcome, holes_are_populated_at_the_target)
{
	char *buf = ANON(LEN);

	ASSERT_EQ(0, move_to(HOST, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES, HMMRT_OUTCOME_THERE);
	ASSERT_EQ(0, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES, HMMRT_OUTCOME_MOVED);
	ASSERT_EQ(0, buf[LEN - 1]);
}

DEVICES_FIXTURE(full, .unattached = true, .sets_oversubscription = true,
		.load = "devices=1 memory=16")

TEST_F(full, pages_over_device_size_are_reported_as_no_memory)
{
	const size_t more = 2 * BLOCK_BYTES;
	struct hmmrt_device_info info;
	size_t len;
	char *buf;

	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	len = info.out_memory_bytes - PAGE_BYTES;
	buf = ANON(len + more);
	ASSERT_EQ(0, call(A, buf, len, NULL));
	ASSERT_EQ(len / PAGE_BYTES, result.out_pages_moved);
	ASSERT_TRUE(set_oversubscription(false));
	ASSERT_EQ(0, move_to(A, buf + len - PAGE_BYTES, more));
	ASSERT_TRUE(set_oversubscription(true));
	ASSERT_OUTCOMES(0, 1, HMMRT_OUTCOME_THERE);
	ASSERT_EQ(1, result.out_pages_moved);
	ASSERT_EQ(more / PAGE_BYTES - 2,
		  result.out_stayed[HMMRT_STAY_NO_MEMORY]);
	ASSERT_OUTCOMES(BLOCK_PAGES, BLOCK_PAGES, STAYED(NO_MEMORY));
}

/* --- where the call ends early -------------------------------------------- */

TEST_F(outcome, outcomes_are_written_up_to_a_hole)
{
	char *buf = ANON(LEN);

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, munmap(buf + LEN / 2, PAGE_BYTES));
	ASSERT_EQ(-EFAULT, move_to(A, buf, LEN));
	ASSERT_OUTCOMES(0, PAGES / 2, HMMRT_OUTCOME_MOVED);
	ASSERT_OUTCOMES(PAGES / 2, PAGES / 2, UNTOUCHED);
}

TEST_F(outcome, bad_memory_for_outcomes_is_efault)
{
	char *buf = ANON(2 * BLOCK_BYTES);
	uint8_t *pages = arena_anon(2 * PAGE_BYTES);
	uint8_t *end = pages + PAGE_BYTES;

	ASSERT_EQ(0, mprotect(end, PAGE_BYTES, PROT_NONE));
	pages_fill(buf, 2 * BLOCK_BYTES, 1);
	ASSERT_EQ(-EFAULT, call(A, buf, LEN, end));
	ASSERT_EQ(-EFAULT, call(A, buf, LEN, end - 1));
	ASSERT_EQ(-EFAULT, call(A, buf, LEN, (void *)0xffff888000000000));
	ASSERT_EQ(-EFAULT, call(A, buf, LEN, (void *)~7UL));
	/*
	 * Outcomes are copied block by block: the pages that were there and
	 * those that the call has moved are reported before the copy faults.
	 */
	ASSERT_EQ(-EFAULT, call(A, buf, 2 * BLOCK_BYTES, end - BLOCK_PAGES));
	ASSERT_TRUE(all(end - BLOCK_PAGES, 0, PAGES, HMMRT_OUTCOME_THERE));
	ASSERT_TRUE(all(end - BLOCK_PAGES, PAGES, BLOCK_PAGES - PAGES,
			HMMRT_OUTCOME_MOVED));
	ASSERT_EQ(0, call(A, buf, LEN, end - PAGES));
	ASSERT_EQ(-1, pages_check(buf, 2 * BLOCK_BYTES, 1));
}

/*
 * The outcome of a mapping that the manager does not examine page by page is
 * also written to user memory.
 */
TEST_F(outcome, bad_memory_for_outcomes_of_shared_memory_is_efault)
{
	char *buf = arena_map(LEN, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint8_t *pages = arena_anon(2 * PAGE_BYTES);
	uint8_t *end = pages + PAGE_BYTES;

	ASSERT_EQ(0, mprotect(end, PAGE_BYTES, PROT_NONE));
	ASSERT_EQ(-EFAULT, call(A, buf, LEN, end - 1));
	ASSERT_EQ(0, call(A, buf, LEN, end - PAGES));
	ASSERT_TRUE(all(end - PAGES, 0, PAGES, STAYED(FILE)));
}

/*
 * The page that holds the outcomes moves to the device, and faults back when
 * the kernel writes them.
 */
TEST_F(outcome, outcomes_can_be_written_to_the_migrating_memory)
{
	char *buf = ANON(LEN);
	uint8_t *to = (uint8_t *)buf + PAGE_BYTES + 64;

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, call(A, buf, LEN, to));
	ASSERT_TRUE(all(to, 0, PAGES, HMMRT_OUTCOME_MOVED));
	ASSERT_EQ(-1, pages_check(buf, LEN, 1));
}

/*
 * With -EINTR, pages that the call completed have an outcome, all other
 * outcomes are untouched. In one round the signals may miss all calls, so the
 * test repeats the round until one call is interrupted.
 */
TEST_F(outcome, interrupted_call_writes_outcomes_of_completed_pages)
{
	const size_t len = 4 * BLOCK_BYTES;
	struct storm storm;
	unsigned int eintr = 0, calls;
	char *buf = ANON(len);
	size_t got;
	int rc;

	pages_fill(buf, len, 1);
	for (unsigned int round = 0; !eintr && round < STORM_ROUNDS; round++) {
		ASSERT_EQ(0, move_to(HOST, buf, len));
		ASSERT_EQ(0, storm_start(&storm));
		calls = 0;
		do {
			rc = move_to(A, buf, len);
			got = result.out_pages_moved + result.out_pages_there;
			if (rc != -EINTR)
				continue;
			eintr++;
			ASSERT_TRUE(agrees(got));
			ASSERT_TRUE(all(outcomes, got, len / PAGE_BYTES - got,
					UNTOUCHED));
		} while (rc == -EINTR && ++calls < 1000);
		storm_stop(&storm);
		ASSERT_EQ(0, rc);
		ASSERT_EQ(len / PAGE_BYTES, got);
	}
	ASSERT_LT(0, eintr);
}

/* --- nodes of system memory ----------------------------------------------- */

static bool node_is_online(unsigned int node)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u", node);
	return !access(path, F_OK);
}

static int node_of(void *addr)
{
	int node = -ENOENT;

	if (syscall(SYS_move_pages, 0, 1, &addr, NULL, &node, 0))
		return -errno;
	return node;
}

TEST_F(outcome, prefetch_to_a_node_moves_pages_to_it)
{
	char *buf = ANON(LEN);

	for (unsigned int node = 0; node < 4; node++) {
		uint32_t location = HMMRT_LOCATION_HOST_NODE(node);

		pages_fill(buf, LEN, node);
		if (!node_is_online(node)) {
			ASSERT_EQ(-EINVAL, move_to(location, buf, LEN));
			continue;
		}
		ASSERT_EQ(0, move_to(location, buf, LEN));
		ASSERT_OUTCOMES(0, PAGES, HMMRT_OUTCOME_THERE);
		ASSERT_EQ(0, move_to(A, buf, LEN));
		ASSERT_EQ(0, move_to(location, buf, LEN));
		ASSERT_OUTCOMES(0, PAGES, HMMRT_OUTCOME_MOVED);
		for (unsigned int i = 0; i < PAGES; i++)
			ASSERT_EQ(node, node_of(buf + i * PAGE_BYTES));
		ASSERT_HAS(HOST, buf, LEN, node);
	}
}

/* Bookkeeping for each of its blocks would take 2 GiB and too long. */
TEST_F(outcome, reserved_terabyte_is_reported_as_already_there)
{
	const size_t len = 1UL << 40;
	char *buf = mmap(NULL, len, RW,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_NE(MAP_FAILED, buf);
	ASSERT_EQ(0, call(HOST, buf, len, NULL));
	ASSERT_EQ(len / PAGE_BYTES, result.out_pages_there);
	ASSERT_EQ(0, munmap(buf, len));
}

TEST_HARNESS_MAIN
