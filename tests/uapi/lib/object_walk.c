// SPDX-License-Identifier: MIT
#include "object_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "objects.h"
#include "steps.h"

#define DEVICES		2
#define CHUNKS		8		/* of a device */
#define WINDOW		(6 * (unsigned int)BLOCK_PAGES)
#define OBJECTS		8
#define BLOCKS_MAX	3
#define CHECK_ALL	500
#define RIGHTS_CHECKED	24		/* pages, by CHECK_ALL */
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

struct object {
	int fd;			/* or -1: released */
	unsigned int pages;	/* 0: not there */
	unsigned int mapped;	/* pages of the window that show it */
	uint32_t location;
	bool migratable;
	uint64_t values[BLOCKS_MAX * BLOCK_PAGES];
};

enum kind { HOLE, RESERVED, SHOWN };

struct page {
	enum kind kind;
	unsigned int object;
	unsigned int index;	/* in the object */
	int prot;
	uint32_t access[DEVICES];
};

struct object_walk {
	char *base;
	uint64_t last_value;
	struct object objects[OBJECTS];
	struct page pages[WINDOW];
	struct steps steps;
	unsigned int refused;	/* creations */
};

/* --- random choices ------------------------------------------------------- */

static unsigned int below(struct object_walk *walk, unsigned int n)
{
	return steps_below(&walk->steps, n);
}

static unsigned int any_page(struct object_walk *walk)
{
	return steps_page(&walk->steps, WINDOW, 32);
}

static unsigned int any_count(struct object_walk *walk, unsigned int most)
{
	static const unsigned int limits[] = { 1, 8, 100, 2 * BLOCK_PAGES };
	unsigned int count = 1 + below(walk, limits[below(walk, 4)]);

	return count < most ? count : most;
}

static int any_prot(struct object_walk *walk)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, RW, RW };

	return prots[below(walk, ARRAY_SIZE(prots))];
}

static char *addr_of(const struct object_walk *walk, unsigned int page)
{
	return walk->base + page * PAGE_BYTES;
}

/* --- the model ------------------------------------------------------------ */

static void put_object(struct object_walk *walk, struct object *object)
{
	if (object->fd < 0 && !object->mapped)
		object->pages = 0;
	(void)walk;
}

static void model_unmap(struct object_walk *walk, unsigned int first,
			unsigned int count, enum kind kind)
{
	for (unsigned int i = first; i < first + count; i++) {
		struct page *page = &walk->pages[i];

		if (page->kind == SHOWN) {
			walk->objects[page->object].mapped--;
			put_object(walk, &walk->objects[page->object]);
		}
		*page = (struct page){ .kind = kind };
	}
}

static uint64_t *value_of(struct object_walk *walk, const struct page *page)
{
	return &walk->objects[page->object].values[page->index];
}

static bool range_has(const struct object_walk *walk, unsigned int first,
		      unsigned int count, enum kind kind)
{
	for (unsigned int i = first; i < first + count; i++)
		if (walk->pages[i].kind == kind)
			return true;
	return false;
}

static unsigned int device_of(uint32_t location)
{
	unsigned int dev;

	for (dev = 0; dev < DEVICES; dev++)
		if (id_of(dev) == location)
			break;
	return dev;
}

/* Blocks of pinned, or migratable, objects at the location. */
static unsigned int blocks_at(const struct object_walk *walk, uint32_t location,
			      bool migratable)
{
	unsigned int blocks = 0;

	for (unsigned int i = 0; i < OBJECTS; i++)
		if (walk->objects[i].location == location &&
		    walk->objects[i].migratable == migratable)
			blocks += walk->objects[i].pages / BLOCK_PAGES;
	return blocks;
}

/* --- steps ---------------------------------------------------------------- */

static void expect_rc(struct object_walk *walk, const char *what, int expected,
		      int found)
{
	if (expected != found)
		steps_fail(&walk->steps, "%s: expected %d (%s), found %d (%s)",
			   what, expected, strerror(-expected), found,
			   strerror(-found));
}

static void step_create(struct object_walk *walk)
{
	unsigned int index = below(walk, OBJECTS), kind = below(walk, 6);
	unsigned int blocks = 1 + below(walk, BLOCKS_MAX);
	struct object *object = &walk->objects[index];
	uint32_t location = kind < 4 ? id_of(kind % 2) :
			    kind == 4 ? HOST : HMMRT_LOCATION_HOST_NODE(0);
	bool migratable = !below(walk, 3);
	bool full;
	int fd;

	steps_note(&walk->steps, "object %u of %u blocks at %#x%s is created",
		   index, blocks, location, migratable ? ", migratable" : "");
	if (object->pages)
		return;
	full = !migratable && device_of(location) < DEVICES &&
	       blocks_at(walk, location, false) + blocks > CHUNKS;
	fd = cmd_object_create(space, blocks * BLOCK_BYTES, location,
			       migratable ? MIGRATABLE : 0);
	expect_rc(walk, "create", full ? -ENOMEM : 0, fd < 0 ? fd : 0);
	walk->refused += full;
	if (fd < 0)
		return;
	*object = (struct object){
		.fd = fd, .pages = blocks * BLOCK_PAGES, .location = location,
		.migratable = migratable,
	};
}

static void step_release(struct object_walk *walk)
{
	unsigned int index = below(walk, OBJECTS);
	struct object *object = &walk->objects[index];

	steps_note(&walk->steps, "object %u is released", index);
	if (object->fd < 0)
		return;
	close(object->fd);
	object->fd = -1;
	put_object(walk, object);
}

static void step_map(struct object_walk *walk)
{
	unsigned int index = below(walk, OBJECTS), at = any_page(walk);
	struct object *object = &walk->objects[index];
	unsigned int first, count;
	int prot = any_prot(walk);

	if (object->fd < 0)
		return;
	first = below(walk, object->pages);
	count = any_count(walk, object->pages - first);
	if (count > WINDOW - at)
		count = WINDOW - at;
	steps_note(&walk->steps, "pages %u + %u of object %u at %u, prot %d",
		   first, count, index, at, prot);
	expect_rc(walk, "mmap", 0,
		  object_map_at(object->fd, addr_of(walk, at),
				count * PAGE_BYTES, prot, first * PAGE_BYTES));
	object->mapped += count;
	model_unmap(walk, at, count, HOLE);
	for (unsigned int i = 0; i < count; i++)
		walk->pages[at + i] = (struct page){
			.kind = SHOWN, .object = index, .index = first + i,
			.prot = prot,
		};
}

static void reserve(struct object_walk *walk, unsigned int first,
		    unsigned int count)
{
	char *addr = addr_of(walk, first);

	if (mmap(addr, count * PAGE_BYTES, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
		 0) != addr)
		steps_fail(&walk->steps, "mmap: %s", strerror(errno));
	model_unmap(walk, first, count, RESERVED);
}

/* Leaves a reserved range, or a hole. */
static void step_unmap(struct object_walk *walk)
{
	unsigned int first = any_page(walk);
	unsigned int count = any_count(walk, WINDOW - first);
	bool hole = !below(walk, 3);

	steps_note(&walk->steps, "pages %u + %u are unmapped%s", first, count,
		   hole ? "" : " and reserved");
	if (!hole) {
		reserve(walk, first, count);
		return;
	}
	if (munmap(addr_of(walk, first), count * PAGE_BYTES))
		steps_fail(&walk->steps, "munmap: %s", strerror(errno));
	model_unmap(walk, first, count, HOLE);
}

/* Protects the pages from the first one on that show objects. */
static void step_protect(struct object_walk *walk)
{
	unsigned int first = any_page(walk), count, most;
	int prot = any_prot(walk);

	most = any_count(walk, WINDOW - first);
	for (count = 0; count < most; count++)
		if (walk->pages[first + count].kind != SHOWN)
			break;
	steps_note(&walk->steps, "pages %u + %u get prot %d", first, count,
		   prot);
	if (!count)
		return;
	if (mprotect(addr_of(walk, first), count * PAGE_BYTES, prot))
		steps_fail(&walk->steps, "mprotect: %s", strerror(errno));
	for (unsigned int i = first; i < first + count; i++)
		walk->pages[i].prot = prot;
}

static void step_access(struct object_walk *walk)
{
	static const uint32_t rights[] = { 0, OBJECT_READ, OBJECT_WRITE,
					   OBJECT_WRITE, OBJECT_WRITE };
	unsigned int first = any_page(walk), dev = below(walk, DEVICES);
	unsigned int count = any_count(walk, WINDOW - first);
	uint32_t access = rights[below(walk, ARRAY_SIZE(rights))];
	bool hole = range_has(walk, first, count, HOLE);
	bool other = range_has(walk, first, count, RESERVED);
	int rc;

	steps_note(&walk->steps, "device %u gets rights %u to pages %u + %u",
		   dev, access, first, count);
	rc = set_access(addr_of(walk, first), count * PAGE_BYTES, dev, access);
	/* Of two errors, either may be found first. */
	if (!hole || !other || rc != -EINVAL)
		expect_rc(walk, "set access",
			  hole ? -EFAULT : other ? -EINVAL : 0, rc);
	for (unsigned int i = first; !hole && !other && i < first + count; i++)
		walk->pages[i].access[dev] = access;
}

/* Compares the rights that all of the range has. */
static void check_access(struct object_walk *walk, unsigned int first,
			 unsigned int count, unsigned int dev)
{
	bool hole = range_has(walk, first, count, HOLE);
	bool other = range_has(walk, first, count, RESERVED);
	uint32_t found, expected = OBJECT_WRITE;
	int rc;

	rc = get_access(addr_of(walk, first), count * PAGE_BYTES, dev, &found);
	if (!hole || !other || rc != -EINVAL)
		expect_rc(walk, "get access",
			  hole ? -EFAULT : other ? -EINVAL : 0, rc);
	for (unsigned int i = first; i < first + count; i++)
		expected &= walk->pages[i].access[dev];
	if (!rc && found != expected)
		steps_fail(&walk->steps, "device %u, pages %u + %u: expected rights %u, found %u",
			   dev, first, count, expected, found);
}

static void step_get_access(struct object_walk *walk)
{
	unsigned int first = any_page(walk), dev = below(walk, DEVICES);
	unsigned int count = any_count(walk, WINDOW - first);

	steps_note(&walk->steps, "rights of device %u to pages %u + %u", dev,
		   first, count);
	check_access(walk, first, count, dev);
}

static void check_value(struct object_walk *walk, unsigned int index,
			uint64_t found)
{
	uint64_t expected = *value_of(walk, &walk->pages[index]);

	if (found != expected)
		steps_fail(&walk->steps, "page %u: expected the value %llu, found %llu",
			   index, (unsigned long long)expected,
			   (unsigned long long)found);
}

static void device_touches(struct object_walk *walk, unsigned int index,
			   unsigned int dev, bool write)
{
	const struct page *page = &walk->pages[index];
	uint32_t needs = write ? OBJECT_WRITE : OBJECT_READ;
	uint64_t value = walk->last_value + 1;
	struct outcome outcome;
	int expected = 0;

	if (page->kind == HOLE)
		expected = -EFAULT;
	else if ((page->access[dev] & needs) != needs)
		expected = -EACCES;
	outcome = write ? dev_write(dev, addr_of(walk, index), value) :
			  dev_read(dev, addr_of(walk, index));
	expect_rc(walk, "device", expected,
		  outcome.error ? outcome.error :
		  outcome.signal ? -(int)outcome.record.out_errno : 0);
	if (expected)
		return;
	if (write)
		*value_of(walk, page) = ++walk->last_value;
	else
		check_value(walk, index, outcome.value);
}

static void step_device(struct object_walk *walk)
{
	unsigned int first = any_page(walk), dev = below(walk, DEVICES);
	unsigned int count = below(walk, 4) ? 1 : 1 + below(walk, 20);
	bool write = below(walk, 2);

	if (count > WINDOW - first)
		count = WINDOW - first;
	steps_note(&walk->steps, "device %u %s pages %u + %u", dev,
		   write ? "writes" : "reads", first, count);
	for (unsigned int i = first; i < first + count; i++)
		device_touches(walk, i, dev, write);
}

static void cpu_touches(struct object_walk *walk, unsigned int index,
			bool write)
{
	const struct page *page = &walk->pages[index];
	int needs = write ? PROT_WRITE : PROT_READ, sig;
	bool granted = page->kind == SHOWN && (page->prot & needs);
	uint64_t value = walk->last_value + 1;

	sig = write ? cpu_write(addr_of(walk, index), value) :
		      cpu_read(addr_of(walk, index), &value);
	if (sig != (granted ? 0 : SIGSEGV))
		steps_fail(&walk->steps, "page %u: the CPU gets signal %d",
			   index, sig);
	if (sig || !granted)
		return;
	if (write)
		*value_of(walk, page) = ++walk->last_value;
	else
		check_value(walk, index, value);
}

static void step_cpu(struct object_walk *walk)
{
	unsigned int first = any_page(walk);
	unsigned int count = below(walk, 2) ? 1 :
					      any_count(walk, WINDOW - first);
	bool write = below(walk, 2);

	steps_note(&walk->steps, "the CPU %s pages %u + %u",
		   write ? "writes" : "reads", first, count);
	for (unsigned int i = first; i < first + count; i++)
		cpu_touches(walk, i, write);
}

static void step_prefetch(struct object_walk *walk)
{
	const uint32_t locations[] = { id_of(A), id_of(B), HOST };
	unsigned int first = any_page(walk), to = below(walk, 3);
	unsigned int count = any_count(walk, WINDOW - first);
	struct hmmrt_prefetch result;
	uint64_t sum;
	int rc;

	steps_note(&walk->steps, "prefetch of pages %u + %u to %#x", first,
		   count, locations[to]);
	rc = cmd_prefetch(space, addr_of(walk, first), count * PAGE_BYTES,
			  locations[to], &result);
	expect_rc(walk, "prefetch",
		  range_has(walk, first, count, HOLE) ? -EFAULT : 0, rc);
	if (rc)
		return;
	sum = result.out_pages_moved + result.out_pages_there;
	for (unsigned int i = 0; i < HMMRT_STAY_REASONS; i++)
		sum += result.out_stayed[i];
	if (sum != count)
		steps_fail(&walk->steps, "prefetch of %u pages: results of %llu",
			   count, (unsigned long long)sum);
}

/* Moves one page, which is in one mapping; its rights end. */
static void step_move(struct object_walk *walk)
{
	unsigned int from = any_page(walk), to = below(walk, WINDOW);
	struct page page = walk->pages[from];

	steps_note(&walk->steps, "page %u moves to %u", from, to);
	if (page.kind != SHOWN || from == to)
		return;
	if (mremap(addr_of(walk, from), PAGE_BYTES, PAGE_BYTES,
		   MREMAP_MAYMOVE | MREMAP_FIXED,
		   addr_of(walk, to)) != addr_of(walk, to)) {
		steps_fail(&walk->steps, "mremap: %s", strerror(errno));
		return;
	}
	/* Counts for a moment on both. */
	walk->objects[page.object].mapped++;
	model_unmap(walk, to, 1, HOLE);
	memset(page.access, 0, sizeof(page.access));
	walk->pages[to] = page;
	model_unmap(walk, from, 1, HOLE);
}

static void step_fork(struct object_walk *walk)
{
	unsigned int index = any_page(walk);
	int status;

	steps_note(&walk->steps, "a child reads page %u", index);
	status = cpu_read_in_child(addr_of(walk, index));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		steps_fail(&walk->steps, "child: status %#x", status);
}

/* --- checks of everything ------------------------------------------------- */

static void check_object(struct object_walk *walk, unsigned int index)
{
	const struct object *object = &walk->objects[index];
	struct hmmrt_object_info info;
	char *buf;

	if (!object->pages || object->fd < 0)
		return;
	if (cmd_object_info(object->fd, &info) ||
	    info.out_bytes != object->pages * PAGE_BYTES ||
	    info.out_location != object->location ||
	    info.out_resident_bytes > info.out_bytes ||
	    (!object->migratable && info.out_resident_bytes < info.out_bytes))
		steps_fail(&walk->steps, "object %u: wrong information", index);
	buf = mmap(NULL, object->pages * PAGE_BYTES, PROT_READ, MAP_SHARED,
		   object->fd, 0);
	if (buf == MAP_FAILED) {
		steps_fail(&walk->steps, "object %u: %s", index, strerror(errno));
		return;
	}
	for (unsigned int i = 0; i < object->pages; i++) {
		uint64_t found = *(uint64_t *)(buf + i * PAGE_BYTES);

		if (found != object->values[i])
			steps_fail(&walk->steps, "object %u page %u: expected %llu, found %llu",
				   index, i,
				   (unsigned long long)object->values[i],
				   (unsigned long long)found);
	}
	munmap(buf, object->pages * PAGE_BYTES);
}

static void check_use(struct object_walk *walk)
{
	for (unsigned int dev = 0; dev < DEVICES; dev++) {
		int64_t bytes = used(dev);
		unsigned int pinned = blocks_at(walk, id_of(dev), false);

		/* Any migratable object may have blocks there. */
		if (bytes % (int64_t)BLOCK_BYTES ||
		    bytes < (int64_t)(pinned * BLOCK_BYTES) ||
		    bytes > (int64_t)(CHUNKS * BLOCK_BYTES))
			steps_fail(&walk->steps, "device %u: %u blocks pinned, %lld bytes in use",
				   dev, pinned, (long long)bytes);
	}
}

static void check_all(struct object_walk *walk)
{
	check_use(walk);
	for (unsigned int i = 0; i < RIGHTS_CHECKED; i++)
		check_access(walk, below(walk, WINDOW), 1, i % DEVICES);
	for (unsigned int i = 0; i < WINDOW; i++)
		cpu_touches(walk, i, false);
	for (unsigned int i = 0; i < OBJECTS; i++)
		check_object(walk, i);
}

static const struct step {
	void (*take)(struct object_walk *walk);
	unsigned int weight;
} steps[] = {
	{ step_create, 40 },	 { step_release, 25 },	{ step_map, 150 },
	{ step_unmap, 60 },	 { step_protect, 50 },	{ step_access, 200 },
	{ step_get_access, 40 }, { step_device, 300 },	{ step_cpu, 200 },
	{ step_prefetch, 40 },	 { step_move, 30 },	{ step_fork, 2 },
};

/* --- the walk ------------------------------------------------------------- */

unsigned int object_walk_run(struct object_walk *walk, unsigned long count)
{
	time_t start = time(NULL);

	reserve(walk, 0, WINDOW);
	for (; !walk->steps.failures && walk->steps.now < count;
	     walk->steps.now++) {
		STEPS_TAKE(walk, steps);
		if (walk->steps.now % CHECK_ALL == 0)
			check_all(walk);
	}
	if (!walk->steps.failures)
		check_all(walk);
	fprintf(stderr, "# %lu steps in %ld s, %u objects were refused\n",
		walk->steps.now, (long)(time(NULL) - start), walk->refused);
	return walk->steps.failures;
}

struct object_walk *object_walk_new(void)
{
	struct object_walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	for (unsigned int i = 0; i < OBJECTS; i++)
		walk->objects[i].fd = -1;
	walk->base = arena_anon(WINDOW * PAGE_BYTES);
	steps_seed(&walk->steps);
	if (walk->base)
		return walk;
	free(walk);
	return NULL;
}

void object_walk_free(struct object_walk *walk)
{
	object_unmap_all();
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (walk->objects[i].fd >= 0)
			close(walk->objects[i].fd);
	free(walk);
}
