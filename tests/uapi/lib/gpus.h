/* SPDX-License-Identifier: MIT */
/*
 * Four small simulated GPUs bound to this process, and helpers that move pages
 * to them and count pages by location. Loads hmmrt_simgpu with its own
 * parameters; the test must restore the previous ones with
 * simgpu_restore(env->parameters).
 */
#ifndef TESTS_UAPI_GPUS_H
#define TESTS_UAPI_GPUS_H

#include <stddef.h>
#include <stdint.h>

#include "modules.h"
#include "session.h"

#define DEVICES		4
#define LANES		2
#define DEVICE_MIB	16
#define DEVICE_BYTES	((size_t)DEVICE_MIB << 20)
#define LEN		(2 * BLOCK_BYTES)
#define PAGES		(LEN / PAGE_BYTES)

/* The devices of a test, in the order in which it uses them. */
enum { A, B, C, D };

struct gpus {
	char parameters[SIMGPU_PARAMETERS];	/* before the test */
	struct session session;
	int space;
	char *buf;				/* LEN bytes of the arena */
};

/*
 * gpus_load() only loads the module, with @more parameters; gpus_start() also
 * starts a session. Like all functions here that return int, they return 0 or a
 * negative errno.
 */
int gpus_load(struct gpus *env, const char *more);
int gpus_start(struct gpus *env, const char *more);

uint32_t gpu_id(const struct gpus *env, unsigned int device);
struct agent *gpu_agent(struct gpus *env, unsigned int device);
struct hmmrt_stats gpu_stats(const struct gpus *env, unsigned int device);

/* Return how many pages of @buf are on a device, and in system memory. */
long gpu_pages(const struct gpus *env, const void *buf, size_t len,
	       unsigned int device);
long pages_on_host(const struct gpus *env, const void *buf, size_t len);

/* Prefetches pages; -EBUSY if not all of them are on the device afterwards. */
int gpu_put(const struct gpus *env, const void *buf, size_t len,
	    unsigned int device);

#endif
