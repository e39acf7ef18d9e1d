/* SPDX-License-Identifier: MIT */
/*
 * What device code sees: the built-in variables, barriers, operations of warps,
 * atomics and functions of CUDA C++. cuda_runtime.h includes this for hmmcc.
 *
 * Device code is native code, and every function of the C and C++ libraries is
 * one for device code, too.
 */
#ifndef HMM_CUDA_DEVICE_DEVICE_H
#define HMM_CUDA_DEVICE_DEVICE_H

#include "device_keywords.h"

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

#include "device_index.h"

#include "device_atomics.h"
#include "device_barriers.h"
#include "device_conversions.h"
#include "device_integers.h"
#include "device_launch.h"
#include "device_math.h"
#include "device_memory.h"
#include "device_refused.h"
#include "device_rounding.h"
#include "device_simd.h"
#include "device_special.h"
#include "device_warps.h"

#endif /* HMM_CUDA_DEVICE_DEVICE_H */
