// SPDX-License-Identifier: MIT
/*
 * A device as this process sees it. Costs nothing until the first launch, which
 * starts a session.
 *
 * A sticky error is the session's: it goes with reset(). If a device is lost its
 * session stays, and says so, until reset().
 */
#pragma once

#include "stream.hpp"

namespace hmmrt {

class process;

class device : public in_own_memory {
  public:
    device(process& owner, int number, std::uint32_t id, std::string name);

    int number() const { return number_; }
    std::uint32_t id() const { return id_; }
    const std::string& name() const { return name_; }
    std::uint32_t lanes();

    /// Makes the device usable for this process; throws failure.
    void start();
    // NULL as a stream means the legacy default stream.

    /// Queues work; throws failure, and then the closure is still the caller's.
    void launch(const work_request& request, stream* where = nullptr);
    /// process::add_stream() makes it known.
    std::shared_ptr<stream> create_stream(unsigned flags, int priority);
    /// False from the moment that a reset begins to end it.
    bool is_current(const session& which);
    /// Waits for all streams.
    void synchronize();
    void synchronize(stream* where);
    /// Waits for all streams of a session, which it returns, NULL if there is none; leaves
    /// what calls for memory failed with to others.
    std::shared_ptr<session> finish();
    bool idle(stream* where);

    void record(event& which, stream* where);
    /// NULL as a point means one that was never recorded.
    void wait_for(const std::shared_ptr<event_point>& point, stream* where);
    /// If it throws, @data is still the caller's.
    void call_host(hmmHostFn_t function, void* data, hmmDestroyFunction_t destroy, stream* where);
    /// Waits until it has happened; throws failure.
    void synchronize(const event_point& point);
    bool happened(const event_point& point);

    void reset();
    void set_strict(bool strict);
    /// hmmSetDeviceFlags()
    void set_flags(unsigned flags) { flags_.store(flags); }
    unsigned flags() const { return flags_.load(); }

    /// hmmSuccess, or the sticky error.
    hmmError_t sticky_error();
    hmmFaultRecord last_fault();

  private:
    std::shared_ptr<session> current();
    std::shared_ptr<session> ensure_session();
    std::uint64_t enqueue(const work_request& request, stream* where);
    void throw_if_broken(const fault_block* fault);
    void throw_if_failed(const fault_block* fault, bool there);
    void finish_wait(session& running, std::uint32_t queues, bool there);
    [[noreturn]] void throw_lost();
    void throw_queued_error(session& running);

    process& owner_;
    int number_;
    std::uint32_t id_;
    std::string name_;
    std::atomic<unsigned> flags_{0};
    std::mutex lock_; ///< of starts and resets
    std::mutex session_lock_;
    std::shared_ptr<session> session_;
};

} // namespace hmmrt
