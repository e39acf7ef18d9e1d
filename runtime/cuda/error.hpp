// SPDX-License-Identifier: MIT
// Converts libhmmrt's errors to CUDA's, and keeps the last error of a thread.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_types.h"

namespace hmmcuda {

/// CUDA's error for one of libhmmrt: the same number, unless CUDA doesn't have
/// it.
cudaError_t error_of(hmmError_t error);

/// Converts the result of a libhmmrt call, which has recorded any failure.
cudaError_t forward(hmmError_t error);

/// Records a failure that libhmmrt doesn't know for the thread. On success,
/// leaves the thread's last error alone.
cudaError_t record(cudaError_t error);

/// Describes an error of either interface. Errors that both have share one
/// number.
const char* sentence_of(cudaError_t error);

/// Makes @error the thread's last error again, after a failure that doesn't
/// belong to the runtime interface. A sticky error stays.
void restore_last_error(cudaError_t error);

} // namespace hmmcuda
