// SPDX-License-Identifier: MIT
/*
 * Words of CUDA's language that are no functions, for programs that are written with them. They
 * are in the global namespace, so nothing else includes this file: a program does, or its build
 * (g++ -include hmm/hmm_language.hpp).
 *
 * threadIdx and the others are set in kernels of hmmLaunchKernel() alone. A kernel that stores
 * their addresses finds other threads there later.
 */
#pragma once

#include "hmm_runtime.h"

// Device code is native code: every function can be called there.
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
