// SPDX-License-Identifier: MIT
#include "top.hpp"

#include "intervals.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hmmctl {
namespace {

constexpr const char* clear_terminal = "\033[H\033[2J";
constexpr double mebibyte = 1 << 20;

/// The counters of devices and of the space itself, added up.
struct sums {
    std::uint64_t device_faults = 0, cpu_faults = 0, to_devices = 0, to_host = 0, evictions = 0;
};

void add(sums& to, const counters& counted) {
    to.device_faults += value_of(counted, "device_faults");
    to.cpu_faults += value_of(counted, "cpu_faults");
    to.to_devices += value_of(counted, "migrated_to_device");
    to.to_host += value_of(counted, "migrated_to_host") + value_of(counted, "evicted_pages");
    to.evictions += value_of(counted, "evictions");
}

sums sums_of(const space& changed) {
    sums result;
    add(result, changed.counted);
    for (const bound_device& device : changed.devices)
        add(result, device.counted);
    return result;
}

/// Returns the terminal's height in lines, 0 if standard output isn't a terminal.
std::size_t terminal_lines() {
    winsize size = {};
    if (!isatty(STDOUT_FILENO)) return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

} // namespace

std::vector<process_rates> rates_between(const process_scan& earlier, const process_scan& now,
                                         double seconds, std::uint64_t bytes_of_page) {
    std::vector<process_rates> rates;
    const auto page = static_cast<double>(bytes_of_page);
    for (const process& of : now.processes) {
        const sums changed = sums_of(counted_since(of.mirrored, space_in(earlier, of.mirrored.id)));
        const auto per_second = [&](std::uint64_t value) {
            return static_cast<double>(value) / seconds;
        };
        rates.push_back({of, per_second(changed.device_faults), per_second(changed.cpu_faults),
                         per_second(changed.to_devices) * page, per_second(changed.to_host) * page,
                         per_second(changed.evictions)});
    }
    std::stable_sort(rates.begin(), rates.end(), [](const auto& a, const auto& b) {
        return a.device_faults > b.device_faults;
    });
    return rates;
}

std::string text_of(const std::vector<process_rates>& rates) {
    table rows({{"PID", true},
                {"USED", true},
                {"FAULTS/S", true},
                {"CPU FAULTS/S", true},
                {"IN MiB/S", true},
                {"OUT MiB/S", true},
                {"EVICTIONS/S", true},
                {"NAME"}});
    for (const process_rates& one : rates)
        rows.add({std::to_string(one.of.pid), size_text(one.of.mirrored.used_bytes()),
                  fmt::format("{:.1f}", one.device_faults), fmt::format("{:.1f}", one.cpu_faults),
                  fmt::format("{:.1f}", one.bytes_to_devices / mebibyte),
                  fmt::format("{:.1f}", one.bytes_to_host / mebibyte),
                  fmt::format("{:.1f}", one.evictions), printable(one.of.name)});
    return rows.text();
}

std::string first_lines(const std::string& text, std::size_t number) {
    std::size_t end = 0;
    for (; number > 0 && end < text.size(); number--)
        end = std::min(text.find('\n', end), text.size() - 1) + 1;
    return text.substr(0, end);
}

output show_top(double interval, unsigned count) {
    const auto page = static_cast<std::uint64_t>(getpagesize());
    const char* between = "";
    const auto show = [&](const process_scan& earlier, const process_scan& now, double seconds) {
        const std::string text = text_of(rates_between(earlier, now, seconds, page));
        if (const std::size_t lines = terminal_lines())
            print_now(clear_terminal + first_lines(text, lines - 1));
        else
            print_now(between + text);
        between = "\n";
    };
    each_interval(
        interval, count, [] { return scan_processes(); }, show);
    return {};
}

} // namespace hmmctl
