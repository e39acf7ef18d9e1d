// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>

#include "gpus.h"

int gpus_load(struct gpus *env, const char *more)
{
	char text[128];

	snprintf(text, sizeof(text), "devices=%d memory=%d %s", DEVICES,
		 DEVICE_MIB, more);
	return simgpu_replace(env->parameters, text);
}

int gpus_start(struct gpus *env, const char *more)
{
	int rc = gpus_load(env, more);

	if (!rc)
		rc = session_start(&env->session, DEVICES, LANES);
	env->space = env->session.space;
	env->buf = arena_anon(LEN);
	return env->buf ? rc : -ENOMEM;
}

uint32_t gpu_id(const struct gpus *env, unsigned int device)
{
	return env->session.devices[device].id;
}

struct agent *gpu_agent(struct gpus *env, unsigned int device)
{
	return &env->session.devices[device].agent;
}

struct hmmrt_stats gpu_stats(const struct gpus *env, unsigned int device)
{
	return session_stats(&env->session, device);
}

long gpu_pages(const struct gpus *env, const void *buf, size_t len,
	       unsigned int device)
{
	return pages_at(env->space, buf, len, gpu_id(env, device));
}

long pages_on_host(const struct gpus *env, const void *buf, size_t len)
{
	return pages_at(env->space, buf, len, HMMRT_LOCATION_HOST);
}

int gpu_put(const struct gpus *env, const void *buf, size_t len,
	    unsigned int device)
{
	int rc = cmd_prefetch(env->space, buf, len, gpu_id(env, device), NULL);

	if (!rc && gpu_pages(env, buf, len, device) != (long)(len / PAGE_BYTES))
		rc = -EBUSY;
	return rc;
}
