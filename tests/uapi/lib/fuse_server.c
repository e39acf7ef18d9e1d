// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fuse_server.h"
#include "session.h"

#define FILE_NODE	2

static void reply(const struct fuse_server *server,
		  const struct fuse_in_header *in, int error, const void *data,
		  size_t len)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len), .error = error,
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
		.ino = node, .size = node == FILE_NODE ? FUSE_FILE_BYTES : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0600 : S_IFDIR | 0700,
		.nlink = 1, .blksize = PAGE_BYTES,
	};
}

static void serve_read(struct fuse_server *server,
		       const struct fuse_in_header *in,
		       const struct fuse_read_in *read)
{
	static uint64_t page[FUSE_FILE_BYTES / sizeof(uint64_t)];

	page[0] = FUSE_FILE_WORD;
	server->reads++;
	if (server->touch)
		(*server->touch)++;
	if (server->held_up) {
		sem_post(&server->arrived);
		sem_wait(&server->go_on);
	}
	reply(server, in, 0, page,
	      read->size < FUSE_FILE_BYTES ? read->size : FUSE_FILE_BYTES);
}

/*
 * FUSE_ASYNC_READ stays off, so that a read waiting for the server is not
 * interrupted by signals.
 */
static void serve(struct fuse_server *server, const struct fuse_in_header *in)
{
	struct fuse_entry_out entry = {
		.nodeid = FILE_NODE, .attr = attributes(FILE_NODE),
	};
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31,
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

/* Serves requests until the file system is unmounted. */
static void *server_run(void *arg)
{
	static union {
		struct fuse_in_header header;
		uint8_t bytes[FUSE_MIN_READ_BUFFER + PAGE_BYTES];
	} request;
	struct fuse_server *server = arg;

	while (read(server->fd, &request, sizeof(request)) > 0)
		serve(server, &request.header);
	return NULL;
}

int fuse_server_start(struct fuse_server *server)
{
	char options[96];
	int rc;

	*server = (struct fuse_server){ .fd = -1 };
	server->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (server->fd < 0)
		return -errno;
	strcpy(server->dir, "/tmp/fuse_test.XXXXXX");
	if (!mkdtemp(server->dir))
		return -errno;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", server->fd);
	if (mount("fuse_test", server->dir, "fuse", MS_NOSUID | MS_NODEV,
		  options))
		return -errno;
	snprintf(server->path, sizeof(server->path), "%s/file", server->dir);
	if (sem_init(&server->arrived, 0, 0) || sem_init(&server->go_on, 0, 0))
		return -errno;
	rc = pthread_create(&server->thread, NULL, server_run, server);
	return -rc;
}

bool fuse_server_wait_arrived(struct fuse_server *server)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 60;
	return !sem_timedwait(&server->arrived, &limit);
}

void fuse_server_go_on(struct fuse_server *server)
{
	server->held_up = false;
	sem_post(&server->go_on);
}

int fuse_server_end(struct fuse_server *server)
{
	int rc = 0;

	if (umount2(server->dir, MNT_DETACH))
		rc = -errno;
	pthread_join(server->thread, NULL);
	close(server->fd);
	rmdir(server->dir);
	return rc;
}
