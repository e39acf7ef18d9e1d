/* SPDX-License-Identifier: MIT */
/* Reads event rings as a program that observes a space does. */
#ifndef TESTS_UAPI_EVENTS_H
#define TESTS_UAPI_EVENTS_H

#include <linux/hmmrt_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct events {
	int fd;
	size_t bytes;
	struct hmmrt_event_ring *ring;
};

/* A request for all types but accesses, and a ring of @events. */
struct hmmrt_events_open events_request(uint32_t scope, uint32_t events);
/* Returns a descriptor, or a negative errno. */
int events_ioctl(int file, struct hmmrt_events_open *arg);
/* Returns 0 or a negative errno. */
int events_annotate(int file, const struct hmmrt_annotate *arg);
/* Opens and maps a ring. Returns 0 or a negative errno. */
int events_open(struct events *events, int file, uint32_t scope, uint32_t nr);
/* Opens and maps a ring of one type, of the space of @file. */
int events_open_type(struct events *events, int file, uint32_t type,
		     uint32_t nr);
int events_map(struct events *events, int fd, size_t bytes);
void events_close(struct events *events);

/* The event @n after the tail. */
const struct hmmrt_event *events_at(const struct events *events, uint64_t n);
uint64_t events_unread(const struct events *events);
void events_read_all(struct events *events);
uint64_t events_dropped(const struct events *events);

/* Which events of a type to look at; NULL for all. */
typedef bool (*events_which)(const struct hmmrt_event *event);

uint64_t events_count(const struct events *events, uint32_t type,
		      events_which which);
uint64_t events_pages(const struct events *events, uint32_t type,
		      events_which which);
/* The first one, or NULL. */
const struct hmmrt_event *events_find(const struct events *events,
				      uint32_t type, events_which which);
/* The event with that serial, or NULL. */
const struct hmmrt_event *events_serial(const struct events *events,
					uint64_t serial);

#endif
