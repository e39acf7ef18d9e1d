// SPDX-License-Identifier: MIT
/*
 * Objects that the program names by handles. A handle is a number that never comes
 * again, so one of an object that is gone, or that never was, is told from all others.
 * Who uses an object holds it by a shared_ptr and may go on when its handle goes.
 */
#pragma once

#include "own_memory.hpp"

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
    std::uint64_t add(std::shared_ptr<Object> object) {
        const std::lock_guard lock(lock_);
        objects_.emplace(next_, std::move(object));
        return std::exchange(next_, next_ + step);
    }
    /// NULL if there is none.
    std::shared_ptr<Object> find(std::uint64_t handle) const {
        const std::lock_guard lock(lock_);
        const auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }
    /// The object that had this handle, NULL if there is none.
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
        std::vector<std::shared_ptr<Object>> removed; // let go without the lock
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
    static constexpr std::uint64_t step = 64; // no number is another one plus a little

    mutable std::mutex lock_;
    std::pmr::map<std::uint64_t, std::shared_ptr<Object>> objects_{own_pool()};
    std::uint64_t next_ = 0x10000;
};

} // namespace hmmrt
