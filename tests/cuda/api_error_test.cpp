// SPDX-License-Identifier: MIT
// CUDA's errors, and types that don't need a device.
#include "api_fixture.hpp"

#include "cuda/error.hpp"

#include <cuda.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

TEST(CudaErrors, HaveTheNumbersOfTheLibrarysErrors) {
    EXPECT_EQ(int{cudaSuccess}, int{hmmSuccess});
    EXPECT_EQ(int{cudaErrorInvalidValue}, int{hmmErrorInvalidValue});
    EXPECT_EQ(int{cudaErrorIllegalAddress}, int{hmmErrorIllegalAddress});
    EXPECT_EQ(int{cudaErrorUnknown}, int{hmmErrorUnknown});
}

TEST(CudaErrors, OfCudaAloneHaveItsNumbers) {
    EXPECT_EQ(int{cudaErrorCudartUnloading}, 4);
    EXPECT_EQ(int{cudaErrorInvalidSymbol}, 13);
    EXPECT_EQ(int{cudaErrorInvalidDevicePointer}, 17);
    EXPECT_EQ(int{cudaErrorMissingConfiguration}, 52);
    EXPECT_EQ(int{cudaErrorDeviceUninitialized}, 201);
    EXPECT_EQ(int{cudaErrorInvalidPtx}, 218);
    EXPECT_EQ(int{cudaErrorFileNotFound}, 301);
    EXPECT_EQ(int{cudaErrorLossyQuery}, 402);
    EXPECT_EQ(int{cudaErrorStreamCaptureImplicit}, 906);
    EXPECT_EQ(int{cudaErrorInvalidResourceConfiguration}, 915);
    EXPECT_EQ(int{CUDA_ERROR_INVALID_CONTEXT}, 201);
    EXPECT_EQ(int{CUDA_ERROR_NOT_FOUND}, int{cudaErrorSymbolNotFound});
    EXPECT_EQ(int{CUDA_ERROR_LAUNCH_FAILED}, int{cudaErrorLaunchFailure});
}

/// Calls body(number) for each possible error number.
template <class Body>
void for_each_number(Body body) {
    for (int number = 0; number < 1000; number++)
        body(number);
}

TEST(CudaErrors, OfTheLibraryHaveTheSameNameWithCudasPrefix) {
    const std::string unknown = hmmGetErrorName(static_cast<hmmError_t>(1023));
    int compared = 0;
    for_each_number([&](int number) {
        const std::string name = hmmGetErrorName(static_cast<hmmError_t>(number));
        if (name == unknown) return;
        EXPECT_EQ("cuda" + name.substr(3), cudaGetErrorName(static_cast<cudaError_t>(number)));
        EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(number)),
                     hmmGetErrorString(static_cast<hmmError_t>(number)));
        compared++;
    });
    EXPECT_GT(compared, 40);
}

TEST(CudaErrors, HaveNamesAndSentences) {
    int named = 0;
    for_each_number([&](int number) {
        const auto error = static_cast<cudaError_t>(number);
        if (std::string(cudaGetErrorName(error)) == "unrecognized error code") return;
        EXPECT_STRNE(cudaGetErrorString(error), "unrecognized error code") << number;
        named++;
    });
    EXPECT_GT(named, 120);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidSymbol), "cudaErrorInvalidSymbol");
}

TEST(CudaErrors, ThatDoNotExistAreUnrecognized) {
    EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(1234)), "unrecognized error code");
    EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(9999)), "unrecognized error code");
}

TEST(CudaErrors, ThatCudaDoesNotHaveBecomeOneThatItHas) {
    EXPECT_EQ(hmmcuda::error_of(hmmErrorSystemCall), cudaErrorLaunchFailure);
    EXPECT_EQ(hmmcuda::error_of(hmmErrorDeviceLost), cudaErrorContextIsDestroyed);
    EXPECT_EQ(hmmcuda::error_of(hmmErrorForkedProcess), cudaErrorInitializationError);
    EXPECT_EQ(hmmcuda::error_of(hmmErrorNotReady), cudaErrorNotReady);
}

TEST(CudaErrors, AForkedChildCannotUseTheDevice) {
    ASSERT_DONE(cudaDeviceSynchronize());
    const pid_t child = fork();
    if (child == 0) _exit(cudaDeviceSynchronize());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), cudaErrorInitializationError);
}

TEST(CudaHeaders, DefineTheNamesThatProgramsAskFor) {
#if !defined(__DRIVER_TYPES_H__) || !defined(__CUDA_RUNTIME_H__) ||                                \
    !defined(__CUDA_RUNTIME_API_H__) || !defined(__VECTOR_TYPES_H__) || !defined(__cuda_cuda_h__)
    ADD_FAILURE() << "a name is missing";
#endif
    EXPECT_EQ(CUDART_VERSION, CUDA_VERSION);
}

TEST(CudaVectors, HaveCudasSizesAndAlignments) {
    EXPECT_EQ(sizeof(char4), 4U);
    EXPECT_EQ(alignof(uchar2), 2U);
    EXPECT_EQ(alignof(short3), 2U);
    EXPECT_EQ(sizeof(float3), 12U);
    EXPECT_EQ(alignof(float2), 8U);
    EXPECT_EQ(alignof(float4), 16U);
    EXPECT_EQ(alignof(double2), 16U);
    EXPECT_EQ(sizeof(double4), 32U);
    EXPECT_EQ(alignof(double4), 16U);
    EXPECT_EQ(alignof(ulonglong4), 16U);
}

TEST(CudaVectors, AreMadeOfTheirElements) {
    const int4 four = make_int4(1, -2, 3, -4);
    EXPECT_EQ(four.x, 1);
    EXPECT_EQ(four.y, -2);
    EXPECT_EQ(four.z, 3);
    EXPECT_EQ(four.w, -4);
    EXPECT_EQ(make_double2(0.5, 1.5).y, 1.5);
    EXPECT_EQ(make_uchar3(1, 2, 255).z, 255);
}

TEST(CudaVectors, SizesOfGridsConvert) {
    const dim3 size = 7;
    EXPECT_EQ(size.x, 7U);
    EXPECT_EQ(size.y, 1U);
    const uint3 same = dim3(2, 3, 4);
    EXPECT_EQ(same.z, 4U);
    EXPECT_EQ(dim3(same).y, 3U);
}

} // namespace
