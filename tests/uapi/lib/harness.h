/* SPDX-License-Identifier: MIT */
/*
 * Adapts kselftest_harness.h: a time limit long enough for emulated machines,
 * and checks for outcomes of device accesses and for the attributes of a range.
 */
#ifndef TESTS_UAPI_HARNESS_H
#define TESTS_UAPI_HARNESS_H

#include <kselftest_harness.h>

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

/*
 * Expect these attributes of a range. Needs a fixture with the space's file in
 * @fd.
 */
#define ASSERT_ATTRIBUTES(addr, len, flags, by, preferred, prefetch, grain)	\
	do {									\
		struct hmmrt_range_attributes _a;				\
		ASSERT_EQ(0, cmd_range_attributes(self->fd, addr, len, &_a));	\
		ASSERT_EQ((uint32_t)(flags), _a.out_flags);			\
		ASSERT_EQ((uint32_t)(by), _a.out_accessed_by);			\
		ASSERT_EQ((uint32_t)(preferred), _a.out_preferred_location);	\
		ASSERT_EQ((uint32_t)(prefetch), _a.out_last_prefetch);		\
		ASSERT_EQ((uint64_t)(grain), _a.out_granularity);		\
	} while (0)

#endif
