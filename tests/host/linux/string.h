/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_STRING_H
#define TESTS_HOST_LINUX_STRING_H

#include <string.h>

#endif
