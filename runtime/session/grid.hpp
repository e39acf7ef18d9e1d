// SPDX-License-Identifier: MIT
// Maps a grid of blocks of threads to a range of items.
#pragma once

#include "hmm/hmm_runtime.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hmmrt {

/// Number of threads of the grid; 0 if a dimension is 0 or on overflow.
std::uint64_t grid_items(hmmDim3 grid, hmmDim3 block);

/// The index of the thread that runs item @item of the grid.
hmmThreadIndex grid_thread(hmmDim3 grid, hmmDim3 block, std::uint64_t item);

/// Advances to the next item.
void advance(hmmThreadIndex& index);

/// The arguments of hmmLaunchFunction() and a copy of the kernel's arguments,
/// in one allocation.
class grid_closure {
  public:
    static void run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept;
    static void destroy(void* closure);

    struct deleter {
        void operator()(void* closure) const { destroy(closure); }
    };
    using pointer = std::unique_ptr<void, deleter>;
    /// Throws failure if the arguments exceed the address space.
    static pointer create(hmmKernel_t kernel, hmmDim3 grid, hmmDim3 block, const void* args,
                          std::size_t bytes);

  private:
    hmmKernel_t kernel_;
    hmmDim3 grid_;
    hmmDim3 block_;
    void* args_;
};

} // namespace hmmrt
