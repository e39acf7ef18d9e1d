// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setting.h"
#include "tracing.h"

#define TRACEFS	"/sys/kernel/tracing/"
#define EVENTS	TRACEFS "events/hmmrt/enable"

/* To open it in order to write it anew is to forget what there was. */
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

unsigned int tracing_count(const char *event, const char *part)
{
	FILE *file = fopen(TRACEFS "trace", "re");
	unsigned int n = 0;
	char *line = NULL, name[64];
	size_t size = 0;

	if (!file)
		return 0;
	/* As in "lane-123 [000] ..... 12.345: hmmrt_evict: device=0 ...". */
	snprintf(name, sizeof(name), ": %s: ", event);
	while (getline(&line, &size, file) > 0) {
		const char *found = strstr(line, name);

		n += found && strstr(found + strlen(name), part);
	}
	free(line);
	fclose(file);
	return n;
}
