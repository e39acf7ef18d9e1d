// SPDX-License-Identifier: MIT
/*
 * HMMRT_IOC_PAGES: the location of each page, the devices and CPUs that have it
 * mapped, its flags, and when and why it last moved.
 */
#include "lib/fixture.h"
#include "lib/pin.h"

#define PAGES		16
#define LEN		(PAGES * PAGE_BYTES)
#define GIB		(1UL << 30)

FIXTURE(pages) {
	uint32_t device;	/* in masks */
	struct hmmrt_page page;
	uint64_t before;	/* self->page.time of the previous query() */
};

FIXTURE_SETUP(pages)
{
	DEVICES_SETUP();
	self->device = 1u << id_of(A);
	buf = ANON(LEN);
}

DEVICES_FIXTURE_TEARDOWN(pages)

static int query(FIXTURE_DATA(pages) *self, const void *addr)
{
	self->before = self->page.time;
	memset(&self->page, 0xee, sizeof(self->page));
	return cmd_pages(space, addr, PAGE_BYTES, &self->page);
}

#define ASSERT_PAGE(addr, where, mapped, written)			\
	do {								\
		ASSERT_EQ(0, query(self, addr));			\
		ASSERT_EQ(where, self->page.location);			\
		ASSERT_EQ(mapped, self->page.mapped_by);		\
		ASSERT_EQ(written, self->page.written_by);		\
		ASSERT_EQ(0, self->page.duplicates);			\
	} while (0)

/* The page has moved since the previous query(), for the reason @why. */
#define ASSERT_MOVED(why)						\
	do {								\
		ASSERT_EQ(why, self->page.cause);			\
		ASSERT_LT(self->before, self->page.time);		\
		ASSERT_GE(now_ns(), self->page.time);			\
	} while (0)

#define ASSERT_NO_HISTORY()						\
	do {								\
		ASSERT_EQ(HMMRT_CAUSE_NONE, self->page.cause);		\
		ASSERT_EQ(0, self->page.time);				\
	} while (0)

/* --- one page, step by step ----------------------------------------------- */

TEST_F(pages, untouched_page_has_no_location)
{
	ASSERT_PAGE(buf, NONE, 0, 0);
	ASSERT_EQ(0, self->page.flags);
	ASSERT_NO_HISTORY();
}

TEST_F(pages, page_reports_each_migration)
{
	uint64_t started = now_ns();

	pages_fill(buf, LEN, 1);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
	ASSERT_NO_HISTORY();

	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_PAGE(buf, id_of(A), self->device, self->device);
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
	ASSERT_MOVED(HMMRT_CAUSE_DEVICE_FAULT);
	/* The time has a resolution of about a millisecond. */
	ASSERT_LT(started - 1000000, self->page.time);

	/* The page is already on the device: nothing moves. */
	ASSERT_DONE(dev_write(A, buf, 2));
	ASSERT_PAGE(buf, id_of(A), self->device, self->device);
	ASSERT_EQ(HMMRT_CAUSE_DEVICE_FAULT, self->page.cause);
	ASSERT_EQ(self->before, self->page.time);

	ASSERT_EQ(2, *(volatile uint64_t *)buf);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
	ASSERT_MOVED(HMMRT_CAUSE_CPU_FAULT);

	ASSERT_EQ(0, prefetch(A, buf, LEN));
	ASSERT_PAGE(buf, id_of(A), self->device, self->device);
	ASSERT_MOVED(HMMRT_CAUSE_PREFETCH);

	ASSERT_EQ(0, prefetch(HOST, buf, LEN));
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_MOVED(HMMRT_CAUSE_PREFETCH);
}

/*
 * After fork() the page is on the device and shared. The device has no entry
 * for it until its next fault.
 */
TEST_F(pages, fork_removes_entries_and_leaves_pages)
{
	uint64_t moved;

	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(0, query(self, buf));
	moved = self->page.time;
	ASSERT_EQ(0, IN_CHILD(0));
	ASSERT_PAGE(buf, id_of(A), 0, 0);
	ASSERT_EQ(HMMRT_CAUSE_PREFETCH, self->page.cause);
	ASSERT_EQ(moved, self->page.time);
}

TEST_F(pages, unbind_is_reported_as_cause)
{
	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(0, query(self, buf));
	session_unbind(&session, A);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_MOVED(HMMRT_CAUSE_UNBIND);
}

TEST_F(pages, exclusive_page_is_mapped_by_its_device_only)
{
	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(0, query(self, buf));
	ASSERT_EQ(0, make_exclusive(A, buf, LEN, NULL));
	ASSERT_PAGE(buf, NONE, self->device, self->device);
	ASSERT_MOVED(HMMRT_CAUSE_EXCLUSIVE);
	/*
	 * The page is in system memory: a CPU fault revokes the exclusive
	 * access and moves nothing.
	 */
	*(volatile char *)buf = 1;
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_EQ(HMMRT_CAUSE_EXCLUSIVE, self->page.cause);
	ASSERT_EQ(self->before, self->page.time);
}

TEST_F(pages, remote_page_is_mapped_by_cpu_and_device)
{
	char *buf = arena_map(LEN, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	pages_fill(buf, LEN, 1);
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU | self->device,
		    HMMRT_BY_CPU | self->device);
	ASSERT_NO_HISTORY();
}

/* --- pages without history ------------------------------------------------ */

TEST_F(pages, discarded_page_has_no_history)
{
	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(0, madvise(buf, LEN, MADV_DONTNEED));
	ASSERT_PAGE(buf, NONE, 0, 0);
	ASSERT_NO_HISTORY();
	*(volatile char *)buf = 1;
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_NO_HISTORY();
}

TEST_F(pages, new_mapping_at_the_same_address_has_no_history)
{
	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(0, prefetch(HOST, buf, LEN));
	ASSERT_EQ(0, munmap(buf, LEN));
	ASSERT_EQ(buf, mmap(buf, LEN, RW,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	pages_fill(buf, LEN, 1);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_NO_HISTORY();
}

TEST_F(pages, moved_mapping_has_no_history_and_keeps_its_pages)
{
	char *target = arena_anon(LEN);

	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(target,
		  mremap(buf, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, target));
	ASSERT_PAGE(target, id_of(A), 0, 0);
	ASSERT_NO_HISTORY();
	ASSERT_EQ(-1, pages_check(target, LEN, 1));
	ASSERT_PAGE(target, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
}

/* --- flags ---------------------------------------------------------------- */

TEST_F(pages, read_only_page_is_writable_for_no_processor)
{
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, mprotect(buf, LEN, PROT_READ));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_PAGE(buf, id_of(A), self->device, 0);
	ASSERT_EQ(1, *(volatile uint64_t *)buf);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, 0);
}

TEST_F(pages, page_that_was_only_read_is_the_zero_page)
{
	ASSERT_EQ(0, *(volatile char *)buf);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, 0);
	ASSERT_EQ(HMMRT_PAGE_ZEROES, self->page.flags);
}

TEST_F(pages, locked_page_is_reported)
{
	pages_fill(buf, PAGE_BYTES, 1);
	ASSERT_EQ(0, mlock(buf, PAGE_BYTES));
	ASSERT_EQ(0, query(self, buf));
	ASSERT_EQ(HMMRT_PAGE_DIRTY | HMMRT_PAGE_LOCKED, self->page.flags);
	ASSERT_EQ(0, munlock(buf, PAGE_BYTES));
	ASSERT_EQ(0, query(self, buf));
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
}

TEST_F(pages, pinned_page_is_reported)
{
	int pin;

	pages_fill(buf, LEN, 1);
	pin = pin_memory(buf, PAGE_BYTES);
	if (pin == -ENOSYS)
		SKIP(return, "no io_uring");
	ASSERT_LE(0, pin);
	ASSERT_EQ(0, query(self, buf));
	ASSERT_EQ(HMMRT_PAGE_DIRTY | HMMRT_PAGE_PINNED, self->page.flags);
	ASSERT_EQ(0, query(self, buf + PAGE_BYTES));
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
	ASSERT_EQ(0, unpin_memory(pin));
	ASSERT_EQ(0, query(self, buf));
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
}

/*
 * In a private mapping of a file a page is a page of the file until it is
 * written.
 */
TEST_F(pages, page_of_a_file_is_reported_until_it_is_copied)
{
	int fd = FD(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	char *buf;

	buf = NOT_NULL(arena_map(PAGE_BYTES, RW, MAP_PRIVATE, fd, 0));
	ASSERT_EQ(0x7f, *(volatile char *)buf);
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, 0);
	ASSERT_EQ(HMMRT_PAGE_FILE, self->page.flags & HMMRT_PAGE_FILE);
	*(volatile char *)buf = 1;
	ASSERT_PAGE(buf, HOST, HMMRT_BY_CPU, HMMRT_BY_CPU);
	ASSERT_EQ(HMMRT_PAGE_DIRTY, self->page.flags);
	close(fd);
}

TEST_F(pages, part_of_a_huge_page_is_reported)
{
	char *buf = ANON(BLOCK_BYTES);

	if (!has_huge_pages(buf, BLOCK_BYTES))
		SKIP(return, "no transparent huge pages available");
	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, query(self, buf + 3 * PAGE_BYTES));
	ASSERT_EQ(HMMRT_PAGE_DIRTY | HMMRT_PAGE_HUGE, self->page.flags);
}

/* --- ranges and errors ---------------------------------------------------- */

TEST_F(pages, range_over_blocks_and_mappings_has_an_entry_for_each_page)
{
	const size_t len = 3 * BLOCK_BYTES, n = len / PAGE_BYTES;
	struct hmmrt_page *pages = NOT_NULL(calloc(n, sizeof(*pages)));
	char *buf = arena_anon(len);

	pages_fill(buf, len, 1);
	ASSERT_EQ(0, mprotect(buf + PAGE_BYTES, PAGE_BYTES, PROT_READ));
	ASSERT_EQ(0, prefetch(A, buf + BLOCK_BYTES, BLOCK_BYTES));
	ASSERT_EQ(0, cmd_pages(space, buf, len, pages));
	for (size_t i = 0; i < n; i++) {
		bool moved = i / BLOCK_PAGES == 1;

		ASSERT_EQ(moved ? id_of(A) : HOST, pages[i].location);
		ASSERT_EQ(moved ? self->device : HMMRT_BY_CPU,
			  pages[i].mapped_by);
		ASSERT_EQ(i == 1 ? 0 : pages[i].mapped_by, pages[i].written_by);
		ASSERT_EQ(moved ? HMMRT_CAUSE_PREFETCH : HMMRT_CAUSE_NONE,
			  pages[i].cause);
	}
	free(pages);
}

TEST_F(pages, bad_ranges_are_refused)
{
	const struct {
		uintptr_t addr;
		size_t len;
		int error;
	} bad[] = {
		{ (uintptr_t)buf + 1, PAGE_BYTES, -EINVAL },
		{ (uintptr_t)buf, PAGE_BYTES + 1, -EINVAL },
		{ (uintptr_t)buf, 0, -EINVAL },
		{ (uintptr_t)buf, GIB + PAGE_BYTES, -EINVAL },
		{ 0 - PAGE_BYTES, PAGE_BYTES, -EOVERFLOW },
		{ 0 - PAGE_BYTES, 2 * PAGE_BYTES, -EOVERFLOW },
		{ 0xffff888000000000, PAGE_BYTES, -EOVERFLOW },
		{ 0, PAGE_BYTES, -EFAULT },
		{ (uintptr_t)buf + LEN, PAGE_BYTES, -EFAULT },
		{ (uintptr_t)buf, LEN + PAGE_BYTES, -EFAULT },
	};
	static struct hmmrt_page pages[PAGES + 1];

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(bad[i].error, cmd_pages(space, (void *)bad[i].addr,
						  bad[i].len, pages))
		{
			TH_LOG("range %u", i);
		}
	}
	ASSERT_EQ(0, cmd_pages(space, buf, LEN, pages));
}

/*
 * A program with a later version of the struct gets zeroes in the new members.
 */
TEST_F(pages, larger_entries_are_filled_with_zeroes)
{
	struct later {
		struct hmmrt_page page;
		uint64_t more[2];
	} later[PAGES + 1];
	static struct hmmrt_page pages[PAGES];
	struct hmmrt_pages request = {
		.size = sizeof(request), .addr = (uintptr_t)buf, .len = LEN,
		.pages = (uintptr_t)later, .page_bytes = sizeof(struct later),
	};

	memset(later, 0xff, sizeof(later));
	ASSERT_EQ(0, cmd_raw(space, HMMRT_IOC_PAGES, &request));
	ASSERT_EQ(0, cmd_pages(space, buf, LEN, pages));
	for (unsigned int i = 0; i < PAGES; i++) {
		ASSERT_EQ(0, memcmp(&pages[i], &later[i].page,
				    sizeof(pages[i])));
		ASSERT_EQ(0, later[i].more[0] | later[i].more[1]);
	}
	EXPECT_EQ(UINT32_MAX, later[PAGES].page.location);
	request.page_bytes = sizeof(struct hmmrt_page) - 1;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_PAGES, &request));
	request.page_bytes = PAGE_BYTES + 1;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_PAGES, &request));
}

TEST_F(pages, bad_memory_for_results_is_efault)
{
	struct hmmrt_page *two = arena_anon(2 * PAGE_BYTES);
	struct hmmrt_page *end = two + PAGE_BYTES / sizeof(*two);

	ASSERT_EQ(0, mprotect(end, PAGE_BYTES, PROT_NONE));
	ASSERT_EQ(-EFAULT, cmd_pages(space, buf, PAGE_BYTES, NULL));
	ASSERT_EQ(-EFAULT, cmd_pages(space, buf, PAGE_BYTES, end));
	ASSERT_EQ(-EFAULT, cmd_pages(space, buf, 2 * PAGE_BYTES, end - 1));
	ASSERT_EQ(-EFAULT, cmd_pages(space, buf, PAGE_BYTES,
				     (void *)0xffff888000000000));
	ASSERT_EQ(0, cmd_pages(space, buf, PAGE_BYTES, end - 1));
}

TEST_F(pages, file_without_a_space_is_einval)
{
	int fresh = FD(open_manager());

	ASSERT_EQ(-EINVAL, cmd_pages(fresh, buf, PAGE_BYTES, &self->page));
	close(fresh);
	ASSERT_EQ(0, query(self, buf));
}

TEST_HARNESS_MAIN
