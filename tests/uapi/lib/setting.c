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

#define HUGE_PAGES	"/proc/sys/vm/nr_hugepages"

bool set_huge_pages(const char *count)
{
	int wanted = atoi(count), got = -1;
	FILE *file;

	if (wanted)
		write_text("/proc/sys/vm/compact_memory", "1");
	if (!write_text(HUGE_PAGES, count))
		return false;
	file = fopen(HUGE_PAGES, "re");
	if (!file)
		return false;
	if (fscanf(file, "%d", &got) != 1)
		got = -1;
	fclose(file);
	if (got >= wanted)
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
