// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses the mutant that the other modules run. A module of its own, so that
 * tests that reload those don't change the choice.
 */
#include <linux/module.h>

#include "hmmrt_mutant.h"

unsigned int hmmrt_mutant;
EXPORT_SYMBOL_GPL(hmmrt_mutant);
module_param_named(mutant, hmmrt_mutant, uint, 0644);
MODULE_PARM_DESC(mutant, "Number of the mutant to run (0: none)");

u8 hmmrt_mutants_reached[HMMRT_MUTANTS];
EXPORT_SYMBOL_GPL(hmmrt_mutants_reached);
module_param_array_named(reached, hmmrt_mutants_reached, byte, NULL, 0644);
MODULE_PARM_DESC(reached, "For each mutant: 1 if its code has run");

MODULE_DESCRIPTION("chooses a mutant of hmmrt");
MODULE_LICENSE("GPL");
