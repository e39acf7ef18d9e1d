// SPDX-License-Identifier: MIT
/*
 * Memory that userfaultfd watches: what its handler is to hear of is not done behind
 * its back, and a device does not wait for it.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "lib/harness.h"
#include "lib/session.h"

#define LEN		(16 * PAGE_BYTES)

FIXTURE(uffd) {
	struct session session;
	struct agent *agent;
	uint32_t id;
	char *buf;
	int uffd;
};

FIXTURE_SETUP(uffd)
{
	struct uffdio_api api = { .api = UFFD_API };

	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(LEN);
	ASSERT_NE(NULL, self->buf);
	self->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (self->uffd < 0) {
		int error = errno;

		session_end(&self->session);
		SKIP(_exit(255), "userfaultfd: %s", strerror(error));
	}
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_API, &api));
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
	EXPECT_EQ(0, session_end(&self->session));
}

static int watch(int uffd, char *buf, uint64_t mode)
{
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)buf, .len = LEN },
		.mode = mode,
	};

	return ioctl(uffd, UFFDIO_REGISTER, &range);
}

static void *touch(void *at)
{
	*(volatile char *)at = 1;
	return NULL;
}

/* The fault is an error at once, and not one that waits for its handler. */
TEST_F(uffd, page_that_userfaultfd_misses_is_efault)
{
	char *buf = self->buf;

	pages_fill(buf, PAGE_BYTES, 1);
	ASSERT_EQ(0, watch(self->uffd, buf, UFFDIO_REGISTER_MODE_MISSING));
	ASSERT_VALUE(1, agent_read(self->agent, buf));
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       agent_read(self->agent, buf + 3 * PAGE_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT,
		       agent_write(self->agent, buf + 3 * PAGE_BYTES, 1));
	stop_watching(self);
	ASSERT_DONE(agent_write(self->agent, buf + 3 * PAGE_BYTES, 2));
}

/*
 * Also of a page that holds nothing yet, which a device would get a fresh page for:
 * its handler hears of the first write, wherever the page was meanwhile.
 */
TEST_F(uffd, write_that_userfaultfd_awaits_is_announced)
{
	char *buf = self->buf;
	struct uffdio_writeprotect protect = {
		.range = { .start = (uintptr_t)buf, .len = LEN },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	struct pollfd event = { .fd = self->uffd, .events = POLLIN };
	struct hmmrt_prefetch result;
	struct uffd_msg message;
	pthread_t thread;

	/* The page of zeroes that all share, and one of its own. */
	ASSERT_EQ(0, ((volatile char *)buf)[0]);
	buf[PAGE_BYTES] = 1;
	ASSERT_EQ(0, watch(self->uffd, buf, UFFDIO_REGISTER_MODE_WP));
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_WRITEPROTECT, &protect));
	ASSERT_VALUE(0, agent_read(self->agent, buf));
	ASSERT_EQ(0, cmd_prefetch(self->session.space, buf, LEN,
				  self->id, &result));
	ASSERT_GT(LEN / PAGE_BYTES, result.out_pages_moved);

	ASSERT_EQ(0, pthread_create(&thread, NULL, touch, buf));
	ASSERT_EQ(1, poll(&event, 1, 30000));
	ASSERT_EQ((ssize_t)sizeof(message),
		  read(self->uffd, &message, sizeof(message)));
	EXPECT_EQ(UFFD_EVENT_PAGEFAULT, message.event);
	EXPECT_EQ((uintptr_t)buf, message.arg.pagefault.address);
	EXPECT_TRUE(message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP);
	protect.mode = 0;
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_WRITEPROTECT, &protect));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, buf[0]);
	EXPECT_EQ(1, buf[PAGE_BYTES]);
	stop_watching(self);
	ASSERT_DONE(agent_write(self->agent, buf, 2));
	EXPECT_EQ(2, buf[0]);
}

/* It may be moved at any time, without a word to the device. */
TEST_F(uffd, watched_memory_is_not_made_exclusive)
{
	int fd = self->session.space;

	/* One page is missing: nobody waits for the handler. */
	pages_fill(self->buf + PAGE_BYTES, LEN - PAGE_BYTES, 1);
	ASSERT_EQ(0, watch(self->uffd, self->buf, UFFDIO_REGISTER_MODE_MISSING));
	EXPECT_EQ(-EBUSY, cmd_exclusive(fd, self->buf, LEN, self->id, NULL));
	EXPECT_EQ(-1, pages_check(self->buf + PAGE_BYTES, LEN - PAGE_BYTES, 1));
	stop_watching(self);
	EXPECT_EQ(0, cmd_exclusive(fd, self->buf, LEN, self->id, NULL));
}

TEST_HARNESS_MAIN
