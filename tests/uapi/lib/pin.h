/* SPDX-License-Identifier: MIT */
/* Memory with a long-term GUP pin, held as a registered io_uring buffer. */
#ifndef TESTS_UAPI_PIN_H
#define TESTS_UAPI_PIN_H

#include <stddef.h>

/*
 * Returns a file descriptor or a negative errno. Closing it unpins
 * asynchronously.
 */
int pin_memory(void *addr, size_t len);

/* Unpins immediately, and closes the file. */
int unpin_memory(int pin);

#endif
