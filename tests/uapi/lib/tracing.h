/* SPDX-License-Identifier: MIT */
/* What the trace events of the modules say, to who reads them with tracefs. */
#ifndef TESTS_UAPI_TRACING_H
#define TESTS_UAPI_TRACING_H

#include <stdbool.h>

/* All events of hmmrt, from now on; false: there is no tracefs. */
bool tracing_start(void);
void tracing_stop(void);

/* How many events of that name there were since, of which the text has @part. */
unsigned int tracing_count(const char *event, const char *part);

/* The largest number that they had behind @field, as in "looks="; 0: there were none. */
unsigned long tracing_most(const char *event, const char *field);

#endif
