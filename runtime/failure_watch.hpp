// SPDX-License-Identifier: MIT
/*
 * A thread of each session that waits for the device to fail and immediately
 * reports the failure to standard error, because the program may look at
 * results much later or never. It also enforces the time limit of launches, and
 * limits how long lanes may take to end after a failure.
 *
 * The lane that failed may hold any lock of the program, including the heap's.
 * So the thread first takes what it needs from the session, and then composes
 * the text. If it doesn't finish, others write the text without demangled
 * names, which needs no lock. In that case we abandon the thread, which no
 * longer uses the session.
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
    /// Ends the thread, after it has reported any pending failure. Abandons the
    /// thread if it hangs.
    void end();

    /// Makes the thread check the session.
    void notify();
    /// Makes the thread report the running work, because a thread has waited
    /// this long.
    void tell_wait(unsigned seconds);
    /// Waits until the report of a failure is written. @fault is NULL if the
    /// agent has ended. Returns immediately if called by the thread itself.
    void await_report(const fault_block* fault, const char* exception = "");
    /// The place of the instruction that failed; "" until it is known.
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
