// SPDX-License-Identifier: MIT
#include <string.h>

#include "model.h"

static const struct model_advice no_advice = { .preferred = MODEL_NOWHERE };
static const uint16_t defaults[MODEL_KNOBS] = { 1, 51, 1, 1, 512 };

/* Number of turns after which a window is no longer migrated. */
#define TURNS_MAX	4

static unsigned int block_of(unsigned int page)
{
	return page / MODEL_BLOCK;
}

static unsigned int min_of(unsigned int one, unsigned int two)
{
	return one < two ? one : two;
}

static unsigned int max_of(unsigned int one, unsigned int two)
{
	return one > two ? one : two;
}

/* A range's setting overrides the setting of the process. */
static unsigned int knob_at(const struct model *model, unsigned int page,
			    enum model_knob knob)
{
	uint16_t set = model->pages[page].advice.knobs[knob];

	if (!set)
		set = model->knobs[knob];
	return set ? set - 1u : defaults[knob];
}

static struct model_knobs knobs_at(const struct model *model,
				   unsigned int page)
{
	return (struct model_knobs){
		.enable = knob_at(model, page, MODEL_ENABLE),
		.threshold = knob_at(model, page, MODEL_THRESHOLD),
		.min_faults = knob_at(model, page, MODEL_MIN_FAULTS),
		.across = knob_at(model, page, MODEL_ACROSS),
		.most = knob_at(model, page, MODEL_MOST),
	};
}

static bool alike(const struct model_page *one, const struct model_page *two)
{
	return one->mapping == two->mapping &&
	       !memcmp(&one->advice, &two->advice, sizeof(one->advice));
}

struct model_window model_alike(const struct model *model, unsigned int page)
{
	const struct model_page *pages = model->pages;
	unsigned int start = page - page % MODEL_BLOCK;
	unsigned int first = page, end = page + 1;

	while (first > start && alike(&pages[first - 1], &pages[page]))
		first--;
	while (end < start + MODEL_BLOCK && alike(&pages[end], &pages[page]))
		end++;
	return (struct model_window){ first, end - first };
}

/* Limits a window (in pages of the block) to the page's mapping and advice. */
static struct model_window clip(const struct model *model, unsigned int page,
				struct model_window window)
{
	struct model_window same = model_alike(model, page);
	unsigned int start = page - page % MODEL_BLOCK;
	unsigned int first = max_of(same.first, start + window.first);
	unsigned int end = min_of(same.first + same.count,
				  start + window.first + window.count);

	return (struct model_window){ first, end - first };
}

static unsigned int mapped_of(const struct model *model, unsigned int block,
			      unsigned int dev)
{
	const struct model_page *page = &model->pages[block * MODEL_BLOCK];
	unsigned int n = 0;

	for (unsigned int i = 0; i < MODEL_BLOCK; i++)
		n += page[i].mapped >> dev & 1;
	return n;
}

/* Remove the devices' entries for these pages of one block. */
static void invalidate(struct model *model, unsigned int first,
		       unsigned int count)
{
	unsigned int had = 0;

	for (unsigned int i = first; i < first + count; i++) {
		had |= model->pages[i].mapped;
		model->pages[i].mapped = 0;
		model->pages[i].written = 0;
	}
	for (unsigned int dev = 0; dev < MODEL_DEVICES; dev++)
		if ((had >> dev & 1) &&
		    !mapped_of(model, block_of(first), dev))
			model->faults[dev][block_of(first)] = 0;
}

static struct model_window device_window(const struct model *model,
					 unsigned int page, unsigned int dev)
{
	const unsigned int block = block_of(page);
	unsigned char mapped[MODEL_BLOCK];
	struct model_knobs knobs = knobs_at(model, page);
	struct model_density density = {
		.mapped = mapped,
		.faults = model->faults[dev][block],
		.before = block ? mapped_of(model, block - 1, dev) : 0,
		.after = block + 1 < MODEL_BLOCKS ?
				 mapped_of(model, block + 1, dev) :
				 0,
	};

	for (unsigned int i = 0; i < MODEL_BLOCK; i++)
		mapped[i] = model->pages[block * MODEL_BLOCK + i].mapped >> dev &
			    1;
	return clip(model, page,
		    model_device_window(&density, page % MODEL_BLOCK,
					model->pages[page].advice.granularity,
					&knobs));
}

/* Returns how many pages were on a device. */
static unsigned int window_to_host(struct model *model,
				   struct model_window window)
{
	unsigned int i, n = 0;

	for (i = window.first; i < window.first + window.count; i++) {
		if (model->pages[i].at >= MODEL_ON_HOST)
			continue;
		model->pages[i].at = MODEL_ON_HOST;
		n++;
	}
	if (n)
		invalidate(model, window.first, window.count);
	return n;
}

/* The CPU faults on a page that is on a device. */
static void migrate_back(struct model *model, unsigned int page)
{
	const struct model_advice *advice = &model->pages[page].advice;
	struct model_knobs knobs = knobs_at(model, page);
	unsigned int block = block_of(page);
	struct model_turns *turns = &model->turns[block];
	const struct model_run run = model->runs[block];
	struct model_window window;
	unsigned int moved;

	window = model_host_window(&model->runs[block],
				   block ? &model->runs[block - 1] : NULL,
				   page % MODEL_BLOCK, advice->granularity,
				   advice->preferred < MODEL_ON_HOST, &knobs);
	if (window.first != turns->window.first ||
	    window.count != turns->window.count)
		turns->turns = 0;
	turns->window = window;
	turns->on_host = true;
	moved = window_to_host(model, clip(model, page, window));
	/* What the last window left behind does not end the run. */
	if (moved == 1 && page % MODEL_BLOCK < run.next &&
	    page % MODEL_BLOCK + run.count >= run.next)
		model->runs[block] = run;
}

static bool moves(const struct model_advice *advice, unsigned int dev)
{
	if (advice->no_migrate)
		return false;
	return advice->preferred == dev || advice->preferred == MODEL_NOWHERE;
}

/* Map what the device can reach: its own memory and system memory. */
static void map_window(struct model *model, struct model_window window,
		       unsigned int dev)
{
	unsigned int i;

	for (i = window.first; i < window.first + window.count; i++)
		if (model->pages[i].at == dev ||
		    model->pages[i].at == MODEL_ON_HOST)
			model->pages[i].mapped |= 1u << dev;
}

/*
 * Also moves unpopulated pages, as they have no contents. Returns how many
 * moved.
 */
static unsigned int move_window(struct model *model,
				struct model_window window, unsigned int dev)
{
	unsigned int i, n = 0, first = 0, end = 0;

	for (i = window.first; i < window.first + window.count; i++) {
		if (model->pages[i].at == dev)
			continue;
		if (!n++)
			first = i;
		end = i + 1;
		model->pages[i].at = dev;
	}
	if (n)
		invalidate(model, first, end - first);
	return n;
}

/* A device fault that populates a page populates the whole window. */
static void fill_holes(struct model *model, struct model_window window)
{
	unsigned int i;

	for (i = window.first; i < window.first + window.count; i++)
		if (model->pages[i].at == MODEL_NOWHERE)
			model->pages[i].at = MODEL_ON_HOST;
}

static void take_turn(struct model *model, unsigned int page)
{
	struct model_turns *turns = &model->turns[block_of(page)];
	unsigned int at = page % MODEL_BLOCK;

	if (at < turns->window.first ||
	    at >= turns->window.first + turns->window.count)
		return;
	turns->turns += turns->on_host;
	turns->on_host = false;
}

bool model_has_entry(const struct model_page *page, unsigned int dev,
		     bool write)
{
	return (write ? page->written : page->mapped) >> dev & 1;
}

void model_device_touches(struct model *model, unsigned int page,
			  unsigned int dev, bool write, bool read_only)
{
	struct model_page *touched = &model->pages[page];
	struct model_window window;

	if (!model_has_entry(touched, dev, write)) {
		model->faults[dev][block_of(page)]++;
		model->all_faults[dev]++;
		for (;;) {
			window = device_window(model, page, dev);
			if (moves(&touched->advice, dev)) {
				take_turn(model, page);
				move_window(model, window, dev);
			} else if (touched->at == MODEL_NOWHERE) {
				fill_holes(model, window);
			}
			map_window(model, window, dev);
			/* The other device's page moves to system memory. */
			if (touched->at < MODEL_ON_HOST &&
			    (touched->at != dev || (write && read_only))) {
				migrate_back(model, page);
				read_only = false;
				continue;
			}
			break;
		}
	}
	if (write)
		touched->read_only = false;
}

void model_cpu_touches(struct model *model, unsigned int page, bool write)
{
	struct model_page *touched = &model->pages[page];

	if (touched->at < MODEL_ON_HOST)
		migrate_back(model, page);
	touched->at = MODEL_ON_HOST;
	if (write)
		touched->read_only = false;
}

/* All pages of @part have the same advice. */
static void prefetch_part(struct model *model, struct model_window part,
			  enum model_location to, struct model_moves *moves)
{
	unsigned int i, n = 0, stayed = 0;

	if (to == MODEL_ON_HOST)
		n = window_to_host(model, part);
	else if (!model->pages[part.first].advice.no_migrate)
		n = move_window(model, part, to);
	else
		for (i = part.first; i < part.first + part.count; i++)
			stayed += model->pages[i].at != to;
	if (to != MODEL_ON_HOST)
		map_window(model, part, to);
	moves->moved += n;
	moves->stayed += stayed;
	moves->there += part.count - n - stayed;
}

struct model_moves model_prefetch(struct model *model, unsigned int first,
				  unsigned int count, enum model_location to)
{
	unsigned int end = first + count;
	struct model_moves moves = { 0 };

	while (first < end) {
		struct model_window part = model_alike(model, first);

		part.count = min_of(end, part.first + part.count) - first;
		part.first = first;
		prefetch_part(model, part, to, &moves);
		first += part.count;
	}
	return moves;
}

void model_discard(struct model *model, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++) {
		model->pages[i].at = MODEL_NOWHERE;
		model->pages[i].value = 0;
		model->pages[i].read_only = false;
	}
}

void model_unmap(struct model *model, unsigned int first, unsigned int count)
{
	model_discard(model, first, count);
	for (unsigned int i = first; i < first + count; i++)
		model->pages[i].advice = no_advice;
	for (unsigned int block = 0; block < MODEL_BLOCKS; block++) {
		struct model_run *run = &model->runs[block];
		unsigned int end = block * MODEL_BLOCK + run->next;

		if (first < end && first + count > end - run->count)
			*run = (struct model_run){ 0 };
	}
}

void model_move(struct model *model, unsigned int from, unsigned int to,
		unsigned int count)
{
	model_unmap(model, to, count);
	for (unsigned int i = 0; i < count; i++) {
		model->pages[to + i].at = model->pages[from + i].at;
		model->pages[to + i].value = model->pages[from + i].value;
		model->pages[to + i].read_only =
			model->pages[from + i].read_only;
	}
	model_unmap(model, from, count);
}

void model_protect(struct model *model, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++)
		if (model->pages[i].at != MODEL_NOWHERE)
			model->pages[i].read_only = true;
}

void model_migrated_back(struct model *model, unsigned int page)
{
	if (model->pages[page].at < MODEL_ON_HOST)
		model->pages[page].at = MODEL_ON_HOST;
}

void model_evict(struct model *model, unsigned int dev)
{
	for (unsigned int i = 0; i < MODEL_PAGES; i++)
		if (model->pages[i].at == dev)
			model->pages[i].at = MODEL_ON_HOST;
}

void model_found_mapped(struct model *model, unsigned int page,
			unsigned int mapped, unsigned int written)
{
	model->pages[page].mapped = mapped;
	model->pages[page].written = written;
}

void model_found_block(struct model *model, unsigned int block)
{
	for (unsigned int dev = 0; dev < MODEL_DEVICES; dev++)
		if (!mapped_of(model, block, dev))
			model->faults[dev][block] = 0;
}

bool model_is_in_turns(const struct model *model, unsigned int page)
{
	/* One fault may take two turns, if it has to copy the page. */
	return model->turns[block_of(page)].turns + 2 > TURNS_MAX;
}

void model_forget_turns(struct model *model, unsigned int page)
{
	model->turns[block_of(page)].turns = 0;
	model->turns[block_of(page)].on_host = false;
}

void model_init(struct model *model)
{
	memset(model, 0, sizeof(*model));
	model_unmap(model, 0, MODEL_PAGES);
}
