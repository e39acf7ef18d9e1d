// SPDX-License-Identifier: MIT
/*
 * The sample driver loads, serves faults by moving memory to its device, and is
 * removed again.
 */
#include <sys/ioctl.h>

#include "lib/faulty.h"
#include "lib/harness.h"
#include "lib/modules.h"
#include "lib/session.h"

FIXTURE(sample) {
	int manager;
	int fd;
	uint64_t *word;
};

FIXTURE_SETUP(sample)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		SKIP(_exit(SKIPPED), "HMMRT_MODULE_DIR is not set");
	ASSERT_EQ(0, module_insert("hmmrt_sample", ""));
	self->manager = open_manager();
	self->fd = FD(open_soft("/dev/hmmrt-sample"));
	ASSERT_EQ(0, cmd_space_create(self->manager));
	self->word = arena_anon(BLOCK_BYTES);
	ASSERT_NE(NULL, self->word);
}

FIXTURE_TEARDOWN(sample)
{
	if (!getenv("HMMRT_MODULE_DIR"))
		return;
	close(self->fd);
	EXPECT_EQ(0, module_remove("hmmrt_sample"));
	close(self->manager);
}

static int sample_read(int fd, const uint64_t *addr, uint64_t *value)
{
	return pread(fd, value, 8, (off_t)(uintptr_t)addr) == 8 ? 0 : -errno;
}

static int sample_write(int fd, const uint64_t *addr, uint64_t value)
{
	return pwrite(fd, &value, 8, (off_t)(uintptr_t)addr) == 8 ? 0 : -errno;
}

/* A bind waits for the mmap_lock, and open() holds a lock of all misc devices. */
TEST_F(sample, opening_does_not_bind)
{
	int fd = FD(open("/dev/hmmrt-sample", O_RDWR | O_CLOEXEC));
	uint64_t value;

	*self->word = 42;
	EXPECT_EQ(-ENODEV, sample_read(fd, self->word, &value));
	EXPECT_EQ(-1, ioctl(fd, HMMRT_SOFT_IOC_BIND));
	EXPECT_EQ(EBUSY, errno);
	close(self->fd);
	EXPECT_EQ(0, ioctl(fd, HMMRT_SOFT_IOC_BIND));
	EXPECT_EQ(0, sample_read(fd, self->word, &value));
	EXPECT_EQ(42, value);
	EXPECT_EQ(-1, ioctl(fd, HMMRT_SOFT_IOC_BIND));
	EXPECT_EQ(EBUSY, errno);
	self->fd = fd;
}

TEST_F(sample, device_and_process_see_what_the_other_wrote)
{
	uint64_t value = 0;

	*self->word = 42;
	ASSERT_EQ(0, sample_read(self->fd, self->word, &value));
	EXPECT_EQ(42, value);
	/* The page has moved to the device. */
	EXPECT_EQ(0, pages_at(self->manager, self->word, PAGE_BYTES,
			      HMMRT_LOCATION_HOST));
	ASSERT_EQ(0, sample_write(self->fd, self->word, 43));
	EXPECT_EQ(43, *self->word);
	EXPECT_EQ(1, pages_at(self->manager, self->word, PAGE_BYTES,
			      HMMRT_LOCATION_HOST));
}

TEST_F(sample, faults_without_permission_are_refused)
{
	uint64_t value;

	ASSERT_EQ(0, mprotect(self->word, PAGE_BYTES, PROT_READ));
	EXPECT_EQ(0, sample_read(self->fd, self->word, &value));
	EXPECT_EQ(-EACCES, sample_write(self->fd, self->word, 1));
	ASSERT_EQ(0, munmap(self->word, PAGE_BYTES));
	EXPECT_EQ(-EFAULT, sample_read(self->fd, self->word, &value));
}

TEST_HARNESS_MAIN
