// SPDX-License-Identifier: MIT
#include "machine/simulated_machine.hpp"

#include "base/failure.hpp"
#include "base/fork_guard.hpp"
#include "machine/agent_process.hpp"
#include "sys/ioctl.hpp"
#include "thread/exit_guard.hpp"

#include <cerrno>

namespace hmmrt {
namespace {

constexpr const char* manager_path = "/dev/hmmrt";

bool means_no_modules(int error) {
    return error == -ENOENT || error == -ENXIO || error == -ENODEV;
}

[[noreturn]] void throw_modules_error(const char* operation, int error) {
    const bool another = error == -ENOTTY || error == -E2BIG;
    throw failure(another ? hmmErrorInsufficientDriver : hmmErrorInitializationError,
                  describe_errno(operation, error));
}

/// Opens a file without a space, for operations that aren't about a process.
unique_fd open_manager() {
    unique_fd manager(sys::open_file(manager_path));
    const int error = manager.get();
    if (error >= 0) return manager;
    if (means_no_modules(error))
        throw failure(hmmErrorNoDevice, describe_errno(manager_path, error) + "; " +
                                            hmmGetErrorString(hmmErrorNoDevice));
    throw failure(hmmErrorDevicesUnavailable, describe_errno(manager_path, error));
}

} // namespace

bool modules_are_loaded() {
    return !means_no_modules(unique_fd(sys::open_file(manager_path)).get());
}

hmmrt_info simulated_machine::info() {
    const unique_fd manager = open_manager();
    hmmrt_info info = {};
    if (const int error = sys::get_info(manager.get(), info); error < 0)
        throw_modules_error("cannot get the device count", error);
    if (info.out_uapi_version != HMMRT_UAPI_VERSION)
        throw failure(hmmErrorInsufficientDriver, "the loaded modules have interface version " +
                                                      std::to_string(info.out_uapi_version) +
                                                      ", this library needs version " +
                                                      std::to_string(HMMRT_UAPI_VERSION));
    return info;
}

int simulated_machine::get_device_info(hmmrt_device_info& info) {
    const int error = sys::get_device_info(open_manager().get(), info);
    if (error < 0 && error != -ENODEV)
        throw_modules_error("cannot get information about the device", error);
    return error;
}

int simulated_machine::space() {
    const std::lock_guard lock(lock_);
    if (space_.get() >= 0) return space_.get();
    fork_guard::arm();
    unique_fd fresh = open_manager();
    if (const int error = sys::create_space(fresh.get()); error < 0)
        throw_modules_error("cannot create the space", error);
    parked_.process = sys::process_id();
    if (parked_.break_signal == 0) parked_.break_signal = install_break_signal();
    if (parked_.break_signal == 0)
        throw failure(hmmErrorInitializationError,
                      "no real-time signal is free: the program uses all of them");
    prepare_exit_guard();
    fork_guard::add(fresh.get());
    space_ = std::move(fresh);
    return space_.get();
}

std::unique_ptr<executor> simulated_machine::start(const executor_options& options) {
    return std::make_unique<agent_process>(
        parked_,
        agent_options{"/dev/" + options.device_name, space(), options.lanes, options.strict});
}

int simulated_machine::prefetch(hmmrt_prefetch& request) {
    return sys::prefetch(space(), request);
}

int simulated_machine::advise(hmmrt_advise& request) {
    return sys::advise_range(space(), request);
}

int simulated_machine::get_range_attributes(hmmrt_range_attributes& request) {
    return sys::get_range_attributes(space(), request);
}

int simulated_machine::get_residency(hmmrt_residency& request) {
    return sys::get_residency(space(), request);
}

int simulated_machine::get_pages(hmmrt_pages& request) {
    return sys::get_pages(space(), request);
}

int simulated_machine::control_peer(hmmrt_peer& request) {
    return sys::control_peer(space(), request);
}

int simulated_machine::control_knob(hmmrt_knob& request) {
    if (request.scope == HMMRT_SCOPE_DEVICE)
        return sys::control_knob(open_manager().get(), request);
    return sys::control_knob(space(), request);
}

int simulated_machine::control_quota(hmmrt_quota& request) {
    if (request.scope == HMMRT_QUOTA_OF_CGROUP)
        return sys::control_quota(open_manager().get(), request);
    return sys::control_quota(space(), request);
}

int simulated_machine::get_stats(hmmrt_stats& request) {
    return sys::get_stats(space(), request);
}

int simulated_machine::annotate(hmmrt_annotate& request) {
    return sys::annotate(space(), request);
}

int simulated_machine::create_object(hmmrt_object_create& request) {
    return sys::create_object(space(), request);
}

/// Other files don't know the request, and may fail with a different error.
int simulated_machine::get_object_info(int fd, hmmrt_object_info& info) {
    const int error = sys::get_object_info(fd, info);
    return error < 0 && error != -ENOMEM ? -EINVAL : error;
}

/// Nothing to do: the modules free the memory with the last reference.
void simulated_machine::forget_object(std::uint32_t, std::size_t) noexcept {}

int simulated_machine::control_access(hmmrt_access& request) {
    return sys::control_access(space(), request);
}

void simulated_machine::migrate_back(std::uint64_t address, std::size_t bytes) {
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

/// Device faults migrate the pages later. Until then they take no device
/// memory.
int simulated_machine::place(std::uint64_t address, std::size_t bytes, std::uint32_t device_id) {
    hmmrt_advise request = {};
    request.addr = address;
    request.len = bytes;
    request.advice = HMMRT_ADVICE_SET_PREFERRED_LOCATION;
    request.location = device_id;
    return advise(request);
}

/// Nothing to do: the modules see it themselves.
void simulated_machine::unmapped(std::uint64_t, std::size_t) noexcept {}

} // namespace hmmrt
