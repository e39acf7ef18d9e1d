// SPDX-License-Identifier: MIT
/*
 * Objects that the program refers to by handles. A handle is a number that is
 * never reused, so that we always detect invalid and stale handles. Callers
 * hold an object by a shared_ptr and may continue to use it after its handle is
 * removed.
 */
#pragma once

#include "base/own_memory.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hmmrt {

template <class Object>
class handle_table {
  public:
    std::uint64_t add(const std::shared_ptr<Object>& object) {
        const std::lock_guard lock(lock_);
        objects_.emplace(next_, object);
        return std::exchange(next_, next_ + step);
    }
    /// Returns NULL if there is no such object.
    std::shared_ptr<Object> find(std::uint64_t handle) const {
        const std::lock_guard lock(lock_);
        const auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }
    /// Removes a handle. Returns its object, or NULL.
    std::shared_ptr<Object> remove(std::uint64_t handle) {
        const std::lock_guard lock(lock_);
        const auto found = objects_.find(handle);
        if (found == objects_.end()) return nullptr;
        auto object = std::move(found->second);
        objects_.erase(found);
        return object;
    }
    template <class Condition>
    void remove_if(Condition condition) {
        std::vector<std::shared_ptr<Object>> removed; // released after the lock
        const std::lock_guard lock(lock_);
        for (auto at = objects_.begin(); at != objects_.end();) {
            if (!condition(*at->second)) {
                ++at;
                continue;
            }
            removed.push_back(std::move(at->second));
            at = objects_.erase(at);
        }
    }
    std::size_t size() const {
        const std::lock_guard lock(lock_);
        return objects_.size();
    }

  private:
    // so that a handle plus a small offset is invalid
    static constexpr std::uint64_t step = 64;

    mutable std::mutex lock_;
    std::pmr::map<std::uint64_t, std::shared_ptr<Object>> objects_{own_pool()};
    std::uint64_t next_ = 0x10000;
};

} // namespace hmmrt
