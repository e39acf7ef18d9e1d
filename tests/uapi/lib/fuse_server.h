/* SPDX-License-Identifier: MIT */
/*
 * A file system with one file, whose pages a thread of the test provides, by FUSE, when
 * the test likes.
 */
#ifndef TESTS_UAPI_FUSE_SERVER_H
#define TESTS_UAPI_FUSE_SERVER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#define FUSE_FILE_BYTES	(8 * PAGE_BYTES)
/* The first word of the file. */
#define FUSE_FILE_WORD	0x66757365

struct fuse_server {
	int fd;
	char dir[32];
	char path[64];			/* of the file */
	volatile uint64_t *touch;	/* counted up for each read, if not NULL */
	volatile bool held_up;		/* each read waits for the test */
	sem_t arrived;
	sem_t go_on;
	volatile unsigned int reads;
	pthread_t thread;
};

/* 0 or a negative errno; -ENOENT: this kernel has no FUSE. */
int fuse_server_start(struct fuse_server *server);
int fuse_server_end(struct fuse_server *server);

/* Until a read is held up, for a minute at most. */
bool fuse_server_wait_arrived(struct fuse_server *server);
/* That read goes on, and later ones are not held up. */
void fuse_server_go_on(struct fuse_server *server);

#endif
