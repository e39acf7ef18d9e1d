/* SPDX-License-Identifier: MIT */
/*
 * A program for CUDA's driver API in C: memory that is mapped and grows. The
 * build only replaces `cuda`, `cu`, `CUDA` and `CU` in it.
 */
#include "ported.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        CUresult status = (call);                                                                  \
        if (status != CUDA_SUCCESS) {                                                              \
            fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, (int)status);                 \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* Maps new device memory at @at. */
static int add_memory(CUdeviceptr at, size_t bytes, const CUmemAllocationProp* prop) {
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    access.location = prop->location;
    CHECK(cuMemCreate(&handle, bytes, prop, 0));
    CHECK(cuMemMap(at, bytes, 0, handle, 0));
    CHECK(cuMemRelease(handle));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
    return 0;
}

int mapped_memory_grows(void) {
    CUmemAllocationProp prop = {0};
    CUdeviceptr begin = 0;
    size_t bytes = 0, i;
    unsigned char* all;
    static unsigned char result[64];
    int wrong = 0;

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CHECK(cuMemAddressReserve(&begin, 2 * bytes, 0, 0, 0));
    if (add_memory(begin, bytes, &prop) != 0 || add_memory(begin + bytes, bytes, &prop) != 0)
        return 1;
    all = (unsigned char*)begin;
    if (cudaMemset(all, 7, 2 * bytes) != cudaSuccess ||
        cudaMemcpy(result, all + bytes - 32, sizeof(result), cudaMemcpyDeviceToHost) != cudaSuccess)
        return 1;
    for (i = 0; i < sizeof(result); i++)
        wrong += result[i] != 7;
    CHECK(cuMemUnmap(begin, 2 * bytes));
    CHECK(cuMemAddressFree(begin, 2 * bytes));
    wrong += cuMemMap(begin, bytes, 0, 1, 0) != CUDA_ERROR_INVALID_HANDLE;
    return wrong;
}
