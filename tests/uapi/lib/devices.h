/* SPDX-License-Identifier: MIT */
/*
 * The session of the running test, and short calls for it. What a test needs
 * beyond that is in session.h, agent.h and cmd.h.
 *
 * Each test runs in its own process, so the session is global, and the helpers
 * name a device by its index, A to D. A location is a device's index, or one
 * of HMMRT_LOCATION_*. Functions that return int return 0 or a negative errno.
 */
#ifndef TESTS_UAPI_DEVICES_H
#define TESTS_UAPI_DEVICES_H

#include "session.h"

enum { A, B, C, D };
#define HOST	HMMRT_LOCATION_HOST
#define NONE	HMMRT_LOCATION_NONE

/* The protection of ordinary memory. */
#define RW	(PROT_READ | PROT_WRITE)

/* The kinds of advice. */
#define SET_READ_MOSTLY		HMMRT_ADVICE_SET_READ_MOSTLY
#define UNSET_READ_MOSTLY	HMMRT_ADVICE_UNSET_READ_MOSTLY
#define SET_PREFERRED_LOCATION	HMMRT_ADVICE_SET_PREFERRED_LOCATION
#define UNSET_PREFERRED_LOCATION \
	HMMRT_ADVICE_UNSET_PREFERRED_LOCATION
#define SET_ACCESSED_BY		HMMRT_ADVICE_SET_ACCESSED_BY
#define UNSET_ACCESSED_BY	HMMRT_ADVICE_UNSET_ACCESSED_BY
#define SET_NO_MIGRATE		HMMRT_ADVICE_SET_NO_MIGRATE
#define UNSET_NO_MIGRATE	HMMRT_ADVICE_UNSET_NO_MIGRATE
#define SET_GRANULARITY		HMMRT_ADVICE_SET_GRANULARITY
#define UNSET_GRANULARITY	HMMRT_ADVICE_UNSET_GRANULARITY

/* The session of the running test, and its open /dev/hmmrt. */
extern struct session session;
extern int space;
/* Memory of the fixture. Page i starts with the word i + 1. */
extern char *buf;

uint32_t id_of(unsigned int device);
struct agent *agent_of(unsigned int device);
struct hmmrt_stats stats_of(unsigned int device);
/* Turns a device's index into its id; returns other locations unchanged. */
uint32_t location_of(uint32_t location);

/* Accesses of a device's first lane, to each page's first word. */
struct outcome dev_read(unsigned int device, const volatile void *addr);
struct outcome dev_write(unsigned int device, volatile void *addr,
			 uint64_t value);
struct outcome dev_sum(unsigned int device, const volatile void *addr,
		       size_t len);
struct outcome dev_fill(unsigned int device, volatile void *addr, size_t len,
			uint64_t first);

/* Start a command on a lane of a device with these arguments; wait for it. */
#define DEV_POST(device, lane, op, ...)					\
	agent_post(agent_of(device), lane, op,				\
		   (const uint64_t[]){ __VA_ARGS__ },			\
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)
struct outcome dev_wait(unsigned int device, unsigned int lane,
			unsigned int seconds);
/* A system call in a device's agent; arguments that are left out are 0. */
#define DEV_SYSCALL(device, number, ...) \
	dev_syscall(device, number, (struct syscall_args){ { __VA_ARGS__ } })
struct syscall_args {
	uint64_t arg[6];
};

int64_t dev_syscall(unsigned int device, long number, struct syscall_args args);

/* Counts the pages at a location. Returns -1 if the call fails. */
long count_at(uint32_t location, const void *addr, size_t len);

int prefetch(uint32_t location, const void *addr, size_t len);
int prefetch_result(uint32_t location, const void *addr, size_t len,
		    struct hmmrt_prefetch *result);
int make_exclusive(unsigned int device, const volatile void *addr, size_t len,
		   struct hmmrt_exclusive *result);
/* Advice without operands, with a location, and with a value. */
int advise(const volatile void *addr, size_t len, uint32_t advice);
int advise_at(const volatile void *addr, size_t len, uint32_t advice,
	      uint32_t location);
int advise_value(const volatile void *addr, size_t len, uint32_t advice,
		 uint64_t value);
int set_knob(unsigned int device, uint32_t knob, uint32_t value);
/* Let each touch of memory evict other memory of a device that is full. */
int evict_always(int fd, uint32_t id);
int set_range_knob(const volatile void *addr, size_t len, unsigned int device,
		   uint32_t knob, uint32_t value);
int set_access(const volatile void *addr, size_t len, unsigned int device,
	       uint32_t access);
int get_access(const volatile void *addr, size_t len, unsigned int device,
	       uint32_t *access);

#endif
