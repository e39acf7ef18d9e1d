// SPDX-License-Identifier: MIT
/*
 * Memory that is registered as a buffer of an io_uring while a device uses it.
 * While it is registered, it stays in system memory, and files, the device and
 * the CPU see the same contents.
 */
#include <linux/io_uring.h>

#include "lib/fixture.h"
#include "lib/ring.h"

#define PAGES	8
#define LEN	(PAGES * PAGE_BYTES)

/*
 * Transfers between the start of a file and the buffer. Returns the number of
 * bytes or a negative errno.
 */
static int ring_transfer(struct ring *ring, unsigned int op, int file,
			 void *addr, size_t len)
{
	const struct io_uring_sqe entry = {
		.opcode = (uint8_t)op, .fd = file, .addr = (uintptr_t)addr,
		.len = (uint32_t)len,
	};
	struct io_uring_cqe result;
	int rc = ring_submit(ring, &entry, 1);

	if (rc)
		return rc;
	return ring_take(ring, &result) ? result.res : -EAGAIN;
}

FIXTURE(buffer) {
	struct ring ring;
	int file;
};

/* Registers the buffer while it is on the device. */
FIXTURE_SETUP(buffer)
{
	int rc;

	DEVICES_SETUP();
	rc = ring_start(&self->ring, 1);
	if (rc == -ENOSYS)
		SKIP(_exit(SKIPPED), "no io_uring");
	ASSERT_EQ(0, rc);
	self->file = FD(memfd_create("pin_test", MFD_CLOEXEC));
	buf = ANON(LEN);
	PLACE(A, buf, LEN, 1);
	ASSERT_EQ(PAGES, pages_at(space, buf, LEN, id_of(A)));
	ASSERT_EQ(0, ring_register(&self->ring, buf, LEN));
	ASSERT_EQ(PAGES, pages_at(space, buf, LEN, HMMRT_LOCATION_HOST));
}

FIXTURE_TEARDOWN(buffer)
{
	ring_end(&self->ring);
	close(self->file);
	DEVICES_TEARDOWN();
}

static bool file_has(int file, uint64_t first)
{
	uint64_t value;

	for (size_t i = 0; i < PAGES; i++)
		if (pread(file, &value, sizeof(value), i * PAGE_BYTES) !=
			    sizeof(value) ||
		    value != first + i)
			return false;
	return true;
}

static bool file_fill(int file, uint64_t first)
{
	uint64_t value;

	for (size_t i = 0; i < PAGES; i++) {
		value = first + i;
		if (pwrite(file, &value, sizeof(value), i * PAGE_BYTES) !=
		    sizeof(value))
			return false;
	}
	return !ftruncate(file, LEN);
}

TEST_F(buffer, device_writes_are_written_to_the_file)
{
	for (unsigned int i = 0; i < 10; i++) {
		ASSERT_DONE(dev_fill(A, buf, LEN, 100 + i));
		ASSERT_EQ((int)LEN,
			  ring_transfer(&self->ring, IORING_OP_WRITE_FIXED,
					self->file, buf, LEN));
		ASSERT_TRUE(file_has(self->file, 100 + i));
	}
	ASSERT_EQ(-1, pages_check(buf, LEN, 109));
}

TEST_F(buffer, device_reads_what_was_read_from_the_file)
{
	for (unsigned int i = 0; i < 10; i++) {
		ASSERT_TRUE(file_fill(self->file, 500 + 10 * i));
		ASSERT_EQ((int)LEN,
			  ring_transfer(&self->ring, IORING_OP_READ_FIXED,
					self->file, buf, LEN));
		ASSERT_SUM(A, buf, LEN, 500 + 10 * i);
	}
	ASSERT_EQ(-1, pages_check(buf, LEN, 590));
}

TEST_F(buffer, stays_in_system_memory_until_unregistered)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, cmd_prefetch(space, buf, LEN, id_of(A), &result));
	ASSERT_EQ(PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	ASSERT_DONE(dev_fill(A, buf, LEN, 30));
	ASSERT_EQ(PAGES, pages_at(space, buf, LEN, HMMRT_LOCATION_HOST));
	ASSERT_EQ(0, ring_unregister(&self->ring));
	ASSERT_EQ(0, cmd_prefetch(space, buf, LEN, id_of(A), &result));
	ASSERT_EQ(PAGES, result.out_pages_moved);
	ASSERT_EQ(PAGES, pages_at(space, buf, LEN, id_of(A)));
	ASSERT_SUM(A, buf, LEN, 30);
	ASSERT_EQ(-1, pages_check(buf, LEN, 30));
}

TEST_HARNESS_MAIN
