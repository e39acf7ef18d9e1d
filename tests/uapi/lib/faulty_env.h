/* SPDX-License-Identifier: MIT */
/* Two devices of hmmrt_faulty on this process, and memory to use them with. */
#ifndef TESTS_UAPI_FAULTY_ENV_H
#define TESTS_UAPI_FAULTY_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd.h"
#include "faulty.h"

/* Over the border of two blocks. */
#define LEN		(64 * PAGE_BYTES)
#define PAGES		(LEN / PAGE_BYTES)

struct faulty_env {
	int manager;
	int control;
	int fd[2];
	uint32_t id[2];
	char *buf;
	uint64_t first;		/* what the pages hold */
};

/* Loads the module and removes it; 0 or a negative errno, as all others. */
int faulty_env_start(struct faulty_env *env);
int faulty_env_end(struct faulty_env *env);
/* New devices have no memory, no page tables, and no spans know them. */
int faulty_env_devices(struct faulty_env *env);

long faulty_env_pages_on(const struct faulty_env *env, unsigned int device);
int faulty_env_put_on(struct faulty_env *env, unsigned int device);
/* Freed pages take a moment. */
bool faulty_env_is_unused(const struct faulty_env *env);

/* The first device reads each page, -EILSEQ if one has something else. */
int faulty_run_faults(struct faulty_env *env);
int faulty_run_to_device(struct faulty_env *env);

#endif
