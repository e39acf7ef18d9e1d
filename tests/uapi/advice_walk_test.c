// SPDX-License-Identifier: MIT
/*
 * A random sequence of advice, accesses, prefetches, peer changes, fork,
 * munmap, mremap and discards. After each step, all pages must match the model.
 *
 * HMMRT_TEST_SEED sets the random seed, which is printed.
 */
#include "lib/amount.h"
#include "lib/harness.h"
#include "lib/session.h"
#include "lib/world.h"

#define PAGES 6
#define STEPS amount(600, 200)

#define NO_PREFERRED .preferred = NOWHERE

struct walk {
	struct world world;
	struct page pages[PAGES];
	unsigned int seed;
};

/* Models a page that was just discarded. */
static void forget(struct page *page)
{
	page->at = NOWHERE;
	page->value = 0;
	page->read_only = false;
	page->unheard = 0;
}

static void check_gone(struct world *world, struct page *page)
{
	const struct expected expected = {
		.not_mapped = ALL_DEVICES & ~world_mapped_ahead(world, page),
		.no_duplicates = true,
	};

	world_check(world, page, &expected);
}

static void discard(struct world *world, struct page *page)
{
	if (madvise(page->addr, PAGE_BYTES, MADV_DONTNEED))
		world_fail(world, "madvise: %s", strerror(errno));
	forget(page);
	check_gone(world, page);
}

static void unmap_and_map(struct world *world, struct page *page)
{
	if (munmap(page->addr, PAGE_BYTES) ||
	    !map_anon_at(page->addr, PAGE_BYTES))
		world_fail(world, "munmap, mmap: %s", strerror(errno));
	forget(page);
	page->advice = (struct advice){ NO_PREFERRED };
	check_gone(world, page);
}

/* Data and location move with the page; advice does not. */
static void remap(struct world *world, struct page *page)
{
	char *to = page->other_addr;

	if (mremap(page->addr, PAGE_BYTES, PAGE_BYTES,
		   MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		world_fail(world, "mremap: %s", strerror(errno));
	page->other_addr = page->addr;
	page->addr = to;
	page->advice = (struct advice){ NO_PREFERRED };
	page->unheard = 0;
	check_gone(world, page);
}

/* The child sees the page's value; only the child sees its own write. */
static bool child_is_right(struct world *world, struct page *page)
{
	volatile uint64_t *word = (volatile uint64_t *)page->addr;
	bool right = *word == page->value;

	*word = ++world->last_value;
	return right && *word == world->last_value;
}

static void fork_once(struct walk *walk, struct page *touched)
{
	struct world *world = &walk->world;
	int status = IN_CHILD(child_is_right(world, touched) ? 0 : 1);

	if (status)
		world_fail(world, "child: status %#x", status);
	for (unsigned int i = 0; i < PAGES; i++)
		walk->pages[i].read_only = walk->pages[i].at != NOWHERE;
	/*
	 * After fork(), both processes map the page: the child's access
	 * migrates it back to system memory for both.
	 */
	if (touched->at < ON_HOST) {
		touched->at = ON_HOST;
		touched->unheard = 0;
	}
	world_check_unmoved(world, touched);
}

static void switch_peer(struct world *world, unsigned int dev, bool enabled)
{
	int rc = world_set_peer(world, dev, enabled);

	if (rc)
		world_fail(world, "HMMRT_IOC_PEER: %s", strerror(-rc));
}

/* Gives random advice to both the model and the module. */
static void advise_any(struct world *world, struct page *page,
		       unsigned int *seed)
{
	struct advice *advice = &page->advice;
	uint32_t kind = 1 + rand_r(seed) % HMMRT_ADVICE_UNSET_GRANULARITY;
	enum location location = rand_r(seed) % (ON_HOST + 1);
	enum accessor accessor = (enum accessor)location;
	uint32_t location_id = 0;
	uint64_t value = 0;

	if (kind == HMMRT_ADVICE_SET_PREFERRED_LOCATION ||
	    kind == HMMRT_ADVICE_SET_ACCESSED_BY ||
	    kind == HMMRT_ADVICE_UNSET_ACCESSED_BY)
		location_id = world_location_id(world, location);
	if (kind == HMMRT_ADVICE_SET_GRANULARITY)
		value = PAGE_BYTES << rand_r(seed) % 10;
	if (kind == HMMRT_ADVICE_SET_READ_MOSTLY ||
	    kind == HMMRT_ADVICE_UNSET_READ_MOSTLY)
		advice->read_mostly = kind == HMMRT_ADVICE_SET_READ_MOSTLY;
	if (kind == HMMRT_ADVICE_SET_NO_MIGRATE ||
	    kind == HMMRT_ADVICE_UNSET_NO_MIGRATE)
		advice->no_migrate = kind == HMMRT_ADVICE_SET_NO_MIGRATE;
	if (kind == HMMRT_ADVICE_SET_PREFERRED_LOCATION)
		advice->preferred = location;
	if (kind == HMMRT_ADVICE_UNSET_PREFERRED_LOCATION)
		advice->preferred = NOWHERE;
	if (kind == HMMRT_ADVICE_SET_ACCESSED_BY) {
		advice->accessed_by |= BY(accessor);
		page->unheard &= ~BY(accessor);
	}
	if (kind == HMMRT_ADVICE_UNSET_ACCESSED_BY)
		advice->accessed_by &= ~BY(accessor);
	world_advise(world, page->addr, PAGE_BYTES, kind, location_id, value);
	world_check_unmoved(world, page);
}

static void access_any(struct world *world, struct page *page,
		       unsigned int *seed)
{
	world_access(world, page, rand_r(seed) % (PREFETCH + 1),
		     rand_r(seed) % (CPU + 1));
}

static const char *const step_names[] = {
	"DONTNEED", "munmap", "mremap", "fork", "peer", "advice",
};

static void step_once(struct walk *walk, struct page *page, unsigned int kind)
{
	struct world *world = &walk->world;
	unsigned int *seed = &walk->seed;

	switch (kind) {
	case 0:
		discard(world, page);
		break;
	case 1:
		unmap_and_map(world, page);
		break;
	case 2:
		remap(world, page);
		break;
	case 3:
		fork_once(walk, page);
		break;
	case 4:
		switch_peer(world, rand_r(seed) % DEVICES, rand_r(seed) % 2);
		break;
	case 5:
	case 6:
	case 7:
		advise_any(world, page, seed);
		break;
	default:
		access_any(world, page, seed);
	}
}

/* Describes the state before the step. The seed determines the access. */
static void name_step(struct walk *walk, unsigned int number,
		      const struct page *page, unsigned int kind)
{
	const struct advice *advice = &page->advice;
	char mapped[16], written[16], accessed[16];

	snprintf(walk->world.step, sizeof(walk->world.step),
		 "step %u, page %d: %s, at %s, mapped %s, written %s;"
		 "%s%s preferred %s, accessed by %s%s",
		 number, (int)(page - walk->pages),
		 kind < ARRAY_SIZE(step_names) ? step_names[kind] :
		 kind < 8		       ? "advice" :
						 "access",
		 world_location_names[page->at],
		 world_mask_name(page->view.mapped, mapped),
		 world_mask_name(page->view.written, written),
		 advice->read_mostly ? " READ_MOSTLY" : "",
		 advice->no_migrate ? " NO_MIGRATE" : "",
		 world_location_names[advice->preferred],
		 world_mask_name(advice->accessed_by, accessed),
		 page->read_only ? "; after fork" : "");
}

static bool pages_map(struct walk *walk)
{
	for (unsigned int i = 0; i < PAGES; i++) {
		struct page *page = &walk->pages[i];

		page->addr = arena_anon(PAGE_BYTES);
		page->other_addr = arena_anon(PAGE_BYTES);
		page->advice = (struct advice){ NO_PREFERRED };
		page->at = NOWHERE;
		if (!page->addr || !page->other_addr ||
		    munmap(page->other_addr, PAGE_BYTES))
			return false;
	}
	return true;
}

FIXTURE(walk)
{
	struct walk walk;
};

FIXTURE_SETUP(walk)
{
	memset(&self->walk, 0, sizeof(self->walk));
	ASSERT_EQ(0, world_start(&self->walk.world));
	self->walk.seed = test_seed();
	ASSERT_TRUE(pages_map(&self->walk));
}

FIXTURE_TEARDOWN(walk)
{
	EXPECT_EQ(0, session_end(&self->walk.world.session));
}

TEST_F_TIMEOUT(walk, random_steps_match_the_model, 300)
{
	struct walk *walk = &self->walk;
	struct world *world = &walk->world;
	unsigned int number;

	for (number = 0; number < STEPS && !world->failures; number++) {
		struct page *page = &walk->pages[rand_r(&walk->seed) % PAGES];
		unsigned int kind = rand_r(&walk->seed) % 20;

		name_step(walk, number, page, kind);
		step_once(walk, page, kind);
		for (unsigned int i = 0; i < PAGES; i++)
			world_check_unmoved(world, &walk->pages[i]);
	}
	for (unsigned int i = 0; i < PAGES; i++)
		world_check_value(world, &walk->pages[i],
				  *(volatile uint64_t *)walk->pages[i].addr);
	ASSERT_EQ(0, world->failures);
}

TEST_HARNESS_MAIN
