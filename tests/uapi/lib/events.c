// SPDX-License-Identifier: MIT
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events.h"

struct hmmrt_events_open events_request(uint32_t scope, uint32_t events)
{
	return (struct hmmrt_events_open){
		.size = sizeof(struct hmmrt_events_open), .scope = scope,
		.events = events, .types = HMMRT_EVENTS_EXCEPT_ACCESS,
		.wake_events = 1,
	};
}

int events_ioctl(int file, struct hmmrt_events_open *arg)
{
	return ioctl(file, HMMRT_IOC_EVENTS_OPEN, arg) ? -errno : arg->out_fd;
}

int events_annotate(int file, const struct hmmrt_annotate *arg)
{
	return ioctl(file, HMMRT_IOC_ANNOTATE, arg) ? -errno : 0;
}

int events_map(struct events *events, int fd, size_t bytes)
{
	void *ring =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		return -errno;
	*events = (struct events){ .fd = fd, .bytes = bytes, .ring = ring };
	return 0;
}

static int open_and_map(struct events *events, int file,
			struct hmmrt_events_open *arg)
{
	int fd = events_ioctl(file, arg), rc;

	if (fd < 0)
		return fd;
	rc = events_map(events, fd, arg->out_map_bytes);
	if (rc)
		close(fd);
	return rc;
}

int events_open(struct events *events, int file, uint32_t scope, uint32_t nr)
{
	struct hmmrt_events_open arg = events_request(scope, nr);

	return open_and_map(events, file, &arg);
}

int events_open_type(struct events *events, int file, uint32_t type,
		     uint32_t nr)
{
	struct hmmrt_events_open arg =
		events_request(HMMRT_EVENTS_OF_SPACE, nr);

	arg.types = HMMRT_EVENT_BIT(type);
	return open_and_map(events, file, &arg);
}

void events_close(struct events *events)
{
	munmap(events->ring, events->bytes);
	close(events->fd);
}

static uint64_t head(const struct events *events)
{
	return __atomic_load_n(&events->ring->head, __ATOMIC_ACQUIRE);
}

uint64_t events_unread(const struct events *events)
{
	return head(events) - events->ring->tail;
}

const struct hmmrt_event *events_at(const struct events *events, uint64_t n)
{
	const struct hmmrt_event_ring *ring = events->ring;

	return (const void *)((const char *)ring + ring->data_bytes +
			      (ring->tail + n) % ring->events *
				      ring->event_bytes);
}

void events_read_all(struct events *events)
{
	__atomic_store_n(&events->ring->tail, head(events), __ATOMIC_RELEASE);
}

uint64_t events_dropped(const struct events *events)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < HMMRT_EVENT_TYPES; i++)
		sum += events->ring->dropped[i];
	return sum;
}

static bool is_of(const struct hmmrt_event *event, uint32_t type,
		  events_which which)
{
	return event->type == type && (!which || which(event));
}

uint64_t events_count(const struct events *events, uint32_t type,
		      events_which which)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < events_unread(events); i++)
		n += is_of(events_at(events, i), type, which);
	return n;
}

uint64_t events_pages(const struct events *events, uint32_t type,
		      events_which which)
{
	uint64_t pages = 0;

	for (uint64_t i = 0; i < events_unread(events); i++)
		if (is_of(events_at(events, i), type, which))
			pages += events_at(events, i)->pages;
	return pages;
}

const struct hmmrt_event *events_find(const struct events *events,
				      uint32_t type, events_which which)
{
	for (uint64_t i = 0; i < events_unread(events); i++)
		if (is_of(events_at(events, i), type, which))
			return events_at(events, i);
	return NULL;
}

const struct hmmrt_event *events_serial(const struct events *events,
					uint64_t serial)
{
	for (uint64_t i = 0; i < events_unread(events); i++)
		if (events_at(events, i)->serial == serial)
			return events_at(events, i);
	return NULL;
}
