// SPDX-License-Identifier: MIT
#include "session/device.hpp"

#include "base/failure.hpp"
#include "fault/report.hpp"

#include <cerrno>

namespace hmmrt {
namespace {

/// Returns the queues to wait for when waiting for a stream. The legacy stream
/// (NULL) waits for all blocking queues.
std::uint32_t queues_of(const stream* where) {
    return where != nullptr ? 1u << where->queue() : 1u << legacy_queue | blocking_queues;
}

} // namespace

device::device(device_owner& owner, int number, std::uint32_t id, std::string name)
    : owner_(owner), number_(number), id_(id), name_(std::move(name)) {}

std::shared_ptr<session> device::current() {
    const std::lock_guard lock(session_lock_);
    return session_;
}

bool device::is_current(const session& which) {
    return current().get() == &which;
}

std::shared_ptr<session> device::ensure_session() {
    if (auto running = current()) return running;
    const std::lock_guard start(lock_);
    if (auto running = current()) return running;
    auto fresh =
        std::allocate_shared<session>(own_memory_allocator<session>(), owner_.start_lanes(*this),
                                      owner_.session_options_for(*this));
    const std::lock_guard lock(session_lock_);
    starts_.fetch_add(1);
    session_ = fresh;
    return fresh;
}

std::uint32_t device::lanes() {
    const auto running = current();
    return running ? running->lanes().count() : owner_.lane_count();
}

void device::throw_if_broken(session& running, const fault_record* fault) {
    if (fault == nullptr) return;
    running.faults().set_seen();
    throw failure(
        error_of(*fault),
        describe(*fault, number_, running.watch().place(), running.faults().exception_text()),
        record_of(*fault, number_), running.faults().exception());
}

void device::throw_lost(session& running) {
    running.faults().set_seen();
    throw failure(hmmErrorDeviceLost,
                  "device " + std::to_string(number_) +
                      ": its agent process has exited; call hmmDeviceReset() to restart it",
                  no_fault(number_));
}

void device::throw_queued_error(session& running) {
    const std::uint64_t error = running.lanes().take_memory_error();
    if (error == 0) return;
    const auto number = static_cast<int>(static_cast<std::uint32_t>(error));
    switch (static_cast<entry_kind>(error >> 32)) {
    case entry_kind::advice:
        throw_memory_error("advice", number);
    case entry_kind::discard:
        throw_discard_error(number);
    default:
        throw_memory_error("prefetch", number);
    }
}

void device::start() {
    throw_if_broken(*ensure_session());
}

std::uint64_t device::enqueue(const work_request& request, stream* where) {
    for (;;) {
        const auto running = where != nullptr ? where->running() : ensure_session();
        throw_if_broken(*running);
        const std::uint64_t position =
            running->submit(where != nullptr ? where->queue() : legacy_queue, request);
        if (position != 0) {
            if (where != nullptr) where->advance(position);
            return position;
        }
        // A reset happened: continue in the default stream of the next session.
        if (where != nullptr || current() == running) throw_lost(*running);
    }
}

void device::launch(const work_request& request, stream* where) {
    if (request.items > 0 || request.kind != entry_kind::range) {
        enqueue(request, where);
        return;
    }
    throw_if_broken(*(where != nullptr ? where->running() : ensure_session()));
    if (request.destroy != nullptr) request.destroy(request.closure);
}

std::shared_ptr<stream> device::create_stream(unsigned flags, int priority) {
    for (;;) {
        const auto running = ensure_session();
        throw_if_broken(*running);
        if (!running->ended()) return make_own_shared<stream>(*this, running, flags, priority);
        // A reset happened: retry with the next session.
        if (is_current(*running)) throw_lost(*running);
    }
}

/// The caller must check for completion first and then for a fault, because
/// work that lanes dropped counts as completed.
void device::throw_if_failed(session& running, const fault_record* fault, bool there) {
    throw_if_broken(running, fault);
    if (!there) throw_lost(running);
}

/// Completes a wait. After a failure, also waits for host functions.
void device::finish_wait(session& running, std::uint32_t queues, bool there) {
    // leave later faults to the next call
    const fault_record* fault = running.fault();
    if (!there || fault != nullptr) running.await_host_functions(queues);
    throw_if_failed(running, fault, there);
}

std::shared_ptr<session> device::finish() {
    auto running = current();
    if (!running) return nullptr;
    const bool there = running->wait_all(all_queues);
    running->reap_all(all_queues);
    finish_wait(*running, all_queues, there);
    return running;
}

void device::synchronize() {
    if (const auto running = finish()) throw_queued_error(*running);
}

void device::synchronize(stream* where) {
    const auto running = where != nullptr ? where->running() : current();
    if (!running) return;
    const std::uint32_t queues = queues_of(where);
    const bool there = where != nullptr ? running->queue(where->queue()).wait(where->position())
                                        : running->wait_all(queues);
    running->reap_all(queues);
    finish_wait(*running, queues, there);
    throw_queued_error(*running);
}

bool device::idle(stream* where) {
    const auto running = where != nullptr ? where->running() : current();
    if (!running) return true;
    const std::uint32_t queues = queues_of(where);
    const bool there = where != nullptr ? running->queue(where->queue()).reached(where->position())
                                        : running->reached_all(queues);
    if (there) running->reap_all(queues);
    const bool good = there || !running->lost();
    throw_if_failed(*running, running->fault(), good);
    return there;
}

void device::record(event& which, stream* where) {
    auto point = make_own_shared<event_point>();
    work_request request;
    request.kind = which.timed() ? entry_kind::stamp : entry_kind::marker;
    request.records = point;
    enqueue(request, where);
    which.record(std::move(point));
}

/// Within one session, an entry waits for a position. For an event of another
/// session, a worker waits at a gate. In the legacy stream we queue an entry
/// even if there is nothing to wait for, because it orders earlier and later
/// work of blocking streams.
void device::wait_for(const std::shared_ptr<event_point>& point, stream* where) {
    const bool over = !point || point->running->queue(point->queue).reached(point->position);
    const auto running = where != nullptr ? where->running() : over ? current() : ensure_session();
    if (!running) return; // no work is queued
    throw_if_broken(*running);
    if (over && where != nullptr) return;
    work_request request;
    gate_task task;
    request.kind = entry_kind::marker;
    if (!over && point->running == running) {
        request.after = point.get();
    } else if (!over) {
        task.event = point;
        request.kind = entry_kind::gate;
        request.gate = &task;
    }
    enqueue(request, where);
}

void device::call_host(hmmHostFn_t function, void* data, hmmDestroyFunction_t destroy,
                       stream* where) {
    gate_task task;
    task.function = function;
    task.data = data;
    task.destroy = destroy;
    work_request request;
    request.kind = entry_kind::gate;
    request.gate = &task;
    enqueue(request, where);
}

void device::synchronize(const event_point& point) {
    session& running = *point.running;
    const bool there = running.queue(point.queue).wait(point.position);
    running.queue(point.queue).reap();
    finish_wait(running, 1u << point.queue, there);
    throw_queued_error(running);
}

bool device::happened(const event_point& point) {
    session& running = *point.running;
    const bool there = running.queue(point.queue).reached(point.position);
    if (there) running.queue(point.queue).reap();
    const bool good = there || !running.lost();
    throw_if_failed(running, running.fault(), good);
    return there;
}

void device::reset() {
    std::shared_ptr<session> old;
    {
        const std::lock_guard lock(lock_);
        {
            const std::lock_guard swap(session_lock_);
            old = std::move(session_);
            session_ = nullptr;
        }
        if (old) old->stop();
        owner_.forget_session(*this);
    }
    // The program's destroy functions may use the device again, so don't hold a
    // lock.
    if (old) old->reap_rest();
}

void device::set_strict(bool strict) {
    if (const auto running = current()) running->lanes().set_strict(strict);
}

hmmError_t device::sticky_error() {
    const auto running = current();
    if (!running) return hmmSuccess;
    const fault_record* fault = running->fault();
    if (fault != nullptr || running->lost()) running->faults().set_seen();
    if (fault != nullptr) return error_of(*fault);
    return running->lost() ? hmmErrorDeviceLost : hmmSuccess;
}

hmmFaultRecord device::last_fault() {
    const auto running = current();
    const fault_record* fault = running ? running->fault() : nullptr;
    if (fault != nullptr) running->faults().set_seen();
    return fault != nullptr ? record_of(*fault, number_) : no_fault(number_);
}

void device::note_at_exit() {
    const auto running = current();
    if (!running || running->faults().is_seen() ||
        (running->ended() && !running->lanes().is_lost()))
        return;
    const fault_record* const fault = running->fault();
    if (fault == nullptr && !running->lost()) return;
    if (running->is_quiet()) return;
    message text;
    text.add("hmmrt: device %d failed (%s) and the program exited without checking for errors: "
             "check the result of hmmDeviceSynchronize(), or call hmm::synchronize()\n",
             number_, hmmGetErrorName(fault != nullptr ? error_of(*fault) : hmmErrorDeviceLost));
    sys::write_error(text.text(), text.size());
}

} // namespace hmmrt
