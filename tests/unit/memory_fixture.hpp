// SPDX-License-Identifier: MIT
// The memory interface on top of the fakes. Each test begins with empty fakes.
#pragma once

#include "runtime_checks.hpp"

#include <array>
#include <cstddef>
#include <cstring>

class MemoryOverFakes : public testing::Test {
  protected:
    using prefetches = std::vector<fakes::prefetch_call>; ///< address, length and location
    using discards = std::vector<fakes::discard_call>;
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t pages = 8;
    static constexpr hmmMemLocation host = {hmmMemLocationTypeHost, 0};

    MemoryOverFakes() {
        kernel.memory.clear();
        kernel.policy.clear();
    }
    ~MemoryOverFakes() override {
        for (int number : {1, 0}) {
            hmmSetDevice(number);
            hmmDeviceReset();
        }
        kernel.memory.clear();
        forget_errors();
    }

    static constexpr hmmMemLocation on(int device) { return {hmmMemLocationTypeDevice, device}; }
    static void* hole() { return reinterpret_cast<void*>(fakes::fake_memory::hole); }
    std::uint64_t address(std::size_t offset = 0) const {
        return reinterpret_cast<std::uint64_t>(memory_.data()) + offset;
    }
    std::span<std::byte> memory() { return memory_; }
    static hmmPointerAttributes attributes_of(const void* ptr) {
        hmmPointerAttributes found;
        std::memset(&found, 0xff, sizeof(found));
        EXPECT_EQ(hmmPointerGetAttributes(&found, ptr), hmmSuccess);
        for (const int each : found.reserved)
            EXPECT_EQ(each, 0);
        return found;
    }
    /// The start and the size of the allocation or the mapping that the address is in.
    using address_range = std::pair<hmmDeviceptr, std::size_t>;
    static address_range range_at(hmmDeviceptr ptr) {
        address_range found = {};
        EXPECT_EQ(hmmMemGetAddressRange(&found.first, &found.second, ptr), hmmSuccess);
        return found;
    }
    /// Migrates pages, and waits for it.
    template <class T>
    static void prefetch(std::span<T> pages_to_move, hmm::location to) {
        hmm::prefetch(pages_to_move, to);
        hmm::synchronize();
    }

  private:
    alignas(page) std::array<std::byte, pages* page> memory_ = {};
};
