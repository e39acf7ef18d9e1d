// SPDX-License-Identifier: MIT
// Numbers of descriptors.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace hmmrt::sys {

/// Moves a descriptor that has the number of a standard file, which the program had closed: else
/// it would read, and print, through a file of ours. Returns the new number or -errno.
inline int keep_standard_free(int fd) {
    constexpr int first = STDERR_FILENO + 1;
    if (fd < 0 || fd >= first) return fd;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, first);
    const int result = moved < 0 ? -errno : moved;
    ::close(fd);
    return result;
}

} // namespace hmmrt::sys
