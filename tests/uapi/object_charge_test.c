// SPDX-License-Identifier: MIT
/*
 * Who is charged for memory objects. The system memory behind objects and rings
 * of events is charged to the memory cgroup of the creator, on cgroup v2 and
 * v1, wherever the memory is, and to the locked memory of the user. Others must
 * not suffer when the creator is at its limit. Loads hmmrt_simgpu with a small
 * device, and restores the module and its parameters afterwards.
 */
#include <poll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/events.h"
#include "lib/fixture.h"
#include "lib/objects.h"

#define DEVICE_BYTES	(8 * BLOCK_BYTES)
#define ROOT		"/sys/fs/cgroup"
#define CGROUP		ROOT "/hmmrt-object"
#define USER_CGROUP	CGROUP "-user"
#define AGENT_CGROUP	CGROUP "-agent"
#define CONTROLLERS	ROOT "/cgroup.subtree_control"
#define V1		"/tmp/hmmrt-cgroup-v1"
#define V1_CGROUP	V1 "/small"
/* Less than an extent, more than what processes allocate otherwise. */
#define SLACK		(1UL << 20)
#define MEMBER		4711	/* a user without privileges */

FIXTURE(charge) {
	int socket;		/* to the owner */
	pid_t owner;
};

FIXTURE_SETUP(charge)
{
	self->socket = -1;
	DEVICES_SETUP(.load = "devices=1 memory=16", .end = objects_end);
}

FIXTURE_TEARDOWN(charge)
{
	if (self->owner)
		process_kill(self->owner);
	close(self->socket);
	DEVICES_TEARDOWN();
	rmdir(CGROUP);
	rmdir(AGENT_CGROUP);
	if (!access(USER_CGROUP, F_OK)) {
		write_text(ROOT "/cgroup.procs", "0");
		rmdir(USER_CGROUP);
	}
}

static uint64_t number_in(const char *path)
{
	return (uint64_t)read_number(path, "%ld");
}

/* --- cgroup v1 ------------------------------------------------------------ */

/*
 * Moves the memory controller to v1. What removed cgroups left goes first. The
 * core warns when memory is freed that was charged before the move, so only a
 * guest that has had no memory cgroup can do this:
 * HMMRT_CGROUP_V1=yes tools/vm run -- build/user/tests/uapi/object_charge_test
 */
static bool mount_v1(void)
{
	write_text(CONTROLLERS, "-memory");
	mkdir(V1, 0755);
	for (unsigned int try = 0; try < 50; try++) {
		if (!mount("cgroup", V1, "cgroup", 0, "memory"))
			return true;
		if (errno != EBUSY)
			break;
		write_text("/proc/sys/vm/drop_caches", "3");
		usleep(100000);
	}
	return false;
}

/* How many cgroups the memory controller has, with those that were removed. */
static long memory_cgroups(void)
{
	return read_number("/proc/cgroups", "memory %*d %ld");
}

/*
 * And back. A removed cgroup stays while it has pages, and the hierarchy, if it
 * is unmounted before, with it.
 */
static bool unmount_v1(void)
{
	for (unsigned int try = 0; try < 400 && memory_cgroups() > 1; try++) {
		write_text(V1_CGROUP "/memory.force_empty", "0");
		rmdir(V1_CGROUP);
		write_text("/proc/sys/vm/drop_caches", "3");
		usleep(100000);
	}
	umount(V1);
	rmdir(V1);
	return WAIT_UNTIL(write_text(CONTROLLERS, "+memory"), 40);
}

#define V1_BLOCKS	24

static int live_in_v1(void)
{
	uint64_t before;

	if (!write_text(V1_CGROUP "/cgroup.procs", "0") ||
	    session_start(&session, 1, 1))
		return 1;
	space = session.space;
	if (create_on_host(32) != -ENOMEM)
		return 2;
	if (create_on_host(4) < 0)
		return 3;
	if (number_in(V1_CGROUP "/memory.usage_in_bytes") < 4 * BLOCK_BYTES)
		return 4;
	/* What the kernel keeps for memory that a device uses. */
	buf = arena_anon(V1_BLOCKS * BLOCK_BYTES);
	before = number_in(V1_CGROUP "/memory.kmem.usage_in_bytes");
	for (unsigned int i = 0; i < V1_BLOCKS; i++)
		if (dev_write(A, buf + i * BLOCK_BYTES, 1).error)
			return 5;
	if (number_in(V1_CGROUP "/memory.kmem.usage_in_bytes") <
	    before + V1_BLOCKS * (8UL << 10))
		return 6;
	object_unmap_all();
	return session_end(&session) ? 7 : 0;
}

/* Removed cgroups go at a time of the kernel's choice. */
TEST_F_TIMEOUT(charge, memory_controller_of_cgroup_v1_limits_all_of_it, 100)
{
	if (!getenv("HMMRT_CGROUP_V1"))
		SKIP(return, "HMMRT_CGROUP_V1 is not set: see mount_v1()");
	if (!mount_v1()) {
		write_text(CONTROLLERS, "+memory");
		SKIP(return, "the memory controller is not on cgroup v1: %s",
		     strerror(errno));
	}
	EXPECT_EQ(0, mkdir(V1_CGROUP, 0755));
	if (access(V1_CGROUP "/memory.limit_in_bytes", F_OK)) {
		EXPECT_TRUE(unmount_v1());
		SKIP(return, "no limits in cgroup v1: CONFIG_MEMCG_V1=n");
	}
	EXPECT_TRUE(write_text(V1_CGROUP "/memory.limit_in_bytes", "33554432"));
	EXPECT_EQ(0, IN_CHILD(live_in_v1()));
	EXPECT_TRUE(unmount_v1());
}

/* --- the owner of an object ----------------------------------------------- */

static bool make_cgroup(void)
{
	write_text(CONTROLLERS, "+memory");
	return !mkdir(CGROUP, 0755) && !access(CGROUP "/memory.max", W_OK);
}

/* The cgroup cannot get another extent. */
static bool stop_growth(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu",
		 number_in(CGROUP "/memory.current") + SLACK);
	return write_text(CGROUP "/memory.max", text);
}

/*
 * Creates a migratable object in the cgroup, puts its first @used bytes on the
 * device, sends it, and reads the word behind them when it is told to. Sends
 * the signal of that.
 */
static int be_owner(int socket, size_t len, size_t used)
{
	int gpu = open_gpu(0), none, sig = 0;
	struct hmmrt_prefetch result = { 0 };
	uint64_t value;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	space = open_manager();
	if (!write_text(CGROUP "/cgroup.procs", "0") ||
	    cmd_space_create(space) || cmd_bind(gpu, space, NULL))
		return 1;
	if (object_new(HOST, len, MIGRATABLE, RW))
		return 2;
	pages_fill(buf, used, 1);
	if (prefetch_result(A, buf, used, &result) ||
	    result.out_pages_moved != used / PAGE_BYTES)
		return 3;
	while (!message_send(socket, object, sig) &&
	       !message_receive(socket, &none, &value))
		sig = cpu_read(buf + used, &value);
	return 4;
}

/* Returns the object of a new owner, or a negative errno. */
static int start_owner(FIXTURE_DATA(charge) *self, size_t len, size_t used)
{
	int sockets[2], object = -1;
	uint64_t number;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	self->owner = fork();
	if (!self->owner) {
		close(sockets[0]);
		_exit(be_owner(sockets[1], len, used));
	}
	close(sockets[1]);
	self->socket = sockets[0];
	return message_receive(self->socket, &object, &number) ? -EPIPE :
								 object;
}

TEST_F(charge, owner_at_its_limit_loses_device_memory_to_others)
{
	const size_t len = 6 * BLOCK_BYTES, share = DEVICE_BYTES / 2;
	char *pages = arena_anon(share), *buf;
	int object;

	if (!make_cgroup())
		SKIP(return, "the memory controller is not available");
	object = FD(start_owner(self, len, len));
	EXPECT_LE(len, number_in(CGROUP "/memory.current"));
	ASSERT_TRUE(stop_growth());
	PLACE(A, pages, share, 7);
	EXPECT_AT(A, pages, share);
	/* The rest moves for the CPU of a process that shares the object. */
	buf = NOT_NULL(object_map(object, len, RW, 0));
	EXPECT_EQ(-1, pages_check(buf, len, 1));
	EXPECT_EQ(0, waitpid(self->owner, NULL, WNOHANG));
	EXPECT_LE(len, number_in(CGROUP "/memory.current"));
	close(object);
}

static pid_t start_reader(int object, size_t len, size_t at)
{
	pid_t pid = fork();
	uint64_t value = 1;
	char *buf;

	if (pid)
		return pid;
	buf = mmap(NULL, len, RW, MAP_SHARED, object, 0);
	if (buf == MAP_FAILED || cpu_read(buf + at, &value))
		_exit(1);
	_exit(value ? 2 : 0);
}

/*
 * The limit is that of the owner: it gets SIGBUS. Another process that uses the
 * memory is charged itself.
 */
TEST_F(charge, memory_over_the_limit_of_the_owner_is_no_error_for_others)
{
	const size_t len = 2 * BLOCK_BYTES, used = BLOCK_BYTES;
	uint64_t number;
	int object;
	pid_t reader;

	if (!make_cgroup())
		SKIP(return, "the memory controller is not available");
	object = FD(start_owner(self, len, used));
	ASSERT_TRUE(stop_growth());
	/* The owner answers after a second or so, when its fault has failed. */
	ASSERT_EQ(0, message_send(self->socket, -1, 0));
	close(object);
	ASSERT_EQ(0, message_receive(self->socket, &object, &number));
	EXPECT_EQ(SIGBUS, number);
	/* Attempts that come near the limit have others of the cgroup killed. */
	EXPECT_GT(number_in(CGROUP "/memory.max"),
		  number_in(CGROUP "/memory.peak"));
	reader = start_reader(object, len, used);
	ASSERT_LT(0, reader);
	EXPECT_EQ(0, process_wait_for(reader, 60));
	close(object);
}

/* Also if its device uses the memory: the agent is not charged. */
TEST_F(charge, process_of_a_device_is_charged_and_not_its_agent)
{
	const size_t len = 2 * BLOCK_BYTES, used = BLOCK_BYTES;
	char pid[16], *buf;
	int object;

	if (!make_cgroup())
		SKIP(return, "the memory controller is not available");
	object = FD(start_owner(self, len, used));
	ASSERT_TRUE(stop_growth());
	ASSERT_EQ(0, mkdir(USER_CGROUP, 0755));
	ASSERT_EQ(0, mkdir(AGENT_CGROUP, 0755));
	snprintf(pid, sizeof(pid), "%d", agent_of(A)->pid);
	ASSERT_TRUE(write_text(AGENT_CGROUP "/cgroup.procs", pid));
	ASSERT_TRUE(write_text(USER_CGROUP "/cgroup.procs", "0"));
	buf = NOT_NULL(object_map(object, len, RW, 0));
	ASSERT_EQ(0, set_access(buf, len, A, OBJECT_WRITE));
	EXPECT_GT(SLACK, number_in(USER_CGROUP "/memory.current"));
	ASSERT_VALUE(0, dev_read(A, buf + used));
	EXPECT_LE(BLOCK_BYTES, number_in(USER_CGROUP "/memory.current"));
	EXPECT_GT(SLACK, number_in(AGENT_CGROUP "/memory.current"));
	close(object);
}

/*
 * A shortage may last for a moment only, as while memory is reclaimed: the
 * owner waits for a second. If the shortage was longer, try again.
 */
TEST_F(charge, shortage_of_less_than_a_second_is_no_error)
{
	const size_t len = 2 * BLOCK_BYTES, used = BLOCK_BYTES;
	uint64_t sig = SIGBUS, lasted = 1000;
	struct pollfd reply = { .events = POLLIN };
	bool answered;
	int object;

	if (!make_cgroup())
		SKIP(return, "the memory controller is not available");
	object = start_owner(self, len, used);
	reply.fd = self->socket;
	for (unsigned int try = 0; try < 20 && sig && lasted >= 900; try++) {
		ASSERT_LE(0, object);
		close(object);
		ASSERT_TRUE(stop_growth());
		lasted = now_ns() / 1000000;
		ASSERT_EQ(0, message_send(self->socket, -1, 0));
		usleep(500000);
		answered = poll(&reply, 1, 0);
		ASSERT_TRUE(write_text(CGROUP "/memory.max", "max"));
		lasted = now_ns() / 1000000 - lasted;
		EXPECT_FALSE(answered && lasted < 900);
		ASSERT_EQ(0, message_receive(self->socket, &object, &sig));
	}
	EXPECT_EQ(0, sig);
	close(object);
}

/* Also for memory that is on a device when the object goes. */
TEST_F(charge, charge_ends_with_the_object)
{
	const size_t len = 6 * BLOCK_BYTES;
	int object;

	if (!make_cgroup())
		SKIP(return, "the memory controller is not available");
	object = FD(start_owner(self, len, len));
	ASSERT_EQ((int64_t)len, used(A));
	ASSERT_EQ(0, process_kill(self->owner));
	self->owner = 0;
	EXPECT_LE(len, number_in(CGROUP "/memory.current"));
	close(object);
	WAIT_UNTIL(number_in(CGROUP "/memory.current") < len / 4, 30);
	EXPECT_GT(len / 4, number_in(CGROUP "/memory.current"));
}

/* --- locked memory -------------------------------------------------------- */

/* Returns VmPin of this process in bytes. */
static uint64_t pinned_bytes(void)
{
	return (uint64_t)read_number("/proc/self/status", "VmPin: %ld") << 10;
}

/* Gives the calling process a user without privileges, and this limit. */
static bool become_member(uint64_t may_lock)
{
	const struct rlimit limit = { may_lock, may_lock };

	return !setrlimit(RLIMIT_MEMLOCK, &limit) &&
	       !setresgid(MEMBER, MEMBER, MEMBER) &&
	       !setresuid(MEMBER, MEMBER, MEMBER);
}

/* Exits with the number of the first step that is wrong. */
static int lock_objects(int socket)
{
	int first, second;
	uint64_t number;

	if (create_on_host(4) != -EPERM)
		return 1;
	first = create_on_host(2);
	if (first < 0 || pinned_bytes() != 2 * BLOCK_BYTES)
		return 2;
	if (create_on_host(2) != -EPERM)
		return 3;
	second = create_on_host(1);
	if (second < 0 || pinned_bytes() != 3 * BLOCK_BYTES)
		return 4;
	close(second);
	/* The creator's user pays, also while only others have the object. */
	if (message_send(socket, first, 0))
		return 5;
	close(first);
	if (create_on_host(2) != -EPERM)
		return 6;
	if (message_send(socket, -1, 0) ||
	    message_receive(socket, &first, &number))
		return 7;
	if (pinned_bytes())
		return 8;
	return create_on_host(3) < 0 ? 9 : 0;
}

static pid_t start_member(int socket, uint64_t may_lock, int (*run)(int socket))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	space = open_manager();
	if (cmd_space_create(space) || !become_member(may_lock))
		_exit(100);
	_exit(run(socket));
}

TEST_F(charge, pinned_objects_in_system_memory_are_locked_memory)
{
	int sockets[2], object = -1, status;
	uint64_t number;
	pid_t pid;

	/* In the second round nothing of the first is left. */
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC,
					0, sockets));
		pid = start_member(sockets[1], 3 * BLOCK_BYTES, lock_objects);
		close(sockets[1]);
		EXPECT_EQ(0, message_receive(sockets[0], &object, &number));
		EXPECT_LE(0, object);
		EXPECT_EQ(0, message_receive(sockets[0], &status, &number));
		close(object);
		message_send(sockets[0], -1, 0);
		EXPECT_EQ(0, process_wait_for(pid, 60));
		close(sockets[0]);
	}
}

static int lock_rings(int socket)
{
	struct events events;

	(void)socket;
	if (events_open(&events, space, HMMRT_EVENTS_OF_SPACE, 4096) != -EPERM)
		return 1;
	if (events_open(&events, space, HMMRT_EVENTS_OF_SPACE, 64))
		return 2;
	if (!pinned_bytes())
		return 3;
	events_close(&events);
	return pinned_bytes() ? 4 : 0;
}

TEST_F(charge, rings_of_events_are_locked_memory)
{
	EXPECT_EQ(0, process_wait_for(start_member(-1, 64UL << 10, lock_rings),
				      60));
}

TEST_F(charge, limit_of_locked_memory_is_not_one_for_a_privileged_process)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit before;
	int object;

	ASSERT_EQ(0, getrlimit(RLIMIT_MEMLOCK, &before));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &none));
	object = create_on_host(1);
	EXPECT_LE(0, object);
	EXPECT_EQ(BLOCK_BYTES, pinned_bytes());
	close(object);
	EXPECT_EQ(0, pinned_bytes());
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &before));
}

TEST_HARNESS_MAIN
