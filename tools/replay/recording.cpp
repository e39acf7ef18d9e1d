// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "failure.hpp"
#include "trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace replay {
namespace {

constexpr std::uint64_t us = 1000; // nanoseconds

/// A process and a device.
using user = std::pair<std::uint64_t, std::uint32_t>;

bool is_served_fault(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_DEVICE_FAULT && event.error == 0;
}

/// Returns the process and the device with the most device faults.
user busiest(const hmmctl::trace& of, const std::string& from) {
    std::map<user, std::uint64_t> faults;
    for (const hmmrt_event& event : of.events)
        if (is_served_fault(event)) faults[{event.space, event.device}]++;
    if (faults.empty())
        throw hmmctl::failure(from + ": has no device faults to replay; record a program that uses "
                                     "the device, or write a trace with --pattern and --write");
    return std::max_element(faults.begin(), faults.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

/// Numbers the blocks that are used from 0. Blocks that are neighbours stay neighbours, and a gap
/// stays a gap, because windows depend on that.
class address_space {
  public:
    void use(std::uint64_t address) { numbers_.emplace(address / block_bytes, 0); }
    void number() {
        std::uint64_t last = 0;
        for (auto& [block, number] : numbers_) {
            if (blocks_ > 0 && block != last + 1) blocks_++;
            number = blocks_++;
            last = block;
        }
    }
    std::uint64_t pages() const { return blocks_ * block_pages; }
    std::uint32_t page(std::uint64_t address) const {
        return static_cast<std::uint32_t>(numbers_.at(address / block_bytes) * block_pages +
                                          address % block_bytes / page_bytes);
    }

  private:
    std::map<std::uint64_t, std::uint64_t> numbers_;
    std::uint64_t blocks_ = 0;
};

hmmctl::trace parsed(std::string_view bytes, const std::string& from) {
    try {
        return hmmctl::parse_trace(bytes);
    } catch (const hmmctl::failure& why) {
        throw hmmctl::failure(fmt::format("{}: {}", from, why.what()));
    }
}

bool is_wanted(const hmmrt_event& event, const user& of) {
    if (event.space != of.first) return false;
    if (is_served_fault(event)) return event.device == of.second;
    if (event.type == HMMRT_EVENT_CPU_FAULT) return event.error == 0;
    return event.type == HMMRT_EVENT_MIGRATION && event.cause == HMMRT_CAUSE_PREFETCH;
}

step step_of(const hmmrt_event& event, std::uint32_t page) {
    step result;
    result.first = page;
    result.accesses = result.lines = 1;
    if (event.type == HMMRT_EVENT_MIGRATION) {
        result.what =
            event.to == HMMRT_LOCATION_HOST ? step_kind::prefetch_cpu : step_kind::prefetch_device;
        result.count = static_cast<std::uint32_t>(event.pages);
    } else if (event.type == HMMRT_EVENT_CPU_FAULT) {
        result.what = step_kind::cpu_read;
    } else if (event.access & HMMRT_ACCESS_WRITE) {
        result.what = step_kind::device_write;
    }
    return result;
}

} // namespace

trace trace_of_recording(std::string_view bytes, const std::string& from) {
    hmmctl::trace recorded = parsed(bytes, from);
    const user of = busiest(recorded, from);
    std::erase_if(recorded.events, [&](const hmmrt_event& one) { return !is_wanted(one, of); });
    // events are in the order in which they ended
    const auto began = [](const hmmrt_event& one) { return one.time - one.duration; };
    std::stable_sort(recorded.events.begin(), recorded.events.end(),
                     [&](const auto& a, const auto& b) { return began(a) < began(b); });
    address_space space;
    for (const hmmrt_event& event : recorded.events) {
        const std::uint64_t pages = std::max<std::uint64_t>(event.pages, 1);
        for (std::uint64_t page = 0; page < pages; page += block_pages)
            space.use(event.addr + page * page_bytes);
        space.use(event.addr + (pages - 1) * page_bytes);
    }
    space.number();
    trace result;
    result.pages = space.pages();
    if (result.pages > most_pages)
        throw hmmctl::failure(fmt::format("{}: its process uses {} pages, and at most {} can be "
                                          "replayed; record a part of the run",
                                          from, result.pages, most_pages));
    std::uint64_t last = recorded.header.start;
    for (const hmmrt_event& event : recorded.events) {
        step one = step_of(event, space.page(event.addr));
        one.count = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(one.count, result.pages - one.first));
        if (began(event) > last + us)
            result.steps.push_back({.what = step_kind::wait,
                                    .count = static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                        (began(event) - last) / us, ~std::uint32_t{0}))});
        result.steps.push_back(one);
        last = std::max(last, std::uint64_t{event.time});
    }
    return result;
}

} // namespace replay
