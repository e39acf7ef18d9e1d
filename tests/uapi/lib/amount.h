/* SPDX-License-Identifier: MIT */
/*
 * The amount of work of a test. On a debug kernel, which is several times
 * slower, tests do fewer rounds of the same, use fewer pages and smaller
 * devices, or try fewer combinations, in which each case still occurs.
 * HMMRT_TEST_LONG=yes, which `tools/vm test --long` sets, makes them do the full
 * amount there, too, and HMMRT_TEST_LONG=no the smaller one on any kernel. The
 * cases of a test, and what it compares, do not depend on the amount.
 */
#ifndef TESTS_UAPI_AMOUNT_H
#define TESTS_UAPI_AMOUNT_H

#include <stdbool.h>

/* Returns @full, or @on_debug on a debug kernel. */
unsigned long amount(unsigned long full, unsigned long on_debug);

/* Returns whether HMMRT_TEST_LONG asks for the full amount on any kernel. */
bool amount_is_long(void);

#endif
