// SPDX-License-Identifier: MIT
/*
 * C++ overloads of the C interface; hmm_runtime.h includes this file. They let
 * C++ programs call the functions as they call CUDA's: with pointers of any
 * type, with default arguments, and with kernels that have typed parameters.
 */
#pragma once

#include "hmm_runtime.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace hmm::detail {

// Index of the running thread in a kernel of hmmLaunchKernel().
// hmm_language.hpp exports these variables under CUDA's names.
inline thread_local hmmDim3 threadIdx{0, 0, 0};
inline thread_local hmmDim3 blockIdx{0, 0, 0};
inline thread_local hmmDim3 blockDim{0, 0, 0};
inline thread_local hmmDim3 gridDim{0, 0, 0};

/// A kernel and a copy of its arguments. hmmLaunchWrapper() copies this object
/// to the device.
template <class... Parameters>
class kernel_call {
    static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                  "kernel arguments must be trivially copyable");
    static_assert(((alignof(Parameters) <= alignof(std::max_align_t)) && ...),
                  "kernel arguments must not need a larger alignment than malloc() provides");

  public:
    kernel_call(void (*function)(Parameters...), void** arguments) : function_(function) {
        std::size_t i = 0;
        ((std::memcpy(&arguments_[offsets[i]], arguments[i], sizeof(Parameters)), i++), ...);
    }

    /// False if @arguments, or one of the pointers in it, is NULL.
    static bool complete(void** arguments) {
        if (sizeof...(Parameters) > 0 && arguments == nullptr) return false;
        for (std::size_t i = 0; i < sizeof...(Parameters); i++)
            if (arguments[i] == nullptr) return false;
        return true;
    }
    /// The hmmKernel_t that runs the kernel; @self is the kernel_call.
    static void run(const hmmThreadIndex* index, void* self) {
        threadIdx = index->threadIdx;
        blockIdx = index->blockIdx;
        blockDim = index->blockDim;
        gridDim = index->gridDim;
        static_cast<kernel_call*>(self)->call(std::index_sequence_for<Parameters...>());
    }

  private:
    static constexpr auto offsets = [] {
        // the last element is the total size
        std::array<std::size_t, sizeof...(Parameters) + 1> result = {};
        std::size_t i = 0, at = 0;
        [[maybe_unused]] const auto add = [&](std::size_t bytes, std::size_t alignment) {
            at = (at + alignment - 1) / alignment * alignment;
            result[i++] = at;
            at += bytes;
        };
        (add(sizeof(Parameters), alignof(Parameters)), ...);
        result[i] = at;
        return result;
    }();

    template <std::size_t... I>
    void call(std::index_sequence<I...>) {
        function_(*reinterpret_cast<Parameters*>(&arguments_[offsets[I]])...);
    }

    void (*function_)(Parameters...);
    alignas(std::max_align_t) std::array<unsigned char, offsets.back() + 1> arguments_;
};

/// Calls give(void**) and stores the returned pointer in the caller's type.
template <class T, class Give>
hmmError_t give_to(T** memory, Give give) {
    if (memory == nullptr) return give(nullptr);
    void* given = nullptr;
    const hmmError_t code = give(&given);
    if (code == hmmSuccess) *memory = static_cast<T*>(given);
    return code;
}

inline hmmMemLocation location_of(int device) {
    if (device == hmmCpuDeviceId) return {hmmMemLocationTypeHost, 0};
    return {hmmMemLocationTypeDevice, device};
}

} // namespace hmm::detail

/*
 * Queues function(*args[0], *args[1], ...) for all threads of all blocks. Each
 * args[i] points to an argument of exactly the type of parameter i. The call
 * copies the arguments byte by byte, so parameters must be of trivially
 * copyable types. hmmErrorInvalidValue if @args or one of its elements is NULL;
 * other errors as for hmmLaunchFunction().
 */
template <class... Parameters>
hmmError_t hmmLaunchKernel(void (*function)(Parameters...), hmmDim3 gridDim, hmmDim3 blockDim,
                           void** args, size_t sharedMem = 0, hmmStream_t stream = nullptr) {
    using call = hmm::detail::kernel_call<Parameters...>;
    if (function == nullptr)
        return hmmLaunchFunction(nullptr, gridDim, blockDim, nullptr, 0, sharedMem, stream);
    if (!call::complete(args))
        return hmmLaunchFunction(&call::run, gridDim, blockDim, nullptr, sizeof(call), sharedMem,
                                 stream);
    const call copied(function, args);
    return hmmLaunchWrapper(&call::run, reinterpret_cast<const void*>(function), gridDim, blockDim,
                            &copied, sizeof(copied), sharedMem, stream);
}

/*
 * Deleted: the parameter types of a `const void*` kernel are unknown. Pass the
 * function itself, without a cast.
 */
hmmError_t hmmLaunchKernel(const void* function, hmmDim3 gridDim, hmmDim3 blockDim, void** args,
                           size_t sharedMem = 0, hmmStream_t stream = nullptr) = delete;

template <class T>
hmmError_t hmmMallocManaged(T** memory, size_t bytes, unsigned int flags = hmmMemAttachGlobal) {
    const auto allocate = [&](void** out) { return hmmMallocManaged(out, bytes, flags); };
    return hmm::detail::give_to(memory, allocate);
}

template <class T>
hmmError_t hmmMalloc(T** memory, size_t bytes) {
    return hmm::detail::give_to(memory, [&](void** out) { return hmmMalloc(out, bytes); });
}

template <class T>
hmmError_t hmmMallocHost(T** memory, size_t bytes, unsigned int flags = hmmHostAllocDefault) {
    return hmm::detail::give_to(memory,
                                [&](void** out) { return hmmHostAlloc(out, bytes, flags); });
}

template <class T>
hmmError_t hmmHostAlloc(T** memory, size_t bytes, unsigned int flags) {
    return hmm::detail::give_to(memory,
                                [&](void** out) { return hmmHostAlloc(out, bytes, flags); });
}

template <class T>
hmmError_t hmmMallocPitch(T** memory, size_t* pitch, size_t width, size_t height) {
    const auto allocate = [&](void** out) { return hmmMallocPitch(out, pitch, width, height); };
    return hmm::detail::give_to(memory, allocate);
}

template <class T>
hmmError_t hmmMallocAsync(T** memory, size_t bytes, hmmStream_t stream) {
    const auto allocate = [&](void** out) { return hmmMallocAsync(out, bytes, stream); };
    return hmm::detail::give_to(memory, allocate);
}

template <class T>
hmmError_t hmmMallocFromPoolAsync(T** memory, size_t bytes, hmmMemPool_t pool, hmmStream_t stream) {
    const auto allocate = [&](void** out) {
        return hmmMallocFromPoolAsync(out, bytes, pool, stream);
    };
    return hmm::detail::give_to(memory, allocate);
}

template <class T>
hmmError_t hmmMallocAsync(T** memory, size_t bytes, hmmMemPool_t pool, hmmStream_t stream) {
    return hmmMallocFromPoolAsync(memory, bytes, pool, stream);
}

template <class T>
hmmError_t hmmHostGetDevicePointer(T** device, void* host, unsigned int flags = 0) {
    const auto lookup = [&](void** out) { return hmmHostGetDevicePointer(out, host, flags); };
    return hmm::detail::give_to(device, lookup);
}

/*
 * Locations given as a device number or hmmCpuDeviceId. These are templates, so
 * that a braced hmmMemLocation does not convert to a number.
 */
template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
hmmError_t hmmMemPrefetchAsync(const void* ptr, size_t bytes, Number device,
                               hmmStream_t stream = nullptr) {
    return hmmMemPrefetchAsync(ptr, bytes, hmm::detail::location_of(static_cast<int>(device)), 0,
                               stream);
}

template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
hmmError_t hmmMemAdvise(const void* ptr, size_t bytes, hmmMemoryAdvise advice, Number device) {
    return hmmMemAdvise(ptr, bytes, advice, hmm::detail::location_of(static_cast<int>(device)));
}

inline hmmError_t hmmEventCreate(hmmEvent_t* event, unsigned int flags) {
    return hmmEventCreateWithFlags(event, flags);
}

template <class Result, class... Parameters>
hmmError_t hmmFuncGetAttributes(hmmFuncAttributes* attributes, Result (*function)(Parameters...)) {
    return hmmFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}

template <class Result, class... Parameters>
hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                        Result (*function)(Parameters...),
                                                        int blockSize, size_t sharedMem) {
    return hmmOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, reinterpret_cast<const void*>(function), blockSize, sharedMem);
}

template <class Result, class... Parameters>
hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                 Result (*function)(Parameters...),
                                                                 int blockSize, size_t sharedMem,
                                                                 unsigned int flags) {
    return hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, reinterpret_cast<const void*>(function), blockSize, sharedMem, flags);
}

template <class Result, class... Parameters>
hmmError_t hmmOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize,
                                             Result (*function)(Parameters...),
                                             size_t sharedMem = 0, int blockSizeLimit = 0) {
    return hmmOccupancyMaxPotentialBlockSize(
        minGridSize, blockSize, reinterpret_cast<const void*>(function), sharedMem, blockSizeLimit);
}

template <class Result, class... Parameters>
hmmError_t hmmOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                    Result (*function)(Parameters...), int blocks,
                                                    int blockSize) {
    return hmmOccupancyAvailableDynamicSMemPerBlock(bytes, reinterpret_cast<const void*>(function),
                                                    blocks, blockSize);
}
