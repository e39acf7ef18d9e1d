// SPDX-License-Identifier: MIT
// What the module knows about a process's memory: where its pages are, and its advice.
#pragma once

#include "lib/files.hpp"

#include <linux/hmmrt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/types.h>
#include <utility>

namespace hmmctl {

/// hmmrt only supports x86-64.
constexpr std::uint64_t page_bytes = 4096;

/// Answers queries about addresses of a process. There is no answer if a part of the range isn't
/// mapped anymore.
class memory_queries {
  public:
    virtual ~memory_queries() = default;

    virtual std::optional<hmmrt_range_attributes> attributes(std::uint64_t start,
                                                             std::uint64_t bytes) = 0;
    /// Fills in an element for each page, starting at @start.
    virtual bool pages(std::uint64_t start, std::span<hmmrt_page> into) = 0;
};

/// Asks the module. Throws failure if the process has ended or the module doesn't answer.
class space_memory : public memory_queries {
  public:
    /// @file is an open file of the process's space.
    explicit space_memory(tools::descriptor file, pid_t pid) : file_(std::move(file)), pid_(pid) {}

    std::optional<hmmrt_range_attributes> attributes(std::uint64_t start,
                                                     std::uint64_t bytes) override;
    bool pages(std::uint64_t start, std::span<hmmrt_page> into) override;

  private:
    tools::descriptor file_;
    pid_t pid_;
};

/// Where a page is: a device id, or one of the values below.
using page_place = std::uint8_t;
constexpr page_place in_system_memory = HMMRT_MAX_DEVICES;
/// In system memory, and a device has a duplicate.
constexpr page_place duplicated = HMMRT_MAX_DEVICES + 1;
/// In system memory, and only a device may access it.
constexpr page_place exclusive = HMMRT_MAX_DEVICES + 2;
/// Not in memory, or unknown because the process may not read it.
constexpr page_place untouched = HMMRT_MAX_DEVICES + 3;
constexpr std::size_t places = HMMRT_MAX_DEVICES + 4;

inline bool is_device(page_place where) {
    return where < HMMRT_MAX_DEVICES;
}

page_place place_of(const hmmrt_page& page);

struct page_counts {
    std::array<std::uint64_t, places> at = {}; ///< pages by place
    /// By device: pages that it has a duplicate of, and pages that it has mapped, wherever they
    /// are.
    std::array<std::uint64_t, HMMRT_MAX_DEVICES> duplicates = {}, mapped = {};

    void add(const hmmrt_page& page);
    void add(const page_counts& other);
    /// Does a device have any of the pages, a duplicate of one, or one mapped?
    bool has_device() const;
    bool operator==(const page_counts&) const = default;
};

} // namespace hmmctl
