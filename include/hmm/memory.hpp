// SPDX-License-Identifier: MIT
// Where memory is.
#pragma once

#include <hmm/stream.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace hmm {

struct host_t {};
/// Names the host as a place for memory.
inline constexpr host_t host;

namespace detail {

inline void prefetch(const void* data, std::size_t bytes, hmmMemLocation where, stream_ref in) {
    if (bytes == 0) return;
    check(hmmMemPrefetchAsync(data, bytes, where, 0, in.get()), "prefetch");
}

} // namespace detail

/// Queues moving the pages of @memory to a device, or home. Best effort.
template <class T, std::size_t Extent>
void prefetch(std::span<T, Extent> memory, device to, stream_ref in = default_stream) {
    detail::prefetch(memory.data(), memory.size_bytes(), {hmmMemLocationTypeDevice, to.number()},
                     in);
}

template <class T, std::size_t Extent>
void prefetch(std::span<T, Extent> memory, host_t, stream_ref in = default_stream) {
    detail::prefetch(memory.data(), memory.size_bytes(), {hmmMemLocationTypeHost, 0}, in);
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
template <class T, std::size_t Extent>
requires std::is_trivially_copyable_v<T>
void set_bytes(std::span<T, Extent> memory, std::byte value, stream_ref in = default_stream) {
    check(hmmMemsetAsync(memory.data(), std::to_integer<int>(value), memory.size_bytes(), in.get()),
          "set_bytes");
}

} // namespace hmm
