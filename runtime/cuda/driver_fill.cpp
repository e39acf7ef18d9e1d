// SPDX-License-Identifier: MIT
// The CUDA driver interface: fills. For elements larger than a byte we run
// device code.
#include "driver.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>

namespace hmmcuda {
namespace {

template <class Element>
struct fill {
    Element* to;
    Element value;

    static void run(void* self, std::uint64_t begin, std::uint64_t end) {
        const fill what = *static_cast<const fill*>(self);
        std::fill(what.to + begin, what.to + end, what.value);
    }
};

template <class Element>
hmmError_t queue_fill(fill<Element> what, size_t count, hmmStream_t stream) {
    void* const closure = hmmClosureAllocate(sizeof(what));
    if (closure == nullptr) return hmmErrorMemoryAllocation;
    new (closure) fill<Element>(what);
    const hmmError_t code =
        hmmLaunchRange(fill<Element>::run, closure, count, hmmClosureFree, stream);
    if (code != hmmSuccess) hmmClosureFree(closure);
    return code;
}

/// Queues a fill on the device of the stream.
template <class Element>
CUresult fill_async(CUdeviceptr to, Element value, size_t count, CUstream stream) {
    if (to % sizeof(Element) != 0 || count > std::numeric_limits<size_t>::max() / sizeof(Element))
        return CUDA_ERROR_INVALID_VALUE;
    return driver_call([&] {
        int device = 0;
        const hmmError_t code = hmmStreamGetDevice(to_hmm(stream), &device);
        if (code != hmmSuccess || count == 0) return code;
        return on_device(device, [&] {
            return queue_fill<Element>({static_cast<Element*>(pointer_of(to)), value}, count,
                                       to_hmm(stream));
        });
    });
}

template <class Element>
CUresult fill_now(CUdeviceptr to, Element value, size_t count) {
    const CUresult result = fill_async(to, value, count, nullptr);
    return result != CUDA_SUCCESS ? result : cuStreamSynchronize(nullptr);
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

CUresult cuMemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t N) {
    return fill_now(dstDevice, us, N);
}

CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
    return fill_async(dstDevice, us, N, hStream);
}

CUresult cuMemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
    return fill_now(dstDevice, ui, N);
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
    return fill_async(dstDevice, ui, N, hStream);
}
