// SPDX-License-Identifier: MIT
/*
 * Residency: the current location of pages.
 *
 *     const auto pages = hmm::residency(std::span(data));
 *     if (pages.on(hmm::device(0)) < pages.size()) ...
 */
#pragma once

#include <hmm/location.hpp>
#include <hmm/memory_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

namespace hmm {

/// One hmmPageState for each page, in address order.
class page_states {
  public:
    explicit page_states(std::vector<hmmPageState> states) noexcept : states_(std::move(states)) {}

    [[nodiscard]] std::size_t size() const noexcept { return states_.size(); }
    const hmmPageState& operator[](std::size_t page) const { return states_[page]; }
    auto begin() const noexcept { return states_.begin(); }
    auto end() const noexcept { return states_.end(); }

    /// Number of pages at the location.
    [[nodiscard]] std::size_t on(device where) const { return count(where.number()); }
    [[nodiscard]] std::size_t on(host_t) const { return count(hmmCpuDeviceId); }
    /// Number of pages that are not populated.
    [[nodiscard]] std::size_t unpopulated() const { return count(hmmInvalidDeviceId); }
    [[nodiscard]] bool all_on(device where) const { return on(where) == size(); }
    [[nodiscard]] bool all_on(host_t) const { return on(host) == size(); }

  private:
    std::size_t count(int location) const {
        const auto matches = [=](const hmmPageState& page) { return page.location == location; };
        return static_cast<std::size_t>(std::count_if(begin(), end(), matches));
    }

    std::vector<hmmPageState> states_;
};

/// Returns the number of pages that @memory touches.
template <class T, std::size_t Extent>
[[nodiscard]] std::size_t page_count(std::span<T, Extent> memory) noexcept {
    if (memory.empty()) return 0;
    constexpr std::uintptr_t page = 4096;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t last = begin + memory.size_bytes() - 1;
    return last / page - begin / page + 1;
}

template <detail::memory_range Range>
[[nodiscard]] std::size_t page_count(const Range& memory) noexcept {
    return page_count(std::span(memory));
}

/// Returns the state of each page that @memory touches.
template <class T, std::size_t Extent>
[[nodiscard]] page_states residency(std::span<T, Extent> memory) {
    if (memory.empty()) return page_states({});
    std::vector<hmmPageState> states(page_count(memory));
    check(hmmMemGetResidency(memory.data(), memory.size_bytes(), states.data(), states.size()),
          "residency");
    return page_states(std::move(states));
}

template <detail::memory_range Range>
[[nodiscard]] page_states residency(const Range& memory) {
    return residency(std::span(memory));
}

/// Prints where the pages of @memory are, one line for each run of pages at the
/// same location:
///
///     pages 0 to 255 (256): device 0
///     pages 256 to 256 (1): host
template <class T, std::size_t Extent>
void print_residency(std::span<T, Extent> memory, std::FILE* to = stdout) {
    const page_states pages = residency(memory);
    for (std::size_t first = 0, end; first < pages.size(); first = end) {
        const int location = pages[first].location;
        for (end = first; end < pages.size() && pages[end].location == location;)
            end++;
        std::fprintf(to, "pages %zu to %zu (%zu): ", first, end - 1, end - first);
        if (location >= 0)
            std::fprintf(to, "device %d\n", location);
        else
            std::fputs(location == hmmCpuDeviceId ? "host\n" : "not populated\n", to);
    }
}

template <detail::memory_range Range>
void print_residency(const Range& memory, std::FILE* to = stdout) {
    print_residency(std::span(memory), to);
}

} // namespace hmm
