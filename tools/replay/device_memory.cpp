// SPDX-License-Identifier: MIT
#include "device_memory.hpp"

#include <algorithm>
#include <utility>

namespace replay {
namespace {

/// As PLACE_VISITS and PLACE_SMALL.
constexpr unsigned partial_visits = 32, small_pages = block_pages / 4;

bool is_free(const chunk& in, unsigned index, unsigned count) {
    if (index + count > block_pages) return false;
    for (unsigned i = index; i < index + count; i++)
        if (in.used.has(i)) return false;
    return true;
}

/// Calls @take with each run of pages, the longest first, as alloc_runs(), until it returns false.
template <class Take>
void for_each_run(const page_set& wanted, bool longest_first, Take take) {
    std::vector<std::pair<unsigned, unsigned>> runs;
    for (unsigned i = 0; i < block_pages; i++) {
        if (!wanted.has(i)) continue;
        if (!runs.empty() && runs.back().first + runs.back().second == i)
            runs.back().second++;
        else
            runs.emplace_back(i, 1);
    }
    if (longest_first && !runs.empty()) {
        const auto longest =
            std::max_element(runs.begin(), runs.end(), [](const auto& one, const auto& other) {
                return one.second < other.second;
            });
        std::rotate(runs.begin(), longest, longest + 1);
    }
    for (const auto& [first, count] : runs)
        if (!take(first, count)) return;
}

} // namespace

device_memory::device_memory(std::uint64_t bytes, std::uint64_t trace_pages)
    : chunks_(bytes / block_bytes),
      places_(chunks_.size()),
      chunk_of_(trace_pages, no_chunk),
      index_of_(trace_pages) {
    for (std::size_t i = 0; i < chunks_.size(); i++)
        places_[i].at = lists_[free_list].insert(lists_[free_list].end(), static_cast<int>(i));
}

/// Puts a chunk onto the list that it belongs to, at the front: recently used ones come first.
void device_memory::relist(int number) {
    place& at = places_[static_cast<std::size_t>(number)];
    const chunk& of = chunks_[static_cast<std::size_t>(number)];
    if (at.list != no_list) lists_[at.list].erase(at.at);
    at.list = of.reserved               ? no_list
              : of.pages == 0           ? free_list
              : of.pages == block_pages ? full_list
                                        : partial_list;
    if (at.list == no_list) return;
    lists_[at.list].push_front(number);
    at.at = lists_[at.list].begin();
}

bool device_memory::take_at(int number, int reserved, const run& wanted, std::uint64_t now) {
    chunk& to = chunks_[static_cast<std::size_t>(number)];
    if ((to.reserved && number != reserved) || !is_free(to, wanted.index, wanted.count))
        return false;
    if (to.pages == 0) to.uses = 0;
    for (unsigned i = 0; i < wanted.count; i++) {
        const std::uint64_t page = wanted.page + i;
        to.used.add(wanted.index + i);
        to.page[wanted.index + i] = static_cast<std::uint32_t>(page);
        chunk_of_[page] = number;
        index_of_[page] = static_cast<std::uint16_t>(wanted.index + i);
    }
    to.pages += wanted.count;
    used_ += wanted.count;
    const std::uint64_t left = free_pages();
    if (left < little_pages && left + wanted.count >= little_pages) shortages_++;
    to.given = given_++;
    to.order = uses_++;
    to.when = now;
    relist(number);
    return true;
}

/// Takes the first hole of a chunk, or a part of it.
int device_memory::take_first_hole(int number, int reserved, run& wanted, std::uint64_t now) {
    const chunk& of = chunks_[static_cast<std::size_t>(number)];
    run part = wanted;
    part.index = 0;
    while (part.index < block_pages && of.used.has(part.index))
        part.index++;
    for (part.count = 0; part.count < wanted.count && is_free(of, part.index, part.count + 1);)
        part.count++;
    if (part.count == 0 || !take_at(number, reserved, part, now)) return no_chunk;
    wanted = part;
    return number;
}

/// Returns where a run fits into a chunk, block_pages if nowhere.
unsigned device_memory::fit(const chunk& in, const run& wanted) const {
    if (in.pages + wanted.count > block_pages) return block_pages;
    if (is_free(in, wanted.index, wanted.count)) return wanted.index;
    if (wanted.count > small_pages) return block_pages;
    for (unsigned i = 0; i + wanted.count <= block_pages; i++)
        if (is_free(in, i, wanted.count)) return i;
    return block_pages;
}

/// Takes memory of the fullest of some chunks that are partly used.
int device_memory::take_partial(run& wanted, std::uint64_t now) {
    int found = no_chunk;
    unsigned visits = partial_visits, most = 0;
    run best = wanted;
    for (const int number : lists_[partial_list]) {
        if (visits-- == 0) break;
        const chunk& one = chunks_[static_cast<std::size_t>(number)];
        if (found != no_chunk && most >= one.pages) continue;
        const unsigned at = fit(one, wanted);
        if (at == block_pages) continue;
        found = number;
        most = one.pages;
        best.index = at;
    }
    if (found == no_chunk || !take_at(found, no_chunk, best, now)) return no_chunk;
    wanted = best;
    return found;
}

/// As vram_take(): the same order of places.
int device_memory::take_run(run& wanted, int near, int reserved, std::uint64_t now) {
    if (near != no_chunk && take_at(near, reserved, wanted, now)) return near;
    if (reserved != no_chunk && take_at(reserved, reserved, wanted, now)) return reserved;
    const std::size_t in_use = lists_[partial_list].size() + lists_[full_list].size();
    if (wanted.count < block_pages && in_use > chunks_.size() / 2)
        if (const int got = take_partial(wanted, now); got != no_chunk) return got;
    if (!lists_[free_list].empty())
        if (const int first = lists_[free_list].front(); take_at(first, reserved, wanted, now))
            return first;
    if (reserved != no_chunk)
        if (const int got = take_first_hole(reserved, reserved, wanted, now); got != no_chunk)
            return got;
    for (const int number :
         std::vector<int>(lists_[partial_list].begin(), lists_[partial_list].end()))
        if (const int got = take_first_hole(number, reserved, wanted, now); got != no_chunk)
            return got;
    return no_chunk;
}

page_set device_memory::take(std::uint64_t block, const page_set& wanted, int near, int reserved,
                             std::uint64_t now) {
    page_set got;
    for_each_run(wanted, near == no_chunk, [&](unsigned first, unsigned count) {
        for (unsigned done = 0; done < count;) {
            run next = {block * block_pages + first + done, first + done, count - done};
            const int from = take_run(next, near, reserved, now);
            if (from == no_chunk) return false;
            if (near == no_chunk) near = from;
            for (unsigned i = 0; i < next.count; i++)
                got.add(first + done + i);
            done += next.count;
        }
        return true;
    });
    return got;
}

void device_memory::free(std::uint64_t page) {
    const int number = std::exchange(chunk_of_[page], no_chunk);
    chunk& of = chunks_[static_cast<std::size_t>(number)];
    of.used.remove(index_of_[page]);
    of.pages--;
    used_--;
    if (of.pages == 0 || of.pages == block_pages - 1) relist(number);
}

void device_memory::reserve(int number, bool reserved) {
    chunks_[static_cast<std::size_t>(number)].reserved = reserved;
    relist(number);
}

void device_memory::note_use(int number, std::uint64_t now) {
    chunk& of = chunks_[static_cast<std::size_t>(number)];
    of.order = uses_++;
    of.when = now;
    of.uses++;
}

} // namespace replay
