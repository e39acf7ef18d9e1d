/* SPDX-License-Identifier: MIT */
/*
 * Residency: where each page of some blocks is, after what was done to them.
 *
 * Model      Written from the UAPI header, docs/architecture.md and the comments at
 *            the top of kmod/policy.c; the windows of faults are those of
 *            tests/model/windows.h. It knows nothing of the modules, and calls
 *            nothing: the test does, and tells it what was done.
 * Taken      from the kernel, not predicted: where mappings end, for the core joins
 *            them as it likes; and what devices have mapped after the CPU has done
 *            something to memory, for that may only become less.
 * Left out   what other tests have models of: copies, entries made ahead of an
 *            access, peers (lib/world.h); and huge pages.
 */
#ifndef TESTS_UAPI_MODEL_H
#define TESTS_UAPI_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../model/windows.h"

#define MODEL_BLOCKS	6u
#define MODEL_PAGES	(MODEL_BLOCKS * MODEL_BLOCK)
#define MODEL_DEVICES	2u

/* Where a page is; devices are 0 and 1, and bits in masks. */
enum model_place { MODEL_ON_A, MODEL_ON_B, MODEL_HOME, MODEL_NOWHERE };

enum model_knob {
	MODEL_ENABLE,
	MODEL_THRESHOLD,
	MODEL_MIN_FAULTS,
	MODEL_ACROSS,
	MODEL_MOST,
	MODEL_KNOBS,
};

/* Without holes, to be compared as memory. */
struct model_advice {
	uint16_t preferred;		/* enum model_place; NOWHERE: none */
	uint16_t no_migrate;
	uint16_t granularity;		/* pages; 0: none */
	uint16_t knobs[MODEL_KNOBS];	/* plus one; 0: not set */
};

struct model_page {
	uint64_t value;
	uint32_t mapping;		/* alike: of one mapping */
	uint8_t at;
	uint8_t mapped;			/* devices that have an entry */
	uint8_t written;		/* of them, that may write */
	bool read_only;			/* perhaps: a write may have to copy first */
	struct model_advice advice;
};

/* A window that the CPU and devices have in turns. */
struct model_turns {
	struct model_window window;
	unsigned int turns;
	bool home;
};

struct model {
	struct model_page pages[MODEL_PAGES];
	struct model_run runs[MODEL_BLOCKS];
	struct model_turns turns[MODEL_BLOCKS];
	unsigned int faults[MODEL_DEVICES][MODEL_BLOCKS];	/* for policy */
	uint64_t all_faults[MODEL_DEVICES];
	uint16_t knobs[MODEL_KNOBS];	/* of the process, plus one; 0: not set */
};

/* What became of the pages of a prefetch. */
struct model_moves {
	unsigned int moved, there, stayed;
};

/* All of it one mapping, with nothing there. */
void model_init(struct model *model);

/* Pages that a mapping and advice have in common with this one, in its block. */
struct model_window model_alike(const struct model *model, unsigned int page);

/*
 * An access. @read_only: to be written the page has to be copied, which is known of
 * those that perhaps have to be.
 */
void model_device_touches(struct model *model, unsigned int page,
			  unsigned int dev, bool write, bool read_only);
void model_cpu_touches(struct model *model, unsigned int page, bool write);
bool model_has_entry(const struct model_page *page, unsigned int dev,
		     bool write);

/* @to: a device or home. */
struct model_moves model_prefetch(struct model *model, unsigned int first,
				  unsigned int count, enum model_place to);

/* The pages are gone, and their advice with the mapping. */
void model_discard(struct model *model, unsigned int first, unsigned int count);
void model_unmap(struct model *model, unsigned int first, unsigned int count);
/* Somewhere else; where they were there is nothing. */
void model_move(struct model *model, unsigned int from, unsigned int to,
		unsigned int count);
/* They may have lost the permission to be written in place. */
void model_protect(struct model *model, unsigned int first, unsigned int count);
/* Somebody else, or the device itself, has brought it home alone. */
void model_came_home(struct model *model, unsigned int page);
void model_evict(struct model *model, unsigned int dev);

/* What devices have of a page as it was found; of a block when all are known. */
void model_found_mapped(struct model *model, unsigned int page,
			unsigned int mapped, unsigned int written);
void model_found_block(struct model *model, unsigned int block);

/*
 * Whether the page has been taken in turns so often that one more may leave it at
 * home, if that is soon; and that some time has gone by since.
 */
bool model_is_in_turns(const struct model *model, unsigned int page);
void model_forget_turns(struct model *model, unsigned int page);

#endif
