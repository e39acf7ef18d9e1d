// SPDX-License-Identifier: MIT
#include "api/interface.hpp"

#include <cstdio>

namespace hmmrt {
namespace {

/// The calling thread's default streams, destroyed with the thread.
struct thread_streams {
    std::uint64_t handles[HMMRT_MAX_DEVICES] = {}; ///< 0: not created yet
    bool over = false;

    ~thread_streams() {
        over = true;
        if (fork_guard::is_child()) return;
        const no_cancellation until_the_end;
        for (const std::uint64_t handle : handles)
            if (handle != 0) process::get().streams().remove(handle);
    }
};

thread_local thread_streams own_streams;

/// Returns the thread's stream of a device. Creates it at first use and after a
/// reset.
std::shared_ptr<stream> thread_stream(device& where) {
    if (own_streams.over)
        throw failure(hmmErrorInvalidResourceHandle, "this thread's default stream was destroyed");
    std::uint64_t& handle = own_streams.handles[where.number()];
    process& program = process::get();
    if (auto found = program.streams().find(handle)) {
        if (where.is_current(*found->running())) return found;
        program.streams().remove(handle); // the reset hasn't removed it yet
    }
    return program.add_stream(where, hmmStreamDefault, 0, handle);
}

} // namespace

constinit thread_local thread_state this_thread;

hmmError_t remember(hmmError_t code, const char* operation, const char* detail,
                    const hmmFaultRecord& record, const std::exception_ptr& original) {
    remember_exception(original);
    this_thread.last_error = code;
    this_thread.record = record;
    std::snprintf(this_thread.detail, sizeof(this_thread.detail), "%s: %s", operation, detail);
    return code;
}

device& current_device() {
    return process::get().device_at(this_thread.device);
}

stream_user::stream_user(hmmStream_t handle) : of_thread_(handle == hmmStreamPerThread) {
    if (handle == nullptr || handle == hmmStreamLegacy) {
        device_ = &current_device();
        return;
    }
    stream_ = of_thread_ ? thread_stream(current_device())
                         : process::get().streams().find(reinterpret_cast<std::uint64_t>(handle));
    if (!stream_) throw failure(hmmErrorInvalidResourceHandle, "no such stream");
    device_ = &stream_->get_device();
}

/// Replaces the thread's default stream after a reset. Returns false if it
/// didn't have to.
bool stream_user::renew() {
    if (!of_thread_ || device_->is_current(*stream_->running())) return false;
    stream_ = thread_stream(*device_);
    return true;
}

void launch_in(hmmStream_t handle, const work_request& request) {
    device& here = current_device();
    if (handle == nullptr && !process::get().launches_block()) return here.launch(request);
    stream_user where(handle);
    if (&where.get_device() != &here)
        throw failure(hmmErrorInvalidResourceHandle, "the stream belongs to another device");
    if (!process::get().launches_block() || request.items == 0) return where.launch(request);
    work_request recorded = request;
    recorded.records = make_own_shared<event_point>();
    where.launch(recorded);
    const event_point& point = *recorded.records;
    host_queue& queue = point.running->queue(point.queue);
    queue.wait(point.position);
    queue.reap();
}

void throw_if_launch_failed() {
    if (process::get().launches_block()) current_device().start();
}

} // namespace hmmrt
