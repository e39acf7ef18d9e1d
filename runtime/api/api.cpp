// SPDX-License-Identifier: MIT
// The C interface: device work, kernels, errors. Checks the arguments and
// forwards the calls.
#include "api/interface.hpp"
#include "api/process.hpp"
#include "base/fork_guard.hpp"
#include "session/grid.hpp"
#include "session/shared_pool.hpp"

#include <cstdint>
#include <new>

namespace hmmrt {
namespace {

/// The sticky error of the device that caused the thread's last error, or of
/// the current device if there is none.
hmmError_t sticky_error() noexcept {
    if (fork_guard::is_child()) return hmmErrorForkedProcess;
    const no_cancellation until_the_end;
    try {
        const int failed = this_thread.record.device;
        device& from = failed < 0 ? current_device() : process::get().device_at(failed);
        return from.sticky_error();
    } catch (const std::exception&) {
        return hmmSuccess;
    }
}

/// The exception of a thread's last error. Errors may be remembered until the
/// thread ends.
struct kept_exception {
    std::exception_ptr held;
    bool over = false;

    ~kept_exception() { over = true; }
};

thread_local kept_exception kept;
/// False if `kept` was never used.
constinit thread_local bool has_kept = false;

struct grid_launch {
    hmmKernel_t kernel;
    const void* named; ///< the function to name in messages
    hmmDim3 grid, block;
};

void launch_grid(const grid_launch& what, const void* args, std::size_t args_bytes,
                 std::size_t shared_bytes, hmmStream_t stream) {
    if (what.kernel == nullptr)
        throw failure(hmmErrorInvalidDeviceFunction,
                      hmmGetErrorString(hmmErrorInvalidDeviceFunction));
    if (shared_bytes != 0) throw failure(hmmErrorNotSupported, "shared memory is not supported");
    require(args != nullptr || args_bytes == 0, "args is NULL, but argsBytes is not 0");
    work_request request;
    request.items = grid_items(what.grid, what.block);
    if (request.items == 0)
        throw failure(hmmErrorInvalidConfiguration,
                      hmmGetErrorString(hmmErrorInvalidConfiguration));
    auto closure = grid_closure::create(what.kernel, what.grid, what.block, args, args_bytes);
    request.function = grid_closure::run;
    request.named = what.named != nullptr ? what.named : reinterpret_cast<const void*>(what.kernel);
    request.destroy = grid_closure::destroy;
    request.closure = closure.get();
    launch_in(stream, request);
    // The launch now owns the closure.
    static_cast<void>(closure.release());
    throw_if_launch_failed();
}

} // namespace

void remember_exception(const std::exception_ptr& original) {
    if (!original && !has_kept) return;
    if (kept.over) return;
    kept.held = original;
    has_kept = true;
}

} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmDeviceSynchronize(void) {
    return guarded("hmmDeviceSynchronize", [] {
        current_device().synchronize();
        process::get().pools().settle();
    });
}

hmmError_t hmmDeviceReset(void) {
    return guarded("hmmDeviceReset", [] { current_device().reset(); });
}

hmmError_t hmmLaunchRange(hmmRangeFunction_t fn, void* closure, uint64_t count,
                          hmmDestroyFunction_t destroy, hmmStream_t stream) {
    return guarded("hmmLaunchRange", [&] {
        require(fn != nullptr, "fn is NULL");
        work_request request;
        request.function = fn;
        request.closure = closure;
        request.destroy = destroy;
        request.items = count;
        launch_in(stream, request);
    });
}

hmmError_t hmmLaunchFunction(hmmKernel_t kernel, hmmDim3 gridDim, hmmDim3 blockDim,
                             const void* args, size_t argsBytes, size_t sharedMem,
                             hmmStream_t stream) {
    return guarded("hmmLaunchFunction", [&] {
        launch_grid({kernel, reinterpret_cast<const void*>(kernel), gridDim, blockDim}, args,
                    argsBytes, sharedMem, stream);
    });
}

hmmError_t hmmLaunchWrapper(hmmKernel_t wrapper, const void* kernel, hmmDim3 gridDim,
                            hmmDim3 blockDim, const void* args, size_t argsBytes, size_t sharedMem,
                            hmmStream_t stream) {
    return guarded("hmmLaunchWrapper", [&] {
        launch_grid({wrapper, kernel, gridDim, blockDim}, args, argsBytes, sharedMem, stream);
    });
}

void* hmmClosureAllocate(size_t bytes) {
    try {
        return shared_pool::get().allocate(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void hmmClosureFree(void* closure) {
    if (closure != nullptr) shared_pool::get().free(closure);
}

hmmError_t hmmSetStrict(int strict) {
    return guarded("hmmSetStrict", [&] { process::get().set_strict(strict != 0); });
}

hmmError_t hmmPeekAtLastError(void) {
    return calling_thread_is_lane() ? hmmErrorNotSupported : this_thread.last_error;
}

hmmError_t hmmGetLastError(void) {
    // we must not use TLS, which the lane shares with its parked thread
    if (calling_thread_is_lane()) return hmmErrorNotSupported;
    const hmmError_t last = this_thread.last_error;
    if (last != hmmSuccess) this_thread.last_error = sticky_error();
    return last;
}

const char* hmmGetLastErrorDetail(void) {
    return calling_thread_is_lane() ? "called from a kernel" : this_thread.detail;
}

hmmError_t hmmGetLastErrorRecord(hmmFaultRecord* record) {
    if (calling_thread_is_lane()) return hmmErrorNotSupported;
    if (record == nullptr)
        return remember(hmmErrorInvalidValue, "hmmGetLastErrorRecord", "record is NULL");
    *record = this_thread.record;
    return hmmSuccess;
}

hmmError_t hmmGetLastErrorException(void* exception) {
    if (calling_thread_is_lane()) return hmmErrorNotSupported;
    if (exception == nullptr)
        return remember(hmmErrorInvalidValue, "hmmGetLastErrorException", "exception is NULL");
    auto& out = *static_cast<std::exception_ptr*>(exception);
    out = nullptr;
    if (has_kept && !kept.over) out = kept.held;
    return hmmSuccess;
}

hmmError_t hmmGetLastFault(hmmFaultRecord* record) {
    return guarded("hmmGetLastFault", [&] {
        require(record != nullptr, "record is NULL");
        *record = current_device().last_fault();
    });
}
