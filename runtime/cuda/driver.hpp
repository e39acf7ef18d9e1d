// SPDX-License-Identifier: MIT
// Shared by the functions of the CUDA driver interface. Their failures don't
// count as errors of the runtime interface.
#pragma once

#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda.h"
#include "cuda/cuda_runtime_api.h"

#include <cstddef>
#include <optional>

namespace hmmcuda {

CUresult result_of(hmmError_t error);

/// Calls libhmmrt and converts its error to the driver interface's.
template <class Call>
CUresult driver_call(Call call) {
    const cudaError_t before = cudaPeekAtLastError();
    const hmmError_t code = call();
    if (code != hmmSuccess) restore_last_error(before);
    return result_of(code);
}

/// Calls libhmmrt with another current device.
template <class Call>
hmmError_t on_device(int device, Call call) {
    int before = 0;
    hmmError_t code = hmmGetDevice(&before);
    if (code == hmmSuccess) code = hmmSetDevice(device);
    if (code != hmmSuccess) return code;
    code = call();
    const hmmError_t back = hmmSetDevice(before);
    return code != hmmSuccess ? code : back;
}

inline void* pointer_of(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

/// An address among the arguments. Some of libhmmrt's functions take it as a pointer, and some as a
/// number.
struct address {
    CUdeviceptr value;

    // NOLINTNEXTLINE(google-explicit-constructor): an argument of libhmmrt's functions
    operator void*() const { return pointer_of(value); }
    // NOLINTNEXTLINE(google-explicit-constructor): the same
    operator hmmDeviceptr() const { return value; }
};

static_assert(sizeof(hmmMemAccessDesc) == sizeof(CUmemAccessDesc) &&
              offsetof(hmmMemAccessDesc, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(hmmMemLocation) == sizeof(CUmemLocation) &&
              offsetof(hmmMemLocation, id) == offsetof(CUmemLocation, id));

inline hmmMemLocation to_hmm(CUmemLocation location) {
    return {static_cast<hmmMemLocationType>(location.type), location.id};
}
inline const hmmMemLocation* to_hmm(const CUmemLocation* location) {
    return reinterpret_cast<const hmmMemLocation*>(location);
}
inline const hmmMemAccessDesc* to_hmm(const CUmemAccessDesc* accesses) {
    return reinterpret_cast<const hmmMemAccessDesc*>(accesses);
}
inline hmmMemoryAdvise to_hmm(CUmem_advise advice) {
    return static_cast<hmmMemoryAdvise>(advice);
}
inline hmmMemRangeAttribute to_hmm(CUmem_range_attribute attribute) {
    return static_cast<hmmMemRangeAttribute>(attribute);
}
inline const hmmMemRangeAttribute* to_hmm(CUmem_range_attribute* attributes) {
    return reinterpret_cast<const hmmMemRangeAttribute*>(attributes);
}
inline hmmMemAllocationHandleType to_hmm(CUmemAllocationHandleType type) {
    return static_cast<hmmMemAllocationHandleType>(type);
}

/// The only context of a device.
CUcontext context_of(int device);
/// The device of a context, if the context exists.
std::optional<int> device_of(CUcontext context);

} // namespace hmmcuda
