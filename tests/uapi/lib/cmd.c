// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cmd.h"

static int open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int open_manager(void)
{
	return open_node("/dev/hmmrt");
}

int open_gpu(unsigned int number)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/hmmrt-gpu%u", number);
	return open_node(path);
}

int cmd_raw(int fd, unsigned int cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

int cmd_info(int fd, struct hmmrt_info *info)
{
	*info = (struct hmmrt_info){ .size = sizeof(*info) };
	return cmd_raw(fd, HMMRT_IOC_INFO, info);
}

int cmd_device_info(int fd, uint32_t id, struct hmmrt_device_info *info)
{
	*info = (struct hmmrt_device_info){
		.size = sizeof(*info), .device_id = id,
	};
	return cmd_raw(fd, HMMRT_IOC_DEVICE_INFO, info);
}

int cmd_space_create(int fd)
{
	struct hmmrt_space_create create = { .size = sizeof(create) };

	return cmd_raw(fd, HMMRT_IOC_SPACE_CREATE, &create);
}

int cmd_prefetch(int fd, const void *addr, size_t len, uint32_t location,
		 struct hmmrt_prefetch *result)
{
	struct hmmrt_prefetch prefetch = {
		.size = sizeof(prefetch), .addr = (uintptr_t)addr, .len = len,
		.location = location,
	};
	int rc = cmd_raw(fd, HMMRT_IOC_PREFETCH, &prefetch);

	if (result)
		*result = prefetch;
	return rc;
}

int cmd_residency(int fd, const void *addr, size_t len, uint32_t *locations)
{
	struct hmmrt_residency residency = {
		.size = sizeof(residency), .addr = (uintptr_t)addr, .len = len,
		.locations = (uintptr_t)locations,
	};

	return cmd_raw(fd, HMMRT_IOC_RESIDENCY, &residency);
}

int cmd_pages(int fd, const void *addr, size_t len, struct hmmrt_page *pages)
{
	struct hmmrt_pages arg = {
		.size = sizeof(arg), .addr = (uintptr_t)addr, .len = len,
		.pages = (uintptr_t)pages, .page_bytes = sizeof(*pages),
	};

	return cmd_raw(fd, HMMRT_IOC_PAGES, &arg);
}

int cmd_stats(int fd, uint32_t device, struct hmmrt_stats *stats)
{
	*stats = (struct hmmrt_stats){
		.size = sizeof(*stats), .device_id = device,
	};
	return cmd_raw(fd, HMMRT_IOC_STATS, stats);
}

int cmd_exclusive(int fd, const volatile void *addr, size_t len,
		  uint32_t device, struct hmmrt_exclusive *result)
{
	struct hmmrt_exclusive exclusive = {
		.size = sizeof(exclusive), .addr = (uintptr_t)addr, .len = len,
		.device_id = device,
	};
	int rc = cmd_raw(fd, HMMRT_IOC_EXCLUSIVE, &exclusive);

	if (result)
		*result = exclusive;
	return rc;
}

int cmd_advise(int fd, const volatile void *addr, size_t len, uint32_t advice,
	       uint32_t location, uint64_t value)
{
	struct hmmrt_advise advise = {
		.size = sizeof(advise), .addr = (uintptr_t)addr, .len = len,
		.advice = advice, .location = location, .value = value,
	};

	return cmd_raw(fd, HMMRT_IOC_ADVISE, &advise);
}

int cmd_range_attributes(int fd, const volatile void *addr, size_t len,
			 struct hmmrt_range_attributes *attributes)
{
	*attributes = (struct hmmrt_range_attributes){
		.size = sizeof(*attributes), .addr = (uintptr_t)addr,
		.len = len,
	};
	return cmd_raw(fd, HMMRT_IOC_RANGE_ATTRIBUTES, attributes);
}

int cmd_peer(int fd, uint32_t device, uint32_t peer, uint32_t operation,
	     struct hmmrt_peer *result)
{
	struct hmmrt_peer arg = {
		.size = sizeof(arg), .device_id = device, .peer_id = peer,
		.operation = operation,
	};
	int rc = cmd_raw(fd, HMMRT_IOC_PEER, &arg);

	if (result)
		*result = arg;
	return rc;
}

int cmd_knob(int fd, struct hmmrt_knob *knob)
{
	knob->size = sizeof(*knob);
	return cmd_raw(fd, HMMRT_IOC_KNOB, knob);
}

int cmd_set_knob(int fd, uint32_t scope, uint32_t device, uint32_t knob,
		 uint32_t value)
{
	struct hmmrt_knob arg = {
		.knob = knob, .operation = HMMRT_KNOB_SET, .scope = scope,
		.device_id = device, .value = value,
	};

	return cmd_knob(fd, &arg);
}

int cmd_unset_knob(int fd, uint32_t scope, uint32_t device, uint32_t knob)
{
	struct hmmrt_knob arg = {
		.knob = knob, .operation = HMMRT_KNOB_UNSET, .scope = scope,
		.device_id = device,
	};

	return cmd_knob(fd, &arg);
}

int cmd_set_range_knob(int fd, const volatile void *addr, size_t len,
		       uint32_t device, uint32_t knob, uint32_t value)
{
	struct hmmrt_knob arg = {
		.knob = knob, .operation = HMMRT_KNOB_SET,
		.scope = HMMRT_SCOPE_RANGE, .device_id = device,
		.addr = (uintptr_t)addr, .len = len, .value = value,
	};

	return cmd_knob(fd, &arg);
}

int cmd_quota(int fd, struct hmmrt_quota *quota)
{
	quota->size = sizeof(*quota);
	return cmd_raw(fd, HMMRT_IOC_QUOTA, quota);
}

int cmd_get_quota(int fd, uint32_t device, struct hmmrt_quota *quota)
{
	*quota = (struct hmmrt_quota){
		.operation = HMMRT_QUOTA_GET, .scope = HMMRT_QUOTA_OF_SPACE,
		.device_id = device,
	};
	return cmd_quota(fd, quota);
}

int cmd_set_quota(int fd, uint32_t device, uint64_t limit, uint32_t priority,
		  struct hmmrt_quota *quota)
{
	struct hmmrt_quota arg = {
		.operation = HMMRT_QUOTA_SET, .scope = HMMRT_QUOTA_OF_SPACE,
		.device_id = device, .limit_bytes = limit, .priority = priority,
	};
	int rc = cmd_quota(fd, &arg);

	if (quota)
		*quota = arg;
	return rc;
}

int cmd_object_create(int fd, size_t bytes, uint32_t location, uint32_t flags)
{
	struct hmmrt_object_create create = {
		.size = sizeof(create), .flags = flags, .bytes = bytes,
		.location = location, .out_fd = -1,
	};
	int rc = cmd_raw(fd, HMMRT_IOC_OBJECT_CREATE, &create);

	return rc ? rc : create.out_fd;
}

int cmd_object_info(int object, struct hmmrt_object_info *info)
{
	*info = (struct hmmrt_object_info){ .size = sizeof(*info) };
	return cmd_raw(object, HMMRT_OBJECT_IOC_INFO, info);
}

int cmd_object_reopen(int object, uint32_t access)
{
	struct hmmrt_object_reopen reopen = {
		.size = sizeof(reopen), .access = access,
	};
	int rc = cmd_raw(object, HMMRT_OBJECT_IOC_REOPEN, &reopen);

	return rc ? rc : reopen.out_fd;
}

int cmd_set_access(int fd, const volatile void *addr, size_t len,
		   uint32_t device, uint32_t access)
{
	struct hmmrt_access arg = {
		.size = sizeof(arg), .addr = (uintptr_t)addr, .len = len,
		.operation = HMMRT_ACCESS_SET, .device_id = device,
		.access = access,
	};

	return cmd_raw(fd, HMMRT_IOC_ACCESS, &arg);
}

int cmd_get_access(int fd, const volatile void *addr, size_t len,
		   uint32_t device, uint32_t *access)
{
	struct hmmrt_access arg = {
		.size = sizeof(arg), .addr = (uintptr_t)addr, .len = len,
		.operation = HMMRT_ACCESS_GET, .device_id = device,
	};
	int rc = cmd_raw(fd, HMMRT_IOC_ACCESS, &arg);

	*access = arg.out_access;
	return rc;
}

int cmd_bind_wait(int gpu, int space, uint32_t msec,
		  struct hmmrt_gpu_bind *bind)
{
	struct hmmrt_gpu_bind arg = {
		.size = sizeof(arg),
		.space_fd = space,
		.wait_msec = msec,
	};
	int rc = cmd_raw(gpu, HMMRT_GPU_IOC_BIND, &arg);

	if (bind)
		*bind = arg;
	return rc;
}

int cmd_bind(int gpu, int space, struct hmmrt_gpu_bind *bind)
{
	return cmd_bind_wait(gpu, space, 0, bind);
}

int cmd_bind_next(int gpu, int space, struct hmmrt_gpu_bind *bind)
{
	return cmd_bind_wait(gpu, space, 60000, bind);
}

int cmd_attach(int gpu, uint64_t token)
{
	struct hmmrt_gpu_attach attach = {
		.size = sizeof(attach), .token = token,
	};

	return cmd_raw(gpu, HMMRT_GPU_IOC_ATTACH, &attach);
}

int cmd_fault_record(int gpu, struct hmmrt_gpu_fault_record *record)
{
	*record = (struct hmmrt_gpu_fault_record){ .size = sizeof(*record) };
	return cmd_raw(gpu, HMMRT_GPU_IOC_FAULT_RECORD, record);
}

int device_named(int fd, const char *name, uint32_t *id)
{
	struct hmmrt_device_info info;

	for (*id = 0; *id < HMMRT_MAX_DEVICES; ++*id)
		if (!cmd_device_info(fd, *id, &info) &&
		    !strcmp((char *)info.out_name, name))
			return 0;
	return -ENODEV;
}

int64_t device_used_bytes(int fd, uint32_t id)
{
	struct hmmrt_device_info info;
	int rc = cmd_device_info(fd, id, &info);

	return rc ? rc : (int64_t)info.out_used_bytes;
}

long pages_at(int fd, const void *addr, size_t len, uint32_t location)
{
	size_t i, n = len / PAGE_BYTES;
	uint32_t *locations = calloc(n, sizeof(*locations));
	long count = -1;

	if (locations && !cmd_residency(fd, addr, len, locations))
		for (count = 0, i = 0; i < n; i++)
			count += locations[i] == location;
	free(locations);
	return count;
}
