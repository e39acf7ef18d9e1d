// SPDX-License-Identifier: MIT
// Errors of libhmmrt as CUDA's, and the last error of a thread.
#pragma once

#include "cuda/driver_types.h"
#include "hmm/hmm_types.h"

namespace hmmcuda {

/// CUDA's error for one of libhmmrt: the same number, but for those that CUDA
/// does not have.
cudaError_t error_of(hmmError_t error);

/// The result of a call of libhmmrt, which has recorded a failure.
cudaError_t forward(hmmError_t error);

/// A failure that libhmmrt does not know of: records it for the thread.
/// Success leaves the thread's last error as it is.
cudaError_t record(cudaError_t error);

/// Describes an error of either interface: what both have, has one number.
const char* sentence_of(cudaError_t error);

/// Makes @error the thread's last error again, after a failure that is none of
/// the runtime interface. A sticky error stays.
void restore_last_error(cudaError_t error);

} // namespace hmmcuda
