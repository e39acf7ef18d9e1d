// SPDX-License-Identifier: MIT
#include "annotations.hpp"

#include <algorithm>
#include <cstring>

namespace hmmctl {

std::string text_of(const hmmrt_event& event) {
    return {event.text, strnlen(event.text, sizeof(event.text))};
}

void memory_names::add(const hmmrt_event& event, std::uint32_t page_size) {
    of_space& ranges = spaces_[event.space];
    const std::uint64_t begin = event.addr;
    std::uint64_t end = (begin & ~std::uint64_t{page_size - 1}) + event.pages * page_size;
    if (end <= begin) return; // only in a file that the module did not write
    page_size_ = page_size;
    // The event has whole pages. Memory that begins within the last one has a name of its own.
    const auto behind = ranges.upper_bound(std::max(begin, end - page_size));
    if (behind != ranges.end()) end = std::min(end, behind->first);
    auto next = ranges.lower_bound(begin);
    if (next != ranges.begin()) {
        named& before = std::prev(next)->second;
        if (before.end > end) next = ranges.insert(next, {end, before});
        before.end = std::min(before.end, begin);
    }
    while (next != ranges.end() && next->first < end) {
        const named covered = next->second;
        next = ranges.erase(next);
        if (covered.end > end) next = ranges.insert(next, {end, covered});
    }
    if (event.text[0] != '\0') ranges.insert({begin, {end, text_of(event)}});
}

std::string memory_names::at(std::uint64_t space, std::uint64_t addr) const {
    const auto found = spaces_.find(space);
    if (found == spaces_.end()) return "";
    const of_space& ranges = found->second;
    const auto after = ranges.upper_bound(addr);
    if (after != ranges.begin() && addr < std::prev(after)->second.end)
        return std::prev(after)->second.name;
    // The kernel reports faults of the CPU by page, and memory may begin within it.
    const bool may_be_page = addr % page_size_ == 0;
    if (may_be_page && after != ranges.end() && after->first < addr + page_size_)
        return after->second.name;
    return "";
}

void annotation_summary::add_fault(const hmmrt_event& event) {
    const bool of_device = event.type == HMMRT_EVENT_DEVICE_FAULT;
    if (of_device) fault_times_[event.space].push_back(event.time);
    const std::string name = names_.at(event.space, event.addr);
    if (name.empty()) return;
    touches& named = touched_[{event.space, name}];
    (of_device ? named.device_faults : named.cpu_faults)++;
    if (!of_device) return;
    named.nanoseconds += event.duration;
    if (event.ip != 0) code_[{event.space, event.ip}][name]++;
}

void annotation_summary::add(const hmmrt_event& event, std::uint32_t page_size) {
    switch (event.type) {
    case HMMRT_EVENT_NAME:
        return names_.add(event, page_size);
    case HMMRT_EVENT_SECTION:
        sections_[{event.space, text_of(event)}].push_back(
            {event.time - std::min(event.time, event.duration), event.time});
        return;
    case HMMRT_EVENT_DEVICE_FAULT:
    case HMMRT_EVENT_CPU_FAULT:
        return add_fault(event);
    default:
        return;
    }
}

std::vector<std::pair<annotation_key, touches>>
annotation_summary::hottest_names(std::size_t number) const {
    return hottest(touched_, number);
}

std::string annotation_summary::name_of_code(std::uint64_t space, std::uint64_t ip) const {
    const auto found = code_.find({space, ip});
    if (found == code_.end()) return "";
    const auto& names = found->second;
    return std::max_element(names.begin(), names.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
}

std::vector<std::pair<annotation_key, section_sums>>
annotation_summary::longest_sections(std::size_t number) const {
    // Events of different threads may be in the ring in another order than that of their times.
    auto times = fault_times_;
    for (auto& [space, of_space] : times)
        std::sort(of_space.begin(), of_space.end());
    std::vector<std::pair<annotation_key, section_sums>> all;
    for (const auto& [key, sections] : sections_) {
        section_sums sums;
        const std::vector<std::uint64_t>& faults = times[key.space];
        for (const section& one : sections) {
            sums.count++;
            sums.nanoseconds += one.end - one.begin;
            sums.device_faults += static_cast<std::uint64_t>(
                std::upper_bound(faults.begin(), faults.end(), one.end) -
                std::lower_bound(faults.begin(), faults.end(), one.begin));
        }
        all.emplace_back(key, sums);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return a.second.nanoseconds > b.second.nanoseconds;
    });
    if (all.size() > number) all.resize(number);
    return all;
}

} // namespace hmmctl
