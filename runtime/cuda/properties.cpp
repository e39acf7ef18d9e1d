// SPDX-License-Identifier: MIT
// The CUDA runtime interface: properties and attributes of devices.
#include "properties.hpp"

#include "../base/device_uuid.hpp"
#include "error.hpp"
#include "model.hpp"

#include "cuda/cuda_runtime_api.h"
#include "hmm/hmm_runtime.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hmmcuda {
namespace {

struct attribute_value {
    cudaDeviceAttr attribute;
    int value;
};

/// Attributes for which libhmmrt has no value, or a different one because its
/// kernels have neither warps nor shared memory.
constexpr attribute_value own_attributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, model::threads_per_block},
    {cudaDevAttrMaxBlockDimX, model::block_size[0]},
    {cudaDevAttrMaxBlockDimY, model::block_size[1]},
    {cudaDevAttrMaxBlockDimZ, model::block_size[2]},
    {cudaDevAttrMaxGridDimX, model::grid_size[0]},
    {cudaDevAttrMaxGridDimY, model::grid_size[1]},
    {cudaDevAttrMaxGridDimZ, model::grid_size[2]},
    {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(model::shared_bytes)},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(model::most_shared_bytes)},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(model::most_shared_bytes)},
    {cudaDevAttrTotalConstantMemory, static_cast<int>(model::constant_bytes)},
    {cudaDevAttrWarpSize, model::warp_size},
    {cudaDevAttrMaxRegistersPerBlock, model::registers},
    {cudaDevAttrMaxRegistersPerMultiprocessor, model::registers},
    {cudaDevAttrMaxThreadsPerMultiProcessor, model::threads_per_block},
    {cudaDevAttrComputeCapabilityMajor, model::capability_major},
    {cudaDevAttrComputeCapabilityMinor, model::capability_minor},
#define HMM_CUDA_TEXTURE_ATTRIBUTE(name, driver_name, number) {cudaDevAttr##name, 0},
#include "cuda/texture_attribute_list.h"
#undef HMM_CUDA_TEXTURE_ATTRIBUTE
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrCanFlushRemoteWrites, 0},
    {cudaDevAttrSparseCudaArraySupported, 0},
    {cudaDevAttrGPUDirectRDMAFlushWritesOptions, 0},
    {cudaDevAttrGPUDirectRDMAWritesOrdering, 0},
    {cudaDevAttrDeferredMappingCudaArraySupported, 0},
};

void set_blocks(cudaDeviceProp& prop) {
    prop.warpSize = model::warp_size;
    prop.maxThreadsPerBlock = prop.maxThreadsPerMultiProcessor = model::threads_per_block;
    std::copy(std::begin(model::block_size), std::end(model::block_size), prop.maxThreadsDim);
    std::copy(std::begin(model::grid_size), std::end(model::grid_size), prop.maxGridSize);
    prop.sharedMemPerBlock = model::shared_bytes;
    prop.sharedMemPerBlockOptin = prop.sharedMemPerMultiprocessor = model::most_shared_bytes;
    prop.totalConstMem = model::constant_bytes;
    prop.regsPerBlock = prop.regsPerMultiprocessor = model::registers;
    prop.major = model::capability_major;
    prop.minor = model::capability_minor;
    prop.textureAlignment = prop.surfaceAlignment = 512;
    prop.texturePitchAlignment = 32;
    prop.deviceOverlap = prop.unifiedFunctionPointers = prop.cooperativeLaunch = 1;
}

void set_memory(cudaDeviceProp& prop, const hmmDeviceProp& from) {
    prop.totalGlobalMem = from.totalGlobalMem;
    prop.memPitch = from.memPitch;
    prop.memoryClockRate = from.memoryClockRate;
    prop.memoryBusWidth = from.memoryBusWidth;
    prop.l2CacheSize = from.l2CacheSize;
    prop.globalL1CacheSupported = from.globalL1CacheSupported;
    prop.localL1CacheSupported = from.localL1CacheSupported;
    prop.managedMemory = from.managedMemory;
    prop.pageableMemoryAccess = from.pageableMemoryAccess;
    prop.pageableMemoryAccessUsesHostPageTables = from.pageableMemoryAccessUsesHostPageTables;
    prop.concurrentManagedAccess = from.concurrentManagedAccess;
    prop.directManagedMemAccessFromHost = from.directManagedMemAccessFromHost;
    prop.hostNativeAtomicSupported = from.hostNativeAtomicSupported;
    prop.canMapHostMemory = from.canMapHostMemory;
    prop.unifiedAddressing = from.unifiedAddressing;
    prop.canUseHostPointerForRegisteredMem = from.canUseHostPointerForRegisteredMem;
    prop.hostRegisterSupported = from.hostRegisterSupported;
    prop.hostRegisterReadOnlySupported = from.hostRegisterReadOnlySupported;
    prop.memoryPoolsSupported = from.memoryPoolsSupported;
    prop.memoryPoolSupportedHandleTypes = from.memoryPoolSupportedHandleTypes;
}

void set_others(cudaDeviceProp& prop, const hmmDeviceProp& from) {
    static_assert(sizeof(prop.name) == sizeof(from.name));
    std::memcpy(prop.name, from.name, sizeof(prop.name));
    prop.multiProcessorCount = from.multiProcessorCount;
    prop.maxBlocksPerMultiProcessor = from.maxBlocksPerMultiProcessor;
    prop.clockRate = from.clockRate;
    prop.kernelExecTimeoutEnabled = from.kernelExecTimeoutEnabled;
    prop.integrated = from.integrated;
    prop.computeMode = from.computeMode;
    prop.concurrentKernels = from.concurrentKernels;
    prop.ECCEnabled = from.ECCEnabled;
    prop.pciBusID = from.pciBusID;
    prop.pciDeviceID = from.pciDeviceID;
    prop.pciDomainID = from.pciDomainID;
    prop.tccDriver = from.tccDriver;
    prop.asyncEngineCount = from.asyncEngineCount;
    prop.streamPrioritiesSupported = from.streamPrioritiesSupported;
    prop.hostNumaId = from.hostNumaId;
    prop.deviceNumaId = -1;
    prop.isMultiGpuBoard = from.isMultiGpuBoard;
    prop.multiGpuBoardGroupID = from.multiGpuBoardGroupID;
    prop.singleToDoublePrecisionPerfRatio = from.singleToDoublePrecisionPerfRatio;
    prop.computePreemptionSupported = from.computePreemptionSupported;
    prop.cooperativeMultiDeviceLaunch = from.cooperativeMultiDeviceLaunch;
    prop.timelineSemaphoreInteropSupported = from.timelineSemaphoreInteropSupported;
    prop.gpuDirectRDMASupported = from.gpuDirectRDMASupported;
    prop.ipcEventSupported = from.ipcEventSupported;
    prop.clusterLaunch = from.clusterLaunch;
}

} // namespace

std::optional<int> own_attribute(cudaDeviceAttr attribute) {
    for (const attribute_value& each : own_attributes)
        if (each.attribute == attribute) return each.value;
    return std::nullopt;
}

hmmError_t attribute_of(int* value, cudaDeviceAttr attribute, int device) {
    const std::optional<int> own = own_attribute(attribute);
    if (!own) return hmmDeviceGetAttribute(value, static_cast<hmmDeviceAttr>(attribute), device);
    // libhmmrt checks the arguments
    const hmmError_t code = hmmDeviceGetAttribute(value, hmmDevAttrWarpSize, device);
    if (code == hmmSuccess) *value = *own;
    return code;
}

CUuuid uuid_of(const hmmDeviceProp& prop) {
    CUuuid uuid;
    const auto bytes = hmmrt::uuid_of(prop.name);
    static_assert(sizeof(bytes) == sizeof(uuid.bytes));
    std::memcpy(uuid.bytes, bytes.data(), bytes.size());
    return uuid;
}

} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
    hmmDeviceProp from;
    const hmmError_t code = hmmGetDeviceProperties(prop != nullptr ? &from : nullptr, device);
    if (code != hmmSuccess) return forward(code);
    *prop = {};
    set_others(*prop, from);
    set_memory(*prop, from);
    set_blocks(*prop);
    prop->uuid = uuid_of(from);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
    return forward(attribute_of(value, attr, device));
}
