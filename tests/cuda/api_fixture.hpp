// SPDX-License-Identifier: MIT
// What the tests of CUDA's calls share.
#pragma once

#include "capability.hpp"

#include <cuda_runtime.h>

#include <gtest/gtest.h>

/// The call returns the error, which is the thread's last one, once.
#define EXPECT_REFUSED(call, error)                                                                \
    do {                                                                                           \
        EXPECT_EQ(call, error) << #call;                                                           \
        EXPECT_EQ(cudaPeekAtLastError(), error) << #call;                                          \
        EXPECT_EQ(cudaGetLastError(), error) << #call;                                             \
        EXPECT_EQ(cudaGetLastError(), cudaSuccess) << #call;                                       \
    } while (false)

#define EXPECT_DONE(call) EXPECT_EQ(call, cudaSuccess) << #call << ": " << hmmGetLastErrorDetail()
#define ASSERT_DONE(call) ASSERT_EQ(call, cudaSuccess) << #call << ": " << hmmGetLastErrorDetail()

/// For tests of numbers that an enumeration has no bits for.
#define NEEDS_VALUES_OF_NO_ENUMERATION()                                                           \
    if (has_sanitizer) GTEST_SKIP() << "UBSan ends the program at such a number"

/// Resets the device after each test; a test leaves no error behind.
class OnCudaDevice : public testing::Test {
  protected:
    ~OnCudaDevice() override {
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        cudaDeviceReset();
    }

    /// Queues function(argument) as device code.
    static cudaError_t run(hmmRangeFunction_t function, void* argument,
                           cudaStream_t stream = nullptr) {
        return static_cast<cudaError_t>(
            hmmLaunchRange(function, argument, 1, nullptr, reinterpret_cast<hmmStream_t>(stream)));
    }
    static int number_of_devices() {
        int count = 0;
        EXPECT_DONE(cudaGetDeviceCount(&count));
        return count;
    }

    static constexpr int no_such_device = 77;
};
