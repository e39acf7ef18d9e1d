// SPDX-License-Identifier: MIT
// Futexes on words of the control block, which two processes share.
#pragma once

#include "control.h"
#include "syscall.h"

#include <linux/futex.h>
#include <sys/syscall.h>

namespace hmmrt {

[[gnu::always_inline]] inline void futex_wait(futex_word& word, std::uint32_t expected) {
    raw_syscall(SYS_futex, address_of(&word), FUTEX_WAIT, expected, 0);
}

[[gnu::always_inline]] inline void futex_wake(futex_word& word, std::uint32_t count) {
    raw_syscall(SYS_futex, address_of(&word), FUTEX_WAKE, count);
}

} // namespace hmmrt
