// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd.h"
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

/* Appends a parameter in the format of module_insert(). */
static void add_parameter(char *text, size_t size, const char *name)
{
	char path[128], value[256];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hmmrt_simgpu/parameters/%s",
		 name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%255s", value) == 1)
		snprintf(text + strlen(text), size - strlen(text), "%s=%s ",
			 name, value);
	if (file)
		fclose(file);
}

void simgpu_parameters(char *text, size_t size)
{
	text[0] = 0;
	add_parameter(text, size, "devices");
	add_parameter(text, size, "memory");
	add_parameter(text, size, "node");
	add_parameter(text, size, "coherent");
	add_parameter(text, size, "native_atomics");
	add_parameter(text, size, "fault_in_place");
}

const char *two_devices(size_t bytes)
{
	static char module[32];

	snprintf(module, sizeof(module), "devices=2 memory=%zu", bytes >> 20);
	return module;
}

/* Killed processes take a moment to release the module. */
int simgpu_remove(void)
{
	int rc = -EWOULDBLOCK;

	for (unsigned int try = 0; try < 6000 && rc == -EWOULDBLOCK; try++) {
		if (try)
			usleep(10000);
		rc = module_remove("hmmrt_simgpu");
	}
	return rc;
}

static int simgpu_load(const char *parameters)
{
	int rc = simgpu_remove();

	/* A failed test may have left the module unloaded. */
	if (rc && rc != -ENOENT)
		return rc;
	return module_insert("hmmrt_simgpu", parameters);
}

int simgpu_replace(char before[SIMGPU_PARAMETERS], const char *parameters)
{
	simgpu_parameters(before, SIMGPU_PARAMETERS);
	return simgpu_load(parameters);
}

/* Returns whether device N of hmmrt_simgpu has the id N. */
static bool ids_are_usual(void)
{
	int fd = open_manager(), rc = fd;
	uint32_t id, number = 0;
	char name[32];

	while (rc >= 0) {
		snprintf(name, sizeof(name), "hmmrt-gpu%u", number);
		rc = device_named(fd, name, &id);
		if (!rc && id != number++)
			rc = -EBUSY;
	}
	close(fd);
	return rc == -ENODEV;
}

int simgpu_restore(const char *before)
{
	unsigned int try;
	int rc = -EBUSY;

	for (try = 0; try < 100; try++) {
		rc = simgpu_load(before);
		if (rc || ids_are_usual())
			return rc;
		usleep(200000);
	}
	return -EBUSY;
}

unsigned int coherent_regions(unsigned long starts[COHERENT_REGIONS])
{
	const char *text = getenv("HMMRT_COHERENT_MEMORY");
	unsigned int n = 0;
	char *end;

	if (!text || !getenv("HMMRT_MODULE_DIR"))
		return 0;
	while (n < COHERENT_REGIONS) {
		starts[n] = strtoul(text, &end, 0);
		if (end == text)
			break;
		text = end;
		n++;
	}
	return n;
}

int dmirror_insert(unsigned int mib, const unsigned long *starts)
{
	char text[128];
	int len = snprintf(text, sizeof(text), "memory=%u", mib);

	if (starts)
		snprintf(text + len, sizeof(text) - len,
			 " spm_addr_dev0=%#lx spm_addr_dev1=%#lx", starts[0],
			 starts[1]);
	return module_insert("hmmrt_dmirror", text);
}
