// SPDX-License-Identifier: MIT
#include "files.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

namespace tools {

descriptor::~descriptor() {
    if (fd_ >= 0) close(fd_);
}

std::optional<std::string> read_all(int file) {
    std::string contents;
    std::array<char, 16384> buffer;
    for (;;) {
        const ssize_t got = read(file, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return contents;
        contents.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

std::optional<std::string> read_file(const std::string& path) {
    const descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return std::nullopt;
    return read_all(file.get());
}

int open_error(const std::string& path) {
    const descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    return file.get() < 0 ? errno : 0;
}

} // namespace tools
