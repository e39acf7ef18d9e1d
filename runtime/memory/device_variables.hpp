// SPDX-License-Identifier: MIT
/*
 * Variables of device code, which object files register when they are loaded. A
 * variable has the same address in the program and on all devices. It is never
 * removed, because the file that registers it is never unmapped.
 */
#pragma once

#include "base/own_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace hmmrt {

struct device_variable {
    std::uint64_t begin;
    std::size_t bytes;
    bool managed; ///< also used by the host

    std::uint64_t end() const { return begin + bytes; }
};

class device_variables {
  public:
    /// Throws std::bad_alloc.
    void add(const device_variable& made) {
        const std::lock_guard lock(lock_);
        table_.insert_or_assign(made.begin, made);
    }
    /// Returns the variable that contains the address.
    std::optional<device_variable> find(const void* ptr) const {
        const auto at = reinterpret_cast<std::uint64_t>(ptr);
        const std::lock_guard lock(lock_);
        auto found = table_.upper_bound(at);
        if (found == table_.begin() || at >= (--found)->second.end()) return std::nullopt;
        return found->second;
    }

  private:
    mutable std::mutex lock_;
    std::pmr::map<std::uint64_t, device_variable> table_{own_pool()};
};

} // namespace hmmrt
