/* SPDX-License-Identifier: MIT */
/*
 * The amount of work of a test. On a debug kernel, which is several times
 * slower, tests do fewer rounds, use fewer pages and smaller devices, or try
 * fewer combinations, but still cover every case. HMMRT_TEST_LONG=yes, which
 * `tools/vm test --long` sets, makes them do the full amount there too.
 * HMMRT_TEST_LONG=no selects the smaller amount on any kernel. The cases of a
 * test and its checks don't depend on the amount.
 */
#ifndef TESTS_UAPI_AMOUNT_H
#define TESTS_UAPI_AMOUNT_H

#include <stdbool.h>

/* Returns @full, or @on_debug on a debug kernel. */
unsigned long amount(unsigned long full, unsigned long on_debug);

/* Returns whether HMMRT_TEST_LONG asks for the full amount on any kernel. */
bool amount_is_long(void);

#endif
