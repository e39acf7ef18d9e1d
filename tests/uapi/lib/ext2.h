/* SPDX-License-Identifier: MIT */
/*
 * A file on a private, disk-backed file system. Unlike tmpfs, it has dirty
 * tracking and writeback for shared mappings.
 */
#ifndef TESTS_UAPI_EXT2_H
#define TESTS_UAPI_EXT2_H

#include <stddef.h>

/*
 * Creates a file of @len zeroes and opens it for reading and writing. The file
 * system is detached from the mount tree; it goes away with the last file
 * descriptor and mapping. Returns a negative errno after it printed to stderr
 * what is missing.
 */
int ext2_file(size_t len);

/*
 * Writes the file back and drops its page cache, so that the next read comes
 * from the disk. The file must not be mapped. Returns 0 or a negative errno.
 */
int ext2_reread(int fd);

#endif
