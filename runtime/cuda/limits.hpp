// SPDX-License-Identifier: MIT
// Limits of the current device, for both interfaces.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_runtime.h"

namespace hmmcuda {

inline bool is_limit(cudaLimit limit) {
    return limit >= cudaLimitStackSize && limit <= cudaLimitPersistingL2CacheSize;
}

/// CUDA 13 defines limits up to this number. It reports those that a device lacks as unsupported,
/// and other numbers as invalid.
inline constexpr int last_known_limit = 9;

inline bool is_known_limit(cudaLimit limit) {
    return limit >= cudaLimitStackSize && static_cast<int>(limit) <= last_known_limit;
}

/// Output of device code goes to the program's output immediately, so its
/// buffer has no limit.
inline hmmLimit limit_of(cudaLimit limit) {
    return limit == cudaLimitPrintfFifoSize ? hmmLimitMallocHeapSize : static_cast<hmmLimit>(limit);
}

inline hmmError_t lanes_of_current_device(int& lanes) {
    int device = 0;
    const hmmError_t code = hmmGetDevice(&device);
    if (code != hmmSuccess) return code;
    return hmmDeviceGetAttribute(&lanes, hmmDevAttrMultiProcessorCount, device);
}

} // namespace hmmcuda
