// SPDX-License-Identifier: MIT
/* The instruction addresses that events report for CPU faults. */
#include "lib/events.h"
#include "lib/fixture.h"

#define LIMIT_S 30

FIXTURE(instruction) {
	struct events events;
};

FIXTURE_SETUP(instruction)
{
	DEVICES_SETUP();
	buf = ANON(BLOCK_BYTES);
	pages_fill(buf, PAGE_BYTES, 1);
	ASSERT_EQ(0, events_open(&self->events, space, HMMRT_EVENTS_OF_SPACE,
				 1024));
}

FIXTURE_TEARDOWN(instruction)
{
	events_close(&self->events);
	DEVICES_TEARDOWN();
}

__attribute__((noinline, noclone)) static char touch(const volatile char *page)
{
	return *page;
}

/* A generous upper bound of the size of touch(). */
#define TOUCH_BYTES 64

/* Moves a page to the first device, and empties the ring. */
static int to_first_device(FIXTURE_DATA(instruction) *self, char *page)
{
	int rc = prefetch(A, page, PAGE_BYTES);

	events_read_all(&self->events);
	return rc;
}

TEST_F(instruction, is_that_of_the_process)
{
	const struct hmmrt_event *event;
	uint64_t first = (uintptr_t)touch;
	int fds[2];

	ASSERT_EQ(0, to_first_device(self, buf));
	EXPECT_EQ(1, touch(buf));
	event = events_find(&self->events, HMMRT_EVENT_CPU_FAULT, NULL);
	ASSERT_NE(NULL, event);
	EXPECT_EQ((uintptr_t)buf, event->addr);
	EXPECT_LE(first, event->ip);
	EXPECT_GT(first + TOUCH_BYTES, event->ip);
	EXPECT_EQ(getpid(), event->tid);

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, to_first_device(self, buf));
	ASSERT_EQ(1, write(fds[1], buf, 1));
	event = events_find(&self->events, HMMRT_EVENT_CPU_FAULT, NULL);
	ASSERT_NE(NULL, event);
	EXPECT_NE(0, event->ip);
	EXPECT_TRUE(event->ip < first || event->ip >= first + TOUCH_BYTES);
}

/* Waits at the gate, and reads a page of its parent. */
static bool reads_parent(struct gate *gate, pid_t parent)
{
	char got = 0;
	struct iovec remote = { .iov_base = buf, .iov_len = 1 };
	struct iovec local = { .iov_base = &got, .iov_len = 1 };

	return gate_wait(gate) &&
	       process_vm_readv(parent, &local, 1, &remote, 1, 0) == 1 &&
	       got == 1;
}

TEST_F(instruction, is_none_if_another_process_touches_the_page)
{
	struct gate gate = GATE();
	const struct hmmrt_event *event;
	pid_t parent = getpid(), pid;

	pid = FORK();
	if (!pid)
		_exit(!reads_parent(&gate, parent));
	ASSERT_DONE(dev_write(A, buf, 1));
	events_read_all(&self->events);
	ASSERT_TRUE(gate_open(&gate));
	ASSERT_EQ(0, process_wait_for(pid, LIMIT_S));
	event = events_find(&self->events, HMMRT_EVENT_CPU_FAULT, NULL);
	ASSERT_NE(NULL, event);
	EXPECT_EQ((uintptr_t)buf, event->addr);
	EXPECT_EQ(0, event->ip);
	EXPECT_EQ(pid, event->tid);
}

TEST_HARNESS_MAIN
