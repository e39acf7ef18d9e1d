// SPDX-License-Identifier: MIT
#include "session/shared_pool.hpp"

#include "agent/syscall.h"
#include "base/fork_guard.hpp"

#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace hmmrt {

shared_pool& shared_pool::get() {
    static shared_pool* const instance = new shared_pool;
    return *instance;
}

/// Returns NULL if all cells are in use.
void* shared_pool::take_cell() {
    if (free_ != nullptr) {
        free_cell* const first = free_;
        free_ = first->next;
        return first;
    }
    if (never_used_ == cells) return nullptr;
    if (never_used_ == 0) {
        fork_guard::arm(); // because a child would share the cells
        const std::int64_t result = sys::map(0, cells * cell_bytes, PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        if (result < 0) return nullptr;
        memory_ = mapping(static_cast<std::uint64_t>(result), cells * cell_bytes);
    }
    return reinterpret_cast<void*>(memory_.address() + never_used_++ * cell_bytes);
}

bool shared_pool::owns(const void* memory) const {
    const std::uint64_t address = address_of(memory);
    return address >= memory_.address() && address < memory_.end();
}

void* shared_pool::allocate(std::size_t bytes) {
    if (bytes <= cell_bytes && !fork_guard::is_child()) {
        const std::lock_guard lock(lock_);
        if (void* const cell = take_cell()) return cell;
    }
    // The operator rounds up to the alignment without checking for overflow.
    if (bytes > SIZE_MAX - alignment) throw std::bad_alloc();
    return ::operator new(bytes, std::align_val_t(alignment));
}

void shared_pool::free(void* memory) {
    // A child shares the cells with its parent, which owns the list of free
    // cells. Also, a thread that doesn't exist in the child may hold the lock.
    if (fork_guard::is_child()) {
        if (!owns(memory)) ::operator delete(memory, std::align_val_t(alignment));
        return;
    }
    const std::lock_guard lock(lock_);
    if (owns(memory))
        free_ = new (memory) free_cell{free_};
    else
        ::operator delete(memory, std::align_val_t(alignment));
}

} // namespace hmmrt
