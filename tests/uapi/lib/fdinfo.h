/* SPDX-License-Identifier: MIT */
/* Reads and parses /proc/PID/fdinfo of the modules' files. */
#ifndef TESTS_UAPI_FDINFO_H
#define TESTS_UAPI_FDINFO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Enough for the entries of a space with all devices. */
#define FDINFO_BYTES	(32UL << 10)

/* Returned if a key does not occur exactly once, or has no number. */
#define FDINFO_NONE	(~0ULL)

/*
 * Reads the entry of a descriptor of a process, as a string. @proc is where
 * procfs is mounted. Returns 0 or a negative errno.
 */
int fdinfo_read(const char *proc, pid_t pid, int fd, char text[FDINFO_BYTES]);

/* Returns the value of the key in a text. */
uint64_t fdinfo_value(const char *text, const char *key);

/* Counts the lines that begin with @start. */
unsigned int fdinfo_lines(const char *text, const char *start);

#endif
