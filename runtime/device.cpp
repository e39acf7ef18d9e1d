// SPDX-License-Identifier: MIT
#include "device.hpp"

#include "failure.hpp"
#include "process.hpp"
#include "report.hpp"

#include <cerrno>

namespace hmmrt {

device::device(process& owner, int number, std::uint32_t id, std::string name)
    : owner_(owner), number_(number), id_(id), name_(std::move(name)) {}

std::shared_ptr<session> device::current() {
    const std::lock_guard lock(session_lock_);
    return session_;
}

std::shared_ptr<session> device::ensure_session() {
    if (auto running = current()) return running;
    auto fresh = std::allocate_shared<session>(own_memory_allocator<session>(), owner_.parked(),
                                               owner_.session_options_for(name_));
    const std::lock_guard lock(session_lock_);
    session_ = fresh;
    return fresh;
}

std::uint32_t device::lanes() {
    const auto running = current();
    return running ? running->lanes() : owner_.lane_count();
}

void device::throw_if_broken(session& running) {
    if (const fault_block* fault = running.fault())
        throw failure(error_of(*fault), describe(*fault, number_));
}

void device::start() {
    const std::lock_guard lock(lock_);
    throw_if_broken(*ensure_session());
}

void device::launch(const launch_request& request) {
    const std::lock_guard lock(lock_);
    const auto running = ensure_session();
    throw_if_broken(*running);
    if (request.items == 0) {
        if (request.destroy != nullptr) request.destroy(request.closure);
        return;
    }
    if (!running->submit(request))
        throw failure(hmmErrorDeviceLost,
                      "device " + std::to_string(number_) +
                          ": its agent has ended; hmmDeviceReset() starts anew");
}

void device::synchronize() {
    const auto running = current();
    if (!running) return;
    const bool reached = running->wait(running->submitted());
    running->reap();
    throw_if_broken(*running);
    if (!reached)
        throw failure(hmmErrorDeviceLost,
                      "device " + std::to_string(number_) +
                          ": its agent has ended; hmmDeviceReset() starts anew");
    if (const int error = running->take_prefetch_error(); error != 0)
        throw failure(error == ENOMEM ? hmmErrorMemoryAllocation : hmmErrorInvalidValue,
                      describe_errno("prefetch", error));
}

void device::reset() {
    const std::lock_guard lock(lock_);
    std::shared_ptr<session> old;
    {
        const std::lock_guard swap(session_lock_);
        old = std::move(session_);
        session_ = nullptr;
    }
    if (old) old->stop();
}

void device::set_strict(bool strict) {
    if (const auto running = current()) running->set_strict(strict);
}

hmmError_t device::sticky_error() {
    const auto running = current();
    if (!running) return hmmSuccess;
    if (const fault_block* fault = running->fault()) return error_of(*fault);
    return running->lost() ? hmmErrorDeviceLost : hmmSuccess;
}

hmmFaultRecord device::last_fault() {
    hmmFaultRecord none = {};
    none.device = number_;
    none.system_call = -1;
    const auto running = current();
    const fault_block* fault = running ? running->fault() : nullptr;
    return fault != nullptr ? record_of(*fault, number_) : none;
}

} // namespace hmmrt
