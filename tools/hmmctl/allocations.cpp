// SPDX-License-Identifier: MIT
#include "allocations.hpp"

#include <algorithm>
#include <initializer_list>

namespace hmmctl {

void allocation_history::add(std::span<const allocation_record> records) {
    pending_.insert(pending_.end(), records.begin(), records.end());
}

void allocation_history::advance(std::uint64_t time) {
    for (; !pending_.empty() && pending_.front().time <= time; pending_.pop_front())
        apply(pending_.front());
}

void allocation_history::apply(const allocation_record& record) {
    memory& of = processes_[record.pid];
    // programs may write any record, so avoid an overflow
    const std::uint64_t end = record.addr + std::min(record.bytes, ~record.addr);
    switch (record.kind) {
    case allocation_kind::program:
        of = {};
        return;
    case allocation_kind::fork:
        return fork(static_cast<pid_t>(record.addr), record.pid);
    case allocation_kind::freed:
        return of.blocks.erase_that_begins_at(record.addr);
    case allocation_kind::unmapped:
        return of.mappings.erase(record.addr, end);
    case allocation_kind::allocated:
    case allocation_kind::mapped: {
        const stack_id id = id_of(record);
        const bool block = record.kind == allocation_kind::allocated;
        (block ? of.blocks : of.mappings).assign(record.addr, end, id);
        return count(record.pid, id, end - record.addr);
    }
    case allocation_kind::none:
        return;
    }
}

void allocation_history::fork(pid_t parent, pid_t child) {
    const auto from = processes_.find(parent);
    if (from == processes_.end() || parent == child) return;
    const memory& copy = processes_[child] = from->second;
    for (const auto* const map : {&copy.blocks, &copy.mappings})
        for (const auto& [begin, range] : map->all())
            count(child, range.value, range.end - begin);
}

stack_id allocation_history::id_of(const allocation_record& record) {
    call_stack stack;
    std::copy(std::begin(record.frames), std::end(record.frames), stack.begin());
    if (stack.front() == 0) return 0;
    const auto known = ids_.find(stack);
    if (known != ids_.end()) return known->second;
    if (stacks_.size() == most_stacks) return 0;
    stacks_.push_back(stack);
    const auto id = static_cast<stack_id>(stacks_.size());
    ids_.emplace(stack, id);
    return id;
}

void allocation_history::count(pid_t pid, stack_id id, std::uint64_t bytes) {
    allocation_sums& sums = sums_[{pid, id}];
    sums.count++;
    sums.bytes += bytes;
}

stack_id allocation_history::at(pid_t pid, std::uint64_t addr, std::uint32_t page_size) const {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return 0;
    const memory& of = found->second;
    if (const stack_id* const block = of.blocks.at_or_in_page(addr, page_size)) return *block;
    const stack_id* const mapping = of.mappings.at(addr);
    return mapping ? *mapping : 0;
}

allocation_sums allocation_history::sums_of(pid_t pid, stack_id id) const {
    const auto found = sums_.find({pid, id});
    return found == sums_.end() ? allocation_sums() : found->second;
}

} // namespace hmmctl
