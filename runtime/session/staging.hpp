// SPDX-License-Identifier: MIT
/*
 * Copies of source data, made at the time of the call.
 *
 * Such a buffer is in memory that never migrates. It lives as long as the
 * closure of its copy, which is destroyed when a later call finds the copy
 * complete. The total size per process is limited, so take() may fail; the
 * caller then waits for its copy instead.
 */
#pragma once

#include <cstddef>
#include <utility>

namespace hmmrt {

class staged_bytes {
  public:
    static constexpr std::size_t most_of_a_copy = 4 << 20;
    static constexpr std::size_t most_of_a_process = 32 << 20;

    /// Returns an empty object if the limit is reached or there is no memory.
    static staged_bytes take(std::size_t bytes) noexcept;

    staged_bytes() = default;
    staged_bytes(staged_bytes&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
    staged_bytes& operator=(staged_bytes&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~staged_bytes();

    explicit operator bool() const { return data_ != nullptr; }
    char* data() const { return data_; }

  private:
    static char* allocate(std::size_t bytes) noexcept;

    char* data_ = nullptr;
    std::size_t bytes_ = 0; ///< counted towards the limit
};

} // namespace hmmrt
