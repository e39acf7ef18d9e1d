/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_MISCDEVICE_H
#define TESTS_HOST_LINUX_MISCDEVICE_H

struct file;
struct file_operations;

struct miscdevice {
	int minor;
};

#endif
