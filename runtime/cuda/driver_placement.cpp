// SPDX-License-Identifier: MIT
// The CUDA driver interface: prefetches, advice, and attributes of pointers.
#include "driver.hpp"

#include <cstdint>

namespace hmmcuda {
namespace {

/// Everything we know about an address.
struct pointer_facts {
    hmmPointerAttributes attributes;
    CUdeviceptr start; ///< of the allocation or mapping; 0 if unknown
    size_t bytes;

    bool is_known() const { return attributes.type != hmmMemoryTypeUnregistered; }
};

CUresult find(pointer_facts& facts, CUdeviceptr ptr) {
    facts = {};
    const CUresult result =
        driver_call([&] { return hmmPointerGetAttributes(&facts.attributes, pointer_of(ptr)); });
    static_cast<void>(cuMemGetAddressRange(&facts.start, &facts.bytes, ptr));
    return result;
}

template <class Value>
CUresult store(void* data, Value value) {
    *static_cast<Value*>(data) = value;
    return CUDA_SUCCESS;
}

unsigned memory_type_of(const pointer_facts& facts) {
    switch (facts.attributes.type) {
    case hmmMemoryTypeHost:
        return CU_MEMORYTYPE_HOST;
    case hmmMemoryTypeDevice:
    case hmmMemoryTypeManaged:
        return CU_MEMORYTYPE_DEVICE;
    case hmmMemoryTypeUnregistered:
        break;
    }
    return 0;
}

/// Stores an attribute. For unknown memory this is 0, or no device.
CUresult store_attribute(void* data, CUpointer_attribute attribute, const pointer_facts& facts) {
    const hmmPointerAttributes& of = facts.attributes;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return store<CUcontext>(data, facts.is_known() ? context_of(of.device) : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return store<unsigned>(data, memory_type_of(facts));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return store<CUdeviceptr>(
            data, facts.is_known() ? reinterpret_cast<std::uintptr_t>(of.devicePointer) : 0);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return store<void*>(data, facts.is_known() ? of.hostPointer : nullptr);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return store<unsigned>(data, of.type == hmmMemoryTypeManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return store<int>(data, of.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return store<CUdeviceptr>(data, facts.start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return store<size_t>(data, facts.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return store<unsigned>(data, facts.is_known() ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                            CUstream hStream) {
    return driver_call([&] {
        return hmmMemPrefetchAsync(pointer_of(devPtr), count, location_of(dstDevice), 0,
                                   to_hmm(hStream));
    });
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
    return driver_call([&] {
        return hmmMemAdvise(pointer_of(devPtr), count, to_hmm(advice), location_of(device));
    });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pointer_facts facts;
    const CUresult result = find(facts, ptr);
    if (result != CUDA_SUCCESS) return result;
    return facts.is_known() ? store_attribute(data, attribute, facts) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes,
                                void** data, CUdeviceptr ptr) {
    if (numAttributes == 0 || attributes == nullptr || data == nullptr)
        return CUDA_ERROR_INVALID_VALUE;
    pointer_facts facts;
    CUresult result = find(facts, ptr);
    for (unsigned int i = 0; i < numAttributes && result == CUDA_SUCCESS; i++)
        result = data[i] != nullptr ? store_attribute(data[i], attributes[i], facts)
                                    : CUDA_ERROR_INVALID_VALUE;
    return result;
}
