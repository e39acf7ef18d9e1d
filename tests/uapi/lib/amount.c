// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amount.h"

unsigned long amount(unsigned long full, unsigned long on_debug)
{
	const char *text = getenv("HMMRT_TEST_LONG");

	if (text)
		return strcmp(text, "no") ? full : on_debug;
	/*
	 * Of the kernels in tools/kernel, only the debug flavour has kmemleak.
	 */
	return access("/sys/kernel/debug/kmemleak", F_OK) ? full : on_debug;
}

bool amount_is_long(void)
{
	const char *text = getenv("HMMRT_TEST_LONG");

	return text && strcmp(text, "no");
}
