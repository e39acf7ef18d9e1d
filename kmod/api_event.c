// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMMRT_IOC_EVENTS_OPEN, and the permission for it, HMMRT_IOC_ANNOTATE, and
 * accesses that devices report. event_ring.c has the rings.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>

#include "api.h"
#include "ioctl.h"

static int events_check(const struct hmmrt_events_open *arg)
{
	if (arg->__reserved)
		return -EOPNOTSUPP;
	if (!arg->types || !is_power_of_2(arg->events) ||
	    arg->events < HMMRT_EVENTS_MIN || arg->events > HMMRT_EVENTS_MAX ||
	    !arg->wake_events || arg->wake_events > arg->events)
		return -EINVAL;
	if (arg->types & ~HMMRT_EVENTS_EVERY_TYPE)
		return -EOPNOTSUPP;
	switch (arg->scope) {
	case HMMRT_EVENTS_OF_SPACE:
	case HMMRT_EVENTS_OF_CHILDREN:
		return 0;
	case HMMRT_EVENTS_OF_MACHINE:
		return perfmon_capable() ? 0 : -EPERM;
	default:
		return -EINVAL;
	}
}

/* @space is that of the file, for HMMRT_EVENTS_OF_SPACE, and NULL otherwise. */
int hmmrt_ioc_events_open(struct hmmrt_space *space, void *data)
{
	struct hmmrt_events_open *arg = data;
	const struct hmmrt_event_ring_args args = {
		.events = arg->events,
		.wake_events = arg->wake_events,
		.types = arg->types,
		.scope = arg->scope,
	};
	struct file *file;
	int rc, fd;

	rc = events_check(arg);
	if (rc)
		return rc;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = hmmrt_event_ring_open(&args, space ? &space->events : NULL,
				     &arg->out_map_bytes);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	arg->out_fd = fd;
	hmmrt_ioctl_made(arg, file, fd);
	return 0;
}

static const u16 annotation_types[] = {
	[HMMRT_ANNOTATE_MARK] = HMMRT_EVENT_MARK,
	[HMMRT_ANNOTATE_SECTION] = HMMRT_EVENT_SECTION,
	[HMMRT_ANNOTATE_NAME] = HMMRT_EVENT_NAME,
};

/*
 * The length of the character at @text, which ends with a NUL, or 0: it is not
 * UTF-8 in its shortest form, or is a control character. A terminal takes those
 * from 0x80 to 0x9f for the beginning of commands, too.
 */
static unsigned int letter_bytes(const unsigned char *text)
{
	static const u32 least[] = { 0, 0x20, 0xa0, 0x800, 0x10000 };
	unsigned int bytes, i;
	u32 code;

	if (text[0] < 0x80)
		return text[0] >= least[1] && text[0] != 0x7f;
	if (text[0] < 0xc0 || text[0] >= 0xf8)
		return 0;
	bytes = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	code = text[0] & (0x7f >> bytes);
	for (i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[bytes] || code > 0x10ffff || code >> 11 == 0x1b)
		return 0;
	/* Separators of lines. */
	return code == 0x2028 || code == 0x2029 ? 0 : bytes;
}

/* Terminals show it, as a part of a line. */
static bool text_is_valid(const char *text)
{
	const char *end = memchr(text, 0, HMMRT_EVENT_TEXT_BYTES);

	while (end && text < end) {
		unsigned int bytes = letter_bytes((const u8 *)text);

		if (!bytes)
			return false;
		text += bytes;
	}
	return end;
}

/* A time of CLOCK_MONOTONIC in the caller's time namespace, as events have it. */
static u64 time_of_events(u64 time)
{
	struct timespec64 offset = {};

	timens_add_monotonic(&offset);
	return time - timespec64_to_ns(&offset);
}

static int annotate_check(const struct hmmrt_annotate *arg, u64 since, u64 now)
{
	bool section = arg->kind == HMMRT_ANNOTATE_SECTION;
	bool name = arg->kind == HMMRT_ANNOTATE_NAME;

	if (arg->__reserved)
		return -EOPNOTSUPP;
	if (!arg->kind || arg->kind >= ARRAY_SIZE(annotation_types))
		return -EINVAL;
	if (!text_is_valid(arg->text))
		return -EINVAL;
	if (section ? !arg->since || since > now : arg->since)
		return -EINVAL;
	if (!name)
		return arg->text[0] && !arg->addr && !arg->len ? 0 : -EINVAL;
	if (!arg->len)
		return -EINVAL;
	if (arg->addr + arg->len < arg->addr ||
	    arg->addr + arg->len > TASK_SIZE_MAX)
		return -EOVERFLOW;
	return 0;
}

int hmmrt_ioc_annotate(struct hmmrt_space *space, void *data)
{
	const struct hmmrt_annotate *arg = data;
	u64 now = ktime_get_ns(), since = time_of_events(arg->since);
	struct hmmrt_event event = {};
	int rc = annotate_check(arg, since, now);

	if (rc || !hmmrt_events_on())
		return rc;
	event.type = annotation_types[arg->kind];
	event.duration = arg->since ? now - since : 0;
	if (arg->len) {
		event.addr = arg->addr;
		event.pages = (PAGE_ALIGN(arg->addr + arg->len) -
			       PAGE_ALIGN_DOWN(arg->addr)) >> PAGE_SHIFT;
	}
	strscpy(event.text, arg->text, sizeof(event.text));
	hmmrt_event_record(&space->events, &event);
	return 0;
}

/**
 * hmmrt_accesses_recorded() - check if a program records accesses
 * @binding: device and process
 *
 * Return: whether the device has to call hmmrt_accessed().
 */
bool hmmrt_accesses_recorded(const struct hmmrt_binding *binding)
{
	return hmmrt_events_on() &&
	       hmmrt_event_wants_accesses(&binding->space->events);
}
EXPORT_SYMBOL_GPL(hmmrt_accesses_recorded);

void hmmrt_accessed(struct hmmrt_binding *binding, unsigned long addr,
		    unsigned int access, u64 ip)
{
	hmmrt_event(&binding->space->events, .type = HMMRT_EVENT_ACCESS,
		    .device = binding->dev->id, .addr = addr, .pages = 1,
		    .access = access, .ip = ip);
}
EXPORT_SYMBOL_GPL(hmmrt_accessed);
