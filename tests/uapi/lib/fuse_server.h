/* SPDX-License-Identifier: MIT */
/*
 * A FUSE file system with one file. A thread of the test serves its pages, and
 * the test may delay it.
 */
#ifndef TESTS_UAPI_FUSE_SERVER_H
#define TESTS_UAPI_FUSE_SERVER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#define FUSE_FILE_BYTES	(8 * PAGE_BYTES)
/* First word of the file. */
#define FUSE_FILE_WORD	0x66757365

struct fuse_server {
	int fd;
	char dir[32];
	char path[64];			/* path of the file */
	volatile uint64_t *touch;	/* each read adds one, unless NULL */
	volatile bool held_up;		/* reads wait for the test */
	sem_t arrived;
	sem_t go_on;
	volatile unsigned int reads;
	pthread_t thread;
};

/* Return 0 or a negative errno; -ENOENT: this kernel has no FUSE. */
int fuse_server_start(struct fuse_server *server);
int fuse_server_end(struct fuse_server *server);

/* Waits up to a minute until a read is held up. */
bool fuse_server_wait_arrived(struct fuse_server *server);
/* Lets that read continue; later reads are not held up. */
void fuse_server_go_on(struct fuse_server *server);

#endif
