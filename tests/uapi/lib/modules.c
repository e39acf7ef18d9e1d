// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "modules.h"

int module_insert(const char *name, const char *parameters)
{
	const char *dir = getenv("HMMRT_MODULE_DIR");
	char path[512];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s.ko", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
	close(fd);
	return rc;
}

int module_remove(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

static unsigned long parameter(const char *name)
{
	unsigned long value = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hmmrt_simgpu/parameters/%s",
		 name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%lu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

void simgpu_parameters(char *text, size_t size)
{
	snprintf(text, size, "devices=%lu memory=%lu", parameter("devices"),
		 parameter("memory"));
}
