// SPDX-License-Identifier: MIT
#include "session/staging.hpp"

#include "session/shared_pool.hpp"

#include <atomic>
#include <new>
#include <sys/mman.h>

namespace hmmrt {
namespace {

std::atomic<std::size_t> in_use = 0; ///< in bytes, for all devices

bool fits_cell(std::size_t bytes) {
    return bytes <= shared_pool::cell_bytes;
}

} // namespace

/// Shared memory stays in system memory. Children don't need it.
char* staged_bytes::allocate(std::size_t bytes) noexcept {
    if (fits_cell(bytes)) {
        try {
            return static_cast<char*>(shared_pool::get().allocate(bytes));
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    const std::int64_t made =
        sys::map(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (made < 0) return nullptr;
    sys::advise(static_cast<std::uint64_t>(made), bytes, MADV_DONTFORK);
    return reinterpret_cast<char*>(made);
}

staged_bytes staged_bytes::take(std::size_t bytes) noexcept {
    staged_bytes taken;
    if (bytes > most_of_a_copy) return taken;
    const std::size_t counted =
        fits_cell(bytes) ? shared_pool::cell_bytes : (bytes + page_size - 1) & ~(page_size - 1);
    if (in_use.fetch_add(counted) <= most_of_a_process - counted)
        taken.data_ = allocate(fits_cell(bytes) ? bytes : counted);
    if (taken)
        taken.bytes_ = counted;
    else
        in_use.fetch_sub(counted);
    return taken;
}

staged_bytes::~staged_bytes() {
    if (data_ == nullptr) return;
    if (fits_cell(bytes_))
        shared_pool::get().free(data_);
    else
        sys::unmap(reinterpret_cast<std::uint64_t>(data_), bytes_);
    in_use.fetch_sub(bytes_);
}

} // namespace hmmrt
