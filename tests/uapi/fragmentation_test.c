// SPDX-License-Identifier: MIT
/*
 * Allocates and frees device memory in pieces of all sizes for a long time.
 * Checks how many chunks stay whole, and that all are whole in the end.
 *
 * HMMRT_TEST_SEED sets the random seed, which is printed. HMMRT_MODEL_OPS sets
 * the number of operations; without it, the test runs for SECONDS.
 */
#include "lib/faulty_fixture.h"

#define SECONDS		30
#define LEAST_OPS	2000
#define PIECES		96
#define PIECE_PAGES	(5 * BLOCK_PAGES)
#define MOST_PAGES	(4 * BLOCK_PAGES)
/* Expected free chunks with half of the device in use; see docs/limits.md. */
#define LEAST_FREE(chunks)	((chunks) / 16)
#define AVERAGE_FREE(chunks)	((chunks) / 4)

struct piece {
	char *base;
	char *addr;		/* NULL: not mapped */
	size_t pages;
};

struct churn {
	struct piece pieces[PIECES];
	struct hmmrt_device_info info;
	unsigned int seed;
	size_t used;		/* pages */
	size_t total;
	unsigned long ops;
	/* Sampled while about half of the device is in use. */
	unsigned long samples;
	unsigned long free_sum;
	unsigned int free_least;
};

/* Sizes from one page to 8 MiB; each power of two has the same probability. */
static size_t any_pages(struct churn *churn)
{
	size_t most = (size_t)1 << rand_r(&churn->seed) % 12;

	return most + (size_t)rand_r(&churn->seed) % most;
}

static bool chunks_add_up(const struct hmmrt_device_info *info)
{
	return (uint64_t)(info->out_free_chunks + info->out_partial_chunks +
			  info->out_full_chunks) *
		       info->out_chunk_bytes ==
	       info->out_memory_bytes;
}

static int read_info(struct churn *churn)
{
	return cmd_device_info(space, id_of(A), &churn->info);
}

static int give_back(struct churn *churn, struct piece *piece)
{
	if (munmap(piece->addr, piece->pages * PAGE_BYTES))
		return -errno;
	churn->used -= piece->pages;
	piece->addr = NULL;
	return 0;
}

/* At a random page, like the heap of a process. */
static int take(struct churn *churn, struct piece *piece)
{
	size_t pages = any_pages(churn);
	struct hmmrt_prefetch result;
	char *addr;
	int rc;

	if (pages > MOST_PAGES)
		pages = MOST_PAGES;
	if (churn->used + pages > churn->total / 2)
		return 0;
	addr = piece->base + (size_t)rand_r(&churn->seed) %
				     (PIECE_PAGES - pages) * PAGE_BYTES;
	if (!map_anon_at(addr, pages * PAGE_BYTES))
		return -errno;
	piece->addr = addr;
	piece->pages = pages;
	churn->used += pages;
	rc = prefetch_result(A, addr, pages * PAGE_BYTES, &result);
	if (!rc && result.out_pages_moved != pages)
		rc = -ENOSPC;
	return rc;
}

static int churn_once(struct churn *churn)
{
	struct piece *piece = &churn->pieces[rand_r(&churn->seed) % PIECES];
	int rc;

	churn->ops++;
	rc = piece->addr ? give_back(churn, piece) : take(churn, piece);
	if (rc || churn->used < churn->total * 45 / 100)
		return rc;
	rc = read_info(churn);
	if (rc || !chunks_add_up(&churn->info))
		return rc ? rc : -EILSEQ;
	if (!churn->samples++ ||
	    churn->info.out_free_chunks < churn->free_least)
		churn->free_least = churn->info.out_free_chunks;
	churn->free_sum += churn->info.out_free_chunks;
	return 0;
}

static bool goes_on(const struct churn *churn, double start)
{
	const char *text = getenv("HMMRT_MODEL_OPS");

	if (text)
		return churn->ops < strtoul(text, NULL, 0);
	return churn->ops < LEAST_OPS || now_s() - start < SECONDS;
}

FIXTURE(churn) {
	struct churn churn;
};

FIXTURE_SETUP(churn)
{
	struct churn *churn = &self->churn;

	memset(churn, 0, sizeof(*churn));
	FAULTY_SETUP();
	ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	churn->seed = test_seed();
	ASSERT_EQ(0, read_info(churn));
	churn->total = churn->info.out_memory_bytes / PAGE_BYTES;
	for (unsigned int i = 0; i < PIECES; i++) {
		churn->pieces[i].base = arena_anon(PIECE_PAGES * PAGE_BYTES);
		ASSERT_NE(NULL, churn->pieces[i].base);
		ASSERT_EQ(0, munmap(churn->pieces[i].base,
				    PIECE_PAGES * PAGE_BYTES));
	}
}

FIXTURE_TEARDOWN(churn)
{
	FAULTY_TEARDOWN();
}

TEST_F_TIMEOUT(churn, free_partial_and_full_chunks_are_counted, 600)
{
	struct churn *churn = &self->churn;
	char *buf = churn->pieces[0].base;
	uint64_t split, merged;
	unsigned int chunks =
		(unsigned int)(churn->info.out_memory_bytes / BLOCK_BYTES);

	split = churn->info.out_split_chunks;
	merged = churn->info.out_merged_chunks;
	ASSERT_EQ(BLOCK_BYTES, churn->info.out_chunk_bytes);
	ASSERT_EQ(chunks, churn->info.out_free_chunks);

	ASSERT_TRUE(map_anon_at(buf, 2 * BLOCK_BYTES));
	ASSERT_EQ(0, prefetch(A, buf, BLOCK_BYTES));
	ASSERT_EQ(0, read_info(churn));
	EXPECT_EQ(1, churn->info.out_full_chunks);
	EXPECT_EQ(0, churn->info.out_partial_chunks);
	EXPECT_EQ(chunks - 1, churn->info.out_free_chunks);
	EXPECT_EQ(split, churn->info.out_split_chunks);

	ASSERT_EQ(0, prefetch(A, buf + BLOCK_BYTES, PAGE_BYTES));
	ASSERT_EQ(0, read_info(churn));
	EXPECT_EQ(1, churn->info.out_full_chunks);
	EXPECT_EQ(1, churn->info.out_partial_chunks);
	EXPECT_EQ(split + 1, churn->info.out_split_chunks);
	EXPECT_EQ(merged, churn->info.out_merged_chunks);

	ASSERT_EQ(0, munmap(buf, 2 * BLOCK_BYTES));
	ASSERT_EQ(0, read_info(churn));
	EXPECT_EQ(chunks, churn->info.out_free_chunks);
	EXPECT_EQ(merged + 2, churn->info.out_merged_chunks);
	EXPECT_TRUE(chunks_add_up(&churn->info));
}

TEST_F_TIMEOUT(churn, random_allocation_leaves_whole_chunks, 100000)
{
	struct churn *churn = &self->churn;
	const double start = now_s();
	unsigned int chunks;
	int rc = 0;

	chunks = (unsigned int)(churn->info.out_memory_bytes / BLOCK_BYTES);
	while (!rc && goes_on(churn, start))
		rc = churn_once(churn);
	ASSERT_EQ(0, rc);
	ASSERT_LT(0, churn->samples);
	TH_LOG("%lu steps; of %u chunks free: least %u, average %.1f; split %llu, merged %llu",
	       churn->ops, chunks, churn->free_least,
	       (double)churn->free_sum / (double)churn->samples,
	       (unsigned long long)churn->info.out_split_chunks,
	       (unsigned long long)churn->info.out_merged_chunks);
	for (unsigned int i = 0; i < PIECES; i++)
		if (churn->pieces[i].addr)
			ASSERT_EQ(0, give_back(churn, &churn->pieces[i]));
	ASSERT_TRUE(faulty_is_unused());
	ASSERT_EQ(0, read_info(churn));
	EXPECT_EQ(chunks, churn->info.out_free_chunks);
	EXPECT_EQ(0, churn->info.out_partial_chunks);
	EXPECT_EQ(0, churn->info.out_full_chunks);
	EXPECT_LE(LEAST_FREE(chunks), churn->free_least);
	EXPECT_LE(AVERAGE_FREE(chunks) * churn->samples, churn->free_sum);
}

TEST_HARNESS_MAIN
