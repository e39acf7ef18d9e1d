// SPDX-License-Identifier: MIT
#include "process.hpp"

#include "exit_guard.hpp"
#include "failure.hpp"
#include "fork_guard.hpp"
#include "settings.hpp"
#include "sys/ioctl.hpp"

#include <cerrno>
#include <cstring>
#include <exception>

namespace hmmrt {
namespace {

constexpr const char* manager_path = "/dev/hmmrt";

[[noreturn]] void throw_driver_error(const char* operation, int error) {
    const bool another = error == -ENOTTY || error == -E2BIG;
    throw failure(another ? hmmErrorInsufficientDriver : hmmErrorInitializationError,
                  describe_errno(operation, error));
}

hmmrt_info query_info(int manager) {
    hmmrt_info info = {};
    if (const int error = sys::get_info(manager, info); error < 0)
        throw_driver_error("device count", error);
    if (info.out_uapi_version != HMMRT_UAPI_VERSION)
        throw failure(hmmErrorInsufficientDriver,
                      "the modules have version " + std::to_string(info.out_uapi_version) +
                          ", this library has version " + std::to_string(HMMRT_UAPI_VERSION));
    return info;
}

} // namespace

process& process::get() {
    static process* const instance = new process;
    return *instance;
}

unique_fd process::open_manager() {
    unique_fd manager(sys::open_file(manager_path));
    const int error = manager.get();
    if (error >= 0) return manager;
    if (error == -ENOENT || error == -ENXIO || error == -ENODEV)
        throw failure(hmmErrorNoDevice, describe_errno(manager_path, error) + "; " +
                                            hmmGetErrorString(hmmErrorNoDevice));
    throw failure(hmmErrorDevicesUnavailable, describe_errno(manager_path, error));
}

const device_list& process::devices() {
    const std::lock_guard lock(lock_);
    if (devices_.empty()) {
        const unique_fd manager = open_manager();
        devices_ = enumerate(manager.get());
    }
    return devices_;
}

device_list process::enumerate(int manager) {
    const hmmrt_info info = query_info(manager);
    device_list list;
    list.reserve(HMMRT_MAX_DEVICES);
    for (std::uint32_t id = 0; id < HMMRT_MAX_DEVICES && list.size() < info.out_devices; id++) {
        hmmrt_device_info found = {};
        found.device_id = id;
        const int error = sys::get_device_info(manager, found);
        if (error == -ENODEV) continue;
        if (error < 0) throw_driver_error("device information", error);
        found.out_name[HMMRT_DEVICE_NAME_LEN - 1] = '\0';
        list.push_back(
            std::make_unique<device>(*this, static_cast<int>(list.size()), id,
                                     std::string(reinterpret_cast<const char*>(found.out_name))));
    }
    if (list.empty())
        throw failure(hmmErrorNoDevice, "the manager is loaded, but no device: modprobe "
                                        "hmmrt_simgpu");
    return list;
}

device& process::device_at(int number) {
    const auto& all = devices();
    if (number < 0 || static_cast<std::size_t>(number) >= all.size())
        throw failure(hmmErrorInvalidDevice,
                      "device " + std::to_string(number) + " of " + std::to_string(all.size()));
    return *all[static_cast<std::size_t>(number)];
}

hmmrt_device_info process::info_of(const device& which) {
    const unique_fd manager = open_manager();
    hmmrt_device_info info = {};
    info.device_id = which.id();
    const int error = sys::get_device_info(manager.get(), info);
    if (error == -ENODEV) throw failure(hmmErrorNoDevice, which.name() + " was removed");
    if (error < 0) throw_driver_error("device information", error);
    return info;
}

hmmrt_info process::info() {
    const unique_fd manager = open_manager();
    return query_info(manager.get());
}

int process::space() {
    const std::lock_guard lock(lock_);
    if (space_.get() >= 0) return space_.get();
    fork_guard::arm();
    unique_fd fresh = open_manager();
    if (const int error = sys::create_space(fresh.get()); error < 0)
        throw_driver_error("creating the space", error);
    parked_.process = sys::process_id();
    if (parked_.break_signal == 0) parked_.break_signal = install_break_signal();
    if (parked_.break_signal == 0)
        throw failure(hmmErrorInitializationError,
                      "the program uses all real-time signals; one must be free");
    guard_exit_of_process();
    fork_guard::add(fresh.get());
    space_ = std::move(fresh);
    return space_.get();
}

void process::migrate_back(std::uint64_t address, std::size_t bytes) {
    const int space = [&] {
        const std::lock_guard lock(lock_);
        return space_.get();
    }();
    if (space < 0) return;
    hmmrt_prefetch request = {};
    request.addr = address;
    request.len = bytes;
    request.location = HMMRT_LOCATION_HOST;
    sys::prefetch(space, request); // best effort
}

session_options process::session_options_for(const device& of) {
    session_options options;
    options.lanes = lane_count();
    options.space_fd = space();
    options.device = of.number();
    options.launch_limit = choose_launch_limit(sys::environment("HMMRT_LAUNCH_TIMEOUT"));
    options.device_path = "/dev/" + of.name();
    const char* const report = sys::environment("HMMRT_REPORT");
    options.quiet = report != nullptr && std::strcmp(report, "0") == 0;
    const std::lock_guard lock(lock_);
    options.strict =
        strict_.value_or(choose_strict(sys::environment("HMMRT_STRICT"), sys::seccomp_mode()));
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

/// A reset removes the streams that it finds. A stream added later belongs to a
/// session that is no longer current; the loop detects this.
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

void process::forget_streams(const device& of) {
    streams_.remove_if([&](const stream& each) { return &each.get_device() == &of; });
    events_.remove_if([&](const event& each) { return &each.get_device() == &of; });
}

} // namespace hmmrt
