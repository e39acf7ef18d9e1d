// SPDX-License-Identifier: MIT
/*
 * A device as this process sees it. Costs nothing until the first launch, which
 * starts a session.
 *
 * A sticky error is the session's: it goes with reset(). If a device is lost its
 * session stays, and says so, until reset().
 */
#pragma once

#include "session.hpp"

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
    /// Queues work; throws failure, and then the closure is still the caller's.
    void launch(const launch_request& request);
    void synchronize();
    void reset();
    void set_strict(bool strict);

    /// hmmSuccess, or the sticky error.
    hmmError_t sticky_error();
    hmmFaultRecord last_fault();

  private:
    std::shared_ptr<session> current();
    std::shared_ptr<session> ensure_session();
    void throw_if_broken(session& running);

    process& owner_;
    int number_;
    std::uint32_t id_;
    std::string name_;
    std::mutex lock_; ///< of launches and resets
    std::mutex session_lock_;
    std::shared_ptr<session> session_;
};

} // namespace hmmrt
