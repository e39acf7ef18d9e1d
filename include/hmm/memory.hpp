// SPDX-License-Identifier: MIT
// Migrating, discarding, copying and filling memory.
#pragma once

#include <hmm/location.hpp>
#include <hmm/memory_range.hpp>
#include <hmm/stream.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace hmm {

namespace detail {

/// Element types that may be overwritten byte by byte.
template <class T>
concept overwritable = std::is_trivially_copyable_v<T> && std::convertible_to<T*, void*>;

} // namespace detail

/// Queues migrating the pages of @memory. Best effort.
template <class T, std::size_t Extent>
void prefetch(std::span<T, Extent> memory, location to, stream_ref in = default_stream) {
    if (memory.empty()) return;
    check(hmmMemPrefetchAsync(memory.data(), memory.size_bytes(), to.get(), 0, in.get()),
          "prefetch");
}

template <detail::memory_range Range>
void prefetch(const Range& memory, location to, stream_ref in = default_stream) {
    prefetch(std::span(memory), to, in);
}

/// Migrates the pages synchronously, and reports how many pages moved, were
/// already there, or stayed and why.
template <class T, std::size_t Extent>
hmmPrefetchReport prefetch_with_report(std::span<T, Extent> memory, location to) {
    hmmPrefetchReport report = {};
    if (memory.empty()) return report;
    check(
        hmmMemPrefetchWithReport(memory.data(), memory.size_bytes(), to.get(), nullptr, 0, &report),
        "prefetch_with_report");
    return report;
}

template <detail::memory_range Range>
hmmPrefetchReport prefetch_with_report(const Range& memory, location to) {
    return prefetch_with_report(std::span(memory), to);
}

/// Also reports the result for each page that @memory touches, in address
/// order. @outcomes may have more elements than page_count(memory).
template <class T, std::size_t Extent>
hmmPrefetchReport prefetch_with_report(std::span<T, Extent> memory, location to,
                                       std::span<hmmPageOutcome> outcomes) {
    hmmPrefetchReport report = {};
    if (memory.empty()) return report;
    // In C an empty array means that the caller does not want the outcomes.
    if (outcomes.empty())
        throw error(hmmErrorInvalidValue, "prefetch_with_report", "fewer outcomes than pages", {});
    check(hmmMemPrefetchWithReport(memory.data(), memory.size_bytes(), to.get(), outcomes.data(),
                                   outcomes.size(), &report),
          "prefetch_with_report");
    return report;
}

/// Queues discarding the whole pages inside @memory.
template <detail::overwritable T, std::size_t Extent>
void discard(std::span<T, Extent> memory, stream_ref in = default_stream) {
    if (memory.empty()) return;
    void* const data = memory.data();
    const std::size_t bytes = memory.size_bytes();
    check(hmmMemDiscardBatchAsync(&data, &bytes, 1, 0, in.get()), "discard");
}

/// Queues discarding @memory and then migrating it. No data is copied.
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

/// Queues a copy, which the device of the stream executes, and does not wait for
/// it, whatever the memory. Both spans must have the same size and must not
/// overlap.
template <class T, std::size_t To, class From, std::size_t Extent>
requires std::is_trivially_copyable_v<T> && std::same_as<T, std::remove_const_t<From>>
void copy(std::span<T, To> to, std::span<From, Extent> from, stream_ref in = default_stream) {
    if (to.size() != from.size())
        throw error(hmmErrorInvalidValue, "copy", "the spans have different sizes", {});
    check(
        hmmMemcpyAsync(to.data(), from.data(), to.size_bytes(), hmmMemcpyDeviceToDevice, in.get()),
        "copy");
}

/// Queues setting each byte of @memory to @value.
template <detail::overwritable T, std::size_t Extent>
void set_bytes(std::span<T, Extent> memory, std::byte value, stream_ref in = default_stream) {
    check(hmmMemsetAsync(memory.data(), std::to_integer<int>(value), memory.size_bytes(), in.get()),
          "set_bytes");
}

} // namespace hmm
