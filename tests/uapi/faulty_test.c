// SPDX-License-Identifier: MIT
/*
 * A device that fails: each op that may fail does so at its first, second, ...
 * call while a process uses the device in each way there is. What is documented
 * holds: the call fails with its error, or does without; no page is lost, none is
 * left on the device, and the next attempt works. Loads and removes the module.
 */
#include "lib/faulty_env.h"
#include "lib/harness.h"
#include "lib/session.h"

/* More calls than any step makes. */
#define MAX_NTH		5000

/* --- ways to use a device -------------------------------------------------------- */

static int start_at_home(struct faulty_env *env)
{
	(void)env;
	return 0;
}

static int start_on_device(struct faulty_env *env)
{
	return faulty_env_put_on(env, 0);
}

static int start_on_peer(struct faulty_env *env)
{
	return faulty_env_put_on(env, 1);
}

static int run_fault_range(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_FAULT, env->buf, LEN);
}

static int run_to_host(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_TO_HOST, env->buf,
			    LEN);
}

static int run_exclusive(struct faulty_env *env)
{
	return faulty_range(env->fd[0], HMMRT_FAULTY_IOC_EXCLUSIVE, env->buf,
			    LEN);
}

static int run_prefetch(struct faulty_env *env)
{
	return cmd_prefetch(env->manager, env->buf, LEN, env->id[0], NULL);
}

static int run_prefetch_home(struct faulty_env *env)
{
	return cmd_prefetch(env->manager, env->buf, LEN, HMMRT_LOCATION_HOST,
			    NULL);
}

static int run_evict(struct faulty_env *env)
{
	return faulty_evict(env->control, 0);
}

/* Its end is nobody's failure: what is not read back stays. */
static int run_unbind(struct faulty_env *env)
{
	close(env->fd[0]);
	env->fd[0] = open_faulty(0);
	return env->fd[0] < 0 ? env->fd[0] : 0;
}

FIXTURE(failing) {
	struct faulty_env env;
};

FIXTURE_VARIANT(failing) {
	enum hmmrt_faulty_op op;
	int (*start)(struct faulty_env *env);
	int (*run)(struct faulty_env *env);
	int error;		/* that it may give; 0: it does without */
	bool moves;		/* to the device, if nothing fails */
};

#define FAILING(_op, _start, _run) \
	.op = HMMRT_FAULTY_##_op, .start = (_start), .run = (_run)

FIXTURE_VARIANT_ADD(failing, populate_in_faults) {
	FAILING(POPULATE, start_at_home, faulty_run_faults), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_fault_range) {
	FAILING(POPULATE, start_at_home, run_fault_range), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_prefetch) {
	FAILING(POPULATE, start_at_home, run_prefetch), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_migration) {
	FAILING(POPULATE, start_at_home, faulty_run_to_device), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, populate_in_migration_of_a_peers) {
	FAILING(POPULATE, start_on_peer, faulty_run_to_device), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_faults) {
	FAILING(PREPARE, start_at_home, faulty_run_faults), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_fault_range) {
	FAILING(PREPARE, start_at_home, run_fault_range), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_prefetch) {
	FAILING(PREPARE, start_at_home, run_prefetch), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_migration) {
	FAILING(PREPARE, start_at_home, faulty_run_to_device), .error = ENOMEM, .moves = true,
};

FIXTURE_VARIANT_ADD(failing, prepare_in_exclusive) {
	FAILING(PREPARE, start_at_home, run_exclusive), .error = ENOMEM,
};

FIXTURE_VARIANT_ADD(failing, copy_in_faults) {
	FAILING(COPY_TO_DEVICE, start_at_home, faulty_run_faults), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_in_fault_range) {
	FAILING(COPY_TO_DEVICE, start_at_home, run_fault_range), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_in_prefetch) {
	FAILING(COPY_TO_DEVICE, start_at_home, run_prefetch), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_in_migration) {
	FAILING(COPY_TO_DEVICE, start_at_home, faulty_run_to_device), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_migration) {
	FAILING(COPY_TO_HOST, start_on_device, run_to_host),
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_prefetch) {
	FAILING(COPY_TO_HOST, start_on_device, run_prefetch_home),
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_exclusive) {
	FAILING(COPY_TO_HOST, start_on_device, run_exclusive), .error = EFAULT,
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_eviction) {
	FAILING(COPY_TO_HOST, start_on_device, run_evict),
};

FIXTURE_VARIANT_ADD(failing, copy_out_in_unbind) {
	FAILING(COPY_TO_HOST, start_on_device, run_unbind),
};

FIXTURE_VARIANT_ADD(failing, peer_in_faults) {
	FAILING(COPY_FROM_PEER, start_on_peer, faulty_run_faults), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, peer_in_fault_range) {
	FAILING(COPY_FROM_PEER, start_on_peer, run_fault_range), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, peer_in_prefetch) {
	FAILING(COPY_FROM_PEER, start_on_peer, run_prefetch), .moves = true,
};

FIXTURE_VARIANT_ADD(failing, peer_in_migration) {
	FAILING(COPY_FROM_PEER, start_on_peer, faulty_run_to_device), .moves = true,
};

FIXTURE_SETUP(failing)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(return, "HMMRT_MODULE_DIR does not say where the modules are");
	ASSERT_EQ(0, faulty_env_start(&self->env));
}

FIXTURE_TEARDOWN(failing)
{
	if (getenv("HMMRT_MODULE_DIR"))
		EXPECT_EQ(0, faulty_env_end(&self->env));
}

/* 0 with the failed call, 1 when it made fewer calls, or what went wrong. */
static int fail_once(struct faulty_env *env, const FIXTURE_VARIANT(failing) *variant,
		     unsigned int nth)
{
	int rc, left;

	env->first = 1000 * (nth + 1);
	pages_fill(env->buf, LEN, env->first);
	rc = faulty_env_devices(env);
	if (!rc)
		rc = variant->start(env);
	if (!rc)
		rc = faulty_fail_nth(env->control, variant->op, nth);
	if (rc)
		return rc;
	rc = variant->run(env);
	left = faulty_fail_stop(env->control, variant->op);
	if (rc && (left || rc != -variant->error))
		return rc;
	/* Without tables nothing can be done; a page is perhaps a neighbour's. */
	if (!left && !rc && variant->op == HMMRT_FAULTY_PREPARE)
		return -ENODATA;
	return left > 0;
}

TEST_F(failing, call_is_survived_and_the_next_attempt_works)
{
	struct faulty_env *env = &self->env;
	unsigned int nth, failed = 0;
	int rc = 0;

	for (nth = 1; !rc && nth < MAX_NTH; nth += 1 + nth / 3) {
		rc = fail_once(env, variant, nth);
		ASSERT_LE(0, rc)
		{
			TH_LOG("call %u: %d", nth, rc);
		}
		failed += !rc;
		ASSERT_EQ(0, variant->run(env));
		if (variant->moves)
			ASSERT_EQ(0, faulty_env_put_on(env, 0));
		ASSERT_EQ(-1, pages_check(env->buf, LEN, env->first));
		ASSERT_EQ(PAGES, pages_at(env->manager, env->buf, LEN,
					  HMMRT_LOCATION_HOST));
		ASSERT_TRUE(faulty_env_is_unused(env));
	}
	/* It ended because there were no more calls to fail, and there were some. */
	EXPECT_EQ(1, rc);
	EXPECT_LT(0, failed);
}

TEST_HARNESS_MAIN
