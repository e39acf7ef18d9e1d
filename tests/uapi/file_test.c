// SPDX-License-Identifier: MIT
/*
 * File mappings that a device uses while the file is written, written back or
 * truncated by other means.
 */
#include "lib/ext2.h"
#include "lib/fixture.h"

#define PAGES	64
#define LEN	(PAGES * PAGE_BYTES)

static int file;

FIXTURE(file) {
};

FIXTURE_VARIANT(file) {
	enum { TMPFS, MEMFD, EXT2 } kind;
};

VARIANT(file, tmpfs, .kind = TMPFS);
VARIANT(file, memfd, .kind = MEMFD);
VARIANT(file, ext2, .kind = EXT2);

static int open_file(const FIXTURE_VARIANT(file) *variant)
{
	int fd = -1;

	switch (variant->kind) {
	case TMPFS:
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		break;
	case MEMFD:
		fd = memfd_create("file_test", MFD_CLOEXEC);
		break;
	case EXT2:
		return ext2_file(LEN);
	}
	return fd >= 0 && ftruncate(fd, LEN) ? -1 : fd;
}

FIXTURE_SETUP(file)
{
	file = FD(open_file(variant));
	DEVICES_SETUP();
	buf = NOT_NULL(arena_map(LEN, RW, MAP_SHARED, file, 0));
}

FIXTURE_TEARDOWN(file)
{
	DEVICES_TEARDOWN();
	munmap(buf, LEN);
	close(file);
}

static bool write_word(uint64_t word, off_t offset)
{
	return pwrite(file, &word, sizeof(word), offset) == sizeof(word);
}

static uint64_t file_word(off_t offset)
{
	uint64_t word;

	return pread(file, &word, sizeof(word), offset) == sizeof(word) ? word :
									  ~0ULL;
}

TEST_F(file, writes_are_seen_by_the_device)
{
	for (uint64_t word = 1; word < 5; word++) {
		ASSERT_TRUE(write_word(word, 0));
		ASSERT_TRUE(write_word(word + 10, PAGE_BYTES));
		ASSERT_VALUE(word, dev_read(A, buf));
		ASSERT_VALUE(word + 10, dev_read(A, buf + PAGE_BYTES));
	}
}

/* Writeback makes the entries read-only: the next write faults again. */
TEST_F(file, device_writes_after_writeback_reach_the_file)
{
	const off_t last = LEN - PAGE_BYTES;

	for (uint64_t round = 1; round < 4; round++) {
		ASSERT_DONE(dev_fill(A, buf, LEN, 100 * round));
		ASSERT_EQ(100 * round, file_word(0));
		ASSERT_EQ(0, msync(buf, LEN, MS_SYNC));
	}
	ASSERT_DONE(dev_write(A, buf + last, 7));
	ASSERT_EQ(0, munmap(buf, LEN));
	if (variant->kind == EXT2)
		ASSERT_EQ(0, ext2_reread(file));
	ASSERT_EQ(300, file_word(0));
	ASSERT_EQ(301, file_word(PAGE_BYTES));
	ASSERT_EQ(7, file_word(last));
}

/* The device has entries for the pages that the file loses. */
TEST_F(file, access_beyond_a_truncated_end_is_refused)
{
	char *second = buf + PAGE_BYTES;
	struct outcome outcome;

	ASSERT_DONE(dev_fill(A, buf, LEN, 1));
	ASSERT_EQ(0, ftruncate(file, PAGE_BYTES));
	ASSERT_VALUE(1, dev_read(A, buf));
	outcome = dev_read(A, second);
	ASSERT_REFUSED(SIGSEGV, EFAULT, outcome);
	ASSERT_EQ((uintptr_t)second, outcome.record.out_addr);
	/* After the file grows again, the pages are zero. */
	ASSERT_EQ(0, ftruncate(file, LEN));
	ASSERT_VALUE(0, dev_read(A, second));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_DONE(dev_write(A, second, 2));
	ASSERT_EQ(2, file_word(PAGE_BYTES));
}

TEST_F(file, device_reads_zeroes_from_a_punched_hole)
{
	const off_t second = PAGE_BYTES;

	ASSERT_DONE(dev_fill(A, buf, LEN, 1));
	if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, second,
		      LEN - 2 * PAGE_BYTES))
		SKIP(return, "punching a hole: %s", strerror(errno));
	ASSERT_VALUE(1 + PAGES, dev_sum(A, buf, LEN));
	ASSERT_DONE(dev_write(A, buf + second, 5));
	ASSERT_EQ(5, file_word(second));
}

TEST_HARNESS_MAIN
