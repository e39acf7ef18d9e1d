// SPDX-License-Identifier: MIT
#include "simulator.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace replay {
namespace {

/// As EVICTIONS_MAX of kmod/move_alloc.c.
constexpr unsigned most_evictions = 8;

hmmrt_knobs default_knobs() {
    const hmmrt_set_knobs none = {};
    hmmrt_knobs knobs = {};
    hmmrt_knobs_fill(&knobs, &none, nullptr, nullptr);
    return knobs;
}

/// Calls @part with the number of each block of a range and the pages in it.
template <class Part>
void for_each_block(std::uint64_t first, std::uint64_t count, Part part) {
    for (std::uint64_t page = first; page < first + count;) {
        const std::uint64_t number = page / block_pages;
        page_set pages;
        for (; page < first + count && page / block_pages == number; page++)
            pages.add(static_cast<unsigned>(page % block_pages));
        part(number, pages);
    }
}

/// Calls @visit with the number of each page of a set.
template <class Visit>
void for_each_page(std::uint64_t block, const page_set& pages, Visit visit) {
    for (unsigned i = 0; i < block_pages; i++)
        if (pages.has(i)) visit(block * block_pages + i);
}

} // namespace

simulator::simulator(const trace& of, policy& decides, const prices& costs,
                     std::uint64_t device_bytes)
    : policy_(decides),
      prices_(costs),
      memory_(device_bytes, of.pages),
      blocks_((of.pages + block_pages - 1) / block_pages),
      pages_(of.pages),
      absent_(of.absent) {
    machine_.pages = memory_.pages();
    machine_.chunks = &memory_.chunks();
    machine_.knobs = default_knobs();
}

void simulator::pay(double& kind, double price) {
    kind += price;
    time_ += price;
}

/// Returns the state of the device as of now. Later calls update the same object.
const machine& simulator::state() {
    machine_.now = now();
    machine_.free_pages = memory_.free_pages();
    machine_.shortages = memory_.shortages();
    machine_.lapse = hmmrt_policy_lapse(&machine_.knobs, migration_us_);
    return machine_;
}

/// Leaves out pages that don't exist.
page_set simulator::existing(std::uint64_t number, page_set pages) const {
    for (unsigned i = 0; i < block_pages; i++) {
        const std::uint64_t page = number * block_pages + i;
        if (page >= pages_ || (!absent_.empty() && absent_[page])) pages.remove(i);
    }
    return pages;
}

page_set simulator::clamped(std::uint64_t number, hmmrt_policy_window win) const {
    page_set pages;
    for (unsigned i = win.first; i < win.first + win.count; i++)
        pages.add(i);
    return existing(number, pages);
}

void simulator::run(const step& next) {
    if (next.what == step_kind::wait) wait(next.count);
    if (next.what == step_kind::unmap) forget(next.first, next.count);
    if (next.what == step_kind::prefetch_device) prefetch(next.first, next.count);
    if (next.what == step_kind::prefetch_cpu) prefetch_back(next.first, next.count);
    const bool by_device = is_device(next.what);
    if (!by_device && next.what != step_kind::cpu_read && next.what != step_kind::cpu_write) return;
    for (std::uint64_t page = next.first; page < std::uint64_t{next.first} + next.count; page++)
        if (by_device)
            device_access(page, next);
        else
            cpu_access(page);
}

// ---- accesses

/// The works of the kernel module that are due.
void simulator::catch_up() {
    if (now() >= next_release_) release_pins();
    if (now() >= next_look_) look_work();
}

/// Works run meanwhile, as often as they are due.
void simulator::wait(std::uint64_t us) {
    const double end = time_ + 1000.0 * static_cast<double>(us);
    while (true) {
        const double due = 1000.0 * static_cast<double>(std::min(next_release_, next_look_));
        if (due > end) break;
        time_ = std::max(time_, due);
        catch_up();
    }
    time_ = std::max(time_, end);
}

void simulator::device_access(std::uint64_t page, const step& by) {
    const auto index = static_cast<unsigned>(page % block_pages);
    block& at = blocks_[page / block_pages];
    catch_up();
    if (!at.mapped.has(index)) serve(page / block_pages, index, by.what == step_kind::device_write);
    at.used.add(index);
    const bool local = at.local.has(index);
    (local ? counts_.local_accesses : counts_.remote_accesses) += by.accesses;
    counts_.visits++;
    counts_.remote_visits += !local;
    pay(costs_.accesses, by.accesses * prices_.access +
                             by.lines * (local ? prices_.local_line : prices_.remote_line));
}

void simulator::cpu_access(std::uint64_t page) {
    catch_up();
    if (!memory_.has(page)) return;
    const std::uint64_t number = page / block_pages;
    block& at = blocks_[number];
    counts_.cpu_faults++;
    pay(costs_.faults, prices_.cpu_fault);
    const hmmrt_policy_window win = hmmrt_policy_host_window(
        &at.run, number > 0 ? &blocks_[number - 1].run : nullptr,
        static_cast<unsigned>(page % block_pages), &no_advice, &machine_.knobs);
    move_back(number, clamped(number, win));
    const hmmrt_policy_pace pace = state().pace();
    hmmrt_policy_moved(&at.thrashing, win, HMMRT_POLICY_LOCATION_HOST, &pace);
}

/// As hmmrt_fault_attempt() and its repetitions.
void simulator::serve(std::uint64_t number, unsigned page, bool write) {
    block& at = blocks_[number];
    counts_.faults++;
    pay(costs_.faults, prices_.fault);
    at.faults++;
    fault of = {at, state(), page, write};
    count_neighbours(of, number);
    const thrash_answer answer = policy_.thrash(of);
    counts_.naps += answer.nap > 0;
    wait(answer.nap);
    state();
    of.thrashes = answer.stays;
    if (answer.stays) note_pin(number);
    page_set pages;
    bool is_left = false;
    if (policy_.resides(of) == residency::moves)
        is_left = !move_faulted(of, number, pages);
    else
        pages = window_of(of, number);
    map(number, is_left || answer.stays ? clamped(number, {0, block_pages}) : pages);
    // What a look left of a block stays again, like a block that waited before.
    if (at.bypass.until == 0 && (is_left || at.bypass.wait > 0) && !at.remote().is_empty())
        stays(number);
}

/// Moves the window, with evictions if the policy wants them. Returns false if the block stays.
bool simulator::move_faulted(fault& of, std::uint64_t number, page_set& pages) {
    int reserved = no_chunk;
    unsigned evictions = 0;
    bool partly = false;
    const std::uint64_t before = counts_.pages_in;
    while (pages = window_of(of, number), !move_in(number, pages, reserved, partly)) {
        release(reserved);
        state();
        const when_full answer = policy_.full(of);
        if (answer == when_full::stays) return false;
        partly = answer == when_full::takes_rest || evictions++ == most_evictions;
        if (partly) continue;
        age();
        reserved = victim(never);
        partly = reserved == no_chunk;
        if (!partly) evict(reserved);
    }
    release(reserved);
    if (counts_.pages_in > before) note_moved_in(number, pages);
    return true;
}

/// Evictions may have changed them since the last attempt.
void simulator::count_neighbours(fault& of, std::uint64_t number) const {
    of.before = number > 0 ? blocks_[number - 1].mapped.count() : 0;
    of.after = number + 1 < blocks_.size() ? blocks_[number + 1].mapped.count() : 0;
}

page_set simulator::window_of(fault& of, std::uint64_t number) {
    count_neighbours(of, number);
    const hmmrt_policy_window win = policy_.window(of);
    if (win.first > of.page || win.first + win.count <= of.page ||
        win.first + win.count > block_pages)
        throw hmmctl::failure(
            fmt::format("the policy's window() returned pages {} + {} for a fault "
                        "on page {}, expected pages below {} with that one",
                        win.first, win.count, of.page, block_pages));
    return clamped(number, win);
}

// ---- entries

void simulator::map(std::uint64_t number, const page_set& pages) {
    block& at = blocks_[number];
    std::uint64_t remote = 0;
    for_each_page(number, pages, [&](std::uint64_t page) {
        const auto index = static_cast<unsigned>(page % block_pages);
        if (memory_.has(page))
            at.local.add(index);
        else
            remote += !at.mapped.has(index);
        at.mapped.add(index);
    });
    counts_.pages_remote += remote;
    pay(costs_.faults, static_cast<double>(remote) * prices_.remote_page);
}

/// As map_zap() of kmod/space_invalidate.c.
void simulator::unmap(std::uint64_t number, page_set pages) {
    block& at = blocks_[number];
    if ((at.mapped & pages).is_empty()) return;
    at.mapped = at.mapped - pages;
    at.local = at.local - pages;
    at.used = at.used - pages;
    if (!at.mapped.is_empty()) return;
    at.faults = 0;
    hmmrt_policy_bypass_end(&at.bypass);
}

void simulator::note_pin(std::uint64_t number) {
    const block& at = blocks_[number];
    if (std::find(pinned_.begin(), pinned_.end(), number) != pinned_.end()) return;
    counts_.pins++;
    pinned_.push_back(number);
    for (const std::uint64_t until : {at.refaults.pinned_until, at.thrashing.pinned_until})
        if (until > 0) next_release_ = std::min<std::uint64_t>(next_release_, until);
}

/// As block_release_pins() of kmod/decide_thrash.c: the next touch decides again.
void simulator::release_pins() {
    next_release_ = never;
    for (const std::uint64_t number : std::exchange(pinned_, {})) {
        block& at = blocks_[number];
        const std::uint64_t until =
            std::max<std::uint64_t>(at.refaults.pinned_until, at.thrashing.pinned_until);
        if (until > now()) {
            pinned_.push_back(number);
            next_release_ = std::min(next_release_, until);
            continue;
        }
        if (until == 0) continue; // its memory went
        unmap(number, at.mapped);
        hmmrt_policy_forget(&at.thrashing);
        at.refaults = {};
    }
}

// ---- moves

/// Moves pages to the device, or only as many as there is memory for. Returns false if there isn't
/// enough, and then moves nothing.
bool simulator::move_in(std::uint64_t number, const page_set& pages, int reserved, bool partly) {
    page_set wanted;
    int near = no_chunk;
    for_each_page(number, pages, [&](std::uint64_t page) {
        if (memory_.has(page))
            near = memory_.chunk_of(page);
        else
            wanted.add(static_cast<unsigned>(page % block_pages));
    });
    const page_set got = memory_.take(number, wanted, near, reserved, now());
    if (got.count() < wanted.count() && !partly) {
        for_each_page(number, got, [&](std::uint64_t page) { memory_.free(page); });
        return false;
    }
    const double price = got.count() * prices_.page_in;
    pay(costs_.moves, price);
    counts_.pages_in += got.count();
    unmap(number, got);
    if (got.is_empty()) return true;
    migration_us_ = hmmrt_policy_average(migration_us_, static_cast<std::uint64_t>(price / 1000));
    return true;
}

/// As note_move() of kmod/decide_thrash.c. A prefetch doesn't count.
void simulator::note_moved_in(std::uint64_t number, const page_set& pages) {
    const hmmrt_policy_pace pace = state().pace();
    unsigned first = 0, end = block_pages;
    while (!pages.has(first))
        first++;
    while (!pages.has(end - 1))
        end--;
    hmmrt_policy_moved(&blocks_[number].thrashing, {first, end - first},
                       HMMRT_POLICY_LOCATION_DEVICE(0), &pace);
}

bool simulator::is_pinned(const block& at) const {
    return at.refaults.pinned_until > 0 || at.thrashing.pinned_until > 0;
}

/// What a pin left in system memory loses its entries, so that the next touch decides.
void simulator::end_pin(std::uint64_t number) {
    block& at = blocks_[number];
    if (is_pinned(at)) unmap(number, at.mapped);
    at.thrashing = {};
    at.refaults = {};
}

/// Moves pages to system memory, where the CPU or the program wants them.
void simulator::move_back(std::uint64_t number, const page_set& pages) {
    page_set gone;
    for_each_page(number, pages, [&](std::uint64_t page) {
        if (!memory_.has(page)) return;
        memory_.free(page);
        gone.add(static_cast<unsigned>(page % block_pages));
    });
    const double price = gone.count() * prices_.page_out;
    pay(costs_.moves, price);
    counts_.pages_out += gone.count();
    unmap(number, gone);
    if (!gone.is_empty())
        migration_us_ =
            hmmrt_policy_average(migration_us_, static_cast<std::uint64_t>(price / 1000));
}

/// Asks the policy for a chunk that was last allocated from before @given_before.
int simulator::victim(std::uint64_t given_before) {
    std::vector<int> candidates;
    for (std::size_t i = 0; i < memory_.chunks().size(); i++) {
        const chunk& one = memory_.chunks()[i];
        if (one.pages > 0 && !one.reserved && one.given < given_before)
            candidates.push_back(static_cast<int>(i));
    }
    if (candidates.empty()) return no_chunk;
    const int chosen = policy_.victim(state(), candidates);
    if (std::find(candidates.begin(), candidates.end(), chosen) == candidates.end())
        throw hmmctl::failure(
            fmt::format("the policy's victim() returned {}, which is no candidate", chosen));
    return chosen;
}

/// Evicts a chunk, and reserves it. As block_evicted(), takes all entries that a block has in
/// device memory at the first of its pages.
void simulator::evict(int number) {
    memory_.reserve(number, true);
    const chunk before = memory_.chunks()[static_cast<std::size_t>(number)];
    std::vector<std::uint64_t> pages;
    for (unsigned i = 0; i < block_pages; i++)
        if (before.used.has(i)) pages.push_back(before.page[i]);
    std::sort(pages.begin(), pages.end());
    pay(costs_.moves, prices_.eviction + static_cast<double>(pages.size()) * prices_.page_out);
    counts_.evictions++;
    counts_.pages_out += pages.size();
    for (std::size_t i = 0; i < pages.size();) {
        const std::uint64_t from = pages[i] / block_pages;
        block& at = blocks_[from];
        unmap(from, at.local);
        for (; i < pages.size() && pages[i] / block_pages == from; i++) {
            memory_.free(pages[i]);
            machine_.evicted++;
        }
        if (!at.refaults.away) hmmrt_policy_bypass_evicted(&at.bypass);
        hmmrt_policy_evicted(&at.refaults, machine_.evicted, now());
    }
}

void simulator::release(int& reserved) {
    if (reserved != no_chunk) memory_.reserve(reserved, false);
    reserved = no_chunk;
}

// ---- what the program asks for

/// All that is known of memory goes with it.
void simulator::forget(std::uint64_t page, std::uint64_t count) {
    for_each_block(page, count, [&](std::uint64_t number, const page_set& pages) {
        block& at = blocks_[number];
        for_each_page(number, pages, [&](std::uint64_t one) {
            if (memory_.has(one)) memory_.free(one);
        });
        unmap(number, pages);
        end_pin(number);
        hmmrt_policy_bypass_forget(&at.bypass);
        at.run = {};
        at.note = 0;
    });
}

/// As hmmrt_ioc_prefetch(): evicts, but no pages that it has moved itself.
void simulator::prefetch(std::uint64_t page, std::uint64_t count) {
    const std::uint64_t given = memory_.next_given();
    for_each_block(page, count, [&](std::uint64_t number, const page_set& pages) {
        prefetch_block(number, existing(number, pages), given);
    });
}

void simulator::prefetch_block(std::uint64_t number, const page_set& pages, std::uint64_t given) {
    int reserved = no_chunk;
    unsigned evictions = 0;
    end_pin(number);
    while (!move_in(number, pages, reserved, evictions > most_evictions)) {
        release(reserved);
        age();
        reserved = victim(given);
        evictions = reserved == no_chunk ? most_evictions + 1 : evictions + 1;
        if (reserved != no_chunk) evict(reserved);
    }
    release(reserved);
    map(number, pages);
}

void simulator::prefetch_back(std::uint64_t page, std::uint64_t count) {
    for_each_block(page, count, [&](std::uint64_t number, const page_set& pages) {
        end_pin(number);
        move_back(number, pages);
    });
}

outcome simulate(const trace& of, policy& decides, const prices& costs,
                 std::uint64_t device_bytes) {
    simulator machine(of, decides, costs, device_bytes);
    for (const step& next : of.steps)
        machine.run(next);
    return {machine.counted(), machine.cost()};
}

} // namespace replay
