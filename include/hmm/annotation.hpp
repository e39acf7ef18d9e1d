// SPDX-License-Identifier: MIT
/*
 * Annotations: what a program says about itself to tools that observe it, such as
 * hmmctl.
 *
 *     hmm::name(std::span(grid), "grid");
 *     const hmm::section solving("solve");
 */
#pragma once

#include <hmm/error.hpp>
#include <hmm/memory_range.hpp>

#include <span>

namespace hmm {

/// The calling thread has come to this place.
inline void mark(const char* text) {
    check(hmmMark(text), "mark");
}

/// A section of the calling thread, from construction to destruction. Sections
/// end in the reverse order of their beginning, in the thread where they began.
class section {
  public:
    explicit section(const char* text) {
        const hmmError_t code = hmmRangePush(text);
        // it has begun all the same, and ends with this object
        if (code != hmmErrorInvalidConfiguration) check(code, "section");
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    ~section() { hmmRangePop(); }
};

/// Gives @memory a name for tools that observe. nullptr takes the name away.
template <class T, std::size_t Extent>
void name(std::span<T, Extent> memory, const char* text) {
    check(hmmMemSetName(memory.data(), memory.size_bytes(), text), "name");
}

template <detail::memory_range Range>
void name(const Range& memory, const char* text) {
    name(std::span(memory), text);
}

} // namespace hmm
