// SPDX-License-Identifier: MIT
#include "process.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool process_wait_end(pid_t pid, int limit_s, int *status)
{
	int try;

	for (try = 0; try < limit_s * 100; try++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(10000);
	}
	return false;
}

/*
 * Waits until scanning a proc file of the process with @format yields @wanted.
 */
static bool wait_for_word(pid_t pid, const char *name, const char *format,
			  const char *wanted, int limit_s)
{
	char path[64], word[32];
	FILE *file;
	int try;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	for (try = 0; try < limit_s * 100; try++) {
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
