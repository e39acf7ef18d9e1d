/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_COMPILER_H
#define TESTS_HOST_LINUX_COMPILER_H

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))

#endif
