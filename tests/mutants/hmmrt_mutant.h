/* SPDX-License-Identifier: GPL-2.0-only */
/* What mutants of the modules call: see tests/mutants/mutate. */
#ifndef HMMRT_MUTANT_H
#define HMMRT_MUTANT_H

#ifdef __KERNEL__
#include <linux/compiler.h>
#include <linux/types.h>

#define HMMRT_MUTANTS	1000	/* their numbers are smaller */

extern unsigned int hmmrt_mutant;
extern u8 hmmrt_mutants_reached[HMMRT_MUTANTS];

/* Return whether this mutant is the one to run, and record that it could. */
static inline bool hmmrt_is_mutant(unsigned int number)
{
	WRITE_ONCE(hmmrt_mutants_reached[number], 1);
	return READ_ONCE(hmmrt_mutant) == number;
}

#else
#include <stdbool.h>
#include <stdlib.h>

static inline bool hmmrt_is_mutant(unsigned int number)
{
	static int active = -1;

	if (active < 0)
		active = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0;
	return (unsigned int)active == number;
}
#endif

#endif
