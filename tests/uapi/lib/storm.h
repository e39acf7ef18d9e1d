/* SPDX-License-Identifier: MIT */
/* A storm of signals, for calls that must report how far they got. */
#ifndef TESTS_UAPI_STORM_H
#define TESTS_UAPI_STORM_H

#include "loop.h"

/* Number of retries if no signal arrived at the right moment. */
#define STORM_ROUNDS	20

struct storm {
	struct loop loop;
	pthread_t victim;
};

/*
 * Sends SIGUSR1 to the calling thread repeatedly. The first signal has been
 * handled when this returns 0. Otherwise returns an errno.
 */
int storm_start(struct storm *storm);
/* From now on, the kernel restarts interrupted calls (SA_RESTART). */
void storm_restarts(void);
void storm_stop(struct storm *storm);

#endif
