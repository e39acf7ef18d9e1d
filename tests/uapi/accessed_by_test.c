// SPDX-License-Identifier: MIT
/*
 * SET_ACCESSED_BY: the device gets its entries before it accesses the memory,
 * and gets them again after each invalidation. No page migrates for it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/session.h"

#define GRANULE_BYTES	(16 * PAGE_BYTES)

FIXTURE(accessed_by) {
	struct session session;
	int fd;
	struct agent *agent;
	uint32_t id;
	uint32_t other_id;
};

FIXTURE_SETUP(accessed_by)
{
	ASSERT_EQ(0, session_start(&self->session, 2, 1));
	self->fd = self->session.space;
	self->agent = session_agent(&self->session);
	self->id = self->session.devices[0].id;
	self->other_id = self->session.devices[1].id;
}

FIXTURE_TEARDOWN(accessed_by)
{
	EXPECT_EQ(0, session_end(&self->session));
}

#define ASSERT_AT(location, addr, len)					\
	ASSERT_EQ((long)((len) / PAGE_BYTES),				\
		  pages_at(self->fd, addr, len, location))

static uint64_t faults(const struct session *session, unsigned int device)
{
	return session_stats(session, device).out_device_faults;
}

static uint64_t mapped(const struct session *session, unsigned int device)
{
	return session_stats(session, device).out_mapped_pages;
}

/* A worker thread maps again after an invalidation, which takes a while. */
static bool wait_mapped(const struct session *session, unsigned int device,
			uint64_t count)
{
	unsigned int i;

	for (i = 0; i < 2000 && mapped(session, device) < count; i++)
		usleep(5000);
	return mapped(session, device) >= count;
}

TEST_F(accessed_by, maps_pages_without_faults_or_migration)
{
	char *buf = arena_anon(BLOCK_BYTES);
	uint64_t before;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, BLOCK_BYTES, 1);
	before = faults(&self->session, 0);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, BLOCK_BYTES,
				HMMRT_ADVICE_SET_ACCESSED_BY, self->id, 0));
	ASSERT_EQ(BLOCK_BYTES / PAGE_BYTES, mapped(&self->session, 0));
	ASSERT_DONE(agent_fill(self->agent, buf, BLOCK_BYTES, PAGE_BYTES, 7));
	ASSERT_EQ(-1, pages_check(buf, BLOCK_BYTES, 7));
	ASSERT_AT(HMMRT_LOCATION_HOST, buf, BLOCK_BYTES);
	ASSERT_EQ(before, faults(&self->session, 0));
}

TEST_F(accessed_by, pages_are_mapped_again_after_each_invalidation)
{
	const uint64_t pages = GRANULE_BYTES / PAGE_BYTES;
	char *buf = arena_anon(GRANULE_BYTES);
	uint64_t before;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_ACCESSED_BY, self->id, 0));
	before = faults(&self->session, 0);
	/* Prefetch to the other device; CPU faults then migrate it back. */
	ASSERT_EQ(0, cmd_prefetch(self->fd, buf, GRANULE_BYTES, self->other_id,
				  NULL));
	ASSERT_AT(self->other_id, buf, GRANULE_BYTES);
	ASSERT_EQ(-1, pages_check(buf, GRANULE_BYTES, 1));
	ASSERT_AT(HMMRT_LOCATION_HOST, buf, GRANULE_BYTES);
	ASSERT_TRUE(wait_mapped(&self->session, 0, 2 * pages));
	ASSERT_VALUE(pages * (pages + 1) / 2,
		     agent_sum(self->agent, buf, GRANULE_BYTES, PAGE_BYTES));
	/* Removing the write permission invalidates the entries again. */
	ASSERT_EQ(0, mprotect(buf, GRANULE_BYTES, PROT_READ));
	ASSERT_TRUE(wait_mapped(&self->session, 0, 3 * pages));
	ASSERT_VALUE(1, agent_read(self->agent, buf));
	ASSERT_EQ(before, faults(&self->session, 0));
	ASSERT_EQ(0, session_stats(&self->session, 0).out_migrated_to_device);
}

TEST_F(accessed_by, read_mostly_memory_is_mapped_when_it_shall_stay)
{
	const uint64_t pages = GRANULE_BYTES / PAGE_BYTES;
	char *buf = arena_anon(GRANULE_BYTES);

	ASSERT_NE(NULL, buf);
	pages_fill(buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_ACCESSED_BY, self->id, 0));
	ASSERT_EQ(0, mapped(&self->session, 0));
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_NO_MIGRATE, 0, 0));
	ASSERT_TRUE(wait_mapped(&self->session, 0, pages));
	ASSERT_EQ(pages, mapped(&self->session, 0));
}

TEST_F(accessed_by, unset_ends_mapping_ahead_of_faults)
{
	char *buf = arena_anon(GRANULE_BYTES);

	ASSERT_NE(NULL, buf);
	pages_fill(buf, GRANULE_BYTES, 1);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_SET_ACCESSED_BY, self->id, 0));
	ASSERT_EQ(0, cmd_advise(self->fd, buf, GRANULE_BYTES,
				HMMRT_ADVICE_UNSET_ACCESSED_BY, self->id, 0));
	ASSERT_EQ(0, madvise(buf, GRANULE_BYTES, MADV_DONTNEED));
	ASSERT_DONE(agent_fill(self->agent, buf, GRANULE_BYTES, PAGE_BYTES, 3));
	ASSERT_AT(self->id, buf, GRANULE_BYTES);
}

/* The worker still has blocks queued when the device is unbound. */
TEST_F(accessed_by, unbind_while_worker_has_queued_blocks)
{
	char *buf = arena_anon(4 * BLOCK_BYTES);
	unsigned int i;

	ASSERT_NE(NULL, buf);
	pages_fill(buf, 4 * BLOCK_BYTES, 1);
	ASSERT_EQ(0, cmd_advise(self->fd, buf, 4 * BLOCK_BYTES,
				HMMRT_ADVICE_SET_ACCESSED_BY, self->id, 0));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, mprotect(buf, 4 * BLOCK_BYTES, PROT_READ));
		ASSERT_EQ(0, mprotect(buf, 4 * BLOCK_BYTES,
				      PROT_READ | PROT_WRITE));
	}
	session_unbind(&self->session, 0);
	ASSERT_EQ(0, mprotect(buf, 4 * BLOCK_BYTES, PROT_READ));
	ASSERT_EQ(-1, pages_check(buf, 4 * BLOCK_BYTES, 1));
}

TEST_HARNESS_MAIN
