// SPDX-License-Identifier: MIT
// Peer access: devices that access each other's memory without migration.
#pragma once

#include <hmm/device.hpp>

#include <utility>

namespace hmm {

/// True if device @from can access memory of @peer without migrating it.
[[nodiscard]] inline bool can_access(device from, device peer) {
    int can = 0;
    check(hmmDeviceCanAccessPeer(&can, from.number(), peer.number()), "can_access");
    return can != 0;
}

/// Peer access of one device to another, enabled for the lifetime of this
/// object.
class [[nodiscard]] peer_access {
  public:
    peer_access(device from, device peer) : from_(from), peer_(peer) {
        const scoped_device use(from);
        check(hmmDeviceEnablePeerAccess(peer.number(), 0), "peer_access");
    }
    peer_access(peer_access&& other) noexcept
        : from_(other.from_), peer_(other.peer_), owner_(std::exchange(other.owner_, false)) {}
    peer_access& operator=(peer_access&& other) noexcept {
        std::swap(from_, other.from_);
        std::swap(peer_, other.peer_);
        std::swap(owner_, other.owner_);
        return *this;
    }
    ~peer_access() {
        int before = 0;
        if (!owner_ || hmmGetDevice(&before) != hmmSuccess) return;
        hmmSetDevice(from_.number());
        hmmDeviceDisablePeerAccess(peer_.number());
        hmmSetDevice(before);
    }

  private:
    device from_;
    device peer_;
    bool owner_ = true;
};

} // namespace hmm
