/* SPDX-License-Identifier: MIT */
/*
 * Memory objects: memory that a process creates independently of its address
 * space. The file of an object can be mapped and sent to other processes.
 */
#ifndef TESTS_UAPI_OBJECT_H
#define TESTS_UAPI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd.h"

#define OBJECT_READ	HMMRT_ACCESS_READ
#define OBJECT_WRITE	(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE)

/*
 * Maps a part of an object at the next free address of the arena. Returns NULL
 * on failure.
 */
void *object_map(int object, size_t len, int prot, size_t offset);

/* Replaces the mapping at @addr. Returns 0 or a negative errno. */
int object_map_at(int object, void *addr, size_t len, int prot, size_t offset);

/* Unmaps the whole arena. */
void object_unmap_all(void);

/* Return the id, or the resident bytes, of an object; 0 if the call fails. */
uint64_t object_id(int object);
uint64_t object_resident(int object);

/*
 * Access a word with the CPU. Return 0, or the signal that the access caused.
 * @value may be NULL.
 */
int cpu_read(const volatile void *addr, uint64_t *value);
int cpu_write(volatile void *addr, uint64_t value);

/* Have a child access the word; return the child's wait status, or -1. */
int cpu_read_in_child(const volatile void *addr);

/*
 * Send and receive a number over a socket, and a descriptor with it unless it
 * is -1. A received descriptor is closed on exec. Return 0 or a negative errno;
 * -EPIPE: the other end is closed.
 */
int message_send(int socket, int fd, uint64_t number);
int message_receive(int socket, int *fd, uint64_t *number);

/* Wait up to half a minute until a device has that many bytes in use. */
bool device_wait_used(int manager, uint32_t id, int64_t bytes);

#endif
