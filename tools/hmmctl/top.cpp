// SPDX-License-Identifier: MIT
#include "top.hpp"

#include "clocks.hpp"
#include "failure.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

namespace hmmctl {
namespace {

constexpr const char* clear_terminal = "\033[H\033[2J";
constexpr double mebibyte = 1 << 20;

/// The counters of devices and of the space itself, added up.
struct sums {
    std::uint64_t device_faults = 0, cpu_faults = 0, to_devices = 0, to_host = 0, evictions = 0;
};

void add(sums& to, const counters& counted, bool subtract) {
    const auto change = [&](std::uint64_t& sum, const char* name) {
        const std::uint64_t value = value_of(counted, name);
        sum += subtract ? -value : value;
    };
    change(to.device_faults, "device_faults");
    change(to.cpu_faults, "cpu_faults");
    change(to.to_devices, "migrated_to_device");
    change(to.to_host, "migrated_to_host");
    change(to.to_host, "evicted_pages");
    change(to.evictions, "evictions");
}

const space* find_space(const process_scan& scan, std::uint64_t id) {
    for (const process& of : scan.processes)
        if (of.mirrored.id == id) return &of.mirrored;
    return nullptr;
}

/// A device that was bound again since counts from 0.
sums difference(const space& now, const space* earlier) {
    sums result;
    add(result, now.counted, false);
    if (earlier) add(result, earlier->counted, true);
    for (const bound_device& device : now.devices) {
        add(result, device.counted, false);
        if (!earlier) continue;
        for (const bound_device& before : earlier->devices)
            if (before.id == device.id && before.binding == device.binding)
                add(result, before.counted, true);
    }
    return result;
}

void print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF)
        throw failure(fmt::format("cannot write the result: {}", std::strerror(errno)));
}

/// Returns the lines of the terminal, 0 if standard output is none.
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
        const sums changed = difference(of.mirrored, find_space(earlier, of.mirrored.id));
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
    process_scan earlier = scan_processes();
    std::uint64_t start = nanoseconds_of(CLOCK_MONOTONIC);
    for (unsigned shown = 0; count == 0 || shown < count; shown++) {
        std::this_thread::sleep_for(std::chrono::duration<double>(interval));
        process_scan now = scan_processes();
        const std::uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
        const double seconds = static_cast<double>(end - start) / nanoseconds_in_second;
        const std::string text = text_of(rates_between(earlier, now, seconds, page));
        if (const std::size_t lines = terminal_lines())
            print(clear_terminal + first_lines(text, lines - 1));
        else
            print((shown ? "\n" : "") + text);
        earlier = std::move(now);
        start = end;
    }
    return {};
}

} // namespace hmmctl
