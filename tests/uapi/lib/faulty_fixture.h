/* SPDX-License-Identifier: MIT */
/* The fixture of tests on devices that fail and go away (faulty_session.h). */
#ifndef TESTS_UAPI_FAULTY_FIXTURE_H
#define TESTS_UAPI_FAULTY_FIXTURE_H

#include "faulty_session.h"
#include "fixture.h"

struct faulty_options {
	uint64_t first;		/* in the first page of @buf; 0: none is filled */
};

/*
 * Defines a fixture: FAULTY_FIXTURE(name, .first = 7000). One with members or a
 * teardown of its own is written in full, with FAULTY_SETUP() and
 * FAULTY_TEARDOWN().
 */
#define FAULTY_FIXTURE(_name, ...)					\
	FIXTURE(_name) {						\
	};								\
	FIXTURE_SETUP(_name)						\
	{								\
		FAULTY_SETUP(__VA_ARGS__);				\
	}								\
	FIXTURE_TEARDOWN(_name)						\
	{								\
		FAULTY_TEARDOWN();					\
	}

#define FAULTY_SETUP(...)						\
	faulty_setup(_metadata, &(struct faulty_options){ __VA_ARGS__ })
#define FAULTY_TEARDOWN()	EXPECT_EQ(0, faulty_end())

static inline void faulty_setup(struct __test_metadata *_metadata,
				const struct faulty_options *options)
{
	NEED_MODULES();
	ASSERT_EQ(0, faulty_start());
	first = options->first;
	if (first)
		pages_fill(buf, LEN, first);
}

#endif
