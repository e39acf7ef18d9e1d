// SPDX-License-Identifier: MIT
// A program that needs advice; see advised.hpp.
#include "advised.hpp"

#include <hmm/hmm.hpp>

#include <cstdio>
#include <cstring>
#include <iterator>
#include <regex>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace {

using memory = std::span<unsigned char>;

constexpr std::size_t page = 4096;
constexpr unsigned rounds = 10;

// --- calls of a profile

struct suggested {
    void* at;
    std::size_t bytes;
    std::string advice; ///< "" for a prefetch
    int location;

    bool is_for_the_end() const { return advice.empty() && location == hmmCpuDeviceId; }
};

suggested parse(const std::string& text) {
    static const std::regex form(
        R"((?:hmmMemAdvise|hmmMemPrefetchAsync)\(reinterpret_cast<void\*>\(0x([0-9a-f]+)\), (\d+), )"
        R"((?:(hmmMemAdvise\w+), )?(hmmCpuDeviceId|\d+)\);)");
    std::smatch parts;
    if (!std::regex_match(text, parts, form)) throw std::invalid_argument("no call: " + text);
    const std::uint64_t at = std::stoull(parts[1], nullptr, 16);
    const int location = parts[4] == "hmmCpuDeviceId" ? hmmCpuDeviceId : std::stoi(parts[4]);
    return {reinterpret_cast<void*>(at), std::stoul(parts[2]), parts[3], location};
}

hmmMemoryAdvise advice_of(const std::string& name) {
    if (name == "hmmMemAdviseSetReadMostly") return hmmMemAdviseSetReadMostly;
    if (name == "hmmMemAdviseSetPreferredLocation") return hmmMemAdviseSetPreferredLocation;
    if (name == "hmmMemAdviseSetAccessedBy") return hmmMemAdviseSetAccessedBy;
    throw std::invalid_argument("no advice: " + name);
}

void make(const suggested& call) {
    if (call.advice.empty())
        hmm::check(hmmMemPrefetchAsync(call.at, call.bytes, call.location), "prefetch");
    else
        hmm::check(hmmMemAdvise(call.at, call.bytes, advice_of(call.advice), call.location),
                   "advise");
    hmm::synchronize();
}

/// A prefetch to the CPU belongs after the launches, everything else before them.
void make_those(const std::vector<suggested>& calls, bool for_the_end) {
    for (const suggested& call : calls)
        if (call.is_for_the_end() == for_the_end) make(call);
}

// --- work

/// Touches a byte of each page.
void read_pages(memory all) {
    const volatile unsigned char* const bytes = all.data();
    for (std::size_t at = 0; at < all.size(); at += page)
        bytes[at];
}

void write_pages(memory all) {
    volatile unsigned char* const bytes = all.data();
    for (std::size_t at = 0; at < all.size(); at += page)
        bytes[at] = 2;
}

/// Calls f() in a single lane, so that faults occur in the order of accesses.
template <class Function>
void on_device(int number, Function f) {
    const hmm::scoped_device on(hmm::device{number});
    hmm::launch(1, [f](std::size_t) { f(); });
    hmm::synchronize();
}

void write_on(int device, memory all) {
    on_device(device, [all] { write_pages(all); });
}

void read_on(int device, memory all) {
    on_device(device, [all] { read_pages(all); });
}

/// Prevents that the manager pins thrashing pages before a profile of this short run shows them.
void let_it_thrash() {
    hmm::knob("thrashing_enable").set(0);
    hmm::knob("thrashing_threshold").set(255);
}

void share_with_the_cpu(memory all) {
    let_it_thrash();
    for (unsigned i = 0; i < rounds; i++) {
        write_on(0, all);
        write_pages(all);
    }
}

void share_between_devices(memory all) {
    let_it_thrash();
    for (unsigned i = 0; i < rounds; i++) {
        write_on(0, all);
        write_on(1, all);
    }
}

void read_everywhere(memory all) {
    let_it_thrash();
    for (unsigned i = 0; i < rounds; i++) {
        read_on(0, all);
        read_on(1, all);
        read_pages(all);
    }
}

/// Only the loads fault.
void read_and_write(memory all) {
    read_pages(all);
    write_pages(all);
}

void write_behind_loads(memory all) {
    let_it_thrash();
    for (unsigned i = 0; i < rounds; i++) {
        on_device(0, [all] { read_and_write(all); });
        read_and_write(all);
    }
}

void sweep(memory all) {
    write_on(0, all);
}

/// The device has memory for 5 of the 8 blocks. The second half has more faults, because each fault
/// moves less memory.
void exceed_the_device(memory all) {
    let_it_thrash();
    hmm::set_granularity(all.last(all.size() / 2), 16 * page);
    hmm::quota(hmm::device(0)).set(5 * advised_block + advised_block / 2, hmmQuotaPriorityDefault);
    const hmm::knob eviction("oversubscription");
    eviction.set(1, hmm::device(0)); // HMMRT_OVERSUBSCRIBE_ALWAYS
    for (unsigned i = 0; i < rounds; i++)
        write_on(0, all);
    eviction.reset(hmm::device(0));
}

void nothing(memory) {}
void read_back(memory all) {
    read_pages(all);
}

constexpr struct {
    const char* name;
    std::size_t bytes;
    void (*work)(memory);
    void (*end)(memory); ///< on the CPU, after the calls that belong at the end
} cases[] = {
    {"ping_pong", 16 * page, share_with_the_cpu, nothing},
    {"ping_pong_between_devices", 16 * page, share_between_devices, nothing},
    {"read_by_several", 16 * page, read_everywhere, nothing},
    {"written_behind_loads", 16 * page, write_behind_loads, nothing},
    {"sequential_faults", 12 * advised_block, sweep, read_back},
    {"oversubscription", 8 * advised_block, exceed_the_device, nothing},
};

/// Single pages, which the CPU has written.
memory written_memory(std::size_t bytes) {
    void* const wish = reinterpret_cast<void*>(advised_memory);
    void* const at = mmap(wish, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != wish || madvise(at, bytes, MADV_NOHUGEPAGE) != 0)
        throw std::runtime_error("no memory at the address of the test");
    std::memset(at, 1, bytes);
    return {static_cast<unsigned char*>(at), bytes};
}

} // namespace

int main(int argc, char** argv) try {
    const std::string wanted = argc > 1 ? argv[1] : "";
    std::vector<suggested> calls;
    for (int i = 2; i < argc; i++)
        calls.push_back(parse(argv[i]));
    for (const auto& [name, bytes, work, end] : cases) {
        if (wanted != name) continue;
        const memory all = written_memory(bytes);
        hmm::name(all, advised_name);
        make_those(calls, false);
        work(all);
        make_those(calls, true);
        end(all);
        return 0;
    }
    throw std::invalid_argument("no case: " + wanted);
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
