// SPDX-License-Identifier: MIT
#include "doctor.hpp"

#include "table.hpp"

#include "agent/control.h"

#include <linux/hmmrt.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace hmmctl {
namespace {

using hmmrt::max_lanes;

check good(const char* name, std::string found) {
    return {name, verdict::good, std::move(found), ""};
}

check note(const char* name, std::string found, std::string advice) {
    return {name, verdict::note, std::move(found), std::move(advice)};
}

check bad(const char* name, std::string found, std::string advice) {
    return {name, verdict::bad, std::move(found), std::move(advice)};
}

bool has_option(const std::string& options, const char* option) {
    const std::string line = fmt::format("CONFIG_{}=y", option);
    return options.starts_with(line + "\n") ||
           options.find("\n" + line + "\n") != std::string::npos;
}

check check_architecture(const facts& found) {
    constexpr const char* name = "architecture";
    if (found.architecture == "x86_64") return good(name, found.architecture);
    return bad(name, found.architecture, "hmmrt runs on x86-64 only");
}

check check_kernel(const facts& found) {
    constexpr const char* name = "kernel";
    // loaded modules were built for this kernel, and they don't build without the options
    if (found.manager_loaded) return good(name, found.kernel + ", with module hmmrt loaded");
    if (!found.options)
        return bad(name, found.kernel + ", configuration not found",
                   "check that it has CONFIG_DEVICE_PRIVATE=y and CONFIG_HMM_MIRROR=y");
    std::string missing;
    for (const char* option : {"DEVICE_PRIVATE", "HMM_MIRROR", "MMU_NOTIFIER"})
        if (!has_option(*found.options, option)) missing += fmt::format(" CONFIG_{}", option);
    if (missing.empty()) return good(name, found.kernel + ", with HMM and device-private memory");
    return bad(name, fmt::format("{}, without{}", found.kernel, missing),
               "use a kernel with these options; `tools/vm run` boots one");
}

check check_modules(const facts& found) {
    constexpr const char* name = "modules";
    if (!found.manager_loaded)
        return bad(name, "hmmrt is not loaded", "as root: modprobe hmmrt_simgpu");
    if (!found.simulator_loaded)
        return note(name, "hmmrt is loaded, hmmrt_simgpu is not",
                    "as root: modprobe hmmrt_simgpu, for simulated GPUs");
    return good(name, "hmmrt and hmmrt_simgpu are loaded");
}

std::string advice_on_access(const facts& found) {
    if (found.group.empty())
        return "run as root; read Trust in docs/limits.md before giving access to other users";
    return fmt::format("as root, add the user to the group {0}: adduser NAME {0}; first read Trust "
                       "in docs/limits.md",
                       found.group);
}

check check_node(const facts& found) {
    constexpr const char* name = "manager";
    if (found.open_error == 0) return good(name, "/dev/hmmrt can be opened");
    const std::string text = fmt::format("/dev/hmmrt: {}", std::strerror(found.open_error));
    if (found.open_error == EACCES || found.open_error == EPERM)
        return bad(name, text, advice_on_access(found));
    return bad(name, text, "load the modules; udev then creates the device node");
}

check check_version(const facts& found) {
    constexpr const char* name = "version";
    const std::string text = fmt::format("interface version {} in the module, {} in hmmctl",
                                         found.uapi_version, HMMRT_UAPI_VERSION);
    if (found.uapi_version == HMMRT_UAPI_VERSION) return good(name, text);
    return bad(name, text, "use modules and programs of the same release");
}

check check_devices(const facts& found) {
    constexpr const char* name = "devices";
    std::uint64_t memory = 0, used = 0;
    std::string closed;
    for (const device_facts& device : found.devices) {
        memory += device.memory_bytes;
        used += device.used_bytes;
        if (device.open_error != 0)
            closed += fmt::format(" /dev/{}: {}.", device.name, std::strerror(device.open_error));
    }
    if (found.devices.empty()) return bad(name, "none", "as root: modprobe hmmrt_simgpu");
    if (!closed.empty()) return bad(name, "cannot open" + closed, advice_on_access(found));
    return good(name, fmt::format("{}, with {} of memory, {} of it in use", found.devices.size(),
                                  size_text(memory), size_text(used)));
}

check check_lanes(const facts& found) {
    constexpr const char* name = "lanes";
    if (found.lanes.empty())
        return good(name, fmt::format("{}, one per processor",
                                      std::clamp(found.processors, 1u, max_lanes)));
    unsigned count = 0;
    const char* end = found.lanes.data() + found.lanes.size();
    const auto [stop, error] = std::from_chars(found.lanes.data(), end, count);
    if (error == std::errc() && stop == end && count >= 1 && count <= max_lanes)
        return good(name, fmt::format("{}, set by HMMRT_LANES", count));
    return bad(name, fmt::format("HMMRT_LANES is `{}`", printable(found.lanes)),
               fmt::format("set a number from 1 to {}, or unset it", max_lanes));
}

/// A device's lanes use syscall user dispatch to intercept system calls of device code.
check check_system_calls(const facts& found) {
    constexpr const char* name = "system-calls";
    if (!found.has_dispatch)
        return bad(
            name, "the kernel has no syscall user dispatch",
            "use a kernel with CONFIG_SYSCALL_USER_DISPATCH=y; kernels before 7.3 always have it");
    if (!found.dispatch_allowed)
        return bad(name, "syscall user dispatch is turned off",
                   "as root: sysctl kernel.syscall_user_dispatch=1");
    return good(name, "system calls of device code can be intercepted");
}

check check_huge_pages(const facts& found) {
    constexpr const char* name = "huge-pages";
    if (found.huge_pages == "always" || found.huge_pages == "madvise")
        return good(name, found.huge_pages);
    return note(name, found.huge_pages.empty() ? "not supported by this kernel" : found.huge_pages,
                "everything works, but memory migrates in 4 KiB pages");
}

/// The conclusion: would a new program get a device of the modules?
check check_access(const facts& found, bool all_good) {
    constexpr const char* name = "transparent-access";
    if (found.wanted == "cpu")
        return bad(name, "off: HMMRT_DEVICE=cpu selects the cpu device", "unset HMMRT_DEVICE");
    if (!found.wanted.empty() && found.wanted != "simulated")
        return bad(name, fmt::format("off: HMMRT_DEVICE is `{}`", printable(found.wanted)),
                   "unset HMMRT_DEVICE, or set it to `simulated`");
    if (all_good)
        return good(name, "on: devices of the modules can access all memory of a program");
    return bad(name, "off: programs get the cpu device or no device",
               "fix the checks with result bad above");
}

} // namespace

bool diagnosis::is_good() const {
    return std::none_of(checks.begin(), checks.end(),
                        [](const check& one) { return one.result == verdict::bad; });
}

diagnosis diagnose(const facts& found) {
    diagnosis result;
    result.checks = {check_architecture(found), check_kernel(found), check_modules(found),
                     check_node(found)};
    // these need the manager
    if (found.open_error == 0) {
        result.checks.push_back(check_version(found));
        result.checks.push_back(check_devices(found));
    }
    result.checks.push_back(check_lanes(found));
    result.checks.push_back(check_system_calls(found));
    result.checks.push_back(check_huge_pages(found));
    result.checks.push_back(check_access(found, result.is_good()));
    result.transparent_access = result.checks.back().result == verdict::good;
    return result;
}

const char* word_for(verdict result) {
    constexpr std::array words = {"good", "note", "bad"};
    return words[static_cast<std::size_t>(result)];
}

} // namespace hmmctl
