// SPDX-License-Identifier: MIT
// Where memory is.
#pragma once

#include <hmm/stream.hpp>

#include <cstddef>
#include <span>

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

} // namespace hmm
