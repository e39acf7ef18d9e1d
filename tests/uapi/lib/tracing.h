/* SPDX-License-Identifier: MIT */
/* The modules' trace events, as a reader of tracefs sees them. */
#ifndef TESTS_UAPI_TRACING_H
#define TESTS_UAPI_TRACING_H

#include <stdbool.h>

/* Enables all events of hmmrt. Returns false if tracefs is missing. */
bool tracing_start(void);
void tracing_stop(void);

/* Counts the events with that name since then that contain @part. */
unsigned int tracing_count(const char *event, const char *part);

/*
 * Returns the largest number that follows @field (such as "visits=") in events
 * of that name, or 0 if there were no events.
 */
unsigned long tracing_most(const char *event, const char *field);

#endif
