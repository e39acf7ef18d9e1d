// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ring.h"

static uint32_t *ring_word(struct ring *ring, uint32_t offset)
{
	return (uint32_t *)(ring->queues + offset);
}

int ring_start(struct ring *ring, unsigned int results)
{
	const struct io_cqring_offsets *done = &ring->params.cq_off;

	*ring = (struct ring){
		.fd = -1,
		.params = { .flags = IORING_SETUP_CQSIZE,
			    .cq_entries = results },
	};
	ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->params);
	if (ring->fd < 0)
		return -errno;
	if (!(ring->params.features & IORING_FEAT_SINGLE_MMAP))
		return -EOPNOTSUPP;
	ring->queues_len = done->cqes + ring->params.cq_entries *
						sizeof(struct io_uring_cqe);
	if (ring->queues_len < ring->params.sq_off.array + sizeof(uint32_t))
		ring->queues_len = ring->params.sq_off.array + sizeof(uint32_t);
	ring->queues = mmap(NULL, ring->queues_len, PROT_READ | PROT_WRITE,
			    MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
	ring->entry = mmap(NULL, sizeof(*ring->entry), PROT_READ | PROT_WRITE,
			   MAP_SHARED, ring->fd, IORING_OFF_SQES);
	if (ring->queues == MAP_FAILED || ring->entry == MAP_FAILED)
		return -errno;
	return 0;
}

void ring_end(struct ring *ring)
{
	if (ring->fd < 0)
		return;
	munmap(ring->queues, ring->queues_len);
	munmap(ring->entry, sizeof(*ring->entry));
	close(ring->fd);
}

int ring_register(struct ring *ring, void *addr, size_t len)
{
	struct iovec buffer = { addr, len };

	if (syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS,
		    &buffer, 1))
		return -errno;
	return 0;
}

int ring_unregister(struct ring *ring)
{
	if (syscall(SYS_io_uring_register, ring->fd, IORING_UNREGISTER_BUFFERS,
		    NULL, 0))
		return -errno;
	return 0;
}

int ring_submit(struct ring *ring, const struct io_uring_sqe *entry,
		unsigned int results)
{
	const struct io_sqring_offsets *todo = &ring->params.sq_off;
	uint32_t *tail = ring_word(ring, todo->tail);

	*ring->entry = *entry;
	ring_word(ring, todo->array)[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring->fd, 1, results,
		    results ? IORING_ENTER_GETEVENTS : 0, NULL, 0) != 1)
		return -errno;
	return 0;
}

bool ring_take(struct ring *ring, struct io_uring_cqe *result)
{
	const struct io_cqring_offsets *done = &ring->params.cq_off;
	const struct io_uring_cqe *results =
		(const struct io_uring_cqe *)(ring->queues + done->cqes);
	uint32_t *head = ring_word(ring, done->head);

	if (__atomic_load_n(ring_word(ring, done->tail), __ATOMIC_ACQUIRE) ==
	    *head)
		return false;
	*result = results[*head & *ring_word(ring, done->ring_mask)];
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return true;
}
