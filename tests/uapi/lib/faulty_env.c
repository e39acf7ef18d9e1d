// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "faulty_env.h"
#include "modules.h"
#include "session.h"
#include "setting.h"

int faulty_env_devices(struct faulty_env *env)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < 2; i++)
		if (env->fd[i] >= 0)
			close(env->fd[i]);
	rc = faulty_devices(env->control, 0);
	if (!rc)
		rc = faulty_devices(env->control, 2);
	for (i = 0; i < 2; i++) {
		env->fd[i] = open_faulty(i);
		if (!rc && env->fd[i] < 0)
			rc = env->fd[i];
	}
	return rc;
}

int faulty_env_start(struct faulty_env *env)
{
	char *mapped;
	int rc;

	*env = (struct faulty_env){ .fd = { -1, -1 } };
	rc = module_insert("hmmrt_faulty", "");
	if (rc)
		return rc;
	env->manager = open_manager();
	env->control = open_faulty_control();
	if (env->manager < 0 || env->control < 0)
		return -ENOENT;
	rc = cmd_space_create(env->manager);
	if (!rc)
		rc = faulty_env_devices(env);
	if (!rc)
		rc = device_named(env->manager, "hmmrt-faulty0", &env->id[0]);
	if (!rc)
		rc = device_named(env->manager, "hmmrt-faulty1", &env->id[1]);
	mapped = arena_anon(2 * BLOCK_BYTES);
	env->buf = mapped + BLOCK_BYTES - LEN / 2;
	return mapped ? rc : -ENOMEM;
}

int faulty_env_end(struct faulty_env *env)
{
	unsigned int op;

	for (op = 0; op < HMMRT_FAULTY_OPS; op++)
		faulty_fail_stop(env->control, op);
	faulty_hold(env->control, false);
	close(env->fd[0]);
	close(env->fd[1]);
	close(env->control);
	close(env->manager);
	return module_remove("hmmrt_faulty");
}

long faulty_env_pages_on(const struct faulty_env *env, unsigned int device)
{
	return pages_at(env->manager, env->buf, LEN, env->id[device]);
}

/*
 * Pages in a CPU's folio batches have an extra reference, which makes them
 * busy. Compaction drains the batches to the LRU lists.
 */
static void pages_to_lists(void)
{
	if (!write_text("/proc/sys/vm/compact_memory", "1"))
		fprintf(stderr, "# compact_memory cannot be written\n");
}

int faulty_env_put_on(struct faulty_env *env, unsigned int device)
{
	unsigned int try;
	int rc;

	for (try = 0; try < 10; try++) {
		rc = faulty_range(env->fd[device], HMMRT_FAULTY_IOC_TO_DEVICE,
				  env->buf, LEN);
		if (rc || faulty_env_pages_on(env, device) == PAGES)
			return rc;
		pages_to_lists();
	}
	return -EIO;
}

bool faulty_env_is_unused(const struct faulty_env *env)
{
	unsigned int try;

	for (try = 0; try < 1000; try++) {
		if (!device_used_bytes(env->manager, env->id[0]) &&
		    !device_used_bytes(env->manager, env->id[1]))
			return true;
		usleep(10000);
	}
	return false;
}

int faulty_run_faults(struct faulty_env *env)
{
	uint64_t value;
	size_t i;
	int rc;

	for (i = 0; i < PAGES; i++) {
		rc = faulty_read(env->fd[0], env->buf + i * PAGE_BYTES, &value);
		if (rc)
			return rc;
		if (value != env->first + i)
			return -EILSEQ;
	}
	return 0;
}

int faulty_run_to_device(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, env->buf,
			    LEN);
}
