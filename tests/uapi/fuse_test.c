// SPDX-License-Identifier: MIT
/*
 * A file whose pages the process itself provides, by FUSE: while the device's
 * access waits for such a page, the thread that provides it takes CPU faults on
 * pages that the device has, in the same block. Who held the block meanwhile
 * would wait for ever. And it answers when it likes, so that what happens during a
 * read is not a matter of luck.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "lib/harness.h"
#include "lib/session.h"

#define FILE_NODE	2
#define FILE_BYTES	(8 * PAGE_BYTES)
#define FILE_WORD	0x66757365

/* What the thread that serves the file does before it hands out a page. */
struct server {
	int fd;
	volatile uint64_t *touch;	/* a page that the device has */
	volatile bool held_up; /* reads wait for the test */
	sem_t arrived;
	sem_t go_on;
	volatile unsigned int reads;
	pthread_t thread;
};

static void reply(const struct server *server, const struct fuse_in_header *in,
		  int error, const void *data, size_t len)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len),
		.error = error,
		.unique = in->unique,
	};
	struct iovec parts[] = {
		{ .iov_base = &out, .iov_len = sizeof(out) },
		{ .iov_base = (void *)data, .iov_len = len },
	};

	if (writev(server->fd, parts, 2) < 0)
		perror("# fuse reply");
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? FILE_BYTES : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
		.nlink = 1,
		.blksize = PAGE_BYTES,
	};
}

static void serve_read(struct server *server, const struct fuse_in_header *in,
		       const struct fuse_read_in *read)
{
	static uint64_t page[FILE_BYTES / sizeof(uint64_t)];

	page[0] = FILE_WORD;
	server->reads++;
	if (server->touch)
		(*server->touch)++;
	if (server->held_up) {
		sem_post(&server->arrived);
		sem_wait(&server->go_on);
	}
	reply(server, in, 0, page,
	      read->size < FILE_BYTES ? read->size : FILE_BYTES);
}

static void serve(struct server *server, const struct fuse_in_header *in)
{
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE,
		.attr = attributes(FILE_NODE),
	};
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_write = PAGE_BYTES,
	};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(server, in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(server, in, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(server, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(server, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		serve_read(server, in, (const void *)(in + 1));
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_RELEASE:
	case FUSE_FLUSH:
		reply(server, in, 0, NULL, 0);
		break;
	default:
		reply(server, in, -ENOSYS, NULL, 0);
		break;
	}
}

/* Until the file system is unmounted. */
static void *server_run(void *arg)
{
	static union {
		struct fuse_in_header header;
		uint8_t bytes[FUSE_MIN_READ_BUFFER + PAGE_BYTES];
	} request;
	struct server *server = arg;

	while (read(server->fd, &request, sizeof(request)) > 0)
		serve(server, &request.header);
	return NULL;
}

FIXTURE(fuse) {
	struct session session;
	struct agent *agent;
	struct server server;
	char dir[32];
	int fd;
	char *block;
	uint64_t *file;		/* in the middle of the block */
};

FIXTURE_SETUP(fuse)
{
	char options[96], path[64];

	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->server.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (self->server.fd < 0)
		SKIP(_exit(255), "/dev/fuse: %s", strerror(errno));
	strcpy(self->dir, "/tmp/fuse_test.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", self->server.fd);
	ASSERT_EQ(0, mount("fuse_test", self->dir, "fuse", MS_NOSUID | MS_NODEV,
			   options));
	ASSERT_EQ(0, sem_init(&self->server.arrived, 0, 0));
	ASSERT_EQ(0, sem_init(&self->server.go_on, 0, 0));
	ASSERT_EQ(0, pthread_create(&self->server.thread, NULL, server_run,
				    &self->server));
	snprintf(path, sizeof(path), "%s/file", self->dir);
	self->fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	self->block = arena_anon(BLOCK_BYTES);
	ASSERT_NE(NULL, self->block);
	pages_fill(self->block, BLOCK_BYTES, 1);
	self->file = mmap(self->block + 64 * PAGE_BYTES, FILE_BYTES,
			  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
			  self->fd, 0);
	ASSERT_NE(MAP_FAILED, self->file);
}

FIXTURE_TEARDOWN(fuse)
{
	sem_post(&self->server.go_on);
	munmap(self->file, FILE_BYTES);
	close(self->fd);
	EXPECT_EQ(0, umount2(self->dir, MNT_DETACH));
	pthread_join(self->server.thread, NULL);
	close(self->server.fd);
	rmdir(self->dir);
	EXPECT_EQ(0, session_end(&self->session));
}

TEST_F(fuse, page_is_read_by_the_device)
{
	ASSERT_VALUE(FILE_WORD, agent_read(self->agent, self->file));
	ASSERT_LT(0, self->server.reads);
}

/* The thread needs a page of this very block, which is on the device. */
TEST_F(fuse, server_may_fault_in_the_block_that_waits_for_it)
{
	const size_t front = 32 * PAGE_BYTES;

	ASSERT_EQ(0, cmd_prefetch(self->session.space, self->block, front,
				  self->session.devices[0].id, NULL));
	ASSERT_EQ(32, pages_at(self->session.space, self->block, front,
			       self->session.devices[0].id));
	self->server.touch = (uint64_t *)(self->block + 7 * PAGE_BYTES);
	ASSERT_VALUE(FILE_WORD, agent_read(self->agent, self->file));
	ASSERT_LT(0, self->server.reads);
	ASSERT_EQ(8 + self->server.reads, *self->server.touch);
}

/* And a write makes a private copy of such a page. */
TEST_F(fuse, write_waits_for_the_page_and_copies_it)
{
	ASSERT_EQ(0, cmd_prefetch(self->session.space, self->block,
				  32 * PAGE_BYTES,
				  self->session.devices[0].id, NULL));
	self->server.touch = (uint64_t *)(self->block + 9 * PAGE_BYTES);
	ASSERT_DONE(agent_write(self->agent, self->file, 5));
	ASSERT_EQ(5, *(volatile uint64_t *)self->file);
	ASSERT_LT(0, self->server.reads);
	ASSERT_EQ(10 + self->server.reads, *self->server.touch);
}

/* One read() past the page cache, into memory of the process. */
struct reading {
	char path[64];
	char *buf;
	ssize_t got;
	pthread_t thread;
};

static void *read_directly(void *arg)
{
	struct reading *reading = arg;
	int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_DIRECT);

	reading->got = fd < 0 ? -errno : read(fd, reading->buf, FILE_BYTES);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static bool wait_arrived(struct server *server)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	return !sem_timedwait(&server->arrived, &limit);
}

/* Mappings come and go while the device waits for the server. */
TEST_F(fuse, who_waits_for_it_holds_nobody_up)
{
	const uint64_t args[] = { (uintptr_t)self->file };
	struct outcome outcome;
	void *at;

	self->server.held_up = true;
	agent_post(self->agent, 0, AGENT_READ, args, 1);
	ASSERT_TRUE(wait_arrived(&self->server));
	at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	EXPECT_NE(MAP_FAILED, at);
	EXPECT_EQ(0, munmap(at, PAGE_BYTES));
	sem_post(&self->server.go_on);
	outcome = agent_wait(self->agent, 0, 60);
	ASSERT_VALUE(FILE_WORD, outcome);
}

/* The answer does not depend on the server, which is not asked. */
TEST_F_TIMEOUT(fuse, memory_of_a_file_is_not_made_exclusive, 30)
{
	const uint32_t id = self->session.devices[0].id;
	const int space = self->session.space;
	unsigned int reads;

	self->server.held_up = true;
	ASSERT_EQ(-EBUSY, cmd_exclusive(space, self->file, FILE_BYTES, id, NULL));
	ASSERT_EQ(0, self->server.reads);
	self->server.held_up = false;
	/* Nor is the process's own copy, behind which the file would be found. */
	*(volatile uint64_t *)self->file = 5;
	reads = self->server.reads;
	self->server.held_up = true;
	EXPECT_EQ(-EBUSY, cmd_exclusive(space, self->file, PAGE_BYTES, id, NULL));
	EXPECT_EQ(reads, self->server.reads);
	EXPECT_EQ(5, *(volatile uint64_t *)self->file);
	self->server.held_up = false;
	/* What is beside it is. */
	EXPECT_EQ(0, cmd_exclusive(space, self->block, PAGE_BYTES, id, NULL));
}

#define FILE_PAGES	(FILE_BYTES / PAGE_BYTES)

/* What is read arrives in the page that was there when the read began. */
TEST_F(fuse, page_stays_while_it_is_read_into)
{
	const uint32_t id = self->session.devices[0].id;
	const int space = self->session.space;
	struct reading reading = { .buf = arena_anon(FILE_BYTES) };
	struct hmmrt_prefetch result;

	ASSERT_NE(NULL, reading.buf);
	snprintf(reading.path, sizeof(reading.path), "%s/file", self->dir);
	pages_fill(reading.buf, FILE_BYTES, 50);
	ASSERT_EQ(0, cmd_prefetch(space, reading.buf, FILE_BYTES, id, NULL));
	ASSERT_EQ(FILE_PAGES, pages_at(space, reading.buf, FILE_BYTES, id));
	self->server.held_up = true;
	ASSERT_EQ(0, pthread_create(&reading.thread, NULL, read_directly,
				    &reading));
	ASSERT_TRUE(wait_arrived(&self->server));
	ASSERT_EQ(0, cmd_prefetch(space, reading.buf, FILE_BYTES, id, &result));
	EXPECT_EQ(FILE_PAGES, result.out_stayed[HMMRT_STAY_PINNED]);
	ASSERT_VALUE(pages_sum(FILE_BYTES, 50),
		     agent_sum(self->agent, reading.buf, FILE_BYTES,
			       PAGE_BYTES));
	EXPECT_EQ(FILE_PAGES, pages_at(space, reading.buf, FILE_BYTES,
				       HMMRT_LOCATION_HOST));
	sem_post(&self->server.go_on);
	pthread_join(reading.thread, NULL);
	ASSERT_EQ((ssize_t)FILE_BYTES, reading.got);
	/* It has the word in its first page, and zeroes. */
	ASSERT_VALUE(FILE_WORD, agent_sum(self->agent, reading.buf, FILE_BYTES,
					  PAGE_BYTES));
	ASSERT_EQ(0, cmd_prefetch(space, reading.buf, FILE_BYTES, id, &result));
	EXPECT_EQ(FILE_PAGES, result.out_pages_moved);
	ASSERT_VALUE(FILE_WORD, agent_sum(self->agent, reading.buf, FILE_BYTES,
					  PAGE_BYTES));
	ASSERT_EQ(FILE_WORD, *(volatile uint64_t *)reading.buf);
}

TEST_HARNESS_MAIN
