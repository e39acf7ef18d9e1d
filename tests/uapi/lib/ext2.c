// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "ext2.h"

#define IMAGE_BYTES	(16UL << 20)

/* A fixed UUID: without one, mkfs may wait seconds for random numbers. */
#define ANY_UUID	"686d6d72-7400-4000-8000-000000000001"
#define MKFS		"/sbin/mkfs.ext2 -q -b 4096 -U " ANY_UUID \
			" -E hash_seed=" ANY_UUID

static int complain(const char *what, int error)
{
	fprintf(stderr, "# ext2: %s: %s\n", what, strerror(error));
	return -error;
}

/* The image is unlinked before this returns. */
static int make_image(void)
{
	char path[] = "/tmp/hmmrt-ext2.XXXXXX", command[256];
	int fd = mkostemp(path, O_CLOEXEC);
	int rc;

	if (fd < 0)
		return complain("a file in /tmp", errno);
	snprintf(command, sizeof(command), MKFS " %s >/dev/null 2>&1", path);
	rc = ftruncate(fd, IMAGE_BYTES) || system(command);
	unlink(path);
	if (!rc)
		return fd;
	close(fd);
	return complain("mkfs.ext2", ENOENT);
}

/*
 * Attaches the image to a free loop device, which is released with its last
 * user. Keeps only a read-only descriptor open: a block device that is open for
 * writing cannot be mounted without CONFIG_BLK_DEV_WRITE_MOUNTED.
 */
static int attach_loop(int image, char *loop, size_t size)
{
	struct loop_config config = {
		.fd = (unsigned int)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR,
	};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int number, fd, held = -1;

	if (control < 0)
		return complain("/dev/loop-control", errno);
	number = ioctl(control, LOOP_CTL_GET_FREE);
	close(control);
	snprintf(loop, size, "/dev/loop%d", number);
	fd = open(loop, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return complain(loop, errno);
	if (!ioctl(fd, LOOP_CONFIGURE, &config))
		held = open(loop, O_RDONLY | O_CLOEXEC);
	if (held < 0)
		complain(loop, errno);
	close(fd);
	return held;
}

/* Opens a file on the mount, then detaches the mount. */
static int open_on(const char *loop)
{
	char dir[] = "/tmp/hmmrt-ext2.XXXXXX", path[64];
	int fd = -1, error;

	if (!mkdtemp(dir))
		return complain("a folder in /tmp", errno);
	snprintf(path, sizeof(path), "%s/file", dir);
	error = mount(loop, dir, "ext2", 0, NULL) ? errno : 0;
	if (!error) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		error = fd < 0 ? errno : 0;
		umount2(dir, MNT_DETACH);
	}
	rmdir(dir);
	return error ? complain("mount", error) : fd;
}

int ext2_file(size_t len)
{
	int image = make_image(), loop_fd, fd;
	char loop[32];

	if (image < 0)
		return image;
	loop_fd = attach_loop(image, loop, sizeof(loop));
	close(image);
	if (loop_fd < 0)
		return loop_fd;
	fd = open_on(loop);
	close(loop_fd);
	if (fd >= 0 && ftruncate(fd, (off_t)len)) {
		close(fd);
		return complain("space for the file", errno);
	}
	return fd;
}

/* Counts the pages of the file that are in memory. Returns -1 on failure. */
static long cached_pages(int fd)
{
	unsigned char there[BLOCK_PAGES];
	struct stat stat;
	long count = -1;
	size_t i, pages;
	void *addr;

	if (fstat(fd, &stat) || (size_t)stat.st_size > PAGE_BYTES * sizeof(there))
		return -1;
	addr = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return -1;
	pages = (size_t)stat.st_size / PAGE_BYTES;
	if (!mincore(addr, (size_t)stat.st_size, there))
		for (count = 0, i = 0; i < pages; i++)
			count += there[i] & 1;
	munmap(addr, (size_t)stat.st_size);
	return count;
}

int ext2_reread(int fd)
{
	int rc;

	if (fsync(fd))
		return -errno;
	rc = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (rc)
		return -rc;
	return cached_pages(fd) ? -EBUSY : 0;
}
