// SPDX-License-Identifier: MIT
#include "pin.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int pin_memory(void *addr, size_t len)
{
	struct io_uring_params params = { 0 };
	struct iovec buffer = { addr, len };
	int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	int rc;

	if (ring < 0)
		return -errno;
	if (!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS,
		     &buffer, 1))
		return ring;
	rc = -errno;
	close(ring);
	return rc;
}

int unpin_memory(int pin)
{
	int rc = 0;

	if (syscall(SYS_io_uring_register, pin, IORING_UNREGISTER_BUFFERS, NULL,
		    0))
		rc = -errno;
	close(pin);
	return rc;
}
