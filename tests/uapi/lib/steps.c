// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "steps.h"

#define FAILURES_SAID	8

void steps_note(struct steps *steps, const char *format, ...)
{
	char *line = steps->lines[steps->now % STEPS_KEPT];
	va_list args;
	int n = snprintf(line, STEPS_BYTES, "%lu: ", steps->now);

	va_start(args, format);
	vsnprintf(line + n, STEPS_BYTES - (size_t)n, format, args);
	va_end(args);
}

static void say_how(const struct steps *steps)
{
	unsigned long i = steps->now < STEPS_KEPT ? 0 :
						    steps->now - STEPS_KEPT + 1;

	for (; i <= steps->now; i++)
		fprintf(stderr, "# %s\n", steps->lines[i % STEPS_KEPT]);
}

void steps_fail(struct steps *steps, const char *format, ...)
{
	va_list args;

	if (!steps->failures++)
		say_how(steps);
	if (steps->failures > FAILURES_SAID)
		return;
	va_start(args, format);
	fputs("# ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}
