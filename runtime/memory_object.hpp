// SPDX-License-Identifier: MIT
/*
 * Memory objects: memory apart from addresses. A memory object is a file, and
 * the library keeps one descriptor of it as long as the program has a handle of
 * it, or a mapping. The kernel frees the memory with the last reference of any
 * process.
 */
#pragma once

#include "hmm/hmm_runtime.h"
#include "sys/fd.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// Sizes and offsets of memory objects are multiples of this.
inline constexpr std::uint64_t object_granularity = 2 << 20;

/// The descriptor of a memory object. fork()ed children close it.
class object_file {
  public:
    /// Takes over @fd. Throws failure and std::bad_alloc.
    explicit object_file(int fd);
    object_file(object_file&& other) noexcept : fd_(std::move(other.fd_)) {}
    object_file& operator=(object_file&& other) = delete;
    ~object_file();

    int get() const { return fd_.get(); }

  private:
    unique_fd fd_;
};

struct memory_object {
    object_file file;
    std::size_t bytes;
    hmmMemAllocationProp properties;
    std::uint32_t location; ///< the kernel's id
    /// the device that it is on, else the current device when it was made
    int device;
    bool charged; ///< machine::forget_object() is due when it goes
    std::uint64_t handle = 0;
    unsigned handles = 0;   ///< that the program has to release
    std::size_t mapped = 0; ///< parts of mappings
};

/// Creates a memory object with checked properties. Throws failure.
memory_object create_object(std::size_t bytes, const hmmMemAllocationProp& properties);
/// Throws failure if @fd, which stays the caller's, is not of a memory object.
memory_object import_object(int fd);
/// Returns the properties with what they mean, with HostNumaCurrent replaced by
/// the node. Throws failure for properties that no memory object can have.
hmmMemAllocationProp checked(const hmmMemAllocationProp* properties);

} // namespace hmmrt
