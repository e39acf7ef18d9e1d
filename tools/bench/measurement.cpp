// SPDX-License-Identifier: MIT
#include "measurement.hpp"

#include "case_runner.hpp"
#include "devices.hpp"
#include "event_names.hpp"
#include "event_ring.hpp"
#include "failure.hpp"
#include "lib/files.hpp"
#include "peers.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace bench {
namespace {

using hmmctl::bench_case;
using hmmctl::bench_plan;
using hmmctl::bench_result;
using hmmctl::failure;

hmmctl::bench_device describe(hmm::device device) {
    const hmmDeviceProp properties = device.properties();
    return {properties.name, properties.integrated == 0, device.memory().total,
            static_cast<unsigned>(properties.multiProcessorCount)};
}

/// Returns the mode of transparent huge pages, which is the word in brackets, or "" if there are
/// none.
std::string huge_page_mode() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string word;
    while (file >> word)
        if (word.starts_with('[') && word.ends_with(']')) return word.substr(1, word.size() - 2);
    return "";
}

page_kind page_kind_of(const std::string& name) {
    const auto& list = hmmctl::bench_pages();
    for (std::size_t i = 0; i < list.size(); i++)
        if (list[i].name == name) return static_cast<page_kind>(i);
    throw failure("there are no pages of the kind " + name);
}

std::string clock_of_machine() {
    const char* const text = std::getenv("HMMRT_CLOCK");
    if (text == nullptr || *text == '\0') return std::string(hmmctl::clock_of_time);
    if (text != hmmctl::clock_of_instructions)
        throw failure(fmt::format("HMMRT_CLOCK={}: not {}", text, hmmctl::clock_of_instructions));
    return text;
}

bench_result describe_run(const bench_plan& plan) {
    utsname machine = {};
    uname(&machine);
    bench_result result;
    result.version = HMMCTL_VERSION;
    result.kernel = machine.release;
    result.clock = clock_of_machine();
    result.processors = std::thread::hardware_concurrency();
    result.device = describe(hmm::device(0));
    result.pages = plan.pages;
    result.huge_pages = huge_page_mode();
    result.repeats = plan.repeats;
    result.quick = plan.quick;
    return result;
}

std::uint64_t available_memory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kib = 0;
    while (file >> name >> kib) {
        if (name == "MemAvailable:") return kib << 10;
        std::getline(file, name);
    }
    throw failure("/proc/meminfo does not say how much memory is available");
}

std::size_t bytes_of(double footprint, const hmmctl::bench_device& device) {
    const double pages = footprint * static_cast<double>(device.memory_bytes / page_bytes);
    return std::max(least_bytes, static_cast<std::size_t>(pages) * page_bytes);
}

/// Graphs and matrices have 32-bit indexes.
constexpr std::size_t most_bytes = std::size_t{16} << 30;

/// A case needs at most its data, a copy with adjusted addresses and a copy for the device. A
/// simulated device's memory is system memory, too.
void require_memory(const bench_plan& plan, const hmmctl::bench_device& device) {
    const double largest = *std::max_element(plan.footprints.begin(), plan.footprints.end());
    const std::size_t data = bytes_of(largest, device);
    const bool copies =
        std::find(plan.transfers.begin(), plan.transfers.end(), "copy") != plan.transfers.end();
    if (!device.simulated && largest > 1 && copies)
        throw failure("the cpu device does not evict: copies need a footprint of at most 1");
    const std::uint64_t wanted = 3 * data + (device.simulated ? device.memory_bytes : 0),
                        available = available_memory();
    if (wanted > available)
        throw failure(fmt::format(
            "footprint {} takes {} of system memory, and {} are available{}", largest,
            hmmctl::size_text(wanted), hmmctl::size_text(available),
            device.simulated ? "" : "; HMMRT_DEVICE_MEMORY makes the cpu device smaller"));
    if (data > most_bytes)
        throw failure(fmt::format("footprint {} is {} of data, and the patterns have at most {}",
                                  largest, hmmctl::size_text(data), hmmctl::size_text(most_bytes)));
}

// ---- phases

using phase_sums = std::map<std::string, std::uint64_t>;

constexpr std::uint32_t ring_events = 1u << 17;

/// Opens this process's space. A process only has one, so it is the runtime's.
tools::descriptor own_space() {
    tools::descriptor file = hmmctl::open_manager();
    hmmrt_space_create create = {};
    create.size = sizeof(create);
    if (ioctl(file.get(), HMMRT_IOC_SPACE_CREATE, &create) != 0)
        throw failure(std::string("cannot open the space: ") + std::strerror(errno));
    return file;
}

bool has_wanted_phases(const hmmrt_event& event) {
    return event.type == HMMRT_EVENT_DEVICE_FAULT || event.type == HMMRT_EVENT_CPU_FAULT ||
           (event.type == HMMRT_EVENT_MIGRATION && event.cause == HMMRT_CAUSE_PREFETCH);
}

/// Records the events of this process, from its construction.
class phase_recorder {
  public:
    /// Throws failure if events can't be recorded here.
    phase_recorder()
        : space_(own_space()),
          ring_(hmmctl::open_ring_of_space({getpid(), space_.get()}, ring_events)) {}

    /// Returns the time of device faults, CPU faults and prefetches, in nanoseconds, and
    /// dropped_events.
    phase_sums take() {
        std::vector<hmmrt_event> events;
        ring_->read(events);
        phase_sums sums;
        for (std::size_t phase = 0; phase < HMMRT_EVENT_PHASES; phase++) {
            std::uint64_t& sum = sums[hmmctl::phase_name(phase)];
            for (const hmmrt_event& event : events)
                if (has_wanted_phases(event)) sum += event.phase[phase];
        }
        sums["dropped_events"] = hmmctl::sum_of(ring_->dropped());
        return sums;
    }

  private:
    tools::descriptor space_;
    std::unique_ptr<hmmctl::event_source> ring_;
};

// ---- cases

void add(bench_case& to, const sample& one) {
    to.move_in.samples.push_back(one.move_in);
    to.kernel.samples.push_back(one.kernel);
    to.read_back.samples.push_back(one.read_back);
    to.total.samples.push_back(one.move_in + one.kernel + one.read_back);
}

/// All cases of a pattern and a footprint. They take turns, so that all run under the same system
/// load.
class case_group {
  public:
    case_group(const pattern& of, double footprint, std::size_t bytes,
               const std::vector<std::string>& transfers, page_kind pages)
        : runner_(of, bytes, pages) {
        add_case(of, hmmctl::cpu_loop, footprint, bytes);
        for (const std::string& transfer : transfers)
            add_case(of, transfer, footprint, bytes);
    }

    /// The first round is a warm-up and doesn't count: it loads code, and determines the expected
    /// result.
    void measure(unsigned repeats) {
        for (unsigned round = 0; round <= repeats; round++)
            for (std::size_t i = 0; i < cases_.size(); i++) {
                // the CPU goes first in the warm-up; later, each case goes first in turn
                const std::size_t place = (round + i) % cases_.size();
                const sample one = run(cases_[place]);
                if (round == 0) continue;
                add(cases_[place], one);
                for (const auto& [name, value] : one.counts)
                    counts_[place][name].push_back(value);
            }
        for (std::size_t i = 0; i < cases_.size(); i++)
            for (auto& [name, values] : counts_[i])
                cases_[i].counts[name] = middle(values);
    }

    /// Recording slows everything down for a while, so call this after all measurements.
    void record_phases() {
        for (bench_case& one : cases_) {
            if (one.transfer == hmmctl::cpu_loop) continue;
            phase_recorder recorder;
            run(one);
            one.phases = recorder.take();
        }
    }

    std::vector<bench_case>& cases() { return cases_; }

  private:
    void add_case(const pattern& of, std::string_view transfer, double footprint,
                  std::size_t bytes) {
        bench_case one;
        one.pattern = of.name;
        one.transfer = transfer;
        one.footprint = footprint;
        one.bytes = bytes;
        cases_.push_back(std::move(one));
        counts_.emplace_back();
    }
    sample run(const bench_case& of) {
        return of.transfer == hmmctl::cpu_loop ? runner_.run_on_cpu()
                                               : runner_.run_on_device(of.transfer);
    }
    static std::uint64_t middle(std::vector<std::uint64_t>& values) {
        const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), at, values.end());
        return *at;
    }

    case_runner runner_;
    std::vector<bench_case> cases_;
    std::vector<std::map<std::string, std::vector<std::uint64_t>>> counts_;
};

const pattern& pattern_of(const std::string& name) {
    const pattern* const found = find_pattern(name);
    if (found == nullptr) throw failure("there is no pattern " + name);
    return *found;
}

void measure_cases(const bench_plan& plan, bench_result& result) {
    const page_kind pages = page_kind_of(plan.pages);
    std::vector<case_group> groups;
    for (const double footprint : plan.footprints)
        for (const std::string& name : plan.patterns) {
            const std::size_t bytes = bytes_of(footprint, result.device);
            std::fprintf(stderr, "%s, footprint %g (%s)\n", name.c_str(), footprint,
                         hmmctl::size_text(bytes).c_str());
            groups.emplace_back(pattern_of(name), footprint, bytes, plan.transfers, pages)
                .measure(plan.repeats);
        }
    if (result.device.simulated) {
        std::fprintf(stderr, "phases\n");
        for (case_group& group : groups)
            group.record_phases();
    }
    for (case_group& group : groups)
        for (bench_case& one : group.cases())
            result.cases.push_back(std::move(one));
}

// ---- peers

constexpr std::size_t quick_peer_pages = 1024, peer_pages = 16384;

/// The number of pages that each peer moves: at most half of the device's memory.
std::size_t pages_of_peers(const bench_plan& plan, const hmmctl::bench_device& device) {
    return std::min<std::size_t>(plan.quick ? quick_peer_pages : peer_pages,
                                 device.memory_bytes / page_bytes / 2);
}

/// All peers take turns. The first round is a warm-up.
void measure_peers(const bench_plan& plan, bench_result& result) {
    std::vector<std::unique_ptr<peer>> peers;
    for (const std::string& name : plan.peers) {
        hmmctl::bench_peer& described = result.peers.emplace_back();
        described.name = name;
        try {
            peers.push_back(make_peer(name, pages_of_peers(plan, result.device)));
            described.operations = peers.back()->operations();
        } catch (const not_possible& reason) {
            peers.push_back(nullptr);
            described.unavailable = reason.what();
        }
    }
    if (!peers.empty()) std::fprintf(stderr, "peers\n");
    for (unsigned round = 0; round <= plan.repeats; round++)
        for (std::size_t i = 0; i < peers.size(); i++) {
            const std::size_t place = (round + i) % peers.size();
            if (!peers[place]) continue;
            const double taken = peers[place]->measure();
            if (round > 0) result.peers[place].taken.samples.push_back(taken);
        }
}

} // namespace

bench_result measure(const bench_plan& plan) {
    hmm::launch(1, [](std::size_t) {}); // starts the device
    hmm::synchronize();
    bench_result result = describe_run(plan);
    measure_scaling(plan, static_cast<unsigned>(hmm::device_count()), result);
    measure_peers(plan, result); // before patterns, because recording slows everything down
    if (!plan.patterns.empty()) {
        require_memory(plan, result.device);
        measure_cases(plan, result);
    }
    return result;
}

} // namespace bench
