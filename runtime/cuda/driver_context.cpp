// SPDX-License-Identifier: MIT
// The CUDA driver interface: contexts. Each device has one, its primary
// context. A thread's current context is the one of its current device. The
// rest of a thread's context stack is a list of devices to return to.
#include "driver.hpp"
#include "limits.hpp"

#include <new>
#include <vector>

/// Only its address matters.
struct CUctx_st {
    char unused;
};

namespace hmmcuda {
namespace {

/// The number of devices in libhmmrt's masks.
constexpr int most_devices = 31;
CUctx_st contexts[most_devices];

thread_local std::vector<int> devices_below;

/// Calls use(device) for the device of a context.
template <class Use>
CUresult with_context(CUcontext context, Use use) {
    const std::optional<int> device = device_of(context);
    if (!device) return CUDA_ERROR_INVALID_CONTEXT;
    return driver_call([&] { return use(*device); });
}

CUresult push(int device) {
    int before = 0;
    try {
        devices_below.reserve(devices_below.size() + 1);
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const CUresult result = driver_call([&] {
        const hmmError_t code = hmmGetDevice(&before);
        return code != hmmSuccess ? code : hmmSetDevice(device);
    });
    if (result == CUDA_SUCCESS) devices_below.push_back(before);
    return result;
}

/// Returns success if the device exists.
hmmError_t check_device(int device) {
    int lanes = 0;
    return hmmDeviceGetAttribute(&lanes, hmmDevAttrMultiProcessorCount, device);
}

} // namespace

CUcontext context_of(int device) {
    return &contexts[device];
}

std::optional<int> device_of(CUcontext context) {
    for (int device = 0; device < most_devices; device++)
        if (context == &contexts[device]) return device;
    return std::nullopt;
}

} // namespace hmmcuda

using namespace hmmcuda;

/* ---- primary contexts ------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
    if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = driver_call([&] { return check_device(dev); });
    if (result == CUDA_SUCCESS) *pctx = context_of(dev);
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
    return driver_call([&] { return check_device(dev); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
    return driver_call([&] { return on_device(dev, hmmDeviceReset); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
    return driver_call([&] { return on_device(dev, [&] { return hmmSetDeviceFlags(flags); }); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
    if (active == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result =
        driver_call([&] { return on_device(dev, [&] { return hmmGetDeviceFlags(flags); }); });
    if (result == CUDA_SUCCESS) *active = 1;
    return result;
}

/* ---- the thread's contexts -------------------------------------------- */

CUresult cuCtxCreate(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuDevicePrimaryCtxSetFlags(dev, flags);
    if (result == CUDA_SUCCESS) result = push(dev);
    if (result == CUDA_SUCCESS) *pctx = context_of(dev);
    return result;
}

CUresult cuCtxDestroy(CUcontext ctx) {
    CUcontext current = nullptr;
    if (ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!device_of(ctx)) return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult result = cuCtxGetCurrent(&current);
    if (result != CUDA_SUCCESS || current != ctx || devices_below.empty()) return result;
    return cuCtxPopCurrent(nullptr);
}

CUresult cuCtxPushCurrent(CUcontext ctx) {
    if (ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<int> device = device_of(ctx);
    return device ? push(*device) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPopCurrent(CUcontext* pctx) {
    if (devices_below.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext current = nullptr;
    CUresult result = cuCtxGetCurrent(&current);
    if (result == CUDA_SUCCESS)
        result = driver_call([] { return hmmSetDevice(devices_below.back()); });
    if (result != CUDA_SUCCESS) return result;
    devices_below.pop_back();
    if (pctx != nullptr) *pctx = current;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
    // A thread always has a context.
    if (ctx == nullptr) return CUDA_SUCCESS;
    return with_context(ctx, [](int device) { return hmmSetDevice(device); });
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
    if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
    int device = 0;
    const CUresult result = cuCtxGetDevice(&device);
    if (result == CUDA_SUCCESS) *pctx = context_of(device);
    return result;
}

/* ---- the current context ---------------------------------------------- */

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return with_context(ctx, [&](int) {
        *version = CUDA_VERSION;
        return hmmSuccess;
    });
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
    if (!is_limit(static_cast<cudaLimit>(limit))) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return driver_call(
        [&] { return hmmDeviceGetLimit(pvalue, limit_of(static_cast<cudaLimit>(limit))); });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    if (!is_limit(static_cast<cudaLimit>(limit))) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return driver_call(
        [&] { return hmmDeviceSetLimit(limit_of(static_cast<cudaLimit>(limit)), value); });
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
    return with_context(peerContext,
                        [&](int peer) { return hmmDeviceEnablePeerAccess(peer, Flags); });
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
    return with_context(peerContext, hmmDeviceDisablePeerAccess);
}
