// SPDX-License-Identifier: MIT
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Waits until scanning a proc file of the process with @format yields @wanted.
 */
static bool wait_for_word(pid_t pid, const char *name, const char *format,
			  const char *wanted, int limit_s)
{
	char path[64], word[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	for (int try = 0; try < limit_s * 100; try++) {
		file = fopen(path, "re");
		if (!file || fscanf(file, format, word) != 1)
			word[0] = 0;
		if (file)
			fclose(file);
		if (!strcmp(word, wanted))
			return true;
		usleep(10000);
	}
	return false;
}

bool process_wait_zombie(pid_t pid, int limit_s)
{
	return wait_for_word(pid, "stat", "%*d (%*[^)]) %31s", "Z", limit_s);
}

bool process_wait_program(pid_t pid, int limit_s, const char *name)
{
	return wait_for_word(pid, "comm", "%31s", name, limit_s);
}

int process_wait(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

int process_wait_for(pid_t pid, int limit_s)
{
	int status;

	for (int try = 0; pid > 0 && try < limit_s * 100; try++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	return -1;
}

int process_result(pid_t pid)
{
	int status = process_wait(pid);

	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool process_wait_stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

int process_run(int (*body)(int arg), int arg, int limit_s)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(body(arg));
	}
	status = process_wait_for(pid, limit_s);
	return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int process_kill(pid_t pid)
{
	if (kill(pid, SIGKILL) || waitpid(pid, NULL, 0) != pid)
		return -errno;
	return 0;
}

bool gate_make(struct gate *gate)
{
	return !pipe2(gate->fds, O_CLOEXEC);
}

bool gate_wait(struct gate *gate)
{
	char byte;

	if (gate->fds[1] >= 0)
		close(gate->fds[1]);
	gate->fds[1] = -1;
	return read(gate->fds[0], &byte, 1) == 1;
}

bool gate_open(const struct gate *gate)
{
	return write(gate->fds[1], "", 1) == 1;
}

void gate_close(struct gate *gate)
{
	close(gate->fds[0]);
	if (gate->fds[1] >= 0)
		close(gate->fds[1]);
}

void *shared_page(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}
