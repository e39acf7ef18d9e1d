// SPDX-License-Identifier: MIT
// The C interface: enumerating devices and choosing the current one.
#include "interface.hpp"

#include <algorithm>

using namespace hmmrt;

hmmError_t hmmGetDeviceCount(int* count) {
    return guarded("hmmGetDeviceCount", [&] {
        require(count != nullptr, "count is NULL");
        *count = 0;
        *count = static_cast<int>(process::get().devices().size());
    });
}

hmmError_t hmmSetDevice(int device) {
    return guarded("hmmSetDevice",
                   [&] { this_thread.device = process::get().device_at(device).number(); });
}

hmmError_t hmmGetDevice(int* device) {
    return guarded("hmmGetDevice", [&] {
        require(device != nullptr, "device is NULL");
        *device = current_device().number();
    });
}

hmmError_t hmmMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    return guarded("hmmMemGetInfo", [&] {
        require(free_bytes != nullptr && total_bytes != nullptr, "an output pointer is NULL");
        const hmmrt_device_info info = process::get().info_of(current_device());
        *total_bytes = info.out_memory_bytes;
        *free_bytes = info.out_memory_bytes - std::min(info.out_used_bytes, info.out_memory_bytes);
    });
}
