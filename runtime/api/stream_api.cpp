// SPDX-License-Identifier: MIT
// The C interface: streams, events, host functions and callbacks.
#include "api/interface.hpp"

#include <algorithm>
#include <memory>

namespace hmmrt {
namespace {

constexpr int least_priority = 0;
constexpr int greatest_priority = -1;

template <class Handle>
Handle as_handle(std::uint64_t number) {
    return reinterpret_cast<Handle>(number);
}

void create_stream(hmmStream_t* out, unsigned flags, int priority) {
    require(out != nullptr, "stream is NULL");
    require((flags & ~hmmStreamNonBlocking) == 0, "unknown flags");
    const int clamped = std::clamp(priority, greatest_priority, least_priority);
    std::uint64_t handle = 0;
    process::get().add_stream(current_device(), flags, clamped, handle);
    *out = as_handle<hmmStream_t>(handle);
}

void create_event(hmmEvent_t* out, unsigned flags) {
    constexpr unsigned known = hmmEventBlockingSync | hmmEventDisableTiming;
    require(out != nullptr, "event is NULL");
    require((flags & ~known) == 0, "unknown flags");
    *out = as_handle<hmmEvent_t>(
        process::get().events().add(make_own_shared<event>(current_device(), flags)));
}

std::shared_ptr<event> event_of(hmmEvent_t handle) {
    auto found = process::get().events().find(reinterpret_cast<std::uint64_t>(handle));
    if (!found) throw failure(hmmErrorInvalidResourceHandle, "no such event");
    return found;
}

void call_host(hmmHostFn_t fn, void* data, hmmDestroyFunction_t destroy, hmmStream_t in) {
    require(fn != nullptr, "fn is NULL");
    stream_user(in).submit(
        [&](device& target, stream* where) { target.call_host(fn, data, destroy, where); });
}

[[noreturn]] void throw_not_ready(const char* what) {
    throw failure(hmmErrorNotReady, what);
}

/// Returns the position of an event with a time. Throws failure if it hasn't
/// completed.
std::shared_ptr<event_point> timed_point(event& which) {
    auto point = which.point();
    if (!which.timed() || !point)
        throw failure(hmmErrorInvalidResourceHandle,
                      "an event was not recorded, or was created without timing");
    if (!which.get_device().happened(*point)) throw_not_ready("an event has not completed yet");
    return point;
}

/// A stream callback: a host function that gets its stream's status. It is
/// called exactly once, also if it is destroyed before its turn.
class callback {
  public:
    callback(hmmStream_t stream, hmmStreamCallback_t function, void* data, device& target)
        : stream_(stream), function_(function), data_(data), device_(target) {}

    static void call(void* raw) {
        auto* const self = static_cast<callback*>(raw);
        self->called_ = true;
        self->function_(self->stream_, hmmSuccess, self->data_);
    }
    static void destroy(void* raw) {
        const std::unique_ptr<callback> self(static_cast<callback*>(raw));
        if (self->called_) return;
        const hmmError_t sticky = self->device_.sticky_error();
        self->function_(self->stream_, sticky != hmmSuccess ? sticky : hmmErrorDeviceLost,
                        self->data_);
    }

  private:
    hmmStream_t stream_;
    hmmStreamCallback_t function_;
    void* data_;
    device& device_;
    bool called_ = false;
};

void add_callback(hmmStream_t stream, hmmStreamCallback_t function, void* data) {
    stream_user where(stream);
    auto queued = std::make_unique<callback>(stream, function, data, where.get_device());
    where.submit([&](device& target, hmmrt::stream* in) {
        target.call_host(callback::call, queued.get(), callback::destroy, in);
    });
    static_cast<void>(queued.release()); // the stream now owns the callback
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmStreamCreate(hmmStream_t* stream) {
    return guarded("hmmStreamCreate", [&] { create_stream(stream, hmmStreamDefault, 0); });
}

hmmError_t hmmStreamCreateWithFlags(hmmStream_t* stream, unsigned int flags) {
    return guarded("hmmStreamCreateWithFlags", [&] { create_stream(stream, flags, 0); });
}

hmmError_t hmmStreamCreateWithPriority(hmmStream_t* stream, unsigned int flags, int priority) {
    return guarded("hmmStreamCreateWithPriority", [&] { create_stream(stream, flags, priority); });
}

hmmError_t hmmDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return guarded("hmmDeviceGetStreamPriorityRange", [&] {
        current_device();
        if (least != nullptr) *least = least_priority;
        if (greatest != nullptr) *greatest = greatest_priority;
    });
}

hmmError_t hmmStreamGetFlags(hmmStream_t stream, unsigned int* flags) {
    return guarded("hmmStreamGetFlags", [&] {
        require(flags != nullptr, "flags is NULL");
        const stream_user which(stream);
        *flags = which.get() != nullptr ? which.get()->flags() : hmmStreamDefault;
    });
}

hmmError_t hmmStreamGetPriority(hmmStream_t stream, int* priority) {
    return guarded("hmmStreamGetPriority", [&] {
        require(priority != nullptr, "priority is NULL");
        const stream_user which(stream);
        *priority = which.get() != nullptr ? which.get()->priority() : least_priority;
    });
}

hmmError_t hmmStreamGetDevice(hmmStream_t stream, int* device) {
    return guarded("hmmStreamGetDevice", [&] {
        require(device != nullptr, "device is NULL");
        *device = stream_user(stream).get_device().number();
    });
}

hmmError_t hmmStreamDestroy(hmmStream_t stream) {
    return guarded("hmmStreamDestroy", [&] {
        const auto gone = process::get().streams().remove(reinterpret_cast<std::uint64_t>(stream));
        if (!gone) throw failure(hmmErrorInvalidResourceHandle, "no such stream");
        gone->running()->queue(gone->queue()).reap();
    });
}

hmmError_t hmmStreamSynchronize(hmmStream_t stream) {
    return guarded("hmmStreamSynchronize", [&] {
        const stream_user which(stream);
        which.get_device().synchronize(which.get());
        process::get().pools().settle();
    });
}

hmmError_t hmmStreamQuery(hmmStream_t stream) {
    return guarded("hmmStreamQuery", [&] {
        const stream_user which(stream);
        if (!which.get_device().idle(which.get()))
            throw_not_ready("the stream has unfinished work");
    });
}

hmmError_t hmmStreamWaitEvent(hmmStream_t stream, hmmEvent_t event, unsigned int flags) {
    return guarded("hmmStreamWaitEvent", [&] {
        require(flags == 0, "flags are not 0");
        stream_user which(stream);
        const auto point = event_of(event)->point();
        which.submit([&](device& target, hmmrt::stream* in) { target.wait_for(point, in); });
    });
}

hmmError_t hmmLaunchHostFunc(hmmStream_t stream, hmmHostFn_t fn, void* userData) {
    return guarded("hmmLaunchHostFunc", [&] { call_host(fn, userData, nullptr, stream); });
}

hmmError_t hmmLaunchHostClosure(hmmHostFn_t fn, void* closure, hmmDestroyFunction_t destroy,
                                hmmStream_t stream) {
    return guarded("hmmLaunchHostClosure", [&] { call_host(fn, closure, destroy, stream); });
}

hmmError_t hmmEventCreate(hmmEvent_t* event) {
    return guarded("hmmEventCreate", [&] { create_event(event, hmmEventDefault); });
}

hmmError_t hmmEventCreateWithFlags(hmmEvent_t* event, unsigned int flags) {
    return guarded("hmmEventCreateWithFlags", [&] { create_event(event, flags); });
}

hmmError_t hmmEventRecord(hmmEvent_t event, hmmStream_t stream) {
    return guarded("hmmEventRecord", [&] {
        stream_user where(stream);
        const auto which = event_of(event);
        if (&which->get_device() != &where.get_device())
            throw failure(hmmErrorInvalidResourceHandle,
                          "the event and the stream belong to different devices");
        where.submit([&](device& target, hmmrt::stream* in) { target.record(*which, in); });
    });
}

hmmError_t hmmEventQuery(hmmEvent_t event) {
    return guarded("hmmEventQuery", [&] {
        const auto which = event_of(event);
        const auto point = which->point();
        if (point && !which->get_device().happened(*point))
            throw_not_ready("the event has not completed yet");
    });
}

hmmError_t hmmEventSynchronize(hmmEvent_t event) {
    return guarded("hmmEventSynchronize", [&] {
        const auto which = event_of(event);
        if (const auto point = which->point()) which->get_device().synchronize(*point);
        process::get().pools().settle();
    });
}

hmmError_t hmmEventElapsedTime(float* ms, hmmEvent_t start, hmmEvent_t end) {
    return guarded("hmmEventElapsedTime", [&] {
        require(ms != nullptr, "ms is NULL");
        const auto from = timed_point(*event_of(start));
        const auto to = timed_point(*event_of(end));
        const auto passed =
            static_cast<std::int64_t>(to->nanoseconds.load() - from->nanoseconds.load());
        *ms = static_cast<float>(static_cast<double>(passed) / 1e6);
    });
}

hmmError_t hmmEventDestroy(hmmEvent_t event) {
    return guarded("hmmEventDestroy", [&] {
        if (!process::get().events().remove(reinterpret_cast<std::uint64_t>(event)))
            throw failure(hmmErrorInvalidResourceHandle, "no such event");
    });
}

hmmError_t hmmStreamAddCallback(hmmStream_t stream, hmmStreamCallback_t function, void* userData,
                                unsigned int flags) {
    return guarded("hmmStreamAddCallback", [&] {
        require(function != nullptr, "callback is NULL");
        require(flags == 0, "flags are not 0");
        add_callback(stream, function, userData);
    });
}
