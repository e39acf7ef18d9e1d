// SPDX-License-Identifier: MIT
/*
 * The end of the owner, of the agent, and of files in any order. An agent never
 * outlives its owner, the owner learns when its agent ends, and nothing that is
 * in use goes away.
 */
#include <poll.h>

#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/loop.h"

#define LIMIT_S		30

/* --- end of the owner, watched by a third process ------------------------- */

/* Report from the owner to its parent, the test. */
struct owner_report {
	pid_t agent;
	long on_device;		/* pages */
	int rc;
};

FIXTURE(owner) {
	struct owner_report *report;
	pid_t owner;
	struct gate gate;
	int64_t used_before;
};

FIXTURE_VARIANT(owner) {
	enum { BY_EXIT, BY_SIGNAL, BY_EXEC } end;
	bool busy;		/* while faults are being served */
};

VARIANT(owner, exits, .end = BY_EXIT);
VARIANT(owner, is_killed, .end = BY_SIGNAL);
VARIANT(owner, execs, .end = BY_EXEC);
VARIANT(owner, exits_in_mid_fault, .end = BY_EXIT, .busy = true);
VARIANT(owner, is_killed_in_mid_fault, .end = BY_SIGNAL, .busy = true);
VARIANT(owner, execs_in_mid_fault, .end = BY_EXEC, .busy = true);

/* Sets up a session, keeps the agent busy if asked; ends when told to. */
static void owner_run(struct owner_report *report, struct gate *gate,
		      const FIXTURE_VARIANT(owner) *variant)
{
	const size_t len = 64 * BLOCK_BYTES;
	int rc = session_start(&session, 1, 2);

	space = session.space;
	report->agent = agent_of(A)->pid;
	/* The unbinding must kill the agent, not the death of its parent. */
	DEV_SYSCALL(A, SYS_prctl, PR_SET_PDEATHSIG);
	buf = arena_anon(len);
	pages_fill(buf, BLOCK_BYTES, 1);
	if (dev_read(A, buf).value != 1)
		rc = -EIO;
	report->on_device = count_at(A, buf, BLOCK_BYTES);
	if (variant->busy) {
		DEV_POST(A, 0, AGENT_SUM, (uintptr_t)buf, len, PAGE_BYTES);
		DEV_POST(A, 1, AGENT_SUM, (uintptr_t)buf, len, PAGE_BYTES);
	}
	/* Publishes the whole report. */
	__atomic_store_n(&report->rc, rc, __ATOMIC_RELEASE);
	if (!gate_wait(gate))
		_exit(2);
	switch (variant->end) {
	case BY_EXIT:
		_exit(0);
	case BY_SIGNAL:
		pause();
		break;
	case BY_EXEC:
		execl("/bin/sleep", "sleep", "100", NULL);
		break;
	}
	_exit(3);
}

FIXTURE_SETUP(owner)
{
	self->gate = GATE();
	self->report = shared_page();
	self->report->rc = -EAGAIN;
	space = FD(open_manager());
	self->used_before = device_used_bytes(space, 0);
	/* Makes this process reap the agent. */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	self->owner = FORK();
	if (!self->owner) {
		owner_run(self->report, &self->gate, variant);
		_exit(1);
	}
}

FIXTURE_TEARDOWN(owner)
{
	process_kill(self->owner);
	close(space);
}

static bool wait_for_memory(const FIXTURE_DATA(owner) *self)
{
	return WAIT_UNTIL(device_used_bytes(space, 0) == self->used_before,
			  LIMIT_S);
}

TEST_F(owner, end_kills_the_agent_and_frees_device_memory)
{
	volatile struct owner_report *report = self->report;

	WAIT_UNTIL(report->rc != -EAGAIN, LIMIT_S);
	ASSERT_EQ(0, report->rc);
	ASSERT_LT(0, report->on_device);
	ASSERT_TRUE(gate_open(&self->gate));
	if (variant->end == BY_SIGNAL) {
		usleep(20000);
		ASSERT_EQ(0, kill(self->owner, SIGKILL));
	}
	if (variant->end == BY_EXEC) {
		/* After exec() the owner does not reap the agent. */
		ASSERT_TRUE(process_wait_zombie(report->agent, LIMIT_S));
		/* The new program has no pages on the device. */
		ASSERT_TRUE(wait_for_memory(self));
		ASSERT_EQ(0, kill(self->owner, SIGKILL));
	}
	ASSERT_LE(0, process_wait(self->owner));
	ASSERT_EQ(SIGKILL, process_wait_for(report->agent, LIMIT_S));
	ASSERT_TRUE(wait_for_memory(self));
}

/* --- end of the owner before the agent attaches --------------------------- */

FIXTURE(early) {
	uint64_t *token;
	struct agent agent;
	pid_t owner;
	int gpu;
};

/* Binds the files, publishes the token, and waits to be killed. */
static void early_owner_run(int space, int gpu, uint64_t *token)
{
	struct hmmrt_gpu_bind bind;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (cmd_space_create(space) || cmd_bind(gpu, space, &bind))
		_exit(1);
	__atomic_store_n(token, bind.out_token, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* Here the agent is a child of this process and may outlive the owner. */
static bool early_begin(FIXTURE_DATA(early) *self)
{
	space = open_manager();
	self->gpu = open_gpu(0);
	if (space < 0 || self->gpu < 0 ||
	    agent_start(&self->agent, self->gpu, 1))
		return false;
	__atomic_store_n(self->token, 0, __ATOMIC_RELAXED);
	self->owner = fork();
	if (!self->owner)
		early_owner_run(space, self->gpu, self->token);
	return WAIT_UNTIL(__atomic_load_n(self->token, __ATOMIC_ACQUIRE),
			  LIMIT_S);
}

static void early_end(FIXTURE_DATA(early) *self)
{
	agent_quit(&self->agent);
	close(self->gpu);
	close(space);
}

FIXTURE_SETUP(early)
{
	self->token = NOT_NULL(shared_page());
}

FIXTURE_TEARDOWN(early)
{
	munmap(self->token, PAGE_BYTES);
}

TEST_F(early, agent_cannot_attach_to_an_exited_owner)
{
	ASSERT_TRUE(early_begin(self));
	ASSERT_EQ(0, process_kill(self->owner));
	EXPECT_EQ(-ESRCH, agent_attach(&self->agent, self->gpu, *self->token));
	/* The agent was refused, not attached and then killed. */
	EXPECT_EQ(-EINVAL, agent_map(&self->agent, (void *)ARENA_BASE,
				     PAGE_BYTES, PROT_READ));
	early_end(self);
}

/* Does not wait, so that the attach runs concurrently with this process. */
static void post_attach(struct agent *agent, int gpu, uint64_t token)
{
	struct hmmrt_gpu_attach attach = {
		.size = sizeof(attach), .token = token,
	};
	uint64_t args[] = { SYS_ioctl, (uint64_t)gpu, HMMRT_GPU_IOC_ATTACH,
			    (uintptr_t)agent->shared->scratch };

	memcpy(agent->shared->scratch, &attach, sizeof(attach));
	agent_post(agent, 0, AGENT_SYSCALL, args, ARRAY_SIZE(args));
}

/* The attach either comes too late, or succeeds and the agent is killed. */
TEST_F(early, agent_does_not_outlive_an_owner_that_ends_during_attach)
{
	const unsigned int rounds = amount(60, 20);
	unsigned int round, refused = 0;

	for (round = 0; round < rounds; round++) {
		struct outcome outcome;

		ASSERT_TRUE(early_begin(self));
		post_attach(&self->agent, self->gpu, *self->token);
		usleep(round % 20 * 50);
		ASSERT_EQ(0, process_kill(self->owner));
		outcome = agent_wait(&self->agent, 0, LIMIT_S);
		if (!outcome.error && (int64_t)outcome.value == -ESRCH) {
			refused++;
		} else {
			ASSERT_TRUE(outcome.error == -EPIPE || !outcome.value);
			ASSERT_TRUE(agent_wait_gone(&self->agent, LIMIT_S));
		}
		early_end(self);
	}
	TH_LOG("%u of %u attaches were refused", refused, round);
}

/* --- exec() by the agent -------------------------------------------------- */

/* Executes sleep as another program, without waiting for it. */
static void post_exec(struct agent *agent)
{
	/* In memory shared with the child: the string, followed by argv. */
	char *name = (char *)agent->shared->scratch;
	char **argv = (char **)(agent->shared->scratch + 64);
	uint64_t args[] = { SYS_execve, (uintptr_t)name, (uintptr_t)argv, 0 };

	strcpy(name, "/bin/sleep");
	argv[0] = name;
	argv[1] = strcpy(name + 32, "100");
	argv[2] = NULL;
	agent_post(agent, 0, AGENT_SYSCALL, args, ARRAY_SIZE(args));
}

static short poll_gpu(int gpu, int timeout_ms)
{
	struct pollfd pollfd = { .fd = gpu, .events = POLLIN };

	return poll(&pollfd, 1, timeout_ms) < 0 ? -1 : pollfd.revents;
}

static void *poll_for_ever(void *arg)
{
	*(short *)arg = poll_gpu(*(short *)arg, LIMIT_S * 1000);
	return NULL;
}

/*
 * The agent may have executed a setuid program, which the owner must not kill.
 * The exit status shows the first signal that ended it, so SIGTERM shows that
 * no earlier signal was sent.
 */
TEST_F(early, program_executed_by_the_agent_survives_the_owner)
{
	pthread_t thread;
	short result;
	int status;

	ASSERT_TRUE(early_begin(self));
	ASSERT_EQ(0, agent_attach(&self->agent, self->gpu, *self->token));
	ASSERT_EQ(0, agent_map(&self->agent, (void *)ARENA_BASE, PAGE_BYTES,
			       PROT_READ));
	ASSERT_EQ(0, poll_gpu(self->gpu, 0));
	result = (short)self->gpu;
	thread = THREAD(poll_for_ever, &result);
	post_exec(&self->agent);
	EXPECT_TRUE(process_wait_program(self->agent.pid, LIMIT_S, "sleep"));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(POLLHUP, result);

	/*
	 * The owner's memory, and the agent with it, goes before waitpid()
	 * returns.
	 */
	ASSERT_EQ(0, process_kill(self->owner));
	EXPECT_EQ(POLLHUP, poll_gpu(self->gpu, 0));
	ASSERT_EQ(0, kill(self->agent.pid, SIGTERM));
	ASSERT_EQ(self->agent.pid, waitpid(self->agent.pid, &status, 0));
	self->agent.pid = 0;
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGTERM, WTERMSIG(status));
	EXPECT_EQ(POLLHUP, poll_gpu(self->gpu, 0));
	early_end(self);
}

/* Without a mapping, exec() wakes no poller, but a new poll() reports it. */
TEST_F(early, poll_reports_exec_of_an_agent_without_a_mapping)
{
	ASSERT_TRUE(early_begin(self));
	ASSERT_EQ(0, agent_attach(&self->agent, self->gpu, *self->token));
	ASSERT_EQ(0, poll_gpu(self->gpu, 0));
	post_exec(&self->agent);
	EXPECT_TRUE(process_wait_program(self->agent.pid, LIMIT_S, "sleep"));
	EXPECT_EQ(POLLHUP, poll_gpu(self->gpu, 0));
	agent_kill(&self->agent);
	EXPECT_EQ(POLLHUP, poll_gpu(self->gpu, LIMIT_S * 1000));
	ASSERT_EQ(0, process_kill(self->owner));
	early_end(self);
}

/* --- end of the agent, seen by the owner ---------------------------------- */

DEVICES_FIXTURE_SETUP(session, .lanes = 4)
{
	buf = ANON(8 * BLOCK_BYTES);
	pages_fill(buf, BLOCK_BYTES, 1);
}

static short poll_device(int timeout_ms)
{
	return poll_gpu(session.devices[A].gpu, timeout_ms);
}

TEST_F(session, poll_reports_nothing_while_the_agent_lives)
{
	ASSERT_EQ(0, poll_device(0));
	ASSERT_VALUE(1, dev_read(A, buf));
	ASSERT_EQ(0, poll_device(50));
}

TEST_F(session, killed_agent_wakes_poll)
{
	short result = (short)session.devices[A].gpu;
	pthread_t thread;

	ASSERT_VALUE(1, dev_read(A, buf));
	thread = THREAD(poll_for_ever, &result);
	usleep(50000);
	agent_kill(agent_of(A));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(POLLHUP, result);
	ASSERT_EQ(POLLHUP, poll_device(0));
}

TEST_F(session, poll_reports_exit_of_the_agent)
{
	agent_post(agent_of(A), 0, AGENT_QUIT, NULL, 0);
	ASSERT_TRUE(agent_wait_gone(agent_of(A), LIMIT_S));
	ASSERT_EQ(POLLHUP, poll_device(LIMIT_S * 1000));
}

TEST_F(session, agent_killed_in_mid_fault_leaves_the_memory_intact)
{
	const size_t len = 8 * BLOCK_BYTES;

	pages_fill(buf, len, 1);
	for (unsigned int lane = 0; lane < 4; lane++)
		DEV_POST(A, lane, AGENT_SUM, (uintptr_t)buf, len, PAGE_BYTES);
	usleep(3000);
	agent_kill(agent_of(A));
	ASSERT_EQ(-1, pages_check(buf, len, 1));
	ASSERT_EQ(POLLHUP, poll_device(LIMIT_S * 1000));
}

/* A new agent on a new file continues with the memory of the previous one. */
TEST_F(session, next_agent_reads_what_a_killed_agent_wrote)
{
	struct session_device *device = &session.devices[A];
	struct hmmrt_gpu_bind bind;

	ASSERT_DONE(dev_write(A, buf, 1234));
	agent_kill(agent_of(A));
	session_unbind(&session, A);
	device->gpu = open_gpu(0);
	ASSERT_EQ(0, agent_start(&device->agent, device->gpu, 1));
	ASSERT_EQ(0, cmd_bind_next(device->gpu, space, &bind));
	device->token = bind.out_token;
	ASSERT_EQ(0, session_attach(&session));
	ASSERT_VALUE(1234, dev_read(A, buf));
}

/* Opens the device, starts an agent; the last binding still exists. */
static int next_begin(struct session_device *next)
{
	*next = (struct session_device){ .gpu = open_gpu(0) };
	return next->gpu < 0 ? next->gpu :
			       agent_start(&next->agent, next->gpu, 1);
}

/* Binds as soon as the last binding has ended. */
static int next_take_over(struct session_device *next)
{
	struct hmmrt_gpu_bind bind;
	int rc = cmd_bind_next(next->gpu, space, &bind);

	if (rc)
		return rc;
	next->token = bind.out_token;
	next->id = bind.out_device_id;
	rc = agent_attach(&next->agent, next->gpu, next->token);
	if (rc)
		return rc;
	return agent_map(&next->agent, (void *)ARENA_BASE, ARENA_BYTES, RW);
}

/* --- a binding with an answer that cannot be copied out ------------------- */

/* The device of the next test. It has no id before it is bound. */
#define FIRST	0u

/* Prefetches succeed whenever a binding exists. */
static void prefetch_both_ways(void *unused)
{
	(void)unused;
	cmd_prefetch(space, buf, BLOCK_BYTES, FIRST, NULL);
	prefetch(HOST, buf, BLOCK_BYTES);
}

/*
 * Entries made for an undone binding must not be there for the next binding of
 * the same file.
 */
TEST(undone_binding_leaves_nothing_mapped)
{
	struct hmmrt_gpu_bind *answer =
		mmap(NULL, PAGE_BYTES, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session_device *device = &session.devices[A];
	const unsigned int tries = amount(300, 60);
	struct hmmrt_gpu_bind bind;
	struct loop prefetcher;

	ASSERT_NE(MAP_FAILED, answer);
	ASSERT_EQ(0, session_open(&session, 1));
	ASSERT_EQ(0, agent_start(&device->agent, device->gpu, 1));
	space = session.space;
	ASSERT_EQ(0, cmd_space_create(space));
	buf = FILLED(BLOCK_BYTES);

	*answer = (struct hmmrt_gpu_bind){
		.size = sizeof(*answer), .space_fd = space,
	};
	ASSERT_EQ(0, mprotect(answer, PAGE_BYTES, PROT_READ));
	ASSERT_EQ(0, loop_start(&prefetcher, prefetch_both_ways, NULL));
	for (unsigned int i = 0; i < tries; i++)
		ASSERT_EQ(-EFAULT, cmd_raw(device->gpu, HMMRT_GPU_IOC_BIND,
					   answer));
	loop_stop(&prefetcher);

	/* New pages, which a stale entry would not show. */
	ASSERT_TRUE(map_anon_at(buf, BLOCK_BYTES));
	pages_fill(buf, BLOCK_BYTES, 1000);
	ASSERT_EQ(0, cmd_bind(device->gpu, space, &bind));
	ASSERT_EQ(FIRST, bind.out_device_id);
	device->id = bind.out_device_id;
	device->token = bind.out_token;
	device->used_before = device_used_bytes(space, device->id);
	ASSERT_EQ(0, session_attach(&session));
	for (unsigned int i = 0; i < BLOCK_PAGES; i++)
		ASSERT_VALUE(1000 + i, dev_read(A, buf + i * PAGE_BYTES));
	munmap(buf, BLOCK_BYTES);
	munmap(answer, PAGE_BYTES);
	ASSERT_EQ(0, session_end(&session));
}

/* --- the next binding ----------------------------------------------------- */

/* A debug kernel takes several times as long to migrate a page back. */
#define MANY_BLOCKS	amount(32, 8)

/*
 * Unbinding takes a while if many pages have to migrate back. The next binding
 * maps memory in this time or right afterwards, and must get all invalidations.
 * It maps the second half of each block, which the last binding never mapped.
 */
TEST_F(session, immediate_rebind_gets_all_invalidations)
{
	struct session_device *device = &session.devices[A], next;
	const size_t len = MANY_BLOCKS * BLOCK_BYTES;
	char *many = arena_anon(len), *few = arena_anon(len);
	char *fresh = few + BLOCK_BYTES / 2;
	const unsigned int rounds = amount(8, 3);
	int64_t used = device->used_before;

	/* Otherwise the next agent, a forked child, would share the pages. */
	ASSERT_EQ(0, madvise(many, len, MADV_DONTFORK));
	ASSERT_EQ(0, madvise(few, len, MADV_DONTFORK));
	for (unsigned int round = 0; round < rounds; round++) {
		struct agent last = device->agent;

		ASSERT_EQ(0, next_begin(&next));
		ASSERT_EQ(0, prefetch(A, many, len));
		ASSERT_DONE(agent_fill(&last, few, len, BLOCK_BYTES, round));

		/* The next agent inherited this file. */
		agent_syscall(&next.agent, SYS_close, (uint64_t)device->gpu, 0,
			      0, 0, 0, 0);
		close(device->gpu);
		kill(last.pid, SIGKILL);
		ASSERT_EQ(0, next_take_over(&next));
		*device = next;
		device->used_before = used;
		for (size_t at = len; at; at -= BLOCK_BYTES)
			ASSERT_DONE(dev_write(A, fresh + at - BLOCK_BYTES, at));
		agent_kill(&last);
		agent_quit(&last);

		for (size_t at = len; at; at -= BLOCK_BYTES) {
			uint64_t *word = (uint64_t *)(fresh + at - BLOCK_BYTES);

			ASSERT_EQ(at, *word);
			*word = at + round;
			ASSERT_VALUE(at + round, dev_read(A, word));
		}
		ASSERT_EQ(0, madvise(few, len, MADV_DONTNEED));
		ASSERT_VALUE(0, agent_sum(&device->agent, fresh,
					  len - BLOCK_BYTES / 2, BLOCK_BYTES));
	}
}

/* The agent had attached but not mapped anything yet. */
TEST(poll_reports_exit_of_an_agent_without_a_mapping)
{
	struct session_device *device = &session.devices[A];

	ASSERT_EQ(0, session_open(&session, 1));
	ASSERT_EQ(0, session_bind(&session, 1));
	ASSERT_EQ(0, poll_device(0));
	ASSERT_EQ(0, agent_attach(&device->agent, device->gpu, device->token));
	ASSERT_EQ(0, poll_device(0));
	agent_kill(&device->agent);
	EXPECT_EQ(POLLHUP, poll_device(2000));
	ASSERT_EQ(0, session_end(&session));
}

/* --- closing files in any order ------------------------------------------- */

FIXTURE_VARIANT(order) {
	/*
	 * s: close the space, g: close the gpu, a: the agent quits,
	 * k: the agent is killed, f: the agent closes its copy of the gpu
	 */
	const char *steps;
};

DEVICES_FIXTURE(order, .bytes = 8 * BLOCK_BYTES)

VARIANT(order, space_gpu_agent, .steps = "sga");
VARIANT(order, space_agent_gpu, .steps = "sag");
VARIANT(order, gpu_space_agent, .steps = "gsa");
VARIANT(order, gpu_agent_space, .steps = "gas");
VARIANT(order, agent_gpu_space, .steps = "ags");
VARIANT(order, agent_space_gpu, .steps = "asg");
VARIANT(order, mapping_holds_all, .steps = "fgsk");
VARIANT(order, killed_last, .steps = "sgk");

static void order_step(char step)
{
	struct session_device *device = &session.devices[A];

	switch (step) {
	case 's':
		close(space);
		session.space = -1;
		break;
	case 'g':
		close(device->gpu);
		device->gpu = -1;
		break;
	case 'f':
		DEV_SYSCALL(A, SYS_close, device->gpu);
		break;
	case 'a':
		agent_quit(agent_of(A));
		break;
	case 'k':
		agent_kill(agent_of(A));
		break;
	}
}

/* While the agent runs, it works; afterwards no data is lost. */
TEST_F(order, close_order_loses_no_data)
{
	const char *step;
	unsigned int i;

	ASSERT_VALUE(1, dev_read(A, buf));
	for (step = variant->steps, i = 0; *step; step++, i++) {
		char *block = buf + (i + 1) * BLOCK_BYTES;

		order_step(*step);
		if (agent_of(A)->pid)
			ASSERT_VALUE((i + 1) * BLOCK_PAGES + 1,
				     dev_read(A, block));
	}
	ASSERT_EQ(-1, pages_check(buf, 8 * BLOCK_BYTES, 1));
}

/* --- pages that move while their space ends ------------------------------- */

#define FAR_PLACES	32
#define FAR_STRIDE	(64UL << 20)	/* each has its own notifier */
#define FAR_BYTES	(amount(64, 16) * PAGE_BYTES)
#define FAR_MOVED	(4 * BLOCK_BYTES)

/*
 * Moves the pages back to system memory, one fault after the other. Returns
 * NULL if all have their contents.
 */
static void *touch_far(void *arg)
{
	char *far = arg;

	for (unsigned int i = 0; i < FAR_PLACES; i++)
		if (pages_check(far + i * FAR_STRIDE + FAR_MOVED, FAR_BYTES,
				i) != -1)
			return far;
	return NULL;
}

/* Leaves pages on the device where no binding knows them. */
static bool leave_on_device(char *at, uint32_t id, uint64_t first)
{
	if (!map_anon_at(at, FAR_BYTES) ||
	    madvise(at, FAR_BYTES, MADV_NOHUGEPAGE))
		return false;
	pages_fill(at, FAR_BYTES, first);
	if (cmd_prefetch(space, at, FAR_BYTES, id, NULL) ||
	    mremap(at, FAR_BYTES, FAR_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
		   at + FAR_MOVED) != at + FAR_MOVED)
		return false;
	/* Reserve the range: otherwise a thread's stack could end up there. */
	return mmap(at, FAR_BYTES, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at;
}

/* The files are closed while another thread faults on pages of the device. */
TEST(space_ends_while_pages_migrate_back)
{
	const size_t len = FAR_PLACES * FAR_STRIDE;
	const unsigned int rounds = amount(20, 2);
	char *far = mmap(NULL, len, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct hmmrt_gpu_bind bind;
	pthread_t thread;
	void *wrong;
	int gpu;

	ASSERT_NE(MAP_FAILED, far);
	for (unsigned int round = 0; round < rounds; round++) {
		space = open_manager();
		gpu = open_gpu(0);
		ASSERT_EQ(0, cmd_space_create(space));
		ASSERT_EQ(0, cmd_bind(gpu, space, &bind));
		for (unsigned int i = 0; i < FAR_PLACES; i++)
			ASSERT_TRUE(leave_on_device(far + i * FAR_STRIDE,
						    bind.out_device_id, i));
		close(gpu);
		thread = THREAD(touch_far, far);
		close(space);
		ASSERT_EQ(0, pthread_join(thread, &wrong));
		ASSERT_EQ(NULL, wrong);
	}
	ASSERT_EQ(0, munmap(far, len));
}

/* --- unmapping the mirror while it is in use ------------------------------ */

/* Lanes fault while lane 0 unmaps their mirror and maps it again. */
TEST_F(session, unmapping_the_mirror_under_faulting_lanes_is_harmless)
{
	/* More than the lanes read while lane 0 waits. */
	const size_t len = amount(8, 2) * BLOCK_BYTES;
	const unsigned int rounds = amount(60, 20);

	for (unsigned int round = 0; round < rounds; round++) {
		ASSERT_EQ(0, madvise(buf, len, MADV_DONTNEED));
		for (unsigned int lane = 1; lane < 4; lane++)
			DEV_POST(A, lane, AGENT_SUM, (uintptr_t)buf, len,
				 PAGE_BYTES);
		usleep(round * 3000 / rounds);
		ASSERT_EQ(0, agent_unmap(agent_of(A), buf, len));
		ASSERT_EQ(0, agent_map(agent_of(A), buf, len, RW));
		for (unsigned int lane = 1; lane < 4; lane++) {
			struct outcome outcome = dev_wait(A, lane, 60);

			ASSERT_EQ(0, outcome.error);
			ASSERT_TRUE(!outcome.signal ||
				    outcome.signal == SIGSEGV);
		}
	}
}

/* The last reference to all objects may be held by a fault in progress. */
TEST_F(session, all_objects_are_released_under_faulting_lanes)
{
	const size_t len = 8 * BLOCK_BYTES;
	struct session_device *device = &session.devices[A];

	DEV_SYSCALL(A, SYS_close, session.devices[A].gpu);
	for (unsigned int lane = 1; lane < 4; lane++)
		DEV_POST(A, lane, AGENT_SUM, (uintptr_t)buf, len, PAGE_BYTES);
	close(space);
	session.space = -1;
	close(device->gpu);
	device->gpu = -1;
	ASSERT_EQ(0, agent_unmap(agent_of(A), (void *)ARENA_BASE, ARENA_BYTES));
	for (unsigned int lane = 1; lane < 4; lane++)
		ASSERT_EQ(0, dev_wait(A, lane, 60).error);
}

TEST_HARNESS_MAIN
