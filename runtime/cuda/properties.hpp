// SPDX-License-Identifier: MIT
// Properties of devices as kernels in CUDA see them.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_runtime.h"

#include <optional>

namespace hmmcuda {

/// Attributes that are not those of libhmmrt.
std::optional<int> own_attribute(cudaDeviceAttr attribute);

/// hmmDeviceGetAttribute(), with the attributes that are not libhmmrt's.
hmmError_t attribute_of(int* value, cudaDeviceAttr attribute, int device);

CUuuid uuid_of(const hmmDeviceProp& prop);

} // namespace hmmcuda
