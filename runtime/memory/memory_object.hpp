// SPDX-License-Identifier: MIT
/*
 * Memory objects: memory without addresses. A memory object is a file. The
 * library keeps one descriptor of it while the program has a handle or a
 * mapping of it. The kernel frees the memory with the last reference of any
 * process.
 */
#pragma once

#include "base/fork_guard.hpp"
#include "hmm/hmm_runtime.h"
#include "sys/fd.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// Sizes and offsets of memory objects are multiples of this.
inline constexpr std::uint64_t object_granularity = 2 << 20;

/// The descriptor of a memory object. It is closed in fork()ed children.
class object_file {
  public:
    /// Takes over @fd. Throws failure and std::bad_alloc.
    explicit object_file(int fd) : fd_(fd) {
        fork_guard::arm();
        fork_guard::add(fd);
    }
    object_file(object_file&& other) noexcept : fd_(std::move(other.fd_)) {}
    object_file& operator=(object_file&& other) = delete;
    ~object_file() {
        if (fd_.get() >= 0) fork_guard::remove(fd_.get());
    }

    int get() const { return fd_.get(); }

  private:
    unique_fd fd_;
};

struct memory_object {
    object_file file;
    std::size_t bytes;
    hmmMemAllocationProp properties;
    std::uint32_t location; ///< the kernel's id
    /// the object's device, or the current device at its creation
    int device;
    bool charged; ///< call machine::forget_object() when it is destroyed
    std::uint64_t handle = 0;
    unsigned handles = 0;   ///< references that the program must release
    std::size_t mapped = 0; ///< number of mapped parts
};

} // namespace hmmrt
