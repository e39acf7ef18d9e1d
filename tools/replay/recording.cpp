// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "block.hpp"
#include "failure.hpp"
#include "trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace replay {
namespace {

constexpr std::uint64_t us = 1000; // nanoseconds
/// Shorter waits between accesses are added up, so that a sweep remains a single step.
constexpr std::uint64_t shortest_wait = 100 * us;

/// A process and a device.
using user = std::pair<std::uint64_t, std::uint32_t>;

bool is_served_fault(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_DEVICE_FAULT && event.error == 0;
}

bool is_prefetch(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_MIGRATION && event.cause == HMMRT_CAUSE_PREFETCH;
}

bool is_unmap(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_INVALIDATE && event.reason == HMMRT_EVENT_CHANGE_UNMAP;
}

std::uint64_t began(const hmmrt_event& event) {
    return event.time - event.duration;
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

/// Calls @visit with the number of each page of an event in the process's address space.
template <class Visit>
void for_each_page(const hmmrt_event& event, Visit visit) {
    const std::uint64_t first = event.addr / page_bytes;
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(event.pages, 1); i++)
        visit(first + i);
}

/// Pages of the process's address space.
class known_pages {
  public:
    void add(const hmmrt_event& event) {
        for_each_page(event, [&](std::uint64_t page) {
            blocks_[page / block_pages].add(static_cast<unsigned>(page % block_pages));
        });
    }
    bool has(std::uint64_t page) const {
        const auto found = blocks_.find(page / block_pages);
        return found != blocks_.end() &&
               found->second.has(static_cast<unsigned>(page % block_pages));
    }
    const std::map<std::uint64_t, page_set>& blocks() const { return blocks_; }

  private:
    std::map<std::uint64_t, page_set> blocks_;
};

/// Makes a trace of the events of one process and device.
class recorded_run {
  public:
    recorded_run(const hmmctl::trace& recorded, const user& of) : start_(recorded.header.start) {
        for (const hmmrt_event& event : recorded.events)
            if (event.space == of.first) add(event, event.device == of.second);
        leave_out_files();
        for (const hmmrt_event& event : events_)
            if (!is_unmap(event)) memory_.add(event);
        number_blocks();
        // events are in the order in which they ended
        std::stable_sort(events_.begin(), events_.end(),
                         [](const auto& a, const auto& b) { return began(a) < began(b); });
    }
    std::uint64_t pages() const { return pages_; }

    trace replayed() {
        trace result;
        result.pages = pages_;
        if (has_accesses_) find_absent(result);
        std::uint64_t last = start_, waits = 0;
        for (const hmmrt_event& event : events_) {
            if (began(event) > last) waits += began(event) - last;
            last = std::max(last, std::uint64_t{event.time});
            // the access follows, with its own event
            if (has_accesses_ && event.type == HMMRT_EVENT_DEVICE_FAULT) continue;
            if (waits > (has_accesses_ ? shortest_wait : us))
                result.steps.push_back(wait_of(std::exchange(waits, 0)));
            add_steps(event, result);
        }
        return result;
    }

  private:
    void add(const hmmrt_event& event, bool here) {
        has_accesses_ |= here && event.type == HMMRT_EVENT_ACCESS;
        if (here && event.type == HMMRT_EVENT_MAP) maps_.push_back(event);
        if (event.type == HMMRT_EVENT_FAULT_BATCH) faults_[event.serial] = event.parent;
        if (event.type == HMMRT_EVENT_DEVICE_FAULT &&
            event.reason == HMMRT_EVENT_RULE_NOT_MIGRATABLE)
            in_files_.insert(event.serial);
        const bool uses = is_served_fault(event) || event.type == HMMRT_EVENT_ACCESS;
        if (uses ? here
                 : (event.type == HMMRT_EVENT_CPU_FAULT && event.error == 0) ||
                       is_prefetch(event) || is_unmap(event))
            events_.push_back(event);
    }
    /// What was mapped for faults on memory that can't migrate isn't part of the trace.
    void leave_out_files() {
        known_pages files;
        for (const hmmrt_event& event : maps_) {
            const auto fault = faults_.find(event.parent);
            const bool is_file = fault != faults_.end() && in_files_.contains(fault->second);
            (is_file ? files : memory_).add(event);
        }
        std::erase_if(events_, [&](const hmmrt_event& one) {
            return (one.type == HMMRT_EVENT_ACCESS || one.type == HMMRT_EVENT_DEVICE_FAULT) &&
                   files.has(one.addr / page_bytes);
        });
    }
    /// Numbers the blocks that are used from 0. Blocks that are neighbours stay neighbours, and a
    /// gap stays a gap, because windows depend on that.
    void number_blocks() {
        std::uint64_t last = 0, next = 0;
        for (const auto& [block, pages] : memory_.blocks()) {
            if (next > 0 && block != last + 1) next++;
            numbers_[block] = next++;
            last = block;
        }
        pages_ = next * block_pages;
    }
    /// Pages that the device never had may not exist.
    void find_absent(trace& result) const {
        result.absent.assign(result.pages, true);
        for (const auto& [block, pages] : memory_.blocks())
            for (unsigned i = 0; i < block_pages; i++)
                if (pages.has(i)) result.absent[numbers_.at(block) * block_pages + i] = false;
    }
    static step wait_of(std::uint64_t ns) {
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        return {.what = step_kind::wait,
                .count = static_cast<std::uint32_t>(std::min(ns / us, most))};
    }
    static step_kind kind_of(const hmmrt_event& event) {
        if (is_unmap(event)) return step_kind::unmap;
        if (event.type == HMMRT_EVENT_CPU_FAULT) return step_kind::cpu_read;
        if (event.type == HMMRT_EVENT_MIGRATION)
            return event.to == HMMRT_LOCATION_HOST ? step_kind::prefetch_cpu
                                                   : step_kind::prefetch_device;
        return event.access & HMMRT_ACCESS_WRITE ? step_kind::device_write : step_kind::device_read;
    }
    void add_steps(const hmmrt_event& event, trace& result) const {
        step one;
        one.what = kind_of(event);
        if (!has_accesses_) one.accesses = one.lines = 1;
        const bool single = is_device(one.what) || one.what == step_kind::cpu_read;
        const std::uint64_t first = event.addr / page_bytes,
                            count = single ? 1 : std::max<std::uint64_t>(event.pages, 1);
        for (std::uint64_t page = first; page < first + count;) {
            const std::uint64_t block = page / block_pages,
                                end = std::min((block + 1) * block_pages, first + count);
            if (const auto found = numbers_.find(block); found != numbers_.end()) {
                one.first =
                    static_cast<std::uint32_t>(found->second * block_pages + page % block_pages);
                one.count = static_cast<std::uint32_t>(end - page);
                // each fault is one access, even if the next one follows on the next page
                if (has_accesses_ || !single)
                    result.add(one);
                else
                    result.steps.push_back(one);
            }
            page = end;
        }
    }

    std::uint64_t start_, pages_ = 0;
    bool has_accesses_ = false;
    std::vector<hmmrt_event> events_, maps_;
    std::unordered_map<std::uint64_t, std::uint64_t> faults_; ///< by the batch that served them
    std::unordered_set<std::uint64_t> in_files_;              ///< faults
    known_pages memory_;
    std::unordered_map<std::uint64_t, std::uint64_t> numbers_; ///< of blocks, in the trace
};

hmmctl::trace parsed(std::string_view bytes, const std::string& from) {
    try {
        return hmmctl::parse_trace(bytes);
    } catch (const hmmctl::failure& why) {
        throw hmmctl::failure(fmt::format("{}: {}", from, why.what()));
    }
}

} // namespace

trace trace_of_recording(std::string_view bytes, const std::string& from) {
    const hmmctl::trace recorded = parsed(bytes, from);
    recorded_run run(recorded, busiest(recorded, from));
    if (run.pages() > most_pages)
        throw hmmctl::failure(fmt::format("{}: its process uses {} pages, and at most {} can be "
                                          "replayed; record a part of the run",
                                          from, run.pages(), most_pages));
    return run.replayed();
}

} // namespace replay
