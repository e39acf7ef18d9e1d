/* SPDX-License-Identifier: MIT */
/* What a random test did last, for who reads why it failed. */
#ifndef TESTS_UAPI_STEPS_H
#define TESTS_UAPI_STEPS_H

#define STEPS_KEPT	24
#define STEPS_BYTES	128

/* Zeroed at first. */
struct steps {
	unsigned long now;		/* who walks counts them */
	unsigned int failures;
	char lines[STEPS_KEPT][STEPS_BYTES];
};

/* What the step is. */
void steps_note(struct steps *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What is wrong after it; the first time with the steps that led there. */
void steps_fail(struct steps *steps, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
