// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "session.h"
#include "steps.h"

#define FAILURES_SAID	8

void steps_seed(struct steps *steps)
{
	steps->random = 0x9e3779b97f4a7c15ULL * (1 + test_seed());
}

unsigned int steps_below(struct steps *steps, unsigned int n)
{
	steps->random ^= steps->random << 13;
	steps->random ^= steps->random >> 7;
	steps->random ^= steps->random << 17;
	return (unsigned int)((steps->random >> 16) % n);
}

unsigned int steps_page(struct steps *steps, unsigned int pages,
			unsigned int near)
{
	unsigned int kind = steps_below(steps, 8);
	unsigned int page = steps_below(steps, pages);

	if (kind < 4)
		page = (steps->near + steps_below(steps, near)) % pages;
	else if (kind == 4)
		page -= page % BLOCK_PAGES;
	else if (kind == 5)
		page += BLOCK_PAGES - 1 - page % BLOCK_PAGES;
	steps->near = page;
	return page;
}

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
