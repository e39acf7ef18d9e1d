// SPDX-License-Identifier: MIT
// Moving, forgetting, copying and filling memory.
#pragma once

#include <hmm/location.hpp>
#include <hmm/stream.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace hmm {

namespace detail {

/// Elements whose bytes may become any others.
template <class T>
concept overwritable = std::is_trivially_copyable_v<T> && std::convertible_to<T*, void*>;

} // namespace detail

/// Queues moving the pages of @memory. Best effort.
template <class T, std::size_t Extent>
void prefetch(std::span<T, Extent> memory, location to, stream_ref in = default_stream) {
    if (memory.empty()) return;
    check(hmmMemPrefetchAsync(memory.data(), memory.size_bytes(), to.get(), 0, in.get()),
          "prefetch");
}

/// Moves them at once, and says how many pages moved, were there, or stayed and why.
template <class T, std::size_t Extent>
hmmPrefetchReport prefetch_with_report(std::span<T, Extent> memory, location to) {
    hmmPrefetchReport report = {};
    if (memory.empty()) return report;
    check(
        hmmMemPrefetchWithReport(memory.data(), memory.size_bytes(), to.get(), nullptr, 0, &report),
        "prefetch_with_report");
    return report;
}

/// Also what became of each page that @memory touches, in the order of addresses; there
/// may be more @outcomes than page_count(memory).
template <class T, std::size_t Extent>
hmmPrefetchReport prefetch_with_report(std::span<T, Extent> memory, location to,
                                       std::span<hmmPageOutcome> outcomes) {
    hmmPrefetchReport report = {};
    if (memory.empty()) return report;
    // In C that would say that nobody asks for them.
    if (outcomes.empty())
        throw error(hmmErrorInvalidValue, "prefetch_with_report", "fewer outcomes than pages", {});
    check(hmmMemPrefetchWithReport(memory.data(), memory.size_bytes(), to.get(), outcomes.data(),
                                   outcomes.size(), &report),
          "prefetch_with_report");
    return report;
}

/// Queues forgetting what is in @memory, in whole pages.
template <detail::overwritable T, std::size_t Extent>
void discard(std::span<T, Extent> memory, stream_ref in = default_stream) {
    if (memory.empty()) return;
    void* const data = memory.data();
    const std::size_t bytes = memory.size_bytes();
    check(hmmMemDiscardBatchAsync(&data, &bytes, 1, 0, in.get()), "discard");
}

/// The same, and then moves it: no data travels.
template <detail::overwritable T, std::size_t Extent>
void discard_and_prefetch(std::span<T, Extent> memory, location to,
                          stream_ref in = default_stream) {
    if (memory.empty()) return;
    void* const data = memory.data();
    const std::size_t bytes = memory.size_bytes(), first = 0;
    const hmmMemLocation where = to.get();
    check(hmmMemDiscardAndPrefetchBatchAsync(&data, &bytes, 1, &where, &first, 1, 0, in.get()),
          "discard_and_prefetch");
}

/// Queues a copy by the device of the stream. Both are of one size, and do not overlap.
template <class T, std::size_t To, class From, std::size_t Extent>
requires std::is_trivially_copyable_v<T> && std::same_as<T, std::remove_const_t<From>>
void copy(std::span<T, To> to, std::span<From, Extent> from, stream_ref in = default_stream) {
    if (to.size() != from.size())
        throw error(hmmErrorInvalidValue, "copy", "spans of different sizes", {});
    check(hmmMemcpyAsync(to.data(), from.data(), to.size_bytes(), hmmMemcpyDefault, in.get()),
          "copy");
}

/// Queues setting each byte of @memory.
template <detail::overwritable T, std::size_t Extent>
void set_bytes(std::span<T, Extent> memory, std::byte value, stream_ref in = default_stream) {
    check(hmmMemsetAsync(memory.data(), std::to_integer<int>(value), memory.size_bytes(), in.get()),
          "set_bytes");
}

} // namespace hmm
