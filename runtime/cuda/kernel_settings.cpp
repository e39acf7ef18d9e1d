// SPDX-License-Identifier: MIT
// The CUDA runtime interface: settings of kernels, and occupancy. A lane runs
// one block at a time.
#include "error.hpp"
#include "limits.hpp"
#include "model.hpp"
#include "registry.hpp"

#include "cuda/cuda_runtime_overloads.h"
#include "hmm/hmm_runtime.h"

#include <algorithm>
#include <cstddef>
#include <new>

namespace hmmcuda {
namespace {

bool fits(const cudaFuncAttributes& kernel, int block, std::size_t dynamic_bytes) {
    return block <= kernel.maxThreadsPerBlock &&
           kernel.sharedSizeBytes <= model::most_shared_bytes &&
           dynamic_bytes <= model::most_shared_bytes - kernel.sharedSizeBytes;
}

/// For settings without effect: checks the kernel, and that @value is less than
/// @count.
cudaError_t accept(const void* func, int value, int count) {
    cudaFuncAttributes kernel;
    if (value < 0 || value >= count) return record(cudaErrorInvalidValue);
    return cudaFuncGetAttributes(&kernel, func);
}

cudaError_t limit_dynamic_memory(const void* func, std::size_t bytes) {
    try {
        if (const kernel_code* const code = find_kernel(func)) set_dynamic_limit(*code, bytes);
        return cudaSuccess;
    } catch (const std::bad_alloc&) {
        return record(cudaErrorMemoryAllocation);
    }
}

/// The largest block of whole warps that suits(block); 0 if there is none. If
/// @most is less than a warp, only tries @most.
template <class Suits>
int greatest_block(int most, Suits suits) {
    if (most < model::warp_size) return suits(most) ? most : 0;
    for (int block = most / model::warp_size * model::warp_size; block > 0;
         block -= model::warp_size)
        if (suits(block)) return block;
    return 0;
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
    cudaFuncAttributes kernel;
    const cudaError_t error = cudaFuncGetAttributes(&kernel, func);
    if (error != cudaSuccess) return error;
    switch (attr) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || !fits(kernel, 1, static_cast<std::size_t>(value)))
            return record(cudaErrorInvalidValue);
        return limit_dynamic_memory(func, static_cast<std::size_t>(value));
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        return value >= cudaSharedmemCarveoutDefault && value <= cudaSharedmemCarveoutMaxShared
                   ? cudaSuccess
                   : record(cudaErrorInvalidValue);
    }
    return record(cudaErrorInvalidValue);
}

cudaError_t cudaFuncSetCacheConfig(const void* func, cudaFuncCache config) {
    return accept(func, config, cudaFuncCachePreferEqual + 1);
}

cudaError_t cudaFuncSetSharedMemConfig(const void* func, cudaSharedMemConfig config) {
    return accept(func, config, cudaSharedMemBankSizeEightByte + 1);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func,
                                                          int blockSize, size_t dynamicSMemSize) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, const void* func,
                                                                   int blockSize,
                                                                   size_t dynamicSMemSize,
                                                                   unsigned int flags) {
    if (numBlocks == nullptr || blockSize < 1 || flags > cudaOccupancyDisableCachingOverride)
        return record(cudaErrorInvalidValue);
    cudaFuncAttributes kernel;
    const cudaError_t error = cudaFuncGetAttributes(&kernel, func);
    if (error == cudaSuccess) *numBlocks = fits(kernel, blockSize, dynamicSMemSize) ? 1 : 0;
    return error;
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, const void* func,
                                                      int numBlocks, int blockSize) {
    if (dynamicSmemSize == nullptr || numBlocks < 1 || blockSize < 1)
        return record(cudaErrorInvalidValue);
    cudaFuncAttributes kernel;
    const cudaError_t error = cudaFuncGetAttributes(&kernel, func);
    if (error != cudaSuccess) return error;
    const bool possible = numBlocks == 1 && fits(kernel, blockSize, 0);
    *dynamicSmemSize = possible ? static_cast<std::size_t>(kernel.maxDynamicSharedSizeBytes) : 0;
    return cudaSuccess;
}

cudaError_t hmmCudaPotentialBlockSize(int* minGridSize, int* blockSize, const void* func,
                                      size_t (*bytes_of)(int block, void* context), void* context,
                                      int limit) {
    if (minGridSize == nullptr || blockSize == nullptr || limit < 0)
        return record(cudaErrorInvalidValue);
    cudaFuncAttributes kernel;
    const cudaError_t error = cudaFuncGetAttributes(&kernel, func);
    if (error != cudaSuccess) return error;
    int lanes = 0;
    const hmmError_t code = lanes_of_current_device(lanes);
    if (code != hmmSuccess) return forward(code);
    const int most =
        limit > 0 ? std::min(limit, kernel.maxThreadsPerBlock) : kernel.maxThreadsPerBlock;
    *blockSize = greatest_block(
        most, [&](int block) { return fits(kernel, block, bytes_of(block, context)); });
    *minGridSize = *blockSize > 0 ? lanes : 0;
    return cudaSuccess;
}
