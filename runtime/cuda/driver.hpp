// SPDX-License-Identifier: MIT
// Shared by the functions of the CUDA driver interface. Their failures don't
// count as errors of the runtime interface.
#pragma once

#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda.h"
#include "cuda/cuda_runtime_api.h"

#include <optional>

namespace hmmcuda {

CUresult result_of(hmmError_t error);

/// Calls libhmmrt and converts its error to the driver interface's.
template <class Call>
CUresult driver_call(Call call) {
    const cudaError_t before = cudaPeekAtLastError();
    const hmmError_t code = call();
    if (code != hmmSuccess) restore_last_error(before);
    return result_of(code);
}

/// Calls libhmmrt with another current device.
template <class Call>
hmmError_t on_device(int device, Call call) {
    int before = 0;
    hmmError_t code = hmmGetDevice(&before);
    if (code == hmmSuccess) code = hmmSetDevice(device);
    if (code != hmmSuccess) return code;
    code = call();
    const hmmError_t back = hmmSetDevice(before);
    return code != hmmSuccess ? code : back;
}

inline void* pointer_of(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

inline hmmMemLocation location_of(CUmemLocation location) {
    return {static_cast<hmmMemLocationType>(location.type), location.id};
}

/// The only context of a device.
CUcontext context_of(int device);
/// The device of a context, if the context exists.
std::optional<int> device_of(CUcontext context);

} // namespace hmmcuda
