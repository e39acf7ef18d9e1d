// SPDX-License-Identifier: MIT
// The C interface: which devices there are, and what they are like.
#include "interface.hpp"

#include <algorithm>
#include <cstdio>

namespace hmmrt {
namespace {

hmmDeviceProp properties_of(device& which) {
    const hmmrt_device_info info = process::get().info_of(which);
    const hmmrt_info all = process::get().info();
    hmmDeviceProp prop = {};
    std::snprintf(prop.name, sizeof(prop.name), "%s", which.name().c_str());
    prop.totalGlobalMem = info.out_memory_bytes;
    prop.pageSize = all.out_page_size;
    prop.migrationBlockSize = all.out_block_size;
    prop.multiProcessorCount = static_cast<int>(which.lanes());
    prop.hostNumaNode = info.out_numa_node;
    prop.pageableMemoryAccess = 1;
    prop.concurrentManagedAccess = 1;
    prop.hostNativeAtomicSupported = (info.out_properties & HMMRT_PROPERTY_NATIVE_ATOMICS) != 0;
    prop.directManagedMemAccessFromHost = (info.out_properties & HMMRT_PROPERTY_COHERENT) != 0;
    prop.managedMemory = 1;
    prop.hostRegisterSupported = 1;
    return prop;
}

int attribute_of(const hmmDeviceProp& prop, hmmDeviceAttr attr) {
    switch (attr) {
    case hmmDevAttrMultiProcessorCount:
        return prop.multiProcessorCount;
    case hmmDevAttrIntegrated:
    case hmmDevAttrAsyncEngineCount:
        return 0;
    case hmmDevAttrCanMapHostMemory:
    case hmmDevAttrConcurrentKernels:
    case hmmDevAttrUnifiedAddressing:
    case hmmDevAttrStreamPrioritiesSupported:
    case hmmDevAttrCanUseHostPointerForRegisteredMem:
        return 1;
    case hmmDevAttrManagedMemory:
        return prop.managedMemory;
    case hmmDevAttrHostNativeAtomicSupported:
        return prop.hostNativeAtomicSupported;
    case hmmDevAttrPageableMemoryAccess:
        return prop.pageableMemoryAccess;
    case hmmDevAttrConcurrentManagedAccess:
        return prop.concurrentManagedAccess;
    case hmmDevAttrHostRegisterSupported:
        return prop.hostRegisterSupported;
    case hmmDevAttrPageableMemoryAccessUsesHostPageTables:
        return prop.pageableMemoryAccessUsesHostPageTables;
    case hmmDevAttrDirectManagedMemAccessFromHost:
        return prop.directManagedMemAccessFromHost;
    case hmmDevAttrHostNumaId:
        return prop.hostNumaNode;
    }
    throw failure(hmmErrorInvalidValue, "unknown attribute");
}

} // namespace
} // namespace hmmrt

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

hmmError_t hmmGetDeviceProperties(hmmDeviceProp* prop, int number) {
    return guarded("hmmGetDeviceProperties", [&] {
        require(prop != nullptr, "prop is NULL");
        *prop = properties_of(process::get().device_at(number));
    });
}

hmmError_t hmmDeviceGetAttribute(int* value, hmmDeviceAttr attr, int number) {
    return guarded("hmmDeviceGetAttribute", [&] {
        require(value != nullptr, "value is NULL");
        *value = attribute_of(properties_of(process::get().device_at(number)), attr);
    });
}

hmmError_t hmmMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    return guarded("hmmMemGetInfo", [&] {
        require(free_bytes != nullptr && total_bytes != nullptr, "a result is NULL");
        const hmmrt_device_info info = process::get().info_of(current_device());
        *total_bytes = info.out_memory_bytes;
        *free_bytes = info.out_memory_bytes - std::min(info.out_used_bytes, info.out_memory_bytes);
    });
}
