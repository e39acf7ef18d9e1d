// SPDX-License-Identifier: MIT
/*
 * Read-mostly memory of kinds that cannot be duplicated. Devices read it in
 * place, and all readers see what was written last. Loads and removes
 * hmmrt_faulty.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/faulty_env.h"
#include "lib/harness.h"
#include "lib/pin.h"
#include "lib/session.h"
#include "lib/setting.h"

#define SMALL_LEN	(16 * PAGE_BYTES)
#define WORD		0x5a5a5a5a5a5a5a5a

enum kind {
	PRIVATE_FILE,
	SHARED_FILE,
	SHARED_ANON,
	LOCKED,
	PINNED,
	MERGED,
	ZEROES,
	HUGETLB,
};

FIXTURE(kinds) {
	struct session session;
	struct agent *agent;
	int fd;
	uint32_t id;
	int file;
	int pin;
	char *buf;
	size_t len;
	uint64_t word;		/* initial contents of each word */
	uint64_t *ordinary;	/* a page that can be duplicated */
};

FIXTURE_VARIANT(kinds) {
	enum kind kind;
	enum hmmrt_stay stay;
	/* After a write the memory can be duplicated. */
	bool until_written;
};

FIXTURE_VARIANT_ADD(kinds, private_file) {
	.kind = PRIVATE_FILE, .stay = HMMRT_STAY_FILE,
};

FIXTURE_VARIANT_ADD(kinds, shared_file) {
	.kind = SHARED_FILE, .stay = HMMRT_STAY_FILE,
};

FIXTURE_VARIANT_ADD(kinds, shared_anonymous) {
	.kind = SHARED_ANON, .stay = HMMRT_STAY_FILE,
};

FIXTURE_VARIANT_ADD(kinds, locked) {
	.kind = LOCKED, .stay = HMMRT_STAY_PINNED,
};

FIXTURE_VARIANT_ADD(kinds, pinned_for_io) {
	.kind = PINNED, .stay = HMMRT_STAY_PINNED,
};

FIXTURE_VARIANT_ADD(kinds, merged) {
	.kind = MERGED, .stay = HMMRT_STAY_MERGED, .until_written = true,
};

FIXTURE_VARIANT_ADD(kinds, zero_page) {
	.kind = ZEROES, .stay = HMMRT_STAY_BUSY, .until_written = true,
};

FIXTURE_VARIANT_ADD(kinds, hugetlb) {
	.kind = HUGETLB, .stay = HMMRT_STAY_HUGETLB,
};

/* Fills all pages with WORD. */
static bool fill_file(int fd, size_t len)
{
	char page[PAGE_BYTES];
	size_t at;

	memset(page, 0x5a, sizeof(page));
	for (at = 0; at < len; at += sizeof(page))
		if (pwrite(fd, page, sizeof(page), at) != sizeof(page))
			return false;
	return true;
}

static char *map_file(FIXTURE_DATA(kinds) *self, int flags)
{
	self->file = memfd_create("readmostly_kinds_test", MFD_CLOEXEC);
	if (self->file < 0 || !fill_file(self->file, self->len))
		return NULL;
	return arena_map(self->len, PROT_READ | PROT_WRITE, flags, self->file,
			 0);
}

static char *map_anon(FIXTURE_DATA(kinds) *self, int flags)
{
	char *buf = arena_map(self->len, PROT_READ | PROT_WRITE,
			      flags | MAP_ANONYMOUS, -1, 0);

	if (buf)
		memset(buf, 0x5a, self->len);
	return buf;
}

static char *map_zeroes(FIXTURE_DATA(kinds) *self)
{
	char *buf = arena_anon(self->len);

	self->word = 0;
	return buf && pages_check(buf, PAGE_BYTES, 0) == -1 ? buf : NULL;
}

static bool all_have(FIXTURE_DATA(kinds) *self, uint32_t flag)
{
	struct hmmrt_page pages[SMALL_LEN / PAGE_BYTES];
	size_t i;

	if (cmd_pages(self->fd, self->buf, SMALL_LEN, pages))
		return false;
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		if (!(pages[i].flags & flag))
			return false;
	return true;
}

/* All pages have the same contents. Waits until KSM has merged them. */
static bool merge(FIXTURE_DATA(kinds) *self)
{
	unsigned int i;
	bool merged;

	if (madvise(self->buf, self->len, MADV_MERGEABLE))
		return false;
	merging_start();
	for (i = 0; i < 600; i++) {
		merged = all_have(self, HMMRT_PAGE_MERGED);
		if (merged)
			break;
		usleep(100000);
	}
	merging_end();
	return merged;
}

static char *map_kind(FIXTURE_DATA(kinds) *self, enum kind kind)
{
	switch (kind) {
	case PRIVATE_FILE:
		return map_file(self, MAP_PRIVATE);
	case SHARED_FILE:
		return map_file(self, MAP_SHARED);
	case SHARED_ANON:
		return map_anon(self, MAP_SHARED);
	case ZEROES:
		return map_zeroes(self);
	case HUGETLB:
		self->len = BLOCK_BYTES;
		return map_anon(self, MAP_PRIVATE | MAP_HUGETLB);
	default:
		return map_anon(self, MAP_PRIVATE);
	}
}

FIXTURE_SETUP(kinds)
{
	const enum kind kind = variant->kind;

	ASSERT_EQ(0, session_start(&self->session, 1, 1));
	self->agent = session_agent(&self->session);
	self->fd = self->session.space;
	self->id = self->session.devices[0].id;
	self->file = -1;
	self->pin = -1;
	self->len = SMALL_LEN;
	self->word = WORD;
	if (kind == HUGETLB && !set_huge_pages("2")) {
		session_end(&self->session);
		SKIP(_exit(SKIPPED), "no hugetlb pages");
	}
	self->buf = map_kind(self, kind);
	ASSERT_NE(NULL, self->buf);
	if (kind == LOCKED)
		ASSERT_EQ(0, mlock(self->buf, self->len));
	if (kind == MERGED)
		ASSERT_TRUE(merge(self));
	if (kind == PINNED)
		self->pin = pin_memory(self->buf, self->len);
	if (self->pin == -ENOSYS) {
		session_end(&self->session);
		SKIP(_exit(SKIPPED), "no io_uring");
	}
	ASSERT_TRUE(kind != PINNED || self->pin >= 0);
	ASSERT_EQ(0, cmd_advise(self->fd, self->buf, self->len,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	self->ordinary = arena_anon(PAGE_BYTES);
	ASSERT_NE(NULL, self->ordinary);
	*self->ordinary = 1;
	ASSERT_EQ(0, cmd_advise(self->fd, self->ordinary, PAGE_BYTES,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
}

FIXTURE_TEARDOWN(kinds)
{
	if (self->pin >= 0)
		EXPECT_EQ(0, unpin_memory(self->pin));
	if (self->file >= 0)
		close(self->file);
	if (self->buf)
		EXPECT_EQ(0, munmap(self->buf, self->len));
	if (variant->kind == HUGETLB)
		set_huge_pages("0");
	EXPECT_EQ(0, session_end(&self->session));
}

static uint64_t copied(const struct session *session)
{
	return session_stats(session, 0).out_copied_pages;
}

TEST_F(kinds, memory_is_read_in_place)
{
	const uint64_t pages = self->len / PAGE_BYTES;
	struct hmmrt_prefetch result;

	/* The ordinary page is duplicated. */
	ASSERT_VALUE(1, agent_read(self->agent, self->ordinary));
	ASSERT_EQ(1, copied(&self->session));
	ASSERT_VALUE(pages * self->word,
		     agent_sum(self->agent, self->buf, self->len, PAGE_BYTES));
	ASSERT_EQ(0, cmd_prefetch(self->fd, self->buf, self->len, self->id,
				  &result));
	EXPECT_EQ(pages, result.out_stayed[variant->stay]);
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(1, copied(&self->session));
	EXPECT_EQ((long)pages, pages_at(self->fd, self->buf, self->len,
					HMMRT_LOCATION_HOST));
	pages_fill(self->buf, self->len, 1);
	ASSERT_VALUE(pages_sum(self->len, 1),
		     agent_sum(self->agent, self->buf, self->len, PAGE_BYTES));
	if (!variant->until_written)
		EXPECT_EQ(1, copied(&self->session));
	ASSERT_DONE(agent_fill(self->agent, self->buf, self->len, PAGE_BYTES,
			       1000));
	EXPECT_EQ(-1, pages_check(self->buf, self->len, 1000));
	ASSERT_VALUE(pages_sum(self->len, 1000),
		     agent_sum(self->agent, self->buf, self->len, PAGE_BYTES));
	if (!variant->until_written)
		EXPECT_EQ(1, copied(&self->session));
}

/*
 * Without read-mostly advice written pages of a private file mapping move when
 * a driver asks for it. With the advice they stay and are not duplicated.
 */
TEST(migration_does_not_duplicate_written_file_pages)
{
	int file = memfd_create("readmostly_kinds_test", MFD_CLOEXEC);
	struct hmmrt_stats stats;
	struct faulty_env env;
	uint64_t value = 0;
	char *buf;

	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(return, "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, faulty_env_start(&env));
	ASSERT_EQ(0, ftruncate(file, LEN));
	buf = arena_map(LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	ASSERT_NE(NULL, buf);
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, cmd_advise(env.manager, buf, LEN,
				HMMRT_ADVICE_SET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, faulty_range(env.fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, buf,
				  LEN));
	EXPECT_EQ(0, faulty_read(env.fd[0], buf, &value));
	EXPECT_EQ(1, value);
	EXPECT_EQ(PAGES, pages_at(env.manager, buf, LEN, HMMRT_LOCATION_HOST));
	ASSERT_EQ(0, cmd_stats(env.manager, env.id[0], &stats));
	EXPECT_EQ(0, stats.out_copied_pages);
	ASSERT_EQ(0, cmd_advise(env.manager, buf, LEN,
				HMMRT_ADVICE_UNSET_READ_MOSTLY, 0, 0));
	ASSERT_EQ(0, faulty_range(env.fd[0], HMMRT_FAULTY_IOC_TO_DEVICE, buf,
				  LEN));
	EXPECT_LT(0, pages_at(env.manager, buf, LEN, env.id[0]));
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	ASSERT_EQ(0, munmap(buf, LEN));
	close(file);
	EXPECT_EQ(0, faulty_env_end(&env));
}

TEST_HARNESS_MAIN
