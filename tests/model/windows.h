/* SPDX-License-Identifier: MIT */
/*
 * The window of pages that a fault moves: a second implementation of the
 * documented rules. For tests in C and C++.
 *
 * Sources    The comments at the top of kmod/policy.c and at enum
 *            hmmrt_knob_id, not the code. It is slow and simple on purpose:
 *            it checks for each window whether the rule applies.
 */
#ifndef TESTS_MODEL_WINDOWS_H
#define TESTS_MODEL_WINDOWS_H

#include <stdbool.h>

#define MODEL_BLOCK	512u
#define MODEL_GRANULE	16u	/* 64 KiB */

/* The knobs that determine windows. */
struct model_knobs {
	unsigned int enable;
	unsigned int threshold;
	unsigned int min_faults;
	unsigned int across;
	unsigned int most;	/* cpu_fault_max_pages */
};

struct model_window {
	unsigned int first;
	unsigned int count;
};

/* Sequential CPU faults in one block. */
struct model_run {
	unsigned int next;	/* page that would continue it */
	unsigned int count;	/* pages of the last window; 0: none */
	bool from_start;
};

/* Pages of a block that a device maps when it faults in that block. */
struct model_density {
	const unsigned char *mapped;	/* for each page; 0: not mapped */
	unsigned int faults;		/* in the block, including this one */
	unsigned int before, after;	/* in adjacent blocks */
};

static inline struct model_window model_span(unsigned int first,
					     unsigned int count)
{
	struct model_window window;

	window.first = first;
	window.count = count;
	return window;
}

static inline struct model_window model_aligned(unsigned int page,
						unsigned int count)
{
	return model_span(page / count * count, count);
}

static inline bool model_more_than(unsigned int pages, unsigned int of,
				   const struct model_knobs *knobs)
{
	return 100.0 * pages / of > knobs->threshold;
}

/* Counts the mapped pages of a window, with the granule of @page as mapped. */
static inline unsigned int model_weight(const unsigned char *mapped,
					struct model_window window,
					unsigned int page)
{
	unsigned int i, n = 0;

	for (i = window.first; i < window.first + window.count; i++)
		n += mapped[i] || i / MODEL_GRANULE == page / MODEL_GRANULE;
	return n;
}

/* @granularity: advice, in pages; 0: none. */
static inline struct model_window
model_device_window(const struct model_density *density, unsigned int page,
		    unsigned int granularity, const struct model_knobs *knobs)
{
	const unsigned int last = MODEL_BLOCK / MODEL_GRANULE - 1;
	unsigned int count;

	if (granularity)
		return model_aligned(page, granularity);
	if (!knobs->enable || density->faults < knobs->min_faults)
		return model_aligned(page, MODEL_GRANULE);
	if (knobs->across && page / MODEL_GRANULE == 0 &&
	    model_more_than(density->before, MODEL_BLOCK, knobs))
		return model_span(0, MODEL_BLOCK);
	if (knobs->across && page / MODEL_GRANULE == last &&
	    model_more_than(density->after, MODEL_BLOCK, knobs))
		return model_span(0, MODEL_BLOCK);
	for (count = MODEL_BLOCK; count > MODEL_GRANULE; count /= 2) {
		struct model_window window = model_aligned(page, count);

		if (model_more_than(model_weight(density->mapped, window, page),
				    count, knobs))
			return window;
	}
	return model_aligned(page, MODEL_GRANULE);
}

/*
 * Limits a window to @most pages: the first ones if they include @page,
 * otherwise those that end with @page. The window of a continued run starts
 * with @page.
 */
static inline struct model_window model_cut(struct model_window window,
					    unsigned int page,
					    unsigned int most)
{
	if (window.count <= most)
		return window;
	if (page - window.first >= most)
		window.first = page - most + 1;
	window.count = most;
	return window;
}

/*
 * @preferred: the page's preferred location is a device.
 * @before: the run of the block before, or NULL.
 */
static inline struct model_window
model_host_window(struct model_run *run, const struct model_run *before,
		  unsigned int page, unsigned int granularity, bool preferred,
		  const struct model_knobs *knobs)
{
	bool continues = run->count && run->next == page;
	struct model_window window;

	if (granularity)
		return model_aligned(page, granularity);
	if (preferred)
		return model_span(page, 1);
	if (!page && before && knobs->across && before->from_start &&
	    before->next == MODEL_BLOCK)
		window = model_span(0, MODEL_BLOCK);
	else if (continues)
		window = model_span(page, 2 * run->count);
	else
		window = model_aligned(page, MODEL_GRANULE);
	window = model_cut(window, page, knobs->most);
	if (window.first + window.count > MODEL_BLOCK)
		window.count = MODEL_BLOCK - window.first;
	run->from_start = window.first == 0 || (continues && run->from_start);
	run->next = window.first + window.count;
	run->count = window.count;
	return window;
}

#endif
