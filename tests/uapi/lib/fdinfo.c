// SPDX-License-Identifier: MIT
#include "fdinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fdinfo_read(const char *proc, pid_t pid, int fd, char text[FDINFO_BYTES])
{
	char path[128];
	size_t have = 0;
	ssize_t got;
	int info;

	snprintf(path, sizeof(path), "%s/%d/fdinfo/%d", proc, pid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -errno;
	do {
		got = read(info, text + have, FDINFO_BYTES - 1 - have);
		if (got < 0)
			got = -errno;
		else
			have += got;
	} while (got > 0);
	close(info);
	text[have] = 0;
	return got;
}

/* Returns the first line that begins with @start, or NULL. */
static const char *find_line(const char *text, const char *start)
{
	while (text && strncmp(text, start, strlen(start)) != 0) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text;
}

unsigned int fdinfo_lines(const char *text, const char *start)
{
	unsigned int lines = 0;

	for (text = find_line(text, start); text;
	     text = find_line(strchr(text, '\n'), start)) {
		lines++;
		if (!strchr(text, '\n'))
			break;
	}
	return lines;
}

uint64_t fdinfo_value(const char *text, const char *key)
{
	char start[80], *end;
	const char *line;
	uint64_t value;

	snprintf(start, sizeof(start), "%s:\t", key);
	line = find_line(text, start);
	if (!line || fdinfo_lines(text, start) != 1)
		return FDINFO_NONE;
	value = strtoull(line + strlen(start), &end, 10);
	return *end == '\n' && end != line + strlen(start) ? value :
							      FDINFO_NONE;
}
