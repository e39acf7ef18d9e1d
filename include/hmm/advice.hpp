// SPDX-License-Identifier: MIT
/*
 * Advice about how the program will use memory.
 *
 *     hmm::advise(table, hmm::read_mostly);
 *     hmm::advise(field, hmm::preferred(hmm::device(1)));
 *     hmm::unadvise(field, hmm::preferred(hmm::device(1)));
 *
 * Empty spans are ignored.
 */
#pragma once

#include <hmm/location.hpp>
#include <hmm/memory_range.hpp>
#include <hmm/stream.hpp>

#include <cstddef>
#include <span>

namespace hmm {

class advice {
  public:
    constexpr advice(hmmMemoryAdvise set, hmmMemoryAdvise unset, location where) noexcept
        : set_(set), unset_(unset), where_(where) {}

    [[nodiscard]] constexpr hmmMemoryAdvise set() const noexcept { return set_; }
    [[nodiscard]] constexpr hmmMemoryAdvise unset() const noexcept { return unset_; }
    [[nodiscard]] constexpr hmmMemLocation where() const noexcept { return where_.get(); }

  private:
    hmmMemoryAdvise set_;
    hmmMemoryAdvise unset_;
    location where_;
};

/// Devices that read a page get a duplicate of it.
inline constexpr advice read_mostly(hmmMemAdviseSetReadMostly, hmmMemAdviseUnsetReadMostly, host);
/// Pages never migrate to a device.
inline constexpr advice no_migrate(hmmMemAdviseSetNoMigrate, hmmMemAdviseUnsetNoMigrate, host);

/// Pages stay at the location while other processors can access them there.
[[nodiscard]] constexpr advice preferred(location where) noexcept {
    return {hmmMemAdviseSetPreferredLocation, hmmMemAdviseUnsetPreferredLocation, where};
}

/// The device keeps its mappings, and its faults migrate nothing.
[[nodiscard]] constexpr advice accessed_by(device which) noexcept {
    return {hmmMemAdviseSetAccessedBy, hmmMemAdviseUnsetAccessedBy, which};
}

[[nodiscard]] constexpr advice accessed_by(host_t) noexcept {
    return {hmmMemAdviseSetAccessedBy, hmmMemAdviseUnsetAccessedBy, host};
}

/// Applies advice immediately.
template <class T, std::size_t Extent>
void advise(std::span<T, Extent> memory, advice what) {
    if (memory.empty()) return;
    check(hmmMemAdvise(memory.data(), memory.size_bytes(), what.set(), what.where()), "advise");
}

template <class T, std::size_t Extent>
void unadvise(std::span<T, Extent> memory, advice what) {
    if (memory.empty()) return;
    check(hmmMemAdvise(memory.data(), memory.size_bytes(), what.unset(), what.where()), "unadvise");
}

/// Applies advice when the work queued before in @in is done.
template <class T, std::size_t Extent>
void advise(std::span<T, Extent> memory, advice what, stream_ref in) {
    if (memory.empty()) return;
    check(hmmMemAdviseAsync(memory.data(), memory.size_bytes(), what.set(), what.where(), in.get()),
          "advise");
}

template <class T, std::size_t Extent>
void unadvise(std::span<T, Extent> memory, advice what, stream_ref in) {
    if (memory.empty()) return;
    check(
        hmmMemAdviseAsync(memory.data(), memory.size_bytes(), what.unset(), what.where(), in.get()),
        "unadvise");
}

/// As above, for vectors, arrays and other contiguous ranges.
template <detail::memory_range Range>
void advise(const Range& memory, advice what) {
    advise(std::span(memory), what);
}

template <detail::memory_range Range>
void unadvise(const Range& memory, advice what) {
    unadvise(std::span(memory), what);
}

template <detail::memory_range Range>
void advise(const Range& memory, advice what, stream_ref in) {
    advise(std::span(memory), what, in);
}

template <detail::memory_range Range>
void unadvise(const Range& memory, advice what, stream_ref in) {
    unadvise(std::span(memory), what, in);
}

/// Sets how many bytes one device fault in @memory migrates; 0 removes the
/// setting.
template <class T, std::size_t Extent>
void set_granularity(std::span<T, Extent> memory, std::size_t bytes) {
    if (memory.empty()) return;
    check(hmmMemSetGranularity(memory.data(), memory.size_bytes(), bytes), "set_granularity");
}

template <detail::memory_range Range>
void set_granularity(const Range& memory, std::size_t bytes) {
    set_granularity(std::span(memory), bytes);
}

} // namespace hmm
