// SPDX-License-Identifier: MIT
// Reports this process's allocations to hmmctl.
#pragma once

#include "allocation_ring.hpp"

#include <cstddef>

namespace hmmctl {

/// While an object exists, the thread's allocations are this library's own and aren't recorded.
class inside {
  public:
    inside() : outermost_(!busy_) { busy_ = true; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside() {
        if (outermost_) busy_ = false;
    }

    bool outermost() const { return outermost_; }

  private:
    static constinit thread_local bool busy_;
    bool outermost_;
};

/// Returns true if we record allocations of this size: false without a ring.
bool is_recorded(std::size_t bytes);

/// Appends a record with the current time, and with a backtrace for a new allocation or mapping.
/// Only call this if is_recorded(). Preserves errno.
void record(allocation_kind kind, const void* addr, std::size_t bytes);

} // namespace hmmctl
