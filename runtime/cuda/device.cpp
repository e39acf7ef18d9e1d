// SPDX-License-Identifier: MIT
// The CUDA runtime interface: devices, their settings and peers, versions.
#include "convert.hpp"
#include "error.hpp"
#include "limits.hpp"
#include "model.hpp"

#include "cuda/cuda_runtime_api.h"

namespace hmmcuda {
namespace {

/// Returns success if the current device is usable.
hmmError_t check_device() {
    size_t bytes = 0;
    return hmmDeviceGetLimit(&bytes, hmmLimitMallocHeapSize);
}

bool is_current(int device) {
    int current = -1;
    return hmmGetDevice(&current) == hmmSuccess && device == current;
}

/// For settings without effect: checks that @value is less than @count.
cudaError_t accept(int value, int count) {
    if (value < 0 || value >= count) return record(cudaErrorInvalidValue);
    return forward(check_device());
}

/// Sets @config to the value without preference.
template <class Config>
cudaError_t get_default(Config* config) {
    if (config == nullptr) return record(cudaErrorInvalidValue);
    const hmmError_t code = check_device();
    if (code == hmmSuccess) *config = Config{};
    return forward(code);
}

/// Sets *@version to CUDA's version, or to 0 if nothing is loaded.
cudaError_t get_version(int* version, hmmError_t (*get)(int*)) {
    int loaded = 0;
    const hmmError_t code = get(version != nullptr ? &loaded : nullptr);
    if (code == hmmSuccess) *version = loaded != 0 ? model::version : 0;
    return forward(code);
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    if (!is_known_limit(limit)) return record(cudaErrorInvalidValue);
    if (!is_limit(limit)) return record(cudaErrorUnsupportedLimit);
    return forward(hmmDeviceGetLimit(value, limit_of(limit)));
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    if (!is_known_limit(limit)) return record(cudaErrorInvalidValue);
    if (!is_limit(limit)) return record(cudaErrorUnsupportedLimit);
    return forward(hmmDeviceSetLimit(limit_of(limit), value));
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    return get_default(config);
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
    return accept(config, cudaFuncCachePreferEqual + 1);
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    return get_default(config);
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return accept(config, cudaSharedMemBankSizeEightByte + 1);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
    if (is_current(peerDevice)) return record(cudaErrorPeerAccessUnsupported);
    return forward(hmmDeviceEnablePeerAccess(peerDevice, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
    if (is_current(peerDevice)) return record(cudaErrorPeerAccessNotEnabled);
    return forward(hmmDeviceDisablePeerAccess(peerDevice));
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attr, int srcDevice,
                                      int dstDevice) {
    if (attr < cudaDevP2PAttrPerformanceRank || attr > cudaDevP2PAttrCudaArrayAccessSupported)
        return record(cudaErrorInvalidValue);
    if (srcDevice == dstDevice) return record(cudaErrorInvalidDevice);
    int can = 0;
    const hmmError_t code =
        hmmDeviceCanAccessPeer(value != nullptr ? &can : nullptr, srcDevice, dstDevice);
    if (code != hmmSuccess) return forward(code);
    const bool needs_access =
        attr == cudaDevP2PAttrAccessSupported || attr == cudaDevP2PAttrNativeAtomicSupported;
    *value = needs_access ? can : 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* driverVersion) {
    return get_version(driverVersion, hmmDriverGetVersion);
}

cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
    return get_version(runtimeVersion, hmmRuntimeGetVersion);
}
