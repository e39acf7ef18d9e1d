// SPDX-License-Identifier: MIT
/*
 * File mappings that a device uses while the file is written, written back or
 * truncated by other means.
 */
#include <fcntl.h>

#include "lib/ext2.h"
#include "lib/harness.h"
#include "lib/session.h"

#define PAGES	64
#define LEN	(PAGES * PAGE_BYTES)

FIXTURE(file) {
	struct session session;
	struct agent *agent;
	int fd;
	char *buf;
};

FIXTURE_VARIANT(file) {
	enum { TMPFS, MEMFD, EXT2 } kind;
};

FIXTURE_VARIANT_ADD(file, tmpfs) { .kind = TMPFS };
FIXTURE_VARIANT_ADD(file, memfd) { .kind = MEMFD };
FIXTURE_VARIANT_ADD(file, ext2) { .kind = EXT2 };

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
	self->fd = open_file(variant);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->buf = arena_map(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
			      0);
	ASSERT_NE(NULL, self->buf);
}

FIXTURE_TEARDOWN(file)
{
	EXPECT_EQ(0, session_end(&self->session));
	munmap(self->buf, LEN);
	close(self->fd);
}

static bool write_word(int fd, uint64_t word, off_t offset)
{
	return pwrite(fd, &word, sizeof(word), offset) == sizeof(word);
}

static uint64_t read_word(int fd, off_t offset)
{
	uint64_t word;

	return pread(fd, &word, sizeof(word), offset) == sizeof(word) ? word :
									~0ULL;
}

TEST_F(file, writes_are_seen_by_the_device)
{
	uint64_t word;

	for (word = 1; word < 5; word++) {
		ASSERT_TRUE(write_word(self->fd, word, 0));
		ASSERT_TRUE(write_word(self->fd, word + 10, PAGE_BYTES));
		ASSERT_VALUE(word, agent_read(self->agent, self->buf));
		ASSERT_VALUE(word + 10,
			     agent_read(self->agent, self->buf + PAGE_BYTES));
	}
}

/* Writeback makes the entries read-only: the next write faults again. */
TEST_F(file, device_writes_after_writeback_reach_the_file)
{
	const off_t last = LEN - PAGE_BYTES;
	uint64_t round;

	for (round = 1; round < 4; round++) {
		ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES,
				       100 * round));
		ASSERT_EQ(100 * round, read_word(self->fd, 0));
		ASSERT_EQ(0, msync(self->buf, LEN, MS_SYNC));
	}
	ASSERT_DONE(agent_write(self->agent, self->buf + last, 7));
	ASSERT_EQ(0, munmap(self->buf, LEN));
	if (variant->kind == EXT2)
		ASSERT_EQ(0, ext2_reread(self->fd));
	ASSERT_EQ(300, read_word(self->fd, 0));
	ASSERT_EQ(301, read_word(self->fd, PAGE_BYTES));
	ASSERT_EQ(7, read_word(self->fd, last));
}

/* The device has entries for the pages that the file loses. */
TEST_F(file, access_beyond_a_truncated_end_is_refused)
{
	char *second = self->buf + PAGE_BYTES;
	struct outcome outcome;

	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 1));
	ASSERT_EQ(0, ftruncate(self->fd, PAGE_BYTES));
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	outcome = agent_read(self->agent, second);
	ASSERT_REFUSED(SIGSEGV, EFAULT, outcome);
	ASSERT_EQ((uintptr_t)second, outcome.record.out_addr);
	/* After the file grows again, the pages are zero. */
	ASSERT_EQ(0, ftruncate(self->fd, LEN));
	ASSERT_VALUE(0, agent_read(self->agent, second));
	ASSERT_VALUE(1, agent_read(self->agent, self->buf));
	ASSERT_DONE(agent_write(self->agent, second, 2));
	ASSERT_EQ(2, read_word(self->fd, PAGE_BYTES));
}

TEST_F(file, device_reads_zeroes_from_a_punched_hole)
{
	const off_t second = PAGE_BYTES;

	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 1));
	if (fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      second, LEN - 2 * PAGE_BYTES))
		SKIP(return, "punching a hole: %s", strerror(errno));
	ASSERT_VALUE(1 + PAGES, agent_sum(self->agent, self->buf, LEN,
					  PAGE_BYTES));
	ASSERT_DONE(agent_write(self->agent, self->buf + second, 5));
	ASSERT_EQ(5, read_word(self->fd, second));
}

TEST_HARNESS_MAIN
