// SPDX-License-Identifier: MIT
/*
 * Gates: work of the program's own threads, ordered between entries of a queue.
 *
 * A gate is an entry in the queue, which the queue's worker opens. The worker
 * is a thread that starts with the first gate, and exits when there has been no
 * gate for a while. It blocks all signals except those that its own
 * instructions raise. The session waits for it when it stops; exit() doesn't.
 */
#pragma once

#include "base/own_memory.hpp"
#include "session/work_request.hpp"

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <mutex>
#include <pthread.h>

namespace hmmrt {

class session;

/// A gate, and what it waits for.
struct waiting_gate {
    std::uint64_t position;
    entry_after after;
    gate_task task;
};

/// The worker of one queue.
class gate_worker {
  public:
    /// Call this before all other functions.
    void attach(session& of, std::uint32_t queue);

    /// Adds a gate. If it throws, the gate was not added.
    void add(waiting_gate gate);
    /// Waits until no gate is left. If the device had failed before, no
    /// function is called after that, and the data of earlier functions has
    /// been destroyed.
    void await_none();
    /// Waits for the thread, after the lanes have ended, and destroys the data
    /// of functions that were not called.
    void join();

  private:
    void start();
    static void* thread_main(void* argument);
    void serve();
    bool next(waiting_gate& out);
    void pass(waiting_gate& gate);
    void end_gate();

    session* session_ = nullptr;
    std::uint32_t queue_ = 0;
    std::mutex lock_;
    std::condition_variable changed_;
    std::condition_variable gate_over_;
    /// the thread is processing a gate, already removed from the list
    bool busy_ = false;
    /// the session ended, and the thread has processed all gates
    bool left_ = false;
    std::pmr::list<waiting_gate> gates_{own_pool()};
    bool has_thread_ = false;
    pthread_t thread_ = {};
};

/// True if the caller runs in a host function (hmmLaunchHostFunc()).
bool calling_thread_is_host_function();

} // namespace hmmrt
