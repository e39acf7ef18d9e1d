// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setting.h"
#include "tracing.h"

#define TRACEFS	"/sys/kernel/tracing/"
#define EVENTS	TRACEFS "events/hmmrt/enable"

/* Opening the file with O_TRUNC clears the trace buffer. */
static bool forget(void)
{
	FILE *file = fopen(TRACEFS "trace", "we");

	return file && !fclose(file);
}

bool tracing_start(void)
{
	return forget() && write_text(EVENTS, "1") &&
	       write_text(TRACEFS "tracing_on", "1");
}

void tracing_stop(void)
{
	write_text(EVENTS, "0");
	forget();
}

/*
 * For each event of that name that contains @part, calls @visit with the text
 * after it.
 */
static void each_event(const char *event, const char *part,
		       void (*visit)(const char *text, unsigned long *sum),
		       unsigned long *sum)
{
	FILE *file = fopen(TRACEFS "trace", "re");
	char *line = NULL, name[64];
	size_t size = 0;

	if (!file)
		return;
	/* Lines look like "lane-1 [000] ..... 1.2: hmmrt_evict: device=0". */
	snprintf(name, sizeof(name), ": %s: ", event);
	while (getline(&line, &size, file) > 0) {
		const char *found = strstr(line, name);

		if (found)
			found = strstr(found + strlen(name), part);
		if (found)
			visit(found + strlen(part), sum);
	}
	free(line);
	fclose(file);
}

static void add_one(const char *text, unsigned long *sum)
{
	(void)text;
	++*sum;
}

unsigned int tracing_count(const char *event, const char *part)
{
	unsigned long n = 0;

	each_event(event, part, add_one, &n);
	return (unsigned int)n;
}

static void keep_most(const char *text, unsigned long *most)
{
	unsigned long number = strtoul(text, NULL, 10);

	if (number > *most)
		*most = number;
}

unsigned long tracing_most(const char *event, const char *field)
{
	unsigned long most = 0;

	each_event(event, field, keep_most, &most);
	return most;
}
