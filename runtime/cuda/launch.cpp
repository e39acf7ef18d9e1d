// SPDX-License-Identifier: MIT
// <<<grid, block>>>: a launch with one item for each block.
#include "block_memory.hpp"
#include "cuda/cuda_runtime_api.h"
#include "error.hpp"
#include "hmm/hmm_runtime.h"
#include "model.hpp"
#include "registry.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

namespace hmmcuda {
namespace {

constexpr std::uint32_t most_groups = most_threads / warp_size;

std::size_t rounded(std::size_t bytes) {
    return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

/// The copy of a launch's arguments that lanes read: this, and then the kernel's.
struct alignas(alignof(std::max_align_t)) launch_data {
    const kernel_code* kernel;
    block_memory* memory; ///< NULL: the kernel needs none
    dim3 block;
    std::uint32_t dynamic_shared;

    std::uint32_t threads() const { return block.x * block.y * block.z; }
    std::size_t states_bytes() const { return rounded(threads() * sizeof(std::uint32_t)); }
    std::size_t shared_bytes() const { return rounded(kernel->static_shared + dynamic_shared); }
    std::size_t area_bytes() const {
        const std::size_t arrays = std::size_t(kernel->thread_bytes) * threads() +
                                   std::size_t(kernel->array_count) * memory_alignment;
        return sizeof(block_run) + most_groups * sizeof(std::uint32_t) + states_bytes() +
               shared_bytes() + arrays;
    }
    bool needs_memory() const {
        return kernel->states > state_start + 1 || shared_bytes() > 0 || kernel->thread_bytes > 0;
    }
};

void set_place(block_run& run, const launch_data& launch, const hmmThreadIndex& index) {
    run.arguments = reinterpret_cast<const char*>(&launch + 1);
    run.kernel = launch.kernel;
    const auto set = [](std::uint32_t(&to)[3], const auto& size) {
        to[0] = size.x;
        to[1] = size.y;
        to[2] = size.z;
    };
    set(run.index, index.blockIdx);
    set(run.block, launch.block);
    set(run.grid, index.gridDim);
    run.threads = launch.threads();
    run.dynamic_shared = launch.dynamic_shared;
}

void run_with_memory(const launch_data& launch, const hmmThreadIndex& index) {
    std::byte* const area = launch.memory->take();
    if (area == nullptr) {
        std::fprintf(stderr,
                     "hmmcuda: kernel %s: %u blocks that run, or of launches that failed, have "
                     "all memory for blocks of this size\n",
                     launch.kernel->name, block_memory::areas);
        std::abort();
    }
    auto* const run = new (area) block_run;
    std::byte* at = area + sizeof(block_run);
    run->group_states = reinterpret_cast<std::uint32_t*>(at);
    at += most_groups * sizeof(std::uint32_t);
    run->thread_states = reinterpret_cast<std::uint32_t*>(at);
    at += launch.states_bytes();
    run->shared = reinterpret_cast<char*>(at);
    at += launch.shared_bytes();
    run->arrays = reinterpret_cast<char*>(at);
    set_place(*run, launch, index);
    launch.kernel->run(run);
    launch.memory->give(area);
}

void run_block(const hmmThreadIndex* index, void* arguments) {
    const auto& launch = *static_cast<const launch_data*>(arguments);
    if (launch.memory != nullptr) return run_with_memory(launch, *index);
    block_run run;
    run.shared = run.arrays = nullptr;
    run.thread_states = run.group_states = nullptr;
    set_place(run, launch, *index);
    launch.kernel->run(&run);
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
    // Device code computes numbers of threads with 31 bits.
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

/// The launch_data with the kernel's arguments behind it.
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

cudaError_t launch(const void* function, const dim3& grid, const dim3& block, void** arguments,
                   std::size_t shared, cudaStream_t stream) {
    const kernel_code* const kernel = find_kernel(function);
    if (kernel == nullptr) return record(error_of_no_kernel(function));
    if (const cudaError_t error = check_sizes(grid, block)) return record(error);
    if (shared > dynamic_limit(*kernel)) return record(cudaErrorInvalidValue);
    if (const cudaError_t error = check_arguments(*kernel, arguments)) return record(error);
    launch_data data = {kernel, nullptr, block, static_cast<std::uint32_t>(shared)};
    if (data.needs_memory()) {
        data.memory = block_memory::of_size(data.area_bytes());
        if (data.memory == nullptr) return record(cudaErrorLaunchOutOfResources);
    }
    const packed_launch packed(data, arguments);
    return forward(hmmLaunchWrapper(run_block, reinterpret_cast<const void*>(kernel->run),
                                    {grid.x, grid.y, grid.z}, {1, 1, 1}, packed.data(),
                                    packed.size(), 0, reinterpret_cast<hmmStream_t>(stream)));
}

/// What stands between <<< and >>>, until the kernel's arguments are evaluated.
struct call_configuration {
    dim3 grid;
    dim3 block;
    std::size_t shared;
    void* stream;
};

/// Arguments of a launch can contain launches.
constexpr std::size_t most_nested = 8;
constinit thread_local std::size_t nested = 0;
thread_local std::array<call_configuration, most_nested> configurations;

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                             size_t sharedMem, cudaStream_t stream) {
    try {
        return launch(func, gridDim, blockDim, args, sharedMem, stream);
    } catch (const std::bad_alloc&) {
        return record(cudaErrorMemoryAllocation);
    }
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3, dim3, void**, size_t,
                                        cudaStream_t) {
    return record(find_kernel(func) == nullptr ? error_of_no_kernel(func) : cudaErrorNotSupported);
}

// The names are clang's.
extern "C" {

/// Returns 0: the kernel is to be called. An argument that threw an exception has left the oldest.
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
