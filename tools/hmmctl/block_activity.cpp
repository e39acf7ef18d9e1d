// SPDX-License-Identifier: MIT
#include "block_activity.hpp"

#include "event_names.hpp"

#include <algorithm>

namespace hmmctl {
namespace {

/// Bounds the work for an event, because a trace file may claim any number of pages. The manager
/// reports migrations block by block.
constexpr std::uint64_t most_blocks = 16;
constexpr std::size_t most_advised = 4096;   // ranges that we remember
constexpr std::size_t most_instructions = 8; // per block

std::size_t page_of(std::uint64_t addr) {
    return (addr & (block_bytes - 1)) / page_bytes;
}

void mark(page_set& set, std::size_t first, std::size_t pages) {
    for (std::size_t page = first; page < first + pages; page++)
        set.set(page);
}

} // namespace

void for_each_block(const hmmrt_event& event, const part_function& body) {
    std::uint64_t addr = event.addr,
                  left = std::min<std::uint64_t>(event.pages, most_blocks * block_pages);
    while (left != 0) {
        const std::size_t first = page_of(addr);
        const std::uint64_t pages = std::min<std::uint64_t>(left, block_pages - first);
        body({event.space, block_of(addr)}, first, pages);
        addr = block_of(addr) + block_bytes;
        left -= pages;
        if (addr == 0) return; // the end of the address space
    }
}

const processor_activity* block_activity::of(std::uint32_t processor) const {
    const auto found = processors.find(processor);
    return found == processors.end() ? nullptr : &found->second;
}

void activity::add(const hmmrt_event& event) {
    switch (event.type) {
    case HMMRT_EVENT_DEVICE_FAULT:
        if (is_device(event.device)) add_fault(event, event.device);
        return;
    case HMMRT_EVENT_CPU_FAULT:
        return add_fault(event, HMMRT_LOCATION_HOST);
    case HMMRT_EVENT_MIGRATION:
        return add_migration(event);
    case HMMRT_EVENT_ADVISE:
        return add_advice(event);
    default:
        return;
    }
}

/// A new block gets the advice that was given before its first activity.
block_activity& activity::block_at(block_key key) {
    const auto [place, is_new] = blocks_.try_emplace(key);
    if (is_new)
        for (const advised& one : advised_)
            if (one.space == key.space && one.begin < key.addr + block_bytes && one.end > key.addr)
                place->second.advise(one.kind);
    return place->second;
}

/// Revoking advice removes it, as if it had never been given.
void block_activity::advise(std::uint16_t kind) {
    const bool takes_back = kind % 2 == 0;
    static_assert(HMMRT_ADVICE_UNSET_READ_MOSTLY == HMMRT_ADVICE_SET_READ_MOSTLY + 1 &&
                  HMMRT_ADVICE_UNSET_READ_MOSTLY % 2 == 0 &&
                  HMMRT_ADVICE_UNSET_GRANULARITY % 2 == 0);
    if (takes_back)
        advice &= ~(1ull << (kind - 1));
    else
        advice |= 1ull << kind;
}

void activity::add_fault(const hmmrt_event& event, std::uint32_t processor) {
    if (event.error != 0) return;
    block_activity& block = block_at({event.space, block_of(event.addr)});
    processor_activity& by = block.processors[processor];
    by.faults++;
    if (!by.left) by.first_faults++;
    if (by.evicted) by.returns++;
    by.evicted = false;
    if (event.access & HMMRT_ACCESS_WRITE) by.writes++;
    by.nanoseconds += event.duration;
    by.copy_nanoseconds += event.phase[HMMRT_PHASE_COPY];
    by.touched.set(page_of(event.addr));
    if (block.last != HMMRT_LOCATION_NONE && block.last != processor) block.turns++;
    block.last = processor;
    auto& code = processor == HMMRT_LOCATION_HOST ? block.cpu_code : block.code;
    if (event.ip != 0 && (code.size() < most_instructions || code.contains(event.ip)))
        code[event.ip]++;
    follow(event, processor);
}

/// A fault continues a run if it is above the same thread's previous one, and at most a block away.
/// We only count the first faults of a run when it is long enough.
void activity::follow(const hmmrt_event& event, std::uint32_t processor) {
    sweep& run = sweeps_[{event.space, processor, event.tid}];
    const std::uint64_t before = run.last[(run.length + least_run - 1) % least_run];
    if (run.length != 0 && (event.addr <= before || event.addr - before > block_bytes))
        run.length = 0;
    run.last[run.length % least_run] = event.addr;
    run.length++;
    const auto count = [&](std::uint64_t addr) {
        block_at({event.space, block_of(addr)}).processors[processor].sequential++;
    };
    if (run.length == least_run)
        for (const std::uint64_t addr : run.last)
            count(addr);
    else if (run.length > least_run)
        count(event.addr);
}

void activity::add_migration(const hmmrt_event& event) {
    for_each_block(event, [&](block_key key, std::size_t first, std::size_t pages) {
        if (is_device(event.to)) {
            processor_activity& to = block_at(key).processors[event.to];
            to.pages_in += pages;
            mark(to.moved, first, pages);
            if (event.cause != HMMRT_CAUSE_DEVICE_FAULT) to.evicted = false;
        }
        if (is_device(event.from)) {
            processor_activity& from = block_at(key).processors[event.from];
            from.left = true;
            if (event.cause == HMMRT_CAUSE_EVICTION) from.evicted = true;
        }
    });
}

void activity::add_advice(const hmmrt_event& event) {
    const bool known = event.reason > 0 && event.reason <= HMMRT_ADVICE_UNSET_GRANULARITY;
    if (event.error != 0 || !known) return;
    const std::uint64_t most_pages = (~event.addr) / page_bytes, // up to the address space's end
        end = event.addr + std::min<std::uint64_t>(event.pages, most_pages) * page_bytes;
    if (advised_.size() < most_advised)
        advised_.push_back({event.space, event.addr, end, event.reason});
    auto place = blocks_.lower_bound({event.space, block_of(event.addr)});
    for (; place != blocks_.end() && place->first.space == event.space && place->first.addr < end;
         ++place)
        place->second.advise(event.reason);
}

} // namespace hmmctl
