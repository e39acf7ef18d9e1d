/* SPDX-License-Identifier: MIT */
/* Settings of the kernel, which are files. */
#ifndef TESTS_UAPI_SETTING_H
#define TESTS_UAPI_SETTING_H

#include <stdbool.h>

/* false: there is no such file, or not all of the text was taken. */
bool write_text(const char *path, const char *text);

/* What write_text() may restore later; false: there is no such file. */
bool read_word(const char *path, char word[16]);

/* How many hugetlb pages there are; false: too many, there are none. */
bool set_huge_pages(const char *count);

/* Whether devices that are full evict what was used longest ago. */
bool set_oversubscription(bool on);

/* What was used longest ago, or what was given out longest ago. */
bool set_evict_by_access(bool on);

/* The kernel merges pages that are alike (KSM), until it is told to end. */
void merging_start(void);
void merging_end(void);

#endif
