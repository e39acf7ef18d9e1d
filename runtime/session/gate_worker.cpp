// SPDX-License-Identifier: MIT
#include "session/gate_worker.hpp"

#include "agent/ring.h"
#include "base/failure.hpp"
#include "base/fork_guard.hpp"
#include "base/tsan_order.hpp"
#include "session/session.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <utility>

namespace hmmrt {
namespace {

constexpr std::chrono::milliseconds linger(100);

thread_local bool in_host_function = false;

/// Calls a function of the program. The library refuses calls from it.
void call_program(void (*function)(void*), void* data) {
    in_host_function = true;
    function(data);
    in_host_function = false;
}

} // namespace

bool calling_thread_is_host_function() {
    return in_host_function;
}

void gate_worker::attach(session& of, std::uint32_t queue) {
    session_ = &of;
    queue_ = queue;
}

void gate_worker::add(waiting_gate gate) {
    const std::lock_guard lock(lock_);
    gates_.push_back(std::move(gate));
    if (has_thread_) {
        changed_.notify_one();
        return;
    }
    try {
        start();
        has_thread_ = true;
    } catch (...) {
        gates_.pop_back();
        throw;
    }
}

void gate_worker::start() {
    sigset_t all, old;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(&thread_, nullptr, &gate_worker::thread_main, this);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (error != 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("cannot start a stream's thread", error));
    char name[16];
    std::snprintf(name, sizeof(name), "hmmrt-host%u", queue_);
    pthread_setname_np(thread_, name);
}

void* gate_worker::thread_main(void* argument) {
    static_cast<gate_worker*>(argument)->serve();
    return nullptr;
}

void gate_worker::serve() {
    waiting_gate gate;
    while (next(gate)) {
        pass(gate);
        // If the function forked, this thread is the only one of the child, and
        // must not use the session.
        if (fork_guard::is_child()) return;
        if (gate.task.destroy != nullptr) call_program(gate.task.destroy, gate.task.data);
        if (fork_guard::is_child()) return;
        const auto number = static_cast<std::uint32_t>(gate.position - 1);
        control& ctl = session_->lanes().shared();
        tsan_order::publish(entry_at(ctl.queues[queue_], number));
        ring_open_gate(ctl, ctl.queues[queue_], number);
        gate = {};
        end_gate();
    }
}

void gate_worker::end_gate() {
    const std::lock_guard lock(lock_);
    busy_ = false;
    gate_over_.notify_all();
}

/// Waits for the next gate. Returns false if the thread must exit without using
/// the session again.
bool gate_worker::next(waiting_gate& out) {
    std::unique_lock lock(lock_);
    const auto something = [&] { return session_->ended() || !gates_.empty(); };
    const bool idle = !changed_.wait_for(lock, linger, something);
    if (idle) {
        has_thread_ = false;
        pthread_detach(thread_);
        return false;
    }
    // join() waits for this thread and handles later gates
    if (gates_.empty()) {
        left_ = true;
        gate_over_.notify_all();
        return false;
    }
    out = std::move(gates_.front());
    gates_.pop_front();
    busy_ = true;
    return true;
}

/// Waits for all work before the gate and then performs its action. After a
/// failure of the device, doesn't call functions any more.
void gate_worker::pass(waiting_gate& gate) {
    bool there = session_->queue(queue_).wait_quietly(gate.position - 1);
    for (std::uint32_t mask = gate.after.mask; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask));
        there = there && session_->queue(other).wait_quietly(gate.after.position[other]);
    }
    if (!there || session_->fault() != nullptr) return;
    if (gate.task.event) {
        event_point& event = *gate.task.event;
        event.running->queue(event.queue).wait_quietly(event.position, &session_->lanes());
    } else if (!session_->ended()) {
        call_program(gate.task.function, gate.task.data);
    }
}

void gate_worker::await_none() {
    std::unique_lock lock(lock_);
    gate_over_.wait(lock, [&] { return !busy_ && (gates_.empty() || left_); });
}

void gate_worker::join() {
    {
        const std::lock_guard lock(lock_);
        if (!has_thread_) return;
        changed_.notify_one();
    }
    pthread_join(thread_, nullptr);
    has_thread_ = false;
    for (const waiting_gate& left : gates_)
        if (left.task.destroy != nullptr) call_program(left.task.destroy, left.task.data);
    gates_.clear();
}

} // namespace hmmrt
