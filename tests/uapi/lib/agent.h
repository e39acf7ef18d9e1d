/* SPDX-License-Identifier: MIT */
/*
 * A raw agent: a child process that executes for a device, without a runtime.
 *
 * Model      The child attaches to a bound file and maps parts of it at file
 *            offset == address. From then on, an access of the child to such a
 *            mapping is a device access to its parent's memory, and each thread
 *            of the child is a lane. The child's own text, stack and heap are
 *            its copy from the fork and stay where they are. Therefore the
 *            child maps only a small part of the address space: the arena.
 * Commands   Each lane has a mailbox in memory that parent and child share. The
 *            parent posts one command and waits for its outcome, with a limit.
 *            An access that does not end in time has the outcome -ETIMEDOUT.
 * Faults     An access that fails ends its command. The outcome has the signal
 *            and the record that the device keeps of the failure.
 */
#ifndef TESTS_UAPI_AGENT_H
#define TESTS_UAPI_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/hmmrt.h>

#define AGENT_MAX_LANES		8
#define AGENT_SCRATCH_BYTES	4096

enum agent_op {
	AGENT_READ,		/* args: address -> word */
	AGENT_WRITE,		/* args: address, word */
	AGENT_SUM,		/* args: address, bytes, stride -> sum */
	AGENT_FILL,		/* args: address, bytes, stride, first value */
	AGENT_ADD,		/* args: address, count; atomic increments */
	AGENT_CALL,		/* args: address -> function's result */
	AGENT_SYSCALL,		/* args: number, six more -> result or -errno */
	AGENT_READ_IN_CHILD,	/* args: address -> wait status of a child */
	AGENT_WRITE_OFTEN,	/* args: address, times -> successful writes */
	AGENT_QUIT,
};

/* Outcome of a command. */
struct outcome {
	int error;		/* 0, -ETIMEDOUT, or -EPIPE: agent exited */
	int signal;		/* signal that ended it, or 0 */
	uint64_t signal_addr;
	uint64_t value;
	struct hmmrt_gpu_fault_record record;	/* size is 0 without a signal */
};

struct agent_lane {
	uint32_t request;	/* futexes; equal while the lane is idle */
	uint32_t reply;
	pid_t tid;
	enum agent_op op;
	uint64_t args[7];
	struct outcome outcome;
};

/* Memory that parent and child share at the same address. */
struct agent_shared {
	uint32_t lanes_ready;
	int gpu;
	struct agent_lane lanes[AGENT_MAX_LANES];
	/* Holds the arguments of system calls. */
	uint8_t scratch[AGENT_SCRATCH_BYTES] __attribute__((aligned(64)));
};

struct agent {
	pid_t pid;		/* 0: not started, or reaped */
	int status;		/* from waitpid(), once it exited */
	unsigned int nr_lanes;
	struct agent_shared *shared;
};

/*
 * Forks the child, which keeps @gpu and all other open files. Returns 0 or a
 * negative errno.
 */
int agent_start(struct agent *agent, int gpu, unsigned int nr_lanes);

/* Ask the agent to quit, or kill it; both wait until it has exited. */
void agent_quit(struct agent *agent);
void agent_kill(struct agent *agent);

/*
 * Waits until the agent exits by itself. Returns false if it still lives after
 * @seconds.
 */
bool agent_wait_gone(struct agent *agent, unsigned int seconds);

/* Start a command on a lane, and wait for its outcome. */
void agent_post(struct agent *agent, unsigned int lane, enum agent_op op,
		const uint64_t *args, unsigned int nr_args);
struct outcome agent_wait(struct agent *agent, unsigned int lane,
			  unsigned int seconds);

/* Post a command to lane 0 and wait for it, with the default time limit. */
struct outcome agent_read(struct agent *agent, const volatile void *addr);
struct outcome agent_write(struct agent *agent, volatile void *addr,
			   uint64_t value);
struct outcome agent_sum(struct agent *agent, const volatile void *addr,
			 size_t len, size_t stride);
struct outcome agent_fill(struct agent *agent, volatile void *addr, size_t len,
			  size_t stride, uint64_t first);
struct outcome agent_call(struct agent *agent, const void *function);

/* A system call in the agent. Returns its result or a negative errno. */
int64_t agent_syscall(struct agent *agent, long number, uint64_t a, uint64_t b,
		      uint64_t c, uint64_t d, uint64_t e, uint64_t f);

/* System calls with arguments in memory, passed in the scratch area. */
int agent_ioctl(struct agent *agent, int fd, unsigned int cmd, void *arg,
		size_t size);
int agent_attach(struct agent *agent, int gpu, uint64_t token);
/* Calls open() in the agent. Returns a descriptor or a negative errno. */
int agent_open(struct agent *agent, const char *path, int flags);

/*
 * Calls mmap() in the agent, on its gpu file at offset == @addr. Returns 0 or a
 * negative errno.
 */
int agent_map(struct agent *agent, const volatile void *addr, size_t len,
	      int prot);
int agent_unmap(struct agent *agent, const volatile void *addr, size_t len);

#endif
