// SPDX-License-Identifier: MIT
/*
 * Queries by another process that has the file of a space: they are about the
 * memory of the space's process, and do not keep it when that process ends.
 */
#include "lib/amount.h"
#include "lib/fixture.h"
#include "lib/uffd.h"

#define PAGES	4
#define LEN	(PAGES * PAGE_BYTES)
#define LIMIT_S	60

/* --- by a child, about its parent ----------------------------------------- */

DEVICES_FIXTURE_SETUP(child)
{
	buf = ANON(LEN);
}

/* The first two pages are in system memory, the others on the device. */
static bool locations_are_right(void)
{
	uint32_t locations[PAGES] = { 0 };

	return !cmd_residency(space, buf, LEN, locations) &&
	       locations[0] == HOST && locations[1] == HOST &&
	       locations[2] == id_of(A) && locations[3] == id_of(A);
}

static bool pages_are_right(void)
{
	struct hmmrt_page pages[PAGES] = { 0 };

	return !cmd_pages(space, buf, LEN, pages) &&
	       pages[1].location == HOST &&
	       pages[1].mapped_by == HMMRT_BY_CPU &&
	       pages[1].cause == HMMRT_CAUSE_NONE &&
	       pages[2].location == id_of(A) &&
	       pages[2].cause == HMMRT_CAUSE_PREFETCH;
}

/* The first two pages have advice. */
static bool advice_is_right(void)
{
	struct hmmrt_range_attributes first, second;
	const size_t half = LEN / 2;

	return !cmd_range_attributes(space, buf, half, &first) &&
	       !cmd_range_attributes(space, buf + half, half, &second) &&
	       first.out_preferred_location == HOST &&
	       first.out_last_prefetch == NONE &&
	       second.out_preferred_location == NONE &&
	       second.out_last_prefetch == id_of(A);
}

/* The child's own mappings, at the same address or elsewhere, don't matter. */
static int ask_about_the_parent(void)
{
	struct hmmrt_range_attributes attributes;
	struct hmmrt_page page;
	uint32_t location;
	char *own;

	if (munmap(buf, LEN))
		return 1;
	if (!locations_are_right())
		return 2;
	if (!pages_are_right())
		return 3;
	if (!advice_is_right())
		return 4;
	own = arena_anon(PAGE_BYTES);
	if (!own)
		return 5;
	*own = 1;
	if (cmd_residency(space, own, PAGE_BYTES, &location) != -EFAULT)
		return 6;
	if (cmd_pages(space, own, PAGE_BYTES, &page) != -EFAULT)
		return 7;
	if (cmd_range_attributes(space, own, PAGE_BYTES, &attributes) !=
	    -EFAULT)
		return 8;
	return 0;
}

TEST_F(child, child_is_told_about_the_memory_of_its_parent)
{
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, advise_at(buf, LEN / 2, SET_PREFERRED_LOCATION, HOST));
	ASSERT_EQ(0, prefetch(A, buf + LEN / 2, LEN / 2));
	ASSERT_EQ(0, process_wait_for(CHILD(ask_about_the_parent()), LIMIT_S));
	/* The queries have moved nothing. */
	ASSERT_TRUE(locations_are_right());
}

/* --- by a process that may trace the other -------------------------------- */

#define OWNED_BLOCKS	16
#define OWNED_BYTES	(OWNED_BLOCKS * BLOCK_BYTES)

/* A process with a space, and the file of it that this process has got. */
struct owner {
	pid_t pid;
	char *buf;		/* in the owner; first 2 pages populated */
	int fd;			/* in this process */
};

struct owner_told {
	int fd;
	char *buf;
};

static void be_owner(int pipe)
{
	struct owner_told told = {
		.fd = open_manager(), .buf = arena_anon(OWNED_BYTES),
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (told.fd < 0 || !told.buf || cmd_space_create(told.fd))
		_exit(1);
	pages_fill(told.buf, 2 * PAGE_BYTES, 1);
	if (write(pipe, &told, sizeof(told)) != (ssize_t)sizeof(told))
		_exit(2);
	while (1)
		pause();
}

/*
 * Duplicates a descriptor of another process into this one; returns it or
 * -errno.
 */
static int file_of(pid_t pid, int fd)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), file;

	if (process < 0)
		return -errno;
	file = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (file < 0)
		file = -errno;
	close(process);
	return file;
}

static int owner_start(struct owner *owner)
{
	struct owner_told told;
	int pipes[2];

	if (pipe(pipes))
		return -errno;
	owner->pid = fork();
	if (!owner->pid)
		be_owner(pipes[1]);
	close(pipes[1]);
	owner->fd = -ECHILD;
	if (read(pipes[0], &told, sizeof(told)) == (ssize_t)sizeof(told)) {
		owner->buf = told.buf;
		owner->fd = file_of(owner->pid, told.fd);
	}
	close(pipes[0]);
	return owner->fd < 0 ? owner->fd : 0;
}

static bool owner_kill(const struct owner *owner)
{
	return !kill(owner->pid, SIGKILL) &&
	       process_wait_for(owner->pid, LIMIT_S) >= 0;
}

FIXTURE(tracer) {
	struct owner owner;
	bool ended;
};

FIXTURE_SETUP(tracer)
{
	ASSERT_EQ(0, owner_start(&self->owner));
}

FIXTURE_TEARDOWN(tracer)
{
	if (!self->ended)
		EXPECT_TRUE(owner_kill(&self->owner));
	close(self->owner.fd);
}

/* The kernel may still use the mm elsewhere for a moment. */
static int wait_for_an_error(const struct owner *owner)
{
	struct hmmrt_page page;
	int rc = 0;

	WAIT_UNTIL((rc = cmd_pages(owner->fd, owner->buf, PAGE_BYTES, &page)),
		   LIMIT_S);
	return rc;
}

TEST_F(tracer, tracer_is_told_and_may_change_nothing)
{
	const struct owner *owner = &self->owner;
	struct hmmrt_range_attributes attributes;
	struct hmmrt_page pages[PAGES];
	uint32_t locations[PAGES];

	ASSERT_EQ(0, cmd_residency(owner->fd, owner->buf, LEN, locations));
	EXPECT_EQ(HOST, locations[0]);
	EXPECT_EQ(HOST, locations[1]);
	EXPECT_EQ(NONE, locations[2]);
	EXPECT_EQ(NONE, locations[3]);
	ASSERT_EQ(0, cmd_pages(owner->fd, owner->buf, LEN, pages));
	EXPECT_EQ(HMMRT_BY_CPU, pages[0].written_by);
	EXPECT_EQ(0, pages[2].mapped_by);
	ASSERT_EQ(0, cmd_range_attributes(owner->fd, owner->buf, LEN,
					  &attributes));
	EXPECT_EQ(NONE, attributes.out_preferred_location);
	EXPECT_EQ(-EPERM, cmd_advise(owner->fd, owner->buf, LEN,
				     SET_PREFERRED_LOCATION, HOST, 0));
	EXPECT_EQ(-EPERM,
		  cmd_prefetch(owner->fd, owner->buf, LEN, HOST, NULL));
}

TEST_F(tracer, queries_about_an_exited_process_are_esrch)
{
	const struct owner *owner = &self->owner;
	struct hmmrt_range_attributes attributes;
	uint32_t location = 7;

	ASSERT_EQ(0, cmd_residency(owner->fd, owner->buf, PAGE_BYTES,
				   &location));
	self->ended = owner_kill(owner);
	ASSERT_TRUE(self->ended);
	ASSERT_EQ(-ESRCH, wait_for_an_error(owner));
	location = 7;
	EXPECT_EQ(-ESRCH, cmd_residency(owner->fd, owner->buf, PAGE_BYTES,
					&location));
	EXPECT_EQ(7, location);
	EXPECT_EQ(-ESRCH, cmd_range_attributes(owner->fd, owner->buf,
					       PAGE_BYTES, &attributes));
	/* Errors of the call itself take precedence. */
	EXPECT_EQ(-EINVAL, cmd_residency(owner->fd, owner->buf, 0, &location));
}

struct query {
	const struct owner *owner;
	size_t len;
	uint32_t *locations;
	int rc;
};

static void *ask(void *arg)
{
	struct query *query = arg;

	query->rc = cmd_residency(query->owner->fd, query->owner->buf,
				  query->len, query->locations);
	return NULL;
}

/*
 * A query waits for this process to provide the memory that it writes to. The
 * other process ends before that, and further queries find no memory of it.
 */
TEST_F(tracer, query_that_waits_for_its_caller_keeps_no_memory)
{
	struct query query = {
		.owner = &self->owner, .len = PAGE_BYTES,
		.locations = arena_anon(PAGE_BYTES),
	};
	int uffd = uffd_open();
	pthread_t thread;

	if (uffd < 0)
		SKIP(return, "userfaultfd: %s", strerror(-uffd));
	ASSERT_NE(NULL, query.locations);
	ASSERT_EQ(0, uffd_watch(uffd, query.locations, PAGE_BYTES,
				UFFDIO_REGISTER_MODE_MISSING));
	thread = THREAD(ask, &query);
	ASSERT_EQ((uintptr_t)query.locations,
		  uffd_next(uffd, LIMIT_S).arg.pagefault.address);
	self->ended = owner_kill(&self->owner);
	EXPECT_TRUE(self->ended);
	EXPECT_EQ(-ESRCH, wait_for_an_error(&self->owner));
	ASSERT_EQ(0, uffd_fill(uffd, query.locations, 0));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, query.rc);
	EXPECT_EQ(HOST, query.locations[0]);
	close(uffd);
}

static void *ask_until_an_error(void *arg)
{
	struct query *query = arg;
	time_t end = time(NULL) + LIMIT_S;

	do
		ask(query);
	while (!query->rc && time(NULL) < end);
	return NULL;
}

/* Queries either succeed or find that the process is gone. */
TEST(queries_while_a_process_ends_are_answered_or_esrch)
{
	static uint32_t locations[OWNED_BYTES / PAGE_BYTES];
	struct query query = { .len = OWNED_BYTES, .locations = locations };
	struct owner owner;
	pthread_t thread;

	for (unsigned int round = 0; round < amount(30, 10); round++) {
		ASSERT_EQ(0, owner_start(&owner));
		query.owner = &owner;
		thread = THREAD(ask_until_an_error, &query);
		usleep(1000 * (round % 5));
		ASSERT_TRUE(owner_kill(&owner));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		ASSERT_EQ(-ESRCH, query.rc);
		close(owner.fd);
	}
}

TEST_HARNESS_MAIN
