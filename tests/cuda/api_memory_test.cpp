// SPDX-License-Identifier: MIT
// CUDA's calls that allocate, copy and fill memory.
#include "api_fixture.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace {

class CudaMemory : public OnCudaDevice {
  protected:
    static constexpr size_t bytes = size_t{1} << 16;
    static constexpr auto no_kind = static_cast<cudaMemcpyKind>(7);

    static void on_device_double(void* memory) {
        const auto twice = [](void* ints, uint64_t, uint64_t) {
            for (int i = 0; i < 16; i++)
                static_cast<int*>(ints)[i] *= 2;
        };
        EXPECT_DONE(run(twice, memory));
        EXPECT_DONE(cudaDeviceSynchronize());
    }
    static bool all_are(const void* memory, size_t count, unsigned char value) {
        const auto* at = static_cast<const unsigned char*>(memory);
        return std::all_of(at, at + count, [=](unsigned char byte) { return byte == value; });
    }
};

TEST_F(CudaMemory, OfEachKindIsUsedByTheDevice) {
    int *device = nullptr, *managed = nullptr, *host = nullptr, *pinned = nullptr;
    EXPECT_DONE(cudaMalloc(&device, bytes));
    EXPECT_DONE(cudaMallocManaged(&managed, bytes));
    EXPECT_DONE(cudaMallocHost(&host, bytes));
    EXPECT_DONE(cudaHostAlloc(&pinned, bytes, cudaHostAllocPortable));
    for (int* memory : {device, managed, host, pinned}) {
        ASSERT_NE(memory, nullptr);
        std::iota(memory, memory + 16, 0);
        on_device_double(memory);
        EXPECT_EQ(memory[15], 30);
    }
    int* mapped = nullptr;
    unsigned flags = 0;
    EXPECT_DONE(cudaHostGetDevicePointer(&mapped, pinned, 0));
    EXPECT_EQ(mapped, pinned);
    EXPECT_DONE(cudaHostGetFlags(&flags, pinned));
    EXPECT_EQ(flags, unsigned{cudaHostAllocMapped | cudaHostAllocPortable});
    EXPECT_REFUSED(cudaHostRegister(device, bytes, 0), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaHostUnregister(pinned), cudaErrorInvalidValue);
    EXPECT_DONE(cudaFree(device));
    EXPECT_DONE(cudaFree(managed));
    EXPECT_DONE(cudaFreeHost(host));
    EXPECT_DONE(cudaFreeHost(pinned));
    EXPECT_DONE(cudaFree(nullptr));
}

TEST_F(CudaMemory, PointersToConstAndVolatileGetMemory) {
    const float* constant = nullptr;
    volatile int* changing = nullptr;
    EXPECT_DONE(cudaMallocManaged(&constant, bytes));
    EXPECT_DONE(cudaMalloc(&changing, bytes));
    EXPECT_EQ(constant[1], 0.0F);
    changing[1] = 1;
    EXPECT_DONE(cudaStreamAttachMemAsync(cudaStreamPerThread, constant));
    EXPECT_DONE(cudaFree(const_cast<float*>(constant)));
    EXPECT_DONE(cudaFree(const_cast<int*>(changing)));
}

TEST_F(CudaMemory, BadAllocationsAreRefused) {
    float* memory = nullptr;
    float** nowhere = nullptr;
    int local = 0;
    EXPECT_REFUSED(cudaMalloc(nowhere, bytes), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMallocManaged(nowhere, bytes), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMallocManaged(nowhere, 0), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMallocManaged(&memory, 0, cudaMemAttachSingle), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMallocManaged(&memory, bytes, 99), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMallocManaged(&memory, ~size_t{0} / 2), cudaErrorMemoryAllocation);
    EXPECT_REFUSED(cudaHostAlloc(&memory, bytes, 99), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFree(&local), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaFreeHost(&local), cudaErrorInvalidValue);
    EXPECT_EQ(memory, nullptr);
}

TEST_F(CudaMemory, OfNoBytesIsNull) {
    for (const auto allocate :
         {+[](void** memory) { return cudaMalloc(memory, 0); },
          +[](void** memory) { return cudaMallocManaged(memory, 0); },
          +[](void** memory) { return cudaMallocHost(memory, 0); },
          +[](void** memory) { return cudaMallocAsync(memory, 0, nullptr); }}) {
        void* memory = this;
        EXPECT_DONE(allocate(&memory));
        EXPECT_EQ(memory, nullptr);
    }
    EXPECT_DONE(cudaFree(nullptr));
    EXPECT_DONE(cudaFreeHost(nullptr));
    EXPECT_DONE(cudaFreeAsync(nullptr, nullptr));
}

TEST_F(CudaMemory, OfTheProgramIsRegistered) {
    std::vector<char> memory(bytes);
    void* mapped = nullptr;
    EXPECT_REFUSED(cudaHostUnregister(memory.data()), cudaErrorHostMemoryNotRegistered);
    EXPECT_DONE(cudaHostRegister(memory.data(), bytes, cudaHostRegisterDefault));
    EXPECT_REFUSED(cudaHostRegister(memory.data(), bytes, cudaHostRegisterDefault),
                   cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_DONE(cudaHostGetDevicePointer(&mapped, memory.data(), 0));
    EXPECT_EQ(mapped, memory.data());
    EXPECT_DONE(cudaHostUnregister(memory.data()));
    EXPECT_REFUSED(cudaHostRegister(memory.data(), bytes, cudaHostRegisterIoMemory),
                   cudaErrorNotSupported);
}

TEST_F(CudaMemory, IsCopiedInAllDirections) {
    std::vector<int> from(1000), to(1000);
    std::iota(from.begin(), from.end(), 5);
    const size_t size = from.size() * sizeof(int);
    int* device = nullptr;
    ASSERT_DONE(cudaMalloc(&device, size));
    EXPECT_DONE(cudaMemcpy(device, from.data(), size, cudaMemcpyHostToDevice));
    EXPECT_DONE(cudaMemcpy(to.data(), device, size, cudaMemcpyDeviceToHost));
    EXPECT_EQ(from, to);
    std::fill(to.begin(), to.end(), 0);
    EXPECT_DONE(cudaMemcpyAsync(to.data(), device, size, cudaMemcpyDefault));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(from, to);
    EXPECT_DONE(cudaMemcpyPeer(to.data(), 0, device, 0, 4));
    EXPECT_REFUSED(cudaMemcpyPeer(to.data(), 0, device, no_such_device, 4), cudaErrorInvalidDevice);
    EXPECT_REFUSED(cudaMemcpy(to.data(), device, size, no_kind), cudaErrorInvalidMemcpyDirection);
    EXPECT_REFUSED(cudaMemcpyAsync(to.data(), device, size, no_kind),
                   cudaErrorInvalidMemcpyDirection);
    EXPECT_DONE(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
    EXPECT_DONE(cudaFree(device));
}

/// The parameters of a copy of 16 numbers.
cudaMemcpy3DParms box_of(int* to, int* from, cudaMemcpyKind kind) {
    cudaMemcpy3DParms params = {};
    params.srcPtr = make_cudaPitchedPtr(from, 32, 32, 1);
    params.dstPtr = make_cudaPitchedPtr(to, 32, 32, 1);
    params.extent = make_cudaExtent(32, 1, 2);
    params.kind = kind;
    return params;
}

TEST_F(CudaMemory, OfTheProgramMayChangeWhenACopyFromItWasQueued) {
    int *device = nullptr, *managed = nullptr;
    ASSERT_DONE(cudaMalloc(&device, bytes));
    ASSERT_DONE(cudaMallocManaged(&managed, bytes));
    for (int* const target : {device, managed})
        for (const cudaMemcpyKind kind : {cudaMemcpyHostToDevice, cudaMemcpyDefault}) {
            expect_source_taken(target, [=](int* to, int* from, cudaStream_t stream) {
                EXPECT_DONE(cudaMemcpyAsync(to, from, 64, kind, stream));
            });
            expect_source_taken(target, [=](int* to, int* from, cudaStream_t stream) {
                EXPECT_DONE(cudaMemcpy2DAsync(to, 16, from, 16, 16, 4, kind, stream));
            });
            expect_source_taken(target, [=](int* to, int* from, cudaStream_t stream) {
                const cudaMemcpy3DParms params = box_of(to, from, kind);
                EXPECT_DONE(cudaMemcpy3DAsync(&params, stream));
            });
        }
    EXPECT_DONE(cudaFree(device));
    EXPECT_DONE(cudaFree(managed));
}

TEST_F(CudaMemory, OfTheProgramHasWhatWasCopiedToItWhenTheCallReturns) {
    int* device = nullptr;
    ASSERT_DONE(cudaMalloc(&device, bytes));
    for (const cudaMemcpyKind kind : {cudaMemcpyDeviceToHost, cudaMemcpyDefault}) {
        expect_complete(device, [=](int* to, int* from, cudaStream_t stream) {
            EXPECT_DONE(cudaMemcpyAsync(to, from, 64, kind, stream));
        });
        expect_complete(device, [=](int* to, int* from, cudaStream_t stream) {
            EXPECT_DONE(cudaMemcpy2DAsync(to, 16, from, 16, 16, 4, kind, stream));
        });
        expect_complete(device, [=](int* to, int* from, cudaStream_t stream) {
            const cudaMemcpy3DParms params = box_of(to, from, kind);
            EXPECT_DONE(cudaMemcpy3DAsync(&params, stream));
        });
    }
    expect_complete(device, [](int* to, int* from, cudaStream_t stream) {
        EXPECT_DONE(cudaMemcpyPeerAsync(to, 0, from, 0, 64, stream));
    });
    EXPECT_DONE(cudaFree(device));
}

TEST_F(CudaMemory, IsFilled) {
    char* memory = nullptr;
    ASSERT_DONE(cudaMalloc(&memory, bytes));
    EXPECT_DONE(cudaMemset(memory, 0x1a5, bytes));
    EXPECT_TRUE(all_are(memory, bytes, 0xa5));
    EXPECT_DONE(cudaMemsetAsync(memory, 1, 100));
    EXPECT_DONE(cudaStreamSynchronize(nullptr));
    EXPECT_TRUE(all_are(memory, 100, 1));
    EXPECT_TRUE(all_are(memory + 100, bytes - 100, 0xa5));
    EXPECT_DONE(cudaFree(memory));
}

TEST_F(CudaMemory, RowsAreCopiedAndFilled) {
    char* rows = nullptr;
    size_t pitch = 0;
    ASSERT_DONE(cudaMallocPitch(&rows, &pitch, 100, 20));
    ASSERT_GE(pitch, 100U);
    EXPECT_DONE(cudaMemset(rows, 7, pitch * 20));
    EXPECT_DONE(cudaMemset2D(rows, pitch, 3, 100, 20));
    EXPECT_EQ(rows[19 * pitch + 99], 3);
    EXPECT_EQ(rows[18 * pitch + 100], 7);
    std::vector<char> packed(100 * 20);
    EXPECT_DONE(cudaMemcpy2D(packed.data(), 100, rows, pitch, 100, 20, cudaMemcpyDeviceToHost));
    EXPECT_TRUE(all_are(packed.data(), packed.size(), 3));
    EXPECT_DONE(cudaMemset2DAsync(rows, pitch, 4, 10, 2));
    EXPECT_DONE(cudaMemcpy2DAsync(packed.data(), 100, rows, pitch, 10, 2, cudaMemcpyDefault));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(packed[109], 4);
    EXPECT_EQ(packed[110], 3);
    EXPECT_REFUSED(cudaMemcpy2D(packed.data(), 99, rows, pitch, 100, 20, cudaMemcpyDefault),
                   cudaErrorInvalidPitchValue);
    EXPECT_REFUSED(cudaMemset2D(rows, 99, 3, 100, 20), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemset2DAsync(rows, 99, 3, 100, 20), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMallocPitch(&rows, nullptr, 100, 20), cudaErrorInvalidValue);
    EXPECT_DONE(cudaFree(rows));
}

TEST_F(CudaMemory, BoxesAreCopiedAndFilled) {
    cudaPitchedPtr box = {};
    const cudaExtent extent = make_cudaExtent(40, 5, 3);
    ASSERT_DONE(cudaMalloc3D(&box, extent));
    EXPECT_EQ(box.ysize, 5U);
    EXPECT_DONE(cudaMemset3D(box, 9, extent));
    std::vector<char> packed(40 * 5 * 3);
    cudaMemcpy3DParms params = {};
    params.srcPtr = box;
    params.srcPos = make_cudaPos(1, 0, 0);
    params.dstPtr = make_cudaPitchedPtr(packed.data(), 40, 40, 5);
    params.extent = make_cudaExtent(39, 5, 3);
    params.kind = cudaMemcpyDeviceToHost;
    EXPECT_DONE(cudaMemcpy3D(&params));
    EXPECT_TRUE(all_are(packed.data(), 39, 9));
    EXPECT_EQ(packed[39], 0);
    EXPECT_EQ(packed[(2 * 5 + 4) * 40 + 38], 9);
    EXPECT_DONE(cudaMemset3DAsync(box, 8, extent));
    EXPECT_DONE(cudaMemcpy3DAsync(&params));
    EXPECT_DONE(cudaDeviceSynchronize());
    EXPECT_EQ(packed[0], 8);
    EXPECT_DONE(cudaFree(box.ptr));
}

TEST_F(CudaMemory, BadBoxesAreRefused) {
    char memory[64] = {};
    cudaMemcpy3DParms params = {};
    params.srcPtr = params.dstPtr = make_cudaPitchedPtr(memory, 8, 8, 2);
    params.extent = make_cudaExtent(4, 1, 1);
    params.kind = no_kind;
    EXPECT_REFUSED(cudaMemcpy3D(&params), cudaErrorInvalidMemcpyDirection);
    params.kind = cudaMemcpyDefault;
    params.srcArray = reinterpret_cast<cudaArray_t>(memory);
    EXPECT_REFUSED(cudaMemcpy3D(&params), cudaErrorNotSupported);
    EXPECT_REFUSED(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMemcpy3DAsync(nullptr), cudaErrorInvalidValue);
    EXPECT_REFUSED(cudaMalloc3D(nullptr, params.extent), cudaErrorInvalidValue);
}

TEST_F(CudaMemory, OfTheDeviceIsCounted) {
    size_t free = 0, total = 0;
    cudaDeviceProp prop;
    EXPECT_DONE(cudaMemGetInfo(&free, &total));
    EXPECT_DONE(cudaGetDeviceProperties(&prop, 0));
    EXPECT_EQ(total, prop.totalGlobalMem);
    EXPECT_LE(free, total);
}

} // namespace
