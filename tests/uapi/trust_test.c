// SPDX-License-Identifier: MIT
/*
 * Permissions: a file works only for the process that it belongs to, whichever
 * process holds a descriptor. Queries are the exception (query_test.c). The
 * token lets exactly one agent attach. An address space belongs either to an
 * application or to an agent, never to both.
 */
#include <sys/socket.h>

#include "lib/amount.h"
#include "lib/events.h"
#include "lib/fixture.h"

/* The device is bound, the agent has not attached. */
FIXTURE(bound) {
	struct session_device *device;
};

FIXTURE_SETUP(bound)
{
	DEVICES_SETUP(.unattached = true);
	self->device = &session.devices[0];
	buf = ANON(BLOCK_BYTES);
}

DEVICES_FIXTURE_TEARDOWN(bound)

/*
 * Runs a function in a child process. The function returns 0 or a negative
 * errno, which the child passes on as exit status.
 */
static int in_child(int (*fn)(void *), void *arg)
{
	int result = process_result(CHILD(-fn(arg) & 0xff));

	return result < 0 ? -ECHILD : -result;
}

/* --- descriptors in other processes --------------------------------------- */

struct stolen {
	int space;
	int gpu;
	uint32_t id;
	uint64_t token;
	bool attached;
	char *buf;
};

struct attempt {
	const char *what;
	int expected;
	int rc;
};

/* Reports all wrong results, so that one does not hide another. */
static int attempts_judge(const struct attempt *attempts, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		if (attempts[i].rc != attempts[i].expected) {
			fprintf(stderr, "# %s: %d, not %d\n", attempts[i].what,
				attempts[i].rc, attempts[i].expected);
			rc = -EPROTO;
		}
	return rc;
}

static int send_fds(int socket, const int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, 2 * sizeof(int));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fds(int socket, int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 }, byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};

	if (recvmsg(socket, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -EPROTO;
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), 2 * sizeof(int));
	return 0;
}

static int mmap_rc(const void *addr, int prot, int flags, int fd,
		   uintptr_t offset)
{
	void *p = mmap((void *)addr, BLOCK_BYTES, prot, flags, fd,
		       (off_t)offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, BLOCK_BYTES);
	return 0;
}

/* Each of these calls would be valid if the owner made it. */
static int try_to_change_memory(const struct stolen *stolen)
{
	const struct attempt attempts[] = {
		{ "prefetch", -EPERM,
		  cmd_prefetch(stolen->space, stolen->buf, PAGE_BYTES,
			       stolen->id, NULL) },
		{ "prefetch to host", -EPERM,
		  cmd_prefetch(stolen->space, stolen->buf, PAGE_BYTES,
			       HMMRT_LOCATION_HOST, NULL) },
		{ "exclusive access", -EPERM,
		  cmd_exclusive(stolen->space, stolen->buf, PAGE_BYTES,
				stolen->id, NULL) },
		{ "advice", -EPERM,
		  cmd_advise(stolen->space, stolen->buf, PAGE_BYTES,
			     SET_READ_MOSTLY, 0, 0) },
		{ "knob of the process", -EPERM,
		  cmd_set_knob(stolen->space, HMMRT_SCOPE_SPACE, stolen->id,
			       HMMRT_KNOB_PREFETCH_THRESHOLD, 51) },
		{ "knob of a range", -EPERM,
		  cmd_set_range_knob(stolen->space, stolen->buf, PAGE_BYTES,
				     stolen->id, HMMRT_KNOB_PREFETCH_ENABLE,
				     0) },
		{ "quota", -EPERM,
		  cmd_set_quota(stolen->space, stolen->id, BLOCK_BYTES,
				HMMRT_PRIORITY_DEFAULT, NULL) },
	};

	return attempts_judge(attempts, ARRAY_SIZE(attempts));
}

static int try_everything(void *arg)
{
	const struct stolen *stolen = arg;
	struct hmmrt_gpu_fault_record record;
	struct hmmrt_stats stats;
	int gpu = open_gpu(1);
	const struct attempt attempts[] = {
		{ "changes of memory", 0, try_to_change_memory(stolen) },
		{ "stats", -EPERM,
		  cmd_stats(stolen->space, stolen->id, &stats) },
		{ "a space on it", -EBUSY, cmd_space_create(stolen->space) },
		{ "another device for it", -EPERM,
		  cmd_bind(gpu, stolen->space, NULL) },
		{ "the device again", -EPERM,
		  cmd_bind(stolen->gpu, stolen->space, NULL) },
		{ "fault record", stolen->attached ? -EPERM : -EINVAL,
		  cmd_fault_record(stolen->gpu, &record) },
		{ "attach with a guess", stolen->attached ? -EBUSY : -EACCES,
		  cmd_attach(stolen->gpu, stolen->token + 1) },
		{ "map the mirror", stolen->attached ? -EPERM : -EINVAL,
		  mmap_rc(stolen->buf, PROT_READ, MAP_SHARED | MAP_FIXED,
			  stolen->gpu, (uintptr_t)stolen->buf) },
	};

	close(gpu);
	return attempts_judge(attempts, ARRAY_SIZE(attempts));
}

/*
 * Closes all descriptors except for a socket, and receives the files over it.
 */
static int receive_and_try_everything(void *arg)
{
	struct stolen stolen = *(struct stolen *)arg;
	int socket = stolen.space, fds[2];

	if (dup2(socket, 3) != 3 || syscall(SYS_close_range, 4, ~0U, 0))
		return -errno;
	if (receive_fds(3, fds))
		return -EPROTO;
	stolen.space = fds[0];
	stolen.gpu = fds[1];
	return try_everything(&stolen);
}

static struct stolen steal(bool attached)
{
	return (struct stolen){
		.space = space, .gpu = session.devices[0].gpu, .id = id_of(A),
		.token = session.devices[0].token, .attached = attached,
		.buf = buf,
	};
}

TEST_F(bound, fork_child_is_refused_everything)
{
	struct stolen stolen = steal(false);

	ASSERT_EQ(0, in_child(try_everything, &stolen));
	ASSERT_EQ(0, session_attach(&session));
	stolen.attached = true;
	ASSERT_EQ(0, in_child(try_everything, &stolen));
	/* The files still work for their owner. */
	buf[0] = 1;
	ASSERT_VALUE(1, dev_read(A, buf));
}

TEST_F(bound, receiver_of_the_files_is_refused_everything)
{
	int fds[] = { space, self->device->gpu };
	int sockets[2];
	struct stolen stolen;

	for (int i = 0; i < 2; i++) {
		stolen = steal(i);
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
		ASSERT_EQ(0, send_fds(sockets[0], fds));
		stolen.space = sockets[1];
		ASSERT_EQ(0, in_child(receive_and_try_everything, &stolen));
		close(sockets[0]);
		close(sockets[1]);
		if (!i)
			ASSERT_EQ(0, session_attach(&session));
	}
}

/* The agent has no access to the owner's manager file, not even for queries. */
TEST_F(bound, agent_is_refused_the_space)
{
	const uintptr_t out = (uintptr_t)agent_of(A)->shared->scratch + 1024;
	struct hmmrt_residency residency = {
		.size = sizeof(residency), .addr = (uintptr_t)buf,
		.len = PAGE_BYTES, .locations = out,
	};
	struct hmmrt_pages pages = {
		.size = sizeof(pages), .addr = (uintptr_t)buf,
		.len = PAGE_BYTES, .pages = out,
		.page_bytes = sizeof(struct hmmrt_page),
	};
	struct hmmrt_range_attributes attributes = {
		.size = sizeof(attributes), .addr = (uintptr_t)buf,
		.len = PAGE_BYTES,
	};
	struct hmmrt_events_open ring =
		events_request(HMMRT_EVENTS_OF_SPACE, HMMRT_EVENTS_MIN);

	/* The agent inherits the descriptor. */
	ASSERT_EQ(0, agent_ioctl(agent_of(A), space, HMMRT_IOC_RESIDENCY,
				 &residency, sizeof(residency)));
	ASSERT_EQ(0, session_attach(&session));
	ASSERT_EQ(-EPERM, agent_ioctl(agent_of(A), space, HMMRT_IOC_RESIDENCY,
				      &residency, sizeof(residency)));
	ASSERT_EQ(-EPERM, agent_ioctl(agent_of(A), space, HMMRT_IOC_PAGES,
				      &pages, sizeof(pages)));
	ASSERT_EQ(-EPERM,
		  agent_ioctl(agent_of(A), space, HMMRT_IOC_RANGE_ATTRIBUTES,
			      &attributes, sizeof(attributes)));
	ASSERT_EQ(-EPERM, agent_ioctl(agent_of(A), space, HMMRT_IOC_EVENTS_OPEN,
				      &ring, sizeof(ring)));
}

/* Every process that can open the device node can make informative calls. */
static int try_info(void *arg)
{
	const struct stolen *stolen = arg;
	struct hmmrt_device_info device;
	struct hmmrt_info info;
	int rc = cmd_info(stolen->space, &info);

	return rc ? rc : cmd_device_info(stolen->space, stolen->id, &device);
}

TEST_F(bound, fork_child_may_query_information)
{
	struct stolen stolen = steal(false);

	ASSERT_EQ(0, in_child(try_info, &stolen));
}

/* A process that has a space cannot use the file of another process's space. */
static int try_with_own_space(void *arg)
{
	const struct stolen *stolen = arg;
	int manager = open_manager(), gpu = open_gpu(0);
	int rc = cmd_space_create(manager);

	if (!rc)
		rc = cmd_bind(gpu, stolen->space, NULL) == -EPERM ? 0 : -EPROTO;
	if (!rc)
		rc = cmd_bind(gpu, manager, NULL);
	if (!rc)
		rc = try_everything(arg);
	return rc;
}

TEST_F(bound, process_with_a_space_is_refused_everything)
{
	struct stolen stolen = steal(false);

	ASSERT_EQ(0, in_child(try_with_own_space, &stolen));
}

/* --- the token ------------------------------------------------------------ */

TEST_F(bound, wrong_token_is_eacces)
{
	const uint64_t right = self->device->token;

	ASSERT_NE(0, right);
	ASSERT_EQ(-EACCES, agent_attach(agent_of(A), self->device->gpu, 0));
	ASSERT_EQ(-EACCES, agent_attach(agent_of(A), self->device->gpu, ~0UL));
	for (unsigned int bit = 0; bit < 64; bit++)
		ASSERT_EQ(-EACCES, agent_attach(agent_of(A), self->device->gpu,
						right ^ 1UL << bit));
	ASSERT_EQ(0, agent_attach(agent_of(A), self->device->gpu, right));
}

TEST_F(bound, token_is_accepted_once)
{
	const uint64_t token = self->device->token;
	struct agent second;

	ASSERT_EQ(0, agent_start(&second, self->device->gpu, 1));
	ASSERT_EQ(0, session_attach(&session));
	ASSERT_EQ(-EBUSY, agent_attach(&second, self->device->gpu, token));
	ASSERT_EQ(-EBUSY, agent_attach(&second, self->device->gpu, 0));
	ASSERT_EQ(-EBUSY, agent_attach(agent_of(A), self->device->gpu, token));
	ASSERT_EQ(-EPERM, agent_map(&second, buf, BLOCK_BYTES, RW));
	/* Also when the first agent is gone: a new agent needs a new file. */
	agent_kill(agent_of(A));
	ASSERT_EQ(-EBUSY, agent_attach(&second, self->device->gpu, token));
	ASSERT_EQ(-EPERM, agent_map(&second, buf, BLOCK_BYTES, RW));
	agent_quit(&second);
}

TEST_F(bound, tokens_differ)
{
	const uint64_t first = self->device->token;
	struct hmmrt_gpu_bind bind;

	session_unbind(&session, A);
	self->device->gpu = open_gpu(0);
	ASSERT_EQ(0, cmd_bind(self->device->gpu, space, &bind));
	ASSERT_NE(first, bind.out_token);
}

/* --- application or agent ------------------------------------------------- */

TEST_F(bound, owner_cannot_be_its_own_agent)
{
	ASSERT_EQ(-EACCES, cmd_attach(self->device->gpu, self->device->token));
	/* The attempt has not used up the token. */
	ASSERT_EQ(0, session_attach(&session));
	ASSERT_EQ(-EPERM,
		  mmap_rc(buf + 4 * BLOCK_BYTES, PROT_READ, MAP_SHARED,
			  self->device->gpu, (uintptr_t)buf + 4 * BLOCK_BYTES));
}

static int attach_with_a_space(void *arg)
{
	const struct stolen *stolen = arg;
	int manager = open_manager();
	int rc = cmd_space_create(manager);

	return rc ? rc : cmd_attach(stolen->gpu, stolen->token);
}

/* The space is closed, but the mm may still have notifiers. */
static int attach_after_a_space(void *arg)
{
	const struct stolen *stolen = arg;
	int manager = open_manager();
	int rc = cmd_space_create(manager);

	close(manager);
	return rc ? rc : cmd_attach(stolen->gpu, stolen->token);
}

TEST_F(bound, process_with_a_space_cannot_attach)
{
	struct stolen stolen = steal(false);

	ASSERT_EQ(-EACCES, in_child(attach_with_a_space, &stolen));
	ASSERT_EQ(0, session_attach(&session));
}

TEST_F(bound, process_with_notifiers_cannot_attach)
{
	struct stolen stolen = steal(false);

	ASSERT_EQ(-EACCES, in_child(attach_after_a_space, &stolen));
	ASSERT_EQ(0, session_attach(&session));
}

TEST_F(bound, agent_cannot_have_a_space)
{
	struct hmmrt_space_create create = { .size = sizeof(create) };
	int manager = FD(agent_open(agent_of(A), "/dev/hmmrt", O_RDWR));

	ASSERT_EQ(0, session_attach(&session));
	ASSERT_EQ(-EACCES,
		  agent_ioctl(agent_of(A), manager, HMMRT_IOC_SPACE_CREATE,
			      &create, sizeof(create)));
	/* The agent still works after the refusal. */
	buf[0] = 5;
	ASSERT_VALUE(5, dev_read(A, buf));
}

DEVICES_FIXTURE(two_bound, .devices = 2, .unattached = true)

TEST_F(two_bound, agent_of_one_device_cannot_attach_to_another)
{
	struct session_device *first = &session.devices[0];
	struct session_device *second = &session.devices[1];

	ASSERT_EQ(0, agent_attach(&first->agent, first->gpu, first->token));
	ASSERT_EQ(-EACCES,
		  agent_attach(&first->agent, second->gpu, second->token));
	ASSERT_EQ(0, agent_attach(&second->agent, second->gpu, second->token));
}

/*
 * Parent and child each have a space, a bound device and an agent that is not
 * attached. They exchange the tokens here, and each tries to attach to the
 * other's device.
 */
struct mutual {
	uint64_t parent_token;
	uint64_t child_token;
	int child_rc;
};

TEST_F(bound, two_processes_cannot_mirror_each_other)
{
	struct mutual *shared =
		mmap(NULL, PAGE_BYTES, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int childs_gpu = open_gpu(1), ready[2], go[2];
	char c;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, pipe(go));
	shared->parent_token = self->device->token;
	pid = fork();
	if (!pid) {
		int manager = open_manager();
		struct hmmrt_gpu_bind bind;

		close(go[1]);
		if (cmd_space_create(manager) ||
		    cmd_bind(childs_gpu, manager, &bind))
			_exit(1);
		shared->child_token = bind.out_token;
		if (write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(2);
		shared->child_rc =
			cmd_attach(self->device->gpu, shared->parent_token);
		/* The parent's attempt needs this process alive. */
		if (read(go[0], &c, 1) != 1)
			_exit(3);
		_exit(0);
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	ASSERT_EQ(1, write(go[1], "g", 1));
	/* The two attempts run at about the same time. */
	ASSERT_EQ(-EACCES, cmd_attach(childs_gpu, shared->child_token));
	ASSERT_EQ(1, write(go[1], "g", 1));
	ASSERT_EQ(0, process_wait(pid));
	ASSERT_EQ(-EACCES, shared->child_rc);
	close(childs_gpu);
}

/* --- concurrent calls: exactly one wins ----------------------------------- */

struct racer {
	pthread_barrier_t *start;
	int manager;
	int rc;
};

static void *race_to_a_space(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(racer->start);
	racer->rc = cmd_space_create(racer->manager);
	return NULL;
}

static int race_for_a_role(void *arg)
{
	const struct stolen *stolen = arg;
	struct racer racer = { .manager = open_manager() };
	pthread_barrier_t start;
	pthread_t thread;
	int rc;

	pthread_barrier_init(&start, NULL, 2);
	racer.start = &start;
	if (pthread_create(&thread, NULL, race_to_a_space, &racer))
		return -EAGAIN;
	pthread_barrier_wait(&start);
	rc = cmd_attach(stolen->gpu, stolen->token);
	pthread_join(thread, NULL);
	if ((rc == 0 && racer.rc == -EACCES) || (rc == -EACCES && !racer.rc))
		return 0;
	fprintf(stderr, "# attach: %d, space: %d\n", rc, racer.rc);
	return -EPROTO;
}

/* The process gets exactly one of the two roles. */
TEST_F(bound, role_is_decided_once)
{
	struct stolen stolen = steal(false);
	struct hmmrt_gpu_bind bind;

	session_unbind(&session, A);
	for (unsigned int round = 0; round < amount(40, 10); round++) {
		stolen.gpu = open_gpu(0);
		ASSERT_EQ(0, cmd_bind(stolen.gpu, stolen.space, &bind));
		stolen.token = bind.out_token;
		ASSERT_EQ(0, in_child(race_for_a_role, &stolen));
		close(stolen.gpu);
	}
}

TEST_HARNESS_MAIN
