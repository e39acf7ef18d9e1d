// SPDX-License-Identifier: MIT
#include "summary_text.hpp"

#include "advice_text.hpp"
#include "allocation_sites.hpp"
#include "event_names.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace hmmctl {
namespace {

std::string title_of(const trace_header& header, std::uint32_t id) {
    if (id == HMMRT_LOCATION_NONE) return "No device";
    const auto found = std::find_if(header.devices.begin(), header.devices.end(),
                                    [&](const trace_device& device) { return device.id == id; });
    return fmt::format("Device \"{} ({})\"",
                       found == header.devices.end() ? "?" : printable(found->name), id);
}

/// The lines of one device. Omits lines whose count is 0.
class device_table {
  public:
    explicit device_table(std::uint32_t page_size) : page_size_(page_size) {}

    void add_moved(const char* name, const tally& of) {
        if (of.count == 0) return;
        rows_.add({std::to_string(of.count), size_text(of.pages * page_size_ / of.count),
                   size_text(of.min_pages * page_size_), size_text(of.max_pages * page_size_),
                   size_text(of.pages * page_size_), time_text(of.nanoseconds), name});
    }
    void add_timed(const char* name, const tally& of) {
        if (of.count != 0) add(name, of.count, "-", time_text(of.nanoseconds));
    }
    void add_sized(const char* name, const tally& of) {
        if (of.count != 0) add(name, of.count, size_text(of.pages * page_size_), "-");
    }
    void add_counted(const char* name, std::uint64_t count) {
        if (count != 0) add(name, count, "-", "-");
    }
    std::string text() const { return rows_.text(); }

  private:
    void add(const char* name, std::uint64_t count, const std::string& size,
             const std::string& time) {
        rows_.add({std::to_string(count), "-", "-", "-", size, time, name});
    }

    std::uint32_t page_size_;
    table rows_{{{"Count", true},
                 {"Avg Size", true},
                 {"Min Size", true},
                 {"Max Size", true},
                 {"Total Size", true},
                 {"Total Time", true},
                 {"Name"}}};
};

std::string device_text(const device_summary& device, std::uint32_t page_size) {
    device_table rows(page_size);
    rows.add_moved("Host To Device", device.host_to_device);
    rows.add_moved("Device To Host", device.device_to_host);
    rows.add_moved("Device To Device", device.device_to_device);
    rows.add_moved("Device To Host by eviction", device.evicted);
    rows.add_timed("Device fault batches", device.batches);
    rows.add_timed("Device faults", device.faults);
    rows.add_timed("Failed device faults", device.failed_faults);
    rows.add_counted("Replays", device.replays.count);
    rows.add_timed("Throttles", device.throttles);
    rows.add_counted("Thrashing", device.thrashing[HMMRT_EVENT_THRASHING_DETECTED]);
    rows.add_counted("Thrash pins", device.thrashing[HMMRT_EVENT_THRASHING_PINNED]);
    rows.add_sized("Remote mappings", device.remote_maps);
    rows.add_sized("Duplicates", device.duplicates);
    rows.add_sized("Evictions", device.evictions);
    rows.add_sized("Refusals", device.refusals);
    return rows.text();
}

std::uint64_t whole_of(const phase_times& phases) {
    return std::accumulate(phases.begin(), phases.end(), std::uint64_t{0});
}

phase_times device_phases(const summary& sums) {
    phase_times all = {};
    for (const auto& [id, device] : sums.devices())
        for (std::size_t i = 0; i < all.size(); i++)
            all[i] += device.phases[i];
    return all;
}

std::string phases_text(const summary& sums) {
    const phase_times device = device_phases(sums), &cpu = sums.cpu_phases();
    if (whole_of(device) + whole_of(cpu) == 0) return "";
    table rows({{"Phase"},
                {"Device faults", true},
                {"Share", true},
                {"CPU faults", true},
                {"Share", true}});
    for (std::size_t i = 0; i < device.size(); i++)
        rows.add({phase_name(i), time_text(device[i]), share_text(device[i], whole_of(device)),
                  time_text(cpu[i]), share_text(cpu[i], whole_of(cpu))});
    return "\nTime of faults by phase\n" + indented(rows.text());
}

std::uint64_t device_faults(const summary& sums) {
    std::uint64_t all = 0;
    for (const auto& [id, device] : sums.devices())
        all += device.faults.count + device.failed_faults.count;
    return all;
}

std::string blocks_text(const summary_of& what) {
    const summary::hot blocks = what.sums.hottest_blocks(places_listed);
    if (blocks.empty()) return "";
    const std::uint64_t all = all_faults(what.sums);
    table rows({{"Share", true},
                {"Device faults", true},
                {"CPU faults", true},
                {"PID", true},
                {"Address", true}});
    for (const auto& [at, of] : blocks)
        rows.add({share_text(of.device_faults + of.cpu_faults, all),
                  std::to_string(of.device_faults), std::to_string(of.cpu_faults),
                  std::to_string(what.process_of(at.space).pid), fmt::format("{:#x}", at.addr)});
    return "\nBlocks of 2 MiB with the most faults\n" + indented(rows.text());
}

/// @title is the table's. @all is the number of all faults of the kind that the table counts.
std::string code_text(const summary_of& what, const char* title, const summary::hot& code,
                      std::uint64_t all) {
    if (code.empty()) return "";
    table rows(
        {{"Share", true}, {"Faults", true}, {"Time", true}, {"Memory"}, {"Function"}, {"Place"}});
    const std::vector<symbol> names = what.names_of(code);
    for (std::size_t i = 0; i < code.size(); i++) {
        const touches& of = code[i].second;
        const symbol& name = names[i];
        const summary::place& at = code[i].first;
        const std::string memory =
            memory_text(what, at.space, what.sums.annotations().memory_of_code(at.space, at.addr));
        const std::uint64_t faults = of.device_faults + of.cpu_faults;
        rows.add({share_text(faults, all), std::to_string(faults), time_text(of.nanoseconds),
                  memory.empty() ? "-" : memory,
                  name.function.empty() ? "?" : printable(name.function), printable(name.place)});
    }
    return fmt::format("\n{}\n{}", title, indented(rows.text()));
}

std::string codes_text(const summary_of& what) {
    const summary& sums = what.sums;
    return code_text(what, "Code with the most device faults", sums.hottest_code(places_listed),
                     device_faults(sums)) +
           code_text(what, "Code with the most CPU faults", sums.hottest_cpu_code(places_listed),
                     sums.cpu_faults().count);
}

std::string names_text(const summary_of& what) {
    const auto names = what.sums.annotations().hottest_names(places_listed);
    if (names.empty()) return "";
    const std::uint64_t all = all_faults(what.sums);
    table rows(
        {{"Share", true}, {"Device faults", true}, {"CPU faults", true}, {"PID", true}, {"Name"}});
    for (const auto& [key, of] : names)
        rows.add({share_text(of.device_faults + of.cpu_faults, all),
                  std::to_string(of.device_faults), std::to_string(of.cpu_faults),
                  std::to_string(what.process_of(key.space).pid), printable(key.text)});
    return "\nNamed memory with the most faults\n" + indented(rows.text());
}

std::string sections_text(const summary_of& what) {
    const auto sections = what.sums.annotations().longest_sections(places_listed);
    if (sections.empty()) return "";
    table rows(
        {{"Count", true}, {"Total Time", true}, {"Device faults", true}, {"PID", true}, {"Name"}});
    for (const auto& [key, of] : sections)
        rows.add({std::to_string(of.count), time_text(of.nanoseconds),
                  std::to_string(of.device_faults), std::to_string(what.process_of(key.space).pid),
                  printable(key.text)});
    return "\nProgram sections with the most time\n" + indented(rows.text());
}

std::string dropped_text(const event_drops& dropped) {
    if (sum_of(dropped) == 0) return "";
    std::string text =
        fmt::format("\n{} events were lost because the ring was full:", sum_of(dropped));
    for (std::size_t type = 0; type < dropped.size(); type++)
        if (dropped[type] != 0) text += fmt::format(" {} {}", dropped[type], type_name(type));
    return text + '\n';
}

} // namespace

const observed_process& summary_of::process_of(std::uint64_t space) const {
    static const observed_process unknown;
    const auto found = processes.find(space);
    return found == processes.end() ? unknown : found->second;
}

std::vector<symbol> summary_of::names_of(const summary::hot& code) const {
    std::vector<summary::place> unknown;
    std::vector<instruction> instructions;
    for (const auto& [at, of] : code)
        if (!known_names.contains(at)) {
            unknown.push_back(at);
            instructions.push_back({process_of(at.space), at.addr});
        }
    const std::vector<symbol> found = symbols_of(instructions);
    for (std::size_t i = 0; i < found.size(); i++)
        known_names.emplace(unknown[i], found[i]);
    std::vector<symbol> names;
    names.reserve(code.size());
    for (const auto& [at, of] : code)
        names.push_back(known_names.at(at));
    return names;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-"
                      : fmt::format("{:.1f}%",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string indented(const std::string& text) {
    std::istringstream lines(text);
    std::string result, line;
    while (std::getline(lines, line))
        result += "  " + line + '\n';
    return result;
}

std::uint64_t all_faults(const summary& sums) {
    return device_faults(sums) + sums.cpu_faults().count;
}

std::string time_text(std::uint64_t nanoseconds) {
    const auto value = static_cast<double>(nanoseconds);
    if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
    if (nanoseconds < 999'995) return fmt::format("{:.2f} us", value / 1e3);
    if (nanoseconds < 999'995'000) return fmt::format("{:.2f} ms", value / 1e6);
    return fmt::format("{:.2f} s", value / 1e9);
}

std::string text_of(const summary_of& what) {
    std::string text = "Unified memory profiling result:\n";
    for (const auto& [id, device] : what.sums.devices()) {
        const std::string lines = device_text(device, what.header.page_size);
        if (std::count(lines.begin(), lines.end(), '\n') > 1)
            text += title_of(what.header, id) + '\n' + indented(lines);
    }
    const tally& cpu = what.sums.cpu_faults();
    text += fmt::format("Total CPU faults: {}{}\n", cpu.count,
                        cpu.count ? ", in " + time_text(cpu.nanoseconds) : "");
    return text + phases_text(what.sums) + sections_text(what) + names_text(what) +
           allocations_text(what) + blocks_text(what) + codes_text(what) + advice_text(what) +
           dropped_text(what.dropped);
}

} // namespace hmmctl
