// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

/* Device pages are freed when the last process that uses them is gone. */
#define GIVE_BACK_LIMIT_S	20

static int complain(const char *what, int rc)
{
	fprintf(stderr, "# session: %s: %s\n", what, strerror(-rc));
	return rc;
}

int session_open(struct session *session, unsigned int nr_devices)
{
	*session = (struct session){ .nr_devices = nr_devices };
	session->space = open_manager();
	if (session->space < 0)
		return complain("open /dev/hmmrt", session->space);
	for (unsigned int i = 0; i < nr_devices; i++) {
		struct session_device *device = &session->devices[i];

		device->gpu = open_gpu(i);
		if (device->gpu < 0)
			return complain("open /dev/hmmrt-gpuN", device->gpu);
	}
	return 0;
}

/*
 * Start the agents before the space exists: forking a process that has a space
 * works, but has a test of its own.
 */
int session_bind(struct session *session, unsigned int nr_lanes)
{
	int rc;

	for (unsigned int i = 0; i < session->nr_devices; i++) {
		struct session_device *device = &session->devices[i];

		rc = agent_start(&device->agent, device->gpu, nr_lanes);
		if (rc)
			return complain("start the agent", rc);
	}
	rc = cmd_space_create(session->space);
	if (rc)
		return complain("HMMRT_IOC_SPACE_CREATE", rc);
	for (unsigned int i = 0; i < session->nr_devices; i++) {
		struct session_device *device = &session->devices[i];
		struct hmmrt_gpu_bind bind;

		rc = cmd_bind_next(device->gpu, session->space, &bind);
		if (rc)
			return complain("HMMRT_GPU_IOC_BIND", rc);
		device->id = bind.out_device_id;
		device->token = bind.out_token;
		device->used_before =
			device_used_bytes(session->space, device->id);
	}
	return 0;
}

int session_attach(struct session *session)
{
	int rc;

	for (unsigned int i = 0; i < session->nr_devices; i++) {
		struct session_device *device = &session->devices[i];

		rc = agent_attach(&device->agent, device->gpu, device->token);
		if (rc)
			return complain("HMMRT_GPU_IOC_ATTACH", rc);
		rc = agent_map(&device->agent, (void *)ARENA_BASE, ARENA_BYTES,
			       PROT_READ | PROT_WRITE | PROT_EXEC);
		if (rc)
			return complain("mmap of the mirror", rc);
	}
	return 0;
}

int session_start(struct session *session, unsigned int nr_devices,
		  unsigned int nr_lanes)
{
	int rc = session_open(session, nr_devices);

	if (!rc)
		rc = session_bind(session, nr_lanes);
	if (!rc)
		rc = session_attach(session);
	return rc;
}

static bool device_is_given_back(int manager,
				 const struct session_device *device)
{
	int64_t used = -1;

	for (unsigned int try = 0; try < GIVE_BACK_LIMIT_S * 100; try++) {
		used = device_used_bytes(manager, device->id);
		/*
		 * May be less if memory of an earlier test was still in use
		 * when this one began.
		 */
		if (used >= 0 && used <= device->used_before)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	fprintf(stderr,
		"# session: device %u has %lld bytes in use, before: %lld\n",
		device->id, (long long)used, (long long)device->used_before);
	return false;
}

void session_unbind(struct session *session, unsigned int index)
{
	struct session_device *device = &session->devices[index];

	agent_quit(&device->agent);
	if (device->gpu >= 0)
		close(device->gpu);
	device->gpu = -1;
}

int session_end(struct session *session)
{
	int manager = open_manager();
	int rc = 0;

	for (unsigned int i = 0; i < session->nr_devices; i++)
		session_unbind(session, i);
	close(session->space);
	for (unsigned int i = 0; i < session->nr_devices; i++)
		if (session->devices[i].token &&
		    !device_is_given_back(manager, &session->devices[i]))
			rc = -EBUSY;
	close(manager);
	return rc;
}

struct agent *session_agent(struct session *session)
{
	return &session->devices[0].agent;
}

struct hmmrt_stats session_stats(const struct session *session,
				 unsigned int device)
{
	struct hmmrt_stats stats;
	int rc = cmd_stats(session->space, session->devices[device].id, &stats);

	if (rc)
		complain("HMMRT_IOC_STATS", rc);
	return stats;
}

void *arena_map(size_t len, int prot, int flags, int fd, off_t offset)
{
	static uintptr_t next = ARENA_BASE;
	void *addr = mmap((void *)next, len, prot, flags | MAP_FIXED_NOREPLACE,
			  fd, offset);

	if (addr == MAP_FAILED)
		return NULL;
	next += (len + 2 * BLOCK_BYTES - 1) & ~(BLOCK_BYTES - 1);
	return addr;
}

static bool huge_pages_are_the_default(void)
{
	int fd = open("/sys/kernel/mm/transparent_hugepage/enabled",
		      O_RDONLY | O_CLOEXEC);
	char modes[64] = "";

	if (fd < 0)
		return false;
	if (read(fd, modes, sizeof(modes) - 1) < 0)
		modes[0] = 0;
	close(fd);
	return strstr(modes, "[always]");
}

/* Huge pages are for tests that ask for them. */
static bool keep_small(void *addr, size_t len)
{
	static int ask_for_small = -1;

	if (ask_for_small < 0)
		ask_for_small = huge_pages_are_the_default();
	return !ask_for_small || !madvise(addr, len, MADV_NOHUGEPAGE);
}

void *arena_anon(size_t len)
{
	void *addr = arena_map(len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return addr && keep_small(addr, len) ? addr : NULL;
}

bool map_anon_at(void *addr, size_t len)
{
	return mmap(addr, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == addr &&
	       keep_small(addr, len);
}

unsigned int test_seed(void)
{
	const char *text = getenv("HMMRT_TEST_SEED");
	unsigned int seed = text ? (unsigned int)atoi(text) :
				   (unsigned int)time(NULL);

	fprintf(stderr, "# HMMRT_TEST_SEED=%u\n", seed);
	return seed;
}

void pages_fill(void *addr, size_t len, uint64_t first)
{
	for (size_t at = 0; at < len; at += PAGE_BYTES)
		*(volatile uint64_t *)((char *)addr + at) = first++;
}

long pages_check(const void *addr, size_t len, uint64_t first)
{
	for (size_t at = 0; at < len; at += PAGE_BYTES)
		if (*(const volatile uint64_t *)((const char *)addr + at) !=
		    first++)
			return (long)(at / PAGE_BYTES);
	return -1;
}

uint64_t pages_sum(size_t len, uint64_t first)
{
	uint64_t n = len / PAGE_BYTES;

	return n * first + n * (n - 1) / 2;
}

static long smaps_kib(const void *addr, const char *key)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	unsigned long start, end;
	bool found = false;
	long kib = -1;
	char line[512];

	while (file && kib < 0 && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			found = start == (uintptr_t)addr;
		else if (found && !strncmp(line, key, strlen(key)))
			kib = strtol(line + strlen(key) + 1, NULL, 10);
	}
	if (file)
		fclose(file);
	return kib;
}

bool has_huge_pages(char *buf, size_t len)
{
	if (madvise(buf, len, MADV_HUGEPAGE))
		return false;
	memset(buf, 0x11, len);
	return smaps_kib(buf, "AnonHugePages") == (long)(len >> 10);
}

/* In pagemap, device pages are swap entries: 5 type bits, then the offset. */
uint64_t device_frame(const void *addr)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	ssize_t got = pread(fd, &entry, sizeof(entry),
			    (off_t)((uintptr_t)addr / PAGE_BYTES *
				    sizeof(entry)));

	close(fd);
	if (got != sizeof(entry) || !(entry >> 62 & 1))
		return 0;
	return (entry & ((1ULL << 55) - 1)) >> 5;
}
