// SPDX-License-Identifier: MIT
// Errors of the CUDA runtime interface.
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"
#include "current_thread.hpp"
#include "hmm/hmm_runtime.h"

#include <string_view>

namespace hmmcuda {
namespace {

struct error_text {
    cudaError_t code;
    const char* name;
};

constexpr error_text error_texts[] = {
    {cudaSuccess, "cudaSuccess"},
#define HMM_CUDA_ERROR(name, number) {cudaError##name, "cudaError" #name},
#include "cuda/error_list.h"
#undef HMM_CUDA_ERROR
};

const char* name_of(cudaError_t error) {
    for (const error_text& text : error_texts)
        if (text.code == error) return text.name;
    return nullptr;
}

/// libhmmrt has a sentence for every error that a call can return, except for
/// these.
const char* own_sentence(cudaError_t error) {
    switch (error) {
    case cudaErrorInvalidSymbol:
        return "the symbol is NULL";
    case cudaErrorDeviceUninitialized:
        return "the context does not belong to a device, or the thread has no other context";
    default:
        return "a CUDA error that hmmrt never returns";
    }
}

/// libhmmrt's sentence for an error with this number, or NULL.
const char* sentence_of_number(int number) {
    // the last error; its enumeration ends soon after
    if (number > hmmErrorForkedProcess) return nullptr;
    const auto error = static_cast<hmmError_t>(number);
    static const std::string_view unknown = hmmGetErrorName(static_cast<hmmError_t>(1023));
    return hmmGetErrorName(error) != unknown ? hmmGetErrorString(error) : nullptr;
}

/// The last failure in this library itself; a later one in libhmmrt replaces
/// it.
constinit thread_local cudaError_t own_error = cudaSuccess;

} // namespace

cudaError_t error_of(hmmError_t error) {
    switch (error) {
    case hmmErrorSystemCall:
        return cudaErrorLaunchFailure;
    case hmmErrorDeviceLost:
        return cudaErrorContextIsDestroyed;
    case hmmErrorForkedProcess:
        return cudaErrorInitializationError;
    default:
        return static_cast<cudaError_t>(error);
    }
}

cudaError_t forward(hmmError_t error) {
    if (error == hmmSuccess) return cudaSuccess;
    own_error = cudaSuccess;
    name_failed_thread();
    return error_of(error);
}

cudaError_t record(cudaError_t error) {
    if (error != cudaSuccess) own_error = error;
    return error;
}

const char* sentence_of(cudaError_t error) {
    const char* same = sentence_of_number(error);
    return same != nullptr ? same : own_sentence(error);
}

void restore_last_error(cudaError_t error) {
    hmmGetLastError();
    const cudaError_t sticky = error_of(hmmPeekAtLastError());
    own_error = error != sticky ? error : cudaSuccess;
}

} // namespace hmmcuda

using namespace hmmcuda;

const char* cudaGetErrorName(cudaError_t error) {
    const char* name = name_of(error);
    return name != nullptr ? name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
    return name_of(error) != nullptr ? sentence_of(error) : "unrecognized error code";
}

cudaError_t cudaGetLastError(void) {
    const cudaError_t own = own_error;
    own_error = cudaSuccess;
    const cudaError_t other = error_of(hmmGetLastError());
    return own != cudaSuccess ? own : other;
}

cudaError_t cudaPeekAtLastError(void) {
    return own_error != cudaSuccess ? own_error : error_of(hmmPeekAtLastError());
}
