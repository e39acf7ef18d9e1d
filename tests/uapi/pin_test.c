// SPDX-License-Identifier: MIT
/*
 * Memory that is a buffer of an io_uring while a device uses it: it is at home for as
 * long as it is one, and files, device and CPU see the same in it.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/session.h"

#define PAGES	8
#define LEN	(PAGES * PAGE_BYTES)

/* Room for one operation at a time; the queues are mapped as one. */
struct ring {
	int fd;
	struct io_uring_params params;
	char *queues;
	size_t queues_len;
	struct io_uring_sqe *entry;
};

static uint32_t *ring_word(struct ring *ring, uint32_t offset)
{
	return (uint32_t *)(ring->queues + offset);
}

/* 0 or a negative errno. */
static int ring_start(struct ring *ring)
{
	const struct io_cqring_offsets *done = &ring->params.cq_off;

	*ring = (struct ring){ .fd = -1 };
	ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->params);
	if (ring->fd < 0)
		return -errno;
	if (!(ring->params.features & IORING_FEAT_SINGLE_MMAP))
		return -EOPNOTSUPP;
	ring->queues_len = done->cqes + ring->params.cq_entries *
						sizeof(struct io_uring_cqe);
	if (ring->queues_len < ring->params.sq_off.array + sizeof(uint32_t))
		ring->queues_len =
			ring->params.sq_off.array + sizeof(uint32_t);
	ring->queues = mmap(NULL, ring->queues_len, PROT_READ | PROT_WRITE,
			    MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->entry = mmap(NULL, sizeof(*ring->entry), PROT_READ | PROT_WRITE,
			   MAP_SHARED, ring->fd, IORING_OFF_SQES);
	if (ring->queues == MAP_FAILED || ring->entry == MAP_FAILED)
		return -errno;
	return 0;
}

static void ring_end(struct ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->queues, ring->queues_len);
	munmap(ring->entry, sizeof(*ring->entry));
	close(ring->fd);
}

static int ring_register(struct ring *ring, void *addr, size_t len)
{
	struct iovec buffer = { addr, len };

	if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS,
		    &buffer, 1))
		return -errno;
	return 0;
}

static int ring_unregister(struct ring *ring)
{
	if (syscall(SYS_io_uring_register, ring->fd, IORING_UNREGISTER_BUFFERS,
		    NULL, 0))
		return -errno;
	return 0;
}

/* Between the start of a file and the buffer: bytes, or a negative errno. */
static int ring_transfer(struct ring *ring, unsigned int op, int file,
			 void *addr, size_t len)
{
	const struct io_sqring_offsets *todo = &ring->params.sq_off;
	const struct io_cqring_offsets *done = &ring->params.cq_off;
	uint32_t *tail = ring_word(ring, todo->tail);
	uint32_t *head = ring_word(ring, done->head);
	const struct io_uring_cqe *results =
		(const struct io_uring_cqe *)(ring->queues + done->cqes);
	int result;

	*ring->entry = (struct io_uring_sqe){
		.opcode = (uint8_t)op,
		.fd = file,
		.addr = (uintptr_t)addr,
		.len = (uint32_t)len,
	};
	ring_word(ring, todo->array)[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		return -errno;
	if (__atomic_load_n(ring_word(ring, done->tail), __ATOMIC_ACQUIRE) ==
	    *head)
		return -EAGAIN;
	result = results[*head & *ring_word(ring, done->ring_mask)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

FIXTURE(buffer) {
	struct session session;
	struct agent *agent;
	int fd;
	uint32_t id;
	struct ring ring;
	int file;
	char *buf;
};

/* Registered while it is on the device. */
FIXTURE_SETUP(buffer)
{
	int rc;

	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->fd = self->session.space;
	self->id = self->session.devices[0].id;
	rc = ring_start(&self->ring);
	if (rc == -ENOSYS)
		SKIP(_exit(255), "no io_uring");
	ASSERT_EQ(0, rc);
	self->file = memfd_create("pin_test", MFD_CLOEXEC);
	ASSERT_LE(0, self->file);
	self->buf = arena_anon(LEN);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, LEN, 1);
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, LEN, self->id, NULL));
	ASSERT_EQ(PAGES, pages_at(self->fd, self->buf, LEN, self->id));
	ASSERT_EQ(0, ring_register(&self->ring, self->buf, LEN));
	ASSERT_EQ(PAGES,
		  pages_at(self->fd, self->buf, LEN, HMMRT_LOCATION_HOST));
}

FIXTURE_TEARDOWN(buffer)
{
	ring_end(&self->ring);
	close(self->file);
	EXPECT_EQ(0, session_end(&self->session));
}

static bool file_has(int file, uint64_t first)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < PAGES; i++)
		if (pread(file, &value, sizeof(value), i * PAGE_BYTES) !=
			    sizeof(value) ||
		    value != first + i)
			return false;
	return true;
}

static bool file_fill(int file, uint64_t first)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < PAGES; i++) {
		value = first + i;
		if (pwrite(file, &value, sizeof(value), i * PAGE_BYTES) !=
		    sizeof(value))
			return false;
	}
	return !ftruncate(file, LEN);
}

TEST_F(buffer, of_what_the_device_wrote_goes_to_a_file)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES,
				       100 + i));
		ASSERT_EQ((int)LEN,
			  ring_transfer(&self->ring, IORING_OP_WRITE_FIXED,
					self->file, self->buf, LEN));
		ASSERT_TRUE(file_has(self->file, 100 + i));
	}
	ASSERT_EQ(-1, pages_check(self->buf, LEN, 109));
}

TEST_F(buffer, of_what_came_from_a_file_is_read_by_the_device)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(file_fill(self->file, 500 + 10 * i));
		ASSERT_EQ((int)LEN,
			  ring_transfer(&self->ring, IORING_OP_READ_FIXED,
					self->file, self->buf, LEN));
		ASSERT_VALUE(pages_sum(LEN, 500 + 10 * i),
			     agent_sum(self->agent, self->buf, LEN,
				       PAGE_BYTES));
	}
	ASSERT_EQ(-1, pages_check(self->buf, LEN, 590));
}

TEST_F(buffer, stays_at_home_until_it_is_none)
{
	struct hmmrt_prefetch result;

	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, LEN, self->id, &result));
	ASSERT_EQ(PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	ASSERT_DONE(agent_fill(self->agent, self->buf, LEN, PAGE_BYTES, 30));
	ASSERT_EQ(PAGES,
		  pages_at(self->fd, self->buf, LEN, HMMRT_LOCATION_HOST));
	ASSERT_EQ(0, ring_unregister(&self->ring));
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, LEN, self->id, &result));
	ASSERT_EQ(PAGES, result.out_pages_moved);
	ASSERT_EQ(PAGES, pages_at(self->fd, self->buf, LEN, self->id));
	ASSERT_VALUE(pages_sum(LEN, 30),
		     agent_sum(self->agent, self->buf, LEN, PAGE_BYTES));
	ASSERT_EQ(-1, pages_check(self->buf, LEN, 30));
}

TEST_HARNESS_MAIN
