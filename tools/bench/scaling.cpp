// SPDX-License-Identifier: MIT
#include "measurement.hpp"
#include "patterns.hpp"
#include "work.hpp"
#include "worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <vector>

namespace bench {
namespace {

using hmmctl::bench_scaling;

constexpr unsigned most_processes = 4;
constexpr std::size_t quick_pages = 1024, usual_pages = 4096, block_pages = 512;

/// Returns the powers of two below @limit, and @limit.
std::vector<unsigned> counts_to(unsigned limit) {
    std::vector<unsigned> counts;
    for (unsigned next = 1; next < limit; next *= 2)
        counts.push_back(next);
    counts.push_back(limit);
    return counts;
}

/// Returns the number of pages for each lane, device or process if @parts of them share a device.
/// Together they use at most half of it. If that is 2 MiB or more, it is a multiple of 2 MiB.
std::size_t pages_of_each(bool quick, unsigned parts, const hmmctl::bench_device& device) {
    const std::size_t most = device.memory_bytes / page_bytes / 2 / parts,
                      pages = std::min(quick ? quick_pages : usual_pages, most);
    return pages < block_pages ? pages : pages / block_pages * block_pages;
}

/// A measurement that takes part in each round.
class scaling_case {
  public:
    scaling_case(const std::string& by, unsigned count, const std::string& operation,
                 std::size_t pages)
        : scaling_{by, count, operation, pages * count, {}},
          request_{{"work", operation},
                   {"devices", by == "devices" ? count : 1},
                   {"lanes", by == "lanes" ? count : 1},
                   {"pages", pages}} {}

    /// The number of lanes that each worker process gets.
    unsigned lanes() const { return scaling_.by == "lanes" ? scaling_.count : 1; }
    unsigned processes() const { return scaling_.by == "processes" ? scaling_.count : 1; }

    void measure(std::span<const worker> with, bool keep) {
        const double taken = seconds_together(with.first(processes()), request_);
        if (keep) scaling_.taken.samples.push_back(taken);
    }
    const bench_scaling& result() const { return scaling_; }

  private:
    bench_scaling scaling_;
    hmmctl::json request_;
};

unsigned limit_of(const std::string& by, unsigned devices, const hmmctl::bench_device& device) {
    if (by == "lanes") return device.lanes;
    return by == "devices" ? devices : most_processes;
}

std::vector<scaling_case> cases_of(const hmmctl::bench_plan& plan, unsigned devices,
                                   const hmmctl::bench_device& device) {
    std::vector<scaling_case> cases;
    for (const std::string& by : plan.scaling) {
        const unsigned limit = limit_of(by, devices, device);
        const std::size_t pages = pages_of_each(plan.quick, by == "devices" ? 1 : limit, device);
        for (const unsigned count : counts_to(limit))
            for (const char* operation : {"storm", "prefetch"})
                cases.emplace_back(by, count, operation, pages);
    }
    return cases;
}

/// Starts workers for each number of lanes, as many as the largest case needs.
std::map<unsigned, std::vector<worker>> workers_of(const std::vector<scaling_case>& cases) {
    std::map<unsigned, std::vector<worker>> workers;
    for (const scaling_case& one : cases) {
        std::vector<worker>& same = workers[one.lanes()];
        while (same.size() < one.processes())
            same.emplace_back(std::vector<std::string>{fmt::format("HMMRT_LANES={}", one.lanes())});
    }
    return workers;
}

} // namespace

void measure_scaling(const hmmctl::bench_plan& plan, unsigned devices,
                     hmmctl::bench_result& result) {
    std::vector<scaling_case> cases = cases_of(plan, devices, result.device);
    if (cases.empty()) return;
    std::fprintf(stderr, "scaling\n");
    const std::map<unsigned, std::vector<worker>> workers = workers_of(cases);
    for (unsigned round = 0; round <= plan.repeats; round++) // the first one is a warm-up
        for (std::size_t i = 0; i < cases.size(); i++) {
            scaling_case& next = cases[(round + i) % cases.size()];
            next.measure(workers.at(next.lanes()), round > 0);
        }
    for (const scaling_case& one : cases)
        result.scaling.push_back(one.result());
}

} // namespace bench
