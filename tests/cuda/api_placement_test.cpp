// SPDX-License-Identifier: MIT
// CUDA's calls that move memory, give advice, and tell where memory is.
#include "api_fixture.hpp"

#include <cstring>

namespace {

class CudaPlacement : public OnCudaDevice {
  protected:
    CudaPlacement() {
        EXPECT_DONE(cudaMallocManaged(&memory_, bytes));
        std::memset(memory_, 1, bytes);
    }
    ~CudaPlacement() override { EXPECT_DONE(cudaFree(memory_)); }

    int attribute(cudaMemRangeAttribute which) const {
        int value = -77;
        EXPECT_DONE(cudaMemRangeGetAttribute(&value, sizeof(value), which, memory_, bytes));
        return value;
    }

    static constexpr size_t bytes = size_t{1} << 16;
    static constexpr cudaMemLocation first_device = {cudaMemLocationTypeDevice, 0};
    char* memory_ = nullptr;
};

TEST_F(CudaPlacement, BothFormsOfPrefetchMoveMemory) {
    EXPECT_DONE(cudaMemPrefetchAsync(memory_, bytes, 0));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), 0);
    EXPECT_DONE(cudaMemPrefetchAsync(memory_, bytes, cudaCpuDeviceId, nullptr));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), cudaCpuDeviceId);
    EXPECT_DONE(cudaMemPrefetchAsync(memory_, bytes, first_device, 0, nullptr));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocationType), cudaMemLocationTypeDevice);
    EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocationId), 0);
    EXPECT_EQ(memory_[bytes - 1], 1);
}

TEST_F(CudaPlacement, BadPrefetchesAreRefused) {
    EXPECT_REFUSED(cudaMemPrefetchAsync(memory_, bytes, no_such_device), cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaMemPrefetchAsync(memory_, 0, 0), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemPrefetchAsync(memory_, bytes, first_device, 1), cudaErrorInvalidValue);
    const cudaMemLocation nowhere = {cudaMemLocationTypeInvalid, 0};
    EXPECT_REFUSED(cudaMemPrefetchAsync(memory_, bytes, nowhere, 0), cudaErrorInvalidValue);
}

TEST_F(CudaPlacement, BothFormsOfAdviceAreKept) {
    EXPECT_DONE(cudaMemAdvise(memory_, bytes, cudaMemAdviseSetReadMostly, 0));
    EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly), 1);
    EXPECT_DONE(cudaMemAdvise(memory_, bytes, cudaMemAdviseUnsetReadMostly, cudaCpuDeviceId));
    EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly), 0);
    EXPECT_DONE(cudaMemAdvise(memory_, bytes, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
    EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), cudaCpuDeviceId);
    EXPECT_DONE(cudaMemAdvise(memory_, bytes, cudaMemAdviseSetPreferredLocation, first_device));
    EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), 0);
    EXPECT_DONE(cudaMemAdvise(memory_, bytes, cudaMemAdviseSetAccessedBy, 0));
    int by[2] = {-7, -7};
    EXPECT_DONE(
        cudaMemRangeGetAttribute(by, sizeof(by), cudaMemRangeAttributeAccessedBy, memory_, bytes));
    EXPECT_EQ(by[0], 0);
    EXPECT_EQ(by[1], cudaInvalidDeviceId);
}

TEST_F(CudaPlacement, BadAdviceIsRefused) {
    EXPECT_REFUSED(cudaMemAdvise(memory_, bytes, static_cast<cudaMemoryAdvise>(7), 0),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemAdvise(memory_, bytes, cudaMemAdviseSetPreferredLocation, no_such_device),
                   cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaMemAdvise(memory_, 0, cudaMemAdviseSetReadMostly, first_device),
                   cudaErrorInvalidValue);
}

TEST_F(CudaPlacement, SeveralAttributesAreReadAtOnce) {
    int mostly = -1, last = -1;
    void* data[] = {&mostly, &last};
    size_t sizes[] = {sizeof(mostly), sizeof(last)};
    cudaMemRangeAttribute which[] = {cudaMemRangeAttributeReadMostly,
                                     cudaMemRangeAttributeLastPrefetchLocation};
    EXPECT_DONE(cudaMemRangeGetAttributes(data, sizes, which, 2, memory_, bytes));
    EXPECT_EQ(mostly, 0);
    EXPECT_EQ(last, cudaInvalidDeviceId);
    sizes[1] = 3;
    EXPECT_REFUSED(cudaMemRangeGetAttributes(data, sizes, which, 2, memory_, bytes),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemRangeGetAttribute(&last, sizeof(last),
                                            static_cast<cudaMemRangeAttribute>(15), memory_, bytes),
                   cudaErrorInvalidValue);
}

TEST_F(CudaPlacement, BatchesPrefetchAndDiscard) {
    void* ranges[] = {memory_, memory_ + bytes / 2};
    size_t sizes[] = {bytes / 2, bytes / 2}, first = 0;
    cudaMemLocation where = first_device;
    EXPECT_DONE(cudaMemPrefetchBatchAsync(ranges, sizes, 2, &where, &first, 1, 0, nullptr));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), 0);
    EXPECT_DONE(cudaMemDiscardBatchAsync(ranges, sizes, 1, 0, nullptr));
    EXPECT_DONE(
        cudaMemDiscardAndPrefetchBatchAsync(ranges, sizes, 1, &where, &first, 1, 0, nullptr));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(memory_[0], 0);
    EXPECT_EQ(memory_[bytes / 2], 1);
    EXPECT_REFUSED(cudaMemDiscardBatchAsync(ranges, sizes, 1, 1, nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemPrefetchBatchAsync(ranges, nullptr, 2, &where, &first, 1, 0, nullptr),
                   cudaErrorInvalidValue);
}

TEST_F(CudaPlacement, PointersHaveTypes) {
    cudaPointerAttributes found = {};
    EXPECT_DONE(cudaPointerGetAttributes(&found, memory_ + 100));
    EXPECT_EQ(found.type, cudaMemoryTypeManaged);
    EXPECT_EQ(found.device, 0);
    EXPECT_EQ(found.devicePointer, memory_ + 100);
    EXPECT_EQ(found.hostPointer, memory_ + 100);
    void *device = nullptr, *host = nullptr;
    ASSERT_DONE(cudaMalloc(&device, bytes));
    ASSERT_DONE(cudaMallocHost(&host, bytes));
    EXPECT_DONE(cudaPointerGetAttributes(&found, device));
    EXPECT_EQ(found.type, cudaMemoryTypeDevice);
    EXPECT_DONE(cudaPointerGetAttributes(&found, host));
    EXPECT_EQ(found.type, cudaMemoryTypeHost);
    EXPECT_DONE(cudaPointerGetAttributes(&found, &found));
    EXPECT_EQ(found.type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(found.device, cudaInvalidDeviceId);
    EXPECT_REFUSED(cudaPointerGetAttributes(nullptr, memory_), cudaErrorInvalidValue);
    EXPECT_DONE(cudaFree(device));
    EXPECT_DONE(cudaFreeHost(host));
}

} // namespace
