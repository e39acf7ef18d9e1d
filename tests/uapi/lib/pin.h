/* SPDX-License-Identifier: MIT */
/* Memory that is pinned for I/O, as long as the test wants: a buffer of an io_uring. */
#ifndef TESTS_UAPI_PIN_H
#define TESTS_UAPI_PIN_H

#include <stddef.h>

/* A file descriptor, or a negative errno; closing it lets go, some time later. */
int pin_memory(void *addr, size_t len);

/* Lets go now, and closes it. */
int unpin_memory(int pin);

#endif
