// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "modules.h"

int module_image_read(struct module_image *image, const char *name)
{
	const char *dir = getenv("HMMRT_MODULE_DIR");
	struct stat status;
	char path[512];
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s/%s.ko", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status)) {
		rc = -errno;
		goto out_close;
	}
	image->len = (size_t)status.st_size;
	image->data = malloc(image->len);
	if (!image->data)
		rc = -ENOMEM;
	else if (read(fd, image->data, image->len) != status.st_size)
		rc = -EIO;
	if (rc)
		module_image_free(image);
out_close:
	close(fd);
	return rc;
}

int module_image_insert(const struct module_image *image,
			const char *parameters)
{
	return syscall(SYS_init_module, image->data, image->len, parameters) ?
		       -errno :
		       0;
}

void module_image_free(struct module_image *image)
{
	free(image->data);
	image->data = NULL;
}

int module_insert(const char *name, const char *parameters)
{
	struct module_image image;
	int rc;

	rc = module_image_read(&image, name);
	if (rc)
		return rc;
	rc = module_image_insert(&image, parameters);
	module_image_free(&image);
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

/* 'Y' or 'N'. */
static char switch_parameter(const char *name)
{
	char path[128], value = 'Y';
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hmmrt_simgpu/parameters/%s",
		 name);
	file = fopen(path, "re");
	if (file && fread(&value, 1, 1, file) != 1)
		value = 'Y';
	if (file)
		fclose(file);
	return value;
}

void simgpu_parameters(char *text, size_t size)
{
	snprintf(text, size, "devices=%lu memory=%lu native_atomics=%c",
		 parameter("devices"), parameter("memory"),
		 switch_parameter("native_atomics"));
}
