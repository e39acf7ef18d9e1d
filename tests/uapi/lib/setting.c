// SPDX-License-Identifier: MIT
#include <fcntl.h>
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

bool set_huge_pages(const char *count)
{
	return write_text("/proc/sys/vm/nr_hugepages", count);
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
