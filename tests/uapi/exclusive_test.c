// SPDX-License-Identifier: MIT
/*
 * Exclusive access: the device uses the memory without faults until the CPU
 * accesses it, no increment by either is lost, and memory that cannot be
 * exclusive is refused.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/time.h>

#include "lib/fixture.h"
#include "lib/loop.h"
#include "lib/ring.h"

#define LEN		(BLOCK_BYTES + 8 * PAGE_BYTES)
#define PAGES		(LEN / PAGE_BYTES)
#define WORDS		4
#define ROUNDS		40
#define ADDS		2000

DEVICES_FIXTURE(exclusive, .lanes = WORDS, .bytes = LEN)

/* Returns false if the CPU's entry was replaced, also for device pages. */
static bool cpu_has_entry(const void *addr)
{
	return !device_frame(addr);
}

TEST_F(exclusive, device_takes_no_fault_until_a_cpu_access)
{
	uint64_t *word = (uint64_t *)buf, faults;
	struct hmmrt_exclusive result;

	ASSERT_EQ(0, prefetch(A, buf, LEN));
	ASSERT_EQ(0, make_exclusive(A, buf, LEN, &result));
	EXPECT_EQ(PAGES, result.out_pages);
	/* The pages are in system memory, and the CPU's entries are gone. */
	EXPECT_EQ(0, count_at(A, buf, LEN));
	EXPECT_EQ(PAGES, count_at(NONE, buf, LEN));
	EXPECT_FALSE(cpu_has_entry(word));
	faults = stats_of(A).out_device_faults;
	ASSERT_VALUE(1, dev_read(A, word));
	ASSERT_DONE(dev_write(A, word, 77));
	EXPECT_EQ(faults, stats_of(A).out_device_faults);
	EXPECT_FALSE(cpu_has_entry(word));
	/* The CPU's access ends the exclusive access of only this page. */
	EXPECT_EQ(77, *(volatile uint64_t *)word);
	EXPECT_TRUE(cpu_has_entry(word));
	EXPECT_FALSE(cpu_has_entry(buf + PAGE_BYTES));
	ASSERT_DONE(dev_write(A, word, 78));
	EXPECT_LT(faults, stats_of(A).out_device_faults);
	EXPECT_EQ(78, *(volatile uint64_t *)word);
	*word = 1;
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
}

/* Each lane increments its own word, in its own page. */
static uint64_t *lane_word(unsigned int lane)
{
	return (uint64_t *)(buf + lane * PAGE_BYTES);
}

static void lanes_begin(void)
{
	for (unsigned int i = 0; i < WORDS; i++) {
		DEV_POST(A, i, AGENT_ADD, (uintptr_t)buf + i * PAGE_BYTES,
			 ADDS);
	}
}

static bool lanes_are_done(void)
{
	for (unsigned int i = 0; i < WORDS; i++)
		if (__atomic_load_n(&agent_of(A)->shared->lanes[i].reply,
				    __ATOMIC_ACQUIRE) !=
		    agent_of(A)->shared->lanes[i].request)
			return false;
	return true;
}

TEST_F(exclusive, no_increment_of_device_or_cpu_is_lost)
{
	uint64_t seen[WORDS] = { 0 }, added[WORDS] = { 0 };
	unsigned int i, got = 0;
	uint64_t value;
	int rc;

	memset(buf, 0, LEN);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		lanes_begin();
		do {
			rc = make_exclusive(A, buf, WORDS * PAGE_BYTES, NULL);
			ASSERT_TRUE(!rc || rc == -EBUSY);
			got += !rc;
			i = got % WORDS;
			/*
			 * Both the read and the increment by the CPU end a
			 * page's exclusive access.
			 */
			value = __atomic_load_n(lane_word(i), __ATOMIC_RELAXED);
			ASSERT_LE(seen[i], value);
			seen[i] = value;
			__atomic_fetch_add(lane_word(i), 1, __ATOMIC_RELAXED);
			added[i]++;
		} while (!lanes_are_done());
		for (i = 0; i < WORDS; i++)
			ASSERT_DONE(dev_wait(A, i, 30));
	}
	for (i = 0; i < WORDS; i++)
		EXPECT_EQ(ROUNDS * ADDS + added[i], *lane_word(i));
	EXPECT_LT(0, got);
}

TEST_F(exclusive, bad_arguments_and_unsuitable_memory_are_refused)
{
	struct hmmrt_exclusive exclusive = {
		.size = sizeof(exclusive), .addr = (uintptr_t)buf,
		.len = PAGE_BYTES, .device_id = id_of(A),
	};
	char *shared =
		arena_map(PAGE_BYTES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *fixed = arena_anon(PAGE_BYTES), *hole = arena_anon(PAGE_BYTES);

	EXPECT_EQ(-EINVAL, make_exclusive(A, buf + 8, PAGE_BYTES, NULL));
	EXPECT_EQ(-EINVAL, make_exclusive(A, buf, 8, NULL));
	EXPECT_EQ(-EINVAL, make_exclusive(A, buf, 0, NULL));
	EXPECT_EQ(-EOVERFLOW, make_exclusive(A, buf, -PAGE_BYTES, NULL));
	EXPECT_EQ(-ENODEV,
		  cmd_exclusive(space, buf, PAGE_BYTES, id_of(A) + 1, NULL));
	EXPECT_EQ(-ENODEV, cmd_exclusive(space, buf, PAGE_BYTES,
					 HMMRT_LOCATION_HOST, NULL));
	for (unsigned int bit = 0; bit < 32; bit++) {
		exclusive.__reserved = 1u << bit;
		EXPECT_EQ(-EOPNOTSUPP,
			  cmd_raw(space, HMMRT_IOC_EXCLUSIVE, &exclusive));
	}
	ASSERT_EQ(0, mprotect(fixed, PAGE_BYTES, PROT_READ));
	EXPECT_EQ(-EACCES, make_exclusive(A, fixed, PAGE_BYTES, NULL));
	ASSERT_EQ(0, munmap(hole, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, make_exclusive(A, hole, PAGE_BYTES, NULL));
	EXPECT_EQ(-EBUSY, make_exclusive(A, shared, PAGE_BYTES, NULL));
	EXPECT_EQ(0, make_exclusive(A, buf, PAGE_BYTES, NULL));
}

TEST_F(exclusive, child_is_refused_exclusive_access_for_its_parent)
{
	EXPECT_EQ(0,
		  IN_CHILD(make_exclusive(A, buf, PAGE_BYTES, NULL) != -EPERM));
}

static void on_alarm(int sig)
{
	(void)sig;
}

static bool alarm_often(int flags)
{
	const struct itimerval often = {
		.it_interval.tv_usec = 3000, .it_value.tv_usec = 3000,
	};
	const struct sigaction action = {
		.sa_handler = on_alarm, .sa_flags = flags,
	};

	return !sigaction(SIGALRM, &action, NULL) &&
	       !setitimer(ITIMER_REAL, &often, NULL);
}

static void alarm_stop(void)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
}

TEST_F(exclusive, interrupted_call_reports_its_progress)
{
	const size_t len = 16 * BLOCK_BYTES;
	char *buf = FILLED(len);
	struct hmmrt_exclusive result;
	unsigned int eintr = 0;
	size_t done = 0;
	int rc;

	ASSERT_TRUE(alarm_often(0));
	do {
		rc = make_exclusive(A, buf + done, len - done, &result);
		done += result.out_pages * PAGE_BYTES;
		eintr += rc == -EINTR;
	} while (rc == -EINTR);
	alarm_stop();
	EXPECT_EQ(0, rc);
	EXPECT_EQ(len, done);
	EXPECT_LT(0, eintr);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
}

/* The kernel restarts the call, which continues where it stopped. */
TEST_F(exclusive, restarted_call_goes_on_where_it_was)
{
	const size_t len = 16 * BLOCK_BYTES;
	char *buf = FILLED(len);
	struct hmmrt_exclusive result;

	ASSERT_TRUE(alarm_often(SA_RESTART));
	EXPECT_EQ(0, make_exclusive(A, buf, len, &result));
	alarm_stop();
	EXPECT_EQ(len / PAGE_BYTES, result.out_pages);
	EXPECT_EQ(0, result.done);
	EXPECT_EQ(-1, pages_check(buf, len, 1));
	result.done = len;
	EXPECT_EQ(-EINVAL, cmd_raw(space, HMMRT_IOC_EXCLUSIVE, &result));
}

struct waker {
	int event;
	bool begun;
	bool awake;
};

static void wake(void *arg)
{
	struct waker *waker = arg;
	const uint64_t one = 1;

	__atomic_store_n(&waker->begun, true, __ATOMIC_RELAXED);
	if (__atomic_load_n(&waker->awake, __ATOMIC_RELAXED) &&
	    write(waker->event, &one, sizeof(one)) != sizeof(one))
		perror("# eventfd");
	usleep(1000);
}

/*
 * Task work from a multishot poll of io_uring interrupts waits like a signal,
 * but must not end a call.
 */
TEST_F(exclusive, task_work_ends_no_call)
{
	struct waker waker = { .event = eventfd(0, EFD_CLOEXEC) };
	const struct io_uring_sqe poll = {
		.opcode = IORING_OP_POLL_ADD, .fd = waker.event,
		.len = IORING_POLL_ADD_MULTI, .poll32_events = POLLIN,
	};
	const size_t len = 2 * BLOCK_BYTES; /* signal check between blocks */
	char *buf = FILLED(len);
	struct io_uring_cqe result;
	unsigned int round, results = 0;
	struct loop loop;
	struct ring ring;
	int rc = ring_start(&ring, 1024);

	if (rc == -ENOSYS)
		SKIP(return, "no io_uring");
	ASSERT_EQ(0, rc);
	ASSERT_EQ(0, ring_submit(&ring, &poll, 0));
	ASSERT_EQ(0, loop_start(&loop, wake, &waker));
	while (!__atomic_load_n(&waker.begun, __ATOMIC_RELAXED))
		usleep(100);
	/* Add rounds if the waker never ran before the calls ended. */
	for (round = 0; round < 5 || (!results && round < 100); round++) {
		__atomic_store_n(&waker.awake, true, __ATOMIC_RELAXED);
		EXPECT_EQ(0, prefetch(A, buf, len));
		EXPECT_EQ(0, make_exclusive(A, buf, len, NULL));
		__atomic_store_n(&waker.awake, false, __ATOMIC_RELAXED);
		for (; ring_take(&ring, &result); results++)
			EXPECT_TRUE(result.flags & IORING_CQE_F_MORE);
		EXPECT_EQ(-1, pages_check(buf, len, 1));
	}
	ASSERT_EQ(0, loop_stop(&loop));
	EXPECT_LT(0, results);
	ring_end(&ring);
	close(waker.event);
}

TEST_HARNESS_MAIN
