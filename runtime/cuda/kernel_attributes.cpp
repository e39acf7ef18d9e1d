// SPDX-License-Identifier: MIT
// The CUDA runtime interface: attributes of kernels, and of other functions, of
// which we only know the address.
#include "error.hpp"
#include "model.hpp"
#include "registry.hpp"

#include "cuda/cuda_runtime_api.h"
#include "hmm/hmm_runtime.h"

using namespace hmmcuda;

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
    hmmFuncAttributes found;
    const hmmError_t code = hmmFuncGetAttributes(attr != nullptr ? &found : nullptr, func);
    if (code != hmmSuccess) return forward(code);
    *attr = {};
    attr->maxThreadsPerBlock = model::threads_per_block;
    attr->maxDynamicSharedSizeBytes = static_cast<int>(model::shared_bytes);
    if (const kernel_code* const kernel = find_kernel(func)) {
        attr->sharedSizeBytes = kernel->static_shared;
        attr->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_limit(*kernel));
    }
    return cudaSuccess;
}
