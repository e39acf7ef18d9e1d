// SPDX-License-Identifier: MIT
// Ranges of memory as functions take them besides spans: vectors, arrays,
// strings.
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

namespace hmm::detail {

template <class T>
inline constexpr bool is_span = false;
template <class T, std::size_t Extent>
inline constexpr bool is_span<std::span<T, Extent>> = true;

/// Any contiguous range except a span, for which functions have overloads.
template <class Range>
concept memory_range = std::ranges::contiguous_range<const Range> &&
    std::ranges::sized_range<const Range> && !is_span<Range>;

} // namespace hmm::detail
