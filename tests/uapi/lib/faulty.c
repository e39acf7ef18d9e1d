// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "faulty.h"

int open_faulty_control(void)
{
	int fd = open("/dev/hmmrt-faulty", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int open_soft(const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, HMMRT_SOFT_IOC_BIND))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int open_faulty(unsigned int number)
{
	char path[32];

	snprintf(path, sizeof(path), "/dev/hmmrt-faulty%u", number);
	return open_soft(path);
}

int faulty_devices(int control, unsigned long count)
{
	return ioctl(control, HMMRT_FAULTY_IOC_DEVICES, count) ? -errno : 0;
}

static int fail_set(int control, struct hmmrt_faulty_fail fail)
{
	if (ioctl(control, HMMRT_FAULTY_IOC_FAIL, &fail))
		return -errno;
	return (int)fail.out_left;
}

static int fail_times(int control, enum hmmrt_faulty_op op, unsigned int nth,
		      unsigned int times)
{
	int rc = fail_set(control, (struct hmmrt_faulty_fail){
					   .op = op,
					   .nth = nth,
					   .times = times,
				   });

	return rc < 0 ? rc : 0;
}

int faulty_fail_nth(int control, enum hmmrt_faulty_op op, unsigned int nth)
{
	return fail_times(control, op, nth, 1);
}

int faulty_fail_next(int control, enum hmmrt_faulty_op op, unsigned int times)
{
	return fail_times(control, op, 1, times);
}

int faulty_fail_always(int control, enum hmmrt_faulty_op op)
{
	return fail_times(control, op, 1, HMMRT_FAULTY_ALWAYS);
}

int faulty_fail_stop(int control, enum hmmrt_faulty_op op)
{
	return fail_set(control, (struct hmmrt_faulty_fail){ .op = op });
}

int faulty_evict(int control, unsigned long number)
{
	return ioctl(control, HMMRT_FAULTY_IOC_EVICT, number) ? -errno : 0;
}

int faulty_invalidations(int control, unsigned long number)
{
	int count = ioctl(control, HMMRT_FAULTY_IOC_INVALIDATIONS, number);

	return count < 0 ? -errno : count;
}

int faulty_hollow(int control, unsigned long mib)
{
	return ioctl(control, HMMRT_FAULTY_IOC_HOLLOW, mib) ? -errno : 0;
}

int faulty_bad_page(int control, unsigned long page)
{
	return ioctl(control, HMMRT_FAULTY_IOC_BAD_PAGE, page) ? -errno : 0;
}

int faulty_slow_copy(int control, unsigned long msecs)
{
	int left = ioctl(control, HMMRT_FAULTY_IOC_SLOW, msecs);

	return left < 0 ? -errno : left;
}

int faulty_hold(int control, bool hold)
{
	int rc = ioctl(control, HMMRT_FAULTY_IOC_HOLD, (unsigned long)hold);

	return rc < 0 ? -errno : rc;
}

int faulty_wait_held(int control)
{
	int rc = 0;

	for (unsigned int try = 0; !rc && try < 2000; try++) {
		rc = faulty_hold(control, true);
		if (!rc)
			usleep(5000);
	}
	return rc > 0 ? 0 : rc ? rc : -ETIMEDOUT;
}

int faulty_worker(int control, bool on)
{
	return ioctl(control, HMMRT_FAULTY_IOC_WORKER, (unsigned long)on) ?
		       -errno :
		       0;
}

int faulty_read(int fd, const volatile void *addr, uint64_t *value)
{
	uint64_t found;
	ssize_t rc = pread(fd, value ?: &found, sizeof(found),
			   (off_t)(uintptr_t)addr);

	return rc == sizeof(found) ? 0 : -errno;
}

int faulty_write(int fd, volatile void *addr, uint64_t value)
{
	ssize_t rc = pwrite(fd, &value, sizeof(value), (off_t)(uintptr_t)addr);

	return rc == sizeof(value) ? 0 : -errno;
}

int faulty_range(int fd, unsigned int call, const volatile void *addr,
		 size_t len)
{
	struct hmmrt_faulty_range range = {
		.addr = (uintptr_t)addr, .len = len,
	};

	return ioctl(fd, call, &range) ? -errno : 0;
}
