// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

/* The modules' limit of thrashing, and a pause that resets the count. */
#define TURNS_USUAL 3
#define TURNS_PAUSE_US 120000

/* Time limit for AccessedBy entries, which a worker thread makes. */
#define WORKER_LIMIT_MS 30000

const char *const world_accessor_names[] = { "A", "B", "CPU" };
const char *const world_location_names[] = { "A", "B", "host", "nowhere" };
const char *const world_op_names[] = { "reads", "writes", "prefetch to" };

void __attribute__((format(printf, 2, 3)))
world_fail(struct world *world, const char *format, ...)
{
	va_list args;

	world->failures++;
	fprintf(stderr, "# %s: ", world->step);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

const char *world_mask_name(unsigned int mask, char text[16])
{
	snprintf(text, 16, "{%s%s%s }", mask & BY(A) ? " A" : "",
		 mask & BY(B) ? " B" : "", mask & BY(CPU) ? " CPU" : "");
	return text;
}

/* --- between the model's terms and the module's --------------------------- */

uint32_t world_location_id(const struct world *world, enum location location)
{
	if (location <= ON_B)
		return world->session.devices[location].id;
	return location == ON_HOST ? HMMRT_LOCATION_HOST : HMMRT_LOCATION_NONE;
}

static enum location location_of_id(const struct world *world, uint32_t id)
{
	if (id == HMMRT_LOCATION_HOST)
		return ON_HOST;
	if (id == world->session.devices[A].id)
		return ON_A;
	return id == world->session.devices[B].id ? ON_B : NOWHERE;
}

static unsigned int mask_of(const struct world *world, uint32_t mask)
{
	unsigned int result = mask & HMMRT_BY_CPU ? BY(CPU) : 0;

	for (unsigned int dev = A; dev < DEVICES; dev++)
		if (mask & 1u << world->session.devices[dev].id)
			result |= BY(dev);
	return result;
}

static struct view query(struct world *world, const char *addr)
{
	struct view view = { .at = NOWHERE };
	struct hmmrt_page page;
	int rc = cmd_pages(world->fd, addr, PAGE_BYTES, &page);

	if (rc) {
		world_fail(world, "HMMRT_IOC_PAGES: %s", strerror(-rc));
		return view;
	}
	view.at = location_of_id(world, page.location);
	view.mapped = mask_of(world, page.mapped_by);
	view.written = mask_of(world, page.written_by);
	view.duplicates = mask_of(world, page.duplicates);
	view.zeroes = page.flags & HMMRT_PAGE_ZEROES;
	return view;
}

void world_advise(struct world *world, const char *addr, size_t len,
		  uint32_t kind, uint32_t location_id, uint64_t value)
{
	int rc = cmd_advise(world->fd, addr, len, kind, location_id, value);

	if (rc)
		world_fail(world, "HMMRT_IOC_ADVISE %u: %s", kind,
			   strerror(-rc));
}

/* --- the model: where pages go -------------------------------------------- */

static bool reaches(const struct world *world, unsigned int dev,
		    enum location location)
{
	return location >= ON_HOST || location == (enum location)dev ||
	       (world->peers[dev] & BY(location));
}

unsigned int world_mapped_ahead(const struct world *world,
				const struct page *page)
{
	const struct advice *advice = &page->advice;
	unsigned int mask = 0;

	/* Read-mostly memory is not mapped ahead, unless it stays anyway. */
	if ((advice->read_mostly && !advice->no_migrate) ||
	    page->at == NOWHERE)
		return 0;
	for (unsigned int dev = A; dev < DEVICES; dev++)
		if ((page->advice.accessed_by & ~page->unheard & BY(dev)) &&
		    reaches(world, dev, page->at))
			mask |= BY(dev);
	return mask;
}

/*
 * A page that does not migrate to the faulting device stays where that device
 * can reach it; otherwise it moves to system memory.
 */
static enum location stays(const struct world *world, unsigned int dev,
			   enum location location)
{
	return location < ON_HOST && reaches(world, dev, location) ? location :
								     ON_HOST;
}

/* Location of the page after the device's fault. */
static enum location faulted(const struct world *world, const struct page *page,
			     unsigned int dev, bool write)
{
	const struct advice *advice = &page->advice;
	bool duplicates = advice->read_mostly && !write;
	bool accessed = (advice->accessed_by & BY(dev)) && !advice->read_mostly;

	if (page->at == (enum location)dev)
		return page->at;
	if (!advice->no_migrate && !duplicates) {
		if (advice->preferred == (enum location)dev)
			return dev;
		if (advice->preferred == NOWHERE && !accessed)
			return dev;
	}
	return stays(world, dev, page->at);
}

static bool has_entry(const struct page *page, unsigned int dev, bool write)
{
	return (write ? page->view.written : page->view.mapped) & BY(dev);
}

/*
 * Waits before the page migrates so often that it would be left in system
 * memory.
 */
static void count_turn(const struct world *world, struct page *page)
{
	unsigned int *turns = &page->turns[page->addr > page->other_addr];

	if (++*turns < world->turns_max)
		return;
	usleep(TURNS_PAUSE_US);
	*turns = 0;
}

static struct expected device_touches(struct world *world, struct page *page,
				      unsigned int dev, bool write)
{
	struct expected expected = {
		.mapped = BY(dev), .written = write ? BY(dev) : 0,
		.no_duplicates = write,
	};
	enum location before = page->at;

	if (has_entry(page, dev, write)) {
		if (!write)
			expected.duplicates = page->view.duplicates;
		return expected;
	}
	/*
	 * A write has to copy the page first, in system memory, unless a
	 * processor can write it: a prefetch has made it the parent's own.
	 */
	if (write && page->read_only && !page->view.written &&
	    page->at < ON_HOST)
		page->at = ON_HOST;
	page->at = faulted(world, page, dev, write);
	if (page->at == (enum location)dev)
		count_turn(world, page);
	if (write)
		page->read_only = false;
	page->unheard &= ~BY(dev);
	if (before == NOWHERE && page->at == ON_HOST)
		page->unheard = ALL_DEVICES & ~BY(dev);
	else if (before != page->at)
		page->unheard = 0;
	/* The zero page, which unwritten pages map, is never duplicated. */
	if (!write && page->advice.read_mostly && !page->advice.no_migrate &&
	    page->at == ON_HOST && before != NOWHERE && !page->view.zeroes)
		expected.duplicates = BY(dev) | page->view.duplicates;
	if (before != page->at)
		expected.not_mapped = ALL_DEVICES & ~BY(dev) &
				      ~world_mapped_ahead(world, page);
	/* AccessedBy devices may get an entry if the fault is retried. */
	if (before == NOWHERE)
		expected.not_mapped &= ~page->advice.accessed_by;
	return expected;
}

/* The CPU cannot map device memory, so its access migrates the page back. */
static struct expected cpu_touches(struct world *world, struct page *page,
				   bool write)
{
	struct expected expected = {
		.mapped = BY(CPU), .written = write ? BY(CPU) : 0,
		.no_duplicates = write,
		.duplicates = write ? 0 : page->view.duplicates,
	};

	if (page->at == NOWHERE)
		page->unheard = ALL_DEVICES;
	else if (page->at != ON_HOST)
		page->unheard = 0;
	if (page->at != ON_HOST)
		expected.not_mapped = ALL_DEVICES & ~page->advice.accessed_by;
	page->at = ON_HOST;
	if (write)
		page->read_only = false;
	expected.mapped |= world_mapped_ahead(world, page);
	return expected;
}

/* A read-mostly page in system memory stays; the device gets a duplicate. */
static unsigned int prefetched_copy(const struct page *page, enum location to,
				    struct expected *expected)
{
	const unsigned int duplicates = page->view.duplicates;

	expected->mapped = BY(to);
	/*
	 * No duplicate of the zero page, nor for a device that already maps the
	 * original while another device has a duplicate.
	 */
	if (page->view.zeroes || ((page->view.mapped & BY(to)) &&
				  (duplicates & ~BY(to)) &&
				  !(duplicates & BY(to))))
		return HMMRT_OUTCOME_STAYED(HMMRT_STAY_BUSY);
	expected->duplicates = BY(to) | duplicates;
	return duplicates & BY(to) ? HMMRT_OUTCOME_THERE : HMMRT_OUTCOME_MOVED;
}

/* The outcome of a prefetch; advice only for faults has no effect. */
static unsigned int prefetched(struct page *page, enum location to,
			       struct expected *expected)
{
	enum location before = page->at;

	*expected = (struct expected){};
	if (to == ON_HOST) {
		if (before >= ON_HOST)
			return HMMRT_OUTCOME_THERE;
	} else if (before == to) {
		expected->mapped = BY(to);
		return HMMRT_OUTCOME_THERE;
	} else if (page->advice.no_migrate) {
		return HMMRT_OUTCOME_STAYED(HMMRT_STAY_POLICY);
	} else if (page->advice.read_mostly && before == ON_HOST) {
		return prefetched_copy(page, to, expected);
	}
	page->at = to;
	page->unheard = 0;
	expected->no_duplicates = true;
	if (to < ON_HOST)
		expected->mapped = BY(to);
	return HMMRT_OUTCOME_MOVED;
}

/* --- what was found ------------------------------------------------------- */

/* Waits for the worker thread if only its entries are missing. */
static struct view query_mapped(struct world *world, const struct page *page,
				unsigned int mapped)
{
	struct view view = query(world, page->addr);
	unsigned int ms = 0;

	while (view.at == page->at && (mapped & ~view.mapped) &&
	       ms++ < WORKER_LIMIT_MS) {
		usleep(1000);
		view = query(world, page->addr);
	}
	return view;
}

/* Conditions that hold for each page at any time. */
static void check_always(struct world *world, const struct page *page)
{
	const struct view *view = &page->view;
	char one[16], two[16];

	if (view->at == ON_HOST ? !(view->mapped & BY(CPU)) :
				  !!(view->mapped & BY(CPU)))
		world_fail(world, "at %s, mapped by %s",
			   world_location_names[view->at],
			   world_mask_name(view->mapped, one));
	if (view->at == NOWHERE && view->mapped)
		world_fail(world, "not populated, mapped by %s",
			   world_mask_name(view->mapped, one));
	if (view->written & ~view->mapped)
		world_fail(world, "written by %s, mapped by %s",
			   world_mask_name(view->written, one),
			   world_mask_name(view->mapped, two));
	if (view->duplicates & ~view->mapped)
		world_fail(world, "duplicates of %s, mapped by %s",
			   world_mask_name(view->duplicates, one),
			   world_mask_name(view->mapped, two));
	if (view->duplicates && (view->written || view->at != ON_HOST))
		world_fail(world, "duplicates of %s, written by %s, at %s",
			   world_mask_name(view->duplicates, one),
			   world_mask_name(view->written, two),
			   world_location_names[view->at]);
	if (view->duplicates && !page->advice.read_mostly)
		world_fail(world, "duplicates of %s without READ_MOSTLY",
			   world_mask_name(view->duplicates, one));
	for (unsigned int dev = A; dev < DEVICES; dev++)
		if ((view->mapped & BY(dev)) && !reaches(world, dev, view->at))
			world_fail(world,
				   "mapped by %s, which is no peer of %s",
				   world_accessor_names[dev],
				   world_location_names[view->at]);
}

void world_check(struct world *world, struct page *page,
		 const struct expected *expected)
{
	unsigned int mapped = expected->mapped |
			      world_mapped_ahead(world, page);
	struct view view = query_mapped(world, page, mapped);
	char one[16], two[16];

	page->view = view;
	/*
	 * Remains true until the page is written, even if the duplicates are
	 * gone.
	 */
	if (view.duplicates)
		page->read_only = true;
	if (view.at != page->at)
		world_fail(world, "expected at %s, found at %s",
			   world_location_names[page->at],
			   world_location_names[view.at]);
	else if (mapped & ~view.mapped)
		world_fail(world, "expected mapped by %s, found %s",
			   world_mask_name(mapped, one),
			   world_mask_name(view.mapped, two));
	page->at = view.at;
	if (view.mapped & expected->not_mapped)
		world_fail(world, "expected not mapped by %s, found %s",
			   world_mask_name(expected->not_mapped, one),
			   world_mask_name(view.mapped, two));
	if (expected->written & ~view.written)
		world_fail(world, "expected written by %s, found %s",
			   world_mask_name(expected->written, one),
			   world_mask_name(view.written, two));
	if (expected->duplicates & ~view.duplicates)
		world_fail(world, "expected duplicates of %s, found %s",
			   world_mask_name(expected->duplicates, one),
			   world_mask_name(view.duplicates, two));
	if (expected->no_duplicates && view.duplicates)
		world_fail(world, "expected no duplicates, found %s",
			   world_mask_name(view.duplicates, one));
	check_always(world, page);
}

void world_check_unmoved(struct world *world, struct page *page)
{
	const struct expected expected = {};

	world_check(world, page, &expected);
}

/* --- accesses ------------------------------------------------------------- */

void world_check_value(struct world *world, const struct page *page,
		       uint64_t found)
{
	if (found != page->value)
		world_fail(world, "expected the value %llu, found %llu",
			   (unsigned long long)page->value,
			   (unsigned long long)found);
}

static void device_does(struct world *world, struct page *page,
			unsigned int dev, bool write)
{
	struct outcome outcome =
		write ? agent_write(world->agents[dev], page->addr,
				    page->value) :
			agent_read(world->agents[dev], page->addr);

	if (outcome.error || outcome.signal)
		world_fail(world, "error %d, signal %d, errno %u",
			   outcome.error, outcome.signal,
			   outcome.record.out_errno);
	else if (!write)
		world_check_value(world, page, outcome.value);
}

void world_touch(struct world *world, struct page *page, enum accessor accessor,
		 bool write)
{
	volatile uint64_t *word = (volatile uint64_t *)page->addr;
	struct expected expected;

	if (write)
		page->value = ++world->last_value;
	if (accessor != CPU) {
		expected = device_touches(world, page, accessor, write);
		device_does(world, page, accessor, write);
	} else {
		expected = cpu_touches(world, page, write);
		if (write)
			*word = page->value;
		else
			world_check_value(world, page, *word);
	}
	world_check(world, page, &expected);
}

static void prefetch(struct world *world, struct page *page, enum location to)
{
	uint8_t outcome = 0xff;
	struct hmmrt_prefetch arg = {
		.size = sizeof(arg), .addr = (uintptr_t)page->addr,
		.len = PAGE_BYTES, .location = world_location_id(world, to),
		.outcomes = (uintptr_t)&outcome,
	};
	struct expected expected;
	unsigned int predicted = prefetched(page, to, &expected);
	int rc = cmd_raw(world->fd, HMMRT_IOC_PREFETCH, &arg);

	if (rc)
		world_fail(world, "HMMRT_IOC_PREFETCH: %s", strerror(-rc));
	else if (outcome != predicted)
		world_fail(world, "expected outcome %u, found %u", predicted,
			   outcome);
	world_check(world, page, &expected);
}

void world_access(struct world *world, struct page *page, enum op op,
		  enum accessor accessor)
{
	if (op == PREFETCH)
		prefetch(world, page,
			 accessor == CPU ? ON_HOST : (enum location)accessor);
	else
		world_touch(world, page, accessor, op == WRITE);
}

int world_permit_turns(struct world *world, unsigned int turns)
{
	int rc = 0;

	for (unsigned int dev = A; dev < DEVICES && !rc; dev++)
		rc = cmd_set_knob(world->fd, HMMRT_SCOPE_SPACE,
				  world->session.devices[dev].id,
				  HMMRT_KNOB_THRASHING_THRESHOLD, turns);
	if (!rc)
		world->turns_max = turns;
	return rc;
}

int world_set_peer(struct world *world, unsigned int dev, bool enabled)
{
	unsigned int peer = !dev;

	world->peers[dev] = enabled ? BY(peer) : 0;
	return cmd_peer(world->fd, world->session.devices[dev].id,
			world->session.devices[peer].id,
			enabled ? HMMRT_PEER_ENABLE : HMMRT_PEER_DISABLE, NULL);
}

int world_start(struct world *world)
{
	int rc;

	memset(world, 0, sizeof(*world));
	rc = session_start(&world->session, DEVICES, 1);
	world->fd = world->session.space;
	for (unsigned int dev = A; dev < DEVICES; dev++)
		world->agents[dev] = &world->session.devices[dev].agent;
	world->turns_max = TURNS_USUAL;
	/* Larger than any value that tests fill pages with. */
	world->last_value = 1000;
	return rc;
}
