// SPDX-License-Identifier: MIT
// RAII owners of descriptors and mappings.
#pragma once

#include "sys/syscalls.hpp"

#include <utility>

namespace hmmrt {

class unique_fd {
  public:
    unique_fd() = default;
    explicit unique_fd(int fd) : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    unique_fd& operator=(unique_fd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~unique_fd() {
        if (fd_ >= 0) sys::close_file(fd_);
    }

    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
    void reset() { unique_fd().swap(*this); }
    void swap(unique_fd& other) noexcept { std::swap(fd_, other.fd_); }

  private:
    int fd_ = -1;
};

class mapping {
  public:
    mapping() = default;
    mapping(std::uint64_t address, std::size_t bytes) : address_(address), bytes_(bytes) {}
    mapping(mapping&& other) noexcept
        : address_(other.address_), bytes_(std::exchange(other.bytes_, 0)) {}
    mapping& operator=(mapping&& other) noexcept {
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~mapping() {
        if (bytes_ > 0) sys::unmap(address_, bytes_);
    }

    std::uint64_t address() const { return address_; }
    std::uint64_t end() const { return address_ + bytes_; }
    std::size_t bytes() const { return bytes_; }
    /// Keeps the mapping for the lifetime of the process.
    void leak() { bytes_ = 0; }

  private:
    std::uint64_t address_ = 0;
    std::size_t bytes_ = 0;
};

} // namespace hmmrt
