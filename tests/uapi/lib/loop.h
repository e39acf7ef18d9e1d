/* SPDX-License-Identifier: MIT */
/* A thread that repeats a step until it is told to stop. */
#ifndef TESTS_UAPI_LOOP_H
#define TESTS_UAPI_LOOP_H

#include <pthread.h>
#include <stdbool.h>

struct loop {
	pthread_t thread;
	void (*step)(void *arg);
	void *arg;
	bool stop;
};

/* Return 0 or an errno. loop_stop() waits until the last step has ended. */
int loop_start(struct loop *loop, void (*step)(void *arg), void *arg);
int loop_stop(struct loop *loop);

#endif
