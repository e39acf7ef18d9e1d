/* SPDX-License-Identifier: MIT */
/*
 * A file on a file system of its own that has a disk: unlike on tmpfs, a write to
 * a mapping of it has to be noticed, and to be written back.
 */
#ifndef TESTS_UAPI_EXT2_H
#define TESTS_UAPI_EXT2_H

#include <stddef.h>

/*
 * A file of @len zeroes, open for reading and writing. The file system is nowhere
 * to be seen and goes with the last file descriptor and mapping. A negative errno
 * after a line on stderr that says what is missing.
 */
int ext2_file(size_t len);

/*
 * Writes the file and forgets what is in memory of it: the next read comes from
 * the disk. It must not be mapped. 0 or a negative errno.
 */
int ext2_reread(int fd);

#endif
