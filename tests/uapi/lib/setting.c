// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "setting.h"

bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

bool read_word(const char *path, char word[16])
{
	FILE *file = fopen(path, "re");
	bool found;

	if (!file)
		return false;
	found = fscanf(file, "%15s", word) == 1;
	fclose(file);
	return found;
}

long read_number(const char *path, const char *format)
{
	FILE *file = fopen(path, "re");
	char line[256];
	long number = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) == 1)
			break;
	if (file)
		fclose(file);
	return number;
}

#define HUGE_PAGES	"/proc/sys/vm/nr_hugepages"

bool set_huge_pages(const char *count)
{
	char got[16];

	if (atoi(count))
		write_text("/proc/sys/vm/compact_memory", "1");
	if (!write_text(HUGE_PAGES, count) || !read_word(HUGE_PAGES, got))
		return false;
	if (atoi(got) >= atoi(count))
		return true;
	write_text(HUGE_PAGES, "0");
	return false;
}

bool set_oversubscription(bool on)
{
	return write_text("/sys/module/hmmrt/parameters/oversubscription",
			  on ? "Y" : "N");
}

bool set_evict_by_access(bool on)
{
	return write_text("/sys/module/hmmrt/parameters/evict_by_access",
			  on ? "Y" : "N");
}

bool set_leave_wait(const char *seconds)
{
	return write_text("/sys/module/hmmrt/parameters/leave_wait", seconds);
}

void merging_start(void)
{
	write_text("/sys/kernel/mm/ksm/pages_to_scan", "20000");
	write_text("/sys/kernel/mm/ksm/sleep_millisecs", "10");
	write_text("/sys/kernel/mm/ksm/run", "1");
}

void merging_end(void)
{
	write_text("/sys/kernel/mm/ksm/run", "0");
}
