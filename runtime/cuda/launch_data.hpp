// SPDX-License-Identifier: MIT
// A launch, as seen by the lanes that run its blocks.
#pragma once

#include "block_memory.hpp"
#include "cuda/vector_types.h"
#include "device_code.hpp"
#include "hmm/hmm_runtime.h"

#include <cstddef>
#include <cstdint>

namespace hmmcuda {

struct grid_run;

constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

/// The copy of a launch's arguments that lanes read: this struct, followed by the kernel's
/// arguments.
struct alignas(alignof(std::max_align_t)) launch_data {
    const kernel_code* kernel;
    block_memory* memory; ///< NULL if the kernel needs none
    dim3 block;
    std::uint32_t dynamic_shared;
    // for a cooperative launch; written by lanes
    grid_run* grid = nullptr;
    std::uint32_t grid_is_made = 0;

    std::uint32_t threads() const { return block.x * block.y * block.z; }
    std::size_t states_bytes() const { return rounded(threads() * sizeof(std::uint32_t)); }
    std::size_t shared_bytes() const { return rounded(kernel->static_shared + dynamic_shared); }
    std::size_t area_bytes() const;
    bool needs_memory() const {
        return kernel->states > state_start + 1 || shared_bytes() > 0 || kernel->thread_bytes > 0;
    }

    // the functions below are for lanes

    /// Ends the launch if no area is free.
    std::byte* take_area() const;
    /// Creates a block in area_bytes() of memory.
    block_run& make_block(std::byte* area, const hmmThreadIndex& index) const;
    void set_place(block_run& run, const hmmThreadIndex& index) const;
    /// Runs a block to its next grid barrier, or to its end.
    void run_to_barrier(block_run& run) const;
    /// Runs a block that is not part of a cooperative launch.
    void run_to_end(block_run& run) const;
};

} // namespace hmmcuda
