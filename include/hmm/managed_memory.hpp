// SPDX-License-Identifier: MIT
// Managed memory: data that devices and the CPU share.
#pragma once

#include <hmm/error.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace hmm {

/// Owns an array of elements that are initially zero. The destructor waits for
/// all work of all devices.
template <class T>
requires std::is_trivially_copyable_v<T>
class managed_memory {
  public:
    explicit managed_memory(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw error(hmmErrorMemoryAllocation, "managed_memory", "too many elements", {});
        void* memory = nullptr;
        check(hmmMallocManaged(&memory, count * sizeof(T), hmmMemAttachGlobal), "managed_memory");
        memory_ = {static_cast<T*>(memory), count};
    }
    managed_memory(managed_memory&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
    managed_memory& operator=(managed_memory&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~managed_memory() {
        if (!memory_.empty()) hmmFree(memory_.data());
    }

    [[nodiscard]] std::span<T> get() const noexcept { return memory_; }

  private:
    std::span<T> memory_;
};

} // namespace hmm
