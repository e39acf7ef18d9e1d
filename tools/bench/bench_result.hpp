// SPDX-License-Identifier: MIT
// Results of `hmmctl bench`, as in its files, and what we make of them: text, plots, comparisons.
#pragma once

#include "json.hpp"
#include "plot.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hmmctl {

/// Repeated measurements of one thing, in seconds.
struct times {
    std::vector<double> samples;

    /// These interpolate linearly between two samples.
    double median() const { return at(0.5); }
    double lower() const { return at(0.25); } ///< quartile
    double upper() const { return at(0.75); }
    double spread() const { return upper() - lower(); }

  private:
    double at(double part) const;
};

/// A pattern with a transfer and a footprint.
struct bench_case {
    std::string pattern, transfer;
    double footprint = 0; ///< a fraction of the device's memory
    std::uint64_t bytes = 0;
    times move_in;   ///< prefetch, copy or advice before the kernel
    times kernel;    ///< including its faults
    times read_back; ///< the CPU reads a word of each page of the result
    times total;
    std::map<std::string, std::uint64_t> counts; ///< medians of the manager's counters
    /// What faults and prefetches spent their time on in one additional run, in nanoseconds. Empty
    /// if events can't be recorded.
    std::optional<std::map<std::string, std::uint64_t>> phases;

    /// Returns the sum of move_in and kernel for each repeat.
    times until_result() const;
};

/// One of bench_peers(). It has times, or a reason why it can't be measured here.
struct bench_peer {
    std::string name;
    std::uint64_t operations = 0; ///< in each sample
    times taken;
    std::string unavailable;
};

/// Storms or prefetches by several lanes, devices or processes at the same time.
struct bench_scaling {
    std::string by; ///< one of bench_scalings()
    unsigned count = 0;
    std::string operation;   ///< storm or prefetch
    std::uint64_t pages = 0; ///< total
    times taken;

    double pages_per_second(double seconds) const { return static_cast<double>(pages) / seconds; }
    std::string name() const; ///< like "storm by 2 lanes"
};

struct bench_device {
    std::string name;
    bool simulated = false;
    std::uint64_t memory_bytes = 0;
    unsigned lanes = 0;

    bool operator==(const bench_device&) const = default;
};

/// Values of `clock`: real time, or counted instructions, each of which takes a nanosecond.
constexpr std::string_view clock_of_time = "time", clock_of_instructions = "instructions";

struct bench_result {
    std::string version, kernel;
    std::string clock = std::string(clock_of_time);
    unsigned processors = 0;
    bench_device device;
    std::string pages;      ///< one of bench_pages()
    std::string huge_pages; ///< mode of transparent huge pages, "" if there are none
    unsigned repeats = 0;
    bool quick = false;
    std::vector<bench_case> cases;
    std::vector<bench_peer> peers;
    std::vector<bench_scaling> scaling;

    /// Returns nullptr if that wasn't measured.
    const bench_case* find(std::string_view pattern, std::string_view transfer,
                           double footprint) const;
    /// Returns nullptr if that wasn't measured.
    const bench_peer* find_peer(std::string_view name) const;
    /// Returns nullptr if that wasn't measured.
    const bench_scaling* find_scaling(std::string_view name) const;
};

json to_json(const bench_result& result);
/// @answer is hmmctl's complete JSON answer. Throws failure with a reason if it isn't a result of
/// this version.
bench_result bench_result_from(const json& answer);
/// Reads a file that `hmmctl bench` wrote. Throws failure.
bench_result read_bench_result(const std::string& path);

/// Returns the median time of one operation.
double microseconds_of(const bench_peer& of);

/// Returns the speedup in pages per second over one lane, device or process; nothing if the latter
/// wasn't measured.
std::optional<double> speedup_of(const bench_result& result, const bench_scaling& of);

/// Returns tables of all times and their ratios.
std::string text_of(const bench_result& result);

/// Returns a gnuplot script that writes plots to standard output: a panel of bars for each
/// footprint, one for the peers, and one for scaling. Throws failure if the result has none of
/// these.
std::string plot_script(const bench_result& result, plot_format format);

/// A measurement that two results have: a case with the same data, a peer with the same number of
/// operations, or a scaling with the same number of pages.
struct bench_difference {
    std::string pattern, transfer; ///< for a peer or a scaling, "" and its name
    double footprint = 0;
    times before, after;

    /// The ratio of the medians.
    double ratio() const { return after.median() / before.median(); }
    /// Is the difference larger than the spread of either?
    bool is_clear() const;
};

struct bench_comparison {
    std::vector<bench_difference> common;
    unsigned only_before = 0, only_after = 0; ///< cases and peers that the other lacks
    bool same_machine = true;                 ///< as far as the results tell
};

bench_comparison compare(const bench_result& before, const bench_result& after);
json to_json(const bench_comparison& of);
std::string text_of(const bench_comparison& of);

} // namespace hmmctl
