// SPDX-License-Identifier: MIT
// Memory that is locked where devices and the CPU both use it.
#pragma once

#include <hmm/error.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace hmm {

/// Owns a registration, not the memory, which has to outlive it. Who only uses it takes
/// the span.
class registered_memory {
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

    std::span<std::byte> get() const noexcept { return memory_; }

  private:
    std::span<std::byte> memory_;
};

/// What the memory that @pointer is into was registered with; throws if it was not.
inline unsigned registered_flags(const void* pointer) {
    unsigned flags = 0;
    // Only looked up; not const in C because it is not in CUDA.
    check(hmmHostGetFlags(&flags, const_cast<void*>(pointer)), "registered_flags");
    return flags;
}

} // namespace hmm
