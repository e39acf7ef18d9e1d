// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"
#include "object.h"
#include "setting.h"

/* No stack dump for each failure. */
bool inject_start(void)
{
	static const char *const settings[][2] = {
		{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/failslab/verbose", "0" },
		{ "/sys/kernel/debug/failslab/times", "0" },
		{ "/sys/kernel/debug/failslab/task-filter", "Y" },
		{ "/sys/kernel/debug/failslab/probability", "100" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/verbose", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/times", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/task-filter", "Y" },
		{ "/sys/kernel/debug/fail_page_alloc/probability", "100" },
		{ NULL, NULL },
	};

	for (unsigned int i = 0; settings[i][0]; i++)
		if (!write_text(settings[i][0], settings[i][1]))
			return false;
	return !access("/proc/self/fail-nth", W_OK);
}

int inject_open(pid_t pid, pid_t tid, const char *name)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid,
			 name);
	else
		snprintf(path, sizeof(path), "/proc/thread-self/%s", name);
	return open(path, O_RDWR | O_CLOEXEC);
}

void inject_write(int fd, unsigned int value)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", value);

	/*
	 * The injected failure may hit this write itself; the second one
	 * succeeds.
	 */
	if (pwrite(fd, text, (size_t)len, 0) != len &&
	    pwrite(fd, text, (size_t)len, 0) != len)
		perror("# fail-nth");
}

bool inject_disarm(int fd)
{
	char text[16] = { 0 };
	bool failed = pread(fd, text, sizeof(text) - 1, 0) > 0 &&
		      text[0] == '0';

	inject_write(fd, 0);
	return failed;
}

void inject_slab(const char *times)
{
	write_text("/sys/kernel/debug/failslab/times", times);
}

void inject_burst(const char *times)
{
	inject_slab(times);
	write_text("/sys/kernel/debug/fail_page_alloc/times", times);
}

struct starved {
	int (*run)(void *arg);
	void *arg;
	int rc;
};

static void *starved_run(void *arg)
{
	struct starved *starved = arg;
	int fd = inject_open(0, 0, "make-it-fail");
	uint64_t value;

	if (fd < 0) {
		starved->rc = -ENOENT;
		return NULL;
	}
	/*
	 * The kernel retries page faults that cannot get memory, so populate
	 * the thread's pages that cpu_read() and its signals use before
	 * allocations fail.
	 */
	cpu_read(NULL, &value);
	inject_write(fd, 1);
	starved->rc = starved->run(starved->arg);
	inject_write(fd, 0);
	close(fd);
	return NULL;
}

int inject_run(int (*run)(void *arg), void *arg)
{
	struct starved starved = { .run = run, .arg = arg };
	struct timespec limit;
	pthread_t thread;
	bool late;

	/*
	 * Set this before the thread starts. It does not affect this thread,
	 * which has not set make-it-fail.
	 */
	inject_burst("-1");
	if (pthread_create(&thread, NULL, starved_run, &starved)) {
		inject_burst("0");
		return -EAGAIN;
	}
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += INJECT_SECONDS;
	late = pthread_timedjoin_np(thread, NULL, &limit);
	inject_burst("0");
	if (late)
		pthread_join(thread, NULL);
	return late ? -ETIME : starved.rc;
}
