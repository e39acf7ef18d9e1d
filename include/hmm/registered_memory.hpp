// SPDX-License-Identifier: MIT
// Registered memory: locked in system memory, where devices and the CPU both
// access it.
#pragma once

#include <hmm/error.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace hmm {

/// Owns a registration. It does not own the memory, which must outlive it. Code
/// that only uses the memory takes the span.
class [[nodiscard]] registered_memory {
  public:
    template <class T, std::size_t Extent>
    explicit registered_memory(std::span<T, Extent> memory, unsigned flags = hmmHostRegisterDefault)
        : memory_(std::as_writable_bytes(memory)) {
        check(hmmHostRegister(memory_.data(), memory_.size(), flags), "registered_memory");
    }
    registered_memory(registered_memory&& other) noexcept
        : memory_(std::exchange(other.memory_, {})) {}
    registered_memory& operator=(registered_memory&& other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~registered_memory() {
        if (!memory_.empty()) hmmHostUnregister(memory_.data());
    }

    [[nodiscard]] std::span<std::byte> get() const noexcept { return memory_; }

  private:
    std::span<std::byte> memory_;
};

/// Returns the flags with which the memory at @pointer was registered; throws
/// if it is not registered.
[[nodiscard]] inline unsigned registered_flags(const void* pointer) {
    unsigned flags = 0;
    // The function does not modify the memory; its parameter is not const
    // because CUDA's is not.
    check(hmmHostGetFlags(&flags, const_cast<void*>(pointer)), "registered_flags");
    return flags;
}

} // namespace hmm
