// SPDX-License-Identifier: MIT
/*
 * Streams and events. `stream` and `event` own a handle. `stream_ref` and
 * `event_ref` refer to a handle with another owner; functions take these.
 *
 *     hmm::stream left, right;
 *     hmm::launch(left, n, f);
 *     right.wait(left.record()); // later work in right runs after f
 *     hmm::launch(right, n, g);
 *     right.synchronize();
 */
#pragma once

#include <hmm/device.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace hmm {

class event_ref {
  public:
    /// A template, so that 0 and nullptr do not convert to a handle.
    template <std::same_as<hmmEvent_t> Handle>
    explicit constexpr event_ref(Handle handle) noexcept : handle_(handle) {}

    [[nodiscard]] constexpr hmmEvent_t get() const noexcept { return handle_; }
    void synchronize() const { check(hmmEventSynchronize(handle_), "event synchronize"); }
    [[nodiscard]] bool ready() const {
        const hmmError_t code = hmmEventQuery(handle_);
        if (code == hmmErrorNotReady) return false;
        check(code, "event ready");
        return true;
    }

    friend constexpr bool operator==(event_ref, event_ref) noexcept = default;

  protected:
    constexpr event_ref() noexcept = default;

    hmmEvent_t handle_ = nullptr;
};

/// Returns the time between two events. Both must have completed.
[[nodiscard]] inline std::chrono::duration<float, std::milli> elapsed(event_ref start,
                                                                      event_ref end) {
    float milliseconds = 0;
    check(hmmEventElapsedTime(&milliseconds, start.get(), end.get()), "elapsed");
    return std::chrono::duration<float, std::milli>(milliseconds);
}

class event : public event_ref {
  public:
    explicit event(unsigned flags = hmmEventDefault) {
        check(hmmEventCreateWithFlags(&handle_, flags), "event");
    }
    event(event&& other) noexcept : event_ref(std::exchange(other.handle_, nullptr)) {}
    event& operator=(event&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~event() {
        if (handle_ != nullptr) hmmEventDestroy(handle_);
    }
};

/// Does not own the stream: a default stream, or one that a `stream` owns. A
/// stream_ref without a handle is the legacy default stream.
class stream_ref {
  public:
    explicit constexpr stream_ref() noexcept = default;
    /// A template, so that 0 and nullptr do not convert to a handle. Deleted
    /// overloads for them would also match {4}, which may be meant as a dim3.
    template <std::same_as<hmmStream_t> Handle>
    explicit constexpr stream_ref(Handle handle) noexcept : handle_(handle) {}

    [[nodiscard]] constexpr hmmStream_t get() const noexcept { return handle_; }
    [[nodiscard]] device where() const {
        int number = 0;
        check(hmmStreamGetDevice(handle_, &number), "stream where");
        return device(number);
    }
    /// hmmStreamDefault or hmmStreamNonBlocking.
    [[nodiscard]] unsigned flags() const {
        unsigned result = 0;
        check(hmmStreamGetFlags(handle_, &result), "stream flags");
        return result;
    }
    /// The actual priority, after clamping to the supported range.
    [[nodiscard]] int priority() const {
        int result = 0;
        check(hmmStreamGetPriority(handle_, &result), "stream priority");
        return result;
    }

    void synchronize() const { check(hmmStreamSynchronize(handle_), "stream synchronize"); }
    [[nodiscard]] bool idle() const {
        const hmmError_t code = hmmStreamQuery(handle_);
        if (code == hmmErrorNotReady) return false;
        check(code, "stream idle");
        return true;
    }
    void wait(event_ref before) const {
        check(hmmStreamWaitEvent(handle_, before.get(), 0), "stream wait");
    }
    void record(event_ref after) const {
        check(hmmEventRecord(after.get(), handle_), "stream record");
    }
    /// Records a new event after all work that is queued in the stream.
    [[nodiscard]] event record() const {
        const scoped_device use(where());
        event result;
        record(result);
        return result;
    }
    /// Queues f(), which is called on the CPU and must not throw. It is also
    /// destroyed in that context, where library calls are refused. If f owned a
    /// stream, event, registered memory or peer access, its destructor could
    /// not release it.
    template <class Function>
    void call_host(Function&& f) const {
        using function = std::decay_t<Function>;
        auto owned = std::make_unique<function>(std::forward<Function>(f));
        const auto run = [](void* raw) noexcept { (*static_cast<function*>(raw))(); };
        const auto destroy = [](void* raw) { delete static_cast<function*>(raw); };
        check(hmmLaunchHostClosure(run, owned.get(), destroy, handle_), "call_host");
        static_cast<void>(owned.release());
    }

    friend constexpr bool operator==(stream_ref, stream_ref) noexcept = default;

  protected:
    hmmStream_t handle_ = nullptr;
};

inline constexpr stream_ref default_stream;

/// The default stream of the calling thread.
[[nodiscard]] inline stream_ref per_thread_stream() noexcept {
    return stream_ref(hmmStreamPerThread);
}

/// The greatest priority is the lowest number.
struct stream_priority_range {
    int least = 0;
    int greatest = 0;
};

/// Returns the stream priorities of the current device.
[[nodiscard]] inline stream_priority_range stream_priorities() {
    stream_priority_range result;
    check(hmmDeviceGetStreamPriorityRange(&result.least, &result.greatest), "stream_priorities");
    return result;
}

class stream : public stream_ref {
  public:
    explicit stream(unsigned flags = hmmStreamDefault, int priority = 0) {
        check(hmmStreamCreateWithPriority(&handle_, flags, priority), "stream");
    }
    stream(stream&& other) noexcept : stream_ref(std::exchange(other.handle_, nullptr)) {}
    stream& operator=(stream&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    /// Does not wait: queued work still runs.
    ~stream() {
        if (handle_ != nullptr) hmmStreamDestroy(handle_);
    }
};

} // namespace hmm
