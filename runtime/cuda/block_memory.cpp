// SPDX-License-Identifier: MIT
#include "block_memory.hpp"

#include <bit>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace hmmcuda {
namespace {

constexpr std::size_t header_bytes = 4096; ///< the pool itself

constexpr std::uint32_t classes =
    std::countr_zero(block_memory::largest) - std::countr_zero(block_memory::smallest) + 1;

} // namespace

block_memory* block_memory::of_size(std::size_t bytes) {
    static std::mutex mutex;
    static std::array<block_memory*, classes> pools = {};
    if (bytes > largest) return nullptr;
    const std::size_t size = std::bit_ceil(bytes < smallest ? smallest : bytes);
    block_memory*& pool = pools.at(std::countr_zero(size) - std::countr_zero(smallest));
    const std::lock_guard lock(mutex);
    if (pool == nullptr) pool = create(size);
    return pool;
}

block_memory* block_memory::create(std::size_t bytes) {
    static_assert(sizeof(block_memory) <= header_bytes);
    void* const memory = mmap(nullptr, header_bytes + areas * bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    return new (memory) block_memory(bytes);
}

std::byte* block_memory::first_area() noexcept {
    return reinterpret_cast<std::byte*>(this) + header_bytes;
}

std::byte* block_memory::take() noexcept {
    for (std::size_t i = 0; i < taken_.size(); i++) {
        std::uint64_t taken = taken_[i].load(std::memory_order_relaxed);
        while (taken != ~std::uint64_t(0)) {
            const int bit = std::countr_one(taken);
            if (taken_[i].compare_exchange_weak(taken, taken | std::uint64_t(1) << bit,
                                                std::memory_order_acquire))
                return first_area() + (i * 64 + static_cast<unsigned>(bit)) * bytes_;
        }
    }
    return nullptr;
}

void block_memory::give(std::byte* area) noexcept {
    const std::size_t number = static_cast<std::size_t>(area - first_area()) / bytes_;
    taken_[number / 64].fetch_and(~(std::uint64_t(1) << number % 64), std::memory_order_release);
}

} // namespace hmmcuda
