// SPDX-License-Identifier: MIT
/*
 * Raw system calls: no errno, no thread-local storage, no library. Used by the
 * agent, and by threads of the application while a lane uses their TLS.
 */
#pragma once

#include <cstdint>

namespace hmmrt {

/// Returns the kernel's result: -errno on failure.
[[gnu::always_inline]] inline std::int64_t raw_syscall(std::int64_t number, std::uint64_t a0 = 0,
                                                       std::uint64_t a1 = 0, std::uint64_t a2 = 0,
                                                       std::uint64_t a3 = 0, std::uint64_t a4 = 0,
                                                       std::uint64_t a5 = 0) {
    std::int64_t result;
    register std::uint64_t r10 asm("r10") = a3;
    register std::uint64_t r8 asm("r8") = a4;
    register std::uint64_t r9 asm("r9") = a5;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

inline std::uint64_t address_of(const volatile void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

} // namespace hmmrt
