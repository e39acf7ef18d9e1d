// SPDX-License-Identifier: MIT
// Limits of the current device, for both interfaces.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_runtime.h"

namespace hmmcuda {

inline bool is_limit(cudaLimit limit) {
    return limit >= cudaLimitStackSize && limit <= cudaLimitPersistingL2CacheSize;
}

/// Those that CUDA 13 has for its graphics, too; it does not take other values.
inline bool is_known_limit(cudaLimit limit) {
    return limit >= cudaLimitStackSize && limit <= 9;
}

/// What device code prints goes to the program's output at once: the buffer
/// for it has no limit.
inline hmmLimit limit_of(cudaLimit limit) {
    return limit == cudaLimitPrintfFifoSize ? hmmLimitMallocHeapSize : static_cast<hmmLimit>(limit);
}

} // namespace hmmcuda
