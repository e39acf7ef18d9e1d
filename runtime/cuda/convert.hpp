// SPDX-License-Identifier: MIT
// Converts handles, locations and kinds of CUDA's interfaces to libhmmrt's.
// Handles are the same values; structs that we convert in place have the same
// layout.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_runtime.h"

#include <cstddef>

namespace hmmcuda {

inline hmmStream_t stream_of(cudaStream_t stream) {
    return reinterpret_cast<hmmStream_t>(stream);
}
inline hmmEvent_t event_of(cudaEvent_t event) {
    return reinterpret_cast<hmmEvent_t>(event);
}
inline hmmMemPool_t pool_of(cudaMemPool_t pool) {
    return reinterpret_cast<hmmMemPool_t>(pool);
}

/// Calls make(pointer to a handle of type Own) and stores the handle in the
/// caller's type. If @place is NULL, passes NULL.
template <class Own, class Handle, class Make>
hmmError_t give(Handle* place, Make make) {
    Own made = nullptr;
    const hmmError_t code = make(place != nullptr ? &made : nullptr);
    if (code == hmmSuccess && place != nullptr) *place = reinterpret_cast<Handle>(made);
    return code;
}

inline hmmMemcpyKind kind_of(cudaMemcpyKind kind) {
    return static_cast<hmmMemcpyKind>(kind);
}
/// The direction of an asynchronous copy. CUDA stages pageable memory that is copied to device
/// memory, even if the kind is cudaMemcpyDefault.
inline hmmMemcpyKind direction_of(hmmMemcpyKind kind, const void* to, const void* from) {
    const auto type_of = [](const void* memory) {
        hmmPointerAttributes found = {};
        return hmmPointerGetAttributes(&found, memory) == hmmSuccess ? found.type
                                                                     : hmmMemoryTypeHost;
    };
    if (kind != hmmMemcpyDefault) return kind;
    const hmmMemoryType target = type_of(to);
    const bool to_device = target == hmmMemoryTypeDevice || target == hmmMemoryTypeManaged;
    return to_device && type_of(from) == hmmMemoryTypeUnregistered ? hmmMemcpyHostToDevice : kind;
}
inline hmmMemoryAdvise advice_of(cudaMemoryAdvise advice) {
    return static_cast<hmmMemoryAdvise>(advice);
}

static_assert(sizeof(hmmMemLocation) == sizeof(cudaMemLocation) &&
              offsetof(hmmMemLocation, id) == offsetof(cudaMemLocation, id));

inline hmmMemLocation location_of(cudaMemLocation location) {
    return {static_cast<hmmMemLocationType>(location.type), location.id};
}
inline hmmMemLocation location_of(int device) {
    if (device == hmmCpuDeviceId) return {hmmMemLocationTypeHost, 0};
    return {hmmMemLocationTypeDevice, device};
}
inline const hmmMemLocation* locations_of(const cudaMemLocation* locations) {
    return reinterpret_cast<const hmmMemLocation*>(locations);
}

inline hmmExtent extent_of(cudaExtent extent) {
    return {extent.width, extent.height, extent.depth};
}
inline hmmPos position_of(cudaPos at) {
    return {at.x, at.y, at.z};
}
inline hmmPitchedPtr rows_of(cudaPitchedPtr rows) {
    return {rows.ptr, rows.pitch, rows.xsize, rows.ysize};
}

} // namespace hmmcuda
