/* SPDX-License-Identifier: MIT */
/* Two hmmrt_faulty devices bound to this process, and memory for tests. */
#ifndef TESTS_UAPI_FAULTY_ENV_H
#define TESTS_UAPI_FAULTY_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"
#include "faulty.h"

/* The buffer crosses the boundary of two blocks. */
#define LEN		(64 * PAGE_BYTES)
#define PAGES		(LEN / PAGE_BYTES)

struct faulty_env {
	int manager;
	int control;
	int fd[2];
	uint32_t id[2];
	char *buf;
	uint64_t first;		/* page i holds first + i */
};

/*
 * Load and remove the module. Like all functions here that return int, they
 * return 0 or a negative errno.
 */
int faulty_env_start(struct faulty_env *env);
int faulty_env_end(struct faulty_env *env);
/*
 * Replaces the devices by new ones, with no memory allocated, empty page
 * tables, and no spans that know them.
 */
int faulty_env_devices(struct faulty_env *env);

long faulty_env_pages_on(const struct faulty_env *env, unsigned int device);
int faulty_env_put_on(struct faulty_env *env, unsigned int device);
/* Waits a while, because pages are freed asynchronously. */
bool faulty_env_is_unused(const struct faulty_env *env);

/* The first device reads each page; -EILSEQ if a value is wrong. */
int faulty_run_faults(struct faulty_env *env);
int faulty_run_to_device(struct faulty_env *env);

#endif
