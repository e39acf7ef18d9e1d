// SPDX-License-Identifier: MIT
#include "machine/slot.hpp"

#include "base/failure.hpp"

#include <cerrno>
#include <sys/mman.h>

namespace hmmrt {

mapping reserve_slot() {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    std::int64_t result = -ENOMEM;
    for (std::uint32_t i = 0; i < slot_candidates; i++) {
        const std::uint64_t wanted = slot_candidate(i);
        result = sys::map(wanted, slot_size, PROT_NONE, flags, -1);
        if (result < 0) continue;
        mapping got(static_cast<std::uint64_t>(result), slot_size);
        // kernels before 4.17 treat the address as a hint
        if (got.address() == wanted) return got;
    }
    throw failure(hmmErrorMemoryAllocation,
                  describe_errno("no free address space for the agent", static_cast<int>(result)));
}

} // namespace hmmrt
