// SPDX-License-Identifier: MIT
// Descriptor numbers.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace hmmrt::sys {

/// Duplicates a descriptor to a number above the standard files. Returns the
/// duplicate, which exec closes, or -errno.
inline int duplicate_above_standard(int fd) {
    const int result = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (result >= 0) return result;
    return errno == EINVAL ? -EMFILE : -errno; // beyond RLIMIT_NOFILE
}

/// Moves a descriptor whose number is that of a standard file, which happens if
/// the program closed that file. Otherwise the program would read from or print
/// to a file of the runtime. Returns the new number or -errno.
inline int keep_standard_free(int fd) {
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    const int result = duplicate_above_standard(fd);
    ::close(fd);
    return result;
}

} // namespace hmmrt::sys
