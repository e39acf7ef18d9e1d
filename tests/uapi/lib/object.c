// SPDX-License-Identifier: MIT
#include "object.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "session.h"

#define LIMIT_S		30

void *object_map(int object, size_t len, int prot, size_t offset)
{
	return arena_map(len, prot, MAP_SHARED, object, (off_t)offset);
}

int object_map_at(int object, void *addr, size_t len, int prot, size_t offset)
{
	void *got = mmap(addr, len, prot, MAP_SHARED | MAP_FIXED, object,
			 (off_t)offset);

	return got == addr ? 0 : -errno;
}

void object_unmap_all(void)
{
	munmap((void *)ARENA_BASE, ARENA_BYTES);
}

uint64_t object_id(int object)
{
	struct hmmrt_object_info info;

	return cmd_object_info(object, &info) ? 0 : info.out_id;
}

uint64_t object_resident(int object)
{
	struct hmmrt_object_info info;

	return cmd_object_info(object, &info) ? 0 : info.out_resident_bytes;
}

/* --- accesses of the CPU -------------------------------------------------- */

static __thread sigjmp_buf escape;

static void on_fault(int sig)
{
	siglongjmp(escape, sig);
}

static void catch_faults(struct sigaction before[2])
{
	struct sigaction action = { .sa_handler = on_fault };

	sigaction(SIGSEGV, &action, &before[0]);
	sigaction(SIGBUS, &action, &before[1]);
}

static void restore_faults(const struct sigaction before[2])
{
	sigaction(SIGSEGV, &before[0], NULL);
	sigaction(SIGBUS, &before[1], NULL);
}

int cpu_read(const volatile void *addr, uint64_t *value)
{
	struct sigaction before[2];
	int sig;

	catch_faults(before);
	sig = sigsetjmp(escape, 1);
	if (!sig) {
		uint64_t found = *(const volatile uint64_t *)addr;

		if (value)
			*value = found;
	}
	restore_faults(before);
	return sig;
}

int cpu_write(volatile void *addr, uint64_t value)
{
	struct sigaction before[2];
	int sig;

	catch_faults(before);
	sig = sigsetjmp(escape, 1);
	if (!sig)
		*(volatile uint64_t *)addr = value;
	restore_faults(before);
	return sig;
}

int cpu_read_in_child(const volatile void *addr)
{
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		_exit(*(const volatile uint64_t *)addr & 0x7f);
	}
	return process_wait(pid);
}

/* --- messages ------------------------------------------------------------- */

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int message_send(int socket, int fd, uint64_t number)
{
	union control control;
	struct iovec part = { &number, sizeof(number) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	if (sendmsg(socket, &message, MSG_NOSIGNAL) != sizeof(number))
		return -errno;
	return 0;
}

int message_receive(int socket, int *fd, uint64_t *number)
{
	union control control;
	struct iovec part = { number, sizeof(*number) };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (got < 0)
		return -errno;
	if (got != sizeof(*number))
		return -EPIPE;
	if (message.msg_controllen >= CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(&control.header), sizeof(*fd));
	return 0;
}

bool device_wait_used(int manager, uint32_t id, int64_t bytes)
{
	for (unsigned int try = 0; try < LIMIT_S * 100; try++) {
		if (device_used_bytes(manager, id) == bytes)
			return true;
		usleep(10000);
	}
	return false;
}
