// SPDX-License-Identifier: MIT
// A grid of blocks of threads as a range of items.
#pragma once

#include "hmm/hmm_runtime.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hmmrt {

/// Threads of the grid; 0 if a dimension is 0 or the number does not fit.
std::uint64_t grid_items(hmmDim3 grid, hmmDim3 block);

/// The thread that item @item of the grid is.
hmmThreadIndex grid_thread(hmmDim3 grid, hmmDim3 block, std::uint64_t item);

/// Moves on to the next item.
void advance(hmmThreadIndex& index);

/// The arguments of hmmLaunchFunction(), in one allocation with a copy of the kernel's.
class grid_closure {
  public:
    static void run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept;
    static void destroy(void* closure);

    struct deleter {
        void operator()(void* closure) const { destroy(closure); }
    };
    using pointer = std::unique_ptr<void, deleter>;
    /// Throws failure if the arguments leave the address space.
    static pointer create(hmmKernel_t kernel, hmmDim3 grid, hmmDim3 block, const void* args,
                          std::size_t bytes);

  private:
    hmmKernel_t kernel_;
    hmmDim3 grid_;
    hmmDim3 block_;
    void* args_;
};

} // namespace hmmrt
