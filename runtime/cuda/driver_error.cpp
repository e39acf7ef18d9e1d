// SPDX-License-Identifier: MIT
// The CUDA driver interface: errors.
#include "driver.hpp"

#include "current_thread.hpp"

namespace hmmcuda {
namespace {

struct result_text {
    CUresult code;
    const char* name;
};

constexpr result_text result_texts[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
#define HMM_CUDA_RESULT(name, number) {CUDA_ERROR_##name, "CUDA_ERROR_" #name},
#include "cuda/driver_error_list.h"
#undef HMM_CUDA_RESULT
};

const char* name_of(CUresult error) {
    for (const result_text& text : result_texts)
        if (text.code == error) return text.name;
    return nullptr;
}

/// Sets *place to @text, which is NULL for an unknown error.
CUresult give_text(const char** place, const char* text) {
    if (place == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *place = text;
    return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

} // namespace

CUresult result_of(hmmError_t error) {
    if (error != hmmSuccess) name_failed_thread();
    // The runtime interface has additional errors; the others have the same
    // numbers.
    const cudaError_t same = error_of(error);
    switch (same) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorInvalidDeviceFunction:
        return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInsufficientDriver:
        return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    default:
        return static_cast<CUresult>(same);
    }
}

} // namespace hmmcuda

using namespace hmmcuda;

CUresult cuGetErrorName(CUresult error, const char** pStr) {
    return give_text(pStr, name_of(error));
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
    const bool known = name_of(error) != nullptr;
    return give_text(pStr, known ? sentence_of(static_cast<cudaError_t>(error)) : nullptr);
}
