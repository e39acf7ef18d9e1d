// SPDX-License-Identifier: MIT
// Device properties as CUDA kernels see them.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_runtime.h"

#include <optional>

namespace hmmcuda {

/// Attributes that differ from libhmmrt's.
std::optional<int> own_attribute(cudaDeviceAttr attribute);

/// hmmDeviceGetAttribute(), except for the attributes that differ.
hmmError_t attribute_of(int* value, cudaDeviceAttr attribute, int device);

CUuuid uuid_of(const hmmDeviceProp& prop);

} // namespace hmmcuda
