// SPDX-License-Identifier: MIT
#include "loop.h"

static void *loop_run(void *arg)
{
	struct loop *loop = arg;

	while (!__atomic_load_n(&loop->stop, __ATOMIC_RELAXED))
		loop->step(loop->arg);
	return NULL;
}

int loop_start(struct loop *loop, void (*step)(void *arg), void *arg)
{
	loop->step = step;
	loop->arg = arg;
	loop->stop = false;
	return pthread_create(&loop->thread, NULL, loop_run, loop);
}

int loop_stop(struct loop *loop)
{
	__atomic_store_n(&loop->stop, true, __ATOMIC_RELAXED);
	return pthread_join(loop->thread, NULL);
}
