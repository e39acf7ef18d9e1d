// SPDX-License-Identifier: MIT
// File descriptors, and the contents of files.
#pragma once

#include <optional>
#include <string>

namespace tools {

/// Reads a file from its current position to its end. Returns nothing on failure, with errno set.
std::optional<std::string> read_all(int file);
/// Returns the contents of a file, or nothing, with errno set.
std::optional<std::string> read_file(const std::string& path);

/// Returns 0 if the file can be opened for reading and writing, otherwise the errno.
int open_error(const std::string& path);

/// Owns a file descriptor and closes it.
class descriptor {
  public:
    explicit descriptor(int fd) : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor();

    int get() const { return fd_; }

  private:
    int fd_;
};

} // namespace tools
