/* SPDX-License-Identifier: MIT */
/* Waiting for other processes. All return false if the limit comes first. */
#ifndef TESTS_UAPI_PROCESS_H
#define TESTS_UAPI_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Waits until a child has ended, and reaps it. */
bool process_wait_end(pid_t pid, int limit_s, int *status);
/* Waits until a process has ended that its parent does not reap. */
bool process_wait_zombie(pid_t pid, int limit_s);
/* Waits until a process executes another program. */
bool process_wait_program(pid_t pid, int limit_s, const char *name);

#endif
