/* SPDX-License-Identifier: MIT */
/*
 * kselftest_harness.h, with time limits for emulated machines and checks for
 * outcomes of device accesses and for what is remembered of a range.
 */
#ifndef TESTS_UAPI_HARNESS_H
#define TESTS_UAPI_HARNESS_H

#include <kselftest_harness.h>

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	600

/* The access happened. */
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

/* The access happened, and this is what it found. */
#define ASSERT_VALUE(expected, access)					\
	do {								\
		struct outcome _v = (access);				\
		ASSERT_DONE(_v);					\
		ASSERT_EQ((uint64_t)(expected), _v.value);		\
	} while (0)

/* The access was refused, and recorded with this errno. */
#define ASSERT_REFUSED(sig, err, access)				\
	do {								\
		struct outcome _r = (access);				\
		ASSERT_EQ(0, _r.error);					\
		ASSERT_EQ(sig, _r.signal);				\
		ASSERT_EQ((unsigned int)(err), _r.record.out_errno);	\
	} while (0)

/* What is remembered of a range; of a fixture with the file @fd of a space. */
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
