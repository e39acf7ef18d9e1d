// SPDX-License-Identifier: MIT
// CUDA's driver interface.
#include "api_fixture.hpp"

#include <cuda.h>
#include <ported.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

// Expects this error from the call, and no error in the runtime interface.
#define EXPECT_RESULT(call, error)                                                                 \
    do {                                                                                           \
        EXPECT_EQ(call, error) << #call;                                                           \
        EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << #call;                                    \
    } while (false)
#define EXPECT_OK(call) EXPECT_RESULT(call, CUDA_SUCCESS)

namespace {

class CudaDriver : public OnCudaDevice {
  protected:
    static constexpr size_t bytes = size_t{1} << 16;
    static constexpr CUmemLocation device_0 = {CU_MEM_LOCATION_TYPE_DEVICE, 0};

    CudaDriver() {
        EXPECT_OK(cuInit(0));
        EXPECT_OK(cuMemAllocManaged(&memory_, bytes, CU_MEM_ATTACH_GLOBAL));
        EXPECT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    }
    ~CudaDriver() override {
        EXPECT_OK(cuStreamDestroy(stream_));
        EXPECT_OK(cuMemFree(memory_));
    }

    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(memory_);
    }
    int attribute(CUmem_range_attribute which) const {
        int value = -77;
        EXPECT_OK(cuMemRangeGetAttribute(&value, sizeof(value), which, memory_, bytes));
        return value;
    }

    CUdeviceptr memory_ = 0;
    CUstream stream_ = nullptr;
};

TEST_F(CudaDriver, ErrorsHaveNames) {
    const char *name = nullptr, *sentence = nullptr;
    EXPECT_OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
    EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &sentence));
    EXPECT_STREQ(sentence, cudaGetErrorString(cudaErrorMemoryAllocation));
    EXPECT_OK(cuGetErrorString(CUDA_ERROR_INVALID_CONTEXT, &sentence));
    EXPECT_NE(std::string(sentence).find("context"), std::string::npos);
    EXPECT_RESULT(cuGetErrorName(static_cast<CUresult>(1010), &name), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(name, nullptr);
    EXPECT_RESULT(cuGetErrorString(static_cast<CUresult>(1010), &name), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuGetErrorName(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaDriver, EachErrorHasAName) {
    int named = 0;
    for (int number = 0; number < 1000; number++) {
        const char *name = nullptr, *sentence = nullptr;
        if (cuGetErrorName(static_cast<CUresult>(number), &name) != CUDA_SUCCESS) continue;
        EXPECT_OK(cuGetErrorString(static_cast<CUresult>(number), &sentence));
        EXPECT_STRNE(sentence, "unrecognized error code") << name;
        named++;
    }
    EXPECT_GT(named, 90);
}

TEST_F(CudaDriver, FailuresLeaveTheLastErrorOfTheRuntimeAlone) {
    EXPECT_EQ(cudaSetDevice(no_such_device), cudaErrorInvalidDevice);
    EXPECT_EQ(cuMemFree(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cuMemcpy(memory_, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaDriver, DevicesAreDescribed) {
    CUdevice device = -1;
    int count = 0, value = 0, major = 0, minor = -1, version = 0;
    char name[256], begin[3];
    size_t total = 0;
    CUuuid uuid = {};
    cudaDeviceProp prop;
    EXPECT_DONE(cudaGetDeviceProperties(&prop, 0));
    EXPECT_OK(cuDeviceGetCount(&count));
    EXPECT_EQ(count, number_of_devices());
    EXPECT_OK(cuDeviceGet(&device, 0));
    EXPECT_OK(cuDeviceGetName(name, sizeof(name), device));
    EXPECT_STREQ(name, prop.name);
    EXPECT_OK(cuDeviceGetName(begin, sizeof(begin), device));
    EXPECT_EQ(begin, std::string(prop.name).substr(0, 2));
    EXPECT_OK(cuDeviceTotalMem(&total, device));
    EXPECT_EQ(total, prop.totalGlobalMem);
    EXPECT_OK(cuDeviceComputeCapability(&major, &minor, device));
    EXPECT_EQ(major, prop.major);
    EXPECT_EQ(minor, prop.minor);
    EXPECT_OK(cuDeviceGetUuid(&uuid, device));
    EXPECT_EQ(std::memcmp(&uuid, &prop.uuid, sizeof(uuid)), 0);
    EXPECT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    EXPECT_EQ(value, 32);
    EXPECT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                   device));
    EXPECT_EQ(value, 1);
    for (const auto none :
         {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER,
          CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT}) {
        value = 7;
        EXPECT_OK(cuDeviceGetAttribute(&value, none, device));
        EXPECT_EQ(value, 0);
    }
    EXPECT_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device));
    EXPECT_EQ(value, CU_COMPUTEMODE_DEFAULT);
    EXPECT_OK(cuDeviceGetUuid_v2(&uuid, device));
    EXPECT_OK(cuDriverGetVersion(&version));
    EXPECT_EQ(version, CUDA_VERSION);
}

TEST_F(CudaDriver, BadCallsAboutDevicesAreRefused) {
    CUdevice device = -1;
    int value = 0;
    char name[8];
    CUuuid uuid;
    size_t total = 0;
    EXPECT_RESULT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGet(&device, no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDeviceGet(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDriverGetVersion(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetName(name, 8, no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDeviceGetUuid(&uuid, no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDeviceTotalMem(&total, no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDeviceTotalMem(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceComputeCapability(&value, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(200), 0),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
                  CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaDriver, ContextsAreThoseOfTheDevices) {
    CUcontext first = nullptr, primary = nullptr, current = nullptr;
    const int last = number_of_devices() - 1;
    int device = -1;
    EXPECT_OK(cuCtxCreate(&first, CU_CTX_SCHED_BLOCKING_SYNC, last));
    EXPECT_OK(cuCtxGetCurrent(&current));
    EXPECT_EQ(current, first);
    EXPECT_OK(cuCtxGetDevice(&device));
    EXPECT_EQ(device, last);
    EXPECT_DONE(cudaGetDevice(&device));
    EXPECT_EQ(device, last);
    EXPECT_OK(cuDevicePrimaryCtxRetain(&primary, last));
    EXPECT_EQ(primary, first);
    unsigned flags = 0, version = 0;
    EXPECT_OK(cuCtxGetFlags(&flags));
    EXPECT_EQ(flags, unsigned{CU_CTX_SCHED_BLOCKING_SYNC});
    EXPECT_OK(cuCtxGetApiVersion(first, &version));
    EXPECT_EQ(version, unsigned{CUDA_VERSION});
    EXPECT_OK(cuCtxSynchronize());
    EXPECT_OK(cuDevicePrimaryCtxRelease(last));
    EXPECT_OK(cuCtxDestroy(first));
    EXPECT_OK(cuCtxGetDevice(&device));
    EXPECT_EQ(device, 0);
}

TEST_F(CudaDriver, ContextsArePushedAndPopped) {
    CUcontext zero = nullptr, other = nullptr, popped = nullptr;
    const int last = number_of_devices() - 1;
    EXPECT_OK(cuDevicePrimaryCtxRetain(&zero, 0));
    EXPECT_OK(cuDevicePrimaryCtxRetain(&other, last));
    EXPECT_OK(cuCtxPushCurrent(other));
    EXPECT_OK(cuCtxPushCurrent(zero));
    EXPECT_OK(cuCtxPopCurrent(&popped));
    EXPECT_EQ(popped, zero);
    EXPECT_OK(cuCtxGetCurrent(&popped));
    EXPECT_EQ(popped, other);
    EXPECT_OK(cuCtxPopCurrent(&popped));
    EXPECT_EQ(popped, other);
    EXPECT_RESULT(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_OK(cuCtxSetCurrent(other));
    EXPECT_OK(cuCtxGetCurrent(&popped));
    EXPECT_EQ(popped, other);
    EXPECT_OK(cuCtxSetCurrent(nullptr));
    EXPECT_OK(cuCtxSetCurrent(zero));
}

TEST_F(CudaDriver, BadContextsAreRefused) {
    const auto wrong = reinterpret_cast<CUcontext>(&memory_);
    CUcontext made = nullptr;
    unsigned flags = 0;
    int active = 0;
    EXPECT_RESULT(cuCtxCreate(&made, 0, no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuCtxCreate(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuCtxCreate(&made, 0x4000, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuCtxPushCurrent(wrong), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuCtxSetCurrent(wrong), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuCtxDestroy(wrong), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuCtxDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuCtxPushCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuCtxGetCurrent(nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuCtxGetApiVersion(wrong, &flags), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuCtxEnablePeerAccess(wrong, 0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_RESULT(cuDevicePrimaryCtxRetain(&made, no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDevicePrimaryCtxRelease(no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDevicePrimaryCtxReset(no_such_device), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuDevicePrimaryCtxGetState(0, &flags, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 1);
}

TEST_F(CudaDriver, LimitsAndPrioritiesAreThoseOfTheRuntime) {
    size_t stack = 0, same = 0;
    int least = 7, greatest = 7;
    EXPECT_OK(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    EXPECT_DONE(cudaDeviceGetLimit(&same, cudaLimitStackSize));
    EXPECT_EQ(stack, same);
    EXPECT_OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
    EXPECT_RESULT(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1),
                  CUDA_ERROR_UNSUPPORTED_LIMIT);
    EXPECT_RESULT(cuCtxGetLimit(&same, static_cast<CUlimit>(7)), CUDA_ERROR_UNSUPPORTED_LIMIT);
    EXPECT_RESULT(cuCtxSetLimit(static_cast<CUlimit>(7), 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
    EXPECT_OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    EXPECT_EQ(least, 0);
}

TEST_F(CudaDriver, MemoryIsAllocatedAndCopied) {
    CUdeviceptr device = 0, ordered = 0, base = 0;
    size_t size = 0;
    std::vector<char> from(bytes, 3), to(bytes);
    ASSERT_EQ(cuMemAlloc(&device, bytes), CUDA_SUCCESS);
    EXPECT_OK(cuMemcpyHtoD(device, from.data(), bytes));
    EXPECT_OK(cuMemcpyDtoD(memory_, device, bytes));
    EXPECT_OK(cuMemcpyDtoH(to.data(), memory_, bytes));
    EXPECT_EQ(from, to);
    from[0] = 4;
    ASSERT_EQ(cuMemAllocAsync(&ordered, bytes, stream_), CUDA_SUCCESS);
    EXPECT_OK(cuMemcpyHtoDAsync(ordered, from.data(), bytes, stream_));
    EXPECT_OK(cuMemcpyDtoDAsync(device, ordered, bytes, stream_));
    EXPECT_OK(cuMemcpyAsync(memory_, device, bytes, stream_));
    EXPECT_OK(cuMemcpyDtoHAsync(to.data(), memory_, bytes, stream_));
    EXPECT_OK(cuMemFreeAsync(ordered, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(from, to);
    EXPECT_OK(cuMemGetAddressRange(&base, &size, device + 100));
    EXPECT_EQ(base, device);
    EXPECT_EQ(size, bytes);
    EXPECT_RESULT(cuMemGetAddressRange(&base, &size, reinterpret_cast<uintptr_t>(&size)),
                  CUDA_ERROR_NOT_FOUND);
    EXPECT_OK(cuMemFree(device));
}

TEST_F(CudaDriver, RowsAreCopied) {
    std::vector<char> host(10 * 8);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = static_cast<char>(i);
    CUDA_MEMCPY2D params = {};
    params.srcMemoryType = CU_MEMORYTYPE_HOST;
    params.srcHost = host.data();
    params.srcPitch = 10;
    params.srcXInBytes = 3;
    params.srcY = 2;
    params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.dstDevice = memory_;
    params.dstPitch = 100;
    params.dstXInBytes = 1;
    params.dstY = 4;
    params.WidthInBytes = 7;
    params.Height = 5;
    EXPECT_OK(cuMemcpy2D(&params));
    EXPECT_EQ(as<char>()[4 * 100 + 1], 23);
    EXPECT_EQ(as<char>()[8 * 100 + 7], 69);
    EXPECT_EQ(as<char>()[8 * 100 + 8], 0);
    params.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    params.srcY = 0;
    EXPECT_OK(cuMemcpy2DAsync(&params, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(as<char>()[4 * 100 + 1], 3);
    EXPECT_OK(cuMemcpy2DUnaligned(&params));
    const auto refused = [&](CUresult error, auto change) {
        CUDA_MEMCPY2D changed = params;
        change(changed);
        EXPECT_RESULT(cuMemcpy2D(&changed), error);
    };
    refused(CUDA_ERROR_INVALID_VALUE, [](CUDA_MEMCPY2D& p) { p.WidthInBytes = 8; });
    refused(CUDA_ERROR_INVALID_VALUE, [](CUDA_MEMCPY2D& p) { p.dstXInBytes = 101; });
    refused(CUDA_ERROR_INVALID_VALUE,
            [](CUDA_MEMCPY2D& p) { p.srcMemoryType = static_cast<CUmemorytype>(5); });
    refused(CUDA_ERROR_NOT_SUPPORTED,
            [](CUDA_MEMCPY2D& p) { p.dstMemoryType = CU_MEMORYTYPE_ARRAY; });
    EXPECT_RESULT(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
    refused(CUDA_SUCCESS, [](CUDA_MEMCPY2D& p) {
        p.srcPitch = 1;
        p.Height = 0;
    });
}

TEST_F(CudaDriver, RowsWithoutAPitchFollowEachOther) {
    char host[] = "..abcd..efgh..ijkl";
    CUDA_MEMCPY2D params = {};
    params.srcMemoryType = CU_MEMORYTYPE_HOST;
    params.srcHost = host;
    params.srcXInBytes = 2;
    params.srcY = 1;
    params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.dstDevice = memory_;
    params.WidthInBytes = 4;
    params.Height = 2;
    EXPECT_OK(cuMemcpy2D(&params));
    EXPECT_EQ(std::string_view(as<char>(), 8), "efghijkl");
}

/// A copy of 16 numbers as rows.
CUDA_MEMCPY2D rows_of(CUmemorytype to_type, int* to, CUmemorytype from_type, int* from) {
    CUDA_MEMCPY2D params = {};
    params.srcMemoryType = from_type;
    params.dstMemoryType = to_type;
    params.srcHost = from;
    params.srcDevice = reinterpret_cast<uintptr_t>(from);
    params.dstHost = to;
    params.dstDevice = reinterpret_cast<uintptr_t>(to);
    params.srcPitch = params.dstPitch = params.WidthInBytes = 16;
    params.Height = 4;
    return params;
}

TEST_F(CudaDriver, MemoryOfTheProgramIsCopiedInTheOrderOfTheProgram) {
    expect_source_taken(as<int>(), [this](int*, int* from, cudaStream_t stream) {
        EXPECT_OK(cuMemcpyHtoDAsync(memory_, from, 64, stream));
    });
    expect_source_taken(as<int>(), [this](int*, int* from, cudaStream_t stream) {
        EXPECT_OK(cuMemcpyAsync(memory_, reinterpret_cast<uintptr_t>(from), 64, stream));
    });
    for (const CUmemorytype type : {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED})
        expect_source_taken(as<int>(), [=](int* to, int* from, cudaStream_t stream) {
            const auto params = rows_of(CU_MEMORYTYPE_DEVICE, to, type, from);
            EXPECT_OK(cuMemcpy2DAsync(&params, stream));
        });
    expect_complete(as<int>(), [this](int* to, int*, cudaStream_t stream) {
        EXPECT_OK(cuMemcpyDtoHAsync(to, memory_, 64, stream));
    });
    expect_complete(as<int>(), [this](int* to, int*, cudaStream_t stream) {
        EXPECT_OK(cuMemcpyAsync(reinterpret_cast<uintptr_t>(to), memory_, 64, stream));
    });
    for (const CUmemorytype type : {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_UNIFIED})
        expect_complete(as<int>(), [=](int* to, int* from, cudaStream_t stream) {
            const auto params = rows_of(type, to, CU_MEMORYTYPE_DEVICE, from);
            EXPECT_OK(cuMemcpy2DAsync(&params, stream));
        });
}

TEST_F(CudaDriver, MemoryOfPeersIsCopied) {
    CUcontext zero = nullptr, other = nullptr;
    EXPECT_OK(cuDevicePrimaryCtxRetain(&zero, 0));
    EXPECT_OK(cuDevicePrimaryCtxRetain(&other, number_of_devices() - 1));
    as<int>()[0] = 42;
    EXPECT_OK(cuMemcpyPeer(memory_ + 4, other, memory_, zero, 4));
    EXPECT_OK(cuMemcpyPeerAsync(memory_ + 8, zero, memory_, other, 4, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(as<int>()[1], 42);
    EXPECT_EQ(as<int>()[2], 42);
    EXPECT_RESULT(cuMemcpyPeer(memory_ + 4, nullptr, memory_, zero, 4), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(CudaDriver, HostMemoryIsAllocatedAndRegistered) {
    void *host = nullptr, *pinned = nullptr;
    CUdeviceptr mapped = 0;
    unsigned flags = 0;
    std::vector<char> own(bytes);
    EXPECT_OK(cuMemAllocHost(&host, bytes));
    EXPECT_OK(cuMemHostAlloc(&pinned, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
    EXPECT_OK(cuMemHostGetDevicePointer(&mapped, pinned, 0));
    EXPECT_EQ(mapped, reinterpret_cast<uintptr_t>(pinned));
    EXPECT_OK(cuMemHostGetFlags(&flags, pinned));
    EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
    EXPECT_OK(cuMemHostRegister(own.data(), bytes, CU_MEMHOSTREGISTER_PORTABLE));
    EXPECT_OK(cuMemHostUnregister(own.data()));
    EXPECT_RESULT(cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_OK(cuMemFreeHost(host));
    EXPECT_OK(cuMemFreeHost(pinned));
}

TEST_F(CudaDriver, MemoryInfoIsWrittenWhereItIsWanted) {
    size_t free = 0, total = 0;
    EXPECT_OK(cuMemGetInfo(&free, nullptr));
    EXPECT_OK(cuMemGetInfo(nullptr, &total));
    EXPECT_OK(cuMemGetInfo(nullptr, nullptr));
    EXPECT_GT(free, 0U);
    EXPECT_GE(total, free);
}

TEST_F(CudaDriver, BadAllocationsAreRefused) {
    CUdeviceptr made = 0;
    size_t pitch = 0;
    EXPECT_RESULT(cuMemAlloc(&made, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAlloc(nullptr, 8), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAllocManaged(&made, 8, 99), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAllocManaged(&made, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAllocManaged(&made, ~size_t{0} / 2, CU_MEM_ATTACH_GLOBAL),
                  CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_RESULT(cuMemAllocPitch(&made, &pitch, 100, 2, 3), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemAllocPitch(&made, &pitch, 0, 2, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemFree(memory_ + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(made, 0U);
    EXPECT_OK(cuMemAllocPitch(&made, &pitch, 100, 2, 4));
    EXPECT_GE(pitch, 100U);
    EXPECT_OK(cuMemFree(made));
}

TEST_F(CudaDriver, ElementsAreFilled) {
    EXPECT_OK(cuMemsetD8(memory_, 1, bytes));
    EXPECT_EQ(as<uint32_t>()[100], 0x01010101U);
    EXPECT_OK(cuMemsetD16(memory_ + 2, 0x1234, 10));
    EXPECT_EQ(as<uint16_t>()[0], 0x0101);
    EXPECT_EQ(as<uint16_t>()[1], 0x1234);
    EXPECT_EQ(as<uint16_t>()[10], 0x1234);
    EXPECT_EQ(as<uint16_t>()[11], 0x0101);
    EXPECT_OK(cuMemsetD32(memory_, 0xdeadbeef, bytes / 4));
    const auto* words = as<uint32_t>();
    EXPECT_EQ(std::count(words, words + bytes / 4, 0xdeadbeefU), ptrdiff_t{bytes / 4});
    EXPECT_OK(cuMemsetD8Async(memory_, 2, 4, stream_));
    EXPECT_OK(cuMemsetD16Async(memory_ + 4, 3, 2, stream_));
    EXPECT_OK(cuMemsetD32Async(memory_ + 8, 4, 1, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(words[0], 0x02020202U);
    EXPECT_EQ(words[1], 0x00030003U);
    EXPECT_EQ(words[2], 4U);
    EXPECT_EQ(words[3], 0xdeadbeefU);
}

TEST_F(CudaDriver, BadFillsAreRefused) {
    EXPECT_RESULT(cuMemsetD16(memory_ + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemsetD32(memory_ + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemsetD32Async(memory_, 0, ~size_t{0} / 2, stream_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemsetD32Async(memory_, 0, 1, reinterpret_cast<CUstream>(&stream_ + 100)),
                  CUDA_ERROR_INVALID_HANDLE);
    EXPECT_OK(cuMemsetD32(0, 0, 0));
}

TEST_F(CudaDriver, StreamsOfOtherDevicesAreFilled) {
    if (number_of_devices() < 2) GTEST_SKIP() << "one device only";
    CUstream other = nullptr;
    int device = -1;
    EXPECT_DONE(cudaSetDevice(1));
    EXPECT_OK(cuStreamCreate(&other, CU_STREAM_DEFAULT));
    EXPECT_DONE(cudaSetDevice(0));
    EXPECT_OK(cuMemsetD32Async(memory_, 77, 1, other));
    EXPECT_OK(cuStreamSynchronize(other));
    EXPECT_EQ(as<int>()[0], 77);
    EXPECT_DONE(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    EXPECT_OK(cuStreamDestroy(other));
    EXPECT_OK(cuDevicePrimaryCtxReset(1));
}

TEST_F(CudaDriver, MemoryIsPrefetchedAndAdvised) {
    const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    EXPECT_OK(cuMemPrefetchAsync(memory_, bytes, 0, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
    EXPECT_OK(cuMemPrefetchAsync_v2(memory_, bytes, host, 0, stream_));
    EXPECT_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(attribute(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_CPU);
    EXPECT_OK(cuMemAdvise(memory_, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    EXPECT_OK(cuMemAdvise_v2(memory_, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device_0));
    int mostly = 0, preferred = -7;
    void* data[] = {&mostly, &preferred};
    size_t sizes[] = {sizeof(int), sizeof(int)};
    CUmem_range_attribute which[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                     CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    EXPECT_OK(cuMemRangeGetAttributes(data, sizes, which, 2, memory_, bytes));
    EXPECT_EQ(mostly, 1);
    EXPECT_EQ(preferred, 0);
    EXPECT_RESULT(cuMemPrefetchAsync(memory_, bytes, no_such_device, stream_),
                  CUDA_ERROR_INVALID_DEVICE);
    EXPECT_RESULT(cuMemAdvise(memory_, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
                  CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaDriver, PointersHaveAttributes) {
    unsigned type = 0, managed = 0, is_mapped = 0;
    int ordinal = -7;
    size_t size = 0;
    void* host = nullptr;
    CUdeviceptr device = 0, start = 0;
    CUcontext context = nullptr, current = nullptr;
    EXPECT_OK(cuCtxGetCurrent(&current));
    const auto get = [&](void* data, CUpointer_attribute which) {
        EXPECT_OK(cuPointerGetAttribute(data, which, memory_ + 8));
    };
    get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
    get(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
    get(&is_mapped, CU_POINTER_ATTRIBUTE_MAPPED);
    get(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
    get(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
    get(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
    get(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER);
    get(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
    get(&context, CU_POINTER_ATTRIBUTE_CONTEXT);
    EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
    EXPECT_EQ(managed, 1U);
    EXPECT_EQ(is_mapped, 1U);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(size, bytes);
    EXPECT_EQ(start, memory_);
    EXPECT_EQ(host, as<char>() + 8);
    EXPECT_EQ(device, memory_ + 8);
    EXPECT_EQ(context, current);
}

TEST_F(CudaDriver, PointersThatAreNotKnownHaveNone) {
    unsigned type = 7;
    int ordinal = -7;
    void* data[] = {&type, &ordinal};
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    const auto stack = reinterpret_cast<uintptr_t>(&type);
    EXPECT_RESULT(cuPointerGetAttribute(&type, which[0], stack), CUDA_ERROR_INVALID_VALUE);
    EXPECT_OK(cuPointerGetAttributes(2, which, data, stack));
    EXPECT_EQ(type, 0U);
    EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
    EXPECT_RESULT(cuPointerGetAttributes(0, which, data, stack), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuPointerGetAttribute(nullptr, which[0], memory_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_BUFFER_ID, memory_),
                  CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_RESULT(cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(15), memory_),
                  CUDA_ERROR_INVALID_VALUE);
}

struct noted_callback {
    CUstream stream;
    CUresult status;
};

void note_callback(CUstream stream, CUresult status, void* noted) {
    *static_cast<noted_callback*>(noted) = {stream, status};
}

TEST_F(CudaDriver, StreamsAndEventsWork) {
    CUevent start = nullptr, end = nullptr;
    CUstream urgent = nullptr;
    unsigned flags = 0;
    int priority = 7, called = 0;
    noted_callback noted = {nullptr, CUDA_ERROR_UNKNOWN};
    EXPECT_OK(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -1));
    EXPECT_OK(cuStreamGetFlags(urgent, &flags));
    EXPECT_OK(cuStreamGetPriority(urgent, &priority));
    EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
    EXPECT_EQ(priority, -1);
    EXPECT_OK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    EXPECT_OK(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
    EXPECT_OK(cuEventRecord(start, stream_));
    const auto set = [](void* flag) { *static_cast<int*>(flag) = 1; };
    EXPECT_OK(cuLaunchHostFunc(stream_, set, &called));
    EXPECT_OK(cuStreamAddCallback(stream_, note_callback, &noted, 0));
    EXPECT_OK(cuEventRecord(end, stream_));
    EXPECT_OK(cuStreamWaitEvent(urgent, end, 0));
    EXPECT_OK(cuStreamSynchronize(urgent));
    EXPECT_EQ(called, 1);
    EXPECT_EQ(noted.stream, stream_);
    EXPECT_EQ(noted.status, CUDA_SUCCESS);
    float ms = -1;
    EXPECT_OK(cuEventSynchronize(end));
    EXPECT_OK(cuEventQuery(end));
    EXPECT_OK(cuEventElapsedTime(&ms, start, end));
    EXPECT_GE(ms, 0.0F);
    EXPECT_OK(cuStreamQuery(stream_));
    EXPECT_OK(cuStreamAttachMemAsync(stream_, memory_, 0, CU_MEM_ATTACH_SINGLE));
    EXPECT_OK(cuEventDestroy(start));
    EXPECT_OK(cuEventDestroy(end));
    EXPECT_OK(cuStreamDestroy(urgent));
    EXPECT_RESULT(cuStreamDestroy(urgent), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CudaDriver, BadStreamsAndEventsAreRefused) {
    CUevent event = nullptr;
    EXPECT_RESULT(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuStreamAddCallback(stream_, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_RESULT(cuEventCreate(&event, 0x100), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuEventRecord(event, stream_), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuStreamAttachMemAsync(stream_, memory_, 0, 99), CUDA_ERROR_INVALID_VALUE);
}

class CudaMappedMemory : public OnCudaDevice {
  protected:
    CudaMappedMemory() {
        prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop_.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        prop_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        EXPECT_OK(cuMemGetAllocationGranularity(&bytes_, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    }

    CUmemAllocationProp prop_ = {};
    size_t bytes_ = 0;
};

TEST_F(CudaMappedMemory, GrowsInAProgramInC) {
    EXPECT_EQ(mapped_memory_grows(), 0) << hmmGetLastErrorDetail();
}

TEST_F(CudaMappedMemory, IsSharedByDescriptor) {
    CUmemGenericAllocationHandle made = 0, imported = 0, retained = 0;
    CUdeviceptr at = 0;
    int descriptor = -1;
    ASSERT_EQ(cuMemCreate(&made, bytes_, &prop_, 0), CUDA_SUCCESS);
    EXPECT_OK(cuMemExportToShareableHandle(&descriptor, made,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    EXPECT_OK(cuMemImportFromShareableHandle(&imported,
                                             reinterpret_cast<void*>(intptr_t{descriptor}),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    EXPECT_NE(imported, made);
    EXPECT_OK(cuMemAddressReserve(&at, bytes_, 0, 0, 0));
    EXPECT_OK(cuMemMap(at, bytes_, 0, imported, 0));
    EXPECT_OK(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(at)));
    EXPECT_EQ(retained, imported);
    CUmemAllocationProp found = {};
    EXPECT_OK(cuMemGetAllocationPropertiesFromHandle(&found, made));
    EXPECT_EQ(found.type, prop_.type);
    EXPECT_EQ(found.location.id, 0);
    EXPECT_EQ(found.requestedHandleTypes, prop_.requestedHandleTypes);
    unsigned long long flags = 7;
    EXPECT_OK(cuMemGetAccess(&flags, &prop_.location, at));
    EXPECT_EQ(flags, 0U);
    const CUmemAccessDesc access = {prop_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_OK(cuMemSetAccess(at, bytes_, &access, 1));
    EXPECT_OK(cuMemGetAccess(&flags, &prop_.location, at));
    EXPECT_EQ(flags, unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    EXPECT_OK(cuMemsetD32(at, 5, bytes_ / 4));
    int last = 0;
    EXPECT_OK(cuMemcpyDtoH(&last, at + bytes_ - 4, 4));
    EXPECT_EQ(last, 5);
    EXPECT_OK(cuMemUnmap(at, bytes_));
    EXPECT_OK(cuMemAddressFree(at, bytes_));
    for (const CUmemGenericAllocationHandle handle : {made, imported, retained})
        EXPECT_OK(cuMemRelease(handle));
}

TEST_F(CudaMappedMemory, BadCallsAreRefused) {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at = 0;
    unsigned long long flags = 0;
    CUmemAllocationProp changed = prop_;
    EXPECT_RESULT(cuMemCreate(&handle, bytes_ - 1, &prop_, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemCreate(&handle, bytes_, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    changed.allocFlags.usage = 1;
    EXPECT_RESULT(cuMemCreate(&handle, bytes_, &changed, 0), CUDA_ERROR_NOT_SUPPORTED);
    changed = prop_;
    changed.allocFlags.reserved[3] = 1;
    EXPECT_RESULT(cuMemCreate(&handle, bytes_, &changed, 0), CUDA_ERROR_INVALID_VALUE);
    changed = prop_;
    changed.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    EXPECT_RESULT(cuMemCreate(&handle, bytes_, &changed, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_RESULT(cuMemRelease(12345), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuMemAddressReserve(&at, bytes_, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemMap(bytes_, bytes_, 0, 12345, 0), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_RESULT(cuMemUnmap(bytes_, bytes_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemSetAccess(bytes_, bytes_, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemGetAccess(&flags, &prop_.location, bytes_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_RESULT(cuMemGetAllocationPropertiesFromHandle(nullptr, handle),
                  CUDA_ERROR_INVALID_VALUE);
}

} // namespace
