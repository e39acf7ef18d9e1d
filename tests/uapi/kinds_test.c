// SPDX-License-Identifier: MIT
/*
 * Every kind of memory that a process can have: the device reads what the CPU
 * wrote and the other way round, and the page is where it has to be. Private
 * anonymous memory moves to the device, everything else is used where it is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "lib/harness.h"
#include "lib/session.h"

enum backing {
	ANON,
	FILE_ON_TMPFS,
	MEMFD,
	OWN_PROGRAM,
};

FIXTURE(memory) {
	struct session session;
	struct agent *agent;
	uint32_t id;
	int fd;
	char *buf;
	size_t len;
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

FIXTURE_VARIANT_ADD(memory, huge_pages) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS,
	.advice = MADV_HUGEPAGE, .moves = true,
};

FIXTURE_VARIANT_ADD(memory, locked) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED,
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

FIXTURE_VARIANT_ADD(memory, shared_memfd) {
	.backing = MEMFD, .flags = MAP_SHARED,
};

FIXTURE_VARIANT_ADD(memory, private_page_cache) {
	.backing = OWN_PROGRAM, .flags = MAP_PRIVATE,
};

FIXTURE_VARIANT_ADD(memory, private_hugetlb) {
	.backing = ANON, .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
};

FIXTURE_VARIANT_ADD(memory, shared_hugetlb) {
	.backing = ANON, .flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB,
};

static int open_backing(enum backing backing, size_t len)
{
	int fd = -1;

	switch (backing) {
	case ANON:
		return -1;
	case FILE_ON_TMPFS:
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		break;
	case MEMFD:
		fd = memfd_create("kinds_test", MFD_CLOEXEC);
		break;
	case OWN_PROGRAM:
		return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0 && ftruncate(fd, len))
		return -1;
	return fd;
}

static bool set_huge_pages(const char *count)
{
	FILE *file = fopen("/proc/sys/vm/nr_hugepages", "w");

	if (!file)
		return false;
	fputs(count, file);
	return !fclose(file);
}

FIXTURE_SETUP(memory)
{
	self->len = variant->backing == OWN_PROGRAM ? 4 * PAGE_BYTES :
						      BLOCK_BYTES;
	ASSERT_EQ(0, session_start(&self->session, 1, 2));
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
	if (variant->flags & MAP_HUGETLB)
		ASSERT_TRUE(set_huge_pages("4"));
	self->fd = open_backing(variant->backing, self->len);
	self->buf = arena_map(self->len, PROT_READ | PROT_WRITE,
			      variant->flags, self->fd, 0);
	ASSERT_NE(NULL, self->buf);
	if (variant->advice)
		ASSERT_EQ(0, madvise(self->buf, self->len, variant->advice));
}

FIXTURE_TEARDOWN(memory)
{
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

TEST_F(memory, device_writes_where_nobody_was_before)
{
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       7));
	ASSERT_EQ(-1, pages_check(self->buf, self->len, 7));
}

TEST_F(memory, is_where_it_has_to_be)
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

TEST_F(memory, file_sees_shared_writes_and_no_private_ones)
{
	uint64_t before = 0, after = 0;

	if (self->fd < 0)
		SKIP(return, "no file behind this kind");
	ASSERT_EQ(sizeof(before), pread(self->fd, &before, sizeof(before), 0));
	ASSERT_DONE(agent_write(self->agent, self->buf, before + 1));
	ASSERT_EQ(sizeof(after), pread(self->fd, &after, sizeof(after), 0));
	ASSERT_EQ(variant->flags & MAP_SHARED ? before + 1 : before, after);
}

TEST_HARNESS_MAIN
