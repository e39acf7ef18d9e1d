// SPDX-License-Identifier: MIT
#include "unmapping.hpp"

#include "machine.hpp"

namespace hmmrt {

bool unmap_allocated(machine& of, std::uint64_t begin, std::size_t bytes) noexcept {
    constexpr int advice_dontneed_locked = 24; // MADV_DONTNEED_LOCKED
    // before unmapping, when another thread could get these addresses
    of.unmapped(begin, bytes);
    if (sys::unmap(begin, bytes) >= 0) return true;
    sys::advise(begin, bytes, advice_dontneed_locked);
    sys::unlock_memory(begin, bytes);
    return false;
}

} // namespace hmmrt
