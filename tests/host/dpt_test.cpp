// SPDX-License-Identifier: MIT
// The device page table, compared with a map of pages, and its leaves.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

#include "dpt_shim.h"
#include "kernel_stubs.h"

namespace {

constexpr unsigned long page = 4096;
constexpr unsigned pages_per_table = 512;
constexpr unsigned long table_bytes = page * pages_per_table;

class Dpt : public testing::Test {
  protected:
    void SetUp() override { warnings_before_ = host_warnings(); }

    void TearDown() override {
        host_fail_after(-1);
        EXPECT_EQ(host_warnings(), warnings_before_ + expected_warnings_);
        shim_dpt_free(dpt_);
    }

    void expect_warnings(unsigned count) { expected_warnings_ = count; }

    // Entries for count pages of contiguous memory, the first at address.
    static std::vector<uint64_t> run(uint64_t address, unsigned count, uint64_t flags) {
        std::vector<uint64_t> ptes(count);
        for (unsigned i = 0; i < count; i++)
            ptes[i] = (address + i * page) | flags | SHIM_PTE_VALID;
        return ptes;
    }

    void map(unsigned long start, const std::vector<uint64_t>& ptes) {
        shim_dpt_map(dpt_, start, ptes.data(), static_cast<unsigned>(ptes.size()));
    }

    dpt* dpt_ = shim_dpt_new();

  private:
    unsigned warnings_before_ = 0;
    unsigned expected_warnings_ = 0;
};

TEST_F(Dpt, HasNoEntriesAtFirst) {
    EXPECT_EQ(shim_dpt_entry(dpt_, 0), 0u);
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, 1), 0);
    EXPECT_EQ(shim_dpt_entry(dpt_, 0), 0u);
    EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0));
}

TEST_F(Dpt, PrepareMakesTheTablesThatARangeTouches) {
    const unsigned long base = 0x7f1234400000;
    ASSERT_EQ(shim_dpt_prepare(dpt_, base + table_bytes - page, base + 2 * table_bytes + 1), 0);
    EXPECT_FALSE(shim_dpt_has_table(dpt_, base - 1));
    EXPECT_TRUE(shim_dpt_has_table(dpt_, base));
    EXPECT_TRUE(shim_dpt_has_table(dpt_, base + table_bytes));
    EXPECT_TRUE(shim_dpt_has_table(dpt_, base + 2 * table_bytes));
    EXPECT_FALSE(shim_dpt_has_table(dpt_, base + 3 * table_bytes));
}

TEST_F(Dpt, PrepareOfTheEndOfARangeDoesNotTouchTheNextTable) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    EXPECT_TRUE(shim_dpt_has_table(dpt_, 0));
    EXPECT_FALSE(shim_dpt_has_table(dpt_, table_bytes));
}

// Fails each allocation in turn. What the failed call has allocated stays
// usable.
TEST_F(Dpt, PrepareWithoutMemoryFailsAndCanBeRepeated) {
    int failures = 0;
    for (int nth = 0;; nth++) {
        const unsigned long start = static_cast<unsigned long>(nth) * 16 * table_bytes;
        host_fail_after(nth);
        const int rc = shim_dpt_prepare(dpt_, start, start + 3 * table_bytes);
        host_fail_after(-1);
        if (!rc) break;
        EXPECT_EQ(rc, -ENOMEM);
        failures++;
        ASSERT_EQ(shim_dpt_prepare(dpt_, start, start + 3 * table_bytes), 0);
        map(start, run(0x10000, 4, 0));
        EXPECT_EQ(shim_dpt_entry(dpt_, start + page), 0x11000 | SHIM_PTE_VALID);
    }
    EXPECT_EQ(failures, 9); // a table, its entries and its index entry, three times
}

TEST_F(Dpt, MappingWithoutATableWarnsAndDoesNothing) {
    expect_warnings(1);
    map(0, run(0, 1, 0));
    EXPECT_EQ(shim_dpt_entry(dpt_, 0), 0u);
}

TEST_F(Dpt, MappingBeyondATableWarnsAndDoesNothing) {
    expect_warnings(1);
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, 2 * table_bytes), 0);
    map(511 * page, run(0, 2, 0));
    EXPECT_EQ(shim_dpt_entry(dpt_, 511 * page), 0u);
    EXPECT_EQ(shim_dpt_entry(dpt_, 512 * page), 0u);
}

TEST_F(Dpt, UnmappingWhereNoTablesAreDoesNothing) {
    shim_dpt_unmap(dpt_, 0, 100 * table_bytes);
    EXPECT_FALSE(shim_dpt_has_table(dpt_, 0));
}

TEST_F(Dpt, WhatIsForgottenHasNoTableUntilItIsPreparedAgain) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, 3 * table_bytes), 0);
    map(0, run(0x5000, 1, 0));
    map(2 * table_bytes, run(0x7000, 1, 0));
    shim_dpt_unmap(dpt_, 0, page);
    shim_dpt_forget(dpt_, 0, table_bytes);
    EXPECT_FALSE(shim_dpt_has_table(dpt_, 0));
    EXPECT_TRUE(shim_dpt_has_table(dpt_, table_bytes));
    EXPECT_EQ(shim_dpt_entry(dpt_, 2 * table_bytes), 0x7000 | SHIM_PTE_VALID);
    shim_dpt_forget(dpt_, 0, table_bytes);
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, page), 0);
    EXPECT_EQ(shim_dpt_entry(dpt_, 0), 0u);
    map(0, run(0x6000, 1, 0));
    EXPECT_EQ(shim_dpt_entry(dpt_, 0), 0x6000 | SHIM_PTE_VALID);
}

TEST_F(Dpt, TheNextTableKnowsThatTheTlbHasPageTables) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, 2 * table_bytes), 0);
    shim_dpt_set_tlb_ptes(dpt_, 0);
    shim_dpt_forget(dpt_, 0, 2 * table_bytes);
    EXPECT_FALSE(shim_dpt_has_table(dpt_, 0));
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, 2 * table_bytes), 0);
    EXPECT_TRUE(shim_dpt_has_tlb_ptes(dpt_, 0));
    EXPECT_FALSE(shim_dpt_has_tlb_ptes(dpt_, table_bytes));
}

TEST_F(Dpt, InvalidEntriesLeaveWhatIsThere) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    map(0, run(0x1000, 3, SHIM_PTE_WRITE));
    map(0, {0, 0x9000 | SHIM_PTE_VALID, 0});
    EXPECT_EQ(shim_dpt_entry(dpt_, 0), 0x1000 | SHIM_PTE_VALID | SHIM_PTE_WRITE);
    EXPECT_EQ(shim_dpt_entry(dpt_, page), 0x9000 | SHIM_PTE_VALID);
    EXPECT_EQ(shim_dpt_entry(dpt_, 2 * page), 0x3000 | SHIM_PTE_VALID | SHIM_PTE_WRITE);
}

TEST_F(Dpt, ContiguousAlignedAndAlikeIsALeafAsSoonAsItIsComplete) {
    const uint64_t flags = SHIM_PTE_WRITE | SHIM_PTE_DEVICE;
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    map(0, run(table_bytes, 511, flags));
    EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0));
    map(511 * page, run(table_bytes + 511 * page, 1, flags));
    EXPECT_TRUE(shim_dpt_is_leaf(dpt_, 0));
    for (unsigned i = 0; i < pages_per_table; i++)
        EXPECT_EQ(shim_dpt_entry(dpt_, i * page),
                  (table_bytes + i * page) | flags | SHIM_PTE_VALID);
}

TEST_F(Dpt, OneDifferenceIsEnoughForNoLeaf) {
    const auto whole = run(table_bytes, pages_per_table, SHIM_PTE_WRITE);
    for (unsigned at : {0u, 1u, 255u, 511u}) {
        for (uint64_t change : {SHIM_PTE_WRITE, SHIM_PTE_EXEC, SHIM_PTE_DEVICE, uint64_t{page}}) {
            ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
            auto ptes = whole;
            ptes[at] ^= change;
            map(0, ptes);
            EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0)) << at << " " << change;
            map(0, whole);
            EXPECT_TRUE(shim_dpt_is_leaf(dpt_, 0));
        }
    }
}

TEST_F(Dpt, UnalignedMemoryIsNoLeaf) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    map(0, run(table_bytes + page, pages_per_table, 0));
    EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0));
}

TEST_F(Dpt, UnmappingAPartOfALeafLeavesTheOtherEntries) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    map(0, run(table_bytes, pages_per_table, SHIM_PTE_EXEC));
    ASSERT_TRUE(shim_dpt_is_leaf(dpt_, 0));
    shim_dpt_unmap(dpt_, 7 * page, 9 * page);
    EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0));
    for (unsigned i = 0; i < pages_per_table; i++) {
        const bool gone = i == 7 || i == 8;
        EXPECT_EQ(shim_dpt_entry(dpt_, i * page),
                  gone ? 0 : (table_bytes + i * page) | SHIM_PTE_EXEC | SHIM_PTE_VALID);
    }
}

TEST_F(Dpt, UnmappingAWholeLeafLeavesNothing) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    map(0, run(table_bytes, pages_per_table, 0));
    shim_dpt_unmap(dpt_, 0, table_bytes);
    EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0));
    for (unsigned i = 0; i < pages_per_table; i++)
        EXPECT_EQ(shim_dpt_entry(dpt_, i * page), 0u);
}

TEST_F(Dpt, AWriteIntoALeafSplitsIt) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, 0, table_bytes), 0);
    map(0, run(table_bytes, pages_per_table, 0));
    map(100 * page, {0x5000 | SHIM_PTE_VALID});
    EXPECT_FALSE(shim_dpt_is_leaf(dpt_, 0));
    EXPECT_EQ(shim_dpt_entry(dpt_, 99 * page), (table_bytes + 99 * page) | SHIM_PTE_VALID);
    EXPECT_EQ(shim_dpt_entry(dpt_, 100 * page), 0x5000 | SHIM_PTE_VALID);
    EXPECT_EQ(shim_dpt_entry(dpt_, 101 * page), (table_bytes + 101 * page) | SHIM_PTE_VALID);
}

// --- random operations against a model ---------------------------------------

class Model {
  public:
    static constexpr unsigned tables = 6;
    static constexpr unsigned long base = 0x7fff12200000;

    void map(unsigned first, const std::vector<uint64_t>& ptes) {
        for (size_t i = 0; i < ptes.size(); i++)
            if (ptes[i]) entries_[first + i] = ptes[i];
    }

    void unmap(unsigned first, unsigned end) {
        for (unsigned i = first; i < end; i++)
            entries_[i] = 0;
    }

    uint64_t entry(unsigned index) const { return entries_[index]; }

    bool is_contiguous(unsigned table) const {
        const uint64_t first = entries_[table * pages_per_table];
        if (!first || (first & SHIM_PTE_ADDR) % table_bytes) return false;
        for (unsigned i = 0; i < pages_per_table; i++)
            if (entries_[table * pages_per_table + i] != first + i * page) return false;
        return true;
    }

  private:
    std::array<uint64_t, tables * pages_per_table> entries_{};
};

class DptRandom : public Dpt, public testing::WithParamInterface<unsigned> {
  protected:
    unsigned below(unsigned limit) {
        return std::uniform_int_distribution<unsigned>(0, limit - 1)(random_);
    }

    // Runs that can combine to leaves, single pages, and holes, which change
    // nothing.
    std::vector<uint64_t> random_ptes(unsigned table, unsigned first, unsigned count) {
        const uint64_t flags = below(4) ? SHIM_PTE_WRITE : SHIM_PTE_EXEC | SHIM_PTE_DEVICE;
        auto ptes = run((table + 1) * table_bytes + first * page, count, flags);
        if (below(3) == 0)
            for (auto& pte : ptes)
                if (below(8) == 0) pte = 0;
        if (below(4) == 0) ptes[below(count)] = (below(1u << 20) * page) | SHIM_PTE_VALID;
        return ptes;
    }

    void random_map() {
        const unsigned table = below(Model::tables);
        const unsigned first = below(3) ? below(pages_per_table) : 0;
        const unsigned rest = pages_per_table - first;
        const unsigned count = below(3) ? 1 + below(rest) : rest;
        const auto ptes = random_ptes(table, first, count);
        map(Model::base + table * table_bytes + first * page, ptes);
        model_.map(table * pages_per_table + first, ptes);
        // A table with contiguous, aligned entries must be a leaf.
        EXPECT_EQ(shim_dpt_is_leaf(dpt_, Model::base + table * table_bytes),
                  model_.is_contiguous(table));
    }

    void random_unmap() {
        const unsigned all = Model::tables * pages_per_table;
        const unsigned first = below(all);
        const unsigned end = first + 1 + below(below(4) ? 16 : all - first);
        shim_dpt_unmap(dpt_, Model::base + first * page, Model::base + std::min(end, all) * page);
        model_.unmap(first, std::min(end, all));
    }

    void check() {
        for (unsigned i = 0; i < Model::tables * pages_per_table; i++)
            ASSERT_EQ(shim_dpt_entry(dpt_, Model::base + i * page), model_.entry(i))
                << "page " << i;
        for (unsigned table = 0; table < Model::tables; table++) {
            if (shim_dpt_is_leaf(dpt_, Model::base + table * table_bytes)) {
                ASSERT_TRUE(model_.is_contiguous(table));
            }
        }
    }

    std::mt19937 random_{GetParam()};
    Model model_;
};

TEST_P(DptRandom, OperationsDoWhatTheModelDoes) {
    ASSERT_EQ(shim_dpt_prepare(dpt_, Model::base, Model::base + Model::tables * table_bytes), 0);
    for (unsigned i = 0; i < 1500; i++) {
        SCOPED_TRACE(i);
        if (below(5) < 3)
            random_map();
        else
            random_unmap();
        check();
        if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DptRandom, testing::Range(1u, 9u));

} // namespace
