// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include "storm.h"

static unsigned int nr_signals;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&nr_signals, 1, __ATOMIC_RELAXED);
}

void storm_restarts(void)
{
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART,
	};

	sigaction(SIGUSR1, &action, NULL);
}

static void send_signal(void *arg)
{
	struct storm *storm = arg;

	pthread_kill(storm->victim, SIGUSR1);
	usleep(200);
}

int storm_start(struct storm *storm)
{
	/* No SA_RESTART: system calls must return. */
	struct sigaction action = { .sa_handler = on_signal };
	int rc;

	sigaction(SIGUSR1, &action, NULL);
	storm->victim = pthread_self();
	__atomic_store_n(&nr_signals, 0, __ATOMIC_RELAXED);
	rc = loop_start(&storm->loop, send_signal, storm);
	while (!rc && !__atomic_load_n(&nr_signals, __ATOMIC_RELAXED))
		usleep(100);
	return rc;
}

void storm_stop(struct storm *storm)
{
	loop_stop(&storm->loop);
}
