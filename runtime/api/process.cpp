// SPDX-License-Identifier: MIT
#include "api/process.hpp"

#include "base/device_uuid.hpp"
#include "base/failure.hpp"
#include "base/fork_guard.hpp"
#include "base/settings.hpp"
#include "sys/syscalls.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace hmmrt {

process& process::get() {
    static process* const instance = new process;
    return *instance;
}

const device_list& process::devices() {
    machine& of = where();
    const std::lock_guard lock(lock_);
    if (devices_.empty()) devices_ = enumerate(of);
    return devices_;
}

namespace {

struct found_device {
    std::uint32_t id;
    std::string name;
};

std::vector<found_device> find_devices(machine& of) {
    const hmmrt_info info = of.info();
    std::vector<found_device> all;
    for (std::uint32_t id = 0; id < HMMRT_MAX_DEVICES && all.size() < info.out_devices; id++) {
        hmmrt_device_info found = {};
        found.device_id = id;
        if (of.get_device_info(found) == -ENODEV) continue;
        found.out_name[HMMRT_DEVICE_NAME_LEN - 1] = '\0';
        all.push_back({id, reinterpret_cast<const char*>(found.out_name)});
    }
    if (all.empty())
        throw failure(
            hmmErrorNoDevice,
            "the hmmrt module is loaded, but there is no device: run modprobe hmmrt_simgpu");
    return all;
}

/// Keeps the devices that the variable makes visible.
void keep_visible(std::vector<found_device>& all, const char* variable) {
    const char* const text = sys::environment(variable);
    std::vector<std::string> uuids;
    uuids.reserve(all.size());
    for (const found_device& each : all)
        uuids.push_back(uuid_text(each.name));
    std::vector<found_device> visible;
    for (const std::size_t number : choose_visible(variable, text, uuids))
        visible.push_back(all[number]);
    if (visible.empty())
        throw failure(hmmErrorNoDevice,
                      std::string(variable) + "=" + text + ": no device is visible");
    all.swap(visible);
}

/// HIP_VISIBLE_DEVICES selects from the devices that ROCR_VISIBLE_DEVICES left,
/// and overrides CUDA_VISIBLE_DEVICES.
void keep_visible(std::vector<found_device>& all) {
    const bool hip = sys::environment("HIP_VISIBLE_DEVICES") != nullptr;
    const bool cuda = !hip && sys::environment("CUDA_VISIBLE_DEVICES") != nullptr;
    if (cuda) return keep_visible(all, "CUDA_VISIBLE_DEVICES");
    keep_visible(all, "ROCR_VISIBLE_DEVICES");
    keep_visible(all, "HIP_VISIBLE_DEVICES");
}

} // namespace

device_list process::enumerate(machine& of) {
    std::vector<found_device> all = find_devices(of);
    keep_visible(all);
    launches_block_.store(choose_blocking(sys::environment("CUDA_LAUNCH_BLOCKING")) ||
                          choose_blocking(sys::environment("HIP_LAUNCH_BLOCKING")));
    device_list list;
    list.reserve(HMMRT_MAX_DEVICES);
    for (const found_device& each : all)
        list.push_back(
            std::make_unique<device>(*this, static_cast<int>(list.size()), each.id, each.name));
    return list;
}

device& process::device_at(int number) {
    const auto& all = devices();
    if (number < 0 || static_cast<std::size_t>(number) >= all.size())
        throw failure(hmmErrorInvalidDevice, "device " + std::to_string(number) +
                                                 " does not exist (number of devices: " +
                                                 std::to_string(all.size()) + ")");
    return *all[static_cast<std::size_t>(number)];
}

hmmrt_device_info process::info_of(const device& which) {
    hmmrt_device_info info = {};
    info.device_id = which.id();
    if (where().get_device_info(info) == -ENODEV)
        throw failure(hmmErrorNoDevice, which.name() + " was removed");
    return info;
}

namespace {

/// At exit, reports device failures that the program hasn't looked at.
void note_failures() {
    if (fork_guard::is_child()) return;
    try {
        for (const auto& each : process::get().devices())
            each->note_at_exit();
    } catch (const std::exception&) {
        return; // no device
    }
}

} // namespace

std::unique_ptr<executor> process::start_lanes(const device& of) {
    executor_options options = {of.id(), of.name(), lane_count(), false};
    {
        const std::lock_guard lock(lock_);
        options.strict =
            strict_.value_or(choose_strict(sys::environment("HMMRT_STRICT"), sys::seccomp_mode()));
    }
    static const int once = std::atexit(note_failures);
    static_cast<void>(once);
    return where().start(options);
}

session_options process::session_options_for(const device& of) {
    session_options options;
    options.device = of.number();
    options.launch_limit = choose_launch_limit(sys::environment("HMMRT_LAUNCH_TIMEOUT"));
    const char* const report = sys::environment("HMMRT_REPORT");
    options.quiet = report != nullptr && std::strcmp(report, "0") == 0;
    return options;
}

std::uint32_t process::lane_count() {
    return choose_lane_count(sys::environment("HMMRT_LANES"), sys::usable_cpus());
}

void process::set_strict(bool strict) {
    {
        const std::lock_guard lock(lock_);
        strict_ = strict;
    }
    for (const auto& each : devices())
        each->set_strict(strict);
}

void process::synchronize() {
    std::exception_ptr error;
    for (const auto& each : devices()) {
        try {
            each->finish();
        } catch (...) {
            error = std::current_exception();
        }
    }
    if (error) std::rethrow_exception(error);
}

/// A reset only removes the streams that it finds. If we add one later, its
/// session is no longer current, and we try again.
std::shared_ptr<stream> process::add_stream(device& of, unsigned flags, int priority,
                                            std::uint64_t& handle) {
    for (;;) {
        auto fresh = of.create_stream(flags, priority);
        const std::uint64_t added = streams_.add(fresh);
        if (of.is_current(*fresh->running())) {
            handle = added;
            return fresh;
        }
        streams_.remove(added);
    }
}

void process::forget_session(const device& of) {
    prefetches_.forget_done();
    reserved_.forget_device(of.id());
    streams_.remove_if([&](const stream& each) { return &each.get_device() == &of; });
    events_.remove_if([&](const event& each) { return &each.get_device() == &of; });
}

} // namespace hmmrt
