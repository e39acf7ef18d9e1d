/* SPDX-License-Identifier: MIT */
/*
 * Common setup of device tests: a space of this process, devices bound to it,
 * an agent attached to each, and an arena. The arena is the part of the address
 * space that the agents see; test memory is mapped there.
 */
#ifndef TESTS_UAPI_SESSION_H
#define TESTS_UAPI_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "agent.h"
#include "cmd.h"

/* An address range that nothing else uses, neither here nor in the agents. */
#define ARENA_BASE	0x100000000000UL
#define ARENA_BYTES	(64UL << 30)

#define SESSION_MAX_DEVICES	4

/* One device of the session. */
struct session_device {
	int gpu;
	uint32_t id;
	uint64_t token;
	int64_t used_before;
	struct agent agent;
};

struct session {
	int space;
	unsigned int nr_devices;
	struct session_device devices[SESSION_MAX_DEVICES];
};

/* Returns 0, or a negative errno after it printed to stderr what failed. */
int session_start(struct session *session, unsigned int nr_devices,
		  unsigned int nr_lanes);

/*
 * Ends the agents, closes the files, and checks that all device memory was
 * freed. Returns 0, or prints to stderr and returns -EBUSY if some was not.
 */
int session_end(struct session *session);

/* The steps of session_start(), for tests that need them separately. */
int session_open(struct session *session, unsigned int nr_devices);
int session_bind(struct session *session, unsigned int nr_lanes);
int session_attach(struct session *session);

/* Ends a device's agent and closes its file, which ends the binding. */
void session_unbind(struct session *session, unsigned int device);

/* The agent of the first device, and the statistics of a device. */
struct agent *session_agent(struct session *session);
struct hmmrt_stats session_stats(const struct session *session,
				 unsigned int device);

/*
 * Calls mmap() at the next free address of the arena, aligned to a block and
 * followed by an unused block. Returns NULL on failure.
 */
void *arena_map(size_t len, int prot, int flags, int fd, off_t offset);

/*
 * Maps private anonymous memory, readable and writable. Tests count pages and
 * depend on small ones: where transparent_hugepage is `always`, this sets
 * MADV_NOHUGEPAGE. A test may still ask for huge pages.
 */
void *arena_anon(size_t len);

/* Maps such memory at @addr, over what is there. Returns false on failure. */
bool map_anon_at(void *addr, size_t len);

/*
 * Returns the seed for random tests and prints it. HMMRT_TEST_SEED overrides
 * it.
 */
unsigned int test_seed(void);

/* Write first, first + 1, ... to each page's first word, and check them. */
void pages_fill(void *addr, size_t len, uint64_t first);
/* Returns the index of the first page with another value, or -1. */
long pages_check(const void *addr, size_t len, uint64_t first);
/* Returns what agent_sum() computes for pages filled this way. */
uint64_t pages_sum(size_t len, uint64_t first);

/* Writes a mapping; returns true if huge pages back all of it. */
bool has_huge_pages(char *buf, size_t len);

/*
 * Returns the frame number of a device-private page, or 0 for other pages. The
 * numbers are consecutive as device memory is.
 */
uint64_t device_frame(const void *addr);

#endif
