// SPDX-License-Identifier: MIT
// Results of hmmctl bench, for tests.
#pragma once

#include "bench_result.hpp"

#include <string>
#include <utility>
#include <vector>

/// A case that moves nothing and has these times of its kernel.
inline hmmctl::bench_case case_of(std::string pattern, std::string transfer,
                                  std::vector<double> seconds) {
    hmmctl::bench_case of;
    of.pattern = std::move(pattern);
    of.transfer = std::move(transfer);
    of.footprint = 0.5;
    of.bytes = 1 << 20;
    of.move_in.samples = of.read_back.samples = std::vector<double>(seconds.size(), 0.0);
    of.kernel.samples = of.total.samples = std::move(seconds);
    return of;
}

inline hmmctl::bench_result some_result() {
    hmmctl::bench_result result;
    result.version = "0.1.0";
    result.kernel = "6.1";
    result.processors = 2;
    result.device = {"hmmrt-gpu0", true, 256 << 20, 2};
    result.pages = "single";
    result.huge_pages = "madvise";
    result.repeats = 3;
    result.cases = {case_of("triad", "prefetch", {1, 2, 3}), case_of("triad", "faults", {3, 2, 4})};
    result.peers = {{"storm", 1000, {{0.004, 0.005}}, ""}, {"uffd-move", 0, {}, "too old"}};
    result.cases[0].counts = {{"device_faults", 7}};
    result.cases[0].phases = {{"queue", 0},  {"decide", 0},        {"allocate", 0},
                              {"unmap", 0},  {"copy", 1000},       {"map", 0},
                              {"replay", 0}, {"dropped_events", 0}};
    return result;
}

/// The same, with the speedup of two lanes.
inline hmmctl::bench_result scaled_result() {
    hmmctl::bench_result result = some_result();
    result.scaling = {{"lanes", 1, "storm", 1000, {{0.5}}}, {"lanes", 2, "storm", 2000, {{0.8}}}};
    return result;
}
