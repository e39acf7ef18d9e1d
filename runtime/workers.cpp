// SPDX-License-Identifier: MIT
// The worker threads that open gates.
#include "agent/ring.h"
#include "failure.hpp"
#include "fork_guard.hpp"
#include "session.hpp"
#include "tsan_order.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <initializer_list>
#include <new>
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

struct worker_start {
    session* of;
    std::uint32_t queue;
};

} // namespace

bool calling_thread_is_host_function() {
    return in_host_function;
}

/// Adds a gate. If it throws, the gate was not added.
void session::add_gate(std::uint32_t queue, waiting_gate gate) {
    queue_state& state = queues_[queue];
    const std::lock_guard lock(state.gates_lock);
    state.gates.push_back(std::move(gate));
    if (state.has_worker) {
        state.gates_changed.notify_one();
        return;
    }
    try {
        start_worker(queue);
        state.has_worker = true;
    } catch (...) {
        state.gates.pop_back();
        throw;
    }
}

void session::start_worker(std::uint32_t queue) {
    auto start = std::make_unique<worker_start>(worker_start{this, queue});
    sigset_t all, old;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error =
        pthread_create(&queues_[queue].worker, nullptr, &session::worker_main, start.get());
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (error != 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("cannot start a stream's thread", error));
    static_cast<void>(start.release());
    char name[16];
    std::snprintf(name, sizeof(name), "hmmrt-host%u", queue);
    pthread_setname_np(queues_[queue].worker, name);
}

void* session::worker_main(void* argument) {
    const worker_start start = *static_cast<worker_start*>(argument);
    delete static_cast<worker_start*>(argument);
    start.of->serve_gates(start.queue);
    return nullptr;
}

void session::serve_gates(std::uint32_t queue) {
    waiting_gate gate;
    while (next_gate(queues_[queue], gate)) {
        pass_gate(queue, gate);
        // If the function forked, this thread is the only one of the child, and
        // must not use the session.
        if (fork_guard::is_child()) return;
        if (gate.task.destroy != nullptr) call_program(gate.task.destroy, gate.task.data);
        if (fork_guard::is_child()) return;
        const auto number = static_cast<std::uint32_t>(gate.position - 1);
        tsan_order::publish(entry_at(shared(queue), number));
        ring_open_gate(*ctl_, shared(queue), number);
        gate = {};
        end_gate(queues_[queue]);
    }
}

void session::end_gate(queue_state& state) {
    const std::lock_guard lock(state.gates_lock);
    state.busy = false;
    state.gate_over.notify_all();
}

/// Waits for the next gate. Returns false if the worker must exit without using
/// the session again.
bool session::next_gate(queue_state& state, waiting_gate& out) {
    std::unique_lock lock(state.gates_lock);
    const auto something = [&] { return ended_.load() || !state.gates.empty(); };
    const bool idle = !state.gates_changed.wait_for(lock, linger, something);
    if (idle) {
        state.has_worker = false;
        pthread_detach(state.worker);
        return false;
    }
    // join_workers() waits for this thread and handles later gates
    if (state.gates.empty()) {
        state.left = true;
        state.gate_over.notify_all();
        return false;
    }
    out = std::move(state.gates.front());
    state.gates.pop_front();
    state.busy = true;
    return true;
}

/// Waits for all work before the gate and then performs its action. After a
/// failure of the device, doesn't call functions any more.
void session::pass_gate(std::uint32_t queue, waiting_gate& gate) {
    bool there = wait_quietly(queue, gate.position - 1);
    for (std::uint32_t mask = gate.after.mask; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask));
        there = there && wait_quietly(other, gate.after.position[other]);
    }
    if (!there || fault() != nullptr) return;
    if (gate.task.event) {
        event_point& event = *gate.task.event;
        event.running->wait_quietly(event.queue, event.position, this);
    } else if (!ended_.load()) {
        call_program(gate.task.function, gate.task.data);
    }
}

/// Waits until no gate is left. If the device had failed before, no function is
/// called after that, and the data of earlier functions has been destroyed.
void session::await_host_functions(std::uint32_t queues) {
    for (queues &= used_.load(); queues != 0; queues &= queues - 1) {
        queue_state& state = queues_[static_cast<std::size_t>(__builtin_ctz(queues))];
        std::unique_lock lock(state.gates_lock);
        state.gate_over.wait(lock,
                             [&] { return !state.busy && (state.gates.empty() || state.left); });
    }
}

void session::join_workers() {
    for (queue_state& state : queues_) {
        {
            const std::lock_guard lock(state.gates_lock);
            if (!state.has_worker) continue;
            state.gates_changed.notify_one();
        }
        pthread_join(state.worker, nullptr);
        state.has_worker = false;
        for (const waiting_gate& left : state.gates)
            if (left.task.destroy != nullptr) call_program(left.task.destroy, left.task.data);
        state.gates.clear();
    }
}

} // namespace hmmrt
