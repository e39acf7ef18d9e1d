// SPDX-License-Identifier: MIT
/*
 * Trace events: each event is logged once for each occurrence, and its fields
 * have the names and values of the informative calls.
 */
#include "lib/events.h"
#include "lib/fixture.h"
#include "lib/tracing.h"

#define DEVICE_BYTES	(4UL << 20)
#define MODULE		"devices=1 memory=4"
/*
 * Two moves within half a second count as thrashing. A thrash pin lasts until
 * the test ends it.
 */
#define SOON_US		500000
#define FOR_EVER	100000
#define ROUNDS		1000

DEVICES_FIXTURE_SETUP(trace, .load = MODULE, .bytes = 3 * DEVICE_BYTES,
		      .sets_oversubscription = true, .end = tracing_stop)
{
	ASSERT_TRUE(tracing_start());
}

/*
 * The device touches a page. Exactly one event must report the fault with @why.
 */
static void touch(struct __test_metadata *_metadata, const char *page,
		  const char *why)
{
	char part[160];

	snprintf(part, sizeof(part),
		 "device=%u addr=%#lx pages=1 from=-2 to=-2 cause=none access=0x1 error=0 reason='%s' ",
		 id_of(A), (unsigned long)page, why);
	ASSERT_EQ(0, tracing_count("hmmrt_device_fault", part));
	ASSERT_DONE(dev_read(A, page));
	EXPECT_EQ(1, tracing_count("hmmrt_device_fault", part))
	{
		TH_LOG("expected exactly one event: %s", part);
	}
}

TEST_F(trace, fault_reports_the_rule_that_decided)
{
	char *page = buf;

	touch(_metadata, page, "touched");
	page += BLOCK_BYTES;
	ASSERT_EQ(0,
		  advise_at(page, BLOCK_BYTES, SET_PREFERRED_LOCATION, HOST));
	touch(_metadata, page, "preferred elsewhere");
	page += BLOCK_BYTES;
	ASSERT_EQ(0, advise(page, BLOCK_BYTES, SET_READ_MOSTLY));
	touch(_metadata, page, "read of read-mostly");
	page += BLOCK_BYTES;
	ASSERT_EQ(0, set_range_knob(page, BLOCK_BYTES, A,
				    HMMRT_KNOB_MIGRATION_POLICY,
				    HMMRT_MIGRATE_NEVER));
	touch(_metadata, page, "never by migration policy");
	EXPECT_EQ(stats_of(A).out_device_faults,
		  tracing_count("hmmrt_device_fault", ""));
	EXPECT_EQ(stats_of(A).out_fault_batches,
		  tracing_count("hmmrt_fault_batch", "count=1 groups=1 "));
}

/* Text from a process cannot imitate the fields of an event. */
TEST_F(trace, text_of_a_mark_is_escaped)
{
	struct hmmrt_annotate mark = {
		.size = sizeof(mark),
		.kind = HMMRT_ANNOTATE_MARK,
		.text = "x\" serial=1 \\ text=\"y",
	};

	ASSERT_EQ(0, events_annotate(space, &mark));
	EXPECT_EQ(1, tracing_count("hmmrt_mark",
				   "text=\"x\\\" serial=1 \\\\ text=\\\"y\""));
}

TEST_F(trace, refused_fault_reports_its_error)
{
	char part[160];

	ASSERT_EQ(0, munmap(buf, BLOCK_BYTES));
	ASSERT_REFUSED(SIGSEGV, EFAULT, dev_read(A, buf));
	snprintf(part, sizeof(part),
		 "addr=%#lx pages=1 from=-2 to=-2 cause=none access=0x1 error=-14 reason='none' ",
		 (unsigned long)buf);
	EXPECT_EQ(1, tracing_count("hmmrt_device_fault", part));
}

/*
 * A fault that finds no memory maps the page in system memory. The event
 * distinguishes full device memory from a reached quota.
 */
TEST_F(trace, fault_without_device_memory_reports_the_reason)
{
	ASSERT_TRUE(set_oversubscription(false));
	ASSERT_EQ(0, prefetch(A, buf, DEVICE_BYTES));
	touch(_metadata, buf + DEVICE_BYTES, "no device memory");
	EXPECT_EQ(1, stats_of(A).out_memory_refusals);
	EXPECT_EQ(0, stats_of(A).out_evictions);

	ASSERT_EQ(0, cmd_set_quota(space, id_of(A), 0, HMMRT_PRIORITY_DEFAULT,
				   NULL));
	touch(_metadata, buf + 2 * DEVICE_BYTES, "limit reached");
	EXPECT_EQ(1, stats_of(A).out_memory_refusals);
	EXPECT_EQ(1, stats_of(A).out_quota_refusals);
}

TEST_F(trace, evictions_and_moves_are_reported)
{
	char part[96];

	ASSERT_EQ(0, prefetch(A, buf, DEVICE_BYTES));
	touch(_metadata, buf + DEVICE_BYTES, "touched");
	EXPECT_EQ(1, tracing_count("hmmrt_eviction", " pages=512 "));
	EXPECT_EQ(stats_of(A).out_evictions,
		  tracing_count("hmmrt_eviction", ""));
	snprintf(part, sizeof(part),
		 "addr=%#lx pages=512 from=-1 to=%u cause=prefetch ",
		 (unsigned long)buf, id_of(A));
	EXPECT_EQ(1, tracing_count("hmmrt_migration", part));
	ASSERT_EQ(1, *(volatile uint64_t *)buf);
	*(volatile uint64_t *)(buf + DEVICE_BYTES) = 1;
	EXPECT_LT(0, tracing_count("hmmrt_migration", "to=-1 cause=cpu_fault "));
	EXPECT_LT(0, tracing_count("hmmrt_invalidate", ""));
}

static unsigned int thrashing(const char *state)
{
	char part[32];

	snprintf(part, sizeof(part), "reason=%s ", state);
	return tracing_count("hmmrt_thrashing", part);
}

static void go_back_and_forth(struct __test_metadata *_metadata)
{
	volatile uint64_t *word = (volatile uint64_t *)buf;

	for (unsigned int round = 0; !stats_of(A).out_thrash_pins; round++) {
		ASSERT_LT(round, ROUNDS);
		*word = round;
		ASSERT_VALUE(round, dev_read(A, word));
	}
}

TEST_F(trace, each_step_of_thrashing_is_reported)
{
	static const struct {
		uint32_t knob, value;
	} knobs[] = {
		{ HMMRT_KNOB_THRASHING_LAPSE_USEC, SOON_US },
		{ HMMRT_KNOB_THRASHING_PIN_THRESHOLD, 2 },
		{ HMMRT_KNOB_THRASHING_PIN, FOR_EVER },
	};
	struct hmmrt_stats stats;

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		ASSERT_EQ(0, set_knob(A, knobs[i].knob, knobs[i].value));
	go_back_and_forth(_metadata);
	ASSERT_EQ(0, prefetch(A, buf, PAGE_BYTES));
	stats = stats_of(A);
	EXPECT_EQ(1, thrashing("detected"));
	EXPECT_EQ(stats.out_throttled_faults, thrashing("throttled"));
	EXPECT_LT(0, stats.out_throttled_faults);
	EXPECT_EQ(1, thrashing("pinned"));
	EXPECT_EQ(1, thrashing("released"));
	EXPECT_EQ(1, thrashing("reset"));
	EXPECT_EQ(1, stats.out_thrashing_resets);
}

TEST_HARNESS_MAIN
