// SPDX-License-Identifier: MIT
// Tells hmmctl about allocations of this process.
#pragma once

#include "allocation_ring.hpp"

#include <cstddef>

namespace hmmctl {

/// While one exists, the thread allocates for the library itself, and that is not recorded.
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

/// Returns true if allocations of this size are recorded. Without a ring, none are.
bool is_recorded(std::size_t bytes);

/// Only if is_recorded(): appends a record of this moment, with the calls that led here for a kind
/// that begins. Leaves errno as it is.
void record(allocation_kind kind, const void* addr, std::size_t bytes);

} // namespace hmmctl
