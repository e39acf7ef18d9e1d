// SPDX-License-Identifier: MIT
// Made-up memory of a process, for code that queries it.
#pragma once

#include "ranges.hpp"

#include <map>
#include <vector>

namespace hmmctl_tests {

constexpr std::uint64_t page = 4096;

struct made_up_page {
    hmmctl::range_advice advice;
    hmmrt_page state = {.location = HMMRT_LOCATION_NONE,
                        .flags = 0,
                        .mapped_by = 0,
                        .written_by = 0,
                        .duplicates = 0,
                        .cause = 0,
                        .time = 0};
};

/// Pages by address; other addresses are not mapped. Answers queries as the module does.
class made_up_memory : public hmmctl::memory_queries {
  public:
    made_up_memory() = default;
    made_up_memory(std::uint64_t start, std::uint64_t count) { map(start, count); }

    std::map<std::uint64_t, made_up_page> all;
    std::vector<std::uint64_t> asked; ///< bytes of each query about attributes
    bool tells_alike = true;

    void map(std::uint64_t start, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; i++)
            all[start + i * page] = {};
    }

    std::vector<made_up_page*> at(std::uint64_t start, std::uint64_t count) {
        std::vector<made_up_page*> found;
        for (std::uint64_t i = 0; i < count; i++)
            found.push_back(&all.at(start + i * page));
        return found;
    }

    void advise(std::uint64_t start, std::uint64_t count, const hmmctl::range_advice& advice) {
        for (made_up_page* one : at(start, count))
            one->advice = advice;
    }

    void place_on_host(std::uint64_t start, std::uint64_t count) {
        for (made_up_page* one : at(start, count)) {
            one->state.location = HMMRT_LOCATION_HOST;
            one->state.mapped_by = HMMRT_BY_CPU;
        }
    }

    void place_on_device(std::uint64_t start, std::uint64_t count, std::uint32_t id) {
        for (made_up_page* one : at(start, count)) {
            one->state.location = id;
            one->state.mapped_by = 1u << id;
        }
    }

    std::optional<hmmrt_range_attributes> attributes(std::uint64_t start,
                                                     std::uint64_t bytes) override {
        asked.push_back(bytes);
        if (!is_mapped(start, bytes)) return std::nullopt;
        const hmmctl::range_advice first = all[start].advice;
        hmmctl::range_advice common = first;
        hmmrt_range_attributes found = {};
        bool is_alike = true;
        for (std::uint64_t at = start; at < start + bytes; at += page) {
            const hmmctl::range_advice& one = all[at].advice;
            is_alike = is_alike && one == first;
            if (is_alike) found.out_alike_bytes += page;
            if (!(one == common)) common = {};
        }
        if (!tells_alike) found.out_alike_bytes = 0;
        found.out_flags = common.flags;
        found.out_accessed_by = common.accessed_by;
        found.out_preferred_location = common.preferred;
        found.out_last_prefetch = common.last_prefetch;
        found.out_granularity = common.granularity;
        return found;
    }

    bool pages(std::uint64_t start, std::span<hmmrt_page> into) override {
        if (!is_mapped(start, into.size() * page)) return false;
        for (hmmrt_page& one : into) {
            one = all[start].state;
            start += page;
        }
        return true;
    }

  private:
    bool is_mapped(std::uint64_t start, std::uint64_t bytes) const {
        for (std::uint64_t at = start; at < start + bytes; at += page)
            if (!all.contains(at)) return false;
        return true;
    }
};

inline tools::mapping mapping_at(std::uint64_t start, std::uint64_t pages,
                                 const std::string& name = "") {
    tools::mapping made;
    made.start = start;
    made.end = start + pages * page;
    made.readable = true;
    made.name = name;
    return made;
}

} // namespace hmmctl_tests
