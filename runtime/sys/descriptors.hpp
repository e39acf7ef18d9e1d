// SPDX-License-Identifier: MIT
// Descriptor numbers.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace hmmrt::sys {

/// Moves a descriptor that has the number of a standard file, which is possible
/// if the program closed that file. Otherwise the program would read from, or
/// print to, a file of the runtime. Returns the new number or -errno.
inline int keep_standard_free(int fd) {
    constexpr int first = STDERR_FILENO + 1;
    if (fd < 0 || fd >= first) return fd;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, first);
    const int result = moved < 0 ? -errno : moved;
    ::close(fd);
    return result;
}

} // namespace hmmrt::sys
