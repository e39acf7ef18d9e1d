// SPDX-License-Identifier: MIT
// Maps files for reading, without the heap. Unit tests use this file too.
#include "sys/descriptors.hpp"
#include "sys/syscalls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hmmrt::sys {
namespace {

ssize_t read_some(int fd, void* buffer, std::size_t bytes) {
    ssize_t got;
    do
        got = ::read(fd, buffer, bytes);
    while (got < 0 && errno == EINTR);
    return got;
}

/// Copies a file without a size, such as in /proc, to a new mapping.
std::int64_t copy_content(int fd, std::size_t& bytes) {
    std::size_t size = std::size_t{1} << 18, used = 0;
    void* memory =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -errno;
    for (;;) {
        const ssize_t got = read_some(fd, static_cast<char*>(memory) + used, size - used);
        if (got <= 0) break;
        used += static_cast<std::size_t>(got);
        if (used < size) continue;
        void* const more = ::mremap(memory, size, 2 * size, MREMAP_MAYMOVE);
        if (more == MAP_FAILED) break;
        memory = more;
        size *= 2;
    }
    ::mremap(memory, size, used > 0 ? used : 1, 0);
    bytes = used;
    return static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(memory));
}

} // namespace

std::int64_t map_content(const char* path, std::size_t& bytes) {
    const int fd = keep_standard_free(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0) return -errno;
    struct stat about = {};
    std::int64_t result = -EINVAL;
    if (::fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
        bytes = static_cast<std::size_t>(about.st_size);
        if (bytes == 0) {
            result = copy_content(fd, bytes);
        } else {
            void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
            result = memory == MAP_FAILED
                         ? -errno
                         : static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(memory));
        }
    }
    ::close(fd);
    return result;
}

} // namespace hmmrt::sys
