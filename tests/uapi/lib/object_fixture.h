/* SPDX-License-Identifier: MIT */
/*
 * The fixture of tests that use memory objects. Its options are those of
 * fixture.h.
 */
#ifndef TESTS_UAPI_OBJECT_FIXTURE_H
#define TESTS_UAPI_OBJECT_FIXTURE_H

#include "fixture.h"
#include "objects.h"
#include "setting.h"

/* Defines a fixture: OBJECT_FIXTURE(name, .devices = 2). */
#define OBJECT_FIXTURE(_name, ...)					\
	FIXTURE(_name) {						\
	};								\
	FIXTURE_SETUP(_name)						\
	{								\
		DEVICES_SETUP(__VA_ARGS__);				\
	}								\
	FIXTURE_TEARDOWN(_name)						\
	{								\
		OBJECT_TEARDOWN();					\
	}

/* Create the object of the test, with pinned blocks of device A, and map it. */
#define MAPPED(blocks)							\
	({								\
		void *_mapped = object_mapped(blocks);			\
									\
		ASSERT_NE(NULL, _mapped);				\
		_mapped;						\
	})

#define OBJECT_TEARDOWN()	end_objects(_metadata)

static inline void end_objects(struct __test_metadata *_metadata)
{
	/* Tests with a module of their own may have switched it off. */
	if (devices_parameters[0])
		EXPECT_TRUE(set_oversubscription(true));
	object_unmap_all();
	if (object >= 0)
		close(object);
	devices_teardown(_metadata);
}

#endif
