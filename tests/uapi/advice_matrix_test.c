// SPDX-License-Identifier: MIT
/*
 * Each kind of advice and pairs of kinds, with each access and each first
 * location of a page. After the access the page must be where the model says,
 * mapped by the processors that the model names, and must have the data written
 * last. On a debug kernel we try every third access, and a different third with
 * peers.
 */
#include "lib/amount.h"
#include "lib/harness.h"
#include "lib/session.h"
#include "lib/world.h"

#define GRANULES_PAGES 32
/* In the middle of the second 64 KiB granule. */
#define TOUCHED_PAGE 25

#define ANYWHERE		.preferred = NOWHERE
#define PREFERRED(location)	.preferred = ON_##location
#define READ_MOSTLY		.read_mostly = true
#define NO_MIGRATE		.no_migrate = true
#define BY_A			.accessed_by = BY(A)
#define BY_B			.accessed_by = BY(B)
#define BY_CPU			.accessed_by = BY(CPU)
#define BY_AB			.accessed_by = ALL_DEVICES
#define IN_KIB(number)		.granularity = (number) << 10

static const struct advice combinations[] = {
	{ "no advice", ANYWHERE },
	{ "READ_MOSTLY", ANYWHERE, READ_MOSTLY },
	{ "PREFERRED host", PREFERRED(HOST) },
	{ "PREFERRED A", PREFERRED(A) },
	{ "PREFERRED B", PREFERRED(B) },
	{ "ACCESSED_BY A", ANYWHERE, BY_A },
	{ "ACCESSED_BY B", ANYWHERE, BY_B },
	{ "ACCESSED_BY A, B", ANYWHERE, BY_AB },
	{ "ACCESSED_BY CPU", ANYWHERE, BY_CPU },
	{ "NO_MIGRATE", ANYWHERE, NO_MIGRATE },
	{ "GRANULARITY 4K", ANYWHERE, IN_KIB(4) },
	{ "GRANULARITY 64K", ANYWHERE, IN_KIB(64) },
	{ "GRANULARITY 2M", ANYWHERE, IN_KIB(2048) },
	{ "READ_MOSTLY, PREFERRED host", PREFERRED(HOST), READ_MOSTLY },
	{ "READ_MOSTLY, PREFERRED A", PREFERRED(A), READ_MOSTLY },
	{ "READ_MOSTLY, PREFERRED B", PREFERRED(B), READ_MOSTLY },
	{ "READ_MOSTLY, ACCESSED_BY A", ANYWHERE, READ_MOSTLY, BY_A },
	{ "READ_MOSTLY, ACCESSED_BY A, B", ANYWHERE, READ_MOSTLY, BY_AB },
	{ "PREFERRED host, ACCESSED_BY A", PREFERRED(HOST), BY_A },
	{ "PREFERRED host, ACCESSED_BY A, B", PREFERRED(HOST), BY_AB },
	{ "PREFERRED A, ACCESSED_BY A", PREFERRED(A), BY_A },
	{ "PREFERRED A, ACCESSED_BY B", PREFERRED(A), BY_B },
	{ "PREFERRED B, ACCESSED_BY A", PREFERRED(B), BY_A },
	{ "NO_MIGRATE, READ_MOSTLY", ANYWHERE, NO_MIGRATE, READ_MOSTLY },
	{ "NO_MIGRATE, PREFERRED host", PREFERRED(HOST), NO_MIGRATE },
	{ "NO_MIGRATE, PREFERRED A", PREFERRED(A), NO_MIGRATE },
	{ "NO_MIGRATE, PREFERRED B", PREFERRED(B), NO_MIGRATE },
	{ "NO_MIGRATE, ACCESSED_BY A", ANYWHERE, NO_MIGRATE, BY_A },
	{ "NO_MIGRATE, ACCESSED_BY A, B", ANYWHERE, NO_MIGRATE, BY_AB },
	{ "NO_MIGRATE, GRANULARITY 64K", ANYWHERE, NO_MIGRATE, IN_KIB(64) },
	{ "PREFERRED A, GRANULARITY 64K", PREFERRED(A), IN_KIB(64) },
};

/* One call for each kind. ACCESSED_BY is last, as it acts at once. */
static void advise_as(struct world *world, char *addr, size_t len,
		      const struct advice *advice)
{
	if (advice->read_mostly)
		world_advise(world, addr, len, HMMRT_ADVICE_SET_READ_MOSTLY, 0,
			     0);
	if (advice->no_migrate)
		world_advise(world, addr, len, HMMRT_ADVICE_SET_NO_MIGRATE, 0,
			     0);
	if (advice->preferred != NOWHERE)
		world_advise(world, addr, len,
			     HMMRT_ADVICE_SET_PREFERRED_LOCATION,
			     world_location_id(world, advice->preferred), 0);
	if (advice->granularity)
		world_advise(world, addr, len, HMMRT_ADVICE_SET_GRANULARITY, 0,
			     advice->granularity);
	for (unsigned int accessor = A; accessor <= CPU; accessor++)
		if (advice->accessed_by & BY(accessor))
			world_advise(world, addr, len,
				     HMMRT_ADVICE_SET_ACCESSED_BY,
				     accessor == CPU ?
					     HMMRT_LOCATION_HOST :
					     world_location_id(world, accessor),
				     0);
}

/* Maps memory with this advice and puts it at its first location. */
static char *prepare(struct world *world, struct page *page, size_t len,
		     const struct advice *advice, enum location first)
{
	size_t offset = len > PAGE_BYTES ? TOUCHED_PAGE * PAGE_BYTES : 0;
	char *buf = arena_anon(len);
	int rc = 0;

	*page = (struct page){
		.addr = buf + offset, .advice = *advice, .at = first,
	};
	if (!buf) {
		world_fail(world, "no memory");
		return NULL;
	}
	if (first != NOWHERE) {
		pages_fill(buf, len, 1);
		page->value = 1 + offset / PAGE_BYTES;
	}
	if (first < ON_HOST)
		rc = cmd_prefetch(world->fd, buf, len,
				  world_location_id(world, first), NULL);
	if (rc)
		world_fail(world, "first prefetch: %s", strerror(-rc));
	advise_as(world, buf, len, advice);
	world_check_unmoved(world, page);
	return buf;
}

/* Returns how many pages a fault moves, including the faulting page. */
static size_t moved_together(const struct page *page, enum op op,
			     enum accessor accessor, enum location first)
{
	if (page->at == first)
		return 0;
	/*
	 * CPU faults populate no neighbours, and a prefetch moves only its
	 * range.
	 */
	if (op == PREFETCH || (accessor == CPU && first == NOWHERE))
		return 1;
	return page->advice.granularity < GRANULES_PAGES * PAGE_BYTES ?
		       page->advice.granularity / PAGE_BYTES :
		       GRANULES_PAGES;
}

static void check_neighbours(struct world *world, const struct page *page,
			     const char *buf, size_t moved, enum location first)
{
	const size_t len = GRANULES_PAGES * PAGE_BYTES;
	long there = pages_at(world->fd, buf, len,
			      world_location_id(world, page->at));
	long expected = moved ? (long)moved : GRANULES_PAGES;

	if (there != expected)
		world_fail(world,
			   "expected %ld pages at %s, first at %s, found %ld",
			   expected, world_location_names[page->at],
			   world_location_names[first], there);
}

static void try_one(struct world *world, const struct advice *advice,
		    enum location first, enum op op, enum accessor accessor)
{
	size_t len = advice->granularity ? GRANULES_PAGES * PAGE_BYTES :
					   PAGE_BYTES;
	struct page page;
	char *buf;

	snprintf(world->step, sizeof(world->step), "%s, %s, at %s, then %s%s%s",
		 advice->name, world->peers[A] ? "peers" : "no peers",
		 world_location_names[first],
		 op == PREFETCH ? "" : world_accessor_names[accessor],
		 op == PREFETCH ? "" : " ", world_op_names[op]);
	if (op == PREFETCH)
		snprintf(world->step + strlen(world->step),
			 sizeof(world->step) - strlen(world->step), " %s",
			 world_location_names[accessor]);
	buf = prepare(world, &page, len, advice, first);
	if (!buf)
		return;
	world_access(world, &page, op, accessor);
	if (advice->granularity)
		check_neighbours(world, &page, buf,
				 moved_together(&page, op, accessor, first),
				 first);
	snprintf(world->step + strlen(world->step),
		 sizeof(world->step) - strlen(world->step), ", then all read");
	for (unsigned int reader = A; reader <= CPU; reader++)
		world_touch(world, &page, reader, false);
	munmap(buf, len);
}

/*
 * @number: index of the advice. On a debug kernel, it also selects the
 * accesses.
 */
static void try_accesses(struct world *world, size_t number,
			 enum location first)
{
	const size_t step = amount(1, 3);
	size_t turn = number + first + world->peers[A];

	for (enum op op = READ; op <= PREFETCH; op++)
		for (enum accessor accessor = A; accessor <= CPU; accessor++)
			if (turn++ % step == 0)
				try_one(world, &combinations[number], first, op,
					accessor);
}

static void try_combinations(struct world *world)
{
	for (size_t i = 0; i < ARRAY_SIZE(combinations); i++)
		for (enum location first = ON_A; first <= NOWHERE; first++)
			try_accesses(world, i, first);
}

FIXTURE(matrix)
{
	struct world world;
};

FIXTURE_SETUP(matrix)
{
	ASSERT_EQ(0, world_start(&self->world));
	/*
	 * A page takes at most three turns: one for the access, two for reads.
	 */
	ASSERT_EQ(0, world_permit_turns(&self->world, 8));
}

FIXTURE_TEARDOWN(matrix)
{
	EXPECT_EQ(0, session_end(&self->world.session));
}

TEST_F_TIMEOUT(matrix, each_combination_matches_the_model, 300)
{
	try_combinations(&self->world);
	ASSERT_EQ(0, self->world.failures);
}

TEST_F_TIMEOUT(matrix, each_combination_with_peers_matches_the_model,
	       300)
{
	ASSERT_EQ(0, world_set_peer(&self->world, A, true));
	ASSERT_EQ(0, world_set_peer(&self->world, B, true));
	try_combinations(&self->world);
	ASSERT_EQ(0, self->world.failures);
}

TEST_HARNESS_MAIN
