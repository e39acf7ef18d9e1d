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

#include "session/fault_keeper.hpp"
#include "session/session_lanes.hpp"

#include <memory>
#include <pthread.h>

namespace hmmrt {

class failure_watch {
  public:
    failure_watch(session_lanes& lanes, fault_keeper& faults, const session_options& options);
    failure_watch(const failure_watch&) = delete;
    failure_watch& operator=(const failure_watch&) = delete;
    ~failure_watch() { end(); }

    /// Starts the thread; throws failure.
    void start();
    /// Ends the thread, after it has reported any pending failure. Abandons the
    /// thread if it hangs.
    void end();

    /// As fault_keeper::find(), but the fault's report has been written when
    /// this returns.
    const fault_record* fault();
    /// As session_lanes::lost(), but the report of a loss has been written when
    /// this returns.
    bool lost();
    /// Makes the thread report the running work, because a thread has waited
    /// this long.
    void tell_wait(unsigned seconds);
    /// The place of the instruction that failed; "" until it is known.
    const char* place() const;

  private:
    struct shared_state;

    static void* thread_main(void* argument);
    void notify();
    void await_report(const fault_record* fault, const char* exception = "");

    session_lanes& lanes_;
    fault_keeper& faults_;
    std::shared_ptr<shared_state> state_;
    pthread_t thread_ = {};
    bool started_ = false;
};

} // namespace hmmrt
