// SPDX-License-Identifier: GPL-2.0-only
/*
 * HMMRT_IOC_EVENTS_OPEN, and the permission for it. event_ring.c has the rings.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/log2.h>

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
