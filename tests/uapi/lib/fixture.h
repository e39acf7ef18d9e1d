/* SPDX-License-Identifier: MIT */
/*
 * The fixture of most tests: a space of this process, devices bound to it with
 * an agent each, and memory in the arena; and checks of both.
 */
#ifndef TESTS_UAPI_FIXTURE_H
#define TESTS_UAPI_FIXTURE_H

#include "devices.h"
#include "harness.h"
#include "modules.h"
#include "setting.h"

struct devices_options {
	unsigned int devices;	/* 0: one */
	unsigned int lanes;	/* of each device; 0: one */
	size_t bytes;		/* of @buf; 0: no @buf */
	/*
	 * Reloads hmmrt_simgpu with these parameters during the test. The
	 * devices are small, and each touch evicts, unless @by_use.
	 */
	const char *load;
	bool by_use;	/* keep the default of HMMRT_KNOB_OVERSUBSCRIPTION */
	bool unattached; /* the agents, which a test attaches itself */
	bool sets_oversubscription; /* the test, which the teardown undoes */
	void (*end)(void); /* the teardown calls it before the session ends */
};

/*
 * Define a fixture, for example DEVICES_FIXTURE(name, .devices = 2). The second
 * form precedes a block with further setup. A fixture with a teardown or members
 * of its own is written in full, with DEVICES_SETUP() and DEVICES_TEARDOWN().
 */
#define DEVICES_FIXTURE(_name, ...)					\
	FIXTURE(_name) {						\
	};								\
	FIXTURE_SETUP(_name)						\
	{								\
		DEVICES_SETUP(__VA_ARGS__);				\
	}								\
	DEVICES_FIXTURE_TEARDOWN(_name)

#define DEVICES_FIXTURE_SETUP(_name, ...)				\
	static void _name##_more(struct __test_metadata *_metadata);	\
	FIXTURE(_name) {						\
	};								\
	FIXTURE_SETUP(_name)						\
	{								\
		DEVICES_SETUP(__VA_ARGS__);				\
		_name##_more(_metadata);				\
	}								\
	DEVICES_FIXTURE_TEARDOWN(_name)					\
	static void _name##_more(struct __test_metadata *_metadata)

#define DEVICES_FIXTURE_TEARDOWN(_name)					\
	FIXTURE_TEARDOWN(_name)						\
	{								\
		DEVICES_TEARDOWN();					\
	}

#define DEVICES_SETUP(...)						\
	devices_setup(_metadata, &(struct devices_options){ __VA_ARGS__ })
#define DEVICES_TEARDOWN()	devices_teardown(_metadata)

/* Skip a test, in the setup of its fixture, where modules cannot be loaded. */
#define NEED_MODULES()							\
	do {								\
		if (!getenv("HMMRT_MODULE_DIR"))			\
			SKIP(_exit(SKIPPED),				\
			     "HMMRT_MODULE_DIR is not set");		\
	} while (0)

/* Map memory in the arena; FILLED() also writes 1, 2, ... to its pages. */
#define ANON(len) NOT_NULL(arena_anon(len))
#define FILLED(len)							\
	({								\
		void *_f = ANON(len);					\
		pages_fill(_f, len, 1);					\
		_f;							\
	})

#define GATE()								\
	({								\
		struct gate _gate;					\
									\
		ASSERT_TRUE(gate_make(&_gate));				\
		_gate;							\
	})

/* Expect all pages of a range to be at a location. */
#define ASSERT_AT(location, addr, len)					\
	ASSERT_EQ((long)((len) / PAGE_BYTES),				\
		  pages_at(space, addr, len, location_of(location)))
#define EXPECT_AT(location, addr, len)					\
	EXPECT_EQ((long)((len) / PAGE_BYTES),				\
		  pages_at(space, addr, len, location_of(location)))

/* Expect a device to read first, first + 1, ... from the pages of a range. */
#define ASSERT_SUM(device, addr, len, first)				\
	ASSERT_VALUE(pages_sum(len, first), dev_sum(device, addr, len))

/* Have the CPU fill the pages of a range, and prefetch them. */
#define PLACE(location, addr, len, first)				\
	do {								\
		pages_fill(addr, len, first);				\
		ASSERT_EQ(0, prefetch(location, addr, len));		\
	} while (0)

/* Prefetch a range, and expect all of its pages at the location. */
#define MOVE(location, addr, len)					\
	do {								\
		ASSERT_EQ(0, prefetch(location, addr, len));		\
		ASSERT_AT(location, addr, len);				\
	} while (0)

/* Have a device fill the pages of a range, and expect the CPU to read that. */
#define ASSERT_FILLS(device, addr, len, first)				\
	do {								\
		ASSERT_DONE(dev_fill(device, addr, len, first));	\
		ASSERT_EQ(-1, pages_check(addr, len, first));		\
	} while (0)
#define EXPECT_FILLS(device, addr, len, first)				\
	do {								\
		ASSERT_DONE(dev_fill(device, addr, len, first));	\
		EXPECT_EQ(-1, pages_check(addr, len, first));		\
	} while (0)

/*
 * Expect pages at a location with these contents. _HAS() looks where they are
 * before the CPU reads them, _LEFT() afterwards.
 */
#define ASSERT_HAS(location, addr, len, first)				\
	do {								\
		ASSERT_AT(location, addr, len);				\
		ASSERT_EQ(-1, pages_check(addr, len, first));		\
	} while (0)
#define EXPECT_HAS(location, addr, len, first)				\
	do {								\
		EXPECT_AT(location, addr, len);				\
		EXPECT_EQ(-1, pages_check(addr, len, first));		\
	} while (0)
#define ASSERT_LEFT(location, addr, len, first)				\
	do {								\
		ASSERT_EQ(-1, pages_check(addr, len, first));		\
		ASSERT_AT(location, addr, len);				\
	} while (0)
#define EXPECT_LEFT(location, addr, len, first)				\
	do {								\
		EXPECT_EQ(-1, pages_check(addr, len, first));		\
		EXPECT_AT(location, addr, len);				\
	} while (0)

/* Expect these attributes of a range. */
#define ASSERT_ATTRIBUTES(addr, len, flags, by, preferred, prefetch, grain)	\
	do {									\
		struct hmmrt_range_attributes _a;				\
		ASSERT_EQ(0, cmd_range_attributes(space, addr, len, &_a));	\
		ASSERT_EQ((uint32_t)(flags), _a.out_flags);			\
		ASSERT_EQ((uint32_t)(by), _a.out_accessed_by);			\
		ASSERT_EQ((uint32_t)(preferred), _a.out_preferred_location);	\
		ASSERT_EQ((uint32_t)(prefetch), _a.out_last_prefetch);		\
		ASSERT_EQ((uint64_t)(grain), _a.out_granularity);		\
	} while (0)

/* Parameters of hmmrt_simgpu before @load replaced them. */
static char devices_parameters[SIMGPU_PARAMETERS];
static bool devices_set_oversubscription;
static void (*devices_end)(void);

static inline void devices_setup(struct __test_metadata *_metadata,
				 const struct devices_options *options)
{
	if (options->load) {
		NEED_MODULES();
		ASSERT_EQ(0, simgpu_replace(devices_parameters, options->load));
	}
	devices_set_oversubscription = options->sets_oversubscription;
	devices_end = options->end;
	ASSERT_EQ(0, session_open(&session, options->devices ?: 1));
	ASSERT_EQ(0, session_bind(&session, options->lanes ?: 1));
	space = session.space;
	if (options->load && !options->by_use)
		for (unsigned int i = 0; i < session.nr_devices; i++)
			ASSERT_EQ(0, evict_always(space, id_of(i)));
	if (!options->unattached)
		ASSERT_EQ(0, session_attach(&session));
	if (options->bytes)
		buf = FILLED(options->bytes);
}

static inline void devices_teardown(struct __test_metadata *_metadata)
{
	if (devices_set_oversubscription)
		EXPECT_TRUE(set_oversubscription(true));
	if (devices_end)
		devices_end();
	EXPECT_EQ(0, session_end(&session));
	if (devices_parameters[0])
		EXPECT_EQ(0, simgpu_restore(devices_parameters));
}

#endif
