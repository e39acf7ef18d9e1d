// SPDX-License-Identifier: MIT
#include "annotations.hpp"

#include "block_activity.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hmmctl {

std::string text_of(const hmmrt_event& event) {
    return {event.text, strnlen(event.text, sizeof(event.text))};
}

void memory_names::add(const hmmrt_event& event, std::uint32_t page_size) {
    address_map<std::string>& ranges = spaces_[event.space];
    const std::uint64_t begin = event.addr;
    std::uint64_t end = (begin & ~std::uint64_t{page_size - 1}) + event.pages * page_size;
    if (end <= begin) return; // only in a file that didn't come from the module
    page_size_ = page_size;
    // The event covers whole pages. Don't overwrite the name of memory that begins in the last one.
    const auto behind = ranges.all().upper_bound(std::max(begin, end - page_size));
    if (behind != ranges.all().end()) end = std::min(end, behind->first);
    if (event.text[0] != '\0')
        ranges.assign(begin, end, text_of(event));
    else
        ranges.erase(begin, end);
}

std::string memory_names::at(std::uint64_t space, std::uint64_t addr) const {
    const auto found = spaces_.find(space);
    if (found == spaces_.end()) return "";
    const std::string* const name = found->second.at_or_in_page(addr, page_size_);
    return name ? *name : "";
}

namespace {

void add_to(touches& sums, const hmmrt_event& event) {
    const bool of_device = event.type == HMMRT_EVENT_DEVICE_FAULT;
    (of_device ? sums.device_faults : sums.cpu_faults)++;
    if (of_device) sums.nanoseconds += event.duration;
}

/// Returns the memory with the most faults, unknown memory if there is none.
template <class Memory>
known_memory most_in(const Memory& faults) {
    const auto most =
        std::max_element(faults.begin(), faults.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == faults.end() ? known_memory() : most->first;
}

} // namespace

void annotation_summary::add_fault(const hmmrt_event& event, std::uint32_t page_size) {
    const bool of_device = event.type == HMMRT_EVENT_DEVICE_FAULT;
    if (of_device) fault_times_[event.space].push_back(event.time);
    allocations_.advance(event.time - std::min(event.time, event.duration));
    const known_memory memory = {names_.at(event.space, event.addr),
                                 allocations_.at(event.pid, event.addr, page_size)};
    if (!memory.is_known()) return;
    if (!memory.name.empty()) add_to(touched_[{event.space, memory.name}], event);
    if (memory.allocated != 0) add_to(touched_stacks_[{event.space, memory.allocated}], event);
    blocks_[{event.space, block_of(event.addr)}][memory]++;
    if (event.ip != 0) code_[{event.space, event.ip}][memory]++;
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
        return add_fault(event, page_size);
    default:
        return;
    }
}

std::vector<std::pair<annotation_key, touches>>
annotation_summary::hottest_names(std::size_t number) const {
    return hottest(touched_, number);
}

std::vector<std::pair<stack_key, touches>>
annotation_summary::hottest_stacks(std::size_t number) const {
    return hottest(touched_stacks_, number);
}

known_memory annotation_summary::memory_of_code(std::uint64_t space, std::uint64_t ip) const {
    const auto found = code_.find({space, ip});
    return found == code_.end() ? known_memory() : most_in(found->second);
}

known_memory annotation_summary::memory_of_blocks(std::uint64_t space, std::uint64_t addr,
                                                  std::uint64_t bytes) const {
    of_memory sums;
    for (auto of = blocks_.lower_bound({space, block_of(addr)});
         of != blocks_.end() && of->first.first == space && of->first.second < addr + bytes; ++of)
        for (const auto& [memory, faults] : of->second)
            sums[memory] += faults;
    return most_in(sums);
}

std::vector<std::pair<annotation_key, section_sums>>
annotation_summary::longest_sections(std::size_t number) const {
    // The ring isn't sorted by time across threads.
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
