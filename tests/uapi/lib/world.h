/* SPDX-License-Identifier: MIT */
/*
 * Two devices and the CPU, and what their accesses do to a page.
 *
 * Model      Written from struct hmmrt_advise, struct hmmrt_peer and
 *            docs/policy.md; the model does not know how the modules
 *            decide. It only learns from them which devices have an entry
 *            for a page: a device with an entry that permits the access does
 *            not fault, so nothing changes.
 * Pages      Each page has its own mapping and block, so that no neighbours
 *            move with it. The tests of granularity are the exception.
 * Turns      Pages that CPU and device fault on in quick succession stay in
 *            system memory. The model has no clock: before a page is that
 *            close to thrashing, the model waits until the count is reset. A
 *            test in which each page takes few turns raises the limit instead.
 */
#ifndef TESTS_UAPI_WORLD_H
#define TESTS_UAPI_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session.h"

#define DEVICES		2

/* ON_A and ON_B are device locations, in the order of the devices' bits. */
enum accessor { A, B, CPU };
enum location { ON_A, ON_B, ON_HOST, NOWHERE };
#define BY(accessor)	(1u << (accessor))
#define ALL_DEVICES	(BY(A) | BY(B))

enum op { READ, WRITE, PREFETCH };

struct advice {
	const char *name;
	bool read_mostly;
	bool no_migrate;
	enum location preferred;	/* NOWHERE: none */
	unsigned int accessed_by;
	size_t granularity;
};

/* State of a page as the module reports it, in the model's terms. */
struct view {
	enum location at;
	unsigned int mapped;
	unsigned int written;
	unsigned int duplicates;
	bool zeroes;
};

struct page {
	char *addr;
	char *other_addr;	/* where mremap() moves it */
	unsigned int turns[2];	/* for the block of each address */
	struct advice advice;
	enum location at;
	uint64_t value;
	bool read_only;		/* a write must fault on the CPU first */
	/* Devices not told that the page is populated; they fault first. */
	unsigned int unheard;
	struct view view;	/* as found after the last step */
};

/* Conditions that must hold after a step; masks. */
struct expected {
	unsigned int mapped;
	unsigned int not_mapped;
	unsigned int written;
	unsigned int duplicates;
	bool no_duplicates;
};

struct world {
	struct session session;
	int fd;
	struct agent *agents[DEVICES];
	unsigned int peers[DEVICES];	/* peers that each may map */
	unsigned int turns_max;		/* of a page, without a pause */
	uint64_t last_value;
	unsigned int failures;
	char step[320];
};

extern const char *const world_accessor_names[];
extern const char *const world_location_names[];
extern const char *const world_op_names[];
const char *world_mask_name(unsigned int mask, char text[16]);

/* Returns 0 or a negative errno. @world need not be initialised. */
int world_start(struct world *world);
/* Sets the number of turns after which a page is thrashing. */
int world_permit_turns(struct world *world, unsigned int turns);
/* Enables or disables peer access of @dev to the other device. */
int world_set_peer(struct world *world, unsigned int dev, bool enabled);

/* Counts a failure and prints it, prefixed with world->step. */
void __attribute__((format(printf, 2, 3)))
world_fail(struct world *world, const char *format, ...);

uint32_t world_location_id(const struct world *world, enum location location);
/* Tells only the module; the caller updates the model. */
void world_advise(struct world *world, const char *addr, size_t len,
		  uint32_t kind, uint32_t location_id, uint64_t value);
/* Returns the devices that must have entries without an access of their own. */
unsigned int world_mapped_ahead(const struct world *world,
				const struct page *page);

/*
 * Do one access, or a prefetch to @accessor's location, and check the result.
 */
void world_access(struct world *world, struct page *page, enum op op,
		  enum accessor accessor);
void world_touch(struct world *world, struct page *page, enum accessor accessor,
		 bool write);
/* Queries the page, compares, and takes the found state as the new state. */
void world_check(struct world *world, struct page *page,
		 const struct expected *expected);
/* Checks after a step that neither accessed nor moved the page. */
void world_check_unmoved(struct world *world, struct page *page);
void world_check_value(struct world *world, const struct page *page,
		       uint64_t found);

#endif
