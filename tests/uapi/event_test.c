// SPDX-License-Identifier: MIT
/*
 * Events: the same numbers as HMMRT_IOC_STATS, phases that add up, parents, full
 * rings, hostile readers, and the permission to read.
 */
#include <poll.h>

#include "lib/amount.h"
#include "lib/events.h"
#include "lib/fdinfo.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define LIMIT_S 30
#define OTHER_UID 65534
#define RING (1u << 15)
#define DEVICE_BYTES (4UL << 20)
#define BUF_BYTES (amount(3, 2) * DEVICE_BYTES)
#define LANES 4

FIXTURE(events) {
	struct events events;
};

FIXTURE_SETUP(events)
{
	DEVICES_SETUP(.devices = 2, .lanes = LANES, .bytes = BUF_BYTES,
		      .load = "devices=2 memory=4");
	ASSERT_EQ(0, events_open(&self->events, space, HMMRT_EVENTS_OF_SPACE,
				 RING));
}

FIXTURE_TEARDOWN(events)
{
	events_close(&self->events);
	DEVICES_TEARDOWN();
}

/* --- the same numbers as the counters ------------------------------------- */

static uint32_t wanted; /* device, for the next functions */

/* Define which events to look at. */
#define MATCHES(name, condition)					\
	static bool name(const struct hmmrt_event *event)		\
	{								\
		return condition;					\
	}

MATCHES(on_device, event->device == wanted)
MATCHES(failed_on_device, on_device(event) && event->error &&
	event->error != -EAGAIN && event->error != -EINTR)
MATCHES(to_device, event->to == wanted)
MATCHES(evicted, event->from == wanted && event->cause == HMMRT_CAUSE_EVICTION)
MATCHES(to_host, event->to == HMMRT_LOCATION_HOST &&
	event->cause != HMMRT_CAUSE_EVICTION)
MATCHES(for_cpu, event->cause == HMMRT_CAUSE_CPU_FAULT)

/* Does something of every kind that events report. */
static int known_program(void)
{
	int rc = 0;

	/* Larger than the device, with several lanes. */
	for (unsigned int lane = 0; lane < LANES; lane++)
		DEV_POST(A, lane, AGENT_SUM,
			 (uintptr_t)buf + lane * BUF_BYTES / LANES,
			 BUF_BYTES / LANES, PAGE_BYTES);
	for (unsigned int lane = 0; lane < LANES; lane++)
		if (dev_wait(A, lane, LIMIT_S).error)
			return -EIO;
	/* From one device to another, and an access that is refused. */
	if (dev_write(B, buf + BUF_BYTES - PAGE_BYTES, 7).error)
		return -EIO;
	if (dev_read(A, buf + BUF_BYTES).signal != SIGSEGV)
		return -EPROTO;
	/* A fault may leave memory where it is, when the device is full. */
	rc = prefetch(A, buf, BLOCK_BYTES);
	if (!rc && pages_check(buf, BLOCK_BYTES, 1) != -1)
		return -EIO;
	return rc ?:
	       prefetch(B, buf, BLOCK_BYTES) ?:
	       prefetch(HOST, buf, PAGE_BYTES) ?:
	       advise(buf + BLOCK_BYTES, BLOCK_BYTES, SET_READ_MOSTLY) ?:
	       prefetch(HOST, buf + BLOCK_BYTES, BLOCK_BYTES) ?:
	       prefetch(B, buf + BLOCK_BYTES, BLOCK_BYTES);
}

static void check_device(struct __test_metadata *_metadata,
			 const FIXTURE_DATA(events) *self,
			 unsigned int device)
{
	struct hmmrt_stats stats = stats_of(device);

	wanted = id_of(device);
#define COUNT(_type, _which) \
	events_count(&self->events, HMMRT_EVENT_##_type, _which)
#define PAGES(_type, _which) \
	events_pages(&self->events, HMMRT_EVENT_##_type, _which)
	EXPECT_EQ(stats.out_device_faults, COUNT(DEVICE_FAULT, on_device));
	EXPECT_EQ(stats.out_failed_faults,
		  COUNT(DEVICE_FAULT, failed_on_device));
	EXPECT_EQ(stats.out_fault_batches, COUNT(FAULT_BATCH, on_device));
	EXPECT_EQ(stats.out_replays, COUNT(REPLAY, on_device));
	EXPECT_EQ(stats.out_evictions, COUNT(EVICTION, on_device));
	EXPECT_EQ(stats.out_throttled_faults, COUNT(THROTTLE, on_device));
	EXPECT_EQ(stats.out_quota_refusals + stats.out_memory_refusals,
		  COUNT(REFUSAL, on_device));
	EXPECT_EQ(stats.out_migrated_to_device, PAGES(MIGRATION, to_device));
	EXPECT_EQ(stats.out_evicted_pages, PAGES(MIGRATION, evicted));
	EXPECT_EQ(stats.out_mapped_pages, PAGES(MAP, on_device));
	EXPECT_EQ(stats.out_remote_pages, PAGES(MAP_REMOTE, on_device));
	EXPECT_EQ(stats.out_copied_pages, PAGES(DUPLICATE, on_device));
	EXPECT_EQ(stats.out_migrated_to_host, PAGES(MIGRATION, to_host));
	EXPECT_EQ(stats.out_cpu_faults, COUNT(CPU_FAULT, NULL));
	EXPECT_EQ(stats.out_invalidations, COUNT(INVALIDATE, NULL));
}

TEST_F(events, numbers_are_those_of_stats)
{
	struct hmmrt_stats stats;

	ASSERT_EQ(0, known_program());
	ASSERT_EQ(0, events_dropped(&self->events));
	/* NUMA balancing may invalidate memory at any time; not here. */
	check_device(_metadata, self, 0);
	check_device(_metadata, self, 1);
	stats = stats_of(A);
	EXPECT_LT(0, stats.out_evictions);
	EXPECT_LT(0, stats.out_evicted_pages);
	EXPECT_EQ(1, stats.out_failed_faults);
	EXPECT_LT(0, stats.out_cpu_faults);
	EXPECT_LT(0, stats.out_migrated_to_host);
	EXPECT_EQ(PAGES(MIGRATION, for_cpu), PAGES(CPU_FAULT, NULL));
	EXPECT_LE(stats.out_cpu_faults, PAGES(CPU_FAULT, NULL));
	stats = stats_of(B);
	EXPECT_LT(0, stats.out_copied_pages);
	EXPECT_EQ(5, COUNT(PREFETCH, NULL));
	EXPECT_EQ(1, COUNT(ADVISE, NULL));
}

MATCHES(between_devices, event->from < HMMRT_MAX_DEVICES &&
	event->to < HMMRT_MAX_DEVICES)

TEST_F(events, locations_are_those_of_the_pages)
{
	const struct hmmrt_event *event;

	ASSERT_EQ(0, prefetch(A, buf, 5 * PAGE_BYTES));
	ASSERT_EQ(0, prefetch(B, buf, 8 * PAGE_BYTES));
	event = NOT_NULL(events_find(&self->events, HMMRT_EVENT_MIGRATION,
				     between_devices));
	EXPECT_EQ(id_of(A), event->from);
	EXPECT_EQ(id_of(B), event->to);
	EXPECT_EQ(5, event->pages);
	EXPECT_EQ((uintptr_t)buf, event->addr);
	EXPECT_EQ(HMMRT_CAUSE_PREFETCH, event->cause);
	wanted = id_of(B);
	EXPECT_EQ(8, PAGES(MIGRATION, to_device));
	wanted = id_of(A);
	EXPECT_EQ(5, PAGES(MIGRATION, to_device));
	event = events_find(&self->events, HMMRT_EVENT_PREFETCH, NULL);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(5, event->pages);
	EXPECT_EQ(id_of(A), event->to);
	EXPECT_EQ(HMMRT_LOCATION_NONE, event->device);
}

/* --- time and parents ----------------------------------------------------- */

TEST_F(events, phases_add_up_to_the_duration)
{
	uint64_t with = 0;
	unsigned int phase;

	ASSERT_EQ(0, known_program());
	for (uint64_t i = 0; i < events_unread(&self->events); i++) {
		const struct hmmrt_event *event = events_at(&self->events, i);
		uint64_t sum = 0;

		for (phase = 0; phase < HMMRT_EVENT_PHASES; phase++)
			sum += event->phase[phase];
		ASSERT_EQ(event->duration, sum)
		{
			TH_LOG("event of type %u", event->type);
		}
		ASSERT_LE(event->duration, event->time);
		with += event->duration > 0;
	}
	EXPECT_LT(0, with);
}

MATCHES(by_device_fault, event->cause == HMMRT_CAUSE_DEVICE_FAULT)

TEST_F(events, migration_is_part_of_the_batch_of_its_fault)
{
	const struct hmmrt_event *move, *batch, *fault;

	ASSERT_DONE(dev_read(A, buf));
	move = NOT_NULL(events_find(&self->events, HMMRT_EVENT_MIGRATION,
				    by_device_fault));
	batch = NOT_NULL(events_serial(&self->events, move->parent));
	ASSERT_EQ(HMMRT_EVENT_FAULT_BATCH, batch->type);
	EXPECT_EQ(1, batch->count);
	EXPECT_EQ(1, batch->pages);
	fault = NOT_NULL(events_serial(&self->events, batch->parent));
	ASSERT_EQ(HMMRT_EVENT_DEVICE_FAULT, fault->type);
	EXPECT_EQ((uintptr_t)buf, fault->addr);
	EXPECT_EQ(HMMRT_ACCESS_READ, fault->access);
	EXPECT_EQ(HMMRT_EVENT_RULE_DEFAULT, fault->reason);
	EXPECT_NE(0, fault->ip);
	EXPECT_EQ(getpid(), fault->pid);
	EXPECT_LT(0, fault->tid);
	EXPECT_NE(getpid(), fault->tid);
	EXPECT_LE(move->duration, batch->duration);
	EXPECT_LE(batch->duration, fault->duration);
	EXPECT_LT(0, move->phase[HMMRT_PHASE_COPY]);
	EXPECT_LE(move->phase[HMMRT_PHASE_COPY],
		  fault->phase[HMMRT_PHASE_COPY]);
}

TEST_F(events, eviction_is_part_of_the_fault_that_needs_memory)
{
	const struct hmmrt_event *event;

	ASSERT_EQ(0, prefetch(A, buf, DEVICE_BYTES));
	events_read_all(&self->events);
	ASSERT_DONE(dev_read(A, buf + DEVICE_BYTES));
	event = events_find(&self->events, HMMRT_EVENT_EVICTION, NULL);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(BLOCK_PAGES, event->pages);
	EXPECT_LT(0, event->duration);
	wanted = id_of(A);
	EXPECT_EQ(BLOCK_PAGES, PAGES(MIGRATION, evicted));
	event = NOT_NULL(events_serial(&self->events, event->parent));
	ASSERT_EQ(HMMRT_EVENT_FAULT_BATCH, event->type);
	EXPECT_LT(0, event->phase[HMMRT_PHASE_ALLOCATE]);
}

static uint32_t change;

MATCHES(is_changing, event->reason == change)

static uint64_t invalidations(FIXTURE_DATA(events) *self, uint32_t reason)
{
	change = reason;
	return events_count(&self->events, HMMRT_EVENT_INVALIDATE, is_changing);
}

/* Gives the device an entry, and consumes all events. */
static bool begin_change(FIXTURE_DATA(events) *self)
{
	struct outcome outcome = dev_read(A, buf);

	events_read_all(&self->events);
	return !outcome.error && !outcome.signal;
}

TEST_F(events, invalidation_has_the_change_as_its_reason)
{
	ASSERT_TRUE(begin_change(self));
	ASSERT_EQ(0, mprotect(buf, PAGE_BYTES, PROT_READ));
	EXPECT_LT(0, invalidations(self, HMMRT_EVENT_CHANGE_PROTECTION_VMA));
	EXPECT_EQ(0, invalidations(self, HMMRT_EVENT_CHANGE_UNMAP));

	ASSERT_TRUE(begin_change(self));
	ASSERT_EQ(0, IN_CHILD(0));
	EXPECT_LT(0, invalidations(self, HMMRT_EVENT_CHANGE_PROTECTION_PAGE));

	ASSERT_TRUE(begin_change(self));
	ASSERT_EQ(0, madvise(buf, PAGE_BYTES, MADV_DONTNEED));
	EXPECT_LT(0, invalidations(self, HMMRT_EVENT_CHANGE_CLEAR));
	EXPECT_EQ(0, invalidations(self, HMMRT_EVENT_CHANGE_UNMAP));

	ASSERT_TRUE(begin_change(self));
	ASSERT_EQ(0, munmap(buf, PAGE_BYTES));
	EXPECT_LT(0, invalidations(self, HMMRT_EVENT_CHANGE_UNMAP));
}

TEST_F(events, space_is_that_of_fdinfo)
{
	static char text[FDINFO_BYTES];

	ASSERT_DONE(dev_read(A, buf));
	ASSERT_EQ(0, fdinfo_read("/proc", getpid(), space, text));
	ASSERT_LT(0, events_unread(&self->events));
	for (uint64_t i = 0; i < events_unread(&self->events); i++)
		ASSERT_EQ(fdinfo_value(text, "hmmrt-space"),
			  events_at(&self->events, i)->space);
}

/* --- full rings, and readers ---------------------------------------------- */

TEST_F(events, events_that_find_a_full_ring_are_counted)
{
	struct events small;

	ASSERT_EQ(0, events_open(&small, space, HMMRT_EVENTS_OF_SPACE,
				 HMMRT_EVENTS_MIN));
	ASSERT_EQ(0, known_program());
	ASSERT_EQ(0, events_dropped(&self->events));
	ASSERT_EQ(HMMRT_EVENTS_MIN, events_unread(&small));
	EXPECT_EQ(events_unread(&self->events),
		  HMMRT_EVENTS_MIN + events_dropped(&small));
	events_read_all(&small);
	ASSERT_EQ(0, events_unread(&small));
	ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_READ_MOSTLY));
	ASSERT_LT(0, events_unread(&small));
	EXPECT_NE(NULL, events_find(&small, HMMRT_EVENT_ADVISE, NULL));
	events_close(&small);
}

TEST_F(events, reader_that_writes_nonsense_harms_only_itself)
{
	static const uint64_t tails[] = { 1, UINT64_MAX, 1ull << 63, RING * 2 };
	struct events other;

	ASSERT_EQ(0, events_open(&other, space, HMMRT_EVENTS_OF_SPACE, RING));
	for (unsigned int i = 0; i < ARRAY_SIZE(tails); i++) {
		other.ring->head = tails[i] / 3;
		other.ring->tail = tails[i];
		other.ring->events = (uint32_t)tails[i];
		other.ring->event_bytes = 0;
		other.ring->data_bytes = UINT32_MAX;
		ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_READ_MOSTLY));
	}
	memset(other.ring, 0xff, other.bytes);
	ASSERT_EQ(0, known_program());
	ASSERT_EQ(0, events_dropped(&self->events));
	check_device(_metadata, self, 0);
	events_close(&other);
}

TEST_F(events, ring_has_only_the_types_asked_for)
{
	struct events faults;

	ASSERT_EQ(0, events_open_type(&faults, space, HMMRT_EVENT_DEVICE_FAULT,
				      RING));
	ASSERT_EQ(0, known_program());
	EXPECT_EQ(COUNT(DEVICE_FAULT, NULL), events_unread(&faults));
	EXPECT_EQ(0, events_dropped(&faults));
	for (uint64_t i = 0; i < events_unread(&faults); i++)
		ASSERT_EQ(HMMRT_EVENT_DEVICE_FAULT,
			  events_at(&faults, i)->type);
	events_close(&faults);
}

MATCHES(in_buffer, event->device == wanted &&
	event->addr - (uintptr_t)buf < BUF_BYTES)

MATCHES(written, in_buffer(event) && event->access & HMMRT_ACCESS_WRITE)

/* Ascending pages, each once. */
static void check_pass(struct __test_metadata *_metadata,
		       const struct events *accesses, size_t pages)
{
	uintptr_t next = (uintptr_t)buf;

	for (uint64_t i = 0; i < events_unread(accesses); i++) {
		const struct hmmrt_event *event = events_at(accesses, i);

		if (!in_buffer(event))
			continue;
		ASSERT_EQ(next, event->addr);
		EXPECT_EQ(1, event->pages);
		EXPECT_EQ(HMMRT_ACCESS_READ, event->access);
		EXPECT_NE(0, event->ip);
		next += PAGE_BYTES;
	}
	EXPECT_EQ((uintptr_t)buf + pages * PAGE_BYTES, next);
}

TEST_F(events, each_use_of_another_page_is_an_access)
{
	/* More than the TLB keeps. */
	size_t pages = 16 * sysconf(_SC_NPROCESSORS_ONLN) + 8;
	struct events accesses;

	wanted = id_of(A);
	ASSERT_EQ(0, prefetch(A, buf, BLOCK_BYTES));
	ASSERT_EQ(0, events_open_type(&accesses, space, HMMRT_EVENT_ACCESS,
				      RING));
	for (unsigned int pass = 0; pass < 2; pass++) {
		events_read_all(&accesses);
		ASSERT_SUM(A, buf, pages * PAGE_BYTES, 1);
		check_pass(_metadata, &accesses, pages);
	}
	ASSERT_EQ(0, dev_write(A, buf, 1).error);
	EXPECT_EQ(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE,
		  NOT_NULL(events_find(&accesses, HMMRT_EVENT_ACCESS,
				       written))->access);
	/* The TLB has this page now. */
	events_read_all(&accesses);
	ASSERT_VALUE(1, dev_read(A, buf));
	EXPECT_EQ(0, events_count(&accesses, HMMRT_EVENT_ACCESS, in_buffer));
	EXPECT_EQ(0, events_dropped(&accesses));
	EXPECT_EQ(0, COUNT(ACCESS, NULL));
	events_close(&accesses);
}

/*
 * The worker that counts takes TLB entries away, at most every 10 ms. Nothing
 * else is an access while the device uses the same three pages.
 */
TEST_F(events, page_in_the_tlb_is_no_access)
{
	struct events accesses;
	double began, took = 0;
	uint64_t n;

	wanted = id_of(A);
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_MIGRATION_POLICY,
			      HMMRT_MIGRATE_ON_COUNT));
	ASSERT_EQ(0, set_knob(A, HMMRT_KNOB_ACCESS_COUNTER_THRESHOLD, 65535));
	ASSERT_EQ(0, events_open_type(&accesses, space, HMMRT_EVENT_ACCESS,
				      RING));
	for (began = now_s(); took < 2; took = now_s() - began)
		ASSERT_DONE(dev_sum(A, buf, 3 * PAGE_BYTES));
	n = events_count(&accesses, HMMRT_EVENT_ACCESS, in_buffer);
	EXPECT_LE(3, n);
	EXPECT_GE(3 * (uint64_t)(1 + took * 100), n);
	EXPECT_EQ(0, events_dropped(&accesses));
	events_close(&accesses);
}

static short polled(int fd, int msec)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, msec) < 0 ? -1 : entry.revents;
}

TEST_F(events, poll_waits_for_as_many_events_as_told)
{
	struct hmmrt_events_open arg =
		events_request(HMMRT_EVENTS_OF_SPACE, RING);
	int fd;

	arg.types = HMMRT_EVENT_BIT(HMMRT_EVENT_ADVISE);
	arg.wake_events = 3;
	fd = FD(events_ioctl(space, &arg));
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, polled(fd, 0));
		ASSERT_EQ(0, advise(buf, BLOCK_BYTES, UNSET_READ_MOSTLY));
	}
	EXPECT_EQ(POLLIN, polled(fd, LIMIT_S * 1000));
	close(fd);
}

/* Opens a ring of the space @fd, maps it, and waits to be killed. */
static void reader(void)
{
	struct events events;

	if (events_open(&events, space, HMMRT_EVENTS_OF_SPACE,
			HMMRT_EVENTS_MAX))
		_exit(1);
	raise(SIGSTOP);
	_exit(2);
}

TEST_F(events, killed_reader_is_forgotten)
{
	pid_t pid = FORK();

	if (!pid)
		reader();
	ASSERT_TRUE(process_wait_stopped(pid));
	ASSERT_DONE(dev_read(A, buf));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_DONE(dev_read(A, buf + BLOCK_BYTES));
	ASSERT_LE(0, process_wait_for(pid, LIMIT_S));
	ASSERT_EQ(0, known_program());
	check_device(_metadata, self, 0);
}

/* --- wrong input, and permission ------------------------------------------ */

TEST_F(events, wrong_input_gets_its_error)
{
	const struct hmmrt_events_open good =
		events_request(HMMRT_EVENTS_OF_SPACE, HMMRT_EVENTS_MIN);
	struct hmmrt_events_open arg;
	int manager = open_manager();
	int fd;

#define REFUSED(_errno, _file, ...)                              \
	EXPECT_CHANGED(-(_errno), events_ioctl(_file, &arg), arg, good,	\
		       __VA_ARGS__)
	REFUSED(EINVAL, manager, );
	REFUSED(EINVAL, space, arg.size = sizeof(arg) - 8);
	REFUSED(EOPNOTSUPP, space, arg.flags = 1);
	REFUSED(EOPNOTSUPP, space, arg.__reserved = 1);
	REFUSED(EINVAL, space, arg.scope = HMMRT_EVENTS_OF_MACHINE + 1);
	REFUSED(EINVAL, space, arg.types = 0);
	REFUSED(EOPNOTSUPP, space, arg.types |= 1);
	REFUSED(EOPNOTSUPP, space,
		arg.types |= HMMRT_EVENT_BIT(HMMRT_EVENT_TYPES));
	REFUSED(EINVAL, space, arg.events = 0);
	REFUSED(EINVAL, space, arg.events = HMMRT_EVENTS_MIN + 1);
	REFUSED(EINVAL, space, arg.events = HMMRT_EVENTS_MIN / 2);
	REFUSED(EINVAL, space, arg.events = HMMRT_EVENTS_MAX * 2);
	REFUSED(EINVAL, space, arg.wake_events = 0);
	REFUSED(EINVAL, space, arg.wake_events = HMMRT_EVENTS_MIN + 1);
	EXPECT_EQ(-EFAULT, events_ioctl(space, NULL));
	arg = good;
	fd = FD(events_ioctl(space, &arg));
	/* The ring must be mapped shared, in full, and without PROT_EXEC. */
#define NOT_MAPPED(_bytes, _prot, _flags) \
	EXPECT_EQ(MAP_FAILED, mmap(NULL, _bytes, _prot, _flags, fd, 0))
	NOT_MAPPED(arg.out_map_bytes, PROT_READ, MAP_PRIVATE);
	EXPECT_EQ(EINVAL, errno);
	NOT_MAPPED(arg.out_map_bytes - PAGE_BYTES, PROT_READ, MAP_SHARED);
	EXPECT_EQ(EINVAL, errno);
	NOT_MAPPED(arg.out_map_bytes, PROT_READ | PROT_EXEC, MAP_SHARED);
	/* Newer kernels refuse it for all files of this kind. */
	EXPECT_TRUE(errno == EACCES || errno == EPERM);
	close(fd);
	close(manager);
}

static bool become_other_user(void)
{
	return !setgid(OTHER_UID) && !setuid(OTHER_UID);
}

static int user_without_permission(int fd)
{
	struct hmmrt_events_open arg =
		events_request(HMMRT_EVENTS_OF_MACHINE, HMMRT_EVENTS_MIN);

	if (!become_other_user())
		return 1;
	return events_ioctl(fd, &arg) == -EPERM ? 0 : 2;
}

/* A user can open 32 rings, as the header documents, and no more. */
static int user_with_many_rings(int fd)
{
	unsigned int n = 0;
	int rc;

	if (!become_other_user())
		return 1;
	for (rc = 0; rc >= 0; n++) {
		struct hmmrt_events_open arg =
			events_request(HMMRT_EVENTS_OF_SPACE, HMMRT_EVENTS_MIN);

		rc = events_ioctl(fd, &arg);
	}
	return rc == -EMFILE && n == 33 ? 0 : 2;
}

TEST_F(events, machine_needs_permission)
{
	struct events machine;

	ASSERT_EQ(0, process_run(user_without_permission, space, LIMIT_S));
	ASSERT_EQ(0, process_run(user_with_many_rings, space, LIMIT_S));
	ASSERT_EQ(0,
		  events_open(&machine, space, HMMRT_EVENTS_OF_MACHINE, RING));
	ASSERT_DONE(dev_read(A, buf));
	EXPECT_EQ(events_count(&self->events, HMMRT_EVENT_DEVICE_FAULT, NULL),
		  events_count(&machine, HMMRT_EVENT_DEVICE_FAULT, NULL));
	events_close(&machine);
}

#define SHARED	1024u

static int flood(int fd)
{
	struct hmmrt_annotate mark = {
		.size = sizeof(mark),
		.kind = HMMRT_ANNOTATE_MARK,
		.text = "noise",
	};

	if (cmd_space_create(fd))
		return 1;
	for (unsigned int i = 0; i < 2 * SHARED; i++)
		if (events_annotate(fd, &mark))
			return 2;
	return 0;
}

static int flood_as_another_user(int fd)
{
	return become_other_user() ? flood(fd) : 3;
}

/*
 * No process can hide other events by flooding the ring, not even those of
 * other processes of its user.
 */
TEST_F(events, flood_of_one_space_loses_no_event_of_others)
{
	int (*const floods[])(int fd) = { flood, flood_as_another_user };
	struct events machine;
	int manager;

	ASSERT_EQ(0, events_open(&machine, space, HMMRT_EVENTS_OF_MACHINE,
				 SHARED));
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int j = 0; j < 2; j++) {
			manager = open_manager();
			ASSERT_EQ(0, process_run(floods[i], manager, LIMIT_S));
			close(manager);
		}
		EXPECT_LT(SHARED / 2,
			  events_count(&machine, HMMRT_EVENT_MARK, NULL));
		for (unsigned int k = 0; k < 16; k++)
			ASSERT_EQ(0,
				  advise(buf, BLOCK_BYTES, UNSET_READ_MOSTLY));
		EXPECT_EQ(16, events_count(&machine, HMMRT_EVENT_ADVISE, NULL));
		EXPECT_EQ(0, machine.ring->dropped[HMMRT_EVENT_ADVISE]);
		EXPECT_LT(0, machine.ring->dropped[HMMRT_EVENT_MARK]);
		events_read_all(&machine);
	}
	events_close(&machine);
}

static char *page_of_child;

static int advise_page_of_child(int fd)
{
	return cmd_advise(fd, page_of_child, PAGE_BYTES, UNSET_READ_MOSTLY, 0,
			  0);
}

/* Makes a space with the file, and an event in it. */
static int make_event(int fd)
{
	if (cmd_space_create(fd))
		return 3;
	return advise_page_of_child(fd) ? 4 : 0;
}

static int make_event_hidden(int fd)
{
	return prctl(PR_SET_DUMPABLE, 0) ? 5 : make_event(fd);
}

/* Hides the process after its first event, as a change of its user does. */
static int make_event_and_hide(int fd)
{
	int rc = make_event(fd);

	if (rc || prctl(PR_SET_DUMPABLE, 0))
		return rc ? rc : 5;
	return advise_page_of_child(fd) ? 6 : 0;
}

/* Counts the events of a child that runs @body, as a user without privileges. */
static uint64_t seen_of_child(int (*body)(int fd), int fd)
{
	struct events children;
	uint64_t seen;
	int file = open_manager();

	if (!become_other_user() || prctl(PR_SET_DUMPABLE, 1))
		return 100;
	if (events_open(&children, fd, HMMRT_EVENTS_OF_CHILDREN,
			HMMRT_EVENTS_MIN))
		return 101;
	if (process_run(body, file, LIMIT_S))
		return 102;
	seen = events_count(&children, HMMRT_EVENT_ADVISE, NULL);
	events_close(&children);
	return seen;
}

static int user_sees_own_child(int fd)
{
	return seen_of_child(make_event, fd) == 1 ? 0 : 1;
}

static int user_sees_no_hidden_child(int fd)
{
	return seen_of_child(make_event_hidden, fd) == 0 ? 0 : 1;
}

static int user_sees_no_child_that_hides_later(int fd)
{
	return seen_of_child(make_event_and_hide, fd) == 1 ? 0 : 1;
}

static int user_sees_no_sister(int fd)
{
	struct events children;

	if (!become_other_user() ||
	    events_open(&children, fd, HMMRT_EVENTS_OF_CHILDREN,
			HMMRT_EVENTS_MIN))
		return 1;
	raise(SIGSTOP);
	return events_unread(&children) ? 2 : 0;
}

TEST_F(events, ring_of_children_has_those_that_may_be_observed)
{
	int manager = open_manager(), sister = open_manager();
	pid_t pid;

	page_of_child = buf;
	ASSERT_EQ(0, process_run(user_sees_own_child, manager, LIMIT_S));
	ASSERT_EQ(0, process_run(user_sees_no_hidden_child, manager, LIMIT_S));
	ASSERT_EQ(0, process_run(user_sees_no_child_that_hides_later, manager,
				 LIMIT_S));
	pid = CHILD(user_sees_no_sister(manager));
	ASSERT_TRUE(process_wait_stopped(pid));
	ASSERT_EQ(0, process_run(make_event, sister, LIMIT_S));
	ASSERT_EQ(0, kill(pid, SIGCONT));
	EXPECT_EQ(0, process_wait_for(pid, LIMIT_S));
	close(manager);
	close(sister);
}

/* The lowest addresses that a process may map; programs leave them free. */
#define LOW_PAGE	((void *)(1UL << 20))

static void map_and_unmap(void *failed)
{
	char *page = mmap(LOW_PAGE, PAGE_BYTES, RW,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			  0);

	if (page == MAP_FAILED) {
		*(bool *)failed = true;
		usleep(1000);
		return;
	}
	*page = 1;
	munmap(page, PAGE_BYTES);
}

/* A space has a notifier for low addresses as soon as it exists. */
static int spaces_beside_unmaps(int fd)
{
	bool failed = false;
	struct loop unmaps;
	int rc = 0;

	close(fd);
	if (loop_start(&unmaps, map_and_unmap, &failed))
		return 1;
	for (unsigned int i = 0; !rc && i < amount(300, 60); i++) {
		int file = open_manager();

		rc = file < 0 ? file : cmd_space_create(file);
		close(file);
	}
	loop_stop(&unmaps);
	return rc ? 2 : failed ? 3 : 0;
}

TEST_F(events, spaces_begin_and_end_beside_invalidations)
{
	struct events children;
	int manager = open_manager();

	ASSERT_EQ(0, events_open(&children, manager, HMMRT_EVENTS_OF_CHILDREN,
				 RING));
	ASSERT_EQ(0, process_run(spaces_beside_unmaps, manager, LIMIT_S));
	EXPECT_LT(0, events_count(&children, HMMRT_EVENT_INVALIDATE, NULL));
	events_close(&children);
	close(manager);
}

/* Makes a space and waits. */
static int space_and_wait(int fd)
{
	if (cmd_space_create(fd))
		return 3;
	raise(SIGSTOP);
	return 0;
}

TEST_F(events, ring_hangs_up_when_the_space_is_gone)
{
	int file = FD(open_manager());
	struct events events;
	pid_t pid = FORK();

	if (!pid)
		_exit(space_and_wait(file));
	ASSERT_TRUE(process_wait_stopped(pid));
	/* Inherited, so it is the same file. */
	ASSERT_EQ(0, events_open(&events, file, HMMRT_EVENTS_OF_SPACE,
				 HMMRT_EVENTS_MIN));
	EXPECT_EQ(0, polled(events.fd, 0));
	close(file);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_LE(0, process_wait_for(pid, LIMIT_S));
	EXPECT_EQ(POLLHUP, polled(events.fd, LIMIT_S * 1000) & POLLHUP);
	events_close(&events);
}

TEST_HARNESS_MAIN
