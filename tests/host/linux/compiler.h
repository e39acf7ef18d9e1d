/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_COMPILER_H
#define TESTS_HOST_LINUX_COMPILER_H

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

#endif
