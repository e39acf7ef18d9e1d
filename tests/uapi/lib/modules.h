/* SPDX-License-Identifier: MIT */
/*
 * Loads and unloads modules from the directory that HMMRT_MODULE_DIR names.
 * Results are 0 or a negative errno.
 */
#ifndef TESTS_UAPI_MODULES_H
#define TESTS_UAPI_MODULES_H

#include <stddef.h>

int module_insert(const char *name, const char *parameters);

/* The same in two steps; inserting the image needs no file system. */
struct module_image {
	void *data;
	size_t len;
};

int module_image_read(struct module_image *image, const char *name);
int module_image_insert(const struct module_image *image,
			const char *parameters);
void module_image_free(struct module_image *image);

/* Does not wait for users of the module to go away. */
int module_remove(const char *name);

/* Writes the parameters of the loaded hmmrt_simgpu, to reload it with them. */
#define SIMGPU_PARAMETERS	512
void simgpu_parameters(char *text, size_t size);

/*
 * Returns parameters of hmmrt_simgpu for two devices that have @bytes each. The
 * next call overwrites them.
 */
const char *two_devices(size_t bytes);

/* Waits up to 60 s for exiting users to release the module. */
int simgpu_remove(void);

/*
 * Reload hmmrt_simgpu with other parameters, and with the previous ones. Both
 * wait as simgpu_remove() does. A removed device keeps its id until its last
 * page is free, so simgpu_restore() reloads until the devices have the ids that
 * the next tests expect.
 */
int simgpu_replace(char before[SIMGPU_PARAMETERS], const char *parameters);
int simgpu_restore(const char *before);

/*
 * Finds the memory regions for coherent devices from HMMRT_COHERENT_MEMORY.
 * Returns their number; 0 also if modules cannot be loaded.
 */
#define COHERENT_REGIONS	4
unsigned int coherent_regions(unsigned long starts[COHERENT_REGIONS]);

/* Loads hmmrt_dmirror, with coherent devices if @starts is not NULL. */
int dmirror_insert(unsigned int mib, const unsigned long *starts);

#endif
