// SPDX-License-Identifier: MIT
/*
 * Operations on several ranges of memory with one call. The ranges are
 * processed one after the other. If an argument is invalid, nothing is queued.
 *
 *     hmm::prefetch_batch({std::span(left), std::span(right)}, hmm::device(1));
 *     hmm::prefetch_batch({{std::span(left), hmm::device(1)},
 *                          {std::span(right), hmm::host}});
 *     hmm::discard_batch(rows, in); // any range of spans
 *
 * Empty spans are ignored.
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

// These classes convert implicitly from spans and lists.
// NOLINTBEGIN(google-explicit-constructor)

/// Refers to memory of any type, const or not.
class const_memory_ref {
  public:
    template <class T, std::size_t Extent>
    requires std::convertible_to<T*, const void*>
    constexpr const_memory_ref(std::span<T, Extent> memory) noexcept
        : data_(memory.data()), bytes_(memory.size_bytes()) {}

    [[nodiscard]] constexpr const void* data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return bytes_; }

  private:
    const void* data_;
    std::size_t bytes_;
};

/// Refers to memory with content that may be discarded.
class memory_ref : public const_memory_ref {
  public:
    template <detail::overwritable T, std::size_t Extent>
    constexpr memory_ref(std::span<T, Extent> memory) noexcept : const_memory_ref(memory) {}
};

/// Memory and its target location.
template <class Memory>
using placed = std::pair<Memory, location>;

/// The argument of a batch call: a braced list of elements, or any range of
/// values that convert to Element.
template <class Element>
class batch {
  public:
    batch(std::initializer_list<Element> elements) : elements_(elements) {}
    template <std::ranges::input_range Range>
    requires std::convertible_to<std::ranges::range_reference_t<Range>, Element>
    // A batch is not a range, so this does not hide the copy constructor.
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    batch(Range&& range) {
        for (auto&& each : range)
            elements_.push_back(std::forward<decltype(each)>(each));
    }

    [[nodiscard]] std::span<const Element> get() const noexcept { return elements_; }

  private:
    std::vector<Element> elements_;
};

// NOLINTEND(google-explicit-constructor)

namespace detail {

/// A batch in the form that the C interface takes.
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
    /// @call is hmmMemPrefetchBatchAsync() or
    /// hmmMemDiscardAndPrefetchBatchAsync().
    void move(decltype(hmmMemPrefetchBatchAsync) call, stream_ref in, const char* operation) const {
        if (ptrs_.empty()) return;
        check(call(ptrs_.data(), sizes_.data(), ptrs_.size(), locations_.data(), firsts_.data(),
                   locations_.size(), 0, in.get()),
              operation);
    }

  private:
    void add(const_memory_ref memory) {
        if (memory.size_bytes() == 0) return;
        // The C interface takes non-const pointers even if it only moves the
        // memory.
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
    std::vector<std::size_t> firsts_; ///< first range of each location
};

} // namespace detail

/// Queues migrating the pages of @all to one location. Best effort.
inline void prefetch_batch(const batch<const_memory_ref>& all, location to,
                           stream_ref in = default_stream) {
    detail::batch_arrays(all, to).move(hmmMemPrefetchBatchAsync, in, "prefetch_batch");
}

/// Queues migrating each range to its own location.
inline void prefetch_batch(const batch<placed<const_memory_ref>>& all,
                           stream_ref in = default_stream) {
    detail::batch_arrays(all).move(hmmMemPrefetchBatchAsync, in, "prefetch_batch");
}

/// Queues discarding the whole pages inside each range of @all.
inline void discard_batch(const batch<memory_ref>& all, stream_ref in = default_stream) {
    detail::batch_arrays(all).discard(in, "discard_batch");
}

/// Queues discarding each range and then migrating it. No data is copied.
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
