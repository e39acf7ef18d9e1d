/* SPDX-License-Identifier: MIT */
/*
 * Other processes. Functions with a limit return false if that comes first.
 */
#ifndef TESTS_UAPI_PROCESS_H
#define TESTS_UAPI_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

/* Waits until a process has ended that its parent does not reap. */
bool process_wait_zombie(pid_t pid, int limit_s);
/* Waits until a process executes another program. */
bool process_wait_program(pid_t pid, int limit_s, const char *name);

/* Starts a child that exits with this value, and returns its pid. */
#define CHILD(result)							\
	({								\
		pid_t _child = fork();					\
									\
		if (!_child)						\
			_exit(result);					\
		_child;							\
	})
/* The same, and returns its wait status, or -1. */
#define IN_CHILD(result) process_wait(CHILD(result))

/*
 * Wait for a child, and reap it; the second one with a limit. Return its wait
 * status, or -1.
 */
int process_wait(pid_t pid);
int process_wait_for(pid_t pid, int limit_s);
/* Waits for a child. Returns what it passed to exit(), or -1. */
int process_result(pid_t pid);
/* Waits for a child until a signal stops it. */
bool process_wait_stopped(pid_t pid);
/*
 * Calls @body in a child, which is killed if this process ends. Returns its
 * exit status, or -1.
 */
int process_run(int (*body)(int arg), int arg, int limit_s);
/* Kills a child, and reaps it. Returns 0 or a negative errno. */
int process_kill(pid_t pid);

/* A pipe: a process waits at its gate until another one opens it. */
struct gate {
	int fds[2];
};

/*
 * Return false on failure. A process that waits can't open the gate afterwards:
 * gate_wait() closes that end, so that it fails once all who can have ended.
 */
bool gate_make(struct gate *gate);
bool gate_wait(struct gate *gate);
bool gate_open(const struct gate *gate);
void gate_close(struct gate *gate);

/* Returns a page that this process will share with its children, or NULL. */
void *shared_page(void);

#endif
