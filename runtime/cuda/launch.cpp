// SPDX-License-Identifier: MIT
// <<<grid, block>>>: a launch with one item for each block.
#include "block_memory.hpp"
#include "cooperative.hpp"
#include "cuda/cuda_runtime_api.h"
#include "error.hpp"
#include "hmm/hmm_runtime.h"
#include "launch_data.hpp"
#include "limits.hpp"
#include "model.hpp"
#include "registry.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

namespace hmmcuda {
namespace {

void run_with_memory(const launch_data& launch, const hmmThreadIndex& index) {
    std::byte* const area = launch.take_area();
    launch.run_to_end(launch.make_block(area, index));
    launch.memory->give(area);
}

void run_block(const hmmThreadIndex* index, void* arguments) {
    const auto& launch = *static_cast<const launch_data*>(arguments);
    if (launch.memory != nullptr) return run_with_memory(launch, *index);
    block_run run;
    run.shared = run.arrays = nullptr;
    run.thread_states = run.group_states = nullptr;
    launch.set_place(run, *index);
    launch.run_to_end(run);
}

cudaError_t check_sizes(const dim3& grid, const dim3& block) {
    for (const std::uint32_t size : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
        if (size == 0) return cudaErrorInvalidValue;
    const auto exceeds = [](const dim3& size, const int(&most)[3]) {
        return size.x > unsigned(most[0]) || size.y > unsigned(most[1]) ||
               size.z > unsigned(most[2]);
    };
    if (exceeds(block, model::block_size) || exceeds(grid, model::grid_size) ||
        block.x * block.y * block.z > most_threads)
        return cudaErrorInvalidValue;
    // Device code computes thread numbers with 31 bits.
    if (std::uint64_t(grid.x) * block.x > INT_MAX) return cudaErrorNotSupported;
    return cudaSuccess;
}

cudaError_t check_arguments(const kernel_code& kernel, void** arguments) {
    if (kernel.parameter_count == 0) return cudaSuccess;
    if (arguments == nullptr) return cudaErrorInvalidValue;
    for (std::uint32_t i = 0; i < kernel.parameter_count; i++)
        if (arguments[i] == nullptr) return cudaErrorInvalidValue;
    return cudaSuccess;
}

/// As in CUDA, a cooperative launch can't have more blocks than can run at the same time: one per
/// lane.
cudaError_t check_lanes(std::uint64_t blocks) {
    int lanes = 0;
    const hmmError_t code = lanes_of_current_device(lanes);
    if (code != hmmSuccess) return forward(code);
    return blocks > static_cast<std::uint64_t>(lanes) ? record(cudaErrorCooperativeLaunchTooLarge)
                                                      : cudaSuccess;
}

/// The launch_data, followed by the kernel's arguments.
class packed_launch {
  public:
    packed_launch(const launch_data& launch, void** arguments)
        : bytes_(sizeof(launch_data) + launch.kernel->argument_bytes) {
        std::byte* const memory = bytes_ <= own_.size() ? own_.data() : allocate();
        std::memcpy(memory, &launch, sizeof(launch));
        std::byte* const copies = memory + sizeof(launch);
        for (std::uint32_t i = 0; i < launch.kernel->parameter_count; i++) {
            const parameter& each = launch.kernel->parameters[i];
            std::memcpy(copies + each.offset, arguments[i], each.size);
        }
    }
    const void* data() const { return large_ ? large_.get() : own_.data(); }
    std::size_t size() const { return bytes_; }

  private:
    std::byte* allocate() {
        large_.reset(new std::byte[bytes_]);
        return large_.get();
    }

    std::size_t bytes_;
    std::array<std::byte, 512> own_;
    std::unique_ptr<std::byte[]> large_;
};

cudaError_t error_of_no_kernel(const void* function) {
    return function == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidResourceHandle;
}

cudaError_t launch(bool cooperative, const void* function, const dim3& grid, const dim3& block,
                   void** arguments, std::size_t shared, cudaStream_t stream) {
    const kernel_code* const kernel = find_kernel(function);
    if (kernel == nullptr) return record(error_of_no_kernel(function));
    if (const cudaError_t error = check_sizes(grid, block)) return record(error);
    if (shared > dynamic_limit(*kernel)) return record(cudaErrorInvalidValue);
    if (const cudaError_t error = check_arguments(*kernel, arguments)) return record(error);
    launch_data data = {kernel, nullptr, block, static_cast<std::uint32_t>(shared)};
    const std::uint64_t blocks = std::uint64_t(grid.x) * grid.y * grid.z;
    if (cooperative) {
        if (const cudaError_t error = check_lanes(blocks)) return error;
    }
    if (cooperative || data.needs_memory()) {
        data.memory =
            block_memory::of_size(cooperative ? bytes_of_grid(data, blocks) : data.area_bytes());
        if (data.memory == nullptr) return record(cudaErrorLaunchOutOfResources);
    }
    const packed_launch packed(data, arguments);
    return forward(hmmLaunchWrapper(cooperative ? run_in_grid : run_block,
                                    reinterpret_cast<const void*>(kernel->run),
                                    {grid.x, grid.y, grid.z}, {1, 1, 1}, packed.data(),
                                    packed.size(), 0, reinterpret_cast<hmmStream_t>(stream)));
}

/// The values between <<< and >>>, stored until the kernel's arguments are
/// evaluated.
struct call_configuration {
    dim3 grid;
    dim3 block;
    std::size_t shared;
    void* stream;
};

/// Arguments of a launch may contain other launches.
constexpr std::size_t most_nested = 8;
constinit thread_local std::size_t nested = 0;
thread_local std::array<call_configuration, most_nested> configurations;

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                             size_t sharedMem, cudaStream_t stream) {
    try {
        return launch(false, func, gridDim, blockDim, args, sharedMem, stream);
    } catch (const std::bad_alloc&) {
        return record(cudaErrorMemoryAllocation);
    }
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                        size_t sharedMem, cudaStream_t stream) {
    try {
        return launch(true, func, gridDim, blockDim, args, sharedMem, stream);
    } catch (const std::bad_alloc&) {
        return record(cudaErrorMemoryAllocation);
    }
}

// The names are clang's.
extern "C" {

/// Returns 0: the kernel should be called. If all are in use, drops the oldest, whose arguments
/// must have thrown an exception.
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
    if (nested == most_nested) {
        std::move(configurations.begin() + 1, configurations.end(), configurations.begin());
        nested--;
    }
    configurations[nested++] = {grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    if (nested == 0) return record(cudaErrorMissingConfiguration);
    const call_configuration& last = configurations[--nested];
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared;
    std::memcpy(stream, &last.stream, sizeof(last.stream));
    return cudaSuccess;
}

} // extern "C"
