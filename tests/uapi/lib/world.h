/* SPDX-License-Identifier: MIT */
/*
 * Two devices and the CPU, and what is to become of a page when they touch it.
 *
 * Model      Written from struct hmmrt_advise, struct hmmrt_peer and
 *            docs/architecture.md; it knows nothing of how the modules decide.
 *            It takes from them only who has an entry for a page: who has one
 *            that permits the access does not fault, so nothing happens.
 * Pages      Each has a mapping and a block of its own, so that nothing goes
 *            along with it; but for granularity, where neighbours are what
 *            counts.
 * Turns      What CPU and device take in turns quickly stays at home. The model
 *            has no clock: before it comes to that it waits, and the turns are
 *            forgotten.
 */
#ifndef TESTS_UAPI_WORLD_H
#define TESTS_UAPI_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

#define DEVICES		2

/* ON_A and ON_B are the places of devices, in the order of their bits. */
enum who { A, B, CPU };
enum place { ON_A, ON_B, HOME, NOWHERE };
#define BY(who)		(1u << (who))
#define ALL_DEVICES	(BY(A) | BY(B))

enum op { READ, WRITE, PREFETCH };

struct advice {
	const char *name;
	bool read_mostly;
	bool no_migrate;
	enum place preferred;	/* NOWHERE: none */
	unsigned int accessed_by;
	size_t granularity;
};

/* What the module says of a page, in the model's terms. */
struct view {
	enum place at;
	unsigned int mapped;
	unsigned int written;
	unsigned int copies;
	bool zeroes;
};

struct page {
	char *addr;
	char *other_addr;	/* where mremap() moves it */
	unsigned int turns[2];	/* of the block of either */
	struct advice advice;
	enum place at;
	uint64_t value;
	bool read_only;		/* a write would have to ask the CPU first */
	/* Who does not know that it is populated, and is to touch it first. */
	unsigned int unheard;
	struct view view;	/* as found after the last step */
};

/* What has to be true after a step; masks. */
struct expected {
	unsigned int mapped;
	unsigned int not_mapped;
	unsigned int written;
	unsigned int copies;
	bool no_copies;
};

struct world {
	struct session session;
	int fd;
	struct agent *agents[DEVICES];
	unsigned int peers[DEVICES];	/* whose memory each may map */
	uint64_t last_value;
	unsigned int failures;
	char step[320];
};

extern const char *const world_who_names[];
extern const char *const world_place_names[];
extern const char *const world_op_names[];
const char *world_mask_name(unsigned int mask, char text[16]);

/* 0, or a negative errno. @world need not be initialised. */
int world_start(struct world *world);
/* Of the device to the other one. */
int world_set_peer(struct world *world, unsigned int dev, bool enabled);

/* Counts a failure and prints it, after world->step. */
void __attribute__((format(printf, 2, 3)))
world_fail(struct world *world, const char *format, ...);

uint32_t world_location(const struct world *world, enum place place);
/* To the module only; the caller tells the model. */
void world_advise(struct world *world, const char *addr, size_t len,
		  uint32_t kind, uint32_t location, uint64_t value);
/* Who is to have entries before it asks for them. */
unsigned int world_mapped_ahead(const struct world *world,
				const struct page *page);

/* One access, or a prefetch to where @who is, and what has to be true then. */
void world_access(struct world *world, struct page *page, enum op op,
		  enum who who);
void world_touch(struct world *world, struct page *page, enum who who,
		 bool write);
/* Looks, compares, and goes on from what was found. */
void world_check(struct world *world, struct page *page,
		 const struct expected *expected);
/* After something that was no access, and moved nothing. */
void world_check_unmoved(struct world *world, struct page *page);
void world_check_value(struct world *world, const struct page *page,
		       uint64_t found);

#endif
