// SPDX-License-Identifier: MIT
// One thin function for each ioctl: fills in `size`, returns 0 or -errno.
#pragma once

#include "agent/prefetch_rest.h"
#include "sys/descriptors.hpp"
#include "sys/syscalls.hpp"

#include <linux/hmmrt.h>
#include <linux/hmmrt_event.h>

#include <cerrno>

namespace hmmrt::sys {

template <class Argument>
int call_modules(int fd, unsigned long request, Argument& argument) {
    argument.size = sizeof(argument);
    return control_file(fd, request, &argument);
}

inline int get_info(int fd, hmmrt_info& info) {
    return call_modules(fd, HMMRT_IOC_INFO, info);
}

inline int get_device_info(int fd, hmmrt_device_info& info) {
    return call_modules(fd, HMMRT_IOC_DEVICE_INFO, info);
}

inline int create_space(int fd) {
    hmmrt_space_create argument = {};
    return call_modules(fd, HMMRT_IOC_SPACE_CREATE, argument);
}

/// Binds a device. If a signal interrupts the wait for an earlier binding,
/// keeps waiting for the rest of wait_msec.
inline int bind_device(int gpu_fd, hmmrt_gpu_bind& bind) {
    const std::uint64_t deadline = monotonic_milliseconds() + bind.wait_msec;
    bind.size = sizeof(bind);
    for (;;) {
        const int error = control_file_once(gpu_fd, HMMRT_GPU_IOC_BIND, &bind);
        if (error != -EINTR) return error;
        const std::uint64_t now = monotonic_milliseconds();
        bind.wait_msec = now < deadline ? static_cast<std::uint32_t>(deadline - now) : 0;
    }
}

inline int get_residency(int space, hmmrt_residency& request) {
    return call_modules(space, HMMRT_IOC_RESIDENCY, request);
}

inline int advise_range(int space, hmmrt_advise& request) {
    return call_modules(space, HMMRT_IOC_ADVISE, request);
}

inline int get_range_attributes(int space, hmmrt_range_attributes& request) {
    return call_modules(space, HMMRT_IOC_RANGE_ATTRIBUTES, request);
}

inline int get_pages(int space, hmmrt_pages& request) {
    request.page_bytes = sizeof(hmmrt_page);
    return call_modules(space, HMMRT_IOC_PAGES, request);
}

inline int control_peer(int space, hmmrt_peer& request) {
    return call_modules(space, HMMRT_IOC_PEER, request);
}

/// @file: the space, or a file without a space for HMMRT_SCOPE_DEVICE.
inline int control_knob(int file, hmmrt_knob& request) {
    return call_modules(file, HMMRT_IOC_KNOB, request);
}

/// @file: the space, or a file without a space for a cgroup.
inline int control_quota(int file, hmmrt_quota& request) {
    return call_modules(file, HMMRT_IOC_QUOTA, request);
}

inline int get_stats(int space, hmmrt_stats& request) {
    return call_modules(space, HMMRT_IOC_STATS, request);
}

inline int annotate(int space, hmmrt_annotate& request) {
    return call_modules(space, HMMRT_IOC_ANNOTATE, request);
}

/// @file: the space; the created descriptor is in @request.
inline int create_object(int file, hmmrt_object_create& request) {
    const int error = call_modules(file, HMMRT_IOC_OBJECT_CREATE, request);
    if (error < 0) return error;
    request.out_fd = keep_standard_free(request.out_fd);
    return request.out_fd < 0 ? request.out_fd : 0;
}

/// @object: a descriptor of a memory object.
inline int get_object_info(int object, hmmrt_object_info& info) {
    return call_modules(object, HMMRT_OBJECT_IOC_INFO, info);
}

inline int control_access(int space, hmmrt_access& request) {
    return call_modules(space, HMMRT_IOC_ACCESS, request);
}

/// Adds the counts of @part to those of @all.
inline void add_prefetched(hmmrt_prefetch& all, const hmmrt_prefetch& part) {
    all.out_pages_moved += part.out_pages_moved;
    all.out_pages_there += part.out_pages_there;
    for (int i = 0; i < HMMRT_STAY_REASONS; i++)
        all.out_stayed[i] += part.out_stayed[i];
}

/// Prefetches a range, and continues after signals. Each page is processed only
/// once, so its outcome is that of the only attempt.
inline int prefetch(int space, hmmrt_prefetch& request) {
    hmmrt_prefetch part = request;
    part.size = sizeof(part);
    for (;;) {
        const int error = control_file_once(space, HMMRT_IOC_PREFETCH, &part);
        if (error != 0 && error != -EINTR) return error;
        add_prefetched(request, part);
        if (error == 0 || !prefetch_rest(part)) return 0;
    }
}

} // namespace hmmrt::sys
