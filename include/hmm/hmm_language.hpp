// SPDX-License-Identifier: MIT
/*
 * CUDA language keywords and built-in variables (__global__, threadIdx, dim3).
 * They are defined in the global namespace, so no other header includes this
 * file. A program includes it, or its build does (g++ -include
 * hmm/hmm_language.hpp).
 *
 * threadIdx and the other variables are set only in kernels launched with
 * hmmLaunchKernel(). They change for each thread of the grid, so a kernel must
 * not keep their addresses.
 */
#pragma once

#include "hmm_runtime.h"

// Device code is native code and can call every function, so these keywords
// expand to nothing.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
#define __global__
#define __device__
#define __host__
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

using dim3 = hmmDim3;
using hmm::detail::blockDim;
using hmm::detail::blockIdx;
using hmm::detail::gridDim;
using hmm::detail::threadIdx;
