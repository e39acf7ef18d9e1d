// SPDX-License-Identifier: MIT
#include "session/grid.hpp"

#include "base/memory_range.hpp"
#include "session/shared_pool.hpp"

#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>

namespace hmmrt {
namespace {

constexpr std::size_t argument_offset = (sizeof(grid_closure) + alignof(std::max_align_t) - 1) /
                                        alignof(std::max_align_t) * alignof(std::max_align_t);

/// Divides @rest by the lowest dimension and returns the remainder.
std::uint32_t take(std::uint64_t& rest, std::uint32_t size) {
    const auto digit = static_cast<std::uint32_t>(rest % size);
    rest /= size;
    return digit;
}

/// Increments the index. Returns true if it wrapped around.
bool count_up(hmmDim3& value, const hmmDim3& size) {
    if (++value.x < size.x) return false;
    value.x = 0;
    if (++value.y < size.y) return false;
    value.y = 0;
    if (++value.z < size.z) return false;
    value.z = 0;
    return true;
}

} // namespace

std::uint64_t grid_items(hmmDim3 grid, hmmDim3 block) {
    std::uint64_t items = 1;
    for (const std::uint64_t size : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
        if (__builtin_mul_overflow(items, size, &items)) return 0;
    return items;
}

hmmThreadIndex grid_thread(hmmDim3 grid, hmmDim3 block, std::uint64_t item) {
    hmmThreadIndex index;
    index.gridDim = grid;
    index.blockDim = block;
    index.threadIdx.x = take(item, block.x);
    index.threadIdx.y = take(item, block.y);
    index.threadIdx.z = take(item, block.z);
    index.blockIdx.x = take(item, grid.x);
    index.blockIdx.y = take(item, grid.y);
    index.blockIdx.z = take(item, grid.z);
    return index;
}

void advance(hmmThreadIndex& index) {
    if (count_up(index.threadIdx, index.blockDim)) count_up(index.blockIdx, index.gridDim);
}

void grid_closure::run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept {
    const auto& self = *static_cast<const grid_closure*>(raw);
    hmmThreadIndex index = grid_thread(self.grid_, self.block_, begin);
    std::exception_ptr left;
    try {
        for (std::uint64_t item = begin; item < end; item++) {
            self.kernel_(&index, self.args_);
            advance(index);
        }
    } catch (...) {
        left = std::current_exception();
    }
    if (left) hmmEndLaunchByException(&left);
}

void grid_closure::destroy(void* closure) {
    shared_pool::get().free(closure);
}

grid_closure::pointer grid_closure::create(hmmKernel_t kernel, hmmDim3 grid, hmmDim3 block,
                                           const void* args, std::size_t bytes) {
    // makes sure that the sum below doesn't overflow
    if (bytes > 0) pages_around(args, bytes);
    pointer memory(shared_pool::get().allocate(argument_offset + bytes));
    auto* closure = new (memory.get()) grid_closure;
    closure->kernel_ = kernel;
    closure->grid_ = grid;
    closure->block_ = block;
    closure->args_ = const_cast<void*>(args);
    if (bytes > 0) {
        closure->args_ = static_cast<char*>(memory.get()) + argument_offset;
        std::memcpy(closure->args_, args, bytes);
    }
    return memory;
}

} // namespace hmmrt
