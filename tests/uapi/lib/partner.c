// SPDX-License-Identifier: MIT
#include "partner.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "objects.h"
#include "process.h"

#define LIMIT_S		60
/* The result of an order that could not be carried out. */
#define FAILED		UINT64_MAX

static uint64_t result_of(struct outcome outcome)
{
	if (outcome.error)
		return FAILED;
	return outcome.signal ? outcome.record.out_errno : outcome.value;
}

static uint64_t import(int prot)
{
	object_bytes = OBJECT_BYTES;
	buf = object_map(object, OBJECT_BYTES, prot, 0);
	return buf ? 0 : FAILED;
}

static uint64_t count_on(uint32_t page)
{
	const uint64_t args[] = { (uintptr_t)word_of(buf, page), 1UL << 50 };

	agent_post(agent_of(A), 0, AGENT_ADD, args, 2);
	return 0;
}

static uint64_t carry_out(enum order order, uint32_t value)
{
	switch (order) {
	case CREATE:
		return object_new(A, OBJECT_BYTES, value, RW) ? FAILED : 0;
	case IMPORT:
		return import((int)value);
	case ID:
		return object_id(object);
	case GRANT:
		return (uint64_t)-grant(A, value);
	case DEVICE_FILL:
		return result_of(dev_fill(A, buf, OBJECT_BYTES, value));
	case DEVICE_SUM:
		return result_of(dev_sum(A, buf, OBJECT_BYTES));
	case CPU_FILL:
		pages_fill(buf, OBJECT_BYTES, value);
		return 0;
	case CPU_CHECK:
		return (uint64_t)(pages_check(buf, OBJECT_BYTES, value) + 1);
	case PROTECT:
		/* The mask clears the register's upper half: glibc does not. */
		return mprotect(buf, OBJECT_BYTES, (int)(value & RW)) ?
			       (uint64_t)errno :
			       0;
	case COUNT:
		return count_on(value);
	case UNMAP:
		close(object);
		return (uint64_t)munmap(buf, OBJECT_BYTES);
	case UNBIND:
		session_unbind(&session, A);
		return 0;
	case CLOSE_SPACE:
		session_unbind(&session, A);
		return (uint64_t)close(space);
	case QUIT:
		break;
	}
	session_unbind(&session, A);
	_exit(0);
}

static void partner_run(int socket)
{
	uint64_t message, result;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	object = -1;
	if (session_start(&session, 1, 1))
		_exit(1);
	space = session.space;
	while (!message_receive(socket, &fd, &message)) {
		if (fd >= 0)
			object = fd;
		result = carry_out(message >> 32, (uint32_t)message);
		message_send(socket, message >> 32 == CREATE ? object : -1,
			     result);
	}
	_exit(2);
}

bool partner_start(struct partner *partner)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	partner->socket = ends[0];
	partner->pid = fork();
	if (!partner->pid) {
		close(ends[0]);
		partner_run(ends[1]);
	}
	close(ends[1]);
	return partner->pid > 0;
}

uint64_t ask_with(const struct partner *partner, enum order order,
		  uint32_t value, int object)
{
	uint64_t result = FAILED;
	int fd;

	if (message_send(partner->socket, object, (uint64_t)order << 32 | value))
		return FAILED;
	if (message_receive(partner->socket, &fd, &result))
		return FAILED;
	if (fd >= 0)
		close(fd);
	return result;
}

uint64_t ask(const struct partner *partner, enum order order, uint32_t value)
{
	return ask_with(partner, order, value, -1);
}

int ask_for_object(const struct partner *partner, uint32_t flags)
{
	uint64_t result = FAILED;
	int fd = -1;

	if (message_send(partner->socket, -1, (uint64_t)CREATE << 32 | flags) ||
	    message_receive(partner->socket, &fd, &result) || result)
		return -1;
	return fd;
}

bool partner_end(struct partner *partner, bool kills)
{
	pid_t pid = partner->pid;
	int status;

	if (!pid)
		return true;
	if (kills)
		kill(pid, SIGKILL);
	else
		message_send(partner->socket, -1, (uint64_t)QUIT << 32);
	partner->pid = 0;
	close(partner->socket);
	status = process_wait_for(pid, LIMIT_S);
	if (status < 0) {
		kill(pid, SIGKILL);
		return false;
	}
	return kills ? WIFSIGNALED(status) : !status;
}
