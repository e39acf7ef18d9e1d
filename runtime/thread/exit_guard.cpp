// SPDX-License-Identifier: MIT
#include "thread/exit_guard.hpp"

#include "agent/syscall.h"
#include "base/fork_guard.hpp"
#include "thread/exit_lock.hpp"
#include "thread/lane_escape.hpp"
#include "thread/lane_thread.hpp"

#include <atomic>
#include <cstdlib>
#include <sys/syscall.h>

namespace hmmrt {
namespace {

library_data glibc_data; ///< constant once a device is started

bool must_stay() {
    return calling_thread_is_lane() && !fork_guard::is_child();
}

/// On a lane, ends the launch. The status is 0 so that it isn't mistaken for a
/// sanitizer's.
void end_launch_at_exit() {
    if (!must_stay()) return;
    if (recursive_lock* const taken = find_held_lock(glibc_data)) release(*taken);
    leave_by_exit();
    raw_syscall(SYS_exit_group, 0);
}

/// glibc calls each handler only once, and several lanes may call quick_exit()
/// at the same time. So we register one handler per lane.
void end_launch_at_quick_exit() {
    if (must_stay()) std::at_quick_exit(end_launch_at_quick_exit);
    end_launch_at_exit();
}

std::atomic<unsigned> unused_handlers = 0; ///< left by lanes that have ended

void add_quick_exit_handler() {
    unsigned unused = unused_handlers.load();
    while (unused != 0)
        if (unused_handlers.compare_exchange_weak(unused, unused - 1)) return;
    std::at_quick_exit(end_launch_at_quick_exit);
}

struct lane_guard {
    bool armed = false;

    ~lane_guard() {
        end_launch_at_exit();
        if (armed) unused_handlers++;
    }
};

thread_local lane_guard guard_of_lane;

} // namespace

void guard_exit_of_lane() {
    guard_of_lane.armed = true;
    add_quick_exit_handler();
}

void prepare_exit_guard() {
    static const bool once = [] {
        glibc_data = find_glibc_data();
        return true;
    }();
    static_cast<void>(once);
}

} // namespace hmmrt
