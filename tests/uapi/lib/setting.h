/* SPDX-License-Identifier: MIT */
/* Kernel settings in procfs and sysfs files. */
#ifndef TESTS_UAPI_SETTING_H
#define TESTS_UAPI_SETTING_H

#include <stdbool.h>

/* Returns false if the file does not exist or did not take all of the text. */
bool write_text(const char *path, const char *text);

/* Reads a value for write_text() to restore later. Returns false on failure. */
bool read_word(const char *path, char word[16]);

/*
 * Returns the number that @format, for example "Slab: %ld kB", finds in the
 * first line of a file that it matches, or -1.
 */
long read_number(const char *path, const char *format);

/*
 * Sets the number of hugetlb pages. If the kernel cannot allocate that many,
 * sets 0 and returns false.
 */
bool set_huge_pages(const char *count);

/* Sets whether a full device evicts its least recently used memory. */
bool set_oversubscription(bool on);

/* Sets the order of eviction: by last access, or by allocation. */
bool set_evict_by_access(bool on);

/*
 * Sets how many seconds the removal of a device keeps trying without any page
 * leaving it. The default is 30.
 */
bool set_leave_wait(const char *seconds);

/* Start and stop merging of identical pages (KSM). */
void merging_start(void);
void merging_end(void);

#endif
