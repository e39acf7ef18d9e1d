// SPDX-License-Identifier: MIT
/*
 * Memory that userfaultfd watches. Its handler gets every event that a CPU
 * access would cause. A device waits for the handler as the CPU does, without
 * blocking other threads.
 */
#include <poll.h>

#include "lib/fixture.h"
#include "lib/uffd.h"

#define LEN		(16 * PAGE_BYTES)
#define LIMIT_S		30

FIXTURE(uffd) {
	int uffd;
};

FIXTURE_SETUP(uffd)
{
	DEVICES_SETUP();
	buf = ANON(LEN);
	self->uffd = uffd_open();
	if (self->uffd < 0) {
		session_end(&session);
		SKIP(_exit(SKIPPED), "userfaultfd: %s", strerror(-self->uffd));
	}
}

static void stop_watching(FIXTURE_DATA(uffd) *self)
{
	if (self->uffd >= 0)
		close(self->uffd);
	self->uffd = -1;
}

FIXTURE_TEARDOWN(uffd)
{
	stop_watching(self);
	DEVICES_TEARDOWN();
}

static void *touch(void *at)
{
	*(volatile char *)at = 1;
	return NULL;
}

static bool heard_of(int uffd)
{
	struct pollfd event = { .fd = uffd, .events = POLLIN };

	return poll(&event, 1, 0) > 0;
}

/* Maps and unmaps a page, which takes the mmap_lock for writing. */
static bool memory_can_be_mapped(void)
{
	void *at = mmap(NULL, PAGE_BYTES, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED && !munmap(at, PAGE_BYTES);
}

static void post(enum agent_op op, const char *at, uint64_t value)
{
	const uint64_t args[] = { (uintptr_t)at, value };

	agent_post(agent_of(A), 0, op, args, 2);
}

TEST_F(uffd, device_waits_for_a_missing_page)
{
	char *at = buf + 3 * PAGE_BYTES;
	struct outcome outcome;

	pages_fill(buf, PAGE_BYTES, 1);
	ASSERT_EQ(0, uffd_watch(self->uffd, buf, LEN,
				UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_FALSE(heard_of(self->uffd));
	post(AGENT_READ, at, 0);
	ASSERT_EQ((uintptr_t)at, uffd_next(self->uffd, LIMIT_S).arg.pagefault.address);
	EXPECT_TRUE(memory_can_be_mapped());
	ASSERT_EQ(0, uffd_fill(self->uffd, at, 77));
	outcome = agent_wait(agent_of(A), 0, LIMIT_S);
	ASSERT_VALUE(77, outcome);
	at += 2 * PAGE_BYTES;
	post(AGENT_WRITE, at, 5);
	ASSERT_EQ((uintptr_t)at, uffd_next(self->uffd, LIMIT_S).arg.pagefault.address);
	ASSERT_EQ(0, uffd_fill(self->uffd, at, 78));
	outcome = agent_wait(agent_of(A), 0, LIMIT_S);
	ASSERT_DONE(outcome);
	EXPECT_EQ(5, *(volatile uint64_t *)at);
	/* The handler got no event for pages that nothing touched. */
	EXPECT_FALSE(heard_of(self->uffd));
}

TEST_F(uffd, agent_that_waits_for_a_missing_page_can_be_killed)
{
	pages_fill(buf, PAGE_BYTES, 1);
	ASSERT_EQ(0, uffd_watch(self->uffd, buf, LEN,
				UFFDIO_REGISTER_MODE_MISSING));
	post(AGENT_READ, buf + PAGE_BYTES, 0);
	ASSERT_EQ((uintptr_t)buf + PAGE_BYTES,
		  uffd_next(self->uffd, LIMIT_S).arg.pagefault.address);
	agent_kill(agent_of(A));
	EXPECT_TRUE(memory_can_be_mapped());
	EXPECT_EQ(-1, pages_check(buf, PAGE_BYTES, 1));
}

TEST_F(uffd, device_write_waits_for_the_handler)
{
	struct uffd_msg message;
	struct outcome outcome;

	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, uffd_watch(self->uffd, buf, LEN, UFFDIO_REGISTER_MODE_WP));
	ASSERT_EQ(0, uffd_protect(self->uffd, buf, LEN, true));
	post(AGENT_WRITE, buf, 2);
	message = uffd_next(self->uffd, LIMIT_S);
	ASSERT_EQ((uintptr_t)buf, message.arg.pagefault.address);
	EXPECT_TRUE(message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP);
	EXPECT_TRUE(memory_can_be_mapped());
	EXPECT_EQ(1, *(volatile uint64_t *)buf);
	ASSERT_EQ(0, uffd_protect(self->uffd, buf, PAGE_BYTES, false));
	outcome = agent_wait(agent_of(A), 0, LIMIT_S);
	ASSERT_DONE(outcome);
	EXPECT_EQ(2, *(volatile uint64_t *)buf);
	EXPECT_FALSE(heard_of(self->uffd));
}

/*
 * The handler also gets the event for a page that is not populated, where a
 * device would get a new page. It gets the event of the first write, wherever
 * the page has been in between.
 */
TEST_F(uffd, handler_gets_the_first_write_to_a_protected_page)
{
	struct hmmrt_prefetch result;
	struct uffd_msg message;
	pthread_t thread;

	/*
	 * The first page is the shared zero page, the second an anonymous one.
	 */
	ASSERT_EQ(0, ((volatile char *)buf)[0]);
	buf[PAGE_BYTES] = 1;
	ASSERT_EQ(0, uffd_watch(self->uffd, buf, LEN, UFFDIO_REGISTER_MODE_WP));
	ASSERT_EQ(0, uffd_protect(self->uffd, buf, LEN, true));
	ASSERT_VALUE(0, dev_read(A, buf));
	ASSERT_EQ(0, prefetch_result(A, buf, LEN, &result));
	ASSERT_GT(LEN / PAGE_BYTES, result.out_pages_moved);

	thread = THREAD(touch, buf);
	message = uffd_next(self->uffd, LIMIT_S);
	EXPECT_EQ(UFFD_EVENT_PAGEFAULT, message.event);
	EXPECT_EQ((uintptr_t)buf, message.arg.pagefault.address);
	EXPECT_TRUE(message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP);
	ASSERT_EQ(0, uffd_protect(self->uffd, buf, LEN, false));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, buf[0]);
	EXPECT_EQ(1, buf[PAGE_BYTES]);
	stop_watching(self);
	ASSERT_DONE(dev_write(A, buf, 2));
	EXPECT_EQ(2, buf[0]);
}

/*
 * Such memory cannot be made exclusive: the handler may move it at any time,
 * and the device would not notice.
 */
TEST_F(uffd, watched_memory_is_not_made_exclusive)
{
	/* One page is missing, and the call does not wait for the handler. */
	pages_fill(buf + PAGE_BYTES, LEN - PAGE_BYTES, 1);
	ASSERT_EQ(0, uffd_watch(self->uffd, buf, LEN,
				UFFDIO_REGISTER_MODE_MISSING));
	EXPECT_EQ(-EBUSY, make_exclusive(A, buf, LEN, NULL));
	EXPECT_EQ(-1, pages_check(buf + PAGE_BYTES, LEN - PAGE_BYTES, 1));
	stop_watching(self);
	EXPECT_EQ(0, make_exclusive(A, buf, LEN, NULL));
}

TEST_HARNESS_MAIN
