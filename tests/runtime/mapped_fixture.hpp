// SPDX-License-Identifier: MIT
// A fixture with private memory that the CPU has filled with ones.
#pragma once

#include "device_fixture.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <sys/mman.h>

class OnMappedMemory : public OnDevice {
  protected:
    static constexpr std::size_t page = 4096, bytes = 2 << 20;

    explicit OnMappedMemory(int more_flags = 0) {
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        memory_ = {static_cast<unsigned char*>(memory), bytes};
        std::memset(memory, 1, bytes);
    }
    ~OnMappedMemory() override { munmap(memory_.data(), bytes); }

    static int location_of(const void* ptr) {
        hmmPointerAttributes found = {};
        EXPECT_EQ(hmmPointerGetAttributes(&found, ptr), hmmSuccess) << hmmGetLastErrorDetail();
        return found.location;
    }

    std::span<unsigned char> memory_;
};
