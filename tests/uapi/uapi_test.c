// SPDX-License-Identifier: MIT
/*
 * The form of the ioctls: sizes, flags, pointers, reserved members, states. The
 * variants below are the list of all calls. Each test changes one thing in a
 * valid call, expects an error, and then makes the valid call.
 */
#include <sys/time.h>

#include "lib/events.h"
#include "lib/harness.h"
#include "lib/object.h"
#include "lib/session.h"

/* The state of the files before the call is made. */
enum stage {
	STAGE_OPEN,
	STAGE_SPACE,
	STAGE_BOUND,
	STAGE_OBJECT,		/* a memory object is mapped */
	STAGE_PEERS,		/* another device is bound, too */
	STAGE_ATTACHED,
};

struct env {
	struct session session;
	int peer;		/* another device, or -1 */
	uint32_t peer_id;
	int object;		/* memory object, mapped at buf, or -1 */
	char *buf;		/* one block */
	uint32_t locations[BLOCK_PAGES];
	struct hmmrt_page pages[BLOCK_PAGES];
};

/* Large enough for any argument with a tail. */
#define ARG_BYTES	512

union arg {
	struct {
		uint32_t size;
		uint32_t flags;
	};
	uint8_t bytes[ARG_BYTES];
};

static int env_start(struct env *env, enum stage stage)
{
	struct session_device *device = &env->session.devices[0];
	struct hmmrt_gpu_bind bind = { 0 };
	int rc = session_open(&env->session, 1);

	if (!rc)
		rc = agent_start(&device->agent, device->gpu, 1);
	if (!rc && stage >= STAGE_SPACE)
		rc = cmd_space_create(env->session.space);
	if (!rc && stage >= STAGE_BOUND) {
		rc = cmd_bind(device->gpu, env->session.space, &bind);
		device->id = bind.out_device_id;
		device->token = bind.out_token;
	}
	if (!rc && stage >= STAGE_PEERS) {
		env->peer = open_gpu(1);
		rc = cmd_bind(env->peer, env->session.space, &bind);
		env->peer_id = bind.out_device_id;
	}
	if (!rc && stage >= STAGE_ATTACHED)
		rc = session_attach(&env->session);
	if (!rc && stage == STAGE_OBJECT) {
		env->object = cmd_object_create(env->session.space, BLOCK_BYTES,
						device->id, 0);
		env->buf = object_map(env->object, BLOCK_BYTES,
				      PROT_READ | PROT_WRITE, 0);
	} else {
		env->buf = arena_anon(BLOCK_BYTES);
	}
	return env->buf ? rc : -ENOMEM;
}

/* The kinds of file that have calls. */
enum kind { OF_MANAGER, OF_GPU, OF_OBJECT, KINDS };

FIXTURE(call) {
	struct env env;
	int fd;
	union arg *arg;		/* its page precedes an inaccessible one */
};

FIXTURE_VARIANT(call) {
	unsigned int cmd;
	uint32_t size;
	uint32_t min_size;	/* size of the first version */
	uint32_t outputs;	/* offset of the outputs, or 0 */
	uint32_t outputs_end;	/* offset of inputs after them, or 0 */
	enum stage stage;
	enum kind kind;		/* of the file of the call */
	uint32_t known_flags;
	bool by_agent;
	/* Sets the input members of a valid call. */
	void (*fill)(struct env *env, void *arg);
};

#define CALL(_struct, _last)					\
	.size = sizeof(struct _struct),				\
	.min_size = offsetof(struct _struct, _last) +		\
		    sizeof(((struct _struct *)NULL)->_last)

/* The variants call these to set the input members. */
#define DEVICE	(env->session.devices[0])
#define FILL_IN(_name, _struct, ...)					\
	static void fill_##_name(struct env *env, void *arg)		\
	{								\
		struct _struct filled = {				\
			.size = sizeof(filled), __VA_ARGS__		\
		};							\
									\
		(void)env;						\
		memcpy(arg, &filled, sizeof(filled));			\
	}

#define OUTPUTS(_struct, _first)	.outputs = offsetof(struct _struct, _first)

static void fill_nothing(struct env *env, void *arg)
{
	(void)env;
	(void)arg;
}

static void fill_events_open(struct env *env, void *arg)
{
	(void)env;
	*(struct hmmrt_events_open *)arg =
		events_request(HMMRT_EVENTS_OF_SPACE, HMMRT_EVENTS_MIN);
}

FILL_IN(annotate, hmmrt_annotate, .kind = HMMRT_ANNOTATE_NAME,
	.addr = (uintptr_t)env->buf, .len = 1, .text[0] = 'a')
FILL_IN(prefetch, hmmrt_prefetch, .addr = (uintptr_t)env->buf, .len = BLOCK_BYTES,
	.location = DEVICE.id)
FILL_IN(residency, hmmrt_residency, .addr = (uintptr_t)env->buf,
	.len = BLOCK_BYTES, .locations = (uintptr_t)env->locations)
FILL_IN(pages, hmmrt_pages, .addr = (uintptr_t)env->buf, .len = BLOCK_BYTES,
	.pages = (uintptr_t)env->pages, .page_bytes = sizeof(env->pages[0]))
FILL_IN(exclusive, hmmrt_exclusive, .addr = (uintptr_t)env->buf,
	.len = 4 * PAGE_BYTES, .device_id = DEVICE.id)
FILL_IN(advise, hmmrt_advise, .addr = (uintptr_t)env->buf, .len = BLOCK_BYTES,
	.advice = HMMRT_ADVICE_SET_READ_MOSTLY)
FILL_IN(range_attributes, hmmrt_range_attributes, .addr = (uintptr_t)env->buf,
	.len = BLOCK_BYTES)
FILL_IN(peer, hmmrt_peer, .device_id = DEVICE.id, .peer_id = env->peer_id,
	.operation = HMMRT_PEER_ENABLE)
FILL_IN(knob, hmmrt_knob, .knob = HMMRT_KNOB_PREFETCH_THRESHOLD,
	.operation = HMMRT_KNOB_SET, .scope = HMMRT_SCOPE_SPACE,
	.device_id = DEVICE.id, .value = 51)
FILL_IN(quota, hmmrt_quota, .operation = HMMRT_QUOTA_SET,
	.scope = HMMRT_QUOTA_OF_SPACE, .device_id = DEVICE.id,
	.limit_bytes = HMMRT_QUOTA_NO_LIMIT, .priority = HMMRT_PRIORITY_DEFAULT)
FILL_IN(object_create, hmmrt_object_create, .bytes = BLOCK_BYTES,
	.location = DEVICE.id)
FILL_IN(access, hmmrt_access, .addr = (uintptr_t)env->buf, .len = BLOCK_BYTES,
	.operation = HMMRT_ACCESS_SET, .device_id = DEVICE.id,
	.access = HMMRT_ACCESS_READ)
FILL_IN(object_reopen, hmmrt_object_reopen, .access = HMMRT_ACCESS_READ)
FILL_IN(stats, hmmrt_stats, .device_id = DEVICE.id)
FILL_IN(bind, hmmrt_gpu_bind, .space_fd = env->session.space)
FILL_IN(attach, hmmrt_gpu_attach, .token = DEVICE.token)

VARIANT(call, info, .cmd = HMMRT_IOC_INFO, CALL(hmmrt_info, out_features),
	OUTPUTS(hmmrt_info, out_uapi_version), .stage = STAGE_OPEN,
	.fill = fill_nothing);
VARIANT(call, device_info, .cmd = HMMRT_IOC_DEVICE_INFO,
	CALL(hmmrt_device_info, out_name),
	OUTPUTS(hmmrt_device_info, out_numa_node), .stage = STAGE_OPEN,
	.fill = fill_nothing);
VARIANT(call, space_create, .cmd = HMMRT_IOC_SPACE_CREATE,
	CALL(hmmrt_space_create, flags), .stage = STAGE_OPEN,
	.fill = fill_nothing);
VARIANT(call, prefetch, .cmd = HMMRT_IOC_PREFETCH,
	CALL(hmmrt_prefetch, out_stayed),
	OUTPUTS(hmmrt_prefetch, out_pages_moved),
	.outputs_end = offsetof(struct hmmrt_prefetch, done),
	.stage = STAGE_BOUND, .fill = fill_prefetch);
VARIANT(call, residency, .cmd = HMMRT_IOC_RESIDENCY,
	CALL(hmmrt_residency, locations), .stage = STAGE_SPACE,
	.fill = fill_residency);
VARIANT(call, pages, .cmd = HMMRT_IOC_PAGES, CALL(hmmrt_pages, __reserved),
	.stage = STAGE_SPACE, .fill = fill_pages);
VARIANT(call, exclusive, .cmd = HMMRT_IOC_EXCLUSIVE,
	CALL(hmmrt_exclusive, out_pages), OUTPUTS(hmmrt_exclusive, out_pages),
	.outputs_end = offsetof(struct hmmrt_exclusive, done),
	.stage = STAGE_BOUND, .fill = fill_exclusive);
VARIANT(call, advise, .cmd = HMMRT_IOC_ADVISE, CALL(hmmrt_advise, value),
	.stage = STAGE_SPACE, .fill = fill_advise);
VARIANT(call, range_attributes, .cmd = HMMRT_IOC_RANGE_ATTRIBUTES,
	CALL(hmmrt_range_attributes, out_granularity),
	OUTPUTS(hmmrt_range_attributes, out_flags), .stage = STAGE_SPACE,
	.fill = fill_range_attributes);
VARIANT(call, peer, .cmd = HMMRT_IOC_PEER, CALL(hmmrt_peer, out_enabled),
	OUTPUTS(hmmrt_peer, out_possible), .stage = STAGE_PEERS,
	.fill = fill_peer);
VARIANT(call, knob, .cmd = HMMRT_IOC_KNOB, CALL(hmmrt_knob, out_name),
	OUTPUTS(hmmrt_knob, out_value), .stage = STAGE_BOUND,
	.fill = fill_knob);
VARIANT(call, quota, .cmd = HMMRT_IOC_QUOTA,
	CALL(hmmrt_quota, out_evicted_bytes),
	OUTPUTS(hmmrt_quota, out_priority), .stage = STAGE_BOUND,
	.fill = fill_quota);
VARIANT(call, object_create, .cmd = HMMRT_IOC_OBJECT_CREATE,
	CALL(hmmrt_object_create, out_fd),
	OUTPUTS(hmmrt_object_create, out_fd),
	.known_flags = HMMRT_OBJECT_MIGRATABLE, .stage = STAGE_BOUND,
	.fill = fill_object_create);
VARIANT(call, access, .cmd = HMMRT_IOC_ACCESS, CALL(hmmrt_access, out_access),
	OUTPUTS(hmmrt_access, out_access), .stage = STAGE_OBJECT,
	.fill = fill_access);
VARIANT(call, events_open, .cmd = HMMRT_IOC_EVENTS_OPEN,
	CALL(hmmrt_events_open, __reserved),
	OUTPUTS(hmmrt_events_open, out_fd),
	.outputs_end = offsetof(struct hmmrt_events_open, __reserved),
	.stage = STAGE_SPACE, .fill = fill_events_open);
VARIANT(call, annotate, .cmd = HMMRT_IOC_ANNOTATE, CALL(hmmrt_annotate, text),
	.stage = STAGE_SPACE, .fill = fill_annotate);
VARIANT(call, object_info, .cmd = HMMRT_OBJECT_IOC_INFO,
	CALL(hmmrt_object_info, out_resident_bytes),
	OUTPUTS(hmmrt_object_info, out_bytes), .kind = OF_OBJECT,
	.stage = STAGE_OBJECT, .fill = fill_nothing);
VARIANT(call, object_reopen, .cmd = HMMRT_OBJECT_IOC_REOPEN,
	CALL(hmmrt_object_reopen, out_fd),
	OUTPUTS(hmmrt_object_reopen, out_fd), .kind = OF_OBJECT,
	.stage = STAGE_OBJECT, .fill = fill_object_reopen);
VARIANT(call, stats, .cmd = HMMRT_IOC_STATS, CALL(hmmrt_stats, out_retries),
	OUTPUTS(hmmrt_stats, out_device_faults), .stage = STAGE_BOUND,
	.fill = fill_stats);
VARIANT(call, bind, .cmd = HMMRT_GPU_IOC_BIND, CALL(hmmrt_gpu_bind, out_token),
	OUTPUTS(hmmrt_gpu_bind, out_device_id),
	.outputs_end = offsetof(struct hmmrt_gpu_bind, wait_msec),
	.kind = OF_GPU, .stage = STAGE_SPACE, .fill = fill_bind);
VARIANT(call, attach, .cmd = HMMRT_GPU_IOC_ATTACH,
	CALL(hmmrt_gpu_attach, token), .kind = OF_GPU, .by_agent = true,
	.stage = STAGE_BOUND, .fill = fill_attach);
VARIANT(call, fault_record, .cmd = HMMRT_GPU_IOC_FAULT_RECORD,
	CALL(hmmrt_gpu_fault_record, out_errno),
	OUTPUTS(hmmrt_gpu_fault_record, out_addr), .kind = OF_GPU,
	.by_agent = true, .stage = STAGE_ATTACHED, .fill = fill_nothing);

static int file_of(const struct env *env, enum kind kind)
{
	switch (kind) {
	case OF_GPU:
		return env->session.devices[0].gpu;
	case OF_OBJECT:
		return env->object;
	default:
		return env->session.space;
	}
}

FIXTURE_SETUP(call)
{
	char *pages = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	/* Map the pages before the agent is forked, which inherits them. */
	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(pages + PAGE_BYTES, PAGE_BYTES, PROT_NONE));
	self->env.peer = -1;
	self->env.object = -1;
	ASSERT_EQ(0, env_start(&self->env, variant->stage));
	self->fd = file_of(&self->env, variant->kind);
	self->arg = (union arg *)pages;
	self->arg->size = variant->size;
	variant->fill(&self->env, self->arg);
}

FIXTURE_TEARDOWN(call)
{
	if (self->env.peer >= 0)
		close(self->env.peer);
	if (self->env.object >= 0)
		close(self->env.object);
	object_unmap_all();
	EXPECT_EQ(0, session_end(&self->env.session));
}

/* Makes the call, in this process or in the agent. */
static int call_run(FIXTURE_DATA(call) *self, const FIXTURE_VARIANT(call) *v,
		    void *arg)
{
	struct hmmrt_object_create *create = arg;
	struct hmmrt_object_reopen *reopen = arg;
	struct hmmrt_events_open *events = arg;
	int rc;

	if (v->by_agent)
		return (int)agent_syscall(session_agent(&self->env.session),
					  SYS_ioctl, (uint64_t)self->fd, v->cmd,
					  (uintptr_t)arg, 0, 0, 0);
	rc = cmd_raw(self->fd, v->cmd, arg);
	if (!rc && v->cmd == HMMRT_IOC_OBJECT_CREATE)
		close(create->out_fd);
	if (!rc && v->cmd == HMMRT_IOC_EVENTS_OPEN)
		close(events->out_fd);
	if (!rc && v->cmd == HMMRT_OBJECT_IOC_REOPEN)
		close(reopen->out_fd);
	return rc;
}

/* The call is refused and writes nothing. */
#define ASSERT_CALL_REFUSED(err)					\
	do {								\
		union arg _before = *self->arg;				\
		ASSERT_EQ(-(err), call_run(self, variant, self->arg));	\
		ASSERT_EQ(0, memcmp(&_before, self->arg, ARG_BYTES));	\
	} while (0)

TEST_F(call, valid_call_succeeds)
{
	ASSERT_EQ(0, call_run(self, variant, self->arg));
	ASSERT_EQ(variant->size, self->arg->size);
}

TEST_F(call, size_below_the_first_version_is_einval)
{
	for (uint32_t size = 0; size < variant->min_size; size++) {
		self->arg->size = size;
		ASSERT_CALL_REFUSED(EINVAL);
	}
	self->arg->size = variant->min_size;
	ASSERT_EQ(0, call_run(self, variant, self->arg));
}

TEST_F(call, size_above_with_a_zero_tail_succeeds)
{
	const uint32_t size = variant->size + 24;

	self->arg->size = size;
	ASSERT_EQ(0, call_run(self, variant, self->arg));
	ASSERT_EQ(size, self->arg->size);
}

TEST_F(call, size_above_with_a_nonzero_tail_is_e2big)
{
	const uint32_t size = variant->size + 24;

	self->arg->size = size;
	self->arg->bytes[size - 1] = 1;
	ASSERT_CALL_REFUSED(E2BIG);
	self->arg->bytes[size - 1] = 0;
	self->arg->bytes[variant->size] = 0x80;
	ASSERT_CALL_REFUSED(E2BIG);
	/* Bytes beyond the given size are ignored. */
	self->arg->bytes[variant->size] = 0;
	self->arg->bytes[size] = 1;
	ASSERT_EQ(0, call_run(self, variant, self->arg));
	ASSERT_EQ(1, self->arg->bytes[size]);
}

TEST_F(call, unknown_flags_are_eopnotsupp)
{
	for (unsigned int bit = 0; bit < 32; bit++) {
		if (variant->known_flags & 1u << bit)
			continue;
		self->arg->flags = 1u << bit;
		ASSERT_CALL_REFUSED(EOPNOTSUPP);
	}
	self->arg->flags = 0;
	ASSERT_EQ(0, call_run(self, variant, self->arg));
}

TEST_F(call, bad_pointers_are_efault)
{
	/*
	 * NULL, the guard page, a hole, the last page of user space, kernel
	 * memory, and the end of the address space.
	 */
	const uintptr_t bad[] = {
		0, (uintptr_t)self->arg + PAGE_BYTES, ARENA_BASE - PAGE_BYTES,
		0x7ffffffff000, 0xffff888000000000, ~7UL,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		ASSERT_EQ(-EFAULT, call_run(self, variant, (void *)bad[i]));
	ASSERT_EQ(0, call_run(self, variant, self->arg));
}

TEST_F(call, struct_or_tail_over_unmapped_memory_is_efault)
{
	uint8_t *end = (uint8_t *)self->arg + PAGE_BYTES;
	union arg *moved = (union arg *)(end - variant->size);

	memmove(moved, self->arg, variant->size);
	moved->size = variant->size + 8;
	ASSERT_EQ(-EFAULT, call_run(self, variant, moved));
	moved->size = PAGE_BYTES;
	ASSERT_EQ(-EFAULT, call_run(self, variant, moved));
	moved->size = UINT32_MAX;
	ASSERT_EQ(-E2BIG, call_run(self, variant, moved));
	memset(moved, 0, variant->size);
	moved = (union arg *)(end - 4);
	moved->size = variant->size;
	ASSERT_EQ(-EFAULT, call_run(self, variant, moved));
	ASSERT_EQ(0, call_run(self, variant, self->arg));
}

/* Previous contents of the outputs are ignored and overwritten. */
TEST_F(call, previous_contents_of_outputs_are_ignored)
{
	uint32_t end = variant->outputs_end ? variant->outputs_end :
					      variant->size;
	uint32_t at = variant->outputs ? variant->outputs : end;

	memset(self->arg->bytes + at, 0xa5, end - at);
	ASSERT_EQ(0, call_run(self, variant, self->arg));
	for (; at + 8 <= end; at += 8)
		ASSERT_NE(0, memcmp(self->arg->bytes + at,
				    "\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5", 8))
		{
			TH_LOG("at offset %u", at);
		}
}

/* Files of different kinds do not accept each other's numbers. */
TEST_F(call, is_enotty_on_other_files)
{
	int right = self->fd;

	for (enum kind kind = 0; kind < KINDS; kind++) {
		self->fd = file_of(&self->env, kind);
		if (kind != variant->kind && self->fd >= 0)
			ASSERT_CALL_REFUSED(ENOTTY);
	}
	self->fd = right;
	ASSERT_EQ(0, call_run(self, variant, self->arg));
}

/* The number with direction and size bits of _IOW() is unknown. */
TEST_F(call, is_enotty_with_bits_of_iow)
{
	FIXTURE_VARIANT(call) changed = *variant;

	changed.cmd = variant->cmd | _IOC_WRITE << _IOC_DIRSHIFT |
		      variant->size << _IOC_SIZESHIFT;
	ASSERT_EQ(-ENOTTY, call_run(self, &changed, self->arg));
	ASSERT_EQ(0, call_run(self, variant, self->arg));
}

/* --- without variants ----------------------------------------------------- */

FIXTURE(files) {
	struct session session;
};

FIXTURE_SETUP(files)
{
	ASSERT_EQ(0, session_open(&self->session, 1));
}

FIXTURE_TEARDOWN(files)
{
	EXPECT_EQ(0, session_end(&self->session));
}

static bool number_is_known(enum kind kind, unsigned int number)
{
	const FIXTURE_VARIANT(call) *v;
	struct __fixture_variant_metadata *at;

	for (at = _call_fixture_object.variant; at; at = at->next) {
		v = at->data;
		if (v->kind == kind && _IOC_NR(v->cmd) == number)
			return true;
	}
	return false;
}

/* Fails if a call is added without a variant above. */
TEST_F(files, every_number_is_in_the_list_or_enotty)
{
	struct env env = { .session = self->session };

	ASSERT_EQ(0, cmd_space_create(env.session.space));
	env.object = FD(cmd_object_create(env.session.space, BLOCK_BYTES,
					  HMMRT_LOCATION_HOST, 0));
	for (enum kind kind = 0; kind < KINDS; kind++) {
		for (unsigned int number = 0; number < 256; number++) {
			int rc = cmd_raw(file_of(&env, kind),
					 _IO(HMMRT_IOC_TYPE, number), NULL);

			ASSERT_EQ(number_is_known(kind, number) ? -EFAULT :
								  -ENOTTY,
				  rc)
			{
				TH_LOG("file %u, number %#x", kind, number);
			}
		}
	}
	close(env.object);
}

/* --- waiting for the end of a binding ------------------------------------- */

static void on_alarm(int sig)
{
	(void)sig;
}

static void *unbind_in_a_moment(void *arg)
{
	usleep(200000);
	session_unbind(arg, 0);
	return NULL;
}

TEST(bind_waits_for_the_given_time)
{
	const struct itimerval soon = { .it_value.tv_usec = 200000 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct hmmrt_gpu_bind bind = { .size = sizeof(bind), .__reserved = 1 };
	struct session session;
	pthread_t thread;
	double began;
	int gpu;

	ASSERT_EQ(0, session_open(&session, 1));
	ASSERT_EQ(0, session_bind(&session, 1));
	bind.space_fd = session.space;
	gpu = FD(open_gpu(0));
	began = now_s();
	EXPECT_EQ(-EOPNOTSUPP, cmd_raw(gpu, HMMRT_GPU_IOC_BIND, &bind));
	EXPECT_EQ(-EBUSY, cmd_bind_wait(gpu, session.space, 300, &bind));
	EXPECT_LE(0.3, now_s() - began);
	/*
	 * No wait where the file itself is already bound: waiting cannot change
	 * that.
	 */
	began = now_s();
	EXPECT_EQ(-EBUSY, cmd_bind_wait(session.devices[0].gpu, session.space,
					60000, &bind));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
	EXPECT_EQ(-EINTR, cmd_bind_wait(gpu, session.space, 60000, &bind));
	/* The remaining time to wait. */
	EXPECT_GT(60000, bind.wait_msec);
	EXPECT_LT(10000, bind.wait_msec);
	ASSERT_EQ(0, pthread_create(&thread, NULL, unbind_in_a_moment,
				    &session));
	EXPECT_EQ(0, cmd_bind_wait(gpu, session.space, 60000, &bind));
	EXPECT_GT(50, now_s() - began);
	pthread_join(thread, NULL);
	EXPECT_EQ(session.devices[0].id, bind.out_device_id);
	session.devices[0].gpu = gpu;
	EXPECT_EQ(0, session_end(&session));
}

TEST_HARNESS_MAIN
