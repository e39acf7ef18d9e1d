/* SPDX-License-Identifier: MIT */
/*
 * The memory object of the running test, and short calls for it: what devices.h
 * is to the session. Functions that return int return 0 or a negative errno.
 */
#ifndef TESTS_UAPI_OBJECTS_H
#define TESTS_UAPI_OBJECTS_H

#include "devices.h"
#include "object.h"

#define MIGRATABLE	HMMRT_OBJECT_MIGRATABLE

/* The size of the object in most tests. */
#define OBJECT_BYTES	(2 * BLOCK_BYTES)
#define OBJECT_PAGES	(2 * BLOCK_PAGES)

/* Its descriptor, or -1, and its size. @buf is its mapping. */
extern int object;
extern size_t object_bytes;

/*
 * Create it and map all of it, without rights for devices; object_start() lets
 * the CPU and all devices of the session write. object_end() unmaps and closes
 * it. objects_end() closes it and unmaps the whole arena: DEVICES_FIXTURE(name,
 * .end = objects_end).
 */
int object_new(uint32_t location, size_t len, uint32_t flags, int prot);
int object_start(uint32_t location, size_t len, uint32_t flags);
int object_end(void);
void objects_end(void);
/* object_new() of blocks pinned to device A. Returns @buf, or NULL on failure. */
void *object_mapped(size_t blocks);
#define MAPPED(blocks) NOT_NULL(object_mapped(blocks))

/* Sets the rights to all of it, of a device or of all devices. */
int grant(unsigned int device, uint32_t access);
int grant_all(uint32_t access);

/*
 * Create another object: anywhere, or pinned to device A or in system memory.
 * Return its descriptor or a negative errno.
 */
int create_at(uint32_t location, size_t len, uint32_t flags);
int create(size_t blocks);
int create_on_host(size_t blocks);

/*
 * Returns the rights that device A has for all of a range, or UINT32_MAX if the
 * call fails.
 */
uint32_t access_of(const void *addr, size_t len);

/*
 * Return how many bytes of a device are in use, and how many more than before
 * the test. memory_is_freed() waits for the latter to become 0.
 */
int64_t used(unsigned int device);
int64_t taken(unsigned int device);
bool memory_is_freed(unsigned int device);

/* Returns the first word of a page. */
uint64_t *word_of(char *addr, size_t page);

#endif
