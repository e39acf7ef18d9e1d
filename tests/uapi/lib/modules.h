/* SPDX-License-Identifier: MIT */
/*
 * Loading and unloading the modules, from the folder that HMMRT_MODULE_DIR names.
 * Results are 0 or a negative errno.
 */
#ifndef TESTS_UAPI_MODULES_H
#define TESTS_UAPI_MODULES_H

#include <stddef.h>

int module_insert(const char *name, const char *parameters);

/* The same in two steps: loading the image needs no file system. */
struct module_image {
	void *data;
	size_t len;
};

int module_image_read(struct module_image *image, const char *name);
int module_image_insert(const struct module_image *image,
			const char *parameters);
void module_image_free(struct module_image *image);

/* Does not wait for users. */
int module_remove(const char *name);

/* The parameters that the loaded hmmrt_simgpu has, to load it again with them. */
#define SIMGPU_PARAMETERS	512
void simgpu_parameters(char *text, size_t size);

/* Waits for users that are about to let go of it, up to 60 s. */
int simgpu_remove(void);

/*
 * Loads hmmrt_simgpu again with others, and with those that it had before. Waits
 * as simgpu_remove() does.
 */
int simgpu_replace(char before[SIMGPU_PARAMETERS], const char *parameters);
int simgpu_restore(const char *before);

/*
 * Where there is memory for coherent devices, by HMMRT_COHERENT_MEMORY. Returns how
 * many regions; 0 also where modules cannot be loaded.
 */
#define COHERENT_REGIONS	4
unsigned int coherent_regions(unsigned long starts[COHERENT_REGIONS]);

/* Loads hmmrt_dmirror, with coherent devices if @starts is not NULL. */
int dmirror_insert(unsigned int mib, const unsigned long *starts);

#endif
