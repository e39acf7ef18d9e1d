// SPDX-License-Identifier: MIT
/*
 * A thread of each session that waits for the failure of the device, and writes
 * what happened to standard error at that moment: the program may look at
 * results much later, or never. It also limits the time of launches, and the
 * time that lanes may take to end after a failure.
 *
 * The lane that failed may hold any lock of the program, that of the heap
 * included. So the thread takes what it needs from the session first, and then
 * composes the text. If it does not finish, others write the text without
 * demangled names, which needs no lock; the thread is left behind, and does not
 * use the session any more.
 */
#pragma once

#include "agent/control.h"

#include <atomic>
#include <memory>
#include <pthread.h>

namespace hmmrt {

class session;
struct session_options;

class failure_watch {
  public:
    failure_watch(session& of, control& ctl, const session_options& options);
    failure_watch(const failure_watch&) = delete;
    failure_watch& operator=(const failure_watch&) = delete;
    ~failure_watch() { end(); }

    /// Starts the thread; throws failure.
    void start();
    /// Ends the thread; a failure that it has not reported yet is reported
    /// first. If the thread hangs, leaves it behind.
    void end();

    /// Makes the thread look at the session.
    void notify();
    /// Makes the thread write what runs, because a thread has waited for so
    /// long.
    void tell_wait(unsigned seconds);
    /// Waits until the report of a failure is written; NULL if the agent has
    /// ended. Does not wait if the caller is the thread.
    void await_report(const fault_block* fault, const char* exception = "");
    /// The place of the instruction that failed, "" until it is known.
    const char* place() const;

  private:
    struct shared_state;

    static void* thread_main(void* argument);

    control& ctl_;
    std::shared_ptr<shared_state> state_;
    pthread_t thread_ = {};
    bool started_ = false;
};

} // namespace hmmrt
