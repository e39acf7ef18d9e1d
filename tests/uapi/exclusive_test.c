// SPDX-License-Identifier: MIT
/*
 * Exclusive access: the device uses the memory without faults until the CPU
 * accesses it, no increment by either is lost, and memory that cannot be
 * exclusive is refused.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "lib/harness.h"
#include "lib/ring.h"
#include "lib/session.h"

#define LEN		(BLOCK_BYTES + 8 * PAGE_BYTES)
#define PAGES		(LEN / PAGE_BYTES)
#define WORDS		4
#define ROUNDS		40
#define ADDS		2000

FIXTURE(exclusive) {
	struct session session;
	struct agent *agent;
	int fd;
	uint32_t id;
	char *buf;
};

FIXTURE_SETUP(exclusive)
{
	ASSERT_EQ(0, session_start(&self->session, 1, WORDS));
	self->agent = session_agent(&self->session);
	self->fd = self->session.space;
	self->id = self->session.devices[0].id;
	self->buf = arena_anon(LEN);
	ASSERT_NE(NULL, self->buf);
	pages_fill(self->buf, LEN, 1);
}

FIXTURE_TEARDOWN(exclusive)
{
	EXPECT_EQ(0, session_end(&self->session));
}

/* Returns false if the CPU's entry was replaced, also for device pages. */
static bool cpu_has_entry(const void *addr)
{
	return !device_frame(addr);
}

TEST_F(exclusive, device_takes_no_fault_until_a_cpu_access)
{
	uint64_t *word = (uint64_t *)self->buf, faults;
	struct hmmrt_exclusive result;

	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, LEN, self->id, NULL));
	ASSERT_EQ(0, cmd_exclusive(self->fd, self->buf, LEN, self->id, &result));
	EXPECT_EQ(PAGES, result.out_pages);
	/* The pages are in system memory, and the CPU's entries are gone. */
	EXPECT_EQ(0, pages_at(self->fd, self->buf, LEN, self->id));
	EXPECT_EQ(PAGES, pages_at(self->fd, self->buf, LEN,
				  HMMRT_LOCATION_NONE));
	EXPECT_FALSE(cpu_has_entry(word));
	faults = session_stats(&self->session, 0).out_device_faults;
	ASSERT_VALUE(1, agent_read(self->agent, word));
	ASSERT_DONE(agent_write(self->agent, word, 77));
	EXPECT_EQ(faults, session_stats(&self->session, 0).out_device_faults);
	EXPECT_FALSE(cpu_has_entry(word));
	/* The CPU's access ends the exclusive access of only this page. */
	EXPECT_EQ(77, *(volatile uint64_t *)word);
	EXPECT_TRUE(cpu_has_entry(word));
	EXPECT_FALSE(cpu_has_entry(self->buf + PAGE_BYTES));
	ASSERT_DONE(agent_write(self->agent, word, 78));
	EXPECT_LT(faults, session_stats(&self->session, 0).out_device_faults);
	EXPECT_EQ(78, *(volatile uint64_t *)word);
	*word = 1;
	EXPECT_EQ(-1, pages_check(self->buf, LEN, 1));
}

/* Each lane increments its own word, in its own page. */
static void lanes_begin(struct agent *agent, char *buf)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++) {
		uint64_t args[] = { (uintptr_t)buf + i * PAGE_BYTES, ADDS };

		agent_post(agent, i, AGENT_ADD, args, 2);
	}
}

static bool lanes_are_done(struct agent *agent)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		if (__atomic_load_n(&agent->shared->lanes[i].reply,
				    __ATOMIC_ACQUIRE) !=
		    agent->shared->lanes[i].request)
			return false;
	return true;
}

TEST_F(exclusive, no_increment_of_device_or_cpu_is_lost)
{
	uint64_t seen[WORDS] = { 0 }, added[WORDS] = { 0 };
	unsigned int round, i, got = 0;
	uint64_t value;
	int rc;

	memset(self->buf, 0, LEN);
	for (round = 0; round < ROUNDS; round++) {
		lanes_begin(self->agent, self->buf);
		do {
			rc = cmd_exclusive(self->fd, self->buf,
					   WORDS * PAGE_BYTES, self->id, NULL);
			ASSERT_TRUE(!rc || rc == -EBUSY);
			got += !rc;
			i = got % WORDS;
			/*
			 * Both the read and the increment by the CPU end a
			 * page's exclusive access.
			 */
			value = __atomic_load_n((uint64_t *)(self->buf +
							     i * PAGE_BYTES),
						__ATOMIC_RELAXED);
			ASSERT_LE(seen[i], value);
			seen[i] = value;
			__atomic_fetch_add((uint64_t *)(self->buf +
							i * PAGE_BYTES),
					   1, __ATOMIC_RELAXED);
			added[i]++;
		} while (!lanes_are_done(self->agent));
		for (i = 0; i < WORDS; i++)
			ASSERT_DONE(agent_wait(self->agent, i, 30));
	}
	for (i = 0; i < WORDS; i++)
		EXPECT_EQ(ROUNDS * ADDS + added[i],
			  *(uint64_t *)(self->buf + i * PAGE_BYTES));
	EXPECT_LT(0, got);
}

TEST_F(exclusive, bad_arguments_and_unsuitable_memory_are_refused)
{
	struct hmmrt_exclusive exclusive = {
		.size = sizeof(exclusive), .addr = (uintptr_t)self->buf,
		.len = PAGE_BYTES, .device_id = self->id,
	};
	char *shared = arena_map(PAGE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *fixed = arena_anon(PAGE_BYTES), *hole = arena_anon(PAGE_BYTES);
	unsigned int bit;

	EXPECT_EQ(-EINVAL, cmd_exclusive(self->fd, self->buf + 8, PAGE_BYTES,
					 self->id, NULL));
	EXPECT_EQ(-EINVAL, cmd_exclusive(self->fd, self->buf, 8, self->id,
					 NULL));
	EXPECT_EQ(-EINVAL, cmd_exclusive(self->fd, self->buf, 0, self->id,
					 NULL));
	EXPECT_EQ(-EOVERFLOW, cmd_exclusive(self->fd, self->buf,
					    -PAGE_BYTES, self->id, NULL));
	EXPECT_EQ(-ENODEV, cmd_exclusive(self->fd, self->buf, PAGE_BYTES,
					 self->id + 1, NULL));
	EXPECT_EQ(-ENODEV, cmd_exclusive(self->fd, self->buf, PAGE_BYTES,
					 HMMRT_LOCATION_HOST, NULL));
	for (bit = 0; bit < 32; bit++) {
		exclusive.__reserved = 1u << bit;
		EXPECT_EQ(-EOPNOTSUPP, cmd_raw(self->fd, HMMRT_IOC_EXCLUSIVE,
					       &exclusive));
	}
	ASSERT_EQ(0, mprotect(fixed, PAGE_BYTES, PROT_READ));
	EXPECT_EQ(-EACCES, cmd_exclusive(self->fd, fixed, PAGE_BYTES, self->id,
					 NULL));
	ASSERT_EQ(0, munmap(hole, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, cmd_exclusive(self->fd, hole, PAGE_BYTES, self->id,
					 NULL));
	EXPECT_EQ(-EBUSY, cmd_exclusive(self->fd, shared, PAGE_BYTES, self->id,
					NULL));
	EXPECT_EQ(0, cmd_exclusive(self->fd, self->buf, PAGE_BYTES, self->id,
				   NULL));
}

TEST_F(exclusive, child_is_refused_exclusive_access_for_its_parent)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(cmd_exclusive(self->fd, self->buf, PAGE_BYTES, self->id,
				    NULL) != -EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST_F(exclusive, interrupted_call_reports_its_progress)
{
	const struct itimerval often = {
		.it_interval.tv_usec = 3000, .it_value.tv_usec = 3000,
	};
	struct sigaction action = { .sa_handler = on_alarm };
	const size_t len = 16 * BLOCK_BYTES;
	char *buf = arena_anon(len);
	struct hmmrt_exclusive result;
	unsigned int eintr = 0;
	size_t done = 0;
	int rc;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	sigaction(SIGALRM, &action, NULL);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	do {
		rc = cmd_exclusive(self->fd, buf + done, len - done, self->id,
				   &result);
		done += result.out_pages * PAGE_BYTES;
		eintr += rc == -EINTR;
	} while (rc == -EINTR);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	EXPECT_EQ(0, rc);
	EXPECT_EQ(len, done);
	EXPECT_LT(0, eintr);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
}

/* The kernel restarts the call, which continues where it stopped. */
TEST_F(exclusive, restarted_call_goes_on_where_it_was)
{
	const struct itimerval often = {
		.it_interval.tv_usec = 3000, .it_value.tv_usec = 3000,
	};
	struct sigaction action = {
		.sa_handler = on_alarm,
		.sa_flags = SA_RESTART,
	};
	const size_t len = 16 * BLOCK_BYTES;
	char *buf = arena_anon(len);
	struct hmmrt_exclusive result;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	sigaction(SIGALRM, &action, NULL);
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &often, NULL));
	EXPECT_EQ(0, cmd_exclusive(self->fd, buf, len, self->id, &result));
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	EXPECT_EQ(len / PAGE_BYTES, result.out_pages);
	EXPECT_EQ(0, result.done);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
	result.done = len;
	EXPECT_EQ(-EINVAL, cmd_raw(self->fd, HMMRT_IOC_EXCLUSIVE, &result));
}

struct waker {
	pthread_t thread;
	int event;
	bool begun;
	bool awake;
	bool stop;
};

static void *wake_often(void *arg)
{
	struct waker *waker = arg;
	const uint64_t one = 1;

	__atomic_store_n(&waker->begun, true, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&waker->stop, __ATOMIC_RELAXED)) {
		if (__atomic_load_n(&waker->awake, __ATOMIC_RELAXED) &&
		    write(waker->event, &one, sizeof(one)) != sizeof(one))
			break;
		usleep(1000);
	}
	return NULL;
}

/*
 * Task work from a multishot poll of io_uring interrupts waits like a signal,
 * but must not end a call.
 */
TEST_F(exclusive, task_work_ends_no_call)
{
	struct waker waker = { .event = eventfd(0, EFD_CLOEXEC) };
	const struct io_uring_sqe poll = {
		.opcode = IORING_OP_POLL_ADD,
		.fd = waker.event,
		.len = IORING_POLL_ADD_MULTI,
		.poll32_events = POLLIN,
	};
	const size_t len = 2 * BLOCK_BYTES; /* signal check between blocks */
	char *buf = arena_anon(len);
	struct io_uring_cqe result;
	unsigned int round, results = 0;
	struct ring ring;
	int rc;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, len, 1);
	rc = ring_start(&ring, 1024);
	if (rc == -ENOSYS)
		SKIP(return, "no io_uring");
	ASSERT_EQ(0, rc);
	ASSERT_EQ(0, ring_submit(&ring, &poll, 0));
	ASSERT_EQ(0, pthread_create(&waker.thread, NULL, wake_often, &waker));
	while (!__atomic_load_n(&waker.begun, __ATOMIC_RELAXED))
		usleep(100);
	/* Add rounds if the waker never ran before the calls ended. */
	for (round = 0; round < 5 || (!results && round < 100); round++) {
		__atomic_store_n(&waker.awake, true, __ATOMIC_RELAXED);
		EXPECT_EQ(0, cmd_prefetch(self->fd, buf, len, self->id, NULL));
		EXPECT_EQ(0, cmd_exclusive(self->fd, buf, len, self->id, NULL));
		__atomic_store_n(&waker.awake, false, __ATOMIC_RELAXED);
		for (; ring_take(&ring, &result); results++)
			EXPECT_TRUE(result.flags & IORING_CQE_F_MORE);
		EXPECT_EQ(-1, pages_check(buf, len, 1));
	}
	__atomic_store_n(&waker.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(waker.thread, NULL));
	EXPECT_LT(0, results);
	ring_end(&ring);
	close(waker.event);
}

TEST_HARNESS_MAIN
