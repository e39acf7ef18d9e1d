/* SPDX-License-Identifier: MIT */
/*
 * What nearly every test of a device begins with: a space of this process, a
 * device bound to it, an agent attached, and an arena, the part of the address
 * space that the agent sees. Test memory is mapped there.
 */
#ifndef TESTS_UAPI_SESSION_H
#define TESTS_UAPI_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "agent.h"
#include "cmd.h"

/* Where nobody else maps anything, neither here nor in the agent. */
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

/* 0, or a negative errno after a line on stderr that says what failed. */
int session_start(struct session *session, unsigned int nr_devices,
		  unsigned int nr_lanes);

/*
 * Ends the agents, closes the files, and checks that all device memory came
 * back; 0, or -EBUSY with a line on stderr when some did not.
 */
int session_end(struct session *session);

/* The parts of session_start(), for tests of single steps. */
int session_open(struct session *session, unsigned int nr_devices);
int session_bind(struct session *session, unsigned int nr_lanes);
int session_attach(struct session *session);

/* Ends the agent of a device and closes its file: the binding is gone. */
void session_unbind(struct session *session, unsigned int device);

/* The agent and the counters of the first device. */
struct agent *session_agent(struct session *session);
struct hmmrt_stats session_stats(const struct session *session,
				 unsigned int device);

/*
 * mmap() at the next free place of the arena, aligned to a block and with an
 * unused block behind it. NULL when it fails.
 */
void *arena_map(size_t len, int prot, int flags, int fd, off_t offset);

/*
 * Private anonymous memory, readable and writable, in single pages unless a test
 * asks for others: where transparent_hugepage is `always`, this says
 * MADV_NOHUGEPAGE. What tests count depends on it.
 */
void *arena_anon(size_t len);

/* Of what is random; printed, HMMRT_TEST_SEED sets it. */
unsigned int test_seed(void);

/* Write first, first + 1, ... to the first word of each page; and look. */
void pages_fill(void *addr, size_t len, uint64_t first);
/* The index of the first page that has something else, or -1. */
long pages_check(const void *addr, size_t len, uint64_t first);
/* What agent_sum() finds of them. */
uint64_t pages_sum(size_t len, uint64_t first);

/* Writes a mapping; whether the kernel had huge pages for all of it. */
bool has_huge_pages(char *buf, size_t len);

/*
 * The number of the page frame that stands for a page on a device; they follow
 * each other as device memory does. 0 for a page that is not on one.
 */
uint64_t device_frame(const void *addr);

#endif
