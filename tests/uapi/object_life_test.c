// SPDX-License-Identifier: MIT
/*
 * How long memory objects live: while a descriptor or a mapping does, in any
 * process, and across fork() and exec(). object_share_test.c has two processes
 * that use one object and end.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "lib/harness.h"
#include "lib/object.h"
#include "lib/process.h"
#include "lib/session.h"

#define LIMIT_S		30
#define RW		(PROT_READ | PROT_WRITE)

FIXTURE(life) {
	struct session session;
	struct agent *agent;
	int space;
	uint32_t id;
	int64_t used;		/* before the test */
};

FIXTURE_SETUP(life)
{
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->space = self->session.space;
	self->id = self->session.devices[0].id;
	self->used = self->session.devices[0].used_before;
}

FIXTURE_TEARDOWN(life)
{
	object_unmap_all();
	EXPECT_EQ(0, session_end(&self->session));
}

static int create(const FIXTURE_DATA(life) *self, size_t blocks)
{
	return cmd_object_create(self->space, blocks * BLOCK_BYTES, self->id,
				 0);
}

TEST_F(life, memory_lives_while_it_is_mapped)
{
	int object = create(self, 2);
	char *buf = object_map(object, 2 * BLOCK_BYTES, RW, 0);
	const int64_t used = self->used + (int64_t)(2 * BLOCK_BYTES);

	ASSERT_NE(NULL, buf);
	pages_fill(buf, 2 * BLOCK_BYTES, 1);
	close(object);
	EXPECT_EQ(used, device_used_bytes(self->space, self->id));
	ASSERT_EQ(0, cmd_set_access(self->space, buf, 2 * BLOCK_BYTES, self->id,
				    OBJECT_WRITE));
	ASSERT_VALUE(pages_sum(2 * BLOCK_BYTES, 1),
		     agent_sum(self->agent, buf, 2 * BLOCK_BYTES, PAGE_BYTES));
	/* A part of a mapping keeps all of the object. */
	ASSERT_EQ(0, munmap(buf, 2 * BLOCK_BYTES - PAGE_BYTES));
	EXPECT_EQ(used, device_used_bytes(self->space, self->id));
	EXPECT_EQ(2 * BLOCK_PAGES,
		  *(uint64_t *)(buf + 2 * BLOCK_BYTES - PAGE_BYTES));
	ASSERT_EQ(0, munmap(buf + 2 * BLOCK_BYTES - PAGE_BYTES, PAGE_BYTES));
	EXPECT_EQ(self->used, device_used_bytes(self->space, self->id));
}

TEST_F(life, memory_lives_while_it_has_a_descriptor)
{
	int object = create(self, 1), copy = dup(object);
	char *buf = object_map(object, BLOCK_BYTES, RW, 0);

	ASSERT_NE(NULL, buf);
	pages_fill(buf, BLOCK_BYTES, 1);
	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	close(object);
	EXPECT_EQ(self->used + (int64_t)BLOCK_BYTES,
		  device_used_bytes(self->space, self->id));
	buf = object_map(copy, BLOCK_BYTES, PROT_READ, 0);
	ASSERT_NE(NULL, buf);
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	close(copy);
}

TEST_F(life, child_has_a_hole_and_the_parent_keeps_its_mapping)
{
	int object = create(self, 1), status;
	char *buf = object_map(object, BLOCK_BYTES, RW, 0);

	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, cmd_set_access(self->space, buf, BLOCK_BYTES, self->id,
				    OBJECT_WRITE));
	pages_fill(buf, BLOCK_BYTES, 1);
	status = cpu_read_in_child(buf);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGSEGV, WTERMSIG(status));
	ASSERT_VALUE(pages_sum(BLOCK_BYTES, 1),
		     agent_sum(self->agent, buf, BLOCK_BYTES, PAGE_BYTES));
	EXPECT_EQ(-1, pages_check(buf, BLOCK_BYTES, 1));
	close(object);
}

/* The child has the descriptor and maps the memory at its own address. */
TEST_F(life, child_maps_the_memory_by_its_descriptor)
{
	int object = create(self, 1), status = -1;
	uint64_t *words = object_map(object, BLOCK_BYTES, RW, 0);
	pid_t pid;

	ASSERT_NE(NULL, words);
	*words = 5;
	pid = fork();
	if (!pid) {
		words = object_map(object, BLOCK_BYTES, RW, 0);
		if (!words || *words != 5)
			_exit(1);
		*words = 6;
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(6, *words);
	close(object);
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
	int object = create(self, 1);

	ASSERT_LE(0, object);
	EXPECT_EQ(0, survives_exec(object));
	ASSERT_EQ(0, fcntl(object, F_SETFD, 0));
	EXPECT_EQ(1, survives_exec(object));
	close(object);
}

/* A program that was executed with the descriptor keeps the memory. */
TEST_F(life, memory_lives_while_another_program_has_the_descriptor)
{
	int object = create(self, 1), status;
	pid_t pid;

	ASSERT_LE(0, object);
	pid = fork();
	if (!pid) {
		fcntl(object, F_SETFD, 0);
		execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(2);
	}
	ASSERT_TRUE(process_wait_program(pid, LIMIT_S, "sleep"));
	close(object);
	EXPECT_EQ(self->used + (int64_t)BLOCK_BYTES,
		  device_used_bytes(self->space, self->id));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(device_wait_used(self->space, self->id, self->used));
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
						   self->id, 0);
		if (object >= 0)
			words = object_map(object, BLOCK_BYTES, RW, 0);
		if (words)
			*words = 1;
		c = words && device_used_bytes(manager, self->id) ==
				     self->used + (int64_t)BLOCK_BYTES;
		if (write(ends[1], &c, 1) == 1)
			execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(2);
	}
	ASSERT_EQ(1, read(ends[0], &c, 1));
	EXPECT_EQ(1, c);
	EXPECT_TRUE(process_wait_program(pid, LIMIT_S, "sleep"));
	EXPECT_TRUE(device_wait_used(self->space, self->id, self->used));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	close(ends[0]);
	close(ends[1]);
}

TEST_HARNESS_MAIN
