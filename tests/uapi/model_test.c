// SPDX-License-Identifier: MIT
/*
 * Random operations of all kinds and sizes that move pages, on a handful of
 * blocks. After each step every page must be where the model of the
 * documentation puts it, and must have the data written last.
 *
 * HMMRT_TEST_SEED sets the random seed, which is printed. HMMRT_MODEL_OPS sets
 * the number of steps; without it, the test runs for SECONDS.
 *
 * Devices    Two variants: the simulated GPU, with an agent for each device,
 *            and hmmrt_faulty, with devices that evict all their memory on
 *            command.
 * Checked    The blocks of each step after it, and all blocks every CHECK_ALL
 *            steps. Locations must always match exactly. Device entries must
 *            match exactly where policy or prefetch moves pages; elsewhere a
 *            device may have fewer than the model says. The numbers of device
 *            faults must match.
 * One CPU    The test runs on one CPU: pages in another CPU's folio batches
 *            have extra references, so mm would leave them where they are.
 */
#include <sched.h>

#include "lib/fixture.h"
#include "lib/walk.h"

#define SECONDS		25
#define CHECK_ALL	64	/* steps */
#define CHILD_PAGES	4
/* Longer than policy remembers turns. */
#define TURNS_PAUSE_US	150000

static const uint32_t knob_ids[MODEL_KNOBS] = {
	HMMRT_KNOB_PREFETCH_ENABLE,	   HMMRT_KNOB_PREFETCH_THRESHOLD,
	HMMRT_KNOB_PREFETCH_MIN_FAULTS,	   HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS,
	HMMRT_KNOB_CPU_FAULT_MAX_PAGES,
};

/* --- random choices ------------------------------------------------------- */

static unsigned int below(struct walk *walk, unsigned int n)
{
	return steps_below(&walk->steps, n);
}

static unsigned int any_page(struct walk *walk)
{
	return steps_page(&walk->steps, MODEL_PAGES, 3 * MODEL_GRANULE);
}

/* Returns a length from @first on: a few pages, or up to two blocks. */
static unsigned int any_count(struct walk *walk, unsigned int first)
{
	static const unsigned int most[] = { 4, 40, 300, 2 * MODEL_BLOCK };
	unsigned int count = 1 + below(walk, most[below(walk, 4)]);

	return count < MODEL_PAGES - first ? count : MODEL_PAGES - first;
}

/* --- steps ---------------------------------------------------------------- */

static void check_value(struct walk *walk, unsigned int page, uint64_t found)
{
	uint64_t expected = walk->model.pages[page].value;

	if (found != expected)
		steps_fail(&walk->steps, "page %u: expected the value %llu, found %llu", page,
			   (unsigned long long)expected, (unsigned long long)found);
}

/* Returns 0 or a negative errno. */
static int device_access(struct walk *walk, unsigned int dev, void *addr,
			 bool write, uint64_t *value)
{
	struct outcome outcome;

	if (walk->evicts)
		return write ? faulty_write(fds[dev], addr, *value) :
			       faulty_read(fds[dev], addr, value);
	outcome = write ? dev_write(dev, addr, *value) : dev_read(dev, addr);
	if (!write)
		*value = outcome.value;
	return outcome.error ? outcome.error :
			       outcome.signal ? -EFAULT : 0;
}

/*
 * Tells whether a device write has to copy the page, which migrates a device
 * page back. How fork() and mprotect() leave a page is not documented. A
 * prefetch to the page's own location maps it without moving it, and the new
 * entry shows whether the page can be written in place.
 */
static bool is_read_only(struct walk *walk, unsigned int index)
{
	struct model_page *page = &walk->model.pages[index];
	enum model_location at = page->at;
	struct model_moves moves;
	struct hmmrt_page found;
	int rc;

	if (!page->read_only || at >= MODEL_ON_HOST ||
	    model_has_entry(page, at, true))
		return false;
	moves = model_prefetch(&walk->model, index, 1, at);
	rc = prefetch(at, walk_addr(walk, index), PAGE_BYTES);
	if (!rc)
		rc = cmd_pages(space, walk_addr(walk, index), PAGE_BYTES,
			       &found);
	if (rc || moves.moved)
		steps_fail(&walk->steps, "prefetch to where it is: %d", rc);
	walk_compare(walk, index, &found, EXACTLY);
	return !model_has_entry(page, at, true);
}

static void device_touches(struct walk *walk, unsigned int index,
			   unsigned int dev, bool write)
{
	struct model_page *page = &walk->model.pages[index];
	bool read_only = write && is_read_only(walk, index);
	uint64_t value;
	int rc;

	if (model_is_in_turns(&walk->model, index)) {
		usleep(TURNS_PAUSE_US);
		model_forget_turns(&walk->model, index);
	}
	model_device_touches(&walk->model, index, dev, write, read_only);
	if (write)
		page->value = ++walk->last_value;
	value = page->value;
	rc = device_access(walk, dev, walk_addr(walk, index), write, &value);
	if (rc)
		steps_fail(&walk->steps, "device access: %s", strerror(-rc));
	else
		check_value(walk, index, value);
}

/* A write may replace a page shared with a child, which removes entries. */
static void step_device(struct walk *walk)
{
	unsigned int page = any_page(walk), dev = below(walk, MODEL_DEVICES);
	bool write = below(walk, 2);

	steps_note(&walk->steps, "device %u %s page %u", dev, write ? "writes" : "reads",
		   page);
	device_touches(walk, page, dev, write);
	walk_check_pages(walk, page, 1, write ? FEWER : EXACTLY);
}

static void step_device_run(struct walk *walk)
{
	unsigned int page = any_page(walk), dev = below(walk, MODEL_DEVICES);
	unsigned int count = any_count(walk, page) % 64;
	bool write = below(walk, 2);

	steps_note(&walk->steps, "device %u %s pages %u + %u", dev,
		   write ? "writes" : "reads", page, count);
	for (unsigned int i = 0; i < count && !walk->steps.failures; i++) {
		device_touches(walk, page + i, dev, write);
		/* The entries that a write removed affect the next access. */
		if (write)
			walk_check_pages(walk, page + i, 1, FEWER);
	}
	walk_check_pages(walk, page, count ? count : 1, EXACTLY);
}

static void cpu_touches(struct walk *walk, unsigned int index, bool write)
{
	volatile uint64_t *word = (uint64_t *)walk_addr(walk, index);
	struct model_page *page = &walk->model.pages[index];

	model_cpu_touches(&walk->model, index, write);
	check_value(walk, index, *word);
	if (write) {
		page->value = ++walk->last_value;
		*word = page->value;
	}
}

static void step_cpu(struct walk *walk)
{
	unsigned int page = any_page(walk);
	unsigned int count = below(walk, 3) ? 1 : any_count(walk, page);
	bool write = below(walk, 2);

	steps_note(&walk->steps, "the CPU %s pages %u + %u", write ? "writes" : "reads",
		   page, count);
	for (unsigned int i = 0; i < count; i++)
		cpu_touches(walk, page + i, write);
	walk_check_pages(walk, page, count, FEWER);
}

static uint32_t id_of_location(unsigned int location)
{
	return location == MODEL_ON_HOST ? HOST : id_of(location);
}

static void walk_prefetch(struct walk *walk, unsigned int first,
			  unsigned int count, enum model_location to)
{
	struct hmmrt_prefetch result;
	struct model_moves moves;
	int rc;

	steps_note(&walk->steps, "prefetch of pages %u + %u to %u", first, count, to);
	moves = model_prefetch(&walk->model, first, count, to);
	rc = cmd_prefetch(space, walk_addr(walk, first), count * PAGE_BYTES,
			  id_of_location(to), &result);
	if (rc)
		steps_fail(&walk->steps, "HMMRT_IOC_PREFETCH: %s", strerror(-rc));
	else if (result.out_pages_moved != moves.moved ||
		 result.out_pages_there != moves.there ||
		 result.out_stayed[HMMRT_STAY_POLICY] != moves.stayed)
		steps_fail(&walk->steps, "expected %u moved, %u there; found %llu, %llu; busy %llu",
			   moves.moved, moves.there,
			   (unsigned long long)result.out_pages_moved,
			   (unsigned long long)result.out_pages_there,
			   (unsigned long long)result.out_stayed[HMMRT_STAY_BUSY]);
	walk_check_pages(walk, first, count, EXACTLY);
}

static void step_discard(struct walk *walk)
{
	unsigned int first = any_page(walk), count = any_count(walk, first);

	steps_note(&walk->steps, "MADV_DONTNEED of pages %u + %u", first, count);
	if (madvise(walk_addr(walk, first), count * PAGE_BYTES, MADV_DONTNEED))
		steps_fail(&walk->steps, "madvise: %s", strerror(errno));
	model_discard(&walk->model, first, count);
	walk_check_pages(walk, first, count, FEWER);
}

static void step_prefetch(struct walk *walk)
{
	unsigned int first = any_page(walk), count = any_count(walk, first);

	walk_prefetch(walk, first, count, below(walk, MODEL_ON_HOST + 1));
}

static void map_again(struct walk *walk, unsigned int first,
		      unsigned int count)
{
	if (!map_anon_at(walk_addr(walk, first), count * PAGE_BYTES))
		steps_fail(&walk->steps, "mmap: %s", strerror(errno));
}

/*
 * The modules free the state of an unmapped block at some later time. Without
 * this state, a page that mremap() moves there would migrate back alone. So
 * this uses the block again, and touches it from the CPU at a page that the
 * next CPU fault does not continue.
 */
static void remake_blocks(struct walk *walk, unsigned int first,
			  unsigned int count)
{
	unsigned int block = (first + MODEL_BLOCK - 1) / MODEL_BLOCK;

	for (; (block + 1) * MODEL_BLOCK <= first + count; block++) {
		walk_prefetch(walk, block * MODEL_BLOCK, 1, MODEL_ON_A);
		cpu_touches(walk, block * MODEL_BLOCK, false);
		walk_check_pages(walk, block * MODEL_BLOCK, 1, FEWER);
	}
}

static void unmap(struct walk *walk, unsigned int first, unsigned int count)
{
	steps_note(&walk->steps, "munmap and mmap of pages %u + %u", first, count);
	if (munmap(walk_addr(walk, first), count * PAGE_BYTES))
		steps_fail(&walk->steps, "munmap: %s", strerror(errno));
	map_again(walk, first, count);
	walk_find_mappings(walk);
	model_unmap(&walk->model, first, count);
	walk_check_pages(walk, first, count, FEWER);
	remake_blocks(walk, first, count);
}

static void step_unmap(struct walk *walk)
{
	unsigned int first = any_page(walk);

	/* Sometimes unmap everything; otherwise only small mappings remain. */
	if (!below(walk, 16))
		unmap(walk, 0, MODEL_PAGES);
	else
		unmap(walk, first, any_count(walk, first));
}

static void protect(struct walk *walk, unsigned int first, unsigned int count,
		    int prot)
{
	if (mprotect(walk_addr(walk, first), count * PAGE_BYTES, prot))
		steps_fail(&walk->steps, "mprotect: %s", strerror(errno));
	walk_find_mappings(walk);
	walk_check_pages(walk, first, count, FEWER);
}

/* Reads one of the pages while they are write-protected. */
static void step_protect(struct walk *walk)
{
	unsigned int first = any_page(walk), count = any_count(walk, first);
	unsigned int page = first + below(walk, count);
	unsigned int reader = below(walk, MODEL_DEVICES + 1);

	steps_note(&walk->steps, "mprotect of pages %u + %u, %u reads %u", first, count,
		   reader, page);
	protect(walk, first, count, PROT_READ);
	if (reader < MODEL_DEVICES)
		device_touches(walk, page, reader, false);
	else
		cpu_touches(walk, page, false);
	walk_check_pages(walk, page, 1, reader < MODEL_DEVICES ? EXACTLY : FEWER);
	model_protect(&walk->model, first, count);
	protect(walk, first, count, RW);
}

/* Moves pages of one mapping to another address. */
static void step_move(struct walk *walk)
{
	unsigned int from = any_page(walk), to = below(walk, MODEL_PAGES);
	unsigned int count = any_count(walk, from);
	struct model_window same = model_alike(&walk->model, from);
	size_t len;

	if (count > same.first + same.count - from)
		count = same.first + same.count - from;
	if (count > MODEL_PAGES - to)
		count = MODEL_PAGES - to;
	len = count * PAGE_BYTES;
	steps_note(&walk->steps, "mremap of pages %u + %u to %u", from, count, to);
	if (from < to + count && to < from + count)
		return;
	if (mremap(walk_addr(walk, from), len, len,
		   MREMAP_MAYMOVE | MREMAP_FIXED,
		   walk_addr(walk, to)) != walk_addr(walk, to))
		steps_fail(&walk->steps, "mremap: %s", strerror(errno));
	map_again(walk, from, count);
	walk_find_mappings(walk);
	model_move(&walk->model, from, to, count);
	walk_check_pages(walk, from, count, FEWER);
	walk_check_pages(walk, to, count, FEWER);
	remake_blocks(walk, from, count);
}

static int child_status(const struct walk *walk, const unsigned int *pages,
			bool write)
{
	for (unsigned int i = 0; i < CHILD_PAGES; i++) {
		volatile uint64_t *word = (uint64_t *)walk_addr(walk, pages[i]);

		if (*word != walk->model.pages[pages[i]].value)
			return 1;
		/*
		 * The write is private to the child; a page may be chosen
		 * twice.
		 */
		if (write)
			*word = *word;
	}
	return 0;
}

/* A page shared with the child migrates back for both, without neighbours. */
static void step_fork(struct walk *walk)
{
	unsigned int pages[CHILD_PAGES];
	bool write = below(walk, 2);
	int status = -1;

	for (unsigned int i = 0; i < CHILD_PAGES; i++)
		pages[i] = any_page(walk);
	steps_note(&walk->steps, "fork, the child %s pages %u %u %u %u",
		   write ? "writes" : "reads", pages[0], pages[1], pages[2],
		   pages[3]);
	status = IN_CHILD(child_status(walk, pages, write));
	if (status)
		steps_fail(&walk->steps, "child: status %#x", status);
	for (unsigned int i = 0; i < CHILD_PAGES; i++)
		model_migrated_back(&walk->model, pages[i]);
	model_protect(&walk->model, 0, MODEL_PAGES);
	walk_check_pages(walk, 0, MODEL_PAGES, FEWER);
}

/* Advice by itself moves nothing. */
static void step_advise(struct walk *walk)
{
	unsigned int first = any_page(walk), count = any_count(walk, first);
	unsigned int kind = below(walk, 6);
	unsigned int location = below(walk, MODEL_ON_HOST + 1);
	unsigned int pages = 1u << below(walk, 10);
	static const uint32_t kinds[] = {
		SET_PREFERRED_LOCATION, UNSET_PREFERRED_LOCATION,
		SET_NO_MIGRATE,		UNSET_NO_MIGRATE,
		SET_GRANULARITY,	UNSET_GRANULARITY,
	};
	int rc;

	steps_note(&walk->steps, "advice %u of pages %u + %u: %u, %u", kinds[kind], first,
		   count, location, pages);
	for (unsigned int i = first; i < first + count; i++) {
		struct model_advice *advice = &walk->model.pages[i].advice;

		if (kind < 2)
			advice->preferred = kind ? MODEL_NOWHERE : location;
		else if (kind < 4)
			advice->no_migrate = kind == 2;
		else
			advice->granularity = kind == 4 ? pages : 0;
	}
	rc = cmd_advise(space, walk_addr(walk, first), count * PAGE_BYTES,
			kinds[kind], kind ? 0 : id_of_location(location),
			kind == 4 ? pages * PAGE_BYTES : 0);
	if (rc)
		steps_fail(&walk->steps, "HMMRT_IOC_ADVISE: %s", strerror(-rc));
	walk_check_pages(walk, first, count, FEWER);
}

static unsigned int any_value(struct walk *walk, enum model_knob knob)
{
	static const unsigned int thresholds[] = { 1, 25, 50, 51, 75, 99, 100 };

	switch (knob) {
	case MODEL_THRESHOLD:
		return thresholds[below(walk, 7)];
	case MODEL_MOST:
		return 1 + below(walk, below(walk, 2) ? 20 : MODEL_BLOCK);
	default:
		return below(walk, 4) != 0;
	}
}

/*
 * Never PREFETCH_MIN_FAULTS: it counts the faults since the block lost its last
 * entry, and after CPU operations the model only knows an upper bound of
 * entries.
 */
static enum model_knob any_knob(struct walk *walk)
{
	enum model_knob knob;

	do {
		knob = below(walk, MODEL_KNOBS);
	} while (knob == MODEL_MIN_FAULTS);
	return knob;
}

/* Sets or unsets a knob of a range or of the process. */
static void step_knob(struct walk *walk)
{
	unsigned int first = any_page(walk), count = any_count(walk, first);
	enum model_knob knob = any_knob(walk);
	unsigned int value = any_value(walk, knob);
	bool range = below(walk, 2), set = below(walk, 4);
	struct hmmrt_knob arg = {
		.knob = knob_ids[knob],
		.operation = set ? HMMRT_KNOB_SET : HMMRT_KNOB_UNSET,
		.scope = range ? HMMRT_SCOPE_RANGE : HMMRT_SCOPE_SPACE,
		.device_id = id_of(below(walk, MODEL_DEVICES)),
		.addr = range ? (uintptr_t)walk_addr(walk, first) : 0,
		.len = range ? count * PAGE_BYTES : 0, .value = set ? value : 0,
	};
	int rc;

	steps_note(&walk->steps, "knob %u = %u (%s) of %s %u + %u", knob, value,
		   set ? "set" : "unset", range ? "pages" : "the process", first,
		   count);
	if (!range)
		walk->model.knobs[knob] = set ? value + 1 : 0;
	for (unsigned int i = first; range && i < first + count; i++)
		walk->model.pages[i].advice.knobs[knob] = set ? value + 1 : 0;
	rc = cmd_knob(space, &arg);
	if (rc)
		steps_fail(&walk->steps, "HMMRT_IOC_KNOB: %s", strerror(-rc));
}

/* Pages that are locked at the moment stay, so this retries. */
static void step_evict(struct walk *walk)
{
	unsigned int dev = below(walk, MODEL_DEVICES);
	int rc = walk->evicts ? -EBUSY : 0;

	steps_note(&walk->steps, "device %u is evicted", dev);
	if (!walk->evicts)
		return;
	for (unsigned int try = 0; rc == -EBUSY && try < 100; try++)
		rc = faulty_evict(control, dev);
	if (rc)
		steps_fail(&walk->steps, "HMMRT_FAULTY_IOC_EVICT: %s", strerror(-rc));
	model_evict(&walk->model, dev);
	walk_check_pages(walk, 0, MODEL_PAGES, FEWER);
}

static const struct step {
	void (*take)(struct walk *walk);
	unsigned int weight;
} steps[] = {
	{ step_device, 300 },	{ step_device_run, 80 }, { step_cpu, 250 },
	{ step_prefetch, 120 }, { step_discard, 40 }, { step_unmap, 30 },
	{ step_protect, 20 },	{ step_move, 20 },     { step_fork, 4 },
	{ step_advise, 30 },	{ step_knob, 30 },     { step_evict, 3 },
};

/* --- the test ------------------------------------------------------------- */

static void walk_on(struct walk *walk)
{
	const char *text = getenv("HMMRT_MODEL_OPS");
	unsigned long ops = text ? strtoul(text, NULL, 0) : 0;
	double start = now_s(), took = 0;

	for (; !walk->steps.failures; walk->steps.now++) {
		if (ops ? walk->steps.now >= ops :
			  walk->steps.now >= CHECK_ALL && took >= SECONDS)
			break;
		STEPS_TAKE(walk, steps);
		if (walk->steps.now % CHECK_ALL == 0)
			walk_check_all(walk);
		took = now_s() - start;
	}
	if (!walk->steps.failures)
		walk_check_all(walk);
	fprintf(stderr, "# %lu steps in %.1f s, %.0f a second; %llu and %llu device faults\n",
		walk->steps.now, took, (double)walk->steps.now / took,
		(unsigned long long)walk->model.all_faults[0],
		(unsigned long long)walk->model.all_faults[1]);
}

static int open_devices(bool evicts)
{
	int rc;

	if (evicts)
		return faulty_start();
	rc = session_start(&session, MODEL_DEVICES, 1);
	space = session.space;
	return rc;
}

/* Uses each block once, because the manager keeps no state of unused blocks. */
static int start(struct walk *walk)
{
	struct hmmrt_stats stats;
	int rc;

	walk->base = arena_anon(MODEL_PAGES * PAGE_BYTES);
	if (!walk->base)
		return -ENOMEM;
	rc = set_knob(A, HMMRT_KNOB_THRASHING_ENABLE, 0);
	for (unsigned int dev = 0; !rc && dev < MODEL_DEVICES; dev++)
		rc = prefetch(dev, walk->base, MODEL_PAGES * PAGE_BYTES);
	for (unsigned int dev = 0; !rc && dev < MODEL_DEVICES; dev++) {
		rc = cmd_stats(space, id_of(dev), &stats);
		walk->faults_before[dev] = stats.out_device_faults;
	}
	if (!rc && munmap(walk->base, MODEL_PAGES * PAGE_BYTES))
		rc = -errno;
	if (rc)
		return rc;
	model_init(&walk->model);
	map_again(walk, 0, MODEL_PAGES);
	walk_find_mappings(walk);
	remake_blocks(walk, 0, MODEL_PAGES);
	return 0;
}

/* Huge pages are not part of this model. */
static bool one_cpu_and_small_pages(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return !sched_setaffinity(0, sizeof(one), &one) &&
	       !prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

FIXTURE(model) {
	struct walk *walk;
};

FIXTURE_VARIANT(model) {
	bool evicts;
};

VARIANT(model, simgpu, .evicts = false);
VARIANT(model, evicted, .evicts = true);

FIXTURE_SETUP(model)
{
	self->walk = NOT_NULL(calloc(1, sizeof(*self->walk)));
	self->walk->evicts = variant->evicts;
	if (variant->evicts && !getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_TRUE(one_cpu_and_small_pages());
	ASSERT_EQ(0, open_devices(variant->evicts));
	ASSERT_EQ(0, start(self->walk));
	steps_seed(&self->walk->steps);
}

FIXTURE_TEARDOWN(model)
{
	EXPECT_EQ(0, variant->evicts ? faulty_end() : session_end(&session));
	free(self->walk);
}

TEST_F_TIMEOUT(model, random_operations_match_the_model, 100000)
{
	walk_on(self->walk);
	ASSERT_EQ(0, self->walk->steps.failures);
}

TEST_HARNESS_MAIN
