// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "clock.h"
#include "cmd.h"

/* Long enough for an emulated machine with a debug kernel. */
#define USUAL_LIMIT_S	120
#define POLL_NS		(20 * 1000 * 1000)

static void futex_wait(uint32_t *word, uint32_t value, bool forever)
{
	struct timespec timeout = { .tv_nsec = POLL_NS };

	syscall(SYS_futex, word, FUTEX_WAIT, value, forever ? NULL : &timeout);
}

static void futex_set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX);
}

static uint32_t load(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* --- the child ------------------------------------------------------------ */

static struct agent_shared *my_shared;
static __thread struct agent_lane *my_lane;
static __thread sigjmp_buf my_escape;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	struct outcome *outcome = &my_lane->outcome;

	(void)context;
	outcome->signal = sig;
	outcome->signal_addr = (uintptr_t)info->si_addr;
	cmd_fault_record(my_shared->gpu, &outcome->record);
	siglongjmp(my_escape, 1);
}

static void on_storm(int sig)
{
	(void)sig;
}

static uint64_t do_sum(const uint64_t *args)
{
	uint64_t sum = 0;

	for (uint64_t at = args[0]; at < args[0] + args[1]; at += args[2])
		sum += *(volatile uint64_t *)at;
	return sum;
}

static void do_fill(const uint64_t *args)
{
	uint64_t value = args[3];

	for (uint64_t at = args[0]; at < args[0] + args[1]; at += args[2])
		*(volatile uint64_t *)at = value++;
}

static void do_add(const uint64_t *args)
{
	for (uint64_t i = 0; i < args[1]; i++)
		__atomic_fetch_add((uint64_t *)args[0], 1, __ATOMIC_RELAXED);
}

static uint64_t do_syscall(const uint64_t *args)
{
	long rc = syscall((long)args[0], args[1], args[2], args[3], args[4],
			  args[5], args[6]);

	return (uint64_t)(rc == -1 ? -errno : rc);
}

/* Forks a child that reads the word; returns the child's wait status. */
static uint64_t do_read_in_child(const uint64_t *args)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		_exit(*(volatile uint64_t *)args[0] & 0x7f);
	}
	waitpid(pid, &status, 0);
	return (uint64_t)status;
}

/* Each write may fail; on_fault() then jumps back to here. */
static uint64_t do_write_often(const uint64_t *args)
{
	volatile uint64_t i, happened = 0;

	for (i = 0; i < args[1]; i++) {
		if (sigsetjmp(my_escape, 1))
			continue;
		*(volatile uint64_t *)args[0] = ~0ULL;
		happened++;
	}
	return happened;
}

static uint64_t lane_execute(enum agent_op op, const uint64_t *args)
{
	switch (op) {
	case AGENT_READ:
		return *(volatile uint64_t *)args[0];
	case AGENT_WRITE:
		*(volatile uint64_t *)args[0] = args[1];
		return 0;
	case AGENT_SUM:
		return do_sum(args);
	case AGENT_FILL:
		do_fill(args);
		return 0;
	case AGENT_ADD:
		do_add(args);
		return 0;
	case AGENT_CALL:
		return ((uint64_t (*)(void))args[0])();
	case AGENT_SYSCALL:
		return do_syscall(args);
	case AGENT_READ_IN_CHILD:
		return do_read_in_child(args);
	case AGENT_WRITE_OFTEN:
		return do_write_often(args);
	case AGENT_QUIT:
		break;
	}
	_exit(0);
}

/* A fault during the command ends it; on_fault() has filled in the outcome. */
static void lane_serve(struct agent_lane *lane)
{
	if (!sigsetjmp(my_escape, 1))
		lane->outcome.value = lane_execute(lane->op, lane->args);
}

static void *lane_run(void *arg)
{
	struct agent_lane *lane = arg;
	uint32_t done = 0;

	my_lane = lane;
	lane->tid = (pid_t)syscall(SYS_gettid);
	__atomic_fetch_add(&my_shared->lanes_ready, 1, __ATOMIC_RELEASE);
	for (;;) {
		while (load(&lane->request) == done)
			futex_wait(&lane->request, done, true);
		done = load(&lane->request);
		lane_serve(lane);
		futex_set(&lane->reply, done);
	}
	return NULL;
}

static void child_run(struct agent_shared *shared, pid_t owner,
		      unsigned int nr_lanes)
{
	struct sigaction fault = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER,
	};
	struct sigaction storm = { .sa_handler = on_storm };

	/* The owner may have been killed before. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != owner)
		_exit(1);
	my_shared = shared;
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	sigaction(SIGUSR1, &storm, NULL);
	for (unsigned int i = 1; i < nr_lanes; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, lane_run, &shared->lanes[i]))
			_exit(1);
	}
	lane_run(&shared->lanes[0]);
}

/* --- the parent ----------------------------------------------------------- */

static bool agent_gone(struct agent *agent)
{
	if (agent->pid &&
	    waitpid(agent->pid, &agent->status, WNOHANG) == agent->pid)
		agent->pid = 0;
	return !agent->pid;
}

static void sleep_a_moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = POLL_NS / 10 }, NULL);
}

int agent_start(struct agent *agent, int gpu, unsigned int nr_lanes)
{
	double deadline = now_s() + USUAL_LIMIT_S;
	pid_t owner = getpid();

	*agent = (struct agent){ .nr_lanes = nr_lanes };
	agent->shared = mmap(NULL, sizeof(*agent->shared),
			     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);
	if (agent->shared == MAP_FAILED)
		return -errno;
	agent->shared->gpu = gpu;
	agent->pid = fork();
	if (agent->pid < 0)
		return -errno;
	if (!agent->pid) {
		child_run(agent->shared, owner, nr_lanes);
		_exit(1);
	}
	while (load(&agent->shared->lanes_ready) < nr_lanes) {
		if (agent_gone(agent) || now_s() > deadline)
			return -EPIPE;
		sleep_a_moment();
	}
	return 0;
}

bool agent_wait_gone(struct agent *agent, unsigned int seconds)
{
	double deadline = now_s() + seconds;

	while (!agent_gone(agent)) {
		if (now_s() > deadline)
			return false;
		sleep_a_moment();
	}
	return true;
}

void agent_kill(struct agent *agent)
{
	if (agent->pid > 0) {
		kill(agent->pid, SIGKILL);
		waitpid(agent->pid, &agent->status, 0);
		agent->pid = 0;
	}
}

void agent_quit(struct agent *agent)
{
	if (agent->pid > 0) {
		agent_post(agent, 0, AGENT_QUIT, NULL, 0);
		if (!agent_wait_gone(agent, USUAL_LIMIT_S))
			agent_kill(agent);
	}
	if (agent->shared)
		munmap(agent->shared, sizeof(*agent->shared));
	agent->shared = NULL;
}

void agent_post(struct agent *agent, unsigned int index, enum agent_op op,
		const uint64_t *args, unsigned int nr_args)
{
	struct agent_lane *lane = &agent->shared->lanes[index];

	memset(&lane->outcome, 0, sizeof(lane->outcome));
	memset(lane->args, 0, sizeof(lane->args));
	if (nr_args)
		memcpy(lane->args, args, nr_args * sizeof(*args));
	lane->op = op;
	futex_set(&lane->request, lane->request + 1);
}

struct outcome agent_wait(struct agent *agent, unsigned int index,
			  unsigned int seconds)
{
	struct agent_lane *lane = &agent->shared->lanes[index];
	double deadline = now_s() + seconds;
	uint32_t reply;

	while ((reply = load(&lane->reply)) != lane->request) {
		if (agent_gone(agent))
			return (struct outcome){ .error = -EPIPE };
		if (now_s() > deadline)
			return (struct outcome){ .error = -ETIMEDOUT };
		futex_wait(&lane->reply, reply, false);
	}
	return lane->outcome;
}

static struct outcome agent_do(struct agent *agent, enum agent_op op,
			       const uint64_t *args, unsigned int nr_args)
{
	agent_post(agent, 0, op, args, nr_args);
	return agent_wait(agent, 0, USUAL_LIMIT_S);
}

struct outcome agent_read(struct agent *agent, const volatile void *addr)
{
	uint64_t args[] = { (uintptr_t)addr };

	return agent_do(agent, AGENT_READ, args, 1);
}

struct outcome agent_write(struct agent *agent, volatile void *addr,
			   uint64_t value)
{
	uint64_t args[] = { (uintptr_t)addr, value };

	return agent_do(agent, AGENT_WRITE, args, 2);
}

struct outcome agent_sum(struct agent *agent, const volatile void *addr,
			 size_t len, size_t stride)
{
	uint64_t args[] = { (uintptr_t)addr, len, stride };

	return agent_do(agent, AGENT_SUM, args, 3);
}

struct outcome agent_fill(struct agent *agent, volatile void *addr, size_t len,
			  size_t stride, uint64_t first)
{
	uint64_t args[] = { (uintptr_t)addr, len, stride, first };

	return agent_do(agent, AGENT_FILL, args, 4);
}

struct outcome agent_call(struct agent *agent, const void *function)
{
	uint64_t args[] = { (uintptr_t)function };

	return agent_do(agent, AGENT_CALL, args, 1);
}

int64_t agent_syscall(struct agent *agent, long number, uint64_t a, uint64_t b,
		      uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t args[] = { (uint64_t)number, a, b, c, d, e, f };
	struct outcome outcome = agent_do(agent, AGENT_SYSCALL, args, 7);

	return outcome.error ? outcome.error : (int64_t)outcome.value;
}

int agent_ioctl(struct agent *agent, int fd, unsigned int cmd, void *arg,
		size_t size)
{
	int64_t rc;

	memcpy(agent->shared->scratch, arg, size);
	rc = agent_syscall(agent, SYS_ioctl, (uint64_t)fd, cmd,
			   (uintptr_t)agent->shared->scratch, 0, 0, 0);
	memcpy(arg, agent->shared->scratch, size);
	return (int)rc;
}

int agent_attach(struct agent *agent, int gpu, uint64_t token)
{
	struct hmmrt_gpu_attach attach = {
		.size = sizeof(attach), .token = token,
	};

	return agent_ioctl(agent, gpu, HMMRT_GPU_IOC_ATTACH, &attach,
			   sizeof(attach));
}

int agent_open(struct agent *agent, const char *path, int flags)
{
	strcpy((char *)agent->shared->scratch, path);
	return (int)agent_syscall(agent, SYS_open,
				  (uintptr_t)agent->shared->scratch,
				  (uint64_t)flags, 0, 0, 0, 0);
}

int agent_map(struct agent *agent, const volatile void *addr, size_t len,
	      int prot)
{
	int64_t rc = agent_syscall(agent, SYS_mmap, (uintptr_t)addr, len,
				   (uint64_t)prot, MAP_SHARED | MAP_FIXED,
				   (uint64_t)agent->shared->gpu,
				   (uintptr_t)addr);

	return rc == (int64_t)(uintptr_t)addr ? 0 : (int)rc;
}

int agent_unmap(struct agent *agent, const volatile void *addr, size_t len)
{
	return (int)agent_syscall(agent, SYS_munmap, (uintptr_t)addr, len, 0, 0,
				  0, 0);
}
