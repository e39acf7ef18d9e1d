// SPDX-License-Identifier: MIT
/*
 * Device memory that is nearly full and fragmented. Pages that migrate into the
 * free pieces keep their contents, and the pages next to them do not change.
 */
#include "lib/fixture.h"

FIXTURE(full) {
	size_t len;
};

/* Fills the device with one buffer of its size. */
FIXTURE_SETUP(full)
{
	struct hmmrt_device_info info;

	DEVICES_SETUP(.load = "devices=1 memory=16");
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	self->len = info.out_memory_bytes;
	buf = ANON(self->len);
	MOVE(A, buf, self->len);
}

DEVICES_FIXTURE_TEARDOWN(full)

/* Finds two blocks with chunks that follow each other in device memory. */
static bool find_neighbours(char *buf, size_t len, char **first, char **second)
{
	for (size_t i = 0; i < len; i += BLOCK_BYTES) {
		uint64_t next = device_frame(buf + i) + BLOCK_PAGES;

		for (size_t j = 0; j < len; j += BLOCK_BYTES) {
			if (device_frame(buf + j) != next)
				continue;
			*first = buf + i;
			*second = buf + j;
			return true;
		}
	}
	return false;
}

/*
 * Only the last four pages of one chunk and the first twelve of the next are
 * free. Their struct pages are adjacent, but their memory is not.
 */
TEST_F(full, window_across_two_chunks_keeps_its_contents)
{
	const size_t head = 12 * PAGE_BYTES, tail = 4 * PAGE_BYTES;
	char *first = NULL, *second = NULL, *window = ANON(head + tail);
	uint64_t frame;

	ASSERT_TRUE(find_neighbours(buf, self->len, &first, &second));
	PLACE(A, second, BLOCK_BYTES, 1000);
	ASSERT_EQ(device_frame(first) + BLOCK_PAGES, device_frame(second));
	frame = device_frame(first + BLOCK_BYTES - tail);
	/* The allocator takes the page that was freed last first. */
	ASSERT_EQ(0, madvise(second, head, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(first + BLOCK_BYTES - tail, tail, MADV_DONTNEED));

	pages_fill(window, head + tail, 1);
	ASSERT_VALUE(16 * 17 / 2, dev_sum(A, window, head + tail));
	/* The window must be in these pages, otherwise this tests nothing. */
	ASSERT_EQ(16, pages_at(space, window, head + tail, id_of(A)));
	ASSERT_EQ(frame, device_frame(window));
	ASSERT_EQ(frame + 15, device_frame(window + 15 * PAGE_BYTES));
	ASSERT_EQ(-1, pages_check(window, head + tail, 1));
	ASSERT_EQ(-1, pages_check(second + head, BLOCK_BYTES - head, 1012));
}

/* Every other page is free: each run of the window is one page long. */
TEST_F(full, block_in_single_pages_keeps_its_contents)
{
	char *window = ANON(BLOCK_BYTES);

	for (size_t at = 0; at < 2 * BLOCK_BYTES; at += 2 * PAGE_BYTES)
		ASSERT_EQ(0, madvise(buf + at, PAGE_BYTES, MADV_DONTNEED));
	pages_fill(window, BLOCK_BYTES, 1);
	ASSERT_VALUE(512 * 513 / 2, dev_sum(A, window, BLOCK_BYTES));
	ASSERT_AT(A, window, BLOCK_BYTES);
	ASSERT_FILLS(A, window, BLOCK_BYTES, 700);
	for (size_t at = 0; at < 2 * BLOCK_BYTES; at += PAGE_BYTES)
		ASSERT_EQ(0, *(uint64_t *)(buf + at));
}

TEST_HARNESS_MAIN
