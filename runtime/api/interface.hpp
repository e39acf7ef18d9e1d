// SPDX-License-Identifier: MIT
// Shared by the files of the C interface: converts errors to codes and records
// them.
#pragma once

#include "api/process.hpp"
#include "base/failure.hpp"
#include "base/fork_guard.hpp"
#include "thread/lane_thread.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <pthread.h>

namespace hmmrt {

/// Disables cancellation of the calling thread for the lifetime of the object.
/// Cancellation unwinds the stack, but the interface's functions are noexcept.
class no_cancellation {
  public:
    no_cancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    no_cancellation(const no_cancellation&) = delete;
    no_cancellation& operator=(const no_cancellation&) = delete;
    ~no_cancellation() { pthread_setcancelstate(before_, nullptr); }

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

struct thread_state {
    int device = 0;
    hmmError_t last_error = hmmSuccess;
    /// snapshot taken at the last failed call
    hmmFaultRecord record = no_fault();
    char detail[512] = "";
};

// Trivially destructible, so that we can use it until the thread ends.
extern constinit thread_local thread_state this_thread;

hmmError_t remember(hmmError_t code, const char* operation, const char* detail,
                    const hmmFaultRecord& record = no_fault(),
                    const std::exception_ptr& original = nullptr);

/// Remembers the exception that caused this thread's last failed call, or
/// forgets it if empty.
void remember_exception(const std::exception_ptr& original);

/// Returns the value of an enumeration. C programs can pass any number, but
/// loading one that the type doesn't have is undefined in C++.
template <class Enumeration>
unsigned number_of(const Enumeration& value) {
    unsigned number = 0;
    static_assert(sizeof(number) == sizeof(value));
    std::memcpy(&number, &value, sizeof(number));
    return number;
}

/// Runs @body and converts exceptions to the result.
template <class Body>
hmmError_t guarded(const char* operation, Body body) noexcept {
    if (fork_guard::is_child())
        return remember(hmmErrorForkedProcess, operation, hmmGetErrorString(hmmErrorForkedProcess));
    // don't record the error: the lane uses its parked thread's TLS
    if (calling_thread_is_lane()) return hmmErrorNotSupported;
    if (calling_thread_is_host_function())
        return remember(hmmErrorNotPermitted, operation, "called from a host function");
    const no_cancellation until_the_end;
    try {
        body();
        return hmmSuccess;
    } catch (const failure& error) {
        return remember(error.code(), operation, error.what(), error.record(), error.original());
    } catch (const std::bad_alloc&) {
        return remember(hmmErrorMemoryAllocation, operation, "out of memory");
    } catch (const std::exception& error) {
        return remember(hmmErrorUnknown, operation, error.what());
    }
}

device& current_device();

/// Looks up a stream handle; throws failure. The legacy default stream and the
/// calling thread's default stream belong to the current device.
class stream_user {
  public:
    explicit stream_user(hmmStream_t handle);

    /// NULL: the legacy default stream.
    stream* get() const { return stream_.get(); }
    device& get_device() const { return *device_; }

    /// Calls queue(target, stream), which throws failure if it queued nothing.
    /// Calls it again if a reset removed the thread's default stream in the
    /// meantime.
    template <class Queue>
    void submit(Queue queue) {
        for (;;) {
            try {
                return queue(*device_, stream_.get());
            } catch (const failure&) {
                if (!renew()) throw;
            }
        }
    }
    void launch(const work_request& request) {
        submit([&](device& target, stream* in) { target.launch(request, in); });
    }

  private:
    bool renew();

    std::shared_ptr<stream> stream_;
    device* device_;
    bool of_thread_;
};

/// Queues a launch; @handle must be a stream of the current device. Throws
/// failure if it queued nothing. If launches block, waits for this one.
void launch_in(hmmStream_t handle, const work_request& request);
/// If launches block: throws if the launch that this thread just made failed.
void throw_if_launch_failed();

// ---- properties that are the same for all devices

/// The suggested block size. Larger blocks are allowed.
inline constexpr int threads_per_block = 1024;

/// Maximum distance between rows in memory.
inline constexpr std::size_t greatest_pitch = std::numeric_limits<int>::max();

} // namespace hmmrt
