// SPDX-License-Identifier: MIT
// Which advice hmmctl derives from events, and which it doesn't.
#include "hmmctl_report.hpp"

#include "advice_text.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

using namespace hmmctl;

namespace {

constexpr std::uint64_t first_block = 0x7f0000000000;
constexpr std::uint32_t cpu = HMMRT_LOCATION_HOST;

using events = std::vector<hmmrt_event>;

/// Pages that a processor fetches from another one, and its fault.
void fetch(events& all, std::uint32_t from, std::uint32_t to, std::uint64_t addr,
           std::uint64_t pages, unsigned access = HMMRT_ACCESS_READ) {
    const hmmrt_cause cause = to == cpu ? HMMRT_CAUSE_CPU_FAULT : HMMRT_CAUSE_DEVICE_FAULT;
    all.push_back(migration(from, to, pages, 0, cause));
    all.back().addr = addr;
    if (to == cpu) {
        all.push_back(event_of(HMMRT_EVENT_CPU_FAULT));
        all.back().from = from;
        all.back().to = cpu;
        all.back().addr = addr;
        all.back().pages = pages;
        all.back().duration = all.back().phase[HMMRT_PHASE_COPY] = 100;
        all.back().ip = 0x402000;
    } else {
        all.push_back(device_fault(to, addr, 0x401000));
    }
    all.back().access = static_cast<__u16>(access);
}

void evict(events& all, std::uint32_t device, std::uint64_t addr, std::uint64_t pages) {
    all.push_back(migration(device, cpu, pages, 0, HMMRT_CAUSE_EVICTION));
    all.back().addr = addr;
}

/// A block goes to a device and back to the CPU again and again.
events back_and_forth(unsigned rounds, unsigned access, std::uint64_t addr = first_block) {
    events all;
    for (unsigned i = 0; i < rounds; i++) {
        fetch(all, cpu, 0, addr, 16, access);
        fetch(all, 0, cpu, addr, 16, access);
    }
    return all;
}

/// Advice for the first pages of the first block.
hmmrt_event given_advice(hmmrt_advice_kind kind) {
    hmmrt_event given = event_of(HMMRT_EVENT_ADVISE);
    given.reason = static_cast<__u16>(kind);
    given.addr = first_block;
    given.pages = 16;
    return given;
}

void append(events& to, const events& more) {
    to.insert(to.end(), more.begin(), more.end());
}

std::vector<advice> advice_about(const events& all, const memory_sizes& memory = {}) {
    summary sums;
    sums.add(all);
    return advice_for(sums.by_block(), memory);
}

/// Expects one piece of advice.
advice only(const std::vector<advice>& found) {
    EXPECT_EQ(found.size(), 1u);
    return found.size() == 1 ? found[0] : advice();
}

std::ptrdiff_t count_of(advice_kind kind, const std::vector<advice>& found) {
    return std::count_if(found.begin(), found.end(),
                         [&](const advice& one) { return one.kind == kind; });
}

// --- memory that moves between processors

TEST(HmmctlAdvice, KeepsWhatPingPongsWithTheCpuInSystemMemory) {
    const advice found = only(advice_about(back_and_forth(10, HMMRT_ACCESS_WRITE)));
    EXPECT_EQ(found.kind, advice_kind::ping_pong);
    EXPECT_EQ(found.call, (call_to_make{advised_call::preferred_location, cpu}));
    EXPECT_EQ(found.space, tested_space);
    EXPECT_EQ(found.addr, first_block);
    EXPECT_EQ(found.bytes, 16 * page_bytes);
    EXPECT_EQ(found.faults, (std::map<std::uint32_t, std::uint64_t>{{0, 10}, {cpu, 10}}));
    EXPECT_EQ(found.saved_faults, 19u) << "the device maps it with its first fault";
    EXPECT_EQ(found.ip, 0x401000u);
    EXPECT_EQ(found.cpu_ip, 0x402000u);
}

TEST(HmmctlAdvice, OffersAccessedByIfTheCpuUsesFewOfThePages) {
    const advice few = only(advice_about(back_and_forth(10, HMMRT_ACCESS_WRITE)));
    EXPECT_EQ(few.other, (call_to_make{advised_call::accessed_by, 0}));

    events many = back_and_forth(10, HMMRT_ACCESS_WRITE);
    for (std::uint64_t number = 1; number < 3; number++) { // 3 of 16 pages
        fetch(many, cpu, 0, first_block, 16, HMMRT_ACCESS_WRITE);
        fetch(many, 0, cpu, first_block + number * page_bytes, 1, HMMRT_ACCESS_WRITE);
    }
    EXPECT_EQ(only(advice_about(many)).other, std::nullopt);
}

TEST(HmmctlAdvice, KeepsWhatPingPongsBetweenDevicesWhereBothReachIt) {
    events all;
    for (unsigned i = 0; i < 10; i++) {
        fetch(all, i == 0 ? cpu : 1, 0, first_block, 16, HMMRT_ACCESS_WRITE);
        fetch(all, 0, 1, first_block, 16, HMMRT_ACCESS_WRITE);
    }
    const advice found = only(advice_about(all));
    EXPECT_EQ(found.kind, advice_kind::ping_pong);
    EXPECT_EQ(found.call, (call_to_make{advised_call::preferred_location, cpu}));
    EXPECT_EQ(found.other, std::nullopt);
    EXPECT_EQ(found.saved_faults, 18u);
}

TEST(HmmctlAdvice, DoesNotCallOneRoundTripOrAPipelinePingPong) {
    EXPECT_EQ(count_of(advice_kind::ping_pong, advice_about(back_and_forth(2, HMMRT_ACCESS_WRITE))),
              0);
    events all; // each page goes to the device and back once
    for (std::uint64_t number = 0; number < 32; number++) {
        fetch(all, cpu, 0, first_block + number * page_bytes, 1, HMMRT_ACCESS_WRITE);
        fetch(all, 0, cpu, first_block + number * page_bytes, 1, HMMRT_ACCESS_WRITE);
    }
    for (const advice& one : advice_about(all))
        EXPECT_EQ(one.kind, advice_kind::sequential_faults);
}

TEST(HmmctlAdvice, DuplicatesWhatIsOnlyRead) {
    events all;
    for (unsigned i = 0; i < 10; i++) {
        fetch(all, i == 0 ? cpu : 1, 0, first_block, 16);
        fetch(all, 0, 1, first_block, 16);
    }
    const advice found = only(advice_about(all));
    EXPECT_EQ(found.kind, advice_kind::read_by_several);
    EXPECT_EQ(found.call.call, advised_call::read_mostly);
    EXPECT_EQ(found.saved_faults, 18u) << "each device gets its duplicate with a fault";

    all.back().access = HMMRT_ACCESS_WRITE;
    EXPECT_EQ(only(advice_about(all)).kind, advice_kind::ping_pong) << "one write is enough";
}

TEST(HmmctlAdvice, OffersToKeepWhatIsReadInOnePlaceAsItMayBeWritten) {
    const events all = back_and_forth(10, HMMRT_ACCESS_READ);
    const advice found = only(advice_about(all));
    EXPECT_EQ(found.kind, advice_kind::read_by_several);
    EXPECT_EQ(found.other, (call_to_make{advised_call::preferred_location, cpu}));
    EXPECT_TRUE(mentions(sentence_of(found),
                         {"64 KiB at 0x7f0000000000", "device 0 and the CPU", "If nothing writes",
                          "duplicate", "If something does", "system memory", "19 of 20 faults"}));
}

TEST(HmmctlAdvice, OffersOnlyDuplicatesOfReadMemoryThatHasAPreferredLocation) {
    events all = {given_advice(HMMRT_ADVICE_SET_PREFERRED_LOCATION)};
    append(all, back_and_forth(10, HMMRT_ACCESS_READ));
    const advice found = only(advice_about(all));
    EXPECT_EQ(found.kind, advice_kind::read_by_several);
    EXPECT_EQ(found.other, std::nullopt);
    EXPECT_TRUE(mentions(sentence_of(found), {"let each device keep a duplicate: that saves"}));
}

TEST(HmmctlAdvice, IsNotRepeatedForMemoryThatHasIt) {
    events all = {given_advice(HMMRT_ADVICE_SET_PREFERRED_LOCATION)};
    append(all, back_and_forth(10, HMMRT_ACCESS_WRITE));
    EXPECT_EQ(count_of(advice_kind::ping_pong, advice_about(all)), 0);

    all[0].addr = first_block - (3ull << 30); // and far beyond
    all[0].pages = (4ull << 30) / page_bytes;
    EXPECT_EQ(count_of(advice_kind::ping_pong, advice_about(all)), 0);

    all[0].error = -22; // it was refused
    EXPECT_EQ(only(advice_about(all)).kind, advice_kind::ping_pong);
}

TEST(HmmctlAdvice, IsGivenAgainForMemoryThatLostIt) {
    events all = {given_advice(HMMRT_ADVICE_SET_PREFERRED_LOCATION),
                  given_advice(HMMRT_ADVICE_UNSET_PREFERRED_LOCATION)};
    append(all, back_and_forth(10, HMMRT_ACCESS_WRITE));
    EXPECT_EQ(only(advice_about(all)).kind, advice_kind::ping_pong);
}

TEST(HmmctlAdvice, LeavesOutFaultsThatFailed) {
    events all = back_and_forth(10, HMMRT_ACCESS_WRITE);
    for (hmmrt_event& event : all)
        if (event.type != HMMRT_EVENT_MIGRATION) event.error = -14;
    EXPECT_TRUE(advice_about(all).empty());
}

// --- memory that a prefetch moves

events sweep(std::uint64_t faults, std::uint64_t stride, std::uint64_t pages) {
    events all;
    for (std::uint64_t i = 0; i < faults; i++)
        fetch(all, cpu, 0, first_block + i * stride, pages);
    return all;
}

TEST(HmmctlAdvice, PrefetchesNeighboursWithSequentialFaultsAsOneRange) {
    const advice found = only(advice_about(sweep(20, block_bytes, block_pages)));
    EXPECT_EQ(found.kind, advice_kind::sequential_faults);
    EXPECT_EQ(found.call, (call_to_make{advised_call::prefetch, 0}));
    EXPECT_EQ(found.addr, first_block);
    EXPECT_EQ(found.bytes, 20 * block_bytes);
    EXPECT_EQ(found.saved_faults, 20u);
}

TEST(HmmctlAdvice, FindsTheSweepOfEachLane) {
    events all;
    for (std::uint64_t i = 0; i < 20; i++)
        for (int lane = 0; lane < 2; lane++) { // the second lane goes through the upper half
            fetch(all, cpu, 0, first_block + (lane * 20 + i) * block_bytes, block_pages);
            all.back().tid += lane;
        }
    const advice found = only(advice_about(all));
    EXPECT_EQ(found.kind, advice_kind::sequential_faults);
    EXPECT_EQ(found.bytes, 40 * block_bytes);
}

/// Faults on 16 pages: the nth fault is on page n * @step modulo 16.
events jumping(std::uint64_t step) {
    events all;
    for (std::uint64_t i = 0; i < 16; i++) {
        fetch(all, cpu, 0, first_block + i * step % 16 * page_bytes, 1);
        all.back().phase[HMMRT_PHASE_COPY] = 0;
    }
    return all;
}

TEST(HmmctlAdvice, DoesNotTakeUpsAndDownsForASweep) {
    EXPECT_EQ(only(advice_about(jumping(1))).kind, advice_kind::sequential_faults);
    EXPECT_EQ(only(advice_about(jumping(5))).kind, advice_kind::sequential_faults)
        << "0 5 10 15, 4 9 14, 3 8 13, 2 7 12, 1 6 11: five runs";
    EXPECT_EQ(only(advice_about(jumping(9))).kind, advice_kind::fault_latency)
        << "0 9, 2 11, 4 13: runs of two are no order";
}

TEST(HmmctlAdvice, PrefetchesToTheCpuWhatItReadsBackInOrder) {
    events all;
    for (std::uint64_t i = 0; i < 20; i++)
        fetch(all, 0, cpu, first_block + i * block_bytes, block_pages);
    EXPECT_EQ(only(advice_about(all)).call, (call_to_make{advised_call::prefetch, cpu}));
}

TEST(HmmctlAdvice, DoesNotPrefetchWhatStaysInSystemMemory) {
    events all;
    for (std::uint64_t i = 0; i < 20; i++)
        all.push_back(device_fault(0, first_block + i * block_bytes));
    EXPECT_TRUE(advice_about(all).empty());
}

TEST(HmmctlAdvice, IsNotGivenForNothingOrForFewFaults) {
    EXPECT_EQ(advice_about(sweep(least_saved_faults, page_bytes, 1)).size(), 1u);
    EXPECT_TRUE(advice_about(sweep(least_saved_faults - 1, page_bytes, 1)).empty());
    EXPECT_TRUE(advice_about({}).empty());
}

/// Faults on every @step-th page from the last to the first. Each takes 700 ns, of which it copies
/// for @copying.
events falling(std::uint64_t step, std::uint32_t copying) {
    events all;
    for (std::uint64_t i = 16; i-- > 0;) {
        fetch(all, cpu, 0, first_block + i * step * page_bytes, 1);
        all.back().phase[HMMRT_PHASE_COPY] = copying;
    }
    return all;
}

TEST(HmmctlAdvice, PrefetchesIfFaultsWaitLongerThanTheyCopy) {
    const advice found = only(advice_about(falling(1, 175)));
    EXPECT_EQ(found.kind, advice_kind::fault_latency);
    EXPECT_EQ(found.call, (call_to_make{advised_call::prefetch, 0}));
    EXPECT_EQ(found.saved_faults, 16u);
    EXPECT_TRUE(advice_about(falling(1, 176)).empty()) << "they copy for more than a quarter";
    EXPECT_EQ(advice_about(falling(2, 175)).size(), 1u);
    EXPECT_TRUE(advice_about(falling(3, 175)).empty()) << "most pages are not used";
}

// --- devices that are too small

/// Blocks that a device loses and fetches again; block N has @base + N faults in each round.
events oversubscribed(std::uint64_t blocks, unsigned rounds, unsigned base) {
    events all;
    for (unsigned round = 0; round < rounds; round++)
        for (std::uint64_t block = 0; block < blocks; block++) {
            const std::uint64_t addr = first_block + block * block_bytes;
            fetch(all, cpu, 0, addr, block_pages, HMMRT_ACCESS_WRITE);
            for (std::uint64_t i = 1; i < base + block; i++)
                all.push_back(device_fault(0, addr));
            evict(all, 0, addr, block_pages);
        }
    return all;
}

TEST(HmmctlAdvice, LeavesTheColdestBlocksInSystemMemoryUntilTheOthersFit) {
    const advice found = only(advice_about(oversubscribed(8, 3, 10), {{0, 5 * block_bytes}}));
    EXPECT_EQ(found.kind, advice_kind::oversubscription);
    EXPECT_EQ(found.call, (call_to_make{advised_call::preferred_location, cpu}));
    EXPECT_EQ(found.other, (call_to_make{advised_call::accessed_by, 0}));
    EXPECT_EQ(found.addr, first_block);
    EXPECT_EQ(found.bytes, 3 * block_bytes) << "8 blocks on a device of 5";
    EXPECT_EQ(found.saved_faults, 2u * (10 + 11 + 12)) << "all but those of the first round";
    EXPECT_EQ(only(advice_about(oversubscribed(8, 3, 10))).bytes, 4 * block_bytes)
        << "half of them on a device of unknown size";
    EXPECT_EQ(count_of(advice_kind::oversubscription, advice_about(oversubscribed(8, 2, 10))), 0)
        << "one eviction";
}

// --- all together

TEST(HmmctlAdvice, HasTheOneThatSavesMostFirst) {
    events all = back_and_forth(10, HMMRT_ACCESS_WRITE);
    append(all, back_and_forth(30, HMMRT_ACCESS_WRITE, first_block + 4 * block_bytes));
    const std::vector<advice> found = advice_about(all);
    ASSERT_EQ(found.size(), 2u) << "they are no neighbours";
    EXPECT_EQ(found[0].addr, first_block + 4 * block_bytes);
    EXPECT_EQ(found[1].addr, first_block);
}

TEST(HmmctlAdvice, TakesEventsWithAnyNumbers) {
    events all = back_and_forth(10, HMMRT_ACCESS_WRITE, ~std::uint64_t{0});
    for (hmmrt_event& event : all)
        event.pages = ~std::uint64_t{0};
    EXPECT_EQ(only(advice_about(all)).bytes, page_bytes) << "the last page of all";
}

// --- words

TEST(HmmctlAdviceText, HasTheCallToInsert) {
    const std::string text = text_of(profiled(back_and_forth(10, HMMRT_ACCESS_WRITE)).what());
    EXPECT_TRUE(mentions(text, {"\nSuggestions\n  1. Process 1234: 64 KiB at 0x7f0000000000 ",
                                "device 0 and the CPU", "system memory", "19 of 20 faults.\n"}));
    EXPECT_TRUE(
        mentions(text, {" faults.\n"
                        "       hmmMemAdvise(reinterpret_cast<void*>(0x7f0000000000), 65536, "
                        "hmmMemAdviseSetPreferredLocation, hmmCpuDeviceId);\n"
                        "     or\n"
                        "       hmmMemAdvise(reinterpret_cast<void*>(0x7f0000000000), 65536, "
                        "hmmMemAdviseSetAccessedBy, 0);\n"
                        "     Most device faults are at 0x401000\n"
                        "     Most CPU faults are at 0x402000\n"}));
}

TEST(HmmctlAdviceText, SaysHowMuchIsLeftOut) {
    events all;
    for (std::uint64_t i = 0; i < most_advice + 2; i++)
        append(all, back_and_forth(10, HMMRT_ACCESS_WRITE, first_block + 2 * i * block_bytes));
    const std::string text = advice_text(profiled(all).what());
    EXPECT_TRUE(mentions(text, {"\n  10. Process"}));
    EXPECT_EQ(text.find("\n  11. Process"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("\n  2 more\n")) << text;
}

TEST(HmmctlAdviceJson, HasTheSame) {
    const json profile = to_json(profiled(sweep(20, block_bytes, block_pages)).what());
    const json found = profile["suggestions"];
    EXPECT_EQ(what_is_wrong_with(profile, "profile"), "");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(has_fields(found[0], R"({
        "kind": "sequential_faults", "pid": 1234, "bytes": 41943040, "saved_faults": 20,
        "faults": [{"device": 0, "faults": 20}], "place": "0x401000",
        "call": "hmmMemPrefetchAsync(reinterpret_cast<void*>(0x7f0000000000), 41943040, 0);"})"));
    EXPECT_EQ(found[0]["other_call"], nullptr);
    EXPECT_EQ(found[0]["cpu_place"], "") << "the CPU has no faults there";
}

TEST(HmmctlAdviceText, UsesNamesOfTheInterfaceOnly) {
    std::ifstream file(HMMRT_RUNTIME_HEADER);
    const std::string header(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(header.empty());
    const std::regex name("hmmMem[A-Z]\\w+");
    for (const advised_call call : {advised_call::read_mostly, advised_call::preferred_location,
                                    advised_call::accessed_by, advised_call::prefetch}) {
        const std::string text = call_of(advice(), {call, 0});
        std::sregex_iterator found(text.begin(), text.end(), name);
        ASSERT_NE(found, std::sregex_iterator()) << text;
        for (; found != std::sregex_iterator(); ++found)
            EXPECT_TRUE(std::regex_search(header, std::regex("\\b" + found->str() + "\\b")))
                << found->str();
    }
}

} // namespace
