// SPDX-License-Identifier: MIT
#include "accesses.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>

namespace replay {
namespace {

/// A step that goes on while the pattern comes back to its page.
struct open_step {
    std::size_t index = 0; ///< in the steps
    std::uint32_t page = 0;
    std::uint64_t lines = 0; ///< a bit for each
};

class recorder {
  public:
    recorder(const std::byte* at, std::size_t bytes, std::vector<step>& into)
        : at_(at), bytes_(bytes), steps_(into) {}
    ~recorder() {
        for (const open_step& one : std::span(open_.data(), used_))
            close(one);
    }
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    void access(const void* address, std::size_t bytes, bool write) {
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - at_);
        if (offset >= bytes_) return; // of other memory
        for (std::size_t line = offset / line_bytes; line <= (offset + bytes - 1) / line_bytes;
             line++)
            access(line, write);
    }

  private:
    static constexpr std::size_t line_bytes = page_bytes / page_lines, most_open = 8;

    void access(std::size_t line, bool write) {
        open_step& now = step_at(static_cast<std::uint32_t>(line / page_lines));
        now.lines |= std::uint64_t{1} << line % page_lines;
        steps_[now.index].accesses++;
        if (write) steps_[now.index].what = step_kind::device_write;
    }
    /// Returns the open step of a page, as the first in the array.
    open_step& step_at(std::uint32_t page) {
        auto found = std::find_if(open_.begin(), open_.begin() + used_,
                                  [=](const open_step& one) { return one.page == page; });
        if (found != open_.begin() + used_) {
            std::rotate(open_.begin(), found, found + 1);
            return open_[0];
        }
        if (used_ == std::ssize(open_))
            close(open_.back());
        else
            used_++;
        std::rotate(open_.begin(), open_.begin() + used_ - 1, open_.begin() + used_);
        open_[0] = {steps_.size(), page, 0};
        steps_.push_back({.lines = 0, .first = page, .accesses = 0});
        return open_[0];
    }
    void close(const open_step& one) {
        steps_[one.index].lines = static_cast<std::uint8_t>(std::popcount(one.lines));
    }

    const std::byte* at_;
    std::size_t bytes_;
    std::vector<step>& steps_;
    std::array<open_step, most_open> open_ = {};
    std::ptrdiff_t used_ = 0;
};

/// What is recorded now, if anything.
recorder* recording = nullptr;

class recording_guard {
  public:
    explicit recording_guard(recorder& by) { recording = &by; }
    recording_guard(const recording_guard&) = delete;
    recording_guard& operator=(const recording_guard&) = delete;
    ~recording_guard() { recording = nullptr; }
};

void note(const void* address, std::size_t bytes, bool write) {
    if (recording != nullptr) recording->access(address, bytes, write);
}

struct freeing {
    void operator()(std::byte* memory) const { std::free(memory); }
};

} // namespace

trace trace_of_pattern(const bench::pattern& of, std::size_t bytes) {
    const std::unique_ptr<std::byte, freeing> memory(
        static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes)));
    if (!memory) throw std::bad_alloc();
    std::memset(memory.get(), 0, bytes);
    of.fill(memory.get(), bytes);
    std::vector<step> steps;
    {
        recorder one(memory.get(), bytes, steps);
        const recording_guard guard(one);
        of.run(memory.get(), bytes);
    }
    // the pattern was compiled without calls
    if (steps.empty())
        throw hmmctl::failure(fmt::format("the pattern '{}' reports no accesses", of.name));
    trace result;
    result.pages = bytes / page_bytes;
    for (const step& one : steps)
        result.add(one);
    return result;
}

} // namespace replay

// ---- what compilers call

using replay::note;

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the compiler's
#define HMMRT_ON_ACCESS(bytes)                                                                     \
    void __tsan_read##bytes(void* at) {                                                            \
        note(at, bytes, false);                                                                    \
    }                                                                                              \
    void __tsan_write##bytes(void* at) {                                                           \
        note(at, bytes, true);                                                                     \
    }                                                                                              \
    void __tsan_unaligned_read##bytes(void* at) {                                                  \
        note(at, bytes, false);                                                                    \
    }                                                                                              \
    void __tsan_unaligned_write##bytes(void* at) {                                                 \
        note(at, bytes, true);                                                                     \
    }

extern "C" {
HMMRT_ON_ACCESS(1)
HMMRT_ON_ACCESS(2)
HMMRT_ON_ACCESS(4)
HMMRT_ON_ACCESS(8)
HMMRT_ON_ACCESS(16)
void __tsan_read_range(void* at, std::size_t bytes) {
    note(at, bytes, false);
}
void __tsan_write_range(void* at, std::size_t bytes) {
    note(at, bytes, true);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
    note(from, bytes, false);
    note(to, bytes, true);
    return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
    note(from, bytes, false);
    note(to, bytes, true);
    return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* at, int value, std::size_t bytes) {
    note(at, bytes, true);
    return std::memset(at, value, bytes);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
}
// NOLINTEND(bugprone-reserved-identifier)
