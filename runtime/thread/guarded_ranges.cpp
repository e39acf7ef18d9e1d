// SPDX-License-Identifier: MIT
#include "thread/guarded_ranges.hpp"

#include <linux/mman.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

namespace hmmrt {

bool guarded_ranges::add(std::uint64_t begin, std::uint64_t end) {
    for (std::size_t i = 0; i < capacity; i++) {
        std::uint64_t free = 0;
        if (!ranges_[i].end.compare_exchange_strong(free, end)) continue;
        ranges_[i].begin.store(begin);
        std::size_t used = used_.load();
        while (used < i + 1 && !used_.compare_exchange_weak(used, i + 1))
            continue;
        return true;
    }
    return false;
}

void guarded_ranges::remove(std::uint64_t begin) {
    for (std::size_t i = 0; i < used_.load(); i++) {
        if (ranges_[i].begin.load() != begin) continue;
        ranges_[i].begin.store(0);
        ranges_[i].end.store(0);
    }
}

bool guarded_ranges::touches(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t end = begin + bytes < begin ? UINT64_MAX : begin + bytes;
    for (std::size_t i = 0; i < used_.load(); i++) {
        const std::uint64_t low = ranges_[i].begin.load();
        if (low != 0 && begin < ranges_[i].end.load() && low < end) return true;
    }
    return false;
}

bool call_is_guarded(std::int64_t number, const std::uint64_t (&args)[6],
                     const guarded_ranges& guarded, int break_signal) {
    constexpr std::int64_t mseal = 462;
    switch (number) {
    case SYS_mmap:
        return (args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0 &&
               guarded.touches(args[0], args[1]);
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_madvise:
    case SYS_remap_file_pages:
    case SYS_mbind:
    case mseal:
        return guarded.touches(args[0], args[1]);
    case SYS_mremap:
        if (guarded.touches(args[0], args[1])) return true;
        return (args[3] & MREMAP_FIXED) != 0 && guarded.touches(args[4], args[2]);
    // the size depends on the segment, so refuse SHM_REMAP at any given address
    case SYS_shmat:
        return args[1] != 0 && (args[2] & SHM_REMAP) != 0;
    case SYS_rt_sigaction:
        return static_cast<int>(args[0]) == break_signal;
    default:
        return false;
    }
}

} // namespace hmmrt
