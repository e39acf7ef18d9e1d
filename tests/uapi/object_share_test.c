// SPDX-License-Identifier: MIT
/*
 * How long memory objects live: while a descriptor or a mapping does, in any
 * process, and across fork() and exec(). One process creates an object and
 * sends its descriptor, another one maps it; each has a device of its own
 * space. They end in any order and in any way, and the one that is left keeps
 * the memory. No process sees what another one has left in memory that was
 * freed.
 */
#include <sched.h>
#include <sys/socket.h>

#include "lib/fixture.h"
#include "lib/objects.h"
#include "lib/partner.h"

#define LIMIT_S		30

/* --- descriptors and mappings --------------------------------------------- */

DEVICES_FIXTURE(life, .end = objects_end)

TEST_F(life, memory_lives_while_it_is_mapped)
{
	int object = create(2);
	char *buf = NOT_NULL(object_map(object, 2 * BLOCK_BYTES, RW, 0));

	pages_fill(buf, 2 * BLOCK_BYTES, 1);
	close(object);
	EXPECT_EQ(2 * (int64_t)BLOCK_BYTES, taken(A));
	ASSERT_EQ(0, set_access(buf, 2 * BLOCK_BYTES, A, OBJECT_WRITE));
	ASSERT_SUM(A, buf, 2 * BLOCK_BYTES, 1);
	/* A part of a mapping keeps all of the object. */
	ASSERT_EQ(0, munmap(buf, 2 * BLOCK_BYTES - PAGE_BYTES));
	EXPECT_EQ(2 * (int64_t)BLOCK_BYTES, taken(A));
	EXPECT_EQ(2 * BLOCK_PAGES,
		  *(uint64_t *)(buf + 2 * BLOCK_BYTES - PAGE_BYTES));
	ASSERT_EQ(0, munmap(buf + 2 * BLOCK_BYTES - PAGE_BYTES, PAGE_BYTES));
	EXPECT_EQ(0, taken(A));
}

TEST_F(life, memory_lives_while_it_has_a_descriptor)
{
	int object = create(1), copy = dup(object);
	char *buf = NOT_NULL(object_map(object, BLOCK_BYTES, RW, 0));

	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	close(object);
	EXPECT_EQ((int64_t)BLOCK_BYTES, taken(A));
	buf = NOT_NULL(object_map(copy, BLOCK_BYTES, PROT_READ, 0));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	close(copy);
}

TEST_F(life, child_has_a_hole_and_the_parent_keeps_its_mapping)
{
	int status;
	char *buf = MAPPED(1);

	ASSERT_EQ(0, set_access(buf, BLOCK_BYTES, A, OBJECT_WRITE));
	pages_fill(buf, BLOCK_BYTES, 1);
	status = cpu_read_in_child(buf);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGSEGV, WTERMSIG(status));
	ASSERT_SUM(A, buf, BLOCK_BYTES, 1);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
}

/* The child has the descriptor and maps the memory at its own address. */
TEST_F(life, child_maps_the_memory_by_its_descriptor)
{
	uint64_t *words = MAPPED(1);
	pid_t pid;

	*words = 5;
	pid = fork();
	if (!pid) {
		words = object_map(object, BLOCK_BYTES, RW, 0);
		if (!words || *words != 5)
			_exit(1);
		*words = 6;
		_exit(0);
	}
	EXPECT_EQ(0, process_wait(pid));
	EXPECT_EQ(6, *words);
}

/*
 * Returns 1 if the descriptor is open in a program that is executed, 0 if it is
 * not, or -1 if the program cannot be executed.
 */
static int survives_exec(int object)
{
	char text[64];
	int status = -1;
	pid_t pid;

	snprintf(text, sizeof(text), "test -e /proc/self/fd/%d", object);
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(2);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) > 1)
		return -1;
	return !WEXITSTATUS(status);
}

TEST_F(life, descriptor_survives_exec_only_if_asked)
{
	int object = FD(create(1));

	EXPECT_EQ(0, survives_exec(object));
	ASSERT_EQ(0, fcntl(object, F_SETFD, 0));
	EXPECT_EQ(1, survives_exec(object));
	close(object);
}

/* A program that was executed with the descriptor keeps the memory. */
TEST_F(life, memory_lives_while_another_program_has_the_descriptor)
{
	int object = FD(create(1)), status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		fcntl(object, F_SETFD, 0);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(2);
	}
	ASSERT_TRUE(process_wait_program(pid, LIMIT_S, "sleep"));
	close(object);
	EXPECT_EQ((int64_t)BLOCK_BYTES, taken(A));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(memory_is_freed(A));
}

/* exec() unmaps the memory, and closes the descriptor. */
TEST_F(life, exec_of_the_creator_frees_the_memory)
{
	int status = -1, ends[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		int manager = open_manager();
		int object = -1;
		uint64_t *words = NULL;

		if (!cmd_space_create(manager))
			object = cmd_object_create(manager, BLOCK_BYTES,
						   id_of(A), 0);
		if (object >= 0)
			words = object_map(object, BLOCK_BYTES, RW, 0);
		if (words)
			*words = 1;
		c = words && device_used_bytes(manager, id_of(A)) ==
				     session.devices[A].used_before +
					     (int64_t)BLOCK_BYTES;
		if (write(ends[1], &c, 1) == 1)
			execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(2);
	}
	ASSERT_EQ(1, read(ends[0], &c, 1));
	EXPECT_EQ(1, c);
	EXPECT_TRUE(process_wait_program(pid, LIMIT_S, "sleep"));
	EXPECT_TRUE(memory_is_freed(A));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	close(ends[0]);
	close(ends[1]);
}

/* --- two processes -------------------------------------------------------- */

static struct partner exporter, importer;

/* The test itself has no session, and sees how much of device 0 is in use. */
static bool shared_start(void)
{
	space = open_manager();
	session.devices[A].used_before = used(A);
	return partner_start(&exporter) && partner_start(&importer);
}

static bool shared_end(void)
{
	bool ended;

	if (object >= 0)
		close(object);
	object_unmap_all();
	ended = partner_end(&exporter, false);
	ended &= partner_end(&importer, false);
	ended &= memory_is_freed(A);
	close(space);
	return ended;
}

FIXTURE(shared) {
};

FIXTURE_SETUP(shared)
{
	ASSERT_TRUE(shared_start());
}

FIXTURE_TEARDOWN(shared)
{
	EXPECT_TRUE(shared_end());
}

/* The exporter's object is mapped by both, and the test has a descriptor. */
static bool share(uint32_t flags)
{
	object = ask_for_object(&exporter, flags);
	return object >= 0 && !ask_with(&importer, IMPORT, RW, object);
}

static bool grant_to_both(void)
{
	return !ask(&exporter, GRANT, OBJECT_WRITE) &&
	       !ask(&importer, GRANT, OBJECT_WRITE);
}

TEST_F(shared, imported_descriptor_is_exactly_that_memory)
{
	struct hmmrt_object_info info;
	int others[2];

	others[0] = FD(ask_for_object(&exporter, 0));
	ASSERT_EQ(0, ask(&exporter, CPU_FILL, 1000));
	ASSERT_TRUE(share(0));
	ASSERT_EQ(0, ask(&exporter, CPU_FILL, 2000));
	ASSERT_EQ(0, cmd_object_info(object, &info));
	EXPECT_EQ(OBJECT_BYTES, info.out_bytes);
	EXPECT_EQ(0, info.out_location);
	EXPECT_EQ(info.out_id, ask(&exporter, ID, 0));
	EXPECT_EQ(info.out_id, ask(&importer, ID, 0));
	others[1] = FD(ask_for_object(&exporter, 0));
	ASSERT_EQ(0, ask(&exporter, CPU_FILL, 3000));
	EXPECT_NE(info.out_id, object_id(others[0]));
	EXPECT_NE(info.out_id, object_id(others[1]));
	EXPECT_EQ(0, ask(&importer, CPU_CHECK, 2000));
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
	const uint32_t flags[] = { 0, MIGRATABLE };
	int reader;

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		object = ask_for_object(&exporter, flags[i]);
		reader = FD(cmd_object_reopen(object, OBJECT_READ));
		EXPECT_EQ(object_id(object), object_id(reader));
		EXPECT_EQ(O_RDONLY, fcntl(reader, F_GETFL) & O_ACCMODE);
		EXPECT_EQ(-EACCES, cmd_object_reopen(reader, OBJECT_WRITE));
		EXPECT_GT(0, open_rc(reader, O_RDWR));
		EXPECT_EQ(NULL, object_map(reader, OBJECT_BYTES, RW, 0));
		ASSERT_EQ(0, ask_with(&importer, IMPORT, PROT_READ, reader));
		EXPECT_EQ(EACCES, ask(&importer, GRANT, OBJECT_WRITE));
		ASSERT_EQ(0, ask(&importer, GRANT, OBJECT_READ));
		ASSERT_EQ(0, ask(&exporter, GRANT, OBJECT_WRITE));
		ASSERT_EQ(0, ask(&exporter, DEVICE_FILL, 100));
		EXPECT_EQ(pages_sum(OBJECT_BYTES, 100),
			  ask(&importer, DEVICE_SUM, 0));
		EXPECT_EQ(0, ask(&importer, CPU_CHECK, 100));
		EXPECT_EQ(EACCES, ask(&importer, DEVICE_FILL, 1));
		ASSERT_EQ(0, ask(&exporter, CPU_FILL, 200));
		EXPECT_EQ(0, ask(&importer, CPU_CHECK, 200));
		EXPECT_EQ(EACCES, ask(&importer, PROTECT, RW));
		/* The file of a writer changes nothing for the reader. */
		ASSERT_EQ(0, ask(&exporter, UNMAP, 0));
		close(object);
		EXPECT_EQ(0, ask(&importer, CPU_CHECK, 200));
		ASSERT_EQ(0, ask(&importer, UNMAP, 0));
		close(reader);
	}
	object = -1;
	EXPECT_TRUE(memory_is_freed(A));
}

TEST_F(shared, object_is_opened_again_for_reading_or_writing)
{
	const uint32_t bad[] = {
		0,
		HMMRT_ACCESS_WRITE,
		HMMRT_ACCESS_EXEC,
		OBJECT_WRITE | HMMRT_ACCESS_EXEC,
		UINT32_MAX,
	};
	int other;

	ASSERT_TRUE(share(0));
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, cmd_object_reopen(object, bad[i]));
	other = FD(cmd_object_reopen(object, OBJECT_WRITE));
	close(object);
	object = other;
	ASSERT_EQ(0, ask(&importer, UNMAP, 0));
	ASSERT_EQ(0, ask_with(&importer, IMPORT, RW, other));
	ASSERT_EQ(0, ask(&importer, CPU_FILL, 5));
	EXPECT_EQ(0, ask(&exporter, CPU_CHECK, 5));
}

TEST_F(shared, devices_and_cpus_of_both_see_the_same_bytes)
{
	const uint32_t flags[] = { 0, MIGRATABLE };

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		ASSERT_TRUE(share(flags[i]));
		ASSERT_TRUE(grant_to_both());
		for (unsigned int round = 1; round < 4; round++) {
			uint32_t first = 100 * round;

			ASSERT_EQ(0, ask(&exporter, DEVICE_FILL, first));
			ASSERT_EQ(pages_sum(OBJECT_BYTES, first),
				  ask(&importer, DEVICE_SUM, 0));
			ASSERT_EQ(0, ask(&importer, CPU_CHECK, first));
			ASSERT_EQ(0, ask(&importer, CPU_FILL, first + 7));
			ASSERT_EQ(0, ask(&exporter, CPU_CHECK, first + 7));
			ASSERT_EQ(pages_sum(OBJECT_BYTES, first + 7),
				  ask(&exporter, DEVICE_SUM, 0));
			ASSERT_EQ(0, ask(&importer, DEVICE_FILL, first + 9));
			ASSERT_EQ(0, ask(&exporter, CPU_CHECK, first + 9));
		}
		close(object);
		ASSERT_EQ(0, ask(&exporter, UNMAP, 0));
		ASSERT_EQ(0, ask(&importer, UNMAP, 0));
	}
	object = -1;
	EXPECT_EQ(0, taken(A));
}

TEST_F(shared, rights_of_a_device_are_those_of_one_process)
{
	ASSERT_TRUE(share(0));
	EXPECT_EQ(EACCES, ask(&exporter, DEVICE_SUM, 0));
	ASSERT_EQ(0, ask(&exporter, GRANT, OBJECT_WRITE));
	ASSERT_EQ(0, ask(&exporter, DEVICE_FILL, 5));
	EXPECT_EQ(EACCES, ask(&importer, DEVICE_SUM, 0));
	ASSERT_EQ(0, ask(&importer, GRANT, OBJECT_READ));
	EXPECT_EQ(pages_sum(OBJECT_BYTES, 5), ask(&importer, DEVICE_SUM, 0));
	EXPECT_EQ(EACCES, ask(&importer, DEVICE_FILL, 6));
	ASSERT_EQ(0, ask(&exporter, GRANT, 0));
	EXPECT_EQ(pages_sum(OBJECT_BYTES, 5), ask(&importer, DEVICE_SUM, 0));
	EXPECT_EQ(EACCES, ask(&exporter, DEVICE_SUM, 0));
}

/* The charge is that of the process that created the object. */
TEST_F(shared, process_without_a_space_uses_the_memory_by_its_cpu)
{
	char *buf;

	ASSERT_TRUE(share(0));
	buf = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
	pages_fill(buf, OBJECT_BYTES, 11);
	EXPECT_EQ(0, ask(&importer, CPU_CHECK, 11));
	ASSERT_EQ(0, ask(&exporter, CPU_FILL, 12));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 12));
}

TEST_F(shared, memory_lives_while_its_descriptor_is_in_flight)
{
	uint64_t number = 0;
	int ends[2], fd = -1;

	ASSERT_EQ(0,
		  socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	object = FD(ask_for_object(&exporter, 0));
	ASSERT_EQ(0, ask(&exporter, CPU_FILL, 40));
	ASSERT_EQ(0, message_send(ends[0], object, 1));
	ASSERT_EQ(0, message_send(ends[0], object, 2));
	close(object);
	object = -1;
	ASSERT_TRUE(partner_end(&exporter, true));
	ASSERT_EQ(0, message_receive(ends[1], &fd, &number));
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ask_with(&importer, IMPORT, RW, fd));
	close(fd);
	EXPECT_EQ(0, ask(&importer, CPU_CHECK, 40));
	ASSERT_EQ(0, ask(&importer, UNMAP, 0));
	/* The second message still has it. */
	EXPECT_EQ((int64_t)OBJECT_BYTES, taken(A));
	close(ends[0]);
	close(ends[1]);
	EXPECT_TRUE(memory_is_freed(A));
}

/* --- one of them ends ----------------------------------------------------- */

enum ending { EXITS, IS_KILLED, IS_KILLED_AT_WORK, UNBINDS, CLOSES, UNMAPS };

FIXTURE(end) {
};

FIXTURE_VARIANT(end) {
	bool of_the_importer;
	enum ending ending;
	uint32_t flags;
};

#define BOTH_END(name, ...)						\
	VARIANT(end, exporter_##name, __VA_ARGS__);			\
	VARIANT(end, importer_##name, .of_the_importer = true, __VA_ARGS__)

BOTH_END(exits, .ending = EXITS);
BOTH_END(is_killed, .ending = IS_KILLED);
BOTH_END(is_killed_at_work, .ending = IS_KILLED_AT_WORK);
BOTH_END(unbinds, .ending = UNBINDS);
BOTH_END(closes_the_space, .ending = CLOSES);
BOTH_END(unmaps, .ending = UNMAPS);
BOTH_END(of_migratable_exits, .ending = EXITS, .flags = MIGRATABLE);
BOTH_END(is_killed_while_it_faults, .ending = IS_KILLED_AT_WORK,
	 .flags = MIGRATABLE);
BOTH_END(of_migratable_unbinds, .ending = UNBINDS, .flags = MIGRATABLE);

FIXTURE_SETUP(end)
{
	ASSERT_TRUE(shared_start());
}

FIXTURE_TEARDOWN(end)
{
	EXPECT_TRUE(shared_end());
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
	struct partner *first = &exporter, *second = &importer;
	uint64_t *words;
	char *buf;

	if (variant->of_the_importer) {
		first = &importer;
		second = &exporter;
	}
	ASSERT_TRUE(share(variant->flags));
	ASSERT_TRUE(grant_to_both());
	buf = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
	close(object);
	object = -1;
	ASSERT_EQ(0, ask(first, DEVICE_FILL, 1));
	ASSERT_EQ(pages_sum(OBJECT_BYTES, 1), ask(second, DEVICE_SUM, 0));
	ASSERT_TRUE(make_end(first, variant->ending, buf));
	words = (uint64_t *)buf;
	if (variant->ending == IS_KILLED_AT_WORK) {
		/* The killed process's device has stopped. */
		uint64_t last = *words;

		usleep(20000);
		EXPECT_EQ(last, *words);
		*words = 1;
	}
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	EXPECT_EQ(0, ask(second, CPU_CHECK, 1));
	EXPECT_EQ(pages_sum(OBJECT_BYTES, 1), ask(second, DEVICE_SUM, 0));
	for (unsigned int round = 2; round < 4; round++) {
		EXPECT_EQ(0, ask(second, DEVICE_FILL, round));
		EXPECT_EQ(0, ask(second, CPU_CHECK, round));
	}
	if (!variant->flags)
		EXPECT_EQ((int64_t)OBJECT_BYTES, taken(A));
}

/* --- memory that was freed ------------------------------------------------ */

#define SMALL_BYTES	(16UL << 20)

FIXTURE(freed) {
	char parameters[SIMGPU_PARAMETERS];
	int manager;
};

FIXTURE_SETUP(freed)
{
	NEED_MODULES();
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

static bool fill(char *at, size_t len)
{
	struct outcome outcome =
		agent_fill(agent_of(A), at, len, 8, 0xdeadbeef);

	return !outcome.error && !outcome.signal;
}

/* Fills the device with other than zeroes, and is killed. */
static void leave_contents(enum kind kind, uint32_t flags, int to_test)
{
	size_t len = kind == HALF_OBJECT ? SMALL_BYTES / 2 : SMALL_BYTES;
	bool ready = !session_start(&session, 1, 1);

	space = session.space;
	if (kind == PAGES_OF_DEVICE)
		buf = arena_anon(len);
	else
		ready = ready && !object_start(A, len, flags);
	ready = ready && fill(buf, len);
	if (kind == HALF_OBJECT)
		ready = ready &&
			fill(arena_anon(SMALL_BYTES - len), SMALL_BYTES - len);
	if (!ready || write(to_test, "", 1) != 1)
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

static bool new_object_is_zero(void)
{
	int object = create_at(A, SMALL_BYTES, 0);
	uint64_t *words = object_map(object, SMALL_BYTES, RW, 0);
	bool zero = words &&
		    first_not_zero(words, SMALL_BYTES / 8) == SMALL_BYTES / 8;

	if (words)
		munmap(words, SMALL_BYTES);
	close(object);
	return zero;
}

static bool new_pages_are_zero(void)
{
	char *pages = arena_anon(SMALL_BYTES);
	struct outcome outcome = agent_sum(agent_of(A), pages, SMALL_BYTES, 64);
	bool zero = !outcome.error && !outcome.signal && !outcome.value;

	munmap(pages, SMALL_BYTES);
	return zero;
}

TEST_F(freed, memory_is_not_visible_to_another_process)
{
	const struct {
		enum kind kind;
		uint32_t flags;
	} cases[] = {
		{ OBJECT, 0 },
		{ OBJECT, MIGRATABLE },
		{ HALF_OBJECT, 0 },
		{ PAGES_OF_DEVICE, 0 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_TRUE(run_and_kill(self, cases[i].kind, cases[i].flags));
		ASSERT_EQ(0, session_start(&session, 1, 1));
		space = session.space;
		EXPECT_TRUE(new_object_is_zero());
		EXPECT_EQ(0, session_end(&session));
		ASSERT_TRUE(run_and_kill(self, cases[i].kind, cases[i].flags));
		ASSERT_EQ(0, session_start(&session, 1, 1));
		EXPECT_TRUE(new_pages_are_zero());
		EXPECT_EQ(0, session_end(&session));
	}
}

TEST_HARNESS_MAIN
