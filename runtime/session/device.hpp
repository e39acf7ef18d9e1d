// SPDX-License-Identifier: MIT
/*
 * A device as this process sees it. It uses no resources until the first
 * launch, which starts a session.
 *
 * A sticky error belongs to the session: reset() clears it. If a device is
 * lost, its session remains and reports it until reset().
 */
#pragma once

#include "session/stream.hpp"

namespace hmmrt {

class device;

/// What a device needs from the program that it belongs to.
class device_owner {
  public:
    device_owner() = default;
    device_owner(const device_owner&) = delete;
    device_owner& operator=(const device_owner&) = delete;
    virtual ~device_owner() = default;

    /// Starts the lanes of a device; throws failure.
    virtual std::unique_ptr<executor> start_lanes(const device& of) = 0;
    virtual session_options session_options_for(const device& of) = 0;
    /// Number of lanes of a device that isn't started.
    virtual std::uint32_t lane_count() = 0;
    /// Called when a reset has ended the session: forgets the device's streams,
    /// events, access and prefetches.
    virtual void forget_session(const device& of) = 0;
};

class device : public in_own_memory {
  public:
    device(device_owner& owner, int number, std::uint32_t id, std::string name);

    int number() const { return number_; }
    std::uint32_t id() const { return id_; }
    const std::string& name() const { return name_; }
    std::uint32_t lanes();

    /// Starts the device for this process; throws failure.
    void start();
    /// How often the device was started. A reset ends what belongs to a start,
    /// such as advice for the device.
    std::uint64_t starts() const { return starts_.load(); }
    /// NULL if the device isn't started.
    std::shared_ptr<session> running() { return current(); }
    // In the functions below, a NULL stream is the legacy default stream.

    /// Queues work. If it throws failure, the caller still owns the closure.
    void launch(const work_request& request, stream* where = nullptr);
    /// Creates a stream. process::add_stream() registers it.
    std::shared_ptr<stream> create_stream(unsigned flags, int priority);
    /// True if @which is the current session. Becomes false as soon as a reset
    /// starts to end it.
    bool is_current(const session& which);
    /// Waits for all streams.
    void synchronize();
    void synchronize(stream* where);
    /// Waits for all streams of the current session. Returns the session, or
    /// NULL if there is none. Doesn't consume errors of queued memory
    /// operations.
    std::shared_ptr<session> finish();
    bool idle(stream* where);

    void record(event& which, stream* where);
    /// A NULL point stands for an event that was never recorded.
    void wait_for(const std::shared_ptr<event_point>& point, stream* where);
    /// If it throws, the caller still owns @data.
    void call_host(hmmHostFn_t function, void* data, hmmDestroyFunction_t destroy, stream* where);
    /// Waits until the event has completed; throws failure.
    void synchronize(const event_point& point);
    bool happened(const event_point& point);

    void reset();
    void set_strict(bool strict);
    /// For hmmSetDeviceFlags().
    void set_flags(unsigned flags) { flags_.store(flags); }
    unsigned flags() const { return flags_.load(); }

    /// Returns the sticky error, or hmmSuccess.
    hmmError_t sticky_error();
    hmmFaultRecord last_fault();
    /// Writes to standard error that the device failed, unless the program has
    /// already seen the error.
    void note_at_exit();

  private:
    std::shared_ptr<session> current();
    std::shared_ptr<session> ensure_session();
    std::uint64_t enqueue(const work_request& request, stream* where);
    void throw_if_broken(session& running) { throw_if_broken(running, running.fault()); }
    void throw_if_broken(session& running, const fault_record* fault);
    void throw_if_failed(session& running, const fault_record* fault, bool there);
    void finish_wait(session& running, std::uint32_t queues, bool there);
    [[noreturn]] void throw_lost(session& running);
    void throw_queued_error(session& running);

    device_owner& owner_;
    int number_;
    std::uint32_t id_;
    std::string name_;
    std::atomic<unsigned> flags_{0};
    std::atomic<std::uint64_t> starts_{0};
    std::mutex lock_; ///< serialises starts and resets
    std::mutex session_lock_;
    std::shared_ptr<session> session_;
};

} // namespace hmmrt
