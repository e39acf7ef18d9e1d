// SPDX-License-Identifier: MIT
// CUDA's calls about devices.
#include "api_fixture.hpp"

#include <cstring>
#include <limits>
#include <set>
#include <string>

namespace {

class CudaDevice : public OnCudaDevice {};

TEST_F(CudaDevice, IsSetForTheThread) {
    int device = -1;
    EXPECT_DONE(cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
    const int last = number_of_devices() - 1;
    EXPECT_DONE(cudaSetDevice(last));
    EXPECT_DONE(cudaGetDevice(&device));
    EXPECT_EQ(device, last);
    EXPECT_DONE(cudaSetDevice(0));
}

TEST_F(CudaDevice, ThatDoesNotExistIsRefused) {
    cudaDeviceProp prop;
    int value = 0;
    EXPECT_REFUSED(cudaSetDevice(no_such_device), cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaGetDeviceProperties(&prop, no_such_device), cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, no_such_device),
                   cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaDeviceCanAccessPeer(&value, 0, no_such_device), cudaErrorInvalidDevice);
}

TEST_F(CudaDevice, ResultsWithoutAPlaceAreRefused) {
    EXPECT_REFUSED(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaGetDevice(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaDeviceGetCacheConfig(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaDeviceGetSharedMemConfig(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
}

TEST_F(CudaDevice, PropertiesAreThoseOfTheLibraryAndOfKernels) {
    cudaDeviceProp prop;
    hmmDeviceProp library;
    std::memset(&prop, 0xff, sizeof(prop));
    EXPECT_DONE(cudaGetDeviceProperties(&prop, 0));
    EXPECT_EQ(hmmGetDeviceProperties(&library, 0), hmmSuccess);
    EXPECT_STREQ(prop.name, library.name);
    EXPECT_EQ(prop.totalGlobalMem, library.totalGlobalMem);
    EXPECT_EQ(prop.multiProcessorCount, library.multiProcessorCount);
    EXPECT_EQ(prop.pageableMemoryAccess, 1);
    EXPECT_EQ(prop.concurrentManagedAccess, 1);
    EXPECT_EQ(prop.warpSize, 32);
    EXPECT_EQ(prop.maxThreadsPerBlock, 1024);
    EXPECT_EQ(prop.maxThreadsDim[2], 64);
    EXPECT_EQ(prop.maxGridSize[0], std::numeric_limits<int>::max());
    EXPECT_EQ(prop.sharedMemPerBlock, 48U << 10);
    EXPECT_GE(prop.major, 6);
    EXPECT_EQ(prop.hostNumaId, library.hostNumaId);
    EXPECT_EQ(prop.maxTexture1D, 0);
    EXPECT_EQ(prop.reserved[0], 0);
}

TEST_F(CudaDevice, AttributesAreTheProperties) {
    cudaDeviceProp prop;
    EXPECT_DONE(cudaGetDeviceProperties(&prop, 0));
    const auto attribute = [](cudaDeviceAttr attr) {
        int value = -7;
        EXPECT_DONE(cudaDeviceGetAttribute(&value, attr, 0));
        return value;
    };
    EXPECT_EQ(attribute(cudaDevAttrWarpSize), prop.warpSize);
    EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), prop.multiProcessorCount);
    EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerBlock), prop.maxThreadsPerBlock);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), prop.maxThreadsDim[2]);
    EXPECT_EQ(attribute(cudaDevAttrMaxGridDimY), prop.maxGridSize[1]);
    EXPECT_EQ(size_t(attribute(cudaDevAttrMaxSharedMemoryPerBlock)), prop.sharedMemPerBlock);
    EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), prop.major);
    EXPECT_EQ(attribute(cudaDevAttrConcurrentManagedAccess), prop.concurrentManagedAccess);
    EXPECT_EQ(attribute(cudaDevAttrIntegrated), prop.integrated);
    EXPECT_EQ(attribute(cudaDevAttrSparseCudaArraySupported), 0);
    EXPECT_EQ(attribute(cudaDevAttrMaxTexture1DMipmappedWidth), 0);
    int value = 0;
    EXPECT_REFUSED(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(200), 0),
                   cudaErrorInvalidValue);
}

TEST_F(CudaDevice, HasItsOwnUuid) {
    std::set<std::string> seen;
    for (int device = 0; device < number_of_devices(); device++) {
        cudaDeviceProp prop;
        EXPECT_DONE(cudaGetDeviceProperties(&prop, device));
        EXPECT_TRUE(seen.insert(std::string(prop.uuid.bytes, sizeof(prop.uuid.bytes))).second);
    }
}

TEST_F(CudaDevice, FlagsAndSettingsAreChecked) {
    unsigned flags = 1;
    EXPECT_DONE(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync | cudaDeviceMapHost));
    EXPECT_DONE(cudaGetDeviceFlags(&flags));
    EXPECT_EQ(flags, unsigned{cudaDeviceScheduleBlockingSync | cudaDeviceMapHost});
    EXPECT_REFUSED(cudaSetDeviceFlags(0x4000), cudaErrorInvalidValue);

    EXPECT_DONE(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    auto cache = cudaFuncCachePreferEqual;
    EXPECT_DONE(cudaDeviceGetCacheConfig(&cache));
    EXPECT_EQ(cache, cudaFuncCachePreferNone);
    EXPECT_DONE(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    EXPECT_REFUSED(cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(3)),
                   cudaErrorInvalidValue);
}

TEST_F(CudaDevice, UnknownCacheConfigsAreRefused) {
    NEEDS_VALUES_OF_NO_ENUMERATION();
    const auto unknown = static_cast<cudaFuncCache>(4);
    EXPECT_REFUSED(cudaDeviceSetCacheConfig(unknown), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFuncSetCacheConfig(reinterpret_cast<const void*>(cudaGetDevice), unknown),
                   cudaErrorInvalidValue);
}

TEST_F(CudaDevice, LimitsAreCheckedAndKept) {
    size_t stack = 0, heap = 0, output = 0;
    EXPECT_DONE(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    EXPECT_DONE(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    EXPECT_DONE(cudaDeviceGetLimit(&output, cudaLimitPrintfFifoSize));
    EXPECT_GT(stack, 0U);
    EXPECT_DONE(cudaDeviceSetLimit(cudaLimitStackSize, stack));
    EXPECT_DONE(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t{1} << 30));
    EXPECT_DONE(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, size_t{1} << 20));
    EXPECT_REFUSED(cudaDeviceSetLimit(cudaLimitStackSize, heap), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32),
                   cudaErrorUnsupportedLimit);
    EXPECT_REFUSED(cudaDeviceGetLimit(nullptr, cudaLimitStackSize), cudaErrorInvalidValue);
    constexpr auto unknown = static_cast<cudaLimit>(7);
    EXPECT_REFUSED(cudaDeviceGetLimit(&stack, unknown), cudaErrorUnsupportedLimit);
    EXPECT_REFUSED(cudaDeviceSetLimit(unknown, 1), cudaErrorUnsupportedLimit);
    EXPECT_REFUSED(cudaDeviceSetLimit(static_cast<cudaLimit>(10), 1), cudaErrorInvalidValue);
}

TEST_F(CudaDevice, VersionIsCudas) {
    int runtime = 0, driver = 0;
    EXPECT_DONE(cudaRuntimeGetVersion(&runtime));
    EXPECT_DONE(cudaDriverGetVersion(&driver));
    EXPECT_EQ(runtime, CUDART_VERSION);
    EXPECT_EQ(driver, CUDART_VERSION);
}

TEST_F(CudaDevice, HasNoAddressOnABus) {
    char bus[32];
    int device = 0;
    EXPECT_REFUSED(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaDeviceGetByPCIBusId(&device, "0000:00:00.0"), cudaErrorNotSupported);
}

TEST_F(CudaDevice, IsNoPeerOfItself) {
    int can = 1;
    EXPECT_DONE(cudaDeviceCanAccessPeer(&can, 0, 0));
    EXPECT_EQ(can, 0);
    EXPECT_REFUSED(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    EXPECT_REFUSED(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    EXPECT_REFUSED(cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 0),
                   cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaDeviceGetP2PAttribute(&can, static_cast<cudaDeviceP2PAttr>(0), 0, 1),
                   cudaErrorInvalidValue);
}

TEST_F(CudaDevice, PeersAreEnabledAndDisabled) {
    if (number_of_devices() < 2) GTEST_SKIP() << "one device only";
    int can = 0, supported = -1, arrays = -1;
    EXPECT_DONE(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT_DONE(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrAccessSupported, 0, 1));
    EXPECT_DONE(cudaDeviceGetP2PAttribute(&arrays, cudaDevP2PAttrCudaArrayAccessSupported, 0, 1));
    EXPECT_EQ(supported, can);
    EXPECT_EQ(arrays, 0);
    if (can == 0) GTEST_SKIP() << "the devices are no peers";
    EXPECT_DONE(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_REFUSED(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_DONE(cudaDeviceDisablePeerAccess(1));
    EXPECT_REFUSED(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST_F(CudaDevice, OwnErrorsAndThoseOfTheLibraryReplaceEachOther) {
    EXPECT_EQ(cudaSetDevice(no_such_device), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGraphLaunch(nullptr, nullptr), cudaErrorNotSupported);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorNotSupported);
    EXPECT_EQ(cudaSetDevice(no_such_device), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaDevice, DeprecatedNamesSynchronizeAndReset) {
    EXPECT_DONE(cudaThreadSynchronize());
    EXPECT_DONE(cudaThreadExit());
}

} // namespace
