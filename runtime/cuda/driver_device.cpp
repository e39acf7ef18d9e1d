// SPDX-License-Identifier: MIT
// The CUDA driver interface: initialization, version and devices.
#include "driver.hpp"
#include "model.hpp"
#include "properties.hpp"

#include <cstdio>

namespace hmmcuda {
namespace {

/// Attributes that neither the runtime interface nor libhmmrt has.
bool is_never_supported(CUdevice_attribute attribute) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
        return true;
    default:
        return false;
    }
}

/// Calls use(properties) with the device's properties.
template <class Use>
CUresult with_properties(CUdevice device, Use use) {
    hmmDeviceProp prop;
    const CUresult result = driver_call([&] { return hmmGetDeviceProperties(&prop, device); });
    if (result == CUDA_SUCCESS) use(prop);
    return result;
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

CUresult cuInit(unsigned int Flags) {
    if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
    int count = 0;
    return cuDeviceGetCount(&count);
}

CUresult cuDriverGetVersion(int* driverVersion) {
    int loaded = 0;
    if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = driver_call([&] { return hmmDriverGetVersion(&loaded); });
    if (result == CUDA_SUCCESS) *driverVersion = loaded != 0 ? model::version : 0;
    return result;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    int count = 0;
    const CUresult result = cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS) return result;
    if (ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
    if (name == nullptr || len < 1) return CUDA_ERROR_INVALID_VALUE;
    return with_properties(dev, [&](const hmmDeviceProp& prop) {
        std::snprintf(name, static_cast<size_t>(len), "%s", prop.name);
    });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_properties(dev, [&](const hmmDeviceProp& prop) { *uuid = uuid_of(prop); });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
    return cuDeviceGetUuid(uuid, dev);
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_properties(dev, [&](const hmmDeviceProp& prop) { *bytes = prop.totalGlobalMem; });
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
    if (pi != nullptr && is_never_supported(attrib))
        return with_properties(dev, [&](const hmmDeviceProp&) { *pi = 0; });
    return driver_call([&] { return attribute_of(pi, static_cast<cudaDeviceAttr>(attrib), dev); });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_properties(dev, [&](const hmmDeviceProp&) {
        *major = model::capability_major;
        *minor = model::capability_minor;
    });
}
