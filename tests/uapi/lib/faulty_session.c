// SPDX-License-Identifier: MIT
#include "faulty_session.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "modules.h"
#include "setting.h"

int control = -1;
int fds[2] = { -1, -1 };
uint64_t first;

int faulty_renew(void)
{
	int rc = 0;

	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	rc = faulty_devices(control, 0);
	if (!rc)
		rc = faulty_devices(control, 2);
	for (unsigned int i = 0; i < 2; i++) {
		fds[i] = open_faulty(i);
		if (!rc && fds[i] < 0)
			rc = fds[i];
	}
	return rc;
}

int faulty_start(void)
{
	char *mapped;
	int rc;

	fds[A] = -1;
	fds[B] = -1;
	rc = module_insert("hmmrt_faulty", "");
	if (rc)
		return rc;
	space = open_manager();
	session = (struct session){ .space = space, .nr_devices = 2 };
	control = open_faulty_control();
	if (space < 0 || control < 0)
		return -ENOENT;
	rc = cmd_space_create(space);
	if (!rc)
		rc = faulty_renew();
	if (!rc)
		rc = device_named(space, "hmmrt-faulty0",
				  &session.devices[A].id);
	if (!rc)
		rc = device_named(space, "hmmrt-faulty1",
				  &session.devices[B].id);
	mapped = arena_anon(2 * BLOCK_BYTES);
	buf = mapped + BLOCK_BYTES - LEN / 2;
	return mapped ? rc : -ENOMEM;
}

int faulty_end(void)
{
	for (unsigned int op = 0; op < HMMRT_FAULTY_OPS; op++)
		faulty_fail_stop(control, op);
	faulty_hold(control, false);
	close(fds[A]);
	close(fds[B]);
	close(control);
	close(space);
	return module_remove("hmmrt_faulty");
}

bool faulty_is_unused(void)
{
	for (unsigned int try = 0; try < 1000; try++) {
		if (!device_used_bytes(space, id_of(A)) &&
		    !device_used_bytes(space, id_of(B)))
			return true;
		usleep(10000);
	}
	return false;
}

long pages_on(unsigned int device)
{
	return count_at(device, buf, LEN);
}

int to_device(unsigned int device, const volatile void *addr, size_t len)
{
	return faulty_range(fds[device], HMMRT_FAULTY_IOC_TO_DEVICE, addr, len);
}

/*
 * Pages in a CPU's folio batches have an extra reference, which makes them
 * busy. Compaction drains the batches to the LRU lists.
 */
static void pages_to_lists(void)
{
	if (!write_text("/proc/sys/vm/compact_memory", "1"))
		fprintf(stderr, "# compact_memory cannot be written\n");
}

int put_on(unsigned int device)
{
	int rc;

	for (unsigned int try = 0; try < 10; try++) {
		rc = to_device(device, buf, LEN);
		if (rc || pages_on(device) == PAGES)
			return rc;
		pages_to_lists();
	}
	return -EIO;
}

int read_pages(void)
{
	uint64_t value;
	int rc;

	for (size_t i = 0; i < PAGES; i++) {
		rc = faulty_read(fds[A], buf + i * PAGE_BYTES, &value);
		if (rc)
			return rc;
		if (value != first + i)
			return -EILSEQ;
	}
	return 0;
}
