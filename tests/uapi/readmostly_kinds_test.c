// SPDX-License-Identifier: MIT
/*
 * Read-mostly memory of kinds that cannot be duplicated. Devices read it in
 * place, and all readers see what was written last. Loads and removes
 * hmmrt_faulty.
 */
#include "lib/faulty_fixture.h"
#include "lib/pin.h"

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
	int file;
	int pin;
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

VARIANT(kinds, private_file, .kind = PRIVATE_FILE, .stay = HMMRT_STAY_FILE);
VARIANT(kinds, shared_file, .kind = SHARED_FILE, .stay = HMMRT_STAY_FILE);
VARIANT(kinds, shared_anonymous, .kind = SHARED_ANON, .stay = HMMRT_STAY_FILE);
VARIANT(kinds, locked, .kind = LOCKED, .stay = HMMRT_STAY_PINNED);
VARIANT(kinds, pinned_for_io, .kind = PINNED, .stay = HMMRT_STAY_PINNED);
VARIANT(kinds, merged, .kind = MERGED, .stay = HMMRT_STAY_MERGED,
	.until_written = true);
VARIANT(kinds, zero_page, .kind = ZEROES, .stay = HMMRT_STAY_BUSY,
	.until_written = true);
VARIANT(kinds, hugetlb, .kind = HUGETLB, .stay = HMMRT_STAY_HUGETLB);

/* Fills all pages with WORD. */
static bool fill_file(int fd, size_t len)
{
	char page[PAGE_BYTES];

	memset(page, 0x5a, sizeof(page));
	for (size_t at = 0; at < len; at += sizeof(page))
		if (pwrite(fd, page, sizeof(page), at) != sizeof(page))
			return false;
	return true;
}

static char *map_file(FIXTURE_DATA(kinds) *self, int flags)
{
	self->file = memfd_create("readmostly_kinds_test", MFD_CLOEXEC);
	if (self->file < 0 || !fill_file(self->file, self->len))
		return NULL;
	return arena_map(self->len, RW, flags, self->file, 0);
}

static char *map_anon(FIXTURE_DATA(kinds) *self, int flags)
{
	char *buf = arena_map(self->len, RW, flags | MAP_ANONYMOUS, -1, 0);

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

static bool all_have(uint32_t flag)
{
	struct hmmrt_page pages[SMALL_LEN / PAGE_BYTES];

	if (cmd_pages(space, buf, SMALL_LEN, pages))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		if (!(pages[i].flags & flag))
			return false;
	return true;
}

/* All pages have the same contents. Waits until KSM has merged them. */
static bool merge(FIXTURE_DATA(kinds) *self)
{
	bool merged;

	if (madvise(buf, self->len, MADV_MERGEABLE))
		return false;
	merging_start();
	merged = WAIT_UNTIL(all_have(HMMRT_PAGE_MERGED), 60);
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

	DEVICES_SETUP();
	self->file = -1;
	self->pin = -1;
	self->len = SMALL_LEN;
	self->word = WORD;
	if (kind == HUGETLB && !set_huge_pages("2")) {
		session_end(&session);
		SKIP(_exit(SKIPPED), "no hugetlb pages");
	}
	buf = NOT_NULL(map_kind(self, kind));
	if (kind == LOCKED)
		ASSERT_EQ(0, mlock(buf, self->len));
	if (kind == MERGED)
		ASSERT_TRUE(merge(self));
	if (kind == PINNED)
		self->pin = pin_memory(buf, self->len);
	if (self->pin == -ENOSYS) {
		session_end(&session);
		SKIP(_exit(SKIPPED), "no io_uring");
	}
	ASSERT_TRUE(kind != PINNED || self->pin >= 0);
	ASSERT_EQ(0, advise(buf, self->len, SET_READ_MOSTLY));
	self->ordinary = ANON(PAGE_BYTES);
	*self->ordinary = 1;
	ASSERT_EQ(0, advise(self->ordinary, PAGE_BYTES, SET_READ_MOSTLY));
}

FIXTURE_TEARDOWN(kinds)
{
	if (self->pin >= 0)
		EXPECT_EQ(0, unpin_memory(self->pin));
	if (self->file >= 0)
		close(self->file);
	if (buf)
		EXPECT_EQ(0, munmap(buf, self->len));
	if (variant->kind == HUGETLB)
		set_huge_pages("0");
	DEVICES_TEARDOWN();
}

static uint64_t copied(void)
{
	return stats_of(A).out_copied_pages;
}

TEST_F(kinds, memory_is_read_in_place)
{
	const uint64_t pages = self->len / PAGE_BYTES;
	struct hmmrt_prefetch result;

	/* The ordinary page is duplicated. */
	ASSERT_VALUE(1, dev_read(A, self->ordinary));
	ASSERT_EQ(1, copied());
	ASSERT_VALUE(pages * self->word, dev_sum(A, buf, self->len));
	ASSERT_EQ(0, prefetch_result(A, buf, self->len, &result));
	EXPECT_EQ(pages, result.out_stayed[variant->stay]);
	EXPECT_EQ(0, result.out_pages_moved);
	EXPECT_EQ(1, copied());
	EXPECT_AT(HOST, buf, self->len);
	pages_fill(buf, self->len, 1);
	ASSERT_SUM(A, buf, self->len, 1);
	if (!variant->until_written)
		EXPECT_EQ(1, copied());
	EXPECT_FILLS(A, buf, self->len, 1000);
	ASSERT_SUM(A, buf, self->len, 1000);
	if (!variant->until_written)
		EXPECT_EQ(1, copied());
}

/*
 * Without read-mostly advice written pages of a private file mapping move when
 * a driver asks for it. With the advice they stay and are not duplicated.
 */
TEST(migration_does_not_duplicate_written_file_pages)
{
	int file = memfd_create("readmostly_kinds_test", MFD_CLOEXEC);
	struct hmmrt_stats stats;
	uint64_t value = 0;

	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(return, "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, faulty_start());
	ASSERT_EQ(0, ftruncate(file, LEN));
	buf = NOT_NULL(arena_map(LEN, RW, MAP_PRIVATE, file, 0));
	pages_fill(buf, LEN, 1);
	ASSERT_EQ(0, advise(buf, LEN, SET_READ_MOSTLY));
	ASSERT_EQ(0, to_device(A, buf, LEN));
	EXPECT_EQ(0, faulty_read(fds[A], buf, &value));
	EXPECT_EQ(1, value);
	EXPECT_AT(HOST, buf, LEN);
	ASSERT_EQ(0, cmd_stats(space, id_of(A), &stats));
	EXPECT_EQ(0, stats.out_copied_pages);
	ASSERT_EQ(0, advise(buf, LEN, UNSET_READ_MOSTLY));
	ASSERT_EQ(0, to_device(A, buf, LEN));
	EXPECT_LT(0, count_at(A, buf, LEN));
	EXPECT_EQ(-1, pages_check(buf, LEN, 1));
	ASSERT_EQ(0, munmap(buf, LEN));
	close(file);
	EXPECT_EQ(0, faulty_end());
}

TEST_HARNESS_MAIN
