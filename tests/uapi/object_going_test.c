// SPDX-License-Identifier: MIT
/*
 * Memory objects whose devices fail, go away or come back, and objects that
 * outlive the modules of their devices. Contents survive in system memory,
 * mappings stay, and only what cannot be read any more is lost. Loads the
 * modules of the devices, and restores or removes them afterwards.
 */
#include <sched.h>
#include <sys/stat.h>

#include "lib/faulty_fixture.h"
#include "lib/inject.h"
#include "lib/loop.h"
#include "lib/objects.h"

#define CGROUP		"/sys/fs/cgroup/hmmrt-going"
#define REMOVER_CGROUP	CGROUP "-remover"

FIXTURE(going) {
};

FIXTURE_SETUP(going)
{
	FAULTY_SETUP();
}

FIXTURE_TEARDOWN(going)
{
	objects_end();
	EXPECT_EQ(0, faulty_hollow(control, 0));
	FAULTY_TEARDOWN();
}

/* The CPU has no access: only devices of simgpu have a window for it. */
static int going_start(unsigned int device, uint32_t flags)
{
	int prot = flags ? RW : PROT_NONE;
	int rc = object_new(device, OBJECT_BYTES, flags, prot);

	return rc ? rc : grant_all(OBJECT_WRITE);
}

static int remove_b(void)
{
	return faulty_devices(control, 1);
}

/* A new device takes its place. */
static int return_b(void)
{
	int rc;

	close(fds[B]);
	rc = faulty_devices(control, 2);
	fds[B] = open_faulty(B);
	return rc ? rc : fds[B] < 0 ? fds[B] : 0;
}

/* A device writes, or checks, each page's first word. */
static int device_fill(unsigned int device, uint64_t value)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < OBJECT_PAGES; i++)
		rc = faulty_write(fds[device], word_of(buf, i), value + i);
	return rc;
}

static int device_check(unsigned int device, uint64_t value)
{
	uint64_t found = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < OBJECT_PAGES; i++) {
		rc = faulty_read(fds[device], word_of(buf, i), &found);
		if (!rc && found != value + i)
			rc = -EILSEQ;
	}
	return rc;
}

/* --- devices without a window for the CPU --------------------------------- */

TEST_F(going, cpu_has_no_access_to_a_device_without_a_window)
{
	ASSERT_EQ(0, going_start(A, 0));
	EXPECT_EQ(-1, mprotect(buf, OBJECT_BYTES, PROT_READ));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(buf, PAGE_BYTES, RW));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-EACCES,
		  object_map_at(object, buf, OBJECT_BYTES, PROT_READ, 0));
	EXPECT_EQ(-EACCES, object_map_at(object, buf, OBJECT_BYTES, RW, 0));
}

TEST_F(going, devices_use_memory_that_the_cpu_cannot)
{
	ASSERT_EQ(0, going_start(A, 0));
	ASSERT_EQ(0, device_fill(A, 1));
	EXPECT_EQ(0, device_check(A, 1));
	EXPECT_EQ(0, device_check(B, 1));
	ASSERT_EQ(0, device_fill(B, 500));
	EXPECT_EQ(0, device_check(A, 500));
	ASSERT_EQ(0, grant(B, OBJECT_READ));
	EXPECT_EQ(-EACCES, faulty_write(fds[B], buf, 1));
	ASSERT_EQ(0, grant(A, 0));
	EXPECT_EQ(-EACCES, device_check(A, 500));
	EXPECT_EQ(0, device_check(B, 500));
}

/* --- devices that go ------------------------------------------------------ */

/* Device B goes. Device A uses the object's memory in system memory then. */
static void go_and_check(struct __test_metadata *_metadata, uint32_t flags)
{
	struct hmmrt_object_info info;
	uint32_t id = id_of(B);
	char *other;

	ASSERT_EQ(0, going_start(B, flags));
	ASSERT_EQ(0, device_fill(B, 1));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	if (!flags)
		ASSERT_EQ(0, device_check(A, 1));
	ASSERT_EQ(0, remove_b());
	ASSERT_EQ(0, cmd_object_info(object, &info));
	EXPECT_EQ(id, info.out_location);
	EXPECT_EQ(0, info.out_resident_bytes);
	EXPECT_EQ(OBJECT_BYTES, info.out_bytes);
	EXPECT_EQ(0, device_check(A, 1));
	ASSERT_EQ(0, device_fill(A, 700));
	EXPECT_EQ(0, device_check(A, 700));
	/* Now the CPU can use it, at least by a new mapping. */
	other = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
	EXPECT_EQ(-1, pages_check(other, OBJECT_BYTES, 700));
	pages_fill(other, OBJECT_BYTES, 900);
	EXPECT_EQ(0, device_check(A, 900));
	EXPECT_EQ(-ENODEV, faulty_write(fds[B], buf, 1));
	EXPECT_EQ(-ENODEV, grant(B, OBJECT_READ));
	EXPECT_EQ(-ENODEV, cmd_object_create(space, OBJECT_BYTES, id, 0));
}

TEST_F(going, contents_survive_the_device_of_a_pinned_object)
{
	go_and_check(_metadata, 0);
}

TEST_F(going, contents_survive_the_device_of_a_migratable_object)
{
	go_and_check(_metadata, MIGRATABLE);
}

/*
 * Create an object in a process of the cgroup, which exits and leaves the
 * descriptor here. Returns its exit status.
 */
static int create_in_cgroup(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0,
				   0);

	if (!pid) {
		int manager = open_manager(), rc;

		if (!write_text(CGROUP "/cgroup.procs", "0") ||
		    cmd_space_create(manager))
			_exit(254);
		rc = cmd_object_create(manager, OBJECT_BYTES, id_of(B), 0);
		close(manager);
		_exit(rc < 0 ? 255 : rc);
	}
	return process_result(pid);
}

/* One device goes, by a process of another cgroup. Returns its exit status. */
static int remove_in_cgroup(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (!write_text(REMOVER_CGROUP "/cgroup.procs", "0"))
			_exit(254);
		_exit(-remove_b());
	}
	return process_result(pid);
}

/*
 * The end of a device waits for no limit of a process, and no other process is
 * charged instead.
 */
TEST_F(going, device_goes_if_the_creator_may_have_no_more_memory)
{
	char charged[16] = "";

	write_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) || access(CGROUP "/memory.max", W_OK))
		SKIP(return, "the memory controller is not available");
	object = FD(create_in_cgroup());
	ASSERT_GT(254, object);
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	ASSERT_TRUE(write_text(CGROUP "/memory.max", "0"));
	ASSERT_EQ(0, mkdir(REMOVER_CGROUP, 0755));
	EXPECT_EQ(0, remove_in_cgroup());
	EXPECT_EQ(0, object_resident(object));
	EXPECT_TRUE(read_word(REMOVER_CGROUP "/memory.current", charged));
	EXPECT_GT(OBJECT_BYTES / 2, strtoul(charged, NULL, 10));
	EXPECT_EQ(0, rmdir(REMOVER_CGROUP));
	buf = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
	pages_fill(buf, OBJECT_BYTES, 5);
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 5));
	EXPECT_EQ(0, rmdir(CGROUP));
}

TEST_F(going, objects_that_nothing_maps_survive_their_device)
{
	ASSERT_EQ(0, going_start(B, 0));
	ASSERT_EQ(0, device_fill(B, 1));
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	ASSERT_EQ(0, faulty_devices(control, 0));
	buf = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
	ASSERT_EQ(0, object_end());
}

TEST_F(going, mapping_without_a_descriptor_survives_its_device)
{
	ASSERT_EQ(0, going_start(B, MIGRATABLE));
	close(object);
	object = -1;
	ASSERT_EQ(0, device_fill(B, 1));
	ASSERT_EQ(0, remove_b());
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
	EXPECT_EQ(0, device_check(A, 1));
}

/* A new device gets the id, but neither the rights nor the memory. */
TEST_F(going, new_device_of_the_same_id_has_no_rights)
{
	uint32_t id = id_of(B), access, now;

	ASSERT_EQ(0, going_start(B, 0));
	ASSERT_EQ(0, device_fill(B, 1));
	ASSERT_EQ(0, remove_b());
	ASSERT_EQ(0, return_b());
	ASSERT_EQ(0, device_named(space, "hmmrt-faulty1", &now));
	ASSERT_EQ(id, now);
	ASSERT_EQ(0, cmd_get_access(space, buf, OBJECT_BYTES, id, &access));
	EXPECT_EQ(0, access);
	EXPECT_EQ(-EACCES, faulty_read(fds[B], buf, NULL));
	EXPECT_EQ(0, object_resident(object));
	EXPECT_EQ(0, device_used_bytes(space, id));
	ASSERT_EQ(0, grant(B, OBJECT_WRITE));
	EXPECT_EQ(0, device_check(B, 1));
	/* A pinned object is not at its location any more, and stays away. */
	EXPECT_EQ(0, object_resident(object));
	EXPECT_EQ(0, device_check(A, 1));
}

/* Only the binding ends: pinned memory stays on the device. */
TEST_F(going, unbinding_leaves_pinned_memory_on_the_device)
{
	uint32_t access;

	ASSERT_EQ(0, going_start(B, 0));
	ASSERT_EQ(0, device_fill(B, 1));
	close(fds[B]);
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	EXPECT_EQ(0, device_check(A, 1));
	fds[B] = FD(open_faulty(B));
	/* Rights end with the binding. */
	ASSERT_EQ(0, get_access(buf, OBJECT_BYTES, B, &access));
	EXPECT_EQ(0, access);
	EXPECT_EQ(-EACCES, device_check(B, 1));
	ASSERT_EQ(0, grant(B, OBJECT_WRITE));
	EXPECT_EQ(0, device_check(B, 1));
}

struct writer {
	char *buf;
	int fd;
	int rc;
	uint64_t last;
};

/* Each word says how many were written to it; the first failure ends it. */
static void write_next(void *arg)
{
	struct writer *writer = arg;

	if (!writer->rc)
		writer->rc = faulty_write(writer->fd, writer->buf,
					  writer->last + 1);
	if (!writer->rc)
		__atomic_store_n(&writer->last, writer->last + 1,
				 __ATOMIC_RELAXED);
}

/* Waits for so many writes, or for the first that fails. */
static void wait_for_writes(const struct writer *writer, uint64_t count)
{
	while (__atomic_load_n(&writer->last, __ATOMIC_RELAXED) < count &&
	       !__atomic_load_n(&writer->rc, __ATOMIC_RELAXED))
		usleep(1000);
}

/* Device A writes to the memory of B while B goes and comes. */
TEST_F(going, writes_of_a_peer_survive_a_device_that_goes)
{
	const uint32_t flags[] = { 0, MIGRATABLE };

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		struct writer writer = { .fd = fds[A] };
		uint64_t seen, value = 0;
		struct loop loop;

		ASSERT_EQ(0, going_start(B, flags[i]));
		writer.buf = buf;
		ASSERT_EQ(0, loop_start(&loop, write_next, &writer));
		wait_for_writes(&writer, 100);
		EXPECT_EQ(0, remove_b());
		seen = __atomic_load_n(&writer.last, __ATOMIC_RELAXED);
		wait_for_writes(&writer, seen + 100);
		ASSERT_EQ(0, loop_stop(&loop));
		EXPECT_EQ(0, writer.rc);
		EXPECT_EQ(0, faulty_read(fds[A], buf, &value));
		EXPECT_EQ(writer.last, value);
		ASSERT_EQ(0, object_end());
		ASSERT_EQ(0, return_b());
	}
}

/* A hollow device is no peer of another one, and its memory cannot be read. */
TEST_F(going, memory_of_no_possible_peer_is_eopnotsupp)
{
	uint32_t access;

	close(fds[B]);
	ASSERT_EQ(0, remove_b());
	ASSERT_EQ(0, faulty_hollow(control, 16));
	ASSERT_EQ(0, faulty_devices(control, 2));
	fds[B] = FD(open_faulty(B));
	EXPECT_EQ(-EOPNOTSUPP, going_start(B, 0));
	ASSERT_NE(NULL, buf);
	ASSERT_EQ(0, get_access(buf, OBJECT_BYTES, A, &access));
	EXPECT_EQ(0, access);
	EXPECT_EQ(-EACCES, faulty_read(fds[A], buf, NULL));
	/* Taking rights away that it cannot have is no error. */
	EXPECT_EQ(0, grant(A, 0));
	EXPECT_EQ(0, grant(B, OBJECT_WRITE));
}

TEST_F(going, eviction_of_a_device_takes_migratable_objects_only)
{
	int pinned = FD(create(1));

	ASSERT_EQ(0, going_start(A, MIGRATABLE));
	ASSERT_EQ(0, device_fill(A, 1));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	/* There is memory on the device that stays. */
	EXPECT_EQ(-EBUSY, faulty_evict(control, A));
	EXPECT_EQ(0, object_resident(object));
	EXPECT_EQ(BLOCK_BYTES, object_resident(pinned));
	EXPECT_EQ((int64_t)BLOCK_BYTES, used(A));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
	close(pinned);
	EXPECT_EQ(0, faulty_evict(control, A));
}

/* --- devices that fail ---------------------------------------------------- */

/*
 * The memory must be cleared, so it cannot be given out if that fails. Nothing
 * of a failed call remains.
 */
TEST_F(going, failing_device_fails_create_and_keeps_no_memory)
{
	const enum hmmrt_faulty_op ops[] = {
		HMMRT_FAULTY_POPULATE, HMMRT_FAULTY_COPY_TO_DEVICE,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++)
		for (unsigned int nth = 1; nth < 4; nth++) {
			int object;

			ASSERT_EQ(0, faulty_renew());
			ASSERT_EQ(0, faulty_fail_nth(control, ops[i], nth));
			object = create(2);
			if (faulty_fail_stop(control, ops[i])) {
				/* So many calls were not made. */
				EXPECT_LE(0, object);
				EXPECT_LT(1, nth);
			} else {
				EXPECT_GT(0, object);
			}
			close(object);
			EXPECT_EQ(0, used(A));
		}
}

/* A device that fails takes nothing from one that uses the memory in place. */
TEST_F(going, failing_move_leaves_a_block_where_it_is)
{
	const enum hmmrt_faulty_op ops[] = {
		HMMRT_FAULTY_POPULATE, HMMRT_FAULTY_COPY_TO_DEVICE,
	};

	ASSERT_EQ(0, going_start(A, MIGRATABLE));
	pages_fill(buf, OBJECT_BYTES, 1);
	for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
		ASSERT_EQ(0, faulty_fail_always(control, ops[i]));
		EXPECT_EQ(0, device_check(A, 1 + 1000 * i));
		EXPECT_EQ(0, object_resident(object));
		ASSERT_EQ(0, device_fill(A, 1001 + 1000 * i));
		EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1001 + 1000 * i));
		faulty_fail_stop(control, ops[i]);
		/* Without entries, the device faults again. */
		ASSERT_EQ(0, grant(A, 0));
		ASSERT_EQ(0, grant(A, OBJECT_WRITE));
	}
	EXPECT_EQ(0, device_check(A, 2001));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
}

TEST_F(going, unreadable_block_is_sigbus_until_it_is_readable)
{
	ASSERT_EQ(0, going_start(A, MIGRATABLE));
	ASSERT_EQ(0, device_fill(A, 1));
	ASSERT_EQ(0, faulty_fail_always(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(SIGBUS, cpu_read(buf, NULL));
	EXPECT_EQ(SIGBUS, cpu_write(buf + BLOCK_BYTES, 9));
	/* It is still on the device, which can read it. */
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	EXPECT_EQ(0, device_check(A, 1));
	faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
	EXPECT_EQ(0, device_check(A, 1));
}

/* The device goes while its copies fail: what it had is lost, no more. */
TEST_F(going, block_that_cannot_be_read_is_lost_with_its_device)
{
	const uint32_t flags[] = { 0, MIGRATABLE };

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		char *kept, *other;
		int host;

		host = create_at(HOST, BLOCK_BYTES, 0);
		kept = NOT_NULL(object_map(host, BLOCK_BYTES, RW, 0));
		pages_fill(kept, BLOCK_BYTES, 5);
		ASSERT_EQ(0, going_start(B, flags[i]));
		ASSERT_EQ(0, device_fill(B, 1));
		ASSERT_EQ(0, faulty_fail_always(control,
						HMMRT_FAULTY_COPY_TO_HOST));
		ASSERT_EQ(0, remove_b());
		faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST);
		EXPECT_EQ(-EFAULT, faulty_read(fds[A], buf, NULL));
		EXPECT_EQ(-EFAULT, faulty_write(fds[A], buf + BLOCK_BYTES, 1));
		other = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
		EXPECT_EQ(SIGBUS, cpu_read(other, NULL));
		EXPECT_EQ(SIGBUS, cpu_write(other + BLOCK_BYTES, 1));
		EXPECT_EQ(-1, pages_check(kept, BLOCK_BYTES, 5));
		object_unmap_all();
		close(host);
		close(object);
		object = -1;
		ASSERT_EQ(0, return_b());
	}
}

/* One copy fails, and is repeated. */
TEST_F(going, removal_retries_a_failed_copy)
{
	char *other;

	ASSERT_EQ(0, going_start(B, 0));
	ASSERT_EQ(0, device_fill(B, 1));
	ASSERT_EQ(0, faulty_fail_nth(control, HMMRT_FAULTY_COPY_TO_HOST, 1));
	ASSERT_EQ(0, remove_b());
	EXPECT_EQ(0, faulty_fail_stop(control, HMMRT_FAULTY_COPY_TO_HOST));
	EXPECT_EQ(0, device_check(A, 1));
	other = NOT_NULL(object_map(object, OBJECT_BYTES, PROT_READ, 0));
	EXPECT_EQ(-1, pages_check(other, OBJECT_BYTES, 1));
}

/* --- no memory ------------------------------------------------------------ */

static int keep_one_device(void *arg)
{
	(void)arg;
	return remove_b();
}

/*
 * The machine has no memory for what is on a device that goes. It goes in time,
 * with the contents, and with what the other device has mapped there. Later the
 * rest of the device goes, too.
 */
TEST_F_TIMEOUT(going, device_goes_if_there_is_no_memory, 200)
{
	const uint32_t flags[] = { 0, MIGRATABLE };
	char *other;

	if (!inject_start())
		SKIP(return, "fault injection is not available");
	ASSERT_TRUE(set_leave_wait("1"));
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		ASSERT_EQ(0, going_start(B, flags[i]));
		ASSERT_EQ(0, device_fill(B, 1));
		if (!flags[i])
			ASSERT_EQ(0, device_check(A, 1));
		EXPECT_EQ(0, inject_run(keep_one_device, NULL));
		EXPECT_GT(0, faulty_read(fds[A], buf, NULL));
		EXPECT_GT(0, faulty_write(fds[A], buf + BLOCK_BYTES, 1));
		WAIT_UNTIL(!object_resident(object), 30);
		EXPECT_EQ(0, object_resident(object));
		EXPECT_EQ(-EFAULT, faulty_read(fds[A], buf, NULL));
		other = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
		EXPECT_EQ(SIGBUS, cpu_read(other, NULL));
		object_unmap_all();
		close(object);
		object = -1;
		ASSERT_EQ(0, return_b());
		/* The id of what is left of the other one may still be in use. */
		ASSERT_EQ(0, device_named(space, "hmmrt-faulty1",
					  &session.devices[B].id));
	}
	EXPECT_TRUE(set_leave_wait("30"));
}

static int read_by_cpu(void *arg)
{
	return cpu_read(arg, NULL);
}

/* What it reads is on a device, and there is no memory to move it to. */
TEST_F_TIMEOUT(going, access_without_memory_is_sigbus_in_time, 200)
{
	if (!inject_start())
		SKIP(return, "fault injection is not available");
	ASSERT_EQ(0, going_start(A, MIGRATABLE));
	/* The core repeats an access that gets no page table. */
	pages_fill(buf, OBJECT_BYTES, 1);
	ASSERT_EQ(0, device_fill(A, 1));
	EXPECT_EQ(SIGBUS, inject_run(read_by_cpu, buf));
	EXPECT_EQ(OBJECT_BYTES, object_resident(object));
	EXPECT_EQ(-1, pages_check(buf, OBJECT_BYTES, 1));
}

/* Reads a word before it is told to go, and after that without memory. */
static void read_twice(int object, int ready, int go)
{
	char *buf = object_map(object, OBJECT_BYTES, RW, 0), c;
	int fd = inject_open(0, 0, "make-it-fail");

	if (!buf || *(volatile char *)buf || write(ready, "r", 1) != 1 ||
	    read(go, &c, 1) != 1)
		_exit(1);
	inject_write(fd, 1);
	_exit(*(volatile char *)buf ? 2 : 3);
}

TEST_F(going, access_that_waits_for_memory_can_be_killed)
{
	int ready[2], go[2];
	pid_t pid;
	char c;

	if (!inject_start())
		SKIP(return, "fault injection is not available");
	ASSERT_EQ(0, going_start(A, MIGRATABLE));
	ASSERT_EQ(0, pipe2(ready, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	pid = fork();
	if (!pid)
		read_twice(object, ready[1], go[0]);
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(0, device_fill(A, 1));
	inject_burst("-1");
	ASSERT_EQ(1, write(go[1], "g", 1));
	usleep(500000);
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(SIGKILL, process_wait_for(pid, 4));
	inject_burst("0");
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
}

/* --- modules -------------------------------------------------------------- */

FIXTURE(unloaded) {
	char parameters[SIMGPU_PARAMETERS];
};

FIXTURE_SETUP(unloaded)
{
	NEED_MODULES();
	simgpu_parameters(self->parameters, sizeof(self->parameters));
	space = open_manager();
	ASSERT_EQ(0, cmd_space_create(space));
}

FIXTURE_TEARDOWN(unloaded)
{
	if (!self->parameters[0])
		return;
	close(space);
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

/*
 * The same mappings show the contents, whether the CPU had used the device's
 * window before or not.
 */
TEST_F(unloaded, mappings_of_the_cpu_survive_the_module_of_the_device)
{
	const uint32_t flags[] = { 0, MIGRATABLE };
	char *bufs[2], *none[2];

	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		int object = FD(create_at(A, OBJECT_BYTES, flags[i]));

		bufs[i] = object_map(object, OBJECT_BYTES, RW, 0);
		none[i] = object_map(object, OBJECT_BYTES, PROT_NONE, 0);
		ASSERT_NE(NULL, bufs[i]);
		ASSERT_NE(NULL, none[i]);
		close(object);
		pages_fill(bufs[i], OBJECT_BYTES, 1000 * i);
	}
	ASSERT_EQ(0, simgpu_remove());
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++) {
		EXPECT_EQ(-1, pages_check(bufs[i], OBJECT_BYTES, 1000 * i));
		pages_fill(bufs[i], OBJECT_BYTES, 1000 * i + 7);
		ASSERT_EQ(0, mprotect(none[i], OBJECT_BYTES, PROT_READ));
		EXPECT_EQ(-1, pages_check(none[i], OBJECT_BYTES, 1000 * i + 7));
	}
	EXPECT_EQ(0, module_insert("hmmrt_simgpu", self->parameters));
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++)
		EXPECT_EQ(-1, pages_check(bufs[i], OBJECT_BYTES, 1000 * i + 7));
	object_unmap_all();
}

static int remove_simgpu(void *arg)
{
	(void)arg;
	return simgpu_remove();
}

/* The CPU has the device's memory mapped, which the driver frees. */
TEST_F_TIMEOUT(unloaded, mapping_of_the_cpu_is_cut_if_there_is_no_memory, 200)
{
	int object = create_at(A, OBJECT_BYTES, 0);
	char *buf = object_map(object, OBJECT_BYTES, RW, 0);

	if (!inject_start())
		SKIP(return, "fault injection is not available");
	ASSERT_NE(NULL, buf);
	pages_fill(buf, OBJECT_BYTES, 1);
	ASSERT_TRUE(set_leave_wait("1"));
	EXPECT_EQ(0, inject_run(remove_simgpu, NULL));
	EXPECT_TRUE(set_leave_wait("30"));
	EXPECT_EQ(SIGBUS, cpu_read(buf, NULL));
	EXPECT_EQ(SIGBUS, cpu_write(buf + BLOCK_BYTES, 1));
	object_unmap_all();
	close(object);
	EXPECT_EQ(0, module_insert("hmmrt_simgpu", self->parameters));
}

/* A descriptor or a mapping alone keeps the manager's module. */
TEST_F(unloaded, manager_is_not_unloaded_while_an_object_lives)
{
	int object = FD(create_at(HOST, OBJECT_BYTES, 0));
	void *buf = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));

	close(space);
	ASSERT_EQ(0, simgpu_remove());
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	buf = NOT_NULL(object_map(object, OBJECT_BYTES, RW, 0));
	close(object);
	EXPECT_EQ(-EWOULDBLOCK, module_remove("hmmrt"));
	ASSERT_EQ(0, munmap(buf, OBJECT_BYTES));
	space = -1;
}

TEST_HARNESS_MAIN
