// SPDX-License-Identifier: MIT
/*
 * Several ranges of memory with one call. They are done one after the other; if an
 * argument is wrong nothing is queued.
 *
 *     hmm::prefetch_batch({std::span(left), std::span(right)}, hmm::device(1));
 *     hmm::prefetch_batch({{std::span(left), hmm::device(1)}, {std::span(right), hmm::host}});
 *     hmm::discard_batch(rows, in); // any range of spans
 *
 * Empty spans are left out.
 */
#pragma once

#include <hmm/memory.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace hmm {

// Each is a span, or a list, as it stands. NOLINTBEGIN(google-explicit-constructor)

/// Names memory of any type, const or not.
class const_memory_ref {
  public:
    template <class T, std::size_t Extent>
    requires std::convertible_to<T*, const void*>
    constexpr const_memory_ref(std::span<T, Extent> memory) noexcept
        : data_(memory.data()), bytes_(memory.size_bytes()) {}

    constexpr const void* data() const noexcept { return data_; }
    constexpr std::size_t size_bytes() const noexcept { return bytes_; }

  private:
    const void* data_;
    std::size_t bytes_;
};

/// Names memory whose bytes may be lost.
class memory_ref : public const_memory_ref {
  public:
    template <detail::overwritable T, std::size_t Extent>
    constexpr memory_ref(std::span<T, Extent> memory) noexcept : const_memory_ref(memory) {}
};

/// Memory and where it is to be.
template <class Memory>
using placed = std::pair<Memory, location>;

/// What one call takes: elements in braces, or any range of what converts to them.
template <class Element>
class batch {
  public:
    batch(std::initializer_list<Element> elements) : elements_(elements) {}
    template <std::ranges::input_range Range>
    requires std::convertible_to<std::ranges::range_reference_t<Range>, Element>
    // A batch is no range. NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    batch(Range&& range) {
        for (auto&& each : range)
            elements_.push_back(std::forward<decltype(each)>(each));
    }

    std::span<const Element> get() const noexcept { return elements_; }

  private:
    std::vector<Element> elements_;
};

// NOLINTEND(google-explicit-constructor)

namespace detail {

/// A batch as the C interface takes it.
class batch_arrays {
  public:
    template <class Memory>
    explicit batch_arrays(const batch<Memory>& all) {
        for (const Memory& each : all.get())
            add(each);
    }
    template <class Memory>
    batch_arrays(const batch<Memory>& all, location to) : batch_arrays(all) {
        locations_.push_back(to.get());
        firsts_.push_back(0);
    }

    void discard(stream_ref in, const char* operation) const {
        if (ptrs_.empty()) return;
        check(hmmMemDiscardBatchAsync(ptrs_.data(), sizes_.data(), ptrs_.size(), 0, in.get()),
              operation);
    }
    /// By hmmMemPrefetchBatchAsync(), or its brother that discards.
    void move(decltype(hmmMemPrefetchBatchAsync) call, stream_ref in, const char* operation) const {
        if (ptrs_.empty()) return;
        check(call(ptrs_.data(), sizes_.data(), ptrs_.size(), locations_.data(), firsts_.data(),
                   locations_.size(), 0, in.get()),
              operation);
    }

  private:
    void add(const_memory_ref memory) {
        if (memory.size_bytes() == 0) return;
        // Not const in C, even where it is only moved.
        ptrs_.push_back(const_cast<void*>(memory.data()));
        sizes_.push_back(memory.size_bytes());
    }
    template <class Memory>
    void add(const placed<Memory>& both) {
        if (both.first.size_bytes() == 0) return;
        locations_.push_back(both.second.get());
        firsts_.push_back(ptrs_.size());
        add(both.first);
    }

    std::vector<void*> ptrs_;
    std::vector<std::size_t> sizes_;
    std::vector<hmmMemLocation> locations_;
    std::vector<std::size_t> firsts_; ///< range of each location
};

} // namespace detail

/// Queues moving the pages of @all. Best effort.
inline void prefetch_batch(const batch<const_memory_ref>& all, location to,
                           stream_ref in = default_stream) {
    detail::batch_arrays(all, to).move(hmmMemPrefetchBatchAsync, in, "prefetch_batch");
}

/// Each to a place of its own.
inline void prefetch_batch(const batch<placed<const_memory_ref>>& all,
                           stream_ref in = default_stream) {
    detail::batch_arrays(all).move(hmmMemPrefetchBatchAsync, in, "prefetch_batch");
}

/// Queues forgetting what is in @all, in whole pages.
inline void discard_batch(const batch<memory_ref>& all, stream_ref in = default_stream) {
    detail::batch_arrays(all).discard(in, "discard_batch");
}

/// The same, and moves each range when it is discarded: no data travels.
inline void discard_and_prefetch_batch(const batch<memory_ref>& all, location to,
                                       stream_ref in = default_stream) {
    detail::batch_arrays(all, to).move(hmmMemDiscardAndPrefetchBatchAsync, in,
                                       "discard_and_prefetch_batch");
}

inline void discard_and_prefetch_batch(const batch<placed<memory_ref>>& all,
                                       stream_ref in = default_stream) {
    detail::batch_arrays(all).move(hmmMemDiscardAndPrefetchBatchAsync, in,
                                   "discard_and_prefetch_batch");
}

} // namespace hmm
