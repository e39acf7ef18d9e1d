// SPDX-License-Identifier: MIT
#include "thread/exit_lock.hpp"

#include "agent/syscall.h"

#include <atomic>
#include <cstdio>
#include <gnu/libc-version.h>
#include <initializer_list>
#include <limits>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

namespace hmmrt {
namespace {

struct search {
    std::uint64_t inside; ///< an address in the wanted library
    library_data found;
};

/// Finds the last writable segment. The linker may have put relocated constants
/// into one before it.
int look_at_library(dl_phdr_info* library, std::size_t, void* argument) {
    search& wanted = *static_cast<search*>(argument);
    bool is_wanted = false;
    library_data data;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr)& segment = library->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD) continue;
        const std::uint64_t begin = library->dlpi_addr + segment.p_vaddr;
        const std::uint64_t end = begin + segment.p_memsz;
        if (wanted.inside >= begin && wanted.inside < end) is_wanted = true;
        if ((segment.p_flags & PF_W) == 0) continue;
        data.begin = reinterpret_cast<const char*>(begin);
        data.end = reinterpret_cast<const char*>(end);
    }
    if (is_wanted) wanted.found = data;
    return is_wanted ? 1 : 0;
}

bool is_of_stream(const recursive_lock* lock) {
    for (const std::FILE* const each : {stdin, stdout, stderr})
        if (each != nullptr && static_cast<const void*>(each->_lock) == lock) return true;
    return false;
}

} // namespace

library_data find_glibc_data() {
    search wanted = {address_of(gnu_get_libc_version()), {}};
    dl_iterate_phdr(look_at_library, &wanted);
    return wanted.found;
}

// Other threads write to this memory. TSan can't know that they never change a
// lock that the caller holds, except for its first word.
[[gnu::no_sanitize_thread]] recursive_lock* find_held_lock(const library_data& data) {
    const std::uint64_t self = pthread_self();
    constexpr std::uint64_t step = alignof(recursive_lock);
    recursive_lock* found = nullptr;
    std::uint64_t at = (address_of(data.begin) + step - 1) & ~(step - 1);
    for (; at + sizeof(recursive_lock) <= address_of(data.end); at += step) {
        auto* const lock = reinterpret_cast<recursive_lock*>(at);
        const volatile recursive_lock& seen = *lock;
        if (seen.owner != self || seen.count == 0) continue;
        const std::uint32_t word = seen.word;
        if ((word != 1 && word != 2) || is_of_stream(lock)) continue;
        if (found != nullptr) return nullptr;
        found = lock;
    }
    return found;
}

void release(recursive_lock& held) {
    constexpr std::uint64_t all = std::numeric_limits<std::int32_t>::max();
    held.count = 0;
    held.owner = 0;
    // Wake all waiters: a lane may be stopped between its wakeup and taking the
    // lock, and would then not wake the next one.
    if (std::atomic_ref(held.word).exchange(0) != 1)
        raw_syscall(SYS_futex, address_of(&held.word), FUTEX_WAKE_PRIVATE, all);
}

} // namespace hmmrt
