// SPDX-License-Identifier: MIT
// The C interface: peer access.
#include "api/interface.hpp"
#include "base/failure.hpp"

#include <cerrno>

namespace hmmrt {
namespace {

/// Both devices must be bound.
hmmrt_peer control_peer(const device& from, const device& to, std::uint32_t operation) {
    hmmrt_peer request = {};
    request.device_id = from.id();
    request.peer_id = to.id();
    request.operation = operation;
    const int error = process::get().where().control_peer(request);
    if (error == -EOPNOTSUPP)
        throw failure(hmmErrorPeerAccessUnsupported,
                      hmmGetErrorString(hmmErrorPeerAccessUnsupported));
    check_memory_call("peer access", error);
    return request;
}

bool can_access(device& from, device& to) {
    if (&from == &to) return false;
    from.start();
    to.start();
    return control_peer(from, to, HMMRT_PEER_QUERY).out_possible != 0;
}

/// Changes access from the current device to @peer. Fails with @wrong if the
/// state is already as requested.
void set_access(int peer, std::uint32_t operation, bool enabled, hmmError_t wrong) {
    device& from = current_device();
    device& to = process::get().device_at(peer);
    if (&from == &to) throw failure(hmmErrorInvalidDevice, "a device cannot be its own peer");
    from.start();
    to.start();
    const std::lock_guard lock(process::get().peer_lock());
    const bool before = control_peer(from, to, HMMRT_PEER_QUERY).out_enabled != 0;
    if (before == enabled) throw failure(wrong, hmmGetErrorString(wrong));
    control_peer(from, to, operation);
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmDeviceCanAccessPeer(int* canAccessPeer, int device, int peer) {
    return guarded("hmmDeviceCanAccessPeer", [&] {
        require(canAccessPeer != nullptr, "canAccessPeer is NULL");
        *canAccessPeer =
            can_access(process::get().device_at(device), process::get().device_at(peer));
    });
}

hmmError_t hmmDeviceEnablePeerAccess(int peer, unsigned int flags) {
    return guarded("hmmDeviceEnablePeerAccess", [&] {
        require(flags == 0, "flags are not 0");
        set_access(peer, HMMRT_PEER_ENABLE, true, hmmErrorPeerAccessAlreadyEnabled);
    });
}

hmmError_t hmmDeviceDisablePeerAccess(int peer) {
    return guarded("hmmDeviceDisablePeerAccess", [&] {
        set_access(peer, HMMRT_PEER_DISABLE, false, hmmErrorPeerAccessNotEnabled);
    });
}
