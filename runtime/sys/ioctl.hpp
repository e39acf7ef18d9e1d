// SPDX-License-Identifier: MIT
// One thin function per ioctl: fills `size`, returns 0 or -errno.
#pragma once

#include "sys/syscalls.hpp"

#include <linux/hmmrt.h>

namespace hmmrt::sys {

template <class Argument>
int call_driver(int fd, unsigned long request, Argument& argument) {
    argument.size = sizeof(argument);
    return control_file(fd, request, &argument);
}

inline int get_info(int fd, hmmrt_info& info) {
    return call_driver(fd, HMMRT_IOC_INFO, info);
}

inline int get_device_info(int fd, hmmrt_device_info& info) {
    return call_driver(fd, HMMRT_IOC_DEVICE_INFO, info);
}

inline int create_space(int fd) {
    hmmrt_space_create argument = {};
    return call_driver(fd, HMMRT_IOC_SPACE_CREATE, argument);
}

inline int bind_device(int gpu_fd, hmmrt_gpu_bind& bind) {
    return call_driver(gpu_fd, HMMRT_GPU_IOC_BIND, bind);
}

} // namespace hmmrt::sys
