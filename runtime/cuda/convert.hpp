// SPDX-License-Identifier: MIT
// Converts handles, locations and kinds of CUDA's interfaces to libhmmrt's.
// Handles are the same values; structs that we convert in place have the same
// layout.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_runtime.h"

#include <cstddef>

namespace hmmcuda {

/// The place for a handle that libhmmrt makes. It then gets to the caller's place, in the caller's
/// type.
template <class Own, class Handle>
class handle_place {
  public:
    explicit handle_place(Handle* place) : place_(place) {}
    handle_place(const handle_place&) = delete;
    handle_place& operator=(const handle_place&) = delete;
    ~handle_place() {
        if (made_ != nullptr) *place_ = reinterpret_cast<Handle>(made_);
    }
    // NOLINTNEXTLINE(google-explicit-constructor): an argument of libhmmrt's functions
    operator Own*() { return place_ != nullptr ? &made_ : nullptr; }

  private:
    Handle* place_;
    Own made_ = nullptr;
};

/* to_hmm() converts an argument. What both have needs no conversion. */

template <class T>
T to_hmm(T same) {
    return same;
}

inline hmmStream_t to_hmm(cudaStream_t stream) {
    return reinterpret_cast<hmmStream_t>(stream);
}
inline hmmEvent_t to_hmm(cudaEvent_t event) {
    return reinterpret_cast<hmmEvent_t>(event);
}
inline hmmMemPool_t to_hmm(cudaMemPool_t pool) {
    return reinterpret_cast<hmmMemPool_t>(pool);
}
inline handle_place<hmmStream_t, cudaStream_t> to_hmm(cudaStream_t* place) {
    return handle_place<hmmStream_t, cudaStream_t>(place);
}
inline handle_place<hmmEvent_t, cudaEvent_t> to_hmm(cudaEvent_t* place) {
    return handle_place<hmmEvent_t, cudaEvent_t>(place);
}
inline handle_place<hmmMemPool_t, cudaMemPool_t> to_hmm(cudaMemPool_t* place) {
    return handle_place<hmmMemPool_t, cudaMemPool_t>(place);
}

inline hmmMemcpyKind to_hmm(cudaMemcpyKind kind) {
    return static_cast<hmmMemcpyKind>(kind);
}
inline hmmMemoryAdvise to_hmm(cudaMemoryAdvise advice) {
    return static_cast<hmmMemoryAdvise>(advice);
}
inline hmmMemRangeAttribute to_hmm(cudaMemRangeAttribute attribute) {
    return static_cast<hmmMemRangeAttribute>(attribute);
}
inline const hmmMemRangeAttribute* to_hmm(cudaMemRangeAttribute* attributes) {
    return reinterpret_cast<const hmmMemRangeAttribute*>(attributes);
}
inline hmmMemPoolAttr to_hmm(cudaMemPoolAttr attribute) {
    return static_cast<hmmMemPoolAttr>(attribute);
}

static_assert(sizeof(hmmMemLocation) == sizeof(cudaMemLocation) &&
              offsetof(hmmMemLocation, id) == offsetof(cudaMemLocation, id));

inline hmmMemLocation to_hmm(cudaMemLocation location) {
    return {static_cast<hmmMemLocationType>(location.type), location.id};
}
inline const hmmMemLocation* to_hmm(cudaMemLocation* locations) {
    return reinterpret_cast<const hmmMemLocation*>(locations);
}

inline hmmExtent to_hmm(cudaExtent extent) {
    return {extent.width, extent.height, extent.depth};
}
inline hmmPos to_hmm(cudaPos at) {
    return {at.x, at.y, at.z};
}
inline hmmPitchedPtr to_hmm(cudaPitchedPtr rows) {
    return {rows.ptr, rows.pitch, rows.xsize, rows.ysize};
}

/// The location of a device number.
inline hmmMemLocation location_of(int device) {
    if (device == hmmCpuDeviceId) return {hmmMemLocationTypeHost, 0};
    return {hmmMemLocationTypeDevice, device};
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

} // namespace hmmcuda
