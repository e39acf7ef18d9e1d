// SPDX-License-Identifier: MIT
/*
 * What hmmHostRegister() got: ranges of bytes that do not overlap, whose pages are
 * locked. Two may share a page; it is locked until both are gone. The kernel does not
 * count locks: pages that the program had locked before the first registration came are
 * remembered, and stay locked when the last one goes.
 *
 * Locking may take long and is done without the mutex. A registration is in the list before,
 * so that its bytes and pages are nobody else's; until it is ready, nobody is told of it.
 */
#pragma once

#include "own_memory.hpp"
#include "page_set.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace hmmrt {

struct page_range;

class registered_memory {
  public:
    /// @bring_home is called with pages that are allowed to be locked, before they are in
    /// memory. Throws failure, and then nothing is registered.
    void add(const void* ptr, std::size_t bytes, unsigned flags, int device,
             void (*bring_home)(const page_range&) noexcept);
    void remove(const void* ptr);
    /// What the memory that the address is in was registered with.
    std::optional<unsigned> flags_of(const void* ptr) const;
    /// The current device of the thread that registered it.
    std::optional<int> device_of(const void* ptr) const;

  private:
    struct registration {
        std::size_t bytes;
        unsigned flags;
        int device;
        bool ready = false;
    };
    using table = std::pmr::map<std::uint64_t, registration>;

    std::optional<registration> find(const void* ptr) const;
    bool overlaps(std::uint64_t begin, std::size_t bytes) const;
    page_range own_pages(std::uint64_t begin, std::size_t bytes) const;
    void enter(std::uint64_t begin, const registration& fresh);
    void unlock(const page_range& own) noexcept;

    mutable std::mutex lock_;
    table table_{own_pool()}; ///< by address
    page_set locked_before_;  ///< of the pages that are registered
};

} // namespace hmmrt
