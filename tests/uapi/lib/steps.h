/* SPDX-License-Identifier: MIT */
/* Keeps the last steps of a random test, to print them on failure. */
#ifndef TESTS_UAPI_STEPS_H
#define TESTS_UAPI_STEPS_H

#define STEPS_KEPT	24
#define STEPS_BYTES	128

/* Initialise with zeroes. */
struct steps {
	unsigned long now;		/* current step; the caller counts */
	unsigned int failures;
	char lines[STEPS_KEPT][STEPS_BYTES];
};

/* Records the current step. */
void steps_note(struct steps *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reports a failure. The first failure also prints the recorded steps. */
void steps_fail(struct steps *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
