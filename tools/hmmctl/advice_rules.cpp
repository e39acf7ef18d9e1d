// SPDX-License-Identifier: MIT
#include "advice_rules.hpp"

#include "event_names.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hmmctl {
namespace {

constexpr std::uint32_t cpu = HMMRT_LOCATION_HOST;

using block = activity::blocks::value_type;

/// A rule's result for one block.
struct finding {
    advice_kind kind;
    call_to_make call;
    std::optional<call_to_make> other;
    std::uint64_t saved = 0;
};

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

bool was_given(const block_activity& what, hmmrt_advice_kind kind) {
    return (what.advice & 1ull << kind) != 0;
}

std::uint64_t faults_of(const block_activity& what, std::uint32_t processor) {
    const processor_activity* found = what.of(processor);
    return found ? found->faults : 0;
}

/// Returns the device with the most faults, HMMRT_LOCATION_NONE if no device faulted.
std::uint32_t busiest_device(const block_activity& what) {
    std::uint32_t found = HMMRT_LOCATION_NONE;
    for (const auto& [id, of] : what.processors)
        if (is_device(id) && of.faults > faults_of(what, found)) found = id;
    return found;
}

/// Returns the number of faults that would remain if no page left a device again.
std::uint64_t first_faults(const block_activity& what) {
    std::uint64_t sum = 0;
    for (const auto& [id, of] : what.processors)
        if (is_device(id)) sum += of.first_faults;
    return sum;
}

std::uint64_t all_faults(const block_activity& what) {
    std::uint64_t sum = 0;
    for (const auto& [id, of] : what.processors)
        sum += of.faults;
    return sum;
}

/// Do pages go from one processor to another and back?
bool is_shared(const block_activity& what) {
    page_set moved;
    std::uint64_t pages = 0;
    for (const auto& [id, of] : what.processors) {
        moved |= of.moved;
        pages += of.pages_in;
    }
    return what.turns >= least_turns && pages != 0 &&
           pages >= least_moves_of_a_page * moved.count();
}

/// Returns the call that keeps a block in one place. We choose system memory, which all processors
/// can access: the CPU can't access device memory, and another device only can as a peer.
std::optional<call_to_make> stay(const block_activity& what) {
    if (was_given(what, HMMRT_ADVICE_SET_PREFERRED_LOCATION)) return std::nullopt;
    return call_to_make{advised_call::preferred_location, cpu};
}

/// Only considers write faults. A processor that has loaded from a page can store to it without a
/// fault, so the block may be written nevertheless.
std::optional<finding> read_by_several(const block_activity& what) {
    if (!is_shared(what) || was_given(what, HMMRT_ADVICE_SET_READ_MOSTLY)) return std::nullopt;
    for (const auto& [id, of] : what.processors)
        if (of.writes != 0) return std::nullopt;
    return finding{advice_kind::read_by_several,
                   {advised_call::read_mostly, cpu},
                   stay(what),
                   all_faults(what) - first_faults(what)};
}

std::optional<finding> ping_pong(const block_activity& what) {
    const std::optional<call_to_make> call = stay(what);
    const std::uint32_t device = busiest_device(what);
    if (!is_shared(what) || !call || !is_device(device)) return std::nullopt;
    finding found = {advice_kind::ping_pong, *call, std::nullopt,
                     all_faults(what) - first_faults(what)};
    const processor_activity* host = what.of(cpu);
    if (!host || host->faults == 0) return found;
    const page_set& pages = what.of(device)->moved;
    if (share(host->touched.count(), pages.count()) <= few_pages_share)
        found.other = {advised_call::accessed_by, device};
    return found;
}

/// Returns advice to prefetch to a processor that faults in order, or waits more than it copies.
std::optional<finding> prefetch(std::uint32_t to, const processor_activity& of) {
    if (of.faults == 0) return std::nullopt;
    const call_to_make call = {advised_call::prefetch, to};
    if (is_device(to) && of.pages_in == 0) return std::nullopt; // the pages don't migrate
    if (share(of.sequential, of.faults) >= sequential_share)
        return finding{advice_kind::sequential_faults, call, std::nullopt, of.faults};
    const page_set& pages = is_device(to) ? of.moved : of.touched;
    std::size_t first = block_pages, last = 0;
    for (std::size_t page = 0; page < block_pages; page++) {
        if (!pages.test(page)) continue;
        first = std::min(first, page);
        last = page;
    }
    const std::uint64_t waited = of.nanoseconds - std::min(of.copy_nanoseconds, of.nanoseconds);
    if (share(waited, of.nanoseconds) < latency_share || pages.none() ||
        share(pages.count(), last - first + 1) < dense_share)
        return std::nullopt;
    return finding{advice_kind::fault_latency, call, std::nullopt, of.faults};
}

/// A block that a device lost and fetched again.
struct evicted_block {
    const block* which;
    std::uint64_t faults, bytes;
};

/// Returns the blocks to leave in system memory so that the others fit, each with its device. We
/// choose those with the fewest faults, as many as exceed the device's memory. If its size is
/// unknown, or if everything should fit because other processes use its memory, we choose half of
/// the blocks that the device fetches again.
std::map<block_key, std::uint32_t> cold_blocks(const activity::blocks& blocks,
                                               const memory_sizes& memory) {
    std::map<std::uint32_t, std::vector<evicted_block>> evicted;
    std::map<std::uint32_t, std::uint64_t> used;
    for (const block& one : blocks)
        for (const auto& [id, of] : one.second.processors) {
            const std::uint64_t bytes = of.moved.count() * page_bytes;
            used[id] += bytes;
            if (is_device(id) && of.returns >= least_returns &&
                !was_given(one.second, HMMRT_ADVICE_SET_PREFERRED_LOCATION))
                evicted[id].push_back({&one, of.faults, bytes});
        }
    std::map<block_key, std::uint32_t> cold;
    for (auto& [id, found] : evicted) {
        std::stable_sort(
            found.begin(), found.end(),
            [](const evicted_block& a, const evicted_block& b) { return a.faults < b.faults; });
        const auto size = memory.find(id);
        const bool is_too_small = size != memory.end() && used[id] > size->second;
        const std::uint64_t excess = is_too_small ? used[id] - size->second : 0;
        std::uint64_t freed = 0;
        for (std::size_t i = 0; i < found.size(); i++) {
            if (is_too_small ? freed >= excess : i >= (found.size() + 1) / 2) break;
            cold.emplace(found[i].which->first, id);
            freed += found[i].bytes;
        }
    }
    return cold;
}

/// Returns what to do about one block: one way to share it, or a prefetch for each processor.
std::vector<finding> findings_for(const block& one, std::optional<std::uint32_t> cold_on) {
    const block_activity& what = one.second;
    if (auto found = read_by_several(what)) return {*found};
    if (auto found = ping_pong(what)) return {*found};
    if (cold_on) {
        const processor_activity& of = *what.of(*cold_on);
        return {{advice_kind::oversubscription,
                 {advised_call::preferred_location, cpu},
                 call_to_make{advised_call::accessed_by, *cold_on},
                 of.faults - of.first_faults}};
    }
    std::vector<finding> found;
    for (const auto& [id, of] : what.processors)
        if (of.returns < least_returns)
            if (auto one_more = prefetch(id, of)) found.push_back(*one_more);
    return found;
}

/// Returns a block's pages that were used, or that moved for that reason.
page_set pages_of(const block_activity& what) {
    page_set pages;
    for (const auto& [id, of] : what.processors)
        pages |= of.touched | of.moved;
    return pages;
}

/// Merges findings about adjacent blocks.
class range {
  public:
    range(const block& first, const finding& found) {
        result_.kind = found.kind;
        result_.call = found.call;
        result_.other = found.other;
        result_.space = first.first.space;
        result_.addr = ~std::uint64_t{0};
        add(first, found);
    }

    bool takes(block_key key) const {
        return result_.space == key.space && key.addr == next_block_;
    }

    void add(const block& one, const finding& found) {
        const page_set pages = pages_of(one.second);
        for (std::size_t page = 0; page < block_pages; page++) {
            if (!pages.test(page)) continue;
            const std::uint64_t addr = one.first.addr + page * page_bytes;
            result_.addr = std::min(result_.addr, addr);
            result_.bytes = addr + page_bytes - result_.addr;
        }
        for (const auto& [id, of] : one.second.processors)
            if (of.faults != 0) result_.faults[id] += of.faults;
        for (const auto& [ip, faults] : one.second.code)
            code_[ip] += faults;
        for (const auto& [ip, faults] : one.second.cpu_code)
            cpu_code_[ip] += faults;
        result_.saved_faults += found.saved;
        next_block_ = one.first.addr + block_bytes;
    }

    advice result() const {
        advice made = result_;
        made.ip = hottest(code_);
        made.cpu_ip = hottest(cpu_code_);
        return made;
    }

  private:
    /// Keyed by instruction.
    using faults_of_code = std::map<std::uint64_t, std::uint64_t>;

    static std::uint64_t hottest(const faults_of_code& code) {
        std::uint64_t most = 0, found = 0;
        for (const auto& [ip, faults] : code)
            if (faults > most) {
                most = faults;
                found = ip;
            }
        return found;
    }

    advice result_;
    faults_of_code code_, cpu_code_;
    std::uint64_t next_block_ = 0;
};

} // namespace

std::vector<advice> advice_for(const activity::blocks& blocks, const memory_sizes& memory) {
    const std::map<block_key, std::uint32_t> cold = cold_blocks(blocks, memory);
    using same = std::tuple<advice_kind, call_to_make, std::optional<call_to_make>>;
    std::map<same, std::vector<range>> ranges;
    for (const block& one : blocks) {
        const auto found = cold.find(one.first);
        const auto cold_on =
            found == cold.end() ? std::nullopt : std::optional<std::uint32_t>(found->second);
        for (const finding& says : findings_for(one, cold_on)) {
            std::vector<range>& of_this = ranges[{says.kind, says.call, says.other}];
            if (!of_this.empty() && of_this.back().takes(one.first))
                of_this.back().add(one, says);
            else
                of_this.emplace_back(one, says);
        }
    }
    std::vector<advice> all;
    for (const auto& [key, of_this] : ranges)
        for (const range& one : of_this)
            if (advice made = one.result(); made.saved_faults >= least_saved_faults)
                all.push_back(std::move(made));
    std::stable_sort(all.begin(), all.end(), [](const advice& a, const advice& b) {
        return a.saved_faults > b.saved_faults;
    });
    return all;
}

} // namespace hmmctl
