// SPDX-License-Identifier: MIT
/*
 * Memory objects of two processes. One creates an object and sends its
 * descriptor, the other maps it; each has a device of its own space. They end
 * in any order and in any way, and the one that is left keeps the memory. No
 * process sees what another one has left in memory that was freed.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/object.h"
#include "lib/process.h"
#include "lib/session.h"

#define HOST		HMMRT_LOCATION_HOST
#define RW		(PROT_READ | PROT_WRITE)
#define LEN		(2 * BLOCK_BYTES)
#define PAGES		(LEN / PAGE_BYTES)
#define LIMIT_S		60
/* The result of an order that could not be carried out. */
#define FAILED		UINT64_MAX

/* --- a process that takes orders ------------------------------------------ */

struct partner {
	pid_t pid;		/* 0: ended */
	int socket;
};

/* Orders have an argument of 32 bits. All have a result. */
enum order {
	CREATE,			/* flags; the result has the descriptor */
	IMPORT,			/* protection; comes with the descriptor */
	ID,
	GRANT,			/* rights of the device */
	DEVICE_FILL,		/* first value */
	DEVICE_SUM,
	CPU_FILL,		/* first value */
	CPU_CHECK,		/* first value -> 0 */
	PROTECT,		/* protection -> errno */
	COUNT,			/* begin to increment a word of this page */
	UNMAP,
	UNBIND,
	CLOSE_SPACE,
	QUIT,
};

struct partner_state {
	struct session session;
	int object;
	char *buf;
};

static uint64_t result_of(struct outcome outcome)
{
	if (outcome.error)
		return FAILED;
	return outcome.signal ? outcome.record.out_errno : outcome.value;
}

static uint64_t map_object(struct partner_state *state, int prot)
{
	state->buf = object_map(state->object, LEN, prot, 0);
	return state->buf ? 0 : FAILED;
}

static uint64_t count_on(struct partner_state *state, uint32_t page)
{
	const uint64_t args[] = {
		(uintptr_t)state->buf + page * PAGE_BYTES, 1UL << 50,
	};

	agent_post(session_agent(&state->session), 0, AGENT_ADD, args, 2);
	return 0;
}

static uint64_t carry_out(struct partner_state *state, enum order order,
			  uint32_t value)
{
	struct session *session = &state->session;
	struct agent *agent = session_agent(session);

	switch (order) {
	case CREATE:
		state->object = cmd_object_create(session->space, LEN,
						  session->devices[0].id,
						  value);
		return state->object < 0 ? FAILED : map_object(state, RW);
	case IMPORT:
		return map_object(state, (int)value);
	case ID:
		return object_id(state->object);
	case GRANT:
		return (uint64_t)-cmd_set_access(session->space, state->buf,
						 LEN, session->devices[0].id,
						 value);
	case DEVICE_FILL:
		return result_of(agent_fill(agent, state->buf, LEN, PAGE_BYTES,
					    value));
	case DEVICE_SUM:
		return result_of(agent_sum(agent, state->buf, LEN, PAGE_BYTES));
	case CPU_FILL:
		pages_fill(state->buf, LEN, value);
		return 0;
	case CPU_CHECK:
		return (uint64_t)(pages_check(state->buf, LEN, value) + 1);
	case PROTECT:
		/* The mask clears the register's upper half: glibc does not. */
		return mprotect(state->buf, LEN, (int)(value & RW)) ?
			       (uint64_t)errno :
			       0;
	case COUNT:
		return count_on(state, value);
	case UNMAP:
		close(state->object);
		return (uint64_t)munmap(state->buf, LEN);
	case UNBIND:
		session_unbind(session, 0);
		return 0;
	case CLOSE_SPACE:
		session_unbind(session, 0);
		return (uint64_t)close(session->space);
	case QUIT:
		break;
	}
	session_unbind(session, 0);
	_exit(0);
}

static void partner_run(int socket)
{
	struct partner_state state = { .object = -1 };
	uint64_t message, result;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (session_start(&state.session, 1, 1))
		_exit(1);
	while (!message_receive(socket, &fd, &message)) {
		if (fd >= 0)
			state.object = fd;
		result = carry_out(&state, message >> 32, (uint32_t)message);
		message_send(socket,
			     message >> 32 == CREATE ? state.object : -1,
			     result);
	}
	_exit(2);
}

static bool partner_start(struct partner *partner)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	partner->socket = ends[0];
	partner->pid = fork();
	if (!partner->pid) {
		close(ends[0]);
		partner_run(ends[1]);
	}
	close(ends[1]);
	return partner->pid > 0;
}

/* Sends an order, with a descriptor unless it is -1, and waits for its result. */
static uint64_t ask_with(const struct partner *partner, enum order order,
			 uint32_t value, int object)
{
	uint64_t result = FAILED;
	int fd;

	if (message_send(partner->socket, object, (uint64_t)order << 32 | value))
		return FAILED;
	if (message_receive(partner->socket, &fd, &result))
		return FAILED;
	if (fd >= 0)
		close(fd);
	return result;
}

static uint64_t ask(const struct partner *partner, enum order order,
		    uint32_t value)
{
	return ask_with(partner, order, value, -1);
}

/* Has the partner create an object. Returns its descriptor, or -1. */
static int ask_for_object(const struct partner *partner, uint32_t flags)
{
	uint64_t result = FAILED;
	int fd = -1;

	if (message_send(partner->socket, -1, (uint64_t)CREATE << 32 | flags) ||
	    message_receive(partner->socket, &fd, &result) || result)
		return -1;
	return fd;
}

static bool partner_end(struct partner *partner, bool kills)
{
	int status = -1;
	pid_t pid = partner->pid;

	if (!pid)
		return true;
	if (kills)
		kill(pid, SIGKILL);
	else
		message_send(partner->socket, -1, (uint64_t)QUIT << 32);
	partner->pid = 0;
	close(partner->socket);
	if (!process_wait_end(pid, LIMIT_S, &status)) {
		kill(pid, SIGKILL);
		return false;
	}
	return kills ? WIFSIGNALED(status) : !status;
}

/* --- two processes -------------------------------------------------------- */

FIXTURE(shared) {
	struct partner exporter;
	struct partner importer;
	int manager;
	int64_t used;		/* of device 0 before the test */
	int object;		/* the test's own descriptor, or -1 */
};

static bool shared_start(FIXTURE_DATA(shared) *self)
{
	self->object = -1;
	self->manager = open_manager();
	self->used = device_used_bytes(self->manager, 0);
	return partner_start(&self->exporter) && partner_start(&self->importer);
}

static bool shared_end(FIXTURE_DATA(shared) *self)
{
	bool ended;

	if (self->object >= 0)
		close(self->object);
	object_unmap_all();
	ended = partner_end(&self->exporter, false);
	ended &= partner_end(&self->importer, false);
	ended &= device_wait_used(self->manager, 0, self->used);
	close(self->manager);
	return ended;
}

FIXTURE_SETUP(shared)
{
	ASSERT_TRUE(shared_start(self));
}

FIXTURE_TEARDOWN(shared)
{
	EXPECT_TRUE(shared_end(self));
}

/* The exporter's object is mapped by both, and the test has a descriptor. */
static bool share(FIXTURE_DATA(shared) *self, uint32_t flags)
{
	self->object = ask_for_object(&self->exporter, flags);
	return self->object >= 0 &&
	       !ask_with(&self->importer, IMPORT, RW, self->object);
}

static bool grant_to_both(const FIXTURE_DATA(shared) *self)
{
	return !ask(&self->exporter, GRANT, OBJECT_WRITE) &&
	       !ask(&self->importer, GRANT, OBJECT_WRITE);
}

TEST_F(shared, imported_descriptor_is_exactly_that_memory)
{
	struct hmmrt_object_info info;
	int others[2];

	others[0] = ask_for_object(&self->exporter, 0);
	ASSERT_LE(0, others[0]);
	ASSERT_EQ(0, ask(&self->exporter, CPU_FILL, 1000));
	ASSERT_TRUE(share(self, 0));
	ASSERT_EQ(0, ask(&self->exporter, CPU_FILL, 2000));
	ASSERT_EQ(0, cmd_object_info(self->object, &info));
	EXPECT_EQ(LEN, info.out_bytes);
	EXPECT_EQ(0, info.out_location);
	EXPECT_EQ(info.out_id, ask(&self->exporter, ID, 0));
	EXPECT_EQ(info.out_id, ask(&self->importer, ID, 0));
	others[1] = ask_for_object(&self->exporter, 0);
	ASSERT_LE(0, others[1]);
	ASSERT_EQ(0, ask(&self->exporter, CPU_FILL, 3000));
	EXPECT_NE(info.out_id, object_id(others[0]));
	EXPECT_NE(info.out_id, object_id(others[1]));
	EXPECT_EQ(0, ask(&self->importer, CPU_CHECK, 2000));
	close(others[0]);
	close(others[1]);
}

static int open_rc(int fd, int flags)
{
	char path[32];
	int other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, flags | O_CLOEXEC);
	if (other >= 0)
		close(other);
	return other < 0 ? -errno : 0;
}

/* A file for reading gives no write access to anything, on no way. */
TEST_F(shared, reader_of_an_object_cannot_write)
{
	const uint32_t flags[] = { 0, HMMRT_OBJECT_MIGRATABLE };
	unsigned int i;
	int reader;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		self->object = ask_for_object(&self->exporter, flags[i]);
		reader = cmd_object_reopen(self->object, OBJECT_READ);
		ASSERT_LE(0, reader);
		EXPECT_EQ(object_id(self->object), object_id(reader));
		EXPECT_EQ(O_RDONLY, fcntl(reader, F_GETFL) & O_ACCMODE);
		EXPECT_EQ(-EACCES, cmd_object_reopen(reader, OBJECT_WRITE));
		EXPECT_GT(0, open_rc(reader, O_RDWR));
		EXPECT_EQ(NULL, object_map(reader, LEN, RW, 0));
		ASSERT_EQ(0, ask_with(&self->importer, IMPORT, PROT_READ,
				      reader));
		EXPECT_EQ(EACCES, ask(&self->importer, GRANT, OBJECT_WRITE));
		ASSERT_EQ(0, ask(&self->importer, GRANT, OBJECT_READ));
		ASSERT_EQ(0, ask(&self->exporter, GRANT, OBJECT_WRITE));
		ASSERT_EQ(0, ask(&self->exporter, DEVICE_FILL, 100));
		EXPECT_EQ(pages_sum(LEN, 100),
			  ask(&self->importer, DEVICE_SUM, 0));
		EXPECT_EQ(0, ask(&self->importer, CPU_CHECK, 100));
		EXPECT_EQ(EACCES, ask(&self->importer, DEVICE_FILL, 1));
		ASSERT_EQ(0, ask(&self->exporter, CPU_FILL, 200));
		EXPECT_EQ(0, ask(&self->importer, CPU_CHECK, 200));
		EXPECT_EQ(EACCES, ask(&self->importer, PROTECT, RW));
		/* The file of a writer changes nothing for the reader. */
		ASSERT_EQ(0, ask(&self->exporter, UNMAP, 0));
		close(self->object);
		EXPECT_EQ(0, ask(&self->importer, CPU_CHECK, 200));
		ASSERT_EQ(0, ask(&self->importer, UNMAP, 0));
		close(reader);
	}
	self->object = -1;
	EXPECT_TRUE(device_wait_used(self->manager, 0, self->used));
}

TEST_F(shared, object_is_opened_again_for_reading_or_writing)
{
	const uint32_t bad[] = {
		0, HMMRT_ACCESS_WRITE, HMMRT_ACCESS_EXEC,
		OBJECT_WRITE | HMMRT_ACCESS_EXEC, UINT32_MAX,
	};
	unsigned int i;
	int other;

	ASSERT_TRUE(share(self, 0));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, cmd_object_reopen(self->object, bad[i]));
	other = cmd_object_reopen(self->object, OBJECT_WRITE);
	ASSERT_LE(0, other);
	close(self->object);
	self->object = other;
	ASSERT_EQ(0, ask(&self->importer, UNMAP, 0));
	ASSERT_EQ(0, ask_with(&self->importer, IMPORT, RW, other));
	ASSERT_EQ(0, ask(&self->importer, CPU_FILL, 5));
	EXPECT_EQ(0, ask(&self->exporter, CPU_CHECK, 5));
}

TEST_F(shared, devices_and_cpus_of_both_see_the_same_bytes)
{
	const uint32_t flags[] = { 0, HMMRT_OBJECT_MIGRATABLE };
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		ASSERT_TRUE(share(self, flags[i]));
		ASSERT_TRUE(grant_to_both(self));
		for (round = 1; round < 4; round++) {
			uint32_t first = 100 * round;

			ASSERT_EQ(0, ask(&self->exporter, DEVICE_FILL, first));
			ASSERT_EQ(pages_sum(LEN, first),
				  ask(&self->importer, DEVICE_SUM, 0));
			ASSERT_EQ(0, ask(&self->importer, CPU_CHECK, first));
			ASSERT_EQ(0, ask(&self->importer, CPU_FILL, first + 7));
			ASSERT_EQ(0, ask(&self->exporter, CPU_CHECK, first + 7));
			ASSERT_EQ(pages_sum(LEN, first + 7),
				  ask(&self->exporter, DEVICE_SUM, 0));
			ASSERT_EQ(0, ask(&self->importer, DEVICE_FILL,
					 first + 9));
			ASSERT_EQ(0, ask(&self->exporter, CPU_CHECK, first + 9));
		}
		close(self->object);
		ASSERT_EQ(0, ask(&self->exporter, UNMAP, 0));
		ASSERT_EQ(0, ask(&self->importer, UNMAP, 0));
	}
	self->object = -1;
	EXPECT_EQ(self->used, device_used_bytes(self->manager, 0));
}

TEST_F(shared, rights_of_a_device_are_those_of_one_process)
{
	ASSERT_TRUE(share(self, 0));
	EXPECT_EQ(EACCES, ask(&self->exporter, DEVICE_SUM, 0));
	ASSERT_EQ(0, ask(&self->exporter, GRANT, OBJECT_WRITE));
	ASSERT_EQ(0, ask(&self->exporter, DEVICE_FILL, 5));
	EXPECT_EQ(EACCES, ask(&self->importer, DEVICE_SUM, 0));
	ASSERT_EQ(0, ask(&self->importer, GRANT, OBJECT_READ));
	EXPECT_EQ(pages_sum(LEN, 5), ask(&self->importer, DEVICE_SUM, 0));
	EXPECT_EQ(EACCES, ask(&self->importer, DEVICE_FILL, 6));
	ASSERT_EQ(0, ask(&self->exporter, GRANT, 0));
	EXPECT_EQ(pages_sum(LEN, 5), ask(&self->importer, DEVICE_SUM, 0));
	EXPECT_EQ(EACCES, ask(&self->exporter, DEVICE_SUM, 0));
}

/* The charge is that of the process that created the object. */
TEST_F(shared, process_without_a_space_uses_the_memory_by_its_cpu)
{
	char *buf;

	ASSERT_TRUE(share(self, 0));
	buf = object_map(self->object, LEN, RW, 0);
	ASSERT_NE(NULL, buf);
	pages_fill(buf, LEN, 11);
	EXPECT_EQ(0, ask(&self->importer, CPU_CHECK, 11));
	ASSERT_EQ(0, ask(&self->exporter, CPU_FILL, 12));
	EXPECT_EQ(-1, pages_check(buf, LEN, 12));
}

TEST_F(shared, memory_lives_while_its_descriptor_is_in_flight)
{
	const int64_t used = self->used + (int64_t)LEN;
	uint64_t number = 0;
	int ends[2], fd = -1;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				ends));
	self->object = ask_for_object(&self->exporter, 0);
	ASSERT_LE(0, self->object);
	ASSERT_EQ(0, ask(&self->exporter, CPU_FILL, 40));
	ASSERT_EQ(0, message_send(ends[0], self->object, 1));
	ASSERT_EQ(0, message_send(ends[0], self->object, 2));
	close(self->object);
	self->object = -1;
	ASSERT_TRUE(partner_end(&self->exporter, true));
	ASSERT_EQ(0, message_receive(ends[1], &fd, &number));
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ask_with(&self->importer, IMPORT, RW, fd));
	close(fd);
	EXPECT_EQ(0, ask(&self->importer, CPU_CHECK, 40));
	ASSERT_EQ(0, ask(&self->importer, UNMAP, 0));
	/* The second message still has it. */
	EXPECT_EQ(used, device_used_bytes(self->manager, 0));
	close(ends[0]);
	close(ends[1]);
	EXPECT_TRUE(device_wait_used(self->manager, 0, self->used));
}

/* --- one of them ends ----------------------------------------------------- */

enum ending { EXITS, IS_KILLED, IS_KILLED_AT_WORK, UNBINDS, CLOSES, UNMAPS };

FIXTURE(end) {
	FIXTURE_DATA(shared) shared;
};

FIXTURE_VARIANT(end) {
	bool of_the_importer;
	enum ending ending;
	uint32_t flags;
};

#define BOTH_END(name, ...)						\
	FIXTURE_VARIANT_ADD(end, exporter_##name) { __VA_ARGS__ };	\
	FIXTURE_VARIANT_ADD(end, importer_##name) {			\
		.of_the_importer = true, __VA_ARGS__			\
	}

BOTH_END(exits, .ending = EXITS);
BOTH_END(is_killed, .ending = IS_KILLED);
BOTH_END(is_killed_at_work, .ending = IS_KILLED_AT_WORK);
BOTH_END(unbinds, .ending = UNBINDS);
BOTH_END(closes_the_space, .ending = CLOSES);
BOTH_END(unmaps, .ending = UNMAPS);
BOTH_END(of_migratable_exits, .ending = EXITS,
	 .flags = HMMRT_OBJECT_MIGRATABLE);
BOTH_END(is_killed_while_it_faults, .ending = IS_KILLED_AT_WORK,
	 .flags = HMMRT_OBJECT_MIGRATABLE);
BOTH_END(of_migratable_unbinds, .ending = UNBINDS,
	 .flags = HMMRT_OBJECT_MIGRATABLE);

FIXTURE_SETUP(end)
{
	ASSERT_TRUE(shared_start(&self->shared));
}

FIXTURE_TEARDOWN(end)
{
	EXPECT_TRUE(shared_end(&self->shared));
}

/*
 * The device counts on a word while the test looks at it, which takes a
 * migratable block away from the device each time.
 */
static bool kill_at_work(struct partner *partner, const char *buf)
{
	const uint64_t *word = (const uint64_t *)buf;
	unsigned int looks = 0;
	uint64_t last = 0, now;

	if (ask(partner, COUNT, 0))
		return false;
	while (looks < 20) {
		now = __atomic_load_n(word, __ATOMIC_RELAXED);
		looks += now != last;
		last = now;
		sched_yield();
	}
	return partner_end(partner, true);
}

static bool make_end(struct partner *partner, enum ending ending,
		     const char *buf)
{
	switch (ending) {
	case EXITS:
		return partner_end(partner, false);
	case IS_KILLED:
		return partner_end(partner, true);
	case IS_KILLED_AT_WORK:
		return kill_at_work(partner, buf);
	case UNBINDS:
		return !ask(partner, UNBIND, 0);
	case CLOSES:
		return !ask(partner, CLOSE_SPACE, 0);
	default:
		return !ask(partner, UNMAP, 0);
	}
}

TEST_F(end, leaves_the_memory_to_the_other)
{
	FIXTURE_DATA(shared) *shared = &self->shared;
	struct partner *first = &shared->exporter, *second = &shared->importer;
	unsigned int round;
	uint64_t *words;
	char *buf;

	if (variant->of_the_importer) {
		first = &shared->importer;
		second = &shared->exporter;
	}
	ASSERT_TRUE(share(shared, variant->flags));
	ASSERT_TRUE(grant_to_both(shared));
	buf = object_map(shared->object, LEN, RW, 0);
	ASSERT_NE(NULL, buf);
	close(shared->object);
	shared->object = -1;
	ASSERT_EQ(0, ask(first, DEVICE_FILL, 1));
	ASSERT_EQ(pages_sum(LEN, 1), ask(second, DEVICE_SUM, 0));
	ASSERT_TRUE(make_end(first, variant->ending, buf));
	words = (uint64_t *)buf;
	if (variant->ending == IS_KILLED_AT_WORK) {
		/* The killed process's device has stopped. */
		uint64_t last = *words;

		usleep(20000);
		EXPECT_EQ(last, *words);
		*words = 1;
	}
	ASSERT_EQ(0, munmap(buf, LEN));
	EXPECT_EQ(0, ask(second, CPU_CHECK, 1));
	EXPECT_EQ(pages_sum(LEN, 1), ask(second, DEVICE_SUM, 0));
	for (round = 2; round < 4; round++) {
		EXPECT_EQ(0, ask(second, DEVICE_FILL, round));
		EXPECT_EQ(0, ask(second, CPU_CHECK, round));
	}
	if (!variant->flags)
		EXPECT_EQ(shared->used + (int64_t)LEN,
			  device_used_bytes(shared->manager, 0));
}

/* --- memory that was freed ------------------------------------------------ */

#define SMALL_BYTES	(16UL << 20)

FIXTURE(freed) {
	char parameters[SIMGPU_PARAMETERS];
	int manager;
};

FIXTURE_SETUP(freed)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, simgpu_replace(self->parameters, "devices=1 memory=16"));
	self->manager = open_manager();
}

FIXTURE_TEARDOWN(freed)
{
	if (!self->parameters[0])
		return;
	close(self->manager);
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

enum kind { OBJECT, HALF_OBJECT, PAGES_OF_DEVICE };

/* Fills the device with other than zeroes, and is killed. */
static void leave_contents(enum kind kind, uint32_t flags, int to_test)
{
	size_t len = kind == HALF_OBJECT ? SMALL_BYTES / 2 : SMALL_BYTES;
	struct session session;
	char *buf, *rest = NULL;
	int object, rc = session_start(&session, 1, 1);

	if (kind == PAGES_OF_DEVICE) {
		buf = arena_anon(len);
	} else {
		object = cmd_object_create(session.space, len, 0, flags);
		buf = object_map(object, len, RW, 0);
		if (!rc)
			rc = cmd_set_access(session.space, buf, len, 0,
					    OBJECT_WRITE);
	}
	if (kind == HALF_OBJECT)
		rest = arena_anon(SMALL_BYTES - len);
	if (!rc)
		rc = (int)result_of(agent_fill(session_agent(&session), buf,
					       len, 8, 0xdeadbeef));
	if (!rc && rest)
		rc = (int)result_of(agent_fill(session_agent(&session), rest,
					       SMALL_BYTES - len, 8,
					       0xdeadbeef));
	if (rc || write(to_test, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static bool run_and_kill(FIXTURE_DATA(freed) *self, enum kind kind,
			 uint32_t flags)
{
	int ends[2], status;
	bool ready;
	pid_t pid;
	char c;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		leave_contents(kind, flags, ends[1]);
	}
	close(ends[1]);
	ready = read(ends[0], &c, 1) == 1 &&
		device_used_bytes(self->manager, 0) == (int64_t)SMALL_BYTES;
	close(ends[0]);
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && ready &&
	       device_wait_used(self->manager, 0, 0);
}

/* Returns the first word of the memory that is not zero, or its end. */
static size_t first_not_zero(const uint64_t *words, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (words[i])
			break;
	return i;
}

static bool new_object_is_zero(int space, uint32_t flags)
{
	int object = cmd_object_create(space, SMALL_BYTES, 0, flags);
	uint64_t *words = object_map(object, SMALL_BYTES, RW, 0);
	bool zero = words && first_not_zero(words, SMALL_BYTES / 8) ==
				     SMALL_BYTES / 8;

	if (words)
		munmap(words, SMALL_BYTES);
	close(object);
	return zero;
}

static bool new_pages_are_zero(struct session *session)
{
	char *buf = arena_anon(SMALL_BYTES);
	struct outcome outcome = agent_sum(session_agent(session), buf,
					   SMALL_BYTES, 64);
	bool zero = !outcome.error && !outcome.signal && !outcome.value;

	munmap(buf, SMALL_BYTES);
	return zero;
}

TEST_F(freed, memory_is_not_visible_to_another_process)
{
	const struct {
		enum kind kind;
		uint32_t flags;
	} cases[] = {
		{ OBJECT, 0 },
		{ OBJECT, HMMRT_OBJECT_MIGRATABLE },
		{ HALF_OBJECT, 0 },
		{ PAGES_OF_DEVICE, 0 },
	};
	struct session session;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_TRUE(run_and_kill(self, cases[i].kind, cases[i].flags));
		ASSERT_EQ(0, session_start(&session, 1, 1));
		EXPECT_TRUE(new_object_is_zero(session.space, 0));
		EXPECT_EQ(0, session_end(&session));
		ASSERT_TRUE(run_and_kill(self, cases[i].kind, cases[i].flags));
		ASSERT_EQ(0, session_start(&session, 1, 1));
		EXPECT_TRUE(new_pages_are_zero(&session));
		EXPECT_EQ(0, session_end(&session));
	}
}

TEST_HARNESS_MAIN
