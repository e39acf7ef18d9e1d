// SPDX-License-Identifier: MIT
/*
 * Device memory shared by several processes: a process within its share loses
 * nothing to others, cgroups have limits and priorities, and the number of
 * processes of a user is limited. Loads hmmrt_simgpu with two small devices, and
 * restores its parameters.
 */
#include <sys/stat.h>

#include "lib/amount.h"
#include "lib/fixture.h"

#define DEVICE_BYTES	amount(16UL << 20, 8UL << 20)
/* More than the device has. */
#define MOST		(DEVICE_BYTES + amount(DEVICE_BYTES, 2 * BLOCK_BYTES))
#define NO_LIMIT	HMMRT_QUOTA_NO_LIMIT
#define DEFAULT		HMMRT_PRIORITY_DEFAULT
#define PROCESSES_MAX	"/sys/module/hmmrt/parameters/processes_max"
#define CGROUP		"/sys/fs/cgroup/hmmrt-quota"
/* Device pages are freed when the last process that uses them is gone. */
#define GIVE_BACK_LIMIT_S	60
#define OTHERS_MAX	4

/* A process with its own session, which executes orders from the test. */
struct other {
	pid_t pid;
	int orders;
	int answers;
};

enum order {
	CHECK = 'c',
	FILL = 'f',
	INHERIT = 'i',
	PREFETCH = 'p',
	QUIT = 'q',
	REFRAIN = 'r',		/* set a limit of 0 */
};

struct answer {
	bool right;
	pid_t pid;
	uint64_t faults;
	uint64_t evicted;
	uint64_t used;
};

struct plan {
	size_t len;
	uint32_t priority;
	uint64_t limit;
	const char *cgroup;		/* cgroup.procs to join, or NULL */
};

static bool is_done(struct outcome outcome)
{
	return !outcome.error && !outcome.signal;
}

static struct answer carry_out(size_t len, char order)
{
	struct answer answer = { .pid = getpid() };
	struct hmmrt_quota quota;
	struct hmmrt_stats stats;
	struct outcome outcome;

	if (order == PREFETCH) {
		answer.right = !prefetch(A, buf, len);
	} else if (order == REFRAIN) {
		answer.right =
			!cmd_set_quota(space, id_of(A), 0, DEFAULT, NULL);
	} else if (order == FILL) {
		answer.right = is_done(dev_fill(A, buf, len, 77));
	} else {
		outcome = dev_sum(A, buf, len);
		answer.right = is_done(outcome) &&
			       outcome.value == pages_sum(len, 77);
	}
	stats = stats_of(A);
	answer.faults = stats.out_device_faults;
	answer.evicted = stats.out_evicted_pages;
	if (cmd_get_quota(space, id_of(A), &quota))
		answer.right = false;
	answer.used = quota.out_used_bytes;
	return answer;
}

/* Leaves a child with the memory but no device. The test reaps it. */
static int run_holder(size_t len, int orders, int answers)
{
	struct answer answer = { .right = true };
	pid_t pid = fork();
	char order;

	if (pid)
		_exit(pid < 0);
	close(session.devices[A].gpu);
	close(space);
	answer.pid = getpid();
	if (write(answers, &answer, sizeof(answer)) != sizeof(answer) ||
	    read(orders, &order, 1) != 1)
		return 4;
	return pages_check(buf, len, 77) != -1;
}

static int be_other(const struct plan *plan, int orders, int answers)
{
	char order;

	buf = arena_anon(plan->len);
	if (plan->cgroup && !write_text(plan->cgroup, "0"))
		return 2;
	if (!buf || session_start(&session, 1, 1))
		return 3;
	space = session.space;
	if (cmd_set_quota(space, id_of(A), plan->limit, plan->priority, NULL))
		return 3;
	pages_fill(buf, plan->len, 77);
	while (read(orders, &order, 1) == 1 && order != QUIT) {
		struct answer answer;

		if (order == INHERIT)
			return run_holder(plan->len, orders, answers);
		answer = carry_out(plan->len, order);
		if (write(answers, &answer, sizeof(answer)) != sizeof(answer))
			return 4;
	}
	session_unbind(&session, A);
	close(space);
	return 0;
}

/* Processes that still run, to be killed if the test fails. */
static pid_t others[OTHERS_MAX];

static void note_other(pid_t before, pid_t now)
{
	for (size_t i = 0; i < OTHERS_MAX; i++) {
		if (others[i] == before) {
			others[i] = now;
			return;
		}
	}
}

static void kill_others(void)
{
	for (size_t i = 0; i < OTHERS_MAX; i++) {
		if (others[i] > 0)
			process_kill(others[i]);
		others[i] = 0;
	}
}

static bool start_other(struct other *other, const struct plan *plan)
{
	int orders[2], answers[2];

	if (pipe2(orders, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		return false;
	other->pid = fork();
	if (!other->pid) {
		close(orders[1]);
		close(answers[0]);
		_exit(be_other(plan, orders[0], answers[1]));
	}
	close(orders[0]);
	close(answers[1]);
	other->orders = orders[1];
	other->answers = answers[0];
	if (other->pid > 0)
		note_other(0, other->pid);
	return other->pid > 0;
}

static void tell(const struct other *other, char order)
{
	if (write(other->orders, &order, 1) != 1)
		perror("# order");
}

static struct answer answer_of(const struct other *other)
{
	struct answer answer = { 0 };

	if (read(other->answers, &answer, sizeof(answer)) != sizeof(answer))
		answer.right = false;
	return answer;
}

static struct answer ask(const struct other *other, char order)
{
	tell(other, order);
	return answer_of(other);
}

/* The same, where the other process must succeed. */
#define ASK(other, order)						\
	({								\
		struct answer _answer = ask(other, order);		\
									\
		EXPECT_TRUE(_answer.right);				\
		_answer;						\
	})

/* A plan at the default priority without a limit. */
static struct plan plan_of(size_t len)
{
	return (struct plan){ len, DEFAULT, NO_LIMIT, NULL };
}

/* Ends *other. The caller must end *holder. */
static bool inherit(const struct other *other, struct other *holder)
{
	struct answer answer = ask(other, INHERIT);

	*holder = *other;
	holder->pid = answer.pid;
	if (!answer.right)
		return false;
	note_other(other->pid, holder->pid);
	return !process_wait(other->pid);
}

static bool end_other(struct other *other)
{
	note_other(other->pid, 0);
	tell(other, QUIT);
	close(other->orders);
	close(other->answers);
	return !process_wait(other->pid);
}

FIXTURE(processes) {
	char parameters[SIMGPU_PARAMETERS];
};

FIXTURE_SETUP(processes)
{
	char module[32];

	NEED_MODULES();
	/*
	 * If a process has failed, the missing answer shows it, so ignore the
	 * signal.
	 */
	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	snprintf(module, sizeof(module), "devices=2 memory=%lu",
		 DEVICE_BYTES >> 20);
	ASSERT_EQ(0, simgpu_replace(self->parameters, module));
	space = open_manager();
	ASSERT_EQ(0, device_named(space, "hmmrt-gpu0", &session.devices[A].id));
	ASSERT_EQ(0, evict_always(space, id_of(A)));
}

FIXTURE_TEARDOWN(processes)
{
	if (!self->parameters[0])
		return;
	kill_others();
	rmdir(CGROUP "/a");
	rmdir(CGROUP "/b");
	rmdir(CGROUP);
	EXPECT_TRUE(write_text(PROCESSES_MAX, "1024"));
	close(space);
	EXPECT_EQ(0, simgpu_restore(self->parameters));
}

static bool is_given_back(void)
{
	return WAIT_UNTIL(!device_used_bytes(space, id_of(A)),
			  GIVE_BACK_LIMIT_S);
}

#define MODEST	(DEVICE_BYTES / 4)

/*
 * The modest process puts its memory on the device, then the greedy one uses
 * all of its own, which is more than the device has.
 */
static struct answer next_to_a_greedy_one(struct __test_metadata *_metadata,
					  const struct plan *modest_plan,
					  uint64_t *faults)
{
	const struct plan greedy_plan = plan_of(MOST);
	struct other modest, greedy;
	struct answer answer;

	ASSERT_TRUE(start_other(&modest, modest_plan));
	answer = ask(&modest, FILL);
	ASSERT_TRUE(answer.right);
	EXPECT_EQ(MODEST, answer.used);
	*faults = answer.faults;
	ASSERT_TRUE(start_other(&greedy, &greedy_plan));
	EXPECT_LT(0, ASK(&greedy, FILL).evicted);
	ASK(&greedy, PREFETCH);
	ASK(&greedy, CHECK);
	answer = ASK(&modest, CHECK);
	EXPECT_TRUE(end_other(&greedy));
	EXPECT_TRUE(end_other(&modest));
	EXPECT_TRUE(is_given_back());
	return answer;
}

TEST_F(processes, process_within_its_share_loses_nothing)
{
	const struct plan modest = plan_of(MODEST);
	uint64_t faults;
	struct answer answer =
		next_to_a_greedy_one(_metadata, &modest, &faults);

	EXPECT_EQ(0, answer.evicted);
	EXPECT_EQ(faults, answer.faults);
	EXPECT_EQ(MODEST, answer.used);
}

/* At low priority, the same memory exceeds the process's share. */
TEST_F(processes, process_with_low_priority_loses_memory)
{
	const struct plan modest = { MODEST, 0, NO_LIMIT, NULL };
	uint64_t faults;
	struct answer answer =
		next_to_a_greedy_one(_metadata, &modest, &faults);

	EXPECT_LT(0, answer.evicted);
	EXPECT_LT(faults, answer.faults);
}

/* A process that comes later gets its share of a full device. */
TEST_F(processes, later_process_gets_its_share_of_a_full_device)
{
	const struct plan plan = plan_of(MOST);
	struct other first, second;

	ASSERT_TRUE(start_other(&first, &plan));
	EXPECT_EQ(DEVICE_BYTES, ask(&first, FILL).used);
	ASSERT_TRUE(start_other(&second, &plan));
	EXPECT_EQ(DEVICE_BYTES / 2, ASK(&second, FILL).used);
	EXPECT_EQ(DEVICE_BYTES / 2, ASK(&first, CHECK).used);
	ASK(&second, CHECK);
	EXPECT_TRUE(end_other(&first));
	EXPECT_TRUE(end_other(&second));
	EXPECT_TRUE(is_given_back());
}

/* A process is killed while limits apply and all processes migrate memory. */
TEST_F(processes, process_killed_during_eviction_leaves_nothing)
{
	const struct plan plan = { MOST, DEFAULT, 3 * BLOCK_BYTES, NULL };
	const struct plan victim_plan = { MOST, DEFAULT, 2 * BLOCK_BYTES, NULL };
	const unsigned int rounds = amount(5, 2);
	unsigned int seed = test_seed();
	struct other other;

	ASSERT_TRUE(start_other(&other, &plan));
	for (unsigned int round = 0; round < rounds; round++) {
		struct other victim;

		ASSERT_TRUE(start_other(&victim, &victim_plan));
		ASSERT_TRUE(ask(&victim, PREFETCH).right);
		tell(&victim, rand_r(&seed) % 2 ? FILL : PREFETCH);
		tell(&other, FILL);
		usleep(rand_r(&seed) % 200000);
		note_other(victim.pid, 0);
		ASSERT_EQ(0, process_kill(victim.pid));
		close(victim.orders);
		close(victim.answers);
		ASSERT_TRUE(answer_of(&other).right);
		ASSERT_TRUE(ask(&other, CHECK).right);
	}
	EXPECT_GE(3 * BLOCK_BYTES, ask(&other, CHECK).used);
	EXPECT_TRUE(end_other(&other));
	EXPECT_TRUE(is_given_back());
}

/* Both processes have pages in one chunk. Only the pages of one are evicted. */
TEST_F(processes, limit_evicts_only_pages_of_its_process)
{
	const size_t full = DEVICE_BYTES / 2 / BLOCK_BYTES;
	const size_t most = full * BLOCK_BYTES + BLOCK_BYTES / 2;
	const struct plan first_plan = plan_of(most);
	const struct plan second_plan = plan_of(BLOCK_BYTES / 8);
	struct hmmrt_device_info info;
	struct other first, second;
	struct answer answer;

	/*
	 * When more than half of the chunks are in use, partial ones are
	 * shared.
	 */
	ASSERT_TRUE(start_other(&first, &first_plan));
	ASSERT_TRUE(ask(&first, PREFETCH).right);
	ASSERT_TRUE(start_other(&second, &second_plan));
	ASSERT_TRUE(ask(&second, PREFETCH).right);
	ASSERT_EQ(0, cmd_device_info(space, id_of(A), &info));
	ASSERT_EQ(1, info.out_partial_chunks);
	ASSERT_EQ(full, info.out_full_chunks);
	EXPECT_EQ(0, ASK(&second, REFRAIN).used);
	answer = ASK(&first, CHECK);
	EXPECT_EQ(0, answer.evicted);
	EXPECT_EQ(most, answer.used);
	ASK(&second, CHECK);
	EXPECT_TRUE(end_other(&first));
	EXPECT_TRUE(end_other(&second));
	EXPECT_TRUE(is_given_back());
}

/* Prefetches until all memory is on the device. Returns false on timeout. */
static bool prefetches_all(const struct other *other, size_t len)
{
	return WAIT_UNTIL(ask(other, PREFETCH).used == len, GIVE_BACK_LIMIT_S);
}

/* Memory left by an ended process is evicted for a running process. */
TEST_F(processes, number_of_processes_with_memory_is_limited)
{
	const struct plan plan = plan_of(BLOCK_BYTES);
	struct other first, second, holder;

	ASSERT_TRUE(write_text(PROCESSES_MAX, "1"));
	ASSERT_TRUE(start_other(&first, &plan));
	EXPECT_EQ(BLOCK_BYTES, ask(&first, PREFETCH).used);
	ASSERT_TRUE(start_other(&second, &plan));
	EXPECT_EQ(0, ask(&second, PREFETCH).used);
	EXPECT_EQ(0, ASK(&second, FILL).used);
	EXPECT_EQ(0, ASK(&first, CHECK).evicted);
	ASSERT_TRUE(inherit(&first, &holder));
	EXPECT_EQ(BLOCK_BYTES, device_used_bytes(space, id_of(A)));
	EXPECT_TRUE(prefetches_all(&second, BLOCK_BYTES));
	EXPECT_EQ(BLOCK_BYTES, device_used_bytes(space, id_of(A)));
	ASK(&second, CHECK);
	EXPECT_TRUE(end_other(&second));
	EXPECT_TRUE(end_other(&holder));
	EXPECT_TRUE(is_given_back());
}

/* --- cgroups -------------------------------------------------------------- */

static int cgroup_quota(int cgroup, uint32_t operation, uint64_t limit,
			struct hmmrt_quota *quota)
{
	bool set = operation == HMMRT_QUOTA_SET;

	*quota = (struct hmmrt_quota){
		.operation = operation, .scope = HMMRT_QUOTA_OF_CGROUP,
		.device_id = id_of(A), .cgroup_fd = cgroup,
		.limit_bytes = limit, .priority = set ? HMMRT_PRIORITY_MAX : 0,
	};
	return cmd_quota(space, quota);
}

static uint64_t cgroup_used(int cgroup)
{
	struct hmmrt_quota quota;

	if (cgroup_quota(cgroup, HMMRT_QUOTA_GET, 0, &quota))
		return -1;
	return quota.out_used_bytes;
}

static int open_cgroup(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Both processes fill at the same time, and each gets some device memory. */
static bool both_work(const struct other others[2])
{
	struct answer answer;
	bool right = true;

	for (size_t i = 0; i < 2; i++)
		tell(&others[i], FILL);
	for (size_t i = 0; i < 2; i++)
		right &= answer_of(&others[i]).right;
	for (size_t i = 0; i < 2; i++) {
		answer = ask(&others[i], CHECK);
		right &= answer.right && answer.used;
	}
	return right;
}

/* Two processes in two child cgroups of one cgroup that limits both. */
TEST_F(processes, processes_of_a_cgroup_share_its_limit)
{
	const uint64_t limit = 3 * BLOCK_BYTES;
	const struct plan plans[] = {
		{ DEVICE_BYTES / 2, DEFAULT, NO_LIMIT, CGROUP "/a/cgroup.procs" },
		{ DEVICE_BYTES / 2, DEFAULT, NO_LIMIT, CGROUP "/b/cgroup.procs" },
	};
	int above = open_cgroup(CGROUP), a, b;
	struct hmmrt_quota quota;
	struct other others[2];

	if (above < 0)
		SKIP(return, "cgroup v2 is not available");
	a = open_cgroup(CGROUP "/a");
	b = open_cgroup(CGROUP "/b");
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	for (size_t i = 0; i < 2; i++) {
		ASSERT_TRUE(start_other(&others[i], &plans[i]));
		ASSERT_TRUE(ask(&others[i], PREFETCH).right);
	}
	/* Without a limit, the usage is the sum over the cgroup's processes. */
	EXPECT_EQ(DEVICE_BYTES, cgroup_used(above));
	EXPECT_EQ(DEVICE_BYTES / 2, cgroup_used(a));
	ASSERT_EQ(0, cgroup_quota(above, HMMRT_QUOTA_SET, limit, &quota));
	EXPECT_GE(limit, quota.out_used_bytes);
	EXPECT_LT(0, quota.out_evicted_bytes);
	/* A limit of the child cgroup, below the limit of its parent. */
	ASSERT_EQ(0, cgroup_quota(a, HMMRT_QUOTA_SET, BLOCK_BYTES, &quota));
	EXPECT_TRUE(both_work(others));
	EXPECT_GE(BLOCK_BYTES, cgroup_used(a));
	EXPECT_GE(limit, cgroup_used(above));
	EXPECT_EQ(cgroup_used(a) + cgroup_used(b), cgroup_used(above));
	/* Without its own limit, the child still counts for the parent. */
	ASSERT_EQ(0, cgroup_quota(a, HMMRT_QUOTA_SET, NO_LIMIT, &quota));
	EXPECT_EQ(NO_LIMIT, quota.out_limit_bytes);
	ASK(&others[0], FILL);
	ASK(&others[0], CHECK);
	EXPECT_GE(limit, cgroup_used(above));
	for (size_t i = 0; i < 2; i++)
		EXPECT_TRUE(end_other(&others[i]));
	EXPECT_TRUE(is_given_back());
	EXPECT_EQ(0, cgroup_used(above));
	close(a);
	close(b);
	EXPECT_EQ(0, rmdir(CGROUP "/a"));
	EXPECT_EQ(0, rmdir(CGROUP "/b"));
	/* The limit goes away with the cgroup. */
	EXPECT_EQ(0, rmdir(CGROUP));
	close(above);
}

/* The process itself has the default priority. */
TEST_F(processes, processes_of_a_cgroup_have_its_priority)
{
	const struct plan modest = { MODEST, DEFAULT, NO_LIMIT,
				     CGROUP "/cgroup.procs" };
	int cgroup = open_cgroup(CGROUP);
	struct hmmrt_quota quota = {
		.operation = HMMRT_QUOTA_SET, .scope = HMMRT_QUOTA_OF_CGROUP,
		.device_id = id_of(A), .cgroup_fd = cgroup,
		.limit_bytes = NO_LIMIT,
	};
	struct answer answer;
	uint64_t faults;

	if (cgroup < 0)
		SKIP(return, "cgroup v2 is not available");
	ASSERT_EQ(0, cmd_quota(space, &quota));
	EXPECT_EQ(0, quota.out_priority);
	EXPECT_EQ(NO_LIMIT, quota.out_limit_bytes);
	answer = next_to_a_greedy_one(_metadata, &modest, &faults);
	EXPECT_LT(0, answer.evicted);
	EXPECT_LT(faults, answer.faults);
	/* At the default priority, processes in the cgroup lose nothing. */
	quota.priority = HMMRT_PRIORITY_MAX;
	ASSERT_EQ(0, cmd_quota(space, &quota));
	answer = next_to_a_greedy_one(_metadata, &modest, &faults);
	EXPECT_EQ(0, answer.evicted);
	EXPECT_EQ(faults, answer.faults);
	close(cgroup);
}

TEST_F(processes, cgroup_quota_needs_privilege_and_a_cgroup)
{
	int cgroup = open_cgroup(CGROUP), null;
	struct hmmrt_quota quota;

	if (cgroup < 0)
		SKIP(return, "cgroup v2 is not available");
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-EBADF, cgroup_quota(null, HMMRT_QUOTA_GET, 0, &quota));
	EXPECT_EQ(-EBADF, cgroup_quota(-1, HMMRT_QUOTA_GET, 0, &quota));
	EXPECT_EQ(-EBADF, cgroup_quota(space, HMMRT_QUOTA_SET, 0, &quota));
	quota = (struct hmmrt_quota){
		.operation = HMMRT_QUOTA_SET, .scope = HMMRT_QUOTA_OF_CGROUP,
		.device_id = id_of(A), .cgroup_fd = cgroup,
		.priority = HMMRT_PRIORITY_MAX + 1,
	};
	EXPECT_EQ(-EINVAL, cmd_quota(space, &quota));
	quota.priority = 0;
	quota.device_id = HMMRT_MAX_DEVICES;
	EXPECT_EQ(-ENODEV, cmd_quota(space, &quota));
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-EPERM, cgroup_quota(cgroup, HMMRT_QUOTA_SET, 0, &quota));
	EXPECT_EQ(0, cgroup_quota(cgroup, HMMRT_QUOTA_GET, 0, &quota));
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(0, cgroup_quota(cgroup, HMMRT_QUOTA_SET, 0, &quota));
	EXPECT_EQ(0, quota.out_limit_bytes);
	EXPECT_EQ(HMMRT_PRIORITY_MAX, quota.out_priority);
	close(cgroup);
	EXPECT_EQ(0, rmdir(CGROUP));
}

#define CROWD		12
#define CROWD_MAX	"8"
#define CROWD_USER	1234

/*
 * Starts a process of another user that puts one page on the device, and writes
 * to @answers whether that succeeded.
 */
static pid_t hold_a_page(uint32_t id, int answers)
{
	struct hmmrt_prefetch prefetch = { 0 };
	pid_t pid = fork();
	int space, gpu;
	char *page, has;

	if (pid)
		return pid;
	space = open_manager();
	gpu = open_gpu(0);
	page = arena_anon(PAGE_BYTES);
	if (!page || setuid(CROWD_USER) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    cmd_space_create(space) || cmd_bind(gpu, space, NULL))
		_exit(1);
	*page = 1;
	has = !cmd_prefetch(space, page, PAGE_BYTES, id, &prefetch) &&
	      prefetch.out_pages_moved == 1;
	if (write(answers, &has, 1) == 1)
		pause();
	_exit(1);
}

/* However many processes a user starts, other users can still start theirs. */
TEST_F(processes, processes_of_a_user_leave_the_rest_to_others)
{
	const struct plan plan = plan_of(BLOCK_BYTES);
	int answers[2], holders = 0;
	struct other other;
	pid_t crowd[CROWD];
	char has;

	ASSERT_TRUE(write_text(PROCESSES_MAX, CROWD_MAX));
	ASSERT_EQ(0, pipe2(answers, O_CLOEXEC));
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = hold_a_page(id_of(A), answers[1]);
		ASSERT_LT(0, crowd[i]);
	}
	close(answers[1]);
	for (int i = 0; i < CROWD; i++)
		holders += read(answers[0], &has, 1) == 1 && has;
	EXPECT_EQ(atoi(CROWD_MAX), holders);
	ASSERT_TRUE(start_other(&other, &plan));
	EXPECT_EQ(BLOCK_BYTES, ask(&other, PREFETCH).used);
	EXPECT_TRUE(end_other(&other));
	for (int i = 0; i < CROWD; i++)
		EXPECT_EQ(0, process_kill(crowd[i]));
	close(answers[0]);
	EXPECT_TRUE(is_given_back());
}

TEST_HARNESS_MAIN
