// SPDX-License-Identifier: MIT
#include "launch_data.hpp"

#include "block_name.hpp"
#include "current_thread.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

namespace hmmcuda {
namespace {

constexpr std::uint32_t most_groups = most_threads / warp_size;

} // namespace

std::size_t launch_data::area_bytes() const {
    const std::size_t arrays = std::size_t(kernel->thread_bytes) * threads() +
                               std::size_t(kernel->array_count) * memory_alignment;
    return sizeof(block_run) + most_groups * sizeof(std::uint32_t) + states_bytes() +
           shared_bytes() + rounded(arrays);
}

std::byte* launch_data::take_area() const {
    if (std::byte* const area = memory->take()) return area;
    std::fprintf(stderr,
                 "hmmcuda: kernel %s: all %u block buffers of this size are in use or were leaked "
                 "by failed launches\n",
                 kernel->name, block_memory::areas);
    std::abort();
}

block_run& launch_data::make_block(std::byte* area, const hmmThreadIndex& index) const {
    auto* const run = new (area) block_run;
    std::byte* at = area + sizeof(block_run);
    run->group_states = reinterpret_cast<std::uint32_t*>(at);
    at += most_groups * sizeof(std::uint32_t);
    run->thread_states = reinterpret_cast<std::uint32_t*>(at);
    at += states_bytes();
    run->shared = reinterpret_cast<char*>(at);
    at += shared_bytes();
    run->arrays = reinterpret_cast<char*>(at);
    set_place(*run, index);
    return *run;
}

void launch_data::set_place(block_run& run, const hmmThreadIndex& index) const {
    run.arguments = reinterpret_cast<const char*>(this + 1);
    run.kernel = kernel;
    const auto set = [](std::uint32_t(&to)[3], const auto& size) {
        to[0] = size.x;
        to[1] = size.y;
        to[2] = size.z;
    };
    set(run.index, index.blockIdx);
    set(run.block, block);
    set(run.grid, index.gridDim);
    run.threads = threads();
    run.dynamic_shared = dynamic_shared;
    run.cooperative = grid != nullptr ? 1 : 0;
    run.waits_at = state_end;
}

void launch_data::run_to_barrier(block_run& run) const {
    forget_thread();
    kernel->run(&run);
    forget_thread();
}

void launch_data::run_to_end(block_run& run) const {
    run_to_barrier(run);
    if (run.waits_at == state_end) return;
    const sync_point& place = kernel->sync_points[run.waits_at];
    fail_block(run,
               "grid_group::sync() (%s:%u) in a launch that is not cooperative: use "
               "cudaLaunchCooperativeKernel()",
               place.file, place.line);
}

} // namespace hmmcuda
