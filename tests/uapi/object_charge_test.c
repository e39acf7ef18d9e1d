// SPDX-License-Identifier: MIT
/*
 * What the system memory behind memory objects and rings of events is charged
 * to: the memory cgroup of the creator, on cgroup v2 and v1, wherever the memory
 * is, and the locked memory of the user. And what follows for others when the
 * creator is at its limit. Loads hmmrt_simgpu with one small device, and
 * restores the module afterwards.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/events.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/object.h"
#include "lib/process.h"
#include "lib/session.h"
#include "lib/setting.h"

#define HOST		HMMRT_LOCATION_HOST
#define RW		(PROT_READ | PROT_WRITE)
#define MODULE		"devices=1 memory=16"
#define DEVICE_BYTES	(8 * BLOCK_BYTES)
#define CONTROLLERS	"/sys/fs/cgroup/cgroup.subtree_control"
#define CGROUP		"/sys/fs/cgroup/hmmrt-charge"
#define V1		"/tmp/hmmrt-cgroup-v1"
#define V1_CGROUP	V1 "/small"
/* Less than an extent, more than what processes allocate otherwise. */
#define SLACK		(256UL << 10)
#define MEMBER		4711	/* a user without privileges */

FIXTURE(charge) {
	char parameters[SIMGPU_PARAMETERS];
	struct session session;
	uint32_t id;
	int socket;		/* to the owner */
	pid_t owner;
};

FIXTURE_SETUP(charge)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(255), "HMMRT_MODULE_DIR is not set");
	self->socket = -1;
	ASSERT_EQ(0, simgpu_replace(self->parameters, MODULE));
	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->id = self->session.devices[0].id;
}

FIXTURE_TEARDOWN(charge)
{
	if (!self->parameters[0])
		return;
	if (self->owner) {
		kill(self->owner, SIGKILL);
		waitpid(self->owner, NULL, 0);
	}
	close(self->socket);
	object_unmap_all();
	rmdir(CGROUP);
	EXPECT_EQ(0, session_end(&self->session));
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

static uint64_t number_in(const char *path)
{
	char word[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return UINT64_MAX;
	if (read(fd, word, sizeof(word) - 1) < 1)
		word[0] = 0;
	close(fd);
	return strtoull(word, NULL, 10);
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
	unsigned int try;

	write_text(CONTROLLERS, "-memory");
	mkdir(V1, 0755);
	for (try = 0; try < 50; try++) {
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
static int memory_cgroups(void)
{
	FILE *file = fopen("/proc/cgroups", "re");
	char line[128];
	int n = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memory %*d %d", &n) == 1)
			break;
	if (file)
		fclose(file);
	return n;
}

/*
 * And back. A removed cgroup stays while it has pages, and the hierarchy, if it
 * is unmounted before, with it.
 */
static bool unmount_v1(void)
{
	unsigned int try;

	for (try = 0; try < 100 && memory_cgroups() > 1; try++) {
		write_text(V1_CGROUP "/memory.force_empty", "0");
		rmdir(V1_CGROUP);
		write_text("/proc/sys/vm/drop_caches", "3");
		usleep(100000);
	}
	umount(V1);
	rmdir(V1);
	for (try = 0; try < 100; try++) {
		if (write_text(CONTROLLERS, "+memory"))
			return true;
		usleep(100000);
	}
	return false;
}

#define V1_BLOCKS	24

static int live_in_v1(void)
{
	struct session session;
	uint64_t before;
	unsigned int i;
	char *buf;

	if (!write_text(V1_CGROUP "/cgroup.procs", "0") ||
	    session_start(&session, 1, 1))
		return 1;
	if (cmd_object_create(session.space, 32 * BLOCK_BYTES, HOST, 0) !=
	    -ENOMEM)
		return 2;
	if (cmd_object_create(session.space, 4 * BLOCK_BYTES, HOST, 0) < 0)
		return 3;
	if (number_in(V1_CGROUP "/memory.usage_in_bytes") < 4 * BLOCK_BYTES)
		return 4;
	/* What the kernel keeps for memory that a device uses. */
	buf = arena_anon(V1_BLOCKS * BLOCK_BYTES);
	before = number_in(V1_CGROUP "/memory.kmem.usage_in_bytes");
	for (i = 0; i < V1_BLOCKS; i++)
		if (agent_write(session_agent(&session), buf + i * BLOCK_BYTES,
				1).error)
			return 5;
	if (number_in(V1_CGROUP "/memory.kmem.usage_in_bytes") <
	    before + V1_BLOCKS * (8UL << 10))
		return 6;
	object_unmap_all();
	return session_end(&session) ? 7 : 0;
}

TEST_F(charge, memory_controller_of_cgroup_v1_limits_all_of_it)
{
	int status = -1;
	pid_t pid;

	if (!getenv("HMMRT_CGROUP_V1"))
		SKIP(return, "HMMRT_CGROUP_V1 is not set: see mount_v1()");
	if (!mount_v1()) {
		write_text(CONTROLLERS, "+memory");
		SKIP(return, "the memory controller is not on cgroup v1: %s",
		     strerror(errno));
	}
	EXPECT_EQ(0, mkdir(V1_CGROUP, 0755));
	EXPECT_TRUE(write_text(V1_CGROUP "/memory.limit_in_bytes", "33554432"));
	pid = fork();
	if (!pid)
		_exit(live_in_v1());
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	EXPECT_TRUE(unmount_v1());
}

TEST_HARNESS_MAIN
