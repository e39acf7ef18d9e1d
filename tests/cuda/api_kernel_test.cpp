// SPDX-License-Identifier: MIT
// CUDA's calls about kernels and variables of device code, and calls that hmmrt
// refuses.
#include "api_fixture.hpp"
#include "api_from_c.h"

#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <device_launch_parameters.h>
#include <ported.h>

#include <array>

extern __device__ float without_bound[];

namespace {

__device__ int counter = 5;
__constant__ float factors[4] = {1, 2, 3, 4};
__device__ int numbers[16];

__global__ void nothing(int) {}

class CudaKernel : public OnCudaDevice {
  protected:
    static constexpr void (*no_function)(int) = nullptr;
    static constexpr size_t shared = size_t{48} << 10;
    static constexpr size_t most_shared = size_t{227} << 10;
};

TEST_F(CudaKernel, VariablesAreCopied) {
    int value = 42;
    EXPECT_DONE(cudaMemcpyToSymbol(counter, &value, sizeof(value)));
    EXPECT_EQ(counter, 42);
    const float other = 9;
    EXPECT_DONE(cudaMemcpyToSymbol(factors, &other, sizeof(other), 2 * sizeof(float)));
    std::array<float, 4> copied = {};
    EXPECT_DONE(cudaMemcpyFromSymbol(copied.data(), factors, sizeof(factors)));
    EXPECT_EQ(copied, (std::array<float, 4>{1, 2, 9, 4}));
    EXPECT_DONE(cudaMemcpyToSymbolAsync(counter, &copied, 0, sizeof(counter)));
    counter = 6;
    EXPECT_DONE(cudaMemcpyFromSymbolAsync(&value, counter, sizeof(value), 0, cudaMemcpyDeviceToHost,
                                          cudaStreamPerThread));
    EXPECT_DONE(cudaStreamSynchronize(cudaStreamPerThread));
    EXPECT_EQ(value, 6);
}

TEST_F(CudaKernel, VariablesAreCopiedInTheOrderOfTheProgram) {
    expect_source_taken(numbers, [](int*, int* from, cudaStream_t stream) {
        EXPECT_DONE(cudaMemcpyToSymbolAsync(numbers, from, 64, 0, cudaMemcpyHostToDevice, stream));
    });
    expect_complete(numbers, [](int* to, int*, cudaStream_t stream) {
        EXPECT_DONE(cudaMemcpyFromSymbolAsync(to, numbers, 64, 0, cudaMemcpyDeviceToHost, stream));
    });
}

TEST_F(CudaKernel, VariablesHaveTheirAddressOnTheDevice) {
    void* address = nullptr;
    size_t size = 0;
    EXPECT_DONE(cudaGetSymbolAddress(&address, factors));
    EXPECT_EQ(address, factors);
    EXPECT_DONE(cudaGetSymbolSize(&size, factors));
    EXPECT_EQ(size, sizeof(factors));
    EXPECT_REFUSED(cudaGetSymbolAddress(nullptr, counter), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaGetSymbolSize(nullptr, counter), cudaErrorInvalidValue);
}

TEST_F(CudaKernel, ArraysWithoutABoundAreCopied) {
    float value = 8;
    EXPECT_DONE(cudaMemcpyToSymbol(without_bound, &value, sizeof(value), 4));
    value = 0;
    EXPECT_DONE(cudaMemcpyFromSymbol(&value, without_bound, sizeof(value), 4));
    EXPECT_EQ(value, 8);
}

TEST_F(CudaKernel, BadCopiesOfVariablesAreRefused) {
    int value = 0;
    const void* none = nullptr;
    EXPECT_REFUSED(cudaMemcpyToSymbol(counter, &value, 4, 0, cudaMemcpyDeviceToHost),
                   cudaErrorInvalidMemcpyDirection);
    EXPECT_REFUSED(cudaMemcpyFromSymbol(&value, counter, 4, 0, cudaMemcpyHostToDevice),
                   cudaErrorInvalidMemcpyDirection);
    EXPECT_REFUSED(cudaMemcpyToSymbolAsync(counter, &value, 4, 0, cudaMemcpyHostToHost),
                   cudaErrorInvalidMemcpyDirection);
    EXPECT_REFUSED(cudaMemcpyToSymbol(counter, &value, 4, 1), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemcpyToSymbolAsync(counter, &value, 5), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemcpyFromSymbol(&value, factors, 4, 13), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemcpyFromSymbolAsync(&value, factors, 1, 17), cudaErrorInvalidValue);
    EXPECT_REFUSED((cudaMemcpyToSymbol)(none, &value, 4, 0, cudaMemcpyDefault),
                   cudaErrorInvalidSymbol);
    EXPECT_REFUSED((cudaMemcpyFromSymbol)(&value, none, 4, 0, cudaMemcpyDefault),
                   cudaErrorInvalidSymbol);
}

TEST_F(CudaKernel, SettingsAreChecked) {
    EXPECT_DONE(cudaFuncSetCacheConfig(nothing, cudaFuncCachePreferShared));
    EXPECT_REFUSED(cudaFuncSetCacheConfig(no_function, cudaFuncCachePreferL1),
                   cudaErrorInvalidDeviceFunction);
    EXPECT_DONE(cudaFuncSetSharedMemConfig(nothing, cudaSharedMemBankSizeFourByte));
    EXPECT_REFUSED(cudaFuncSetSharedMemConfig(nothing, static_cast<cudaSharedMemConfig>(3)),
                   cudaErrorInvalidValue);
    constexpr auto dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
    EXPECT_DONE(cudaFuncSetAttribute(nothing, dynamic, int{most_shared}));
    EXPECT_REFUSED(cudaFuncSetAttribute(nothing, dynamic, int{most_shared} + 1),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFuncSetAttribute(nothing, dynamic, -1), cudaErrorInvalidValue);
    EXPECT_DONE(cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout,
                                     cudaSharedmemCarveoutMaxShared));
    EXPECT_REFUSED(
        cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 101),
        cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFuncSetAttribute(nothing, static_cast<cudaFuncAttribute>(15), 0),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFuncSetAttribute(no_function, dynamic, 0), cudaErrorInvalidDeviceFunction);
}

TEST_F(CudaKernel, ALaneHasOneBlockAtATime) {
    int blocks = -1;
    EXPECT_DONE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, shared));
    EXPECT_EQ(blocks, 1);
    EXPECT_DONE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1025, 0));
    EXPECT_EQ(blocks, 0);
    EXPECT_DONE(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, most_shared + 1));
    EXPECT_EQ(blocks, 0);
    EXPECT_REFUSED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(
        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, nothing, 32, 0, 2),
        cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, no_function, 32, 0),
                   cudaErrorInvalidDeviceFunction);
    size_t bytes = 1;
    EXPECT_DONE(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 1, 32));
    EXPECT_EQ(bytes, shared);
    EXPECT_DONE(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 2, 32));
    EXPECT_EQ(bytes, 0U);
    EXPECT_REFUSED(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 0, 32),
                   cudaErrorInvalidValue);
}

TEST_F(CudaKernel, OccupancyChoosesABlock) {
    int grid = -1, block = -1;
    cudaDeviceProp prop;
    EXPECT_DONE(cudaGetDeviceProperties(&prop, 0));
    EXPECT_DONE(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing));
    EXPECT_EQ(block, 1024);
    EXPECT_EQ(grid, prop.multiProcessorCount);
    EXPECT_DONE(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, 100));
    EXPECT_EQ(block, 96);
    EXPECT_DONE(cudaOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, nothing, 0, 20));
    EXPECT_EQ(block, 20);
    const auto bytes_of = [](int threads) { return size_t(threads) * 1024; };
    EXPECT_DONE(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, nothing, bytes_of));
    EXPECT_EQ(block, 224);
    EXPECT_DONE(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, most_shared + 1));
    EXPECT_EQ(block, 0);
    EXPECT_EQ(grid, 0);
    EXPECT_REFUSED(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, -1),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaOccupancyMaxPotentialBlockSize(nullptr, &block, nothing),
                   cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaOccupancyMaxPotentialBlockSize(&grid, &block, no_function),
                   cudaErrorInvalidDeviceFunction);
}

TEST_F(CudaKernel, CooperativeLaunchesAreChecked) {
    void* arguments[] = {nullptr};
    EXPECT_REFUSED(cudaLaunchCooperativeKernel(no_function, 1, 1, arguments),
                   cudaErrorInvalidDeviceFunction);
    // this file is not compiled by hmmcc
    EXPECT_REFUSED(cudaLaunchCooperativeKernel(nothing, 1, 1, arguments),
                   cudaErrorInvalidResourceHandle);
}

TEST_F(CudaKernel, DevicesHaveCooperativeLaunches) {
    cudaDeviceProp prop;
    int value = 0;
    EXPECT_DONE(cudaGetDeviceProperties(&prop, 0));
    EXPECT_EQ(prop.cooperativeLaunch, 1);
    EXPECT_DONE(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0));
    EXPECT_EQ(value, 1);
    value = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_DONE(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeMultiDeviceLaunch, 0));
    EXPECT_EQ(value, 0);
}

TEST_F(CudaKernel, GraphsAreRefused) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    size_t nodes = 0;
    EXPECT_REFUSED(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaStreamEndCapture(nullptr, &graph), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphCreate(&graph, 0), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphClone(&graph, graph), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphInstantiate(&exec, graph), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaErrorNotSupported);
    EXPECT_REFUSED(
        cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch),
        cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphGetNodes(graph, nullptr, &nodes), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphGetRootNodes(graph, nullptr, &nodes), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphDebugDotPrint(graph, "graph.dot", 0), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphUpload(exec, nullptr), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphLaunch(exec, nullptr), cudaErrorNotSupported);
    cudaGraphExecUpdateResultInfo result = {};
    EXPECT_REFUSED(cudaGraphExecUpdate(exec, graph, &result), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphExecDestroy(exec), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphDestroy(graph), cudaErrorNotSupported);
}

TEST_F(CudaKernel, NodesOfGraphsAreRefused) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t node = nullptr;
    cudaKernelNodeParams kernel = {};
    const cudaMemcpy3DParms copy = {};
    const cudaMemsetParams fill = {};
    const cudaHostNodeParams host = {};
    auto type = cudaGraphNodeTypeEmpty;
    EXPECT_REFUSED(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy), cudaErrorNotSupported);
    EXPECT_REFUSED(
        cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, &node, &node, 1, cudaMemcpyDefault),
        cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, graph),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphAddEmptyNode(&node, graph, nullptr, 0), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphAddDependencies(graph, &node, &node, 1), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphNodeGetType(node, &type), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphKernelNodeGetParams(node, &kernel), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphKernelNodeSetParams(node, &kernel), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphExecKernelNodeSetParams(nullptr, node, &kernel), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaGraphDestroyNode(node), cudaErrorNotSupported);
}

TEST_F(CudaKernel, NoStreamIsCapturing) {
    auto status = cudaStreamCaptureStatusActive;
    EXPECT_DONE(cudaStreamIsCapturing(nullptr, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_REFUSED(cudaStreamIsCapturing(nullptr, nullptr), cudaErrorInvalidValue);
    status = cudaStreamCaptureStatusActive;
    EXPECT_DONE(cudaStreamGetCaptureInfo(nullptr, &status));
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_REFUSED(cudaStreamGetCaptureInfo(nullptr, nullptr), cudaErrorInvalidValue);
    auto mode = cudaStreamCaptureModeRelaxed;
    EXPECT_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
    EXPECT_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
    EXPECT_REFUSED(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
}

TEST_F(CudaKernel, HandlesOfOtherProcessesAreRefused) {
    cudaIpcMemHandle_t memory = {};
    cudaIpcEventHandle_t event = {};
    cudaEvent_t opened = nullptr;
    void* mapped = nullptr;
    EXPECT_REFUSED(cudaIpcGetMemHandle(&memory, &memory), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaIpcOpenMemHandle(&mapped, memory, cudaIpcMemLazyEnablePeerAccess),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaIpcCloseMemHandle(mapped), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaIpcGetEventHandle(&event, opened), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaIpcOpenEventHandle(&opened, event), cudaErrorNotSupported);
    cudaMemPool_t pool = nullptr;
    cudaMemPoolPtrExportData pointer = {};
    constexpr auto descriptor = cudaMemHandleTypePosixFileDescriptor;
    EXPECT_REFUSED(cudaMemPoolExportToShareableHandle(&mapped, pool, descriptor, 0),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaMemPoolImportFromShareableHandle(&pool, mapped, descriptor, 0),
                   cudaErrorNotSupported);
    EXPECT_REFUSED(cudaMemPoolExportPointer(&pointer, mapped), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaMemPoolImportPointer(&mapped, pool, &pointer), cudaErrorNotSupported);
}

TEST_F(CudaKernel, ProfilersHaveNoEffect) {
    EXPECT_DONE(cudaProfilerStart());
    EXPECT_DONE(cudaProfilerStop());
    EXPECT_EQ(cuProfilerStart(), CUDA_SUCCESS);
    EXPECT_EQ(cuProfilerStop(), CUDA_SUCCESS);
}

TEST_F(CudaKernel, CallsFromCWork) {
    EXPECT_EQ(failed_line_of_c(), 0) << hmmGetLastErrorDetail();
    EXPECT_EQ(from_c(), 0) << hmmGetLastErrorDetail();
}

} // namespace

__device__ float without_bound[2];
