// SPDX-License-Identifier: MIT
#include "devices.h"

struct session session;
int space = -1;
char *buf;

uint32_t id_of(unsigned int device)
{
	return session.devices[device].id;
}

struct agent *agent_of(unsigned int device)
{
	return &session.devices[device].agent;
}

struct hmmrt_stats stats_of(unsigned int device)
{
	return session_stats(&session, device);
}

uint32_t location_of(uint32_t location)
{
	return location < SESSION_MAX_DEVICES ? id_of(location) : location;
}

struct outcome dev_read(unsigned int device, const volatile void *addr)
{
	return agent_read(agent_of(device), addr);
}

struct outcome dev_write(unsigned int device, volatile void *addr,
			 uint64_t value)
{
	return agent_write(agent_of(device), addr, value);
}

struct outcome dev_sum(unsigned int device, const volatile void *addr,
		       size_t len)
{
	return agent_sum(agent_of(device), addr, len, PAGE_BYTES);
}

struct outcome dev_fill(unsigned int device, volatile void *addr, size_t len,
			uint64_t first)
{
	return agent_fill(agent_of(device), addr, len, PAGE_BYTES, first);
}

struct outcome dev_wait(unsigned int device, unsigned int lane,
			unsigned int seconds)
{
	return agent_wait(agent_of(device), lane, seconds);
}

int64_t dev_syscall(unsigned int device, long number, struct syscall_args args)
{
	const uint64_t *arg = args.arg;

	return agent_syscall(agent_of(device), number, arg[0], arg[1], arg[2],
			     arg[3], arg[4], arg[5]);
}

long count_at(uint32_t location, const void *addr, size_t len)
{
	return pages_at(space, addr, len, location_of(location));
}

int prefetch(uint32_t location, const void *addr, size_t len)
{
	return prefetch_result(location, addr, len, NULL);
}

int prefetch_result(uint32_t location, const void *addr, size_t len,
		    struct hmmrt_prefetch *result)
{
	return cmd_prefetch(space, addr, len, location_of(location), result);
}

int make_exclusive(unsigned int device, const volatile void *addr, size_t len,
		   struct hmmrt_exclusive *result)
{
	return cmd_exclusive(space, addr, len, id_of(device), result);
}

int advise(const volatile void *addr, size_t len, uint32_t advice)
{
	return cmd_advise(space, addr, len, advice, 0, 0);
}

int advise_at(const volatile void *addr, size_t len, uint32_t advice,
	      uint32_t location)
{
	return cmd_advise(space, addr, len, advice, location_of(location), 0);
}

int advise_value(const volatile void *addr, size_t len, uint32_t advice,
		 uint64_t value)
{
	return cmd_advise(space, addr, len, advice, 0, value);
}

int evict_always(int fd, uint32_t id)
{
	return cmd_set_knob(fd, HMMRT_SCOPE_DEVICE, id,
			    HMMRT_KNOB_OVERSUBSCRIPTION,
			    HMMRT_OVERSUBSCRIBE_ALWAYS);
}

int set_knob(unsigned int device, uint32_t knob, uint32_t value)
{
	return cmd_set_knob(space, HMMRT_SCOPE_SPACE, id_of(device), knob,
			    value);
}

int set_range_knob(const volatile void *addr, size_t len, unsigned int device,
		   uint32_t knob, uint32_t value)
{
	return cmd_set_range_knob(space, addr, len, id_of(device), knob, value);
}

int set_access(const volatile void *addr, size_t len, unsigned int device,
	       uint32_t access)
{
	return cmd_set_access(space, addr, len, id_of(device), access);
}

int get_access(const volatile void *addr, size_t len, unsigned int device,
	       uint32_t *access)
{
	return cmd_get_access(space, addr, len, id_of(device), access);
}
