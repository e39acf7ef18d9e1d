/* SPDX-License-Identifier: MIT */
/*
 * Random steps: chooses them, and keeps the last ones to print them on failure.
 */
#ifndef TESTS_UAPI_STEPS_H
#define TESTS_UAPI_STEPS_H

#include <stdint.h>

#define STEPS_KEPT	24
#define STEPS_BYTES	128

/* Initialise with zeroes. */
struct steps {
	unsigned long now;		/* current step; the caller counts */
	unsigned int failures;
	uint64_t random;
	unsigned int near;		/* page chosen last */
	char lines[STEPS_KEPT][STEPS_BYTES];
};

/* Sets the random seed, which is that of test_seed(). */
void steps_seed(struct steps *steps);

/* Returns a random number below @n. */
unsigned int steps_below(struct steps *steps, unsigned int n);

/*
 * Returns a random page: often one of the @near pages from the last one on, or
 * an end of a block.
 */
unsigned int steps_page(struct steps *steps, unsigned int pages,
			unsigned int near);

/* Takes a step from a table of functions take(@walk) and their weights. */
#define STEPS_TAKE(walk, table)						\
	do {								\
		const size_t _n = sizeof(table) / sizeof(*(table));	\
		unsigned int _at = 0, _i;				\
									\
		for (_i = 0; _i < _n; _i++)				\
			_at += (table)[_i].weight;			\
		_at = steps_below(&(walk)->steps, _at);			\
		for (_i = 0; _at >= (table)[_i].weight; _i++)		\
			_at -= (table)[_i].weight;			\
		(table)[_i].take(walk);					\
	} while (0)

/* Records the current step. */
void steps_note(struct steps *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reports a failure. The first failure also prints the recorded steps. */
void steps_fail(struct steps *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
