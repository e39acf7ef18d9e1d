/* SPDX-License-Identifier: MIT */
/*
 * Two hmmrt_faulty devices, A and B, which are bound to this process, and
 * memory for tests. The session has their ids, so the calls of devices.h work
 * with them, except for those of an agent. Functions that return int return 0
 * or a negative errno.
 */
#ifndef TESTS_UAPI_FAULTY_SESSION_H
#define TESTS_UAPI_FAULTY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "devices.h"
#include "faulty.h"

/* Of @buf, which crosses the boundary of two blocks. */
#define LEN		(64 * PAGE_BYTES)
#define PAGES		(LEN / PAGE_BYTES)

/* /dev/hmmrt-faulty, and the file of each device. */
extern int control;
extern int fds[2];
/* Page i of @buf holds first + i. */
extern uint64_t first;

/* Load and remove the module. */
int faulty_start(void);
int faulty_end(void);
/*
 * Replaces the devices by new ones, with no memory allocated, empty page
 * tables, and no spans that know them.
 */
int faulty_renew(void);
/* Waits a while, because pages are freed asynchronously. */
bool faulty_is_unused(void);

/* Count the pages of @buf on a device, and put all of them there. */
long pages_on(unsigned int device);
int put_on(unsigned int device);

/* Has a device migrate a range to itself. */
int to_device(unsigned int device, const volatile void *addr, size_t len);

/* Device A reads each page of @buf; -EILSEQ if a value is wrong. */
int read_pages(void);

#endif
