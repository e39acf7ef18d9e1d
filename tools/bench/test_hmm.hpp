// SPDX-License-Identifier: MIT
// The interface of the kernel's own HMM driver, lib/test_hmm. Header packages don't contain it; it
// is the same in all kernels that have these ioctls.
#pragma once

#include <cstdint>
#include <sys/ioctl.h>

namespace bench::test_hmm {

constexpr const char* node = "/dev/hmm_dmirror0";

/// The argument of the ioctls.
struct request {
    std::uint64_t address, copy, pages, done, faults;
};
constexpr unsigned long read_pages = _IOWR('H', 0x00, request),
                        move_to_device = _IOWR('H', 0x02, request),
                        move_to_system = _IOWR('H', 0x03, request);

} // namespace bench::test_hmm
