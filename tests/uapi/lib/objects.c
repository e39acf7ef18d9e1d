// SPDX-License-Identifier: MIT
#include "objects.h"

#include <errno.h>
#include <unistd.h>

int object = -1;
size_t object_bytes;

int create_at(uint32_t location, size_t len, uint32_t flags)
{
	return cmd_object_create(space, len, location_of(location), flags);
}

int create(size_t blocks)
{
	return create_at(A, blocks * BLOCK_BYTES, 0);
}

int create_on_host(size_t blocks)
{
	return create_at(HOST, blocks * BLOCK_BYTES, 0);
}

int object_new(uint32_t location, size_t len, uint32_t flags, int prot)
{
	object = create_at(location, len, flags);
	if (object < 0)
		return object;
	object_bytes = len;
	buf = object_map(object, len, prot, 0);
	return buf ? 0 : -ENOMEM;
}

int object_start(uint32_t location, size_t len, uint32_t flags)
{
	int rc = object_new(location, len, flags, RW);

	return rc ? rc : grant_all(OBJECT_WRITE);
}

void *object_mapped(size_t blocks)
{
	return object_new(A, blocks * BLOCK_BYTES, 0, RW) ? NULL : buf;
}

int object_end(void)
{
	int rc = munmap(buf, object_bytes) ? -errno : 0;

	close(object);
	object = -1;
	return rc;
}

void objects_end(void)
{
	object_unmap_all();
	if (object >= 0)
		close(object);
}

int grant(unsigned int device, uint32_t access)
{
	return set_access(buf, object_bytes, device, access);
}

int grant_all(uint32_t access)
{
	unsigned int device;
	int rc = 0;

	for (device = 0; !rc && device < session.nr_devices; device++)
		rc = grant(device, access);
	return rc;
}

uint32_t access_of(const void *addr, size_t len)
{
	uint32_t access;

	return get_access(addr, len, A, &access) ? UINT32_MAX : access;
}

int64_t used(unsigned int device)
{
	return device_used_bytes(space, id_of(device));
}

int64_t taken(unsigned int device)
{
	return used(device) - session.devices[device].used_before;
}

bool memory_is_freed(unsigned int device)
{
	return device_wait_used(space, id_of(device),
				session.devices[device].used_before);
}

uint64_t *word_of(char *addr, size_t page)
{
	return (uint64_t *)(addr + page * PAGE_BYTES);
}
