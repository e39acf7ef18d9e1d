/* SPDX-License-Identifier: MIT */
/*
 * Adapts kselftest_harness.h: a time limit long enough for emulated machines,
 * variants in a line, waits, and checks for outcomes of device accesses. Includes
 * the headers that most programs need.
 */
#ifndef TESTS_UAPI_HARNESS_H
#define TESTS_UAPI_HARNESS_H

#include <kselftest_harness.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

/*
 * Exit status of a skipped test. A fixture that cannot be set up exits at once,
 * because the harness would run the test anyway. The status changed when the
 * harness gained expected failures (6.9).
 */
#ifdef XFAIL_ADD
#define SKIPPED	KSFT_SKIP
#else
#define SKIPPED	255
#endif

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

/* A variant in a line: VARIANT(fixture, name, .member = 1). */
#define VARIANT(fixture, name, ...) \
	FIXTURE_VARIANT_ADD(fixture, name) { __VA_ARGS__ }

/*
 * Evaluates @condition every 5 ms for @limit_s seconds, or until it is true.
 * Returns whether it is.
 */
#define WAIT_UNTIL(condition, limit_s)					\
	({								\
		unsigned int _tries = (limit_s) * 200;			\
		bool _true;						\
									\
		while (!(_true = (condition)) && _tries--)		\
			usleep(5000);					\
		_true;							\
	})

/* Start a child or a thread. */
#define FORK()								\
	({								\
		pid_t _pid = fork();					\
									\
		ASSERT_LE(0, _pid);					\
		_pid;							\
	})
#define THREAD(run, arg)						\
	({								\
		pthread_t _thread;					\
									\
		ASSERT_EQ(0, pthread_create(&_thread, NULL, run, arg));	\
		_thread;						\
	})

/* Expect a call to return memory, or a descriptor, and return it. */
#define NOT_NULL(call)							\
	({								\
		typeof(call) _pointer = (call);				\
									\
		ASSERT_NE(NULL, (void *)_pointer)			\
		{							\
			TH_LOG("%s", #call);				\
		}							\
		_pointer;						\
	})
#define FD(call)							\
	({								\
		int _fd = (call);					\
									\
		ASSERT_LE(0, _fd)					\
		{							\
			TH_LOG("%s", #call);				\
		}							\
		_fd;							\
	})

/* A function that makes one call, for tables of steps. */
#define STEP(name, call)						\
	static int name(void)						\
	{								\
		return call;						\
	}

/*
 * Rows of a table of refusals: @arg becomes a copy of @good with a change, or is
 * made of these members, and @call must return @expected. Failures print the
 * row.
 */
#define EXPECT_CHANGED(expected, call, arg, good, ...)			\
	do {								\
		(arg) = (good);						\
		__VA_ARGS__;						\
		EXPECT_EQ(expected, call)				\
		{							\
			TH_LOG("%s", #__VA_ARGS__);			\
		}							\
	} while (0)

#define EXPECT_WITH(expected, call, arg, ...)				\
	do {								\
		(arg) = (typeof(arg)){ __VA_ARGS__ };			\
		EXPECT_EQ(expected, call)				\
		{							\
			TH_LOG("%s", #__VA_ARGS__);			\
		}							\
	} while (0)

/* Expect the access to succeed. */
#define ASSERT_DONE(access)						\
	do {								\
		struct outcome _o = (access);				\
		ASSERT_EQ(0, _o.error)					\
		{							\
			TH_LOG("%s: %s", #access,			\
			       _o.error == -ETIMEDOUT ? "never ended" :	\
							"agent is gone"); \
		}							\
		ASSERT_EQ(0, _o.signal)					\
		{							\
			TH_LOG("%s: signal at %#llx, record: %#llx, access %#x, errno %u", \
			       #access,				\
			       (unsigned long long)_o.signal_addr,	\
			       (unsigned long long)_o.record.out_addr,	\
			       _o.record.out_access, _o.record.out_errno); \
		}							\
	} while (0)

/* Expect the access to succeed and to return @expected. */
#define ASSERT_VALUE(expected, access)					\
	do {								\
		struct outcome _v = (access);				\
		ASSERT_DONE(_v);					\
		ASSERT_EQ((uint64_t)(expected), _v.value);		\
	} while (0)

/* Expect the access to fail with this signal and this errno in its record. */
#define ASSERT_REFUSED(sig, err, access)				\
	do {								\
		struct outcome _r = (access);				\
		ASSERT_EQ(0, _r.error);					\
		ASSERT_EQ(sig, _r.signal);				\
		ASSERT_EQ((unsigned int)(err), _r.record.out_errno);	\
	} while (0)

#endif
