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

/// Returns how many pages the event is about, from its address on. A CPU fault also counts what
/// moved with its page, from any address on.
std::uint64_t pages_of(const hmmrt_event& event) {
    const bool is_access = event.type == HMMRT_EVENT_DEVICE_FAULT ||
                           event.type == HMMRT_EVENT_ACCESS || event.type == HMMRT_EVENT_CPU_FAULT;
    return is_access ? 1 : std::max<std::uint64_t>(event.pages, 1);
}

/// Throws failure for an event that no kernel writes: the file is damaged.
void check(const hmmrt_event& event, const std::string& from) {
    constexpr std::uint64_t most_at_once = std::uint64_t{1} << 16, // of a move or entries
        end = std::uint64_t{1} << 45;                              // of user address spaces
    const std::uint64_t most = is_unmap(event) ? end : most_at_once, pages = pages_of(event);
    if (pages > most || event.addr / page_bytes > end || event.duration > event.time)
        throw hmmctl::failure(fmt::format("{}: is damaged: event {} of type {} has {} pages at "
                                          "{:#x}, and took {} ns until {}",
                                          from, event.serial, event.type, event.pages, event.addr,
                                          event.duration, event.time));
}

bool is_replayed(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_DEVICE_FAULT || event.type == HMMRT_EVENT_ACCESS ||
           event.type == HMMRT_EVENT_CPU_FAULT || event.type == HMMRT_EVENT_MAP ||
           is_prefetch(event) || is_unmap(event);
}

/// Pages of the process's address space.
class known_pages {
  public:
    void add(const hmmrt_event& event) {
        const std::uint64_t first = event.addr / page_bytes, end = first + pages_of(event);
        for (std::uint64_t page = first; page < end; page++)
            blocks_[page / block_pages].add(static_cast<unsigned>(page % block_pages));
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
        const std::uint64_t first = event.addr / page_bytes, end = first + pages_of(event);
        for (auto at = numbers_.lower_bound(first / block_pages);
             at != numbers_.end() && at->first * block_pages < end; at++) {
            const std::uint64_t start = at->first * block_pages, from = std::max(first, start),
                                to = std::min(end, start + block_pages);
            one.first = static_cast<std::uint32_t>(at->second * block_pages + from - start);
            one.count = static_cast<std::uint32_t>(to - from);
            // each fault is one access, even if the next one follows on the next page
            if (has_accesses_ || !single)
                result.add(one);
            else
                result.steps.push_back(one);
        }
    }

    std::uint64_t start_, pages_ = 0;
    bool has_accesses_ = false;
    std::vector<hmmrt_event> events_, maps_;
    std::unordered_map<std::uint64_t, std::uint64_t> faults_; ///< by the batch that served them
    std::unordered_set<std::uint64_t> in_files_;              ///< faults
    known_pages memory_;
    std::map<std::uint64_t, std::uint64_t> numbers_; ///< of blocks, in the trace
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
    if (recorded.header.page_size != page_bytes)
        throw hmmctl::failure(fmt::format("{}: has pages of {} bytes, expected {}", from,
                                          recorded.header.page_size, page_bytes));
    for (const hmmrt_event& event : recorded.events)
        if (is_replayed(event)) check(event, from);
    recorded_run run(recorded, busiest(recorded, from));
    if (run.pages() > most_pages)
        throw hmmctl::failure(fmt::format("{}: its process uses {} pages, and at most {} can be "
                                          "replayed; record a part of the run",
                                          from, run.pages(), most_pages));
    return run.replayed();
}

} // namespace replay
