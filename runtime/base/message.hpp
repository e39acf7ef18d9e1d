// SPDX-License-Identifier: MIT
// Text in a fixed buffer. Composing it needs no heap, which the failed lane may
// have locked.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace hmmrt {

/// Truncates text that doesn't fit.
class message {
  public:
    [[gnu::format(printf, 2, 3)]] void add(const char* pattern, ...) {
        va_list arguments;
        va_start(arguments, pattern);
        const int length = std::vsnprintf(text_ + used_, sizeof(text_) - used_, pattern, arguments);
        va_end(arguments);
        if (length > 0) used_ += static_cast<std::size_t>(length);
        if (used_ > sizeof(text_) - 1) used_ = sizeof(text_) - 1;
    }
    /// "8 MiB", or in KiB if the size isn't a multiple of 1 MiB.
    void add_size(std::uint64_t bytes) {
        constexpr std::uint64_t kibibyte = 1 << 10, mebibyte = 1 << 20;
        const bool whole = bytes % mebibyte == 0;
        add("%llu %s", static_cast<unsigned long long>(bytes / (whole ? mebibyte : kibibyte)),
            whole ? "MiB" : "KiB");
    }
    const char* text() const { return text_; }
    std::size_t size() const { return used_; }

  private:
    std::size_t used_ = 0;
    char text_[6144] = "";
};

} // namespace hmmrt
