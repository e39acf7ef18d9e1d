// SPDX-License-Identifier: MIT
// The C interface: enumerating devices, choosing the current one, and
// properties.
#include "api/interface.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace hmmrt {
namespace {

constexpr int any_number = std::numeric_limits<int>::max();

struct member {
    hmmDeviceAttr attribute;
    int hmmDeviceProp::*value;
};

constexpr member members[] = {
    {hmmDevAttrMaxThreadsPerBlock, &hmmDeviceProp::maxThreadsPerBlock},
    {hmmDevAttrWarpSize, &hmmDeviceProp::warpSize},
    {hmmDevAttrMaxRegistersPerBlock, &hmmDeviceProp::regsPerBlock},
    {hmmDevAttrClockRate, &hmmDeviceProp::clockRate},
    {hmmDevAttrMultiProcessorCount, &hmmDeviceProp::multiProcessorCount},
    {hmmDevAttrKernelExecTimeout, &hmmDeviceProp::kernelExecTimeoutEnabled},
    {hmmDevAttrIntegrated, &hmmDeviceProp::integrated},
    {hmmDevAttrCanMapHostMemory, &hmmDeviceProp::canMapHostMemory},
    {hmmDevAttrComputeMode, &hmmDeviceProp::computeMode},
    {hmmDevAttrConcurrentKernels, &hmmDeviceProp::concurrentKernels},
    {hmmDevAttrEccEnabled, &hmmDeviceProp::ECCEnabled},
    {hmmDevAttrPciBusId, &hmmDeviceProp::pciBusID},
    {hmmDevAttrPciDeviceId, &hmmDeviceProp::pciDeviceID},
    {hmmDevAttrPciDomainId, &hmmDeviceProp::pciDomainID},
    {hmmDevAttrTccDriver, &hmmDeviceProp::tccDriver},
    {hmmDevAttrMemoryClockRate, &hmmDeviceProp::memoryClockRate},
    {hmmDevAttrGlobalMemoryBusWidth, &hmmDeviceProp::memoryBusWidth},
    {hmmDevAttrL2CacheSize, &hmmDeviceProp::l2CacheSize},
    {hmmDevAttrMaxThreadsPerMultiProcessor, &hmmDeviceProp::maxThreadsPerMultiProcessor},
    {hmmDevAttrAsyncEngineCount, &hmmDeviceProp::asyncEngineCount},
    {hmmDevAttrUnifiedAddressing, &hmmDeviceProp::unifiedAddressing},
    {hmmDevAttrComputeCapabilityMajor, &hmmDeviceProp::major},
    {hmmDevAttrComputeCapabilityMinor, &hmmDeviceProp::minor},
    {hmmDevAttrStreamPrioritiesSupported, &hmmDeviceProp::streamPrioritiesSupported},
    {hmmDevAttrGlobalL1CacheSupported, &hmmDeviceProp::globalL1CacheSupported},
    {hmmDevAttrLocalL1CacheSupported, &hmmDeviceProp::localL1CacheSupported},
    {hmmDevAttrMaxRegistersPerMultiprocessor, &hmmDeviceProp::regsPerMultiprocessor},
    {hmmDevAttrManagedMemory, &hmmDeviceProp::managedMemory},
    {hmmDevAttrIsMultiGpuBoard, &hmmDeviceProp::isMultiGpuBoard},
    {hmmDevAttrMultiGpuBoardGroupID, &hmmDeviceProp::multiGpuBoardGroupID},
    {hmmDevAttrHostNativeAtomicSupported, &hmmDeviceProp::hostNativeAtomicSupported},
    {hmmDevAttrSingleToDoublePrecisionPerfRatio, &hmmDeviceProp::singleToDoublePrecisionPerfRatio},
    {hmmDevAttrPageableMemoryAccess, &hmmDeviceProp::pageableMemoryAccess},
    {hmmDevAttrConcurrentManagedAccess, &hmmDeviceProp::concurrentManagedAccess},
    {hmmDevAttrComputePreemptionSupported, &hmmDeviceProp::computePreemptionSupported},
    {hmmDevAttrCanUseHostPointerForRegisteredMem,
     &hmmDeviceProp::canUseHostPointerForRegisteredMem},
    {hmmDevAttrCooperativeLaunch, &hmmDeviceProp::cooperativeLaunch},
    {hmmDevAttrCooperativeMultiDeviceLaunch, &hmmDeviceProp::cooperativeMultiDeviceLaunch},
    {hmmDevAttrHostRegisterSupported, &hmmDeviceProp::hostRegisterSupported},
    {hmmDevAttrPageableMemoryAccessUsesHostPageTables,
     &hmmDeviceProp::pageableMemoryAccessUsesHostPageTables},
    {hmmDevAttrDirectManagedMemAccessFromHost, &hmmDeviceProp::directManagedMemAccessFromHost},
    {hmmDevAttrMaxBlocksPerMultiprocessor, &hmmDeviceProp::maxBlocksPerMultiProcessor},
    {hmmDevAttrMaxPersistingL2CacheSize, &hmmDeviceProp::persistingL2CacheMaxSize},
    {hmmDevAttrMaxAccessPolicyWindowSize, &hmmDeviceProp::accessPolicyMaxWindowSize},
    {hmmDevAttrHostRegisterReadOnlySupported, &hmmDeviceProp::hostRegisterReadOnlySupported},
    {hmmDevAttrTimelineSemaphoreInteropSupported,
     &hmmDeviceProp::timelineSemaphoreInteropSupported},
    {hmmDevAttrMemoryPoolsSupported, &hmmDeviceProp::memoryPoolsSupported},
    {hmmDevAttrGPUDirectRDMASupported, &hmmDeviceProp::gpuDirectRDMASupported},
    {hmmDevAttrClusterLaunch, &hmmDeviceProp::clusterLaunch},
    {hmmDevAttrIpcEventSupport, &hmmDeviceProp::ipcEventSupported},
    {hmmDevAttrHostNumaId, &hmmDeviceProp::hostNumaId},
};

/// Attributes whose members are not of type int.
struct constant {
    hmmDeviceAttr attribute;
    int value;
};

constexpr constant constants[] = {
    {hmmDevAttrMaxBlockDimX, threads_per_block},
    {hmmDevAttrMaxBlockDimY, threads_per_block},
    {hmmDevAttrMaxBlockDimZ, threads_per_block},
    {hmmDevAttrMaxGridDimX, any_number},
    {hmmDevAttrMaxGridDimY, any_number},
    {hmmDevAttrMaxGridDimZ, any_number},
    {hmmDevAttrMaxSharedMemoryPerBlock, 0},
    {hmmDevAttrTotalConstantMemory, 0},
    {hmmDevAttrMaxPitch, any_number},
    {hmmDevAttrMaxSharedMemoryPerMultiprocessor, 0},
    {hmmDevAttrMaxSharedMemoryPerBlockOptin, 0},
    {hmmDevAttrReservedSharedMemoryPerBlock, 0},
    {hmmDevAttrMemoryPoolSupportedHandleTypes, 0},
    {hmmDevAttrVirtualMemoryManagementSupported, 1},
    {hmmDevAttrHandleTypePosixFileDescriptorSupported, 1},
};

/// Sets the properties that are the same for all devices and not 0.
void set_what_is_always_so(hmmDeviceProp& prop) {
    prop.warpSize = 1;
    prop.memPitch = greatest_pitch;
    prop.maxThreadsPerBlock = prop.maxThreadsPerMultiProcessor = threads_per_block;
    prop.maxBlocksPerMultiProcessor = 1;
    for (int& size : prop.maxThreadsDim)
        size = threads_per_block;
    for (int& size : prop.maxGridSize)
        size = any_number;
    prop.pciBusID = prop.pciDeviceID = prop.pciDomainID = -1;
    prop.canMapHostMemory = prop.concurrentKernels = prop.unifiedAddressing = 1;
    prop.streamPrioritiesSupported = 1;
    prop.globalL1CacheSupported = prop.localL1CacheSupported = 1;
    prop.managedMemory = prop.pageableMemoryAccess = prop.concurrentManagedAccess = 1;
    prop.canUseHostPointerForRegisteredMem = 1;
    prop.hostRegisterSupported = prop.hostRegisterReadOnlySupported = 1;
    prop.memoryPoolsSupported = 1;
}

hmmDeviceProp properties_of(device& which) {
    const hmmrt_device_info info = process::get().info_of(which);
    const hmmrt_info all = process::get().where().info();
    hmmDeviceProp prop = {};
    set_what_is_always_so(prop);
    std::snprintf(prop.name, sizeof(prop.name), "%s", which.name().c_str());
    prop.totalGlobalMem = info.out_memory_bytes;
    prop.pageSize = all.out_page_size;
    prop.migrationBlockSize = all.out_block_size;
    prop.multiProcessorCount = static_cast<int>(which.lanes());
    prop.multiGpuBoardGroupID = which.number();
    prop.hostNumaId = info.out_numa_node;
    prop.hostNativeAtomicSupported = (info.out_properties & HMMRT_PROPERTY_NATIVE_ATOMICS) != 0;
    prop.directManagedMemAccessFromHost = (info.out_properties & HMMRT_PROPERTY_COHERENT) != 0;
    prop.integrated = prop.pageableMemoryAccessUsesHostPageTables =
        process::get().where().shares_page_tables() ? 1 : 0;
    return prop;
}

int attribute_of(const hmmDeviceProp& prop, hmmDeviceAttr attribute) {
    for (const member& each : members)
        if (each.attribute == attribute) return prop.*each.value;
    for (const constant& each : constants)
        if (each.attribute == attribute) return each.value;
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

hmmError_t hmmMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    return guarded("hmmMemGetInfo", [&] {
        const hmmrt_device_info info = process::get().info_of(current_device());
        const auto total = info.out_memory_bytes;
        if (total_bytes != nullptr) *total_bytes = total;
        if (free_bytes != nullptr) *free_bytes = total - std::min(info.out_used_bytes, total);
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
