/* SPDX-License-Identifier: MIT */
/*
 * A random walk of operations on some blocks: its devices, its memory, and the
 * comparison of what the module reports with the model (model.h). Differences
 * are reported by steps_fail().
 */
#ifndef TESTS_UAPI_WALK_H
#define TESTS_UAPI_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "faulty_session.h"
#include "model.h"
#include "steps.h"

/* Initialise with zeroes. */
struct walk {
	struct model model;
	bool evicts;			/* uses devices of hmmrt_faulty */
	uint64_t faults_before[MODEL_DEVICES];
	char *base;
	uint64_t last_value;
	struct steps steps;
	struct hmmrt_page found[MODEL_PAGES];
};

enum entries {
	FEWER,		/* the CPU may have removed some */
	EXACTLY,
};

char *walk_addr(const struct walk *walk, unsigned int page);

/* Compares a page of the model with what was found. */
void walk_compare(struct walk *walk, unsigned int index,
		  const struct hmmrt_page *found, enum entries entries);
/* Compares all pages of all blocks that contain some of these pages. */
void walk_check_pages(struct walk *walk, unsigned int first,
		      unsigned int count, enum entries entries);
/* Compares all pages, and the numbers of device faults. */
void walk_check_all(struct walk *walk);

/* Gives the model the mappings: mm decides where they start and end. */
void walk_find_mappings(struct walk *walk);

#endif
