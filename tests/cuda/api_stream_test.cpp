// SPDX-License-Identifier: MIT
// CUDA's calls about streams and events, and memory in the order of a stream.
#include "api_fixture.hpp"

#include <cstring>
#include <unistd.h>

namespace {

class CudaStream : public OnCudaDevice {
  protected:
    CudaStream() { EXPECT_DONE(cudaStreamCreate(&stream_)); }
    ~CudaStream() override { EXPECT_DONE(cudaStreamDestroy(stream_)); }

    cudaStream_t stream_ = nullptr;
};

TEST_F(CudaStream, KeepsItsFlagsAndPriority) {
    cudaStream_t made = nullptr;
    int least = 7, greatest = 7, priority = 7, device = -1;
    unsigned flags = 7;
    EXPECT_DONE(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT_LT(greatest, least);
    EXPECT_DONE(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, greatest));
    EXPECT_DONE(cudaStreamGetPriority(made, &priority));
    EXPECT_DONE(cudaStreamGetFlags(made, &flags));
    EXPECT_DONE(cudaStreamGetDevice(made, &device));
    EXPECT_EQ(priority, greatest);
    EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
    EXPECT_EQ(device, 0);
    EXPECT_DONE(cudaStreamDestroy(made));
    EXPECT_REFUSED(cudaStreamSynchronize(made), cudaErrorInvalidResourceHandle);
    EXPECT_DONE(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    EXPECT_DONE(cudaStreamDestroy(made));
}

TEST_F(CudaStream, BadCallsAreRefused) {
    cudaStream_t made = nullptr;
    EXPECT_REFUSED(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaStreamCreateWithFlags(&made, 99), cudaErrorInvalidValue);
    EXPECT_EQ(made, nullptr);
    EXPECT_REFUSED(cudaStreamGetFlags(stream_, nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaStreamAddCallback(stream_, nullptr, nullptr, 0), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaLaunchHostFunc(stream_, nullptr, nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaStreamQuery(reinterpret_cast<cudaStream_t>(&made)),
                   cudaErrorInvalidResourceHandle);
}

TEST_F(CudaStream, SpecialStreamsWork) {
    int* memory = nullptr;
    ASSERT_DONE(cudaMallocManaged(&memory, sizeof(int)));
    EXPECT_DONE(cudaMemsetAsync(memory, 1, sizeof(int), cudaStreamPerThread));
    EXPECT_DONE(cudaStreamSynchronize(cudaStreamPerThread));
    EXPECT_EQ(*memory, 0x01010101);
    EXPECT_DONE(cudaMemsetAsync(memory, 2, sizeof(int), cudaStreamLegacy));
    EXPECT_DONE(cudaStreamSynchronize(cudaStreamLegacy));
    EXPECT_EQ(*memory, 0x02020202);
    EXPECT_DONE(cudaStreamAttachMemAsync(stream_, memory));
    EXPECT_REFUSED(cudaStreamAttachMemAsync(stream_, memory, 0, 99), cudaErrorInvalidValue);
    EXPECT_DONE(cudaFree(memory));
}

struct call {
    cudaStream_t stream;
    cudaError_t status;
    int times;
};

void note_call(cudaStream_t stream, cudaError_t status, void* noted) {
    auto& here = *static_cast<call*>(noted);
    here = {stream, status, here.times + 1};
}

void count(void* times) {
    ++*static_cast<int*>(times);
}

TEST_F(CudaStream, CallsHostFunctionsAndCallbacksInOrder) {
    call noted = {nullptr, cudaErrorUnknown, 0};
    int times = 0;
    EXPECT_DONE(cudaStreamAddCallback(stream_, note_call, &noted, 0));
    EXPECT_DONE(cudaLaunchHostFunc(stream_, count, &times));
    EXPECT_DONE(cudaStreamSynchronize(stream_));
    EXPECT_EQ(times, 1);
    EXPECT_EQ(noted.times, 1);
    EXPECT_EQ(noted.stream, stream_);
    EXPECT_EQ(noted.status, cudaSuccess);
    EXPECT_REFUSED(cudaStreamAddCallback(stream_, note_call, &noted, 1), cudaErrorInvalidValue);
    EXPECT_EQ(noted.times, 1);
}

TEST(CudaFailure, OfDeviceCodeSticksUntilTheDeviceIsReset) {
    NEEDS_FAILURES();
    static int go;
    go = 0;
    call noted = {nullptr, cudaSuccess, 0};
    cudaStream_t stream = nullptr;
    ASSERT_DONE(cudaStreamCreate(&stream));
    const auto fault = [](void* nowhere, uint64_t, uint64_t) {
        while (__atomic_load_n(&go, __ATOMIC_ACQUIRE) == 0) {
        }
        *static_cast<volatile int*>(nowhere) = 1;
    };
    EXPECT_EQ(hmmLaunchRange(fault, nullptr, 1, nullptr, reinterpret_cast<hmmStream_t>(stream)),
              hmmSuccess);
    EXPECT_DONE(cudaStreamAddCallback(stream, note_call, &noted, 0));
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    EXPECT_EQ(noted.times, 1);
    EXPECT_EQ(noted.status, cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_DONE(cudaDeviceReset());
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_DONE(cudaDeviceSynchronize());
}

TEST_F(CudaStream, EventsOrderAndMeasure) {
    cudaEvent_t start = nullptr, end = nullptr;
    cudaStream_t other = nullptr;
    ASSERT_DONE(cudaEventCreate(&start));
    ASSERT_DONE(cudaEventCreate(&end, cudaEventBlockingSync));
    ASSERT_DONE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    const auto nap = [](void*, uint64_t, uint64_t) { usleep(2000); };
    EXPECT_DONE(cudaEventRecord(start, stream_));
    EXPECT_DONE(run(nap, nullptr, stream_));
    EXPECT_DONE(cudaEventRecordWithFlags(end, stream_));
    EXPECT_DONE(cudaStreamWaitEvent(other, end));
    EXPECT_DONE(cudaStreamSynchronize(other));
    EXPECT_DONE(cudaEventQuery(end));
    EXPECT_DONE(cudaEventSynchronize(end));
    EXPECT_DONE(cudaStreamQuery(stream_));
    float ms = -1;
    EXPECT_DONE(cudaEventElapsedTime(&ms, start, end));
    EXPECT_GE(ms, 2.0F);
    EXPECT_DONE(cudaEventDestroy(start));
    EXPECT_DONE(cudaEventDestroy(end));
    EXPECT_DONE(cudaStreamDestroy(other));
}

TEST_F(CudaStream, WorkIsNotReadyBeforeItIsDone) {
    static int go;
    go = 0;
    cudaEvent_t event = nullptr;
    ASSERT_DONE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    const auto wait = [](void*, uint64_t, uint64_t) {
        while (__atomic_load_n(&go, __ATOMIC_ACQUIRE) == 0) {
        }
    };
    EXPECT_DONE(run(wait, nullptr, stream_));
    EXPECT_DONE(cudaEventRecord(event, stream_));
    EXPECT_REFUSED(cudaEventQuery(event), cudaErrorNotReady);
    EXPECT_REFUSED(cudaStreamQuery(stream_), cudaErrorNotReady);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    EXPECT_DONE(cudaEventSynchronize(event));
    float ms = 0;
    EXPECT_REFUSED(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle);
    EXPECT_DONE(cudaEventDestroy(event));
    EXPECT_REFUSED(cudaEventRecord(event, stream_), cudaErrorInvalidResourceHandle);
}

TEST_F(CudaStream, BadEventsAreRefused) {
    cudaEvent_t event = nullptr;
    EXPECT_REFUSED(cudaEventCreate(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaEventCreateWithFlags(&event, 0x100), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
    ASSERT_DONE(cudaEventCreate(&event));
    EXPECT_REFUSED(cudaEventRecordWithFlags(event, stream_, cudaEventRecordExternal),
                   cudaErrorIllegalState);
    EXPECT_REFUSED(cudaEventRecordWithFlags(event, stream_, 2), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaStreamWaitEvent(stream_, event, cudaEventWaitExternal),
                   cudaErrorIllegalState);
    EXPECT_REFUSED(cudaStreamWaitEvent(stream_, event, 2), cudaErrorInvalidValue);
    EXPECT_DONE(cudaEventDestroy(event));
}

TEST_F(CudaStream, MemoryIsAllocatedInItsOrder) {
    int* memory = nullptr;
    ASSERT_DONE(cudaMallocAsync(&memory, 4096, stream_));
    EXPECT_DONE(cudaMemsetAsync(memory, 3, 4096, stream_));
    int first = 0;
    EXPECT_DONE(cudaMemcpyAsync(&first, memory, sizeof(first), cudaMemcpyDeviceToHost, stream_));
    EXPECT_DONE(cudaFreeAsync(memory, stream_));
    EXPECT_DONE(cudaStreamSynchronize(stream_));
    EXPECT_EQ(first, 0x03030303);
    EXPECT_REFUSED(cudaFreeAsync(&first, stream_), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFreeAsync(nullptr, reinterpret_cast<cudaStream_t>(&first)),
                   cudaErrorInvalidResourceHandle);
}

class CudaPool : public CudaStream {
  protected:
    CudaPool() {
        props_.allocType = cudaMemAllocationTypePinned;
        props_.location = {cudaMemLocationTypeDevice, 0};
    }

    cudaMemPoolProps props_ = {};
    cudaMemPool_t pool_ = nullptr;
};

TEST_F(CudaPool, IsMadeUsedAndDestroyed) {
    cudaMemPool_t current = nullptr, usual = nullptr;
    ASSERT_DONE(cudaMemPoolCreate(&pool_, &props_));
    EXPECT_DONE(cudaDeviceGetDefaultMemPool(&usual, 0));
    EXPECT_DONE(cudaDeviceSetMemPool(0, pool_));
    EXPECT_DONE(cudaDeviceGetMemPool(&current, 0));
    EXPECT_EQ(current, pool_);
    EXPECT_DONE(cudaDeviceSetMemPool(0, usual));
    unsigned long long keep = 1 << 20, kept = 0, used = 0;
    EXPECT_DONE(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
    EXPECT_DONE(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &kept));
    EXPECT_EQ(kept, keep);
    char *one = nullptr, *other = nullptr;
    EXPECT_DONE(cudaMallocFromPoolAsync(&one, 4096, pool_, stream_));
    EXPECT_DONE(cudaMallocAsync(&other, 4096, pool_, stream_));
    EXPECT_DONE(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT_EQ(used, 8192U);
    EXPECT_DONE(cudaFreeAsync(one, stream_));
    EXPECT_DONE(cudaFreeAsync(other, stream_));
    EXPECT_DONE(cudaStreamSynchronize(stream_));
    EXPECT_DONE(cudaMemPoolTrimTo(pool_, 0));
    EXPECT_DONE(cudaMemPoolDestroy(pool_));
    EXPECT_REFUSED(cudaMemPoolTrimTo(pool_, 0), cudaErrorInvalidResourceHandle);
}

TEST_F(CudaPool, BadDescriptionsAreRefused) {
    EXPECT_REFUSED(cudaMemPoolCreate(&pool_, nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemPoolCreate(nullptr, &props_), cudaErrorInvalidValue);
    const auto refused = [&](cudaError_t error, auto change) {
        cudaMemPoolProps props = props_;
        change(props);
        EXPECT_REFUSED(cudaMemPoolCreate(&pool_, &props), error);
    };
    refused(cudaErrorInvalidValue,
            [](cudaMemPoolProps& p) { p.allocType = cudaMemAllocationTypeInvalid; });
    refused(cudaErrorInvalidValue, [](cudaMemPoolProps& p) { p.reserved[53] = 1; });
    refused(cudaErrorNotSupported, [](cudaMemPoolProps& p) { p.usage = 1; });
    refused(cudaErrorNotSupported,
            [](cudaMemPoolProps& p) { p.handleTypes = cudaMemHandleTypePosixFileDescriptor; });
    refused(cudaErrorInvalidValue, [](cudaMemPoolProps& p) { p.location.id = no_such_device; });
}

TEST_F(CudaPool, EachDeviceHasAccess) {
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    cudaMemAccessDesc wanted = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    EXPECT_DONE(cudaDeviceGetDefaultMemPool(&pool_, 0));
    EXPECT_DONE(cudaMemPoolGetAccess(&flags, pool_, &wanted.location));
    EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
    EXPECT_DONE(cudaMemPoolSetAccess(pool_, &wanted, 1));
    EXPECT_REFUSED(cudaMemPoolSetAccess(nullptr, &wanted, 1), cudaErrorInvalidResourceHandle);
    EXPECT_REFUSED(cudaMemPoolSetAccess(pool_, nullptr, 1), cudaErrorInvalidValue);
    wanted.flags = cudaMemAccessFlagsProtNone;
    EXPECT_REFUSED(cudaMemPoolSetAccess(pool_, &wanted, 1), cudaErrorNotSupported);
    wanted.flags = static_cast<cudaMemAccessFlags>(2);
    EXPECT_REFUSED(cudaMemPoolSetAccess(pool_, &wanted, 1), cudaErrorInvalidValue);
    wanted.location.id = no_such_device;
    EXPECT_REFUSED(cudaMemPoolGetAccess(&flags, pool_, &wanted.location), cudaErrorInvalidDevice);
    wanted.location = {cudaMemLocationTypeHost, 0};
    EXPECT_REFUSED(cudaMemPoolGetAccess(&flags, pool_, &wanted.location), cudaErrorInvalidValue);
}

} // namespace
