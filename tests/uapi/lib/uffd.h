/* SPDX-License-Identifier: MIT */
/*
 * userfaultfd: the test is the program that provides pages, or lets writes to
 * them continue. Calls return 0 or a negative errno unless stated otherwise.
 */
#ifndef TESTS_UAPI_UFFD_H
#define TESTS_UAPI_UFFD_H

#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a file descriptor that does not block, or a negative errno. */
int uffd_open(void);
/* @mode is UFFDIO_REGISTER_MODE_*. */
int uffd_watch(int uffd, const void *addr, size_t len, uint64_t mode);
/* Protects watched pages from writes, or lets writes to them continue. */
int uffd_protect(int uffd, const void *addr, size_t len, bool on);
/* Provides a missing page, with @value as its first word. */
int uffd_fill(int uffd, const void *addr, uint64_t value);
/* Waits for the next event. Returns zeroes if no event arrives in time. */
struct uffd_msg uffd_next(int uffd, int limit_s);

#endif
