// SPDX-License-Identifier: MIT
#include "uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd.h"

int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (uffd < 0)
		return -errno;
	rc = cmd_raw(uffd, UFFDIO_API, &api);
	if (!rc)
		return uffd;
	close(uffd);
	return rc;
}

int uffd_watch(int uffd, const void *addr, size_t len, uint64_t mode)
{
	struct uffdio_register range = {
		.range = { .start = (uintptr_t)addr, .len = len },
		.mode = mode,
	};

	return cmd_raw(uffd, UFFDIO_REGISTER, &range);
}

int uffd_protect(int uffd, const void *addr, size_t len, bool on)
{
	struct uffdio_writeprotect protect = {
		.range = { .start = (uintptr_t)addr, .len = len },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return cmd_raw(uffd, UFFDIO_WRITEPROTECT, &protect);
}

int uffd_fill(int uffd, const void *addr, uint64_t value)
{
	uint64_t page[PAGE_BYTES / sizeof(uint64_t)]
		__attribute__((aligned(PAGE_BYTES))) = { value };
	struct uffdio_copy copy = {
		.dst = (uintptr_t)addr, .src = (uintptr_t)page,
		.len = PAGE_BYTES,
	};

	return cmd_raw(uffd, UFFDIO_COPY, &copy);
}

struct uffd_msg uffd_next(int uffd, int limit_s)
{
	struct pollfd event = { .fd = uffd, .events = POLLIN };
	struct uffd_msg message = { 0 };

	if (poll(&event, 1, limit_s * 1000) != 1 ||
	    read(uffd, &message, sizeof(message)) != (ssize_t)sizeof(message))
		memset(&message, 0, sizeof(message));
	return message;
}
