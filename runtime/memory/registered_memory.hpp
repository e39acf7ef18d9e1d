// SPDX-License-Identifier: MIT
/*
 * Registered memory (hmmHostRegister()): byte ranges that don't overlap, with
 * locked pages. Two ranges may share a page, which stays locked until both are
 * unregistered. The kernel doesn't count locks, so we record which pages the
 * program had locked before their first registration. These stay locked after
 * the last registration ends.
 *
 * Locking may take long, so we do it without the mutex. We add a registration
 * to the list before that, so that no other registration can use its bytes.
 * Lookups ignore it until it is ready.
 */
#pragma once

#include "base/own_memory.hpp"
#include "memory/page_set.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace hmmrt {

struct page_range;

class registered_memory {
  public:
    /// Calls @migrate_back with pages that may be locked, before they are in
    /// system memory. @needed: a limit on locked pages is an error. Throws
    /// failure, and then nothing is registered.
    void add(const void* ptr, std::size_t bytes, unsigned flags, int device,
             void (*migrate_back)(const page_range&) noexcept, bool needed = true);
    /// As above, for memory that stays in system memory without a lock.
    void add_without_lock(const void* ptr, std::size_t bytes, unsigned flags, int device);
    void remove(const void* ptr);
    /// The flags that the memory at the address was registered with.
    std::optional<unsigned> flags_of(const void* ptr) const;
    /// The current device of the registering thread.
    std::optional<int> device_of(const void* ptr) const;
    /// Start and end of the registration that contains the address.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> ends_of(const void* ptr) const;

  private:
    struct registration {
        std::size_t bytes;
        unsigned flags;
        int device;
        bool ready = false;
        bool locked = true;
    };
    using table = std::pmr::map<std::uint64_t, registration>;

    table::const_iterator holding(const void* ptr) const;
    std::optional<table::value_type> find(const void* ptr) const;
    bool overlaps(std::uint64_t begin, std::size_t bytes) const;
    page_range own_pages(std::uint64_t begin, std::size_t bytes) const;
    void enter(std::uint64_t begin, const registration& fresh);
    void unlock(const page_range& own) noexcept;

    mutable std::mutex lock_;
    table table_{own_pool()}; ///< sorted by address
    page_set locked_before_;  ///< registered pages that the program had locked
};

} // namespace hmmrt
