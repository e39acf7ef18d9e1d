/* SPDX-License-Identifier: MIT */
/*
 * Residency: where each page of some blocks is after each operation.
 *
 * Model      Written from the UAPI header, docs/policy.md and the
 *            comments at the top of kmod/policy.c; the fault windows are
 *            those of tests/model/windows.h. The model does not use the
 *            modules and makes no system calls. The test does, and reports
 *            each operation.
 * Taken      from the kernel, not predicted: mapping boundaries, because mm
 *            merges mappings as it likes; and the entries that devices keep
 *            after CPU operations on the memory, because these may only get
 *            fewer.
 * Left out   what other tests model: read duplicates, entries made ahead of
 *            an access, peers (lib/world.h); and huge pages.
 */
#ifndef TESTS_UAPI_MODEL_H
#define TESTS_UAPI_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../../model/windows.h"

#define MODEL_BLOCKS	6u
#define MODEL_PAGES	(MODEL_BLOCKS * MODEL_BLOCK)
#define MODEL_DEVICES	2u

/* Location of a page. Devices are 0 and 1, and bits in masks. */
enum model_location { MODEL_ON_A, MODEL_ON_B, MODEL_ON_HOST, MODEL_NOWHERE };

enum model_knob {
	MODEL_ENABLE,
	MODEL_THRESHOLD,
	MODEL_MIN_FAULTS,
	MODEL_ACROSS,
	MODEL_MOST,
	MODEL_KNOBS,
};

/* Must have no padding: compared with memcmp(). */
struct model_advice {
	uint16_t preferred;		/* enum model_location; NOWHERE: none */
	uint16_t no_migrate;
	uint16_t granularity;		/* pages; 0: none */
	uint16_t knobs[MODEL_KNOBS];	/* value + 1; 0: not set */
};

struct model_page {
	uint64_t value;
	uint32_t mapping;		/* same number: same mapping */
	uint8_t at;
	uint8_t mapped;			/* devices that have an entry */
	uint8_t written;		/* devices with a writable entry */
	bool read_only;			/* a write may have to copy first */
	struct model_advice advice;
};

/* Thrash state: a window that the CPU and devices fault on in turns. */
struct model_turns {
	struct model_window window;
	unsigned int turns;
	bool on_host;
};

struct model {
	struct model_page pages[MODEL_PAGES];
	struct model_run runs[MODEL_BLOCKS];
	struct model_turns turns[MODEL_BLOCKS];
	unsigned int faults[MODEL_DEVICES][MODEL_BLOCKS];	/* for policy */
	uint64_t all_faults[MODEL_DEVICES];
	uint16_t knobs[MODEL_KNOBS];	/* value + 1; 0: not set */
};

/* Outcome of a prefetch, in pages. */
struct model_moves {
	unsigned int moved, there, stayed;
};

/* Starts with one mapping and no populated pages. */
void model_init(struct model *model);

/*
 * Returns the pages around @page, in its block, with the same mapping and
 * advice.
 */
struct model_window model_alike(const struct model *model, unsigned int page);

/*
 * Record an access. @read_only: a write has to copy the page first. This can
 * only be true of pages with model_page.read_only set.
 */
void model_device_touches(struct model *model, unsigned int page,
			  unsigned int dev, bool write, bool read_only);
void model_cpu_touches(struct model *model, unsigned int page, bool write);
bool model_has_entry(const struct model_page *page, unsigned int dev,
		     bool write);

/* @to: a device or MODEL_ON_HOST (system memory). */
struct model_moves model_prefetch(struct model *model, unsigned int first,
				  unsigned int count, enum model_location to);

/* model_discard() drops the pages; model_unmap() also drops their advice. */
void model_discard(struct model *model, unsigned int first, unsigned int count);
void model_unmap(struct model *model, unsigned int first, unsigned int count);
/* Moves pages to another address; the old address becomes empty. */
void model_move(struct model *model, unsigned int from, unsigned int to,
		unsigned int count);
/* A write to these pages may have to copy them first. */
void model_protect(struct model *model, unsigned int first, unsigned int count);
/*
 * Another process, or the device itself, migrated only this page back to system
 * memory.
 */
void model_migrated_back(struct model *model, unsigned int page);
void model_evict(struct model *model, unsigned int dev);

/*
 * Record the device entries found for a page; call model_found_block() after
 * all pages of the block.
 */
void model_found_mapped(struct model *model, unsigned int page,
			unsigned int mapped, unsigned int written);
void model_found_block(struct model *model, unsigned int block);

/*
 * model_is_in_turns() tells whether one more turn, if it follows soon, may
 * leave the page in system memory. model_forget_turns() records that enough
 * time has passed to reset the count.
 */
bool model_is_in_turns(const struct model *model, unsigned int page);
void model_forget_turns(struct model *model, unsigned int page);

#endif
