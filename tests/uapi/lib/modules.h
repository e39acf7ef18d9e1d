/* SPDX-License-Identifier: MIT */
/*
 * Loading and unloading the modules, from the folder that HMMRT_MODULE_DIR names.
 * Results are 0 or a negative errno.
 */
#ifndef TESTS_UAPI_MODULES_H
#define TESTS_UAPI_MODULES_H

#include <stddef.h>

int module_insert(const char *name, const char *parameters);
/* Does not wait for users. */
int module_remove(const char *name);

/* The parameters that the loaded hmmrt_simgpu has, to load it again with them. */
void simgpu_parameters(char *text, size_t size);

#endif
