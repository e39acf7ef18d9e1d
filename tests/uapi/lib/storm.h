/* SPDX-License-Identifier: MIT */
/* A storm of signals, for calls that must say how far they got. */
#ifndef TESTS_UAPI_STORM_H
#define TESTS_UAPI_STORM_H

#include <pthread.h>
#include <stdbool.h>

/* How often to try again when no signal came at the right moment. */
#define STORM_ROUNDS	20

struct storm {
	pthread_t victim;
	pthread_t thread;
	bool stop;
};

/*
 * SIGUSR1 to the calling thread, again and again: the first has come when this
 * returns 0. Otherwise an errno.
 */
int storm_start(struct storm *storm);
void storm_stop(struct storm *storm);

#endif
