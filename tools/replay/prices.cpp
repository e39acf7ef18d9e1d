// SPDX-License-Identifier: MIT
#include "prices.hpp"

#include <algorithm>
#include <array>

namespace replay {
namespace {

// docs/performance.md has the figures of the guest: 4.5 thousand instructions for a page by a
// prefetch, 38 thousand more for each fault of a storm. System memory is as near as device memory
// there.
constexpr prices guest = {
    .name = "guest",
    .unit = "instructions",
    .source = "the simulated GPU, in a guest that counts instructions",
    .fault = 38000,
    .cpu_fault = 20000,
    .page_in = 4340,
    .page_out = 5800,
    .eviction = 70000,
    .remote_page = 240,
    .look = 45000,
    .access = 2.5,
    .local_line = 0,
    .remote_line = 0,
};

// One NVIDIA H200 on PCIe 5 x16 with managed memory: 64 MiB are prefetched in 1.34 ms, prefetched
// back in 3.4 ms, and streamed in 0.056 ms if they are there; one fault for each 2 MiB takes 32.7
// us, the CPU's 28.6 us; 256 MiB that stay in system memory are read in 5.2 ms. A look is an
// assumption: that GPU can't say which pages it used.
constexpr prices gpu = {
    .name = "gpu",
    .unit = "nanoseconds",
    .source = "a model of one NVIDIA H200",
    .fault = 32700,
    .cpu_fault = 28600,
    .page_in = 82,
    .page_out = 208,
    .eviction = 25000,
    .remote_page = 5,
    .look = 5000,
    .access = 0,
    .local_line = 0.053,
    .remote_line = 1.24,
};

constexpr std::array sets = {guest, gpu};

} // namespace

std::span<const prices> price_sets() {
    return sets;
}

const prices* find_prices(std::string_view name) {
    const auto found =
        std::find_if(sets.begin(), sets.end(), [=](const prices& one) { return one.name == name; });
    return found == sets.end() ? nullptr : &*found;
}

} // namespace replay
