// SPDX-License-Identifier: MIT
/*
 * A file whose pages the process itself provides through FUSE. While the
 * device's access waits for such a page, the thread that provides it takes CPU
 * faults on device pages of the same block. Holding the block's lock during the
 * wait would deadlock. The server answers when the test wants it to, so the
 * tests do not depend on timing.
 */
#include "lib/fuse_server.h"
#include "lib/fixture.h"

#define FILE_PAGES	(FUSE_FILE_BYTES / PAGE_BYTES)

FIXTURE(fuse) {
	struct fuse_server server;
	int fd;
	char *block;
	uint64_t *file;		/* in the middle of the block */
};

FIXTURE_SETUP(fuse)
{
	int rc;

	DEVICES_SETUP();
	rc = fuse_server_start(&self->server);
	if (rc == -ENOENT)
		SKIP(_exit(SKIPPED), "/dev/fuse: %s", strerror(-rc));
	ASSERT_EQ(0, rc);
	self->fd = FD(open(self->server.path, O_RDONLY | O_CLOEXEC));
	self->block = FILLED(BLOCK_BYTES);
	self->file = mmap(self->block + 64 * PAGE_BYTES, FUSE_FILE_BYTES, RW,
			  MAP_PRIVATE | MAP_FIXED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, self->file);
}

FIXTURE_TEARDOWN(fuse)
{
	fuse_server_go_on(&self->server);
	munmap(self->file, FUSE_FILE_BYTES);
	close(self->fd);
	EXPECT_EQ(0, fuse_server_end(&self->server));
	DEVICES_TEARDOWN();
}

TEST_F(fuse, page_is_read_by_the_device)
{
	ASSERT_VALUE(FUSE_FILE_WORD, dev_read(A, self->file));
	ASSERT_LT(0, self->server.reads);
}

/* The server's thread needs a page of this block, which is on the device. */
TEST_F(fuse, server_can_fault_in_the_block_of_a_waiting_fault)
{
	const size_t front = 32 * PAGE_BYTES;

	MOVE(A, self->block, front);
	self->server.touch = (uint64_t *)(self->block + 7 * PAGE_BYTES);
	ASSERT_VALUE(FUSE_FILE_WORD, dev_read(A, self->file));
	ASSERT_LT(0, self->server.reads);
	ASSERT_EQ(8 + self->server.reads, *self->server.touch);
}

/* A device write makes a private copy of the file's page. */
TEST_F(fuse, write_waits_for_the_page_and_copies_it)
{
	ASSERT_EQ(0, prefetch(A, self->block, 32 * PAGE_BYTES));
	self->server.touch = (uint64_t *)(self->block + 9 * PAGE_BYTES);
	ASSERT_DONE(dev_write(A, self->file, 5));
	ASSERT_EQ(5, *(volatile uint64_t *)self->file);
	ASSERT_LT(0, self->server.reads);
	ASSERT_EQ(10 + self->server.reads, *self->server.touch);
}

/* A read() with O_DIRECT into memory of the process. */
struct reading {
	char path[64];
	char *buf;
	ssize_t got;
};

static void *read_directly(void *arg)
{
	struct reading *reading = arg;
	int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_DIRECT);

	reading->got = fd < 0 ? -errno : read(fd, reading->buf, FUSE_FILE_BYTES);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* mmap() and munmap() must work while the device waits for the server. */
TEST_F(fuse, waiting_device_fault_does_not_block_mmap)
{
	struct outcome outcome;
	void *at;

	self->server.held_up = true;
	DEV_POST(A, 0, AGENT_READ, (uintptr_t)self->file);
	ASSERT_TRUE(fuse_server_wait_arrived(&self->server));
	at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	EXPECT_NE(MAP_FAILED, at);
	EXPECT_EQ(0, munmap(at, PAGE_BYTES));
	fuse_server_go_on(&self->server);
	outcome = dev_wait(A, 0, 60);
	ASSERT_VALUE(FUSE_FILE_WORD, outcome);
}

/* The call must fail without reading from the server. */
TEST_F_TIMEOUT(fuse, file_memory_is_not_made_exclusive, 30)
{
	unsigned int reads;

	self->server.held_up = true;
	ASSERT_EQ(-EBUSY, make_exclusive(A, self->file, FUSE_FILE_BYTES, NULL));
	ASSERT_EQ(0, self->server.reads);
	self->server.held_up = false;
	/* The process's private copy of a file page is refused, too. */
	*(volatile uint64_t *)self->file = 5;
	reads = self->server.reads;
	self->server.held_up = true;
	EXPECT_EQ(-EBUSY, make_exclusive(A, self->file, PAGE_BYTES, NULL));
	EXPECT_EQ(reads, self->server.reads);
	EXPECT_EQ(5, *(volatile uint64_t *)self->file);
	self->server.held_up = false;
	/* Anonymous memory next to the file can be exclusive. */
	EXPECT_EQ(0, make_exclusive(A, self->block, PAGE_BYTES, NULL));
}

/* Data of a direct read arrives in the page that the read pinned. */
TEST_F(fuse, page_stays_during_a_direct_read_into_it)
{
	struct reading reading = { .buf = ANON(FUSE_FILE_BYTES) };
	struct hmmrt_prefetch result;
	pthread_t thread;

	snprintf(reading.path, sizeof(reading.path), "%s", self->server.path);
	PLACE(A, reading.buf, FUSE_FILE_BYTES, 50);
	ASSERT_AT(A, reading.buf, FUSE_FILE_BYTES);
	self->server.held_up = true;
	thread = THREAD(read_directly, &reading);
	ASSERT_TRUE(fuse_server_wait_arrived(&self->server));
	ASSERT_EQ(0, prefetch_result(A, reading.buf, FUSE_FILE_BYTES, &result));
	EXPECT_EQ(FILE_PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	ASSERT_SUM(A, reading.buf, FUSE_FILE_BYTES, 50);
	EXPECT_AT(HOST, reading.buf, FUSE_FILE_BYTES);
	fuse_server_go_on(&self->server);
	pthread_join(thread, NULL);
	ASSERT_EQ((ssize_t)FUSE_FILE_BYTES, reading.got);
	/* The first page starts with the word; all other bytes are zero. */
	ASSERT_VALUE(FUSE_FILE_WORD, dev_sum(A, reading.buf, FUSE_FILE_BYTES));
	ASSERT_EQ(0, prefetch_result(A, reading.buf, FUSE_FILE_BYTES, &result));
	EXPECT_EQ(FILE_PAGES, result.out_pages_moved);
	ASSERT_VALUE(FUSE_FILE_WORD, dev_sum(A, reading.buf, FUSE_FILE_BYTES));
	ASSERT_EQ(FUSE_FILE_WORD, *(volatile uint64_t *)reading.buf);
}

TEST_HARNESS_MAIN
