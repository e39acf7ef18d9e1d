// SPDX-License-Identifier: MIT
// Batches of faults: order, groups and merging, compared with a model that
// compares each pair of faults.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "policy.h"
}

namespace {

constexpr unsigned long page = HMMRT_POLICY_PAGE_SIZE;
constexpr unsigned long block = page * HMMRT_POLICY_BLOCK_PAGES;
constexpr unsigned accesses[] = {HMMRT_ACCESS_READ, HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE,
                                 HMMRT_ACCESS_READ | HMMRT_ACCESS_EXEC};

using Faults = std::vector<hmmrt_batch_fault>;
using Key = std::tuple<unsigned long, unsigned, hmmrt_queued_fault*>;

Key key(const hmmrt_batch_fault& fault) {
    return {fault.addr, fault.access, fault.queued};
}

std::multiset<Key> keys(const Faults& faults) {
    std::multiset<Key> result;
    for (const auto& fault : faults)
        result.insert(key(fault));
    return result;
}

// Each fault has a unique pointer, so that we can tell them apart.
Faults random_faults(std::mt19937& random) {
    Faults faults(std::uniform_int_distribution<std::size_t>(1, 300)(random));
    const unsigned blocks = std::uniform_int_distribution<unsigned>(1, 6)(random);
    const unsigned pages = std::uniform_int_distribution<unsigned>(1, 512)(random);
    std::uintptr_t name = 0;
    for (auto& fault : faults) {
        fault.addr = 0x7f0000000000 +
                     std::uniform_int_distribution<unsigned>(0, blocks - 1)(random) * block +
                     std::uniform_int_distribution<unsigned>(0, pages - 1)(random) * page;
        fault.access = accesses[std::uniform_int_distribution<unsigned>(0, 2)(random)];
        fault.queued = reinterpret_cast<hmmrt_queued_fault*>(name++ * 16);
    }
    return faults;
}

unsigned size(const Faults& faults) {
    return static_cast<unsigned>(faults.size());
}

Faults sorted(Faults faults) {
    hmmrt_batch_sort(faults.data(), size(faults));
    return faults;
}

TEST(Batch, SortingKeepsEachFaultAndOrdersByPageThenAccess) {
    std::mt19937 random(1);
    for (int i = 0; i < 500; i++) {
        const Faults before = random_faults(random);
        const Faults after = sorted(before);
        ASSERT_EQ(keys(before), keys(after));
        for (std::size_t j = 1; j < after.size(); j++)
            ASSERT_LE(std::make_pair(after[j - 1].addr, after[j - 1].access),
                      std::make_pair(after[j].addr, after[j].access));
    }
}

TEST(Batch, SortsAddressesThatDifferByMoreThanAnInt) {
    const unsigned long addresses[] = {0x7fffffffe000, 0x1000, 0x80001000, 0x100001000};
    Faults faults;
    for (const auto addr : addresses)
        faults.push_back({addr, HMMRT_ACCESS_READ, nullptr});
    faults = sorted(faults);
    EXPECT_EQ(0x1000u, faults[0].addr);
    EXPECT_EQ(0x80001000u, faults[1].addr);
    EXPECT_EQ(0x100001000u, faults[2].addr);
    EXPECT_EQ(0x7fffffffe000u, faults[3].addr);
}

TEST(Batch, AGroupIsAllFaultsOfABlock) {
    std::mt19937 random(2);
    for (int i = 0; i < 500; i++) {
        const Faults faults = sorted(random_faults(random));
        std::map<unsigned long, unsigned> in_block;
        for (const auto& fault : faults)
            in_block[fault.addr / block]++;
        unsigned first = 0;
        for (const auto& [number, count] : in_block) {
            const unsigned end = hmmrt_batch_group_end(faults.data(), first, size(faults));
            ASSERT_EQ(count, end - first);
            ASSERT_EQ(number, faults[first].addr / block);
            first = end;
        }
        ASSERT_EQ(size(faults), first);
    }
}

TEST(Batch, FaultsOfAPageAreMergedAndWantWhatAnyOfThemWants) {
    std::mt19937 random(3);
    for (int i = 0; i < 500; i++) {
        const Faults faults = sorted(random_faults(random));
        std::map<unsigned long, std::pair<unsigned, unsigned>> of_page;
        for (const auto& fault : faults) {
            of_page[fault.addr].first++;
            of_page[fault.addr].second |= fault.access;
        }
        unsigned first = 0;
        for (const auto& [addr, expected] : of_page) {
            const unsigned end = hmmrt_batch_page_end(faults.data(), first, size(faults), true);
            ASSERT_EQ(addr, faults[first].addr);
            ASSERT_EQ(expected.first, end - first);
            ASSERT_EQ(expected.second, hmmrt_batch_access(faults.data(), first, end));
            first = end;
        }
        ASSERT_EQ(size(faults), first);
    }
}

TEST(Batch, WithoutCoalescingNoneIsMerged) {
    std::mt19937 random(4);
    const Faults faults = sorted(random_faults(random));
    for (unsigned first = 0; first < size(faults); first++)
        ASSERT_EQ(first + 1, hmmrt_batch_page_end(faults.data(), first, size(faults), false));
}

TEST(Batch, APageFallsApartIntoItsAccesses) {
    std::mt19937 random(5);
    for (int i = 0; i < 500; i++) {
        const Faults faults = sorted(random_faults(random));
        std::map<std::pair<unsigned long, unsigned>, unsigned> alike;
        for (const auto& fault : faults)
            alike[{fault.addr, fault.access}]++;
        unsigned first = 0;
        for (const auto& [what, count] : alike) {
            const unsigned end = hmmrt_batch_access_end(faults.data(), first, size(faults));
            ASSERT_EQ(what.first, faults[first].addr);
            ASSERT_EQ(what.second, faults[first].access);
            ASSERT_EQ(count, end - first);
            first = end;
        }
        ASSERT_EQ(size(faults), first);
    }
}

// The functions must not read entries beyond the given end.
TEST(Batch, EndsWhereItIsToldTo) {
    const Faults faults(4, {page, HMMRT_ACCESS_READ, nullptr});
    EXPECT_EQ(2u, hmmrt_batch_group_end(faults.data(), 0, 2));
    EXPECT_EQ(2u, hmmrt_batch_page_end(faults.data(), 0, 2, true));
    EXPECT_EQ(2u, hmmrt_batch_access_end(faults.data(), 0, 2));
}

TEST(Batch, ShapeCountsBlocksAndDuplicates) {
    std::mt19937 random(6);
    for (int i = 0; i < 500; i++) {
        const Faults faults = sorted(random_faults(random));
        std::set<unsigned long> blocks, pages;
        for (const auto& fault : faults) {
            blocks.insert(fault.addr / block);
            pages.insert(fault.addr);
        }
        const auto merging = hmmrt_batch_measure(faults.data(), size(faults), true);
        const auto single = hmmrt_batch_measure(faults.data(), size(faults), false);
        ASSERT_EQ(blocks.size(), merging.groups);
        ASSERT_EQ(blocks.size(), single.groups);
        ASSERT_EQ(faults.size() - pages.size(), merging.merged);
        ASSERT_EQ(0u, single.merged);
    }
}

} // namespace
